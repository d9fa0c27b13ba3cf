//! N-PDUs on their way to LLC, and what comes back: their confirmation, or they themselves (04.65 clauses 6.3 and 6.7 [44.065]).

use super::{
    Buffer, COMPRESSED_MAX, Cutting, Frame, LinkState, N_PDU_MAX, NOTHING, Outputs, Packed, Sap, Setting,
    Sndcp, SndcpOutput, Way, segments,
};
use crate::about::About as _;
use crate::llc::{Confirmed, ReturnedUnits};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::sndcp::{Compression, DATA_FIRST_LEN};

/// What LL-DATA.confirm says of an SN-PDU. References of N-PDUs in a row are in a row, and no others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reference {
    nsapi: Nsapi,
    number: u8,
    /// It is a whole N-PDU, which LLC alone has kept.
    alone: bool,
}

impl Reference {
    const ALONE: u32 = 1 << 16;

    const fn value(self) -> u32 {
        let alone = if self.alone { Self::ALONE } else { 0 };
        // Between the two numbers is a bit that no reference has.
        alone | (self.nsapi.0 as u32) << 9 | self.number as u32
    }

    fn of(value: u32) -> Self {
        let [.., number] = value.to_be_bytes();
        let [.., nsapi] = (value >> 9 & 0x7f).to_be_bytes();
        Self { nsapi: Nsapi(nsapi), number, alone: value & Self::ALONE != 0 }
    }
}

/// The reference of what is no N-PDU of any NSAPI.
const OF_NOTHING: u32 = Reference { nsapi: Nsapi(0), number: 0, alone: false }.value();

/// An N-PDU that was taken.
#[derive(Debug)]
pub struct Taken {
    /// The N-PDU number under which it will be confirmed.
    pub number: u8,
    /// Where nothing waits before it: what goes to LLC now, behind all that is in the outputs.
    pub now: Option<Whole>,
}

/// An N-PDU that goes out in one SN-PDU, in its own frame. The header comes to it where the frame stands at last.
#[derive(Debug)]
pub struct Whole {
    /// That of [`SndcpOutput::Data`].
    pub reference: u32,
    /// The SN-PDU's header, for which the frame has room.
    pub head: [u8; DATA_FIRST_LEN],
    /// The N-PDU.
    pub frame: Frame,
}

impl Whole {
    /// As [`SndcpOutput::Data`] has it.
    #[must_use]
    pub fn sn_pdu(self) -> (u32, Frame) {
        let Self { reference, head, mut frame } = self;
        let has_room = frame.prepend(&head);
        debug_assert!(has_room, "it was asked for");
        (reference, frame)
    }
}

impl Sndcp {
    /// SN-DATA.request. The N-PDU goes out in its frame where nothing waits before it.
    ///
    /// # Errors
    /// The name under which it is dropped: not active in acknowledged mode, empty, too long, too many unconfirmed.
    pub fn data_request(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (nsapi, frame): (Nsapi, Frame),
        out: &mut Outputs,
    ) -> Result<Taken, Drop> {
        let of_others = if self.served.len() > 1 { self.at_llc_of_others(nsapi) } else { 0 };
        let served = self.served.find_mut(|served| served.nsapi == nsapi);
        let served = served.ok_or(Drop::SndcpUnknownNsapi)?;
        let sapi = served.sapi;
        let acknowledged = served.acknowledged.as_mut().ok_or(Drop::SndcpUnknownNsapi)?;
        let octets = frame.len();
        let limits = setting.limits();
        let number = acknowledged.next(&limits, octets)?;
        let cutting = Cutting { nsapi, number, compression: Compression::NONE, n201_i: setting.n201_i };
        let goes_now = !acknowledged.store.has_waiting()
            && !acknowledged.suspended
            && acknowledged.may_hand(setting.link.k_sent)
            && !acknowledged.must_tell(setting.link.k_sent)
            && acknowledged.store.segments() + of_others < limits.segments_max
            && cutting.is_whole(octets)
            && self.saps.find(|sap| sap.sapi == sapi).is_some_and(Sap::is_plain_and_established)
            && frame.headroom() >= DATA_FIRST_LEN;
        if goes_now {
            acknowledged.store.push_handed(u16::try_from(octets).unwrap_or(u16::MAX));
            self.counted.sent(octets, octets);
            let reference = Reference { nsapi, number, alone: true }.value();
            Ok(Taken { number, now: Some(Whole { reference, head: cutting.head(), frame }) })
        } else {
            acknowledged.store.push(&frame);
            self.go_on(cx, setting, sapi, out);
            Ok(Taken { number, now: None })
        }
    }

    /// LL-DATA.confirm: the peer's LLC has the SN-PDUs of these [`SndcpOutput::Data`].
    pub fn data_confirm(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        confirmed: Confirmed,
        out: &mut Outputs,
    ) {
        let Reference { nsapi, number, alone } = Reference::of(confirmed.reference);
        let Some(served) = self.served(nsapi) else { return };
        let sapi = served.sapi;
        let Some(acknowledged) = &mut served.acknowledged else { return };
        let mut tell = |(number, count)| out.push(SndcpOutput::Confirmed { nsapi, number, count });
        let store = &mut acknowledged.store;
        let count = u8::try_from(confirmed.count).unwrap_or(u8::MAX);
        let known = if alone {
            store.confirm_alone((number, count), confirmed.octets, tell)
        } else {
            (0..count).try_for_each(|n| store.confirm(number.wrapping_add(n), &mut tell))
        };
        if known.is_some() {
            acknowledged.confirmed();
        } else {
            cx.drop_of(Drop::SndcpUnexpected, setting.whose);
        }
        self.room(cx, setting, sapi, out);
    }

    /// LLC may have more than before.
    pub fn room(&mut self, cx: &mut Context<'_>, setting: &Setting<'_>, sapi: Sapi, out: &mut Outputs) {
        if self.has_waiting(sapi) {
            self.pump(cx, setting, sapi, out);
        }
    }

    /// What LLC has not confirmed of a link that has ended, or is established anew: it waits again.
    pub fn data_returned(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (sapi, units): (Sapi, &ReturnedUnits),
    ) {
        self.interrupted(sapi);
        let units: Vec<_> = units.iter().collect();
        for served in self.served.iter_mut().filter(|served| served.sapi == sapi) {
            let nsapi = served.nsapi;
            let Some(acknowledged) = &mut served.acknowledged else { continue };
            let of_it = units.iter().filter_map(|(reference, sn_pdu)| {
                let of = Reference::of(*reference);
                (of.nsapi == nsapi && of.alone).then(|| (of.number, n_pdu_of(sn_pdu)))
            });
            let lost = acknowledged.store.take_back(acknowledged.store.oldest(), of_it);
            (0..lost).for_each(|_| cx.drop_of(Drop::SndcpUnconfirmed, setting.whose));
        }
    }

    /// LLC has not taken SN-PDUs: these, which are all that were to go to it. They wait again.
    pub fn data_refused(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (sapi, refused): (Sapi, &[(u32, Frame)]),
    ) {
        self.interrupted(sapi);
        for served in self.served.iter_mut().filter(|served| served.sapi == sapi) {
            let nsapi = served.nsapi;
            let Some(acknowledged) = &mut served.acknowledged else { continue };
            let mut of_it = refused
                .iter()
                .map(|(reference, frame)| (Reference::of(*reference), frame))
                .filter(|(of, _)| of.nsapi == nsapi)
                .peekable();
            let Some(first) = of_it.peek().map(|(of, _)| of.number) else { continue };
            let alone = of_it.filter(|(of, _)| of.alone);
            let n_pdus = alone.map(|(of, frame)| (of.number, n_pdu_of(frame)));
            let lost = acknowledged.store.take_back(first, n_pdus);
            (0..lost).for_each(|_| cx.drop_of(Drop::SndcpUnconfirmed, setting.whose));
        }
    }

    /// LLC is between two establishments.
    fn interrupted(&mut self, sapi: Sapi) {
        if self.is_established(sapi) {
            self.set_link(sapi, LinkState::Interrupted);
        }
    }

    /// A link begins or has ended, and LLC has given back what it had. What it has not is lost.
    pub(super) fn nothing_is_at_llc(&mut self, cx: &mut Context<'_>, setting: &Setting<'_>, sapi: Sapi) {
        for served in self.served.iter_mut().filter(|served| served.sapi == sapi) {
            let lost = served.acknowledged.as_mut().map_or(0, |acknowledged| acknowledged.store.lose());
            (0..lost).for_each(|_| cx.drop_of(Drop::SndcpUnconfirmed, setting.whose));
        }
    }

    /// Gives LLC what it has room for, one N-PDU of each NSAPI in turn.
    pub(super) fn pump(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        sapi: Sapi,
        out: &mut Outputs,
    ) {
        if !self.is_established(sapi) {
            return;
        }
        let limits = setting.limits();
        loop {
            let mut went = false;
            for place in 0..self.served.len() {
                went |= self.at_llc(sapi) < limits.segments_max
                    && self.hand(cx, setting, (sapi, place), out).is_some();
            }
            if !went {
                return;
            }
        }
    }

    /// SN-PDUs that LLC has of a SAPI.
    pub(super) fn at_llc(&self, sapi: Sapi) -> u16 {
        let of_it = self.served.iter().filter(|served| served.sapi == sapi);
        of_it.filter_map(|served| served.acknowledged.as_ref()).map(|it| it.store.segments()).sum()
    }

    /// The same of the SAPI of an NSAPI, without its own.
    fn at_llc_of_others(&self, nsapi: Nsapi) -> u16 {
        let Some(served) = self.served.find(|served| served.nsapi == nsapi) else { return 0 };
        let own = served.acknowledged.as_ref().map_or(0, |acknowledged| acknowledged.store.segments());
        self.at_llc(served.sapi).saturating_sub(own)
    }

    /// Does any N-PDU of a SAPI wait for LLC?
    fn has_waiting(&self, sapi: Sapi) -> bool {
        let mut of_it = self.served.iter().filter(|served| served.sapi == sapi);
        of_it.any(|served| served.acknowledged.as_ref().is_some_and(|it| it.store.has_waiting()))
    }

    /// Compresses and cuts the first N-PDU that waits; `None` where there is none, or not enough frames.
    fn hand(
        &mut self,
        cx: &Context<'_>,
        setting: &Setting<'_>,
        (sapi, place): (Sapi, usize),
        out: &mut Outputs,
    ) -> Option<()> {
        let role = self.role();
        let sap = self.saps.iter_mut().find(|sap| sap.sapi == sapi)?;
        let served = self.served.get_mut(place).filter(|served| served.sapi == sapi)?;
        let (nsapi, n201_i) = (served.nsapi, setting.n201_i);
        let acknowledged = served.acknowledged.as_mut().filter(|acknowledged| !acknowledged.suspended)?;
        let confirmed = |(number, count)| out.push(SndcpOutput::Confirmed { nsapi, number, count });
        if acknowledged.store.pass_lost(confirmed) {
            acknowledged.pass_over();
        }
        if !acknowledged.may_hand(setting.link.k_sent) {
            return None;
        }
        if acknowledged.store.has_waiting() && acknowledged.must_tell(setting.link.k_sent) {
            let frame = cx.frames.copy_of(&NOTHING)?;
            let number = acknowledged.tell();
            let cutting = Cutting { nsapi, number, compression: Compression::NONE, n201_i };
            let give = |frame| out.push(SndcpOutput::Data { sapi, reference: OF_NOTHING, frame });
            cutting.send(cx, frame, give).ok()?;
        }
        let store = &mut acknowledged.store;
        let n_pdu = store.waiting()?;
        let is_plain = sap.compressions.is_empty();
        // What was compressed must be sent: that there are frames enough is certain before.
        let longest = if is_plain { N_PDU_MAX } else { COMPRESSED_MAX };
        if cx.frames.free() <= usize::from(segments(longest, n201_i)?) {
            return None;
        }
        let mut frame = cx.frames.alloc()?;
        n_pdu.iter().all(|piece| frame.append(piece)).then_some(())?;
        let number = store.waiting_number();
        let plain = frame.len();
        let cutting = |compression| Cutting { nsapi, number, compression, n201_i };
        let alone = is_plain && store.is_first_here() && cutting(Compression::NONE).is_whole(plain);
        let reference = Reference { nsapi, number, alone }.value();
        let give = |frame| out.push(SndcpOutput::Data { sapi, reference, frame });
        let (count, compressed) = if is_plain {
            (cutting(Compression::NONE).send(cx, frame, give), plain)
        } else {
            let mut buffer = Buffer::new();
            let way = Way { role, nsapi, acknowledged: true };
            let Packed { compression, in_buffer } = sap.compressions.compress(way, &mut frame, &mut buffer);
            match in_buffer.map(|len| buffer.octets(len)) {
                Some(octets) => (cutting(compression).cut(cx, octets, give), octets.len()),
                None => {
                    let octets = frame.len();
                    (cutting(compression).send(cx, frame, give), octets)
                }
            }
        };
        let count = count.ok()?;
        if alone {
            store.hand_alone();
        } else {
            store.hand(count);
        }
        self.counted.sent(plain, compressed);
        Some(())
    }
}

/// The N-PDU of an SN-PDU that holds all of it.
fn n_pdu_of(sn_pdu: &[u8]) -> &[u8] {
    sn_pdu.get(DATA_FIRST_LEN..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_in_a_row_are_of_n_pdus_in_a_row() {
        for alone in [false, true] {
            for nsapi in (5..=15).map(Nsapi) {
                for number in 0..=255 {
                    let reference = Reference { nsapi, number, alone };
                    assert_eq!(Reference::of(reference.value()), reference);
                    let next = Reference::of(reference.value() + 1);
                    let is_one = next.value() == reference.value() + 1;
                    assert_eq!(is_one, number < 255, "{next:?}");
                }
            }
        }
    }

    #[test]
    fn an_n_pdu_is_what_is_behind_the_header() {
        assert_eq!(n_pdu_of(&[0x45, 0, 7, 1, 2, 3]), [1, 2, 3]);
        assert!(n_pdu_of(&[0x45, 0]).is_empty());
    }
}

//! A mobile goes to an access point: hello or probe, and what follows the answer.

use super::link::Link;
use super::{AdaptationBearer, Indication, Output};
use crate::adaptation::key::{Random, is_welcome_right, sign};
use crate::adaptation::session::{End, Session};
use crate::adaptation::stations::Address;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::adaptation::{
    Hello, MAC_LEN, MESSAGE_LEN_MAX, Message, Probe, ProbeAnswer, Reachable, Welcome,
};
use gannet_wire::id::Tlli;

/// An answer is waited for so long.
const RETRY: Duration = Duration::from_millis(500);
/// So often it is asked.
const TRIES: u8 = 5;
/// An access point that has not answered is left alone for so long.
pub(super) const SHUNNED: Duration = Duration::from_secs(10);

/// Where a mobile is going.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) cell: u16,
    address: Address,
    random: Random,
    token: u64,
    tries: u8,
    next: Instant,
}

impl AdaptationBearer {
    /// A mobile begins to go to a cell. It may be the one in which it is: then it gets another session.
    pub(super) fn begin(&mut self, cx: &mut Context<'_>, mobile: u32, cell: u16, out: &mut Batch<Output>) {
        let Some(address) = self.selection.get(cell).map(|of| of.address) else { return };
        let random = self.randoms.next(cx.rng.u64());
        let [a, b, c, d, ..] = random;
        let token = u64::from(u32::from_be_bytes([a, b, c, d])) << 32 | u64::from(mobile);
        if let Some(station) = self.stations.get_mut(mobile as usize) {
            station.target = Some(Target { cell, address, random, token, tries: 0, next: cx.now });
            self.try_target(cx, mobile, out);
        }
    }

    /// Asks again where no answer came in time.
    pub(super) fn try_targets(&mut self, cx: &mut Context<'_>, out: &mut Batch<Output>) {
        self.next_try = None;
        for mobile in 0..u32::try_from(self.stations.len()).unwrap_or(u32::MAX) {
            let target = self.stations.get(mobile as usize).and_then(|station| station.target.as_ref());
            match target.map(|target| target.next) {
                Some(next) if next <= cx.now => self.try_target(cx, mobile, out),
                Some(next) => self.try_at(next),
                None => {}
            }
        }
    }

    fn try_at(&mut self, next: Instant) {
        self.next_try = Some(self.next_try.map_or(next, |before| before.min(next)));
    }

    fn try_target(&mut self, cx: &mut Context<'_>, mobile: u32, out: &mut Batch<Output>) {
        let key = self.keys.get(mobile as usize).copied();
        let Some(station) = self.stations.get_mut(mobile as usize) else { return };
        let tlli = station.tlli.unwrap_or(Tlli::UNASSIGNED);
        let Some(target) = &mut station.target else { return };
        if target.tries == TRIES {
            let cell = target.cell;
            station.target = None;
            self.selection.shun(cell, cx.now + SHUNNED);
            if let Some(id) = self.cells.get(usize::from(cell)) {
                let line = format_args!("cell {id}: the access point does not answer mobile {mobile}");
                cx.log(Category::Um, Level::Notice, line);
            }
            return;
        }
        target.tries += 1;
        target.next = cx.now + RETRY;
        let (address, next) = (target.address, target.next);
        let message = match key {
            Some(key) => Message::Hello(Hello { key: key.id, random: target.random, mac: [0; MAC_LEN] }),
            None => Message::Probe(Probe { token: target.token }),
        };
        self.try_at(next);
        let mut room = [0; MESSAGE_LEN_MAX];
        let length = message.emit(tlli, false, &mut room);
        let frame = length.and_then(|length| cx.frames.copy_of(room.get(..length)?));
        let Some(mut frame) = frame else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        if let Some(key) = key {
            sign(&key.handshake(), &mut frame);
        }
        out.push(Output::Transmit { link: address.link, peer: address.peer, frame });
    }

    /// An access point agrees to a session, by the octets `pdu`.
    pub(super) fn welcome(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        (welcome, pdu): (&Welcome, &[u8]),
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let mobile = self.by_key.get(&welcome.key).copied().ok_or(Drop::AdaptUnexpected)?;
        let key = *self.keys.get(mobile as usize).ok_or(Drop::AdaptUnexpected)?;
        let target = self.stations.get(mobile as usize).and_then(|station| station.target.as_ref());
        let is_meant = |target: &&super::Target| target.random == welcome.of_mobile && target.address == from;
        target.filter(is_meant).ok_or(Drop::AdaptUnexpected)?;
        if !is_welcome_right(&key, welcome, pdu) {
            return Err(Drop::AdaptBadMac);
        }
        let randoms = [&welcome.of_mobile, &welcome.random];
        let session = Session::new(End::Mobile, &key, welcome.session, randoms, self.packets_max);
        self.arrived(cx, mobile, Some(session), out);
        Ok(())
    }

    /// An access point has answered a probe.
    pub(super) fn probe_answer(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        answer: &ProbeAnswer,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let mobile = u32::try_from(answer.token & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        let target = self.stations.get(mobile as usize).and_then(|station| station.target.as_ref());
        let is_meant = |target: &&super::Target| target.token == answer.token && target.address == from;
        target.filter(is_meant).ok_or(Drop::AdaptUnexpected)?;
        if self.keys.get(mobile as usize).is_none() {
            self.arrived(cx, mobile, None, out);
        }
        Ok(())
    }

    /// The access point of a mobile's target has answered.
    fn arrived(
        &mut self,
        cx: &mut Context<'_>,
        mobile: u32,
        session: Option<Session>,
        out: &mut Batch<Output>,
    ) {
        let Some(station) = self.stations.get_mut(mobile as usize) else { return };
        let Some(Target { cell, address, .. }) = station.target.take() else { return };
        let is_here = station.is_in(cell);
        let mut gone = None;
        if !is_here {
            let link = Link::new(cell, address);
            gone = core::mem::replace(&mut station.former, station.serving.replace(link));
        }
        // An access point that has started again names its sessions as before: what is gone goes before the new one comes.
        if let Some(gone) = gone {
            self.forget_sessions(&gone);
        }
        if let Some(link) = self.stations.get_mut(mobile as usize).and_then(|of| of.serving.as_mut()) {
            link.address = address;
            if let Some(session) = session {
                if let Some(gone) = link.renew(session) {
                    self.by_session.remove(&(cell, gone));
                }
                self.by_session.extend(link.sessions().map(|id| ((cell, id), mobile)));
            }
        }
        if is_here {
            return self.say_reachable(cx, mobile, cell, out);
        }
        let octets = self.ll_pdu_max(mobile, cell, address.link);
        // What follows from the length is asked for in the new cell, since the old one may be gone.
        out.push(Output::Indication(Indication::Up { mobile, cell }));
        out.push(Output::Indication(Indication::Mtu { mobile, octets }));
    }

    /// The access point of a cell is to know that a mobile is there.
    pub(super) fn say_reachable(
        &mut self,
        cx: &mut Context<'_>,
        mobile: u32,
        cell: u16,
        out: &mut Batch<Output>,
    ) {
        let Some(id) = self.cells.get(usize::from(cell)).copied() else { return };
        if let Err(drop) = self.send(cx, (mobile, cell), &Message::Reachable(Reachable { cell: id }), out) {
            cx.drop(drop, None);
        }
    }
}

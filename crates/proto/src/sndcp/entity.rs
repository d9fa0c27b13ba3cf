//! One NSAPI's state, and the way in for SN-PDUs.

use super::compression::{CompressionConfig, Compressions, Serving, Terms};
use super::reassembly::{Reassembler, ReassemblyKey, Segment, Whole};
use crate::about::About as _;
use crate::llc::{KEPT_EVERY, LlcRole};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level};
use gannet_wire::id::{Imsi, Nsapi, Sapi};
use gannet_wire::sndcp::{Compression, Header, Pdu};
use serde::{Deserialize, Serialize};

/// N-PDU numbers in unacknowledged mode (04.65 clause 6.9.2).
const N_PDU_NUMBERS: u16 = 4096;
/// Numbers that are passed over after a restart: more N-PDUs than may have gone out since the number was kept.
const LEAD: u16 = 2 * KEPT_EVERY;

/// What SNDCP remembers about one NSAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SndcpNsapi {
    /// N-PDU number of the next N-PDU in unacknowledged mode, 0 to 4095 (04.65 clause 6.9.2).
    pub(super) number: u16,
    /// Which PDP context.
    pub nsapi: Nsapi,
    /// Which LLE carries it.
    pub sapi: Sapi,
}

/// Who receives: the mobile's slot (chosen by the node) and, for the drops, its IMSI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receiver {
    /// The mobile's slot: one key of the reassembly table.
    pub slot: u32,
    /// Whose drops these are.
    pub whose: Option<Imsi>,
    /// Compression may have been agreed to: a compressed N-PDU is not dropped, but given as it came.
    pub compresses: bool,
}

/// SN-UNITDATA.indication: a whole N-PDU.
#[derive(Debug)]
pub struct NPdu {
    /// For which PDP context.
    pub nsapi: Nsapi,
    /// The N-PDU alone.
    pub frame: Frame,
    /// How it is still compressed, which only [`Receiver::compresses`] lets happen ([`super::Sndcp::restore_unitdata`]).
    pub compression: Compression,
    /// Its N-PDU number in unacknowledged mode.
    pub number: u16,
}

impl NPdu {
    /// One that is not compressed, and has no number of unacknowledged mode.
    #[must_use]
    pub const fn plain(nsapi: Nsapi, frame: Frame) -> Self {
        Self { nsapi, frame, compression: Compression::NONE, number: 0 }
    }
}

impl SndcpNsapi {
    /// SNSM-ACTIVATE: an NSAPI carried by `sapi`.
    #[must_use]
    pub const fn new(nsapi: Nsapi, sapi: Sapi) -> Self {
        Self { number: 0, nsapi, sapi }
    }

    /// The number of the next N-PDU.
    #[must_use]
    pub const fn next_number(&self) -> u16 {
        self.number
    }

    /// Goes on after a restart of this end, from what was kept last: a mobile that waits for the rest of an N-PDU does not take
    /// a later one's segments for it. LLC says how far behind that may be: [`crate::llc::LlcContext::restore`].
    pub const fn restore(&mut self) {
        self.number = (self.number + LEAD) % N_PDU_NUMBERS;
    }

    /// LL-RESET.indication: N-PDU numbers start again (clause 5.1.2.1).
    pub const fn reset(&mut self) {
        self.number = 0;
    }
}

/// LL-UNITDATA.indication: an SN-PDU that arrived on one of the user data SAPIs. Gives the N-PDU when it is whole;
/// everything else is held or dropped by name. `is_active` says whether an NSAPI is one of this mobile's on this
/// SAPI.
pub fn receive(
    cx: &mut Context<'_>,
    reassembler: &mut Reassembler,
    receiver: Receiver,
    is_active: impl FnOnce(Nsapi) -> bool,
    frame: Frame,
) -> Option<NPdu> {
    match try_receive(cx, reassembler, receiver, is_active, frame) {
        Ok(n_pdu) => n_pdu,
        Err(drop) => {
            cx.drop_of(drop, receiver.whose);
            None
        }
    }
}

fn try_receive(
    cx: &mut Context<'_>,
    reassembler: &mut Reassembler,
    receiver: Receiver,
    is_active: impl FnOnce(Nsapi) -> bool,
    mut frame: Frame,
) -> Result<Option<NPdu>, Drop> {
    let (header, start) = Header::parse(&frame).map_err(|error| {
        cx.log_of(receiver.whose, Category::Sndcp, Level::Info, format_args!("SN-PDU: {error}"));
        Drop::SndcpMalformed
    })?;
    if !is_active(header.nsapi) {
        return Err(Drop::SndcpUnknownNsapi);
    }
    let Pdu::Unitdata { first, segment, number } = header.pdu else {
        return Err(Drop::SndcpAcknowledged);
    };
    // The first segment, and only it, says how the N-PDU is compressed (clause 7.2).
    match first {
        Some(compression) if compression != Compression::NONE && !receiver.compresses => {
            return Err(Drop::SndcpCompressed);
        }
        Some(_) if segment != 0 => return Err(Drop::SndcpMalformed),
        None if segment == 0 => return Err(Drop::SndcpMalformed),
        Some(_) | None => {}
    }
    if !frame.pull(start) || frame.is_empty() {
        return Err(Drop::SndcpEmpty);
    }
    let key = ReassemblyKey { slot: receiver.slot, nsapi: header.nsapi };
    let segment = Segment { number, segment, more: header.more, compression: first };
    let whole = reassembler.segment(cx, key, receiver.whose, segment, frame)?;
    Ok(whole.map(|Whole { frame, compression }| NPdu { nsapi: header.nsapi, frame, compression, number }))
}

/// The answer to the SNDCP part of an XID command of a mobile without compression: version 0, and no NSAPI for any
/// compression entity (clauses 6.5, 6.6 and 6.8), each refused by name. `None`, and a drop by name, where the block could not
/// be read; LLC's own parameters are answered without it then.
pub fn answer_xid(cx: &mut Context<'_>, whose: Option<Imsi>, block: &[u8]) -> Option<Vec<u8>> {
    let (config, serving) = (CompressionConfig::default(), Serving::default());
    let terms = Terms { role: LlcRole::Sgsn, config: &config, serving: &serving };
    Compressions::default().answer(cx, whose, &terms, block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::time::Duration;
    use gannet_machine::trace::Quiet;

    const RECEIVER: Receiver = Receiver { slot: 1, whose: None, compresses: false };

    fn give(pdus: &[&[u8]]) -> (Vec<Vec<u8>>, Vec<(Drop, u64)>) {
        let mut around = Surroundings::new(1, 4, Quiet::default());
        let mut table = Reassembler::new(4, Duration::from_secs(10));
        let mut whole = Vec::new();
        for pdu in pdus {
            let frame = around.frames.copy_of(pdu).unwrap();
            let n_pdu = receive(&mut around.context(), &mut table, RECEIVER, |nsapi| nsapi.0 == 5, frame);
            whole.extend(n_pdu.map(|n_pdu| n_pdu.frame.to_vec()));
        }
        (whole, around.trace.drops.raised().collect())
    }

    #[test]
    fn the_state_of_an_nsapi_is_small() {
        assert!(size_of::<SndcpNsapi>() <= 8);
        let mut nsapi = SndcpNsapi { number: 9, ..SndcpNsapi::new(Nsapi(5), Sapi(3)) };
        nsapi.reset();
        assert_eq!(nsapi, SndcpNsapi::new(Nsapi(5), Sapi(3)));
    }

    #[test]
    fn whole_and_cut_n_pdus() {
        let pdus: [&[u8]; 3] = [&[0x65, 0, 0, 1, b'w'], &[0x75, 0, 0, 2, b'a'], &[0x25, 0x10, 2, b'b']];
        assert_eq!(give(&pdus), (vec![b"w".to_vec(), b"ab".to_vec()], vec![]));
    }

    #[test]
    fn what_is_not_accepted_has_a_name() {
        let cases: [(&[u8], (Drop, u64)); 8] = [
            (&[0x65, 0, 0], (Drop::SndcpMalformed, 1)),
            (&[0x65, 0, 0x10, 0, 1], (Drop::SndcpMalformed, 1)),
            (&[0x25, 0x00, 0, 1], (Drop::SndcpMalformed, 1)),
            (&[0x65, 0, 0, 0], (Drop::SndcpEmpty, 1)),
            (&[0x66, 0, 0, 0, 1], (Drop::SndcpUnknownNsapi, 1)),
            (&[0x45, 0, 0, 1], (Drop::SndcpAcknowledged, 1)),
            (&[0x65, 0x10, 0, 0, 1], (Drop::SndcpCompressed, 1)),
            (&[0x65, 0x01, 0, 0, 1], (Drop::SndcpCompressed, 1)),
        ];
        for (pdu, raised) in cases {
            assert_eq!(give(&[pdu]), (vec![], vec![raised]), "{pdu:02x?}");
        }
    }

    #[test]
    fn compression_is_refused_and_an_unreadable_block_not_answered() {
        let mut around = Surroundings::new(1, 1, Quiet::default());
        let block =
            [0, 1, 0, 1, 7, 0x81, 0, 4, 0x10, 0, 0x20, 3, 2, 9, 0x82, 1, 6, 0x12, 0x34, 0x50, 0, 0x20, 0];
        let answer = answer_xid(&mut around.context(), None, &block);
        assert_eq!(answer.unwrap(), [0, 1, 0, 1, 4, 1, 2, 0, 0, 2, 4, 2, 2, 0, 0]);
        assert_eq!(answer_xid(&mut around.context(), None, &[0, 9]), None);
        let drops: Vec<_> = around.trace.drops.raised().collect();
        assert_eq!(drops, [(Drop::SndcpBadXid, 1), (Drop::SndcpAlgorithmRefused, 2)]);
    }
}

//! What is not accepted has a name, and does no harm.

use crate::harness::{BARE, End, FRAMES, SAPI, SURE};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_proto::llc::{Confirmed, LlcRole};
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
use gannet_proto::sndcp::{NPdu, Sndcp, SndcpConfig, SndcpOutput};
use gannet_wire::id::Nsapi;
use gannet_wire::sndcp::Compression;
use proptest::collection::vec;
use proptest::prelude::*;

/// A mobile whose link is established and whose peer nobody plays, with entities of both kinds.
pub fn mobile() -> End {
    let compression =
        CompressionConfig { rfc1144: Offer::Passive(3), v42bis: Offer::Passive(V42bisLimits::default()) };
    let mut ms = End::new(LlcRole::Ms, SndcpConfig { compression, ..SndcpConfig::default() });
    ms.insists = false;
    ms.tell(|sndcp, cx, setting, out| {
        sndcp.activate(cx, setting, (SURE, SAPI), true, out);
        sndcp.activate(cx, setting, (BARE, SAPI), false, out);
        sndcp.establish_confirm(cx, setting, (SAPI, None), out);
        for number in [0, 1] {
            let nsapis = if number == 0 { 0x20 } else { 0x40 };
            let block =
                [1, 6, 0x80 | number, 0, 3, 0x10, 0, nsapis, 2, 6, 0x80 | number, 0, 3, 0x12, 0, nsapis];
            sndcp.xid_indication(cx, setting, SAPI, &block).unwrap();
        }
    });
    while ms.out.sndcp.pop().is_some() {}
    assert_eq!(ms.sndcp.compressions(SAPI).unwrap().agreed().count(), 4);
    ms
}

pub fn give(ms: &mut End, pdu: &[u8]) -> Vec<SndcpOutput> {
    let frame = ms.around.frames.copy_of(pdu).unwrap();
    ms.tell(|sndcp, cx, setting, out| sndcp.data_indication(cx, setting, (SAPI, frame), out));
    core::iter::from_fn(|| ms.out.sndcp.pop()).collect()
}

pub fn drops(ms: &End) -> Vec<(Drop, u64)> {
    ms.around.trace.drops.raised().collect()
}

/// A drop, and how often.
type Raised = (Drop, u64);

#[test]
fn sn_pdus_of_acknowledged_mode() {
    // The link stays.
    let cases: [(&[u8], Raised); 4] = [
        (&[], (Drop::SndcpMalformed, 1)),
        (&[0x65, 0, 0, 0, 1], (Drop::SndcpUnacknowledged, 1)),
        (&[0x46, 0, 0, 1], (Drop::SndcpUnknownNsapi, 1)),
        (&[0x47, 0, 0, 1], (Drop::SndcpUnknownNsapi, 1)),
    ];
    for (pdu, raised) in cases {
        let mut ms = mobile();
        assert!(give(&mut ms, pdu).is_empty(), "{pdu:02x?}");
        assert_eq!(drops(&ms), [raised], "{pdu:02x?}");
        assert!(ms.sndcp.is_established(SAPI));
    }
    // The link is established anew.
    let cases: [(&[&[u8]], Raised); 6] = [
        (&[&[0x05, 1]], (Drop::SndcpFirstMissing, 1)),
        (&[&[0x55, 0, 0, 1], &[0x45, 0, 1, 1]], (Drop::SndcpContradiction, 1)),
        (&[&[0x45, 0x20, 0, 1]], (Drop::SndcpCompressed, 1)),
        (&[&[0x45, 0x02, 0, 1]], (Drop::SndcpBadCompression, 1)),
        (&[&[0x45, 0x10, 0, 0]], (Drop::SndcpBadCompression, 1)),
        (&[&[0x45, 0, 0]], (Drop::SndcpEmpty, 1)),
    ];
    for (pdus, raised) in cases {
        let mut ms = mobile();
        let outputs: Vec<SndcpOutput> = pdus.iter().flat_map(|pdu| give(&mut ms, pdu)).collect();
        assert!(matches!(*outputs, [SndcpOutput::Establish { sapi: SAPI, block: None }]), "{outputs:?}");
        assert_eq!(drops(&ms), [raised], "{pdus:02x?}");
        assert!(give(&mut ms, &[0x45, 0, 0, 1]).is_empty());
        assert_eq!(ms.drops(Drop::SndcpNotEstablished), 1);
        assert_eq!(ms.around.frames.free(), FRAMES);
    }
}

#[test]
fn n_pdus_by_their_numbers() {
    let mut ms = mobile();
    let mut numbers = Vec::new();
    for number in [0, 1, 0, 4, 3, 5] {
        numbers.extend(give(&mut ms, &[0x45, 0, number, number]).into_iter().map(|output| match output {
            SndcpOutput::NPdu(n_pdu) => n_pdu.frame[0],
            other => panic!("{other:?}"),
        }));
    }
    assert_eq!(numbers, [0, 1, 4, 5]);
    assert_eq!(drops(&ms), [(Drop::SndcpRepeated, 2), (Drop::SndcpGap, 1)]);
    assert_eq!(ms.sndcp.receive_numbers().collect::<Vec<_>>(), [(SURE, 6)]);
}

#[test]
fn primitives_that_do_not_fit() {
    let mut ms = mobile();
    ms.tell(|sndcp, cx, setting, out| {
        let frame = |cx: &Context<'_>, octets: &[u8]| cx.frames.copy_of(octets).unwrap();
        let confirmed = |reference| Confirmed { reference, count: 1, octets: 4 };
        assert_eq!(
            sndcp.data_request(cx, setting, (BARE, frame(cx, &[1])), out).unwrap_err(),
            Drop::SndcpUnknownNsapi
        );
        assert_eq!(
            sndcp.data_request(cx, setting, (Nsapi(9), frame(cx, &[1])), out).unwrap_err(),
            Drop::SndcpUnknownNsapi
        );
        assert_eq!(
            sndcp.data_request(cx, setting, (SURE, frame(cx, &[])), out).unwrap_err(),
            Drop::SndcpEmpty
        );
        for reference in [5 << 9, 1 << 16 | 5 << 9, 9 << 9, u32::MAX] {
            sndcp.data_confirm(cx, setting, confirmed(reference), out);
        }
        sndcp.sequence_indication(cx, setting, (BARE, 0), out);
        sndcp.sequence_indication(cx, setting, (SURE, 1), out);
    });
    assert_eq!(drops(&ms), [(Drop::SndcpBadSequence, 1), (Drop::SndcpUnexpected, 3)]);
    assert!(ms.out.sndcp.pop().is_none());
}

#[test]
fn a_bad_answer_of_the_peer_and_unacknowledged_mode() {
    let mut ms = mobile();
    ms.config.sndcp.compression.rfc1144 = Offer::Active(3);
    ms.tell(|sndcp, cx, setting, out| {
        sndcp.activate(cx, setting, (Nsapi(7), SAPI), false, out);
        let proposed = core::iter::from_fn(|| out.pop()).count();
        assert_eq!(proposed, 1);
        sndcp.xid_confirm(cx, setting, (SAPI, Some(&[2, 5, 1, 3, 0, 0xc0, 9])), out);
    });
    assert_eq!(drops(&ms), [(Drop::SndcpBadAnswer, 1)]);
    let frame = ms.around.frames.copy_of(&[1]).unwrap();
    let compression = Compression { dcomp: 0, pcomp: 2 };
    let n_pdu = NPdu { compression, number: 7, ..NPdu::plain(BARE, frame) };
    assert!(ms.sndcp.restore_unitdata(&mut ms.around.context(), None, n_pdu).is_none());
    assert_eq!(drops(&ms), [(Drop::SndcpBadAnswer, 1), (Drop::SndcpBadCompression, 1)]);
}

#[test]
fn an_idle_one_is_small() {
    assert!(size_of::<Sndcp>() <= 256, "{}", size_of::<Sndcp>());
    assert_eq!(size_of::<Option<Box<Sndcp>>>(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever comes over the link or in unacknowledged mode, nothing panics, no frame is kept, and memory is bounded.
    #[test]
    fn any_sn_pdus_do_no_harm(pdus in vec((0..3_u8, any::<u8>(), vec(any::<u8>(), 0..80)), 1..20)) {
        let mut ms = mobile();
        for (kind, number, octets) in pdus {
            let comp = [0x00, 0x01, 0x02, 0x10, 0x11, 0x12][usize::from(number % 6)];
            match kind {
                0 => drop(give(&mut ms, &[&[0x45, comp, number][..], &octets].concat())),
                1 => drop(give(&mut ms, &octets)),
                _ => {
                    let frame = ms.around.frames.copy_of(&octets).unwrap();
                    let compression = Compression { dcomp: comp >> 4, pcomp: comp & 0xf };
                    let n_pdu = NPdu { compression, number: number.into(), ..NPdu::plain(BARE, frame) };
                    let _ = ms.sndcp.restore_unitdata(&mut ms.around.context(), None, n_pdu);
                }
            }
            if !ms.sndcp.is_established(SAPI) {
                ms.tell(|sndcp, cx, setting, out| sndcp.establish_confirm(cx, setting, (SAPI, None), out));
            }
        }
        while ms.out.sndcp.pop().is_some() {}
        prop_assert_eq!(ms.around.frames.free(), FRAMES);
    }
}

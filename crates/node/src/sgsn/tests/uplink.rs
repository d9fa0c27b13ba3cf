//! From UL-UNITDATA to a G-PDU, and what a BSS says of mobiles.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{RaCapUpdCause, RadioCause};
use gannet_wire::bssgp::signalling::{LlcDiscarded, MobileRef, RaCapabilityUpdateAck};
use gannet_wire::id::{Bvci, Nsei, Sapi, Teid};
use gannet_wire::sndcp::{Compression, Header, Pdu};

pub(super) fn sn_pdu(nsapi: Nsapi, segment: u8, more: bool, number: u16, octets: &[u8]) -> Vec<u8> {
    let first = (segment == 0).then_some(Compression::NONE);
    let header = Header { nsapi, more, pdu: Pdu::Unitdata { first, segment, number } };
    [&*header.emit(), octets].concat()
}

#[test]
fn an_n_pdu_goes_to_its_ggsn() {
    let mut bench = Bench::attached(true);
    bench.activate(0, Nsapi(6));
    for (sequence, nsapi) in [(0, 5), (0, 6), (1, 5)] {
        bench.unitdata(0, Sapi::DATA3, &sn_pdu(Nsapi(nsapi), 0, false, sequence, &[nsapi; 30]));
        let (to, header, t_pdu) = bench.next_user();
        assert_eq!((to, header.teid), (GGSN, Teid(GGSN_USER + u32::from(nsapi))));
        assert_eq!((header.sequence, t_pdu), (Some(sequence), vec![nsapi; 30]));
    }
    assert_eq!(bench.sgsn.stats().n_pdu_uplink, 3);
    assert_eq!((bench.drops(), bench.around.frames.free()), (vec![], FRAMES));
}

#[test]
fn segments_are_put_together() {
    let mut bench = Bench::attached(true);
    let n_pdu: Vec<u8> = (0..=250).cycle().take(1200).collect();
    let parts: Vec<&[u8]> = n_pdu.chunks(480).collect();
    // The second and the third in the wrong order.
    for (segment, more) in [(0_u8, true), (2, false), (1, true)] {
        assert!(bench.is_silent());
        let pdu = sn_pdu(NSAPI, segment, more, 7, parts[usize::from(segment)]);
        bench.unitdata(0, Sapi::DATA3, &pdu);
    }
    assert_eq!(bench.next_user().2, n_pdu);
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn segments_that_never_come() {
    let mut bench = Bench::attached(true);
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, true, 7, b"first"));
    bench.pass_secs(11);
    assert_eq!(bench.drops(), [(Drop::SndcpTimeout, 1)]);
    // Overtaken by the next N-PDU.
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, true, 8, b"first"));
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(NSAPI, 0, false, 9, b"whole"));
    assert_eq!(bench.next_user().2, b"whole");
    assert_eq!(bench.dropped(Drop::SndcpIncomplete), 1);
    // Three mobiles' worth where there is room for two.
    for nsapi in [6, 7] {
        bench.activate(0, Nsapi(nsapi));
    }
    for nsapi in [5, 6, 7] {
        bench.unitdata(0, Sapi::DATA3, &sn_pdu(Nsapi(nsapi), 0, true, 20, b"first"));
    }
    assert_eq!(bench.dropped(Drop::SndcpTableFull), 1);
    bench.pass_secs(11);
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn an_nsapi_or_a_sapi_without_context() {
    let mut bench = Bench::attached(true);
    bench.unitdata(0, Sapi::DATA3, &sn_pdu(Nsapi(6), 0, false, 0, b"n-pdu"));
    bench.unitdata(0, Sapi::DATA5, &sn_pdu(NSAPI, 0, false, 0, b"n-pdu"));
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::SndcpUnknownNsapi, 2)]);
}

#[test]
fn a_damaged_or_repeated_frame() {
    let mut bench = Bench::attached(true);
    let pdu = sn_pdu(NSAPI, 0, false, 0, b"n-pdu");
    let mut ll_pdu = bench.ll_pdu(0, Sapi::DATA3, &pdu);
    bench.up(0, &ll_pdu);
    assert_eq!(bench.next_user().2, b"n-pdu");
    bench.up(0, &ll_pdu);
    ll_pdu[8] ^= 1;
    bench.up(0, &ll_pdu);
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::LlcBadFcs, 1), (Drop::LlcDuplicate, 1)]);
    // Neither shows where the mobile is.
    bench.pass_secs(40);
    bench.up(0, &ll_pdu);
    bench.pass_secs(5);
    assert_eq!(bench.mobile(0).gmm.mm_state(), gannet_proto::gmm::MmState::Standby);
}

#[test]
fn acknowledged_mode_is_refused() {
    let mut bench = Bench::attached(true);
    // SABM on SAPI 3, P set, from the mobile.
    let mut sabm = vec![0x03, 0xf7];
    let fcs = gannet_wire::fcs24::fcs24(&sabm);
    sabm.extend(fcs);
    bench.up(0, &sabm);
    let down = bench.next_down();
    assert_eq!(down.ll_pdu[..2], [0x03, 0xf1], "DM, F set");
    assert_eq!(bench.drops(), [(Drop::LlcAbmRefused, 1)]);
}

#[test]
fn without_a_frame_nothing_is_sent() {
    let mut bench = Bench::attached(true);
    let ll_pdu = bench.ll_pdu(0, Sapi::GMM, &[0x0a, 0x41]);
    let hoard: Vec<_> = core::iter::from_fn(|| bench.around.frames.alloc()).take(FRAMES - 1).collect();
    bench.up(0, &ll_pdu);
    core::mem::drop(hoard);
    assert!(bench.dropped(Drop::NoFrame) <= 1);
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn radio_status() {
    let mut bench = Bench::attached(true);
    let tlli = bench.phones[0].tlli;
    let status = |mobile| Message::RadioStatus { mobile, cause: RadioCause::ContactLost };
    bench.bssgp(Nsei(1), Bvci(2), &status(MobileRef::Tlli(tlli)));
    bench.bssgp(Nsei(1), Bvci(2), &status(MobileRef::Tlli(Tlli(1))));
    bench.bssgp(Nsei(1), Bvci(2), &status(MobileRef::Imsi(imsi(0))));
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 1), (Drop::SgsnRadioStatus, 2)]);
}

#[test]
fn llc_discarded() {
    let mut bench = Bench::attached(true);
    let tlli = bench.phones[0].tlli;
    bench.downlink(0, NSAPI, &[1; 400]);
    let level = |bench: &Bench| bench.sgsn.gb().flow.cell_view(bench.around.now, 0).unwrap().level_octets;
    let before = level(&bench);
    let discarded = LlcDiscarded { tlli, frames: 2, bvci: Bvci(2), octets: 300 };
    bench.sent.clear();
    bench.signal(&Message::LlcDiscarded(discarded));
    assert_eq!(level(&bench), before - 300);
    bench.signal(&Message::LlcDiscarded(LlcDiscarded { bvci: Bvci(77), frames: 1, ..discarded }));
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 1), (Drop::SgsnDiscardedByBss, 2)]);
}

#[test]
fn ra_capability_update() {
    let mut bench = Bench::attached(false);
    let tlli = bench.phones[0].tlli;
    let mut ask = |tlli, tag| {
        bench.bssgp(Nsei(1), Bvci(2), &Message::RaCapabilityUpdate { tlli, tag });
        match bench.next_bssgp() {
            Message::RaCapabilityUpdateAck(ack) => ack,
            other => panic!("{other:?}"),
        }
    };
    let known = RaCapabilityUpdateAck {
        tlli,
        tag: 5,
        imsi: Some(imsi(0)),
        cause: RaCapUpdCause::Ok,
        ms_ra_capability: Some(CAPABILITY.to_vec()),
    };
    assert_eq!(ask(tlli, 5), known);
    let unknown = ask(Tlli(0xc000_0001), 6);
    assert_eq!((unknown.cause, unknown.tag, unknown.imsi), (RaCapUpdCause::TlliUnknown, 6, None));
    assert_eq!(unknown.ms_ra_capability, None);
}

/// What an operator reads of what cannot be read names whose it is.
#[test]
fn lines_about_what_cannot_be_read_name_the_mobile() {
    let mut bench = Bench::attached(true);
    bench.around.trace.is_listening = true;
    // An XID command of SAPI 1 (04.64 clause 6.4.1.6) whose N201-U has no value, and an SN-PDU whose header ends behind its F bit.
    let mut xid = vec![0x01, 0xfb, 0x16];
    xid.extend(gannet_wire::fcs24::fcs24(&xid));
    bench.up(0, &xid);
    bench.unitdata(0, Sapi::DATA3, &[0x65]);
    let tlli = bench.phones[0].tlli;
    let lines = &bench.around.trace.lines;
    let [of_llc, of_sndcp] = ["XID: ", "SN-PDU: "].map(|what| lines.iter().find(|line| line.contains(what)));
    let named = format!("TLLI {tlli}: SAPI 1: XID: ");
    assert!(of_llc.is_some_and(|line| line.starts_with(&named)), "{lines:?}");
    let named = format!("IMSI {}: SN-PDU: ", imsi(0));
    assert!(of_sndcp.is_some_and(|line| line.starts_with(&named)), "{lines:?}");
}

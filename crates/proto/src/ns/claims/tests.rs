use super::super::tests::Side;
use super::super::*;
use super::*;
use crate::drops::Drop as Name;
use gannet_wire::id::Nsvci;
use gannet_wire::ns::{Cause, Pdu, Status};

const NSEI: Nsei = Nsei(101);

fn at(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], port))
}

fn reset(nsvci: u16) -> Vec<u8> {
    Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(nsvci), nsei: NSEI }.to_vec()
}

/// NS-VC 101 of a BSS at `at(1, 22000)` is in service.
fn in_service() -> Side {
    let mut sgsn = Side::new(NsConfig::new(NsRole::Sgsn, 7));
    for pdu in [reset(101), Pdu::Unblock.to_vec()] {
        sgsn.receive(at(1, 22000), &pdu);
    }
    sgsn.sent();
    sgsn
}

fn peers(sgsn: &Side) -> Vec<(SocketAddr, VcState)> {
    sgsn.ns.vcs().map(|vc| (vc.peer(), vc.state())).collect()
}

fn after(sgsn: &mut Side, span: Duration) {
    let now = sgsn.around.now + span;
    sgsn.wake(now);
}

#[test]
fn a_live_peer_keeps_its_ns_vc() {
    for sign_of_life in [Pdu::AliveAck.to_vec(), vec![0, 0, 0, 2, 0x22]] {
        let mut sgsn = in_service();
        sgsn.receive(at(2, 22000), &reset(101));
        assert_eq!(sgsn.sent(), [(at(1, 22000), Pdu::Alive.to_vec())], "one NS-ALIVE, and no answer yet");
        // It repeats itself, and a third one wants the same.
        sgsn.receive(at(2, 22000), &reset(101));
        assert_eq!(sgsn.sent(), []);
        sgsn.receive(at(3, 22000), &reset(101));
        assert!(matches!(sgsn.pdus()[..], [Pdu::Status(_)]));
        assert_eq!(sgsn.drops(Name::NsClaimRefused), 1);
        sgsn.receive(at(1, 22000), &sign_of_life);
        let sent = sgsn.sent();
        assert!(matches!(&sent[..], [(to, pdu)] if *to == at(2, 22000) && pdu[0] == 0x08), "{sent:?}");
        after(&mut sgsn, Duration::from_secs(10));
        assert_eq!(peers(&sgsn), [(at(1, 22000), VcState::Unblocked)]);
        assert_eq!(sgsn.drops(Name::NsClaimRefused), 2);
    }
}

/// A BSS that has restarted at another address is served after Tns-alive.
#[test]
fn a_dead_peer_is_replaced() {
    let mut sgsn = in_service();
    sgsn.receive(at(2, 22000), &reset(101));
    sgsn.sent();
    after(&mut sgsn, Duration::from_millis(2999));
    assert_eq!(peers(&sgsn), [(at(1, 22000), VcState::Unblocked)]);
    after(&mut sgsn, Duration::from_millis(1));
    let sent = sgsn.sent();
    let ack = Pdu::ResetAck { nsvci: Nsvci(101), nsei: NSEI }.to_vec();
    assert_eq!(sent.last(), Some(&(at(2, 22000), ack)));
    sgsn.receive(at(2, 22000), &Pdu::Unblock.to_vec());
    assert_eq!(peers(&sgsn), [(at(2, 22000), VcState::Unblocked)]);
    assert_eq!(sgsn.drops(Name::NsClaimRefused), 0);
}

/// Another port of the same host waits for less.
#[test]
fn a_bss_that_restarts_at_another_port() {
    let mut sgsn = in_service();
    sgsn.receive(at(1, 22001), &reset(101));
    sgsn.sent();
    after(&mut sgsn, SAME_HOST);
    assert_eq!(peers(&sgsn), [(at(1, 22001), VcState::Blocked)]);
    let mut sgsn = in_service();
    sgsn.receive(at(1, 22001), &reset(101));
    sgsn.receive(at(1, 22000), &Pdu::AliveAck.to_vec());
    after(&mut sgsn, SAME_HOST);
    assert_eq!(peers(&sgsn), [(at(1, 22000), VcState::Unblocked)]);
}

/// What is dead already is replaced at once, and an address with an NS-VC of its own does not lose it by a claim.
#[test]
fn who_is_dead_is_not_tested() {
    let mut sgsn = in_service();
    sgsn.receive(at(2, 22000), &reset(7));
    sgsn.sent();
    sgsn.receive(at(2, 22000), &reset(101));
    assert_eq!(sgsn.sent(), [(at(1, 22000), Pdu::Alive.to_vec())]);
    sgsn.receive(at(1, 22000), &Pdu::AliveAck.to_vec());
    sgsn.sent();
    assert_eq!(peers(&sgsn).len(), 2, "the claimant keeps its own");
    let unknown = Status { nsvci: Some(Nsvci(101)), ..Status::of(Cause::NsVcUnknown) };
    sgsn.receive(at(1, 22000), &Pdu::Status(unknown).to_vec());
    sgsn.receive(at(3, 22000), &reset(101));
    assert!(matches!(sgsn.pdus()[..], [Pdu::ResetAck { .. }]));
}

#[test]
fn claims_have_a_limit() {
    let mut sgsn = Side::new(NsConfig::new(NsRole::Sgsn, 7));
    let nsvcis = 0..u16::try_from(CLAIMS_MAX).unwrap() + 10;
    for nsvci in nsvcis.clone() {
        sgsn.receive(at(1, 1000 + nsvci), &reset(nsvci));
        sgsn.sent();
    }
    for nsvci in nsvcis {
        sgsn.receive(at(2, 1000 + nsvci), &reset(nsvci));
        sgsn.sent();
    }
    assert_eq!((sgsn.ns.claims.len(), sgsn.drops(Name::NsClaimRefused)), (CLAIMS_MAX, 10));
    after(&mut sgsn, Duration::from_secs(3));
    assert_eq!(sgsn.ns.claims.len(), 0);
    let moved = sgsn.ns.vcs().filter(|vc| vc.peer().ip() == at(2, 0).ip()).count();
    assert_eq!(moved, CLAIMS_MAX);
}

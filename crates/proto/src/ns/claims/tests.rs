use super::super::tests::{Side, open_sgsn};
use super::*;
use gannet_machine::drops::Drop as Name;
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
    let mut sgsn = Side::new(open_sgsn(7));
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

/// Another port of the same host has the same time, but for a loopback address.
#[test]
fn a_bss_that_restarts_at_another_port() {
    let on = |host: [u8; 4], port| SocketAddr::from((host, port));
    for (host, span) in [([192, 0, 2, 1], Duration::from_secs(3)), ([127, 0, 0, 1], LOOPBACK)] {
        let up = || {
            let mut sgsn = Side::new(open_sgsn(7));
            sgsn.receive(on(host, 22000), &reset(101));
            sgsn.receive(on(host, 22000), &Pdu::Unblock.to_vec());
            sgsn.receive(on(host, 22001), &reset(101));
            sgsn
        };
        let mut sgsn = up();
        after(&mut sgsn, Duration(span.0 - 1));
        assert_eq!(peers(&sgsn), [(on(host, 22000), VcState::Unblocked)]);
        after(&mut sgsn, Duration(1));
        assert_eq!(peers(&sgsn), [(on(host, 22001), VcState::Blocked)]);
        let mut sgsn = up();
        sgsn.receive(on(host, 22000), &Pdu::AliveAck.to_vec());
        after(&mut sgsn, span);
        assert_eq!(peers(&sgsn), [(on(host, 22000), VcState::Unblocked)]);
    }
}

/// NS-ALIVE may be lost on the way, and its answer, too.
#[test]
fn a_test_is_repeated_each_second() {
    let mut sgsn = in_service();
    sgsn.receive(at(2, 22000), &reset(101));
    let alive = [(at(1, 22000), Pdu::Alive.to_vec())];
    assert_eq!(sgsn.sent(), alive);
    for _ in 0..2 {
        after(&mut sgsn, Duration::from_millis(999));
        assert_eq!(sgsn.sent(), []);
        after(&mut sgsn, Duration::from_millis(1));
        assert_eq!(sgsn.sent(), alive);
    }
    sgsn.receive(at(1, 22000), &Pdu::AliveAck.to_vec());
    after(&mut sgsn, Duration::from_secs(10));
    assert_eq!(peers(&sgsn), [(at(1, 22000), VcState::Unblocked)]);
}

#[test]
fn any_pdu_of_the_holder_but_ns_status_is_a_sign_of_life() {
    let block = Pdu::Block { cause: Cause::OamIntervention, nsvci: Nsvci(101) };
    let status = Pdu::Status(Status::of(Cause::PduNotCompatible));
    let another = Pdu::ResetAck { nsvci: Nsvci(7), nsei: NSEI };
    for (pdu, is_life) in [
        (Pdu::Alive.to_vec(), true),
        (block.to_vec(), true),
        (Pdu::Unblock.to_vec(), true),
        (reset(101), true),
        (status.to_vec(), false),
        (another.to_vec(), false),
    ] {
        let mut sgsn = in_service();
        sgsn.receive(at(2, 22000), &reset(101));
        sgsn.receive(at(1, 22000), &pdu);
        after(&mut sgsn, Duration::from_secs(3));
        let holder = if is_life { at(1, 22000) } else { at(2, 22000) };
        assert_eq!(peers(&sgsn).first().map(|(peer, _)| *peer), Some(holder), "{pdu:?}");
    }
}

/// Who was refused may not have the holder tested at its own rate.
#[test]
fn a_refused_claim_is_not_tested_again_soon() {
    let mut sgsn = in_service();
    let claim = |sgsn: &mut Side, from: SocketAddr| {
        sgsn.sent();
        sgsn.receive(from, &reset(101));
        let tests = sgsn.sent().into_iter().filter(|(_, pdu)| *pdu == Pdu::Alive.to_vec()).count();
        sgsn.receive(at(1, 22000), &Pdu::AliveAck.to_vec());
        sgsn.sent();
        tests
    };
    assert_eq!(claim(&mut sgsn, at(2, 22000)), 1);
    // Nobody has it tested within a second.
    for host in 2..100 {
        assert_eq!(claim(&mut sgsn, at(host, 22000)), 0);
    }
    after(&mut sgsn, PROVED);
    assert_eq!(claim(&mut sgsn, at(2, 22001)), 0, "the same host, with another port");
    assert_eq!(claim(&mut sgsn, at(3, 22000)), 1);
    after(&mut sgsn, PROVED);
    assert_eq!(claim(&mut sgsn, at(1, 22009)), 1, "the holder's own host");
    after(&mut sgsn, PROVED);
    assert_eq!(claim(&mut sgsn, at(1, 22009)), 1, "may restart soon after");
    after(&mut sgsn, HOLD_OFF);
    assert_eq!(claim(&mut sgsn, at(2, 22000)), 1);
    assert_eq!(peers(&sgsn), [(at(1, 22000), VcState::Unblocked)]);
    // What is remembered of refusals has a limit.
    sgsn.sent();
    let full = Refusal { nsei: Nsei(9), host: at(9, 1).ip(), is_same_host: false, at: sgsn.around.now };
    sgsn.ns.refusals = core::iter::repeat_n(full, REFUSALS_MAX).collect();
    assert_eq!(claim(&mut sgsn, at(4, 1)), 1);
    assert_eq!(sgsn.ns.refusals.len(), REFUSALS_MAX);
    assert_eq!(sgsn.ns.refusals.back().map(|refusal| refusal.host), Some(at(4, 1).ip()));
}

/// A stranger would have half of the downlink by an NS-VC of its own in the NSE.
#[test]
fn a_live_nse_is_not_joined_from_another_host() {
    let mut sgsn = in_service();
    sgsn.receive(at(2, 22000), &reset(7));
    assert_eq!(sgsn.sent(), [(at(1, 22000), Pdu::Alive.to_vec())], "the NSE is tested first");
    sgsn.receive(at(1, 22000), &Pdu::AliveAck.to_vec());
    assert!(matches!(&sgsn.sent()[..], [(to, pdu)] if *to == at(2, 22000) && pdu[0] == 0x08));
    assert_eq!((peers(&sgsn).len(), sgsn.drops(Name::NsClaimRefused)), (1, 1));
    // Neither by an address that has an NS-VC of another NSE.
    let other = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(1), nsei: Nsei(9) };
    sgsn.receive(at(3, 22000), &other.to_vec());
    sgsn.sent();
    after(&mut sgsn, PROVED);
    sgsn.receive(at(3, 22000), &reset(8));
    assert_eq!(sgsn.sent(), [(at(1, 22000), Pdu::Alive.to_vec())]);
    sgsn.receive(at(1, 22000), &Pdu::AliveAck.to_vec());
    assert_eq!(sgsn.ns.vcs().map(NsVc::nsei).collect::<Vec<_>>(), [NSEI, Nsei(9)]);
    // One whose peer is dead is joined.
    let mut sgsn = in_service();
    sgsn.receive(at(2, 22000), &reset(7));
    after(&mut sgsn, Duration::from_secs(3));
    assert_eq!(peers(&sgsn), [(at(1, 22000), VcState::Dead), (at(2, 22000), VcState::Blocked)]);
}

#[test]
fn a_configured_nse_is_not_joined() {
    let mut sgsn = Side::new(open_sgsn(7));
    let (port, peer) = (Port(0), at(1, 22000));
    sgsn.ns.add_static_vc(&mut sgsn.around.context(), NSEI, Nsvci(101), port, peer).unwrap();
    let unknown = |nsvci| Pdu::Status(Status { nsvci: Some(nsvci), ..Status::of(Cause::NsVcUnknown) });
    for host in [1, 2] {
        sgsn.receive(at(host, 22007), &reset(7));
        assert_eq!(sgsn.pdus(), [unknown(Nsvci(7))]);
    }
    // An address that has an NS-VC of another NSE keeps that one.
    let other = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(1), nsei: Nsei(9) };
    sgsn.receive(at(3, 22000), &other.to_vec());
    sgsn.receive(at(3, 22000), &reset(7));
    assert_eq!(peers(&sgsn), [(at(1, 22000), VcState::Dead), (at(3, 22000), VcState::Blocked)]);
    assert_eq!(sgsn.drops(Name::NsUnknownPeer), 3);
}

/// A BSS has as many NS-VCs as it likes at one host, and each may speak of the others.
#[test]
fn several_ns_vcs_of_one_host() {
    let mut sgsn = in_service();
    for nsvci in 102..105 {
        sgsn.receive(at(1, 22000 + nsvci), &reset(nsvci));
        sgsn.receive(at(1, 22000 + nsvci), &Pdu::Unblock.to_vec());
    }
    assert_eq!(peers(&sgsn).iter().filter(|(_, state)| *state == VcState::Unblocked).count(), 4);
    sgsn.sent();
    let block = Pdu::Block { cause: Cause::OamIntervention, nsvci: Nsvci(102) }.to_vec();
    sgsn.receive(at(1, 22000), &block);
    assert_eq!(sgsn.sent(), [(at(1, 22000), Pdu::BlockAck { nsvci: Nsvci(102) }.to_vec())]);
    assert_eq!(sgsn.drops(Name::NsClaimRefused), 0);
}

/// NS-BLOCK and NS-STATUS about another NS-VC count from its host, and among NS-VCs that a person has configured.
#[test]
fn who_may_speak_of_another_ns_vc() {
    let unknown = Status { nsvci: Some(Nsvci(1)), ..Status::of(Cause::NsVcUnknown) };
    let block = Pdu::Block { cause: Cause::OamIntervention, nsvci: Nsvci(1) };
    for (configured, after_block, after_status) in
        [(false, VcState::Unblocked, VcState::Unblocked), (true, VcState::Blocked, VcState::Dead)]
    {
        let mut sgsn = Side::new(open_sgsn(7));
        for host in [1, 2] {
            let nsvci = Nsvci(host.into());
            if configured {
                let mut cx = sgsn.around.context();
                sgsn.ns.add_static_vc(&mut cx, NSEI, nsvci, Port(0), at(host, 1)).unwrap();
            }
            sgsn.receive(at(host, 1), &reset(nsvci.0));
            // Where it is not configured, the first is silent until the second has joined.
            after(&mut sgsn, Duration::from_secs(3));
        }
        for host in [1, 2] {
            sgsn.receive(at(host, 1), &reset(host.into()));
            sgsn.receive(at(host, 1), &Pdu::Unblock.to_vec());
        }
        assert_eq!(sgsn.states(), [VcState::Unblocked; 2]);
        sgsn.receive(at(2, 1), &block.to_vec());
        assert_eq!(sgsn.states(), [after_block, VcState::Unblocked]);
        sgsn.receive(at(2, 1), &Pdu::Status(unknown.clone()).to_vec());
        assert_eq!(sgsn.states(), [after_status, VcState::Unblocked]);
    }
}

/// What is dead already is replaced at once, and an address with an NS-VC of its own does not lose it by a claim.
#[test]
fn who_is_dead_is_not_tested() {
    let mut sgsn = in_service();
    let other = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(7), nsei: Nsei(9) };
    sgsn.receive(at(2, 22000), &other.to_vec());
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
    let mut sgsn = Side::new(open_sgsn(7));
    let nsvcis = 0..u16::try_from(CLAIMS_MAX).unwrap() + 10;
    let reset = |n| Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(n), nsei: Nsei(n) }.to_vec();
    for host in [1, 2] {
        for nsvci in nsvcis.clone() {
            sgsn.receive(at(host, 1000 + nsvci), &reset(nsvci));
            sgsn.sent();
        }
    }
    assert_eq!((sgsn.ns.claims.len(), sgsn.drops(Name::NsClaimRefused)), (CLAIMS_MAX, 10));
    after(&mut sgsn, Duration::from_secs(3));
    assert_eq!(sgsn.ns.claims.len(), 0);
    let moved = sgsn.ns.vcs().filter(|vc| vc.peer().ip() == at(2, 0).ip()).count();
    assert_eq!(moved, CLAIMS_MAX);
}

use super::super::tests::{Side, open_sgsn};
use super::super::*;
use super::*;
use gannet_wire::ns::{Cause, Pdu, Sns as SnsPdu};

const NSEI: Nsei = Nsei(101);

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

/// The SGSN is killed, and started again with what it has learned.
fn again(former: &Side, config: NsConfig) -> (Side, Vec<bool>) {
    let learned = former.ns.learned();
    let octets = postcard::to_allocvec(&learned).unwrap();
    let learned: Vec<Learned> = postcard::from_bytes(&octets).unwrap();
    let mut sgsn = Side::new(config);
    let mut recalled = Vec::new();
    for learned in &learned {
        recalled.push(sgsn.ns.recall(&mut sgsn.around.context(), learned, &mut sgsn.out));
    }
    sgsn.ns.reset_all(&mut sgsn.around.context(), &mut sgsn.out);
    (sgsn, recalled)
}

#[test]
fn ns_vcs_are_reset_at_once() {
    let config = open_sgsn(7);
    let mut former = Side::new(config.clone());
    let reset = |nsvci| Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(nsvci), nsei: NSEI };
    for nsvci in [1, 2] {
        former.receive(at(22000 + nsvci), &reset(nsvci).to_vec());
        former.receive(at(22000 + nsvci), &Pdu::Unblock.to_vec());
    }
    let before = former.ns.address_changes();
    former.receive(at(22001), &Pdu::Alive.to_vec());
    assert_eq!(former.ns.address_changes(), before);
    let (mut sgsn, recalled) = again(&former, config.clone());
    assert_eq!(recalled, [true, true]);
    let expected: Vec<_> = [1, 2].map(|nsvci| (at(22000 + nsvci), reset(nsvci).to_vec())).into();
    assert_eq!(sgsn.sent(), expected);
    for nsvci in [1, 2] {
        sgsn.receive(at(22000 + nsvci), &Pdu::ResetAck { nsvci: Nsvci(nsvci), nsei: NSEI }.to_vec());
        sgsn.receive(at(22000 + nsvci), &Pdu::Unblock.to_vec());
    }
    assert_eq!(sgsn.states(), [VcState::Unblocked; 2]);
    assert!(sgsn.statuses.is_empty() || sgsn.ns.is_available(NSEI));
    // One that has gone meanwhile is given up like any other.
    let (mut sgsn, _) = again(&former, config.clone());
    for _ in 0..20 {
        let next = sgsn.around.timers.next().unwrap_or(sgsn.around.now);
        sgsn.wake(next);
    }
    assert_eq!(sgsn.ns.vcs().count(), 0);
    // Where NS-VCs that nobody configured are not wanted any more, they do not come back; nor do they twice.
    let (mut sgsn, recalled) = again(&former, NsConfig { open: Vec::new(), ..config });
    assert_eq!((recalled, sgsn.sent()), (vec![false, false], Vec::new()));
}

#[test]
fn endpoints_of_ip_sns_are_used_again() {
    let config = sns::tests::sgsn_config(1);
    let mut former = sns::tests::in_service();
    let (mut sgsn, recalled) = again(&former, config.clone());
    assert_eq!(recalled, [true]);
    assert_eq!(sgsn.pdus(), [Pdu::Alive, Pdu::Alive], "they are tested at once");
    assert!(!sgsn.ns.is_available(NSEI));
    let ours = sgsn.ns.vcs().next().map(NsVc::port).unwrap();
    let peer = sgsn.ns.vcs().next().map(NsVc::peer).unwrap();
    sgsn.receive_at(ours, peer, &Pdu::AliveAck.to_vec());
    assert!(sgsn.ns.is_available(NSEI));
    // A BSS that has forgotten begins anew.
    let size =
        SnsPdu::Size { nsei: NSEI, reset: true, ns_vcs_max: 8, ip4_endpoints: Some(2), ip6_endpoints: None };
    sgsn.sent();
    sgsn.receive_at(ours, peer, &Pdu::Sns(size).to_vec());
    assert_eq!(sgsn.pdus(), [Pdu::Sns(SnsPdu::SizeAck { nsei: NSEI, cause: None })]);
    // An SGSN with other endpoints waits for the BSS.
    let (mut sgsn, recalled) = again(&former, sns::tests::sgsn_config(2));
    assert_eq!((recalled, sgsn.pdus()), (vec![false], Vec::new()));
    former.sent();
}

/// What is known from before the restart belongs to its BSS until that has not answered for Tns-alive.
#[test]
fn what_is_recalled_is_not_taken_before_its_bss_has_answered() {
    let stranger = SocketAddr::from(([198, 51, 100, 7], 22001));
    let reset =
        |nsvci| Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(nsvci), nsei: NSEI }.to_vec();
    let size =
        SnsPdu::Size { nsei: NSEI, reset: true, ns_vcs_max: 8, ip4_endpoints: Some(2), ip6_endpoints: None };
    let size = Pdu::Sns(size).to_vec();
    let named = || {
        let mut former = Side::new(sns::tests::sgsn_config(1));
        former.receive(at(22001), &reset(1));
        again(&former, sns::tests::sgsn_config(1)).0
    };
    let ip_sns = || again(&sns::tests::in_service(), sns::tests::sgsn_config(1)).0;
    let ack = Pdu::ResetAck { nsvci: Nsvci(1), nsei: NSEI }.to_vec();
    let makers: [(&dyn Fn() -> Side, Vec<u8>); 2] = [(&named, ack), (&ip_sns, Pdu::AliveAck.to_vec())];
    for (recalled, answer) in makers {
        for claim in [reset(1), reset(9), size.clone()] {
            let mut sgsn = recalled();
            let (port, holder) = sgsn.ns.vcs().next().map(|vc| (vc.port(), vc.peer())).unwrap();
            sgsn.sent();
            sgsn.receive(stranger, &claim);
            let sent = sgsn.sent();
            assert!(!sent.is_empty() && sent.iter().all(|(to, _)| *to != stranger), "{sent:?}");
            sgsn.receive_at(port, holder, &answer);
            assert_eq!(sgsn.drops(gannet_machine::drops::Drop::NsClaimRefused), 1);
            assert!(sgsn.ns.vcs().all(|vc| vc.peer() != stranger));
            // A BSS that has moved meanwhile is served after Tns-alive.
            let mut sgsn = recalled();
            sgsn.sent();
            sgsn.receive(stranger, &claim);
            sgsn.sent();
            sgsn.wake(sgsn.around.now + sgsn.ns.config().tns_alive);
            let sent = sgsn.sent();
            assert!(sent.iter().any(|(to, pdu)| *to == stranger && pdu[0] != 0x08), "{sent:?}");
        }
    }
}

#[test]
fn recalled_endpoints_keep_to_the_limits_and_to_their_nse() {
    let former = sns::tests::in_service();
    let mut config = sns::tests::sgsn_config(1);
    config.sns.endpoints_max = 1;
    let (mut sgsn, recalled) = again(&former, config);
    assert_eq!((recalled, sgsn.sent(), sgsn.ns.sns_nses().count()), (vec![false], Vec::new(), 0));
    let mut config = sns::tests::sgsn_config(1);
    config.sns.vcs_max = 1;
    assert_eq!(again(&former, config).1, [false]);
    // Two stored NSEs cannot have one endpoint, and a configured NSE takes nothing that is known by NS-RESET.
    let mut sgsn = Side::new(sns::tests::sgsn_config(1));
    let mut learned = former.ns.learned().remove(0);
    let mut recall = |learned: &Learned| sgsn.ns.recall(&mut sgsn.around.context(), learned, &mut sgsn.out);
    assert!(recall(&learned));
    let Learned::Sns { nsei, .. } = &mut learned else { panic!() };
    *nsei = Nsei(102);
    assert!(!recall(&learned));
    assert_eq!((sgsn.ns.sns_nses().count(), sgsn.ns.nses().count()), (1, 1));
    let mut sgsn = Side::new(open_sgsn(7));
    sgsn.ns.add_static_vc(&mut sgsn.around.context(), NSEI, Nsvci(1), Port(0), at(1)).unwrap();
    let other = Learned::Vc { nsei: NSEI, nsvci: Nsvci(2), port: 0, peer: at(2) };
    assert!(!sgsn.ns.recall(&mut sgsn.around.context(), &other, &mut sgsn.out));
}

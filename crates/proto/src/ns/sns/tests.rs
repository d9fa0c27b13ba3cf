//! Two entities that speak IP-SNS over several endpoints each, in virtual time; and one against hand-made octets.

use super::super::tests::Side;
use super::super::{NsConfig, NsStatus, PROVED, VcState};
use super::*;
use gannet_machine::drops::Drop as Name;
use gannet_wire::id::{Bvci, Nsvci};
use std::collections::{BTreeMap, VecDeque};

const NSEI: Nsei = Nsei(101);

fn bss_address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], 22000 + port))
}

fn sgsn_address(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 2], 23000 + port))
}

fn local(address: fn(u16) -> SocketAddr, port: u16, weights: (u8, u8)) -> LocalEndpoint {
    let (signalling_weight, data_weight) = weights;
    let element = IpElement { endpoint: address(port), signalling_weight, data_weight };
    LocalEndpoint { port: Port(port), element }
}

pub fn sgsn_config(endpoints: u16) -> NsConfig {
    let mut config = NsConfig::new(NsRole::Sgsn, 2);
    config.open = (0..=endpoints).map(Port).collect();
    config.sns.open = config.open.clone();
    config.sns.local = (1..=endpoints).map(|port| local(sgsn_address, port, (1, 1))).collect();
    config
}

/// Who sends from where to where: true from the BSS.
type InFlight = (bool, SocketAddr, SocketAddr, Vec<u8>);

struct Net {
    bss: Side,
    sgsn: Side,
    now: Instant,
    in_flight: VecDeque<InFlight>,
    lost: fn(&InFlight) -> bool,
    /// How many PDUs of each type went over the link.
    seen: BTreeMap<u8, u32>,
}

impl Net {
    fn new(bss_endpoints: u16, sgsn_endpoints: u16) -> Self {
        let mut net = Self {
            bss: Side::new(NsConfig::new(NsRole::Bss, 1)),
            sgsn: Side::new(sgsn_config(sgsn_endpoints)),
            now: Instant::ZERO,
            in_flight: VecDeque::new(),
            lost: |_| false,
            seen: BTreeMap::new(),
        };
        net.new_bss(bss_endpoints);
        net
    }

    /// The BSS is switched off and on.
    fn new_bss(&mut self, endpoints: u16) {
        self.bss = Side::new(NsConfig::new(NsRole::Bss, 1));
        self.bss.around.now = self.now;
        let setup = SnsSetup {
            nsei: NSEI,
            local: (1..=endpoints).map(|port| local(bss_address, port, (1, 1))).collect(),
            spare: 4,
            initial: vec![sgsn_address(1)],
        };
        let mut cx = self.bss.around.context();
        self.bss.ns.add_sns(&mut cx, setup).unwrap();
        self.bss.ns.start(&mut cx, &mut self.bss.out);
    }

    fn started(bss_endpoints: u16, sgsn_endpoints: u16) -> Self {
        let mut net = Self::new(bss_endpoints, sgsn_endpoints);
        net.exchange();
        net
    }

    fn side(&mut self, bss: bool) -> &mut Side {
        if bss { &mut self.bss } else { &mut self.sgsn }
    }

    fn collect(&mut self, bss: bool) {
        while let Some(output) = self.side(bss).out.pop() {
            match output {
                NsOutput::Transmit { port, peer, frame } => {
                    let from = if bss { bss_address(port.0) } else { sgsn_address(port.0) };
                    self.in_flight.push_back((bss, from, peer, frame.to_vec()));
                }
                NsOutput::Unitdata { bvci, frame, .. } => {
                    self.side(bss).delivered.push((bvci, frame.to_vec()));
                }
                NsOutput::Status { status, .. } => self.side(bss).statuses.push(status),
            }
        }
    }

    /// Delivers until nobody has anything to say.
    fn exchange(&mut self) {
        loop {
            self.collect(true);
            self.collect(false);
            let Some(pdu) = self.in_flight.pop_front() else { return };
            if (self.lost)(&pdu) {
                continue;
            }
            let (from_bss, from, to, octets) = pdu;
            *self.seen.entry(octets[0]).or_default() += 1;
            let base = if from_bss { 23000 } else { 22000 };
            self.side(!from_bss).receive_at(Port(to.port() - base), from, &octets);
        }
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let next = [&self.bss, &self.sgsn].iter().filter_map(|side| side.around.timers.next()).min();
            self.now = next.unwrap_or(end).min(end).max(self.now);
            self.bss.wake(self.now);
            self.sgsn.wake(self.now);
            self.exchange();
            if self.now >= end {
                return;
            }
        }
    }

    /// Everything is in service, `n` NS-VCs of it.
    fn assert_up(&self, n: usize) {
        assert_eq!(self.bss.states(), vec![VcState::Unblocked; n], "BSS");
        assert_eq!(self.sgsn.states(), vec![VcState::Unblocked; n], "SGSN");
        for side in [&self.bss, &self.sgsn] {
            assert_eq!(side.ns.sns(NSEI).map(Sns::state), Some(SnsState::Configured));
            assert_eq!(side.around.frames.free(), 64);
        }
    }

    /// Each LSP has its NS SDUs sent both ways; how many arrived.
    fn load(&mut self, rounds: u8) -> (usize, usize) {
        self.bss.delivered.clear();
        self.sgsn.delivered.clear();
        for round in 0..rounds {
            for lsp in 0..8 {
                self.bss.unitdata(lsp, &[round]);
                self.sgsn.unitdata(lsp, &[round]);
            }
            self.exchange();
        }
        (self.bss.delivered.len(), self.sgsn.delivered.len())
    }
}

#[test]
fn an_nsvc_for_every_pair_of_endpoints() {
    let mut net = Net::started(2, 3);
    net.assert_up(6);
    assert_eq!(net.sgsn.statuses.first(), Some(&NsStatus::NseAvailable));
    assert_eq!(net.sgsn.statuses.last(), Some(&NsStatus::TransferCapacity { unblocked: 6 }));
    net.run_for(Duration::from_secs(600));
    net.assert_up(6);
    let types: Vec<u8> = net.seen.keys().copied().collect();
    assert_eq!(types, [0x0a, 0x0b, 0x0f, 0x10, 0x12, 0x13], "no reset, no blocking");
    assert_eq!((net.seen[&0x12], net.seen[&0x0f]), (1, 2));
    for side in [&net.bss, &net.sgsn] {
        assert_eq!(side.around.trace.drops.total(), 0);
        assert!(side.ns.vcs().all(|vc| vc.nsvci().is_none() && vc.origin() == VcOrigin::Sns));
        assert!(side.ns.vcs().all(|vc| vc.counters().pdus_in >= 40), "tests both ways");
    }
}

#[test]
fn unitdata_goes_by_weights_and_an_lsp_stays() {
    let mut net = Net::started(1, 2);
    let element = |port, signalling_weight, data_weight| IpElement {
        endpoint: sgsn_address(port),
        signalling_weight,
        data_weight,
    };
    for element in [element(1, 1, 0), element(2, 0, 1)] {
        let mut cx = net.sgsn.around.context();
        net.sgsn.ns.sns_change_weight(&mut cx, NSEI, element, &mut net.sgsn.out).unwrap();
    }
    net.exchange();
    let told: Vec<_> = net.bss.ns.vcs().map(|vc| (vc.peer(), vc.weights())).collect();
    assert_eq!(told, [(sgsn_address(1), (1, 0)), (sgsn_address(2), (0, 1))]);
    for lsp in 0..32 {
        net.bss.unitdata(lsp, b"data");
    }
    assert!(net.bss.sent().iter().all(|(peer, _)| *peer == sgsn_address(2)));
    let frame = net.bss.around.frames.copy_of(b"signalling").unwrap();
    let mut cx = net.bss.around.context();
    net.bss.ns.unitdata_request(&mut cx, NSEI, Bvci::SIGNALLING, 0, frame, &mut net.bss.out);
    assert_eq!(net.bss.sent().first().map(|(peer, _)| *peer), Some(sgsn_address(1)));
    let mut cx = net.sgsn.around.context();
    let refused = net.sgsn.ns.sns_change_weight(&mut cx, NSEI, element(2, 0, 0), &mut net.sgsn.out);
    assert_eq!(refused, Err(NsError::Weights));
}

#[test]
fn whatever_is_lost_is_asked_for_again() {
    let once: [fn(&InFlight) -> bool; 4] =
        [|pdu| pdu.3[0] == 0x12, |pdu| pdu.3[0] == 0x13, |pdu| pdu.3[0] == 0x0f, |pdu| pdu.3[0] == 0x10];
    for lost in once {
        let mut net = Net::new(1, 1);
        net.lost = lost;
        net.run_for(Duration::from_secs(2));
        assert!(net.bss.states().iter().all(|state| *state == VcState::Dead));
        net.lost = |_| false;
        net.run_for(Duration::from_secs(12));
        net.assert_up(1);
        // For ever nothing is answered: the BSS goes on, the SGSN forgets.
        net.new_bss(1);
        net.lost = lost;
        net.run_for(Duration::from_secs(600));
        net.lost = |_| false;
        net.run_for(Duration::from_secs(30));
        net.assert_up(1);
    }
}

#[test]
fn either_side_restarts() {
    let mut net = Net::started(2, 1);
    net.new_bss(2);
    net.exchange();
    net.assert_up(2);
    assert!(net.sgsn.statuses.contains(&NsStatus::NseUnavailable), "its BVCs begin anew");
    // Another size begins anew as well.
    net.new_bss(3);
    net.exchange();
    net.assert_up(3);
    net.sgsn = Side::new(sgsn_config(1));
    net.sgsn.around.now = net.now;
    net.run_for(Duration::from_secs(31));
    assert!(net.sgsn.drops(Name::NsUnknownPeer) > 0, "the test finds nobody");
    net.run_for(Duration::from_secs(12));
    net.assert_up(3);
}

#[test]
fn one_nsvc_of_several_fails_under_load() {
    let mut net = Net::started(1, 3);
    assert_eq!(net.load(4), (32, 32));
    // One path is dead from now on; the tests find it out.
    net.lost = |(_, from, to, _)| *from == sgsn_address(2) || *to == sgsn_address(2);
    net.run_for(Duration::from_secs(34));
    assert_eq!(net.bss.states(), [VcState::Unblocked; 3], "one test unanswered is no death");
    assert_eq!(net.load(20), (160, 160), "what may be dead carries nothing");
    net.run_for(Duration::from_secs(60));
    assert_eq!(net.bss.states(), [VcState::Unblocked, VcState::Dead, VcState::Unblocked]);
    assert_eq!(net.load(20), (160, 160));
    assert_eq!(net.sgsn.drops(Name::NsNoVc) + net.bss.drops(Name::NsNoVc), 0);
    assert!(!net.bss.statuses.contains(&NsStatus::NseUnavailable));
    // The path is back: so is the NS-VC, by its test alone.
    net.lost = |_| false;
    net.run_for(Duration::from_secs(40));
    net.assert_up(3);
    assert_eq!(net.load(20), (160, 160));
    // All of them: the BSS starts anew, and the SGSN has forgotten it after a while.
    net.lost = |_| true;
    net.run_for(Duration::from_secs(30 + 33 + 5));
    assert_eq!(net.bss.ns.sns(NSEI).map(Sns::state), Some(SnsState::Size));
    assert_eq!(net.sgsn.statuses.last(), Some(&NsStatus::NseUnavailable));
    net.run_for(Duration::from_secs(301));
    assert!(net.sgsn.ns.sns(NSEI).is_none() && net.sgsn.ns.vcs().next().is_none());
}

#[test]
fn endpoints_come_and_go_under_load_from_either_side() {
    let mut net = Net::started(1, 2);
    for bss in [true, false] {
        let address = if bss { bss_address } else { sgsn_address };
        let Side { around, ns, out, .. } = net.side(bss);
        let new = local(address, 9, (2, 2));
        ns.sns_add(&mut around.context(), NSEI, new, out).unwrap();
        assert_eq!(net.load(4), (32, 32));
        let added = if bss { 4 } else { 3 };
        net.assert_up(added);
        let weights = IpElement { data_weight: 7, ..new.element };
        let Side { around, ns, out, .. } = net.side(bss);
        ns.sns_change_weight(&mut around.context(), NSEI, weights, out).unwrap();
        assert_eq!(net.load(4), (32, 32));
        assert!(net.side(!bss).ns.vcs().any(|vc| vc.peer() == address(9) && vc.weights() == (2, 7)));
        // NS SDUs are under way in both directions when the endpoint goes.
        (0..8).for_each(|lsp| net.side(!bss).unitdata(lsp, b"late"));
        let Side { around, ns, out, .. } = net.side(bss);
        ns.sns_delete(&mut around.context(), NSEI, address(9), out).unwrap();
        (0..8).for_each(|lsp| net.side(bss).unitdata(lsp, b"late"));
        net.side(bss).delivered.clear();
        net.side(!bss).delivered.clear();
        net.exchange();
        assert_eq!((net.bss.delivered.len(), net.sgsn.delivered.len()), (8, 8));
        net.assert_up(2);
        assert_eq!(net.load(4), (32, 32));
    }
    let drops = |side: &Side| side.around.trace.drops.total();
    assert_eq!((drops(&net.bss), drops(&net.sgsn)), (0, 0));
}

#[test]
fn a_change_that_is_not_answered_or_refused_is_taken_back() {
    let mut net = Net::started(1, 1);
    net.lost = |pdu| pdu.3[0] == 0x0c;
    let new = local(bss_address, 9, (1, 1));
    let mut cx = net.bss.around.context();
    net.bss.ns.sns_add(&mut cx, NSEI, new, &mut net.bss.out).unwrap();
    net.run_for(Duration::from_secs(13));
    assert_eq!(net.seen[&0x0d], 4, "three times again, and answered each time");
    assert_eq!(net.bss.ns.sns(NSEI).map(|sns| sns.local().len()), Some(1));
    assert_eq!(net.sgsn.ns.sns(NSEI).map(|sns| sns.remote().len()), Some(2), "the SGSN did take it");
    net.lost = |_| false;
    // One more is not what it said it would have.
    let mut net = Net::started(1, 1);
    for port in 2..=6 {
        let mut cx = net.bss.around.context();
        net.bss.ns.sns_add(&mut cx, NSEI, local(bss_address, port, (1, 1)), &mut net.bss.out).unwrap();
    }
    net.exchange();
    net.assert_up(5);
    assert_eq!((net.bss.drops(Name::NsSnsRefused), net.sgsn.drops(Name::NsSnsRefused)), (1, 1));
    let mut cx = net.bss.around.context();
    let gone = net.bss.ns.sns_delete(&mut cx, NSEI, bss_address(6), &mut net.bss.out);
    assert_eq!(gone, Err(NsError::NoSuchEndpoint));
}

/// Octets of an SNS PDU.
fn octets(pdu: SnsPdu) -> Vec<u8> {
    Pdu::Sns(pdu).to_vec()
}

fn size(nsei: u16, ns_vcs_max: u16, ip4: u16, ip6: u16) -> Vec<u8> {
    let (ip4_endpoints, ip6_endpoints) = (Some(ip4), Some(ip6));
    octets(SnsPdu::Size { nsei: Nsei(nsei), reset: true, ns_vcs_max, ip4_endpoints, ip6_endpoints })
}

fn elements(ports: &[u16]) -> gannet_wire::ns::IpElements {
    ports.iter().map(|port| local(bss_address, *port, (1, 1)).element).collect()
}

fn config(end: bool, ports: &[u16]) -> Vec<u8> {
    octets(SnsPdu::Config { nsei: NSEI, end, elements: elements(ports) })
}

/// An SGSN with one BSS at `bss_address(1)` that said SNS-SIZE with two endpoints.
fn after_size() -> Side {
    after_size_with(sgsn_config(1))
}

fn after_size_with(config: NsConfig) -> Side {
    let mut sgsn = Side::new(config);
    sgsn.receive(bss_address(1), &size(101, 8, 2, 0));
    assert_eq!(sgsn.pdus(), [Pdu::Sns(SnsPdu::SizeAck { nsei: NSEI, cause: None })]);
    sgsn
}

/// The same with two endpoints in service.
pub fn in_service() -> Side {
    in_service_with(sgsn_config(1))
}

fn in_service_with(config_of_sgsn: NsConfig) -> Side {
    let mut sgsn = after_size_with(config_of_sgsn);
    sgsn.receive(bss_address(1), &config(true, &[1, 2]));
    sgsn.receive(bss_address(1), &octets(SnsPdu::ConfigAck { nsei: NSEI, cause: None }));
    let sent = sgsn.pdus();
    assert!(sent.ends_with(&[Pdu::Alive, Pdu::Alive]), "{sent:?}");
    for port in [1, 2] {
        sgsn.receive_at(Port(1), bss_address(port), &[0x0b]);
    }
    assert_eq!(sgsn.states(), [VcState::Unblocked; 2]);
    sgsn
}

#[test]
fn a_size_that_cannot_be_has_its_cause() {
    for (ns_vcs_max, ip4, ip6, cause) in [
        (8, 0, 0, Cause::InvalidNumberOfIpv4Endpoints),
        (32, 17, 0, Cause::InvalidNumberOfIpv4Endpoints),
        (8, 17, 0, Cause::InvalidNumberOfNsVcs),
        (8, 100, 0, Cause::InvalidNumberOfNsVcs),
        (8, 1, 17, Cause::InvalidNumberOfIpv6Endpoints),
        (8, 0, 1, Cause::InvalidNumberOfIpv4Endpoints),
        (1, 2, 0, Cause::InvalidNumberOfNsVcs),
    ] {
        let mut sgsn = Side::new(sgsn_config(1));
        sgsn.receive(bss_address(1), &size(101, ns_vcs_max, ip4, ip6));
        assert_eq!(sgsn.pdus(), [Pdu::Sns(SnsPdu::SizeAck { nsei: NSEI, cause: Some(cause) })]);
        assert_eq!(sgsn.drops(Name::NsSnsRefused), 1);
        assert!(sgsn.ns.sns(NSEI).is_none(), "nothing is kept of it");
    }
}

#[test]
fn a_configuration_that_cannot_be_has_its_cause() {
    let ack = |cause| [Pdu::Sns(SnsPdu::ConfigAck { nsei: NSEI, cause: Some(cause) })];
    let mut sgsn = after_size();
    sgsn.receive(bss_address(1), &config(true, &[1, 2, 3]));
    assert_eq!(sgsn.pdus(), ack(Cause::InvalidNumberOfIpv4Endpoints));
    let no_data = [IpElement { data_weight: 0, ..elements(&[1])[0] }].into_iter().collect();
    sgsn.receive(bss_address(1), &octets(SnsPdu::Config { nsei: NSEI, end: true, elements: no_data }));
    assert_eq!(sgsn.pdus(), ack(Cause::InvalidWeights));
    let ipv6 = [IpElement { endpoint: "[2001:db8::1]:1".parse().unwrap(), ..elements(&[1])[0] }];
    let ipv6 = ipv6.into_iter().collect();
    sgsn.receive(bss_address(1), &octets(SnsPdu::Config { nsei: NSEI, end: true, elements: ipv6 }));
    assert_eq!(sgsn.pdus(), ack(Cause::InvalidNumberOfIpv6Endpoints));
    assert_eq!(sgsn.drops(Name::NsSnsRefused), 3);
    // In two parts, and the first one twice since its answer was lost.
    for (end, port) in [(false, 1), (false, 1), (true, 2)] {
        sgsn.receive(bss_address(1), &config(end, &[port]));
        assert_eq!(sgsn.pdus()[0], Pdu::Sns(SnsPdu::ConfigAck { nsei: NSEI, cause: None }));
    }
    assert_eq!(sgsn.ns.vcs().count(), 2);
    // An endpoint that is another NSE's.
    sgsn.receive(bss_address(5), &size(102, 8, 2, 0));
    let theirs = SnsPdu::Config { nsei: Nsei(102), end: true, elements: elements(&[1, 5]) };
    sgsn.receive(bss_address(5), &octets(theirs));
    let cause = Some(Cause::SemanticallyIncorrectPdu);
    assert_eq!(sgsn.pdus()[1], Pdu::Sns(SnsPdu::ConfigAck { nsei: Nsei(102), cause }));
}

#[test]
fn a_change_that_cannot_be_has_its_cause() {
    let mut sgsn = in_service();
    let (nsei, none) = (NSEI, gannet_wire::ns::IpElements::default());
    let weightless = |port| [IpElement { signalling_weight: 0, ..elements(&[port])[0] }];
    let both_weightless: Vec<IpElement> = weightless(1).into_iter().chain(weightless(2)).collect();
    let address = |text: &str| Some(text.parse().unwrap());
    let cases = [
        (SnsPdu::Add { nsei, transaction: 1, elements: elements(&[3]) }, Cause::InvalidNumberOfIpv4Endpoints),
        (SnsPdu::Add { nsei, transaction: 2, elements: elements(&[1]) }, Cause::ProtocolError),
        (
            SnsPdu::Delete { nsei, transaction: 3, address: None, elements: elements(&[4]) },
            Cause::UnknownIpEndpoint,
        ),
        (
            SnsPdu::Delete { nsei, transaction: 4, address: address("192.0.2.77"), elements: none.clone() },
            Cause::UnknownIpAddress,
        ),
        (
            SnsPdu::Delete { nsei, transaction: 5, address: address("192.0.2.1"), elements: none },
            Cause::InvalidWeights,
        ),
        (SnsPdu::Changeweight { nsei, transaction: 6, elements: elements(&[4]) }, Cause::UnknownIpEndpoint),
        (
            SnsPdu::Changeweight { nsei, transaction: 7, elements: both_weightless.into_iter().collect() },
            Cause::InvalidWeights,
        ),
    ];
    for (transaction, (pdu, cause)) in (1..).zip(cases) {
        sgsn.receive_at(Port(1), bss_address(1), &octets(pdu.clone()));
        let sent = sgsn.pdus();
        assert!(
            matches!(&sent[..], [Pdu::Sns(SnsPdu::Ack { transaction: of, cause: Some(why), .. })]
                if (*of, *why) == (transaction, cause)),
            "{pdu:?}: {sent:?}"
        );
        assert_eq!(sgsn.states(), [VcState::Unblocked; 2]);
    }
    assert_eq!(sgsn.drops(Name::NsSnsRefused), 7);
}

#[test]
fn what_does_not_fit_the_state_is_answered_and_changes_nothing() {
    let mut sgsn = after_size();
    let alone = |pdu: &[u8]| [Pdu::Status(Status::about_pdu(Cause::PduNotCompatible, pdu))];
    let add = octets(SnsPdu::Add { nsei: NSEI, transaction: 1, elements: elements(&[2]) });
    sgsn.receive(bss_address(1), &add);
    assert_eq!(sgsn.pdus(), alone(&add));
    // From elsewhere, or for an NSE that is not there.
    sgsn.receive(bss_address(7), &config(true, &[7]));
    assert_eq!(sgsn.pdus(), alone(&config(true, &[7])));
    let ack = octets(SnsPdu::ConfigAck { nsei: Nsei(5), cause: None });
    sgsn.receive(bss_address(1), &ack);
    assert_eq!(sgsn.pdus(), alone(&ack));
    // Answers that nobody waits for are counted.
    let ack = octets(SnsPdu::ConfigAck { nsei: NSEI, cause: None });
    sgsn.receive(bss_address(1), &ack);
    sgsn.receive(bss_address(1), &octets(SnsPdu::SizeAck { nsei: NSEI, cause: None }));
    assert_eq!((sgsn.sent().len(), sgsn.drops(Name::NsUnexpected)), (0, 3));
    // NS-RESET and NS-BLOCK are not for these NS-VCs; UNITDATA from one that passed its own test is.
    let mut sgsn = in_service();
    for pdu in [&[0x06][..], &Pdu::Block { cause: Cause::OamIntervention, nsvci: Nsvci(1) }.to_vec()] {
        sgsn.receive_at(Port(1), bss_address(1), pdu);
        assert!(matches!(sgsn.pdus()[..], [Pdu::Status(_)]));
    }
    sgsn.receive_at(Port(1), bss_address(2), &config(true, &[1, 9]));
    assert_eq!(sgsn.pdus(), alone(&config(true, &[1, 9])));
    assert_eq!(sgsn.states(), [VcState::Unblocked; 2]);
    // A BSS is asked for nothing.
    let mut net = Net::started(1, 1);
    net.bss.receive_at(Port(1), sgsn_address(1), &size(101, 8, 1, 0));
    assert_eq!(net.bss.pdus(), alone(&size(101, 8, 1, 0)));
}

#[test]
fn who_is_tested_may_speak_before_the_other_has_tested() {
    let mut sgsn = after_size();
    sgsn.receive(bss_address(1), &config(true, &[1, 2]));
    sgsn.receive(bss_address(1), &octets(SnsPdu::ConfigAck { nsei: NSEI, cause: None }));
    sgsn.sent();
    sgsn.receive_at(Port(1), bss_address(1), &[0, 0, 0, 0, 0x22]);
    sgsn.unitdata(1, b"answer");
    assert_eq!(sgsn.sent(), [(bss_address(1), b"\0\0\0\x02answer".to_vec())]);
    assert_eq!(sgsn.delivered, [(Bvci(0), vec![0x22])]);
    // A test that was not answered is not made good by that.
    for seconds in [3, 6] {
        sgsn.wake(Instant(seconds * 1_000_000_000));
    }
    sgsn.receive_at(Port(1), bss_address(2), &[0, 0, 0, 0, 0x22]);
    assert_eq!(sgsn.states(), [VcState::Unblocked, VcState::Dead]);
    assert_eq!(sgsn.drops(Name::NsBlocked), 0, "it is taken all the same");
}

#[test]
fn an_sgsn_is_not_filled_and_an_nse_is_not_taken() {
    let mut sgsn = Side::new(NsConfig { nse_max: 8, ..sgsn_config(1) });
    for nsei in 0..1000 {
        sgsn.receive(bss_address(nsei), &size(nsei, 8, 1, 0));
        sgsn.sent();
    }
    assert_eq!((sgsn.ns.sns_nses().count(), sgsn.ns.vcs().count()), (8, 0));
    // Who says no more is forgotten.
    for _ in 0..20 {
        let next = sgsn.around.timers.next().unwrap_or(sgsn.around.now);
        sgsn.wake(next);
    }
    assert_eq!(sgsn.ns.sns_nses().count(), 0);
    // Where all are in service, there is no room, and nobody else gets what is theirs.
    let mut sgsn = in_service_with(NsConfig { nse_max: 1, ..sgsn_config(1) });
    sgsn.receive(bss_address(5), &size(102, 8, 1, 0));
    let cause = Some(Cause::InvalidNumberOfNsVcs);
    assert_eq!(sgsn.pdus(), [Pdu::Sns(SnsPdu::SizeAck { nsei: Nsei(102), cause })]);
    assert_eq!((sgsn.drops(Name::NsTableFull), sgsn.drops(Name::NsSnsRefused)), (1, 1));
    let reset = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(1), nsei: NSEI }.to_vec();
    for (claim, refused) in [(size(101, 8, 1, 0), 1), (reset, 2)] {
        let stranger = SocketAddr::from(([198, 51, 100, refused], 22001));
        sgsn.wake(sgsn.around.now + PROVED);
        sgsn.receive(stranger, &claim);
        assert_eq!(sgsn.pdus(), [Pdu::Alive, Pdu::Alive], "whoever has it is tested first");
        // One of its endpoints answers.
        sgsn.receive_at(Port(1), bss_address(2), &[0x0b]);
        let sent = sgsn.sent();
        assert!(matches!(&sent[..], [(to, pdu)] if *to == stranger && pdu[0] == 0x08), "{sent:?}");
        assert_eq!(sgsn.states(), [VcState::Unblocked; 2], "an NSE that is alive stays where it is");
        assert_eq!(sgsn.drops(Name::NsClaimRefused), u64::from(refused));
    }
    let mut closed = Side::new(NsConfig::new(NsRole::Sgsn, 1));
    closed.receive(bss_address(1), &size(101, 8, 1, 0));
    let status = Status::about_pdu(Cause::PduNotCompatible, &size(101, 8, 1, 0));
    assert_eq!(closed.pdus(), [Pdu::Status(status)]);
    assert_eq!(closed.drops(Name::NsUnknownPeer), 1);
}

#[test]
fn a_bss_changes_its_dialect() {
    let mut sgsn = in_service();
    let reset = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(7), nsei: NSEI };
    sgsn.receive_at(Port(1), bss_address(1), &reset.to_vec());
    assert_eq!(sgsn.pdus(), [Pdu::Alive, Pdu::Alive], "one PDU changes nothing while IP-SNS is answered");
    sgsn.receive_at(Port(1), bss_address(1), &[0x0b]);
    assert!(matches!(sgsn.pdus()[..], [Pdu::Status(_)]));
    assert_eq!((sgsn.states(), sgsn.drops(Name::NsClaimRefused)), (vec![VcState::Unblocked; 2], 1));
    // It speaks IP-SNS no more.
    sgsn.wake(sgsn.around.now + PROVED);
    sgsn.receive_at(Port(1), bss_address(1), &reset.to_vec());
    sgsn.sent();
    sgsn.wake(sgsn.around.now + sgsn.ns.config().tns_alive);
    assert_eq!(sgsn.pdus().first(), Some(&Pdu::ResetAck { nsvci: Nsvci(7), nsei: NSEI }));
    assert_eq!(sgsn.states(), [VcState::Blocked]);
    assert!(sgsn.ns.sns(NSEI).is_none());
    sgsn.receive_at(Port(1), bss_address(1), &size(101, 8, 1, 0));
    assert_eq!(sgsn.pdus(), [Pdu::Alive]);
    sgsn.wake(sgsn.around.now + sgsn.ns.config().tns_alive);
    assert_eq!(sgsn.pdus(), [Pdu::Sns(SnsPdu::SizeAck { nsei: NSEI, cause: None })]);
    assert_eq!(sgsn.ns.vcs().count(), 0);
    // One that a person has configured stays as it is.
    let mut sgsn = Side::new(sgsn_config(1));
    let mut cx = sgsn.around.context();
    sgsn.ns.add_static_vc(&mut cx, NSEI, Nsvci(1), Port(0), bss_address(1)).unwrap();
    sgsn.receive(bss_address(1), &size(101, 8, 1, 0));
    assert!(matches!(sgsn.pdus()[..], [Pdu::Status(_)]));
    assert_eq!(sgsn.ns.vcs().count(), 1);
    let setup = SnsSetup { nsei: Nsei(7), local: sgsn_config(1).sns.local, spare: 0, initial: Vec::new() };
    let mut cx = sgsn.around.context();
    sgsn.ns.add_sns(&mut cx, setup.clone()).unwrap();
    assert_eq!(sgsn.ns.add_sns(&mut cx, setup), Err(NsError::IdentityTaken));
    let taken = sgsn.ns.add_static_vc(&mut cx, Nsei(7), Nsvci(1), Port(0), bss_address(2));
    assert_eq!(taken, Err(NsError::IdentityTaken));
    let reset = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(1), nsei: Nsei(7) };
    sgsn.receive(bss_address(3), &reset.to_vec());
    assert!(matches!(sgsn.pdus()[..], [Pdu::Status(_)]), "configured for IP-SNS");
}

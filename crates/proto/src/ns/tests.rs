//! Two entities on a link, in virtual time; and one entity against hand-made octets.

use super::*;
use gannet_machine::Surroundings;
use gannet_machine::drops::Drop as Name;
use gannet_machine::time::Instant;
use gannet_machine::trace::Quiet;
use gannet_wire::ns::{Pdu, Status};
use std::collections::VecDeque;

const PORT: Port = Port(0);

/// Whoever introduces itself at [`PORT`] is let in.
pub fn open_sgsn(timer_owner: u8) -> NsConfig {
    NsConfig { open: vec![PORT], ..NsConfig::new(NsRole::Sgsn, timer_owner) }
}
const NSEI: Nsei = Nsei(101);

fn address(last: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], last))
}

/// An entity with its surroundings.
pub struct Side {
    pub around: Surroundings<Quiet>,
    pub ns: NsEntity,
    pub out: Batch<NsOutput>,
    pub statuses: Vec<NsStatus>,
    pub delivered: Vec<(Bvci, Vec<u8>)>,
}

impl Side {
    pub fn new(config: NsConfig) -> Self {
        let (statuses, delivered) = (Vec::new(), Vec::new());
        let around = Surroundings::new(1, 64, Quiet::default());
        Self { around, ns: NsEntity::new(config), out: Batch::default(), statuses, delivered }
    }

    fn sgsn() -> Self {
        Self::new(open_sgsn(7))
    }

    pub fn receive(&mut self, from: SocketAddr, octets: &[u8]) {
        self.receive_at(PORT, from, octets);
    }

    pub fn receive_at(&mut self, port: Port, from: SocketAddr, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.ns.receive(&mut self.around.context(), port, from, frame, &mut self.out);
    }

    pub fn wake(&mut self, now: Instant) {
        self.around.now = now;
        while let Some(key) = self.around.timers.pop_due(now) {
            assert_eq!(key.owner, self.ns.config().timer_owner);
            self.ns.wake(&mut self.around.context(), key, &mut self.out);
        }
    }

    pub fn unitdata(&mut self, lsp: u32, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.ns.unitdata_request(&mut self.around.context(), NSEI, Bvci(2), lsp, frame, &mut self.out);
    }

    /// What it wants to send, with the address; indications are kept.
    pub fn sent(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut sent = Vec::new();
        while let Some(output) = self.out.pop() {
            match output {
                NsOutput::Transmit { peer, frame, .. } => sent.push((peer, frame.to_vec())),
                NsOutput::Unitdata { bvci, frame, .. } => self.delivered.push((bvci, frame.to_vec())),
                NsOutput::Status { status, .. } => self.statuses.push(status),
            }
        }
        sent
    }

    /// The control PDUs that it wants to send.
    pub fn pdus(&mut self) -> Vec<Pdu> {
        self.sent().iter().map(|(_, octets)| Pdu::parse(octets).unwrap()).collect()
    }

    pub fn drops(&self, name: Name) -> u64 {
        self.around.trace.drops.get(name)
    }

    pub fn states(&self) -> Vec<VcState> {
        self.ns.vcs().map(NsVc::state).collect()
    }
}

/// A BSS with some NS-VCs, and an SGSN that configured none. The BSS's port numbers are its NS-VCIs.
struct Pair {
    bss: Side,
    sgsn: Side,
    now: Instant,
    in_flight: VecDeque<(bool, SocketAddr, Vec<u8>)>,
    lost: fn(&[u8]) -> bool,
}

impl Pair {
    fn new(vcs: u16, bss: NsConfig, sgsn: NsConfig) -> Self {
        let (mut bss, sgsn) = (Side::new(bss), Side::new(sgsn));
        for nsvci in 1..=vcs {
            let (port, peer) = (Port(nsvci), address(23000));
            bss.ns.add_static_vc(&mut bss.around.context(), NSEI, Nsvci(nsvci), port, peer).unwrap();
        }
        Self { bss, sgsn, now: Instant::ZERO, in_flight: VecDeque::new(), lost: |_| false }
    }

    fn usual(vcs: u16) -> Self {
        Self::new(vcs, NsConfig::new(NsRole::Bss, 1), open_sgsn(2))
    }

    fn started(vcs: u16) -> Self {
        let mut pair = Self::usual(vcs);
        pair.bss.ns.start(&mut pair.bss.around.context(), &mut pair.bss.out);
        pair.exchange();
        pair
    }

    /// Delivers until nobody has anything to say.
    fn exchange(&mut self) {
        loop {
            while let Some(output) = self.bss.out.pop() {
                match output {
                    NsOutput::Transmit { port, frame, .. } => {
                        self.in_flight.push_back((true, address(port.0), frame.to_vec()));
                    }
                    NsOutput::Unitdata { bvci, frame, .. } => self.bss.delivered.push((bvci, frame.to_vec())),
                    NsOutput::Status { status, .. } => self.bss.statuses.push(status),
                }
            }
            self.in_flight.extend(self.sgsn.sent().into_iter().map(|(peer, octets)| (false, peer, octets)));
            let Some((up, bss_address, octets)) = self.in_flight.pop_front() else { return };
            if (self.lost)(&octets) {
                continue;
            }
            if up {
                self.sgsn.receive(bss_address, &octets);
            } else {
                let frame = self.bss.around.frames.copy_of(&octets).unwrap();
                let port = Port(bss_address.port());
                let mut cx = self.bss.around.context();
                self.bss.ns.receive(&mut cx, port, address(23000), frame, &mut self.bss.out);
            }
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
}

#[test]
fn a_bss_comes_up_and_stays_up() {
    let mut pair = Pair::started(2);
    assert_eq!(pair.bss.states(), [VcState::Unblocked; 2]);
    assert_eq!(pair.sgsn.states(), [VcState::Unblocked; 2]);
    let expected = [
        NsStatus::VcReset(Nsvci(1)),
        NsStatus::VcReset(Nsvci(2)),
        NsStatus::NseAvailable,
        NsStatus::TransferCapacity { unblocked: 2 },
    ];
    assert_eq!(pair.sgsn.statuses, expected);
    pair.run_for(Duration::from_secs(600));
    assert_eq!(pair.sgsn.states(), [VcState::Unblocked; 2]);
    for vc in pair.sgsn.ns.vcs() {
        assert_eq!((vc.counters().alive_unanswered, vc.counters().resets), (0, 1));
        assert!(vc.counters().pdus_in >= 40, "tests both ways: {:?}", vc.counters());
    }
    assert_eq!(pair.sgsn.around.trace.drops.total() + pair.bss.around.trace.drops.total(), 0);
    assert_eq!(pair.sgsn.around.frames.free(), 64);
}

#[test]
fn unitdata_both_ways_keeps_its_nsvc() {
    let mut pair = Pair::started(3);
    for lsp in 0..30 {
        pair.bss.unitdata(lsp, b"up");
        pair.sgsn.unitdata(lsp, b"down");
    }
    let mut count = [0; 4];
    for (peer, octets) in pair.sgsn.sent() {
        assert_eq!(octets, b"\0\0\0\x02down");
        count[usize::from(peer.port())] += 1;
        pair.in_flight.push_back((false, peer, octets));
    }
    assert!(count[1..].iter().all(|n| *n > 0), "{count:?}");
    pair.exchange();
    assert_eq!(pair.sgsn.delivered, vec![(Bvci(2), b"up".to_vec()); 30]);
    assert_eq!(pair.bss.delivered, vec![(Bvci(2), b"down".to_vec()); 30]);
}

#[test]
fn a_lost_answer_is_asked_for_again() {
    let mut pair = Pair::usual(1);
    pair.lost = |octets| octets[0] == 0x03;
    pair.bss.ns.start(&mut pair.bss.around.context(), &mut pair.bss.out);
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.bss.states(), [VcState::Resetting]);
    assert!(pair.sgsn.ns.vcs().all(|vc| vc.counters().resets >= 20), "a BSS goes on");
    pair.lost = |octets| octets[0] == 0x07;
    pair.run_for(Duration::from_secs(60));
    assert_eq!(pair.bss.states(), [VcState::Unblocking], "reset again after the last NS-UNBLOCK");
    pair.lost = |_| false;
    pair.run_for(Duration::from_secs(4));
    assert_eq!((pair.bss.states(), pair.sgsn.states()), (vec![VcState::Unblocked], vec![VcState::Unblocked]));
}

#[test]
fn a_dead_link_is_noticed_and_comes_back() {
    let mut pair = Pair::started(1);
    pair.lost = |_| true;
    pair.run_for(Duration::from_secs(30 + 33 + 1));
    assert_eq!(pair.bss.states(), [VcState::Resetting]);
    assert_eq!(pair.sgsn.states(), [VcState::Dead]);
    assert_eq!(pair.sgsn.statuses.last(), Some(&NsStatus::NseUnavailable));
    let counters = pair.sgsn.ns.vcs().next().unwrap().counters();
    assert_eq!((counters.alive_unanswered, counters.deaths), (11, 1));
    pair.sgsn.unitdata(0, b"x");
    assert_eq!(pair.sgsn.drops(Name::NsNoVc), 1);
    pair.lost = |_| false;
    pair.run_for(Duration::from_secs(4));
    assert_eq!(pair.sgsn.states(), [VcState::Unblocked]);
    assert_eq!(pair.sgsn.statuses.last(), Some(&NsStatus::NseAvailable));
    // An unconfigured NS-VC that stays dead is forgotten.
    pair.lost = |_| true;
    pair.run_for(Duration::from_secs(64 + 301));
    assert_eq!((pair.sgsn.ns.vcs().count(), pair.sgsn.ns.nses().count()), (0, 0));
}

#[test]
fn an_sgsn_that_forgot_is_reset_at_once() {
    let mut pair = Pair::started(1);
    pair.sgsn = Side::sgsn();
    pair.sgsn.around.now = pair.now;
    pair.run_for(Duration::from_secs(31));
    assert_eq!(pair.sgsn.drops(Name::NsUnknownPeer), 1, "the test finds nobody");
    pair.run_for(Duration::from_secs(40));
    assert_eq!((pair.bss.states(), pair.sgsn.states()), (vec![VcState::Unblocked], vec![VcState::Unblocked]));
}

#[test]
fn blocked_from_either_side() {
    let mut pair = Pair::started(2);
    let second = pair.sgsn.ns.find(NSEI, Nsvci(2)).unwrap();
    pair.sgsn.ns.block(&mut pair.sgsn.around.context(), second, &mut pair.sgsn.out);
    pair.exchange();
    assert_eq!(pair.sgsn.ns.vc(second).map(NsVc::state), Some(VcState::BlockedLocally));
    assert_eq!(pair.bss.states(), [VcState::Unblocked, VcState::Blocked]);
    assert_eq!(pair.bss.statuses.last(), Some(&NsStatus::TransferCapacity { unblocked: 1 }));
    // A reset from the BSS does not open it.
    let at_bss = pair.bss.ns.find(NSEI, Nsvci(2)).unwrap();
    pair.bss.ns.reset(&mut pair.bss.around.context(), at_bss, &mut pair.bss.out);
    pair.exchange();
    assert_eq!(pair.sgsn.ns.vc(second).map(NsVc::state), Some(VcState::BlockedLocally));
    assert_eq!(pair.bss.ns.vc(at_bss).map(NsVc::state), Some(VcState::Blocked));
    pair.sgsn.ns.unblock(&mut pair.sgsn.around.context(), second, &mut pair.sgsn.out);
    pair.exchange();
    assert_eq!(
        (pair.bss.states(), pair.sgsn.states()),
        (vec![VcState::Unblocked; 2], vec![VcState::Unblocked; 2])
    );
    // Unanswered NS-BLOCK: blocked all the same.
    pair.lost = |octets| octets[0] == 0x05;
    pair.bss.ns.block(&mut pair.bss.around.context(), at_bss, &mut pair.bss.out);
    pair.run_for(Duration::from_secs(13));
    assert_eq!(pair.bss.ns.vc(at_bss).map(NsVc::state), Some(VcState::BlockedLocally));
    assert_eq!(pair.sgsn.states(), [VcState::Unblocked, VcState::Blocked]);
}

const RESET: [u8; 12] = [0x02, 0x00, 0x81, 0x01, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65];

#[test]
fn the_octets_of_a_real_bss() {
    let mut sgsn = Side::sgsn();
    let pcu = address(22000);
    sgsn.receive(pcu, &RESET);
    assert_eq!(sgsn.sent(), [(pcu, vec![0x03, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65])]);
    sgsn.receive(pcu, &[0, 0, 0, 0, 0x22]);
    let blocked = Pdu::Status(Status { nsvci: Some(Nsvci(101)), ..Status::of(Cause::NsVcBlocked) });
    assert_eq!(sgsn.pdus(), [blocked]);
    assert_eq!(sgsn.drops(Name::NsBlocked), 1);
    sgsn.receive(pcu, &[0x06]);
    sgsn.receive(pcu, &[0x0a]);
    assert_eq!(sgsn.pdus(), [Pdu::UnblockAck, Pdu::AliveAck]);
    // Restarted on another port: the same NS-VC, moved.
    sgsn.receive(address(22001), &RESET);
    assert_eq!(sgsn.pdus(), [Pdu::Alive], "whoever is at the first port is tested");
    sgsn.wake(sgsn.around.now + sgsn.ns.config().tns_alive);
    assert_eq!(sgsn.sent().first().map(|(peer, _)| *peer), Some(address(22001)));
    let vcs: Vec<_> = sgsn.ns.vcs().map(|vc| (vc.peer(), vc.state())).collect();
    assert_eq!(vcs, [(address(22001), VcState::Blocked)]);
    assert_eq!(sgsn.statuses.last(), Some(&NsStatus::VcReset(Nsvci(101))));
    // The first port is nobody's now; then it is another BSS's.
    sgsn.receive(pcu, &[0x06]);
    assert_eq!(sgsn.drops(Name::NsUnknownPeer), 1);
    let mut other = RESET;
    other[11] = 0x66;
    sgsn.receive(address(22001), &other);
    let vcs: Vec<_> = sgsn.ns.vcs().map(NsVc::nsei).collect();
    assert_eq!(vcs, [Nsei(0x66)]);
}

/// Tests of the NS-VC are answered all the same, as NS-ALIVE has no name in it.
#[test]
fn a_bss_begins_anew_what_has_another_name_at_the_sgsn() {
    let mut pair = Pair::started(2);
    let named = |pair: &Pair| {
        let mut vcs: Vec<_> = pair.sgsn.ns.vcs().map(|vc| (vc.nsvci(), vc.state())).collect();
        vcs.sort_unstable_by_key(|(nsvci, _)| *nsvci);
        vcs
    };
    let up = [(Some(Nsvci(1)), VcState::Unblocked), (Some(Nsvci(2)), VcState::Unblocked)];
    assert_eq!(named(&pair), up);
    let forged = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(9), nsei: NSEI };
    pair.sgsn.receive(address(1), &forged.to_vec());
    pair.exchange();
    pair.run_for(Duration::from_secs(120));
    assert_eq!(named(&pair), [(Some(Nsvci(2)), VcState::Unblocked), (Some(Nsvci(9)), VcState::Blocked)]);
    // Until it is used.
    pair.sgsn.receive(address(1), &[0, 0, 0, 2, 0x22]);
    pair.exchange();
    assert_eq!((named(&pair).as_slice(), pair.bss.states()), (up.as_slice(), vec![VcState::Unblocked; 2]));
}

#[test]
fn garbage_is_named_and_status_is_never_answered() {
    let mut sgsn = Side::sgsn();
    let pcu = address(22000);
    sgsn.receive(pcu, &RESET);
    sgsn.sent();
    for (octets, cause) in [
        (&[0x7f, 1, 2][..], Cause::ProtocolError),
        (&[0x02, 0x00, 0x81, 0x01], Cause::MissingEssentialIe),
        (&[0x05, 0x01, 0x82, 0x00], Cause::InvalidEssentialIe),
        (&[0x00, 0x00], Cause::InvalidEssentialIe),
        (&[0x12, 4, 0x82, 0, 0x65, 0x0a, 1, 7, 0, 8, 8, 0, 1], Cause::PduNotCompatible),
    ] {
        sgsn.receive(pcu, octets);
        assert_eq!(sgsn.pdus(), [Pdu::Status(Status::about_pdu(cause, octets))]);
    }
    assert_eq!((sgsn.drops(Name::NsMalformed), sgsn.drops(Name::NsUnknownPeer)), (4, 1));
    for octets in [&[0x08][..], &[0x08, 0x00, 0x81, 0x0b], &[0x08, 0x00, 0x81, 0x03]] {
        sgsn.receive(pcu, octets);
        sgsn.receive(address(9), octets);
        assert_eq!(sgsn.sent(), []);
    }
    // An NS-VCI that the NSE does not have.
    sgsn.receive(pcu, &Pdu::Block { cause: Cause::EquipmentFailure, nsvci: Nsvci(7) }.to_vec());
    let unknown = Status { nsvci: Some(Nsvci(7)), ..Status::of(Cause::NsVcUnknown) };
    assert_eq!(sgsn.pdus(), [Pdu::Status(unknown)]);
    assert_eq!(sgsn.states(), [VcState::Blocked]);
}

#[test]
fn strangers_get_few_answers() {
    let mut sgsn = Side::sgsn();
    for n in 0..1000 {
        sgsn.receive(address(n), &[0x0a]);
        sgsn.receive(address(n), &[0x00, 0, 0, 2, 1]);
        sgsn.receive(address(n), &[0xff; 40]);
    }
    assert_eq!(sgsn.sent().len(), 10);
    assert_eq!(sgsn.drops(Name::NsUnknownPeer), 3000);
    sgsn.around.now = Instant(1_000_000_000);
    sgsn.receive(address(1), &[0x0a]);
    assert_eq!(sgsn.pdus(), [Pdu::Status(Status::about_pdu(Cause::PduNotCompatible, &[0x0a]))]);
    assert_eq!(sgsn.ns.vcs().count(), 0);
}

#[test]
fn a_full_table_gives_up_the_dead() {
    let mut sgsn = Side::new(NsConfig { vc_max: 2, nse_max: 2, ..open_sgsn(1) });
    let reset = |n: u8| {
        let mut octets = RESET;
        octets[11] = n;
        octets
    };
    sgsn.receive(address(1), &reset(1));
    sgsn.receive(address(2), &reset(2));
    sgsn.receive(address(3), &reset(3));
    assert_eq!((sgsn.ns.vcs().count(), sgsn.drops(Name::NsTableFull)), (2, 1));
    sgsn.receive(address(1), &[0x08, 0x00, 0x81, 0x04]);
    assert_eq!(sgsn.states(), [VcState::Dead, VcState::Blocked]);
    sgsn.receive(address(3), &reset(3));
    let nseis: Vec<u16> = sgsn.ns.nses().map(|nse| nse.nsei().0).collect();
    assert_eq!(nseis, [2, 3]);
    // A wake-up for the former owner of the slot does nothing.
    sgsn.sent();
    let key = TimerKey { owner: 1, slot: 0, generation: 0 };
    sgsn.around.now = Instant(3_600_000_000_000);
    sgsn.ns.wake(&mut sgsn.around.context(), key, &mut sgsn.out);
    assert!(sgsn.sent().is_empty());
    let port = Port(9);
    let mut cx = sgsn.around.context();
    assert_eq!(sgsn.ns.add_static_vc(&mut cx, NSEI, Nsvci(9), port, address(9)), Err(NsError::TableFull));
    let taken = sgsn.ns.add_static_vc(&mut cx, Nsei(2), Nsvci(101), port, address(9));
    assert_eq!(taken, Err(NsError::IdentityTaken));
    let taken = sgsn.ns.add_static_vc(&mut cx, NSEI, Nsvci(9), PORT, address(2));
    assert_eq!(taken, Err(NsError::AddressTaken));
}

#[test]
fn configured_nsvcs_keep_their_names_and_addresses() {
    let mut sgsn = Side::sgsn();
    sgsn.ns.add_static_vc(&mut sgsn.around.context(), NSEI, Nsvci(101), PORT, address(1)).unwrap();
    sgsn.ns.start(&mut sgsn.around.context(), &mut sgsn.out);
    assert!(sgsn.sent().is_empty());
    // The name from another address, and another name from the address.
    sgsn.receive(address(2), &RESET);
    let unknown = Status { nsvci: Some(Nsvci(101)), ..Status::of(Cause::NsVcUnknown) };
    assert_eq!(sgsn.pdus(), [Pdu::Status(unknown)]);
    let mut other = RESET;
    other[7] = 0x66;
    sgsn.receive(address(1), &other);
    assert_eq!(sgsn.pdus(), [Pdu::ResetAck { nsvci: Nsvci(101), nsei: NSEI }]);
    assert_eq!(sgsn.states(), [VcState::Dead]);
    // A sign of life on a dead NS-VC: both start afresh, and give up after a while.
    sgsn.receive(address(1), &[0x0a]);
    let reset = Pdu::Reset { cause: Cause::OamIntervention, nsvci: Nsvci(101), nsei: NSEI };
    assert_eq!(sgsn.pdus(), [reset]);
    for second in [3, 6, 9, 12] {
        sgsn.wake(Instant(second * 1_000_000_000));
    }
    assert_eq!((sgsn.pdus().len(), sgsn.states()), (3, vec![VcState::Dead]));
    // An answer to a question that nobody asked.
    sgsn.receive(address(1), &Pdu::ResetAck { nsvci: Nsvci(101), nsei: NSEI }.to_vec());
    assert_eq!((sgsn.sent().len(), sgsn.states()), (0, vec![VcState::Dead]));
}

#[test]
fn no_frame_and_no_headroom() {
    let mut sgsn = Side::sgsn();
    sgsn.receive(address(1), &RESET);
    sgsn.receive(address(1), &[0x06]);
    sgsn.sent();
    let mut held: Vec<Frame> = core::iter::from_fn(|| sgsn.around.frames.alloc()).collect();
    let mut question = held.pop().unwrap();
    assert!(question.append(&[0x0a]));
    sgsn.ns.receive(&mut sgsn.around.context(), PORT, address(1), question, &mut sgsn.out);
    assert_eq!(sgsn.sent().len(), 0, "the frame of the question is back only after the answer");
    assert_eq!(sgsn.drops(Name::NoFrame), 1);
    let mut crammed = held.pop().unwrap();
    assert!(crammed.push(crammed.headroom() - 3).is_some());
    let mut cx = sgsn.around.context();
    sgsn.ns.unitdata_request(&mut cx, NSEI, Bvci(2), 0, crammed, &mut sgsn.out);
    assert_eq!((sgsn.sent().len(), sgsn.drops(Name::NsNoHeadroom)), (0, 1));
}

/// Until it has NS-UNBLOCK-ACK, the peer takes no NS-UNITDATA: the user is told after the answer.
#[test]
fn the_answer_goes_out_before_the_user_may_send() {
    let mut sgsn = Side::sgsn();
    sgsn.receive(address(22000), &RESET);
    sgsn.sent();
    sgsn.receive(address(22000), &[0x06]);
    let first = sgsn.out.pop();
    assert!(matches!(&first, Some(NsOutput::Transmit { frame, .. }) if frame[..] == [0x07]), "{first:?}");
    assert!(matches!(sgsn.out.pop(), Some(NsOutput::Status { status: NsStatus::NseAvailable, .. })));
    // When it ends, the user is told first.
    let block = Pdu::Block { cause: Cause::OamIntervention, nsvci: Nsvci(101) };
    sgsn.receive(address(22000), &block.to_vec());
    assert!(matches!(sgsn.out.pop(), Some(NsOutput::Status { status: NsStatus::NseUnavailable, .. })));
}

//! What is kept for the time after a restart, and what becomes of it.

use super::bench::*;
use crate::kept::Change;
use crate::sgsn::relocation::ImportError;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::MmState;
use gannet_proto::llc::KEPT_EVERY;
use gannet_wire::bssgp::Message;
use gannet_wire::id::{Bvci, Nsei, Sapi};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::ns;
use proptest::prelude::*;
use std::collections::BTreeMap;

const SIX: Nsapi = Nsapi(6);

/// What stands on the disk.
type Disk = BTreeMap<[u8; 8], Vec<u8>>;

impl Bench {
    /// One whose mobiles are kept from the beginning.
    fn kept() -> Self {
        let mut bench = Self::new(|_| ());
        bench.sgsn.keep_changes();
        bench
    }

    /// All that has changed is written; gives how many puts and deletes that was.
    fn write_to(&mut self, disk: &mut Disk) -> (usize, usize) {
        let (mut puts, mut deletes) = (0, 0);
        while self.sgsn.changes_waiting() > 0 {
            self.sgsn.take_changes(1, |change| match change {
                Change::Put { imsi, octets } => {
                    puts += 1;
                    disk.insert(imsi.tbcd(), octets.to_vec());
                }
                Change::Delete { imsi } => {
                    deletes += 1;
                    assert!(disk.remove(&imsi.tbcd()).is_some(), "{imsi} was not kept");
                }
            });
        }
        (puts, deletes)
    }

    /// The SGSN is killed and started again with what is on the disk; its clock begins anew. Cells are not in service yet.
    fn killed(self, disk: &Disk) -> Self {
        let mut bench = Self::without_bss(|config| config.teid_generation = 16);
        bench.sgsn.keep_changes();
        bench.phones = self.phones;
        for (imsi, octets) in disk {
            let imsi = Imsi::from_tbcd(*imsi).unwrap();
            bench.sgsn.restore(&mut bench.around.context(), imsi, octets).unwrap();
        }
        bench.collect();
        assert_eq!(bench.sgsn.changes_waiting(), 0, "what is on the disk is not written again");
        bench
    }

    /// Both BSSs bring NS and their cells up, as after any loss of the SGSN.
    fn cells_up(mut self) -> Self {
        for nsei in [1, 2] {
            self.start_ns(Nsei(nsei));
            self.reset_bvc(Nsei(nsei), Bvci::SIGNALLING, None);
        }
        (0..4).for_each(|n| self.reset_bvc(cell(n).nsei, cell(n).bvci, Some(cell(n).id)));
        self
    }

    fn delete(&mut self, phone: usize) {
        let slot = self.slot(phone);
        self.sgsn.delete_mobile(&mut self.around.context(), slot);
        self.collect();
    }

    fn up_and_down(&mut self, phone: usize, nsapi: Nsapi) {
        let up = [0x60 | nsapi.0, 0, 0, 0, b'u', b'p', b'0' + u8::try_from(phone).unwrap()];
        self.unitdata(phone, Sapi::DATA3, &up);
        let (_, header, t_pdu) = self.next_user();
        assert_eq!((header.teid, &t_pdu[..]), (Teid(GGSN_USER + u32::from(nsapi.0)), &up[4..]));
        let down = [b'd', b'0' + u8::try_from(phone).unwrap()];
        self.downlink(phone, nsapi, &down);
        assert_eq!(self.hear(phone).1[4..], down);
    }
}

#[test]
fn everybody_goes_on_after_a_kill() {
    let mut disk = Disk::new();
    let mut bench = Bench::kept();
    for phone in 0..3 {
        bench.attach(phone);
        bench.activate(phone, NSAPI);
    }
    bench.activate(1, SIX);
    bench.phones[2].cell = 2;
    bench.beacon(2);
    bench.sent.clear();
    bench.pass_secs(100_000 / 1000);
    (0..3).for_each(|phone| bench.beacon(phone));
    bench.up_and_down(0, NSAPI);
    bench.write_to(&mut disk);
    let teids: Vec<_> = (0..3).map(|phone| bench.sgsn.teid(bench.slot(phone), NSAPI)).collect();
    let slots: Vec<_> = (0..3).map(|phone| bench.slot(phone)).collect();
    let counter = bench.sgsn.config().restart_counter;

    let mut bench = bench.killed(&disk).cells_up();
    assert_eq!(bench.sgsn.config().restart_counter, counter);
    assert_eq!((0..3).map(|phone| bench.slot(phone)).collect::<Vec<_>>(), slots);
    assert_eq!((0..3).map(|phone| bench.sgsn.teid(bench.slot(phone), NSAPI)).collect::<Vec<_>>(), teids);
    // Whoever has something to send is READY by that.
    bench.up_and_down(0, NSAPI);
    bench.up_and_down(1, SIX);
    bench.up_and_down(1, NSAPI);
    // Whoever is sent something is paged in the whole routing area, and has it when it answers, in whatever cell.
    assert_eq!(bench.mobile(2).gmm.mm_state(), MmState::Standby);
    bench.downlink(2, NSAPI, b"held");
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(paging) if paging.imsi == imsi(2)));
    bench.sent.clear();
    bench.phones[2].cell = 1;
    bench.beacon(2);
    // FLUSH-LL for the cell that it has left.
    bench.sent.retain(|sent| matches!(sent, Sent::Down(_)));
    assert_eq!(bench.hear(2).1[4..], *b"held");
    bench.up_and_down(2, NSAPI);
    assert_eq!(bench.drops(), []);
    assert_eq!(bench.events, [], "nobody has attached");
    // A new context has a TEID that the run before cannot have given out.
    bench.attach(3);
    bench.activate(3, NSAPI);
    assert_eq!(bench.sgsn.context_name(bench.slot(3), NSAPI).unwrap().generation(), 17);
}

#[test]
fn timers_begin_anew_with_the_clock() {
    let mut disk = Disk::new();
    let mut bench = Bench::kept();
    bench.pass_secs(1_000_000);
    bench.attach(0);
    bench.write_to(&mut disk);
    let mut bench = bench.killed(&disk).cells_up();
    let reachable = bench.sgsn.config().gmm.reachable_margin.0 / 1_000_000_000 + 54 * 60;
    bench.pass_secs(reachable - 1);
    assert!(bench.sgsn.page_subscriber(&mut bench.around.context(), imsi(0)));
    bench.collect();
    assert!(
        matches!(bench.next_bssgp(), Message::PagingPs(_)),
        "reachable for as long as after its last frame"
    );
    bench.sent.clear();
    bench.pass_secs(2 * 60 * 60);
    bench.write_to(&mut disk);
    assert!(disk.is_empty(), "and detached in the end");
    bench.assert_empty();
}

#[test]
fn what_is_kept_is_what_outlives_a_restart() {
    let mut disk = Disk::new();
    let mut bench = Bench::kept();
    // Who only knocks is nobody yet.
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let accept = bench.hear_gmm(0);
    assert_eq!(bench.write_to(&mut disk), (1, 0), "it has its P-TMSI");
    let GmmMessage::AttachAccept(accept) = accept else { panic!("{accept:?}") };
    bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
    bench.gmm(0, AttachComplete {});
    assert_eq!(bench.write_to(&mut disk), (1, 0));
    bench.activate(0, NSAPI);
    assert_eq!(bench.write_to(&mut disk), (1, 0), "many changes, one state");
    bench.up_and_down(0, NSAPI);
    assert_eq!(bench.write_to(&mut disk), (1, 0), "the first number of many");
    // READY, STANDBY, paging and its answer are not kept.
    bench.pass_secs(60);
    bench.downlink(0, NSAPI, b"down");
    bench.sent.clear();
    bench.beacon(0);
    bench.sent.clear();
    assert_eq!(bench.write_to(&mut disk), (0, 0));
    // A cell is, since it is where the mobile is looked for.
    bench.phones[0].cell = 1;
    bench.beacon(0);
    assert_eq!(bench.write_to(&mut disk), (1, 0));
    bench.sent.clear();
    bench.delete(0);
    assert_eq!((bench.write_to(&mut disk), disk.len()), ((0, 1), 0));
    // Who comes and goes between two looks was never there.
    bench.sent.clear();
    bench.phones[0].power_cycle(Tlli::random(77));
    bench.attach(0);
    bench.delete(0);
    assert_eq!(bench.write_to(&mut disk), (0, 0));
}

#[test]
fn a_subscriber_that_attaches_at_another_place_is_kept_from_there() {
    let mut disk = Disk::new();
    let mut bench = Bench::kept();
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.write_to(&mut disk);
    let former = bench.slot(0);
    bench.phones[0].power_cycle(Tlli::random(99));
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    bench.sent.clear();
    assert_ne!(bench.slot(0), former);
    bench.write_to(&mut disk);
    let kept = disk.values().next().cloned();
    assert_eq!((disk.len(), kept), (1, bench.sgsn.copy_out(bench.slot(0))));
}

#[test]
fn what_cannot_be_restored() {
    let mut disk = Disk::new();
    let mut bench = Bench::kept();
    bench.attach(0);
    bench.activate(0, NSAPI);
    bench.write_to(&mut disk);
    let (_, octets) = disk.pop_first().unwrap();
    let mut restore = |whose, octets: &[u8]| bench.sgsn.restore(&mut bench.around.context(), whose, octets);
    assert_eq!(restore(imsi(0), &octets), Err(ImportError::Present));
    assert_eq!(restore(imsi(1), &octets), Err(ImportError::Unreadable), "somebody else's");
    let mut damaged = octets.clone();
    damaged[40] ^= 4;
    assert_eq!(restore(imsi(0), &damaged), Err(ImportError::Unreadable));
    assert_eq!(restore(imsi(0), &[]), Err(ImportError::Unreadable));
}

#[test]
fn a_procedure_that_was_under_way_ends_well() {
    let mut disk = Disk::new();
    let mut bench = Bench::kept();
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let GmmMessage::AttachAccept(accept) = bench.hear_gmm(0) else { panic!() };
    bench.write_to(&mut disk);
    bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
    let mut bench = bench.killed(&disk).cells_up();
    bench.gmm(0, AttachComplete {});
    assert_eq!(bench.events, [SgsnEvent::Attached { imsi: imsi(0) }]);
    bench.activate(0, NSAPI);
    bench.up_and_down(0, NSAPI);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whenever it is killed, and however many LL-PDUs were counted since: no N(U) is used twice within what the mobile
    /// remembers, nothing of the mobile's is taken for a repetition, and GTP's numbers go on.
    #[test]
    fn numbers_go_on(before in 0_usize..600, behind in 0..usize::from(KEPT_EVERY), kills in 1_usize..3) {
        let mut disk = Disk::new();
        let mut bench = Bench::kept();
        bench.attach(0);
        bench.activate(0, NSAPI);
        bench.write_to(&mut disk);
        let mut last = None;
        for _ in 0..kills {
            for _ in 0..before {
                bench.up_and_down(0, NSAPI);
                bench.write_to(&mut disk);
            }
            for _ in 0..behind {
                bench.downlink(0, NSAPI, b"down");
                bench.hear(0);
                bench.unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u']);
                last = bench.next_user().1.sequence;
            }
            bench = bench.killed(&disk).cells_up();
            bench.unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u']);
            let (_, header, _) = bench.next_user();
            if let (Some(last), Some(next)) = (last, header.sequence) {
                prop_assert!(next.wrapping_sub(last) < 1000, "{last}, {next}");
            }
            for _ in 0..40 {
                bench.up_and_down(0, NSAPI);
            }
            prop_assert_eq!(bench.drops(), []);
            bench.write_to(&mut disk);
        }
        prop_assert_eq!(bench.dropped(Drop::LlcDuplicate), 0);
    }
}

/// After a kill the SGSN resets the NS-VCs that it had learned, and the signalling BVC behind them: a BSS that has noticed
/// nothing is in service at once, and so are its mobiles.
#[test]
fn traffic_goes_on_as_soon_as_the_bss_has_answered() {
    let mut bench = Bench::kept();
    bench.attach(0);
    bench.activate(0, NSAPI);
    let mut disk = Disk::new();
    bench.write_to(&mut disk);
    let network = bench.sgsn.network();
    let began = bench.sgsn.network_changes();
    bench.beacon(0);
    assert_eq!(bench.sgsn.network_changes(), began, "packets change nothing of it");
    let mut bench = bench.killed(&disk);
    assert_eq!(bench.sgsn.recall_network(b"no network"), None);
    assert_eq!(bench.sgsn.recall_network(&network), Some(2));
    bench.order(SgsnCommand::Start);
    for nsei in [1, 2].map(Nsei) {
        let (nsvci, cause) = (gannet_wire::id::Nsvci(nsei.0), ns::Cause::OamIntervention);
        assert_eq!(bench.next(), Sent::Ns(bss(nsei), ns::Pdu::Reset { cause, nsvci, nsei }));
    }
    // Both BSSs answer and unblock, and get a BVC-RESET of their signalling BVCs.
    for nsei in [1, 2].map(Nsei) {
        let nsvci = gannet_wire::id::Nsvci(nsei.0);
        bench.ns(nsei, &ns::Pdu::ResetAck { nsvci, nsei });
        bench.ns(nsei, &ns::Pdu::Unblock);
        // A BSS that has no NS-UNBLOCK-ACK yet takes no BVC-RESET.
        assert_eq!(bench.next(), Sent::Ns(bss(nsei), ns::Pdu::UnblockAck));
        let reset = bench.next();
        let Sent::Bssgp(to, Bvci::SIGNALLING, Message::BvcReset { bvci, features, .. }) = reset else {
            panic!("{reset:?}")
        };
        assert_eq!((to, bvci), (nsei, Bvci::SIGNALLING));
        bench.bssgp(nsei, Bvci::SIGNALLING, &Message::BvcResetAck { bvci, cell: None, features });
    }
    for n in 0..4 {
        bench.reset_bvc(cell(n).nsei, cell(n).bvci, Some(cell(n).id));
    }
    // No time has passed; the mobile is paged, answers, and has what came for it.
    bench.downlink(0, NSAPI, b"n-pdu");
    assert!(matches!(bench.next_bssgp(), Message::PagingPs(_)));
    bench.sent.clear();
    bench.beacon(0);
    assert!(bench.hear(0).1.ends_with(b"n-pdu"));
    assert_eq!(bench.drops(), []);
}

#[test]
fn what_a_configuration_does_not_take_any_more_is_not_reset() {
    let network = Bench::kept().sgsn.network();
    let mut bench = Bench::without_bss(|config| config.open.clear());
    assert_eq!(bench.sgsn.recall_network(&network), Some(2));
    bench.order(SgsnCommand::Start);
    assert!(bench.is_silent());
    assert_eq!(bench.sgsn.gb().ns.vcs().count(), 0);
}

//! Links that double, reorder, damage and lose; BVCs and NS-VCs that begin anew or fail.

use crate::bench::{Bench, MOBILES, bvci, cell_id};
use crate::octets;
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_node::bss::Command as BssCommand;
use gannet_node::ms::MsCommand;
use gannet_node::sgsn::flows::Ingress;
use gannet_node::sgsn::{GB, PduLifetimes};
use gannet_sim::gprs::{Node, bss_address};
use gannet_sim::link::LinkProfile;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::{Cause, RadioCause};
use gannet_wire::bssgp::signalling::{LlcDiscarded, MobileRef};
use gannet_wire::id::{Bvci, Sapi, Tlli};

#[test]
fn one_in_five_arrives_twice() {
    for seed in 1..=5 {
        let mut bench = Bench::idle(seed, |_| ());
        bench.world.set_gb(LinkProfile { duplication: 0.2, ..LinkProfile::default() });
        bench.join(0..MOBILES);
        assert_eq!(bench.active(), MOBILES as usize, "seed {seed}: {:?}", bench.drops());
        bench.length = 1400;
        bench.interval = Some(Duration::from_millis(500));
        bench.run(20);
        bench.assert_all_arrived(&[]);
        // U frames and answers to repeated requests have no number by which they could be told.
        let doubled = [
            Drop::LlcDuplicate,
            Drop::LlcUnexpected,
            Drop::NsUnexpected,
            Drop::BssgpUnexpected,
            Drop::GmmUnexpected,
            Drop::GmmIgnored,
            Drop::GmmStatusReceived,
            Drop::SmUnexpected,
            Drop::SmRepeated,
        ];
        let drops = bench.drops();
        assert!(drops.iter().all(|(_, drop, _)| doubled.contains(drop)), "seed {seed}: {drops:?}");
        let at = |node| drops.iter().find(|(at, drop, _)| (*at, *drop) == (node, Drop::LlcDuplicate));
        for node in [Node::Ms, Node::Sgsn] {
            assert!(at(node).is_some_and(|(_, _, count)| *count > 30), "seed {seed}: {drops:?}");
        }
        bench.end();
    }
}

#[test]
fn segments_out_of_order_become_whole_n_pdus() {
    let mut bench = Bench::with(|config| config.sgsn.n201_u = None);
    bench.world.set_gb(LinkProfile { reordering: 0.5, ..LinkProfile::default() });
    (bench.length, bench.interval) = (1400, Some(Duration::from_millis(500)));
    let before = bench.snapshot();
    bench.run(20);
    bench.assert_all_arrived(&[]);
    assert_eq!(bench.moved(&before), []);
    bench.world.set_gb(LinkProfile::default());
    bench.end();
}

#[test]
fn damaged_frames_never_become_n_pdus() {
    let mut bench = Bench::new();
    bench.length = 1400;
    bench.world.set_gb(LinkProfile { damage: 0.05, ..LinkProfile::default() });
    bench.run(20);
    bench.world.set_gb(LinkProfile::default());
    bench.run(5);
    assert_eq!(bench.wrong, 0);
    for node in [Node::Ms, Node::Sgsn] {
        assert!(bench.world.drops(node).get(Drop::LlcBadFcs) > 20, "{:?}", bench.drops());
    }
    // What was still damaged of BSSGP itself has been told to the other end, and the network is whole again.
    let before: usize = (0..MOBILES).map(|mobile| bench.arrived(mobile)).sum();
    bench.run(5);
    let after: usize = (0..MOBILES).map(|mobile| bench.arrived(mobile)).sum();
    assert_eq!(after - before, 5 * 5 * 2 * MOBILES as usize, "{:?}", bench.drops());
    bench.end();
}

#[test]
fn a_bad_link_leaves_nothing_behind_whatever_the_seed() {
    for seed in 1..=50 {
        let bad = LinkProfile { loss: 0.3, duplication: 0.2, reordering: 0.2, ..LinkProfile::default() };
        let mut bench = Bench::idle(seed, |config| config.gb = bad);
        bench.interval = Some(Duration::from_secs(1));
        bench.join(0..MOBILES);
        bench.run(20);
        let mobile = u32::try_from(seed).unwrap() % MOBILES;
        bench.world.order_ms(MsCommand::ChangeCell { mobile, cell: 1 });
        bench.run(10);
        bench.world.order_ms(MsCommand::Detach { mobile, power_off: seed % 2 == 0 });
        bench.run(30);
        assert_eq!(bench.wrong, 0, "seed {seed}");
        bench.world.set_gb(LinkProfile::default());
        // A mobile whose DETACH REQUEST was lost when it was switched off is detached implicitly.
        bench.end_after(2 * 3600 + 300);
    }
}

// ---------------------------------------------------------------------------------------------------------- BVCs

/// 300 N-PDUs for a mobile are more than its cell takes at once.
fn with_a_backlog() -> Bench {
    let mut bench = Bench::with(|config| {
        (config.sgsn.flow.data.ms.pdus, config.sgsn.ingress) = (400, Ingress::Fifo);
    });
    (bench.length, bench.interval) = (450, Some(Duration::from_millis(500)));
    bench.burst(0, 300);
    bench.run_for(Duration::from_millis(100));
    bench
}

#[test]
fn bvc_reset_in_mid_transfer_flushes_that_cell_alone() {
    let mut bench = with_a_backlog();
    let before = bench.snapshot();
    let queued = bench.world.sgsn.machine.gb().flow.queued_pdus();
    assert!(queued > 100, "{queued}");
    bench.world.order_bss(BssCommand::ResetCell(0));
    bench.run_for(Duration::from_millis(5));
    let moved = bench.moved(&before);
    let flushed = |node, name| {
        moved.iter().find(|(at, drop, _)| (*at, *drop) == (node, name)).map_or(0, |(_, _, count)| *count)
    };
    assert!(flushed(Node::Sgsn, Drop::FlowFlushed) > 100, "{moved:?}");
    assert!(flushed(Node::Bss, Drop::BssFlushed) > 10, "{moved:?}");
    let possible = [Drop::FlowFlushed, Drop::BssFlushed, Drop::BssgpBlockedBvc, Drop::BssCellDown];
    assert!(moved.iter().all(|(_, drop, _)| possible.contains(drop)), "{moved:?}");
    bench.run(5);
    bench.assert_all_arrived(&[0, 2, 4, 6]);
    let lost: usize = [0, 2, 4, 6].map(|mobile| bench.missing(mobile)).iter().sum();
    let named: u64 = bench.moved(&before).iter().map(|(_, _, count)| count).sum();
    assert_eq!(lost as u64, named, "each with a name: {:?}", bench.moved(&before));
    bench.end();
}

#[test]
fn signalling_bvc_reset_of_nobodys_making_is_recovered_from() {
    let mut bench = Bench::new();
    let reset = Message::BvcReset {
        bvci: Bvci::SIGNALLING,
        cause: Cause::OamIntervention,
        cell: None,
        features: None,
    };
    let before = bench.snapshot();
    bench.gb(&octets::bssgp(Bvci::SIGNALLING, &reset));
    bench.run(5);
    let moved = bench.moved(&before);
    let named = |drop: Drop| moved.iter().any(|(_, at, _)| *at == drop);
    // The SGSN says that it does not know the cells any more, and the BSS resets them.
    assert!(named(Drop::BssgpUnknownBvc) && named(Drop::BssgpStatusReceived), "{moved:?}");
    let lost = bench.lost();
    bench.run(5);
    assert_eq!((bench.lost(), bench.wrong), (lost, 0));
    bench.end();
}

#[test]
fn a_blocked_bvc_keeps_what_is_queued() {
    let mut bench = Bench::new();
    // Downlink only for the mobiles of the cell: uplink has nowhere to wait.
    for mobile in [0, 2, 4, 6] {
        bench.silent.insert(mobile);
    }
    bench.run(1);
    let before = bench.snapshot();
    bench.world.order_bss(BssCommand::BlockCell(0));
    bench.run(1);
    for mobile in [0, 2, 4, 6] {
        bench.burst(mobile, 10);
    }
    bench.run(2);
    let sgsn = &bench.world.sgsn.machine;
    let at_input = sgsn.flows().unwrap().queues().queued().pdus;
    assert_eq!(sgsn.gb().flow.queued_pdus() + at_input, 40);
    bench.offer(0, true);
    bench.run(1);
    bench.world.order_bss(BssCommand::UnblockCell(0));
    bench.run(2);
    bench.assert_all_arrived(&[0]);
    assert_eq!(bench.missing(0), 1, "that uplink");
    assert_eq!(bench.moved(&before), [(Node::Bss, Drop::BssCellDown, 1)]);
    bench.end();
}

#[test]
fn lifetimes_end_in_the_queue_of_a_blocked_cell() {
    let mut bench =
        Bench::with(|config| config.sgsn.pdu_lifetime = PduLifetimes::all(Some(Duration::from_secs(1))));
    for mobile in [0, 2, 4, 6] {
        bench.silent.insert(mobile);
    }
    bench.run(1);
    let before = bench.snapshot();
    bench.world.order_bss(BssCommand::BlockCell(0));
    bench.run(1);
    bench.burst(0, 10);
    bench.run(3);
    assert_eq!(bench.moved(&before), [(Node::Sgsn, Drop::FlowLifetime, 10)]);
    bench.world.order_bss(BssCommand::UnblockCell(0));
    bench.run(1);
    bench.assert_all_arrived(&[0]);
    bench.end();
}

/// The cell has another BVC now, says somebody.
#[test]
fn a_cell_that_moved_to_another_bvc_is_moved_back() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    let reset = Message::BvcReset {
        bvci: Bvci(9),
        cause: Cause::OamIntervention,
        cell: Some(cell_id(0)),
        features: None,
    };
    bench.gb(&octets::bssgp(Bvci::SIGNALLING, &reset));
    bench.run(3);
    let moved = bench.moved(&before);
    let possible = [
        Drop::BssgpUnknownBvc,
        Drop::BssgpStatusReceived,
        Drop::FlowFlushed,
        Drop::BssFlushed,
        Drop::BssCellDown,
    ];
    assert!(moved.iter().all(|(_, drop, _)| possible.contains(drop)), "{moved:?}");
    assert!(moved.contains(&(Node::Bss, Drop::BssgpUnknownBvc, 1)), "{moved:?}");
    bench.assert_all_arrived(&[0, 2, 4, 6]);
    let lost = bench.lost();
    bench.run(5);
    assert_eq!(bench.lost(), lost, "the BSS has reset its own BVC: {:?}", bench.moved(&before));
    bench.end();
}

#[test]
fn reports_of_the_bss_are_counted_by_its_mobile() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    let tlli = bench.tlli(0);
    let status =
        |tlli| Message::RadioStatus { mobile: MobileRef::Tlli(tlli), cause: RadioCause::ContactLost };
    bench.gb(&octets::bssgp(bvci(0), &status(tlli)));
    bench.gb(&octets::bssgp(bvci(0), &status(Tlli(0xdead_beef))));
    let discarded = LlcDiscarded { tlli, frames: 3, bvci: bvci(0), octets: 100 };
    bench.gb(&octets::bssgp(Bvci::SIGNALLING, &Message::LlcDiscarded(discarded)));
    bench.run(1);
    bench.assert_all_arrived(&[]);
    // The mobile is paged, as there is something for it, in both cells of its routing area; in one of them nobody hears it.
    let expected = [
        (Node::Ms, Drop::MsPagingNobody, 1),
        (Node::Sgsn, Drop::BssgpForeignMobile, 1),
        (Node::Sgsn, Drop::SgsnRadioStatus, 1),
        (Node::Sgsn, Drop::SgsnDiscardedByBss, 3),
    ];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

// -------------------------------------------------------------------------------------------------------- NS-VCs

#[test]
fn one_of_two_ns_vcs_fails_under_load() {
    let mut bench = Bench::with(|config| {
        for (test, alive, retries) in [
            (&mut config.sgsn.ns.test, &mut config.sgsn.ns.alive, &mut config.sgsn.ns.alive_retries),
            (&mut config.bss.ns.tns_test, &mut config.bss.ns.tns_alive, &mut config.bss.ns.alive_retries),
        ] {
            (*test, *alive, *retries) = (Duration::from_secs(3), Duration::from_secs(1), 2);
        }
    });
    bench.world.cut.insert(1);
    bench.run(12);
    let lost = bench.lost();
    assert!(lost.iter().any(|count| *count > 0), "until it is noticed, some are lost");
    let before = bench.snapshot();
    bench.run(30);
    assert_eq!((bench.lost(), bench.wrong), (lost.clone(), 0), "the other carries everything");
    assert_eq!(bench.moved(&before), []);
    // What comes on the dead one all the same is not taken.
    let late = octets::ul_unitdata(0, bench.tlli(0), &octets::ui(Sapi::GMM, 90, &[8, 0x7f]));
    assert!(bench.world.inject(Node::Sgsn, GB, Peer::Udp(bss_address(1)), &late));
    assert_eq!(bench.moved(&before), [(Node::Sgsn, Drop::NsBlocked, 1)]);
    bench.world.cut.clear();
    bench.run(30);
    assert_eq!((bench.lost(), bench.wrong), (lost, 0));
    bench.end();
}

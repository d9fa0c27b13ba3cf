//! Tables that are full, frames that have run out, and what is held for mobiles that do not answer.

use crate::bench::{Bench, Drops, NSAPI, config, imsi};
use crate::mobiles::attach_request_with;
use crate::octets;
use core::net::SocketAddr;
use gannet_machine::Peer;
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::time::Duration;
use gannet_node::ms::MsCommand;
use gannet_node::sgsn::flows::Ingress;
use gannet_node::sgsn::{GTP_C, SgsnCommand};
use gannet_sim::gprs::{GGSN_GN, GprsWorld, Node};
use gannet_wire::gtp::v1c::DeleteRequest;
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::l3::ie::{GprsTimer, MobileIdentity};

/// What moved at the SGSN.
fn at_sgsn(bench: &Bench, before: &[DropCounters]) -> Drops {
    bench.moved(before).into_iter().filter(|(node, ..)| *node == Node::Sgsn).collect()
}

/// Mobile 0 is in STANDBY and hears nothing; the others have traffic.
fn with_a_deaf_mobile(change: impl FnOnce(&mut gannet_sim::gprs::WorldConfig)) -> Bench {
    let mut bench = Bench::with(|config| {
        config.sgsn.gmm.t3314 = GprsTimer(5);
        change(config);
    });
    bench.silent.insert(0);
    bench.run(1);
    bench.world.order_ms(MsCommand::LoseCell { mobile: 0 });
    bench.run(12);
    bench
}

fn hears_again(bench: &mut Bench) {
    bench.world.order_ms(MsCommand::ChangeCell { mobile: 0, cell: 0 });
}

#[test]
fn paging_that_nobody_answers() {
    let mut bench = with_a_deaf_mobile(|config| config.sgsn.held_lifetime = Duration::from_secs(300));
    let before = bench.snapshot();
    bench.burst(0, 25);
    bench.run(35);
    bench.assert_all_arrived(&[0]);
    let expected = [
        (Node::Sgsn, Drop::GmmPagingFailed, 1),
        (Node::Sgsn, Drop::HeldFull, 5),
        (Node::Sgsn, Drop::HeldUnanswered, 20),
    ];
    assert_eq!(at_sgsn(&bench, &before), expected);
    assert_eq!(bench.missing(0), 25);
    hears_again(&mut bench);
    bench.run(1);
    bench.burst(0, 3);
    bench.run(3);
    assert_eq!(bench.missing(0), 25, "it is paged again, and answers");
    bench.end();
}

#[test]
fn what_was_held_too_long_is_not_sent() {
    let mut bench = with_a_deaf_mobile(|config| config.sgsn.held_lifetime = Duration::from_secs(5));
    let before = bench.snapshot();
    bench.burst(0, 3);
    bench.run(12);
    hears_again(&mut bench);
    bench.run(10);
    bench.assert_all_arrived(&[0]);
    assert_eq!(at_sgsn(&bench, &before), [(Node::Sgsn, Drop::HeldTooLong, 3)]);
    bench.end();
}

#[test]
fn what_was_held_for_a_mobile_goes_with_it() {
    let mut bench = with_a_deaf_mobile(|_| ());
    let before = bench.snapshot();
    bench.burst(0, 3);
    bench.run(1);
    // Somebody attaches as this subscriber, and is never heard of again.
    let request = attach_request_with(MobileIdentity::Imsi(imsi(0)), 5);
    bench.ll_pdu(1, Tlli::random(7), &octets::l3(0, &request));
    bench.run(1);
    bench.assert_all_arrived(&[0]);
    let moved = at_sgsn(&bench, &before);
    assert!(moved.contains(&(Node::Sgsn, Drop::FlowQueueContextGone, 3)), "{moved:?}");
    hears_again(&mut bench);
    bench.end_after(2 * 3600);
}

#[test]
fn what_was_held_for_a_context_that_is_gone() {
    let mut bench = with_a_deaf_mobile(|config| {
        (config.sgsn.gmm.paging_tries, config.sgsn.held_lifetime) = (20, Duration::from_secs(300));
    });
    let before = bench.snapshot();
    bench.burst(0, 2);
    let request = DeleteRequest { teardown: Some(true), nsapi: NSAPI, pco: None, private_extension: None };
    let octets = octets::gtp(bench.teid(0), 77, &request.into());
    bench.run(1);
    assert!(bench.world.inject(Node::Sgsn, GTP_C, Peer::Udp(SocketAddr::new(GGSN_GN, 2123)), &octets));
    bench.run(60);
    hears_again(&mut bench);
    bench.run(15);
    bench.assert_all_arrived(&[0]);
    let moved = at_sgsn(&bench, &before);
    assert!(moved.contains(&(Node::Sgsn, Drop::FlowQueueContextGone, 2)), "{moved:?}");
    // The GGSN did not say so itself: its context goes when the mobile asks anew.
    bench.activate(0);
    bench.run(5);
    bench.end();
}

#[test]
fn a_suspended_mobile_gets_everything_when_it_resumes() {
    let mut bench = Bench::new();
    bench.silent.insert(0);
    bench.run(1);
    let before = bench.snapshot();
    bench.world.order_ms(MsCommand::Suspend { mobile: 0 });
    bench.run(1);
    bench.burst(0, 5);
    bench.run(2);
    assert_eq!(bench.missing(0), 5);
    bench.world.order_ms(MsCommand::Resume { mobile: 0 });
    bench.run(2);
    bench.assert_all_arrived(&[]);
    assert_eq!(bench.moved(&before), []);
    bench.end();
}

#[test]
fn the_table_of_mobiles_is_full() {
    let mut bench = Bench::with(|config| config.sgsn.mobiles_max = 8);
    let before = bench.snapshot();
    for n in 0..20 {
        let request = attach_request_with(MobileIdentity::Imsi(imsi(100 + n)), 5);
        bench.ll_pdu(0, Tlli::random(n), &octets::l3(0, &request));
    }
    bench.run(1);
    bench.assert_all_arrived(&[]);
    assert_eq!(bench.moved(&before), [(Node::Sgsn, Drop::SgsnMobileTableFull, 20)]);
    bench.end();
}

#[test]
fn no_frame_is_left() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    let mut frames: Vec<_> = core::iter::from_fn(|| bench.world.frames.alloc()).collect();
    frames.pop();
    // The last one holds the request; of the two LL-PDUs that answer it one has no frame.
    bench.ll_pdu(0, Tlli::random(7), &octets::ui(Sapi::GMM, 0, &[0x08, 0x7f]));
    let expected = [(Node::Sgsn, Drop::NoFrame, 1), (Node::Sgsn, Drop::SgsnUnknownTlli, 1)];
    assert_eq!(bench.moved(&before), expected);
    drop(frames);
    bench.run(40);
    bench.assert_all_arrived(&[]);
    assert_eq!(bench.active(), 8);
    bench.end();
}

#[test]
fn a_radio_capability_that_is_too_long_is_not_passed_on() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    let request = attach_request_with(MobileIdentity::None, 250);
    bench.ll_pdu(0, Tlli::random(7), &octets::l3(0, &request));
    bench.run(40);
    bench.assert_all_arrived(&[]);
    // All five identity requests and the reject reach the BSS, where nobody has that TLLI.
    let expected = [
        (Node::Bss, Drop::BssUnknownMobile, 6),
        (Node::Sgsn, Drop::BssgpForeignMobile, 2),
        (Node::Sgsn, Drop::GmmRejected, 1),
        (Node::Sgsn, Drop::GmmNoAnswer, 1),
        (Node::Sgsn, Drop::SgsnRadioStatus, 5),
        (Node::Sgsn, Drop::SgsnDiscardedByBss, 5),
    ];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

#[test]
fn a_mobile_that_is_put_where_its_cell_is_unknown() {
    let mut bench = Bench::new();
    let octets = bench.world.act_sgsn(|sgsn, cx| sgsn.export(cx, imsi(0))).unwrap();
    let mut other = GprsWorld::new(config(2)).unwrap();
    assert!(other.act_sgsn(|sgsn, cx| sgsn.import(cx, &octets)).is_ok());
    other.order_sgsn(SgsnCommand::Detach { imsi: imsi(0), reattach: false });
    assert_eq!(other.drops(Node::Sgsn).get(Drop::SgsnNoCell), 1);
    assert!(bench.world.act_sgsn(|sgsn, cx| sgsn.import(cx, &octets)).is_ok());
    bench.run(3);
    bench.assert_all_arrived(&[]);
    bench.end();
}

#[test]
fn more_than_a_queue_holds() {
    let mut bench = Bench::with(|config| config.sgsn.ingress = Ingress::Fifo);
    (bench.length, bench.interval) = (450, Some(Duration::from_millis(500)));
    let before = bench.snapshot();
    bench.burst(0, 400);
    bench.run(10);
    let moved = bench.moved(&before);
    let full = moved.iter().find(|(_, drop, _)| *drop == Drop::FlowMsQueueFull).map_or(0, |(_, _, n)| *n);
    assert!(full > 20 && moved.len() == 1, "{moved:?}");
    bench.assert_all_arrived(&[0]);
    assert_eq!(bench.missing(0) as u64, full);
    bench.end();
}

/// The same load where the SGSN has queues at its input: what a cell has no room for yet waits there.
#[test]
fn nothing_is_dropped_behind_the_scheduler() {
    let mut bench = Bench::with(|config| config.sgsn.flow.data.cell.pdus = 50);
    (bench.length, bench.interval) = (450, Some(Duration::from_millis(500)));
    let before = bench.snapshot();
    bench.burst(0, 400);
    bench.run(20);
    bench.assert_all_arrived(&[]);
    assert_eq!(bench.moved(&before), []);
    let queues = bench.world.sgsn.machine.flows().unwrap().queues();
    assert_eq!(queues.totals().offered, queues.totals().served.iter().sum::<u64>());
    bench.end();
}

#[test]
fn more_than_a_cell_holds() {
    let mut bench = Bench::with(|config| {
        (config.sgsn.flow.data.cell.pdus, config.sgsn.ingress) = (50, Ingress::Fifo);
    });
    (bench.length, bench.interval) = (450, Some(Duration::from_millis(500)));
    let before = bench.snapshot();
    bench.burst(0, 400);
    bench.run(10);
    let moved = bench.moved(&before);
    assert!(
        moved.iter().all(|(_, drop, _)| *drop == Drop::FlowCellQueueFull) && moved.len() == 1,
        "{moved:?}"
    );
    bench.assert_all_arrived(&[0, 2, 4, 6]);
    bench.end();
}

//! NS-VCs, BVCs and flow control as a BSS drives them.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::bssgp::bvc::BvcState;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_proto::ns::VcState;
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::Cause;
use gannet_wire::bssgp::signalling::Status;
use gannet_wire::id::{Bvci, Nsei, Nsvci};
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::ns;

const NSE: Nsei = Nsei(1);
const CELL: Bvci = Bvci(2);

fn bucket(bmax_octets: u64, rate_bit_per_s: u64) -> Bucket {
    Bucket { bmax_octets, rate_bit_per_s }
}

#[test]
fn a_bss_introduces_itself() {
    let mut bench = Bench::without_bss(|_| ());
    assert_eq!(bench.sgsn.gb().ns.vcs().count(), 0);
    bench.start_ns(NSE);
    let vc = bench.sgsn.gb().ns.vcs().next().unwrap();
    assert_eq!((vc.nsei(), vc.nsvci(), vc.peer()), (NSE, Some(Nsvci(1)), bss(NSE)));
    assert_eq!(vc.state(), VcState::Unblocked);
    bench.ns(NSE, &ns::Pdu::Alive);
    assert_eq!(bench.next(), Sent::Ns(bss(NSE), ns::Pdu::AliveAck));
    bench.ns(NSE, &ns::Pdu::Block { cause: ns::Cause::OamIntervention, nsvci: Nsvci(1) });
    assert_eq!(bench.next(), Sent::Ns(bss(NSE), ns::Pdu::BlockAck { nsvci: Nsvci(1) }));
    assert!(!bench.sgsn.gb().ns.is_available(NSE));
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_stranger_is_refused_where_only_configured_ones_are_welcome() {
    let mut bench = Bench::without_bss(|config| config.open.clear());
    let reset = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(1), nsei: NSE };
    bench.ns(NSE, &reset);
    assert_eq!(bench.dropped(Drop::NsUnknownPeer), 1);
    assert_eq!(bench.sgsn.gb().ns.vcs().count(), 0);
}

#[test]
fn a_bss_that_is_silent_loses_its_cells() {
    let mut bench = Bench::new(|_| ());
    bench.silent_bss = true;
    bench.pass_secs(30 + 11 * 3 + 1);
    assert!(!bench.sgsn.gb().ns.is_available(NSE));
    assert!(bench.sgsn.gb().bvcs.bvcs().all(|(_, bvc)| bvc.state == BvcState::Down));
    // It comes back, and so do its cells.
    bench.silent_bss = false;
    bench.sent.clear();
    bench.start_ns(NSE);
    bench.reset_bvc(NSE, Bvci::SIGNALLING, None);
    bench.reset_bvc(NSE, CELL, Some(cell(0).id));
    bench.attach(0);
}

#[test]
fn a_cell_is_blocked_and_unblocked() {
    let mut bench = Bench::new(|_| ());
    bench.signal(&Message::BvcBlock { bvci: CELL, cause: Cause::OamIntervention });
    assert_eq!(bench.next_bssgp(), Message::BvcBlockAck { bvci: CELL });
    // Nothing is taken from it meanwhile.
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let Message::Status(Status { cause, bvci, pdu }) = bench.next_bssgp() else { panic!() };
    assert_eq!((cause, bvci), (Cause::BvciBlocked, Some(CELL)));
    assert!(pdu.is_some());
    assert_eq!(bench.drops(), [(Drop::BssgpBlockedBvc, 1)]);
    bench.signal(&Message::BvcUnblock { bvci: CELL });
    assert_eq!(bench.next_bssgp(), Message::BvcUnblockAck { bvci: CELL });
    bench.attach(0);
}

#[test]
fn what_waits_for_a_blocked_cell_goes_out_when_it_is_unblocked() {
    let mut bench = Bench::attached(true);
    bench.signal(&Message::BvcBlock { bvci: CELL, cause: Cause::OamIntervention });
    bench.sent.clear();
    bench.downlink(0, NSAPI, b"n-pdu");
    assert!(bench.is_silent());
    bench.signal(&Message::BvcUnblock { bvci: CELL });
    assert_eq!(bench.next_bssgp(), Message::BvcUnblockAck { bvci: CELL });
    assert_eq!(bench.hear(0).1[4..], *b"n-pdu");
    // A reset instead empties the queue.
    bench.signal(&Message::BvcBlock { bvci: CELL, cause: Cause::OamIntervention });
    bench.sent.clear();
    bench.downlink(0, NSAPI, b"n-pdu");
    bench.reset_bvc(NSE, CELL, Some(cell(0).id));
    assert!(bench.is_silent());
    assert_eq!(bench.drops(), [(Drop::FlowFlushed, 1)]);
}

#[test]
fn a_bvc_that_nobody_knows() {
    let mut bench = Bench::new(|_| ());
    bench.bssgp(NSE, Bvci(9), &Message::FlowControlBvcAck { tag: 1 });
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!((status.cause, status.bvci), (Cause::BvciUnknown, Some(Bvci(9))));
    bench.signal(&Message::BvcBlock { bvci: Bvci(9), cause: Cause::OamIntervention });
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!((status.cause, status.bvci), (Cause::BvciUnknown, Some(Bvci(9))));
    assert_eq!(bench.drops(), [(Drop::BssgpUnknownBvc, 2)]);
}

#[test]
fn messages_out_of_place_are_answered_with_status() {
    let mut bench = Bench::new(|_| ());
    // Of the SGSN's own, on both kinds of BVC.
    bench.bssgp(NSE, CELL, &Message::FlowControlBvcAck { tag: 1 });
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!(status.cause, Cause::PduNotCompatible);
    bench.signal(&Message::ResumeAck { tlli: Tlli(1), rai: rai(1) });
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!(status.cause, Cause::PduNotCompatible);
    // Not to be read, on both.
    bench.pdu(NSE, CELL, &[0x28, 0x1f, 0x84]);
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!(status.pdu.as_deref(), Some(&[0x28, 0x1f, 0x84][..]));
    bench.pdu(NSE, Bvci::SIGNALLING, &[0x7f, 1]);
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!(status.cause, Cause::ProtocolError);
    // An UL-UNITDATA without cell.
    bench.pdu(NSE, CELL, &[0x01, 0x80, 0, 0, 1, 0, 0, 0, 0x0e, 0x81, 0]);
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!(status.cause, Cause::MissingMandatoryIe);
    assert_eq!(bench.drops(), [(Drop::BssgpMalformed, 3), (Drop::BssgpUnexpected, 2)]);
    // A STATUS is not answered.
    bench.signal(&Message::Status(Status { cause: Cause::ProtocolError, bvci: None, pdu: Some(vec![1]) }));
    assert!(bench.is_silent());
    assert_eq!(bench.dropped(Drop::BssgpStatusReceived), 1);
}

#[test]
fn flow_control_of_a_cell() {
    for ingress in [Ingress::Fifo, Ingress::Queued] {
        flow_control_of_a_cell_with(ingress);
    }
}

fn flow_control_of_a_cell_with(ingress: Ingress) {
    let mut bench = Bench::attached_with(true, ingress);
    let parameters = BvcParameters { bvc: bucket(5000, 80_000), default_ms: bucket(1000, 8000) };
    bench.bssgp(NSE, CELL, &Message::FlowControlBvc(parameters.to_message(77)));
    let ack = Message::FlowControlBvcAck { tag: 77 };
    assert_eq!(bench.next(), Sent::Bssgp(NSE, CELL, ack));
    let view = bench.sgsn.gb().flow.cell_view(bench.around.now, 0).unwrap();
    assert_eq!(view.bucket, parameters.bvc);
    // 1000 octets of the mobile's bucket, then 1000 octets a second.
    bench.pass_secs(10);
    for _ in 0..3 {
        bench.downlink(0, NSAPI, &[1; 480]);
    }
    assert_eq!(bench.sent.len(), 2);
    let before_it = u32::from(ingress == Ingress::Fifo);
    assert_eq!(bench.sgsn.gb().flow.queued_pdus(), before_it, "it rests where there are queues to wait in");
    bench.pass(gannet_machine::time::Duration::from_millis(400));
    assert_eq!(bench.sent.len(), 2, "490 octets take 470 ms and more");
    bench.pass(gannet_machine::time::Duration::from_millis(100));
    assert_eq!(bench.sent.len(), 3);
}

#[test]
fn what_waited_for_a_cell_goes_a_part_at_a_time() {
    let mut bench = Bench::attached_with(true, Ingress::Fifo);
    bench.signal(&Message::BvcBlock { bvci: CELL, cause: Cause::OamIntervention });
    for _ in 0..70 {
        bench.downlink(0, NSAPI, b"n-pdu");
    }
    let queued = |bench: &Bench| bench.sgsn.gb().flow.queued_pdus();
    assert_eq!(queued(&bench), 70);
    bench.sent.clear();
    bench.busy = true;
    bench.signal(&Message::BvcUnblock { bvci: CELL });
    assert_eq!((queued(&bench), bench.sgsn.has_work()), (6, true));
    bench.collect();
    assert_eq!((queued(&bench), bench.sgsn.has_work()), (0, false));
    assert_eq!(bench.sent.len(), 71, "and the acknowledgement");
}

#[test]
fn flow_control_of_a_mobile() {
    let mut bench = Bench::attached(true);
    let tlli = bench.phones[0].tlli;
    bench.bssgp(NSE, CELL, &Message::FlowControlMs(bucket(600, 800).to_message(tlli, 5)));
    assert_eq!(bench.next(), Sent::Bssgp(NSE, CELL, Message::FlowControlMsAck { tlli, tag: 5 }));
    let slot = bench.slot(0);
    let view = bench.sgsn.gb().flow.ms_view(bench.around.now, slot.index).unwrap();
    assert_eq!(view.bucket, bucket(600, 800));
    bench.downlink(0, NSAPI, &[1; 480]);
    bench.downlink(0, NSAPI, &[1; 480]);
    assert_eq!(bench.sent.len(), 1);
    // Nobody's.
    let stranger = Tlli(0xc000_0001);
    bench.bssgp(NSE, CELL, &Message::FlowControlMs(bucket(600, 800).to_message(stranger, 6)));
    assert_eq!(bench.sent.len(), 1);
    assert_eq!(bench.drops(), [(Drop::BssgpForeignMobile, 1)]);
}

#[test]
fn an_order_resets_the_network_service() {
    let mut bench = Bench::new(|_| ());
    bench.order(SgsnCommand::ResetNs);
    let resets: Vec<Nsei> = bench
        .sent
        .iter()
        .filter_map(|sent| match sent {
            Sent::Ns(_, ns::Pdu::Reset { nsei, .. }) => Some(*nsei),
            _ => None,
        })
        .collect();
    assert_eq!(resets, [Nsei(1), Nsei(2)]);
    assert!(!bench.sgsn.gb().ns.is_available(NSE));
}

#[test]
fn more_cells_and_network_service_entities_than_there_is_room_for() {
    let mut bench = Bench::new(|config| config.cells_max = 4);
    let parameters = BvcParameters { bvc: bucket(5000, 80_000), default_ms: bucket(1000, 8000) };
    for cell in (0..4).map(cell) {
        bench.bssgp(cell.nsei, cell.bvci, &Message::FlowControlBvc(parameters.to_message(77)));
        assert_eq!(bench.next_bssgp(), Message::FlowControlBvcAck { tag: 77 });
    }
    let mut id = cell(0).id;
    id.ci = 99;
    let reset =
        Message::BvcReset { bvci: Bvci(7), cause: Cause::OamIntervention, cell: Some(id), features: None };
    bench.signal(&reset);
    let Message::Status(status) = bench.next_bssgp() else { panic!() };
    assert_eq!(status.cause, Cause::SgsnCongestion);
    assert_eq!(bench.drops(), [(Drop::BssgpTableFull, 1)]);
    for n in 3..=4 {
        bench.start_ns(Nsei(n));
    }
    bench.ns(Nsei(5), &ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(5), nsei: Nsei(5) });
    assert_eq!(bench.dropped(Drop::NsTableFull), 1);
}

#[test]
fn a_driver_knows_from_where_each_nse_sends() {
    let mut bench = Bench::new(|_| {});
    let peers = |bench: &Bench| bench.rules.peers().collect::<Vec<_>>();
    assert_eq!(peers(&bench), [(bss(Nsei(1)), Nsei(1)), (bss(Nsei(2)), Nsei(2))]);
    // Started again at another port: the same NS-VC, which has moved.
    let other = core::net::SocketAddr::new(bss(Nsei(1)).ip(), 29_000);
    let reset = ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci: Nsvci(1), nsei: Nsei(1) };
    bench.silent_bss = true;
    bench.datagram(GB, other, &reset.to_vec());
    bench.pass(Duration::from_secs(3));
    assert_eq!(peers(&bench), [(bss(Nsei(2)), Nsei(2)), (other, Nsei(1))]);
    // Nobody configured them: when they have been dead for long they are forgotten.
    bench.silent_bss = true;
    bench.pass_secs(600);
    assert_eq!(peers(&bench), []);
}

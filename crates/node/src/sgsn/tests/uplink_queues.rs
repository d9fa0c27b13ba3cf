//! A storm from one mobile, and what the others and signalling notice of it.

use super::bench::*;
use crate::sgsn::*;
use gannet_proto::drops::Drop;
use gannet_wire::id::{Sapi, Teid};
use gannet_wire::l3::gmm::DetachRequestMo;
use gannet_wire::l3::ie::{DetachKindMo, DetachTypeMo};
use gannet_wire::sndcp::{Compression, Header, Pdu};

fn n_pdu(bench: &mut Bench, phone: usize, number: u16) {
    let first = Some(Compression::NONE);
    let header = Header { nsapi: NSAPI, more: false, pdu: Pdu::Unitdata { first, segment: 0, number } };
    let pdu = [&*header.emit(), &[u8::try_from(phone).unwrap(), u8::try_from(number).unwrap()]].concat();
    bench.unitdata(phone, Sapi::DATA3, &pdu);
}

/// Two phones in one cell, each with a context.
fn two(change: impl FnOnce(&mut SgsnConfig)) -> Bench {
    let mut bench = Bench::new(change);
    for phone in [0, 1] {
        bench.attach(phone);
        bench.activate(phone, NSAPI);
    }
    bench.sent.clear();
    bench
}

/// Who sent the next N-PDUs that went to the GGSN, and their numbers.
fn to_the_ggsn(bench: &mut Bench, count: usize) -> Vec<(u8, u8)> {
    (0..count)
        .map(|_| {
            let (_, _, t_pdu) = bench.next_user();
            (t_pdu[0], t_pdu[1])
        })
        .collect()
}

#[test]
fn a_storm_takes_its_own_turns_only() {
    let mut bench = two(|_| {});
    bench.busy = true;
    (0..40).for_each(|number| n_pdu(&mut bench, 0, number));
    (0..4).for_each(|number| n_pdu(&mut bench, 1, number));
    bench.busy = false;
    bench.collect();
    let order = to_the_ggsn(&mut bench, 44);
    let place = |wanted| order.iter().position(|sent| *sent == wanted).unwrap();
    assert!(place((1, 3)) < 30, "one turn of the storm, then the other: {order:?}");
    for phone in [0, 1] {
        let numbers: Vec<u8> =
            order.iter().filter(|(from, _)| *from == phone).map(|(_, number)| *number).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
    assert_eq!((bench.drops(), bench.around.frames.free()), (vec![], FRAMES));
}

#[test]
fn what_exceeds_a_mobile_s_queue_is_its_own_loss() {
    let mut bench = two(|config| config.queue.pdus_max = 64);
    bench.busy = true;
    (0..60).for_each(|number| n_pdu(&mut bench, 1, number));
    (60..200).for_each(|number| n_pdu(&mut bench, 1, number));
    bench.busy = false;
    bench.collect();
    assert_eq!(bench.drops(), [(Drop::FlowQueueNodeFull, 200 - 64)]);
    assert_eq!(to_the_ggsn(&mut bench, 64).last(), Some(&(1, 63)));
    assert_eq!(bench.around.frames.free(), FRAMES);
}

#[test]
fn signalling_goes_ahead_of_all_user_data() {
    let mut bench = two(|_| {});
    bench.busy = true;
    (0..30).for_each(|number| n_pdu(&mut bench, 0, number));
    let detach_type = DetachTypeMo { kind: DetachKindMo::Gprs, power_off: false };
    bench.gmm(1, DetachRequestMo { detach_type, ptmsi: None, ptmsi_signature: None });
    bench.busy = false;
    bench.collect();
    // The request of the GGSN to take the context down is out before the first N-PDU.
    let first = bench.next();
    assert!(matches!(first, Sent::Control(..)), "{first:?}");
}

#[test]
fn what_a_mobile_has_sent_goes_with_it() {
    let mut bench = two(|_| {});
    bench.busy = true;
    (0..5).for_each(|number| n_pdu(&mut bench, 0, number));
    let slot = bench.slot(0);
    let imsi = bench.mobile(0).imsi().unwrap();
    let octets = bench.sgsn.export(&mut bench.around.context(), imsi).unwrap();
    assert_eq!(bench.dropped(Drop::FlowQueueContextGone), 5);
    let back = bench.sgsn.import(&mut bench.around.context(), &octets).unwrap();
    assert_eq!(back, slot);
    n_pdu(&mut bench, 0, 9);
    bench.busy = false;
    bench.collect();
    let (_, header, t_pdu) = bench.next_user();
    assert_eq!((header.teid, t_pdu[..].to_vec()), (Teid(GGSN_USER + u32::from(NSAPI.0)), vec![0, 9]));
    assert_eq!(bench.around.frames.free(), FRAMES);
}

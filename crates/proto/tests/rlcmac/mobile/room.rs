//! What waits of a mobile: how much is enough, and that signalling waits for no user data.

use super::{Bench, countdown};
use crate::world::{octets, tlli};
use gannet_machine::time::Instant;
use gannet_proto::rlcmac::block::UpBlock;
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::rlc::{Mode, Receiver};
use gannet_wire::l3::ie::RadioPriority;

impl Bench {
    /// An LL-PDU of a SAPI.
    fn request_of(&mut self, sapi: u8, name: u32, len: usize) {
        let mut text = octets(name, len - 1);
        text.insert(0, sapi);
        let (frame, expires) = (self.pool.copy_of(&text).unwrap(), Instant(u64::MAX));
        let pdu = LlPdu { mobile: 0, tlli: tlli(0), expires, priority: RadioPriority::Four, frame };
        self.mac.request(self.now, pdu).unwrap();
    }

    /// What the network gets of the uplink TBF until its last block: SAPI and length of each LL-PDU.
    fn all_that_comes(&mut self, receiver: &mut Receiver) -> Vec<(u8, usize)> {
        let mut came = Vec::new();
        for at in 0..500 {
            let Some(UpBlock::Data { header, body }) = self.usf() else { panic!("no block") };
            let is_final = header.countdown == 0;
            let got = receiver.receive(header.bsn, is_final, &body, |pdu| {
                came.push((pdu.octets[0], pdu.octets.len()));
            });
            got.unwrap();
            if receiver.is_complete() {
                return came;
            }
            if at % 10 == 9 {
                self.ack(receiver.v_r(), false, Some(0), None);
            }
        }
        panic!("it does not end: {came:?}");
    }
}

#[test]
fn half_a_second_is_enough_and_two_ll_pdus_may_always_wait() {
    // Without a TBF the rate is that of CS-1: 500 octets in half a second.
    let mut bench = Bench::plain();
    bench.request(1500);
    assert!(!bench.mac.is_full(), "one LL-PDU, however long");
    bench.request(100);
    assert!(bench.mac.is_full());
    let mut bench = Bench::plain();
    (0..4).for_each(|_| bench.request(100));
    assert!(!bench.mac.is_full(), "however many");
    bench.request(100);
    assert!(bench.mac.is_full());
    // CS-2 carries 750.
    bench.one_phase();
    assert!(!bench.mac.is_full());
    (0..3).for_each(|_| bench.request(100));
    assert!(bench.mac.is_full());
    // Two blocks have at least 50 octets in them.
    for _ in 0..2 {
        bench.usf();
    }
    assert!(!bench.mac.is_full());
}

#[test]
fn signalling_goes_before_user_data_that_is_in_no_block() {
    let mut bench = Bench::plain();
    (0..3).for_each(|name| bench.request_of(3, name, 500));
    bench.one_phase();
    let mut receiver = Receiver::new(Mode::Acknowledged);
    let Some(UpBlock::Data { header, body }) = bench.usf() else { panic!("no block") };
    receiver.receive(header.bsn, false, &body, |_| ()).unwrap();
    bench.ack(1, false, Some(0), None);
    bench.request_of(1, 9, 60);
    bench.request_of(11, 4, 80);
    bench.request_of(7, 10, 70);
    let came = bench.all_that_comes(&mut receiver);
    assert_eq!(came, [(3, 500), (1, 60), (7, 70), (3, 500), (3, 500), (11, 80)]);
}

#[test]
fn signalling_that_waits_for_a_tbf_is_its_first() {
    let mut bench = Bench::plain();
    bench.request_of(3, 1, 300);
    bench.request_of(1, 9, 60);
    bench.one_phase();
    let came = bench.all_that_comes(&mut Receiver::new(Mode::Acknowledged));
    assert_eq!(came, [(1, 60), (3, 300)]);
}

#[test]
fn signalling_that_meets_a_countdown_goes_by_the_next_tbf() {
    let mut bench = Bench::plain();
    (0..2).for_each(|name| bench.request_of(3, name, 50));
    bench.one_phase();
    let first = bench.usf();
    assert!(countdown(first.clone()).0 < 15, "the countdown has begun");
    bench.request_of(1, 9, 60);
    assert_eq!(bench.mac.waiting(), (1, 60));
    let mut receiver = Receiver::new(Mode::Acknowledged);
    let Some(UpBlock::Data { header, body }) = first else { panic!("no block") };
    receiver.receive(header.bsn, false, &body, |_| ()).unwrap();
    assert_eq!(bench.all_that_comes(&mut receiver), [(3, 50), (3, 50)]);
}

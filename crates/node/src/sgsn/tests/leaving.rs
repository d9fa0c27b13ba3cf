//! User data on links that have a cipher: ciphered side by side, and sent in the order in which it conformed.

use super::bench::*;
use crate::sgsn::gb::TOGETHER;
use crate::sgsn::*;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::bssgp::Message;
use gannet_wire::l3::ie::{DelayClass, QosProfile};

/// Phones 0 and 1 have keys of their own, phone 2 has none; 1 has real time.
pub fn three_phones(ingress: Ingress) -> Bench {
    let mut bench = Bench::new(|config| config.ingress = ingress);
    for phone in 0..3 {
        bench.attach(phone);
        let delay = if phone == 1 { DelayClass::ONE } else { DelayClass::BEST_EFFORT };
        bench.activate_with(phone, NSAPI, QosProfile { delay, ..QosProfile::BEST_EFFORT });
    }
    for (phone, algorithm) in [(0, Algorithm::Gea3), (1, Algorithm::Gea1)] {
        let ciphering = Ciphering::with_kc(algorithm, [algorithm.number(); 8]).unwrap();
        let slot = bench.slot(phone);
        bench.sgsn.mobiles.get_mut(slot).unwrap().llc.set_ciphering(ciphering);
        let phone = &mut bench.phones[phone];
        phone.llc.assign(Some(phone.tlli), None, ciphering);
    }
    bench.sent.clear();
    bench
}

/// N-PDUs that differ in number and length; whose each is follows from its number.
fn n_pdu(number: u8) -> (usize, Vec<u8>) {
    let phone = [0, 1, 0, 2, 1][usize::from(number) % 5];
    (phone, vec![number; 30 + usize::from(number) * 7 % 200])
}

#[test]
fn each_gets_his_own_in_its_order_and_nobody_else_could_read_it() {
    for ingress in [Ingress::Fifo, Ingress::Queued] {
        let mut bench = three_phones(ingress);
        let count = u8::try_from(TOGETHER * 3 / 2).unwrap();
        bench.busy = true;
        for (phone, t_pdu) in (0..count).map(n_pdu) {
            bench.downlink(phone, NSAPI, &t_pdu);
        }
        bench.busy = false;
        bench.collect();
        let mut heard = [Vec::new(), Vec::new(), Vec::new()];
        while !bench.is_silent() {
            let down = bench.next_down();
            let phone = (0..3).find(|phone| bench.phones[*phone].tlli == down.header.tlli).unwrap();
            let (_, unit) = bench.open(phone, &down.ll_pdu);
            let (t_pdu, in_the_clear) = (unit[4..].to_vec(), phone == 2);
            let shows = down.ll_pdu.windows(16).any(|window| window == &t_pdu[..16]);
            assert_eq!(shows, in_the_clear, "phone {phone}");
            heard[phone].push(t_pdu);
        }
        for (phone, heard) in heard.into_iter().enumerate() {
            let due = (0..count).map(n_pdu).filter(|(whose, _)| *whose == phone).map(|(_, t_pdu)| t_pdu);
            assert_eq!(heard, due.collect::<Vec<_>>(), "phone {phone}, {ingress:?}");
        }
        assert_eq!(bench.drops(), []);
        assert_eq!(bench.around.frames.free(), FRAMES);
    }
}

#[test]
fn what_was_sent_to_the_former_cell_is_there_before_it_is_flushed() {
    let mut bench = three_phones(Ingress::Fifo);
    bench.phones[0].cell = 1;
    bench.in_one_turn(|bench| {
        bench.downlink(0, NSAPI, &[7; 40]);
        bench.beacon(0);
    });
    let down = bench.next_down();
    assert_eq!(down.cell, (cell(0).nsei, cell(0).bvci));
    assert_eq!(bench.open(0, &down.ll_pdu).1[4..], [7; 40]);
    assert!(matches!(bench.next_bssgp(), Message::FlushLl { .. }));
}

#[test]
fn real_time_does_not_wait_for_the_cipher_of_what_came_before_it() {
    let mut bench = three_phones(Ingress::Fifo);
    bench.in_one_turn(|bench| {
        for phone in [0, 0, 1, 1, 0] {
            bench.downlink(phone, NSAPI, &[7; 40]);
        }
    });
    let mut whose = Vec::new();
    while !bench.is_silent() {
        let tlli = bench.next_down().header.tlli;
        whose.push((0..3).find(|phone| bench.phones[*phone].tlli == tlli).unwrap());
    }
    assert_eq!(whose, [1, 1, 0, 0, 0]);
}

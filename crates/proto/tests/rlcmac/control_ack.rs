//! PACKET CONTROL ACKNOWLEDGEMENT as a control block and as four access bursts (44.060 clause 11.2.2).

use crate::mobile::{Bench as MobileBench, NOBODY, TFI};
use crate::network::{Bench as NetworkBench, block, config};
use crate::world::{PDCHS, Plan, World, octets, tlli};
use gannet_machine::time::Duration;
use gannet_proto::rlcmac::air::Direction;
use gannet_proto::rlcmac::block::{DownBlock, UpBlock};
use gannet_proto::rlcmac::channel::Link;
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::mobile::MobileConfig;
use gannet_proto::rlcmac::signal::{Common, Down, To, Up};
use gannet_proto::rlcmac::tap::{Interface, Kind, Scope, Tap};
use gannet_wire::rlcmac::cell::AccessBurst;
use gannet_wire::rlcmac::coding::CodingScheme::Cs2;
use gannet_wire::rlcmac::value::AckType;

const BOTH: [AccessBurst; 2] = [AccessBurst::Bits8, AccessBurst::Bits11];

fn options(control_ack: AckType, access_burst: AccessBurst) -> CellOptions {
    CellOptions { control_ack, access_burst, ..CellOptions::default() }
}

fn is_bursts(block: Option<&UpBlock>, bits: AccessBurst) -> bool {
    matches!(block, Some(UpBlock::ControlAckBursts(its)) if *its == bits)
}

fn is_control_block(block: Option<&UpBlock>) -> bool {
    matches!(block, Some(UpBlock::Control(Up::ControlAck { tlli: its })) if *its == tlli(0))
}

#[test]
fn bursts_have_the_bits_of_the_clause() {
    // 0111 11 and 1111 1100 1 are message types; both end with CTRL_ACK 11.
    for (bits, expected) in [(AccessBurst::Bits8, &[0x7f][..]), (AccessBurst::Bits11, &[0xfc, 0xe0])] {
        let octets = UpBlock::ControlAckBursts(bits).emit().unwrap();
        assert_eq!(&octets[..], expected);
        assert!(is_bursts(UpBlock::parse(expected).unwrap().as_ref(), bits));
    }
    // A network may read what it sent as CTRL_ACK of a segmented message, but no other format.
    assert!(UpBlock::parse(&[0x7c]).unwrap().unwrap().is_control_ack());
    assert!(UpBlock::parse(&[0x77]).is_err() && UpBlock::parse(&[0xff, 0xe0]).is_err());
    assert!(UpBlock::parse(&[]).is_err());
}

/// A final acknowledgement with a poll: the answer in the reserved block has the form that the cell broadcasts, and ends the TBF.
#[test]
fn a_mobile_answers_in_the_form_of_the_cell() {
    for bits in BOTH {
        for form in [AckType::AccessBursts, AckType::ControlBlock] {
            let mut bench = MobileBench::new(MobileConfig::default(), options(form, bits));
            bench.request(20);
            bench.one_phase();
            while !matches!(bench.usf(), Some(UpBlock::Data { header, .. }) if header.countdown == 0) {}
            bench.ack(1, true, Some(0), Some(0));
            bench.say(NOBODY, None, Down::Dummy);
            let answer = bench.say(NOBODY, None, Down::Dummy);
            match form {
                AckType::AccessBursts => assert!(is_bursts(answer.as_ref(), bits), "{answer:?}"),
                AckType::ControlBlock => assert!(is_control_block(answer.as_ref()), "{answer:?}"),
            }
            assert_eq!(bench.mac.slots(), 0, "the TBF has ended with it");
        }
    }
}

/// PACKET POLLING REQUEST says the form itself, whatever the cell broadcasts.
#[test]
fn a_polling_request_says_the_form_of_its_answer() {
    for of_cell in [AckType::AccessBursts, AckType::ControlBlock] {
        for answer in [AckType::AccessBursts, AckType::ControlBlock] {
            let options = options(of_cell, AccessBurst::Bits11);
            let mut bench = MobileBench::new(MobileConfig::default(), options);
            bench.assigned_down();
            let to = To::DownlinkTfi(TFI);
            let poll =
                DownBlock::Control { usf: NOBODY, rrbp: Some(0), message: Down::Polling { to, answer } };
            let read = DownBlock::parse(&poll.emit().unwrap()).unwrap();
            let DownBlock::Control { message, .. } = read else { panic!("{read:?}") };
            assert_eq!(message, Down::Polling { to, answer }, "its octets");
            bench.say(NOBODY, Some(0), message);
            bench.say(NOBODY, None, Down::Dummy);
            let came = bench.say(NOBODY, None, Down::Dummy);
            match answer {
                AckType::AccessBursts => assert!(is_bursts(came.as_ref(), AccessBurst::Bits11), "{came:?}"),
                AckType::ControlBlock => assert!(is_control_block(came.as_ref()), "{came:?}"),
            }
        }
    }
}

/// Access bursts do not say whose they are: the network knows by the block that it has reserved.
#[test]
fn bursts_in_the_reserved_block_answer_a_final_acknowledgement_and_in_another_they_do_not() {
    for (late, tbfs) in [(0, (0, 0)), (1, (0, 1))] {
        let mut bench = NetworkBench::new(config(), options(AckType::AccessBursts, AccessBurst::Bits8));
        let (slot, tfi, _) = bench.one_phase();
        bench.period(&[]);
        bench.period(&[(slot, block(tfi, 0, 0, Some(0)))]);
        bench.period(&[]);
        let Some(DownBlock::Control { rrbp: Some(rrbp), .. }) = bench.heard(slot) else { panic!("no poll") };
        for _ in 0..2 + rrbp + late {
            bench.period(&[]);
        }
        bench.period(&[(slot, UpBlock::ControlAckBursts(AccessBurst::Bits8))]);
        assert_eq!((bench.pcu.tbfs(), bench.came.len()), (tbfs, 1), "{late} blocks late");
    }
}

#[test]
fn a_cell_asks_in_its_polls_for_the_form_that_it_broadcasts() {
    let network = NetworkConfig { confirm_assignment: true, ..config() };
    for form in [AckType::AccessBursts, AckType::ControlBlock] {
        let mut bench = NetworkBench::new(network, options(form, AccessBurst::Bits8));
        bench.request(1, 100);
        let Common::Downlink { slot, tfi, .. } = bench.common() else { panic!("no TBF") };
        let (message, rrbp) = loop {
            bench.period(&[]);
            if let Some(DownBlock::Control { message, rrbp: Some(rrbp), .. }) = bench.heard(slot) {
                break (*message, *rrbp);
            }
        };
        assert_eq!(message, Down::Polling { to: To::DownlinkTfi(tfi), answer: form });
        (0..2 + rrbp).for_each(|_| bench.period(&[]));
        bench.period(&[(slot, UpBlock::ControlAckBursts(AccessBurst::Bits8))]);
        bench.period(&[]);
        assert!(matches!(bench.heard(slot), Some(DownBlock::Data { .. })), "it is confirmed: data go");
    }
}

/// Whole TBFs over a channel that loses: nothing but the acknowledgements differs, and each of them is bursts.
#[test]
fn ll_pdus_arrive_in_a_cell_that_wants_bursts() {
    for (seed, bits) in (0..20).flat_map(|seed| BOTH.map(|bits| (seed, bits))) {
        let network = NetworkConfig { confirm_assignment: seed % 2 == 0, ..NetworkConfig::new(PDCHS, Cs2) };
        let options = options(AckType::AccessBursts, bits);
        let link = Link::with_rate(if seed < 4 { 0.0 } else { 0.1 });
        let mut world = World::new(&Plan { seed, mobiles: 3, network, options, link, ..Plan::default() });
        world.cell.set_tap(Some(Tap::new(Scope::Both, 1, None)));
        let mut sent = Vec::new();
        let mut seen = Vec::new();
        for name in 0..30 {
            let pdu = octets(name, 200);
            world.up(name % 3, &pdu);
            world.down(name % 3, &pdu);
            world.pass(Duration::from_millis(700));
            sent.push((name % 3, pdu));
            seen.extend(core::iter::from_fn(|| world.cell.tap_mut()?.pop()));
        }
        world.settle_of(seed);
        seen.extend(core::iter::from_fn(|| world.cell.tap_mut()?.pop()));
        for direction in [Direction::Up, Direction::Down] {
            let mut came = world.arrived(direction);
            came.sort();
            sent.sort();
            assert_eq!(came, sent, "seed {seed}");
        }
        let is_answer =
            |octets: &[u8]| UpBlock::parse(octets).ok().flatten().is_some_and(|block| block.is_control_ack());
        let answers: Vec<&[u8]> = seen
            .iter()
            .filter(|sighting| (sighting.interface, sighting.kind) == (Interface::Um, Kind::UplinkControl))
            .map(|sighting| &sighting.octets[..])
            .filter(|octets| is_answer(octets))
            .collect();
        assert!(answers.len() >= 10 && answers.iter().all(|octets| octets.len() <= 2), "seed {seed}");
    }
}

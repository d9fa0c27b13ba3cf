//! What a radio block costs in virtual time: cells with four PDCHs, half of their blocks used, both sides of the air.
//!
//! `cargo bench -p gannet-proto --bench rlcmac` runs ten minutes of one cell with 25 mobiles and prints the time for a block
//! period of four PDCHs, uplink and downlink.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use gannet_machine::Surroundings;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_proto::rlcmac::air::{Cell, Direction, Mobile};
use gannet_proto::rlcmac::channel::{Capture, Link, Profile};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::mobile::{Mac, MobileConfig};
use gannet_proto::rlcmac::network::Pcu;
use gannet_proto::rlcmac::network::fair::Class;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::coding::CodingScheme;

const MOBILES: u32 = 25;
const SPAN: Duration = Duration::from_secs(600);

/// Gives each mobile an LL-PDU down and a short one up, in turn, so often that half of the blocks are used.
fn offer(cell: &mut Cell, mobiles: &mut [Mobile], around: &Surroundings<Quiet>, turn: u32) {
    let mobile = turn % MOBILES;
    let tlli = Tlli(0xc000_0000 | mobile);
    let octets: Vec<u8> = turn.to_be_bytes().into_iter().cycle().take(500).collect();
    let pdu = |octets| {
        let frame = around.frames.copy_of(octets).unwrap();
        LlPdu { mobile, tlli, expires: Instant(u64::MAX), priority: RadioPriority::Four, frame }
    };
    // What finds no room is not offered again.
    drop(cell.pcu_mut().request(pdu(&octets), Class::Weighted(8), true));
    let state = mobiles.get_mut(mobile as usize).unwrap();
    drop(state.mac.request(around.now, pdu(octets.get(..100).unwrap())));
    cell.touched(around.now, Some(mobile), mobiles);
}

fn main() {
    let network = NetworkConfig::new(0b1111_0000, CodingScheme::Cs2);
    let options = CellOptions::default();
    let mut cell = Cell::new(Pcu::new(network, options), Capture::None);
    let link = Link::new(Profile::Tu50, 20.0, None);
    let mobile = |at| {
        cell.enter(at);
        let mut mac = Mac::new(MobileConfig::default(), options);
        mac.assign_tlli(Tlli(0xc000_0000 | at));
        Mobile { mac, downlink: link.clone(), uplink: link.clone() }
    };
    let mut mobiles: Vec<Mobile> = (0..MOBILES).map(mobile).collect();
    let mut around = Surroundings::new(1, 4096, Quiet::default());
    let (mut turn, mut offered, mut arrived) = (0, Instant::ZERO, [0_u64; 2]);
    let begin = std::time::Instant::now();
    while around.now < Instant::ZERO + SPAN {
        around.now = cell.next_event().unwrap_or(offered).min(offered);
        if around.now == offered {
            offer(&mut cell, &mut mobiles, &around, turn);
            turn += 1;
            offered += Duration::from_millis(180);
        }
        cell.run(&mut around.context(), &mut mobiles);
        for direction in [Direction::Down, Direction::Up] {
            while cell.pop_fate(direction).is_some() {
                *arrived.get_mut(direction as usize).unwrap() += 1;
            }
        }
    }
    let took = begin.elapsed();
    let periods = SPAN.as_millis() / 20;
    let counts = cell.pcu().counts();
    let (down, up) = (counts.downlink(), counts.uplink_data + counts.uplink_control + counts.uplink_dummy);
    println!(
        "{:.1} µs for a block period, {:.2} µs for a block of the time",
        took.as_secs_f64() * 1e6 / periods as f64,
        took.as_secs_f64() * 1e6 / (periods * 8) as f64
    );
    println!(
        "used: {:.0} % down, {:.0} % up; LL-PDUs {arrived:?}",
        down as f64 / (periods * 4) as f64 * 100.0,
        up as f64 / (periods * 4) as f64 * 100.0
    );
}

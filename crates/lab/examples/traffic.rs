//! How fast generator and sink are, without an SGSN: frames go to whatever receives at the other end of Gn.
//!
//! Arguments: devices on Gn and Gb, flows, packets a second, seconds, octets, `fixed`, `exponential` or `burst`, line rate, microseconds of a turn,
//! frames of a batch.

use core::net::Ipv4Addr;
use gannet_lab::load::traffic::{CellSpec, FlowSpec, Pacing, Side, Spacing, Traffic, TrafficConfig};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let text =
        |index: usize, default: &str| arguments.get(index).cloned().unwrap_or_else(|| default.to_owned());
    let side = |device: String, network: u8| Side {
        device,
        local: Ipv4Addr::new(10, 99, network, 1),
        peer: Ipv4Addr::new(10, 99, network, 2),
        peer_mac: None,
    };
    let mut config = TrafficConfig::new(side(text(1, "gn0"), 1), side(text(2, "gb0"), 2));
    let flows: u32 = text(3, "10000").parse()?;
    let pps: f64 = text(4, "1000000").parse()?;
    let seconds: f64 = text(5, "2").parse()?;
    let size: u16 = text(6, "378").parse()?;
    let mode = text(7, "fixed");
    config.line_pps = text(8, "3500000").parse()?;
    config.turn = Duration::from_micros(text(9, "1000").parse()?);
    config.batch = text(10, "").parse().ok();
    config.cells =
        (0..400).map(|cell| CellSpec { bvci: 2 + cell, port: 22_000, identifier: [0; 8] }).collect();
    config.flows = (0..flows)
        .map(|user| {
            let address = Ipv4Addr::from_bits(0x0a00_0002 + user);
            let flow =
                FlowSpec::down(user + 1, 0xc000_0000 | user, user % 400, address, pps / f64::from(flows));
            let spacing = if mode == "fixed" { Spacing::Fixed } else { Spacing::Exponential };
            FlowSpec { size, spacing, ..flow }
        })
        .collect();
    if mode == "burst" {
        config.pacing = Pacing::Burst(Duration::from_millis(10));
    }
    let mut traffic = Traffic::new(config)?;
    println!("receives here: {}", traffic.receives_here());
    for _ in 0..3 {
        let mut turns = 0;
        let result = traffic.run(Duration::from_secs_f64(seconds), &mut |_, _| turns += 1)?;
        let all = |what: fn(&gannet_lab::load::traffic::GroupResult) -> u64| result.total(what);
        println!(
            "offered {:.0}/s, refused {} ({:.4} %), delivered {:.0}/s, slip mean {} max {} us, calls {}, pause max {:?}, drained {:?}, unmarked {}, passed {}",
            all(|group| group.offered) as f64 / seconds,
            result.refused(),
            result.refused() as f64 * 100.0 / (all(|group| group.offered) as f64).max(1.0),
            all(|group| group.delivered) as f64 / seconds,
            result.groups.first().map_or(0, |group| group.slip_mean_ns) / 1000,
            result.groups.first().map_or(0, |group| group.slip_max_ns) / 1000,
            result.calls,
            result.pause_max,
            result.drained,
            result.unmarked,
            result.passed,
        );
        for group in &result.groups {
            println!("{}: {:?}", group.name, group.latency);
        }
    }
    Ok(())
}

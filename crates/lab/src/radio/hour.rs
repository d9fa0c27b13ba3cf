//! Experiment `radio-hour`: how long an hour of eight cells takes on one core.
//!
//! Eight cells with four PDCHs each have 200 mobiles, which get packets of 1500 octets and send some of 200 at random times, so that
//! half of the downlink blocks are used. What it takes is wall-clock time, and depends on the machine.

use super::airtime::{BLOCKS_PER_S, last_slots, radio};
use super::packet::ipv4;
use super::world::{HOST, Setup, World};
use super::{as_f64, conserved, verdict};
use crate::report::{Cell, Options, Report, Size, at_least, at_most};
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_sim::queue::EventQueue;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;

const CELLS: u16 = 8;
const PDCHS: u32 = 4;
const MOBILES: u32 = 200;
const PROTOCOL: u8 = 253;
/// From one exchange of a mobile to the next, on the average.
const MEAN: Duration = Duration::from_millis(15_000);
const DOWN_OCTETS: usize = 1500;
const UP_OCTETS: usize = 200;
/// What it may take, in seconds for an hour.
const MOST_S: f64 = 30.0;
const HOUR_S: f64 = 3600.0;

const fn span(size: Size) -> Duration {
    Duration::from_secs(match size {
        Size::Quick => 60,
        Size::Normal | Size::Full => 3600,
    })
}

/// Until the next exchange: exponential.
fn gap(rng: &mut Rng) -> Duration {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some minutes")]
    let ns = (-(1.0 - rng.unit()).ln() * as_f64(MEAN.0)) as u64;
    Duration(ns)
}

/// Data, control and dummy blocks downlink of all cells, and blocks that came uplink.
fn blocks(world: &World) -> (u64, u64) {
    let cells = (0..u32::from(CELLS)).map(|cell| world.probe.blocks(cell));
    cells.fold((0, 0), |(down, up), counts| {
        (down + counts.downlink(), up + counts.uplink_data + counts.uplink_control + counts.uplink_dummy)
    })
}

/// Runs the experiment.
///
/// # Errors
/// Where the world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let mut radio = radio(CodingScheme::Cs2, 3, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
    radio.network.pdchs = last_slots(PDCHS);
    let one = Setup::one_cell(radio, MOBILES, 1520, options.seed);
    let mut world = World::new(&Setup { cells: CELLS, ..one })?;
    let mut rng = Rng::seeded(options.seed ^ 0x4042);
    let mut due = EventQueue::default();
    (0..MOBILES).for_each(|mobile| due.push(world.gprs.now + gap(&mut rng), mobile));
    let (down_before, up_before) = blocks(&world);
    let (begun, end) = (std::time::Instant::now(), world.gprs.now + span(options.size));
    while let Some(next) = due.next().filter(|next| *next < end) {
        world.run_until(next);
        world.others.clear();
        while let Some(mobile) = due.pop_due(world.gprs.now) {
            due.push(world.gprs.now + gap(&mut rng), mobile);
            let Some(address) = world.address(mobile) else { continue };
            world.host_sends(&ipv4(HOST, address, PROTOCOL, &[0x5a; DOWN_OCTETS - 20]));
            world.mobile_sends(mobile, &ipv4(address, HOST, PROTOCOL, &[0xa5; UP_OCTETS - 20]));
        }
    }
    world.run_until(end);
    let took_s = begun.elapsed().as_secs_f64();
    let (down_after, up_after) = blocks(&world);
    let span_s = span(options.size).as_secs_f64();
    let all = BLOCKS_PER_S * span_s * f64::from(PDCHS) * f64::from(CELLS);
    let (down, up) = (as_f64(down_after - down_before), as_f64(up_after - up_before));
    let faults = world.close(Duration::from_secs(60));
    let hour_s = took_s * HOUR_S / span_s;
    let mut report = Report::here("radio-hour", options);
    report.parameter("cells", format!("{CELLS} with {PDCHS} PDCHs each, CS-2, {MOBILES} mobiles"));
    report.parameter("span", format!("{span_s:.0} s of virtual time"));
    report.cells.push(Cell::new(
        [("span_s", json!(span_s))],
        [
            ("wall_clock_s".to_owned(), json!(took_s)),
            ("wall_clock_s_per_hour".to_owned(), json!(hour_s)),
            ("downlink_blocks_used".to_owned(), json!(down / all)),
            ("uplink_blocks_used".to_owned(), json!(up / all)),
            ("ns_per_block".to_owned(), json!(took_s * 1e9 / (down + up))),
        ],
    ));
    let used = down / all;
    report.verdicts = vec![
        verdict(
            "a virtual hour on one core",
            "Wall-clock time of the run, for 3600 s of virtual time.",
            format!("{hour_s:.1} s"),
            format!("< {MOST_S:.0} s"),
            at_most(hour_s, MOST_S),
        ),
        verdict(
            "downlink blocks used",
            "Blocks with data, control or a USF, of all blocks of the PDCHs.",
            format!("{used:.2}"),
            ">= 0.45".to_owned(),
            at_least(used, 0.45),
        ),
        conserved(&faults),
    ];
    report.remarks = vec![format!(
        "{:.2} s for {span_s:.0} s of virtual time; {:.0} blocks downlink ({used:.2}), {:.0} uplink ({:.2}); {:.0} ns a block",
        took_s,
        down,
        up,
        up / all,
        took_s * 1e9 / (down + up)
    )];
    Ok(report)
}

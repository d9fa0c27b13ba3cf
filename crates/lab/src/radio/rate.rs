//! Experiment `radio-rate`: what TCP gets of one mobile's timeslots, and where the rest of the airtime went.
//!
//! One connection sends without end in packets of 1500 octets. LLC is unacknowledged, RLC acknowledged, and the air loses nothing.
//! Counters are read after the connection has filled its window and again when the span is over.

use super::airtime::{Airtime, BLOCKS_PER_S, HEADS, Snapshot, on_air, radio};
use super::world::{Setup, World};
use super::{N_PDU_OCTETS, SEGMENT_OCTETS, as_f64, conserved, tcp, verdict};
use crate::figure::{Curve, Figure, Panel, Point, Style};
use crate::report::{Cell, Options, Report, Size, Verdict, at_least, least};
use gannet_machine::time::Duration;
use gannet_node::bss::radio::{RlcMacConfig, Way};
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::json;
use std::fmt::Write as _;

/// Until the window is full and the queues are as long as they will be.
const WARM_UP: Duration = Duration::from_secs(60);
/// For what is on its way at the end.
const COOL_DOWN: Duration = Duration::from_secs(70);
/// Of the receiver: more than the path holds.
const WINDOW_OCTETS: u32 = 16_384;
/// What TCP must get of the ceiling that is left by the control blocks.
const LEAST: f64 = 0.97;

/// Where a run is on the axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    coding: CodingScheme,
    way: Way,
    slots: u32,
    n201_u: u16,
}

/// What was measured there.
#[derive(Debug)]
struct Measured {
    place: Place,
    class: u8,
    airtime: Airtime,
    /// Blocks a second in which something was sent the other way.
    back_per_s: f64,
    faults: Vec<String>,
}

const fn span(size: Size) -> Duration {
    Duration::from_millis(match size {
        Size::Quick => 240_000,
        Size::Normal => 1_200_000,
        Size::Full => 7_200_000,
    })
}

const fn way_name(way: Way) -> &'static str {
    match way {
        Way::Downlink => "down",
        Way::Uplink => "up",
    }
}

impl Place {
    /// The radio for it; `None` where no multislot class permits it.
    fn radio(&self) -> Option<RlcMacConfig> {
        match self.way {
            Way::Downlink => radio(self.coding, self.slots, 1),
            Way::Uplink => radio(self.coding, 1, self.slots),
        }
    }

    /// Bits a second of RLC data fields.
    fn payload(&self) -> f64 {
        as_f64(self.coding.bits_per_second() * u64::from(self.slots))
    }

    /// The same less headers.
    fn ceiling(&self) -> f64 {
        self.payload() * as_f64(SEGMENT_OCTETS) / as_f64(on_air(N_PDU_OCTETS, self.n201_u.into()) as u64)
    }

    fn all(size: Size) -> Vec<Self> {
        let (codings, slots): (&[CodingScheme], &[u32]) = match size {
            Size::Quick => (&[CodingScheme::Cs2], &[1, 3]),
            Size::Normal | Size::Full => (&CodingScheme::ALL, &[1, 2, 3, 4]),
        };
        let mut all = Vec::new();
        for way in [Way::Downlink, Way::Uplink] {
            for n201_u in [500, 1520] {
                for coding in codings {
                    all.extend(slots.iter().map(|slots| Self {
                        coding: *coding,
                        way,
                        slots: *slots,
                        n201_u,
                    }));
                }
            }
        }
        all
    }
}

fn measure(place: Place, radio: RlcMacConfig, options: &Options) -> Result<Measured, String> {
    let mut world = World::new(&Setup::one_cell(radio, 1, place.n201_u, options.seed))?;
    world.connect(0, place.way, &tcp(WINDOW_OCTETS));
    world.run_until(world.gprs.now + WARM_UP);
    let before = Snapshot::of(&world, 1);
    world.run_until(world.gprs.now + span(options.size));
    let after = Snapshot::of(&world, 1);
    let airtime = Airtime::between(&before, &after, place.way, place.coding, place.slots);
    let back = match place.way {
        Way::Downlink => Way::Uplink,
        Way::Uplink => Way::Downlink,
    };
    let other = Airtime::between(&before, &after, back, place.coding, 1);
    let back_per_s = (1.0 - other.idle) * BLOCKS_PER_S;
    let faults = world.close(COOL_DOWN);
    Ok(Measured { place, class: radio.mobile.multislot_class, airtime, back_per_s, faults })
}

impl Measured {
    /// TCP's rate by the ceiling that the control blocks leave.
    fn of_ceiling(&self) -> f64 {
        self.airtime.rate_bit_per_s / (self.place.ceiling() * (1.0 - self.airtime.control))
    }

    fn cell(&self) -> Cell {
        let Place { coding, way, slots, n201_u } = self.place;
        let own = [
            ("multislot_class".to_owned(), json!(self.class)),
            ("ceiling_bit_per_s".to_owned(), json!(self.place.ceiling())),
            ("of_ceiling_less_control".to_owned(), json!(self.of_ceiling())),
            ("blocks_back_per_s".to_owned(), json!(self.back_per_s)),
        ];
        Cell::new(
            [
                ("coding", json!(coding.to_string())),
                ("direction", json!(way_name(way))),
                ("slots", json!(slots)),
                ("n201_u", json!(n201_u)),
            ],
            own.into_iter().chain(self.airtime.metrics()),
        )
    }
}

/// Runs the experiment.
///
/// # Errors
/// Where a world cannot be set up.
pub fn run(options: &Options) -> Result<Report, String> {
    let started = std::time::Instant::now();
    let mut all = Vec::new();
    let mut without = Vec::new();
    for place in Place::all(options.size) {
        match place.radio() {
            Some(radio) => {
                if options.progress {
                    eprintln!(
                        "{}, {} {}, N201-U {}",
                        place.coding,
                        place.slots,
                        way_name(place.way),
                        place.n201_u
                    );
                }
                all.push(measure(place, radio, options)?);
            }
            None => without.push(place),
        }
    }
    let mut report = Report::simulated("radio-rate", options);
    report.parameter(
        "TCP",
        format!("linux-2.4.2 with a window of {WINDOW_OCTETS} octets, packets of {N_PDU_OCTETS} octets"),
    );
    report.parameter(
        "measured",
        format!("{:.0} s of each, after {:.0} s", span(options.size).as_secs_f64(), WARM_UP.as_secs_f64()),
    );
    report.parameter(
        "timeslots",
        "so many of the direction, one of the other; the lowest multislot class that permits them",
    );
    report.cells = all.iter().map(Measured::cell).collect();
    report.verdicts = verdicts(&all);
    report.figures = vec![drawing(&all)];
    report.remarks = vec![
        table(&all),
        no_class(&without),
        format!("{:.1} s of wall-clock time", started.elapsed().as_secs_f64()),
    ];
    Ok(report)
}

fn no_class(places: &[Place]) -> String {
    let mut slots: Vec<u32> = places.iter().map(|place| place.slots).collect();
    slots.sort_unstable();
    slots.dedup();
    let slots: Vec<String> = slots.iter().map(u32::to_string).collect();
    format!("No class of 1 to 12 permits these numbers of uplink timeslots: {}", slots.join(", "))
}

fn table(all: &[Measured]) -> String {
    let mut text = format!(
        "| scheme | slots | N201-U | class | TCP, kbit/s | ceiling | of ceiling less control | {HEADS} | blocks/s back |\n|---|{}\n",
        "---|".repeat(15)
    );
    for of in all {
        let Place { coding, way, slots, n201_u } = of.place;
        let _ = writeln!(
            text,
            "| {coding} | {slots} {} | {n201_u} | {} | {:.2} | {:.2} | {:.3} | {} | {:.1} |",
            way_name(way),
            of.class,
            of.airtime.rate_bit_per_s / 1000.0,
            of.place.ceiling() / 1000.0,
            of.of_ceiling(),
            of.airtime.row(),
            of.back_per_s,
        );
    }
    text
}

fn verdicts(all: &[Measured]) -> Vec<Verdict> {
    let mut rows = Vec::new();
    for n201_u in [500, 1520] {
        let place = Place { coding: CodingScheme::Cs2, way: Way::Downlink, slots: 3, n201_u };
        let of = all.iter().find(|of| of.place == place);
        let ratio = of.map_or(f64::NAN, Measured::of_ceiling);
        let ours = of.map_or_else(
            || "NaN".to_owned(),
            |of| {
                format!(
                    "{:.3}: {:.2} kbit/s of {:.2} and {:.1} % control",
                    ratio,
                    of.airtime.rate_bit_per_s / 1000.0,
                    place.ceiling() / 1000.0,
                    of.airtime.control * 100.0
                )
            },
        );
        rows.push(verdict(
            &format!("CS-2, 3 + 1 timeslots, N201-U {n201_u}"),
            "Rate of TCP, by the payload of CS-2 less headers and less the downlink blocks that were spent on control.",
            ours,
            format!(">= {LEAST}"),
            at_least(ratio, LEAST),
        ));
    }
    for way in [Way::Downlink, Way::Uplink] {
        let ratio = least(all.iter().filter(|of| of.place.way == way).map(Measured::of_ceiling));
        rows.push(verdict(
            &format!("the lowest of all, {way}", way = way_name(way)),
            "The same ratio, at the coding scheme, number of timeslots and N201-U where it is lowest.",
            format!("{ratio:.3}"),
            ">= 0.9".to_owned(),
            at_least(ratio, 0.9),
        ));
    }
    let faults: Vec<String> = all.iter().flat_map(|of| of.faults.clone()).collect();
    rows.push(conserved(&faults));
    rows
}

/// Rate by timeslots with N201-U of 500, beside the ceiling.
fn drawing(all: &[Measured]) -> Figure {
    let panel = |way: Way, title: &str| {
        let mut curves = Vec::new();
        for (coding, colour) in CodingScheme::ALL.into_iter().zip(0..) {
            let of = |of: &&Measured| {
                let place = of.place;
                place.way == way && place.coding == coding && place.n201_u == 500
            };
            let points = |value: &dyn Fn(&Measured) -> f64| -> Vec<Point> {
                let at = |of: &Measured| Point::new(f64::from(of.place.slots), value(of) / 1000.0);
                all.iter().filter(of).map(at).collect()
            };
            let curve = |name: String, style, points| Curve { name, style, colour, points };
            curves.push(curve(coding.to_string(), Style::Measured, points(&|of| of.airtime.rate_bit_per_s)));
        }
        Panel {
            title: title.to_owned(),
            x: "timeslots".to_owned(),
            y: "TCP, kbit/s".to_owned(),
            curves,
            ..Panel::default()
        }
    };
    let panels = vec![panel(Way::Downlink, "Downlink"), panel(Way::Uplink, "Uplink")];
    let caption = "What one TCP connection gets by timeslots and coding scheme, with N201-U of 500 octets and packets of 1500, \
                   without losses on the air. One run of each.";
    Figure::new("radio-rate", caption, panels)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_node::sgsn::PduLifetimes;

    /// A download with a window that fills the SGSN's queues, with the PDU lifetimes that the SGSN has by default: the backlog stays with the
    /// SGSN, and at the PCU nothing outlives itself.
    #[test]
    fn by_measured_rates_no_ll_pdu_outlives_itself_at_the_pcu() {
        let radio = radio(CodingScheme::Cs2, 3, 1).unwrap();
        let setup = Setup { lifetimes: PduLifetimes::default(), ..Setup::one_cell(radio, 1, 500, 7) };
        let mut world = World::new(&setup).unwrap();
        world.connect(0, Way::Downlink, &tcp(60_000));
        let (mut parts, mut sum, mut most) = (0, 0.0, 0.0_f64);
        for _ in 0..900 {
            world.run_until(world.gprs.now + Duration::from_millis(200));
            let drain = world.probe.radio().drain(world.gprs.now, 0).unwrap().cell;
            let bucket = as_f64(drain.rate_bit_per_s) / 8.0 * setup.bucket_time.as_secs_f64();
            let of_bucket = as_f64(drain.waiting_octets) / bucket;
            (parts, sum, most) = (parts + 1, sum + of_bucket, most.max(of_bucket));
        }
        let ledger = world.probe.ledger(Way::Downlink);
        assert!(ledger.arrived > 1000, "{ledger:?}");
        assert_eq!((ledger.lifetime, ledger.refused), (0, 0), "{ledger:?}");
        let mean = sum / f64::from(parts);
        assert!(
            (0.3..1.2).contains(&mean) && most < 2.0,
            "{mean:.2} buckets on the average, {most:.2} at most"
        );
        assert_eq!(world.close(COOL_DOWN), Vec::<String>::new());
    }
}

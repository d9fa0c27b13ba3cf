//! Signals of drives: a straight road along a row of cells, and a city that a seed makes.
//!
//! Levels follow the distance by Hata's formula for 900 MHz, a base station at 30 m and a mobile at 1.5 m (COST 231, chapter 4). The city adds a
//! shadow with a normal distribution in dB. Its correlation falls with the distance driven (Gudmundson 1991). Distances are metres.

use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_proto::reselection::Broadcast;
use gannet_proto::reselection::criteria::SelectionParameters;
use gannet_proto::reselection::signal::{Point, Signal};
use gannet_wire::id::{CellId, Plmn, Rai};

/// What a base station sends, antennas included, in dBm.
const SENT_DBM: f64 = 50.0;
/// Hata's loss at 1 km, in dB, and its growth with ten times the distance.
const LOSS_1KM_DB: f64 = 126.4;
const LOSS_DECADE_DB: f64 = 35.2;
/// Below it a cell is not received.
const SENSITIVITY_DBM: f64 = -110.0;
/// Standard deviation of the shadow, and the distance in which its correlation falls to 1/e.
const SHADOW_DB: f64 = 6.0;
const SHADOW_M: f64 = 50.0;
/// From one point of a signal to the next.
const STEP: Duration = Duration::from_millis(1000);

/// Cells with these routing area codes, each of which names all others as neighbours.
#[must_use]
pub fn cells(racs: &[u8]) -> Vec<Broadcast> {
    let count = u16::try_from(racs.len()).unwrap_or(u16::MAX);
    let cell = |(rac, index): (&u8, u16)| {
        let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: *rac };
        let neighbours = (0..count).filter(|other| *other != index).collect();
        let id = CellId { rai, ci: 100 + index };
        Broadcast { id, selection: SelectionParameters::default(), neighbours }
    };
    racs.iter().zip(0..count).map(cell).collect()
}

/// The level at a distance, in dBm, with a shadow in dB.
fn level_dbm(distance_m: f64, shadow_db: f64) -> Option<i16> {
    let kilometres = (distance_m / 1000.0).max(0.03);
    let level = SENT_DBM - LOSS_1KM_DB - LOSS_DECADE_DB * kilometres.log10() + shadow_db;
    (level >= SENSITIVITY_DBM).then(|| whole(level))
}

#[expect(clippy::cast_possible_truncation, reason = "it is clamped")]
fn whole(level_dbm: f64) -> i16 {
    level_dbm.round().clamp(-120.0, 0.0) as i16
}

fn points(seconds: u32, mut levels_at: impl FnMut(f64) -> Vec<Option<i16>>) -> Signal {
    let point =
        |second: u32| Point { at: STEP * u64::from(second), levels_dbm: levels_at(f64::from(second)) };
    Signal::new((0..=seconds).map(point).collect())
}

/// Places of a row of cells, so far from each other that a mobile at this speed changes cells each 40 to 70 s.
#[must_use]
pub fn sites_m(seed: u64, cells: u16, metres_per_s: f64) -> Vec<f64> {
    let mut rng = Rng::seeded(seed ^ 0x5e1e_c700);
    let mut place = 0.0;
    (0..cells)
        .map(|_| {
            let next = place + metres_per_s * (40.0 + 30.0 * rng.unit());
            core::mem::replace(&mut place, next)
        })
        .collect()
}

/// A row of cells at these places, along which a mobile drives from the first to the last after it has stood at the first for `stands`
/// seconds. There is no shadow.
#[must_use]
pub fn road(sites_m: &[f64], metres_per_s: f64, stands: u32) -> Signal {
    let length = sites_m.last().copied().unwrap_or(0.0);
    let seconds = stands.saturating_add(seconds_of(length / metres_per_s));
    points(seconds, |second| {
        let place = ((second - f64::from(stands)).max(0.0) * metres_per_s).min(length);
        sites_m.iter().map(|site| level_dbm((place - site).abs(), 0.0)).collect()
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is clamped")]
fn seconds_of(seconds: f64) -> u32 {
    seconds.ceil().clamp(0.0, 1e6) as u32
}

/// A city of side × side cells on a grid that the seed bends, and a way through it: from corner to corner, turning at points that the
/// seed chooses.
#[must_use]
pub fn city(seed: u64, side: u16, spacing_m: f64, metres_per_s: f64, (stands, drives): (u32, u32)) -> Signal {
    let mut rng = Rng::seeded(seed);
    let bend = |rng: &mut Rng, at: u16| (f64::from(at) + 0.4 * (rng.unit() - 0.5)) * spacing_m;
    let mut sites = Vec::new();
    for row in 0..side {
        for column in 0..side {
            sites.push((bend(&mut rng, column), bend(&mut rng, row)));
        }
    }
    let extent = f64::from(side.saturating_sub(1)) * spacing_m;
    let mut shadows: Vec<f64> = sites.iter().map(|_| SHADOW_DB * normal(&mut rng)).collect();
    let (mut place, mut target) = ((0.0, 0.0), (extent, extent));
    points(stands.saturating_add(drives), |second| {
        if second > f64::from(stands) {
            let (x, y) = (target.0 - place.0, target.1 - place.1);
            let rest = f64::hypot(x, y);
            if rest <= metres_per_s {
                place = target;
                target = (rng.unit() * extent, rng.unit() * extent);
            } else {
                place = (place.0 + x / rest * metres_per_s, place.1 + y / rest * metres_per_s);
            }
            let kept = (-metres_per_s / SHADOW_M).exp();
            for shadow in &mut shadows {
                *shadow = kept * *shadow + (1.0 - kept * kept).sqrt() * SHADOW_DB * normal(&mut rng);
            }
        }
        let level = |(site, shadow): (&(f64, f64), &f64)| {
            level_dbm(f64::hypot(site.0 - place.0, site.1 - place.1), *shadow)
        };
        sites.iter().zip(&shadows).map(level).collect()
    })
}

/// A normal distribution of deviation 1 (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.unit()).ln()).sqrt();
    radius * (core::f64::consts::TAU * rng.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_road_passes_each_cell_and_a_city_is_that_of_its_seed() {
        let road = road(&[0.0, 600.0, 1200.0], 10.0, 20);
        assert_eq!(road.end(), Duration::from_secs(140));
        let strongest = |second| {
            (0..3_u16).max_by_key(|cell| road.level_dbm(Duration::from_secs(second), *cell)).unwrap()
        };
        assert_eq!([0, 20, 80, 140].map(strongest), [0, 0, 1, 2]);
        let towards = |second| road.level_dbm(Duration::from_secs(second), 1).unwrap();
        assert!(towards(20) < towards(50) && towards(50) < towards(80));
        let sites = sites_m(3, 9, 10.0);
        let gaps: Vec<f64> = sites.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.len() == 8 && gaps.iter().all(|gap| (400.0..=700.0).contains(gap)), "{gaps:?}");
        let city = |seed| super::city(seed, 3, 600.0, 10.0, (10, 300));
        assert_eq!(city(1), city(1));
        assert_ne!(city(1), city(2));
        let changes = (0..310).map(|second| {
            (0..9_u16).max_by_key(|cell| city(1).level_dbm(Duration::from_secs(second), *cell)).unwrap()
        });
        let cells: std::collections::BTreeSet<u16> = changes.collect();
        assert!(cells.len() >= 3, "{cells:?}");
    }
}

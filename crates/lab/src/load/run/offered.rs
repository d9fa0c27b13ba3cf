//! Whether a step offered what was asked, and where N-PDUs were lost.

use crate::counters::{moved, parse_snmp, read_counters};
use crate::load::Load;
use crate::load::traffic::{FlowSpec, GroupResult, Loss, Spacing, StepResult};
use crate::losses::{Place, place};
use gannet_machine::drops::Drop;
use gannet_ops::vty;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// The largest share of a step for which the generator may be away without a warning.
pub const AWAY_MAX: f64 = 0.01;
/// The least part of what was asked that is offered without a warning.
const OFFERED_MIN: f64 = 0.99;
/// Standard deviations by which chance alone may offer less.
const DEVIATIONS: f64 = 4.0;

/// N-PDUs a second that the rates of flows ask for, by group, at factor 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Asked {
    pps: BTreeMap<u8, f64>,
    /// What chance may add or take away is the root of this for each second, and of `flows` for a step.
    random_pps: f64,
    flows: f64,
}

impl Asked {
    /// That of these flows.
    pub fn of<'a>(flows: impl Iterator<Item = &'a FlowSpec>) -> Self {
        let mut asked = Self::default();
        for flow in flows.filter(|flow| flow.gap_ns().is_some()) {
            let pps = flow.rate_pps * flow.excess;
            *asked.pps.entry(flow.group.0).or_default() += pps;
            asked.flows += 1.0;
            if flow.spacing == Spacing::Exponential {
                asked.random_pps += pps;
            }
        }
        asked
    }

    /// N-PDUs a second of a group at a multiple of all rates.
    #[must_use]
    pub fn pps(&self, group: u8, factor: f64) -> f64 {
        self.pps.get(&group).copied().unwrap_or(0.0) * factor
    }

    /// N-PDUs that chance alone may take away from a step of this length: a flow's first N-PDU leaves at a random time within
    /// its first gap, and exponential spacing counts as Poisson's distribution.
    fn chance(&self, factor: f64, duration: Duration) -> f64 {
        let variance = self.flows / 4.0 + self.random_pps * factor * duration.as_secs_f64();
        DEVIATIONS * variance.sqrt()
    }

    /// Enters in a step's result what was asked of it, and how much of it the generator was away. The warning says where it could not
    /// offer what was asked.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "counts of a step stay far below 2^52"
    )]
    pub fn enter(&self, factor: f64, result: &mut StepResult) -> Option<String> {
        let seconds = result.duration.as_secs_f64();
        for group in &mut result.groups {
            group.asked = (self.pps(group.group, factor) * seconds).round().max(0.0) as u64;
        }
        result.away_share = (result.paused.as_secs_f64() / seconds.max(1e-9)).min(1.0);
        let (asked, offered) = (result.total(|group| group.asked), result.total(|group| group.offered));
        let least = asked as f64 * OFFERED_MIN - self.chance(factor, result.duration);
        let is_short = (offered as f64) < least;
        let is_away = result.away_share > AWAY_MAX;
        (is_short || is_away).then(|| {
            let why = if is_away {
                format!("it was away {:.1} % of the time", result.away_share * 100.0)
            } else {
                "it cannot make more on this machine".to_owned()
            };
            format!(
                "the generator offered {offered} of the {asked} N-PDUs that were asked ({:.1} %): {why}. This step shows \
                 nothing about the SGSN at the load that was asked.",
                offered as f64 * 100.0 / asked.max(1) as f64,
            )
        })
    }
}

/// What is counted beside the generator, at one moment.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    own: Vec<(Drop, u64)>,
    socket_full: u64,
    /// `None` where nobody has said where the SGSN's VTY is.
    sgsn: Option<BTreeMap<String, u64>>,
}

impl Counters {
    /// Reads them.
    ///
    /// # Errors
    /// Where the SGSN's VTY does not answer.
    pub fn read(load: &mut Load, vty: Option<SocketAddr>) -> Result<Self, String> {
        let snmp = std::fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
        let full = parse_snmp(&snmp).into_iter().find(|(name, _)| name == "udp.RcvbufErrors");
        let ask = |address| {
            let answer = vty::client::run(address, "show counters");
            answer.map_err(|error| format!("the SGSN's VTY at {address} (--sgsn-vty): {error}"))
        };
        let sgsn = vty.map(ask).transpose()?.map(|answer| read_counters(&answer));
        Ok(Self { own: load.own_drops(), socket_full: full.map_or(0, |(_, count)| count), sgsn })
    }
}

/// Each place where N-PDUs of a step were lost, by its name, and last what nobody has named. `by_driver` where frames went
/// straight into the SGSN's driver.
#[must_use]
pub fn losses(result: &StepResult, by_driver: bool, before: &Counters, after: &Counters) -> Vec<Loss> {
    let lost = result.total(GroupResult::lost);
    let mut losses = Vec::new();
    let mut add = |name: &str, n_pdus: u64, meaning: &str| {
        if n_pdus > 0 {
            losses.push(Loss { name: name.to_owned(), n_pdus, meaning: meaning.to_owned() });
        }
    };
    if by_driver {
        let offered = result.total(|group| group.offered);
        let vanished = offered.saturating_sub(result.refused() + result.gn.taken + result.gb.taken);
        add("sgsn_device_ring_full", result.refused(), "the receive ring of the SGSN's device had no place");
        add(
            "sgsn_device_takes_no_frames",
            vanished,
            "a veth device takes XDP frames only where its end has an XDP program or GRO (ethtool -K DEVICE gro on)",
        );
    } else {
        for ((drop, then), (_, now)) in before.own.iter().zip(&after.own) {
            add(drop.name(), now.saturating_sub(*then), drop.sentence());
        }
        let full = after.socket_full.saturating_sub(before.socket_full);
        add(
            "own_socket_full",
            full,
            "a socket of this network namespace had no room: gannet load reads too slowly",
        );
    }
    add("damaged", result.total(|group| group.corrupt), "octets were wrong when they arrived");
    add("wrong_mobile", result.total(|group| group.wrong_mobile), "arrived at another mobile");
    if let (Some(before), Some(after)) = (&before.sgsn, &after.sgsn) {
        let moved = moved(before, after);
        for drop in Drop::ALL.iter().filter(|drop| place(**drop) != Place::Nowhere) {
            let count = moved.get(drop.name()).copied().unwrap_or(0);
            add(&format!("sgsn.{}", drop.name()), count, drop.sentence());
        }
    }
    let named: u64 = losses.iter().map(|loss| loss.n_pdus).sum();
    let meaning = if after.sgsn.is_some() {
        "no counter names them: still under way when the step ended, or lost on the links"
    } else {
        "in the SGSN or behind it: its command `show drops` names them, as --sgsn-vty does here"
    };
    let rest = lost.saturating_sub(named);
    if rest > 0 {
        losses.push(Loss {
            name: "behind_the_generator".to_owned(),
            n_pdus: rest,
            meaning: meaning.to_owned(),
        });
    }
    losses
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::traffic::{Group, Ring};
    use core::net::Ipv4Addr;

    fn flow(group: Group, rate_pps: f64, spacing: Spacing) -> FlowSpec {
        FlowSpec { group, spacing, ..FlowSpec::down(1, 2, 0, Ipv4Addr::LOCALHOST, rate_pps) }
    }

    fn step(offered: u64, paused: Duration) -> StepResult {
        let group = GroupResult { offered, delivered: offered, ..GroupResult::default() };
        StepResult { duration: Duration::from_secs(10), paused, groups: vec![group], ..StepResult::default() }
    }

    #[test]
    fn asked_and_offered_stand_side_by_side() {
        let flows: Vec<_> = (0..100).map(|_| flow(Group::GOOD, 30.0, Spacing::Fixed)).collect();
        let asked = Asked::of(flows.iter());
        assert!((asked.pps(0, 2.0) - 6000.0).abs() < 1e-9 && asked.pps(1, 1.0).abs() < 1e-9);
        let mut whole = step(30_000, Duration::from_millis(90));
        assert_eq!(asked.enter(1.0, &mut whole), None);
        assert_eq!((whole.total(|group| group.asked), whole.away_share), (30_000, 0.009));
        // A fifth, and nothing of it was lost.
        let mut fifth = step(6_000, Duration::from_secs(8));
        let warning = asked.enter(1.0, &mut fifth).unwrap();
        assert!(warning.contains("6000 of the 30000") && warning.contains("(20.0 %)"), "{warning}");
        assert!(warning.contains("away 80.0 % of the time"), "{warning}");
        // A pause that was made up for is a pause.
        assert!(asked.enter(1.0, &mut step(30_000, Duration::from_millis(110))).is_some());
        // And a generator at its end is short without one.
        let warning = asked.enter(1.0, &mut step(29_000, Duration::ZERO)).unwrap();
        assert!(warning.contains("cannot make more"), "{warning}");
        // Twice as much was asked.
        assert!(asked.enter(2.0, &mut step(30_000, Duration::ZERO)).is_some());
    }

    #[test]
    fn chance_is_no_shortfall() {
        let one = Asked::of([flow(Group::GOOD, 0.25, Spacing::Fixed)].iter());
        assert_eq!(one.enter(1.0, &mut step(2, Duration::ZERO)), None);
        let random = Asked::of([flow(Group::GOOD, 100.0, Spacing::Exponential)].iter());
        assert_eq!(random.enter(1.0, &mut step(900, Duration::ZERO)), None);
        assert!(random.enter(1.0, &mut step(800, Duration::ZERO)).is_some());
        let fixed = Asked::of([flow(Group::GOOD, 100.0, Spacing::Fixed)].iter());
        assert!(fixed.enter(1.0, &mut step(900, Duration::ZERO)).is_some());
        let silent = Asked::of([flow(Group::GOOD, 0.0, Spacing::Fixed)].iter());
        assert_eq!(silent.enter(1.0, &mut step(0, Duration::ZERO)), None);
    }

    #[test]
    fn every_loss_has_a_name() {
        let group = GroupResult {
            offered: 1000,
            delivered: 900,
            corrupt: 3,
            wrong_mobile: 2,
            ..GroupResult::default()
        };
        let (gn, gb) = (Ring { taken: 950, refused: 40 }, Ring::default());
        let result = StepResult { gn, gb, groups: vec![group], ..StepResult::default() };
        let names = |losses: &[Loss]| -> Vec<(String, u64)> {
            losses.iter().map(|loss| (loss.name.clone(), loss.n_pdus)).collect()
        };
        let named = |pairs: &[(&str, u64)]| -> Vec<(String, u64)> {
            pairs.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let none = Counters::default();
        let by_driver = losses(&result, true, &none, &none);
        let driver = [("sgsn_device_ring_full", 40), ("sgsn_device_takes_no_frames", 10)];
        let arrived = [("damaged", 3), ("wrong_mobile", 2)];
        assert_eq!(
            names(&by_driver),
            named(&[&driver[..], &arrived, &[("behind_the_generator", 45)]].concat())
        );
        let counters = |own, socket_full, dropped| Counters {
            own: vec![(Drop::RtSendQueueFull, own)],
            socket_full,
            sgsn: Some(BTreeMap::from([(Drop::FlowQueueNodeFull.name().to_owned(), dropped)])),
        };
        let through_sockets = losses(&result, false, &counters(5, 7, 1), &counters(25, 17, 61));
        let own = [(Drop::RtSendQueueFull.name(), 20), ("own_socket_full", 10)];
        let sgsn = [("sgsn.flow_queue_node_full", 60)];
        assert_eq!(
            names(&through_sockets),
            named(&[&own[..], &arrived, &sgsn, &[("behind_the_generator", 5)]].concat())
        );
        assert!(through_sockets.iter().all(|loss| !loss.meaning.is_empty()));
        let whole = StepResult { groups: vec![GroupResult::default()], ..StepResult::default() };
        assert_eq!(losses(&whole, true, &none, &none), []);
    }
}

//! The account of a step: what was offered is what was delivered, dropped under a name, or lost in a ring.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What the drivers' rings may lose, before the classifier sees it or before the sink does, of all that is offered.
pub const RING_LOSS_MAX: f64 = 1e-4;

/// The part of a step for which the machine may take a core away before the step says nothing about the SGSN: on a shared
/// machine every long one has some of it.
const AWAY_MAX: f64 = 0.02;

/// A core that is slower than this part of its usual speed says what the machine is, and not what the SGSN is.
pub const SLOW: f64 = 0.92;

/// The part of a window that is excused at most while the machine had the SGSN's core.
const EXCUSED_MAX: f64 = 0.05;

/// What the generator offers at least, of what was intended.
const OFFERED_MIN: f64 = 0.97;

/// Delays of the packets of a group, in µs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Delay {
    /// How many were measured.
    pub count: u64,
    /// Their mean.
    pub mean_us: f64,
    /// Half are below.
    pub p50_us: f64,
    /// 90 % are below.
    pub p90_us: f64,
    /// 99 % are below.
    pub p99_us: f64,
    /// The longest.
    pub max_us: f64,
}

/// What became of a group's packets.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GroupCount {
    /// Its name.
    pub name: &'static str,
    /// Entitled to, in packets/s.
    pub due_pps: f64,
    /// Offered in the window.
    pub offered: u64,
    /// Delivered in the window.
    pub delivered: u64,
    /// Read by the SGSN, which has spent its core on them, in the whole step; unknown for some candidates.
    pub read: Option<u64>,
    /// Offered in the whole step.
    pub offered_all: u64,
    /// Delivered of those.
    pub delivered_all: u64,
    /// Delays of those that were delivered since the window began.
    pub delay: Delay,
}

impl GroupCount {
    /// The share of what the group is entitled to, in the window, that it got; of what was offered where that was less.
    #[must_use]
    pub fn share(&self, window_s: f64) -> f64 {
        let due = (self.due_pps * window_s).min(to_f64(self.offered));
        if due > 0.0 { to_f64(self.delivered) / due } else { f64::NAN }
    }
}

/// Time of the SGSN's core in s.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CoreTime {
    /// Busy in whatever way, softirq included.
    pub busy_s: f64,
    /// Of that, interrupts of both kinds.
    pub interrupts_s: f64,
    /// Taken away by the machine below.
    pub stolen_s: f64,
    /// Wall-clock time of the same interval.
    pub wall_s: f64,
}

/// What a step has given.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Step {
    /// Length of the window in s, as it was.
    pub window_s: f64,
    /// What was to be offered to groups in the window, in packets/s.
    pub intended_pps: f64,
    /// By group, in the order of the offer.
    pub groups: Vec<GroupCount>,
    /// Packets for nobody that were offered.
    pub unknown: u64,
    /// Drops by name.
    pub drops: BTreeMap<String, u64>,
    /// Lost in a driver's ring, at the SGSN before a program saw them or at the sink.
    pub ring_losses: u64,
    /// Still queued when the wait for the end was over.
    pub queued: u64,
    /// Arrived at the wrong mobile, twice, or damaged.
    pub wrong: u64,
    /// The SGSN's core during the window.
    pub core: CoreTime,
    /// The machine had taken the core away from the SGSN for so long, in s of the whole step; unknown for one that sleeps.
    pub away_s: Option<f64>,
    /// The same within the window; 0 where it is unknown.
    pub away_in_window_s: f64,
    /// The same of the generator, whose schedule waited.
    pub paused_s: f64,
    /// A cache line from the SGSN's core to the generator's and back, before or after, whichever took longer.
    pub round_trip_ns: f64,
    /// The machine had put the cores farther from each other than usual.
    pub far: bool,
    /// How fast the SGSN's core was, as a part of the fastest it was seen; unknown where nobody has looked.
    pub speed: Option<f64>,
    /// That was less than usual.
    pub slow: bool,
    /// It ended early for that.
    pub given_up: bool,
    /// Every counter that was read, for the JSON.
    pub raw: BTreeMap<String, u64>,
    /// The candidate has no names for its drops: the account is not expected to close.
    pub nameless: bool,
}

fn to_f64(value: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts of a step stay far below 2^52")]
    let value = value as f64;
    value
}

impl Step {
    /// The group of this name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&GroupCount> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// Everything that was offered in the whole step.
    #[must_use]
    pub fn offered_all(&self) -> u64 {
        self.groups.iter().map(|group| group.offered_all).sum::<u64>() + self.unknown
    }

    /// Everything that was delivered of it.
    #[must_use]
    pub fn delivered_all(&self) -> u64 {
        self.groups.iter().map(|group| group.delivered_all).sum()
    }

    /// Delivered in the window, in packets/s.
    #[must_use]
    pub fn delivered_pps(&self) -> f64 {
        to_f64(self.groups.iter().map(|group| group.delivered).sum()) / self.window_s
    }

    /// Offered in the window to groups, in packets/s.
    #[must_use]
    pub fn offered_pps(&self) -> f64 {
        to_f64(self.groups.iter().map(|group| group.offered).sum()) / self.window_s
    }

    /// Packets/s that a core drops which does nothing else: by the time that the bare loop spent on dropping.
    #[must_use]
    pub fn drop_rate(&self) -> f64 {
        let raw = |name: &str| to_f64(self.raw.get(name).copied().unwrap_or(0));
        raw("dropped") / raw("dropping_ns") * 1e9
    }

    /// What the SGSN's loop spent on each N-PDU that was delivered, in ns: the time of turns in which it had something to do, from
    /// the step's beginning until nothing was under way any more. Unknown for one that sleeps.
    #[must_use]
    pub fn busy_ns_per_n_pdu(&self) -> Option<f64> {
        let busy_us = self.raw.get("loop_busy_us").copied().filter(|us| *us > 0)?;
        Some(to_f64(busy_us) * 1e3 / to_f64(self.delivered_all().max(1)))
    }

    /// What nobody has accounted for; negative where more came out than went in.
    #[must_use]
    pub fn unaccounted(&self) -> i64 {
        let named: u64 = self.drops.values().sum();
        let known = self.delivered_all() + named + self.ring_losses + self.queued;
        i64::try_from(self.offered_all()).unwrap_or(i64::MAX) - i64::try_from(known).unwrap_or(i64::MAX)
    }

    /// Length of the step in s, by what was offered before the window beside it.
    #[must_use]
    pub fn whole_s(&self) -> f64 {
        let sum = |count: &dyn Fn(&GroupCount) -> u64| to_f64(self.groups.iter().map(count).sum());
        let inside = sum(&|group| group.offered);
        if inside > 0.0 { self.window_s * sum(&|group| group.offered_all) / inside } else { self.window_s }
    }

    /// The part of what was intended that the generator could not offer: what it did offer counts, and its account closes,
    /// but no higher load says more. While its own core was away its schedule waited.
    #[must_use]
    pub fn shortfall(&self) -> Option<f64> {
        let intended = self.intended_pps * (1.0 - (self.paused_s / self.window_s).min(1.0));
        let part = self.offered_pps() / intended;
        (part < OFFERED_MIN).then_some(1.0 - part)
    }

    /// For how long the machine had taken a core away, the SGSN's or the generator's, in s of the whole step.
    #[must_use]
    pub fn longest_away_s(&self) -> f64 {
        self.away_s.unwrap_or(self.core.stolen_s).max(self.paused_s)
    }

    /// Why another step would say more, though this one's account may close: the machine was busy with something else.
    #[must_use]
    pub fn disturbed(&self) -> Option<String> {
        let worst = self.longest_away_s();
        if worst > AWAY_MAX * self.whole_s() {
            return Some(format!("the machine took a core away for {:.1} ms", worst * 1e3));
        }
        if self.far {
            return Some(format!(
                "the cores were far from each other: {:.0} ns for a round trip",
                self.round_trip_ns
            ));
        }
        let slow = self.speed.filter(|_| self.slow || self.given_up)?;
        Some(format!("the core ran at {:.0} % of its highest speed, less than usual", slow * 100.0))
    }

    /// Of what rings lost, what came while the machine had taken the SGSN's core away: nobody could have taken it.
    #[must_use]
    pub fn excused_losses(&self) -> u64 {
        let away = self.away_s.unwrap_or(self.core.stolen_s);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "packets of a step")]
        let came = (away * self.offered_pps()).max(0.0) as u64;
        self.ring_losses.min(came)
    }

    /// The part of what was offered that a ring lost.
    #[must_use]
    pub fn ring_loss(&self) -> f64 {
        to_f64(self.ring_losses) / to_f64(self.offered_all().max(1))
    }

    /// What is wrong however fast or slow the machine is.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if self.wrong != 0 {
            return Some(format!("{} packets at the wrong mobile, twice or damaged", self.wrong));
        }
        (self.unaccounted() != 0 && !self.nameless)
            .then(|| format!("{} of {} packets unaccounted for", self.unaccounted(), self.offered_all()))
    }

    /// Why the step says nothing, if it does not.
    #[must_use]
    pub fn unsound(&self) -> Option<String> {
        if let Some(why) = self.fault() {
            return Some(why);
        }
        let own = to_f64(self.ring_losses - self.excused_losses()) / to_f64(self.offered_all().max(1));
        (own > RING_LOSS_MAX).then(|| format!("the rings lost {:.3} %", own * 100.0))
    }

    /// The share of what a group is entitled to, in that part of the window in which the SGSN had its core: what came in
    /// the rest nobody could have delivered in time. A rest of more than a twentieth is not believed.
    #[must_use]
    pub fn share(&self, group: &GroupCount) -> f64 {
        let away_s = self.away_in_window_s.min(self.window_s * EXCUSED_MAX);
        group.share(self.window_s) * self.window_s / (self.window_s - away_s)
    }

    /// The least share that a group got of what it is entitled to, in the window.
    #[must_use]
    pub fn least_share(&self) -> f64 {
        let entitled = self.groups.iter().filter(|group| group.offered > 0 && group.due_pps > 0.0);
        entitled.map(|group| self.share(group)).fold(1.0, f64::min)
    }

    /// Packets of the groups of this name that were lost in the whole step, but for those that the rings may have lost: these
    /// may have been anybody's.
    #[must_use]
    pub fn lost_of(&self, name: &str) -> u64 {
        let groups = self.groups.iter().filter(|group| group.name == name);
        let lost = groups.map(|group| group.offered_all.saturating_sub(group.delivered_all)).sum::<u64>();
        lost.saturating_sub(self.ring_losses)
    }

    /// True where every group got at least the part `least` of what it is entitled to, in the window.
    #[must_use]
    pub fn is_whole(&self, least: f64) -> bool {
        self.least_share() >= least
    }

    /// For the JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let group = |group: &GroupCount| {
            json!({
                "name": group.name, "due_pps": group.due_pps, "offered": group.offered,
                "delivered": group.delivered, "read": group.read, "offered_all": group.offered_all,
                "delivered_all": group.delivered_all, "delay_count": group.delay.count,
                "delay_mean_us": group.delay.mean_us, "delay_p50_us": group.delay.p50_us,
                "delay_p90_us": group.delay.p90_us, "delay_p99_us": group.delay.p99_us,
                "delay_max_us": group.delay.max_us,
            })
        };
        json!({
            "window_s": self.window_s, "intended_pps": self.intended_pps,
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
            "unknown": self.unknown, "drops": self.drops, "ring_losses": self.ring_losses,
            "queued": self.queued, "wrong": self.wrong, "unaccounted": self.unaccounted(),
            "core_busy_s": self.core.busy_s, "core_interrupts_s": self.core.interrupts_s,
            "round_trip_ns": self.round_trip_ns, "far": self.far, "speed": self.speed, "slow": self.slow, "given_up": self.given_up, "away_s": self.away_s,
            "away_in_window_s": self.away_in_window_s, "paused_s": self.paused_s,
            "core_stolen_s": self.core.stolen_s, "core_wall_s": self.core.wall_s,
            "shortfall": self.shortfall(), "excused_losses": self.excused_losses(), "disturbed": self.disturbed(),
            "sound": self.unsound().is_none(), "raw": self.raw,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step() -> Step {
        let group = GroupCount {
            name: "good",
            due_pps: 100.0,
            offered: 150,
            delivered: 99,
            offered_all: 300,
            delivered_all: 200,
            ..GroupCount::default()
        };
        let drops = BTreeMap::from([("over_rate".to_owned(), 90), ("unknown_teid".to_owned(), 1000)]);
        Step { window_s: 1.0, groups: vec![group], unknown: 1000, drops, queued: 10, ..Step::default() }
    }

    #[test]
    fn an_account_that_closes_is_sound() {
        let mut step = step();
        assert_eq!(
            (step.unaccounted(), step.unsound(), step.lost_of("good"), step.lost_of("bad")),
            (0, None, 100, 0)
        );
        step.queued = 9;
        assert_eq!(step.unsound().as_deref(), Some("1 of 1300 packets unaccounted for"));
        (step.queued, step.ring_losses) = (0, 10);
        assert_eq!(step.lost_of("good"), 90);
        assert_eq!(step.unsound().as_deref(), Some("the rings lost 0.769 %"));
        // What came while the core was away is nobody's fault: 150 packets in 1 s, away for 0.1 s.
        step.away_s = Some(0.1);
        assert_eq!((step.excused_losses(), step.unsound()), (10, None));
        assert!(step.disturbed().is_some_and(|why| why.contains("100.0 ms")));
        step.away_s = Some(0.01);
        assert_eq!((step.excused_losses(), step.disturbed()), (1, None));
        step.far = true;
        assert!(step.disturbed().is_some_and(|why| why.contains("far")));
        (step.far, step.speed) = (false, Some(0.95));
        assert_eq!(step.disturbed(), None);
        step.given_up = true;
        assert!(step.disturbed().is_some_and(|why| why.contains("95 %")));
        (step.given_up, step.slow, step.speed) = (false, true, Some(0.8));
        assert!(step.disturbed().is_some_and(|why| why.contains("80 %")));
        (step.slow, step.speed) = (false, None);
        (step.ring_losses, step.queued, step.wrong) = (0, 10, 1);
        assert!(step.unsound().is_some_and(|why| why.starts_with("1 packets at the wrong mobile")));
        (step.wrong, step.intended_pps) = (0, 160.0);
        assert_eq!((step.unsound(), step.shortfall()), (None, Some(1.0 - 150.0 / 160.0)));
        step.paused_s = 0.05;
        assert_eq!(step.shortfall(), None, "its schedule waited for 5 % of the window");
        step.paused_s = 0.0;
        (step.intended_pps, step.queued, step.nameless) = (150.0, 0, true);
        assert_eq!(step.unsound(), None, "a candidate without names cannot be held to the account");
    }

    #[test]
    fn what_came_while_the_core_was_away_is_not_owed() {
        let mut step = step();
        assert!(!step.is_whole(0.995));
        step.away_in_window_s = 0.01;
        assert!(step.is_whole(0.995) && (step.least_share() - 1.0).abs() < 1e-9);
        (step.away_in_window_s, step.groups[0].delivered) = (0.5, 94);
        assert!(!step.is_whole(0.995), "no more than a twentieth");
    }

    #[test]
    fn shares_are_of_what_one_is_entitled_to() {
        let mut step = step();
        assert!(step.is_whole(0.99) && !step.is_whole(0.995));
        // Less was offered than the group might have had.
        if let Some(group) = step.groups.first_mut() {
            group.offered = 99;
        }
        assert!(step.is_whole(1.0));
        assert_eq!(step.delivered_pps(), 99.0);
    }
}

//! What the runs of all arms come to.

use super::super::link::{Measured, as_f64};
use super::super::scenario::{LINK_KBPS, STREAMS, place};
use super::super::sets::{Sets, percent, verdict};
use super::arms::{
    ALL, ASSURED, Arm, BUFF_SIZES, GGSN, GREEDY, LIKE_GN, MOVED, OURS, POISSON, RESERVED, TWO,
};
use super::bed::Line;
use crate::report::{Cell, Verdict, at_least, at_most, greatest, least};
use serde_json::json;

/// The streams that send in excess.
const IN_EXCESS: [&str; 5] = ["A3", "A4", "B1", "B2", "B3"];

/// The runs of an arm.
#[derive(Debug, Default)]
pub struct OfArm {
    /// What the streams got.
    pub measured: Vec<Measured>,
    /// How well the line was emulated.
    pub lines: Vec<Line>,
    /// By how much the latest packet was sent too late, in µs.
    pub sent_late_us: Vec<f64>,
}

/// The runs of all arms, by their places in [`ALL`]; an arm that this machine does not have has none.
#[derive(Debug)]
pub struct All(Vec<OfArm>);

impl All {
    /// Nothing was measured yet.
    pub fn new() -> Self {
        Self(ALL.iter().map(|_| OfArm::default()).collect())
    }

    /// The runs of an arm, to add one.
    pub fn of(&mut self, arm: &Arm) -> Option<&mut OfArm> {
        let place = ALL.iter().position(|of| of == arm)?;
        self.0.get_mut(place)
    }

    fn get(&self, arm: &Arm) -> Option<&OfArm> {
        self.0.get(ALL.iter().position(|of| of == arm)?)
    }

    fn sets(&self, arm: &Arm) -> Sets {
        Sets::of(self.get(arm).map_or(&[], |of| &of.measured))
    }

    /// How late 99 % of the frames on the line were at most, in ms, in the runs of these arms.
    fn error_ms(&self, arms: &[Arm]) -> f64 {
        let lines = arms.iter().filter_map(|arm| self.get(arm)).flat_map(|of| &of.lines);
        greatest(lines.map(|line| line.late_us[1])) / 1000.0
    }

    /// What the line carries of packets, in kbit/s.
    fn carried(&self, arm: &Arm) -> f64 {
        let sets = self.sets(arm);
        STREAMS.iter().map(|stream| sets.got(stream.name).mean).sum()
    }

    /// Whether the line went before all else in each run.
    pub fn preempting(&self) -> bool {
        self.0.iter().flat_map(|of| &of.lines).all(|line| line.preempting)
    }

    /// Every point.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for (arm, of) in ALL.iter().zip(&self.0).filter(|(_, of)| !of.measured.is_empty()) {
            let axis = [
                ("arm", json!(arm.name)),
                ("arrivals", json!(arm.arrivals.name())),
                ("greedy", json!(arm.greedy)),
            ];
            cells.extend(self.sets(arm).cells(&axis));
            for ((line, late), round) in of.lines.iter().zip(&of.sent_late_us).zip(1..) {
                let axis = axis.iter().cloned().chain([("round", json!(round))]);
                let metrics = [
                    ("line_rate_error", json!(line.rate_error)),
                    ("line_late_p50_us", json!(line.late_us[0])),
                    ("line_late_p99_us", json!(line.late_us[1])),
                    ("sent_late_most_us", json!(late)),
                ];
                cells.push(Cell::new(axis, metrics.map(|(name, value)| (name.to_owned(), value))));
            }
        }
        cells
    }

    /// Shares and delays, for a person.
    pub fn tables(&self) -> Vec<String> {
        let names = STREAMS.map(|stream| stream.name).join(" | ");
        let rule = "|---".repeat(STREAMS.len() + 1);
        let mut shares = format!("| kbit/s got | {names} |\n{rule}|\n");
        let mut delays = "| delay, ms, mean (99 %) | A2 | A5 | A1 | line: rate error | late, µs, p50, p99 | sent late, µs, most |\n\
                          |---|---|---|---|---|---|---|\n"
            .to_owned();
        for (arm, of) in ALL.iter().zip(&self.0).filter(|(_, of)| !of.measured.is_empty()) {
            let sets = self.sets(arm);
            let got = STREAMS.map(|stream| format!("{:.0}", sets.got(stream.name).mean)).join(" | ");
            shares += &format!("| {} | {got} |\n", arm.name);
            let [a2, a5, a1] = ["A2", "A5", "A1"].map(|name| {
                let [mean, high] = sets.delay(name);
                format!("{:.1} ({:.1})", mean.mean, high.mean)
            });
            let most = |of: &dyn Fn(&Line) -> f64| {
                greatest(self.get(arm).into_iter().flat_map(|arm| &arm.lines).map(of))
            };
            delays += &format!(
                "| {} | {a2} | {a5} | {a1} | {:.4} % | {:.0}, {:.0} | {:.0} |\n",
                arm.name,
                most(&|line| line.rate_error.abs()) * 100.0,
                most(&|line| line.late_us[0]),
                most(&|line| line.late_us[1]),
                greatest(of.sent_late_us.iter().copied()),
            );
        }
        vec![shares, delays]
    }

    /// The claims.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let mut rows = vec![
            self.kept("reserved streams, periodic", &ASSURED, &[]),
            self.kept("the same with EF at 0.9 of the line", &OURS, &[]),
            self.kept("the same beside A3 at 20 times its reservation", &GREEDY, &["A3"]),
            self.kept("reserved streams through the GGSN, EF at 0.9 of the line", &GGSN, &[]),
            self.through_ggsn(),
        ];
        for (named, arm) in
            [("periodic", &ASSURED), ("Poisson", &POISSON), ("beside A3 at 20 times", &GREEDY)]
        {
            rows.push(self.best_effort(named, arm));
        }
        rows.extend(
            [("periodic", &ASSURED), ("Poisson", &POISSON)]
                .map(|(named, arm)| self.reserved_excess(named, arm)),
        );
        rows.extend(self.buff_size());
        rows.extend(self.delays());
        rows.extend(self.beside_htb());
        rows
    }

    fn kept(&self, name: &str, arm: &Arm, without: &[&str]) -> Verdict {
        let (least_name, kept) = self.sets(arm).worst_kept(without);
        verdict(
            name,
            "Of what is reserved for a stream, or what it sends where that is less, the part that arrives at the far end; the stream \
             that keeps least.",
            "at or near the reservation",
            format!("{} ({least_name})", percent(kept)),
            ">= 99.5 %",
            at_least(kept, 0.995),
        )
    }

    /// Each stream behind the access point beside the same one behind the edge router.
    fn through_ggsn(&self) -> Verdict {
        let (own, beside) = (self.sets(&GGSN), self.sets(&LIKE_GN));
        let ratio = |name: &str| own.got(name).mean / beside.got(name).mean;
        let apart = STREAMS.map(|stream| (stream.name, (ratio(stream.name) - 1.0).abs()));
        let most = greatest(apart.iter().map(|(_, apart)| *apart));
        let name = apart.iter().find(|(_, apart)| *apart == most).map_or("", |(name, _)| *name);
        verdict(
            "each stream through the GGSN beside the same behind gannet edge",
            "What a stream gets through gannet ggsn with qos downlink, and behind gannet edge on a line that takes as many octets for \
             each packet: the stream with the largest difference.",
            "",
            format!("{} apart ({name})", percent(most)),
            "<= 10 %",
            at_most(most, 0.10),
        )
    }

    fn best_effort(&self, named: &str, arm: &Arm) -> Verdict {
        let (mean, apart) = self.sets(arm).best_effort();
        verdict(
            &format!("best-effort streams from their mean, {named}"),
            "Streams of 200, 500 and 1000 octets get the same of what is left for them.",
            "220 kbit/s; 100 for small packets",
            format!("{} of {mean:.0} kbit/s", percent(apart)),
            "<= 10 %",
            at_most(apart, 0.10),
        )
    }

    fn reserved_excess(&self, named: &str, arm: &Arm) -> Verdict {
        let apart = self.sets(arm).reserved_excess();
        verdict(
            &format!("excess of A3 and A4 from that, {named}"),
            "A reserved stream that sends in excess gets as much of the rest as best effort does.",
            "220 kbit/s",
            percent(apart),
            "<= 15 %",
            at_most(apart, 0.15),
        )
    }

    /// What the paper says of `BUFF_SIZE`.
    fn buff_size(&self) -> [Verdict; 3] {
        let sets = BUFF_SIZES.map(|(octets, arm)| (octets, self.sets(&arm)));
        let less = sets.iter().filter(|(octets, _)| *octets >= 500);
        let less = least(less.map(|(_, sets)| sets.kept("A2").mean - sets.kept("A6").mean));
        let b1 = sets.each_ref().map(|(_, sets)| sets.got("B1").mean);
        let rises = (!b1.iter().sum::<f64>().is_nan()).then(|| b1.is_sorted_by(|a, b| a < b));
        let b2 =
            sets.iter().find(|(octets, _)| *octets == 500).map_or(f64::NAN, |(_, sets)| sets.got("B2").mean);
        [
            verdict(
                "BUFF_SIZE of 500 and 1000: A6 keeps less than A2",
                "Both have packets of 200 octets that count as longer ones, and A6 has the larger reservation.",
                "A6 is penalised more",
                format!("by {:.1} points at least", less * 100.0),
                "> 0",
                (!less.is_nan()).then_some(less > 0.0),
            ),
            verdict(
                "B1 by BUFF_SIZE of 200, 500 and 1000",
                "A packet of 1000 octets counts as five, two or one of the smallest.",
                "gains substantially",
                format!("{:.0}, {:.0}, {:.0} kbit/s", b1[0], b1[1], b1[2]),
                "rises",
                rises,
            ),
            verdict(
                "B2 at a BUFF_SIZE of 500",
                "A packet of 200 octets counts as 500.",
                "about 100 kbit/s",
                format!("{b2:.0} kbit/s"),
                "85 to 115 kbit/s",
                (!b2.is_nan()).then(|| (85.0..=115.0).contains(&b2)),
            ),
        ]
    }

    fn delays(&self) -> Vec<Verdict> {
        let mean = |arm: &Arm| MOVED.map(|name| self.sets(arm).delay(name)[0].mean);
        // What stands in front of a packet is the same, and leaves at what the line carries of packets.
        let slower = f64::from(LINK_KBPS) / self.carried(&ASSURED);
        let (in_af, in_ef) = (mean(&ASSURED), mean(&RESERVED));
        let [low, high] = [160.0, 190.0].map(|ms| ms * slower);
        let ratio = least(in_af.iter().zip(in_ef).map(|(af, ef)| af / ef));
        let mut rows = vec![
            verdict(
                "A2 and A5 in the AF queue, mean delay",
                "What the queue of all streams holds, over what the line carries: less than 2,000 kbit/s of packets, by what it adds to \
                 each. The goal is that of virtual time, where it adds nothing, longer by as much.",
                "180, 169 ms end to end",
                format!("{:.0}, {:.0} ms", in_af[0], in_af[1]),
                &format!("{low:.0} to {high:.0} ms"),
                (!(in_af.iter().sum::<f64>() + slower).is_nan())
                    .then(|| in_af.iter().all(|delay| (low..=high).contains(delay))),
            ),
            verdict(
                "EF with about the weight of its reservation, times lower",
                "The mean delay of A2 and A5 in the AF queue by that in the EF queue, the less of the two.",
                "a factor of more than 3 (44, 49 ms end to end)",
                format!("{ratio:.1} ({:.1}, {:.1} ms)", in_ef[0], in_ef[1]),
                ">= 3",
                at_least(ratio, 3.0),
            ),
        ];
        for (named, arm) in [("", OURS), (", beside A3 at 20 times", GREEDY), (", through the GGSN", GGSN)] {
            let error = self.error_ms(&[arm]);
            let high = MOVED.map(|name| self.sets(&arm).delay(name)[1].mean);
            let bounds = MOVED.map(|name| bound_ms(name, arm.overhead()) + error);
            let over = greatest(high.iter().zip(bounds).map(|(high, bound)| high - bound));
            rows.push(verdict(
                &format!("EF with 0.9 of the line, 99 % of A2 and A5{named}"),
                "No longer than the packet itself, the longest packet, and one more of the EF queue take on the line; and how late the \
                 emulated line is with 99 % of its frames.",
                "",
                format!("{:.1}, {:.1} ms", high[0], high[1]),
                &format!("<= {:.1}, {:.1} ms", bounds[0], bounds[1]),
                at_most(over, 0.0),
            ));
        }
        rows
    }

    fn beside_htb(&self) -> [Verdict; 3] {
        let (ours, htb) = (self.sets(&OURS), self.sets(&TWO));
        let error = self.error_ms(&[OURS, TWO]);
        let delay = |which: usize, what: &str| {
            let of = |sets: &Sets| {
                MOVED.map(|name| sets.delay(name).get(which).map_or(f64::NAN, |spread| spread.mean))
            };
            let (own, its) = (of(&ours), of(&htb));
            // No worse by a tenth, or by what the line cannot tell.
            let over = greatest(own.iter().zip(its).map(|(own, its)| own - (its * 1.1).max(its + error)));
            verdict(
                &format!("{what} of EF beside HTB with two classes"),
                "A2 and A5 behind gannet edge with 0.9 of the line for EF, and behind HTB whose first class has as much and goes first.",
                "",
                format!("{:.2}, {:.2} ms beside {:.2}, {:.2}", own[0], own[1], its[0], its[1]),
                &format!("<= 1.1 times, or {error:.2} ms more"),
                at_most(over, 0.0),
            )
        };
        let (own, its) = (unevenness(&ours), unevenness(&htb));
        [
            delay(0, "mean delay"),
            delay(1, "99 % of the delay"),
            verdict(
                "excess of the five streams from their mean, beside HTB with two classes",
                "What A3, A4 and the best-effort streams get beyond their reservations: the largest distance from the mean of the five.",
                "",
                format!("{} beside {}", percent(own), percent(its)),
                "not more",
                at_most(own - its, 0.0),
            ),
        ]
    }
}

/// The largest distance of one of the five streams in excess from their mean, as a part of it.
fn unevenness(sets: &Sets) -> f64 {
    let excess = IN_EXCESS.map(|name| sets.excess(name).mean);
    let mean = excess.iter().sum::<f64>() / as_f64(IN_EXCESS.len() as u64);
    greatest(excess.iter().map(|of| (of / mean - 1.0).abs()))
}

/// The packet itself, the longest one, which is on the line already, and one more of the EF queue, in ms.
fn bound_ms(name: &str, overhead: u32) -> f64 {
    let on_line = |octets: u32| f64::from(octets + overhead) * 8.0 / f64::from(LINK_KBPS);
    let own = STREAMS.get(place(name)).map_or(f64::NAN, |stream| on_line(stream.octets));
    let longest = greatest(STREAMS.iter().map(|stream| on_line(stream.octets)));
    own + 2.0 * longest
}

#[cfg(test)]
mod tests {
    use super::super::super::link::{Plan, measure};
    use super::super::super::scenario::{BUFFERS, Rule, Setup};
    use super::super::arms::{EACH, Forwards};
    use super::*;
    use gannet_machine::time::Duration;

    const PLAN: Plan = Plan { warm_up: Duration::from_secs(2), span: Duration::from_secs(20) };
    const LINE: Line = Line { rate_error: 0.0, late_us: [20.0, 100.0], preempting: true };
    /// All arms as this machine would have measured them: ours by the component in virtual time.
    fn machine(edge_is_good: bool, htb_is_there: bool) -> All {
        let mut all = All::new();
        let rounds = if edge_is_good && htb_is_there { 3 } else { 1 };
        for arm in ALL {
            for seed in 0..rounds {
                let set_up = match arm.forwards {
                    Forwards::Edge(_) if !edge_is_good => Setup::all_assured(Rule::paper(1000), 10),
                    Forwards::Edge(of) | Forwards::Ggsn(of) => {
                        let rule = of.buff_size.map_or(Rule::OURS, Rule::paper);
                        let mut set_up = match of.ef_percent {
                            Some(percent) => Setup::with_expedited(rule, BUFFERS, LINK_KBPS * percent / 100),
                            None => Setup::all_assured(rule, BUFFERS),
                        };
                        set_up.offered_kbps = arm.offered_kbps();
                        set_up
                    }
                    Forwards::Htb(_) if !htb_is_there => continue,
                    Forwards::Htb(_) => Setup::with_expedited(Rule::paper(500), BUFFERS, 1000),
                };
                let measured = measure(&set_up, LINK_KBPS, (arm.arrivals, PLAN), seed).unwrap();
                let of = all.of(&arm).unwrap();
                of.measured.push(measured);
                of.lines.push(LINE);
                of.sent_late_us.push(30.0);
            }
        }
        all
    }

    fn held(all: &All) -> Vec<(String, Option<bool>)> {
        all.verdicts().into_iter().map(|verdict| (verdict.name, verdict.holds)).collect()
    }

    #[test]
    fn a_good_machine_passes_and_its_tables_have_all_arms() {
        let all = machine(true, true);
        for verdict in all.verdicts() {
            assert_eq!(verdict.holds, Some(true), "{}: {}, {}", verdict.name, verdict.ours, verdict.goal);
        }
        let [shares, delays] = all.tables().try_into().unwrap();
        for arm in ALL {
            assert!(shares.contains(arm.name) && delays.contains(arm.name), "{}", arm.name);
        }
        assert_eq!(all.cells().len(), ALL.len() * (STREAMS.len() + 3));
    }

    #[test]
    fn a_bad_edge_fails() {
        let all = held(&machine(false, true));
        let fails = all.iter().filter(|(_, holds)| *holds == Some(false)).count();
        assert!(fails > all.len() / 2, "{all:?}");
    }

    #[test]
    fn a_ggsn_that_shares_otherwise_fails_alone() {
        let mut all = machine(true, true);
        let of_ggsn = all.of(&GGSN).unwrap();
        for measured in &mut of_ggsn.measured {
            // B2 gets 15 % less, and no reserved stream does.
            let b2 = &mut measured.streams[place("B2")];
            b2.accepted_octets = b2.accepted_octets / 20 * 17;
        }
        for verdict in all.verdicts() {
            let is_that = verdict.name.starts_with("each stream through the GGSN");
            assert_eq!(verdict.holds, Some(!is_that), "{}: {}", verdict.name, verdict.ours);
            assert!(!is_that || verdict.ours.ends_with("(B2)"), "{}", verdict.ours);
        }
        *all.of(&GGSN).unwrap() = OfArm::default();
        for (name, holds) in held(&all) {
            assert_eq!(holds.is_none(), name.contains("GGSN"), "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_not_shown() {
        let all = machine(true, false);
        for (name, holds) in held(&all) {
            assert_eq!(holds.is_none(), name.contains("HTB"), "{name}");
        }
        assert!(!all.tables()[0].contains(EACH.name));
        assert!(held(&All::new()).iter().all(|(_, holds)| holds.is_none()));
    }

    #[test]
    fn the_bound_of_ef_counts_what_the_line_adds() {
        // 200 + 2 · 1000 octets and thrice 38, of 4 µs.
        assert!((bound_ms("A2", 38) - 9.256).abs() < 1e-9);
        assert!((bound_ms("A5", 38) - 12.456).abs() < 1e-9);
        // And thrice 40 more in a tunnel.
        assert!((bound_ms("A5", GGSN.overhead()) - 12.936).abs() < 1e-9);
    }
}

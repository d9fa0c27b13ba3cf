//! What a run of the crowd comes to: each datagram has arrived or is a drop with a name.

use super::super::configs::Mode;
use super::traffic::{Account, Flow};
use crate::link;
use crate::losses::{Place, place_of};
use crate::report::{Cell, REPORTED, Verdict, at_least, at_most};
use serde_json::json;
use std::collections::BTreeMap;
use std::time::Duration;

/// Counters that have moved: drops of nodes as `node.name`, and what the kernel and the lines have dropped.
#[derive(Debug, Default, Clone)]
pub struct Named(BTreeMap<String, u64>);

impl Named {
    /// By how much each has grown.
    pub fn moved(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> Self {
        let mut moved = crate::counters::moved(before, after);
        moved.retain(|_, count| *count > 0);
        Self(moved)
    }

    /// What lines have refused or not given.
    pub fn lines(&mut self, accounts: &[link::Account]) {
        let ways = accounts.iter().flat_map(|account| &account.results);
        let refused: u64 = ways.map(|way| way.counts.refused + way.counts.lost).sum();
        if refused > 0 {
            self.0.insert("line.refused".to_owned(), refused);
        }
    }

    /// Those that can have taken user data: all but those of signalling.
    fn of_user_data(&self) -> u64 {
        let takes = |name: &str| {
            let drop = name.rsplit('.').next().unwrap_or(name);
            place_of(drop).is_none_or(|place| place != Place::Nowhere)
        };
        self.0.iter().filter(|(name, _)| takes(name)).map(|(_, count)| count).sum()
    }

    fn text(&self) -> String {
        let all: Vec<String> = self.0.iter().map(|(name, count)| format!("{name} {count}")).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(", ") }
    }
}

/// What a process has used.
#[derive(Debug, Clone)]
pub struct Spent {
    /// Its node.
    pub name: String,
    /// Processor time while there was traffic.
    pub time: Duration,
    /// Octets in memory at the end.
    pub resident: u64,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Run {
    /// How many were to attach.
    pub mobiles: u32,
    /// Their contexts.
    pub flows: Vec<Flow>,
    /// What became of their traffic.
    pub account: Account,
    /// What was dropped.
    pub named: Named,
    /// How long until all had devices.
    pub attached: Duration,
    /// How long until all used the other bearer.
    pub changed: Duration,
    /// By process.
    pub spent: Vec<Spent>,
    /// How long there was traffic.
    pub measured: Duration,
}

/// Datagrams of one mode.
struct Sums {
    sent: u64,
    at_host: u64,
    answered: u64,
    at_mobiles: u64,
    doubled: u64,
    longest_ms: f64,
}

impl Sums {
    const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.at_host) + self.answered.saturating_sub(self.at_mobiles)
    }
}

impl Run {
    fn sums(&self, mode: Mode) -> Sums {
        let Account { sent, at_host, answered, at_mobiles, .. } = &self.account;
        let is_meant = |flow: usize| self.flows.get(flow).is_some_and(|flow| flow.mode == mode);
        let of = |counts: &[u64]| -> u64 {
            counts.iter().enumerate().filter(|(flow, _)| is_meant(*flow)).map(|(_, count)| count).sum()
        };
        let longest = at_mobiles.longest(is_meant);
        Sums {
            sent: of(sent),
            at_host: at_host.arrived(is_meant),
            answered: of(answered),
            at_mobiles: at_mobiles.arrived(is_meant),
            doubled: at_host.doubled(is_meant) + at_mobiles.doubled(is_meant),
            longest_ms: longest.as_secs_f64() * 1e3,
        }
    }

    /// One for each mode, and one for each process.
    pub fn cells(&self) -> Vec<Cell> {
        let of_mode = |mode: Mode| {
            let sums = self.sums(mode);
            let metrics = [
                ("sent".to_owned(), json!(sums.sent)),
                ("at_host".to_owned(), json!(sums.at_host)),
                ("answered".to_owned(), json!(sums.answered)),
                ("at_mobiles".to_owned(), json!(sums.at_mobiles)),
                ("doubled".to_owned(), json!(sums.doubled)),
                ("longest_pause_ms".to_owned(), json!(sums.longest_ms)),
            ];
            Cell::new([("mode", json!(mode.name()))], metrics)
        };
        let of_process = |spent: &Spent| {
            let metrics = [
                ("cpu_s".to_owned(), json!(spent.time.as_secs_f64())),
                ("resident_octets".to_owned(), json!(spent.resident)),
            ];
            Cell::new([("process", json!(spent.name))], metrics)
        };
        Mode::BOTH.into_iter().map(of_mode).chain(self.spent.iter().map(of_process)).collect()
    }

    /// The claims.
    pub fn verdicts(&self) -> Vec<Verdict> {
        let row = |name: &str, means: &str, ours: String, (goal, holds): (&str, Option<bool>)| Verdict {
            name: name.to_owned(),
            means: means.to_owned(),
            paper: None,
            ours,
            goal: goal.to_owned(),
            holds,
        };
        let contexts = count(self.flows.len() as u64);
        let wanted = f64::from(self.mobiles) * 2.0;
        let [unacknowledged, acknowledged] = Mode::BOTH.map(|mode| self.sums(mode));
        let lost = unacknowledged.lost() + acknowledged.lost();
        let unnamed = lost.saturating_sub(self.named.of_user_data());
        let answers = count(unacknowledged.at_mobiles + acknowledged.at_mobiles);
        let mut rows = vec![
            row(
                "contexts with a device",
                "Contexts of all mobiles that came up with a network device and an address.",
                format!("{contexts:.0} of {wanted:.0}, after {:.1} s", self.attached.as_secs_f64()),
                ("all", at_least(contexts, wanted)),
            ),
            row(
                "lost without a name",
                "Datagrams of both directions that did not arrive and are no drop of user data that a node, the kernel or a line has \
                 counted.",
                format!("{unnamed} of {lost} lost; {answers:.0} answers came"),
                ("0", (answers > 0.0).then_some(unnamed == 0)),
            ),
            row(
                "lost in acknowledged mode",
                "Datagrams of both directions that did not arrive, the change of bearer included.",
                format!("{} of {}", acknowledged.lost(), acknowledged.sent + acknowledged.answered),
                ("0", (acknowledged.at_mobiles > 0).then_some(acknowledged.lost() == 0)),
            ),
            row(
                "doubled",
                "Datagrams that arrived more than once, of both modes and directions.",
                format!("{}", unacknowledged.doubled + acknowledged.doubled),
                ("0", (answers > 0.0).then_some(unacknowledged.doubled + acknowledged.doubled == 0)),
            ),
            row(
                "change of bearer of all",
                "From the order until the last mobile used the other bearer.",
                format!("{:.2} s", self.changed.as_secs_f64()),
                (REPORTED, at_most(self.changed.as_secs_f64(), f64::INFINITY)),
            ),
        ];
        for (mode, sums) in Mode::BOTH.into_iter().zip([unacknowledged, acknowledged]) {
            rows.push(row(
                &format!("longest pause of a context, {}", mode.name()),
                "The longest time between two answers to one context, the change of bearer included.",
                format!("{:.0} ms; {} lost", sums.longest_ms, sums.lost()),
                (REPORTED, at_most(sums.longest_ms, f64::INFINITY)),
            ));
        }
        for Spent { name, time, resident } in &self.spent {
            let share = time.as_secs_f64() / self.measured.as_secs_f64() * 100.0;
            rows.push(row(
                &format!("processor and memory, {name}"),
                "Share of a core while there was traffic, and memory of the process at the end.",
                format!("{share:.1} % of a core, {:.1} MiB", count(*resident) / f64::from(1 << 20)),
                (REPORTED, at_most(share, f64::INFINITY)),
            ));
        }
        rows
    }

    /// For a person, and for `docs/lab/bearer.md`.
    pub fn table(&self) -> String {
        let mut text = "| mode | sent | at the host | answered | at the mobiles | doubled | longest pause, ms |\n|---|---|---|---|---|---|---|\n".to_owned();
        for mode in Mode::BOTH {
            let Sums { sent, at_host, answered, at_mobiles, doubled, longest_ms } = self.sums(mode);
            text.push_str(&format!(
                "| {} | {sent} | {at_host} | {answered} | {at_mobiles} | {doubled} | {longest_ms:.0} |\n",
                mode.name()
            ));
        }
        let Account { refused, at_host, at_mobiles, .. } = &self.account;
        text.push_str(&format!(
            "\nDrops: {}. Refused by the mobiles' kernel: {refused}. Out of order: {}. Of nobody: {}.\n",
            self.named.text(),
            at_host.disordered + at_mobiles.disordered,
            at_host.foreign + at_mobiles.foreign
        ));
        text
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of minutes, and octets of memory")]
const fn count(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two contexts, of which the first has sent three datagrams, and the second as many; nothing has arrived.
    fn run(named: &[(&str, u64)]) -> Run {
        let flow =
            |mode, device: &str| Flow { mode, device: device.to_owned(), address: [198, 19, 0, 2].into() };
        let named = named.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        Run {
            mobiles: 1,
            flows: vec![flow(Mode::Unacknowledged, "un0"), flow(Mode::Acknowledged, "ack0")],
            account: Account { sent: vec![3, 3], answered: vec![0, 0], ..Account::default() },
            named: Named::moved(&BTreeMap::new(), &named),
            attached: Duration::from_secs(1),
            changed: Duration::from_secs(1),
            spent: Vec::new(),
            measured: Duration::from_secs(10),
        }
    }

    #[test]
    fn a_drop_of_signalling_explains_no_loss_and_a_clean_run_needs_answers() {
        let lost = |named: &[(&str, u64)]| {
            let run = run(named);
            let Sums { sent, .. } = run.sums(Mode::Acknowledged);
            (sent, run.sums(Mode::Unacknowledged).lost(), run.named.of_user_data())
        };
        assert_eq!(lost(&[("ap.adapt_no_link", 2), ("sgsn.gmm_unexpected", 9)]), (3, 3, 2));
        assert_eq!(lost(&[("line.refused", 6), ("kernel.tun_dropped", 1)]), (3, 3, 7));
        let rows = run(&[("ap.adapt_no_link", 6)]).verdicts();
        let holds = |name: &str| rows.iter().find(|row| row.name == name).unwrap().holds;
        assert_eq!(holds("contexts with a device"), Some(true));
        for name in ["lost without a name", "lost in acknowledged mode", "doubled"] {
            assert_eq!(holds(name), None, "{name}: nothing has arrived, so nothing is shown");
        }
    }
}

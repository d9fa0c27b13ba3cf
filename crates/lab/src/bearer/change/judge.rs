//! What the changes come to: cells, claims and tables.

use super::{Change, Measured, Mode, Window};
use crate::measure::stats::Samples;
use crate::report::{Cell, REPORTED, Verdict, at_most};
use serde_json::json;

/// The longest pause that a change may make.
const STALL_MOST_MS: f64 = 200.0;

/// The point of one kind of change in one kind of download.
pub(super) fn cell(of: &Measured) -> Cell {
    let axis = [("download", json!(of.setting.name())), ("change", json!(of.change.name()))];
    let metrics = [
        ("longest_pause_ms".to_owned(), of.stall_ms.json()),
        ("longest_pause_before_ms".to_owned(), of.stall_before_ms.json()),
        ("change_took_ms".to_owned(), of.took_ms.json()),
        ("goodput_mbps".to_owned(), of.mbps.json()),
        ("segments_sent_again".to_owned(), of.again.json()),
        ("segments_lost".to_owned(), of.lost.json()),
        ("segments_lost_per_s".to_owned(), of.lost_per_s.json()),
        ("segments_lost_elsewhere".to_owned(), of.lost_elsewhere.json()),
        ("dropped".to_owned(), json!(of.dropped)),
    ];
    Cell::new(axis, metrics)
}

/// Acknowledged mode with both bearers there: nothing need be lost. In unacknowledged mode what was on its way is lost, and that is
/// reported; so is what a bearer takes that is not there any more.
fn is_claimed(of: &Measured) -> bool {
    of.setting.mode == Mode::Acknowledged && matches!(of.change, Change::Ordered | Change::Back)
}

/// The claims of one kind of change in one kind of download.
pub(super) fn verdicts(of: &Measured) -> [Verdict; 2] {
    let is_claimed = is_claimed(of);
    let name = |what: &str| format!("{what}, {}, {}", of.change.name(), of.setting.name());
    let goal = |goal: &str| if is_claimed { goal.to_owned() } else { REPORTED.to_owned() };
    let most = |most: f64| if is_claimed { most } else { f64::INFINITY };
    let of_pause = of.stall_ms.max();
    let pause = Verdict {
        name: name("longest pause"),
        means: "The longest time without new octets of a download from the change on, of all changes; in the second before, their \
                longest."
            .to_owned(),
        paper: None,
        ours: format!("{of_pause:.0} ms; {:.0} ms before", of.stall_before_ms.max()),
        goal: goal("< 200 ms"),
        holds: at_most(of_pause, most(STALL_MOST_MS)),
    };
    let (counted, means, wanted) = match of.setting.window {
        Window::Fits => (
            &of.lost,
            "Segments that TCP sent again from the change on and that had not arrived, of the change with most of them. The \
             window is never more than the queues hold, so that nothing but the change loses any.",
            "0",
        ),
        Window::Open => (
            &of.lost_elsewhere,
            "The same of a download that fills the queue of its context until that refuses packets, with a change or without: \
             those that were lost elsewhere.",
            "0 elsewhere than in the full queue",
        ),
    };
    let [lost, again] = [&of.lost, &of.again].map(Samples::max);
    let segments = Verdict {
        name: name("segments lost"),
        means: means.to_owned(),
        paper: None,
        ours: format!("{:.0}; {lost:.0} in all, {again:.0} sent again", counted.max()),
        goal: goal(wanted),
        holds: at_most(counted.max(), most(0.0)),
    };
    [pause, segments]
}

/// For a person, and for `docs/lab/bearer.md`.
pub(super) fn table(all: &[Measured]) -> String {
    let mut text = "| change | download | changes | in use after, ms | longest pause, ms | in the second before | Mbit/s | segments sent again | lost | lost by second | lost elsewhere |\n|---|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for of in all {
        let spread = |of: &Samples| format!("{:.0} [{:.0}..{:.0}]", of.median(), of.min(), of.max());
        let columns = [
            &of.took_ms,
            &of.stall_ms,
            &of.stall_before_ms,
            &of.mbps,
            &of.again,
            &of.lost,
            &of.lost_per_s,
            &of.lost_elsewhere,
        ];
        let columns = columns.map(spread).join(" | ");
        text.push_str(&format!(
            "| {} | {} | {} | {columns} |\n",
            of.change.name(),
            of.setting.name(),
            of.stall_ms.len()
        ));
    }
    text.replace("NaN", "–")
}

/// What nodes and devices have dropped at all changes of a kind, by name.
pub(super) fn drops(all: &[Measured]) -> String {
    let mut text = "| change | download | dropped at all of them |\n|---|---|---|\n".to_owned();
    for of in all {
        let named: Vec<String> = of.dropped.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let named = if named.is_empty() { "nothing".to_owned() } else { named.join(", ") };
        text.push_str(&format!("| {} | {} | {named} |\n", of.change.name(), of.setting.name()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{SETTINGS, Setting};
    use super::*;

    /// Two changes: with pauses of 10 ms and this, and with so many lost, of which so many elsewhere than in a full queue.
    fn of(setting: Setting, change: Change, pause: f64, (lost, elsewhere): (f64, f64)) -> Measured {
        Measured {
            stall_ms: [10.0, pause].into_iter().collect(),
            again: [0.0, lost + 1.0].into_iter().collect(),
            lost: [0.0, lost].into_iter().collect(),
            lost_elsewhere: [0.0, elsewhere].into_iter().collect(),
            ..Measured::new(setting, change)
        }
    }

    #[test]
    fn only_acknowledged_mode_with_both_bearers_there_claims_something() {
        let holds =
            |setting, change, pause, lost| verdicts(&of(setting, change, pause, lost)).map(|row| row.holds);
        let [unacknowledged, open, fits] = SETTINGS;
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(holds(fits, Change::Back, 201.0, (1.0, 0.0)), [no, no]);
        assert_eq!(holds(fits, Change::Back, 199.0, (1.0, 0.0)), [yes, no]);
        assert_eq!(
            holds(fits, Change::Ordered, 199.0, (0.0, 0.0)),
            [yes, yes],
            "what came twice was not lost"
        );
        assert_eq!(holds(open, Change::Ordered, 201.0, (60.0, 0.0)), [no, yes]);
        assert_eq!(holds(open, Change::Ordered, 199.0, (60.0, 1.0)), [yes, no]);
        assert_eq!(holds(unacknowledged, Change::Back, 900.0, (9.0, 9.0)), [yes, yes]);
        assert_eq!(holds(fits, Change::Pulled, f64::NAN, (9.0, 9.0)), [yes, yes]);
        assert_eq!(holds(open, Change::Nothing, 900.0, (60.0, 0.0)), [yes, yes]);
        let nothing = verdicts(&Measured::new(fits, Change::Ordered)).map(|row| row.holds);
        assert_eq!(nothing, [None, None], "not measured");
    }

    #[test]
    fn tables_tell_what_was_not_measured_and_what_was_dropped() {
        let [_, open, fits] = SETTINGS;
        let mut some = of(open, Change::Pulled, 110.0, (3.0, 1.0));
        some.dropped.insert("sgsn.flow_queue_full".to_owned(), 2);
        let all = [some, of(fits, Change::Nothing, 10.0, (0.0, 0.0))];
        let row = "| the cable in use is pulled out | acknowledged, open window | 2 | – [–..–] | 60 [10..110] | – [–..–] | – [–..–] | 2 [0..4] | 2 [0..3] | – [–..–] | 0 [0..1] |";
        assert!(table(&all).contains(row), "{}", table(&all));
        let told = drops(&all);
        assert!(told.contains("open window | sgsn.flow_queue_full 2 |"), "{told}");
        assert!(
            told.contains("| none, for comparison | acknowledged, window fits the queue | nothing |"),
            "{told}"
        );
    }
}

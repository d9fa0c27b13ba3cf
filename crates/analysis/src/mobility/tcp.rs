//! What TCP made of a change of cell.

use super::report::{Reselection, TcpEffect};
use crate::record::Stamp;
use crate::tcp::report::{ConnectionReport, HalfReport, Kind};

/// A timeout belongs to a change of cell so long after the mobile has arrived.
const AFTER_NS: u64 = 30_000_000_000;

/// Of the connections of the mobile the one with the longest outage that overlaps the change.
pub(super) fn effect(reselection: &Reselection, connections: &[&ConnectionReport]) -> Option<TcpEffect> {
    let halves = connections.iter().flat_map(|connection| [&connection.forward, &connection.backward]);
    halves.filter_map(|half| of_half(reselection, half)).max_by_key(|effect| effect.outage_ns)
}

fn of_half(reselection: &Reselection, half: &HalfReport) -> Option<TcpEffect> {
    let (left, arrived) = (reselection.left.0, reselection.arrived.0);
    let outage = half.outages.iter().filter(|it| it.from.0 <= arrived && left <= it.until.0);
    let outage = outage.max_by_key(|it| it.length_ns())?;
    let end = Stamp(arrived.0.saturating_add(AFTER_NS)).max(outage.until.0);
    let again = half.retransmissions.iter().filter(|it| left <= it.at && it.at <= end);
    let timeouts = again.filter(|it| it.kind == Kind::Timeout && it.begins);
    let (timeouts, spurious) =
        timeouts.fold((0, 0), |(all, spurious), it| (all + 1, spurious + u64::from(it.spurious.is_some())));
    Some(TcpEffect {
        outage_ns: outage.length_ns(),
        between: (outage.from.1, outage.until.1),
        recovery_ns: outage.recovery_ns(),
        sent_again: outage.sent_again,
        timeouts,
        spurious,
    })
}

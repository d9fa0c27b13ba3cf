//! Counters for programs, and the scheduler for persons.

use core::fmt::Write as _;
use gannet_node::sgsn::Sgsn;
use gannet_proto::drops::DropCounters;
use gannet_proto::frame::FramePool;
use gannet_proto::qos::flow_queues::Turn;

/// `show counters`: `NAME VALUE`, one a line. Names stay as they are; drops have the names that `show drops` gives them.
pub fn write(sgsn: &Sgsn, drops: &DropCounters, frames: &FramePool, out: &mut String) {
    let mut line = |name: &str, value: u64| {
        let _ = writeln!(out, "{name} {value}");
    };
    for counter in super::show::counters(sgsn) {
        line(counter.name, counter.value);
    }
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    line("mobiles", number(sgsn.mobiles_len()));
    line("pdp_contexts", number(sgsn.contexts().len()));
    line("queued_ll_pdus", sgsn.gb().flow.queued_pdus().into());
    if let Some(flows) = sgsn.flows() {
        let (queues, totals) = (flows.queues(), flows.queues().totals());
        line("queued_n_pdus", queues.queued().pdus.into());
        line("queued_n_pdu_octets", queues.queued().octets);
        line("held_n_pdus", flows.held().into());
        line("flow_offered", totals.offered);
        line("flow_drained", totals.drained);
        for (turn, served) in Turn::ALL.into_iter().zip(totals.served) {
            line(read_name(turn), served);
        }
        let cost = flows.pace().cost();
        line("cost_ns_per_n_pdu", cost.per_pdu_ns.into());
        line("cost_ns_per_1024_octets", cost.per_1024_octets_ns.into());
    } else {
        line("queued_n_pdus", number(sgsn.held_len()));
    }
    if let Some(uplink) = sgsn.uplink() {
        line("queued_uplink_ll_pdus", uplink.queued().into());
    }
    line("frames_free", number(frames.free()));
    line("frames_total", number(frames.capacity()));
    line("frames_exhausted", frames.exhausted());
    for (drop, count) in drops.raised() {
        line(drop.name(), count);
    }
}

const fn read_name(turn: Turn) -> &'static str {
    match turn {
        Turn::Signalling => "read_signalling",
        Turn::RealTime => "read_real_time",
        Turn::Lifted => "read_lifted",
        Turn::Fresh => "read_fresh",
        Turn::BestEffort => "read_best_effort",
    }
}

/// `show scheduler`.
pub fn scheduler(sgsn: &Sgsn, out: &mut String) {
    let Some(flows) = sgsn.flows() else {
        let _ = writeln!(out, "N-PDUs are processed in the order of their arrival: there is no scheduler.");
        return;
    };
    let (queues, totals) = (flows.queues(), flows.queues().totals());
    let (queued, config) = (queues.queued(), sgsn.config());
    let _ = writeln!(
        out,
        "{} N-PDUs of {} wait, {} octets; {} may be served now, {} wait for mobiles that are paged or suspended",
        queued.pdus,
        config.queue.pdus_max,
        queued.octets,
        queues.ready(),
        flows.held()
    );
    if queues.has_enough() {
        let _ = writeln!(out, "  best effort stays in its ring now: of so many contexts enough wait");
    }
    let [signalling, real_time, lifted, fresh, best_effort] = totals.served;
    let _ = writeln!(
        out,
        "  served: {real_time} real time, {lifted} high precedence ahead of others, {fresh} of flows that \
         had nothing waiting, {best_effort} other best effort, {signalling} signalling"
    );
    let _ = writeln!(out, "  offered {}, given back {}", totals.offered, totals.drained);
    for (drop, count) in totals.drops.raised() {
        let _ = writeln!(out, "  {} {count}: {}", drop.name(), drop.sentence());
    }
    if let Some(uplink) = sgsn.uplink() {
        let _ = writeln!(
            out,
            "  {} LL-PDUs of user data from mobiles wait of {}, those of {} mobiles are dropped at the driver meanwhile",
            uplink.queued(),
            config.queue.uplink_pdus_max,
            sgsn.mobiles().filter(|(slot, _)| uplink.is_blocked(*slot)).count()
        );
    }
    let cost = flows.pace().cost();
    let _ = writeln!(
        out,
        "  an N-PDU costs {} ns, and {} ns for each 1024 octets, as measured",
        cost.per_pdu_ns, cost.per_1024_octets_ns
    );
}

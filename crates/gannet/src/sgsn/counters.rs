//! Counters for programs, and the scheduler for persons.

use super::known::KNOWN;
use super::{SgsnNode, paths, show};
use crate::node::Table;
use crate::node::show as common;
use crate::node::statistics::{PARTS_STEP, number};
use core::fmt::Write as _;
use gannet_node::sgsn::Sgsn;
use gannet_ops::config::sgsn::SgsnConfig;
use gannet_ops::metrics::{Class, Group, Level, Metric, of_view, osmocom};
use gannet_proto::bssgp::bvc::{Bvc, Nse};
use gannet_proto::ns::NsVc;
use gannet_qos::flow_queues::Turn;
use gannet_rt::Access;

const NODE: Class = Class {
    name: "",
    osmocom: "sgsn",
    title: "SGSN Overall Statistics",
    level: Level::Global,
    lines: Some(""),
};

/// A part of what the node counts: first the node with its paths, then its NS-VCs, BVCs and GGSNs, some in each part.
pub fn groups(
    node: &SgsnNode,
    config: &SgsnConfig,
    part: usize,
    access: &mut Access<'_>,
    groups: &mut Vec<Group>,
) -> bool {
    let now = access.now();
    let Some(sgsn) = access.look_at(node.machine) else { return false };
    let Some(part) = part.checked_sub(1) else {
        let mut group = node_group(sgsn);
        node.records.borrow().add_to(&mut group);
        groups.push(group);
        paths::groups(access, groups);
        binds(node, access, groups);
        return true;
    };
    let local = |port| node.local(port);
    let shown = common::Shown { now, local: &local, stats: true };
    let mut peers = peers(sgsn, config).skip(part * PARTS_STEP);
    groups.extend(peers.by_ref().take(PARTS_STEP).map(|peer| peer.group(sgsn, shown)));
    peers.next().is_some()
}

/// The sockets of NS.
fn binds(node: &SgsnNode, access: &Access<'_>, groups: &mut Vec<Group>) {
    let path = access.kernel_path();
    for (place, (name, _)) in node.binds.iter().enumerate() {
        let port = super::mapping::port_of(place);
        let waiting = path.sockets.iter().filter(|socket| socket.port == port).map(|socket| socket.waiting);
        groups.push(of_view::ns_bind(place, name, number(waiting.sum())));
    }
}

/// Something beside the node that counts.
enum Peer<'s> {
    Vc(&'s NsVc),
    NsNse(&'s gannet_proto::ns::Nse),
    Nse(&'s Nse),
    Cell(u32, &'s Bvc),
    Ggsn(gannet_ops::view::GgsnPeer),
}

fn peers<'s>(sgsn: &'s Sgsn, config: &SgsnConfig) -> impl Iterator<Item = Peer<'s>> {
    let gb = sgsn.gb();
    let bvcs = gb.bvcs.nses().map(Peer::Nse).chain(gb.bvcs.bvcs().map(|(index, bvc)| Peer::Cell(index, bvc)));
    let ggsns = show::ggsns(sgsn, config).into_iter().map(Peer::Ggsn);
    gb.ns.vcs().map(Peer::Vc).chain(gb.ns.nses().map(Peer::NsNse)).chain(bvcs).chain(ggsns)
}

impl Peer<'_> {
    fn group(self, sgsn: &Sgsn, shown: common::Shown<'_>) -> Group {
        let now = shown.now;
        match self {
            Self::Vc(vc) => of_view::ns_vc(vc.nsei(), &common::ns_vc(vc, shown)),
            Self::NsNse(nse) => {
                let mut stats = gannet_ops::view::NsVcStats::default();
                let vcs = nse.vcs().iter().filter_map(|index| sgsn.gb().ns.vc(*index));
                vcs.for_each(|vc| stats.add(&common::ns_vc_stats(vc)));
                of_view::nse(nse.nsei(), &stats)
            }
            Self::Nse(nse) => of_view::bvc(&show::signalling_bvc(nse, true)),
            Self::Cell(index, bvc) => {
                let flow_control = show::flow_control(sgsn, now, index);
                of_view::bvc(&gannet_ops::view::Bvc { flow_control, ..show::cell_bvc(bvc, true) })
            }
            Self::Ggsn(ggsn) => of_view::ggsn(&ggsn),
        }
    }
}

/// What the SGSN counts as a whole. Names stay as they are.
fn node_group(sgsn: &Sgsn) -> Group {
    let stats = sgsn.stats();
    let mut group = Group::single(&NODE);
    osmocom::counters(&KNOWN, stats).into_iter().for_each(|metric| group.add(metric));
    let counter = Metric::counter;
    for metric in [
        counter("service_requests", "SERVICE REQUEST received", stats.messages.service_requests),
        counter("n_pdu_downlink", "N-PDUs that came from GGSNs for a mobile", stats.n_pdu_downlink),
        counter("n_pdu_uplink", "N-PDUs that went to GGSNs", stats.n_pdu_uplink),
        counter("attached", "attach procedures that ended well", stats.attached),
        counter("activated", "PDP context activations that ended well", stats.activated),
        counter("pagings", "PAGING-PS sent", stats.pagings),
        counter("flushes", "FLUSH-LL sent", stats.flushes),
        counter("octets_moved", "octets that BSSs moved to another cell", stats.octets_moved),
        counter("octets_deleted", "octets that BSSs deleted at a cell change", stats.octets_deleted),
        counter(
            "n_pdu_confirmed",
            "N-PDUs that mobiles confirmed in acknowledged mode",
            stats.n_pdu_confirmed,
        ),
        counter("links_lost", "links of acknowledged mode that ended unasked, by context", stats.links_lost),
        counter("overloads", "OVERLOAD sent", stats.overloads),
    ] {
        group.add(metric);
    }
    add_admission(sgsn, &mut group);
    let gb = sgsn.gb();
    let unblocked = gb.ns.vcs().filter(|vc| vc.state() == gannet_proto::ns::VcState::Unblocked).count();
    for (name, help, value) in [
        ("mobiles", "mobiles with an MM context", number(sgsn.mobiles_len())),
        ("pdp_contexts", "PDP contexts", number(sgsn.contexts().len())),
        ("ns_vcs", "NS-VCs", number(gb.ns.vcs().count())),
        ("ns_vcs_unblocked", "NS-VCs that are unblocked", number(unblocked)),
        ("links", "links in acknowledged mode", number(sgsn.unconfirmed().links)),
        (
            "n_pdus_unconfirmed",
            "N-PDUs that wait for a mobile's confirmation",
            number(sgsn.unconfirmed().n_pdus),
        ),
        (
            "n_pdu_octets_unconfirmed",
            "octets of N-PDUs that wait for a mobile's confirmation, or for that of LLC alone",
            number(sgsn.unconfirmed().octets),
        ),
        ("cells", "BVCs of cells", number(gb.bvcs.bvcs().count())),
        ("queued_ll_pdus", "LL-PDUs that wait for flow control", gb.flow.queued_pdus().into()),
    ] {
        group.add(Metric::gauge(name, help, value));
    }
    add_queues(sgsn, &mut group);
    group
}

/// How full its tables are.
pub fn tables(sgsn: &Sgsn) -> Vec<Table> {
    let (config, gb) = (sgsn.config(), sgsn.gb());
    let mut tables = vec![
        Table::limited("mobiles", sgsn.mobiles_len(), config.mobiles_max),
        Table::limited("PDP contexts", sgsn.contexts().len(), config.contexts_limit()),
        Table::limited("cells", gb.bvcs.bvcs().count(), config.cells_max as usize),
        Table::unlimited("NSEs", gb.ns.nses().count()),
        Table::unlimited("NS-VCs", gb.ns.vcs().count()),
        Table::unlimited("LL-PDUs that wait for flow control", gb.flow.queued_pdus() as usize),
        Table::unlimited("links in acknowledged mode", sgsn.unconfirmed().links),
    ];
    if let Some(flows) = sgsn.flows() {
        let queued = flows.queues().queued().pdus as usize;
        tables.push(Table::limited(
            "N-PDUs in the queues of contexts",
            queued,
            config.queue.pdus_max as usize,
        ));
    }
    tables
}

/// Rates that are guaranteed.
fn add_admission(sgsn: &Sgsn, group: &mut Group) {
    let (admission, stats) = (sgsn.admission(), sgsn.admission().stats());
    for (name, help, value) in [
        ("qos_admitted", "guaranteed rates that were given", stats.admitted),
        ("qos_lowered", "activations that got a class without the guarantee that did not fit", stats.lowered),
        ("qos_rejected", "activations that were rejected since a guarantee did not fit", stats.rejected),
        ("qos_suspended", "guaranteed rates that a cell had no room for later", stats.suspended),
        ("qos_resumed", "of these, what was given again", stats.resumed),
    ] {
        group.add(Metric::counter(name, help, value));
    }
    let (claims, suspended) = admission.len();
    let rate = "octets/s that are guaranteed in all cells";
    group.add(Metric::gauge("qos_guaranteed_octets_per_s", rate, admission.node_octets_per_s()));
    group.add(Metric::gauge("qos_claims", "PDP contexts with a guaranteed rate", number(claims)));
    let help = "of these, those whose cell has no room for it now";
    group.add(Metric::gauge("qos_claims_suspended", help, number(suspended)));
}

/// The queues before the stack.
fn add_queues(sgsn: &Sgsn, group: &mut Group) {
    let n_pdus = "N-PDUs that wait in the queues of their contexts, or are held";
    let Some(flows) = sgsn.flows() else {
        group.add(Metric::gauge("queued_n_pdus", n_pdus, number(sgsn.held_len())));
        return;
    };
    let (queues, totals) = (flows.queues(), flows.queues().totals());
    group.add(Metric::gauge("queued_n_pdus", n_pdus, queues.queued().pdus.into()));
    group.add(Metric::gauge("queued_n_pdu_octets", "octets of these", queues.queued().octets));
    let held = "N-PDUs that wait for mobiles that are paged or suspended";
    group.add(Metric::gauge("held_n_pdus", held, flows.held().into()));
    group.add(Metric::counter("flow_offered", "N-PDUs that came to the queues of contexts", totals.offered));
    group.add(Metric::counter("flow_drained", "N-PDUs that the queues gave back unserved", totals.drained));
    for (turn, served) in Turn::ALL.into_iter().zip(totals.served) {
        let (name, help) = read_name(turn);
        group.add(Metric::counter(name, help, served));
    }
    let cost = flows.pace().cost();
    group.add(Metric::gauge("cost_ns_per_n_pdu", "what an N-PDU costs, as measured", cost.per_pdu_ns.into()));
    let help = "what each 1024 octets of it cost, as measured";
    group.add(Metric::gauge("cost_ns_per_1024_octets", help, cost.per_1024_octets_ns.into()));
    if let Some(uplink) = sgsn.uplink() {
        let help = "LL-PDUs of user data from mobiles that wait";
        group.add(Metric::gauge("queued_uplink_ll_pdus", help, uplink.queued().into()));
    }
}

const fn read_name(turn: Turn) -> (&'static str, &'static str) {
    match turn {
        Turn::Signalling => ("read_signalling", "signalling that was served"),
        Turn::RealTime => ("read_real_time", "N-PDUs of real time that were served"),
        Turn::Lifted => ("read_lifted", "N-PDUs of high precedence that were served ahead of others"),
        Turn::Fresh => ("read_fresh", "N-PDUs of flows that had nothing waiting that were served"),
        Turn::BestEffort => ("read_best_effort", "other N-PDUs of best effort that were served"),
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
    let (unconfirmed, most) = (sgsn.unconfirmed().octets, config.unconfirmed_octets_max);
    let _ = writeln!(out, "  {unconfirmed} octets of N-PDUs of {most} wait for mobiles' confirmation");
    let cost = flows.pace().cost();
    let _ = writeln!(
        out,
        "  an N-PDU costs {} ns, and {} ns for each 1024 octets, as measured",
        cost.per_pdu_ns, cost.per_1024_octets_ns
    );
}

//! Groups from what `show …` prints.

use super::{Class, Group, Known, Level, Metric};
use crate::view::{Bvc, Cell, GgsnApn, GgsnPeer, NsVc, NsVcStats, RadioCell, mobile_metrics};
use gannet_proto::rlcmac::mobile::MobileCounts;
use gannet_wire::id::Nsei;

const fn of_peers(name: &'static str, osmocom: &'static str, title: &'static str) -> Class {
    Class { name, osmocom, title, level: Level::Peer, lines: None }
}

/// An NS-VC.
pub const NS_VC: Class = of_peers("ns_vc", "ns:nsvc", "NSVC Peer Statistics");
/// An NSE.
pub const NSE: Class = of_peers("nse", "ns:nse", "NSE Peer Statistics");
/// A socket of NS.
pub const NS_BIND: Class = of_peers("ns_bind", "ns.bind", "NS Bind Statistics");
/// A BVC.
pub const BVC: Class = of_peers("bvc", "bssgp:bss_ctx", "BSSGP Peer Statistics");
/// A GGSN, seen from an SGSN.
pub const GGSN: Class = of_peers("ggsn", "ggsn", "GGSN");
/// An access point of a GGSN.
pub const APN: Class = of_peers("apn", "apn", "Access point");
/// A cell of the BSS emulator.
pub const CELL: Class = of_peers("cell", "cell", "Cell");

/// The radio of a cell, with RLC/MAC.
pub const RADIO: Class = of_peers("radio", "radio", "Radio");
/// RLC/MAC of all mobiles together.
pub const RADIO_MOBILES: Class = Class {
    name: "radio_mobiles",
    osmocom: "radio_mobiles",
    title: "RLC/MAC of the mobiles",
    level: Level::Global,
    lines: None,
};

/// An NS-VC with its counters.
#[must_use]
pub fn ns_vc(nsei: Nsei, vc: &NsVc) -> Group {
    let mut labels = vec![("nsei", nsei.0.to_string())];
    // Without an NSVCI it is named by where its peer is.
    match vc.nsvci {
        Some(nsvci) => labels.push(("nsvci", nsvci.0.to_string())),
        None => labels.push(("remote", vc.remote.to_string())),
    }
    let mut group = Group::labelled(&NS_VC, labels).numbered(vc.number, Some(vc.title(nsei)));
    let stats = vc.stats.unwrap_or_default();
    stats.counters().into_iter().for_each(|metric| group.add(metric));
    group.add(stats.delay());
    let unblocked = u64::from(vc.state == "UNBLOCKED");
    for metric in [
        // Osmocom's tools have a counter of the name.
        Metric::gauge("unblocked", "1 while the NS-VC is unblocked", unblocked).known_as_gauge(Known {
            name: "in_service",
            label: "NS-VC in service",
            unit: "",
        }),
        Metric::counter("resets", "how often the NS-VC was reset", stats.resets),
    ] {
        group.add(metric);
    }
    group
}

/// An NSE: its NS-VCs together.
#[must_use]
pub fn nse(nsei: Nsei, stats: &NsVcStats) -> Group {
    let mut group = Group::labelled(&NSE, vec![("nsei", nsei.0.to_string())]);
    stats.counters().into_iter().for_each(|metric| group.add(metric));
    group
}

/// A socket of NS, by its place in the configuration, and how many datagrams wait in front of it.
#[must_use]
pub fn ns_bind(place: usize, name: &str, waiting: u64) -> Group {
    let known = Known { name: "tx_backlog_length", label: "Transmit backlog length", unit: "packets" };
    let mut group = Group::labelled(&NS_BIND, vec![("bind", name.to_owned())]).numbered(place, None);
    let help = "datagrams that wait in front of the socket";
    group.add(Metric::gauge("waiting_datagrams", help, waiting).known_as_gauge(known));
    group
}

/// A BVC with what waits for it.
#[must_use]
pub fn bvc(bvc: &Bvc) -> Group {
    let labels = vec![("nsei", bvc.nsei.0.to_string()), ("bvci", bvc.bvci.0.to_string())];
    let mut group = Group::labelled(&BVC, labels).numbered(bvc.bvci.0, None);
    let stats = bvc.stats.unwrap_or_default();
    stats.counters().into_iter().for_each(|metric| group.add(metric));
    let unblocked = u64::from(bvc.state == "UNBLOCKED");
    group.add(Metric::gauge("unblocked", "1 while the BVC is unblocked", unblocked));
    // A signalling BVC has no bucket (08.18 clause 8.2), yet the same metrics as all.
    let flow = bvc.flow_control;
    let value = |of: fn(crate::view::FlowControl) -> u64| flow.map_or(0, of);
    for metric in [
        Metric::gauge("bmax_octets", "Bmax of the cell", value(|flow| flow.bmax_octets)),
        Metric::gauge("rate_octets_per_s", "leak rate R of the cell", value(|flow| flow.rate_octets_per_s)),
        Metric::gauge("bucket_octets", "what the bucket of the cell holds", value(|flow| flow.bucket_octets)),
        Metric::gauge("queued_pdus", "LL-PDUs that wait for the cell", value(|flow| flow.queued_pdus)),
        Metric::gauge("queued_octets", "octets that wait for the cell", value(|flow| flow.queued_octets)),
        Metric::gauge(
            "guaranteed_octets_per_s",
            "what of the leak rate is guaranteed",
            value(|flow| flow.guaranteed_octets_per_s),
        ),
    ] {
        group.add(metric);
    }
    group
}

/// A GGSN and the path to it.
#[must_use]
pub fn ggsn(ggsn: &GgsnPeer) -> Group {
    let labels = vec![("ggsn", ggsn.number.to_string()), ("remote", ggsn.address.to_string())];
    let mut group = Group::labelled(&GGSN, labels);
    group.add(Metric::gauge("path_up", "1 while the GTP path answers", u64::from(ggsn.path == "up")));
    group.add(Metric::gauge("pdp_contexts", "PDP contexts through the GGSN", ggsn.pdp_contexts));
    group
}

/// An access point of a GGSN.
#[must_use]
pub fn apn(ggsn: &str, apn: &GgsnApn) -> Group {
    let mut group = Group::labelled(&APN, vec![("ggsn", ggsn.to_owned()), ("apn", apn.name.clone())]);
    let of = &apn.counters;
    for (name, help, value) in [
        ("addresses_used", "IPv4 addresses of the pools in use", apn.ipv4.0),
        ("addresses", "IPv4 addresses of the pools", apn.ipv4.1),
        ("prefixes_used", "IPv6 prefixes of the pools in use", apn.ipv6.0),
        ("prefixes", "IPv6 prefixes of the pools", apn.ipv6.1),
        ("pdp_contexts", "PDP contexts", of.pdp_contexts),
    ] {
        group.add(Metric::gauge(name, help, value));
    }
    let volumes = of.volumes;
    for (name, help, value) in [
        ("created", "PDP contexts created", of.created),
        ("deleted", "PDP contexts deleted", of.deleted),
        ("idle", "PDP contexts that have ended for want of traffic", of.idle),
        ("refused", "requests refused", of.refused),
        ("n_pdu_downlink", "N-PDUs to mobiles", volumes.downlink_n_pdus),
        ("octets_downlink", "octets of these", volumes.downlink_octets),
        ("n_pdu_uplink", "N-PDUs of mobiles", volumes.uplink_n_pdus),
        ("octets_uplink", "octets of these", volumes.uplink_octets),
        ("n_pdu_uplink_dropped", "N-PDUs of mobiles that were dropped", of.uplink_dropped),
        ("n_pdu_over_rate", "N-PDUs beyond the maximum bit rate", of.over_rate),
    ] {
        group.add(Metric::counter(name, help, value));
    }
    group
}

/// A cell of the BSS emulator.
#[must_use]
pub fn cell(cell: &Cell) -> Group {
    let labels = vec![("cell", cell.number.to_string())];
    let mut group = Group::labelled(&CELL, labels);
    group.add(Metric::gauge(
        "unblocked",
        "1 while its BVC is unblocked",
        u64::from(cell.state == "UNBLOCKED"),
    ));
    group.add(Metric::gauge("queued_pdus", "PDUs that wait for its radio", cell.queued_pdus));
    group
}

/// The radio of a cell.
#[must_use]
pub fn radio(cell: &RadioCell) -> Group {
    let mut group = Group::labelled(&RADIO, vec![("cell", cell.number.to_string())]);
    cell.metrics().into_iter().for_each(|metric| group.add(metric));
    group
}

/// What mobiles have counted together.
#[must_use]
pub fn radio_mobiles(counts: &MobileCounts) -> Group {
    let mut group = Group::single(&RADIO_MOBILES);
    mobile_metrics(counts).into_iter().for_each(|metric| group.add(metric));
    group
}

#[cfg(test)]
mod tests {
    use super::super::prometheus::Page;
    use super::*;
    use crate::view::{FlowControl, NsVcStats};
    use gannet_wire::id::{Bvci, Nsvci};

    #[test]
    fn labels_name_the_object() {
        let mut vc = NsVc {
            number: 0,
            nsvci: Some(Nsvci(101)),
            local: None,
            remote: "127.0.0.1:22000".parse().unwrap(),
            state: "UNBLOCKED",
            since: gannet_machine::time::Duration(0),
            is_configured: false,
            weights: None,
            stats: Some(NsVcStats { rx_pdus: 7, ..NsVcStats::default() }),
        };
        let named = ns_vc(Nsei(5), &vc);
        vc.nsvci = None;
        let unnamed = ns_vc(Nsei(5), &vc);
        assert_eq!((named.index.as_str(), unnamed.index.as_str()), ("5-101", "5-127-0-0-1-22000"));
        let page = Page::new("sgsn", vec![named, unnamed]).whole();
        for line in [
            "gannet_sgsn_ns_vc_rx_pdus_total{nsei=\"5\",nsvci=\"101\"} 7\n",
            "gannet_sgsn_ns_vc_unblocked{nsei=\"5\",remote=\"127.0.0.1:22000\"} 1\n",
        ] {
            assert!(page.contains(line), "{page}");
        }
    }

    #[test]
    fn groups_of_a_class_have_the_same_metrics() {
        let mut view = Bvc {
            nsei: Nsei(5),
            bvci: Bvci(0),
            cell: None,
            state: "BLOCKED",
            flow_control: None,
            stats: None,
        };
        let names = |group: &Group| group.metrics.iter().map(|metric| metric.name).collect::<Vec<_>>();
        let signalling = bvc(&view);
        view.flow_control = Some(FlowControl {
            bmax_octets: 1,
            rate_octets_per_s: 2,
            bucket_octets: 3,
            queued_pdus: 4,
            queued_pdus_max: 30,
            queued_octets: 5,
            queued_ms: 6,
            guaranteed_octets_per_s: 7,
        });
        let cell = bvc(&view);
        assert_eq!(names(&signalling), names(&cell));
        let values: Vec<u64> = cell.metrics.iter().map(|metric| metric.value).collect();
        assert_eq!(values, [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 7]);
    }
}

//! What an operator wrote, as the SGSN node takes it.

mod ns;

pub use ns::port_of;

use super::paths::Paths;
use super::{Plan, service};
use core::net::{IpAddr, SocketAddr};
use gannet_machine::time::Duration;
use gannet_node::sgsn::subscribers::SubscriberConfig;
use gannet_node::sgsn::{ApnRoute, CellChange, GgsnPeer, LeftBehind, PduLifetimes, SgsnConfig};
use gannet_ops::config::BusyPoll;
use gannet_ops::config::gtp::ECHO_INTERVAL_S;
use gannet_ops::config::sgsn::{self as ops, GmmTimer};
use gannet_proto::auth::AuthPolicy;
use gannet_proto::auth::vectors::Ciphers;
use gannet_proto::bssgp::flow_control::{
    self, Amount, Bucket, BvcParameters, Limit, Limits, RealTimeShare, WaitQuantum, Watermark, Watermarks,
};
use gannet_proto::gmm::network::{GmmConfig, NetworkNames};
use gannet_proto::gtp::Version;
use gannet_proto::sm::network::SmConfig;
use gannet_proto::sndcp::SndcpConfig;
use gannet_proto::user_plane::UserPlaneConfig;
use gannet_wire::gtp;
use gannet_wire::l3::ie::{GprsTimer, SmCause};

/// The longest LL-PDU with its headers, for limits in octets that follow from limits in PDUs.
const LL_PDU_OCTETS_MAX: u64 = 1600;
/// So much longer than `send-delay` a mobile rests at the most that has used up its bucket.
const RESTS: u64 = 10;

/// Contexts of GTPv0 that a driver can know where no GGSN speaks that at the start.
const CONTEXTS_V0: usize = 1024;

/// The node's configuration.
///
/// # Errors
/// What cannot be done as configured.
pub fn plan(config: &ops::SgsnConfig, remarks: &mut Vec<String>) -> Result<Plan, String> {
    let gtp_address = IpAddr::V4(config.gtp_local_ip.ok_or("add 'gtp local-ip A.B.C.D' under 'sgsn'")?);
    let binds = ns::binds(&config.ns)?;
    let gb = binds.first().map_or(SocketAddr::new(gtp_address, 0), |(_, first)| *first);
    let defaults = SgsnConfig::default();
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let held = u32::from(config.limits.held_n_pdus);
    let mut node = SgsnConfig {
        mobiles_max: config.limits.mobiles as usize,
        cells_max: config.limits.cells,
        gtp_address,
        gtp_second_address: config.gn.ipv6.map(IpAddr::V6),
        source_check: crate::node::gn::source_check(&config.gn),
        failure_delay: crate::node::gn::failure_delay(&config.gn),
        gtp_peers: config.gn.peers.keys().copied().collect(),
        echo_interval: other_echo_interval(config),
        echo_intervals: echo_intervals(config),
        t3_response: seconds(config.gtp_retry.t3_response_s.into()),
        n3_requests: config.gtp_retry.n3_requests,
        ggsns: ggsns(config),
        apns: apns(config),
        gmm: gmm(config, remarks),
        sm: sm(config, remarks),
        ggsn_restart_cause: match config.sessions.no_reactivation {
            true => SmCause::NetworkFailure,
            false => SmCause::ReactivationRequired,
        },
        ns: ns::timers(&config.ns),
        nsvcs: ns::nsvcs(&config.ns)?,
        open: ns::open(&config.ns, |bind| bind.accept_ipaccess),
        ip_sns: ns::ip_sns(&config.ns)?,
        subscribers: subscribers(config)?,
        flow: flow(config),
        n201_u: Some(config.llc.n201_u),
        user_plane: UserPlaneConfig {
            sndcp: SndcpConfig { compression: config.compression, ..SndcpConfig::default() },
            links: config.links,
            ..UserPlaneConfig::default()
        },
        unconfirmed_octets_max: config.limits.unconfirmed_octets as usize,
        pdu_lifetime: pdu_lifetimes(&config.bssgp),
        cell_change: CellChange {
            left_behind: left_behind(config.bssgp.cell_change.left_behind),
            flushes_new_cell: false,
            flush_timeout: Duration::from_millis(config.bssgp.cell_change.flush_timeout_ms.into()),
            reselection_timeout: seconds(config.bssgp.cell_change.reselection_timeout_s.into()),
        },
        overload_interval: config.bssgp.overload_interval_s.map(|interval| seconds(interval.into())),
        held_per_mobile_max: held,
        held_max: defaults.held_max.max(held),
        reassembly_timeout: seconds(config.llc.reassembly_s.into()),
        ..defaults
    };
    service::apply(config, &mut node, remarks);
    if config.charging.trap && config.common.ctrl.is_none() {
        remarks.push("cdr trap: nobody can listen; add 'ctrl' with 'bind A.B.C.D'".to_owned());
    }
    let user = SocketAddr::new(gtp_address, gtp::PORT_USER);
    let contexts = node.contexts_limit();
    let contexts_v0 = if speaks_v0(config) { contexts } else { contexts.min(CONTEXTS_V0) };
    let service = (&config.service, BusyPoll::of::<gannet_ops::Sgsn>(config));
    let paths = Paths::new(service, (user, contexts, contexts_v0), (gb, node.mobiles_max));
    Ok(Plan {
        binds,
        frames: service::frames(&config.service, &node),
        paths,
        config: node,
        ciphers: gannet_rt::gea::best(),
        record: None,
    })
}

/// The node's configuration while it runs with these sockets of NS.
///
/// # Errors
/// As [`plan`].
pub fn plan_at(
    config: &ops::SgsnConfig,
    sockets: &[(String, SocketAddr)],
    remarks: &mut Vec<String>,
) -> Result<Plan, String> {
    plan(config, &mut Vec::new())?;
    plan(&ops::SgsnConfig { ns: ns::at_sockets(&config.ns, sockets), ..config.clone() }, remarks)
}

/// How the HLR is reached, as far as a connection hangs on it.
pub fn link_to_hlr(config: &ops::SgsnConfig) -> Option<(SocketAddr, Option<&str>)> {
    hlr(config).map(|to| (to, config.access.gsup_ipa_name.as_deref()))
}

/// What cannot be done as configured: all of what [`plan`] refuses, but for the address that the configuration lacks as a whole.
pub fn problems(config: &ops::SgsnConfig) -> Vec<String> {
    let is_incomplete = config.ns.binds.iter().any(|bind| bind.listen.is_none());
    let bind = ns::binds(&config.ns).err().filter(|_| !is_incomplete);
    let nsvcs = ns::nsvcs(&config.ns).err();
    let subscribers = subscribers(config).err();
    bind.into_iter().chain(nsvcs).chain(ns::ip_sns(&config.ns).err()).chain(subscribers).collect()
}

/// Where the HLR listens, where one is asked.
pub fn hlr(config: &ops::SgsnConfig) -> Option<SocketAddr> {
    let access = &config.access;
    let address = access.gsup_remote_ip.filter(|_| access.policy == ops::Policy::Remote)?;
    Some(SocketAddr::from((address, access.gsup_remote_port)))
}

/// Who may attach.
fn subscribers(config: &ops::SgsnConfig) -> Result<SubscriberConfig, String> {
    let ops::Access { policy, acl, authentication, gea, gsup_ipa_name, .. } = &config.access;
    let defaults = SubscriberConfig::default();
    let acl = acl.iter().map(|imsi| imsi.parse().map_err(|_| format!("imsi-acl: '{imsi}' is no IMSI")));
    Ok(SubscriberConfig {
        policy: match policy {
            ops::Policy::AcceptAll => AuthPolicy::AcceptAll,
            ops::Policy::AclOnly => AuthPolicy::AclOnly,
            ops::Policy::Closed => AuthPolicy::Closed,
            ops::Policy::Remote => AuthPolicy::Remote,
        },
        acl: acl.collect::<Result<_, _>>()?,
        authentication: authentication.unwrap_or(true),
        ciphers: Ciphers(gea.iter().fold(0, |bits, gea| bits | 1 << gea)),
        unit_name: gsup_ipa_name.clone().unwrap_or(defaults.unit_name),
        ..defaults
    })
}

fn ggsns(config: &ops::SgsnConfig) -> Vec<GgsnPeer> {
    let peer = |(number, ggsn): (&u8, &ops::GgsnPeer)| {
        Some(GgsnPeer { number: (*number).into(), address: ggsn.remote_ip?, version: gtp_version(ggsn) })
    };
    config.ggsns.iter().filter_map(peer).collect()
}

/// The version of GTP that a GGSN is spoken to in.
pub const fn gtp_version(ggsn: &ops::GgsnPeer) -> Version {
    match ggsn.gtp_version {
        ops::GtpVersion::V0 => Version::V0,
        ops::GtpVersion::V1 => Version::V1,
    }
}

/// A GGSN is spoken to in version 0.
fn speaks_v0(config: &ops::SgsnConfig) -> bool {
    config.ggsns.values().any(|ggsn| gtp_version(ggsn) == Version::V0)
}

fn apns(config: &ops::SgsnConfig) -> Vec<ApnRoute> {
    let ggsns: Vec<u8> = config.ggsns.keys().copied().collect();
    let routes = config.apns.iter().filter_map(|route| {
        let ggsn = ggsns.iter().position(|number| *number == route.ggsn)?;
        let imsi_prefix = route.imsi_prefix.clone().unwrap_or_default();
        Some(ApnRoute { apn: route.apn.clone(), imsi_prefix, ggsn })
    });
    routes.collect()
}

/// How often each GGSN is tested.
fn echo_intervals(config: &ops::SgsnConfig) -> Vec<(IpAddr, Duration)> {
    let of = |ggsn: &ops::GgsnPeer| {
        let seconds = ggsn.echo_interval_s.unwrap_or_default();
        Some((ggsn.remote_ip?, Duration::from_secs(seconds.into())))
    };
    config.ggsns.values().filter_map(of).collect()
}

/// How often the other addresses are tested that GGSNs name: not where no GGSN is.
fn other_echo_interval(config: &ops::SgsnConfig) -> Duration {
    let is_tested = |ggsn: &ops::GgsnPeer| ggsn.echo_interval_s.is_some();
    let seconds = if config.ggsns.values().any(is_tested) { ECHO_INTERVAL_S } else { 0 };
    Duration::from_secs(seconds.into())
}

/// A timer that mobiles are told: 0 switches it off, and not every number can be said (04.08 clause 10.5.7.3).
fn told(timers: &ops::GmmTimers, timer: GmmTimer, remarks: &mut Vec<String>) -> GprsTimer {
    let seconds = timers.get_s(timer);
    if seconds == 0 {
        return GprsTimer::DEACTIVATED;
    }
    let told = GprsTimer::from_seconds(seconds);
    if told.seconds() != Some(seconds) {
        remarks.push(format!("timer {timer} {seconds}: mobiles can be told {told}, which holds"));
    }
    told
}

fn gmm(config: &ops::SgsnConfig, remarks: &mut Vec<String>) -> GmmConfig {
    let (timers, mobility) = (&config.timers, &config.mobility);
    let span = |timer| Duration::from_secs(timers.get_s(timer).into());
    GmmConfig {
        t3312: told(timers, GmmTimer::T3312, remarks),
        t3314: told(timers, GmmTimer::T3314, remarks),
        t3313: span(GmmTimer::T3313),
        t3322: span(GmmTimer::T3322),
        t3350: span(GmmTimer::T3350),
        t3360: span(GmmTimer::T3360),
        t3370: span(GmmTimer::T3370),
        authenticate_updates: mobility.authenticates_updates,
        signatures: mobility.signatures(&config.access),
        ask_imei: mobility.asks_imei(),
        names: NetworkNames { full: mobility.long_name.clone(), short: mobility.short_name.clone() },
        ..GmmConfig::default()
    }
}

fn sm(config: &ops::SgsnConfig, remarks: &mut Vec<String>) -> SmConfig {
    let timers = &config.timers;
    for timer in [GmmTimer::T3316, GmmTimer::T3397] {
        if timers.get_s(timer) != timer.default_s() {
            remarks.push(format!("timer {timer}: there is no such procedure here, so it has no effect"));
        }
    }
    let span = |timer| Duration::from_secs(timers.get_s(timer).into());
    SmConfig {
        t3385: span(GmmTimer::T3385),
        t3386: span(GmmTimer::T3386),
        t3395: span(GmmTimer::T3395),
        accept_ti_flag: !config.sessions.strict_flag,
        ..SmConfig::default()
    }
}

fn flow(config: &ops::SgsnConfig) -> flow_control::Config {
    let bssgp = &config.bssgp;
    let bucket = |bucket: ops::Bucket| Bucket {
        bmax_octets: bucket.bmax_octets.into(),
        rate_bit_per_s: u64::from(bucket.rate_octets_per_s) * 8,
    };
    let limit = |pdus: u16| Limit { pdus: pdus.into(), octets: u64::from(pdus) * LL_PDU_OCTETS_MAX };
    let defaults = flow_control::Config::default();
    flow_control::Config {
        // So that many may wait for their own buckets and the table is not full for the others; each takes a frame.
        pdus_max: config.limits.mobiles.saturating_mul(4).clamp(defaults.pdus_max, 65_536),
        initial: BvcParameters { bvc: bucket(bssgp.bvc), default_ms: bucket(bssgp.ms) },
        data: Limits { ms: limit(bssgp.queue_ms_pdus), cell: limit(bssgp.queue_cell_pdus) },
        feedback: Some(Watermarks {
            ms: watermark(bssgp.watermark_ms),
            cell: watermark(bssgp.watermark_cell),
        }),
        real_time: RealTimeShare { percent: bssgp.real_time_percent, ..defaults.real_time },
        wait_quantum: WaitQuantum {
            delay_max: Duration::from_millis(bssgp.send_delay_ms.into()),
            ..defaults.wait_quantum
        },
        rest_quantum: WaitQuantum {
            delay_max: Duration::from_millis(RESTS * u64::from(bssgp.send_delay_ms)),
            ..defaults.rest_quantum
        },
        ..defaults
    }
}

const fn left_behind(chosen: ops::LeftBehind) -> LeftBehind {
    match chosen {
        ops::LeftBehind::Move => LeftBehind::Move,
        ops::LeftBehind::Delete => LeftBehind::Delete,
        ops::LeftBehind::Discard => LeftBehind::Discard,
    }
}

fn watermark(mark: ops::Watermark) -> Watermark {
    let amount = |pdus: u16| Amount { pdus: pdus.into(), octets: u64::from(pdus) * 1500 };
    Watermark { high: amount(mark.high), low: amount(mark.low) }
}

/// Nothing of the node itself differs.
pub fn same_node(old: &ops::SgsnConfig, new: &ops::SgsnConfig) -> bool {
    ops::SgsnConfig { common: new.common.clone(), ..old.clone() } == *new
}

/// What of the service is decided at the start.
const fn paths(service: &ops::Service) -> (ops::Ingress, ops::GbOutput, Option<u16>, Option<u32>, u32) {
    (service.ingress, service.gb_output, service.core, service.frames, service.socket_buffer_kib)
}

/// No class has a longer one than best effort.
fn pdu_lifetimes(bssgp: &ops::BssgpConfig) -> PduLifetimes {
    let [real_time, guaranteed] = bssgp.pdu_lifetime_by_class_cs;
    let lifetime = |own: Option<u16>| {
        let shortest = [own, bssgp.pdu_lifetime_cs].into_iter().flatten().min();
        shortest.map(|cs| Duration::from_millis(u64::from(cs) * 10))
    };
    PduLifetimes { real_time: lifetime(real_time), guaranteed: lifetime(guaranteed), other: lifetime(None) }
}

/// What differs and is not taken over while the node runs.
pub fn later(old: &ops::SgsnConfig, new: &ops::SgsnConfig) -> Vec<&'static str> {
    [
        ("The address of GTP", old.gtp_local_ip != new.gtp_local_ip),
        ("The IPv6 address of GTP", old.gn.ipv6 != new.gn.ipv6),
        ("The directory of the restart counter", old.gtp_state_dir != new.gtp_state_dir),
        ("The store", old.store != new.store),
        ("The sockets of NS", ns::sockets(&old.ns) != ns::sockets(&new.ns)),
        ("The size of the tables", old.limits != new.limits),
        ("The room for contexts of GTPv0 at a driver", speaks_v0(old) != speaks_v0(new)),
        ("How user data comes in and goes out", paths(&old.service) != paths(&new.service)),
    ]
    .into_iter()
    .filter(|(_, differs)| *differs)
    .map(|(what, _)| what)
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_ops::{Sgsn, config};
    use gannet_proto::gmm::network::Signatures;
    use gannet_wire::id::Sapi;

    pub(super) fn plan_of(lines: &str) -> (Result<Plan, String>, Vec<String>) {
        let text = format!(
            "sgsn\n gtp local-ip 127.0.0.1\n ggsn 3 remote-ip 127.0.0.3\n ggsn 5 remote-ip 127.0.0.5\n{lines}"
        );
        let config = config::read::<Sgsn>("x", &text).unwrap().config;
        let mut remarks = Vec::new();
        (plan(&config, &mut remarks), remarks)
    }

    pub(super) const NS: &str = "ns\n bind udp a\n  listen 127.0.0.1 23000\n";

    #[test]
    fn flow_control_is_as_configured() {
        let lines = " watermark ms high 4 low 1\n real-time share 50\n send-delay 0\n";
        let config = plan_of(&format!("{NS}bssgp\n{lines}")).0.unwrap().config.flow;
        let marks = config.feedback.unwrap();
        assert_eq!((marks.ms.high.pdus, marks.ms.low.pdus, marks.cell.high.pdus), (4, 1, 64));
        assert_eq!((config.real_time.percent, config.wait_quantum.delay_max), (50, Duration::ZERO));
        let config = plan_of(NS).0.unwrap().config.flow;
        let defaults = flow_control::Config::default();
        assert_eq!(config.feedback, Some(Watermarks::default()), "what nobody has written");
        assert_eq!((config.real_time, config.wait_quantum), (defaults.real_time, defaults.wait_quantum));
        assert_eq!(config.rest_quantum, defaults.rest_quantum);
    }

    #[test]
    fn acknowledged_mode_is_as_configured() {
        let lines = " llc sapi 5 window downlink 40 uplink 20\n max-unconfirmed-octets 70000\n";
        let config = plan_of(&format!("{lines}{NS}")).0.unwrap().config;
        assert_eq!(config.user_plane.links.of(Sapi::DATA5).k, Some((40, 20)));
        assert_eq!(config.unconfirmed_octets_max, 70_000);
        let config = plan_of(NS).0.unwrap().config;
        let defaults = SgsnConfig::default();
        assert_eq!((config.user_plane, config.unconfirmed_octets_max), {
            (defaults.user_plane, defaults.unconfirmed_octets_max)
        });
    }

    #[test]
    fn what_mobiles_and_bsss_are_told_is_as_configured() {
        let lines = " short name Gannet\n authentication updates\n";
        let config = plan_of(&format!("{lines}{NS}bssgp\n overload interval 30\n")).0.unwrap().config;
        let names = NetworkNames { full: None, short: Some("Gannet".to_owned()) };
        assert_eq!((config.gmm.names, config.gmm.authenticate_updates), (names, true));
        assert_eq!(config.overload_interval, Some(Duration::from_secs(30)));
        let config = plan_of(NS).0.unwrap().config;
        assert_eq!((config.gmm.names, config.gmm.authenticate_updates), (NetworkNames::default(), false));
        assert_eq!(config.overload_interval, None);
    }

    #[test]
    fn numbers_of_ggsns_become_places() {
        let (plan, remarks) = plan_of(&format!(" apn a ggsn 5\n apn * ggsn 3\n{NS}"));
        let config = plan.unwrap().config;
        let routes: Vec<_> = config.apns.iter().map(|route| (route.apn.as_str(), route.ggsn)).collect();
        assert_eq!(routes, [("a", 1), ("*", 0)]);
        assert_eq!((config.ggsns[1].number, config.ggsns[1].version), (5, Version::V1));
        assert_eq!(config.open, []);
        assert_eq!(remarks, Vec::<String>::new());
    }

    #[test]
    fn each_ggsn_has_its_version_of_gtp() {
        let config = plan_of(&format!(" ggsn 5 gtp-version 0\n{NS}")).0.unwrap().config;
        let versions: Vec<_> = config.ggsns.iter().map(|ggsn| (ggsn.number, ggsn.version)).collect();
        assert_eq!(versions, [(3, Version::V1), (5, Version::V0)]);
    }

    #[test]
    fn each_ggsn_has_its_interval_of_echo_requests() {
        let config = plan_of(&format!(" ggsn 5 echo-interval 90\n{NS}")).0.unwrap().config;
        let of = |last, seconds| (IpAddr::from([127, 0, 0, last]), Duration::from_secs(seconds));
        assert_eq!(config.echo_intervals, [of(3, 60), of(5, 90)]);
        assert_eq!(config.echo_interval, Duration::from_secs(60));
        let none = format!(" ggsn 3 no echo-interval\n ggsn 5 no echo-interval\n{NS}");
        let config = plan_of(&none).0.unwrap().config;
        assert_eq!((config.echo_interval, config.echo_intervals[0]), (Duration::ZERO, of(3, 0)));
    }

    #[test]
    fn whom_to_believe_reaches_the_node() {
        let lines = " gtp local-ipv6 2001:db8::1\n gtp source-check control\n gtp peer 192.0.2.9\n";
        let config = plan_of(&format!("{lines}{NS}")).0.unwrap().config;
        assert_eq!(config.gtp_second_address, "2001:db8::1".parse().ok());
        assert_eq!(config.source_check, gannet_proto::gtp::SourceCheck::Control);
        assert_eq!(config.gtp_peers, [IpAddr::from([192, 0, 2, 9])]);
    }

    #[test]
    fn whom_to_believe_changes_at_once_and_an_address_at_the_next_start() {
        let read = |lines: &str| {
            let text = format!("sgsn\n gtp local-ip 127.0.0.1\n{lines}");
            config::read::<Sgsn>("x", &text).unwrap().config
        };
        let old = read("");
        let new = read(" gtp source-check off\n gtp peer 192.0.2.9\n");
        assert!(!same_node(&old, &new) && later(&old, &new).is_empty());
        assert_eq!(later(&old, &read(" gtp local-ipv6 2001:db8::1\n")), ["The IPv6 address of GTP"]);
    }

    #[test]
    fn timers_have_their_own_values() {
        let (plan, remarks) = plan_of(&format!(
            " timer T3350 3\n timer T3370 4\n timer T3312 0\n timer T3314 63\n timer T3386 5\n timer T3397 9\n{NS}"
        ));
        let config = plan.unwrap().config;
        assert_eq!((config.gmm.t3350, config.gmm.t3370), (Duration::from_secs(3), Duration::from_secs(4)));
        assert_eq!((config.sm.t3386, config.sm.t3395), (Duration::from_secs(5), Duration::from_secs(8)));
        assert_eq!(config.gmm.t3312, GprsTimer::DEACTIVATED);
        assert!(config.gmm.ask_imei);
        assert_eq!(config.gmm.signatures, Signatures::Given, "nobody is authenticated");
        assert_eq!(config.gmm.t3314.seconds(), Some(120));
        assert!(remarks[0].contains("T3314") && remarks[1].contains("T3397"), "{remarks:?}");
    }
}

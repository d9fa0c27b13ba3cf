//! What an operator wrote, as the SGSN node takes it.

use super::Plan;
use core::net::IpAddr;
use gannet_node::sgsn::{ApnRoute, GgsnPeer, NsTimers, NsvcConfig, SgsnConfig};
use gannet_ops::config::ns::NsConfig;
use gannet_ops::config::sgsn::{self as ops, GmmTimer};
use gannet_proto::bssgp::flow_control::{self, Bucket, BvcParameters, Limit, Limits};
use gannet_proto::gmm::network::GmmConfig;
use gannet_proto::sm::network::SmConfig;
use gannet_proto::time::Duration;
use gannet_wire::l3::ie::GprsTimer;

/// The longest LL-PDU with its headers, for limits in octets that follow from limits in PDUs.
const LL_PDU_OCTETS_MAX: u64 = 1600;

/// The node's configuration.
///
/// # Errors
/// What cannot be done as configured.
pub fn plan(config: &ops::SgsnConfig, remarks: &mut Vec<String>) -> Result<Plan, String> {
    let gtp_address = IpAddr::V4(config.gtp_local_ip.ok_or("add 'gtp local-ip A.B.C.D' under 'sgsn'")?);
    let bind = bind(&config.ns)?;
    let defaults = SgsnConfig::default();
    let seconds = |seconds: u32| Duration::from_secs(seconds.into());
    let held = u32::from(config.limits.held_n_pdus);
    Ok(Plan {
        bind,
        config: SgsnConfig {
            mobiles_max: config.limits.mobiles as usize,
            gtp_address,
            echo_interval: echo_interval(config),
            t3_response: seconds(config.gtp_retry.t3_response_s.into()),
            n3_requests: config.gtp_retry.n3_requests,
            ggsns: ggsns(config),
            apns: apns(config, remarks),
            gmm: gmm(&config.timers, remarks),
            sm: sm(&config.timers, remarks),
            ns: ns_timers(&config.ns),
            nsvcs: nsvcs(&config.ns)?,
            accept_dynamic: config.ns.binds.iter().any(|bind| bind.accept_ipaccess),
            flow: flow(config),
            n201_u: Some(config.llc.n201_u),
            pdu_lifetime: config.bssgp.pdu_lifetime_cs.map(|cs| Duration::from_millis(u64::from(cs) * 10)),
            held_per_mobile_max: held,
            held_max: defaults.held_max.max(held),
            reassembly_timeout: seconds(config.llc.reassembly_s.into()),
            ..defaults
        },
    })
}

/// The one socket of NS.
fn bind(ns: &NsConfig) -> Result<(String, core::net::SocketAddr), String> {
    match ns.binds.as_slice() {
        [] => Err("NS has no socket: add 'bind udp local' with 'listen A.B.C.D 23000' under 'ns'".to_owned()),
        [bind] => {
            let listen = bind.listen.ok_or_else(|| format!("bind udp {} needs 'listen'", bind.name))?;
            Ok((bind.name.clone(), listen))
        }
        [_, second, ..] => {
            Err(format!("bind udp {}: NS has one socket here; let the BSSs use the first one", second.name))
        }
    }
}

fn nsvcs(ns: &NsConfig) -> Result<Vec<NsvcConfig>, String> {
    let mut all = Vec::new();
    for nse in &ns.nses {
        for nsvc in &nse.nsvcs {
            let nsvci = nsvc.nsvci.ok_or_else(|| {
                let (nsei, bind, ip, port) = (nse.nsei, &nsvc.bind, nsvc.remote.ip(), nsvc.remote.port());
                format!(
                    "nse {nsei}: NS-VCs without reset and block procedures are not implemented; \
                     say 'nsvc ipa {bind} {ip} {port} nsvci <0-65535>'"
                )
            })?;
            all.push(NsvcConfig { nsei: nse.nsei, nsvci, peer: nsvc.remote });
        }
    }
    Ok(all)
}

fn ns_timers(ns: &NsConfig) -> NsTimers {
    let seconds = |seconds: u16| Duration::from_secs(seconds.into());
    let count = |count: u16| u8::try_from(count).unwrap_or(u8::MAX);
    let timers = &ns.timers;
    NsTimers {
        block: seconds(timers.block_s),
        reset: seconds(timers.reset_s),
        test: seconds(timers.test_s),
        alive: seconds(timers.alive_s),
        block_retries: count(timers.block_retries),
        reset_retries: count(timers.reset_retries),
        alive_retries: count(timers.alive_retries),
    }
}

fn ggsns(config: &ops::SgsnConfig) -> Vec<GgsnPeer> {
    let peer = |(number, ggsn): (&u8, &ops::GgsnPeer)| {
        Some(GgsnPeer { number: (*number).into(), address: ggsn.remote_ip?.into() })
    };
    config.ggsns.iter().filter_map(peer).collect()
}

fn apns(config: &ops::SgsnConfig, remarks: &mut Vec<String>) -> Vec<ApnRoute> {
    let ggsns: Vec<u8> = config.ggsns.keys().copied().collect();
    let mut routes = Vec::new();
    for route in &config.apns {
        if let Some(prefix) = &route.imsi_prefix {
            remarks.push(format!(
                "apn {} imsi-prefix {prefix}: routes for some IMSIs are not implemented and have no effect",
                route.apn
            ));
        } else if let Some(ggsn) = ggsns.iter().position(|number| *number == route.ggsn) {
            routes.push(ApnRoute { apn: route.apn.clone(), ggsn });
        }
    }
    routes
}

/// GTP has one interval for all paths: the shortest that a GGSN has.
fn echo_interval(config: &ops::SgsnConfig) -> Duration {
    let shortest = config.ggsns.values().filter_map(|ggsn| ggsn.echo_interval_s).min();
    shortest.map_or(Duration::ZERO, |seconds| Duration::from_secs(seconds.into()))
}

/// One value stands for timers that are never told apart: a remark, where the file does.
fn common_value(timers: &ops::GmmTimers, group: &[GmmTimer], remarks: &mut Vec<String>) -> Duration {
    let changed = group.iter().find(|timer| timers.get_s(**timer) != timer.default_s());
    let chosen = changed.or_else(|| group.first()).map_or(6, |timer| timers.get_s(*timer));
    let others: Vec<String> =
        group.iter().filter(|timer| timers.get_s(**timer) != chosen).map(ToString::to_string).collect();
    if !others.is_empty() {
        remarks.push(format!("{} cannot differ and have {chosen} s, too", others.join(", ")));
    }
    Duration::from_secs(chosen.into())
}

fn gmm(timers: &ops::GmmTimers, remarks: &mut Vec<String>) -> GmmConfig {
    let timer = |timer| GprsTimer::from_seconds(timers.get_s(timer));
    GmmConfig {
        t3312: timer(GmmTimer::T3312),
        t3314: timer(GmmTimer::T3314),
        t3313: Duration::from_secs(timers.get_s(GmmTimer::T3313).into()),
        retry: common_value(
            timers,
            &[GmmTimer::T3350, GmmTimer::T3322, GmmTimer::T3360, GmmTimer::T3370],
            remarks,
        ),
        ..GmmConfig::default()
    }
}

fn sm(timers: &ops::GmmTimers, remarks: &mut Vec<String>) -> SmConfig {
    let retry = common_value(timers, &[GmmTimer::T3395, GmmTimer::T3386], remarks);
    SmConfig { retry, ..SmConfig::default() }
}

fn flow(config: &ops::SgsnConfig) -> flow_control::Config {
    let bssgp = &config.bssgp;
    let bucket = |bucket: ops::Bucket| Bucket {
        bmax_octets: bucket.bmax_octets.into(),
        rate_bit_per_s: u64::from(bucket.rate_octets_per_s) * 8,
    };
    let limit = |pdus: u16| Limit { pdus: pdus.into(), octets: u64::from(pdus) * LL_PDU_OCTETS_MAX };
    flow_control::Config {
        initial: BvcParameters { bvc: bucket(bssgp.bvc), default_ms: bucket(bssgp.ms) },
        data: Limits { ms: limit(bssgp.queue_ms_pdus), cell: limit(bssgp.queue_cell_pdus) },
        ..flow_control::Config::default()
    }
}

/// Nothing of the node itself differs.
pub fn same_node(old: &ops::SgsnConfig, new: &ops::SgsnConfig) -> bool {
    ops::SgsnConfig { common: new.common.clone(), ..old.clone() } == *new
}

/// What differs and is not taken over while the node runs.
pub fn later(old: &ops::SgsnConfig, new: &ops::SgsnConfig) -> Vec<&'static str> {
    let echo = |config: &ops::SgsnConfig| echo_interval(config);
    [
        ("The address of GTP", old.gtp_local_ip != new.gtp_local_ip),
        ("The directory of the restart counter", old.gtp_state_dir != new.gtp_state_dir),
        ("Retransmission of GTP", old.gtp_retry != new.gtp_retry),
        ("The interval of Echo Requests", echo(old) != echo(new)),
        ("The sockets of NS", old.ns.binds != new.ns.binds),
        ("The size of the tables", old.limits != new.limits),
        ("The time for reassembly", old.llc.reassembly_s != new.llc.reassembly_s),
        (
            "Flow control of cells that say nothing, and the size of queues",
            ops::BssgpConfig { pdu_lifetime_cs: None, ..old.bssgp }
                != ops::BssgpConfig { pdu_lifetime_cs: None, ..new.bssgp },
        ),
    ]
    .into_iter()
    .filter(|(_, differs)| *differs)
    .map(|(what, _)| what)
    .collect()
}

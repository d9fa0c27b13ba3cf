//! From the lines of a configuration to GGSNs that can be built.

use super::device::Device;
use super::user_plane::Wanted;
use crate::node::gn;
use crate::node::streams::{self, Names};
use core::net::{IpAddr, Ipv6Addr};
use gannet_machine::time::Duration;
use gannet_node::ggsn::{
    AfterRestart, ApnConfig, CodePoints, Ggsn, GgsnConfig, GgsnConfigError, IPV6_PREFIX_LENGTHS,
    MobileToMobile, Mss, Network, PREFIX_LENGTHS, Pap, Ranges, StaticMobile, StreamRules, Ways,
};
use gannet_ops::config::ggsn as ops;
use gannet_proto::flow_rule::{ImsiRange, Named};
use gannet_proto::gtp::ToldAddresses;

/// Octets of the headers of TCP and IPv4, and of TCP and IPv6, without options.
const TCP_IPV4_OCTETS: u16 = 40;
const TCP_IPV6_OCTETS: u16 = 60;
/// Streams of a GGSN at most, best effort included, over the life of a process.
const STREAMS_MAX: u32 = 1024;
/// Most frames for packets that wait: 128 MiB of them.
const FRAMES_MAX: usize = 65_536;
/// Interfaces of rules, by their numbers.
const INTERFACES: [&str; 2] = ["gn", "gi"];

/// One GGSN, ready to be built.
#[derive(Debug)]
pub struct Plan {
    pub(super) name: String,
    pub(super) state_dir: Option<String>,
    pub(super) store: Option<String>,
    pub(super) config: GgsnConfig,
    pub(super) devices: Vec<Device>,
    pub(super) user_plane: Wanted,
    pub(super) names: Names,
    /// Frames that may wait.
    pub(super) frames: usize,
}

impl Plan {
    /// Addresses of mobiles at all access points.
    pub fn addresses(&self) -> usize {
        let of = |network: Network<core::net::Ipv4Addr>| 32_u32.saturating_sub(network.length.into());
        let of_v6 = |network: Network<Ipv6Addr>| 64_u32.saturating_sub(network.length.into());
        let apns = self.config.apns.iter();
        let bits =
            apns.flat_map(|apn| apn.v4.all().map(of).chain(apn.v6.all().map(of_v6)).collect::<Vec<_>>());
        let all = bits.map(|bits| 1_usize.checked_shl(bits).unwrap_or(usize::MAX));
        let sum = all.fold(0_usize, usize::saturating_add);
        sum.min(usize::try_from(self.config.context_limit).unwrap_or(usize::MAX))
    }
}

/// The plan of a GGSN. What an operator should know is added to the remarks.
///
/// # Errors
/// A sentence: what is missing or wrong.
pub fn plan(ggsn: &ops::GgsnInstance, remarks: &mut Vec<String>) -> Result<Plan, String> {
    plan_with(ggsn, Names::at_most(STREAMS_MAX), remarks)
}

/// The same, where streams have numbers already.
///
/// # Errors
/// A sentence: what is missing or wrong.
pub fn plan_with(
    ggsn: &ops::GgsnInstance,
    mut names: Names,
    remarks: &mut Vec<String>,
) -> Result<Plan, String> {
    let name = ggsn.name.clone();
    let address = ggsn.gtp_bind_ip.ok_or_else(|| format!("ggsn {name}: add 'gtp bind-ip A.B.C.D'"))?;
    let served: Vec<&ops::ApnConfig> = ggsn.apns.iter().filter(|apn| apn.running).collect();
    if served.is_empty() {
        remarks.push(format!("ggsn {name} has no access point that is not shut down: it serves nobody"));
    }
    let user_plane = Wanted {
        back_end: ggsn.user_plane,
        interfaces: served.iter().map(|apn| apn.gi_interface.clone()).collect(),
    };
    user_plane.check(&name)?;
    let (mut apns, mut static_mobiles, mut devices) = (Vec::new(), Vec::new(), Vec::new());
    for (apn, place) in served.iter().zip(0..) {
        let (mut config, device) = access_point(&name, apn)?;
        config.ways = ways(&name, apn, &mut names)?;
        if apn.asks_kernel_gtp {
            remarks.push(format!(
                "ggsn {name}, apn {}: 'gtpu-mode kernel-gtp' is served by the same path as 'gtpu-mode tun'",
                apn.name
            ));
        }
        apns.push(config);
        devices.push(device);
        static_mobiles.extend(apn.static_mobiles.iter().map(|own| StaticMobile {
            apn: place,
            address: own.address,
            imsi: own.imsi,
            sgsn: own.sgsn.into(),
        }));
    }
    let default = ggsn.default_apn.as_ref().and_then(|default| {
        let place = served.iter().position(|apn| apn.name == *default);
        place.and_then(|place| u16::try_from(place).ok())
    });
    let echo_interval = ggsn.echo_interval_s.map_or(Duration::ZERO, |s| Duration::from_secs(s.into()));
    let config = GgsnConfig {
        default_apn: default,
        context_limit: ggsn.pdp_contexts_max,
        echo_interval,
        second_address: ggsn.gn.ipv6.map(IpAddr::V6),
        told: ToldAddresses { control: ggsn.control_ip, user: ggsn.user_ip },
        code_points: code_points(ggsn.code_points),
        source_check: gn::source_check(&ggsn.gn),
        failure_delay: gn::failure_delay(&ggsn.gn),
        peers: gn::listed(&ggsn.gn),
        static_mobiles,
        streams: stream_rules(ggsn, &served, &mut names)?,
        after_restart: if ggsn.tells_restarted { AfterRestart::Delete } else { AfterRestart::Forget },
        ..GgsnConfig::new(address.into(), apns)
    };
    // The node has the last word about a configuration; it needs no memory for flows to have it.
    let tried = GgsnConfig { streams: StreamRules { flows: 2, ..config.streams.clone() }, ..config.clone() };
    Ggsn::new(tried).map_err(|error| match error {
        GgsnConfigError::Way(way, error) => {
            format!("ggsn {name}: qos {way}: {}", streams::describe(&error, &names))
        }
        error => format!("ggsn {name}: {error}"),
    })?;
    let (state_dir, store) = (ggsn.gtp_state_dir.clone(), ggsn.store.clone());
    let waiting = served.iter().flat_map(|apn| apn.ways.all()).map(|(_, line)| streams::frames(line));
    let frames = waiting.sum::<usize>().min(FRAMES_MAX);
    said_of_ways(ggsn, &served, remarks);
    Ok(Plan { name, state_dir, store, config, devices, user_plane, names, frames })
}

/// The queues of an access point.
fn ways(
    ggsn: &str,
    apn: &ops::ApnConfig,
    names: &mut Names,
) -> Result<Ways<Option<gannet_node::streams::WayOutConfig>>, String> {
    let mut of = |heading: ops::Heading| {
        let line = apn.ways.get(heading);
        let name = format!("{} {}", apn.name, heading.word());
        let way = line.map(|line| streams::way_out(&name, line, names)).transpose();
        way.map_err(|error| format!("ggsn {ggsn}, apn {}: {error}", apn.name))
    };
    Ok(Ways { downlink: of(ops::Heading::Downlink)?, uplink: of(ops::Heading::Uplink)? })
}

/// Rules and groups. A rule for an access point that is shut down holds for nobody.
fn stream_rules(
    ggsn: &ops::GgsnInstance,
    served: &[&ops::ApnConfig],
    names: &mut Names,
) -> Result<StreamRules, String> {
    let mut rules = ggsn.rules.clone();
    let is_served = |name: &String| served.iter().any(|apn| apn.name == *name);
    rules.retain(|_, rule| rule.access_point.as_ref().is_none_or(is_served));
    let rules = streams::rules(&rules, names, |what, name| match what {
        Named::Interface => INTERFACES.iter().position(|own| *own == name),
        Named::AccessPoint => served.iter().position(|apn| apn.name == name),
        Named::Group => ggsn.groups.keys().position(|own| own == name),
        Named::Stream => None,
    });
    let groups: Vec<Vec<ImsiRange>> = ggsn.groups.values().cloned().collect();
    let rules = rules.map_err(|error| format!("ggsn {}: {error}", ggsn.name))?;
    Ok(StreamRules { rules, groups, flows: ggsn.flows as usize, seed: 0 })
}

/// What queues mean for the driver, and which lines mean nothing.
fn said_of_ways(ggsn: &ops::GgsnInstance, served: &[&ops::ApnConfig], remarks: &mut Vec<String>) {
    for apn in served {
        let whose = format!("ggsn {}, apn {}", ggsn.name, apn.name);
        for (heading, line) in apn.ways.all() {
            if line.rate_kbps.is_none() && !line.streams.is_empty() {
                remarks
                    .push(format!("{whose}: 'qos {}' has no rate: its streams mean nothing", heading.word()));
            }
        }
        if apn.gi_interface.is_none() || ggsn.user_plane == ops::UserPlane::Tun {
            continue;
        }
        if apn.ways.uplink.is_some() {
            remarks.push(format!("{whose}: with 'qos uplink' the driver forwards none of its packets"));
        } else if apn.ways.downlink.is_some() {
            remarks.push(format!("{whose}: with 'qos downlink' the driver forwards its uplink packets only"));
        }
    }
    if !ggsn.rules.is_empty() && served.iter().all(|apn| apn.ways.all().next().is_none()) {
        remarks.push(format!("ggsn {}: no access point has 'qos': its rules mean nothing", ggsn.name));
    }
}

const fn code_points(of: ops::CodePoints) -> CodePoints {
    let ops::CodePoints { conversational, streaming, interactive, background } = of;
    CodePoints { conversational, streaming, interactive, background }
}

/// An access point and its device.
///
/// # Errors
/// A sentence: what is missing or wrong.
pub fn access_point(ggsn: &str, apn: &ops::ApnConfig) -> Result<(ApnConfig, Device), String> {
    let whose = format!("ggsn {ggsn}, apn {}", apn.name);
    if apn.types.has_v4() && apn.pools().next().is_none() {
        return Err(format!("{whose}: add 'ip prefix dynamic A.B.C.D/M'"));
    }
    if apn.types.has_v6() && apn.ipv6_pools().next().is_none() {
        return Err(format!("{whose}: add 'ipv6 prefix dynamic X:X::X:X/M'"));
    }
    lengths(&whose, apn)?;
    let name = apn.name.parse().map_err(|_| format!("{whose}: that is no access point name"))?;
    let device = apn.tun_device.clone().ok_or_else(|| format!("{whose}: add 'tun-device NAME'"))?;
    let mtu = apn.mtu_octets();
    let config = ApnConfig {
        v4: ipv4_of(apn),
        v6: ipv6_of(apn),
        dual_stack: apn.types.v4v6,
        static_addresses: false,
        sequence_numbers: apn.g_pdu_sequence_numbers,
        dns: apn.dns,
        dns_v6: apn.ipv6_dns,
        mtu,
        mss: apn.mss_clamp.map(|clamp| match clamp {
            ops::MssClamp::Octets(octets) => Mss { v4: octets, v6: octets },
            ops::MssClamp::Mtu => Mss {
                v4: told_mtu(mtu).saturating_sub(TCP_IPV4_OCTETS),
                v6: told_mtu(mtu).saturating_sub(TCP_IPV6_OCTETS),
            },
        }),
        link_local: apn.ipv6_link_local.map_or(ApnConfig::LINK_LOCAL, |own| own.address),
        mobile_to_mobile: match apn.client_to_client {
            ops::ClientToClient::Network => MobileToMobile::Network,
            ops::ClientToClient::Inside => MobileToMobile::Inside,
            ops::ClientToClient::Refuse => MobileToMobile::Refused,
        },
        idle_timeout: apn.idle_timeout_s.map(|seconds| Duration::from_secs(seconds.into())),
        police: apn.polices_mbr,
        pap: match apn.pap {
            ops::Pap::Accept => Pap::Accepted,
            ops::Pap::Refuse => Pap::Refused,
            ops::Pap::Ignore => Pap::Ignored,
        },
        ..ApnConfig::new(name)
    };
    Ok((config, Device::of(device, apn)))
}

/// Where no MTU is told, the default is what the segments have to fit into.
fn told_mtu(mtu: u16) -> u16 {
    if mtu == 0 { ApnConfig::MTU_OCTETS } else { mtu }
}

fn lengths(whose: &str, apn: &ops::ApnConfig) -> Result<(), String> {
    if let Some((_, wrong)) = apn.pools().find(|(_, pool)| !PREFIX_LENGTHS.contains(&pool.length)) {
        let (first, last) = (PREFIX_LENGTHS.start(), PREFIX_LENGTHS.end());
        let length = wrong.length;
        return Err(format!(
            "{whose}: the prefix of the mobiles must have {first} to {last} bits, not {length}"
        ));
    }
    if let Some((_, wrong)) = apn.ipv6_pools().find(|(_, pool)| !IPV6_PREFIX_LENGTHS.contains(&pool.length)) {
        let (first, last) = (IPV6_PREFIX_LENGTHS.start(), IPV6_PREFIX_LENGTHS.end());
        let length = wrong.length;
        return Err(format!(
            "{whose}: the IPv6 prefix of the mobiles must have {first} to {last} bits, not {length}"
        ));
    }
    Ok(())
}

fn ipv4_of(apn: &ops::ApnConfig) -> Ranges<core::net::Ipv4Addr> {
    let of = |wanted: &str| {
        let pool = apn.pools().find(|(word, _)| *word == wanted);
        pool.map(|(_, pool)| Network { address: pool.address, length: pool.length })
    };
    Ranges { dynamic: of("dynamic"), fixed: of("static") }
}

fn ipv6_of(apn: &ops::ApnConfig) -> Ranges<Ipv6Addr> {
    let of = |wanted: &str| {
        let pool = apn.ipv6_pools().find(|(word, _)| *word == wanted);
        pool.map(|(_, pool)| Network { address: pool.address, length: pool.length })
    };
    Ranges { dynamic: of("dynamic"), fixed: of("static") }
}

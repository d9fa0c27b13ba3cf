//! `gannet ggsn`: the GGSN in real time, with a TUN device for each access point.

mod later;
mod operate;
mod user_plane;

use crate::node::{self, Node, Table, Whose, gn, in_use, restart_counter, tun};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::time::Duration;
use gannet_machine::{Peer, Port};
use gannet_node::ggsn::{
    ApnConfig, Ggsn, GgsnCommand, GgsnConfig, Ipv6Config, PORT_GTP_C, PORT_GTP_C_SECOND, PORT_GTP_U,
    PORT_GTP_U_SECOND, PORT_GTP_V0, PORT_TUN, PREFIX_LENGTHS, StaticMobile,
};
use gannet_ops::config::ggsn as ops;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_rt::{Access, EventLoop, MachineId, Tun, TunAddress, UdpConfig};
use gannet_wire::gtp;

/// Octets for the sockets' buffers in the kernel.
const SOCKET_BUFFER_OCTETS: usize = 1 << 20;
/// Frames of a GGSN: for each address of a mobile, at least and at most.
const FRAMES_PER_ADDRESS: usize = 16;
const FRAMES: (usize, usize) = (2048, 8192);

/// One GGSN of the configuration.
#[derive(Debug)]
struct Instance {
    name: String,
    machine: MachineId<Ggsn>,
    address: IpAddr,
    restart_counter: u8,
    /// The TUN device of each access point, by its index.
    devices: Vec<String>,
}

/// The running GGSNs.
#[derive(Debug)]
pub struct GgsnNode {
    instances: Vec<Instance>,
}

/// A device of an access point.
#[derive(Debug)]
struct Device {
    name: String,
    address: Option<ops::Prefix>,
    ipv6: Option<ops::Ipv6Prefix>,
}

/// One GGSN, ready to be built.
#[derive(Debug)]
pub struct Plan {
    name: String,
    state_dir: Option<String>,
    config: GgsnConfig,
    devices: Vec<Device>,
    user_plane: user_plane::Wanted,
}

impl Node for GgsnNode {
    type Element = gannet_ops::Ggsn;
    type Plan = Vec<Plan>;

    fn plan(config: &ops::GgsnConfig, remarks: &mut Vec<String>) -> Result<Vec<Plan>, String> {
        let running = config.ggsns.iter().filter(|ggsn| ggsn.running);
        let plans: Vec<Plan> = running.map(|ggsn| plan(ggsn, remarks)).collect::<Result<_, _>>()?;
        if plans.is_empty() {
            return Err(
                "there is no GGSN: add 'ggsn NAME' with 'gtp bind-ip A.B.C.D' and 'no shutdown ggsn'"
                    .to_owned(),
            );
        }
        Ok(plans)
    }

    fn problems(config: &ops::GgsnConfig) -> Vec<String> {
        let running = || config.ggsns.iter().filter(|ggsn| ggsn.running);
        if running().next().is_none() {
            return Self::plan(config, &mut Vec::new()).err().into_iter().collect();
        }
        let whole = |ggsn: &ops::GgsnInstance| {
            let served = || ggsn.apns.iter().filter(|apn| apn.running);
            let mut of_apns: Vec<String> =
                served().filter_map(|apn| access_point(&ggsn.name, apn).err()).collect();
            of_apns.extend(served().filter_map(|apn| ipv6_of(&ggsn.name, apn).err()));
            // What holds for all of it, once its parts are right.
            if of_apns.is_empty() && ggsn.gtp_bind_ip.is_some() {
                of_apns.extend(plan(ggsn, &mut Vec::new()).err());
            }
            of_apns
        };
        running().flat_map(whole).collect()
    }

    fn frames(plans: &Vec<Plan>) -> usize {
        let (least, most) = FRAMES;
        plans.iter().map(|plan| addresses(plan).saturating_mul(FRAMES_PER_ADDRESS).clamp(least, most)).sum()
    }

    fn mobiles(plans: &Vec<Plan>) -> usize {
        plans.iter().map(addresses).sum()
    }

    fn build(plans: Vec<Plan>, _config: &ops::GgsnConfig, node: &mut EventLoop) -> Result<Self, String> {
        let instances = plans.into_iter().map(|plan| build(plan, node)).collect::<Result<_, _>>()?;
        Ok(Self { instances })
    }

    fn reconfigure(
        &mut self,
        old: &ops::GgsnConfig,
        new: &ops::GgsnConfig,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        if old.ggsns == new.ggsns {
            return Ok(());
        }
        let of = |config: &'_ ops::GgsnConfig, name: &str| {
            config.ggsns.iter().find(|ggsn| ggsn.name == name && ggsn.running).cloned()
        };
        for instance in &self.instances {
            // An access point whose lines are still being entered cannot be planned: what runs goes on as it is.
            let planned = match of(new, &instance.name).map(|ggsn| plan(&ggsn, &mut Vec::new())).transpose() {
                Ok(planned) => planned,
                Err(incomplete) => {
                    out.push_str(&format!(
                        "{incomplete}; until then GGSN {} goes on as it is.\n",
                        instance.name
                    ));
                    continue;
                }
            };
            // Without it, none of its access points serves anybody.
            let nobody = || GgsnConfig::new(instance.address, Vec::new());
            let config = planned.map_or_else(nobody, |plan| plan.config);
            if let Some((ggsn, mut cx)) = access.machine_and_context(instance.machine) {
                ggsn.reconfigure(&mut cx, &config);
            }
        }
        let names = |instance: &Instance| {
            let ggsn = access.look_at(instance.machine);
            let apns = ggsn.map(|ggsn| ggsn.access_points().map(|(apn, _)| apn.name.to_string()).collect());
            (instance.name.clone(), apns.unwrap_or_default())
        };
        let there: Vec<(String, Vec<String>)> = self.instances.iter().map(names).collect();
        for what in later::later(old, new, &there) {
            out.push_str(what);
            out.push_str(" holds from the next start on.\n");
        }
        Ok(())
    }

    fn execute(
        &mut self,
        _config: &ops::GgsnConfig,
        operation: &ops::GgsnOperation,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        operate::execute(&self.instances, operation, access, out)
    }

    fn metrics(
        &self,
        _config: &ops::GgsnConfig,
        part: usize,
        access: &mut Access<'_>,
        groups: &mut Vec<Group>,
    ) -> bool {
        operate::groups(&self.instances, part, access, groups)
    }

    fn tables(&self, access: &mut Access<'_>) -> Vec<Table> {
        operate::tables(&self.instances, access)
    }

    /// The SGSNs are asked to delete all contexts, so that no mobile believes in one.
    fn shutdown(&mut self, access: &mut Access<'_>) {
        for instance in &self.instances {
            access.command(instance.machine, GgsnCommand::DeleteAll);
        }
    }

    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        self.instances.iter().all(|instance| {
            access
                .machine(instance.machine)
                .is_none_or(|ggsn| ggsn.context_count() == 0 && ggsn.outstanding() == 0)
        })
    }
}

/// Addresses of mobiles at all access points of a GGSN.
fn addresses(plan: &Plan) -> usize {
    let host_bits = |apn: &ApnConfig| 32_u32.saturating_sub(apn.prefix_length.into());
    plan.config.apns.iter().map(|apn| 1_usize.checked_shl(host_bits(apn)).unwrap_or(usize::MAX)).sum()
}

fn plan(ggsn: &ops::GgsnInstance, remarks: &mut Vec<String>) -> Result<Plan, String> {
    let name = ggsn.name.clone();
    let address = ggsn.gtp_bind_ip.ok_or_else(|| format!("ggsn {name}: add 'gtp bind-ip A.B.C.D'"))?;
    let served: Vec<&ops::ApnConfig> = ggsn.apns.iter().filter(|apn| apn.running).collect();
    if served.is_empty() {
        remarks.push(format!("ggsn {name} has no access point that is not shut down: it serves nobody"));
    }
    let user_plane = user_plane::Wanted {
        back_end: ggsn.user_plane,
        interfaces: served.iter().map(|apn| apn.gi_interface.clone()).collect(),
    };
    user_plane.check(&name)?;
    let mut apns = Vec::new();
    let (mut ipv6, mut static_mobiles) = (Vec::new(), Vec::new());
    let mut devices = Vec::new();
    for (apn, place) in served.iter().zip(0..) {
        let (config, device) = access_point(&name, apn)?;
        apns.push(config);
        devices.push(device);
        static_mobiles.extend(apn.static_mobiles.iter().map(|own| StaticMobile {
            apn: place,
            address: own.address,
            imsi: own.imsi,
            sgsn: own.sgsn.into(),
        }));
        if let Some(of) = ipv6_of(&name, apn)? {
            ipv6.push(Ipv6Config { apn: place, prefix: of.address, prefix_length: of.length });
        }
    }
    let default = ggsn.default_apn.as_ref().and_then(|default| {
        let place = served.iter().position(|apn| apn.name == *default);
        place.and_then(|place| u16::try_from(place).ok())
    });
    let echo_interval = ggsn.echo_interval_s.map_or(Duration::ZERO, |s| Duration::from_secs(s.into()));
    let config = GgsnConfig {
        default_apn: default,
        echo_interval,
        second_address: ggsn.gn.ipv6.map(IpAddr::V6),
        source_check: gn::source_check(&ggsn.gn),
        failure_delay: gn::failure_delay(&ggsn.gn),
        peers: gn::listed(&ggsn.gn),
        ipv6,
        static_mobiles,
        ..GgsnConfig::new(address.into(), apns)
    };
    // The node has the last word about a configuration.
    Ggsn::new(config.clone()).map_err(|error| format!("ggsn {name}: {error}"))?;
    Ok(Plan { name, state_dir: ggsn.gtp_state_dir.clone(), config, devices, user_plane })
}

/// Out of which prefix the mobiles of an access point have theirs; `None` where they have none.
fn ipv6_of(ggsn: &str, apn: &ops::ApnConfig) -> Result<Option<ops::Ipv6Prefix>, String> {
    if !apn.has_ipv6 {
        return Ok(None);
    }
    let missing = || format!("ggsn {ggsn}, apn {}: add 'ipv6 prefix dynamic X:X::X:X/M'", apn.name);
    apn.ipv6_prefix.ok_or_else(missing).map(Some)
}

fn access_point(ggsn: &str, apn: &ops::ApnConfig) -> Result<(ApnConfig, Device), String> {
    let whose = format!("ggsn {ggsn}, apn {}", apn.name);
    let prefix = apn.prefix.ok_or_else(|| format!("{whose}: add 'ip prefix dynamic A.B.C.D/M'"))?;
    if !PREFIX_LENGTHS.contains(&prefix.length) {
        let (first, last) = (PREFIX_LENGTHS.start(), PREFIX_LENGTHS.end());
        return Err(format!(
            "{whose}: the prefix of the mobiles must have {first} to {last} bits, not {}",
            prefix.length
        ));
    }
    let name = apn.name.parse().map_err(|_| format!("{whose}: that is no access point name"))?;
    let device = apn.tun_device.clone().ok_or_else(|| format!("{whose}: add 'tun-device NAME'"))?;
    let config = ApnConfig {
        name,
        prefix: prefix.address,
        prefix_length: prefix.length,
        static_addresses: false,
        sequence_numbers: apn.g_pdu_sequence_numbers,
        dns: apn.dns,
    };
    let ipv6 = apn.ipv6_ifconfig.filter(|_| apn.has_ipv6);
    Ok((config, Device { name: device, address: apn.ifconfig.map(own_address), ipv6 }))
}

/// `ip ifconfig` of osmo-ggsn may name the network; the device then has its first address, as the pool leaves it out.
fn own_address(given: ops::Prefix) -> ops::Prefix {
    let host_bits = 32_u32.saturating_sub(given.length.into());
    let host = 1_u32.checked_shl(host_bits).map_or(u32::MAX, |size| size - 1);
    if host > 0 && given.address.to_bits() & host == 0 {
        return ops::Prefix { address: Ipv4Addr::from_bits(given.address.to_bits() | 1), ..given };
    }
    given
}

fn build(plan: Plan, node: &mut EventLoop) -> Result<Instance, String> {
    let Plan { name, state_dir, mut config, devices, user_plane } = plan;
    let whose = Whose { node: "ggsn", address: config.address };
    config.restart_counter = restart_counter(state_dir.as_deref(), whose, node);
    config.teid_key = crate::node::new_teid_key()?;
    let (address, restart_counter) = (config.address, config.restart_counter);
    let second_address = config.second_address;
    let ggsn = Ggsn::new(config.clone()).map_err(|error| format!("ggsn {name}: {error}"))?;
    // What happens to contexts the node says itself, in the log.
    let machine = node.add_machine(ggsn, |_, _, _| {});
    let mut udp = |port: Port, address: IpAddr, number: u16| {
        let mut udp = UdpConfig::new(SocketAddr::new(address, number)).record_as("Gn");
        udp.buffer_octets = Some(SOCKET_BUFFER_OCTETS);
        node.bind_udp(machine, port, &udp).map_err(|error| in_use(&error))
    };
    udp(PORT_GTP_C, address, gtp::PORT_CONTROL)?;
    udp(PORT_GTP_U, address, gtp::PORT_USER)?;
    udp(PORT_GTP_V0, address, gtp::PORT_V0)?;
    if let Some(second) = second_address {
        udp(PORT_GTP_C_SECOND, second, gtp::PORT_CONTROL)?;
        udp(PORT_GTP_U_SECOND, second, gtp::PORT_USER)?;
    }
    let mut names = Vec::new();
    for (slot, device) in (0..).zip(devices) {
        let made = open(&device)?;
        names.push(made.name().to_owned());
        let attached = node.attach_tun(machine, PORT_TUN, Peer::Slot(slot), made, Some("Gi"));
        attached.map_err(|error| tun::describe(&device.name, &error))?;
    }
    user_plane::open((&name, &user_plane), machine, &config, &names, node)?;
    Ok(Instance { name, machine, address, restart_counter, devices: names })
}

fn open(device: &Device) -> Result<Tun, String> {
    let made = tun::open(&device.name)?;
    let up = match device.address {
        Some(own) => tun::bring_up(&made, TunAddress::V4(own.address, own.length)),
        None => made.set_up(true),
    };
    let ipv6 = |own: ops::Ipv6Prefix| tun::add_ipv6(&made, own.address, own.length);
    let up = up.and_then(|()| device.ipv6.map_or(Ok(()), ipv6));
    up.map_err(|error| tun::describe(&device.name, &error))?;
    Ok(made)
}

/// Runs `gannet ggsn`.
///
/// # Errors
/// A sentence for the person.
pub fn run(flags: node::flags::Flags) -> Result<std::process::ExitCode, String> {
    node::run::<GgsnNode>(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_never_has_the_networks_address() {
        let prefix = |text: &str, length| ops::Prefix { address: text.parse().unwrap(), length };
        assert_eq!(own_address(prefix("172.16.222.0", 24)), prefix("172.16.222.1", 24));
        assert_eq!(own_address(prefix("172.16.222.9", 24)), prefix("172.16.222.9", 24));
        assert_eq!(own_address(prefix("10.0.0.0", 32)), prefix("10.0.0.0", 32));
        assert_eq!(own_address(prefix("0.0.0.0", 0)), prefix("0.0.0.1", 0));
    }
}

//! `gannet ggsn`: the GGSN in real time, with a TUN device for each access point.

mod device;
mod kept;
mod later;
mod operate;
mod plan;
mod restoring;
mod user_plane;
mod ways;

pub use plan::Plan;

use crate::node::store::{Keeper, Opened, StoreService};
use crate::node::streams::Names;
use crate::node::{self, Node, Table, Whose, in_use, last_restart_counter, restart_counter, tun};
use core::net::{IpAddr, SocketAddr};
use device::Device;
use gannet_machine::trace::{Category, Level, TraceSink as _};
use gannet_machine::{Peer, Port};
use gannet_node::ggsn::{
    Ggsn, GgsnCommand, GgsnConfig, PORT_GTP_C, PORT_GTP_C_SECOND, PORT_GTP_U, PORT_GTP_U_SECOND, PORT_GTP_V0,
    PORT_TUN,
};
use gannet_ops::config::ggsn as ops;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_rt::{Access, EventLoop, MachineId, UdpConfig};
use gannet_wire::gtp;
use plan::{access_point, plan, plan_with};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

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
    /// The TUN device of each access point by its index, and what the kernel calls it.
    devices: Vec<(Device, String)>,
    /// Its streams.
    names: Names,
    /// Where its contexts are kept for the time after a restart.
    store: Option<Rc<RefCell<Keeper<Ggsn>>>>,
}

impl Drop for Instance {
    /// The devices go with the loop that has them; until then their programs find them.
    fn drop(&mut self) {
        for complaint in self.devices.iter().filter_map(|(device, name)| device.close(name)) {
            eprintln!("{complaint}");
        }
    }
}

/// The running GGSNs.
#[derive(Debug)]
pub struct GgsnNode {
    instances: Vec<Instance>,
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
        let of = |plan: &Plan| {
            plan.addresses().saturating_mul(FRAMES_PER_ADDRESS).clamp(least, most) + plan.frames
        };
        plans.iter().map(of).sum()
    }

    fn mobiles(plans: &Vec<Plan>) -> usize {
        plans.iter().map(Plan::addresses).sum()
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
        for instance in &mut self.instances {
            // An access point whose lines are still being entered cannot be planned: what runs goes on as it is.
            let mut remarks = Vec::new();
            let again = |ggsn| plan_with(&ggsn, instance.names.clone(), &mut remarks);
            let planned = match of(new, &instance.name).map(again).transpose() {
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
            let config = match planned {
                Some(plan) => {
                    out.push_str(&news(&remarks, of(old, &instance.name)));
                    instance.names = plan.names;
                    plan.config
                }
                None => nobody(),
            };
            if let Some((ggsn, mut cx)) = access.machine_and_context(instance.machine) {
                ggsn.reconfigure(&mut cx, &config);
            }
        }
        let names = |instance: &Instance| {
            let ggsn = access.look_at(instance.machine);
            let apns =
                ggsn.map(|ggsn| ggsn.access_points().map(|point| point.config().name.to_string()).collect());
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

    fn traced(&mut self, access: &mut Access<'_>, out: &mut String) {
        let is_forwarded = self.instances.iter().any(|of| access.forwarding(of.machine).is_some());
        if is_forwarded && access.recorder().is_some() {
            out.push_str(
                "Packets that the driver forwards are not in the capture; 'user-plane tun' has them.\n",
            );
        }
    }

    /// The SGSNs are asked to delete all contexts, so that no mobile believes in one.
    fn shutdown(&mut self, access: &mut Access<'_>) {
        // Those that are kept go on with the next start.
        for instance in self.instances.iter().filter(|instance| instance.store.is_none()) {
            access.command(instance.machine, GgsnCommand::DeleteAll);
        }
    }

    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        self.instances.iter().all(|instance| {
            if let Some(store) = &instance.store {
                return store.borrow_mut().is_done(access);
            }
            access
                .machine(instance.machine)
                .is_none_or(|ggsn| ggsn.context_count() == 0 && ggsn.outstanding() == 0)
        })
    }
}

fn build(plan: Plan, node: &mut EventLoop) -> Result<Instance, String> {
    let Plan { name, state_dir, store, mut config, devices, user_plane, names: streams, frames: _ } = plan;
    config.streams.seed = gannet_rt::seed().map_err(|error| format!("/dev/urandom: {error}"))?;
    let whose = Whose { node: "ggsn", address: config.address };
    let last = state_dir.as_deref().and_then(|directory| last_restart_counter(Path::new(directory), whose));
    let store = store.map(|path| Opened::open::<Ggsn>(&path, last)).transpose()?;
    // Where contexts are restored, the SGSNs see no restart.
    config.restart_counter = match store.as_ref().and_then(Opened::counter) {
        Some(counter) => counter,
        None => restart_counter(state_dir.as_deref(), whose, node),
    };
    config.teid_generation = store.as_ref().map_or(0, Opened::teid_generation);
    config.teid_key = match store.as_ref().and_then(Opened::teid_key) {
        Some(key) => key,
        None => crate::node::new_teid_key()?,
    };
    let (address, restart_counter) = (config.address, config.restart_counter);
    let second_address = config.second_address;
    let ggsn = Ggsn::new(config.clone()).map_err(|error| format!("ggsn {name}: {error}"))?;
    // What happens to contexts the node says itself, in the log.
    let machine = node.add_machine(ggsn, |_, _, _| {});
    // Before any packet comes: nobody is a stranger who was here.
    let store = store.map(|store| store.restore(restart_counter, machine, node)).transpose()?;
    let store = store.map(|keeper| Rc::new(RefCell::new(keeper)));
    let mut udp = |port: Port, address: IpAddr, number: u16| {
        let mut udp = UdpConfig::new(SocketAddr::new(address, number)).record_as("Gn");
        udp.buffer_octets = Some(SOCKET_BUFFER_OCTETS);
        udp.sends_downlink = true;
        // An SGSN sends the G-PDUs of all its mobiles from one port.
        udp.joined = number == gtp::PORT_USER;
        node.bind_udp(machine, port, &udp).map_err(|error| in_use(&error))
    };
    udp(PORT_GTP_C, address, gtp::PORT_CONTROL)?;
    udp(PORT_GTP_U, address, gtp::PORT_USER)?;
    udp(PORT_GTP_V0, address, gtp::PORT_V0)?;
    if let Some(second) = second_address {
        udp(PORT_GTP_C_SECOND, second, gtp::PORT_CONTROL)?;
        udp(PORT_GTP_U_SECOND, second, gtp::PORT_USER)?;
    }
    let (mut names, mut complaints) = (Vec::new(), Vec::new());
    for (slot, device) in (0..).zip(devices) {
        let made = device.open(&mut complaints)?;
        let named = made.name().to_owned();
        let attached = node.attach_tun(machine, PORT_TUN, Peer::Slot(slot), made, Some("Gi"));
        attached.map_err(|error| tun::describe(&device.name, &error))?;
        names.push((device, named));
    }
    for complaint in complaints {
        node.access().log().line(Category::Main, Level::Error, format_args!("{complaint}"));
    }
    let tuns: Vec<String> = names.iter().map(|(_, name)| name.clone()).collect();
    user_plane::open((&name, &user_plane), machine, &config, &tuns, node)?;
    let restoring = restoring::Restoring::new(&name, machine, &names);
    node.add_service(Box::new(restoring)).map_err(|error| error.to_string())?;
    if let Some(keeper) = &store {
        let service = StoreService(Rc::clone(keeper));
        node.add_service(Box::new(service)).map_err(|error| format!("store: {error}"))?;
    }
    Ok(Instance { name, machine, address, restart_counter, devices: names, names: streams, store })
}

/// Remarks that were not made about a GGSN as it was before, a line for each.
fn news(remarks: &[String], former: Option<ops::GgsnInstance>) -> String {
    let mut known = Vec::new();
    let _ = former.map(|former| plan(&former, &mut known));
    remarks.iter().filter(|remark| !known.contains(remark)).map(|remark| format!("{remark}.\n")).collect()
}

/// There is an access point of this name, where one is asked for.
fn named_apn(
    instances: &[Instance],
    name: Option<&String>,
    access: &mut Access<'_>,
) -> Result<(), CommandError> {
    let Some(name) = name else { return Ok(()) };
    let is_there = |ggsn: &Ggsn| ggsn.access_points().any(|point| point.config().name.to_string() == *name);
    let is_there = instances.iter().any(|instance| access.look_at(instance.machine).is_some_and(is_there));
    is_there.then_some(()).ok_or_else(|| CommandError(format!("No such APN '{name}'")))
}

/// Runs `gannet ggsn`.
///
/// # Errors
/// A sentence for the person.
pub fn run(flags: node::flags::Flags) -> Result<std::process::ExitCode, String> {
    node::run::<GgsnNode>(flags)
}

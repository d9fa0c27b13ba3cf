//! `gannet sgsn`: the SGSN in real time.

mod charging;
mod counters;
mod kept;
mod known;
mod mapping;
mod operate;
mod paths;
pub mod record;
mod service;
mod show;

use crate::node::flags::Flags;
use crate::node::store::{Keeper, Opened, StoreService};
use crate::node::{self, Node, Whose, in_use, last_restart_counter, restart_counter};
use charging::Records;
use core::cell::RefCell;
use core::net::{IpAddr, SocketAddr};
use gannet_machine::Port;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::sgsn::{GTP_C, GTP_C_SECOND, GTP_U_SECOND, HLR, Sgsn, SgsnCommand, SgsnConfig, SgsnEvent};
use gannet_ops::config::sgsn as ops;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_proto::llc::cipher::BatchCipher;
use gannet_rt::{Access, EventLoop, LoopConfig, MachineId, Outside, TcpConfig, UdpConfig};
use gannet_wire::gtp;
#[cfg(test)]
pub use mapping::link_to_hlr;
use paths::Paths;
use record::Record;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Octets for the sockets' buffers in the kernel: some hundred full-size packets wait there while a round lasts.
const SOCKET_BUFFER_OCTETS: usize = 1 << 20;

/// Octets of small pieces of memory that a mobile has at the most, as a rule: a window of I frames that are not acknowledged, and what
/// is known of its link. They are on huge pages as far as they fit into what is reserved.
const HEAP_PER_MOBILE: usize = 8 << 10;
const HEAP_MAX: usize = 256 << 20;

/// The running SGSN.
#[derive(Debug)]
pub struct SgsnNode {
    machine: MachineId<Sgsn>,
    gtp_address: IpAddr,
    restart_counter: u8,
    binds: Vec<(String, SocketAddr)>,
    store: Option<Rc<RefCell<Keeper<Sgsn>>>>,
    records: Rc<RefCell<Records>>,
    record: Option<Record>,
}

/// The node's configuration, and the sockets of NS with their names.
#[derive(Debug)]
pub struct Plan {
    config: SgsnConfig,
    binds: Vec<(String, SocketAddr)>,
    frames: usize,
    paths: Paths,
    /// Ciphers LL-PDUs, many at once.
    ciphers: &'static dyn BatchCipher,
    /// Where everything that the node takes and gives is recorded.
    record: Option<PathBuf>,
}

impl SgsnNode {
    /// Where a port of NS listens.
    fn local(&self, port: Port) -> Option<SocketAddr> {
        let place = (0..self.binds.len()).find(|place| mapping::port_of(*place) == port)?;
        self.binds.get(place).map(|(_, listen)| *listen)
    }
}

impl Node for SgsnNode {
    type Element = gannet_ops::Sgsn;
    type Plan = Plan;

    fn plan(config: &ops::SgsnConfig, remarks: &mut Vec<String>) -> Result<Plan, String> {
        mapping::plan(config, remarks)
    }

    fn problems(config: &ops::SgsnConfig) -> Vec<String> {
        mapping::problems(config)
    }

    fn frames(plan: &Plan) -> usize {
        plan.frames
    }

    fn mobiles(plan: &Plan) -> usize {
        plan.config.mobiles_max
    }

    fn heap(plan: &Plan) -> usize {
        plan.config.mobiles_max.saturating_mul(HEAP_PER_MOBILE).min(HEAP_MAX)
    }

    fn shape(plan: &Plan, options: &mut LoopConfig) {
        plan.paths.shape(options);
    }

    fn build(plan: Plan, config: &ops::SgsnConfig, node: &mut EventLoop) -> Result<Self, String> {
        let Plan { config: mut node_config, mut binds, mut paths, ciphers, record, .. } = plan;
        let mut record = record.map(|path| Record::create(&path, config)).transpose()?;
        let whose = Whose { node: "sgsn", address: node_config.gtp_address };
        let store = open_store(config, whose)?;
        node_config.restart_counter = match store.as_ref().and_then(Opened::counter) {
            Some(counter) => counter,
            None => restart_counter(config.gtp_state_dir.as_deref(), whose, node),
        };
        node_config.teid_generation = store.as_ref().map_or(0, Opened::teid_generation);
        node_config.teid_key = match store.as_ref().and_then(Opened::teid_key) {
            Some(key) => key,
            None => crate::node::new_teid_key()?,
        };
        let mut seed = node_seed()?;
        if let Some(dice) = record.as_ref().map(Record::dice) {
            node_config = record::with_dice(node_config, &dice);
            seed = dice.tables;
        }
        paths.set_teid_key(node_config.teid_key);
        let (gtp_address, restart_counter) = (node_config.gtp_address, node_config.restart_counter);
        let second_address = node_config.gtp_second_address;
        let records = Rc::new(RefCell::new(Records::default()));
        records.borrow_mut().begin(&config.charging, config.common.ctrl.is_some(), node.access().log())?;
        let taken = Rc::clone(&records);
        let mut sgsn = Sgsn::new(node_config, seed);
        sgsn.set_ciphers(ciphers);
        let machine = node.add_machine(sgsn, move |_, event, outside| match event {
            SgsnEvent::Charged(record) => taken.borrow_mut().take(&record, outside.log()),
            event => tell(&event, outside),
        });
        if let Some((sgsn, mut cx)) = node.access().machine_and_context(machine) {
            sgsn.charge(&mut cx, charging::interval(&config.charging));
        }
        if let Some(record) = &mut record {
            record.begin(config, restart_counter, machine, node);
        }
        // Before any packet comes: nobody is a stranger who was here.
        let store = store.map(|store| store.restore(restart_counter, machine, node)).transpose()?;
        let store = store.map(|keeper| Rc::new(RefCell::new(keeper)));
        let mut gtp_c = UdpConfig::new(SocketAddr::new(gtp_address, gtp::PORT_CONTROL)).record_as("Gn");
        gtp_c.buffer_octets = Some(SOCKET_BUFFER_OCTETS);
        let mut udp = |port: Port, config: &UdpConfig| {
            node.bind_udp(machine, port, config).map_err(|error| in_use(&error))
        };
        for (place, (_, listen)) in binds.iter_mut().enumerate() {
            let config = UdpConfig { bind: *listen, ..paths.ns_socket().clone() };
            *listen = udp(mapping::port_of(place), &config)?;
        }
        udp(GTP_C, &gtp_c)?;
        if let Some(address) = second_address {
            for (port, number) in [(GTP_C_SECOND, gtp::PORT_CONTROL), (GTP_U_SECOND, gtp::PORT_USER)] {
                udp(port, &UdpConfig { bind: SocketAddr::new(address, number), ..gtp_c.clone() })?;
            }
        }
        if let Some(to) = mapping::hlr(config) {
            node.connect_tcp(machine, HLR, &TcpConfig::new(to).record_as("Gr"))
                .map_err(|error| format!("GSUP to {to}: {error}"))?;
        }
        paths.open(machine, node)?;
        node.access().command(machine, SgsnCommand::Start);
        if let Some(keeper) = &store {
            let service = StoreService(Rc::clone(keeper));
            node.add_service(Box::new(service)).map_err(|error| format!("store: {error}"))?;
        }
        Ok(Self { machine, gtp_address, restart_counter, binds, store, records, record })
    }

    fn reconfigure(
        &mut self,
        old: &ops::SgsnConfig,
        new: &ops::SgsnConfig,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        if mapping::same_node(old, new) {
            return Ok(());
        }
        let mut remarks = Vec::new();
        let plan = mapping::plan_at(new, &self.binds, &mut remarks).map_err(CommandError)?;
        // What is without effect, or otherwise than it was said, where it has just been said.
        let mut known = Vec::new();
        let _ = mapping::plan(old, &mut known);
        remarks.iter().filter(|remark| !known.contains(remark)).for_each(|remark| {
            out.push_str(remark);
            out.push('\n');
        });
        mapping::later(old, new).iter().for_each(|what| {
            out.push_str(what);
            out.push_str(" holds from the next start on.\n");
        });
        let mut records = self.records.borrow_mut();
        records
            .set(&new.charging, new.common.ctrl.is_some())
            .map_err(|error| CommandError(format!("{error}.")))?;
        drop(records);
        let Some((sgsn, mut cx)) = access.machine_and_context(self.machine) else { return Ok(()) };
        if old.charging != new.charging {
            sgsn.charge(&mut cx, charging::interval(&new.charging));
        }
        sgsn.reconfigure(&mut cx, plan.config);
        let moved = mapping::link_to_hlr(new).filter(|link| mapping::link_to_hlr(old) != Some(*link));
        if moved.is_some() {
            sgsn.hlr_moved(&mut cx);
        }
        let added =
            sgsn.add_configured_nsvcs(&mut cx).map_err(|(vc, error)| CommandError(format!("{vc}: {error}.")));
        if let Some((to, _)) = moved {
            access
                .outside(self.machine)
                .connect_tcp(HLR, &TcpConfig::new(to).record_as("Gr"))
                .map_err(|error| CommandError(format!("GSUP to {to}: {error}.")))?;
        }
        added
    }

    fn execute(
        &mut self,
        config: &ops::SgsnConfig,
        operation: &ops::SgsnOperation,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        operate::execute(self, config, operation, access, out)
    }

    fn metrics(
        &self,
        config: &ops::SgsnConfig,
        part: usize,
        access: &mut Access<'_>,
        groups: &mut Vec<Group>,
    ) -> bool {
        counters::groups(self, config, part, access, groups)
    }

    fn tables(&self, access: &mut Access<'_>) -> Vec<node::Table> {
        access.look_at(self.machine).map_or_else(Vec::new, counters::tables)
    }

    fn control(&self, variable: &str, access: &mut Access<'_>) -> Option<Result<String, String>> {
        match variable {
            "subscriber-list-active-v1" => {
                Some(access.look_at(self.machine).map_or(Ok(String::new()), show::active_list))
            }
            _ => None,
        }
    }

    fn traps(&mut self) -> Vec<(&'static str, String)> {
        self.records.borrow_mut().traps()
    }

    fn has_traps(&self) -> bool {
        self.records.borrow().has_traps()
    }

    fn traps_unheard(&mut self, total: u64) {
        self.records.borrow_mut().traps_unheard(total);
    }

    fn shutdown(&mut self, _access: &mut Access<'_>) {}

    /// What waits for cells goes out, and what has changed is written, as far as it can in the time.
    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        if !self.records.borrow().is_done() {
            return false;
        }
        let written = self.store.as_ref().is_none_or(|store| store.borrow_mut().is_done(access));
        let is_over =
            access.machine(self.machine).is_none_or(|sgsn| sgsn.gb().flow.queued_pdus() == 0) && written;
        if is_over {
            self.records.borrow().farewell(access.log());
            self.record.iter().for_each(|record| record.farewell(access.log()));
        }
        is_over
    }
}

/// The store of the configuration, where there is one.
fn open_store(config: &ops::SgsnConfig, whose: Whose) -> Result<Option<Opened>, String> {
    let directory = config.gtp_state_dir.as_deref();
    let last = directory.and_then(|directory| last_restart_counter(Path::new(directory), whose));
    config.store.as_deref().map(|path| Opened::open::<Sgsn>(path, last)).transpose()
}

fn node_seed() -> Result<u64, String> {
    gannet_rt::seed().map_err(|error| format!("/dev/urandom: {error}"))
}

/// What an operator reads of what happens to mobiles.
fn tell(event: &SgsnEvent, outside: &mut Outside<'_>) {
    let mut say = |category, level, text: core::fmt::Arguments<'_>| outside.log().line(category, level, text);
    match event {
        SgsnEvent::Attached { imsi } => {
            say(Category::Mm, Level::Info, format_args!("IMSI {imsi} is attached"));
        }
        SgsnEvent::Detached { imsi } => {
            say(Category::Mm, Level::Info, format_args!("IMSI {imsi} is gone"));
        }
        SgsnEvent::StrangerAnswered { tlli } => {
            say(Category::Mm, Level::Info, format_args!("TLLI {tlli} is not known, told to attach"));
        }
        // The node has said so itself; and what is charged for is no line of the log.
        SgsnEvent::Activated { .. }
        | SgsnEvent::Deactivated { .. }
        | SgsnEvent::GgsnRestarted { .. }
        | SgsnEvent::Charged(_) => {}
    }
}

/// The flags of `gannet sgsn`.
#[derive(Debug, clap::Args)]
pub struct SgsnFlags {
    #[command(flatten)]
    flags: Flags,
    /// Record what the node takes and gives as lines that can be run again, without any key
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Runs `gannet sgsn`.
///
/// # Errors
/// A sentence for the person.
pub fn run(flags: SgsnFlags) -> Result<std::process::ExitCode, String> {
    let SgsnFlags { flags, record } = flags;
    node::run_with::<SgsnNode>(flags, |plan, _| plan.record = record)
}

/// The same with another cipher service, and what there is to say about it.
///
/// # Errors
/// A sentence for the person.
#[cfg(feature = "lab")]
pub fn run_with_ciphers(
    flags: Flags,
    ciphers: &'static dyn BatchCipher,
    remark: String,
) -> Result<std::process::ExitCode, String> {
    node::run_with::<SgsnNode>(flags, |plan, remarks| {
        plan.ciphers = ciphers;
        remarks.push(remark);
    })
}

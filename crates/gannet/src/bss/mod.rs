//! `gannet bss`: cells and mobiles in one event loop, joined by the emulated Um.
//!
//! The BSS speaks NS over UDP with a socket for each NSE; the fleet of mobiles has a TUN device for each of the first.

mod arrivals;
mod devices;
mod mapping;
mod operate;
mod show;

use crate::node::{self, Node, in_use};
use arrivals::{Arrivals, Queue};
use core::net::SocketAddr;
use devices::Devices;
use gannet_machine::Port;
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::bss::{self, Bss, Command};
use gannet_node::ms::{self, Ms, MsCommand, MsConfig, MsEvent};
use gannet_ops::config::bss as ops;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_proto::um::UmBearer;
use gannet_rt::{Access, EventLoop, MachineId, Outside, UdpConfig};
use std::cell::RefCell;
use std::rc::Rc;

/// Octets for the sockets' buffers in the kernel.
const SOCKET_BUFFER_OCTETS: usize = 1 << 20;
/// Frames that wait for no radio: for each mobile, at least and at most.
const UNDER_WAY_PER_MOBILE: usize = 16;
const UNDER_WAY: (usize, usize) = (1024, 4096);
/// From the last word of a mobile to the end, beside the delay of the radio.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The running BSS with its mobiles.
#[derive(Debug)]
pub struct BssNode {
    bss: MachineId<Bss>,
    ms: MachineId<Ms>,
    arrivals: Rc<RefCell<Queue>>,
    devices: Rc<RefCell<Devices>>,
    radio_delay: Duration,
}

/// The configurations of both machines, and the sockets.
#[derive(Debug)]
pub struct Plan {
    bss: bss::Config,
    ms: MsConfig,
    sockets: Vec<(Port, SocketAddr)>,
}

impl Node for BssNode {
    type Element = gannet_ops::Bss;
    type Plan = Plan;

    fn plan(config: &ops::BssConfig, _remarks: &mut Vec<String>) -> Result<Plan, String> {
        mapping::plan(config)
    }

    fn frames(plan: &Plan) -> usize {
        let (least, most) = UNDER_WAY;
        let under_way = (Self::mobiles(plan) * UNDER_WAY_PER_MOBILE).clamp(least, most);
        2 * plan.bss.pdus_max as usize + plan.ms.reassembly_max + under_way
    }

    fn mobiles(plan: &Plan) -> usize {
        plan.ms.mobiles as usize
    }

    fn build(plan: Plan, config: &ops::BssConfig, node: &mut EventLoop) -> Result<Self, String> {
        let machine = Bss::new(plan.bss).map_err(|error| error.to_string())?;
        let bss = node.add_machine(machine, |_, event, outside| cell_event(event, outside));
        for (port, address) in plan.sockets {
            let mut udp = UdpConfig::new(address).record_as("Gb");
            udp.buffer_octets = Some(SOCKET_BUFFER_OCTETS);
            node.bind_udp(bss, port, &udp).map_err(|error| in_use(&error))?;
        }
        let devices = Rc::new(RefCell::new(Devices::default()));
        let for_events = Rc::clone(&devices);
        let ms = node.add_machine(Ms::new(plan.ms, Box::new(UmBearer)), move |ms, event, outside| {
            for_events.borrow_mut().follow(ms, &event, outside);
            mobile_event(ms, &event, outside);
        });
        node.link((bss, bss::UM), (ms, ms::BEARER));
        if let Some(tun) = &config.mobiles.tun {
            devices.borrow_mut().open(tun, config.mobiles.count, node, ms)?;
        }
        let arrivals = Rc::new(RefCell::new(Queue::default()));
        let service = Arrivals::new(bss, ms, Rc::clone(&arrivals));
        node.add_service(Box::new(service)).map_err(|error| error.to_string())?;
        arrivals.borrow_mut().fill(&config.mobiles);
        node.access().command(bss, Command::Start);
        let radio_delay = Duration::from_millis(config.radio.delay_ms.into());
        Ok(Self { bss, ms, arrivals, devices, radio_delay })
    }

    fn reconfigure(
        &mut self,
        old: &ops::BssConfig,
        new: &ops::BssConfig,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let plan = mapping::plan(new).map_err(CommandError)?;
        let mobiles = (&old.mobiles, &new.mobiles);
        if mapping::same_cells(old, new) && old.radio != new.radio {
            for (cell, config) in (0..).zip(&plan.bss.cells) {
                let order = Command::SetRadio { cell, downlink: config.downlink, flow: config.flow };
                access.command(self.bss, order);
            }
            let at_start = |radio: &ops::Radio| (radio.uplink_octets_per_s, radio.loss_percent);
            if at_start(&old.radio) != at_start(&new.radio) {
                out.push_str(
                    "The rate from the mobiles and what the radio loses hold from the next start on.\n",
                );
            }
        }
        self.arrivals.borrow_mut().set_rate(mobiles.1);
        let habits =
            |mobiles: &ops::Mobiles| ops::Mobiles { attach_per_s: None, activate: false, ..mobiles.clone() };
        let same_mobiles = old.qos == new.qos
            && old.compression == new.compression
            && habits(mobiles.0) == habits(mobiles.1);
        if !mapping::same_cells(old, new) || !same_mobiles {
            out.push_str(
                "What changes in addresses, cells, mobiles, their QoS and compression holds from the next start on.\n",
            );
        }
        Ok(())
    }

    fn execute(
        &mut self,
        config: &ops::BssConfig,
        operation: &ops::BssOperation,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        operate::execute(self, config, operation, access, out)
    }

    fn metrics(
        &self,
        _config: &ops::BssConfig,
        part: usize,
        access: &mut Access<'_>,
        groups: &mut Vec<Group>,
    ) -> bool {
        show::groups(self, part, access, groups)
    }

    fn tables(&self, access: &mut Access<'_>) -> Vec<node::Table> {
        let mobiles = access.look_at(self.ms).map(|ms| node::Table::unlimited("mobiles", ms.len()));
        let Some(bss) = access.look_at(self.bss) else { return Vec::new() };
        let nses = node::Table::unlimited("NSEs", bss.ns().nses().count());
        let vcs = node::Table::unlimited("NS-VCs", bss.ns().vcs().count());
        let cells = node::Table::unlimited("cells", bss.cell_count());
        mobiles.into_iter().chain([cells, nses, vcs]).collect()
    }

    /// The mobiles are switched off, as the network is told.
    fn shutdown(&mut self, access: &mut Access<'_>) {
        let attached: Vec<u32> = access.machine(self.ms).map_or_else(Vec::new, |ms| {
            let views = ms.views().filter(|view| view.gmm == "gmm-registered" || !view.contexts.is_empty());
            views.map(|view| view.index).collect()
        });
        let wait = if attached.is_empty() { Duration::ZERO } else { self.radio_delay + LAST_WORDS };
        for mobile in attached {
            access.command(self.ms, MsCommand::Detach { mobile, power_off: true });
        }
        self.arrivals.borrow_mut().end(access.now() + wait);
    }

    fn stopped(&mut self, access: &mut Access<'_>) -> bool {
        self.arrivals.borrow().is_silent(access.now())
    }
}

/// What an operator reads about cells.
fn cell_event(event: bss::Event, outside: &mut Outside<'_>) {
    let (cell, state) = match event {
        bss::Event::CellUp(cell) => (cell, "in service"),
        bss::Event::CellDown(cell) => (cell, "out of service"),
    };
    outside.log().line(Category::Bssgp, Level::Notice, format_args!("cell {cell} is {state}"));
}

/// What an operator reads about mobiles; they are numbered from 1 for people.
fn mobile_event(ms: &Ms, event: &MsEvent, outside: &mut Outside<'_>) {
    let mut say = |mobile: u32, category, level, text: core::fmt::Arguments<'_>| {
        let imsi = ms.mobile(mobile).map(|mobile| mobile.imsi().to_string()).unwrap_or_default();
        let number = mobile.saturating_add(1);
        outside.log().line(category, level, format_args!("mobile {number} IMSI {imsi}: {text}"));
    };
    match event {
        MsEvent::Attached { mobile, .. } => say(*mobile, Category::Mm, Level::Info, format_args!("attached")),
        MsEvent::Detached { mobile, cause } => match cause {
            Some(cause) => say(*mobile, Category::Mm, Level::Notice, format_args!("detached: {cause}")),
            None => say(*mobile, Category::Mm, Level::Info, format_args!("detached")),
        },
        MsEvent::Updated { mobile, rai } => {
            say(*mobile, Category::Mm, Level::Info, format_args!("routing area updated: {rai}"));
        }
        MsEvent::NonGprs { mobile, standing, cause } => match cause {
            Some(cause) => say(*mobile, Category::Mm, Level::Notice, format_args!("GPRS only: {cause}")),
            None => say(*mobile, Category::Mm, Level::Info, format_args!("non-GPRS services: {standing}")),
        },
        MsEvent::Activated { mobile, nsapi, address, .. } => {
            say(*mobile, Category::Pdp, Level::Info, format_args!("NSAPI {nsapi} active, address {address}"));
        }
        MsEvent::Readdressed { mobile, nsapi, address } => {
            say(*mobile, Category::Pdp, Level::Info, format_args!("NSAPI {nsapi}: address {address} now"));
        }
        MsEvent::Deactivated { mobile, nsapi, cause } => {
            let why = cause.map_or_else(|| "no cause was said".to_owned(), |cause| cause.to_string());
            say(*mobile, Category::Pdp, Level::Info, format_args!("NSAPI {nsapi} deactivated: {why}"));
        }
        MsEvent::Rejected { mobile, procedure, cause } => {
            say(*mobile, Category::Mm, Level::Notice, format_args!("{procedure} failed: {cause}"));
            if let Some(imsi) = ms.mobile(*mobile).map(|mobile| mobile.imsi()) {
                outside
                    .log()
                    .explained(gannet_proto::about::owner(imsi), format_args!("{procedure} failed: {cause}"));
            }
        }
        MsEvent::LinkEnded { mobile, nsapi, cause } => {
            let text = format_args!("acknowledged mode of NSAPI {nsapi} has ended: {cause}");
            say(*mobile, Category::Llc, Level::Notice, text);
        }
        MsEvent::NPdu { .. } | MsEvent::HeldBack { .. } => {}
    }
}

/// Runs `gannet bss`.
///
/// # Errors
/// A sentence for the person.
pub fn run(flags: node::flags::Flags) -> Result<std::process::ExitCode, String> {
    node::run::<BssNode>(flags)
}

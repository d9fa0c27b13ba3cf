//! `gannet ms`: mobiles of this machine, with a network device for each of their contexts.

mod ctl;
mod devices;
mod name_servers;
mod operate;
mod plan;
mod status;

use crate::fleet::{self, Arrivals, Queue};
use crate::links::{self, End, LinkNews, Watch};
use crate::node::{self, Node, Running};
use clap::{Args, Subcommand};
use ctl::{CtlService, News};
use devices::Devices;
use gannet_machine::time::Duration;
use gannet_node::bss::{self, Bss, Command};
use gannet_node::ms::{self, Ms, MsCommand};
use gannet_ops::config::bearers::Link;
use gannet_ops::config::ms as ops;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_proto::bearer::{self, Bearer};
use gannet_proto::um::UmBearer;
use gannet_rt::{Access, EventLoop, MachineId};
use gannet_wire::id::CellId;
use plan::Plan;
use std::cell::RefCell;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::ExitCode;
use std::rc::Rc;

/// Frames that wait for no radio: for each mobile, at least and at most.
const UNDER_WAY_PER_MOBILE: usize = 64;
const UNDER_WAY: (usize, usize) = (2048, 16_384);
/// From the last word of a mobile to the end, beside the delay of the radio.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The command line of `gannet ms`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct MsArguments {
    #[command(subcommand)]
    command: Option<MsSubcommand>,
    #[command(flatten)]
    flags: node::flags::Flags,
}

#[derive(Debug, Subcommand)]
enum MsSubcommand {
    /// Orders and questions to running mobiles
    Ctl(ctl::CtlArguments),
    /// What 'gannet ms' starts for itself
    #[command(hide = true)]
    NameServers,
}

/// The running mobiles.
#[derive(Debug)]
pub struct MsNode {
    ms: MachineId<Ms>,
    bss: Option<MachineId<Bss>>,
    /// The way to access points, where there are no cells of their own.
    links: Vec<Link>,
    access_points: Vec<CellId>,
    arrivals: Rc<RefCell<Queue>>,
    devices: Rc<RefCell<Devices>>,
    news: Rc<RefCell<News>>,
    /// Until the service has it.
    socket: Option<(UnixListener, PathBuf)>,
    radio_delay: Duration,
}

impl Node for MsNode {
    type Element = gannet_ops::MobileStation;
    type Plan = Plan;

    fn plan(config: &ops::MsConfig, _remarks: &mut Vec<String>) -> Result<Plan, String> {
        plan::plan(config)
    }

    fn frames(plan: &Plan) -> usize {
        let (least, most) = UNDER_WAY;
        let under_way = (Self::mobiles(plan) * UNDER_WAY_PER_MOBILE).clamp(least, most);
        let of_cells = plan.cells.as_ref().map_or(0, |cells| 2 * cells.bss.pdus_max as usize);
        of_cells + plan.ms.reassembly_max + under_way
    }

    fn mobiles(plan: &Plan) -> usize {
        plan.ms.mobiles as usize
    }

    fn build(plan: Plan, config: &ops::MsConfig, node: &mut EventLoop) -> Result<Self, String> {
        let socket = ctl::open(&config.ctl)?;
        let bss = plan.cells.map(|cells| cells.build(node, Bss::new)).transpose()?;
        let (bearer, links): (Box<dyn Bearer>, _) = match plan.bearer {
            Some(bearer) => {
                let links = bearer.links.clone();
                (bearer.build(links::secret()?), links)
            }
            None => (Box::new(UmBearer), Vec::new()),
        };
        let devices = Rc::new(RefCell::new(Devices::new(plan.contexts)));
        let news = Rc::new(RefCell::new(News::default()));
        let for_events = (Rc::clone(&devices), Rc::clone(&news));
        let ms = node.add_machine(Ms::new(plan.ms, bearer), move |ms, event, outside| {
            let (devices, news) = &for_events;
            if let Some((mobile, text)) = devices.borrow_mut().follow(ms, &event, outside) {
                news.borrow_mut().tell(mobile, &text);
            }
            if let Some((mobile, text)) = fleet::event(ms, &event, outside) {
                news.borrow_mut().tell(mobile, &text);
            }
        });
        let arrivals = Rc::new(RefCell::new(Queue::default()));
        let for_orders = Rc::clone(&devices);
        let service = Arrivals::new((bss, ms), Rc::clone(&arrivals), move |mobile| {
            operate::activations(for_orders.borrow().contexts(), mobile)
        });
        node.add_service(Box::new(service)).map_err(|error| error.to_string())?;
        arrivals.borrow_mut().fill(&config.fleet.mobiles);
        for (link, number) in links.iter().zip(0..) {
            links::attach(node, (ms, ms::bearer_port(number)), link, End::Mobiles)?;
        }
        Watch::start(node, ms, &links, of_link)?;
        if let Some(bss) = bss {
            node.link((bss, bss::UM), (ms, ms::BEARER));
            node.access().command(bss, Command::Start);
        }
        let delay_ms = config.cells.as_ref().map_or(0, |cells| cells.radio.delay_ms);
        let radio_delay = Duration::from_millis(delay_ms.into());
        let access_points = if bss.is_some() { Vec::new() } else { config.known_cells.clone() };
        Ok(Self { ms, bss, links, access_points, arrivals, devices, news, socket, radio_delay })
    }

    fn serve(running: &Rc<RefCell<Running<Self>>>, node: &mut EventLoop) -> Result<(), String> {
        let (socket, news) = {
            let mut running = running.borrow_mut();
            let node = running.node_mut();
            (node.socket.take(), Rc::clone(&node.news))
        };
        let Some(socket) = socket else { return Ok(()) };
        let service = CtlService::new(socket, Rc::clone(running), news);
        node.add_service(Box::new(service)).map_err(|error| format!("ctl socket: {error}"))
    }

    fn reconfigure(
        &mut self,
        old: &ops::MsConfig,
        new: &ops::MsConfig,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let plan = plan::plan(new).map_err(CommandError)?;
        self.arrivals.borrow_mut().set_rate(&new.fleet.mobiles);
        let layers = |config: &ops::MsConfig| (config.fleet.n201_u, config.fleet.links);
        if layers(old) != layers(new) {
            let (n201_u, links) = layers(new);
            access.command(self.ms, MsCommand::SetLayers { n201_u, links });
        }
        if old.contexts != new.contexts {
            self.devices.borrow_mut().set_contexts(plan.contexts);
            out.push_str("What changes in contexts holds from their next activation on.\n");
        }
        let rest = |config: &ops::MsConfig| {
            let mut config = config.clone();
            (config.fleet.n201_u, config.fleet.links) = layers(new);
            (config.fleet.mobiles.attach_per_s, config.fleet.mobiles.activate) = (None, false);
            (config.cells, config.ctl, config.fleet, config.bearers, config.known_cells, config.hysteresis)
        };
        if rest(old) != rest(new) {
            out.push_str(
                "What changes in mobiles, their QoS and compression, cells, bearers and the ctl socket holds from the next start on.\n",
            );
        }
        Ok(())
    }

    fn execute(
        &mut self,
        _config: &ops::MsConfig,
        operation: &ops::MsOperation,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        operate::execute(self, operation, access, out)
    }

    fn metrics(
        &self,
        _config: &ops::MsConfig,
        part: usize,
        access: &mut Access<'_>,
        groups: &mut Vec<Group>,
    ) -> bool {
        if part > 0 {
            return false;
        }
        let mobiles = access.look_at(self.ms).map(|ms| (Ms::len(ms), ms.stats()));
        let (count, stats) = mobiles.unwrap_or_default();
        let devices = self.devices.borrow().all().count();
        groups.push(crate::bss::show::mobiles_group((count, devices), &stats));
        false
    }

    fn tables(&self, access: &mut Access<'_>) -> Vec<node::Table> {
        let mobiles = access.look_at(self.ms).map(|ms| node::Table::unlimited("mobiles", ms.len()));
        let devices = node::Table::unlimited("devices", self.devices.borrow().all().count());
        mobiles.into_iter().chain([devices]).collect()
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

/// What the bearer is told of a link.
const fn of_link(link: u16, news: LinkNews) -> MsCommand {
    MsCommand::Bearer(match news {
        LinkNews::Up(is_up) => bearer::Order::SetLink { link, is_up },
        LinkNews::Mtu(octets) => bearer::Order::SetMtu { link, octets },
    })
}

/// Runs `gannet ms`.
///
/// # Errors
/// A sentence for the person.
pub fn run(arguments: MsArguments) -> Result<ExitCode, String> {
    match arguments.command {
        Some(MsSubcommand::Ctl(arguments)) => ctl::run(&arguments),
        Some(MsSubcommand::NameServers) => {
            name_servers::run();
            Ok(ExitCode::SUCCESS)
        }
        None => node::run::<MsNode>(arguments.flags),
    }
}

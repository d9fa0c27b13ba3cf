//! `gannet ap`: an access point, an ordinary BSS on Gb whose cells are links of the adaptation protocol.

use crate::links::{self, End, LinkNews, Watch};
use crate::node::show as common;
use crate::node::{self, Node};
use crate::{bss::show, cells};
use gannet_machine::time::Duration;
use gannet_node::bss::Command;
use gannet_node::bss::access_point::{ApCommand, ApNode, bearer_port};
use gannet_ops::config::ap as ops;
use gannet_ops::config::bearers::Link;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_proto::adaptation::{ApConfig, ApLink, Medium, PACKETS_MAX};
use gannet_proto::auth::key::Key128;
use gannet_rt::{Access, EventLoop, MachineId};
use gannet_wire::adaptation::{ApName, NetworkMode};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// From one beacon to the next.
const BEACONS: Duration = Duration::from_secs(1);
/// Pieces of LL-PDUs that may wait for others.
const PIECES_MAX: usize = 1024;
/// Frames that wait for no link.
const UNDER_WAY: usize = 4096;

/// The running access point.
#[derive(Debug)]
pub struct AccessPoint {
    machine: MachineId<ApNode>,
}

/// What follows from a configuration.
#[derive(Debug)]
pub struct Plan {
    cells: cells::Plan,
    protocol: ApConfig,
    links: Vec<Link>,
}

fn plan(config: &ops::ApConfig) -> Result<Plan, String> {
    let cells = cells::Plan::new(&config.gb, config.mobiles)?;
    let link = |(link, cell): (&Link, _)| ApLink {
        medium: match link {
            Link::Ethernet(_) => Medium::Ethernet,
            // The grammar of an access point has no radio.
            Link::Udp(_) | Link::Radio(_) => Medium::Udp,
        },
        mtu: links::mtu(link),
        cell,
        beacon_interval: BEACONS,
        mode: NetworkMode::II,
        name: ApName::EMPTY,
    };
    let protocol = ApConfig {
        links: config.bearers.links.iter().zip(cells.ids()).map(link).collect(),
        mobiles_max: config.mobiles,
        keys: links::keys(config.bearers.key, config.mobiles),
        network_key: links::key(config.bearers.network_key),
        demands_authentication: config.demands_authentication,
        boot: 0,
        packets_max: PACKETS_MAX,
        pieces_max: PIECES_MAX,
        secret: Key128([0; 16]),
    };
    Ok(Plan { cells, protocol, links: config.bearers.links.clone() })
}

impl Node for AccessPoint {
    type Element = gannet_ops::AccessPoint;
    type Plan = Plan;

    fn plan(config: &ops::ApConfig, _remarks: &mut Vec<String>) -> Result<Plan, String> {
        plan(config)
    }

    fn frames(plan: &Plan) -> usize {
        2 * plan.cells.bss.pdus_max as usize + PIECES_MAX + UNDER_WAY
    }

    fn mobiles(plan: &Plan) -> usize {
        plan.protocol.mobiles_max as usize
    }

    fn build(plan: Plan, _config: &ops::ApConfig, node: &mut EventLoop) -> Result<Self, String> {
        let Plan { cells, mut protocol, links } = plan;
        protocol.secret = links::secret()?;
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        protocol.boot = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
        let machine = cells.build(node, |config| ApNode::new(config, protocol))?;
        for (link, number) in links.iter().zip(0..) {
            links::attach(node, (machine, bearer_port(number)), link, End::AccessPoint)?;
        }
        Watch::start(node, machine, &links, of_link)?;
        node.access().command(machine, ApCommand::Bss(Command::Start));
        Ok(Self { machine })
    }

    fn reconfigure(
        &mut self,
        old: &ops::ApConfig,
        new: &ops::ApConfig,
        _access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        plan(new).map_err(CommandError)?;
        let own = |config: &ops::ApConfig| ops::ApConfig { common: Default::default(), ..config.clone() };
        if own(old) != own(new) {
            out.push_str("What changes in cells, links, keys and mobiles holds from the next start on.\n");
        }
        Ok(())
    }

    fn execute(
        &mut self,
        _config: &ops::ApConfig,
        operation: &ops::ApOperation,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let now = access.now();
        if *operation == ops::ApOperation::ShowDrops {
            common::drops(access, out);
            return Ok(());
        }
        if *operation == ops::ApOperation::ResetNs {
            access.command(self.machine, ApCommand::Bss(Command::Start));
            return Ok(());
        }
        let Some(ap) = access.machine(self.machine) else { return Ok(()) };
        match *operation {
            ops::ApOperation::ShowNs { stats } => {
                common::ns(ap.bss().ns(), None, common::Shown { now, local: &|_| None, stats }, out);
            }
            ops::ApOperation::ShowBssgp { stats } => {
                show::bvcs(ap.bss(), stats).iter().for_each(|bvc| out.push_str(&bvc.to_string()));
            }
            ops::ApOperation::ShowCells => {
                let cells = show::cells(ap.bss(), &BTreeMap::new());
                cells.iter().for_each(|cell| out.push_str(&cell.to_string()));
            }
            ops::ApOperation::ShowDrops | ops::ApOperation::ResetNs => {}
        }
        Ok(())
    }

    fn metrics(
        &self,
        _config: &ops::ApConfig,
        part: usize,
        access: &mut Access<'_>,
        groups: &mut Vec<Group>,
    ) -> bool {
        let now = access.now();
        let Some(ap) = access.look_at(self.machine) else { return false };
        show::groups_of_cells(ap.bss(), part, now, groups)
    }

    fn tables(&self, access: &mut Access<'_>) -> Vec<node::Table> {
        let Some(ap) = access.look_at(self.machine) else { return Vec::new() };
        vec![node::Table::unlimited("cells", ap.bss().cell_count())]
    }

    fn shutdown(&mut self, access: &mut Access<'_>) {
        if let Some((ap, mut cx)) = access.machine_and_context(self.machine) {
            ap.stop(&mut cx);
        }
    }

    fn stopped(&mut self, _access: &mut Access<'_>) -> bool {
        true
    }
}

/// What the access point is told of a link.
const fn of_link(link: u16, news: LinkNews) -> ApCommand {
    match news {
        LinkNews::Up(is_up) => ApCommand::SetLink { link, is_up },
        LinkNews::Mtu(octets) => ApCommand::SetMtu { link, octets },
    }
}

/// Runs `gannet ap`.
///
/// # Errors
/// A sentence for the person.
pub fn run(flags: node::flags::Flags) -> Result<std::process::ExitCode, String> {
    node::run::<AccessPoint>(flags)
}

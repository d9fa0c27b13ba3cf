//! `gannet bss`: cells and mobiles in one event loop, joined by the emulated Um.
//!
//! The BSS speaks NS over UDP with a socket for each NSE; the fleet of mobiles has a TUN device for each of the first.

mod air;
mod devices;
mod mapping;
mod operate;
pub mod show;

use crate::cells;
use crate::fleet::{self, Arrivals, Queue};
use crate::node::{self, Node};
use air::AirWatch;
use devices::Devices;
use gannet_machine::time::Duration;
use gannet_node::bss::{self, Bss, Command};
use gannet_node::ms::{self, Ms, MsCommand, MsConfig};
use gannet_ops::config::bss as ops;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_proto::um::UmBearer;
use gannet_rt::{Access, EventLoop, MachineId, Outside};
use std::cell::RefCell;
use std::rc::Rc;

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
    air: Rc<RefCell<AirWatch>>,
    radio_delay: Duration,
}

/// The configurations of both machines, and the sockets.
#[derive(Debug)]
pub struct Plan {
    cells: cells::Plan,
    ms: MsConfig,
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
        2 * plan.cells.bss.pdus_max as usize + plan.ms.reassembly_max + under_way
    }

    fn mobiles(plan: &Plan) -> usize {
        plan.ms.mobiles as usize
    }

    fn build(plan: Plan, config: &ops::BssConfig, node: &mut EventLoop) -> Result<Self, String> {
        let mut air = AirWatch::default();
        air.set(&ops::AirConfig::default(), &config.air, &mut String::new())?;
        let scope = air.new_scope(node.access().recorder().is_some());
        let air = Rc::new(RefCell::new(air));
        let watch = Rc::clone(&air);
        let seen =
            move |bss: &mut Bss, cell, outside: &mut Outside<'_>| watch.borrow_mut().take(bss, cell, outside);
        let has_air = plan.cells.has_air();
        let bss = plan.cells.build_with(node, Bss::new, seen)?;
        let devices = Rc::new(RefCell::new(Devices::default()));
        let for_events = Rc::clone(&devices);
        let ms = node.add_machine(Ms::new(plan.ms, Box::new(UmBearer)), move |ms, event, outside| {
            for_events.borrow_mut().follow(ms, &event, outside);
            let _ = fleet::event(ms, &event, outside);
        });
        node.link((bss, bss::UM), (ms, ms::BEARER));
        let count = if has_air { 0 } else { config.fleet.mobiles.count };
        if let Some(tun) = &config.fleet.mobiles.tun {
            devices.borrow_mut().open(tun, count, node, ms)?;
        }
        let arrivals = Rc::new(RefCell::new(Queue::default()));
        let service =
            Arrivals::new((Some(bss), ms), Rc::clone(&arrivals), |mobile| vec![operate::activate(mobile)]);
        node.add_service(Box::new(service)).map_err(|error| error.to_string())?;
        if let Some(scope) = scope {
            node.access().command(bss, Command::Observe(scope));
        }
        if !has_air {
            arrivals.borrow_mut().fill(&config.fleet.mobiles);
        }
        node.access().command(bss, Command::Start);
        let radio_delay = Duration::from_millis(config.gb.radio.delay_ms.into());
        Ok(Self { bss, ms, arrivals, devices, air, radio_delay })
    }

    fn reconfigure(
        &mut self,
        old: &ops::BssConfig,
        new: &ops::BssConfig,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let plan = mapping::plan(new).map_err(CommandError)?;
        let mobiles = (&old.fleet.mobiles, &new.fleet.mobiles);
        // What may fail comes first.
        if old.air != new.air {
            self.look_at_air(old, new, access, out)?;
        }
        if mapping::same_cells(old, new) && old.gb.radio != new.gb.radio {
            for (cell, config) in (0..).zip(&plan.cells.bss.cells) {
                let order = Command::SetRadio { cell, downlink: config.downlink, flow: config.flow };
                access.command(self.bss, order);
            }
            let at_start = |radio: &ops::Radio| {
                let rlcmac = (radio.rlcmac, radio.pcu, radio.sharing);
                (radio.uplink_octets_per_s, radio.loss_percent, rlcmac, radio.um)
            };
            if at_start(&old.gb.radio) != at_start(&new.gb.radio) {
                out.push_str(
                    "The rate from the mobiles, what the radio loses and RLC/MAC hold from the next start on.\n",
                );
            }
        }
        self.arrivals.borrow_mut().set_rate(mobiles.1);
        let habits =
            |mobiles: &ops::Mobiles| ops::Mobiles { attach_per_s: None, activate: false, ..mobiles.clone() };
        let same_mobiles = old.fleet.qos == new.fleet.qos
            && old.fleet.compression == new.fleet.compression
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

    fn traced(&mut self, access: &mut Access<'_>, _out: &mut String) {
        if let Some(scope) = self.air.borrow_mut().new_scope(access.recorder().is_some()) {
            access.command(self.bss, Command::Observe(scope));
        }
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
        let is_silent = self.arrivals.borrow().is_silent(access.now());
        if is_silent {
            self.air.borrow_mut().finish(access.log());
        }
        is_silent
    }
}

impl BssNode {
    /// Blocks go elsewhere from now on.
    fn look_at_air(
        &self,
        old: &ops::BssConfig,
        new: &ops::BssConfig,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        let mut air = self.air.borrow_mut();
        air.set(&old.air, &new.air, out).map_err(|error| CommandError(format!("{error}.")))?;
        if let Some(scope) = air.new_scope(access.recorder().is_some()) {
            access.command(self.bss, Command::Observe(scope));
        }
        let is_emulated = access.machine(self.bss).is_some_and(|bss| bss.rlcmac().is_none());
        if air.is_looking() && is_emulated {
            out.push_str("This radio has no blocks to show: it is without 'radio rlcmac'.\n");
        }
        Ok(())
    }
}

/// Runs `gannet bss`.
///
/// # Errors
/// A sentence for the person.
pub fn run(flags: node::flags::Flags) -> Result<std::process::ExitCode, String> {
    node::run::<BssNode>(flags)
}

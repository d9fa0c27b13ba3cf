//! `gannet edge`: an edge router between Ethernet devices, with the kernel's routes.

mod operate;
mod plan;
mod tables;
mod user_plane;

use crate::node::streams::Names;
use crate::node::{self, Node, Table};
use core::cell::RefCell;
use gannet_machine::Port;
use gannet_node::edge::Edge;
use gannet_ops::config::edge as ops;
use gannet_ops::grammar::CommandError;
use gannet_ops::metrics::Group;
use gannet_rt::{Access, EventLoop, KernelTables, LoopConfig, MachineId, NotForwarded};
use plan::Plan;
use std::rc::Rc;

/// The running router.
#[derive(Debug)]
pub struct EdgeNode {
    machine: MachineId<Edge>,
    names: Names,
    /// The kernel forwards nothing between the interfaces as long as this is there.
    _not_forwarded: NotForwarded,
}

impl Node for EdgeNode {
    type Element = gannet_ops::EdgeRouter;
    type Plan = Plan;

    fn plan(config: &ops::EdgeConfig, remarks: &mut Vec<String>) -> Result<Plan, String> {
        plan::plan(config, remarks)
    }

    fn frames(plan: &Plan) -> usize {
        plan.frames
    }

    fn mobiles(_plan: &Plan) -> usize {
        0
    }

    fn shape(plan: &Plan, options: &mut LoopConfig) {
        options.ring_frames += user_plane::ring_frames(plan.user_plane, plan.config.interfaces.len());
    }

    fn build(mut plan: Plan, _config: &ops::EdgeConfig, node: &mut EventLoop) -> Result<Self, String> {
        plan.config.seed = gannet_rt::seed().map_err(|error| format!("/dev/urandom: {error}"))?;
        let now = node.access().now();
        let interfaces: Vec<String> = plan.config.interfaces.iter().map(|of| of.name.clone()).collect();
        let edge = Edge::new(now, plan.config).map_err(|(at, error)| {
            format!("interface {}: {error}", interfaces.get(at).map_or("", String::as_str))
        })?;
        let mut kernel = KernelTables::open().map_err(|error| format!("rtnetlink: {error}"))?;
        let mut devices = tables::Devices::new(interfaces.clone());
        devices.learn(&mut kernel);
        let kernel = Rc::new(RefCell::new(kernel));
        let devices = Rc::new(RefCell::new(devices));
        let answers = (Rc::clone(&kernel), Rc::clone(&devices));
        let machine = node.add_machine(edge, move |edge, event, _| {
            tables::answer(edge, event, &mut answers.0.borrow_mut(), &mut answers.1.borrow_mut());
        });
        for (name, at) in interfaces.iter().zip(0..) {
            let attached = node.attach_packets(machine, Port(at), name, Some(name.as_str()));
            attached.map_err(|error| format!("interface {name}: {}", node::in_use(&error)))?;
        }
        user_plane::open(plan.user_plane, machine, &interfaces, node)?;
        let names: Vec<&str> = interfaces.iter().map(String::as_str).collect();
        let not_forwarded = NotForwarded::between(&names)
            .map_err(|error| format!("the kernel cannot be kept from forwarding (nf_tables): {error}"))?;
        let service = tables::Watch::new(machine, kernel, devices);
        node.add_service(Box::new(service)).map_err(|error| format!("rtnetlink: {error}"))?;
        Ok(Self { machine, names: plan.names, _not_forwarded: not_forwarded })
    }

    fn reconfigure(
        &mut self,
        old: &ops::EdgeConfig,
        new: &ops::EdgeConfig,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        plan::reconfigure((self.machine, &mut self.names), (old, new), access, out)
    }

    fn execute(
        &mut self,
        _config: &ops::EdgeConfig,
        operation: &ops::EdgeOperation,
        access: &mut Access<'_>,
        out: &mut String,
    ) -> Result<(), CommandError> {
        operate::execute((self.machine, &self.names), operation, access, out);
        Ok(())
    }

    fn metrics(
        &self,
        _config: &ops::EdgeConfig,
        part: usize,
        access: &mut Access<'_>,
        groups: &mut Vec<Group>,
    ) -> bool {
        operate::groups((self.machine, &self.names), part, access, groups)
    }

    fn tables(&self, access: &mut Access<'_>) -> Vec<Table> {
        let Some(edge) = access.look_at(self.machine) else { return Vec::new() };
        vec![Table::unlimited("destinations", edge.destinations())]
    }

    fn shutdown(&mut self, _access: &mut Access<'_>) {}

    fn stopped(&mut self, _access: &mut Access<'_>) -> bool {
        true
    }
}

/// Runs `gannet edge`.
///
/// # Errors
/// A sentence for the person.
pub fn run(flags: node::flags::Flags) -> Result<std::process::ExitCode, String> {
    node::run::<EdgeNode>(flags)
}

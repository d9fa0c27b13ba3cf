//! The kernel's tables for the router: where packets to an address leave, and what has changed.

use core::cell::RefCell;
use gannet_machine::time::Instant;
use gannet_node::edge::{Edge, EdgeCommand, EdgeEvent, Hop};
use gannet_rt::{Access, KernelTables, MachineId, NextHop, Service};
use mio::Interest;
use std::io;
use std::rc::Rc;

/// The router's interfaces with their numbers in the kernel.
#[derive(Debug)]
pub struct Devices(Vec<(String, Option<u32>)>);

impl Devices {
    /// By their names; the numbers are learnt by [`Devices::learn`].
    pub fn new(names: Vec<String>) -> Self {
        Self(names.into_iter().map(|name| (name, None)).collect())
    }

    /// Asks for the numbers of those that are there.
    pub fn learn(&mut self, kernel: &mut KernelTables) {
        for (name, number) in &mut self.0 {
            *number = kernel.device(name);
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.0.iter().find(|(own, _)| own == name)?.1
    }

    fn place(&self, number: u32) -> Option<u16> {
        let at = self.0.iter().position(|(_, own)| *own == Some(number))?;
        u16::try_from(at).ok()
    }
}

/// Tells the router what it asks, where the kernel knows; otherwise the tables will change.
pub fn answer(edge: &mut Edge, event: EdgeEvent, kernel: &mut KernelTables, devices: &mut Devices) {
    let EdgeEvent::Resolve(destination) = event;
    let hop = match kernel.next_hop(destination) {
        NextHop::Unresolved => return,
        NextHop::Kernel => Hop::Kernel,
        NextHop::Station { device, station, mtu } => {
            devices.place(device).map_or(Hop::Kernel, |interface| Hop::Station { interface, station, mtu })
        }
    };
    edge.answer(EdgeCommand::Hop { destination, hop });
}

/// Listens to the news of the kernel's tables.
pub struct Watch {
    machine: MachineId<Edge>,
    kernel: Rc<RefCell<KernelTables>>,
    devices: Rc<RefCell<Devices>>,
    has_news: bool,
}

impl Watch {
    /// For a router.
    pub const fn new(
        machine: MachineId<Edge>,
        kernel: Rc<RefCell<KernelTables>>,
        devices: Rc<RefCell<Devices>>,
    ) -> Self {
        // What was before the start counts as news.
        Self { machine, kernel, devices, has_news: true }
    }
}

impl Service for Watch {
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        access.register(&mut *self.kernel.borrow_mut(), 0, Interest::READABLE)
    }

    fn ready(&mut self, _number: u32, _readable: bool, _writable: bool, _access: &mut Access<'_>) {
        self.has_news = true;
    }

    fn round(&mut self, access: &mut Access<'_>) {
        if !core::mem::take(&mut self.has_news) {
            return;
        }
        let mut kernel = self.kernel.borrow_mut();
        kernel.clear();
        let mut devices = self.devices.borrow_mut();
        devices.learn(&mut kernel);
        access.outside(self.machine).renew_packets(|name| devices.number(name));
        access.command(self.machine, EdgeCommand::TablesChanged);
    }

    fn next_wake(&self) -> Option<Instant> {
        self.has_news.then_some(Instant::ZERO)
    }
}

//! The kernel's tables for the router: where packets to an address leave, and what has changed.

use core::cell::RefCell;
use gannet_machine::time::{Duration, Instant};
use gannet_node::edge::{Changed, Edge, EdgeCommand, EdgeEvent, Hop};
use gannet_proto::flow_rule::Prefix;
use gannet_rt::{Access, KernelTables, MachineId, NextHop, Service, TableNews};
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
            *number = kernel.device(name).map(|state| state.device);
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.0.iter().find(|(own, _)| own == name)?.1
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.0.iter().filter_map(|(_, number)| *number)
    }

    fn place(&self, number: u32) -> Option<u16> {
        let at = self.0.iter().position(|(_, own)| *own == Some(number))?;
        u16::try_from(at).ok()
    }
}

/// Tells the router what it asks. What the kernel has to find out itself will be news.
pub fn answer(edge: &mut Edge, event: EdgeEvent, kernel: &mut KernelTables, devices: &mut Devices) {
    let EdgeEvent::Resolve(destination) = event;
    let hop = match kernel.next_hop(destination) {
        NextHop::Unresolved => return edge.answer(EdgeCommand::Unresolved(destination)),
        NextHop::Kernel => Hop::Kernel,
        NextHop::Station { device, station, mtu } => {
            devices.place(device).map_or(Hop::Kernel, |interface| Hop::Station { interface, station, mtu })
        }
    };
    edge.answer(EdgeCommand::Hop { destination, hop });
}

/// How often the kernel is to look whether neighbours are still there, while packets flow. It keeps one that it believes in for 30 s
/// on average.
const CONFIRM_EVERY: Duration = Duration::from_secs(5);

/// Listens to the news of the kernel's tables.
pub struct Watch {
    machine: MachineId<Edge>,
    kernel: Rc<RefCell<KernelTables>>,
    devices: Rc<RefCell<Devices>>,
    has_news: bool,
    /// What was before the start counts as news.
    has_begun: bool,
    confirm_at: Instant,
}

impl Watch {
    /// For a router.
    pub const fn new(
        machine: MachineId<Edge>,
        kernel: Rc<RefCell<KernelTables>>,
        devices: Rc<RefCell<Devices>>,
    ) -> Self {
        let (has_begun, confirm_at) = (false, Instant::ZERO);
        Self { machine, kernel, devices, has_news: true, has_begun, confirm_at }
    }

    fn tell(&self, news: &[TableNews], access: &mut Access<'_>) {
        let changed = |news: &TableNews| match *news {
            TableNews::All => Changed::All,
            TableNews::Routes(address, bits) => Changed::Within(Prefix { address, bits }),
            TableNews::Station(station) => Changed::Station(station),
            TableNews::Found => Changed::Found,
        };
        if news.contains(&TableNews::All) {
            let mut devices = self.devices.borrow_mut();
            devices.learn(&mut self.kernel.borrow_mut());
            access.outside(self.machine).renew_packets(|name| devices.number(name));
            access.command(self.machine, EdgeCommand::TablesChanged(Changed::All));
            return;
        }
        for news in news {
            access.command(self.machine, EdgeCommand::TablesChanged(changed(news)));
        }
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
        // A loop without packets has no rounds.
        if access.now() >= self.confirm_at {
            self.confirm_at = access.now() + CONFIRM_EVERY;
            let mut kernel = self.kernel.borrow_mut();
            self.devices.borrow().numbers().for_each(|number| kernel.confirm_neighbours(number));
        }
        if !core::mem::take(&mut self.has_news) {
            return;
        }
        let mut news = self.kernel.borrow_mut().news();
        if !core::mem::replace(&mut self.has_begun, true) {
            news = vec![TableNews::All];
        }
        self.tell(&news, access);
    }

    fn next_wake(&self) -> Option<Instant> {
        self.has_news.then_some(Instant::ZERO)
    }
}

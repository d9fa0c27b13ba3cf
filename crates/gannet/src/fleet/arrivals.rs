//! Mobiles are switched on one after the other, each as soon as its cell is in service.

use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::Bss;
use gannet_node::ms::{Ms, MsCommand};
use gannet_ops::config::fleet::Mobiles;
use gannet_rt::{Access, MachineId, Service};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

/// How long to wait before looking again whether a cell has come into service.
const CELL_PATIENCE: Duration = Duration::from_millis(50);

/// How many of those that wait are looked at for one with a cell.
const LOOK_AHEAD: usize = 64;

/// Who is still to be switched on.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: VecDeque<u32>,
    /// From one to the next.
    interval: Duration,
    activate: bool,
    next: Instant,
    /// When the loop is to look whether all has been said.
    silent_at: Option<Instant>,
}

impl Queue {
    /// Everybody, where the configuration has a rate.
    pub fn fill(&mut self, mobiles: &Mobiles) {
        self.set_rate(mobiles);
        if mobiles.attach_per_s.is_some() {
            self.waiting = (0..mobiles.count).collect();
        }
    }

    /// Takes over a changed rate and whether PDP contexts follow.
    pub fn set_rate(&mut self, mobiles: &Mobiles) {
        self.activate = mobiles.activate;
        if let Some(rate) = mobiles.attach_per_s {
            self.interval = Duration(1_000_000_000 / u64::from(rate.max(1)));
        }
    }

    /// Nobody any more: the end comes, and all has been said at `silent_at`.
    pub fn end(&mut self, silent_at: Instant) {
        self.waiting.clear();
        self.silent_at = Some(silent_at);
    }

    /// True when the end has come and all has been said.
    pub fn is_silent(&self, now: Instant) -> bool {
        self.silent_at.is_some_and(|at| now >= at)
    }

    /// Takes a mobile out: an operator has decided about it.
    pub fn forget(&mut self, mobile: u32) {
        self.waiting.retain(|waiting| *waiting != mobile);
    }
}

/// What gives the orders.
pub struct Arrivals {
    bss: Option<MachineId<Bss>>,
    ms: MachineId<Ms>,
    queue: Rc<RefCell<Queue>>,
    activate: Box<dyn Fn(u32) -> Vec<MsCommand>>,
}

impl Arrivals {
    /// For these machines; without a BSS, mobiles wait for no cell. `activate` says the orders by which a mobile attaches and
    /// activates its PDP contexts.
    pub fn new(
        (bss, ms): (Option<MachineId<Bss>>, MachineId<Ms>),
        queue: Rc<RefCell<Queue>>,
        activate: impl Fn(u32) -> Vec<MsCommand> + 'static,
    ) -> Self {
        Self { bss, ms, queue, activate: Box::new(activate) }
    }

    /// The cell in which the mobile begins is in service.
    fn has_cell(&self, mobile: u32, access: &mut Access<'_>) -> bool {
        let Some(bss) = self.bss else { return true };
        let cell = access.machine(self.ms).and_then(|ms| ms.config().first_cell(mobile));
        let bss = access.machine(bss);
        cell.zip(bss).is_some_and(|(cell, bss)| bss.cell(cell.into()).is_some_and(|cell| cell.up))
    }
}

impl Service for Arrivals {
    fn start(&mut self, _: &mut Access<'_>) -> io::Result<()> {
        Ok(())
    }

    fn ready(&mut self, _: u32, _: bool, _: bool, _: &mut Access<'_>) {}

    fn round(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        let queue = Rc::clone(&self.queue);
        let mut queue = queue.borrow_mut();
        while queue.next <= now && !queue.waiting.is_empty() {
            let mut first = queue.waiting.iter().take(LOOK_AHEAD);
            let Some(place) = first.position(|mobile| self.has_cell(*mobile, access)) else {
                queue.next = now + CELL_PATIENCE;
                // Others, further behind, may have a cell.
                let looked_at = queue.waiting.len().min(LOOK_AHEAD);
                queue.waiting.rotate_left(looked_at);
                return;
            };
            let Some(mobile) = queue.waiting.remove(place) else { return };
            // After a pause nobody catches up: the rate is the highest there is.
            queue.next =
                if now.since(queue.next) > CELL_PATIENCE { now } else { queue.next } + queue.interval;
            let mut orders = if queue.activate { (self.activate)(mobile) } else { Vec::new() };
            if orders.is_empty() {
                orders.push(MsCommand::Attach { mobile });
            }
            for order in orders {
                access.command(self.ms, order);
            }
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        let queue = self.queue.borrow();
        (!queue.waiting.is_empty()).then_some(queue.next).into_iter().chain(queue.silent_at).min()
    }
}

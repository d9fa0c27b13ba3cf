//! The page of metrics and the control interface beside the machines of a loop.

use super::statistics::Counted;
use super::{Node, Running};
use gannet_machine::time::Instant;
use gannet_ops::connections::{Answers, Connections};
use gannet_rt::{Access, Service};
use mio::Interest;
use mio::unix::SourceFd;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// The number under which the listener is polled; connections have theirs, from 1.
const LISTENER: u32 = 0;

/// Connections as a service of the loop.
pub struct Listener<N: Node, C> {
    connections: Connections<C>,
    node: Rc<RefCell<Running<N>>>,
    /// Something was ready, or there is more to do.
    due: bool,
}

impl<N: Node, C> Listener<N, C> {
    /// Of a node.
    pub const fn new(connections: Connections<C>, node: Rc<RefCell<Running<N>>>) -> Self {
        Self { connections, node, due: false }
    }
}

impl<N: Node, C> Service for Listener<N, C>
where
    C: for<'r, 'a, 'l> Answers<Counted<'r, 'a, 'l, N>>,
{
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        access.register(&mut SourceFd(&self.connections.listener_fd()), LISTENER, Interest::READABLE)
    }

    fn ready(&mut self, _number: u32, _readable: bool, _writable: bool, _access: &mut Access<'_>) {
        self.due = true;
    }

    fn round(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        let late = self.connections.next_deadline().is_some_and(|deadline| deadline <= now);
        let hears_news = <C as Answers<Counted<'_, '_, '_, N>>>::HEARS_NEWS;
        let news = hears_news && self.node.borrow().node.has_traps();
        if !self.due && !late && !news {
            return;
        }
        let mut running = self.node.borrow_mut();
        let mut counted = Counted { running: &mut running, access: &mut *access };
        self.due = self.connections.poll(now, &mut counted);
        if hears_news {
            running.node.traps_unheard(self.connections.news_lost());
        }
        for (number, fd) in self.connections.opened() {
            let both = Interest::READABLE | Interest::WRITABLE;
            // One that cannot be polled is cut when its time is over.
            let _ = access.register(&mut SourceFd(&fd), number, both);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        if self.due { Some(Instant::ZERO) } else { self.connections.next_deadline() }
    }
}

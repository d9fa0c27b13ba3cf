//! The VTY beside the machines of a loop.

use super::log::SessionLog;
use super::statistics::{self, Counted};
use super::{ConfigOf, Node, OperationOf, Running};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_ops::config::Element;
use gannet_ops::grammar::CommandError;
use gannet_ops::vty::server::{Change, Progress};
use gannet_ops::vty::session::LogLine;
use gannet_ops::vty::{Operator, Server, Statistics};
use gannet_rt::{Access, Service};
use mio::Interest;
use mio::unix::SourceFd;
use std::cell::RefCell;
use std::io;
use std::path::Path;
use std::rc::Rc;

/// The number under which the listener is polled; sessions have theirs, from 1.
const LISTENER: u32 = 0;

/// A VTY server as a service of the loop.
pub struct VtyService<N: Node> {
    server: Server<N::Element>,
    node: Rc<RefCell<Running<N>>>,
    log: SessionLog,
    /// Something was ready, or there is more to do.
    due: bool,
}

impl<N: Node> VtyService<N> {
    /// The server of a node.
    pub fn new(server: Server<N::Element>, node: Rc<RefCell<Running<N>>>) -> Self {
        Self { server, node, log: SessionLog::default(), due: false }
    }

    fn register_sessions(&mut self, access: &Access<'_>) {
        for change in self.server.changes() {
            // A closed socket has taken itself out of the poll.
            if let Change::Opened { number, fd } = change {
                let both = Interest::READABLE | Interest::WRITABLE;
                if access.register(&mut SourceFd(&fd), number, both).is_err() {
                    continue;
                }
            }
        }
    }
}

impl<N: Node> Service for VtyService<N> {
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        access.register(&mut SourceFd(&self.server.listener_fd()), LISTENER, Interest::READABLE)
    }

    fn ready(&mut self, _number: u32, _readable: bool, _writable: bool, _access: &mut Access<'_>) {
        self.due = true;
    }

    fn round(&mut self, access: &mut Access<'_>) {
        let late = self.server.next_deadline().is_some_and(|deadline| deadline <= access.now());
        if !self.due && !late && !self.log.is_waiting() {
            return;
        }
        let node = Rc::clone(&self.node);
        let mut running = node.borrow_mut();
        let at = access.now();
        let mut console = Console { running: &mut running, access };
        for line in self.log.take() {
            let line = LogLine {
                category: line.category,
                level: line.level,
                at,
                date: Some(&line.date),
                text: &line.text,
            };
            self.server.log(&line, &console);
        }
        let Progress { again, .. } = self.server.poll(at, &mut console);
        self.due = again;
        self.register_sessions(access);
        let server = &self.server;
        self.log.follow(access.log(), |category, level| server.shows(category, level));
    }

    fn next_wake(&self) -> Option<Instant> {
        if self.due || self.log.is_waiting() { Some(Instant::ZERO) } else { self.server.next_deadline() }
    }
}

/// A running node and its loop, as an operator reaches them for the time of a command.
struct Console<'r, 'a, 'l, N: Node> {
    running: &'r mut Running<N>,
    access: &'a mut Access<'l>,
}

impl<N: Node> Operator<N::Element> for Console<'_, '_, '_, N> {
    fn config(&self) -> &ConfigOf<N> {
        &self.running.config
    }

    fn reconfigure(&mut self, new: ConfigOf<N>, out: &mut String) -> Result<(), CommandError> {
        self.running.apply(new, self.access, out)
    }

    fn statistics(&mut self, asked: Statistics, out: &mut String) -> Result<(), CommandError> {
        statistics::execute(Counted { running: self.running, access: self.access }, asked, out)
    }

    fn execute(&mut self, operation: &OperationOf<N>, out: &mut String) -> Result<(), CommandError> {
        let Running { node, config, .. } = &mut *self.running;
        node.execute(config, operation, self.access, out)
    }

    fn uptime(&self) -> Duration {
        Duration(self.access.now().0)
    }

    fn say(&mut self, category: Category, level: Level, text: &str) {
        self.access.log().line(category, level, format_args!("{text}"));
    }

    fn would_start(&self, config: &ConfigOf<N>) -> Result<(), CommandError> {
        let problems = N::problems(config);
        if problems.is_empty() { Ok(()) } else { Err(CommandError(problems.join("\n"))) }
    }

    fn config_file(&self) -> Option<&Path> {
        Some(&self.running.file)
    }
}

/// The VTY's port for a sentence.
pub fn address_of<E: Element>(config: &E::Config) -> String {
    let listen = E::common(config).vty;
    format!("{}:{}", listen.address, listen.port.unwrap_or(E::VTY_PORT))
}

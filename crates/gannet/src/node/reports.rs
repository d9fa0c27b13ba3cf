//! What happens by the clock: reports to statsds, and the rates of counters.

use super::statistics::{Counted, wants_rates};
use super::{Node, Running};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_ops::config::Element;
use gannet_ops::config::{ReporterKind, StatsReporter};
use gannet_ops::metrics::statsd::Reporter;
use gannet_ops::metrics::{Group, Source};
use gannet_rt::{Access, Service};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::UdpSocket;
use std::rc::Rc;

const SECOND: Duration = Duration::from_secs(1);
/// Datagrams that leave in one turn of the loop.
const DATAGRAMS_PER_TURN: usize = 4;

/// A statsd that is told.
#[derive(Debug)]
struct Told {
    config: StatsReporter,
    reporter: Reporter,
    socket: Option<UdpSocket>,
    waiting: VecDeque<String>,
}

/// Reports and rates as a service of the loop.
pub struct Reports<N: Node> {
    node: Rc<RefCell<Running<N>>>,
    told: Vec<Told>,
    /// The next part of the groups, while they are collected.
    collecting: Option<(usize, Vec<Group>)>,
    reported: Instant,
    next_second: Instant,
    /// Somebody records what crosses the interfaces, as the node knows.
    is_traced: bool,
}

impl<N: Node> Reports<N> {
    /// Of a node.
    pub const fn new(node: Rc<RefCell<Running<N>>>) -> Self {
        Self {
            node,
            told: Vec::new(),
            collecting: None,
            reported: Instant::ZERO,
            next_second: Instant::ZERO,
            is_traced: false,
        }
    }

    /// Takes the reporters of the configuration; those that are as they were remember what they have told.
    fn follow(&mut self, wanted: &[StatsReporter]) {
        let enabled = || wanted.iter().filter(|config| config.enabled);
        if self.told.iter().map(|told| &told.config).eq(enabled()) {
            return;
        }
        let mut before = core::mem::take(&mut self.told);
        for config in enabled() {
            let known = before.iter().position(|told| told.config == *config);
            self.told.push(known.map_or_else(|| Told::new(config), |place| before.swap_remove(place)));
        }
    }

    /// When the next report begins.
    fn next_report(&self, interval_s: u16) -> Option<Instant> {
        let wanted = interval_s > 0 && !self.told.is_empty();
        wanted.then(|| self.reported + Duration::from_secs(interval_s.into()))
    }

    /// One part of the groups, and the reports when all are there.
    fn collect(&mut self, counted: &mut Counted<'_, '_, '_, N>) {
        let Some((part, mut groups)) = self.collecting.take() else { return };
        if counted.groups(part, &mut groups) {
            self.collecting = Some((part + 1, groups));
            return;
        }
        for told in &mut self.told {
            // What was not sent until now is told by the next report as far as it is a gauge, and lost otherwise.
            counted.running.counting.unsent += told.waiting.len() as u64;
            told.waiting = told.reporter.report(&groups, &told.config.style()).into();
        }
    }
}

impl Told {
    fn new(config: &StatsReporter) -> Self {
        Self { config: config.clone(), reporter: Reporter::default(), socket: None, waiting: VecDeque::new() }
    }

    fn connect(config: &StatsReporter) -> io::Result<UdpSocket> {
        let any = match config.remote_ip {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = UdpSocket::bind((config.local_ip.unwrap_or(any), 0))?;
        socket.connect((config.remote_ip, config.remote_port))?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }

    /// Sends some of what waits; how many nobody took.
    fn send(&mut self, access: &mut Access<'_>) -> u64 {
        let mut lost = 0;
        for _ in 0..DATAGRAMS_PER_TURN {
            let Some(datagram) = self.waiting.pop_front() else { break };
            if self.config.kind == ReporterKind::Log {
                for line in datagram.lines() {
                    access.log().line(Category::Main, Level::Info, format_args!("stats {line}"));
                }
                continue;
            }
            if self.socket.is_none() {
                self.socket = Self::connect(&self.config).ok();
            }
            let sent = self.socket.as_ref().is_some_and(|socket| socket.send(datagram.as_bytes()).is_ok());
            lost += u64::from(!sent);
        }
        lost
    }
}

impl<N: Node> Service for Reports<N> {
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        (self.reported, self.next_second) = (access.now(), access.now());
        Ok(())
    }

    fn ready(&mut self, _number: u32, _readable: bool, _writable: bool, _access: &mut Access<'_>) {}

    fn round(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        let node = Rc::clone(&self.node);
        let mut running = node.borrow_mut();
        let is_traced = access.recorder().is_some();
        if core::mem::replace(&mut self.is_traced, is_traced) != is_traced {
            // The words may be those of another node of the process.
            running.node.traced(access, &mut String::new());
        }
        let stats = &N::Element::common(&running.config).stats;
        let interval_s = stats.interval_s;
        self.follow(&stats.reporters);
        let due = self.next_report(interval_s).is_some_and(|at| at <= now);
        if core::mem::take(&mut running.counting.report) || due {
            self.reported = now;
            self.collecting.get_or_insert_with(|| (0, Vec::new()));
        }
        let rates = now >= self.next_second && wants_rates::<N>(&running.config);
        let mut counted = Counted { running: &mut running, access };
        if rates {
            let mut groups = Vec::new();
            counted.groups(0, &mut groups);
            counted.running.counting.rates.second(&groups);
            // A second that was missed is not made up for.
            let next = self.next_second + SECOND;
            self.next_second = if next > now { next } else { now + SECOND };
        }
        self.collect(&mut counted);
        for told in &mut self.told {
            running.counting.unsent += told.send(access);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        if self.collecting.is_some() || self.told.iter().any(|told| !told.waiting.is_empty()) {
            return Some(Instant::ZERO);
        }
        let running = self.node.borrow();
        let second = wants_rates::<N>(&running.config).then_some(self.next_second);
        let report = self.next_report(N::Element::common(&running.config).stats.interval_s);
        second.into_iter().chain(report).min()
    }
}

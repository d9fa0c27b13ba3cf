//! What changes under a running node, devices and neighbours that come and go, and what an operator wants to see of it.

use crate::busy::BusyPoll;
use crate::ingress::{Backend, OutputWay};
use crate::io::{Io, Kind};
use crate::netlink::{LOOK_EVERY, Monitor};
use crate::page_exchange::{ExchangeReport, PageExchange};
use crate::xdp::Change;
use core::net::SocketAddr;
use gannet_demux::xsk::Statistics;
use gannet_demux::{Classify, FlowCounters, Ring, Totals, ring_drops};
use gannet_machine::Port;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_machine::trace::Level;

/// How user data comes in and goes out, and what was counted on the way.
#[derive(Debug, Clone)]
pub struct KernelPath {
    /// Whether the loop polls its devices.
    pub busy_poll: BusyPoll,
    /// Devices with AF_XDP sockets.
    pub devices: Vec<DeviceReport>,
    /// UDP sockets.
    pub sockets: Vec<SocketReport>,
    /// What each classifier counted, where there are any.
    pub classifiers: Vec<ClassifierReport>,
    /// What became of pages; `None` where they cannot be exchanged.
    pub exchanged: Option<ExchangeReport>,
}

/// A program that knows the rules.
#[derive(Debug, Clone)]
pub struct ClassifierReport {
    /// For whom it works: the number of the machine in the loop, and its port.
    pub machine: usize,
    /// See `machine`.
    pub port: Port,
    /// What it counted.
    pub totals: Totals,
}

/// A device with AF_XDP sockets.
#[derive(Debug, Clone)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// False while it is away.
    pub is_there: bool,
    /// What the kernel counted at each ring that it has.
    pub rings: Vec<(Ring, Statistics)>,
    /// Frames that the kernel holds for it now.
    pub frames_held: usize,
}

/// A UDP socket of a machine.
#[derive(Debug, Clone)]
pub struct SocketReport {
    /// Whose it is: the number of the machine in the loop, and its port.
    pub machine: usize,
    /// See `machine`.
    pub port: Port,
    /// Its address.
    pub address: SocketAddr,
    /// How it receives; what AF_XDP does not take comes through it too.
    pub backend: Backend,
    /// How its datagrams leave.
    pub output: OutputWay,
    /// Datagrams that wait in front of it.
    pub waiting: usize,
    /// With AF_XDP: datagrams that left as frames, and through the kernel.
    pub by_frame: u64,
    /// See `by_frame`.
    pub by_kernel: u64,
    /// With AF_XDP: peers whose Ethernet address is known.
    pub peers_resolved: usize,
    /// The NAPI of its packets; 0 where it is not known.
    pub napi: u32,
    /// Asked in every turn while the loop spins.
    pub polls: bool,
}

impl KernelPath {
    /// All drops before the node by their names: those of all classifiers together, and those of the rings.
    #[must_use]
    pub fn drops(&self) -> Vec<(Drop, u64)> {
        let mut sum = Statistics::default();
        for device in &self.devices {
            device.rings.iter().for_each(|(_, statistics)| sum += *statistics);
        }
        let rings = ring_drops(sum.rx_ring_full, sum.rx_fill_ring_empty);
        let mut drops: Vec<(Drop, u64)> = Vec::new();
        for (drop, count) in self.classifiers.iter().flat_map(|of| of.totals.drops()).chain(rings) {
            match drops.iter_mut().find(|(name, _)| *name == drop) {
                Some((_, sum)) => *sum += count,
                None => drops.push((drop, count)),
            }
        }
        drops
    }

    /// What the classifiers of a port counted.
    pub fn of_port(&self, port: Port) -> impl Iterator<Item = &Totals> {
        self.classifiers.iter().filter(move |of| of.port == port).map(|of| &of.totals)
    }
}

impl Io {
    /// Looks at what may have changed; costs nothing in nearly all turns.
    pub(crate) fn keep_house(&mut self) {
        self.choose_pollers();
        self.watch_capture();
        if self.reconnect_at.is_some_and(|at| at <= self.now) {
            self.reconnect();
        }
        if self.now >= self.count_lost_at {
            self.count_lost_at = self.now + LOOK_EVERY;
            self.count_lost_packets();
        }
        let mut links_changed = false;
        if core::mem::take(&mut self.tables_changed) {
            links_changed = self.monitor.as_ref().is_some_and(Monitor::clear);
            for endpoint in self.endpoints.iter_mut().flatten() {
                if let Kind::Udp(udp) = &mut endpoint.kind
                    && let Some(output) = &mut udp.output
                {
                    output.look_again();
                }
            }
        }
        self.look_at_forwarders(links_changed);
        let Some(xdp) = &mut self.xdp else { return };
        let mut changes = Vec::new();
        xdp.look(self.now, links_changed, |place, change| changes.push((place, change)));
        for (place, change) in changes {
            self.device_changed(place, &change);
        }
        if let Some(exchanges) = self.xdp.as_mut().and_then(|xdp| xdp.look_across(self.now)) {
            let what = if exchanges { "can" } else { "can no longer" };
            self.note(
                Level::Notice,
                format_args!("pages of what arrives on Gn {what} leave with what is sent on Gb"),
            );
        }
        self.reopen_after_return();
    }

    fn device_changed(&mut self, place: usize, change: &Change) {
        let Some(xdp) = &mut self.xdp else { return };
        let Some(device) = xdp.devices.get_mut(place) else { return };
        let name = device.link.name.clone();
        match change {
            Change::Gone => {
                self.busy.forget(&name);
                self.note(Level::Error, format_args!("{name} is away: the kernel has its traffic"));
            }
            Change::Back => {
                device.reopen = true;
                self.poll_rings(place);
                self.note(
                    Level::Notice,
                    format_args!("{name} is back: AF_XDP sockets and program are set up"),
                );
            }
            Change::NotYet(error) => {
                if !core::mem::replace(&mut device.refusal_told, true) {
                    self.note(Level::Error, format_args!("{name} cannot be set up again yet: {error}"));
                }
            }
        }
    }

    /// Makes the UDP sockets on the addresses of a device that has returned anew, once it has its addresses again.
    fn reopen_after_return(&mut self) {
        let Some(xdp) = &mut self.xdp else { return };
        let Some(device) = xdp.devices.iter_mut().find(|device| device.reopen) else { return };
        let is_ours = |address| std::net::UdpSocket::bind(SocketAddr::new(address, 0)).is_ok();
        if !device.addresses.iter().copied().all(is_ours) {
            return;
        }
        device.reopen = false;
        let addresses = device.addresses.clone();
        for index in 0..self.endpoints.len() {
            let is_alone = |udp: &mut crate::udp::Udp| {
                !udp.config.shared_port && addresses.contains(&udp.local.bound().ip())
            };
            // Those that share a port are known to a program, and stay.
            if !self.udp_at(index).is_some_and(is_alone) {
                continue;
            }
            if let Err(error) = self.reopen_udp(index) {
                self.note(Level::Error, format_args!("a UDP socket could not be made anew: {error}"));
            }
        }
    }

    /// When [`Io::keep_house`] wants to be called at the latest.
    pub(crate) fn housekeeping_at(&self) -> Option<Instant> {
        let look_at = self.xdp.as_ref().and_then(crate::xdp::Xdp::look_at);
        look_at
            .into_iter()
            .chain(self.reconnect_at)
            .chain(self.capture_look_at())
            .chain(self.forwarders_look_at())
            .min()
    }

    /// Does a frame wait that its device did not take?
    pub(crate) fn has_unsent(&self) -> bool {
        self.xdp.as_ref().is_some_and(crate::xdp::Xdp::has_unsent) || self.has_unsent_packets()
    }

    pub(crate) fn flow_counters(&self, name: u32) -> Option<FlowCounters> {
        let programs = self.xdp.iter().flat_map(|xdp| xdp.programs.iter());
        let at_the_driver = programs.filter_map(|program| program.of_flow(name)).next();
        at_the_driver.or_else(|| self.filter.as_ref()?.of_flow(name))
    }

    pub(crate) fn kernel_path(&self) -> KernelPath {
        let xdp = self.xdp.as_ref();
        let devices = xdp.map_or_else(Vec::new, |xdp| {
            let report = |(place, device): (usize, &crate::xdp::XdpDevice)| DeviceReport {
                name: device.link.name.clone(),
                is_there: device.sockets.is_some(),
                rings: xdp.statistics(place),
                frames_held: xdp.held_by(device),
            };
            xdp.devices.iter().enumerate().map(report).collect()
        });
        let sockets = self.endpoints.iter().flatten().filter_map(|endpoint| {
            let Kind::Udp(udp) = &endpoint.kind else { return None };
            let owner = endpoint.owner;
            let is_target = |device: &crate::xdp::XdpDevice| {
                device.target.is_some_and(|to| (to.machine, to.port) == (owner.machine, owner.port))
            };
            let output = udp.output.as_ref();
            Some(SocketReport {
                machine: owner.machine,
                port: owner.port,
                address: udp.local.bound(),
                backend: if xdp.is_some_and(|xdp| xdp.devices.iter().any(is_target)) {
                    Backend::Xdp
                } else if udp.config.shared_port {
                    Backend::Reuseport
                } else {
                    Backend::Fifo
                },
                output: if output.is_some() { OutputWay::Xdp } else { OutputWay::Udp },
                waiting: udp.queue.len(),
                by_frame: output.map_or(0, |output| output.by_frame),
                by_kernel: output.map_or(0, |output| output.by_kernel),
                peers_resolved: output.map_or(0, crate::output::Output::resolved),
                napi: udp.napi,
                polls: udp.polls,
            })
        });
        KernelPath {
            busy_poll: self.busy.mode,
            devices,
            sockets: sockets.collect(),
            classifiers: self.classifiers(),
            exchanged: xdp.and_then(|xdp| xdp.pages.as_ref()).map(PageExchange::report),
        }
    }

    fn classifiers(&self) -> Vec<ClassifierReport> {
        let xdp = self.xdp.iter().flat_map(|xdp| {
            let targets = xdp.devices.iter().filter_map(|device| device.target);
            targets.filter_map(|target| {
                let totals = xdp.programs.get(target.program)?.totals();
                Some(ClassifierReport { machine: target.machine, port: target.port, totals })
            })
        });
        // Sockets that share an address are those of the filter.
        let shared = self.endpoints.iter().flatten().find(|endpoint| match &endpoint.kind {
            Kind::Udp(udp) => udp.config.shared_port,
            Kind::Tun { .. } | Kind::Tcp(_) | Kind::Packets(_) => false,
        });
        let filter = self.filter.as_ref().zip(shared).map(|(filter, shared)| ClassifierReport {
            machine: shared.owner.machine,
            port: shared.owner.port,
            totals: filter.totals(),
        });
        xdp.chain(filter).collect()
    }
}

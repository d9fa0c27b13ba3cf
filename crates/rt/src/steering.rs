//! The classifiers of `gannet-demux` as the loop uses them.

use crate::netlink::Link;
use crate::xdp::Steering;
use gannet_demux::bpf::XdpMode;
use gannet_demux::edge::EdgeProgram;
use gannet_demux::exchange::Exchange;
use gannet_demux::link::{Offload, offload, set_offload};
use gannet_demux::{AtDriver, ByRing, Classifier, Config, FlowCounters, Totals, Uplink, UplinkConfig};
use gannet_proto::classifier::RuleChange;
use std::os::fd::BorrowedFd;

/// An XDP program: that of Gn or that of Gb.
#[derive(Debug)]
pub(crate) struct XdpProgram<P>(P);

/// A program that may exchange pages; `None` for one that never does.
pub(crate) trait Exchanging {
    fn exchange(&mut self, rings: ByRing<u32>, empty: u32) -> Option<Result<Exchange, String>>;
    /// Contexts that it knows.
    fn contexts(&self) -> usize;
}

impl Exchanging for Classifier {
    fn exchange(&mut self, rings: ByRing<u32>, empty: u32) -> Option<Result<Exchange, String>> {
        Some(Self::exchange(self, rings, empty).map_err(|error| error.to_string()))
    }

    fn contexts(&self) -> usize {
        Self::contexts(self)
    }
}

impl Exchanging for Uplink {
    fn exchange(&mut self, _rings: ByRing<u32>, _empty: u32) -> Option<Result<Exchange, String>> {
        None
    }

    fn contexts(&self) -> usize {
        0
    }
}

impl XdpProgram<Classifier> {
    /// Loads the one for Gn.
    ///
    /// # Errors
    /// A sentence: what is missing.
    pub(crate) fn downlink(config: &Config) -> Result<Self, String> {
        let loaded = Classifier::load(config);
        // Kernels before Linux 5.18 cannot exchange pages.
        let loaded = match loaded {
            Err(_) if config.exchange => Classifier::load(&Config { exchange: false, ..config.clone() }),
            other => other,
        };
        loaded.map(Self).map_err(|error| error.to_string())
    }
}

impl XdpProgram<Uplink> {
    /// Loads the one for Gb.
    ///
    /// # Errors
    /// A sentence: what is missing.
    pub(crate) fn uplink(config: &UplinkConfig) -> Result<Self, String> {
        Uplink::load(config).map(Self).map_err(|error| error.to_string())
    }
}

impl<P: AtDriver + Exchanging> Steering for XdpProgram<P> {
    fn apply(&mut self, change: &RuleChange) -> Result<(), String> {
        self.0.apply(change).map_err(|error| error.to_string())
    }

    fn attach(&mut self, link: &Link) -> Result<(), String> {
        let index = link.index;
        self.0.attach(index, XdpMode::Native).map_err(|error| format!("{}: {error}", link.name))
    }

    fn detach(&mut self, ifindex: u32) {
        self.0.detach(ifindex);
    }

    fn set_sockets(&mut self, queue: u32, sockets: ByRing<Option<BorrowedFd<'_>>>) -> Result<(), String> {
        let shard = u8::try_from(queue).map_err(|_| "more than 256 receive queues".to_owned())?;
        self.0.set_sockets(shard, sockets).map_err(|error| error.to_string())
    }

    fn exchange(&mut self, rings: ByRing<u32>, empty: u32) -> Option<Result<Exchange, String>> {
        self.0.exchange(rings, empty)
    }

    fn contexts(&self) -> usize {
        self.0.contexts()
    }

    fn lend_clock(&self, now_ns: u64) {
        self.0.lend_clock(now_ns);
    }

    fn totals(&self) -> Totals {
        self.0.totals()
    }

    fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        self.0.of_flow(name)
    }
}

/// The program of an edge router, which knows no rules.
#[derive(Debug)]
pub(crate) struct EdgeSteering(pub(crate) EdgeProgram);

impl Steering for EdgeSteering {
    fn apply(&mut self, _change: &RuleChange) -> Result<(), String> {
        Ok(())
    }

    fn attach(&mut self, link: &Link) -> Result<(), String> {
        self.renew(link);
        // A veth begins to join packets when a program is set, and what is joined fits no frame of ours.
        let joins = offload(&link.name, Offload::Receive);
        let attached = self.0.attach(link.index, XdpMode::Native);
        attached.map_err(|error| format!("{}: {error}", link.name))?;
        if joins.is_ok_and(|joins| !joins) {
            let _ = set_offload(&link.name, Offload::Receive, false);
        }
        Ok(())
    }

    fn detach(&mut self, ifindex: u32) {
        self.0.detach(ifindex);
    }

    fn set_sockets(&mut self, queue: u32, sockets: ByRing<Option<BorrowedFd<'_>>>) -> Result<(), String> {
        let [.., socket] = sockets;
        self.0.set_socket(queue, socket).map_err(|error| error.to_string())
    }

    fn exchange(&mut self, _rings: ByRing<u32>, _empty: u32) -> Option<Result<Exchange, String>> {
        None
    }

    fn contexts(&self) -> usize {
        0
    }

    fn lend_clock(&self, _now_ns: u64) {}

    fn totals(&self) -> Totals {
        Totals::default()
    }

    fn of_flow(&self, _name: u32) -> Option<FlowCounters> {
        None
    }

    fn renew(&mut self, link: &Link) {
        self.0.set_station(link.address.unwrap_or_default());
    }

    fn router(&self) -> Option<&EdgeProgram> {
        Some(&self.0)
    }
}

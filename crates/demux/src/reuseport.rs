//! The classifier without XDP: a filter on each UDP socket drops what would be dropped later, and a program steers each
//! datagram to the socket of its ring.
//!
//! The tables, rules and counters are those of [`crate::Classifier`], and the model is the same. What it lacks is the
//! place: a packet has gone through the kernel's stack before it is dropped.

use crate::bpf::{TestRun, TestRunResult, objects};
use crate::kernel::Tables;
use crate::layout::{RINGS, Ring};
use crate::rules::{Classify, Config, Error, FlowCounters, Totals};
use gannet_proto::classifier::RuleChange;
use std::os::fd::AsFd;

/// The programs' names in their object.
const FILTER: &str = "filter";
const STEER: &str = "steer";

/// The programs for sockets that share a port.
#[derive(Debug)]
pub struct Reuseport {
    tables: Tables,
    has_steering: [bool; 2],
}

/// Which of two ports the sockets share: each has sockets of its own for all rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// That of GTPv1-U.
    V1 = 0,
    /// That of GTPv0.
    V0 = 1,
}

impl Reuseport {
    /// Loads the programs; no socket has them yet. The addresses of `config` mean nothing here, since the sockets have
    /// their own, and neither does its policy for UDP checksums, since the kernel verifies them.
    ///
    /// # Errors
    /// [`Error::Config`], or what the kernel misses or refuses.
    pub fn load(config: &Config) -> Result<Self, Error> {
        let mut tables = Tables::load(&objects::FILTER, false, config)?;
        tables.object().load_socket_filter(FILTER)?;
        Ok(Self { tables, has_steering: [false; 2] })
    }

    /// Makes a bound socket that of a ring. All sockets of a service have `SO_REUSEPORT` and the same address. Datagrams of a ring
    /// without socket, and those that are no user data where [`Ring::Signalling`] has none, go to that of
    /// [`Ring::BestEffort`].
    ///
    /// # Errors
    /// [`Error::Kernel`], also where the socket does not share its port.
    pub fn set_socket(&mut self, service: Service, ring: Ring, socket: impl AsFd) -> Result<(), Error> {
        let object = self.tables.object();
        object.attach_socket_filter(FILTER, &socket)?;
        object.set_reuseport_socket("sockets", service as u32 * RINGS + ring as u32, &socket)?;
        if let Some(steering) = self.has_steering.get_mut(service as usize).filter(|steering| !**steering) {
            object.attach_reuseport(STEER, &socket)?;
            *steering = true;
        }
        Ok(())
    }

    /// The tables.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Runs the filter by hand on a UDP datagram behind 14 octets of Ethernet.
    ///
    /// # Errors
    /// What the kernel says of the frame.
    pub fn run(&mut self, run: TestRun<'_>) -> Result<TestRunResult, Error> {
        Ok(self.tables.object().run(FILTER, run)?)
    }
}

impl Classify for Reuseport {
    fn apply(&mut self, change: &RuleChange) -> Result<(), Error> {
        self.tables.apply(change)
    }

    fn totals(&self) -> Totals {
        self.tables.totals()
    }

    fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        self.tables.of_flow(name)
    }
}

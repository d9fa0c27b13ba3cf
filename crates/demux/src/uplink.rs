//! The classifier of Gb in the kernel: whose LL-PDU it is.

use crate::bpf::{TestRun, TestRunResult, XdpMode, objects};
use crate::layout::{ByRing, Entry, Gcra, block_bit, key};
use crate::maps::{Interfaces, Maps, globals, globals_of_frames};
use crate::rules::{AtDriver, Classify, Error, FlowCounters, Totals, UplinkConfig, interval_and_burst_ns};
use core::sync::atomic::Ordering::{Relaxed, Release};
use gannet_proto::classifier::{Key, Rule, RuleChange};
use gannet_wire::id::Nsei;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

/// The program's name in its object.
const PROGRAM: &str = "gb";

/// The octets by which a mobile is found: a local TLLI alone, or with NSEI and BVCI before it. No PTP BVC has BVCI 0,
/// so that the two never meet. `None` for names, and for the keys of Gn.
pub(crate) fn octets_of(key: &Key) -> Option<u64> {
    match key {
        Key::LocalTlli(tlli) => Some(tlli.0.into()),
        Key::CellTlli { nsei, bvci, tlli } => {
            Some(u64::from(nsei.0) << 48 | u64::from(bvci.0) << 32 | u64::from(tlli.0))
        }
        Key::Teid(_) | Key::Tid(_) | Key::Name(_) => None,
    }
}

/// The classifier as an XDP program on the interfaces of Gb. A mobile is a flow: its name is its place in the table,
/// and it may have several TLLIs, which the kernel's table alone knows: with a million mobiles a second one would cost more
/// than their places. [`FlowCounters::passed_octets`] stays 0.
#[derive(Debug)]
pub struct Uplink {
    maps: Maps,
    interfaces: Interfaces,
}

impl Uplink {
    /// Loads the program; nothing is attached yet.
    ///
    /// # Errors
    /// [`Error::Config`], or what the kernel misses or refuses.
    pub fn load(config: &UplinkConfig) -> Result<Self, Error> {
        config.check()?;
        let base = &config.base;
        let mut globals = globals(base);
        globals.extend(globals_of_frames(base));
        let (interval, burst) = interval_and_burst_ns(config.signalling_per_s, config.signalling_at_once);
        globals.extend([
            ("ns_port", config.port.to_be_bytes().to_vec()),
            ("signalling_interval_ns", interval.to_ne_bytes().to_vec()),
            ("signalling_burst_ns", burst.to_ne_bytes().to_vec()),
        ]);
        let (interval, burst) = interval_and_burst_ns(config.strangers_per_s, config.strangers_at_once);
        globals.extend([
            ("stranger_interval_ns", interval.to_ne_bytes().to_vec()),
            ("stranger_burst_ns", burst.to_ne_bytes().to_vec()),
        ]);
        let sizes = [("peers", config.peers), ("tllis", config.tllis)];
        let mut maps = Maps::load(&objects::GB, base, &globals, &sizes)?;
        maps.object.load_xdp(PROGRAM)?;
        Ok(Self { maps, interfaces: Interfaces::new(PROGRAM, base.shards) })
    }

    /// Which NSE sends from an address. What is of no mobile's local TLLI goes to the node from every other address.
    fn set_peer(&mut self, address: SocketAddr, nsei: Option<Nsei>) -> Result<(), Error> {
        let SocketAddr::V4(address) = address else { return Ok(()) };
        let port = u16::from_ne_bytes(address.port().to_be_bytes());
        let source = u32::from_ne_bytes(address.ip().octets());
        let octets = u64::from(port) << 32 | u64::from(source);
        match nsei {
            Some(nsei) => self.maps.object.hash_insert("peers", octets, nsei.0.into())?,
            None => self.maps.object.hash_remove("peers", octets)?,
        }
        Ok(())
    }

    /// Runs the program on a frame by hand.
    ///
    /// # Errors
    /// What the kernel says of the frame.
    pub fn run(&self, run: TestRun<'_>) -> Result<TestRunResult, Error> {
        Ok(self.maps.object.run(PROGRAM, run)?)
    }

    /// The mobile of a key.
    fn name_of(&mut self, octets: u64) -> Result<Option<u32>, Error> {
        Ok(self.maps.object.hash_get("tllis", octets)?.and_then(|name| u32::try_from(name).ok()))
    }

    /// The entry of the mobile that a key means.
    fn find(&mut self, key: &Key) -> Result<Option<&Entry>, Error> {
        let name = match (key, octets_of(key)) {
            (Key::Name(name), _) => Some(*name),
            (_, Some(octets)) => self.name_of(octets)?,
            (_, None) => None,
        };
        Ok(name.and_then(|name| self.entry(name)))
    }

    fn remove(&mut self, octets: u64) -> Result<(), Error> {
        let Some(name) = self.name_of(octets)? else { return Ok(()) };
        self.lose_a_key(name);
        Ok(self.maps.object.hash_remove("tllis", octets)?)
    }

    /// The entry of a mobile, where no other one has its place.
    fn entry(&self, name: u32) -> Option<&Entry> {
        let is_its =
            |entry: &&Entry| entry.keys.load(Relaxed) == key::TLLI && entry.name.load(Relaxed) == name;
        self.maps.entry(name).ok().filter(is_its)
    }

    /// A key leads to another mobile now, or to none; nobody is at a place to which none leads.
    fn lose_a_key(&self, name: u32) {
        if let Some(entry) = self.entry(name)
            && entry.teid.fetch_sub(1, Relaxed) == 1
        {
            entry.keys.store(0, Release);
        }
    }

    fn install(&mut self, rule: &Rule, octets: u64) -> Result<(), Error> {
        let name = rule.name;
        self.maps.entry(name)?;
        let former = self.name_of(octets)?;
        if former != Some(name) {
            self.maps.object.hash_insert("tllis", octets, name.into())?;
        }
        let known = self.entry(name).is_some();
        let entry = self.maps.entry(name)?;
        let gcra = Gcra::of(rule.policer);
        if !known {
            entry.keys.store(0, Release);
            entry.teid.store(0, Relaxed);
            entry.reset_counters();
        }
        if !known || entry.gcra() != gcra {
            entry.tat_ns.store(0, Relaxed);
            entry.octet_cost.store(gcra.octet_cost, Relaxed);
            entry.burst_ns.store(gcra.burst_ns, Relaxed);
        }
        entry.name.store(name, Relaxed);
        entry.class.store(rule.class as u8, Relaxed);
        entry.precedence.store(rule.precedence as u8, Relaxed);
        entry.blocked.store(0, Relaxed);
        if !known || former != Some(name) {
            entry.teid.fetch_add(1, Relaxed);
        }
        entry.keys.store(key::TLLI, Release);
        if let Some(former) = former.filter(|former| *former != name) {
            self.lose_a_key(former);
        }
        Ok(())
    }
}

impl AtDriver for Uplink {
    fn attach(&mut self, ifindex: u32, mode: XdpMode) -> Result<(), Error> {
        self.interfaces.attach(&mut self.maps.object, ifindex, mode)
    }

    fn detach(&mut self, ifindex: u32) {
        self.interfaces.detach(ifindex);
    }

    fn set_sockets(&mut self, shard: u8, sockets: ByRing<Option<BorrowedFd<'_>>>) -> Result<(), Error> {
        self.interfaces.set_sockets(&mut self.maps.object, shard, sockets)
    }

    fn lend_clock(&self, now_ns: u64) {
        self.maps.lend_clock(now_ns);
    }
}

impl Classify for Uplink {
    fn apply(&mut self, change: &RuleChange) -> Result<(), Error> {
        match change {
            RuleChange::Install(rule) => {
                octets_of(&rule.key).map_or(Ok(()), |octets| self.install(rule, octets))
            }
            RuleChange::Remove(key) => octets_of(key).map_or(Ok(()), |octets| self.remove(octets)),
            RuleChange::Block(key, reason) => {
                if let Some(entry) = self.find(key)? {
                    entry.blocked.fetch_or(block_bit(*reason), Relaxed);
                }
                Ok(())
            }
            RuleChange::Unblock(key, reason) => {
                if let Some(entry) = self.find(key)? {
                    entry.blocked.fetch_and(!block_bit(*reason), Relaxed);
                }
                Ok(())
            }
            RuleChange::Peer { address, nsei } => self.set_peer(*address, *nsei),
        }
    }

    fn totals(&self) -> Totals {
        self.maps.totals()
    }

    fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        // What counts octets on Gn is the bucket of the signalling here.
        Some(FlowCounters { passed_octets: 0, ..self.maps.of_flow(name)? })
    }
}

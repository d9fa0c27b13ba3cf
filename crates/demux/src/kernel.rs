//! The classifier in the kernel: its programs, its tables, and what they are attached to.

use crate::bpf::objects;
use crate::bpf::{Attachment, Loader, MappedArray, Object, TestRun, TestRunResult, XdpMode};
use crate::layout::{CLASSES, Counts, Entry, Gcra, OWN_MAX, PLACE_MASK, block_bit, key};
use crate::rules::{Classify, Config, Error, FlowCounters, Totals};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use gannet_proto::qos::class::Class;
use gannet_proto::qos::classifier::{Key, Rule, RuleChange};
use std::collections::HashMap;
use std::net::IpAddr;
use std::os::fd::AsFd;

/// Cells of the map of that name.
const CELL_TEST_CLOCK: usize = 1;

/// Where a program gets the time from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The kernel's monotonic clock.
    Kernel,
    /// [`Tables::set_clock`]: for tests.
    ByHand,
}

/// The maps of a loaded object that every back end has.
#[derive(Debug)]
pub struct Tables {
    object: Object,
    contexts: MappedArray<Entry>,
    totals: MappedArray<Counts>,
    cells: MappedArray<AtomicU64>,
    /// The places of the TIDs, as the kernel's table has them.
    tids: HashMap<u64, u32>,
}

impl Tables {
    /// Loads an object with the maps of `bpf/contexts.h`; `reads_frames` where it includes `bpf/parse.h`.
    pub(crate) fn load(
        code: &'static crate::bpf::Bytecode,
        reads_frames: bool,
        config: &Config,
        clock: Clock,
    ) -> Result<Self, Error> {
        config.check()?;
        let mut globals = globals(config, clock);
        if reads_frames {
            globals.extend(globals_of_frames(config));
        }
        let mut loader = Loader::new(code)
            .max_entries("contexts", config.contexts)
            .max_entries("totals", possible_cpus())
            .max_entries("tids", config.tids)
            .max_entries("sockets", u32::from(config.shards) * CLASSES);
        for (name, octets) in &globals {
            loader = loader.global(name, octets);
        }
        let object = loader.load()?;
        Ok(Self {
            contexts: object.mapped_array("contexts")?,
            totals: object.mapped_array("totals")?,
            cells: object.mapped_array("cells")?,
            object,
            tids: HashMap::new(),
        })
    }

    /// Sets the time of a program that was loaded with [`Clock::ByHand`].
    pub fn set_clock(&self, now_ns: u64) {
        if let Some(clock) = self.cells.get(CELL_TEST_CLOCK) {
            clock.store(now_ns, Relaxed);
        }
    }

    pub(crate) const fn object(&mut self) -> &mut Object {
        &mut self.object
    }

    fn entry(&self, name: u32) -> Result<&Entry, Error> {
        let place = name & PLACE_MASK;
        let places = self.contexts.len();
        self.contexts.get(place as usize).ok_or(Error::NoPlace { place, places })
    }

    /// The entry of a key, where there is one.
    fn find(&self, key: &Key) -> Option<&Entry> {
        let (name, bit) = match key {
            Key::Teid(teid) => (teid.0, key::TEID),
            Key::Tid(tid) => (*self.tids.get(&tid.to_u64())?, key::TID),
            Key::LocalTlli(_) | Key::CellTlli { .. } => return None,
        };
        let entry = self.entry(name).ok()?;
        (entry.keys.load(Relaxed) & bit != 0 && entry.teid.load(Relaxed) == name).then_some(entry)
    }

    fn install(&mut self, rule: &Rule) -> Result<(), Error> {
        let (name, bit) = match rule.key {
            Key::Teid(teid) => (teid.0, key::TEID),
            Key::Tid(_) => (rule.name, key::TID),
            Key::LocalTlli(_) | Key::CellTlli { .. } => return Ok(()),
        };
        let entry = self.entry(name)?;
        let gcra = Gcra::of(rule.policer);
        let known = entry.keys.load(Relaxed) == bit && entry.teid.load(Relaxed) == name;
        if !known {
            // The program sees no flow there while it becomes another one.
            entry.keys.store(0, Release);
            entry.teid.store(name, Relaxed);
            entry.reset_counters();
        }
        if !known || entry.gcra() != gcra {
            entry.tat_ns.store(0, Relaxed);
            entry.octet_cost.store(gcra.octet_cost, Relaxed);
            entry.burst_ns.store(gcra.burst_ns, Relaxed);
        }
        entry.name.store(rule.name, Relaxed);
        entry.class.store(rule.class as u8, Relaxed);
        entry.precedence.store(rule.precedence as u8, Relaxed);
        entry.blocked.store(0, Relaxed);
        entry.keys.store(bit, Release);
        if let Key::Tid(tid) = rule.key
            && self.tids.insert(tid.to_u64(), name) != Some(name)
        {
            self.object.hash_insert("tids", on_the_wire(tid.to_u64()), u64::from(name))?;
        }
        Ok(())
    }

    fn remove(&mut self, key: &Key) -> Result<(), Error> {
        if let Some(entry) = self.find(key) {
            entry.keys.store(0, Release);
        }
        if let Key::Tid(tid) = key
            && self.tids.remove(&tid.to_u64()).is_some()
        {
            self.object.hash_remove("tids", on_the_wire(tid.to_u64()))?;
        }
        Ok(())
    }
}

impl Classify for Tables {
    fn apply(&mut self, change: &RuleChange) -> Result<(), Error> {
        match change {
            RuleChange::Install(rule) => self.install(rule)?,
            RuleChange::Remove(key) => self.remove(key)?,
            RuleChange::Block(key, reason) => {
                if let Some(entry) = self.find(key) {
                    entry.blocked.fetch_or(block_bit(*reason), Relaxed);
                }
            }
            RuleChange::Unblock(key, reason) => {
                if let Some(entry) = self.find(key) {
                    entry.blocked.fetch_and(!block_bit(*reason), Relaxed);
                }
            }
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for counts in self.totals.iter() {
            for (total, count) in sum.0.iter_mut().zip(counts) {
                *total += count.load(Relaxed);
            }
        }
        sum
    }

    fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        let entry = self.entry(name).ok()?;
        let is_there = entry.keys.load(Acquire) != 0 && entry.name.load(Relaxed) == name;
        is_there.then(|| entry.counters())
    }
}

impl Entry {
    fn gcra(&self) -> Gcra {
        Gcra { octet_cost: self.octet_cost.load(Relaxed), burst_ns: self.burst_ns.load(Relaxed) }
    }

    fn counters(&self) -> FlowCounters {
        FlowCounters {
            passed: self.passed.load(Relaxed),
            passed_octets: self.passed_octets.load(Relaxed),
            blocked: self.blocked_drops.load(Relaxed),
            over_rate: self.over_rate_drops.load(Relaxed),
            queue_full: self.queue_full_drops.load(Relaxed),
            stale: self.stale_drops.load(Relaxed),
        }
    }

    fn reset_counters(&self) {
        self.passed_octets.store(0, Relaxed);
        for counter in [
            &self.passed,
            &self.blocked_drops,
            &self.over_rate_drops,
            &self.queue_full_drops,
            &self.stale_drops,
        ] {
            counter.store(0, Relaxed);
        }
    }
}

/// The classifier as an XDP program on the interfaces of Gn.
#[derive(Debug)]
pub struct Classifier {
    tables: Tables,
    attachments: HashMap<u32, Attachment>,
    shards: u32,
}

/// The program's name in its object.
const PROGRAM: &str = "gn";

impl Classifier {
    /// Loads the program; nothing is attached yet.
    ///
    /// # Errors
    /// [`Error::Config`], or what the kernel misses or refuses.
    pub fn load(config: &Config) -> Result<Self, Error> {
        Self::load_with_clock(config, Clock::Kernel)
    }

    /// The same with a choice of clocks.
    ///
    /// # Errors
    /// As [`Classifier::load`].
    pub fn load_with_clock(config: &Config, clock: Clock) -> Result<Self, Error> {
        let mut tables = Tables::load(&objects::GN, true, config, clock)?;
        tables.object().load_xdp(PROGRAM)?;
        Ok(Self { tables, attachments: HashMap::new(), shards: u32::from(config.shards) })
    }

    /// Sets the program on an interface of this thread's network namespace.
    ///
    /// # Errors
    /// [`Error::Attached`]; another program there, no native XDP, no such interface.
    pub fn attach(&mut self, ifindex: u32, mode: XdpMode) -> Result<(), Error> {
        if self.attachments.contains_key(&ifindex) {
            return Err(Error::Attached(ifindex));
        }
        let attachment = self.tables.object.attach_xdp(PROGRAM, ifindex, mode)?;
        self.attachments.insert(ifindex, attachment);
        Ok(())
    }

    /// Takes the program off an interface, also off one that has vanished.
    pub fn detach(&mut self, ifindex: u32) {
        self.attachments.remove(&ifindex);
    }

    /// Where it is attached.
    pub fn interfaces(&self) -> impl Iterator<Item = u32> + '_ {
        self.attachments.keys().copied()
    }

    /// Gives the frames of a class that arrive on a receive queue to an AF_XDP socket that is bound to that queue.
    ///
    /// # Errors
    /// [`Error::Config`] for a shard that was not asked for; what the kernel says of the socket.
    pub fn set_socket(&mut self, shard: u8, class: Class, socket: impl AsFd) -> Result<(), Error> {
        if u32::from(shard) >= self.shards {
            return Err(Error::Config("a socket for a shard that does not exist"));
        }
        let index = u32::from(shard) * CLASSES + class as u32;
        Ok(self.tables.object.set_socket("sockets", index, socket)?)
    }

    /// Takes the socket of a queue and class away: its frames go to the kernel.
    ///
    /// # Errors
    /// [`Error::Kernel`] for a shard that does not exist.
    pub fn clear_socket(&mut self, shard: u8, class: Class) -> Result<(), Error> {
        let index = u32::from(shard) * CLASSES + class as u32;
        Ok(self.tables.object.clear_socket("sockets", index)?)
    }

    /// The tables.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The kernel's numbers of the program and of its maps, for those who look from outside (`bpftool prog`).
    ///
    /// # Errors
    /// [`Error::Kernel`].
    pub fn ids(&self) -> Result<(u32, Vec<u32>), Error> {
        Ok(self.tables.object.xdp_ids(PROGRAM)?)
    }

    /// Runs the program on a frame by hand.
    ///
    /// # Errors
    /// What the kernel says of the frame.
    pub fn run(&self, run: TestRun<'_>) -> Result<TestRunResult, Error> {
        Ok(self.tables.object.run(PROGRAM, run)?)
    }
}

impl Classify for Classifier {
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

/// The octets of a TID as the program reads them out of a packet.
const fn on_the_wire(tid: u64) -> u64 {
    u64::from_ne_bytes(tid.to_be_bytes())
}

/// The programs' variables and their octets.
type Globals = Vec<(&'static str, Vec<u8>)>;

/// What every program asks.
fn globals(config: &Config, clock: Clock) -> Globals {
    let (interval, burst) = config.sampling_ns();
    vec![
        ("concurrent", vec![u8::from(config.concurrent)]),
        ("test_clock", vec![u8::from(clock == Clock::ByHand)]),
        ("sample_interval_ns", interval.to_ne_bytes().to_vec()),
        ("sample_burst_ns", burst.to_ne_bytes().to_vec()),
    ]
}

/// What a program asks that reads whole frames.
fn globals_of_frames(config: &Config) -> Globals {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for address in &config.addresses {
        match address {
            IpAddr::V4(address) => v4.extend(address.octets()),
            IpAddr::V6(address) => v6.extend(address.octets()),
        }
    }
    let count_of = |octets: &[u8], each: usize| u32::try_from(octets.len() / each).unwrap_or(0).to_ne_bytes();
    let (v4_count, v6_count) = (count_of(&v4, 4), count_of(&v6, 16));
    v4.resize(4 * OWN_MAX, 0);
    v6.resize(16 * OWN_MAX, 0);
    vec![
        ("own_v4_count", v4_count.to_vec()),
        ("own_v6_count", v6_count.to_vec()),
        ("own_v4", v4),
        ("own_v6", v6),
        ("verify_udp_checksum", vec![u8::from(config.verify_udp_checksum)]),
    ]
}

/// How many CPUs the kernel may ever have: `/sys/devices/system/cpu/possible` ends with the last one's number.
fn possible_cpus() -> u32 {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = list.trim().rsplit(['-', ',']).next().and_then(|number| number.parse::<u32>().ok());
    last.map_or(1024, |last| last + 1)
}

//! The classifier of Gn in the kernel: its tables, and the XDP program with what it is attached to.

use crate::bpf::{Bytecode, Object, TestRun, TestRunResult, XdpMode, objects};
use crate::deciding::Deciding;
use crate::exchange::{Exchange, slots};
use crate::layout::{ByRing, Entry, Gcra, RINGS, block_bit, key, source_of};
use crate::maps::{Interfaces, Maps, globals, globals_of_frames, globals_of_teids};
use crate::rules::{AtDriver, Classify, Config, Error, FlowCounters, Totals};
use core::sync::atomic::Ordering::{Relaxed, Release};
use gannet_proto::classifier::{Key, Rule, RuleChange};
use gannet_proto::gtp::TeidKey;
use std::collections::HashMap;
use std::os::fd::BorrowedFd;

/// The maps of a program for Gn, and what leads to them.
#[derive(Debug)]
pub struct Tables {
    maps: Maps,
    teid_key: TeidKey,
    /// The places of the TIDs, as the kernel's table has them.
    tids: HashMap<u64, u32>,
    /// Who decides what the program leaves, until the exchange has it.
    deciding: Option<Deciding>,
    /// Contexts that are installed.
    contexts: usize,
}

impl Tables {
    /// Loads an object; `reads_frames` where it includes `bpf/parse.h`.
    pub(crate) fn load(code: &'static Bytecode, reads_frames: bool, config: &Config) -> Result<Self, Error> {
        let mut globals = globals(config);
        globals.extend(globals_of_teids(config));
        if reads_frames {
            globals.extend(globals_of_frames(config));
        }
        let mut sizes = vec![("tids", config.tids)];
        if reads_frames {
            globals.push(("exchanging", vec![u8::from(config.exchange)]));
            sizes.push(("slots", if config.exchange { slots(config.arriving) } else { 1 }));
        } else {
            // Of the ports of both versions.
            sizes.push(("sockets", 2 * RINGS));
        }
        let maps = Maps::load(code, config, &globals, &sizes)?;
        let deciding = (!config.concurrent).then(|| Deciding::new(&maps, config));
        Ok(Self { maps, teid_key: config.teid_key, tids: HashMap::new(), deciding, contexts: 0 })
    }

    /// Lends the program a time; see [`AtDriver::lend_clock`].
    pub fn lend_clock(&self, now_ns: u64) {
        self.maps.lend_clock(now_ns);
    }

    pub(crate) const fn object(&mut self) -> &mut Object {
        &mut self.maps.object
    }

    /// The entry of a key, where there is one.
    fn find(&self, key: &Key) -> Option<&Entry> {
        let (name, bit) = match key {
            Key::Teid(teid) => (self.teid_key.name(*teid).0, key::TEID),
            Key::Tid(tid) => (*self.tids.get(&tid.to_u64())?, key::TID),
            Key::LocalTlli(_) | Key::CellTlli { .. } | Key::Name(_) => return None,
        };
        let entry = self.maps.entry(name).ok()?;
        (entry.keys.load(Relaxed) & bit != 0 && entry.teid.load(Relaxed) == name).then_some(entry)
    }

    fn install(&mut self, rule: &Rule) -> Result<(), Error> {
        let (name, bit) = match rule.key {
            Key::Teid(teid) => (self.teid_key.name(teid).0, key::TEID),
            Key::Tid(_) => (rule.name, key::TID),
            Key::LocalTlli(_) | Key::CellTlli { .. } | Key::Name(_) => return Ok(()),
        };
        let entry = self.maps.entry(name)?;
        let gcra = Gcra::of(rule.policer);
        let known = entry.keys.load(Relaxed) == bit && entry.teid.load(Relaxed) == name;
        self.contexts += usize::from(entry.keys.load(Relaxed) == 0);
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
        entry.source.store(source_of(rule.source), Relaxed);
        entry.blocked.store(0, Relaxed);
        entry.keys.store(bit, Release);
        if let Key::Tid(tid) = rule.key
            && self.tids.insert(tid.to_u64(), name) != Some(name)
        {
            self.maps.object.hash_insert("tids", on_the_wire(tid.to_u64()), u64::from(name))?;
        }
        Ok(())
    }

    fn remove(&mut self, key: &Key) -> Result<(), Error> {
        if let Some(entry) = self.find(key) {
            entry.keys.store(0, Release);
            self.contexts = self.contexts.saturating_sub(1);
        }
        if let Key::Tid(tid) = key
            && self.tids.remove(&tid.to_u64()).is_some()
        {
            self.maps.object.hash_remove("tids", on_the_wire(tid.to_u64()))?;
        }
        Ok(())
    }
}

impl Classify for Tables {
    fn apply(&mut self, change: &RuleChange) -> Result<(), Error> {
        match change {
            RuleChange::Install(rule) => self.install(rule)?,
            RuleChange::Remove(key) => self.remove(key)?,
            RuleChange::Peer { .. } => {}
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
        self.maps.totals()
    }

    fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        self.maps.of_flow(name)
    }
}

/// The classifier as an XDP program on the interfaces of Gn.
#[derive(Debug)]
pub struct Classifier {
    tables: Tables,
    interfaces: Interfaces,
}

/// The program's name in its object.
const PROGRAM: &str = "gn";

impl Classifier {
    /// Loads the program; nothing is attached yet.
    ///
    /// # Errors
    /// [`Error::Config`], or what the kernel misses or refuses.
    pub fn load(config: &Config) -> Result<Self, Error> {
        let mut tables = Tables::load(&objects::GN, true, config)?;
        tables.object().load_xdp(PROGRAM)?;
        Ok(Self { tables, interfaces: Interfaces::new(PROGRAM, config.shards) })
    }

    /// Where it is attached.
    pub fn interfaces(&self) -> impl Iterator<Item = u32> + '_ {
        self.interfaces.all()
    }

    /// The tables.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The exchange of pages, where [`Config::exchange`] was set.
    ///
    /// # Errors
    /// [`Error::Kernel`] where the kernel does not tell of pages that are refused.
    pub fn exchange(&mut self, rings: ByRing<u32>, empty: u32) -> Result<Exchange, Error> {
        let object = &mut self.tables.maps.object;
        object.attach_raw_tracepoint("refused", "xdp_redirect_err")?;
        Exchange::new(object, rings, empty, self.tables.deciding.take())
    }

    /// Contexts that are installed.
    #[must_use]
    pub const fn contexts(&self) -> usize {
        self.tables.contexts
    }

    /// The kernel's numbers of the program and of its maps, for those who look from outside (`bpftool prog`).
    ///
    /// # Errors
    /// [`Error::Kernel`].
    pub fn ids(&self) -> Result<(u32, Vec<u32>), Error> {
        Ok(self.tables.maps.object.xdp_ids(PROGRAM)?)
    }

    /// Runs the program on a frame by hand.
    ///
    /// # Errors
    /// What the kernel says of the frame.
    pub fn run(&self, run: TestRun<'_>) -> Result<TestRunResult, Error> {
        Ok(self.tables.maps.object.run(PROGRAM, run)?)
    }
}

impl AtDriver for Classifier {
    fn attach(&mut self, ifindex: u32, mode: XdpMode) -> Result<(), Error> {
        self.interfaces.attach(&mut self.tables.maps.object, ifindex, mode)
    }

    fn detach(&mut self, ifindex: u32) {
        self.interfaces.detach(ifindex);
    }

    fn set_sockets(&mut self, shard: u8, sockets: ByRing<Option<BorrowedFd<'_>>>) -> Result<(), Error> {
        self.interfaces.set_sockets(&mut self.tables.maps.object, shard, sockets)
    }

    fn lend_clock(&self, now_ns: u64) {
        self.tables.lend_clock(now_ns);
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

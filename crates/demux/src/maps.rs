//! What all programs of the kernel have in common: their maps, their variables, and the interfaces they are on.

use crate::bpf::{Attachment, Bytecode, Loader, MappedArray, Object, XdpMode};
use crate::layout::{ByRing, CELL_CLOCK, Counts, Entry, Gcra, OWN_MAX, PLACE_MASK, RINGS, Ring};
use crate::rules::{Config, Error, FlowCounters, Totals};
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use std::collections::HashMap;
use std::net::IpAddr;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

/// Maps that are in this process's memory too.
pub(crate) type Mapped = (Rc<MappedArray<Entry>>, Rc<MappedArray<Counts>>, Rc<MappedArray<AtomicU64>>);

/// The maps of `bpf/contexts.h`.
#[derive(Debug)]
pub(crate) struct Maps {
    pub(crate) object: Object,
    contexts: Rc<MappedArray<Entry>>,
    totals: Rc<MappedArray<Counts>>,
    cells: Rc<MappedArray<AtomicU64>>,
}

impl Maps {
    /// Loads an object with its variables and the sizes of its own maps.
    pub(crate) fn load(
        code: &'static Bytecode,
        config: &Config,
        globals: &Globals,
        sizes: &[(&'static str, u32)],
    ) -> Result<Self, Error> {
        config.check()?;
        let mut loader = Loader::new(code)
            .max_entries("contexts", config.contexts)
            .max_entries("totals", possible_cpus() + 1)
            .max_entries("sockets", u32::from(config.shards) * RINGS);
        for (map, entries) in sizes {
            loader = loader.max_entries(map, *entries);
        }
        for (name, octets) in globals {
            loader = loader.global(name, octets);
        }
        let object = loader.load()?;
        Ok(Self {
            contexts: Rc::new(object.mapped_array("contexts")?),
            totals: Rc::new(object.mapped_array("totals")?),
            cells: Rc::new(object.mapped_array("cells")?),
            object,
        })
    }

    /// Lends the program a time; 0 ends that.
    pub(crate) fn lend_clock(&self, now_ns: u64) {
        if let Some(clock) = self.cells.get(CELL_CLOCK) {
            clock.store(now_ns, Relaxed);
        }
    }

    /// The entry at the place of a name.
    pub(crate) fn entry(&self, name: u32) -> Result<&Entry, Error> {
        let place = name & PLACE_MASK;
        let places = self.contexts.len();
        self.contexts.get(place as usize).ok_or(Error::NoPlace { place, places })
    }

    /// What is mapped, for who decides in the program's place: contexts, counters, with a last row for that, and cells.
    pub(crate) fn shared(&self) -> Mapped {
        (Rc::clone(&self.contexts), Rc::clone(&self.totals), Rc::clone(&self.cells))
    }

    /// The counters of all CPUs, and of what was left to user space.
    pub(crate) fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        for counts in self.totals.iter() {
            for (total, count) in sum.0.iter_mut().zip(counts) {
                *total += count.load(Relaxed);
            }
        }
        sum
    }

    /// The counters of the flow with a name.
    pub(crate) fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        let entry = self.entry(name).ok()?;
        let is_there = entry.keys.load(Acquire) != 0 && entry.name.load(Relaxed) == name;
        is_there.then(|| entry.counters())
    }
}

impl Entry {
    pub(crate) fn gcra(&self) -> Gcra {
        Gcra { octet_cost: self.octet_cost.load(Relaxed), burst_ns: self.burst_ns.load(Relaxed) }
    }

    pub(crate) fn counters(&self) -> FlowCounters {
        FlowCounters {
            passed: self.passed.load(Relaxed),
            passed_octets: self.passed_octets.load(Relaxed),
            blocked: self.blocked_drops.load(Relaxed),
            over_rate: self.over_rate_drops.load(Relaxed),
            queue_full: self.queue_full_drops.load(Relaxed),
        }
    }

    pub(crate) fn reset_counters(&self) {
        self.passed_octets.store(0, Relaxed);
        for counter in [&self.passed, &self.blocked_drops, &self.over_rate_drops, &self.queue_full_drops] {
            counter.store(0, Relaxed);
        }
    }
}

/// The interfaces on which a program is, and its sockets.
#[derive(Debug)]
pub(crate) struct Interfaces {
    program: &'static str,
    attachments: HashMap<u32, Attachment>,
    shards: u8,
}

impl Interfaces {
    pub(crate) fn new(program: &'static str, shards: u8) -> Self {
        Self { program, attachments: HashMap::new(), shards }
    }

    pub(crate) fn attach(&mut self, object: &mut Object, ifindex: u32, mode: XdpMode) -> Result<(), Error> {
        if self.attachments.contains_key(&ifindex) {
            return Err(Error::Attached(ifindex));
        }
        let attachment = object.attach_xdp(self.program, ifindex, mode)?;
        self.attachments.insert(ifindex, attachment);
        Ok(())
    }

    pub(crate) fn detach(&mut self, ifindex: u32) {
        self.attachments.remove(&ifindex);
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = u32> + '_ {
        self.attachments.keys().copied()
    }

    /// Gives the rings of a queue their sockets; see [`crate::AtDriver::set_sockets`].
    pub(crate) fn set_sockets(
        &self,
        object: &mut Object,
        shard: u8,
        sockets: ByRing<Option<BorrowedFd<'_>>>,
    ) -> Result<(), Error> {
        if shard >= self.shards {
            return Err(Error::Config("sockets for a shard that does not exist"));
        }
        let [.., best_effort] = sockets;
        for (ring, own) in Ring::ALL.into_iter().zip(sockets) {
            let index = u32::from(shard) * RINGS + ring as u32;
            // One socket may stand at two places.
            let socket = if ring == Ring::High { own.or(best_effort) } else { own };
            match socket {
                Some(socket) => object.set_socket("sockets", index, socket)?,
                None => object.clear_socket("sockets", index)?,
            }
        }
        Ok(())
    }
}

/// The programs' variables and their octets.
pub(crate) type Globals = Vec<(&'static str, Vec<u8>)>;

/// What every program asks.
pub(crate) fn globals(config: &Config) -> Globals {
    let (interval, burst) = config.sampling_ns();
    vec![
        ("concurrent", vec![u8::from(config.concurrent)]),
        ("sample_interval_ns", interval.to_ne_bytes().to_vec()),
        ("sample_burst_ns", burst.to_ne_bytes().to_vec()),
    ]
}

/// What a program asks that finds contexts by their TEIDs.
pub(crate) fn globals_of_teids(config: &Config) -> Globals {
    vec![("teid_key", config.teid_key.words().flat_map(u32::to_ne_bytes).collect())]
}

/// What a program asks that reads whole frames.
pub(crate) fn globals_of_frames(config: &Config) -> Globals {
    let mut globals = globals_of_own(&config.addresses);
    globals.push(("verify_udp_checksum", vec![u8::from(config.verify_udp_checksum)]));
    globals
}

/// What a program asks that knows the node's addresses.
pub(crate) fn globals_of_own(addresses: &[IpAddr]) -> Globals {
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for address in addresses {
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
    ]
}

/// How many CPUs the kernel may ever have: `/sys/devices/system/cpu/possible` ends with the last one's number.
pub(crate) fn possible_cpus() -> u32 {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let last = list.trim().rsplit(['-', ',']).next().and_then(|number| number.parse::<u32>().ok());
    last.map_or(1024, |last| last + 1)
}

//! What the program leaves to user space where very many contexts are known: whose packet it is, and what becomes of it.
//!
//! A packet's context is then in no cache. The program would wait for each by itself; here the contexts of all that a poll has
//! brought are asked for at once. The same is decided, in the same order and with the same counters, as by `find_flow` and
//! `decide` of `bpf/gtp.h` and `bpf/contexts.h`; a test compares both with [`crate::model`].

use crate::bpf::MappedArray;
use crate::layout::{CELL_CLOCK, CELL_SAMPLE_TAT, Counts, Entry, Gcra, Metadata, PLACE_MASK};
use crate::layout::{METADATA_LEN, Ring, block_bit, conforming, count, is_from_elsewhere, key};
use crate::link::monotonic_ns;
use crate::maps::Maps;
use crate::rules::Config;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use core::sync::atomic::{AtomicU32, AtomicU64};
use gannet_machine::prefetch::Prefetch;
use gannet_proto::classifier::Block;
use gannet_qos::class::{Class, Precedence};
use std::rc::Rc;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It goes to its ring, with this in front.
    Ring(Metadata),
    /// The node gets the whole message as the kernel would give it: it is for no context that is here, and one of those of which
    /// the node shall know, or it is not from where its context's packets come.
    Whole,
    /// It is dropped, and counted.
    Dropped,
}

/// The tables of the program, and what it knows besides.
#[derive(Debug)]
pub(crate) struct Deciding {
    contexts: Rc<MappedArray<Entry>>,
    totals: Rc<MappedArray<Counts>>,
    cells: Rc<MappedArray<AtomicU64>>,
    sampling_ns: (u64, u64),
}

impl Deciding {
    pub(crate) fn new(maps: &Maps, config: &Config) -> Self {
        let (contexts, totals, cells) = maps.shared();
        Self { contexts, totals, cells, sampling_ns: config.sampling_ns() }
    }

    /// Asks for the context at the place of a name.
    #[inline]
    pub(crate) fn expect(&self, name: u32, prefetch: Prefetch) {
        if let Some(entry) = self.entry(name) {
            prefetch.value(entry);
        }
    }

    fn entry(&self, name: u32) -> Option<&Entry> {
        self.contexts.get((name & PLACE_MASK) as usize)
    }

    /// The program's time.
    pub(crate) fn now_ns(&self) -> u64 {
        let lent = self.cells.get(CELL_CLOCK).map(|clock| clock.load(Relaxed));
        lent.filter(|now| *now != 0).unwrap_or_else(monotonic_ns)
    }

    /// Decides about a packet as the program has described it: the name that its TEID has, and where the T-PDU is.
    pub(crate) fn decide(&self, left: &Left, now_ns: u64) -> Decision {
        let entry = self.entry(left.name).filter(|entry| entry.keys.load(Acquire) & key::TEID != 0);
        match entry {
            Some(entry) if entry.teid.load(Relaxed) == left.name => {
                if is_from_elsewhere(entry.source.load(Relaxed), left.source) {
                    self.count(count::TO_KERNEL);
                    return Decision::Whole;
                }
                self.decide_of(entry, left, now_ns)
            }
            _ if self.is_sample(now_ns) => {
                self.count(count::SAMPLED);
                Decision::Whole
            }
            Some(_) => self.dropped(count::STALE_GENERATION),
            None => self.dropped(count::UNKNOWN_CONTEXT),
        }
    }

    fn decide_of(&self, entry: &Entry, left: &Left, now_ns: u64) -> Decision {
        let blocked = entry.blocked.load(Relaxed);
        if blocked & block_bit(Block::FlowControl) != 0 {
            add(&entry.blocked_drops);
            return self.dropped(count::BLOCKED);
        }
        if blocked != 0 {
            add(&entry.queue_full_drops);
            return self.dropped(count::QUEUE_FULL);
        }
        let Gcra { octet_cost, burst_ns } = entry.gcra();
        let increment = entry.gcra().increment_ns(left.pdu_len.into());
        if octet_cost != 0 && !conforms(&entry.tat_ns, increment, burst_ns, now_ns) {
            add(&entry.over_rate_drops);
            return self.dropped(count::OVER_RATE);
        }
        add(&entry.passed);
        let octets = entry.passed_octets.load(Relaxed) + u64::from(left.pdu_len);
        entry.passed_octets.store(octets, Relaxed);
        let class = Class::ALL.get(usize::from(entry.class.load(Relaxed))).copied();
        let class = class.unwrap_or(Class::BestEffort);
        let precedence = Precedence::ALL.get(usize::from(entry.precedence.load(Relaxed))).copied();
        let precedence = precedence.unwrap_or(Precedence::Low);
        self.count(count::REDIRECTED + class as usize);
        Decision::Ring(Metadata {
            name: entry.name.load(Relaxed),
            pdu_offset: left.pdu_offset,
            pdu_len: left.pdu_len,
            class,
            precedence,
            shard: 0,
            ring: Ring::of(class, precedence),
            llc_offset: 0,
            llc_len: 0,
        })
    }

    fn is_sample(&self, now_ns: u64) -> bool {
        let (interval, burst) = self.sampling_ns;
        let tat = self.cells.get(CELL_SAMPLE_TAT).filter(|_| interval != 0);
        tat.is_some_and(|tat| conforms(tat, interval, burst, now_ns))
    }

    fn dropped(&self, what: usize) -> Decision {
        self.count(what);
        Decision::Dropped
    }

    /// The last row of the counters is nobody's CPU.
    fn count(&self, what: usize) {
        let own = self.totals.len().checked_sub(1).and_then(|row| self.totals.get(row));
        if let Some(counter) = own.and_then(|counts| counts.get(what)) {
            counter.store(counter.load(Relaxed) + 1, Relaxed);
        }
    }
}

/// A packet that was left, as the program describes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Left {
    pub(crate) name: u32,
    pub(crate) pdu_offset: u16,
    pub(crate) pdu_len: u16,
    /// GTP's header and all behind it.
    pub(crate) message: (u16, u16),
    /// From where it comes, over IPv4; else 0.
    pub(crate) source: u32,
}

impl Left {
    /// As the program writes it: where in a [`Metadata`] class, precedence, queue and ring stand, the source stands.
    pub(crate) fn of(octets: &[u8; METADATA_LEN]) -> Self {
        let [n0, n1, n2, n3, o0, o1, l0, l1, s0, s1, s2, s3, a0, a1, b0, b1] = *octets;
        Self {
            name: u32::from_ne_bytes([n0, n1, n2, n3]),
            pdu_offset: u16::from_ne_bytes([o0, o1]),
            pdu_len: u16::from_ne_bytes([l0, l1]),
            message: (u16::from_ne_bytes([a0, a1]), u16::from_ne_bytes([b0, b1])),
            source: u32::from_ne_bytes([s0, s1, s2, s3]),
        }
    }

    /// What the node gets of the whole message: something of signalling, which user data on Gn never is.
    pub(crate) const fn whole(&self) -> Metadata {
        let (pdu_offset, pdu_len) = self.message;
        Metadata {
            name: self.name,
            pdu_offset,
            pdu_len,
            class: Class::Signalling,
            precedence: Precedence::High,
            shard: 0,
            ring: Ring::Signalling,
            llc_offset: 0,
            llc_len: 0,
        }
    }
}

/// Nobody else counts there while the program leaves it to us.
fn add(counter: &AtomicU32) {
    counter.store(counter.load(Relaxed).wrapping_add(1), Relaxed);
}

/// True where it conforms, and the theoretical arrival time has moved.
fn conforms(tat_ns: &AtomicU64, increment_ns: u64, burst_ns: u64, now_ns: u64) -> bool {
    let next = conforming(tat_ns.load(Relaxed), increment_ns, burst_ns, now_ns);
    next.into_iter().for_each(|next| tat_ns.store(next, Relaxed));
    next.is_some()
}

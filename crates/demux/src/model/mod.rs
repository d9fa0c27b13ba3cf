//! The reference classifiers: what the kernel's programs have to do, in safe Rust that is written to be read.
//!
//! [`Model`] is that of Gn, [`UplinkModel`] that of Gb, [`GatewayModel`] that of both programs of a GGSN.
//!
//! The same frames, rules and instants give the same verdicts, metadata and counters as the program; a test compares
//! both. In the simulator the model stands in the program's place.
//!
//! # What becomes of a frame
//!
//! 1. [`parse`](mod@parse) finds a G-PDU or T-PDU in it, or says that the kernel shall have it, or why it is dropped.
//! 2. A TEID leads by the node's key to the context's name, whose low 24 bits are its place; a TID by a table. A context that is not
//!    there, or has another generation, is unknown: a limited sample goes to the node, so that it sends an Error
//!    Indication, and the rest is dropped.
//! 3. A packet that is not from where its flow's packets come goes to the node, which knows who else may send them.
//! 4. A blocked flow is dropped, then one over its rate. What is left goes to its [`Ring`].

mod gateway;
mod parse;
mod uplink;

pub use gateway::{GatewayModel, GatewayVerdict, NextHop, Routes};
use parse::source_v4;
pub use parse::{GPdu, Owner, Parsed, parse, parse_datagram};
pub use uplink::UplinkModel;

use crate::layout::{DROPS, Gcra, Metadata, PLACE_MASK, Ring, block_bit, conforming, count};
use crate::layout::{is_from_elsewhere, source_of};
use crate::rules::{Classify, Config, Error, FlowCounters, Totals};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::id::Tid;
use std::collections::HashMap;

/// What becomes of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The kernel gets it.
    Pass,
    /// Nobody does.
    Drop(Drop),
    /// The socket of its ring gets it, with this in front.
    Redirect(Metadata),
}

/// Which key leads to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Teid,
    Tid,
}

#[derive(Debug)]
struct Flow {
    access: Access,
    /// The name under which it is found, of which the place is a part.
    teid: u32,
    name: u32,
    class: Class,
    precedence: Precedence,
    /// [`source_of`] the rule's.
    source: u32,
    blocked: u8,
    gcra: Gcra,
    tat_ns: u64,
    counters: FlowCounters,
}

/// The classifier's state.
#[derive(Debug)]
pub struct Model {
    config: Config,
    /// By place.
    flows: HashMap<u32, Flow>,
    tids: HashMap<u64, u32>,
    sample_tat_ns: u64,
    totals: Totals,
}

impl Model {
    /// A classifier without rules.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn new(config: Config) -> Result<Self, Error> {
        config.check()?;
        let (flows, tids) = (HashMap::new(), HashMap::new());
        Ok(Self { config, flows, tids, sample_tat_ns: 0, totals: Totals::default() })
    }

    /// Classifies a frame that arrived at `now_ns` on the receive queue `queue`, and counts it.
    pub fn classify(&mut self, frame: &[u8], queue: u8, now_ns: u64) -> Verdict {
        let source = source_v4(frame, &self.config);
        self.judge(parse(frame, &self.config), Some(source), queue, now_ns)
    }

    /// Classifies a UDP datagram, from its header on, that arrived at one of the node's sockets: as the back end
    /// `reuseport` does. The position in the metadata counts from the UDP header. The node sees itself from where it comes.
    pub fn classify_datagram(&mut self, udp: &[u8], now_ns: u64) -> Verdict {
        self.judge(parse_datagram(udp), None, 0, now_ns)
    }

    /// `source` is that of [`source_of`], where it counts.
    fn judge(&mut self, parsed: Parsed, source: Option<u32>, queue: u8, now_ns: u64) -> Verdict {
        let pdu = match parsed {
            Parsed::NotOurs => return Verdict::Pass,
            Parsed::ForTheNode => {
                self.totals.add(count::TO_KERNEL);
                return Verdict::Pass;
            }
            Parsed::Bad(why) => return self.dropped(why),
            Parsed::GPdu(pdu) => pdu,
        };
        let found = match pdu.owner {
            Owner::Teid(teid) => Some((self.config.teid_key.name(teid).0, Access::Teid)),
            Owner::Tid(tid) => self.tids.get(&tid).map(|name| (*name, Access::Tid)),
        };
        let flow = found.and_then(|(teid, access)| {
            let flow = self.flows.get_mut(&(teid & PLACE_MASK)).filter(|flow| flow.access == access)?;
            Some((flow.teid == teid, flow))
        });
        let sampling = self.config.sampling_ns();
        match flow {
            Some((true, flow)) if source.is_some_and(|source| is_from_elsewhere(flow.source, source)) => {
                self.totals.add(count::TO_KERNEL);
                Verdict::Pass
            }
            Some((true, flow)) => {
                let verdict = flow.decide(&pdu, queue, now_ns);
                match verdict {
                    Verdict::Drop(why) => return self.dropped(why),
                    Verdict::Redirect(of) => self.totals.add(count::REDIRECTED + of.class as usize),
                    Verdict::Pass => {}
                }
                verdict
            }
            _ if is_sample(&mut self.sample_tat_ns, sampling, now_ns) => {
                self.totals.add(count::SAMPLED);
                Verdict::Pass
            }
            Some((false, _)) => self.dropped(Drop::DemuxStaleGeneration),
            None => self.dropped(Drop::DemuxUnknownContext),
        }
    }

    fn dropped(&mut self, why: Drop) -> Verdict {
        self.totals.add(index_of(why));
        Verdict::Drop(why)
    }

    /// The flow of a key, and nobody who has its place by now.
    fn find(&mut self, key: &Key) -> Option<&mut Flow> {
        let (name, access) = match key {
            Key::Teid(teid) => (self.config.teid_key.name(*teid).0, Access::Teid),
            Key::Tid(tid) => (*self.tids.get(&tid.to_u64())?, Access::Tid),
            Key::LocalTlli(_) | Key::CellTlli { .. } | Key::Name(_) => return None,
        };
        let flow = self.flows.get_mut(&(name & PLACE_MASK))?;
        (flow.access == access && flow.teid == name).then_some(flow)
    }

    fn install(&mut self, rule: &Rule) -> Result<(), Error> {
        let (teid, access) = match rule.key {
            Key::Teid(teid) => (self.config.teid_key.name(teid).0, Access::Teid),
            Key::Tid(_) => (rule.name, Access::Tid),
            Key::LocalTlli(_) | Key::CellTlli { .. } | Key::Name(_) => return Ok(()),
        };
        let place = teid & PLACE_MASK;
        if place >= self.config.contexts {
            return Err(Error::NoPlace { place, places: self.config.contexts as usize });
        }
        if let Key::Tid(tid) = rule.key {
            self.tids.insert(tid.to_u64(), teid);
        }
        let mut flow = Flow {
            access,
            teid,
            name: rule.name,
            class: rule.class,
            precedence: rule.precedence,
            source: source_of(rule.source),
            blocked: 0,
            gcra: Gcra::of(rule.policer),
            tat_ns: 0,
            counters: FlowCounters::default(),
        };
        if let Some(old) = self.flows.get(&place).filter(|old| old.access == access && old.teid == teid) {
            flow.counters = old.counters;
            if old.gcra == flow.gcra {
                flow.tat_ns = old.tat_ns;
            }
        }
        self.flows.insert(place, flow);
        Ok(())
    }

    fn remove(&mut self, key: &Key) {
        if let Some(teid) = self.find(key).map(|flow| flow.teid) {
            self.flows.remove(&(teid & PLACE_MASK));
        }
        if let Key::Tid(tid) = key {
            self.tids.remove(&Tid::to_u64(*tid));
        }
    }
}

impl Classify for Model {
    fn apply(&mut self, change: &RuleChange) -> Result<(), Error> {
        match change {
            RuleChange::Install(rule) => self.install(rule)?,
            RuleChange::Remove(key) => self.remove(key),
            RuleChange::Peer { .. } => {}
            RuleChange::Block(key, reason) => {
                if let Some(flow) = self.find(key) {
                    flow.blocked |= block_bit(*reason);
                }
            }
            RuleChange::Unblock(key, reason) => {
                if let Some(flow) = self.find(key) {
                    flow.blocked &= !block_bit(*reason);
                }
            }
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        self.flows.get(&(name & PLACE_MASK)).filter(|flow| flow.name == name).map(|flow| flow.counters)
    }
}

impl Flow {
    fn decide(&mut self, pdu: &GPdu, queue: u8, now_ns: u64) -> Verdict {
        use gannet_proto::classifier::Block;
        let counters = &mut self.counters;
        if self.blocked & block_bit(Block::FlowControl) != 0 {
            counters.blocked = counters.blocked.wrapping_add(1);
            return Verdict::Drop(Drop::DemuxBlocked);
        }
        if self.blocked & block_bit(Block::QueueFull) != 0 {
            counters.queue_full = counters.queue_full.wrapping_add(1);
            return Verdict::Drop(Drop::DemuxQueueFull);
        }
        let increment = self.gcra.increment_ns(pdu.len.into());
        if self.gcra.octet_cost != 0 && !conforms(&mut self.tat_ns, increment, self.gcra.burst_ns, now_ns) {
            counters.over_rate = counters.over_rate.wrapping_add(1);
            return Verdict::Drop(Drop::DemuxOverRate);
        }
        counters.passed = counters.passed.wrapping_add(1);
        counters.passed_octets += u64::from(pdu.len);
        Verdict::Redirect(Metadata {
            name: self.name,
            pdu_offset: pdu.at,
            pdu_len: pdu.len,
            class: self.class,
            precedence: self.precedence,
            shard: queue,
            ring: Ring::of(self.class, self.precedence),
            llc_offset: 0,
            llc_len: 0,
        })
    }
}

/// Where a drop is counted.
fn index_of(why: Drop) -> usize {
    DROPS.iter().position(|drop| *drop == why).unwrap_or(usize::MAX)
}

/// True where it conforms, and the theoretical arrival time has moved.
fn conforms(tat_ns: &mut u64, increment_ns: u64, burst_ns: u64, now_ns: u64) -> bool {
    let next = conforming(*tat_ns, increment_ns, burst_ns, now_ns);
    *tat_ns = next.unwrap_or(*tat_ns);
    next.is_some()
}

/// Whether a packet of an unknown context goes to the node.
fn is_sample(tat_ns: &mut u64, (interval_ns, burst_ns): (u64, u64), now_ns: u64) -> bool {
    interval_ns != 0 && conforms(tat_ns, interval_ns, burst_ns, now_ns)
}

//! The reference classifier of Gb: whose LL-PDU it is.
//!
//! 1. A frame is read as for Gn, up to the UDP datagram for our NS port. NS-UNITDATA of a PTP BVC with UL-UNITDATA in it
//!    is what is classified; every other PDU, and every one that cannot be read, goes to the node, which answers it.
//! 2. A local TLLI that is assigned leads to its mobile by itself, every other TLLI together with the NSEI of the sender's
//!    address and the BVCI. A limited sample of the LL-PDUs of unknown mobiles goes to the node, of signalling, since that
//!    is how mobiles become known, and apart from it of user data; the rest is dropped.
//! 3. A UI frame of a SAPI for user data is dropped where the mobile is blocked or over its rate, which is counted in
//!    octets of N-PDU; or it goes to the ring of the mobile's class. Every other LL-PDU is signalling, which has a rate of
//!    its own, and goes to the ring for signalling.

use super::parse::datagram;
use super::{Verdict, conforms, index_of, is_sample};
use crate::layout::{Gcra, Metadata, PLACE_MASK, Ring, block_bit, count};
use crate::rules::{Classify, Error, FlowCounters, Totals, UplinkConfig, interval_and_burst_ns};
use crate::uplink::octets_of;
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::bssgp::PduType;
use gannet_wire::id::{Bvci, Nsei, Sapi, Tlli, TlliKind};
use gannet_wire::ns::{UNITDATA_HEADER_LEN, Unitdata};
use gannet_wire::tlv::Elements;
use std::collections::HashMap;
use std::net::{SocketAddr, SocketAddrV4};

/// Elements of an UL-UNITDATA that are looked at.
const ELEMENTS_MAX: usize = 8;
const IEI_LLC_PDU: u8 = 0x0e;
/// Octets of an UL-UNITDATA in front of its elements.
const FIXED_LEN: usize = 8;
/// Octets of an LL-PDU with user data that are none of the N-PDU: address, control and FCS of LLC, header of SNDCP.
const LL_PDU_HEADERS: usize = 10;

#[derive(Debug)]
struct Mobile {
    name: u32,
    /// TLLIs that lead to it.
    keys: u32,
    class: Class,
    precedence: Precedence,
    blocked: u8,
    gcra: Gcra,
    tat_ns: u64,
    signalling_tat_ns: u64,
    counters: FlowCounters,
}

/// An UL-UNITDATA in an NS PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct UlUnitdata {
    bvci: Bvci,
    tlli: Tlli,
    /// The LL-PDU in the NS PDU.
    llc_at: usize,
    llc_len: usize,
    is_data: bool,
}

/// Is this user data of a mobile in either mode, or what belongs to acknowledged mode, and not what else its LLC says to ours?
fn is_user_data(ll_pdu: &[u8]) -> bool {
    let &[address, control, ..] = ll_pdu else { return false };
    let of_data = matches!(Sapi(address & 15), Sapi::DATA3 | Sapi::DATA5 | Sapi::DATA9 | Sapi::DATA11);
    // I frames begin with 0, S frames with 10, UI frames with 110; of the U frames those that no I or S frame may overtake, nor be
    // overtaken by: DM, DISC, UA, SABM, FRMR.
    of_data && (control & 0xe0 != 0xe0 || matches!(control & 15, 1 | 4 | 6 | 7 | 8))
}

/// The classifier's state.
#[derive(Debug)]
pub struct UplinkModel {
    config: UplinkConfig,
    peers: HashMap<SocketAddrV4, Nsei>,
    /// From [`octets_of`] a key to the mobile's name.
    tllis: HashMap<u64, u32>,
    /// By place.
    mobiles: HashMap<u32, Mobile>,
    sample_tat_ns: u64,
    stranger_tat_ns: u64,
    totals: Totals,
}

/// Reads an NS PDU. `None` where the node has to.
fn read(ns: &[u8]) -> Option<UlUnitdata> {
    let bvci = Unitdata::parse(ns).ok()?.bvci;
    let bssgp = ns.get(UNITDATA_HEADER_LEN..)?;
    let &[pdu_type, t0, t1, t2, t3, _, _, _, ..] = bssgp else { return None };
    if bvci <= Bvci::PTM || pdu_type != PduType::UlUnitdata.octet() {
        return None;
    }
    let mut elements = Elements::new(bssgp, FIXED_LEN).iter().take(ELEMENTS_MAX);
    let llc = elements.find_map(|element| match element {
        Ok(element) if element.iei != IEI_LLC_PDU => None,
        other => Some(other),
    });
    let llc = llc?.ok()?;
    llc.value.first()?;
    Some(UlUnitdata {
        bvci,
        tlli: Tlli(u32::from_be_bytes([t0, t1, t2, t3])),
        llc_at: UNITDATA_HEADER_LEN + llc.at,
        llc_len: llc.value.len(),
        is_data: is_user_data(llc.value),
    })
}

impl UplinkModel {
    /// A classifier without rules.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn new(config: UplinkConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            config,
            peers: HashMap::new(),
            tllis: HashMap::new(),
            mobiles: HashMap::new(),
            sample_tat_ns: 0,
            stranger_tat_ns: 0,
            totals: Totals::default(),
        })
    }

    fn set_peer(&mut self, address: SocketAddr, nsei: Option<Nsei>) {
        let SocketAddr::V4(address) = address else { return };
        match nsei {
            Some(nsei) => self.peers.insert(address, nsei),
            None => self.peers.remove(&address),
        };
    }

    /// Classifies a frame that arrived at `now_ns` on the receive queue `queue`, and counts it.
    pub fn classify(&mut self, frame: &[u8], queue: u8, now_ns: u64) -> Verdict {
        let Some(udp) = datagram(frame, &self.config.base) else { return Verdict::Pass };
        if udp.port() != Some(self.config.port) {
            return Verdict::Pass;
        }
        let ns = match udp.payload(&self.config.base) {
            Ok(ns) => ns,
            Err(why) => return self.dropped(why),
        };
        let Some(pdu) = read(ns) else { return self.for_the_node() };
        let assigned = (pdu.tlli.kind() == TlliKind::Local).then_some(Key::LocalTlli(pdu.tlli));
        let key = match assigned.filter(|key| octets_of(key).is_some_and(|it| self.tllis.contains_key(&it))) {
            Some(key) => key,
            None => {
                let peer = udp.source_v4().and_then(|source| self.peers.get(&source));
                let Some(nsei) = peer.copied() else { return self.for_the_node() };
                Key::CellTlli { nsei, bvci: pdu.bvci, tlli: pdu.tlli }
            }
        };
        let strangers = interval_and_burst_ns(self.config.strangers_per_s, self.config.strangers_at_once);
        let sampling = if pdu.is_data { self.config.base.sampling_ns() } else { strangers };
        let (interval, burst) =
            interval_and_burst_ns(self.config.signalling_per_s, self.config.signalling_at_once);
        let at = udp.payload_at();
        let Some(mobile) = self.find(&key) else {
            let bucket = if pdu.is_data { &mut self.sample_tat_ns } else { &mut self.stranger_tat_ns };
            if is_sample(bucket, sampling, now_ns) {
                self.totals.add(count::SAMPLED);
                return Verdict::Pass;
            }
            return self.dropped(Drop::DemuxUnknownTlli);
        };
        let decided = if pdu.is_data {
            mobile.decide(pdu.llc_len.saturating_sub(LL_PDU_HEADERS).max(LL_PDU_HEADERS), now_ns)
        } else {
            mobile.decide_signalling(interval, burst, now_ns)
        };
        let (name, precedence) = (mobile.name, mobile.precedence);
        let class = match decided {
            Ok(class) => class,
            Err(why) => return self.dropped(why),
        };
        self.totals.add(count::REDIRECTED + class as usize);
        let narrow = |octets: usize| u16::try_from(octets).unwrap_or(u16::MAX);
        Verdict::Redirect(Metadata {
            name,
            pdu_offset: narrow(at),
            pdu_len: narrow(ns.len()),
            class,
            precedence,
            shard: queue,
            ring: Ring::of(class, precedence),
            llc_offset: narrow(at + pdu.llc_at),
            llc_len: narrow(pdu.llc_len),
        })
    }

    fn dropped(&mut self, why: Drop) -> Verdict {
        self.totals.add(index_of(why));
        Verdict::Drop(why)
    }

    fn for_the_node(&mut self) -> Verdict {
        self.totals.add(count::TO_KERNEL);
        Verdict::Pass
    }

    fn find(&mut self, key: &Key) -> Option<&mut Mobile> {
        let name = match key {
            Key::Name(name) => *name,
            key => *self.tllis.get(&octets_of(key)?)?,
        };
        self.mobiles.get_mut(&(name & PLACE_MASK)).filter(|mobile| mobile.name == name)
    }

    /// A key leads to another mobile now, or to none; nobody is at a place to which none leads.
    fn lose_a_key(&mut self, name: u32) {
        let place = name & PLACE_MASK;
        let Some(mobile) = self.mobiles.get_mut(&place).filter(|mobile| mobile.name == name) else { return };
        mobile.keys -= 1;
        if mobile.keys == 0 {
            self.mobiles.remove(&place);
        }
    }

    fn install(&mut self, rule: &Rule, octets: u64) -> Result<(), Error> {
        let place = rule.name & PLACE_MASK;
        if place >= self.config.base.contexts {
            return Err(Error::NoPlace { place, places: self.config.base.contexts as usize });
        }
        let mut mobile = Mobile {
            name: rule.name,
            keys: 1,
            class: rule.class,
            precedence: rule.precedence,
            blocked: 0,
            gcra: Gcra::of(rule.policer),
            tat_ns: 0,
            signalling_tat_ns: 0,
            counters: FlowCounters::default(),
        };
        if let Some(old) = self.mobiles.get(&place).filter(|old| old.name == rule.name) {
            mobile.keys = old.keys + u32::from(self.tllis.get(&octets) != Some(&rule.name));
            mobile.counters = old.counters;
            mobile.signalling_tat_ns = old.signalling_tat_ns;
            if old.gcra == mobile.gcra {
                mobile.tat_ns = old.tat_ns;
            }
        }
        self.mobiles.insert(place, mobile);
        if let Some(former) = self.tllis.insert(octets, rule.name).filter(|former| *former != rule.name) {
            self.lose_a_key(former);
        }
        Ok(())
    }
}

impl Classify for UplinkModel {
    fn apply(&mut self, change: &RuleChange) -> Result<(), Error> {
        match change {
            RuleChange::Install(rule) => {
                if let Some(octets) = octets_of(&rule.key) {
                    self.install(rule, octets)?;
                }
            }
            RuleChange::Remove(key) => {
                if let Some(name) = octets_of(key).and_then(|octets| self.tllis.remove(&octets)) {
                    self.lose_a_key(name);
                }
            }
            RuleChange::Block(key, reason) => {
                if let Some(mobile) = self.find(key) {
                    mobile.blocked |= block_bit(*reason);
                }
            }
            RuleChange::Unblock(key, reason) => {
                if let Some(mobile) = self.find(key) {
                    mobile.blocked &= !block_bit(*reason);
                }
            }
            RuleChange::Peer { address, nsei } => self.set_peer(*address, *nsei),
        }
        Ok(())
    }

    fn totals(&self) -> Totals {
        self.totals
    }

    fn of_flow(&self, name: u32) -> Option<FlowCounters> {
        self.mobiles
            .get(&(name & PLACE_MASK))
            .filter(|mobile| mobile.name == name)
            .map(|mobile| mobile.counters)
    }
}

impl Mobile {
    /// Of user data: its class, or why it is dropped.
    fn decide(&mut self, octets: usize, now_ns: u64) -> Result<Class, Drop> {
        if self.blocked & block_bit(Block::FlowControl) != 0 {
            self.counters.blocked += 1;
            return Err(Drop::DemuxBlocked);
        }
        if self.blocked & block_bit(Block::QueueFull) != 0 {
            self.counters.queue_full += 1;
            return Err(Drop::DemuxQueueFull);
        }
        let increment = self.gcra.increment_ns(octets);
        if self.gcra.octet_cost != 0 && !conforms(&mut self.tat_ns, increment, self.gcra.burst_ns, now_ns) {
            self.counters.over_rate += 1;
            return Err(Drop::DemuxOverRate);
        }
        self.counters.passed += 1;
        Ok(self.class)
    }

    /// Of signalling.
    fn decide_signalling(&mut self, interval_ns: u64, burst_ns: u64, now_ns: u64) -> Result<Class, Drop> {
        if interval_ns != 0 && !conforms(&mut self.signalling_tat_ns, interval_ns, burst_ns, now_ns) {
            self.counters.over_rate += 1;
            return Err(Drop::DemuxOverRate);
        }
        self.counters.passed += 1;
        Ok(Class::Signalling)
    }
}

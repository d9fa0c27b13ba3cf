//! The reference of a GGSN's programs. A packet goes through these steps, and the first that finds it unfit leaves it to the node:
//!
//! 1. On Gn a G-PDU in its usual shape leads by its TEID to a context, which must be that of its sender. On Gi the
//!    destination leads to the context.
//! 2. The N-PDU must be one that a router passes on without looking further.
//! 3. Its addresses: on Gn the source must be the mobile's own, or the packet is dropped; the destination must be nobody
//!    here. On Gi the source must be beyond doubt.
//! 4. The kernel has a route by the right interface, and a neighbour there.
//! 5. What is over the context's rate is dropped.
//! 6. The headers are changed, one hop is counted, and the packet leaves.

use super::conforms;
use super::parse::{be16, internet_sum};
use crate::gateway::{
    GatewayConfig, GatewayTotals, Left, Network, count, flag, flags_of, is_of_pool, prefix_on_the_wire,
};
use crate::layout::{FRAME_MAX, Gcra, PLACE_MASK};
use crate::rules::Error;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use gannet_machine::drops::Drop;
use gannet_proto::forwarding::{Carried, ForwardChange, ForwardRule, Forwarded};
use gannet_proto::gtp::ContextName;
use gannet_wire::gtp::header::message_type;
use gannet_wire::id::Teid;
use std::collections::HashMap;

const ETHERNET: usize = 14;
/// IPv4 and UDP.
const OUTER: usize = 28;
const GTP_U: u16 = 2152;
const TTL: u8 = 64;

/// Where a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextHop {
    /// Index of the interface.
    pub device: u32,
    /// The interface's Ethernet address.
    pub from: [u8; 6],
    /// The neighbour's.
    pub to: [u8; 6],
}

/// What the kernel knows of routes and neighbours.
pub trait Routes {
    /// The way of a packet of `len` octets that came from the device `from`; `None` where the kernel itself has to deal with it.
    fn forward(&self, from: u32, to: IpAddr, len: usize) -> Option<NextHop>;
    /// The way of a packet of ours of `len` octets through the device `through`.
    fn send(&self, through: u32, to: Ipv4Addr, len: usize) -> Option<NextHop>;
}

/// What becomes of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayVerdict {
    /// It is none for these programs.
    NotOurs,
    /// It stays as it is, for the node.
    Left(Left),
    /// Nobody gets it.
    Drop(Drop),
    /// It leaves by this interface as this frame.
    Sent(u32, Vec<u8>),
}

#[derive(Debug)]
struct Bucket {
    gcra: Gcra,
    tat_ns: u64,
    carried: Carried,
}

#[derive(Debug)]
struct Tunnel {
    rule: ForwardRule,
    is_active: bool,
    uplink: Bucket,
    downlink: Bucket,
    foreign: u32,
    sequence: u16,
}

/// The state of both programs.
#[derive(Debug)]
pub struct GatewayModel {
    config: GatewayConfig,
    gn: u32,
    networks: HashMap<u16, Network>,
    /// By place.
    tunnels: HashMap<u32, Tunnel>,
    by_v4: HashMap<Ipv4Addr, ContextName>,
    by_prefix: HashMap<u64, ContextName>,
    totals: GatewayTotals,
}

/// An N-PDU that a router passes on as it is.
struct NPdu {
    source: IpAddr,
    destination: IpAddr,
    len: usize,
}

impl Bucket {
    fn new(rule: Option<gannet_proto::classifier::Policer>) -> Self {
        Self { gcra: Gcra::of(rule), tat_ns: 0, carried: Carried::default() }
    }

    /// Counts a packet; false where it is over the rate.
    fn admit(&mut self, octets: usize, now_ns: u64) -> bool {
        let increment = self.gcra.increment_ns(octets);
        let carried = &mut self.carried;
        if self.gcra.octet_cost != 0 && !conforms(&mut self.tat_ns, increment, self.gcra.burst_ns, now_ns) {
            carried.over_rate = carried.over_rate.wrapping_add(1);
            return false;
        }
        carried.packets = carried.packets.wrapping_add(1);
        carried.octets += octets as u64;
        true
    }

    /// The bucket that follows this one: it stays as full as it is where it is the same.
    fn after(self, rule: Option<gannet_proto::classifier::Policer>) -> Self {
        let next = Self::new(rule);
        let tat_ns = if next.gcra == self.gcra { self.tat_ns } else { 0 };
        Self { tat_ns, carried: self.carried, ..next }
    }
}

impl GatewayModel {
    /// Without rules and interfaces.
    ///
    /// # Errors
    /// [`Error::Config`].
    pub fn new(config: GatewayConfig) -> Result<Self, Error> {
        config.check()?;
        Ok(Self {
            config,
            gn: 0,
            networks: HashMap::new(),
            tunnels: HashMap::new(),
            by_v4: HashMap::new(),
            by_prefix: HashMap::new(),
            totals: GatewayTotals::default(),
        })
    }

    /// See [`crate::gateway::Gateway::set_gn`].
    pub const fn set_gn(&mut self, device: u32) {
        self.gn = device;
    }

    /// See [`crate::gateway::Gateway::set_network`].
    pub fn set_network(&mut self, number: u16, network: Network) {
        self.networks.insert(number, network);
    }

    /// See [`crate::gateway::Gateway::apply`].
    ///
    /// # Errors
    /// [`Error::NoPlace`].
    pub fn apply(&mut self, change: &ForwardChange) -> Result<(), Error> {
        let (ForwardChange::Install(ForwardRule { name, .. }) | ForwardChange::Remove(name)) = change;
        let place = name.0 & PLACE_MASK;
        if place >= self.config.contexts {
            return Err(Error::NoPlace { place, places: self.config.contexts as usize });
        }
        let is_known = self.tunnels.get(&place).is_some_and(|tunnel| tunnel.rule.name == *name);
        match change {
            ForwardChange::Install(rule) => {
                let former = self.retire(place).filter(|_| is_known);
                self.install(place, rule, former);
            }
            ForwardChange::Remove(_) if is_known => {
                let former = self.retire(place);
                self.tunnels.extend(former.map(|former| (place, former)));
            }
            ForwardChange::Remove(_) => {}
        }
        Ok(())
    }

    fn install(&mut self, place: u32, rule: &ForwardRule, former: Option<Tunnel>) {
        let tunnel = match former {
            Some(former) => Tunnel {
                rule: *rule,
                is_active: true,
                uplink: former.uplink.after(rule.uplink),
                downlink: former.downlink.after(rule.downlink),
                ..former
            },
            None => Tunnel {
                rule: *rule,
                is_active: true,
                uplink: Bucket::new(rule.uplink),
                downlink: Bucket::new(rule.downlink),
                foreign: 0,
                sequence: 0,
            },
        };
        self.tunnels.insert(place, tunnel);
        if rule.takes_downlink {
            self.by_v4.extend(rule.v4.map(|address| (address, rule.name)));
            self.by_prefix.extend(rule.v6.map(|address| (prefix_on_the_wire(address), rule.name)));
        }
    }

    /// Takes a context out of the tables.
    fn retire(&mut self, place: u32) -> Option<Tunnel> {
        let mut tunnel = self.tunnels.remove(&place)?;
        tunnel.is_active = false;
        let name = tunnel.rule.name;
        if let Some(address) = tunnel.rule.v4.filter(|address| self.by_v4.get(address) == Some(&name)) {
            self.by_v4.remove(&address);
        }
        let prefix = tunnel.rule.v6.map(prefix_on_the_wire);
        if let Some(prefix) = prefix.filter(|prefix| self.by_prefix.get(prefix) == Some(&name)) {
            self.by_prefix.remove(&prefix);
        }
        Some(tunnel)
    }

    /// See [`crate::gateway::Gateway::forwarded`].
    #[must_use]
    pub fn forwarded(&self, name: ContextName) -> Option<Forwarded> {
        let tunnel = self.tunnels.get(&(name.0 & PLACE_MASK))?;
        (tunnel.rule.name == name && name.0 != 0).then_some(Forwarded {
            uplink: tunnel.uplink.carried,
            downlink: tunnel.downlink.carried,
            foreign: tunnel.foreign,
        })
    }

    /// All counters.
    #[must_use]
    pub const fn totals(&self) -> GatewayTotals {
        self.totals
    }

    fn counted(
        &mut self,
        verdict: Result<(u32, Vec<u8>), GatewayVerdict>,
        index: usize,
        octets: usize,
    ) -> GatewayVerdict {
        match &verdict {
            Ok(_) => {
                self.totals.add(index, 1);
                self.totals.add(index + 1, octets as u64);
            }
            Err(GatewayVerdict::Left(why)) => self.totals.add(count::LEFT + *why as usize, 1),
            Err(GatewayVerdict::Drop(Drop::DemuxForeignSource)) => self.totals.add(count::FOREIGN_SOURCE, 1),
            Err(GatewayVerdict::Drop(_)) => self.totals.add(count::OVER_RATE, 1),
            Err(_) => {}
        }
        verdict.map_or_else(|other| other, |(device, frame)| GatewayVerdict::Sent(device, frame))
    }

    // ------------------------------------------------------------------ uplink

    /// What becomes of a frame that came by Gn.
    pub fn uplink(&mut self, frame: &[u8], now_ns: u64, routes: &impl Routes) -> GatewayVerdict {
        let mut octets = 0;
        let verdict = self.decapsulate(frame, now_ns, routes, &mut octets);
        self.counted(verdict, count::UPLINK, octets)
    }

    fn decapsulate(
        &mut self,
        frame: &[u8],
        now_ns: u64,
        routes: &impl Routes,
        octets: &mut usize,
    ) -> Result<(u32, Vec<u8>), GatewayVerdict> {
        const UNFIT: GatewayVerdict = GatewayVerdict::Left(Left::Shape);
        let (source, message) = self.g_pdu(frame)?;
        let &[flags, kind, l0, l1, t0, t1, t2, t3, ref content @ ..] = message else { return Err(UNFIT) };
        let is_usual = flags & 0xf4 == 0x30 && kind == message_type::G_PDU;
        if !is_usual || usize::from(u16::from_be_bytes([l0, l1])) != content.len() {
            return Err(UNFIT);
        }
        let numbers = if flags & 3 == 0 { 0 } else { 4 };
        let packet = content.get(numbers..).ok_or(UNFIT)?;
        let name = self.config.teid_key.name(Teid(u32::from_be_bytes([t0, t1, t2, t3])));
        let tunnel = self.tunnels.get_mut(&(name.0 & PLACE_MASK));
        let tunnel = tunnel.filter(|tunnel| tunnel.is_active && tunnel.rule.name == name);
        let tunnel = tunnel.ok_or(GatewayVerdict::Left(Left::Context))?;
        if tunnel.rule.source.is_some_and(|known| known != source) {
            return Err(GatewayVerdict::Left(Left::Sender));
        }
        if tunnel.rule.to_ring {
            return Err(GatewayVerdict::Left(Left::Ring));
        }
        let n_pdu =
            read(packet, flags_of(&tunnel.rule)).filter(|n_pdu| n_pdu.len == packet.len()).ok_or(UNFIT)?;
        let is_own = match (n_pdu.source, n_pdu.destination) {
            (IpAddr::V6(source), IpAddr::V6(destination))
                if [source, destination]
                    .iter()
                    .any(|address| stays_on_link(*address) || is_of_nobody(*address)) =>
            {
                return Err(GatewayVerdict::Left(Left::Address));
            }
            (IpAddr::V4(source), _) => tunnel.rule.v4 == Some(source),
            (IpAddr::V6(source), _) => {
                tunnel.rule.v6.map(prefix_on_the_wire) == Some(prefix_on_the_wire(source))
            }
        };
        if !is_own {
            tunnel.foreign = tunnel.foreign.wrapping_add(1);
            return Err(GatewayVerdict::Drop(Drop::DemuxForeignSource));
        }
        if self.config.addresses.contains(&n_pdu.destination) || is_odd(n_pdu.destination) {
            return Err(GatewayVerdict::Left(Left::Address));
        }
        let network = self.networks.get(&tunnel.rule.network).copied().unwrap_or_default();
        let hop = routes.forward(network.tun, n_pdu.destination, n_pdu.len);
        let hop = hop.filter(|hop| network.device != 0 && hop.device == network.device);
        let hop = hop.ok_or(GatewayVerdict::Left(Left::Route))?;
        if !tunnel.uplink.admit(n_pdu.len, now_ns) {
            return Err(GatewayVerdict::Drop(Drop::DemuxOverRate));
        }
        *octets = n_pdu.len;
        let mut sent = ethernet(&hop, n_pdu.source.is_ipv6());
        sent.extend(one_hop_less(packet));
        Ok((hop.device, sent))
    }

    /// Sender and GTP message of a datagram for our port, as the usual IPv4 packet.
    fn g_pdu<'a>(&self, frame: &'a [u8]) -> Result<(Ipv4Addr, &'a [u8]), GatewayVerdict> {
        const UNFIT: GatewayVerdict = GatewayVerdict::Left(Left::Shape);
        let header = frame.get(ETHERNET..).and_then(<[u8]>::first_chunk::<OUTER>);
        let header = header.filter(|_| frame.len() >= ETHERNET + OUTER + 8 && frame.len() <= FRAME_MAX);
        let header = header.ok_or(GatewayVerdict::NotOurs)?;
        let [_, _, t0, t1, _, _, f0, f1, .., p0, p1, u0, u1, _, _] = header;
        let to: [u8; 4] = [header[16], header[17], header[18], header[19]];
        let is_ours = be16(frame, 12) == Some(0x0800)
            && (header[0], header[9]) == (0x45, 17)
            && Ipv4Addr::from(to) == self.config.user
            && u16::from_be_bytes([*p0, *p1]) == GTP_U
            && u16::from_be_bytes([*f0, *f1]) & 0x3fff == 0;
        if !is_ours {
            return Err(GatewayVerdict::NotOurs);
        }
        let total = usize::from(u16::from_be_bytes([*t0, *t1]));
        let whole = frame.get(ETHERNET..ETHERNET + total).filter(|_| total >= OUTER + 8).ok_or(UNFIT)?;
        let has_right_sum = internet_sum(&[header.get(..20).unwrap_or_default()]) == 0xffff;
        if !has_right_sum || usize::from(u16::from_be_bytes([*u0, *u1])) != total - 20 {
            return Err(UNFIT);
        }
        let source = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
        Ok((source, whole.get(OUTER..).unwrap_or_default()))
    }

    // ------------------------------------------------------------------ downlink

    /// What becomes of a frame that came by the interface `device`.
    pub fn downlink(
        &mut self,
        frame: &[u8],
        device: u32,
        now_ns: u64,
        routes: &impl Routes,
    ) -> GatewayVerdict {
        let mut octets = 0;
        let verdict = self.encapsulate(frame, device, now_ns, routes, &mut octets);
        self.counted(verdict, count::DOWNLINK, octets)
    }

    fn encapsulate(
        &mut self,
        frame: &[u8],
        device: u32,
        now_ns: u64,
        routes: &impl Routes,
        octets: &mut usize,
    ) -> Result<(u32, Vec<u8>), GatewayVerdict> {
        let packet = frame.get(ETHERNET..).filter(|packet| packet.len() >= 20 && frame.len() <= FRAME_MAX);
        let packet = packet.ok_or(GatewayVerdict::NotOurs)?;
        let destination = match be16(frame, 12) {
            Some(0x0800) => {
                packet.get(16..).and_then(<[u8]>::first_chunk).map(|to: &[u8; 4]| IpAddr::from(*to))
            }
            Some(0x86dd) => {
                packet.get(24..).and_then(<[u8]>::first_chunk).map(|to: &[u8; 16]| IpAddr::from(*to))
            }
            _ => None,
        };
        let name = match destination {
            Some(IpAddr::V4(address)) => self.by_v4.get(&address),
            Some(IpAddr::V6(address)) => self.by_prefix.get(&prefix_on_the_wire(address)),
            None => None,
        };
        let name = *name.ok_or(GatewayVerdict::NotOurs)?;
        let tunnel = self.tunnels.get_mut(&(name.0 & PLACE_MASK)).filter(|tunnel| tunnel.rule.name == name);
        let tunnel = tunnel.filter(|tunnel| tunnel.is_active && tunnel.rule.takes_downlink);
        let tunnel = tunnel.ok_or(GatewayVerdict::Left(Left::Context))?;
        let is_version = |n_pdu: &NPdu| Some(n_pdu.destination) == destination;
        let n_pdu = read(packet, flags_of(&tunnel.rule)).filter(is_version);
        let n_pdu = n_pdu.ok_or(GatewayVerdict::Left(Left::Shape))?;
        let packet = packet.get(..n_pdu.len).ok_or(GatewayVerdict::Left(Left::Shape))?;
        let network = self.networks.get(&tunnel.rule.network).copied().unwrap_or_default();
        let forwards = if n_pdu.source.is_ipv4() { network.forwards_v4 } else { network.forwards_v6 };
        if network.device != device || !forwards || is_doubtful(&self.config, n_pdu.source) {
            return Err(GatewayVerdict::Left(Left::Address));
        }
        if tunnel.rule.to_ring {
            return Err(GatewayVerdict::Left(Left::Ring));
        }
        let headers = OUTER + if tunnel.rule.sequenced { 12 } else { 8 };
        let fits = n_pdu.len <= network.mtu as usize && self.gn != 0;
        let hop = fits.then(|| routes.send(self.gn, tunnel.rule.peer, headers + n_pdu.len)).flatten();
        let hop = hop.filter(|hop| hop.device == self.gn).ok_or(GatewayVerdict::Left(Left::Route))?;
        if !tunnel.downlink.admit(n_pdu.len, now_ns) {
            return Err(GatewayVerdict::Drop(Drop::DemuxOverRate));
        }
        *octets = n_pdu.len;
        let mut sent = ethernet(&hop, false);
        sent.extend(outer(&self.config, tunnel, n_pdu.len));
        sent.extend(one_hop_less(packet));
        Ok((hop.device, sent))
    }
}

/// Link-local, or to many.
fn stays_on_link(address: Ipv6Addr) -> bool {
    address.is_multicast() || address.is_unicast_link_local()
}

/// Without a prefix: unspecified or of this machine.
fn is_of_nobody(address: Ipv6Addr) -> bool {
    prefix_on_the_wire(address) == 0
}

/// No address of one station elsewhere.
fn is_odd(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => matches!(address.octets(), [0 | 127 | 224.., ..]),
        IpAddr::V6(address) => stays_on_link(address) || is_of_nobody(address),
    }
}

/// May the kernel have something against this source?
fn is_doubtful(config: &GatewayConfig, source: IpAddr) -> bool {
    is_odd(source) || is_of_pool(&config.pools, source) || config.addresses.contains(&source)
}

/// The N-PDU at the beginning of these octets, where it is one that a router passes on as it is.
fn read(packet: &[u8], flags: u8) -> Option<NPdu> {
    let syn_to_node = flags & flag::SYN_TO_NODE != 0;
    let opens_tcp = |at: usize, len: usize| {
        let flags = packet.get(at + 13).filter(|_| len >= at + 14);
        flags.is_none_or(|flags| flags & 2 != 0)
    };
    if packet.first()? >> 4 == 4 {
        let header = packet.first_chunk::<20>()?;
        let is_fragment = be16(header, 6)? & 0x3fff != 0;
        let is_plain =
            header[0] == 0x45 && !is_fragment && header[8] > 1 && internet_sum(&[header]) == 0xffff;
        let len = usize::from(be16(header, 2)?);
        let is_the_nodes = syn_to_node && header[9] == 6 && opens_tcp(20, len);
        return (is_plain && !is_the_nodes && len >= 20).then_some(NPdu {
            source: [header[12], header[13], header[14], header[15]].into(),
            destination: [header[16], header[17], header[18], header[19]].into(),
            len,
        });
    }
    let header = packet.first_chunk::<40>()?;
    let (source, destination) = header.get(8..)?.split_first_chunk::<16>()?;
    let next = header[6];
    let is_plain = header[0] >> 4 == 6 && next != 0 && header[7] > 1;
    let len = 40 + usize::from(be16(header, 4)?);
    let is_the_nodes = syn_to_node && !matches!(next, 17 | 58) && (next != 6 || opens_tcp(40, len));
    (is_plain && !is_the_nodes).then_some(NPdu {
        source: (*source).into(),
        destination: (*destination.first_chunk::<16>()?).into(),
        len,
    })
}

/// An Ethernet header.
fn ethernet(hop: &NextHop, is_v6: bool) -> Vec<u8> {
    let kind: u16 = if is_v6 { 0x86dd } else { 0x0800 };
    [&hop.to[..], &hop.from, &kind.to_be_bytes()].concat()
}

/// A packet behind a router.
fn one_hop_less(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    let is_v6 = packet.first().is_some_and(|first| first >> 4 == 6);
    if let Some(hops) = packet.get_mut(if is_v6 { 7 } else { 8 }) {
        *hops = hops.saturating_sub(1);
    }
    if !is_v6 && let Some(header) = packet.first_chunk_mut::<20>() {
        // RFC 1624, equation 3, for a word that has become smaller by 0x0100.
        let sum = u32::from(u16::from_be_bytes([header[10], header[11]])) + 0x0100;
        let [.., high, low] = (sum + u32::from(sum >= 0xffff)).to_be_bytes();
        (header[10], header[11]) = (high, low);
    }
    packet
}

/// The headers of a G-PDU with a T-PDU of `len` octets.
fn outer(config: &GatewayConfig, tunnel: &mut Tunnel, len: usize) -> Vec<u8> {
    let rule = &tunnel.rule;
    let mut gtp = vec![if rule.sequenced { 0x32 } else { 0x30 }, message_type::G_PDU];
    let numbers = if rule.sequenced { 4 } else { 0 };
    gtp.extend(length(numbers + len));
    gtp.extend(rule.peer_teid.0.to_be_bytes());
    if rule.sequenced {
        let [high, low] = tunnel.sequence.to_be_bytes();
        gtp.extend([high, low, 0, 0]);
        tunnel.sequence = tunnel.sequence.wrapping_add(1);
    }
    let mut ip = vec![0x45, rule.dscp << 2];
    ip.extend(length(OUTER + gtp.len() + len));
    ip.extend([0, 0, 0x40, 0, TTL, 17, 0, 0]);
    ip.extend(config.user.octets());
    ip.extend(rule.peer.octets());
    let sum = (!internet_sum(&[&ip])).to_be_bytes();
    if let Some(place) = ip.get_mut(10..12) {
        place.copy_from_slice(&sum);
    }
    let port = GTP_U.to_be_bytes();
    [&ip[..], &port, &port, &length(8 + gtp.len() + len), &[0, 0], &gtp].concat()
}

fn length(octets: usize) -> [u8; 2] {
    u16::try_from(octets).unwrap_or(u16::MAX).to_be_bytes()
}

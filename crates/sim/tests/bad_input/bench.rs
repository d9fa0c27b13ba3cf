//! A network with two cells of four mobiles each, all attached, with N-PDUs going both ways; and the books of them.

use crate::octets;
use core::net::Ipv4Addr;
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Peer, Port};
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, GgsnConfig};
use gannet_node::ms::{MsCommand, MsConfig, MsEvent, NPduDelivery};
use gannet_node::sgsn::{GgsnPeer, SgsnConfig, SgsnEvent};
use gannet_sim::gprs::{GGSN_GN, GprsWorld, Happening, Node, SGSN_GB, SGSN_GN, WorldConfig, bss_address};
use gannet_sim::link::LinkProfile;
use gannet_wire::id::{Bvci, CellId, Imsi, Nsapi, Nsei, Nsvci, Plmn, Rai, Teid, Tlli};
use gannet_wire::l3::ie::PdpAddress;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Mobiles, in turn in the two cells.
pub const MOBILES: u32 = 8;
/// Their only context.
pub const NSAPI: Nsapi = Nsapi(5);
/// The only NSE.
pub const NSEI: Nsei = Nsei(101);
/// The host behind the GGSN.
pub const HOST: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);

/// The BVC of a cell.
pub const fn bvci(cell: u16) -> Bvci {
    Bvci(2 + cell)
}

/// The name of a cell.
pub fn cell_id(cell: u16) -> CellId {
    CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 1 }, ci: 100 + cell }
}

/// The subscriber of a mobile.
impl Bench {
    /// The SGSN's endpoint of a mobile's context.
    pub fn teid(&self, mobile: u32) -> Teid {
        let sgsn = &self.world.sgsn.machine;
        sgsn.teid(sgsn.mobile_of(imsi(mobile)).unwrap().0, NSAPI).unwrap()
    }
}

pub fn imsi(mobile: u32) -> Imsi {
    format!("00101{:010}", mobile + 1).parse().unwrap()
}

/// The network as configured unless a test wants it otherwise.
pub fn config(seed: u64) -> WorldConfig {
    let cells: Vec<CellId> = (0..2).map(cell_id).collect();
    let vc = |endpoint: u16| VcConfig {
        nsei: NSEI,
        nsvci: Nsvci(201 + endpoint),
        port: gb_port(endpoint),
        peer: SGSN_GB,
    };
    let bss_cells = (0_u16..).zip(&cells).map(|(index, id)| CellConfig::new(NSEI, bvci(index), *id));
    let sgsn = SgsnConfig {
        mobiles_max: 64,
        cells_max: 4,
        gtp_address: SGSN_GN,
        ggsns: vec![GgsnPeer { number: 0, address: GGSN_GN, version: gannet_proto::gtp::Version::V1 }],
        ..SgsnConfig::default()
    };
    let apn = ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 0, 0, 0), 24);
    let bss = bss::Config::new((0..2).map(vc).collect(), bss_cells.collect());
    let mut ms = MsConfig::new(MOBILES, imsi(0), cells);
    ms.delivery = NPduDelivery::Event;
    WorldConfig {
        seed,
        frames: 2048,
        gb: LinkProfile::default(),
        gn: LinkProfile::default(),
        sgsn,
        ggsn: GgsnConfig::new(GGSN_GN, vec![apn]),
        bss,
        ms,
    }
}

/// Which N-PDU: the mobile, uplink or not, and its number.
pub type Label = (u32, bool, u32);

/// A datagram that a node has sent.
#[derive(Debug, Clone)]
pub struct Sent {
    /// Who.
    pub node: Node,
    /// Through which port.
    pub port: Port,
    /// To whom.
    pub peer: Peer,
    /// What.
    pub octets: Vec<u8>,
}

/// How often each name was raised at each node, and how often between two looks.
pub type Drops = Vec<(Node, Drop, u64)>;

/// The network, its traffic and its books.
pub struct Bench {
    /// The network.
    pub world: GprsWorld,
    /// From one pair of N-PDUs of each mobile to the next; `None` for silence.
    pub interval: Option<Duration>,
    /// Octets of each N-PDU.
    pub length: usize,
    /// Mobiles without traffic.
    pub silent: BTreeSet<u32>,
    /// What mobiles told, beside N-PDUs.
    pub ms_events: Vec<MsEvent>,
    /// What the SGSN told.
    pub sgsn_events: Vec<SgsnEvent>,
    /// N-PDUs that arrived damaged, at the wrong place or twice.
    pub wrong: u64,
    addresses: BTreeMap<u32, Ipv4Addr>,
    offered: BTreeSet<Label>,
    arrived: BTreeSet<Label>,
    number: u32,
    next: Instant,
    sent: Rc<RefCell<Vec<Sent>>>,
}

impl Bench {
    /// All mobiles attached and active, traffic on, no drop so far.
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    /// The same with another configuration.
    pub fn with(change: impl FnOnce(&mut WorldConfig)) -> Self {
        let mut bench = Self::idle(1, change);
        bench.join(0..MOBILES);
        assert_eq!(bench.addresses.len(), MOBILES as usize, "{:?}", bench.ms_events);
        bench.interval = Some(Duration::from_millis(200));
        bench.run(3);
        assert_eq!(bench.drops(), [], "a clean start");
        bench.assert_all_arrived(&[]);
        bench
    }

    /// Cells are up, mobiles are off, no traffic.
    pub fn idle(seed: u64, change: impl FnOnce(&mut WorldConfig)) -> Self {
        let mut config = config(seed);
        change(&mut config);
        let mut world = GprsWorld::new(config).unwrap();
        world.start();
        let mut bench = Self {
            world,
            interval: None,
            length: 300,
            silent: BTreeSet::new(),
            ms_events: Vec::new(),
            sgsn_events: Vec::new(),
            wrong: 0,
            addresses: BTreeMap::new(),
            offered: BTreeSet::new(),
            arrived: BTreeSet::new(),
            number: 0,
            next: Instant::ZERO,
            sent: Rc::default(),
        };
        bench.run(5);
        bench
    }

    /// Mobiles attach and activate their context.
    pub fn join(&mut self, mobiles: impl Iterator<Item = u32>) {
        for mobile in mobiles {
            self.world.order_ms(MsCommand::Attach { mobile });
            self.activate(mobile);
        }
        self.run(5);
    }

    /// A mobile activates its context.
    pub fn activate(&mut self, mobile: u32) {
        let (apn, qos, address) = (None, None, None);
        self.world.order_ms(MsCommand::Activate { mobile, nsapi: NSAPI, apn, qos, address });
    }

    /// Time goes on, with traffic.
    pub fn run(&mut self, seconds: u64) {
        self.run_for(Duration::from_secs(seconds));
    }

    /// The same.
    pub fn run_for(&mut self, duration: Duration) {
        let end = self.world.now + duration;
        self.next = self.next.max(self.world.now);
        while self.world.now < end || !self.world.happenings.is_empty() {
            let until = if self.interval.is_some() { self.next.min(end) } else { end };
            self.world.run_until(until);
            while let Some(happening) = self.world.happenings.pop_front() {
                self.happening(happening);
            }
            self.assert_rules();
            if let Some(interval) = self.interval.filter(|_| self.world.now >= self.next) {
                self.next += interval;
                self.number += 1;
                for mobile in 0..MOBILES {
                    if !self.silent.contains(&mobile) {
                        self.offer(mobile, true);
                        self.offer(mobile, false);
                    }
                }
            }
        }
    }

    /// What a driver has been told is what the SGSN's tables say, at every moment.
    fn assert_rules(&self) {
        let sgsn = &self.world.sgsn;
        assert_eq!(sgsn.contradictions, 0);
        assert_eq!(sgsn.rules.keys().collect::<Vec<_>>(), sgsn.machine.driver_keys());
    }

    fn happening(&mut self, happening: Happening) {
        match happening {
            Happening::Internet(frame) => self.came(&frame, None),
            Happening::Ms(MsEvent::NPdu { mobile, frame, .. }) => self.came(&frame, Some(mobile)),
            Happening::Ms(event) => {
                match &event {
                    MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. } => {
                        self.addresses.insert(*mobile, *address);
                    }
                    MsEvent::Deactivated { mobile, .. } | MsEvent::Detached { mobile, .. } => {
                        self.addresses.remove(mobile);
                    }
                    _ => {}
                }
                self.ms_events.push(event);
            }
            Happening::Sgsn(event) => self.sgsn_events.push(event),
            Happening::Bss(_) | Happening::Ggsn(_) => {}
        }
    }

    // ------------------------------------------------------------------------------------------------- traffic

    /// A mobile's address.
    pub fn address(&self, mobile: u32) -> Ipv4Addr {
        self.addresses[&mobile]
    }

    /// How many mobiles have an address.
    pub fn active(&self) -> usize {
        self.addresses.len()
    }

    /// One N-PDU goes on its way, if its mobile has an address.
    pub fn offer(&mut self, mobile: u32, uplink: bool) {
        let Some(address) = self.addresses.get(&mobile).copied() else { return };
        let label = (mobile, uplink, self.number);
        let octets = octets::n_pdu(label, address, self.length);
        let Some(frame) = self.world.frames.copy_of(&octets) else { return };
        self.offered.insert(label);
        if uplink {
            self.world.order_ms(MsCommand::SendNpdu { mobile, nsapi: NSAPI, frame });
        } else {
            self.world.internet(frame);
        }
    }

    /// `count` N-PDUs for a mobile at once.
    pub fn burst(&mut self, mobile: u32, count: u32) {
        for _ in 0..count {
            self.number += 1;
            self.offer(mobile, false);
        }
    }

    fn came(&mut self, octets: &[u8], at: Option<u32>) {
        let right_place = |label: &Label| at.map_or(label.1, |mobile| !label.1 && label.0 == mobile);
        match octets::label_of(octets).filter(right_place) {
            Some(label) if self.offered.contains(&label) && self.arrived.insert(label) => {}
            Some(_) | None => self.wrong += 1,
        }
    }

    /// N-PDUs of a mobile that have not arrived.
    pub fn missing(&self, mobile: u32) -> usize {
        self.offered.difference(&self.arrived).filter(|label| label.0 == mobile).count()
    }

    /// The same of each mobile, when everything that is under way has arrived.
    pub fn lost(&mut self) -> Vec<usize> {
        let interval = self.interval.take();
        self.run(2);
        self.interval = interval;
        (0..MOBILES).map(|mobile| self.missing(mobile)).collect()
    }

    /// N-PDUs of a mobile that have arrived.
    pub fn arrived(&self, mobile: u32) -> usize {
        self.arrived.iter().filter(|label| label.0 == mobile).count()
    }

    /// Every N-PDU of every other mobile has arrived, whole and once.
    pub fn assert_all_arrived(&mut self, but: &[u32]) {
        let lost = self.lost();
        assert_eq!(self.wrong, 0, "N-PDUs damaged, doubled or astray");
        for (mobile, lost) in (0..MOBILES).zip(lost).filter(|(mobile, _)| !but.contains(mobile)) {
            assert_eq!(lost, 0, "of mobile {mobile}; {:?}", self.drops());
        }
    }

    // --------------------------------------------------------------------------------------------------- books

    /// All drops so far.
    pub fn drops(&self) -> Drops {
        let of = |node: Node| self.world.drops(node).raised().map(move |(drop, count)| (node, drop, count));
        Node::ALL.into_iter().flat_map(of).collect()
    }

    /// The counters as they are now.
    pub fn snapshot(&self) -> Vec<DropCounters> {
        Node::ALL.iter().map(|node| self.world.drops(*node).clone()).collect()
    }

    /// The counters that moved since, and by how much.
    pub fn moved(&self, before: &[DropCounters]) -> Drops {
        let since = |node: Node, before: &DropCounters, drop: Drop| {
            let count = self.world.drops(node).get(drop) - before.get(drop);
            (count > 0).then_some((node, drop, count))
        };
        let of = |(node, before): (Node, &DropCounters)| {
            Drop::ALL.iter().filter_map(|drop| since(node, before, *drop)).collect::<Drops>()
        };
        Node::ALL.into_iter().zip(before).flat_map(of).collect()
    }

    /// Listens to what nodes send from now on.
    pub fn listen(&mut self) {
        let sent = Rc::clone(&self.sent);
        sent.borrow_mut().clear();
        self.world.on_sent = Some(Box::new(move |node, port, peer, octets| {
            sent.borrow_mut().push(Sent { node, port, peer, octets: octets.to_vec() });
        }));
    }

    /// What was heard since the last call.
    pub fn heard(&self) -> Vec<Sent> {
        core::mem::take(&mut self.sent.borrow_mut())
    }

    /// All mobiles detach; then nothing is left anywhere.
    pub fn end(self) {
        self.end_after(120);
    }

    /// The same, when so much time has passed.
    pub fn end_after(mut self, seconds: u64) {
        self.interval = None;
        self.run(12);
        for mobile in 0..MOBILES {
            self.world.order_ms(MsCommand::Detach { mobile, power_off: false });
        }
        self.run(seconds);
        assert_eq!(self.world.sgsn.machine.leftovers(), []);
        assert!(self.world.sgsn.rules.is_empty(), "{:?}", self.world.sgsn.rules);
        assert_eq!(self.world.ggsn.machine.contexts().count(), 0, "contexts at the GGSN");
        assert_eq!(self.world.ms.machine.reassembling(), 0, "N-PDUs in reassembly");
        assert_eq!(self.world.frames.free(), self.world.frames.capacity(), "frames in the pool");
    }

    // ------------------------------------------------------------------------------------------------ injection

    /// The TLLI of a mobile.
    pub fn tlli(&self, mobile: u32) -> Tlli {
        self.world.ms.machine.mobile(mobile).unwrap().llc.tlli().unwrap()
    }

    /// A datagram at the SGSN's NS port from one of the BSS's endpoints.
    pub fn gb(&mut self, octets: &[u8]) {
        let peer = Peer::Udp(bss_address(0));
        assert!(self.world.inject(Node::Sgsn, gannet_node::sgsn::GB, peer, octets));
    }

    /// An LL-PDU arrives at the SGSN as if from a mobile with this TLLI in a cell.
    pub fn ll_pdu(&mut self, cell: u16, tlli: Tlli, ll_pdu: &[u8]) {
        self.gb(&octets::ul_unitdata(cell, tlli, ll_pdu));
    }
}

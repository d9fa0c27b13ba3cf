//! Mobiles on Ethernet and UDP: access points that speak the adaptation protocol, an SGSN and a GGSN, over links in virtual
//! time.

use crate::radio_bearer::{self, RadioCell};
use crate::world::{MOBILES, Node, packet};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_machine::fabric::Path;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{EthernetAddress, Input, Machine as _, Peer};
use gannet_node::bss::access_point::{ApCommand, ApNode, bearer_port};
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, Ggsn, GgsnConfig, PORT_GTP_C, PORT_GTP_U, PORT_TUN};
use gannet_node::ms::{self, Ms, MsCommand, MsConfig, MsEvent};
use gannet_node::sgsn::{self, GgsnPeer, Sgsn, SgsnCommand, SgsnConfig};
use gannet_proto::adaptation::{
    AdaptationBearer, ApConfig, ApLink, Medium, MobileConfig, MobileLink, MobileMedium, PACKETS_MAX, Policy,
    SharedKey,
};
use gannet_proto::auth::key::Key128;
use gannet_proto::bearer::{Bearer, Order};
use gannet_proto::gtp::Version;
use gannet_proto::llc::abm::LinksConfig;
use gannet_wire::adaptation::{ApName, FLAG_SEGMENT, NetworkMode};
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, Nsvci, Plmn, Rai, Sapi};
use gannet_wire::l3::ie::{PdpAddress, QosProfile};

pub const SGSN_GB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 100)), 23000);
const SGSN_GN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 103));
const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 104));
pub const OUTSIDE: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

fn gb_of(ap: usize) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, u8::try_from(ap).unwrap() + 1)), 23000)
}

pub fn ap_at(medium: Medium, ap: usize) -> Peer {
    let number = u8::try_from(ap).unwrap();
    match medium {
        Medium::Ethernet => Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 1, number])),
        Medium::Udp => Peer::Udp(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, number)), 34_997)),
    }
}

pub fn host_at(medium: Medium) -> Peer {
    match medium {
        Medium::Ethernet => Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 0, 9])),
        Medium::Udp => Peer::Udp(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 99)), 40_000)),
    }
}

/// A link between the host of the mobiles and an access point.
pub struct Wire {
    medium: Medium,
    pub up: Path<Vec<u8>>,
    pub down: Path<Vec<u8>>,
}

pub struct World {
    pub now: Instant,
    pub ms: Node<Ms>,
    pub aps: Vec<Node<ApNode>>,
    /// With one access point its links, else the link of each.
    pub wires: Vec<Wire>,
    is_one_ap: bool,
    pub sgsn: Node<Sgsn>,
    pub ggsn: Node<Ggsn>,
    /// A cell of the radio beside the access points.
    pub radio: Option<RadioCell>,
    dice: Rng,
    pub events: Vec<MsEvent>,
    pub from_ms: Vec<(u32, Vec<u8>)>,
    pub from_ggsn: Vec<Vec<u8>>,
    /// Pieces of LL-PDUs that went over the wires.
    pub pieces: u64,
    /// PDUs that mobiles and access points have sent, for those who listen: from a mobile, and its octets.
    pub heard: Option<Vec<(bool, Vec<u8>)>>,
}

#[derive(Clone)]
pub struct Choice {
    media: Vec<Medium>,
    pub mobiles: u32,
    /// The mobiles know no cell.
    learns: bool,
    pub has_keys: bool,
    /// From one report of a mobile to the next.
    pub interval: Duration,
    pub mtu: u16,
    pub profile: LinkProfile,
    /// All links are of one access point, and their cells are in one routing area.
    pub is_one_ap: bool,
    /// From where a packet enters a link until it leaves it, other than in `profile`.
    pub delays: Vec<Duration>,
    /// There is a cell of the radio as well, which comes after all links.
    pub has_radio: bool,
    /// N201-I of SAPI 3 that the operators of both ends have chosen.
    pub n201_i: Option<u16>,
    /// The same of k, in both directions.
    pub k: Option<u8>,
}

impl Choice {
    pub fn new(media: &[Medium], has_keys: bool) -> Self {
        let delay = Duration::from_micros(200);
        let (rate_octets_per_s, mtu) = (Some(12_500_000), Some(1500));
        let profile = LinkProfile { rate_octets_per_s, delay, mtu, ..LinkProfile::default() };
        Self {
            media: media.to_vec(),
            mobiles: MOBILES,
            learns: false,
            has_keys,
            interval: Duration::from_secs(1),
            mtu: 1500,
            profile,
            is_one_ap: false,
            delays: Vec::new(),
            has_radio: false,
            n201_i: None,
            k: None,
        }
    }

    /// What operators choose of links.
    fn links(&self) -> LinksConfig {
        let mut links = LinksConfig::default();
        let link = links.of_mut(Sapi::DATA3).unwrap();
        link.shared.n201_i = self.n201_i;
        link.k = self.k.map(|k| (k, k));
        links
    }

    fn key(mobile: u32) -> SharedKey {
        SharedKey { id: 1000 + mobile, key: Key128([u8::try_from(mobile).unwrap(); 16]) }
    }

    fn keys(&self) -> Vec<SharedKey> {
        (0..self.mobiles).filter(|_| self.has_keys).map(Self::key).collect()
    }

    pub fn cells(&self) -> Vec<CellId> {
        let rai = |rac| Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac };
        let area = |n| rai(if self.is_one_ap { 1 } else { n });
        (1..).map(|n: u8| CellId { rai: area(n), ci: u16::from(n) * 10 }).take(self.media.len()).collect()
    }

    fn cells_of_mobiles(&self) -> Vec<CellId> {
        if self.learns { Vec::new() } else { self.cells() }
    }

    fn mobiles(&self) -> Ms {
        let link = |(ap, medium): (usize, &Medium)| MobileLink {
            medium: match ap_at(*medium, ap) {
                Peer::Udp(address) => MobileMedium::Udp(address),
                _ => MobileMedium::Ethernet,
            },
            mtu: self.mtu,
        };
        let bearer = AdaptationBearer::new(MobileConfig {
            links: self.media.iter().enumerate().map(link).collect(),
            cells: self.cells_of_mobiles(),
            mobiles: self.mobiles,
            keys: self.keys(),
            network_key: None,
            interval: self.interval,
            policy: Policy { preference: vec![0], ..Policy::default() },
            packets_max: PACKETS_MAX,
            pieces_max: 64,
            secret: Key128([1; 16]),
        });
        let first = "001010000000001".parse().unwrap();
        let mut config =
            MsConfig { bearer_selects: true, ..MsConfig::new(self.mobiles, first, self.cells_of_mobiles()) };
        config.user_plane.links = self.links();
        let bearer: Box<dyn Bearer> = Box::new(bearer);
        let links = u16::try_from(self.media.len()).unwrap();
        let cells = u16::try_from(self.cells_of_mobiles().len()).unwrap();
        let several = || radio_bearer::beside(self.mobiles, (links, cells));
        Ms::new(config, if self.has_radio { several()(bearer) } else { bearer })
    }

    fn access_point(&self, ap: usize) -> ApNode {
        let number = u16::try_from(ap).unwrap();
        let nsei = Nsei(100 + number);
        let vc = VcConfig { nsei, nsvci: Nsvci(100 + number), port: gb_port(0), peer: SGSN_GB };
        let links = if self.is_one_ap { 0..self.media.len() } else { ap..ap + 1 };
        let cell = |link: usize| {
            let bvci = Bvci(2 + u16::try_from(link).unwrap());
            CellConfig::with_rate(nsei, bvci, self.cells()[link], 100_000_000)
        };
        let cells: Vec<CellConfig> = links.clone().map(cell).collect();
        let link = |link: usize| ApLink {
            medium: self.media[link],
            mtu: self.mtu,
            cell: self.cells()[link],
            beacon_interval: Duration::from_secs(1),
            mode: NetworkMode::II,
            name: ApName::EMPTY,
        };
        let protocol = ApConfig {
            links: links.map(link).collect(),
            mobiles_max: 256,
            keys: self.keys(),
            network_key: None,
            demands_authentication: self.has_keys,
            boot: 1,
            packets_max: PACKETS_MAX,
            pieces_max: 64,
            secret: Key128([2; 16]),
        };
        ApNode::new(bss::Config::new(vec![vc], cells), protocol).unwrap()
    }
}

impl World {
    pub fn new(choice: &Choice) -> Self {
        let mut sgsn = SgsnConfig {
            gtp_address: SGSN_GN,
            ggsns: vec![GgsnPeer { number: 0, address: GGSN, version: Version::V1 }],
            mobiles_max: 256,
            ..SgsnConfig::default()
        };
        sgsn.user_plane.links = choice.links();
        let apn = ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 0, 0, 0), 24);
        let wire = |(link, medium): (usize, &Medium)| {
            let delay = choice.delays.get(link).copied().unwrap_or(choice.profile.delay);
            let profile = LinkProfile { delay, ..choice.profile };
            Wire { medium: *medium, up: Path::new(profile), down: Path::new(profile) }
        };
        let aps = if choice.is_one_ap { 1 } else { choice.media.len() };
        let mut world = Self {
            now: Instant::ZERO,
            ms: Node::new(1, choice.mobiles()),
            aps: (0..aps).map(|ap| Node::new(10 + ap as u64, choice.access_point(ap))).collect(),
            wires: choice.media.iter().enumerate().map(wire).collect(),
            is_one_ap: choice.is_one_ap,
            sgsn: Node::new(3, Sgsn::new(sgsn, 3)),
            ggsn: Node::new(4, Ggsn::new(GgsnConfig::new(GGSN, vec![apn])).unwrap()),
            radio: choice.has_radio.then(RadioCell::new),
            dice: Rng::seeded(5),
            events: Vec::new(),
            from_ms: Vec::new(),
            from_ggsn: Vec::new(),
            pieces: 0,
            heard: None,
        };
        world.sgsn.inputs.push(Input::Command(SgsnCommand::Start));
        for ap in &mut world.aps {
            ap.inputs.push(Input::Command(ApCommand::Bss(bss::Command::Start)));
        }
        world.pass(10_000);
        world
    }

    fn step_mobiles(&mut self) -> bool {
        let mut moved = false;
        for (port, peer, octets) in self.ms.step(self.now, |event| self.events.push(event)) {
            moved = true;
            match (port, peer) {
                (ms::TUN, Peer::Slot(mobile)) => self.from_ms.push((mobile, octets)),
                (port, _) => {
                    let is_it = |link: &usize| ms::bearer_port(u16::try_from(*link).unwrap()) == port;
                    let Some(link) = (0..self.wires.len()).find(is_it) else {
                        self.radio.as_mut().unwrap().hear(peer, &octets);
                        continue;
                    };
                    self.pieces += u64::from(octets[1] & FLAG_SEGMENT != 0);
                    self.heard.iter_mut().for_each(|heard| heard.push((true, octets.clone())));
                    self.wires[link].up.carry(self.now, &mut self.dice, octets);
                }
            }
        }
        moved
    }

    fn step_access_points(&mut self) -> bool {
        let mut moved = false;
        for (place, wire) in self.wires.iter_mut().enumerate() {
            let (ap, link) = if self.is_one_ap { (0, place) } else { (place, 0) };
            while let Some(octets) = wire.up.arrived(self.now) {
                let link = bearer_port(u16::try_from(link).unwrap());
                self.aps[ap].datagram(link, host_at(wire.medium), &octets);
            }
        }
        for (ap, node) in self.aps.iter_mut().enumerate() {
            for (port, _, octets) in node.step(self.now, |_| ()) {
                moved = true;
                let mut links = 0..if self.is_one_ap { self.wires.len() } else { 1 };
                let link = links.find(|link| bearer_port(u16::try_from(*link).unwrap()) == port);
                let Some(link) = link else {
                    self.sgsn.datagram(sgsn::GB, Peer::Udp(gb_of(ap)), &octets);
                    continue;
                };
                self.pieces += u64::from(octets[1] & FLAG_SEGMENT != 0);
                self.heard.iter_mut().for_each(|heard| heard.push((false, octets.clone())));
                let wire = &mut self.wires[if self.is_one_ap { link } else { ap }];
                wire.down.carry(self.now, &mut self.dice, octets);
            }
        }
        for (place, wire) in self.wires.iter_mut().enumerate() {
            while let Some(octets) = wire.down.arrived(self.now) {
                moved = true;
                let link = ms::bearer_port(u16::try_from(place).unwrap());
                self.ms.datagram(link, ap_at(wire.medium, place), &octets);
            }
        }
        moved
    }

    fn step_core(&mut self) -> bool {
        let mut moved = false;
        let gn = |address, port| Peer::Udp(SocketAddr::new(address, port));
        for (port, peer, octets) in self.sgsn.step(self.now, |_| ()) {
            moved = true;
            match port {
                sgsn::GB if peer == radio_bearer::GB => {
                    let radio = self.radio.as_mut().unwrap();
                    radio.bss.datagram(gb_port(0), Peer::Udp(SGSN_GB), &octets);
                }
                sgsn::GB => {
                    let ap = (0..self.aps.len()).find(|ap| Peer::Udp(gb_of(*ap)) == peer).unwrap();
                    self.aps[ap].datagram(gb_port(0), Peer::Udp(SGSN_GB), &octets);
                }
                sgsn::GTP_C => self.ggsn.datagram(PORT_GTP_C, gn(SGSN_GN, 2123), &octets),
                _ => self.ggsn.datagram(PORT_GTP_U, gn(SGSN_GN, 2152), &octets),
            }
        }
        for (port, _, octets) in self.ggsn.step(self.now, |_| ()) {
            moved = true;
            match port {
                PORT_GTP_C => self.sgsn.datagram(sgsn::GTP_C, gn(GGSN, 2123), &octets),
                PORT_GTP_U => self.sgsn.datagram(sgsn::GTP_U, gn(GGSN, 2152), &octets),
                _ => self.from_ggsn.push(octets),
            }
        }
        moved
    }

    fn settle(&mut self) {
        let mut step =
            || [self.step_mobiles(), self.step_access_points(), self.step_radio(), self.step_core()];
        while step().contains(&true) {}
    }

    pub fn pass(&mut self, milliseconds: u64) {
        let end = self.now + Duration::from_millis(milliseconds);
        self.settle();
        loop {
            let nodes = [&self.ms.around.timers, &self.sgsn.around.timers, &self.ggsn.around.timers];
            let radio = self.radio.iter().map(|radio| &radio.bss.around.timers);
            let aps = self.aps.iter().map(|ap| &ap.around.timers);
            let timers = nodes.into_iter().chain(aps).chain(radio);
            let wires = self.wires.iter().flat_map(|wire| [wire.up.next(), wire.down.next()]);
            let next = timers.map(|timers| timers.next()).chain(wires).flatten().min();
            let Some(next) = next.filter(|at| *at <= end) else { break };
            self.now = next.max(self.now);
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    pub fn activate_all(&mut self) -> Vec<Ipv4Addr> {
        self.activate_with(None)
    }

    pub fn activate_with(&mut self, qos: Option<QosProfile>) -> Vec<Ipv4Addr> {
        for mobile in 0..MOBILES {
            let nsapi = Nsapi(5);
            let order = MsCommand::Activate { mobile, nsapi, apn: None, qos, address: None };
            self.ms.inputs.push(Input::Command(order));
        }
        self.pass(5000);
        let mut addresses = vec![Ipv4Addr::UNSPECIFIED; MOBILES as usize];
        for event in self.events.drain(..) {
            if let MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. } = event {
                addresses[mobile as usize] = address;
            }
        }
        addresses
    }

    pub fn down(&mut self, address: Ipv4Addr, octets: usize) -> Vec<u8> {
        let down = packet(OUTSIDE, address, octets);
        self.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
        down
    }

    /// A packet each way; true where both came, once.
    pub fn exchange(&mut self, mobile: u32, address: Ipv4Addr, octets: usize) -> bool {
        let up = packet(address, OUTSIDE, octets);
        self.ms.datagram(ms::TUN, Peer::Slot(mobile), &up);
        self.pass(500);
        let arrived = core::mem::take(&mut self.from_ggsn) == [up];
        let down = self.down(address, octets);
        self.pass(500);
        core::mem::take(&mut self.from_ms) == [(mobile, down)] && arrived
    }

    pub fn cell_of(&self, mobile: u32) -> Option<CellId> {
        self.ms.machine.view(mobile).unwrap().cell.map(|(_, id)| id)
    }

    pub fn drops(&self, drop: Drop) -> u64 {
        let aps: u64 = self.aps.iter().map(|ap| ap.drops().get(drop)).sum();
        self.ms.drops().get(drop) + aps
    }

    /// Those of LLC's peers: of mobiles and SGSN.
    pub fn drops_of_links(&self, drop: Drop) -> u64 {
        self.ms.drops().get(drop) + self.sgsn.drops().get(drop)
    }

    /// A wire carries nothing, or carries again.
    pub fn cut(&mut self, link: usize, is_cut: bool) {
        let wire = &mut self.wires[link];
        (wire.up.is_cut, wire.down.is_cut) = (is_cut, is_cut);
    }

    fn assert_no_drops(&self) {
        let aps = self.aps.iter().map(|ap| ap.drops());
        for drops in [self.ms.drops(), self.sgsn.drops(), self.ggsn.drops()].into_iter().chain(aps) {
            assert_eq!(drops.total(), 0, "{drops:?}");
        }
    }
}

fn each() -> impl Iterator<Item = (Medium, bool)> {
    [Medium::Ethernet, Medium::Udp].into_iter().flat_map(|medium| [(medium, false), (medium, true)])
}

#[test]
fn mobiles_attach_over_ethernet_and_udp_and_their_packets_pass() {
    for (medium, has_keys) in each() {
        let mut world = World::new(&Choice::new(&[medium], has_keys));
        let addresses = world.activate_all();
        for (mobile, address) in (0..MOBILES).zip(&addresses) {
            for octets in [84, 1500] {
                assert!(
                    world.exchange(mobile, *address, octets),
                    "mobile {mobile} of {medium:?}, {has_keys}"
                );
            }
        }
        assert_eq!(world.pieces, 0, "N201 is that of the bearer: nothing is cut twice");
        // Paged when it sleeps.
        world.pass(60_000);
        assert_eq!(world.ms.machine.view(3).unwrap().mm, "standby");
        let down = world.down(addresses[3], 100);
        world.pass(2000);
        assert_eq!(
            (core::mem::take(&mut world.from_ms), world.ms.machine.stats().pagings),
            (vec![(3, down)], 1)
        );
        world.assert_no_drops();
    }
}

/// A bearer that is too short for what the network sends before it knows.
#[test]
fn a_short_bearer_carries_long_packets() {
    for (medium, has_keys) in each() {
        let mut choice = Choice::new(&[medium], has_keys);
        choice.mtu = 400;
        choice.profile.mtu = Some(400);
        let mut world = World::new(&choice);
        let addresses = world.activate_all();
        assert!(world.exchange(0, addresses[0], 1500) && world.exchange(9, addresses[9], 1500));
        world.assert_no_drops();
    }
}

/// From a preferred Ethernet to UDP when that is cut, and back: context and address stay.
#[test]
fn a_change_of_bearer_keeps_the_context() {
    for has_keys in [false, true] {
        let mut world = World::new(&Choice::new(&[Medium::Ethernet, Medium::Udp], has_keys));
        let addresses = world.activate_all();
        let cells = Choice::new(&[Medium::Ethernet, Medium::Udp], has_keys).cells();
        assert!(world.exchange(0, addresses[0], 700));
        assert_eq!(world.cell_of(0), Some(cells[0]));
        world.cut(0, true);
        world.pass(10_000);
        assert_eq!(world.cell_of(0), Some(cells[1]));
        for (mobile, address) in (0..MOBILES).zip(&addresses) {
            assert!(world.exchange(mobile, *address, 700), "mobile {mobile}");
        }
        // Back without a break: of what is sent all the time nothing is lost or doubled.
        world.cut(0, false);
        let mut sent = Vec::new();
        for _ in 0..200 {
            sent.push(packet(addresses[4], OUTSIDE, 100 + sent.len()));
            world.ms.datagram(ms::TUN, Peer::Slot(4), sent.last().unwrap());
            world.pass(100);
        }
        assert_eq!(world.cell_of(4), Some(cells[0]));
        let updating = world.ms.drops().get(Drop::MsUpdating);
        assert_eq!(world.from_ggsn.len() as u64 + updating, 200);
        let came = core::mem::take(&mut world.from_ggsn);
        assert!(came.iter().all(|of| sent.contains(of)) && updating < 3, "{updating}");
        let mut once = came.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), came.len());
        for (mobile, address) in (0..MOBILES).zip(&addresses) {
            assert!(world.exchange(mobile, *address, 700), "mobile {mobile}");
        }
        assert!(!world.events.iter().any(|event| matches!(event, MsEvent::Deactivated { .. })));
        assert_eq!(world.drops(Drop::AdaptMalformed), 0);
    }
}

/// A cable is pulled: the mobiles are elsewhere in a moment, and a packet that comes then finds them.
#[test]
fn a_pulled_cable_moves_the_mobiles_in_a_moment() {
    for has_keys in [false, true] {
        let mut world = World::new(&Choice::new(&[Medium::Ethernet, Medium::Udp], has_keys));
        let addresses = world.activate_all();
        assert!(world.exchange(0, addresses[0], 700));
        let order = Order::SetLink { link: 0, is_up: false };
        world.ms.inputs.push(Input::Command(MsCommand::Bearer(order)));
        world.pass(200);
        assert!(world.exchange(0, addresses[0], 700));
        assert_eq!(world.drops(Drop::MsBadOrder), 0);
    }
}

/// No cell is configured: beacons name them.
#[test]
fn mobiles_learn_the_cells_of_their_access_points() {
    for has_keys in [false, true] {
        let mut choice = Choice::new(&[Medium::Ethernet, Medium::Udp], has_keys);
        choice.learns = true;
        let mut world = World::new(&choice);
        let addresses = world.activate_all();
        assert!(world.exchange(0, addresses[0], 700));
        assert_eq!(world.cell_of(0), Some(choice.cells()[0]));
        let order = Order::SetLink { link: 0, is_up: false };
        world.ms.inputs.push(Input::Command(MsCommand::Bearer(order)));
        world.pass(3000);
        for (mobile, address) in (0..MOBILES).zip(&addresses) {
            assert!(world.exchange(mobile, *address, 700), "mobile {mobile}");
        }
        assert_eq!(world.cell_of(0), Some(choice.cells()[1]));
        // One that sleeps is paged by a P-TMSI of the learned cell's routing area.
        world.pass(60_000);
        let down = world.down(addresses[3], 100);
        world.pass(2000);
        assert_eq!(core::mem::take(&mut world.from_ms), [(3, down)]);
    }
}

/// What a bearer doubles and reorders comes once.
#[test]
fn what_comes_twice_is_taken_once() {
    let mut choice = Choice::new(&[Medium::Udp], true);
    choice.profile = LinkProfile { duplication: 0.3, reordering: 0.1, ..choice.profile };
    choice.profile.reorder_delay = Duration::from_millis(2);
    let mut world = World::new(&choice);
    let addresses = world.activate_all();
    for (mobile, address) in (0..MOBILES).zip(&addresses).cycle().take(40) {
        assert!(world.exchange(mobile, *address, 1400));
    }
    assert!(world.drops(Drop::AdaptReplayed) > 0);
    assert_eq!(world.drops(Drop::AdaptBadMac), 0);
}

/// While the driver takes nothing the access point's queue fills, and what is too much is told to the SGSN.
#[test]
fn what_the_driver_does_not_take_waits_in_the_cell() {
    let mut world = World::new(&Choice::new(&[Medium::Ethernet], false));
    let addresses = world.activate_all();
    assert!(world.exchange(0, addresses[0], 700));
    world.aps[0].machine.hold_back(true);
    let sent: Vec<Vec<u8>> = (0..20).map(|n| world.down(addresses[0], 400 + n)).collect();
    world.pass(100);
    let queued = world.aps[0].machine.bss().cell(0).unwrap().queued;
    assert!(world.from_ms.is_empty() && queued.frames >= 20, "{queued:?}");
    world.aps[0].machine.hold_back(false);
    assert!(world.aps[0].machine.has_work());
    world.pass(100);
    let came: Vec<Vec<u8>> =
        core::mem::take(&mut world.from_ms).into_iter().map(|(_, octets)| octets).collect();
    assert_eq!(came, sent);
    assert_eq!(world.aps[0].machine.bss().cell(0).unwrap().queued.frames, 0);
    world.assert_no_drops();
}

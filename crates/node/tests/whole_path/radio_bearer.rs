//! A cell of the radio beside access points: RLC/MAC in the mobiles' bearer and in the BSS, with nothing between them but
//! datagrams.

use crate::adaptation::{Choice, OUTSIDE, SGSN_GB, World};
use crate::bearer_change::{Act, Transfer};
use crate::world::{MOBILES, Node, packet};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{Input, Peer};
use gannet_node::bss::radio::{RlcMacConfig, VirtualUmConfig};
use gannet_node::bss::{self, Bss, CellConfig, VcConfig, gb_port};
use gannet_node::ms::{self, MsCommand, MsEvent};
use gannet_node::sgsn;
use gannet_proto::adaptation::Medium;
use gannet_proto::bearer::{Bearer, Order};
use gannet_proto::rlcmac::bearer::{RadioBearer, RadioConfig};
use gannet_proto::rlcmac::channel::Link;
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_proto::rlcmac::mobile::MobileConfig;
use gannet_proto::several::{Part, Several};
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, Nsvci, Plmn, Rai};
use gannet_wire::l3::ie::ReliabilityClass;
use gannet_wire::rlcmac::coding::CodingScheme;

const AT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 90)), 23000);
pub const GB: Peer = Peer::Udp(AT);
/// Where both sides of the air send.
const DOWN: Peer = Peer::Udp(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(239, 193, 23, 1)), 4729));
const UP: Peer = Peer::Udp(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(239, 193, 23, 2)), 4729));

pub fn cell() -> CellId {
    CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac: 9 }, ci: 90 }
}

/// A BSS with a cell of four PDCHs in CS-4.
pub struct RadioCell {
    pub bss: Node<Bss>,
    /// Nothing passes.
    pub is_cut: bool,
    /// Nothing passes uplink.
    pub is_deaf: bool,
    mobiles_sent: Vec<Vec<u8>>,
}

impl RadioCell {
    pub fn new() -> Self {
        let vc = VcConfig { nsei: Nsei(190), nsvci: Nsvci(190), port: gb_port(0), peer: SGSN_GB };
        let of = CellConfig::with_rate(Nsei(190), Bvci(9), cell(), 60_000);
        let rlcmac = RlcMacConfig::new(NetworkConfig::new(0b1111_0000, CodingScheme::Cs4));
        let um = VirtualUmConfig { rlcmac, arfcn: 871, downlink: DOWN };
        let config = bss::Config { virtual_um: Some(um), ..bss::Config::new(vec![vc], vec![of]) };
        let mut bss = Node::new(20, Bss::new(config).unwrap());
        bss.inputs.push(Input::Command(bss::Command::Start));
        Self { bss, is_cut: false, is_deaf: false, mobiles_sent: Vec::new() }
    }

    pub fn hear(&mut self, peer: Peer, octets: &[u8]) {
        assert_eq!(peer, UP);
        self.mobiles_sent.push(octets.to_vec());
    }
}

/// The radio behind another bearer with so many links and cells.
pub fn beside(mobiles: u32, (links, cells): (u16, u16)) -> impl FnOnce(Box<dyn Bearer>) -> Box<dyn Bearer> {
    let (mobile, link) = (MobileConfig::default(), Link::perfect());
    let radio = RadioConfig { mobiles, mobile, link, uplink: UP, empty_on: None };
    let radio: Box<dyn Bearer> = Box::new(RadioBearer::new(&radio));
    move |first| {
        let parts = vec![Part { bearer: first, links, cells }, Part { bearer: radio, links: 1, cells: 0 }];
        Box::new(Several::new(parts, mobiles, Duration::from_secs(2)))
    }
}

impl World {
    pub fn step_radio(&mut self) -> bool {
        let (now, link) = (self.now, u16::try_from(self.wires.len()).unwrap());
        let Some(radio) = &mut self.radio else { return false };
        for octets in radio.mobiles_sent.drain(..).filter(|_| !radio.is_cut && !radio.is_deaf) {
            radio.bss.datagram(bss::AIR, UP, &octets);
        }
        let sent = radio.bss.step(now, |_| ());
        let moved = !sent.is_empty();
        for (port, peer, octets) in sent {
            if port != bss::AIR {
                self.sgsn.datagram(sgsn::GB, GB, &octets);
            } else if !radio.is_cut {
                assert_eq!(peer, DOWN);
                self.ms.datagram(ms::bearer_port(link), UP, &octets);
            }
        }
        moved
    }

    fn prefer(&mut self, link: u16) {
        self.ms.inputs.push(Input::Command(MsCommand::Bearer(Order::PreferLink(link))));
    }

    fn all_are_in(&self, cell: CellId) -> bool {
        (0..MOBILES).all(|mobile| self.cell_of(mobile) == Some(cell))
    }
}

fn choice() -> Choice {
    let mut choice = Choice::new(&[Medium::Ethernet], false);
    choice.has_radio = true;
    choice
}

/// Where no access point is there mobiles attach by radio, and are paged there.
#[test]
fn mobiles_attach_over_the_radio_and_their_packets_pass() {
    let mut world = World::new(&choice());
    world.cut(0, true);
    world.pass(5000);
    assert!(world.all_are_in(cell()));
    let addresses = world.activate_all();
    world.pass(20_000);
    for (mobile, address) in (0..MOBILES).zip(&addresses) {
        for octets in [84, 1500] {
            let up = packet(*address, OUTSIDE, octets);
            world.ms.datagram(ms::TUN, Peer::Slot(mobile), &up);
            let down = world.down(*address, octets);
            world.pass(3000);
            assert_eq!(core::mem::take(&mut world.from_ggsn), [up], "mobile {mobile}");
            assert_eq!(core::mem::take(&mut world.from_ms), [(mobile, down)], "mobile {mobile}");
        }
    }
    world.pass(60_000);
    assert_eq!(world.ms.machine.view(3).unwrap().mm, "standby");
    let pagings = world.ms.machine.stats().pagings;
    let down = world.down(addresses[3], 100);
    world.pass(5000);
    assert_eq!(core::mem::take(&mut world.from_ms), [(3, down)]);
    assert_eq!(world.ms.machine.stats().pagings, pagings + 1);
    let radio = world.radio.as_ref().unwrap();
    for drops in [world.ms.drops(), radio.bss.drops(), world.sgsn.drops()] {
        assert_eq!(drops.total(), 0, "{drops:?}");
    }
}

/// The access point's link is the better one: mobiles go there when it has been there for a while, and back when it is gone.
#[test]
fn mobiles_go_to_the_better_bearer_and_back_when_it_is_gone() {
    let mut world = World::new(&choice());
    world.pass(5000);
    let ethernet = choice().cells()[0];
    assert!(world.all_are_in(ethernet));
    let address = world.activate_all()[0];
    world.cut(0, true);
    world.pass(20_000);
    assert!(world.all_are_in(cell()));
    world.cut(0, false);
    world.pass(1000);
    assert!(world.all_are_in(cell()), "not at once");
    world.pass(10_000);
    assert!(world.all_are_in(ethernet));
    assert!(world.exchange(0, address, 700));
    // An order holds at once, and as long as that link is there.
    world.prefer(1);
    world.pass(5000);
    assert!(world.all_are_in(cell()));
    world.radio.as_mut().unwrap().is_cut = true;
    world.pass(5000);
    assert!(world.all_are_in(ethernet));
    assert!(world.exchange(0, address, 700));
}

/// A transfer that goes from Ethernet to the radio and back in its middle: in acknowledged mode everything comes once and in its
/// order.
#[test]
fn a_change_to_the_radio_and_back_loses_and_doubles_nothing_in_acknowledged_mode() {
    let mut transfer = Transfer::over(&choice(), ReliabilityClass::TWO, 300);
    transfer.run(
        8,
        &[(100, Act::Prefer(1)), (140, Act::Prefer(0)), (200, Act::Prefer(1)), (230, Act::Prefer(0))],
    );
    transfer.came_once_and_in_order("Ethernet and radio");
    assert_eq!(transfer.world.cell_of(crate::bearer_change::MOBILE), Some(choice().cells()[0]));
    assert_eq!(transfer.world.ms.machine.stats().links_ended, 0);
}

/// An upload that gives what the mobile takes, and a ping every two seconds that goes before it: how long each ping took, and the octets
/// that came in all.
fn pings_beside_an_upload(world: &mut World, address: Ipv4Addr, seconds: u64) -> (Vec<Duration>, usize) {
    let (mut is_held, mut due, mut took, mut octets) = (false, None, Vec::new(), 0);
    for ms in 0..seconds * 1000 {
        for event in world.events.drain(..) {
            if let MsEvent::HeldBack { mobile: 0, on } = event {
                is_held = on;
            }
        }
        if ms % 2000 == 1999 {
            assert!(due.replace((world.now, false)).is_none(), "a ping has not come in two seconds");
        }
        let ping = due.as_mut().filter(|(_, is_sent)| !is_sent);
        if !is_held && let Some((_, is_sent)) = ping {
            *is_sent = true;
            world.ms.datagram(ms::TUN, Peer::Slot(0), &packet(address, OUTSIDE, 84));
        } else if !is_held {
            world.ms.datagram(ms::TUN, Peer::Slot(0), &packet(address, OUTSIDE, 1400));
        }
        world.pass(1);
        for came in core::mem::take(&mut world.from_ggsn) {
            octets += came.len();
            if came.len() == 84 {
                took.extend(due.take().map(|(since, _)| world.now.since(since)));
            }
        }
    }
    (took, octets)
}

/// A mobile takes no more than the radio carries in some time: a packet of another flow and signalling do not wait for seconds of an
/// upload, nothing is lost, and the radio is always in use.
#[test]
fn an_upload_over_the_radio_leaves_pings_and_signalling_their_way() {
    let mut world = World::new(&choice());
    world.cut(0, true);
    world.pass(5000);
    let address = world.activate_all()[0];
    world.pass(20_000);
    world.from_ggsn.clear();
    let (took, octets) = pings_beside_an_upload(&mut world, address, 30);
    assert_eq!(took.len(), 14, "{took:?}");
    // Half a second of 2,600 octets, and what is left of one packet or behind it is one more.
    assert!(took.iter().all(|took| *took < Duration::from_millis(1500)), "{took:?}");
    assert!(octets > 30 * 2600 * 85 / 100, "{octets}");
    let nsapi = Nsapi(5);
    world.ms.inputs.push(Input::Command(MsCommand::Deactivate { mobile: 0, nsapi }));
    world.pass(1000);
    let is_it = |event: &MsEvent| matches!(event, MsEvent::Deactivated { mobile: 0, .. });
    assert!(world.events.iter().any(is_it), "signalling does not wait for what was given before");
    let radio = world.radio.as_ref().unwrap();
    for drops in [world.ms.drops(), radio.bss.drops()] {
        assert_eq!(drops.total(), 0, "{drops:?}");
    }
}

/// What has no room in the queue of a mobile, and what a mobile that reaches nobody gives up.
#[test]
fn what_the_radio_does_not_take_has_a_name() {
    let mut world = World::new(&choice());
    world.prefer(1);
    world.pass(5000);
    let address = world.activate_all()[0];
    world.pass(20_000);
    for _ in 0..30 {
        world.ms.datagram(ms::TUN, Peer::Slot(0), &packet(address, OUTSIDE, 1400));
    }
    world.pass(1);
    assert!(world.ms.drops().get(Drop::MsRadioFull) > 0);
    let before = world.ms.drops().get(Drop::MsRadioContact);
    world.pass(20_000);
    assert_eq!((before, world.ms.drops().get(Drop::MsRadioContact)), (0, 0));
    // The cell hears nobody, and is heard.
    world.radio.as_mut().unwrap().is_deaf = true;
    world.ms.datagram(ms::TUN, Peer::Slot(0), &packet(address, OUTSIDE, 1400));
    world.pass(60_000);
    assert!(world.ms.drops().get(Drop::MsRadioContact) > 0);
}

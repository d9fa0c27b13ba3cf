//! Mobiles, BSS, SGSN and GGSN in virtual time: the main job, with nothing between them but octets.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use gannet_machine::drops::DropCounters;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Input, Machine, Output, Peer, Port, Surroundings};
use gannet_node::bss::{self, Bss, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{
    ApnConfig, Ggsn, GgsnCommand, GgsnConfig, Ipv6Config, PORT_GTP_C, PORT_GTP_U, PORT_TUN,
};
use gannet_node::ms::{self, Ms, MsCommand, MsConfig, MsEvent};
use gannet_node::sgsn::{self, GgsnPeer, Sgsn, SgsnCommand, SgsnConfig};
use gannet_proto::gmm::ms::NonGprs;
use gannet_proto::sm::ms::{Change, WantedSecondary};
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, Nsvci, Plmn, Rai, Sapi};
use gannet_wire::l3::ie::{
    Component, DelayClass, FilterDirection, GmmCause, PacketFilter, PdpAddress, QosProfile, TftOperation,
    TftRepr, TrafficFlowTemplate,
};
use gannet_wire::ndp::RouterAdvertisement;
use std::collections::VecDeque;

const BSS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 23000);
const SGSN_GB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 23000);
const SGSN_GN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 4));
const FRAMES: usize = 256;
const MOBILES: u32 = 10;

struct Node<M: Machine> {
    machine: M,
    around: Surroundings<Quiet>,
    inputs: Batch<Input<M::Command>>,
}

impl<M: Machine> Node<M> {
    fn new(seed: u64, machine: M) -> Self {
        Self { machine, around: Surroundings::new(seed, FRAMES, Quiet::default()), inputs: Batch::default() }
    }

    fn datagram(&mut self, port: Port, peer: Peer, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.inputs.push(Input::Datagram { port, peer, frame });
    }

    /// Takes what is there, and gives what is to be sent; events go to `events`.
    fn step(&mut self, now: Instant, mut event: impl FnMut(M::Event)) -> Vec<(Port, Peer, Vec<u8>)> {
        self.around.now = now;
        while let Some(key) = self.around.timers.pop_due(now) {
            self.inputs.push(Input::Timeout(key));
        }
        self.machine.handle_input(&mut self.around.context(), &mut self.inputs);
        let (mut outputs, mut sent) = (Batch::default(), Vec::new());
        self.machine.poll_output(&mut self.around.context(), &mut outputs);
        while let Some(output) = outputs.pop() {
            match output {
                Output::Transmit { port, peer, frame } => sent.push((port, peer, frame.to_vec())),
                Output::Event(told) => event(told),
                Output::Classify(_) | Output::Disconnect(_) => {}
            }
        }
        sent
    }

    fn drops(&self) -> &DropCounters {
        &self.around.trace.drops
    }
}

struct World {
    now: Instant,
    ms: Node<Ms>,
    bss: Node<Bss>,
    sgsn: Node<Sgsn>,
    ggsn: Node<Ggsn>,
    events: VecDeque<MsEvent>,
    /// N-PDUs that left the mobiles' side and the GGSN's side.
    from_ms: Vec<(u32, Vec<u8>)>,
    from_ggsn: Vec<Vec<u8>>,
}

impl World {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(choose: impl FnOnce(&mut MsConfig)) -> Self {
        let rai = |rac| Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac };
        let cells: Vec<CellId> =
            [(1, 10), (1, 11), (2, 20)].map(|(r, ci)| CellId { rai: rai(r), ci }).to_vec();
        let vc = VcConfig { nsei: Nsei(100), nsvci: Nsvci(101), port: gb_port(0), peer: SGSN_GB };
        let bss_cells =
            cells.iter().zip(2..).map(|(id, bvci)| CellConfig::new(Nsei(100), Bvci(bvci), *id)).collect();
        let apn = ApnConfig {
            name: "internet".parse().unwrap(),
            prefix: Ipv4Addr::new(10, 0, 0, 0),
            prefix_length: 24,
            static_addresses: false,
            sequence_numbers: true,
            dns: [Some(Ipv4Addr::new(8, 8, 8, 8)), None],
        };
        let sgsn = SgsnConfig {
            gtp_address: SGSN_GN,
            ggsns: vec![GgsnPeer { number: 0, address: GGSN, version: gannet_proto::gtp::Version::V1 }],
            mobiles_max: 64,
            ..SgsnConfig::default()
        };
        let ipv6 = vec![Ipv6Config { apn: 0, prefix: "2001:db8::".parse().unwrap(), prefix_length: 56 }];
        let ggsn = GgsnConfig { ipv6, ..GgsnConfig::new(GGSN, vec![apn]) };
        let mut mobiles = MsConfig::new(MOBILES, "001010000000001".parse().unwrap(), cells);
        choose(&mut mobiles);
        let mut world = Self {
            now: Instant::ZERO,
            ms: Node::new(1, Ms::new(mobiles)),
            bss: Node::new(2, Bss::new(bss::Config::new(vec![vc], bss_cells)).unwrap()),
            sgsn: Node::new(3, Sgsn::new(sgsn, 3)),
            ggsn: Node::new(4, Ggsn::new(ggsn).unwrap()),
            events: VecDeque::new(),
            from_ms: Vec::new(),
            from_ggsn: Vec::new(),
        };
        world.sgsn.inputs.push(Input::Command(SgsnCommand::Start));
        world.bss.inputs.push(Input::Command(bss::Command::Start));
        world.pass(10);
        world
    }

    /// Everything that can happen now.
    fn settle(&mut self) {
        loop {
            let mut moved = false;
            for (port, peer, octets) in self.ms.step(self.now, |event| self.events.push_back(event)) {
                match (port, peer) {
                    (ms::UM, peer) => self.bss.datagram(bss::UM, peer, &octets),
                    (_, Peer::Slot(mobile)) => self.from_ms.push((mobile, octets)),
                    other => panic!("{other:?}"),
                }
                moved = true;
            }
            for (port, peer, octets) in self.bss.step(self.now, |_| ()) {
                match port {
                    bss::UM => self.ms.datagram(ms::UM, peer, &octets),
                    _ => self.sgsn.datagram(sgsn::GB, Peer::Udp(BSS), &octets),
                }
                moved = true;
            }
            for (port, _, octets) in self.sgsn.step(self.now, |_| ()) {
                match port {
                    sgsn::GB => self.bss.datagram(gb_port(0), Peer::Udp(SGSN_GB), &octets),
                    sgsn::GTP_C => self.ggsn.datagram(PORT_GTP_C, gn(SGSN_GN, 2123), &octets),
                    _ => self.ggsn.datagram(PORT_GTP_U, gn(SGSN_GN, 2152), &octets),
                }
                moved = true;
            }
            for (port, _, octets) in self.ggsn.step(self.now, |_| ()) {
                match port {
                    PORT_GTP_C => self.sgsn.datagram(sgsn::GTP_C, gn(GGSN, 2123), &octets),
                    PORT_GTP_U => self.sgsn.datagram(sgsn::GTP_U, gn(GGSN, 2152), &octets),
                    _ => self.from_ggsn.push(octets),
                }
                moved = true;
            }
            if !moved {
                break;
            }
        }
    }

    fn pass(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        self.settle();
        loop {
            let timers = [
                self.ms.around.timers.next(),
                self.bss.around.timers.next(),
                self.sgsn.around.timers.next(),
                self.ggsn.around.timers.next(),
            ];
            let Some(next) = timers.into_iter().flatten().min().filter(|at| *at <= end) else { break };
            self.now = next.max(self.now);
            self.settle();
        }
        self.now = end;
        self.settle();
    }

    fn order(&mut self, command: MsCommand) {
        self.ms.inputs.push(Input::Command(command));
        self.settle();
    }

    fn activate_all(&mut self) -> Vec<Ipv4Addr> {
        for mobile in 0..MOBILES {
            let nsapi = Nsapi(5);
            self.order(MsCommand::Activate { mobile, nsapi, apn: None, qos: None, address: None });
        }
        self.pass(5);
        let mut addresses = vec![Ipv4Addr::UNSPECIFIED; MOBILES as usize];
        for event in self.events.drain(..) {
            if let MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. } = event {
                addresses[mobile as usize] = address;
            }
        }
        addresses
    }

    /// Sends a packet each way for a mobile; true where both came through.
    fn exchange(&mut self, mobile: u32, address: Ipv4Addr, octets: usize) -> bool {
        let host = Ipv4Addr::new(198, 51, 100, 1);
        let up = packet(address, host, octets);
        self.ms.datagram(ms::TUN, Peer::Slot(mobile), &up);
        self.pass(2);
        let arrived = core::mem::take(&mut self.from_ggsn) == [up];
        let down = packet(host, address, octets);
        self.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
        self.pass(2);
        core::mem::take(&mut self.from_ms) == [(mobile, down)] && arrived
    }

    fn assert_no_drops(&self) {
        for drops in [self.ms.drops(), self.bss.drops(), self.sgsn.drops(), self.ggsn.drops()] {
            assert_eq!(drops.total(), 0, "{drops:?}");
        }
    }
}

fn gn(address: IpAddr, port: u16) -> Peer {
    Peer::Udp(SocketAddr::new(address, port))
}

/// An IPv4 packet with a header that a GGSN lets pass.
fn packet(source: Ipv4Addr, destination: Ipv4Addr, octets: usize) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..=255).cycle().take(octets).collect();
    packet[..12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0]);
    packet[2..4].copy_from_slice(&u16::try_from(octets).unwrap().to_be_bytes());
    packet[12..16].copy_from_slice(&source.octets());
    packet[16..20].copy_from_slice(&destination.octets());
    let sum: u32 = packet[..20].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn ten_mobiles_attach_and_their_packets_pass() {
    let mut world = World::new();
    let addresses = world.activate_all();
    let shown: Vec<String> = world.ms.machine.views().map(|view| view.to_string()).collect();
    assert_eq!(shown.iter().filter(|view| view.contains("pdp-active")).count(), 10, "{shown:#?}");
    for (mobile, address) in (0..MOBILES).zip(&addresses) {
        assert!(world.exchange(mobile, *address, 84), "mobile {mobile}");
        assert!(world.exchange(mobile, *address, 1500), "mobile {mobile}");
    }
    world.assert_no_drops();
}

#[test]
fn packets_find_a_mobile_that_moved_or_sleeps() {
    let mut world = World::new();
    let addresses = world.activate_all();
    let mobile = 0;
    world.order(MsCommand::ChangeCell { mobile, cell: 1 });
    world.pass(2);
    assert!(world.exchange(mobile, addresses[0], 1400), "another cell");
    world.order(MsCommand::ChangeCell { mobile, cell: 2 });
    world.pass(5);
    assert!(world.events.iter().any(|event| matches!(event, MsEvent::Updated { mobile: 0, .. })));
    assert!(world.exchange(mobile, addresses[0], 1400), "another routing area");
    world.pass(60);
    assert_eq!(world.ms.machine.view(mobile).unwrap().mm, "standby");
    let down = packet(Ipv4Addr::new(198, 51, 100, 1), addresses[0], 100);
    world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
    world.pass(5);
    assert_eq!(core::mem::take(&mut world.from_ms), [(mobile, down)], "paged");
    assert_eq!(world.ms.machine.stats().pagings, 1);
    world.assert_no_drops();
}

/// Attach, update, IMSI detach and detach of mobiles that ask for non-GPRS services, where there is no MSC.
#[test]
fn combined_procedures_are_for_gprs_only() {
    let mut world = World::with(|mobiles| mobiles.gmm.combined = true);
    let addresses = world.activate_all();
    let mobile = 0;
    let refused = |world: &mut World| {
        let told = world.events.drain(..).filter_map(|event| match event {
            MsEvent::NonGprs { mobile: 0, standing, cause } => Some((standing, cause)),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    let unreachable = (NonGprs::Wanted, Some(GmmCause::MscNotReachable));
    let view = world.ms.machine.view(mobile).unwrap();
    assert_eq!((view.service, view.non_gprs), ("attempting-to-update-mm", Some("not-imsi-attached")));
    assert!(world.exchange(mobile, addresses[0], 1400));
    world.order(MsCommand::ChangeCell { mobile, cell: 2 });
    world.pass(5);
    assert_eq!(refused(&mut world), [unreachable], "in another routing area");
    world.pass(20);
    assert_eq!(refused(&mut world), [unreachable], "T3311");
    world.order(MsCommand::ImsiDetach { mobile });
    world.pass(30);
    assert_eq!(refused(&mut world), [(NonGprs::Detached, None)]);
    assert!(world.exchange(mobile, addresses[0], 1400), "GPRS goes on");
    world.order(MsCommand::Detach { mobile, power_off: false });
    world.pass(5);
    assert_eq!(world.ms.machine.view(mobile).unwrap().gmm, "gmm-deregistered");
    world.assert_no_drops();
}

/// An operation that creates a template with one filter.
fn template(component: Component) -> Option<TrafficFlowTemplate> {
    let filter = PacketFilter {
        identifier: 0,
        direction: FilterDirection::Unsaid,
        precedence: 1,
        components: vec![component],
    };
    Some(TftRepr::new(TftOperation::Create(vec![filter])).to_element())
}

impl World {
    /// How many T-PDUs the GGSN and how many N-PDUs the mobile had in this context of mobile 0.
    fn downlink_of(&self, nsapi: u8) -> u64 {
        let imsi = "001010000000001".parse().unwrap();
        self.ggsn.machine.context(imsi, Nsapi(nsapi)).map_or(0, |context| context.downlink.t_pdus)
    }

    fn uplink_of(&self, nsapi: u8) -> u64 {
        let imsi = "001010000000001".parse().unwrap();
        self.ggsn.machine.context(imsi, Nsapi(nsapi)).map_or(0, |context| context.uplink.t_pdus)
    }
}

#[test]
fn a_secondary_context_takes_the_packets_of_its_template() {
    let mut world = World::new();
    let address = world.activate_all()[0];
    let (mobile, first, second) = (0, Nsapi(5), Nsapi(6));
    let qos = QosProfile { delay: DelayClass::TWO, ..QosProfile::BEST_EFFORT };
    // The test's packets are of UDP.
    let tft = template(Component::Protocol(17));
    let wanted = WantedSecondary { linked: first, sapi: Sapi::DATA5, qos, tft };
    world.order(MsCommand::ActivateSecondary { mobile, nsapi: second, wanted });
    world.pass(5);
    assert!(world.exchange(mobile, address, 500));
    assert_eq!((world.downlink_of(5), world.downlink_of(6)), (0, 1));
    assert_eq!((world.uplink_of(5), world.uplink_of(6)), (0, 1));
    // Other packets belong to it now: those of UDP go through the first one.
    let change = Change { qos: None, tft: template(Component::Protocol(6)) };
    world.order(MsCommand::Modify { mobile, nsapi: second, change });
    world.pass(5);
    assert!(world.exchange(mobile, address, 500));
    assert_eq!((world.downlink_of(5), world.downlink_of(6)), (1, 1));
    assert_eq!((world.uplink_of(5), world.uplink_of(6)), (1, 1));
    world.assert_no_drops();
    // Both end in one procedure, at all three.
    world.order(MsCommand::TearDown { mobile, nsapi: first });
    world.pass(5);
    assert_eq!(world.ggsn.machine.context_count(), MOBILES as usize - 1);
    assert!(world.ms.machine.view(mobile).unwrap().contexts.is_empty());
    world.assert_no_drops();
}

/// An IPv6 packet of UDP.
fn packet_v6(source: Ipv6Addr, destination: Ipv6Addr, octets: usize) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0];
    packet.extend(u16::try_from(octets).unwrap().to_be_bytes());
    packet.extend([17, 64]);
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend((0..=255).cycle().take(octets));
    packet
}

#[test]
fn contexts_of_ipv6_and_of_both_versions() {
    let mut world = World::new();
    let (host, nsapi): (Ipv6Addr, _) = ("2001:db8:ffff::1".parse().unwrap(), Nsapi(5));
    for (mobile, wanted) in [(0, PdpAddress::Ipv6Dynamic), (1, PdpAddress::Ipv4v6Dynamic)] {
        world.order(MsCommand::Activate { mobile, nsapi, apn: None, qos: None, address: Some(wanted) });
        world.pass(5);
        let activated = world.events.drain(..).find_map(|event| match event {
            MsEvent::Activated { address, .. } => Some(address),
            _ => None,
        });
        let (v4, v6) = match activated {
            Some(PdpAddress::Ipv6(v6)) if wanted == PdpAddress::Ipv6Dynamic => (None, v6),
            Some(PdpAddress::Ipv4v6(v4, v6)) if wanted == PdpAddress::Ipv4v6Dynamic => (Some(v4), v6),
            other => panic!("{other:?}"),
        };
        // What else has come down by now is what the GGSN says of the prefix.
        let told = core::mem::take(&mut world.from_ms);
        assert!(
            !told.is_empty()
                && told
                    .iter()
                    .all(|(to, packet)| { *to == mobile && RouterAdvertisement::parse(packet).is_ok() })
        );
        // The mobile may choose its interface identifier itself.
        for own in [v6, Ipv6Addr::from_bits(v6.to_bits() ^ 0xabcd)] {
            let up = packet_v6(own, host, 1200);
            world.ms.datagram(ms::TUN, Peer::Slot(mobile), &up);
            world.pass(2);
            assert_eq!(core::mem::take(&mut world.from_ggsn), [up]);
            let down = packet_v6(host, own, 1200);
            world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &down);
            world.pass(2);
            assert_eq!(core::mem::take(&mut world.from_ms), [(mobile, down)]);
        }
        if let Some(v4) = v4 {
            assert!(world.exchange(mobile, v4, 500));
        }
    }
    world.assert_no_drops();
}

#[test]
fn the_ggsn_ends_one_of_two_contexts() {
    let mut world = World::new();
    let address = world.activate_all()[0];
    let (mobile, tft) = (0, template(Component::Protocol(17)));
    let qos = QosProfile::BEST_EFFORT;
    let wanted = WantedSecondary { linked: Nsapi(5), sapi: Sapi::DATA5, qos, tft };
    world.order(MsCommand::ActivateSecondary { mobile, nsapi: Nsapi(6), wanted });
    world.pass(5);
    let imsi = "001010000000001".parse().unwrap();
    world.ggsn.inputs.push(Input::Command(GgsnCommand::Delete { imsi, nsapi: Nsapi(5) }));
    world.pass(5);
    let left: Vec<u8> =
        world.ms.machine.view(mobile).unwrap().contexts.iter().map(|view| view.nsapi.0).collect();
    assert_eq!(left, [6]);
    assert!(world.exchange(mobile, address, 500), "what is left has the address");
    world.assert_no_drops();
}

#[test]
fn everything_ends_when_the_mobiles_are_switched_off() {
    let mut world = World::new();
    world.activate_all();
    world.ggsn.inputs.push(Input::Command(GgsnCommand::Delete {
        imsi: "001010000000003".parse().unwrap(),
        nsapi: Nsapi(5),
    }));
    world.pass(2);
    assert!(matches!(world.events.pop_front(), Some(MsEvent::Deactivated { mobile: 2, .. })));
    for mobile in 0..MOBILES {
        world.order(MsCommand::Detach { mobile, power_off: true });
    }
    world.pass(5);
    let gone = world.events.iter().filter(|event| matches!(event, MsEvent::Detached { .. })).count();
    assert_eq!(gone, 10);
    for frames in [&world.ms.around.frames, &world.bss.around.frames, &world.sgsn.around.frames] {
        assert_eq!(frames.free(), FRAMES);
    }
    assert_eq!(world.ggsn.around.frames.free(), FRAMES);
    world.assert_no_drops();
}

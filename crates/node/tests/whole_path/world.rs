//! The nodes, and the octets between them.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::drops::DropCounters;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Input, Machine, Output, Peer, Port, Surroundings};
use gannet_node::bss::radio::Radio;
use gannet_node::bss::{self, Bss, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, Ggsn, GgsnConfig, PORT_GTP_C, PORT_GTP_U, PORT_TUN, Ranges};
use gannet_node::ms::{self, Ms, MsCommand, MsConfig, MsEvent};
use gannet_node::sgsn::{self, GgsnPeer, Sgsn, SgsnCommand, SgsnConfig};
use gannet_proto::bearer::Bearer;
use gannet_proto::um::UmBearer;
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, Nsvci, Plmn, Rai};
use gannet_wire::l3::ie::PdpAddress;
use std::collections::VecDeque;

const BSS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 23000);
const SGSN_GB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 23000);
const SGSN_GN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3));
const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 4));
pub const FRAMES: usize = 1024;
pub const MOBILES: u32 = 10;

pub struct Node<M: Machine> {
    pub machine: M,
    pub around: Surroundings<Quiet>,
    pub inputs: Batch<Input<M::Command>>,
}

impl<M: Machine> Node<M> {
    pub fn new(seed: u64, machine: M) -> Self {
        Self { machine, around: Surroundings::new(seed, FRAMES, Quiet::default()), inputs: Batch::default() }
    }

    pub fn datagram(&mut self, port: Port, peer: Peer, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.inputs.push(Input::Datagram { port, peer, frame });
    }

    /// Takes what is there, and gives what is to be sent; events go to `events`.
    pub fn step(&mut self, now: Instant, mut event: impl FnMut(M::Event)) -> Vec<(Port, Peer, Vec<u8>)> {
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

    pub fn drops(&self) -> &DropCounters {
        &self.around.trace.drops
    }
}

/// Changes a datagram between the mobiles' bearer and the BSS on its way; `None` takes it away.
pub type Hop = Box<dyn FnMut(Peer, Vec<u8>) -> Option<(Peer, Vec<u8>)>>;

/// What is between the mobiles and the SGSN.
pub struct Air {
    /// What the mobiles speak.
    pub bearer: Box<dyn Bearer>,
    /// The radio of the cells; `None` for that of the configuration.
    pub radio: Option<Box<dyn Radio>>,
    /// From the bearer to Um, and back.
    pub hops: [Hop; 2],
}

impl Air {
    /// The emulated Um, and a radio behind it.
    pub fn um(radio: Option<Box<dyn Radio>>) -> Self {
        let same = || -> Hop { Box::new(|peer, octets| Some((peer, octets))) };
        Self { bearer: Box::new(UmBearer), radio, hops: [same(), same()] }
    }
}

pub struct World {
    pub now: Instant,
    pub ms: Node<Ms>,
    pub bss: Node<Bss>,
    pub sgsn: Node<Sgsn>,
    pub ggsn: Node<Ggsn>,
    pub events: VecDeque<MsEvent>,
    /// N-PDUs that left the mobiles' side and the GGSN's side.
    pub from_ms: Vec<(u32, Vec<u8>)>,
    pub from_ggsn: Vec<Vec<u8>>,
    hops: [Hop; 2],
}

impl World {
    pub fn new() -> Self {
        Self::with(|_| ())
    }

    pub fn with(choose: impl FnOnce(&mut MsConfig)) -> Self {
        Self::over(Air::um(None), choose)
    }

    pub fn over(air: Air, choose: impl FnOnce(&mut MsConfig)) -> Self {
        let rai = |rac| Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac };
        let cells: Vec<CellId> =
            [(1, 10), (1, 11), (2, 20)].map(|(r, ci)| CellId { rai: rai(r), ci }).to_vec();
        let vc = VcConfig { nsei: Nsei(100), nsvci: Nsvci(101), port: gb_port(0), peer: SGSN_GB };
        let bss_cells =
            cells.iter().zip(2..).map(|(id, bvci)| CellConfig::new(Nsei(100), Bvci(bvci), *id)).collect();
        let apn = ApnConfig {
            v6: Ranges::dynamic("2001:db8::".parse().unwrap(), 56),
            dns: [Some(Ipv4Addr::new(8, 8, 8, 8)), None],
            ..ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 0, 0, 0), 24)
        };
        let sgsn = SgsnConfig {
            gtp_address: SGSN_GN,
            ggsns: vec![GgsnPeer { number: 0, address: GGSN, version: gannet_proto::gtp::Version::V1 }],
            mobiles_max: 64,
            ..SgsnConfig::default()
        };
        let ggsn = GgsnConfig::new(GGSN, vec![apn]);
        let mut mobiles = MsConfig::new(MOBILES, "001010000000001".parse().unwrap(), cells);
        choose(&mut mobiles);
        let cells = bss::Config::new(vec![vc], bss_cells);
        let bss = match air.radio {
            Some(radio) => Bss::with_radio(cells, radio),
            None => Bss::new(cells),
        };
        let mut world = Self {
            now: Instant::ZERO,
            ms: Node::new(1, Ms::new(mobiles, air.bearer)),
            bss: Node::new(2, bss.unwrap()),
            sgsn: Node::new(3, Sgsn::new(sgsn, 3)),
            ggsn: Node::new(4, Ggsn::new(ggsn).unwrap()),
            events: VecDeque::new(),
            from_ms: Vec::new(),
            from_ggsn: Vec::new(),
            hops: air.hops,
        };
        world.sgsn.inputs.push(Input::Command(SgsnCommand::Start));
        world.bss.inputs.push(Input::Command(bss::Command::Start));
        world.pass(10);
        world
    }

    /// Everything that can happen now.
    pub fn settle(&mut self) {
        loop {
            let mut moved = false;
            for (port, peer, octets) in self.ms.step(self.now, |event| self.events.push_back(event)) {
                match (port, peer) {
                    (ms::BEARER, peer) => {
                        if let Some((peer, octets)) = self.hops[0](peer, octets) {
                            self.bss.datagram(bss::UM, peer, &octets);
                        }
                    }
                    (_, Peer::Slot(mobile)) => self.from_ms.push((mobile, octets)),
                    other => panic!("{other:?}"),
                }
                moved = true;
            }
            for (port, peer, octets) in self.bss.step(self.now, |_| ()) {
                match port {
                    bss::UM => {
                        if let Some((peer, octets)) = self.hops[1](peer, octets) {
                            self.ms.datagram(ms::BEARER, peer, &octets);
                        }
                    }
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

    pub fn pass(&mut self, seconds: u64) {
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

    pub fn order(&mut self, command: MsCommand) {
        self.ms.inputs.push(Input::Command(command));
        self.settle();
    }

    pub fn activate_all(&mut self) -> Vec<Ipv4Addr> {
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
    pub fn exchange(&mut self, mobile: u32, address: Ipv4Addr, octets: usize) -> bool {
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

    pub fn assert_no_drops(&self) {
        for drops in [self.ms.drops(), self.bss.drops(), self.sgsn.drops(), self.ggsn.drops()] {
            assert_eq!(drops.total(), 0, "{drops:?}");
        }
    }
}

fn gn(address: IpAddr, port: u16) -> Peer {
    Peer::Udp(SocketAddr::new(address, port))
}

/// An IPv4 packet with a header that a GGSN lets pass.
pub fn packet(source: Ipv4Addr, destination: Ipv4Addr, octets: usize) -> Vec<u8> {
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

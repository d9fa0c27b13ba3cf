//! A network over a radio with RLC/MAC in virtual time, with hosts behind the GGSN and in the mobiles.
//!
//! ```text
//! TCP or pinger – mobile )) RLC/MAC (( BSS – Gb – SGSN – Gn – GGSN – TCP or pinger
//! ```
//!
//! Gb and Gn take 1 ms each way and lose nothing. The host is at the GGSN.

use super::capture::Tape;
use super::probe::Probe;
use super::seen::{Seen, Spot};
use crate::tcp::Endpoint;
use crate::tcp::config::Config as TcpConfig;
use crate::tcp::path::octet_at;
use core::net::{Ipv4Addr, SocketAddrV4};
use gannet_machine::Peer;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_node::bss::calls::CallPlan;
use gannet_node::bss::radio::{RadioConfig, RlcMacConfig, RlcMacRadio, Way};
use gannet_node::bss::{self, Bss, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, GgsnConfig};
use gannet_node::ms::travel::TravelConfig;
use gannet_node::ms::{self, MsCommand, MsConfig, MsEvent, NPduDelivery};
use gannet_node::sgsn::{CellChange, GgsnPeer, PduLifetimes, SgsnConfig};
use gannet_proto::bssgp::flow_control::{Amount, Watermark, Watermarks};
use gannet_sim::driven::Driven;
use gannet_sim::gprs::{GGSN_GN, GprsWorld, Happening, Node, SGSN_GB, SGSN_GN, WorldConfig};
use gannet_sim::link::LinkProfile;
use gannet_wire::id::{Bvci, CellId, Imsi, Nsapi, Nsei, Nsvci, Plmn, Rai};
use gannet_wire::l3::ie::{GprsTimer, PdpAddress, QosProfile};
use std::collections::VecDeque;

const NSAPI: Nsapi = Nsapi(5);
const SECOND_NSAPI: Nsapi = Nsapi(6);
/// Octets that a cell holds: more than the bucket of the fastest, twice.
const ROOM_OCTETS: u64 = 40_000;
/// Octets that a mobile holds: more than the window of a connection.
const MOBILE_OCTETS: usize = 200_000;
/// The host behind the GGSN.
pub const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const HOST_PORT: u16 = 5201;
const MOBILE_PORT: u16 = 40_000;
/// By then all contexts are active, in seconds after the last mobile was told to begin, also where the air loses much: procedures
/// are repeated after 15 s and more.
const ACTIVE_S: u64 = 300;
/// Octets of an N-PDU of the hosts.
const N_PDU_OCTETS: u64 = 1500;
/// How often frames are counted at the end, and how far apart: some may be on their way between nodes.
const LOOKS: u32 = 10;
const LOOK: Duration = Duration::from_millis(7);
/// Octets that a sender is given at a time.
const PART_OCTETS: u64 = 65_536;

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct Setup {
    /// RLC/MAC, the mobiles' part of it, and the channel.
    pub radio: RlcMacConfig,
    /// Cells, all alike.
    pub cells: u16,
    /// Mobiles, spread over the cells in turn.
    pub mobiles: u32,
    /// N201-U of user data, 500 or 1520 octets.
    pub n201_u: u16,
    /// For how long LL-PDUs wait in the BSS: Bmax by the rate that is measured.
    pub bucket_time: Duration,
    /// PDU lifetimes of user data.
    pub lifetimes: PduLifetimes,
    /// What the SGSN may have waiting; `None` for more than any window.
    pub sgsn_n_pdus: Option<u32>,
    /// Octets that a mobile holds, where that is less than any window; what finds no room is lost.
    pub mobile_octets: Option<usize>,
    /// The SGSN asks a base station that has said R = 0 for a mobile, where something comes for it.
    pub asks_at_zero: bool,
    /// How long SNDCP waits for the rest of an N-PDU, at both ends.
    pub reassembly_timeout: Duration,
    /// Calls that take PDCHs.
    pub calls: Option<CallPlan>,
    /// What each mobile asks for; those beyond the end ask for what is subscribed.
    pub qos: Vec<QosProfile>,
    /// What mobiles measure on their way; their cells have the names that stand there.
    pub travel: Option<TravelConfig>,
    /// What the SGSN does when a mobile changes cells; `None` for its default.
    pub cell_change: Option<CellChange>,
    /// The dice.
    pub seed: u64,
}

/// A connection of one mobile.
#[derive(Debug)]
pub struct Connection {
    mobile: usize,
    /// Which way its octets go.
    pub way: Way,
    /// The sender's end and the receiver's.
    pub ends: [Endpoint; 2],
    written: u64,
    read: u64,
    /// Octets of N-PDUs that came to the receiver.
    pub n_pdu_octets: u64,
    /// Octets that came and were not those of the stream at their place.
    pub wrong: u64,
}

/// What a mobile on its way does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// It leaves the air of its cell.
    Leaves,
    /// It has the system information of the next.
    Camps,
    /// Its routing area update is accepted.
    Updated,
}

/// The world.
#[derive(Debug)]
pub struct World {
    /// The nodes.
    pub gprs: GprsWorld,
    /// The radio.
    pub probe: Probe,
    /// Connections.
    pub connections: Vec<Connection>,
    /// N-PDUs that belong to no connection: when each came, its mobile (`None` at the host), and its octets.
    pub others: VecDeque<(Instant, Option<u32>, Vec<u8>)>,
    /// Their octets, of all that came downlink and uplink.
    pub other_octets: [u64; 2],
    /// What the hosts saw of their connections, where that is kept.
    pub seen: Option<Vec<Seen>>,
    /// Cells that mobiles have left and come to, and routing area updates.
    pub stages: Vec<(Instant, Stage)>,
    /// The address of a second context ([`World::activate_second`]).
    second: Option<Ipv4Addr>,
    addresses: Vec<Option<Ipv4Addr>>,
    frames: usize,
    tapes: Vec<Tape>,
}

impl Setup {
    /// One cell whose SGSN holds more than the windows of its connections, and throws nothing away: the longest lifetimes are 63 s.
    #[must_use]
    pub const fn one_cell(radio: RlcMacConfig, mobiles: u32, n201_u: u16, seed: u64) -> Self {
        let lifetimes = PduLifetimes::all(Some(Duration::from_secs(63)));
        let bucket_time = Duration::from_secs(1);
        Self {
            radio,
            cells: 1,
            mobiles,
            n201_u,
            bucket_time,
            lifetimes,
            sgsn_n_pdus: None,
            mobile_octets: None,
            asks_at_zero: false,
            reassembly_timeout: Duration::from_secs(10),
            calls: None,
            qos: Vec::new(),
            travel: None,
            cell_change: None,
            seed,
        }
    }
}

fn config(setup: &Setup) -> WorldConfig {
    let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 0 };
    let named = |cell: u16| setup.travel.as_ref()?.broadcasts.get(usize::from(cell)).map(|of| of.id);
    let id = |cell| named(cell).unwrap_or(CellId { rai, ci: 100 + cell });
    let ids: Vec<_> = (0..setup.cells).map(id).collect();
    let radio = RadioConfig { rate_bit_per_s: 1, queue_octets: ROOM_OCTETS, delay: Duration::ZERO };
    let cell = |(id, bvci): (&CellId, u16)| CellConfig {
        downlink: radio,
        uplink: radio,
        ..CellConfig::new(Nsei(101), Bvci(bvci), *id)
    };
    let cells = ids.iter().zip(2..).map(cell).collect();
    let vc = VcConfig { nsei: Nsei(101), nsvci: Nsvci(201), port: gb_port(0), peer: SGSN_GB };
    let bss = bss::Config {
        mobiles_max: setup.mobiles,
        bucket_time: setup.bucket_time,
        ..bss::Config::new(vec![vc], cells)
    };
    let mut sgsn = SgsnConfig {
        mobiles_max: setup.mobiles as usize * 2,
        cells_max: u32::from(setup.cells),
        gtp_address: SGSN_GN,
        ggsns: vec![GgsnPeer { number: 0, address: GGSN_GN, version: gannet_proto::gtp::Version::V1 }],
        n201_u: (setup.n201_u != 500).then_some(setup.n201_u),
        pdu_lifetime: setup.lifetimes,
        policing: None,
        reassembly_timeout: setup.reassembly_timeout,
        ..SgsnConfig::default()
    };
    sgsn.queue.buffer = Duration::from_secs(60);
    sgsn.flow.asks_at_zero = setup.asks_at_zero;
    sgsn.cell_change = setup.cell_change.unwrap_or_default();
    if let Some(n_pdus) = setup.sgsn_n_pdus {
        // What waits for its bucket waits in the queue of N-PDUs, but for one.
        let [high, low] = [1, 0].map(|pdus| Amount { pdus, octets: u64::from(pdus) * N_PDU_OCTETS });
        let ms = Watermark { high, low };
        sgsn.flow.feedback = Some(Watermarks { ms, ..Watermarks::default() });
        sgsn.queue.cell_pdus_max = n_pdus;
    }
    // Nobody is paged.
    sgsn.gmm.t3314 = GprsTimer(0x5f);
    let apn = ApnConfig::with_ipv4(
        "internet".parse().unwrap_or_else(|_| unreachable!("a valid name")),
        Ipv4Addr::new(10, 0, 0, 0),
        16,
    );
    let imsi = Imsi::from_digits([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let imsi = imsi.unwrap_or_else(|| unreachable!("15 digits"));
    WorldConfig {
        seed: setup.seed,
        frames: 16_384,
        gb: LinkProfile::default(),
        gn: LinkProfile::default(),
        sgsn,
        ggsn: GgsnConfig { default_apn: Some(0), ..GgsnConfig::new(GGSN_GN, vec![apn]) },
        bss,
        ms: MsConfig {
            delivery: NPduDelivery::Event,
            reassembly_timeout: setup.reassembly_timeout,
            travel: setup.travel.clone(),
            ..MsConfig::new(setup.mobiles, imsi, ids)
        },
    }
}

impl World {
    /// A world in which all contexts are active.
    ///
    /// # Errors
    /// A sentence, where a node refuses its configuration or a context does not become active.
    pub fn new(setup: &Setup) -> Result<Self, String> {
        let world = Self::try_new(setup)?;
        world.ok_or_else(|| "the context of a mobile did not become active".to_owned())
    }

    /// The same; these tapes record it from its beginning.
    ///
    /// # Errors
    /// As [`World::new`].
    pub fn recorded(setup: &Setup, tapes: &[Tape]) -> Result<Self, String> {
        let world = Self::make(setup, tapes)?;
        world.ok_or_else(|| "the context of a mobile did not become active".to_owned())
    }

    /// The same without tapes; `None` where a context does not become active, as the air loses too much.
    ///
    /// # Errors
    /// A sentence, where a node refuses its configuration.
    pub fn try_new(setup: &Setup) -> Result<Option<Self>, String> {
        Self::make(setup, &[])
    }

    fn make(setup: &Setup, tapes: &[Tape]) -> Result<Option<Self>, String> {
        let config = config(setup);
        let frames = config.frames;
        let bss = bss::Config { calls: setup.calls.clone(), ..config.bss.clone() };
        let mut radio = setup.radio;
        radio.mobile.queue_octets = MOBILE_OCTETS;
        radio.mobile.buffer_octets = setup.mobile_octets.unwrap_or(usize::MAX);
        let rooms = (0..setup.cells).map(|_| ROOM_OCTETS);
        let probe = Probe::new(RlcMacRadio::new(radio, rooms, setup.mobiles));
        let mut gprs = GprsWorld::new(config)?;
        let bss = Bss::with_radio(bss, probe.radio()).map_err(|error| error.to_string())?;
        let dice = Rng::seeded(setup.seed ^ 0x7ad1_0000_0000);
        gprs.bss = Driven::new(bss, Quiet::default(), dice, gprs.frames.clone());
        let addresses = vec![None; setup.mobiles as usize];
        if !tapes.is_empty() {
            probe.record(tapes);
            let tapes = tapes.to_vec();
            gprs.on_crossing =
                Some(Box::new(move |crossing| tapes.iter().for_each(|tape| tape.crossing(&crossing))));
        }
        let mut world = Self {
            gprs,
            probe,
            connections: Vec::new(),
            others: VecDeque::new(),
            other_octets: [0; 2],
            seen: None,
            stages: Vec::new(),
            second: None,
            addresses,
            frames,
            tapes: tapes.to_vec(),
        };
        Ok(world.activate(setup).then_some(world))
    }

    /// True where all contexts have become active.
    fn activate(&mut self, setup: &Setup) -> bool {
        self.gprs.start();
        self.run_until(Instant::ZERO + Duration::from_secs(5));
        for mobile in 0..setup.mobiles {
            // Eight cells take eight a second.
            let after = self.gprs.now + Duration::from_millis(1000 / u64::from(setup.cells.max(1)));
            self.run_until(after);
            let qos = setup.qos.get(mobile as usize).copied();
            self.gprs.order_ms(MsCommand::Activate { mobile, nsapi: NSAPI, apn: None, qos, address: None });
        }
        let latest = self.gprs.now + Duration::from_secs(ACTIVE_S);
        while self.gprs.now < latest && self.addresses.iter().any(Option::is_none) {
            self.run_until(self.gprs.now + Duration::from_secs(1));
        }
        // LLC agrees on N201-U.
        self.run_until(self.gprs.now + Duration::from_secs(10));
        self.addresses.iter().all(Option::is_some)
    }

    /// The address of a mobile.
    #[must_use]
    pub fn address(&self, mobile: u32) -> Option<Ipv4Addr> {
        self.addresses.get(mobile as usize).copied().flatten()
    }

    /// Activates a second context of a mobile, with an address of its own. `None` where it does not become active.
    pub fn activate_second(&mut self, mobile: u32, qos: QosProfile) -> Option<Ipv4Addr> {
        let order =
            MsCommand::Activate { mobile, nsapi: SECOND_NSAPI, apn: None, qos: Some(qos), address: None };
        self.gprs.order_ms(order);
        let latest = self.gprs.now + Duration::from_secs(ACTIVE_S);
        while self.gprs.now < latest && self.second.is_none() {
            self.run_until(self.gprs.now + Duration::from_secs(1));
        }
        // LLC agrees on N201-U.
        self.run_until(self.gprs.now + Duration::from_secs(10));
        self.second
    }

    /// Opens a connection whose octets go this way, without end.
    pub fn connect(&mut self, mobile: u32, way: Way, config: &TcpConfig) {
        let Some(address) = self.address(mobile) else { return };
        let host = SocketAddrV4::new(HOST, HOST_PORT);
        let phone = SocketAddrV4::new(address, MOBILE_PORT);
        let (near, far) = if way == Way::Downlink { (host, phone) } else { (phone, host) };
        let iss = 1000 * (mobile + 1);
        let ends =
            [Endpoint::connect(config, near, far, iss), Endpoint::listen(config, far, near, iss + 500)];
        let mobile = mobile as usize;
        self.connections.push(Connection {
            mobile,
            way,
            ends,
            written: 0,
            read: 0,
            n_pdu_octets: 0,
            wrong: 0,
        });
        self.settle();
    }

    /// An N-PDU from the host.
    pub fn host_sends(&mut self, octets: &[u8]) {
        if let Some(frame) = self.gprs.frames.copy_of(octets) {
            self.gprs.internet(frame);
        }
    }

    /// An N-PDU from the host in a mobile.
    pub fn mobile_sends(&mut self, mobile: u32, octets: &[u8]) {
        self.gprs.inject(Node::Ms, ms::TUN, Peer::Slot(mobile), octets);
    }

    /// Goes on until a time.
    pub fn run_until(&mut self, until: Instant) {
        loop {
            let wakes = self.connections.iter().flat_map(|of| of.ends.iter().filter_map(Endpoint::next_wake));
            let next = wakes.min().map_or(until, |wake| wake.max(self.gprs.now).min(until));
            self.gprs.run_until(next);
            while let Some(happening) = self.gprs.happenings.pop_front() {
                self.happened(happening);
            }
            let now = self.gprs.now;
            for end in self.connections.iter_mut().flat_map(|connection| &mut connection.ends) {
                if end.next_wake().is_some_and(|wake| wake <= now) {
                    end.wake(now);
                }
            }
            self.settle();
            if self.gprs.now >= until && self.gprs.happenings.is_empty() {
                return;
            }
        }
    }

    fn happened(&mut self, happening: Happening) {
        match happening {
            Happening::Ms(MsEvent::Activated { nsapi, address: PdpAddress::Ipv4(address), .. })
                if nsapi == SECOND_NSAPI =>
            {
                self.second = Some(address);
            }
            Happening::Ms(MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. }) => {
                if let Some(place) = self.addresses.get_mut(mobile as usize) {
                    *place = Some(address);
                }
            }
            Happening::Ms(MsEvent::NPdu { mobile, frame, .. }) => {
                self.tapes.iter().for_each(|tape| tape.came(self.gprs.now, mobile, &frame));
                self.came(Some(mobile), &frame);
            }
            Happening::Ms(MsEvent::Leaving { .. }) => self.stages.push((self.gprs.now, Stage::Leaves)),
            Happening::Ms(MsEvent::Camped { .. }) => self.stages.push((self.gprs.now, Stage::Camps)),
            Happening::Ms(MsEvent::Updated { .. }) => self.stages.push((self.gprs.now, Stage::Updated)),
            Happening::Internet(frame) => self.came(None, &frame),
            Happening::Ms(_) | Happening::Bss(_) | Happening::Sgsn(_) | Happening::Ggsn(_) => {}
        }
    }

    /// An N-PDU has come to a mobile, or to the host.
    fn came(&mut self, mobile: Option<u32>, octets: &[u8]) {
        const SOURCE: core::ops::Range<usize> = 12..16;
        let (now, is_tcp) = (self.gprs.now, octets.get(9) == Some(&6));
        let whose = match mobile {
            Some(mobile) => Some(mobile as usize),
            None => {
                let source = octets.get(SOURCE).and_then(|octets| octets.first_chunk::<4>());
                let source = source.map(|octets| Ipv4Addr::from(*octets));
                self.addresses.iter().position(|address| source.is_some() && *address == source)
            }
        };
        let connection = self.connections.iter_mut().find(|connection| Some(connection.mobile) == whose);
        match connection.filter(|_| is_tcp) {
            Some(connection) => {
                let [sender, receiver] = &mut connection.ends;
                let is_at_receiver = (connection.way == Way::Downlink) == mobile.is_some();
                let end = if is_at_receiver { receiver } else { sender };
                connection.n_pdu_octets += if is_at_receiver { octets.len() as u64 } else { 0 };
                connection.wrong += u64::from(end.receive(octets, now).is_err());
                let spot = if is_at_receiver { Spot::Came } else { Spot::Answered };
                Seen::keep(&mut self.seen, now, connection.mobile, spot, octets);
            }
            None => {
                let [down, up] = &mut self.other_octets;
                *if mobile.is_some() { down } else { up } += octets.len() as u64;
                self.others.push_back((now, mobile, octets.to_vec()));
            }
        }
    }

    /// Has all ends send what they may now.
    fn settle(&mut self) {
        let now = self.gprs.now;
        for index in 0..self.connections.len() {
            let Some(connection) = self.connections.get_mut(index) else { return };
            connection.read();
            connection.give();
            let (mobile, way) = (u32::try_from(connection.mobile).unwrap_or(u32::MAX), connection.way);
            let [sender, receiver] = &mut connection.ends;
            let from_sender: Vec<_> = core::iter::from_fn(|| sender.poll_transmit(now)).collect();
            let from_receiver: Vec<_> = core::iter::from_fn(|| receiver.poll_transmit(now)).collect();
            for (spot, packets) in [(Spot::Sent, &from_sender), (Spot::Answers, &from_receiver)] {
                packets.iter().for_each(|packet| {
                    Seen::keep(&mut self.seen, now, connection.mobile, spot, packet);
                });
            }
            let (host, phone) = match way {
                Way::Downlink => (from_sender, from_receiver),
                Way::Uplink => (from_receiver, from_sender),
            };
            host.iter().for_each(|packet| self.host_sends(packet));
            phone.iter().for_each(|packet| self.mobile_sends(mobile, packet));
        }
    }

    /// Stops all traffic and waits until all of it has arrived. Gives what does not add up: nothing where all is well.
    #[must_use]
    pub fn close(&mut self, wait: Duration) -> Vec<String> {
        let wrong: u64 = self.connections.iter().map(|connection| connection.wrong).sum();
        self.connections.clear();
        self.run_until(self.gprs.now + wait);
        self.others.clear();
        // Nodes tell each other of flow control, which is on its way for a millisecond: it is no loss.
        let mut missing = self.frames - self.gprs.frames.free();
        for _ in 0..LOOKS {
            if missing == 0 {
                break;
            }
            self.run_until(self.gprs.now + LOOK);
            missing = self.frames - self.gprs.frames.free();
        }
        let mut faults = Vec::new();
        let mut fault = |name: &str, count: u64| {
            if count > 0 {
                faults.push(format!("{count} {name}"));
            }
        };
        fault("octets or segments of TCP are wrong", wrong);
        for (way, name) in [(Way::Downlink, "downlink"), (Way::Uplink, "uplink")] {
            let ledger = self.probe.ledger(way);
            fault(&format!("LL-PDUs {name} are neither delivered nor lost by name"), ledger.inside());
            fault(&format!("direction, {name}, with more LL-PDUs out than in"), ledger.is_overdrawn().into());
        }
        for cell in 0.. {
            if !self.probe.has_cell(cell) {
                break;
            }
            let counts = self.probe.air(cell).faults;
            fault("LL-PDUs came to another mobile", counts.misdelivered);
            fault("LL-PDUs came that nobody had sent", counts.strange);
            fault("blocks do not become octets or come back as another", counts.unreadable);
        }
        fault("frames are missing", missing as u64);
        faults.extend(self.probe.block_faults());
        faults
    }
}

impl Connection {
    /// Octets of the stream that have come in order.
    #[must_use]
    pub const fn came(&self) -> u64 {
        self.read
    }

    fn read(&mut self) {
        let [_, receiver] = &mut self.ends;
        let octets = receiver.read();
        let places = self.read..;
        self.wrong += places.zip(&octets).filter(|(place, octet)| octet_at(*place) != **octet).count() as u64;
        self.read += octets.len() as u64;
    }

    fn give(&mut self) {
        let [sender, _] = &mut self.ends;
        // The sender has a buffer of its own: half a part ahead of what was acknowledged is enough.
        while self.written < sender.acknowledged() + 2 * PART_OCTETS {
            let part: Vec<u8> = (self.written..self.written + PART_OCTETS).map(octet_at).collect();
            let taken = sender.write(&part) as u64;
            self.written += taken;
            if taken < PART_OCTETS {
                return;
            }
        }
    }
}

//! Hosts of mobiles and access points, with wires between them that take no time and can be listened to.

use crate::adaptation::{
    AccessPoint, AdaptationBearer, Address, ApConfig, ApLink, ApOutput, BROADCAST, Medium, MobileConfig,
    MobileLink, MobileMedium, PACKETS_MAX, Policy, Said, SharedKey,
};
use crate::auth::key::Key128;
use crate::bearer::{Bearer as _, Indication, Order, Output, Request, Sender};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, EthernetAddress, Peer, Surroundings};
use gannet_wire::adaptation::{ApName, NetworkMode};
use gannet_wire::id::{CellId, Plmn, Rai, Tlli};
use gannet_wire::l3::ie::RadioPriority;

pub const FRAMES: usize = 128;
const KEY: TimerKey = TimerKey { owner: 0, slot: 0, generation: 0 };

pub fn cell(ci: u16) -> CellId {
    CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac: 1 }, ci }
}

pub fn key(id: u32) -> SharedKey {
    let [a, b, c, d] = id.to_be_bytes();
    let mut octets = [0x5a; 16];
    octets[..4].copy_from_slice(&[a, b, c, d]);
    SharedKey { id, key: Key128(octets) }
}

pub fn tlli(mobile: u32) -> Tlli {
    Tlli(0xc000_0000 | mobile)
}

/// Which wire: host or access point `0` has Ethernet, `1` has UDP.
pub struct Host {
    pub bearer: AdaptationBearer,
    pub around: Surroundings<Quiet>,
    pub told: Vec<Indication>,
}

pub struct Ap {
    pub machine: AccessPoint,
    pub around: Surroundings<Quiet>,
    pub said: Vec<(u32, Tlli, String)>,
    pub ll_pdus: Vec<(u32, Tlli, Vec<u8>)>,
    pub config: ApConfig,
}

/// What went over the wires: to the access point with an index, or to the mobiles from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub is_up: bool,
    pub ap: usize,
    pub octets: Vec<u8>,
}

type Lose = Box<dyn FnMut(&Seen) -> bool>;

/// One host, whose link number is that of the access point at its other end.
pub struct Net {
    pub now: Instant,
    pub host: Host,
    pub aps: Vec<Ap>,
    pub seen: Vec<Seen>,
    /// True for what does not arrive.
    pub lose: Lose,
}

#[derive(Clone)]
pub struct Choice {
    pub mobiles: u32,
    pub has_keys: bool,
    pub network_key: Option<SharedKey>,
    pub media: Vec<Medium>,
    pub mtu: u16,
    pub packets_max: u64,
    pub mobiles_max: u32,
    pub preference: Vec<u16>,
    /// The mobiles know no cell.
    pub learns: bool,
}

impl Choice {
    pub fn open(medium: Medium) -> Self {
        Self {
            mobiles: 2,
            has_keys: false,
            network_key: None,
            media: vec![medium],
            mtu: 1500,
            packets_max: PACKETS_MAX,
            mobiles_max: 16,
            preference: Vec::new(),
            learns: false,
        }
    }

    pub fn with_keys(medium: Medium) -> Self {
        Self { has_keys: true, ..Self::open(medium) }
    }
}

pub fn peer_of_ap(ap: usize, medium: Medium) -> Peer {
    let number = u8::try_from(ap).unwrap();
    match medium {
        Medium::Ethernet => Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 1, number])),
        Medium::Udp => Peer::Udp(([192, 0, 2, number + 1], 34_997).into()),
    }
}

pub fn peer_of_host(medium: Medium) -> Peer {
    match medium {
        Medium::Ethernet => Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 0, 9])),
        Medium::Udp => Peer::Udp(([198, 51, 100, 9], 40_000).into()),
    }
}

impl Net {
    pub fn new(choice: &Choice) -> Self {
        let keys: Vec<SharedKey> = if choice.has_keys {
            (0..choice.mobiles).map(|mobile| key(100 + mobile)).collect()
        } else {
            Vec::new()
        };
        let cells: Vec<CellId> = (1..).map(cell).take(choice.media.len()).collect();
        let link = |(ap, medium): (usize, &Medium)| MobileLink {
            medium: match (medium, peer_of_ap(ap, *medium)) {
                (Medium::Udp, Peer::Udp(address)) => MobileMedium::Udp(address),
                _ => MobileMedium::Ethernet,
            },
            mtu: choice.mtu,
        };
        let mobiles = MobileConfig {
            links: choice.media.iter().enumerate().map(link).collect(),
            cells: cells.iter().copied().filter(|_| !choice.learns).collect(),
            mobiles: choice.mobiles,
            keys: keys.clone(),
            network_key: choice.network_key,
            interval: Duration::from_secs(1),
            policy: Policy { preference: choice.preference.clone(), ..Policy::default() },
            packets_max: choice.packets_max,
            pieces_max: 64,
            secret: Key128([1; 16]),
        };
        let ap = |(index, medium): (u8, &Medium)| {
            let config = ApConfig {
                links: vec![ApLink {
                    medium: *medium,
                    mtu: choice.mtu,
                    cell: cells[usize::from(index)],
                    beacon_interval: Duration::from_secs(1),
                    mode: NetworkMode::II,
                    name: ApName::from_start(b"gull"),
                }],
                mobiles_max: choice.mobiles_max,
                keys: keys.clone(),
                network_key: choice.network_key,
                demands_authentication: choice.has_keys,
                boot: 1,
                packets_max: choice.packets_max,
                pieces_max: 64,
                secret: Key128([2 + index; 16]),
            };
            Ap::new(config, Instant::ZERO)
        };
        let around = Surroundings::new(1, FRAMES, Quiet::default());
        Self {
            now: Instant::ZERO,
            host: Host { bearer: AdaptationBearer::new(mobiles), around, told: Vec::new() },
            aps: (0..).zip(&choice.media).map(ap).collect(),
            seen: Vec::new(),
            lose: Box::new(|_| false),
        }
    }

    fn medium(&self, ap: usize) -> Medium {
        self.aps[ap].config.links[0].medium
    }

    /// Octets arrive at an access point, and what follows.
    pub fn up(&mut self, ap: usize, octets: &[u8]) {
        let (mut out, from) = (Batch::default(), Address { link: 0, peer: peer_of_host(self.medium(ap)) });
        let of = &mut self.aps[ap];
        of.around.now = self.now;
        let frame = of.around.frames.copy_of(octets).unwrap();
        of.machine.receive(&mut of.around.context(), from, frame, &mut out);
        self.ap_outputs(ap, out);
    }

    /// Octets arrive at the mobiles, as if from an access point, and what follows.
    pub fn down(&mut self, ap: usize, octets: &[u8]) {
        let from = (u16::try_from(ap).unwrap(), peer_of_ap(ap, self.medium(ap)));
        self.down_from(from, octets);
    }

    pub fn down_from(&mut self, from: (u16, Peer), octets: &[u8]) {
        let mut out = Batch::default();
        self.host.around.now = self.now;
        let frame = self.host.around.frames.copy_of(octets).unwrap();
        let mut cx = self.host.around.context();
        if let Err(refused) = self.host.bearer.receive(&mut cx, from, frame, &mut out) {
            cx.drop(refused.drop, None);
        }
        self.host_outputs(out);
    }

    fn carry(&mut self, seen: Seen) {
        self.seen.push(seen.clone());
        if !(self.lose)(&seen) {
            match seen.is_up {
                true => self.up(seen.ap, &seen.octets),
                false => self.down(seen.ap, &seen.octets),
            }
        }
    }

    fn host_outputs(&mut self, mut out: Batch<Output>) {
        while let Some(output) = out.pop() {
            match output {
                Output::Transmit { link, peer, frame } => {
                    let ap = usize::from(link);
                    // Who believes a forged beacon sends to nobody.
                    if peer == BROADCAST || peer == peer_of_ap(ap, self.medium(ap)) {
                        self.carry(Seen { is_up: true, ap, octets: frame.to_vec() });
                    }
                }
                Output::Indication(indication) => {
                    if let Indication::Up { mobile, cell } = indication {
                        self.reachable(mobile, cell);
                    }
                    self.host.told.push(indication);
                }
            }
        }
    }

    fn ap_outputs(&mut self, ap: usize, mut out: Batch<ApOutput>) {
        while let Some(output) = out.pop() {
            match output {
                ApOutput::Transmit { link: 0, peer, frame } => {
                    assert!(peer == BROADCAST || peer == peer_of_host(self.medium(ap)));
                    self.carry(Seen { is_up: false, ap, octets: frame.to_vec() });
                }
                ApOutput::Said { mobile, tlli, what: Said::LlPdu(frame), .. } => {
                    self.aps[ap].ll_pdus.push((mobile, tlli, frame.to_vec()));
                }
                ApOutput::Said { mobile, tlli, what, .. } => {
                    self.aps[ap].said.push((mobile, tlli, format!("{what:?}")));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// A request of a mobile, by its TLLI.
    pub fn request(&mut self, mobile: u32, cell: u16, request: Request) -> Result<(), Drop> {
        let mut out = Batch::default();
        self.host.around.now = self.now;
        let from = Sender { mobile, cell, tlli: tlli(mobile), priority: RadioPriority::Four };
        let done = self.host.bearer.request(&mut self.host.around.context(), from, request, &mut out);
        self.host_outputs(out);
        done
    }

    pub fn order(&mut self, order: Order) -> bool {
        let mut out = Batch::default();
        self.host.around.now = self.now;
        let done = self.host.bearer.order(&mut self.host.around.context(), order, &mut out);
        self.host_outputs(out);
        done
    }

    fn reachable(&mut self, mobile: u32, cell: u16) {
        assert_eq!(self.request(mobile, cell, Request::Reachable), Ok(()));
    }

    pub fn send_up(&mut self, mobile: u32, cell: u16, ll_pdu: &[u8]) -> Result<(), Drop> {
        let frame = self.host.around.frames.copy_of(ll_pdu).unwrap();
        self.request(mobile, cell, Request::Unitdata(frame))
    }

    pub fn send_down(&mut self, ap: usize, mobile: u32, ll_pdu: &[u8]) -> Result<(), Drop> {
        let mut out = Batch::default();
        let of = &mut self.aps[ap];
        of.around.now = self.now;
        let frame = of.around.frames.copy_of(ll_pdu).unwrap();
        let cx = of.around.context();
        let done = of.machine.send_ll_pdu(&cx, u32::MAX, tlli(mobile), frame, &mut out);
        self.ap_outputs(ap, out);
        done
    }

    /// Something that an access point does by itself.
    pub fn at_ap(&mut self, ap: usize, act: impl FnOnce(&mut Ap, &mut Batch<ApOutput>)) {
        let mut out = Batch::default();
        self.aps[ap].around.now = self.now;
        act(&mut self.aps[ap], &mut out);
        self.ap_outputs(ap, out);
    }

    pub fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.host.bearer.arm(KEY, &mut self.host.around.timers);
            let of_aps = self.aps.iter().filter_map(|ap| ap.machine.next_wake());
            let next = of_aps.chain(self.host.around.timers.next()).min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next.max(self.now);
            for ap in 0..self.aps.len() {
                self.at_ap(ap, |ap, out| ap.machine.wake(&mut ap.around.context(), out));
            }
            self.host.around.now = self.now;
            let mut out = Batch::default();
            while self.host.around.timers.pop_due(self.now).is_some() {
                self.host.bearer.wake(&mut self.host.around.context(), &mut out);
            }
            self.host_outputs(out);
        }
        self.now = end;
    }

    pub fn seconds(&mut self, seconds: u64) {
        self.pass(Duration::from_secs(seconds));
    }

    /// LL-PDUs that have come to mobiles since.
    pub fn take_down(&mut self) -> Vec<(Option<u32>, u16, Tlli, Vec<u8>)> {
        let told = self.host.told.drain(..).filter_map(|indication| match indication {
            Indication::Unitdata(of) => Some((of.mobile, of.cell, of.tlli, of.ll_pdu.to_vec())),
            _ => None,
        });
        told.collect()
    }

    /// Mobiles that have come to cells since.
    pub fn take_ups(&mut self) -> Vec<(u32, u16)> {
        let told = self.host.told.drain(..).filter_map(|indication| match indication {
            Indication::Up { mobile, cell } => Some((mobile, cell)),
            _ => None,
        });
        told.collect()
    }

    /// An LL-PDU of a mobile goes each way.
    pub fn exchange(&mut self, ap: usize, mobile: u32, octets: usize) -> bool {
        let of = &mut self.aps[ap];
        of.ll_pdus.clear();
        self.host.told.clear();
        let ll_pdu: Vec<u8> = (0..=255).cycle().skip(mobile as usize).take(octets).collect();
        let cell = u16::try_from(ap).unwrap();
        self.send_up(mobile, cell, &ll_pdu).unwrap();
        self.send_down(ap, mobile, &ll_pdu).unwrap();
        let up = self.aps[ap].ll_pdus.iter().map(|(_, tlli, octets)| (*tlli, octets.clone()));
        let up: Vec<_> = up.collect();
        let wanted = (tlli(mobile), ll_pdu);
        let down = self.take_down();
        up == std::slice::from_ref(&wanted)
            && down.len() == 1
            && (down[0].1, down[0].2, &down[0].3) == (cell, wanted.0, &wanted.1)
    }

    pub fn drops_of_host(&self, drop: Drop) -> u64 {
        self.host.around.trace.drops.get(drop)
    }

    pub fn drops_of_ap(&self, ap: usize, drop: Drop) -> u64 {
        self.aps[ap].around.trace.drops.get(drop)
    }

    pub fn assert_no_drops(&self) {
        let of_aps = self.aps.iter().map(|ap| &ap.around.trace.drops);
        for drops in of_aps.chain([&self.host.around.trace.drops]) {
            assert_eq!(drops.total(), 0, "{drops:?}");
        }
    }
}

impl Ap {
    fn new(config: ApConfig, now: Instant) -> Self {
        let mut machine = AccessPoint::new(config.clone());
        machine.set_in_service(now, 0, true);
        let around = Surroundings::new(config.boot, FRAMES, Quiet::default());
        Self { machine, around, said: Vec::new(), ll_pdus: Vec::new(), config }
    }

    /// It starts again, and has forgotten everything.
    pub fn restart(&mut self, now: Instant) {
        self.config.boot += 1;
        self.config.secret = Key128([0x77; 16]);
        let drops = self.around.trace.clone();
        *self = Self::new(self.config.clone(), now);
        self.around.trace = drops;
    }
}

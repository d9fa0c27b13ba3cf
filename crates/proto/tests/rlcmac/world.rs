//! A cell and mobiles, driven as a node drives them.

use gannet_machine::Surroundings;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_proto::rlcmac::air::{Cell, Direction, Fate, Mobile};
use gannet_proto::rlcmac::channel::{Capture, Link};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::conservation::faults;
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::mobile::{Mac, MobileConfig};
use gannet_proto::rlcmac::network::fair::Class;
use gannet_proto::rlcmac::network::{Loss, Pcu};
use gannet_proto::rlcmac::paging::{Drx, Page};
use gannet_wire::id::{Imsi, Tlli};
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::coding::CodingScheme;

pub const FRAMES: usize = 4096;
/// Timeslots 4 to 7.
pub const PDCHS: u8 = 0b1111_0000;

/// What became of an LL-PDU: when, which way, whose, its octets, and why it was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    pub at: Instant,
    pub direction: Direction,
    pub mobile: u32,
    pub octets: Vec<u8>,
    pub loss: Option<Loss>,
}

pub struct World {
    pub around: Surroundings<Quiet>,
    pub cell: Cell,
    pub mobiles: Vec<Mobile>,
    pub told: Vec<Told>,
    /// Pages that mobiles have heard, and when.
    pub paged: Vec<(Instant, u32, Page)>,
}

/// What an LL-PDU is worth in these tests: signalling before all, user data by weight.
pub fn class_of_ll_pdu(octets: &[u8]) -> Class {
    // SAPI 1 is GMM, 3, 5, 9 and 11 are the four qualities of user data (04.64 clause 6.2.3).
    match octets.first().map(|address| address & 0x0f) {
        Some(1) => Class::Signalling,
        Some(3) => Class::Weighted(8),
        Some(5) => Class::Weighted(4),
        Some(9) => Class::Weighted(2),
        _ => Class::Weighted(1),
    }
}

/// What a world is made with.
#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub mobiles: u32,
    pub network: NetworkConfig,
    pub options: CellOptions,
    pub mobile: MobileConfig,
    pub capture: Capture,
    pub link: Link,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            mobiles: 1,
            network: NetworkConfig::new(PDCHS, CodingScheme::Cs2),
            options: CellOptions::default(),
            mobile: MobileConfig::default(),
            capture: Capture::None,
            link: Link::perfect(),
        }
    }
}

pub const fn tlli(mobile: u32) -> Tlli {
    Tlli(0xc000_0000 | mobile)
}

/// Octets that no other LL-PDU has.
pub fn octets(name: u32, len: usize) -> Vec<u8> {
    let mut octets: Vec<u8> = (0..len).map(|at| (at as u32 * 7 + name * 13) as u8).collect();
    octets[..4].copy_from_slice(&name.to_be_bytes());
    octets
}

impl World {
    pub fn new(plan: &Plan) -> Self {
        let mut cell = Cell::new(Pcu::new(plan.network, plan.options), plan.capture);
        let mobile = |_| Mobile {
            mac: Mac::new(plan.mobile, plan.options),
            downlink: plan.link.clone(),
            uplink: plan.link.clone(),
        };
        (0..plan.mobiles).for_each(|mobile| cell.enter(mobile));
        let mut mobiles: Vec<Mobile> = (0..plan.mobiles).map(mobile).collect();
        for (state, mobile) in mobiles.iter_mut().zip(0..) {
            state.mac.assign_tlli(tlli(mobile));
        }
        Self {
            around: Surroundings::new(plan.seed, FRAMES, Quiet::default()),
            cell,
            mobiles,
            told: Vec::new(),
            paged: Vec::new(),
        }
    }

    /// A mobile that uses DRX, as both sides know: its IMSI ends with this number.
    pub fn sleeper(&mut self, mobile: u32, number: u32, non_drx: Duration) -> Drx {
        let imsi = format!("001010000{:06}", number % 1_000_000).parse().unwrap();
        let drx = Drx { imsi, non_drx };
        self.mobiles[mobile as usize].mac.set_drx(Some(drx));
        self.cell.pcu_mut().set_drx(mobile, Some(drx));
        drx
    }

    pub fn page(&mut self, page: Page, imsi: &Imsi) {
        assert!(self.cell.pcu_mut().page(page, imsi));
        self.cell.touched(self.around.now, None, &self.mobiles);
    }

    pub fn pdu(&self, mobile: u32, octets: &[u8]) -> LlPdu {
        let frame = self.around.frames.copy_of(octets).unwrap();
        LlPdu { mobile, tlli: tlli(mobile), expires: Instant(u64::MAX), priority: RadioPriority::Four, frame }
    }

    pub fn down(&mut self, mobile: u32, octets: &[u8]) {
        self.down_until(mobile, octets, Instant(u64::MAX));
    }

    /// Down, with a lifetime that ends.
    pub fn down_until(&mut self, mobile: u32, octets: &[u8], expires: Instant) {
        let pdu = LlPdu { expires, ..self.pdu(mobile, octets) };
        self.cell.pcu_mut().request(pdu, class_of_ll_pdu(octets), true).unwrap();
        self.cell.touched(self.around.now, None, &self.mobiles);
    }

    pub fn up(&mut self, mobile: u32, octets: &[u8]) {
        let pdu = self.pdu(mobile, octets);
        let now = self.around.now;
        self.mobiles[mobile as usize].mac.request(now, pdu).unwrap();
        self.cell.touched(now, Some(mobile), &self.mobiles);
    }

    /// Calls hold these timeslots from now on.
    pub fn hold(&mut self, timeslots: u8) {
        self.cell.pcu_mut().hold_channels(self.around.now, timeslots);
        self.cell.touched(self.around.now, None, &self.mobiles);
        self.hear();
    }

    /// Does what happens in this time, event by event.
    pub fn pass(&mut self, span: Duration) {
        self.hear();
        let end = self.around.now + span;
        while let Some(at) = self.cell.next_event().filter(|at| *at <= end) {
            self.around.now = at.max(self.around.now);
            self.cell.run(&mut self.around.context(), &mut self.mobiles);
            self.hear();
        }
        self.around.now = end;
    }

    /// Until nothing happens any more; the time that took.
    pub fn settle(&mut self) -> Duration {
        self.settle_of(0)
    }

    /// The same in a world of this seed.
    pub fn settle_of(&mut self, seed: u64) -> Duration {
        let begin = self.around.now;
        self.hear();
        while let Some(at) = self.cell.next_event() {
            let state = (self.cell.pcu().tbfs(), self.cell.pcu().waiting());
            assert!(at.since(begin) < Duration::from_secs(600), "seed {seed}: it never ends: {state:?}");
            self.around.now = at.max(self.around.now);
            self.cell.run(&mut self.around.context(), &mut self.mobiles);
            self.hear();
        }
        assert_eq!(faults([&self.cell], &self.mobiles), Vec::<String>::new(), "seed {seed}");
        self.around.now.since(begin)
    }

    fn hear(&mut self) {
        let at = self.around.now;
        while let Some((mobile, page)) = self.cell.pop_paged() {
            self.paged.push((at, mobile, page));
        }
        for direction in [Direction::Down, Direction::Up] {
            while let Some(fate) = self.cell.pop_fate(direction) {
                let (pdu, loss) = match fate {
                    Fate::Arrived(pdu) => (pdu, None),
                    Fate::Lost(pdu, loss) => (pdu, Some(loss)),
                };
                let (mobile, octets) = (pdu.mobile, pdu.frame.to_vec());
                self.told.push(Told { at, direction, mobile, octets, loss });
            }
        }
    }

    /// What has arrived in a direction, in its order.
    pub fn arrived(&self, direction: Direction) -> Vec<(u32, Vec<u8>)> {
        let told = self.told.iter().filter(|told| told.direction == direction && told.loss.is_none());
        told.map(|told| (told.mobile, told.octets.clone())).collect()
    }
}

//! Both sides of the air in places of their own, with transmissions between them.

use crate::world::{FRAMES, PDCHS, class_of_ll_pdu, octets, tlli};
use gannet_machine::Surroundings;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_proto::rlcmac::air::Fate;
use gannet_proto::rlcmac::broadcast::{Information, Known};
use gannet_proto::rlcmac::channel::{Capture, Link, Profile};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::custody::LlPdu;
use gannet_proto::rlcmac::mobile::MobileConfig;
use gannet_proto::rlcmac::mobile_side::MobileSide;
use gannet_proto::rlcmac::multiframe::BlockPeriod;
use gannet_proto::rlcmac::network::{Loss, Pcu};
use gannet_proto::rlcmac::network_side::NetworkSide;
use gannet_proto::rlcmac::on_air::{Logical, Transmission};
use gannet_wire::gsmtap::{Channel, Header};
use gannet_wire::id::{CellId, Plmn, Rai};
use gannet_wire::l3::ie::RadioPriority;
use gannet_wire::rlcmac::cell::AccessBurst;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::value::AckType;
use std::collections::VecDeque;

const ARFCN: u16 = 871;

fn id() -> CellId {
    CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac: 1 }, ci: 10 }
}

struct Plan {
    seed: u64,
    mobiles: u32,
    network: NetworkConfig,
    options: CellOptions,
    mobile: MobileConfig,
    link: Link,
    /// How long a transmission takes, at least and at most.
    delay: (Duration, Duration),
    /// The mobiles' clock began so much later than that of the network.
    offset: Duration,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            seed: 1,
            mobiles: 1,
            network: NetworkConfig { is_apart: true, ..NetworkConfig::new(PDCHS, CodingScheme::Cs2) },
            options: CellOptions::default(),
            mobile: MobileConfig::default(),
            link: Link::perfect(),
            delay: (Duration::ZERO, Duration::ZERO),
            offset: Duration::from_millis(7_654_321),
        }
    }
}

/// A datagram under way: when it is there, and its octets.
type UnderWay = VecDeque<(Instant, Vec<u8>)>;

struct World {
    /// Of the network; the mobiles' time is less by the offset.
    now: Instant,
    network: (NetworkSide, Surroundings<Quiet>),
    mobiles: (MobileSide, Surroundings<Quiet>),
    down: UnderWay,
    up: UnderWay,
    delay: (Duration, Duration),
    offset: Duration,
    known: Known,
    is_cut: bool,
    came_up: Vec<Vec<u8>>,
    came_down: Vec<(u32, Vec<u8>)>,
    confirmed: usize,
    lost: Vec<Loss>,
    /// Uplink blocks that came: timeslot, frame number, and whether there is something in it.
    blocks_up: Vec<(u8, u32, bool)>,
    /// Octets of each.
    lengths_up: Vec<usize>,
}

impl World {
    fn new(plan: &Plan) -> Self {
        let options = plan.options;
        let network = NetworkSide::new(
            Pcu::new(plan.network, options),
            (ARFCN, -60),
            Information::new(id(), &options).unwrap(),
            (Capture::None, plan.link.clone()),
        );
        let around = |seed| Surroundings::new(seed, FRAMES, Quiet::default());
        Self {
            now: Instant::ZERO + plan.offset,
            network: (network, around(plan.seed)),
            mobiles: (MobileSide::new(plan.mobiles, plan.mobile, &plan.link), around(plan.seed + 1)),
            down: UnderWay::new(),
            up: UnderWay::new(),
            delay: plan.delay,
            offset: plan.offset,
            known: Known::default(),
            is_cut: false,
            came_up: Vec::new(),
            came_down: Vec::new(),
            confirmed: 0,
            lost: Vec::new(),
            blocks_up: Vec::new(),
            lengths_up: Vec::new(),
        }
    }

    fn here(&self) -> Instant {
        Instant::ZERO + self.now.since(Instant::ZERO + self.offset)
    }

    /// One side after the other does what is due; what they send is on its way.
    fn step(&mut self) {
        let here = self.here();
        let (network, around) = &mut self.network;
        around.now = self.now;
        while self.up.front().is_some_and(|(at, _)| *at <= self.now) {
            let (_, datagram) = self.up.pop_front().unwrap();
            let (header, begins) = Header::parse(&datagram).unwrap();
            if Channel::from_octet(header.sub_type) == Channel::Pdtch {
                self.blocks_up.push((header.timeslot, header.frame_number, datagram.len() > begins));
                self.lengths_up.push(datagram.len() - begins);
            }
            if let Some(heard) = Transmission::parse(&datagram).unwrap() {
                network.hear(self.now, &heard);
            }
        }
        network.run(&mut around.context());
        let (least, most) = self.delay;
        let mut arrives = |last: &UnderWay, now: Instant| {
            let delay = Duration(least.0 + around.rng.below((most.0 - least.0).max(1)));
            (now + delay).max(last.back().map_or(Instant::ZERO, |(at, _)| *at))
        };
        while let Some(frame) = network.pop_sent() {
            let at = arrives(&self.down, self.now);
            if !self.is_cut {
                self.down.push_back((at, frame.to_vec()));
            }
        }
        while let Some(from) = network.pop_from_mobile() {
            self.came_up.push(from.frame.to_vec());
        }
        while let Some(fate) = network.pop_fate() {
            match fate {
                Fate::Arrived(_) => self.confirmed += 1,
                Fate::Lost(_, loss) => self.lost.push(loss),
            }
        }
        let (mobiles, around) = &mut self.mobiles;
        around.now = here;
        while self.down.front().is_some_and(|(at, _)| *at <= self.now) {
            let (_, datagram) = self.down.pop_front().unwrap();
            let heard = Transmission::parse(&datagram).unwrap().unwrap();
            if heard.channel == Logical::Broadcast {
                self.known.read(heard.octets);
            }
            mobiles.hear(here, &heard);
        }
        mobiles.run(&mut around.context());
        while let Some(frame) = mobiles.pop_sent() {
            let at = arrives(&self.up, self.now);
            if !self.is_cut {
                self.up.push_back((at, frame.to_vec()));
            }
        }
        while let Some(came) = mobiles.pop_for_mobile() {
            self.came_down.push((came.mobile, came.frame.to_vec()));
        }
    }

    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            self.step();
            let of_mobiles = self.mobiles.0.next_event().map(|at| at + self.offset);
            let under_way = [&self.down, &self.up].map(|queue| queue.front().map(|(at, _)| *at));
            let next = [self.network.0.next_event(), of_mobiles].into_iter().chain(under_way);
            match next.flatten().min().filter(|at| *at <= end) {
                Some(at) => self.now = self.now.max(at),
                None => break,
            }
        }
        self.now = end;
        self.step();
    }

    /// Waits for both system informations, and goes to the cell.
    fn camp(&mut self) {
        self.pass(Duration::from_secs(1));
        let (cell, options) = self.known.cell().unwrap();
        assert_eq!(cell, id());
        self.mobiles.0.tune(ARFCN, options);
        self.pass(Duration::from_secs(1));
    }

    fn down(&mut self, mobile: u32, octets: &[u8]) {
        let (network, around) = &mut self.network;
        let frame = around.frames.copy_of(octets).unwrap();
        let pdu = LlPdu {
            mobile,
            tlli: tlli(mobile),
            expires: Instant(u64::MAX),
            priority: RadioPriority::Four,
            frame,
        };
        network.pcu_mut().request(pdu, class_of_ll_pdu(octets), true).unwrap();
        network.touched(self.now);
    }

    fn up(&mut self, mobile: u32, octets: &[u8]) {
        let frame = self.mobiles.1.frames.copy_of(octets).unwrap();
        let here = self.here();
        self.mobiles.0.request(here, mobile, (tlli(mobile), RadioPriority::Four), frame).unwrap();
    }
}

/// LL-PDUs both ways, however long transmissions take as long as they come within a block.
#[test]
fn ll_pdus_pass_between_sides_that_share_nothing_but_the_air() {
    let ms = Duration::from_millis;
    for (delay, two_phase) in
        [((ms(0), ms(0)), false), ((ms(0), ms(0)), true), ((ms(0), ms(5)), false), ((ms(2), ms(7)), true)]
    {
        let mobile = MobileConfig { two_phase, ..MobileConfig::default() };
        let mut world = World::new(&Plan { mobiles: 3, delay, mobile, ..Plan::default() });
        world.camp();
        for mobile in 0..3 {
            world.mobiles.0.assign_tlli(mobile, tlli(mobile));
        }
        let all: Vec<(u32, Vec<u8>)> = (0..30).map(|n| (n % 3, octets(n, 50 + 40 * n as usize))).collect();
        for (mobile, pdu) in &all {
            world.up(*mobile, pdu);
            world.down(*mobile, pdu);
        }
        world.pass(Duration::from_secs(30));
        let of = |came: &[Vec<u8>], mobile: u32| -> Vec<Vec<u8>> {
            let its = |pdu: &&Vec<u8>| u32::from_be_bytes(pdu[..4].try_into().unwrap()) % 3 == mobile;
            came.iter().filter(its).cloned().collect()
        };
        let sent: Vec<Vec<u8>> = all.iter().map(|(_, pdu)| pdu.clone()).collect();
        let down: Vec<Vec<u8>> = world.came_down.iter().map(|(_, pdu)| pdu.clone()).collect();
        for mobile in 0..3 {
            assert_eq!(of(&world.came_up, mobile), of(&sent, mobile), "up {delay:?}");
            assert_eq!(of(&down, mobile), of(&sent, mobile), "down {delay:?}");
        }
        assert!(world.came_down.iter().all(|(to, pdu)| all.contains(&(*to, pdu.clone()))), "its own");
        assert_eq!((world.confirmed, &world.lost[..]), (30, &[][..]));
        assert_eq!((world.network.0.counts().faults.unreadable, world.mobiles.0.counts().unreadable), (0, 0));
        // Nothing is left of them.
        assert_eq!((world.network.1.frames.free(), world.mobiles.1.frames.free()), (FRAMES, FRAMES));
    }
}

/// Acknowledgements have the form that the cell broadcasts. Four access bursts alike are one transmission, of one octet or two.
#[test]
fn acknowledgements_in_the_form_of_the_cell_pass_between_the_sides() {
    for (control_ack, access_burst, length) in [
        (AckType::ControlBlock, AccessBurst::Bits8, 23),
        (AckType::AccessBursts, AccessBurst::Bits8, 1),
        (AckType::AccessBursts, AccessBurst::Bits11, 2),
    ] {
        let options = CellOptions { control_ack, access_burst, ..CellOptions::default() };
        let mut world = World::new(&Plan { options, ..Plan::default() });
        world.camp();
        for name in 0..5 {
            world.up(0, &octets(name, 300));
            world.down(0, &octets(name, 300));
            world.pass(Duration::from_secs(3));
        }
        assert_eq!((world.came_up.len(), world.came_down.len(), world.confirmed), (5, 5, 5));
        let bursts = world.lengths_up.iter().filter(|octets| **octets == length).count();
        assert!(bursts >= 5, "{bursts} answers of {length} octets");
        let counts = world.network.0.counts();
        assert_eq!((counts.faults.unreadable, counts.uplink_collisions, counts.late), (0, 0, 0));
        // A TBF for a burst whose mobile has been given a downlink TBF meanwhile ends with T3169.
        world.pass(Duration::from_secs(10));
        assert_eq!(world.network.0.pcu().tbfs(), (0, 0));
    }
}

/// Whatever is lost, nothing comes that was not sent, in another's name or changed; all that comes is in its order.
#[test]
fn in_random_worlds_nothing_comes_but_what_was_sent() {
    for seed in 0..60 {
        let c_over_i = 9.0 + (seed % 10) as f64;
        let plan = Plan {
            seed,
            mobiles: 4,
            link: Link::new(Profile::default(), c_over_i, None),
            delay: (Duration::ZERO, Duration::from_millis(seed % 12)),
            ..Plan::default()
        };
        let mut world = World::new(&plan);
        world.camp();
        for n in 0..40 {
            let (mobile, pdu) = (n % 4, octets(n, 40 + 23 * n as usize));
            world.up(mobile, &pdu);
            world.down(mobile, &pdu);
            world.pass(Duration::from_millis(200));
        }
        world.pass(Duration::from_secs(120));
        let number = |pdu: &Vec<u8>| u32::from_be_bytes(pdu[..4].try_into().unwrap());
        let is_sent = |pdu: &Vec<u8>| *pdu == octets(number(pdu), 40 + 23 * number(pdu) as usize);
        assert!(world.came_up.iter().all(is_sent), "seed {seed}");
        assert!(
            world.came_down.iter().all(|(to, pdu)| is_sent(pdu) && number(pdu) % 4 == *to),
            "seed {seed}"
        );
        // What nobody says was lost has come; a copy may follow where an acknowledgement was lost.
        let mut down: Vec<u32> = world.came_down.iter().map(|(_, pdu)| number(pdu)).collect();
        down.sort_unstable();
        down.dedup();
        assert!(down.len() + world.lost.len() >= 40, "seed {seed}: {} {:?}", down.len(), world.lost);
        assert_eq!(world.confirmed + world.lost.len(), 40, "seed {seed}");
        assert_eq!(world.network.1.frames.free(), FRAMES, "seed {seed}");
    }
}

/// Each uplink block of the timeslot is a mobile's or an empty one, with which nothing happens. After a pause of the mobiles, blocks
/// of that time are not made up.
#[test]
fn each_uplink_block_of_a_timeslot_is_given_where_that_is_asked_for() {
    let mut world = World::new(&Plan::default());
    world.camp();
    world.up(0, &octets(1, 1000));
    world.pass(Duration::from_secs(3));
    let &[(slot, ..), ..] = &world.blocks_up[..] else { panic!("nothing was sent") };
    assert!(world.blocks_up.iter().all(|(on, _, is_full)| *on == slot && *is_full));
    world.blocks_up.clear();
    world.mobiles.0.give_empty_blocks(Some(slot));
    world.up(0, &octets(2, 1000));
    world.pass(Duration::from_secs(3));
    assert_eq!(world.came_up, [octets(1, 1000), octets(2, 1000)]);
    let next = |number: u32| BlockPeriod(0).next_with_frame(number).unwrap().after(1).frame_number();
    let up = &world.blocks_up;
    assert!(up.windows(2).all(|pair| pair[1].1 == next(pair[0].1)), "{up:?}");
    let full = up.iter().filter(|(on, _, is_full)| *on == slot && *is_full).count();
    assert!(full > 30 && (149..152).contains(&up.len()), "{full} of {}", up.len());
    assert_eq!(world.network.0.counts().faults.unreadable, 0);
    // The mobiles stand still for a minute.
    let before = world.blocks_up.len();
    world.now += Duration::from_secs(60);
    let here = world.here();
    world.mobiles.1.now = here;
    world.mobiles.0.run(&mut world.mobiles.1.context());
    let made: Vec<_> = core::iter::from_fn(|| world.mobiles.0.pop_sent()).collect();
    assert!(made.len() <= 1, "{} made up", made.len());
    world.mobiles.0.give_empty_blocks(None);
    world.pass(Duration::from_secs(1));
    assert_eq!(world.blocks_up.len(), before);
}

/// The cell begins to count its frames anew, as one that was started again: what waits is sent in it.
#[test]
fn mobiles_follow_a_cell_that_counts_anew() {
    let mut world = World::new(&Plan::default());
    world.camp();
    world.up(0, &octets(1, 500));
    world.pass(Duration::from_secs(3));
    assert_eq!(world.came_up.len(), 1);
    world.up(0, &octets(2, 1500));
    world.pass(Duration::from_millis(400));
    let mut fresh = World::new(&Plan { seed: 9, offset: Duration::ZERO, ..Plan::default() });
    fresh.is_cut = true;
    fresh.pass(Duration::from_millis(123_456));
    (world.network, world.down, world.up) = (fresh.network, fresh.down, fresh.up);
    let here = world.here();
    (world.offset, world.now) = (fresh.now.since(here), fresh.now);
    world.pass(Duration::from_secs(10));
    assert_eq!(world.mobiles.0.counts().restarts, 3, "before it was known, in the cell, and now");
    assert_eq!(world.came_up, [octets(1, 500), octets(2, 1500)]);
}

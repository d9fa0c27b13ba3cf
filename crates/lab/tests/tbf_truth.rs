//! What the analyser counts of RLC in a capture is what the nodes counted themselves, in random worlds.
//!
//! The analyser has the blocks as GSMTAP and nothing else. It finds from frame numbers when a report was made; the nodes know it by what
//! they had sent then. `TBF_WORLDS=N` runs so many, `TBF_SEED=N` that one.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use gannet_analysis::decode::radio::{Tapped, tapped};
use gannet_analysis::radio::report::{RadioReport, Tbf};
use gannet_analysis::radio::{Radio as Blocks, Settings};
use gannet_analysis::record::{Direction, Proof, Seen, Stamp};
use gannet_machine::Surroundings;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_node::bss::radio::{Claim, Pending, Radio, RlcMacConfig, RlcMacRadio, Urgency, Way};
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_proto::rlcmac::network::BlockCounts;
use gannet_proto::rlcmac::policy::{Idle, Policy, UplinkAcks};
use gannet_proto::rlcmac::rlc::{Age, RlcCounts};
use gannet_proto::rlcmac::tap::{Interface, Scope};
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::coding::CodingScheme;

const ABIS: u16 = 0;
const UM: u16 = 1;

struct World {
    around: Surroundings<Quiet>,
    radio: RlcMacRadio,
    blocks: Blocks,
    frames: u64,
}

fn policy(dice: &mut Rng) -> Policy {
    let every = 1 + dice.below(20) as u16;
    Policy {
        poll_every: every,
        poll_after_loss: 1 + dice.below(u64::from(every)) as u16,
        polls_max: 1 + dice.below(4) as u8,
        age: [Age::Ignored, Age::Spares, Age::SparesAndFinds][dice.below(3) as usize],
        polls_anew: dice.chance(0.5),
        idle: [Idle::InTurn, Idle::Spare, Idle::SpareOnce, Idle::ToPoll][dice.below(4) as usize],
        spares_reports: dice.chance(0.5),
        uplink_acks: if dice.chance(0.5) { UplinkAcks::OnGap } else { UplinkAcks::Every },
        ack_every: 1 + dice.below(40) as u16,
    }
}

impl World {
    fn new(seed: u64, dice: &mut Rng, policy: Policy, is_sparing: bool, is_lossy: bool) -> Self {
        let coding = CodingScheme::ALL[dice.below(4) as usize];
        let pdchs = [0b0001_0000, 0b0011_0000, 0b1111_0000][dice.below(3) as usize];
        let mut network = NetworkConfig {
            policy,
            delayed_release: Duration::from_millis([0, 300, 2000][dice.below(3) as usize]),
            force_two_phase: dice.chance(0.5),
            downlink_slots: 1 + dice.below(4) as u8,
            uplink_slots: 1 + dice.below(2) as u8,
            ..NetworkConfig::new(pdchs, coding)
        };
        network.uplink_coding = coding;
        let mut config = RlcMacConfig::new(network);
        config.mobile.sparing = is_sparing;
        config.mobile.multislot_class = 12;
        if is_lossy {
            let profile = config.channel.profile;
            config.channel.c_over_i_db = Some(profile.reference_db(coding) + 4.0 + 8.0 * dice.unit());
        }
        let mut radio = RlcMacRadio::new(config, [50_000], 8);
        radio.observe(Some(Scope::Both));
        let around = Surroundings::new(seed, 4096, Quiet::default());
        Self { around, radio, blocks: Blocks::new(Settings::default()), frames: 0 }
    }

    /// Goes on until a time, and shows the analyser what was on the air.
    fn run_until(&mut self, until: Instant) {
        loop {
            let events = [Way::Downlink, Way::Uplink].map(|way| self.radio.next_event(0, way));
            let next = events.into_iter().flatten().min().filter(|next| *next <= until);
            self.around.now = next.unwrap_or(until).max(self.around.now);
            for way in [Way::Downlink, Way::Uplink] {
                while self.radio.indication(&mut self.around.context(), 0, way).is_some() {}
            }
            self.look();
            if next.is_none() {
                return;
            }
        }
    }

    fn look(&mut self) {
        let tap = self.radio.tap_mut(0).unwrap();
        assert_eq!(tap.take_missed(), 0);
        while let Some(sighting) = tap.pop() {
            self.frames += 1;
            let Tapped::Block(block, _) = tapped(&sighting.gsmtap(), &sighting.octets) else {
                panic!("{sighting:?}");
            };
            let place = if sighting.interface == Interface::Abis { ABIS } else { UM };
            let proof = Proof { file: 0, frame: self.frames };
            self.blocks.take(&Seen { at: Stamp(sighting.at.0), proof, place, what: block });
        }
    }

    fn send(&mut self, way: Way, mobile: u32, name: u32, len: usize) {
        let mut octets = name.to_be_bytes().to_vec();
        octets.insert(0, 3);
        octets.extend((0..len).map(|at| (at as u32 ^ name) as u8));
        let frame = self.around.frames.copy_of(&octets).unwrap();
        let (expires, urgency) = (Instant(u64::MAX), Urgency::Normal);
        let pdu = Pending { mobile, tlli: Tlli(0xc000_0000 + mobile), expires, urgency, frame };
        let _ = self.radio.request(self.around.now, 0, way, pdu, Claim::New);
    }
}

/// Of a life: what the analyser says, and what PCU and mobiles counted.
fn live(seed: u64, ours: bool, is_lossy: bool) -> (RadioReport, RlcCounts, RlcCounts, BlockCounts) {
    let mut dice = Rng::seeded(seed);
    let drawn = policy(&mut dice);
    let policy = if ours { Policy::SPARING } else { drawn };
    let is_sparing = ours || dice.chance(0.5);
    let mut world = World::new(seed, &mut dice, policy, is_sparing, is_lossy);
    let mobiles = 1 + dice.below(3) as u32;
    for mobile in 0..mobiles {
        world.radio.camp_on(Instant::ZERO, 0, mobile);
    }
    for name in 0..(10 + dice.below(80) as u32) {
        let way = if dice.chance(0.6) { Way::Downlink } else { Way::Uplink };
        world.send(way, dice.below(mobiles.into()) as u32, name, 5 + dice.below(1400) as usize);
        let pause = Duration::from_millis(dice.below(500));
        world.run_until(world.around.now + pause);
    }
    world.run_until(world.around.now + Duration::from_secs(60));
    let mut of_mobiles = RlcCounts::default();
    world.radio.mobiles().for_each(|mobile| of_mobiles += mobile.mac.rlc_counts());
    let pcu = world.radio.cell(0).unwrap().pcu();
    let (network, counts) = (pcu.rlc_counts(), *pcu.counts());
    (world.blocks.finish(), network, of_mobiles, counts)
}

fn sum(report: &RadioReport, place: u16, direction: Direction, value: impl Fn(&Tbf) -> u64) -> u64 {
    let of = report.tbfs.iter().filter(|tbf| (tbf.place, tbf.direction) == (place, direction));
    of.map(value).sum()
}

fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    number("TBF_SEED").map_or_else(|| (0..number("TBF_WORLDS").unwrap_or(60)).collect(), |seed| vec![seed])
}

/// Downlink at Abis: each block is seen as it is sent, and each report that came. The channel loses blocks both ways.
#[test]
fn of_downlink_tbfs_the_analyser_counts_what_the_pcu_counted() {
    let mut all = [0; 7];
    for seed in seeds() {
        let (report, network, _, blocks) = live(seed, false, true);
        let of = |value: fn(&Tbf) -> u64| sum(&report, ABIS, Direction::Down, value);
        let sender = network.sender;
        let counted = [
            of(|tbf| tbf.blocks),
            of(|tbf| tbf.again.needed),
            of(|tbf| tbf.again.repeated),
            of(|tbf| tbf.again.premature),
            of(|tbf| tbf.again.polling),
            of(|tbf| tbf.polls_or_stalls),
            of(|tbf| tbf.stalls.len() as u64),
        ];
        let known = [
            sender.new,
            sender.asked,
            sender.early,
            sender.unasked - blocks.to_poll,
            blocks.to_poll,
            blocks.asked,
            sender.stalls,
        ];
        assert_eq!(counted, known, "seed {seed}: new, needed, repeated, premature, polling, polls, stalls");
        assert_eq!(of(|tbf| tbf.again.acknowledged), 0, "seed {seed}");
        let beside = of(|tbf| tbf.again.premature_beside_others);
        assert!(beside <= blocks.unasked_beside, "seed {seed}: {beside} of {}", blocks.unasked_beside);
        let cell = report.cells.iter().find(|cell| cell.place == ABIS).unwrap();
        assert_eq!(cell.down.dummy, blocks.dummy, "seed {seed}");
        let signalling = cell.down.reports + cell.down.assignments + cell.down.control;
        assert_eq!(signalling, blocks.control, "seed {seed}: control blocks");
        all.iter_mut().zip(counted).for_each(|(sum, more)| *sum += more);
    }
    if seeds().len() > 50 {
        // So little waits that no window is ever full.
        assert!(all[..6].iter().all(|sum| *sum > 0), "nothing is seen of something: {all:?}");
    }
}

/// Uplink at Um, where no acknowledgement is lost: each block is seen as a mobile sends it.
#[test]
fn of_uplink_tbfs_the_analyser_counts_what_the_mobiles_counted() {
    for seed in seeds() {
        let (report, _, mobiles, _) = live(seed, false, false);
        let of = |value: fn(&Tbf) -> u64| sum(&report, UM, Direction::Up, value);
        let sender = mobiles.sender;
        let again = [of(|tbf| tbf.again.needed), of(|tbf| tbf.again.repeated), of(|tbf| tbf.again.premature)];
        assert_eq!(
            (of(|tbf| tbf.blocks), again, of(|tbf| tbf.stalls.len() as u64)),
            (sender.new, [sender.asked, sender.early, sender.unasked], sender.stalls),
            "seed {seed}: new, needed, repeated, premature, stalls"
        );
    }
}

/// Uplink at Abis: what came is new or came before.
#[test]
fn of_uplink_blocks_that_came_the_analyser_counts_what_the_pcu_counted() {
    for seed in seeds() {
        let (report, network, _, blocks) = live(seed, false, true);
        let of = |value: fn(&Tbf) -> u64| sum(&report, ABIS, Direction::Up, value);
        let counted = of(|tbf| tbf.blocks + tbf.again.all());
        assert_eq!(counted, blocks.uplink_data, "seed {seed}");
        if blocks.uplink_nobodys == 0 && blocks.up.refused == 0 {
            assert_eq!(of(|tbf| tbf.blocks), network.receiver.accepted, "seed {seed}");
        }
    }
}

/// With the policy that spares blocks nothing goes again for a report that is too early, and nothing unasked while another has data.
#[test]
fn the_sparing_policy_repeats_nothing_and_takes_the_place_of_nobody() {
    let mut needed = 0;
    for seed in seeds() {
        let (report, network, mobiles, blocks) = live(seed, true, true);
        let repeated = |place, direction| sum(&report, place, direction, |tbf| tbf.again.repeated);
        assert_eq!((network.sender.early, repeated(ABIS, Direction::Down)), (0, 0), "seed {seed}");
        assert_eq!(mobiles.sender.early, 0, "seed {seed}");
        assert_eq!(blocks.unasked_beside, 0, "seed {seed}");
        needed += network.sender.asked;
    }
    assert!(needed > 0 || seeds().len() == 1, "nothing was lost");
}

//! The order of the two queues is that of self-clocked fair queueing with a tag for each packet, in exact fractions.

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;

/// Room for all that a test offers.
const POOL: u32 = 1 << 25;

/// A tag in parts of 1 / (R_EF · R_AF/BE).
type Tag = u128;

/// The scheduler as reference [12] of the paper has it: a packet gets its tag as it arrives.
#[derive(Default)]
struct Reference {
    waiting: [VecDeque<(u32, Tag)>; 2],
    /// Of the last packet that has arrived.
    last: [Tag; 2],
    /// Of the packet in service.
    now: Tag,
}

impl Reference {
    fn arrives(&mut self, lane: usize, octets: u32, weights: [u32; 2]) {
        let tag = self.last[lane].max(self.now) + Tag::from(octets) * Tag::from(weights[1 - lane]);
        self.last[lane] = tag;
        self.waiting[lane].push_back((octets, tag));
    }

    fn serves(&mut self) -> Option<(u32, u32)> {
        let first = [0, 1].map(|lane: usize| self.waiting[lane].front().map_or(Tag::MAX, |(_, tag)| *tag));
        let lane = usize::from(first[1] < first[0]);
        let (octets, tag) = self.waiting[lane].pop_front()?;
        self.now = tag;
        Some((u32::try_from(lane).unwrap(), octets))
    }
}

/// Stream 0 has the EF queue and is never too fast, stream 1 the other.
fn two(weights: [u32; 2]) -> EdgeQueues<u32> {
    let with = |weight| QueueConfig {
        rate: 1,
        weight,
        ..queue(Accounting::Exact { octets: POOL }, Excess::Present)
    };
    let config = Config { streams_max: 2, expedited: with(weights[0]), assured: with(weights[1]) };
    let all = |service| StreamConfig { service, rate: 0, burst: POOL };
    queues(config, &[all(Service::Expedited), all(Service::Assured)])
}

fn steps() -> impl Strategy<Value = Vec<Option<(u32, u32)>>> {
    let arrives = (0_u32..2, prop_oneof![Just(64_u32), Just(1500), 20..65_536_u32]);
    prop::collection::vec(prop_oneof![5 => arrives.prop_map(Some), 4 => Just(None)], 1..400)
}

fn weights() -> impl Strategy<Value = [u32; 2]> {
    let weight = prop_oneof![1..20_u32, 1..=config::MOST, Just(config::MOST)];
    [weight.clone(), weight]
}

/// Runs the steps from a virtual time on, and gives the order of service.
fn order(steps: &[Option<(u32, u32)>], weights: [u32; 2], start: u64) -> Vec<Option<(u32, u32)>> {
    let mut queues = two(weights);
    queues.now = VirtualTime::starting_at(start);
    let mut served = Vec::new();
    for step in steps {
        match step {
            Some((lane, octets)) => assert_eq!(offer(&mut queues, *lane, *octets), None),
            None => served.push(take(&mut queues)),
        }
    }
    served
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn it_is_that_of_a_tag_for_each_packet(steps in steps(), weights in weights()) {
        let mut reference = Reference::default();
        let mut expected = Vec::new();
        for step in &steps {
            match step {
                Some((lane, octets)) => reference.arrives(*lane as usize, *octets, weights),
                None => expected.push(reference.serves()),
            }
        }
        prop_assert_eq!(order(&steps, weights, 0), expected);
    }

    #[test]
    fn it_does_not_change_where_virtual_time_comes_to_its_highest_bit(
        steps in steps(), weights in weights(), before in 0..1_u64 << 40,
    ) {
        let start = (1 << 63) - 1 - before;
        prop_assert_eq!(order(&steps, weights, start), order(&steps, weights, 0));
    }
}

#[test]
fn virtual_time_wraps_in_a_queue_that_never_empties_and_is_reset_in_one_that_does() {
    let weights = [1, 1];
    let mut queues = two(weights);
    queues.now = VirtualTime::starting_at((1 << 63) - 2000);
    for octets in [1500, 1500, 1500] {
        offer(&mut queues, 0, octets);
        offer(&mut queues, 1, octets);
    }
    let mut times = Vec::new();
    while let Some((lane, _)) = take(&mut queues) {
        times.push((lane, format!("{:?}", queues.now)));
    }
    // From 2000 below the highest bit: 500 below it, then over it, and back to 0 when both are empty.
    let expected = [(0, (1_u64 << 63) - 500), (1, (1 << 63) - 500), (0, 1000), (1, 1000), (0, 2500), (1, 0)];
    assert_eq!(times, expected.map(|(lane, at)| (lane, format!("VirtualTime({at})"))));
}

#[test]
fn each_queue_gets_its_weight_of_the_octets() {
    let mut queues = two([9, 1]);
    let mut octets = [0_u32; 2];
    for round in 0..20_000_u32 {
        // Both always have something.
        for (lane, length) in [(0, 100 + round % 900), (1, 1500 - round % 900)] {
            while queues.view(lane).unwrap().waiting < 2 {
                assert_eq!(offer(&mut queues, lane, length), None);
            }
        }
        let (lane, length) = take(&mut queues).unwrap();
        octets[lane as usize] += length;
    }
    let part = f64::from(octets[0]) / f64::from(octets[0] + octets[1]);
    assert!((0.895..0.905).contains(&part), "{part}");
}

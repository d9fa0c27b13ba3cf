//! Calls take PDCHs and give them back, in the middle of all that RLC/MAC does: nothing is lost without a name, and nothing comes twice.

use crate::world::{FRAMES, PDCHS, Plan, World, octets, tlli};
use gannet_machine::time::{Duration, Instant};
use gannet_proto::rlcmac::air::Direction::{self, Down, Up};
use gannet_proto::rlcmac::air::Faults;
use gannet_proto::rlcmac::block::DownBlock;
use gannet_proto::rlcmac::channel::Link;
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig, Preempted, WithoutPdch};
use gannet_proto::rlcmac::mobile::{Keeps, MobileConfig};
use gannet_proto::rlcmac::multiframe::BlockPeriod;
use gannet_proto::rlcmac::network::{Loss, Pcu, PreemptionCounts};
use gannet_proto::rlcmac::signal::{self, Common};
use gannet_wire::rlcmac::coding::CodingScheme;
use std::collections::BTreeSet;

/// Two block periods and a frame: by then PDCHs that calls take are gone.
const GONE: Duration = Duration::from_millis(46);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn world_of(preempted: Preempted) -> World {
    let mut plan = Plan::default();
    plan.network.preempted = preempted;
    World::new(&plan)
}

fn counts(world: &World) -> PreemptionCounts {
    world.cell.pcu().preemption_counts()
}

/// LL-PDUs of a direction that were lost, and why.
fn lost(world: &World, direction: Direction) -> Vec<(Loss, Vec<u8>)> {
    let told = world.told.iter().filter(|told| told.direction == direction);
    told.filter_map(|told| Some((told.loss?, told.octets.clone()))).collect()
}

/// All LL-PDUs of these names have arrived, in their order.
fn all_arrived(world: &World, direction: Direction, names: core::ops::Range<u32>, len: usize, about: &str) {
    let expected: Vec<_> = names.map(|name| (0, octets(name, len))).collect();
    assert_eq!(world.arrived(direction), expected, "{about}");
    assert_eq!(world.cell.counts().faults, Faults::default(), "{about}");
    assert_eq!((world.cell.pcu().tbfs(), world.cell.pcu().waiting()), ((0, 0), (0, 0)), "{about}");
    assert_eq!(world.around.frames.free(), FRAMES, "{about}");
}

/// States of the TBFs of a direction.
fn states(world: &World, direction: Direction) -> Vec<&'static str> {
    world.cell.pcu().tbf_views(direction).map(|tbf| tbf.state).collect()
}

/// Calls take all PDCHs at each of these times after the begin, for 900 ms, while LL-PDUs go one way. Gives the states of TBFs that they met.
fn sweep(plan: &Plan, direction: Direction, times: impl Iterator<Item = u64>) -> BTreeSet<&'static str> {
    let mut met = BTreeSet::new();
    for at in times {
        let mut world = World::new(plan);
        let about = format!("{direction:?} at {at} ms");
        for name in 0..4 {
            match direction {
                Down => world.down(0, &octets(name, 300)),
                Up => world.up(0, &octets(name, 300)),
            }
        }
        world.pass(ms(at));
        met.extend(states(&world, direction));
        world.hold(PDCHS);
        world.pass(GONE);
        assert_eq!(world.cell.pcu().pdchs(), 0, "{about}");
        let before = world.told.len();
        world.pass(ms(900));
        assert_eq!(world.told.len(), before, "{about}: nothing goes without a PDCH");
        world.hold(0);
        world.settle();
        all_arrived(&world, direction, 0..4, 300, &about);
        assert!(counts(&world).complete == 1 && counts(&world).returns == 1, "{about}: {:?}", counts(&world));
    }
    met
}

#[test]
fn in_the_middle_of_a_downlink_set_up() {
    // Untold, told on the CCCH, told of more timeslots on the PACCH.
    let met = sweep(&Plan::default(), Down, (0..160).step_by(3));
    assert!(met.contains("assigning") && met.contains("flowing"), "{met:?}");
    let mut plan = Plan::default();
    plan.network.confirm_assignment = true;
    let met = sweep(&plan, Down, (0..160).step_by(3));
    assert!(met.contains("assigning") && met.contains("confirming"), "{met:?}");
}

#[test]
fn in_the_middle_of_an_uplink_set_up() {
    for two_phase in [false, true] {
        let mobile = MobileConfig { two_phase, ..MobileConfig::default() };
        let met = sweep(&Plan { mobile, ..Plan::default() }, Up, (0..500).step_by(7));
        assert!(met.contains("flowing"), "{met:?}");
    }
}

#[test]
fn in_the_middle_of_a_poll() {
    // Downlink each block polls, and the last reports are awaited at the end; uplink each is answered, and the final one polls.
    let mut plan = Plan::default();
    (plan.network.policy.poll_every, plan.network.policy.ack_every) = (1, 1);
    let met = sweep(&plan, Down, (100..900).step_by(11));
    assert!(met.contains("flowing") && met.contains("finishing") && met.contains("released"), "{met:?}");
    let met = sweep(&plan, Up, (300..2000).step_by(23));
    assert!(met.contains("flowing") && met.contains("finishing"), "{met:?}");
}

#[test]
fn in_the_middle_of_a_cell_change() {
    for preempted in [Preempted::Forward, Preempted::Flush] {
        for after in (0..60).step_by(5) {
            let mut world = world_of(preempted);
            for name in 0..6 {
                world.down(0, &octets(name, 900));
                world.up(0, &octets(100 + name, 500));
            }
            world.pass(ms(1300));
            world.hold(PDCHS);
            world.pass(ms(after));
            let mut left = Vec::new();
            world.cell.pcu_mut().forget_mobile(0, |pdu| left.push(pdu.frame.to_vec()));
            world.cell.leave(0);
            let mac = &mut world.mobiles[0].mac;
            mac.change_cell(CellOptions::default());
            mac.take_queue(|pdu| left.push(pdu.frame.to_vec()));
            world.cell.touched(world.around.now, None, &world.mobiles);
            world.hold(0);
            world.settle();
            let told: Vec<_> = world.told.iter().map(|told| told.octets.clone()).collect();
            let mut all: Vec<_> = told.into_iter().chain(left).collect();
            all.sort();
            let expected = (0..6).map(|name| octets(name, 900));
            let expected: Vec<_> = expected.chain((100..106).map(|name| octets(name, 500))).collect();
            assert_eq!(all, expected, "{preempted:?}, {after} ms");
            assert_eq!((world.cell.pcu().tbfs(), world.around.frames.free()), ((0, 0), FRAMES));
        }
    }
}

#[test]
fn in_the_middle_of_another_preemption() {
    for direction in [Down, Up] {
        for (first, second) in [(0b1000_0000, PDCHS), (0b0111_0000, PDCHS), (PDCHS, 0b0011_0000)] {
            for between in (0..100).step_by(4) {
                let mut world = World::new(&Plan::default());
                let about = format!("{direction:?} {first:b} {second:b}, {between} ms between");
                for name in 0..10 {
                    match direction {
                        Down => world.down(0, &octets(name, 300)),
                        Up => world.up(0, &octets(name, 300)),
                    }
                }
                world.pass(ms(500));
                world.hold(first);
                world.pass(ms(between));
                world.hold(second);
                world.pass(ms(between));
                // Back, and gone again before anybody can have heard.
                world.hold(0);
                world.pass(ms(between / 2));
                world.hold(PDCHS);
                world.pass(ms(300));
                world.hold(0);
                world.settle();
                all_arrived(&world, direction, 0..10, 300, &about);
            }
        }
    }
}

#[test]
fn a_tbf_that_has_other_pdchs_goes_on_with_these_and_gets_the_others_back() {
    let mut world = World::new(&Plan::default());
    (0..120).for_each(|name| world.down(0, &octets(name, 300)));
    let set = |world: &World| world.cell.pcu().tbf_views(Down).next().map(|tbf| (tbf.tfi, tbf.slots));
    world.pass(ms(1000));
    let before = set(&world).unwrap();
    assert_eq!(before.1.count_ones(), 3);
    let one = 1 << before.1.trailing_zeros();
    world.hold(!one);
    let came = |world: &World| world.arrived(Down).len();
    world.pass(ms(200));
    let at = came(&world);
    world.pass(ms(2000));
    // A PDCH of CS-2 carries 12 kbit/s: ten LL-PDUs in two seconds.
    assert_eq!((set(&world), counts(&world).partial), (Some((before.0, one)), 1));
    assert!((8..=11).contains(&(came(&world) - at)), "{}", came(&world) - at);
    world.hold(0);
    world.pass(ms(200));
    let wider = set(&world).unwrap();
    assert_eq!((wider.0, wider.1.count_ones()), (before.0, 3), "the same TBF");
    world.settle();
    all_arrived(&world, Down, 0..120, 300, "partial");
    assert_eq!((counts(&world).broken_down, counts(&world).complete), (0, 0));
}

#[test]
fn an_uplink_tbf_goes_on_with_the_pdchs_that_are_left() {
    let mut plan = Plan::default();
    plan.network.uplink_slots = 2;
    plan.network.multislot_class = gannet_proto::rlcmac::multislot::MultislotClass::new(12).unwrap();
    plan.mobile.multislot_class = 12;
    plan.mobile.two_phase = true;
    let mut world = World::new(&plan);
    (0..40).for_each(|name| world.up(0, &octets(name, 300)));
    world.pass(ms(1000));
    let view = |world: &World| world.cell.pcu().tbf_views(Up).next().map(|tbf| (tbf.tfi, tbf.slots));
    let (tfi, slots) = view(&world).unwrap();
    assert_eq!(slots.count_ones(), 2);
    let one = 1 << slots.trailing_zeros();
    world.hold(!one);
    world.pass(ms(500));
    assert_eq!(view(&world), Some((tfi, one)));
    world.hold(0);
    world.settle();
    all_arrived(&world, Up, 0..40, 300, "uplink");
    assert_eq!(counts(&world).broken_up, 0);
}

/// A downlink queue of ten LL-PDUs in the middle of the fourth, when all PDCHs go for this time. Gives what had arrived before.
fn ten(preempted: Preempted, span: Duration) -> (World, usize) {
    let mut world = world_of(preempted);
    (0..10).for_each(|name| world.down(0, &octets(name, 500)));
    world.pass(ms(600));
    world.hold(PDCHS);
    world.pass(GONE);
    let before = world.arrived(Down).len();
    assert!((2..8).contains(&before), "{before}");
    world.pass(span);
    world.hold(0);
    (world, before)
}

#[test]
fn flush_discards_all_and_what_comes_meanwhile_and_asks_for_nothing_afterwards() {
    let (mut world, before) = ten(Preempted::Flush, ms(3000));
    world.settle();
    let gone: Vec<_> = (before as u32..10).map(|name| (Loss::Preempted, octets(name, 500))).collect();
    assert_eq!(lost(&world, Down), gone);
    assert_eq!(counts(&world).discarded, gone.len() as u64);
    let at = world.told.iter().filter(|told| told.loss.is_some()).map(|told| told.at).max();
    assert!(at <= Some(Instant::ZERO + ms(600) + GONE), "at once: {at:?}");
    assert_eq!(world.cell.next_event(), None, "nothing is asked for");
    world.hold(PDCHS);
    world.down(0, &octets(20, 500));
    world.pass(ms(100));
    world.hold(0);
    world.down(0, &octets(21, 500));
    world.settle();
    assert_eq!(lost(&world, Down).last(), Some(&(Loss::Preempted, octets(20, 500))));
    assert_eq!(world.arrived(Down).last(), Some(&(0, octets(21, 500))));
    assert_eq!(world.around.frames.free(), FRAMES);
}

#[test]
fn hold_keeps_what_no_tbf_has_begun() {
    let (mut world, before) = ten(Preempted::Hold, ms(15_000));
    world.settle();
    let begun = lost(&world, Down);
    assert!((1..=4).contains(&begun.len()), "{}", begun.len());
    let of = |at: usize| octets(at as u32, 500);
    let expected: Vec<_> = (before..before + begun.len()).map(|at| (Loss::Preempted, of(at))).collect();
    assert_eq!(begun, expected, "the first that had not arrived");
    assert_eq!(world.arrived(Down).len(), 10 - begun.len());
    assert_eq!(world.arrived(Down).last(), Some(&(0, of(9))));
}

#[test]
fn hold_for_a_time_is_hold_and_then_flush() {
    let (mut world, before) = ten(Preempted::HoldFor(ms(2000)), ms(1900));
    world.settle();
    let (begun, came) = (lost(&world, Down).len(), world.arrived(Down).len());
    assert!(begun <= 4 && came == 10 - begun && came > before, "{begun} {came}");
    for span in [0, 2000, 63_000] {
        let (mut world, before) = ten(Preempted::HoldFor(ms(span)), ms(span + 100));
        world.settle();
        assert_eq!((world.arrived(Down).len(), lost(&world, Down).len()), (before, 10 - before), "{span} ms");
        let at = world.told.iter().filter(|told| told.loss.is_some()).map(|told| told.at).max().unwrap();
        let end = Instant::ZERO + ms(600 + span);
        assert!((end..=end + GONE).contains(&at), "{span} ms: {at}");
    }
}

/// From now until the first LL-PDU has arrived.
fn first_arrival(world: &mut World) -> Duration {
    let (since, before) = (world.around.now, world.arrived(Down).len());
    while world.arrived(Down).len() == before {
        world.pass(ms(1));
    }
    world.around.now.since(since)
}

#[test]
fn forward_goes_on_by_itself_as_soon_as_pdchs_return() {
    let mut idle = Vec::new();
    let mut returns = Vec::new();
    for shift in 0..40 {
        let mut world = World::new(&Plan { seed: shift, ..Plan::default() });
        world.pass(ms(1000 + 7 * shift));
        world.down(0, &octets(0, 500));
        idle.push(first_arrival(&mut world));
        for period in [1000, 3000, 6000, 15_000] {
            let (mut world, before) = ten(Preempted::Forward, ms(period + 7 * shift));
            returns.push(first_arrival(&mut world));
            world.settle();
            all_arrived(&world, Down, 0..10, 500, "forward");
            assert!(before < 10 && lost(&world, Down).is_empty());
        }
    }
    idle.sort_unstable();
    let worst = returns.iter().max().copied().unwrap();
    assert!(worst <= idle[idle.len() / 2] + ms(40), "{worst} for {:?}", idle[idle.len() / 2]);
}

#[test]
fn a_mobile_that_has_not_heard_of_it_gets_what_is_its_own_and_nothing_else() {
    for (direction, period) in [(Down, 500), (Down, 3000), (Down, 7000), (Up, 500), (Up, 3000), (Up, 7000)] {
        let mut world = World::new(&Plan { mobiles: 2, ..Plan::default() });
        for name in 0..6 {
            match direction {
                Down => world.down(0, &octets(name, 400)),
                Up => world.up(0, &octets(name, 400)),
            }
        }
        world.pass(ms(700));
        let deaf = |world: &mut World, link: Link| {
            (world.mobiles[0].downlink, world.mobiles[0].uplink) = (link.clone(), link);
        };
        deaf(&mut world, Link::with_rate(1.0));
        world.hold(PDCHS);
        world.pass(GONE);
        deaf(&mut world, Link::perfect());
        world.pass(ms(period));
        world.hold(0);
        // Others use what it believes to have.
        for name in 100..110 {
            world.down(1, &octets(name, 400));
            world.up(1, &octets(100 + name, 400));
        }
        world.settle();
        let about = format!("{direction:?} {period} ms");
        assert_eq!(world.cell.counts().faults, Faults::default(), "{about}");
        let its = |way, mobile| world.arrived(way).iter().filter(|(whose, _)| *whose == mobile).count();
        assert_eq!((its(direction, 0), its(Down, 1), its(Up, 1)), (6, 10, 10), "{about}");
    }
}

/// A mobile with something to send while all PDCHs are gone for so long: what arrived, what it gave up, and when the first came after the
/// return.
fn uplink_meanwhile(without_pdch: WithoutPdch, keeps: Keeps, period: u64) -> (usize, usize) {
    let mut plan = Plan::default();
    plan.network.without_pdch = without_pdch;
    plan.mobile.keeps = keeps;
    let mut world = World::new(&plan);
    (0..20).for_each(|name| world.up(0, &octets(name, 200)));
    world.pass(ms(800));
    world.hold(PDCHS);
    world.pass(ms(period));
    world.hold(0);
    world.settle();
    let access = world.cell.pcu().access_counts();
    let is_answered = without_pdch == WithoutPdch::Reject;
    // One that gives up at the first failure has nothing to ask for.
    let is_ignored = !is_answered && keeps != Keeps::Nothing;
    assert_eq!((access.rejects > 0, access.ignored > 0), (is_answered, is_ignored), "{access:?}");
    assert!(lost(&world, Up).iter().all(|(loss, _)| *loss == Loss::Contact));
    (world.arrived(Up).len(), lost(&world, Up).len())
}

#[test]
fn a_mobile_keeps_what_it_has_to_send_for_as_long_as_its_accesses_last() {
    assert_eq!(uplink_meanwhile(WithoutPdch::Ignore, Keeps::Accesses, 3000), (20, 0), "it tries for longer");
    let (came, given_up) = uplink_meanwhile(WithoutPdch::Ignore, Keeps::Nothing, 3000);
    assert!(came + given_up == 20 && given_up > 0, "the PDCHs of its TBF go: {came} {given_up}");
    let (came, given_up) = uplink_meanwhile(WithoutPdch::Ignore, Keeps::Accesses, 15_000);
    assert!(came + given_up == 20 && given_up > 0, "{came} {given_up}");
    assert_eq!(uplink_meanwhile(WithoutPdch::Ignore, Keeps::All, 15_000), (20, 0), "it holds");
    assert_eq!(uplink_meanwhile(WithoutPdch::Reject, Keeps::Accesses, 15_000), (20, 0), "it is told to wait");
}

#[test]
fn pdch_release_goes_on_each_pdch_that_goes_and_nothing_else() {
    let mut pcu = Pcu::new(NetworkConfig::new(PDCHS, CodingScheme::Cs2), CellOptions::default());
    let world = World::new(&Plan::default());
    pcu.hold_channels(Instant::ZERO, 0b0001_0000);
    assert_eq!((pcu.pdchs(), pcu.is_active()), (0b1110_0000, false), "nobody listens: it is gone at once");
    pcu.request(world.pdu(0, &octets(1, 900)), crate::world::class_of_ll_pdu(&[]), true).unwrap();
    let first = pcu.next_common_at(Instant::ZERO).unwrap();
    let message = pcu.next_common(Instant::ZERO, first).unwrap();
    assert!(matches!(message, Common::Downlink { tlli: its, .. } if its == tlli(0)));
    pcu.common_sent(&message);
    let at = BlockPeriod(10);
    pcu.begin(at.start(), at.0);
    pcu.hold_channels(at.start(), 0b0111_0000);
    pcu.begin(at.end(), at.0 + 1);
    for slot in 0..8 {
        let block = pcu.downlink(at.end(), slot, at.0 + 1);
        let release = match block {
            Some(DownBlock::Control { usf: 7, rrbp: None, message }) => Some(message),
            _ => None,
        };
        let expected = signal::Down::PdchRelease { available: 0b1000_0000 };
        assert_eq!(release, (5..7).contains(&slot).then_some(expected), "timeslot {slot}");
    }
    pcu.begin(BlockPeriod(12).start(), 12);
    assert_eq!((pcu.pdchs(), pcu.usable(), pcu.held_channels()), (0b1000_0000, 0b1000_0000, 0b0111_0000));
}

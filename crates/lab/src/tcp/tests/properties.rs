//! Whatever a path does, the receiver gets the stream, and the sender comes to an end.

use super::super::config::{Config, Growth};
use super::super::endpoint::{Ending, State};
use super::super::path::{Path, Transfer, octet_at, transfer};
use super::super::segment::Segment;
use super::{lossy, path_of, profile};
use crate::link::model::{Loss, Outage, Profile};
use gannet_machine::fabric::queue::EventQueue;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};

/// Each switch on its own, beside each profile.
fn configs() -> Vec<Config> {
    let mut all = Config::PROFILES.to_vec();
    for base in Config::PROFILES {
        all.extend([
            Config { sack: false, ..base },
            Config { timestamps: false, ..base },
            Config { sack: false, timestamps: false, window_scaling: false, ..base },
            Config { limited_transmit: false, frto: false, undo: false, validation: false, ..base },
            Config { delayed_ack: None, byte_counting: !base.byte_counting, ..base },
            Config { receive_buffer: 3000, send_buffer: 5000, ..base },
            Config { growth: Growth::Cubic, dsack: false, ..base },
        ]);
    }
    all
}

fn random_profile(rng: &mut Rng) -> Profile {
    let loss = if rng.chance(0.5) {
        Loss::Random(rng.unit() * 0.2)
    } else {
        Loss::Bursts { begin: rng.unit() * 0.05, end: 0.2 + rng.unit() * 0.8 }
    };
    Profile {
        rate: Some(20_000 + rng.below(2_000_000)),
        delay: Duration::from_millis(rng.below(400)),
        jitter: Duration::from_millis(rng.below(50)),
        loss,
        reordering: rng.unit() * 0.1,
        reorder_by: Duration::from_millis(rng.below(200)),
        limit: rng.chance(0.5).then(|| 3000 + rng.below(60_000)),
        outage: rng
            .chance(0.3)
            .then(|| Outage { after: rng.below(50), span: Duration::from_secs(rng.below(5)) }),
        ..Profile::default()
    }
}

/// `transfer` compares each octet.
#[test]
fn any_path_gives_exactly_the_stream() {
    let mut rng = Rng::seeded(2026);
    for (number, config) in configs().into_iter().cycle().take(320).enumerate() {
        let profiles = [random_profile(&mut rng), random_profile(&mut rng)];
        // A burst of losses may outlast a connection that gives up.
        let config = Config { retries: 60, ..config };
        let octets = 1 + rng.below(120_000);
        let of = Transfer { config, profiles, octets, seed: rng.u64(), keeps_points: false };
        let outcome = transfer(&of).unwrap_or_else(|error| panic!("run {number}: {error}: {of:?}"));
        let [near, far] = &outcome.path.ends;
        assert_eq!((near.acknowledged(), far.arrived()), (octets, octets), "run {number}");
        assert_eq!(far.ending(), Some(Ending::Finished));
        assert!(matches!(near.state(), State::TimeWait | State::Closed), "run {number}: {:?}", near.state());
    }
}

/// A path that also doubles packets and shuffles them, with the SYNs near the wrap of the sequence numbers.
#[test]
fn doubled_and_shuffled_packets_give_exactly_the_stream() {
    for seed in 0..60 {
        let mut rng = Rng::seeded(seed);
        let configs = configs();
        let config = configs[usize::try_from(seed).unwrap() * 7 % configs.len()];
        let mut path = path_of(&config);
        let mut air: EventQueue<(usize, Vec<u8>)> = EventQueue::default();
        let (octets, mut total, mut now) = (40_000, 0, Instant::ZERO);
        let mut written = 0;
        let mut steps = 0_u32;
        while path.ends[1].ending().is_none() {
            steps += 1;
            assert!(steps < 200_000, "seed {seed} does not come to an end");
            while written < octets {
                let taken = path.ends[0].write(&[octet_at(written)]);
                written += taken as u64;
                if taken == 0 {
                    break;
                }
            }
            if written == octets {
                path.ends[0].close();
            }
            for octet in path.ends[1].read() {
                assert_eq!(octet, octet_at(total), "seed {seed}");
                total += 1;
            }
            if path.ends[1].has_read_all() {
                path.ends[1].close();
            }
            for (from, end) in path.ends.iter_mut().enumerate() {
                while let Some(packet) = end.poll_transmit(now) {
                    let copies = if rng.chance(0.1) { 0 } else { 1 + rng.below(2) };
                    for _ in 0..copies {
                        let at = now + Duration::from_millis(20 + rng.below(100));
                        air.push(at, (1 - from, packet.clone()));
                    }
                }
            }
            let wakes = path.ends.iter().filter_map(super::super::Endpoint::next_wake);
            let Some(next) = wakes.chain(air.next()).min() else { break };
            now = now.max(next);
            path.ends.iter_mut().for_each(|end| end.wake(now));
            while let Some((to, packet)) = air.pop_due(now) {
                path.ends[to].receive(&packet, now).unwrap();
            }
        }
        assert_eq!((total, path.ends[1].ending()), (octets, Some(Ending::Finished)), "seed {seed}");
    }
}

/// A dead path: R2, a RST, and nothing more to do.
#[test]
fn nobody_answers_for_ever() {
    let dead =
        Profile { outage: Some(Outage { after: 20, span: Duration::from_secs(1_000_000) }), ..profile() };
    for config in configs() {
        let of =
            Transfer { config, profiles: [dead, profile()], octets: 200_000, seed: 1, keeps_points: false };
        let error = transfer(&of).unwrap_err();
        assert!(error.contains("does not answer"), "{}: {error}", config.name);
    }
    let config = Config { retries: 3, ..Config::rfc() };
    let mut path = Path::new([&config; 2], [lossy(1.0), profile()], 1, [1, 1]);
    path.settle();
    while path.step() {
        path.settle();
    }
    assert_eq!(path.ends[0].ending(), Some(Ending::TimedOut));
    // 1 + 2 + 4 + 8 s.
    assert_eq!(path.now(), Instant(15_000_000_000));
}

/// Damaged packets are refused and change nothing.
#[test]
fn damage_is_as_a_loss() {
    let config = Config::rfc();
    let mut path = path_of(&config);
    path.keep_packets();
    path.ends[0].write(&[7; 5000]);
    path.settle();
    while path.ends[1].arrived() < 5000 {
        assert!(path.step());
        path.settle();
    }
    let packets: Vec<Vec<u8>> = path.packets().iter().map(|(_, packet)| packet.clone()).collect();
    let mut rng = Rng::seeded(9);
    let before = path.ends[1].arrived();
    for packet in packets {
        let mut damaged = packet.clone();
        let at = usize::try_from(rng.below(packet.len() as u64)).unwrap();
        damaged[at] ^= 1 << rng.below(8);
        let now = path.now();
        assert!(path.ends[1].receive(&damaged, now).is_err());
        assert!(Segment::parse(&packet).is_ok());
    }
    assert_eq!(path.ends[1].arrived(), before);
}

/// The same seed gives the same octets.
#[test]
fn a_transfer_is_repeated_from_its_seed() {
    let config = Config::linux_6_cubic();
    let of =
        Transfer { config, profiles: [lossy(0.03), profile()], octets: 300_000, seed: 3, keeps_points: true };
    let [a, b] = [transfer(&of).unwrap(), transfer(&of).unwrap()];
    assert_eq!((a.arrivals, a.path.counts()), (b.arrivals, b.path.counts()));
    assert_eq!(a.path.ends[0].record().sequence, b.path.ends[0].record().sequence);
}

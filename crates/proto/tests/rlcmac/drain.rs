//! What a cell and its mobiles drain is measured: it follows the air, and who shares it; and little to do is not slow.

use crate::world::{Plan, World, octets};
use gannet_machine::time::Duration;
use gannet_proto::rlcmac::channel::Link;
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_proto::rlcmac::multiframe::BlockPeriod;
use gannet_wire::rlcmac::coding::CodingScheme::Cs2;

/// Three PDCHs of CS-2: 36 kbit/s.
const NOMINAL: u64 = 36_000;

fn plan(mobiles: u32) -> Plan {
    Plan { mobiles, network: NetworkConfig::new(0b1110_0000, Cs2), ..Plan::default() }
}

/// Rate of the cell and whether it was measured.
fn cell(world: &World) -> (u64, bool) {
    let rate = world.cell.pcu().drain_rate(BlockPeriod::at_or_before(world.around.now).0);
    (rate.bit_per_s, rate.is_measured)
}

/// Rates of the mobiles that are measured.
fn mobiles(world: &World) -> Vec<(u32, u64)> {
    let mut all = Vec::new();
    let period = BlockPeriod::at_or_before(world.around.now).0;
    world.cell.pcu().measured_mobiles(period, |mobile, rate, _| all.push((mobile, rate)));
    all
}

/// For so many seconds some LL-PDUs of 500 octets wait for each of these. What arrived is the rate in bit/s.
fn keep_busy(world: &mut World, whose: &[u32], seconds: u64) -> u64 {
    let before = world.told.len();
    for name in 0..(seconds * 10) as u32 {
        for mobile in whose {
            while world.cell.pcu().waiting_of(*mobile) < 2000 {
                world.down(*mobile, &octets(name, 500));
            }
        }
        world.pass(Duration::from_millis(100));
    }
    let arrived = world.told[before..].iter().map(|told| told.octets.len() as u64).sum::<u64>();
    arrived * 8 / seconds
}

fn is_near(value: u64, expected: u64, percent: u64) -> bool {
    value.abs_diff(expected) * 100 <= expected * percent
}

#[test]
fn the_rate_follows_the_air() {
    let mut world = World::new(&plan(1));
    assert_eq!((cell(&world), world.cell.pcu().default_drain_rate()), ((NOMINAL, false), NOMINAL));
    for lost in [0_u8, 10, 30, 60] {
        world.mobiles[0].downlink = Link::with_rate(f64::from(lost) / 100.0);
        keep_busy(&mut world, &[0], 6);
        let went = keep_busy(&mut world, &[0], 20);
        let (rate, is_measured) = cell(&world);
        let own = mobiles(&world).first().map_or(NOMINAL, |(_, own)| *own);
        // Where much is lost the mobile is silent at times, in which the cell could serve others.
        let is_steady = lost < 50;
        assert!(!is_steady || is_near(own, went, 15), "{lost} %: mobile {own} of {went}");
        assert!(!is_steady || is_near(rate, went, 15), "{lost} %: cell {rate} of {went}");
        assert!(is_measured && rate < NOMINAL - 200 * u64::from(lost) + 1, "{lost} %: cell {rate}");
        assert!(went <= NOMINAL - 300 * u64::from(lost), "{lost} %: {went}");
    }
    world.mobiles[0].downlink = Link::perfect();
    world.settle();
    world.pass(Duration::from_secs(31));
    assert_eq!((cell(&world), mobiles(&world)), ((NOMINAL, false), vec![]), "it is forgotten");
}

#[test]
fn a_mobile_has_its_share_and_the_cell_the_whole() {
    let mut world = World::new(&plan(4));
    keep_busy(&mut world, &[0, 1, 2, 3], 10);
    let shares = mobiles(&world);
    let (rate, _) = cell(&world);
    assert_eq!(shares.len(), 4);
    for (mobile, share) in &shares {
        assert!(is_near(*share, rate / 4, 20), "{mobile}: {share} of {rate}");
    }
    assert!(rate > NOMINAL * 85 / 100, "{rate}");
    // Three have enough: the fourth has the whole, as soon as the air has shown it.
    keep_busy(&mut world, &[2], 8);
    let own = mobiles(&world).iter().find(|(mobile, _)| *mobile == 2).unwrap().1;
    assert!(own > NOMINAL * 85 / 100, "{own}");
}

#[test]
fn who_has_little_to_do_is_not_slow() {
    let mut world = World::new(&plan(2));
    for second in 0..120_u32 {
        world.down(0, &octets(second, 100));
        if second % 5 == 0 {
            world.down(1, &octets(1000 + second, 1500));
        }
        world.pass(Duration::from_secs(1));
        assert!(cell(&world).0 >= NOMINAL * 80 / 100, "{second}: {:?}", cell(&world));
        let slow = mobiles(&world).into_iter().find(|(_, rate)| *rate < NOMINAL * 70 / 100);
        assert_eq!(slow, None, "second {second}");
    }
    assert!(mobiles(&world).iter().all(|(mobile, _)| *mobile != 0), "short ones alone say nothing");
}

#[test]
fn a_mobile_that_is_not_reached_drains_nothing() {
    let mut world = World::new(&plan(1));
    keep_busy(&mut world, &[0], 5);
    world.mobiles[0].downlink = Link::with_rate(1.0);
    for name in 0..8 {
        world.down(0, &octets(500 + name, 500));
    }
    world.pass(Duration::from_secs(20));
    let [(0, own)] = mobiles(&world)[..] else { panic!("{:?}", mobiles(&world)) };
    assert!(own < NOMINAL / 4, "{own}");
}

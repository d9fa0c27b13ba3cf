//! What a tap sees of the air: every block and burst once, as it was counted, and nothing that was not there.

use crate::world::{Plan, World, octets};
use gannet_machine::time::Duration;
use gannet_proto::rlcmac::air::Faults;
use gannet_proto::rlcmac::channel::{Capture, Link};
use gannet_proto::rlcmac::tap::{Fate, Interface, Kind, Scope, Sighting, Tap};
use gannet_wire::gsmtap::{HEADER_LEN, Header};

const MOBILES: u32 = 8;

fn plan(capture: Capture) -> Plan {
    Plan { seed: 7, mobiles: MOBILES, capture, link: Link::with_rate(0.2), ..Plan::default() }
}

/// Traffic both ways, with losses and collisions, and all that was seen of it.
fn world(plan: &Plan, scope: Option<Scope>) -> (World, Vec<Sighting>) {
    let mut world = World::new(plan);
    world.cell.set_tap(scope.map(|scope| Tap::new(scope, 17, Some(12))));
    let mut seen = Vec::new();
    for round in 0..6 {
        for mobile in 0..MOBILES {
            world.up(mobile, &octets(mobile + 100 * round, 300));
            world.down(mobile, &octets(50 + mobile + 100 * round, 700));
        }
        world.pass(Duration::from_secs(4));
        seen.extend(core::iter::from_fn(|| world.cell.tap_mut()?.pop()));
    }
    world.settle();
    seen.extend(core::iter::from_fn(|| world.cell.tap_mut()?.pop()));
    assert_eq!(world.cell.tap_mut().map_or(0, Tap::take_missed), 0);
    assert_eq!(world.cell.counts().faults, Faults::default());
    (world, seen)
}

fn count(seen: &[Sighting], interface: Interface, is_it: impl Fn(&Sighting) -> bool) -> u64 {
    seen.iter().filter(|sighting| sighting.interface == interface && is_it(sighting)).count() as u64
}

#[test]
fn every_block_is_seen_as_it_was_counted() {
    for capture in [Capture::None, Capture::Ratio(3.0)] {
        let (world, seen) = world(&plan(capture), Some(Scope::Both));
        let (blocks, air) = (*world.cell.pcu().counts(), world.cell.counts());
        let access = *world.cell.pcu().access_counts();
        let of = |interface, kind| count(&seen, interface, |sighting| sighting.kind == kind);
        for (kind, counted) in [
            (Kind::DownlinkData, blocks.data.iter().sum()),
            (Kind::DownlinkControl, blocks.control),
            (Kind::DownlinkDummy, blocks.dummy),
            (Kind::UplinkData, blocks.uplink_data),
            (Kind::UplinkControl, blocks.uplink_control),
            (Kind::UplinkDummy, blocks.uplink_dummy),
            (Kind::Rach, access.bursts),
            (Kind::Agch, access.uplink + access.single_blocks + access.downlink + access.rejects),
        ] {
            assert_eq!(of(Interface::Abis, kind), counted, "{kind:?}");
            let sent = of(Interface::Um, kind);
            assert!(if kind.is_uplink() { sent >= counted } else { sent == counted }, "{kind:?}: {sent}");
        }
        // What became of them.
        let lost =
            seen.iter().filter(|sighting| sighting.kind != Kind::Agch).map(|sighting| match &sighting.fate {
                Fate::Downlink(heard) => heard.lost.len() as u64,
                Fate::Handed | Fate::Uplink { .. } => 0,
            });
        assert_eq!(lost.sum::<u64>(), air.downlink_lost);
        let is_burst = |sighting: &Sighting| sighting.kind == Kind::Rach;
        let collided = |sighting: &Sighting| matches!(sighting.fate, Fate::Uplink { others: 1.., .. });
        let um = |is_it: &dyn Fn(&Sighting) -> bool| count(&seen, Interface::Um, is_it);
        assert_eq!(um(&|one| is_burst(one) && collided(one)), air.burst_collisions);
        assert_eq!(um(&|one| !is_burst(one) && collided(one)), air.uplink_collisions);
        let alone = |one: &Sighting| matches!(one.fate, Fate::Uplink { others: 0, is_read: false, .. });
        let lost = um(&|one| !is_burst(one) && alone(one));
        assert!(lost <= air.uplink_lost && lost + air.uplink_collisions >= air.uplink_lost);
        assert!(air.burst_collisions > 0 && air.downlink_lost > 100 && air.uplink_lost > 100, "{air:?}");
        // A mobile's bursts are all there, and none of another.
        let bursts = world.mobiles.iter().map(|mobile| mobile.mac.counts().bursts).sum::<u64>();
        assert_eq!(of(Interface::Um, Kind::Rach), bursts);
    }
}

#[test]
fn a_block_on_um_has_the_octets_that_abis_has() {
    let (_, seen) = world(&plan(Capture::None), Some(Scope::Both));
    let on = |interface: Interface, is_uplink: bool| {
        let them = seen.iter().filter(|one| one.interface == interface && one.kind.is_uplink() == is_uplink);
        let them = them.filter(|one| !matches!(one.fate, Fate::Uplink { is_read: false, .. }));
        let mut them: Vec<_> =
            them.map(|one| (one.frame_number, one.slot, one.kind, one.octets.clone())).collect();
        them.sort_unstable();
        them
    };
    for is_uplink in [false, true] {
        assert!(on(Interface::Abis, is_uplink).len() > 200);
        assert_eq!(on(Interface::Abis, is_uplink), on(Interface::Um, is_uplink), "uplink {is_uplink}");
    }
    assert!(seen.is_sorted_by_key(|one| one.at), "in the order of time");
    for one in &seen {
        let datagram = one.datagram();
        let (header, at) = Header::parse(&datagram).unwrap();
        assert_eq!((at, &datagram[at..]), (HEADER_LEN, &one.octets[..]));
        assert_eq!((header.arfcn, header.uplink, header.timeslot), (17, one.kind.is_uplink(), one.slot));
        let is_received = one.interface == Interface::Um || one.kind.is_uplink();
        assert_eq!(header.snr_db, if is_received { 12 } else { 0 });
    }
}

#[test]
fn a_tap_changes_nothing() {
    let plan = plan(Capture::Ratio(3.0));
    let (without, nothing) = world(&plan, None);
    let (both, _) = world(&plan, Some(Scope::Both));
    let (abis, seen) = world(&plan, Some(Scope::Abis));
    assert_eq!(nothing, []);
    assert_eq!((&without.told, &without.told), (&both.told, &abis.told));
    assert_eq!(without.cell.pcu().counts(), both.cell.pcu().counts());
    assert!(seen.len() > 400 && seen.iter().all(|one| one.interface == Interface::Abis));
}

#[test]
fn rlc_of_all_tbfs_is_kept() {
    let (world, _) = world(&plan(Capture::None), None);
    let (rlc, blocks) = (world.cell.pcu().rlc_counts(), *world.cell.pcu().counts());
    assert_eq!(world.cell.pcu().tbfs(), (0, 0), "all of them are over");
    assert_eq!(rlc.sender.sent(), blocks.data.iter().sum::<u64>());
    assert_eq!(rlc.sender.new, blocks.data[0]);
    assert!(
        rlc.receiver.accepted > 200 && rlc.receiver.arrived() <= blocks.uplink_data,
        "{:?}",
        rlc.receiver
    );
}

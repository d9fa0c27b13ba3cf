//! Octets of no sense at both ends: nothing panics, nothing is kept beyond its bounds, and the mobiles go on.

use super::net::{Choice, FRAMES, Net, Seen, key, peer_of_ap};
use crate::adaptation::Medium;
use gannet_machine::{EthernetAddress, Peer};
use gannet_wire::adaptation::MessageType;

/// What was once heard with some octets changed, cut or added, or octets of any kind.
fn garbage(dice: &mut fastrand::Rng, seen: &[Seen]) -> Vec<u8> {
    let mut octets = if dice.u8(0..4) == 0 {
        (0..dice.usize(0..80)).map(|_| dice.u8(..)).collect()
    } else {
        seen[dice.usize(..seen.len())].octets.clone()
    };
    for _ in 0..dice.usize(0..4) {
        if !octets.is_empty() {
            let at = dice.usize(..octets.len());
            octets[at] = dice.u8(..);
        }
    }
    match dice.u8(0..6) {
        0 => octets.truncate(dice.usize(..=octets.len())),
        1 => octets.extend((0..dice.usize(0..40)).map(|_| dice.u8(..))),
        2 => octets[..].first_mut().into_iter().for_each(|first| *first = 0x20 | dice.u8(0..18)),
        _ => {}
    }
    octets
}

#[test]
fn garbage_leaves_nothing() {
    for has_keys in [false, true] {
        for seed in 0..4 {
            let mut dice = fastrand::Rng::with_seed(seed);
            let mut net = Net::new(&Choice {
                has_keys,
                network_key: has_keys.then(|| key(9)),
                media: vec![Medium::Ethernet, Medium::Udp],
                mtu: 300,
                ..Choice::open(Medium::Ethernet)
            });
            net.seconds(2);
            for mobile in [0, 1] {
                assert!(net.exchange(0, mobile, 700));
            }
            let seen = net.seen.clone();
            let stranger = Peer::Ethernet(EthernetAddress([2, 7, 7, 7, 7, 7]));
            for _ in 0..3000 {
                let octets = garbage(&mut dice, &seen);
                match dice.u8(0..3) {
                    0 => net.up(0, &octets),
                    1 => net.down_from((0, peer_of_ap(0, Medium::Ethernet)), &octets),
                    _ => net.down_from((0, stranger), &octets),
                }
            }
            net.host.told.clear();
            net.aps[0].ll_pdus.clear();
            net.seconds(150);
            net.host.told.clear();
            assert_eq!(net.host.around.frames.free(), FRAMES, "{has_keys}, {seed}");
            assert_eq!(net.aps[0].around.frames.free(), FRAMES, "{has_keys}, {seed}");
            assert!(net.aps[0].machine.stations().len() <= 16);
            if has_keys {
                let serving = net.host.bearer.serving(0).unwrap();
                assert!(
                    net.exchange(usize::from(serving), 0, 700) && net.exchange(usize::from(serving), 1, 700)
                );
                let count = |kind: MessageType| {
                    net.seen.iter().filter(|seen| seen.octets[0] & 0x1f == kind.number()).count()
                };
                assert!(count(MessageType::Hello) < 200, "hellos are asked for once in an interval");
            }
        }
    }
}

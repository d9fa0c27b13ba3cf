//! Mobiles that know no cell: beacons name them.

use super::net::{Choice, Net, cell, key};
use crate::adaptation::{LEARNED_MAX, Medium};
use crate::bearer::Indication;
use gannet_machine::drops::Drop;
use gannet_machine::{EthernetAddress, Peer};
use gannet_wire::adaptation::{HEADER_LEN, MessageType};
use gannet_wire::id::CellId;

fn learned(net: &Net) -> Vec<(u16, CellId)> {
    let of = |told: &Indication| match told {
        Indication::Cell { cell, id } => Some((*cell, *id)),
        _ => None,
    };
    net.host.told.iter().filter_map(of).collect()
}

/// The last beacon of access point 0, with another cell identity.
fn beacon_of(net: &Net, ci: u16) -> Vec<u8> {
    let is_beacon = |octets: &[u8]| octets[0] & 0x1f == MessageType::Beacon.number();
    let mut beacon = net.seen.iter().rfind(|seen| is_beacon(&seen.octets)).unwrap().octets.clone();
    beacon[HEADER_LEN + 6..HEADER_LEN + 8].copy_from_slice(&ci.to_be_bytes());
    beacon
}

/// Beacons of so many cells from as many strangers.
fn flood(net: &mut Net, cells: u16) {
    for ci in 1000..1000 + cells {
        let [high, low] = ci.to_be_bytes();
        let stranger = Peer::Ethernet(EthernetAddress([2, 9, 9, 9, high, low]));
        net.down_from((0, stranger), &beacon_of(net, ci));
    }
}

#[test]
fn the_first_access_point_that_is_heard_is_taken_and_the_next_when_it_is_gone() {
    for has_keys in [false, true] {
        let media = vec![Medium::Ethernet, Medium::Udp];
        let mut net = Net::new(&Choice { has_keys, media, learns: true, ..Choice::open(Medium::Ethernet) });
        net.seconds(2);
        assert_eq!(learned(&net), [(0, cell(1)), (1, cell(2))]);
        assert_eq!(net.take_ups(), [(0, 0), (1, 0)]);
        assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 1400));
        net.lose = Box::new(|seen| seen.ap == 0);
        net.seconds(6);
        assert_eq!(net.take_ups(), [(0, 1), (1, 1)]);
        assert!(net.exchange(1, 0, 100) && net.exchange(1, 1, 1400));
    }
}

#[test]
fn a_flood_of_beacons_takes_no_cell_from_a_mobile_and_leaves_room_when_it_is_over() {
    let mut net = Net::new(&Choice { learns: true, ..Choice::open(Medium::Ethernet) });
    net.seconds(2);
    flood(&mut net, 300);
    let room = LEARNED_MAX - 1;
    assert_eq!(learned(&net).len(), usize::from(LEARNED_MAX));
    assert_eq!(net.drops_of_host(Drop::AdaptUnknownCell), u64::from(300 - room));
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
    // The flood is over: the cell that was silent longest gives way.
    net.seconds(5);
    assert!(net.exchange(0, 0, 100));
    net.host.told.clear();
    flood(&mut net, 1);
    assert!(learned(&net).is_empty(), "a cell that is still known");
    let stranger = Peer::Ethernet(EthernetAddress([2, 9, 9, 9, 0, 0]));
    net.down_from((0, stranger), &beacon_of(&net, 77));
    assert_eq!(learned(&net), [(2, cell(77))], "that of the first beacon has been heard again");
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
}

#[test]
fn with_a_key_of_the_network_only_its_beacons_count() {
    let mut net =
        Net::new(&Choice { learns: true, network_key: Some(key(9)), ..Choice::with_keys(Medium::Ethernet) });
    net.seconds(2);
    flood(&mut net, 20);
    assert_eq!(learned(&net), [(0, cell(1))]);
    assert_eq!(net.drops_of_host(Drop::AdaptBadMac), 20);
    assert!(net.exchange(0, 0, 100));
}

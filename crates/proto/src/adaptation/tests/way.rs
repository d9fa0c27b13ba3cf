//! Without anybody between them.

use super::net::{Choice, FRAMES, Net, cell, key, peer_of_ap, tlli};
use crate::adaptation::Medium;
use crate::bearer::{Indication, Order, PagedIdentity, Request};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::{EthernetAddress, Peer};
use gannet_wire::adaptation::{
    BEACON_LEN_MAX, HEADER_LEN, Identity, Level, LinkReport, MESSAGE_LEN_MAX, Message, MessageType, Pdu,
    Reachable,
};
use gannet_wire::id::{PTmsi, Tlli};

pub fn pdu(message: &Message<'_>, tlli: Tlli) -> Vec<u8> {
    let mut room = [0; MESSAGE_LEN_MAX];
    let length = message.emit(tlli, false, &mut room).unwrap();
    room[..length].to_vec()
}

fn each_choice() -> [Choice; 4] {
    [
        Choice::open(Medium::Ethernet),
        Choice::open(Medium::Udp),
        Choice { network_key: Some(key(9)), ..Choice::with_keys(Medium::Ethernet) },
        Choice::with_keys(Medium::Udp),
    ]
}

#[test]
fn mobiles_find_their_access_point_and_ll_pdus_pass_both_ways() {
    for choice in each_choice() {
        let mut net = Net::new(&choice);
        net.pass(Duration::from_millis(10));
        let mtu = if choice.has_keys { 1464 } else { 1492 };
        let mtus = net
            .host
            .told
            .iter()
            .filter(|told| matches!(told, Indication::Mtu { octets, .. } if *octets == mtu));
        assert_eq!(mtus.count(), 2);
        assert_eq!(net.take_ups(), [(0, 0), (1, 0)]);
        for mobile in [0, 1] {
            for octets in [1, 9, 300, usize::from(mtu)] {
                assert!(net.exchange(0, mobile, octets), "mobile {mobile}, {octets} octets");
            }
        }
        net.seconds(100);
        assert!(net.exchange(0, 1, 300));
        assert_eq!(
            (net.take_ups(), net.host.bearer.selection().get(0).unwrap().quality(net.now)),
            (vec![], 1000)
        );
        net.assert_no_drops();
        assert_eq!((net.host.around.frames.free(), net.aps[0].around.frames.free()), (FRAMES, FRAMES));
    }
}

/// A bearer of 200 octets: what is longer goes in pieces, in both directions and modes.
#[test]
fn long_ll_pdus_go_in_pieces() {
    for choice in each_choice() {
        let mut net = Net::new(&Choice { mtu: 200, ..choice });
        net.seconds(1);
        for octets in [180, 200, 700, 1500] {
            assert!(net.exchange(0, 0, octets), "{octets}");
        }
        assert!(net.seen.iter().all(|seen| seen.octets.len() <= 200));
        net.assert_no_drops();
        // A piece is missing: the LL-PDU is not.
        let mut count = 0;
        net.lose = Box::new(move |seen| {
            count += usize::from(seen.is_up && seen.octets.len() > 150);
            count == 2
        });
        net.aps[0].ll_pdus.clear();
        assert_eq!(net.send_up(0, 0, &[5; 700]), Ok(()));
        net.lose = Box::new(|_| false);
        net.seconds(3);
        assert!(net.aps[0].ll_pdus.is_empty());
        assert_eq!(net.drops_of_ap(0, Drop::AdaptSegmentTimeout), 1);
        assert!(net.send_up(0, 0, &[5; 1700]).is_ok(), "twelve pieces");
    }
    let mut net = Net::new(&Choice { mtu: 100, ..Choice::open(Medium::Ethernet) });
    net.seconds(1);
    assert_eq!(net.send_up(0, 0, &[5; 1500]), Err(Drop::AdaptTooLong));
    assert_eq!(net.send_down(0, 0, &[5; 1500]), Err(Drop::AdaptTooLong));
}

#[test]
fn paging_and_suspension_pass() {
    for choice in each_choice() {
        let mut net = Net::new(&choice);
        net.seconds(1);
        net.host.told.clear();
        net.seen.clear();
        let imsi = Identity::Imsi("001010000000001".parse().unwrap());
        for (is_cs, identity) in [(false, imsi), (true, imsi), (false, Identity::PTmsi(PTmsi(0x0000_0001)))] {
            net.at_ap(0, |ap, out| ap.machine.page(&mut ap.around.context(), 0, is_cs, identity, out));
        }
        // One that all hear, or one for each session; the P-TMSI says where it is.
        let each = if choice.has_keys { 2 } else { 1 };
        assert_eq!(net.seen.len(), 2 * each + 1);
        let count = |net: &Net, is_meant: fn(&Indication) -> bool| {
            net.host.told.iter().filter(|it| is_meant(it)).count()
        };
        assert_eq!(count(&net, |it| matches!(it, Indication::PagingCs)), each);
        let by_imsi = |it: &Indication| {
            matches!(it, Indication::PagingPs { cell: 0, identity: PagedIdentity::Imsi(_) })
        };
        assert_eq!(count(&net, by_imsi), each);
        let by_ptmsi = |it: &Indication| {
            matches!(it, Indication::PagingPs { identity: PagedIdentity::PTmsi(PTmsi(1)), .. })
        };
        assert_eq!(count(&net, by_ptmsi), 1);
        let rai = cell(1).rai;
        assert_eq!(net.request(1, 0, Request::Suspend(rai)), Ok(()));
        assert_eq!(net.request(1, 0, Request::Resume { rai, reference: 7 }), Ok(()));
        let said: Vec<&str> = net.aps[0].said.iter().map(|(_, _, what)| what.as_str()).collect();
        assert_eq!(said[said.len() - 2..], ["Suspend(Rai(001-01-7-1))", "Resume(Rai(001-01-7-1), 7)"]);
        net.at_ap(0, |ap, out| {
            let cx = ap.around.context();
            assert_eq!(ap.machine.suspended(&cx, u32::MAX, tlli(1), 7, out), Ok(()));
        });
        let is_it = |it: &Indication| matches!(it, Indication::Suspended { mobile: Some(1), reference: 7 });
        assert_eq!(count(&net, is_it), 1);
        net.assert_no_drops();
    }
}

/// Nobody gets a longer answer than its question.
#[test]
fn a_solicit_is_as_long_as_its_answer() {
    let mut net = Net::new(&Choice { network_key: Some(key(9)), ..Choice::with_keys(Medium::Udp) });
    net.lose = Box::new(|_| true);
    net.up(0, &pdu(&Message::Solicit(BEACON_LEN_MAX - HEADER_LEN), Tlli(0)));
    assert_eq!(net.seen.len(), 1);
    assert!(net.seen[0].octets.len() <= BEACON_LEN_MAX);
    net.up(0, &pdu(&Message::Solicit(20), Tlli(0)));
    assert_eq!((net.seen.len(), net.drops_of_ap(0, Drop::AdaptMalformed)), (1, 1));
    // A flood of them is answered so often and no more.
    for _ in 0..5000 {
        net.seen.clear();
        net.up(0, &pdu(&Message::Solicit(BEACON_LEN_MAX - HEADER_LEN), Tlli(0)));
    }
    assert!(net.seen.is_empty());
}

/// Make before break: from one access point to a preferred one and back, over different media.
#[test]
fn a_mobile_changes_its_bearer() {
    for has_keys in [false, true] {
        let mut net = Net::new(&Choice {
            has_keys,
            media: vec![Medium::Udp, Medium::Ethernet],
            preference: vec![1],
            ..Choice::open(Medium::Ethernet)
        });
        net.lose = Box::new(|seen| seen.ap == 1);
        net.seconds(5);
        assert_eq!(net.take_ups(), [(0, 0), (1, 0)]);
        assert!(net.exchange(0, 0, 500));
        // Its beacons come, and its answers do not: nobody leaves.
        net.lose = Box::new(|seen| {
            seen.ap == 1 && (seen.is_up || seen.octets[0] & 0x1f != MessageType::Beacon.number())
        });
        net.seconds(4);
        assert_eq!(net.take_ups(), []);
        assert!(net.exchange(0, 0, 500));
        net.lose = Box::new(|_| false);
        net.seconds(20);
        assert_eq!(net.take_ups(), [(0, 1), (1, 1)]);
        assert!(net.exchange(1, 0, 500));
        // What was on its way still comes; what is to go there is not taken.
        net.host.told.clear();
        net.send_down(0, 1, &[7; 50]).unwrap();
        let came = net.take_down();
        assert_eq!((came.len(), came[0].1), (1, 0));
        net.lose = Box::new(|seen| seen.ap == 1);
        net.seconds(8);
        assert_eq!(net.take_ups(), [(0, 0), (1, 0)]);
        assert!(net.exchange(0, 1, 500));
        net.assert_no_drops();
        assert_eq!(net.send_up(0, 7, &[1; 9]), Err(Drop::AdaptNoLink));
    }
}

#[test]
fn a_lossy_bearer_is_left_for_a_better_one() {
    let mut net = Net::new(&Choice { media: vec![Medium::Ethernet; 2], ..Choice::open(Medium::Ethernet) });
    net.seconds(2);
    assert_eq!(net.take_ups(), [(0, 0), (1, 0)]);
    let mut count = 0;
    net.lose = Box::new(move |seen| {
        let is_ll_pdu = seen.octets[0] & 0x1f == MessageType::LlPdu.number();
        count += usize::from(is_ll_pdu && seen.is_up && seen.ap == 0);
        is_ll_pdu && seen.is_up && seen.ap == 0 && count % 3 == 0
    });
    for _ in 0..20 {
        let serving = net.host.bearer.serving(0).unwrap();
        for _ in 0..30 {
            net.send_up(0, serving, &[1; 30]).unwrap();
        }
        net.seconds(1);
    }
    let quality = net.host.bearer.selection().get(0).unwrap().quality(net.now);
    assert!((600..850).contains(&quality), "{quality}");
    assert_eq!(net.take_ups(), [(0, 1), (1, 1)]);
    assert_eq!(net.host.bearer.serving(0), Some(1));
}

#[test]
fn an_access_point_that_stops_or_falls_silent_is_left() {
    for stops in [true, false] {
        let mut net = Net::new(&Choice::with_keys(Medium::Ethernet));
        net.seconds(1);
        assert_eq!(net.take_ups().len(), 2);
        if stops {
            net.at_ap(0, |ap, out| ap.machine.stop(&mut ap.around.context(), out));
        } else {
            net.lose = Box::new(|_| true);
            net.seconds(5);
        }
        let downs = net.host.told.iter().filter(|it| matches!(it, Indication::Down { .. })).count();
        assert_eq!((downs, net.host.bearer.serving(0)), (2, None));
        assert_eq!(net.send_up(0, 0, &[1]), Err(Drop::AdaptNoLink));
        net.lose = Box::new(|_| false);
        net.seconds(3);
        assert_eq!(net.take_ups(), [(0, 0), (1, 0)]);
        assert!(net.exchange(0, 0, 100));
    }
}

#[test]
fn an_access_point_that_restarts_gets_to_know_its_mobiles_again() {
    for choice in each_choice() {
        let mut net = Net::new(&choice);
        net.seconds(2);
        net.host.told.clear();
        // It names its sessions as before.
        for round in 0..5 {
            let now = net.now;
            net.aps[0].restart(now);
            net.seconds(2);
            assert_eq!(net.aps[0].machine.stations().len(), 2);
            assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100), "{round}");
        }
        assert_eq!(net.take_ups(), [], "the mobiles notice nothing");
    }
}

/// The beacon after a restart is lost: a PDU of a session that is gone brings a new one.
#[test]
fn a_session_that_is_gone_is_renewed() {
    let mut net = Net::new(&Choice::with_keys(Medium::Ethernet));
    net.seconds(2);
    net.lose = Box::new(|seen| seen.octets[0] & 0x1f == MessageType::Beacon.number());
    let now = net.now;
    net.aps[0].restart(now);
    net.send_up(0, 0, &[1; 30]).unwrap();
    assert_eq!(net.drops_of_ap(0, Drop::AdaptUnknownSession), 1);
    assert!(net.exchange(0, 0, 100));
}

/// Sessions of 64 PDUs each: the mobile begins the next before, and nothing is lost.
#[test]
fn a_session_is_followed_by_another_before_its_numbers_end() {
    let mut net = Net::new(&Choice { packets_max: 64, ..Choice::with_keys(Medium::Udp) });
    net.seconds(1);
    for _ in 0..40 {
        for _ in 0..4 {
            assert!(net.exchange(0, 0, 100));
        }
        net.seconds(1);
    }
    net.assert_no_drops();
    let hellos = net.seen.iter().filter(|seen| seen.octets[0] & 0x1f == MessageType::Hello.number());
    assert!(hellos.count() >= 5);
}

#[test]
fn an_access_point_has_room_for_so_many() {
    let mut net = Net::new(&Choice { mobiles: 5, mobiles_max: 3, ..Choice::open(Medium::Ethernet) });
    net.pass(Duration::from_millis(10));
    let ap = &net.aps[0];
    assert_eq!((ap.machine.stations().len(), net.drops_of_ap(0, Drop::AdaptTableFull)), (3, 2));
    let told = net.seen.iter().filter(|seen| seen.octets[0] & 0x1f == MessageType::Release.number());
    assert_eq!(told.count(), 2, "the others are told");
    let downs = net.host.told.iter().filter(|it| matches!(it, Indication::Down { .. }));
    assert_eq!(downs.count(), 2);
    net.seconds(9);
    assert_eq!(net.drops_of_ap(0, Drop::AdaptTableFull), 2);
    net.seconds(3);
    assert_eq!(net.drops_of_ap(0, Drop::AdaptTableFull), 4, "they try again");
    // A flood of TLLIs takes nothing from those who are there.
    let mut net = Net::new(&Choice { mobiles: 2, mobiles_max: 3, ..Choice::open(Medium::Ethernet) });
    net.seconds(1);
    for flood in 0..100 {
        net.up(0, &pdu(&Message::LlPdu(&[1, 2, 3, 4]), Tlli(0x8000_0000 | flood)));
    }
    assert_eq!(net.drops_of_ap(0, Drop::AdaptTableFull), 99);
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
    // Who is silent for long gives way.
    net.pass(Duration::from_secs(130));
    net.up(0, &pdu(&Message::LlPdu(&[1, 2, 3, 4]), Tlli(0x8000_0077)));
    assert_eq!(net.drops_of_ap(0, Drop::AdaptTableFull), 99);
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
}

#[test]
fn what_is_for_nobody_or_from_nobody_is_dropped_by_name() {
    let mut net = Net::new(&Choice::open(Medium::Ethernet));
    net.seconds(1);
    let ll_pdu = pdu(&Message::LlPdu(&[1, 2, 3, 4]), tlli(0));
    let stranger = Peer::Ethernet(EthernetAddress([2, 9, 9, 9, 9, 9]));
    net.down_from((0, stranger), &ll_pdu);
    assert_eq!(net.drops_of_host(Drop::AdaptUnknownAccessPoint), 1);
    net.up(0, &pdu(&Message::Reachable(Reachable { cell: cell(77) }), tlli(0)));
    assert_eq!(net.drops_of_ap(0, Drop::AdaptUnknownCell), 1);
    net.up(0, &pdu(&Message::LlPdu(&[1, 2, 3, 4]), Tlli(0)));
    net.up(0, &ll_pdu[..9]);
    assert_eq!(net.drops_of_ap(0, Drop::AdaptMalformed), 2);
    net.down(0, &[]);
    assert_eq!(net.drops_of_host(Drop::AdaptMalformed), 1);
    assert_eq!(net.send_down(0, 55, &[1]), Err(Drop::AdaptNoLink));
    // A beacon of a cell that is not ours, and one of another's cell.
    let mut beacons = net.seen.iter().filter(|seen| seen.octets[0] & 0x1f == MessageType::Beacon.number());
    let mut beacon = beacons.next_back().unwrap().octets.clone();
    net.down_from((0, stranger), &beacon);
    assert_eq!(net.drops_of_host(Drop::AdaptOtherAccessPoint), 1);
    beacon[HEADER_LEN + 7] = 99;
    net.down_from((0, peer_of_ap(0, Medium::Ethernet)), &beacon);
    assert_eq!(net.drops_of_host(Drop::AdaptUnknownCell), 1);
    // A flood of beacons makes the list no longer than the cells.
    for station in 0..=255 {
        net.down_from((0, Peer::Ethernet(EthernetAddress([2, 9, 9, 9, 9, station]))), &beacon);
    }
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
    // An answer to a report has the counts of the other end.
    let report = LinkReport { sent: 1, received: 1, level: Level(None) };
    net.seen.clear();
    net.up(0, &pdu(&Message::LinkReport(report), tlli(0)));
    let answer = Pdu::parse(&net.seen[0].octets).unwrap().message();
    assert!(matches!(answer, Ok(Message::LinkReport(LinkReport { received: 1.., .. }))), "{answer:?}");
}

/// A cable is pulled, plugged in again, and the order of preference changes.
#[test]
fn orders_move_mobiles_at_once() {
    for has_keys in [false, true] {
        let media = vec![Medium::Ethernet, Medium::Udp];
        let mut net = Net::new(&Choice { has_keys, media, ..Choice::open(Medium::Ethernet) });
        net.seconds(5);
        net.host.told.clear();
        let first = net.host.bearer.serving(0).unwrap();
        let other = 1 - first;
        assert!(net.order(Order::SetLink { link: first, is_up: false }));
        assert_eq!(net.take_ups(), [(0, other), (1, other)], "without waiting for beacons");
        assert!(net.exchange(usize::from(other), 0, 100));
        let before = net.drops_of_host(Drop::AdaptNoLink);
        net.send_down(usize::from(first), 1, &[1; 9]).unwrap();
        assert_eq!(net.drops_of_host(Drop::AdaptNoLink), before + 1);
        net.seconds(3);
        assert!(net.order(Order::SetLink { link: first, is_up: true }));
        net.seconds(5);
        assert_eq!(net.take_ups(), [], "no reason to go back");
        assert!(net.order(Order::Prefer(vec![first])));
        net.seconds(5);
        assert_eq!(net.take_ups(), [(0, first), (1, first)]);
        assert!(net.exchange(usize::from(first), 1, 100));
        assert!(net.order(Order::PreferLink(other)));
        net.seconds(5);
        assert_eq!(net.take_ups(), [(0, other), (1, other)]);
        assert!(!net.order(Order::PreferLink(9)));
        assert!(net.order(Order::Prefer(vec![first])));
        net.seconds(5);
        assert_eq!(net.take_ups(), [(0, first), (1, first)]);
        assert!(net.order(Order::SetLink { link: other, is_up: false }));
        assert!(net.order(Order::SetLink { link: first, is_up: false }));
        let is_down = |it: &&Indication| matches!(it, Indication::Down { .. });
        assert_eq!(net.host.told.iter().filter(is_down).count(), 2);
        assert!(!net.order(Order::SetLink { link: 9, is_up: true }));
    }
}

#[test]
fn a_link_of_another_length_cuts_what_is_too_long() {
    let mut net = Net::new(&Choice::with_keys(Medium::Ethernet));
    net.seconds(1);
    net.host.told.clear();
    assert!(
        net.order(Order::SetMtu { link: 0, octets: 600 })
            && !net.order(Order::SetMtu { link: 1, octets: 600 })
    );
    let mtus = net.host.told.iter().filter(|it| matches!(it, Indication::Mtu { octets: 564, .. }));
    assert_eq!(mtus.count(), 2);
    net.aps[0].machine.set_mtu(0, 600);
    net.seen.clear();
    assert!(net.exchange(0, 0, 1464));
    assert!(net.seen.iter().all(|seen| seen.octets.len() <= 600) && net.seen.len() == 6);
    net.assert_no_drops();
    // It grows again: what the access point takes is in its next beacon.
    net.seconds(2);
    assert!(net.order(Order::SetMtu { link: 0, octets: 1500 }));
    net.aps[0].machine.set_mtu(0, 1500);
    net.host.told.clear();
    net.seconds(2);
    let mtus = net.host.told.iter().filter(|it| matches!(it, Indication::Mtu { octets: 1464, .. }));
    assert_eq!(mtus.count(), 2);
}

#[test]
fn mobiles_that_leave_say_so() {
    for choice in each_choice() {
        let mut net = Net::new(&choice);
        net.seconds(1);
        assert_eq!(net.aps[0].machine.stations().len(), 2);
        assert!(net.order(Order::Stop));
        assert_eq!(net.aps[0].machine.stations().len(), 0);
        net.seconds(5);
        assert_eq!((net.host.bearer.serving(0), net.aps[0].machine.stations().len()), (None, 0));
    }
}

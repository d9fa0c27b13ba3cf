//! Packets between mobiles, beyond the maximum bit rate, of TCP connections, and what is counted of them.

use super::ipv6::{packet_v6, request, v6};
use super::*;

/// Two mobiles of "internet" and one of "other", whose access points have this of packets between mobiles.
fn three(own: MobileToMobile, other: MobileToMobile) -> (Net, [Created; 3]) {
    let mut net = Net::new(|config| {
        config.apns.push(apn("other", 2, 24));
        config.apns[0].mobile_to_mobile = own;
        config.apns[0].v6 = Ranges::dynamic(v6("2001:db8::"), 56);
        config.apns[2].mobile_to_mobile = other;
    });
    let both = |n| request(n, "internet", EndUserAddress::Ipv4v6(None, None));
    let created = [
        net.create(both(1)).unwrap(),
        net.create(both(2)).unwrap(),
        net.create(create_request(3, "other")).unwrap(),
    ];
    (net, created)
}

fn own(last: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, last)
}

#[test]
fn a_mobile_reaches_another_inside() {
    let (mut net, [first, ..]) = three(MobileToMobile::Inside, MobileToMobile::Network);
    let up = packet(own(2), own(3));
    let sent = net.uplink(first.teid_data, &up);
    let [(PORT_GTP_U, peer, octets)] = sent.as_slice() else { panic!("{sent:?}") };
    let (header, _, range) = GPdu::parse(octets).unwrap();
    assert_eq!((*peer, header.teid), (Peer::Udp(SocketAddr::new(SGSN, 2152)), Teid(0x202)));
    // One hop less, and nothing else.
    let arrived = &octets[range];
    assert_eq!((arrived[8], &arrived[12..]), (63, &up[12..]));
    let sent = net.uplink(first.teid_data, &packet_v6(v6("2001:db8:0:2::2"), v6("2001:db8:0:3::9")));
    assert!(matches!(sent.as_slice(), [(PORT_GTP_U, ..)]), "{sent:?}");
    // Without a hop left; to nobody; to the mobile of another access point.
    let mut last = packet(own(2), own(3));
    last[8] = 1;
    assert!(net.uplink(first.teid_data, &last).is_empty());
    for destination in [own(9), Ipv4Addr::new(10, 0, 2, 2)] {
        let up = packet(own(2), destination);
        assert_eq!(net.uplink(first.teid_data, &up), [(PORT_TUN, Peer::Slot(0), up.clone())]);
    }
    // Another's address is no way to reach it.
    assert!(net.uplink(first.teid_data, &packet(own(3), own(2))).is_empty());
    assert_eq!(net.drops(), [(Drop::GgsnSourceAddress, 1), (Drop::GgsnHopLimit, 1)]);
    let counters = *net.ggsn.access_points().next().unwrap().counters();
    assert_eq!((counters.uplink.t_pdus, counters.downlink.t_pdus, counters.uplink_dropped), (5, 2, 1));
}

#[test]
fn a_mobile_reaches_no_other() {
    let (mut net, [first, _, third]) = three(MobileToMobile::Refused, MobileToMobile::Network);
    let of_other = Ipv4Addr::new(10, 0, 2, 2);
    for destination in [own(3), of_other] {
        assert!(net.uplink(first.teid_data, &packet(own(2), destination)).is_empty());
    }
    assert!(net.uplink(first.teid_data, &packet_v6(v6("2001:db8:0:2::2"), v6("2001:db8:0:3::9"))).is_empty());
    // Nor is it reached by those of an access point that would permit it.
    assert!(net.uplink(third.teid_data, &packet(of_other, own(2))).is_empty());
    assert_eq!(net.uplink(first.teid_data, &packet(own(2), HOST)).len(), 1);
    assert_eq!(net.drops(), [(Drop::GgsnToMobile, 4)]);
    // It holds at once what an operator changes.
    let mut changed = net.ggsn.config().clone();
    changed.apns[0].mobile_to_mobile = MobileToMobile::Network;
    net.ggsn.reconfigure(&mut net.around.context(), &changed);
    let up = packet(own(2), own(3));
    assert_eq!(net.uplink(first.teid_data, &up), [(PORT_TUN, Peer::Slot(0), up.clone())]);
    let up = packet(of_other, own(2));
    assert_eq!(net.uplink(third.teid_data, &up), [(PORT_TUN, Peer::Slot(2), up.clone())]);
}

/// 8 kbit/s in both directions: peak throughput class 1 of R97.
fn slow(n: u16) -> CreateRequest {
    let qos = Qos { allocation_retention: 2, value: Octets::from_start(&[0x23, 0x12, 0x1f]) };
    CreateRequest { qos, ..create_request(n, "internet") }
}

#[test]
fn the_maximum_bit_rate_is_held_where_it_is_wanted() {
    let passed = |police: bool| {
        let mut net = Net::new(|config| config.apns[0].police = police);
        let created = net.create(slow(1)).unwrap();
        let (up, down) = (packet(own(2), HOST), packet(HOST, own(2)));
        let mut passed = [0, 0];
        for _ in 0..1000 {
            passed[0] += net.uplink(created.teid_data, &up).len();
            passed[1] += net.downlink(Peer::Slot(0), &down).len();
            net.around.now += Duration::from_millis(1);
        }
        let over = net.ggsn.access_points().next().unwrap().counters().over_rate;
        assert_eq!(over, 2000 - (passed[0] + passed[1]) as u64);
        match over {
            0 => assert_eq!(net.drops(), []),
            over => assert_eq!(net.drops(), [(Drop::GgsnOverRate, over)]),
        }
        passed
    };
    assert_eq!(passed(false), [1000, 1000]);
    // 3000 octets at once, then 1000 in a second, at 24 octets each.
    for passed in passed(true) {
        assert!((166..=168).contains(&passed), "{passed}");
    }
}

/// A SYN with an MSS of 1460.
fn syn(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let mut octets = packet(source, destination);
    (octets[3], octets[9]) = (44, 6);
    octets.truncate(20);
    octets
        .extend([0x10, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x60, 2, 0xff, 0xff, 0, 0, 0, 0, 2, 4, 0x05, 0xb4]);
    octets
}

#[test]
fn tcp_connections_are_told_smaller_segments() {
    let mut net = Net::new(|config| config.apns[0].mss = Some(Mss { v4: 1380, v6: 1360 }));
    let created = net.create(create_request(1, "internet")).unwrap();
    let up = net.uplink(created.teid_data, &syn(own(2), HOST));
    assert_eq!(up[0].2[40..], [2, 4, 0x05, 0x64]);
    let down = net.downlink(Peer::Slot(0), &syn(HOST, own(2)));
    assert!(down[0].2.ends_with(&[2, 4, 0x05, 0x64]));
    let small = net.create(create_request(2, "small")).unwrap();
    let untouched = syn([10, 0, 1, 2].into(), HOST);
    assert_eq!(net.uplink(small.teid_data, &untouched)[0].2, untouched);
}

#[test]
fn spoofed_sources_are_counted() {
    let (mut net, [first, ..]) = three(MobileToMobile::Network, MobileToMobile::Network);
    assert!(net.uplink(first.teid_data, &packet(HOST, own(3))).is_empty());
    assert!(net.uplink(first.teid_data, &packet_v6(v6("2001:db8:0:3::2"), v6("2001:db9::1"))).is_empty());
    let counters = net.ggsn.access_points().next().unwrap().counters();
    assert_eq!((counters.uplink_dropped, counters.uplink.t_pdus), (2, 0));
    assert_eq!(net.drops(), [(Drop::GgsnSourceAddress, 2)]);
}

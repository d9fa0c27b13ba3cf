use super::*;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

fn filter(identifier: u8, precedence: u8, components: &[Component]) -> PacketFilter {
    PacketFilter {
        identifier,
        direction: FilterDirection::Unsaid,
        precedence,
        components: components.to_vec(),
    }
}

fn udp(identifier: u8, precedence: u8) -> PacketFilter {
    filter(identifier, precedence, &[Component::Protocol(17)])
}

fn fault(octets: &[u8]) -> SmCause {
    TrafficFlowTemplate(octets.to_vec()).read().unwrap_err().fault.cause()
}

#[test]
fn octets_of_each_operation() {
    let create = TftRepr::new(TftOperation::Create(vec![filter(
        1,
        7,
        &[
            Component::Ipv4Source {
                address: Ipv4Addr::new(192, 0, 2, 0),
                mask: Ipv4Addr::new(255, 255, 255, 0),
            },
            Component::Protocol(17),
            Component::DestinationPorts(5000, 5010),
        ],
    )]));
    let octets = [
        &[0x21, 0x01, 7, 16][..],
        &[0x10, 192, 0, 2, 0, 255, 255, 255, 0],
        &[0x30, 17],
        &[0x41, 0x13, 0x88, 0x13, 0x92],
    ]
    .concat();
    assert_eq!(create.to_element().0, octets);
    assert_eq!(TftRepr::parse(&octets), Ok(create));
    assert_eq!(TftRepr::parse(&[0x40]), Ok(TftRepr::new(TftOperation::Delete)));
    assert_eq!(TftRepr::parse(&[0xa2, 1, 2]), Ok(TftRepr::new(TftOperation::DeleteFilters(vec![1, 2]))));
    let nothing = TftRepr {
        operation: TftOperation::Nothing,
        parameters: vec![TftParameter { identifier: 3, content: vec![9] }],
    };
    assert_eq!(TftRepr::parse(&[0xd0, 3, 1, 9]), Ok(nothing));
}

#[test]
fn what_is_wrong_has_its_cause() {
    // Operation, syntax.
    for octets in [
        &[][..],
        &[0x20],
        &[0x41, 1],
        &[0x22, 0, 0, 2, 0x30, 17],
        &[0x21, 0, 0, 2, 0x30, 17, 1],
        &[0xe0],
        &[0],
    ] {
        assert_eq!(fault(octets).code(), 42, "{octets:02x?}");
    }
    // Filter, syntax: reserved component, component too short, no components, one identifier, one precedence.
    for octets in [
        &[0x21, 0, 0, 2, 0x31, 17][..],
        &[0x21, 0, 0, 2, 0x40, 1],
        &[0x21, 0, 0, 0],
        &[0x22, 1, 0, 2, 0x30, 17, 1, 1, 2, 0x30, 6],
        &[0x22, 1, 0, 2, 0x30, 17, 2, 0, 2, 0x30, 6],
    ] {
        assert_eq!(fault(octets).code(), 45, "{octets:02x?}");
    }
    // Filter, semantics.
    let v4 = Component::Ipv4Source { address: Ipv4Addr::LOCALHOST, mask: Ipv4Addr::BROADCAST };
    let v6 = Component::Ipv6SourcePrefix { address: Ipv6Addr::LOCALHOST, length: 129 };
    for components in [
        &[Component::Protocol(17), Component::Protocol(6)][..],
        &[v4, v6],
        &[v6],
        &[v4, Component::FlowLabel(1)],
        &[Component::DestinationPorts(2, 1)],
        &[Component::SourcePorts(2, 1)],
        &[Component::SourcePort(1), Component::SecurityParameterIndex(1)],
        &[Component::FlowLabel(1), Component::Protocol(6)],
    ] {
        let repr = TftRepr::new(TftOperation::Create(vec![filter(0, 0, components)]));
        assert_eq!(fault(&repr.to_element().0).code(), 44, "{components:?}");
    }
}

#[test]
fn operations_follow_each_other() {
    let apply = |held: Option<&Tft>, operation| {
        Tft::apply(held, &TftRepr::new(operation)).map_err(|error| error.fault.cause().code())
    };
    let first = apply(None, TftOperation::Create(vec![udp(2, 9), udp(1, 5)])).unwrap().unwrap();
    let order: Vec<u8> = first.filters().iter().map(|filter| filter.precedence).collect();
    assert_eq!(order, [5, 9]);
    assert_eq!(apply(Some(&first), TftOperation::Nothing), Ok(Some(first.clone())));
    assert_eq!(Tft::apply(None, &first.creation()), Ok(Some(first.clone())));
    let more = apply(Some(&first), TftOperation::Add(vec![udp(3, 1)])).unwrap().unwrap();
    assert_eq!(more.filters().len(), 3);
    let other = apply(Some(&more), TftOperation::Replace(vec![udp(3, 200)])).unwrap().unwrap();
    assert_eq!(other.filters().last().map(|filter| filter.precedence), Some(200));
    let fewer = apply(Some(&other), TftOperation::DeleteFilters(vec![1, 2])).unwrap().unwrap();
    assert_eq!(fewer.filters().len(), 1);
    assert_eq!(apply(Some(&fewer), TftOperation::Create(vec![udp(0, 0)])).map(|tft| tft.is_some()), Ok(true));
    assert_eq!(apply(Some(&fewer), TftOperation::Delete), Ok(None));
    // Operation, semantics.
    for operation in
        [TftOperation::Delete, TftOperation::Add(vec![udp(0, 0)]), TftOperation::DeleteFilters(vec![0])]
    {
        assert_eq!(apply(None, operation), Err(41));
    }
    assert_eq!(apply(Some(&fewer), TftOperation::DeleteFilters(vec![3])), Err(41));
    // Operation, syntax.
    assert_eq!(apply(Some(&fewer), TftOperation::DeleteFilters(vec![7])), Err(42));
    assert_eq!(apply(Some(&fewer), TftOperation::Replace(vec![udp(7, 1)])), Err(42));
    let many = (0..15).map(|n| udp(n, n)).collect();
    let full = apply(None, TftOperation::Create(many)).unwrap();
    assert_eq!(apply(full.as_ref(), TftOperation::Add(vec![udp(15, 15)])), Err(42));
    // Filter, syntax.
    assert_eq!(apply(Some(&fewer), TftOperation::Add(vec![udp(3, 1)])), Err(45));
    assert_eq!(apply(Some(&fewer), TftOperation::Add(vec![udp(4, 200)])), Err(45));
}

fn v4(protocol: u8, tos: u8, behind: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, tos, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 10, 0, 0, 2];
    packet.extend_from_slice(behind);
    packet
}

#[test]
fn packets_of_ipv4() {
    let packet = v4(17, 0xb8, &[0x13, 0x88, 0x00, 0x35, 0, 8, 0, 0]);
    let fields = PacketFields::of(&packet).unwrap();
    assert_eq!((fields.ports, fields.protocol, fields.type_of_service), (Some((5000, 53)), 17, 0xb8));
    let fits = |components: &[Component]| filter(0, 0, components).matches(&fields);
    let net = |last: u8, mask: u8| Component::Ipv4Source {
        address: Ipv4Addr::new(192, 0, 2, last),
        mask: Ipv4Addr::new(255, 255, 255, mask),
    };
    assert!(fits(&[net(1, 255), Component::Protocol(17), Component::SourcePort(5000)]));
    assert!(fits(&[net(7, 0), Component::DestinationPorts(53, 60), Component::SourcePorts(0, 5000)]));
    assert!(fits(&[Component::TypeOfService { value: 0xbf, mask: 0xf8 }]));
    for wrong in [
        net(2, 255),
        Component::Protocol(6),
        Component::SourcePort(53),
        Component::DestinationPort(5000),
        Component::DestinationPorts(54, 60),
        Component::TypeOfService { value: 0, mask: 0xff },
        Component::SecurityParameterIndex(0),
        Component::FlowLabel(0),
        Component::Ipv6SourcePrefix { address: Ipv6Addr::UNSPECIFIED, length: 0 },
    ] {
        assert!(!fits(&[Component::Protocol(17), wrong]), "{wrong}");
    }
    // A later fragment has no ports, a packet of IPsec an index.
    let mut fragment = packet.clone();
    fragment[7] = 1;
    assert_eq!(PacketFields::of(&fragment).map(|fields| fields.ports), Some(None));
    let esp = PacketFields::of(&v4(50, 0, &[1, 2, 3, 4])).unwrap();
    assert!(filter(0, 0, &[Component::SecurityParameterIndex(0x0102_0304)]).matches(&esp));
    let ah = PacketFields::of(&v4(51, 0, &[17, 4, 0, 0, 1, 2, 3, 4])).unwrap();
    assert_eq!(ah.spi, Some(0x0102_0304));
    // Uplink, the far end is the source of the answer.
    let up = PacketFields::of_uplink(&packet).unwrap();
    assert_eq!((up.source, up.ports), (IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), Some((53, 5000))));
    let only_up = PacketFilter { direction: FilterDirection::Uplink, ..udp(0, 0) };
    assert!(!only_up.matches(&fields));
}

#[test]
fn packets_of_ipv6() {
    let mut packet = vec![0x6b, 0x81, 0x23, 0x45, 0, 16, 0, 64];
    packet.extend("2001:db8::1".parse::<Ipv6Addr>().unwrap().octets());
    packet.extend("2001:db8:1::2".parse::<Ipv6Addr>().unwrap().octets());
    // Hop-by-hop options, then UDP.
    packet.extend([17, 0, 1, 4, 0, 0, 0, 0, 0x13, 0x88, 0, 53, 0, 8, 0, 0]);
    let fields = PacketFields::of(&packet).unwrap();
    assert_eq!((fields.protocol, fields.ports), (17, Some((5000, 53))));
    assert_eq!((fields.type_of_service, fields.flow_label), (0xb8, Some(0x1_2345)));
    let address: Ipv6Addr = "2001:db8::ffff".parse().unwrap();
    let fits = |component| filter(0, 0, &[component]).matches(&fields);
    assert!(fits(Component::Ipv6SourcePrefix { address, length: 64 }));
    assert!(!fits(Component::Ipv6SourcePrefix { address, length: 128 }));
    assert!(fits(Component::Ipv6SourcePrefix { address, length: 0 }));
    assert!(fits(Component::Ipv6Source { address, mask: "ffff:ffff::".parse().unwrap() }));
    assert!(fits(Component::FlowLabel(0x1_2345)));
    assert!(!fits(Component::Ipv4Source { address: Ipv4Addr::UNSPECIFIED, mask: Ipv4Addr::UNSPECIFIED }));
    // A later fragment.
    packet[6] = 44;
    packet[41..44].copy_from_slice(&[0, 0, 8]);
    let later = PacketFields::of(&packet).unwrap();
    assert_eq!((later.protocol, later.ports), (17, None));
    assert_eq!(PacketFields::of(&[]), None);
    assert_eq!(PacketFields::of(&[0x50; 60]), None);
}

#[test]
fn filters_in_words() {
    let v4 = |last_of_mask| Component::Ipv4Source {
        address: Ipv4Addr::new(192, 0, 2, 0),
        mask: Ipv4Addr::new(255, 255, 255, last_of_mask),
    };
    let address: Ipv6Addr = "2001:db8::".parse().unwrap();
    let v6 = |mask: &str| Component::Ipv6Source { address, mask: mask.parse().unwrap() };
    let numbers = [
        Component::Protocol(17),
        Component::SourcePort(53),
        Component::DestinationPorts(5000, 5010),
        Component::TypeOfService { value: 0xb8, mask: 0xfc },
    ];
    assert_eq!(
        filter(1, 7, &[&[v4(0)][..], &numbers].concat()).to_string(),
        "filter 1 precedence 7: src_ip 192.0.2.0/24 ip_proto udp src_port 53 dst_port 5000-5010 ip_tos 0xb8/0xfc"
    );
    for (component, text) in [
        (v4(1), "src_ip 192.0.2.0/255.255.255.1"),
        (v6("ffff:ffff::"), "src_ip 2001:db8::/32"),
        (v6("ffff::1"), "src_ip 2001:db8::/ffff::1"),
        (Component::Ipv6SourcePrefix { address, length: 48 }, "src_ip 2001:db8::/48"),
        (Component::Protocol(6), "ip_proto tcp"),
        (Component::Protocol(47), "ip_proto 47"),
        (Component::DestinationPort(80), "dst_port 80"),
        (Component::SourcePorts(1, 2), "src_port 1-2"),
        (Component::SecurityParameterIndex(0x1234), "spi 0x00001234"),
        (Component::FlowLabel(0xabc), "flow_label 0x00abc"),
    ] {
        assert_eq!(component.to_string(), text);
    }
    let both = PacketFilter { direction: FilterDirection::Both, ..udp(2, 9) };
    assert_eq!(both.to_string(), "filter 2 precedence 9 both ways: ip_proto udp");
}

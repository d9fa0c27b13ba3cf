//! What an SGSN asks for: profiles, and names of access points.

use super::*;

/// A profile with this octet everywhere.
fn all(octets: usize, octet: u8) -> Qos {
    Qos { allocation_retention: octet, value: Octets::from_start(&vec![octet; octets]) }
}

#[test]
fn what_is_granted_says_something_in_every_value() {
    let mut net = Net::new(|_| ());
    for octets in [3, 11, 12, 14, 16, 20] {
        for octet in [0, 0xff] {
            let asked = all(octets, octet);
            let created = net.create(CreateRequest { qos: asked, ..create_request(1, "internet") }).unwrap();
            assert_eq!(created.qos, asked.concrete());
            assert_ne!(created.qos, asked);
            let update = UpdateRequest {
                teid_data: Some(Teid(0x888)),
                sgsn_control: Some(SGSN),
                sgsn_user: Some(SGSN),
                qos: Some(asked),
                ..UpdateRequest::new(Nsapi(5))
            };
            let (_, message) = net.control(SGSN, created.teid_control, update);
            let Message::UpdateResponse(response) = message else { panic!("{message:?}") };
            assert_eq!(response.qos, Some(asked.concrete()));
        }
    }
}

#[test]
fn an_access_point_is_found_by_the_network_s_part_of_its_name() {
    let mut net = Net::new(|config| config.default_apn = Some(1));
    let third = |created: &Created| address_of(created).octets()[2];
    for (n, (name, octet)) in [
        ("internet", 0),
        ("INTERNET", 0),
        ("internet.mnc001.mcc001.gprs", 0),
        ("Internet.MNC01.MCC001.GPRS", 0),
        ("internet.example", 1),
        ("small", 1),
    ]
    .into_iter()
    .enumerate()
    {
        let n = u16::try_from(n).unwrap() + 1;
        let created = net.create(create_request(n, name)).unwrap();
        assert_eq!(third(&created), octet, "{name}");
        net.delete(created.teid_control, 5);
    }
}

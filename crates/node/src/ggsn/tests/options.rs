//! Protocol configuration options in requests.

use super::ipv6::{request, v6};
use super::*;

/// PAP: name "user", password "secret".
const PAP: [u8; 20] =
    [0x80, 0xc0, 0x23, 16, 1, 7, 0, 16, 4, b'u', b's', b'e', b'r', 6, b's', b'e', b'c', b'r', b'e', b't'];

fn asked(net: &mut Net, n: u16, pco: &[u8]) -> CreateResponse {
    let request = CreateRequest { pco: Some(pco.to_vec()), ..create_request(n, "internet") };
    let (_, message) = net.control(SGSN, Teid(0), request);
    let Message::CreateResponse(response) = message else { panic!("{message:?}") };
    response
}

#[test]
fn name_servers_and_the_mtu_are_told() {
    let mut net = Net::new(|config| {
        config.apns[0].dns_v6 = [Some(v6("2001:db8::53")), None];
        config.apns[0].v6 = Ranges::dynamic(v6("2001:db8::"), 56);
    });
    let pco = vec![0x80, 0, 3, 0, 0, 1, 0, 0, 0x0d, 0, 0, 0x10, 0, 0, 0x1a, 1, 5];
    let server = v6("2001:db8::53").octets();
    let told =
        [&[0x80, 0, 3, 16][..], &server, &[0, 0x0d, 4, 192, 0, 2, 53, 0, 0x10, 2, 0x05, 0x8c]].concat();
    for (n, address) in [(1, EndUserAddress::Ipv6(None)), (2, EndUserAddress::Ipv4v6(None, None))] {
        let asks = CreateRequest { pco: Some(pco.clone()), ..request(n, "internet", address) };
        let (_, message) = net.control(SGSN, Teid(0), asks);
        let Message::CreateResponse(response) = message else { panic!("{message:?}") };
        assert_eq!(response.pco.as_deref(), Some(&told[..]));
    }
}

#[test]
fn nothing_that_is_wrong_with_them_refuses_a_context() {
    let mut net = Net::new(|_| ());
    let wrong: [&[u8]; 12] = [
        &[],
        &[0],
        &[0x80, 0x80],
        &[0x80, 0x80, 0x21, 0],
        &[0x80, 0x80, 0x21, 3, 1, 1, 0],
        &[0x80, 0x80, 0x21, 16, 1, 0, 0, 0x30, 0x81, 6, 0, 0, 0, 0, 0x83, 6, 0, 0, 0, 0],
        &[0x80, 0x80, 0x21, 8, 1, 1, 0, 8, 0x81, 0, 0, 0],
        &[0x80, 0x80, 0x21, 8, 1, 1, 0, 8, 0x81, 1, 0, 0],
        &[0x80, 0, 0x0d, 0x40],
        &[0x80, 0xc0, 0x23, 1, 1],
        &[0x80, 0xc2, 0x23, 0],
        &[0x80, 0xc0, 0x21, 4, 1, 1, 0, 4],
    ];
    for (pco, n) in wrong.into_iter().zip(1..) {
        assert!(asked(&mut net, n, pco).cause.is_accepted(), "{pco:?}");
    }
    assert_eq!(net.drops(), []);
}

#[test]
fn pap_is_answered_as_configured_and_never_told() {
    let mut net = Net::new(|_| ());
    net.around.trace.all = true;
    let welcome = asked(&mut net, 1, &PAP);
    assert_eq!(welcome.pco, Some(vec![0x80, 0xc0, 0x23, 5, 2, 7, 0, 5, 0]));
    net.ggsn.access_points[0].config.pap = Pap::Ignored;
    let ignored = asked(&mut net, 2, &PAP);
    assert!(ignored.cause.is_accepted() && ignored.pco.is_none());
    net.ggsn.access_points[0].config.pap = Pap::Refused;
    assert_eq!(asked(&mut net, 3, &PAP).cause, Cause::UserAuthenticationFailed);
    assert!(asked(&mut net, 4, &[0x80, 0, 0x0d, 0]).cause.is_accepted(), "without PAP");
    let lines = net.around.trace.lines.join("\n");
    assert!(lines.contains("user authentication failed"), "{lines}");
    for secret in ["user0", "secret", "736563", "[115, 101"] {
        assert!(!lines.contains(secret), "{lines}");
    }
}

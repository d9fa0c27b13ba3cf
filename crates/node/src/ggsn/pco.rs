//! What the GGSN answers to the protocol configuration options of a mobile: what phones and PPP dial-up expect.
//!
//! * PAP: whatever name and password somebody gives are welcome, unless the access point says otherwise ([`Pap`]). CHAP: whoever
//!   answers is welcome. No line and no trace has what they give.
//! * IPCP: addresses and name servers. A Configure-Request that asks for others than ours, or for none, gets a Configure-Nak with
//!   ours (RFC 1877); one that asks for nothing to be changed gets a Configure-Ack; options that are neither address nor
//!   name server are rejected where nothing else is to be said (RFC 1661 clause 5.3 and 5.4).
//! * The containers of 24.008 clause 10.5.6.3 that ask for name servers of IPv4 and IPv6: one answer for each of our servers. The one
//!   that asks for the MTU of an IPv4 link.
//!
//! Everything else is left without an answer, and so is what stands behind a fault.

use super::config::{ApnConfig, Pap};
use core::net::Ipv4Addr;
use gannet_wire::gtp::pco::{self, PcoOption, identifier};

const CONFIGURE_REQUEST: u8 = 1;
const CONFIGURE_ACK: u8 = 2;
const CONFIGURE_NAK: u8 = 3;
const CONFIGURE_REJECT: u8 = 4;
const PAP_AUTHENTICATE_REQUEST: u8 = 1;
const PAP_AUTHENTICATE_ACK: u8 = 2;
const CHAP_RESPONSE: u8 = 2;
const CHAP_SUCCESS: u8 = 3;
const IPCP_IP_ADDRESS: u8 = 3;
const IPCP_PRIMARY_DNS: u8 = 129;
const IPCP_SECONDARY_DNS: u8 = 131;

/// The answer to `octets` for a mobile with this IPv4 address at an access point; `None` where there is nothing to say.
#[must_use]
pub fn answer(octets: &[u8], address: Option<Ipv4Addr>, apn: &ApnConfig) -> Option<Vec<u8>> {
    let mut answers = Vec::new();
    for option in pco::readable(octets) {
        let identifier = option.identifier;
        let mut say = |content| answers.push(PcoOption { identifier, content });
        match (identifier, option.content.as_slice()) {
            // Code, identifier, length, and a message of no octets behind its length.
            (identifier::PAP, [PAP_AUTHENTICATE_REQUEST, id, ..]) if apn.pap == Pap::Accepted => {
                say(vec![PAP_AUTHENTICATE_ACK, *id, 0, 5, 0]);
            }
            (identifier::CHAP, [CHAP_RESPONSE, id, ..]) => say(vec![CHAP_SUCCESS, *id, 0, 4]),
            (identifier::IPCP, [CONFIGURE_REQUEST, id, high, low, options @ ..]) => {
                let len = usize::from(u16::from_be_bytes([*high, *low])).saturating_sub(4);
                if let (Some(options), Some(address)) = (options.get(..len), address) {
                    say(ipcp(*id, options, address, &apn.dns));
                }
            }
            (identifier::DNS_SERVER_IPV4, []) => {
                apn.dns.iter().flatten().for_each(|server| say(server.octets().to_vec()));
            }
            (identifier::DNS_SERVER_IPV6, []) => {
                apn.dns_v6.iter().flatten().for_each(|server| say(server.octets().to_vec()));
            }
            (identifier::IPV4_LINK_MTU, []) if apn.mtu != 0 => say(apn.mtu.to_be_bytes().to_vec()),
            (_, _) => {}
        }
    }
    (!answers.is_empty()).then(|| pco::emit(&answers))
}

/// Whether a mobile authenticates itself by PAP.
pub fn has_pap(octets: &[u8]) -> bool {
    let is_pap = |option: &PcoOption| {
        option.identifier == identifier::PAP && option.content.first() == Some(&PAP_AUTHENTICATE_REQUEST)
    };
    pco::readable(octets).iter().any(is_pap)
}

/// The answer to an IPCP Configure-Request with these options.
fn ipcp(id: u8, options: &[u8], address: Ipv4Addr, dns: &[Option<Ipv4Addr>; 2]) -> Vec<u8> {
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    let mut rest = options;
    while let [kind, len, behind @ ..] = rest {
        let Some((value, next)) =
            usize::from(*len).checked_sub(2).and_then(|len| behind.split_at_checked(len))
        else {
            break;
        };
        rest = next;
        let ours = match *kind {
            IPCP_IP_ADDRESS => Some(address),
            IPCP_PRIMARY_DNS => dns[0],
            IPCP_SECONDARY_DNS => dns[1],
            _ => None,
        };
        match ours {
            Some(ours) if value == ours.octets() => {}
            Some(ours) => {
                wrong.extend([*kind, 6]);
                wrong.extend(ours.octets());
            }
            None => {
                unknown.extend([*kind, *len]);
                unknown.extend_from_slice(value);
            }
        }
    }
    let (code, options) = match (wrong.is_empty(), unknown.is_empty()) {
        (false, _) => (CONFIGURE_NAK, wrong.as_slice()),
        (true, false) => (CONFIGURE_REJECT, unknown.as_slice()),
        (true, true) => (CONFIGURE_ACK, options),
    };
    let [high, low] = u16::try_from(options.len() + 4).unwrap_or(4).to_be_bytes();
    let mut packet = vec![code, id, high, low];
    packet.extend_from_slice(options);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: Option<Ipv4Addr> = Some(Ipv4Addr::new(10, 0, 0, 2));

    fn apn() -> ApnConfig {
        ApnConfig {
            dns: [Some(Ipv4Addr::new(192, 0, 2, 53)), Some(Ipv4Addr::new(192, 0, 2, 54))],
            dns_v6: [None, "2001:db8::53".parse().ok()],
            ..ApnConfig::new("internet".parse().unwrap())
        }
    }

    fn ask(identifier: u16, content: &[u8]) -> Option<Vec<PcoOption>> {
        let asked = pco::emit(&[PcoOption { identifier, content: content.to_vec() }]);
        Some(pco::parse(&answer(&asked, ADDRESS, &apn())?).unwrap())
    }

    fn one(identifier: u16, content: &[u8]) -> Vec<u8> {
        let mut answers = ask(identifier, content).unwrap();
        assert_eq!((answers.len(), answers[0].identifier), (1, identifier));
        answers.remove(0).content
    }

    #[test]
    fn passwords_are_acknowledged() {
        assert_eq!(one(identifier::PAP, &[1, 7, 0, 4, 0, 0]), [2, 7, 0, 5, 0]);
        assert_eq!(one(identifier::CHAP, &[2, 9, 0, 5, 0]), [3, 9, 0, 4]);
        // The challenge, which the terminal made up itself, needs no answer.
        assert_eq!(ask(identifier::CHAP, &[1, 9, 0, 5, 0]), None);
    }

    #[test]
    fn name_servers_by_ipcp() {
        let asked = [1, 5, 0, 16, 129, 6, 0, 0, 0, 0, 131, 6, 0, 0, 0, 0];
        let named = [3, 5, 0, 16, 129, 6, 192, 0, 2, 53, 131, 6, 192, 0, 2, 54];
        assert_eq!(one(identifier::IPCP, &asked), named);
        let mut agreed = named;
        agreed[0] = 1;
        let acknowledged = one(identifier::IPCP, &agreed);
        assert_eq!((acknowledged[0], &acknowledged[4..]), (2, &named[4..]));
        // Its address, and a compression protocol.
        let asked = [1, 6, 0, 14, 3, 6, 0, 0, 0, 0, 2, 4, 0, 45];
        assert_eq!(one(identifier::IPCP, &asked), [3, 6, 0, 10, 3, 6, 10, 0, 0, 2]);
        assert_eq!(one(identifier::IPCP, &[1, 6, 0, 8, 2, 4, 0, 45]), [4, 6, 0, 8, 2, 4, 0, 45]);
        assert_eq!(ask(identifier::IPCP, &[1, 6, 0, 80, 2]), None);
    }

    #[test]
    fn name_servers_by_their_own_option() {
        let answers = ask(identifier::DNS_SERVER_IPV4, &[]).unwrap();
        let servers: Vec<&[u8]> = answers.iter().map(|option| option.content.as_slice()).collect();
        assert_eq!(servers, [&[192, 0, 2, 53], &[192, 0, 2, 54]]);
        // Where the first is not configured, the second is told.
        let server: std::net::Ipv6Addr = "2001:db8::53".parse().unwrap();
        assert_eq!(one(identifier::DNS_SERVER_IPV6, &[]), server.octets());
    }

    #[test]
    fn the_mtu_by_its_own_option() {
        assert_eq!(one(identifier::IPV4_LINK_MTU, &[]), 1420_u16.to_be_bytes());
        let asked = pco::emit(&[PcoOption { identifier: identifier::IPV4_LINK_MTU, content: Vec::new() }]);
        assert_eq!(answer(&asked, ADDRESS, &ApnConfig { mtu: 0, ..apn() }), None);
    }

    #[test]
    fn pap_as_the_access_point_has_it() {
        let request = [1, 9, 0, 9, 1, b'a', 2, b'b', b'c'];
        assert_eq!(one(identifier::PAP, &request), [2, 9, 0, 5, 0]);
        let asked = pco::emit(&[PcoOption { identifier: identifier::PAP, content: request.to_vec() }]);
        assert!(has_pap(&asked) && !has_pap(&[0x80, 0x00, 0x0d, 0]));
        for pap in [Pap::Ignored, Pap::Refused] {
            assert_eq!(answer(&asked, ADDRESS, &ApnConfig { pap, ..apn() }), None);
        }
    }

    #[test]
    fn what_stands_before_a_fault_is_answered() {
        let cut =
            [&pco::emit(&[PcoOption { identifier: 0x000d, content: Vec::new() }])[..], &[0, 3, 9]].concat();
        let answers = pco::parse(&answer(&cut, ADDRESS, &apn()).unwrap()).unwrap();
        assert_eq!(answers.len(), 2);
        // A mobile without IPv4 has nothing to negotiate by IPCP.
        let asked = pco::emit(&[PcoOption { identifier: identifier::IPCP, content: vec![1, 5, 0, 4] }]);
        assert!(answer(&asked, ADDRESS, &apn()).is_some());
        assert_eq!(answer(&asked, None, &apn()), None);
    }

    #[test]
    fn silence_about_the_rest() {
        assert_eq!(ask(identifier::LCP, &[1, 1, 0, 4]), None);
        // P-CSCF addresses, of IPv6 and IPv4.
        assert_eq!((ask(0x0001, &[]), ask(0x000c, &[])), (None, None));
        assert_eq!(answer(&[], ADDRESS, &apn()), None);
        assert_eq!(answer(&[0x80], ADDRESS, &apn()), None);
    }
}

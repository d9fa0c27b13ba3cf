//! What the GGSN answers to the protocol configuration options of a mobile: what phones and PPP dial-up expect.
//!
//! * PAP and CHAP: whoever asks is welcome; who may use an access point is not decided by these.
//! * IPCP: the name servers. A Configure-Request that asks for others than ours, or for none, gets a Configure-Nak with
//!   ours (RFC 1877); one that asks for nothing to be changed gets a Configure-Ack; options that are neither address nor
//!   name server are rejected where nothing else is to be said (RFC 1661 clause 5.3 and 5.4).
//! * The DNS server request (24.008 clause 10.5.6.3): one answer for each of our servers.
//!
//! Everything else is left without an answer.

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

/// The answer to `octets` for a mobile with `address`; `None` where there is nothing to say.
#[must_use]
pub fn answer(octets: &[u8], address: Ipv4Addr, dns: &[Option<Ipv4Addr>; 2]) -> Option<Vec<u8>> {
    let mut answers = Vec::new();
    for option in pco::parse(octets).ok()? {
        let identifier = option.identifier;
        let mut say = |content| answers.push(PcoOption { identifier, content });
        match (identifier, option.content.as_slice()) {
            // Code, identifier, length, and a message of no octets behind its length.
            (identifier::PAP, [PAP_AUTHENTICATE_REQUEST, id, ..]) => {
                say(vec![PAP_AUTHENTICATE_ACK, *id, 0, 5, 0]);
            }
            (identifier::CHAP, [CHAP_RESPONSE, id, ..]) => say(vec![CHAP_SUCCESS, *id, 0, 4]),
            (identifier::IPCP, [CONFIGURE_REQUEST, id, high, low, options @ ..]) => {
                let len = usize::from(u16::from_be_bytes([*high, *low])).saturating_sub(4);
                if let Some(options) = options.get(..len) {
                    say(ipcp(*id, options, address, dns));
                }
            }
            (identifier::DNS_SERVER_IPV4, []) => {
                dns.iter().flatten().for_each(|server| say(server.octets().to_vec()));
            }
            (_, _) => {}
        }
    }
    (!answers.is_empty()).then(|| pco::emit(&answers))
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

    const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const DNS: [Option<Ipv4Addr>; 2] =
        [Some(Ipv4Addr::new(192, 0, 2, 53)), Some(Ipv4Addr::new(192, 0, 2, 54))];

    fn ask(identifier: u16, content: &[u8]) -> Option<Vec<PcoOption>> {
        let asked = pco::emit(&[PcoOption { identifier, content: content.to_vec() }]);
        Some(pco::parse(&answer(&asked, ADDRESS, &DNS)?).unwrap())
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
    }

    #[test]
    fn silence_about_the_rest() {
        assert_eq!(ask(identifier::LCP, &[1, 1, 0, 4]), None);
        assert_eq!(ask(0x0010, &[]), None);
        assert_eq!(answer(&[], ADDRESS, &DNS), None);
        assert_eq!(answer(&[0x80], ADDRESS, &DNS), None);
    }
}

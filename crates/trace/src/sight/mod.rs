//! What a packet is, for those who record it: whose, whether it is a user's, and where its headers end.
//!
//! [`Eyes`] learn from what passes by which TLLIs, TEIDs and addresses are whose: DL-UNITDATA has the IMSI beside the TLLI
//! (08.18 clause 10.2.1), messages of GTP have it beside TEIDs and the address of the mobile (29.060 clause 7.3). No node is asked.

mod gb;
mod gn;
mod ip;
mod subscribers;

use crate::pcapng::{Direction, Packet};
use core::net::IpAddr;
use core::num::{NonZeroU32, NonZeroU64};
use core::ops::Range;
use gannet_wire::id::Imsi;
use subscribers::Subscribers;

/// What passes an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layer {
    /// NS over UDP.
    Gb,
    /// GTP.
    Gn,
    /// Packets of mobiles, as the network behind the GGSN has them.
    Gi,
    /// Packets of a mobile at its own device: what leaves there has come to the mobile.
    Ip,
    /// Datagrams of GSMTAP between PCU and base transceiver station.
    Gsmtap,
    /// Anything else.
    #[default]
    Other,
}

impl Layer {
    /// By the name of the interface.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "Gb" => Self::Gb,
            "Gn" => Self::Gn,
            "Gi" => Self::Gi,
            "TUN" => Self::Ip,
            "Abis" => Self::Gsmtap,
            _ => Self::Other,
        }
    }
}

/// An interface, as far as it says what its packets are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What passes there.
    pub layer: Layer,
    /// What leaves there goes to mobiles.
    pub sends_downlink: bool,
}

/// Whose a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whose {
    /// Of this subscriber.
    Subscriber(NonZeroU64),
    /// Of who has a name of this key, as long as nothing has said the IMSI.
    Unnamed(u64),
}

impl Whose {
    /// The same for all nodes and at all times.
    #[must_use]
    pub const fn is_sampled(self, one_in: NonZeroU32) -> bool {
        let number = match self {
            Self::Subscriber(number) => number.get(),
            Self::Unnamed(key) => key,
        };
        // The high half of a product: as good as a remainder, and quicker.
        ((mix(number) >> 32) * one_in.get() as u64) >> 32 == 0
    }

    /// The subscriber, where he is known.
    #[must_use]
    pub fn imsi(self) -> Option<Imsi> {
        match self {
            Self::Subscriber(number) => number.try_into().ok(),
            Self::Unnamed(_) => None,
        }
    }
}

/// Spreads a number over 64 bits (the finaliser of SplitMix64).
const fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// What was seen of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Whose it is, where that can be known.
    pub whose: Option<Whose>,
    /// It is user data; otherwise signalling, which is short and always recorded whole.
    pub is_user: bool,
    /// Octets of the payload up to the end of the innermost header that can be read.
    pub headers: usize,
    /// Where an LL-PDU stands in the payload.
    pub ll_pdu: Option<Range<usize>>,
}

impl Seen {
    const fn signalling(whose: Option<Whose>) -> Self {
        Self { whose, is_user: false, headers: usize::MAX, ll_pdu: None }
    }

    /// The same of a payload that stands behind so many octets.
    fn behind(self, octets: usize) -> Self {
        Self {
            headers: self.headers.saturating_add(octets),
            ll_pdu: self.ll_pdu.map(|range| range.start + octets..range.end + octets),
            ..self
        }
    }

    const fn user(whose: Option<Whose>, headers: usize) -> Self {
        Self { whose, is_user: true, headers, ll_pdu: None }
    }
}

/// What is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Choice {
    /// User data is cut behind its headers.
    pub headers: bool,
    /// Of so many subscribers one, with all that is his; what is nobody's is recorded always.
    pub one_in: Option<NonZeroU32>,
}

impl Choice {
    /// Octets of the payload that are recorded; `None` where the packet is not.
    #[must_use]
    pub fn keep(self, seen: &Seen) -> Option<usize> {
        let is_wanted = match (self.one_in, seen.whose) {
            (Some(one_in), Some(whose)) => whose.is_sampled(one_in),
            _ => true,
        };
        is_wanted.then_some(if self.headers { seen.headers } else { usize::MAX })
    }
}

/// Looks at packets, and remembers whose they are.
#[derive(Debug)]
pub struct Eyes {
    subscribers: Subscribers,
    /// Owners of user data are looked for: where subscribers are sampled.
    pub knows_users: bool,
    /// Ends of headers are looked for: where user data is cut behind them. Without it all octets are headers.
    pub knows_headers: bool,
}

impl Default for Eyes {
    fn default() -> Self {
        Self::new()
    }
}

impl Eyes {
    /// With nobody known.
    #[must_use]
    pub fn new() -> Self {
        Self { subscribers: Subscribers::new(), knows_users: false, knows_headers: true }
    }

    /// Looks at one packet.
    pub fn look(&mut self, place: Place, direction: Direction, packet: &Packet<'_>) -> Seen {
        let is_downlink = (direction == Direction::Out) == place.sends_downlink;
        match (place.layer, packet) {
            (Layer::Gb, Packet::Udp(_, payload)) => self.gb(payload),
            (Layer::Gn, Packet::Udp((_, to), payload)) => self.gn(to.ip(), is_downlink, payload),
            (Layer::Gb | Layer::Gn, Packet::Ip(packet)) => match ip::datagram(packet) {
                Some((ends, range)) => {
                    let payload = packet.get(range.clone()).unwrap_or_default();
                    let seen = self.look(place, direction, &Packet::Udp(ends, payload));
                    seen.behind(range.start)
                }
                None => Seen::signalling(None),
            },
            (Layer::Gi, Packet::Ip(packet)) => {
                let whose = self.knows_users.then(|| self.of_address(is_downlink, packet)).flatten();
                Seen::user(whose, self.headers(packet, ip::headers))
            }
            (Layer::Ip, Packet::Ip(packet)) => {
                let is_to_mobile = direction == Direction::Out;
                let whose = self.knows_users.then(|| self.of_address(is_to_mobile, packet)).flatten();
                Seen::user(whose, self.headers(packet, ip::headers))
            }
            (_, Packet::Ip(packet)) => Seen::user(None, self.headers(packet, ip::headers)),
            _ => Seen::signalling(None),
        }
    }

    /// Octets of headers as `find` has them, where anybody wants to know.
    fn headers(&self, octets: &[u8], find: fn(&[u8]) -> usize) -> usize {
        if self.knows_headers { find(octets) } else { usize::MAX }
    }

    /// Whose the mobile's address in an IP packet is.
    fn of_address(&self, is_downlink: bool, packet: &[u8]) -> Option<Whose> {
        let (source, destination) = ip::ends(packet)?;
        Some(self.by_key(key_of_address(if is_downlink { destination } else { source })))
    }

    fn by_key(&self, key: u64) -> Whose {
        self.subscribers.find(key).map_or(Whose::Unnamed(key), Whose::Subscriber)
    }

    fn known(&self, key: u64) -> Option<Whose> {
        self.subscribers.find(key).map(Whose::Subscriber)
    }

    fn learn(&mut self, key: u64, whose: Option<Whose>) {
        if let Some(Whose::Subscriber(number)) = whose {
            self.subscribers.learn(key, number);
        }
    }
}

/// The key of a mobile's address: of IPv6 the prefix is the mobile's, not the whole address (29.060 clause 7.7.27).
fn key_of_address(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => mix(1 << 32 | u64::from(u32::from(address))),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            let prefix = [a, b, c, d].iter().fold(0, |prefix, part| prefix << 16 | u64::from(*part));
            mix(prefix ^ 2 << 32)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_at_a_mobiles_device_is_of_who_has_its_address() {
        let device = Place { layer: Layer::of("TUN"), sends_downlink: false };
        let packet = |from: u8, to: u8| {
            let head = [0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
            [&head[..], &[0; 8]].concat()
        };
        let (up, down) = (packet(7, 1), packet(1, 7));
        let mut eyes = Eyes::new();
        let look = |eyes: &mut Eyes| {
            let up = eyes.look(device, Direction::In, &Packet::Ip(&up));
            let down = eyes.look(device, Direction::Out, &Packet::Ip(&down));
            assert_eq!((up.headers, up.is_user, down.is_user), (28, true, true));
            (up.whose, down.whose)
        };
        assert_eq!(look(&mut eyes), (None, None), "nobody is looked for");
        eyes.knows_users = true;
        let key = key_of_address([10, 0, 0, 7].into());
        assert_eq!(look(&mut eyes), (Some(Whose::Unnamed(key)), Some(Whose::Unnamed(key))));
        let imsi: Imsi = "001010000000042".parse().unwrap();
        let whose = Whose::Subscriber(imsi.into());
        eyes.learn(key, Some(whose));
        assert_eq!(look(&mut eyes), (Some(whose), Some(whose)));
        eyes.knows_headers = false;
        assert_eq!(eyes.look(device, Direction::In, &Packet::Ip(&up)).headers, usize::MAX);
    }
}

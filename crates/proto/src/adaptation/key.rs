//! Keys of the authenticated mode, and what is computed with them. All of it is HMAC-SHA-256.
//!
//! | what | key | over |
//! |---|---|---|
//! | key for handshakes | the shared key | `gannet adaptation handshake` |
//! | key of a direction in a session | the shared key | `gannet adaptation session`, direction, key identifier, session, both random numbers |
//! | key for beacons | the shared key of the network | `gannet adaptation beacon` |
//! | MAC | one of the above | the octets; the first sixteen of the result |

use crate::auth::key::{Key128, same};
use core::fmt;
use gannet_wire::adaptation::{Hello, MAC_LEN, RANDOM_LEN, Welcome};
use hmac::{Hmac, KeyInit, Mac as _};
use sha2::Sha256;

/// Octets of a block of SHA-256: a shorter key is padded with zeros to it (RFC 2104 clause 2).
const BLOCK: usize = 64;

/// The random number of one end for one session.
pub type Random = [u8; RANDOM_LEN];

/// Computes MACs with one key; never printed.
#[derive(Clone)]
pub(super) struct Authenticator(Hmac<Sha256>);

impl fmt::Debug for Authenticator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authenticator(..)")
    }
}

impl Authenticator {
    fn new(key: &[u8]) -> Self {
        let mut block = [0; BLOCK];
        for (to, from) in block.iter_mut().zip(key) {
            *to = *from;
        }
        Self(Hmac::new(&block.into()))
    }

    fn whole(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = self.0.clone();
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    /// The MAC over these octets in their order.
    pub(super) fn mac(&self, parts: &[&[u8]]) -> [u8; MAC_LEN] {
        let mut first = [0; MAC_LEN];
        for (to, from) in first.iter_mut().zip(self.whole(parts)) {
            *to = from;
        }
        first
    }

    /// Whether a MAC is right; it takes as long for any wrong one.
    pub(super) fn is_right(&self, parts: &[&[u8]], mac: &[u8; MAC_LEN]) -> bool {
        same(&self.mac(parts), mac)
    }
}

/// A key that two ends share, and how it is named on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedKey {
    /// Its name.
    pub id: u32,
    /// It.
    pub key: Key128,
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

impl SharedKey {
    fn derive(&self, parts: &[&[u8]]) -> Authenticator {
        Authenticator::new(&Authenticator::new(&self.key.0).whole(parts))
    }

    /// For hello and welcome.
    pub(super) fn handshake(&self) -> Authenticator {
        self.derive(&[b"gannet adaptation handshake"])
    }

    /// For beacons.
    pub(super) fn beacon(&self) -> Authenticator {
        self.derive(&[b"gannet adaptation beacon"])
    }

    /// For one direction of a session.
    pub(super) fn session(
        &self,
        direction: Direction,
        session: u32,
        [of_mobile, of_access_point]: [&Random; 2],
    ) -> Authenticator {
        let direction = match direction {
            Direction::Up => [0],
            Direction::Down => [1],
        };
        let (id, session) = (self.id.to_be_bytes(), session.to_be_bytes());
        let label = b"gannet adaptation session";
        self.derive(&[label, &direction, &id, &session, of_mobile, of_access_point])
    }
}

/// Random numbers for sessions: none comes twice, and nobody can tell the next from those before.
///
/// The dice of [`gannet_machine::Context`] are good for many things and can be guessed from what they have shown, so that
/// they add to a secret here and do not replace it.
#[derive(Debug)]
pub struct Randoms {
    secret: Authenticator,
    count: u64,
}

impl Randoms {
    /// From 16 octets of the operating system, other ones in each run.
    #[must_use]
    pub fn new(secret: Key128) -> Self {
        Self { secret: Authenticator::new(&secret.0), count: 0 }
    }

    /// The next.
    pub(super) fn next(&mut self, dice: u64) -> Random {
        self.count += 1;
        self.secret.mac(&[&self.count.to_be_bytes(), &dice.to_be_bytes()])
    }
}

/// The octets of a PDU of the handshake before its MAC, which is its last field.
pub(super) fn before_mac(pdu: &[u8]) -> &[u8] {
    pdu.len().checked_sub(MAC_LEN).and_then(|end| pdu.get(..end)).unwrap_or_default()
}

/// Puts the MAC in its place at the end of a PDU of the handshake.
pub(super) fn sign(with: &Authenticator, pdu: &mut [u8]) {
    let mac = with.mac(&[before_mac(pdu)]);
    if let Some(place) = pdu.last_chunk_mut() {
        *place = mac;
    }
}

/// Whether a hello is by who has the key.
pub(super) fn is_hello_right(key: &SharedKey, hello: &Hello, pdu: &[u8]) -> bool {
    key.handshake().is_right(&[before_mac(pdu)], &hello.mac)
}

/// The same of a welcome.
pub(super) fn is_welcome_right(key: &SharedKey, welcome: &Welcome, pdu: &[u8]) -> bool {
    key.handshake().is_right(&[before_mac(pdu)], &welcome.mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231 clause 4.3, test case 2.
    #[test]
    fn it_is_hmac_sha_256() {
        let is = Authenticator::new(b"Jefe").whole(&[b"what do ya want ", b"for nothing?"]);
        let start = [0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e];
        assert_eq!(is[..8], start);
    }

    #[test]
    fn everything_that_names_a_session_changes_its_keys() {
        let key = SharedKey { id: 1, key: Key128([7; 16]) };
        let (m, a) = ([1; 16], [2; 16]);
        let mac = |key: &SharedKey, direction, session, randoms| {
            key.session(direction, session, randoms).mac(&[b"x"])
        };
        let all = [
            mac(&key, Direction::Up, 1, [&m, &a]),
            mac(&key, Direction::Down, 1, [&m, &a]),
            mac(&key, Direction::Up, 2, [&m, &a]),
            mac(&key, Direction::Up, 1, [&a, &m]),
            mac(&SharedKey { id: 2, ..key }, Direction::Up, 1, [&m, &a]),
            mac(&SharedKey { key: Key128([8; 16]), ..key }, Direction::Up, 1, [&m, &a]),
            key.handshake().mac(&[b"x"]),
            key.beacon().mac(&[b"x"]),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }

    #[test]
    fn no_random_number_comes_twice_and_no_key_is_printed() {
        let mut randoms = Randoms::new(Key128([0xa5; 16]));
        let (first, second) = (randoms.next(1), randoms.next(1));
        assert!(first != second && first != Randoms::new(Key128([0xa6; 16])).next(1));
        let key = SharedKey { id: 1, key: Key128([0xa5; 16]) };
        let printed = format!("{randoms:?} {key:?} {:?}", key.handshake());
        assert!(!printed.contains("165") && !printed.contains("a5"), "{printed}");
    }
}

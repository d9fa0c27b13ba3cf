//! Mobiles with cards: what they keep beside [`super::mobile`], and the cipher of LLC.
//!
//! Nothing of this is there for mobiles that have none. Key and number of a card follow from the user's number
//! ([`Security::cards`]), so that an HLR needs no list either ([`crate::hlr`]).

use core::net::SocketAddr;
use gannet_proto::auth::cards::Cards;
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::{CardAnswer, Sim, card};
use gannet_proto::llc::cipher::ui_input;
use gannet_proto::llc::{Algorithm, Ciphering, Counters, Direction, nine_bits};
use gannet_wire::id::Sapi;
use gannet_wire::l3::ie::MsNetworkCapability;
use std::fmt;

/// Ki of user 0; that of user n is this number plus n.
const KI: Key128 = Key128(*b"Gannet's load\0\0\0");

/// Mobiles that prove who they are, and cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Security {
    /// The cipher that they have, and no other.
    pub algorithm: Algorithm,
    /// Where our HLR listens for GSUP.
    pub hlr: SocketAddr,
}

impl Security {
    /// With the cipher GEA/`number`.
    ///
    /// # Errors
    /// Where GSM cards have no key for it.
    pub fn new(number: u8, hlr: SocketAddr) -> Result<Self, String> {
        let algorithm = Algorithm::of_number(number).filter(|_| (1..=3).contains(&number));
        let algorithm =
            algorithm.ok_or(format!("GSM cards have keys for GEA1 to GEA3, not for GEA{number}"))?;
        Ok(Self { algorithm, hlr })
    }

    /// The cards of all users.
    #[must_use]
    pub const fn cards() -> Cards {
        Cards::Sim { algorithm: Comp128::V1, ki: KI }
    }
}

/// What somebody has to know who makes or reads a user's frames without the emulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserCipher {
    /// Algorithm and key.
    pub ciphering: Ciphering,
    /// IOV-UI.
    pub iov_ui: u32,
    /// OC + V(UR) of its data (04.64 clause 8.4.2 [44.064]).
    pub expected: u32,
}

/// What one mobile keeps.
#[derive(Debug, Clone, Copy, Default)]
struct Secret {
    ciphering: Ciphering,
    keys: Option<card::Keys>,
    iov_ui: u32,
    gmm: Counters,
    data: Counters,
}

impl Secret {
    const fn counters(&mut self, sapi: Sapi) -> &mut Counters {
        if sapi.0 == Sapi::GMM.0 { &mut self.gmm } else { &mut self.data }
    }
}

/// What all mobiles keep.
pub(super) struct Secrets {
    pub(super) capability: MsNetworkCapability,
    cards: Cards,
    of: Vec<Secret>,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.of.len())
    }
}

impl Secrets {
    pub(super) fn new(security: &Security, users: u32) -> Self {
        Self {
            capability: MsNetworkCapability::typical().with_geas(1 << security.algorithm.number()),
            cards: Security::cards(),
            of: vec![Secret::default(); users as usize],
        }
    }

    fn get(&mut self, user: u32) -> Option<&mut Secret> {
        self.of.get_mut(user as usize)
    }

    /// The user attaches anew: its counters start again, and nothing is ciphered.
    pub(super) fn begin_attach(&mut self, user: u32) {
        if let Some(secret) = self.get(user) {
            *secret = Secret { keys: secret.keys, ..Secret::default() };
        }
    }

    /// Counters and IOV-UI start again, the cipher stays (04.64 clause 8.5.3.1).
    pub(super) fn reset(&mut self, user: u32) {
        if let Some(secret) = self.get(user) {
            *secret = Secret { keys: secret.keys, ciphering: secret.ciphering, ..Secret::default() };
        }
    }

    pub(super) fn set_iov_ui(&mut self, user: u32, iov_ui: u32) {
        if let Some(secret) = self.get(user) {
            secret.iov_ui = iov_ui;
        }
    }

    /// OC + N(U) and the cipher of the next UI frame of a user; `None` where there is no such user.
    pub(super) fn next(&mut self, user: u32, sapi: Sapi, may_cipher: bool) -> Option<(u16, Cover)> {
        let secret = self.get(user)?;
        let count = secret.counters(sapi).take_next();
        let on = may_cipher && secret.ciphering.is_on();
        let input = ui_input(secret.iov_ui, sapi, count);
        let cover = Cover(on.then_some((secret.ciphering, input)));
        Some((nine_bits(count), cover))
    }

    /// Deciphers what a UI frame has behind its header; false where there is no cipher.
    pub(super) fn decipher(&mut self, user: u32, (sapi, nu): (Sapi, u16), octets: &mut [u8]) -> bool {
        let Some(secret) = self.get(user).filter(|secret| secret.ciphering.is_on()) else { return false };
        let count = secret.counters(sapi).count_of(nu);
        let input = ui_input(secret.iov_ui, sapi, count);
        secret.ciphering.apply(input, Direction::Downlink, octets);
        true
    }

    /// Notes a received number; false where it is a repetition.
    pub(super) fn accept(&mut self, user: u32, (sapi, nu): (Sapi, u16)) -> bool {
        self.get(user).is_none_or(|secret| secret.counters(sapi).accept(nu))
    }

    pub(super) fn is_on(&self, user: u32) -> bool {
        self.of.get(user as usize).is_some_and(|secret| secret.ciphering.is_on())
    }

    pub(super) fn view(&self, user: u32) -> Option<UserCipher> {
        let secret = self.of.get(user as usize).filter(|secret| secret.ciphering.is_on())?;
        let expected = secret.data.expected();
        Some(UserCipher { ciphering: secret.ciphering, iov_ui: secret.iov_ui, expected })
    }

    /// The card's answer to a challenge; its key is the mobile's from now on.
    pub(super) fn challenge(&mut self, user: u32, rand: &[u8; 16]) -> Option<[u8; 4]> {
        let outcome = self.cards.card(user).answer(rand, None);
        let CardAnswer::Sres(sres) = outcome.answer else { return None };
        self.get(user)?.keys = outcome.keys;
        Some(sres)
    }

    /// The cipher from the next frame on; false where there is no key for it.
    pub(super) fn set(&mut self, user: u32, number: u8) -> bool {
        let Some((secret, algorithm)) = self.get(user).zip(Algorithm::of_number(number)) else {
            return false;
        };
        let ciphering = match secret.keys {
            _ if algorithm == Algorithm::Gea0 => Some(Ciphering::NONE),
            Some(keys) => keys.ciphering(algorithm),
            None => None,
        };
        secret.ciphering = ciphering.unwrap_or(secret.ciphering);
        ciphering.is_some()
    }
}

/// What is still to be ciphered of a UI frame that has its header and its FCS.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cover(Option<(Ciphering, u32)>);

impl Cover {
    /// The frame's bit E (04.64 clause 6.3.5.4.2).
    pub(super) const fn is_on(self) -> bool {
        self.0.is_some()
    }

    /// Ciphers information and FCS.
    pub(super) fn apply(self, octets: &mut [u8]) {
        if let Some((ciphering, input)) = self.0 {
            ciphering.apply(input, Direction::Uplink, octets);
        }
    }
}

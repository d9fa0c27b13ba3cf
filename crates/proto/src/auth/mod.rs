//! Authentication: algorithms, cards, the network's vectors, and the service as GMM sees it.
//!
//! Network GMM asks by an action and is answered by an event, so an answer may come at once (a policy in the node)
//! or later (an HLR behind GSUP): [`AuthDecision::Pending`] says that it will come. Vectors and challenges are kept
//! by the service ([`vectors`]), not in the mobile's context: a repetition of T3360 asks the service again, which then
//! answers with the same challenge, and the mobile's RES goes back to the service to be compared.
//!
//! On the mobile's side a card ([`card`]) computes the answer. 03.20 clause 3 [43.020]; 33.102 clause 6; 04.08
//! clause 4.7.7 [24.008].
//!
//! ```text
//! authentication centre            SGSN                          mobile            card
//!   aka, sqn ── vectors ──►  vectors ─ Challenge ─► GMM ── RAND, AUTN ──► GMM ──► aka, sqn
//!            ◄── AUTS ─────          ◄─ Answer, Failure ── RES or AUTS ───     ◄──
//! ```

pub mod aka;
pub mod card;
pub mod comp128;
mod comp128_tables;
pub mod key;
pub mod milenage;
pub mod sqn;
pub mod vectors;

pub use aka::Res;
pub use card::{CardAnswer, NoSim, Sim};

use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::{GmmCause, MsNetworkCapability};
use serde::{Deserialize, Serialize};

/// What a mobile says of itself in the request for which its subscriber is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Claim {
    /// The number of the key that it has, 0 to 6 (04.08 clause 10.5.1.2 [24.008]).
    pub cksn: Option<u8>,
    /// It is of R99 or later, so that it can be sent AUTN (33.102 clause 6.8.1.1).
    pub umts: bool,
    /// Its ciphers (04.08 clause 10.5.5.12 [24.008]).
    pub capability: MsNetworkCapability,
}

/// Why a mobile did not accept a challenge (04.08 clause 4.7.7.5.1 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthFailure {
    /// AUTN is not from who has K.
    MacFailure,
    /// It wants AUTN and got none.
    GsmUnacceptable,
    /// AUTN is not fresh: AUTS.
    Synch([u8; 14]),
}

/// What GMM wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthQuestion {
    /// May this subscriber be served, and must it be challenged first?
    Subscriber(Claim),
    /// The challenge, or the order to set the cipher, has to be repeated (T3360): the same once more.
    Repeat,
    /// The mobile answered its challenge with this RES, or with SRES where there are four octets; none where the
    /// mobile's response had none.
    Answer(Res),
    /// The mobile did not accept its challenge. The decision may be another challenge.
    Failure(AuthFailure),
}

/// The number of a question. An answer with another one than that of the last question comes too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct AuthTicket(pub u8);

/// A challenge to a mobile: what the AUTHENTICATION AND CIPHERING REQUEST carries (clause 9.4.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// RAND (clause 10.5.3.1).
    pub rand: [u8; 16],
    /// AUTN of a UMTS challenge (clause 10.5.3.1.1).
    pub autn: Option<[u8; 16]>,
    /// Ciphering key sequence number, 0 to 6 (clause 10.5.1.2).
    pub cksn: u8,
    /// The ciphering algorithm to be used from then on: 0 none, 1 GEA/1 and so on (clause 10.5.5.3).
    pub algorithm: u8,
}

/// The service's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthDecision {
    /// Serve it.
    Accept,
    /// Do not serve it: the GMM cause for its ATTACH REJECT or ROUTING AREA UPDATE REJECT (clause 10.5.5.14).
    Reject(GmmCause),
    /// Challenge it first.
    Challenge(Challenge),
    /// Serve it with the key that both have, and have it set the cipher first: a request without RAND
    /// (clause 4.7.7.1).
    SetCipher {
        /// As in [`Challenge::algorithm`].
        algorithm: u8,
    },
    /// RES is not the right one, or a failure can't be mended: AUTHENTICATION AND CIPHERING REJECT, where the mobile's
    /// identity is beyond doubt.
    Mismatch,
    /// The answer will come later. Until then GMM runs no timer of its own: the service answers in any case.
    Pending,
}

/// Who decides about subscribers.
pub trait AuthService {
    /// Answers one question about one subscriber.
    fn request(&mut self, imsi: Imsi, question: AuthQuestion) -> AuthDecision;
}

/// Who decides about subscribers: the `auth-policy` of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AuthPolicy {
    /// Everybody is served and nobody is challenged.
    #[default]
    AcceptAll,
    /// Who is on a list is served.
    AclOnly,
    /// Who is on a list or of this network is served.
    Closed,
    /// An HLR decides, and mobiles have to prove who they are.
    Remote,
}

/// Serves everybody and challenges nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct AcceptAll;

impl AuthService for AcceptAll {
    fn request(&mut self, _: Imsi, question: AuthQuestion) -> AuthDecision {
        match question {
            AuthQuestion::Subscriber(_) => AuthDecision::Accept,
            // It never challenges, so nothing can answer it.
            AuthQuestion::Repeat | AuthQuestion::Answer(_) | AuthQuestion::Failure(_) => {
                AuthDecision::Mismatch
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_all_accepts_and_never_challenges() {
        let imsi = "001010000000001".parse().unwrap();
        let mut policy = AcceptAll;
        let claim = AuthQuestion::Subscriber(Claim::default());
        assert_eq!(policy.request(imsi, claim), AuthDecision::Accept);
        for stray in [AuthQuestion::Repeat, AuthQuestion::Answer(Res::from_start(&[0; 4]))] {
            assert_eq!(policy.request(imsi, stray), AuthDecision::Mismatch);
        }
    }
}

//! The authentication service, as GMM sees it.
//!
//! Network GMM asks by an action and is answered by an event, so an answer may come at once (a policy in the node)
//! or later (an HLR behind GSUP): [`AuthDecision::Pending`] says that it will come. Vectors and challenges are kept
//! by the service, not in the mobile's context: a repetition of T3360 asks the service again, which then answers
//! with the same challenge, and the mobile's SRES goes back to the service to be compared.
//!
//! On the mobile's side a [`Sim`] computes the answer. 03.20 clause 3 [43.020]; 04.08 clause 4.7.7 [24.008].

use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::GmmCause;
use serde::{Deserialize, Serialize};

/// What GMM wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthQuestion {
    /// May this subscriber be served, and must it be challenged first? Asked again where the challenge has to be
    /// repeated.
    Subscriber,
    /// The mobile answered its challenge with this SRES.
    Answer([u8; 4]),
}

/// A challenge to a mobile: what the AUTHENTICATION AND CIPHERING REQUEST carries (clause 9.4.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// RAND (clause 10.5.3.1).
    pub rand: [u8; 16],
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
    /// The SRES is not the right one: AUTHENTICATION AND CIPHERING REJECT.
    Mismatch,
    /// The answer will come later. Until then GMM runs no timer of its own: the service answers in any case.
    Pending,
}

/// Who decides about subscribers.
pub trait AuthService {
    /// Answers one question about one subscriber.
    fn request(&mut self, imsi: Imsi, question: AuthQuestion) -> AuthDecision;
}

/// Policies that need nobody else: the `auth-policy` of the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum AuthPolicy {
    /// Everybody is served and nobody is challenged.
    #[default]
    AcceptAll,
}

impl AuthService for AuthPolicy {
    fn request(&mut self, _: Imsi, question: AuthQuestion) -> AuthDecision {
        match (*self, question) {
            (Self::AcceptAll, AuthQuestion::Subscriber | AuthQuestion::Answer(_)) => AuthDecision::Accept,
        }
    }
}

/// The card in a mobile.
pub trait Sim {
    /// SRES for this RAND; `None` where the card can't answer a GSM challenge.
    fn sres(&self, rand: &[u8; 16]) -> Option<[u8; 4]>;
}

/// No card that could answer: the mobile sends AUTHENTICATION AND CIPHERING FAILURE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoSim;

impl Sim for NoSim {
    fn sres(&self, _: &[u8; 16]) -> Option<[u8; 4]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_all_accepts_and_never_challenges() {
        let imsi = "001010000000001".parse().unwrap();
        let mut policy = AuthPolicy::default();
        assert_eq!(policy.request(imsi, AuthQuestion::Subscriber), AuthDecision::Accept);
        assert_eq!(policy.request(imsi, AuthQuestion::Answer([0; 4])), AuthDecision::Accept);
        assert_eq!(NoSim.sres(&[0; 16]), None);
    }
}

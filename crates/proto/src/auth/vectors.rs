//! The SGSN's store of authentication vectors for one subscriber (33.102 clause 6.3; 03.20 clause 3 [43.020]).
//!
//! A plain value with a limit. What the authentication centre sends is put in with [`Vectors::add`]; the questions of
//! GMM are answered by [`Vectors::decide`], which says where more vectors are needed first. A vector serves for one
//! challenge and, until that is answered, for its repetition; then it is gone, and its RAND is refused if it comes again.

use super::aka::{Quintuplet, Res, Triplet};
use super::card::Keys;
use super::key::same;
use super::{AuthDecision, AuthFailure, AuthQuestion, Challenge, Claim};
use core::fmt;
use gannet_wire::l3::ie::{GmmCause, MsNetworkCapability};
use serde::{Deserialize, Serialize};

/// Vectors that are kept for one subscriber: as many as an HLR sends at once (29.002 clause 17.7.1).
pub const VECTORS_MAX: usize = 5;
/// Challenges that are remembered so that they are not used again.
const RECENT_MAX: usize = 8;
/// Ciphering key sequence numbers are 0 to 6; 7 means "no key" (04.08 clause 10.5.1.2 [24.008]).
const CKSN_NONE: u8 = 7;

/// One vector. What it holds is never printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Vector {
    /// Of a GSM subscriber.
    Gsm(Triplet),
    /// Of a UMTS subscriber.
    Umts(Quintuplet),
}

impl Vector {
    /// Its challenge.
    #[must_use]
    pub const fn rand(&self) -> [u8; 16] {
        match self {
            Self::Gsm(triplet) => triplet.rand,
            Self::Umts(quintuplet) => quintuplet.rand,
        }
    }
}

/// Why a vector was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorRefused {
    /// Its RAND is there already, or was used.
    Replayed,
    /// There are [`VECTORS_MAX`].
    Full,
}

impl fmt::Display for VectorRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Replayed => "an authentication vector came a second time",
            Self::Full => "more authentication vectors came than are kept",
        })
    }
}

impl core::error::Error for VectorRefused {}

/// The ciphers that the operator allows: bit n stands for GEA/n, bit 0 for none (04.08 clause 10.5.5.3 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ciphers(pub u8);

impl Ciphers {
    /// No ciphering at all.
    pub const NONE: Self = Self(1);

    /// The highest that mobile and operator share; GEA4 needs a UMTS security context, for its key (33.102 annex B.5).
    /// `None` where they share none.
    #[must_use]
    pub fn choose(self, mobile: &MsNetworkCapability, umts: bool) -> Option<u8> {
        let fits = |gea: &u8| match gea {
            0 => true,
            4 => umts && mobile.supports_gea(4),
            gea => mobile.supports_gea(*gea),
        };
        (0..=4).rev().find(|gea| self.0 >> gea & 1 != 0 && fits(gea))
    }
}

/// What the operator has decided about authentication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthRules {
    /// The ciphers that may be used.
    pub ciphers: Ciphers,
    /// A mobile that has the key which the network has too is not challenged again.
    pub reuse_keys: bool,
}

/// RAND and AUTS, for the authentication centre (33.102 clause 6.3.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resynchronisation {
    /// The challenge that was not fresh.
    pub rand: [u8; 16],
    /// The card's answer to it.
    pub auts: [u8; 14],
}

/// What [`Vectors::decide`] makes of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The answer.
    Decide(AuthDecision),
    /// Vectors are needed first: ask the authentication centre, [`Vectors::add`] what comes, and [`Vectors::proceed`].
    Fetch(Option<Resynchronisation>),
}

/// What the mobile has been sent and has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Outstanding {
    Nothing,
    /// A GSM challenge where `challenge` has no AUTN, whatever the vector.
    Challenge {
        challenge: Challenge,
        vector: Vector,
    },
    Cipher {
        algorithm: u8,
    },
}

/// The vectors of one subscriber, and the key that came of the last one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vectors {
    unused: Vec<Vector>,
    outstanding: Outstanding,
    /// What the mobile said when its subscriber was asked about.
    claim: Claim,
    key: Option<(u8, Keys)>,
    last_cksn: u8,
    recent: Vec<[u8; 16]>,
    /// The mobile has answered a UMTS challenge with all of RES: from then on SRES is no answer to one.
    knows_umts: bool,
}

impl Default for Vectors {
    fn default() -> Self {
        Self {
            unused: Vec::new(),
            outstanding: Outstanding::Nothing,
            claim: Claim::default(),
            key: None,
            last_cksn: CKSN_NONE,
            recent: Vec::new(),
            knows_umts: false,
        }
    }
}

impl Vectors {
    /// Takes a vector of the authentication centre.
    ///
    /// # Errors
    /// Where it was here before, or there is no room.
    pub fn add(&mut self, vector: Vector) -> Result<(), VectorRefused> {
        let rand = vector.rand();
        if self.recent.contains(&rand) || self.unused.iter().any(|unused| unused.rand() == rand) {
            return Err(VectorRefused::Replayed);
        }
        if self.unused.len() >= VECTORS_MAX {
            return Err(VectorRefused::Full);
        }
        self.unused.push(vector);
        Ok(())
    }

    /// How many are unused.
    #[must_use]
    pub fn unused(&self) -> usize {
        self.unused.len()
    }

    /// The key in force, and its CKSN.
    #[must_use]
    pub const fn key(&self) -> Option<(u8, Keys)> {
        self.key
    }

    /// Has this subscriber's mobile shown that it does UMTS AKA?
    #[must_use]
    pub const fn knows_umts(&self) -> bool {
        self.knows_umts
    }

    /// What another context of the subscriber says of its mobile holds here too.
    pub const fn note_umts(&mut self, knows_umts: bool) {
        self.knows_umts |= knows_umts;
    }

    /// Is a UMTS challenge outstanding?
    #[must_use]
    pub const fn asks_umts(&self) -> bool {
        matches!(self.outstanding, Outstanding::Challenge { challenge: Challenge { autn: Some(_), .. }, .. })
    }

    /// Answers GMM, or says what is needed for an answer.
    pub fn decide(&mut self, question: AuthQuestion, rules: AuthRules) -> Next {
        match question {
            AuthQuestion::Subscriber(claim) => {
                self.claim = claim;
                self.outstanding = Outstanding::Nothing;
                match self.key {
                    Some((cksn, keys)) if rules.reuse_keys && claim.cksn == Some(cksn) => {
                        Next::Decide(self.reuse(&keys, rules))
                    }
                    _ => self.challenge(rules).map_or(Next::Fetch(None), Next::Decide),
                }
            }
            AuthQuestion::Repeat => Next::Decide(self.repeat()),
            AuthQuestion::Answer(res) => Next::Decide(self.compare(&res, rules)),
            AuthQuestion::Failure(failure) => self.failed(failure, rules),
        }
    }

    /// Vectors have come for the question that was asked last. Where there is none, the network has failed.
    pub fn proceed(&mut self, rules: AuthRules) -> AuthDecision {
        self.challenge(rules).unwrap_or(AuthDecision::Reject(GmmCause::NetworkFailure))
    }

    /// Both have the key: no challenge, and only the cipher is set.
    fn reuse(&mut self, keys: &Keys, rules: AuthRules) -> AuthDecision {
        let umts = matches!(keys, Keys::Umts(_));
        match rules.ciphers.choose(&self.claim.capability, umts) {
            Some(0) => AuthDecision::Accept,
            Some(algorithm) => {
                self.outstanding = Outstanding::Cipher { algorithm };
                AuthDecision::SetCipher { algorithm }
            }
            None => NO_CIPHER,
        }
    }

    /// The next vector becomes a challenge; `None` where there is none.
    fn challenge(&mut self, rules: AuthRules) -> Option<AuthDecision> {
        let vector = self.unused.first().copied()?;
        let autn = match vector {
            Vector::Umts(quintuplet) if self.claim.umts => Some(quintuplet.autn),
            Vector::Umts(_) | Vector::Gsm(_) => None,
        };
        let Some(algorithm) = rules.ciphers.choose(&self.claim.capability, autn.is_some()) else {
            return Some(NO_CIPHER);
        };
        self.unused.remove(0);
        if self.recent.len() >= RECENT_MAX {
            self.recent.remove(0);
        }
        self.recent.push(vector.rand());
        self.last_cksn = self.next_cksn();
        let challenge = Challenge { rand: vector.rand(), autn, cksn: self.last_cksn, algorithm };
        self.outstanding = Outstanding::Challenge { challenge, vector };
        Some(AuthDecision::Challenge(challenge))
    }

    /// Another number than the last one, and than that of the key which the mobile has.
    fn next_cksn(&self) -> u8 {
        let after = |cksn: u8| if cksn + 1 < CKSN_NONE { cksn + 1 } else { 0 };
        let next = after(self.last_cksn);
        if self.claim.cksn == Some(next) { after(next) } else { next }
    }

    /// The same once more. Where nothing is outstanding the question came too late.
    fn repeat(&self) -> AuthDecision {
        match self.outstanding {
            Outstanding::Challenge { challenge, .. } => AuthDecision::Challenge(challenge),
            Outstanding::Cipher { algorithm } => AuthDecision::SetCipher { algorithm },
            Outstanding::Nothing => AuthDecision::Mismatch,
        }
    }

    /// RES or SRES. A UMTS challenge is answered with all of RES, a GSM challenge with SRES. A mobile that was sent AUTN and
    /// cannot do UMTS AKA does not read it and answers with SRES too, which is c2(XRES); its key is Kc by c3 (33.102
    /// clause 6.8.1.1). One that has done UMTS AKA before does not pass so: whoever takes AUTN out of its way, or guesses 32
    /// bits instead of 64, gets nothing.
    fn compare(&mut self, res: &Res, rules: AuthRules) -> AuthDecision {
        let outstanding = core::mem::replace(&mut self.outstanding, Outstanding::Nothing);
        let Outstanding::Challenge { challenge, vector } = outstanding else { return AuthDecision::Mismatch };
        let (right, keys) = match (vector, challenge.autn) {
            (Vector::Umts(quintuplet), Some(_)) if is_sres(&quintuplet.xres, res) && !self.knows_umts => {
                return self.compare_sres(&quintuplet, &challenge, res, rules);
            }
            (Vector::Umts(quintuplet), Some(_)) => {
                (same(quintuplet.xres.as_slice(), res.as_slice()), Keys::Umts(quintuplet.keys))
            }
            (Vector::Umts(quintuplet), None) => as_gsm(&quintuplet.triplet(), res),
            (Vector::Gsm(triplet), _) => as_gsm(&triplet, res),
        };
        self.key = right.then_some((challenge.cksn, keys));
        self.knows_umts |= right && matches!(keys, Keys::Umts(_));
        if right { AuthDecision::Accept } else { AuthDecision::Mismatch }
    }

    /// SRES in answer to a UMTS challenge. There is a GSM security context then, which has no key for GEA4: where that was
    /// asked for, the mobile is told another cipher before it is served.
    fn compare_sres(
        &mut self,
        quintuplet: &Quintuplet,
        challenge: &Challenge,
        res: &Res,
        rules: AuthRules,
    ) -> AuthDecision {
        let (right, keys) = as_gsm(&quintuplet.triplet(), res);
        self.key = right.then_some((challenge.cksn, keys));
        match (right, challenge.algorithm) {
            (false, _) => AuthDecision::Mismatch,
            (true, 4) => match rules.ciphers.choose(&self.claim.capability, false) {
                Some(algorithm) => {
                    self.outstanding = Outstanding::Cipher { algorithm };
                    AuthDecision::SetCipher { algorithm }
                }
                None => NO_CIPHER,
            },
            (true, _) => AuthDecision::Accept,
        }
    }

    /// The mobile did not accept the challenge (04.08 clause 4.7.7.6 f and g [24.008]).
    fn failed(&mut self, failure: AuthFailure, rules: AuthRules) -> Next {
        let outstanding = core::mem::replace(&mut self.outstanding, Outstanding::Nothing);
        let Outstanding::Challenge { challenge, .. } = outstanding else {
            return Next::Decide(AuthDecision::Mismatch);
        };
        match (failure, challenge.autn) {
            // What is unused would not be fresh either (33.102 clause 6.3.5).
            (AuthFailure::Synch(auts), Some(_)) => {
                self.unused.clear();
                Next::Fetch(Some(Resynchronisation { rand: challenge.rand, auts }))
            }
            // A card without GSM access, in a mobile that seemed to be a GSM one.
            (AuthFailure::GsmUnacceptable, None) if matches!(self.unused.first(), Some(Vector::Umts(_))) => {
                self.claim.umts = true;
                Next::Decide(self.proceed(rules))
            }
            (AuthFailure::Synch(_), None) | (AuthFailure::GsmUnacceptable | AuthFailure::MacFailure, _) => {
                Next::Decide(AuthDecision::Mismatch)
            }
        }
    }
}

/// Mobile and operator share no cipher.
const NO_CIPHER: AuthDecision = AuthDecision::Reject(GmmCause::ProtocolError);

/// Has this answer the length of SRES, where RES is longer?
const fn is_sres(xres: &Res, res: &Res) -> bool {
    res.len() == 4 && xres.len() > 4
}

fn as_gsm(triplet: &Triplet, res: &Res) -> (bool, Keys) {
    (same(&triplet.sres, res.as_slice()), Keys::Gsm(triplet.kc))
}

#[cfg(test)]
mod tests;

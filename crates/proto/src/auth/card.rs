//! The cards in mobiles: SIM and USIM as plain values, and what they answer to a challenge.

use super::aka::{Res, UmtsKeys, auts, c2, open_autn};
use super::comp128::Comp128;
use super::key::{Key64, Key128};
use super::milenage::{Answer, Milenage};
use super::sqn::{Sqn, SqnArray};
use crate::llc::{Algorithm, Ciphering, KcLength};
use serde::{Deserialize, Serialize};

/// A card's answer, as GMM sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardAnswer {
    /// To a GSM challenge.
    Sres([u8; 4]),
    /// To a UMTS challenge.
    Res(Res),
    /// AUTN is the network's, and was seen before, or is far from what it should be: AUTS (33.102 clause 6.3.3).
    SynchFailure([u8; 14]),
    /// AUTN is not the network's.
    MacFailure,
    /// There is no card, or it does not answer a challenge of this kind.
    Unable,
}

/// The keys that an authentication leaves at both ends: the security context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Keys {
    /// A GSM security context.
    Gsm(Key64),
    /// A UMTS security context.
    Umts(UmtsKeys),
}

impl Keys {
    /// Kc for GEA1, GEA2 and GEA3.
    #[must_use]
    pub fn kc(&self) -> Key64 {
        match self {
            Self::Gsm(kc) => *kc,
            Self::Umts(keys) => keys.kc(),
        }
    }

    /// Kc128 for GEA4; in a GSM security context there is none (33.102 annex B.5).
    #[must_use]
    pub fn kc128(&self) -> Option<Key128> {
        match self {
            Self::Gsm(_) => None,
            Self::Umts(keys) => Some(keys.kc128()),
        }
    }

    /// What LLC is told: an algorithm with its key. `None` where there is no key for it.
    #[must_use]
    pub fn ciphering(&self, algorithm: Algorithm) -> Option<Ciphering> {
        match algorithm.kc_length() {
            None => Some(Ciphering::NONE),
            Some(KcLength::Bits64) => Ciphering::with_kc(algorithm, self.kc().0),
            Some(KcLength::Bits128) => Ciphering::with_kc128(algorithm, self.kc128()?.0),
        }
    }
}

/// What a card gives to the mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// For the network.
    pub answer: CardAnswer,
    /// For the mobile's own use, where the answer is SRES or RES.
    pub keys: Option<Keys>,
}

impl Outcome {
    const fn failed(answer: CardAnswer) -> Self {
        Self { answer, keys: None }
    }
}

/// The card in a mobile.
pub trait Sim {
    /// Answers a challenge: a GSM one where it has no AUTN.
    fn answer(&mut self, rand: &[u8; 16], autn: Option<&[u8; 16]>) -> Outcome;
}

/// No card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoSim;

impl Sim for NoSim {
    fn answer(&mut self, _: &[u8; 16], _: Option<&[u8; 16]>) -> Outcome {
        Outcome::failed(CardAnswer::Unable)
    }
}

/// A GSM card.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GsmSim {
    /// A3 and A8.
    pub algorithm: Comp128,
    /// The subscriber's key.
    pub ki: Key128,
}

impl Sim for GsmSim {
    /// AUTN means nothing to it (04.08 clause 4.7.7.2 [24.008]).
    fn answer(&mut self, rand: &[u8; 16], _: Option<&[u8; 16]>) -> Outcome {
        let (sres, kc) = self.algorithm.run(&self.ki, rand);
        Outcome { answer: CardAnswer::Sres(sres), keys: Some(Keys::Gsm(kc)) }
    }
}

/// A UMTS card with MILENAGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usim {
    /// The subscriber's key.
    pub k: Key128,
    /// The operator's variant of the algorithm, bound to this key.
    pub opc: Key128,
    /// Whether it answers GSM challenges too (31.102 clause 4.2.8, service 27: GSM access).
    pub gsm_access: bool,
    /// What it has accepted.
    sqn: SqnArray,
}

impl Usim {
    /// A card that was never used. Where the operator gave OP, [`super::milenage::opc`] makes OPc of it.
    #[must_use]
    pub fn new(k: Key128, opc: Key128) -> Self {
        Self { k, opc, gsm_access: true, sqn: SqnArray::default() }
    }

    /// The highest SQN that it has accepted.
    #[must_use]
    pub fn sqn(&self) -> Sqn {
        self.sqn.highest()
    }

    /// A GSM challenge: c2 and c3 of what f2 to f4 give (33.102 clause 6.8.1.5).
    fn gsm(&self, functions: &Milenage, rand: &[u8; 16]) -> Outcome {
        if !self.gsm_access {
            return Outcome::failed(CardAnswer::Unable);
        }
        let Answer { res, ck, ik, ak: _ } = functions.f2345(rand);
        let sres = c2(&Res::from_start(&res));
        Outcome { answer: CardAnswer::Sres(sres), keys: Some(Keys::Gsm(UmtsKeys { ck, ik }.kc())) }
    }
}

impl Sim for Usim {
    fn answer(&mut self, rand: &[u8; 16], autn: Option<&[u8; 16]>) -> Outcome {
        let functions = Milenage::new(&self.k, &self.opc);
        let Some(autn) = autn else { return self.gsm(&functions, rand) };
        match open_autn(&functions, rand, autn) {
            None => Outcome::failed(CardAnswer::MacFailure),
            Some((sqn, Answer { res, ck, ik, ak: _ })) if self.sqn.accept(sqn) => Outcome {
                answer: CardAnswer::Res(Res::from_start(&res)),
                keys: Some(Keys::Umts(UmtsKeys { ck, ik })),
            },
            Some(_) => Outcome::failed(CardAnswer::SynchFailure(auts(&functions, rand, self.sqn.highest()))),
        }
    }
}

/// Any card, as a mobile's configuration names it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Card {
    /// None.
    #[default]
    None,
    /// A GSM card.
    Sim(GsmSim),
    /// A UMTS card.
    Usim(Box<Usim>),
}

impl Sim for Card {
    fn answer(&mut self, rand: &[u8; 16], autn: Option<&[u8; 16]>) -> Outcome {
        match self {
            Self::None => NoSim.answer(rand, autn),
            Self::Sim(sim) => sim.answer(rand, autn),
            Self::Usim(usim) => usim.answer(rand, autn),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::aka::Quintuplet;
    use super::*;

    #[test]
    fn a_mobile_without_card_answers_nothing() {
        let mut card = Card::None;
        assert_eq!(card.answer(&[1; 16], None), Outcome::failed(CardAnswer::Unable));
        assert_eq!(card.answer(&[1; 16], Some(&[2; 16])), Outcome::failed(CardAnswer::Unable));
    }

    #[test]
    fn a_gsm_card_does_not_see_autn() {
        let mut card = Card::Sim(GsmSim { algorithm: Comp128::V1, ki: Key128([1; 16]) });
        let outcome = card.answer(&[2; 16], None);
        assert_eq!(card.answer(&[2; 16], Some(&[3; 16])), outcome);
        assert!(matches!(outcome, Outcome { answer: CardAnswer::Sres(_), keys: Some(Keys::Gsm(_)) }));
        assert_eq!(outcome.keys.and_then(|keys| keys.kc128()), None);
    }

    #[test]
    fn a_card_without_gsm_access_wants_autn() {
        let mut card = Usim::new(Key128([1; 16]), Key128([2; 16]));
        assert!(matches!(card.answer(&[3; 16], None).answer, CardAnswer::Sres(_)));
        card.gsm_access = false;
        assert_eq!(card.answer(&[3; 16], None).answer, CardAnswer::Unable);
        let functions = Milenage::new(&card.k, &card.opc);
        let vector = Quintuplet::generate(&functions, [3; 16], Sqn::new(1, 0), [0; 2]);
        assert_eq!(card.answer(&[3; 16], Some(&vector.autn)).answer, CardAnswer::Res(vector.xres));
        assert_eq!(card.sqn(), Sqn::new(1, 0));
    }

    #[test]
    fn keys_of_a_card_are_never_printed() {
        let cards = [
            Card::Sim(GsmSim { algorithm: Comp128::V2, ki: Key128([0xa5; 16]) }),
            Card::Usim(Box::new(Usim::new(Key128([0xa5; 16]), Key128([0xa5; 16])))),
        ];
        let mut printed = format!("{cards:?}");
        for mut card in cards {
            printed.push_str(&format!("{:?}", card.answer(&[1; 16], None).keys));
        }
        assert!(!printed.contains("165") && !printed.contains("a5"), "{printed}");
        assert!(printed.contains("ki: Key128(..)") && printed.contains("Some(Gsm(Key64(..)))"), "{printed}");
    }
}

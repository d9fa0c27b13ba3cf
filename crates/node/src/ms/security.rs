//! Security of one mobile: its card, and the keys that the card gave (04.08 clause 4.7.7 [24.008]).

use super::{Ms, Owner};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::timers::TimerName as _;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::auth::card::{Card, Keys};
use gannet_proto::auth::{CardAnswer, Sim};
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::l3::ie::MsNetworkCapability;

/// The card in a mobile, and the keys of the last challenge that it answered. Their number is in GMM, which asks for no
/// cipher without one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Security {
    card: Card,
    keys: Option<Keys>,
}

impl Security {
    /// With a card that nobody has asked yet.
    #[must_use]
    pub const fn new(card: Card) -> Self {
        Self { card, keys: None }
    }

    /// The card answers a challenge.
    fn answer(&mut self, rand: &[u8; 16], autn: Option<&[u8; 16]>) -> CardAnswer {
        let outcome = self.card.answer(rand, autn);
        self.keys = outcome.keys.or(self.keys);
        outcome.answer
    }

    /// Cipher and key for LLC; `None` for a cipher that the mobile does not have, or has no key for.
    fn ciphering(&self, capability: &MsNetworkCapability, number: u8) -> Option<Ciphering> {
        match Algorithm::of_number(number)? {
            Algorithm::Gea0 => Some(Ciphering::NONE),
            algorithm if capability.supports_gea(number) => self.keys?.ciphering(algorithm),
            _ => None,
        }
    }
}

impl Ms {
    /// What a mobile's card says to a challenge.
    pub(super) fn ask_sim(
        &mut self,
        index: u32,
        rand: &[u8; 16],
        autn: Option<&[u8; 16]>,
    ) -> Option<CardAnswer> {
        let mobile = self.mobiles.get_mut(index as usize)?;
        Some(mobile.security.answer(rand, autn))
    }

    /// LLGMM-ASSIGN with the cipher that the network has ordered (04.64 clause 7.2.1.1 [44.064]): what is sent or comes
    /// from now on is ciphered with it.
    pub(super) fn set_cipher(&mut self, cx: &mut Context<'_>, index: u32, number: u8) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let ordered = mobile.security.ciphering(&self.config.gmm.network_capability, number);
        if ordered.is_none() {
            cx.drop_of(Drop::MsNoCipher, Some(mobile.imsi()));
        }
        let ciphering = ordered.unwrap_or_default();
        cx.log(Category::Mm, Level::Info, format_args!("IMSI {}: {}", mobile.imsi(), ciphering.algorithm));
        mobile.llc.assign(mobile.llc.tlli(), mobile.llc.tlli_old(), ciphering);
        mobile.llc.arm(Owner::Llc.key(index, 0), cx.timers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_proto::auth::card::GsmSim;
    use gannet_proto::auth::comp128::Comp128;
    use gannet_proto::auth::key::Key128;

    #[test]
    fn no_cipher_without_its_key() {
        let typical = MsNetworkCapability::typical();
        let mut mobile = Security::new(Card::Sim(GsmSim { algorithm: Comp128::V1, ki: Key128([1; 16]) }));
        assert_eq!(mobile.ciphering(&typical, 0), Some(Ciphering::NONE));
        assert_eq!(mobile.ciphering(&typical, 1), None, "nobody has asked the card");
        assert!(matches!(mobile.answer(&[2; 16], None), CardAnswer::Sres(_)));
        for (number, there) in [(1, true), (2, true), (3, true), (4, false), (5, false)] {
            let ciphering = mobile.ciphering(&typical.with_geas(0xfe), number);
            assert_eq!(ciphering.is_some_and(|ciphering| ciphering.is_on()), there, "GEA{number}");
        }
        assert_eq!(mobile.ciphering(&typical.with_geas(0b10), 2), None, "not in the capability");
        assert!(!format!("{mobile:?}").contains(", 1, 1"));
    }
}

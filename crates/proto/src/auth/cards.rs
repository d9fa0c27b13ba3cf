//! The cards of a fleet of mobiles: one line of a configuration for as many as there are.

use super::card::{Card, GsmSim, Usim};
use super::comp128::Comp128;
use super::key::Key128;
use super::milenage::opc;

/// The cards of a fleet, all of one kind. The key of the n-th is that of the first plus n, as a number of 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Cards {
    /// No mobile has a card.
    #[default]
    None,
    /// GSM cards.
    Sim {
        /// A3 and A8.
        algorithm: Comp128,
        /// Ki of the first.
        ki: Key128,
    },
    /// UMTS cards with MILENAGE.
    Usim {
        /// K of the first.
        k: Key128,
        /// The operator's variant.
        variant: Variant,
    },
}

/// The operator's variant of MILENAGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// OP, of which each card has an OPc of its own.
    Op(Key128),
    /// OPc, the same in all cards.
    Opc(Key128),
}

impl Cards {
    /// The card of mobile `index`, as it comes from the operator.
    #[must_use]
    pub fn card(&self, index: u32) -> Card {
        let numbered =
            |key: &Key128| Key128(u128::from_be_bytes(key.0).wrapping_add(index.into()).to_be_bytes());
        match self {
            Self::None => Card::None,
            Self::Sim { algorithm, ki } => Card::Sim(GsmSim { algorithm: *algorithm, ki: numbered(ki) }),
            Self::Usim { k, variant } => {
                let k = numbered(k);
                let opc = match variant {
                    Variant::Op(op) => opc(&k, op),
                    Variant::Opc(opc) => *opc,
                };
                Card::Usim(Box::new(Usim::new(k, opc)))
            }
        }
    }

    /// The ciphers of the mobiles that have such cards: bit n stands for GEA/n. Only a USIM gives a key for GEA4.
    #[must_use]
    pub const fn geas(&self) -> u8 {
        match self {
            Self::None | Self::Sim { .. } => 0b0_1110,
            Self::Usim { .. } => 0b1_1110,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_fleet_follow_each_other() {
        let (first, next) = (Key128([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff]), {
            let mut next = [0; 16];
            next[14] = 1;
            Key128(next)
        });
        let cards = Cards::Sim { algorithm: Comp128::V2, ki: first };
        assert_eq!(cards.card(0), Card::Sim(GsmSim { algorithm: Comp128::V2, ki: first }));
        assert_eq!(cards.card(1), Card::Sim(GsmSim { algorithm: Comp128::V2, ki: next }));
        let last = Cards::Sim { algorithm: Comp128::V2, ki: Key128([0xff; 16]) };
        assert_eq!(last.card(1), Card::Sim(GsmSim { algorithm: Comp128::V2, ki: Key128([0; 16]) }));
        let (op, k) = (Key128([7; 16]), next);
        let by_op = Cards::Usim { k: first, variant: Variant::Op(op) }.card(1);
        assert_eq!(by_op, Card::Usim(Box::new(Usim::new(k, opc(&k, &op)))));
        let by_opc = Cards::Usim { k: first, variant: Variant::Opc(op) }.card(1);
        assert_eq!(by_opc, Card::Usim(Box::new(Usim::new(k, op))));
        assert_eq!(Cards::None.card(1), Card::None);
    }
}

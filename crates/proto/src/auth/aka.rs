//! Authentication and key agreement: what the authentication centre, the SGSN and the card compute (33.102).
//!
//! The *authentication centre* turns RAND and SQN into a [`Quintuplet`] and reads the AUTS of a card that is out of
//! step. The *card* opens AUTN and decides whether its SQN is fresh. Between GSM and UMTS stand the conversion functions
//! c2 to c5 of clause 6.8.1.2. Clause numbers are those of 33.102 unless another document is named.

use super::key::{Key64, Key128, same};
use super::milenage::{Answer, Milenage, xor};
use super::sqn::Sqn;
use core::fmt;
use gannet_wire::l3::ie::Octets;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// RES or XRES: 4 to 16 octets.
pub type Res = Octets<16>;

/// AMF of a synchronisation failure (clause 6.3.3).
const AMF_RESYNCHRONISATION: [u8; 2] = [0; 2];

/// What is needed to challenge a GSM mobile once: 03.20 clause 3.1 [43.020].
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Triplet {
    /// The challenge.
    pub rand: [u8; 16],
    /// The right answer.
    pub sres: [u8; 4],
    /// The key that results.
    pub kc: Key64,
}

/// What is needed to challenge a UMTS mobile once (clause 6.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quintuplet {
    /// The challenge.
    pub rand: [u8; 16],
    /// The right answer.
    pub xres: Res,
    /// The keys that result.
    pub keys: UmtsKeys,
    /// The network's proof that it knows K, and that RAND is fresh.
    pub autn: [u8; 16],
}

/// A UMTS security context.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UmtsKeys {
    /// The cipher key.
    pub ck: Key128,
    /// The integrity key.
    pub ik: Key128,
}

macro_rules! unprinted {
    ($($name:ident)*) => {$(
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    )*};
}
unprinted! { Triplet Quintuplet UmtsKeys }

impl UmtsKeys {
    /// Kc for the ciphers of 64 bits (function c3).
    #[must_use]
    pub fn kc(&self) -> Key64 {
        c3(&self.ck, &self.ik)
    }

    /// Kc128 for GEA4: the first half of HMAC-SHA-256 over FC with CK and IK as the key (annex B.5; the function is
    /// that of 33.220 annex B.2, here without parameters).
    #[must_use]
    pub fn kc128(&self) -> Key128 {
        const FC: u8 = 0x32;
        // A key that is shorter than a block of the hash is filled up with zeros.
        let mut key = [0; 64];
        for (to, from) in key.iter_mut().zip(self.ck.0.iter().chain(&self.ik.0)) {
            *to = *from;
        }
        let mut mac = Hmac::<Sha256>::new(&key.into());
        mac.update(&[FC]);
        let derived: [u8; 32] = mac.finalize().into_bytes().into();
        let mut octets = derived.into_iter();
        Key128(core::array::from_fn(|_| octets.next().unwrap_or(0)))
    }
}

impl Quintuplet {
    /// What the authentication centre makes of RAND, SQN and AMF (clause 6.3.2).
    #[must_use]
    pub fn generate(functions: &Milenage, rand: [u8; 16], sqn: Sqn, amf: [u8; 2]) -> Self {
        let (mac, _) = functions.f1(&rand, sqn.octets(), amf);
        let Answer { res, ck, ik, ak } = functions.f2345(&rand);
        let [a, b, c, d, e, f] = xor(sqn.octets(), ak);
        let ([g, h], [i, j, k, l, m, n, o, p]) = (amf, mac);
        Self {
            rand,
            xres: Res::from_start(&res),
            keys: UmtsKeys { ck, ik },
            autn: [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p],
        }
    }

    /// The same for a mobile that knows only GSM: c1, c2 and c3 (clause 6.8.1.2).
    #[must_use]
    pub fn triplet(&self) -> Triplet {
        Triplet { rand: self.rand, sres: c2(&self.xres), kc: self.keys.kc() }
    }
}

/// What a card reads in AUTN: SQN, and what it answers; `None` where MAC is not the right one (clause 6.3.3).
#[must_use]
pub fn open_autn(functions: &Milenage, rand: &[u8; 16], autn: &[u8; 16]) -> Option<(Sqn, Answer)> {
    let [a, b, c, d, e, f, amf @ .., _, _, _, _, _, _, _, _] = *autn;
    let [.., g, h, i, j, k, l, m, n] = *autn;
    let answer = functions.f2345(rand);
    let sqn = xor([a, b, c, d, e, f], answer.ak);
    let (expected, _) = functions.f1(rand, sqn, amf);
    same(&expected, &[g, h, i, j, k, l, m, n]).then(|| (Sqn::from_octets(sqn), answer))
}

/// AUTS: the card's own SQN, hidden and signed (clause 6.3.3).
#[must_use]
pub fn auts(functions: &Milenage, rand: &[u8; 16], sqn: Sqn) -> [u8; 14] {
    let (_, mac) = functions.f1(rand, sqn.octets(), AMF_RESYNCHRONISATION);
    let hidden = xor(sqn.octets(), functions.f5_star(rand));
    let mut octets = hidden.into_iter().chain(mac);
    core::array::from_fn(|_| octets.next().unwrap_or(0))
}

/// What the authentication centre reads in AUTS; `None` where MAC-S is not the right one (clause 6.3.5).
#[must_use]
pub fn open_auts(functions: &Milenage, rand: &[u8; 16], auts: &[u8; 14]) -> Option<Sqn> {
    let [a, b, c, d, e, f, mac @ ..] = *auts;
    let sqn = xor([a, b, c, d, e, f], functions.f5_star(rand));
    let (_, expected) = functions.f1(rand, sqn, AMF_RESYNCHRONISATION);
    same(&expected, &mac).then(|| Sqn::from_octets(sqn))
}

/// SRES of RES: its words of 32 bits added, a shorter RES filled up with zeros (clause 6.8.1.2).
#[must_use]
pub fn c2(res: &Res) -> [u8; 4] {
    core::array::from_fn(|n| (0..4).fold(0, |sum, word| sum ^ res.octet(4 * word + n)))
}

/// Kc of CK and IK (clause 6.8.1.2).
#[must_use]
pub fn c3(ck: &Key128, ik: &Key128) -> Key64 {
    let ((a, b), (c, d)) = (halves(ck), halves(ik));
    Key64(xor(xor(a, b), xor(c, d)))
}

/// CK of Kc (clause 6.8.2.3).
#[must_use]
pub fn c4(kc: &Key64) -> Key128 {
    joined(kc.0, kc.0)
}

/// IK of Kc, whose halves are added (clause 6.8.2.3).
#[must_use]
pub fn c5(kc: &Key64) -> Key128 {
    let [a, b, c, d, low @ ..] = kc.0;
    let [e, f, g, h] = xor([a, b, c, d], low);
    let [i, j, k, l] = low;
    joined([e, f, g, h, a, b, c, d], [i, j, k, l, e, f, g, h])
}

fn halves(key: &Key128) -> ([u8; 8], [u8; 8]) {
    let [a, b, c, d, e, f, g, h, low @ ..] = key.0;
    ([a, b, c, d, e, f, g, h], low)
}

fn joined([a, b, c, d, e, f, g, h]: [u8; 8], [i, j, k, l, m, n, o, p]: [u8; 8]) -> Key128 {
    Key128([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_of_clause_6_8() {
        let ascending = Key128([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(c2(&Res::from_start(&[1, 2, 3, 4])), [1, 2, 3, 4]);
        assert_eq!(c2(&Res::from_start(&[1, 2, 3, 4, 0x10, 0x20, 0x30, 0x40])), [0x11, 0x22, 0x33, 0x44]);
        assert_eq!(c2(&Res::from_start(&[1, 2, 3, 4, 0x10])), [0x11, 2, 3, 4]);
        assert_eq!(c2(&Res::from_start(&[0x55; 16])), [0; 4]);
        assert_eq!(c3(&ascending, &Key128([0; 16])).0, [8; 8]);
        let kc = Key64([1, 2, 3, 4, 0x10, 0x20, 0x30, 0x40]);
        assert_eq!(c4(&kc).0, [1, 2, 3, 4, 0x10, 0x20, 0x30, 0x40, 1, 2, 3, 4, 0x10, 0x20, 0x30, 0x40]);
        let sum = [0x11, 0x22, 0x33, 0x44];
        assert_eq!(c5(&kc).0[..4], sum);
        assert_eq!(c5(&kc).0[4..12], kc.0);
        assert_eq!(c5(&kc).0[12..], sum);
        assert_eq!(c3(&c4(&kc), &c5(&kc)), kc, "back to where it came from");
    }

    #[test]
    fn what_is_secret_is_never_printed() {
        let functions = Milenage::new(&Key128([1; 16]), &Key128([2; 16]));
        let vector = Quintuplet::generate(&functions, [3; 16], Sqn::new(1, 2), [0; 2]);
        assert_eq!(
            format!("{vector:?} {:?} {:?}", vector.triplet(), vector.keys),
            "Quintuplet(..) Triplet(..) UmtsKeys(..)"
        );
    }
}

//! MILENAGE: the functions f1 to f5* of most USIM cards, on AES-128 (35.206).
//!
//! Names are those of 35.206 clause 2.3: each OUTi is E_K of TEMP, rotated by ri and with ci added.

use super::key::Key128;
use aes::Aes128;
use aes::cipher::{BlockCipherEncrypt, KeyInit};
use core::fmt;

/// What f2 to f5 give for one RAND.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// f2: RES, or XRES.
    pub res: [u8; 8],
    /// f3: the cipher key.
    pub ck: Key128,
    /// f4: the integrity key.
    pub ik: Key128,
    /// f5: the anonymity key, which hides SQN in AUTN.
    pub ak: [u8; 6],
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answer(..)")
    }
}

/// The functions for one subscriber.
pub struct Milenage {
    e: Aes128,
    opc: [u8; 16],
}

impl fmt::Debug for Milenage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Milenage(..)")
    }
}

/// OPc = OP ⊕ E_K(OP): what a card stores in place of the operator's OP (35.206 clause 4.1).
#[must_use]
pub fn opc(k: &Key128, op: &Key128) -> Key128 {
    Key128(xor(op.0, encrypt(&Aes128::new(&k.0.into()), op.0)))
}

impl Milenage {
    /// For K and OPc.
    #[must_use]
    pub fn new(k: &Key128, opc: &Key128) -> Self {
        Self { e: Aes128::new(&k.0.into()), opc: opc.0 }
    }

    /// f1 and f1*: MAC-A, which is in AUTN, and MAC-S, which is in AUTS.
    #[must_use]
    pub fn f1(&self, rand: &[u8; 16], sqn: [u8; 6], amf: [u8; 2]) -> ([u8; 8], [u8; 8]) {
        let [a, b, c, d, e, f] = sqn;
        let [g, h] = amf;
        let in1 = [a, b, c, d, e, f, g, h, a, b, c, d, e, f, g, h];
        // r1 = 64 bits, c1 = 0; here TEMP is added behind the rotation.
        let rotated = rotate(xor(in1, self.opc), 8);
        let out1 = self.finish(xor(self.temp(rand), rotated));
        halves(out1)
    }

    /// f2, f3, f4 and f5.
    #[must_use]
    pub fn f2345(&self, rand: &[u8; 16]) -> Answer {
        let temp = self.temp(rand);
        let (out2, res) = halves(self.out(temp, 0, 1));
        Answer {
            res,
            ck: Key128(self.out(temp, 4, 2)),
            ik: Key128(self.out(temp, 8, 4)),
            ak: anonymity_key(out2),
        }
    }

    /// f5*: the anonymity key of resynchronisation, which hides SQN in AUTS.
    #[must_use]
    pub fn f5_star(&self, rand: &[u8; 16]) -> [u8; 6] {
        anonymity_key(halves(self.out(self.temp(rand), 12, 8)).0)
    }

    /// E_K(RAND ⊕ OPc).
    fn temp(&self, rand: &[u8; 16]) -> [u8; 16] {
        encrypt(&self.e, xor(*rand, self.opc))
    }

    /// OUT2 to OUT5: r in octets, c in the last octet.
    fn out(&self, temp: [u8; 16], r: usize, c: u8) -> [u8; 16] {
        let mut input = rotate(xor(temp, self.opc), r);
        let [.., last] = &mut input;
        *last ^= c;
        self.finish(input)
    }

    fn finish(&self, input: [u8; 16]) -> [u8; 16] {
        xor(encrypt(&self.e, input), self.opc)
    }
}

fn encrypt(e: &Aes128, octets: [u8; 16]) -> [u8; 16] {
    let mut block = octets.into();
    e.encrypt_block(&mut block);
    block.into()
}

/// The bitwise sum of two strings.
#[must_use]
pub(super) fn xor<const N: usize>(a: [u8; N], b: [u8; N]) -> [u8; N] {
    let mut sum = a;
    for (to, from) in sum.iter_mut().zip(b) {
        *to ^= from;
    }
    sum
}

/// Rotated towards the most significant end.
fn rotate(mut octets: [u8; 16], by: usize) -> [u8; 16] {
    octets.rotate_left(by);
    octets
}

fn halves([a, b, c, d, e, f, g, h, low @ ..]: [u8; 16]) -> ([u8; 8], [u8; 8]) {
    ([a, b, c, d, e, f, g, h], low)
}

fn anonymity_key([ak @ .., _, _]: [u8; 8]) -> [u8; 6] {
    ak
}

#[cfg(test)]
mod tests;

//! Keys, which are never printed, and the comparison of what must not be guessed octet by octet.

use core::fmt;
use core::str::FromStr;
use ctutils::CtEq;
use serde::{Deserialize, Serialize};

macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident, $octets:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name(pub [u8; $octets]);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(..)"))
            }
        }
    )*};
}

keys! {
    /// 64 bits: Kc.
    Key64, 8;
    /// 128 bits: Ki, K, OP, OPc, CK, IK, Kc128.
    Key128, 16;
}

/// What was to be a key is none. It does not say what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoKey;

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key is 32 hexadecimal digits")
    }
}

impl core::error::Error for NoKey {}

impl FromStr for Key128 {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<Self, NoKey> {
        let digits = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = digits.then(|| u128::from_str_radix(text, 16).ok()).flatten();
        number.map(|number| Self(number.to_be_bytes())).ok_or(NoKey)
    }
}

impl Key128 {
    /// As a configuration has it, where keys are kept: 32 hexadecimal digits. It is for nothing else.
    #[must_use]
    pub fn hex(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }
}

/// Are these the same? It takes as long for any two of one length.
#[must_use]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).to_bool()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_printed() {
        assert_eq!(format!("{:?} {:?}", Key64([0xa5; 8]), Key128([0xa5; 16])), "Key64(..) Key128(..)");
    }

    #[test]
    fn a_key_is_read_and_kept_as_hexadecimal_digits() {
        let text = "00a102030405060708090a0b0c0d0eff";
        let key: Key128 = text.parse().unwrap();
        assert_eq!((key.0[..3].to_vec(), key.0[15], key.hex().as_str()), (vec![0, 0xa1, 2], 0xff, text));
        for wrong in ["", "00a1", "+0a102030405060708090a0b0c0d0eff", "00A102030405060708090a0b0c0d0efg"] {
            assert_eq!(wrong.parse::<Key128>(), Err(NoKey));
        }
        assert!(!format!("{NoKey} {NoKey:?}").contains("efg"));
    }

    #[test]
    fn every_octet_counts() {
        let right = [1, 2, 3, 4];
        assert!(same(&right, &right) && same(&[], &[]));
        for octet in 0..4 {
            let mut wrong = right;
            wrong[octet] ^= 0x80;
            assert!(!same(&right, &wrong));
        }
        assert!(!same(&right, &right[..3]) && !same(&right[..3], &right));
    }
}

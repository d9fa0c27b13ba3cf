//! Keys, which are never printed, and the comparison of what must not be guessed octet by octet.

use core::fmt;
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

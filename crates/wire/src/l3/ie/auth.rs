//! Authentication parameters (clauses 10.5.3.1, 10.5.3.1.1, 10.5.3.2, 10.5.3.2.1 and 10.5.3.2.2).

use super::Octets;
use crate::error::DecodeError;
use crate::l3::codec::{Element, bad_length, first};
use serde::{Deserialize, Serialize};

macro_rules! fixed {
    ($(#[$doc:meta])* $name:ident, $length:literal, $text:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub struct $name(pub [u8; $length]);

        impl Element for $name {
            const NAME: &'static str = $text;
            const FIXED: usize = $length;

            fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
                Ok(Self(first::<Self, $length>(octets)?))
            }

            fn emit_value(&self, out: &mut Vec<u8>) {
                out.extend(self.0);
            }
        }
    };
}

fixed! {
    /// The challenge (clause 10.5.3.1).
    Rand, 16, "Authentication parameter RAND"
}
fixed! {
    /// The network's proof that it knows the key (clause 10.5.3.1.1).
    Autn, 16, "Authentication parameter AUTN"
}
fixed! {
    /// SRES, or the first four octets of RES (clause 10.5.3.2).
    AuthParameterResponse, 4, "Authentication Response parameter"
}
fixed! {
    /// The mobile's sequence number, hidden and signed (clause 10.5.3.2.2).
    Auts, 14, "Authentication Failure parameter"
}

/// Octets 5 to 16 of RES, those behind [`AuthParameterResponse`]; 1 to 12 (clause 10.5.3.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExtendedResponse(pub Octets<12>);

impl Element for ExtendedResponse {
    const NAME: &'static str = "Authentication Response parameter (extension)";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        if octets.is_empty() {
            return Err(bad_length::<Self>(octets));
        }
        Ok(Self(Octets::from_start(octets)))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend(self.0.as_slice());
    }
}

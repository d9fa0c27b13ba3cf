//! The versions of GTP.

use core::fmt;
use serde::{Deserialize, Serialize};

/// Which version of GTP a peer speaks: 1 of 29.060, or 0 of 09.60.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Version {
    /// GTPv0.
    V0,
    /// GTPv1.
    #[default]
    V1,
}

impl Version {
    /// Its number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

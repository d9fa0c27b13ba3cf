//! Which back end forwards the packets of a GGSN.

use core::fmt;
use core::str::FromStr;

/// What forwards between Gn and Gi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserPlane {
    /// The driver where an access point has a Gi interface and the machine permits it, else TUN devices.
    #[default]
    Auto,
    /// TUN devices alone.
    Tun,
    /// The driver, for access points with a Gi interface.
    Xdp,
}

impl fmt::Display for UserPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Tun => "tun",
            Self::Xdp => "xdp",
        })
    }
}

impl FromStr for UserPlane {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "tun" => Ok(Self::Tun),
            "xdp" => Ok(Self::Xdp),
            _ => Err("auto, tun or xdp is expected"),
        }
    }
}

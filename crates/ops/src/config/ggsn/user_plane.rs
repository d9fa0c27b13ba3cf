//! Which back end forwards the packets of a GGSN.

use super::edit::{apn_here, ggsn_here, set, tell_of};
use crate::Ggsn;
use crate::grammar::{Action, Grammar, Node};
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

/// Its commands.
pub(super) fn install(grammar: &mut Grammar<Ggsn>) {
    let help = "What forwards between Gn and Gi\nThe driver where an access point has a Gi interface and the machine permits it, else \
                TUN devices\nTUN devices alone\nThe driver, for access points with a Gi interface";
    grammar.add(
        &[Node::Ggsn],
        "user-plane (auto|tun|xdp)",
        help,
        Action::<Ggsn>::Set(|edit| {
            let back_end = edit.args.value(0)?;
            ggsn_here(edit).map(|ggsn| ggsn.user_plane = back_end)
        }),
    );
    let help = "The network interface by which the driver forwards to and from the network\nIts name";
    set(grammar, "gi-interface NAME", help, |edit| {
        let name = edit.args.text(0).to_owned();
        let apn = apn_here(edit)?;
        let former = apn.gi_interface.replace(name.clone()).filter(|former| *former != name);
        tell_of(edit, "Gi interface", former, name);
        Ok(())
    });
    let help = "Take back\nThe network interface by which the driver forwards to and from the network";
    set(grammar, "no gi-interface", help, |edit| apn_here(edit).map(|apn| apn.gi_interface = None));
}

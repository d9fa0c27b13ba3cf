//! How packets come to an edge router and leave it.

use super::{EdgeConfig, EdgeRouter};
use crate::config::ConfigText;
use crate::grammar::{Action, Grammar, Node};
use core::fmt;
use core::str::FromStr;

/// What receives and sends for an edge router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserPlane {
    /// AF_XDP on each interface that permits it, else its packet socket.
    #[default]
    Auto,
    /// Packet sockets alone.
    Socket,
    /// AF_XDP on each interface, or the router does not start.
    Xdp,
}

impl fmt::Display for UserPlane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Socket => "socket",
            Self::Xdp => "xdp",
        })
    }
}

impl FromStr for UserPlane {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "auto" => Ok(Self::Auto),
            "socket" => Ok(Self::Socket),
            "xdp" => Ok(Self::Xdp),
            _ => Err("auto, socket or xdp is expected"),
        }
    }
}

/// Its command.
pub(super) fn install(grammar: &mut Grammar<EdgeRouter>) {
    let help = "How packets come to the router and leave it\nAF_XDP on each interface that permits it, else its packet socket\n\
                Packet sockets alone\nAF_XDP on each interface, or the router does not start";
    grammar.add(
        &[Node::Edge],
        "user-plane (auto|socket|xdp)",
        help,
        Action::<EdgeRouter>::Set(|edit| {
            edit.config.user_plane = edit.args.value(0)?;
            Ok(())
        }),
    );
}

/// Its line, where it is not the default.
pub(super) fn write(config: &EdgeConfig, text: &mut ConfigText) {
    if config.user_plane != UserPlane::default() {
        text.line(format_args!("user-plane {}", config.user_plane));
    }
}

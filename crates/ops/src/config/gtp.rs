//! What SGSN and GGSN are told alike of Gn: the address of the other version of IP, and whom to believe.

use super::ConfigText;
use crate::config::Element;
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node};
use core::net::{IpAddr, Ipv6Addr};
use core::str::FromStr;
use std::collections::BTreeMap;

/// Between two Echo Requests to a peer where nothing else is said, in s: the least that 29.060 clause 7.2.1 allows.
pub const ECHO_INTERVAL_S: u16 = 60;

/// Which messages about a tunnel are taken from addresses that the tunnel knows only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceCheck {
    /// Signalling and G-PDUs.
    #[default]
    Strict,
    /// Signalling.
    Control,
    /// None.
    Off,
}

impl SourceCheck {
    const ALL: [(Self, &'static str); 3] =
        [(Self::Strict, "strict"), (Self::Control, "control"), (Self::Off, "off")];
}

/// From the failure of a path until its contexts end where nothing else is said, in s.
pub const FAILURE_DELAY_S: u16 = 60;

/// Gn, besides the first address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gn {
    /// The IPv6 address of GTP, beside that of IPv4.
    pub ipv6: Option<Ipv6Addr>,
    /// From where messages about a tunnel are taken.
    pub source_check: SourceCheck,
    /// Peers that are listed, with their limits of PDP contexts.
    pub peers: BTreeMap<IpAddr, Option<u32>>,
    /// From the failure of a path until its contexts end, in s; `None` where they stay.
    pub failure_delay_s: Option<u16>,
}

impl Default for Gn {
    fn default() -> Self {
        Self {
            ipv6: None,
            source_check: SourceCheck::default(),
            peers: BTreeMap::new(),
            failure_delay_s: Some(FAILURE_DELAY_S),
        }
    }
}

impl Gn {
    /// Writes what differs from the defaults. `address` is the command for the IPv6 address.
    pub(super) fn write(&self, address: &str, text: &mut ConfigText) {
        if let Some(ipv6) = self.ipv6 {
            text.line(format_args!("{address} {ipv6}"));
        }
        if self.source_check != SourceCheck::default() {
            let word = SourceCheck::ALL.iter().find(|(check, _)| *check == self.source_check);
            text.line(format_args!("gtp source-check {}", word.map_or("strict", |(_, word)| word)));
        }
        match self.failure_delay_s {
            Some(FAILURE_DELAY_S) => {}
            Some(seconds) => text.line(format_args!("gtp path-failure-delay {seconds}")),
            None => text.line(format_args!("no gtp path-failure-delay")),
        }
        for (address, contexts_max) in &self.peers {
            match contexts_max {
                Some(max) => text.line(format_args!("gtp peer {address} max-contexts {max}")),
                None => text.line(format_args!("gtp peer {address}")),
            }
        }
    }
}

/// A configuration in which an element that speaks GTP is.
pub(super) trait HasGn: Sized {
    /// What the command that is carried out concerns.
    ///
    /// # Errors
    /// Where it is gone.
    fn gn<'e>(edit: &'e mut Edit<'_, Self>) -> Result<&'e mut Gn, CommandError>;
}

/// The address of one node, which neither nobody nor many have.
pub(super) fn unicast<A: FromStr + Copy + Into<IpAddr>>(
    args: &Args,
    place: usize,
) -> Result<A, CommandError> {
    let address: A = args.value(place)?;
    let is_of_many = match address.into() {
        IpAddr::V4(v4) => v4.is_multicast() || v4.is_broadcast() || v4.octets()[0] == 0,
        IpAddr::V6(v6) => v6.is_multicast() || v6.is_unspecified(),
    };
    let text = args.text(place);
    let refused = || CommandError(format!("{text} is not the address of one node."));
    if is_of_many { Err(refused()) } else { Ok(address) }
}

fn peer<C: HasGn>(edit: &mut Edit<'_, C>) -> Result<IpAddr, CommandError> {
    let text = edit.args.text(0);
    if text.parse::<IpAddr>().is_err() {
        return Err(CommandError(format!("'{text}' is no address: A.B.C.D or X:X::X:X is expected.")));
    }
    unicast(edit.args, 0)
}

/// The commands, in this node.
pub(super) fn install<E: Element>(grammar: &mut Grammar<E>, node: Node, limits: bool)
where
    E::Config: HasGn,
{
    let mut add =
        |pattern: &'static str, help: &str, action: Action<E>| grammar.add(&[node], pattern, help, action);
    add(
        "gtp source-check (strict|control|off)",
        "GTP\nWhat is taken from addresses that are none of a tunnel's peer\nNothing\nG-PDUs\nEverything",
        Action::Set(|edit| {
            let word = edit.args.text(0);
            let found = SourceCheck::ALL.into_iter().find(|(_, name)| *name == word);
            let check = found.map_or(SourceCheck::Strict, |(check, _)| check);
            E::Config::gn(edit).map(|gn| gn.source_check = check)
        }),
    );
    let delay = "Contexts of a path that has failed";
    add(
        "gtp path-failure-delay <0-36000>",
        &format!("GTP\n{delay} end\nAfter so many seconds without an answer, 60 by default"),
        Action::Set(|edit| {
            let seconds = edit.args.value(0)?;
            E::Config::gn(edit).map(|gn| gn.failure_delay_s = Some(seconds))
        }),
    );
    add(
        "no gtp path-failure-delay",
        &format!("Take back\nGTP\n{delay} stay"),
        Action::Set(|edit| E::Config::gn(edit).map(|gn| gn.failure_delay_s = None)),
    );
    let listed = "GTP\nA peer that may speak for any tunnel\nIts address, IPv4 or IPv6";
    add(
        "gtp peer ADDRESS",
        listed,
        Action::Set(|edit| {
            let address = peer(edit)?;
            E::Config::gn(edit)?.peers.insert(address, None);
            Ok(())
        }),
    );
    if limits {
        add(
            "gtp peer ADDRESS max-contexts <0-1048576>",
            &format!("{listed}\nPDP contexts that it may have\nHow many"),
            Action::Set(|edit| {
                let (address, max) = (peer(edit)?, edit.args.value(1)?);
                E::Config::gn(edit)?.peers.insert(address, Some(max));
                Ok(())
            }),
        );
    }
    add(
        "no gtp peer ADDRESS",
        &format!("Take back\n{listed}"),
        Action::Set(|edit| {
            let address = peer(edit)?;
            E::Config::gn(edit)?.peers.remove(&address);
            Ok(())
        }),
    );
}

#[cfg(test)]
mod tests {
    use crate::{Ggsn, Sgsn, config};

    #[test]
    fn what_is_not_the_address_of_one_node_is_refused() {
        for address in ["0.0.0.0", "0.1.2.3", "224.0.0.1", "255.255.255.255"] {
            for line in ["gtp local-ip", "ggsn 0 remote-ip", "gtp peer", "gsup remote-ip"] {
                let text = format!("sgsn\n gtp local-ip 127.0.0.1\n {line} {address}\n");
                let said = config::read::<Sgsn>("x", &text).unwrap_err().to_string();
                let expected = format!("x:3: '{line} {address}': {address} is not the address of one node.");
                assert!(said.starts_with(&expected), "{said}");
            }
            let text = format!("ggsn a\n gtp bind-ip {address}\n");
            let said = config::read::<Ggsn>("x", &text).unwrap_err().to_string();
            assert!(said.contains("is not the address of one node"), "{said}");
        }
        for line in
            ["gtp local-ipv6 ::", "gtp local-ipv6 ff02::1", "gtp peer ff02::1", "ggsn 0 remote-ip ff02::1"]
        {
            let text = format!("sgsn\n gtp local-ip 127.0.0.1\n {line}\n");
            assert!(config::read::<Sgsn>("x", &text).unwrap_err().to_string().starts_with("x:3: "), "{line}");
        }
    }

    #[test]
    fn a_ggsn_of_ipv6_needs_an_address_of_that_here() {
        let said = |lines: &str| {
            let text = format!("sgsn\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 2001:db8::2\n{lines}");
            config::read::<Sgsn>("x", &text).map(|read| read.config.ggsns[&0].remote_ip)
        };
        let refused = said("").unwrap_err().to_string();
        assert!(refused.contains("add 'gtp local-ipv6 X:X::X:X'"), "{refused}");
        let refused = said(" gtp local-ipv6 2001:db8::1\n ggsn 0 gtp-version 0\n").unwrap_err().to_string();
        assert!(refused.contains("which GTPv0 does not use"), "{refused}");
        let taken = said(" gtp local-ipv6 2001:db8::1\n").unwrap();
        assert_eq!(taken, "2001:db8::2".parse().ok());
    }
}

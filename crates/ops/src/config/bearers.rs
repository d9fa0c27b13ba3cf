//! Links that carry LL-PDUs by the adaptation protocol, and its keys: for mobiles and for access points
//! (`docs/bearer-adaptation.md`).

use super::ConfigText;
use super::cells::{UmGroups, groups};
use crate::config::Element;
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node};
use core::fmt;
use core::net::{IpAddr, SocketAddr};
use gannet_proto::auth::key::Key128;

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// An Ethernet or wireless LAN device, by its name in the system.
    Ethernet(String),
    /// UDP: of mobiles the access point's address, of an access point its own.
    Udp(SocketAddr),
    /// Of mobiles alone: the radio, over an air that multicast groups carry. It speaks RLC/MAC, and no adaptation protocol.
    Radio(UmGroups),
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ethernet(device) => write!(f, "ethernet {device}"),
            Self::Udp(address) => write!(f, "udp {} {}", address.ip(), address.port()),
            Self::Radio(UmGroups { downlink, uplink }) => write!(f, "radio um {downlink} {uplink}"),
        }
    }
}

/// A key and its name on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedKey {
    /// Its name.
    pub id: u32,
    /// It.
    pub key: Key128,
}

/// Links and keys.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BearersConfig {
    /// The links, in the order of preference.
    pub links: Vec<Link>,
    /// The first mobile's key; the n-th has name and key plus n.
    pub key: Option<NamedKey>,
    /// The key of beacons.
    pub network_key: Option<NamedKey>,
}

/// The configuration of an element that has links.
pub(crate) trait HasBearers {
    /// All about them.
    fn bearers_mut(&mut self) -> &mut BearersConfig;
}

/// Writes the lines.
pub(crate) fn write(config: &BearersConfig, text: &mut ConfigText) {
    for link in &config.links {
        text.line(format_args!("bearer {link}"));
    }
    if let Some(NamedKey { id, key }) = &config.key {
        text.line(format_args!("bearer key id {id} key {}", key.hex()));
    }
    if let Some(NamedKey { id, key }) = &config.network_key {
        text.line(format_args!("bearer network-key id {id} key {}", key.hex()));
    }
}

fn named_key(args: &Args) -> Result<NamedKey, CommandError> {
    let key = args.text(1).parse().map_err(|error| CommandError(format!("{error}.")))?;
    Ok(NamedKey { id: args.value(0)?, key })
}

pub(super) fn udp(args: &Args) -> Result<Link, CommandError> {
    Ok(Link::Udp(SocketAddr::new(args.value::<IpAddr>(0)?, args.value(1)?)))
}

/// The commands, in this node.
pub(crate) fn install<E: Element<Config: HasBearers>>(grammar: &mut Grammar<E>, node: Node) {
    let mut set =
        |pattern: &'static str, help: &str, set: fn(&mut Edit<'_, E::Config>) -> Result<(), CommandError>| {
            grammar.add(&[node], pattern, help, Action::<E>::Set(set));
        };
    let bearer = "Links by which mobiles and access points reach each other";
    let ethernet = format!("{bearer}\nEthernet or wireless LAN\nThe device's name in the system");
    set("bearer ethernet DEVICE", &ethernet, |edit| {
        let link = Link::Ethernet(edit.args.text(0).to_owned());
        add(edit.config.bearers_mut(), link);
        Ok(())
    });
    set("no bearer ethernet DEVICE", &format!("Take back\n{ethernet}"), |edit| {
        let link = Link::Ethernet(edit.args.text(0).to_owned());
        edit.config.bearers_mut().links.retain(|other| *other != link);
        Ok(())
    });
    let over_udp =
        format!("{bearer}\nUDP\nThe access point's IPv4 address\nThe access point's IPv6 address\nIts port");
    set("bearer udp (A.B.C.D|X:X::X:X) <1-65535>", &over_udp, |edit| {
        let link = udp(edit.args)?;
        add(edit.config.bearers_mut(), link);
        Ok(())
    });
    set("no bearer udp (A.B.C.D|X:X::X:X) <1-65535>", &format!("Take back\n{over_udp}"), |edit| {
        let link = udp(edit.args)?;
        edit.config.bearers_mut().links.retain(|other| *other != link);
        Ok(())
    });
    let key = format!(
        "{bearer}\nThe first mobile's key, without which nothing is authenticated; that of mobile N has name and key plus N - 1"
    );
    let named = "Its name on the wire\nA number\nThe key\n32 hexadecimal digits";
    set("bearer key id <0-4294967295> key HEX", &format!("{key}\n{named}"), |edit| {
        edit.config.bearers_mut().key = Some(named_key(edit.args)?);
        Ok(())
    });
    set("no bearer key", &format!("Take back\n{key}"), |edit| {
        edit.config.bearers_mut().key = None;
        Ok(())
    });
    let key = format!("{bearer}\nThe key of beacons, without which they are a hint");
    set("bearer network-key id <0-4294967295> key HEX", &format!("{key}\n{named}"), |edit| {
        edit.config.bearers_mut().network_key = Some(named_key(edit.args)?);
        Ok(())
    });
    set("no bearer network-key", &format!("Take back\n{key}"), |edit| {
        edit.config.bearers_mut().network_key = None;
        Ok(())
    });
}

/// Help of the radio as a bearer.
pub(super) const RADIO_HELP: &str = "The radio\nBy RLC/MAC over an air that multicast groups carry";

/// The radio with the default groups.
pub(super) fn radio() -> Link {
    Link::Radio(UmGroups::default())
}

/// The radio with the groups that are said.
pub(super) fn radio_with(args: &Args) -> Result<Link, CommandError> {
    Ok(Link::Radio(groups(args, 0)?))
}

pub(super) fn add(config: &mut BearersConfig, link: Link) {
    if !config.links.contains(&link) {
        config.links.push(link);
    }
}

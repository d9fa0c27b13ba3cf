//! Mobiles: how many, their cards, and what they ask for. For every element that has mobiles.
//!
//! Mobile m (from 1) has IMSI `imsi-base + m − 1`, IMEI `imei-base + m − 1`, and Ki or K of its card plus m − 1.

mod cards;
mod commands;

pub(crate) use commands::{FILTER_HELP, filter, install, qos, write};

use crate::config::Element;
use crate::grammar::{Action, CommandError, Edit, Grammar, Node};
use gannet_proto::auth::cards::Cards;
use gannet_proto::llc::abm::LinksConfig;
use gannet_proto::sndcp::compression::CompressionConfig;
use gannet_wire::id::{Imei, Imsi};
use gannet_wire::l3::ie::Component;

/// The mobiles of a machine, and what they ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fleet {
    /// The mobiles.
    pub mobiles: Mobiles,
    /// The QoS that mobiles ask for.
    pub qos: QosRequest,
    /// The compression that they ask for and take.
    pub compression: CompressionConfig,
    /// What is proposed of the links of acknowledged mode, and agreed to.
    pub links: LinksConfig,
    /// N201-U that mobiles ask for when a context becomes active, in octets; `None` leaves it to the network and the bearer.
    pub n201_u: Option<u16>,
}

/// The configuration of an element that has mobiles.
pub(crate) trait HasFleet {
    /// All about them.
    fn fleet_mut(&mut self) -> &mut Fleet;
}

/// How many mobiles there are, and how they are numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mobiles {
    /// How many.
    pub count: u32,
    /// IMSI of the first.
    pub imsi_base: Imsi,
    /// IMEI of the first.
    pub imei_base: Imei,
    /// Their cards; the key of the first, with the others counted from there.
    pub cards: Cards,
    /// Their ciphers, bit n for GEA/n; `None` for those for which their cards have keys.
    pub geas: Option<u8>,
    /// They ask for combined procedures (04.08 clause 4.7 [24.008]).
    pub combined: bool,
    /// They activate what the network requests (04.08 clause 6.1.3.1.2 [24.008]).
    pub follows_requests: bool,
    /// They set the transaction identifier flag in transactions of their own, as some phones do.
    pub sets_flag: bool,
    /// The access point that they ask for; empty where they name none.
    pub apn: String,
    /// What type of address they ask for there.
    pub pdp_type: PdpType,
    /// TUN devices for the first of them.
    pub tun: Option<TunDevices>,
    /// How many attach in one second; `None` attaches none until an operator says so.
    pub attach_per_s: Option<u32>,
    /// They activate a PDP context once they have attached.
    pub activate: bool,
}

/// TUN devices, each for one mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TunDevices {
    /// The devices are called PREFIX0, PREFIX1, …
    pub prefix: String,
    /// How many.
    pub count: u32,
}

/// The QoS classes of R97 that mobiles ask for (04.08 clause 10.5.6.5 [24.008]); 0 is the subscribed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QosRequest {
    /// Precedence class, 1 to 3.
    pub precedence: u8,
    /// Delay class, 1 to 4.
    pub delay: u8,
    /// Reliability class, 1 to 5.
    pub reliability: u8,
    /// Peak throughput class, 1 to 9.
    pub peak: u8,
    /// Mean throughput class, 1 to 18 or 31 for best effort.
    pub mean: u8,
}

impl Default for Mobiles {
    fn default() -> Self {
        Self {
            count: 1,
            imsi_base: Imsi::from_digits([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).expect("15 digits"),
            imei_base: Imei::from_digits([3, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).expect("14 digits"),
            cards: Cards::None,
            geas: None,
            combined: false,
            follows_requests: false,
            sets_flag: false,
            apn: "internet".to_owned(),
            pdp_type: PdpType::Ipv4,
            tun: None,
            attach_per_s: Some(10),
            activate: true,
        }
    }
}

/// The type of address that mobiles ask for (04.08 clause 10.5.6.4 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PdpType {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
    /// Both in one context.
    Ipv4v6,
}

/// The one packet filter of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterOrder {
    /// The filter with the lowest one is tried first.
    pub precedence: u8,
    /// What a downlink packet must have.
    pub component: Component,
}

/// Adds a command that changes the configuration.
fn set<E: Element<Config: HasFleet>>(
    grammar: &mut Grammar<E>,
    node: Node,
    pattern: &'static str,
    help: &str,
    set: fn(&mut Edit<'_, E::Config>) -> Result<(), CommandError>,
) {
    grammar.add(&[node], pattern, help, Action::<E>::Set(set));
}

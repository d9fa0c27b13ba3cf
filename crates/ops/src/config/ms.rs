//! A mobile station for Linux: mobiles of this machine, with a network device for each of their contexts.
//!
//! The mobiles are those of [`super::fleet`]. A context is configured once and every mobile has it:
//!
//! | what | its name |
//! |---|---|
//! | the device of a context of mobile m (from 1) | `device`, by default the context's name, and m − 1: `gprs0` |

mod commands;
mod contexts;
mod operations;

pub use super::fleet::FilterOrder;
pub use operations::{ContextOrder, MsOperation, Order, Preference};

use super::bearers::{BearersConfig, HasBearers, Link};
use super::cells::{CellsConfig, HasCells, UmGroups};
use super::compression::HasCompression;
use super::fleet::{Fleet, HasFleet, PdpType, QosRequest};
use super::links::HasLinks;
use super::{Common, ConfigText};
use crate::config::Element;
use crate::grammar::{Commands, Grammar, Node, Problem};
use core::net::IpAddr;
use gannet_proto::llc::abm::LinksConfig;
use gannet_proto::sndcp::compression::CompressionConfig;
use gannet_wire::id::{CellId, Nsapi};

/// Mobiles of this machine, as an element of the VTY.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MobileStation;

/// Where `gannet ms ctl` finds the mobiles unless configured otherwise.
pub const SOCKET: &str = "/run/gannet-ms.sock";
/// Interfaces have names of up to 15 octets; the number of the device needs its place.
pub const PREFIX_MAX: usize = 9;

/// What a mobile station is told.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MsConfig {
    /// What every element has.
    pub common: Common,
    /// The mobiles.
    pub fleet: Fleet,
    /// Cells of its own in this process.
    pub cells: Option<CellsConfig>,
    /// Links to access points, and keys.
    pub bearers: BearersConfig,
    /// Cells of access points, in the order of preference; without any, those of which beacons are heard, in the order of the links.
    pub known_cells: Vec<CellId>,
    /// When to change the access point.
    pub hysteresis: Hysteresis,
    /// The mobiles on the radio.
    pub radio: RadioOfMobiles,
    /// The contexts of every mobile, in their order in the file.
    pub contexts: Vec<ContextConfig>,
    /// The socket for `gannet ms ctl`.
    pub ctl: CtlConfig,
}

/// Mobiles with the radio as a bearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioOfMobiles {
    /// Their multislot class, 1 to 12 (05.02 annex B [45.002]).
    pub multislot_class: u8,
    /// The timeslot on which uplink blocks that no mobile sends go as empty ones.
    pub empty_on: Option<u8>,
}

impl Default for RadioOfMobiles {
    fn default() -> Self {
        Self { multislot_class: 6, empty_on: None }
    }
}

/// When to change the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hysteresis {
    /// By so much another one must be better, in permille of what arrives.
    pub permille: u16,
    /// For so long, in milliseconds.
    pub hold_ms: u32,
}

impl Default for Hysteresis {
    fn default() -> Self {
        Self { permille: 100, hold_ms: 2000 }
    }
}

/// A socket for orders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CtlConfig {
    /// Its path; `None` for no socket.
    pub path: Option<String>,
    /// Who may use it: the permissions of the file.
    pub mode: u32,
    /// The group of the file.
    pub group: Option<String>,
}

impl Default for CtlConfig {
    fn default() -> Self {
        Self { path: Some(SOCKET.to_owned()), mode: 0o600, group: None }
    }
}

/// How N-PDUs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In I frames: the network confirms them, and what is lost is sent again.
    Acknowledged,
    /// In UI frames.
    Unacknowledged,
}

impl Mode {
    /// The word of the configuration.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Acknowledged => "acknowledged",
            Self::Unacknowledged => "unacknowledged",
        }
    }

    /// The reliability class that has it (03.60 clause 15.2.3 [23.107]).
    #[must_use]
    pub const fn reliability(self) -> u8 {
        match self {
            Self::Acknowledged => 2,
            Self::Unacknowledged => 3,
        }
    }
}

/// A route through a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// The network; with a length of 0 all that have no other route.
    pub to: IpAddr,
    /// The length of its prefix, in bits.
    pub length: u8,
    /// Of several routes to a network that with the lowest counts; 0 leaves it to the kernel.
    pub metric: u32,
}

/// The default route of a context, in each version of IP that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultRoute {
    /// As in [`Route`].
    pub metric: u32,
}

/// The device of a context.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceConfig {
    /// What its name begins with; the context's name where nothing is said.
    pub prefix: Option<String>,
    /// The network namespace in which it is.
    pub netns: Option<String>,
    /// All that has no other route goes through it.
    pub default_route: Option<DefaultRoute>,
    /// Other routes.
    pub routes: Vec<Route>,
    /// The name servers of the network are those of the machine, or of the network namespace.
    pub dns: bool,
    /// The longest packet, in octets; `None` for what fits the bearer.
    pub mtu: Option<u16>,
}

/// Maximum bit rates of a context, in kbit/s (04.08 clause 10.5.6.5 [24.008]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BitRates {
    /// To the mobile, 1 to 256,000.
    pub downlink_kbps: u32,
    /// From the mobile, 1 to 256,000.
    pub uplink_kbps: u32,
}

/// One context of every mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextConfig {
    /// Its name.
    pub name: String,
    /// 5 to 15.
    pub nsapi: Nsapi,
    /// The access point; `None` for that of the mobiles.
    pub apn: Option<String>,
    /// The type of address; `None` for that of the mobiles.
    pub pdp_type: Option<PdpType>,
    /// What is asked for; `None` for that of the mobiles.
    pub qos: Option<QosRequest>,
    /// How N-PDUs go; `None` leaves it to the reliability class.
    pub mode: Option<Mode>,
    /// The bit rates that are asked for at most; `None` leaves it to the peak throughput class.
    pub bit_rate: Option<BitRates>,
    /// The context whose address and device it has.
    pub beside: Option<String>,
    /// Its packets, where it is beside another.
    pub filter: Option<FilterOrder>,
    /// It is activated when a mobile has attached.
    pub activates: bool,
    /// Its device.
    pub device: DeviceConfig,
}

impl ContextConfig {
    fn new(name: &str, nsapi: Nsapi) -> Self {
        Self {
            name: name.to_owned(),
            nsapi,
            apn: None,
            pdp_type: None,
            qos: None,
            mode: None,
            bit_rate: None,
            beside: None,
            filter: None,
            activates: true,
            device: DeviceConfig::default(),
        }
    }

    /// What the names of its devices begin with.
    #[must_use]
    pub fn prefix(&self) -> &str {
        self.device.prefix.as_deref().unwrap_or(&self.name)
    }

    /// What is wrong with it among all of them.
    fn problems(&self, all: &[Self]) -> Vec<String> {
        let name = &self.name;
        let mut problems = Vec::new();
        let mut others = all.iter().filter(|other| other.name != *name);
        if let Some(other) = others.find(|other| other.nsapi == self.nsapi) {
            problems.push(format!("context {name}: context {} has NSAPI {} too", other.name, self.nsapi));
        }
        let Some(beside) = &self.beside else {
            if let Err(why) = check_prefix(self.prefix()) {
                problems.push(format!("context {name}: {why}: add 'device PREFIX'"));
            }
            let mut firsts = all.iter().filter(|other| other.name != *name && other.beside.is_none());
            if let Some(other) = firsts.find(|other| other.prefix() == self.prefix()) {
                let prefix = self.prefix();
                problems.push(format!(
                    "context {name}: the devices of context {} are called {prefix} too",
                    other.name
                ));
            }
            if self.filter.is_some() {
                problems.push(format!("context {name}: 'filter' is for a context that is beside another"));
            }
            return problems;
        };
        match all.iter().find(|other| other.name == *beside) {
            Some(first) if first.beside.is_none() => {}
            Some(_) => {
                problems.push(format!("context {name}: context {beside} is itself beside another"));
            }
            None => problems.push(format!("context {name}: there is no context {beside}")),
        }
        if self.device != DeviceConfig::default() || self.apn.is_some() || self.pdp_type.is_some() {
            problems.push(format!(
                "context {name}: it has access point, address and device of context {beside}: what is said of its own \
                 is to go there"
            ));
        }
        problems
    }
}

/// What a device's name may begin with.
fn check_prefix(prefix: &str) -> Result<(), String> {
    if prefix.is_empty() || prefix.len() > PREFIX_MAX || prefix.contains(['/', '%', ':']) {
        return Err(format!("'{prefix}' cannot begin a device's name: it has up to {PREFIX_MAX} letters"));
    }
    if prefix.ends_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("'{prefix}' ends with a digit, and the number of the mobile follows"));
    }
    Ok(())
}

impl HasFleet for MsConfig {
    fn fleet_mut(&mut self) -> &mut Fleet {
        &mut self.fleet
    }
}

impl HasCells for MsConfig {
    fn cells_mut(&mut self) -> &mut CellsConfig {
        self.cells.get_or_insert_default()
    }
}

impl HasBearers for MsConfig {
    fn bearers_mut(&mut self) -> &mut BearersConfig {
        &mut self.bearers
    }
}

impl HasLinks for MsConfig {
    fn links_mut(&mut self) -> &mut LinksConfig {
        &mut self.fleet.links
    }
}

impl HasCompression for MsConfig {
    fn compression_mut(&mut self) -> &mut CompressionConfig {
        &mut self.fleet.compression
    }
}

impl Commands for MobileStation {
    type Config = MsConfig;
    type Operation = MsOperation;
}

impl Element for MobileStation {
    const NAME: &'static str = "ms";
    const VTY_PORT: u16 = 4293;
    const CTRL_PORT: u16 = 4294;

    fn common(config: &MsConfig) -> &Common {
        &config.common
    }

    fn common_mut(config: &mut MsConfig) -> &mut Common {
        &mut config.common
    }

    fn install(grammar: &mut Grammar<Self>) {
        commands::install(grammar);
        contexts::install(grammar);
        operations::install(grammar);
    }

    fn write(config: &MsConfig, text: &mut ConfigText) {
        commands::write(config, text);
    }

    fn problems(config: &MsConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        let bearers = config.bearers.links.len();
        let radios = config.bearers.links.iter().filter_map(|link| match link {
            Link::Radio(groups) => Some(groups),
            Link::Ethernet(_) | Link::Udp(_) => None,
        });
        let wrong = radios.clone().find_map(UmGroups::problem);
        let many = (radios.count() > 1).then_some("mobiles have one radio: more than one 'bearer radio um'");
        for text in wrong.into_iter().chain(many) {
            problems.push(Problem::contradiction(Node::Ms, text));
        }
        match &config.cells {
            Some(_) if bearers > 0 => {
                let text = "mobiles have either 'cells' of their own or bearers to access points";
                problems.push(Problem::contradiction(Node::Ms, text));
            }
            Some(cells) => problems.extend(cells.problems(Node::MsCells)),
            None if bearers == 0 => {
                let text = "the mobiles have no way to a network: add 'bearer ethernet DEVICE' or 'cells' under 'ms'";
                problems.push(Problem::incomplete(Node::Ms, text));
            }
            None => {}
        }
        for context in &config.contexts {
            let said = context.problems(&config.contexts).into_iter();
            problems.extend(said.map(|text| Problem::contradiction(Node::MsContext, text)));
            if context.beside.is_some() && context.filter.is_none() {
                let name = &context.name;
                let text =
                    format!("context {name} is beside another and has no packets: add 'filter precedence …'");
                problems.push(Problem::incomplete(Node::MsContext, text));
            }
        }
        problems
    }
}

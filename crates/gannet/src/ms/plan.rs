//! What an operator wrote, as the mobiles of this machine take it.

use crate::{cells, fleet, links};
use gannet_machine::Peer;
use gannet_machine::time::Duration;
use gannet_node::ms::{MsCommand, MsConfig, NPduDelivery};
use gannet_ops::config::bearers::Link;
use gannet_ops::config::cells::UmGroups;
use gannet_ops::config::ms::{ContextConfig, DeviceConfig, FilterOrder, MsConfig as OpsConfig};
use gannet_proto::adaptation::{
    AdaptationBearer, MobileConfig, MobileLink, MobileMedium, PACKETS_MAX, Policy,
};
use gannet_proto::auth::key::Key128;
use gannet_proto::bearer::Bearer;
use gannet_proto::rlcmac::bearer::{RadioBearer, RadioConfig};
use gannet_proto::several::{Part, Several};
use gannet_proto::sm::ms::WantedSecondary;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{
    Apn, BitRate, MsRadioAccessCapability, PdpAddress, QosProfile, QosR99, ReliabilityClass,
};

/// From one report of a link to the next.
const REPORTS: Duration = Duration::from_secs(1);
/// Pieces of LL-PDUs that may wait for others.
const PIECES_MAX: usize = 1024;

/// The machines, and the contexts of every mobile.
#[derive(Debug)]
pub struct Plan {
    /// The mobiles.
    pub ms: MsConfig,
    /// Their own cells.
    pub cells: Option<cells::Plan>,
    /// Their way to a network, where they have no cells of their own.
    pub bearer: Option<BearerPlan>,
    /// Their contexts.
    pub contexts: Vec<Context>,
}

/// Bearers of the mobiles.
#[derive(Debug)]
pub struct BearerPlan {
    /// To access points, where there is a link for that; its secret is still to come.
    pub adaptation: Option<MobileConfig>,
    /// The radio.
    pub radio: Option<RadioConfig>,
    /// The radio comes before the links to access points.
    pub radio_first: bool,
    /// The links of both, in their order.
    pub links: Vec<Link>,
    mobiles: u32,
    hold: Duration,
}

impl BearerPlan {
    fn new(config: &OpsConfig) -> Self {
        let links = &config.bearers.links;
        let radio_first = matches!(links.first(), Some(Link::Radio(_)));
        let (radios, wired): (Vec<Link>, Vec<Link>) =
            links.iter().cloned().partition(|link| matches!(link, Link::Radio(_)));
        let radio = radios.first().map(|link| radio(config, link));
        let adaptation = (!wired.is_empty()).then(|| adaptation(config, &wired));
        let links = if radio_first { [radios, wired].concat() } else { [wired, radios].concat() };
        let hold = Duration::from_millis(config.hysteresis.hold_ms.into());
        Self { adaptation, radio, radio_first, links, mobiles: config.fleet.mobiles.count, hold }
    }

    /// The bearer: one, or several as one.
    pub fn build(self, secret: Key128) -> Box<dyn Bearer> {
        let part = |bearer: Box<dyn Bearer>, links: usize, cells: usize| {
            let count = |of: usize| u16::try_from(of).unwrap_or(u16::MAX);
            Part { bearer, links: count(links), cells: count(cells) }
        };
        let adaptation = self.adaptation.map(|config| {
            let (links, cells) = (config.links.len(), config.cells.len());
            part(Box::new(AdaptationBearer::new(MobileConfig { secret, ..config })), links, cells)
        });
        let radio = self.radio.map(|config| part(Box::new(RadioBearer::new(&config)), 1, 0));
        let mut parts: Vec<Part> = adaptation.into_iter().chain(radio).collect();
        if self.radio_first {
            parts.reverse();
        }
        match parts.pop() {
            Some(only) if parts.is_empty() => only.bearer,
            last => {
                parts.extend(last);
                Box::new(Several::new(parts, self.mobiles, self.hold))
            }
        }
    }
}

/// The radio of the mobiles; the channel loses nothing on their side.
fn radio(config: &OpsConfig, link: &Link) -> RadioConfig {
    let groups = match link {
        Link::Radio(groups) => *groups,
        Link::Ethernet(_) | Link::Udp(_) => UmGroups::default(),
    };
    RadioConfig {
        mobiles: config.fleet.mobiles.count,
        mobile: gannet_proto::rlcmac::mobile::MobileConfig {
            multislot_class: config.radio.multislot_class,
            ..Default::default()
        },
        link: gannet_proto::rlcmac::channel::Link::perfect(),
        uplink: Peer::Udp(links::um_address(groups.uplink)),
        empty_on: config.radio.empty_on,
    }
}

/// A context as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// Its name.
    pub name: String,
    /// 5 to 15.
    pub nsapi: Nsapi,
    /// What is asked for.
    pub request: Request,
    /// It is activated when a mobile has attached.
    pub activates: bool,
    /// What the names of its devices begin with.
    pub prefix: String,
    /// Its devices.
    pub device: DeviceConfig,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// A context with an address of its own.
    First {
        /// The access point.
        apn: Option<Apn>,
        /// The quality of service.
        qos: QosProfile,
        /// The type of address.
        address: PdpAddress,
    },
    /// A context with the address of another.
    Beside {
        /// The other.
        linked: Nsapi,
        /// The quality of service.
        qos: QosProfile,
        /// Its packets.
        filter: FilterOrder,
    },
}

impl Context {
    /// The order to activate it for a mobile.
    pub fn activation(&self, mobile: u32) -> MsCommand {
        let nsapi = self.nsapi;
        match &self.request {
            Request::First { apn, qos, address } => MsCommand::Activate {
                mobile,
                nsapi,
                apn: apn.clone(),
                qos: Some(*qos),
                address: Some(*address),
            },
            Request::Beside { linked, qos, filter } => {
                let tft = Some(fleet::template(*filter));
                let wanted = WantedSecondary { linked: *linked, sapi: Sapi::DATA3, qos: *qos, tft };
                MsCommand::ActivateSecondary { mobile, nsapi, wanted }
            }
        }
    }

    /// What is asked for of quality.
    pub const fn qos(&self) -> QosProfile {
        match self.request {
            Request::First { qos, .. } | Request::Beside { qos, .. } => qos,
        }
    }

    /// The name of the device that a mobile has for it.
    pub fn device_name(&self, mobile: u32) -> String {
        format!("{}{mobile}", self.prefix)
    }
}

/// What follows from a configuration.
///
/// # Errors
/// What cannot be done as configured.
pub fn plan(config: &OpsConfig) -> Result<Plan, String> {
    let mobiles = config.fleet.mobiles.count;
    let cells = config.cells.as_ref().map(|cells| cells::Plan::new(cells, mobiles)).transpose()?;
    let ids = cells.as_ref().map_or_else(|| config.known_cells.clone(), cells::Plan::ids);
    let mut ms = fleet::plan(&config.fleet, ids)?;
    ms.delivery = NPduDelivery::Devices;
    ms.bearer_selects = cells.is_none();
    let bearer = cells.is_none().then(|| BearerPlan::new(config));
    if bearer.as_ref().is_some_and(|bearer| bearer.radio.is_some()) {
        ms.gmm.radio_access_capability = MsRadioAccessCapability::typical(config.radio.multislot_class);
    }
    let contexts = config.contexts.iter().map(|context| self::context(config, context, &ms));
    Ok(Plan { contexts: contexts.collect::<Result<_, _>>()?, ms, cells, bearer })
}

/// The bearer to access points over these links; its secret is still to come.
fn adaptation(config: &OpsConfig, wired: &[Link]) -> MobileConfig {
    let link = |link: &Link| MobileLink {
        medium: match link {
            Link::Udp(address) => MobileMedium::Udp(*address),
            // The radio is none of them.
            Link::Ethernet(_) | Link::Radio(_) => MobileMedium::Ethernet,
        },
        mtu: links::mtu(link),
    };
    let mobiles = config.fleet.mobiles.count;
    let cells = u16::try_from(config.known_cells.len()).unwrap_or(u16::MAX);
    MobileConfig {
        links: wired.iter().map(link).collect(),
        cells: config.known_cells.clone(),
        mobiles,
        keys: links::keys(config.bearers.key, mobiles),
        network_key: links::key(config.bearers.network_key),
        interval: REPORTS,
        policy: Policy {
            preference: (0..cells).collect(),
            hysteresis: config.hysteresis.permille,
            hold: Duration::from_millis(config.hysteresis.hold_ms.into()),
            by_link: true,
            ..Policy::default()
        },
        packets_max: PACKETS_MAX,
        pieces_max: PIECES_MAX,
        secret: Key128([0; 16]),
    }
}

fn context(config: &OpsConfig, of: &ContextConfig, ms: &MsConfig) -> Result<Context, String> {
    let mut qos = of.qos.as_ref().map_or(ms.pdp.qos, fleet::qos);
    if let Some(mode) = of.mode {
        qos.reliability = ReliabilityClass(mode.reliability());
    }
    if let Some(rates) = of.bit_rate {
        // What else R99 has is left to the subscription.
        let (mbr_up, mbr_down) =
            (BitRate::from_kbps(rates.uplink_kbps), BitRate::from_kbps(rates.downlink_kbps));
        qos.r99 = Some(QosR99 { mbr_up, mbr_down, ..QosR99::default() });
    }
    let linked = of
        .beside
        .as_ref()
        .and_then(|name| config.contexts.iter().find(|first| first.name == *name).map(|first| first.nsapi));
    let request = match (linked, of.filter) {
        (Some(linked), Some(filter)) => Request::Beside { linked, qos, filter },
        _ => Request::First {
            apn: match &of.apn {
                Some(apn) => fleet::apn(apn).map_err(|why| format!("context {}: {why}", of.name))?,
                None => ms.pdp.apn.clone(),
            },
            qos,
            address: of.pdp_type.map_or(ms.pdp.address, fleet::address),
        },
    };
    Ok(Context {
        name: of.name.clone(),
        nsapi: of.nsapi,
        request,
        activates: of.activates,
        prefix: of.prefix().to_owned(),
        device: of.device.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_ops::MobileStation;
    use gannet_ops::config;

    fn planned(text: &str) -> Plan {
        plan(&config::read::<MobileStation>("x", text).unwrap().config).unwrap()
    }

    #[test]
    fn contexts_are_as_the_mobiles_where_nothing_else_is_said() {
        let text = "ms\n mobiles 3\n apn one\n pdp-type ipv6\n cells\n context gprs\n context voice\n  beside gprs\n  mode acknowledged\n  \
                    filter precedence 7 protocol 17\n context other\n  apn two\n  type ipv4v6\n  device o\n  mode unacknowledged\n";
        let plan = planned(text);
        assert_eq!(plan.ms.delivery, NPduDelivery::Devices);
        let [gprs, voice, other] = &plan.contexts[..] else { panic!("{plan:?}") };
        let first = Request::First {
            apn: "one".parse().ok(),
            qos: QosProfile::default(),
            address: PdpAddress::Ipv6Dynamic,
        };
        assert_eq!((gprs.nsapi, &gprs.request, gprs.device_name(2).as_str()), (Nsapi(5), &first, "gprs2"));
        let Request::Beside { linked, qos, filter } = voice.request else { panic!("{voice:?}") };
        assert_eq!((voice.nsapi, linked, qos.reliability.0, filter.precedence), (Nsapi(6), Nsapi(5), 2, 7));
        let Request::First { apn, qos, address } = &other.request else { panic!("{other:?}") };
        assert_eq!(apn.as_ref().map(|apn| apn.as_str()), Some("two"));
        assert_eq!((*address, qos.reliability.0), (PdpAddress::Ipv4v6Dynamic, 3));
        assert_eq!(other.device_name(0), "o0");
        assert!(matches!(
            voice.activation(1),
            MsCommand::ActivateSecondary { mobile: 1, nsapi: Nsapi(6), .. }
        ));
    }

    #[test]
    fn the_radio_is_a_bearer_among_others() {
        let bearer = |text: &str| planned(&format!("ms\n{text} mobiles 2\n")).bearer.unwrap();
        let groups = UmGroups { downlink: [239, 0, 0, 1].into(), uplink: [239, 0, 0, 2].into() };
        let (radio, ethernet) = (Link::Radio(groups), Link::Ethernet("eth0".to_owned()));
        let first = bearer(" bearer radio um 239.0.0.1 239.0.0.2\n bearer ethernet eth0\n");
        assert_eq!((&first.links[..], first.radio_first), (&[radio.clone(), ethernet.clone()][..], true));
        let config = first.radio.as_ref().unwrap();
        let uplink = Peer::Udp("239.0.0.2:4729".parse().unwrap());
        assert_eq!((config.mobiles, config.uplink), (2, uplink));
        assert_eq!(first.build(Key128([0; 16])).name(), "bearers");
        let last =
            bearer(" bearer ethernet eth0\n bearer radio um 239.0.0.1 239.0.0.2\n bearer udp 192.0.2.1 7\n");
        assert_eq!(last.links.last(), Some(&radio));
        assert_eq!((last.links.len(), last.adaptation.as_ref().unwrap().links.len()), (3, 2));
        for (text, name) in [(" bearer radio um\n", "radio"), (" bearer ethernet eth0\n", "adaptation")] {
            assert_eq!(bearer(text).build(Key128([0; 16])).name(), name);
        }
    }

    #[test]
    fn an_air_that_cannot_be_is_an_error() {
        let ms = |text: &str| config::read::<MobileStation>("x", &format!("ms\n{text}"));
        let bss = |text: &str| config::read::<gannet_ops::Bss>("x", &format!("bss\n{text}"));
        for (text, why) in [
            (" bearer radio um\n bearer radio um 239.0.0.1 239.0.0.2\n", "one radio"),
            (" bearer radio um 239.0.0.1 239.0.0.1\n", "two groups"),
            (" bearer radio um 192.0.2.1 239.0.0.1\n", "multicast addresses"),
        ] {
            let said = ms(text).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
        for (text, why) in [
            (" radio um virtual arfcn 871\n", "radio rlcmac"),
            (" radio rlcmac slots 4 cs 2\n radio um virtual arfcn 1020\n cells 5\n", "no carriers for 5"),
        ] {
            let said = bss(text).unwrap_err().to_string();
            assert!(said.contains(why), "{said}");
        }
        let text = " radio rlcmac slots 4 cs 2\n radio um virtual arfcn 871 groups 239.0.0.1 239.0.0.2\n";
        let read = bss(text).unwrap().config;
        let written = config::write::<gannet_ops::Bss>(&read);
        assert_eq!(config::read::<gannet_ops::Bss>("x", &written).unwrap().config, read);
        assert!(ms(" bearer radio um\n no bearer radio um\n").is_err(), "no way to a network");
    }

    #[test]
    fn bit_rates_are_those_of_r99() {
        let text = "ms\n cells\n context gprs\n  bit-rate downlink 100000 uplink 50000\n context other\n  device o\n";
        let plan = planned(text);
        let rates = |context: &Context| {
            let r99 = context.qos().r99?;
            Some((r99.mbr_up.kbps(), r99.mbr_down.kbps(), r99.traffic_class.0))
        };
        let of: Vec<_> = plan.contexts.iter().map(rates).collect();
        assert_eq!(of, [Some((Some(50_000), Some(100_000), 0)), None]);
    }

    #[test]
    fn a_name_that_is_none_is_an_error_of_its_context() {
        let long = "x".repeat(70);
        let text = format!("ms\n cells\n context gprs\n  apn {long}\n");
        let error = plan(&config::read::<MobileStation>("x", &text).unwrap().config).unwrap_err();
        assert_eq!(error, format!("context gprs: 'apn {long}' is no access point name"));
    }
}

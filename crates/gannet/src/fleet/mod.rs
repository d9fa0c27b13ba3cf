//! Mobiles as the configuration has them, and what an operator reads about them: for each node that has some.

mod arrivals;

pub use arrivals::{Arrivals, Queue};

use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::ms::{Ms, MsConfig, MsEvent};
use gannet_ops::config::fleet::{FilterOrder, Fleet, PdpType, QosRequest};
use gannet_rt::Outside;
use gannet_wire::id::CellId;
use gannet_wire::l3::ie::{
    Apn, DelayClass, FilterDirection, MeanThroughput, PacketFilter, PdpAddress, PeakThroughput,
    PrecedenceClass, QosProfile, ReliabilityClass, TftOperation, TftRepr, TrafficFlowTemplate,
};

/// Downlink N-PDUs of which segments are missing, in the same way.
const REASSEMBLIES_PER_MOBILE: usize = 2;
const REASSEMBLIES_MIN: usize = 64;

/// A fleet with these cells, in the order of their index.
///
/// # Errors
/// What cannot be done as configured.
pub fn plan(fleet: &Fleet, cells: Vec<CellId>) -> Result<MsConfig, String> {
    let mobiles = &fleet.mobiles;
    let apn = apn(&mobiles.apn)?;
    let mut ms = MsConfig::new(mobiles.count, mobiles.imsi_base, cells);
    ms.imei = Some(mobiles.imei_base);
    let reassemblies = (mobiles.count as usize).saturating_mul(REASSEMBLIES_PER_MOBILE);
    ms.reassembly_max = reassemblies.max(REASSEMBLIES_MIN).min(ms.reassembly_max);
    ms.insert(mobiles.cards);
    if let Some(geas) = mobiles.geas {
        ms.gmm.network_capability = ms.gmm.network_capability.with_geas(geas);
    }
    ms.gmm.combined = mobiles.combined;
    ms.sm.follows_requests = mobiles.follows_requests;
    ms.sm.sets_flag = mobiles.sets_flag;
    ms.pdp.apn = apn;
    ms.pdp.address = address(mobiles.pdp_type);
    ms.pdp.qos = qos(&fleet.qos);
    ms.user_plane.sndcp.compression = fleet.compression;
    ms.user_plane.links = fleet.links;
    ms.n201_u = fleet.n201_u;
    Ok(ms)
}

/// The access point of this name, where it is one; an empty name is none.
///
/// # Errors
/// A sentence.
pub fn apn(name: &str) -> Result<Option<Apn>, String> {
    match name {
        "" => Ok(None),
        name => name.parse().map(Some).map_err(|_| format!("'apn {name}' is no access point name")),
    }
}

/// An address of this type, which the network gives.
pub const fn address(pdp_type: PdpType) -> PdpAddress {
    match pdp_type {
        PdpType::Ipv4 => PdpAddress::Ipv4Dynamic,
        PdpType::Ipv6 => PdpAddress::Ipv6Dynamic,
        PdpType::Ipv4v6 => PdpAddress::Ipv4v6Dynamic,
    }
}

/// What is asked for.
pub const fn qos(wish: &QosRequest) -> QosProfile {
    QosProfile {
        delay: DelayClass(wish.delay),
        reliability: ReliabilityClass(wish.reliability),
        peak: PeakThroughput(wish.peak),
        precedence: PrecedenceClass(wish.precedence),
        mean: MeanThroughput(wish.mean),
        r99: None,
    }
}

/// An operation that creates a template with this filter.
pub fn template(filter: FilterOrder) -> TrafficFlowTemplate {
    let FilterOrder { precedence, component } = filter;
    let direction = FilterDirection::Unsaid;
    let filter = PacketFilter { identifier: 0, direction, precedence, components: vec![component] };
    TftRepr::new(TftOperation::Create(vec![filter])).to_element()
}

/// What an operator reads about a mobile in the log. The index of the mobile, and the sentence.
pub fn event(ms: &Ms, event: &MsEvent, outside: &mut Outside<'_>) -> Option<(u32, String)> {
    let (mobile, category, level, text) = sentence(event)?;
    let imsi = ms.mobile(mobile).map(|mobile| mobile.imsi());
    let shown = imsi.map(|imsi| imsi.to_string()).unwrap_or_default();
    // For people they are numbered from 1.
    let number = mobile.saturating_add(1);
    outside.log().line(category, level, format_args!("mobile {number} IMSI {shown}: {text}"));
    if let (MsEvent::Rejected { .. }, Some(imsi)) = (event, imsi) {
        outside.log().explained(gannet_proto::about::owner(imsi), format_args!("{text}"));
    }
    Some((mobile, text))
}

fn sentence(event: &MsEvent) -> Option<(u32, Category, Level, String)> {
    Some(match event {
        MsEvent::Attached { mobile, .. } => (*mobile, Category::Mm, Level::Info, "attached".to_owned()),
        MsEvent::Detached { mobile, cause } => match cause {
            Some(cause) => (*mobile, Category::Mm, Level::Notice, format!("detached: {cause}")),
            None => (*mobile, Category::Mm, Level::Info, "detached".to_owned()),
        },
        MsEvent::Updated { mobile, rai } => {
            (*mobile, Category::Mm, Level::Info, format!("routing area updated: {rai}"))
        }
        MsEvent::NonGprs { mobile, standing, cause } => match cause {
            Some(cause) => (*mobile, Category::Mm, Level::Notice, format!("GPRS only: {cause}")),
            None => (*mobile, Category::Mm, Level::Info, format!("non-GPRS services: {standing}")),
        },
        MsEvent::Activated { mobile, nsapi, address, .. } => {
            (*mobile, Category::Pdp, Level::Info, format!("NSAPI {nsapi} active, address {address}"))
        }
        MsEvent::Readdressed { mobile, nsapi, address } => {
            (*mobile, Category::Pdp, Level::Info, format!("NSAPI {nsapi}: address {address} now"))
        }
        MsEvent::Deactivated { mobile, nsapi, cause } => {
            let why = cause.map_or_else(|| "no cause was said".to_owned(), |cause| cause.to_string());
            (*mobile, Category::Pdp, Level::Info, format!("NSAPI {nsapi} deactivated: {why}"))
        }
        MsEvent::Rejected { mobile, procedure, cause } => {
            (*mobile, Category::Mm, Level::Notice, format!("{procedure} failed: {cause}"))
        }
        MsEvent::LinkEnded { mobile, nsapi, cause } => {
            let text = format!("acknowledged mode of NSAPI {nsapi} has ended: {cause}");
            (*mobile, Category::Llc, Level::Notice, text)
        }
        MsEvent::Leaving { mobile, to, reason } => {
            (*mobile, Category::Um, Level::Info, format!("goes to cell {to}: {reason}"))
        }
        MsEvent::Camped { mobile, cell } => {
            (*mobile, Category::Um, Level::Info, format!("is in cell {cell}"))
        }
        MsEvent::NPdu { .. }
        | MsEvent::HeldBack { .. }
        | MsEvent::LinkMtu { .. }
        | MsEvent::DeviceUp { .. }
        | MsEvent::DeviceDown { .. }
        | MsEvent::DeviceHeld { .. } => return None,
    })
}

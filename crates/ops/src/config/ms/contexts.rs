//! The commands of one context, and how it is written.

use super::{BitRates, ContextConfig, DefaultRoute, MobileStation, Mode, MsConfig, Route, check_prefix};
use crate::config::ConfigText;
use crate::config::fleet::{self, PdpType, QosRequest};
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node, ipv4_prefix, ipv6_prefix};
use core::fmt;
use core::net::IpAddr;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::Component;

/// Shortest and longest packet of a device: what IPv4 asks for, and what crosses GPRS (03.60 clause 9.3).
const MTU_PATTERN: &str = "mtu <576-1500>";

/// Writes a context.
pub(super) fn write(context: &ContextConfig, text: &mut ConfigText) {
    text.node(format_args!("context {}", context.name), |text| {
        text.line(format_args!("nsapi {}", context.nsapi));
        if let Some(apn) = &context.apn {
            text.line(format_args!("apn {apn}"));
        }
        match context.pdp_type {
            Some(PdpType::Ipv4) => text.line(format_args!("type ipv4")),
            Some(PdpType::Ipv6) => text.line(format_args!("type ipv6")),
            Some(PdpType::Ipv4v6) => text.line(format_args!("type ipv4v6")),
            None => {}
        }
        if let Some(QosRequest { precedence, delay, reliability, peak, mean }) = context.qos {
            text.line(format_args!(
                "qos precedence {precedence} delay {delay} reliability {reliability} peak {peak} mean {mean}"
            ));
        }
        if let Some(mode) = context.mode {
            text.line(format_args!("mode {}", mode.word()));
        }
        if let Some(BitRates { downlink_kbps, uplink_kbps }) = context.bit_rate {
            text.line(format_args!("bit-rate downlink {downlink_kbps} uplink {uplink_kbps}"));
        }
        if let Some(beside) = &context.beside {
            text.line(format_args!("beside {beside}"));
        }
        if let Some(filter) = context.filter {
            let (word, number) = match filter.component {
                Component::SourcePort(port) => ("source-port", port),
                Component::DestinationPort(port) => ("destination-port", port),
                Component::Protocol(protocol) => ("protocol", protocol.into()),
                // No command makes another.
                _ => return,
            };
            text.line(format_args!("filter precedence {} {word} {number}", filter.precedence));
        }
        if !context.activates {
            text.line(format_args!("no activate"));
        }
        write_device(context, text);
    });
}

fn write_device(context: &ContextConfig, text: &mut ConfigText) {
    let device = &context.device;
    if let Some(prefix) = &device.prefix {
        text.line(format_args!("device {prefix}"));
    }
    if let Some(netns) = &device.netns {
        text.line(format_args!("netns {netns}"));
    }
    if let Some(DefaultRoute { metric }) = device.default_route {
        text.line(format_args!("route default{}", Metric(metric)));
    }
    for Route { to, length, metric } in &device.routes {
        text.line(format_args!("route {to}/{length}{}", Metric(*metric)));
    }
    if device.dns {
        text.line(format_args!("dns"));
    }
    if let Some(mtu) = device.mtu {
        text.line(format_args!("mtu {mtu}"));
    }
}

struct Metric(u32);

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0 { write!(f, " metric {}", self.0) } else { Ok(()) }
    }
}

fn here<'e>(edit: &'e mut Edit<'_, MsConfig>) -> Result<&'e mut ContextConfig, CommandError> {
    let name = edit.here().to_owned();
    let context = edit.config.contexts.iter_mut().find(|context| context.name == name);
    context.ok_or_else(|| CommandError(format!("context {name} is gone.")))
}

fn set(
    grammar: &mut Grammar<MobileStation>,
    pattern: &'static str,
    help: &str,
    set: fn(&mut Edit<'_, MsConfig>) -> Result<(), CommandError>,
) {
    grammar.add(&[Node::MsContext], pattern, help, Action::<MobileStation>::Set(set));
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<MobileStation>) {
    install_request(grammar);
    install_sharing(grammar);
    install_device(grammar);
    install_routes(grammar);
}

/// What the network is asked for.
fn install_request(grammar: &mut Grammar<MobileStation>) {
    set(grammar, "nsapi <5-15>", "NSAPI\nIts number", |edit| {
        let nsapi = Nsapi(edit.args.value(0)?);
        here(edit).map(|context| context.nsapi = nsapi)
    });
    set(grammar, "apn NAME", "The access point that is asked for\nIts name", |edit| {
        let apn = edit.args.text(0).to_owned();
        here(edit).map(|context| context.apn = Some(apn))
    });
    set(grammar, "no apn", "Take back\nThe access point is that of the mobiles", |edit| {
        here(edit).map(|context| context.apn = None)
    });
    let types = "The type of address that is asked for\nIPv4\nIPv6\nBoth in one context";
    set(grammar, "type (ipv4|ipv6|ipv4v6)", types, |edit| {
        let pdp_type = match edit.args.text(0) {
            "ipv6" => PdpType::Ipv6,
            "ipv4v6" => PdpType::Ipv4v6,
            _ => PdpType::Ipv4,
        };
        here(edit).map(|context| context.pdp_type = Some(pdp_type))
    });
    set(grammar, "no type", "Take back\nThe type of address is that of the mobiles", |edit| {
        here(edit).map(|context| context.pdp_type = None)
    });
    let help = "The QoS that is asked for; 0 is the subscribed\nPrecedence\nClass\nDelay\nClass\nReliability\nClass\nPeak throughput\nClass\nMean throughput\nClass; 31 is best effort";
    set(grammar, "qos precedence <0-3> delay <0-4> reliability <0-5> peak <0-9> mean <0-31>", help, |edit| {
        let qos = fleet::qos(edit.args)?;
        here(edit).map(|context| context.qos = Some(qos))
    });
    set(grammar, "no qos", "Take back\nThe QoS is that of the mobiles", |edit| {
        here(edit).map(|context| context.qos = None)
    });
    let mode = "How packets go, before the reliability class\nThe network confirms them: class 2\nNobody does: class 3";
    set(grammar, "mode (acknowledged|unacknowledged)", mode, |edit| {
        let acknowledged = edit.args.text(0) == "acknowledged";
        let mode = if acknowledged { Mode::Acknowledged } else { Mode::Unacknowledged };
        here(edit).map(|context| context.mode = Some(mode))
    });
    set(grammar, "no mode", "Take back\nThe reliability class says how packets go", |edit| {
        here(edit).map(|context| context.mode = None)
    });
    let help = "The bit rates that are asked for at most\nTo the mobile\nkbit/s\nFrom the mobile\nkbit/s";
    set(grammar, "bit-rate downlink <1-256000> uplink <1-256000>", help, |edit| {
        let rates = BitRates { downlink_kbps: edit.args.value(0)?, uplink_kbps: edit.args.value(1)? };
        here(edit).map(|context| context.bit_rate = Some(rates))
    });
    set(grammar, "no bit-rate", "Take back\nThe peak throughput class says the rate", |edit| {
        here(edit).map(|context| context.bit_rate = None)
    });
    let activate = "It is activated when a mobile has attached";
    set(grammar, "activate", activate, |edit| here(edit).map(|context| context.activates = true));
    let help = "Take back\nIt waits for an order";
    set(grammar, "no activate", help, |edit| here(edit).map(|context| context.activates = false));
}

/// Contexts with one address.
fn install_sharing(grammar: &mut Grammar<MobileStation>) {
    let beside = "It is a secondary context with address and device of another\nIts name";
    set(grammar, "beside NAME", beside, |edit| {
        let name = edit.args.text(0).to_owned();
        here(edit).map(|context| context.beside = Some(name))
    });
    set(grammar, "no beside", "Take back\nIt has an address of its own", |edit| {
        here(edit).map(|context| context.beside = None)
    });
    set(
        grammar,
        "filter precedence <0-255> (protocol|source-port|destination-port) <0-65535>",
        fleet::FILTER_HELP,
        |edit| {
            let filter = fleet::filter(edit.args, 0)?;
            here(edit).map(|context| context.filter = Some(filter))
        },
    );
    set(grammar, "no filter", "Take back\nNo packets belong to it", |edit| {
        here(edit).map(|context| context.filter = None)
    });
}

fn install_device(grammar: &mut Grammar<MobileStation>) {
    set(grammar, "device PREFIX", "Its devices\nTheir names are PREFIX0 and on", |edit| {
        let prefix = edit.args.text(0).to_owned();
        check_prefix(&prefix).map_err(|why| CommandError(format!("{why}.")))?;
        here(edit).map(|context| context.device.prefix = Some(prefix))
    });
    set(grammar, "no device", "Take back\nIts devices begin with its name", |edit| {
        here(edit).map(|context| context.device.prefix = None)
    });
    set(grammar, "netns NAME", "The network namespace of its devices\nAs 'ip netns' knows it", |edit| {
        let name = edit.args.text(0).to_owned();
        if name.contains('/') || name.starts_with('.') {
            return Err(CommandError(format!("'{name}' is no name of 'ip netns'.")));
        }
        here(edit).map(|context| context.device.netns = Some(name))
    });
    set(grammar, "no netns", "Take back\nIts devices are where this process is", |edit| {
        here(edit).map(|context| context.device.netns = None)
    });
    let dns = "Names are asked of the name servers of its network";
    set(grammar, "dns", dns, |edit| here(edit).map(|context| context.device.dns = true));
    let help = format!("Take back\n{dns}");
    set(grammar, "no dns", &help, |edit| here(edit).map(|context| context.device.dns = false));
    set(grammar, MTU_PATTERN, "The longest packet of its devices\nOctets", |edit| {
        let mtu = edit.args.value(0)?;
        here(edit).map(|context| context.device.mtu = Some(mtu))
    });
    set(grammar, "no mtu", "Take back\nThe longest packet is as the bearer has it", |edit| {
        here(edit).map(|context| context.device.mtu = None)
    });
}

fn install_routes(grammar: &mut Grammar<MobileStation>) {
    let route = "A route through its devices";
    let metric = "Of several that with the lowest metric counts\nThe metric; 0 leaves it to the kernel";
    let all = format!("{route}\nFor all that has no other");
    set(grammar, "route default", &all, |edit| default_route(edit, 0));
    set(grammar, "route default metric <0-4294967295>", &format!("{all}\n{metric}"), |edit| {
        let metric = edit.args.value(0)?;
        default_route(edit, metric)
    });
    set(grammar, "no route default", &format!("Take back\n{all}"), |edit| {
        here(edit).map(|context| context.device.default_route = None)
    });
    let one = format!("{route}\nTo this network");
    for (plain, with_metric, take_back) in [
        ("route A.B.C.D/M", "route A.B.C.D/M metric <0-4294967295>", "no route A.B.C.D/M"),
        ("route X:X::X:X/M", "route X:X::X:X/M metric <0-4294967295>", "no route X:X::X:X/M"),
    ] {
        set(grammar, plain, &one, add_route);
        set(grammar, with_metric, &format!("{one}\n{metric}"), add_route);
        set(grammar, take_back, &format!("Take back\n{one}"), take_route);
    }
}

fn default_route(edit: &mut Edit<'_, MsConfig>, metric: u32) -> Result<(), CommandError> {
    here(edit).map(|context| context.device.default_route = Some(DefaultRoute { metric }))
}

/// The network that the first argument is, without the bits behind its prefix.
fn network(args: &Args) -> Result<(IpAddr, u8), CommandError> {
    let text = args.text(0);
    if let Some((address, length)) = ipv4_prefix(text) {
        let mask = u32::MAX.checked_shl(32_u32.saturating_sub(length.into())).unwrap_or(0);
        return Ok((IpAddr::V4((address.to_bits() & mask).into()), length));
    }
    let prefix = ipv6_prefix(text);
    let (address, length) = prefix.ok_or_else(|| CommandError(format!("'{text}' is no network.")))?;
    let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length.into())).unwrap_or(0);
    Ok((IpAddr::V6((address.to_bits() & mask).into()), length))
}

fn add_route(edit: &mut Edit<'_, MsConfig>) -> Result<(), CommandError> {
    let (to, length) = network(edit.args)?;
    let metric = edit.args.optional(1)?.unwrap_or(0);
    let routes = &mut here(edit)?.device.routes;
    routes.retain(|route| (route.to, route.length) != (to, length));
    routes.push(Route { to, length, metric });
    Ok(())
}

fn take_route(edit: &mut Edit<'_, MsConfig>) -> Result<(), CommandError> {
    let network = network(edit.args)?;
    here(edit)?.device.routes.retain(|route| (route.to, route.length) != network);
    Ok(())
}

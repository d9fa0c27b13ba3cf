//! The commands of mobiles, and how they are written.

use super::{FilterOrder, Fleet, HasFleet, PdpType, QosRequest, cards, set};
use crate::config::compression::{self, HasCompression};
use crate::config::links::{self, HasLinks};
use crate::config::{ConfigText, Element};
use crate::grammar::{Args, CommandError, Grammar, Node};
use gannet_wire::l3::ie::Component;

/// Writes the lines of mobiles.
pub(crate) fn write(fleet: &Fleet, text: &mut ConfigText) {
    let mobiles = &fleet.mobiles;
    text.line(format_args!("mobiles {}", mobiles.count));
    text.line(format_args!("imsi-base {}", mobiles.imsi_base));
    text.line(format_args!("imei-base {}", mobiles.imei_base));
    cards::write(mobiles, text);
    if mobiles.combined {
        text.line(format_args!("combined-procedures"));
    }
    if fleet.mobiles.follows_requests {
        text.line(format_args!("network-requested-activation"));
    }
    if mobiles.sets_flag {
        text.line(format_args!("transaction-flag"));
    }
    match mobiles.apn.as_str() {
        "" => text.line(format_args!("no apn")),
        apn => text.line(format_args!("apn {apn}")),
    }
    let pdp_type = match mobiles.pdp_type {
        PdpType::Ipv4 => "ipv4",
        PdpType::Ipv6 => "ipv6",
        PdpType::Ipv4v6 => "ipv4v6",
    };
    text.line(format_args!("pdp-type {pdp_type}"));
    if let Some(tun) = &mobiles.tun {
        text.line(format_args!("tun {} count {}", tun.prefix, tun.count));
    }
    match mobiles.attach_per_s {
        Some(rate) => text.line(format_args!("attach-rate {rate}")),
        None => text.line(format_args!("no attach-rate")),
    }
    text.line(format_args!("{}activate-on-attach", if mobiles.activate { "" } else { "no " }));
    let QosRequest { precedence, delay, reliability, peak, mean } = fleet.qos;
    text.line(format_args!(
        "qos precedence {precedence} delay {delay} reliability {reliability} peak {peak} mean {mean}"
    ));
    compression::write(&fleet.compression, text);
    links::write(&fleet.links, text);
    if let Some(octets) = fleet.n201_u {
        text.line(format_args!("llc n201-u {octets}"));
    }
}

/// The commands, in this node.
pub(crate) fn install<E>(grammar: &mut Grammar<E>, node: Node)
where
    E: Element<Config: HasFleet + HasCompression + HasLinks>,
{
    install_mobiles(grammar, node);
    install_habits(grammar, node);
    cards::install(grammar, node);
    compression::install(grammar, node);
    links::install(grammar, node);
    let n201_u = "LLC\nN201-U: information of a UI frame at most";
    set(
        grammar,
        node,
        "llc n201-u <140-1520>",
        &format!("{n201_u}\nOctets, which mobiles ask for"),
        |edit| {
            edit.config.fleet_mut().n201_u = Some(edit.args.value(0)?);
            Ok(())
        },
    );
    set(grammar, node, "no llc n201-u", &format!("Take back\n{n201_u}"), |edit| {
        edit.config.fleet_mut().n201_u = None;
        Ok(())
    });
}

fn install_mobiles<E: Element<Config: HasFleet>>(grammar: &mut Grammar<E>, node: Node) {
    set(grammar, node, "mobiles <0-1000000>", "Mobiles\nHow many", |edit| {
        edit.config.fleet_mut().mobiles.count = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "imsi-base IMSI", "IMSI of the first mobile\nThe IMSI", |edit| {
        edit.config.fleet_mut().mobiles.imsi_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "imei-base IMEI", "IMEI of the first mobile\nThe IMEI", |edit| {
        edit.config.fleet_mut().mobiles.imei_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "apn NAME", "The access point that mobiles ask for\nIts name", |edit| {
        edit.args.text(0).clone_into(&mut edit.config.fleet_mut().mobiles.apn);
        Ok(())
    });
    set(grammar, node, "no apn", "Take back\nMobiles name no access point", |edit| {
        edit.config.fleet_mut().mobiles.apn.clear();
        Ok(())
    });
    set(
        grammar,
        node,
        "transaction-flag",
        "Mobiles set the transaction identifier flag in transactions of their own, against 24.007",
        |edit| {
            edit.config.fleet_mut().mobiles.sets_flag = true;
            Ok(())
        },
    );
    set(grammar, node, "no transaction-flag", "Take back\nMobiles set the flag as in 24.007", |edit| {
        edit.config.fleet_mut().mobiles.sets_flag = false;
        Ok(())
    });
    let types = "The type of address that mobiles ask for\nIPv4\nIPv6\nBoth in one context";
    set(grammar, node, "pdp-type (ipv4|ipv6|ipv4v6)", types, |edit| {
        edit.config.fleet_mut().mobiles.pdp_type = match edit.args.text(0) {
            "ipv6" => PdpType::Ipv6,
            "ipv4v6" => PdpType::Ipv4v6,
            _ => PdpType::Ipv4,
        };
        Ok(())
    });
}

/// What mobiles do of themselves.
fn install_habits<E: Element<Config: HasFleet>>(grammar: &mut Grammar<E>, node: Node) {
    set(grammar, node, "attach-rate <1-100000>", "How many mobiles attach\nIn one second", |edit| {
        edit.config.fleet_mut().mobiles.attach_per_s = Some(edit.args.value(0)?);
        Ok(())
    });
    set(grammar, node, "no attach-rate", "Take back\nMobiles wait for 'mobile N attach'", |edit| {
        edit.config.fleet_mut().mobiles.attach_per_s = None;
        Ok(())
    });
    let activate = "Mobiles activate a PDP context once they have attached";
    set(grammar, node, "activate-on-attach", activate, |edit| {
        edit.config.fleet_mut().mobiles.activate = true;
        Ok(())
    });
    set(grammar, node, "no activate-on-attach", &format!("Take back\n{activate}"), |edit| {
        edit.config.fleet_mut().mobiles.activate = false;
        Ok(())
    });
    let combined = "Mobiles attach for non-GPRS services too, in combined procedures";
    set(grammar, node, "combined-procedures", combined, |edit| {
        edit.config.fleet_mut().mobiles.combined = true;
        Ok(())
    });
    set(grammar, node, "no combined-procedures", &format!("Take back\n{combined}"), |edit| {
        edit.config.fleet_mut().mobiles.combined = false;
        Ok(())
    });
    let requested =
        "Mobiles activate a PDP context that the network requests; otherwise they reject with cause 40";
    set(grammar, node, "network-requested-activation", requested, |edit| {
        edit.config.fleet_mut().mobiles.follows_requests = true;
        Ok(())
    });
    set(grammar, node, "no network-requested-activation", &format!("Take back\n{requested}"), |edit| {
        edit.config.fleet_mut().mobiles.follows_requests = false;
        Ok(())
    });
    let help = "The QoS that mobiles ask for; 0 is the subscribed\nPrecedence\nClass\nDelay\nClass\nReliability\nClass\nPeak throughput\nClass\nMean throughput\nClass; 31 is best effort";
    set(
        grammar,
        node,
        "qos precedence <0-3> delay <0-4> reliability <0-5> peak <0-9> mean <0-31>",
        help,
        |edit| {
            edit.config.fleet_mut().qos = qos(edit.args)?;
            Ok(())
        },
    );
}

/// The QoS that the first five arguments are.
pub(crate) fn qos(args: &Args) -> Result<QosRequest, CommandError> {
    let mean: u8 = args.value(4)?;
    if (19..31).contains(&mean) {
        return Err(CommandError(format!("mean throughput class {mean} is not defined: 0 to 18, or 31.")));
    }
    Ok(QosRequest {
        precedence: args.value(0)?,
        delay: args.value(1)?,
        reliability: args.value(2)?,
        peak: args.value(3)?,
        mean,
    })
}

/// The help for the pattern of [`filter`].
pub(crate) const FILTER_HELP: &str = "The packets that belong to it\nThe lowest is tried first\nBy their protocol\nBy the port of the far end\nBy the port of the mobile\nThe number";

/// The filter that begins at this argument.
pub(crate) fn filter(args: &Args, at: usize) -> Result<FilterOrder, CommandError> {
    let component = match args.text(at + 1) {
        "protocol" => Component::Protocol(args.value(at + 2)?),
        "source-port" => Component::SourcePort(args.value(at + 2)?),
        _ => Component::DestinationPort(args.value(at + 2)?),
    };
    Ok(FilterOrder { precedence: args.value(at)?, component })
}

//! The commands of the BSS emulator, and how its configuration is written.

use super::{
    BssConfig, BssOperation, EndpointChange, FilterOrder, GbDialect, PdpType, QosRequest, TunDevices, cards,
    set,
};
use crate::Bss;
use crate::config::{ConfigText, compression, links};
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Grammar, Node};
use gannet_wire::bssgp::ie::RadioCause;
use gannet_wire::id::{Nsapi, Nsei};
use gannet_wire::l3::ie::Component;

/// Writes the node `bss`.
pub(super) fn write(config: &BssConfig, text: &mut ConfigText) {
    text.node(format_args!("bss"), |text| {
        text.line(format_args!("remote-ip {}", config.remote_ip));
        text.line(format_args!("remote-port {}", config.remote_port));
        text.line(format_args!("local-ip {}", config.local_ip));
        text.line(format_args!("local-port {}", config.local_port));
        let dialect = match config.dialect {
            GbDialect::Classic => "classic",
            GbDialect::IpSns => "ip-sns",
        };
        text.line(format_args!("gb-dialect {dialect}"));
        text.line(format_args!("ip-sns endpoints {}", config.ip_sns.count));
        text.line(format_args!("ip-sns spare-endpoints {}", config.ip_sns.spare));
        write_cells(config, text);
        write_mobiles(config, text);
        let QosRequest { precedence, delay, reliability, peak, mean } = config.qos;
        text.line(format_args!(
            "qos precedence {precedence} delay {delay} reliability {reliability} peak {peak} mean {mean}"
        ));
        compression::write(&config.compression, text);
        links::write(&config.links, text);
    });
}

fn write_cells(config: &BssConfig, text: &mut ConfigText) {
    let cells = &config.cells;
    text.line(format_args!("cells {}", cells.count));
    text.line(format_args!("cells-per-nse {}", cells.per_nse));
    text.line(format_args!("cells-per-routing-area {}", cells.per_routing_area));
    text.line(format_args!("mcc {:03}", cells.mcc));
    let width = if cells.mnc_three_digits { 3 } else { 2 };
    text.line(format_args!("mnc {:0width$}", cells.mnc));
    text.line(format_args!("lac {}", cells.lac));
    text.line(format_args!("rac {}", cells.rac));
    text.line(format_args!("ci-base {}", cells.ci_base));
    text.line(format_args!("bvci-base {}", cells.bvci_base));
    text.line(format_args!("nsei-base {}", cells.nsei_base));
    text.line(format_args!("nsvci-base {}", cells.nsvci_base));
    let radio = &config.radio;
    text.line(format_args!(
        "radio downlink {} uplink {}",
        radio.downlink_octets_per_s, radio.uplink_octets_per_s
    ));
    text.line(format_args!("radio delay {}", radio.delay_ms));
    text.line(format_args!("radio loss {}", radio.loss_percent));
    text.line(format_args!("flow-control cell bmax {}", radio.cell_bmax_octets));
    text.line(format_args!(
        "flow-control ms bmax {} rate {}",
        radio.ms_bmax_octets, radio.ms_rate_octets_per_s
    ));
    text.line(format_args!("flow-control interval {}", radio.flow_control_interval_s));
}

fn write_mobiles(config: &BssConfig, text: &mut ConfigText) {
    let mobiles = &config.mobiles;
    text.line(format_args!("mobiles {}", mobiles.count));
    text.line(format_args!("imsi-base {}", mobiles.imsi_base));
    text.line(format_args!("imei-base {}", mobiles.imei_base));
    cards::write(mobiles, text);
    if mobiles.combined {
        text.line(format_args!("combined-procedures"));
    }
    if config.mobiles.follows_requests {
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
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<Bss>) {
    let enter = Action::<Bss>::Enter(Node::Bss, |_| Ok(String::new()));
    grammar.add(&[Node::Config], "bss", "The BSS emulator", enter);
    install_addresses(grammar);
    install_dialect(grammar);
    install_cells(grammar);
    install_radio(grammar);
    install_mobiles(grammar);
    cards::install(grammar);
    compression::install(grammar, Node::Bss);
    links::install(grammar, Node::Bss);
    install_show(grammar);
    install_operate(grammar);
}

fn install_addresses(grammar: &mut Grammar<Bss>) {
    set(grammar, "remote-ip A.B.C.D", "The SGSN's address\nThe address", |edit| {
        edit.config.remote_ip = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "remote-port <1-65535>", "The SGSN's UDP port of NS\nThe port", |edit| {
        edit.config.remote_port = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "local-ip A.B.C.D", "Our address\nThe address", |edit| {
        edit.config.local_ip = edit.args.value(0)?;
        Ok(())
    });
    set(
        grammar,
        "local-port <1-65535>",
        "The UDP port of the first NSE; the next ones follow\nThe port",
        |edit| {
            edit.config.local_port = edit.args.value(0)?;
            Ok(())
        },
    );
}

fn install_dialect(grammar: &mut Grammar<Bss>) {
    let help = "How NS-VCs come to be\nOne for each NSE, with reset and unblocking\nBy IP-SNS, one for each pair of endpoints";
    set(grammar, "gb-dialect (classic|ip-sns)", help, |edit| {
        let ip_sns = edit.args.text(0) == "ip-sns";
        edit.config.dialect = if ip_sns { GbDialect::IpSns } else { GbDialect::Classic };
        Ok(())
    });
    let ip_sns = "IP-SNS";
    let help = format!("{ip_sns}\nIP endpoints of an NSE, each with a UDP port\nHow many");
    set(grammar, "ip-sns endpoints <1-8>", &help, |edit| {
        edit.config.ip_sns.count = edit.args.value(0)?;
        Ok(())
    });
    let help = format!("{ip_sns}\nMore of them, which 'ns nsei N endpoint E add' brings in\nHow many");
    set(grammar, "ip-sns spare-endpoints <0-8>", &help, |edit| {
        edit.config.ip_sns.spare = edit.args.value(0)?;
        Ok(())
    });
}

fn install_cells(grammar: &mut Grammar<Bss>) {
    set(grammar, "cells <1-65000>", "Cells\nHow many", |edit| {
        edit.config.cells.count = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "cells-per-nse <1-65000>", "Cells of one NSE\nHow many", |edit| {
        edit.config.cells.per_nse = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "cells-per-routing-area <1-65000>", "Cells of one routing area\nHow many", |edit| {
        edit.config.cells.per_routing_area = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "mcc <0-999>", "Mobile country code\nThe code", |edit| {
        edit.config.cells.mcc = edit.args.value(0)?;
        Ok(())
    });
    set(
        grammar,
        "mnc <0-999>",
        "Mobile network code\nThe code; three digits are another code than two",
        |edit| {
            let cells = &mut edit.config.cells;
            cells.mnc = edit.args.value(0)?;
            cells.mnc_three_digits = edit.args.text(0).len() > 2;
            Ok(())
        },
    );
    set(grammar, "lac <0-65535>", "Location area code\nThe code", |edit| {
        edit.config.cells.lac = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "rac <0-255>", "Routing area code of the first cells\nThe code", |edit| {
        edit.config.cells.rac = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "ci-base <0-65535>", "Cell identity of the first cell\nThe number", |edit| {
        edit.config.cells.ci_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "bvci-base <2-65535>", "BVCI of the first cell\nThe number", |edit| {
        edit.config.cells.bvci_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "nsei-base <0-65535>", "NSEI of the first NSE\nThe number", |edit| {
        edit.config.cells.nsei_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "nsvci-base <0-65535>", "NSVCI of the first NSE\nThe number", |edit| {
        edit.config.cells.nsvci_base = edit.args.value(0)?;
        Ok(())
    });
}

fn install_radio(grammar: &mut Grammar<Bss>) {
    let radio = "The radio of one cell";
    let help = format!("{radio}\nTo the mobiles\nOctets per second\nFrom the mobiles\nOctets per second");
    set(grammar, "radio downlink <100-838860800> uplink <100-838860800>", &help, |edit| {
        edit.config.radio.downlink_octets_per_s = edit.args.value(0)?;
        edit.config.radio.uplink_octets_per_s = edit.args.value(1)?;
        Ok(())
    });
    set(grammar, "radio delay <0-10000>", &format!("{radio}\nOne way\nMilliseconds"), |edit| {
        edit.config.radio.delay_ms = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "radio loss <0-90>", &format!("{radio}\nLL-PDUs that it loses\nOf a hundred"), |edit| {
        edit.config.radio.loss_percent = edit.args.value(0)?;
        Ok(())
    });
    let flow = "What the BSS tells the SGSN";
    set(
        grammar,
        "flow-control cell bmax <100-6553500>",
        &format!("{flow}\nOf a cell\nBmax\nOctets"),
        |edit| {
            edit.config.radio.cell_bmax_octets = edit.args.value(0)?;
            Ok(())
        },
    );
    let help = format!("{flow}\nOf a mobile\nBmax\nOctets\nR\nOctets per second");
    set(grammar, "flow-control ms bmax <100-6553500> rate <1-838860800>", &help, |edit| {
        edit.config.radio.ms_bmax_octets = edit.args.value(0)?;
        edit.config.radio.ms_rate_octets_per_s = edit.args.value(1)?;
        Ok(())
    });
    set(grammar, "flow-control interval <1-65535>", &format!("{flow}\nHow often\nSeconds"), |edit| {
        edit.config.radio.flow_control_interval_s = edit.args.value(0)?;
        Ok(())
    });
}

/// Interfaces have names of up to 15 octets; the number of the device needs its place.
const PREFIX_MAX: usize = 9;

fn install_mobiles(grammar: &mut Grammar<Bss>) {
    set(grammar, "mobiles <0-1000000>", "Mobiles\nHow many", |edit| {
        edit.config.mobiles.count = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "imsi-base IMSI", "IMSI of the first mobile\nThe IMSI", |edit| {
        edit.config.mobiles.imsi_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "imei-base IMEI", "IMEI of the first mobile\nThe IMEI", |edit| {
        edit.config.mobiles.imei_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, "apn NAME", "The access point that mobiles ask for\nIts name", |edit| {
        edit.args.text(0).clone_into(&mut edit.config.mobiles.apn);
        Ok(())
    });
    set(grammar, "no apn", "Take back\nMobiles name no access point", |edit| {
        edit.config.mobiles.apn.clear();
        Ok(())
    });
    set(
        grammar,
        "transaction-flag",
        "Mobiles set the transaction identifier flag in transactions of their own, against 24.007",
        |edit| {
            edit.config.mobiles.sets_flag = true;
            Ok(())
        },
    );
    set(grammar, "no transaction-flag", "Take back\nMobiles set the flag as in 24.007", |edit| {
        edit.config.mobiles.sets_flag = false;
        Ok(())
    });
    let types = "The type of address that mobiles ask for\nIPv4\nIPv6\nBoth in one context";
    set(grammar, "pdp-type (ipv4|ipv6|ipv4v6)", types, |edit| {
        edit.config.mobiles.pdp_type = match edit.args.text(0) {
            "ipv6" => PdpType::Ipv6,
            "ipv4v6" => PdpType::Ipv4v6,
            _ => PdpType::Ipv4,
        };
        Ok(())
    });
    set(
        grammar,
        "tun PREFIX count <1-100000>",
        "TUN devices for the first mobiles\nTheir names are PREFIX0 and on\nHow many\nThe number",
        |edit| {
            let prefix = edit.args.text(0).to_owned();
            if prefix.len() > PREFIX_MAX || prefix.contains('/') {
                return Err(CommandError(format!("a prefix has up to {PREFIX_MAX} letters and no '/'.")));
            }
            edit.config.mobiles.tun = Some(TunDevices { prefix, count: edit.args.value(1)? });
            Ok(())
        },
    );
    set(grammar, "no tun", "Take back\nTUN devices", |edit| {
        edit.config.mobiles.tun = None;
        Ok(())
    });
    install_habits(grammar);
}

/// What mobiles do of themselves.
fn install_habits(grammar: &mut Grammar<Bss>) {
    set(grammar, "attach-rate <1-100000>", "How many mobiles attach\nIn one second", |edit| {
        edit.config.mobiles.attach_per_s = Some(edit.args.value(0)?);
        Ok(())
    });
    set(grammar, "no attach-rate", "Take back\nMobiles wait for 'mobile N attach'", |edit| {
        edit.config.mobiles.attach_per_s = None;
        Ok(())
    });
    let activate = "Mobiles activate a PDP context once they have attached";
    set(grammar, "activate-on-attach", activate, |edit| {
        edit.config.mobiles.activate = true;
        Ok(())
    });
    set(grammar, "no activate-on-attach", &format!("Take back\n{activate}"), |edit| {
        edit.config.mobiles.activate = false;
        Ok(())
    });
    let combined = "Mobiles attach for non-GPRS services too, in combined procedures";
    set(grammar, "combined-procedures", combined, |edit| {
        edit.config.mobiles.combined = true;
        Ok(())
    });
    set(grammar, "no combined-procedures", &format!("Take back\n{combined}"), |edit| {
        edit.config.mobiles.combined = false;
        Ok(())
    });
    let requested =
        "Mobiles activate a PDP context that the network requests; otherwise they reject with cause 40";
    set(grammar, "network-requested-activation", requested, |edit| {
        edit.config.mobiles.follows_requests = true;
        Ok(())
    });
    set(grammar, "no network-requested-activation", &format!("Take back\n{requested}"), |edit| {
        edit.config.mobiles.follows_requests = false;
        Ok(())
    });
    let help = "The QoS that mobiles ask for; 0 is the subscribed\nPrecedence\nClass\nDelay\nClass\nReliability\nClass\nPeak throughput\nClass\nMean throughput\nClass; 31 is best effort";
    set(grammar, "qos precedence <0-3> delay <0-4> reliability <0-5> peak <0-9> mean <0-31>", help, |edit| {
        let args = edit.args;
        let mean: u8 = args.value(4)?;
        if (19..31).contains(&mean) {
            return Err(CommandError(format!(
                "mean throughput class {mean} is not defined: 0 to 18, or 31."
            )));
        }
        edit.config.qos = QosRequest {
            precedence: args.value(0)?,
            delay: args.value(1)?,
            reliability: args.value(2)?,
            peak: args.value(3)?,
            mean,
        };
        Ok(())
    });
}

type Parsed = Result<BssOperation, CommandError>;

fn install_show(grammar: &mut Grammar<Bss>) {
    use BssOperation::{ShowBssgp, ShowCells, ShowDrops, ShowMobiles, ShowNs, ShowWhy};
    let mut show = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        let help = format!("Show the state of the node\n{help}");
        grammar.add(OPERATING, pattern, &help, Action::<Bss>::Operate(parse));
    };
    show("show mobile [<1-1000000>]", "Mobiles: state, identities, address\nOne of them", |args| {
        args.optional(0).map(ShowMobiles)
    });
    show("show cells", "Cells: identities, state, flow control", |_| Ok(ShowCells));
    show("show ns [stats]", "The network service: NSEs and NS-VCs\nWith counters", |args| {
        Ok(ShowNs { stats: args.get(0).is_some() })
    });
    show("show bssgp [stats]", "BVCs: state, flow control, queues\nWith counters", |args| {
        Ok(ShowBssgp { stats: args.get(0).is_some() })
    });
    show("show drops", "What was dropped or refused, by name", |_| Ok(ShowDrops));
    let why = "The last rejects and drops of a mobile, with their clauses\nBy IMSI\nThe IMSI";
    show("show why imsi IMSI", why, |args| args.value(0).map(ShowWhy));
}

/// The filter that begins at this argument.
fn filter(args: &Args, at: usize) -> Result<FilterOrder, CommandError> {
    let component = match args.text(at + 1) {
        "protocol" => Component::Protocol(args.value(at + 2)?),
        "source-port" => Component::SourcePort(args.value(at + 2)?),
        _ => Component::DestinationPort(args.value(at + 2)?),
    };
    Ok(FilterOrder { precedence: args.value(at)?, component })
}

/// Contexts that share an address, and changes of contexts.
fn install_sessions(grammar: &mut Grammar<Bss>) {
    use BssOperation::{ModifyDelay, ModifyFilter, Secondary, TearDown};
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        grammar.add(&[Node::Enable], pattern, help, Action::<Bss>::Operate(parse));
    };
    let mobile = "A mobile\nIts number, from 1";
    let filter_help = "The packets that belong to it\nThe lowest is tried first\nBy their protocol\nBy the port of the far end\nBy the port of the mobile\nThe number";
    let help = format!(
        "{mobile}\nActivate a secondary PDP context\nIts NSAPI\nWith the address of another\nIts NSAPI\n{filter_help}"
    );
    add(
        "mobile <1-1000000> secondary <5-15> beside <5-15> precedence <0-255> (protocol|source-port|destination-port) <0-65535>",
        &help,
        |args| {
            let (nsapi, linked) = (Nsapi(args.value(1)?), Nsapi(args.value(2)?));
            Ok(Secondary { mobile: args.value(0)?, nsapi, linked, filter: filter(args, 3)? })
        },
    );
    let help = format!("{mobile}\nModify a PDP context\nIts NSAPI\n{filter_help}");
    add(
        "mobile <1-1000000> modify <5-15> precedence <0-255> (protocol|source-port|destination-port) <0-65535>",
        &help,
        |args| {
            let nsapi = Nsapi(args.value(1)?);
            Ok(ModifyFilter { mobile: args.value(0)?, nsapi, filter: filter(args, 2)? })
        },
    );
    let help = format!("{mobile}\nModify a PDP context\nIts NSAPI\nAsk for a delay class\nThe class");
    add("mobile <1-1000000> modify <5-15> delay-class <1-4>", &help, |args| {
        let nsapi = Nsapi(args.value(1)?);
        Ok(ModifyDelay { mobile: args.value(0)?, nsapi, delay_class: args.value(2)? })
    });
    let help = format!("{mobile}\nDeactivate all PDP contexts with the address of one\nIts NSAPI");
    add("mobile <1-1000000> tear-down <5-15>", &help, |args| {
        Ok(TearDown { mobile: args.value(0)?, nsapi: Nsapi(args.value(1)?) })
    });
}

fn install_operate(grammar: &mut Grammar<Bss>) {
    use BssOperation::{
        Activate, ActivateAt, Attach, ChangeEndpoint, Deactivate, Detach, ImsiAttach, ImsiDetach,
        RadioStatus, Reselect, ResetCell, ResetNs,
    };
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        grammar.add(&[Node::Enable], pattern, help, Action::<Bss>::Operate(parse));
    };
    let mobile = "A mobile\nIts number, from 1";
    add("mobile <1-1000000> attach", &format!("{mobile}\nAttach"), |args| args.value(0).map(Attach));
    add("mobile <1-1000000> detach", &format!("{mobile}\nDetach"), |args| args.value(0).map(Detach));
    let help = format!("{mobile}\nAttach for non-GPRS services again");
    add("mobile <1-1000000> imsi-attach", &help, |args| args.value(0).map(ImsiAttach));
    let help = format!("{mobile}\nDetach from non-GPRS services alone");
    add("mobile <1-1000000> imsi-detach", &help, |args| args.value(0).map(ImsiDetach));
    let help = format!("{mobile}\nActivate a PDP context");
    add("mobile <1-1000000> activate", &help, |args| args.value(0).map(Activate));
    let help = format!("{help}\nBy NSAPI\nIts NSAPI\nTo an access point\nIts name");
    add("mobile <1-1000000> activate nsapi <5-15> apn NAME", &help, |args| {
        Ok(ActivateAt { mobile: args.value(0)?, nsapi: Nsapi(args.value(1)?), apn: args.value(2)? })
    });
    let help = format!("{mobile}\nDeactivate a PDP context\nIts NSAPI; all without it");
    add("mobile <1-1000000> deactivate [<5-15>]", &help, |args| {
        Ok(Deactivate { mobile: args.value(0)?, nsapi: args.optional(1)?.map(Nsapi) })
    });
    install_sessions(grammar);
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        grammar.add(&[Node::Enable], pattern, help, Action::<Bss>::Operate(parse));
    };
    let help = format!("{mobile}\nMove to a cell\nIts number, from 0");
    add("mobile <1-1000000> cell <0-65000>", &help, |args| {
        Ok(Reselect { mobile: args.value(0)?, cell: args.value(1)? })
    });
    let help = format!(
        "{mobile}\nTell the SGSN of it: RADIO-STATUS\nThe radio has lost it\nIts radio link is too bad\nIt was ordered to another cell"
    );
    add(
        "mobile <1-1000000> radio-status (contact-lost|link-quality-insufficient|cell-reselection-ordered)",
        &help,
        |args| {
            let cause = match args.text(1) {
                "contact-lost" => RadioCause::ContactLost,
                "link-quality-insufficient" => RadioCause::LinkQualityInsufficient,
                _ => RadioCause::CellReselectionOrdered,
            };
            Ok(RadioStatus { mobile: args.value(0)?, cause })
        },
    );
    add("ns reset", "The network service\nReset every NS-VC", |_| Ok(ResetNs));
    let endpoint = "The network service\nAn NSE\nIts NSEI\nAn IP endpoint of it\nIts number, from 1";
    let help = format!("{endpoint}\nBring it in\nTake it out");
    add("ns nsei <0-65535> endpoint <1-16> (add|delete)", &help, |args| {
        let added = args.text(2) == "add";
        let change = if added { EndpointChange::Add } else { EndpointChange::Delete };
        Ok(ChangeEndpoint { nsei: Nsei(args.value(0)?), endpoint: args.value(1)?, change })
    });
    let help = format!("{endpoint}\nIts weights\nFor signalling\nFor data");
    add("ns nsei <0-65535> endpoint <1-16> weights <0-254> <0-254>", &help, |args| {
        let change = EndpointChange::Weights { signalling: args.value(2)?, data: args.value(3)? };
        Ok(ChangeEndpoint { nsei: Nsei(args.value(0)?), endpoint: args.value(1)?, change })
    });
    let help = "A cell\nIts number, from 0\nReset its BVC";
    add("cell <0-65000> reset", help, |args| args.value(0).map(ResetCell));
}

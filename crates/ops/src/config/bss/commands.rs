//! The commands of the BSS emulator, and how its configuration is written.

use super::{BssConfig, BssOperation, EndpointChange, TunDevices, air, set};
use crate::Bss;
use crate::config::{ConfigText, busy_poll, cells, fleet};
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Grammar, Node};
use gannet_wire::bssgp::ie::RadioCause;
use gannet_wire::id::{Nsapi, Nsei};

/// Writes the node `bss`.
pub(super) fn write(config: &BssConfig, text: &mut ConfigText) {
    text.node(format_args!("bss"), |text| {
        cells::write(&config.gb, text);
        air::write(&config.air, text);
        fleet::write(&config.fleet, text);
        busy_poll::write(config.common.busy_poll, text);
    });
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<Bss>) {
    let enter = Action::<Bss>::Enter(Node::Bss, |_| Ok(String::new()));
    grammar.add(&[Node::Config], "bss", "The BSS emulator", enter);
    cells::install(grammar, Node::Bss);
    air::install(grammar);
    fleet::install(grammar, Node::Bss);
    busy_poll::install(grammar, Node::Bss);
    install_tun(grammar);
    install_show(grammar);
    install_operate(grammar);
}

/// Interfaces have names of up to 15 octets; the number of the device needs its place.
const PREFIX_MAX: usize = 9;

fn install_tun(grammar: &mut Grammar<Bss>) {
    set(
        grammar,
        "tun PREFIX count <1-100000>",
        "TUN devices for the first mobiles\nTheir names are PREFIX0 and on\nHow many\nThe number",
        |edit| {
            let prefix = edit.args.text(0).to_owned();
            if prefix.len() > PREFIX_MAX || prefix.contains('/') {
                return Err(CommandError(format!("a prefix has up to {PREFIX_MAX} letters and no '/'.")));
            }
            edit.config.fleet.mobiles.tun = Some(TunDevices { prefix, count: edit.args.value(1)? });
            Ok(())
        },
    );
    set(grammar, "no tun", "Take back\nTUN devices", |edit| {
        edit.config.fleet.mobiles.tun = None;
        Ok(())
    });
}

type Parsed = Result<BssOperation, CommandError>;

fn install_show(grammar: &mut Grammar<Bss>) {
    use BssOperation::{
        ShowBssgp, ShowCells, ShowDrops, ShowMobiles, ShowNs, ShowRadio, ShowRadioMobiles, ShowTbfs, ShowWhy,
    };
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
    let radio = "What a radio with RLC/MAC has sent, received and lost, by cell";
    show("show radio", radio, |_| Ok(ShowRadio));
    show("show bts statistics", &format!("A base station\n{radio}"), |_| Ok(ShowRadio));
    show("show tbf all", "TBFs of a radio with RLC/MAC\nAll of them", |_| Ok(ShowTbfs));
    let mobiles = "Mobiles as RLC/MAC knows them\nAll of them";
    show("show ms all", mobiles, |_| Ok(ShowRadioMobiles));
    show("show drops", "What was dropped or refused, by name", |_| Ok(ShowDrops));
    let why = "The last rejects and drops of a mobile, with their clauses\nBy IMSI\nThe IMSI";
    show("show why imsi IMSI", why, |args| args.value(0).map(ShowWhy));
}

/// Contexts that share an address, and changes of contexts.
fn install_sessions(grammar: &mut Grammar<Bss>) {
    use BssOperation::{ModifyDelay, ModifyFilter, Secondary, TearDown};
    let mut add = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        grammar.add(&[Node::Enable], pattern, help, Action::<Bss>::Operate(parse));
    };
    let mobile = "A mobile\nIts number, from 1";
    let filter_help = fleet::FILTER_HELP;
    let help = format!(
        "{mobile}\nActivate a secondary PDP context\nIts NSAPI\nWith the address of another\nIts NSAPI\n{filter_help}"
    );
    add(
        "mobile <1-1000000> secondary <5-15> beside <5-15> precedence <0-255> (protocol|source-port|destination-port) <0-65535>",
        &help,
        |args| {
            let (nsapi, linked) = (Nsapi(args.value(1)?), Nsapi(args.value(2)?));
            Ok(Secondary { mobile: args.value(0)?, nsapi, linked, filter: fleet::filter(args, 3)? })
        },
    );
    let help = format!("{mobile}\nModify a PDP context\nIts NSAPI\n{filter_help}");
    add(
        "mobile <1-1000000> modify <5-15> precedence <0-255> (protocol|source-port|destination-port) <0-65535>",
        &help,
        |args| {
            let nsapi = Nsapi(args.value(1)?);
            Ok(ModifyFilter { mobile: args.value(0)?, nsapi, filter: fleet::filter(args, 2)? })
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

//! The commands of a mobile station as a whole, and how its configuration is written.

use super::{ContextConfig, CtlConfig, Hysteresis, MobileStation, MsConfig, RadioOfMobiles, contexts};
use crate::config::bearers::Link;
use crate::config::{ConfigText, bearers, busy_poll, cells, fleet};
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node};
use gannet_wire::id::{CellId, Nsapi, Plmn, Rai};

/// Writes the node `ms`.
pub(super) fn write(config: &MsConfig, text: &mut ConfigText) {
    text.node(format_args!("ms"), |text| {
        fleet::write(&config.fleet, text);
        let CtlConfig { path, mode, group } = &config.ctl;
        match path {
            Some(path) => text.line(format_args!("ctl socket {path}")),
            None => text.line(format_args!("no ctl socket")),
        }
        text.line(format_args!("ctl mode {mode:03o}"));
        if let Some(group) = group {
            text.line(format_args!("ctl group {group}"));
        }
        bearers::write(&config.bearers, text);
        let RadioOfMobiles { multislot_class, empty_on } = config.radio;
        if multislot_class != RadioOfMobiles::default().multislot_class {
            text.line(format_args!("bearer radio multislot-class {multislot_class}"));
        }
        if let Some(slot) = empty_on {
            text.line(format_args!("bearer radio empty-blocks timeslot {slot}"));
        }
        for CellId { rai: Rai { plmn, lac, rac }, ci } in &config.known_cells {
            let plmn = plmn.to_string().replace('-', " ");
            text.line(format_args!("cell {plmn} {lac} {rac} {ci}"));
        }
        let Hysteresis { permille, hold_ms } = config.hysteresis;
        text.line(format_args!("bearer hysteresis {permille} hold {hold_ms}"));
        busy_poll::write(config.common.busy_poll, text);
        if let Some(cells) = &config.cells {
            text.node(format_args!("cells"), |text| cells::write(cells, text));
        }
        config.contexts.iter().for_each(|context| contexts::write(context, text));
    });
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<MobileStation>) {
    let enter = Action::<MobileStation>::Enter(Node::Ms, |_| Ok(String::new()));
    grammar.add(&[Node::Config], "ms", "Mobiles of this machine", enter);
    fleet::install(grammar, Node::Ms);
    busy_poll::install(grammar, Node::Ms);
    install_ctl(grammar);
    let enter = Action::<MobileStation>::Enter(Node::MsCells, |edit| {
        edit.config.cells.get_or_insert_default();
        Ok(String::new())
    });
    let own = "Cells of their own in this process, an ordinary BSS: the mobiles reach an SGSN without an access point";
    grammar.add(&[Node::Ms], "cells", own, enter);
    set(grammar, "no cells", &format!("Take back\n{own}"), |edit| {
        edit.config.cells = None;
        Ok(())
    });
    cells::install(grammar, Node::MsCells);
    bearers::install(grammar, Node::Ms);
    install_radio(grammar);
    install_choice(grammar);
    let context =
        "A PDP context of every mobile\nIts name, with which its devices begin where nothing else is said";
    grammar.add(
        &[Node::Ms],
        "context NAME",
        context,
        Action::<MobileStation>::Enter(Node::MsContext, |edit| {
            let name = edit.args.text(0).to_owned();
            let contexts = &mut edit.config.contexts;
            if !contexts.iter().any(|context| context.name == name) {
                let is_free = |nsapi: &u8| contexts.iter().all(|context| context.nsapi.0 != *nsapi);
                let nsapi = (5..=15).find(is_free);
                let nsapi = nsapi.ok_or_else(|| CommandError::new("a mobile has 11 contexts at most."))?;
                contexts.push(ContextConfig::new(&name, Nsapi(nsapi)));
            }
            Ok(name)
        }),
    );
    set(grammar, "no context NAME", "Take back\nA PDP context of every mobile\nIts name", |edit| {
        let name = edit.args.text(0);
        edit.config.contexts.retain(|context| context.name != name);
        Ok(())
    });
}

/// The radio as a bearer.
fn install_radio(grammar: &mut Grammar<MobileStation>) {
    let help = format!("Links by which mobiles and access points reach each other\n{}", bearers::RADIO_HELP);
    let with = format!("{help}\nThe multicast group to the mobiles\nThat from the mobiles");
    set(grammar, "bearer radio um", &help, |edit| {
        bearers::add(&mut edit.config.bearers, bearers::radio());
        Ok(())
    });
    set(grammar, "bearer radio um A.B.C.D A.B.C.D", &with, |edit| {
        let link = bearers::radio_with(edit.args)?;
        bearers::add(&mut edit.config.bearers, link);
        Ok(())
    });
    set(grammar, "no bearer radio um", &format!("Take back\n{help}"), |edit| {
        edit.config.bearers.links.retain(|link| !matches!(link, Link::Radio(_)));
        Ok(())
    });
    let radio = "Links by which mobiles and access points reach each other\nThe radio";
    let help = format!("{radio}\nMultislot class of the mobiles\nNumber of the class; 6 is the default");
    set(grammar, "bearer radio multislot-class <1-12>", &help, |edit| {
        edit.config.radio.multislot_class = edit.args.value(0)?;
        Ok(())
    });
    let help = format!(
        "{radio}\nEach uplink block that no mobile sends goes as an empty one: osmo-bts-virtual has the time by them"
    );
    let slot = format!("{help}\nOn a timeslot that is a PDCH of the cell\nNumber of the timeslot");
    set(grammar, "bearer radio empty-blocks timeslot <0-7>", &slot, |edit| {
        edit.config.radio.empty_on = Some(edit.args.value(0)?);
        Ok(())
    });
    set(grammar, "no bearer radio empty-blocks", &format!("Take back\n{help}"), |edit| {
        edit.config.radio.empty_on = None;
        Ok(())
    });
}

/// Which access point is chosen.
fn install_choice(grammar: &mut Grammar<MobileStation>) {
    let cell = "A cell of an access point; those that are said first are preferred\nMobile country code\nMobile network code; three digits are another code than two\nLocation area code\nRouting area code\nCell identity";
    set(grammar, "cell <0-999> <0-999> <0-65535> <0-255> <0-65535>", cell, |edit| {
        let cell = cell_of(edit.args)?;
        edit.config.known_cells.retain(|other| *other != cell);
        edit.config.known_cells.push(cell);
        Ok(())
    });
    let help = format!("Take back\n{cell}");
    set(grammar, "no cell <0-999> <0-999> <0-65535> <0-255> <0-65535>", &help, |edit| {
        let cell = cell_of(edit.args)?;
        edit.config.known_cells.retain(|other| *other != cell);
        Ok(())
    });
    let help = "Links by which mobiles and access points reach each other\nWhen another access point is chosen\nPermille by which more of it must arrive\nFor how long\nMilliseconds";
    set(grammar, "bearer hysteresis <0-1000> hold <0-600000>", help, |edit| {
        edit.config.hysteresis = Hysteresis { permille: edit.args.value(0)?, hold_ms: edit.args.value(1)? };
        Ok(())
    });
}

pub(super) fn cell_of(args: &Args) -> Result<CellId, CommandError> {
    let plmn = Plmn::new(args.value(0)?, args.value(1)?, args.text(1).len() > 2);
    Ok(CellId { rai: Rai { plmn, lac: args.value(2)?, rac: args.value(3)? }, ci: args.value(4)? })
}

fn install_ctl(grammar: &mut Grammar<MobileStation>) {
    let ctl = "The socket for 'gannet ms ctl'";
    set(grammar, "ctl socket PATH", &format!("{ctl}\nWhere it is\nIts path"), |edit| {
        edit.config.ctl.path = Some(edit.args.text(0).to_owned());
        Ok(())
    });
    set(grammar, "no ctl socket", &format!("Take back\n{ctl}\nThere is none"), |edit| {
        edit.config.ctl.path = None;
        Ok(())
    });
    let help = format!("{ctl}\nWho may use it\nThe file's permissions, in octal digits");
    set(grammar, "ctl mode <0-777>", &help, |edit| {
        let digits = edit.args.text(0);
        let mode = u32::from_str_radix(digits, 8);
        edit.config.ctl.mode =
            mode.map_err(|_| CommandError(format!("'{digits}' has a digit that is not octal.")))?;
        Ok(())
    });
    set(grammar, "ctl group NAME", &format!("{ctl}\nThe file's group\nIts name"), |edit| {
        edit.config.ctl.group = Some(edit.args.text(0).to_owned());
        Ok(())
    });
    set(grammar, "no ctl group", &format!("Take back\n{ctl}\nThe file's group"), |edit| {
        edit.config.ctl.group = None;
        Ok(())
    });
}

fn set(
    grammar: &mut Grammar<MobileStation>,
    pattern: &'static str,
    help: &str,
    set: fn(&mut Edit<'_, MsConfig>) -> Result<(), CommandError>,
) {
    grammar.add(&[Node::Ms], pattern, help, Action::<MobileStation>::Set(set));
}

//! The commands of cells, and how they are written.

use super::{CellsConfig, GbDialect, HasCells, RlcMac, UmGroups, VirtualUm, pcu, set, sharing};
use crate::config::{ConfigText, Element};
use crate::grammar::{Args, CommandError, Grammar, Node};
use gannet_wire::rlcmac::coding::CodingScheme;

/// Writes the lines of cells.
pub(crate) fn write(config: &CellsConfig, text: &mut ConfigText) {
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
}

fn write_cells(config: &CellsConfig, text: &mut ConfigText) {
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
    if let Some(rlcmac) = radio.rlcmac {
        let (slots, coding) = (rlcmac.slots, rlcmac.coding.command() + 1);
        match rlcmac.c_over_i_db {
            None => text.line(format_args!("radio rlcmac slots {slots} cs {coding}")),
            Some(db) => text.line(format_args!("radio rlcmac slots {slots} cs {coding} c-i {db}")),
        }
    }
    pcu::write(&radio.pcu, text);
    sharing::write(&radio.sharing, text);
    if let Some(VirtualUm { arfcn, groups: UmGroups { downlink, uplink } }) = radio.um {
        text.line(format_args!("radio um virtual arfcn {arfcn} groups {downlink} {uplink}"));
    }
    text.line(format_args!("flow-control cell bmax {}", radio.cell_bmax_octets));
    text.line(format_args!(
        "flow-control ms bmax {} rate {}",
        radio.ms_bmax_octets, radio.ms_rate_octets_per_s
    ));
    text.line(format_args!("flow-control interval {}", radio.flow_control_interval_s));
}

/// The commands, in this node.
pub(crate) fn install<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    install_addresses(grammar, node);
    install_dialect(grammar, node);
    install_cells(grammar, node);
    install_radio(grammar, node);
}

fn install_addresses<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    set(grammar, node, "remote-ip A.B.C.D", "The SGSN's address\nThe address", |edit| {
        edit.config.cells_mut().remote_ip = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "remote-port <1-65535>", "The SGSN's UDP port of NS\nThe port", |edit| {
        edit.config.cells_mut().remote_port = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "local-ip A.B.C.D", "Our address\nThe address", |edit| {
        edit.config.cells_mut().local_ip = edit.args.value(0)?;
        Ok(())
    });
    set(
        grammar,
        node,
        "local-port <1-65535>",
        "The UDP port of the first NSE; the next ones follow\nThe port",
        |edit| {
            edit.config.cells_mut().local_port = edit.args.value(0)?;
            Ok(())
        },
    );
}

fn install_dialect<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let help = "How NS-VCs come to be\nOne for each NSE, with reset and unblocking\nBy IP-SNS, one for each pair of endpoints";
    set(grammar, node, "gb-dialect (classic|ip-sns)", help, |edit| {
        let ip_sns = edit.args.text(0) == "ip-sns";
        edit.config.cells_mut().dialect = if ip_sns { GbDialect::IpSns } else { GbDialect::Classic };
        Ok(())
    });
    let ip_sns = "IP-SNS";
    let help = format!("{ip_sns}\nIP endpoints of an NSE, each with a UDP port\nHow many");
    set(grammar, node, "ip-sns endpoints <1-8>", &help, |edit| {
        edit.config.cells_mut().ip_sns.count = edit.args.value(0)?;
        Ok(())
    });
    let help = format!("{ip_sns}\nMore of them, which 'ns nsei N endpoint E add' brings in\nHow many");
    set(grammar, node, "ip-sns spare-endpoints <0-8>", &help, |edit| {
        edit.config.cells_mut().ip_sns.spare = edit.args.value(0)?;
        Ok(())
    });
}

fn install_cells<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    set(grammar, node, "cells <1-65000>", "Cells\nHow many", |edit| {
        edit.config.cells_mut().cells.count = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "cells-per-nse <1-65000>", "Cells of one NSE\nHow many", |edit| {
        edit.config.cells_mut().cells.per_nse = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "cells-per-routing-area <1-65000>", "Cells of one routing area\nHow many", |edit| {
        edit.config.cells_mut().cells.per_routing_area = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "mcc <0-999>", "Mobile country code\nThe code", |edit| {
        edit.config.cells_mut().cells.mcc = edit.args.value(0)?;
        Ok(())
    });
    set(
        grammar,
        node,
        "mnc <0-999>",
        "Mobile network code\nThe code; three digits are another code than two",
        |edit| {
            let cells = &mut edit.config.cells_mut().cells;
            cells.mnc = edit.args.value(0)?;
            cells.mnc_three_digits = edit.args.text(0).len() > 2;
            Ok(())
        },
    );
    set(grammar, node, "lac <0-65535>", "Location area code\nThe code", |edit| {
        edit.config.cells_mut().cells.lac = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "rac <0-255>", "Routing area code of the first cells\nThe code", |edit| {
        edit.config.cells_mut().cells.rac = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "ci-base <0-65535>", "Cell identity of the first cell\nThe number", |edit| {
        edit.config.cells_mut().cells.ci_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "bvci-base <2-65535>", "BVCI of the first cell\nThe number", |edit| {
        edit.config.cells_mut().cells.bvci_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "nsei-base <0-65535>", "NSEI of the first NSE\nThe number", |edit| {
        edit.config.cells_mut().cells.nsei_base = edit.args.value(0)?;
        Ok(())
    });
    set(grammar, node, "nsvci-base <0-65535>", "NSVCI of the first NSE\nThe number", |edit| {
        edit.config.cells_mut().cells.nsvci_base = edit.args.value(0)?;
        Ok(())
    });
}

fn install_radio<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let radio = "The radio of one cell";
    let help = format!("{radio}\nTo the mobiles\nOctets per second\nFrom the mobiles\nOctets per second");
    set(grammar, node, "radio downlink <100-838860800> uplink <100-838860800>", &help, |edit| {
        edit.config.cells_mut().radio.downlink_octets_per_s = edit.args.value(0)?;
        edit.config.cells_mut().radio.uplink_octets_per_s = edit.args.value(1)?;
        Ok(())
    });
    set(grammar, node, "radio delay <0-10000>", &format!("{radio}\nOne way\nMilliseconds"), |edit| {
        edit.config.cells_mut().radio.delay_ms = edit.args.value(0)?;
        Ok(())
    });
    set(
        grammar,
        node,
        "radio loss <0-90>",
        &format!("{radio}\nLL-PDUs that it loses\nOf a hundred"),
        |edit| {
            edit.config.cells_mut().radio.loss_percent = edit.args.value(0)?;
            Ok(())
        },
    );
    if node == Node::Ap {
        let help =
            "The radio of one cell\nNot here: the cells of an access point are links\nWhatever follows";
        set(grammar, node, "radio rlcmac .TEXT", help, |_| {
            let text =
                "the cells of an access point are links without RLC/MAC: 'radio rlcmac' is for 'gannet bss'.";
            Err(CommandError(text.to_owned()))
        });
    } else {
        install_rlcmac(grammar, node);
        pcu::install(grammar, node);
        sharing::install(grammar, node);
        install_um(grammar, node);
    }
    let flow = "What the BSS tells the SGSN";
    set(
        grammar,
        node,
        "flow-control cell bmax <100-6553500>",
        &format!("{flow}\nOf a cell\nBmax\nOctets"),
        |edit| {
            edit.config.cells_mut().radio.cell_bmax_octets = edit.args.value(0)?;
            Ok(())
        },
    );
    let help = format!("{flow}\nOf a mobile\nBmax\nOctets\nR\nOctets per second");
    set(grammar, node, "flow-control ms bmax <100-6553500> rate <1-838860800>", &help, |edit| {
        edit.config.cells_mut().radio.ms_bmax_octets = edit.args.value(0)?;
        edit.config.cells_mut().radio.ms_rate_octets_per_s = edit.args.value(1)?;
        Ok(())
    });
    set(grammar, node, "flow-control interval <1-65535>", &format!("{flow}\nHow often\nSeconds"), |edit| {
        edit.config.cells_mut().radio.flow_control_interval_s = edit.args.value(0)?;
        Ok(())
    });
}

fn install_rlcmac<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let help = "The radio of one cell\nWith RLC/MAC: blocks, TBFs and random access\nPDCHs, the last timeslots\nHow many\nCoding scheme\nOf data blocks, both ways";
    set(grammar, node, "radio rlcmac slots <1-7> cs <1-4>", help, |edit| {
        edit.config.cells_mut().radio.rlcmac = Some(rlcmac(edit.args, None)?);
        Ok(())
    });
    let help = format!("{help}\nMean carrier to interference ratio; nothing is lost without it\nDecibels");
    set(grammar, node, "radio rlcmac slots <1-7> cs <1-4> c-i <0-40>", &help, |edit| {
        let c_over_i_db = Some(edit.args.value(2)?);
        edit.config.cells_mut().radio.rlcmac = Some(rlcmac(edit.args, c_over_i_db)?);
        Ok(())
    });
    let help = "Take back\nThe radio of one cell\nWith RLC/MAC: it is emulated";
    set(grammar, node, "no radio rlcmac", help, |edit| {
        edit.config.cells_mut().radio.rlcmac = None;
        Ok(())
    });
}

/// Help of the groups of an air.
const GROUPS_HELP: &str =
    "Multicast groups that carry it, by UDP port 4729\nTo the mobiles\nFrom the mobiles";

/// Two groups, from this argument on.
pub(crate) fn groups(args: &Args, first: usize) -> Result<UmGroups, CommandError> {
    Ok(UmGroups { downlink: args.value(first)?, uplink: args.value(first + 1)? })
}

fn install_um<E: Element<Config: HasCells>>(grammar: &mut Grammar<E>, node: Node) {
    let um = "The radio of one cell\nThe air of RLC/MAC\nGSMTAP over UDP, for mobiles that are elsewhere: this process has none";
    let help = format!("{um}\nThe carrier of the first cell; the next ones follow\nARFCN");
    set(grammar, node, "radio um virtual arfcn <0-1023>", &help, |edit| {
        let um = VirtualUm { arfcn: edit.args.value(0)?, groups: UmGroups::default() };
        edit.config.cells_mut().radio.um = Some(um);
        Ok(())
    });
    let help = format!("{help}\n{GROUPS_HELP}");
    set(grammar, node, "radio um virtual arfcn <0-1023> groups A.B.C.D A.B.C.D", &help, |edit| {
        let um = VirtualUm { arfcn: edit.args.value(0)?, groups: groups(edit.args, 1)? };
        edit.config.cells_mut().radio.um = Some(um);
        Ok(())
    });
    set(grammar, node, "no radio um virtual", &format!("Take back\n{um}"), |edit| {
        edit.config.cells_mut().radio.um = None;
        Ok(())
    });
}

fn rlcmac(args: &Args, c_over_i_db: Option<u8>) -> Result<RlcMac, CommandError> {
    let coding = CodingScheme::of_command(args.value::<u8>(1)?.saturating_sub(1));
    Ok(RlcMac { slots: args.value(0)?, coding, c_over_i_db })
}

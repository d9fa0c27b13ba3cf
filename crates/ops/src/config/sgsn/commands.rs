//! The commands of the nodes `sgsn` and `bssgp`, and how both are written.

use super::{
    ApnRoute, BssgpConfig, Bucket, CellChange, GgsnPeer, GmmTimer, GtpRetry, GtpVersion, LeftBehind,
    SgsnConfig, Watermark,
};
use crate::Sgsn;
use crate::config::{ConfigText, busy_poll, compression, gtp, links};
use crate::grammar::{Action, CommandError, Edit, Grammar, Node};

type Done = Result<(), CommandError>;

/// Writes the node `sgsn`. What osmo-sgsn does not know is written only where it differs from its default, so that
/// osmo-sgsn reads the file, too, as long as nothing of our own is used.
pub(super) fn write(config: &SgsnConfig, text: &mut ConfigText) {
    text.node(format_args!("sgsn"), |text| {
        if let Some(directory) = &config.gtp_state_dir {
            text.line(format_args!("gtp state-dir {directory}"));
        }
        if let Some(address) = config.gtp_local_ip {
            text.line(format_args!("gtp local-ip {address}"));
        }
        config.gn.write("gtp local-ipv6", text);
        for (number, ggsn) in &config.ggsns {
            write_ggsn(*number, ggsn, text);
        }
        super::access::write(&config.access, text);
        for ApnRoute { apn, imsi_prefix, ggsn } in &config.apns {
            match imsi_prefix {
                Some(prefix) => text.line(format_args!("apn {apn} imsi-prefix {prefix} ggsn {ggsn}")),
                None => text.line(format_args!("apn {apn} ggsn {ggsn}")),
            }
        }
        for timer in GmmTimer::ALL {
            let seconds = config.timers.get_s(*timer);
            if seconds != timer.default_s() {
                text.line(format_args!("timer {timer} {seconds}"));
            }
        }
        if config.compression != SgsnConfig::default().compression {
            compression::write(&config.compression, text);
        }
        write_own(config, text);
    });
}

fn write_ggsn(number: u8, ggsn: &GgsnPeer, text: &mut ConfigText) {
    if let Some(address) = ggsn.remote_ip {
        text.line(format_args!("ggsn {number} remote-ip {address}"));
    }
    text.line(format_args!("ggsn {number} gtp-version {}", ggsn.gtp_version.number()));
    match ggsn.echo_interval_s {
        Some(seconds) => text.line(format_args!("ggsn {number} echo-interval {seconds}")),
        None => text.line(format_args!("ggsn {number} no echo-interval")),
    }
}

/// Commands that osmo-sgsn does not have.
fn write_own(config: &SgsnConfig, text: &mut ConfigText) {
    let default = SgsnConfig::default();
    let GtpRetry { t3_response_s, n3_requests } = config.gtp_retry;
    if config.gtp_retry != default.gtp_retry {
        text.line(format_args!("gtp t3-response {t3_response_s}"));
        text.line(format_args!("gtp n3-requests {n3_requests}"));
    }
    if config.llc != default.llc {
        text.line(format_args!("llc n201-u {}", config.llc.n201_u));
        text.line(format_args!("sndcp reassembly-time {}", config.llc.reassembly_s));
    }
    links::write(&config.links, text);
    if config.limits != default.limits {
        text.line(format_args!("max-mobiles {}", config.limits.mobiles));
        text.line(format_args!("max-cells {}", config.limits.cells));
        text.line(format_args!("max-held-n-pdus {}", config.limits.held_n_pdus));
    }
    if config.limits.unconfirmed_octets != default.limits.unconfirmed_octets {
        text.line(format_args!("max-unconfirmed-octets {}", config.limits.unconfirmed_octets));
    }
    if let Some(contexts) = config.limits.contexts {
        text.line(format_args!("max-pdp-contexts {contexts}"));
    }
    if let Some(path) = &config.store {
        text.line(format_args!("store {path}"));
    }
    super::mobility::write(&config.mobility, text);
    super::sessions::write(config.sessions, text);
    super::charging::write(&config.charging, text);
    super::service::write(&config.service, text);
    busy_poll::write(config.common.busy_poll, text);
}

/// Writes the node `bssgp`, which is empty in osmo-sgsn.
pub(super) fn write_bssgp(config: &BssgpConfig, text: &mut ConfigText) {
    text.node(format_args!("bssgp"), |text| {
        let default = BssgpConfig::default();
        for (word, bucket, default) in [("bvc", config.bvc, default.bvc), ("ms", config.ms, default.ms)] {
            let Bucket { bmax_octets, rate_octets_per_s } = bucket;
            if bucket != default {
                text.line(format_args!(
                    "flow-control default {word} bmax {bmax_octets} rate {rate_octets_per_s}"
                ));
            }
        }
        if config.queue_ms_pdus != default.queue_ms_pdus {
            text.line(format_args!("queue-limit ms {}", config.queue_ms_pdus));
        }
        if config.queue_cell_pdus != default.queue_cell_pdus {
            text.line(format_args!("queue-limit cell {}", config.queue_cell_pdus));
        }
        let marks = [
            ("ms", config.watermark_ms, default.watermark_ms),
            ("cell", config.watermark_cell, default.watermark_cell),
        ];
        for (word, Watermark { high, low }, _) in marks.into_iter().filter(|(_, own, default)| own != default)
        {
            text.line(format_args!("watermark {word} high {high} low {low}"));
        }
        if config.real_time_percent != default.real_time_percent {
            text.line(format_args!("real-time share {}", config.real_time_percent));
        }
        if config.send_delay_ms != default.send_delay_ms {
            text.line(format_args!("send-delay {}", config.send_delay_ms));
        }
        match config.pdu_lifetime_cs {
            lifetime if lifetime == default.pdu_lifetime_cs => {}
            Some(centiseconds) => text.line(format_args!("pdu-lifetime {centiseconds}")),
            None => text.line(format_args!("pdu-lifetime infinite")),
        }
        let by_class = config.pdu_lifetime_by_class_cs.into_iter().zip(default.pdu_lifetime_by_class_cs);
        for (class, (own, default)) in LIFETIME_CLASSES.iter().zip(by_class) {
            match own {
                lifetime if lifetime == default => {}
                Some(centiseconds) => text.line(format_args!("pdu-lifetime {class} {centiseconds}")),
                None => text.line(format_args!("pdu-lifetime {class} infinite")),
            }
        }
        let CellChange { left_behind, flush_timeout_ms, reselection_timeout_s } = config.cell_change;
        let word = LeftBehind::WORDS.iter().find(|(of, _)| *of == left_behind);
        if let Some((_, word)) = word.filter(|_| left_behind != default.cell_change.left_behind) {
            text.line(format_args!("flush-ll {word}"));
        }
        if flush_timeout_ms != default.cell_change.flush_timeout_ms {
            text.line(format_args!("flush-ll timeout {flush_timeout_ms}"));
        }
        if reselection_timeout_s != default.cell_change.reselection_timeout_s {
            text.line(format_args!("cell-reselection timeout {reselection_timeout_s}"));
        }
        if let Some(seconds) = config.overload_interval_s {
            text.line(format_args!("overload interval {seconds}"));
        }
    });
}

/// All commands of both nodes.
pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    let nothing_to_name = |_: &mut Edit<'_, SgsnConfig>| Ok(String::new());
    grammar.add(&[Node::Config], "sgsn", "The SGSN", Action::<Sgsn>::Enter(Node::Sgsn, nothing_to_name));
    grammar.add(
        &[Node::Config],
        "bssgp",
        "BSSGP: flow control and queues",
        Action::<Sgsn>::Enter(Node::Bssgp, nothing_to_name),
    );
    install_gtp(grammar);
    install_ggsns(grammar);
    install_apns(grammar);
    super::access::install(grammar);
    super::mobility::install(grammar);
    super::sessions::install(grammar);
    super::charging::install(grammar);
    install_timers(grammar);
    install_limits(grammar);
    super::service::install(grammar);
    compression::install(grammar, Node::Sgsn);
    links::install(grammar, Node::Sgsn);
    super::osmocom::install(grammar);
    install_bssgp(grammar);
}

fn install_gtp(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "gtp state-dir PATH",
        "GTP\nWhere the restart counter is kept\nA directory",
        Action::<Sgsn>::Set(|edit| {
            edit.config.gtp_state_dir = Some(edit.args.text(0).to_owned());
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "store PATH",
        "Keep MM and PDP contexts, so that a restart loses no mobile\nA file, which is made where it is not there",
        Action::<Sgsn>::Set(|edit| {
            edit.config.store = Some(edit.args.text(0).to_owned());
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "no store",
        "Take back\nKeep MM and PDP contexts",
        Action::<Sgsn>::Set(|edit| {
            edit.config.store = None;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "gtp local-ip A.B.C.D",
        "GTP\nThe address of its sockets\nThe address",
        Action::<Sgsn>::Set(|edit| {
            edit.config.gtp_local_ip = Some(gtp::unicast(edit.args, 0)?);
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "gtp local-ipv6 X:X::X:X",
        "GTP\nThe address of its sockets for GGSNs with IPv6\nThe address",
        Action::<Sgsn>::Set(|edit| {
            edit.config.gn.ipv6 = Some(gtp::unicast(edit.args, 0)?);
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "no gtp local-ipv6",
        "Take back\nGTP\nThe address of its sockets for GGSNs with IPv6",
        Action::<Sgsn>::Set(|edit| {
            edit.config.gn.ipv6 = None;
            Ok(())
        }),
    );
    gtp::install(grammar, Node::Sgsn, false);
    grammar.add(
        sgsn,
        "gtp t3-response <1-60>",
        "GTP\nT3-RESPONSE: how long an answer may take\nSeconds",
        Action::<Sgsn>::Set(|edit| {
            edit.config.gtp_retry.t3_response_s = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "gtp n3-requests <1-20>",
        "GTP\nN3-REQUESTS: how often a request is sent\nTimes",
        Action::<Sgsn>::Set(|edit| {
            edit.config.gtp_retry.n3_requests = edit.args.value(0)?;
            Ok(())
        }),
    );
}

fn ggsn<'e>(edit: &'e mut Edit<'_, SgsnConfig>) -> Result<&'e mut GgsnPeer, CommandError> {
    let number = edit.args.value(0)?;
    Ok(edit.config.ggsns.entry(number).or_default())
}

fn install_ggsns(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    for pattern in ["ggsn <0-255> remote-ip A.B.C.D", "ggsn <0-255> remote-ip X:X::X:X"] {
        let set = Action::<Sgsn>::Set(|edit| {
            let address = gtp::unicast(edit.args, 1)?;
            ggsn(edit)?.remote_ip = Some(address);
            Ok(())
        });
        grammar.add(sgsn, pattern, "A GGSN\nIts number\nIts address\nThe address", set);
    }
    grammar.add(
        sgsn,
        "ggsn <0-255> gtp-version (0|1)",
        "A GGSN\nIts number\nIts version of GTP\nGTPv0\nGTPv1",
        Action::<Sgsn>::Set(|edit| {
            let version = if edit.args.text(1) == "0" { GtpVersion::V0 } else { GtpVersion::V1 };
            ggsn(edit).map(|ggsn| ggsn.gtp_version = version)
        }),
    );
    grammar.add(
        sgsn,
        "ggsn <0-255> echo-interval <1-36000>",
        "A GGSN\nIts number\nBetween two Echo Requests\nSeconds",
        Action::<Sgsn>::Set(|edit| {
            let seconds: u16 = edit.args.value(1)?;
            if seconds < 60 {
                edit.warn("29.060 clause 7.2.1 wants at least 60 s between two Echo Requests.");
            }
            ggsn(edit)?.echo_interval_s = Some(seconds);
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "ggsn <0-255> no echo-interval",
        "A GGSN\nIts number\nTake back\nEcho Requests",
        Action::<Sgsn>::Set(|edit| ggsn(edit).map(|ggsn| ggsn.echo_interval_s = None)),
    );
    let dynamic = "A GGSN\nFound by DNS: not here";
    let why = "GGSNs are not looked up by DNS; say 'ggsn <0-255> remote-ip A.B.C.D'.";
    grammar.add(sgsn, "ggsn dynamic", dynamic, Action::<Sgsn>::Refuse(why));
    grammar.add(
        sgsn,
        "grx-dns-add A.B.C.D",
        "A DNS server of the GRX: not here\nThe address",
        Action::<Sgsn>::Refuse(why),
    );
}

fn add_route(edit: &mut Edit<'_, SgsnConfig>, imsi_prefix: Option<String>, ggsn: u8) -> Done {
    if imsi_prefix
        .as_deref()
        .is_some_and(|prefix| prefix.len() > 15 || !prefix.bytes().all(|c| c.is_ascii_digit()))
    {
        return Err(CommandError::new("an IMSI prefix has up to 15 digits."));
    }
    let apn = edit.args.text(0).to_owned();
    let apns = &mut edit.config.apns;
    apns.retain(|route| (&route.apn, &route.imsi_prefix) != (&apn, &imsi_prefix));
    apns.push(ApnRoute { apn, imsi_prefix, ggsn });
    Ok(())
}

fn install_apns(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "apn APNAME ggsn <0-255>",
        "An access point\nIts name; * is any\nThe GGSN it belongs to\nIts number",
        Action::<Sgsn>::Set(|edit| {
            let number = edit.args.value(1)?;
            add_route(edit, None, number)
        }),
    );
    grammar.add(
        sgsn,
        "apn APNAME imsi-prefix IMSIPRE ggsn <0-255>",
        "An access point\nIts name; * is any\nFor some mobiles\nHow their IMSI begins\nThe GGSN it belongs to\nIts number",
        Action::<Sgsn>::Set(|edit| {
            let number = edit.args.value(2)?;
            let prefix = Some(edit.args.text(1).to_owned());
            add_route(edit, prefix, number)
        }),
    );
    grammar.add(
        sgsn,
        "no apn APNAME",
        "Take back\nAn access point\nIts name",
        Action::<Sgsn>::Set(|edit| {
            let apn = edit.args.text(0);
            edit.config.apns.retain(|route| route.apn != apn);
            Ok(())
        }),
    );
}

fn install_timers(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    let help = "A timer of mobility or session management\nT3312 and its like; 'show timer' lists them";
    grammar.add(sgsn, "timer [TNNNN]", help, Action::<Sgsn>::Show(super::operations::show_timers));
    grammar.add(
        sgsn,
        "timer TNNNN (<0-2147483647>|default)",
        &format!("{help}\nSeconds\nIts default"),
        Action::<Sgsn>::Set(|edit| {
            let timer = GmmTimer::named(edit.args.text(0))?;
            let seconds =
                if edit.args.text(1) == "default" { timer.default_s() } else { edit.args.value(1)? };
            edit.config.timers.set(timer, seconds);
            Ok(())
        }),
    );
}

fn install_limits(grammar: &mut Grammar<Sgsn>) {
    let sgsn = &[Node::Sgsn];
    grammar.add(
        sgsn,
        "max-mobiles <1-1048576>",
        "Mobiles with a context\nHow many at most",
        Action::<Sgsn>::Set(|edit| {
            edit.config.limits.mobiles = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "max-pdp-contexts <1-16777216>",
        "PDP contexts of all mobiles together\nHow many at most",
        Action::<Sgsn>::Set(|edit| {
            edit.config.limits.contexts = Some(edit.args.value(0)?);
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "max-cells <1-65536>",
        "Cells of all base stations together\nHow many at most",
        Action::<Sgsn>::Set(|edit| {
            edit.config.limits.cells = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "max-held-n-pdus <1-4096>",
        "N-PDUs held for one mobile that is paged or suspended\nHow many at most",
        Action::<Sgsn>::Set(|edit| {
            edit.config.limits.held_n_pdus = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "max-unconfirmed-octets <65536-4294967295>",
        "N-PDUs of all mobiles that wait for their confirmation in acknowledged mode\nOctets at most",
        Action::<Sgsn>::Set(|edit| {
            edit.config.limits.unconfirmed_octets = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "llc n201-u <140-1520>",
        "LLC\nN201-U of the user SAPIs, asked for by XID\nOctets",
        Action::<Sgsn>::Set(|edit| {
            edit.config.llc.n201_u = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        sgsn,
        "sndcp reassembly-time <1-120>",
        "SNDCP\nHow long a segment waits for the rest of its N-PDU\nSeconds",
        Action::<Sgsn>::Set(|edit| {
            edit.config.llc.reassembly_s = edit.args.value(0)?;
            Ok(())
        }),
    );
}

fn bucket(edit: &Edit<'_, SgsnConfig>) -> Result<Bucket, CommandError> {
    Ok(Bucket { bmax_octets: edit.args.value(0)?, rate_octets_per_s: edit.args.value(1)? })
}

/// Between input and output, and among those who share a cell.
fn install_sharing(grammar: &mut Grammar<Sgsn>) {
    let bssgp = &[Node::Bssgp];
    grammar.add(
        bssgp,
        "watermark (ms|cell) high <2-65535> low <1-65534>",
        "When flows wait at the input\nFor one mobile\nFor one cell\nThey wait from so many PDUs on\nPDUs\n\
         They go on at so many\nPDUs",
        Action::<Sgsn>::Set(|edit| {
            let mark = Watermark { high: edit.args.value(1)?, low: edit.args.value(2)? };
            if mark.low >= mark.high {
                return Err(CommandError::new("the low watermark is below the high one."));
            }
            match edit.args.text(0) {
                "ms" => edit.config.bssgp.watermark_ms = mark,
                _ => edit.config.bssgp.watermark_cell = mark,
            }
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "real-time share <1-100>",
        "Real time\nWhat it may take of a cell while best effort waits\nPercent; 100 is all",
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.real_time_percent = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "send-delay <0-1000>",
        "How long best effort of a mobile may wait to be sent together\nMilliseconds",
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.send_delay_ms = edit.args.value(0)?;
            Ok(())
        }),
    );
}

fn install_bssgp(grammar: &mut Grammar<Sgsn>) {
    let bssgp = &[Node::Bssgp];
    let rest = "Bmax\nOctets\nR\nOctets per second";
    grammar.add(
        bssgp,
        "flow-control default bvc bmax <100-6553500> rate <1-838860800>",
        &format!("Flow control\nUntil the BSS says otherwise\nOf a cell\n{rest}"),
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.bvc = bucket(edit)?;
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "flow-control default ms bmax <100-6553500> rate <1-838860800>",
        &format!("Flow control\nUntil the BSS says otherwise\nOf a mobile\n{rest}"),
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.ms = bucket(edit)?;
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "queue-limit (ms|cell) <1-65535>",
        "How many PDUs may wait for flow control\nFor one mobile\nFor one cell\nPDUs",
        Action::<Sgsn>::Set(|edit| {
            let pdus = edit.args.value(1)?;
            match edit.args.text(0) {
                "ms" => edit.config.bssgp.queue_ms_pdus = pdus,
                _ => edit.config.bssgp.queue_cell_pdus = pdus,
            }
            Ok(())
        }),
    );
    install_sharing(grammar);
    grammar.add(
        bssgp,
        "pdu-lifetime (<1-65534>|infinite)",
        "How long a downlink PDU is worth sending\nCentiseconds\nFor ever",
        Action::<Sgsn>::Set(|edit| {
            let forever = edit.args.text(0) == "infinite";
            edit.config.bssgp.pdu_lifetime_cs = if forever { None } else { Some(edit.args.value(0)?) };
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "pdu-lifetime (real-time|guaranteed) (<1-65534>|infinite)",
        "How long a downlink PDU is worth sending\nOf real time, if shorter than others\n\
         Of a guaranteed rate, if shorter than others\nCentiseconds\nAs long as others",
        Action::<Sgsn>::Set(|edit| {
            let lifetime = if edit.args.text(1) == "infinite" { None } else { Some(edit.args.value(1)?) };
            let class = LIFETIME_CLASSES.iter().position(|class| *class == edit.args.text(0)).unwrap_or(0);
            if let Some(own) = edit.config.bssgp.pdu_lifetime_by_class_cs.get_mut(class) {
                *own = lifetime;
            }
            Ok(())
        }),
    );
    install_cell_change(grammar);
    install_overload(grammar);
}

fn install_overload(grammar: &mut Grammar<Sgsn>) {
    let bssgp = &[Node::Bssgp];
    grammar.add(
        bssgp,
        "overload interval <1-3600>",
        "BSSs are told with OVERLOAD when unknown mobiles are more than can be answered; of later releases\n\
         So often while it lasts\nSeconds",
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.overload_interval_s = Some(edit.args.value(0)?);
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "no overload interval",
        "Take back\nBSSs are told of an overload\nThey are not told",
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.overload_interval_s = None;
            Ok(())
        }),
    );
}

const LIFETIME_CLASSES: [&str; 2] = ["real-time", "guaranteed"];

fn install_cell_change(grammar: &mut Grammar<Sgsn>) {
    let bssgp = &[Node::Bssgp];
    let flush = "What the BSS has for a mobile that has left its cell";
    grammar.add(
        bssgp,
        "flush-ll (move|delete|discard)",
        &format!(
            "{flush}\nWithin a routing area it goes to the new cell\nIt is deleted\nIt is deleted, and so is what waits here"
        ),
        Action::<Sgsn>::Set(|edit| {
            let word = LeftBehind::WORDS.iter().find(|(_, word)| *word == edit.args.text(0));
            if let Some((left_behind, _)) = word {
                edit.config.bssgp.cell_change.left_behind = *left_behind;
            }
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "flush-ll timeout <100-60000>",
        &format!("{flush}\nHow long FLUSH-LL-ACK is waited for\nMilliseconds"),
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.cell_change.flush_timeout_ms = edit.args.value(0)?;
            Ok(())
        }),
    );
    grammar.add(
        bssgp,
        "cell-reselection timeout <1-60>",
        "A mobile that the BSS has ordered to another cell\nHow long it is waited for\nSeconds",
        Action::<Sgsn>::Set(|edit| {
            edit.config.bssgp.cell_change.reselection_timeout_s = edit.args.value(0)?;
            Ok(())
        }),
    );
}

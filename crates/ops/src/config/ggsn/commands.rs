//! The commands of a GGSN as a whole, and what may be asked of it.

use super::edit::{GgsnEdit, ggsn_here};
use super::{
    ApnConfig, GgsnConfig, GgsnInstance, GgsnOperation, access_point, addresses, marking, qos, user_plane,
};
use crate::Ggsn;
use crate::config::busy_poll;
use crate::config::gtp::{self, Gn, HasGn};
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Grammar, Node};
use core::net::{IpAddr, Ipv4Addr};
use gannet_wire::id::Nsapi;

/// An Echo Request is sent no more often than once in so many s (29.060 clause 7.2.1).
const ECHO_INTERVAL_MIN_S: u16 = 60;

impl HasGn for GgsnConfig {
    fn gn<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut Gn, CommandError> {
        ggsn_here(edit).map(|ggsn| &mut ggsn.gn)
    }
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<Ggsn>) {
    install_instances(grammar);
    install_gtp(grammar);
    install_limits(grammar);
    install_apns(grammar);
    access_point::install(grammar);
    addresses::install(grammar);
    user_plane::install(grammar);
    busy_poll::install(grammar, Node::Ggsn);
    marking::install(grammar);
    qos::install(grammar);
    install_show(grammar);
}

fn install_instances(grammar: &mut Grammar<Ggsn>) {
    grammar.add(
        &[Node::Config],
        "ggsn NAME",
        "A GGSN\nIts name",
        Action::<Ggsn>::Enter(Node::Ggsn, |edit| {
            let name = edit.args.text(0);
            if !edit.config.ggsns.iter().any(|ggsn| ggsn.name == name) {
                edit.config.ggsns.push(GgsnInstance::new(name));
            }
            Ok(name.to_owned())
        }),
    );
    grammar.add(
        &[Node::Config],
        "no ggsn NAME",
        "Take back\nA GGSN\nIts name",
        Action::<Ggsn>::Set(|edit| {
            let name = edit.args.text(0);
            edit.config.ggsns.retain(|ggsn| ggsn.name != name);
            Ok(())
        }),
    );
    let ggsn = &[Node::Ggsn];
    let description = "What you say about it\nThe text";
    grammar.add(
        ggsn,
        "description .TEXT",
        description,
        Action::<Ggsn>::Set(|edit| {
            let text = edit.args.text(0).to_owned();
            ggsn_here(edit).map(|ggsn| ggsn.description = Some(text))
        }),
    );
    let take_back = "Take back\nWhat you say about it";
    grammar.add(
        ggsn,
        "no description",
        take_back,
        Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.description = None)),
    );
    let serve = Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.running = true));
    grammar.add(ggsn, "no shutdown ggsn", "Take back\nServe nobody\nAs a whole", serve);
    let stop = Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.running = false));
    grammar.add(ggsn, "shutdown ggsn", "Serve nobody\nAs a whole", stop);
}

fn install_gtp(grammar: &mut Grammar<Ggsn>) {
    let ggsn = &[Node::Ggsn];
    grammar.add(
        ggsn,
        "gtp state-dir PATH",
        "GTP\nWhere the restart counter is kept\nA directory",
        Action::<Ggsn>::Set(|edit| {
            let path = edit.args.text(0).to_owned();
            ggsn_here(edit).map(|ggsn| ggsn.gtp_state_dir = Some(path))
        }),
    );
    grammar.add(
        ggsn,
        "gtp bind-ip A.B.C.D",
        "GTP\nThe address of its sockets\nThe address",
        Action::<Ggsn>::Set(|edit| {
            let address = gtp::unicast(edit.args, 0)?;
            ggsn_here(edit).map(|ggsn| ggsn.gtp_bind_ip = Some(address))
        }),
    );
    grammar.add(
        ggsn,
        "gtp bind-ipv6 X:X::X:X",
        "GTP\nThe address of its sockets for SGSNs with IPv6\nThe address",
        Action::<Ggsn>::Set(|edit| {
            let address = gtp::unicast(edit.args, 0)?;
            ggsn_here(edit).map(|ggsn| ggsn.gn.ipv6 = Some(address))
        }),
    );
    grammar.add(
        ggsn,
        "no gtp bind-ipv6",
        "Take back\nGTP\nThe address of its sockets for SGSNs with IPv6",
        Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.gn.ipv6 = None)),
    );
    gtp::install(grammar, Node::Ggsn, true);
    install_told(grammar);
    grammar.add(
        ggsn,
        "echo-interval <1-36000>",
        "Between two Echo Requests\nSeconds",
        Action::<Ggsn>::Set(|edit| {
            let seconds = edit.args.value(0)?;
            if seconds < ECHO_INTERVAL_MIN_S {
                edit.warn(format!(
                    "29.060 clause 7.2.1 wants {ECHO_INTERVAL_MIN_S} s between Echo Requests; {seconds} s are for tests"
                ));
            }
            ggsn_here(edit).map(|ggsn| ggsn.echo_interval_s = Some(seconds))
        }),
    );
    let none = Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.echo_interval_s = None));
    grammar.add(ggsn, "no echo-interval", "Take back\nEcho Requests", none);
}

/// What SGSNs are told, where they reach the sockets by other addresses.
fn install_told(grammar: &mut Grammar<Ggsn>) {
    type Place = fn(&mut GgsnInstance) -> &mut Option<Ipv4Addr>;
    let mut add = |pattern: &'static str, plane: &str, action: Action<Ggsn>| {
        let take_back = if pattern.starts_with("no ") { "Take back\n" } else { "" };
        let address = if take_back.is_empty() { "\nThe address" } else { "" };
        let help = format!(
            "{take_back}GTP\nThe address that SGSNs are told for {plane}, 'gtp bind-ip' by default{address}"
        );
        grammar.add(&[Node::Ggsn], pattern, &help, action);
    };
    fn set(edit: &mut GgsnEdit<'_>, place: Place) -> Result<(), CommandError> {
        let address = gtp::unicast(edit.args, 0)?;
        ggsn_here(edit).map(|ggsn| *place(ggsn) = Some(address))
    }
    let control = |edit: &mut GgsnEdit<'_>| set(edit, |ggsn| &mut ggsn.control_ip);
    add("gtp control-ip A.B.C.D", "signalling", Action::Set(control));
    let none = |edit: &mut GgsnEdit<'_>| ggsn_here(edit).map(|ggsn| ggsn.control_ip = None);
    add("no gtp control-ip", "signalling", Action::Set(none));
    let user = |edit: &mut GgsnEdit<'_>| set(edit, |ggsn| &mut ggsn.user_ip);
    add("gtp user-ip A.B.C.D", "G-PDUs", Action::Set(user));
    let none = |edit: &mut GgsnEdit<'_>| ggsn_here(edit).map(|ggsn| ggsn.user_ip = None);
    add("no gtp user-ip", "G-PDUs", Action::Set(none));
}

fn install_apns(grammar: &mut Grammar<Ggsn>) {
    let ggsn = &[Node::Ggsn];
    grammar.add(
        ggsn,
        "apn NAME",
        "An access point\nIts name",
        Action::<Ggsn>::Enter(Node::Apn, |edit| {
            let name = edit.args.text(0).to_owned();
            let apns = &mut ggsn_here(edit)?.apns;
            if !apns.iter().any(|apn| apn.name == name) {
                apns.push(ApnConfig::new(&name));
            }
            Ok(name)
        }),
    );
    grammar.add(
        ggsn,
        "no apn NAME",
        "Take back\nAn access point\nIts name",
        Action::<Ggsn>::Set(|edit| {
            let name = edit.args.text(0).to_owned();
            ggsn_here(edit).map(|ggsn| ggsn.apns.retain(|apn| apn.name != name))
        }),
    );
    grammar.add(
        ggsn,
        "default-apn NAME",
        "The access point of those who ask for an unknown one\nIts name",
        Action::<Ggsn>::Set(|edit| {
            let name = edit.args.text(0).to_owned();
            let ggsn = ggsn_here(edit)?;
            if !ggsn.apns.iter().any(|apn| apn.name == name) {
                return Err(CommandError(format!("there is no apn {name} in ggsn {}.", ggsn.name)));
            }
            ggsn.default_apn = Some(name);
            Ok(())
        }),
    );
    grammar.add(
        ggsn,
        "no default-apn",
        "Take back\nThe access point of those who ask for an unknown one",
        Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.default_apn = None)),
    );
}

/// The bounds of tables, and what becomes of contexts of others.
fn install_limits(grammar: &mut Grammar<Ggsn>) {
    let ggsn = &[Node::Ggsn];
    grammar.add(
        ggsn,
        "max-pdp-contexts <1-1048576>",
        "PDP contexts at most\nHow many, 65536 by default",
        Action::<Ggsn>::Set(|edit| {
            let max = edit.args.value(0)?;
            ggsn_here(edit).map(|ggsn| ggsn.pdp_contexts_max = max)
        }),
    );
    grammar.add(
        ggsn,
        "no max-pdp-contexts",
        "Take back\nPDP contexts at most",
        Action::<Ggsn>::Set(|edit| {
            ggsn_here(edit).map(|ggsn| ggsn.pdp_contexts_max = GgsnInstance::PDP_CONTEXTS_MAX)
        }),
    );
    grammar.add(
        ggsn,
        "store PATH",
        "Where PDP contexts are kept for the time after a restart\nA file of this GGSN's own",
        Action::<Ggsn>::Set(|edit| {
            let path = edit.args.text(0).to_owned();
            ggsn_here(edit).map(|ggsn| ggsn.store = Some(path))
        }),
    );
    grammar.add(
        ggsn,
        "no store",
        "Take back\nWhere PDP contexts are kept for the time after a restart",
        Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.store = None)),
    );
    grammar.add(
        ggsn,
        "sgsn-restart (forget|delete)",
        "Contexts of an SGSN that has restarted\nThey end, the default\nThe SGSN is asked to delete each of them",
        Action::<Ggsn>::Set(|edit| {
            let tells = edit.args.text(0) == "delete";
            ggsn_here(edit).map(|ggsn| ggsn.tells_restarted = tells)
        }),
    );
}

type Parsed = Result<GgsnOperation, CommandError>;

/// The word that stands at an optional place.
fn given(args: &Args, place: usize) -> Option<String> {
    let text = args.text(place);
    (!text.is_empty()).then(|| text.to_owned())
}

/// `show pdp-context …` of a GGSN that the first word names.
fn contexts(args: &Args) -> GgsnOperation {
    let (apn, imsi, nsapi, address) = (None, None, None, None);
    GgsnOperation::ShowPdpContexts { ggsn: given(args, 0), apn, imsi, nsapi, address }
}

fn contexts_of(args: &Args, name: &str) -> Parsed {
    let mut all = contexts(args);
    if let GgsnOperation::ShowPdpContexts { apn, imsi, nsapi, address, .. } = &mut all {
        match name {
            "apn" => *apn = Some(args.text(1).to_owned()),
            "imsi" => {
                *imsi = Some(args.value(1)?);
                *nsapi = given(args, 2).map(|_| args.value(2)).transpose()?.map(Nsapi);
            }
            "ipv4" => *address = Some(IpAddr::V4(args.value(1)?)),
            _ => *address = Some(IpAddr::V6(args.value(1)?)),
        }
    }
    Ok(all)
}

fn install_show(grammar: &mut Grammar<Ggsn>) {
    use GgsnOperation::{
        DeactivatePdp, ShowApn, ShowDrops, ShowGgsn, ShowPdpContexts, ShowQos, ShowRules, ShowSgsns,
        ShowStore, ShowStreams, ShowUserPlane, ShowWhy,
    };
    let mut show = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        let help = format!("Show the state of the node\n{help}");
        grammar.add(OPERATING, pattern, &help, Action::<Ggsn>::Operate(parse));
    };
    show("show ggsn [NAME]", "GGSNs, their access points and SGSNs\nOne of them", |args| {
        Ok(ShowGgsn(given(args, 0)))
    });
    show(
        "show apn [NAME]",
        "Access points, with addresses in use and what has passed\nOne of them",
        |args| Ok(ShowApn(given(args, 0))),
    );
    show("show echo", "SGSNs, and how they answer Echo Requests", |_| Ok(ShowSgsns(None)));
    show("show echo ggsn NAME", "SGSNs, and how they answer Echo Requests\nOf a GGSN\nIts name", |args| {
        Ok(ShowSgsns(given(args, 0)))
    });
    show("show pdp-context all", "PDP contexts\nAll", |_| {
        Ok(ShowPdpContexts { ggsn: None, apn: None, imsi: None, nsapi: None, address: None })
    });
    let pdp = "PDP contexts\nOf a GGSN\nIts name";
    show("show pdp-context ggsn NAME", pdp, |args| Ok(contexts(args)));
    show("show pdp-context ggsn NAME apn APN", &format!("{pdp}\nOf an access point\nIts name"), |args| {
        contexts_of(args, "apn")
    });
    show(
        "show pdp-context ggsn NAME imsi IMSI [<0-15>]",
        &format!("{pdp}\nOf a mobile\nIts IMSI\nOne of its NSAPIs"),
        |args| contexts_of(args, "imsi"),
    );
    show("show pdp-context ggsn NAME ipv4 A.B.C.D", &format!("{pdp}\nBy address\nThe address"), |args| {
        contexts_of(args, "ipv4")
    });
    show(
        "show pdp-context ggsn NAME ipv6 X:X::X:X",
        &format!("{pdp}\nBy an address of its prefix\nThe address"),
        |args| contexts_of(args, "ipv6"),
    );
    show("show user-plane", "What forwards between Gn and Gi, and what it has done", |_| Ok(ShowUserPlane));
    show("show qos [NAME]", "The queues of access points\nOf one of them", |args| {
        Ok(ShowQos(given(args, 0)))
    });
    show("show streams [NAME]", "The streams of access points\nOf one of them", |args| {
        Ok(ShowStreams(given(args, 0)))
    });
    show("show rules", "The rules for streams in force", |_| Ok(ShowRules));
    show("show store", "What is kept for the time after a restart, and how far behind", |_| Ok(ShowStore));
    show("show drops", "What was dropped or refused, by name", |_| Ok(ShowDrops));
    let why = "The last rejects and drops of a mobile, with their clauses\nBy IMSI\nThe IMSI";
    show("show why imsi IMSI", why, |args| args.value(0).map(ShowWhy));
    grammar.add(
        &[Node::Enable],
        "pdp-context deactivate imsi IMSI nsapi <5-15>",
        "A PDP context\nDelete it, from the GGSN's side\nBy IMSI\nThe IMSI\nBy NSAPI\nThe NSAPI",
        Action::<Ggsn>::Operate(|args| {
            Ok(DeactivatePdp { imsi: args.value(0)?, nsapi: Nsapi(args.value(1)?) })
        }),
    );
    // As osmo-ggsn has it: the SGSNs of the GGSN whose node this is.
    let sgsns = Action::<Ggsn>::Operate(|_| Ok(ShowSgsns(None)));
    grammar.add(&[Node::Ggsn], "show sgsn", "Show the state of the node\nSGSNs", sgsns);
}

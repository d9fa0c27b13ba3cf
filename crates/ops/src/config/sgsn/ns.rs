//! The commands below `ns`: timers, binds, static NSEs.

use super::super::ns::{DEFAULT_WEIGHTS, NsBind, NsNse, NsNsvc};
use super::SgsnConfig;
use crate::Sgsn;
use crate::grammar::{Action, CommandError, Edit, Grammar, Node};
use core::net::{IpAddr, SocketAddr};
use gannet_wire::id::{Nsei, Nsvci};

const NO_FR: &str = "NS over Frame Relay is not implemented; say 'bind udp ID'.";
const NO_REMOTE: &str = "in IP-SNS it is the BSS that begins, so an SGSN is not told where it is.";
const DIALECTS: &str = "an NSE has either NS-VCs ('nsvc') or IP-SNS ('ip-sns-bind'), from which they follow.";

/// The commands below `ns`.
pub(super) fn install(grammar: &mut Grammar<Sgsn>) {
    let enter = Action::<Sgsn>::Enter(Node::Ns, |_| Ok(String::new()));
    grammar.add(&[Node::Config], "ns", "The network service", enter);
    install_timers(grammar);
    grammar.add(
        &[Node::Ns],
        "bind udp ID",
        "A socket\nUDP\nIts name",
        Action::<Sgsn>::Enter(Node::NsBind, enter_bind),
    );
    let fr = "A socket\nFrame Relay: not here\nIts name";
    grammar.add(&[Node::Ns], "bind fr ID", fr, Action::<Sgsn>::Refuse(NO_FR));
    grammar.add(
        &[Node::Ns],
        "no bind ID",
        "Take back\nA socket\nIts name",
        Action::<Sgsn>::Set(|edit| {
            let name = edit.args.text(0);
            edit.config.ns.binds.retain(|bind| bind.name != name);
            Ok(())
        }),
    );
    install_sns_default(grammar);
    grammar.add(
        &[Node::Ns],
        "nse <0-65535> [ip-sns-role-sgsn]",
        "An NSE known beforehand\nIts NSEI\nIn IP-SNS this is the SGSN, as always here",
        Action::<Sgsn>::Enter(Node::NsNse, enter_nse),
    );
    grammar.add(
        &[Node::Ns],
        "no nse <0-65535>",
        "Take back\nAn NSE known beforehand\nIts NSEI",
        Action::<Sgsn>::Set(|edit| {
            let nsei = Nsei(edit.args.value(0)?);
            edit.config.ns.nses.retain(|nse| nse.nsei != nsei);
            Ok(())
        }),
    );
    install_bind(grammar);
    install_nse(grammar);
}

fn install_sns_default(grammar: &mut Grammar<Sgsn>) {
    let help = "Which socket an NSE gets that makes itself known by IP-SNS; where none is named, each with \
                'accept-dynamic-ip-sns'\nA socket\nIts name";
    let set = Action::<Sgsn>::Set(|edit| {
        let name = edit.args.text(0);
        let default = &mut edit.config.ns.ip_sns_default;
        if !default.iter().any(|bind| bind == name) {
            default.push(name.to_owned());
        }
        Ok(())
    });
    grammar.add(&[Node::Ns], "ip-sns-default bind ID", help, set);
    let unset = Action::<Sgsn>::Set(|edit| {
        let name = edit.args.text(0);
        edit.config.ns.ip_sns_default.retain(|bind| bind != name);
        Ok(())
    });
    grammar.add(&[Node::Ns], "no ip-sns-default bind ID", &format!("Take back\n{help}"), unset);
}

fn install_timers(grammar: &mut Grammar<Sgsn>) {
    grammar.add(
        &[Node::Ns],
        "timer (tns-block|tns-block-retries|tns-reset|tns-reset-retries|tns-test|tns-alive|tns-alive-retries|tsns-prov|tsns-size-retries|tsns-config-retries|tsns-procedures-retries) <0-65535>",
        "A timer, in seconds, or how often it may expire\nAnswer to BLOCK and UNBLOCK\nTries of it\nAnswer to RESET\nTries of it\nBetween two tests\nAnswer to ALIVE\nTries of it\nAnswer in IP-SNS\nTries of SNS-SIZE\nTries of SNS-CONFIG\nTries of SNS-ADD, SNS-DELETE and SNS-CHANGEWEIGHT\nSeconds or tries",
        Action::<Sgsn>::Set(|edit| {
            let new = edit.args.value(1)?;
            let mut slots = edit.config.ns.timers.slots();
            if let Some((_, slot)) = slots.iter_mut().find(|(word, _)| *word == edit.args.text(0)) {
                **slot = new;
            }
            Ok(())
        }),
    );
}

type Entered = Result<String, CommandError>;

fn enter_bind(edit: &mut Edit<'_, SgsnConfig>) -> Entered {
    let name = edit.args.text(0).to_owned();
    let binds = &mut edit.config.ns.binds;
    if !binds.iter().any(|bind| bind.name == name) {
        binds.push(NsBind { name: name.clone(), ip_sns_weights: DEFAULT_WEIGHTS, ..NsBind::default() });
    }
    Ok(name)
}

fn enter_nse(edit: &mut Edit<'_, SgsnConfig>) -> Entered {
    let nsei = Nsei(edit.args.value(0)?);
    let ip_sns_role_sgsn = edit.args.get(1).is_some();
    let nses = &mut edit.config.ns.nses;
    match nses.iter_mut().find(|nse| nse.nsei == nsei) {
        Some(nse) => nse.ip_sns_role_sgsn |= ip_sns_role_sgsn,
        None => {
            let (nsvcs, ip_sns_binds) = (Vec::new(), Vec::new());
            nses.push(NsNse { nsei, nsvcs, ip_sns_binds, ip_sns_role_sgsn });
            nses.sort_by_key(|nse| nse.nsei);
        }
    }
    Ok(nsei.to_string())
}

fn bind_here<'e>(edit: &'e mut Edit<'_, SgsnConfig>) -> Result<&'e mut NsBind, CommandError> {
    let name = edit.here().to_owned();
    let bind = edit.config.ns.binds.iter_mut().find(|bind| bind.name == name);
    bind.ok_or_else(|| CommandError(format!("bind {name} is gone.")))
}

fn install_bind(grammar: &mut Grammar<Sgsn>) {
    let bind = &[Node::NsBind];
    grammar.add(
        bind,
        "listen (A.B.C.D|X:X::X:X) <1-65535>",
        "Where the socket is bound\nIPv4 address\nIPv6 address\nUDP port",
        Action::<Sgsn>::Set(|edit| {
            let address: IpAddr = edit.args.value(0)?;
            let listen = SocketAddr::new(address, edit.args.value(1)?);
            bind_here(edit)?.listen = Some(listen);
            Ok(())
        }),
    );
    grammar.add(
        bind,
        "no listen",
        "Take back\nWhere the socket is bound",
        Action::<Sgsn>::Set(|edit| bind_here(edit).map(|bind| bind.listen = None)),
    );
    let accept = "A BSS that is not configured may make itself known by NS-RESET";
    let set = Action::<Sgsn>::Set(|edit| bind_here(edit).map(|bind| bind.accept_ipaccess = true));
    grammar.add(bind, "accept-ipaccess", accept, set);
    let unset = Action::<Sgsn>::Set(|edit| bind_here(edit).map(|bind| bind.accept_ipaccess = false));
    grammar.add(bind, "no accept-ipaccess", &format!("Take back\n{accept}"), unset);
    let accept = "A BSS that is not configured may make itself known by IP-SNS";
    let set = Action::<Sgsn>::Set(|edit| bind_here(edit).map(|bind| bind.accept_ip_sns = true));
    grammar.add(bind, "accept-dynamic-ip-sns", accept, set);
    let unset = Action::<Sgsn>::Set(|edit| bind_here(edit).map(|bind| bind.accept_ip_sns = false));
    grammar.add(bind, "no accept-dynamic-ip-sns", &format!("Take back\n{accept}"), unset);
    grammar.add(
        bind,
        "ip-sns signalling-weight <0-254> data-weight <0-254>",
        "What IP-SNS tells of the socket\nIts share of signalling\nThe weight\nIts share of data\nThe weight",
        Action::<Sgsn>::Set(|edit| {
            let weights = (edit.args.value(0)?, edit.args.value(1)?);
            bind_here(edit).map(|bind| bind.ip_sns_weights = weights)
        }),
    );
    let marking = Action::<Sgsn>::Ignore("outgoing datagrams are not marked.");
    grammar.add(bind, "dscp <0-63>", "DSCP of outgoing datagrams\nThe value", marking);
    let nothing = Action::<Sgsn>::Set(|_| Ok(()));
    grammar.add(bind, "no dscp", "Take back\nDSCP of outgoing datagrams", nothing);
    grammar.add(bind, "no fr NETIF", "Take back\nFrame Relay: not here\nDevice", nothing);
    grammar.add(bind, "socket-priority <0-255>", "Priority of outgoing datagrams\nThe value", marking);
    let fr = "Frame Relay: not here\nDevice\nKind\nKind";
    grammar.add(bind, "fr NETIF (fr|frnet)", fr, Action::<Sgsn>::Refuse(NO_FR));
}

fn add_nsvc(
    edit: &mut Edit<'_, SgsnConfig>,
    nsvci: Option<Nsvci>,
    weights: (u8, u8),
) -> Result<(), CommandError> {
    let address: IpAddr = edit.args.value(1)?;
    let nsvc = NsNsvc {
        bind: edit.args.text(0).to_owned(),
        remote: SocketAddr::new(address, edit.args.value(2)?),
        nsvci,
        signalling_weight: weights.0,
        data_weight: weights.1,
    };
    let nse = nse_here(edit)?;
    if !nse.ip_sns_binds.is_empty() {
        return Err(CommandError::new(DIALECTS));
    }
    let nsvcs = &mut nse.nsvcs;
    if nsvcs.iter().any(|other| other.nsvci.is_some() && other.nsvci == nsvc.nsvci) {
        return Err(CommandError::new("this NSVCI is there already."));
    }
    nsvcs.retain(|other| (&other.bind, other.remote, other.nsvci) != (&nsvc.bind, nsvc.remote, nsvc.nsvci));
    nsvcs.push(nsvc);
    Ok(())
}

/// `no nsvc (udp|ipa) …`: the one at that endpoint, of that kind.
fn remove_nsvc(edit: &mut Edit<'_, SgsnConfig>) -> Result<(), CommandError> {
    let (bind, address): (String, IpAddr) = (edit.args.text(0).to_owned(), edit.args.value(1)?);
    let remote = SocketAddr::new(address, edit.args.value(2)?);
    let nsvci = edit.args.optional(3)?.map(Nsvci);
    let nsvcs = &mut nse_here(edit)?.nsvcs;
    let before = nsvcs.len();
    nsvcs.retain(|nsvc| (&nsvc.bind, nsvc.remote, nsvc.nsvci) != (&bind, remote, nsvci));
    if nsvcs.len() == before { Err(CommandError::new("There is no such NS-VC.")) } else { Ok(()) }
}

fn nse_here<'e>(edit: &'e mut Edit<'_, SgsnConfig>) -> Result<&'e mut NsNse, CommandError> {
    let name = edit.here().to_owned();
    let nse = edit.config.ns.nses.iter_mut().find(|nse| nse.nsei.to_string() == name);
    nse.ok_or_else(|| CommandError(format!("nse {name} is gone.")))
}

fn install_nse(grammar: &mut Grammar<Sgsn>) {
    let nse = &[Node::NsNse];
    let udp = "An NS-VC\nAn IP endpoint, without reset and block\nThe bind's name\nIPv4 address\nIPv6 address\nUDP port";
    grammar.add(
        nse,
        "nsvc udp BIND (A.B.C.D|X:X::X:X) <1-65535>",
        udp,
        Action::<Sgsn>::Set(|edit| add_nsvc(edit, None, (1, 1))),
    );
    grammar.add(
        nse,
        "nsvc udp BIND (A.B.C.D|X:X::X:X) <1-65535> signalling-weight <0-254> data-weight <0-254>",
        &format!("{udp}\nIts share of signalling\nThe weight\nIts share of data\nThe weight"),
        Action::<Sgsn>::Set(|edit| {
            let weights = (edit.args.value(3)?, edit.args.value(4)?);
            add_nsvc(edit, None, weights)
        }),
    );
    grammar.add(
        nse,
        "nsvc ipa BIND (A.B.C.D|X:X::X:X) <1-65535> nsvci <0-65535>",
        "An NS-VC\nIn ip.access style, with reset and block\nThe bind's name\nIPv4 address\nIPv6 address\nUDP port\nIts identifier\nThe NSVCI",
        Action::<Sgsn>::Set(|edit| {
            let nsvci = Nsvci(edit.args.value(3)?);
            add_nsvc(edit, Some(nsvci), (1, 1))
        }),
    );
    grammar.add(
        nse,
        "no nsvc nsvci <0-65535>",
        "Take back\nAn NS-VC\nBy its identifier\nThe NSVCI",
        Action::<Sgsn>::Set(|edit| {
            let nsvci = Nsvci(edit.args.value(0)?);
            nse_here(edit)?.nsvcs.retain(|nsvc| nsvc.nsvci != Some(nsvci));
            Ok(())
        }),
    );
    for (pattern, kind, tail) in [
        ("no nsvc udp BIND (A.B.C.D|X:X::X:X) <1-65535>", "An IP endpoint", ""),
        (
            "no nsvc ipa BIND (A.B.C.D|X:X::X:X) <1-65535> nsvci <0-65535>",
            "In ip.access style",
            "\nIts identifier\nThe NSVCI",
        ),
    ] {
        let help = format!(
            "Take back\nAn NS-VC\n{kind}\nThe bind's name\nIPv4 address\nIPv6 address\nUDP port{tail}"
        );
        grammar.add(nse, pattern, &help, Action::<Sgsn>::Set(remove_nsvc));
    }
    let fr = "Take back\nAn NS-VC\nFrame Relay: not here\nDevice\nDLCI\nNumber";
    grammar.add(nse, "no nsvc fr NETIF dlci <16-1007>", fr, Action::<Sgsn>::Set(|_| Ok(())));
    let fr = "An NS-VC\nFrame Relay: not here\nDevice\nDLCI\nNumber\nIts identifier\nThe NSVCI";
    grammar.add(nse, "nsvc fr NETIF dlci <16-1007> nsvci <0-65535>", fr, Action::<Sgsn>::Refuse(NO_FR));
    install_nse_sns(grammar);
}

fn install_nse_sns(grammar: &mut Grammar<Sgsn>) {
    let nse = &[Node::NsNse];
    let remote = "Where IP-SNS begins: the BSS knows\nIPv4 address\nIPv6 address\nUDP port";
    let ignore = Action::<Sgsn>::Ignore(NO_REMOTE);
    grammar.add(nse, "ip-sns-remote (A.B.C.D|X:X::X:X) <1-65535>", remote, ignore);
    let help = format!("Take back\n{remote}");
    let nothing = Action::<Sgsn>::Set(|_| Ok(()));
    grammar.add(nse, "no ip-sns-remote (A.B.C.D|X:X::X:X) <1-65535>", &help, nothing);
    let help = "A socket that the NSE gets by IP-SNS\nThe bind's name";
    let set = Action::<Sgsn>::Set(|edit| {
        let name = edit.args.text(0).to_owned();
        let nse = nse_here(edit)?;
        if !nse.nsvcs.is_empty() {
            return Err(CommandError::new(DIALECTS));
        }
        if !nse.ip_sns_binds.contains(&name) {
            nse.ip_sns_binds.push(name);
        }
        Ok(())
    });
    grammar.add(nse, "ip-sns-bind BINDID", help, set);
    let unset = Action::<Sgsn>::Set(|edit| {
        let name = edit.args.text(0).to_owned();
        nse_here(edit).map(|nse| nse.ip_sns_binds.retain(|bind| *bind != name))
    });
    grammar.add(nse, "no ip-sns-bind BINDID", &format!("Take back\n{help}"), unset);
}

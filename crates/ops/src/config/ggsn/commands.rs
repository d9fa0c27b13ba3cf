//! The commands of the GGSN, and how its configuration is written.

use super::{
    ApnConfig, GgsnConfig, GgsnInstance, GgsnOperation, Ipv6Prefix, Prefix, StaticMobile, UserPlane,
};
use crate::Ggsn;
use crate::config::ConfigText;
use crate::config::gtp::{self, Gn, HasGn};
use crate::grammar::common::OPERATING;
use crate::grammar::{Action, Args, CommandError, Edit, Grammar, Node, ipv4_prefix};
use core::fmt::Display;
use gannet_wire::id::Nsapi;

type Done = Result<(), CommandError>;
type GgsnEdit<'a> = Edit<'a, GgsnConfig>;

/// Writes one `ggsn NAME` node.
pub(super) fn write(ggsn: &GgsnInstance, text: &mut ConfigText) {
    text.node(format_args!("ggsn {}", ggsn.name), |text| {
        if let Some(description) = &ggsn.description {
            text.line(format_args!("description {description}"));
        }
        if let Some(directory) = &ggsn.gtp_state_dir {
            text.line(format_args!("gtp state-dir {directory}"));
        }
        if let Some(address) = ggsn.gtp_bind_ip {
            text.line(format_args!("gtp bind-ip {address}"));
        }
        ggsn.gn.write("gtp bind-ipv6", text);
        if ggsn.user_plane != UserPlane::default() {
            text.line(format_args!("user-plane {}", ggsn.user_plane));
        }
        for apn in &ggsn.apns {
            write_apn(apn, text);
        }
        if let Some(default) = &ggsn.default_apn {
            text.line(format_args!("default-apn {default}"));
        }
        match ggsn.echo_interval_s {
            Some(seconds) => text.line(format_args!("echo-interval {seconds}")),
            None => text.line(format_args!("no echo-interval")),
        }
        text.line(format_args!("{}shutdown ggsn", if ggsn.running { "no " } else { "" }));
    });
}

fn write_apn(apn: &ApnConfig, text: &mut ConfigText) {
    text.node(format_args!("apn {}", apn.name), |text| {
        if let Some(description) = &apn.description {
            text.line(format_args!("description {description}"));
        }
        text.line(format_args!("gtpu-mode tun"));
        if let Some(device) = &apn.tun_device {
            text.line(format_args!("tun-device {device}"));
        }
        if let Some(device) = &apn.gi_interface {
            text.line(format_args!("gi-interface {device}"));
        }
        text.line(format_args!("type-support {}", if apn.has_ipv6 { "v4v6" } else { "v4" }));
        if let Some(prefix) = apn.prefix {
            text.line(format_args!("ip prefix dynamic {prefix}"));
        }
        for StaticMobile { address, imsi, sgsn } in &apn.static_mobiles {
            text.line(format_args!("ip static {address} imsi {imsi} sgsn {sgsn}"));
        }
        for (number, address) in apn.dns.iter().enumerate() {
            if let Some(address) = address {
                text.line(format_args!("ip dns {number} {address}"));
            }
        }
        if let Some(prefix) = apn.ifconfig {
            text.line(format_args!("ip ifconfig {prefix}"));
        }
        if let Some(prefix) = apn.ipv6_prefix {
            text.line(format_args!("ipv6 prefix dynamic {prefix}"));
        }
        if let Some(prefix) = apn.ipv6_ifconfig {
            text.line(format_args!("ipv6 ifconfig {prefix}"));
        }
        if !apn.g_pdu_sequence_numbers {
            text.line(format_args!("no g-pdu tx-sequence-numbers"));
        }
        text.line(format_args!("{}shutdown", if apn.running { "no " } else { "" }));
    });
}

fn ggsn_here<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut GgsnInstance, CommandError> {
    let name = edit.path.first().cloned().unwrap_or_default();
    let ggsn = edit.config.ggsns.iter_mut().find(|ggsn| ggsn.name == name);
    ggsn.ok_or_else(|| CommandError(format!("ggsn {name} is gone.")))
}

impl HasGn for GgsnConfig {
    fn gn<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut Gn, CommandError> {
        ggsn_here(edit).map(|ggsn| &mut ggsn.gn)
    }
}

fn apn_here<'e>(edit: &'e mut GgsnEdit<'_>) -> Result<&'e mut ApnConfig, CommandError> {
    let name = edit.here().to_owned();
    let apn = ggsn_here(edit)?.apns.iter_mut().find(|apn| apn.name == name);
    apn.ok_or_else(|| CommandError(format!("apn {name} is gone.")))
}

/// An access point has one of each, so that another one takes its place.
fn tell_of<T: Display>(edit: &mut GgsnEdit<'_>, what: &str, former: Option<T>, own: T) {
    if let Some(former) = former {
        let apn = edit.here().to_owned();
        edit.warn(format!("apn {apn} has one {what}: {own} takes the place of {former}"));
    }
}

fn prefix(edit: &GgsnEdit<'_>, place: usize) -> Result<Prefix, CommandError> {
    let (address, length) =
        ipv4_prefix(edit.args.text(place)).ok_or_else(|| CommandError::new("no prefix."))?;
    Ok(Prefix { address, length })
}

/// All commands.
pub(super) fn install(grammar: &mut Grammar<Ggsn>) {
    install_instances(grammar);
    install_gtp(grammar);
    install_apns(grammar);
    install_device(grammar);
    install_user_plane(grammar);
    install_ipv6(grammar);
    install_addresses(grammar);
    install_static(grammar);
    install_osmocom(grammar);
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
    let one = "control and user plane have one address: say 'gtp bind-ip A.B.C.D'.";
    grammar.add(
        ggsn,
        "gtp control-ip A.B.C.D",
        "GTP\nAn address of its own: not here\nThe address",
        Action::<Ggsn>::Refuse(one),
    );
    grammar.add(
        ggsn,
        "gtp user-ip A.B.C.D",
        "GTP\nAn address of its own: not here\nThe address",
        Action::<Ggsn>::Refuse(one),
    );
    grammar.add(
        ggsn,
        "echo-interval <1-36000>",
        "Between two Echo Requests\nSeconds",
        Action::<Ggsn>::Set(|edit| {
            let seconds = edit.args.value(0)?;
            ggsn_here(edit).map(|ggsn| ggsn.echo_interval_s = Some(seconds))
        }),
    );
    let none = Action::<Ggsn>::Set(|edit| ggsn_here(edit).map(|ggsn| ggsn.echo_interval_s = None));
    grammar.add(ggsn, "no echo-interval", "Take back\nEcho Requests", none);
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

fn set(grammar: &mut Grammar<Ggsn>, pattern: &'static str, help: &str, set: fn(&mut GgsnEdit<'_>) -> Done) {
    grammar.add(&[Node::Apn], pattern, help, Action::<Ggsn>::Set(set));
}

fn install_device(grammar: &mut Grammar<Ggsn>) {
    set(grammar, "description .TEXT", "What you say about it\nThe text", |edit| {
        let text = edit.args.text(0).to_owned();
        apn_here(edit).map(|apn| apn.description = Some(text))
    });
    set(grammar, "no description", "Take back\nWhat you say about it", |edit| {
        apn_here(edit).map(|apn| apn.description = None)
    });
    set(grammar, "no shutdown", "Take back\nServe nobody", |edit| {
        apn_here(edit).map(|apn| apn.running = true)
    });
    set(grammar, "shutdown", "Serve nobody", |edit| apn_here(edit).map(|apn| apn.running = false));
    let mode = "How N-PDUs leave\nBy a TUN device\nBy the kernel: not here";
    set(grammar, "gtpu-mode (tun|kernel-gtp)", mode, |edit| match edit.args.text(0) {
        "tun" => Ok(()),
        _ => Err(CommandError::new("gtpu-mode kernel-gtp is not implemented; only 'tun' is.")),
    });
    set(grammar, "tun-device NAME", "The TUN device\nIts name", |edit| {
        let name = edit.args.text(0).to_owned();
        if name.len() > 15 || name.contains('/') {
            return Err(CommandError::new("a device's name has up to 15 letters and no '/'."));
        }
        let apn = apn_here(edit)?;
        let former = apn.tun_device.replace(name.clone()).filter(|former| *former != name);
        tell_of(edit, "device", former, name);
        Ok(())
    });
    let types = "PDP types\nIPv4\nIPv6 alone: not here\nIPv4, IPv6 and both";
    set(grammar, "type-support (v4|v6|v4v6)", types, |edit| match edit.args.text(0) {
        "v4" => apn_here(edit).map(|apn| apn.has_ipv6 = false),
        "v4v6" => apn_here(edit).map(|apn| apn.has_ipv6 = true),
        other => {
            Err(CommandError(format!("type-support {other} is not implemented; only 'v4' and 'v4v6' are.")))
        }
    });
    let types = "Take back\nPDP types\nIPv6\nBoth";
    set(grammar, "no type-support (v6|v4v6)", types, |edit| apn_here(edit).map(|apn| apn.has_ipv6 = false));
    let numbers = "G-PDUs\nTheir sequence numbers";
    set(grammar, "g-pdu tx-sequence-numbers", numbers, |edit| {
        apn_here(edit).map(|apn| apn.g_pdu_sequence_numbers = true)
    });
    set(grammar, "no g-pdu tx-sequence-numbers", &format!("Take back\n{numbers}"), |edit| {
        apn_here(edit).map(|apn| apn.g_pdu_sequence_numbers = false)
    });
}

fn install_addresses(grammar: &mut Grammar<Ggsn>) {
    let help = "IPv4\nAddresses of mobiles\nOne for each IMSI: not here\nFrom a pool\nThe pool";
    set(grammar, "ip prefix (static|dynamic) A.B.C.D/M", help, |edit| {
        if edit.args.text(0) == "static" {
            return Err(CommandError::new(
                "static addresses are not implemented; only 'ip prefix dynamic' is.",
            ));
        }
        let prefix = prefix(edit, 1)?;
        if prefix.length > 30 {
            return Err(CommandError(format!("the pool {prefix} has no address for a mobile.")));
        }
        let apn = apn_here(edit)?;
        let former = apn.prefix.replace(prefix).filter(|former| *former != prefix);
        tell_of(edit, "pool", former, prefix);
        Ok(())
    });
    set(
        grammar,
        "ip dns <0-1> A.B.C.D",
        "IPv4\nA DNS server for mobiles\nFirst or second\nIts address",
        |edit| {
            let (place, address): (usize, _) = (edit.args.value(0)?, edit.args.value(1)?);
            let apn = apn_here(edit)?;
            if let Some(slot) = apn.dns.get_mut(place) {
                *slot = Some(address);
            }
            Ok(())
        },
    );
    set(grammar, "no ip dns <0-1>", "Take back\nIPv4\nA DNS server for mobiles\nFirst or second", |edit| {
        let place: usize = edit.args.value(0)?;
        if let Some(slot) = apn_here(edit)?.dns.get_mut(place) {
            *slot = None;
        }
        Ok(())
    });
    set(
        grammar,
        "ip ifconfig A.B.C.D/M",
        "IPv4\nThe address of the device\nWith the length of its network",
        |edit| {
            let prefix = prefix(edit, 0)?;
            apn_here(edit).map(|apn| apn.ifconfig = Some(prefix))
        },
    );
    set(grammar, "no ip ifconfig", "Take back\nIPv4\nThe address of the device", |edit| {
        apn_here(edit).map(|apn| apn.ifconfig = None)
    });
}

fn install_user_plane(grammar: &mut Grammar<Ggsn>) {
    let help = "What forwards between Gn and Gi\nThe driver where an access point has a Gi interface and the machine permits it, else \
                TUN devices\nTUN devices alone\nThe driver, for access points with a Gi interface";
    grammar.add(
        &[Node::Ggsn],
        "user-plane (auto|tun|xdp)",
        help,
        Action::<Ggsn>::Set(|edit| {
            let back_end = edit.args.value(0)?;
            ggsn_here(edit).map(|ggsn| ggsn.user_plane = back_end)
        }),
    );
    let help = "The network interface by which the driver forwards to and from the network\nIts name";
    set(grammar, "gi-interface NAME", help, |edit| {
        let name = edit.args.text(0).to_owned();
        let apn = apn_here(edit)?;
        let former = apn.gi_interface.replace(name.clone()).filter(|former| *former != name);
        tell_of(edit, "Gi interface", former, name);
        Ok(())
    });
    let help = "Take back\nThe network interface by which the driver forwards to and from the network";
    set(grammar, "no gi-interface", help, |edit| apn_here(edit).map(|apn| apn.gi_interface = None));
}

fn install_static(grammar: &mut Grammar<Ggsn>) {
    let own = "IPv4\nAn address of a subscriber's own\nThe address";
    let help = format!(
        "{own}\nWho has it\nThe IMSI\nWho is asked for him where something comes for it and it has no context\nThe SGSN's address"
    );
    set(grammar, "ip static A.B.C.D imsi IMSI sgsn A.B.C.D", &help, |edit| {
        let (address, imsi, sgsn) = (edit.args.value(0)?, edit.args.value(1)?, edit.args.value(2)?);
        let mobiles = &mut apn_here(edit)?.static_mobiles;
        mobiles.retain(|mobile| mobile.address != address);
        mobiles.push(StaticMobile { address, imsi, sgsn });
        mobiles.sort_by_key(|mobile| mobile.address);
        Ok(())
    });
    set(grammar, "no ip static A.B.C.D", &format!("Take back\n{own}"), |edit| {
        let address: core::net::Ipv4Addr = edit.args.value(0)?;
        apn_here(edit).map(|apn| apn.static_mobiles.retain(|mobile| mobile.address != address))
    });
}

fn install_ipv6(grammar: &mut Grammar<Ggsn>) {
    let help = "IPv6\nPrefixes of mobiles\nOne for each IMSI: not here\nFrom a pool\nThe pool, X:X::X:X/M";
    set(grammar, "ipv6 prefix (static|dynamic) PREFIX", help, |edit| {
        if edit.args.text(0) == "static" {
            return Err(CommandError::new(
                "static addresses are not implemented; only 'ipv6 prefix dynamic' is.",
            ));
        }
        let prefix: Ipv6Prefix = edit.args.value(1)?;
        let apn = apn_here(edit)?;
        let former = apn.ipv6_prefix.replace(prefix).filter(|former| *former != prefix);
        tell_of(edit, "pool of IPv6", former, prefix);
        Ok(())
    });
    let help = "IPv6\nThe address of the device\nWith the length of its network, X:X::X:X/M";
    set(grammar, "ipv6 ifconfig PREFIX", help, |edit| {
        let prefix = edit.args.value(0)?;
        apn_here(edit).map(|apn| apn.ipv6_ifconfig = Some(prefix))
    });
}

/// Commands of osmo-ggsn whose subject is not here.
fn install_osmocom(grammar: &mut Grammar<Ggsn>) {
    let apn = &[Node::Apn];
    let v6 =
        Action::<Ggsn>::Refuse("of IPv6 only 'ipv6 prefix dynamic' and 'ipv6 ifconfig' are implemented.");
    grammar.add(
        apn,
        "ipv6 dns <0-1> X:X::X:X",
        "IPv6\nA DNS server: not here\nFirst or second\nIts address",
        v6,
    );
    grammar.add(
        apn,
        "ipv6 link-local PREFIX",
        "IPv6\nThe link-local address of the device: not here\nWith its length",
        v6,
    );
    let script = Action::<Ggsn>::Refuse("scripts are not run; configure the device outside.");
    grammar.add(apn, "ipup-script PATH", "A script when the device comes up: not here\nIts path", script);
    grammar.add(apn, "ipdown-script PATH", "A script when the device goes down: not here\nIts path", script);
}

type Parsed = Result<GgsnOperation, CommandError>;

fn install_show(grammar: &mut Grammar<Ggsn>) {
    use GgsnOperation::{DeactivatePdp, ShowDrops, ShowGgsn, ShowPdpContexts, ShowUserPlane, ShowWhy};
    let mut show = |pattern: &'static str, help: &str, parse: fn(&Args) -> Parsed| {
        let help = format!("Show the state of the node\n{help}");
        grammar.add(OPERATING, pattern, &help, Action::<Ggsn>::Operate(parse));
    };
    show("show ggsn [NAME]", "GGSNs, their access points and pools\nOne of them", |_| Ok(ShowGgsn));
    show("show user-plane", "What forwards between Gn and Gi, and what it has done", |_| Ok(ShowUserPlane));
    let all = |_: &Args| Ok(ShowPdpContexts { apn: None, imsi: None, address: None });
    show("show pdp-context all", "PDP contexts\nAll", all);
    let pdp = "PDP contexts\nOf a GGSN\nIts name";
    show("show pdp-context ggsn NAME", pdp, all);
    show("show pdp-context ggsn NAME apn APN", &format!("{pdp}\nOf an access point\nIts name"), |args| {
        Ok(ShowPdpContexts { apn: Some(args.text(1).to_owned()), imsi: None, address: None })
    });
    show("show pdp-context ggsn NAME imsi IMSI", &format!("{pdp}\nOf a mobile\nIts IMSI"), |args| {
        Ok(ShowPdpContexts { apn: None, imsi: Some(args.value(1)?), address: None })
    });
    show("show pdp-context ggsn NAME ipv4 A.B.C.D", &format!("{pdp}\nBy address\nThe address"), |args| {
        Ok(ShowPdpContexts { apn: None, imsi: None, address: Some(args.value(1)?) })
    });
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
}

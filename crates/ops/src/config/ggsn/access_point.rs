//! The commands of an access point: its device, its types, and what becomes of traffic.

use super::edit::{apn_here, set, tell_of};
use super::{ClientToClient, MssClamp, Pap, Types};
use crate::Ggsn;
use crate::grammar::{CommandError, Grammar};

/// All of them.
pub(super) fn install(grammar: &mut Grammar<Ggsn>) {
    install_device(grammar);
    install_scripts(grammar);
    install_types(grammar);
    install_mtu(grammar);
    install_traffic(grammar);
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
    let mode = "How N-PDUs leave\nBy a TUN device\nThe same here: one path serves both";
    set(grammar, "gtpu-mode (tun|kernel-gtp)", mode, |edit| {
        let asks = edit.args.text(0) == "kernel-gtp";
        apn_here(edit).map(|apn| apn.asks_kernel_gtp = asks)
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
    let numbers = "G-PDUs\nTheir sequence numbers";
    set(grammar, "g-pdu tx-sequence-numbers", numbers, |edit| {
        apn_here(edit).map(|apn| apn.g_pdu_sequence_numbers = true)
    });
    set(grammar, "no g-pdu tx-sequence-numbers", &format!("Take back\n{numbers}"), |edit| {
        apn_here(edit).map(|apn| apn.g_pdu_sequence_numbers = false)
    });
}

/// Both get the device, its IPv4 address and its netmask, as of osmo-ggsn.
fn install_scripts(grammar: &mut Grammar<Ggsn>) {
    let up = "A program that is run when the device is up, with device, address and netmask";
    set(grammar, "ipup-script PATH", &format!("{up}\nIts path"), |edit| {
        let path = edit.args.text(0).to_owned();
        apn_here(edit).map(|apn| apn.scripts.up = Some(path))
    });
    set(grammar, "no ipup-script", &format!("Take back\n{up}"), |edit| {
        apn_here(edit).map(|apn| apn.scripts.up = None)
    });
    let down = "A program that is run when the device goes, with device, address and netmask";
    set(grammar, "ipdown-script PATH", &format!("{down}\nIts path"), |edit| {
        let path = edit.args.text(0).to_owned();
        apn_here(edit).map(|apn| apn.scripts.down = Some(path))
    });
    set(grammar, "no ipdown-script", &format!("Take back\n{down}"), |edit| {
        apn_here(edit).map(|apn| apn.scripts.down = None)
    });
}

fn install_types(grammar: &mut Grammar<Ggsn>) {
    fn type_of<'t>(types: &'t mut Types, word: &str) -> &'t mut bool {
        match word {
            "v4" => &mut types.v4,
            "v6" => &mut types.v6,
            _ => &mut types.v4v6,
        }
    }
    let types =
        "PDP types; several lines add up; without one IPv4\nIPv4\nIPv6\nBoth in one context, and each alone";
    set(grammar, "type-support (v4|v6|v4v6)", types, |edit| {
        let word = edit.args.text(0).to_owned();
        apn_here(edit).map(|apn| *type_of(&mut apn.types, &word) = true)
    });
    set(grammar, "no type-support (v4|v6|v4v6)", &format!("Take back\n{types}"), |edit| {
        let word = edit.args.text(0).to_owned();
        apn_here(edit).map(|apn| *type_of(&mut apn.types, &word) = false)
    });
}

fn install_mtu(grammar: &mut Grammar<Ggsn>) {
    let mtu = "The longest packet that mobiles are told";
    let help = format!("{mtu}\nOctets; 0 tells none\n1420 octets\nAlso the MTU of the device");
    set(grammar, "mtu (<0-9000>|default) [apply]", &help, |edit| {
        let octets = match edit.args.text(0) {
            "default" => None,
            _ => Some(edit.args.value::<u16>(0)?),
        };
        if octets.is_some_and(|octets| octets != 0 && octets < 68) {
            return Err(CommandError::new("a link has an MTU of 68 octets at least (RFC 791)."));
        }
        let applies = edit.args.text(1) == "apply";
        let apn = apn_here(edit)?;
        (apn.mtu, apn.applies_mtu) = (octets, applies && octets != Some(0));
        Ok(())
    });
    set(grammar, "no mtu", &format!("Take back\n{mtu}"), |edit| {
        apn_here(edit).map(|apn| (apn.mtu, apn.applies_mtu) = (None, false))
    });
    let clamp = "The largest segment that TCP connections of mobiles are opened with";
    let help = format!("{clamp}\nOctets\nWhat the MTU has room for: 40 octets less with IPv4, 60 with IPv6");
    set(grammar, "mss-clamp (<500-8960>|mtu)", &help, |edit| {
        let clamp = match edit.args.text(0) {
            "mtu" => MssClamp::Mtu,
            _ => MssClamp::Octets(edit.args.value(0)?),
        };
        apn_here(edit).map(|apn| apn.mss_clamp = Some(clamp))
    });
    set(grammar, "no mss-clamp", &format!("Take back\n{clamp}"), |edit| {
        apn_here(edit).map(|apn| apn.mss_clamp = None)
    });
}

/// What a word of a list means.
fn meaning<T: Copy + Default>(words: &[(T, &'static str)], word: &str) -> T {
    words.iter().find(|(_, own)| *own == word).map(|(meaning, _)| *meaning).unwrap_or_default()
}

fn install_traffic(grammar: &mut Grammar<Ggsn>) {
    let help = "Packets from one mobile to another\nLeave by the device, where the kernel decides: the default\n\
                Are turned round inside, between mobiles of this access point\nAre dropped";
    set(grammar, "client-to-client (network|inside|refuse)", help, |edit| {
        let said = meaning(&ClientToClient::WORDS, edit.args.text(0));
        apn_here(edit).map(|apn| apn.client_to_client = said)
    });
    let idle = "PDP contexts end that have no traffic for so long";
    set(grammar, "idle-timeout <10-2592000>", &format!("{idle}\nSeconds"), |edit| {
        let seconds = edit.args.value(0)?;
        apn_here(edit).map(|apn| apn.idle_timeout_s = Some(seconds))
    });
    set(grammar, "no idle-timeout", &format!("Take back\n{idle}"), |edit| {
        apn_here(edit).map(|apn| apn.idle_timeout_s = None)
    });
    let police = "What exceeds the maximum bit rate of a PDP context is dropped";
    set(grammar, "mbr-police", police, |edit| apn_here(edit).map(|apn| apn.polices_mbr = true));
    set(grammar, "no mbr-police", &format!("Take back\n{police}"), |edit| {
        apn_here(edit).map(|apn| apn.polices_mbr = false)
    });
    let pap = "Mobiles that authenticate themselves by PAP\nAre welcome, whatever name and password they give: the default\n\
               Get no PDP context\nGet no answer to it";
    set(grammar, "pap (accept|refuse|ignore)", pap, |edit| {
        let said = meaning(&Pap::WORDS, edit.args.text(0));
        apn_here(edit).map(|apn| apn.pap = said)
    });
}

//! How the configuration of a GGSN is written.

use super::{ApnConfig, ClientToClient, GgsnInstance, MssClamp, Pap, StaticMobile, UserPlane};
use crate::config::{BusyPoll, ConfigText, busy_poll};
use core::fmt::Display;

/// Writes one `ggsn NAME` node, and what holds of the process.
pub(super) fn ggsn((ggsn, busy_poll): (&GgsnInstance, Option<BusyPoll>), text: &mut ConfigText) {
    text.node(format_args!("ggsn {}", ggsn.name), |text| {
        optional(text, "description", ggsn.description.as_ref());
        optional(text, "gtp state-dir", ggsn.gtp_state_dir.as_ref());
        optional(text, "store", ggsn.store.as_ref());
        optional(text, "gtp bind-ip", ggsn.gtp_bind_ip);
        optional(text, "gtp control-ip", ggsn.control_ip);
        optional(text, "gtp user-ip", ggsn.user_ip);
        ggsn.gn.write("gtp bind-ipv6", text);
        ggsn.code_points.write(text);
        if ggsn.user_plane != UserPlane::default() {
            text.line(format_args!("user-plane {}", ggsn.user_plane));
        }
        busy_poll::write(busy_poll, text);
        if ggsn.pdp_contexts_max != GgsnInstance::PDP_CONTEXTS_MAX {
            text.line(format_args!("max-pdp-contexts {}", ggsn.pdp_contexts_max));
        }
        if ggsn.tells_restarted {
            text.line(format_args!("sgsn-restart delete"));
        }
        ggsn.apns.iter().for_each(|it| apn(it, text));
        super::qos::write(ggsn, text);
        optional(text, "default-apn", ggsn.default_apn.as_ref());
        match ggsn.echo_interval_s {
            Some(seconds) => text.line(format_args!("echo-interval {seconds}")),
            None => text.line(format_args!("no echo-interval")),
        }
        text.line(format_args!("{}shutdown ggsn", if ggsn.running { "no " } else { "" }));
    });
}

/// A line for what is there.
fn optional<T: Display>(text: &mut ConfigText, words: &str, value: Option<T>) {
    if let Some(value) = value {
        text.line(format_args!("{words} {value}"));
    }
}

fn apn(apn: &ApnConfig, text: &mut ConfigText) {
    text.node(format_args!("apn {}", apn.name), |text| {
        optional(text, "description", apn.description.as_ref());
        text.line(format_args!("gtpu-mode {}", if apn.asks_kernel_gtp { "kernel-gtp" } else { "tun" }));
        optional(text, "tun-device", apn.tun_device.as_ref());
        optional(text, "gi-interface", apn.gi_interface.as_ref());
        optional(text, "ipup-script", apn.scripts.up.as_ref());
        optional(text, "ipdown-script", apn.scripts.down.as_ref());
        let types = apn.types;
        for (word, is_said) in [("v4", types.v4), ("v6", types.v6), ("v4v6", types.v4v6)] {
            optional(text, "type-support", is_said.then_some(word));
        }
        mtu(apn, text);
        addresses(apn, text);
        if !apn.g_pdu_sequence_numbers {
            text.line(format_args!("no g-pdu tx-sequence-numbers"));
        }
        traffic(apn, text);
        super::qos::write_ways(apn, text);
        text.line(format_args!("{}shutdown", if apn.running { "no " } else { "" }));
    });
}

fn mtu(apn: &ApnConfig, text: &mut ConfigText) {
    let apply = if apn.applies_mtu { " apply" } else { "" };
    match apn.mtu {
        Some(octets) => text.line(format_args!("mtu {octets}{apply}")),
        None if apn.applies_mtu => text.line(format_args!("mtu default apply")),
        None => {}
    }
    match apn.mss_clamp {
        Some(MssClamp::Octets(octets)) => text.line(format_args!("mss-clamp {octets}")),
        Some(MssClamp::Mtu) => text.line(format_args!("mss-clamp mtu")),
        None => {}
    }
}

fn addresses(apn: &ApnConfig, text: &mut ConfigText) {
    optional(text, "ip prefix dynamic", apn.prefix);
    optional(text, "ip prefix static", apn.static_prefix);
    for StaticMobile { address, imsi, sgsn } in &apn.static_mobiles {
        text.line(format_args!("ip static {address} imsi {imsi} sgsn {sgsn}"));
    }
    for (number, address) in apn.dns.iter().enumerate() {
        optional(text, &format!("ip dns {number}"), *address);
    }
    optional(text, "ip ifconfig", apn.ifconfig);
    optional(text, "ipv6 prefix dynamic", apn.ipv6_prefix);
    optional(text, "ipv6 prefix static", apn.ipv6_static_prefix);
    for (number, address) in apn.ipv6_dns.iter().enumerate() {
        optional(text, &format!("ipv6 dns {number}"), *address);
    }
    optional(text, "ipv6 ifconfig", apn.ipv6_ifconfig);
    optional(text, "ipv6 link-local", apn.ipv6_link_local);
}

fn traffic(apn: &ApnConfig, text: &mut ConfigText) {
    let word = |words: &[(ClientToClient, &'static str)]| {
        words.iter().find(|(it, _)| *it == apn.client_to_client).map(|(_, word)| *word)
    };
    let said = word(&ClientToClient::WORDS).filter(|_| apn.client_to_client != ClientToClient::default());
    optional(text, "client-to-client", said);
    optional(text, "idle-timeout", apn.idle_timeout_s);
    if apn.polices_mbr {
        text.line(format_args!("mbr-police"));
    }
    let word = Pap::WORDS.iter().find(|(it, _)| *it == apn.pap && *it != Pap::default());
    optional(text, "pap", word.map(|(_, word)| *word));
}

//! What of a GGSN's configuration is not taken over while it runs: addresses, devices and pools.

use gannet_ops::config::ggsn::{ApnConfig, GgsnConfig, GgsnInstance, Ipv6Prefix, Prefix};

type Differs<T> = (&'static str, fn(&T, &T) -> bool);

const OF_GGSNS: &[Differs<GgsnInstance>] = &[
    ("The address of GTP", |old, new| old.gtp_bind_ip != new.gtp_bind_ip),
    ("The address that SGSNs are told", |old, new| {
        (old.control_ip, old.user_ip) != (new.control_ip, new.user_ip)
    }),
    ("The IPv6 address of GTP", |old, new| old.gn.ipv6 != new.gn.ipv6),
    ("The back end of the user plane", |old, new| old.user_plane != new.user_plane),
    ("The greatest number of PDP contexts", |old, new| old.pdp_contexts_max != new.pdp_contexts_max),
    ("The store", |old, new| old.store != new.store),
    ("The directory of the restart counter", |old, new| old.gtp_state_dir != new.gtp_state_dir),
];

const OF_APNS: &[Differs<ApnConfig>] = &[
    ("The device of an access point", |old, new| old.tun_device != new.tun_device),
    ("The Gi interface of an access point", |old, new| old.gi_interface != new.gi_interface),
    ("The programs of the device", |old, new| old.scripts != new.scripts),
    ("The MTU of the device", |old, new| applied(old) != applied(new)),
    ("The address of the device", |old, new| of_device(old) != of_device(new)),
    ("The pool of an access point", |old, new| {
        (pools(old), ipv6_pools(old), old.types) != (pools(new), ipv6_pools(new), new.types)
    }),
    ("An address of a subscriber's own", |old, new| old.static_mobiles != new.static_mobiles),
];

/// What the device has of the access point's MTU.
fn applied(apn: &ApnConfig) -> Option<u16> {
    apn.applies_mtu.then(|| apn.mtu_octets())
}

type Addresses = (Option<Prefix>, Option<Ipv6Prefix>, Option<Ipv6Prefix>);

const fn of_device(apn: &ApnConfig) -> Addresses {
    (apn.ifconfig, apn.ipv6_ifconfig, apn.ipv6_link_local)
}

const fn pools(apn: &ApnConfig) -> [Option<Prefix>; 2] {
    [apn.prefix, apn.static_prefix]
}

const fn ipv6_pools(apn: &ApnConfig) -> [Option<Ipv6Prefix>; 2] {
    [apn.ipv6_prefix, apn.ipv6_static_prefix]
}

/// What differs and holds from the next start on, each once. `there` has the GGSNs and access points that run.
pub fn later(old: &GgsnConfig, new: &GgsnConfig, there: &[(String, Vec<String>)]) -> Vec<&'static str> {
    let mut all = Vec::new();
    for ggsn in &new.ggsns {
        let runs = there.iter().find(|(name, _)| *name == ggsn.name).map(|(_, apns)| apns.as_slice());
        let Some(former) = old.ggsns.iter().find(|former| former.name == ggsn.name) else {
            all.push("A new GGSN");
            continue;
        };
        if ggsn.running && runs.is_none() {
            all.push("A GGSN that was shut down at the start");
        }
        all.extend(OF_GGSNS.iter().filter(|(_, differs)| differs(former, ggsn)).map(|(what, _)| *what));
        for apn in &ggsn.apns {
            match former.apns.iter().find(|known| known.name == apn.name) {
                None => all.push("A new access point"),
                Some(_) if apn.running && runs.is_some_and(|runs| !runs.contains(&apn.name)) => {
                    all.push("An access point that was shut down at the start");
                }
                Some(known) => {
                    all.extend(
                        OF_APNS.iter().filter(|(_, differs)| differs(known, apn)).map(|(what, _)| *what),
                    );
                }
            }
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::later;
    use gannet_ops::{Ggsn, config};

    #[test]
    fn only_addresses_devices_and_pools_wait_for_a_start() {
        let text = "ggsn a\n gtp bind-ip 127.0.0.2\n apn b\n  tun-device t\n  ip prefix dynamic 192.0.2.0/24\n  no shutdown\n no shutdown ggsn\n";
        let of = |from: &str, to: &str| {
            let old = config::read::<Ggsn>("x", text).unwrap().config;
            let there = [("a".to_owned(), vec!["b".to_owned()])];
            later(&old, &config::read::<Ggsn>("x", &text.replace(from, to)).unwrap().config, &there)
        };
        for line in [
            "ip dns 0 192.0.2.9",
            "ipv6 dns 1 2001:db8::53",
            "no g-pdu tx-sequence-numbers",
            "description c",
            "mtu 1400",
            "mss-clamp mtu",
            "client-to-client refuse",
            "idle-timeout 60",
            "mbr-police",
            "pap ignore",
            "shutdown",
        ] {
            assert_eq!(of("  no shutdown\n", &format!("  no shutdown\n  {line}\n")), [""; 0], "{line}");
        }
        for line in [
            "default-apn b",
            "echo-interval 9",
            "gtp source-check off",
            "sgsn-restart delete",
            "gtpu-dscp streaming 34",
            "shutdown ggsn",
        ] {
            assert_eq!(
                of(" no shutdown ggsn\n", &format!(" no shutdown ggsn\n {line}\n")),
                [""; 0],
                "{line}"
            );
        }
        assert_eq!(of("127.0.0.2", "127.0.0.3"), ["The address of GTP"]);
        let told = of(" no shutdown ggsn\n", " no shutdown ggsn\n gtp user-ip 192.0.2.9\n");
        assert_eq!(told, ["The address that SGSNs are told"]);
        assert_eq!(of("device t", "device u"), ["The device of an access point"]);
        let with = |line: &str| of("  no shutdown\n", &format!("  no shutdown\n  {line}\n"));
        assert_eq!(with("mtu 1400 apply"), ["The MTU of the device"]);
        assert_eq!(with("ip prefix static 198.51.100.0/24"), ["The pool of an access point"]);
        assert_eq!(with("ipup-script /bin/true"), ["The programs of the device"]);
        assert_eq!(with("ipv6 link-local fe80::7/64"), ["The address of the device"]);
        assert_eq!(of("apn b", "apn c"), ["A new access point"]);
        assert_eq!(of("ggsn a", "ggsn c"), ["A new GGSN"]);
    }
}

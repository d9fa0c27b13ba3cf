//! What no two access points can have: addresses of mobiles, and a device. One process has one routing table.

use super::{ApnConfig, GgsnConfig, GgsnInstance, Ipv6Prefix, Prefix};
use crate::grammar::{Node, Problem};
use core::net::IpAddr;

type Served<'c> = (&'c GgsnInstance, &'c ApnConfig);

/// Each access point that serves, held against those before it; and so each GGSN.
pub(super) fn problems(config: &GgsnConfig, problems: &mut Vec<Problem>) {
    let running: Vec<&GgsnInstance> = config.ggsns.iter().filter(|ggsn| ggsn.running).collect();
    for (place, ggsn) in running.iter().enumerate() {
        let mut before = running.iter().take(place);
        let same =
            |other: &&&GgsnInstance| ggsn.gtp_bind_ip.is_some() && other.gtp_bind_ip == ggsn.gtp_bind_ip;
        if let (Some(other), Some(address)) = (before.find(same), ggsn.gtp_bind_ip) {
            let text = format!("ggsn {}: the address {address} is that of ggsn {}", ggsn.name, other.name);
            problems.push(Problem::contradiction(Node::Ggsn, text));
        }
    }
    let served: Vec<Served<'_>> = running
        .into_iter()
        .flat_map(|ggsn| ggsn.apns.iter().filter(|apn| apn.running).map(move |apn| (ggsn, apn)))
        .collect();
    for (place, own) in served.iter().enumerate() {
        for other in served.iter().take(place) {
            let whose = format!("ggsn {}, apn {}", own.0.name, own.1.name);
            let said = shared(own.1, other.1);
            problems.extend(said.into_iter().map(|what| {
                let text = format!("{whose}: {what} of ggsn {}, apn {}", other.0.name, other.1.name);
                Problem::contradiction(Node::Apn, text)
            }));
        }
    }
}

/// Each GSN whose address is one of a pool. What comes from there is held to be of a mobile.
pub(super) fn gsns_in_pools(config: &GgsnConfig) -> Vec<String> {
    let running = || config.ggsns.iter().filter(|ggsn| ggsn.running);
    let apns = running().flat_map(|ggsn| ggsn.apns.iter().filter(|apn| apn.running));
    let mut said = Vec::new();
    for apn in apns {
        let v4 = apn.pools().map(|(word, pool)| (format!("ip prefix {word} {pool}"), bits_of(pool), false));
        let v6 = apn
            .ipv6_pools()
            .map(|(word, pool)| (format!("ipv6 prefix {word} {pool}"), bits_of_ipv6(pool), true));
        for (pool, bits, is_v6) in v4.chain(v6) {
            let is_in = |address: IpAddr| match address {
                IpAddr::V4(own) => !is_v6 && overlap(bits, (u128::from(own.to_bits()) << 96, 32)),
                IpAddr::V6(own) => is_v6 && overlap(bits, (own.to_bits(), 128)),
            };
            for (line, _) in running().flat_map(gsns).filter(|(_, address)| is_in(*address)) {
                said.push(format!(
                    "'{pool}' of apn {} has the address of '{line}': a GSN with an address of that pool is refused, since it is \
                     a mobile's",
                    apn.name
                ));
            }
        }
    }
    said
}

/// The addresses of GSNs that a GGSN's lines name, with these lines.
fn gsns(ggsn: &GgsnInstance) -> Vec<(String, IpAddr)> {
    let own = ggsn.gtp_bind_ip.map(|own| (format!("gtp bind-ip {own}"), own.into()));
    let own_v6 = ggsn.gn.ipv6.map(|own| (format!("gtp bind-ipv6 {own}"), own.into()));
    let peers = ggsn.gn.peers.keys().map(|peer| (format!("gtp peer {peer}"), *peer));
    let statics = ggsn.apns.iter().flat_map(|apn| &apn.static_mobiles);
    let statics = statics.map(|own| {
        (format!("ip static {} imsi {} sgsn {}", own.address, own.imsi, own.sgsn), own.sgsn.into())
    });
    own.into_iter().chain(own_v6).chain(peers).chain(statics).collect()
}

/// What two of them have in common.
fn shared(own: &ApnConfig, other: &ApnConfig) -> Vec<String> {
    let mut said = Vec::new();
    if let (Some(device), true) = (&own.tun_device, own.tun_device == other.tun_device) {
        said.push(format!("the device {device} is that"));
    }
    let texts = |apn: &ApnConfig| -> Vec<(String, (u128, u8), bool)> {
        let v4 = apn.pools().map(|(_, pool)| (pool.to_string(), bits_of(pool), false));
        let v6 = apn.ipv6_pools().map(|(_, pool)| (pool.to_string(), bits_of_ipv6(pool), true));
        v4.chain(v6).collect()
    };
    for (pool, bits, is_v6) in texts(own) {
        for (theirs, their_bits, _) in texts(other).iter().filter(|(_, _, other)| *other == is_v6) {
            if overlap(bits, *their_bits) {
                said.push(format!("the pool {pool} has addresses of the pool {theirs}"));
            }
        }
    }
    said
}

/// An address from the left, and how many of its bits count.
fn bits_of(Prefix { address, length }: Prefix) -> (u128, u8) {
    (u128::from(address.to_bits()) << 96, length)
}

const fn bits_of_ipv6(Ipv6Prefix { address, length }: Ipv6Prefix) -> (u128, u8) {
    (address.to_bits(), length)
}

/// Whether one of two networks is within the other.
fn overlap((a, a_length): (u128, u8), (b, b_length): (u128, u8)) -> bool {
    (a ^ b).leading_zeros() >= u32::from(a_length.min(b_length))
}

#[cfg(test)]
mod tests {
    use crate::{Ggsn, config};

    /// The lines that are named in a text whose access point `b` has these lines, and what is said.
    fn said(lines: &str) -> Vec<String> {
        let text = format!(
            "ggsn x\n gtp bind-ip 127.0.0.2\n apn a\n  tun-device tun0\n  type-support v4v6\n  ip prefix dynamic 10.1.0.0/16\n  \
             ipv6 prefix dynamic 2001:db8::/56\n  no shutdown\n apn b\n{lines}"
        );
        config::read::<Ggsn>("x", &text)
            .err()
            .map(|errors| errors.all().iter().map(ToString::to_string).collect())
            .unwrap_or_default()
    }

    #[test]
    fn no_two_access_points_share_a_device_or_addresses() {
        let apn = "the device tun0 is that of ggsn x, apn a";
        assert_eq!(said("  tun-device tun0\n"), [format!("x:10: ggsn x, apn b: {apn}")]);
        let pool = |own| {
            format!("ggsn x, apn b: the pool {own} has addresses of the pool 10.1.0.0/16 of ggsn x, apn a")
        };
        for own in ["10.1.0.0/16", "10.1.7.0/24", "10.0.0.0/8"] {
            let lines = format!("  tun-device tun1\n  ip prefix dynamic {own}\n");
            assert_eq!(said(&lines), [format!("x:11: {}", pool(own))]);
        }
        assert!(said("  tun-device tun1\n  ip prefix dynamic 10.2.0.0/16\n").is_empty());
        let ipv6 = "  type-support v4v6\n  ipv6 prefix dynamic 2001:db8::/60\n";
        assert!(
            said(ipv6)[0].contains("2001:db8::/60 has addresses of the pool 2001:db8::/56"),
            "{:?}",
            said(ipv6)
        );
        // All of them at once, each with its line.
        let lines = "  tun-device tun0\n  ip prefix dynamic 10.1.1.0/24\n";
        let both = said(lines);
        assert!(
            both.len() == 2 && both[0].starts_with("x:10: ") && both[1].starts_with("x:11: "),
            "{both:?}"
        );
        // What is shut down disturbs nobody.
        assert!(said("  tun-device tun0\n  ip prefix dynamic 10.1.1.0/24\n  shutdown\n").is_empty());
    }

    #[test]
    fn no_two_ggsns_have_one_address() {
        let text = "ggsn x\n gtp bind-ip 127.0.0.2\nggsn y\n gtp bind-ip 127.0.0.2\n";
        let errors = config::read::<Ggsn>("x", text).unwrap_err();
        assert_eq!(errors.to_string(), "x:4: ggsn y: the address 127.0.0.2 is that of ggsn x");
    }

    #[test]
    fn a_second_pool_of_an_access_point_is_told() {
        let text = "ggsn x\n gtp bind-ip 127.0.0.2\n apn a\n  tun-device tun0\n  ip prefix dynamic 10.1.0.0/16\n  \
                    ip prefix dynamic 10.2.0.0/16\n  tun-device tun1\n";
        let loaded = config::read::<Ggsn>("x", text).unwrap();
        let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            warnings,
            [
                "x:6: apn a has one pool: 10.2.0.0/16 takes the place of 10.1.0.0/16",
                "x:7: apn a has one device: tun1 takes the place of tun0",
            ]
        );
    }

    #[test]
    fn a_pool_with_the_address_of_a_gsn_is_told_with_both_lines() {
        let told = |gn: &str, pool: &str| -> Vec<String> {
            let text = format!(
                "ggsn x\n gtp bind-ip 10.1.0.2\n{gn} apn a\n  tun-device tun0\n  type-support v4v6\n  ip prefix dynamic {pool}\n  \
                 ipv6 prefix dynamic 2001:db8::/56\n  no shutdown\n"
            );
            let loaded = config::read::<Ggsn>("x", &text).unwrap();
            loaded.warnings.iter().map(ToString::to_string).collect()
        };
        assert!(told(" gtp peer 10.2.0.1\n gtp peer 2001:db9::1\n", "10.3.0.0/16").is_empty());
        let end = ": a GSN with an address of that pool is refused, since it is a mobile's";
        assert_eq!(
            told("", "10.0.0.0/8"),
            [format!(
                "x:6: 'ip prefix dynamic 10.0.0.0/8' of apn a has the address of 'gtp bind-ip 10.1.0.2'{end}"
            )]
        );
        assert_eq!(
            told(" gtp peer 10.2.0.1\n gtp peer 2001:db8::1\n", "10.2.0.0/16"),
            [
                format!(
                    "x:8: 'ip prefix dynamic 10.2.0.0/16' of apn a has the address of 'gtp peer 10.2.0.1'{end}"
                ),
                format!(
                    "x:9: 'ipv6 prefix dynamic 2001:db8::/56' of apn a has the address of 'gtp peer 2001:db8::1'{end}"
                ),
            ]
        );
    }
}

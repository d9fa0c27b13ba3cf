//! Where a load stands: its network namespace, and whether the addresses that it takes are there.

use crate::load::LoadConfig;
use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::os::unix::fs::MetadataExt as _;

/// The two addresses of ours, and the options that set them.
///
/// # Errors
/// A sentence that names the address, the option, and what is there instead.
pub(super) fn check(config: &LoadConfig) -> Result<(), String> {
    for (option, address) in [("--gb", config.gb_local.ip()), ("--gn", config.ggsn_local)] {
        if is_missing(address) {
            return Err(missing(option, address, &here()));
        }
    }
    Ok(())
}

/// No interface has the address. Other errors are those of the port and come when it is bound.
fn is_missing(address: IpAddr) -> bool {
    let bound = UdpSocket::bind(SocketAddr::new(address, 0));
    bound.is_err_and(|error| error.kind() == ErrorKind::AddrNotAvailable)
}

fn missing(option: &str, address: IpAddr, here: &str) -> String {
    format!(
        "no interface has the address {address} ({option}); {here}. Give an address of this namespace with {option}, or run \
         `ip netns exec NAME gannet load …` in the namespace that has it"
    )
}

/// The network namespace of the calling thread with its interfaces and addresses, in words.
pub(super) fn here() -> String {
    let read = |what: &str| fs::read_to_string(format!("/proc/thread-self/net/{what}")).unwrap_or_default();
    let list = |all: Vec<String>| if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    format!(
        "this is {}, with interfaces {} and IPv4 addresses {}",
        name(),
        list(interfaces(&read("dev"))),
        list(addresses(&read("fib_trie")).into_iter().collect())
    )
}

/// What `ip netns` calls it.
fn name() -> String {
    let of = |path: &str| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let ours = of("/proc/thread-self/ns/net");
    let names = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let mut names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names
        .find(|name| ours.is_some() && of(&format!("/run/netns/{name}")) == ours)
        .map(|name| format!("network namespace '{name}'"))
        .unwrap_or_else(|| {
            let is_first = ours.is_some() && of("/proc/1/ns/net") == ours;
            if is_first {
                "the machine's own network namespace"
            } else {
                "a network namespace without a name"
            }
            .to_owned()
        })
}

/// The names in `/proc/net/dev`.
fn interfaces(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

/// The local addresses in `/proc/net/fib_trie`: a leaf `|-- A.B.C.D`, and below it `/32 host LOCAL`.
fn addresses(text: &str) -> BTreeSet<String> {
    let mut leaf = "";
    let mut found = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address;
        } else if line == "/32 host LOCAL" {
            found.insert(leaf.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;

    #[test]
    fn the_address_that_is_missing_is_named() {
        let nobody = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 77));
        assert!(is_missing(nobody) && !is_missing(IpAddr::V4(Ipv4Addr::LOCALHOST)));
        let config = LoadConfig { ggsn_local: nobody, ..LoadConfig::default() };
        let error = check(&config).unwrap_err();
        for part in
            ["203.0.113.77 (--gn)", "network namespace", "interfaces lo", "127.0.0.1", "ip netns exec"]
        {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(check(&LoadConfig::default()), Ok(()));
    }

    #[test]
    fn interfaces_and_addresses_are_read_from_the_kernel() {
        let dev = "Inter-|   Receive\n face |bytes packets\n    lo: 1 1\n   gb1: 900 7\n";
        assert_eq!(interfaces(dev), ["lo", "gb1"]);
        let trie = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 127.0.0.0\n        /8 host LOCAL\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 192.0.2.0\n        /30 link UNICAST\n     \
                    |-- 192.0.2.1\n        /32 host LOCAL\n     |-- 192.0.2.3\n        /32 link BROADCAST\n";
        assert_eq!(Vec::from_iter(addresses(trie)), ["127.0.0.1", "192.0.2.1"]);
    }
}

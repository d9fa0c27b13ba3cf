//! The TUN device of an access point, and the programs that are run for it.

use crate::node::tun;
use core::net::{Ipv4Addr, Ipv6Addr};
use gannet_ops::config::ggsn as ops;
use gannet_rt::{Tun, TunAddress};
use std::process::{Command, Stdio};

/// A device of an access point.
#[derive(Debug, Clone)]
pub struct Device {
    /// Its name.
    pub name: String,
    address: Option<ops::Prefix>,
    ipv6: Option<ops::Ipv6Prefix>,
    link_local: Option<ops::Ipv6Prefix>,
    /// Mobiles with IPv6 are behind it.
    has_ipv6: bool,
    /// Octets, where the access point's is to be applied.
    mtu: Option<u16>,
    scripts: ops::Scripts,
}

impl Device {
    /// As an access point has it.
    pub fn of(name: String, apn: &ops::ApnConfig) -> Self {
        let has_ipv6 = apn.types.has_v6();
        Self {
            name,
            address: apn.ifconfig.map(own_address),
            ipv6: apn.ipv6_ifconfig.filter(|_| has_ipv6).map(own_ipv6_address),
            link_local: apn.ipv6_link_local.filter(|_| has_ipv6),
            has_ipv6,
            mtu: apn.applies_mtu.then(|| apn.mtu_octets()),
            scripts: apn.scripts.clone(),
        }
    }

    /// The same under another name.
    pub fn renamed(&self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self.clone() }
    }

    /// Makes it and takes it into service. What its program has said against it is added to the complaints.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    pub fn open(&self, complaints: &mut Vec<String>) -> Result<Tun, String> {
        let made = tun::open(&self.name)?;
        let up = || {
            if let Some(octets) = self.mtu {
                made.set_mtu(octets)?;
            }
            match self.address {
                Some(own) => tun::bring_up(&made, TunAddress::V4(own.address, own.length))?,
                None => made.set_up(true)?,
            }
            if self.has_ipv6 {
                tun::set_ipv6(made.name(), true);
            }
            for own in self.ipv6.into_iter().chain(self.link_local) {
                tun::add_ipv6(&made, own.address, own.length)?;
            }
            Ok(())
        };
        up().map_err(|error| tun::describe(&self.name, &error))?;
        complaints.extend(self.run(made.name(), self.scripts.up.as_ref()));
        Ok(made)
    }

    /// It goes. `name` is what the kernel calls it.
    pub fn close(&self, name: &str) -> Option<String> {
        self.run(name, self.scripts.down.as_ref())
    }

    /// Runs a program with device, IPv4 address and netmask, as osmo-ggsn does, and waits for its end.
    fn run(&self, name: &str, path: Option<&String>) -> Option<String> {
        let path = path?;
        let (address, mask) = self.address.map_or((Ipv4Addr::UNSPECIFIED, 0), |own| {
            (own.address, u32::MAX.checked_shl(32_u32.saturating_sub(own.length.into())).unwrap_or(0))
        });
        let arguments = [name.to_owned(), address.to_string(), Ipv4Addr::from_bits(mask).to_string()];
        match Command::new(path).args(&arguments).stdin(Stdio::null()).status() {
            Ok(status) if status.success() => None,
            Ok(status) => Some(format!("{path} {}: {status}", arguments.join(" "))),
            Err(error) => Some(format!("{path}: {error}")),
        }
    }
}

/// `ip ifconfig` of osmo-ggsn may name the network; the device then has its first address, as the pool leaves it out.
fn own_address(given: ops::Prefix) -> ops::Prefix {
    let host_bits = 32_u32.saturating_sub(given.length.into());
    let host = 1_u32.checked_shl(host_bits).map_or(u32::MAX, |size| size - 1);
    if host > 0 && given.address.to_bits() & host == 0 {
        return ops::Prefix { address: Ipv4Addr::from_bits(given.address.to_bits() | 1), ..given };
    }
    given
}

/// The same of `ipv6 ifconfig`: the network's own address is that of all its routers (RFC 4291 clause 2.6.1).
fn own_ipv6_address(given: ops::Ipv6Prefix) -> ops::Ipv6Prefix {
    let host_bits = 128_u32.saturating_sub(given.length.into());
    let host = 1_u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
    if host > 0 && given.address.to_bits() & host == 0 {
        return ops::Ipv6Prefix { address: Ipv6Addr::from_bits(given.address.to_bits() | 1), ..given };
    }
    given
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_never_has_the_networks_address() {
        let prefix = |text: &str, length| ops::Prefix { address: text.parse().unwrap(), length };
        assert_eq!(own_address(prefix("172.16.222.0", 24)), prefix("172.16.222.1", 24));
        assert_eq!(own_address(prefix("172.16.222.9", 24)), prefix("172.16.222.9", 24));
        assert_eq!(own_address(prefix("10.0.0.0", 32)), prefix("10.0.0.0", 32));
        assert_eq!(own_address(prefix("0.0.0.0", 0)), prefix("0.0.0.1", 0));
        let own = |text: &str| own_ipv6_address(text.parse().unwrap()).to_string();
        assert_eq!(own("2001:780:44:2000::/56"), "2001:780:44:2000::1/56");
        assert_eq!(own("2001:780:44:2000::9/56"), "2001:780:44:2000::9/56");
        assert_eq!(own("2001:db8::/128"), "2001:db8::/128");
    }

    #[test]
    fn programs_are_told_device_address_and_netmask() {
        let directory = gannet_testkit::TempDir::new("gannet-script");
        let (script, said) = (directory.path().join("up"), directory.path().join("said"));
        let text = format!("#!/bin/sh\necho \"$@\" > {}\n[ \"$1\" != bad ]\n", said.display());
        std::fs::write(&script, text).unwrap();
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&script, permissions).unwrap();
        let path = script.display().to_string();
        let device = |address: Option<&str>| Device {
            name: "apn0".to_owned(),
            address: address.map(|address| ops::Prefix { address: address.parse().unwrap(), length: 24 }),
            ipv6: None,
            link_local: None,
            has_ipv6: false,
            mtu: None,
            scripts: ops::Scripts { up: None, down: Some(path.clone()) },
        };
        let read = || std::fs::read_to_string(&said).unwrap();
        assert_eq!(device(Some("172.16.222.1")).close("apn0"), None);
        assert_eq!(read(), "apn0 172.16.222.1 255.255.255.0\n");
        assert_eq!(device(None).close("apn6"), None);
        assert_eq!(read(), "apn6 0.0.0.0 0.0.0.0\n");
        let complaint = device(None).close("bad").unwrap();
        assert!(complaint.starts_with(&format!("{path} bad 0.0.0.0 0.0.0.0: exit")), "{complaint}");
    }
}

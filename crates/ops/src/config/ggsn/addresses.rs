//! The commands for the addresses of an access point: of its mobiles, its device, and name servers.

use super::edit::{GgsnEdit, apn_here, set, tell_of};
use super::{Ipv6Prefix, Prefix, StaticMobile};
use crate::Ggsn;
use crate::grammar::{CommandError, Grammar, ipv4_prefix};
use core::net::Ipv4Addr;

/// All of them.
pub(super) fn install(grammar: &mut Grammar<Ggsn>) {
    install_ipv4(grammar);
    install_static(grammar);
    install_ipv6(grammar);
    install_link_local(grammar);
    install_name_servers(grammar);
}

fn prefix(edit: &GgsnEdit<'_>, place: usize) -> Result<Prefix, CommandError> {
    let (address, length) =
        ipv4_prefix(edit.args.text(place)).ok_or_else(|| CommandError::new("no prefix."))?;
    Ok(Prefix { address, length })
}

fn install_ipv4(grammar: &mut Grammar<Ggsn>) {
    let help = "IPv4\nAddresses of mobiles\nThat ask for a certain one\nThat ask for any\nThe pool";
    set(grammar, "ip prefix (static|dynamic) A.B.C.D/M", help, |edit| {
        let is_static = edit.args.text(0) == "static";
        let prefix = prefix(edit, 1)?;
        if prefix.length > 30 {
            return Err(CommandError(format!("the pool {prefix} has no address for a mobile.")));
        }
        let apn = apn_here(edit)?;
        let place = if is_static { &mut apn.static_prefix } else { &mut apn.prefix };
        let former = place.replace(prefix).filter(|former| *former != prefix);
        tell_of(edit, if is_static { "static pool" } else { "pool" }, former, prefix);
        Ok(())
    });
    let help = "Take back\nIPv4\nAddresses of mobiles\nThat ask for a certain one\nThat ask for any";
    set(grammar, "no ip prefix (static|dynamic)", help, |edit| {
        let is_static = edit.args.text(0) == "static";
        let apn = apn_here(edit)?;
        *(if is_static { &mut apn.static_prefix } else { &mut apn.prefix }) = None;
        Ok(())
    });
    let device = "IPv4\nThe address of the device";
    set(grammar, "ip ifconfig A.B.C.D/M", &format!("{device}\nWith the length of its network"), |edit| {
        let prefix = prefix(edit, 0)?;
        apn_here(edit).map(|apn| apn.ifconfig = Some(prefix))
    });
    set(grammar, "no ip ifconfig", &format!("Take back\n{device}"), |edit| {
        apn_here(edit).map(|apn| apn.ifconfig = None)
    });
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
        let address: Ipv4Addr = edit.args.value(0)?;
        apn_here(edit).map(|apn| apn.static_mobiles.retain(|mobile| mobile.address != address))
    });
}

fn install_ipv6(grammar: &mut Grammar<Ggsn>) {
    let help = "IPv6\nPrefixes of mobiles\nThat ask for a certain one\nThat ask for any\nThe pool";
    set(grammar, "ipv6 prefix (static|dynamic) X:X::X:X/M", help, |edit| {
        let is_static = edit.args.text(0) == "static";
        let prefix: Ipv6Prefix = edit.args.value(1)?;
        let apn = apn_here(edit)?;
        let place = if is_static { &mut apn.ipv6_static_prefix } else { &mut apn.ipv6_prefix };
        let former = place.replace(prefix).filter(|former| *former != prefix);
        tell_of(edit, if is_static { "static pool of IPv6" } else { "pool of IPv6" }, former, prefix);
        Ok(())
    });
    let help = "Take back\nIPv6\nPrefixes of mobiles\nThat ask for a certain one\nThat ask for any";
    set(grammar, "no ipv6 prefix (static|dynamic)", help, |edit| {
        let is_static = edit.args.text(0) == "static";
        let apn = apn_here(edit)?;
        *(if is_static { &mut apn.ipv6_static_prefix } else { &mut apn.ipv6_prefix }) = None;
        Ok(())
    });
    let device = "IPv6\nThe address of the device";
    set(grammar, "ipv6 ifconfig X:X::X:X/M", &format!("{device}\nWith the length of its network"), |edit| {
        let prefix = edit.args.value(0)?;
        apn_here(edit).map(|apn| apn.ipv6_ifconfig = Some(prefix))
    });
    set(grammar, "no ipv6 ifconfig", &format!("Take back\n{device}"), |edit| {
        apn_here(edit).map(|apn| apn.ipv6_ifconfig = None)
    });
}

fn install_link_local(grammar: &mut Grammar<Ggsn>) {
    let own = "IPv6\nOur address on the links of mobiles and on the device, fe80::1 by default";
    set(grammar, "ipv6 link-local X:X::X:X/M", &format!("{own}\nWith its length"), |edit| {
        let prefix: Ipv6Prefix = edit.args.value(0)?;
        if !prefix.address.is_unicast_link_local() || prefix.address.octets()[8..] == [0; 8] {
            return Err(CommandError(format!("{prefix} is no link-local address of one node: fe80::…/64.")));
        }
        apn_here(edit).map(|apn| apn.ipv6_link_local = Some(prefix))
    });
    set(grammar, "no ipv6 link-local", &format!("Take back\n{own}"), |edit| {
        apn_here(edit).map(|apn| apn.ipv6_link_local = None)
    });
}

fn install_name_servers(grammar: &mut Grammar<Ggsn>) {
    let server = "A name server for mobiles\nFirst or second";
    set(grammar, "ip dns <0-1> A.B.C.D", &format!("IPv4\n{server}\nIts address"), |edit| {
        let (place, address): (usize, _) = (edit.args.value(0)?, edit.args.value(1)?);
        apn_here(edit).map(|apn| apn.dns.get_mut(place).into_iter().for_each(|it| *it = Some(address)))
    });
    set(grammar, "ipv6 dns <0-1> X:X::X:X", &format!("IPv6\n{server}\nIts address"), |edit| {
        let (place, address): (usize, _) = (edit.args.value(0)?, edit.args.value(1)?);
        apn_here(edit).map(|apn| apn.ipv6_dns.get_mut(place).into_iter().for_each(|it| *it = Some(address)))
    });
    set(grammar, "no (ip|ipv6) dns <0-1>", &format!("Take back\nIPv4\nIPv6\n{server}"), |edit| {
        let is_v6 = edit.args.text(0) == "ipv6";
        let place: usize = edit.args.value(1)?;
        let apn = apn_here(edit)?;
        if is_v6 {
            apn.ipv6_dns.get_mut(place).into_iter().for_each(|server| *server = None);
        } else {
            apn.dns.get_mut(place).into_iter().for_each(|server| *server = None);
        }
        Ok(())
    });
}

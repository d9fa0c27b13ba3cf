//! Which of our interfaces leads to an address.

use core::net::Ipv4Addr;
use std::fs;
use std::io;

/// The interface towards a host on the same link, as the routing table of this thread's network namespace has it.
///
/// # Errors
/// Where the table cannot be read, or no route leads there without a gateway.
pub fn device_towards(peer: Ipv4Addr) -> io::Result<String> {
    if peer.is_loopback() {
        return Ok("lo".to_owned());
    }
    let table = fs::read_to_string("/proc/thread-self/net/route")?;
    find(&table, peer).ok_or_else(|| {
        let message = format!("{peer} is not on a link of ours: no route leads there without a gateway");
        io::Error::new(io::ErrorKind::NotFound, message)
    })
}

/// Columns of `/proc/net/route`: interface, destination, gateway, flags, three numbers, mask. Numbers are hexadecimal, in
/// memory order.
fn find(table: &str, peer: Ipv4Addr) -> Option<String> {
    let number = |text: &str| u32::from_str_radix(text, 16).ok().map(u32::from_be);
    let peer = peer.to_bits();
    let routes = table.lines().skip(1).filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        let [device, destination, gateway, _, _, _, _, mask, ..] = columns.as_slice() else { return None };
        Some(((*device).to_owned(), number(destination)?, number(gateway)?, number(mask)?))
    });
    let fitting =
        routes.filter(|(_, destination, gateway, mask)| *gateway == 0 && peer & mask == *destination);
    fitting.max_by_key(|(_, _, _, mask)| mask.count_ones()).map(|(device, ..)| device)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010000C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        gb0\t000200C0\t00000000\t0001\t0\t0\t0\tFCFFFFFF\t0\t0\t0\n\
        gn0\t040200C0\t00000000\t0001\t0\t0\t0\tFCFFFFFF\t0\t0\t0\n\
        all\t000000C0\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n";

    #[test]
    fn the_longest_prefix_counts_and_gateways_do_not() {
        let found = |last| find(TABLE, Ipv4Addr::new(192, 0, 2, last));
        assert_eq!(found(2).as_deref(), Some("gb0"));
        assert_eq!(found(5).as_deref(), Some("gn0"));
        assert_eq!(found(99).as_deref(), Some("all"));
        assert_eq!(find(TABLE, Ipv4Addr::new(203, 0, 113, 1)), None);
        assert_eq!(device_towards(Ipv4Addr::LOCALHOST).unwrap(), "lo");
    }
}

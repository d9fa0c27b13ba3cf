//! The MAC address of the SGSN's end of a link, and the headers that have it.

use super::config::Side;
use std::fs;
use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::time::{Duration, Instant};

/// Asks the kernel for it, which asks the neighbour.
///
/// # Errors
/// Where nobody answers within three seconds.
pub fn resolve(side: &Side) -> io::Result<[u8; 6]> {
    let socket = UdpSocket::bind(SocketAddrV4::new(side.local, 0))?;
    let begin = Instant::now();
    loop {
        // To the discard service; whatever comes of it, the kernel has to know the neighbour first.
        let _ = socket.send_to(&[0], SocketAddrV4::new(side.peer, 9));
        std::thread::sleep(Duration::from_millis(5));
        let table = fs::read_to_string("/proc/thread-self/net/arp")?;
        if let Some(found) = find(&table, side) {
            return Ok(found);
        }
        if begin.elapsed() > Duration::from_secs(3) {
            let message = format!("{} does not answer on {}", side.peer, side.device);
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
    }
}

/// The columns are address, hardware type, flags, MAC address, mask, device.
fn find(table: &str, side: &Side) -> Option<[u8; 6]> {
    let address = side.peer.to_string();
    let line = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).find(|columns| {
        columns.first() == Some(&address.as_str()) && columns.last() == Some(&side.device.as_str())
    })?;
    let mut octets = line.get(3)?.split(':').map(|octet| u8::from_str_radix(octet, 16).ok());
    let mut mac = [0; 6];
    for octet in &mut mac {
        *octet = octets.next()??;
    }
    (mac != [0; 6]).then_some(mac)
}

/// Ethernet, IPv4 and UDP header without their lengths, and the sum of the IPv4 header's words as they stand in memory.
pub(super) fn lower_header(side: &Side, mac: [u8; 6], from_port: u16, to_port: u16) -> (Vec<u8>, u32) {
    let mut header = Vec::with_capacity(42);
    header.extend(side.peer_mac.unwrap_or_default());
    header.extend(mac);
    header.extend([8, 0]);
    header.extend([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0]);
    header.extend(side.local.octets());
    header.extend(side.peer.octets());
    let words = header.iter().skip(14).copied().collect::<Vec<u8>>();
    let sum = words.chunks_exact(2).map(|pair| match pair {
        [first, second] => u32::from(u16::from_ne_bytes([*first, *second])),
        _ => 0,
    });
    let sum = sum.sum();
    header.extend(from_port.to_be_bytes());
    header.extend(to_port.to_be_bytes());
    header.extend([0; 4]);
    (header, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_neighbour_of_this_device_counts() {
        let table = "IP address HW type Flags HW address Mask Device\n\
                     192.0.2.2 0x1 0x0 00:00:00:00:00:00 * gb0\n\
                     192.0.2.2 0x1 0x2 02:00:00:00:00:01 * gn0\n";
        let side = |device: &str| Side {
            device: device.to_owned(),
            local: [192, 0, 2, 1].into(),
            peer: [192, 0, 2, 2].into(),
            peer_mac: None,
        };
        assert_eq!(find(table, &side("gn0")), Some([2, 0, 0, 0, 0, 1]));
        assert_eq!(find(table, &side("gb0")), None);
        assert_eq!(find(table, &side("gi0")), None);
    }
}

//! Who receives for the sink: a core of ours, never the SGSN's.
//!
//! What arrives at a virtual Ethernet device is received by the core that sent it, unless the device's NAPI instance is
//! being polled. With `napi_defer_hard_irqs` the instance stays scheduled by a timer, `gro_flush_timeout` after it was last
//! polled and on the core that polled it. So one poll from our core, by a socket that asks for it, brings it here, and the
//! timer keeps it here, also while the generator is within its call.
//!
//! A socket learns of the instance from a packet that it received through it. That one it sends itself: an ICMP echo
//! request whose reply holds a UDP packet for the socket, which the sink's program takes out.

use super::config::Side;
use core::net::Ipv4Addr;
use gannet_demux::link;
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs;
use std::io;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// As the sink's program knows it: `MARK_MAGIC`, and four octets to fill `ECHO_ROOM`.
const ECHO_MARK: [u8; 8] = [0x75, 0x54, 0x6e, 0x47, 0, 0, 0, 0];
/// Packets of one poll.
const BUDGET: i32 = 64;
const INTERVAL: &str = "gro_flush_timeout";
/// From one poll by the timer to the next, at first.
const INTERVAL_NS: u64 = 60_000;
/// So many polls in a row may find nothing before the device raises interrupts again: days.
const DEFER: u64 = 0x7fff_ffff;

/// A socket that polls one of our devices.
#[derive(Debug)]
pub struct Companion {
    socket: gannet_rt::Companion,
    settings: Vec<(PathBuf, String)>,
}

impl Companion {
    /// Sets the device up and finds its NAPI instance. The sink's program is attached already.
    ///
    /// # Errors
    /// Where a socket cannot be made, or the SGSN's host answers no echo.
    pub fn new(side: &Side) -> io::Result<Self> {
        let socket = gannet_rt::Companion::open(SocketAddrV4::new(side.local, 0).into(), BUDGET)?;
        let settings = [("napi_defer_hard_irqs", DEFER), (INTERVAL, INTERVAL_NS)];
        let settings = settings.iter().filter_map(|(name, value)| set(&side.device, name, *value)).collect();
        let this = Self { socket, settings };
        this.find(side)?;
        this.poll();
        Ok(this)
    }

    /// False where the device's settings are out of reach: then the SGSN's core receives for us.
    #[must_use]
    pub fn is_effective(&self) -> bool {
        self.settings.len() == 2
    }

    /// Sets the time from one poll by the timer to the next: the ring has 256 places, and each poll costs an interrupt.
    pub fn set_interval(&self, interval: Duration) {
        for (path, _) in self.settings.iter().filter(|(path, _)| path.ends_with(INTERVAL)) {
            // Where it cannot be set the interval stays what it was, which the latencies show.
            let _ = fs::write(path, interval.as_nanos().to_string());
        }
    }

    /// Receives on this core what waits at the device.
    pub fn poll(&self) {
        while self.socket.poll() {}
    }

    fn find(&self, side: &Side) -> io::Result<()> {
        let port = self.socket.socket().local_addr()?.port();
        let pinger = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        pinger.bind(&SockAddr::from(SocketAddrV4::new(side.local, 0)))?;
        let request = echo_request(side, port);
        let begin = Instant::now();
        while !self.socket.knows_its_device() {
            if begin.elapsed() > Duration::from_secs(3) {
                let message = format!("{} answers no echo request through {}", side.peer, side.device);
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            pinger.send_to(&request, &SockAddr::from(SocketAddrV4::new(side.peer, 0)))?;
            for _ in 0..20 {
                std::thread::sleep(Duration::from_millis(5));
                self.poll();
                if self.socket.knows_its_device() {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        for (path, before) in &self.settings {
            // The device may be gone already.
            let _ = fs::write(path, before);
        }
    }
}

/// Sets a setting of a device and gives back where it is and what it was; `None` where it is out of reach.
fn set(device: &str, name: &str, value: u64) -> Option<(PathBuf, String)> {
    let directory = PathBuf::from("/sys/class/net").join(device);
    // What is mounted there may show another network namespace.
    let index = fs::read_to_string(directory.join("ifindex")).ok()?;
    if index.trim().parse() != Ok(link::index(device).ok()?) {
        return None;
    }
    let path = directory.join(name);
    let before = fs::read_to_string(&path).ok()?;
    fs::write(&path, value.to_string()).ok()?;
    Some((path, before))
}

fn echo_request(side: &Side, port: u16) -> Vec<u8> {
    let mut packet = vec![8, 0, 0, 0, 0x47, 0x6e, 0, 1];
    packet.extend(ECHO_MARK);
    packet.extend(udp_packet(side.peer, side.local, port));
    let sum = checksum(&packet);
    if let Some(field) = packet.get_mut(2..4) {
        field.copy_from_slice(&sum);
    }
    packet
}

/// An IPv4 packet with an empty UDP datagram.
fn udp_packet(from: Ipv4Addr, to: Ipv4Addr, port: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0];
    packet.extend(from.octets());
    packet.extend(to.octets());
    let sum = checksum(&packet);
    if let Some(field) = packet.get_mut(10..12) {
        field.copy_from_slice(&sum);
    }
    packet.extend(9_u16.to_be_bytes());
    packet.extend(port.to_be_bytes());
    packet.extend([0, 8, 0, 0]);
    packet
}

/// The checksum of the Internet (RFC 1071) over an even number of octets.
fn checksum(octets: &[u8]) -> [u8; 2] {
    let words = octets.chunks_exact(2).map(|pair| match pair {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!u16::try_from(sum).unwrap_or(0)).to_be_bytes()
}

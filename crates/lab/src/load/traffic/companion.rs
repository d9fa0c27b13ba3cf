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
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::fs::File;
use std::io;
use std::net::SocketAddrV4;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// As the sink's program knows it: `MARK_MAGIC`, and four octets to fill `ECHO_ROOM`.
const ECHO_MARK: [u8; 8] = [0x75, 0x54, 0x6e, 0x47, 0, 0, 0, 0];
/// Packets of one poll.
const BUDGET: i32 = 64;
const INTERVAL: &str = "gro_flush_timeout";
/// From one poll by the timer to the next, at first.
const FIRST_INTERVAL: Duration = Duration::from_micros(60);
/// The same while nothing is to come.
const RESTING_INTERVAL: Duration = Duration::from_millis(20);
/// So many polls in a row may find nothing before the device raises interrupts again: days.
const DEFER: u128 = 0x7fff_ffff;

/// A socket that polls one of our devices.
#[derive(Debug)]
pub struct Companion {
    socket: gannet_rig::PolledSocket,
    defer: Option<Setting>,
    interval: Option<Setting>,
}

/// A setting of a device, and what it was before.
#[derive(Debug)]
struct Setting {
    file: File,
    before: Vec<u8>,
}

impl Setting {
    /// `None` where it is out of reach.
    fn open(device: &str, name: &str) -> Option<Self> {
        let file = gannet_rig::device_setting(device, name).ok()?;
        let mut before = vec![0; 32];
        let len = file.read_at(&mut before, 0).ok()?;
        before.truncate(len);
        Some(Self { file, before })
    }

    fn set(&self, value: u128) -> io::Result<()> {
        self.file.write_all_at(value.to_string().as_bytes(), 0)
    }
}

impl Drop for Setting {
    fn drop(&mut self) {
        // The device may be gone already.
        let _ = self.file.write_all_at(&self.before, 0);
    }
}

impl Companion {
    /// Sets the device up and finds its NAPI instance. The sink's program is attached already.
    ///
    /// # Errors
    /// Where a socket cannot be made, or the SGSN's host answers no echo.
    pub fn new(side: &Side) -> io::Result<Self> {
        let socket = gannet_rig::PolledSocket::open(SocketAddrV4::new(side.local, 0).into(), BUDGET)?;
        let open = |name, value| {
            let setting = Setting::open(&side.device, name)?;
            setting.set(value).ok()?;
            Some(setting)
        };
        let interval = open(INTERVAL, FIRST_INTERVAL.as_nanos());
        let this = Self { socket, defer: open("napi_defer_hard_irqs", DEFER), interval };
        this.find(side)?;
        this.poll();
        Ok(this)
    }

    /// False where the device's settings are out of reach: then the SGSN's core receives for us.
    #[must_use]
    pub const fn is_effective(&self) -> bool {
        self.defer.is_some() && self.interval.is_some()
    }

    /// Sets the time from one poll by the timer to the next: the ring has 256 places, and each poll costs an interrupt.
    pub fn set_interval(&self, interval: Duration) {
        // Where it cannot be set the interval stays what it was, which the latencies show.
        let _ = self.interval.as_ref().map(|setting| setting.set(interval.as_nanos()));
    }

    /// Leaves the device nearly alone until the next interval: each look costs this core an interrupt, also where other
    /// traffic than its own has it.
    pub fn rest(&self) {
        self.set_interval(RESTING_INTERVAL);
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

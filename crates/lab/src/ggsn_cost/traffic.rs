//! User data through a GGSN: who sends it, and what counts it at the other end.

use super::contexts::Tunnel;
use crate::demo::configs::address;
use core::net::Ipv4Addr;
use gannet_demux::bpf::{Attachment, Loader, Object, XdpMode};
use gannet_machine::frame::FramePool;
use gannet_rig::{Datagrams, NetworkNamespace};
use gannet_wire::gtp::PORT_USER;
use gannet_wire::gtp::v1u::GPdu;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Octets of UDP's payload in each T-PDU, and of the whole T-PDU.
pub const PAYLOAD: u16 = 200;
const T_PDU: u16 = PAYLOAD + 28;
/// The UDP port of host and mobiles, by which the sinks know what they count.
const PORT: u16 = 7007;
/// Datagrams of one call of the sender: a quarter of the ring between a pair of veth devices.
const BATCH: u32 = 64;
/// What the sender is late by is made up for to this extent; the rest is not sent.
const LATE_MAX: u64 = 256;
/// The core of sender and sink.
const OUTER_CORE: usize = 1;

/// Which way the T-PDUs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the SGSN to the host.
    Up,
    /// From the host to the SGSN.
    Down,
}

impl Way {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Up, Self::Down];

    /// For a person.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "uplink",
            Self::Down => "downlink",
        }
    }
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// Does something on a thread that is in a network namespace, on the core of sender and sink.
///
/// # Errors
/// What the work says, or that the thread cannot get there.
pub fn inside<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let there = || {
        NetworkNamespace::named(namespace).and_then(|namespace| namespace.enter()).map_err(text)?;
        gannet_rt::pin_to_core(OUTER_CORE).map_err(text)?;
        work()
    };
    let result = std::thread::scope(|scope| scope.spawn(there).join());
    result.unwrap_or_else(|_| Err("a thread of the load has failed".to_owned()))
}

/// A program at the driver of a device, which counts T-PDUs and drops them.
#[derive(Debug)]
pub struct Sink {
    object: Object,
    _attachment: Attachment,
}

impl Sink {
    /// Attaches it to the device of this name in the network namespace of the calling thread.
    ///
    /// # Errors
    /// What the kernel does not permit.
    pub fn attach(device: &str, way: Way) -> Result<Self, String> {
        let index = gannet_demux::link::index(device).map_err(|error| format!("{device}: {error}"))?;
        let loader = Loader::new(&gannet_rig::objects::COUNT);
        let mut object = loader
            .global("tunnelled", &[u8::from(way == Way::Down)])
            .global("port", &PORT.to_ne_bytes())
            .global("octets", &T_PDU.to_ne_bytes())
            .load()
            .map_err(text)?;
        let attachment = object.attach_xdp("count", index, XdpMode::Native).map_err(text)?;
        Ok(Self { object, _attachment: attachment })
    }

    /// T-PDUs that have arrived so far.
    ///
    /// # Errors
    /// That of the kernel.
    pub fn count(&self) -> Result<u64, String> {
        self.object.array_value("counted", 0).map_err(text)
    }
}

/// Datagrams that are sent again and again in their order: one of each context.
#[derive(Debug)]
pub struct Source {
    from: SocketAddr,
    datagrams: Vec<(SocketAddr, Vec<u8>)>,
}

impl Source {
    /// Of the T-PDUs of these contexts one way.
    ///
    /// # Errors
    /// Where an address of the stage cannot be read.
    pub fn new(way: Way, tunnels: &[Tunnel]) -> Result<Self, String> {
        let [sgsn, ggsn, host] = [address::GN_SGSN, address::GN_GGSN, address::GI_HOST]
            .map(|address| address.parse::<Ipv4Addr>().map_err(text));
        let (sgsn, ggsn, host) = (sgsn?, ggsn?, host?);
        Ok(match way {
            Way::Up => Self {
                from: (sgsn, PORT_USER).into(),
                datagrams: tunnels
                    .iter()
                    .map(|tunnel| ((ggsn, PORT_USER).into(), g_pdu(tunnel, host)))
                    .collect(),
            },
            Way::Down => Self {
                from: (host, PORT).into(),
                datagrams: tunnels
                    .iter()
                    .map(|tunnel| ((tunnel.address, PORT).into(), vec![0; usize::from(PAYLOAD)]))
                    .collect(),
            },
        })
    }

    /// Sends at a rate for a time, in the network namespace of the calling thread; says how many were sent. Of what is
    /// late by more than some batches nothing is sent later.
    ///
    /// # Errors
    /// That of the socket, or that the person has interrupted it.
    pub fn send(&self, pps: f64, lasting: Duration, stop: &AtomicBool) -> Result<u64, String> {
        let socket = UdpSocket::bind(self.from).map_err(|error| format!("{}: {error}", self.from))?;
        let frames = FramePool::new(BATCH as usize);
        let gap_ns = Duration::from_secs_f64(1.0 / pps).as_nanos().max(1);
        let (mut datagrams, mut waiting) = (Datagrams::default(), VecDeque::new());
        let (mut sent, mut missed) = (0_u64, 0_u64);
        let mut next = self.datagrams.iter().cycle();
        let begun = Instant::now();
        while begun.elapsed() < lasting {
            if stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            let due = u64::try_from(begun.elapsed().as_nanos() / gap_ns).unwrap_or(u64::MAX);
            let late = due.saturating_sub(sent + missed);
            missed += late.saturating_sub(LATE_MAX);
            if late == 0 {
                std::thread::sleep(Duration::from_micros(20));
                continue;
            }
            let many = late.min(BATCH.into());
            for _ in 0..many {
                let Some((to, octets)) = next.next() else { return Err("no PDP context".to_owned()) };
                waiting.extend(frames.copy_of(octets).map(|frame| (*to, frame)));
            }
            match datagrams.send(&socket, &mut waiting) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(text(error)),
                _ => sent += many.saturating_sub(waiting.len() as u64),
            }
            waiting.clear();
        }
        Ok(sent)
    }
}

/// A mobile's T-PDU to the host in a G-PDU: UDP in IPv4, no checksum of UDP (RFC 768).
fn g_pdu(tunnel: &Tunnel, host: Ipv4Addr) -> Vec<u8> {
    let header = GPdu { teid: tunnel.teid, sequence: None, npdu_number: None };
    let mut octets = vec![0; header.buffer_len()];
    // The length fits its field.
    let _ = header.emit(T_PDU.into(), &mut octets);
    let mut ip = vec![0x45, 0];
    ip.extend(T_PDU.to_be_bytes());
    ip.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    ip.extend(tunnel.address.octets());
    ip.extend(host.octets());
    let sum = checksum(&ip);
    ip.splice(10..12, sum);
    octets.extend(ip);
    octets.extend([PORT, PORT, PAYLOAD + 8, 0].map(u16::to_be_bytes).concat());
    octets.extend(vec![0; PAYLOAD.into()]);
    octets
}

/// The checksum of the Internet (RFC 1071) over an even number of octets.
fn checksum(octets: &[u8]) -> [u8; 2] {
    let mut sum: u32 = octets.as_chunks().0.iter().map(|pair| u32::from(u16::from_be_bytes(*pair))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!u16::try_from(sum).unwrap_or(0)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::id::Teid;

    /// The header of a datagram to the host, with the checksum worked out by hand.
    #[test]
    fn a_g_pdu_holds_the_mobiles_packet() {
        let tunnel = Tunnel { teid: Teid(0x0102_0304), address: Ipv4Addr::new(198, 18, 0, 2) };
        let octets = g_pdu(&tunnel, Ipv4Addr::new(192, 0, 2, 10));
        let (g_pdu, _, range) = GPdu::parse(&octets).unwrap();
        assert_eq!((g_pdu.teid, range.len()), (tunnel.teid, usize::from(T_PDU)));
        let t_pdu = &octets[range];
        // 4500+00e4+4011+c612+0002+c000+020a = 20e13, so 0e15, and its complement.
        assert_eq!(t_pdu[10..12], [0xf1, 0xea]);
        assert_eq!(t_pdu[12..20], [198, 18, 0, 2, 192, 0, 2, 10]);
        assert_eq!(t_pdu[20..28], [0x1b, 0x5f, 0x1b, 0x5f, 0, 208, 0, 0]);
        assert_eq!(t_pdu.len(), 228);
    }

    #[test]
    fn each_context_has_its_turn() {
        let tunnels = [1, 2].map(|n| Tunnel { teid: Teid(n.into()), address: Ipv4Addr::new(198, 18, 0, n) });
        let down = Source::new(Way::Down, &tunnels).unwrap();
        let to: Vec<_> = down.datagrams.iter().map(|(to, octets)| (to.to_string(), octets.len())).collect();
        assert_eq!(to, [("198.18.0.1:7007".to_owned(), 200), ("198.18.0.2:7007".to_owned(), 200)]);
        let up = Source::new(Way::Up, &tunnels).unwrap();
        assert!(up.datagrams.iter().all(|(to, _)| to.to_string() == "192.0.2.6:2152"));
    }
}

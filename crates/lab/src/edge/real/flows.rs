//! The streams of figure 6 as UDP: when each packet is to be sent, who sends it, and what arrives at the far end.
//!
//! A packet's payload begins with its number and the time at which it was sent. The far end takes the kernel's time stamp of its
//! arrival: both are of the clock of this machine, so that the difference is the delay.

use super::super::link::{Arrivals, Got, Measured, Plan, Source};
use super::super::scenario::STREAMS;
use crate::report::greatest;
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_machine::frame::FramePool;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_rt::{ETHER_TYPE_IPV4, PACKET_BATCH, PacketLayer, PacketSocket, wait_for_packets};
use gannet_wire::gtp::PORT_USER;
use gannet_wire::gtp::v1u::GPdu;
use std::net::UdpSocket;
use std::time::SystemTime;

/// The UDP port of the far end.
pub const PORT: u16 = 6000;
/// The first stream has this source port, the others those behind it.
pub const FIRST_SOURCE_PORT: u16 = 5001;
/// Octets of IP and UDP in front of the payload.
const HEADERS: usize = 28;
/// Octets of number and time in the payload.
const STAMP: usize = 12;
/// Where nothing has arrived for so long behind the last packet, nothing more will.
const QUIET: Duration = Duration::from_millis(400);
/// The sender goes before all that takes turns, but not before the emulator.
const RANK: u8 = 4;

/// A packet that is to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// After the begin.
    pub at: Duration,
    /// The place of its stream in [`STREAMS`].
    pub flow: u32,
}

/// When packets are sent: phases are drawn anew for each of `sets` parts of `plan.span`; the warm-up has those of the first.
pub fn schedule(
    offered_kbps: &[u32; STREAMS.len()],
    arrivals: Arrivals,
    (plan, sets): (Plan, u32),
    seed: u64,
) -> Vec<Sending> {
    let mut rng = Rng::seeded(seed);
    let mut all = Vec::new();
    let mut from = Duration::ZERO;
    for set in 0..sets {
        let until = plan.warm_up + Duration(plan.span.0 * (u64::from(set) + 1));
        let lasts = Instant::ZERO + Duration(until.0 - from.0);
        for mut source in Source::of_all(offered_kbps, arrivals, &mut rng) {
            while source.next < lasts {
                all.push(Sending { at: from + source.next.since(Instant::ZERO), flow: source.flow });
                source.advance();
            }
        }
        from = until;
    }
    all.sort_by_key(|sending| (sending.at, sending.flow));
    all
}

/// The time of the kernel's stamps: since 1970.
fn now() -> Instant {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Instant(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// Sends all in their time to the address of their stream, in the network namespace of the calling thread; says how late the latest
/// one was.
///
/// # Errors
/// That of a socket, or that the person has interrupted it.
pub fn send(
    sendings: &[Sending],
    to: &[Ipv4Addr; STREAMS.len()],
    stop: &AtomicBool,
) -> Result<Duration, String> {
    let open = |(port, to): (u16, &Ipv4Addr)| -> Result<UdpSocket, String> {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).map_err(text)?;
        socket.connect((*to, PORT)).map_err(text)?;
        Ok(socket)
    };
    let sockets: Vec<UdpSocket> = (FIRST_SOURCE_PORT..).zip(to).map(open).collect::<Result<_, _>>()?;
    // Without the right to preempt others it is as late as they let it be, which is told.
    let _ = gannet_rig::set_preempting(None, RANK);
    gannet_rig::set_timer_slack(1).map_err(text)?;
    let mut payload = [0; 2048];
    let (begin, mut latest) = (now(), Duration::ZERO);
    for (sending, number) in sendings.iter().zip(0_u32..) {
        let due = begin + sending.at;
        let wait = due.since(now());
        if wait > Duration::ZERO {
            std::thread::sleep(std::time::Duration::from_nanos(wait.0));
        }
        if stop.load(Relaxed) {
            return Err("interrupted".to_owned());
        }
        let (Some(socket), Some(stream)) =
            (sockets.get(sending.flow as usize), STREAMS.get(sending.flow as usize))
        else {
            continue;
        };
        let octets = payload.get_mut(..stream.octets as usize - HEADERS).unwrap_or_default();
        let at = now();
        latest = latest.max(at.since(due));
        write_stamp(octets, number, at);
        socket.send(octets).map_err(|error| format!("stream {}: {error}", stream.name))?;
    }
    Ok(latest)
}

fn write_stamp(payload: &mut [u8], number: u32, at: Instant) {
    if let Some(place) = payload.get_mut(..STAMP) {
        place.copy_from_slice(&[&number.to_be_bytes()[..], &at.0.to_be_bytes()].concat());
    }
}

/// A packet that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Which it was of those that were sent.
    pub number: u32,
    /// Since it was sent.
    pub delay: Duration,
}

/// The far end of the line.
#[derive(Debug)]
pub struct Receiver {
    socket: PacketSocket,
    pool: FramePool,
    /// The kernel answers no packet to a port that is open; nobody reads them.
    _ports: [UdpSocket; 2],
}

impl Receiver {
    /// Opens it on a device of the network namespace of the calling thread.
    ///
    /// # Errors
    /// A device or a right that is missing.
    pub fn open(device: &str) -> Result<Self, String> {
        let socket =
            PacketSocket::open(device, PacketLayer::Packets).map_err(|error| format!("{device}: {error}"))?;
        let open = |port| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port)).map_err(text);
        Ok(Self { socket, pool: FramePool::new(2 * PACKET_BATCH), _ports: [open(PORT)?, open(PORT_USER)?] })
    }

    /// Takes all that arrives until nothing has come for a while after `over` is set.
    ///
    /// # Errors
    /// That of the socket, or that packets were lost at it.
    pub fn receive(&mut self, over: &AtomicBool) -> Result<Vec<Arrival>, String> {
        let mut all = Vec::new();
        let mut last = now();
        while !over.load(Relaxed) || now().since(last) < QUIET {
            wait_for_packets([&self.socket, &self.socket], Duration::from_millis(50)).map_err(text)?;
            let mut frames: Vec<_> = core::iter::from_fn(|| self.pool.alloc()).take(PACKET_BATCH).collect();
            let count = self.socket.receive(&mut frames).map_err(text)?;
            for (index, mut frame) in frames.into_iter().take(count).enumerate() {
                let Some(arrived) = self.socket.arrived(index) else { continue };
                let is_one = arrived.is_for_us && arrived.ether_type == ETHER_TYPE_IPV4;
                if is_one
                    && frame.set_len(arrived.len)
                    && let Some((number, sent)) = read_stamp(&frame)
                {
                    let at = if arrived.stamp_ns == 0 { now() } else { Instant(arrived.stamp_ns) };
                    all.push(Arrival { number, delay: at.since(sent) });
                    last = now();
                }
            }
        }
        match self.socket.dropped_before() {
            Ok(0) => Ok(all),
            Ok(lost) => Err(format!("{lost} packets were lost at the socket of the far end")),
            Err(error) => Err(text(error)),
        }
    }
}

/// The payload of UDP to a port, in IPv4 without options.
fn datagram(packet: &[u8], port: u16) -> Option<&[u8]> {
    let is_one = packet.first() == Some(&0x45)
        && packet.get(9) == Some(&17)
        && packet.get(22..24) == Some(&port.to_be_bytes());
    packet.get(HEADERS..).filter(|_| is_one)
}

/// The T-PDU of a G-PDU.
fn t_pdu(packet: &[u8]) -> Option<&[u8]> {
    let octets = datagram(packet, PORT_USER)?;
    let (_, _, range) = GPdu::parse(octets).ok()?;
    octets.get(range)
}

/// Number and time of a packet of the streams, as it is or in a G-PDU.
fn read_stamp(packet: &[u8]) -> Option<(u32, Instant)> {
    let payload = datagram(t_pdu(packet).unwrap_or(packet), PORT)?;
    let (number, rest) = payload.split_first_chunk()?;
    let (at, _) = rest.split_first_chunk()?;
    Some((u32::from_be_bytes(*number), Instant(u64::from_be_bytes(*at))))
}

/// What each stream got of what it sent after the warm-up.
///
/// # Errors
/// Where a packet has arrived twice, or one that was not sent.
pub fn account(
    sendings: &[Sending],
    arrivals: &[Arrival],
    (plan, sets): (Plan, u32),
) -> Result<Measured, String> {
    let mut streams = vec![Got::default(); STREAMS.len()];
    let mut delays: Vec<Option<Duration>> = vec![None; sendings.len()];
    for arrival in arrivals {
        let place = delays.get_mut(arrival.number as usize);
        let place = place.ok_or_else(|| format!("packet {} was not sent", arrival.number))?;
        if place.replace(arrival.delay).is_some() {
            return Err(format!("packet {} has arrived twice", arrival.number));
        }
    }
    for (sending, delay) in sendings.iter().zip(delays) {
        let place = sending.flow as usize;
        let (Some(got), Some(stream)) = (streams.get_mut(place), STREAMS.get(place)) else { continue };
        if sending.at < plan.warm_up {
            continue;
        }
        got.offered_octets += u64::from(stream.octets);
        if let Some(delay) = delay {
            got.accepted_octets += u64::from(stream.octets);
            got.delays_ns.push(u32::try_from(delay.0).unwrap_or(u32::MAX));
        }
    }
    Ok(Measured { streams, span: Duration(plan.span.0 * u64::from(sets)) })
}

/// The largest of some times, in µs.
pub fn largest_us(times: &[Duration]) -> f64 {
    greatest(times.iter().map(|time| time.as_secs_f64() * 1e6))
}

#[cfg(test)]
mod tests {
    use super::super::arms::TUNNEL;
    use super::*;
    use gannet_wire::id::Teid;

    const PLAN: (Plan, u32) =
        (Plan { warm_up: Duration::from_secs(1), span: Duration::from_millis(1500) }, 4);

    fn offered() -> [u32; STREAMS.len()] {
        STREAMS.map(|stream| stream.offered_kbps)
    }

    #[test]
    fn each_part_has_the_rates_and_phases_of_its_own() {
        let all = schedule(&offered(), Arrivals::Periodic, PLAN, 3);
        assert!(all.is_sorted_by_key(|sending| sending.at));
        assert!(all.last().unwrap().at < Duration::from_secs(7));
        let of = |flow, part: u64| -> Vec<u64> {
            let from = 1000 + 1500 * part;
            let within = |at: &u64| (from..from + 1500).contains(&(at / 1_000_000));
            all.iter().filter(|of| of.flow == flow).map(|of| of.at.0).filter(within).collect()
        };
        for (stream, flow) in STREAMS.iter().zip(0_u32..) {
            let expected = f64::from(stream.offered_kbps) * 1500.0 / 8.0 / f64::from(stream.octets);
            let phase = |part| {
                let times = of(flow, part);
                assert!((times.len() as f64 - expected).abs() <= 1.0, "{}: {}", stream.name, times.len());
                times[0] - (1000 + 1500 * part) * 1_000_000
            };
            assert!(phase(1) != phase(2) && phase(2) != phase(3), "{}", stream.name);
        }
        assert_eq!(all, schedule(&offered(), Arrivals::Periodic, PLAN, 3));
        assert_ne!(all, schedule(&offered(), Arrivals::Poisson, PLAN, 3));
    }

    #[test]
    fn what_arrives_counts_once_and_what_does_not_is_lost() {
        let sendings = [(0, 1), (1000, 1), (1200, 0), (1300, 1)]
            .map(|(ms, flow)| Sending { at: Duration::from_millis(ms), flow });
        let arrival = |number, ms| Arrival { number, delay: Duration::from_millis(ms) };
        let arrivals = [arrival(0, 9), arrival(3, 5), arrival(1, 3)];
        let measured = account(&sendings, &arrivals, PLAN).unwrap();
        let [a1, a2] = [&measured.streams[0], &measured.streams[1]];
        // The first was sent in the warm-up.
        assert_eq!((a2.offered_octets, a2.accepted_octets), (400, 400));
        assert_eq!(a2.delays_ns, [3_000_000, 5_000_000]);
        assert_eq!((a1.offered_octets, a1.accepted_octets), (1000, 0));
        assert_eq!(measured.span, Duration::from_secs(6));
        assert!(account(&sendings, &[arrival(1, 3), arrival(1, 4)], PLAN).unwrap_err().contains("twice"));
        assert!(account(&sendings, &[arrival(4, 3)], PLAN).unwrap_err().contains("not sent"));
    }

    #[test]
    fn a_stamp_is_read_from_packets_of_the_streams_alone() {
        let mut packet = [0; 40];
        packet[0] = 0x45;
        packet[9] = 17;
        packet[22..24].copy_from_slice(&PORT.to_be_bytes());
        write_stamp(&mut packet[HEADERS..], 7, Instant(123_456_789_012));
        assert_eq!(read_stamp(&packet), Some((7, Instant(123_456_789_012))));
        assert_eq!(read_stamp(&packet[..39]), None);
        let header = GPdu { teid: Teid(7), sequence: Some(1), npdu_number: None };
        let mut tunnelled = vec![0; HEADERS + header.buffer_len()];
        tunnelled[0] = 0x45;
        tunnelled[9] = 17;
        tunnelled[22..24].copy_from_slice(&PORT_USER.to_be_bytes());
        assert!(header.emit(packet.len(), &mut tunnelled[HEADERS..]));
        assert_eq!(tunnelled.len(), TUNNEL as usize);
        tunnelled.extend(packet);
        assert_eq!(read_stamp(&tunnelled), read_stamp(&packet));
        assert_eq!(read_stamp(&tunnelled[..tunnelled.len() - 1]), None);
        packet[23] ^= 1;
        assert_eq!(read_stamp(&packet), None);
    }
}

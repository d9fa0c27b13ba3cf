//! Packets, and the frames that they become.

use super::super::line::{Conditions, Kind};
use super::line::Line;
use super::path::{MOBILE, NETWORK};
use gannet_machine::time::{Duration, Instant};
use gannet_wire::sndcp::{DATA_FIRST_LEN, DATA_NEXT_LEN, UNITDATA_FIRST_LEN, UNITDATA_NEXT_LEN};

const IPV4: usize = 20;
const ICMP: usize = 8;
/// Octets of a UI frame beside its information: address, control field and FCS.
const UI: usize = 1 + 2 + 3;
/// Octets of payload of a full segment through GPRS: a packet of 1482 octets less IPv4, TCP and time stamps.
pub const PAYLOAD: f64 = 1482.0 - 52.0;
/// An acknowledgement of TCP: headers of IPv4 and TCP, and time stamps.
pub const ANSWER: usize = 52;
/// Octets of the line that it takes: SNDCP, LLC, adaptation, Ethernet and what that adds.
pub const OF_LINE: f64 = 1482.0 + 3.0 + 7.0 + 8.0 + 14.0 + 24.0;

/// Lengths of the packets that an echo request with so many octets of data becomes.
pub fn fragments(data: usize, mtu: usize) -> Vec<usize> {
    let all = data + ICMP;
    if all + IPV4 <= mtu {
        return vec![all + IPV4];
    }
    let each = (mtu - IPV4) / 8 * 8;
    (0..all).step_by(each).map(|from| (all - from).min(each) + IPV4).collect()
}

/// Lengths of the units that packets become, with headers of which the first and the next are so long.
fn segments(packets: &[usize], longest: usize, (first, next): (usize, usize)) -> Vec<usize> {
    let mut units = Vec::new();
    for packet in packets {
        let (mut left, mut header) = (*packet, first);
        while left > 0 {
            let taken = left.min(longest - header);
            units.push(taken + header);
            (left, header) = (left - taken, next);
        }
    }
    units
}

/// Lengths of the units of acknowledged mode.
pub fn units(packets: &[usize], n201_i: usize) -> Vec<usize> {
    segments(packets, n201_i, (DATA_FIRST_LEN, DATA_NEXT_LEN))
}

/// Lengths of the UI frames.
pub fn ui_frames(packets: &[usize], n201_u: usize) -> Vec<usize> {
    let units = segments(packets, n201_u, (UNITDATA_FIRST_LEN, UNITDATA_NEXT_LEN));
    units.into_iter().map(|unit| unit + UI).collect()
}

/// How long until frames have gone from the mobile to the network, and as many back.
pub fn exchange(kind: Kind, frames: &[usize], send: impl Fn(&mut Line, usize, Instant, usize)) -> Duration {
    let mut line = Line::new(kind, Conditions::NONE);
    let mut now = Instant::ZERO;
    for end in [MOBILE, NETWORK] {
        frames.iter().for_each(|octets| send(&mut line, end, now, *octets));
        let mut left = frames.len();
        while left > 0
            && let Some(next) = line.next()
        {
            now = now.max(next);
            while line.deliver(now).is_some() {
                left -= 1;
            }
        }
    }
    now.since(Instant::ZERO)
}

/// Payload of TCP in packets of 1500 octets that follow each other, in Mbit/s. Acknowledgements of TCP are left out, as they are
/// with GPRS.
pub fn plain_mbps(kind: Kind) -> f64 {
    const PACKETS: u32 = 1000;
    let mut line = Line::new(kind, Conditions::NONE);
    (0..PACKETS).for_each(|_| line.send_packet(NETWORK, Instant::ZERO, 1500));
    let (mut left, mut now) = (PACKETS, Instant::ZERO);
    while left > 0
        && let Some(next) = line.next()
    {
        now = now.max(next);
        while line.deliver(now).is_some() {
            left -= 1;
        }
    }
    f64::from(PACKETS - left) * (1500.0 - 52.0) * 8.0 / 1e6 / now.since(Instant::ZERO).as_secs_f64()
}

/// Packets that the source of [`plain_answered_mbps`] keeps on their way.
const ON_THE_WAY: u32 = 64;

/// The same where an end sends, and the other answers each second packet with one of `answer` octets, as TCP does.
pub fn plain_answered_mbps(kind: Kind, end: usize, answer: usize) -> f64 {
    const PACKETS: u32 = 2000;
    let mut line = Line::new(kind, Conditions::NONE);
    let (mut now, mut arrived) = (Instant::ZERO, 0);
    (0..ON_THE_WAY).for_each(|_| line.send_packet(end, now, 1500));
    while arrived < PACKETS
        && let Some(next) = line.next()
    {
        now = now.max(next);
        while let Some((at, _)) = line.deliver(now) {
            if at == end {
                continue;
            }
            arrived += 1;
            line.send_packet(end, now, 1500);
            if arrived % 2 == 0 {
                line.send_packet(at, now, answer);
            }
        }
    }
    f64::from(arrived) * (1500.0 - 52.0) * 8.0 / 1e6 / now.since(Instant::ZERO).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_become_what_the_clauses_say() {
        assert_eq!(fragments(1600, 1500), [1500, 148]);
        assert_eq!(fragments(1600, 1482), [1476, 172]);
        assert_eq!(fragments(1454, 1482), [1482]);
        assert_eq!(units(&[1482], 1485), [1485]);
        assert_eq!(units(&[1500], 1485), [1485, 19]);
        // 496 and 497 octets of the packet in each, with headers of 4 and 3.
        assert_eq!(ui_frames(&[1500], 500), [506, 506, 506, 19]);
    }

    #[test]
    fn full_packets_fill_the_line() {
        let mbps = plain_mbps(Kind::Ethernet);
        assert!((mbps - 100.0 * 1448.0 / 1538.0).abs() < 0.1, "{mbps}");
        // 810 us and (1514 + 22) octets at 11 Mbit/s for 1448 octets.
        let mbps = plain_mbps(Kind::Wlan);
        assert!((mbps - 1448.0 * 8.0 / (810.0 + 1536.0 * 8.0 / 11.0)).abs() < 0.01, "{mbps}");
    }
}

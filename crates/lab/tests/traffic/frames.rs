//! Single frames through the kernel's programs.

use crate::reflector::{Target, downlink, g_pdu, uplink};
use crate::{GB, GN, between_namespaces, config, teid_of, tlli_of};
use gannet_lab::load::traffic::calendar::{Calendar, Heap, Memory};
use gannet_lab::load::traffic::{Direction, Group, GroupResult, Spacing, Traffic, TrafficConfig};
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);
const N201_U: usize = 1520;

/// Programs with their maps, attached to nothing, at the beginning of a step.
pub fn unattached(config: TrafficConfig, body: impl FnOnce(&mut Traffic) + Send) {
    between_namespaces(|_| {
        let mut traffic = Traffic::unattached(config).unwrap();
        traffic.begin(LONG);
        body(&mut traffic);
    });
}

/// The next frame that is due.
fn next(traffic: &Traffic) -> Vec<u8> {
    let mut frame = Vec::new();
    for _ in 0..1_000_000 {
        if traffic.generate(&mut frame).unwrap() {
            return frame;
        }
    }
    panic!("nothing is due");
}

/// Flow and sequence number of an N-PDU.
pub fn mark(n_pdu: &[u8]) -> (u32, u32) {
    let word = |at: usize| u32::from_le_bytes([n_pdu[at], n_pdu[at + 1], n_pdu[at + 2], n_pdu[at + 3]]);
    assert_eq!(word(28), 0x476e_5475);
    (word(32), word(36))
}

fn sum_is_right(header: &[u8]) -> bool {
    let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    (sum & 0xffff) + (sum >> 16) == 0xffff
}

/// A frame on its way from the SGSN to us.
pub fn ethernet(udp_payload: &[u8], from_port: u16, to_port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0];
    let length = u16::try_from(udp_payload.len()).unwrap();
    frame.extend((length + 28).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0]);
    frame.extend(GB.1.octets());
    frame.extend(GB.0.octets());
    for field in [from_port, to_port, length + 8, 0] {
        frame.extend(field.to_be_bytes());
    }
    frame.extend(udp_payload);
    frame
}

/// The frames of an N-PDU for its own mobile, in its own cell.
fn right_frames(n_pdu: &[u8], n201_u: usize) -> Vec<Vec<u8>> {
    let (flow, sequence) = mark(n_pdu);
    let number = u16::try_from(sequence & 0xfff).unwrap();
    let target = Target {
        tlli: tlli_of(flow),
        bvci: 2 + u16::try_from(flow % 4).unwrap(),
        number,
        ..Target::default()
    };
    downlink(n_pdu, target, n201_u).iter().map(|pdu| ethernet(pdu, 23_000, 22_000)).collect()
}

/// The next N-PDU.
pub fn n_pdu_of(traffic: &Traffic) -> Vec<u8> {
    g_pdu(&next(traffic)[42..]).1
}

pub fn result(traffic: &Traffic) -> GroupResult {
    traffic.so_far().into_iter().next().unwrap()
}

/// The kernel's program takes the flows in the order that the calendar gives.
pub fn kernel_and_calendar_agree() {
    let mut config = config(300, 1_000_000.0);
    for (number, flow) in (0_u32..).zip(config.flows.iter_mut()) {
        flow.rate_pps = 20_000.0 * f64::from(1 + number % 7);
        if number % 3 == 0 {
            flow.spacing = Spacing::Exponential;
        }
    }
    config.line_pps = 1_000_000_000;
    let model = Calendar::new(Heap::new(config.flows.len()));
    model.memory.plan().stretch.store(1 << 16, Relaxed);
    model.begin(&config.flows, config.seed, 1, config.pacing);
    unattached(config, |traffic| {
        for n in 0..5_000 {
            let (_, t_pdu) = g_pdu(&next(traffic)[42..]);
            let expected = (0..1_000).find_map(|_| model.next_due(u64::MAX / 2)).unwrap().0;
            assert_eq!(mark(&t_pdu).0, expected, "N-PDU {n}");
        }
    });
}

/// Downlink frames are what the SGSN expects, of each size.
pub fn g_pdus_are_right() {
    let mut config = config(40, 5_000.0);
    for (flow, size) in config.flows.iter_mut().zip([56, 100, 378, 1400, 1500, 57, 63].into_iter().cycle()) {
        flow.size = size;
    }
    unattached(config, |traffic| {
        let mut expected = vec![0; 40];
        for _ in 0..1_000 {
            let frame = next(traffic);
            assert_eq!(frame[..6], [2, 0, 0, 0, 0, 2]);
            assert!(sum_is_right(&frame[14..34]), "{:02x?}", &frame[14..34]);
            assert_eq!(frame[26..34], [GN.0.octets(), GN.1.octets()].concat());
            assert_eq!(frame[34..38], [8, 104, 8, 104]);
            let udp_length = usize::from(u16::from_be_bytes([frame[38], frame[39]]));
            let ip_length = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            assert_eq!((ip_length + 14, udp_length + 34), (frame.len(), frame.len()));
            let (teid, t_pdu) = g_pdu(&frame[42..]);
            let (flow, sequence) = mark(&t_pdu);
            assert_eq!(teid, teid_of(flow));
            assert_eq!(t_pdu.len(), usize::from(traffic.config().flows[flow as usize].size));
            assert!(sum_is_right(&t_pdu[..20]));
            assert_eq!(t_pdu[16..20], Ipv4Addr::from_bits(0x0a00_0002 + flow).octets());
            assert_eq!(sequence, expected[flow as usize]);
            expected[flow as usize] += 1;
        }
        assert_eq!(result(traffic).offered, 1_000);
        let flows: Vec<u32> = traffic.flow_results().map(|flow| flow.offered).collect();
        assert_eq!(flows, expected);
    });
}

/// Uplink frames too, with short and long lengths and a right FCS, mixed with downlink ones.
pub fn uplink_is_right() {
    let mut config = config(16, 10_000.0);
    let up: Vec<_> = config.flows.iter().map(|flow| flow.up(flow.teid)).collect();
    config.flows.extend(up);
    for (flow, size) in config.flows.iter_mut().zip([378, 100, 117, 118, 1400].into_iter().cycle()) {
        flow.size = size;
    }
    unattached(config, |traffic| {
        let mut seen = [0_u32; 2];
        let mut expected = [0_u16; 32];
        while seen.iter().any(|count| *count < 700) {
            let frame = next(traffic);
            let to_port = u16::from_be_bytes([frame[36], frame[37]]);
            assert!(sum_is_right(&frame[14..34]), "{:02x?}", &frame[14..34]);
            if to_port == 2152 {
                seen[0] += 1;
                continue;
            }
            seen[1] += 1;
            assert_eq!((to_port, &frame[34..36]), (23_000, &22_000_u16.to_be_bytes()[..]));
            assert_eq!(frame[26..34], [GB.0.octets(), GB.1.octets()].concat());
            let (tlli, bvci, nu, n_pdu) = uplink(&frame[42..]);
            let flow = mark(&n_pdu).0;
            let spec = &traffic.config().flows[flow as usize];
            assert_eq!((spec.direction, spec.size), (Direction::Up, u16::try_from(n_pdu.len()).unwrap()));
            assert_eq!((tlli, u32::from(bvci)), (spec.tlli, 2 + spec.cell));
            assert_eq!(nu, expected[flow as usize], "N(U) of flow {flow}");
            expected[flow as usize] = (nu + 1) % 512;
            assert_eq!(n_pdu[12..16], spec.address.octets());
        }
    });
}

/// Everything that can happen to an N-PDU, once each, has its own counter.
pub fn each_defect_has_its_counter() {
    unattached(config(8, 10_000.0), |traffic| {
        let counted = |traffic: &Traffic, before: &GroupResult| {
            let now = result(traffic);
            [
                now.delivered - before.delivered,
                now.corrupt - before.corrupt,
                now.wrong_mobile - before.wrong_mobile,
                now.wrong_cell - before.wrong_cell,
                now.repeated - before.repeated,
                now.reordered - before.reordered,
            ]
        };
        // As it should be.
        let before = result(traffic);
        let right = right_frames(&n_pdu_of(traffic), N201_U).remove(0);
        assert!(!traffic.sink(&right).unwrap());
        assert_eq!(counted(traffic, &before), [1, 0, 0, 0, 0, 0]);
        // Again.
        traffic.sink(&right).unwrap();
        assert_eq!(counted(traffic, &before), [1, 0, 0, 0, 1, 0]);
        // Each octet of the N-PDU changed, one at a time; but for the mark's first four it is known for ours.
        let before = result(traffic);
        let first = right.len() - 3 - 378;
        for at in (0..28).chain(32..378) {
            let mut changed = right.clone();
            changed[first + at] ^= 1 << (at % 8);
            assert!(!traffic.sink(&changed).unwrap(), "octet {at}");
        }
        let now = counted(traffic, &before);
        // A mark whose flow or group is none of ours is not counted for a flow.
        assert_eq!((now[0], now[2..].iter().sum::<u64>()), (0, 0), "{now:?}");
        assert!(now[1] >= 374 - 7, "{now:?}");
        // Another mobile's TLLI, another cell, another port.
        for (target, port, expected) in [
            (
                Target { tlli: tlli_of(77), bvci: 2, number: 1, ..Target::default() },
                22_000,
                [0, 0, 1, 0, 0, 0],
            ),
            (Target { tlli: 0, bvci: 999, number: 1, ..Target::default() }, 22_000, [1, 0, 0, 1, 0, 0]),
        ] {
            let before = result(traffic);
            let n_pdu = n_pdu_of(traffic);
            let tlli = if target.tlli == 0 { tlli_of(mark(&n_pdu).0) } else { target.tlli };
            let pdus = downlink(&n_pdu, Target { tlli, ..target }, N201_U);
            traffic.sink(&ethernet(&pdus[0], 23_000, port)).unwrap();
            assert_eq!(counted(traffic, &before), expected);
        }
        // Out of order: two of the same flow.
        let before = result(traffic);
        let mut waiting: Vec<(u32, Vec<u8>)> = Vec::new();
        let (earlier, later) = loop {
            let n_pdu = n_pdu_of(traffic);
            let flow = mark(&n_pdu).0;
            if let Some((_, earlier)) = waiting.iter().find(|(other, _)| *other == flow) {
                break (earlier.clone(), n_pdu);
            }
            waiting.push((flow, n_pdu));
        };
        for n_pdu in [&later, &earlier] {
            traffic.sink(&right_frames(n_pdu, N201_U)[0]).unwrap();
        }
        assert_eq!(counted(traffic, &before), [2, 0, 0, 0, 0, 1]);
        assert_eq!(traffic.flow_results().map(|flow| flow.wrong).sum::<u32>(), 1);
        // A TLLI that changed: the old one is right for what was under way, and one before that is not.
        let mut results = Vec::new();
        for changes in 0..3 {
            let n_pdu = n_pdu_of(traffic);
            let flow = mark(&n_pdu).0;
            for change in 0..changes {
                traffic.set_flow(flow, |flow| flow.tlli = 0x8000_0000 + change).unwrap();
            }
            let before = result(traffic);
            traffic.sink(&right_frames(&n_pdu, N201_U)[0]).unwrap();
            let now = result(traffic);
            results.push((now.delivered - before.delivered, now.wrong_mobile - before.wrong_mobile));
            traffic.set_flow(flow, |spec| spec.tlli = tlli_of(flow)).unwrap();
        }
        assert_eq!(results, [(1, 0), (1, 0), (0, 1)]);
    });
}

/// What leaves or comes within the window is counted apart, and nothing that does so before or after it.
pub fn what_is_inside_the_window_is_counted_apart() {
    unattached(config(4, 1_000.0), |traffic| {
        let exchange = |traffic: &Traffic| {
            let right = right_frames(&n_pdu_of(traffic), N201_U).remove(0);
            traffic.sink(&right).unwrap();
            let now = result(traffic);
            (now.offered_inside, now.delivered_inside)
        };
        traffic.set_window(LONG, 2 * LONG);
        assert_eq!(exchange(traffic), (0, 0), "not begun");
        traffic.set_window(Duration::ZERO, LONG);
        assert_eq!(exchange(traffic), (1, 1));
        assert_eq!(exchange(traffic), (2, 2));
        traffic.set_window(Duration::ZERO, Duration::from_nanos(1));
        assert_eq!(exchange(traffic), (2, 2), "over");
        assert_eq!((result(traffic).offered, result(traffic).delivered), (4, 4));
    });
}

/// An N-PDU in three segments: counted with the first, complete with the last; one whose middle is lost is not.
pub fn segments_are_put_together() {
    let mut config = config(4, 1_000.0);
    config.segmented = true;
    for flow in &mut config.flows {
        flow.size = 1400;
    }
    unattached(config, |traffic| {
        let mut lost = 0;
        for n in 0..40 {
            let (_, t_pdu) = g_pdu(&next(traffic)[42..]);
            let mut frames = right_frames(&t_pdu, 500);
            assert_eq!(frames.len(), 3);
            if n % 5 == 4 {
                frames.remove(1);
                lost += 1;
            }
            for frame in frames {
                assert!(!traffic.sink(&frame).unwrap());
            }
        }
        let result = result(traffic);
        assert_eq!((result.delivered, result.segmented, result.completed), (40, 40, 40 - lost));
        // A later segment with another octet.
        let (_, t_pdu) = g_pdu(&next(traffic)[42..]);
        let mut frames = right_frames(&t_pdu, 500);
        let last = frames[2].len() - 4;
        frames[2][last] ^= 1;
        for frame in frames {
            traffic.sink(&frame).unwrap();
        }
        let after = self::result(traffic);
        assert_eq!((after.corrupt, after.completed), (1, result.completed));
    });
}

/// Control frames, other ports and other SAPIs go on; so does user data that is not ours.
pub fn what_is_not_ours_passes() {
    unattached(config(4, 1_000.0), |traffic| {
        let (_, t_pdu) = g_pdu(&next(traffic)[42..]);
        let right = right_frames(&t_pdu, N201_U).remove(0);
        let change = |at: usize, to: u8| {
            let mut frame = right.clone();
            frame[at] = to;
            frame
        };
        let alive = ethernet(&[0x0a], 23_000, 22_000);
        let llc = right.len() - 3 - 378 - 7;
        for (name, frame) in [
            ("NS-ALIVE", alive),
            ("another port", ethernet(&right[42..], 23_000, 22_001)),
            ("ARP", change(13, 6)),
            ("TCP", change(23, 6)),
            ("a fragment", change(20, 0x20)),
            ("another BSSGP PDU", change(46, 0x26)),
            ("GMM's SAPI", change(llc, 0x41)),
            ("an I frame", change(llc + 1, 0x00)),
            ("truncated", right[..60].to_vec()),
            ("another magic", change(right.len() - 3 - 378 + 28, 0)),
        ] {
            assert!(traffic.sink(&frame).unwrap(), "{name}");
        }
        assert_eq!(result(traffic).delivered, 0);
        assert!(traffic.config().flows.iter().all(|flow| flow.group == Group::GOOD));
    });
}

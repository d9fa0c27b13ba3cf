//! The plan, what is read of the kernel, and what is concluded from records that were written by hand.

use super::kernel::{Cause, Counts};
use super::plan::{AT_ONCE, Run, Tcp, parts};
use super::seen::Noted;
use crate::preempt::place::{Buffer, Policy};
use crate::radio::seen::Spot;
use crate::report::Size;
use crate::tcp::segment::{Flags, Options, Segment};
use crate::tcp::{Point, Reason};
use core::net::{Ipv4Addr, SocketAddrV4};
use gannet_machine::time::{Duration, Instant};

const HOST: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 51, 100, 1), 40_000);
const PHONE: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 5201);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn each_cell_of_the_table_runs_once_beside_its_undisturbed_run() {
    for size in [Size::Quick, Size::Normal, Size::Full] {
        let parts = parts(size);
        for part in &parts {
            assert!(part.len() <= AT_ONCE, "{}", part.len());
            assert!(part.iter().all(|run| part.contains(&run.undisturbed())));
        }
        let all: Vec<Run> = parts.concat();
        for (number, run) in all.iter().enumerate() {
            assert!(!all[..number].contains(run), "{}", run.name());
            assert_eq!(run.script(size).is_empty(), run.place.preemption.is_none());
        }
        let periods: &[u64] = if size == Size::Quick { &[3, 15] } else { &[3, 6, 15] };
        for tcp in Tcp::ALL {
            for period_s in periods {
                for (policy, buffer) in [
                    (Policy::Flush, Buffer::Window),
                    (Policy::Forward, Buffer::Window),
                    (Policy::Forward, Buffer::Small),
                ] {
                    assert!(all.contains(&Run::new(tcp, buffer, Some((policy, *period_s)))));
                }
            }
        }
    }
    let quick: usize = parts(Size::Quick).iter().map(Vec::len).sum();
    let normal: usize = parts(Size::Normal).iter().map(Vec::len).sum();
    assert_eq!((quick, normal), (32, 56));
}

#[test]
fn a_script_begins_where_that_of_virtual_time_does() {
    let run = Run::new(Tcp::Cubic, Buffer::Window, Some((Policy::Flush, 15)));
    let script = run.script(Size::Quick);
    assert_eq!(script[0], Duration::from_secs(41)..Duration::from_secs(56));
    assert_eq!(script[1].start, Duration::from_secs(116));
    assert_eq!(script.len(), 8);
}

#[test]
fn the_kernels_counters_are_found_by_name() {
    let text = "TcpExt: A TCPTimeouts TCPLossProbes TCPSpuriousRTOs TCPSlowStartRetrans TCPFastRetrans TCPSackRecovery TCPRenoRecovery\n\
                TcpExt: 9 1 2 3 4 5 6 7\nIpExt: TCPTimeouts\nIpExt: 8\n";
    let counts =
        Counts { timeouts: 1, probes: 2, spurious_timeouts: 3, slow_start: 4, fast: 5, recoveries: 13 };
    assert_eq!(Counts::parse(text), Some(counts));
    assert_eq!(Counts::parse(&text.replace("TCPFastRetrans", "X")), None);
    assert_eq!(counts.since(Counts { fast: 4, ..counts }), Counts { fast: 1, ..Counts::default() });
}

#[test]
fn what_a_timer_sent_comes_before_what_a_recovery_sent() {
    let causes = |counts: Counts, segments| counts.causes(segments).collect::<Vec<_>>();
    let none = Counts::default();
    assert_eq!(causes(Counts { fast: 2, ..none }, 2), [Cause::Fast, Cause::Fast]);
    assert_eq!(causes(Counts { probes: 1, fast: 1, ..none }, 2), [Cause::Probe, Cause::Fast]);
    assert_eq!(causes(Counts { probes: 1, fast: 1, ..none }, 1), [Cause::Fast], "the probe had new data");
    let after = Counts { timeouts: 1, slow_start: 1, probes: 1, ..none };
    assert_eq!(causes(after, 2), [Cause::Timeout, Cause::Timeout]);
}

fn segment(way: [SocketAddrV4; 2], sequence: u32, acknowledgement: u32, flags: Flags, len: usize) -> Vec<u8> {
    let [source, destination] = way;
    let options = Options { sack: vec![], ..Options::default() };
    let payload = vec![7; len];
    Segment { source, destination, sequence, acknowledgement, flags, window: 4000, options, payload }
        .to_packet(9)
}

#[test]
fn segments_are_noted_by_their_place_in_the_stream_across_the_end_of_the_numbers() {
    const FIRST: u32 = u32::MAX - 50;
    let (down, up) = ([HOST, PHONE], [PHONE, HOST]);
    let mut noted = Noted::since(Counts { fast: 5, ..Counts::default() });
    noted.packet(at(1), Spot::Sent, &segment(down, FIRST, 0, Flags::SYN, 0));
    noted.packet(
        at(2),
        Spot::Answered,
        &segment(up, 77, FIRST.wrapping_add(1), Flags::SYN.and(Flags::ACK), 0),
    );
    for (ms, start) in [(3, 1), (4, 101), (5, 1)] {
        noted.packet(at(ms), Spot::Sent, &segment(down, FIRST.wrapping_add(start), 78, Flags::ACK, 100));
    }
    noted.packet(at(6), Spot::Answers, &segment(up, 78, FIRST.wrapping_add(201), Flags::ACK, 0));
    noted.packet(at(7), Spot::Sent, &[0x45, 0, 0]);
    let data: Vec<_> = noted.seen.iter().map(|seen| (seen.data, seen.acknowledges, seen.id)).collect();
    assert_eq!(data, [((1, 101), 0, 9), ((101, 201), 0, 9), ((1, 101), 0, 9), ((0, 0), 201, 9)]);
    assert_eq!(noted.foreign, 1);
    assert_eq!(noted.next_look(), Some(at(7)), "two milliseconds after the segment that was sent again");
    noted.explain(Counts { fast: 5, probes: 1, ..Counts::default() });
    assert_eq!(noted.again, [(at(5), Cause::Probe)]);
    assert_eq!(noted.points, [(at(5), Point::Sent(1, 101, Reason::Timeout))]);
    assert_eq!(noted.next_look(), None);
}

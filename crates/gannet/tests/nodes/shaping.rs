//! Queues of streams at an access point of a real GGSN: packets of a host to a mobile and back, changes while they wait, and what
//! the driver leaves to the node. No test waits for a rate: a line is so slow that nothing leaves, and then so fast that all does.

use crate::common::{said, wait_for, within};
use crate::user_plane::{Bed, GGSN_VTY, HOST};
use gannet_machine::time::Instant;
use gannet_qos::discipline::{Discipline as _, Packet};
use gannet_qos::edge::{Accounting, Config, EdgeQueues, Excess, QueueConfig, Service, StreamConfig};
use gannet_testkit::{Case, Need};
use std::net::{IpAddr, UdpSocket};
use std::time::Duration;

const NEEDS: &[Need] = &[
    Need::NetAdmin,
    Need::Program("ping"),
    Need::Program("ethtool"),
    Need::That(gannet_demux::bpf::missing),
];

/// All of them.
pub const CASES: &[Case] = &[
    (
        "streams_wait_at_a_ggsn_and_leave_by_their_services",
        &[Need::NetAdmin, Need::Program("ping")],
        downlink,
    ),
    (
        "streams_of_a_ggsn_get_the_parts_of_the_component_alone",
        &[Need::NetAdmin, Need::Program("ping")],
        same_parts,
    ),
    ("packets_with_queues_pass_by_the_node_and_not_by_the_driver", NEEDS, beside_the_driver),
];

/// A packet takes 9 s of this line.
const SLOW: &str = "  qos downlink\n   rate 1\n   overhead 1000\n   stream voice ef rate 0 burst 3000\n   stream office af rate 0 burst 3000\n";
const RULES: &str = " subscriber-group all\n  imsi 00101\n rule 10 in gi group all protocol udp source-port 5001 stream voice mark 46\n \
                     rule 20 apn internet protocol udp source-port 5002 stream office\n";
/// Octets of a datagram.
const OCTETS: usize = 100;

fn vty(bed: &Bed, commands: &[&str]) -> String {
    let of = commands.iter().flat_map(|command| ["-c", command]);
    let mut ask = bed.gateway.command(crate::common::GANNET);
    let output = ask.args(["vty", GGSN_VTY]).args(of).output().unwrap();
    assert!(output.status.success(), "{commands:?}: {}", said(&output));
    said(&output)
}

/// Changes the queues of a way.
fn change(bed: &Bed, way: &str, lines: &[&str]) -> String {
    vty(bed, &[&["configure terminal", "ggsn ggsn0", "apn internet", way], lines].concat())
}

/// Packets sent, dropped and waiting of a stream on a way.
fn stream(bed: &Bed, way: &str, name: &str) -> [u64; 3] {
    let shown = bed.ggsn("show streams internet");
    let start = format!("APN internet {way}, stream {name} (");
    let line =
        shown.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("{name}: {shown}"));
    let words: Vec<&str> = line.split([' ', ',', ';']).collect();
    let before = |word: &str| {
        let at = words.iter().position(|own| *own == word).unwrap_or_else(|| panic!("{word}: {line}"));
        words[at - 1].parse::<u64>().unwrap_or_else(|_| panic!("{line}"))
    };
    [before("packets"), before("dropped"), before("wait")]
}

/// The host sends so many datagrams from each of these ports to the mobile; each begins with the port's last digit.
fn send(bed: &Bed, mobile: IpAddr, counts: &[(u16, usize)]) {
    let counts = counts.to_vec();
    let sending = within(&bed.host, move || {
        for (port, count) in counts {
            let socket = UdpSocket::bind((HOST, port)).unwrap();
            let octets = [u8::try_from(port % 10).unwrap(); OCTETS];
            (0..count).for_each(|_| assert_eq!(socket.send_to(&octets, (mobile, 7000)).unwrap(), OCTETS));
        }
    });
    sending.join().unwrap();
}

fn downlink() {
    let mut bed = Bed::new("generic");
    bed.start_ggsn([RULES, SLOW]);
    bed.start_mobile();
    let mobile = bed.mobile(false);
    let socket = within(&bed.radio, move || UdpSocket::bind((mobile, 7000)).unwrap()).join().unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let counts = [(5000, 8_u64), (5002, 4), (5001, 2)];
    send(&bed, mobile, &counts.map(|(port, count)| (port, usize::try_from(count).unwrap())));
    let names = ["best-effort", "office", "voice"];
    wait_for("the packets in their queues", || {
        let all = names.map(|name| stream(&bed, "downlink", name));
        assert!(all.iter().all(|[_, dropped, _]| *dropped == 0), "{all:?}");
        all.iter().zip(counts).all(|([sent, _, wait], (_, count))| sent + wait == count).then_some(())
    });
    let shown = bed.ggsn("show qos");
    assert!(shown.contains("APN internet downlink: 14 offered, ") && shown.contains("2 rules"), "{shown}");
    assert!(bed.ggsn("show rules").contains("Rule 10: stream voice, mark 46"));

    // What does not fit is told, and all goes on as it is.
    let said = change(&bed, "qos downlink", &["stream office af rate 2"]);
    assert!(
        said.contains("qos internet downlink: stream office: ") && said.contains("goes on as it is"),
        "{said}"
    );
    change(&bed, "qos downlink", &["stream office af rate 0 burst 3000"]);

    // Another pool and another rate while they wait, and nothing is lost.
    change(&bed, "qos downlink", &["pool af 60000", "rate 100000"]);
    let mut order = Vec::new();
    for _ in 0..14 {
        let mut octets = [0; 2 * OCTETS];
        let len = socket.recv(&mut octets).unwrap_or_else(|error| panic!("{error} behind {order:?}"));
        assert_eq!(len, OCTETS);
        order.push(octets[0]);
    }
    let of = |stream: u8| order.iter().filter(|own| **own == stream).count();
    assert_eq!([of(0), of(2), of(1)], [8, 4, 2], "{order:?}");
    // Expedited packets came last and leave before the rest; the others keep their order.
    assert_ne!(order.last(), Some(&1), "{order:?}");
    let last_voice = order.iter().rposition(|own| *own == 1).unwrap();
    assert!(order[last_voice..].iter().filter(|own| **own != 1).count() >= 4, "{order:?}");
    let rest: Vec<u8> = order.iter().copied().filter(|own| *own != 1).collect();
    assert!(rest.is_sorted(), "{order:?}");

    // A context that ends takes what waits along.
    change(&bed, "qos downlink", &["rate 1"]);
    // Counts go on although the queues are new ones.
    assert_eq!(names.map(|name| stream(&bed, "downlink", name)), [[8, 0, 0], [4, 0, 0], [2, 0, 0]]);
    send(&bed, mobile, &[(5000, 4)]);
    wait_for("the packets that wait", || {
        let [sent, _, wait] = stream(&bed, "downlink", "best-effort");
        (sent + wait == 8 + 4).then_some(())
    });
    vty(&bed, &["pdp-context deactivate imsi 001010000000001 nsapi 5"]);
    wait_for("the end of the context", || {
        (!bed.ggsn("show pdp-context all").contains("001010000000001")).then_some(())
    });
    change(&bed, "qos downlink", &["rate 100000"]);
    wait_for("the drops", || bed.ggsn("show drops").contains("ggsn_context_gone").then_some(()));
}

/// The streams of figure 6 of the edge QoS study: octets of a packet, and kbit/s that are reserved and sent.
const STREAMS: [(u32, u32, u32); 9] = [
    (1000, 150, 150),
    (200, 100, 100),
    (500, 100, 500),
    (500, 200, 500),
    (1000, 150, 150),
    (200, 200, 200),
    (1000, 0, 500),
    (200, 0, 500),
    (500, 0, 500),
];
/// Octets of the queue's buffers, and kbit/s that they stand for.
const POOL: u32 = 50_000;
const LINK_KBPS: u32 = 2000;
/// What a stream has of the buffers by what is reserved for it.
const fn allocation((_, reserved_kbps, _): (u32, u32, u32)) -> u32 {
    POOL / LINK_KBPS * reserved_kbps
}
/// Octets of the headers of UDP and IPv4.
const HEADERS: u32 = 28;
/// Packets that are sent in one go: no queue before the node is full by then.
const AT_ONCE: usize = 60;

/// When packets come, by their streams, from different phases: three times as much as the buffers take.
fn arrivals() -> Vec<usize> {
    let mut all = Vec::new();
    for (place, (octets, _, kbps)) in STREAMS.into_iter().enumerate() {
        let gap_us = octets * 8000 / kbps;
        let first = gap_us * u32::try_from(place).unwrap() / 9;
        all.extend((0..).map(|n| first + n * gap_us).take_while(|at| *at < 400_000).map(|at| (at, place)));
    }
    all.sort_unstable();
    all.into_iter().map(|(_, place)| place).collect()
}

/// Octets of each stream that the component takes in, of which the first packet leaves at once.
fn component(arrivals: &[usize]) -> [u32; 9] {
    let queue = QueueConfig {
        buffers: Accounting::Exact { octets: POOL },
        rate: 1,
        weight: 50,
        excess: Excess::Present,
    };
    let mut queues = EdgeQueues::new(Config { streams_max: 9, expedited: queue, assured: queue }).unwrap();
    for (flow, of) in (0..).zip(STREAMS) {
        let service = if of.1 > 0 { Service::Assured } else { Service::BestEffort };
        let config = StreamConfig { service, rate: 0, burst: allocation(of) };
        queues.configure(Instant(0), flow, &config).unwrap();
    }
    let mut accepted = [0; 9];
    for (number, place) in arrivals.iter().enumerate() {
        let (octets, flow) = (STREAMS[*place].0, u32::try_from(*place).unwrap());
        let packet = Packet { flow, octets, item: () };
        let offered = queues.offer(Instant(0), packet, &mut |_| ());
        accepted[*place] += if offered.accepted { octets } else { 0 };
        if number == 0 {
            queues.take(Instant(0)).unwrap();
        }
    }
    accepted
}

/// A rate is a part of the buffers. On a line that is all but closed each stream gets the same part of them, through the GGSN, as the
/// component alone gives it for the same packets; and all that was taken in leaves.
fn same_parts() {
    let (mut rules, mut queues) =
        (String::new(), format!("  qos downlink\n   rate 1\n   overhead 1000\n   pool af {POOL}\n"));
    for (number, of) in (1..).zip(STREAMS) {
        let port = 5100 + number;
        rules += &format!(" rule {number} in gi protocol udp source-port {port} stream s{number}\n");
        let service =
            if of.1 > 0 { format!("af rate 0 burst {}", allocation(of)) } else { "be rate 0".to_owned() };
        queues += &format!("   stream s{number} {service}\n");
    }
    let mut bed = Bed::new("generic");
    bed.start_ggsn([&rules, &queues]);
    bed.start_mobile();
    let mobile = bed.mobile(false);
    let packets = arrivals();
    let shown = || [1, 2, 3, 4, 5, 6, 7, 8, 9].map(|n| stream(&bed, "downlink", &format!("s{n}")));
    let arrive = |part: &[usize], so_far: usize| {
        let part = part.to_vec();
        let sending = within(&bed.host, move || {
            // One core, so that none overtakes another.
            gannet_rt::pin_to_core(0).unwrap();
            let sockets: Vec<UdpSocket> =
                (5101..=5109).map(|port| UdpSocket::bind((HOST, port)).unwrap()).collect();
            for place in part {
                let payload = vec![0; usize::try_from(STREAMS[place].0 - HEADERS).unwrap()];
                assert_eq!(sockets[place].send_to(&payload, (mobile, 7000)).unwrap(), payload.len());
            }
        });
        sending.join().unwrap();
        wait_for("the packets at their queues", || {
            let offered: u64 = shown().iter().flatten().sum();
            (offered == so_far as u64).then_some(())
        });
    };
    // The first one leaves at once, so that the others are as late as they can be.
    arrive(&packets[..1], 1);
    wait_for("the first packet", || (shown().iter().map(|[sent, ..]| sent).sum::<u64>() == 1).then_some(()));
    let mut so_far = 1;
    for part in packets[1..].chunks(AT_ONCE) {
        so_far += part.len();
        arrive(part, so_far);
    }
    let counts = shown();
    // A packet that has left meanwhile, some 10 s after the one before it, has made room for less than two others.
    let left: u64 = counts.iter().map(|[sent, ..]| sent).sum::<u64>() - 1;
    for (place, wanted) in component(&packets).into_iter().enumerate() {
        let [sent, _, waits] = counts[place];
        let octets = (sent + waits) * u64::from(STREAMS[place].0);
        assert!(
            octets.abs_diff(wanted.into()) <= left * 2000,
            "s{}: {octets} octets beside {wanted} of the component; {left} have left: {counts:?}",
            place + 1
        );
    }
    assert!(counts[6..].iter().all(|[_, dropped, _]| *dropped > 0), "more came than has room: {counts:?}");
    change(&bed, "qos downlink", &["rate 100000"]);
    wait_for("the end of the queues", || shown().iter().all(|[_, _, waits]| *waits == 0).then_some(()));
    let accepted = counts.map(|[sent, _, waits]| sent + waits);
    assert_eq!(shown().map(|[sent, ..]| sent), accepted, "none is lost that was taken in");
}

fn beside_the_driver() {
    let mut bed = Bed::new("generic");
    let fast = "  gi-interface gi0\n  qos downlink\n   rate 100000\n";
    bed.start_ggsn([" user-plane xdp\n", fast]);
    let log = bed.nodes[0].log();
    assert!(log.contains("with 'qos downlink' the driver forwards its uplink packets only"), "{log}");
    bed.start_mobile();
    let ping = || bed.ping(&bed.radio, &["-c", "5", "-I", "ms0", HOST]);
    ping();
    let before = (bed.forwarded("uplink"), bed.forwarded("downlink"));
    let served = stream(&bed, "downlink", "best-effort")[0];
    ping();
    assert!(bed.forwarded("uplink") >= before.0 + 5, "{}", bed.ggsn("show user-plane"));
    assert_eq!(bed.forwarded("downlink"), 0, "{}", bed.ggsn("show user-plane"));
    assert!(stream(&bed, "downlink", "best-effort")[0] >= served + 5);
    // From now on the node forwards both ways.
    let said = change(&bed, "qos uplink", &["rate 100000"]);
    assert!(said.contains("with 'qos uplink' the driver forwards none of its packets"), "{said}");
    let before = bed.forwarded("uplink");
    ping();
    assert_eq!(bed.forwarded("uplink"), before, "{}", bed.ggsn("show user-plane"));
    assert!(stream(&bed, "uplink", "best-effort")[0] >= 5);
    // And the driver again.
    vty(&bed, &["configure terminal", "ggsn ggsn0", "apn internet", "no qos uplink", "no qos downlink"]);
    let before = (bed.forwarded("uplink"), bed.forwarded("downlink"));
    ping();
    let after = (bed.forwarded("uplink"), bed.forwarded("downlink"));
    assert!(after.0 >= before.0 + 5 && after.1 >= before.1 + 5, "{}", bed.ggsn("show user-plane"));
}

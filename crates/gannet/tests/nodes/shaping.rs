//! Queues of streams at an access point of a real GGSN: packets of a host to a mobile and back, changes while they wait, and what
//! the driver leaves to the node. No test waits for a rate: a line is so slow that nothing leaves, and then so fast that all does.

use crate::common::{said, wait_for, within};
use crate::user_plane::{Bed, GGSN_VTY, HOST};
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

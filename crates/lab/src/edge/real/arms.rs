//! Which forwarders are measured, and how each is set up.

use super::super::link::Arrivals;
use super::super::scenario::{BUFFER_OCTETS, BUFFERS, LINK_KBPS, STREAMS, Stream};
use super::flows::FIRST_SOURCE_PORT;
use crate::contexts;
use core::net::Ipv4Addr;
use std::path::Path;

/// The rate that `gannet edge` is told, in kbit/s. It makes up for a late wake-up of a millisecond: at the very rate of the line, what
/// it has been early by once would wait in the line for ever. Half a per cent less lets that drain.
pub const EDGE_KBPS: u32 = 1990;
/// The rate of HTB's parent, in kbit/s: HTB has no way to know when the line is free, and a class within its rate does not wait
/// for its parent, so that it needs room.
pub const HTB_KBPS: u32 = 1900;
/// What the line adds to a packet: the header of Ethernet, which HTB counts by itself, and what is beyond it.
const ETHERNET_HEADER: u32 = 14;
const HTB_OVERHEAD: u32 = crate::link::model::ETHERNET_OVERHEAD;
/// Both, in octets.
pub const OVERHEAD: u32 = ETHERNET_HEADER + HTB_OVERHEAD;
/// What Gn adds to a T-PDU before that: IPv4, UDP, and the header of GTP with a sequence number, in octets.
pub const TUNNEL: u32 = 20 + 8 + 12;
/// The network of the mobiles, and the GGSN's own address in it.
const MOBILES: &str = "198.18.3.0/24";
const FIRST_OF_MOBILES: &str = "198.18.3.1/24";
/// The share of EF in HTB's parent, in per cent: that of our arm.
const EF_PERCENT: u32 = 90;
/// The streams that EF serves.
pub const MOVED: [&str; 2] = ["A2", "A5"];

/// How queues of streams are set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetUp {
    /// `BUFF_SIZE` and the paper's rule of sharing, or byte-exact and ours.
    pub buff_size: Option<u32>,
    /// The share of EF in per cent, where [`MOVED`] are EF.
    pub ef_percent: Option<u32>,
    /// Octets that count for each packet beside its own.
    pub overhead: u32,
}

/// HTB's classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrangement {
    /// One of EF, and one of all others.
    Two,
    /// One of each stream.
    Each,
}

/// What forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwards {
    /// `gannet edge`.
    Edge(SetUp),
    /// `gannet ggsn`, towards mobiles.
    Ggsn(SetUp),
    /// The kernel with HTB.
    Htb(Arrangement),
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arm {
    /// For a person, and for files.
    pub name: &'static str,
    /// What forwards.
    pub forwards: Forwards,
    /// When packets come.
    pub arrivals: Arrivals,
    /// A stream that sends twenty times what is reserved for it.
    pub greedy: Option<&'static str>,
}

const fn edge(name: &'static str, buff_size: Option<u32>, ef_percent: Option<u32>) -> Arm {
    let forwards = Forwards::Edge(SetUp { buff_size, ef_percent, overhead: OVERHEAD });
    Arm { name, forwards, arrivals: Arrivals::Periodic, greedy: None }
}

const fn htb(name: &'static str, arrangement: Arrangement) -> Arm {
    Arm { name, forwards: Forwards::Htb(arrangement), arrivals: Arrivals::Periodic, greedy: None }
}

/// Byte-exact, all in AF.
pub const ASSURED: Arm = edge("edge-af", None, None);
/// The same with Poisson arrivals.
pub const POISSON: Arm = Arm { name: "edge-af-poisson", arrivals: Arrivals::Poisson, ..ASSURED };
/// The paper's accounting, by `BUFF_SIZE`.
pub const BUFF_SIZES: [(u32, Arm); 3] = [
    (200, edge("edge-buffsize-200", Some(200), None)),
    (BUFFER_OCTETS, edge("edge-buffsize-500", Some(BUFFER_OCTETS), None)),
    (1000, edge("edge-buffsize-1000", Some(1000), None)),
];
/// EF with about the weight of its reservation: 250 of 2000 kbit/s are 12.5 %, but what the line adds to packets leaves some 1,800
/// kbit/s for packets.
pub const RESERVED: Arm = edge("edge-ef-15", None, Some(15));
/// EF with 0.9 of the line.
pub const OURS: Arm = edge("edge-ef-90", None, Some(EF_PERCENT));
/// The same beside a stream at twenty times its reservation.
pub const GREEDY: Arm = Arm { name: "edge-ef-90-greedy", greedy: Some("A3"), ..OURS };
const TUNNELLED: SetUp = SetUp { buff_size: None, ef_percent: Some(EF_PERCENT), overhead: OVERHEAD + TUNNEL };
/// The same where the line takes as many octets more for each packet as Gn's headers have.
pub const LIKE_GN: Arm = Arm { name: "edge-ef-90-gn", forwards: Forwards::Edge(TUNNELLED), ..OURS };
/// Through the GGSN, whose G-PDUs have those headers.
pub const GGSN: Arm = Arm { name: "ggsn-ef-90", forwards: Forwards::Ggsn(TUNNELLED), ..OURS };
/// HTB with two classes.
pub const TWO: Arm = htb("htb-two-classes", Arrangement::Two);
/// HTB with a class for each stream.
pub const EACH: Arm = htb("htb-class-each", Arrangement::Each);

/// All of them.
pub const ALL: [Arm; 12] = {
    let [(_, a), (_, b), (_, c)] = BUFF_SIZES;
    [ASSURED, OURS, TWO, EACH, GREEDY, LIKE_GN, GGSN, POISSON, RESERVED, a, b, c]
};

/// What a stream's reservation is on the line, in kbit/s, of whose rate it is a part: with what the line adds to each packet.
const fn on_line_kbps(stream: &Stream, overhead: u32) -> u32 {
    (stream.reserved_kbps * (stream.octets + overhead)).div_ceil(stream.octets)
}

impl Arm {
    /// What each stream sends, in kbit/s.
    pub fn offered_kbps(&self) -> [u32; STREAMS.len()] {
        STREAMS.map(|stream| match self.greedy {
            Some(greedy) if greedy == stream.name => 20 * stream.reserved_kbps,
            _ => stream.offered_kbps,
        })
    }

    /// Octets that the line adds to an IP packet of a stream, with the headers of its tunnel.
    pub const fn overhead(&self) -> u32 {
        match self.forwards {
            Forwards::Edge(set_up) | Forwards::Ggsn(set_up) => set_up.overhead,
            Forwards::Htb(_) => OVERHEAD,
        }
    }

    /// Octets that the emulator is to count beside each frame, which may have those headers already.
    pub const fn overhead_of_frames(&self) -> u32 {
        match self.forwards {
            Forwards::Ggsn(_) => HTB_OVERHEAD,
            Forwards::Edge(_) | Forwards::Htb(_) => self.overhead() - ETHERNET_HEADER,
        }
    }
}

/// The lines of a way out, behind so many blanks.
fn way_lines(set_up: &SetUp, blanks: usize) -> String {
    let buffers = BUFFERS * set_up.buff_size.unwrap_or(BUFFER_OCTETS);
    let expedited: u32 =
        STREAMS.iter().filter(|of| MOVED.contains(&of.name)).map(|of| of.reserved_kbps).sum();
    // As in virtual time, the buffers are divided as the rates are. EF is policed, and no pool of its own is ever full.
    let assured =
        if set_up.ef_percent.is_some() { buffers / LINK_KBPS * (LINK_KBPS - expedited) } else { buffers };
    let mut lines = vec![
        format!("rate {EDGE_KBPS}"),
        format!("overhead {}", set_up.overhead),
        format!("pool af {assured}"),
    ];
    lines.extend(set_up.ef_percent.map(|percent| format!("ef-weight {percent}")));
    if let Some(octets) = set_up.buff_size {
        lines.extend([format!("accounting buff-size {octets}"), "sharing resulting".to_owned()]);
    }
    for stream in &STREAMS {
        let (name, rate) = (stream.name, on_line_kbps(stream, set_up.overhead));
        lines.push(if rate == 0 {
            format!("stream {name} be rate 0")
        } else if set_up.ef_percent.is_some() && MOVED.contains(&name) {
            // A periodic stream whose packets come some µs too early is not policed for it.
            format!("stream {name} ef rate {rate} burst {}", 2 * stream.octets)
        } else {
            format!("stream {name} af rate {rate}")
        });
    }
    lines.iter().map(|line| format!("{:blanks$}{line}\n", "")).collect()
}

/// What every process of ours begins and ends with.
const LOG: &str = "log stderr\n logging level set-all notice\n";
const VTY: &str = "line vty\n no login\n";

/// The configuration of `gannet edge`. By packet sockets on every machine, so that results of several can be compared.
pub fn edge_config(set_up: &SetUp) -> String {
    let way = way_lines(set_up, 2);
    let rules: String = STREAMS
        .iter()
        .zip(FIRST_SOURCE_PORT..)
        .map(|(stream, port)| {
            format!(" rule {port} protocol udp source-port {port} stream {}\n", stream.name)
        })
        .collect();
    format!("{LOG}edge\n user-plane socket\n interface lan\n interface wan\n{way}{rules}{VTY}")
}

/// The configuration of `gannet ggsn`: each stream is a subscriber's, who is a group. The driver forwards nothing that waits in
/// queues, so that TUN devices are all that it needs.
pub fn ggsn_config(set_up: &SetUp, own: Ipv4Addr, state: &Path) -> String {
    let (mut groups, mut rules) = (String::new(), String::new());
    for (stream, number) in STREAMS.iter().zip(0..) {
        let (name, imsi) = (stream.name, contexts::imsi(number));
        groups += &format!(" subscriber-group {name}\n  imsi {imsi}\n");
        rules += &format!(" rule {} in gi group {name} stream {name}\n", number + 1);
    }
    let (way, state) = (way_lines(set_up, 3), state.display());
    format!(
        "{LOG}ggsn ggsn0\n gtp state-dir {state}\n gtp bind-ip {own}\n no echo-interval\n user-plane tun\n{groups}{rules} \
         apn internet\n  gtpu-mode tun\n  tun-device apn0\n  type-support v4\n  ip prefix dynamic {MOBILES}\n  \
         ip ifconfig {FIRST_OF_MOBILES}\n  qos downlink\n{way}  no shutdown\n default-apn internet\n no shutdown ggsn\n{VTY}"
    )
}

/// tc's commands. Borrowing classes take turns by quantum, so that each gets the same of what is left.
pub fn htb_commands(arrangement: Arrangement) -> String {
    let mut lines = vec!["tc qdisc add dev wan root handle 1: htb default 2".to_owned()];
    // As many packets in all, so that the queues are full before anything is measured.
    let packets = match arrangement {
        Arrangement::Two => BUFFERS,
        Arrangement::Each => BUFFERS / u32::try_from(STREAMS.len()).unwrap_or(1),
    };
    let mut class = |parent: &str, id: u32, kbps: u32, prio: u32| {
        lines.push(format!(
            "tc class add dev wan parent {parent} classid 1:{id} htb rate {kbps}kbit ceil {HTB_KBPS}kbit prio {prio} \
             overhead {HTB_OVERHEAD} quantum 1514 burst 1514 cburst 1514"
        ));
        if parent == "1:1" {
            lines.push(format!("tc qdisc add dev wan parent 1:{id} handle {id}: pfifo limit {packets}"));
        }
    };
    class("1:", 1, HTB_KBPS, 0);
    let is_expedited = |name: &str| MOVED.contains(&name);
    let class_of: Vec<u32> = match arrangement {
        Arrangement::Two => {
            class("1:1", 10, HTB_KBPS * EF_PERCENT / 100, 0);
            class("1:1", 2, HTB_KBPS * (100 - EF_PERCENT) / 100, 1);
            STREAMS.iter().map(|stream| if is_expedited(stream.name) { 10 } else { 2 }).collect()
        }
        Arrangement::Each => {
            let ids = 10..10 + u32::try_from(STREAMS.len()).unwrap_or(0);
            for (stream, id) in STREAMS.iter().zip(ids.clone()) {
                // A class has to have a rate.
                class(
                    "1:1",
                    id,
                    on_line_kbps(stream, OVERHEAD).max(8),
                    u32::from(!is_expedited(stream.name)),
                );
            }
            ids.collect()
        }
    };
    for (id, port) in class_of.into_iter().zip(FIRST_SOURCE_PORT..) {
        lines.push(format!(
            "tc filter add dev wan parent 1: protocol ip prio 1 u32 match ip protocol 17 0xff match ip sport {port} 0xffff \
             flowid 1:{id}"
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_set_up_is_said_in_the_words_of_its_program() {
        let ours = edge_config(&SetUp { buff_size: None, ef_percent: Some(90), overhead: OVERHEAD });
        for line in [
            " user-plane socket",
            "  rate 1990",
            "  overhead 38",
            "  pool af 43750",
            "  ef-weight 90",
            "  stream A1 af rate 156",
            "  stream A5 ef rate 156 burst 2000",
            "  stream B2 be rate 0",
            " rule 5009 protocol udp source-port 5009 stream B3",
        ] {
            assert!(ours.lines().any(|of| of == line), "{line}:\n{ours}");
        }
        let paper = edge_config(&SetUp { buff_size: Some(200), ef_percent: None, overhead: OVERHEAD });
        assert!(
            paper.contains("  pool af 20000\n  accounting buff-size 200\n  sharing resulting\n"),
            "{paper}"
        );
        assert!(paper.contains("  stream A5 af rate 156\n"), "{paper}");
    }

    #[test]
    fn a_ggsn_has_the_same_queues_and_a_subscriber_for_each_stream() {
        let ours = ggsn_config(&TUNNELLED, Ipv4Addr::new(198, 18, 2, 2), Path::new("/s"));
        // 238 + 40 octets for each 200 of A2's.
        for line in [
            " gtp bind-ip 198.18.2.2",
            "  qos downlink",
            "   overhead 78",
            "   stream A2 ef rate 139 burst 400",
            " subscriber-group B3\n  imsi 001010000000008",
            " rule 9 in gi group B3 stream B3",
        ] {
            assert!(ours.contains(&format!("\n{line}\n")), "{line}:\n{ours}");
        }
        let edge = edge_config(&TUNNELLED);
        for line in way_lines(&TUNNELLED, 0).lines() {
            assert!(edge.contains(&format!("\n  {line}\n")) && ours.contains(&format!("\n   {line}\n")));
        }
    }

    #[test]
    fn a_packet_takes_as_much_of_the_line_in_a_tunnel_as_beside_it() {
        let on_line = |arm: &Arm, frame: u32| frame + ETHERNET_HEADER + arm.overhead_of_frames();
        assert_eq!(on_line(&OURS, 200), 238);
        assert_eq!(on_line(&TWO, 200), 238);
        assert_eq!(on_line(&LIKE_GN, 200), 278);
        assert_eq!(on_line(&GGSN, 200 + TUNNEL), 278);
        assert_eq!([LIKE_GN, GGSN].map(|arm| arm.overhead()), [78; 2]);
    }

    #[test]
    fn each_stream_has_its_class() {
        let two = htb_commands(Arrangement::Two);
        assert_eq!(two.matches("flowid 1:10").count(), 2);
        assert_eq!(two.matches("flowid 1:2").count(), 7);
        assert!(two.contains("sport 5002 0xffff flowid 1:10"), "{two}");
        let each = htb_commands(Arrangement::Each);
        for id in 10..19 {
            assert_eq!(each.matches(&format!("flowid 1:{id}")).count(), 1);
            assert!(each.contains(&format!("parent 1:{id} handle {id}: pfifo limit 11")), "{each}");
        }
        // A2 with 38 octets to each 200.
        assert!(each.contains("classid 1:11 htb rate 119kbit ceil 1900kbit prio 0"), "{each}");
    }

    #[test]
    fn a_greedy_stream_sends_twenty_times_its_reservation() {
        assert_eq!(GREEDY.offered_kbps()[2], 2000);
        assert_eq!(OURS.offered_kbps()[2], 500);
    }
}

//! The experiments by name.

use crate::ed;
use crate::ed::{run, run_ciphered};
use crate::report::{Options, Report};

/// One experiment.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub description: &'static str,
    /// What it is for, as the page of a run begins.
    pub purpose: &'static str,
    /// Runs it.
    pub run: fn(&Options) -> Result<Report, String>,
}

/// The experiment of this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

/// What a reader has to know of all experiments with early demultiplexing, and the paper that they repeat.
macro_rules! thesis {
    ($purpose:literal) => {
        concat!(
            $purpose,
            " S0 is saturation, the highest load of which everybody gets 99.5 % of what he is entitled to; S_f is the best \
             that this machine allows where the fraction f of all traffic exceeds. The SGSN has a core to itself; generator \
             and sink share another. The experiment repeats one of G. Lefebvre, \u{201c}Early-Demultiplexing Techniques for \
             Quality of Service in Serving GPRS Support Nodes\u{201d}, M.A.Sc. thesis, University of British Columbia, 2001, \
             whose SGSN ran on a Pentium 166; its ED-SGSN demultiplexes early, and its SGSN serves in order of arrival."
        )
    };
}
/// The same of those that the thesis has nothing like.
macro_rules! beyond {
    ($purpose:literal) => {
        concat!(
            $purpose,
            " The SGSN has a core to itself; generator and sink share another. It goes past G. Lefebvre, \u{201c}Early-\
             Demultiplexing Techniques for Quality of Service in Serving GPRS Support Nodes\u{201d}, M.A.Sc. thesis, \
             University of British Columbia, 2001, which has no such experiment."
        )
    };
}
/// What a reader has to know of all experiments at the edge router, and the paper that they repeat.
macro_rules! edge {
    ($purpose:literal) => {
        concat!(
            $purpose,
            " The experiment repeats one of R. Gu\u{e9}rin, L. Li, S. Nadas, P. Pan, V. Peris, \u{201c}The Cost of QoS Support in \
             Edge Devices: An Experimental Study\u{201d}, IEEE INFOCOM, New York, 1999, whose routers joined E1 lines."
        )
    };
}

/// What a reader has to know of experiments that are read from captures, and the paper that they repeat.
macro_rules! trace {
    ($purpose:literal) => {
        concat!(
            $purpose,
            " Virtual time. The experiment repeats one of A. Gurtov, M. Passoja, O. Aalto, M. Raitola, \u{201c}Multi-Layer Protocol \
             Tracing in a GPRS Network\u{201d}, IEEE Vehicular Technology Conference, Vancouver, 2002."
        )
    };
}

/// In place of the work that stands for it.
const GEA3: Option<u8> = Some(3);

/// All of them.
pub const ALL: &[Experiment] = &[
    Experiment {
        name: "world",
        description: "1,000 mobiles in 100 cells for a simulated hour with 5 % loss on Gb: everything adds up",
        purpose: "Shows that nothing is lost without a name in a whole network: mobiles, base stations, SGSN and GGSN in one \
                  process and in virtual time, with loss on Gb. Each mobile attaches, moves data both ways, changes cells \
                  and routing area, is paged, has its state exported and imported, and detaches. At the end every N-PDU is \
                  delivered or has a named drop, and every table is empty.",
        run: crate::world::run,
    },
    Experiment {
        name: "qos-cell",
        description: "contexts of every class in one congested cell: what each gets against what was negotiated",
        purpose: "Shows what each class gets in one cell that is offered half to twice its leak rate R, against what was \
                  negotiated: real time within its guarantee, a guaranteed rate with more sent than is guaranteed, and best \
                  effort. A thirteenth mobile asks for a guarantee for which there is no room. Virtual time, so that the \
                  radio is the only bottleneck.",
        run: crate::qos_cell::run,
    },
    Experiment {
        name: "abm",
        description: "acknowledged mode at 0 and 5 % loss and round trips of 1 to 700 ms, with SACK and go-back-N",
        purpose: "Shows what LLC's acknowledged mode carries by round trip, without loss and with 5 % of it, where lost \
                  frames alone are sent again (SACK) and where all after them are (go-back-N), with T201 from measured round \
                  trips and as long as T200. A file goes from the SGSN's LLC to a mobile's over a path of limited rate, in \
                  virtual time.",
        run: crate::abm::run,
    },
    Experiment {
        name: "abm-cost",
        description: "what acknowledged mode costs the SGSN's core beside unacknowledged mode, for 10,000 mobiles each",
        purpose: "Measures what LLC's acknowledged mode costs the SGSN's core beside unacknowledged mode: three thirds of \
                  the mobiles of one SGSN get the same load in turns. The cost of an N-PDU is the time in which the SGSN's \
                  loop had something to do, by the N-PDUs delivered.",
        run: |options| run("abm-cost", options, ed::abm_cost::experiment),
    },
    Experiment {
        name: "ed-overhead",
        description: "what early demultiplexing costs a packet when nothing else happens",
        purpose: thesis!(
            "Measures what early demultiplexing costs a packet when nothing else happens (thesis, section 7.2): one \
                  mobile, and packets at a fixed distance."
        ),
        run: |options| run("ed-overhead", options, ed::overhead::experiment),
    },
    Experiment {
        name: "ed-throughput",
        description: "saturation with 0 to 90 % of exceeding traffic; what one core forwards",
        purpose: thesis!(
            "Measures how much exceeding traffic takes from the good (thesis, section 7.3.1), and what one core \
                  forwards beside bare loops without a protocol stack."
        ),
        run: |options| run("ed-throughput", options, ed::throughput::experiment),
    },
    Experiment {
        name: "compare",
        description: "two builds of the program in the same place, in turns: saturation, delay and cost of a packet",
        purpose: "Compares this build of Gannet with another one, given by --against, as SGSNs in the same place under the \
                  same load, in turns. The other build runs twice, as two SGSNs, so that the table also shows by how much \
                  one program differs from itself on this machine.",
        run: |options| run("compare", options, ed::compare::experiment),
    },
    Experiment {
        name: "ed-isolation",
        description: "what good and bad users get, below and above saturation",
        purpose: thesis!(
            "Measures what good and bad users get of the bandwidth that is allocated to them (thesis, section 7.3.2), \
                  below saturation and above it. Half of the users are bad: they are offered all of the excess."
        ),
        run: |options| run("ed-isolation", options, ed::isolation::experiment),
    },
    Experiment {
        name: "ed-delay",
        description: "delay of real-time mobiles from idle to twice saturation",
        purpose: thesis!(
            "Measures the delay of 20 real-time mobiles while best effort grows from nothing to twice saturation \
                  (thesis, section 7.4), from the generator at Gn to the driver of the sink at Gb."
        ),
        run: |options| run("ed-delay", options, ed::delay::experiment),
    },
    Experiment {
        name: "ed-precedence",
        description: "drops of high precedence from saturation to five times that",
        purpose: thesis!(
            "Measures what mobiles of high precedence lose when more comes than can be forwarded (thesis, section 7.5). \
                  One mobile of seven has high precedence; all offer the same."
        ),
        run: |options| run("ed-precedence", options, ed::precedence::experiment),
    },
    Experiment {
        name: "ed-flood",
        description: "good traffic under a flood of packets for nobody",
        purpose: beyond!(
            "Measures what good traffic keeps, at half of saturation, beside a flood of packets with TEIDs that no \
                  context has, of up to a quarter of what the machine can drop at all."
        ),
        run: |options| run("ed-flood", options, ed::flood::experiment),
    },
    Experiment {
        name: "ed-uplink",
        description: "what good users' uplink gets beside 0 to 90 % of exceeding uplink",
        purpose: beyond!(
            "Measures what good users' uplink gets beside exceeding uplink of bad ones, at half of saturation."
        ),
        run: |options| run("ed-uplink", options, ed::uplink::experiment),
    },
    Experiment {
        name: "ed-scale",
        description: "throughput and memory from a thousand to a million contexts",
        purpose: beyond!(
            "Measures throughput and memory from a thousand to a million contexts, of which each has traffic."
        ),
        run: |options| run("ed-scale", options, ed::scale::experiment),
    },
    Experiment {
        name: "busy-machine",
        description: "a lightly loaded SGSN beside processes that never sleep: nothing lost, and its estimates recover",
        purpose: "Shows whether a lightly loaded SGSN serves its mobiles beside processes that never sleep, on its own core \
                  or on none, and whether its estimate of an N-PDU's cost is right again within a second after they have \
                  gone. The measure is a second node, the control node, which serves only while nothing disturbs it.",
        run: crate::busy::run,
    },
    Experiment {
        name: "ggsn-cost",
        description: "what a GGSN forwards by second of processor time: at the driver, by TUN devices, and osmo-ggsn",
        purpose: "Measures how many T-PDUs a GGSN forwards each way by second of processor time: gannet ggsn at the driver and \
                  with TUN devices, and osmo-ggsn. The laboratory is the SGSN and has a thousand PDP contexts; for gannet ggsn \
                  there are also rows with ten thousand.",
        run: crate::ggsn_cost::run,
    },
    Experiment {
        name: "ggsn-tcp",
        description: "TCP of one mobile through gannet ggsn beside osmo-ggsn, both ways",
        purpose: "Measures what one TCP connection of a mobile carries through gannet ggsn and through osmo-ggsn, up and down, and \
                  the processor time of the GGSN by octet. Runs of both alternate. SGSN and mobile are sgsnemu, the ends of the \
                  connection are iperf3 with cubic.",
        run: crate::ggsn_tcp::run,
    },
    Experiment {
        name: "bearer-rtt",
        description: "round trips by GPRS over 100 Mbit/s Ethernet beside those of Ethernet alone, by packet size",
        purpose: "Measures the round trip of ICMP through gannet ms, ap, sgsn and ggsn over an emulated Ethernet link of 100 Mbit/s, \
                  beside that of the link alone and of two bare hops, by packet size, with LLC's standard parameters and with those \
                  that fit the bearer, as four processes and with the network as one, which sleeps or polls, with packets that SNDCP cuts \
                  and that it does not, in both modes (N. Aschenbruck et al., Integration of 3G Protocols into the Linux Kernel, 2004, figures 7 and 10).",
        run: crate::bearer::rtt::run,
    },
    Experiment {
        name: "bearer-throughput",
        description: "TCP by GPRS over Ethernet and wireless LAN beside these alone, both ways and modes",
        purpose: "Measures what one TCP connection carries through gannet ms, ap, sgsn and ggsn over Ethernet of 100 Mbit/s \
                  and 1 Gbit/s and wireless LAN of 11 Mbit/s, beside the link alone, both ways, with LLC's standard parameters and with those that fit the bearer, \
                  with packets that SNDCP cuts and that it does not, as four processes and with the network as one, \
                  at 1 Gbit/s also beside two bare hops, \
                  in both modes (N. Aschenbruck et al., 2004, figures 8 and 11).",
        run: crate::bearer::throughput::run,
    },
    Experiment {
        name: "bearer-beside",
        description: "the round trip of a ping beside one TCP connection that fills 100 Mbit/s, both ways and modes",
        purpose: "Measures by how much the round trip of a ping through gannet ms, ap, sgsn and ggsn is longer beside one TCP connection \
                  of the same context, whose packets fill a bearer of 100 Mbit/s, both ways and in both modes, beside that of the bearer \
                  alone. Devices have the kernel's default discipline, by which the ping goes first.",
        run: crate::bearer::beside::run,
    },
    Experiment {
        name: "bearer-loss",
        description: "TCP by GPRS over Ethernet that loses frames, by timer and way of retransmission of acknowledged mode",
        purpose: "Measures what one TCP connection carries over an emulated Ethernet link of 100 Mbit/s that loses 0 to 10 % of its \
                  frames: alone, through GPRS in unacknowledged mode, and in acknowledged mode with its timers and ways of \
                  retransmission, by round trip, beside an ideal selective repeat (N. Aschenbruck et al., 2004, figures 12 to 15).",
        run: crate::bearer::loss::run,
    },
    Experiment {
        name: "bearer-sequence",
        description: "sequence numbers of TCP and of LLC over time, side by side, over Ethernet that loses 5 % of its frames",
        purpose: "Shows what TCP and LLC's acknowledged mode send, send again and acknowledge at the same time, over an emulated \
                  Ethernet link of 100 Mbit/s that loses 5 % of its frames, beside TCP over the link alone (N. Aschenbruck et al., \
                  2004, time-sequence diagrams).",
        run: crate::bearer::sequence::run,
    },
    Experiment {
        name: "bearer-cpu",
        description: "full segments by second of processor time of gannet ms, beside wireguard-go and a bare hop",
        purpose: "Measures how many full segments of one TCP connection the process at the mobile's end carries by second of processor \
                  time, both ways, over Ethernet of 100 Mbit/s and 1 Gbit/s: gannet ms in both modes, a bare hop, and wireguard-go, \
                  another program in user space with a TUN device, which ciphers what it carries.",
        run: crate::bearer::cpu::run,
    },
    Experiment {
        name: "bearer-crowd",
        description: "200 mobiles in one gannet ms with traffic for five minutes, and a change of bearer for all of them",
        purpose: "Shows that 200 mobiles of one process, each with a context in each mode, keep what they are given for five minutes of \
                  real time, with a change of bearer for all at once in the middle: each datagram arrives or is a drop with a name. \
                  Memory and processor time of all processes are reported.",
        run: crate::bearer::crowd::run,
    },
    Experiment {
        name: "bearer-change",
        description: "a TCP download while the mobile changes between two Ethernet bearers: pauses and lost segments",
        purpose: "Measures what a TCP download through gannet ms, ap, sgsn and ggsn notices when the mobile changes between two \
                  bearers of 100 Mbit/s, in both modes: the longest pause, and segments that were lost. Once the bearer in use is \
                  pulled out; once the preferred one comes back while the other is still there. What the full queue of a \
                  context refuses, with a change or without one, is told from what is lost elsewhere.",
        run: crate::bearer::change::run,
    },
    Experiment {
        name: "bearer-simulated",
        description: "round trips, goodput, loss and a change of bearer on top of LLC over Ethernet and wireless LAN, simulated",
        purpose: "Shows what frames, headers, windows and timers of LLC alone do to Ethernet of 100 Mbit/s and wireless LAN of \
                  11 Mbit/s: round trips by packet size, goodput of a source that always has something, with loss and without, and \
                  a change of bearer. Virtual time.",
        run: crate::bearer::simulated::run,
    },
    Experiment {
        name: "tcp-model",
        description: "the laboratory's TCP in virtual time beside the machine's kernel, over the same emulated line",
        purpose: "Shows how near the TCP that the laboratory has for virtual time is to the machine's kernel: goodput, \
                  retransmissions and recovery over the same emulated line with the same dice, where only the queue loses, with \
                  random loss, with an outage, and with bursts of losses.",
        run: crate::tcp_model::run,
    },
    Experiment {
        name: "radio-rate",
        description: "TCP over RLC/MAC by coding scheme, timeslots, direction and N201-U; where the airtime went",
        purpose: "Shows what one TCP connection gets of the timeslots of a GPRS cell, beside the payload of the coding scheme \
                  less headers, and for what every block was used: payload, headers, RLC control, retransmissions, nothing. \
                  Virtual time.",
        run: crate::radio::rate::run,
    },
    Experiment {
        name: "radio-rtt",
        description: "pings of 32 octets over RLC/MAC by how TBFs end, as a sum of named parts",
        purpose: "Shows what a ping of 32 octets waits for in a GPRS cell that has nothing else to do: access, assignments, \
                  blocks, network; with TBFs that end at once and with TBFs that stay. Virtual time.",
        run: crate::radio::rtt::run,
    },
    Experiment {
        name: "radio-share",
        description: "ten mobiles of four traffic classes in one cell with RLC/MAC",
        purpose: "Shows what conversational, streaming, interactive and background contexts get of one GPRS cell that cannot \
                  carry what they are sent. Virtual time.",
        run: crate::radio::share::run,
    },
    Experiment {
        name: "trace-throughput",
        description: "bulk TCP of four terminals by MTU and N201-U, read from captures by the analyser",
        purpose: "Shows what TCP gets by terminal, MTU and N201-U, beside what headers and control blocks leave, as figures 5 and 6 of \
                  A. Gurtov, M. Passoja, O. Aalto, M. Raitola, \u{201c}Multi-Layer Protocol Tracing in a GPRS Network\u{201d}, IEEE \
                  VTC, 2002. Every number is read from captures. Virtual time.",
        run: crate::trace::throughput::run,
    },
    Experiment {
        name: "trace-rtt",
        description: "pings of 32 octets as a sum read from captures, and settings that make each second one longer",
        purpose: "Shows what a ping of 32 octets waits for with immediate and extended release of TBFs, and searches the settings of a \
                  cell in which each second ping is longer, as in the study of multi-layer tracing. Every number is read from captures. \
                  Virtual time.",
        run: crate::trace::rtt::run,
    },
    Experiment {
        name: "trace-buffer",
        description: "the buffer of the bottleneck, from the host's capture alone and with that of Gb",
        purpose: "Shows how well the analyser tells the buffer of the bottleneck from captures, and what an uplink buffer of two segments \
                  does to TCP, as in the study of multi-layer tracing. Virtual time.",
        run: crate::trace::buffer::run,
    },
    Experiment {
        name: "radio-ber",
        description: "TCP over RLC/MAC at a C/I of 6 to 25 dB, by coding scheme",
        purpose: "Shows what one TCP connection gets of a GPRS cell by C/I and coding scheme, and how many blocks are sent again \
                  for it. Virtual time.",
        run: crate::radio::ber::run,
    },
    Experiment {
        name: "trace-tbf",
        description: "TCP over RLC/MAC by the analyser: TBFs of acknowledgements, and blocks sent again without need",
        purpose: trace!(
            "Counts what RLC does under TCP, from captures alone: uplink TBFs and the TCP acknowledgements in each, blocks that hold a              TBF, blocks sent again (needed, premature, repeated), polls and stalls. The base station does what the study saw, and what              the study asks for. Repeats figure 7."
        ),
        run: crate::trace::tbf::run,
    },
    Experiment {
        name: "radio-hour",
        description: "how long a virtual hour of 8 cells with 200 mobiles takes on one core",
        purpose: "Measures how long a virtual hour of eight GPRS cells with four PDCHs each and 200 mobiles takes on one core, \
                  where half of the blocks are used.",
        run: crate::radio::hour::run,
    },
    Experiment {
        name: "trace-reselect",
        description: "TCP over cell reselections each 40 to 70 s: an SGSN that discards what waits, and ours",
        purpose: "Shows what cell reselections do to TCP: how long the outage is, what is lost, and how long TCP takes to recover, with \
                  an SGSN that discards what waits, with FLUSH-LL that moves it, and with network-assisted cell change. Virtual \
                  time. It repeats the drive of A. Gurtov, M. Passoja, O. Aalto, M. Raitola, \u{201c}Multi-Layer Protocol Tracing in a GPRS \
                  Network\u{201d}, IEEE Vehicular Technology Conference, 2002.",
        run: crate::mobility::reselect::run,
    },
    Experiment {
        name: "radio-interop",
        description: "round trips and TCP over RLC/MAC in real time: osmo-sgsn and ours, beside a real phone stack",
        purpose: "Measures the round trip of pings and the rate of TCP, both ways, through gannet bss with RLC/MAC, and through gannet ms on \
                  osmo-bts-virtual and osmo-pcu, on Osmocom's SGSN and GGSN and on ours, in turns and in real time, beside a chain with \
                  a real phone stack and osmo-pcu. What differs from that chain is named by contribution.",
        run: crate::radio_interop::run,
    },
    Experiment {
        name: "trace-cost",
        description: "what a capture costs the SGSN: headers of everything at half load, a ninth of the subscribers above saturation",
        purpose: "Measures what a capture costs the SGSN beside which it runs, in pairs of steps with it and without it: CPU time of an \
                  N-PDU at half of saturation with the headers of everything, and throughput above saturation with one subscriber of \
                  nine recorded whole. Records and N-PDUs that are missing are counted. The SGSN has a core to itself, which its \
                  capture's writer shares; generator and sink share another.",
        run: |options| run("trace-cost", options, ed::trace_cost::experiment),
    },
    Experiment {
        name: "trace-read",
        description: "how fast captures are read, and what 10 GB and a million mobiles take of memory",
        purpose: "Measures how fast captures of a GPRS core are read on one thread from the page cache, with all layers of each frame by \
                  itself and joined; and what a capture of 10 GB, and one with more mobiles than are told apart, take of memory. \
                  The captures are made with the encoders of this project.",
        run: crate::trace_read::run,
    },
    Experiment {
        name: "preempt",
        description: "a download while calls take all PDCHs for 3, 6 or 15 s a minute, by what becomes of the queue",
        purpose: "Shows what TCP gets of a GPRS cell whose PDCHs calls take now and then, by what the base station does with its queue, \
                  by buffer and by TCP (A. Wennstr\u{f6}m, A. Brunstrom, J. Rend\u{f3}n, J. H. Gustafsson: The Impact of Preemptive \
                  Priority in GPRS on TCP Performance: A Measurement Study, table 1 and figures 2 to 4). Virtual time.",
        run: crate::preempt::run,
    },
    Experiment {
        name: "preempt-kernel",
        description: "the same download by the kernel's Reno, cubic and BBR in real time, 32 worlds at once",
        purpose: "Shows what the TCP of this machine's kernel gets of a GPRS cell whose PDCHs calls take now and then: Reno with and without                   selective acknowledgements, cubic and BBR, beside the same study. SGSN, GGSN, base station and mobile run in one                   process and follow the clock; the hosts are network namespaces. Real time: 11 minutes with --quick, and otherwise                   twice the 40 minutes of a run. Needs root.",
        run: crate::preempt::real::run,
    },
    Experiment {
        name: "preempt-erlang",
        description: "ten mobiles in a cell from which calls take PDCHs one by one, by offered calls",
        purpose: "Shows what nine downloads and a flow of real time get of a GPRS cell from which calls take PDCHs one by one, by the \
                  offered calls and by what the base station does with its queue. Virtual time.",
        run: crate::preempt::erlang::run,
    },
    Experiment {
        name: "edge-buffsize",
        description: "an edge router's streams by BUFF_SIZE, the octets that a packet buffer counts",
        purpose: edge!(
            "Shows what reserved and best-effort streams get of a congested line by the value of BUFF_SIZE (section V-B.1, \
                  figure 7), and that it is no matter where octets are counted as they are. Virtual time."
        ),
        run: crate::edge::buffsize::run,
    },
    Experiment {
        name: "edge-buffers",
        description: "the same streams by the number of packet buffers, with periodic and Poisson arrivals",
        purpose: edge!(
            "Shows what reserved and best-effort streams get of a congested line by the number of packet buffers, with \
                  periodic and with Poisson arrivals (section V-B.2, figures 8 and 9), with the paper's rules and with ours, \
                  and what a burst allowance is worth and costs. Virtual time."
        ),
        run: crate::edge::buffers::run,
    },
    Experiment {
        name: "edge-delay",
        description: "delay of expedited forwarding beside the AF queue, and a stream at 20 times its reservation",
        purpose: edge!(
            "Shows the delay of two streams in the AF queue and in the EF queue, by the weight of EF (section V-C, table I), \
                  and what others notice of a stream that sends twenty times what is reserved for it. Virtual time."
        ),
        run: crate::edge::delay::run,
    },
    Experiment {
        name: "edge-real",
        description: "the same streams as UDP in real time over one emulated line: gannet edge, HTB, gannet ggsn",
        purpose: edge!(
            "Shows what the streams get of a line of 2 Mbit/s, and their delay, behind gannet edge, behind Linux's HTB and through \
                  gannet ggsn, in real time: UDP through network namespaces and an emulated line, counted at the far end (sections \
                  V-B and V-C, figures 7 to 9, table I)."
        ),
        run: crate::edge::real::run,
    },
    Experiment {
        name: "edge-cost",
        description: "what the QoS component costs a packet with 9 to 100,000 streams, beside HTB; whole forwarders",
        purpose: edge!(
            "Measures what the QoS component costs a packet, enqueued and dequeued (section V-A), with 9, 10,000 and 100,000 \
                  streams chosen at random; and what whole forwarders spend on a packet of the same load: gannet edge, the \
                  kernel, the kernel with HTB, and XDP_REDIRECT."
        ),
        run: crate::edge::cost::run,
    },
    Experiment {
        name: "edge-scale",
        description: "what a packet costs gannet edge with 10 to 10,000 rules, by the fast path and by the rules",
        purpose: edge!(
            "Measures what a packet costs the whole of gannet edge with 10 to 10,000 rules, where the fast path remembers all flows \
                  and where the rules are asked for nearly each packet (section V-A)."
        ),
        run: crate::edge::scale::run,
    },
    Experiment {
        name: "ed-throughput-gea3",
        description: "the same as ed-throughput where each packet is ciphered with GEA3",
        purpose: thesis!(
            "Measures the same as ed-throughput (thesis, section 7.3.1) where each packet is ciphered with GEA3."
        ),
        run: |options| run_ciphered("ed-throughput-gea3", options, GEA3, ed::throughput::experiment),
    },
    Experiment {
        name: "ed-isolation-gea3",
        description: "the same as ed-isolation with GEA3",
        purpose: thesis!(
            "Measures the same as ed-isolation (thesis, section 7.3.2) where each packet is ciphered with GEA3."
        ),
        run: |options| run_ciphered("ed-isolation-gea3", options, GEA3, ed::isolation::experiment),
    },
    Experiment {
        name: "ed-delay-gea3",
        description: "the same as ed-delay with GEA3",
        purpose: thesis!(
            "Measures the same as ed-delay (thesis, section 7.4) where each packet is ciphered with GEA3."
        ),
        run: |options| run_ciphered("ed-delay-gea3", options, GEA3, ed::delay::experiment),
    },
    Experiment {
        name: "ed-precedence-gea3",
        description: "the same as ed-precedence with GEA3",
        purpose: thesis!(
            "Measures the same as ed-precedence (thesis, section 7.5) where each packet is ciphered with GEA3."
        ),
        run: |options| run_ciphered("ed-precedence-gea3", options, GEA3, ed::precedence::experiment),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_experiment_says_what_it_is_for_and_cites_its_paper_in_full() {
        for experiment in ALL {
            assert!(experiment.purpose.len() > 100, "{}", experiment.name);
            assert!(named(experiment.name).is_some_and(|found| found.purpose == experiment.purpose));
            let cites = ["Lefebvre", "University of British Columbia", "2001"];
            let full = cites.iter().all(|part| experiment.purpose.contains(part));
            assert_eq!(full, experiment.name.starts_with("ed-"), "{}", experiment.name);
            let full = ["Peris", "INFOCOM", "1999"].iter().all(|part| experiment.purpose.contains(part));
            assert_eq!(full, experiment.name.starts_with("edge-"), "{}", experiment.name);
        }
    }
}

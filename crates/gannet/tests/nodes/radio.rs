//! A BSS whose radio has RLC/MAC, and what is seen of it: GSMTAP, pcapng, counters.

use crate::common::{GANNET, Node, file, said, wait_for, within};
use crate::radio_fields::{Seen, compare};
use gannet_analysis::record::Record;
use gannet_analysis::{Reading, Settings};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir, tshark};
use gannet_wire::gsmtap::Channel;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::path::{Path, PathBuf};

/// All of them.
pub const CASES: &[Case] = &[
    (
        "each_block_of_a_radio_is_seen",
        &[Need::NetAdmin, Need::Tshark, Need::Program("ping")],
        each_block_is_seen,
    ),
    ("a_capture_that_cannot_be_made_changes_nothing", &[Need::NetAdmin], no_capture),
    ("an_emulated_radio_has_no_blocks", &[], nothing_to_see),
];

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
const HOST: &str = "172.16.222.1";
const MOBILES: u32 = 10;

/// A core and a BSS in one process, with the files of the examples and more lines for the BSS.
struct Bed {
    core: Netns,
    node: Node,
    directory: TempDir,
}

impl Bed {
    fn new(label: &str, more: &str) -> Self {
        Self::within(Netns::new(label), TempDir::new(label), more)
    }

    fn within(core: Netns, directory: TempDir, more: &str) -> Self {
        let state = directory.path().display().to_string();
        let arguments = ["sgsn", "ggsn", "bss"].map(|name| {
            let text = std::fs::read_to_string(format!("{EXAMPLES}/{name}.cfg")).unwrap();
            let page = if name == "bss" { "metrics\n bind 127.0.0.1\n" } else { "" };
            let text = text.replace("/var/tmp", &state).replace("\nbss\n", &format!("\nbss\n{more}")) + page;
            [format!("--{name}"), file(&directory, &format!("{name}.cfg"), &text)]
        });
        let mut command = core.command(GANNET);
        command.arg("core").args(arguments.concat());
        let node = Node::spawn(&directory, "", command, "core");
        let bed = Self { core, node, directory };
        wait_for("a context", || bed.try_bss(&["show mobile 1"]).filter(|text| text.contains("pdp-active")));
        bed
    }

    fn try_bss(&self, lines: &[&str]) -> Option<String> {
        let mut command = self.core.command(GANNET);
        command.args(["vty", "127.0.0.1:4290"]).args(lines.iter().flat_map(|line| ["-c", line]));
        let output = command.output().unwrap();
        output.status.success().then(|| said(&output))
    }

    /// What the VTY of the BSS says to these lines.
    fn bss(&self, lines: &[&str]) -> String {
        self.try_bss(lines).unwrap_or_else(|| panic!("{lines:?}: {}", self.node.log()))
    }

    fn configure(&self, line: &str) -> String {
        self.bss(&["configure terminal", "bss", line])
    }

    /// Records all that crosses the interfaces of the process, as its first node says.
    fn begin_trace(&self) -> PathBuf {
        let file = self.directory.path().join("all.pcapng");
        let mut command = self.core.command(GANNET);
        let line = format!("trace file {}", file.display());
        command.args(["vty", "127.0.0.1:4245", "-c", "configure terminal", "-c", &line]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        file
    }
}

/// Pings from a mobile to a host, on every interface on their way, with whose they are where a node knows it.
fn everything_is_in_one_capture(capture: &Path) {
    let fields = ["frame.interface_name", "frame.comment", "icmp.type"];
    let rows = tshark::dissect_file(&capture.to_string_lossy(), &["-d", "udp.port==23000,gprs-ns"], &fields);
    let interfaces: BTreeSet<&str> = rows.iter().map(|row| row[0].as_str()).collect();
    for interface in ["Abis", "Gb", "Gi", "Gn", "TUN", "Um"] {
        assert!(interfaces.contains(interface), "{interface} among {interfaces:?}");
    }
    for interface in ["Gi", "Gn", "TUN"] {
        assert!(rows.iter().any(|row| row[0] == interface && row[2] == "8"), "pings on {interface}");
    }
    assert!(rows.iter().any(|row| row[0] == "Um" && row[1].contains("; read")));
    assert!(rows.iter().any(|row| row[0] == "Gb" && row[1].starts_with("IMSI 0010")));
}

/// The analyser knows a ping on all interfaces as one, and whose it is.
fn the_analyser_joins_it(capture: &Path) {
    let mut reading = Reading::open(&[capture], Settings::default()).unwrap();
    let mut pings: BTreeMap<u64, (BTreeSet<u16>, BTreeSet<u32>)> = BTreeMap::new();
    for seen in reading.by_ref() {
        let Record::Packet(packet) = seen.what else { continue };
        let Some(digest) = packet.digest.filter(|_| packet.ip.is_some_and(|ip| ip.icmp_type == Some(8)))
        else {
            continue;
        };
        let (places, mobiles) = pings.entry(digest).or_default();
        places.insert(seen.place);
        mobiles.extend(packet.mobile);
    }
    assert_eq!(reading.damages(), []);
    let name = |place: &u16| reading.places()[usize::from(*place)].name.clone().unwrap();
    let is_whole = |places: &BTreeSet<u16>| {
        let names: BTreeSet<String> = places.iter().map(name).collect();
        ["Abis", "Gb", "Gi", "Gn", "TUN", "Um"].iter().all(|name| names.contains(*name))
    };
    let whole: Vec<_> = pings.values().filter(|(places, _)| is_whole(places)).collect();
    assert!(!whole.is_empty(), "no ping of {} is seen everywhere", pings.len());
    let one = |mobiles: &BTreeSet<u32>| {
        mobiles.iter().map(|mobile| reading.mobiles().canonical(*mobile)).collect::<BTreeSet<_>>().len() == 1
    };
    assert!(whole.iter().all(|(_, mobiles)| one(mobiles)), "{whole:?}");
}

/// A counter of the radio in what `show radio` printed, over all cells, by what a person reads.
fn counted(shown: &str, help: &str) -> u64 {
    let values = shown.lines().filter_map(|line| line.trim().strip_prefix(help)?.strip_prefix(": "));
    let values: Vec<u64> = values.map(|value| value.trim().parse().unwrap()).collect();
    assert!(!values.is_empty(), "{help}: {shown}");
    values.iter().sum()
}

/// What `show radio` printed before something was read elsewhere, and afterwards: what stands there lies between both.
struct Around {
    before: String,
    after: String,
}

impl Around {
    fn assert(&self, what: &str, value: u64, helps: &[&str]) {
        let sum = |shown: &str| helps.iter().map(|help| counted(shown, help)).sum::<u64>();
        let (low, high) = (sum(&self.before), sum(&self.after));
        assert!((low..=high).contains(&value), "{what}: {value}, counted {low} to {high}");
    }
}

/// The blocks that have come since the last time, as Wireshark would have got them.
fn drained(socket: &UdpSocket) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    let mut room = [0; 2048];
    loop {
        match socket.recv(&mut room) {
            Ok(octets) => all.push(room[..octets].to_vec()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Mobiles attach, activate and ping over a channel that loses. What was captured is read by tshark as by us, and is what was
/// counted.
fn each_block_is_seen() {
    let directory = TempDir::new("gannet-radio");
    let capture = directory.path().join("radio.pcapng");
    let (core, radio) = (Netns::new("radio-core"), Netns::new("radio-ms"));
    let socket = within(&core, || UdpSocket::bind("127.0.0.1:4729").unwrap()).join().unwrap();
    socket.set_nonblocking(true).unwrap();
    let more = format!(
        " radio rlcmac slots 4 cs 2 c-i 15\n gsmtap-remote-host\n radio capture {}\n",
        capture.display()
    );
    let bed = Bed::within(core, directory, &more);
    let traced = bed.begin_trace();
    let address = bed.core.run("ip", &["-4", "-o", "address", "show", "dev", "ms0"]);
    let address = address.split_whitespace().find(|word| word.starts_with("172.16.222.")).unwrap().to_owned();
    bed.core.ip(&["link", "set", "ms0", "netns", radio.name()]);
    radio.ip(&["link", "set", "ms0", "up"]);
    radio.ip(&["address", "add", &address, "dev", "ms0"]);
    radio.ip(&["route", "replace", HOST, "dev", "ms0"]);
    let ping =
        |count: &str| radio.run("ping", &["-n", "-c", count, "-i", "1", "-s", "500", "-W", "30", HOST]);
    assert!(ping("5").contains(" received"));
    let everything = drained(&socket);
    assert!(everything.len() > 100, "{} blocks", everything.len());
    // From here on immediate assignments alone go to who listens. All goes into the capture.
    assert_eq!(bed.configure("gsmtap-category dl-agch"), "");
    let rest = drained(&socket);
    let _ = ping("3");
    let assignments = drained(&socket);
    bed.configure("no gsmtap-remote-host");
    (1..=MOBILES).for_each(|mobile| {
        let _ = bed.bss(&[&format!("mobile {mobile} detach")]);
    });
    let all = |state: &str| bed.bss(&["show mobile"]).matches(state).count() == MOBILES as usize;
    wait_for("all are detached", || all("detached").then_some(()));
    let is_silent = || bed.bss(&["show tbf all"]).is_empty();
    wait_for("the silence of the radio", || is_silent().then_some(()));
    let before = bed.bss(&["show radio"]);
    bed.configure("no radio capture");
    let around = Around { before, after: bed.bss(&["show radio"]) };
    let seen = compare(|fields| tshark::dissect_file(&capture.to_string_lossy(), &[], fields));
    let datagrams: BTreeSet<Vec<u8>> = on(&seen, "Abis").map(datagram).collect();
    assert!(everything.iter().chain(&rest).all(|datagram| datagrams.contains(datagram)));
    assert!(!assignments.is_empty(), "each ping begins with an access");
    let channel = |datagram: &Vec<u8>| Channel::from_octet(datagram[12]);
    assert!(assignments.iter().all(|it| channel(it) == Channel::Agch && datagrams.contains(it)));
    counters_agree(&around, &seen);
    page_agrees(&bed);
    what_was_lost_agrees(&around, &seen);
    everything_is_in_one_capture(&traced);
    the_analyser_joins_it(&traced);
    stop(bed, &capture);
}

fn on<'a>(seen: &'a [Seen], interface: &'a str) -> impl Iterator<Item = &'a Seen> {
    seen.iter().filter(move |seen| seen.interface == interface)
}

fn datagram(seen: &Seen) -> Vec<u8> {
    [&seen.header.emit()[..], &seen.octets].concat()
}

/// Abis has what the PCU has counted.
fn counters_agree(around: &Around, seen: &[Seen]) {
    let count = |channel: Channel, uplink| {
        let is_it = |seen: &&Seen| seen.header.sub_type == channel.octet() && seen.header.uplink == uplink;
        on(seen, "Abis").filter(is_it).count() as u64
    };
    let data = [
        "downlink data blocks, sent for the first time",
        "downlink data blocks, sent again as reported missing",
        "downlink data blocks, sent again as reported missing again",
        "downlink data blocks, sent again as the window was stalled",
        "downlink data blocks, sent again as nothing else was to be sent",
    ];
    let assignments = [
        "immediate assignments of uplink TBFs",
        "immediate assignments of single blocks",
        "immediate assignments of downlink TBFs",
        "immediate assignment rejects",
    ];
    for (channel, uplink, helps) in [
        (Channel::Pdtch, false, &data[..]),
        (Channel::Pacch, false, &["downlink control blocks", "downlink dummy control blocks"]),
        (Channel::Pdtch, true, &["uplink data blocks"]),
        (Channel::Pacch, true, &["uplink control blocks", "uplink dummy control blocks"]),
        (Channel::Agch, false, &assignments),
        (Channel::Rach, true, &["access bursts that were read"]),
    ] {
        assert!(count(channel, uplink) > 10, "{channel}");
        around.assert(&format!("{channel}, uplink {uplink}"), count(channel, uplink), helps);
    }
}

/// The page of metrics has the same counters.
fn page_agrees(bed: &Bed) {
    let before = bed.bss(&["show radio"]);
    let page = within(&bed.core, || {
        let mut stream = TcpStream::connect("127.0.0.1:9290").unwrap();
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        page
    });
    let page = page.join().unwrap();
    let around = Around { before, after: bed.bss(&["show radio"]) };
    for (name, help) in [
        ("radio_downlink_data_new", "downlink data blocks, sent for the first time"),
        ("radio_uplink_accepted", "uplink data blocks that were new"),
        ("radio_access_bursts", "access bursts that were read"),
        ("radio_air_downlink_lost", "downlink blocks lost at a mobile that listened"),
    ] {
        let begins = format!("gannet_bss_{name}_total{{cell=");
        let samples = page.lines().filter(|line| line.starts_with(&begins));
        let values = samples.map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
        around.assert(name, values.sum(), &[help]);
    }
    let begins = "gannet_bss_radio_mobiles_accesses_total ";
    let accesses: u64 = page.lines().find_map(|line| line.strip_prefix(begins)).unwrap().parse().unwrap();
    assert!(accesses >= u64::from(MOBILES), "each mobile has asked for a TBF: {accesses}");
    assert!(bed.bss(&["show ms all"]).contains("accesses on the CCCH: "));
}

/// Um has what Abis has, and what was lost on the way, each with its fate.
fn what_was_lost_agrees(around: &Around, seen: &[Seen]) {
    let is_pdch =
        |seen: &&Seen| [Channel::Pdtch, Channel::Pacch].map(Channel::octet).contains(&seen.header.sub_type);
    let of = |interface, uplink| {
        on(seen, interface).filter(is_pdch).filter(move |seen| seen.header.uplink == uplink).count() as u64
    };
    // What was on the air when the capture was closed is on Abis alone: a block on each PDCH of two cells.
    let on_the_way = of("Abis", false) - of("Um", false);
    assert!(on_the_way <= 2 * 4, "{on_the_way}");
    let lost_at = on(seen, "Um").filter(is_pdch).filter_map(|seen| {
        let (mobiles, _) =
            seen.comment.strip_prefix("lost at ")?.split_once(';').unwrap_or((&seen.comment, ""));
        Some(mobiles.split(',').count() as u64)
    });
    around.assert("lost downlink", lost_at.sum(), &["downlink blocks lost at a mobile that listened"]);
    let lost = of("Um", true) - of("Abis", true);
    around.assert("lost uplink", lost, &["uplink blocks lost", "uplink blocks that collided"]);
    assert!(on(seen, "Um").all(|seen| !seen.comment.is_empty()), "each has its fate");
    assert!(on(seen, "Abis").all(|seen| seen.comment.is_empty()));
    let both = on(seen, "Um").count() + on(seen, "Abis").count();
    assert_eq!(both, seen.len(), "there is no other interface");
}

/// The end of the process is in order, and the capture stays as it was closed.
fn stop(mut bed: Bed, capture: &Path) {
    let before = std::fs::metadata(capture).unwrap().len();
    bed.node.signal("TERM");
    assert_eq!(bed.node.wait().code(), Some(0), "{}", bed.node.log());
    assert_eq!(std::fs::metadata(capture).unwrap().len(), before);
}

/// The file cannot be made: the command is refused, and the capture that there is goes on to the end of the node.
fn no_capture() {
    let directory = TempDir::new("gannet-radio-capture");
    let capture = directory.path().join("radio.pcapng");
    let more = format!(" radio rlcmac slots 2 cs 4\n radio capture {}\n", capture.display());
    let mut bed = Bed::new("radio-capture", &more);
    let lines = ["configure terminal", "bss", "radio capture /nowhere/at/all.pcapng"];
    let mut command = bed.core.command(GANNET);
    command.args(["vty", "127.0.0.1:4290"]).args(lines.iter().flat_map(|line| ["-c", line]));
    let output = command.output().unwrap();
    assert!(
        !output.status.success() && said(&output).contains("/nowhere/at/all.pcapng"),
        "{}",
        said(&output)
    );
    assert!(bed.bss(&["show running-config"]).contains(&format!("radio capture {}", capture.display())));
    let blocks = counted(&bed.bss(&["show radio"]), "downlink data blocks, sent for the first time");
    bed.node.signal("TERM");
    assert_eq!(bed.node.wait().code(), Some(0), "{}", bed.node.log());
    let octets = std::fs::read(&capture).unwrap();
    assert!(octets.len() as u64 > 100 * blocks && blocks > 0, "{blocks} blocks in {} octets", octets.len());
    drop(directory);
}

/// Words about blocks where there are none: a remark, and a sentence for who asks.
fn nothing_to_see() {
    let directory = TempDir::new("gannet-radio-emulated");
    let config = file(&directory, "bss.cfg", "bss\n gsmtap-remote-host 127.0.0.1\n");
    let output = std::process::Command::new(GANNET).args(["bss", "-c", &config, "--check"]).output().unwrap();
    let text = said(&output);
    assert!(output.status.success() && text.contains("OK"), "{text}");
    assert!(text.contains("bss.cfg:2") && text.contains("without 'radio rlcmac'"), "{text}");
}

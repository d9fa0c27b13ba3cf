//! The whole chain in network namespaces: the demo in its variants, with its captures read by tshark, and Osmocom's
//! SGSN emulator against our GGSN.

use crate::common::{GANNET, Node, file, left_behind, said, signal, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir, tshark};
use std::process::{Command, Stdio};

pub const TOOLS: &[Need] = &[Need::NetAdmin, Need::Tshark, Need::Program("curl"), Need::Program("ping")];
const OSMO_GGSN: &[Need] =
    &[Need::NetAdmin, Need::Tshark, Need::Program("curl"), Need::Program("ping"), Need::Program("osmo-ggsn")];
pub const OSMO_BOTH: &[Need] = &[
    Need::NetAdmin,
    Need::Tshark,
    Need::Program("curl"),
    Need::Program("ping"),
    Need::Program("osmo-ggsn"),
    Need::Program("osmo-sgsn"),
];

/// All of them.
pub const CASES: &[Case] = &[
    ("demo_with_osmo_ggsn", OSMO_GGSN, demo_with_osmo_ggsn),
    ("demo_with_gannet_ggsn", TOOLS, demo_with_gannet_ggsn),
    ("a_download_during_which_its_mobile_changes_cells", TOOLS, a_download_with_cell_changes),
    ("gtpv0_with_osmo_ggsn_by_xdp", OSMO_GGSN, gtpv0_by_xdp),
    ("gtpv0_with_osmo_ggsn_by_sockets_of_class", OSMO_GGSN, gtpv0_by_reuseport),
    ("gtpv0_with_osmo_ggsn_by_fifo", OSMO_GGSN, gtpv0_by_fifo),
    ("gtpv0_with_gannet_ggsn", TOOLS, gtpv0_with_gannet_ggsn),
    ("demo_with_osmo_sgsn", OSMO_BOTH, demo_with_osmo_sgsn),
    ("demo_over_rlc_mac", TOOLS, demo_over_rlc_mac),
    ("an_interrupted_demo_leaves_nothing", TOOLS, an_interrupted_demo_leaves_nothing),
    ("sgsnemu_pings_through_our_ggsn", &[Need::NetAdmin, Need::Program("sgsnemu")], sgsnemu_pings),
];

const NS_IS_ON: &[&str] = &["-d", "udp.port==23000,gprs-ns"];

/// Runs a small demo and returns what it printed.
fn demo(directory: &TempDir, arguments: &[&str]) -> String {
    let out = directory.path().to_string_lossy().into_owned();
    let mut command = Command::new(GANNET);
    command.args(["demo", "--mobiles", "3", "--out", &out]).args(arguments);
    if !arguments.contains(&"--octets") {
        command.args(["--octets", "200000"]);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
    said(&output)
}

/// How often each kind of frame is in a capture: Gb or Gn, and what is inside.
struct Census {
    gb_tcp: usize,
    gn_tcp: usize,
}

/// Reads a capture and refuses every frame that is not dissected down to what it carries.
fn census(directory: &TempDir, name: &str) -> Census {
    let path = directory.path().join(name).to_string_lossy().into_owned();
    // TCP's own analysis would complain about losses between the user's hosts.
    let quiet: Vec<&str> = [NS_IS_ON, &["-o", "tcp.desegment_tcp_streams:FALSE"]].concat();
    let malformed =
        tshark::dissect_file(&path, &[&quiet[..], &["-Y", "_ws.malformed"]].concat(), &["frame.number"]);
    assert_eq!(malformed, tshark::Rows::new());
    let mut census = Census { gb_tcp: 0, gn_tcp: 0 };
    // Packets of TUN devices are in it as they are.
    let of_links = [&quiet[..], &["-Y", "udp"]].concat();
    for row in tshark::dissect_file(&path, &of_links, &["frame.protocols"]) {
        // The port of GTPv0 is that of GTP' too.
        let protocols = row[0].replace("udp:gtpprime", "udp:gtp");
        let inside = protocols.strip_prefix("raw:ip:udp:").unwrap_or_else(|| panic!("{row:?}"));
        let sndcp = inside.strip_prefix("gprs-ns:bssgp:llcgprs:sndcp");
        match (inside, sndcp) {
            ("gtp" | "gtp:ipcp" | "gprs-ns" | "gprs-ns:bssgp" | "gprs-ns:bssgp:llcgprs", _) => {}
            // The end of an N-PDU shows the whole; the segments before it show nothing.
            (_, Some("")) => {}
            (_, Some(packet)) if is_packet(packet, "tcp") => census.gb_tcp += 1,
            (_, Some(packet)) if is_packet(packet, "icmp") => {}
            (_, None) if inside.starts_with("gprs-ns:bssgp:llcgprs:gsm_a.dtap") => {}
            (_, None) if is_packet(inside.strip_prefix("gtp").unwrap_or_default(), "tcp") => {
                census.gn_tcp += 1
            }
            (_, None) if is_packet(inside.strip_prefix("gtp").unwrap_or_default(), "icmp") => {}
            _ => panic!("a frame is dissected as {inside}"),
        }
    }
    census
}

/// What is inside SNDCP or GTP is IP with this protocol; the user's own data may follow.
fn is_packet(protocols: &str, protocol: &str) -> bool {
    let inside = protocols.strip_prefix(":ip:").and_then(|rest| rest.strip_prefix(protocol));
    inside.is_some_and(|rest| matches!(rest, "" | ":data" | ":http" | ":http:data"))
}

fn demo_with_osmo_ggsn() {
    let directory = TempDir::new("gannet-demo");
    let said = demo(&directory, &[]);
    assert!(said.contains("gannet, osmo-ggsn") && said.contains("3 of 3"), "{said}");
    let sgsn = census(&directory, "sgsn.pcapng");
    assert!(sgsn.gn_tcp > 150, "{} on Gn", sgsn.gn_tcp);
    // What was not dropped stands on both sides, whole.
    if !said.contains("sgsn: ") {
        assert_eq!(sgsn.gb_tcp, sgsn.gn_tcp);
    }
    let bss = census(&directory, "bss.pcapng");
    assert!(bss.gb_tcp > 150 && bss.gn_tcp == 0);
}

fn demo_with_gannet_ggsn() {
    let directory = TempDir::new("gannet-demo-own");
    let said = demo(&directory, &["--ggsn", "gannet"]);
    assert!(said.contains("gannet, gannet") && said.contains("PDP contexts at the SGSN 3"), "{said}");
    assert!(census(&directory, "sgsn.pcapng").gn_tcp > 150);
}

/// Between two cells of each of two NSEs: the content is the one that was sent, and no LL-PDU is lost.
fn a_download_with_cell_changes() {
    let directory = TempDir::new("gannet-demo-cells");
    let said = demo(&directory, &["--ggsn", "gannet", "--octets", "1500000", "--cell-changes", "10"]);
    let row = said.lines().find(|line| line.contains("cell changes")).unwrap_or_else(|| panic!("{said}"));
    assert!(row.contains(" 10, ") && row.contains(", 0 deleted") && !row.contains(", 0 octets"), "{said}");
    for lost in ["bss_", "flow_flushed", "flow_lifetime", "flow_pushed_out", "sgsn_flush", "ms_"] {
        assert!(!said.contains(&format!(": {lost}")), "{said}");
    }
    let capture = directory.path().join("sgsn.pcapng").to_string_lossy().into_owned();
    let flushes = [NS_IS_ON, &["-Y", "bssgp.pdu_type == 0x2a"]].concat();
    // One for each change, but that a machine which is busy may hear two cells in the other order, or one of them not at all.
    let flushes = tshark::dissect_file(&capture, &flushes, &["frame.number"]).len();
    assert!((5..=20).contains(&flushes), "{flushes}");
}

/// Ping and download over GTPv0, and nothing of another version on Gn.
fn gtpv0(ggsn: &str, ingress: &str) {
    let directory = TempDir::new("gannet-demo-v0");
    let arguments = ["--gtp-version", "0", "--ggsn", ggsn, "--ingress", ingress];
    let said = demo(&directory, &arguments);
    assert!(said.contains("3 of 3"), "{said}");
    let sgsn = census(&directory, "sgsn.pcapng");
    assert!(sgsn.gn_tcp > 150, "{} on Gn", sgsn.gn_tcp);
    let capture = directory.path().join("sgsn.pcapng").to_string_lossy().into_owned();
    let on_gn = [NS_IS_ON, &["-Y", "gtp || gtpprime"]].concat();
    let rows = tshark::dissect_file(&capture, &on_gn, &["gtp.flags.version", "udp.dstport"]);
    assert!(rows.iter().all(|row| row[0].starts_with('0') && row[1].starts_with("3386")), "{rows:?}");
}

fn gtpv0_by_xdp() {
    gtpv0("osmo-ggsn", "xdp");
}

fn gtpv0_by_reuseport() {
    gtpv0("osmo-ggsn", "reuseport");
}

fn gtpv0_by_fifo() {
    gtpv0("osmo-ggsn", "fifo");
}

fn gtpv0_with_gannet_ggsn() {
    gtpv0("gannet", "auto");
}

fn demo_with_osmo_sgsn() {
    let directory = TempDir::new("gannet-demo-osmo");
    let said = demo(&directory, &["--sgsn", "osmo-sgsn"]);
    assert!(said.contains("osmo-sgsn, osmo-ggsn") && said.contains("3 of 3"), "{said}");
    assert!(census(&directory, "bss.pcapng").gb_tcp > 150);
}

/// Rate and round trip are those of GPRS: three timeslots of CS-2 carry 36.0 kbit/s, and no LL-PDU crosses the air both ways within two
/// block periods each.
fn demo_over_rlc_mac() {
    let directory = TempDir::new("gannet-demo-radio");
    let said = demo(&directory, &["--radio", "rlcmac", "--ggsn", "gannet", "--octets", "40000"]);
    let number_before = |name: &str, unit: &str| {
        let row = said.lines().find(|line| line.trim_start().starts_with(name));
        let words: Vec<&str> = row.unwrap_or_else(|| panic!("{said}")).split_whitespace().collect();
        let unit = words.iter().position(|word| *word == unit).unwrap_or_else(|| panic!("{said}"));
        words[unit - 1].parse::<f64>().unwrap_or_else(|_| panic!("{said}"))
    };
    assert!(said.contains("RLC/MAC, 4 timeslots of CS-2") && said.contains("3 of 3"), "{said}");
    assert!(number_before("download", "kbit/s") < 36.0 && number_before("ping", "ms") > 80.0, "{said}");
    assert!(census(&directory, "sgsn.pcapng").gn_tcp > 30);
}

fn an_interrupted_demo_leaves_nothing() {
    let directory = TempDir::new("gannet-demo-stop");
    let out = directory.path().to_string_lossy().into_owned();
    let mut command = Command::new(GANNET);
    command.args(["demo", "--ggsn", "gannet", "--octets", "100000000", "--out", &out]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = child.id();
    // All nodes run.
    wait_for("the BSS", || directory.path().join("bss.pcapng").exists().then_some(()));
    assert!(left_behind(pid, directory.path()).len() >= 4);
    signal(&pid.to_string(), "INT");
    let status = wait_for("the end of the demo", || child.try_wait().unwrap());
    assert!(!status.success());
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
}

fn sgsnemu_pings() {
    let directory = TempDir::new("gannet-sgsnemu");
    let netns = Netns::new("sgsnemu");
    let text = "ggsn ggsn0\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  tun-device apn0\n  \
                type-support v4\n  ip prefix dynamic 198.51.100.0/24\n  ip ifconfig 198.51.100.0/24\n  no shutdown\n \
                default-apn internet\n no shutdown ggsn\nline vty\n no login\n";
    let config = file(&directory, "ggsn.cfg", text);
    let mut ggsn = netns.command(GANNET);
    ggsn.args(["ggsn", "-c", &config]);
    let mut ggsn = Node::spawn(&directory, "127.0.0.1:4260", ggsn, "ggsn");
    let vty =
        |command: &str| netns.command(GANNET).args(["vty", "127.0.0.1:4260", command]).output().unwrap();
    wait_for("the VTY of the GGSN", || vty("show ggsn").status.success().then_some(()));
    let state = directory.path().to_string_lossy().into_owned();
    let pidfile = directory.path().join("pid").to_string_lossy().into_owned();
    let printed = netns.run(
        "timeout",
        &[
            "30",
            "sgsnemu",
            "-l",
            "127.0.0.3",
            "-r",
            "127.0.0.2",
            "--apn",
            "internet",
            "--imsi",
            "240011234567890",
            "--statedir",
            &state,
            "--pidfile",
            &pidfile,
            "--timelimit",
            "10",
            "--pinghost",
            "198.51.100.1",
            "--pingrate",
            "20",
            "--pingcount",
            "10",
        ],
    );
    assert!(printed.contains("10 packets received, 0% packet loss"), "{printed}");
    let stats = said(&vty("show stats"));
    for line in ["created 1", "deleted 1", "n_pdu_uplink 10", "n_pdu_downlink 10", "pdp_contexts 0"] {
        assert!(stats.contains(line), "{line}: {stats}");
    }
    ggsn.signal("TERM");
    assert_eq!(ggsn.wait().code(), Some(0), "{}", ggsn.log());
    let devices = netns.run("ip", &["link"]);
    assert!(!devices.contains("apn0"), "{devices}");
}

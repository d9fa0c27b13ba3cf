//! An SGSN, a GGSN and a BSS in one process, with the files of `docs/examples`.

use crate::common::{GANNET, Node, file, said, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Program("ping")];

/// All of them.
pub const CASES: &[Case] = &[
    ("three_nodes_run_in_one_process", NEEDS, three_nodes),
    ("a_process_of_several_nodes_says_what_is_wrong", &[], wrong),
];

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
const HOST: &str = "172.16.222.1";
const PINGS: usize = 20;

/// The examples, with a directory of their own for the restart counters.
fn examples(directory: &TempDir) -> Vec<String> {
    let state = directory.path().display().to_string();
    let arguments = ["sgsn", "ggsn", "bss"].map(|name| {
        let text = std::fs::read_to_string(format!("{EXAMPLES}/{name}.cfg")).unwrap();
        let path = file(directory, &format!("{name}.cfg"), &text.replace("/var/tmp", &state));
        [format!("--{name}"), path]
    });
    arguments.concat()
}

/// A mobile pings the network, and no datagram of Gb or Gn enters the kernel; captures have them. Each node answers at its VTY.
fn three_nodes() {
    let directory = TempDir::new("gannet-one-process");
    let (core, radio) = (Netns::new("one-process-core"), Netns::new("one-process-radio"));
    let capture = directory.path().join("all.pcapng");
    let mut command = core.command(GANNET);
    command.arg("core").args(examples(&directory)).arg("--pcap").arg(&capture);
    let mut node = Node::spawn(&directory, "", command, "core");
    let vty = |address: &str, line: &str| {
        let output = core.command(GANNET).args(["vty", address, line]).output().unwrap();
        output.status.success().then(|| said(&output))
    };
    let active = || vty("127.0.0.1:4290", "show mobile 1").filter(|text| text.contains("pdp-active"));
    wait_for("the context", active);
    assert!(vty("127.0.0.1:4245", "show ns").unwrap().contains("101"), "{}", node.log());
    assert!(vty("127.0.0.1:4260", "show pdp-context all").unwrap().contains("NSAPI: 5"));
    // On one machine, packets to the GGSN's own address would not leave through the mobile's device.
    let shown = core.run("ip", &["-4", "-o", "address", "show", "dev", "ms0"]);
    let address = shown.split_whitespace().find(|word| word.starts_with("172.16.222.")).unwrap().to_owned();
    core.ip(&["link", "set", "ms0", "netns", radio.name()]);
    radio.ip(&["link", "set", "ms0", "up"]);
    radio.ip(&["address", "add", &address, "dev", "ms0"]);
    radio.ip(&["route", "replace", HOST, "dev", "ms0"]);
    let on_loopback =
        || -> usize { core.run("cat", &["/sys/class/net/lo/statistics/rx_packets"]).trim().parse().unwrap() };
    let before = on_loopback();
    let count = PINGS.to_string();
    let printed = radio.run("ping", &["-n", "-c", &count, "-i", "0.05", "-W", "10", HOST]);
    assert!(printed.contains(&format!("{PINGS} received")), "{printed}");
    let entered = on_loopback() - before;
    assert!(entered < PINGS, "{entered} packets entered the kernel, {PINGS} pings are four datagrams each");
    node.signal("HUP");
    wait_for("all files", || (node.log().matches("configuration read again").count() == 3).then_some(()));
    node.signal("TERM");
    assert_eq!(node.wait().code(), Some(0), "{}", node.log());
    let octets = std::fs::read(&capture).unwrap();
    // Each ping crosses Gb and Gn, and stands there as leaving and as coming.
    let echo: Vec<u8> = (0x10..0x20).collect();
    let pings = octets.windows(echo.len()).filter(|window| *window == echo).count();
    assert!(pings >= 2 * 2 * 2 * PINGS, "{pings} echoes in the capture");
    assert!(!core.run("ip", &["link"]).contains("apn0"));
}

/// No file, a wrong file, and an address that two nodes want.
fn wrong() {
    let directory = TempDir::new("gannet-one-process-wrong");
    let bad = file(&directory, "bad.cfg", "sgsn\n gtp local-ip nowhere\n");
    let run = |arguments: &[String]| {
        let output = std::process::Command::new(GANNET).arg("core").args(arguments).output().unwrap();
        assert!(!output.status.success());
        said(&output)
    };
    assert!(run(&[]).contains("--sgsn FILE"));
    let mut arguments = examples(&directory);
    arguments.push("--check".to_owned());
    let checked = std::process::Command::new(GANNET).arg("core").args(&arguments).output().unwrap();
    assert!(checked.status.success() && said(&checked).matches(": OK").count() == 3, "{}", said(&checked));
    assert!(run(&["--sgsn".to_owned(), bad]).contains("bad.cfg:2"));
}

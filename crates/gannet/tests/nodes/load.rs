//! `gannet load` with real SGSNs between its two ends, in network namespaces.

use crate::common::{GANNET, Node, file, said, signal};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Output, Stdio};

pub const NEEDS: &[Need] = &[Need::NetAdmin, Need::Program("clang"), Need::Program("ethtool")];
const OSMO: &[Need] =
    &[Need::NetAdmin, Need::Program("clang"), Need::Program("ethtool"), Need::Program("osmo-sgsn")];

/// All of them.
pub const CASES: &[Case] = &[
    ("load_with_gannet_sgsn", NEEDS, with_gannet),
    ("load_with_osmo_sgsn", OSMO, with_osmo),
    ("load_ciphered_with_gannet_sgsn", NEEDS, ciphered_with_gannet),
    ("load_ciphered_with_osmo_sgsn", OSMO, ciphered_with_osmo),
    ("load_through_sockets", &[Need::NetAdmin, Need::Program("ethtool")], through_sockets),
    (
        "load_names_what_the_sgsn_drops",
        &[Need::NetAdmin, Need::Program("ethtool")],
        names_what_the_sgsn_drops,
    ),
    ("load_ends_in_order_when_it_is_interrupted", NEEDS, interrupted),
    ("load_says_what_does_not_fit", &[], what_does_not_fit),
    ("numbers_out_of_bounds_are_named", &[], numbers_out_of_bounds),
];

/// Two namespaces joined by Gb and Gn, as the defaults of `gannet load` have them.
pub struct Bed {
    pub load: Netns,
    pub sgsn: Netns,
    directory: TempDir,
}

impl Bed {
    pub fn new() -> Self {
        let (load, sgsn) = (Netns::new("load"), Netns::new("sgsn"));
        load.join(("gb1", "192.0.2.1/30"), &sgsn, ("gb0", "192.0.2.2/30"));
        load.join(("gn1", "192.0.2.6/30"), &sgsn, ("gn0", "192.0.2.5/30"));
        for (end, devices) in [(&load, ["gb1", "gn1"]), (&sgsn, ["gb0", "gn0"])] {
            for device in devices {
                end.ip(&["link", "set", device, "mtu", "2000"]);
                // A veth device takes frames of XDP only where it polls.
                let _ = end.run("ethtool", &["-K", device, "gro", "on"]);
            }
        }
        Self { load, sgsn, directory: TempDir::new("gannet-load") }
    }

    fn config(&self, more: &str) -> String {
        self.config_at(more, "error", "192.0.2.2")
    }

    fn config_at(&self, more: &str, level: &str, gb: &str) -> String {
        let state = self.directory.path().display();
        let text = format!(
            "log stderr\n logging level set-all {level}\nsgsn\n gtp state-dir {state}\n gtp local-ip 192.0.2.5\n \
             ggsn 0 remote-ip 192.0.2.6\n ggsn 0 gtp-version 1\n auth-policy accept-all\n{more}ns\n \
             bind udp local\n  listen {gb} 23000\n  accept-ipaccess\nbssgp\nline vty\n no login\n"
        );
        file(&self.directory, "sgsn.cfg", &text)
    }

    /// Starts an SGSN. That it serves shows when the load's cells come up.
    fn start(&self, program: &str, arguments: &[&str]) -> Node {
        let mut command = self.sgsn.command(program);
        command.args(arguments);
        Node::spawn(&self.directory, "127.0.0.1:4245", command, "sgsn")
    }

    fn gannet(&self) -> Node {
        self.gannet_with("")
    }

    /// One with more lines under `sgsn`.
    pub fn gannet_with(&self, more: &str) -> Node {
        self.gannet_at(more, "error", "192.0.2.2")
    }

    /// One that logs at this level, and hears NS at this address.
    pub fn gannet_at(&self, more: &str, level: &str, gb: &str) -> Node {
        let config = self.config_at(&format!(" llc n201-u 1520\n max-cells 64\n{more}"), level, gb);
        self.start(GANNET, &["sgsn", "-c", &config])
    }

    /// What the SGSN's VTY answers.
    pub fn vty(&self, command: &str) -> String {
        self.sgsn.run(GANNET, &["vty", "127.0.0.1:4245", command])
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.load.command(GANNET);
        command.arg("load").args(arguments).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> (Output, String) {
        let json = self.directory.path().join("load.json");
        let mut command = self.command(arguments);
        let output = command.arg("--json").arg(&json).output().unwrap();
        (output, std::fs::read_to_string(json).unwrap_or_default())
    }
}

/// The sum of a counter over all groups and steps of a report.
fn sum(json: &str, counter: &str) -> u64 {
    let name = format!("\"{counter}\": ");
    json.split(&name)
        .skip(1)
        .map(|rest| rest.split([',', '\n']).next().unwrap().parse::<u64>().unwrap())
        .sum()
}

/// All came that is right, nothing that is wrong. How much was lost is a matter of time, and so not of a test.
fn check(output: &Output, json: &str, users: u64) {
    assert!(output.status.success(), "{}", said(output));
    assert_eq!((sum(json, "users"), sum(json, "active")), (users, users), "{json}");
    let (offered, delivered) = (sum(json, "offered"), sum(json, "delivered"));
    assert!(0 < delivered && delivered <= offered, "{}", said(output));
    for wrong in
        ["corrupt", "wrong_mobile", "wrong_cell", "unmarked", "fcs_wrong", "malformed", "g_pdus_unknown"]
    {
        assert_eq!(sum(json, wrong), 0, "{wrong}: {}", said(output));
    }
    assert_eq!(sum(json, "detached"), users);
    let steps = json.matches("\"away_share\": ").count();
    assert_eq!(said(output).matches(" N-PDUs; offered: ").count(), steps, "{}", said(output));
    assert!(sum(json, "asked") > 0, "{json}");
    // Every loss has its name: what is not delivered is in the sum of all places.
    assert!(sum(json, "n_pdus") >= offered - delivered, "{json}");
}

fn with_gannet() {
    let bed = Bed::new();
    let _sgsn = bed.gannet();
    let (output, json) = bed.run(&[
        "--users=300",
        "--cells=40",
        "--nses=3",
        "--rate=5",
        "--duration=1",
        "--direction=both",
        "--ramp=0.5:1:2",
        "--size=100:1,378:2,1400:1",
        "--spacing=exponential",
        "--burst=10ms",
        "--misbehaving=0.2",
        "--real-time=10",
        "--high-precedence=10",
    ]);
    check(&output, &json, 300);
    // Four groups in two directions, in two steps.
    assert_eq!(json.matches("\"group\": ").count(), 16, "{json}");
    assert_eq!(sum(&json, "paged"), 0);
}

/// Under `sgsn`: mobiles prove who they are, the load's HLR knows them, and all is ciphered.
const CIPHERING: &str =
    " gsup remote-ip 192.0.2.6\n gsup remote-port 4222\n auth-policy remote\n encryption gea 3\n";

/// Nobody was without a key, and nothing came in the clear.
fn check_cipher(output: &Output, json: &str) {
    for wrong in ["no_key", "in_the_clear", "doubled"] {
        assert_eq!(sum(json, wrong), 0, "{wrong}: {}", said(output));
    }
    assert!(sum(json, "challenged") >= sum(json, "users"), "{json}");
}

fn ciphered_with_gannet() {
    let bed = Bed::new();
    let _sgsn = bed.gannet_with(CIPHERING);
    let arguments = ["--gea=3", "--users=300", "--cells=40", "--nses=3", "--rate=20", "--duration=1"];
    let sizes = ["--real-time=10", "--size=100:1,378:2,1400:1"];
    let (output, json) = bed.run(&[&arguments[..], &sizes, &["--read-every=1", "--whole-every=1"]].concat());
    check(&output, &json, 300);
    check_cipher(&output, &json);
    assert_eq!((sum(&json, "whole"), sum(&json, "unread")), (sum(&json, "delivered"), 0), "{json}");
    assert!(said(&output).contains("the mark is read in one of 1,"), "{}", said(&output));
    // What goes up ciphered goes by sockets, and all that comes down there is deciphered.
    let (output, json) = bed.run(&[&arguments[..5], &["--direction=both", "--duration=1"]].concat());
    check(&output, &json, 300);
    check_cipher(&output, &json);
    assert!(json.contains("frames that the driver makes go up in the clear"), "{json}");
    assert!(sum(&json, "deciphered") > 0 && sum(&json, "g_pdus_up") > 0, "{json}");
}

fn ciphered_with_osmo() {
    let bed = Bed::new();
    let config = bed.config(CIPHERING);
    let _sgsn = bed.start("osmo-sgsn", &["-c", &config]);
    let arguments = ["--gea=3", "--users=50", "--cells=10", "--rate=2", "--duration=1", "--whole-every=1"];
    let (output, json) = bed.run(&arguments);
    check(&output, &json, 50);
    check_cipher(&output, &json);
    assert_eq!(sum(&json, "whole"), sum(&json, "delivered"), "{json}");
}

fn through_sockets() {
    let bed = Bed::new();
    let _sgsn = bed.gannet();
    let (output, json) = bed.run(&[
        "--users=100",
        "--cells=10",
        "--nses=2",
        "--rate=5",
        "--duration=1",
        "--direction=both",
        "--size=100:1,1400:1",
        "--n201-u=500",
        "--generator=sockets",
        "--spacing=exponential",
        "--burst=10ms",
        "--misbehaving=0.1",
    ]);
    check(&output, &json, 100);
    assert!(json.contains("sendmmsg") && said(&output).contains("sockets"), "{json}");
}

/// Leak rates far below what comes: the SGSN drops the rest under names of its own, which the load tells.
fn names_what_the_sgsn_drops() {
    let bed = Bed::new();
    let config = bed.config(" llc n201-u 1520\n buffer-ms 200\n").replace(".cfg", ".vty.cfg");
    let text = std::fs::read_to_string(config.replace(".vty.cfg", ".cfg")).unwrap();
    std::fs::write(&config, text.replace(" no login\n", " no login\n bind 192.0.2.2\n")).unwrap();
    let _sgsn = bed.start(GANNET, &["sgsn", "-c", &config]);
    let (output, json) = bed.run(&[
        "--users=20",
        "--cells=4",
        "--rate=50",
        "--ms-rate=8000",
        "--duration=2",
        "--generator=sockets",
        "--sgsn-vty=192.0.2.2:4245",
    ]);
    check(&output, &json, 20);
    assert!(json.contains("\"name\": \"sgsn."), "{json}");
    assert!(said(&output).contains("  sgsn."), "{}", said(&output));
    let (output, _) = bed.run(&["--users=1", "--cells=1", "--duration=1", "--sgsn-vty=192.0.2.2:9"]);
    assert!(said(&output).contains("the SGSN's VTY at 192.0.2.2:9 (--sgsn-vty)"), "{}", said(&output));
}

fn with_osmo() {
    let bed = Bed::new();
    let config = bed.config("");
    let _sgsn = bed.start("osmo-sgsn", &["-c", &config]);
    let (output, json) = bed.run(&["--users=50", "--cells=10", "--rate=2", "--duration=1", "--size=1400"]);
    check(&output, &json, 50);
    // It offers 500 octets: each N-PDU comes in three segments.
    assert_eq!(sum(&json, "segmented"), sum(&json, "delivered"));
}

fn interrupted() {
    let bed = Bed::new();
    let _sgsn = bed.gannet();
    let mut command = bed.command(&["--users=50", "--cells=10", "--rate=2", "--duration=3600"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The table of the first second.
    let mut table = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("step 1 of 1") {
        line.clear();
        assert!(table.read_line(&mut line).unwrap() > 0, "it ended before");
    }
    // What else it says there has to go somewhere.
    let rest = std::thread::spawn(move || std::io::copy(&mut table, &mut std::io::sink()));
    signal(&child.id().to_string(), "INT");
    assert!(!child.wait().unwrap().success());
    let text = said(&child.wait_with_output().unwrap());
    rest.join().unwrap().unwrap();
    assert!(text.contains("interrupted: the last step is shorter than asked"), "{text}");
    assert!(text.contains("50 of 50 users"), "{text}");
}

fn what_does_not_fit() {
    for (arguments, expected) in [
        (&["load", "--cells=70000"][..], "--cells: between 1 and 65000 with --nses 1"),
        (&["load", "--users=10", "--real-time=11"], "--real-time and --high-precedence name 11 mobiles"),
        (
            &["load", "--gb=127.0.0.1:65000", "--nses=1000"],
            "--nses: 1000 NSEs do not fit above the port of --gb",
        ),
        (&["load", "--apn=a..b"], "--apn"),
        (&["load", "--gb=203.0.113.7:22000"], "no interface has the address 203.0.113.7 (--gb)"),
        (
            &["load", "--gb=127.0.0.1:22000", "--gn=203.0.113.8"],
            "no interface has the address 203.0.113.8 (--gn)",
        ),
    ] {
        let output = Command::new(GANNET).args(arguments).stdin(Stdio::null()).output().unwrap();
        let text = said(&output);
        assert!(output.status.code() == Some(1) && text.contains(expected), "{arguments:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    }
}

/// Each number that is asked for has its bounds, and the error names the option and these.
fn numbers_out_of_bounds() {
    const WHOLE: &[&str] = &["-1", "99999999999999999999999", "many", "1.5", ""];
    const REAL: &[&str] = &["-1", "nan", "inf", "many", "1e99", ""];
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&["load"], "users cells nses window cell-rate ms-rate kd n201-u gea reliability-class", WHOLE),
        (&["load"], "answer-after real-time high-precedence seed", WHOLE),
        (&["load", "--gea=3"], "read-every whole-every", WHOLE),
        (&["load"], "rate misbehaving excess duration", REAL),
        (
            &["load"],
            "users cells nses window cell-rate ms-rate kd n201-u gea reliability-class rate duration",
            &["0"],
        ),
        (&["load", "--gea=3"], "read-every whole-every", &["0", "3"]),
        (&["lab", "run", "ed-pulse"], "seed", WHOLE),
        (&["demo"], "mobiles octets cell-changes gtp-version", WHOLE),
        (&["demo"], "mobiles octets", &["0"]),
        (&["interop", "--list"], "jobs minutes", WHOLE),
        (&["sgsn"], "log-level", &["-1", "9", "256", "many"]),
        (&["bss"], "log-level", &["-1", "9", "256", "many"]),
    ];
    for (command, options, values) in cases {
        for (option, value) in
            options.split(' ').flat_map(|option| values.iter().map(move |value| (option, value)))
        {
            // As two words, as most people write it.
            let option = format!("--{option}");
            let output = Command::new(GANNET)
                .args(*command)
                .args([&option, *value])
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let text = said(&output);
            assert_eq!(output.status.code(), Some(2), "{command:?} {option} {value}: {text}");
            assert!(text.contains(&option), "{command:?} {option} {value}: {text}");
            let bounds = ["number from", "power of two", "say 1 to 8", "a value is required"];
            assert!(
                bounds.iter().any(|bounds| text.contains(bounds)),
                "{command:?} {option} {value}: {text}"
            );
        }
    }
}

//! The command line, configurations, VTY, signals and the capture of the nodes, without any privilege.

use crate::common::{
    GANNET, Node, fail, file, gannet, own_address, repository, said, signal, succeed, wait_for,
};
use gannet_testkit::{Case, Need, TempDir, tshark};
use std::net::UdpSocket;
use std::time::Duration;

/// All of them.
pub const CASES: &[Case] = &[
    ("version_and_help", &[], version_and_help),
    ("a_node_needs_a_configuration", &[], a_node_needs_a_configuration),
    ("wrong_lines_are_named", &[], wrong_lines_are_named),
    ("wrong_wholes_are_named", &[], wrong_wholes_are_named),
    ("wrong_flags_are_named", &[], wrong_flags_are_named),
    ("the_examples_are_right", &[], the_examples_are_right),
    ("output_that_nobody_takes_ends_quietly", &[], output_that_nobody_takes_ends_quietly),
    ("configurations_of_osmocoms_nodes_are_right", &[], configurations_of_osmocoms_nodes_are_right),
    ("the_vty_answers", &[], the_vty_answers),
    ("osmocoms_commands_answer", &[], osmocoms_commands_answer),
    ("the_log_is_told_the_statistics", &[], the_log_is_told_the_statistics),
    ("a_session_follows_the_log", &[], a_session_follows_the_log),
    ("sighup_takes_the_file_anew", &[], sighup_takes_the_file_anew),
    ("an_address_in_use_is_named", &[], an_address_in_use_is_named),
    ("a_device_without_the_right_is_named", &[Need::Program("setpriv")], a_device_without_the_right_is_named),
    ("a_configured_bss_is_greeted", &[], a_configured_bss_is_greeted),
    ("the_restart_counter_is_kept", &[], the_restart_counter_is_kept),
    ("small_pieces_of_memory_are_on_huge_pages", &[], small_pieces_of_memory_are_on_huge_pages),
    ("a_capture_survives_a_kill", &[Need::Tshark], a_capture_survives_a_kill),
    ("the_background_is_reached", &[], the_background_is_reached),
];

/// An SGSN at a loopback address of the test's own.
fn sgsn_at(address: &str, more: &str) -> String {
    format!(
        "sgsn\n gtp local-ip {address}\n ggsn 0 remote-ip 127.0.0.2\n max-mobiles 100\n{more}\
         ns\n bind udp local\n  listen {address} 23000\n  accept-ipaccess\nbssgp\n\
         line vty\n no login\n bind {address} 4245\n"
    )
}

fn start_sgsn(directory: &TempDir, address: &str, more: &str, flags: &[&str]) -> Node {
    let config = file(directory, "sgsn.cfg", &sgsn_at(address, more));
    let arguments = [&["sgsn", "-c", &config], flags].concat();
    Node::start(directory, &format!("{address}:4245"), &arguments)
}

fn osmocoms_commands_answer() {
    let at = own_address(80);
    let directory = TempDir::new("gannet-osmocoms-commands");
    let node = start_sgsn(&directory, &at, "", &[]);
    assert!(node.vty("show pid").trim().parse::<u32>().is_ok());
    assert!(node.vty("show uptime").starts_with("Gannet SGSN has been running for 0d 0h "));
    let read = std::fs::read_to_string(directory.path().join("sgsn.cfg")).unwrap();
    assert_eq!(node.vty("show startup-config").trim_end(), read.trim_end());
    let bind = format!(
        "UDP bind: {at}:23000 DSCP: 0 Priority: 0, local\n  IP-SNS signalling weight: 1 data weight: 1\n"
    );
    assert!(node.vty("show ns binds").contains(&bind));
    assert!(node.vty("show ns persistent").trim().is_empty());
    assert_eq!(node.vty("show llc").trim(), "State of LLC Entities");
    assert_eq!(node.vty("show ns nsvc 7").trim(), "No such NS Entity");
    assert_eq!(
        node.vty("show mm-context imsi 001010000000001").trim(),
        "No MM context for IMSI 001010000000001"
    );
    assert!(node.vty("show sgsn").starts_with(&format!("  GSN: signalling {at}, user traffic {at}\n")));
    assert!(node.vty("reset sgsn state").contains("0 mobiles are forgotten"));
    for (command, why) in [
        ("destroy", "IMSI 001010000000001 is not known here."),
        ("cancel update-procedure", "IMSI 001010000000001 is not known here."),
        ("update-location-result ok", "IMSI 001010000000001 does not wait for that answer."),
        ("update-auth-info", "IMSI 001010000000001 is not known here."),
        ("create", "auth-policy"),
        ("insert auth-triplet 1 sres 01020304 rand 00 kc 11", "keys come from the HLR alone"),
    ] {
        let said = node.refused(&format!("update-subscriber imsi 001010000000001 {command}"));
        assert!(said.contains(why), "{command}: {said}");
    }
    node.vty("logp mm error from an operator");
    wait_for("the line in the log", || node.log().contains("from an operator").then_some(()));
}

fn the_log_is_told_the_statistics() {
    let at = own_address(90);
    let directory = TempDir::new("gannet-log-reporter");
    let config = format!(
        "log stderr\n logging level force-all info\nstats interval 1\nstats reporter log\n prefix lab\n level global\n \
         enable\n{}",
        sgsn_at(&at, "")
    );
    let config = file(&directory, "sgsn.cfg", &config);
    let node = Node::start(&directory, &format!("{at}:4245"), &["sgsn", "-c", &config]);
    wait_for("statistics in the log", || node.log().contains("stats lab.sgsn.0.mobiles:0|g").then_some(()));
    // What is written is read again.
    let running = node.vty("show running-config");
    for line in ["stats reporter log", " logging level force-all info", " prefix lab"] {
        assert!(running.lines().any(|written| written == line), "{line}: {running}");
    }
}

fn version_and_help() {
    let version = format!("{}\n", env!("CARGO_PKG_VERSION"));
    for node in ["sgsn", "ggsn", "bss", "edge", "ms", "ap"] {
        assert!(succeed(&[node, "-V"]).ends_with(&version));
        let help = succeed(&[node, "-h"]);
        for flag in ["-c,", "-d,", "-e,", "-D,", "-s,", "-V,", "-h,", "--pcap", "--check"] {
            assert!(help.contains(flag), "{flag}: {help}");
        }
    }
}

fn a_node_needs_a_configuration() {
    for node in ["sgsn", "ggsn", "bss", "edge", "ms", "ap"] {
        let error = fail(&[node]);
        assert!(error.contains(&format!("docs/examples/{node}.cfg")), "{error}");
        let error = fail(&[node, "-c", "/nowhere/node.cfg"]);
        assert!(error.contains("/nowhere/node.cfg"), "{error}");
    }
}

fn wrong_lines_are_named() {
    let directory = TempDir::new("gannet-lines");
    let ns = "ns\n bind udp local\n  listen 127.9.0.1 23000\n";
    let sgsn = format!("sgsn\n gtp local-ip 127.9.0.1\n gtp lokal-ip 127.9.0.1\n{ns}");
    let config = file(&directory, "sgsn.cfg", &sgsn);
    let error = fail(&["sgsn", "-c", &config]);
    assert!(error.contains("sgsn.cfg:3:") && error.contains("local-ip"), "{error}");
    let config = file(&directory, "bss.cfg", "bss\n cels 3\n");
    let error = fail(&["bss", "-c", &config, "--check"]);
    assert!(error.contains("bss.cfg:2:") && error.contains("cells"), "{error}");
}

fn wrong_wholes_are_named() {
    let directory = TempDir::new("gannet-wholes");
    for (node, text, word) in [
        (
            "sgsn",
            "sgsn\n ggsn 0 remote-ip 127.0.0.2\nns\n bind udp local\n  listen 127.0.0.1 23000\n",
            "node.cfg:1: the SGSN has no address: add 'gtp local-ip",
        ),
        ("sgsn", "sgsn\n gtp local-ip 127.0.0.1\n", "bind udp"),
        ("ggsn", "ggsn g\n", "gtp bind-ip"),
        ("ggsn", "line vty\n no login\n", "ggsn NAME"),
        (
            "ggsn",
            "ggsn g\n gtp bind-ip 127.0.0.2\n apn a\n  tun-device t0\n  ip prefix dynamic 10.0.0.0/31\n  no shutdown\n no shutdown ggsn\n",
            "31",
        ),
        (
            "ggsn",
            "ggsn g\n gtp bind-ip 127.0.0.2\n apn a\n  ip prefix dynamic 10.0.0.0/24\n  no shutdown\n no shutdown ggsn\n",
            "tun-device",
        ),
    ] {
        let config = file(&directory, "node.cfg", text);
        let error = fail(&[node, "-c", &config, "--check"]);
        assert!(error.contains("node.cfg") && error.contains(word), "{error}");
    }
}

fn wrong_flags_are_named() {
    let output = gannet(&["sgsn", "-d", "DNOTHING"]);
    let text = said(&output);
    assert!(!output.status.success() && text.contains("DNOTHING") && text.contains("bssgp"), "{text}");
    assert!(!gannet(&["sgsn", "-e", "loud"]).status.success());
}

fn the_examples_are_right() {
    let named = ["sgsn", "ggsn", "bss", "edge", "ms", "ap"].map(|node| (node, node));
    for (node, name) in named.into_iter().chain([("ms", "ms-bearer")]) {
        let path = repository().join(format!("docs/examples/{name}.cfg"));
        let output = gannet(&[node, "-c", &path.to_string_lossy(), "--check"]);
        assert!(output.status.success(), "{}", said(&output));
        // Not a single remark either.
        assert_eq!(said(&output).lines().count(), 1, "{}", said(&output));
    }
}

/// Who reads the first line alone is no error; a full disk is one, in one line.
fn output_that_nobody_takes_ends_quietly() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let path = repository().join("docs/examples/sgsn.cfg");
    let check = || {
        let mut command = Command::new(GANNET);
        command.args(["sgsn", "-c"]).arg(&path).arg("--check");
        command
    };
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = check().stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(said(&output), "gannet: standard output: No space left on device (os error 28)\n");
    // The reading end is gone before anything is written.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = check().stdout(writer).output().unwrap();
    assert_eq!((output.status.code(), said(&output).as_str()), (Some(0), ""));
    let mut command = Command::new(GANNET);
    let mut child =
        command.args(["lab", "list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty() && !first.is_empty(), "{}", said(&output));
}

/// Small configurations that people have for Osmocom's daemons.
fn configurations_of_osmocoms_nodes_are_right() {
    let directory = TempDir::new("gannet-osmocom");
    let ggsn = "ggsn ggsn0\n gtp state-dir /tmp/run\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  \
                tun-device tun4\n  type-support v4\n  ip prefix dynamic 172.16.222.0/24\n  ip dns 0 192.0.2.1\n  \
                ip ifconfig 172.16.222.0/24\n  no shutdown\n default-apn internet\n no shutdown ggsn\nline vty\n \
                no login\n bind 127.0.0.2\nctrl\n bind 127.0.0.2\n";
    let sgsn = "sgsn\n gtp state-dir /tmp/run\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n ggsn 0 \
                gtp-version 1\n auth-policy accept-all\nns\n timer tns-block 3\n timer tns-reset 3\n timer \
                tns-test 30\n timer tns-alive 3\n bind udp local\n  listen 127.0.0.1 23000\n  accept-ipaccess\n\
                bssgp\nline vty\n no login\n";
    for (node, text) in [("ggsn", ggsn), ("sgsn", sgsn)] {
        let config = file(&directory, "node.cfg", text);
        assert!(succeed(&[node, "-c", &config, "--check"]).ends_with("OK\n"));
    }
}

fn the_vty_answers() {
    let at = own_address(81);
    let directory = TempDir::new("gannet-vty");
    let mut node = start_sgsn(&directory, &at, "", &[]);
    assert!(node.vty("show sgsn").contains(&format!("GTP at {at}")));
    assert!(node.vty("show ns").contains(&format!("{at}:23000")));
    assert!(node.vty("show ggsn").contains("127.0.0.2"));
    assert!(node.vty("show stats").contains("n_pdu_downlink 0"));
    assert!(!node.vty("show stats skip-zero").contains("n_pdu_downlink"));
    assert!(node.vty("show counters").contains("\nframes_total "));
    assert!(node.vty("show scheduler").contains("0 N-PDUs"));
    let ingress = node.vty("show ingress");
    assert!(
        ingress.contains(&format!("GTP-U {at}:2152: in by ")) && ingress.contains(&format!("Gb {at}:23000")),
        "{ingress}"
    );
    assert!(node.vty("show timer T3350").contains("T3350 = 6 s"));
    assert!(node.vty("show running-config").contains(&format!("gtp local-ip {at}")));
    assert!(node.vty("show why imsi 001010000000001").contains("001010000000001"));
    for command in
        ["show subscriber all", "show mm-context all", "show pdp-context all", "show bssgp", "show drops"]
    {
        let _ = node.vty(command);
    }
    for command in [
        "show subscriber imsi 001010000000001",
        "subscriber detach imsi 001010000000001",
        "subscriber relocate imsi 001010000000001",
        "subscriber reallocate-ptmsi imsi 001010000000001",
        "subscriber inform imsi 001010000000001",
        "pdp-context deactivate imsi 001010000000001 nsapi 5",
        "nsvc 101 reset",
        "bssgp bvc nsei 1 bvci 2 reset",
        "page imsi 001010000000001",
        "show nonsense",
    ] {
        assert!(node.refused(command).contains('%'), "{command}");
    }
    node.signal("TERM");
    assert_eq!(node.wait().code(), Some(0), "{}", node.log());
}

fn sighup_takes_the_file_anew() {
    let at = own_address(82);
    let directory = TempDir::new("gannet-hup");
    let log = directory.path().join("sgsn.log");
    let logging = format!("log file {}\n logging level main notice\n", log.display());
    let config = file(&directory, "sgsn.cfg", &(logging.clone() + &sgsn_at(&at, " timer T3350 7\n")));
    let mut node = Node::start(&directory, &format!("{at}:4245"), &["sgsn", "-c", &config]);
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    assert!(node.vty("show timer T3350").contains("= 7 s"));
    // Moved away as logrotate does, and another value.
    std::fs::rename(&log, directory.path().join("sgsn.log.1")).unwrap();
    file(&directory, "sgsn.cfg", &(logging.clone() + &sgsn_at(&at, " timer T3350 9\n")));
    node.signal("HUP");
    wait_for("the new value", || node.vty("show timer T3350").contains("= 9 s").then_some(()));
    wait_for("the new log", || read().contains("configuration read again").then_some(()));
    // A wrong file changes nothing and loses nothing.
    file(&directory, "sgsn.cfg", &(logging + &sgsn_at(&at, " timer T3350 5\n timers 5\n")));
    node.signal("HUP");
    wait_for("the error", || read().contains("all stays as it was").then_some(()));
    assert!(read().contains("sgsn.cfg:"), "{}", read());
    assert!(node.vty("show timer T3350").contains("= 9 s"));
    node.signal("INT");
    assert_eq!(node.wait().code(), Some(0));
    assert!(read().contains("stopping"));
}

fn an_address_in_use_is_named() {
    let at = own_address(83);
    let directory = TempDir::new("gannet-inuse");
    let _first = start_sgsn(&directory, &at, "", &[]);
    let config = file(&directory, "second.cfg", &sgsn_at(&at, ""));
    let error = fail(&["sgsn", "-c", &config]);
    assert!(error.contains(&format!("{at}:4245")) && error.contains("another node"), "{error}");
    let other_vty = sgsn_at(&at, "").replace(&format!("bind {at} 4245"), &format!("bind {at} 4246"));
    let config = file(&directory, "third.cfg", &other_vty);
    let error = said(&gannet(&["sgsn", "-c", &config]));
    assert!(error.contains(&format!("{at}:23000")) && error.contains("another node"), "{error}");
    let config = file(&directory, "fourth.cfg", &sgsn_at("192.0.2.77", ""));
    let error = fail(&["sgsn", "-c", &config]);
    assert!(error.contains("no such address"), "{error}");
}

fn a_device_without_the_right_is_named() {
    let at = own_address(84);
    let directory = TempDir::new("gannet-right");
    let text = format!(
        "ggsn g\n gtp bind-ip {at}\n apn a\n  tun-device gannetx0\n  ip prefix dynamic 10.9.8.0/24\n  \
                no shutdown\n no shutdown ggsn\nline vty\n no login\n bind {at}\n"
    );
    let config = file(&directory, "ggsn.cfg", &text);
    // Nobody may read a configuration that stands in a directory of root's, so it is copied into the open.
    let mut command = std::process::Command::new("setpriv");
    let is_root =
        std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if is_root {
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all"]);
    }
    // The program may stand in a directory that nobody but its owner may search.
    let copy = directory.path().join("gannet");
    std::fs::copy(GANNET, &copy).unwrap();
    let output = command.arg(&copy).args(["ggsn", "-c", &config]).output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("gannetx0") && text.contains("CAP_NET_ADMIN"), "{text}");
}

/// The NS-RESET of 08.16 clause 9.2.5 for NS-VC and NSE 101.
const NS_RESET: &[u8] = &[0x02, 0x00, 0x81, 0x01, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65];
const NS_RESET_ACK: u8 = 0x03;

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut octets = [0; 2048];
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let length = socket.recv(&mut octets).unwrap();
    octets[..length].to_vec()
}

/// An NS-VC of the configuration is reset from this side.
fn a_configured_bss_is_greeted() {
    let (at, bss_at) = (own_address(85), own_address(185));
    let directory = TempDir::new("gannet-nsvc");
    let bss = UdpSocket::bind(format!("{bss_at}:22000")).unwrap();
    let nse = format!(" nse 101\n  nsvc ipa local {bss_at} 22000 nsvci 101\n");
    let text = sgsn_at(&at, "").replace("ns\n bind", &format!("ns\n{nse} bind"));
    let config = file(&directory, "sgsn.cfg", &text);
    let node = Node::start(&directory, &format!("{at}:4245"), &["sgsn", "-c", &config]);
    let reset = receive(&bss);
    assert_eq!((reset[0], &reset[5..]), (NS_RESET[0], &NS_RESET[5..]));
    assert!(node.vty("show ns").contains(&format!(
        "NSVCI 00101: RESETTING PERSIST udp)[{at}]:23000<101>[{bss_at}]:22000 DEAD since 0d 0h 0m "
    )));
    bss.send_to(&[0x03, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65], format!("{at}:23000")).unwrap();
    wait_for("the answer to be taken", || (!node.vty("show ns").contains("RESETTING")).then_some(()));
}

fn the_restart_counter_is_kept() {
    let at = own_address(86);
    let directory = TempDir::new("gannet-counter");
    let state = directory.path().join("state");
    std::fs::create_dir(&state).unwrap();
    let more = format!(" gtp state-dir {}\n", state.display());
    for expected in 0..2 {
        let mut node = start_sgsn(&directory, &at, &more, &[]);
        assert!(node.vty("show sgsn").contains(&format!("restart counter {expected}")));
        node.signal("TERM");
        assert_eq!(node.wait().code(), Some(0));
    }
    let file = state.join(format!("gsn_restart.sgsn.{at}"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "2\n");
    // Where it cannot be kept a line says so, and which one the peers are told.
    std::fs::write(&file, "rubbish").unwrap();
    for (more, why) in
        [(more.as_str(), "there is no number in it"), (" gtp state-dir /nowhere/at/all\n", "/nowhere/at/all")]
    {
        let mut node = start_sgsn(&directory, &at, more, &[]);
        let log = node.log();
        let line = log
            .lines()
            .find(|line| line.starts_with("gtp ERROR ") && line.contains(why))
            .unwrap_or_else(|| panic!("{log}"));
        let counter = line.split("restart counter ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert!(node.vty("show sgsn").contains(&format!("restart counter {counter}\n")), "{line}");
        node.signal("TERM");
        assert_eq!(node.wait().code(), Some(0));
    }
}

/// As the kernel sees the memory that the C library's heap is in.
fn small_pieces_of_memory_are_on_huge_pages() {
    let at = own_address(91);
    let directory = TempDir::new("gannet-heap");
    // A node for fewer mobiles does without.
    let node = start_sgsn(&directory, &at, " max-mobiles 2048\n", &[]);
    let maps = std::fs::read_to_string(format!("/proc/{}/smaps", node.pid())).unwrap();
    // Each mapping begins with a line that ends with its name.
    let mut is_heap = false;
    let mut sizes = Vec::new();
    for line in maps.lines() {
        if line.contains(" rw-p ") {
            is_heap = line.ends_with("[heap]");
        }
        if let Some(size) = line.strip_prefix("Size:").filter(|_| is_heap) {
            sizes.push(size.trim().trim_end_matches(" kB").parse::<u64>().unwrap());
        }
        if line.starts_with("VmFlags:") && is_heap && !line.contains(" hg") {
            sizes.pop();
        }
    }
    let advised: u64 = sizes.iter().sum();
    if std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        assert!(advised >= 16 << 10, "{advised} kB: {}", node.log());
    } else {
        assert!(node.log().contains("no huge pages"), "{}", node.log());
    }
}

fn a_capture_survives_a_kill() {
    let (at, bss_at) = (own_address(87), own_address(187));
    let directory = TempDir::new("gannet-kill");
    let capture = directory.path().join("sgsn.pcapng").to_string_lossy().into_owned();
    let mut node = start_sgsn(&directory, &at, "", &["--pcap", &capture]);
    let bss = UdpSocket::bind(format!("{bss_at}:22000")).unwrap();
    for _ in 0..3 {
        bss.send_to(NS_RESET, format!("{at}:23000")).unwrap();
        assert_eq!(receive(&bss)[0], NS_RESET_ACK);
    }
    let dissect = || {
        let port = ["-d", "udp.port==23000,gprs-ns"];
        tshark::dissect_file(&capture, &port, &["frame.protocols", "nsip.pdu_type"])
    };
    // What was recorded reaches the file within the second, if the node has a turn in it.
    wait_for("the capture to reach its file", || (dissect().len() >= 6).then_some(()));
    node.signal("KILL");
    node.wait();
    let rows = dissect();
    let types: Vec<&str> = rows.iter().map(|row| row[1].as_str()).collect();
    assert!(rows.iter().all(|row| row[0] == "raw:ip:udp:gprs-ns"), "{rows:?}");
    assert_eq!(types.iter().filter(|kind| **kind == "0x02").count(), 3, "{types:?}");
    assert_eq!(types.iter().filter(|kind| **kind == "0x03").count(), 3, "{types:?}");
}

/// `-D`: the parent ends with 0, the child answers and ends by SIGTERM.
fn the_background_is_reached() {
    let at = own_address(88);
    let directory = TempDir::new("gannet-daemon");
    let config = file(&directory, "sgsn.cfg", &sgsn_at(&at, ""));
    assert!(gannet(&["sgsn", "-D", "-c", &config]).status.success());
    let vty = |command: &str| gannet(&["vty", &format!("{at}:4245"), command]);
    wait_for("the answer of the daemon", || vty("show sgsn").status.success().then_some(()));
    let pids = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let found = String::from_utf8_lossy(&line).contains(config.as_str());
        found.then(|| entry.file_name().to_string_lossy().into_owned())
    });
    for pid in pids {
        signal(&pid, "TERM");
    }
    wait_for("the end of the daemon", || (!vty("show sgsn").status.success()).then_some(()));
}

/// `logging enable` in a session shows what the node says, until the session wants no more.
fn a_session_follows_the_log() {
    use std::io::{Read, Write};
    let (at, bss_at) = (own_address(89), own_address(189));
    let directory = TempDir::new("gannet-follow");
    let _node = start_sgsn(&directory, &at, "", &[]);
    let mut session = std::net::TcpStream::connect(format!("{at}:4245")).unwrap();
    session.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut heard = Vec::new();
    let mut octets = [0; 4096];
    session
        .write_all(b"enable\r\nlogging enable\r\nlogging filter all 1\r\nlogging level ns info\r\n")
        .unwrap();
    while let Ok(length @ 1..) = session.read(&mut octets) {
        heard.extend_from_slice(&octets[..length]);
    }
    assert!(!String::from_utf8_lossy(&heard).contains("NSVCI"));
    let bss = UdpSocket::bind(format!("{bss_at}:22000")).unwrap();
    bss.send_to(NS_RESET, format!("{at}:23000")).unwrap();
    wait_for("a line of the log", || {
        let length = session.read(&mut octets).unwrap_or(0);
        heard.extend_from_slice(&octets[..length]);
        String::from_utf8_lossy(&heard).contains("ns NSEI 101").then_some(())
    });
}

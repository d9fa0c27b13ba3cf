//! What an operator does to a running node, and what must not end it.

use crate::common::{GANNET, Node, file, gannet, own_address, said, wait_for};
use gannet_testkit::{Case, Need, TempDir};
use std::process::Output;

/// All of them.
pub const CASES: &[Case] = &[
    ("no_signal_but_four_ends_a_node", &[], no_signal_but_four_ends_a_node),
    ("all_that_is_wrong_is_said_at_once", &[], all_that_is_wrong_is_said_at_once),
    ("commands_run_in_one_session", &[], commands_run_in_one_session),
    ("a_full_disk_ends_no_node_and_is_said", &[], a_full_disk_ends_no_node_and_is_said),
    (
        "a_disk_with_room_again_is_said",
        &[Need::NetAdmin, Need::Program("unshare")],
        a_disk_with_room_again_is_said,
    ),
    ("only_what_loads_is_written", &[], only_what_loads_is_written),
];

/// An SGSN at a loopback address of the test's own, with `more` lines under `sgsn`.
pub fn sgsn_at(address: &str, more: &str) -> String {
    format!(
        "sgsn\n gtp local-ip {address}\n ggsn 0 remote-ip 127.0.0.2\n max-mobiles 100\n{more}\
         ns\n bind udp local\n  listen {address} 23000\n  accept-ipaccess\nbssgp\n\
         line vty\n no login\n bind {address} 4245\n"
    )
}

/// It runs.
fn start(directory: &TempDir, address: &str, more: &str) -> Node {
    let config = file(directory, "sgsn.cfg", &sgsn_at(address, more));
    Node::start(directory, &format!("{address}:4245"), &["sgsn", "-c", &config])
}

/// Signals 1 to 64 that a process can take and that end it by default, but for TERM, INT, QUIT and KILL. Faults are among them:
/// here they are sent, and nothing is wrong with the node.
fn no_signal_but_four_ends_a_node() {
    const NAMES: &[&str] = &[
        "ALRM", "PIPE", "VTALRM", "PROF", "IO", "PWR", "XCPU", "XFSZ", "TRAP", "SYS", "ABRT", "SEGV", "SEGV",
        "BUS", "BUS", "ILL", "FPE", "34", "35", "64", "HUP",
    ];
    let at = own_address(92);
    let directory = TempDir::new("gannet-signals");
    let mut node = start(&directory, &at, "");
    for (count, name) in (1..).zip(["USR1", "USR2"]) {
        node.signal(name);
        wait_for("the state in the log", || {
            (node.log().matches("resident at the most").count() == count).then_some(())
        });
    }
    let log = node.log();
    let lines = [
        "counters of the SGSN that are above 0:",
        "frames_total",
        "mobiles: 0 of 100",
        "frames: ",
        "resident: ",
    ];
    for line in lines {
        assert!(log.contains(line), "{line}: {log}");
    }
    for name in NAMES {
        node.signal(name);
        let pid = node.vty("show pid");
        assert_eq!(pid.trim(), node.pid().to_string(), "SIG{name}");
    }
    // As by SIGTERM, in order.
    node.signal("QUIT");
    assert!(node.wait().success());
    assert!(node.log().contains("stopping"), "{}", node.log());
}

/// `--check` and the start: each error with its line, those of lines and those of the whole.
fn all_that_is_wrong_is_said_at_once() {
    let directory = TempDir::new("gannet-all-wrong");
    let sgsn = "sgsn\n gtp local-ip 127.0.0.1\n apn a ggsn 3\n apn b ggsn 4\nns\n bind udp local\n  listen 127.0.0.1 23000\n  \
                accept-ipacess\n nse 7\n  nsvc udp local 127.0.0.1 1\n  nsvc ipa local 127.0.0.1 2 nsvci 2\n";
    let ggsn = "ggsn g\n gtp bind-ip 127.0.0.2\n apn a\n  ip prefix dynamic 10.0.0.0/24\n  no shutdown\n apn b\n  \
                tun-device t\n  no shutdown\n no shutdown ggsn\n";
    let repaired = sgsn.replace("accept-ipacess", "accept-ipaccess");
    for (node, text, expected) in [
        ("sgsn", sgsn, &["cfg:3: ", "cfg:4: ", "cfg:8: ", "cfg:11: ", "4 errors"][..]),
        ("sgsn", &repaired, &["cfg:3: ", "cfg:4: ", "cfg:11: ", "3 errors"]),
        ("ggsn", ggsn, &["apn a: add 'tun-device NAME'", "apn b: add 'ip prefix dynamic", "2 errors"]),
    ] {
        let config = file(&directory, "node.cfg", text);
        for more in [&["--check"][..], &[]] {
            let output = gannet(&[&[node, "-c", &config], more].concat());
            let text = said(&output);
            assert_eq!(output.status.code(), Some(1), "{text}");
            assert_eq!(text.lines().count(), expected.len(), "{text}");
            for (line, part) in text.lines().zip(expected) {
                assert!(line.contains(part), "'{part}' is not in '{line}' of {text}");
            }
        }
    }
}

/// `gannet vty` with several commands, from the command line and from standard input, and its exit code.
fn commands_run_in_one_session() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let at = own_address(93);
    let directory = TempDir::new("gannet-session");
    let node = start(&directory, &at, "");
    let vty = format!("{at}:4245");
    let output =
        in_one_session(&vty, &["configure terminal", "sgsn", "timer T3350 9", "do show timer T3350"]);
    let text = said(&output);
    assert!(output.status.success() && text.contains("T3350 = 9 s"), "{text}");
    // The first refusal ends it.
    let output = in_one_session(&vty, &["show timer T3350", "nonsense", "show pid"]);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("T3350 = 9 s") && text.contains("% Unknown command.") && text.contains("'nonsense'"),
        "{text}"
    );
    assert!(!text.contains(&node.pid().to_string()), "{text}");
    let piped = |input: &str| {
        let mut command = Command::new(GANNET);
        command.args(["vty", &vty]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let output = piped(
        "! a comment\nconfigure terminal\n hostname Kiel\nsgsn\n timer T3350 8\nend\n\nshow timer T3350\nexit\n",
    );
    assert!(output.status.success() && said(&output).contains("T3350 = 8 s"), "{}", said(&output));
    let output = piped("configure terminal\nsgsn\ntimer T3350 x\ntimer T3350 7\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("line 3: 'timer T3350 x' was refused"), "{}", said(&output));
    assert!(node.vty("show timer T3350").contains("= 8 s"));
    // Nobody is there: another code.
    let output = gannet(&["vty", &format!("{at}:1"), "show pid"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        said(&output).contains(&format!("no VTY at {at}:1: "))
            && said(&output).contains("does the node run there")
    );
    for wrong in [at.as_str(), "4245", "127.0.0.1:x", ""] {
        let output = gannet(&["vty", wrong, "show pid"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(&format!("'{wrong}' is not ADDRESS:PORT")), "{}", said(&output));
    }
    let output = in_one_session(&vty, &["exit", "show pid"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("'show pid' was not asked: 'exit' has ended the session"),
        "{}",
        said(&output)
    );
}

/// Runs commands one after the other in one session of a VTY.
fn in_one_session(vty: &str, commands: &[&str]) -> Output {
    let mut arguments = vec!["vty", vty];
    arguments.extend(commands.iter().flat_map(|command| ["-c", command]));
    gannet(&arguments)
}

/// `write file` refuses what would not load, and keeps the former file.
fn only_what_loads_is_written() {
    let at = own_address(94);
    let directory = TempDir::new("gannet-write");
    let text = format!("ggsn g\n gtp bind-ip {at}\n no shutdown ggsn\nline vty\n no login\n bind {at}\n");
    let config = file(&directory, "ggsn.cfg", &text);
    let read = |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap_or_default();
    let vty = format!("{at}:4260");
    let node = Node::start(&directory, &vty, &["ggsn", "-c", &config]);
    let loads = || gannet(&["ggsn", "-c", &config, "--check"]).status.success();
    // References are checked at the prompt.
    let refused = in_one_session(&vty, &["configure terminal", "ggsn g", "default-apn nowhere"]);
    assert!(!refused.status.success() && said(&refused).contains("nowhere"), "{}", said(&refused));
    let output =
        in_one_session(&vty, &["configure terminal", "ggsn g", "apn a", "no shutdown", "write file"]);
    let shown = said(&output);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("would not load") && shown.contains("apn a: add 'ip prefix dynamic"), "{shown}");
    assert_eq!((read("ggsn.cfg"), read("ggsn.cfg.sav")), (text.clone(), String::new()));
    assert!(loads());
    let shown = node.vty("write file force");
    assert!(shown.contains("kept in") && shown.contains("It will not load"), "{shown}");
    assert_eq!(read("ggsn.cfg.sav"), text);
    assert!(!loads());
    // Made whole it is written, and what is kept is the file of before.
    let output = in_one_session(
        &vty,
        &[
            "configure terminal",
            "ggsn g",
            "apn a",
            "ip prefix dynamic 10.0.0.0/24",
            "tun-device t0",
            "default-apn a",
            "write file",
        ],
    );
    assert!(!output.status.success(), "{}", said(&output));
    let output = in_one_session(&vty, &["configure terminal", "ggsn g", "default-apn a", "write file"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(loads() && read("ggsn.cfg.sav").contains(" apn a"), "{}", read("ggsn.cfg"));
    // An APN that is named cannot go.
    let refused = in_one_session(&vty, &["configure terminal", "ggsn g", "no apn a"]);
    assert!(
        !refused.status.success() && said(&refused).contains("default APN a is not there"),
        "{}",
        said(&refused)
    );
}

/// `--pcap` on a full disk: it is said, counted, and the node serves.
fn a_full_disk_ends_no_node_and_is_said() {
    let (at, bss_at) = (own_address(95), own_address(195));
    let directory = TempDir::new("gannet-full-disk");
    let config = file(&directory, "sgsn.cfg", &sgsn_at(&at, ""));
    let arguments = ["sgsn", "-c", &config, "--pcap", "/dev/full"];
    let mut node = Node::start(&directory, &format!("{at}:4245"), &arguments);
    let bss = std::net::UdpSocket::bind(format!("{bss_at}:22000")).unwrap();
    bss.set_read_timeout(Some(std::time::Duration::from_secs(30))).unwrap();
    // NS-RESET, which is acknowledged before and after.
    let reset = [0x02, 0x00, 0x81, 0x01, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65];
    let serves = || {
        bss.send_to(&reset, format!("{at}:23000")).unwrap();
        let mut octets = [0; 100];
        assert!(bss.recv(&mut octets).unwrap() > 0 && octets[0] == 0x03);
    };
    serves();
    wait_for("the line about the disk", || {
        node.log().contains("capture /dev/full: No space left on device").then_some(())
    });
    serves();
    let recorded: u64 = node
        .vty("show counters")
        .lines()
        .find_map(|line| line.strip_prefix("capture_datagrams ").map(|count| count.parse().unwrap()))
        .unwrap();
    assert!(recorded >= 4, "{recorded}");
    node.signal("TERM");
    assert!(!node.wait().success(), "the capture is not whole");
    let log = node.log();
    assert_eq!(log.matches("ERROR capture /dev/full: No space left").count(), 1, "{log}");
    let end = log.lines().last().unwrap();
    assert!(end.starts_with("gannet: capture /dev/full: No space left on device"), "{log}");
    assert!(end.ends_with("datagrams are missing in it"), "{log}");
}

/// A disk that is full for a while, with the capture and the log on it.
fn a_disk_with_room_again_is_said() {
    let (at, bss_at) = (own_address(96), own_address(196));
    let directory = TempDir::new("gannet-disk-again");
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let disk = disk.display().to_string();
    let logs = format!("log stderr\nlog file {disk}/sgsn.log\n logging level set-all info\n");
    let config = file(&directory, "sgsn.cfg", &(logs + &sgsn_at(&at, "")));
    // Of the whole machine only this node sees that disk.
    let mut command = std::process::Command::new("unshare");
    let script =
        "mount -t tmpfs -o size=256k none \"$0\" && exec \"$1\" sgsn -c \"$2\" --pcap \"$0/x.pcapng\"";
    command.args(["--mount", "--propagation", "private", "sh", "-c", script, &disk, GANNET, &config]);
    let vty = format!("{at}:4245");
    let mut node = Node::spawn(&directory, &vty, command, "sgsn");
    wait_for("the answer of the VTY", || gannet(&["vty", &vty, "show pid"]).status.success().then_some(()));
    let filler = format!("/proc/{}/root{disk}/filler", node.pid());
    let fill = || {
        let _ = std::fs::write(&filler, vec![0; 1 << 19]);
    };
    let bss = std::net::UdpSocket::bind(format!("{bss_at}:22000")).unwrap();
    let reset = [0x02, 0x00, 0x81, 0x01, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65];
    let said = |what: &str| {
        wait_for(what, || {
            bss.send_to(&reset, format!("{at}:23000")).unwrap();
            node.log().contains(what).then_some(())
        });
    };
    fill();
    said(&format!("ERROR capture {disk}/x.pcapng: No space left on device"));
    said(&format!(
        "ERROR log file {disk}/sgsn.log: No space left on device (os error 28); it is tried again"
    ));
    std::fs::remove_file(&filler).unwrap();
    said(&format!("NOTICE capture {disk}/x.pcapng: it is written again, 0 datagrams are missing"));
    said(&format!("ERROR log file {disk}/sgsn.log: it is written again, "));
    node.signal("TERM");
    assert!(node.wait().success(), "{}", node.log());
}

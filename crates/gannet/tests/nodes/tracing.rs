//! What crosses the interfaces of a node: words of the configuration, standard output, a live stream.

use crate::common::{GANNET, Node, file, gannet, own_address, said, wait_for};
use crate::upkeep::sgsn_at;
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Case, Need, TempDir};
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

pub const CASES: &[Case] = &[
    ("words_begin_and_end_a_capture", &[Need::Tshark], words),
    ("files_in_turn_are_kept_as_configured", &[Need::Tshark], ring),
    ("standard_output_is_a_capture", &[Need::Tshark], standard_output),
    ("who_listens_for_gsmtap_hears_ll_pdus", &[], live),
    ("a_capture_that_cannot_be_made_is_refused", &[], refused),
    ("who_opens_the_socket_watches_and_a_page_does", &[Need::Tshark], watched),
];

/// NS-RESET of NS-VC 101 in NSE 101.
const RESET: [u8; 12] = [0x02, 0x00, 0x81, 0x01, 0x01, 0x82, 0x00, 0x65, 0x04, 0x82, 0x00, 0x65];
const ON_GB: [&str; 2] = ["-d", "udp.port==23000,gprs-ns"];

struct Bss {
    socket: UdpSocket,
    to: String,
}

impl Bss {
    fn new(sgsn: &str, at: &str) -> Self {
        let socket = UdpSocket::bind(format!("{at}:22000")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { socket, to: format!("{sgsn}:23000") }
    }

    fn reset(&self, times: usize) {
        for _ in 0..times {
            self.socket.send_to(&RESET, &self.to).unwrap();
            let mut octets = [0; 100];
            // NS-ALIVE may come between.
            while self.socket.recv(&mut octets).unwrap() == 0 || octets[0] != 0x03 {}
        }
    }
}

fn types(capture: &Path) -> Vec<Vec<String>> {
    let all = ["frame.interface_name", "nsip.pdu_type", "frame.interface_description"];
    dissect_file(&capture.to_string_lossy(), &ON_GB, &all)
}

fn configure(vty: &str, line: &str) -> String {
    let output = gannet(&["vty", vty, "-c", "configure terminal", "-c", line]);
    said(&output)
}

/// Begun and ended while the node runs; a killed node leaves what was recorded.
fn words() {
    let (at, bss_at) = (own_address(60), own_address(160));
    let directory = TempDir::new("gannet-trace-words");
    let config = file(&directory, "sgsn.cfg", &sgsn_at(&at, ""));
    let vty = format!("{at}:4245");
    let mut node = Node::start(&directory, &vty, &["sgsn", "-c", &config]);
    let bss = Bss::new(&at, &bss_at);
    assert!(node.vty("show trace").contains("Nothing is recorded"));
    bss.reset(2);
    let (first, second) = (directory.path().join("a.pcapng"), directory.path().join("b.pcapng"));
    let answer = configure(&vty, &format!("trace file {}", first.display()));
    assert!(!answer.contains('%'), "{answer}");
    bss.reset(3);
    assert!(node.vty("show running-config").contains(&format!("trace file {}", first.display())));
    assert!(node.vty("show trace").contains("a.pcapng"));
    configure(&vty, "no trace");
    let rows = types(&first);
    let resets = |rows: &[Vec<String>]| rows.iter().filter(|row| row[1] == "0x02").count();
    assert_eq!(resets(&rows), 3, "{rows:?}");
    assert!(rows.iter().all(|row| row[0] == "Gb" && row[2].starts_with("NS over UDP")), "{rows:?}");
    // Nobody who is not sampled is on Gb here: NS is nobody's.
    configure(&vty, "trace headers");
    configure(&vty, "trace sample subscribers 1/1000");
    configure(&vty, &format!("trace file {}", second.display()));
    bss.reset(4);
    wait_for("the capture to reach its file", || (resets(&types(&second)) >= 4).then_some(()));
    node.signal("KILL");
    node.wait();
    assert_eq!(resets(&types(&second)), 4);
    assert_eq!(resets(&types(&first)), 3, "a file that was closed stays as it is");
}

fn ring() {
    let (at, bss_at) = (own_address(61), own_address(161));
    let directory = TempDir::new("gannet-trace-ring");
    let inside = directory.path().join("ring");
    std::fs::create_dir(&inside).unwrap();
    let lines = format!("trace file {}/x.pcapng size 1 files 2\n", inside.display());
    let config = file(&directory, "sgsn.cfg", &(lines + &sgsn_at(&at, "")));
    let vty = format!("{at}:4245");
    let mut node = Node::start(&directory, &vty, &["sgsn", "-c", &config]);
    let bss = Bss::new(&at, &bss_at);
    // NS-STATUS, 1000 octets long: a datagram of nobody, which needs no answer.
    let mut long = vec![0x08, 0x00, 0x81, 0x0b, 0x02, 0x07, 0xc0];
    long.resize(1000, 0x0a);
    for _ in 0..40 {
        for _ in 0..100 {
            bss.socket.send_to(&long, &bss.to).unwrap();
        }
        bss.reset(1);
    }
    node.signal("TERM");
    assert!(node.wait().success(), "{}", node.log());
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&inside).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    for path in &files {
        assert!(std::fs::metadata(path).unwrap().len() <= 1_000_000);
    }
    let last: Vec<usize> = files.iter().map(|path| types(path).len()).collect();
    assert!(last[0] > 500 && last[1] > 0, "{last:?}");
}

/// `gannet sgsn -w - | tshark -r -`: the log is beside it.
fn standard_output() {
    let (at, bss_at) = (own_address(62), own_address(162));
    let directory = TempDir::new("gannet-trace-stdout");
    let config = file(&directory, "sgsn.cfg", &sgsn_at(&at, ""));
    let log = std::fs::File::create(directory.path().join("log")).unwrap();
    let mut command = Command::new(GANNET);
    command.args(["sgsn", "-c", &config, "-w", "-"]).stdout(Stdio::piped()).stderr(log);
    let mut child = command.spawn().unwrap();
    let pid = child.id().to_string();
    let stdout = child.stdout.take().unwrap();
    let tshark = Command::new("tshark")
        .args(["-n", "-r", "-", "-T", "fields", "-e", "nsip.pdu_type", "-e", "frame.interface_name"])
        .args(ON_GB)
        .stdin(stdout)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the answer of the VTY", || {
        gannet(&["vty", &format!("{at}:4245"), "show version"]).status.success().then_some(())
    });
    Bss::new(&at, &bss_at).reset(3);
    crate::common::signal(&pid, "TERM");
    let status = child.wait().unwrap();
    let output = tshark.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(status.success());
    assert_eq!(text.lines().filter(|line| *line == "0x02\tGb").count(), 3, "{text}");
    let log = std::fs::read_to_string(directory.path().join("log")).unwrap();
    assert!(log.contains("gannet sgsn") && log.contains("runs, VTY at"), "{log}");
}

/// UL-UNITDATA of a stranger on a BVC that is not there: seen is what came, whatever becomes of it.
fn live() {
    let (at, bss_at) = (own_address(63), own_address(163));
    let directory = TempDir::new("gannet-trace-live");
    let config = file(&directory, "sgsn.cfg", &sgsn_at(&at, ""));
    let listener = UdpSocket::bind("127.0.0.1:0").unwrap();
    listener.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let to = listener.local_addr().unwrap().to_string();
    let vty = format!("{at}:4245");
    let mut node = Node::start(&directory, &vty, &["sgsn", "-c", &config, "--gsmtap", &to]);
    let bss = Bss::new(&at, &bss_at);
    bss.reset(1);
    let mut unitdata = vec![0, 0, 0, 2, 1, 0x80, 0, 0, 1, 0, 0, 0];
    unitdata.extend([0x08, 0x88, 0, 0xf1, 0x10, 0, 1, 1, 0, 1, 0, 0x80]);
    unitdata.extend([0x0e, 0x84, 0x41, 0xc0, 1, 0x55]);
    bss.socket.send_to(&unitdata, &bss.to).unwrap();
    let mut octets = [0; 100];
    let count = listener.recv(&mut octets).unwrap();
    assert_eq!(octets[16..count], [0x41, 0xc0, 1, 0x55]);
    assert_eq!((octets[2], octets[4] & 0x40), (8, 0x40), "an LLC frame of the uplink");
    assert!(node.vty("show trace").contains(&format!("GSMTAP to {to}")));
    node.signal("TERM");
    assert!(node.wait().success(), "{}", node.log());
}

fn refused() {
    let at = own_address(64);
    let directory = TempDir::new("gannet-trace-refused");
    let lines = "trace file /nowhere/at/all.pcapng\n";
    let config = file(&directory, "sgsn.cfg", &(lines.to_owned() + &sgsn_at(&at, "")));
    let output = gannet(&["sgsn", "-c", &config]);
    assert!(
        !output.status.success() && said(&output).contains("/nowhere/at/all.pcapng"),
        "{}",
        said(&output)
    );
    let plain = file(&directory, "plain.cfg", &sgsn_at(&at, ""));
    let output = gannet(&["sgsn", "-c", &plain, "-D", "-w", "-"]);
    assert!(!output.status.success() && said(&output).contains("standard output"), "{}", said(&output));
    let vty = format!("{at}:4245");
    let mut node = Node::start(&directory, &vty, &["sgsn", "-c", &plain]);
    let there = directory.path().join("there.pcapng");
    configure(&vty, &format!("trace file {}", there.display()));
    let answer = configure(&vty, "trace file /nowhere/at/all.pcapng size 3");
    assert!(answer.contains("/nowhere/at/all"), "{answer}");
    let running = node.vty("show running-config");
    assert!(running.contains("there.pcapng") && !running.contains("/nowhere"), "{running}");
    assert!(node.vty("show trace").contains("there.pcapng"), "it goes on as it did");
    let answer = configure(&vty, "trace sample subscribers 10");
    assert!(answer.contains("1/N"), "{answer}");
    node.signal("TERM");
    assert!(node.wait().success(), "{}", node.log());
}

/// A socket of the file system, opened by a program, by the page of a trace, and gone with its word.
fn watched() {
    let (at, bss_at) = (own_address(69), own_address(169));
    let directory = TempDir::new("gannet-trace-socket");
    let config = file(&directory, "sgsn.cfg", &sgsn_at(&at, ""));
    let vty = format!("{at}:4245");
    let node = Node::start(&directory, &vty, &["sgsn", "-c", &config]);
    let bss = Bss::new(&at, &bss_at);
    let path = directory.path().join("sgsn.trace");
    let answer = configure(&vty, &format!("trace socket {}", path.display()));
    assert!(!answer.contains('%'), "{answer}");
    let line = format!("trace socket {}", path.display());
    assert!(node.vty("show running-config").contains(&line));
    let mut watcher = UnixStream::connect(&path).unwrap();
    watcher.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut octets = vec![0; 28];
    watcher.read_exact(&mut octets).unwrap();
    bss.reset(3);
    // The page reads the same socket at the same time.
    let mut page = Command::new(GANNET);
    let page = page.args(["trace", "view", "--live"]).arg(&path).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut page = page.spawn().unwrap();
    let mut said = BufReader::new(page.stdout.take().unwrap()).lines();
    let url = said.find_map(|line| line.unwrap().strip_prefix("The page: ").map(str::to_owned)).unwrap();
    let output = Command::new("curl").args(["-s", "-L", "-c", "-", &url]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("<title>Gannet trace</title>"), "{url}");
    page.kill().unwrap();
    page.wait().unwrap();
    configure(&vty, "no trace socket");
    assert!(!path.exists());
    watcher.read_to_end(&mut octets).unwrap();
    let capture = directory.path().join("watched.pcapng");
    std::fs::write(&capture, octets).unwrap();
    let rows = types(&capture);
    assert_eq!(rows.iter().filter(|row| row[1] == "0x02").count(), 3, "{rows:?}");
    // No socket where no directory is: the node says so and goes on.
    let answer = configure(&vty, "trace socket /nowhere/at/all");
    assert!(answer.contains("/nowhere/at/all"), "{answer}");
    bss.reset(1);
}

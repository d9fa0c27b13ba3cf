//! What programs read of a node: the page of metrics, statsd's datagrams, the control interface; and garbage at each.

use crate::common::{Node, file, wait_for};
use gannet_machine::drops::Drop;
use gannet_ops::metrics::osmocom::names;
use gannet_proto::ipa_stream::Splitter;
use gannet_testkit::netns::{Background, Netns};
use gannet_testkit::{Case, Need, TempDir};
use gannet_wire::gsmtap;
use gannet_wire::gsmtap_log::LogLine;
use gannet_wire::ipa;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::time::Duration;

/// All of them.
pub const CASES: &[Case] = &[
    ("a_node_is_scraped", &[Need::NetAdmin, Need::Program("curl")], a_node_is_scraped),
    ("garbage_at_the_page_of_metrics", &[], garbage_at_the_page_of_metrics),
    ("a_statsd_is_told", &[], a_statsd_is_told),
    ("the_control_interface_answers", &[], the_control_interface_answers),
    ("counting_begins_anew", &[], counting_begins_anew),
    ("log_lines_are_sent", &[], log_lines_are_sent),
    ("each_counter_of_osmo_sgsn_answers", &[Need::NetAdmin], each_counter_of_osmo_sgsn_answers),
    ("osmo_sgsn_answers_the_same", &[Need::NetAdmin, Need::Program("osmo-sgsn")], osmo_sgsn_answers_the_same),
];

/// How long a peer of the test may be silent.
const PATIENCE: Duration = Duration::from_secs(60);

fn config(address: &str, more: &str) -> String {
    format!(
        "{more}sgsn\n gtp local-ip {address}\n ggsn 0 remote-ip 127.0.0.2\n max-mobiles 100\nns\n bind udp local\n  \
         listen {address} 23000\n  accept-ipaccess\nbssgp\nline vty\n no login\n bind {address}\nctrl\n \
         bind {address}\nmetrics\n bind {address}\n"
    )
}

fn start(directory: &TempDir, address: &str, more: &str) -> Node {
    let config = file(directory, "sgsn.cfg", &config(address, more));
    Node::start(directory, &format!("{address}:4245"), &["sgsn", "-c", &config])
}

/// A connection of an impatient peer.
fn connect(address: &str, port: u16) -> TcpStream {
    let stream = TcpStream::connect((address, port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What a page says, by name with labels. Every sample has its type above it.
fn samples(page: &str) -> BTreeMap<String, u64> {
    let mut kinds = BTreeMap::new();
    let mut samples = BTreeMap::new();
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(kinds.insert(name, kind).is_none(), "{name} twice");
            continue;
        }
        if line.starts_with("# HELP ") {
            continue;
        }
        let (name, value) = line.rsplit_once(' ').unwrap();
        let bare = name.split('{').next().unwrap();
        assert!(kinds.contains_key(bare), "{line}");
        assert!(kinds.get(bare) == Some(&"gauge") || bare.ends_with("_total"), "{line}");
        assert!(samples.insert(name.to_owned(), value.parse().unwrap()).is_none(), "{name} twice");
    }
    samples
}

fn a_node_is_scraped() {
    let directory = TempDir::new("gannet-scraped");
    let netns = Netns::new("scraped");
    let sgsn = file(&directory, "sgsn.cfg", &config("127.0.0.1", ""));
    let bss = "bss\n remote-ip 127.0.0.1\n local-ip 127.0.0.1\n cells 2\n mobiles 1\nline vty\n no login\nmetrics\n";
    let bss = file(&directory, "bss.cfg", bss);
    let spawn = |name: &str, config: &str| {
        let mut command = netns.command(crate::common::GANNET);
        command.args([name, "-c", config]);
        Node::spawn(&directory, "", command, name)
    };
    let _nodes = [spawn("sgsn", &sgsn), spawn("bss", &bss)];
    let scrape = |port: u16| {
        let url = format!("http://127.0.0.1:{port}/metrics");
        let output = netns.command("curl").args(["-sSf", &url]).output().unwrap();
        output.status.success().then(|| samples(&String::from_utf8(output.stdout).unwrap()))
    };
    let unblocked = |bvci: u8| format!("gannet_sgsn_bvc_unblocked{{nsei=\"101\",bvci=\"{bvci}\"}}");
    let both = |page: &BTreeMap<_, _>| [2, 3].iter().all(|bvci| page.get(&unblocked(*bvci)) == Some(&1));
    let page = wait_for("the cells", || scrape(9245).filter(both));
    for drop in Drop::ALL {
        assert!(page.contains_key(&format!("gannet_sgsn_{}_total", drop.name())), "{}", drop.name());
    }
    assert_eq!(page.get("gannet_sgsn_ns_vc_unblocked{nsei=\"101\",nsvci=\"101\"}"), Some(&1));
    assert!(page.get("gannet_sgsn_ns_vc_rx_pdus_total{nsei=\"101\",nsvci=\"101\"}").unwrap() > &2);
    assert_eq!(page.get("gannet_sgsn_ggsn_path_up{ggsn=\"0\",remote=\"127.0.0.2\"}"), Some(&0));
    assert_eq!(
        (page.get("gannet_sgsn_cells"), page.get("gannet_sgsn_ns_vcs_unblocked")),
        (Some(&2), Some(&1))
    );
    wait_for("the mobile", || scrape(9245).filter(|page| page.get("gannet_sgsn_mobiles") == Some(&1)));
    let page = scrape(9290).unwrap();
    assert_eq!(page.get("gannet_bss_cell_unblocked{cell=\"1\"}"), Some(&1), "{page:?}");
    assert_eq!(page.get("gannet_bss_mobiles"), Some(&1));
}

/// All that a server says until it hangs up.
fn http(address: &str, request: &[u8]) -> String {
    let mut stream = connect(address, 9245);
    stream.write_all(request).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

fn garbage_at_the_page_of_metrics() {
    const AT: &str = "127.81.7.1";
    let directory = TempDir::new("gannet-garbage");
    let node = start(&directory, AT, "");
    assert!(http(AT, b"\xff\xfe\r\n\r\n").starts_with("HTTP/1.1 400 "));
    assert!(http(AT, b"POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    assert!(http(AT, b"GET /etc/passwd HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    // Who says nothing gives way to who comes, and nobody waits for who does not read.
    let mut silent: Vec<TcpStream> = (0..40).map(|_| connect(AT, 9245)).collect();
    let page = http(AT, b"GET /metrics HTTP/1.1\r\nHost: sgsn\r\n\r\n");
    let (head, body) = page.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("Content-Type: text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert!(samples(body).contains_key("gannet_sgsn_n_pdu_downlink_total"));
    let first = silent.first_mut().unwrap();
    assert_eq!(first.read(&mut [0; 16]).unwrap(), 0, "the first of them was cut");
    assert!(node.vty("show sgsn").contains(AT));
}

/// The lines that came, with their values.
fn told(socket: &UdpSocket) -> Vec<String> {
    let mut datagram = [0; 65_536];
    // A case that runs beside this one has itself interrupted.
    let octets = loop {
        match socket.recv(&mut datagram) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            received => break received.unwrap(),
        }
    };
    assert!(octets <= 300, "{octets}");
    let text = std::str::from_utf8(&datagram[..octets]).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn a_statsd_is_told() {
    let socket = UdpSocket::bind("127.81.7.2:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let port = socket.local_addr().unwrap().port();
    let directory = TempDir::new("gannet-statsd");
    let more = format!(
        "stats interval 1\nstats reporter statsd\n  remote-ip 127.81.7.2\n  remote-port {port}\n  mtu 300\n  \
         level peer\n  prefix lab\n  flush-period 1\n  enable\n"
    );
    let node = start(&directory, "127.81.7.2", &more);
    for wanted in
        ["lab.sgsn.0.llc.dl_packets:0|c", "lab.sgsn.0.mobiles:0|g", "lab.ggsn.0-127-0-0-2.path_up:0|g"]
    {
        while !told(&socket).iter().any(|line| line == wanted) {}
    }
    // A datagram of a stranger is counted, and told once as a growth.
    let stranger = UdpSocket::bind("127.81.7.2:0").unwrap();
    stranger.send_to(b"\xff\xff\xff", "127.81.7.2:23000").unwrap();
    let grew = |line: &String| line == "lab.sgsn.0.ns_unknown_peer:1|c";
    while !told(&socket).iter().any(grew) {}
    let running = node.vty("show running-config");
    assert!(running.contains("stats reporter statsd\n remote-ip 127.81.7.2\n"), "{running}");
    assert!(node.vty("show rate-counters").contains("llc:dl_packets:          0 (0/s 0/m 0/h 0/d) "));
}

/// A client of the control interface.
struct Ctrl(TcpStream);

impl Ctrl {
    fn ask(&mut self, text: &str) -> String {
        let mut octets = Vec::new();
        ipa::put_extension(0, text.as_bytes(), &mut octets);
        self.0.write_all(&octets).unwrap();
        self.answer().unwrap_or_else(|| panic!("no answer to {text}"))
    }

    /// The next message; `None` where the server hangs up.
    fn answer(&mut self) -> Option<String> {
        let mut splitter = Splitter::new(ipa::PAYLOAD_MAX);
        loop {
            if let Some(message) = splitter.next_message().unwrap() {
                let (extension, content) = message.extension().unwrap();
                assert_eq!(extension, 0);
                return Some(String::from_utf8(content.to_vec()).unwrap());
            }
            let mut octet = [0];
            if self.0.read(&mut octet).unwrap() == 0 {
                return None;
            }
            splitter.push(&octet);
        }
    }
}

fn the_control_interface_answers() {
    const AT: &str = "127.81.7.3";
    let directory = TempDir::new("gannet-ctrl");
    let node = start(&directory, AT, "");
    let mut ctrl = Ctrl(connect(AT, 4251));
    assert_eq!(ctrl.ask("GET 1 subscriber-list-active-v1"), "GET_REPLY 1 subscriber-list-active-v1 ");
    let all = ctrl.ask("GET 2 rate_ctr.abs.sgsn.0");
    assert!(all.starts_with("GET_REPLY 2 rate_ctr.abs.sgsn.0 ") && all.contains("pdp:activate_accepted 0;"));
    assert_eq!(
        ctrl.ask("GET 3 rate_ctr.per_sec.sgsn.0.llc:ul_packets"),
        "GET_REPLY 3 rate_ctr.per_sec.sgsn.0.llc:ul_packets 0"
    );
    assert_eq!(
        ctrl.ask("GET 4 stat_item.last.sgsn.0.mobiles"),
        "GET_REPLY 4 stat_item.last.sgsn.0.mobiles 0"
    );
    assert_eq!(ctrl.ask("GET 5 stat_item.last.ggsn.0-127-0-0-2.path_up").split(' ').nth(3), Some("0"));
    assert_eq!(ctrl.ask("SET 6 rate_ctr.abs.sgsn.0 1"), "ERROR 6 Can't set rate counter.");
    assert_eq!(ctrl.ask("\u{1}"), "ERROR err Request type unknown");
    // What cannot be found the end of ends the connection, and that one only.
    let mut other = Ctrl(connect(AT, 4251));
    other.0.write_all(&[0xff; 64]).unwrap();
    other.0.shutdown(Shutdown::Write).unwrap();
    assert_eq!(other.answer().as_deref(), Some("ERROR err Request malformed"));
    assert_eq!(other.answer(), None);
    assert_eq!(ctrl.ask("GET 7 version"), "ERROR 7 Command not found");
    assert!(node.vty("show sgsn").contains(AT));
}

fn counting_begins_anew() {
    const AT: &str = "127.81.7.4";
    let directory = TempDir::new("gannet-reset");
    let node = start(&directory, AT, "");
    let socket = UdpSocket::bind((AT, 0)).unwrap();
    let dropped = |command: &str| {
        let lines = node.vty(command);
        lines.lines().find_map(|line| line.strip_prefix("ns_unknown_peer ")).map(str::to_owned)
    };
    socket.send_to(b"\xff\xff\xff", (AT, 23_000)).unwrap();
    wait_for("the drop", || dropped("show stats"));
    node.vty("stats reset");
    assert_eq!((dropped("show stats"), dropped("show counters").as_deref()), (None, Some("1")));
    socket.send_to(b"\xff\xff\xff", (AT, 23_000)).unwrap();
    let counted = wait_for("the next drop", || dropped("show stats"));
    assert_eq!((counted.as_str(), dropped("show counters").as_deref()), ("1", Some("2")));
    assert!(node.refused("stats report").contains("No reporter is enabled."));
    assert!(node.vty("show stats level peer").contains("\nGGSN ggsn 0 remote 127.0.0.2:\n path_up 0\n"));
}

fn log_lines_are_sent() {
    const AT: &str = "127.81.7.5";
    let socket = UdpSocket::bind((AT, gsmtap::UDP_PORT)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let directory = TempDir::new("gannet-gsmtap");
    let more = format!("log gsmtap {AT}\n logging filter all 1\n logging level main notice\n");
    let node = start(&directory, AT, &more);
    loop {
        let mut datagram = [0; 2048];
        let octets = socket.recv(&mut datagram).unwrap();
        let (header, from) = gsmtap::Header::parse(&datagram[..octets]).unwrap();
        assert_eq!(header.payload, gsmtap::PayloadType::OsmocoreLog);
        let line = LogLine::parse(&datagram[from..octets]).unwrap();
        assert_eq!(line.process, "gannet");
        if line.subsystem == "main" && line.text.ends_with(&format!("runs, VTY at {AT}:4245")) {
            break;
        }
    }
    assert!(node.vty("show running-config").contains(&format!("log gsmtap {AT}\n")));
}

/// Asks in a namespace, which a client of the test's own cannot reach: the shell opens the connection there.
fn ask_within(netns: &Netns, address: &str, text: &str) -> Option<String> {
    let mut octets = Vec::new();
    ipa::put_extension(0, text.as_bytes(), &mut octets);
    let escaped: String = octets.iter().map(|octet| format!("\\x{octet:02x}")).collect();
    let script = format!(
        "exec 3<>/dev/tcp/{address}/4251 || exit 1; printf '{escaped}' >&3; \
         size=$((16#$(head -c 2 <&3 | od -An -tx1 | tr -d ' \\n'))); head -c 2 <&3 >/dev/null; \
         head -c $((size - 1)) <&3"
    );
    let output = netns.command("bash").args(["-c", &script]).output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// Two mobiles at each SGSN, one of which has a PDP context, are listed alike.
fn mobiles_of_both(netns: &Netns, directory: &TempDir) {
    let spawn = |name: &'static str, element: &str, text: &str| {
        let config = file(directory, &format!("{name}.cfg"), text);
        let mut command = netns.command(crate::common::GANNET);
        command.args([element, "-c", &config]);
        Node::spawn(directory, "", command, name)
    };
    let _ggsn = spawn(
        "ggsn",
        "ggsn",
        "ggsn ggsn0\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  tun-device apn0\n  type-support v4\n  \
         ip prefix dynamic 198.51.100.0/24\n  no shutdown\n no shutdown ggsn\nline vty\n no login\n bind 127.0.0.2\n",
    );
    let bss = |name: &'static str, sgsn: &str, own: &str, first: &str| {
        let text = format!(
            "bss\n remote-ip {sgsn}\n local-ip {own}\n cells 1\n mobiles 2\n imsi-base {first}\n \
             no activate-on-attach\nline vty\n no login\n bind {own}\n"
        );
        spawn(name, "bss", &text)
    };
    let peers = [("127.0.0.1", "127.0.0.5", "00101000000000"), ("127.0.0.3", "127.0.0.6", "00101000000001")];
    let [(at, own, prefix), (here_at, here_own, here_prefix)] = peers;
    let _their = bss("bss-of-osmo", at, own, &format!("{prefix}1"));
    let _ours = bss("bss-of-ours", here_at, here_own, &format!("{here_prefix}1"));
    for (address, bss, prefix) in peers {
        let listed = |wanted: &dyn Fn(&[&str]) -> bool| {
            let list = ask_within(netns, address, "GET 1 subscriber-list-active-v1")?;
            let list = list.strip_prefix("GET_REPLY 1 subscriber-list-active-v1 ")?;
            assert!(list.is_empty() || list.ends_with('\n'), "{list:?}");
            let mut lines: Vec<&str> = list.lines().collect();
            lines.sort_unstable();
            wanted(&lines).then_some(())
        };
        let (one, two) = (format!("{prefix}1,"), format!("{prefix}2,"));
        wait_for("both mobiles", || listed(&|lines| lines == [&one, &two]));
        let mut activate = netns.command(crate::common::GANNET);
        activate.args(["vty", &format!("{bss}:4290"), "mobile 1 activate"]);
        assert!(activate.status().unwrap().success());
        let with_address = format!("{one}IPv4 198.51.100.");
        let is_active = |lines: &[&str]| match lines {
            [active, idle] => active.starts_with(&with_address) && *idle == two,
            _ => false,
        };
        wait_for("the PDP context", || listed(&is_active));
    }
    counters_of_both(netns);
    lines_of_both(netns, [&format!("{}1", peers[0].2), &format!("{}1", peers[1].2)]);
}

/// A line without what differs from node to node: numbers, and rates, which ours does not take of peers.
fn skeleton(line: &str) -> String {
    let line = line.split(" (").next().unwrap_or_default().trim();
    let is_number = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
        is_hex && (digits.len() == 8 || digits.chars().any(|c| c.is_ascii_digit()))
    };
    let mut text = String::new();
    for word in line.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let rest = word.strip_prefix(bare).unwrap_or_default();
        let value = bare.trim_end_matches("oct").trim_end_matches(['d', 'h', 'm', 's']);
        text += if is_number(value) { "#" } else { bare };
        text += rest;
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a script looks for in the answers of osmo-sgsn it finds in ours: each of its lines, in its order. Ours may have more
/// between them and at their ends, and lacks what is named here.
fn lines_of_both(netns: &Netns, [their_imsi, own_imsi]: [&str; 2]) {
    // Nobody counts user data by mobile and context, and a signalling BVC has no bucket (08.18 clause 8.2): osmo-sgsn's is
    // that of nobody.
    let absent = ["User Data ", "SGSN PDP Context Statistics", "FC-BVC(bucket_max: 100000oct"];
    let is_absent = |line: &str| absent.iter().any(|absent| line.contains(absent));
    let vty = |address: &str, command: &str| {
        said(netns.command(crate::common::GANNET).args(["vty", &format!("{address}:4245"), command]))
    };
    let mut compared = 0;
    for command in [
        "show sgsn",
        "show mm-context imsi IMSI",
        "show mm-context imsi IMSI pdp",
        "show pdp-context all",
        "show ns entities",
        "show ns entities stats",
        "show ns nsei 101 stats",
        "show ns nsvc 101 stats",
        "show ns nsvc 7",
        "show ns binds",
        "show ns",
        "show ns persistent",
        "show bssgp",
        "show bssgp stats",
        "show bssgp nsei 101 stats",
        "show timer T3350",
        "show mm-context imsi 001010000000999",
    ] {
        let theirs = vty("127.0.0.1", &command.replace("IMSI", their_imsi));
        let ours = vty("127.0.0.3", &command.replace("IMSI", own_imsi));
        let mut rest = ours.lines().map(skeleton);
        for line in theirs.lines().filter(|line| !line.starts_with("OsmoSGSN") && !line.trim().is_empty()) {
            // The sentence behind a tabulator is of each its own.
            let wanted = skeleton(line.split('\t').next().unwrap_or_default());
            if is_absent(line) {
                continue;
            }
            assert!(rest.any(|own| own.starts_with(&wanted)), "{command}: no '{wanted}' ({line}) in\n{ours}");
            compared += 1;
        }
    }
    assert!(compared > 80, "{compared} lines");
}

/// The groups that both have list the same names in the same order, ours perhaps more behind them; and the list of names
/// that is kept has them all. Of what the mobiles did, both have counted as much.
fn counters_of_both(netns: &Netns) {
    let mut listed = Vec::new();
    for group in ["sgsn.0", "bssgp:bss_ctx.2", "ns:nsvc.0", "ns:nse.101"] {
        let counted = |address: &str| -> Vec<(String, u64)> {
            let variable = format!("rate_ctr.abs.{group}");
            let answer = ask_within(netns, address, &format!("GET 1 {variable}")).unwrap();
            let values = answer.strip_prefix(&format!("GET_REPLY 1 {variable} ")).expect(&answer);
            let values = values.split_terminator(';').map(|value| value.split_once(' ').unwrap());
            values.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
        };
        let (theirs, ours) = (counted("127.0.0.1"), counted("127.0.0.3"));
        for ((their, their_value), (own, own_value)) in theirs.iter().zip(&ours) {
            // osmo-sgsn has one name for what it receives, accepts and rejects of updates.
            let is_known = own == their || (their.contains("routing_area") && own.contains("routing_area"));
            assert!(is_known, "{group}: {own} in the place of {their}");
            if ["attach", "detach", "pdp:"].iter().any(|of| their.contains(of)) {
                assert_eq!(own_value, their_value, "{their}");
            }
        }
        assert!(ours.len() >= theirs.len(), "{group}");
        let class = group.rsplit_once('.').unwrap().0;
        listed.extend(theirs.into_iter().map(|(name, _)| format!("{class} {name} c")));
    }
    let kept =
        names().filter(|(.., kind)| *kind == "c").map(|(group, name, kind)| format!("{group} {name} {kind}"));
    assert_eq!(kept.collect::<Vec<_>>(), listed);
}

fn each_counter_of_osmo_sgsn_answers() {
    let directory = TempDir::new("gannet-names");
    let netns = Netns::new("names");
    let socket = "stats interval 1\nstats reporter statsd\n remote-ip 127.0.0.9\n level peer\n enable\n";
    let sgsn = file(&directory, "sgsn.cfg", &config("127.0.0.1", socket));
    let bss = "bss\n remote-ip 127.0.0.1\n local-ip 127.0.0.5\n cells 1\n mobiles 1\nline vty\n no login\n";
    let bss = file(&directory, "bss.cfg", bss);
    let spawn = |name: &str, config: &str| {
        let mut command = netns.command(crate::common::GANNET);
        command.args([name, "-c", config]);
        Node::spawn(&directory, "", command, name)
    };
    let _nodes = [spawn("sgsn", &sgsn), spawn("bss", &bss)];
    let ask = |text: &str| ask_within(&netns, "127.0.0.1", text);
    let attached = "GET_REPLY 1 rate_ctr.abs.sgsn.0.gprs:attach_accepted 1";
    wait_for("the mobile", || {
        (ask("GET 1 rate_ctr.abs.sgsn.0.gprs:attach_accepted").as_deref() == Some(attached)).then_some(())
    });
    let mut moved = Vec::new();
    for (group, name, kind) in names() {
        let index = match group {
            "bssgp:bss_ctx" => "2",
            "ns:nse" => "101",
            _ => "0",
        };
        // A group with a dot in its name cannot be asked for: osmo-sgsn refuses it, too.
        let variable = match kind {
            "c" => format!("rate_ctr.abs.{group}.{index}.{name}"),
            _ if group.contains('.') => continue,
            _ => format!("stat_item.last.{group}.{index}.{name}"),
        };
        let answer = ask(&format!("GET 1 {variable}")).unwrap();
        let value = answer.strip_prefix(&format!("GET_REPLY 1 {variable} ")).expect(&answer);
        if value.parse::<u64>().unwrap() > 0 {
            moved.push(format!("{group} {name}"));
        }
    }
    for name in [
        "sgsn gprs:attach_requested",
        "sgsn llc:ul_bytes",
        "sgsn llc:dl_packets",
        "bssgp:bss_ctx packets:in",
        "bssgp:bss_ctx bytes:out",
        "ns:nsvc packets:in",
        "ns:nsvc bytes:out",
        "ns:nsvc blocked",
        "ns:nsvc unblocked",
        "ns:nse unblocked",
    ] {
        assert!(moved.iter().any(|moved| moved == name), "{name} stands still: {moved:?}");
    }
    // By the names of its statsd, too.
    let shown =
        said(netns.command(crate::common::GANNET).args(["vty", "127.0.0.1:4245", "show rate-counters"]));
    let title = "NSVC Peer Statistics 0 (UDP-NSE00101-NSVC00101-127_0_0_1:23000-127_0_0_5:22000):\n";
    assert!(shown.contains(title), "{shown}");
    assert!(shown.contains("\nBSSGP Peer Statistics 2:\n               packets:in: "), "{shown}");
}

fn said(command: &mut std::process::Command) -> String {
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

/// The same questions, and mobiles in the same words.
fn osmo_sgsn_answers_the_same() {
    let directory = TempDir::new("gannet-both");
    let netns = Netns::new("both");
    netns.ip(&["link", "set", "lo", "up"]);
    let own = file(&directory, "sgsn.cfg", &config("127.0.0.3", ""));
    let state = directory.path().display();
    let their = format!(
        "line vty\n no login\nctrl\n bind 127.0.0.1\nsgsn\n gtp state-dir {state}\n gtp local-ip 127.0.0.1\n \
                 ggsn 0 remote-ip 127.0.0.2\n ggsn 0 gtp-version 1\n auth-policy accept-all\nns\n bind udp local\n  listen 127.0.0.1 23000\n  accept-ipaccess\nbssgp\n"
    );
    let their = file(&directory, "osmo.cfg", &their);
    let mut command = netns.command(crate::common::GANNET);
    command.args(["sgsn", "-c", &own]);
    let _own = Node::spawn(&directory, "", command, "sgsn");
    let _their: Background = netns.spawn("osmo-sgsn", &["-c", &their]);
    let ask = |address: &str, text: &str| ask_within(&netns, address, text);
    for address in ["127.0.0.1", "127.0.0.3"] {
        wait_for("the control interface", || ask(address, "GET 1 subscriber-list-active-v1"));
    }
    for text in [
        "GET 1 version",
        "GET 2 rate_ctr",
        "SET 3 subscriber-list-active-v1 x",
        "GET 4 rate_ctr.abs",
        "GET 5 rate_ctr.abs.sgsn.7",
        "GET 6 rate_ctr.abs.sgsn.0.llc:dl_packets",
        "GET 7 rate_ctr.per_min.sgsn.0.pdp:activate_accepted",
        "GET 8 rate_ctr.abs.sgsn.0.nothing",
        "SET 9 rate_ctr.abs.sgsn.0 1",
        "GET 10 stat_item.last.sgsn",
        "GET 11 rate_ctr.*",
        "GET 12",
        "SET 13 version",
        "GET 14 version extra",
        "GET x version",
        "GET",
        "FOO 1 version",
        "TRAP 0 x y",
    ] {
        let (their, own) = (ask("127.0.0.1", text), ask("127.0.0.3", text));
        assert_eq!(own, their, "{text}");
        assert!(own.is_some(), "{text}");
    }
    // Once there are mobiles, the counters differ.
    mobiles_of_both(&netns, &directory);
}

//! SGSN, GGSN and BSS on the loopback addresses of one network namespace, and what an operator sees and does.

use crate::common::{GANNET, Node, file, repository, said, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};

/// All of them.
pub const CASES: &[Case] = &[
    ("operators_see_and_act", &[Need::NetAdmin], operators_see_and_act),
    ("a_killed_sgsn_finds_its_bss_again", &[Need::NetAdmin], a_killed_sgsn_finds_its_bss_again),
    ("a_killed_ggsn_goes_on", &[Need::NetAdmin], a_killed_ggsn_goes_on),
    ("a_restart_of_the_sgsn_is_survived", &[Need::NetAdmin], a_restart_of_the_sgsn_is_survived),
    ("the_examples_run_together", &[Need::NetAdmin], the_examples_run_together),
    ("why_names_a_reject", &[Need::NetAdmin], why_names_a_reject),
];

const SGSN: &str = "127.0.0.1:4245";
const GGSN: &str = "127.0.0.1:4260";
const BSS: &str = "127.0.0.1:4290";
const FIRST: &str = "001010000000001";

/// The three nodes, ended before their namespace.
struct Network {
    nodes: Vec<(&'static str, Node)>,
    netns: Netns,
    directory: TempDir,
}

impl Network {
    /// Starts all three; `bss` are more lines of the BSS's configuration.
    fn new(label: &str, bss: &str) -> Self {
        let directory = TempDir::new("gannet-operation");
        let state = directory.path().display();
        let ggsn = format!(
            "ggsn ggsn0\n gtp state-dir {state}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  \
             tun-device apn0\n  type-support v4\n  ip prefix dynamic 198.51.100.0/24\n  no shutdown\n \
             no shutdown ggsn\nline vty\n no login\n"
        );
        let sgsn = format!(
            "log stderr\n logging level set-all info\nsgsn\n gtp state-dir {state}\n gtp local-ip 127.0.0.1\n \
             ggsn 0 remote-ip 127.0.0.2\n max-mobiles 100\nns\n bind udp local\n  listen 127.0.0.1 23000\n  \
             accept-ipaccess\nbssgp\nline vty\n no login\n"
        );
        let bss = format!(
            "bss\n remote-ip 127.0.0.1\n local-ip 127.0.0.1\n cells 2\n mobiles 2\n tun ms count 1\n radio delay 5\n{bss}\
             line vty\n no login\n"
        );
        Self::with(label, directory, [ggsn, sgsn, bss])
    }

    /// Starts all three with these configurations, in the order GGSN, SGSN, BSS.
    fn with(label: &str, directory: TempDir, texts: [String; 3]) -> Self {
        for (name, text) in ["ggsn.cfg", "sgsn.cfg", "bss.cfg"].into_iter().zip(texts) {
            file(&directory, name, &text);
        }
        let mut network = Self { nodes: Vec::new(), netns: Netns::new(label), directory };
        for node in ["ggsn", "sgsn", "bss"] {
            network.start(node);
        }
        network
    }

    fn start(&mut self, name: &'static str) {
        let config = self.directory.path().join(format!("{name}.cfg"));
        let mut command = self.netns.command(GANNET);
        command.args([name, "-c", &config.to_string_lossy()]);
        self.nodes.push((name, Node::spawn(&self.directory, "", command, name)));
        let address = match name {
            "ggsn" => GGSN,
            "sgsn" => SGSN,
            _ => BSS,
        };
        wait_for("the answer of the VTY", || self.ask(address, "show drops"));
    }

    /// Ends a node in good order.
    fn stop(&mut self, name: &str) {
        let place = self.nodes.iter().position(|(other, _)| *other == name).unwrap();
        let (_, mut node) = self.nodes.remove(place);
        node.signal("TERM");
        assert_eq!(node.wait().code(), Some(0), "{}", node.log());
    }

    /// Ends a node as a crash does.
    fn kill(&mut self, name: &str) {
        let place = self.nodes.iter().position(|(other, _)| *other == name).unwrap();
        drop(self.nodes.remove(place));
    }

    fn ask(&self, address: &str, command: &str) -> Option<String> {
        let output = self.netns.command(GANNET).args(["vty", address, command]).output().unwrap();
        output.status.success().then(|| said(&output))
    }

    fn vty(&self, address: &str, command: &str) -> String {
        self.ask(address, command).unwrap_or_else(|| panic!("{command} was refused"))
    }

    /// Waits until an answer has `text`, `count` times.
    fn until(&self, address: &str, command: &str, text: &str, count: usize) -> String {
        wait_for(&format!("{count} times '{text}' in {command}"), || {
            let answer = self.vty(address, command);
            (answer.matches(text).count() == count).then_some(answer)
        })
    }

    fn device(&self) -> String {
        self.netns.run("ip", &["address", "show", "dev", "ms0"])
    }
}

fn operators_see_and_act() {
    let mut network = Network::new("operation", "");
    let mobiles = network.until(BSS, "show mobile", "pdp-active", 2);
    assert_eq!(mobiles.trim().lines().count(), 2, "{mobiles}");
    seen(&network);
    // The device has the mobile's address while its context is active.
    assert!(network.device().contains("inet 198.51.100.") && network.device().contains("UP"));
    network.vty(BSS, "mobile 1 deactivate");
    network.until(GGSN, "show pdp-context all", "NSAPI", 1);
    wait_for("the device to go down", || (!network.device().contains("inet ")).then_some(()));
    network.vty(BSS, "mobile 1 activate");
    network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 2);
    wait_for("the device to come up", || network.device().contains("inet 198.51.100.").then_some(()));
    // A secondary context: both ends show its filter.
    network.vty(BSS, "mobile 1 secondary 6 beside 5 precedence 7 protocol 17");
    for (address, command) in [(GGSN, "show pdp-context all"), (BSS, "show mobile 1")] {
        network.until(address, command, "precedence 7: ip_proto udp\n", 1);
    }
    network.vty(BSS, "mobile 1 deactivate 6");
    network.until(GGSN, "show pdp-context all", "NSAPI", 2);
    network.until(SGSN, "show pdp-context all", "NSAPI ", 2);
    // Another cell; the SGSN learns it from what the mobile sends.
    network.vty(BSS, "mobile 1 cell 1");
    network.until(SGSN, "show mm-context all", "cell: 001-01-1-0-2", 2);
    // The radio has lost it: the SGSN counts that, and finds it again when something is there for it.
    network.vty(BSS, "mobile 1 radio-status contact-lost");
    network.until(SGSN, "show drops", "sgsn_radio_status", 1);
    // A mobile that leaves and arrives again is what it was.
    let answer = network.vty(SGSN, &format!("subscriber relocate imsi {FIRST}"));
    assert!(answer.contains("octets and is back"), "{answer}");
    network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 2);
    // It gets a new P-TMSI, and is told the names of the network once there are some.
    let ptmsi = |network: &Network| {
        let line = network.vty(SGSN, &format!("show subscriber imsi {FIRST}"));
        line.split("P-TMSI: ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned()
    };
    let former = ptmsi(&network);
    network.vty(SGSN, &format!("subscriber reallocate-ptmsi imsi {FIRST}"));
    wait_for("another P-TMSI", || (ptmsi(&network) != former).then_some(()));
    assert_eq!(network.ask(SGSN, &format!("subscriber inform imsi {FIRST}")), None, "it has no name");
    // From the network's side.
    network.vty(SGSN, &format!("pdp-context deactivate imsi {FIRST} nsapi 5"));
    network.until(SGSN, &format!("show pdp-context imsi {FIRST}"), "NSAPI", 0);
    network.vty(BSS, "mobile 1 activate");
    network.until(GGSN, "show pdp-context all", "NSAPI", 2);
    network.vty(SGSN, &format!("subscriber detach imsi {FIRST}"));
    network.until(SGSN, "show subscriber all", FIRST, 0);
    network.until(GGSN, "show pdp-context all", "NSAPI", 1);
    // Everything goes down in good order, and nothing of it remains at the others.
    network.stop("bss");
    network.until(SGSN, "show subscriber all", "IMSI", 0);
    network.until(GGSN, "show pdp-context all", "NSAPI", 0);
    network.stop("sgsn");
    network.stop("ggsn");
    let devices = network.netns.run("ip", &["link"]);
    assert!(!devices.contains("apn0") && !devices.contains("ms0"), "{devices}");
}

/// Every view of every node has something to say.
fn seen(network: &Network) {
    let imsi = format!("imsi {FIRST}");
    for (address, command, texts) in [
        (SGSN, "show subscriber all", &[FIRST, "GMM-REGISTERED", "READY", "PDP contexts: 1"][..]),
        (SGSN, "show mm-context all pdp", &[FIRST, "routing area: 001-01-1-0", "PDP-ACTIVE"]),
        (SGSN, &format!("show pdp-context {imsi}"), &["NSAPI: 5", "SAPI: 3", "127.0.0.2", "APN: internet"]),
        (
            SGSN,
            "show ns stats",
            &[
                "NSVCI 00101: UNBLOCKED DYNAMIC udp)[127.0.0.1]:23000<101>[127.0.0.1]:22000 ALIVE",
                "Packets at NS Level",
            ],
        ),
        (
            SGSN,
            "show bssgp stats",
            &[
                "BVCI     0, RA-ID: 000-00-0-0",
                "BVCI     2, RA-ID: 001-01-1-0, CID: 1, STATE: UNBLOCKED",
                "leak_rate: 100000oct/s",
            ],
        ),
        (SGSN, "show ggsn", &["GGSN 0: 127.0.0.2, path up", "2 PDP contexts"]),
        (SGSN, "show stats", &["attached 2", "activated 2"]),
        (
            SGSN,
            "show counters",
            &["mobiles 2\n", "pdp_contexts 2\n", "queued_n_pdus 0\n", "read_real_time 0\n"],
        ),
        (SGSN, "show scheduler", &["0 N-PDUs of 3200 wait", "best effort"]),
        (GGSN, "show ggsn", &["APN: internet, device apn0", "2 of 253 addresses", "(S)GSN 127.0.0.1"]),
        (GGSN, "show pdp-context all", &[FIRST, "127.0.0.1", "downlink 0 N-PDUs"]),
        (GGSN, "show pdp-context ggsn ggsn0 apn internet", &[FIRST]),
        (BSS, "show mobile 1", &[FIRST, "device ms0", "gmm-registered"]),
        (BSS, "show cells", &["0 001-01-1-0-1 NSEI 101 BVCI 2 UNBLOCKED, 1 mobiles"]),
        (BSS, "show ns", &["NSVCI 00101: UNBLOCKED", "[127.0.0.1]:23000 ALIVE"]),
        (BSS, "show bssgp stats", &["BVCI     3, RA-ID: 001-01-1-0, CID: 2, STATE: UNBLOCKED"]),
        (BSS, "show stats", &["activated 2"]),
    ] {
        let answer = network.vty(address, command);
        for text in texts {
            assert!(answer.contains(text), "'{text}' is not in {command}: {answer}");
        }
    }
}

/// The GGSN sees the restart counter and drops what the old SGSN had; the mobiles attach again.
fn a_restart_of_the_sgsn_is_survived() {
    let mut network = Network::new("restart", "");
    network.until(BSS, "show mobile", "pdp-active", 2);
    network.stop("sgsn");
    network.start("sgsn");
    // The NS-VC comes back with its tests; an operator need not wait for them.
    network.vty(BSS, "ns reset");
    network.until(BSS, "show cells", "UNBLOCKED", 2);
    for mobile in 1..=2 {
        network.vty(BSS, &format!("mobile {mobile} detach"));
    }
    network.until(BSS, "show mobile", "detached", 2);
    for mobile in 1..=2 {
        network.vty(BSS, &format!("mobile {mobile} activate"));
    }
    network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 2);
    // Those of before are gone.
    network.until(GGSN, "show pdp-context all", "NSAPI", 2);
}

/// A mobile that asks for an access point that is not there is told why, and so is the operator.
fn why_names_a_reject() {
    let network = Network::new("why", " apn nowhere\n");
    let why = wait_for("a reject", || {
        let answer = network.vty(GGSN, &format!("show why imsi {FIRST}"));
        answer.contains("ggsn_refused").then_some(answer)
    });
    assert!(why.contains("29.060"), "{why}");
    let why = wait_for("the SGSN's reject", || {
        let answer = network.vty(SGSN, &format!("show why imsi {FIRST}"));
        (!answer.contains("Nothing of")).then_some(answer)
    });
    assert!(why.contains("clause"), "{why}");
    assert!(network.vty(BSS, "show mobile 1").contains("attached"));
}

/// With a store the SGSN resets the NS-VC of a BSS that nobody configured as soon as it runs again: it does not wait until
/// NS-ALIVE stays without an answer, which takes a minute.
fn a_killed_sgsn_finds_its_bss_again() {
    let directory = TempDir::new("gannet-killed");
    let state = directory.path().display();
    let sgsn = format!(
        "log stderr\n logging level set-all info\nsgsn\n gtp state-dir {state}\n store {state}/mobiles\n \
         gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n max-mobiles 100\nns\n bind udp local\n  \
         listen 127.0.0.1 23000\n  accept-ipaccess\nbssgp\nline vty\n no login\n"
    );
    let ggsn = format!(
        "ggsn ggsn0\n gtp state-dir {state}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  tun-device apn0\n  \
         type-support v4\n  ip prefix dynamic 198.51.100.0/24\n  no shutdown\n no shutdown ggsn\nline vty\n no login\n"
    );
    let bss = "bss\n remote-ip 127.0.0.1\n local-ip 127.0.0.1\n cells 2\n mobiles 2\n tun ms count 1\n radio delay 5\n\
               line vty\n no login\n";
    let mut network = Network::with("killed", directory, [ggsn, sgsn, bss.to_owned()]);
    network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 2);
    wait_for("the store", || network.vty(SGSN, "show store").contains("0 changes wait").then_some(()));
    network.kill("sgsn");
    network.start("sgsn");
    network.until(SGSN, "show ns entities", "UNBLOCKED", 1);
    network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 2);
    let (_, node) = network.nodes.iter().find(|(name, _)| *name == "sgsn").unwrap();
    assert!(node.log().contains("of before the restart are reset or tested"), "{}", node.log());
    // The BSS has not noticed anything but a reset.
    assert!(!network.vty(SGSN, "show drops").contains("ns_unknown_peer"));
}

/// With a store neither SGSN nor mobiles notice a restart of the GGSN, after a crash and after an orderly end.
fn a_killed_ggsn_goes_on() {
    let directory = TempDir::new("gannet-killed-ggsn");
    let state = directory.path().display();
    let sgsn = format!(
        "sgsn\n gtp state-dir {state}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n max-mobiles 100\nns\n \
         bind udp local\n  listen 127.0.0.1 23000\n  accept-ipaccess\nbssgp\nline vty\n no login\n"
    );
    let ggsn = format!(
        "ggsn ggsn0\n gtp state-dir {state}\n store {state}/contexts\n gtp bind-ip 127.0.0.2\n apn internet\n  \
         gtpu-mode tun\n  tun-device apn0\n  type-support v4v6\n  ip prefix dynamic 198.51.100.0/24\n  \
         ipv6 prefix dynamic 2001:db8::/56\n  no shutdown\n no shutdown ggsn\nline vty\n no login\n"
    );
    let bss = "bss\n remote-ip 127.0.0.1\n local-ip 127.0.0.1\n cells 2\n mobiles 2\n tun ms count 1\n radio delay 5\n\
               line vty\n no login\n";
    let mut network = Network::with("killed-ggsn", directory, [ggsn, sgsn, bss.to_owned()]);
    network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 2);
    // All but what goes on by itself: for how long a context has had no traffic, and counters.
    let shown = |network: &Network| -> Vec<String> {
        let text = network.vty(GGSN, "show pdp-context all");
        let lines = text.lines().filter(|line| !line.contains("traffic") && !line.contains("N-PDUs"));
        lines.map(str::to_owned).collect()
    };
    let before = shown(&network);
    assert_eq!(before.iter().filter(|line| line.contains("NSAPI")).count(), 2, "{before:#?}");
    let counter = |network: &Network| -> String {
        let text = network.vty(GGSN, "show ggsn");
        text.split("restart counter ").nth(1).and_then(|rest| rest.lines().next()).unwrap().to_owned()
    };
    let counted = counter(&network);
    for ends in [Network::kill as fn(&mut Network, &str), Network::stop] {
        wait_for("the store", || network.vty(GGSN, "show store").contains("0 changes wait").then_some(()));
        ends(&mut network, "ggsn");
        network.start("ggsn");
        assert_eq!(shown(&network), before);
        assert!(network.vty(GGSN, "show store").contains("2 mobiles restored, 0 not"));
        assert_eq!(counter(&network), counted, "no restart is told");
        network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 2);
    }
    // Signalling goes on under the same endpoints.
    network.vty(BSS, "mobile 1 deactivate");
    network.until(GGSN, "show pdp-context all", "NSAPI", 1);
    assert!(!network.vty(SGSN, "show drops").contains("sgsn_tunnel_lost"));
}

/// As they are but for the directory of the restart counters; and once more with a store, which finds everybody again although the
/// GGSN has been started in the same directory after the SGSN.
fn the_examples_run_together() {
    let directory = TempDir::new("gannet-examples");
    let place = directory.path().display().to_string();
    let read = |name: &str| {
        let path = repository().join("docs/examples").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        // Of the SGSN and the GGSN.
        assert_eq!(text.matches("gtp state-dir /var/tmp").count(), usize::from(name != "bss.cfg"));
        text.replace("/var/tmp", &place)
    };
    let with_store =
        read("sgsn.cfg").replace(" gtp state-dir", &format!(" store {place}/mobiles\n gtp state-dir"));
    let mut network = Network::with("examples", directory, [read("ggsn.cfg"), with_store, read("bss.cfg")]);
    network.until(SGSN, "show pdp-context all", "PDP-ACTIVE", 10);
    let counters = |network: &Network| {
        let of = |node: &str, address: &str| {
            let path = network.directory.path().join(format!("gsn_restart.{node}.{address}"));
            std::fs::read_to_string(path).unwrap()
        };
        (of("sgsn", "127.0.0.1"), of("ggsn", "127.0.0.2"))
    };
    assert_eq!(counters(&network), ("1\n".to_owned(), "1\n".to_owned()));
    wait_for("the store", || network.vty(SGSN, "show store").contains("0 changes wait").then_some(()));
    // The GGSN restarts, which is its own affair: the SGSN's store is not old for that.
    network.stop("sgsn");
    network.stop("ggsn");
    network.start("ggsn");
    network.start("sgsn");
    assert_eq!(counters(&network), ("1\n".to_owned(), "2\n".to_owned()));
    let store = network.vty(SGSN, "show store");
    assert!(store.contains("10 mobiles"), "{store}");
    let subscribers = network.vty(SGSN, "show subscriber all");
    assert_eq!(subscribers.matches("GMM-REGISTERED").count(), 10, "{subscribers}");
}

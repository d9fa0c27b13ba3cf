//! Osmocom's BSS (osmo-bsc, osmo-bts-virtual and osmo-pcu) against our SGSN, in both dialects of Gb.

use crate::common::{GANNET, Node, file, said, wait_for, wait_within};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};
use std::time::Duration;

const NEEDS: &[Need] = &[
    Need::NetAdmin,
    Need::Program("osmo-bsc"),
    Need::Program("osmo-bts-virtual"),
    Need::Program("osmo-pcu"),
];

/// All of them.
pub const CASES: &[Case] = &[
    ("osmo_bss_in_ip_access_style", NEEDS, || both_restart("osmo-classic", "classic")),
    ("osmo_bss_in_ip_sns", NEEDS, || both_restart("osmo-sns", "ip-sns")),
];

const SGSN: &str = "127.0.0.1:4245";

const BSC: &str = "e1_input
 e1_line 0 driver ipa
network
 network country code 001
 mobile network code 01
 encryption a5 0
 bts 0
  type nanobts
  band DCS1800
  cell_identity 6969
  location_area_code 1
  base_station_id_code 63
  ipa unit-id 6969 0
  oml ipa stream-id 255 line 0
  gprs mode gprs
  gprs routing area 0
  gprs cell bvci 2
  gprs nsei 101
  gprs ns timer tns-test 2
  gprs ns timer tns-alive 1
  gprs ns timer tns-alive-retries 2
  gprs nsvc 0 nsvci 101
  gprs nsvc 0 local udp port 22000
  gprs nsvc 0 remote udp port 23000
  gprs nsvc 0 remote ip 127.0.0.1
  trx 0
   rf_locked 0
   arfcn 871
   rsl e1 tei 0
";

/// osmo-bsc has IP-SNS where it can say so; osmo-pcu decides.
fn bsc() -> String {
    let channels = ["CCCH+SDCCH4", "SDCCH8", "TCH/F", "TCH/F", "PDCH", "PDCH", "PDCH", "PDCH"];
    let slot = |(number, channel): (usize, &&str)| {
        format!("   timeslot {number}\n    phys_chan_config {channel}\n    hopping enabled 0\n")
    };
    let timeslots: String = channels.iter().enumerate().map(slot).collect();
    format!("{BSC}{timeslots}msc 0\n allow-emergency deny\nline vty\n no login\n")
}

/// Osmocom's programs and our SGSN in one network namespace.
struct Network {
    nodes: Vec<(&'static str, Node)>,
    netns: Netns,
    directory: TempDir,
}

impl Network {
    fn new(label: &str, dialect: &str) -> Self {
        let directory = TempDir::new("gannet-osmo-bss");
        let path = directory.path().display();
        let bts = format!(
            "e1_input\n e1_line 0 driver ipa\n e1_line 0 port 0\nphy 0\n instance 0\n virtual-um net-device lo\n \
             virtual-um ttl 0\nbts 0\n band DCS1800\n ipa unit-id 6969 0\n oml remote-ip 127.0.0.1\n \
             pcu-socket {path}/pcu_bts\n trx 0\n  phy 0 instance 0\nline vty\n no login\n"
        );
        let pcu = format!(
            "pcu\n pcu-socket {path}/pcu_bts\n flow-control-interval 10\n cs 2 4\n alloc-algorithm dynamic\n \
             gb-dialect {dialect}\nline vty\n no login\n"
        );
        let sgsn = format!(
            "sgsn\n gtp state-dir {path}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\nns\n timer tns-test 2\n \
             timer tns-alive 1\n timer tns-alive-retries 2\n bind udp local\n  \
             listen 127.0.0.1 23000\n  accept-ipaccess\n  accept-dynamic-ip-sns\n ip-sns-default bind local\n\
             bssgp\nline vty\n no login\n"
        );
        for (name, text) in [("bsc.cfg", bsc()), ("bts.cfg", bts), ("pcu.cfg", pcu), ("sgsn.cfg", sgsn)] {
            file(&directory, name, &text);
        }
        let netns = Netns::new(label);
        let _ = netns.run("ip", &["link", "set", "lo", "multicast", "on"]);
        let _ = netns.run("ip", &["route", "add", "224.0.0.0/4", "dev", "lo"]);
        Self { nodes: Vec::new(), netns, directory }
    }

    fn start(&mut self, name: &'static str, program: &[&str]) {
        let config = self.directory.path().join(format!("{name}.cfg"));
        let (first, rest) = program.split_first().unwrap();
        let mut command = self.netns.command(first);
        command.args(rest).args(["-c", &config.to_string_lossy()]).current_dir(self.directory.path());
        self.nodes.push((name, Node::spawn(&self.directory, "", command, name)));
    }

    fn start_sgsn(&mut self) {
        self.start("sgsn", &[GANNET, "sgsn"]);
        wait_for("the SGSN's VTY", || self.show("show ns"));
    }

    /// The whole BSS. Whoever loses its neighbour ends, as these programs do, and is started again.
    fn start_bss(&mut self) {
        self.start("bsc", &["osmo-bsc"]);
        self.start("bts", &["osmo-bts-virtual"]);
        self.start("pcu", &["osmo-pcu"]);
    }

    fn stop(&mut self, names: &[&str]) {
        self.nodes.retain(|(name, _)| !names.contains(name));
    }

    fn show(&self, command: &str) -> Option<String> {
        let output = self.netns.command(GANNET).args(["vty", SGSN, command]).output().unwrap();
        output.status.success().then(|| said(&output))
    }

    /// NS, the BVC of the cell and its flow control are there, with what the cell itself has said.
    fn wait_for_the_cell(&self) -> String {
        // A PCU finds out within a minute or so that its SGSN is another one.
        wait_within(Duration::from_secs(180), "the cell", || {
            let ns = self.show("show ns")?;
            let bvcs = self.show("show bssgp stats")?;
            let up = |line: &str| line.contains("BVCI 00002: UNBLOCKED");
            (ns.contains("UNBLOCKED") && bvcs.lines().any(up)).then_some(ns)
        })
    }

    fn logs(&self) -> String {
        self.nodes.iter().map(|(name, node)| format!("== {name}\n{}", node.log())).collect()
    }
}

fn both_restart(label: &str, dialect: &str) {
    let mut network = Network::new(label, dialect);
    network.start_sgsn();
    network.start_bss();
    let ns = network.wait_for_the_cell();
    let ip_sns = dialect == "ip-sns";
    assert_eq!(ns.contains("IP-SNS CONFIGURED"), ip_sns, "{ns}{}", network.logs());
    assert_eq!(ns.contains("NSVCI 00101"), !ip_sns, "{ns}");
    // The PCU is switched off and on; then the SGSN is, and the PCU finds it again by its own means.
    network.stop(&["pcu", "bts", "bsc"]);
    wait_for("the test to find nobody", || (!network.show("show ns")?.contains("UNBLOCKED")).then_some(()));
    network.start_bss();
    network.wait_for_the_cell();
    network.stop(&["sgsn"]);
    network.start_sgsn();
    network.wait_for_the_cell();
}

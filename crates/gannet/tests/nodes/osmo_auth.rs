//! Mobiles with cards in networks that authenticate and cipher: osmo-sgsn and our own SGSN, told the same words, with osmo-hlr
//! and osmo-ggsn, with a ping through all of them. Of the ciphers Debian's osmo-sgsn has none, GEA3 and GEA4.

use crate::common::{GANNET, Node, file, said, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};

const NEEDS: &[Need] = &[
    Need::NetAdmin,
    Need::Program("osmo-sgsn"),
    Need::Program("osmo-hlr"),
    Need::Program("osmo-hlr-db-tool"),
    Need::Program("osmo-ggsn"),
    Need::Program("sqlite3"),
    Need::Program("ping"),
];

/// All of them.
pub const CASES: &[Case] = &[
    ("a_sim_in_a_network_of_osmocom", NEEDS, || with_sim(Sgsn::Osmo, &[0, 3])),
    ("a_usim_in_a_network_of_osmocom", NEEDS, || with_usim(Sgsn::Osmo, &[3, 4])),
    ("a_card_with_another_key_in_a_network_of_osmocom", NEEDS, || another_key(Sgsn::Osmo)),
    ("a_sim_at_our_sgsn_with_osmo_hlr", NEEDS, || with_sim(Sgsn::Ours, &[0, 1, 2, 3])),
    ("a_usim_at_our_sgsn_with_osmo_hlr", NEEDS, || with_usim(Sgsn::Ours, &[3, 4])),
    ("a_card_with_another_key_at_our_sgsn_with_osmo_hlr", NEEDS, || another_key(Sgsn::Ours)),
];

/// Which SGSN stands in the middle.
#[derive(Clone, Copy)]
enum Sgsn {
    Osmo,
    Ours,
}

fn with_sim(sgsn: Sgsn, ciphers: &[u8]) {
    let card = format!("sim comp128v1 ki {KI}");
    ciphers.iter().for_each(|gea| attach_and_ping(sgsn, &card, *gea));
}

fn with_usim(sgsn: Sgsn, ciphers: &[u8]) {
    let card = format!("usim milenage k {K} opc {OPC}");
    ciphers.iter().for_each(|gea| attach_and_ping(sgsn, &card, *gea));
}

const KI: &str = "000102030405060708090a0b0c0d0e0f";
const K: &str = "465b5ce8b199b49faa5f0a2ee238a6bc";
const OPC: &str = "cd63cb71954a9f4e48a5994e37a02baf";
/// What an operator sees of our SGSN.
const SHOWN: &[&str] = &[
    "show running-config",
    "show startup-config",
    "show subscriber cache",
    "show mm-context all pdp",
    "show pdp-context all",
    "show llc",
    "show sndcp",
    "show sgsn",
    "show ggsn",
    "show ns stats",
    "show bssgp stats",
    "show counters",
    "show stats level subscriber",
    "show rate-counters",
    "show timer",
];
const SGSN_VTY: &str = "127.0.0.1:4245";
const BSS_VTY: &str = "127.0.0.1:4290";
/// The host that is pinged: the GGSN's end of its device.
const HOST: &str = "198.51.100.1";

/// The database of the HLR with one subscriber.
fn database(directory: &TempDir, netns: &Netns, usim: bool) {
    let path = directory.path().join("hlr.db").to_string_lossy().into_owned();
    let _ = netns.run("osmo-hlr-db-tool", &["-l", &path, "create"]);
    let keys = if usim {
        format!("insert into auc_3g(subscriber_id,algo_id_3g,k,opc) values(1,5,'{K}','{OPC}');")
    } else {
        format!("insert into auc_2g(subscriber_id,algo_id_2g,ki) values(1,1,'{KI}');")
    };
    let subscriber = "insert into subscriber(id,imsi,msisdn) values(1,'001010000000001','1001');";
    let _ = netns.run("sqlite3", &[&path, &format!("{subscriber}{keys}")]);
}

/// One mobile with its BSS, and the network, each in a namespace.
struct Network {
    bss: Node,
    others: Vec<(&'static str, Node)>,
    radio: Netns,
    core: Netns,
    _directory: TempDir,
}

impl Network {
    fn new(which: Sgsn, card: &str, gea: u8) -> Self {
        let directory = TempDir::new("gannet-osmo-auth");
        let (radio, core) = (Netns::new("auth-radio"), Netns::new("auth-core"));
        radio.join(("gb0", "192.0.2.1/30"), &core, ("gb1", "192.0.2.2/30"));
        let path = directory.path().display().to_string();
        database(&directory, &core, card.starts_with("usim"));
        let end = |address: &str| format!("line vty\n no login\n bind {address}\nctrl\n bind {address}\n");
        let hlr = format!("hlr\n database {path}/hlr.db\n gsup\n  bind ip 127.0.0.3\n{}", end("127.0.0.3"));
        let ggsn = format!(
            "ggsn ggsn0\n gtp state-dir {path}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  \
             tun-device apn0\n  type-support v4\n  ip prefix dynamic 198.51.100.0/24\n  \
             ip ifconfig {HOST}/24\n  no shutdown\n default-apn internet\n no shutdown ggsn\n{}",
            end("127.0.0.2")
        );
        let sgsn = format!(
            "sgsn\n gtp state-dir {path}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n \
             ggsn 0 gtp-version 1\n auth-policy remote\n authentication required\n gsup remote-ip 127.0.0.3\n \
             gsup remote-port 4222\n encryption gea {gea}\nns\n bind udp local\n  listen 192.0.2.2 23000\n  \
             accept-ipaccess\nbssgp\n{}",
            end("127.0.0.1")
        );
        let bss = format!(
            "bss\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n {card}\n apn internet\n tun ms count 1\n{}",
            end("127.0.0.1")
        );
        let mut others = Vec::new();
        let (program, role): (_, &[&str]) = match which {
            Sgsn::Osmo => ("osmo-sgsn", &[]),
            Sgsn::Ours => (GANNET, &["sgsn"]),
        };
        let all: [(_, _, &[&str], _); 3] =
            [("hlr", "osmo-hlr", &[], hlr), ("ggsn", "osmo-ggsn", &[], ggsn), ("sgsn", program, role, sgsn)];
        for (name, program, role, text) in all {
            let config = file(&directory, &format!("{name}.cfg"), &text);
            let mut command = core.command(program);
            command.args(role).args(["-c", &config]).current_dir(directory.path());
            others.push((name, Node::spawn(&directory, "", command, name)));
        }
        let config = file(&directory, "bss.cfg", &bss);
        let mut command = radio.command(GANNET);
        command.args(["bss", "-c", &config]);
        let bss = Node::spawn(&directory, BSS_VTY, command, "bss");
        let network = Self { bss, others, radio, core, _directory: directory };
        wait_for("the VTY of the BSS", || network.show("show cells"));
        network
    }

    fn show(&self, command: &str) -> Option<String> {
        let output = self.radio.command(GANNET).args(["vty", BSS_VTY, command]).output().unwrap();
        output.status.success().then(|| said(&output))
    }

    /// What our SGSN answers.
    fn sgsn(&self, command: &str) -> String {
        let output = self.core.command(GANNET).args(["vty", SGSN_VTY, command]).output().unwrap();
        assert!(output.status.success(), "{command}: {}", said(&output));
        said(&output)
    }

    /// Nothing that our SGSN shows or has written has a key in it.
    fn assert_no_keys(&self) {
        let shown = SHOWN.iter().map(|command| (*command, self.sgsn(command)));
        let written = self.others.iter().filter(|(name, _)| *name == "sgsn");
        let logs = written.map(|(name, node)| (*name, node.log()));
        for (what, text) in shown.chain(logs) {
            let text = text.to_lowercase().replace([' ', ':', ','], "");
            assert!([KI, K, OPC].iter().all(|key| !text.contains(key)), "{what}: {text}");
        }
    }

    fn ping(&self) {
        let printed = self.radio.run("ping", &["-c", "5", "-i", "0.2", "-W", "5", "-I", "ms0", HOST]);
        assert!(printed.contains(" 0% packet loss"), "{printed}{}", self.logs());
    }

    /// Waits until the mobile shows this, or says what everybody has written.
    fn wait_for_mobile(&self, state: &str) -> String {
        let mut polls = 0..600;
        loop {
            let shown = self.show("show mobile 1").unwrap_or_default();
            if shown.contains(state) {
                return shown;
            }
            assert!(polls.next().is_some(), "{shown}{}", self.logs());
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
    }

    fn logs(&self) -> String {
        let others: String =
            self.others.iter().map(|(name, node)| format!("== {name}\n{}", node.log())).collect();
        format!("== bss\n{}{others}", self.bss.log())
    }
}

fn attach_and_ping(sgsn: Sgsn, card: &str, gea: u8) {
    let network = Network::new(sgsn, card, gea);
    let shown = network.wait_for_mobile("pdp-active");
    assert!(shown.contains(&format!("GEA{gea}")), "{shown}{}", network.logs());
    network.ping();
    let drops = network.show("show drops").unwrap();
    assert!(!drops.contains("ciphered") && !drops.contains("ms_no_cipher"), "{drops}");
    for key in [KI, K, OPC] {
        let log = network.bss.log();
        assert!(!log.contains(key) && !shown.contains(key), "{log}");
    }
    if matches!(sgsn, Sgsn::Ours) {
        network.assert_no_keys();
        // By order it proves anew who it is, and goes on with another key. What is under way at that moment was ciphered with
        // the former one.
        assert_eq!(network.sgsn("update-subscriber imsi 001010000000001 update-auth-info").trim(), "");
        wait_for("an answer with the new key", || {
            let ping = ["-c", "1", "-W", "5", "-I", "ms0", HOST];
            network.radio.command("ping").args(ping).output().unwrap().status.success().then_some(())
        });
        network.ping();
        network.assert_no_keys();
        let counters = network.sgsn("show drops");
        assert!(!counters.contains("gmm_authentication_failed"), "{counters}");
    }
}

fn another_key(sgsn: Sgsn) {
    let other = KI.replace("0f", "1f");
    let network = Network::new(sgsn, &format!("sim comp128v1 ki {other}"), 3);
    let _ = network.wait_for_mobile("no-imsi");
    assert!(network.show("show drops").unwrap().contains("gmm_authentication_failed"), "{}", network.logs());
}

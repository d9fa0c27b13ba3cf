//! Files between TUN devices with the kernel's TCP, down and up, in acknowledged mode and without, ciphered, compressed, and
//! over a radio that loses: what arrives is what was sent.

use crate::common::{GANNET, Node, file, said, wait_within, within};
use gannet_lab::hlr::Hlr;
use gannet_lab::hlr::server::Server;
use gannet_machine::rng::Rng;
use gannet_proto::auth::cards::{Cards, Variant};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

const NEEDS: &[Need] = &[Need::NetAdmin];

/// Of the 80 combinations of mode, algorithm, compression and loss, which all run in virtual time, six: each algorithm, each
/// compression and each mode is in one of them at least.
pub const CASES: &[Case] = &[
    ("a_file_in_acknowledged_mode_over_a_radio_that_loses", NEEDS, || {
        transfer(&Combination { class: 2, gea: 0, compression: &[], loss: 5 });
    }),
    ("a_file_in_acknowledged_mode_with_gea3_and_v42bis", NEEDS, || {
        transfer(&Combination { class: 2, gea: 3, compression: &[V42BIS], loss: 0 });
    }),
    ("a_file_in_acknowledged_mode_with_gea1_and_rfc1144_over_a_radio_that_loses", NEEDS, || {
        transfer(&Combination { class: 1, gea: 1, compression: &[RFC1144], loss: 5 });
    }),
    ("a_file_in_acknowledged_mode_with_gea4_and_all_compression_over_a_radio_that_loses", NEEDS, || {
        transfer(&Combination { class: 2, gea: 4, compression: &[RFC1144, V42BIS], loss: 5 });
    }),
    ("a_file_in_unacknowledged_mode_with_gea2_and_all_compression", NEEDS, || {
        transfer(&Combination { class: 3, gea: 2, compression: &[RFC1144, V42BIS], loss: 0 });
    }),
    ("a_file_in_unacknowledged_mode_in_the_clear", NEEDS, || {
        transfer(&Combination { class: 3, gea: 0, compression: &[], loss: 0 });
    }),
];

const OCTETS: usize = 200_000;
const BSS_VTY: &str = "127.0.0.1:4290";
/// The GGSN's end of its device.
pub const HOST: &str = "198.51.100.1";
/// Nothing takes longer without a word.
const PATIENCE: Duration = Duration::from_secs(120);
/// What the radio loses is repeated by T3310, T3360 and T3350, or by T3380 after 30 s, and may be lost again.
const ACTIVATION_PATIENCE: Duration = Duration::from_secs(300);
/// Ki or K of the first mobile, who is user 1 of the laboratory's HLR, and that of user 0.
pub const KI: &str = "47616e6e65742773206c6f6164000001";
const KI_OF_USER_0: &str = "47616e6e65742773206c6f6164000000";
/// OPc of all mobiles that have a USIM.
const OPC: &str = "63bfa50ee6523365ff14c1f45f88737d";

/// What the mobile proposes; the SGSN takes it.
const RFC1144: (&str, &str) = ("rfc1144", "slots 16");
const V42BIS: (&str, &str) = ("v42bis", "direction both codewords 2048 strlen 20");

pub struct Combination {
    pub class: u8,
    pub gea: u8,
    pub compression: &'static [(&'static str, &'static str)],
    pub loss: u8,
}

/// Half text, half what cannot be compressed.
fn content() -> Vec<u8> {
    let mut octets: Vec<u8> = b"what is sent over a radio and lost is sent again, ".repeat(OCTETS / 100);
    let mut dice = Rng::seeded(5);
    octets.extend((0..OCTETS - octets.len()).map(|_| dice.u64().to_be_bytes()[0]));
    octets
}

fn ends(address: &str) -> String {
    format!("line vty\n no login\n bind {address}\nctrl\n bind {address}\n")
}

impl Combination {
    fn lines(&self, how: impl Fn(&(&str, &str)) -> String) -> String {
        self.compression.iter().map(how).collect()
    }

    /// GEA4's key is one of 128 bits, which only a USIM gives (33.102 annex B.5).
    const fn has_usim(&self) -> bool {
        self.gea == 4
    }

    fn card(&self) -> String {
        if self.has_usim() {
            format!("usim milenage k {KI} opc {OPC}")
        } else {
            format!("sim comp128v1 ki {KI}")
        }
    }

    fn hlr(&self) -> Hlr {
        let usims =
            Cards::Usim { k: KI_OF_USER_0.parse().unwrap(), variant: Variant::Opc(OPC.parse().unwrap()) };
        if self.has_usim() { Hlr::with_cards(10, 1, usims) } else { Hlr::new(10, 1) }
    }

    fn configs(&self, state: &str) -> [(&'static str, String); 3] {
        let ggsn = format!(
            "ggsn ggsn0\n gtp state-dir {state}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  \
             tun-device apn0\n  type-support v4\n  ip prefix dynamic 198.51.100.0/24\n  \
             ip ifconfig {HOST}/24\n  no shutdown\n default-apn internet\n no shutdown ggsn\n{}",
            ends("127.0.0.2")
        );
        let passive = self.lines(|(name, _)| format!(" compression {name} passive\n"));
        let sgsn = format!(
            "sgsn\n gtp state-dir {state}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n \
             ggsn 0 gtp-version 1\n auth-policy remote\n authentication required\n gsup remote-ip 127.0.0.4\n \
             gsup remote-port 4222\n encryption gea {}\n{passive}ns\n bind udp local\n  listen 192.0.2.2 23000\n  \
             accept-ipaccess\nbssgp\n{}",
            self.gea,
            ends("127.0.0.3")
        );
        let active = self.lines(|(name, how)| format!(" compression {name} active {how}\n"));
        let Self { class, loss, .. } = self;
        let bss = format!(
            "bss\n remote-ip 192.0.2.2\n local-ip 192.0.2.1\n apn internet\n tun ms count 1\n {}\n \
             radio delay 10\n radio loss {loss}\n \
             qos precedence 0 delay 0 reliability {class} peak 0 mean 0\n{active}{}",
            self.card(),
            ends("127.0.0.1")
        );
        [("ggsn", ggsn), ("sgsn", sgsn), ("bss", bss)]
    }
}

/// The other end: what it gets is what it has, and it sends it too.
fn serve(listener: &TcpListener) {
    let (mut stream, _) = listener.accept().unwrap();
    exchange(&mut stream, true);
}

/// A file one way and the same file back.
fn exchange(stream: &mut TcpStream, first: bool) {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    for turn in [first, !first] {
        if turn {
            stream.write_all(&content()).unwrap();
        } else {
            let mut octets = vec![0; OCTETS];
            stream.read_exact(&mut octets).unwrap();
            assert!(octets == content(), "the file is another one");
        }
    }
}

/// GGSN, HLR, SGSN and BSS with one mobile that has a context.
pub struct Chain {
    pub radio: Netns,
    core: Netns,
    pub nodes: Vec<(&'static str, Node)>,
    _hlr: Server,
}

impl Chain {
    /// With `more` flags for the SGSN.
    pub fn start(directory: &TempDir, combination: &Combination, more: &[&str]) -> Self {
        let (radio, core) = (Netns::new("transfers-radio"), Netns::new("transfers-core"));
        radio.join(("gb0", "192.0.2.1/30"), &core, ("gb1", "192.0.2.2/30"));
        let hlr = combination.hlr();
        let hlr = within(&core, || Server::start("127.0.0.4:4222".parse().unwrap(), hlr).unwrap());
        let mut chain = Self { radio, core, nodes: Vec::new(), _hlr: hlr.join().unwrap() };
        for (name, text) in combination.configs(&directory.path().display().to_string()) {
            let config = file(directory, &format!("{name}.cfg"), &text);
            let netns = if name == "bss" { &chain.radio } else { &chain.core };
            let mut command = netns.command(GANNET);
            command.args([name, "-c", &config]).current_dir(directory.path());
            if name == "sgsn" {
                command.args(more);
            }
            chain.nodes.push((name, Node::spawn(directory, "", command, name)));
        }
        let is_active = || chain.vty("show mobile 1").filter(|text| text.contains("pdp-active"));
        wait_within(ACTIVATION_PATIENCE, "the context", is_active);
        chain
    }

    /// What the BSS answers.
    pub fn vty(&self, command: &str) -> Option<String> {
        let output = self.radio.command(GANNET).args(["vty", BSS_VTY, command]).output().unwrap();
        output.status.success().then(|| said(&output))
    }
}

fn transfer(combination: &Combination) {
    let directory = TempDir::new("gannet-transfers");
    let chain = Chain::start(&directory, combination, &[]);
    let vty = |command: &str| chain.vty(command);
    let Chain { radio, core, nodes, .. } = &chain;
    radio.ip(&["route", "replace", &format!("{HOST}/32"), "dev", "ms0"]);
    let listener = within(core, || TcpListener::bind((HOST, 4711)).unwrap()).join().unwrap();
    let server = within(core, move || serve(&listener));
    let client = within(radio, || exchange(&mut TcpStream::connect((HOST, 4711)).unwrap(), false));
    let logs =
        || -> String { nodes.iter().map(|(name, node)| format!("== {name}\n{}", node.log())).collect() };
    let (client, server) = (client.join(), server.join());
    let shown = vty("show mobile 1").unwrap_or_default();
    assert!(client.is_ok() && server.is_ok(), "{shown}{}{}", vty("show drops").unwrap_or_default(), logs());
    assert_eq!(shown.contains(", acknowledged"), combination.class < 3, "{shown}");
    assert!(shown.contains(&format!("GEA{}", combination.gea)), "{shown}");
    for (name, how) in combination.compression {
        assert!(shown.contains(&format!("{name} {how}")), "{shown}{}", logs());
    }
    let drops = vty("show drops").unwrap_or_default();
    assert_eq!(drops.contains("bss_radio_loss"), combination.loss > 0, "{drops}");
}

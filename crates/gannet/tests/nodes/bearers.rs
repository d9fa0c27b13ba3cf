//! `gannet ms` behind `gannet ap`: the demo, in which it changes its bearer during a download, and Osmocom's programs as the
//! network.

use crate::common::{GANNET, Node, adaptation_captures, file, left_behind, repository, said, wait_for};
use crate::end_to_end::{OSMO_BOTH, TOOLS};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir, find_program, tshark};
use std::path::Path;
use std::process::{Command, Stdio};

const OSMO_ALL: &[Need] = &[
    Need::NetAdmin,
    Need::Tshark,
    Need::Program("ping"),
    Need::Program("sqlite3"),
    Need::Program("osmo-ggsn"),
    Need::Program("osmo-sgsn"),
    Need::Program("osmo-hlr"),
    Need::Program("osmo-hlr-db-tool"),
];

/// All of them.
pub const CASES: &[Case] = &[
    ("a_mobile_station_changes_its_bearer_during_a_download", TOOLS, demo_with_gannet),
    ("a_mobile_station_changes_its_bearer_before_osmo_sgsn", OSMO_BOTH, demo_with_osmocom),
    ("a_mobile_station_proves_to_osmo_hlr_who_it_is", OSMO_ALL, behind_osmocom),
];

/// Runs the demo and returns its table.
fn demo(arguments: &[&str]) -> String {
    let directory = TempDir::new("gannet-demo-ms");
    let out = directory.path().to_string_lossy().into_owned();
    let mut command = Command::new(GANNET);
    command.args(["demo-ms", "--octets", "3000000", "--out", &out]).args(arguments);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(left_behind(pid, directory.path()), Vec::<String>::new());
    for row in [
        " 3000000 octets in ",
        "to UDP by order ",
        "to Ethernet by order ",
        "to UDP, cable pulled ",
        "address afterwards       the same",
        "(as sent)",
        "10 of 10 answered",
    ] {
        assert!(said.contains(row), "{row}: {said}");
    }
    nothing_malformed(directory.path());
    let [ethernet, udp] = adaptation_captures(directory.path());
    assert!(ethernet > 500 && udp > 500, "{ethernet} PDUs by Ethernet, {udp} by UDP");
    said
}

/// Wireshark reads everything on Gb, and on the bearer over UDP by the dissector of the adaptation protocol.
fn nothing_malformed(directory: &Path) {
    let capture = directory.join("ap.pcapng").to_string_lossy().into_owned();
    let script = format!("lua_script:{}", repository().join("docs/gannet-adaptation.lua").display());
    let options = [
        "-X",
        &script,
        "-d",
        "udp.port==34997,gannet_adaptation",
        "-d",
        "udp.port==23000,gprs-ns",
        // What users send is not looked at: by chance its octets may resemble some protocol.
        "--disable-protocol",
        "tcp",
    ];
    let of = |filter| {
        let fields = ["frame.number", "frame.protocols"];
        tshark::dissect_file(&capture, &[&options[..], &["-Y", filter]].concat(), &fields)
    };
    assert_eq!(of("_ws.malformed"), tshark::Rows::new());
    assert!(of("bssgp.pdu_type == 0").len() > 500, "N-PDUs come to the access point");
    assert!(of("gannet_adaptation").len() > 500, "and go over UDP");
}

fn demo_with_gannet() {
    let said = demo(&["--ggsn", "gannet"]);
    assert!(said.contains("gannet, gannet"), "{said}");
    // LLC has repeated what a link has lost, and nothing has overtaken anything.
    assert!(said.contains(", 0 came behind a gap"), "{said}");
}

fn demo_with_osmocom() {
    let said = demo(&["--sgsn", "osmo-sgsn", "--ggsn", "osmo-ggsn"]);
    assert!(said.contains("osmo-sgsn, osmo-ggsn"), "{said}");
}

/// The subscriber and the key of its SIM.
const IMSI: &str = "001010000000001";
const KI: &str = "000102030405060708090a0b0c0d0e0f";

fn hlr(directory: &TempDir, core: &Netns) -> Node {
    let database = directory.path().join("hlr.db").to_string_lossy().into_owned();
    let _ = core.run("osmo-hlr-db-tool", &["-l", &database, "create"]);
    let subscriber = format!(
        "insert into subscriber(id,imsi,msisdn) values(1,'{IMSI}','1001');
         insert into auc_2g(subscriber_id,algo_id_2g,ki) values(1,1,'{KI}');"
    );
    let _ = core.run("sqlite3", &[&database, &subscriber]);
    let text = format!(
        "hlr\n database {database}\n gsup\n  bind ip 127.0.0.3\nline vty\n no login\n bind 127.0.0.3\n\
         ctrl\n bind 127.0.0.3\n"
    );
    osmocom(directory, core, "hlr", &text)
}

fn osmocom(directory: &TempDir, core: &Netns, role: &str, text: &str) -> Node {
    let config = file(directory, &format!("{role}.cfg"), text);
    let program = find_program(&format!("osmo-{role}")).unwrap();
    let mut command = core.command(&program.to_string_lossy());
    command.args(["-c", &config]).current_dir(directory.path());
    Node::spawn(directory, "", command, role)
}

fn own(directory: &TempDir, netns: &Netns, role: &str, text: &str) -> Node {
    let config = file(directory, &format!("{role}.cfg"), text);
    let mut command = netns.command(GANNET);
    let capture = directory.path().join(format!("{role}.pcapng")).to_string_lossy().into_owned();
    command.args([role, "-c", &config, "--pcap", &capture]).current_dir(directory.path());
    Node::spawn(directory, "", command, role)
}

/// osmo-hlr challenges the SIM through osmo-sgsn and the access point; then the device comes and packets go through.
fn behind_osmocom() {
    let directory = TempDir::new("gannet-ms-osmo");
    let (core, phone) = (Netns::new("ms-osmo-core"), Netns::new("ms-osmo-phone"));
    phone.ip(&["link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", core.name()]);
    [&phone, &core].iter().for_each(|netns| netns.ip(&["link", "set", "eth0", "up"]));
    let _hlr = hlr(&directory, &core);
    let path = directory.path().display().to_string();
    let end = |address: &str| format!("line vty\n no login\n bind {address}\n");
    let ggsn = format!(
        "ggsn ggsn0\n gtp state-dir {path}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  tun-device apn0\n  \
         type-support v4\n  ip prefix dynamic 198.51.100.0/24\n  ip ifconfig 198.51.100.1/24\n  ip dns 0 192.0.2.53\n  \
         no shutdown\n default-apn internet\n no shutdown ggsn\n{}",
        end("127.0.0.2")
    );
    let _ggsn = osmocom(&directory, &core, "ggsn", &ggsn);
    let sgsn = format!(
        "sgsn\n gtp state-dir {path}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n ggsn 0 gtp-version 1\n \
         auth-policy remote\n authentication required\n encryption gea 0\n gsup remote-ip 127.0.0.3\n gsup remote-port 4222\n\
         ns\n bind udp local\n  listen 127.0.0.1 23000\n  accept-ipaccess\nbssgp\n{}",
        end("127.0.0.1")
    );
    let _sgsn = osmocom(&directory, &core, "sgsn", &sgsn);
    wait_for("the link to the HLR", || {
        let mut command = core.command(GANNET);
        let output = command.args(["vty", "127.0.0.3:4258", "show gsup-connections"]).output().unwrap();
        said(&output).contains(" from 127.0.0.").then_some(())
    });
    let ap = format!(
        "ap\n remote-ip 127.0.0.1\n local-ip 127.0.0.5\n cells 1\n bearer ethernet eth0\n{}",
        end("127.0.0.5")
    );
    let access_point = own(&directory, &core, "ap", &ap);
    let socket = directory.path().join("ms.sock").display().to_string();
    let ms = format!(
        "ms\n ctl socket {socket}\n imsi-base {IMSI}\n sim comp128v1 ki {KI}\n bearer ethernet eth0\n cell 001 01 1 0 1\n \
         apn internet\n context gprs\n  route default\n{}",
        end("127.0.0.1")
    );
    let mut ms = own(&directory, &phone, "ms", &ms);
    let ctl = |words: &[&str]| crate::common::gannet(&[&["ms", "ctl", "--socket", &socket], words].concat());
    let mut refused = 0;
    let address = wait_for("the device", || {
        // osmo-sgsn accepts the attach before osmo-hlr has told it of the subscription. Each refusal has one more order.
        let count = ms.log().matches("cause 33").count();
        if count > refused {
            refused = count;
            let _ = ctl(&["activate"]);
        }
        let devices: serde_json::Value = serde_json::from_slice(&ctl(&["--json", "devices"]).stdout).ok()?;
        devices[0]["ipv4"].as_str().map(str::to_owned)
    });
    assert!(address.starts_with("198.51.100."), "{address}");
    let ping = phone.run("ping", &["-n", "-c", "3", "-i", "0.2", "-W", "20", "-s", "1300", "198.51.100.1"]);
    assert!(ping.contains(" 0% packet loss"), "{ping}");
    assert!(!ms.log().contains(KI), "keys are not logged");
    ms.signal("TERM");
    assert!(ms.wait().success(), "{}", ms.log());
    drop(access_point);
    let [ethernet, _] = adaptation_captures(directory.path());
    assert!(ethernet > 0, "the mobile is behind the access point");
    let capture = directory.path().join("ap.pcapng").display().to_string();
    let on_gb = ["-d", "udp.port==23000,gprs-ns", "-Y", "gsm_a.dtap.msg_gmm_type == 0x13"];
    let answers = tshark::dissect_file(&capture, &on_gb, &["frame.number"]);
    assert!(!answers.is_empty(), "authentication and ciphering responses");
}

//! Mobiles on a virtual Um: RLC/MAC between processes, alone and beside Ethernet.

use crate::common::{GANNET, Node, file, gannet, repository, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir, tshark};
use std::collections::BTreeSet;

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Tshark, Need::Program("curl")];

/// All of them.
pub const CASES: &[Case] = &[
    ("a_download_goes_on_between_ethernet_and_the_radio", NEEDS, ethernet_and_radio),
    ("a_mobile_attaches_pings_and_downloads_by_osmo_bts_virtual_and_osmo_pcu", OSMOCOM, by_osmocom),
];

const OSMOCOM: &[Need] = &[
    Need::NetAdmin,
    Need::Tshark,
    Need::Program("curl"),
    Need::Program("ping"),
    Need::Program("osmo-bsc"),
    Need::Program("osmo-bts-virtual"),
    Need::Program("osmo-pcu"),
];

const HOST: &str = "198.51.100.1";

/// Starts a node in a namespace.
fn own(directory: &TempDir, netns: &Netns, role: &str, text: &str) -> Node {
    let config = file(directory, &format!("{role}.cfg"), text);
    let mut command = netns.command(GANNET);
    let capture = directory.path().join(format!("{role}.pcapng")).to_string_lossy().into_owned();
    command.args([role, "-c", &config, "--pcap", &capture]).current_dir(directory.path());
    Node::spawn(directory, "", command, role)
}

fn end(address: &str) -> String {
    format!("line vty\n no login\n bind {address}\n")
}

/// A GGSN and an SGSN of ours.
fn network(directory: &TempDir, core: &Netns) -> [Node; 2] {
    let path = directory.path().display();
    let ggsn = format!(
        "ggsn ggsn0\n gtp state-dir {path}\n gtp bind-ip 127.0.0.2\n apn internet\n  gtpu-mode tun\n  tun-device apn0\n  \
         type-support v4\n  ip prefix dynamic 198.51.100.0/24\n  ip ifconfig {HOST}/24\n  no shutdown\n \
         default-apn internet\n no shutdown ggsn\n{}",
        end("127.0.0.2")
    );
    let sgsn = format!(
        "sgsn\n gtp state-dir {path}\n gtp local-ip 127.0.0.1\n ggsn 0 remote-ip 127.0.0.2\n ggsn 0 gtp-version 1\n \
         auth-policy accept-all\nns\n bind udp local\n  listen 127.0.0.1 23000\n  accept-ipaccess\nbssgp\n{}",
        end("127.0.0.1")
    );
    [own(directory, core, "ggsn", &ggsn), own(directory, core, "sgsn", &sgsn)]
}

/// The SGSN and the cells in one namespace, the mobile in another; multicast and the access point's frames share the link.
fn ethernet_and_radio() {
    let directory = TempDir::new("gannet-virtual-um");
    let (core, phone) = (Netns::new("um-core"), Netns::new("um-phone"));
    phone.ip(&["link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", core.name()]);
    for (netns, address) in [(&core, "192.0.2.1/24"), (&phone, "192.0.2.2/24")] {
        netns.ip(&["address", "add", address, "dev", "eth0"]);
        netns.ip(&["link", "set", "eth0", "up"]);
        netns.ip(&["route", "add", "224.0.0.0/4", "dev", "eth0"]);
    }
    let _network = network(&directory, &core);
    let bss = format!(
        "bss\n remote-ip 127.0.0.1\n local-ip 127.0.0.4\n rac 1\n ci-base 90\n radio rlcmac slots 4 cs 4\n \
         radio um virtual arfcn 871\n{}",
        end("127.0.0.4")
    );
    let mut bss = own(&directory, &core, "bss", &bss);
    let ap = format!(
        "ap\n remote-ip 127.0.0.1\n local-ip 127.0.0.5\n nsei-base 201\n nsvci-base 201\n cells 1\n bearer ethernet eth0\n{}",
        end("127.0.0.5")
    );
    let _ap = own(&directory, &core, "ap", &ap);
    let socket = directory.path().join("ms.sock").display().to_string();
    let ms = format!(
        "ms\n ctl socket {socket}\n bearer radio um\n bearer ethernet eth0\n apn internet\n context gprs\n  mode acknowledged\n  route default\nlog stderr\n logging level mm info\n{}",
        end("127.0.0.1")
    );
    let mut ms = own(&directory, &phone, "ms", &ms);
    let ctl = |words: &[&str]| gannet(&[&["ms", "ctl", "--socket", &socket], words].concat());
    let json = |word: &str| -> Option<serde_json::Value> {
        serde_json::from_slice(&ctl(&["--json", word]).stdout).ok()
    };
    let address = || json("devices")?[0]["ipv4"].as_str().map(str::to_owned);
    let first = wait_for("the device", address);
    // Whichever of the two was there first: the radio comes first, and says how well it is received.
    wait_for("the radio", || json("status")?[0]["level_dbm"].as_i64().filter(|level| *level == -50));
    let mut serve = core.command(GANNET);
    serve.args(["lab", "serve", "--bind", &format!("{HOST}:8000"), "--octets", "150000"]);
    let _host = Node::spawn(&directory, "", serve, "serve");
    let url = format!("http://{HOST}:8000/");
    let (sent, came) = (directory.path().join("sent"), directory.path().join("came"));
    let fetch = |netns: &Netns, into: &std::path::Path| {
        let mut command = netns.command("curl");
        command.args(["-sS", "--limit-rate", "15k", "-o"]).arg(into).arg(&url);
        command
    };
    wait_for("the host", || fetch(&core, &sent).status().unwrap().success().then_some(()));
    // Each change is to another routing area, in the middle of the download.
    let mut download = fetch(&phone, &came).spawn().unwrap();
    for (octets, order, place) in [
        (10_000, &["prefer", "ethernet", "eth0"][..], "001-01-1-0"),
        (40_000, &["prefer", "radio", "um"], "001-01-1-1"),
        (60_000, &["prefer", "ethernet", "eth0"], "001-01-1-0"),
        (90_000, &["prefer", "radio", "um"], "001-01-1-1"),
        (100_000, &["prefer", "ethernet", "eth0"], "001-01-1-0"),
    ] {
        let has_come = || std::fs::metadata(&came).is_ok_and(|file| file.len() >= octets).then_some(());
        wait_for(&format!("{octets} octets"), has_come);
        assert!(ctl(order).status.success(), "{order:?}");
        wait_for("the change", || {
            let log = ms.log();
            let last = log.lines().rev().find(|line| line.contains("routing area updated: "));
            last.is_some_and(|line| line.ends_with(place)).then_some(())
        });
    }
    assert!(download.wait().unwrap().success(), "{}", ms.log());
    assert!(
        std::fs::read(&sent).unwrap() == std::fs::read(&came).unwrap(),
        "other octets came than were sent"
    );
    assert_eq!(address(), Some(first), "the same context");
    assert!(!ctl(&["prefer", "radio", "um", "239.0.0.1", "239.0.0.2"]).status.success(), "no such bearer");
    for node in [&mut ms, &mut bss] {
        node.signal("TERM");
        assert!(node.wait().success(), "{}", node.log());
    }
    for (node, filter) in [("ms", "gsmtap.uplink == 0"), ("bss", "gsmtap.uplink == 1")] {
        let capture = directory.path().join(format!("{node}.pcapng")).display().to_string();
        let of = |filter: &str| tshark::dissect_file(&capture, &["-Y", filter], &["frame.number"]);
        assert_eq!(of("gsmtap && _ws.malformed"), tshark::Rows::new());
        assert!(of(&format!("{filter} && gsm_rlcmac")).len() > 100, "RLC/MAC in {capture}");
    }
}

/// Osmocom's BSS, SGSN and GGSN in one namespace with the mobile, whose device is in another; the files of the manual.
fn by_osmocom() {
    let directory = TempDir::new("gannet-osmo-um");
    let (core, phone) = (Netns::new("osmo-um-core"), Netns::new("osmo-um-phone"));
    core.ip(&["link", "set", "lo", "multicast", "on"]);
    core.ip(&["route", "add", "224.0.0.0/4", "dev", "lo"]);
    let example = |name: &str| {
        let path = repository().join(format!("docs/examples/{name}.cfg"));
        std::fs::read_to_string(path).unwrap()
    };
    let _network = network(&directory, &core);
    let socket = directory.path().join("ms.sock").display().to_string();
    let text = example("ms-um")
        .replace("\nms\n", &format!("\nms\n ctl socket {socket}\n"))
        .replace("netns phone", &format!("netns {}", phone.name()));
    let mut ms = own(&directory, &core, "ms", &text);
    // The mobile listens before there is a cell: each burst of it is one that the cell must take for what it is.
    let bss = ["osmo-bsc", "osmo-bts-virtual", "osmo-pcu"].map(|program| {
        let config = file(&directory, &format!("{program}.cfg"), &example(program));
        let mut command = core.command(program);
        command.args(["-c", &config]).current_dir(directory.path());
        Node::spawn(&directory, "", command, program)
    });
    let devices = || {
        let output = gannet(&["ms", "ctl", "--socket", &socket, "--json", "devices"]);
        serde_json::from_slice::<serde_json::Value>(&output.stdout).ok()
    };
    wait_for("the device", || devices()?[0]["ipv4"].as_str().map(drop));
    let printed = phone.run("ping", &["-n", "-c", "3", "-i", "2", "-W", "30", HOST]);
    assert!(printed.contains("3 received"), "{printed}");
    let mut serve = core.command(GANNET);
    serve.args(["lab", "serve", "--bind", &format!("{HOST}:8000"), "--octets", "20000"]);
    let _host = Node::spawn(&directory, "", serve, "serve");
    let url = format!("http://{HOST}:8000/");
    let fetch = |netns: &Netns, name: &str| {
        let into = directory.path().join(name);
        let status = netns.command("curl").args(["-sS", "-o"]).arg(&into).arg(&url).status().unwrap();
        status.success().then(|| std::fs::read(into).unwrap())
    };
    let sent = wait_for("the host", || fetch(&core, "sent"));
    assert!(fetch(&phone, "came") == Some(sent), "other octets came than were sent: {}", ms.log());
    ms.signal("TERM");
    assert!(ms.wait().success(), "{}", ms.log());
    drop(bss);
    let capture = directory.path().join("ms.pcapng").display().to_string();
    let of = |filter: &str, field: &str| tshark::dissect_file(&capture, &["-Y", filter], &[field]);
    // What came in CS-4 came on four timeslots.
    let data = of("gsmtap.uplink == 0 && gsm_rlcmac && frame.len > 96", "gsmtap.ts");
    let slots: BTreeSet<String> = data.concat().into_iter().collect();
    assert_eq!(slots.into_iter().collect::<Vec<_>>().join(" "), "4 5 6 7");
}

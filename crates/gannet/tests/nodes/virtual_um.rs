//! Mobiles on a virtual Um: RLC/MAC between processes, alone and beside Ethernet.

use crate::common::{GANNET, Node, file, gannet, wait_for};
use gannet_testkit::netns::Netns;
use gannet_testkit::{Case, Need, TempDir, find_program, tshark};

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Tshark, Need::Program("ping")];

const OSMO: &[Need] = &[
    Need::NetAdmin,
    Need::Program("ping"),
    Need::Program("osmo-bsc"),
    Need::Program("osmo-bts-virtual"),
    Need::Program("osmo-pcu"),
];

/// All of them.
pub const CASES: &[Case] = &[
    ("a_mobile_station_changes_between_ethernet_and_the_radio", NEEDS, ethernet_and_radio),
    ("a_mobile_station_attaches_through_osmo_bts_and_osmo_pcu", OSMO, through_osmocom),
];

const HOST: &str = "198.51.100.1";

/// Starts a node in a namespace.
pub fn own(directory: &TempDir, netns: &Netns, role: &str, text: &str) -> Node {
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
pub fn network(directory: &TempDir, core: &Netns) -> [Node; 2] {
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
        "ms\n ctl socket {socket}\n bearer radio um\n bearer ethernet eth0\n apn internet\n context gprs\n  route default\n{}",
        end("127.0.0.1")
    );
    let mut ms = own(&directory, &phone, "ms", &ms);
    let ctl = |words: &[&str]| gannet(&[&["ms", "ctl", "--socket", &socket], words].concat());
    let json = |word: &str| -> Option<serde_json::Value> {
        serde_json::from_slice(&ctl(&["--json", word]).stdout).ok()
    };
    let address = || json("devices")?[0]["ipv4"].as_str().map(str::to_owned);
    let first = wait_for("the device", address);
    let is_in = |place: &str| {
        let status = String::from_utf8(ctl(&["status"]).stdout).unwrap();
        status.contains(place).then_some(())
    };
    wait_for("the radio, which comes first", || is_in("001-01-1-1-90"));
    let ping = || phone.run("ping", &["-n", "-c", "5", "-i", "0.3", "-W", "30", "-s", "600", HOST]);
    for (order, place) in [
        (&["prefer", "radio", "um"][..], "001-01-1-1-90"),
        (&["prefer", "ethernet", "eth0"], "001-01-1-0-1"),
        (&["prefer", "radio", "um"], "001-01-1-1-90"),
    ] {
        assert!(ctl(order).status.success(), "{order:?}");
        wait_for("the change", || is_in(place));
        wait_for("an answer", || {
            let printed = phone.command("ping").args(["-n", "-c", "1", "-W", "5", HOST]).output().unwrap();
            printed.status.success().then_some(())
        });
        let printed = ping();
        assert!(printed.contains(" 0% packet loss"), "{place}: {printed}");
    }
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

/// A BSC with one BTS of four PDCHs.
const BSC: &str = "e1_input\n e1_line 0 driver ipa\nnetwork\n network country code 001\n mobile network code 01\n \
encryption a5 0\n bts 0\n  type nanobts\n  band DCS1800\n  cell_identity 6969\n  location_area_code 1\n  \
base_station_id_code 63\n  ipa unit-id 6969 0\n  oml ipa stream-id 255 line 0\n  gprs mode gprs\n  gprs routing area 0\n  \
gprs cell bvci 2\n  gprs nsei 101\n  gprs nsvc 0 nsvci 101\n  gprs nsvc 0 local udp port 22000\n  \
gprs nsvc 0 remote udp port 23000\n  gprs nsvc 0 remote ip 127.0.0.1\n  trx 0\n   rf_locked 0\n   arfcn 871\n   \
nominal power 23\n   max_power_red 0\n   rsl e1 tei 0\n";

fn timeslots() -> String {
    let channels = ["CCCH+SDCCH4", "SDCCH8", "TCH/F", "TCH/F", "PDCH", "PDCH", "PDCH", "PDCH"];
    let lines = channels.iter().enumerate();
    lines.map(|(slot, channel)| format!("   timeslot {slot}\n    phys_chan_config {channel}\n")).collect()
}

/// The virtual Um, BTS and PCU are of others: attach, context and pings.
fn through_osmocom() {
    let directory = TempDir::new("gannet-virtual-bts");
    let (core, phone) = (Netns::new("um-osmo-core"), Netns::new("um-osmo-phone"));
    core.ip(&["link", "set", "lo", "multicast", "on"]);
    core.ip(&["route", "add", "224.0.0.0/4", "dev", "lo"]);
    let _network = network(&directory, &core);
    let osmocom = |program: &str, text: &str| {
        let config = file(&directory, &format!("{program}.cfg"), &format!("line vty\n no login\n{text}"));
        let mut command = core.command(&find_program(program).unwrap().to_string_lossy());
        command.args(["-c", &config]).current_dir(directory.path());
        Node::spawn(&directory, "", command, program)
    };
    let socket = directory.path().join("pcu_bts").display().to_string();
    let _bsc = osmocom("osmo-bsc", &format!("{BSC}{}msc 0\n allow-emergency deny\n", timeslots()));
    let bts = format!(
        "e1_input\n e1_line 0 driver ipa\n e1_line 0 port 0\nphy 0\n instance 0\n virtual-um net-device lo\n \
         virtual-um ttl 0\nbts 0\n band DCS1800\n ipa unit-id 6969 0\n oml remote-ip 127.0.0.1\n pcu-socket {socket}\n \
         trx 0\n  phy 0 instance 0\n"
    );
    let _bts = osmocom("osmo-bts-virtual", &bts);
    let pcu =
        format!("pcu\n pcu-socket {socket}\n flow-control-interval 10\n cs 2 4\n alloc-algorithm dynamic\n");
    let _pcu = osmocom("osmo-pcu", &pcu);
    let ctl_socket = directory.path().join("ms.sock").display().to_string();
    let ms = format!(
        "ms\n ctl socket {ctl_socket}\n bearer radio um\n apn internet\n context gprs\n  netns {}\n  route default\n{}",
        phone.name(),
        end("127.0.0.1")
    );
    let mut ms = own(&directory, &core, "ms", &ms);
    let devices = || gannet(&["ms", "ctl", "--socket", &ctl_socket, "--json", "devices"]).stdout;
    wait_for("the device", || {
        let devices: serde_json::Value = serde_json::from_slice(&devices()).ok()?;
        devices[0]["ipv4"].as_str().map(str::to_owned)
    });
    for octets in ["56", "1400"] {
        let ping = ["-n", "-c", "5", "-i", "1", "-W", "40", "-s", octets, HOST];
        let printed = phone.run("ping", &ping);
        assert!(printed.contains(" 0% packet loss"), "{printed}");
    }
    ms.signal("TERM");
    assert!(ms.wait().success(), "{}", ms.log());
}

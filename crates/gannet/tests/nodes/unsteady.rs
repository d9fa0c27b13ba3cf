//! `gannet ms` where nothing stays as it is: links that flap or go, an access point that restarts, other MTUs, forged beacons, and
//! every way of the machine to resolve names.

use crate::common::{GANNET, Node, file, signal, wait_for, within};
use crate::mobile_station::{HOST, World, transfer};
use gannet_rt::{PacketLayer, PacketSocket, PacketTarget};
use gannet_testkit::{Case, Need};
use gannet_wire::adaptation::{
    ApName, Beacon, BeaconFlags, ETHERTYPE, Load, MESSAGE_LEN_MAX, Message, NetworkMode,
};
use gannet_wire::id::{CellId, Plmn, Rai, Tlli};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// All of them.
pub const CASES: &[Case] = &[
    ("a_link_that_flaps_ends_no_context", NEEDS, a_flapping_link),
    ("without_any_link_the_context_waits", NEEDS, no_link_at_all),
    ("an_access_point_restarts_and_nobody_notices_but_by_the_time", NEEDS, access_point_restarts),
    ("a_killed_mobile_station_behind_an_access_point_leaves_nothing", NEEDS, killed),
    ("another_mtu_is_followed_and_loses_nothing", NEEDS, another_mtu),
    ("a_flood_of_forged_beacons_moves_nobody", NEEDS, flood),
    ("name_servers_go_to_what_resolves_names", RESOLVERS, resolvers),
];

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Tshark, Need::Program("ping")];
const RESOLVERS: &[Need] = &[Need::NetAdmin, Need::Program("mount")];

const CONTEXT: &str = " context gprs\n  netns NETNS\n  mode acknowledged\n  route default\n";

/// A mobile in its first cell, and its address.
fn ready(label: &str, lines: &str) -> (World, String) {
    let world = World::behind_access_point(label, lines);
    world.ctl(&["activate"]);
    let address = world.address("gprs0");
    world.wait_for_cell(0);
    (world, address)
}

/// The context has been there all the time.
fn assert_kept(world: &World, address: &str) {
    assert_eq!(world.address("gprs0"), address);
    assert!(!world.ms.log().contains("gprs0 is gone"), "{}", world.ms.log());
}

fn set_link(world: &World, state: &str) {
    world.radio.ip(&["link", "set", "bear0", state]);
}

fn a_flapping_link() {
    let (world, address) = ready("ms-flap", CONTEXT);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let flapping = scope.spawn(|| {
            let pauses = [0, 3, 30, 300].map(Duration::from_millis);
            for pause in pauses.iter().cycle() {
                set_link(&world, "down");
                std::thread::sleep(*pause);
                set_link(&world, "up");
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(*pause);
            }
        });
        (0..3).for_each(|_| transfer(&world));
        is_over.store(true, Ordering::Relaxed);
        flapping.join().unwrap();
    });
    world.wait_for_cell(0);
    world.wait_for_answer();
    assert_kept(&world, &address);
    world.end_and_read_captures();
}

/// The far end of UDP cannot be reached, and the cable is pulled: the mobile has no cell until it is back.
fn no_link_at_all() {
    let (world, address) = ready("ms-none", CONTEXT);
    world.radio.ip(&["address", "del", "203.0.113.2/32", "dev", "lo"]);
    set_link(&world, "down");
    wait_for("the loss of the cell", || {
        let status: serde_json::Value = serde_json::from_str(&world.ctl(&["--json", "status"])).unwrap();
        status[0]["cell"].is_null().then_some(())
    });
    set_link(&world, "up");
    world.wait_for_cell(0);
    world.wait_for_answer();
    transfer(&world);
    assert_kept(&world, &address);
    world.end_and_read_captures();
}

fn access_point_restarts() {
    let (mut world, address) = ready("ms-again", CONTEXT);
    for name in ["KILL", "TERM"] {
        world.wait_for_answer();
        let ap = world.ap.as_mut().unwrap();
        ap.signal(name);
        let _ = ap.wait();
        let capture = world.directory.path().join("ap.pcapng");
        std::fs::rename(&capture, capture.with_file_name(format!("ap-{name}.pcapng"))).unwrap();
        world.start_access_point();
        world.wait_for_answer();
        transfer(&world);
        assert_kept(&world, &address);
    }
    world.wait_for_cell(0);
    world.end_and_read_captures();
}

fn killed() {
    let lines = " context gprs\n  netns NETNS\n  mode acknowledged\n  route default metric 7\n  dns\n";
    let (mut world, _) = ready("ms-kill", lines);
    let _ = wait_for("name servers", || std::fs::read_to_string(world.resolv_conf()).ok());
    assert!(world.routes().contains("default dev gprs0"), "{}", world.routes());
    signal(&world.ms.pid().to_string(), "KILL");
    let _ = world.ms.wait();
    world.wait_until_gone("gprs0");
    wait_for("the end of name servers", || (!world.resolv_conf().exists()).then_some(()));
    assert_eq!(world.routes(), "");
    // Another one takes its place at once.
    world.start_again();
    world.ctl(&["activate"]);
    let _ = world.address("gprs0");
    world.wait_for_answer();
    world.end_and_read_captures();
}

/// An upload, whose long frames are under way when the link carries only short ones.
fn upload(world: &World, meanwhile: impl FnOnce()) {
    const OCTETS: usize = 1 << 20;
    let content = || (0..OCTETS).map(|place| u8::try_from(place % 241).unwrap());
    let (port_is, port) = std::sync::mpsc::channel();
    let (half_is, half) = std::sync::mpsc::channel();
    let server = within(&world.core, move || {
        let listener = TcpListener::bind((HOST, 0)).unwrap();
        port_is.send(listener.local_addr().unwrap().port()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut octets = vec![0; OCTETS / 2];
        stream.read_exact(&mut octets).unwrap();
        half_is.send(()).unwrap();
        stream.read_to_end(&mut octets).unwrap();
        octets
    });
    let port = port.recv().unwrap();
    let client = within(&world.user, move || {
        TcpStream::connect((HOST, port)).unwrap().write_all(&content().collect::<Vec<_>>()).unwrap();
    });
    half.recv().unwrap();
    meanwhile();
    client.join().unwrap();
    let received = server.join().unwrap();
    assert!(received.iter().copied().eq(content()), "{} octets came", received.len());
}

fn another_mtu() {
    let (world, address) = ready("ms-mtu", CONTEXT);
    // Header, trailer, a frame of LLC and SNDCP: 46 octets.
    for (mtu, of_device) in [(900, 854), (1500, 1454), (1300, 1254)] {
        upload(&world, || {
            for device in ["bear0", "bear1"] {
                world.radio.ip(&["link", "set", device, "mtu", &format!("{mtu}")]);
            }
        });
        wait_for("the MTU of the device", || {
            let link = world.user.run("ip", &["-o", "link", "show", "gprs0"]);
            link.contains(&format!("mtu {of_device} ")).then_some(())
        });
        world.wait_for_answer();
        transfer(&world);
    }
    let drops = world.ctl(&["drops"]);
    assert!(!drops.contains("ms_over_mtu"), "{drops}");
    assert_kept(&world, &address);
    world.end_and_read_captures();
}

/// A beacon that nobody has signed.
fn forged(number: u64) -> Vec<u8> {
    let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 0 };
    // Half of them name the mobile's own cell, and say that it is out of service.
    let ci = if number.is_multiple_of(2) { 1 } else { u16::try_from(number % 60_000).unwrap() + 3 };
    let beacon = Beacon {
        cell: CellId { rai, ci },
        boot: u64::MAX - number,
        interval_ms: 1000,
        ll_pdu_max: 100,
        mode: NetworkMode::II,
        load: Load(None),
        flags: BeaconFlags(0),
    };
    let mut octets = [0; MESSAGE_LEN_MAX];
    let length = Message::Beacon(beacon, ApName::EMPTY).emit(Tlli(0), false, &mut octets).unwrap();
    octets[..length].to_vec()
}

/// From the access point's own address. Who has the network's key takes none of them, and goes on as before.
fn flood() {
    let lines = format!(" {}\n{CONTEXT}", crate::mobile_station::NETWORK_KEY);
    let (world, address) = ready("ms-flood", &lines);
    wait_for("the other access point", || {
        world.ms.log().contains("cell 001-01-1-0-2: an access point is there").then_some(())
    });
    let is_over = AtomicBool::new(false);
    let before = world.ms.log().matches("an access point is there").count();
    std::thread::scope(|scope| {
        let flooding = scope.spawn(|| {
            gannet_rig::NetworkNamespace::named(world.radio.name()).unwrap().enter().unwrap();
            let mut socket = PacketSocket::open("bear1", PacketLayer::Protocol(ETHERTYPE)).unwrap();
            let to = gannet_machine::EthernetAddress([0xff; 6]);
            let target = PacketTarget { to, ether_type: ETHERTYPE };
            let mut sent = 0;
            while !is_over.load(Ordering::Relaxed) || sent < 10_000 {
                // A socket that takes nothing now takes the next ones.
                let beacons: Vec<Vec<u8>> = (sent..sent + 16).map(forged).collect();
                let all = beacons.iter().map(|beacon| (beacon.as_slice(), Some(target)));
                sent += socket.send(all).unwrap_or(0) as u64;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        (0..2).for_each(|_| transfer(&world));
        world.wait_for_answer();
        is_over.store(true, Ordering::Relaxed);
        flooding.join().unwrap();
    });
    world.wait_for_cell(0);
    assert_kept(&world, &address);
    let log = world.ms.log();
    assert_eq!(log.matches("an access point is there").count(), before, "{log}");
    assert!(!log.contains("has restarted"), "{log}");
    let drops = world.ctl(&["drops"]);
    assert!(drops.contains("adapt_unauthenticated"), "{drops}");
    world.end_and_read_captures();
}

/// Scripts in the way of the real programs note how they are called. Devices are in the network namespace of the mobiles' process.
fn resolvers() {
    let mut world = World::new("ms-dns", " context gprs\n  route default\n  dns\n");
    let directory = world.directory.path().to_owned();
    for program in ["resolvconf", "resolvectl"] {
        let log = directory.join(format!("{program}.calls")).display().to_string();
        let text = format!("#!/bin/sh\n{{ echo \"$@\"; cat; }} >>{log}\n");
        let script = file(&world.directory, program, &text);
        std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let calls = |program: &str| {
        std::fs::read_to_string(directory.join(format!("{program}.calls"))).unwrap_or_default()
    };
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let config = directory.join("ms.cfg").display().to_string();
    let start = |world: &mut World, prepare: &str| {
        let script = format!("mount -t tmpfs none /run && {prepare} exec \"$0\" ms -c \"$1\"");
        let mut command: Command = world.radio.command("sh");
        command.args(["-c", &script, GANNET, &config]).env("PATH", &path).current_dir(&directory);
        world.ms = Node::spawn(&world.directory, "", command, "ms");
        world.wait_for_ms();
    };
    let is_gone = |world: &World| {
        wait_for("the end of the device", || {
            (!world.radio.run("ip", &["-o", "link"]).contains("gprs0")).then_some(())
        });
    };
    let wait_for_call = |program: &str, call: &str| {
        wait_for(call, || calls(program).contains(call).then_some(()));
    };
    world.ms.signal("TERM");
    let _ = world.ms.wait();
    // systemd-resolved forgets what it has when the device goes.
    start(&mut world, "mkdir -p /run/systemd/resolve &&");
    wait_for_call("resolvectl", "dns gprs0 192.0.2.53 192.0.2.54\n");
    wait_for_call("resolvectl", "default-route gprs0 yes\n");
    signal(&world.ms.pid().to_string(), "KILL");
    let _ = world.ms.wait();
    is_gone(&world);
    assert_eq!(calls("resolvconf"), "");
    for (name, round) in [("KILL", 1), ("TERM", 2)] {
        start(&mut world, "");
        let called = |call: &str| calls("resolvconf").matches(call).count();
        wait_for("the servers", || {
            let set = called("-a gprs0.gannet\nnameserver 192.0.2.53\nnameserver 192.0.2.54\n");
            (set == round).then_some(())
        });
        assert_eq!(called("-d gprs0.gannet\n"), round - 1);
        world.ms.signal(name);
        let _ = world.ms.wait();
        is_gone(&world);
        wait_for("that they are taken back", || (called("-d gprs0.gannet\n") == round).then_some(()));
    }
}

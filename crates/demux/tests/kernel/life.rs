//! Programs on interfaces: real packets, two instances, what a killed process leaves, an interface that comes back.
//!
//! A program belongs into a network namespace, and so does the process that attaches it: this test program starts
//! itself there once more, as a [`child`].

use crate::common::frames;
use gannet_demux::bpf::{Held, XdpMode};
use gannet_demux::{AtDriver, Classifier, Classify, Config, Totals};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_testkit::netns::{Background, Netns};
use gannet_wire::id::Teid;
use std::net::{IpAddr, UdpSocket};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Says to this test program that it is a child: what to do, and with what.
const CHILD: &str = "GANNET_DEMUX_TEST_CHILD";
/// How long anything may take; only a failure takes it.
const PATIENCE: Duration = Duration::from_secs(30);

const PASSED: u32 = 1;
const BLOCKED: u32 = 2;
const FULL: u32 = 3;
const UNKNOWN: u32 = 4;

/// What a child does, where this process is one.
pub fn child() -> Option<ExitCode> {
    let what = std::env::var(CHILD).ok()?;
    let words: Vec<&str> = what.split(' ').collect();
    match words[..] {
        ["serve", device, address, packets] => serve(device, address, packets.parse().unwrap()),
        ["return", device, address, packets] => come_back(device, address, packets.parse().unwrap()),
        ["send", address] => send(address),
        ["gateway", frames] => crate::gateway::compare(frames.parse().unwrap()),
        ["edge"] => crate::edge::judge(),
        ["rings"] => crate::rings::serve(),
        ["uplink"] => crate::rings::send(),
        ["rings-gn", high] => crate::rings::serve_gn(high.parse().unwrap()),
        ["downlink"] => crate::rings::send_on_gn(),
        ["sockets"] => crate::sockets::steer(),
        ["load"] => match Classifier::load(&Config::default()) {
            Ok(_) => println!("loaded"),
            Err(error) => println!("not loaded: {error}"),
        },
        _ => panic!("{what}"),
    }
    Some(ExitCode::SUCCESS)
}

pub fn start(namespace: &Netns, what: &str) -> Background {
    let mut command = namespace.command(std::env::current_exe().unwrap().to_str().unwrap());
    command.env(CHILD, what);
    Background::start(command)
}

pub fn ifindex(device: &str) -> Option<u32> {
    std::fs::read_to_string(format!("/sys/class/net/{device}/ifindex")).ok()?.trim().parse().ok()
}

pub fn until<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn classifier(address: &str) -> Classifier {
    let address: IpAddr = address.parse().unwrap();
    let config = Config { addresses: vec![address], samples_per_s: 0, ..Config::default() };
    let mut classifier = Classifier::load(&config).unwrap();
    for teid in [PASSED, BLOCKED, FULL] {
        let (class, precedence) = (Class::BestEffort, Precedence::Normal);
        let rule =
            Rule { key: Key::Teid(Teid(teid)), name: teid, class, precedence, policer: None, source: None };
        classifier.apply(&RuleChange::Install(rule)).unwrap();
    }
    for (teid, reason) in [(BLOCKED, Block::FlowControl), (FULL, Block::QueueFull)] {
        classifier.apply(&RuleChange::Block(Key::Teid(Teid(teid)), reason)).unwrap();
    }
    classifier
}

fn judged(totals: &Totals) -> u64 {
    let redirected: u64 = Class::ALL.iter().map(|class| totals.redirected(*class)).sum();
    totals.drops().map(|(_, count)| count).sum::<u64>() + redirected + totals.to_kernel()
}

fn report(classifier: &Classifier, packets: u64) {
    until("all packets", || (judged(&classifier.totals()) >= packets).then_some(()));
    println!("{}", summary(&classifier.totals()));
}

fn summary(totals: &Totals) -> String {
    let counts = [
        totals.redirected(Class::BestEffort),
        totals.of(Drop::DemuxBlocked),
        totals.of(Drop::DemuxQueueFull),
        totals.of(Drop::DemuxUnknownContext),
        totals.to_kernel(),
        judged(totals),
    ];
    format!("counted {counts:?}")
}

/// Serves an interface until so many packets were judged, says what was counted, and stays.
fn serve(device: &str, address: &str, packets: u64) {
    let mut classifier = classifier(address);
    if let Err(error) = classifier.attach(ifindex(device).unwrap(), XdpMode::Native) {
        println!("refused: {error}");
        return;
    }
    let (program, maps) = classifier.ids().unwrap();
    println!("ready {program} {maps:?}");
    report(&classifier, packets);
    // Until it is killed.
    std::thread::sleep(PATIENCE);
}

/// Serves an interface that vanishes and returns.
fn come_back(device: &str, address: &str, packets: u64) {
    let mut classifier = classifier(address);
    let first = ifindex(device).unwrap();
    classifier.attach(first, XdpMode::Native).unwrap();
    println!("ready");
    until("the end of the interface", || ifindex(device).is_none().then_some(()));
    println!("gone");
    let second = until("the interface", || ifindex(device).filter(|index| *index != first));
    classifier.detach(first);
    let error = classifier.attach(first, XdpMode::Native).unwrap_err();
    assert!(error.to_string().contains("no interface has the index"), "{error}");
    classifier.attach(second, XdpMode::Native).unwrap();
    assert_eq!(classifier.interfaces().collect::<Vec<_>>(), [second]);
    println!("back");
    report(&classifier, packets);
}

/// What [`send`] sends comes to this.
const SENT: u64 = 100;
const EXPECTED: &str = "counted [10, 20, 30, 35, 5, 100]";

fn send(address: &str) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    let g_pdu = |teid| frames::gtp_v1(255, teid, (Some(1), None), &[], &[0x45; 378]);
    let echo = frames::gtp_v1(1, 0, (Some(1), None), &[], &[]);
    let kinds =
        [(10, g_pdu(PASSED)), (20, g_pdu(BLOCKED)), (30, g_pdu(FULL)), (35, g_pdu(UNKNOWN)), (5, echo)];
    for (times, datagram) in kinds {
        for _ in 0..times {
            // What the kernel answers to the packets that it got ends up as an error of the next one.
            while socket.send_to(&datagram, (address, 2152)).is_err() {}
        }
    }
}

pub fn pair(label: &str, address: &str, own: &str) -> (Netns, Netns) {
    let (outside, inside) = (Netns::new(label), Netns::new(label));
    outside.join(("gn", &format!("{own}/24")), &inside, ("gn", &format!("{address}/24")));
    (outside, inside)
}

fn send_from(namespace: &Netns, address: &str) {
    assert!(start(namespace, &format!("send {address}")).wait().success());
}

/// Two instances, each with its own packets; a third that finds its interface taken; and nothing is left of any.
pub fn packets_instances_and_what_is_left() {
    let (a, inside_a) = pair("xdp-a", "192.0.2.7", "192.0.2.1");
    let (b, inside_b) = pair("xdp-b", "192.0.2.7", "192.0.2.1");
    let serve = format!("serve gn 192.0.2.7 {SENT}");
    let mut one = start(&inside_a, &serve);
    let ready = one.wait_for_line("ready");
    let mut other = start(&inside_b, &format!("serve gn 192.0.2.7 {}", 2 * SENT));
    other.wait_for_line("ready");
    let refused = start(&inside_a, &serve).wait_for_line("refused");
    assert!(refused.contains("another XDP program is attached to interface"), "{refused}");
    send_from(&a, "192.0.2.7");
    assert_eq!(one.wait_for_line("counted"), EXPECTED);
    send_from(&b, "192.0.2.7");
    send_from(&b, "192.0.2.7");
    assert_eq!(other.wait_for_line("counted"), "counted [20, 40, 60, 70, 10, 200]");

    let numbers: Vec<u32> =
        ready.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    let (program, maps) = numbers.split_first().unwrap();
    assert!(maps.len() >= 5, "{ready}");
    let link = inside_a.run("ip", &["-details", "link", "show", "gn"]);
    assert!(link.contains("prog/xdp"), "{link}");
    let held = Held::by(one.id()).unwrap();
    assert!(held.programs.contains(program) && maps.iter().all(|map| held.maps.contains(map)), "{held:?}");
    assert_eq!(held.left(), held);
    one.signal("KILL");
    one.wait();
    until("the end of the program and its maps", || held.left().is_empty().then_some(()));
    let link = inside_a.run("ip", &["-details", "link", "show", "gn"]);
    assert!(!link.contains("prog/xdp"), "{link}");
    // And the interface can be served again.
    start(&inside_a, &serve).wait_for_line("ready");
}

/// Three rights are enough; without them the error says which are missing.
pub fn without_rights() {
    let load = |rights: &str| {
        let mut command = std::process::Command::new(gannet_testkit::find_program("setpriv").unwrap());
        command.args(["--bounding-set", rights, "--inh-caps", "-all", "--no-new-privs"]);
        command.arg(std::env::current_exe().unwrap()).env(CHILD, "load");
        Background::start(command).wait_for_line("load")
    };
    let refused = load("-all,+bpf,+net_admin");
    assert!(refused.contains("needs the capabilities CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN"), "{refused}");
    assert_eq!(load("-all,+bpf,+perfmon,+net_admin"), "loaded");
}

/// An interface vanishes and returns under another index; the rules and counters stay.
pub fn an_interface_comes_back() {
    let (outside, inside) = pair("xdp-back", "192.0.2.7", "192.0.2.1");
    let mut served = start(&inside, &format!("return gn 192.0.2.7 {SENT}"));
    served.wait_for_line("ready");
    outside.ip(&["link", "del", "gn"]);
    served.wait_for_line("gone");
    // The first device of a namespace gets the same index again; another one comes before it.
    inside.ip(&["link", "add", "between", "type", "veth", "peer", "name", "them"]);
    outside.join(("gn", "192.0.2.1/24"), &inside, ("gn", "192.0.2.7/24"));
    served.wait_for_line("back");
    send_from(&outside, "192.0.2.7");
    assert_eq!(served.wait_for_line("counted"), EXPECTED);
    assert!(served.wait().success());
}

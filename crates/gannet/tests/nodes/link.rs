//! The link emulator between two hosts in namespaces: counts, order and loss are those of its model.

use crate::common::GANNET;
use gannet_lab::link::model::{Direction, Loss, Profile};
use gannet_machine::rng::Rng;
use gannet_machine::time::Instant;
use gannet_rig::NetworkNamespace;
use gannet_testkit::netns::{Background, Netns};
use gannet_testkit::{Case, Need};
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::Duration;

pub const CASES: &[Case] = &[
    ("frames_are_lost_as_the_model_says_and_keep_their_order", &[Need::NetAdmin], losses_and_order),
    ("a_link_with_a_rate_and_a_limit_accounts_for_every_frame", &[Need::NetAdmin], rate_and_limit),
    ("reordered_frames_are_late_and_not_lost", &[Need::NetAdmin], reordering),
    ("a_link_without_its_device_says_so", &[Need::NetAdmin], missing_device),
];

/// Numbered datagrams that are sent; behind them come those that say that it is over.
const COUNT: u32 = 200;
const OVER: u32 = u32::MAX;

/// Two hosts, and the emulator between them.
struct Bed {
    near: Netns,
    far: Netns,
    middle: Netns,
}

impl Bed {
    fn new() -> Self {
        let bed = Self {
            near: Netns::new("link-near"),
            far: Netns::new("link-far"),
            middle: Netns::new("link-middle"),
        };
        for (host, device, inside) in [(&bed.near, "near", "m-near"), (&bed.far, "far", "m-far")] {
            // Nobody but the test sends: no IPv6, and no question for an Ethernet address.
            for netns in [host, &bed.middle] {
                let _ = netns.run("sh", &["-c", "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6"]);
            }
            let peer = ["peer", "name", inside, "netns", bed.middle.name()];
            host.ip(&[&["link", "add", device, "address", mac(device), "type", "veth"][..], &peer].concat());
            bed.middle.ip(&["link", "set", inside, "up"]);
            host.ip(&["link", "set", device, "up"]);
        }
        for (host, device, own, other, its) in [
            (&bed.near, "near", "192.0.2.1/24", "192.0.2.2", "far"),
            (&bed.far, "far", "192.0.2.2/24", "192.0.2.1", "near"),
        ] {
            host.ip(&["address", "add", own, "dev", device]);
            host.ip(&["neighbour", "add", other, "lladdr", mac(its), "dev", device]);
        }
        bed
    }

    fn link(&self, options: &[&str]) -> Background {
        let arguments = [&["lab", "link", "--between", "m-near", "m-far"], options].concat();
        let mut link = self.middle.spawn(GANNET, &arguments);
        let _ = link.wait_for_line("are linked");
        link
    }

    /// Sends all, and ends when the other host has had a datagram that says so: how many of those were sent, and the numbers
    /// that arrived before, in their order.
    fn transfer(&self) -> (u32, Vec<u32>) {
        let (from, to) = (socket(&self.near, "192.0.2.1:0"), socket(&self.far, "192.0.2.2:4000"));
        to.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
        from.connect("192.0.2.2:4000").unwrap();
        let send = |number: u32| assert_eq!(from.send(&number.to_be_bytes()).unwrap(), 4);
        (0..COUNT).for_each(send);
        let (mut overs, mut arrived) = (0, Vec::new());
        loop {
            send(OVER);
            overs += 1;
            loop {
                let mut octets = [0; 4];
                match to.recv(&mut octets) {
                    Ok(4) if u32::from_be_bytes(octets) == OVER => return (overs, arrived),
                    Ok(_) => arrived.push(u32::from_be_bytes(octets)),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
}

fn mac(device: &str) -> &'static str {
    if device == "near" { "02:00:00:00:00:01" } else { "02:00:00:00:00:02" }
}

/// A socket in a namespace; the thread that opens it goes with that.
fn socket(netns: &Netns, address: &str) -> UdpSocket {
    std::thread::scope(|scope| {
        let open = || {
            NetworkNamespace::named(netns.name()).unwrap().enter().unwrap();
            UdpSocket::bind(address).unwrap()
        };
        scope.spawn(open).join().unwrap()
    })
}

/// Ends the link, and returns the numbers of its line about frames from near to far, by their names.
fn account(mut link: Background) -> impl Fn(&str) -> u32 {
    link.signal("TERM");
    let line = link.wait_for_line("m-near -> m-far:");
    let accuracy = link.wait_for_line("m-near -> m-far:");
    assert!(accuracy.contains("lateness p50") && accuracy.contains("time error"), "{accuracy}");
    assert!(link.wait().success());
    move |name| {
        let (before, _) = line.split_once(&format!(" {name}")).unwrap_or_else(|| panic!("no {name}: {line}"));
        before.rsplit([' ', '(']).next().unwrap().parse().unwrap()
    }
}

/// All that came has a fate, and none was spoiled.
fn is_whole(of: impl Fn(&str) -> u32) {
    assert_eq!(of("entered"), of("refused") + of("lost") + of("delivered") + of("under way"));
    assert_eq!((of("unfit"), of("missed"), of("not taken")), (0, 0, 0));
}

fn losses_and_order() {
    let bed = Bed::new();
    let link = bed.link(&["--loss", "20%", "--seed", "7", "--jitter", "3ms", "--rate", "100M"]);
    let (overs, arrived) = bed.transfer();
    let of = account(link);
    assert_eq!(of("entered"), COUNT + overs);
    is_whole(&of);
    // The dice are thrown in the order of the frames: once for the loss, and once for the jitter of what is not lost.
    let jitter = gannet_machine::time::Duration::from_millis(3);
    let profile = Profile { loss: Loss::Random(0.2), jitter, ..Profile::default() };
    let mut model = Direction::new(profile, Rng::seeded(7).fork());
    (0..COUNT).for_each(|number| model.enter(Instant(1), 100, number));
    let expected: Vec<u32> =
        core::iter::from_fn(|| model.deliver(Instant(u64::MAX))).map(|delivery| delivery.frame).collect();
    assert!(expected.len() < COUNT as usize);
    assert_eq!(arrived, expected);
}

fn rate_and_limit() {
    let bed = Bed::new();
    let link = bed.link(&["--rate", "1M", "--limit", "2000", "--delay", "1ms"]);
    let (_, arrived) = bed.transfer();
    let of = account(link);
    is_whole(&of);
    assert!(arrived.is_sorted_by(|a, b| a < b), "{arrived:?}");
    assert!(
        u32::try_from(arrived.len()).unwrap() < of("delivered"),
        "what says that it is over is delivered too"
    );
    assert_eq!(of("lost"), 0);
    // What is missing was refused.
    assert!(COUNT - u32::try_from(arrived.len()).unwrap() <= of("refused"));
}

fn reordering() {
    let bed = Bed::new();
    let link = bed.link(&["--reorder", "20%", "--reorder-by", "1ms"]);
    let (_, mut arrived) = bed.transfer();
    let of = account(link);
    is_whole(&of);
    assert_eq!(of("lost"), 0);
    assert!(of("reordered") > 10);
    let late = COUNT - u32::try_from(arrived.len()).unwrap();
    assert!(late <= of("reordered"), "those overtaken by the end: {late}");
    arrived.sort_unstable();
    assert!(arrived.is_sorted_by(|a, b| a < b), "none twice");
}

fn missing_device() {
    let netns = Netns::new("link-none");
    let mut command = netns.command(GANNET);
    let output = command.args(["lab", "link", "--between", "lo", "no-such"]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no-such: No such device"), "{said}");
}

//! The manual's chapter "Share a slow line fairly": its commands are run, and what they promise is counted at the end of the line.

use crate::common::{GANNET, Node, blocks, file, repository, said, wait_for, within};
use crate::edge::{LAN, Tap, sum};
use gannet_testkit::netns::{Background, Netns};
use gannet_testkit::{Case, Need, TempDir};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

const NEEDS: &[Need] =
    &[Need::NetAdmin, Need::Program("nft"), Need::Program("sysctl"), Need::Program("ethtool")];

/// All of them.
pub const CASES: &[Case] = &[("the_chapter_about_a_slow_line_shares_it", NEEDS, the_chapter)];

/// Destination ports: calls by the chapter's first rule, and any other.
const CALLS: u16 = 5001;
const OTHER: u16 = 80;
/// Source addresses: one of the office by the chapter's second rule, and one that no rule knows.
const OFFICE: [u8; 4] = [192, 0, 2, 10];
const STRANGER: [u8; 4] = [192, 0, 2, 130];
/// Packets of a call that its burst allows, 3,000 octets.
const CALL_PACKETS: u64 = 10;
/// So many packets have to be dropped before shares are compared.
const DROPPED: u64 = 200;

/// `near`, the router with `lan` and `wan`, the line between `m-near` and `m-far`, and `far`.
struct Bed {
    near: Netns,
    router: Netns,
    middle: Netns,
    far: Netns,
    directory: TempDir,
}

impl Bed {
    fn new() -> Self {
        let name = |of: &str| format!("chapter-{of}");
        let [near, router, middle, far] = ["near", "router", "line", "far"].map(|of| Netns::new(&name(of)));
        let bed = Self { near, router, middle, far, directory: TempDir::new("gannet-chapter") };
        let lan = LAN.to_string();
        bed.pair((&bed.near, "near", "02:00:00:00:00:01"), (&bed.router, "lan", &lan));
        bed.pair((&bed.router, "wan", "02:00:00:00:00:03"), (&bed.middle, "m-near", "02:00:00:00:00:05"));
        bed.pair((&bed.far, "far", "02:00:00:00:00:04"), (&bed.middle, "m-far", "02:00:00:00:00:06"));
        for (at, device, address) in [
            (&bed.near, "near", "192.0.2.10/24"),
            (&bed.router, "lan", "192.0.2.1/24"),
            (&bed.router, "wan", "203.0.113.2/24"),
            (&bed.far, "far", "203.0.113.1/24"),
        ] {
            at.ip(&["address", "add", address, "dev", device]);
        }
        bed
    }

    fn pair(&self, (here, name, mac): (&Netns, &str, &str), (there, peer, its_mac): (&Netns, &str, &str)) {
        let peer_words = ["peer", "name", peer, "address", its_mac, "netns", there.name()];
        here.ip(&[&["link", "add", name, "address", mac, "type", "veth"][..], &peer_words].concat());
        here.ip(&["link", "set", name, "up"]);
        there.ip(&["link", "set", peer, "up"]);
    }

    /// A line of the chapter as a person types it: `gannet` is the program under test.
    fn shell(&self, at: &Netns, line: &str) -> Command {
        let programs = Path::new(GANNET).parent().unwrap().display().to_string();
        let path = format!("{programs}:{}", std::env::var("PATH").unwrap());
        let mut command = at.command("sh");
        command
            .args(["-e", "-c", &format!("exec {line}")])
            .env("PATH", path)
            .current_dir(self.directory.path());
        command
    }

    fn page(&self) -> String {
        let ask = || {
            let mut page = Vec::new();
            // The router may not listen yet.
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", 9291)) else { return page };
            stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n\r\n").unwrap();
            stream.read_to_end(&mut page).unwrap();
            page
        };
        String::from_utf8(within(&self.router, ask).join().unwrap()).unwrap()
    }

    /// A counter on the page of metrics.
    fn counter(&self, name: &str, labels: &str) -> u64 {
        let page = self.page();
        let line = page.lines().find_map(|line| line.strip_prefix(&format!("{name}{{{labels}}} ")));
        line.unwrap_or_else(|| panic!("no {name}{{{labels}}}:\n{page}")).trim().parse().unwrap()
    }

    fn stream(&self, what: &str, stream: &str) -> u64 {
        let name = format!("gannet_edge_stream_{what}_total");
        self.counter(&name, &format!("interface=\"wan\",stream=\"{stream}\""))
    }

    fn of_wan(&self, what: &str) -> u64 {
        self.counter(&format!("gannet_edge_interface_{what}"), "interface=\"wan\"")
    }
}

/// A UDP packet of so many octets to the far end.
fn packet(from: [u8; 4], to_port: u16, octets: u16) -> Vec<u8> {
    let [high, low] = octets.to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0];
    packet.extend([from, [203, 0, 113, 1]].concat());
    let checksum = (!sum(&packet)).to_be_bytes();
    packet[10..12].copy_from_slice(&checksum);
    packet.extend([4000, to_port, octets - 20, 0].map(u16::to_be_bytes).concat());
    packet.resize(octets.into(), 7);
    packet
}

fn is_of_test(packet: &[u8]) -> bool {
    packet[0] >> 4 == 4 && packet[9] == 17 && packet[4..6] == [0x12, 0x34]
}

/// The example is what the chapter explains, without its remarks.
fn chapters_configuration(chapter: &str, example: &str) {
    let edge: Vec<&str> = example
        .lines()
        .skip_while(|line| *line != "edge")
        .filter(|line| !line.trim_start().starts_with('!'))
        .collect();
    let of_chapter = blocks(chapter, "").into_iter().find(|block| block.starts_with("edge\n")).unwrap();
    assert_eq!(edge, of_chapter.lines().collect::<Vec<_>>(), "docs/edge.md and docs/examples/edge.cfg");
}

/// Starts what the chapter starts: the router after its preparations, and the line.
fn start(bed: &Bed, chapter: &str) -> (Node, Background) {
    let example = repository().join("docs/examples/edge.cfg");
    let text = std::fs::read_to_string(&example).unwrap();
    chapters_configuration(chapter, &text);
    // The page of metrics beside it, which the chapter mentions.
    let config = file(&bed.directory, "edge.cfg", &format!("metrics\n!\n{text}"));
    let first = blocks(chapter, "sh").into_iter().next().unwrap();
    let (router, preparations): (Vec<&str>, Vec<&str>) =
        first.lines().partition(|line| line.starts_with("gannet edge"));
    assert!(preparations.len() == 4 && router.len() == 1, "{first}");
    for line in preparations {
        let output = bed.shell(&bed.router, line).output().unwrap();
        assert!(output.status.success(), "{line}: {}", said(&output));
    }
    let line = router[0].replace("docs/examples/edge.cfg", &config);
    let node = Node::spawn(&bed.directory, "", bed.shell(&bed.router, &line), "edge");
    let all = [blocks(chapter, ""), blocks(chapter, "sh")].concat();
    let link = all.iter().find_map(|block| block.lines().find(|line| line.starts_with("gannet lab link")));
    let mut link = Background::start(bed.shell(&bed.middle, link.unwrap()));
    let _ = link.wait_for_line("are linked");
    wait_for("the page of metrics", || bed.page().contains("gannet_edge_interface_sent_total").then_some(()));
    (node, link)
}

fn the_chapter() {
    let bed = Bed::new();
    let chapter = std::fs::read_to_string(repository().join("docs/edge.md")).unwrap();
    let (node, mut link) = start(&bed, &chapter);
    let (mut near, mut far) = (Tap::new(&bed.near, "near"), Tap::new(&bed.far, "far"));
    // The first packet waits for the far end's Ethernet address.
    near.send(&packet(OFFICE, CALLS, 200));
    let mut arrived = Vec::new();
    wait_for("the first packet", || {
        arrived.extend(far.come(is_of_test));
        (!arrived.is_empty()).then_some(())
    });
    for _ in 1..CALL_PACKETS {
        near.send(&packet(OFFICE, CALLS, 200));
    }
    // Office and stranger send the same, in turns, until the line has long been too slow for them.
    wait_for("drops", || {
        for _ in 0..20 {
            near.send(&packet(OFFICE, OTHER, 1000));
            near.send(&packet(STRANGER, OTHER, 1000));
        }
        arrived.extend(far.come(is_of_test));
        (bed.of_wan("dropped_total") >= DROPPED).then_some(())
    });
    wait_for("empty queues", || {
        arrived.extend(far.come(is_of_test));
        (bed.of_wan("waiting") == 0).then_some(())
    });
    let sent = bed.of_wan("sent_total");
    let mut lost = 0;
    wait_for("all that was sent", || {
        arrived.extend(far.come(is_of_test));
        lost += u64::from(far.socket.dropped_before().unwrap());
        (arrived.len() as u64 + lost >= sent).then_some(())
    });
    assert_eq!(arrived.len() as u64 + lost, sent, "{}", node.log());

    // The code points of the rules, and who got how much.
    let count = |code_point: u8| arrived.iter().filter(|packet| packet[1] == code_point << 2).count() as u64;
    let [calls, office, rest] = [46, 10, 0].map(count);
    assert_eq!(calls + office + rest, arrived.len() as u64);
    assert!(calls <= CALL_PACKETS && calls + lost >= CALL_PACKETS, "{calls}");
    assert_eq!((bed.stream("sent", "voice"), bed.stream("dropped", "voice")), (CALL_PACKETS, 0));
    let (sent_office, dropped_office) = (bed.stream("sent", "office"), bed.stream("dropped", "office"));
    assert!(office <= sent_office && sent_office <= office + lost);
    // Of the same that both have sent: the office gets its reservation and a share, and the stranger a share.
    let dropped_stranger = bed.of_wan("dropped_total") - dropped_office;
    let sent_stranger = sent - sent_office - CALL_PACKETS;
    assert_eq!(sent_office + dropped_office, sent_stranger + dropped_stranger);
    assert!(sent_office > sent_stranger, "{sent_office} and {sent_stranger}");

    // Rules, streams and rates change while it runs; the lines for a GGSN are not of this test.
    const OF_ROUTER: &str = "gannet vty 127.0.0.1:4291 ";
    let vty = [blocks(&chapter, ""), blocks(&chapter, "sh")].concat();
    let changes: Vec<&str> =
        vty.iter().flat_map(|block| block.lines()).filter(|line| line.starts_with(OF_ROUTER)).collect();
    assert_eq!(changes.len(), 2, "a change and a look");
    let shown: String = changes
        .iter()
        .map(|line| {
            let output = bed.shell(&bed.router, line).output().unwrap();
            assert!(output.status.success(), "{line}: {}", said(&output));
            said(&output)
        })
        .collect();
    assert!(shown.contains(&format!("stream office (af, 1200 kbit/s): {sent_office} packets")), "{shown}");
    link.signal("TERM");
    assert!(link.wait_for_line("m-near -> m-far:").contains(" 0 refused, 0 lost"));
}

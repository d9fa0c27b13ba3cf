//! The page of metrics and the control interface over real sockets, polled as an event loop polls them.

use gannet_machine::time::{Duration, Instant};
use gannet_ops::connections::{Connections, Limits};
use gannet_ops::ctrl::{self, Control, Dialogue};
use gannet_ops::metrics::http::{LIMITS, Scrape};
use gannet_ops::metrics::{Class, Group, Level, Metric, Rates, Source};
use std::io::{Read, Write};
use std::net::TcpStream;

const PART: Class = Class { name: "", osmocom: "sgsn", title: "SGSN", level: Level::Global, lines: None };
const HELP: &str = "a help text that is long enough to fill the buffers of a socket after a while of writing";

/// A node with very many metrics, which come in very many parts.
#[derive(Default)]
struct Node {
    rates: Rates,
    parts: usize,
    traps: Vec<(&'static str, String)>,
}

impl Source for Node {
    fn element(&self) -> &'static str {
        "sgsn"
    }

    fn groups(&mut self, part: usize, groups: &mut Vec<Group>) -> bool {
        let mut group = Group::labelled(&PART, vec![("part", format!("{part}-{HELP}"))]);
        group.add(Metric::counter("taken", HELP, 1));
        groups.push(group);
        part + 1 < self.parts
    }
}

impl Control for Node {
    fn get(&mut self, variable: &str) -> Option<Result<String, String>> {
        (variable == "name").then(|| Ok("a node".to_owned()))
    }

    fn rates(&self) -> &Rates {
        &self.rates
    }

    fn traps(&mut self) -> Vec<(&'static str, String)> {
        core::mem::take(&mut self.traps)
    }
}

fn bind<C: gannet_ops::connections::Conversation>(limits: Limits) -> Connections<C> {
    Connections::bind("test", "127.0.0.1:0".parse().expect("an address"), limits).expect("a free port")
}

fn connect<C: gannet_ops::connections::Conversation>(connections: &Connections<C>) -> TcpStream {
    TcpStream::connect(connections.local_addr().expect("bound")).expect("a listener")
}

const AT: Instant = Instant(1_000_000_000);

#[test]
fn who_reads_nothing_is_cut_and_holds_nobody_up() {
    let (mut page, mut node) = (bind::<Scrape>(LIMITS), Node { parts: 60_000, ..Node::default() });
    let mut silent = connect(&page);
    silent.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut quick = connect(&page);
    quick.write_all(b"GET /nothing HTTP/1.1\r\n\r\n").unwrap();
    while page.poll(AT, &mut node) || page.count() != 1 {}
    let mut answer = String::new();
    quick.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert_eq!(page.next_deadline(), Some(AT + LIMITS.patience));
    page.poll(AT + LIMITS.patience, &mut node);
    assert_eq!((page.count(), page.next_deadline()), (0, None));
    let mut octets = Vec::new();
    // The rest of what was sent, and then the end or a reset.
    let _ = silent.read_to_end(&mut octets);
    assert!(octets.len() < 60_000 * HELP.len(), "only a part of the page came");
}

#[test]
fn a_large_page_comes_whole_and_in_turns() {
    let (mut page, mut node) = (bind::<Scrape>(LIMITS), Node { parts: 2000, ..Node::default() });
    let mut peer = connect(&page);
    peer.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    while page.count() == 0 {
        page.poll(AT, &mut node);
    }
    let mut turns = 0;
    while page.count() > 0 {
        page.poll(AT, &mut node);
        turns += 1;
    }
    let mut answer = String::new();
    peer.read_to_string(&mut answer).unwrap();
    assert_eq!(answer.matches("\ngannet_sgsn_taken_total{").count(), 2000);
    assert!(turns > 2000, "a part a turn: {turns}");
}

#[test]
fn the_oldest_gives_way() {
    let limits = Limits { connections: 2, ..ctrl::LIMITS };
    let (mut ctrl, mut node) = (bind::<Dialogue>(limits), Node::default());
    let mut peers = Vec::new();
    for at in 0..3 {
        peers.push(connect(&ctrl));
        let mut opened = 0;
        while opened == 0 {
            ctrl.poll(AT + Duration::from_secs(at), &mut node);
            opened += ctrl.opened().count();
        }
    }
    assert_eq!(ctrl.count(), 2);
    assert_eq!(peers.remove(0).read(&mut [0; 8]).unwrap(), 0, "the first one was cut");
}

/// As an event loop does it: nothing is polled that was not ready, and nothing said that there is more.
#[test]
fn one_request_after_the_other() {
    let (mut ctrl, mut node) = (bind::<Dialogue>(ctrl::LIMITS), Node { parts: 3, ..Node::default() });
    let mut peer = connect(&ctrl);
    while ctrl.count() == 0 {
        ctrl.poll(AT, &mut node);
    }
    for id in 0..50 {
        let request = format!("GET {id} name");
        let mut octets = Vec::new();
        gannet_wire::ipa::put_extension(ctrl::EXTENSION, request.as_bytes(), &mut octets);
        // Two of them at once: the second may come while the first is worked at.
        peer.write_all(&[octets.clone(), octets].concat()).unwrap();
        // One that says that it has no more has read all that had come before.
        while ctrl.poll(AT, &mut node) {}
        let wanted = format!("GET_REPLY {id} name a node");
        for _ in 0..2 {
            let mut header = [0; 4];
            peer.read_exact(&mut header).unwrap();
            let mut text = vec![0; wanted.len()];
            peer.read_exact(&mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
    }
}

fn next_text(peer: &mut TcpStream) -> String {
    let mut header = [0; 4];
    peer.read_exact(&mut header).expect("a header");
    let mut text = vec![0; usize::from(u16::from_be_bytes([header[0], header[1]])) - 1];
    peer.read_exact(&mut text).expect("the rest");
    String::from_utf8(text).expect("text")
}

#[test]
fn all_who_are_connected_hear_traps_once_and_between_answers() {
    let (mut ctrl, mut node) = (bind::<Dialogue>(ctrl::LIMITS), Node { parts: 3, ..Node::default() });
    let mut peers = [connect(&ctrl), connect(&ctrl)];
    while ctrl.count() < peers.len() {
        ctrl.poll(AT, &mut node);
    }
    let mut octets = Vec::new();
    gannet_wire::ipa::put_extension(ctrl::EXTENSION, b"GET 7 name", &mut octets);
    peers[1].write_all(&octets).unwrap();
    node.traps = vec![("cdr-v1", "a,b".to_owned()), ("cdr-v1", "c".to_owned())];
    while ctrl.poll(AT, &mut node) {}
    for peer in &mut peers {
        assert_eq!([next_text(peer), next_text(peer)], ["TRAP 0 cdr-v1 a,b", "TRAP 0 cdr-v1 c"]);
    }
    assert_eq!((next_text(&mut peers[1]), ctrl.news_lost()), ("GET_REPLY 7 name a node".to_owned(), 0));
    node.traps = vec![("x", "y".to_owned())];
    while ctrl.poll(AT, &mut node) {}
    assert_eq!(next_text(&mut peers[0]), "TRAP 0 x y");
}

/// A burst that is larger than what may wait: its beginning goes out, the rest is counted, and what comes later is heard.
#[test]
fn of_a_burst_of_news_what_has_room_goes_out() {
    let (mut ctrl, mut node) = (bind::<Dialogue>(ctrl::LIMITS), Node::default());
    let mut peer = connect(&ctrl);
    while ctrl.count() == 0 {
        ctrl.poll(AT, &mut node);
    }
    let value = |number: usize| format!("{number:0996}");
    let octets_each = 4 + "TRAP 0 x ".len() + 996;
    let have_room = ctrl::LIMITS.news_octets / octets_each;
    node.traps = (0..have_room + 7).map(|number| ("x", value(number))).collect();
    ctrl.poll(AT, &mut node);
    assert_eq!(ctrl.news_lost(), 7);
    let heard = std::thread::spawn(move || {
        for number in 0..have_room {
            assert_eq!(next_text(&mut peer), format!("TRAP 0 x {}", value(number)));
        }
        peer
    });
    while !heard.is_finished() {
        ctrl.poll(AT, &mut node);
    }
    let mut peer = heard.join().expect("all that had room");
    node.traps = vec![("x", "later".to_owned())];
    while ctrl.poll(AT, &mut node) {}
    assert_eq!((next_text(&mut peer).as_str(), ctrl.news_lost()), ("TRAP 0 x later", 7));
}

/// Who listens and does not read misses news, and is not fed without end.
#[test]
fn news_that_nobody_reads_are_lost_by_count() {
    let (mut ctrl, mut node) = (bind::<Dialogue>(ctrl::LIMITS), Node::default());
    let _silent = connect(&ctrl);
    while ctrl.count() == 0 {
        ctrl.poll(AT, &mut node);
    }
    let mut told = 0;
    while ctrl.news_lost() == 0 {
        assert!(told < 100_000, "a socket takes less than 6 GB");
        node.traps = vec![("x", "y".repeat(60_000))];
        ctrl.poll(AT, &mut node);
        told += 1;
    }
    assert_eq!(ctrl.count(), 1);
}

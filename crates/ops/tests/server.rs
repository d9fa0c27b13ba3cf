//! The VTY over real sockets, polled as an event loop polls it.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod common;

use common::Node;
use gannet_machine::time::{Duration, Instant};
use gannet_ops::Sgsn;
use gannet_ops::config::ExecTimeout;
use gannet_ops::vty::Server;
use gannet_ops::vty::server::{Change, SESSIONS_MAX};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

fn server() -> (Server<Sgsn>, Node) {
    let server = Server::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    (server, Node::default())
}

const NOW: Instant = Instant(5);
const LATER: Instant = Instant(6);

/// Polls until a peer has got this.
fn read_up_to(peer: &mut TcpStream, server: &mut Server<Sgsn>, now: Instant, node: &mut Node, text: &str) {
    peer.set_nonblocking(true).unwrap();
    let (mut heard, mut octets) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&heard).contains(text) {
        server.poll(now, node);
        match peer.read(&mut octets) {
            Ok(length) => {
                assert!(length > 0, "it was closed");
                heard.extend_from_slice(&octets[..length]);
            }
            Err(_) => std::thread::yield_now(),
        }
    }
    peer.set_nonblocking(false).unwrap();
}

/// What a peer gets up to the end.
fn to_the_end(peer: &mut TcpStream) -> String {
    let mut octets = Vec::new();
    peer.read_to_end(&mut octets).unwrap();
    String::from_utf8_lossy(&octets).into_owned()
}

fn connect(server: &Server<Sgsn>) -> TcpStream {
    TcpStream::connect(server.local_addr().expect("bound")).expect("a listener")
}

/// Polls until the server has closed a session.
fn poll_until_closed(server: &mut Server<Sgsn>, node: &mut Node) {
    loop {
        server.poll(NOW, node);
        if server.changes().any(|change| matches!(change, Change::Closed { .. })) {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn a_script_gets_its_answers_and_the_end() {
    let (mut server, mut node) = server();
    node.answer = "n_pdu_uplink 3\n".to_owned();
    let mut peer = connect(&server);
    peer.write_all(b"enable\r\nterminal length 0\r\nshow stats\r\nwho\r\nexit\r\n").unwrap();
    poll_until_closed(&mut server, &mut node);
    let mut octets = Vec::new();
    peer.read_to_end(&mut octets).unwrap();
    let text = String::from_utf8_lossy(&octets).into_owned();
    assert!(
        text.contains("GannetSGSN# show stats\r\nn_pdu_uplink 3\r\nGannetSGSN# who\r\n  vty[1] 127.0.0.1:"),
        "{text}"
    );
    assert!(text.ends_with("GannetSGSN# exit\r\n"), "{text}");
}

#[test]
fn a_peer_that_sends_no_more_still_gets_its_answer() {
    let (mut server, mut node) = server();
    let mut peer = connect(&server);
    peer.write_all(b"show version\n").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    poll_until_closed(&mut server, &mut node);
    let mut octets = Vec::new();
    peer.read_to_end(&mut octets).unwrap();
    assert!(String::from_utf8_lossy(&octets).contains("(sgsn).\r\n"));
}

#[test]
fn sessions_are_counted_told_and_limited() {
    let (mut server, mut node) = server();
    let mut peers: Vec<TcpStream> = (0..SESSIONS_MAX).map(|_| connect(&server)).collect();
    while server.sessions() < SESSIONS_MAX {
        server.poll(NOW, &mut node);
    }
    let opened: Vec<u32> = server
        .changes()
        .map(|change| match change {
            Change::Opened { number, fd } => {
                assert!(fd > 0);
                number
            }
            Change::Closed { number } => panic!("{number} was closed"),
        })
        .collect();
    assert_eq!(opened, (1..=16).collect::<Vec<_>>());

    // One more: who has typed the longest ago gives way. All but the second one have typed since.
    for (place, peer) in peers.iter_mut().enumerate().filter(|(place, _)| *place != 1) {
        write!(peer, "show history {place}\r\n").unwrap();
        read_up_to(peer, &mut server, LATER, &mut node, &format!("history {place}"));
    }
    let mut extra = connect(&server);
    while !matches!(
        server.changes().collect::<Vec<_>>()[..],
        [Change::Closed { number: 2 }, Change::Opened { number: 2, .. }]
    ) {
        server.poll(LATER, &mut node);
    }
    assert!(
        to_the_end(&mut peers[1])
            .ends_with("% Too many sessions: this one was idle for the longest time.\r\n")
    );
    extra.write_all(b"show version\r\n").unwrap();
    read_up_to(&mut extra, &mut server, LATER, &mut node, "(sgsn)");

    peers.truncate(SESSIONS_MAX - 1);
    while server.sessions() == SESSIONS_MAX {
        server.poll(LATER, &mut node);
    }
    assert_eq!(server.changes().last(), Some(Change::Closed { number: 16 }));
}

#[test]
fn a_session_in_which_nobody_types_ends() {
    let (mut server, mut node) = server();
    let (mut idle, mut following) = (connect(&server), connect(&server));
    following.write_all(b"logging enable\r\nlogging filter all 1\r\n").unwrap();
    read_up_to(&mut following, &mut server, NOW, &mut node, "filter all 1\r\nGannetSGSN> ");
    while server.sessions() < 2 {
        server.poll(NOW, &mut node);
    }
    let minutes = |minutes: u64| NOW + Duration::from_secs(60 * minutes);
    assert_eq!(server.next_deadline(), Some(minutes(10)));
    let just_before = Instant(minutes(10).0 - 1);
    server.poll(just_before, &mut node);
    assert_eq!(server.sessions(), 2);
    // A key, and it is ten minutes again.
    idle.write_all(b"x").unwrap();
    read_up_to(&mut idle, &mut server, just_before, &mut node, "x");
    server.poll(minutes(19), &mut node);
    assert_eq!(server.sessions(), 2);
    // An operator has another opinion, and the session that shows the log stays.
    node.config.common.exec_timeout = ExecTimeout(60);
    server.poll(minutes(11), &mut node);
    assert_eq!(server.sessions(), 1);
    assert!(to_the_end(&mut idle).ends_with("Vty connection is timed out.\r\n"));
    following.write_all(b"logging disable\r\n").unwrap();
    read_up_to(&mut following, &mut server, minutes(11), &mut node, "disable\r\nGannetSGSN> ");
    node.config.common.exec_timeout = ExecTimeout(0);
    server.poll(minutes(1000), &mut node);
    assert_eq!((server.sessions(), server.next_deadline()), (1, None));
}

#[test]
fn silent_strangers_lock_nobody_out() {
    let (mut server, mut node) = server();
    let strangers: Vec<TcpStream> = (0..5 * SESSIONS_MAX).map(|_| connect(&server)).collect();
    let mut operator = connect(&server);
    operator.write_all(b"show version\r\n").unwrap();
    read_up_to(&mut operator, &mut server, NOW, &mut node, "(sgsn)");
    assert_eq!(server.sessions(), SESSIONS_MAX);
    drop(strangers);
}

#[test]
fn a_peer_that_reads_nothing_holds_nobody_up() {
    let (mut server, mut node) = server();
    node.answer = "x".repeat(79) + "\n";
    node.answer = node.answer.repeat(20_000);
    let mut silent = connect(&server);
    silent.write_all("show stats\r\n".repeat(20).as_bytes()).unwrap();
    let mut peer = connect(&server);
    peer.write_all(b"show version\r\nexit\r\n").unwrap();
    poll_until_closed(&mut server, &mut node);
    assert_eq!(server.sessions(), 1, "the silent one is still there");
    let mut octets = Vec::new();
    peer.read_to_end(&mut octets).unwrap();
    assert!(String::from_utf8_lossy(&octets).contains("(sgsn)."));
    assert!(node.counted.len() < 20, "the silent one's commands wait until it reads");
    drop(silent);
}

//! The VTY over real sockets, polled as an event loop polls it.

mod common;

use common::Node;
use gannet_ops::Sgsn;
use gannet_ops::vty::Server;
use gannet_ops::vty::server::{Change, SESSIONS_MAX};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

fn server() -> (Server<Sgsn>, Node) {
    let server = Server::bind("127.0.0.1:0".parse().expect("an address")).expect("a free port");
    (server, Node::default())
}

fn connect(server: &Server<Sgsn>) -> TcpStream {
    TcpStream::connect(server.local_addr().expect("bound")).expect("a listener")
}

/// Polls until the server has closed a session.
fn poll_until_closed(server: &mut Server<Sgsn>, node: &mut Node) {
    loop {
        server.poll(node);
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
        text.contains("Gannet# show stats\r\nn_pdu_uplink 3\r\nGannet# who\r\n  vty[1] 127.0.0.1:"),
        "{text}"
    );
    assert!(text.ends_with("Gannet# exit\r\n"), "{text}");
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
        server.poll(&mut node);
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

    let mut extra = connect(&server);
    while !server.poll(&mut node).worked {}
    let mut octets = Vec::new();
    extra.read_to_end(&mut octets).unwrap();
    assert_eq!(octets, b"% Too many sessions.\r\n");

    peers.truncate(SESSIONS_MAX - 1);
    while server.sessions() == SESSIONS_MAX {
        server.poll(&mut node);
    }
    assert_eq!(server.changes().last(), Some(Change::Closed { number: 16 }));
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

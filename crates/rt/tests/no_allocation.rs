//! Nothing is allocated per packet once the loop has warmed up, recorder included.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Relay, quiet_loop};
use gannet_machine::Port;
use gannet_machine::time::Duration;
use gannet_rt::UdpConfig;
use gannet_rt::alloc_count::{Counting, allocations};
use std::net::UdpSocket;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const BURST: u64 = 20;

fn echo_twenty_thousand(record: bool) {
    let directory = gannet_testkit::TempDir::new("gannet-allocation");
    let mut node = quiet_loop(256);
    if record {
        node.record_to(&directory.path().join("x.pcapng")).unwrap();
    }
    let echo = node.add_machine(Relay::new(true, false), |_, _, _| {});
    let config = UdpConfig::new("127.0.0.1:0".parse().unwrap()).record_as("Gb");
    let at = node.bind_udp(echo, Port(0), &config).unwrap();
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.connect(at).unwrap();
    let mut octets = [0; 400];
    let mut after_1000 = 0;
    for sent in (BURST..=20_000).step_by(20) {
        for _ in 0..BURST {
            client.send(&octets).unwrap();
        }
        while node.access().machine(echo).unwrap().seen < sent {
            node.turn(Some(Duration::from_millis(20))).unwrap();
        }
        for _ in 0..BURST {
            assert_eq!(client.recv(&mut octets).unwrap(), 400);
        }
        if sent == 1000 {
            after_1000 = allocations();
            assert!(after_1000 > 0, "the allocator counts");
        }
    }
    assert_eq!(allocations() - after_1000, 0, "allocations between packet 1000 and 20000");
    if record {
        let recorded = node.access().recorder().map(|recorder| recorder.recorded() + recorder.lost());
        assert_eq!(recorded, Some(40_000));
    }
}

#[test]
fn the_echo_loop_allocates_nothing_per_packet() {
    echo_twenty_thousand(false);
}

#[test]
fn nor_does_it_while_recording() {
    echo_twenty_thousand(true);
}

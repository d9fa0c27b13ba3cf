//! What a capture costs the thread that sees a packet, in ns a packet: a G-PDU of 500 octets is looked at and recorded.
//!
//! `cargo bench -p gannet-trace --bench record`. The output takes everything and writes nothing, so that no disk is in the figure.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use core::num::NonZeroU32;
use criterion::{Criterion, criterion_group, criterion_main};
use gannet_trace::pcapng::{Beside, Direction, LIMIT_DEFAULT, Packet, Recorder};
use gannet_trace::sight::{Choice, Eyes, Layer, Place};
use std::hint::black_box;
use std::net::SocketAddr;

const GN: Place = Place { layer: Layer::Gn, sends_downlink: false };

/// A G-PDU with a UDP datagram for the mobile of this number.
fn g_pdu(number: u8) -> Vec<u8> {
    let mut octets = vec![0x30, 0xff, 1, 0xec, 0, 0, 0, number];
    octets.extend([0x45, 0, 1, 0xec, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 51, 100, 1, 10, 0, 0, number]);
    octets.resize(500, 0x55);
    octets
}

fn record(bench: &mut Criterion) {
    let ends: (SocketAddr, SocketAddr) =
        ("192.0.2.2:2152".parse().unwrap(), "192.0.2.1:2152".parse().unwrap());
    let packets: Vec<Vec<u8>> = (0..=255).map(g_pdu).collect();
    let one_in = NonZeroU32::new(10);
    let choices = [
        ("whole", Choice::default()),
        ("headers", Choice { headers: true, one_in: None }),
        ("one subscriber of ten whole", Choice { headers: false, one_in }),
    ];
    for (name, choice) in choices {
        let mut recorder = Recorder::into_writer(Box::new(std::io::sink()), LIMIT_DEFAULT).unwrap();
        let gn = recorder.interface("Gn");
        let mut eyes = Eyes::new();
        eyes.knows_users = choice.one_in.is_some();
        eyes.knows_headers = choice.headers;
        let mut turn = packets.iter().cycle();
        bench.bench_function(name, |bench| {
            bench.iter(|| {
                let packet = Packet::Udp(ends, turn.next().unwrap());
                let seen = eyes.look(GN, Direction::In, black_box(&packet));
                if let Some(keep) = choice.keep(&seen) {
                    let beside = Beside { keep, ..Beside::whole(1, Direction::In) };
                    recorder.packet(gn, packet, &beside);
                }
            });
        });
    }
}

criterion_group!(benches, record);
criterion_main!(benches);

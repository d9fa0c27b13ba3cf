//! The segments of `lab::tcp`, field by field as tshark reads them.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_lab::link::model::{Loss, Profile};
use gannet_lab::tcp::config::Config;
use gannet_lab::tcp::path::Path;
use gannet_lab::tcp::segment::{Flags, Segment};
use gannet_machine::time::Duration;
use gannet_testkit::tshark::Capture;
use gannet_testkit::{Case, Need};
use std::process::ExitCode;

const CASES: &[Case] = &[("tshark_reads_every_field_of_a_connection", &[Need::Tshark], every_field)];
const OPTIONS: [&str; 8] = [
    "-o",
    "tcp.relative_sequence_numbers:FALSE",
    "-o",
    "tcp.check_checksum:TRUE",
    "-o",
    "ip.check_checksum:TRUE",
    "-o",
    "tcp.desegment_tcp_streams:FALSE",
];
const FIELDS: [&str; 19] = [
    "ip.src",
    "ip.dst",
    "ip.len",
    "ip.flags.df",
    "ip.checksum.status",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.flags",
    "tcp.window_size_value",
    "tcp.len",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval",
    "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.checksum.status",
];

fn main() -> ExitCode {
    gannet_testkit::main(CASES)
}

/// A connection with losses in both directions, so that blocks and doubles occur, which ends by FIN; and one that is given up.
fn connection(config: &Config, aborts: bool) -> Vec<Vec<u8>> {
    let profile = Profile {
        rate: Some(500_000),
        delay: Duration::from_millis(40),
        loss: Loss::Random(0.08),
        ..Profile::default()
    };
    let mut path = Path::new([config, config], [profile; 2], 7, [u32::MAX - 3000, 99]);
    path.keep_packets();
    path.ends[0].write(&[0x5a; 60_001]);
    if !aborts {
        path.ends[0].close();
    }
    path.settle();
    while path.step() {
        path.ends[1].read();
        if path.ends[1].has_read_all() {
            path.ends[1].close();
        }
        if aborts && path.ends[0].acknowledged() > 20_000 {
            path.ends[0].abort();
        }
        path.settle();
    }
    path.packets().iter().map(|(_, packet)| packet.clone()).collect()
}

/// The row that tshark has to give.
fn expected(packet: &[u8]) -> Vec<String> {
    let Segment { source, destination, sequence, acknowledgement, flags, window, options, payload } =
        Segment::parse(packet).unwrap();
    let some = |value: Option<String>| value.unwrap_or_default();
    let edges = |pick: fn(&(u32, u32)) -> u32| {
        options.sack.iter().map(|block| pick(block).to_string()).collect::<Vec<_>>().join(",")
    };
    vec![
        source.ip().to_string(),
        destination.ip().to_string(),
        packet.len().to_string(),
        "1".to_owned(),
        "1".to_owned(),
        source.port().to_string(),
        destination.port().to_string(),
        sequence.to_string(),
        acknowledgement.to_string(),
        format!("0x{:04x}", flags.0),
        window.to_string(),
        payload.len().to_string(),
        some(options.mss.map(|mss| mss.to_string())),
        some(options.scale.map(|scale| scale.to_string())),
        some(options.timestamps.map(|(value, _)| value.to_string())),
        some(options.timestamps.map(|(_, echo)| echo.to_string())),
        edges(|(from, _)| *from),
        edges(|(_, to)| *to),
        "1".to_owned(),
    ]
}

fn every_field() {
    let plain = Config { timestamps: false, window_scaling: false, ..Config::rfc() };
    let mut seen = Flags(0);
    let mut blocks = 0;
    for (config, aborts) in [(Config::tracing_2002(), false), (plain, false), (Config::linux_6_reno(), true)]
    {
        let packets = connection(&config, aborts);
        let mut capture = Capture::new();
        packets.iter().for_each(|packet| capture.add_packet(packet));
        let rows = capture.dissect(&OPTIONS, &FIELDS);
        for (packet, mut row) in packets.iter().zip(rows) {
            // A flag is a number or a word, by the version of tshark.
            row[3] = row[3].replace("True", "1");
            assert_eq!(row, expected(packet));
            let segment = Segment::parse(packet).unwrap();
            seen = seen.and(segment.flags);
            blocks = blocks.max(segment.options.sack.len());
        }
    }
    let all = [Flags::SYN, Flags::ACK, Flags::PSH, Flags::FIN, Flags::RST];
    assert!(all.iter().all(|flag| seen.has(*flag)), "{seen:?}");
    assert!(blocks >= 2, "{blocks}");
}

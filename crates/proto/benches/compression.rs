//! What compression costs: headers of RFC 1144 in ns per packet, data of V.42bis in ns per octet.
//!
//! V.42bis is shown for a text and for noise, which its encoder sends as it is; the throughput that criterion prints is in octets
//! of N-PDU, and its inverse is the figure. The dictionary is full all the time.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use gannet_machine::frame::{Frame, FramePool};
use gannet_proto::sndcp::rfc1144::{self, PacketType};
use gannet_proto::sndcp::{N_PDU_MAX, v42bis};
use std::hint::black_box;

#[path = "../tests/compression/tcp.rs"]
#[allow(
    dead_code,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "segments of the tests, of which one kind is enough here"
)]
mod tcp;

const TEXT: &[u8] = include_bytes!("../tests/compression/english.txt");
const N_PDU: usize = 1500;

/// Two packets of a download, one behind the other.
fn packets(pool: &FramePool) -> [Frame; 2] {
    let mut segment = tcp::Segment::new(1);
    [1400, 1400].map(|len| {
        segment.follow(len);
        pool.copy_of(&segment.emit()).unwrap()
    })
}

fn headers(criterion: &mut Criterion) {
    let pool = FramePool::new(8);
    let mut group = criterion.benchmark_group("rfc1144");
    let mut compressor = rfc1144::Compressor::new(15);
    assert_eq!(compressor.compress(&mut packets(&pool)[0]), PacketType::UncompressedTcp);
    let first = (compressor, pool.copy_of(&packets(&pool)[1]).unwrap());
    group.bench_function("compress, per packet", |bencher| {
        let fresh = || (first.0.clone(), pool.copy_of(&first.1).unwrap());
        bencher.iter_batched_ref(
            fresh,
            |(compressor, frame)| assert_eq!(compressor.compress(frame), PacketType::CompressedTcp),
            BatchSize::NumIterations(1),
        );
    });
    let (mut decompressor, [mut known, mut next]) = (rfc1144::Decompressor::new(15), packets(&pool));
    let mut compressor = rfc1144::Compressor::new(15);
    let known_type = compressor.compress(&mut known);
    decompressor.decompress(known_type, &mut known).unwrap();
    let next_type = compressor.compress(&mut next);
    group.bench_function("decompress, per packet", |bencher| {
        let fresh = || (decompressor.clone(), pool.copy_of(&next).unwrap());
        bencher.iter_batched_ref(
            fresh,
            |(decompressor, frame)| decompressor.decompress(next_type, frame).unwrap(),
            BatchSize::NumIterations(1),
        );
    });
    group.finish();
}

fn noise(len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(1);
    (0..len).map(|_| rng.u8(..)).collect()
}

fn data(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("v42bis");
    group.throughput(Throughput::Bytes(u64::try_from(N_PDU).unwrap()));
    for (name, file) in [("text", TEXT.to_vec()), ("noise", noise(40_000))] {
        let parameters = v42bis::Parameters::DEFAULT;
        let mut compressor = v42bis::Compressor::new(parameters);
        let mut out = [0; v42bis::compressed_max(N_PDU)];
        let mut n_pdus = file.chunks_exact(N_PDU).cycle();
        group.bench_function(format!("compress {name}"), |bencher| {
            bencher.iter(|| compressor.compress(black_box(n_pdus.next().unwrap()), &mut out).unwrap());
        });
        compressor.init();
        let mut compress = |n_pdu: &[u8]| {
            let len = compressor.compress(n_pdu, &mut out).unwrap();
            out.iter().copied().take(len).collect::<Vec<u8>>()
        };
        let sent: Vec<Vec<u8>> = file.chunks_exact(N_PDU).map(&mut compress).collect();
        // What was sent can be restored once, in this order.
        let mut decompressor = v42bis::Decompressor::new(parameters);
        let (mut restored, mut at) = ([0; N_PDU_MAX], 0);
        group.bench_function(format!("decompress {name}"), |bencher| {
            bencher.iter(|| {
                if at == sent.len() {
                    decompressor.init();
                    at = 0;
                }
                at += 1;
                let n_pdu = black_box(sent.get(at - 1).unwrap());
                decompressor.decompress(n_pdu, &mut restored).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(compression, headers, data);
criterion_main!(compression);

//! The FCS of LLC over the LL-PDU of an N-PDU of 400 octets and of a full-size one, by tables and as this processor does it.

#![allow(missing_docs, reason = "a benchmark")]

use criterion::{Criterion, criterion_group, criterion_main};
use gannet_machine::Fold;
use gannet_wire::fcs24::fcs24_folded;
use std::hint::black_box;

/// Octets of N-PDUs; SNDCP and LLC have seven before them.
const N_PDUS: [usize; 2] = [400, 1500];

fn measure(criterion: &mut Criterion, way: &str, fold: Option<Fold>) {
    let mut group = criterion.benchmark_group("FCS-24");
    for octets in N_PDUS {
        let ll_pdu: Vec<u8> = (0..=250).cycle().take(octets + 7).collect();
        group.bench_function(format!("{way}, {octets} octets"), |bencher| {
            bencher.iter(|| fcs24_folded(black_box(&ll_pdu), fold));
        });
    }
    group.finish();
}

fn fcs(criterion: &mut Criterion) {
    measure(criterion, "tables", None);
    measure(criterion, "this processor", gannet_rt::carryless::fold());
}

criterion_group!(benches, fcs);
criterion_main!(benches);

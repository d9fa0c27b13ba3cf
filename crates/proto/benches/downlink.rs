//! What one N-PDU of 400 octets costs on its way from Gn to Gb, layer by layer, in ns.
//!
//! Each layer does its work on one frame in place and the frame is then put back as it was, which is a matter of two
//! marks. `cargo bench -p gannet-proto` prints the table; PDUs that do not fit in one LL-PDU are shown beside it.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use criterion::{Criterion, criterion_group, criterion_main};
use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::{Ciphering, LlcContext, LlcRole};
use gannet_proto::sndcp::SndcpNsapi;
use gannet_wire::bssgp::ie::{PduLifetime, QosProfile};
use gannet_wire::bssgp::unitdata::DlUnitdata;
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::id::{Bvci, Nsapi, Sapi, Teid, Tlli};
use gannet_wire::ns;
use std::hint::black_box;

const N_PDU: usize = 400;
const SAPI: Sapi = Sapi::DATA3;
const G_PDU: GPdu = GPdu { teid: Teid(0x0100_0015), sequence: Some(1), npdu_number: None };
const TLLI: Tlli = Tlli(0xc000_0001);

fn n_pdu(pool: &FramePool, octets: usize) -> Frame {
    let octets: Vec<u8> = (0..=250).cycle().take(octets).collect();
    pool.copy_of(&octets).unwrap()
}

/// Leaves of the frame the `len` octets at `from`.
fn restore(frame: &mut Frame, from: usize, len: usize) {
    assert!(frame.narrow(from, from + len));
}

fn gtp(frame: &mut Frame) -> Teid {
    let (g_pdu, _, t_pdu) = GPdu::parse(frame).unwrap();
    assert!(frame.narrow(t_pdu.start, t_pdu.end));
    g_pdu.teid
}

fn put_gtp(frame: &mut Frame) {
    let len = frame.len();
    assert!(G_PDU.emit(len, frame.push(G_PDU.buffer_len()).unwrap()));
}

fn bssgp(frame: &mut Frame) {
    let header = DlUnitdata::new(TLLI, QosProfile::default(), PduLifetime(1000));
    let len = frame.len();
    assert!(header.emit(len, frame.push(header.buffer_len(len)).unwrap()));
}

fn network_service(frame: &mut Frame) {
    assert!(frame.prepend(&ns::Unitdata::of(Bvci(2)).emit()));
}

fn assigned() -> LlcContext {
    let mut llc = LlcContext::new(LlcRole::Sgsn);
    llc.assign(Some(TLLI), None, Ciphering::NONE);
    llc
}

fn layers(criterion: &mut Criterion) {
    let mut around = Surroundings::new(1, 64, Quiet::default());
    let mut group = criterion.benchmark_group("downlink, 400 octets");

    let mut frame = n_pdu(&around.frames, N_PDU);
    group.bench_function("GTP-U in", |bencher| {
        bencher.iter(|| {
            put_gtp(&mut frame);
            black_box(gtp(&mut frame))
        });
    });

    let mut nsapi = SndcpNsapi::new(Nsapi(5), SAPI);
    let mut segments = Batch::with_capacity(16);
    let mut held = Some(n_pdu(&around.frames, N_PDU));
    group.bench_function("SNDCP", |bencher| {
        bencher.iter(|| {
            let frame = held.take().unwrap();
            nsapi.unitdata_request(&mut around.context(), 500, frame, &mut segments).unwrap();
            let mut frame = segments.pop().unwrap();
            restore(&mut frame, 4, N_PDU);
            held = Some(frame);
        });
    });

    let mut llc = assigned();
    let mut frame = n_pdu(&around.frames, N_PDU + 4);
    for (name, protected) in [("LLC, FCS over all", true), ("LLC, FCS over header and 4 octets", false)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                llc.unitdata_request(SAPI, protected, false, &mut frame).unwrap();
                restore(&mut frame, 3, N_PDU + 4);
            });
        });
    }

    let mut frame = n_pdu(&around.frames, N_PDU + 10);
    group.bench_function("BSSGP", |bencher| {
        bencher.iter(|| {
            bssgp(&mut frame);
            let header = frame.len() - (N_PDU + 10);
            restore(&mut frame, header, N_PDU + 10);
        });
    });
    group.bench_function("NS out", |bencher| {
        bencher.iter(|| {
            network_service(&mut frame);
            restore(&mut frame, 4, N_PDU + 10);
        });
    });
    group.finish();
}

fn whole(criterion: &mut Criterion) {
    let mut around = Surroundings::new(1, 64, Quiet::default());
    let mut group = criterion.benchmark_group("downlink, GTP-U in to NS out");
    for octets in [N_PDU, 1500] {
        let mut nsapi = SndcpNsapi::new(Nsapi(5), SAPI);
        let mut llc = assigned();
        let mut segments = Batch::with_capacity(16);
        let template = n_pdu(&around.frames, octets).to_vec();
        let arrive = |frame: &mut Frame| {
            assert!(frame.append(&template));
            put_gtp(frame);
        };
        group.bench_function(
            format!("{octets} octets, the copy that the driver makes included"),
            |bencher| {
                bencher.iter(|| {
                    let mut frame = around.frames.alloc().unwrap();
                    arrive(&mut frame);
                    black_box(gtp(&mut frame));
                    nsapi.unitdata_request(&mut around.context(), 500, frame, &mut segments).unwrap();
                    while let Some(mut frame) = segments.pop() {
                        llc.unitdata_request(SAPI, true, false, &mut frame).unwrap();
                        bssgp(&mut frame);
                        network_service(&mut frame);
                        black_box(frame.len());
                    }
                });
            },
        );
    }
    group.finish();
}

criterion_group!(benches, layers, whole);
criterion_main!(benches);

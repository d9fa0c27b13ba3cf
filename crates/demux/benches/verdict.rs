//! What a packet costs in the program for Gn until it is dropped, in ns, measured by the kernel itself.
//!
//! `cargo bench -p gannet-demux --bench verdict`, as root. One packet again and again: everything it needs is in the
//! nearest cache, and no driver is in the figure.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    missing_docs,
    reason = "a benchmark fails by panicking"
)]

#[path = "../tests/common/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod common;

use common::frames::{self, OWN_V4, OWN_V6};
use gannet_demux::bpf::{Loader, TestRun, objects};
use gannet_demux::link::monotonic_ns;
use gannet_demux::{Classifier, Classify, Config};
use gannet_proto::classifier::{Block, Key, Policer, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::id::Teid;

fn run(frame: &[u8]) -> TestRun<'_> {
    TestRun {
        data: frame,
        data_out: None,
        context: None,
        context_out: None,
        repeat: 1_000_000,
        live_batch: None,
    }
}

fn median(mut measure: impl FnMut() -> u64) -> u64 {
    let mut all: Vec<u64> = (0..7).map(|_| measure()).collect();
    all.sort_unstable();
    all[3]
}

fn main() {
    if !gannet_demux::bpf::may_load() {
        println!("SKIPPED: needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN");
        return;
    }
    let g_pdu = |teid| frames::usual(2152, &frames::gtp_v1(255, teid, (Some(1), None), &[], &[0x45; 378]));
    let mut probe = Loader::new(&objects::PROBE).load().unwrap();
    probe.load_xdp("probe").unwrap();
    let bare = median(|| probe.run("probe", run(&g_pdu(1))).unwrap().duration_ns);
    println!("counting a packet twice and letting it pass: {bare} ns");
    for (what, concurrent, verify) in
        [("one CPU", false, false), ("many CPUs", true, false), ("UDP checksums", false, true)]
    {
        let config = Config {
            addresses: vec![OWN_V4.into(), OWN_V6.into()],
            concurrent,
            verify_udp_checksum: verify,
            samples_per_s: 1,
            samples_at_once: 1,
            ..Config::default()
        };
        // A TEID costs the same whatever the key is.
        let mut kernel = Classifier::load(&config).unwrap();
        let slow = Policer { rate_octets_per_s: 1, burst_octets: 1000 };
        for (teid, policer) in [(1, None), (2, Some(slow))] {
            let rule = Rule {
                key: Key::Teid(Teid(teid)),
                name: teid,
                class: Class::BestEffort,
                precedence: Precedence::Normal,
                policer,
                source: None,
            };
            kernel.apply(&RuleChange::Install(rule)).unwrap();
        }
        kernel.apply(&RuleChange::Block(Key::Teid(Teid(1)), Block::FlowControl)).unwrap();
        for (teid, name) in [(1, "blocked"), (2, "over its rate"), (3, "unknown")] {
            let ns = median(|| kernel.run(run(&g_pdu(teid))).unwrap().duration_ns);
            println!("{what}, {name}: {ns} ns");
            kernel.tables().lend_clock(monotonic_ns());
            let ns = median(|| kernel.run(run(&g_pdu(teid))).unwrap().duration_ns);
            kernel.tables().lend_clock(0);
            println!("{what}, {name}, with a time that is lent: {ns} ns");
        }
    }
}

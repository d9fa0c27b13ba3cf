//! The kernel's program and the model, given the same frames, rules and instants, say the same: verdict, metadata with the
//! ring, every counter.

use crate::common::frames::{Generator, OWN_V4, OWN_V6, PEER_V4, PEER_V6, ethernet};
use fastrand::Rng;
use gannet_demux::bpf::{TestRun, TestRunResult};
use gannet_demux::model::{Model, UplinkModel, Verdict};
use gannet_demux::reuseport::Reuseport;
use gannet_demux::{
    AtDriver, Classifier, Classify, Config, METADATA_LEN, Metadata, Ring, Totals, Uplink, UplinkConfig,
};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::{Block, Key, Policer, Rule, RuleChange};
use gannet_proto::gtp::{ContextName, TeidKey};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::id::{Bvci, Imsi, Nsapi, Nsei, Teid, Tid, Tlli, TlliKind};
use std::net::SocketAddr;

const XDP_DROP: u32 = 1;
const XDP_PASS: u32 = 2;

/// Frames of each of the four runs; together a million.
const FRAMES: u32 = 250_000;
const PLACES: u32 = 48;
pub(crate) const CONTEXTS: u32 = 40;

pub(crate) fn tid(number: u8) -> Tid {
    let digits = [0, 0, 1, 0, 1, number / 10, number % 10];
    Tid { imsi: Imsi::from_digits(digits).unwrap(), nsapi: Nsapi(5 + number % 8) }
}

/// Between the names of contexts and their TEIDs.
pub(crate) fn teid_key() -> TeidKey {
    TeidKey::new(0x5eed)
}

fn name_of(rng: &mut Rng) -> ContextName {
    // Few generations, so that many are stale; some places beyond the table.
    let generation = rng.u32(..6).saturating_sub(3);
    ContextName(rng.u32(..PLACES) | generation << 24)
}

pub(crate) fn teid_of(rng: &mut Rng) -> Teid {
    teid_key().teid(name_of(rng))
}

fn key(rng: &mut Rng) -> Key {
    if rng.u32(..4) == 0 { Key::Tid(tid(rng.u8(..30))) } else { Key::Teid(teid_of(rng)) }
}

pub(crate) fn change(rng: &mut Rng) -> RuleChange {
    let reason = if rng.bool() { Block::FlowControl } else { Block::QueueFull };
    match rng.u32(..16) {
        0..5 => {
            let key = key(rng);
            let name = match key {
                Key::Teid(teid) => teid_key().name(teid).0,
                _ => name_of(rng).0,
            };
            let policer = rng
                .bool()
                .then(|| Policer { rate_octets_per_s: 1 << rng.u32(6..16), burst_octets: rng.u32(50..1000) });
            let class = Class::ALL[rng.usize(..3)];
            let precedence = Precedence::ALL[rng.usize(..3)];
            // Mostly any or that of the frames, else another one or one of the other version.
            let source = match rng.u32(..8) {
                0..4 => None,
                4..6 => Some(PEER_V4.into()),
                6 => Some(OWN_V4.into()),
                _ => Some(PEER_V6.into()),
            };
            RuleChange::Install(Rule { key, name, class, precedence, policer, source })
        }
        5 => RuleChange::Remove(key(rng)),
        6..9 => RuleChange::Block(key(rng), reason),
        _ => RuleChange::Unblock(key(rng), reason),
    }
}

/// Fails where the program did something else than the model.
fn check(
    expected: Verdict,
    result: &TestRunResult,
    (frame, out): (&[u8], &[u8]),
    context: &dyn Fn() -> String,
) {
    let after = &out[..result.data_len];
    match expected {
        Verdict::Drop(why) => assert_eq!(result.verdict, XDP_DROP, "{why:?}, {}", context()),
        Verdict::Pass => assert_eq!((result.verdict, after), (XDP_PASS, frame), "{}", context()),
        Verdict::Redirect(metadata) => {
            // No socket is there: the kernel would get it. The metadata shows what was meant.
            assert_eq!(result.verdict, XDP_PASS, "{metadata:?}, {}", context());
            let (front, rest) = after.split_first_chunk::<METADATA_LEN>().unwrap();
            assert_eq!(Metadata::from_octets(front), Some(metadata), "{}", context());
            assert_eq!((front, rest), (&metadata.to_octets(), frame), "{}", context());
        }
    }
}

/// The ring that the model names.
fn ring_of(verdict: Verdict) -> Option<Ring> {
    match verdict {
        Verdict::Redirect(metadata) => Some(metadata.ring),
        Verdict::Pass | Verdict::Drop(_) => None,
    }
}

fn by_hand<'a>(frame: &'a [u8], out: Option<&'a mut [u8]>) -> TestRun<'a> {
    TestRun { data: frame, data_out: out, context: None, context_out: None, repeat: 1, live_batch: None }
}

/// Fails where the counters of a flow differ; how many flows there are.
pub(crate) fn same_flows(kernel: &impl Classify, model: &impl Classify) -> u32 {
    let names = (0..PLACES).flat_map(|place| (0..4).map(move |generation| place | generation << 24));
    names.fold(0, |flows, name| {
        assert_eq!(kernel.of_flow(name), model.of_flow(name), "{name:08x}");
        flows + u32::from(model.of_flow(name).is_some())
    })
}

/// One run: counts how often each verdict came, and fails where the two differ.
fn run(seed: u64, config: Config) -> Vec<(String, u64)> {
    let mut kernel = Classifier::load(&config).unwrap();
    let mut model = Model::new(config).unwrap();
    let mut rng = Rng::with_seed(seed);
    let teids = (0..60).map(|_| teid_of(&mut rng).0).collect();
    let tids = (0..40).map(|number| tid(number).to_u64()).collect();
    let mut generator = Generator { rng: rng.fork(), teids, tids, tllis: Vec::new() };
    let mut now_ns = 1_000_000_000_u64;
    let mut out = vec![0; 4096];
    let mut high = 0;
    for number in 0..FRAMES {
        while rng.u32(..12) == 0 {
            let change = change(&mut rng);
            let (a, b) = (kernel.apply(&change), model.apply(&change));
            assert_eq!(a.is_ok(), b.is_ok(), "{change:?}: {a:?} {b:?}");
        }
        now_ns += if rng.u32(..500) == 0 { rng.u64(..2_000_000_000) } else { rng.u64(..200_000) };
        kernel.tables().lend_clock(now_ns);
        let frame = generator.frame();
        let expected = model.classify(&frame, 0, now_ns);
        let result = kernel.run(by_hand(&frame, Some(&mut out)));
        let result = result.unwrap();
        let context = || format!("seed {seed}, frame {number}: {frame:02x?}");
        check(expected, &result, (&frame, &out), &context);
        high += u64::from(ring_of(expected) == Some(Ring::High));
        if number % 64 == 0 {
            assert_eq!(kernel.totals(), model.totals(), "{}", context());
        }
    }
    assert_eq!(kernel.totals(), model.totals());
    let flows = same_flows(&kernel, &model);
    assert!(flows > CONTEXTS / 2, "{flows} flows are left at the end");
    let mut seen = seen(&model.totals());
    seen.push(("ring of high precedence".to_owned(), high));
    seen
}

/// The same for the filter of the UDP sockets.
pub fn filter_and_model_agree() {
    let config = Config {
        contexts: CONTEXTS,
        tids: 64,
        samples_per_s: 500,
        teid_key: teid_key(),
        ..Config::default()
    };
    let mut kernel = Reuseport::load(&config).unwrap();
    let mut model = Model::new(config).unwrap();
    let mut rng = Rng::with_seed(5);
    let teids = (0..60).map(|_| teid_of(&mut rng).0).collect();
    let tids = (0..40).map(|number| tid(number).to_u64()).collect();
    let mut generator = Generator { rng: rng.fork(), teids, tids, tllis: Vec::new() };
    let mut now_ns = 1_000_000_000_u64;
    for number in 0..200_000 {
        while rng.u32(..12) == 0 {
            let change = change(&mut rng);
            assert_eq!(kernel.apply(&change).is_ok(), model.apply(&change).is_ok(), "{change:?}");
        }
        now_ns += if rng.u32(..500) == 0 { rng.u64(..2_000_000_000) } else { rng.u64(..200_000) };
        kernel.tables().lend_clock(now_ns);
        let datagram = generator.datagram(OWN_V4.into());
        // A type of Ethernet frame in which the kernel looks for nothing.
        let frame = ethernet(&[], 0x88b5, &datagram);
        let verdict = kernel.run(by_hand(&frame, None)).unwrap().verdict;
        let expected = model.classify_datagram(&datagram, now_ns);
        assert_eq!(
            verdict == 0,
            matches!(expected, Verdict::Drop(_)),
            "{number}: {expected:?} {datagram:02x?}"
        );
        if number % 64 == 0 {
            assert_eq!(kernel.totals(), model.totals(), "{number}: {datagram:02x?}");
        }
    }
    assert_eq!(kernel.totals(), model.totals());
    same_flows(&kernel, &model);
    for (name, count) in seen(&model.totals()) {
        let is_of_frames = name.contains("checksum") || name.contains("tlli");
        assert_eq!(count >= 200, !is_of_frames, "{name}: {count}");
    }
}

const BVCIS: u16 = 3;

fn tlli(rng: &mut Rng) -> u32 {
    // Local, foreign, random, auxiliary.
    [0xc000_0000, 0x8000_0000, 0x7800_0000, 0x7000_0000][rng.usize(..13) / 4] | rng.u32(..20)
}

fn uplink_change(rng: &mut Rng) -> RuleChange {
    let tlli = Tlli(tlli(rng));
    let key = match tlli.kind() {
        TlliKind::Local if rng.u32(..4) > 0 => Key::LocalTlli(tlli),
        _ => Key::CellTlli { nsei: Nsei(rng.u16(7..9)), bvci: Bvci(2 + rng.u16(..BVCIS)), tlli },
    };
    // Few names, so that mobiles have several TLLIs and change places.
    let name = rng.u32(..PLACES) | rng.u32(..2) << 24;
    let meant = if rng.bool() { Key::Name(name) } else { key };
    match change(rng) {
        RuleChange::Install(rule) => RuleChange::Install(Rule { key, name, ..rule }),
        RuleChange::Remove(_) => RuleChange::Remove(key),
        RuleChange::Block(_, reason) => RuleChange::Block(meant, reason),
        RuleChange::Unblock(_, reason) => RuleChange::Unblock(meant, reason),
        other @ RuleChange::Peer { .. } => other,
    }
}

fn run_uplink(seed: u64, config: UplinkConfig) {
    let mut kernel = Uplink::load(&config).unwrap();
    let mut model = UplinkModel::new(config).unwrap();
    let mut rng = Rng::with_seed(seed);
    let tllis = (0..80).map(|_| tlli(&mut rng)).collect();
    let mut generator = Generator { rng: rng.fork(), teids: Vec::new(), tids: Vec::new(), tllis };
    let mut now_ns = 1_000_000_000_u64;
    let mut out = vec![0; 4096];
    let mut high = 0;
    for number in 0..200_000 {
        while rng.u32(..6) == 0 {
            let change = uplink_change(&mut rng);
            assert_eq!(kernel.apply(&change).is_ok(), model.apply(&change).is_ok(), "{change:?}");
        }
        if rng.u32(..5000) == 0 || number == 0 {
            let nsei = (rng.u32(..5) > 0).then(|| Nsei(rng.u16(7..9)));
            let change = RuleChange::Peer { address: SocketAddr::new(PEER_V4.into(), 12345), nsei };
            kernel.apply(&change).unwrap();
            model.apply(&change).unwrap();
        }
        now_ns += if rng.u32(..500) == 0 { rng.u64(..2_000_000_000) } else { rng.u64(..200_000) };
        kernel.lend_clock(now_ns);
        let frame = generator.frame();
        let expected = model.classify(&frame, 0, now_ns);
        let result = kernel.run(by_hand(&frame, Some(&mut out))).unwrap();
        let context = || format!("seed {seed}, frame {number}: {frame:02x?}");
        check(expected, &result, (&frame, &out), &context);
        high += u32::from(ring_of(expected) == Some(Ring::High));
        if number % 64 == 0 {
            assert_eq!(kernel.totals(), model.totals(), "{}", context());
        }
    }
    assert_eq!(kernel.totals(), model.totals());
    for name in (0..PLACES).flat_map(|place| (0..2).map(move |generation| place | generation << 24)) {
        assert_eq!(kernel.of_flow(name), model.of_flow(name), "{name:08x}");
    }
    assert!(high >= 100, "{high} for the ring of high precedence");
    let not_of_gb = ["demux_unknown_context", "demux_stale_generation", "demux_bad_udp_checksum"];
    for (name, count) in seen(&model.totals()) {
        assert_eq!(count >= 100, !not_of_gb.contains(&name.as_str()), "{name}: {count}");
    }
}

/// The same for the program and the model of Gb.
pub fn uplink_program_and_model_agree() {
    let own = vec![OWN_V4.into(), OWN_V6.into()];
    for (seed, concurrent) in [(11, false), (12, true)] {
        let samples_per_s = 500;
        let base = Config {
            addresses: own.clone(),
            contexts: CONTEXTS,
            concurrent,
            samples_per_s,
            ..Config::default()
        };
        let (signalling_per_s, signalling_at_once) = (1, 2);
        let uplink = UplinkConfig {
            base,
            signalling_per_s,
            signalling_at_once,
            strangers_per_s: 200,
            strangers_at_once: 20,
            ..UplinkConfig::default()
        };
        run_uplink(seed, uplink);
    }
}

pub(crate) fn seen(totals: &Totals) -> Vec<(String, u64)> {
    let mut seen: Vec<_> = totals.drops().map(|(drop, count)| (drop.name().to_owned(), count)).collect();
    seen.extend(Class::ALL.map(|class| (format!("{class:?}"), totals.redirected(class))));
    seen.push(("sampled".to_owned(), totals.sampled()));
    seen.push(("to the kernel".to_owned(), totals.to_kernel()));
    seen
}

/// A million frames, in four set-ups.
pub fn program_and_model_agree_on_a_million_frames() {
    let own = vec![OWN_V4.into(), OWN_V6.into()];
    let base = Config {
        addresses: own,
        contexts: CONTEXTS,
        tids: 64,
        samples_per_s: 500,
        teid_key: teid_key(),
        ..Config::default()
    };
    let runs = [
        (1, Config { concurrent: false, ..base.clone() }),
        (2, Config { verify_udp_checksum: true, ..base.clone() }),
        (3, Config { addresses: Vec::new(), concurrent: false, samples_per_s: 0, ..base.clone() }),
        (4, Config { verify_udp_checksum: true, concurrent: false, ..base }),
    ];
    assert!(runs.len() as u64 * u64::from(FRAMES) >= 1_000_000);
    let runs = runs.map(|(seed, config)| {
        let checks_udp = config.verify_udp_checksum;
        let samples = config.samples_per_s > 0;
        (checks_udp, samples, std::thread::spawn(move || run(seed, config)))
    });
    for (checks_udp, samples, run) in runs {
        let seen = run.join().unwrap();
        // Nothing was compared only with nothing.
        for (name, count) in &seen {
            let must = (name != Drop::DemuxBadUdpChecksum.name() || checks_udp)
                && (name != "sampled" || samples)
                && name != Drop::DemuxUnknownTlli.name();
            assert_eq!(*count >= 200, must, "{name}: {count} of {seen:?}");
        }
    }
}

//! The loops over AF_XDP: with the classifier that the SGSN uses, and no SGSN.

use super::super::bed::GN_SGSN;
use super::template::{Ends, Template};
use super::{BATCH, COMPANION_PORT, Options, READY, TURNS, Toil, bvci, companion, teid, tlli, user_of};
use crate::measure::Bare;
use gannet_demux::bpf::XdpMode;
use gannet_demux::device::{Device, DeviceConfig, Received};
use gannet_demux::umem::{Holder, Umem};
use gannet_demux::xsk::Queue;
use gannet_demux::{AtDriver, Classifier, Classify, Config, METADATA_LEN, Metadata, Ring};
use gannet_machine::frame::{Frame, FramePool};
use gannet_proto::classifier::{Block, Key, Rule, RuleChange};
use gannet_qos::class::{Class, Precedence};
use gannet_rig::PolledSocket;
use gannet_rt::EMPTY_WHERE_POLLED;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Chunks of the UMEM.
const FRAMES: usize = 16_384;
/// Entries of each ring.
const RING: u32 = 2048;
/// Frames of best effort that are taken before real time is looked at again.
const SLICE: usize = 16;

/// How long the ring of 256 places fills before a batch is dropped.
const FILL: Duration = Duration::from_micros(60);
/// Packets of a batch that is full enough to be counted.
const FULL: u64 = 24;
/// How often is told what was dropped.
const TELL: Duration = Duration::from_millis(100);

struct Loop<'a> {
    options: &'a Options,
    umem: Umem,
    pool: FramePool,
    gn: Device,
    gb: Device,
    templates: HashMap<usize, Template>,
    ends: Ends,
    batch: Vec<Frame>,
    toil: Toil,
}

pub(super) fn run(options: &Options, going: &dyn Fn() -> bool) -> Result<(), String> {
    let gn = interface("gn0")?;
    let mut classifier = classifier(options)?;
    let attach = |classifier: &mut Classifier| {
        classifier.attach(gn.ifindex, XdpMode::Native).map_err(|error| error.to_string())
    };
    if options.bare == Bare::Drop {
        attach(&mut classifier)?;
        let companion = companion(COMPANION_PORT)?;
        gannet_rt::outln!("{READY}");
        only_drop(&classifier, &companion, going);
        return Ok(());
    }
    let mut bare = Loop::open(options, gn)?;
    classifier.set_sockets(0, bare.gn.sockets()).map_err(|error| error.to_string())?;
    attach(&mut classifier)?;
    let companion = companion(COMPANION_PORT)?;
    gannet_rt::outln!("{READY}");
    while going() {
        for _ in 0..TURNS {
            let _ = companion.poll();
            bare.turn().map_err(|error| format!("gb0: {error}"))?;
        }
    }
    Ok(())
}

/// Lets the device's ring fill up, drops a batch, and takes the time of that: `dropping_ns` and `dropped` are printed
/// every tenth of a second. So the cost is known also where no generator can reach the rate.
fn only_drop(classifier: &Classifier, companion: &PolledSocket, going: &dyn Fn() -> bool) {
    let dropped = || classifier.totals().of(gannet_machine::drops::Drop::DemuxBlocked);
    let (mut ns, mut count) = (0_u128, 0);
    let mut told = Instant::now();
    while going() {
        let filling = Instant::now();
        while filling.elapsed() < FILL {
            std::hint::spin_loop();
        }
        let before = dropped();
        let begin = Instant::now();
        let _ = companion.poll();
        let took = begin.elapsed();
        let batch = dropped() - before;
        if batch >= FULL {
            ns += took.as_nanos();
            count += batch;
        }
        if told.elapsed() >= TELL {
            told = Instant::now();
            // One line, so that its reader sees both numbers of the same moment.
            gannet_rt::outln!("dropping_ns {ns} dropped {count}");
        }
    }
}

fn interface(name: &str) -> Result<Queue, String> {
    let path = format!("/sys/class/net/{name}/ifindex");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let ifindex = text.trim().parse().map_err(|error| format!("{path}: {error}"))?;
    Ok(Queue { ifindex, queue: 0 })
}

/// The Ethernet address of a device.
fn ethernet(name: &str) -> Result<[u8; 6], String> {
    let path = format!("/sys/class/net/{name}/address");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    super::super::bed::parse_ethernet(&text).ok_or_else(|| format!("{path}: {text}"))
}

/// A context for each user; all blocked where only dropping is measured, and every second one where what exceeds is to be
/// dropped beside what is forwarded.
fn classifier(options: &Options) -> Result<Classifier, String> {
    let config = Config {
        addresses: vec![GN_SGSN.parse().map_err(|error| format!("{GN_SGSN}: {error}"))?],
        contexts: options.users.max(1),
        concurrent: false,
        samples_per_s: 0,
        ..Config::default()
    };
    let mut classifier = Classifier::load(&config).map_err(|error| error.to_string())?;
    for user in 0..options.users {
        let real_time = options.bare == Bare::TwoRings && user < options.real_time;
        let rule = Rule {
            key: Key::Teid(teid(user)),
            name: teid(user).0,
            class: if real_time { Class::RealTime } else { Class::BestEffort },
            precedence: Precedence::Normal,
            policer: None,
            source: None,
        };
        let mut apply = |change| classifier.apply(&change).map_err(|error| error.to_string());
        apply(RuleChange::Install(rule))?;
        let second = options.bare == Bare::Xsk && user % 2 == 1;
        if second || options.bare == Bare::Drop {
            apply(RuleChange::Block(rule.key, Block::FlowControl))?;
        }
    }
    Ok(classifier)
}

impl<'a> Loop<'a> {
    fn open(options: &'a Options, at: Queue) -> Result<Self, String> {
        let fail = |what: &'static str| move |error: std::io::Error| format!("{what}: {error}");
        let (umem, buffers) = Umem::new(FRAMES).map_err(fail("UMEM"))?;
        let pool = FramePool::with_buffers(buffers);
        let (Some(gn_holder), Some(gb_holder)) = (Holder::new(1), Holder::new(2)) else {
            return Err("no holders".to_owned());
        };
        let real_time = if options.bare == Bare::TwoRings { RING } else { 0 };
        let receive = DeviceConfig { rx: [0, real_time, 0, RING], tx: 0, empty: EMPTY_WHERE_POLLED };
        let send = DeviceConfig { tx: RING, ..DeviceConfig::default() };
        let gn = Device::open(&umem, None, gn_holder, at, &receive).map_err(fail("gn0"))?;
        let gb = Device::open(&umem, Some(&gn), gb_holder, interface("gb0")?, &send).map_err(fail("gb0"))?;
        let ends = Ends { from: ethernet("gb0")?, to: options.peer, port: options.port };
        let mut this = Self {
            options,
            umem,
            pool,
            gn,
            gb,
            templates: HashMap::new(),
            ends,
            batch: Vec::with_capacity(RING as usize),
            toil: Toil::of(options),
        };
        this.refill();
        Ok(this)
    }

    fn refill(&mut self) {
        let Self { gn, umem, pool, .. } = self;
        gn.refill(umem, || {
            pool.alloc().and_then(|frame| frame.into_static().ok()).map(|(buffer, ..)| buffer)
        });
    }

    /// Real time, then a slice of best effort, until both are empty.
    fn turn(&mut self) -> std::io::Result<()> {
        loop {
            let real_time = self.receive(Ring::RealTime, BATCH.unsigned_abs() as usize);
            let slice =
                if self.options.bare == Bare::TwoRings { SLICE } else { BATCH.unsigned_abs() as usize };
            let taken = real_time + self.receive(Ring::BestEffort, slice);
            if taken == 0 {
                break;
            }
            self.send()?;
        }
        self.recycle();
        self.refill();
        Ok(())
    }

    fn receive(&mut self, ring: Ring, max: usize) -> usize {
        let Self { gn, umem, pool, batch, .. } = self;
        gn.receive(umem, ring, max, |Received { buffer, start, end }| {
            let metadata = buffer
                .get(start.wrapping_sub(METADATA_LEN)..start)
                .and_then(|octets| octets.first_chunk::<METADATA_LEN>())
                .and_then(Metadata::from_octets);
            let Some(metadata) = metadata else {
                drop(pool.adopt(buffer, start, end));
                return;
            };
            let from = start + usize::from(metadata.pdu_offset);
            if let Some(mut frame) = pool.adopt(buffer, from, from + usize::from(metadata.pdu_len)) {
                // The name travels with the frame until the headers are written.
                if frame.prepend(&metadata.name.to_ne_bytes()) {
                    batch.push(frame);
                }
            }
        })
    }

    fn send(&mut self) -> std::io::Result<()> {
        let Self { gb, umem, templates, ends, batch, options, pool, toil, .. } = self;
        for mut frame in batch.drain(..) {
            let Some(name) = frame.first_chunk().map(|octets| u32::from_ne_bytes(*octets)) else { continue };
            if !frame.pull(4) {
                continue;
            }
            let len = frame.len();
            let template = templates.entry(len).or_insert_with(|| Template::new(len, Some(*ends)));
            let user = user_of(name);
            toil.spend(&frame);
            if !template.put(&mut frame, tlli(user), bvci(user, options.cells)) {
                continue;
            }
            if let Ok((buffer, start, end)) = frame.into_static()
                && let Err(buffer) = gb.send(umem, buffer, start, end)
            {
                drop(pool.adopt(buffer, 0, 0));
            }
        }
        gb.kick()?;
        Ok(())
    }

    fn recycle(&mut self) {
        let Self { gb, umem, pool, .. } = self;
        gb.complete(umem, |buffer| drop(pool.adopt(buffer, 0, 0)));
    }
}

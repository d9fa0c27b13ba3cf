//! The calendar of the generator: which flow's N-PDU is due next, in a time that does not depend on how many there are.
//!
//! The kernel's program works on the same memory in the same way (`bpf/generator.h`); here it is filled, and here it is
//! run where no kernel program may be. What leaves in which order depends on the seed alone.

use super::config::{FlowSpec, Pacing, Spacing};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use gannet_demux::bpf::MappedArray;
use gannet_rig::layout::{FLOW_EXPONENTIAL, Flow, Plan, SLOTS};

/// Slots of a window in which users are shuffled.
const SHUFFLE: u64 = 1024;
/// A window of exact pacing.
const EXACT_NS: u64 = 1024;
/// Empty slots that one call passes.
const LOOK_AHEAD: u32 = 32;
/// Values of the table of the exponential distribution.
const EXPONENTIAL: usize = 4096;

/// Where flows and slots are: in maps of the kernel, or in memory.
pub trait Memory {
    /// A flow by its number.
    fn flow(&self, number: u32) -> Option<&Flow>;
    /// A slot by its index.
    fn slot(&self, index: usize) -> Option<&AtomicU64>;
    /// The step.
    fn plan(&self) -> &Plan;
}

/// In memory.
#[derive(Debug)]
pub struct Heap {
    flows: Vec<Flow>,
    slots: Vec<AtomicU64>,
    plan: Plan,
}

impl Heap {
    /// Room for so many flows.
    #[must_use]
    pub fn new(flows: usize) -> Self {
        Self {
            flows: (0..flows).map(|_| Flow::default()).collect(),
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            plan: Plan::new(),
        }
    }
}

impl Memory for Heap {
    fn flow(&self, number: u32) -> Option<&Flow> {
        self.flows.get(number as usize)
    }
    fn slot(&self, index: usize) -> Option<&AtomicU64> {
        self.slots.get(index)
    }
    fn plan(&self) -> &Plan {
        &self.plan
    }
}

/// In the kernel's maps.
#[derive(Debug)]
pub struct Mapped {
    /// The map `flows`.
    pub flows: MappedArray<Flow>,
    /// The map `calendar`.
    pub slots: MappedArray<AtomicU64>,
    /// The map `plans`, which has one entry.
    pub plans: MappedArray<Plan>,
}

impl Memory for Mapped {
    fn flow(&self, number: u32) -> Option<&Flow> {
        self.flows.get(number as usize)
    }
    fn slot(&self, index: usize) -> Option<&AtomicU64> {
        self.slots.get(index)
    }
    fn plan(&self) -> &Plan {
        self.plans.get(0).unwrap_or_else(|| unreachable!("a map has its entries"))
    }
}

/// -ln(1 - u) in 16.16 for u in the middle of equal parts, scaled to a mean of exactly 1.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small positive numbers"
)]
pub fn exponential_table() -> Vec<u32> {
    let value = |index: usize| -(1.0 - (index as f64 + 0.5) / EXPONENTIAL as f64).ln();
    let mean = (0..EXPONENTIAL).map(value).sum::<f64>() / EXPONENTIAL as f64;
    (0..EXPONENTIAL).map(|index| (value(index) / mean * 65536.0).round() as u32).collect()
}

/// The first state of a flow's dice.
fn dice_of(seed: u64, step: u16, number: u32) -> u64 {
    // The finalizer of splitmix64.
    let mut mixed = seed ^ u64::from(step) << 48 ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn roll(flow: &Flow) -> u64 {
    let next = flow
        .dice
        .load(Relaxed)
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    flow.dice.store(next, Relaxed);
    next >> 33
}

/// The calendar over some memory.
#[derive(Debug)]
pub struct Calendar<M> {
    /// Its memory.
    pub memory: M,
    exponential: Vec<u32>,
}

impl<M: Memory> Calendar<M> {
    /// A calendar over `memory`.
    #[must_use]
    pub fn new(memory: M) -> Self {
        Self { memory, exponential: exponential_table() }
    }

    /// Enters the flows of a new step, each with its first N-PDU at a random time of its own.
    pub fn begin(&self, specs: &[FlowSpec], seed: u64, step: u16, pacing: Pacing) {
        let plan = self.memory.plan();
        let (window_ns, mask) = match pacing {
            Pacing::Exact => (EXACT_NS, 0),
            Pacing::Burst(interval) => {
                (u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX).max(EXACT_NS), SHUFFLE - 1)
            }
        };
        plan.step.store(step, Relaxed);
        plan.slot.store(0, Relaxed);
        plan.window.store(0, Relaxed);
        plan.window_ns.store(window_ns, Relaxed);
        plan.slots_mask.store(mask, Relaxed);
        plan.free_at.store(0, Relaxed);
        plan.entering.store(0, Relaxed);
        for slot in (0..SLOTS).filter_map(|index| self.memory.slot(index)) {
            slot.store(0, Relaxed);
        }
        for (number, spec) in (0_u32..).zip(specs) {
            let (Some(flow), Some(gap)) = (self.memory.flow(number), spec.gap_ns()) else { continue };
            flow.dice.store(dice_of(seed, step, number), Relaxed);
            flow.gap.store(gap, Relaxed);
            let exponential = if spec.spacing == Spacing::Exponential { FLOW_EXPONENTIAL } else { 0 };
            flow.flags.store(flow.flags.load(Relaxed) & !FLOW_EXPONENTIAL | exponential, Relaxed);
            let first = match spec.spacing {
                Spacing::Exponential => self.gap_of(flow),
                Spacing::Fixed => {
                    u64::try_from((u128::from(gap) * u128::from(roll(flow))) >> 31).unwrap_or(0)
                }
            };
            let begins = u64::try_from(spec.begins.as_nanos()).unwrap_or(u64::MAX / 2);
            flow.due.store(begins.saturating_add(first), Relaxed);
            self.enter(flow, number);
        }
    }

    fn enter(&self, flow: &Flow, number: u32) {
        let plan = self.memory.plan();
        let mask = plan.slots_mask.load(Relaxed);
        let now = plan.slot.load(Relaxed);
        let mut slot = flow.due.load(Relaxed) / plan.window_ns.load(Relaxed).max(1) * (mask + 1);
        if mask != 0 {
            slot += roll(flow) & mask;
        }
        let slot = slot.clamp(now, now + SLOTS as u64 - 1);
        let Some(head) = self.at(slot) else { return };
        flow.next.store(u32::try_from(head.load(Relaxed)).unwrap_or(0), Relaxed);
        head.store(u64::from(number) + 1, Relaxed);
    }

    fn at(&self, slot: u64) -> Option<&AtomicU64> {
        self.memory.slot(usize::try_from(slot & (SLOTS as u64 - 1)).unwrap_or(0))
    }

    fn gap_of(&self, flow: &Flow) -> u64 {
        let mut gap = (flow.gap.load(Relaxed) * self.memory.plan().stretch.load(Relaxed)) >> 16;
        if flow.flags.load(Relaxed) & FLOW_EXPONENTIAL != 0 {
            let index = usize::try_from(roll(flow) >> 19 & 4095).unwrap_or(0);
            gap = (gap * u64::from(self.exponential.get(index).copied().unwrap_or(65536))) >> 16;
        }
        gap.max(1)
    }

    /// The flow whose N-PDU is to leave now, `now` ns after the beginning of the step, with its number; its next one is
    /// entered. `None` where nothing is due, or where there was much to look through: then ask again.
    pub fn next_due(&self, now: u64) -> Option<(u32, &Flow)> {
        let plan = self.memory.plan();
        for _ in 0..LOOK_AHEAD {
            let window = plan.window.load(Relaxed);
            let slot = plan.slot.load(Relaxed);
            let head = self.at(slot)?;
            if now < window {
                return None;
            }
            let entry = head.load(Relaxed);
            let end = window + plan.window_ns.load(Relaxed);
            let Some(number) = entry.checked_sub(1).and_then(|number| u32::try_from(number).ok()) else {
                plan.slot.store(slot + 1, Relaxed);
                if (slot + 1) & plan.slots_mask.load(Relaxed) == 0 {
                    plan.window.store(end, Relaxed);
                }
                continue;
            };
            let flow = self.memory.flow(number)?;
            if flow.due.load(Relaxed) >= end {
                self.leave(head, flow);
                self.enter(flow, number);
                continue;
            }
            let due = flow.due.load(Relaxed) + self.gap_of(flow);
            flow.due.store(due, Relaxed);
            if due >= end {
                self.leave(head, flow);
                self.enter(flow, number);
            }
            return Some((number, flow));
        }
        None
    }

    fn leave(&self, head: &AtomicU64, flow: &Flow) {
        head.store(u64::from(load(&flow.next)), Relaxed);
    }
}

fn load(value: &AtomicU32) -> u32 {
    value.load(Relaxed)
}

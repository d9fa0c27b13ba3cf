//! What each mobile does: attach, activate, traffic with cell changes and a pause, relocation, detach; and again.

use super::Scale;
use super::account::Account;
use super::n_pdu::{self, Label};
use super::setup::CELLS_PER_AREA;
use core::net::Ipv4Addr;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_node::ms::{MsCommand, MsEvent};
use gannet_sim::gprs::{GprsWorld, Happening};
use gannet_sim::queue::EventQueue;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::PdpAddress;

const NSAPI: Nsapi = Nsapi(5);
/// Longer than the READY timer.
const SILENCE: Duration = Duration::from_secs(60);
/// What is under way arrives or is given up, before a mobile moves or detaches.
const SETTLE: Duration = Duration::from_secs(30);
/// Cell changes of each round; the fifth leads into another routing area.
pub const CELL_CHANGES: u32 = 10;

/// Pairs of N-PDUs, one each way, that each round takes.
pub fn pairs(scale: &Scale) -> u32 {
    u32::try_from(scale.octets.div_ceil(n_pdu::LEN as u64)).unwrap_or(u32::MAX)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Until its time comes.
    Resting,
    /// Attach and activation were ordered.
    Joining,
    /// Traffic.
    Active,
    /// A routing area update is under way.
    Updating,
    /// All was sent; what is under way arrives.
    Settling,
    /// Detach was ordered.
    Leaving,
}

#[derive(Debug)]
struct Script {
    phase: Phase,
    round: u32,
    address: Option<Ipv4Addr>,
    cell: u16,
    /// Pairs of N-PDUs, one each way, that were sent in this round.
    sent: u32,
    moved: u32,
}

/// All mobiles.
#[derive(Debug)]
pub struct Scripts {
    scripts: Vec<Script>,
    queue: EventQueue<u32>,
    rng: Rng,
    pairs: u32,
    gap: Duration,
    scale: Scale,
    done: u64,
    /// Cell changes so far.
    pub cell_changes: u64,
    /// Routing area updates that succeeded.
    pub updates: u64,
    /// Mobiles that were taken out of the SGSN and put back.
    pub relocations: u64,
}

impl Scripts {
    /// Every mobile begins in the first minute.
    pub fn new(scale: &Scale, seed: u64) -> Self {
        let mut rng = Rng::seeded(seed ^ 0x5c21_9700);
        let mut queue = EventQueue::default();
        for mobile in 0..scale.mobiles {
            queue.push(Instant::ZERO + Duration::from_secs(20) + Duration(rng.below(60_000_000_000)), mobile);
        }
        let pairs = pairs(scale);
        // A round takes its share of the time, less a minute to begin, the silence, and quiet times round each move.
        let share = scale.span.0 / u64::from(scale.rounds.max(1));
        let quiet = Duration::from_secs(60 + 20 + 40)
            + SILENCE
            + SETTLE
            + Duration::from_secs(5) * u64::from(CELL_CHANGES + 2);
        let gap = Duration(share.saturating_sub(quiet.0) * 4 / 5 / u64::from(pairs.max(1)));
        let script = |mobile: u32| Script {
            phase: Phase::Resting,
            round: 0,
            address: None,
            cell: u16::try_from(mobile % u32::from(scale.cells)).unwrap_or(0),
            sent: 0,
            moved: 0,
        };
        Self {
            scripts: (0..scale.mobiles).map(script).collect(),
            queue,
            rng,
            pairs,
            gap,
            scale: *scale,
            done: 0,
            cell_changes: 0,
            updates: 0,
            relocations: 0,
        }
    }

    /// When a mobile next does something.
    pub fn next(&self) -> Option<Instant> {
        self.queue.next()
    }

    /// Rounds that all mobiles together have ended.
    pub const fn rounds_done(&self) -> u64 {
        self.done
    }

    /// Takes what happened in the world.
    pub fn happening(&mut self, world: &mut GprsWorld, account: &mut Account, happening: Happening) {
        match happening {
            Happening::Internet(frame) => account.arrived(&frame, None),
            Happening::Ms(MsEvent::NPdu { mobile, frame, .. }) => account.arrived(&frame, Some(mobile)),
            Happening::Ms(MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. }) => {
                let now = world.now;
                if let Some(script) = self.scripts.get_mut(mobile as usize) {
                    script.address = Some(address);
                    if script.phase == Phase::Joining {
                        script.phase = Phase::Active;
                        self.queue.push(now + Duration::from_secs(5), mobile);
                    }
                }
            }
            Happening::Ms(MsEvent::Updated { mobile, .. }) => {
                let now = world.now;
                if let Some(script) = self.scripts.get_mut(mobile as usize)
                    && script.phase == Phase::Updating
                {
                    script.phase = Phase::Active;
                    self.updates += 1;
                    self.queue.push(now + Duration::from_secs(5), mobile);
                }
            }
            Happening::Ms(MsEvent::Detached { mobile, .. }) => self.detached(world.now, mobile),
            Happening::Ms(MsEvent::Deactivated { mobile, .. }) => {
                if let Some(script) = self.scripts.get_mut(mobile as usize) {
                    script.address = None;
                }
            }
            Happening::Ms(_) | Happening::Bss(_) | Happening::Sgsn(_) | Happening::Ggsn(_) => {}
        }
    }

    fn detached(&mut self, now: Instant, mobile: u32) {
        let Some(script) = self.scripts.get_mut(mobile as usize) else { return };
        script.address = None;
        if script.phase != Phase::Leaving {
            return;
        }
        self.done += 1;
        script.phase = Phase::Resting;
        script.round += 1;
        (script.sent, script.moved) = (0, 0);
        if script.round < self.scale.rounds {
            self.queue.push(now + Duration::from_secs(1 + self.rng.below(20)), mobile);
        }
    }

    /// Mobiles whose time has come do the next thing.
    pub fn run_due(&mut self, world: &mut GprsWorld, account: &mut Account) {
        while let Some(mobile) = self.queue.pop_due(world.now) {
            let Some(phase) = self.scripts.get(mobile as usize).map(|script| script.phase) else { continue };
            match phase {
                Phase::Resting => self.join(world, mobile),
                Phase::Active => self.go_on(world, account, mobile),
                Phase::Settling => {
                    self.set(mobile, Phase::Leaving);
                    world.order_ms(MsCommand::Detach { mobile, power_off: false });
                }
                Phase::Joining | Phase::Updating | Phase::Leaving => {}
            }
        }
    }

    fn set(&mut self, mobile: u32, phase: Phase) {
        if let Some(script) = self.scripts.get_mut(mobile as usize) {
            script.phase = phase;
        }
    }

    fn join(&mut self, world: &mut GprsWorld, mobile: u32) {
        self.set(mobile, Phase::Joining);
        world.order_ms(MsCommand::Attach { mobile });
        world.order_ms(MsCommand::Activate { mobile, nsapi: NSAPI, apn: None, qos: None, address: None });
    }

    /// The next pair of N-PDUs, or a move, or the pause, or the end.
    fn go_on(&mut self, world: &mut GprsWorld, account: &mut Account, mobile: u32) {
        let (pairs, gap) = (self.pairs, self.gap);
        let Some(script) = self.scripts.get_mut(mobile as usize) else { return };
        if script.sent >= pairs {
            script.phase = Phase::Settling;
            self.queue.push(world.now + SETTLE, mobile);
            return;
        }
        // Moves are spread over the round; before one, what is under way arrives.
        let due_moves = script.sent * (CELL_CHANGES + 1) / pairs.max(1);
        if script.moved < due_moves {
            script.moved += 1;
            let to_other_area = script.moved == CELL_CHANGES / 2;
            self.change_cell(world, mobile, to_other_area);
            return;
        }
        let (round, number) = (script.round, script.sent);
        script.sent += 1;
        if let Some(address) = script.address {
            for uplink in [true, false] {
                send(world, account, Label { mobile, round, number, uplink }, address);
            }
        }
        let mut pause = Duration(gap.0 / 2 + self.rng.below(gap.0.max(1)));
        if number == pairs / 4 {
            pause = SILENCE;
        }
        if number == pairs / 3 {
            self.relocate(world, mobile);
        }
        self.queue.push(world.now + pause, mobile);
    }

    fn change_cell(&mut self, world: &mut GprsWorld, mobile: u32, to_other_area: bool) {
        let cells = self.scale.cells;
        let step = if to_other_area { CELLS_PER_AREA } else { 0 };
        let within = 1 + u16::try_from(self.rng.below(u64::from(CELLS_PER_AREA) - 1)).unwrap_or(0);
        let Some(script) = self.scripts.get_mut(mobile as usize) else { return };
        let area = script.cell / CELLS_PER_AREA * CELLS_PER_AREA;
        let cell = (area + step) % cells + (script.cell % CELLS_PER_AREA + within) % CELLS_PER_AREA;
        script.cell = cell;
        self.cell_changes += 1;
        script.phase = if to_other_area { Phase::Updating } else { Phase::Active };
        world.order_ms(MsCommand::ChangeCell { mobile, cell });
        if !to_other_area {
            self.queue.push(world.now + Duration::from_secs(5), mobile);
        }
    }

    /// Takes the mobile's state out of the SGSN as octets, and puts it back.
    fn relocate(&mut self, world: &mut GprsWorld, mobile: u32) {
        let Some(imsi) = world.ms.machine.mobile(mobile).map(gannet_node::ms::mobile::Mobile::imsi) else {
            return;
        };
        let moved = world.act_sgsn(|sgsn, cx| {
            let octets = sgsn.export(cx, imsi)?;
            sgsn.import(cx, &octets).ok()
        });
        if moved.is_some() {
            self.relocations += 1;
        }
    }
}

fn send(world: &mut GprsWorld, account: &mut Account, label: Label, address: Ipv4Addr) {
    account.offered();
    let octets = n_pdu::emit(label, address);
    let Some(frame) = world.frames.copy_of(&octets) else { return };
    if label.uplink {
        world.order_ms(MsCommand::SendNpdu { mobile: label.mobile, nsapi: NSAPI, frame });
    } else {
        world.internet(frame);
    }
}

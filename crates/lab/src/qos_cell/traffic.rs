//! What the members of the cell send, and what comes of it.

use super::AtLoad;
use super::setup::{self, MEMBERS, MOBILES, Member, Service};
use core::net::Ipv4Addr;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_node::ms::{MsCommand, MsEvent};
use gannet_sim::gprs::{GprsWorld, Happening};
use gannet_sim::queue::EventQueue;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::PdpAddress;

const NSAPI: Nsapi = Nsapi(5);
/// By then all contexts are active.
const ACTIVE_BY: Duration = Duration::from_secs(60);
/// And by then queues are as long as they will be.
const WARM_UP: Duration = Duration::from_secs(30);
/// For what was sent last.
const COOL_DOWN: Duration = Duration::from_secs(60);
const IP_HEADER_LEN: usize = 20;
/// For experiments (RFC 3692).
const PROTOCOL: u8 = 253;

/// What one member sent and got while it was measured. Octets are those of LL-PDUs.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Sent towards it.
    pub offered_octets: u64,
    /// Came to it.
    pub delivered_octets: u64,
    /// Of each N-PDU that was sent while it was measured and came, how long it took.
    pub delays_ns: Vec<u64>,
    sent: u64,
}

impl Measured {
    /// N-PDUs that were sent while it was measured and never came.
    pub fn lost(&self) -> u64 {
        self.sent - self.delays_ns.len() as u64
    }
}

struct Cell {
    world: GprsWorld,
    addresses: Vec<Option<Ipv4Addr>>,
    measured: Vec<Measured>,
    window: core::ops::Range<Instant>,
}

/// One network, loaded and measured.
///
/// # Errors
/// Where it could not be set up, or a context did not become active.
pub fn measure(load: f64, span: Duration, seed: u64) -> Result<AtLoad, String> {
    let begin = Instant::ZERO + ACTIVE_BY + WARM_UP;
    let mut cell = Cell {
        world: GprsWorld::new(setup::config(seed))?,
        addresses: vec![None; MOBILES as usize],
        measured: vec![Measured::default(); MEMBERS.len()],
        window: begin..begin + span,
    };
    cell.activate()?;
    cell.send(load, seed);
    let lowered = cell.world.sgsn.machine.admission().stats().lowered;
    Ok(AtLoad { load, members: cell.measured, span_s: super::as_f64(span.0) / 1e9, lowered })
}

impl Cell {
    /// One after the other, so that it is always the last one for whom there is no room.
    fn activate(&mut self) -> Result<(), String> {
        self.world.start();
        for mobile in 0..MOBILES {
            self.run_until(Instant::ZERO + Duration::from_secs(5 + 3 * u64::from(mobile)));
            let qos = Some(Member::of(mobile).profile());
            self.world.order_ms(MsCommand::Activate { mobile, nsapi: NSAPI, apn: None, qos, address: None });
        }
        self.run_until(Instant::ZERO + ACTIVE_BY);
        match self.addresses.iter().position(Option::is_none) {
            Some(mobile) => Err(format!("the context of mobile {mobile} did not become active")),
            None => Ok(()),
        }
    }

    fn send(&mut self, load: f64, seed: u64) {
        let mut rng = Rng::seeded(seed ^ 0x9a05_ce11);
        let mut due = EventQueue::default();
        for member in 0..MEMBERS.len() {
            due.push(self.world.now + gap(member, load, &mut rng), member);
        }
        while let Some(next) = due.next().filter(|next| *next < self.window.end) {
            self.run_until(next);
            while let Some(member) = due.pop_due(self.world.now) {
                self.send_one(member);
                due.push(self.world.now + gap(member, load, &mut rng), member);
            }
        }
        self.run_until(self.window.end + COOL_DOWN);
    }

    fn send_one(&mut self, member: usize) {
        let now = self.world.now;
        let (Some(of), Some(Some(address))) = (MEMBERS.get(member), self.addresses.get(member)) else {
            return;
        };
        let octets = emit(*address, of.n_pdu_octets, now);
        if let Some(measured) = self.measured.get_mut(member).filter(|_| self.window.contains(&now)) {
            measured.offered_octets += of.on_air();
            measured.sent += 1;
        }
        if let Some(frame) = self.world.frames.copy_of(&octets) {
            self.world.internet(frame);
        }
    }

    fn run_until(&mut self, until: Instant) {
        loop {
            self.world.run_until(until);
            if self.world.happenings.is_empty() {
                return;
            }
            while let Some(happening) = self.world.happenings.pop_front() {
                self.happened(happening);
            }
        }
    }

    fn happened(&mut self, happening: Happening) {
        match happening {
            Happening::Ms(MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. }) => {
                if let Some(place) = self.addresses.get_mut(mobile as usize) {
                    *place = Some(address);
                }
            }
            Happening::Ms(MsEvent::NPdu { mobile, frame, .. }) => {
                let (now, member) = (self.world.now, mobile as usize);
                let (Some(sent), Some(measured)) = (sent_at(&frame), self.measured.get_mut(member)) else {
                    return;
                };
                if self.window.contains(&now) {
                    measured.delivered_octets += Member::of(mobile).on_air();
                }
                if self.window.contains(&sent) {
                    measured.delays_ns.push(now.since(sent).0);
                }
            }
            Happening::Ms(_)
            | Happening::Bss(_)
            | Happening::Sgsn(_)
            | Happening::Ggsn(_)
            | Happening::Internet(_) => {}
        }
    }
}

/// Until the next N-PDU of a member: regular for real time, half to one and a half times the mean for others.
fn gap(member: usize, load: f64, rng: &mut Rng) -> Duration {
    let Some(member) = MEMBERS.get(member) else { return Duration::from_secs(1) };
    let mean_ns = super::as_f64(member.on_air()) * 1e9 / member.offers(load).max(1.0);
    let factor = if member.service == Service::RealTime { 1.0 } else { 0.5 + rng.unit() };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some seconds at the most")]
    let ns = (mean_ns * factor) as u64;
    Duration(ns)
}

/// An IPv4 packet that says when it was sent.
fn emit(to: Ipv4Addr, len: u64, sent: Instant) -> Vec<u8> {
    let len = u16::try_from(len).unwrap_or(u16::MAX);
    let mut octets = vec![0x45, 0];
    octets.extend(len.to_be_bytes());
    octets.extend([0, 0, 0, 0, 64, PROTOCOL, 0, 0, 203, 0, 113, 1]);
    octets.extend(to.octets());
    let sum: u32 =
        octets.chunks(2).map(|pair| pair.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet))).sum();
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or(u16::MAX);
    if let Some(checksum) = octets.get_mut(10..12) {
        checksum.copy_from_slice(&sum.to_be_bytes());
    }
    octets.extend(sent.0.to_be_bytes());
    octets.resize(len.into(), 0);
    octets
}

fn sent_at(octets: &[u8]) -> Option<Instant> {
    octets.get(IP_HEADER_LEN..)?.first_chunk().map(|octets| Instant(u64::from_be_bytes(*octets)))
}

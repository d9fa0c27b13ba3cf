//! An SGSN's and a mobile's LLC, and a path between them in virtual time, over which one file goes down.

use crate::llc_end::End;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_proto::llc::abm::{Options, Windows};
use gannet_proto::llc::{LlcOutput, LlcRole, Terms};
use gannet_sim::link::{Fate, Link, LinkProfile};
use gannet_sim::queue::EventQueue;
use gannet_wire::llc::{Control, Header};

/// Octets of information in each I frame.
pub(super) const UNIT_OCTETS: usize = 500;
/// What the path carries downlink; uplink nothing waits.
pub(super) const OCTETS_PER_S: u64 = 20_000;
/// A transfer that takes longer has failed.
const LONGEST: Duration = Duration::from_secs(100_000);

/// One transfer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conditions {
    pub options: Options,
    /// kD and kU; m is no limit.
    pub k: u8,
    pub round_trip: Duration,
    /// Of frames in each direction.
    pub loss: f64,
    pub units: u32,
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    /// From when the link was established to the confirmation of the last unit.
    pub took: Duration,
    /// I frames that the SGSN sent.
    pub i_frames: u64,
    /// S frames that the mobile sent.
    pub acknowledgements: u64,
    /// The longest time for which V(A) stood while something was not acknowledged.
    pub longest_stall: Duration,
    /// How often the link was established, the first time included.
    pub establishments: u32,
    /// How often it was given up, and layer 3 had it established again.
    pub given_up: u32,
}

struct Path {
    terms: Terms,
    units: u32,
    sgsn: End,
    ms: End,
    down: Link,
    up: Link,
    /// What arrives, and whether at the mobile.
    arrivals: EventQueue<(bool, Vec<u8>)>,
    rng: Rng,
    now: Instant,
    given: u32,
    confirmed: u32,
    arrived: u32,
    established_at: Option<Instant>,
    standing_since: Instant,
    outcome: Outcome,
}

/// A file goes from the SGSN to the mobile.
///
/// # Errors
/// What must not happen: a unit that is lost, doubled or out of order.
pub(super) fn transfer(conditions: &Conditions) -> Result<Outcome, String> {
    let mut path = Path::new(conditions);
    path.establish();
    path.settle()?;
    while path.confirmed < path.units {
        path.step()?;
    }
    path.outcome.took = path.now.since(path.established_at.ok_or("it was never established")?);
    if path.arrived < path.units {
        return Err(format!("{} units were confirmed and {} arrived", path.units, path.arrived));
    }
    Ok(path.outcome)
}

impl Path {
    fn new(conditions: &Conditions) -> Self {
        let Conditions { options, k, round_trip: Duration(round_trip), loss, units, seed } = *conditions;
        let windows = Windows { iov_i: 0, m_sent: 0, m_received: 0, k_sent: k, k_received: k };
        let profile = LinkProfile { delay: Duration(round_trip / 2), loss, ..LinkProfile::default() };
        Self {
            terms: Terms { options, windows: Some(windows), ..Terms::default() },
            units,
            sgsn: End::new(LlcRole::Sgsn, seed),
            ms: End::new(LlcRole::Ms, seed),
            down: Link::new(LinkProfile { rate_octets_per_s: Some(OCTETS_PER_S), ..profile }),
            up: Link::new(profile),
            arrivals: EventQueue::default(),
            rng: Rng::seeded(seed),
            now: Instant::ZERO,
            given: 0,
            confirmed: 0,
            arrived: 0,
            established_at: None,
            standing_since: Instant::ZERO,
            outcome: Outcome {
                took: Duration::ZERO,
                i_frames: 0,
                acknowledgements: 0,
                longest_stall: Duration::ZERO,
                establishments: 0,
                given_up: 0,
            },
        }
    }

    fn establish(&mut self) {
        self.sgsn.establish(self.terms.clone());
    }

    /// Goes to the next moment at which something happens.
    fn step(&mut self) -> Result<(), String> {
        let wakes = [self.sgsn.around.timers.next(), self.ms.around.timers.next()];
        let next = wakes.into_iter().chain([self.arrivals.next()]).flatten().min();
        self.now = next.ok_or("nothing happens any more")?.max(self.now);
        if self.now > Instant::ZERO + LONGEST {
            return Err("it takes too long".to_owned());
        }
        (self.sgsn.around.now, self.ms.around.now) = (self.now, self.now);
        while let Some((to_ms, octets)) = self.arrivals.pop_due(self.now) {
            if to_ms { self.ms.receive(&octets) } else { self.sgsn.receive(&octets) }?;
            self.settle()?;
        }
        self.sgsn.wake(self.now);
        self.ms.wake(self.now);
        self.settle()
    }

    /// Carries out what both ends want, until they want no more.
    fn settle(&mut self) -> Result<(), String> {
        loop {
            while let Some(output) = self.sgsn.out.pop() {
                self.of_sgsn(output)?;
            }
            while let Some(output) = self.ms.out.pop() {
                self.of_ms(output)?;
            }
            self.give()?;
            if self.sgsn.out.is_empty() && self.ms.out.is_empty() {
                break;
            }
        }
        self.sgsn.arm();
        self.ms.arm();
        Ok(())
    }

    /// Gives the SGSN's LLC as much of the file as it takes.
    fn give(&mut self) -> Result<(), String> {
        while self.given < self.units && self.sgsn.has_room() {
            let mut unit = [0; UNIT_OCTETS];
            for (octet, of_number) in unit.iter_mut().zip(self.given.to_be_bytes()) {
                *octet = of_number;
            }
            if self.confirmed == self.given {
                self.standing_since = self.now;
            }
            if !self.sgsn.give(self.given, &unit)? {
                break;
            }
            self.given += 1;
        }
        Ok(())
    }

    fn of_sgsn(&mut self, output: LlcOutput) -> Result<(), String> {
        match output {
            LlcOutput::Transmit { frame, .. } => self.send(true, &frame),
            LlcOutput::DataConfirm { confirmed, .. } if confirmed.reference == self.confirmed => {
                self.stood();
                self.confirmed += u32::from(confirmed.count);
            }
            LlcOutput::EstablishConfirm { .. } => {
                self.established_at = self.established_at.or(Some(self.now));
                self.outcome.establishments += 1;
                (self.given, self.standing_since) = (self.confirmed, self.now);
            }
            LlcOutput::ReleaseIndication { .. } => {
                self.outcome.given_up += 1;
                self.establish();
            }
            // The link is dead: what is not confirmed is given again when it is established anew.
            LlcOutput::Status { .. } => {
                if self.given > self.confirmed {
                    self.stood();
                }
                self.given = self.confirmed;
            }
            LlcOutput::Returned { .. } | LlcOutput::Room { .. } => {}
            other @ (LlcOutput::DataConfirm { .. }
            | LlcOutput::Unitdata { .. }
            | LlcOutput::XidIndication(_)
            | LlcOutput::XidConfirm { .. }
            | LlcOutput::Layer3XidConfirm { .. }
            | LlcOutput::Reset
            | LlcOutput::EstablishIndication(_)
            | LlcOutput::ReleaseConfirm { .. }
            | LlcOutput::Data { .. }) => return Err(format!("the SGSN's LLC says {other:?}")),
        }
        Ok(())
    }

    /// V(A) has stood until now.
    fn stood(&mut self) {
        let stood = self.now.since(self.standing_since);
        self.outcome.longest_stall = self.outcome.longest_stall.max(stood);
        self.standing_since = self.now;
    }

    fn of_ms(&mut self, output: LlcOutput) -> Result<(), String> {
        match output {
            LlcOutput::Transmit { frame, .. } => self.send(false, &frame),
            LlcOutput::EstablishIndication(indication) => {
                let End { around, llc, out } = &mut self.ms;
                llc.establish_response(&mut around.context(), *indication, self.terms.clone(), out);
            }
            LlcOutput::Data { frame, .. } => {
                let number = frame.first_chunk().map(|octets| u32::from_be_bytes(*octets));
                // What was not confirmed comes again where the link was established anew.
                let is_again =
                    number.is_some_and(|number| number < self.arrived) && self.outcome.establishments > 1;
                if number == Some(self.arrived) {
                    self.arrived += 1;
                } else if !is_again {
                    return Err(format!("unit {number:?} came in place of {}", self.arrived));
                }
            }
            LlcOutput::Status { .. } | LlcOutput::Room { .. } => {}
            other @ (LlcOutput::DataConfirm { .. }
            | LlcOutput::Returned { .. }
            | LlcOutput::Unitdata { .. }
            | LlcOutput::XidIndication(_)
            | LlcOutput::XidConfirm { .. }
            | LlcOutput::Layer3XidConfirm { .. }
            | LlcOutput::Reset
            | LlcOutput::EstablishConfirm { .. }
            | LlcOutput::ReleaseIndication { .. }
            | LlcOutput::ReleaseConfirm { .. }) => return Err(format!("the mobile's LLC says {other:?}")),
        }
        Ok(())
    }

    fn send(&mut self, to_ms: bool, octets: &[u8]) {
        let mut octets = octets.to_vec();
        if let Ok(parsed) = Header::parse(&octets) {
            match parsed.header.control {
                Control::I { .. } => self.outcome.i_frames += u64::from(to_ms),
                Control::S { .. } => self.outcome.acknowledgements += u64::from(!to_ms),
                Control::Ui { .. } | Control::U { .. } => {}
            }
        }
        let link = if to_ms { &mut self.down } else { &mut self.up };
        match link.send(self.now, &mut self.rng, &mut octets) {
            Fate::Lost => {}
            Fate::Once(at) | Fate::Twice(at, _) => self.arrivals.push(at, (to_ms, octets)),
        }
    }
}

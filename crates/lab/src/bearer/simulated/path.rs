//! LLC of a mobile and of an SGSN over a bearer, with a source that always has something at either end.

use super::super::sequence::numbers::Sequence;
use super::line::Line;
use crate::llc_end::{End, SAPI};
use gannet_machine::time::{Duration, Instant};
use gannet_proto::llc::abm::{Options, Shared, Windows};
use gannet_proto::llc::{LlcOutput, LlcRole, Terms};

/// The ends by their places.
pub const MOBILE: usize = 0;
/// The network.
pub const NETWORK: usize = 1;
/// An establishment that takes longer has failed.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(60);

/// How both ends are set.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Retransmission and timer.
    pub options: Options,
    /// k in both directions; m is no limit.
    pub k: u8,
    /// T200.
    pub t200_tenths: u16,
    /// N201-I.
    pub n201_i: u16,
}

impl Settings {
    fn terms(self) -> Terms {
        let windows = Windows { iov_i: 0, m_sent: 0, m_received: 0, k_sent: self.k, k_received: self.k };
        let shared =
            Shared { n201_i: Some(self.n201_i), t200_tenths: Some(self.t200_tenths), ..Shared::default() };
        Terms { options: self.options, windows: Some(windows), shared, ..Terms::default() }
    }
}

/// What one end has been given and what the other has got of that.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    given: u32,
    confirmed: u32,
    arrived: u32,
}

/// Both ends.
pub struct Path {
    line: Line,
    /// Beside the bearer in use: what a bearer of before still brings.
    before: Option<Line>,
    ends: [End; 2],
    settings: Settings,
    /// All that have gone over the bearer.
    frames: u64,
    /// From each end.
    flows: [Flow; 2],
    /// Octets of the units of a source that always has something, by the end that has it.
    greedy: [Option<usize>; 2],
    /// Octets of the units with which an end answers each second that arrives, as TCP does.
    answers: [Option<usize>; 2],
    /// Answers that are due at each end.
    due: [u32; 2],
    /// When units arrived from an end that always has something.
    pub arrivals: Vec<Instant>,
    /// I frames of the network, as it sends them and learns of them.
    pub numbers: Sequence,
    now: Instant,
    is_established: bool,
    /// Establishments, the first included.
    pub establishments: u32,
    /// I frames that the network has sent and those that it has sent again before the last establishment.
    repeated_before: u32,
}

impl Path {
    /// With acknowledged mode established over a bearer.
    ///
    /// # Errors
    /// A sentence: it could not be.
    pub fn new(line: Line, settings: Settings, seed: u64) -> Result<Self, String> {
        let ends = [End::new(LlcRole::Ms, seed), End::new(LlcRole::Sgsn, seed.wrapping_add(1))];
        let mut path = Self {
            line,
            before: None,
            ends,
            settings,
            frames: 0,
            flows: [Flow::default(); 2],
            greedy: [None; 2],
            answers: [None; 2],
            due: [0; 2],
            arrivals: Vec::new(),
            numbers: Sequence::of_frames(),
            now: Instant::ZERO,
            is_established: false,
            establishments: 0,
            repeated_before: 0,
        };
        path.ends[NETWORK].establish(settings.terms());
        path.settle()?;
        while !path.is_established {
            path.step()?;
            if path.now > Instant::ZERO + ESTABLISHED_WITHIN {
                return Err("acknowledged mode was not established".to_owned());
            }
        }
        Ok(path)
    }

    /// The time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// From now on an end always has units of so many octets.
    ///
    /// # Errors
    /// What must not happen.
    pub fn has_always(&mut self, end: usize, octets: usize) -> Result<(), String> {
        if let Some(greedy) = self.greedy.get_mut(end) {
            *greedy = Some(octets);
        }
        self.settle()
    }

    /// From now on an end answers each second unit with one of so many octets.
    pub fn answers(&mut self, end: usize, octets: usize) {
        if let Some(answers) = self.answers.get_mut(end) {
            *answers = Some(octets);
        }
    }

    /// Goes on until then.
    ///
    /// # Errors
    /// What must not happen: a unit that is lost, doubled or out of order.
    pub fn run_until(&mut self, until: Instant) -> Result<(), String> {
        while self.next().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.now = self.now.max(until);
        Ok(())
    }

    /// Units of these lengths go from an end to the other. How long until all have arrived.
    ///
    /// # Errors
    /// The same.
    pub fn carry(&mut self, end: usize, units: &[usize]) -> Result<Duration, String> {
        let begun = self.now;
        self.set_now(self.now);
        for octets in units {
            self.give(end, *octets)?;
        }
        self.settle()?;
        while self.flows.get(end).is_some_and(|flow| flow.arrived < flow.given) {
            self.step()?;
        }
        Ok(self.now.since(begun))
    }

    /// Another bearer is used from now on. What is on its way over that of before arrives, where it is not `cut`.
    pub fn change(&mut self, line: Line, cut: bool) {
        let mut before = core::mem::replace(&mut self.line, line);
        if cut {
            before.cut();
        }
        self.before = Some(before);
    }

    /// I frames and S frames that have gone over the bearer, with all others, so far.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// I frames that the network has sent more than once.
    pub fn repeated(&self) -> u32 {
        let [_, network] = &self.ends;
        self.repeated_before + network.llc.abm(SAPI).map_or(0, |abm| abm.retransmissions())
    }

    fn next(&self) -> Option<Instant> {
        let timers = self.ends.iter().filter_map(|end| end.around.timers.next());
        let lines = [Some(&self.line), self.before.as_ref()].into_iter().flatten().filter_map(Line::next);
        timers.chain(lines).min()
    }

    fn set_now(&mut self, now: Instant) {
        self.now = now;
        for end in &mut self.ends {
            end.around.now = now;
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let next = self.next().ok_or("nothing happens any more")?.max(self.now);
        self.set_now(next);
        while let Some((end, ll_pdu)) =
            self.line.deliver(next).or_else(|| self.before.as_mut().and_then(|line| line.deliver(next)))
        {
            if end == NETWORK {
                self.numbers.ll_pdu(next, &ll_pdu, false);
            }
            if let Some(end) = self.ends.get_mut(end) {
                end.receive(&ll_pdu)?;
            }
            self.settle()?;
        }
        for end in &mut self.ends {
            end.wake(next);
        }
        self.settle()
    }

    /// Carries out what both ends want, until they want no more.
    fn settle(&mut self) -> Result<(), String> {
        loop {
            for place in [MOBILE, NETWORK] {
                while let Some(output) = self.ends.get_mut(place).and_then(|end| end.out.pop()) {
                    self.output(place, output)?;
                }
            }
            for place in [MOBILE, NETWORK] {
                self.give_answers(place)?;
                while let Some(octets) = self.greedy.get(place).copied().flatten()
                    && self.is_established
                    && self.ends.get(place).is_some_and(End::has_room)
                {
                    if !self.give(place, octets)? {
                        break;
                    }
                }
            }
            if self.ends.iter().all(|end| end.out.is_empty()) {
                break;
            }
        }
        self.ends.iter_mut().for_each(End::arm);
        Ok(())
    }

    /// Gives the answers that are due at an end, as far as there is room.
    fn give_answers(&mut self, place: usize) -> Result<(), String> {
        while let Some(octets) = self.answers.get(place).copied().flatten()
            && self.due.get(place).is_some_and(|due| *due > 0)
            && self.ends.get(place).is_some_and(End::has_room)
            && self.give(place, octets)?
        {
            if let Some(due) = self.due.get_mut(place) {
                *due -= 1;
            }
        }
        Ok(())
    }

    fn give(&mut self, place: usize, octets: usize) -> Result<bool, String> {
        let (Some(end), Some(flow)) = (self.ends.get_mut(place), self.flows.get_mut(place)) else {
            return Ok(false);
        };
        let mut unit = vec![0; octets];
        for (octet, of_number) in unit.iter_mut().zip(flow.given.to_be_bytes()) {
            *octet = of_number;
        }
        let is_taken = end.give(flow.given, &unit)?;
        flow.given += u32::from(is_taken);
        Ok(is_taken)
    }

    fn output(&mut self, place: usize, output: LlcOutput) -> Result<(), String> {
        let Some(flow) = self.flows.get_mut(place) else { return Ok(()) };
        match output {
            LlcOutput::Transmit { frame, .. } => {
                if place == NETWORK {
                    self.numbers.ll_pdu(self.now, &frame, true);
                }
                self.frames += 1;
                self.line.send(place, self.now, frame.to_vec());
            }
            LlcOutput::DataConfirm { confirmed, .. } if confirmed.reference == flow.confirmed => {
                flow.confirmed += u32::from(confirmed.count);
            }
            LlcOutput::EstablishConfirm { .. } => self.established(),
            LlcOutput::EstablishIndication(indication) => {
                let terms = self.settings.terms();
                if let Some(End { around, llc, out }) = self.ends.get_mut(place) {
                    llc.establish_response(&mut around.context(), *indication, terms, out);
                }
            }
            LlcOutput::Data { frame, .. } => return self.arrived(1 - place, &frame),
            // The link is dead: what is not confirmed is given again when it is established anew.
            LlcOutput::Status { .. } => {
                flow.given = flow.confirmed;
                self.is_established = false;
                self.repeated_before = self.repeated();
            }
            LlcOutput::ReleaseIndication { .. } => {
                if let Some(end) = self.ends.get_mut(NETWORK) {
                    end.establish(self.settings.terms());
                }
            }
            LlcOutput::Returned { .. }
            | LlcOutput::Room { .. }
            | LlcOutput::XidIndication(_)
            | LlcOutput::XidConfirm { .. } => {}
            other @ (LlcOutput::DataConfirm { .. }
            | LlcOutput::Unitdata { .. }
            | LlcOutput::Layer3XidConfirm { .. }
            | LlcOutput::Reset
            | LlcOutput::ReleaseConfirm { .. }) => return Err(format!("an LLC says {other:?}")),
        }
        Ok(())
    }

    fn established(&mut self) {
        self.is_established = true;
        self.establishments += 1;
        for flow in &mut self.flows {
            flow.given = flow.confirmed;
        }
    }

    /// A unit from an end has come to the other.
    fn arrived(&mut self, from: usize, unit: &[u8]) -> Result<(), String> {
        let Some(flow) = self.flows.get_mut(from) else { return Ok(()) };
        let number = unit.first_chunk().map(|octets| u32::from_be_bytes(*octets));
        if number == Some(flow.arrived) {
            flow.arrived += 1;
            if let Some(due) = self.due.get_mut(1 - from) {
                *due += u32::from(flow.arrived.is_multiple_of(2));
            }
            if self.greedy.get(from).is_some_and(Option::is_some) {
                self.arrivals.push(self.now);
            }
            return Ok(());
        }
        // What was not confirmed comes again where the link was established anew.
        let is_again = number.is_some_and(|number| number < flow.arrived) && self.establishments > 1;
        if is_again { Ok(()) } else { Err(format!("unit {number:?} came in place of {}", flow.arrived)) }
    }
}

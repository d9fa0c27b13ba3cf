//! Numbered lines of everything that an SGSN takes and gives, from which a simulator can run it again
//! (`docs/decisions/045-recordings-hold-no-key.md`).
//!
//! | file | what |
//! |---|---|
//! | [`line`] | one line, written and read |
//! | `clear` | LL-PDUs without their cipher |
//! | `vectors` | test vectors in the place of the HLR's |
//!
//! No key stands in a recording, and nothing from which one follows. A replay has the test vectors' keys, by which it ciphers
//! what was ciphered.

mod clear;
pub mod line;
#[cfg(test)]
mod tests;
mod vectors;

pub use clear::cipher;
pub use vectors::TEST_KEYS;

use super::{GTP_C, GTP_C_SECOND, HLR, Sgsn, SgsnEvent, is_gb};
use core::fmt::{self, Write as _};
use gannet_machine::rng::Rng;
use gannet_machine::tap::Tap;
use gannet_machine::time::Instant;
use gannet_machine::{Input, Output, Peer, Port, StreamState};
use gannet_proto::classifier::RuleChange;
use gannet_proto::gtp::TeidKey;
use gannet_proto::ipa_stream::Splitter;
use gannet_wire::id::Sapi;
use gannet_wire::ipa;
use gannet_wire::llc::Header;
use line::{Line, Way, What};

/// All that an SGSN throws dice for, from one number.
#[derive(Debug, Clone)]
pub struct Dice {
    /// Between contexts and their TEIDs.
    pub teid_key: TeidKey,
    /// Of its tables.
    pub tables: u64,
    /// What its driver lends it.
    pub rng: Rng,
}

impl Dice {
    /// Of this number.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::seeded(seed);
        let mut half = || u128::from(rng.u64());
        let teid_key = TeidKey::new(half() << 64 | half());
        Self { teid_key, tables: rng.u64(), rng: rng.fork() }
    }
}

/// What stands before the lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Where all dice come from ([`Dice`]).
    pub seed: u64,
    /// The restart counter of that start.
    pub restart_counter: u8,
    /// The configuration.
    pub config: String,
}

/// The first line of every recording.
const FIRST: &str = "gannet sgsn recording 1";

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST}\nseed {:016x}\nrestart-counter {}", self.seed, self.restart_counter)?;
        self.config.lines().try_for_each(|line| writeln!(f, "| {line}"))
    }
}

/// A recording that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// What it begins with.
    pub head: Head,
    /// Its lines, each with its place in the file.
    pub lines: Vec<(usize, Line)>,
}

impl Recording {
    /// Reads a file. Empty lines and lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// A sentence with the number of the line that is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut head = Head { seed: 0, restart_counter: 0, config: String::new() };
        let mut lines = Vec::new();
        let mut all = (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        if all.next().is_none_or(|(_, line)| line != FIRST) {
            return Err(format!("a recording begins with '{FIRST}'"));
        }
        for (place, text) in all {
            let wrong = || format!("line {place} is none of a recording");
            if let Some(config) = text.strip_prefix('|') {
                head.config.push_str(config.strip_prefix(' ').unwrap_or(config));
                head.config.push('\n');
            } else if let Some(seed) = text.strip_prefix("seed ") {
                head.seed = u64::from_str_radix(seed, 16).map_err(|_| wrong())?;
            } else if let Some(counter) = text.strip_prefix("restart-counter ") {
                head.restart_counter = counter.parse().map_err(|_| wrong())?;
            } else if let Some(missing) = text.strip_prefix("lost ") {
                return Err(format!("line {place}: {missing} octets of lines are missing here"));
            } else {
                lines.push((place, Line::parse(text).ok_or_else(wrong)?));
            }
        }
        Ok(Self { head, lines })
    }
}

/// The longest message of the HLR that is recorded whole.
const HLR_MESSAGE_MAX: usize = ipa::PAYLOAD_MAX;
/// Messages of GTP between SGSNs that carry keys: SGSN CONTEXT REQUEST, RESPONSE and ACKNOWLEDGE (29.060 clause 7.5).
const SGSN_CONTEXT: core::ops::RangeInclusive<u8> = 50..=52;
/// Octets of a GTP header that stay of those.
const GTP_HEADER_LEN: usize = 8;

/// Writes what an SGSN takes and gives.
pub struct Recorder {
    /// Takes whole lines.
    sink: Box<dyn FnMut(&str)>,
    text: String,
    number: u64,
    links: clear::Links,
    vectors: vectors::Vectors,
    from_hlr: Splitter,
    to_hlr: Splitter,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({} lines)", self.number)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.rests();
    }
}

impl Recorder {
    /// One that gives its lines to `sink`, those of a batch together.
    #[must_use]
    pub fn new(head: &Head, sink: Box<dyn FnMut(&str)>) -> Self {
        let stream = || Splitter::new(HLR_MESSAGE_MAX);
        let (from_hlr, to_hlr) = (stream(), stream());
        let text = head.to_string();
        Self {
            sink,
            text,
            number: 0,
            links: Default::default(),
            vectors: Default::default(),
            from_hlr,
            to_hlr,
        }
    }

    fn line(&mut self, line: &Line) {
        self.number += 1;
        // Writing into a string succeeds.
        let _ = writeln!(self.text, "{} {line}", self.number);
    }

    fn passed(&mut self, now: Instant, way: Way, what: What) {
        self.line(&Line::Passed(now, way, what));
    }

    fn datagram(&mut self, now: Instant, sgsn: &Sgsn, way: Way, (port, peer): (Port, Peer), octets: &[u8]) {
        if port == HLR {
            return self.of_hlr(now, way, octets);
        }
        let mut octets = octets.to_vec();
        let mut mark = None;
        if is_gb(port) {
            match clear::ll_pdu_of(way, &octets) {
                Some((tlli, at)) => {
                    let ll_pdu = octets.get_mut(at..).unwrap_or_default();
                    match self.links.clear(sgsn, (way, tlli), ll_pdu) {
                        Ok(found) => mark = found,
                        Err(()) => self.notes(now, "the next LL-PDU is ciphered, and nobody knows how"),
                    }
                    let layout = Header::parse(ll_pdu).ok();
                    let is_whole = layout.is_some_and(|layout| layout.fcs_is_right(ll_pdu));
                    let is_gmm = layout.is_some_and(|layout| layout.header.sapi == Sapi::GMM);
                    if is_gmm && self.vectors.replace(ll_pdu) && is_whole {
                        clear::seal(ll_pdu);
                    }
                }
                None => _ = self.vectors.replace(&mut octets),
            }
        }
        if matches!(port, GTP_C | GTP_C_SECOND)
            && octets.get(1).is_some_and(|kind| SGSN_CONTEXT.contains(kind))
        {
            octets.get_mut(GTP_HEADER_LEN..).unwrap_or_default().fill(0);
        }
        self.passed(now, way, What::Datagram(port, peer, mark, octets));
    }

    /// Whole messages, so that a vector is seen whole.
    fn of_hlr(&mut self, now: Instant, way: Way, octets: &[u8]) {
        let stream = if way == Way::In { &mut self.from_hlr } else { &mut self.to_hlr };
        stream.push(octets);
        let mut messages = Vec::new();
        while let Ok(Some(message)) = stream.next_message() {
            let mut whole = Vec::new();
            if ipa::put(message.protocol, message.payload, &mut whole) {
                if let Some((ipa::EXTENSION_GSUP, gsup)) = message.extension().filter(|_| way == Way::In) {
                    self.vectors.learn(gsup);
                }
                messages.push(whole);
            }
        }
        for mut message in messages {
            self.vectors.replace(&mut message);
            self.passed(now, way, What::Datagram(HLR, Peer::Link, None, message));
        }
    }
}

impl Tap<Sgsn> for Recorder {
    fn takes(&mut self, now: Instant, sgsn: &Sgsn, input: &Input<super::SgsnCommand>) {
        let what = match input {
            Input::Datagram { port, peer, frame } => {
                return self.datagram(now, sgsn, Way::In, (*port, *peer), frame);
            }
            Input::Classified { port, name, frame } => What::Classified(*port, *name, frame.to_vec()),
            Input::Stream { port, state } => {
                if *state == StreamState::Connected {
                    self.from_hlr.clear();
                    self.to_hlr.clear();
                }
                What::Stream(*port, *state)
            }
            Input::Command(command) => What::Command(command.clone()),
            // It follows from the time.
            Input::Timeout(_) => return,
        };
        self.passed(now, Way::In, what);
    }

    fn gives(&mut self, now: Instant, sgsn: &Sgsn, output: &Output<SgsnEvent, RuleChange>) {
        match output {
            Output::Transmit { port, peer, frame } => {
                self.datagram(now, sgsn, Way::Out, (*port, *peer), frame);
            }
            Output::Disconnect(port) => self.passed(now, Way::Out, What::Disconnect(*port)),
            // Not of the network.
            Output::Classify(_) | Output::Event(_) => {}
        }
    }

    fn notes(&mut self, now: Instant, what: &str) {
        self.line(&Line::Note(now, what.to_owned()));
    }

    fn rests(&mut self) {
        if !self.text.is_empty() {
            (self.sink)(&self.text);
            self.text.clear();
        }
    }
}

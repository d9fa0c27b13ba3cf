//! Runs a recording of an SGSN again, in virtual time: the same inputs at their times, and the outputs compared.
//!
//! Wake-ups come when they are due, so that a recorded output, which a loop in real time gave somewhat later, may come up to
//! [`TOLERANCE`] before or behind its time. Their order is that of the recording.

use crate::driven::Driven;
use core::cell::RefCell;
use core::fmt;
use gannet_machine::frame::FramePool;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Input};
use gannet_node::sgsn::recording::line::{Line, Way, What};
use gannet_node::sgsn::recording::{Head, Recorder, Recording, cipher};
use gannet_node::sgsn::{Sgsn, SgsnCommand};
use std::rc::Rc;

/// How far an output may be from its time.
pub const TOLERANCE: Duration = Duration::from_millis(100);

/// What was the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// Inputs that were given.
    pub inputs: usize,
    /// Outputs that were as recorded.
    pub outputs: usize,
    /// Remarks of the recorder: what happened past the inputs, as a change by an operator.
    pub notes: usize,
}

/// Why a recording is not as this SGSN is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// It cannot be run.
    Unusable(String),
    /// An output is another one, or is missing.
    Expected {
        /// The line of the file.
        line: usize,
        /// What stands there.
        recorded: String,
        /// What came, if anything came.
        came: Option<String>,
    },
    /// An output that the recording does not have.
    Unexpected(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => f.write_str(why),
            Self::Expected { line, recorded, came: Some(came) } => {
                write!(f, "line {line}: recorded\n  {recorded}\nbut came\n  {came}")
            }
            Self::Expected { line, recorded, came: None } => {
                write!(f, "line {line}: recorded\n  {recorded}\nbut nothing came")
            }
            Self::Unexpected(came) => write!(f, "not in the recording:\n  {came}"),
        }
    }
}

impl core::error::Error for Mismatch {}

/// A node under replay.
struct Replay {
    sgsn: Driven<Sgsn, Quiet>,
    frames: FramePool,
    came: Rc<RefCell<String>>,
    batch: Batch<Input<SgsnCommand>>,
}

impl Replay {
    fn new(head: &Head, sgsn: Sgsn, rng: Rng, frames: usize) -> Self {
        let frames = FramePool::new(frames);
        let mut sgsn = Driven::new(sgsn, Quiet::default(), rng, frames.clone());
        let came = Rc::new(RefCell::new(String::new()));
        let its = Rc::clone(&came);
        let sink = Box::new(move |text: &str| its.borrow_mut().push_str(text));
        sgsn.tap = Some(Box::new(Recorder::new(head, sink)));
        Self { sgsn, frames, came, batch: Batch::default() }
    }

    fn input(&self, what: &What) -> Result<Input<SgsnCommand>, String> {
        let frame = |octets: &[u8]| self.frames.copy_of(octets).ok_or("no frame is left");
        Ok(match what {
            What::Datagram(port, peer, mark, octets) => {
                let mut octets = octets.clone();
                if let Some(mark) = mark {
                    cipher(*mark, &mut octets).ok_or("it has no LL-PDU that could be ciphered so")?;
                }
                Input::Datagram { port: *port, peer: *peer, frame: frame(&octets)? }
            }
            What::Classified(port, name, octets) => {
                Input::Classified { port: *port, name: *name, frame: frame(octets)? }
            }
            What::Stream(port, state) => Input::Stream { port: *port, state: *state },
            What::Command(command) => Input::Command(command.clone()),
            What::Disconnect(_) => return Err("a node takes no disconnect".to_owned()),
        })
    }

    /// All wake-ups before `until`.
    fn sleep_until(&mut self, until: Instant) {
        while let Some(at) = self.sgsn.next_wake().filter(|at| *at < until) {
            self.sgsn.turn(at, &mut Batch::default(), drop, drop);
        }
    }

    /// What was collected at a time goes in, as one batch.
    fn give(&mut self, at: Option<Instant>) {
        let Some(at) = at else { return };
        self.sleep_until(at);
        let mut batch = core::mem::take(&mut self.batch);
        self.sgsn.turn(at, &mut batch, drop, drop);
    }

    fn note(&mut self, at: Instant, text: &str) {
        self.sleep_until(at);
        if let Some(tap) = &mut self.sgsn.tap {
            tap.notes(at, text);
            tap.rests();
        }
    }
}

/// Records an SGSN, with its dice and its frames, that takes the inputs of a recording.
///
/// # Errors
/// An input that cannot be given.
pub fn record(recording: &Recording, sgsn: (Sgsn, Rng, usize)) -> Result<String, Mismatch> {
    let (machine, rng, frames) = sgsn;
    let mut replay = Replay::new(&recording.head, machine, rng, frames);
    // When what is collected came.
    let mut batch_at = None;
    let mut end = Instant::ZERO;
    for (place, line) in &recording.lines {
        let (Line::Passed(at, ..) | Line::Note(at, _)) = *line;
        end = end.max(at);
        let is_input = matches!(line, Line::Passed(_, Way::In, _));
        replay.give(batch_at.take_if(|earlier| !is_input || *earlier != at));
        match line {
            Line::Passed(_, Way::In, what) => {
                let input = replay.input(what);
                replay.batch.push(input.map_err(|why| Mismatch::Unusable(format!("line {place}: {why}")))?);
                batch_at = Some(at);
            }
            Line::Passed(_, Way::Out, _) => {}
            Line::Note(_, text) => replay.note(at, text),
        }
    }
    replay.give(batch_at);
    replay.sleep_until(end + Duration(1));
    let came = replay.came.borrow().clone();
    Ok(came)
}

/// Runs a recording again with the SGSN that its head asks for: the node, its dice and its frames.
///
/// # Errors
/// The first difference.
pub fn replay(recording: &Recording, sgsn: (Sgsn, Rng, usize)) -> Result<Replayed, Mismatch> {
    let came = Recording::parse(&record(recording, sgsn)?).map_err(Mismatch::Unusable)?;
    let outputs = compare(&outputs(recording), &outputs(&came))?;
    let count =
        |is_wanted: fn(&Line) -> bool| recording.lines.iter().filter(|(_, line)| is_wanted(line)).count();
    let inputs = count(|line| matches!(line, Line::Passed(_, Way::In, _)));
    Ok(Replayed { inputs, outputs, notes: count(|line| matches!(line, Line::Note(..))) })
}

fn outputs(recording: &Recording) -> Vec<(usize, Instant, &What)> {
    let mut all = Vec::new();
    for (place, line) in &recording.lines {
        if let Line::Passed(at, Way::Out, what) = line {
            all.push((*place, *at, what));
        }
    }
    all
}

/// Each recorded output against the one that came in its place.
fn compare(
    recorded: &[(usize, Instant, &What)],
    came: &[(usize, Instant, &What)],
) -> Result<usize, Mismatch> {
    let mut came = came.iter();
    let show = |at: Instant, what: &What| Line::Passed(at, Way::Out, what.clone()).to_string();
    for (line, at, what) in recorded {
        let next = came.next();
        let is_same = next.is_some_and(|(_, came_at, came)| {
            what == came && at.since(*came_at).max(came_at.since(*at)) <= TOLERANCE
        });
        if !is_same {
            let came = next.map(|(_, at, what)| show(*at, what));
            return Err(Mismatch::Expected { line: *line, recorded: show(*at, what), came });
        }
    }
    match came.next() {
        Some((_, at, what)) => Err(Mismatch::Unexpected(show(*at, what))),
        None => Ok(recorded.len()),
    }
}

//! Small machines for the tests of the loop.

#![allow(dead_code, reason = "each test program uses its share")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    missing_docs,
    reason = "a test fails by panicking"
)]

use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port, StreamState};
use gannet_rt::log::LogSink;
use gannet_rt::{BusyPoll, Clock, EventLoop, LoopConfig};

/// A loop that takes no signals and locks no memory.
pub fn quiet_loop(frames: usize) -> EventLoop {
    polling_loop(frames, BusyPoll::Off)
}

/// The same that polls.
pub fn polling_loop(frames: usize, busy_poll: BusyPoll) -> EventLoop {
    let clock = Clock::start();
    let quiet = LoopConfig { signals: false, lock_memory: false, seed: Some(1), ..LoopConfig::default() };
    let config = LoopConfig { frames, busy_poll, ..quiet };
    EventLoop::new(config, clock, LogSink::new(clock)).unwrap()
}

/// What a [`Relay`] is told.
#[derive(Debug)]
pub enum Order {
    /// Send these octets.
    Send(Port, Peer, Vec<u8>),
    /// Wake at these spans from now.
    Wake(Vec<Duration>),
    /// Give up the connection.
    Disconnect(Port),
    /// Say `Stopped` and let the loop hear of it.
    Stop,
}

/// What it tells.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// A datagram.
    Got(Port, Peer, Vec<u8>),
    /// A wake-up that was due at the first instant and came at the second.
    Woken(TimerKey, Instant, Instant),
    /// A stream was connected or lost.
    Stream(Port, StreamState),
    /// The end.
    Stopped,
}

/// Sends what it gets to where `answer` says, tells what it got, and does as ordered.
pub struct Relay {
    pub out: Batch<Output<Told>>,
    /// Sends a datagram back where it came from.
    pub echo: bool,
    /// Tells each datagram.
    pub tell: bool,
    /// Keeps the frames that it gets.
    pub hold: Option<Vec<Frame>>,
    /// Datagrams seen.
    pub seen: u64,
    due: Vec<Instant>,
}

impl Relay {
    pub fn new(echo: bool, tell: bool) -> Self {
        Self { out: Batch::with_capacity(256), echo, tell, hold: None, seen: 0, due: Vec::new() }
    }
}

impl Machine for Relay {
    type Command = Order;
    type Event = Told;
    type Rule = core::convert::Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<Order>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port, peer, frame } => {
                    self.seen += 1;
                    if self.tell {
                        self.out.push(Output::Event(Told::Got(port, peer, frame.to_vec())));
                    }
                    if let Some(held) = &mut self.hold {
                        held.push(frame);
                    } else if self.echo {
                        self.out.push(Output::Transmit { port, peer, frame });
                    }
                }
                Input::Classified { .. } => {}
                Input::Stream { port, state } => self.out.push(Output::Event(Told::Stream(port, state))),
                Input::Timeout(key) => {
                    let due = self.due[key.slot as usize];
                    self.out.push(Output::Event(Told::Woken(key, due, cx.now)));
                }
                Input::Command(Order::Send(port, peer, octets)) => {
                    let frame = cx.frames.copy_of(&octets).unwrap();
                    self.out.push(Output::Transmit { port, peer, frame });
                }
                Input::Command(Order::Wake(spans)) => {
                    for span in spans {
                        let key = TimerKey { owner: 0, slot: self.due.len() as u32, generation: 0 };
                        self.due.push(cx.now + span);
                        cx.timers.wake(key, cx.now + span);
                    }
                }
                Input::Command(Order::Disconnect(port)) => self.out.push(Output::Disconnect(port)),
                Input::Command(Order::Stop) => self.out.push(Output::Event(Told::Stopped)),
            }
        }
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<Told>>) {
        while let Some(output) = self.out.pop() {
            outputs.push(output);
        }
    }
}

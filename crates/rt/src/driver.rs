//! One machine in the loop, with what is its own: its wake-ups, its dice, its batches.

use crate::carryless;
use crate::io::{Arrival, Io, Origin};
use crate::outside::Outside;
use crate::prefetch::PREFETCH;
use core::any::Any;
use gannet_machine::rng::Rng;
use gannet_machine::tap::Tap;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{TimerKey, Timers};
use gannet_machine::trace::{Category, Level, TraceSink as _};
use gannet_machine::{Batch, Context, Input, Machine, Output, Port, StreamState};
use gannet_proto::forwarding::DriverRule;

/// Wake-ups that a machine gets in one round; more of them come in the next, which begins at once.
const WAKE_UPS_PER_ROUND: usize = 1024;

/// What is done with a machine's events.
pub(crate) type OnEvent<M> = Box<dyn FnMut(&mut M, <M as Machine>::Event, &mut Outside<'_>)>;

/// A machine and its surroundings.
pub(crate) struct Driver<M: Machine> {
    pub(crate) machine: M,
    pub(crate) rng: Rng,
    pub(crate) timers: Timers,
    inputs: Batch<Input<M::Command>>,
    outputs: Batch<Output<M::Event, M::Rule>>,
    on_event: OnEvent<M>,
    /// Sees what goes in and comes out, where that is recorded.
    pub(crate) tap: Option<Box<dyn Tap<M>>>,
    /// Someone touched the machine, so it may have something to say without an input.
    pub(crate) touched: bool,
    /// Its slice was over before its work: it goes on in the next turn.
    unfinished: bool,
    /// It was told to hold back what can wait ([`Machine::hold_back`]).
    held: bool,
    /// It was told that time is short ([`Machine::set_short_of_time`]).
    short_of_time: bool,
    /// For how long it has worked in this turn, but for its inputs; `None` where it had no part in it.
    worked: Option<Duration>,
}

/// A driver of any machine.
pub(crate) trait AnyDriver {
    /// Takes a datagram.
    fn arrive(&mut self, arrival: Arrival);
    /// Takes what has happened to a stream.
    fn stream(&mut self, port: Port, state: StreamState);
    /// Turns the wake-ups that are due into inputs.
    fn wake(&mut self, io: &mut Io);
    /// The next wake-up.
    fn next_wake(&self) -> Option<Instant>;
    /// True where there is something new: an input, or a touch.
    fn pending(&self) -> bool;
    /// True where its slice ended before its work did.
    fn unfinished(&self) -> bool;
    /// True where it holds back what can wait, and should be asked again as soon as something was sent.
    fn held(&self) -> bool;
    /// Has it run in the next turn.
    fn touch(&mut self);
    /// True where best effort had better stay where it arrives.
    fn has_enough(&self) -> bool;
    /// True where it wants short slices.
    fn is_in_a_hurry(&self, now: Instant) -> bool;
    /// Lets the machine work through its inputs, and then on until it has nothing more to do or the slice is over; where it is
    /// in a hurry by then, that of such a machine.
    fn run(&mut self, index: usize, io: &mut Io, slice: Duration, in_a_hurry: Duration);
    /// For how long it has worked in this turn, but for its inputs; `None` where it had no part in it.
    fn worked(&self) -> Option<Duration>;
    /// A turn has ended, of which so much was spent on its packets.
    fn turn_took(&mut self, now: Instant, took: Duration);
    /// To find the machine again by its type.
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<M: Machine> Driver<M> {
    /// With room for so many wake-ups at the start.
    pub(crate) fn new(machine: M, rng: Rng, on_event: OnEvent<M>, timers: usize) -> Self {
        Self {
            machine,
            rng,
            timers: Timers::with_capacity(timers),
            inputs: Batch::with_capacity(256),
            outputs: Batch::with_capacity(256),
            on_event,
            tap: None,
            touched: true,
            unfinished: false,
            held: false,
            short_of_time: false,
            worked: None,
        }
    }

    pub(crate) fn command(&mut self, command: M::Command) {
        self.inputs.push(Input::Command(command));
    }

    /// Tells the tap what no input says.
    pub(crate) fn note(&mut self, now: Instant, what: &str) {
        note(&mut self.tap, now, what);
    }
}

fn note<M: Machine>(tap: &mut Option<Box<dyn Tap<M>>>, now: Instant, what: &str) {
    if let Some(tap) = tap {
        tap.notes(now, what);
    }
}

impl<M: Machine<Rule: Into<DriverRule>> + 'static> AnyDriver for Driver<M> {
    fn arrive(&mut self, arrival: Arrival) {
        let Arrival { port, origin, frame, .. } = arrival;
        self.inputs.push(match origin {
            Origin::Peer(peer) => Input::Datagram { port, peer, frame },
            Origin::Rule(name) => Input::Classified { port, name, frame },
        });
    }

    fn stream(&mut self, port: Port, state: StreamState) {
        self.inputs.push(Input::Stream { port, state });
    }

    fn wake(&mut self, io: &mut Io) {
        for _ in 0..WAKE_UPS_PER_ROUND {
            let Some(key) = self.timers.pop_due(io.now) else { return };
            if io.log.enabled(Category::Main, Level::Debug) {
                let name = self.machine.timer_name(key);
                let TimerKey { slot, generation, .. } = key;
                io.log.line(
                    Category::Main,
                    Level::Debug,
                    format_args!("woken for {name}, slot {slot}.{generation}"),
                );
            }
            self.inputs.push(Input::Timeout(key));
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        self.timers.next()
    }

    fn pending(&self) -> bool {
        self.touched || !self.inputs.is_empty()
    }

    fn unfinished(&self) -> bool {
        self.unfinished
    }

    fn held(&self) -> bool {
        self.held
    }

    fn touch(&mut self) {
        self.touched = true;
    }

    fn has_enough(&self) -> bool {
        self.machine.has_enough()
    }

    fn is_in_a_hurry(&self, now: Instant) -> bool {
        self.machine.is_in_a_hurry(now)
    }

    fn run(&mut self, index: usize, io: &mut Io, slice: Duration, in_a_hurry: Duration) {
        let (began, fold) = (io.clock.now(), carryless::fold());
        let mut cx = Context {
            now: io.now,
            rng: &mut self.rng,
            trace: &mut io.log,
            timers: &mut self.timers,
            frames: &io.frames,
            prefetch: PREFETCH,
            fold,
        };
        (self.touched, self.unfinished) = (false, false);
        let worked = self.worked.get_or_insert(Duration::ZERO);
        let short_of_time = io.load.lasts();
        if short_of_time != self.short_of_time {
            self.short_of_time = short_of_time;
            self.machine.set_short_of_time(short_of_time);
            note(&mut self.tap, io.now, if short_of_time { "short of time" } else { "time again" });
        }
        let mut from = began;
        if !self.inputs.is_empty() {
            if let Some(tap) = &mut self.tap {
                self.inputs.iter().for_each(|input| tap.takes(io.now, &self.machine, input));
            }
            self.machine.handle_input(&mut cx, &mut self.inputs);
            from = io.clock.now();
            io.turn_cost.add_other(from.since(began));
        }
        // Asked behind the inputs, of which one may have brought the hurry.
        let end = began + if self.machine.is_in_a_hurry(io.now) { slice.min(in_a_hurry) } else { slice };
        loop {
            let held = io.is_backed_up(index);
            if held != self.held {
                self.held = held;
                self.machine.hold_back(held);
                note(&mut self.tap, io.now, if held { "held back" } else { "held back no more" });
            }
            let mut cx = Context {
                now: io.now,
                rng: &mut self.rng,
                trace: &mut io.log,
                timers: &mut self.timers,
                frames: &io.frames,
                prefetch: PREFETCH,
                fold,
            };
            self.machine.poll_output(&mut cx, &mut self.outputs);
            if let Some(tap) = &mut self.tap {
                self.outputs.iter().for_each(|output| tap.gives(io.now, &self.machine, output));
                tap.rests();
            }
            if self.outputs.is_empty() && !self.machine.has_work() {
                return;
            }
            while let Some(output) = self.outputs.pop() {
                match output {
                    Output::Transmit { port, peer, frame } => io.transmit(index, port, peer, frame),
                    Output::Classify(change) => match change.into() {
                        DriverRule::Classify(change) => io.classify(&change),
                        DriverRule::Forward(change) => io.forward(index, &change),
                    },
                    Output::Disconnect(port) => io.disconnect(index, port),
                    Output::Event(event) => {
                        (self.on_event)(&mut self.machine, event, &mut Outside::new(io, index));
                    }
                }
            }
            let now = io.clock.now();
            worked.0 += now.since(from).0;
            from = now;
            if now >= end {
                self.unfinished = true;
                return;
            }
        }
    }

    fn worked(&self) -> Option<Duration> {
        self.worked
    }

    fn turn_took(&mut self, now: Instant, took: Duration) {
        self.worked = None;
        self.machine.turn_took(now, took);
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

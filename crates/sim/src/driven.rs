//! A machine with everything around it that a driver in virtual time needs.

use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::prefetch::Prefetch;
use gannet_machine::rng::Rng;
use gannet_machine::tap::Tap;
use gannet_machine::time::Instant;
use gannet_machine::timers::Timers;
use gannet_machine::trace::TraceSink;
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::forwarding::DriverRule;
use gannet_proto::rule_book::RuleBook;
use std::collections::BTreeMap;

/// A datagram that a machine sends.
#[derive(Debug)]
pub struct Emission {
    /// Through which endpoint.
    pub port: Port,
    /// To whom.
    pub peer: Peer,
    /// Its octets.
    pub frame: Frame,
}

/// Wake-ups at one instant, beside one for each that waits, before the machine is taken to wake itself without end.
const AT_ONE_INSTANT_MAX: usize = 1_000_000;
/// Of the wake-ups behind these, so many are named.
const NAMED: usize = 1000;

/// The wake-ups of one instant.
#[derive(Debug, Default)]
struct Woken {
    at: Instant,
    count: usize,
    most: usize,
    /// How often each timer was the reason, of the last ones.
    names: BTreeMap<&'static str, usize>,
}

impl Woken {
    /// One more, while `waiting` others are asked for.
    fn note(&mut self, now: Instant, waiting: usize, name: impl FnOnce() -> &'static str) {
        if self.count == 0 || now != self.at {
            *self = Self { at: now, most: AT_ONE_INSTANT_MAX + waiting, ..Self::default() };
        }
        self.count += 1;
        if self.count > self.most {
            *self.names.entry(name()).or_default() += 1;
        }
        assert!(
            self.count < self.most + NAMED,
            "a machine wakes itself without end at {now}: {}",
            self.reasons()
        );
    }

    fn reasons(&self) -> String {
        let times = self.names.iter().map(|(name, count)| format!("{name} {count} times"));
        times.collect::<Vec<_>>().join(", ")
    }
}

/// A machine, its dice, its timers and its sink; the frames may be shared with other machines of the same world.
#[derive(Debug)]
pub struct Driven<M: Machine, T> {
    /// The machine.
    pub machine: M,
    /// Its sink.
    pub trace: T,
    /// The rules that it has given to its driver.
    pub rules: RuleBook,
    /// How often one of them contradicted those before.
    pub contradictions: u64,
    /// Sees what goes in and comes out, where that is recorded.
    pub tap: Option<Box<dyn Tap<M>>>,
    rng: Rng,
    timers: Timers,
    woken: Woken,
    frames: FramePool,
    inputs: Batch<Input<M::Command>>,
    outputs: Batch<Output<M::Event, M::Rule>>,
}

impl<M: Machine<Rule: Into<DriverRule>>, T: TraceSink> Driven<M, T> {
    /// A machine with dice of its own, taking frames from `frames`.
    pub fn new(machine: M, trace: T, rng: Rng, frames: FramePool) -> Self {
        let (inputs, outputs) = (Batch::with_capacity(64), Batch::with_capacity(64));
        Self {
            machine,
            trace,
            rules: RuleBook::default(),
            contradictions: 0,
            tap: None,
            rng,
            timers: Timers::with_capacity(1024),
            woken: Woken::default(),
            frames,
            inputs,
            outputs,
        }
    }

    /// Does something with the machine at `now`, then gives everything it sends or tells to the two closures.
    pub fn act<R>(
        &mut self,
        now: Instant,
        action: impl FnOnce(&mut M, &mut Context<'_>) -> R,
        mut sent: impl FnMut(Emission),
        mut told: impl FnMut(M::Event),
    ) -> R {
        let mut cx = Context {
            now,
            rng: &mut self.rng,
            trace: &mut self.trace,
            timers: &mut self.timers,
            frames: &self.frames,
            prefetch: Prefetch::NONE,
            fold: None,
        };
        let result = action(&mut self.machine, &mut cx);
        loop {
            self.machine.poll_output(&mut cx, &mut self.outputs);
            if let Some(tap) = &mut self.tap {
                self.outputs.iter().for_each(|output| tap.gives(now, &self.machine, output));
                tap.rests();
            }
            while let Some(output) = self.outputs.pop() {
                match output {
                    Output::Transmit { port, peer, frame } => sent(Emission { port, peer, frame }),
                    Output::Event(event) => told(event),
                    // The simulator has no streams.
                    Output::Disconnect(_) => {}
                    Output::Classify(change) => match change.into() {
                        DriverRule::Classify(change) => {
                            self.contradictions += u64::from(self.rules.apply(change).is_err());
                        }
                        // The simulator's links lead to the nodes alone.
                        DriverRule::Forward(_) => {}
                    },
                }
            }
            if !self.machine.has_work() {
                return result;
            }
        }
    }

    /// Gives one input.
    pub fn give(
        &mut self,
        now: Instant,
        input: Input<M::Command>,
        sent: impl FnMut(Emission),
        told: impl FnMut(M::Event),
    ) {
        self.inputs.push(input);
        self.take_inputs(now, sent, told);
    }

    /// Gives the wake-ups that are due at `now`, and behind them all of `inputs`, as one batch.
    pub fn turn(
        &mut self,
        now: Instant,
        inputs: &mut Batch<Input<M::Command>>,
        sent: impl FnMut(Emission),
        told: impl FnMut(M::Event),
    ) {
        while let Some(key) = self.timers.pop_due(now) {
            self.inputs.push(Input::Timeout(key));
        }
        self.inputs.append(inputs);
        self.take_inputs(now, sent, told);
    }

    fn take_inputs(&mut self, now: Instant, sent: impl FnMut(Emission), told: impl FnMut(M::Event)) {
        let mut inputs = core::mem::take(&mut self.inputs);
        if let Some(tap) = &mut self.tap {
            inputs.iter().for_each(|input| tap.takes(now, &self.machine, input));
        }
        self.act(now, |machine, cx| machine.handle_input(cx, &mut inputs), sent, told);
        self.inputs = inputs;
    }

    /// Gives one wake-up that is due at `now`; false where none is.
    ///
    /// # Panics
    /// Where the machine wakes itself without end: the message names the timers.
    pub fn wake(&mut self, now: Instant, sent: impl FnMut(Emission), told: impl FnMut(M::Event)) -> bool {
        let Some(key) = self.timers.pop_due(now) else { return false };
        self.woken.note(now, self.timers.len(), || self.machine.timer_name(key));
        self.give(now, Input::Timeout(key), sent, told);
        true
    }

    /// When the machine next wants to be woken.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        self.timers.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use gannet_machine::time::Duration;
    use gannet_machine::timers::{TimerKey, TimerName as _};
    use gannet_machine::trace::Quiet;

    /// Sends every datagram back one second later.
    #[derive(Default)]
    struct Echo(Vec<Frame>, Vec<Frame>);

    impl Machine for Echo {
        type Command = ();
        type Event = usize;
        type Rule = Infallible;
        fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
            while let Some(input) = inputs.pop() {
                match input {
                    Input::Datagram { frame, .. } => {
                        self.0.push(frame);
                        cx.timers.wake(
                            TimerKey { owner: 0, slot: 0, generation: 0 },
                            cx.now + Duration::from_secs(1),
                        );
                    }
                    Input::Classified { .. } | Input::Stream { .. } => {}
                    Input::Timeout(_) => self.1.append(&mut self.0),
                    Input::Command(()) => {}
                }
            }
        }
        fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<usize>>) {
            for frame in self.1.drain(..) {
                outputs.push(Output::Event(frame.len()));
                outputs.push(Output::Transmit { port: Port(0), peer: Peer::Link, frame });
            }
        }
    }

    #[test]
    fn wake_ups_come_when_they_are_due() {
        let frames = FramePool::new(1);
        let mut echo = Driven::new(Echo::default(), Quiet::default(), Rng::seeded(1), frames.clone());
        let frame = frames.copy_of(b"ping").unwrap();
        let input = Input::Datagram { port: Port(0), peer: Peer::Link, frame };
        echo.give(Instant::ZERO, input, |_| panic!("too early"), |_| panic!("too early"));
        assert_eq!(echo.next_wake(), Some(Instant(1_000_000_000)));
        assert!(!echo.wake(Instant(999_999_999), |_| {}, |_| {}));
        let (mut sent, mut told) = (Vec::new(), Vec::new());
        assert!(echo.wake(
            Instant(1_000_000_000),
            |emission| sent.push(emission.frame.to_vec()),
            |event| told.push(event)
        ));
        assert_eq!((sent, told), (vec![b"ping".to_vec()], vec![4]));
        assert_eq!(frames.free(), 1);
    }

    gannet_machine::timer_names! {
        enum Owner {
            Sound = "a sound timer",
            Endless = "T9999",
        }
    }

    /// Asks for its next wake-up at once.
    struct Endless;

    impl Machine for Endless {
        type Command = ();
        type Event = ();
        type Rule = Infallible;
        fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
            while let Some(input) = inputs.pop() {
                if matches!(input, Input::Command(())) {
                    cx.timers.wake(Owner::Sound.key(0, 0), cx.now);
                }
                cx.timers.wake(Owner::Endless.key(7, 0), cx.now);
            }
        }
        fn poll_output(&mut self, _: &mut Context<'_>, _: &mut Batch<Output<()>>) {}
        fn timer_name(&self, key: TimerKey) -> &'static str {
            Owner::of(key).map_or("a timer of nobody", Owner::name)
        }
    }

    #[test]
    #[should_panic(expected = "a machine wakes itself without end at 0.000000: T9999 1000 times")]
    fn a_machine_that_wakes_itself_without_end_is_named() {
        let mut endless = Driven::new(Endless, Quiet::default(), Rng::seeded(1), FramePool::new(1));
        endless.give(Instant::ZERO, Input::Command(()), |_| {}, |()| {});
        while endless.wake(Instant::ZERO, |_| {}, |()| {}) {}
    }
}

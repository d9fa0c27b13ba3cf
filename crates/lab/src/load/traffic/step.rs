//! A step: begun, run with the control plane's turns, drained and counted.

use super::calendar::Memory as _;
use super::{
    BpfError, Companion, FlowResult, GroupResult, PAUSE, Relaxed, Rhythm, Ring, Side, StepResult, Traffic,
    TrafficError, io_error, nanos,
};
use core::sync::atomic::AtomicU64;
use gannet_demux::bpf::{TestRun, TestRunResult};
use gannet_demux::link;
use gannet_rig::layout;
use std::io;
use std::time::Duration;

/// Verdicts of XDP programs.
const XDP_PASS: u32 = 2;
/// See [`XDP_PASS`].
const XDP_TX: u32 = 3;
/// See [`XDP_PASS`].
const XDP_REDIRECT: u32 = 4;
/// Octets of an answer, at most.
const ANSWER_MAX: usize = 128;

impl Traffic {
    /// Ends the step that runs, when its turn is over: what was offered up to now counts.
    pub const fn stop(&mut self) {
        self.stopping = true;
    }

    /// Runs a step: offers traffic for `duration`, gives `turn` a turn about every [`TrafficConfig::turn`], and waits for
    /// what is still under way. `turn` is told how far the step is, and gets this to change it.
    ///
    /// # Errors
    /// Where the kernel refuses the generator, or the drivers' counters are out of reach.
    pub fn run(
        &mut self,
        duration: Duration,
        turn: &mut dyn FnMut(&mut Self, Duration),
    ) -> Result<StepResult, TrafficError> {
        let before = self.rings()?;
        self.begin(duration);
        let begin = self.calendar.memory.plan().begin.load(Relaxed);
        self.calendar.memory.plan().pause_ns.store(nanos(PAUSE), Relaxed);
        let (mut calls, mut pause_max, mut ended) = (0, 0, begin);
        let total = nanos(duration);
        self.stopping = false;
        while link::monotonic_ns() - begin < total && !self.stopping {
            let started = link::monotonic_ns();
            pause_max = pause_max.max(started - ended);
            self.call()?;
            ended = link::monotonic_ns();
            calls += 1;
            self.keep_up();
            self.adapt(ended - started);
            self.companions.iter().for_each(Companion::poll);
            turn(self, Duration::from_nanos(ended - begin));
        }
        let offered_for = Duration::from_nanos((ended - begin).min(total));
        let duration = if self.stopping { offered_for } else { duration };
        let drained = self.drain(duration, turn);
        let after = self.rings()?;
        let plan = self.calendar.memory.plan();
        Ok(StepResult {
            step: self.step,
            duration,
            drained,
            gn: after.0.since(before.0),
            gb: after.1.since(before.1),
            answers: after.2.since(before.2),
            unmarked: plan.unmarked.load(Relaxed),
            passed: plan.passed.load(Relaxed),
            calls,
            pause_max: Duration::from_nanos(pause_max),
            paused: self.paused(),
            groups: self.group_results(),
            samples: self.samples,
            ..StepResult::default()
        })
    }

    /// Looks at the devices as often as the next step wants it, after [`Traffic::rest`].
    pub fn attend(&self) {
        self.companions.iter().for_each(|companion| companion.set_interval(self.rhythm.interval));
    }

    /// Leaves the devices nearly alone: for who has several of these, of which one has the core.
    pub fn rest(&self) {
        self.companions.iter().for_each(Companion::rest);
    }

    /// Prepares a step, which begins now; [`Traffic::run`] does this by itself.
    pub fn begin(&mut self, duration: Duration) {
        self.step = self.step.wrapping_add(1);
        for group in self.groups.iter() {
            group.clear();
        }
        for (number, first) in self.first.iter_mut().enumerate() {
            let Ok(index) = u32::try_from(number) else { break };
            if let Some(flow) = self.calendar.memory.flow(index) {
                *first = flow.sequence.load(Relaxed);
            }
            if let Some(seen) = self.seens.get(number) {
                for counter in [&seen.delivered, &seen.corrupt, &seen.wrong, &seen.repeated, &seen.reordered]
                {
                    counter.store(0, Relaxed);
                }
                seen.octets.store(0, Relaxed);
            }
        }
        self.rhythm = Rhythm::of(&self.config);
        self.attend();
        let config = &self.config;
        self.calendar.begin(&config.flows, config.seed, self.step, config.pacing);
        let plan = self.calendar.memory.plan();
        plan.stop.store(nanos(duration), Relaxed);
        plan.unmarked.store(0, Relaxed);
        plan.passed.store(0, Relaxed);
        let now = link::monotonic_ns();
        plan.begin.store(now, Relaxed);
        plan.last.store(now, Relaxed);
        plan.pause_ns.store(u64::MAX, Relaxed);
        plan.paused.store(0, Relaxed);
        plan.at_once.store(self.rhythm.at_once, Relaxed);
        plan.wait_ns.store(self.rhythm.wait_ns, Relaxed);
    }

    /// Makes one frame and sends it nowhere: true where an N-PDU was due, which then is in `frame`.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn generate(&self, frame: &mut Vec<u8>) -> Result<bool, TrafficError> {
        frame.resize(self.frame.len(), 0);
        let run = TestRun {
            data: &self.frame,
            data_out: Some(frame),
            context: None,
            context_out: None,
            repeat: 1,
            live_batch: None,
        };
        let result = self.object.run("gn", run)?;
        frame.truncate(result.data_len);
        Ok(result.verdict == XDP_REDIRECT)
    }

    /// Gives the sink on Gb a frame; true where it went on to the control plane.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn sink(&self, frame: &[u8]) -> Result<bool, TrafficError> {
        Ok(self.sink_with(frame, None)?.verdict == XDP_PASS)
    }

    /// The same of a frame that may be answered: the answer, as a frame.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn sink_answers(&self, frame: &[u8]) -> Result<Option<Vec<u8>>, TrafficError> {
        // An S frame is shorter than what answers it.
        let mut answer = vec![0; frame.len().max(ANSWER_MAX)];
        let result = self.sink_with(frame, Some(&mut answer))?;
        answer.truncate(result.data_len);
        Ok((result.verdict == XDP_TX).then_some(answer))
    }

    fn sink_with(&self, frame: &[u8], data_out: Option<&mut [u8]>) -> Result<TestRunResult, TrafficError> {
        let run =
            TestRun { data: frame, data_out, context: None, context_out: None, repeat: 1, live_batch: None };
        Ok(self.object.run("gb", run)?)
    }

    /// One call of the generator.
    fn call(&self) -> Result<(), TrafficError> {
        let run = TestRun {
            data: &self.frame,
            data_out: None,
            context: None,
            context_out: None,
            repeat: self.per_call,
            live_batch: Some(self.rhythm.batch),
        };
        match self.object.run("gn", run) {
            // A signal ended the call.
            Err(BpfError::Call { error, .. }) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            other => other.map(|_| ()).map_err(TrafficError::from),
        }
    }

    /// Chooses how many frames the next call has, so that it lasts a turn. A call has its price: the kernel makes a pool of
    /// pages for each, and looks through all of them when it goes.
    fn adapt(&mut self, took_ns: u64) {
        let wanted = u64::from(self.per_call) * nanos(self.config.turn) / took_ns.max(1);
        // Half the way: a turn with much to do is no reason for a much shorter one.
        let next = u64::midpoint(u64::from(self.per_call), wanted).clamp(256, 1 << 17);
        self.per_call = u32::try_from(next).unwrap_or(4096);
    }

    /// Looks how late the last call was: who is late has no time for short batches any more.
    fn keep_up(&mut self) {
        let sum = |what: fn(&layout::Group) -> &AtomicU64| {
            self.groups.iter().map(|group| what(group).load(Relaxed)).sum::<u64>()
        };
        let (offered, slip_ns) = (sum(|group| &group.offered), sum(|group| &group.slip_sum));
        self.rhythm.look(offered, slip_ns);
        self.calendar.memory.plan().wait_ns.store(self.rhythm.wait_ns, Relaxed);
    }

    fn drain(&mut self, duration: Duration, turn: &mut dyn FnMut(&mut Self, Duration)) -> Duration {
        let begin = link::monotonic_ns();
        let (longest, quiet) = self.config.drain;
        let (mut seen, mut last) = (self.arrived(), begin);
        loop {
            let now = link::monotonic_ns();
            let so_far = Duration::from_nanos(now - begin);
            if so_far >= longest || now - last >= nanos(quiet) {
                return so_far;
            }
            std::thread::sleep(Duration::from_micros(200));
            self.companions.iter().for_each(Companion::poll);
            turn(self, duration + so_far);
            let arrived = self.arrived();
            if arrived != seen {
                (seen, last) = (arrived, link::monotonic_ns());
            }
        }
    }

    fn arrived(&self) -> u64 {
        self.groups.iter().map(|group| group.delivered.load(Relaxed) + group.completed.load(Relaxed)).sum()
    }

    /// What the rings behind our two devices took and refused so far of what the generator made, and on Gb of answers.
    fn rings(&self) -> Result<(Ring, Ring, Ring), TrafficError> {
        let of = |side: &Side, taken: &str, refused: &str| {
            let counters = link::statistics(&side.device).map_err(io_error(side.device.clone()))?;
            let sum = |ending: &str| {
                counters.iter().filter(|(name, _)| name.ends_with(ending)).map(|(_, count)| count).sum()
            };
            let (taken, refused) = (sum(taken), sum(refused));
            Ok::<_, TrafficError>(Ring { taken, refused })
        };
        let made = |side| of(side, "_xdp_xmit", "_xdp_xmit_errors");
        let answers = of(&self.config.gb, "_xdp_tx", "_xdp_tx_errors")?;
        Ok((made(&self.config.gn)?, made(&self.config.gb)?, answers))
    }

    fn group_results(&self) -> Vec<GroupResult> {
        let groups = (0_u8..).zip(self.groups.iter()).zip(self.members);
        let results = groups.filter(|(_, flows)| *flows > 0);
        results.map(|((number, group), flows)| GroupResult::of(number, flows, group)).collect()
    }

    /// The counters of the groups so far, for who watches a step from its turns.
    #[must_use]
    pub fn so_far(&self) -> Vec<GroupResult> {
        self.group_results()
    }

    /// How long the generator has been away in this step so far.
    #[must_use]
    pub fn paused(&self) -> Duration {
        Duration::from_nanos(self.calendar.memory.plan().paused.load(Relaxed))
    }

    /// What each flow did in the last step.
    pub fn flow_results(&self) -> impl Iterator<Item = FlowResult> + '_ {
        self.first.iter().zip(self.calendar.memory.flows.iter()).zip(self.seens.iter()).map(
            |((first, flow), seen)| FlowResult {
                offered: flow.sequence.load(Relaxed).wrapping_sub(*first),
                delivered: seen.delivered.load(Relaxed),
                delivered_octets: seen.octets.load(Relaxed),
                corrupt: seen.corrupt.load(Relaxed),
                wrong: seen.wrong.load(Relaxed),
                repeated: seen.repeated.load(Relaxed),
                reordered: seen.reordered.load(Relaxed),
            },
        )
    }
}

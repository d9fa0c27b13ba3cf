//! What time brings: requests are repeated, paths are tested, old answers are forgotten.

use super::path::{Channel, Path, Plane};
use super::request::{Asker, Outstanding};
use super::{ANSWERS_SLOT, GtpEntity, GtpOutput, PATH_SLOT, Timing, of_path};
use core::net::IpAddr;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::gtp::Message;
use gannet_wire::gtp::v1c::EchoRequest;

/// Between two tests of a path at the least (29.060 clause 7.2.1).
const LEAST_BETWEEN_TESTS: Duration = Duration::from_secs(60);

/// A test of a path that had no answer.
struct Tested {
    path: u16,
    generation: u16,
    plane: Plane,
    /// It ended much later than it was to.
    is_late: bool,
}

impl GtpEntity {
    /// Is this wake-up ours? Those of [`GtpConfig::timer_owner`] are.
    #[must_use]
    pub const fn owns(&self, key: TimerKey) -> bool {
        key.owner == self.config.timer_owner
    }

    /// Takes a wake-up of ours: repeats a request, tests a path, or forgets old answers.
    pub fn wake(&mut self, cx: &mut Context<'_>, key: TimerKey, out: &mut Batch<GtpOutput>) {
        match (u16::try_from(key.slot), u16::try_from(key.slot.wrapping_sub(PATH_SLOT))) {
            (Ok(sequence), _) => self.t3_response(cx, sequence, key.generation, out),
            (Err(_), Ok(path)) => self.echo(cx, path, key.generation, out),
            (Err(_), Err(_)) => {
                self.answers_wake_asked = false;
                self.responses.expire(cx.now);
                self.wake_for_answers(cx);
            }
        }
    }

    /// T3-RESPONSE has expired: the request is sent again, N3-REQUESTS times in all (29.060 clause 7.6).
    fn t3_response(
        &mut self,
        cx: &mut Context<'_>,
        sequence: u16,
        generation: u16,
        out: &mut Batch<GtpOutput>,
    ) {
        let t3_response = self.config.t3_response;
        let Some(request) = self.requests.woken(sequence, generation) else { return };
        let is_late = cx.now > request.due + t3_response;
        if let Some(left) = request.attempts_left.checked_sub(1) {
            request.attempts_left = left;
            request.due = cx.now + t3_response;
            let (channel, peer) = (request.channel, request.peer);
            let octets = core::mem::take(&mut request.octets);
            self.transmit(cx, channel, peer, &octets, out);
            if let Some(request) = self.requests.woken(sequence, generation) {
                request.octets = octets;
            }
            self.wake_for_request(cx, sequence, generation);
            return;
        }
        let Some(request) = self.requests.remove(sequence) else { return };
        cx.drop(Drop::GtpNoResponse, None);
        match request.asker {
            Asker::Node(user) => {
                self.suspect(cx, &request);
                out.push(GtpOutput::TimedOut { user });
            }
            Asker::Echo { path, generation, plane } => {
                let tested = Tested { path, generation, plane, is_late };
                self.echo_failed(cx, &tested, out);
            }
        }
    }

    /// A peer that does not answer a request is tested as soon as it may be.
    fn suspect(&mut self, cx: &mut Context<'_>, request: &Outstanding) {
        let found = self.paths.find(request.peer.ip(), request.channel.version());
        if let Some(index) = found {
            self.test_soon(cx, index);
        }
    }

    /// Brings the next test of a path forward, to [`LEAST_BETWEEN_TESTS`] after the last one.
    fn test_soon(&mut self, cx: &mut Context<'_>, index: u16) {
        let Some(path) = self.paths.get_mut(index) else { return };
        let soon = path.last_echo.map_or(cx.now, |last| (last + LEAST_BETWEEN_TESTS).max(cx.now));
        if soon < path.next_echo {
            path.next_echo = soon;
            self.wake_for_echo(cx, index);
        }
    }

    /// Tests both planes of a path (29.060 clause 7.2.1, 09.60 clause 7.4.1).
    fn echo(&mut self, cx: &mut Context<'_>, index: u16, generation: u16, out: &mut Batch<GtpOutput>) {
        let Some(path) = self.paths.get_mut(index).filter(|path| path.generation == generation) else {
            return;
        };
        let interval = self.config.echo_interval_of(path.address);
        if interval == Duration::ZERO {
            return;
        }
        if cx.now < path.next_echo {
            // The test was brought forward or put off, and this was its former time.
            return self.wake_for_echo(cx, index);
        }
        path.last_echo = Some(cx.now);
        path.next_echo = cx.now + interval;
        let (address, version, planes) = (path.address, path.version, path.tested());
        for plane in planes.iter().copied() {
            if self.paths.get(index).is_none_or(|path| path.plane(plane).echo_outstanding) {
                continue;
            }
            let asker = Asker::Echo { path: index, generation, plane };
            let message: Message = EchoRequest { private_extension: None }.into();
            let kind = message.message_type();
            let channel = Channel::of(version, plane);
            let emit = |sequence, octets: &mut Vec<u8>| of_path(channel, sequence, &message, octets);
            let asked = self.ask(cx, asker, channel, address, kind, emit, out).is_some();
            if let Some(path) = self.paths.get_mut(index) {
                path.plane_mut(plane).echo_outstanding = asked;
            }
        }
        self.wake_for_echo(cx, index);
    }

    /// Takes over new values: of T3-RESPONSE and N3-REQUESTS for what is sent from now on, of the interval of Echo Requests
    /// for every path.
    pub fn set_timing(&mut self, cx: &mut Context<'_>, timing: Timing) {
        let former = self.config.clone();
        (self.config.t3_response, self.config.n3_requests) = (timing.t3_response, timing.n3_requests);
        (self.config.echo_interval, self.config.echo_intervals) =
            (timing.echo_interval, timing.echo_intervals);
        let paths: Vec<(u16, IpAddr)> =
            self.paths.iter().map(|(index, path)| (index, path.address)).collect();
        for (index, address) in paths {
            let interval = self.config.echo_interval_of(address);
            if interval != former.echo_interval_of(address) {
                if let Some(path) = self.paths.get_mut(index) {
                    path.next_echo = cx.now + interval;
                }
                self.wake_for_echo(cx, index);
            }
        }
    }

    /// Nobody has answered N3-REQUESTS Echo Requests. A plane that has failed is lost with the first test that fails after
    /// [`GtpConfig::failure_delay`](super::GtpConfig::failure_delay).
    fn echo_failed(&mut self, cx: &mut Context<'_>, of: &Tested, out: &mut Batch<GtpOutput>) {
        let (index, plane, delay) = (of.path, of.plane, self.config.failure_delay);
        let Some(path) = self.paths.get_mut(index).filter(|path| path.generation == of.generation) else {
            return;
        };
        let peer = path.address;
        let state = path.plane_mut(plane);
        state.echo_outstanding = false;
        // Where this node was late itself, an answer may wait unread: that is no test of the peer.
        if state.tunnels == 0 || of.is_late {
            return;
        }
        let lost_at = delay.map(|delay| cx.now + delay);
        if !core::mem::replace(&mut state.failed, true) {
            // There are GSNs that do not answer on the user plane at all, and forward G-PDUs all the same.
            let is_meant = plane == Plane::Control || state.has_answered;
            state.lost_at = lost_at.filter(|_| is_meant);
            state.heard = false;
            let peers = self.config.role.peers();
            cx.log(Category::Gtp, Level::Error, format_args!("path to {peers} {peer} failed, {plane}"));
            out.push(GtpOutput::PathFailed { peer, path: index, plane });
        }
        if state.lost_at.is_some_and(|at| at <= cx.now) {
            state.lost_at = lost_at;
            if !core::mem::replace(&mut state.heard, false) {
                out.push(GtpOutput::PathLost { peer, path: index, plane });
            }
        }
        self.test_soon(cx, index);
    }

    /// A G-PDU has come from the peer of a path.
    pub fn heard(&mut self, path: u16) {
        if let Some(path) = self.paths.get_mut(path).filter(|path| path.user.failed) {
            path.user.heard = true;
        }
    }

    /// From now on contexts of a path that fails end after so long; `None` where they stay.
    pub const fn set_failure_delay(&mut self, delay: Option<Duration>) {
        self.config.failure_delay = delay;
    }

    pub(super) fn key(&self, slot: u32, generation: u16) -> TimerKey {
        TimerKey { owner: self.config.timer_owner, slot, generation }
    }

    pub(super) fn wake_for_request(&self, cx: &mut Context<'_>, sequence: u16, generation: u16) {
        let key = self.key(u32::from(sequence), generation);
        cx.timers.wake(key, cx.now + self.config.t3_response);
    }

    pub(super) fn wake_for_echo(&self, cx: &mut Context<'_>, index: u16) {
        let tested = |path: &&Path| self.config.echo_interval_of(path.address) != Duration::ZERO;
        if let Some(path) = self.paths.get(index).filter(tested) {
            cx.timers.wake(self.key(PATH_SLOT + u32::from(index), path.generation), path.next_echo);
        }
    }

    pub(super) fn wake_for_answers(&mut self, cx: &mut Context<'_>) {
        if let (false, Some(end)) = (self.answers_wake_asked, self.responses.next_end()) {
            self.answers_wake_asked = true;
            cx.timers.wake(self.key(ANSWERS_SLOT, 0), end);
        }
    }

    /// How long a peer may repeat a request: as long as we would, and once more.
    pub(super) fn answers_end(&self, now: Instant) -> Instant {
        now + self.config.t3_response * (u64::from(self.config.n3_requests) + 1)
    }
}

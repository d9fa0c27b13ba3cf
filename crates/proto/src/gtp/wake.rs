//! What time brings: requests are repeated, paths are tested, old answers are forgotten.

use super::path::{Channel, Path, Plane};
use super::request::Asker;
use super::{ANSWERS_SLOT, GtpEntity, GtpOutput, PATH_SLOT, of_path};
use crate::drops::Drop;
use crate::machine::{Batch, Context};
use crate::time::{Duration, Instant};
use crate::timers::TimerKey;
use crate::trace::{Category, Level};
use gannet_wire::gtp::Message;
use gannet_wire::gtp::v1c::EchoRequest;

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
        let Some(request) = self.requests.woken(sequence, generation) else { return };
        if let Some(left) = request.attempts_left.checked_sub(1) {
            request.attempts_left = left;
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
            Asker::Node(user) => out.push(GtpOutput::TimedOut { user }),
            Asker::Echo { path, generation, plane } => self.echo_failed(cx, path, generation, plane, out),
        }
    }

    /// Tests both planes of a path (29.060 clause 7.2.1, 09.60 clause 7.4.1).
    fn echo(&mut self, cx: &mut Context<'_>, index: u16, generation: u16, out: &mut Batch<GtpOutput>) {
        let Some(path) = self.paths.get_mut(index).filter(|path| path.generation == generation) else {
            return;
        };
        path.next_echo = cx.now + self.config.echo_interval_of(path.address);
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

    fn echo_failed(
        &mut self,
        cx: &mut Context<'_>,
        index: u16,
        generation: u16,
        plane: Plane,
        out: &mut Batch<GtpOutput>,
    ) {
        let Some(path) = self.paths.get_mut(index).filter(|path| path.generation == generation) else {
            return;
        };
        let peer = path.address;
        let state = path.plane_mut(plane);
        state.echo_outstanding = false;
        if state.tunnels == 0 {
            return;
        }
        if !core::mem::replace(&mut state.failed, true) {
            let peers = self.config.role.peers();
            cx.log(Category::Gtp, Level::Error, format_args!("path to {peers} {peer} failed, {plane}"));
            out.push(GtpOutput::PathFailed { peer, path: index, plane });
        }
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

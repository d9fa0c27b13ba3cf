//! The link to the HLR: identities, PING and PONG, and its end.

use super::{GsupEntity, GsupOutput, GsupTimer};
use crate::ipa_stream::Splitter;
use gannet_machine::drops::Drop;
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, StreamState};
use gannet_wire::gsup::Message;
use gannet_wire::ipa::{self, Ccm, IdTag};

/// What is known of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LinkState {
    /// No connection, or one that was given up.
    Down,
    /// Connected; the HLR does not know yet who we are.
    Handshake,
    /// The HLR has acknowledged our identity.
    Up,
}

/// Our number among units: osmo-hlr wants one and makes nothing of it.
const UNIT_ID: &[u8] = b"0/0/0";

impl GsupEntity {
    /// The stream was connected or lost.
    pub fn stream(&mut self, cx: &mut Context<'_>, state: StreamState, out: &mut Batch<GsupOutput>) {
        match state {
            StreamState::Connected => {
                self.fall(cx, out);
                self.connection = self.connection.wrapping_add(1).max(1);
                self.state = LinkState::Handshake;
                self.deadlines.set(GsupTimer::Handshake, cx.now + self.config.handshake);
            }
            StreamState::Lost => self.fall(cx, out),
        }
        self.arm(cx);
    }

    /// Octets came by the stream.
    pub fn receive(&mut self, cx: &mut Context<'_>, octets: &[u8], out: &mut Batch<GsupOutput>) {
        if self.state == LinkState::Down {
            // What was on its way when we gave the connection up.
            return;
        }
        let mut splitter = core::mem::replace(&mut self.splitter, Splitter::new(0));
        splitter.push(octets);
        loop {
            match splitter.next_message() {
                Ok(Some(message)) => self.message(cx, &message, out),
                Ok(None) => break,
                Err(error) => {
                    cx.log(Category::Mm, Level::Error, format_args!("from the HLR: {error}"));
                    self.give_up(cx, out);
                    break;
                }
            }
        }
        self.splitter = splitter;
        self.arm(cx);
    }

    /// Takes a wake-up of ours.
    pub fn wake(&mut self, cx: &mut Context<'_>, key: TimerKey, out: &mut Batch<GsupOutput>) {
        if !self.owns(key) {
            return;
        }
        self.deadlines.woken(cx.now);
        while let Some(name) = self.deadlines.pop_due(cx.now) {
            match name {
                GsupTimer::Handshake | GsupTimer::Pong => self.give_up(cx, out),
                GsupTimer::Ping => {
                    self.transmit(cx, &Ccm::Ping.to_vec(), out);
                    self.deadlines.set(GsupTimer::Pong, cx.now + self.config.pong_timeout);
                    self.deadlines.set(GsupTimer::Ping, cx.now + self.config.ping_interval);
                }
                GsupTimer::Guard => self.guard(cx, out),
                GsupTimer::Patience => self.lose_patience(cx, out),
            }
        }
        self.arm(cx);
    }

    /// Sets the guard's deadline by the oldest request, and asks for the next wake-up.
    pub(super) fn arm(&mut self, cx: &mut Context<'_>) {
        match self.operations.next_end() {
            Some(end) => self.deadlines.set(GsupTimer::Guard, end),
            None => self.deadlines.clear(GsupTimer::Guard),
        }
        let key = TimerKey { owner: self.config.timer_owner, slot: 0, generation: 0 };
        self.deadlines.arm(key, cx.timers);
    }

    fn message(&mut self, cx: &mut Context<'_>, message: &ipa::Message<'_>, out: &mut Batch<GsupOutput>) {
        match (message.protocol, message.extension()) {
            (ipa::PROTOCOL_CCM, _) => match Ccm::parse(message.payload) {
                Ok(ccm) => self.ccm(cx, &ccm, out),
                Err(error) => {
                    cx.drop(Drop::GsupMalformed, None);
                    cx.log(Category::Mm, Level::Error, format_args!("from the HLR: {error}"));
                }
            },
            (_, Some((ipa::EXTENSION_GSUP, octets))) => match self.state {
                LinkState::Up => self.gsup(cx, octets, out),
                // It can't know yet whom it speaks to.
                LinkState::Handshake | LinkState::Down => cx.drop(Drop::GsupUnexpected, None),
            },
            (_, Some(_) | None) => cx.drop(Drop::GsupUnknownProtocol, None),
        }
    }

    fn ccm(&mut self, cx: &mut Context<'_>, ccm: &Ccm, out: &mut Batch<GsupOutput>) {
        match (self.state, ccm) {
            (LinkState::Handshake | LinkState::Up, Ccm::Ping) => self.transmit(cx, &Ccm::Pong.to_vec(), out),
            (LinkState::Handshake | LinkState::Up, Ccm::IdGet(tags)) => {
                let identities = tags.iter().map(|tag| (*tag, self.identity(*tag).to_vec())).collect();
                self.transmit(cx, &Ccm::IdResp(identities).to_vec(), out);
                self.transmit(cx, &Ccm::IdAck.to_vec(), out);
            }
            (LinkState::Handshake, Ccm::IdAck) => self.rise(cx, out),
            (LinkState::Up, Ccm::Pong) => self.deadlines.clear(GsupTimer::Pong),
            (LinkState::Up, Ccm::IdAck) | (LinkState::Handshake, Ccm::Pong) => {}
            // We do not ask who the HLR is.
            (LinkState::Handshake | LinkState::Up, Ccm::IdResp(_)) | (LinkState::Down, _) => {
                cx.drop(Drop::GsupUnexpected, None);
            }
        }
    }

    fn identity(&self, tag: IdTag) -> &[u8] {
        match tag {
            IdTag::SerialNumber | IdTag::UnitName => self.config.unit_name.as_bytes(),
            IdTag::UnitId => UNIT_ID,
            IdTag::Location1
            | IdTag::Location2
            | IdTag::EquipmentVersion
            | IdTag::SoftwareVersion
            | IdTag::IpAddress
            | IdTag::MacAddress
            | IdTag::Unknown(_) => &[],
        }
    }

    /// The link is up: what waits is sent, in its order.
    fn rise(&mut self, cx: &mut Context<'_>, out: &mut Batch<GsupOutput>) {
        self.state = LinkState::Up;
        self.out_of_reach = false;
        self.deadlines.clear(GsupTimer::Handshake);
        self.deadlines.clear(GsupTimer::Patience);
        self.deadlines.set(GsupTimer::Ping, cx.now + self.config.ping_interval);
        cx.log(Category::Mm, Level::Notice, format_args!("the link to the HLR is up"));
        out.push(GsupOutput::LinkUp);
        for operation in self.operations.iter() {
            self.send(cx, &operation.request.message(operation.imsi), out);
        }
    }

    /// The link is dead: the driver makes another.
    fn give_up(&mut self, cx: &mut Context<'_>, out: &mut Batch<GsupOutput>) {
        cx.drop(Drop::GsupDeadLink, None);
        out.push(GsupOutput::Disconnect(self.config.port));
        self.fall(cx, out);
    }

    /// There is no link any more.
    fn fall(&mut self, cx: &mut Context<'_>, out: &mut Batch<GsupOutput>) {
        for timer in [GsupTimer::Handshake, GsupTimer::Ping, GsupTimer::Pong] {
            self.deadlines.clear(timer);
        }
        self.splitter.clear();
        self.indications = 0;
        let patience = GsupTimer::Patience;
        if !self.out_of_reach && !self.deadlines.is_set(patience) {
            self.deadlines.set(patience, cx.now + self.config.patience);
        }
        if core::mem::replace(&mut self.state, LinkState::Down) == LinkState::Up {
            cx.log(Category::Mm, Level::Notice, format_args!("the link to the HLR is lost"));
            out.push(GsupOutput::LinkDown);
        }
    }

    pub(super) fn send(&self, cx: &mut Context<'_>, message: &Message, out: &mut Batch<GsupOutput>) {
        let mut octets = Vec::with_capacity(128);
        if ipa::put_extension(ipa::EXTENSION_GSUP, &message.to_vec(), &mut octets) {
            self.transmit(cx, &octets, out);
        }
    }

    /// Whole messages only: one for which there is no frame is left out, and the stream stays readable.
    pub(super) fn transmit(&self, cx: &mut Context<'_>, octets: &[u8], out: &mut Batch<GsupOutput>) {
        match cx.frames.copy_of(octets) {
            Some(frame) => out.push(GsupOutput::Transmit { port: self.config.port, frame }),
            None => cx.drop(Drop::NoFrame, None),
        }
    }
}

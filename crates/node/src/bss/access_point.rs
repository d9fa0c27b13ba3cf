//! An access point: a BSS whose cells are links of the adaptation protocol.
//!
//! It is two machines in one. Outside are the links ([`bearer_port`]) and Gb; between the protocol's end
//! ([`gannet_proto::adaptation::AccessPoint`]) and the [`Bss`] are datagrams of the Um interface, handed over in place. A link,
//! its cell and its index in the configuration of the BSS are one number.

use super::{Bss, Command, Config, ConfigError, Event, UM, radio::AdaptationRadio};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::timers::{Deadlines, TimerKey};
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::adaptation::{AccessPoint, Address, ApConfig, ApOutput, Said};
use gannet_proto::um::{HEADER_LEN, PagedIdentity, UmHeader, UmKind};
use gannet_wire::adaptation::Identity;
use gannet_wire::id::{Rai, Tlli};

/// The first port of a link.
const BEARERS: u16 = 0x4000;

/// The port of a link.
#[must_use]
pub const fn bearer_port(link: u16) -> Port {
    Port(BEARERS.saturating_add(link))
}

/// The owner of wake-ups of the protocol's end; those of the BSS count from 0.
const OWNER: u8 = u8::MAX;
const KEY: TimerKey = TimerKey { owner: OWNER, slot: 0, generation: 0 };

gannet_machine::timer_names! {
    /// Wake-ups of the protocol's end.
    enum Wake {
        Next = "beacons, and LL-PDUs in pieces",
    }
}

/// An order to the access point. Links are named by their index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApCommand {
    /// To its BSS.
    Bss(Command),
    /// A link is there, or is gone: what is for mobiles there waits until it is back, or they are heard elsewhere.
    SetLink {
        /// Which.
        link: u16,
        /// It is there.
        is_up: bool,
    },
    /// A link carries payloads of so many octets.
    SetMtu {
        /// Which.
        link: u16,
        /// In octets.
        octets: u16,
    },
}

/// The node.
#[derive(Debug)]
pub struct ApNode {
    bss: Bss,
    ap: AccessPoint,
    deadlines: Deadlines<Wake>,
    said: Batch<ApOutput>,
    to_bss: Batch<Input<Command>>,
    of_bss: Batch<Output<Event>>,
    out: Batch<Output<Event>>,
    is_released: bool,
}

impl ApNode {
    /// An access point whose cells are all down. It begins with [`Command::Start`].
    ///
    /// # Errors
    /// As [`Bss::new`].
    pub fn new(config: Config, ap: ApConfig) -> Result<Self, ConfigError> {
        let rooms = config.cells.iter().map(|cell| cell.downlink.queue_octets);
        let radio = AdaptationRadio::new(rooms, config.pdus_max);
        Ok(Self {
            bss: Bss::with_radio(config, Box::new(radio))?,
            ap: AccessPoint::new(ap),
            deadlines: Deadlines::default(),
            said: Batch::with_capacity(64),
            to_bss: Batch::with_capacity(64),
            of_bss: Batch::with_capacity(64),
            out: Batch::with_capacity(64),
            is_released: false,
        })
    }

    /// The BSS.
    #[must_use]
    pub const fn bss(&self) -> &Bss {
        &self.bss
    }

    /// The protocol's end.
    #[must_use]
    pub const fn protocol(&self) -> &AccessPoint {
        &self.ap
    }

    /// All mobiles are told that it stops.
    pub fn stop(&mut self, cx: &mut Context<'_>) {
        self.ap.stop(cx, &mut self.said);
        self.settle(cx);
    }

    fn command(&mut self, cx: &mut Context<'_>, command: ApCommand) {
        match command {
            ApCommand::Bss(command) => self.to_bss.push(Input::Command(command)),
            ApCommand::SetLink { link, is_up } => self.bss.hold_cell_back(cx, link.into(), !is_up),
            ApCommand::SetMtu { link, octets } => self.ap.set_mtu(link, octets),
        }
    }

    /// Hands over what one of the two has for the other, until nothing is left.
    fn settle(&mut self, cx: &mut Context<'_>) {
        loop {
            while let Some(output) = self.said.pop() {
                match output {
                    ApOutput::Transmit { link, peer, frame } => {
                        self.out.push(Output::Transmit { port: bearer_port(link), peer, frame });
                    }
                    ApOutput::Said { mobile, link, tlli, what } => {
                        self.said(cx, mobile, (link, tlli), what);
                    }
                }
            }
            if !self.to_bss.is_empty() {
                self.bss.handle_input(cx, &mut self.to_bss);
            }
            self.bss.poll_output(cx, &mut self.of_bss);
            if self.of_bss.is_empty() {
                break;
            }
            while let Some(output) = self.of_bss.pop() {
                self.bss_output(cx, output);
            }
        }
        if let Some(next) = self.ap.next_wake() {
            self.deadlines.set(Wake::Next, next);
        }
        self.deadlines.arm(KEY, cx.timers);
    }

    /// What a mobile says, as the BSS reads it.
    fn said(&mut self, cx: &mut Context<'_>, mobile: u32, (cell, tlli): (u16, Tlli), what: Said) {
        let copy_of = |octets: &[u8]| cx.frames.copy_of(octets);
        let (kind, frame) = match what {
            Said::Here => (UmKind::CampOn, copy_of(&[])),
            Said::LlPdu(frame) => (UmKind::LlPdu, Some(frame)),
            Said::Suspend(rai) => (UmKind::Suspend, copy_of(&rai.to_octets())),
            Said::Resume(rai, reference) => {
                let mut octets = [reference; Rai::LEN + 1];
                if let Some(area) = octets.first_chunk_mut() {
                    *area = rai.to_octets();
                }
                (UmKind::Resume, copy_of(&octets))
            }
        };
        let header = UmHeader { kind, cell, tlli, priority: None }.emit();
        match frame.and_then(|mut frame| frame.prepend(&header).then_some(frame)) {
            Some(frame) => {
                self.to_bss.push(Input::Datagram { port: UM, peer: Peer::Slot(mobile), frame });
            }
            None => cx.drop(Drop::NoFrame, None),
        }
    }

    /// What the BSS does.
    fn bss_output(&mut self, cx: &mut Context<'_>, output: Output<Event>) {
        match output {
            Output::Transmit { port: UM, peer, frame } => {
                if let Err(drop) = self.send(cx, peer, frame) {
                    cx.drop(drop, None);
                }
            }
            Output::Event(event) => {
                let news = match event {
                    Event::CellUp(cell) => Some((cell, true)),
                    Event::CellDown(cell) => Some((cell, false)),
                    Event::Seen(_) => None,
                };
                if let Some((cell, is_up)) = news
                    && let Ok(link) = u16::try_from(cell)
                {
                    self.ap.set_in_service(cx.now, link, is_up);
                }
                self.out.push(Output::Event(event));
            }
            other => self.out.push(other),
        }
    }

    /// What the BSS sends to mobiles.
    fn send(&mut self, cx: &mut Context<'_>, peer: Peer, mut frame: Frame) -> Result<(), Drop> {
        let UmHeader { kind, cell, tlli, .. } = UmHeader::parse(&frame).map_err(|_| Drop::UmMalformed)?;
        let _ = frame.pull(HEADER_LEN);
        let mobile = if let Peer::Slot(mobile) = peer { mobile } else { u32::MAX };
        match kind {
            UmKind::LlPdu => self.ap.send_ll_pdu(cx, mobile, tlli, frame, &mut self.said),
            UmKind::SuspendAck => {
                let reference = frame.first().copied().ok_or(Drop::UmMalformed)?;
                self.ap.suspended(cx, mobile, tlli, reference, &mut self.said)
            }
            UmKind::PagingPs | UmKind::PagingCs => {
                let identity = match PagedIdentity::parse(&frame).map_err(|_| Drop::UmMalformed)? {
                    PagedIdentity::PTmsi(ptmsi) => Identity::PTmsi(ptmsi),
                    PagedIdentity::Imsi(imsi) => Identity::Imsi(imsi),
                };
                self.ap.page(cx, cell, kind == UmKind::PagingCs, identity, &mut self.said);
                Ok(())
            }
            UmKind::Suspend | UmKind::Resume | UmKind::CampOn | UmKind::Away => Err(Drop::UmMalformed),
        }
    }
}

impl Machine for ApNode {
    type Command = ApCommand;
    type Event = Event;
    type Rule = core::convert::Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<ApCommand>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port: Port(port), peer, frame } if port >= BEARERS => {
                    let from = Address { link: port - BEARERS, peer };
                    self.ap.receive(cx, from, frame, &mut self.said);
                }
                Input::Datagram { port: UM, .. } => cx.drop(Drop::UmMalformed, None),
                Input::Timeout(KEY) => {
                    self.deadlines.woken(cx.now);
                    self.ap.wake(cx, &mut self.said);
                }
                Input::Command(command) => self.command(cx, command),
                Input::Datagram { port, peer, frame } => {
                    self.to_bss.push(Input::Datagram { port, peer, frame });
                }
                Input::Classified { port, name, frame } => {
                    self.to_bss.push(Input::Classified { port, name, frame });
                }
                Input::Stream { port, state } => self.to_bss.push(Input::Stream { port, state }),
                Input::Timeout(key) => self.to_bss.push(Input::Timeout(key)),
            }
            self.settle(cx);
        }
        self.settle(cx);
    }

    fn timer_name(&self, key: TimerKey) -> &'static str {
        if key == KEY { "beacons, and LL-PDUs in pieces" } else { self.bss.timer_name(key) }
    }

    fn poll_output(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<Output<Event>>) {
        if core::mem::take(&mut self.is_released) {
            self.bss.radio_takes_again(cx);
            self.settle(cx);
        }
        outputs.append(&mut self.out);
    }

    fn has_work(&self) -> bool {
        self.is_released
    }

    fn hold_back(&mut self, on: bool) {
        self.bss.hold_radio_back(on);
        self.is_released = !on;
    }
}

//! Negotiation of parameters with XID (04.64 clause 8.5.3 [44.064]).
//!
//! One XID command is outstanding at a time; another SAPI that asks meanwhile waits for its turn and then asks for
//! the same. An end that receives a command answers at once, even while its own is outstanding (clause 8.5.5.1): it
//! then answers the lower of both values, and so does the other end, so that both come to the same.

use super::{LlcContext, LlcOutput, LlcRole, LlcStatus, LlcTimer, SAPIS, U, slot_of};
use crate::about::About as _;
use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::id::{Imsi, Sapi, Tlli};
use gannet_wire::llc::xid::{self, Parameter};
use gannet_wire::llc::{N201_MAX, UFunction};
use gannet_wire::sndcp;
use serde::{Deserialize, Serialize};

const T200: LlcTimer = LlcTimer::T200;

/// What one end wants to negotiate for a SAPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XidRequest {
    /// N201-U, 140 to 1520 octets.
    pub n201_u: Option<u16>,
    /// N201-I, 140 to 1520 octets.
    pub n201_i: Option<u16>,
    /// What layer 3 wants to say.
    pub layer3: Layer3Offer,
}

/// Layer 3's part of a request, as a value from which its octets can be made again for a repetition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layer3Offer {
    /// Nothing.
    #[default]
    Nothing,
    /// SNDCP version 0 and no compression.
    Sndcp,
}

/// LL-XID.indication: the peer's parameters are taken over already; layer 3 has something to answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XidIndication {
    /// Whose parameters.
    pub sapi: Sapi,
    /// Layer 3's part of the command.
    pub layer3: Vec<u8>,
    poll_final: bool,
    answer: Vec<Parameter>,
}

/// What an outstanding command is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Nothing = 0,
    Parameters = 1,
    ParametersAndSndcp = 2,
    Reset = 3,
}

/// The XID command that waits for its response, in six octets: a context has no room for more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Outstanding {
    /// N201-U asked for; 0 where it is not negotiated.
    n201_u: u16,
    /// N201-I asked for; 0 where it is not negotiated.
    n201_i: u16,
    /// Kind in the upper two bits; in the lower six the slots that wait for their turn.
    kind_and_waiting: u8,
    /// Repetitions in the upper four bits, slot in the lower four.
    tries_and_slot: u8,
}

impl Outstanding {
    fn start(&mut self, kind: Kind, slot: usize) {
        self.kind_and_waiting = (kind as u8) << 6 | (self.kind_and_waiting & 0x3f);
        self.tries_and_slot = u8::try_from(slot & 0xf).unwrap_or(0);
    }

    pub(super) const fn kind(self) -> Kind {
        match self.kind_and_waiting >> 6 {
            0 => Kind::Nothing,
            1 => Kind::Parameters,
            2 => Kind::ParametersAndSndcp,
            _ => Kind::Reset,
        }
    }

    const fn slot(self) -> usize {
        (self.tries_and_slot & 0xf) as usize
    }

    fn is_for(self, slot: usize) -> bool {
        self.kind() != Kind::Nothing && self.slot() == slot
    }

    /// N201-U that was asked for in `slot`.
    fn n201_u_of(self, slot: usize) -> u16 {
        if self.is_for(slot) { self.n201_u } else { 0 }
    }

    /// N201-U and N201-I that are asked for from now on.
    pub(super) const fn ask(&mut self, n201: (u16, u16)) {
        (self.n201_u, self.n201_i) = n201;
    }

    fn n201_i_of(self, slot: usize) -> u16 {
        if self.is_for(slot) { self.n201_i } else { 0 }
    }

    /// Repetitions so far, at most 15 as N200.
    const fn tries(self) -> u8 {
        self.tries_and_slot >> 4
    }

    const fn repeat(&mut self) {
        self.tries_and_slot = self.tries_and_slot.saturating_add(0x10);
    }

    fn wait(&mut self, slot: usize) {
        self.kind_and_waiting |= 1 << slot & 0x3f;
    }

    /// Ends the present negotiation and gives the slot whose turn it is then.
    fn finish(&mut self) -> Option<(Kind, usize)> {
        let kind = if self.kind() == Kind::Reset { Kind::Parameters } else { self.kind() };
        let waiting = self.kind_and_waiting & 0x3f;
        let next = (0..SAPIS.len()).find(|slot| waiting >> slot & 1 == 1);
        match next {
            Some(slot) => self.kind_and_waiting = waiting & !(1 << slot),
            None => *self = Self::default(),
        }
        next.map(|slot| (kind, slot))
    }
}

impl LlcContext {
    /// LL-XID.request: begins a negotiation. While another SAPI's is under way this one waits, and then asks for the
    /// same values as that one; while this SAPI's own is under way nothing happens.
    pub fn xid_request(
        &mut self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        request: XidRequest,
        out: &mut Batch<LlcOutput>,
    ) {
        let Some(slot) = slot_of(sapi) else { return };
        let n201 = (request.n201_u.unwrap_or(0), request.n201_i.unwrap_or(0));
        let kind = match request.layer3 {
            Layer3Offer::Nothing => Kind::Parameters,
            Layer3Offer::Sndcp => Kind::ParametersAndSndcp,
        };
        if self.outstanding.kind() != Kind::Nothing {
            if !self.wait_for_block(slot, n201, kind) && !self.outstanding.is_for(slot) {
                self.outstanding.wait(slot);
            }
            return;
        }
        self.outstanding.ask(n201);
        self.begin(cx, kind, slot, out);
    }

    /// LLGMM-RESET.request (clauses 7.2.1.2 and 8.5.3.1): counters and parameters of all LLEs start again. The SGSN
    /// says so to the mobile with an XID command on SAPI 1; the mobile only does it.
    pub fn reset_request(&mut self, cx: &mut Context<'_>, out: &mut Batch<LlcOutput>) {
        self.restart(out);
        match self.role() {
            LlcRole::Sgsn => {
                if let Some(slot) = slot_of(Sapi::GMM) {
                    self.begin(cx, Kind::Reset, slot, out);
                }
            }
            LlcRole::Ms => out.push(LlcOutput::Reset),
        }
    }

    pub(super) fn begin(
        &mut self,
        cx: &mut Context<'_>,
        kind: Kind,
        slot: usize,
        out: &mut Batch<LlcOutput>,
    ) {
        self.outstanding.start(kind, slot);
        let asked = self.outstanding.n201_u;
        if let (true, Some(own)) = (asked != 0, self.saps.parameters_mut(slot)) {
            own.ask_n201_u(asked);
        }
        self.send_command(cx, out);
    }

    fn send_command(&mut self, cx: &mut Context<'_>, out: &mut Batch<LlcOutput>) {
        let outstanding = self.outstanding;
        let Some((sapi, parameters)) =
            SAPIS.get(outstanding.slot()).zip(self.saps.parameters(outstanding.slot()))
        else {
            return;
        };
        self.deadlines.set(T200, cx.now + parameters.t200());
        let mut command = Vec::new();
        match outstanding.kind() {
            Kind::Reset => command.push(Parameter::Reset),
            Kind::Nothing | Kind::Parameters | Kind::ParametersAndSndcp => {
                command.push(Parameter::Version(0));
                command.extend((outstanding.n201_u != 0).then_some(Parameter::N201U(outstanding.n201_u)));
                command.extend((outstanding.n201_i != 0).then_some(Parameter::N201I(outstanding.n201_i)));
            }
        }
        if outstanding.kind() == Kind::ParametersAndSndcp {
            let given = self.block_sent(outstanding.slot()).map(<[u8]>::to_vec);
            command.push(Parameter::Layer3(given.unwrap_or_else(|| {
                let mut block = Vec::new();
                sndcp::xid::emit(&[sndcp::xid::Parameter::Version(0)], &mut block);
                block
            })));
        }
        self.transmit_xid(cx, *sapi, true, true, &command, out);
    }

    fn transmit_xid(
        &self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        command: bool,
        poll_final: bool,
        parameters: &[Parameter],
        out: &mut Batch<LlcOutput>,
    ) {
        let mut info = Vec::new();
        xid::emit(parameters, &mut info);
        self.transmit_u(cx, sapi, command, (poll_final, UFunction::Xid), &info, out);
    }

    /// To be called when the wake-up comes that [`LlcContext::arm`] asked for (clause 8.5.3.4).
    pub fn wake(&mut self, cx: &mut Context<'_>, whose: Option<Imsi>, out: &mut Batch<LlcOutput>) {
        self.wake_links(cx, out);
        self.deadlines.woken(cx.now);
        if self.deadlines.pop_due(cx.now).is_none() || self.outstanding.kind() == Kind::Nothing {
            return;
        }
        let slot = self.outstanding.slot();
        let n200 = self.saps.parameters(slot).map_or(0, |parameters| parameters.n200());
        if self.outstanding.tries() < n200 {
            self.outstanding.repeat();
            self.send_command(cx, out);
            return;
        }
        cx.drop_of(Drop::LlcXidUnanswered, whose);
        let has_block = self.block_sent(slot).is_some();
        if let Some(sapi) = SAPIS.get(slot) {
            let line = format_args!("TLLI {}: SAPI {sapi}: no response to XID", self.tlli);
            cx.log_of(whose, Category::Llc, Level::Notice, line);
            out.push(LlcOutput::Status { sapi: *sapi, cause: LlcStatus::XidUnanswered });
            if has_block {
                out.push(LlcOutput::Layer3XidConfirm { sapi: *sapi, block: None });
            }
        }
        self.finish(cx, out);
    }

    /// T200 of the command that waits for its response, from its beginning.
    pub(super) fn restart_t200(&mut self, now: Instant) {
        if self.outstanding.kind() != Kind::Nothing
            && let Some(parameters) = self.saps.parameters(self.outstanding.slot())
        {
            self.deadlines.set(T200, now + parameters.t200());
        }
    }

    fn finish(&mut self, cx: &mut Context<'_>, out: &mut Batch<LlcOutput>) {
        self.deadlines.clear(T200);
        self.block_done(self.outstanding.slot());
        match self.outstanding.finish() {
            Some((kind, slot)) => self.begin(cx, kind, slot, out),
            None => self.begin_block(cx, out),
        }
    }

    /// A command of the peer: takes its parameters over as far as the rules allow, and answers; where layer 3 has a
    /// part in it, layer 3 is asked first.
    pub(super) fn xid_command(
        &mut self,
        cx: &mut Context<'_>,
        u: &U<'_>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        let command = read(cx, self.tlli, u)?;
        // Only the SGSN may reset (clause 8.5.3.1), and a reset comes before whatever stands beside it.
        if self.role() == LlcRole::Ms && command.contains(&Parameter::Reset) {
            self.restart(out);
            out.push(LlcOutput::Reset);
        }
        let mut layer3 = None;
        let mut answer = Vec::new();
        for parameter in command {
            if let Parameter::Layer3(octets) = parameter {
                layer3 = Some(octets);
            } else {
                answer.extend(self.negotiate(u.slot, &parameter));
            }
        }
        match layer3 {
            Some(layer3) => {
                let (sapi, poll_final) = (u.sapi, u.poll_final);
                out.push(LlcOutput::XidIndication(Box::new(XidIndication {
                    sapi,
                    layer3,
                    poll_final,
                    answer,
                })));
            }
            None => self.transmit_xid(cx, u.sapi, false, u.poll_final, &answer, out),
        }
        Ok(())
    }

    /// The response to one parameter of a command; `None` where it is left out, which accepts it, or means nothing
    /// here. N201 is negotiated down, T200 and N200 up (table 6).
    pub(super) fn negotiate(&mut self, slot: usize, parameter: &Parameter) -> Option<Parameter> {
        let (wanted_u, wanted_i) = (self.outstanding.n201_u_of(slot), self.outstanding.n201_i_of(slot));
        let role = self.role();
        let own = self.saps.parameters_mut(slot)?;
        let valid = parameter.is_valid();
        let limit = |wanted: u16| if wanted == 0 { N201_MAX } else { wanted };
        match parameter {
            Parameter::Version(_) => Some(Parameter::Version(0)),
            Parameter::N201U(octets) => {
                if valid {
                    own.set_n201_u((*octets).min(limit(wanted_u)));
                }
                Some(Parameter::N201U(own.n201_u()))
            }
            Parameter::N201I(octets) => {
                if valid {
                    own.n201_i = (*octets).min(limit(wanted_i));
                }
                Some(Parameter::N201I(own.n201_i))
            }
            Parameter::T200(tenths) => {
                if valid {
                    own.set_t200_tenths((*tenths).max(own.t200_tenths()));
                }
                Some(Parameter::T200(own.t200_tenths()))
            }
            Parameter::N200(count) => {
                if valid {
                    own.set_n200((*count).max(own.n200()));
                }
                Some(Parameter::N200(own.n200()))
            }
            Parameter::IovUi(offset) => {
                if role == LlcRole::Ms {
                    self.saps.iov_ui = *offset;
                }
                Some(Parameter::IovUi(self.saps.iov_ui))
            }
            Parameter::Reset => (role == LlcRole::Ms).then_some(Parameter::Reset),
            Parameter::IovI(_)
            | Parameter::MD(_)
            | Parameter::MU(_)
            | Parameter::KD(_)
            | Parameter::KU(_) => self.negotiate_windows(slot, parameter),
            Parameter::Layer3(_) | Parameter::Unknown { .. } => None,
        }
    }

    /// LL-XID.response: answers `indication`; `layer3` is layer 3's own part.
    pub fn xid_response(
        &self,
        cx: &mut Context<'_>,
        indication: XidIndication,
        layer3: Option<Vec<u8>>,
        out: &mut Batch<LlcOutput>,
    ) {
        let XidIndication { sapi, poll_final, mut answer, .. } = indication;
        answer.extend(layer3.map(Parameter::Layer3));
        self.transmit_xid(cx, sapi, false, poll_final, &answer, out);
    }

    /// A response of the peer. What it leaves out it accepts as asked for. One that breaks the rules of negotiation
    /// counts as none, and T200 repeats the command (clause 8.5.3.3).
    pub(super) fn xid_received(
        &mut self,
        cx: &mut Context<'_>,
        u: &U<'_>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        if !self.outstanding.is_for(u.slot) {
            return Err(Drop::LlcUnexpected);
        }
        let response = read(cx, self.tlli, u)?;
        let mut agreed = *self.saps.parameters(u.slot).ok_or(Drop::LlcUnknownSapi)?;
        let outstanding = self.outstanding;
        if outstanding.n201_u != 0 {
            agreed.set_n201_u(outstanding.n201_u);
        }
        if outstanding.n201_i != 0 {
            agreed.n201_i = outstanding.n201_i;
        }
        let mut layer3 = None;
        for parameter in response {
            let valid = parameter.is_valid();
            match parameter {
                Parameter::N201U(octets) if valid && octets <= agreed.n201_u() => agreed.set_n201_u(octets),
                Parameter::N201I(octets) if valid && octets <= agreed.n201_i => agreed.n201_i = octets,
                Parameter::T200(tenths) if valid && tenths >= agreed.t200_tenths() => {
                    agreed.set_t200_tenths(tenths);
                }
                Parameter::N200(count) if valid && count >= agreed.n200() => agreed.set_n200(count),
                Parameter::N201U(_) | Parameter::N201I(_) | Parameter::T200(_) | Parameter::N200(_) => {
                    return Err(Drop::LlcBadXid);
                }
                Parameter::Layer3(octets) => layer3 = Some(octets),
                Parameter::Version(_)
                | Parameter::IovUi(_)
                | Parameter::IovI(_)
                | Parameter::MD(_)
                | Parameter::MU(_)
                | Parameter::KD(_)
                | Parameter::KU(_)
                | Parameter::Reset
                | Parameter::Unknown { .. } => {}
            }
        }
        if outstanding.kind() == Kind::Reset {
            // Frames that the mobile sent before its own reset may have come since the command was sent.
            for counters in self.saps.all_counters() {
                counters.forget_received();
            }
            out.push(LlcOutput::Reset);
        } else if self.block_sent(u.slot).is_some() {
            out.push(LlcOutput::Layer3XidConfirm { sapi: u.sapi, block: layer3 });
        } else {
            out.push(LlcOutput::XidConfirm { sapi: u.sapi, layer3 });
        }
        if let Some(own) = self.saps.parameters_mut(u.slot) {
            *own = agreed;
        }
        self.finish(cx, out);
        Ok(())
    }
}

fn read(cx: &mut Context<'_>, tlli: Tlli, u: &U<'_>) -> Result<Vec<Parameter>, Drop> {
    xid::parse(u.info).map_err(|error| {
        cx.log(Category::Llc, Level::Info, format_args!("TLLI {tlli}: SAPI {}: XID: {error}", u.sapi));
        Drop::LlcBadXid
    })
}

//! GMM in the mobile: one [`GmmMsContext`] for each.
//!
//! A mobile of operation mode C (GPRS only) asks for GPRS attach and for normal and periodic routing area updates. One of
//! operation mode A or B in a network of operation mode I asks for combined procedures ([`GmmMsConfig::combined`]); what
//! becomes of its non-GPRS services is [`NonGprs`]. Its node selects cells, owns the radio and LLC, and asks the SIM.
//!
//! TLLIs follow clause 4.7.1.4: every ATTACH REQUEST and the update into a new routing area go out with a foreign TLLI
//! made from the P-TMSI, an ATTACH REQUEST without a P-TMSI with a random one, everything else with the local one.

mod accept;
mod attach;
mod authentication;
mod cell;
mod common;
mod context;
mod detach;
mod non_gprs;
mod reject;
mod update;

#[cfg(test)]
mod tests;

pub use context::{GmmMsContext, GmmMsState, GmmMsTimer, NonGprs, Service};

use super::MmState;
use crate::about::About as _;
use crate::auth::CardAnswer;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::DecodeError;
use gannet_wire::id::{CellId, Tlli};
use gannet_wire::l3::gmm::{self, GmmMessage};
use gannet_wire::l3::ie::{
    DrxParameter, GmmCause, GprsTimer, MsNetworkCapability, MsRadioAccessCapability, PdpContextStatus,
    ReceiveNpduNumbers,
};
use serde::{Deserialize, Serialize};

/// What all mobiles of one kind have in common. The defaults are those of clause 11.2.2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GmmMsConfig {
    /// Sent in ATTACH REQUEST.
    pub network_capability: MsNetworkCapability,
    /// Sent in ATTACH REQUEST and ROUTING AREA UPDATE REQUEST.
    pub radio_access_capability: MsRadioAccessCapability,
    /// Sent in ATTACH REQUEST.
    pub drx: DrxParameter,
    /// T3314 to be asked for; `None` leaves it to the network.
    pub requested_ready_timer: Option<GprsTimer>,
    /// T3310, T3321 and T3330.
    pub retry: Duration,
    /// How often a request guarded by one of those is sent in all.
    pub tries: u8,
    /// T3311, from one attempt to the next.
    pub t3311: Duration,
    /// T3316: how long RAND and RES are kept (clause 4.7.7.2).
    pub t3316: Duration,
    /// T3318: the time for a genuine network to mend a MAC failure (clause 4.7.7.6 f).
    pub t3318: Duration,
    /// T3320: the same for a synch failure (clause 4.7.7.6 g).
    pub t3320: Duration,
    /// Attempts until T3302 is used instead of T3311.
    pub attempts: u8,
    /// Combined procedures are asked for: the mobile is one of operation mode A or B, and the network of operation mode I
    /// (clauses 4.7.3 and 4.7.5).
    pub combined: bool,
}

impl Default for GmmMsConfig {
    fn default() -> Self {
        Self {
            network_capability: MsNetworkCapability::typical(),
            radio_access_capability: MsRadioAccessCapability::typical(1),
            drx: DrxParameter::default(),
            requested_ready_timer: None,
            retry: Duration::from_secs(15),
            tries: 5,
            t3311: Duration::from_secs(15),
            t3316: Duration::from_secs(30),
            t3318: Duration::from_secs(20),
            t3320: Duration::from_secs(15),
            attempts: 5,
            combined: false,
        }
    }
}

/// By which name a mobile was paged (clause 4.7.9.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagedBy {
    /// Its P-TMSI: there are data for it.
    PTmsi,
    /// Its IMSI: the network has lost it.
    Imsi,
}

/// What happens to a mobile.
#[derive(Debug, Clone, PartialEq)]
pub enum GmmMsEvent {
    /// It is to be attached.
    Attach,
    /// It is to be detached.
    Detach {
        /// By switching it off: no answer is waited for.
        power_off: bool,
    },
    /// It is to be detached from non-GPRS services alone.
    ImsiDetach,
    /// It is to be attached for them again.
    ImsiAttach,
    /// It has selected this cell.
    CellSelected(CellId),
    /// It has no cell.
    CellLost,
    /// Access to its cell is barred for its class, or is not any more (04.60 clause 7.1.1 [44.060]). A cell that is
    /// selected is taken not to be.
    Access {
        /// It is.
        barred: bool,
    },
    /// A GMM message from the network.
    Message {
        /// The message.
        message: GmmMessage,
        /// The TLLI that it came with.
        tlli: Tlli,
    },
    /// A GMM message that could not be read.
    DecodeFailed(DecodeError),
    /// A deadline is due.
    Timer(GmmMsTimer),
    /// LLC has sent a frame that GMM did not ask for.
    LlcFrameSent,
    /// It was paged.
    Paged(PagedBy),
    /// LLC gave up (clause 4.7.1.1).
    LowerLayerFailure,
    /// The card's answer to [`GmmMsAction::AskSim`]. Its keys are for the node to keep until
    /// [`GmmMsAction::Authenticated`].
    SimAnswer(CardAnswer),
}

/// What the mobile's node is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum GmmMsAction {
    /// Send this message on SAPI 1 with this TLLI.
    Send {
        /// The message. SNDCP's numbers in a ROUTING AREA UPDATE COMPLETE are for the node to fill in (clause 9.4.16).
        message: GmmMessage,
        /// The TLLI.
        tlli: Tlli,
    },
    /// LLGMM-ASSIGN: `new` is the mobile's TLLI from now on; frames to `old` are still its own.
    AssignTlli {
        /// The TLLI to be used.
        new: Tlli,
        /// The one used until now.
        old: Option<Tlli>,
    },
    /// LLGMM-ASSIGN: this TLLI is not the mobile's any more.
    UnassignTlli {
        /// The one that ends.
        old: Tlli,
    },
    /// Send any LLC frame, an empty UI frame for example: it tells the network the cell, and answers paging
    /// (03.60 clause 6.9.1.1 [23.060]; clause 4.7.9.1.1).
    SendCellUpdate,
    /// Have the card answer with [`GmmMsEvent::SimAnswer`].
    AskSim {
        /// RAND.
        rand: [u8; 16],
        /// AUTN of a UMTS challenge.
        autn: Option<[u8; 16]>,
    },
    /// The response has been sent: LLGMM-ASSIGN with this algorithm and with the key that the card gave for the last
    /// challenge (clause 4.7.7.2; 04.64 clause 7.2.1.1 [44.064]).
    Authenticated {
        /// 0 none, 1 GEA/1 and so on.
        algorithm: u8,
    },
    /// The network is not genuine: this cell is barred for the mobile (clause 4.7.7.6.1).
    BarCell(CellId),
    /// The mobile is attached.
    Registered,
    /// The mobile is not attached any more, or was not accepted.
    Deregistered {
        /// Why, where the network said so.
        cause: Option<GmmCause>,
    },
    /// The routing area update has succeeded.
    Updated,
    /// SNSM-SEQUENCE.indication: the N-PDUs that the network expects next of contexts in acknowledged mode (clause 4.7.5.1.3).
    NPduNumbers(ReceiveNpduNumbers),
    /// A combined procedure, or an IMSI detach, has ended, or the mobile is not attached any more: its non-GPRS services.
    NonGprs {
        /// How it stands with them now.
        standing: NonGprs,
        /// Why it is attached for GPRS only, where the network said so.
        cause: Option<GmmCause>,
    },
    /// The mobile's MM state is now this one.
    MmStateChanged(MmState),
    /// Delete these PDP contexts here, without signalling to the network.
    DeletePdpContexts(PdpContextStatus),
}

impl GmmMsContext {
    /// Takes one event.
    pub fn handle(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        event: GmmMsEvent,
        out: &mut Batch<GmmMsAction>,
    ) {
        match event {
            GmmMsEvent::Attach => self.attach(cx, cfg, out),
            GmmMsEvent::Detach { power_off } => self.detach(cx, cfg, power_off, out),
            GmmMsEvent::ImsiDetach => self.imsi_detach(cx, cfg, out),
            GmmMsEvent::ImsiAttach => self.imsi_attach(cx, cfg, out),
            GmmMsEvent::CellSelected(cell) => self.cell_selected(cx, cfg, cell, out),
            GmmMsEvent::CellLost => self.cell_lost(cx, cfg, out),
            GmmMsEvent::Access { barred } => self.access(cx, cfg, barred, out),
            GmmMsEvent::Message { message, tlli } => {
                self.heard(tlli, out);
                self.message(cx, cfg, message, out);
            }
            GmmMsEvent::DecodeFailed(error) => {
                cx.drop_of(Drop::GmmMalformed, Some(self.imsi));
                let line = format_args!("GMM message from the network: {error}");
                cx.log_of(Some(self.imsi), Category::Mm, Level::Notice, line);
                if let Some(cause) = gmm::cause(&error) {
                    self.status(cx, cause, out);
                }
            }
            GmmMsEvent::Timer(timer) => self.timer(cx, cfg, timer, out),
            GmmMsEvent::LlcFrameSent => self.frame_sent(cx, out),
            GmmMsEvent::Paged(by) => self.paged(cx, cfg, by, out),
            GmmMsEvent::LowerLayerFailure => self.lower_layer_failure(cx, cfg, out),
            GmmMsEvent::SimAnswer(answer) => self.sim_answer(cx, cfg, answer, out),
        }
    }

    /// Takes all deadlines that are due. To be called when the node was woken for this mobile.
    pub fn expire(&mut self, cx: &mut Context<'_>, cfg: &GmmMsConfig, out: &mut Batch<GmmMsAction>) {
        self.deadlines.woken(cx.now);
        while let Some(timer) = self.deadlines.pop_due(cx.now) {
            self.handle(cx, cfg, GmmMsEvent::Timer(timer), out);
        }
    }

    /// Clause 4.7, message by message; the state is looked at in each procedure's own table.
    fn message(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmMsConfig,
        message: GmmMessage,
        out: &mut Batch<GmmMsAction>,
    ) {
        match message {
            GmmMessage::AttachAccept(accept) => self.attach_accept(cx, cfg, &accept, out),
            GmmMessage::AttachReject(reject) => {
                self.attach_reject(cx, cfg, reject.cause, reject.t3302, out);
            }
            GmmMessage::DetachRequestMt(request) => self.detach_request(cx, cfg, &request, out),
            GmmMessage::DetachAcceptMo(_) => self.detach_accept(cx, cfg, out),
            GmmMessage::RauAccept(accept) => self.update_accept(cx, cfg, &accept, out),
            GmmMessage::RauReject(reject) => self.update_reject(cx, cfg, reject.cause, reject.t3302, out),
            GmmMessage::PTmsiReallocationCommand(command) => self.reallocation(cx, &command, out),
            GmmMessage::AuthenticationRequest(request) => self.authentication(cx, cfg, &request, out),
            GmmMessage::AuthenticationReject(_) => self.authentication_reject(cx, out),
            GmmMessage::IdentityRequest(request) => self.identity_request(cx, &request, out),
            // Clause 4.7.12: the mobile may use it.
            GmmMessage::GmmInformation(_) => {}
            // Clause 4.7.10: nothing is done but told.
            GmmMessage::GmmStatus(status) => {
                cx.drop_of(Drop::GmmStatusReceived, Some(self.imsi));
                let line = format_args!("GMM STATUS: {}", status.cause);
                cx.log_of(Some(self.imsi), Category::Mm, Level::Notice, line);
            }
            // These belong to Iu mode (clause 4.7.13).
            GmmMessage::ServiceAccept(_) | GmmMessage::ServiceReject(_) => {
                self.unexpected(cx, message.name(), out);
            }
            // Clause 8.4: a type that is not defined in this direction counts as not defined.
            GmmMessage::AttachRequest(_)
            | GmmMessage::AttachComplete(_)
            | GmmMessage::DetachRequestMo(_)
            | GmmMessage::DetachAcceptMt(_)
            | GmmMessage::RauRequest(_)
            | GmmMessage::RauComplete(_)
            | GmmMessage::ServiceRequest(_)
            | GmmMessage::PTmsiReallocationComplete(_)
            | GmmMessage::AuthenticationResponse(_)
            | GmmMessage::AuthenticationFailure(_)
            | GmmMessage::IdentityResponse(_) => {
                cx.drop_of(Drop::GmmMalformed, Some(self.imsi));
                self.status(cx, GmmCause::MessageTypeNonExistent, out);
            }
        }
    }
}

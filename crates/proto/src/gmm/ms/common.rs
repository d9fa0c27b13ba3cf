//! The common procedures of the mobile: identification (clause 4.7.8) and P-TMSI reallocation (clause 4.7.6).
//! Authentication (clause 4.7.7) stands by itself.

use super::GmmMsAction;
use super::context::{GmmMsContext, GmmMsState, Service};
use crate::about::About as _;
use gannet_machine::drops::Drop;
use gannet_machine::{Batch, Context};
use gannet_wire::id::Tlli;
use gannet_wire::l3::gmm::{
    IdentityRequest, IdentityResponse, PTmsiReallocationCommand, PTmsiReallocationComplete,
};
use gannet_wire::l3::ie::{GmmCause, IdentityType, MobileIdentity};

impl GmmMsContext {
    /// IDENTITY REQUEST (clause 4.7.8.2): answered whenever there is a link. What the mobile does not have it says so.
    pub(super) fn identity_request(
        &mut self,
        cx: &mut Context<'_>,
        request: &IdentityRequest,
        out: &mut Batch<GmmMsAction>,
    ) {
        match self.state {
            GmmMsState::RegisteredInitiated
            | GmmMsState::Registered
            | GmmMsState::DeregisteredInitiated
            | GmmMsState::RoutingAreaUpdatingInitiated => {}
            GmmMsState::Null | GmmMsState::Deregistered => {
                return self.unexpected(cx, "IDENTITY REQUEST", out);
            }
        }
        let identity = match request.identity_type {
            IdentityType::Imsi => MobileIdentity::Imsi(self.imsi),
            IdentityType::Imei => self.imei.map_or(MobileIdentity::None, MobileIdentity::Imei),
            IdentityType::Imeisv => self.imeisv().map_or(MobileIdentity::None, MobileIdentity::Imeisv),
            IdentityType::Tmsi => self.ptmsi().map_or(MobileIdentity::None, MobileIdentity::PTmsi),
        };
        self.send(cx, IdentityResponse { identity }.into(), out);
    }

    /// P-TMSI REALLOCATION COMMAND (clause 4.7.6.2). It gives way to a request of the mobile that is under way
    /// (clause 4.7.6.4 c, d and e).
    pub(super) fn reallocation(
        &mut self,
        cx: &mut Context<'_>,
        command: &PTmsiReallocationCommand,
        out: &mut Batch<GmmMsAction>,
    ) {
        match (self.state, command.allocated_ptmsi) {
            // Clause 4.7.4.1.4 d: nor does an IMSI detach wait.
            (GmmMsState::Registered, _) if self.service == Service::ImsiDetachInitiated => {
                self.ignored(cx, "P-TMSI REALLOCATION COMMAND");
            }
            (GmmMsState::Registered, MobileIdentity::PTmsi(ptmsi)) => {
                self.take_identity(ptmsi, command.ptmsi_signature);
                self.rai = Some(command.rai);
                self.change_tlli(Tlli::local(ptmsi), out);
                self.send(cx, PTmsiReallocationComplete {}.into(), out);
            }
            (GmmMsState::Registered, _) => {
                cx.drop_of(Drop::GmmUnexpected, Some(self.imsi));
                self.status(cx, GmmCause::SemanticallyIncorrect, out);
            }
            (
                GmmMsState::RegisteredInitiated
                | GmmMsState::DeregisteredInitiated
                | GmmMsState::RoutingAreaUpdatingInitiated,
                _,
            ) => self.ignored(cx, "P-TMSI REALLOCATION COMMAND"),
            (GmmMsState::Null | GmmMsState::Deregistered, _) => {
                self.unexpected(cx, "P-TMSI REALLOCATION COMMAND", out);
            }
        }
    }
}

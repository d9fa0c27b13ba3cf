//! What the network accepts a mobile with: ATTACH ACCEPT (clause 9.4.2) and ROUTING AREA UPDATE ACCEPT (clause
//! 9.4.15), built from the context so that a repetition is the same message.

use super::context::{Procedure, Waiting};
use super::{GmmAction, GmmConfig, GmmContext};
use crate::gmm::{TemporaryIdentity, without};
use gannet_machine::Batch;
use gannet_wire::l3::gmm::{AttachAccept, RauAccept};
use gannet_wire::l3::ie::{GmmCause, GprsTimer, MobileIdentity, PTmsiSignature, PdpContextStatus};

impl GmmContext {
    /// ATTACH ACCEPT, ROUTING AREA UPDATE ACCEPT or P-TMSI REALLOCATION COMMAND, whichever is due.
    pub(super) fn send_accept(&self, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        match (self.rest.procedure, self.rest.new) {
            (Procedure::Attach, _) => self.send(self.attach_accept(cfg).into(), out),
            (Procedure::Update, _) => self.send(self.update_accept(cfg).into(), out),
            (Procedure::None, Some(new)) => self.send_reallocation(new, out),
            (Procedure::None, None) | (Procedure::Detach, _) => {}
        }
    }

    fn attach_accept(&self, cfg: &GmmConfig) -> AttachAccept {
        AttachAccept {
            ptmsi_signature: self.offered().and_then(|(_, signature)| signature),
            negotiated_ready_timer: Some(self.rest.ready_timer),
            allocated_ptmsi: self.offered().map(|(ptmsi, _)| ptmsi),
            gmm_cause: self.rest.combined.then_some(GmmCause::MscNotReachable),
            ..AttachAccept::new(self.rest.rai, cfg.t3312)
        }
    }

    fn update_accept(&self, cfg: &GmmConfig) -> RauAccept {
        // A P-TMSI that stays gets a signature, too.
        let kept = self.rest.current.filter(|_| self.rest.new.is_none());
        let signature = kept.and_then(TemporaryIdentity::signature);
        RauAccept {
            ptmsi_signature: self.offered().map_or(signature, |(_, signature)| signature),
            allocated_ptmsi: self.offered().map(|(ptmsi, _)| ptmsi),
            negotiated_ready_timer: Some(self.rest.ready_timer),
            gmm_cause: self.rest.combined.then_some(GmmCause::MscNotReachable),
            pdp_context_status: self.rest.mobile_nsapis.map(|_| self.rest.active_nsapis),
            ..RauAccept::new(self.rest.rai, cfg.t3312)
        }
    }

    /// The P-TMSI and the signature that wait for a COMPLETE.
    fn offered(&self) -> Option<(MobileIdentity, Option<PTmsiSignature>)> {
        match self.rest.waiting {
            Waiting::AttachComplete | Waiting::UpdateComplete => {
                self.rest.new.map(|new| (MobileIdentity::PTmsi(new.ptmsi), new.signature()))
            }
            Waiting::Nothing
            | Waiting::AuthService
            | Waiting::Ptmsi
            | Waiting::IdentityImsi
            | Waiting::IdentityImei
            | Waiting::Authentication
            | Waiting::ReallocationComplete
            | Waiting::DetachAccept
            | Waiting::NewPtmsi => None,
        }
    }

    /// T3314 for this mobile: what it asked for, within the operator's limit (clause 4.7.2.1).
    pub(super) fn negotiate_ready(&mut self, cfg: &GmmConfig, asked: Option<GprsTimer>) {
        self.rest.ready_timer = match (asked, asked.and_then(GprsTimer::seconds), cfg.t3314_max.seconds()) {
            (None, ..) => cfg.t3314,
            (Some(asked), _, None) => asked,
            (Some(asked), Some(seconds), Some(max)) if seconds <= max => asked,
            (Some(_), ..) => cfg.t3314_max,
        };
    }

    /// Compares PDP context status (clause 4.7.5.1.3): what the mobile does not hold active ends here too. What the
    /// network does not hold active ends in the mobile, which the status in the ACCEPT tells it.
    pub(super) fn compare_pdp_contexts(&mut self, out: &mut Batch<GmmAction>) {
        let Some(mobile) = self.rest.mobile_nsapis else { return };
        let gone = without(self.rest.active_nsapis, mobile);
        if gone.0 != 0 {
            out.push(GmmAction::DeletePdpContexts(gone));
            self.rest.active_nsapis = PdpContextStatus(self.rest.active_nsapis.0 & mobile.0);
        }
    }
}

//! GPRS detach (clause 4.7.4): by the mobile, by the network, and implicitly.

use super::context::{GmmState, Waiting};
use super::{GmmAction, GmmConfig, GmmContext};
use crate::drops::Drop;
use crate::gmm::MmState;
use crate::machine::{Batch, Context};
use crate::trace::{Category, Level};
use gannet_wire::l3::gmm::{DetachAcceptMo, DetachRequestMo, DetachRequestMt};
use gannet_wire::l3::ie::{DetachKindMo, DetachTypeMt, ForceToStandby, GmmCause};

impl GmmContext {
    /// DETACH REQUEST from the mobile (clause 4.7.4.1). It overtakes whatever runs (clauses 4.7.3.1.6 g, 4.7.6.4 b),
    /// also a detach by the network (clause 4.7.4.2.4 c). There is no answer when the mobile is switched off.
    pub(super) fn detach_request(
        &mut self,
        cx: &mut Context<'_>,
        request: &DetachRequestMo,
        out: &mut Batch<GmmAction>,
    ) {
        let detach = request.detach_type;
        cx.log(Category::Mm, Level::Info, format_args!("detach by the mobile: {detach:?}"));
        if !detach.power_off {
            let force_to_standby = ForceToStandby::NotIndicated;
            self.send(DetachAcceptMo { force_to_standby }.into(), out);
        }
        if detach.kind != DetachKindMo::Imsi {
            self.release(out);
        }
    }

    /// DETACH REQUEST to the mobile (clause 4.7.4.2.1).
    pub(super) fn operator_detach(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        kind: DetachTypeMt,
        cause: Option<GmmCause>,
        out: &mut Batch<GmmAction>,
    ) {
        match (self.gmm, self.mm) {
            // Not attached yet: the attach is refused instead.
            (GmmState::Deregistered | GmmState::CommonProcedureInitiated, MmState::Idle) => {
                self.reject(cx, cause.unwrap_or(GmmCause::NetworkFailure), out);
            }
            (GmmState::DeregisteredInitiated, _) => self.ignored(cx, "a second order to detach"),
            (
                GmmState::Deregistered | GmmState::CommonProcedureInitiated | GmmState::Registered,
                MmState::Idle | MmState::Standby | MmState::Ready,
            ) => {
                self.settle();
                self.detach = kind;
                self.detach_cause = cause;
                if kind != DetachTypeMt::Imsi {
                    self.delete_pdp_contexts(out);
                }
                self.wait(cx, cfg, Waiting::DetachAccept);
                self.send_to_ready(cx, cfg, out);
            }
        }
    }

    /// A message that the network starts reaches a mobile in READY only: in STANDBY it is paged, and gets the message
    /// when it answers.
    fn send_to_ready(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        if self.mm == MmState::Ready {
            self.send_detach(out);
        } else {
            self.downlink_data(cx, cfg, out);
        }
    }

    /// The message itself.
    pub(super) fn send_detach(&self, out: &mut Batch<GmmAction>) {
        if self.mm != MmState::Ready {
            return;
        }
        let force_to_standby = ForceToStandby::NotIndicated;
        self.send(
            DetachRequestMt { detach_type: self.detach, force_to_standby, cause: self.detach_cause }.into(),
            out,
        );
    }

    /// DETACH ACCEPT (clause 4.7.4.2.3).
    pub(super) fn detach_accept(
        &mut self,
        cx: &mut Context<'_>,
        cfg: &GmmConfig,
        out: &mut Batch<GmmAction>,
    ) {
        match self.gmm {
            GmmState::DeregisteredInitiated => self.detached(cx, cfg, out),
            GmmState::Deregistered | GmmState::CommonProcedureInitiated | GmmState::Registered => {
                self.unexpected(cx, "DETACH ACCEPT", out);
            }
        }
    }

    /// The detach by the network is over, with an answer or without (clause 4.7.4.2.4 a).
    pub(super) fn detached(&mut self, cx: &mut Context<'_>, cfg: &GmmConfig, out: &mut Batch<GmmAction>) {
        match self.detach {
            DetachTypeMt::ReattachRequired | DetachTypeMt::ReattachNotRequired => self.release(out),
            DetachTypeMt::Imsi if self.mm == MmState::Ready => self.registered(cx, cfg, out),
            DetachTypeMt::Imsi => self.settle(),
        }
    }

    /// Implicit detach (03.60 clause 6.6.1): the mobile was not heard for too long, and is not told.
    pub(super) fn implicit_detach(&mut self, cx: &mut Context<'_>, out: &mut Batch<GmmAction>) {
        cx.drop(Drop::GmmImplicitDetach, self.imsi);
        cx.log(Category::Mm, Level::Notice, format_args!("implicit detach"));
        self.release(out);
    }
}

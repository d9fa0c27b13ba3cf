//! Secondary PDP context activation (clause 6.1.3.2).

use super::context::Mark;
use super::{SmAction, SmContext, Step};
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{LinkedTi, QosProfile, SmCause, TftFault, TftOperation, TrafficFlowTemplate};
use gannet_wire::l3::sm::ActivateSecondaryRequest;

impl Step<'_, '_, '_> {
    pub(super) fn activate_secondary(&mut self, ti: u8, ti_flag: bool, request: ActivateSecondaryRequest) {
        if !self.makes_room((ti, ti_flag), request.nsapi, None) {
            return;
        }
        let (linked, qos) = match self.examine_secondary(&request) {
            Ok(examined) => examined,
            Err(cause) => return self.reject(ti, ti_flag, true, (cause, None)),
        };
        let Some((apn, address)) = self.contexts.get(linked).map(|linked| (linked.apn, linked.address))
        else {
            return;
        };
        let sapi = if request.sapi == Sapi(0) { Sapi::DATA3 } else { request.sapi };
        let mut context = SmContext::new(ti, ti_flag, sapi, apn, &qos, address);
        context.mark(Mark::Secondary, true);
        context.mark(Mark::Tft, request.tft.is_some());
        let (nsapi, tft) = (request.nsapi, request.tft);
        self.contexts.put(nsapi, context);
        self.log(format_args!("NSAPI {nsapi}: secondary activation beside NSAPI {linked}"));
        let (pco, linked) = (None, Some(linked));
        self.out.push(SmAction::CreateTunnel { nsapi, apn, qos, address, pco, linked, tft });
    }

    /// The context that is meant and the quality of service to ask for, or the cause of the rejection
    /// (clauses 6.1.3.2.2 and 6.1.3.2.3).
    fn examine_secondary(
        &mut self,
        request: &ActivateSecondaryRequest,
    ) -> Result<(Nsapi, QosProfile), SmCause> {
        let linked = self.linked(request.linked_ti);
        let active = |nsapi: &Nsapi| self.contexts.get(*nsapi).is_some_and(SmContext::is_active);
        let linked = linked.filter(active).ok_or(SmCause::UnknownPdpContext)?;
        let apn = self.contexts.get(linked).map(SmContext::apn).ok_or(SmCause::UnknownPdpContext)?;
        match &request.tft {
            Some(tft) => creates(tft)?,
            None if self.has_context_without_tft(linked) => return Err(SmCause::ContextWithoutTftActive),
            None => {}
        }
        let mut qos = self.network.selection.grant(apn, request.nsapi, &request.qos)?;
        if request.qos.r99.is_none() {
            // 23.107 clause 9.1.2.1: a mobile of R97 gets the profile of R97.
            qos.r99 = None;
        }
        Ok((linked, qos))
    }

    /// The context that the mobile means. A phone that sets the flag in its own transactions may say either here.
    fn linked(&self, LinkedTi { ti, ti_flag }: LinkedTi) -> Option<Nsapi> {
        let other = || self.contexts.by_ti(ti, !ti_flag).filter(|_| self.network.cfg.accept_ti_flag);
        self.contexts.by_ti(ti, ti_flag).or_else(other)
    }

    /// True where a context of this address takes what fits no template: there may be one such only
    /// (23.060 clause 9.2.2.1.1).
    fn has_context_without_tft(&self, nsapi: Nsapi) -> bool {
        let mut all = self.contexts.sharers(nsapi).chain([nsapi]);
        all.any(|nsapi| self.contexts.get(nsapi).is_some_and(|context| !context.has_tft()))
    }
}

/// Clause 6.1.3.2.3 a to d: a new context's template can only be created.
fn creates(tft: &TrafficFlowTemplate) -> Result<(), SmCause> {
    let said = tft.read().map_err(|error| error.fault.cause())?;
    match said.operation {
        TftOperation::Create(_) => Ok(()),
        TftOperation::Delete
        | TftOperation::Add(_)
        | TftOperation::Replace(_)
        | TftOperation::DeleteFilters(_)
        | TftOperation::Nothing => Err(TftFault::OperationSemantics.cause()),
    }
}

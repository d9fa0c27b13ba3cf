//! PDP context modification that the mobile asks for (clause 6.1.3.3.2).

use super::activate::negotiated;
use super::context::Mark;
use super::{SmAction, SmContext, SmState, Step};
use crate::gmm::fingerprint;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{QosProfile, SmCause, TftFault, TftOperation, TrafficFlowTemplate};
use gannet_wire::l3::sm::{ModifyAcceptMt, ModifyReject, ModifyRequestMo};

/// By then a mobile that has no answer has repeated its request: T3381, 8 s (clause 11.2.2), and the time for the way.
const REPETITION: Duration = Duration::from_secs(10);
/// For so long a request that looks the same is a repetition: T3381 five times (clause 6.1.3.3.3 a), and what the GGSN takes.
const REPEATED_FOR: Duration = Duration::from_secs(60);

impl Step<'_, '_, '_> {
    pub(super) fn modify_request(&mut self, nsapi: Nsapi, request: ModifyRequestMo) {
        let mut octets = Vec::new();
        request.emit(&mut octets);
        let number = fingerprint(&octets);
        match self.state(nsapi) {
            // T3381 expired in the mobile (clause 6.1.3.3.3 a): the answer was lost, and what was asked for is done.
            Some(SmState::Active) if self.contexts.has_taken(self.cx.now, nsapi, number) => {
                self.accept_again(nsapi)
            }
            // Clause 6.1.3.3.2. The answer waits for the GGSN (23.060 clause 9.2.3.3).
            Some(SmState::Active) => match self.examine_change(nsapi, &request) {
                Ok((qos, has_tft)) => {
                    self.set_state(nsapi, SmState::Updating);
                    self.contexts.set_taken(nsapi, Some((number, self.cx.now + REPEATED_FOR)));
                    if let Some(context) = self.contexts.get_mut(nsapi) {
                        context.mark(Mark::NextTft, has_tft);
                    }
                    self.out.push(SmAction::UpdateTunnel { nsapi, qos, tft: request.tft });
                }
                Err(cause) => self.reject_change(nsapi, cause),
            },
            // T3381 expired in the mobile (clause 6.1.3.3.3 a); the answer is on its way.
            Some(SmState::Updating) => self.drop(Drop::SmRepeated),
            // Clauses 6.1.3.3.3 b and c, collisions: the network's procedure has precedence.
            Some(SmState::ModifyPending | SmState::InactivePending(_)) => self.drop(Drop::SmIgnored),
            // Clause 8.4.
            Some(SmState::ActivePending | SmState::Releasing) => self.drop(Drop::SmUnexpected),
            None => {}
        }
    }

    /// What to ask the GGSN for and whether the context will have a template, or the cause of the rejection
    /// (clause 6.1.3.3.3).
    fn examine_change(
        &mut self,
        nsapi: Nsapi,
        request: &ModifyRequestMo,
    ) -> Result<(QosProfile, bool), SmCause> {
        let context = self.contexts.get(nsapi).ok_or(SmCause::UnknownPdpContext)?;
        let (held, apn) = (context.qos(), context.apn);
        let has_tft = match &request.tft {
            Some(tft) => self.template_after(nsapi, context.has_tft(), tft)?,
            None => context.has_tft(),
        };
        let Some(wish) = &request.qos else { return Ok((held, has_tft)) };
        let mut qos = self.network.selection.grant(apn, nsapi, wish)?;
        if wish.r99.is_none() {
            // 23.107 clause 9.1.2.1: a mobile of R97 gets the profile of R97.
            qos.r99 = None;
        }
        Ok((qos, has_tft))
    }

    /// Whether a context has a template after this change.
    fn template_after(
        &self,
        nsapi: Nsapi,
        has_tft: bool,
        tft: &TrafficFlowTemplate,
    ) -> Result<bool, SmCause> {
        let said = tft.read().map_err(|error| error.fault.cause())?;
        let without = |other| self.contexts.get(other).is_some_and(|other: &SmContext| !other.has_tft());
        let makes_no_sense = match said.operation {
            TftOperation::Create(_) | TftOperation::Nothing => false,
            // A second context without a template could not be told from the first.
            TftOperation::Delete => !has_tft || self.contexts.sharers(nsapi).any(without),
            TftOperation::Add(_) | TftOperation::Replace(_) | TftOperation::DeleteFilters(_) => !has_tft,
        };
        match said.operation {
            _ if makes_no_sense => Err(TftFault::OperationSemantics.cause()),
            TftOperation::Create(_) => Ok(true),
            TftOperation::Delete => Ok(false),
            TftOperation::Nothing
            | TftOperation::Add(_)
            | TftOperation::Replace(_)
            | TftOperation::DeleteFilters(_) => Ok(has_tft),
        }
    }

    fn reject_change(&mut self, nsapi: Nsapi, cause: SmCause) {
        self.drop(Drop::SmRejected);
        self.explain(format_args!("MODIFY PDP CONTEXT REJECT, NSAPI {nsapi}: {cause}"));
        self.send(nsapi, ModifyReject { cause });
    }

    /// The GGSN has agreed.
    pub(super) fn updated(&mut self, nsapi: Nsapi, qos: QosProfile) {
        let Some(context) = self.contexts.get_mut(nsapi).filter(|context| context.state == SmState::Updating)
        else {
            return self.drop(Drop::SmUnexpected);
        };
        let negotiated = negotiated(&qos, &context.qos());
        context.qos = negotiated.pack();
        context.mark(Mark::Tft, context.has(Mark::NextTft));
        context.state = SmState::Active;
        self.out.push(SmAction::Modified { nsapi, qos: negotiated });
        self.send_accept(nsapi);
        self.log(format_args!("NSAPI {nsapi}: modified, {negotiated}"));
        self.wait_for_repetition(nsapi);
    }

    fn send_accept(&mut self, nsapi: Nsapi) {
        let Some(context) = self.contexts.get(nsapi) else { return };
        let accept = ModifyAcceptMt {
            qos: Some(context.qos()),
            sapi: None,
            radio_priority: Some(context.radio_priority()),
            packet_flow_identifier: None,
        };
        self.send(nsapi, accept);
    }

    fn accept_again(&mut self, nsapi: Nsapi) {
        self.drop(Drop::SmRepeated);
        self.send_accept(nsapi);
    }

    /// What the network wants waits until the mobile has its answer: were that lost, and our request were not, the mobile would
    /// give up what the GGSN has made (clause 6.1.3.3.3 b). Who does not repeat its request has the answer. Who does is answered
    /// again, and that is not waited for: the GGSN that wants something gives up before another wait is over (T3-RESPONSE and
    /// N3-REQUESTS, 29.060 clause 7.6).
    fn wait_for_repetition(&mut self, nsapi: Nsapi) {
        let now = self.cx.now;
        if self.contexts.offer(nsapi).is_some()
            && let Some(context) = self.contexts.get_mut(nsapi)
        {
            context.retry.start(now, REPETITION);
        }
    }

    /// It has not: the context goes on as it was.
    pub(super) fn update_failed(&mut self, nsapi: Nsapi, cause: SmCause) {
        if self.state(nsapi) != Some(SmState::Updating) {
            return self.drop(Drop::SmUnexpected);
        }
        self.set_state(nsapi, SmState::Active);
        self.contexts.set_taken(nsapi, None);
        self.reject_change(nsapi, cause);
        // Should that be lost, the mobile gives up what it has not got: no harm is done.
        self.modify_after_update(nsapi);
    }
}

//! GMM's questions about a subscriber.

use super::{Awaited, Subscriber, Waiting};
use crate::sgsn::Sgsn;
use crate::sgsn::mobile::Mobile;
use crate::slots::Slot;
use core::fmt;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_proto::about::About as _;
use gannet_proto::auth::card::Keys;
use gannet_proto::auth::vectors::{Next, Resynchronisation, Vectors};
use gannet_proto::auth::{AuthDecision, AuthPolicy, AuthQuestion, AuthTicket};
use gannet_proto::gsup::{GsupRequest, Resync};
use gannet_proto::llc::Ciphering;
use gannet_wire::id::{Imsi, Plmn};
use gannet_wire::l3::ie::GmmCause;

/// Not served by a policy of our own (04.08 clause 4.7.3.1.4 [24.008]).
const NOT_SERVED: AuthDecision = AuthDecision::Reject(GmmCause::GprsNotAllowed);

/// Octets of SRES.
const SRES_LEN: usize = 4;

/// A mobile has answered a UMTS challenge with SRES.
fn tell_sres(cx: &mut Context<'_>, imsi: Imsi, vectors: &Vectors) {
    let what = match vectors.key() {
        Some((_, Keys::Gsm(_))) => "and is served with a GSM security context",
        Some((_, Keys::Umts(_))) => "which is all of its RES",
        None if vectors.knows_umts() => "and is refused, since it has done UMTS AKA before",
        None => "which is not the right one",
    };
    let text = format_args!("IMSI {imsi}: answers a UMTS challenge with four octets, {what}");
    cx.log(Category::Mm, Level::Notice, text);
}

/// Which rule of ours says so.
struct NotServed {
    policy: AuthPolicy,
    /// Where the mobile is.
    plmn: Plmn,
}

impl fmt::Display for NotServed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plmn = self.plmn;
        match self.policy {
            AuthPolicy::AclOnly => {
                f.write_str("by 'auth-policy acl-only', since no 'imsi-acl' line names it")
            }
            AuthPolicy::Closed => {
                write!(
                    f,
                    "by 'auth-policy closed', since it is not of network {plmn} and no 'imsi-acl' line names it"
                )
            }
            // These decide otherwise.
            AuthPolicy::AcceptAll | AuthPolicy::Remote => f.write_str("by 'auth-policy'"),
        }
    }
}

impl Sgsn {
    /// Answers GMM; [`AuthDecision::Pending`] where the HLR is asked first.
    pub(in crate::sgsn) fn ask_auth(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        imsi: Imsi,
        (question, ticket): (AuthQuestion, AuthTicket),
    ) -> AuthDecision {
        let config = &self.config.subscribers;
        let Some(mobile) = self.mobiles.get_mut(slot) else { return AuthDecision::Mismatch };
        if config.policy != AuthPolicy::Remote {
            return match question {
                AuthQuestion::Subscriber(_) if config.serves(imsi, mobile.gmm.cell().id.rai.plmn) => {
                    self.accepted(cx, slot, imsi);
                    AuthDecision::Accept
                }
                AuthQuestion::Subscriber(_) => {
                    let why = NotServed { policy: config.policy, plmn: mobile.gmm.cell().id.rai.plmn };
                    cx.explain(Category::Mm, Some(imsi), format_args!("not served: {why}"));
                    NOT_SERVED
                }
                // Nobody was challenged, so nothing can be the answer.
                AuthQuestion::Repeat | AuthQuestion::Answer(_) | AuthQuestion::Failure(_) => {
                    AuthDecision::Mismatch
                }
            };
        }
        let rules = config.rules();
        // What its former context has shown holds for whoever says that it is the same subscriber.
        let former = self.directory.by_imsi(imsi).filter(|former| *former != slot);
        let former = former.and_then(|former| self.mobiles.get(former)).and_then(Mobile::subscriber);
        let knows_umts = former.is_some_and(|subscriber| subscriber.vectors.knows_umts());
        let Some(mobile) = self.mobiles.get_mut(slot) else { return AuthDecision::Mismatch };
        let is_open = !config.authentication && matches!(question, AuthQuestion::Subscriber(_));
        let subscriber = mobile.subscriber_mut();
        subscriber.vectors.note_umts(knows_umts);
        let asked_umts = subscriber.vectors.asks_umts();
        let next = if is_open {
            Next::Decide(AuthDecision::Accept)
        } else {
            subscriber.vectors.decide(question, rules)
        };
        if let (AuthQuestion::Answer(res), true) = (question, asked_umts)
            && res.len() == SRES_LEN
        {
            tell_sres(cx, imsi, &subscriber.vectors);
        }
        match next {
            Next::Decide(decision) => {
                if decision == AuthDecision::Accept && matches!(question, AuthQuestion::Subscriber(_)) {
                    // Neither a challenge nor an order: what follows goes in the clear.
                    subscriber.algorithm = 0;
                    self.cipher_from_now_on(slot);
                }
                self.decided(cx, slot, imsi, ticket, decision)
            }
            Next::Fetch(resync) => {
                let resync = resync.map(|Resynchronisation { rand, auts }| Resync { rand, auts });
                let waiting = Waiting { slot, ticket, awaited: Awaited::Vectors };
                self.ask_hlr(cx, imsi, waiting, GsupRequest::AuthInfo { resync })
            }
        }
    }

    /// Vectors say this. Who is to be served has to be known to the HLR as being here first.
    pub(super) fn decided(
        &mut self,
        cx: &mut Context<'_>,
        slot: Slot,
        imsi: Imsi,
        ticket: AuthTicket,
        decision: AuthDecision,
    ) -> AuthDecision {
        let Some(subscriber) = self.mobiles.get_mut(slot).map(Mobile::subscriber_mut) else {
            return AuthDecision::Mismatch;
        };
        subscriber.note(&decision);
        match decision {
            AuthDecision::Accept | AuthDecision::SetCipher { .. } if !subscriber.located => {
                let waiting = Waiting { slot, ticket, awaited: Awaited::Location(decision) };
                self.ask_hlr(cx, imsi, waiting, GsupRequest::UpdateLocation)
            }
            AuthDecision::Accept | AuthDecision::SetCipher { .. } => {
                self.accepted(cx, slot, imsi);
                decision
            }
            AuthDecision::Mismatch => {
                let why = "not authenticated: the mobile's answer is not that of the HLR's vector";
                cx.explain(Category::Mm, Some(imsi), format_args!("{why}"));
                if let Some(hlr) = &mut self.subscribers.hlr {
                    hlr.report_auth_failure(cx, imsi, &mut self.subscribers.outputs);
                }
                decision
            }
            AuthDecision::Challenge(_) | AuthDecision::Reject(_) | AuthDecision::Pending => decision,
        }
    }

    fn ask_hlr(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        waiting: Waiting,
        request: GsupRequest,
    ) -> AuthDecision {
        let subscribers = &mut self.subscribers;
        if subscribers.hlr.is_some() && !subscribers.wait(imsi, waiting) {
            cx.drop_of(Drop::GsupTooManyRequests, Some(imsi));
            let why = "not served: as many mobiles as may wait for the HLR's answer about this IMSI";
            cx.explain(Category::Mm, Some(imsi), format_args!("{why}"));
            return AuthDecision::Reject(GmmCause::Congestion);
        }
        let Some(hlr) = &mut subscribers.hlr else {
            return AuthDecision::Reject(GmmCause::NetworkFailure);
        };
        hlr.request(cx, imsi, request, &mut subscribers.outputs);
        AuthDecision::Pending
    }

    /// The mobile and its key are authentic: its frames are ciphered from now on, or are not.
    pub(in crate::sgsn) fn cipher_from_now_on(&mut self, slot: Slot) {
        let Some(mobile) = self.mobiles.get_mut(slot) else { return };
        let ciphering = mobile.subscriber().map_or(Ciphering::NONE, Subscriber::ciphering);
        mobile.llc.set_ciphering(ciphering);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_network_names_itself() {
        let plmn = Plmn::new(262, 1, false);
        let why = NotServed { policy: AuthPolicy::Closed, plmn }.to_string();
        assert_eq!(
            why,
            "by 'auth-policy closed', since it is not of network 262-01 and no 'imsi-acl' line names it"
        );
    }
}

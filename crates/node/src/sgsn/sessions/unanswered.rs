//! Requests to GGSNs that came to nothing, and contexts that GGSNs have lost: which GGSN it was, and why.

use super::requests::{Kind, Request};
use crate::sgsn::Sgsn;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::trace::Category;
use gannet_proto::about::About as _;
use gannet_proto::sm::network::SmEvent;
use gannet_wire::DecodeError;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Imsi, Nsapi};

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// N3-REQUESTS repetitions had none (29.060 clause 7.6).
    Silence,
    /// The GGSN does not speak this version of GTP (29.060 clause 7.2.3).
    OtherVersion,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Create => "Create",
            Self::Update | Self::Requalify | Self::Moved => "Update",
            Self::Delete => "Delete",
            Self::Notification => "PDU Notification Reject",
        }
    }
}

impl Sgsn {
    fn subscriber_of(&self, request: &Request) -> Option<Imsi> {
        request.subscriber.or_else(|| self.imsi_of(request.slot))
    }

    /// A request has no answer, and none will come.
    pub(super) fn no_answer(&mut self, cx: &mut Context<'_>, key: u64, why: NoAnswer) {
        let Some((request, is_current)) = self.requests.end(key) else { return };
        let Request { slot, nsapi, kind, .. } = request;
        match (kind, is_current) {
            (Kind::Create, true) => {
                self.explain_no_answer(cx, &request, why);
                self.sm(cx, slot, SmEvent::CreateFailed { nsapi });
            }
            (Kind::Update, true) => {
                self.explain_no_answer(cx, &request, why);
                self.update_failed(cx, slot, nsapi);
            }
            (Kind::Delete, _) => {
                self.explain_no_answer(cx, &request, why);
                if is_current {
                    self.tunnel_deleted(cx, slot, nsapi);
                }
            }
            // The path tells by itself that the GGSN is gone; until then the context goes on as it is.
            (Kind::Requalify | Kind::Moved | Kind::Notification, _)
            | (Kind::Create | Kind::Update, false) => {}
        }
    }

    fn explain_no_answer(&self, cx: &mut Context<'_>, request: &Request, why: NoAnswer) {
        let Some(ggsn) = request.ggsn else { return };
        let (whose, nsapi, what) = (self.subscriber_of(request), request.nsapi, request.kind.name());
        let tries = self.config.n3_requests;
        match why {
            NoAnswer::Silence => cx.explain(
                Category::Pdp,
                whose,
                format_args!("NSAPI {nsapi}: GGSN {ggsn} does not answer the {what} request, it was asked {tries} times"),
            ),
            NoAnswer::OtherVersion => cx.explain(
                Category::Pdp,
                whose,
                format_args!("NSAPI {nsapi}: GGSN {ggsn} answers the {what} request that it does not support this version of GTP"),
            ),
        }
    }

    /// A GGSN's answer cannot be read, and counts as none.
    pub(super) fn explain_unreadable(
        &self,
        cx: &mut Context<'_>,
        request: &Request,
        ggsn: IpAddr,
        error: &DecodeError,
    ) {
        let (nsapi, what) = (request.nsapi, request.kind.name());
        let text = format_args!(
            "NSAPI {nsapi}: GGSN {ggsn} answers the {what} request with what cannot be read: {error}"
        );
        cx.explain(Category::Pdp, self.subscriber_of(request), text);
    }

    /// A GGSN does not change a context.
    pub(super) fn explain_refused_change(
        &self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        ggsn: IpAddr,
        cause: Cause,
    ) {
        let text = format_args!("NSAPI {nsapi}: GGSN {ggsn} refuses a change of it: {cause}");
        cx.explain(Category::Pdp, self.imsi_of(slot), text);
    }

    /// A GGSN has lost a context: counted, with the GGSN and how that is known.
    pub(super) fn note_lost(
        &self,
        cx: &mut Context<'_>,
        (slot, nsapi): (Slot, Nsapi),
        ggsn: IpAddr,
        how: &str,
    ) {
        let whose = self.imsi_of(slot);
        cx.drop_of(Drop::SgsnTunnelLost, whose);
        cx.explain(Category::Pdp, whose, format_args!("NSAPI {nsapi}: GGSN {ggsn} {how}"));
    }
}

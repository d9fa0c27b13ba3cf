//! User data of mobiles that have come into another routing area: it waits until the mobile's update is accepted (04.08 clause 4.7.5.1
//! [24.008]), and goes by the name that the mobile has then.
//!
//! A mobile asks for the update by its foreign TLLI. The first LL-PDU by a local one says that it has been accepted.

use super::Bss;
use super::radio::{Claim, Pending, Way};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::id::{Sapi, Tlli, TlliKind};
use std::collections::{BTreeMap, VecDeque};

/// What waits, by mobile.
#[derive(Debug, Default)]
pub(super) struct Detained(BTreeMap<u32, VecDeque<Pending>>);

impl Detained {
    /// It waits no longer than so long.
    pub(super) fn push(&mut self, now: Instant, lifetime: Duration, pdu: Pending) {
        let pdu = Pending { expires: now + lifetime, ..pdu };
        self.0.entry(pdu.mobile).or_default().push_back(pdu);
    }

    /// What may go, or is to be discarded, as a mobile has sent by this name.
    fn take(&mut self, mobile: u32, tlli: Tlli) -> VecDeque<Pending> {
        if self.0.is_empty() || tlli.kind() == TlliKind::Foreign {
            return VecDeque::new();
        }
        self.0.remove(&mobile).unwrap_or_default()
    }
}

/// Whether an LL-PDU has user data.
pub(super) fn is_user_data(pdu: &Pending) -> bool {
    pdu.frame.first().is_some_and(|address| !matches!(Sapi(address & 0x0f), Sapi::GMM | Sapi::SMS))
}

impl Bss {
    /// A mobile has sent an LL-PDU by this name: what waited for that goes behind it.
    pub(super) fn release_detained(&mut self, cx: &mut Context<'_>, cell: u32, mobile: u32, tlli: Tlli) {
        for pdu in self.detained.take(mobile, tlli) {
            if tlli.kind() != TlliKind::Local {
                // It begins anew, with an attach.
                cx.drop(Drop::BssContactLost, None);
            } else if pdu.expires <= cx.now {
                cx.drop(Drop::BssLifetime, None);
            } else {
                let pdu = Pending { tlli, expires: Instant(u64::MAX), ..pdu };
                if self.radio.request(cx.now, cell, Way::Uplink, pdu, Claim::Moved).is_err() {
                    cx.drop(Drop::BssOverrun, None);
                }
            }
        }
    }
}

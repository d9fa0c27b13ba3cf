//! Two phones under one local TLLI: the mobile that has it, and one that attaches under it without proof.
//!
//! An ATTACH REQUEST comes with a foreign or random TLLI (04.08 clause 4.7.1.4 [24.008]), but some phones send it with
//! the local one. A P-TMSI with its signature proves that the mobile itself sends it. Any other ATTACH REQUEST under the
//! local TLLI of a mobile makes a context of its own, the *claimant*, which is asked for its identity (clause 4.7.3.1.1).
//! The claimant is found by the TLLI within its cell. It gets what answers the network's questions to it, and the mobile
//! gets all else. The mobile stays what it is until a claimant of the same IMSI has completed its attach: the network's
//! questions reach the mobile too, and its answers alone must not end its own sessions.

use super::Sgsn;
use super::directory::{BvcAddress, Directory};
use crate::slots::Slot;
use gannet_machine::Context;
use gannet_machine::trace::{Category, Level};
use gannet_proto::gmm::network::{GmmState, Uplink};
use gannet_proto::llc::Kind;
use gannet_wire::id::{Imsi, TlliKind};
use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::l3::{Direction, L3Message};
use gannet_wire::llc;

/// Who has sent an LL-PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    /// A context that is there; true where the LL-PDU is an ATTACH REQUEST.
    Known(Slot, bool),
    /// A phone that attaches under the TLLI of a mobile and has no context yet.
    New,
}

impl Sgsn {
    /// Who has sent an LL-PDU under a TLLI that `slot` has.
    pub(super) fn speaker(&self, slot: Slot, from: Uplink, (ll_pdu, kind): (&[u8], Kind)) -> Speaker {
        let message = (kind == Kind::Gmm { encrypted: false }).then(|| plain_gmm(ll_pdu)).flatten();
        let Some(message) = message else { return Speaker::Known(slot, false) };
        let owner = self.owner_of_local(from).filter(|owner| *owner == slot);
        let mobile = owner.and_then(|owner| self.mobiles.get(owner));
        let claimant = self.claimant(from).filter(|claimant| *claimant != slot);
        match (message, mobile) {
            (GmmMessage::AttachRequest(request), Some(mobile))
                if !(matches!(request.identity, MobileIdentity::PTmsi(_))
                    && mobile.gmm.is_claimed_by(&self.config.gmm, &request)) =>
            {
                claimant.map_or(Speaker::New, |claimant| Speaker::Known(claimant, true))
            }
            (GmmMessage::AttachRequest(_), _) => Speaker::Known(slot, true),
            (message, Some(mobile)) => {
                let is_asked = mobile.gmm.gmm_state() == GmmState::CommonProcedureInitiated;
                let is_anothers = match message {
                    GmmMessage::IdentityResponse(response) => {
                        let named = mobile.imsi().map(MobileIdentity::Imsi);
                        !is_asked || named.is_some_and(|own| own != response.identity)
                    }
                    GmmMessage::AuthenticationResponse(_)
                    | GmmMessage::AuthenticationFailure(_)
                    | GmmMessage::AttachComplete(_) => !is_asked,
                    _ => false,
                };
                Speaker::Known(claimant.filter(|_| is_anothers).unwrap_or(slot), false)
            }
            (_, None) => Speaker::Known(slot, false),
        }
    }

    /// The mobile whose P-TMSI a local TLLI is made of.
    fn owner_of_local(&self, from: Uplink) -> Option<Slot> {
        let is_local = from.tlli.kind() == TlliKind::Local;
        is_local.then(|| self.directory.by_ptmsi(Directory::ptmsi_of(from.tlli))).flatten()
    }

    /// The context of whoever uses a TLLI in a cell beside the mobile that has it.
    fn claimant(&self, from: Uplink) -> Option<Slot> {
        let cell = BvcAddress { nsei: from.cell.nsei, bvci: from.cell.bvci };
        self.directory.by_cell_tlli(cell, from.tlli)
    }

    /// An ATTACH REQUEST under another's TLLI is named in the log.
    pub(super) fn tell_claim(&self, cx: &mut Context<'_>, owner: Slot, from: Uplink) {
        let Some(mobile) = self.mobiles.get(owner) else { return };
        let (tlli, cell) = (from.tlli, from.cell);
        let whose =
            mobile.imsi().map_or_else(|| "a mobile that attaches".to_owned(), |imsi| format!("IMSI {imsi}"));
        cx.log(
            Category::Mm,
            Level::Notice,
            format_args!(
                "TLLI {tlli} (NSEI {}, BVCI {}): ATTACH REQUEST under the local TLLI of {whose} without its P-TMSI \
                 signature; the identity is asked for, and {whose} stays until the attach is complete",
                cell.nsei, cell.bvci
            ),
        );
    }

    /// Is this a claimant of the mobile that `imsi` names now?
    fn claims(&self, slot: Slot, imsi: Imsi) -> bool {
        let Some((_, tlli)) = self.mobiles.get(slot).and_then(|mobile| mobile.foreign()) else {
            return false;
        };
        let owner = (tlli.kind() == TlliKind::Local)
            .then(|| self.directory.by_ptmsi(Directory::ptmsi_of(tlli)))
            .flatten();
        owner.is_some_and(|owner| owner != slot && self.directory.by_imsi(imsi) == Some(owner))
    }

    /// The mobile is this subscriber beyond doubt, as far as the policy doubts: an older context of the same gives way
    /// (04.08 clause 4.7.3.1.6 e [24.008]), to a claimant when its attach is complete.
    pub(super) fn accepted(&mut self, cx: &mut Context<'_>, slot: Slot, imsi: Imsi) {
        if !self.claims(slot, imsi) {
            self.replace_former(cx, slot, imsi);
        }
    }

    /// An older context of a subscriber gives way.
    pub(super) fn replace_former(&mut self, cx: &mut Context<'_>, slot: Slot, imsi: Imsi) {
        if let Some(former) = self.directory.name_imsi(imsi, slot).filter(|former| *former != slot) {
            self.delete_mobile(cx, former);
        }
    }
}

/// The GMM message of a UI frame of SAPI 1 in the clear, where it is intact and one that may be a claimant's.
fn plain_gmm(ll_pdu: &[u8]) -> Option<GmmMessage> {
    /// ATTACH REQUEST, ATTACH COMPLETE, the answers of authentication and of identification (04.08 clause 10.4 [24.008]).
    const TYPES: [u8; 5] = [0x01, 0x03, 0x13, 0x16, 0x1c];
    let layout = llc::Header::parse(ll_pdu).ok()?;
    let information = ll_pdu.get(layout.info())?;
    let is_one = matches!(information, [0x08, message_type, ..] if TYPES.contains(message_type));
    if !(is_one && layout.fcs_is_right(ll_pdu)) {
        return None;
    }
    match L3Message::parse(Direction::Uplink, information) {
        Ok(L3Message::Gmm(message)) => Some(message),
        Ok(L3Message::Sm { .. }) | Err(_) => None,
    }
}

//! What LLC says to the layers above and below (04.64 clause 7.2 [44.064]).

use super::abm::{ReleaseCause, ReturnedUnits};
use super::xid::XidIndication;
use gannet_machine::frame::Frame;
use gannet_wire::id::Sapi;
use gannet_wire::llc::xid::Parameter;

#[cfg(doc)]
use super::LlcContext;

/// What LLC gives to the layers above and below: the primitives of the LLGMM, LL and BSSGP service access points
/// (04.64 clause 7.2).
#[derive(Debug)]
pub enum LlcOutput {
    /// A complete LL-PDU of LLC's own (XID, DM, NULL), to be sent with [`LlcContext::tlli`].
    Transmit {
        /// Its SAPI, for the radio priority.
        sapi: Sapi,
        /// Its octets, FCS included.
        frame: Frame,
    },
    /// LL-UNITDATA.indication. On a link that has a cipher everything comes ciphered but what is on SAPI 1: there layer 3
    /// decides what it takes in the clear ([`crate::gmm::goes_ciphered`]).
    Unitdata {
        /// Who is meant.
        sapi: Sapi,
        /// The information alone; its headroom is what header the LL-PDU had and more.
        frame: Frame,
        /// It came ciphered.
        ciphered: bool,
    },
    /// LL-XID.indication: layer 3 must answer through [`LlcContext::xid_response`].
    XidIndication(Box<XidIndication>),
    /// LL-XID.confirm: the negotiation that this end began has ended well.
    XidConfirm {
        /// Whose parameters.
        sapi: Sapi,
        /// Layer 3's own part of the response.
        layer3: Option<Vec<u8>>,
    },
    /// What became of layer 3's own block ([`LlcContext::layer3_xid_request`]), instead of LL-XID.confirm. What LLC
    /// negotiates for itself is never told in this way.
    Layer3XidConfirm {
        /// Whose block.
        sapi: Sapi,
        /// Layer 3's part of the response; `None` where it has none, or never came.
        block: Option<Vec<u8>>,
    },
    /// LLGMM-RESET.confirm in the SGSN, LL-RESET.indication in the mobile: counters and parameters of all LLEs are
    /// those of the beginning.
    Reset,
    /// LL-ESTABLISH.indication: layer 3 must answer through [`LlcContext::establish_response`] or
    /// [`LlcContext::establish_refuse`]. Where the link was in acknowledged mode before, what was not confirmed
    /// has been returned.
    EstablishIndication(Box<EstablishIndication>),
    /// LL-ESTABLISH.confirm: the link is in acknowledged mode.
    EstablishConfirm {
        /// Which link.
        sapi: Sapi,
        /// Layer 3's own part of the response.
        layer3: Option<Vec<u8>>,
        /// LLC has established it anew by itself (LL-ESTABLISH.indication at this end): what was not confirmed
        /// has been returned, and is to be given again.
        again: bool,
    },
    /// LL-RELEASE.indication: the link is in ADM, and what was not confirmed has been returned.
    ReleaseIndication {
        /// Which link.
        sapi: Sapi,
        /// Why.
        cause: ReleaseCause,
    },
    /// LL-RELEASE.confirm: the link is in ADM, as was asked for.
    ReleaseConfirm {
        /// Which link.
        sapi: Sapi,
    },
    /// LL-DATA.indication: a unit that the peer gave to [`LlcContext::data_request`], in its order.
    Data {
        /// Who is meant.
        sapi: Sapi,
        /// The information alone.
        frame: Frame,
    },
    /// LL-DATA.confirm: the peer's layer 3 has these units. They come in the order of the requests.
    DataConfirm {
        /// Which link.
        sapi: Sapi,
        /// Which units.
        confirmed: Confirmed,
    },
    /// What a link has not confirmed when it ends, or begins anew: before the primitive that says so, and where LLC
    /// establishes it anew by itself, at once, and also where it is nothing.
    Returned {
        /// Which link.
        sapi: Sapi,
        /// The units, which LLC has no longer.
        units: Box<ReturnedUnits>,
    },
    /// Layer 3 may have more units unconfirmed than before, though none is confirmed ([`Abm::beyond`](super::abm::Abm::beyond)).
    Room {
        /// Which link.
        sapi: Sapi,
    },
    /// LLGMM-STATUS.indication.
    Status {
        /// Where it happened.
        sapi: Sapi,
        /// What happened.
        cause: LlcStatus,
    },
}

/// A frame is handed on in it several times.
const _: () = assert!(size_of::<LlcOutput>() == 40);

/// Units that are confirmed together: as many requests in a row, each of whose references is one more than that before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confirmed {
    /// The reference of the first request.
    pub reference: u32,
    /// How many.
    pub count: u16,
    /// Octets of all of them.
    pub octets: u32,
}

impl Confirmed {
    /// The reference of each.
    pub fn references(self) -> impl Iterator<Item = u32> {
        (0..u32::from(self.count)).map(move |n| self.reference.wrapping_add(n))
    }
}

/// Causes of LLGMM-STATUS.indication (04.64 clause 7.2.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LlcStatus {
    /// An XID command stayed without response N200 times; the parameters are as before.
    XidUnanswered,
    /// The peer sent FRMR.
    FrameRejected,
    /// A link in acknowledged mode, or a command of it, stayed without answer for as long as N200 and T200 allow.
    Unanswered,
    /// The peer has left acknowledged mode, or begun it anew, without a word that has come.
    PeerReset,
}

/// LL-ESTABLISH.indication: the peer wants acknowledged mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EstablishIndication {
    /// On which link.
    pub sapi: Sapi,
    /// Layer 3's part of the command.
    pub layer3: Option<Vec<u8>>,
    /// The other parameters, which are negotiated with the response.
    pub(super) parameters: Vec<Parameter>,
}

//! GSUP, Osmocom's Generic Subscriber Update Protocol, between SGSN and HLR: what MAP does on Gr (09.02 [29.002]) in
//! messages of TLV elements, over the IPA multiplex ([`crate::ipa`], extension [`crate::ipa::EXTENSION_GSUP`]).
//!
//! Osmocom's manuals describe it; Wireshark's dissector `gsup` reads it. A [`Message`] has its type, the subscriber, and
//! what stands in its [`Body`]. Elements that are not known, and those that a message does not have, are skipped. An
//! element that may be absent and cannot be read counts as absent and is named ([`Message::parse_naming`]); one that must be
//! there makes the message unreadable. What counts as absent never grants more than what could not be read: see
//! [`SubscribedApn::Unreadable`] and [`PdpInfo`].

pub mod ie;
mod messages;
mod value;

pub use messages::{
    AuthRequest, AuthVectors, Body, Cancel, DeleteData, Domain, Envelope, LocationUpdate, Message, Purge,
    PurgeResult, Refusal, Subscription,
};
pub use value::{
    AuthTuple, CancelType, CnDomain, IsdnAddress, MessageClass, PdpInfo, Quintuplet, RAT_TYPE_GERAN,
    SubscribedApn, Triplet,
};

use crate::error::{DecodeError, DecodeErrorKind};
use crate::l3::ie::GmmCause;

/// The TCP port of an HLR.
pub const PORT: u16 = 4222;

/// What is told to the sender of a message that cannot be read: GSUP's causes are those of 04.08 clause 10.5.5.14
/// [24.008].
#[must_use]
pub const fn cause(error: &DecodeError) -> GmmCause {
    match error.kind {
        DecodeErrorKind::UnknownMessage(_) => GmmCause::MessageTypeNonExistent,
        DecodeErrorKind::Conditional => GmmCause::ConditionalIeError,
        DecodeErrorKind::Truncated { .. }
        | DecodeErrorKind::Missing
        | DecodeErrorKind::OutOfSequence
        | DecodeErrorKind::BadLength(_)
        | DecodeErrorKind::BadValue(_) => GmmCause::InvalidMandatoryInformation,
        DecodeErrorKind::UnknownProtocol(_) | DecodeErrorKind::BadChecksum => GmmCause::ProtocolError,
    }
}

//! BSS GPRS protocol: 08.18 (48.018).
//!
//! [`unitdata`] has the hot path, the headers of UL- and DL-UNITDATA in front of an LL-PDU, read and written without
//! allocation. [`signalling`] has every other PDU as an owned [`Message`]. [`ie`] has the elements that they share.
//!
//! Errors follow clause 9 and 08.16 clause 8: unknown, repeated and faulty optional elements are ignored, the order
//! does not matter; a mandatory or conditional element that is missing or wrong discards the PDU, and the sender is
//! told in a STATUS whose cause is [`cause`] of the error.

pub mod ie;
pub mod signalling;
pub mod unitdata;

pub use ie::{Cause, QosProfile};
pub use signalling::Message;
pub use unitdata::{DlUnitdata, UlUnitdata};

use crate::error::{DecodeError, DecodeErrorKind};
use crate::octet_enum::octet_enum;

octet_enum! {
    /// PDU type (clause 11.3.26).
    PduType {
        /// An LL-PDU to a mobile.
        DlUnitdata = 0x00, "DL-UNITDATA";
        /// An LL-PDU from a mobile.
        UlUnitdata = 0x01, "UL-UNITDATA";
        /// Radio access capability of a mobile.
        RaCapability = 0x02, "RA-CAPABILITY";
        /// Point to multipoint data.
        PtmUnitdata = 0x03, "PTM-UNITDATA";
        /// Page for packets.
        PagingPs = 0x06, "PAGING-PS";
        /// Page for a circuit.
        PagingCs = 0x07, "PAGING-CS";
        /// The BSS asks for a radio access capability.
        RaCapabilityUpdate = 0x08, "RA-CAPABILITY-UPDATE";
        /// The answer.
        RaCapabilityUpdateAck = 0x09, "RA-CAPABILITY-UPDATE-ACK";
        /// Trouble on the radio interface.
        RadioStatus = 0x0a, "RADIO-STATUS";
        /// GPRS of a mobile is suspended.
        Suspend = 0x0b, "SUSPEND";
        /// Done.
        SuspendAck = 0x0c, "SUSPEND-ACK";
        /// Not done.
        SuspendNack = 0x0d, "SUSPEND-NACK";
        /// GPRS of a mobile goes on.
        Resume = 0x0e, "RESUME";
        /// Done.
        ResumeAck = 0x0f, "RESUME-ACK";
        /// Not done.
        ResumeNack = 0x10, "RESUME-NACK";
        /// The BSS asks with which operator a mobile is registered (later releases).
        MsRegistrationEnquiry = 0x14, "MS-REGISTRATION-ENQUIRY";
        /// The answer.
        MsRegistrationEnquiryResponse = 0x15, "MS-REGISTRATION-ENQUIRY-RESPONSE";
        /// Take a BVC out of service.
        BvcBlock = 0x20, "BVC-BLOCK";
        /// Done.
        BvcBlockAck = 0x21, "BVC-BLOCK-ACK";
        /// Start a BVC afresh.
        BvcReset = 0x22, "BVC-RESET";
        /// Done.
        BvcResetAck = 0x23, "BVC-RESET-ACK";
        /// Put a BVC into service.
        BvcUnblock = 0x24, "BVC-UNBLOCK";
        /// Done.
        BvcUnblockAck = 0x25, "BVC-UNBLOCK-ACK";
        /// Bucket of a cell.
        FlowControlBvc = 0x26, "FLOW-CONTROL-BVC";
        /// Taken.
        FlowControlBvcAck = 0x27, "FLOW-CONTROL-BVC-ACK";
        /// Bucket of a mobile.
        FlowControlMs = 0x28, "FLOW-CONTROL-MS";
        /// Taken.
        FlowControlMsAck = 0x29, "FLOW-CONTROL-MS-ACK";
        /// Delete or move the LL-PDUs of a mobile.
        FlushLl = 0x2a, "FLUSH-LL";
        /// Done.
        FlushLlAck = 0x2b, "FLUSH-LL-ACK";
        /// The BSS discarded LL-PDUs.
        LlcDiscarded = 0x2c, "LLC-DISCARDED";
        /// Bucket of a packet flow.
        FlowControlPfc = 0x2d, "FLOW-CONTROL-PFC";
        /// Taken.
        FlowControlPfcAck = 0x2e, "FLOW-CONTROL-PFC-ACK";
        /// Start a trace.
        SgsnInvokeTrace = 0x40, "SGSN-INVOKE-TRACE";
        /// Something was wrong.
        Status = 0x41, "STATUS";
        /// The SGSN has more to do than it can (later releases).
        Overload = 0x42, "OVERLOAD";
        /// Packet flow context: the BSS asks for one.
        DownloadBssPfc = 0x50, "DOWNLOAD-BSS-PFC";
        /// Packet flow context: make one.
        CreateBssPfc = 0x51, "CREATE-BSS-PFC";
        /// Made.
        CreateBssPfcAck = 0x52, "CREATE-BSS-PFC-ACK";
        /// Not made.
        CreateBssPfcNack = 0x53, "CREATE-BSS-PFC-NACK";
        /// Packet flow context: change one.
        ModifyBssPfc = 0x54, "MODIFY-BSS-PFC";
        /// Changed.
        ModifyBssPfcAck = 0x55, "MODIFY-BSS-PFC-ACK";
        /// Packet flow context: delete one.
        DeleteBssPfc = 0x56, "DELETE-BSS-PFC";
        /// Deleted.
        DeleteBssPfcAck = 0x57, "DELETE-BSS-PFC-ACK";
    }
}

impl PduType {
    /// The type of the PDU `octets`; `None` where there is not even that.
    #[must_use]
    pub fn of(octets: &[u8]) -> Option<Self> {
        octets.first().copied().map(Self::from_octet)
    }
}

/// The cause of the STATUS that answers octets which could not be read (clause 9 and 08.16 clause 8).
///
/// `Conditional` is a conditional element that is missing, `OutOfSequence` one too many of those of which exactly
/// one may stand.
#[must_use]
pub const fn cause(error: &DecodeError) -> Cause {
    match error.kind {
        DecodeErrorKind::Missing => Cause::MissingMandatoryIe,
        DecodeErrorKind::Conditional => Cause::MissingConditionalIe,
        DecodeErrorKind::OutOfSequence => Cause::UnexpectedConditionalIe,
        DecodeErrorKind::Truncated { .. } | DecodeErrorKind::BadLength(_) | DecodeErrorKind::BadValue(_) => {
            Cause::InvalidMandatoryInformation
        }
        DecodeErrorKind::UnknownMessage(_)
        | DecodeErrorKind::UnknownProtocol(_)
        | DecodeErrorKind::BadChecksum => Cause::ProtocolError,
    }
}

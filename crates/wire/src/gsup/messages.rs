//! The messages: type, subscriber, names of the ends, and what each type has besides.

use super::ie::{self, Elements};
use super::value::{AuthTuple, CancelType, CnDomain, IsdnAddress, MessageClass, PdpInfo};
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::Imsi;
use crate::l3::ie::GmmCause;

/// Declares what messages have: for each field its element, and whether that is mandatory, optional, a list, a list of which
/// each must be readable, or a flag.
/// The order of the fields is the order on the wire.
macro_rules! contents {
    ($($(#[$doc:meta])* $name:ident {
        $($(#[$field_doc:meta])* $field:ident: $presence:ident $type:ty = $ie:ident,)*
    })*) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: contents!(@type $presence $type),)*
        }

        impl $name {
            fn from_elements(elements: &mut Elements<'_>) -> Result<Self, DecodeError> {
                Ok(Self { $($field: contents!(@get $presence elements, ie::$ie),)* })
            }

            fn emit(&self, out: &mut Vec<u8>) {
                $(contents!(@put $presence &self.$field, ie::$ie, out);)*
            }
        })*
    };
    (@type mandatory $type:ty) => { $type };
    (@type optional $type:ty) => { Option<$type> };
    (@type list $type:ty) => { Vec<$type> };
    (@type whole $type:ty) => { Vec<$type> };
    (@type flag $type:ty) => { $type };
    (@get mandatory $elements:expr, $ie:expr) => { $elements.mandatory($ie)? };
    (@get optional $elements:expr, $ie:expr) => { $elements.optional($ie) };
    (@get list $elements:expr, $ie:expr) => { $elements.list($ie) };
    (@get whole $elements:expr, $ie:expr) => { $elements.whole($ie)? };
    (@get flag $elements:expr, $ie:expr) => { $elements.flag($ie) };
    (@put mandatory $value:expr, $ie:expr, $out:expr) => { ie::emit($ie, $value, $out) };
    (@put optional $value:expr, $ie:expr, $out:expr) => { $value.iter().for_each(|value| ie::emit($ie, value, $out)) };
    (@put list $value:expr, $ie:expr, $out:expr) => { $value.iter().for_each(|value| ie::emit($ie, value, $out)) };
    (@put whole $value:expr, $ie:expr, $out:expr) => { $value.iter().for_each(|value| ie::emit($ie, value, $out)) };
    (@put flag $value:expr, $ie:expr, $out:expr) => { ie::emit_flag($ie, *$value, $out) };
}

contents! {
    /// What an SGSN says when it wants authentication vectors.
    AuthRequest {
        /// AUTS of a USIM that is not in step, where vectors in step with it are wanted.
        auts: optional [u8; 14] = AUTS,
        /// The challenge to which AUTS is the answer.
        rand: optional [u8; 16] = RAND,
        /// For which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// Authentication vectors, at most 5 of them.
    AuthVectors {
        /// They, to be used in their order.
        tuples: list AuthTuple = AUTH_TUPLE,
        /// For which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// Where a subscriber is now.
    LocationUpdate {
        /// In which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
        /// By which radio access; see [`super::RAT_TYPE_GERAN`].
        current_rat: optional u8 = CURRENT_RAT_TYPE,
    }

    /// What a subscriber has subscribed to, or a change to it.
    Subscription {
        /// Its telephone number.
        msisdn: optional IsdnAddress = MSISDN,
        /// The HLR's number.
        hlr_number: optional IsdnAddress = HLR_NUMBER,
        /// The list below is all: what was known before is void.
        pdp_info_complete: flag bool = PDP_INFO_COMPLETE,
        /// PDP contexts, at most 10 of them.
        pdp_infos: list PdpInfo = PDP_INFO,
        /// Charging characteristics of all that have none of their own.
        charging: optional u16 = CHARGING_CHARACTERISTICS,
        /// For which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// Pieces of a subscription that are void.
    DeleteData {
        /// Which; none means all that is of GPRS, so that one that cannot be read is not as if there were none.
        context_ids: whole u8 = PDP_CONTEXT_ID,
        /// In which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// A subscriber is to be forgotten.
    Cancel {
        /// Why; absent it means an update.
        cancel_type: optional CancelType = CANCEL_TYPE,
        /// In which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// The SGSN has forgotten a subscriber.
    Purge {
        /// The HLR's number.
        hlr_number: optional IsdnAddress = HLR_NUMBER,
        /// In which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// The HLR has noted that.
    PurgeResult {
        /// The P-TMSI is not to be given to another one soon.
        freeze_ptmsi: flag bool = FREEZE_P_TMSI,
        /// In which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// A request was refused.
    Refusal {
        /// Why.
        cause: mandatory GmmCause = CAUSE,
        /// In which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }

    /// Nothing besides the subscriber.
    Domain {
        /// In which domain.
        cn_domain: optional CnDomain = CN_DOMAIN,
    }
}

macro_rules! bodies {
    ($($(#[$doc:meta])* $name:ident($content:ident) = $kind:literal;)*) => {
        /// What a message of each type says.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Body { $($(#[$doc])* $name($content),)* }

        impl Body {
            fn from_elements(kind: u8, elements: &mut Elements<'_>) -> Result<Self, DecodeError> {
                match kind {
                    $($kind => $content::from_elements(elements).map(Self::$name),)*
                    _ => Err(unknown(kind)),
                }
            }

            /// The message type.
            #[must_use]
            pub const fn message_type(&self) -> u8 {
                match self { $(Self::$name(_) => $kind,)* }
            }

            /// The name of the message type.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$name(_) => stringify!($name),)* }
            }

            fn emit(&self, out: &mut Vec<u8>) {
                match self { $(Self::$name(content) => content.emit(out),)* }
            }
        }

        const fn is_known(kind: u8) -> bool {
            matches!(kind, $($kind)|*)
        }
    };
}

bodies! {
    /// A subscriber is here; the HLR answers when it has inserted its data.
    UpdateLocationRequest(LocationUpdate) = 0x04;
    /// It may not be.
    UpdateLocationError(Refusal) = 0x05;
    /// The HLR knows. Some send data with it.
    UpdateLocationResult(Subscription) = 0x06;
    /// Authentication vectors are wanted.
    SendAuthInfoRequest(AuthRequest) = 0x08;
    /// There are none.
    SendAuthInfoError(Refusal) = 0x09;
    /// Here they are.
    SendAuthInfoResult(AuthVectors) = 0x0a;
    /// A mobile failed to authenticate itself.
    AuthFailureReport(Domain) = 0x0b;
    /// The SGSN has forgotten a subscriber.
    PurgeMsRequest(Purge) = 0x0c;
    /// The HLR does not take note of it.
    PurgeMsError(Refusal) = 0x0d;
    /// The HLR has taken note.
    PurgeMsResult(PurgeResult) = 0x0e;
    /// Data of a subscriber, from the HLR.
    InsertSubscriberDataRequest(Subscription) = 0x10;
    /// The SGSN does not take them.
    InsertSubscriberDataError(Refusal) = 0x11;
    /// The SGSN has them.
    InsertSubscriberDataResult(Domain) = 0x12;
    /// Data of a subscriber are void.
    DeleteSubscriberDataRequest(DeleteData) = 0x14;
    /// The SGSN can't delete them.
    DeleteSubscriberDataError(Refusal) = 0x15;
    /// They are deleted.
    DeleteSubscriberDataResult(Domain) = 0x16;
    /// A subscriber is to be forgotten.
    LocationCancelRequest(Cancel) = 0x1c;
    /// The SGSN does not know it.
    LocationCancelError(Refusal) = 0x1d;
    /// It is forgotten.
    LocationCancelResult(Domain) = 0x1e;
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The subscriber.
    pub imsi: Imsi,
    /// Which kind of procedure it belongs to, where that is said.
    pub class: Option<MessageClass>,
    /// What it says.
    pub body: Body,
    /// Who sent it, where one HLR speaks for others; at most 255 octets.
    pub source: Option<Vec<u8>>,
    /// Whom it is for; at most 255 octets.
    pub destination: Option<Vec<u8>>,
}

impl Message {
    /// A message between neighbours.
    #[must_use]
    pub const fn new(imsi: Imsi, body: Body) -> Self {
        Self { imsi, class: None, body, source: None, destination: None }
    }

    /// Reads a message, without the header of the multiplex.
    ///
    /// # Errors
    /// `UnknownMessage`; `Truncated` where an element reaches beyond the end; `Missing` or what else is wrong with a
    /// mandatory element.
    pub fn parse(octets: &[u8]) -> Result<Self, DecodeError> {
        Self::parse_naming(octets).map(|(message, _)| message)
    }

    /// The same, with what is wrong with each element that was left out.
    ///
    /// # Errors
    /// As [`Message::parse`].
    pub fn parse_naming(octets: &[u8]) -> Result<(Self, Vec<DecodeError>), DecodeError> {
        let kind = Reader::new(octets).u8("message type")?;
        if !is_known(kind) {
            return Err(unknown(kind));
        }
        let mut elements = Elements::parse(octets, 1)?;
        let message = Self {
            imsi: elements.mandatory(ie::IMSI)?,
            class: elements.optional(ie::MESSAGE_CLASS),
            body: Body::from_elements(kind, &mut elements)?,
            source: elements.optional(ie::SOURCE_NAME),
            destination: elements.optional(ie::DESTINATION_NAME),
        };
        Ok((message, elements.skipped))
    }

    /// Appends the message, without the header of the multiplex.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.body.message_type());
        ie::emit(ie::IMSI, &self.imsi, out);
        if let Some(class) = &self.class {
            ie::emit(ie::MESSAGE_CLASS, class, out);
        }
        self.body.emit(out);
        for (iei, name) in [(ie::SOURCE_NAME, &self.source), (ie::DESTINATION_NAME, &self.destination)] {
            if let Some(name) = name {
                ie::emit(iei, name, out);
            }
        }
    }

    /// The message alone.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(128);
        self.emit(&mut out);
        out
    }
}

const fn unknown(kind: u8) -> DecodeError {
    DecodeError::new("message type", 0, DecodeErrorKind::UnknownMessage(kind))
}

/// What can be said of a message that cannot be read otherwise, so that its sender can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The message type.
    pub kind: u8,
    /// The subscriber.
    pub imsi: Imsi,
    /// Who sent it, where that stands before what is wrong.
    pub source: Option<Vec<u8>>,
}

impl Envelope {
    /// Reads as much of a message as can be; `None` where the subscriber is not in that.
    #[must_use]
    pub fn of(octets: &[u8]) -> Option<Self> {
        let kind = *octets.first()?;
        let (mut imsi, mut source) = (None, None);
        // An element behind the IMSI may be what is wrong.
        let mut r = Reader::at(octets, 1);
        while let (Ok(iei), Ok(len)) = (r.u8("IEI"), r.u8("length")) {
            let Ok(value) = r.take(usize::from(len), "value") else { break };
            match iei {
                ie::IMSI if imsi.is_none() => imsi = Some(ie::Value::decode(value, ie::name(iei)).ok()?),
                ie::SOURCE_NAME if source.is_none() => source = Some(value.to_vec()),
                _ => {}
            }
        }
        Some(Self { kind, imsi: imsi?, source })
    }

    /// Is this a request? Of each procedure's types the last two bits are 00, 01 for an error and 10 for a result.
    #[must_use]
    pub const fn is_request(&self) -> bool {
        self.kind & 3 == 0
    }

    /// The error message of its procedure, known here or not, to whoever sent the request.
    #[must_use]
    pub fn refusal(&self, cause: GmmCause) -> Vec<u8> {
        let mut out = vec![self.kind & !3 | 1];
        ie::emit(ie::IMSI, &self.imsi, &mut out);
        ie::emit(ie::CAUSE, &cause, &mut out);
        if let Some(source) = &self.source {
            ie::emit(ie::DESTINATION_NAME, source, &mut out);
        }
        out
    }
}

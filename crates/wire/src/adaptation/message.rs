//! The messages, each declared once: from one list come their types, their reading and writing, and [`TABLE`], of which the
//! manual and the dissector are made.

use super::element::{BeaconFlags, Element, Form, Identity, Level, Load, NetworkMode, ReleaseCause, Writer};
use super::{Header, RANDOM_LEN};
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::{CellId, Rai, Tlli};
use crate::l3::ie::Octets;

/// Octets of the longest name of an access point.
pub(super) const NAME_MAX: usize = 32;

/// The name of an access point, UTF-8.
pub type ApName = Octets<NAME_MAX>;

/// Which way a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From the access point to mobiles.
    Down,
    /// From a mobile to the access point.
    Up,
    /// Either way.
    Both,
}

/// What may stand behind the elements of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    None,
    /// An LL-PDU, or a piece of one.
    LlPdu,
    /// Options: a tag (1 octet), a length (1 octet) and so many octets each. Tags that are not known are passed over.
    Options,
    /// Zeros, ignored on receipt.
    Padding,
}

/// A field, as a person is told of it.
#[derive(Debug, Clone, Copy)]
pub struct FieldLayout {
    /// Its name in code and in filters.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it is.
    pub text: &'static str,
    /// Its octets.
    pub len: usize,
    /// How it is shown.
    pub form: Form,
}

/// A message, as a person is told of it.
#[derive(Debug, Clone, Copy)]
pub struct MessageLayout {
    /// Its type.
    pub kind: MessageType,
    /// Its name in filters.
    pub name: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it is.
    pub text: &'static str,
    /// Who sends it.
    pub way: Way,
    /// Its fields, in their order.
    pub fields: &'static [FieldLayout],
    /// What follows.
    pub tail: Tail,
}

/// Tags of options.
pub mod tag {
    /// The name of an access point, UTF-8.
    pub const NAME: u8 = 1;
}

macro_rules! messages {
    (
        $($bare:ident = $bare_number:literal, $bare_name:literal, $bare_title:literal, $bare_way:ident, $bare_tail:ident,
            $bare_text:literal;)*
        ---
        $($message:ident = $number:literal, $name:literal, $title:literal, $way:ident, $tail:ident, $text:literal {
            $($field:ident: $type:ty = $field_title:literal, $field_text:literal;)*
        })*
    ) => {
        /// What a PDU is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum MessageType {
            $(#[doc = $bare_text] $bare,)*
            $(#[doc = $text] $message,)*
        }

        impl MessageType {
            /// The type of a number.
            #[must_use]
            #[inline]
            pub const fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($bare_number => Some(Self::$bare),)*
                    $($number => Some(Self::$message),)*
                    _ => None,
                }
            }

            /// Its number, 1 to 31.
            #[must_use]
            #[inline]
            pub const fn number(self) -> u8 {
                match self { $(Self::$bare => $bare_number,)* $(Self::$message => $number,)* }
            }

            /// What a person calls it.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$bare => $bare_title,)* $(Self::$message => $title,)* }
            }
        }

        $(
            #[doc = $text]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $message { $(#[doc = $field_text] pub $field: $type,)* }

            impl $message {
                /// Octets of its fields.
                pub const LEN: usize = 0 $(+ <$type as Element>::LEN)*;

                fn read(r: &mut Reader<'_>) -> Result<Self, DecodeError> {
                    Ok(Self { $($field: <$type as Element>::read(r, $field_title)?,)* })
                }

                fn write(&self, out: &mut Writer<'_>) {
                    $(self.$field.write(out);)*
                }
            }
        )*

        /// All messages, by their number: of this the manual and the dissector are made.
        pub const TABLE: &[MessageLayout] = &[
            $(MessageLayout {
                kind: MessageType::$bare, name: $bare_name, title: $bare_title, text: $bare_text, way: Way::$bare_way,
                fields: &[], tail: Tail::$bare_tail,
            },)*
            $(MessageLayout {
                kind: MessageType::$message, name: $name, title: $title, text: $text, way: Way::$way,
                fields: &[$(FieldLayout {
                    name: stringify!($field), title: $field_title, text: $field_text,
                    len: <$type as Element>::LEN, form: <$type as Element>::FORM,
                },)*],
                tail: Tail::$tail,
            },)*
        ];
    };
}

messages! {
    LlPdu = 1, "ll_pdu", "LL-PDU", Both, LlPdu, "An LL-PDU of the mobile with the TLLI, or a piece of one.";
    Solicit = 3, "solicit", "Solicit", Up, Padding,
        "Asks for a beacon. It has at least as many octets as the beacon that answers it.";
    ---
    Beacon = 2, "beacon", "Beacon", Down, Options, "An access point says that it is there." {
        cell: CellId = "Cell", "The cell: routing area and cell identity.";
        boot: u64 = "Boot", "Greater after each start of the access point.";
        interval_ms: u16 = "Interval", "From one beacon to the next, in ms.";
        ll_pdu_max: u16 = "Longest LL-PDU", "Octets of the longest LL-PDU that the access point takes.";
        mode: NetworkMode = "Network mode of operation", "03.60 clause 6.3.3.1 [23.060].";
        load: Load = "Load", "How much of the access point is in use, in per cent; 255 where it is not known.";
        flags: BeaconFlags = "Flags", "What else the access point says of itself.";
    }
    Reachable = 4, "reachable", "Reachable", Up, None,
        "The mobile with the TLLI is in this cell, at the address from which this comes." {
        cell: CellId = "Cell", "The cell that the mobile has selected.";
    }
    LinkReport = 5, "link_report", "Link quality report", Both, None, "What its sender sent and received on this link so far." {
        sent: u32 = "Sent", "PDUs sent to the receiver of this report, modulo 2^32, without this one.";
        received: u32 = "Received", "PDUs received from it, modulo 2^32.";
        level: Level = "Level", "The level of what is received, in dBm; 127 where the bearer has none.";
    }
    Probe = 6, "probe", "Probe", Both, None, "Asks for an answer: the link is alive, and so long is its round trip." {
        token: u64 = "Token", "Comes back as it is.";
    }
    ProbeAnswer = 7, "probe_answer", "Probe answer", Both, None, "Answers a probe." {
        token: u64 = "Token", "That of the probe.";
    }
    PagingPs = 8, "paging_ps", "Paging for packet services", Down, None, "A mobile is paged (08.18 clause 7.1 [48.018])." {
        identity: Identity = "Identity", "Who is paged.";
    }
    PagingCs = 9, "paging_cs", "Paging for circuit-switched services", Down, None,
        "A mobile is paged for a call (08.18 clause 7.2 [48.018])." {
        identity: Identity = "Identity", "Who is paged; a TMSI in place of the P-TMSI.";
    }
    Suspend = 10, "suspend", "Suspend", Up, None, "The mobile suspends GPRS (08.18 clause 7.4 [48.018])." {
        rai: Rai = "Routing area", "Where it is registered.";
    }
    SuspendAck = 11, "suspend_ack", "Suspend acknowledgement", Down, None, "The SGSN has suspended GPRS of the mobile." {
        reference: u8 = "Suspend reference number", "For the resumption.";
    }
    Resume = 12, "resume", "Resume", Up, None, "The mobile resumes GPRS." {
        rai: Rai = "Routing area", "Where it is registered.";
        reference: u8 = "Suspend reference number", "That of the acknowledgement.";
    }
    Release = 13, "release", "Release", Both, None, "What is between mobile and access point ends." {
        cause: ReleaseCause = "Cause", "Why.";
    }
    Hello = 14, "hello", "Hello", Up, None, "A mobile begins a session." {
        key: u32 = "Key", "Which key mobile and access point share.";
        random: [u8; RANDOM_LEN] = "Random number of the mobile", "A new one for each session.";
        mac: [u8; 16] = "MAC", "By that key, over everything before it.";
    }
    Welcome = 15, "welcome", "Welcome", Down, None, "An access point agrees to a session." {
        key: u32 = "Key", "That of the hello.";
        session: u32 = "Session", "How the session is named in trailers.";
        random: [u8; RANDOM_LEN] = "Random number of the access point", "A new one for each session.";
        of_mobile: [u8; RANDOM_LEN] = "Random number of the mobile", "That of the hello.";
        mac: [u8; 16] = "MAC", "By that key, over everything before it.";
    }
}

impl MessageType {
    /// Whether it belongs to the handshake, and so has a MAC of its own and no trailer.
    #[must_use]
    #[inline]
    pub const fn is_of_handshake(self) -> bool {
        matches!(self, Self::Hello | Self::Welcome)
    }
}

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// An LL-PDU, or a piece of one.
    LlPdu(&'a [u8]),
    /// A beacon, and the name of the access point.
    Beacon(Beacon, ApName),
    /// A solicit with so many octets of padding.
    Solicit(usize),
    /// See there.
    Reachable(Reachable),
    /// See there.
    LinkReport(LinkReport),
    /// See there.
    Probe(Probe),
    /// See there.
    ProbeAnswer(ProbeAnswer),
    /// See there.
    PagingPs(PagingPs),
    /// See there.
    PagingCs(PagingCs),
    /// See there.
    Suspend(Suspend),
    /// See there.
    SuspendAck(SuspendAck),
    /// See there.
    Resume(Resume),
    /// See there.
    Release(Release),
    /// See there.
    Hello(Hello),
    /// See there.
    Welcome(Welcome),
}

/// Reads options. Of a tag that comes twice the first counts.
fn read_options(r: &mut Reader<'_>) -> Result<ApName, DecodeError> {
    let mut name = ApName::EMPTY;
    while !r.is_empty() {
        let (tag, length) = (r.u8("option: tag")?, usize::from(r.u8("option: length")?));
        let at = r.offset();
        let value = r.take(length, "option: value")?;
        if tag == self::tag::NAME && name.is_empty() {
            if length == 0 || length > NAME_MAX {
                return Err(DecodeError::new("option: name", at, DecodeErrorKind::BadLength(length)));
            }
            if core::str::from_utf8(value).is_err() {
                return Err(DecodeError::new("option: name", at, DecodeErrorKind::BadValue(0)));
            }
            name = ApName::from_start(value);
        }
    }
    Ok(name)
}

impl<'a> Message<'a> {
    /// Reads the payload of a PDU of this type.
    ///
    /// # Errors
    /// As the elements say; `BadLength` where octets are left.
    pub fn parse(kind: MessageType, payload: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(payload);
        let message = match kind {
            MessageType::LlPdu => Self::LlPdu(r.rest()),
            MessageType::Solicit => Self::Solicit(r.rest().len()),
            MessageType::Beacon => Self::Beacon(Beacon::read(&mut r)?, read_options(&mut r)?),
            MessageType::Reachable => Self::Reachable(Reachable::read(&mut r)?),
            MessageType::LinkReport => Self::LinkReport(LinkReport::read(&mut r)?),
            MessageType::Probe => Self::Probe(Probe::read(&mut r)?),
            MessageType::ProbeAnswer => Self::ProbeAnswer(ProbeAnswer::read(&mut r)?),
            MessageType::PagingPs => Self::PagingPs(PagingPs::read(&mut r)?),
            MessageType::PagingCs => Self::PagingCs(PagingCs::read(&mut r)?),
            MessageType::Suspend => Self::Suspend(Suspend::read(&mut r)?),
            MessageType::SuspendAck => Self::SuspendAck(SuspendAck::read(&mut r)?),
            MessageType::Resume => Self::Resume(Resume::read(&mut r)?),
            MessageType::Release => Self::Release(Release::read(&mut r)?),
            MessageType::Hello => Self::Hello(Hello::read(&mut r)?),
            MessageType::Welcome => Self::Welcome(Welcome::read(&mut r)?),
        };
        if r.is_empty() {
            Ok(message)
        } else {
            Err(r.error("end of the message", DecodeErrorKind::BadLength(payload.len())))
        }
    }

    /// Its type.
    #[must_use]
    pub const fn kind(&self) -> MessageType {
        match self {
            Self::LlPdu(_) => MessageType::LlPdu,
            Self::Beacon(..) => MessageType::Beacon,
            Self::Solicit(_) => MessageType::Solicit,
            Self::Reachable(_) => MessageType::Reachable,
            Self::LinkReport(_) => MessageType::LinkReport,
            Self::Probe(_) => MessageType::Probe,
            Self::ProbeAnswer(_) => MessageType::ProbeAnswer,
            Self::PagingPs(_) => MessageType::PagingPs,
            Self::PagingCs(_) => MessageType::PagingCs,
            Self::Suspend(_) => MessageType::Suspend,
            Self::SuspendAck(_) => MessageType::SuspendAck,
            Self::Resume(_) => MessageType::Resume,
            Self::Release(_) => MessageType::Release,
            Self::Hello(_) => MessageType::Hello,
            Self::Welcome(_) => MessageType::Welcome,
        }
    }

    /// Octets of its payload.
    #[must_use]
    pub const fn payload_len(&self) -> usize {
        match self {
            Self::LlPdu(octets) => octets.len(),
            Self::Beacon(_, name) => Beacon::LEN + if name.is_empty() { 0 } else { 2 + name.len() },
            Self::Solicit(padding) => *padding,
            Self::Reachable(_) => Reachable::LEN,
            Self::LinkReport(_) => LinkReport::LEN,
            Self::Probe(_) => Probe::LEN,
            Self::ProbeAnswer(_) => ProbeAnswer::LEN,
            Self::PagingPs(_) => PagingPs::LEN,
            Self::PagingCs(_) => PagingCs::LEN,
            Self::Suspend(_) => Suspend::LEN,
            Self::SuspendAck(_) => SuspendAck::LEN,
            Self::Resume(_) => Resume::LEN,
            Self::Release(_) => Release::LEN,
            Self::Hello(_) => Hello::LEN,
            Self::Welcome(_) => Welcome::LEN,
        }
    }

    fn write(&self, out: &mut Writer<'_>) {
        match self {
            Self::LlPdu(octets) => out.put(octets),
            Self::Beacon(beacon, name) => {
                beacon.write(out);
                if let Ok(length @ 1..) = u8::try_from(name.len()) {
                    out.put(&[tag::NAME, length]);
                    out.put(name.as_slice());
                }
            }
            Self::Solicit(padding) => (0..*padding).for_each(|_| out.put(&[0])),
            Self::Reachable(of) => of.write(out),
            Self::LinkReport(of) => of.write(out),
            Self::Probe(of) => of.write(out),
            Self::ProbeAnswer(of) => of.write(out),
            Self::PagingPs(of) => of.write(out),
            Self::PagingCs(of) => of.write(out),
            Self::Suspend(of) => of.write(out),
            Self::SuspendAck(of) => of.write(out),
            Self::Resume(of) => of.write(out),
            Self::Release(of) => of.write(out),
            Self::Hello(of) => of.write(out),
            Self::Welcome(of) => of.write(out),
        }
    }

    /// Writes a whole PDU without its trailer into `room`, and gives its length. `None` where the room is too small.
    #[must_use]
    pub fn emit(&self, tlli: Tlli, is_authenticated: bool, room: &mut [u8]) -> Option<usize> {
        let header = Header { is_authenticated, ..Header::new(self.kind(), tlli) };
        let (start, payload) = (header.buffer_len(), self.payload_len());
        let (front, rest) = room.split_at_mut_checked(start)?;
        let rest = rest.get_mut(..payload)?;
        if !header.emit(payload, front) {
            return None;
        }
        self.write(&mut Writer::new(rest));
        Some(start + payload)
    }
}

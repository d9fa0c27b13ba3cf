//! PAGING REQUEST types 1 to 3 (04.08 clauses 9.1.22 to 9.1.24 [44.018]). A page for packet access is one of a P-TMSI or an
//! IMSI whose packet page indication is set.

use super::Parts;
use crate::cursor::Reader;
use crate::error::{DecodeError, DecodeErrorKind};
use crate::id::PTmsi;
use crate::l3::Element;
use crate::l3::ie::{MobileIdentity, Octets};
use crate::rlcmac::csn::{BitReader, BitWriter, Bits, Csn, LaterRest, read_high, sequence, write_high};
use crate::rlcmac::value::{ChannelNeeded, EmlppPriority, ListNumber, PageMode};

/// Contents of a mobile identity as they came, 1 to 9 octets: some networks write one octet where none is paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PagedMobile(pub Octets<9>);

const SECOND_IDENTITY: u8 = 0x17;

impl PagedMobile {
    /// Nobody, in one octet.
    #[must_use]
    pub fn nobody() -> Self {
        Self(Octets::from_start(&[0xf0]))
    }

    /// Of an identity.
    #[must_use]
    pub fn of(identity: MobileIdentity) -> Self {
        let mut octets = Vec::new();
        identity.emit_value(&mut octets);
        Self(Octets::from_start(&octets))
    }

    /// The identity; of the circuit-switched side a TMSI stands as a P-TMSI.
    ///
    /// # Errors
    /// `BadValue` and `BadLength` about the identity.
    pub fn identity(&self) -> Result<MobileIdentity, DecodeError> {
        MobileIdentity::parse_value(self.0.as_slice())
    }

    fn read(body: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let len = usize::from(body.u8("Mobile Identity")?);
        if !(1..=9).contains(&len) {
            return Err(body.error("Mobile Identity", DecodeErrorKind::BadLength(len)));
        }
        Ok(Self(Octets::from_start(body.take(len, "Mobile Identity")?)))
    }

    fn read_optional(body: &mut Reader<'_>) -> Result<Option<Self>, DecodeError> {
        if body.peek() != Some(SECOND_IDENTITY) {
            return Ok(None);
        }
        body.u8("Mobile Identity")?;
        Self::read(body).map(Some)
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::try_from(self.0.len()).unwrap_or_default());
        out.extend(self.0.as_slice());
    }

    fn write_optional(mobile: Option<&Self>, out: &mut Vec<u8>) {
        if let Some(mobile) = mobile {
            out.push(SECOND_IDENTITY);
            mobile.write(out);
        }
    }
}

fn read_tmsi(body: &mut Reader<'_>) -> Result<PTmsi, DecodeError> {
    body.u32("TMSI/P-TMSI").map(PTmsi)
}

/// Page mode and the channels that the first two mobiles need (clauses 10.5.2.26 and 10.5.2.8).
fn read_mode(body: &mut Reader<'_>) -> Result<(PageMode, [ChannelNeeded; 2]), DecodeError> {
    let octet = body.u8("Page Mode")?;
    Ok((
        PageMode::from_bits(octet),
        [ChannelNeeded::from_bits(octet >> 4), ChannelNeeded::from_bits(octet >> 6)],
    ))
}

fn write_mode(mode: PageMode, [first, second]: [ChannelNeeded; 2], out: &mut Vec<u8>) {
    out.push(second.bits() << 6 | first.bits() << 4 | mode.bits());
}

/// Rest octets that are read, or that have something in their middle that is not read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PagingRest<T> {
    /// Read.
    Read(T),
    /// Information about a group call stands in the middle: all bits, as they came.
    Unread(Bits),
}

impl<T: Default> Default for PagingRest<T> {
    fn default() -> Self {
        Self::Read(T::default())
    }
}

fn read_rest<T: Csn>(bits: &mut BitReader<'_>) -> PagingRest<T> {
    let start = *bits;
    T::read(bits).map_or_else(
        |_| {
            *bits = start;
            PagingRest::Unread(bits.rest())
        },
        PagingRest::Read,
    )
}

fn write_rest<T: Csn>(rest: &PagingRest<T>, bits: &mut BitWriter<'_>) {
    match rest {
        PagingRest::Read(rest) => rest.write(bits),
        PagingRest::Unread(rest) => rest.put(bits),
    }
}

/// Notification list number on the PCH, and its status bit (clause 10.5.2.23).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Notification {
    /// NLN.
    pub list: ListNumber,
    /// Status.
    pub status: bool,
}
sequence!(Notification, "NLN": list, status);

/// Priorities of calls, each there or not.
fn read_priorities<const N: usize>(
    bits: &mut BitReader<'_>,
) -> Result<[Option<EmlppPriority>; N], DecodeError> {
    let mut priorities = [None; N];
    for priority in &mut priorities {
        *priority = read_high(bits)?;
    }
    Ok(priorities)
}

/// P1 rest octets (clause 10.5.2.23).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct P1RestOctets {
    /// Group calls.
    pub notification: Option<Notification>,
    /// Priorities of both pages.
    pub priorities: [Option<EmlppPriority>; 2],
    /// Packet page indication of both mobiles: the page is for packet access.
    pub is_packet: [bool; 2],
    /// Additions.
    pub later: LaterRest,
}

impl Csn for P1RestOctets {
    const NAME: &'static str = "P1 Rest Octets";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (notification, priorities) = (read_high(bits)?, read_priorities(bits)?);
        if bits.high() {
            return Err(bits.error("Group Call information", DecodeErrorKind::Conditional));
        }
        let is_packet = [bits.high(), bits.high()];
        Ok(Self { notification, priorities, is_packet, later: Csn::read(bits)? })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        write_high(self.notification.as_ref(), bits);
        self.priorities.iter().for_each(|priority| write_high(priority.as_ref(), bits));
        bits.high(false);
        self.is_packet.iter().for_each(|is_packet| bits.high(*is_packet));
        self.later.write(bits);
    }
}

/// P2 rest octets (clause 10.5.2.24).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct P2RestOctets {
    /// Channel for the third mobile.
    pub channel: Option<ChannelNeeded>,
    /// Group calls.
    pub notification: Option<Notification>,
    /// Priorities of the three pages.
    pub priorities: [Option<EmlppPriority>; 3],
    /// Packet page indication of the third mobile: the page is for packet access.
    pub is_packet: bool,
    /// Additions.
    pub later: LaterRest,
}

impl Csn for P2RestOctets {
    const NAME: &'static str = "P2 Rest Octets";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (channel, notification) = (read_high(bits)?, read_high(bits)?);
        let priorities = read_priorities(bits)?;
        Ok(Self { channel, notification, priorities, is_packet: bits.high(), later: Csn::read(bits)? })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        write_high(self.channel.as_ref(), bits);
        write_high(self.notification.as_ref(), bits);
        self.priorities.iter().for_each(|priority| write_high(priority.as_ref(), bits));
        bits.high(self.is_packet);
        self.later.write(bits);
    }
}

/// Channels for the third and the fourth mobile (clause 10.5.2.25).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChannelsNeeded {
    /// Of the third.
    pub third: ChannelNeeded,
    /// Of the fourth.
    pub fourth: ChannelNeeded,
}
sequence!(ChannelsNeeded, "CN3": third, fourth);

/// P3 rest octets (clause 10.5.2.25).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct P3RestOctets {
    /// Channels for the third and the fourth mobile.
    pub channels: Option<ChannelsNeeded>,
    /// Group calls.
    pub notification: Option<Notification>,
    /// Priorities of the four pages.
    pub priorities: [Option<EmlppPriority>; 4],
    /// Additions.
    pub later: LaterRest,
}

impl Csn for P3RestOctets {
    const NAME: &'static str = "P3 Rest Octets";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (channels, notification) = (read_high(bits)?, read_high(bits)?);
        Ok(Self { channels, notification, priorities: read_priorities(bits)?, later: Csn::read(bits)? })
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        write_high(self.channels.as_ref(), bits);
        write_high(self.notification.as_ref(), bits);
        self.priorities.iter().for_each(|priority| write_high(priority.as_ref(), bits));
        self.later.write(bits);
    }
}

/// PAGING REQUEST TYPE 1: one mobile or two, by any identity (clause 9.1.22).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PagingRequest1 {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Channels for both.
    pub channels: [ChannelNeeded; 2],
    /// The first mobile.
    pub first: PagedMobile,
    /// The second.
    pub second: Option<PagedMobile>,
    /// Whether they are paged for packet access.
    pub rest: PagingRest<P1RestOctets>,
}

impl Parts for PagingRequest1 {
    fn read(body: &mut Reader<'_>, rest: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (page_mode, channels) = read_mode(body)?;
        let (first, second) = (PagedMobile::read(body)?, PagedMobile::read_optional(body)?);
        Ok(Self { page_mode, channels, first, second, rest: read_rest(rest) })
    }

    fn write_body(&self, body: &mut Vec<u8>) {
        write_mode(self.page_mode, self.channels, body);
        self.first.write(body);
        PagedMobile::write_optional(self.second.as_ref(), body);
    }

    fn write_rest(&self, rest: &mut BitWriter<'_>) {
        write_rest(&self.rest, rest);
    }
}

/// PAGING REQUEST TYPE 2: two mobiles by TMSI or P-TMSI, and a third by any identity (clause 9.1.23).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PagingRequest2 {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Channels for the first two.
    pub channels: [ChannelNeeded; 2],
    /// The first two.
    pub mobiles: [PTmsi; 2],
    /// The third.
    pub third: Option<PagedMobile>,
    /// Whether the third is paged for packet access.
    pub rest: PagingRest<P2RestOctets>,
}

impl Parts for PagingRequest2 {
    fn read(body: &mut Reader<'_>, rest: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (page_mode, channels) = read_mode(body)?;
        let mobiles = [read_tmsi(body)?, read_tmsi(body)?];
        let third = PagedMobile::read_optional(body)?;
        Ok(Self { page_mode, channels, mobiles, third, rest: read_rest(rest) })
    }

    fn write_body(&self, body: &mut Vec<u8>) {
        write_mode(self.page_mode, self.channels, body);
        self.mobiles.iter().for_each(|mobile| body.extend(mobile.0.to_be_bytes()));
        PagedMobile::write_optional(self.third.as_ref(), body);
    }

    fn write_rest(&self, rest: &mut BitWriter<'_>) {
        write_rest(&self.rest, rest);
    }
}

/// PAGING REQUEST TYPE 3: four mobiles by TMSI or P-TMSI (clause 9.1.24).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PagingRequest3 {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Channels for the first two.
    pub channels: [ChannelNeeded; 2],
    /// The four.
    pub mobiles: [PTmsi; 4],
    /// Channels for the others.
    pub rest: PagingRest<P3RestOctets>,
}

impl Parts for PagingRequest3 {
    fn read(body: &mut Reader<'_>, rest: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let (page_mode, channels) = read_mode(body)?;
        let mobiles = [read_tmsi(body)?, read_tmsi(body)?, read_tmsi(body)?, read_tmsi(body)?];
        Ok(Self { page_mode, channels, mobiles, rest: read_rest(rest) })
    }

    fn write_body(&self, body: &mut Vec<u8>) {
        write_mode(self.page_mode, self.channels, body);
        self.mobiles.iter().for_each(|mobile| body.extend(mobile.0.to_be_bytes()));
    }

    fn write_rest(&self, rest: &mut BitWriter<'_>) {
        write_rest(&self.rest, rest);
    }
}

//! What is seen of the air of a cell: each block and access burst, and what became of it.
//!
//! A [`Tap`] looks at two interfaces. On Abis a block is what the PCU hands to its base transceiver station, or has from it. On
//! Um it is what an antenna sends: each mobile that listens reads a downlink block or loses it, and uplink the cell reads a
//! block, or loses it, or several collide. An uplink block is on Abis only where it was read.
//!
//! A tap throws no dice and changes nothing. A cell without one pays for a look at an option.

use super::multiframe::{BlockPeriod, HYPERFRAME};
use super::network::resources::Direction;
use core::fmt;
use gannet_machine::time::Instant;
use gannet_wire::gsmtap::{Channel, Header};
use gannet_wire::rlcmac::block::Payload;
use gannet_wire::rlcmac::ccch::CcchMessage;
use gannet_wire::rlcmac::{DownlinkControlBlock, DownlinkMessage, UplinkControlBlock, UplinkMessage};
use std::collections::VecDeque;

/// Which interfaces are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Abis alone.
    Abis,
    /// Abis and Um.
    Both,
}

/// Where a block was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Between base transceiver station and PCU.
    Abis,
    /// Between mobile and base transceiver station.
    Um,
}

impl Interface {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Abis => "Abis",
            Self::Um => "Um",
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A downlink data block.
    DownlinkData,
    /// A downlink control block that says something.
    DownlinkControl,
    /// PACKET DOWNLINK DUMMY CONTROL BLOCK.
    DownlinkDummy,
    /// A block of AGCH.
    Agch,
    /// A block of PCH.
    Pch,
    /// An uplink data block.
    UplinkData,
    /// An uplink control block that says something.
    UplinkControl,
    /// PACKET UPLINK DUMMY CONTROL BLOCK.
    UplinkDummy,
    /// An access burst.
    Rach,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::DownlinkData,
        Self::DownlinkControl,
        Self::DownlinkDummy,
        Self::Agch,
        Self::Pch,
        Self::UplinkData,
        Self::UplinkControl,
        Self::UplinkDummy,
        Self::Rach,
    ];

    /// From a mobile.
    #[must_use]
    pub const fn is_uplink(self) -> bool {
        matches!(self, Self::UplinkData | Self::UplinkControl | Self::UplinkDummy | Self::Rach)
    }

    /// Its logical channel. Osmocom's PCU calls the blocks of a PDCH so too.
    #[must_use]
    pub const fn channel(self) -> Channel {
        match self {
            Self::DownlinkData | Self::UplinkData => Channel::Pdtch,
            Self::DownlinkControl | Self::DownlinkDummy | Self::UplinkControl | Self::UplinkDummy => {
                Channel::Pacch
            }
            Self::Agch => Channel::Agch,
            Self::Pch => Channel::Pch,
            Self::Rach => Channel::Rach,
        }
    }

    /// Of a block of the CCCH.
    fn of_common(octets: &[u8]) -> Self {
        match CcchMessage::parse(octets) {
            Ok(
                CcchMessage::PagingRequest1(_)
                | CcchMessage::PagingRequest2(_)
                | CcchMessage::PagingRequest3(_),
            ) => Self::Pch,
            Ok(_) | Err(_) => Self::Agch,
        }
    }

    /// Of a block of a PDCH. A control block that cannot be read counts as one that says something.
    fn of_block(octets: &[u8], is_uplink: bool) -> Self {
        let is_data = Payload::of(octets) == Some(Payload::Data);
        match (is_uplink, is_data) {
            (false, true) => Self::DownlinkData,
            (true, true) => Self::UplinkData,
            (false, false) => match DownlinkControlBlock::parse(octets).map(|block| block.message) {
                Ok(DownlinkMessage::Dummy(_)) => Self::DownlinkDummy,
                Ok(_) | Err(_) => Self::DownlinkControl,
            },
            (true, false) => match UplinkControlBlock::parse(octets).map(|block| block.message) {
                Ok(UplinkMessage::Dummy(_)) => Self::UplinkDummy,
                Ok(_) | Err(_) => Self::UplinkControl,
            },
        }
    }
}

/// What became of it. Mobiles are named by their number at the base station system, from 0; people read them from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// On Abis: it was handed over.
    Handed,
    /// Downlink: the mobiles that read it, and those that listened and lost it.
    Downlink(Listeners),
    /// Uplink.
    Uplink {
        /// Who sent it.
        mobile: u32,
        /// How many others sent at the same time.
        others: usize,
        /// The cell read it.
        is_read: bool,
    },
}

/// Mobiles that listened to a block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listeners {
    /// They read it.
    pub read: Vec<u32>,
    /// They could not read it.
    pub lost: Vec<u32>,
}

impl Listeners {
    pub(super) fn add(&mut self, mobile: u32, is_lost: bool) {
        if is_lost { &mut self.lost } else { &mut self.read }.push(mobile);
    }
}

/// Mobiles that a person is told of by number.
const NAMED_MAX: usize = 8;

struct Mobiles<'a>(&'a [u32]);

impl fmt::Display for Mobiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = if self.0.len() == 1 { "" } else { "s" };
        if self.0.len() > NAMED_MAX {
            return write!(f, "{} mobiles", self.0.len());
        }
        for (at, mobile) in self.0.iter().enumerate() {
            let before = if at == 0 { format!("mobile{several} ") } else { ", ".to_owned() };
            write!(f, "{before}{}", u64::from(*mobile) + 1)?;
        }
        Ok(())
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Handed => f.write_str("handed over"),
            Self::Downlink(Listeners { read, lost }) => match (read.is_empty(), lost.is_empty()) {
                (true, true) => f.write_str("nobody listened"),
                (false, true) => write!(f, "read by {}", Mobiles(read)),
                (true, false) => write!(f, "lost at {}", Mobiles(lost)),
                (false, false) => write!(f, "lost at {}; read by {}", Mobiles(lost), Mobiles(read)),
            },
            Self::Uplink { mobile, others, is_read } => {
                write!(f, "from mobile {}", u64::from(*mobile) + 1)?;
                if *others > 0 {
                    write!(f, "; collided with {others} more")?;
                }
                f.write_str(if *is_read { "; read" } else { "; lost" })
            }
        }
    }
}

/// A block or an access burst that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// When: as it was handed over, and on Um when its last burst had come.
    pub at: Instant,
    /// Where.
    pub interface: Interface,
    /// What.
    pub kind: Kind,
    /// The number of its first TDMA frame.
    pub frame_number: u32,
    /// Its timeslot.
    pub slot: u8,
    /// The carrier of the cell.
    pub arfcn: u16,
    /// Mean C/I in dB, where it was received with one.
    pub c_over_i_db: Option<i8>,
    /// Its octets: a whole block with its spare bits, or the eight bits of an access burst.
    pub octets: Vec<u8>,
    /// What became of it.
    pub fate: Fate,
}

impl Sighting {
    /// The header under which Wireshark takes it. The level of the signal is 0 dBm: this radio has none. C/I stands as the ratio of
    /// signal to noise.
    #[must_use]
    pub const fn gsmtap(&self) -> Header {
        Header {
            timeslot: self.slot,
            arfcn: self.arfcn,
            snr_db: match self.c_over_i_db {
                Some(db) => db,
                None => 0,
            },
            frame_number: self.frame_number,
            ..Header::um(self.kind.channel(), self.kind.is_uplink())
        }
    }

    /// That header and the octets: a datagram for [`gannet_wire::gsmtap::UDP_PORT`].
    #[must_use]
    pub fn datagram(&self) -> Vec<u8> {
        let mut datagram = self.gsmtap().emit().to_vec();
        datagram.extend_from_slice(&self.octets);
        datagram
    }
}

/// An LL-PDU that came whole when its sender had just taken it back: it goes no further, and its sender sends it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// When.
    pub at: Instant,
    /// Which way.
    pub direction: Direction,
    /// To or from which mobile.
    pub mobile: u32,
    /// Its octets.
    pub octets: Vec<u8>,
}

/// Sightings that may wait for who looks: more are missed.
const SEEN_MAX: usize = 4096;

/// Looks at the air of one cell.
#[derive(Debug)]
pub struct Tap {
    scope: Scope,
    arfcn: u16,
    c_over_i_db: Option<i8>,
    seen: VecDeque<Sighting>,
    late: VecDeque<Late>,
    missed: u64,
}

/// TDMA frames as they are numbered on the air.
fn frame_number(frame: u64) -> u32 {
    u32::try_from(frame % u64::from(HYPERFRAME)).unwrap_or_default()
}

impl Tap {
    /// For a cell with this carrier, whose mobiles have this mean C/I.
    #[must_use]
    pub const fn new(scope: Scope, arfcn: u16, c_over_i_db: Option<i8>) -> Self {
        Self { scope, arfcn, c_over_i_db, seen: VecDeque::new(), late: VecDeque::new(), missed: 0 }
    }

    /// Something waits for who looks.
    #[must_use]
    pub fn has_seen(&self) -> bool {
        !self.seen.is_empty()
    }

    /// How much was missed since the last time, since too much waited.
    pub const fn take_missed(&mut self) -> u64 {
        core::mem::replace(&mut self.missed, 0)
    }

    /// Takes the next that was seen, in the order of time.
    pub fn pop(&mut self) -> Option<Sighting> {
        self.seen.pop_front()
    }

    /// Takes the next LL-PDU that came late, in the order of time.
    pub fn pop_late(&mut self) -> Option<Late> {
        self.late.pop_front()
    }

    /// An LL-PDU came late.
    pub(super) fn came_late(&mut self, late: Late) {
        if self.late.len() >= SEEN_MAX {
            self.missed += 1;
        } else {
            self.late.push_back(late);
        }
    }

    fn see(
        &mut self,
        (at, interface): (Instant, Interface),
        kind: Kind,
        (slot, frame_number): (u8, u32),
        octets: &[u8],
        fate: Fate,
    ) {
        if interface == Interface::Um && self.scope != Scope::Both {
            return;
        }
        if self.seen.len() >= SEEN_MAX {
            self.missed += 1;
            return;
        }
        // What comes from the PCU has not been received by anybody yet.
        let is_received = interface == Interface::Um || kind.is_uplink();
        self.seen.push_back(Sighting {
            at,
            interface,
            kind,
            frame_number,
            slot,
            arfcn: self.arfcn,
            c_over_i_db: self.c_over_i_db.filter(|_| is_received),
            octets: octets.to_vec(),
            fate,
        });
    }

    /// The PCU has chosen a block of a PDCH, which is sent in this period.
    pub(super) fn chosen(&mut self, now: Instant, (slot, period): (u8, u64), octets: &[u8]) {
        let kind = Kind::of_block(octets, false);
        let place = (slot, BlockPeriod(period).frame_number());
        self.see((now, Interface::Abis), kind, place, octets, Fate::Handed);
    }

    /// The same block has been sent.
    pub(super) fn sent(
        &mut self,
        now: Instant,
        (slot, period): (u8, u64),
        octets: &[u8],
        heard: Option<Listeners>,
    ) {
        let kind = Kind::of_block(octets, false);
        let place = (slot, BlockPeriod(period).frame_number());
        let fate = Fate::Downlink(heard.unwrap_or_default());
        self.see((now, Interface::Um), kind, place, octets, fate);
    }

    /// Mobiles have sent in a block of a PDCH: the numbers and blocks of all of them, and which was read, if any.
    pub(super) fn came<'a>(
        &mut self,
        now: Instant,
        (slot, period): (u8, u64),
        sent: impl ExactSizeIterator<Item = (u32, &'a [u8])> + Clone,
        read: Option<usize>,
    ) {
        let place = (slot, BlockPeriod(period).frame_number());
        let others = sent.len().saturating_sub(1);
        for (at, (mobile, octets)) in sent.clone().enumerate() {
            let fate = Fate::Uplink { mobile, others, is_read: read == Some(at) };
            self.see((now, Interface::Um), Kind::of_block(octets, true), place, octets, fate);
        }
        if let Some((_, octets)) = read.and_then(|read| sent.clone().nth(read)) {
            self.see((now, Interface::Abis), Kind::of_block(octets, true), place, octets, Fate::Handed);
        }
    }

    /// A block of AGCH or PCH was chosen, which is sent from this TDMA frame on.
    pub(super) fn common_chosen(&mut self, now: Instant, frame: u64, octets: &[u8]) {
        let place = (0, frame_number(frame));
        self.see((now, Interface::Abis), Kind::of_common(octets), place, octets, Fate::Handed);
    }

    /// It has been sent.
    pub(super) fn common_sent(&mut self, now: Instant, frame: u64, octets: &[u8], heard: Option<Listeners>) {
        let place = (0, frame_number(frame));
        let fate = Fate::Downlink(heard.unwrap_or_default());
        self.see((now, Interface::Um), Kind::of_common(octets), place, octets, fate);
    }

    /// Access bursts were sent in a TDMA frame: the numbers of the mobiles and the eight bits of each, and which was read, if any.
    pub(super) fn bursts(
        &mut self,
        now: Instant,
        frame: u64,
        sent: impl ExactSizeIterator<Item = (u32, u8)> + Clone,
        read: Option<usize>,
    ) {
        let place = (0, frame_number(frame));
        let others = sent.len().saturating_sub(1);
        for (at, (mobile, code)) in sent.clone().enumerate() {
            let fate = Fate::Uplink { mobile, others, is_read: read == Some(at) };
            self.see((now, Interface::Um), Kind::Rach, place, &[code], fate);
        }
        if let Some((_, code)) = read.and_then(|read| sent.clone().nth(read)) {
            self.see((now, Interface::Abis), Kind::Rach, place, &[code], Fate::Handed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_takes_is_missed_and_counted() {
        let mut tap = Tap::new(Scope::Abis, 1, None);
        for frame in 0..SEEN_MAX as u64 + 3 {
            tap.bursts(Instant(frame), frame, [(0, 0x78)].into_iter(), Some(0));
        }
        assert_eq!((tap.take_missed(), tap.take_missed(), tap.seen.len()), (3, 0, SEEN_MAX));
        assert_eq!(tap.pop().map(|first| first.frame_number), Some(0), "what came first is kept");
    }

    #[test]
    fn a_person_reads_what_became_of_it() {
        let down = |read: &[u32], lost: &[u32]| {
            Fate::Downlink(Listeners { read: read.to_vec(), lost: lost.to_vec() }).to_string()
        };
        let up = |others, is_read| Fate::Uplink { mobile: 2, others, is_read }.to_string();
        assert_eq!(down(&[], &[]), "nobody listened");
        assert_eq!(down(&[0], &[]), "read by mobile 1");
        assert_eq!(down(&[0, 4], &[2]), "lost at mobile 3; read by mobiles 1, 5");
        assert_eq!(down(&[], &[7; 9]), "lost at 9 mobiles");
        assert_eq!((up(0, true), up(0, false)), ("from mobile 3; read".into(), "from mobile 3; lost".into()));
        assert_eq!(up(2, true), "from mobile 3; collided with 2 more; read");
        assert_eq!(up(1, false), "from mobile 3; collided with 1 more; lost");
    }
}

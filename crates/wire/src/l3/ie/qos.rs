//! Quality of service (clause 10.5.6.5): what a profile says, its octets, and what the codes mean.
//!
//! The value part is 3 octets in R97, 11 in R99, 12, 14 and 16 in later releases; anything behind that (rates of more than
//! 256 Mbit/s) is not for GPRS and is ignored. GTP carries the same octets behind one octet of
//! allocation/retention priority (29.060 clause 7.7.34), so [`Element::parse_value`] and [`Element::emit_value`] serve
//! both.
//!
//! Value 0 of every field means "subscribed" from the mobile, and is reserved towards it: [`QosProfile::concrete`].

use crate::error::DecodeError;
use crate::l3::codec::{Element, bad_length};
use core::fmt;
use serde::{Deserialize, Serialize};

macro_rules! class {
    ($(#[$doc:meta])* $name:ident { $($(#[$cdoc:meta])* $constant:ident = $value:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
        pub struct $name(pub u8);
        impl $name {
            /// What the subscription says.
            pub const SUBSCRIBED: Self = Self(0);
            $($(#[$cdoc])* pub const $constant: Self = Self($value);)*
        }
    };
}

class! {
    /// Delay class, 3 bits (02.60 clause 5.6.2.2 [22.060]).
    DelayClass {
        /// Delay class 1, the shortest.
        ONE = 1,
        /// Delay class 2.
        TWO = 2,
        /// Delay class 3.
        THREE = 3,
        /// Delay class 4: best effort.
        BEST_EFFORT = 4,
    }
}
class! {
    /// Reliability class, 3 bits: the modes of GTP, LLC and RLC (03.60 clause 15.2.3 [23.107]).
    ReliabilityClass {
        /// Acknowledged GTP, LLC and RLC, protected data.
        ONE = 1,
        /// Unacknowledged GTP, acknowledged LLC and RLC, protected data.
        TWO = 2,
        /// Unacknowledged GTP and LLC, acknowledged RLC, protected data.
        THREE = 3,
        /// Unacknowledged GTP, LLC and RLC, protected data.
        FOUR = 4,
        /// Unacknowledged GTP, LLC and RLC, unprotected data.
        FIVE = 5,
    }
}
class! {
    /// Precedence class, 3 bits (02.60 clause 5.6.2.1): 1 is discarded last.
    PrecedenceClass {
        /// High priority.
        HIGH = 1,
        /// Normal priority.
        NORMAL = 2,
        /// Low priority.
        LOW = 3,
    }
}
class! {
    /// Peak throughput class, 4 bits.
    PeakThroughput {
        /// Up to 256 000 octets/s.
        MAX = 9,
    }
}
class! {
    /// Mean throughput class, 5 bits.
    MeanThroughput {
        /// Best effort.
        BEST_EFFORT = 31,
    }
}
class! {
    /// Traffic class of R99, 3 bits (23.107 clause 6.3).
    TrafficClass {
        /// Conversational: real time.
        CONVERSATIONAL = 1,
        /// Streaming: real time.
        STREAMING = 2,
        /// Interactive: best effort with a handling priority.
        INTERACTIVE = 3,
        /// Background: best effort.
        BACKGROUND = 4,
    }
}

impl PeakThroughput {
    /// Octets per second; `None` for "subscribed" and for a reserved value.
    #[must_use]
    pub const fn octets_per_s(self) -> Option<u32> {
        match self.0 {
            class @ 1..=9 => Some(1000 << (class - 1)),
            _ => None,
        }
    }

    /// The smallest class that allows `octets_per_s`, the largest one where none does.
    #[must_use]
    pub fn from_octets_per_s(octets_per_s: u32) -> Self {
        (1..=9).map(Self).find(|class| class.octets_per_s() >= Some(octets_per_s)).unwrap_or(Self::MAX)
    }
}

impl MeanThroughput {
    /// Octets per hour; `None` for "subscribed", "best effort" and a reserved value.
    #[must_use]
    pub const fn octets_per_h(self) -> Option<u32> {
        match self.0 {
            class @ 1..=18 => {
                let step = match (class - 1) % 3 {
                    0 => 100,
                    1 => 200,
                    _ => 500,
                };
                Some(step * 10_u32.pow((class as u32 - 1) / 3))
            }
            _ => None,
        }
    }
}

/// A bit rate's code and, above 8640 kbit/s, its extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct BitRate {
    /// The octet of R99.
    pub code: u8,
    /// The octet of R5 downlink, of R7 uplink; 0 where `code` says all.
    pub extended: u8,
}

impl BitRate {
    /// From kbit/s: the largest rate that can be said and is not larger; 1 where that would be 0 and `kbps` is not.
    #[must_use]
    pub fn from_kbps(kbps: u32) -> Self {
        let extended = match kbps {
            0..=8699 => 0,
            8700..=16_000 => (kbps - 8600) / 100,
            16_001..=16_999 => 0x4a,
            17_000..=128_000 => 0x4a + (kbps - 16_000) / 1000,
            128_001..=256_000 => 0xba + (kbps - 128_000) / 2000,
            _ => 0xfa,
        };
        Self { code: code_of(kbps.min(8640)), extended: u8::try_from(extended).unwrap_or(0xfa) }
    }

    /// The extension in the place of the code, where there is any; true then.
    const fn fold(&mut self) -> bool {
        let is_extended = self.extended != 0;
        if is_extended {
            *self = Self { code: self.extended, extended: 0 };
        }
        is_extended
    }

    /// In kbit/s; `None` for "subscribed".
    #[must_use]
    pub const fn kbps(self) -> Option<u32> {
        let extended = self.extended as u32;
        match (self.code, extended) {
            (EXTENDED, 1..=0x4a) => Some(8600 + extended * 100),
            (EXTENDED, 0x4b..=0xba) => Some(16_000 + (extended - 0x4a) * 1000),
            (EXTENDED, 0xbb..=0xfa) => Some(128_000 + (extended - 0xba) * 2000),
            (code, _) => kbps_of(code),
        }
    }
}

/// The code of which an extension says more.
const EXTENDED: u8 = 254;

/// The rate in kbit/s that an octet of R99 says, 1 to 8640, and 0 for 255; `None` for "subscribed".
const fn kbps_of(code: u8) -> Option<u32> {
    let value = code as u32;
    match code {
        0 => None,
        1..=63 => Some(value),
        64..=127 => Some(64 + (value - 64) * 8),
        128..=254 => Some(576 + (value - 128) * 64),
        255 => Some(0),
    }
}

/// The octet of R99 for the largest rate that can be said and is not larger than `kbps`.
fn code_of(kbps: u32) -> u8 {
    let code = match kbps {
        0 => 255,
        1..=63 => kbps,
        64..=575 => 64 + (kbps - 64) / 8,
        576..=8640 => 128 + (kbps - 576) / 64,
        _ => 254,
    };
    u8::try_from(code).unwrap_or(254)
}

/// The part of a profile that came with R99, and the octets that later releases put behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct QosR99 {
    /// Conversational to background.
    pub traffic_class: TrafficClass,
    /// 1 with, 2 without delivery order. Two bits.
    pub delivery_order: u8,
    /// 1 no detection, 2 erroneous SDUs are delivered, 3 they are not. Three bits.
    pub erroneous_sdus: u8,
    /// Code of the maximum SDU size; see [`QosR99::max_sdu_octets`].
    pub max_sdu: u8,
    /// Maximum bit rate uplink.
    pub mbr_up: BitRate,
    /// Maximum bit rate downlink.
    pub mbr_down: BitRate,
    /// Code of the residual bit error ratio. Four bits.
    pub residual_ber: u8,
    /// Code of the SDU error ratio. Four bits.
    pub sdu_error_ratio: u8,
    /// Code of the transfer delay; see [`QosR99::transfer_delay_ms`]. Six bits.
    pub transfer_delay: u8,
    /// Traffic handling priority 1 to 3, of the interactive class. Two bits.
    pub handling_priority: u8,
    /// Guaranteed bit rate uplink.
    pub gbr_up: BitRate,
    /// Guaranteed bit rate downlink.
    pub gbr_down: BitRate,
    /// Octet 14: signalling indication (bit 5) and source statistics descriptor. Five bits; `None` in a profile of
    /// R99.
    pub signalling: Option<u8>,
}

impl QosR99 {
    /// Maximum SDU size in octets; `None` for "subscribed" and reserved values.
    #[must_use]
    pub const fn max_sdu_octets(&self) -> Option<u16> {
        match self.max_sdu {
            code @ 1..=150 => Some(code as u16 * 10),
            151 => Some(1502),
            152 => Some(1510),
            153 => Some(1520),
            _ => None,
        }
    }

    /// Transfer delay in milliseconds; `None` for "subscribed" and reserved values.
    #[must_use]
    pub const fn transfer_delay_ms(&self) -> Option<u16> {
        let code = self.transfer_delay as u16;
        match code {
            1..=15 => Some(code * 10),
            16..=31 => Some(200 + (code - 16) * 50),
            32..=62 => Some(1000 + (code - 32) * 100),
            _ => None,
        }
    }
}

/// A quality of service profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct QosProfile {
    /// Delay class.
    pub delay: DelayClass,
    /// Reliability class.
    pub reliability: ReliabilityClass,
    /// Peak throughput class.
    pub peak: PeakThroughput,
    /// Precedence class.
    pub precedence: PrecedenceClass,
    /// Mean throughput class.
    pub mean: MeanThroughput,
    /// What R99 added.
    pub r99: Option<QosR99>,
}

impl QosProfile {
    /// Best effort: the profile of a subscriber of whom nothing else is known.
    pub const BEST_EFFORT: Self = Self {
        delay: DelayClass::BEST_EFFORT,
        reliability: ReliabilityClass::THREE,
        peak: PeakThroughput::MAX,
        precedence: PrecedenceClass::NORMAL,
        mean: MeanThroughput::BEST_EFFORT,
        r99: None,
    };

    /// How soon its packets are to be served against others of the same subscriber (23.107 clauses 6.4.3.5 and 9.1.2.2): 0 of conversational
    /// and streaming, 1 to 3 of interactive by its traffic handling priority, or by the delay class where R99 says nothing, and 4 of
    /// background.
    #[must_use]
    pub const fn handling(&self) -> u8 {
        let of_delay = match self.delay.0 {
            class @ 1..=3 => class,
            _ => 4,
        };
        let Some(r99) = &self.r99 else { return of_delay };
        match (r99.traffic_class, r99.handling_priority) {
            (TrafficClass::CONVERSATIONAL | TrafficClass::STREAMING, _) => 0,
            (TrafficClass::INTERACTIVE, priority @ 1..=3) => priority,
            (TrafficClass::INTERACTIVE, _) => 3,
            (TrafficClass::BACKGROUND, _) => 4,
            _ => of_delay,
        }
    }

    /// The profile in its storage form.
    #[must_use]
    pub fn pack(&self) -> PackedQos {
        let mut profile = *self;
        let r99 = profile.r99.as_mut();
        let uplink = r99.map_or([false; 2], |r99| [&mut r99.mbr_up, &mut r99.gbr_up].map(BitRate::fold));
        let mut out = Vec::with_capacity(14);
        profile.emit_value(&mut out);
        let lengths = PackedQos::LENGTHS.iter().zip(0_u8..);
        let code = lengths.filter(|(length, _)| **length == out.len()).map(|(_, code)| code).next();
        let mut packed = PackedQos::default();
        for (to, from) in packed.0.iter_mut().zip(out) {
            *to = from;
        }
        if let Some(octet) = packed.0.first_mut() {
            *octet |= code.unwrap_or(0) << 6;
        }
        for ((place, bit), is_extended) in PackedQos::UPLINK.into_iter().zip(uplink) {
            if let Some(octet) = packed.0.get_mut(place).filter(|_| is_extended) {
                *octet |= bit;
            }
        }
        packed
    }
}

/// A profile as its own octets, 14 octets of plain data: the two spare bits of the first octet say how many count. Of an uplink rate
/// with an extension that stands in the place of its code, which is 254 then, and a spare bit says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct PackedQos([u8; 14]);

impl PackedQos {
    /// Lengths of a profile of R97, R99, and with one or all of the octets of R5.
    const LENGTHS: [usize; 4] = [3, 11, 12, 14];
    /// The spare bits of the maximum and of the guaranteed bit rate uplink, and the octets that have them.
    const UPLINK: [(usize, u8); 2] = [(1, 0x08), (2, 0x20)];

    /// The profile.
    #[must_use]
    pub fn unpack(&self) -> QosProfile {
        let code = self.0.first().map_or(0, |octet| usize::from(octet >> 6));
        let length = Self::LENGTHS.get(code).copied().unwrap_or(3);
        let mut octets = self.0;
        let mut is_extended = [false; 2];
        for ((place, bit), is_extended) in Self::UPLINK.into_iter().zip(&mut is_extended) {
            let Some(octet) = octets.get_mut(place) else { continue };
            *is_extended = *octet & bit != 0;
            *octet &= !bit;
        }
        let octets = octets.get(..length).unwrap_or_default();
        let mut profile = QosProfile::parse_value(octets).unwrap_or_default();
        if let Some(r99) = &mut profile.r99 {
            for (rate, is_extended) in [&mut r99.mbr_up, &mut r99.gbr_up].into_iter().zip(is_extended) {
                if is_extended {
                    *rate = BitRate { code: EXTENDED, extended: rate.code };
                }
            }
        }
        profile
    }
}

fn parse_r99(octets: &[u8]) -> Option<QosR99> {
    let [classes, max_sdu, mbr_up, mbr_down, errors, delay, gbr_up, gbr_down, later @ ..] = octets else {
        return None;
    };
    let (mbr_extended, gbr_extended) = match later {
        [_, mbr, gbr, ..] => (*mbr, *gbr),
        _ => (0, 0),
    };
    let (mbr_up_extended, gbr_up_extended) = match later {
        [_, _, _, mbr, gbr, ..] => (*mbr, *gbr),
        _ => (0, 0),
    };
    Some(QosR99 {
        traffic_class: TrafficClass(classes >> 5),
        delivery_order: classes >> 3 & 3,
        erroneous_sdus: classes & 7,
        max_sdu: *max_sdu,
        mbr_up: BitRate { code: *mbr_up, extended: mbr_up_extended },
        mbr_down: BitRate { code: *mbr_down, extended: mbr_extended },
        residual_ber: errors >> 4,
        sdu_error_ratio: errors & 0x0f,
        transfer_delay: delay >> 2,
        handling_priority: delay & 3,
        gbr_up: BitRate { code: *gbr_up, extended: gbr_up_extended },
        gbr_down: BitRate { code: *gbr_down, extended: gbr_extended },
        signalling: later.first().map(|octet| octet & 0x1f),
    })
}

fn emit_r99(r99: &QosR99, out: &mut Vec<u8>) {
    out.extend([
        r99.traffic_class.0 << 5 | (r99.delivery_order & 3) << 3 | (r99.erroneous_sdus & 7),
        r99.max_sdu,
        r99.mbr_up.code,
        r99.mbr_down.code,
        r99.residual_ber << 4 | (r99.sdu_error_ratio & 0x0f),
        r99.transfer_delay << 2 | (r99.handling_priority & 3),
        r99.gbr_up.code,
        r99.gbr_down.code,
    ]);
    let downlink = [r99.mbr_down.extended, r99.gbr_down.extended];
    let uplink = [r99.mbr_up.extended, r99.gbr_up.extended];
    if [downlink, uplink] != [[0; 2]; 2] {
        out.push(r99.signalling.unwrap_or(0) & 0x1f);
        out.extend(downlink);
        if uplink != [0; 2] {
            out.extend(uplink);
        }
    } else if let Some(signalling) = r99.signalling {
        out.push(signalling & 0x1f);
    }
}

impl Element for QosProfile {
    const NAME: &'static str = "Quality of Service";

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let [one, two, three, rest @ ..] = octets else { return Err(bad_length::<Self>(octets)) };
        Ok(Self {
            delay: DelayClass(one >> 3 & 7),
            reliability: ReliabilityClass(one & 7),
            peak: PeakThroughput(two >> 4),
            precedence: PrecedenceClass(two & 7),
            mean: MeanThroughput(three & 0x1f),
            r99: parse_r99(rest),
        })
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.extend([
            (self.delay.0 & 7) << 3 | (self.reliability.0 & 7),
            self.peak.0 << 4 | (self.precedence.0 & 7),
            self.mean.0 & 0x1f,
        ]);
        if let Some(r99) = &self.r99 {
            emit_r99(r99, out);
        }
    }
}

impl fmt::Display for QosProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "delay {}, reliability {}, peak {}, precedence {}, mean {}",
            self.delay.0, self.reliability.0, self.peak.0, self.precedence.0, self.mean.0
        )?;
        let Some(r99) = &self.r99 else { return Ok(()) };
        write!(f, ", traffic class {}", r99.traffic_class.0)?;
        if let (Some(up), Some(down)) = (r99.mbr_up.kbps(), r99.mbr_down.kbps()) {
            write!(f, ", at most {up}/{down} kbit/s")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(size_of::<PackedQos>(), 14);
        assert_eq!(PackedQos::default().unpack(), QosProfile::default());
    }

    #[test]
    fn bit_rates_at_their_borders() {
        for (code, kbps) in
            [(1, 1), (63, 63), (64, 64), (65, 72), (127, 568), (128, 576), (129, 640), (254, 8640)]
        {
            assert_eq!(kbps_of(code), Some(kbps));
            assert_eq!(code_of(kbps), code);
        }
        assert_eq!(code_of(575), 127);
        assert_eq!((kbps_of(255), code_of(0)), (Some(0), 255));
        for kbps in [8640, 8700, 16_000, 17_000, 128_000, 130_000, 256_000] {
            assert_eq!(BitRate::from_kbps(kbps).kbps(), Some(kbps));
        }
        assert_eq!(BitRate::from_kbps(42_200).kbps(), Some(42_000));
    }

    #[test]
    fn an_extension_holds_in_the_storage_form_whatever_its_code_says() {
        let octets = [0x23, 0x92, 0x1f, 0x91, 0x96, 0x40, 0xfe, 0x74, 0xfa, 0xfe, 0xff, 0, 0, 0, 0x9e, 0];
        let profile = QosProfile::parse_value(&octets).unwrap();
        let stored = profile.pack().unpack();
        assert_eq!(profile.r99.unwrap().mbr_up.kbps(), Some(64), "the code counts while it is not 254");
        assert_eq!(stored.r99.unwrap().mbr_up, BitRate::from_kbps(100_000));
        assert_eq!(profile.concrete().r99.unwrap().mbr_up, BitRate::from_kbps(100_000), "as what is granted");
    }

    #[test]
    fn handling_is_by_traffic_class_or_by_delay_class() {
        let of_delay = |class| QosProfile { delay: DelayClass(class), ..QosProfile::BEST_EFFORT }.handling();
        assert_eq!([0, 1, 2, 3, 4].map(of_delay), [4, 1, 2, 3, 4]);
        let octets = [0x23, 0x92, 0x1f, 0x91, 0x96, 0xfe, 0xfe, 0x74, 0xfa, 0xff, 0xff];
        let whole = QosProfile::parse_value(&octets).unwrap();
        let of = |traffic_class, handling_priority| {
            let r99 = QosR99 { traffic_class, handling_priority, ..whole.r99.unwrap() };
            QosProfile { r99: Some(r99), delay: DelayClass(2), ..whole }.handling()
        };
        assert_eq!([TrafficClass::CONVERSATIONAL, TrafficClass::STREAMING].map(|class| of(class, 1)), [0, 0]);
        assert_eq!([0, 1, 2, 3].map(|priority| of(TrafficClass::INTERACTIVE, priority)), [3, 1, 2, 3]);
        assert_eq!(of(TrafficClass::BACKGROUND, 1), 4);
        assert_eq!(of(TrafficClass(0), 1), 2, "subscribed: by the delay class");
    }

    #[test]
    fn throughput_classes() {
        assert_eq!(PeakThroughput(9).octets_per_s(), Some(256_000));
        assert_eq!(PeakThroughput::from_octets_per_s(1001), PeakThroughput(2));
        assert_eq!(MeanThroughput(1).octets_per_h(), Some(100));
        assert_eq!(MeanThroughput(18).octets_per_h(), Some(50_000_000));
        assert_eq!(MeanThroughput::BEST_EFFORT.octets_per_h(), None);
    }

    #[test]
    fn a_profile_keeps_its_release() {
        for octets in [
            &[0x23, 0x92, 0x1f][..],
            &[0x23, 0x92, 0x1f, 0x91, 0x96, 0xfe, 0xfe, 0x74, 0xfa, 0xff, 0xff],
            &[0x23, 0x92, 0x1f, 0x91, 0x96, 0xfe, 0xfe, 0x74, 0xfa, 0xff, 0xff, 0x00],
            &[0x23, 0x92, 0x1f, 0x91, 0x96, 0xfe, 0xfe, 0x74, 0xfa, 0xff, 0xff, 0x11, 0x4a, 0x01],
            &[0x23, 0x92, 0x1f, 0x91, 0x96, 0xfe, 0xfe, 0x74, 0xfa, 0xfe, 0xff, 0x11, 0x4a, 0x00, 0x9e, 0x01],
            &[0x23, 0x92, 0x1f, 0x91, 0x96, 0xfe, 0xfe, 0x74, 0xfa, 0xff, 0xff, 0x00, 0x00, 0x00, 0xfa, 0x00],
        ] {
            let profile = QosProfile::parse_value(octets).unwrap();
            let mut out = Vec::new();
            profile.emit_value(&mut out);
            assert_eq!(out, octets);
            assert_eq!(profile.pack().unpack(), profile);
        }
    }
}

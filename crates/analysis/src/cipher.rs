//! Deciphering of LL-PDUs with keys that a person gives (04.64 annex A [44.064]).
//!
//! The algorithm is that of the AUTHENTICATION AND CIPHERING REQUEST; where the capture lacks it, each that takes such a key is
//! tried. IOV-UI and IOV-I come by XID, and are 0 otherwise. LFN + OC is counted from the frames that pass; a capture that
//! starts in the middle does not say how often the numbers have started again, so up to [`OVERFLOWS_MAX`] overflows are tried.
//!
//! Only the frame check sequence says that a key is right. It has 24 bits, so the number of tries is limited: a key that opens
//! none of the first [`VAIN_MAX`] LL-PDUs of a mobile is not tried with it any more.

use core::fmt;
use core::str::FromStr;
use gannet_proto::llc::{Algorithm, Ciphering, Direction as Way, KcLength, cipher};
use gannet_wire::id::{Imsi, Sapi};
use gannet_wire::l3::{self, L3Message};
use gannet_wire::llc::xid::{self, Parameter};
use gannet_wire::llc::{Control, Layout, MODULUS};
use gannet_wire::sndcp;
use serde::Serialize;
use std::collections::HashMap;

/// Overflows of a sequence number within which OC is looked for.
pub const OVERFLOWS_MAX: u32 = 64;
/// LL-PDUs of a mobile after which keys that opened none are given up.
pub const VAIN_MAX: u32 = 256;
/// LL-PDUs of a mobile that no key has opened yet for which OC is looked for.
const SEARCHES_MAX: u32 = 8;
/// Octets that are deciphered in search of OC in one reading.
const SEARCH_OCTETS_MAX: u64 = 64 << 20;
/// Mobiles, and directions of their SAPIs, whose counters are kept.
const TABLE_MAX: usize = 200_000;
/// What is further behind the expected number counts as ahead (04.64 clause 8.4.2 [44.064]).
const BEHIND_MAX: u16 = 32;

type Table<K, V> = HashMap<K, V, foldhash::quality::RandomState>;

/// A key of one mobile, or of any.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    imsi: Option<Imsi>,
    octets: Vec<u8>,
}

/// A key that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key has 16 hexadecimal digits, or 32 for GEA4; IMSI= stands in front of the key of one mobile")]
pub struct BadKey;

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl FromStr for Key {
    type Err = BadKey;

    fn from_str(text: &str) -> Result<Self, BadKey> {
        let (imsi, digits) = match text.split_once('=') {
            Some((imsi, digits)) => (Some(imsi.parse().map_err(|_| BadKey)?), digits),
            None => (None, text),
        };
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_hex || !matches!(digits.len(), 16 | 32) {
            return Err(BadKey);
        }
        let octet = |at| u8::from_str_radix(digits.get(at..at + 2).unwrap_or_default(), 16);
        let octets = (0..digits.len()).step_by(2).map(octet).collect::<Result<_, _>>();
        Ok(Self { imsi, octets: octets.map_err(|_| BadKey)? })
    }
}

impl Key {
    fn with(&self, algorithm: Algorithm) -> Option<Ciphering> {
        match algorithm.kc_length()? {
            KcLength::Bits64 => Ciphering::with_kc(algorithm, self.octets.as_slice().try_into().ok()?),
            KcLength::Bits128 => Ciphering::with_kc128(algorithm, self.octets.as_slice().try_into().ok()?),
        }
    }
}

/// What was counted of ciphered LL-PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// LL-PDUs that are ciphered.
    pub ciphered: u64,
    /// Of these: a key opened them, and the frame check sequence is right.
    pub opened: u64,
    /// No key is there for their mobile.
    pub without_key: u64,
    /// No key that is there opens them.
    pub refused: u64,
}

/// Whose LL-PDU, and where it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lane {
    /// Place of the reading.
    pub place: u16,
    /// The mobile's index; `u32::MAX` where it is not known.
    pub mobile: u32,
    /// From the mobile.
    pub is_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Counted {
    lane: Lane,
    sapi: Sapi,
    is_i: bool,
}

/// OC + the number that is expected next.
#[derive(Debug, Clone, Copy)]
struct Counter {
    next: u32,
    generation: u32,
}

#[derive(Debug, Clone, Default)]
struct OfMobile {
    announced: Option<Algorithm>,
    /// Which key, and how it was used.
    opens: Option<(usize, Algorithm)>,
    /// The one in force and the one before.
    iov_ui: [u32; 2],
    iov_i: [u32; 16],
    generation: u32,
    vain: u32,
    searches: u32,
}

/// An LL-PDU in the clear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Its octets.
    pub octets: Vec<u8>,
    /// How it was ciphered.
    pub algorithm: Algorithm,
}

/// Keys, and what is known of those who use them.
#[derive(Debug, Default)]
pub struct Ciphers {
    keys: Vec<Key>,
    mobiles: Table<u32, OfMobile>,
    counters: Table<Counted, Counter>,
    searched_octets: u64,
    counts: Counts,
}

impl Ciphers {
    /// With these keys.
    #[must_use]
    pub fn new(keys: Vec<Key>) -> Self {
        Self { keys, ..Self::default() }
    }

    /// What was counted.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    fn of(&mut self, mobile: u32) -> &mut OfMobile {
        if self.mobiles.len() >= TABLE_MAX && !self.mobiles.contains_key(&mobile) {
            self.mobiles.clear();
            self.counters.clear();
        }
        self.mobiles.entry(mobile).or_default()
    }

    /// Two mobiles turned out to be one.
    pub fn merge(&mut self, gone: u32, stays: u32) {
        if let Some(known) = self.mobiles.remove(&gone) {
            let present = self.of(stays);
            let announced = known.announced.or(present.announced);
            let opens = present.opens.or(known.opens);
            let generation = present.generation.max(known.generation) + 1;
            *present = OfMobile { announced, opens, generation, ..known };
        }
    }

    /// Learns the algorithm.
    pub fn learn_layer3(&mut self, mobile: u32, message: &L3Message) {
        if let L3Message::Gmm(l3::GmmMessage::AuthenticationRequest(request)) = message {
            let algorithm = Algorithm::of_number(request.ciphering.0);
            let own = self.of(mobile);
            own.announced = algorithm;
            (own.vain, own.searches) = (0, 0);
        }
    }

    /// Learns from the information of XID, SABM and UA, which is in the clear. `begins` with the latter two: I frames count
    /// from 0.
    pub fn learn_u(&mut self, lane: Lane, sapi: Sapi, begins: bool, parameters: &[Parameter]) {
        if begins {
            for is_up in [true, false] {
                self.counters.remove(&Counted { lane: Lane { is_up, ..lane }, sapi, is_i: true });
            }
        }
        for parameter in parameters {
            match parameter {
                Parameter::Reset => {
                    let own = self.of(lane.mobile);
                    own.generation += 1;
                    (own.iov_ui, own.iov_i) = ([0; 2], [0; 16]);
                }
                Parameter::IovUi(offset) => {
                    let own = self.of(lane.mobile);
                    if own.iov_ui[0] != *offset {
                        own.iov_ui = [*offset, own.iov_ui[0]];
                    }
                }
                Parameter::IovI(offset) => {
                    if let Some(known) = self.of(lane.mobile).iov_i.get_mut(usize::from(sapi.0)) {
                        *known = *offset;
                    }
                }
                _ => {}
            }
        }
    }

    /// An LL-PDU of a mobile passes in the clear: its number counts as well.
    pub fn passed(&mut self, lane: Lane, layout: &Layout) {
        // Without a key nothing is to be counted.
        if self.keys.is_empty() {
            return;
        }
        if let Some((number, is_i)) = number(layout) {
            let of = Counted { lane, sapi: layout.header.sapi, is_i };
            let generation = self.of(lane.mobile).generation;
            let count = self.count(&of, generation, number);
            self.note(of, generation, count);
        }
    }

    /// Is a cipher in force for a mobile, as far as the capture says?
    #[must_use]
    pub fn is_on(&self, mobile: u32) -> bool {
        let known = self.mobiles.get(&mobile);
        known.is_some_and(|own| {
            own.opens.is_some() || own.announced.is_some_and(|algorithm| algorithm != Algorithm::Gea0)
        })
    }

    fn count(&self, of: &Counted, generation: u32, number: u16) -> u32 {
        let counter = self.counters.get(of).filter(|counter| counter.generation == generation);
        counter.map_or(u32::from(number), |counter| count_of(counter.next, number))
    }

    fn note(&mut self, of: Counted, generation: u32, count: u32) {
        if self.counters.len() >= TABLE_MAX && !self.counters.contains_key(&of) {
            self.counters.clear();
        }
        let counter = self.counters.entry(of).or_insert(Counter { next: 0, generation });
        if counter.generation != generation || counter.next.wrapping_sub(count).cast_signed() <= 0 {
            *counter = Counter { next: count.wrapping_add(1), generation };
        }
    }

    /// Opens an LL-PDU; `None` where no key does.
    pub fn open(&mut self, lane: Lane, imsi: Option<Imsi>, layout: &Layout, octets: &[u8]) -> Option<Opened> {
        self.counts.ciphered += 1;
        let (number, is_i) = number(layout)?;
        let is_of = |key: &Key| key.imsi.is_none() || key.imsi == imsi;
        let keys: Vec<usize> =
            (0..).zip(&self.keys).filter(|(_, key)| is_of(key)).map(|(index, _)| index).collect();
        if keys.is_empty() {
            self.counts.without_key += 1;
            return None;
        }
        let own = self.of(lane.mobile).clone();
        let of = Counted { lane, sapi: layout.header.sapi, is_i };
        let base = self.count(&of, own.generation, number);
        let mut ways: Vec<(usize, Algorithm)> = own.opens.into_iter().collect();
        if own.opens.is_some() || own.vain < VAIN_MAX {
            for key in keys {
                ways.extend(
                    own.algorithms().filter(|way| Some((key, *way)) != own.opens).map(|way| (key, way)),
                );
            }
        }
        let offsets = own.offsets(&of);
        let found = ways.iter().find_map(|way| {
            let at_once = [base, u32::from(number)];
            let tries = offsets.iter().flat_map(|offset| at_once.map(|count| (*offset, count)));
            self.try_all(*way, &of, layout, octets, tries)
        });
        let found = found.or_else(|| {
            let may_search = own.opens.is_some() || own.searches < SEARCHES_MAX;
            if !may_search || self.searched_octets >= SEARCH_OCTETS_MAX {
                return None;
            }
            let own = self.of(lane.mobile);
            own.searches = own.searches.saturating_add(1);
            let ways = if own.opens.is_some() { ways.get(..1).unwrap_or_default() } else { &ways };
            let tries = u64::from(OVERFLOWS_MAX) * ways.len() as u64;
            self.searched_octets += tries * octets.len() as u64;
            let offset = offsets.first().copied().unwrap_or(0);
            let counts = (1..=OVERFLOWS_MAX).map(|it| u32::from(number) + it * u32::from(MODULUS));
            ways.iter().find_map(|way| {
                self.try_all(*way, &of, layout, octets, counts.clone().map(|count| (offset, count)))
            })
        });
        match found {
            Some((way, count, opened)) => {
                self.counts.opened += 1;
                let own = self.of(lane.mobile);
                own.opens = Some(way);
                own.vain = 0;
                let generation = own.generation;
                self.note(of, generation, count);
                Some(opened)
            }
            None => {
                self.counts.refused += 1;
                let own = self.of(lane.mobile);
                own.vain = own.vain.saturating_add(1);
                None
            }
        }
    }

    fn try_all(
        &self,
        way: (usize, Algorithm),
        of: &Counted,
        layout: &Layout,
        octets: &[u8],
        mut tries: impl Iterator<Item = (u32, u32)>,
    ) -> Option<((usize, Algorithm), u32, Opened)> {
        let ciphering = self.keys.get(way.0)?.with(way.1)?;
        let direction = if of.lane.is_up { Way::Uplink } else { Way::Downlink };
        tries.find_map(|(offset, count)| {
            let input = if of.is_i {
                cipher::i_input(offset, count)
            } else {
                cipher::ui_input(offset, of.sapi, count)
            };
            let mut plain = octets.to_vec();
            ciphering.apply(input, direction, plain.get_mut(layout.header_len..)?);
            let info = plain.get(layout.info())?;
            let is_right = layout.fcs_is_right(&plain) && is_plausible(of.sapi, info);
            is_right.then_some((way, count, Opened { octets: plain, algorithm: way.1 }))
        })
    }
}

impl OfMobile {
    /// The algorithm in force first; without one all of them.
    fn algorithms(&self) -> impl Iterator<Item = Algorithm> + '_ {
        let is_announced = self.announced.is_some_and(|algorithm| algorithm != Algorithm::Gea0);
        let all = [Algorithm::Gea3, Algorithm::Gea2, Algorithm::Gea1, Algorithm::Gea4];
        all.into_iter().filter(move |algorithm| !is_announced || self.announced == Some(*algorithm))
    }

    fn offsets(&self, of: &Counted) -> Vec<u32> {
        if of.is_i {
            return vec![self.iov_i.get(usize::from(of.sapi.0)).copied().unwrap_or(0)];
        }
        let [new, old] = self.iov_ui;
        if new == old { vec![new] } else { vec![new, old] }
    }
}

/// What an opened LL-PDU begins with: a protocol of layer 3, or an SN-PDU of an NSAPI that there is.
fn is_plausible(sapi: Sapi, info: &[u8]) -> bool {
    match sapi {
        Sapi::GMM => info.first().is_some_and(|octet| matches!(octet & 0xf, l3::PD_GMM | l3::PD_SM)),
        Sapi::DATA3 | Sapi::DATA5 | Sapi::DATA9 | Sapi::DATA11 => {
            sndcp::Header::parse(info).is_ok_and(|(header, _)| (5..=15).contains(&header.nsapi.0))
        }
        _ => true,
    }
}

/// N(U) or N(S), and whether it is that of an I frame.
const fn number(layout: &Layout) -> Option<(u16, bool)> {
    match layout.header.control {
        Control::Ui { nu, .. } => Some((nu, false)),
        Control::I { ns, .. } => Some((ns, true)),
        Control::S { .. } | Control::U { .. } => None,
    }
}

/// OC + a number, where `next` is expected.
fn count_of(next: u32, number: u16) -> u32 {
    let modulus = u32::from(MODULUS);
    let ahead = u32::from(number).wrapping_sub(next) % modulus;
    let behind = modulus - ahead;
    if behind <= u32::from(BEHIND_MAX) && next >= behind { next - behind } else { next.wrapping_add(ahead) }
}

/// The parameters in the information of a U frame; none where they cannot be read.
#[must_use]
pub fn parameters(info: &[u8]) -> Vec<Parameter> {
    xid::parse(info).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_not_shown() {
        let key: Key = "001010000000001=0123456789abcdef".parse().unwrap();
        assert_eq!(key.imsi.map(|imsi| imsi.to_string()), Some("001010000000001".to_owned()));
        assert_eq!((format!("{key:?}"), key.octets.len()), ("Key(..)".to_owned(), 8));
        assert!(key.with(Algorithm::Gea3).is_some() && key.with(Algorithm::Gea4).is_none());
        let long: Key = "0123456789abcdef0123456789ABCDEF".parse().unwrap();
        assert!(long.with(Algorithm::Gea4).is_some() && long.with(Algorithm::Gea1).is_none());
        for bad in
            ["", "12", "x123456789abcdef", "=0123456789abcdef", "1a=0123456789abcdef", "é123456789abcde"]
        {
            assert_eq!(bad.parse::<Key>(), Err(BadKey), "{bad}");
        }
    }

    #[test]
    fn numbers_count_on_over_their_overflow_and_late_ones_stay_behind() {
        assert_eq!(count_of(0, 0), 0);
        assert_eq!(count_of(513, 1), 513);
        assert_eq!(count_of(513, 511), 511);
        assert_eq!(count_of(1000, 1000 - 512), 1000);
        assert_eq!(count_of(1000, 968 - 512), 968);
        // Further back it is a later one.
        assert_eq!(count_of(1000, 960 - 512), 960 + 512);
        // Nothing is before the first.
        assert_eq!(count_of(3, 500), 500);
    }
}

//! What is kept of one mobile: 64 octets, so that a million of them fit where a simulation would keep a thousand.
//!
//! What can be worked out is not kept: IMSI and PDP address follow from the user's number, and the GGSN's endpoint from
//! that and from which of its contexts it is.

use super::security::UserCipher;
use core::net::Ipv4Addr;
use gannet_wire::id::{Imei, Imsi, Nsapi, Sapi, Teid, Tlli};
use gannet_wire::l3::ie::{
    BitRate, DelayClass, MeanThroughput, PackedQos, PeakThroughput, PrecedenceClass, QosProfile, QosR99,
    ReliabilityClass, TrafficClass,
};

/// Users at most: their number takes the low 20 bits of a random TLLI.
pub const USERS_MAX: u32 = 1 << 20;
/// The NSAPI of each user's one context.
pub const NSAPI: Nsapi = Nsapi(5);
/// The SAPI on which its data goes.
pub const SAPI: Sapi = Sapi::DATA3;
/// N201-U before a negotiation (04.64 clause 8.9, table 9 [44.064]).
pub const N201_U_DEFAULT: u16 = 500;

/// Digits of a user's number in its IMSI.
const MSIN_DIGITS: u32 = 10;

/// Where a mobile is in its life, as the mobile sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// Switched off, or detached.
    #[default]
    Detached,
    /// ATTACH REQUEST is out (T3310).
    Attaching,
    /// Attached, without a PDP context.
    Attached,
    /// ACTIVATE PDP CONTEXT REQUEST is out (T3380).
    Activating,
    /// The context is active, and SABM is out for its link in acknowledged mode (T200).
    Establishing,
    /// Its PDP context is active.
    Active,
    /// DEACTIVATE PDP CONTEXT REQUEST is out (T3390).
    Deactivating,
    /// DETACH REQUEST is out (T3321).
    Detaching,
}

impl Phase {
    /// An answer of the SGSN is awaited.
    pub(super) const fn is_pending(self) -> bool {
        use Phase::{Activating, Attaching, Deactivating, Detaching, Establishing};
        matches!(self, Attaching | Activating | Establishing | Deactivating | Detaching)
    }
}

/// Where the procedures that run are to lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Goal {
    #[default]
    Detached,
    Attached,
    Active,
}

/// One mobile.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mobile {
    /// The TLLI that it uses now; 0 before the first attach.
    pub(super) tlli: u32,
    /// Index of its cell.
    pub(super) cell: u32,
    /// The SGSN's endpoint for G-PDUs; 0 without a context.
    pub(super) sgsn_data: u32,
    /// The SGSN's endpoint for signalling.
    pub(super) sgsn_control: u32,
    /// When it last sent an LL-PDU, in milliseconds.
    pub(super) sent_ms: u32,
    /// G-PDUs that came for it at the GGSN.
    pub(super) g_pdus: u32,
    pub(super) n201_u: u16,
    /// V(U) of SAPI 1 and of [`SAPI`].
    pub(super) nu_gmm: u16,
    pub(super) nu_data: u16,
    /// The next N-PDU number.
    pub(super) npdu_number: u16,
    /// V(R) of [`SAPI`], where its context is in acknowledged mode.
    pub(super) received: u16,
    pub(super) acknowledged: bool,
    /// The N-PDU number that is expected next there.
    pub(super) receive_n_pdu: u8,
    pub(super) qos: PackedQos,
    pub(super) phase: Phase,
    pub(super) goal: Goal,
    /// How often the message that waits for an answer was sent.
    pub(super) tries: u8,
    /// How often its order has failed.
    pub(super) rounds: u8,
    /// Tells the current wait from those before it.
    pub(super) stamp: u8,
    /// Attaches so far: part of the random TLLI, so that none is used twice in a row.
    pub(super) attaches: u8,
    /// Contexts that the GGSN has made for it so far: part of the GGSN's endpoint.
    pub(super) contexts: u8,
    /// The last order has failed.
    pub(super) failed: bool,
    /// It waits in the READY queue.
    pub(super) watched: bool,
}

/// What the outside sees of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    /// Its number.
    pub index: u32,
    /// Where it is in its life.
    pub phase: Phase,
    /// The last order could not be carried out.
    pub failed: bool,
    /// The TLLI that it uses now.
    pub tlli: Tlli,
    /// The SGSN's endpoint for its G-PDUs; 0 without a context.
    pub sgsn_data: Teid,
    /// The SGSN's endpoint for its tunnel's signalling.
    pub sgsn_control: Teid,
    /// The GGSN's endpoint, for both planes.
    pub ggsn: Teid,
    /// Index of its cell.
    pub cell: u32,
    /// N201-U of its data, in octets: an LL-PDU carries at most that much.
    pub n201_u: u16,
    /// Its PDP address.
    pub address: Ipv4Addr,
    /// G-PDUs that came for it at the GGSN.
    pub g_pdus: u32,
    /// How its user data is ciphered, where it is.
    pub cipher: Option<UserCipher>,
    /// V(R) of its data, where that comes in acknowledged mode.
    pub received: Option<u16>,
}

impl Mobile {
    pub(super) fn view(&self, index: u32, cipher: Option<UserCipher>) -> User {
        User {
            index,
            phase: self.phase,
            failed: self.failed,
            tlli: Tlli(self.tlli),
            sgsn_data: Teid(self.sgsn_data),
            sgsn_control: Teid(self.sgsn_control),
            ggsn: ggsn_teid(index, self.contexts),
            cell: self.cell,
            n201_u: self.n201_u,
            address: pdp_address(index),
            g_pdus: self.g_pdus,
            cipher,
            received: self.acknowledged.then_some(self.received),
        }
    }

    /// The next number of a UI frame on SAPI 1 or on [`SAPI`] (04.64 clause 8.4.1).
    pub(super) const fn next_nu(&mut self, sapi: Sapi) -> u16 {
        let counter = if sapi.0 == Sapi::GMM.0 { &mut self.nu_gmm } else { &mut self.nu_data };
        let nu = *counter;
        *counter = (nu + 1) % gannet_wire::llc::MODULUS;
        nu
    }
}

/// IMSI of a user: country and network 001-01, then its number.
#[must_use]
pub fn imsi(user: u32) -> Imsi {
    let digit = |weight: u32| u8::try_from(user / weight % 10).unwrap_or(0);
    let number = (0..MSIN_DIGITS).rev().map(|place| digit(10_u32.pow(place)));
    let digits = [0, 0, 1, 0, 1].into_iter().chain(number);
    Imsi::from_digits(digits).unwrap_or_else(|| unreachable!("fifteen decimal digits"))
}

/// An IMEI of fifteen digits that ends in the user's number.
pub(super) fn imei(user: u32) -> Option<Imei> {
    Imei::from_digits(imsi(user).digits())
}

/// The user of an IMSI of ours.
pub(crate) fn user_of_imsi(imsi: &Imsi) -> Option<u32> {
    let mut digits = imsi.digits();
    if [0, 0, 1, 0, 1].iter().any(|expected| digits.next() != Some(*expected)) {
        return None;
    }
    digits.try_fold(0_u32, |number, digit| number.checked_mul(10)?.checked_add(u32::from(digit)))
}

/// PDP address of a user, from 10.0.0.2 on: what the GGSN gives it.
#[must_use]
pub fn pdp_address(user: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0002_u32.wrapping_add(user))
}

/// The GGSN's endpoint of a user's context, for both planes; 0 means something else to GTP (29.060 clause 6). A later
/// context has another one, so that what comes late for an earlier one does not meet it.
#[must_use]
pub(super) const fn ggsn_teid(user: u32, contexts: u8) -> Teid {
    Teid((contexts as u32) << 24 | (user + 1))
}

/// The user of an endpoint of the GGSN.
pub(super) const fn user_of_teid(teid: Teid) -> Option<u32> {
    (teid.0 & 0x00ff_ffff).checked_sub(1)
}

/// The random TLLI of an attach: number of the user, and which attach it is.
pub(super) const fn random_tlli(user: u32, attaches: u8) -> Tlli {
    Tlli::random((attaches as u32 & 0x7f) << 20 | user)
}

/// The user of a random TLLI.
pub(super) const fn user_of_random(tlli: Tlli) -> u32 {
    tlli.0 & (USERS_MAX - 1)
}

/// The quality of service that a user asks for. Begin with [`Profile::best_effort`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile(pub QosProfile);

impl Profile {
    /// Background traffic of normal precedence that asks for `octets_per_s`: as MBR of R99 (kbit/s, rounded up) and as
    /// the smallest peak throughput class of R97 that has room for it.
    #[must_use]
    pub fn best_effort(octets_per_s: u32) -> Self {
        Self::with_class(octets_per_s, TrafficClass::BACKGROUND, DelayClass::BEST_EFFORT)
    }

    /// Conversational traffic: real time, delay class 1.
    #[must_use]
    pub fn real_time(octets_per_s: u32) -> Self {
        Self::with_class(octets_per_s, TrafficClass::CONVERSATIONAL, DelayClass::ONE)
    }

    /// The same with another precedence.
    #[must_use]
    pub const fn precedence(mut self, precedence: PrecedenceClass) -> Self {
        self.0.precedence = precedence;
        self
    }

    /// The same with another reliability class.
    #[must_use]
    pub const fn reliability(mut self, reliability: ReliabilityClass) -> Self {
        self.0.reliability = reliability;
        self
    }

    /// The same as a mobile of R97 asks: classes only.
    #[must_use]
    pub const fn r97(mut self) -> Self {
        self.0.r99 = None;
        self
    }

    fn with_class(octets_per_s: u32, traffic_class: TrafficClass, delay: DelayClass) -> Self {
        let kbps = octets_per_s.saturating_mul(8).div_ceil(1000);
        let down = rate_of_at_least(kbps);
        let guaranteed = traffic_class == TrafficClass::CONVERSATIONAL;
        let r99 = QosR99 {
            traffic_class,
            delivery_order: 2,
            erroneous_sdus: 3,
            max_sdu: 153,
            mbr_up: down,
            mbr_down: down,
            residual_ber: 7,
            sdu_error_ratio: 4,
            transfer_delay: if guaranteed { 10 } else { 0 },
            handling_priority: 0,
            gbr_up: if guaranteed { down } else { BitRate::default() },
            gbr_down: if guaranteed { down } else { BitRate::default() },
            signalling: None,
        };
        Self(QosProfile {
            delay,
            reliability: ReliabilityClass::THREE,
            peak: PeakThroughput::from_octets_per_s(octets_per_s),
            precedence: PrecedenceClass::NORMAL,
            mean: MeanThroughput::BEST_EFFORT,
            r99: Some(r99),
        })
    }
}

/// The smallest rate that can be said and is not below `kbps`: its steps are 1, 8, 64, 100, 1000 and 2000 kbit/s.
fn rate_of_at_least(kbps: u32) -> BitRate {
    let below = BitRate::from_kbps(kbps.max(1));
    if below.kbps() >= Some(kbps) {
        return below;
    }
    let step = match kbps {
        0..=575 => 8,
        576..=8639 => 64,
        8640..=16_000 => 100,
        16_001..=128_000 => 1000,
        _ => 2000,
    };
    BitRate::from_kbps(kbps + step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mobile_is_one_cache_line() {
        assert!(size_of::<Mobile>() <= 64, "{}", size_of::<Mobile>());
    }

    #[test]
    fn names_and_numbers_go_both_ways() {
        for user in [0, 1, 9_999, 123_456, USERS_MAX - 1] {
            assert_eq!(user_of_imsi(&imsi(user)), Some(user));
            assert_eq!(user_of_teid(ggsn_teid(user, 0)), Some(user));
            assert_eq!(user_of_teid(ggsn_teid(user, 255)), Some(user));
            assert_eq!(user_of_random(random_tlli(user, 200)), user);
            assert_eq!(random_tlli(user, 200).kind(), gannet_wire::id::TlliKind::Random);
        }
        assert_eq!(user_of_imsi(&"262010000000001".parse().unwrap()), None);
        assert_eq!(user_of_teid(Teid(0)), None);
        assert_eq!(pdp_address(254), Ipv4Addr::new(10, 0, 1, 0));
    }

    #[test]
    fn a_rate_that_is_asked_for_is_granted_room() {
        for octets_per_s in [1, 100, 4_725, 8_100, 100_000, 1_000_000, 5_000_000, 20_000_000] {
            let profile = Profile::best_effort(octets_per_s).0;
            let mbr = profile.r99.and_then(|r99| r99.mbr_down.kbps()).unwrap();
            assert!(u64::from(mbr) * 1000 >= u64::from(octets_per_s) * 8, "{octets_per_s}: {mbr}");
            assert!(u64::from(mbr) * 1000 <= u64::from(octets_per_s) * 9 + 64_000, "{octets_per_s}: {mbr}");
        }
        assert_eq!(Profile::real_time(1000).r97().0.r99, None);
        assert_eq!(Profile::best_effort(1).precedence(PrecedenceClass::HIGH).0.precedence.0, 1);
    }
}

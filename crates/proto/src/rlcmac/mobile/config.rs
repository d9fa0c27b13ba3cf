//! What a mobile is and does.

/// How often an access is made again before what was to be sent is given up (44.060 clauses 7.1.2.3 and 7.1.4). As many uplink TBFs in a row may
/// break before one LL-PDU is acknowledged. The clauses have random access follow each (44.060 clause 8.7.2) and say no end: a TBF begins its
/// LL-PDUs anew, and where the network hears little of the mobile each of them breaks.
const ACCESSES_MAX: u8 = 4;

/// What a mobile does with LL-PDUs that wait, where an access has failed. The same holds of uplink TBFs that break before one LL-PDU is
/// acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Keeps {
    /// The first failure is the last, and what waits is given up.
    Nothing,
    /// The fifth in a row is the last.
    #[default]
    Accesses,
    /// It goes on asking.
    All,
}

impl Keeps {
    /// What waits is kept after so many failures in a row.
    pub(super) const fn lasts(self, failures: u8) -> bool {
        match self {
            Self::Nothing => failures == 0,
            Self::Accesses => failures <= ACCESSES_MAX,
            Self::All => true,
        }
    }
}

/// What a mobile is and does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MobileConfig {
    /// Multislot class (05.02 annex B [45.002]).
    pub multislot_class: u8,
    /// Access in two phases also where one would do.
    pub two_phase: bool,
    /// Octets that may wait for a TBF.
    pub queue_octets: usize,
    /// Octets that it holds in no block yet, waiting for a TBF and within one.
    pub buffer_octets: usize,
    /// Uplink blocks are not sent again before the network could tell of the copy, and unasked once until it has told. Otherwise as 44.060
    /// clause 9.1.3 has it.
    pub sparing: bool,
    /// What becomes of what waits where accesses fail.
    pub keeps: Keeps,
    /// The network is elsewhere: it knows of a mobile's TLLI what the blocks say. LL-PDUs of a new TLLI need a new TBF.
    pub is_apart: bool,
}

impl Default for MobileConfig {
    fn default() -> Self {
        Self {
            multislot_class: 6,
            two_phase: false,
            queue_octets: 30_000,
            buffer_octets: usize::MAX,
            sparing: false,
            keeps: Keeps::Accesses,
            is_apart: false,
        }
    }
}

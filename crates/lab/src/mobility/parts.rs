//! What the silence of a mobile between two cells is made of.
//!
//! | part | ms | source |
//! |---|---|---|
//! | synchronisation: the next FCCH, and the SCH in the frame behind it | 5 to 56 | 05.02 clause 7 table 3 [45.002]: the FCCH comes each 10 or 11 frames |
//! | system information: SI 1 (TC 0), SI 3 (TC 2 or 6) and SI 13 (TC 4) of the BCCH Norm | 942 to 1883 | 05.02 clause 6.3.1.3: TC has a cycle of eight 51-multiframes of 235.4 ms |
//! | the mobile's own time | 900 to 1500 | a vendor's: it is what is missing to the 2 to 4 s that the study measured |
//! | location update on an SDCCH, before the routing area update | 1000 to 1600 | network operation mode II (04.08 clause 4.4.1 [24.008]); a vendor's: it is what is missing to the study's 4 to 5 s |
//!
//! Access, contention resolution, cell update or routing area update, FLUSH-LL and what TCP does are no parts: they happen in the run.
//! With network-assisted cell change a mobile has the system information before it leaves, and only synchronises (44.060 clause 8.8.1).

use gannet_machine::time::Duration;

/// How long a part takes, at least and at most.
pub type Span = [Duration; 2];

const fn span(least_ms: u64, most_ms: u64) -> Span {
    [Duration::from_millis(least_ms), Duration::from_millis(most_ms)]
}

/// FCCH and SCH.
pub const SYNCHRONISATION: Span = span(5, 56);
/// SI 1, SI 3 and SI 13.
pub const SYSTEM_INFORMATION: Span = span(942, 1883);
/// A mobile of the study.
pub const MOBILE: Span = span(900, 1500);
/// Where the location area is another too.
pub const LOCATION_UPDATE: Span = span(1000, 1600);

/// One after the other.
#[must_use]
pub const fn sum([a, b]: Span, [c, d]: Span) -> Span {
    [Duration(a.0 + c.0), Duration(b.0 + d.0)]
}

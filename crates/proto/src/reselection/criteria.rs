//! C1 and C2 of a cell (05.08 clause 6.4 [45.008]).
//!
//! Levels are in dBm, criteria in dB.

use gannet_machine::time::Duration;
use gannet_wire::rlcmac::bcch::SystemInformation3;
use gannet_wire::rlcmac::selection::{CellSelection, Penalty, ReselectionOffsets};

/// The most that a mobile of GSM 900 of class 4 sends (05.05 clause 4.1.1).
pub const POWER_DBM: i16 = 33;

/// What a cell broadcasts for its selection (05.08 clause 9, table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SelectionParameters {
    /// RXLEV_ACCESS_MIN.
    pub access_min_dbm: i16,
    /// MS_TXPWR_MAX_CCH.
    pub power_max_dbm: i16,
    /// CELL_RESELECT_HYSTERESIS.
    pub hysteresis_db: i16,
    /// CELL_RESELECT_OFFSET; zero where the cell broadcasts none.
    pub offset_db: i16,
    /// TEMPORARY_OFFSET; `None` for one without bounds.
    pub temporary_offset_db: Option<i16>,
    /// PENALTY_TIME; `None` where CELL_RESELECT_OFFSET is taken off and there is no temporary one.
    pub penalty: Option<Duration>,
    /// CELL_BARR_ACCESS: mobiles do not camp here.
    pub is_barred: bool,
}

impl Default for SelectionParameters {
    fn default() -> Self {
        Self {
            access_min_dbm: -104,
            power_max_dbm: POWER_DBM,
            hysteresis_db: 6,
            offset_db: 0,
            temporary_offset_db: Some(0),
            penalty: Some(Duration::ZERO),
            is_barred: false,
        }
    }
}

impl SelectionParameters {
    /// As SYSTEM INFORMATION TYPE 3 says them.
    #[must_use]
    pub fn of_broadcast(information: &SystemInformation3) -> Self {
        let CellSelection { hysteresis_db, power_max_dbm, access_min_dbm } =
            CellSelection::of_octets(information.selection);
        let base = Self {
            access_min_dbm,
            power_max_dbm,
            hysteresis_db,
            is_barred: information.rach.is_barred,
            ..Self::default()
        };
        let Some(ReselectionOffsets { offset_db, temporary_offset_db, penalty, .. }) =
            ReselectionOffsets::of_rest(information.rest)
        else {
            return base;
        };
        let penalty = match penalty {
            Penalty::Seconds(seconds) => Some(Duration::from_secs(seconds.into())),
            Penalty::Always => None,
        };
        Self { offset_db, temporary_offset_db, penalty, ..base }
    }

    /// C1 = (RLA_C − RXLEV_ACCESS_MIN) − max(MS_TXPWR_MAX_CCH − P, 0), of a mobile that sends at most P.
    #[must_use]
    pub const fn c1(&self, level_dbm: i16, power_dbm: i16) -> i16 {
        let missing = self.power_max_dbm.saturating_sub(power_dbm);
        let missing = if missing > 0 { missing } else { 0 };
        level_dbm.saturating_sub(self.access_min_dbm).saturating_sub(missing)
    }

    /// C2. `listed` is how long a neighbour has been among the strongest; `None` for the serving cell and for that which served
    /// before it: for these the penalty is over.
    #[must_use]
    pub fn c2(&self, c1: i16, listed: Option<Duration>) -> i16 {
        let Some(penalty) = self.penalty else { return c1.saturating_sub(self.offset_db) };
        let offset = c1.saturating_add(self.offset_db);
        match (listed, self.temporary_offset_db) {
            (Some(listed), Some(temporary)) if listed <= penalty => offset.saturating_sub(temporary),
            (Some(listed), None) if listed <= penalty => i16::MIN,
            (Some(_) | None, _) => offset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c1_takes_off_what_the_mobile_cannot_send() {
        let cell = SelectionParameters { access_min_dbm: -100, power_max_dbm: 39, ..Default::default() };
        assert_eq!(cell.c1(-80, 39), 20);
        assert_eq!(cell.c1(-80, 33), 14, "the mobile sends 6 dB less than it may");
        assert_eq!(cell.c1(-80, 43), 20, "more than it may is nothing");
        assert_eq!(cell.c1(-107, 33), -13);
    }

    #[test]
    fn c2_has_a_temporary_offset_until_the_penalty_is_over() {
        let cell = SelectionParameters {
            offset_db: 10,
            temporary_offset_db: Some(30),
            penalty: Some(Duration::from_secs(20)),
            ..Default::default()
        };
        assert_eq!(cell.c2(15, Some(Duration::ZERO)), -5);
        assert_eq!(cell.c2(15, Some(Duration::from_secs(20))), -5, "H(0) is 1");
        assert_eq!(cell.c2(15, Some(Duration(20_000_000_001))), 25);
        assert_eq!(cell.c2(15, None), 25, "the serving cell");
        let never = SelectionParameters { temporary_offset_db: None, ..cell };
        assert_eq!(never.c2(15, Some(Duration::ZERO)), i16::MIN, "no offset is larger");
        let always = SelectionParameters { penalty: None, ..cell };
        assert_eq!((always.c2(15, Some(Duration::ZERO)), always.c2(15, None)), (5, 5), "it is taken off");
    }
}

//! What a cell says of its own selection: Cell Selection Parameters (04.08 clause 10.5.2.4 [44.018]), and the optional ones of the
//! SI 3 rest octets (clause 10.5.2.34). Powers are those of GSM 900 (05.05 clause 4.1.1 [45.005]).

/// Bits of the rest octets that say nothing.
const PADDING: u32 = 0x2b2b_2b2b;
/// Bits of a set of optional parameters: CBQ, CELL_RESELECT_OFFSET, TEMPORARY_OFFSET, PENALTY_TIME.
const OPTIONAL_BITS: u32 = 15;
const REST_BITS: u32 = 32;

/// Cell Selection Parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellSelection {
    /// CELL_RESELECT_HYSTERESIS, 0 to 14 dB in steps of 2.
    pub hysteresis_db: i16,
    /// MS_TXPWR_MAX_CCH, 5 to 39 dBm in steps of 2.
    pub power_max_dbm: i16,
    /// RXLEV_ACCESS_MIN, −110 to −47 dBm.
    pub access_min_dbm: i16,
}

impl CellSelection {
    /// Reads them; ACS and NECI do not count.
    #[must_use]
    pub fn of_octets([first, second]: [u8; 2]) -> Self {
        let level = i16::from(first & 0x1f).clamp(2, 19);
        Self {
            hysteresis_db: i16::from(first >> 5) * 2,
            power_max_dbm: 43 - 2 * level,
            access_min_dbm: i16::from(second & 0x3f) - 110,
        }
    }

    /// Writes them, without ACS and NECI. What is out of range is the nearest that is in range.
    #[must_use]
    pub fn to_octets(self) -> [u8; 2] {
        let code = |value: i16, least: i16, most: i16| u8::try_from(value.clamp(least, most)).unwrap_or(0);
        let hysteresis = code(self.hysteresis_db / 2, 0, 7);
        let level = code(43_i16.saturating_sub(self.power_max_dbm) / 2, 2, 19);
        [hysteresis << 5 | level, code(self.access_min_dbm.saturating_add(110), 0, 63)]
    }
}

/// PENALTY_TIME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Penalty {
    /// 20 to 620 s in steps of 20.
    Seconds(u16),
    /// There is no temporary offset, and CELL_RESELECT_OFFSET is taken off.
    Always,
}

/// The optional parameters, of which C2 is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ReselectionOffsets {
    /// CELL_BAR_QUALIFY: the cell has low priority at cell selection.
    pub is_low_priority: bool,
    /// CELL_RESELECT_OFFSET, 0 to 126 dB in steps of 2.
    pub offset_db: i16,
    /// TEMPORARY_OFFSET, 0 to 60 dB in steps of 10; `None` without bounds.
    pub temporary_offset_db: Option<i16>,
    /// PENALTY_TIME.
    pub penalty: Penalty,
}

impl ReselectionOffsets {
    /// Those of the SI 3 rest octets; `None` where there are none.
    #[must_use]
    pub fn of_rest(rest: [u8; 4]) -> Option<Self> {
        let word = u32::from_be_bytes(rest);
        // H is a bit other than the padding has in its place.
        if (word ^ PADDING) >> (REST_BITS - 1) == 0 {
            return None;
        }
        let bits = word >> (REST_BITS - 1 - OPTIONAL_BITS) & ((1 << OPTIONAL_BITS) - 1);
        let field = |low: u32, mask: u32| u16::try_from(bits >> low & mask).unwrap_or(0);
        let temporary = i16::try_from(field(5, 0x07)).unwrap_or(0);
        let penalty = field(0, 0x1f);
        Some(Self {
            is_low_priority: field(14, 1) == 1,
            offset_db: i16::try_from(field(8, 0x3f) * 2).unwrap_or(0),
            temporary_offset_db: (temporary < 7).then_some(temporary * 10),
            penalty: if penalty < 31 { Penalty::Seconds((penalty + 1) * 20) } else { Penalty::Always },
        })
    }

    /// The SI 3 rest octets of a cell with GPRS, RA colour 0 and SI 13 on the BCCH Norm that has these. What is out of range is the
    /// nearest that is in range.
    #[must_use]
    pub fn to_rest(self) -> [u8; 4] {
        let code = |value: i16, step: i16, most: i16| u32::from((value / step).clamp(0, most).unsigned_abs());
        let temporary = self.temporary_offset_db.map_or(7, |offset| code(offset, 10, 6));
        let penalty = match self.penalty {
            Penalty::Seconds(seconds) => u32::from((seconds / 20).clamp(1, 31)) - 1,
            Penalty::Always => 31,
        };
        let bits = u32::from(self.is_low_priority) << 14
            | code(self.offset_db, 2, 63) << 8
            | temporary << 5
            | penalty;
        let high = |place: u32| !PADDING & 1 << place;
        let (first, gprs) = (REST_BITS - 1, REST_BITS - 1 - OPTIONAL_BITS - 5);
        // Behind the parameters: power offset, SI 2ter, early classmark and scheduling, none of which is there; then GPRS with RA
        // colour and the place of SI 13.
        let kept = PADDING & !(u32::MAX << (gprs - 4)) | PADDING & 0x0f << (gprs + 1);
        let word = high(first) | bits << (first - OPTIONAL_BITS) | kept | high(gprs);
        word.to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selection_parameters_come_back() {
        let real = CellSelection { hysteresis_db: 4, power_max_dbm: 29, access_min_dbm: -110 };
        assert_eq!(CellSelection::of_octets([0x47, 0x40]), real, "of a BTS that others wrote");
        assert_eq!(real.to_octets(), [0x47, 0x00]);
        for hysteresis_db in (0..=14).step_by(2) {
            for power_max_dbm in (5..=39).step_by(2) {
                for access_min_dbm in -110..=-47 {
                    let all = CellSelection { hysteresis_db, power_max_dbm, access_min_dbm };
                    assert_eq!(CellSelection::of_octets(all.to_octets()), all);
                }
            }
        }
        let far = CellSelection { hysteresis_db: 99, power_max_dbm: 99, access_min_dbm: 0 };
        let near = CellSelection { hysteresis_db: 14, power_max_dbm: 39, access_min_dbm: -47 };
        assert_eq!(CellSelection::of_octets(far.to_octets()), near);
    }

    #[test]
    fn offsets_come_back() {
        for is_low_priority in [false, true] {
            for offset_db in (0..=126).step_by(2) {
                for temporary_offset_db in (0..=60).step_by(10).map(Some).chain([None]) {
                    for penalty in (20..=620).step_by(20).map(Penalty::Seconds).chain([Penalty::Always]) {
                        let all =
                            ReselectionOffsets { is_low_priority, offset_db, temporary_offset_db, penalty };
                        assert_eq!(ReselectionOffsets::of_rest(all.to_rest()), Some(all));
                    }
                }
            }
        }
        assert_eq!(ReselectionOffsets::of_rest([0x2c, 0x2b, 0x2b, 0x2b]), None, "GPRS, and none of them");
    }
}

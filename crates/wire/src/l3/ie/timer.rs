//! GPRS timers (clauses 10.5.7.3 and 10.5.7.4).

use crate::error::DecodeError;
use crate::l3::codec::{Element, first};
use core::fmt;
use serde::{Deserialize, Serialize};

/// GPRS timer, and GPRS timer 2, which is the same octet behind a length: unit in bits 6 to 8, number in bits 1 to 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GprsTimer(pub u8);

impl GprsTimer {
    /// The timer is not to run.
    pub const DEACTIVATED: Self = Self(0xe0);

    /// The span in seconds; `None` where the timer is deactivated. A unit that is not defined counts as minutes.
    #[must_use]
    pub const fn seconds(self) -> Option<u32> {
        let unit = match self.0 >> 5 {
            0 => 2,
            2 => 360,
            7 => return None,
            _ => 60,
        };
        Some((self.0 & 0x1f) as u32 * unit)
    }

    /// The shortest span that can be said and is not shorter than `seconds`; the longest one (11160 s) where
    /// `seconds` is longer than that.
    #[must_use]
    pub fn from_seconds(seconds: u32) -> Self {
        [(0, 2), (0x20, 60), (0x40, 360)]
            .into_iter()
            .filter_map(|(unit, weight): (u8, u32)| {
                let number = u8::try_from(seconds.div_ceil(weight)).ok()?;
                (number < 32).then_some(Self(unit | number))
            })
            .min_by_key(|timer| timer.seconds())
            .unwrap_or(Self(0x5f))
    }
}

impl fmt::Display for GprsTimer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds() {
            Some(seconds) => write!(f, "{seconds} s"),
            None => f.write_str("deactivated"),
        }
    }
}

impl Element for GprsTimer {
    const NAME: &'static str = "GPRS Timer";
    const FIXED: usize = 1;

    fn parse_value(octets: &[u8]) -> Result<Self, DecodeError> {
        let [value] = first::<Self, 1>(octets)?;
        Ok(Self(value))
    }

    fn emit_value(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_to_timer_and_back() {
        for (seconds, octet, said) in [
            (0, 0x00, 0),
            (44, 0x16, 44),
            (45, 0x17, 46),
            (62, 0x1f, 62),
            (63, 0x22, 120),
            (3240, 0x49, 3240),
            (54 * 60, 0x49, 3240),
            (1860, 0x3f, 1860),
            (11160, 0x5f, 11160),
            (999_999, 0x5f, 11160),
        ] {
            let timer = GprsTimer::from_seconds(seconds);
            assert_eq!((timer, timer.seconds()), (GprsTimer(octet), Some(said)), "{seconds}");
        }
        assert_eq!(GprsTimer::DEACTIVATED.seconds(), None);
        assert_eq!(GprsTimer(0x61).seconds(), Some(60));
    }
}

//! Which differentiated services code point the G-PDUs to a mobile have, by the traffic class of its context.

use gannet_wire::gtp::Qos;
use gannet_wire::l3::ie::{DelayClass, TrafficClass};

/// Octets of a profile of R99: a shorter one has no traffic class.
const R99: usize = 11;

/// Code points by traffic class (23.107 clause 6.3), 0 to 63. All are 0 by default: best effort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodePoints {
    /// Of the conversational class.
    pub conversational: u8,
    /// Of the streaming class.
    pub streaming: u8,
    /// Of the interactive class.
    pub interactive: u8,
    /// Of the background class.
    pub background: u8,
}

impl CodePoints {
    /// The code point for a context with this quality of service.
    pub(super) fn of(&self, qos: &Qos) -> u8 {
        if *self == Self::default() {
            return 0;
        }
        match traffic_class(qos) {
            TrafficClass::CONVERSATIONAL => self.conversational,
            TrafficClass::STREAMING => self.streaming,
            TrafficClass::INTERACTIVE => self.interactive,
            _ => self.background,
        }
    }
}

/// The traffic class of a profile, read out of its octets for each packet (24.008 clause 10.5.6.5). What a profile of R97 means
/// stands in 23.107 clause 9.1.2.3, table 7.
fn traffic_class(qos: &Qos) -> TrafficClass {
    let octets = qos.value.as_slice();
    match octets {
        [_, _, _, classes, ..] if octets.len() >= R99 => TrafficClass(classes >> 5),
        [delay, ..] if DelayClass(delay >> 3 & 7) != DelayClass::BEST_EFFORT => TrafficClass::INTERACTIVE,
        _ => TrafficClass::BACKGROUND,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::l3::ie::Octets;

    const POINTS: CodePoints =
        CodePoints { conversational: 46, streaming: 34, interactive: 18, background: 8 };

    fn of(octets: &[u8]) -> u8 {
        POINTS.of(&Qos { allocation_retention: 2, value: Octets::from_start(octets) })
    }

    #[test]
    fn each_class_has_its_code_point() {
        let r99 = |class: u8| {
            let octets = [0x23, 0x92, 0x1f, class << 5 | 0x13, 0x96, 0x40, 0x48, 0x74, 0x83, 0x40, 0x48];
            of(&octets)
        };
        assert_eq!([1, 2, 3, 4].map(r99), [46, 34, 18, 8]);
        // What is reserved is treated as background.
        assert_eq!([0, 5, 7].map(r99), [8; 3]);
        // R97: delay classes 1 to 3 are interactive, 4 is background.
        let r97 = |delay: u8| of(&[delay << 3 | 3, 0x92, 0x1f]);
        assert_eq!([1, 2, 3, 4].map(r97), [18, 18, 18, 8]);
        assert_eq!(of(&[]), 8);
        assert_eq!(
            CodePoints::default().of(&Qos { allocation_retention: 2, value: Octets::from_start(&[0x23]) }),
            0
        );
    }

    #[test]
    fn the_class_is_that_of_the_profile() {
        for octets in [
            &[0x23, 0x92, 0x1f, 0x73, 0x96, 0x40, 0x48, 0x74, 0x83, 0x40, 0x48][..],
            &[0x23, 0x92, 0x1f, 0x33, 0x96, 0x40, 0x48, 0x74, 0x83, 0x40, 0x48, 0, 0x64, 0],
        ] {
            let qos = Qos { allocation_retention: 2, value: Octets::from_start(octets) };
            assert_eq!(Some(traffic_class(&qos)), qos.profile().r99.map(|r99| r99.traffic_class));
        }
    }
}

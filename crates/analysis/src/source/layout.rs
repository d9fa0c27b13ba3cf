//! The layouts of pcap and of the blocks of pcapng that a reader needs (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).

/// Octets of the header of a file of pcap.
pub const PCAP_HEADER: usize = 24;
/// Octets of the header of a record of pcap.
pub const PCAP_RECORD: usize = 16;
/// The longest frame or block that is believed. What says more is damaged.
pub const BLOCK_MAX: usize = 16 << 20;

/// Types of blocks.
pub mod block {
    /// Section header.
    pub const SECTION: u32 = 0x0a0d_0d0a;
    /// Interface description.
    pub const INTERFACE: u32 = 1;
    /// Packet, obsolete.
    pub const PACKET: u32 = 2;
    /// Simple packet.
    pub const SIMPLE: u32 = 3;
    /// Enhanced packet.
    pub const ENHANCED: u32 = 6;
}

/// Octets in the order of their writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Least significant first.
    Little,
    /// Most significant first.
    Big,
}

impl Order {
    /// The number at `at`, 0 where there is none.
    #[must_use]
    pub fn u16(self, octets: &[u8], at: usize) -> u16 {
        let octets = octets.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        match self {
            Self::Little => u16::from_le_bytes(octets),
            Self::Big => u16::from_be_bytes(octets),
        }
    }

    /// The number at `at`, 0 where there is none.
    #[must_use]
    pub fn u32(self, octets: &[u8], at: usize) -> u32 {
        let octets = octets.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default();
        match self {
            Self::Little => u32::from_le_bytes(octets),
            Self::Big => u32::from_be_bytes(octets),
        }
    }
}

/// How an interface counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticks {
    /// Ticks in a second.
    pub per_second: u64,
    /// Seconds to be added.
    pub offset_s: i64,
}

impl Ticks {
    /// Microseconds.
    pub const MICRO: Self = Self { per_second: 1_000_000, offset_s: 0 };

    /// The octet of `if_tsresol`: a power of ten, or of two where the highest bit is set. None where 64 bits do not hold it.
    #[must_use]
    pub fn per_second_of(octet: u8) -> Option<u64> {
        let power = u32::from(octet & 0x7f);
        if octet & 0x80 == 0 {
            10_u64.checked_pow(power)
        } else {
            1_u64.checked_shl(power).filter(|_| power < 64)
        }
    }

    /// Nanoseconds since the beginning of 1970.
    #[must_use]
    pub fn nanoseconds(self, ticks: u64) -> u64 {
        let ns = match self.per_second {
            1_000_000_000 => ticks,
            1_000_000 => ticks.saturating_mul(1000),
            per_second => {
                let ns = u128::from(ticks) * 1_000_000_000 / u128::from(per_second.max(1));
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
        };
        ns.saturating_add_signed(self.offset_s.saturating_mul(1_000_000_000))
    }
}

/// Options from `at` on: code and value. It ends with the block, or with an option that does not fit.
pub fn options(order: Order, block: &[u8], at: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = block.get(at..).unwrap_or_default();
    core::iter::from_fn(move || {
        let code = order.u16(rest, 0);
        let length = usize::from(order.u16(rest, 2));
        let value = rest.get(4..4 + length).filter(|_| code != 0)?;
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_of_any_resolution() {
        assert_eq!(Ticks::per_second_of(6), Some(1_000_000));
        assert_eq!(Ticks::per_second_of(0x80 | 10), Some(1024));
        assert_eq!(Ticks::per_second_of(20), None);
        assert_eq!(Ticks::per_second_of(0x80 | 64), None);
        let binary = Ticks { per_second: 1024, offset_s: 2 };
        assert_eq!(binary.nanoseconds(1536), 3_500_000_000);
        assert_eq!(Ticks::MICRO.nanoseconds(7), 7000);
        assert_eq!(Ticks { per_second: 1_000_000_000, offset_s: -1 }.nanoseconds(1_000_000_007), 7);
        assert_eq!(Ticks::MICRO.nanoseconds(u64::MAX), u64::MAX);
    }

    #[test]
    fn options_end_where_they_do_not_fit() {
        let block = [2, 0, 1, 0, b'a', 0, 0, 0, 9, 0, 200, 0, 1];
        let found: Vec<_> = options(Order::Little, &block, 0).collect();
        assert_eq!(found, [(2, &b"a"[..])]);
    }
}

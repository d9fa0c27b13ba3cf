//! The Internet checksum (RFC 1071).

/// Sum of the 16-bit words of `octets`, an odd last octet being the high one. It is taken in words of 32 bits and in the
/// machine's order, which changes nothing but the order of the result's octets (RFC 1071 clause 2).
pub(crate) fn sum_of(octets: &[u8]) -> u32 {
    let (words, rest) = octets.as_chunks::<4>();
    let sum = words.iter().fold(0_u64, |sum, word| sum + u64::from(u32::from_ne_bytes(*word)));
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let sum = fold(sum_32(sum + u64::from(u32::from_ne_bytes(last))));
    u16::from_be_bytes(sum.to_ne_bytes()).into()
}

/// The same sum with fewer bits.
fn sum_32(sum: u64) -> u32 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
    u32::try_from(sum).unwrap_or(u32::MAX)
}

/// The same sum with 16 bits.
pub(crate) fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    u16::try_from(sum).unwrap_or(0)
}

/// The checksum for such a sum.
pub(crate) fn checksum(sum: u32) -> u16 {
    !fold(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071 clause 3, and one octet more.
    #[test]
    fn the_example_of_the_rfc() {
        let octets = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!((sum_of(&octets), checksum(sum_of(&octets))), (0xddf2, 0x220d));
        assert_eq!(fold(sum_of(&octets[..7])), fold(0xddf2 + 0xffff - 0x00f7));
        assert_eq!((sum_of(&[]), fold(0x1_ffff)), (0, 1));
    }
}

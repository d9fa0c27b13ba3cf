//! How much compression saves.

use serde::{Deserialize, Serialize};

/// Octets of N-PDUs, as the layer above knows them and as they went to LLC, whose quotient is the ratio of compression. Where a
/// number is used up both of its pair are halved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Of N-PDUs that were sent.
    pub sent: u32,
    /// What they were compressed to.
    pub sent_compressed: u32,
    /// Of N-PDUs that were received.
    pub received: u32,
    /// What they were compressed to.
    pub received_compressed: u32,
}

impl Counted {
    pub(super) fn sent(&mut self, octets: usize, compressed: usize) {
        add(&mut self.sent, &mut self.sent_compressed, (octets, compressed));
    }

    pub(super) fn received(&mut self, octets: usize, compressed: usize) {
        add(&mut self.received, &mut self.received_compressed, (octets, compressed));
    }
}

fn add(plain: &mut u32, compressed: &mut u32, more: (usize, usize)) {
    let [more_plain, more_compressed] =
        [more.0, more.1].map(|octets| u32::try_from(octets).unwrap_or(u32::MAX));
    if plain.checked_add(more_plain).is_none() || compressed.checked_add(more_compressed).is_none() {
        (*plain, *compressed) = (*plain / 2, *compressed / 2);
    }
    *plain = plain.saturating_add(more_plain);
    *compressed = compressed.saturating_add(more_compressed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_stays_where_a_number_is_used_up() {
        let mut counted = Counted { sent: u32::MAX - 10, sent_compressed: 1 << 30, ..Counted::default() };
        counted.sent(1000, 250);
        counted.received(40, 4);
        let half = (u32::MAX - 10) / 2;
        assert_eq!((counted.sent, counted.sent_compressed), (half + 1000, (1 << 29) + 250));
        assert_eq!((counted.received, counted.received_compressed), (40, 4));
    }
}

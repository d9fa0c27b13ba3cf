//! When a mobile in packet idle mode listens: its paging group on the CCCH (05.02 clause 6.5 [45.002]) and the non-DRX period
//! that follows a transfer (04.60 clause 5.5.1.5 [44.060]).
//!
//! One CCCH on timeslot 0, as in [`super::ccch`]: BS_CC_CHANS is 1. Of the blocks of a 51-multiframe the first `BS_AG_BLKS_RES` are
//! reserved for AGCH, the others are PCH. Paging groups by SPLIT_PG_CYCLE are optional on a CCCH and absent.

use super::ccch::{Layout, MULTIFRAME, frame_from};
use super::multiframe;
use crate::bearer::PagedIdentity;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::DrxParameter;

/// Frames of a hyperframe.
const HYPERFRAME: u64 = multiframe::HYPERFRAME as u64;

/// What the cell broadcasts of its PCH (04.18 clause 10.5.2.11 [44.018], Control Channel Description).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagingControl {
    /// CCCH-CONF: whether the CCCH shares its channel.
    pub layout: Layout,
    /// BS_PA_MFRMS: 51-multiframes from one block of a paging group to the next; 2 to 9.
    pub multiframes: u8,
    /// BS_AG_BLKS_RES: blocks of a 51-multiframe that no page is sent in; 0 to 7, on a shared channel 0 to 2.
    pub access_blocks: u8,
}

impl Default for PagingControl {
    fn default() -> Self {
        Self { layout: Layout::default(), multiframes: 2, access_blocks: 1 }
    }
}

impl PagingControl {
    fn multiframes(self) -> u64 {
        u64::from(self.multiframes.clamp(2, 9))
    }

    fn access_blocks(self) -> usize {
        let most = match self.layout {
            Layout::Uncombined => 7,
            Layout::Combined => 2,
        };
        usize::from(self.access_blocks.min(most))
    }

    /// Paging blocks of a 51-multiframe.
    fn per_multiframe(self) -> u64 {
        (self.layout.blocks().len() - self.access_blocks()) as u64
    }

    /// N: paging groups (05.02 clause 6.5.2).
    #[must_use]
    pub fn groups(self) -> u64 {
        self.per_multiframe() * self.multiframes()
    }

    /// `PAGING_GROUP` of a mobile (05.02 clause 6.5.2): (IMSI mod 1000) mod N.
    #[must_use]
    pub fn group(self, imsi: &Imsi) -> u64 {
        let last = imsi.digits().fold(0, |number, digit| (number * 10 + u64::from(digit)) % 1000);
        last % self.groups()
    }

    /// Which 51-multiframe of the cycle has the group's block, and the frame in it with which that begins (05.02 clause 6.5.3).
    fn place_of(self, group: u64) -> (u64, u64) {
        let (block, of) = (group % self.per_multiframe(), group / self.per_multiframe());
        let block = usize::try_from(block).ok();
        let first = block.and_then(|block| self.layout.blocks().get(self.access_blocks() + block));
        (of % self.multiframes(), first.copied().unwrap_or_default())
    }

    /// True where the CCCH block that begins with this frame is one of the group.
    #[must_use]
    pub fn is_of(self, group: u64, frame: u64) -> bool {
        let number = frame % HYPERFRAME;
        let (of, first) = self.place_of(group);
        number % MULTIFRAME == first && number / MULTIFRAME % self.multiframes() == of
    }

    /// The first frame of the group's first block that begins at this time or later.
    #[must_use]
    pub fn next_of(self, group: u64, at: Instant) -> u64 {
        let frame = frame_from(at);
        let (of, first) = self.place_of(group);
        let begin = frame - frame % HYPERFRAME;
        let (multiframe, within) = (frame % HYPERFRAME / MULTIFRAME, frame % MULTIFRAME);
        let ahead = match (of + self.multiframes() - multiframe % self.multiframes()) % self.multiframes() {
            0 if within > first => self.multiframes(),
            ahead => ahead,
        };
        let next = (multiframe + ahead) * MULTIFRAME + first;
        // Cycles begin anew with the hyperframe, which is no whole number of them.
        begin + if next < HYPERFRAME { next } else { HYPERFRAME + of * MULTIFRAME + first }
    }
}

/// How a mobile listens in packet idle mode, as it has told the SGSN and the SGSN the base station (08.18 clause 10.2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drx {
    /// Whose paging group it is.
    pub imsi: Imsi,
    /// NON_DRX_TIMER: how long the mobile listens to each block after a transfer. The cell permits no more than DRX_TIMER_MAX.
    pub non_drx: Duration,
}

impl Drx {
    /// Of a DRX Parameter (04.08 clause 10.5.5.6 [24.008]); `None` where the mobile listens to each block.
    #[must_use]
    pub fn of(imsi: Imsi, parameter: DrxParameter) -> Option<Self> {
        // The code 0 stands for 704, which is no DRX.
        (parameter.split_pg_cycle != 0).then(|| {
            let seconds = match parameter.non_drx_timer & 7 {
                0 => 0,
                code => 1 << (code - 1),
            };
            Self { imsi, non_drx: Duration::from_secs(seconds) }
        })
    }
}

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Who is sought. For the circuit-switched side a TMSI stands as a P-TMSI.
    pub identity: PagedIdentity,
    /// For a TBF; otherwise for a connection of the circuit-switched side.
    pub is_packet: bool,
}

/// The pages of one PAGING REQUEST, at most four (04.18 clauses 9.1.22 to 9.1.24).
pub type Pages = [Option<Page>; 4];

impl Page {
    /// By its value alone a temporary identity says what the page is for: a P-TMSI begins with 11 and a TMSI does not (03.03 clause
    /// 2.4 [23.003]). PAGING REQUEST types 2 and 3 have no other sign of it.
    #[must_use]
    pub const fn is_plain(&self) -> bool {
        match self.identity {
            PagedIdentity::PTmsi(ptmsi) => (ptmsi.0 >> 30 == 3) == self.is_packet,
            PagedIdentity::Imsi(_) => false,
        }
    }
}

/// How many of these pages, which wait for the same block, one message takes, in which order it has them, and so of which type it is: four
/// temporary identities (type 3), two of them and any third (type 2), or any two (type 1). Two IMSIs fill a block and leave no room for what
/// the pages are for: a message has one.
#[must_use]
pub fn combine(waiting: &[Page]) -> Pages {
    let at = |place: usize| waiting.get(place).copied();
    if let Some(four) = waiting.first_chunk::<4>()
        && four.iter().all(Page::is_plain)
    {
        return four.map(Some);
    }
    if let Some(three) = waiting.first_chunk::<3>() {
        let last = three.iter().position(|page| !page.is_plain()).unwrap_or(2);
        let mut order = three.map(Some);
        order.swap(last, 2);
        if order.iter().take(2).flatten().all(Page::is_plain) {
            let [first, second, third] = order;
            return [first, second, third, None];
        }
    }
    let is_imsi = |page: &Page| matches!(page.identity, PagedIdentity::Imsi(_));
    let are_both = at(0).is_some_and(|page| is_imsi(&page));
    [at(0), at(1).filter(|page| !(are_both && is_imsi(page))), None, None]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlcmac::multiframe::{frame_at, frame_start};
    use gannet_wire::id::PTmsi;

    fn imsi(digits: &str) -> Imsi {
        digits.parse().unwrap()
    }

    #[test]
    fn a_group_is_of_the_last_three_digits() {
        // BS_AG_BLKS_RES of 1 and BS_PA_MFRMS of 4: N is 32.
        let control = PagingControl { multiframes: 4, ..PagingControl::default() };
        assert_eq!(control.groups(), 32);
        for (digits, group) in
            [("001010000000000", 0), ("001010000000031", 31), ("001010000000999", 7), ("12", 12)]
        {
            assert_eq!(control.group(&imsi(digits)), group, "{digits}");
        }
        // Out of range is the nearest that is in range.
        let extreme = PagingControl { multiframes: 1, access_blocks: 200, ..control };
        assert_eq!(extreme.groups(), 4);
        assert_eq!(PagingControl { layout: Layout::Combined, ..extreme }.groups(), 2);
    }

    #[test]
    fn each_paging_block_is_of_one_group_and_each_group_has_one_in_a_cycle() {
        let alone = (0..=7).map(|access_blocks| (Layout::Uncombined, access_blocks));
        let layouts = alone.chain((0..=2).map(|access_blocks| (Layout::Combined, access_blocks)));
        for (layout, access_blocks) in layouts {
            for multiframes in 2..=9 {
                let control = PagingControl { layout, multiframes, access_blocks };
                let mut blocks = vec![0_u32; usize::try_from(control.groups()).unwrap()];
                for multiframe in 0..u64::from(multiframes) {
                    for (place, first) in layout.blocks().iter().enumerate() {
                        let frame = multiframe * MULTIFRAME + first;
                        let of: Vec<u64> =
                            (0..control.groups()).filter(|group| control.is_of(*group, frame)).collect();
                        assert_eq!(
                            of.len(),
                            usize::from(place >= usize::from(access_blocks)),
                            "{control:?} {frame}"
                        );
                        of.iter().for_each(|group| blocks[usize::try_from(*group).unwrap()] += 1);
                    }
                    assert!(!control.is_of(0, multiframe * MULTIFRAME + 7), "a block begins elsewhere");
                }
                assert!(blocks.iter().all(|count| *count == 1), "{control:?} {blocks:?}");
            }
        }
    }

    #[test]
    fn the_next_block_of_a_group_is_found_across_the_hyperframe() {
        let (alone, shared) = (Layout::Uncombined, Layout::Combined);
        for (layout, multiframes, access_blocks) in
            [(alone, 2, 1), (alone, 7, 0), (alone, 9, 7), (shared, 2, 1), (shared, 9, 0)]
        {
            let control = PagingControl { layout, multiframes, access_blocks };
            for group in 0..control.groups() {
                for from in [0, 5, 51 * 9, HYPERFRAME - 60, 3 * HYPERFRAME - 1] {
                    let at = frame_start(from);
                    let found = control.next_of(group, at);
                    let all = (frame_at(at)..).find(|frame| control.is_of(group, *frame));
                    assert_eq!(Some(found), all, "{control:?} group {group} from {from}");
                }
            }
        }
    }

    #[test]
    fn a_drx_parameter_says_when_a_mobile_listens() {
        let parameter = |split_pg_cycle, non_drx_timer| DrxParameter {
            split_pg_cycle,
            non_drx_timer,
            ..DrxParameter::default()
        };
        assert_eq!(Drx::of(imsi("1"), parameter(0, 3)), None);
        for (code, seconds) in [(0, 0), (1, 1), (2, 2), (3, 4), (7, 64)] {
            let drx = Drx::of(imsi("1"), parameter(10, code)).unwrap();
            assert_eq!(drx.non_drx, Duration::from_secs(seconds));
        }
    }

    #[test]
    fn pages_are_combined_by_what_each_type_has_room_for() {
        let temporary =
            |bits: u32, is_packet| Page { identity: PagedIdentity::PTmsi(PTmsi(bits)), is_packet };
        let (ps, cs) = (temporary(0xc000_0001, true), temporary(0x1000_0002, false));
        let by_imsi = Page { identity: PagedIdentity::Imsi(imsi("001010000000001")), is_packet: true };
        // A TMSI that looks like a P-TMSI is told apart by type 1 alone.
        let odd = temporary(0xc000_0003, false);
        assert!(ps.is_plain() && cs.is_plain() && !by_imsi.is_plain() && !odd.is_plain());
        assert_eq!(combine(&[]), [None; 4]);
        assert_eq!(combine(&[by_imsi]), [Some(by_imsi), None, None, None]);
        assert_eq!(combine(&[ps, cs, ps, cs, ps]), [ps, cs, ps, cs].map(Some));
        assert_eq!(combine(&[by_imsi, ps, cs, ps]), [Some(cs), Some(ps), Some(by_imsi), None]);
        assert_eq!(combine(&[ps, cs, ps]), [Some(ps), Some(cs), Some(ps), None]);
        assert_eq!(combine(&[by_imsi, odd, ps]), [Some(by_imsi), Some(odd), None, None]);
        assert_eq!(combine(&[ps, odd]), [Some(ps), Some(odd), None, None]);
        assert_eq!(combine(&[odd, by_imsi, by_imsi]), [Some(odd), Some(by_imsi), None, None]);
        assert_eq!(combine(&[by_imsi, by_imsi, ps]), [Some(by_imsi), None, None, None]);
    }
}

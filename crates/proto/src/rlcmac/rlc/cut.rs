//! How LL-PDUs share the data field of a block: 04.60 (44.060) clauses 9.1.11 and 10.4.12 to 10.4.14.

use gannet_wire::rlcmac::coding::DATA_MAX;

/// What goes into one block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    lengths: [u8; DATA_MAX],
    count: usize,
    /// M of the last length indicator: another LL-PDU begins behind it.
    pub(super) more: bool,
    /// LL-PDUs that end in this block, with a length indicator or because the TBF does.
    pub(super) ended: usize,
    /// Octets of the LL-PDU behind these, which goes on in the next block.
    pub(super) tail: usize,
    /// Octets of filler.
    pub(super) filler: usize,
}

impl Plan {
    /// The length indicators.
    pub(super) fn lengths(&self) -> &[u8] {
        self.lengths.get(..self.count).unwrap_or_default()
    }

    fn indicate(&mut self, length: usize) {
        if let Some(place) = self.lengths.get_mut(self.count) {
            *place = u8::try_from(length).unwrap_or(u8::MAX);
            self.count += 1;
        }
    }
}

/// Shares `space` octets between LL-PDUs of which `rests` octets each are left.
///
/// Where the TBF `ends` with the last of them and that one fills the field exactly, it needs no length indicator. Everywhere
/// else an LL-PDU that would fill the field exactly leaves no room for its indicator: it gets the indicator 0 and its last
/// octet goes to the next block (clause 10.4.14).
pub(super) fn plan(mut space: usize, rests: impl IntoIterator<Item = usize>, ends: bool) -> Plan {
    let mut plan = Plan { lengths: [0; DATA_MAX], count: 0, more: false, ended: 0, tail: 0, filler: 0 };
    let mut rests = rests.into_iter().peekable();
    while space > 0 {
        let Some(rest) = rests.next() else { break };
        plan.more = plan.count > 0;
        if rest == space && ends && rests.peek().is_none() {
            plan.ended += 1;
            return plan;
        }
        if rest > space {
            plan.tail = space;
            return plan;
        }
        if rest == space {
            plan.indicate(0);
            plan.more = false;
            plan.tail = space - 1;
            return plan;
        }
        plan.indicate(rest);
        plan.ended += 1;
        plan.more = false;
        space -= rest + 1;
    }
    plan.filler = space;
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(space: usize, rests: &[usize], ends: bool) -> (Vec<u8>, bool, usize, usize, usize) {
        let plan = plan(space, rests.iter().copied(), ends);
        (plan.lengths().to_vec(), plan.more, plan.ended, plan.tail, plan.filler)
    }

    #[test]
    fn one_goes_on() {
        assert_eq!(of(20, &[21], true), (vec![], false, 0, 20, 0));
        assert_eq!(of(20, &[1500, 7], false), (vec![], false, 0, 20, 0));
    }

    #[test]
    fn one_that_fills_the_block_needs_an_indicator_unless_the_tbf_ends() {
        assert_eq!(of(20, &[20], true), (vec![], false, 1, 0, 0));
        assert_eq!(of(20, &[20], false), (vec![0], false, 0, 19, 0));
        assert_eq!(of(20, &[20, 5], true), (vec![0], false, 0, 19, 0));
        assert_eq!(of(20, &[19], true), (vec![19], false, 1, 0, 0));
        assert_eq!(of(20, &[19, 5], true), (vec![19], false, 1, 0, 0));
    }

    #[test]
    fn several_share_a_block() {
        assert_eq!(of(20, &[5, 6, 30], false), (vec![5, 6], true, 2, 7, 0));
        assert_eq!(of(20, &[5, 6, 7], true), (vec![5, 6], true, 3, 0, 0));
        assert_eq!(of(20, &[5, 6, 7], false), (vec![5, 6, 0], false, 2, 6, 0));
        assert_eq!(of(20, &[5, 6], true), (vec![5, 6], false, 2, 0, 7));
        assert_eq!(of(20, &[18, 9], false), (vec![18], true, 1, 1, 0));
        assert_eq!(of(20, &[18, 1], false), (vec![18, 0], false, 1, 0, 0));
        assert_eq!(of(20, &[18, 1], true), (vec![18], true, 2, 0, 0));
    }

    #[test]
    fn nothing_is_filler() {
        assert_eq!(of(16, &[], true), (vec![], false, 0, 0, 16));
    }
}

//! Which contexts a mobile was asked lately to make anew.
//!
//! Cause 39 has the mobile activate again without a person. A GGSN that makes each tunnel and then does not know it would have
//! it do so for ever, as fast as the radio allows; so it is asked once, and not again for a while.

use crate::slots::Slot;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::SmCause;
use std::collections::{BTreeSet, VecDeque};

/// How long it is not asked again.
const WHILE: Duration = Duration::from_secs(60);

/// Those that were asked, and until when each is remembered.
#[derive(Debug)]
pub struct AskedAnew {
    limit: usize,
    known: BTreeSet<(Slot, Nsapi)>,
    order: VecDeque<(Instant, (Slot, Nsapi))>,
}

impl AskedAnew {
    /// Room for as many; who finds none is not asked.
    pub const fn with_limit(limit: usize) -> Self {
        Self { limit, known: BTreeSet::new(), order: VecDeque::new() }
    }

    /// With which cause a context ends that its GGSN does not know (29.060 clause 7.3.7).
    pub fn cause(&mut self, now: Instant, slot: Slot, nsapi: Nsapi) -> SmCause {
        while let Some((_, of)) = self.order.front().filter(|(until, _)| *until <= now) {
            self.known.remove(of);
            self.order.pop_front();
        }
        if self.order.len() >= self.limit || !self.known.insert((slot, nsapi)) {
            return SmCause::RegularDeactivation;
        }
        self.order.push_back((now + WHILE, (slot, nsapi)));
        SmCause::ReactivationRequired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_in_a_while_and_within_bounds() {
        let mut asked = AskedAnew::with_limit(2);
        let [first, second, third] = [1, 2, 3].map(|index| Slot { index, generation: 1 });
        let now = Instant::ZERO + WHILE;
        let mut cause = |now, slot| asked.cause(now, slot, Nsapi(5));
        assert_eq!(cause(now, first), SmCause::ReactivationRequired);
        assert_eq!(cause(now, first), SmCause::RegularDeactivation);
        assert_eq!(cause(now, second), SmCause::ReactivationRequired);
        assert_eq!(cause(now, third), SmCause::RegularDeactivation, "there is no room");
        assert_eq!(cause(now + WHILE, first), SmCause::ReactivationRequired);
        assert_eq!((asked.known.len(), asked.order.len()), (1, 1));
    }
}

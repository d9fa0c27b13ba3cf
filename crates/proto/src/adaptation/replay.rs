//! Which packet numbers of a session have come (the window of RFC 4303 clause 3.4.3).

use gannet_machine::drops::Drop;

/// Numbers that the window has: so far may a PDU be overtaken.
pub const WINDOW: u64 = 128;

/// The greatest number that has come, and which of those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplayWindow {
    /// One more than the greatest that has come; 0 where none has.
    next: u64,
    /// Bit 0 is the greatest that has come, bit 1 the number before it, and so on.
    seen: u128,
}

impl ReplayWindow {
    /// One more than the greatest number that has come.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Takes a number whose PDU is known to be right.
    ///
    /// # Errors
    /// `AdaptReplayed` where it has come before, or lies before the window.
    pub fn take(&mut self, packet: u64) -> Result<(), Drop> {
        let Some(after) = packet.checked_add(1) else { return Err(Drop::AdaptReplayed) };
        if after > self.next {
            let ahead = after - self.next;
            self.seen = if ahead < WINDOW { self.seen << ahead | 1 } else { 1 };
            self.next = after;
            return Ok(());
        }
        let behind = self.next - after;
        if behind >= WINDOW || self.seen >> behind & 1 != 0 {
            return Err(Drop::AdaptReplayed);
        }
        self.seen |= 1 << behind;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_was_overtaken_comes_once() {
        let mut window = ReplayWindow::default();
        assert_eq!((window.take(0), window.take(0)), (Ok(()), Err(Drop::AdaptReplayed)));
        assert_eq!(
            (window.take(200), window.take(73), window.take(72)),
            (Ok(()), Ok(()), Err(Drop::AdaptReplayed))
        );
        assert_eq!(
            (window.take(73), window.take(u64::MAX)),
            (Err(Drop::AdaptReplayed), Err(Drop::AdaptReplayed))
        );
        assert_eq!((window.take(199), window.take(201), window.next()), (Ok(()), Ok(()), 202));
    }

    /// Against a set of all numbers that were taken.
    #[test]
    fn it_takes_what_a_set_would() {
        let mut dice = fastrand::Rng::with_seed(7);
        let (mut window, mut taken, mut greatest) = (ReplayWindow::default(), BTreeSet::new(), 0);
        for _ in 0..20_000 {
            let packet = (greatest + dice.u64(0..20)).saturating_sub(dice.u64(0..160));
            let is_new = packet + WINDOW > greatest && taken.insert(packet);
            assert_eq!(window.take(packet).is_ok(), is_new, "{packet} after {greatest}");
            if is_new {
                greatest = greatest.max(packet);
            }
        }
        assert_eq!(window.next(), greatest + 1);
    }
}

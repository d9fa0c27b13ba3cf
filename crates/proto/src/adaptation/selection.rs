//! Which access point a mobile is at: the list of those that were heard, how well, and when to change.
//!
//! Quality is a share in permille: of the beacons of the last intervals that came, or of the PDUs that came in the worse
//! direction of a link in use, whichever is less.

use super::stations::Address;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::adaptation::Beacon;

/// An access point is down when no beacon was heard for so many intervals.
const LOST_AFTER: u64 = 3;
/// Intervals that the share of beacons looks back.
const HISTORY: u32 = 16;

/// When to change the access point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Cells in the order of preference; those that are not named come after them and are alike.
    pub preference: Vec<u16>,
    /// By so much, in permille, another must be better.
    pub hysteresis: u16,
    /// For so long.
    pub hold: Duration,
    /// What is worse than so many permille is left for what is better, whatever is preferred.
    pub usable: u16,
    /// Cells that are not named are in the order of their links, and not alike.
    pub by_link: bool,
}

impl Default for Policy {
    /// No preference; a tenth better for two seconds; half of the PDUs.
    fn default() -> Self {
        Self {
            preference: Vec::new(),
            hysteresis: 100,
            hold: Duration::from_secs(2),
            usable: 500,
            by_link: false,
        }
    }
}

/// An access point that was heard.
#[derive(Debug, Clone, Copy)]
pub struct Candidate {
    /// Where it is.
    pub address: Address,
    /// Its last beacon.
    pub beacon: Beacon,
    /// When that came.
    pub heard: Instant,
    /// The number of its last authenticated beacon.
    pub packet: u64,
    interval: Duration,
    /// Bit 0 is the last interval with a beacon.
    history: u16,
    age: u32,
    link_share: Option<u16>,
    shunned_until: Instant,
}

/// What a beacon tells besides that its sender is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Nothing.
    None,
    /// The access point is in service, and was not before.
    Came,
    /// It has started again: it knows nobody.
    Restarted,
}

impl Candidate {
    fn missed(&self, now: Instant) -> u64 {
        let interval = self.interval.0.max(1);
        // A beacon that is late by less than half an interval is not missed yet.
        (now.since(self.heard).0 + interval / 2) / interval
    }

    fn is_up(&self, now: Instant) -> bool {
        self.beacon.flags.is_in_service() && self.missed(now) <= LOST_AFTER
    }

    /// Its quality, in permille.
    #[must_use]
    pub fn quality(&self, now: Instant) -> u16 {
        let missed = u32::try_from(self.missed(now).saturating_sub(1)).unwrap_or(u32::MAX).min(HISTORY);
        let came = u32::from(self.history).checked_shl(missed).unwrap_or(0) & 0xffff;
        let of = self.age.saturating_add(missed).clamp(1, HISTORY);
        let share = u16::try_from(came.count_ones() * 1000 / of).unwrap_or(1000).min(1000);
        share.min(self.link_share.unwrap_or(1000))
    }
}

/// The list of access points, by cell.
#[derive(Debug)]
pub struct Selection {
    cells: Vec<Option<Candidate>>,
    policy: Policy,
    preferred_link: Option<u16>,
    current: Option<u16>,
    challenger: Option<(u16, Instant)>,
    /// The order of preference is a new one: what it says of access points that are there holds at once.
    is_ordered: bool,
}

impl Selection {
    /// A list of so many cells, of which none was heard.
    #[must_use]
    pub fn new(cells: usize, policy: Policy) -> Self {
        let cells = vec![None; cells];
        Self { cells, policy, preferred_link: None, current: None, challenger: None, is_ordered: false }
    }

    /// The access point of a cell.
    #[must_use]
    pub fn get(&self, cell: u16) -> Option<&Candidate> {
        self.cells.get(usize::from(cell))?.as_ref()
    }

    /// The cell of the access point at an address.
    #[must_use]
    pub fn cell_at(&self, address: Address) -> Option<u16> {
        let is_there = |of: &Option<Candidate>| of.as_ref().is_some_and(|of| of.address == address);
        self.cells.iter().position(is_there).and_then(|cell| u16::try_from(cell).ok())
    }

    /// Room for one more cell, behind the others.
    pub fn add_cell(&mut self) {
        self.cells.push(None);
    }

    /// Whether something was heard on a link lately.
    #[must_use]
    pub fn is_heard_on(&self, now: Instant, link: u16) -> bool {
        self.cells.iter().flatten().any(|of| of.address.link == link && of.missed(now) <= 1)
    }

    /// Another order of preference, for whatever link. The next choice needs no time of hold.
    pub fn prefer(&mut self, preference: Vec<u16>) {
        self.policy.preference = preference;
        (self.preferred_link, self.is_ordered) = (None, true);
    }

    /// Cells on a link come before all others. The next choice needs no time of hold.
    pub fn prefer_link(&mut self, link: u16) {
        (self.preferred_link, self.is_ordered) = (Some(link), true);
    }

    /// A beacon of a cell came, the next one after `interval`. `packet` is its number, if it is authenticated.
    ///
    /// # Errors
    /// `AdaptUnknownCell`; `AdaptOtherAccessPoint` where the cell has another one that is up; `AdaptStaleBeacon` where an
    /// authenticated one is not newer than the last.
    pub fn beacon(
        &mut self,
        now: Instant,
        cell: u16,
        address: Address,
        beacon: Beacon,
        (interval, packet): (Duration, Option<u64>),
    ) -> Result<News, Drop> {
        let place = self.cells.get_mut(usize::from(cell)).ok_or(Drop::AdaptUnknownCell)?;
        let news_of = |is_up| if is_up { News::Came } else { News::None };
        let Some(known) = place.as_mut() else {
            let is_up = beacon.flags.is_in_service();
            *place = Some(Candidate {
                address,
                beacon,
                heard: now,
                packet: packet.unwrap_or(0),
                interval,
                history: 1,
                age: 1,
                link_share: None,
                shunned_until: Instant::ZERO,
            });
            return Ok(news_of(is_up));
        };
        if known.address != address && known.is_up(now) {
            return Err(Drop::AdaptOtherAccessPoint);
        }
        if packet.is_some_and(|packet| (beacon.boot, packet) <= (known.beacon.boot, known.packet)) {
            return Err(Drop::AdaptStaleBeacon);
        }
        let was_up = known.is_up(now);
        let missed = u32::try_from(known.missed(now)).unwrap_or(u32::MAX).clamp(1, HISTORY);
        known.history = known.history.checked_shl(missed).unwrap_or(0) | 1;
        known.age = known.age.saturating_add(missed);
        let is_restarted = known.beacon.boot != beacon.boot || known.address != address;
        (known.address, known.beacon, known.heard, known.interval) = (address, beacon, now, interval);
        known.packet = packet.unwrap_or(known.packet);
        Ok(match (is_restarted, was_up) {
            (true, _) => News::Restarted,
            (false, false) => news_of(known.is_up(now)),
            (false, true) => News::None,
        })
    }

    /// The share of PDUs that came in the worse direction of a link in use, in permille; smoothed.
    pub fn measured(&mut self, cell: u16, share: u16) {
        if let Some(of) = self.cells.get_mut(usize::from(cell)).and_then(Option::as_mut) {
            let before = u32::from(of.link_share.unwrap_or(1000));
            let smoothed = (before * 3 + u32::from(share.min(1000))) / 4;
            of.link_share = u16::try_from(smoothed).ok();
        }
    }

    /// An access point is not to be chosen for a while: it does not answer, or has no room.
    pub fn shun(&mut self, cell: u16, until: Instant) {
        if let Some(of) = self.cells.get_mut(usize::from(cell)).and_then(Option::as_mut) {
            of.shunned_until = until;
        }
    }

    /// An access point says that it stops.
    pub fn lost(&mut self, cell: u16) {
        if let Some(place) = self.cells.get_mut(usize::from(cell)) {
            *place = None;
        }
    }

    /// Nothing is heard on a link any more.
    pub fn lose_link(&mut self, link: u16) {
        for place in &mut self.cells {
            if place.as_ref().is_some_and(|of| of.address.link == link) {
                *place = None;
            }
        }
    }

    /// Whether the access point of a cell is up.
    #[must_use]
    pub fn is_up(&self, now: Instant, cell: u16) -> bool {
        self.get(cell).is_some_and(|of| of.is_up(now))
    }

    /// The least is preferred.
    fn rank(&self, cell: u16) -> (bool, usize) {
        let is_elsewhere = |link: u16| self.get(cell).is_none_or(|of: &Candidate| of.address.link != link);
        let of_link = |of: &Candidate| self.policy.preference.len() + usize::from(of.address.link);
        let named = self.policy.preference.iter().position(|of| *of == cell);
        let place = named.or_else(|| self.get(cell).filter(|_| self.policy.by_link).map(of_link));
        (self.preferred_link.is_some_and(is_elsewhere), place.unwrap_or(usize::MAX))
    }

    fn is_better(&self, now: Instant, cell: u16, current: u16) -> bool {
        let quality = |cell| self.get(cell).map_or(0, |of| of.quality(now));
        let (its, ours) = (quality(cell), quality(current));
        let is_much_better = its >= ours.saturating_add(self.policy.hysteresis);
        let is_usable = |quality| quality >= self.policy.usable;
        if !is_usable(ours) {
            return is_much_better;
        }
        match self.rank(cell).cmp(&self.rank(current)) {
            core::cmp::Ordering::Less => is_usable(its),
            core::cmp::Ordering::Equal => is_much_better,
            core::cmp::Ordering::Greater => false,
        }
    }

    /// The cell to be in at this time, of those that `may` be chosen; `None` where none is up.
    pub fn choose(&mut self, now: Instant, may: impl Fn(&Candidate) -> bool) -> Option<u16> {
        let is_choosable = |of: &Candidate| of.is_up(now) && of.shunned_until <= now && may(of);
        let choosable = (0_u16..)
            .zip(&self.cells)
            .filter_map(|(cell, of)| Some((cell, of.as_ref().filter(|of| is_choosable(of))?)));
        let best_of = |cells: &mut dyn Iterator<Item = (u16, &Candidate)>| {
            cells
                .min_by_key(|(cell, of)| (self.rank(*cell), core::cmp::Reverse(of.quality(now))))
                .map(|(cell, _)| cell)
        };
        let is_ordered = self.is_ordered;
        let current = self.current.filter(|current| choosable.clone().any(|(cell, _)| cell == *current));
        let Some(current) = current else {
            let best = best_of(&mut choosable.clone());
            (self.current, self.challenger, self.is_ordered) = (best, None, false);
            return best;
        };
        let mut better =
            choosable.clone().filter(|(cell, _)| *cell != current && self.is_better(now, *cell, current));
        let better = best_of(&mut better);
        self.challenger = better.map(|cell| match self.challenger {
            Some((before, since)) if before == cell => (cell, since),
            Some(_) | None => (cell, now),
        });
        if let Some((cell, since)) = self.challenger
            && (is_ordered || now.since(since) >= self.policy.hold)
        {
            (self.current, self.challenger) = (Some(cell), None);
        }
        self.is_ordered = false;
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::Peer;
    use gannet_wire::adaptation::{BeaconFlags, Load, NetworkMode};
    use gannet_wire::id::CellId;

    const SECOND: Duration = Duration::from_secs(1);

    fn beacon(boot: u64) -> Beacon {
        Beacon {
            cell: CellId::default(),
            boot,
            interval_ms: 1000,
            ll_pdu_max: 1492,
            mode: NetworkMode::II,
            load: Load(None),
            flags: BeaconFlags(BeaconFlags::IN_SERVICE),
        }
    }

    struct Bench {
        selection: Selection,
        now: Instant,
    }

    impl Bench {
        fn new(policy: Policy) -> Self {
            Self { selection: Selection::new(3, policy), now: Instant::ZERO }
        }

        fn hear(&mut self, cell: u16, boot: u64) -> Result<News, Drop> {
            let address = Address { link: cell, peer: Peer::Link };
            self.selection.beacon(self.now, cell, address, beacon(boot), (SECOND, None))
        }

        /// For so many seconds these are heard.
        fn seconds(&mut self, seconds: u64, cells: &[u16]) -> Option<u16> {
            for _ in 0..seconds {
                self.now += SECOND;
                for cell in cells {
                    assert!(self.hear(*cell, 1).is_ok());
                }
                self.selection.choose(self.now, |_| true);
            }
            self.selection.choose(self.now, |_| true)
        }
    }

    #[test]
    fn the_first_that_is_heard_is_taken_and_kept_until_it_is_silent() {
        let mut bench = Bench::new(Policy::default());
        assert_eq!(bench.selection.choose(bench.now, |_| true), None);
        assert_eq!(
            (bench.hear(1, 1), bench.selection.choose(bench.now, |_| true)),
            (Ok(News::Came), Some(1))
        );
        assert_eq!(bench.seconds(20, &[0, 1]), Some(1), "another that is as good is no reason");
        assert_eq!(bench.seconds(2, &[0]), Some(1));
        assert_eq!(bench.seconds(2, &[0]), Some(0), "three beacons are missing");
        assert_eq!(bench.seconds(5, &[]), None);
        assert_eq!(bench.seconds(1, &[1]), Some(1));
    }

    #[test]
    fn a_better_one_has_to_be_better_by_the_hysteresis_for_a_while() {
        let mut bench = Bench::new(Policy::default());
        assert_eq!(bench.seconds(16, &[0, 1]), Some(0));
        for _ in 0..4 {
            bench.selection.measured(0, 930);
        }
        assert_eq!(bench.seconds(20, &[0, 1]), Some(0), "less than a tenth");
        for _ in 0..8 {
            bench.selection.measured(0, 700);
        }
        assert_eq!(bench.seconds(2, &[0, 1]), Some(0), "for two seconds");
        assert_eq!(bench.seconds(1, &[0, 1]), Some(1));
        assert_eq!(bench.seconds(20, &[0, 1]), Some(1));
    }

    #[test]
    fn what_is_preferred_is_taken_as_long_as_it_is_usable() {
        let mut bench = Bench::new(Policy { preference: vec![2, 0], ..Policy::default() });
        assert_eq!(bench.seconds(1, &[1]), Some(1));
        assert_eq!(bench.seconds(3, &[0, 1]), Some(0));
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(2));
        for _ in 0..20 {
            bench.selection.measured(2, 300);
        }
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(0), "half of it is lost");
        bench.selection.prefer(vec![1]);
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(1));
        bench.selection.shun(1, bench.now + SECOND);
        assert_eq!(bench.seconds(0, &[]), Some(0));
    }

    #[test]
    fn cells_of_a_preferred_link_come_first_and_the_order_of_preference_is_theirs() {
        let mut bench = Bench::new(Policy { preference: vec![0, 1, 2], ..Policy::default() });
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(0));
        bench.selection.prefer_link(2);
        assert_eq!(bench.seconds(0, &[]), Some(2), "an order holds at once");
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(2));
        assert_eq!(bench.seconds(4, &[0, 1]), Some(0), "without it the order of preference is as before");
        assert_eq!(bench.seconds(4, &[0, 1, 2]), Some(2), "it is there again");
        bench.selection.prefer(vec![1]);
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(1), "an order of cells is for all links");
    }

    #[test]
    fn cells_that_nobody_names_are_in_the_order_of_their_links_where_that_is_chosen() {
        let mut bench = Bench::new(Policy { by_link: true, ..Policy::default() });
        assert_eq!(bench.seconds(3, &[1, 2]), Some(1));
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(0));
        bench.selection.prefer(vec![2]);
        assert_eq!(bench.seconds(3, &[0, 1, 2]), Some(2), "what is named comes first");
        assert_eq!(bench.seconds(4, &[0, 1]), Some(0));
    }

    #[test]
    fn beacons_that_are_not_to_be_believed() {
        let mut bench = Bench::new(Policy::default());
        assert_eq!(
            (bench.hear(0, 1), bench.hear(0, 1), bench.hear(0, 2)),
            (Ok(News::Came), Ok(News::None), Ok(News::Restarted))
        );
        assert_eq!(bench.hear(9, 1), Err(Drop::AdaptUnknownCell));
        let (now, elsewhere) = (bench.now, Address { link: 7, peer: Peer::Link });
        let other = bench.selection.beacon(now, 0, elsewhere, beacon(2), (SECOND, None));
        assert_eq!(other, Err(Drop::AdaptOtherAccessPoint));
        let here = Address { link: 0, peer: Peer::Link };
        let mut numbered =
            |boot, packet| bench.selection.beacon(now, 0, here, beacon(boot), (SECOND, Some(packet)));
        assert_eq!(
            (numbered(2, 5), numbered(2, 5), numbered(2, 4)),
            (Ok(News::None), Err(Drop::AdaptStaleBeacon), Err(Drop::AdaptStaleBeacon))
        );
        assert_eq!((numbered(3, 0), numbered(2, 6)), (Ok(News::Restarted), Err(Drop::AdaptStaleBeacon)));
    }
}

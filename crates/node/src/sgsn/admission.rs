//! Which rates are guaranteed: in a cell no more than a share of its leak rate, at the node no more than the operator says.
//!
//! What a context's profile guarantees ([`Treatment::guaranteed_octets_per_s`]) is a claim on its mobile's cell and on the node.
//! A claim that does not fit when the context is activated costs it its guarantee, or its activation, as configured. Later it
//! may come to nothing without anybody's asking, when its mobile moves into a cell that has no room: nobody who is there gives
//! way to it, so it is *suspended*, counted, and looked at again whenever a claim in its cell or at the node ends, or its
//! cell becomes faster. The profile stays as it was negotiated; meanwhile its packets are those of best effort where its rate was
//! guaranteed by streaming, and real time, with no more right than the share of all real time, where it was so otherwise.
//! A cell that has become slower, too, keeps what was admitted.
//!
//! Every step costs O(log n) in the claims, and no packet anything; where the node has a limit, the end of a claim costs so
//! much in each cell in which something is suspended.

use super::Sgsn;
use super::contexts::ContextRef;
use super::quality::{Treatment, without_guarantees};
use crate::slots::Slot;
use core::cmp::Reverse;
use gannet_machine::Context;
use gannet_machine::time::Instant;
use gannet_machine::trace::{Category, Level};
use gannet_proto::gtp::ContextName;
use gannet_qos::class::CellClass;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::{QosProfile, SmCause};
use std::collections::{BTreeMap, BTreeSet};

/// What becomes of an activation whose guarantee does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Otherwise {
    /// It gets a class of which nothing is guaranteed.
    #[default]
    LowerClass,
    /// It is rejected with cause 26 (04.08 clause 6.1.3.1.3 [24.008]).
    Reject,
}

/// What an operator may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// Of a cell's leak rate, what may be guaranteed, in percent.
    pub cell_percent: u8,
    /// What may be guaranteed in all cells together, in octets/s; `None` for no limit.
    pub node_octets_per_s: Option<u64>,
    /// What becomes of others.
    pub otherwise: Otherwise,
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self { cell_percent: 80, node_octets_per_s: None, otherwise: Otherwise::LowerClass }
    }
}

/// What became of claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AdmissionStats {
    /// Guarantees that were given.
    pub admitted: u64,
    /// Activations that got a lower class.
    pub lowered: u64,
    /// Activations that were rejected.
    pub rejected: u64,
    /// Guarantees that came to nothing when a mobile moved, or another profile was negotiated.
    pub suspended: u64,
    /// Those of them that were given later.
    pub resumed: u64,
}

/// What one context claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claim {
    cell: u32,
    class: CellClass,
    octets_per_s: u64,
    admitted: bool,
}

/// What is guaranteed in one cell, in octets/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum {
    all: u64,
    /// Of it that of [`CellClass::Guaranteed`].
    guaranteed: u64,
}

/// What is guaranteed, and to whom.
#[derive(Debug)]
pub struct Admission {
    /// By the place of the context.
    claims: BTreeMap<u32, Claim>,
    cells: Vec<Sum>,
    node: u64,
    suspended: BTreeSet<Suspended>,
    stats: AdmissionStats,
}

/// A claim that has come to nothing, in the order of its cell, then of what it is, and of equal ones that with the lowest
/// place last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Suspended {
    cell: u32,
    octets_per_s: u64,
    place: Reverse<u32>,
}

impl Suspended {
    const fn new(place: u32, claim: Claim) -> Self {
        Self { cell: claim.cell, octets_per_s: claim.octets_per_s, place: Reverse(place) }
    }
}

/// What may be guaranteed, in octets/s.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    cell: u64,
    node: u64,
}

impl Admission {
    pub(super) fn new(cells_max: u32) -> Self {
        Self {
            claims: BTreeMap::new(),
            // The last one is that of mobiles whose cell is not known, of which nothing can be guaranteed.
            cells: vec![Sum::default(); cells_max as usize + 1],
            node: 0,
            suspended: BTreeSet::new(),
            stats: AdmissionStats::default(),
        }
    }

    /// What became of claims so far.
    #[must_use]
    pub const fn stats(&self) -> &AdmissionStats {
        &self.stats
    }

    /// What is guaranteed at the node, in octets/s.
    #[must_use]
    pub const fn node_octets_per_s(&self) -> u64 {
        self.node
    }

    /// What is guaranteed in a cell, in octets/s.
    #[must_use]
    pub fn cell_octets_per_s(&self, cell: u32) -> u64 {
        self.cells.get(cell as usize).map_or(0, |sum| sum.all)
    }

    /// The next cell from this one on in which a claim is suspended.
    fn next_suspended(&self, cell: u32) -> Option<u32> {
        let first = Suspended { cell, octets_per_s: 0, place: Reverse(u32::MAX) };
        self.suspended.range(first..).next().map(|suspended| suspended.cell)
    }

    /// Contexts that claim a guarantee, and those of them that have none now.
    #[must_use]
    pub fn len(&self) -> (usize, usize) {
        (self.claims.len(), self.suspended.len())
    }

    /// Is what a context claims guaranteed? `None` where it claims nothing.
    #[must_use]
    pub fn is_admitted(&self, name: ContextName) -> Option<bool> {
        self.claims.get(&place_of(name)).map(|claim| claim.admitted)
    }

    /// Of what is guaranteed in a cell that which goes ahead of best effort only, in octets/s.
    pub(super) fn guaranteed(&self, cell: u32) -> u64 {
        self.cells.get(cell as usize).map_or(0, |sum| sum.guaranteed)
    }

    /// What there is room for in a cell, in octets/s.
    fn free(&self, cell: u32, bounds: Bounds) -> u64 {
        let of_cell = bounds.cell.saturating_sub(self.cell_octets_per_s(cell));
        of_cell.min(bounds.node.saturating_sub(self.node))
    }

    /// Is there room in a cell?
    fn fits(&self, cell: u32, octets_per_s: u64, bounds: Bounds) -> bool {
        octets_per_s <= self.free(cell, bounds)
    }

    /// Puts in or takes out what is admitted.
    fn count(&mut self, claim: Claim, comes: bool) {
        let change = |sum: &mut u64| {
            *sum = if comes { *sum + claim.octets_per_s } else { *sum - claim.octets_per_s };
        };
        change(&mut self.node);
        if let Some(sum) = self.cells.get_mut(claim.cell as usize) {
            change(&mut sum.all);
            if claim.class == CellClass::Guaranteed {
                change(&mut sum.guaranteed);
            }
        }
    }

    /// Takes out what a context claims.
    fn remove(&mut self, place: u32) -> Option<Claim> {
        let claim = self.claims.remove(&place)?;
        if claim.admitted {
            self.count(claim, false);
        } else {
            self.suspended.remove(&Suspended::new(place, claim));
        }
        Some(claim)
    }

    fn insert(&mut self, place: u32, claim: Claim) {
        if claim.admitted {
            self.count(claim, true);
        } else {
            self.suspended.insert(Suspended::new(place, claim));
        }
        self.claims.insert(place, claim);
    }

    /// The largest claim in a cell that was suspended and fits now, admitted. It is found without a look at the others: of
    /// these, as many may wait as the cell has mobiles.
    fn resume(&mut self, cell: u32, bounds: Bounds) -> Option<u32> {
        let first = Suspended { cell, octets_per_s: 0, place: Reverse(u32::MAX) };
        let last = Suspended { octets_per_s: self.free(cell, bounds), place: Reverse(0), ..first };
        let Reverse(place) = self.suspended.range(first..=last).next_back()?.place;
        let claim = self.remove(place)?;
        self.insert(place, Claim { admitted: true, ..claim });
        self.stats.resumed += 1;
        Some(place)
    }
}

/// The place of a context in the table of contexts.
const fn place_of(name: ContextName) -> u32 {
    name.place()
}

/// What of the guarantee of an activation fits, and what becomes of it otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    free_octets_per_s: u64,
    otherwise: Otherwise,
}

/// What became of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admitted {
    /// What it asked for.
    AsAsked,
    /// A class of which nothing is guaranteed.
    Lowered,
}

impl Room {
    /// With so much besides, in octets/s.
    #[must_use]
    pub const fn and(self, octets_per_s: u64) -> Self {
        Self { free_octets_per_s: self.free_octets_per_s.saturating_add(octets_per_s), ..self }
    }

    /// The profile with its guarantee, or one without.
    ///
    /// # Errors
    /// Cause 26, where that is to be rejected.
    pub fn admit(&self, qos: &QosProfile) -> Result<(QosProfile, Admitted), SmCause> {
        let claimed = Treatment::of(qos, 0).guaranteed_octets_per_s;
        match self.otherwise {
            _ if u64::from(claimed) <= self.free_octets_per_s => Ok((*qos, Admitted::AsAsked)),
            Otherwise::LowerClass => Ok((without_guarantees(qos), Admitted::Lowered)),
            Otherwise::Reject => Err(SmCause::InsufficientResources),
        }
    }
}

impl Sgsn {
    /// What is guaranteed, and to whom.
    #[must_use]
    pub const fn admission(&self) -> &Admission {
        &self.admission
    }

    /// The number of a mobile's cell; one above all others where it is not known.
    fn cell_number(&self, slot: Slot) -> u32 {
        let bvc = self.mobiles.get(slot).map(super::mobile::Mobile::bvc);
        bvc.and_then(|bvc| self.gb.bvcs.find(bvc.nsei, bvc.bvci)).unwrap_or(self.config.cells_max)
    }

    fn bounds(&self, now: Instant, cell: u32) -> Bounds {
        let AdmissionConfig { cell_percent, node_octets_per_s, otherwise: _ } = self.config.admission;
        let leaks = self.gb.flow.cell_view(now, cell).map_or(0, |view| view.bucket.rate_bit_per_s / 8);
        Bounds {
            cell: leaks.saturating_mul(cell_percent.into()) / 100,
            node: node_octets_per_s.unwrap_or(u64::MAX),
        }
    }

    /// What an activation of a mobile may claim. What the context in whose place it comes has claimed is counted as long as that
    /// is there.
    pub(super) fn room(&self, now: Instant, slot: Slot) -> Room {
        let cell = self.cell_number(slot);
        Room {
            free_octets_per_s: self.admission.free(cell, self.bounds(now, cell)),
            otherwise: self.config.admission.otherwise,
        }
    }

    /// What of it another profile of a context may claim, whose own claim gives way to it.
    pub(super) fn room_instead(&self, now: Instant, slot: Slot, name: ContextName) -> Room {
        self.room(now, slot).and(self.own_claim(name))
    }

    /// What a context claims and has, in octets/s.
    fn own_claim(&self, name: ContextName) -> u64 {
        let own = self.admission.claims.get(&place_of(name)).filter(|claim| claim.admitted);
        own.map_or(0, |claim| claim.octets_per_s)
    }

    /// What the contexts of a mobile claim and have, in octets/s; hardly any mobile has one that does.
    pub(super) fn own_claims(&self, slot: Slot) -> Vec<(Nsapi, u64)> {
        let Some(mobile) = self.mobiles.get(slot).filter(|_| !self.admission.claims.is_empty()) else {
            return Vec::new();
        };
        let claims = mobile.bearers().map(|(nsapi, bearer)| (nsapi, self.own_claim(bearer.name)));
        claims.filter(|(_, claim)| *claim > 0).collect()
    }

    /// What was decided about an activation.
    pub(super) fn note_admission(&mut self, decided: Result<Admitted, SmCause>) {
        match decided {
            Ok(Admitted::AsAsked) => {}
            Ok(Admitted::Lowered) => self.admission.stats.lowered += 1,
            Err(_) => self.admission.stats.rejected += 1,
        }
    }

    /// What a context claims, from the GGSN's being asked on, and again with each other profile that is negotiated: what it
    /// had goes first.
    pub(super) fn claim(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi, qos: &QosProfile) {
        let Some(bearer) = self.mobiles.get(slot).and_then(|mobile| mobile.bearer(nsapi)) else { return };
        let (place, treatment) = (place_of(bearer.name), Treatment::of(qos, bearer.allocation_retention));
        let former = self.admission.remove(place);
        let octets_per_s = u64::from(treatment.guaranteed_octets_per_s);
        let cell = self.cell_number(slot);
        if octets_per_s > 0 {
            // A cell that has become slower keeps what it had admitted.
            let holds =
                |former: Claim| former.admitted && former.cell == cell && octets_per_s <= former.octets_per_s;
            let admitted = former.is_some_and(holds)
                || self.admission.fits(cell, octets_per_s, self.bounds(cx.now, cell));
            let claim = Claim { cell, class: treatment.class, octets_per_s, admitted };
            let had = former.is_some_and(|former| former.admitted);
            self.admission.stats.admitted += u64::from(admitted && !had);
            self.admission.stats.suspended +=
                u64::from(!admitted && former.is_none_or(|former| former.admitted));
            self.admission.insert(place, claim);
            if !admitted {
                let whose = self.imsi_of(slot).map(|imsi| format!("IMSI {imsi} ")).unwrap_or_default();
                let line =
                    format_args!("{whose}NSAPI {nsapi}: cell {cell} has no room for {octets_per_s} octets/s");
                cx.log(Category::Pdp, Level::Notice, line);
            }
        }
        if former.is_some() || octets_per_s > 0 {
            self.guarantees_changed(cx, slot, cell);
        }
        if let Some(former) = former {
            if let Some(flows) = self.flows.as_mut().filter(|_| former.cell != cell) {
                flows.set_guaranteed(cx.now, former.cell, self.admission.guaranteed(former.cell));
            }
            self.claim_ended(cx, former.cell);
        }
    }

    /// A context is gone, and with it what it claimed.
    pub(super) fn unclaim(&mut self, cx: &mut Context<'_>, slot: Slot, name: ContextName) {
        if let Some(Claim { cell, .. }) = self.admission.remove(place_of(name)) {
            self.guarantees_changed(cx, slot, cell);
            self.claim_ended(cx, cell);
        }
    }

    /// A mobile is in another cell: what it claims is a claim on that one now.
    pub(super) fn claims_moved(&mut self, cx: &mut Context<'_>, slot: Slot) {
        if self.admission.claims.is_empty() {
            return;
        }
        for nsapi in (5..=15).map(Nsapi) {
            let Some(mobile) = self.mobiles.get(slot) else { return };
            let Some(name) = mobile.bearer(nsapi).map(|bearer| bearer.name) else { continue };
            if self.admission.claims.contains_key(&place_of(name)) {
                self.claim_negotiated(cx, slot, nsapi);
            }
        }
    }

    /// What a context claims by its profile as it stands.
    pub(super) fn claim_negotiated(&mut self, cx: &mut Context<'_>, slot: Slot, nsapi: Nsapi) {
        let context = self.mobiles.get(slot).and_then(|mobile| mobile.sm().get(nsapi));
        if let Some(qos) = context.map(gannet_proto::sm::network::SmContext::qos) {
            self.claim(cx, slot, nsapi, &qos);
        }
    }

    /// There may be room in a cell, or at the node, for what was suspended.
    pub(super) fn resume_claims(&mut self, cx: &mut Context<'_>, cell: u32) {
        let bounds = self.bounds(cx.now, cell);
        while let Some(place) = self.admission.resume(cell, bounds) {
            if let Some((_, ContextRef { mobile, .. })) = self.contexts.at(place) {
                self.guarantees_changed(cx, mobile, cell);
            }
        }
    }

    /// There is room in a cell, and at the node: where that has a limit, for somebody in any cell.
    fn claim_ended(&mut self, cx: &mut Context<'_>, cell: u32) {
        match self.config.admission.node_octets_per_s {
            None => self.resume_claims(cx, cell),
            Some(_) => self.resume_all_claims(cx),
        }
    }

    /// The operator may have made room.
    pub(super) fn resume_all_claims(&mut self, cx: &mut Context<'_>) {
        let mut from = Some(0);
        while let Some(cell) = from.and_then(|from| self.admission.next_suspended(from)) {
            self.resume_claims(cx, cell);
            from = cell.checked_add(1);
        }
    }

    /// Tells the queues of a mobile's cell, and flow control, what is guaranteed now.
    fn guarantees_changed(&mut self, cx: &mut Context<'_>, slot: Slot, cell: u32) {
        let claimed = |name: ContextName| self.admission.claims.get(&place_of(name));
        let guaranteed = |name: ContextName| {
            claimed(name).filter(|claim| claim.admitted && claim.class == CellClass::Guaranteed)
        };
        let of_mobile = self.mobiles.get(slot).map(|mobile| {
            mobile
                .bearers()
                .filter_map(|(_, bearer)| Some(guaranteed(bearer.name)?.octets_per_s))
                .sum::<u64>()
        });
        if let Some(octets_per_s) = of_mobile {
            self.gb.flow.set_guarantee(cx, slot.index, Some(octets_per_s).filter(|rate| *rate > 0));
        }
        if let Some(flows) = &mut self.flows {
            flows.set_guaranteed(cx.now, cell, self.admission.guaranteed(cell));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { cell: 1000, node: 1500 };

    fn claim(cell: u32, octets_per_s: u64, admitted: bool) -> Claim {
        Claim { cell, class: CellClass::Guaranteed, octets_per_s, admitted }
    }

    #[test]
    fn a_cell_and_the_node_have_room_for_so_much() {
        let mut admission = Admission::new(2);
        assert!(admission.fits(0, 1000, BOUNDS) && !admission.fits(0, 1001, BOUNDS));
        admission.insert(7, claim(0, 800, true));
        assert!(admission.fits(0, 200, BOUNDS) && !admission.fits(0, 201, BOUNDS));
        assert!(admission.fits(1, 700, BOUNDS) && !admission.fits(1, 701, BOUNDS), "the node's bound");
        admission.insert(8, Claim { class: CellClass::RealTime, ..claim(0, 100, true) });
        let sums = |admission: &Admission| {
            (admission.cell_octets_per_s(0), admission.guaranteed(0), admission.node_octets_per_s())
        };
        assert_eq!(sums(&admission), (900, 800, 900));
        assert!(admission.remove(7).is_some() && admission.remove(7).is_none());
        assert_eq!((sums(&admission), admission.len()), ((100, 0, 100), (1, 0)));
    }

    /// Of those that fit the largest, of equal ones that with the lowest place, whatever else is suspended.
    #[test]
    fn what_resumes_is_what_a_look_through_all_would_choose() {
        let mut rng = gannet_machine::rng::Rng::seeded(5);
        let mut admission = Admission::new(3);
        for place in 0..500 {
            let (cell, octets_per_s) = (rng.u32() % 3, u64::from(rng.u32() % 40) * 10);
            admission.insert(place, claim(cell, octets_per_s, place % 3 == 0));
        }
        for round in 0..300 {
            let cell = rng.u32() % 3;
            let room = u64::from(rng.u32() % 500);
            let bounds = Bounds { cell: admission.cell_octets_per_s(cell) + room, node: u64::MAX };
            let of_cell = admission.claims.iter().filter(|(_, claim)| claim.cell == cell && !claim.admitted);
            let fitting = of_cell.filter(|(_, claim)| claim.octets_per_s <= room);
            let best = fitting.max_by_key(|(place, claim)| (claim.octets_per_s, Reverse(**place)));
            let best = best.map(|(place, _)| *place);
            assert_eq!(admission.resume(cell, bounds), best, "round {round}");
        }
        let cells: BTreeSet<u32> = admission.suspended.iter().map(|suspended| suspended.cell).collect();
        let mut found = BTreeSet::new();
        let mut from = 0;
        while let Some(cell) = admission.next_suspended(from) {
            found.insert(cell);
            from = cell + 1;
        }
        assert_eq!(found, cells);
    }

    #[test]
    fn what_was_suspended_is_admitted_in_turn_as_far_as_it_fits() {
        let mut admission = Admission::new(2);
        admission.insert(1, claim(0, 900, true));
        for (place, octets_per_s) in [(2, 600), (3, 300), (4, 600)] {
            admission.insert(place, claim(0, octets_per_s, false));
        }
        assert_eq!((admission.resume(0, BOUNDS), admission.len()), (None, (4, 3)));
        admission.remove(1);
        assert_eq!(admission.resume(1, BOUNDS), None, "another cell");
        assert_eq!([0; 3].map(|cell| admission.resume(cell, BOUNDS)), [Some(2), Some(3), None]);
        assert_eq!((admission.cell_octets_per_s(0), admission.len()), (900, (3, 1)));
        assert_eq!(admission.stats().resumed, 2);
    }
}

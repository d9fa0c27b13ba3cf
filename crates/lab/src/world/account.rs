//! Who lost what: every N-PDU that was offered is delivered, or has a drop with a name.

use super::n_pdu::{self, Label};
use crate::losses::{self, Place};
use gannet_machine::drops::Drop;
use gannet_sim::gprs::{GprsWorld, Loss};
use gannet_wire::bssgp::PduType;
use gannet_wire::bssgp::unitdata::{DlUnitdata, UlUnitdata};
use gannet_wire::llc::{Control, Header};
use gannet_wire::ns::{UNITDATA_HEADER_LEN, Unitdata};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What happened in one simulated minute.
#[derive(Debug, Clone, Copy, Default)]
pub struct Minute {
    /// N-PDUs that were offered.
    pub offered: u64,
    /// N-PDUs that arrived.
    pub delivered: u64,
    /// LL-PDUs with an N-PDU that Gb lost.
    pub lost_on_gb: u64,
}

/// The sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// N-PDUs that were offered.
    pub offered: u64,
    /// N-PDUs that arrived.
    pub delivered: u64,
    /// N-PDUs that were dropped under a name.
    pub dropped: u64,
}

/// The books.
#[derive(Debug)]
pub struct Account {
    /// By minute.
    pub minutes: Vec<Minute>,
    /// N-PDUs that arrived damaged, twice, or at the wrong mobile.
    pub wrong: u64,
    now: Minute,
    lost: Rc<Cell<u64>>,
    arrived: BTreeSet<(u32, u32, bool, u32)>,
}

impl Account {
    /// Empty books for a world; from now on they hear of what its links lose.
    pub fn new(world: &mut GprsWorld) -> Self {
        let lost = Rc::new(Cell::new(0));
        let counter = Rc::clone(&lost);
        world.on_loss = Some(Box::new(move |loss| {
            if holds_n_pdu(loss) {
                counter.set(counter.get() + 1);
            }
        }));
        let now = Minute::default();
        Self { minutes: Vec::new(), wrong: 0, now, lost, arrived: BTreeSet::new() }
    }

    /// An N-PDU was offered.
    pub const fn offered(&mut self) {
        self.now.offered += 1;
    }

    /// An N-PDU came out at the far end: at this mobile, or at the host.
    pub fn arrived(&mut self, octets: &[u8], at_mobile: Option<u32>) {
        let right_place =
            |label: &Label| at_mobile.map_or(label.uplink, |m| !label.uplink && m == label.mobile);
        match n_pdu::parse(octets).filter(right_place) {
            Some(Label { mobile, round, number, uplink })
                if self.arrived.insert((mobile, round, uplink, number)) =>
            {
                self.now.delivered += 1;
            }
            Some(_) | None => self.wrong += 1,
        }
    }

    /// LL-PDUs with an N-PDU that Gb has lost so far.
    #[must_use]
    pub fn lost_on_gb(&self) -> u64 {
        self.lost.get()
    }

    /// A minute is over.
    pub fn mark_minute(&mut self) {
        let before: u64 = self.minutes.iter().map(|minute| minute.lost_on_gb).sum();
        let lost_on_gb = self.lost.get() - before;
        self.minutes.push(Minute { lost_on_gb, ..core::mem::take(&mut self.now) });
    }

    /// The sum of everything.
    #[must_use]
    pub fn balance(&self, world: &GprsWorld) -> Balance {
        let all = || self.minutes.iter().chain([&self.now]);
        let of_user_data = Drop::ALL.iter().filter(|drop| losses::place(**drop) != Place::Nowhere);
        let named: u64 = of_user_data.map(|drop| world.dropped(*drop)).sum();
        Balance {
            offered: all().map(|minute| minute.offered).sum(),
            delivered: all().map(|minute| minute.delivered).sum(),
            dropped: named + self.lost.get(),
        }
    }
}

/// Does a datagram that was lost on Gb hold an LL-PDU with user data?
fn holds_n_pdu(loss: Loss<'_>) -> bool {
    if !loss.on_gb || Unitdata::parse(loss.octets).is_err() {
        return false;
    }
    let Some(pdu) = loss.octets.get(UNITDATA_HEADER_LEN..) else { return false };
    let range = match PduType::of(pdu) {
        Some(PduType::UlUnitdata) => UlUnitdata::parse(pdu).map(|(_, range)| range),
        Some(PduType::DlUnitdata) => DlUnitdata::parse(pdu).map(|(_, range)| range),
        _ => return false,
    };
    let layout = range.ok().and_then(|range| Header::parse(pdu.get(range)?).ok());
    layout.is_some_and(|layout| {
        matches!(layout.header.control, Control::Ui { .. }) && [3, 5, 9, 11].contains(&layout.header.sapi.0)
    })
}

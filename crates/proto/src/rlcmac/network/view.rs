//! What a PCU has and has done, for who looks at it.

use super::downlink::DownState;
use super::resources::Direction;
use super::uplink::UpState;
use super::{DownTbf, Pcu, UpTbf};
use crate::rlcmac::multislot::MultislotClass;
use crate::rlcmac::rlc::{ReceiverCounts, SenderCounts};
use gannet_wire::id::Tlli;

/// What a TBF has carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TbfCounts {
    /// Downlink.
    Sent(SenderCounts),
    /// Uplink.
    Received(ReceiverCounts),
}

/// A TBF as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TbfView {
    /// Its TFI.
    pub tfi: u8,
    /// Whose it is; nobody's uplink until contention is resolved.
    pub mobile: Option<u32>,
    /// By which name.
    pub tlli: Option<Tlli>,
    /// Where it is, in one word.
    pub state: &'static str,
    /// Its timeslots, bit 0 for timeslot 0.
    pub slots: u8,
    /// Octets of LL-PDUs in it that are in no block yet, downlink.
    pub waiting_octets: u64,
    /// What it has carried; its variant is its direction.
    pub counts: TbfCounts,
}

/// A mobile as the PCU knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MobileView {
    /// Its number at the base station system.
    pub mobile: u32,
    /// The TLLI used last.
    pub tlli: Option<Tlli>,
    /// Its multislot class, where it has said one.
    pub multislot: Option<MultislotClass>,
    /// LL-PDUs that wait for a downlink TBF, and their octets.
    pub waiting: (usize, u64),
    /// The TFI of its downlink TBF.
    pub down: Option<u8>,
    /// The TFI of its uplink TBF.
    pub up: Option<u8>,
}

impl Pcu {
    /// TBFs of a direction, by TFI.
    pub fn tbf_views(&self, direction: Direction) -> impl Iterator<Item = TbfView> {
        self.resources.tfis(direction).filter_map(move |tfi| match direction {
            Direction::Down => Some(self.down_view(tfi, self.down.get(usize::from(tfi))?.as_ref()?)),
            Direction::Up => Some(self.up_view(tfi, self.up.get(usize::from(tfi))?.as_ref()?)),
        })
    }

    fn down_view(&self, tfi: u8, tbf: &DownTbf) -> TbfView {
        let context = self.contexts.get(&tbf.mobile);
        TbfView {
            tfi,
            mobile: Some(tbf.mobile),
            tlli: context.and_then(|context| context.tllis.first().copied().flatten()),
            state: match tbf.state {
                DownState::Assigning => "assigning",
                DownState::Flowing => "flowing",
                DownState::Finishing => "finishing",
                DownState::Released => "released",
                DownState::Silent => "silent",
                DownState::Confirming => "confirming",
                DownState::Leaving => "leaving",
                DownState::Lost => "lost",
            },
            slots: tbf.slots,
            waiting_octets: tbf.waiting_octets(),
            counts: TbfCounts::Sent(*tbf.rlc_counts()),
        }
    }

    fn up_view(&self, tfi: u8, tbf: &UpTbf) -> TbfView {
        TbfView {
            tfi,
            mobile: tbf.tlli.and_then(|tlli| self.by_tlli.get(&tlli)).copied(),
            tlli: tbf.tlli,
            state: match tbf.state {
                UpState::Assigning => "assigning",
                UpState::Flowing => "flowing",
                UpState::Finishing => "finishing",
                UpState::Silent => "silent",
                UpState::Leaving => "leaving",
            },
            slots: tbf.slots(),
            waiting_octets: 0,
            counts: TbfCounts::Received(*tbf.rlc_counts()),
        }
    }

    /// Mobiles that the cell knows, by number.
    #[must_use]
    pub fn mobile_views(&self) -> Vec<MobileView> {
        let up = |mobile| {
            let of = |tfi: &u8| {
                let tbf = self.up.get(usize::from(*tfi)).and_then(Option::as_ref);
                let tlli = tbf.and_then(|tbf| tbf.tlli);
                tlli.is_some_and(|tlli| self.by_tlli.get(&tlli) == Some(&mobile))
            };
            self.resources.tfis(Direction::Up).find(of)
        };
        let mut all: Vec<_> = self.contexts.iter().collect();
        all.sort_unstable_by_key(|(mobile, _)| **mobile);
        let view = |(mobile, context): (&u32, &super::Context)| MobileView {
            mobile: *mobile,
            tlli: context.tllis.first().copied().flatten(),
            multislot: context.multislot,
            waiting: (context.queue.len(), context.queue.iter().map(|pdu| pdu.frame.len() as u64).sum()),
            down: context.down,
            up: up(*mobile),
        };
        all.into_iter().map(view).collect()
    }
}

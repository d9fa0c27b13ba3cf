//! Who asks for wake-ups.

use super::Sgsn;
use crate::slots::Slot;
use gannet_machine::timers::{TimerKey, TimerName as _};

gannet_machine::timer_names! {
    /// Who asked for a wake-up.
    pub(super) enum Owner {
        /// The timers of a mobile's GMM.
        Gmm = "GMM",
        /// T200 and T201 of a mobile, of XID and of its links.
        Llc = "LLC",
        /// The timers of a mobile's SM.
        Sm = "SM",
        /// NS-VCs and NSEs.
        Ns = "NS",
        /// BVCs.
        Bvc = "T1 or T2 of BSSGP",
        /// T3-RESPONSE and echo.
        Gtp = "GTP",
        /// Flow control has room again.
        Flow = "flow control",
        /// N-PDUs that are not whole.
        Reassembly = "reassembly of N-PDUs",
        /// N-PDUs that are held.
        Held = "N-PDUs that are held",
        /// The link to the HLR.
        Gsup = "GSUP",
        /// Mobiles that change cells.
        CellChange = "cell changes",
        /// PDP contexts that a GGSN asks for.
        Notified = "network-requested activation",
        /// Partial records.
        Charging = "charging",
        /// A mobile's links in acknowledged mode that stand still.
        Links = "the next try in acknowledged mode",
    }
}

impl Owner {
    /// The key of a mobile's wake-up for this part of it.
    pub(super) fn of_mobile(self, slot: Slot) -> TimerKey {
        self.key(slot.index, slot.generation)
    }

    /// The key of a wake-up for this part of the node.
    pub(super) fn of_node(self) -> TimerKey {
        self.key(0, 0)
    }
}

impl Sgsn {
    /// The timer that a wake-up is for: where its owner has several, the one that is due first.
    pub(super) fn name_of(&self, key: TimerKey) -> &'static str {
        let Some(owner) = Owner::of(key) else { return "a timer of nobody" };
        let slot = Slot { index: key.slot, generation: key.generation };
        let due = match owner {
            Owner::Gmm => self
                .mobiles
                .get(slot)
                .and_then(|mobile| mobile.gmm.deadlines().next_name())
                .map(|due| due.name()),
            Owner::Ns => self.gb.ns.timer_name(key),
            _ => None,
        };
        due.unwrap_or(owner.name())
    }
}

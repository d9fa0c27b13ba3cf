//! Blocks are conserved: each that was sent came, or is lost by name.
//!
//! ```text
//! downlink  sent = new + again + refused + lost + unheard
//! uplink    sent = new + again + refused + nobody's + lost + collided + left
//! on the air, each way:  blocks of all PDCHs = blocks with something in them + silent
//! ```
//!
//! *Sent* counts at the sender (first time, and again by [`Kind`](super::rlc::Kind)), *new*, *again* and *refused* at the receiver, and the
//! rest on the air: all three are counted apart, so that [`faults`] compares what is not the same by construction. It holds when nothing
//! is on the air.

use super::air::{AirCounts, Cell, Mobile};
use super::fates::Missed;
use super::mobile::MobileCounts;
use super::network::BlockCounts;
use super::rlc::RlcCounts;

/// What does not add up in cells and their mobiles, each in a sentence; nothing where all blocks are conserved.
pub fn faults<'a>(
    cells: impl IntoIterator<Item = &'a Cell>,
    mobiles: impl IntoIterator<Item = &'a Mobile>,
) -> Vec<String> {
    let mut faults = Vec::new();
    let mut sums = Sums::default();
    for (cell, number) in cells.into_iter().zip(0_u32..) {
        let (air, blocks) = (cell.counts(), cell.pcu().counts());
        sums.add(&air, blocks);
        sums.network += cell.pcu().rlc_counts();
        let mut check = |way: &str, all: u64, used: u64| {
            if used != all {
                faults.push(format!("cell {number}: {all} blocks {way}, and {used} are known"));
            }
        };
        check("downlink", air.on_air.places_down, blocks.downlink() + air.on_air.silent_down);
        let came = blocks.uplink_data + blocks.uplink_control + blocks.uplink_dummy;
        check(
            "uplink",
            air.on_air.places_up,
            came + air.uplink_lost + air.on_air.silent_up + air.on_air.jammed_up,
        );
    }
    for mobile in mobiles {
        sums.add_mobile(&mobile.mac.counts());
        sums.mobiles += mobile.mac.rlc_counts();
    }
    let mut check = |way: &str, sent: u64, known: u64| {
        if sent != known {
            faults.push(format!("{sent} data blocks were sent {way}, and {known} came or are lost by name"));
        }
    };
    let Sums { down, up, network, mobiles, .. } = sums;
    check(
        "downlink",
        sums.sent_down,
        (sums.came_down + down.lost + down.unheard).saturating_sub(down.strays),
    );
    check("uplink", sums.sent_up, sums.came_up + up.lost + up.collided + up.left);
    for (way, sender, receiver, sent) in [
        ("downlink", network.sender, mobiles.receiver, sums.sent_down),
        ("uplink", mobiles.sender, network.receiver, sums.sent_up),
    ] {
        if sender.sent() != sent {
            faults.push(format!("{way} RLC sent {} data blocks, and MAC {sent}", sender.sent()));
        }
        if receiver.accepted > sender.new {
            faults.push(format!("{way} {} new blocks came of {}", receiver.accepted, sender.new));
        }
        if sender.acknowledged > receiver.accepted {
            faults.push(format!(
                "{way} {} blocks are acknowledged, and {} came",
                sender.acknowledged, receiver.accepted
            ));
        }
    }
    faults
}

#[derive(Default)]
struct Sums {
    sent_down: u64,
    came_down: u64,
    sent_up: u64,
    came_up: u64,
    down: Missed,
    up: Missed,
    network: RlcCounts,
    mobiles: RlcCounts,
}

impl Sums {
    fn add(&mut self, air: &AirCounts, blocks: &BlockCounts) {
        self.sent_down += blocks.data.iter().sum::<u64>();
        self.came_up += blocks.up.all() + blocks.uplink_nobodys;
        for (sum, more) in [(&mut self.down, air.on_air.down), (&mut self.up, air.on_air.up)] {
            sum.lost += more.lost;
            sum.unheard += more.unheard;
            sum.strays += more.strays;
            sum.collided += more.collided;
            sum.left += more.left;
        }
    }

    fn add_mobile(&mut self, counts: &MobileCounts) {
        self.sent_up += counts.data.iter().sum::<u64>();
        self.came_down += counts.down.all();
    }
}

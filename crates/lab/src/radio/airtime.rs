//! For what the blocks of a cell were used in a span of time.
//!
//! The unit is the octet of an RLC data field. A cell has slots × 50 × seconds blocks, and each has as many octets as its coding
//! scheme gives it. Every block is counted under one name, so that the parts add up to one.

use super::world::World;
use gannet_machine::time::Instant;
use gannet_node::bss::radio::{RlcMacConfig, Way};
use gannet_proto::rlcmac::air::AirCounts;
use gannet_proto::rlcmac::network::BlockCounts;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::{Value, json};

/// Blocks of a PDCH in a second: 12 in 240 ms (05.02 clause 6.3.2.2 [45.002]).
pub const BLOCKS_PER_S: f64 = 50.0;

/// Octets in front of a segment: SN-UNITDATA with and without the first segment's octet (04.65 clause 6.7.2 [44.065]).
const SNDCP_FIRST: usize = 4;
const SNDCP_OTHER: usize = 3;
/// Address, control field of a UI frame and FCS (04.64 clause 6 [44.064]).
const LLC_UI: usize = 6;
/// The length indicator of an LL-PDU that ends in a block (04.60 clause 10.4.14 [44.060]).
const LENGTH_INDICATOR: usize = 1;

/// What an N-PDU takes of RLC data fields in a stream without gaps.
#[must_use]
pub fn on_air(n_pdu_octets: usize, n201_u: usize) -> usize {
    let (mut rest, mut sum, mut header) = (n_pdu_octets, 0, SNDCP_FIRST);
    while rest > 0 {
        let part = rest.min(n201_u - header);
        sum += part + header + LLC_UI + LENGTH_INDICATOR;
        rest -= part;
        header = SNDCP_OTHER;
    }
    sum
}

/// All counters at one time.
#[derive(Debug, Clone)]
pub struct Snapshot {
    at: Instant,
    blocks: BlockCounts,
    air: AirCounts,
    /// Uplink data blocks that the mobiles sent, by kind.
    sent_up: [u64; 5],
    ll_pdu_octets: [u64; 2],
    /// Of a direction: octets of the streams, with packets that belong to none in whole, and octets of all N-PDUs.
    streams: [(u64, u64); 2],
}

impl Snapshot {
    /// Of the first cell and of so many mobiles.
    #[must_use]
    pub fn of(world: &World, mobiles: u32) -> Self {
        let mut sent_up = [0; 5];
        for mobile in 0..mobiles {
            for (sum, more) in sent_up.iter_mut().zip(world.probe.mobile(mobile).data) {
                *sum += more;
            }
        }
        let arrived = |way| world.probe.ledger(way).arrived_octets;
        let streams = |way| {
            let of = world.connections.iter().filter(move |connection| connection.way == way);
            let [down, up] = world.other_octets;
            let others = if way == Way::Downlink { down } else { up };
            of.fold((others, others), |sum, of| (sum.0 + of.came(), sum.1 + of.n_pdu_octets))
        };
        Self {
            at: world.gprs.now,
            blocks: world.probe.blocks(0),
            air: world.probe.air(0),
            sent_up,
            ll_pdu_octets: [arrived(Way::Downlink), arrived(Way::Uplink)],
            streams: [streams(Way::Downlink), streams(Way::Uplink)],
        }
    }
}

/// Parts of the airtime of one direction; they add up to one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Airtime {
    /// Octets of the streams; packets that belong to none in whole.
    pub payload: f64,
    /// Headers of IP and TCP, and N-PDUs that carry nothing new.
    pub ip: f64,
    /// Headers of LLC and SNDCP, and LL-PDUs that carry no N-PDU of the streams.
    pub llc: f64,
    /// Length indicators, TLLIs and filler of RLC; what is still on its way at the end of the span.
    pub rlc: f64,
    /// Data blocks that were sent again.
    pub again: f64,
    /// RLC/MAC control blocks.
    pub control: f64,
    /// Dummy blocks, and reserved blocks in which nothing came.
    pub dummy: f64,
    /// Blocks in which nobody sent.
    pub idle: f64,
    /// Seconds.
    pub span_s: f64,
    /// Blocks that were not received.
    pub lost_blocks: f64,
    /// Bits of the streams in a second.
    pub rate_bit_per_s: f64,
}

impl Airtime {
    /// Between two snapshots, of the direction and its timeslots.
    #[must_use]
    pub fn between(before: &Snapshot, after: &Snapshot, way: Way, coding: CodingScheme, slots: u32) -> Self {
        let place = usize::from(way == Way::Uplink);
        let at = |values: &[u64; 2]| values.get(place).copied().unwrap_or_default();
        let stream = |of: &Snapshot| of.streams.get(place).copied().unwrap_or_default();
        let difference = |a: u64, b: u64| super::as_f64(b.saturating_sub(a));
        let (was, is) = (&before.blocks, &after.blocks);
        let (sent_was, sent_is, control, dummy, lost) = match way {
            Way::Downlink => (
                was.data,
                is.data,
                difference(was.control, is.control),
                difference(was.dummy, is.dummy),
                difference(before.air.downlink_lost, after.air.downlink_lost),
            ),
            Way::Uplink => (
                before.sent_up,
                after.sent_up,
                difference(was.uplink_control, is.uplink_control),
                difference(was.uplink_dummy + was.uplink_nothing, is.uplink_dummy + is.uplink_nothing)
                    - difference(before.air.uplink_lost, after.air.uplink_lost),
                difference(before.air.uplink_lost, after.air.uplink_lost),
            ),
        };
        let kinds: Vec<f64> = sent_was.iter().zip(&sent_is).map(|(a, b)| difference(*a, *b)).collect();
        let new = kinds.first().copied().unwrap_or_default();
        let again: f64 = kinds.iter().skip(1).sum();
        let span_s = after.at.since(before.at).as_secs_f64();
        let blocks = BLOCKS_PER_S * span_s * f64::from(slots);
        let octets = super::as_f64(coding.data_octets() as u64);
        let ll_pdus = difference(at(&before.ll_pdu_octets), at(&after.ll_pdu_octets)) / octets;
        let ((stream_was, n_pdu_was), (stream_is, n_pdu_is)) = (stream(before), stream(after));
        let payload = difference(stream_was, stream_is);
        let n_pdus = difference(n_pdu_was, n_pdu_is) / octets;
        let part = |of: f64| of / blocks;
        Self {
            payload: part(payload / octets),
            ip: part(n_pdus - payload / octets),
            llc: part(ll_pdus - n_pdus),
            rlc: part(new - ll_pdus),
            again: part(again),
            control: part(control),
            dummy: part(dummy.max(0.0)),
            idle: part(blocks - new - again - control - dummy.max(0.0)),
            span_s,
            lost_blocks: lost,
            rate_bit_per_s: payload * 8.0 / span_s,
        }
    }

    /// The parts by name, in the order of the table.
    #[must_use]
    pub const fn parts(&self) -> [(&'static str, f64); 8] {
        [
            ("payload", self.payload),
            ("ip_headers", self.ip),
            ("llc_headers", self.llc),
            ("rlc_filling", self.rlc),
            ("retransmissions", self.again),
            ("control", self.control),
            ("dummy", self.dummy),
            ("idle", self.idle),
        ]
    }

    /// For the JSON.
    #[must_use]
    pub fn metrics(&self) -> Vec<(String, Value)> {
        let parts =
            self.parts().into_iter().map(|(name, part)| (format!("airtime_{name}"), json!(round(part))));
        let others = [("rate_bit_per_s", self.rate_bit_per_s), ("lost_blocks", self.lost_blocks)];
        parts.chain(others.into_iter().map(|(name, value)| (name.to_owned(), json!(value)))).collect()
    }

    /// Cells of the table: each part in per cent.
    #[must_use]
    pub fn row(&self) -> String {
        let parts = self.parts().map(|(_, part)| format!("{:.1}", part * 100.0));
        parts.join(" | ")
    }
}

/// Heads of [`Airtime::row`].
pub const HEADS: &str = "payload | TCP, IP | LLC, SNDCP | RLC | again | control | dummy | idle";

/// Six digits: the same on every machine.
fn round(part: f64) -> f64 {
    (part * 1e6).round() / 1e6
}

/// A setting whose PDCHs end with timeslot 7.
#[must_use]
pub fn last_slots(count: u32) -> u8 {
    !(0xff_u8.checked_shr(count).unwrap_or(0))
}

/// A radio with this coding for these timeslots of each direction, and the lowest multislot class that permits them; `None` where
/// none of the classes 1 to 12 does.
#[must_use]
pub fn radio(coding: CodingScheme, down: u32, up: u32) -> Option<RlcMacConfig> {
    use gannet_proto::rlcmac::config::NetworkConfig;
    use gannet_proto::rlcmac::multislot::{MultislotClass, Slots, Wish, choose};
    let pdchs = last_slots(down.max(up));
    let wish = Wish {
        downlink: Slots(pdchs),
        uplink: Slots(pdchs),
        downlink_max: down,
        uplink_max: up,
        prefers_downlink: down >= up,
    };
    let has_all = |class: &MultislotClass| {
        choose(*class, &wish, &[0; 8])
            .is_some_and(|choice| (choice.downlink.count(), choice.uplink.count()) == (down, up))
    };
    let class = MultislotClass::ALL.into_iter().find(has_all)?;
    let network = NetworkConfig {
        downlink_slots: u8::try_from(down).unwrap_or(u8::MAX),
        uplink_slots: u8::try_from(up).unwrap_or(u8::MAX),
        // One phase gives one timeslot.
        force_two_phase: up > 1,
        multislot_class: class,
        ..NetworkConfig::new(pdchs, coding)
    };
    let mut radio = RlcMacConfig::new(network);
    radio.mobile.multislot_class = class.number();
    Some(radio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_the_protocols() {
        // Four segments of at most 500 octets, or one.
        assert_eq!(on_air(1500, 500), 1500 + 4 + 3 * 3 + 4 * 7);
        assert_eq!(on_air(1500, 1520), 1500 + 4 + 7);
        assert_eq!(on_air(40, 500), 51);
    }

    #[test]
    fn classes_are_those_of_the_sum() {
        let class = |down, up| radio(CodingScheme::Cs2, down, up).map(|radio| radio.mobile.multislot_class);
        assert_eq!([1, 2, 3, 4].map(|down| class(down, 1)), [Some(1), Some(2), Some(4), Some(8)]);
        assert_eq!(last_slots(3), 0b1110_0000);
        // A mobile listens to the USF on the downlink of each slot that it sends in.
        assert_eq!([3, 4].map(|up| class(1, up)), [None, None]);
    }
}

//! What the analyser counts in a capture, and what the nodes counted themselves.

use crate::radio::as_f64;
use crate::radio::probe::Probe;
use gannet_analysis::radio::report::{RadioReport, Tbf, TcpAck, Use};
pub use gannet_analysis::record::Direction::Up as UP;
use gannet_analysis::record::Direction::{self, Down};
use gannet_analysis::series::quantile;
use gannet_proto::rlcmac::network::BlockCounts;
use gannet_proto::rlcmac::rlc::SenderCounts;
use serde_json::{Value, json};

/// What the analyser counts in the TBFs of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counted {
    /// TBFs with a data block.
    pub tbfs: u64,
    /// Data blocks for the first time.
    pub new: u64,
    /// Sent again: asked for.
    pub needed: u64,
    /// Unasked.
    pub premature: u64,
    /// Of these, while another TBF had data.
    pub beside: u64,
    /// For reports that were too early.
    pub repeated: u64,
    /// After they were acknowledged.
    pub acknowledged: u64,
    /// To poll.
    pub polling: u64,
    /// Polls; uplink blocks that say that the window is full.
    pub polls: u64,
    /// The median of data blocks from one poll to the next.
    pub poll_interval: u64,
    /// Reports.
    pub reports: u64,
    /// Times that the window was full, and for how long together.
    pub stalls: u64,
    /// In seconds.
    pub stalled_s: f64,
    /// Blocks with a dummy command of LLC.
    pub fillers: u64,
    /// Dummy control blocks of the cell.
    pub dummies: u64,
    /// TBFs that were released.
    pub released: u64,
}

impl Counted {
    fn of(tbfs: &[&Tbf], spent: &Use) -> Self {
        let sum = |value: &dyn Fn(&Tbf) -> u64| tbfs.iter().map(|tbf| value(tbf)).sum::<u64>();
        let mut between: Vec<u64> =
            tbfs.iter().flat_map(|tbf| tbf.poll_intervals.points()).copied().collect();
        Self {
            tbfs: sum(&|tbf| u64::from(tbf.first_data.is_some())),
            new: sum(&|tbf| tbf.blocks),
            needed: sum(&|tbf| tbf.again.needed),
            premature: sum(&|tbf| tbf.again.premature),
            beside: sum(&|tbf| tbf.again.premature_beside_others),
            repeated: sum(&|tbf| tbf.again.repeated),
            acknowledged: sum(&|tbf| tbf.again.acknowledged),
            polling: sum(&|tbf| tbf.again.polling),
            polls: sum(&|tbf| tbf.polls_or_stalls),
            poll_interval: quantile(&mut between, 0.5).unwrap_or(0),
            reports: sum(&|tbf| tbf.reports),
            stalls: sum(&|tbf| tbf.stalls.len() as u64),
            stalled_s: as_f64(sum(&Tbf::stalled_ns)) / 1e9,
            fillers: sum(&|tbf| tbf.fillers),
            dummies: spent.dummy,
            released: sum(&|tbf| u64::from(tbf.end == gannet_analysis::radio::report::End::Released)),
        }
    }

    /// For the JSON.
    pub fn metrics(&self) -> Vec<(String, Value)> {
        let counts = [
            ("tbfs", self.tbfs),
            ("new", self.new),
            ("needed", self.needed),
            ("premature", self.premature),
            ("premature_beside_others", self.beside),
            ("repeated", self.repeated),
            ("after_acknowledged", self.acknowledged),
            ("to_poll", self.polling),
            ("polls_or_stalled_blocks", self.polls),
            ("poll_interval_median_blocks", self.poll_interval),
            ("reports", self.reports),
            ("stalls", self.stalls),
            ("fillers", self.fillers),
            ("dummy_blocks", self.dummies),
            ("released", self.released),
        ];
        let counts = counts.into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        counts.chain([("stalled_s".to_owned(), json!(self.stalled_s))]).collect()
    }
}

/// TCP acknowledgements by uplink TBF.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Acks {
    /// Uplink TBFs with one at least.
    pub tbfs: u64,
    /// Of these, those with nothing else.
    pub alone: u64,
    /// The median of a TBF.
    pub each: u64,
    /// TBFs with just one, two, three, and more.
    pub by_count: [u64; 4],
    /// Medians in milliseconds: the set-up of the TBF.
    pub set_up_ms: f64,
    /// From the first block of a segment to the last of the first acknowledgement of a TBF.
    pub first_ms: f64,
    /// To a later acknowledgement of the same TBF.
    pub later_ms: f64,
}

impl Acks {
    fn of(tbfs: &[&Tbf]) -> Self {
        let with: Vec<&&Tbf> = tbfs.iter().filter(|tbf| tbf.acks.seen() > 0).collect();
        let mut each: Vec<u64> = with.iter().map(|tbf| tbf.acks.seen()).collect();
        let mut by_count = [0; 4];
        for count in &each {
            let place = usize::try_from(count - 1).unwrap_or(3).min(3);
            if let Some(sum) = by_count.get_mut(place) {
                *sum += 1;
            }
        }
        let median = |values: &mut Vec<u64>| quantile(values, 0.5).map_or(f64::NAN, |ns| as_f64(ns) / 1e6);
        let trips = |first: bool| -> Vec<u64> {
            let of = |tbf: &&&Tbf| -> Vec<u64> {
                let (one, rest) = tbf.acks.points().split_at(tbf.acks.points().len().min(1));
                (if first { one } else { rest }).iter().filter_map(TcpAck::round_trip_ns).collect()
            };
            with.iter().flat_map(of).collect()
        };
        Self {
            tbfs: with.len() as u64,
            alone: with.iter().filter(|tbf| tbf.is_of_acks()).count() as u64,
            each: quantile(&mut each, 0.5).unwrap_or(0),
            by_count,
            set_up_ms: median(&mut with.iter().filter_map(|tbf| tbf.set_up_ns()).collect()),
            first_ms: median(&mut trips(true)),
            later_ms: median(&mut trips(false)),
        }
    }

    /// For the JSON.
    pub fn metrics(&self) -> Vec<(String, Value)> {
        [
            ("tbfs_with_tcp_acks", json!(self.tbfs)),
            ("tbfs_of_tcp_acks_alone", json!(self.alone)),
            ("tcp_acks_median_by_tbf", json!(self.each)),
            ("tbfs_by_tcp_acks_1_2_3_more", json!(self.by_count)),
            ("set_up_median_ms", json!(self.set_up_ms)),
            ("round_trip_first_median_ms", json!(self.first_ms)),
            ("round_trip_later_median_ms", json!(self.later_ms)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

/// Both directions.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Links {
    /// Downlink, at Abis.
    pub down: Counted,
    /// Uplink, at Um.
    pub up: Counted,
    /// TCP acknowledgements, at Um.
    pub acks: Acks,
}

impl Links {
    /// From a capture of both interfaces.
    pub fn of(report: &RadioReport, um: u16, abis: u16) -> Self {
        let at = |place: u16, direction: Direction| -> Vec<&Tbf> {
            report.tbfs.iter().filter(|tbf| (tbf.place, tbf.direction) == (place, direction)).collect()
        };
        let spent = |place: u16, direction: Direction| {
            let cell = report.cells.iter().find(|cell| cell.place == place);
            cell.map(|cell| if direction == UP { cell.up } else { cell.down }).unwrap_or_default()
        };
        let (down, up) = (at(abis, Down), at(um, UP));
        Self {
            down: Counted::of(&down, &spent(abis, Down)),
            up: Counted::of(&up, &spent(um, UP)),
            acks: Acks::of(&up),
        }
    }
}

/// What the nodes counted themselves.
#[derive(Debug, Clone, Copy)]
pub struct Truth {
    down: SenderCounts,
    up: SenderCounts,
    blocks: BlockCounts,
}

impl Truth {
    /// Of a world's only cell.
    pub fn of(probe: &Probe) -> Self {
        Self { down: probe.rlc(0).sender, up: probe.rlc_of_mobiles().sender, blocks: probe.blocks(0) }
    }

    /// In what the analyser differs; nothing where it does not. It may count fewer blocks that took the place of others than there were: an
    /// LL-PDU that waits behind one that has just ended is not seen.
    pub fn differences(&self, links: &Links) -> Vec<String> {
        let Self { down, up, blocks } = self;
        let counted = &links.down;
        let mut all = Vec::new();
        for (what, analyser, node) in [
            ("new blocks downlink", counted.new, down.new),
            ("needed blocks downlink", counted.needed, down.asked),
            ("repeated blocks downlink", counted.repeated, down.early),
            ("premature blocks downlink", counted.premature, down.unasked - blocks.to_poll),
            ("blocks again to poll", counted.polling, blocks.to_poll),
            ("acknowledged blocks again", counted.acknowledged, 0),
            ("polls", counted.polls, blocks.asked),
            ("stalls downlink", counted.stalls, down.stalls),
            ("new blocks uplink", links.up.new, up.new),
            ("stalls uplink", links.up.stalls, up.stalls),
            ("blocks beside others, beyond", counted.beside.saturating_sub(blocks.unasked_beside), 0),
        ] {
            if analyser != node {
                all.push(format!("{what}: {analyser} of {node}"));
            }
        }
        all
    }
}

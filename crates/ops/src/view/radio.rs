//! A radio with RLC/MAC: cells, TBFs and mobiles.

use super::Or;
use crate::metrics::Metric;
use core::fmt;
use gannet_proto::rlcmac::air::{AirCounts, Faults};
use gannet_proto::rlcmac::mobile::MobileCounts;
use gannet_proto::rlcmac::network::view::{MobileView, TbfCounts, TbfView};
use gannet_proto::rlcmac::network::{AccessCounts, BlockCounts, PreemptionCounts};
use gannet_proto::rlcmac::rlc::RlcCounts;

/// `show radio` and `show bts statistics`: one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioCell {
    /// Its number, from 0.
    pub number: u16,
    /// Its carrier.
    pub arfcn: u16,
    /// Its PDCHs, bit 0 for timeslot 0.
    pub pdchs: u8,
    /// Of these, those that calls have.
    pub held: u8,
    /// What calls have done to GPRS.
    pub preemption: PreemptionCounts,
    /// Calls that came, and those of them that were blocked.
    pub calls: (u64, u64),
    /// TBFs now, downlink and uplink.
    pub tbfs: (usize, usize),
    /// Blocks of its PDCHs.
    pub blocks: BlockCounts,
    /// What happened on the CCCH.
    pub access: AccessCounts,
    /// What the air lost.
    pub air: AirCounts,
    /// RLC of its TBFs.
    pub rlc: RlcCounts,
}

/// Timeslots of a set, as people read them.
struct Timeslots(u8);

impl fmt::Display for Timeslots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("-");
        }
        let all = (0..8_u8).filter(|slot| self.0 >> slot & 1 == 1).map(|slot| slot.to_string());
        f.write_str(&all.collect::<Vec<_>>().join(","))
    }
}

impl RadioCell {
    /// All that is counted of it, and how many TBFs there are.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let gauges = [
            ("tbfs_downlink", "downlink TBFs", number(self.tbfs.0)),
            ("tbfs_uplink", "uplink TBFs", number(self.tbfs.1)),
            ("pdchs_held", "PDCHs that calls have", self.held.count_ones().into()),
        ];
        let gauges = gauges.map(|(name, help, value)| Metric::gauge(name, help, value));
        let all = [self.downlink(), self.uplink(), self.on_ccch(), self.on_air(), self.by_calls()].concat();
        let counters = all.into_iter().map(|(name, help, value)| Metric::counter(name, help, value));
        gauges.into_iter().chain(counters).collect()
    }

    fn downlink(&self) -> Vec<Counted> {
        let [new, needed, repeated, stalled, idle] = self.blocks.data;
        let sent = &self.rlc.sender;
        vec![
            ("downlink_data_new", "downlink data blocks, sent for the first time", new),
            ("downlink_data_needed", "downlink data blocks, sent again as reported missing", needed),
            (
                "downlink_data_repeated",
                "downlink data blocks, sent again as reported missing again",
                repeated,
            ),
            ("downlink_data_stalled", "downlink data blocks, sent again as the window was stalled", stalled),
            ("downlink_data_idle", "downlink data blocks, sent again as nothing else was to be sent", idle),
            ("downlink_polls", "downlink data blocks that kept a TBF without data", self.blocks.polls),
            ("downlink_control", "downlink control blocks", self.blocks.control),
            ("downlink_dummy", "downlink dummy control blocks", self.blocks.dummy),
            ("downlink_acknowledged", "downlink data blocks that were acknowledged", sent.acknowledged),
            ("downlink_ll_pdu_octets", "octets of LL-PDUs in new downlink blocks", sent.ll_pdu_octets),
            ("downlink_indicator_octets", "octets of length indicators in them", sent.indicator_octets),
            ("downlink_filler_octets", "octets of filler in them", sent.filler_octets),
            ("downlink_again_octets", "octets of data fields sent again", sent.again_octets),
            ("downlink_stale_reports", "reports of mobiles outside of the window", sent.stale_reports),
        ]
    }

    fn uplink(&self) -> Vec<Counted> {
        let (blocks, received) = (&self.blocks, &self.rlc.receiver);
        vec![
            ("uplink_data", "uplink data blocks", blocks.uplink_data),
            ("uplink_control", "uplink control blocks", blocks.uplink_control),
            ("uplink_dummy", "uplink dummy control blocks", blocks.uplink_dummy),
            ("uplink_nothing", "reserved uplink blocks in which nothing was read", blocks.uplink_nothing),
            ("uplink_accepted", "uplink data blocks that were new", received.accepted),
            ("uplink_duplicates", "uplink data blocks that had come before", received.duplicates),
            ("uplink_outside", "uplink data blocks outside of the window", received.outside),
            ("uplink_malformed", "uplink data blocks with contradictory lengths", received.malformed),
            ("uplink_missing", "uplink data blocks that never came", received.missing),
            ("uplink_ll_pdus", "LL-PDUs put together uplink", received.ll_pdus),
            ("uplink_ll_pdu_octets", "octets of these LL-PDUs", received.ll_pdu_octets),
            ("uplink_ll_pdus_damaged", "of these LL-PDUs, those with missing blocks", received.damaged),
            ("uplink_ll_pdus_too_long", "LL-PDUs uplink that were too long", received.too_long),
        ]
    }

    fn on_ccch(&self) -> Vec<Counted> {
        let access = &self.access;
        vec![
            ("access_bursts", "access bursts that were read", access.bursts),
            ("access_bursts_foreign", "access bursts that were none for packet access", access.foreign),
            ("access_bursts_overrun", "access bursts that were too many or too old", access.overrun),
            ("assignments_uplink", "immediate assignments of uplink TBFs", access.uplink),
            ("assignments_single_block", "immediate assignments of single blocks", access.single_blocks),
            ("assignments_downlink", "immediate assignments of downlink TBFs", access.downlink),
            ("assignment_rejects", "immediate assignment rejects", access.rejects),
            ("access_bursts_ignored", "access bursts without an answer as there was no PDCH", access.ignored),
        ]
    }

    fn by_calls(&self) -> Vec<Counted> {
        let counts = &self.preemption;
        vec![
            ("calls_offered", "calls that came", self.calls.0),
            ("calls_blocked", "calls that found no timeslot", self.calls.1),
            ("preemptions_partial", "times that calls took PDCHs and left some", counts.partial),
            ("preemptions_complete", "times that calls took the last PDCHs", counts.complete),
            ("preemption_returns", "times that PDCHs returned", counts.returns),
            ("preempted_tbfs_downlink", "downlink TBFs that calls broke", counts.broken_down),
            ("preempted_tbfs_uplink", "uplink TBFs that calls broke", counts.broken_up),
            ("preempted_ll_pdus", "LL-PDUs downlink that were discarded for calls", counts.discarded),
        ]
    }

    fn on_air(&self) -> Vec<Counted> {
        let AirCounts { faults: Faults { misdelivered, strange, unreadable }, .. } = self.air;
        vec![
            ("air_downlink_lost", "downlink blocks lost at a mobile that listened", self.air.downlink_lost),
            ("air_uplink_lost", "uplink blocks lost", self.air.uplink_lost),
            ("air_uplink_collisions", "uplink blocks that collided", self.air.uplink_collisions),
            ("air_burst_collisions", "access bursts that collided", self.air.burst_collisions),
            ("air_late", "LL-PDUs that came as they were taken back", self.air.late),
            ("fault_misdelivered", "LL-PDUs that came to another mobile", misdelivered),
            ("fault_strange", "LL-PDUs that nobody had sent", strange),
            ("fault_unreadable", "blocks that were not what was sent", unreadable),
        ]
    }
}

/// Name, help and value.
type Counted = (&'static str, &'static str, u64);

impl fmt::Display for RadioCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, arfcn, pdchs, .. } = self;
        write!(f, "Cell {number}: ARFCN {arfcn}, PDCHs on timeslots {}", Timeslots(*pdchs))?;
        if self.held != 0 {
            write!(f, ", calls on {}", Timeslots(self.held))?;
        }
        f.write_str("\n")?;
        self.metrics().iter().try_for_each(|metric| writeln!(f, "  {}: {}", metric.help, metric.value))
    }
}

/// `show tbf all`: one TBF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tbf {
    /// The number of its cell.
    pub cell: u16,
    /// The TBF.
    pub view: TbfView,
}

impl fmt::Display for Tbf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TbfView { tfi, mobile, tlli, state, slots, waiting_octets, counts } = self.view;
        let direction = match counts {
            TbfCounts::Sent(_) => "DL",
            TbfCounts::Received(_) => "UL",
        };
        let tlli = tlli.map(|tlli| format!("0x{tlli}"));
        let mobile = mobile.map(|mobile| u64::from(mobile) + 1);
        writeln!(
            f,
            "TBF: TFI={tfi} TLLI={} DIR={direction} cell {}, mobile {}, {state}, timeslots {}",
            Or(&tlli),
            self.cell,
            Or(&mobile),
            Timeslots(slots)
        )?;
        match counts {
            TbfCounts::Sent(counts) => writeln!(
                f,
                "  {} blocks sent, {} of them again, {} acknowledged; {waiting_octets} octets in no block yet",
                counts.sent(),
                counts.sent_again(),
                counts.acknowledged
            ),
            TbfCounts::Received(counts) => writeln!(
                f,
                "  {} blocks received, {} of them again; {} LL-PDUs, {} octets",
                counts.arrived(),
                counts.duplicates,
                counts.ll_pdus,
                counts.ll_pdu_octets
            ),
        }
    }
}

/// `show ms all`: one mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RadioMobile {
    /// The number of its cell.
    pub cell: u16,
    /// As the PCU knows it.
    pub view: MobileView,
    /// What happened in the mobile.
    pub counts: MobileCounts,
}

impl fmt::Display for RadioMobile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MobileView { mobile, tlli, multislot, waiting: (pdus, octets), down, up } = self.view;
        let class = multislot.map(|class| class.number());
        let tlli = tlli.map(|tlli| format!("0x{tlli}"));
        writeln!(
            f,
            "MS TLLI={} cell {}, mobile {}, multislot class {}, TFI {} downlink, {} uplink",
            Or(&tlli),
            self.cell,
            u64::from(mobile) + 1,
            Or(&class),
            Or(&down),
            Or(&up)
        )?;
        writeln!(f, "  waiting for a downlink TBF: {pdus} LL-PDUs, {octets} octets")?;
        mobile_metrics(&self.counts)
            .iter()
            .try_for_each(|metric| writeln!(f, "  {}: {}", metric.help, metric.value))
    }
}

/// What is counted in mobiles.
#[must_use]
pub fn mobile_metrics(counts: &MobileCounts) -> Vec<Metric> {
    let sent = counts.data.iter().sum();
    let [new, ..] = counts.data;
    let all = [
        ("accesses", "accesses on the CCCH", counts.accesses),
        ("bursts", "access bursts that were sent", counts.bursts),
        ("unanswered", "accesses that nobody answered", counts.unanswered),
        ("rejected", "accesses that were refused", counts.rejected),
        ("contentions_lost", "contentions that another mobile won", counts.contentions_lost),
        ("tbfs_uplink_begun", "uplink TBFs that began", counts.uplink_tbfs),
        ("tbfs_downlink_begun", "downlink TBFs that began", counts.downlink_tbfs),
        ("data_sent", "uplink data blocks that were sent", sent),
        ("data_new", "of these, those sent for the first time", new),
        ("expiries", "expiries of T3164 to T3190", counts.expiries),
        ("given_up", "LL-PDUs that were given up", counts.given_up),
    ];
    all.into_iter().map(|(name, help, value)| Metric::counter(name, help, value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_proto::rlcmac::multislot::MultislotClass;
    use gannet_proto::rlcmac::rlc::{ReceiverCounts, SenderCounts};
    use gannet_wire::id::Tlli;
    use std::collections::BTreeSet;

    fn cell() -> RadioCell {
        RadioCell {
            number: 1,
            arfcn: 2,
            pdchs: 0b1100_0000,
            held: 0b1000_0000,
            preemption: PreemptionCounts { complete: 20, ..PreemptionCounts::default() },
            calls: (21, 22),
            tbfs: (3, 4),
            blocks: BlockCounts {
                data: [10, 11, 12, 13, 14],
                control: 15,
                dummy: 16,
                ..BlockCounts::default()
            },
            access: AccessCounts { bursts: 17, downlink: 18, ..AccessCounts::default() },
            air: AirCounts { downlink_lost: 19, ..AirCounts::default() },
            rlc: RlcCounts::default(),
        }
    }

    #[test]
    fn each_counter_has_a_name_and_a_sentence_of_its_own() {
        let metrics = cell().metrics();
        let names: BTreeSet<_> = metrics.iter().map(|metric| metric.name).collect();
        let helps: BTreeSet<_> = metrics.iter().map(|metric| metric.help).collect();
        assert_eq!((names.len(), helps.len()), (metrics.len(), metrics.len()));
        let all: u64 = metrics.iter().map(|metric| metric.value).sum();
        assert_eq!(all, (3..=4).chain(10..=22).sum::<u64>() + 1, "each stands once");
        let mobile = mobile_metrics(&MobileCounts { data: [3, 2, 1, 0, 0], ..MobileCounts::default() });
        let of = |name| mobile.iter().find(|metric| metric.name == name).map(|metric| metric.value);
        assert_eq!((of("data_sent"), of("data_new")), (Some(6), Some(3)));
    }

    #[test]
    fn a_person_reads_cells_tbfs_and_mobiles() {
        let text = cell().to_string();
        assert!(
            text.starts_with("Cell 1: ARFCN 2, PDCHs on timeslots 6,7, calls on 7\n  downlink TBFs: 3\n"),
            "{text}"
        );
        assert!(text.contains("\n  downlink dummy control blocks: 16\n"), "{text}");
        let counts =
            TbfCounts::Sent(SenderCounts { new: 5, needed: 2, acknowledged: 4, ..SenderCounts::default() });
        let view = TbfView {
            tfi: 7,
            mobile: Some(0),
            tlli: Some(Tlli(0xc0de_1234)),
            state: "flowing",
            slots: 0b0111_0000,
            waiting_octets: 90,
            counts,
        };
        assert_eq!(
            Tbf { cell: 1, view }.to_string(),
            "TBF: TFI=7 TLLI=0xc0de1234 DIR=DL cell 1, mobile 1, flowing, timeslots 4,5,6\n  7 blocks sent, 2 of them \
             again, 4 acknowledged; 90 octets in no block yet\n"
        );
        let counts =
            TbfCounts::Received(ReceiverCounts { accepted: 3, ll_pdus: 1, ..ReceiverCounts::default() });
        let text = Tbf { cell: 0, view: TbfView { mobile: None, tlli: None, counts, ..view } }.to_string();
        assert!(text.starts_with("TBF: TFI=7 TLLI=- DIR=UL cell 0, mobile -, flowing"), "{text}");
        let view = MobileView {
            mobile: 4,
            tlli: Some(Tlli(0xc0de_1234)),
            multislot: MultislotClass::new(6),
            waiting: (2, 300),
            down: Some(7),
            up: None,
        };
        let text = RadioMobile { cell: 1, view, counts: MobileCounts::default() }.to_string();
        let first = "MS TLLI=0xc0de1234 cell 1, mobile 5, multislot class 6, TFI 7 downlink, - uplink\n  waiting for a \
                     downlink TBF: 2 LL-PDUs, 300 octets\n";
        assert!(text.starts_with(first), "{text}");
    }
}

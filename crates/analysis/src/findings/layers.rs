//! Findings of what the layers carry.

use super::{Finding, Names, kbit};
use crate::layers::{Layer, LayerRow, LayersReport, Segmentation};
use crate::record::Direction;
use crate::series::{real, seconds};

pub(super) fn of_layers(report: &LayersReport, names: &Names, findings: &mut Vec<Finding>) {
    for row in &report.rows {
        rate(report, row, names, findings);
    }
    if report.left_out > 0 {
        let text = format!("{} units of places beyond the limit were not counted", report.left_out);
        findings.push(Finding::new("layer-left-out", "layers", text).number("units", real(report.left_out)));
    }
    for row in report.segmentation.iter().filter(|row| row.n_pdus > 0) {
        segmentation(row, names, findings);
    }
}

const fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "uplink",
        Direction::Down => "downlink",
    }
}

/// What a layer carried, and how fast in the busiest time, against the line.
fn rate(report: &LayersReport, row: &LayerRow, names: &Names, findings: &mut Vec<Finding>) {
    let window = report.windows.iter().find(|(direction, _)| *direction == row.direction);
    let Some((_, window)) = window else { return };
    let of = format!("{} {} at {}", row.layer.name(), way(row.direction), names.place(row.place));
    let line = report.line(row.direction).filter(|line| line.bits_per_s > 0.0);
    let against = line.map_or_else(String::new, |line| {
        format!(
            ", {:.1} % of the line of {} (timeslots: {} of {})",
            row.bits_per_s * 100.0 / line.bits_per_s,
            kbit(line.bits_per_s / 8.0),
            line.timeslots,
            kbit(line.scheme_bits_per_s / 8.0)
        )
    });
    let (units, carried) = match row.layer {
        Layer::Rlc => ("data blocks", "octets of LL-PDUs, those sent again too"),
        Layer::Llc => ("LL-PDUs", "octets of information"),
        Layer::Sndcp => ("SN-PDUs", "octets of N-PDUs"),
        Layer::Ip => ("packets", "octets with their headers"),
        Layer::Tcp => ("segments", "octets of streams for the first time"),
    };
    let text = format!(
        "{} {units} carried {} {carried}; in the busiest {:.1} s {}{against}",
        row.units,
        row.payload_octets,
        seconds(window.length_ns),
        kbit(row.bits_per_s / 8.0)
    );
    let mut finding = Finding::new("layer-rate", &of, text)
        .number("units", real(row.units))
        .number("octets", real(row.octets))
        .number("payload_octets", real(row.payload_octets))
        .number("window_octets", real(row.window_octets))
        .number("window_s", seconds(window.length_ns))
        .number("bits_per_s", row.bits_per_s)
        .proved_by([row.first.1, row.last.1]);
    if let Some(line) = line {
        finding =
            finding.number("line_bits_per_s", line.bits_per_s).number("timeslots", f64::from(line.timeslots));
    }
    findings.push(finding);
}

/// What headers take, and what it costs that N-PDUs do not fit into one LL-PDU.
fn segmentation(row: &Segmentation, names: &Names, findings: &mut Vec<Finding>) {
    let of = format!("{} of SAPI {} at {}", way(row.direction), row.sapi, names.place(row.place));
    let split = match row.last_fill() {
        None => "each N-PDU is in one LL-PDU".to_owned(),
        Some(fill) => format!(
            "{} of {} N-PDUs are split, into {:.1} LL-PDUs in the mean; {:.1} % of the octets would not be there without that; the last \
             LL-PDU of a split one is {:.0} % full",
            row.split,
            row.n_pdus,
            real(row.split_segments) / real(row.split.max(1)),
            row.waste_part() * 100.0,
            fill * 100.0
        ),
    };
    let text = format!(
        "headers of LLC and SNDCP take {:.1} % of {} octets; N-PDUs have up to {} octets and LL-PDUs carry up to {} (N201 is at least \
         that): {split}",
        row.header_part() * 100.0,
        row.octets,
        row.n_pdu_max,
        row.information_max
    );
    findings.push(
        Finding::new("llc-segmentation", &of, text)
            .number("ll_pdus", real(row.ll_pdus))
            .number("octets", real(row.octets))
            .number("llc_header_octets", real(row.llc_header_octets))
            .number("sndcp_header_octets", real(row.sndcp_header_octets))
            .number("later_header_octets", real(row.later_header_octets))
            .number("information_max", real(row.information_max))
            .number("n_pdus", real(row.n_pdus))
            .number("split", real(row.split))
            .number("last_fill", row.last_fill().unwrap_or(0.0))
            .proved_by([row.longest]),
    );
}

//! N-PDUs in LL-PDUs: what headers cost, and what more LL-PDUs than one for an N-PDU cost (N201, 44.064 clause 8.9.8).

use crate::record::{Carrier, Direction, Fcs, Proof, Record, Seen};
use crate::series::real;
use gannet_wire::sndcp::Pdu;
use serde::Serialize;
use std::collections::BTreeMap;

/// Places, directions and SAPIs.
const ROWS_MAX: usize = 1_024;

/// LL-PDUs with SN-PDUs of one direction and SAPI at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Segmentation {
    /// Which way.
    pub direction: Direction,
    /// The place.
    pub place: u16,
    /// The SAPI of LLC.
    pub sapi: u8,
    /// LL-PDUs with an SN-PDU.
    pub ll_pdus: u64,
    /// Their octets.
    pub octets: u64,
    /// Octets of LLC headers and frame check sequences.
    pub llc_header_octets: u64,
    /// Octets of SNDCP headers.
    pub sndcp_header_octets: u64,
    /// The longest information field: N201 is at least that.
    pub information_max: u64,
    /// The LL-PDU with it.
    pub longest: Proof,
    /// N-PDUs that were put together.
    pub n_pdus: u64,
    /// Those of more than one SN-PDU.
    pub split: u64,
    /// The SN-PDUs of these.
    pub split_segments: u64,
    /// The octets of the longest N-PDU.
    pub n_pdu_max: u64,
    /// LL-PDUs that carry a second or later segment.
    pub later: u64,
    /// Octets of headers of LLC and SNDCP in these: what splitting costs.
    pub later_header_octets: u64,
    /// Those of them with the last segment.
    pub last: u64,
    /// Octets of information in these.
    pub last_information: u64,
}

impl Segmentation {
    /// The part of the octets that headers of LLC and SNDCP take.
    #[must_use]
    pub fn header_part(&self) -> f64 {
        real(self.llc_header_octets + self.sndcp_header_octets) / real(self.octets.max(1))
    }

    /// The part of the octets that would not be there if each N-PDU were in one LL-PDU.
    #[must_use]
    pub fn waste_part(&self) -> f64 {
        real(self.later_header_octets) / real(self.octets.max(1))
    }

    /// How full the last LL-PDU of a split N-PDU is, against the longest one.
    #[must_use]
    pub fn last_fill(&self) -> Option<f64> {
        (self.last > 0).then(|| real(self.last_information) / real(self.last * self.information_max.max(1)))
    }
}

/// The LL-PDU before, whose SN-PDU comes next.
#[derive(Debug, Clone, Copy)]
struct Before {
    proof: Proof,
    place: u16,
    sapi: u8,
    octets: u64,
    information: u64,
}

/// Takes LL-PDUs and what is in them.
#[derive(Debug, Default)]
pub(super) struct Segmenting {
    before: Option<Before>,
    rows: BTreeMap<(Direction, u16, u8), Segmentation>,
}

impl Segmenting {
    pub(super) fn take(&mut self, seen: &Seen<Record>) {
        match &seen.what {
            Record::Llc(it) if it.fcs != Fcs::Wrong => {
                self.before = it.header.map(|header| Before {
                    proof: seen.proof,
                    place: seen.place,
                    sapi: header.sapi.0,
                    octets: u64::from(it.octets),
                    information: u64::from(it.info_octets),
                });
            }
            Record::Segment(it) => {
                let is_here = |before: &Before| (before.proof, before.place) == (seen.proof, seen.place);
                let Some(before) = self.before.filter(is_here) else { return };
                let Some(row) = self.row((it.direction, seen.place, before.sapi), seen.proof) else { return };
                let headers =
                    (before.octets.saturating_sub(before.information), super::sndcp_header(&it.header));
                row.ll_pdus += 1;
                row.octets += before.octets;
                row.llc_header_octets += headers.0;
                row.sndcp_header_octets += headers.1;
                if before.information > row.information_max {
                    (row.information_max, row.longest) = (before.information, seen.proof);
                }
                let is_first = matches!(
                    it.header.pdu,
                    Pdu::Data { first: Some(_) } | Pdu::Unitdata { first: Some(_), .. }
                );
                if !is_first {
                    row.later += 1;
                    row.later_header_octets += headers.0 + headers.1;
                    if !it.header.more {
                        row.last += 1;
                        row.last_information += before.information;
                    }
                }
            }
            Record::Packet(it) => {
                let Carrier::Segments { count, .. } = it.carrier else { return };
                let Some((direction, before)) = it.direction.zip(self.before) else { return };
                let Some(row) = self.row((direction, seen.place, before.sapi), seen.proof) else { return };
                row.n_pdus += 1;
                row.n_pdu_max = row.n_pdu_max.max(u64::from(it.octets));
                if count > 1 {
                    row.split += 1;
                    row.split_segments += u64::from(count);
                }
            }
            _ => {}
        }
    }

    fn row(&mut self, key: (Direction, u16, u8), proof: Proof) -> Option<&mut Segmentation> {
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&key) {
            return None;
        }
        let (direction, place, sapi) = key;
        Some(self.rows.entry(key).or_insert(Segmentation {
            direction,
            place,
            sapi,
            ll_pdus: 0,
            octets: 0,
            llc_header_octets: 0,
            sndcp_header_octets: 0,
            information_max: 0,
            longest: proof,
            n_pdus: 0,
            split: 0,
            split_segments: 0,
            n_pdu_max: 0,
            later: 0,
            later_header_octets: 0,
            last: 0,
            last_information: 0,
        }))
    }

    pub(super) fn finish(self) -> Vec<Segmentation> {
        self.rows.into_values().collect()
    }
}

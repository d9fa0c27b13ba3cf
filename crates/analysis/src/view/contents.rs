//! What is in captures, and what they cannot tell.

use crate::reading::{Counts, Place, Reading};
use crate::record::{Carrier, Fcs, Kind, Record, Stamp};
use std::collections::BTreeMap;

/// What is in captures.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// Time of the first record.
    pub first: Option<Stamp>,
    /// Time of the last record.
    pub last: Option<Stamp>,
    /// Places.
    pub places: Vec<Place>,
    /// Records by place and layer.
    pub layers: BTreeMap<(u16, &'static str), u64>,
    /// LL-PDUs by what their frame check sequence says: right, wrong, ciphered, cut.
    pub fcs: [u64; 4],
    /// N-PDUs that came compressed, so that they are not read.
    pub compressed: u64,
    /// Records of each mobile.
    pub mobiles: BTreeMap<u32, u64>,
    /// What was counted.
    pub counts: Counts,
}

impl Contents {
    /// Reads all that is left of a reading.
    #[must_use]
    pub fn of(reading: &mut Reading) -> Self {
        let mut contents = Self::default();
        for seen in reading.by_ref() {
            contents.first.get_or_insert(seen.at);
            contents.last = contents.last.max(Some(seen.at));
            *contents.layers.entry((seen.place, seen.what.layer())).or_default() += 1;
            if let Some(mobile) = seen.what.mobile() {
                *contents.mobiles.entry(mobile).or_default() += 1;
            }
            match &seen.what {
                Record::Llc(ll_pdu) => {
                    let [right, wrong, ciphered, cut] = &mut contents.fcs;
                    *match ll_pdu.fcs {
                        Fcs::Right => right,
                        Fcs::Wrong => wrong,
                        Fcs::Ciphered => ciphered,
                        Fcs::Cut => cut,
                    } += 1;
                }
                Record::Packet(packet) if packet.ip.is_none() => {
                    contents.compressed += u64::from(matches!(packet.carrier, Carrier::Segments { .. }));
                }
                _ => {}
            }
        }
        let mut mobiles = BTreeMap::new();
        for (mobile, count) in core::mem::take(&mut contents.mobiles) {
            *mobiles.entry(reading.mobiles().canonical(mobile)).or_default() += count;
        }
        contents.mobiles = mobiles;
        contents.places = reading.places().to_vec();
        contents.counts = reading.counts();
        contents
    }

    /// Records of a layer at all places.
    #[must_use]
    pub fn layer(&self, layer: &str) -> u64 {
        self.layers.iter().filter(|((_, of), _)| *of == layer).map(|(_, count)| count).sum()
    }

    /// What these captures cannot tell, in sentences. [`Reading::damages`] says which of them are damaged.
    #[must_use]
    pub fn unknowns(&self, reading: &Reading) -> Vec<String> {
        let has = |kind| self.places.iter().any(|place| place.kind == kind);
        let mut unknowns = Vec::new();
        let mut say = |is_so: bool, text: &str| {
            if is_so {
                unknowns.push(text.to_owned());
            }
        };
        say(!has(Kind::Radio), "No radio: nothing is known of RLC blocks, TBFs and coding schemes.");
        say(!has(Kind::Gb), "No Gb: nothing is known of BSSGP, flow control and the SGSN's LL-PDUs.");
        say(!has(Kind::Gn), "No Gn: nothing is known of tunnels.");
        say(!has(Kind::Ip), "No plain IP: no host and no Gi was captured, so delays end at the core.");
        let nameless = reading.mobiles().all().filter(|(_, mobile)| mobile.imsi.is_none()).count();
        let [_, _, ciphered, _] = self.fcs;
        for (count, text) in [
            (
                nameless as u64,
                "mobiles without an IMSI: their attach or Create PDP Context is not in the capture.",
            ),
            (ciphered, "LL-PDUs are ciphered and no key opens them: their N-PDUs are unknown."),
            (self.compressed, "N-PDUs are compressed: their headers are not read."),
            (self.counts.cut, "frames are cut by the capture: segments of N-PDUs in them are not joined."),
            (self.counts.n_pdus_lost, "N-PDUs lack a segment."),
            (self.counts.fragments_missing, "IP packets of the core lack a fragment."),
            (self.counts.rlc.missing, "RLC blocks are missing, as far as their numbers tell."),
            (self.counts.rlc.lost, "LL-PDUs on the radio never ended."),
            (self.counts.unknown_links, "frames are of a type of link that is not read."),
            (self.counts.out_of_order, "records are out of the order of time."),
            (self.counts.beyond_tables, "names or segments were left out because a table was full."),
        ] {
            if count > 0 {
                unknowns.push(format!("{count} {text}"));
            }
        }
        unknowns
    }
}

//! SN-PDUs to N-PDUs (44.065, clauses 6.7 and 6.8).

use crate::record::{Proof, Stamp};
use gannet_wire::sndcp::{Compression, Header, Pdu, SEGMENTS_MAX};
use std::collections::{HashMap, VecDeque};

/// N-PDUs of one context that wait for segments.
const OPEN_MAX: usize = 8;
/// Contexts whose segments wait.
const CONTEXTS_MAX: usize = 16_384;
/// Octets of the longest N-PDU that is believed: sixteen segments of 1520.
const N_PDU_MAX: usize = 16 * 1520;

/// Whose N-PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContextKey {
    /// Place of the reading.
    pub place: u16,
    /// Up.
    pub is_up: bool,
    /// The mobile's index.
    pub mobile: u32,
    /// Context.
    pub nsapi: u8,
}

/// An N-PDU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NPdu {
    /// Its octets, compressed as they came.
    pub octets: Vec<u8>,
    /// How.
    pub compression: Compression,
    /// Its number.
    pub number: u16,
    /// Segments.
    pub count: u8,
    /// When its first segment was seen, or the first block of that.
    pub began: Stamp,
    /// The frame of that.
    pub first: Proof,
}

#[derive(Debug)]
struct Open {
    number: u16,
    compression: Compression,
    segments: [Option<Vec<u8>>; SEGMENTS_MAX],
    last: Option<u8>,
    began: Stamp,
    first: Proof,
}

#[derive(Debug, Default)]
struct Context {
    open: VecDeque<Open>,
    /// Acknowledged mode: segments come in their order.
    row: Option<NPdu>,
}

/// Contexts whose segments wait.
#[derive(Debug, Default)]
pub struct NPdus {
    contexts: HashMap<ContextKey, Context, foldhash::quality::RandomState>,
    /// N-PDUs of which not all segments came.
    pub lost: u64,
}

impl NPdus {
    /// Takes a segment. The N-PDU, where it is complete with it.
    pub fn take(
        &mut self,
        key: ContextKey,
        header: &Header,
        segment: &[u8],
        (began, first): (Stamp, Proof),
    ) -> Option<NPdu> {
        match header.pdu {
            Pdu::Unitdata { first: Some(compression), segment: 0, number } if !header.more => {
                Some(NPdu { octets: segment.to_vec(), compression, number, count: 1, began, first })
            }
            Pdu::Unitdata { first: compression, segment: at, number } => {
                let lost = &mut self.lost;
                let context = context(&mut self.contexts, key, lost);
                context.unitdata(number, at, compression, (header.more, segment), (began, first), lost)
            }
            Pdu::Data { first: Some((compression, number)) } => {
                let lost = &mut self.lost;
                let number = u16::from(number);
                let whole = NPdu { octets: segment.to_vec(), compression, number, count: 1, began, first };
                let context = context(&mut self.contexts, key, lost);
                *lost += u64::from(context.row.take().is_some());
                if !header.more {
                    return Some(whole);
                }
                context.row = Some(whole);
                None
            }
            Pdu::Data { first: None } => {
                let row = &mut self.contexts.get_mut(&key)?.row;
                let n_pdu = row.as_mut()?;
                n_pdu.octets.extend_from_slice(segment);
                n_pdu.count = n_pdu.count.saturating_add(1);
                if n_pdu.octets.len() > N_PDU_MAX {
                    *row = None;
                    self.lost += 1;
                    return None;
                }
                if header.more { None } else { row.take() }
            }
        }
    }
}

fn context<'a>(
    contexts: &'a mut HashMap<ContextKey, Context, foldhash::quality::RandomState>,
    key: ContextKey,
    lost: &mut u64,
) -> &'a mut Context {
    if contexts.len() >= CONTEXTS_MAX && !contexts.contains_key(&key) {
        *lost += contexts.values().map(|context| context.open.len() as u64).sum::<u64>();
        contexts.clear();
    }
    contexts.entry(key).or_default()
}

impl Context {
    fn unitdata(
        &mut self,
        number: u16,
        at: u8,
        compression: Option<Compression>,
        (more, segment): (bool, &[u8]),
        (began, first): (Stamp, Proof),
        lost: &mut u64,
    ) -> Option<NPdu> {
        let place = self.open.iter().position(|open| open.number == number);
        let place = place.unwrap_or_else(|| {
            if self.open.len() == OPEN_MAX {
                self.open.pop_front();
                *lost += 1;
            }
            let segments = [const { None }; SEGMENTS_MAX];
            self.open.push_back(Open {
                number,
                compression: Compression::NONE,
                segments,
                last: None,
                began,
                first,
            });
            self.open.len() - 1
        });
        let open = self.open.get_mut(place)?;
        if let Some(compression) = compression {
            open.compression = compression;
        }
        if !more {
            open.last = Some(at);
        }
        *open.segments.get_mut(usize::from(at))? = Some(segment.to_vec());
        let count = open.last? + 1;
        let needed = open.segments.get(..usize::from(count))?;
        if needed.iter().any(Option::is_none) {
            return None;
        }
        let octets = needed.iter().flatten().flatten().copied().collect();
        let (compression, began, first) = (open.compression, open.began, open.first);
        self.open.remove(place);
        Some(NPdu { octets, compression, number, count, began, first })
    }
}

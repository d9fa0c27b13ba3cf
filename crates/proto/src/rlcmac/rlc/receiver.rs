//! The receiving side of a TBF: 04.60 (44.060) clauses 9.1.4 to 9.1.8, 9.1.12.

use super::{LL_PDU_MAX, Mode, ReceiverCounts, Report, SNS, WINDOW, modulo};
use core::fmt;
use gannet_wire::DecodeError;
use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::block::{Body, Contents};
use std::collections::VecDeque;

/// An LL-PDU for the layer above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlPduOctets<'a> {
    /// Its octets. Where blocks are missing, zeros stand in their place.
    pub octets: &'a [u8],
    /// Blocks that never came and that it may have octets in. Never any in acknowledged mode.
    pub missing: u32,
}

/// What a block brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// It came for the first time.
    pub is_new: bool,
    /// The TLLI in it.
    pub tlli: Option<Tlli>,
}

/// Why a block was not taken. It is as if it had not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Its BSN was never sent, or lies behind the final block.
    Outside {
        /// Its BSN.
        bsn: u8,
        /// V(Q): the oldest that is missing.
        v_q: u8,
    },
    /// Its length indicators contradict its length.
    Malformed(DecodeError),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside { bsn, v_q } => write!(f, "BSN {bsn} is no block of the window at V(Q) = {v_q}"),
            Self::Malformed(error) => write!(f, "{error}"),
        }
    }
}

/// The receiver.
#[derive(Debug, Clone)]
pub struct Receiver {
    mode: Mode,
    /// V(Q), not modulo anything.
    v_q: u32,
    /// The blocks V(Q) to V(R) - 1, where they came.
    held: VecDeque<Option<Body>>,
    /// V(N) of the 64 blocks before V(R), the newest in the least significant bit.
    seen: u64,
    /// The number of the final block.
    last: Option<u32>,
    pdu: Vec<u8>,
    /// Blocks that are missing in it.
    missing: u32,
    /// It is longer than it may be: the rest of it is thrown away.
    is_too_long: bool,
    counts: ReceiverCounts,
}

impl Receiver {
    /// The receiver of a new TBF.
    #[must_use]
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            v_q: 0,
            held: VecDeque::new(),
            seen: 0,
            last: None,
            pdu: Vec::new(),
            missing: 0,
            is_too_long: false,
            counts: ReceiverCounts::default(),
        }
    }

    /// Takes a block, and gives `deliver` the LL-PDUs that are whole now, in their order. `is_final`: FBI downlink, countdown value
    /// 0 uplink.
    ///
    /// # Errors
    /// What is wrong with the block; nothing changed but the counts.
    pub fn receive(
        &mut self,
        bsn: u8,
        is_final: bool,
        body: &Body,
        mut deliver: impl FnMut(LlPduOctets<'_>),
    ) -> Result<Received, Refused> {
        let contents = body.contents().map_err(|error| {
            self.counts.malformed += 1;
            Refused::Malformed(error)
        })?;
        let tlli = contents.tlli;
        let ahead = u32::from(bsn.wrapping_sub(self.v_q()) % SNS);
        let number = self.v_q + ahead;
        if ahead >= u32::from(WINDOW) {
            return self.old_block(bsn, u32::from(SNS) - ahead, tlli);
        }
        let ends = |last: u32| number > last;
        if self.last.is_some_and(ends) || (is_final && number + 1 < self.v_r_whole()) {
            return Err(self.outside(bsn));
        }
        let place = ahead as usize;
        if self.held.get(place).is_some_and(Option::is_some) {
            self.counts.duplicates += 1;
            return Ok(Received { is_new: false, tlli });
        }
        self.mark(number);
        if is_final {
            self.last = Some(number);
        }
        self.counts.accepted += 1;
        match self.mode {
            Mode::Acknowledged => {
                while self.held.len() <= place {
                    self.held.push_back(None);
                }
                if let Some(held) = self.held.get_mut(place) {
                    *held = Some(*body);
                }
                self.deliver_in_order(&mut deliver);
            }
            Mode::Unacknowledged => {
                self.fill(ahead, body.scheme().data_octets());
                self.v_q = number + 1;
                self.take(&contents, is_final, &mut deliver);
            }
        }
        Ok(Received { is_new: true, tlli })
    }

    /// What came, for the Ack/Nack Description of an acknowledgement.
    #[must_use]
    pub fn report(&self) -> Report {
        Report { ssn: self.v_r(), bitmap: self.seen, is_final: self.is_complete() }
    }

    /// The final block and all before it are there. In unacknowledged mode, the final block.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.last.is_some_and(|last| self.v_q == last + 1)
    }

    /// V(R): the BSN behind the newest block that came.
    #[must_use]
    pub fn v_r(&self) -> u8 {
        modulo(self.v_r_whole())
    }

    /// V(Q): the BSN of the oldest block that is missing.
    #[must_use]
    pub const fn v_q(&self) -> u8 {
        modulo(self.v_q)
    }

    /// Blocks that are missing before the newest that came: a report would have them sent again.
    #[must_use]
    pub fn holes(&self) -> usize {
        self.held.iter().filter(|held| held.is_none()).count()
    }

    /// Octets of an LL-PDU that is not whole. A TBF that ends now throws them away.
    #[must_use]
    pub fn unfinished_octets(&self) -> usize {
        self.pdu.len()
    }

    /// What came so far.
    #[must_use]
    pub const fn counts(&self) -> &ReceiverCounts {
        &self.counts
    }

    fn v_r_whole(&self) -> u32 {
        self.v_q + u32::try_from(self.held.len()).unwrap_or(u32::MAX)
    }

    fn outside(&mut self, bsn: u8) -> Refused {
        self.counts.outside += 1;
        Refused::Outside { bsn, v_q: self.v_q() }
    }

    /// A block `back` before V(Q): it came, or it was given up.
    fn old_block(&mut self, bsn: u8, back: u32, tlli: Option<Tlli>) -> Result<Received, Refused> {
        if back > self.v_q {
            return Err(self.outside(bsn));
        }
        self.counts.duplicates += 1;
        Ok(Received { is_new: false, tlli })
    }

    /// Sets V(N) of a block to RECEIVED; V(R) goes on where it is newer than all others.
    fn mark(&mut self, number: u32) {
        let v_r = self.v_r_whole();
        if number >= v_r {
            self.seen = self.seen.checked_shl(number + 1 - v_r).unwrap_or(0) | 1;
        } else {
            self.seen |= 1_u64.checked_shl(v_r - 1 - number).unwrap_or(0);
        }
    }

    fn deliver_in_order(&mut self, deliver: &mut impl FnMut(LlPduOctets<'_>)) {
        while let Some(Some(body)) = self.held.front().copied() {
            self.held.pop_front();
            let is_final = self.last == Some(self.v_q);
            self.v_q += 1;
            if let Ok(contents) = body.contents() {
                self.take(&contents, is_final, deliver);
            }
        }
    }

    /// Zeros for blocks that never came.
    fn fill(&mut self, blocks: u32, octets_each: usize) {
        self.counts.missing += u64::from(blocks);
        self.missing += blocks;
        for _ in 0..blocks {
            self.append_zeros(octets_each);
        }
    }

    fn append_zeros(&mut self, octets: usize) {
        let len = self.pdu.len() + octets;
        self.is_too_long |= len > LL_PDU_MAX;
        if !self.is_too_long {
            self.pdu.resize(len, 0);
        }
    }

    fn take(&mut self, contents: &Contents<'_>, is_final: bool, deliver: &mut impl FnMut(LlPduOctets<'_>)) {
        let mut is_open = false;
        for segment in contents.segments() {
            self.is_too_long |= self.pdu.len() + segment.octets.len() > LL_PDU_MAX;
            if !self.is_too_long {
                self.pdu.extend_from_slice(segment.octets);
            }
            is_open = !segment.is_last;
            if segment.is_last {
                self.end_pdu(deliver);
            }
        }
        if is_final && is_open {
            self.end_pdu(deliver);
        }
    }

    fn end_pdu(&mut self, deliver: &mut impl FnMut(LlPduOctets<'_>)) {
        let missing = core::mem::take(&mut self.missing);
        if core::mem::take(&mut self.is_too_long) {
            self.counts.too_long += 1;
        } else {
            self.counts.ll_pdus += 1;
            self.counts.ll_pdu_octets += self.pdu.len() as u64;
            self.counts.damaged += u64::from(missing > 0);
            deliver(LlPduOctets { octets: &self.pdu, missing });
        }
        self.pdu.clear();
    }
}

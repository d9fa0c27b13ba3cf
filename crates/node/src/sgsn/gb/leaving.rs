//! LL-PDUs that conform now and have their cipher still before them: they are ciphered side by side, and leave together.
//!
//! Nobody waits for more of them: what has come together when the node has nothing further to send, or when a call of the
//! cipher is full, leaves. What is of real time leaves before the first that is not joins it. While nothing is to be
//! ciphered nothing is kept here, and a PDU in the clear goes its way at once; behind others it keeps its place.

use super::super::Sgsn;
use super::sending::Meta;
use gannet_proto::bssgp::flow_control::Pdu;
use gannet_proto::llc::cipher::{BatchCipher, Ciphering, Direction, Job};
use gannet_proto::machine::Context;
use gannet_proto::qos::class::CellClass;

/// LL-PDUs that leave together at most: what one call of AVX2 takes, in some 23 µs.
pub(in crate::sgsn) const TOGETHER: usize = 32;

/// What leaves together, with the number of its cell.
#[derive(Debug, Default)]
pub(in crate::sgsn) struct Leaving {
    pdus: Vec<(u32, Pdu<Meta>)>,
    /// Ciphered LL-PDUs that have left since somebody asked.
    ciphered: u32,
}

impl Leaving {
    /// Room for all of them, now.
    pub(super) fn new() -> Self {
        Self { pdus: Vec::with_capacity(TOGETHER), ciphered: 0 }
    }

    /// Whether anything was ciphered since this was asked last.
    pub(in crate::sgsn) const fn take_ciphered(&mut self) -> bool {
        core::mem::replace(&mut self.ciphered, 0) > 0
    }

    /// The ciphers of all of them.
    fn cipher(&mut self, ciphers: &dyn BatchCipher) {
        const NOTHING: Ciphering = Ciphering::NONE;
        let mut jobs = self.pdus.iter_mut().filter_map(|(_, pdu)| {
            let Pdu { meta, frame, .. } = pdu;
            meta.cipher.as_ref().map(|deferred| deferred.job(frame))
        });
        let mut count = 0;
        let mut batch: [Job<'_>; TOGETHER] = core::array::from_fn(|_| match jobs.next() {
            Some(job) => {
                count += 1;
                job
            }
            None => Job { ciphering: &NOTHING, input: 0, direction: Direction::Downlink, octets: &mut [] },
        });
        ciphers.apply(batch.get_mut(..count).unwrap_or_default());
        self.ciphered += u32::try_from(count).unwrap_or(u32::MAX);
    }
}

impl Sgsn {
    /// An LL-PDU that conforms now: it leaves at once where neither it nor what stands before it has a cipher to wait for.
    pub(super) fn leave(&mut self, cx: &mut Context<'_>, cell: u32, pdu: Pdu<Meta>) {
        let leaving = &self.gb.leaving.pdus;
        if pdu.meta.cipher.is_none() && leaving.is_empty() {
            self.send_pdu(cx, cell, pdu);
            return;
        }
        let is_urgent = |pdu: &Pdu<Meta>| matches!(pdu.class, CellClass::Signalling | CellClass::RealTime);
        let keeps_waiting = leaving.last().is_some_and(|(_, last)| is_urgent(last)) && !is_urgent(&pdu);
        if keeps_waiting || leaving.len() >= TOGETHER {
            self.let_leave(cx);
        }
        self.gb.leaving.pdus.push((cell, pdu));
    }

    /// What waits for its cipher gets it, and leaves.
    pub(super) fn let_leave(&mut self, cx: &mut Context<'_>) {
        if self.gb.leaving.pdus.is_empty() {
            return;
        }
        self.gb.leaving.cipher(cx.ciphers);
        let mut pdus = core::mem::take(&mut self.gb.leaving.pdus);
        for (cell, pdu) in pdus.drain(..) {
            self.send_pdu(cx, cell, pdu);
        }
        self.gb.leaving.pdus = pdus;
    }
}

//! The batches of downlink LL-PDUs that are ciphered together, once flow control has let them go.
//!
//! A batch is whatever conformed in one turn, or fills one call of the cipher; it is never held to fill up. Real time and
//! signalling have a batch of their own. It is ciphered and sent ahead of the other, at the latest when an LL-PDU joins the
//! other. A PDU in the clear is sent at once, or keeps its place behind the batch of its kind.

use super::super::Sgsn;
use super::sending::Meta;
use gannet_machine::Context;
use gannet_proto::bssgp::flow_control::Pdu;
use gannet_proto::llc::cipher::{BatchCipher, Ciphering, Direction, Job};
use gannet_qos::class::CellClass;

/// LL-PDUs that leave together at most: what one call of AVX2 takes, in some 23 µs.
pub(in crate::sgsn) const TOGETHER: usize = 32;

/// LL-PDUs with the numbers of their cells.
type Pdus = Vec<(u32, Pdu<Meta>)>;

/// What leaves together.
#[derive(Debug, Default)]
pub(in crate::sgsn) struct Leaving {
    urgent: Pdus,
    patient: Pdus,
    /// Ciphered LL-PDUs that have left since somebody asked.
    ciphered: u32,
}

impl Leaving {
    /// Room for all of them, now.
    pub(super) fn new() -> Self {
        Self { urgent: Vec::with_capacity(TOGETHER), patient: Vec::with_capacity(TOGETHER), ciphered: 0 }
    }

    /// True where somebody waits.
    pub(in crate::sgsn) const fn is_waiting(&self) -> bool {
        !(self.urgent.is_empty() && self.patient.is_empty())
    }

    /// Whether anything was ciphered since this was asked last.
    pub(in crate::sgsn) const fn take_ciphered(&mut self) -> bool {
        core::mem::replace(&mut self.ciphered, 0) > 0
    }
}

/// The ciphers of all of these. Gives how many they were.
fn cipher(pdus: &mut Pdus, ciphers: &dyn BatchCipher) -> usize {
    let jobs = pdus.iter_mut().filter_map(|(_, pdu)| {
        let Pdu { meta, frame, .. } = pdu;
        meta.cipher.as_ref().map(|deferred| deferred.job(frame))
    });
    side_by_side(jobs, ciphers)
}

/// Up to [`TOGETHER`] frames in one call. Gives how many they were.
pub(in crate::sgsn) fn side_by_side<'a>(
    mut jobs: impl Iterator<Item = Job<'a>>,
    ciphers: &dyn BatchCipher,
) -> usize {
    const NOTHING: Ciphering = Ciphering::NONE;
    let mut count = 0;
    let mut batch: [Job<'_>; TOGETHER] = core::array::from_fn(|_| match jobs.next() {
        Some(job) => {
            count += 1;
            job
        }
        None => Job { ciphering: &NOTHING, input: 0, direction: Direction::Downlink, octets: &mut [] },
    });
    ciphers.apply(batch.get_mut(..count).unwrap_or_default());
    count
}

impl Sgsn {
    /// An LL-PDU that conforms now: it is sent at once where neither it nor the batch before it waits for a cipher.
    pub(super) fn batch_for_ciphering(&mut self, cx: &mut Context<'_>, cell: u32, pdu: Pdu<Meta>) {
        let is_urgent = matches!(pdu.class, CellClass::Signalling | CellClass::RealTime);
        let leaving = &mut self.gb.leaving;
        let before = if is_urgent { &leaving.urgent } else { &leaving.patient };
        if pdu.meta.cipher.is_none() && before.is_empty() {
            self.send_pdu(cx, cell, pdu);
            return;
        }
        if before.len() >= TOGETHER {
            self.flush_cipher_batch(cx);
        } else if !is_urgent {
            self.flush_urgent_batch(cx);
        }
        let leaving = &mut self.gb.leaving;
        let among = if is_urgent { &mut leaving.urgent } else { &mut leaving.patient };
        among.push((cell, pdu));
    }

    /// Ciphers both batches and sends them, the urgent one first.
    pub(super) fn flush_cipher_batch(&mut self, cx: &mut Context<'_>) {
        self.flush_urgent_batch(cx);
        if !self.gb.leaving.patient.is_empty() {
            let pdus = core::mem::take(&mut self.gb.leaving.patient);
            self.gb.leaving.patient = self.cipher_and_send(cx, pdus);
        }
    }

    fn flush_urgent_batch(&mut self, cx: &mut Context<'_>) {
        if !self.gb.leaving.urgent.is_empty() {
            let pdus = core::mem::take(&mut self.gb.leaving.urgent);
            self.gb.leaving.urgent = self.cipher_and_send(cx, pdus);
        }
    }

    /// Ciphers a batch and sends it; gives its memory back.
    fn cipher_and_send(&mut self, cx: &mut Context<'_>, mut pdus: Pdus) -> Pdus {
        let count = cipher(&mut pdus, self.ciphers);
        self.gb.leaving.ciphered += u32::try_from(count).unwrap_or(u32::MAX);
        for (cell, pdu) in pdus.drain(..) {
            self.send_pdu(cx, cell, pdu);
        }
        pdus
    }
}

//! Flows whose LL-PDUs come ciphered: what the sink's program has to know to read some of them.
//!
//! Whose an LL-PDU is and which one it is stands in the clear, as TLLI and N(U): so all are counted, and none is counted
//! twice. What is ciphered costs the sink 0.2 µs for each eight octets. So the mark, which tells apart what came for the
//! wrong mobile and says how long it took, is read in one of [`TrafficConfig::read_every`] only, and in each one of flows
//! with [`FlowSpec::each`]; all octets and the FCS are in one of [`TrafficConfig::whole_every`]. A result says how many were
//! not read, and how many as a whole.

use super::Traffic;
use super::config::{Direction, FlowSpec, TrafficConfig};
use super::result::Samples;
use core::sync::atomic::Ordering::Relaxed;
use gannet_proto::llc::Algorithm;
use gannet_proto::llc::cipher::kasumi::{Kasumi, S7, S9};
use gannet_proto::llc::cipher::ui_input;
use gannet_rig::layout::{self, FLOW_CIPHERED, FLOW_EACH};
use gannet_wire::id::Sapi;

/// Flags of a flow that say how it is read.
pub(super) const fn flags_of(spec: &FlowSpec) -> u8 {
    match spec.cipher {
        Some(_) if spec.each => FLOW_CIPHERED | FLOW_EACH,
        Some(_) => FLOW_CIPHERED,
        None => 0,
    }
}

/// KASUMI's S-boxes for the program.
pub(super) fn fill_tables(tables: &layout::Tables) {
    for (to, from) in tables.s9.iter().zip(S9) {
        to.store(from, Relaxed);
    }
    for (to, from) in tables.s7.iter().zip(S7) {
        to.store(from, Relaxed);
    }
}

impl TrafficConfig {
    /// How much of what comes ciphered is read; `None` where nothing does.
    pub(super) fn samples(&self) -> Option<Samples> {
        let Self { read_every, whole_every, .. } = *self;
        let ciphered = self.flows.iter().any(|flow| flow.cipher.is_some());
        ciphered.then_some(Samples { read_every, whole_every })
    }

    /// Reads so much of what comes ciphered.
    pub const fn set_samples(&mut self, samples: Samples) {
        (self.read_every, self.whole_every) = (samples.read_every, samples.whole_every);
    }

    pub(super) fn check_ciphers(&self) -> Result<(), String> {
        for every in [self.read_every, self.whole_every] {
            if !every.is_power_of_two() {
                return Err(format!("one of {every} cannot be read: only of a power of two"));
            }
        }
        if self.segmented && self.samples().is_some() {
            return Err("segments that come ciphered are not put together at the driver".to_owned());
        }
        for (number, flow) in self.flows.iter().enumerate() {
            let Some(cipher) = &flow.cipher else { continue };
            let algorithm = cipher.ciphering.algorithm();
            if flow.direction == Direction::Up {
                return Err(format!("flow {number}: frames that the driver makes go up in the clear"));
            }
            if !matches!(algorithm, Algorithm::Gea3 | Algorithm::Gea4) {
                return Err(format!("flow {number}: {algorithm:?} is not deciphered at the driver"));
            }
        }
        Ok(())
    }
}

impl Traffic {
    /// The key of a flow. With a new one its numbers begin where its mobile's do.
    pub(super) fn fill_secret(&self, number: u32, spec: &FlowSpec) {
        let (Some(cipher), Some(secret), Some(seen)) =
            (spec.cipher, self.secrets.get(number as usize), self.seens.get(number as usize))
        else {
            return;
        };
        let subkeys = Kasumi::new([cipher.ciphering.kc().ck()]).subkeys();
        let offset = ui_input(cipher.iov_ui, Sapi(spec.sapi), 0);
        let mut is_new = secret.offset.swap(offset, Relaxed) != offset;
        for (to, from) in secret.rounds.iter().flatten().zip(subkeys.as_flattened()) {
            is_new |= to.swap(*from, Relaxed) != *from;
        }
        if is_new {
            seen.next.store(cipher.expected, Relaxed);
            seen.window.store(0, Relaxed);
        }
    }
}

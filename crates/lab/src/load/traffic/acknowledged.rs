//! Flows that come in acknowledged mode: the sink takes their I frames and answers them (`bpf/answer.h`).
//!
//! Whoever measures the SGSN has to choose when an acknowledgement comes. With [`TrafficConfig::answer_after`] 0 it comes at once,
//! so that an SGSN that asks whenever nothing is asked for asks with each I frame: as many acknowledgements as N-PDUs. A mobile
//! behind a radio path has its acknowledgement at the SGSN a round trip later, when some more I frames have gone out.

use super::config::{Direction, TrafficConfig};
use gannet_wire::sndcp::DATA_FIRST_LEN;

/// N201-I of SAPI 3 as long as nobody has negotiated another one, octets (04.64 clause 8.9, table 9 [44.064]).
const N201_I: usize = 1503;
/// I frames that follow before an acknowledgement is sent, at most: with the one that asks they are fewer than the window of SAPI 3,
/// k = 16, at whose end the SGSN would stand.
pub const ANSWER_AFTER_MAX: u8 = 14;

impl TrafficConfig {
    /// Does anything come in acknowledged mode?
    pub(super) fn is_acknowledged(&self) -> bool {
        self.flows.iter().any(|flow| flow.received.is_some())
    }

    pub(super) fn check_acknowledged(&self) -> Result<(), String> {
        if self.answer_after > ANSWER_AFTER_MAX {
            return Err(format!(
                "an acknowledgement comes at most {ANSWER_AFTER_MAX} I frames after it was asked for, not {}",
                self.answer_after
            ));
        }
        for (number, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.received.is_some()) {
            if flow.direction == Direction::Up {
                return Err(format!(
                    "flow {number}: frames that the driver makes go up in unacknowledged mode"
                ));
            }
            if flow.cipher.is_some() {
                return Err(format!("flow {number}: I frames that come ciphered are not read at the driver"));
            }
            if usize::from(flow.size) + DATA_FIRST_LEN > N201_I {
                return Err(format!(
                    "flow {number}: I frames carry N-PDUs of {} octets at most",
                    N201_I - DATA_FIRST_LEN
                ));
            }
        }
        Ok(())
    }
}

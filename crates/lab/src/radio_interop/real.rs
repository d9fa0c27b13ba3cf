//! A chain with a real phone stack, as it was measured: osmo-bts-virtual, osmo-pcu 1.1.0, osmo-sgsn 1.9.0 and osmo-ggsn 1.9.0.
//!
//! Its radio was captured as GSMTAP and its core as pcapng, by one clock. Downlink data blocks are CS-4 in timeslots 4 to 7, those
//! uplink CS-4 in timeslot 6. A downlink TBF that has nothing to send stays, and the mobile is polled each 270 ms with a dummy LL-PDU.
//! The pings have 56 octets of data. All times are means of the 15 pings, in ms.

/// Mean round trips of two runs.
pub(super) const RTT_MS: (f64, f64) = (354.0, 377.0);
/// Least and greatest round trip of the run that was captured.
pub(super) const RTT_SPREAD_MS: (f64, f64) = (239.0, 488.0);
/// TCP downlink: a file by HTTP, and iperf3.
pub(super) const DOWN_KBPS: (f64, f64) = (68.0, 72.0);
/// TCP uplink.
pub(super) const UP_KBPS: f64 = 16.0;
/// How often the mobile was polled: 57 and 60 TDMA frames in turns.
pub(super) const IDLE_POLL_MS: u16 = 270;

/// From PACKET DOWNLINK ACK/NACK, with which the mobile asks, to PACKET UPLINK ASSIGNMENT.
pub(super) const TO_ASSIGNMENT_MS: f64 = 39.3;
/// From there to PACKET CONTROL ACKNOWLEDGEMENT: osmo-pcu has the assignment confirmed.
pub(super) const TO_CONFIRMATION_MS: f64 = 60.0;
/// From there to the first data block.
pub(super) const TO_FIRST_BLOCK_MS: f64 = 60.0;
/// From the first data block until the LL-PDU stands on Gb.
pub(super) const UPLINK_BLOCKS_MS: f64 = 22.0;
/// SGSN, GGSN and host.
pub(super) const NETWORK_MS: f64 = 0.2;
/// From the LL-PDU on Gb to its last block.
pub(super) const DOWNLINK_BLOCKS_MS: f64 = 39.0;

/// What is left of the mean round trip: the mobile waits until it is polled, and the hosts. The capture does not have it.
pub(super) fn wait_ms() -> f64 {
    let seen = TO_ASSIGNMENT_MS
        + TO_CONFIRMATION_MS
        + TO_FIRST_BLOCK_MS
        + UPLINK_BLOCKS_MS
        + NETWORK_MS
        + DOWNLINK_BLOCKS_MS;
    RTT_MS.1 - seen
}

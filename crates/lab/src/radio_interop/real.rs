//! A chain with a real phone stack, as it was measured: osmo-bts-virtual, osmo-pcu 1.1.0, osmo-sgsn 1.9.0 and osmo-ggsn 1.9.0.
//!
//! Its radio was captured as GSMTAP and its core as pcapng, by one clock. Downlink data blocks are CS-4 in timeslots 4 to 7, those
//! uplink CS-4 in timeslot 6. A downlink TBF that has nothing to send stays, and the mobile is polled each 270 ms with a dummy LL-PDU.
//! The pings have 56 octets of data. All times are means of the 15 pings, in ms.
//! A test computes those of the captures from what `crates/lab/tests/real_phone_pings.txt` has of them. Round trips and rates are what ping and
//! iperf3 printed.

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

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_proto::rlcmac::block::{DownBlock, UpBlock};
    use gannet_proto::rlcmac::signal::{Down, Up};

    const PINGS: &str = include_str!("../../tests/real_phone_pings.txt");

    /// What was seen, and when, in microseconds.
    struct Seen {
        at: u64,
        /// Interface and direction.
        place: &'static str,
        octets: Vec<u8>,
    }

    fn octets_of(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn pings() -> Vec<Vec<Seen>> {
        let mut pings: Vec<Vec<Seen>> = Vec::new();
        for line in PINGS.lines().filter(|line| !line.starts_with('#')) {
            if line.starts_with("ping ") {
                pings.push(Vec::new());
                continue;
            }
            let words: Vec<&'static str> = line.split(' ').collect();
            let [at, place, _, hex] = words[..] else { panic!("{line}") };
            pings.last_mut().unwrap().push(Seen { at: at.parse().unwrap(), place, octets: octets_of(hex) });
        }
        pings
    }

    /// Parts of one ping, in the order of the constants.
    fn parts(ping: &[Seen]) -> [f64; 6] {
        let up = |is: &dyn Fn(&UpBlock) -> bool| {
            let is_it = |seen: &&Seen| {
                seen.place == "um-up" && UpBlock::parse(&seen.octets).unwrap().as_ref().is_some_and(is)
            };
            ping.iter().find(is_it).unwrap().at
        };
        let down = |seen: &&Seen| DownBlock::parse(&seen.octets).ok().filter(|_| seen.place == "um-down");
        let is_assignment = |block: &DownBlock| {
            matches!(block, DownBlock::Control { message: Down::UplinkAssignment { .. }, .. })
        };
        let on_gb = |place: &str| ping.iter().find(|seen| seen.place == place).unwrap().at;
        let asked =
            up(&|block| matches!(block, UpBlock::Control(Up::DownlinkAckNack { wants_uplink: Some(_), .. })));
        let assigned = ping.iter().find(|seen| down(seen).as_ref().is_some_and(is_assignment)).unwrap().at;
        let confirmed = up(&|block| matches!(block, UpBlock::Control(Up::ControlAck { .. })));
        let first = up(&|block| matches!(block, UpBlock::Data { .. }));
        let (request, reply) = (on_gb("gb-up"), on_gb("gb-down"));
        let is_of_reply =
            |seen: &&Seen| seen.at > reply && matches!(down(seen), Some(DownBlock::Data { .. }));
        let last = ping.iter().filter(is_of_reply).map(|seen| seen.at).max().unwrap();
        let times = [asked, assigned, confirmed, first, request, reply, last];
        core::array::from_fn(|at| (times[at + 1] - times[at]) as f64 / 1000.0)
    }

    #[test]
    fn the_parts_are_those_of_the_captures() {
        let pings = pings();
        assert_eq!(pings.len(), 15);
        let all: Vec<[f64; 6]> = pings.iter().map(|ping| parts(ping)).collect();
        let mean = |at: usize| all.iter().map(|parts| parts[at]).sum::<f64>() / all.len() as f64;
        let constants = [
            TO_ASSIGNMENT_MS,
            TO_CONFIRMATION_MS,
            TO_FIRST_BLOCK_MS,
            UPLINK_BLOCKS_MS,
            NETWORK_MS,
            DOWNLINK_BLOCKS_MS,
        ];
        for (at, constant) in constants.into_iter().enumerate() {
            assert!((mean(at) - constant).abs() < 0.1, "part {at}: {:.2} ms, not {constant}", mean(at));
        }
        // What is left of the round trip that the phone's ping printed, which no capture has.
        assert!((wait_ms() + all.iter().flatten().sum::<f64>() / 15.0 - RTT_MS.1).abs() < 0.5);
    }
}

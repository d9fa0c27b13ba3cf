//! How user data comes in and is served, as the SGSN node takes it.

use gannet_machine::time::Duration;
use gannet_node::sgsn::admission::{AdmissionConfig, Otherwise};
use gannet_node::sgsn::flows::{Ingress, QueueConfig};
use gannet_node::sgsn::quality::Ceilings;
use gannet_node::sgsn::{Policing, SgsnConfig};
use gannet_ops::config::sgsn as ops;
use gannet_qos::token_bucket::Rate;
use gannet_wire::l3::ie::{PeakThroughput, PrecedenceClass, ReliabilityClass};
use gannet_wire::sndcp::SEGMENTS_MAX;

/// Frames at the input for each PDP context, as long as there are not too many of them.
const FRAMES_PER_CONTEXT: usize = 16;
/// More frames than these are taken only where an operator says so: 512 MiB.
const QUEUE_FRAMES_MAX: usize = 1 << 18;
/// Where nobody has said how many mobiles there are.
const QUEUE_FRAMES: usize = 1 << 15;
/// And less are never enough.
const QUEUE_FRAMES_MIN: usize = 4096;
/// LL-PDUs of user data that may wait for each mobile on the uplink, as long as there are not too many mobiles: they wait
/// for nothing but processing.
const UPLINK_FRAMES_PER_MOBILE: usize = 4;
/// And all together at most, 16 MiB: each has its share of what is left of them.
const UPLINK_FRAMES_MAX: usize = 1 << 13;

/// Puts what an operator wrote about ingress, queues and quality into the node's configuration.
pub fn apply(config: &ops::SgsnConfig, node: &mut SgsnConfig, remarks: &mut Vec<String>) {
    let service = &config.service;
    let millis = |ms: u16| Duration::from_millis(ms.into());
    node.ingress = match service.ingress {
        ops::Ingress::Fifo => Ingress::Fifo,
        ops::Ingress::Auto | ops::Ingress::Reuseport | ops::Ingress::Xdp => Ingress::Queued,
    };
    node.contexts_max = config.limits.contexts.map(|contexts| contexts as usize);
    node.policing = service.policing.then(|| Policing { burst: millis(service.policing_burst_ms) });
    let [mbr_down_kbps, mbr_up_kbps] = service.ceilings.mbr_kbps;
    node.ceilings = Ceilings {
        peak: PeakThroughput(service.ceilings.peak),
        mbr_down_kbps,
        mbr_up_kbps,
        real_time: service.ceilings.real_time,
        precedence: PrecedenceClass(service.ceilings.precedence),
        reliability: ReliabilityClass(service.ceilings.reliability),
    };
    let ops::Admission { cell_percent, node_kbit, rejects } = service.admission;
    node.admission = AdmissionConfig {
        cell_percent,
        node_octets_per_s: node_kbit.map(|kbit| u64::from(kbit) * 125),
        otherwise: if rejects { Otherwise::Reject } else { Otherwise::LowerClass },
    };
    let pdus_max = queue_frames(service, node, remarks);
    let percent = u32::from(service.real_time_node_percent);
    let defaults = QueueConfig::default();
    node.queue = QueueConfig {
        pdus_max,
        uplink_pdus_max: uplink_frames(service, node),
        // No cell takes more than half of all.
        cell_pdus_max: (pdus_max / 2).max(1),
        buffer: millis(service.buffer_ms),
        // Nanoseconds of processing in each second, and those of ten milliseconds at once.
        node_real_time: (percent < 100)
            .then(|| Rate { per_s: percent * 10_000_000, burst: percent * 100_000 }),
        cell_real_time: service.real_time_cell_kbit.map(cell_rate),
        ..defaults
    };
}

/// Octets per second, and those of a tenth of a second at once, at least an N-PDU of full size.
fn cell_rate(kbit: u32) -> Rate {
    let per_s = kbit.saturating_mul(125);
    Rate { per_s, burst: (per_s / 10).max(1520) }
}

/// N-PDUs that may wait at the input of all contexts together.
fn queue_frames(service: &ops::Service, node: &SgsnConfig, remarks: &mut Vec<String>) -> u32 {
    if node.ingress == Ingress::Fifo {
        return 1;
    }
    let contexts = node.contexts_limit();
    let frames = match service.frames {
        Some(frames) => frames as usize / 2,
        None if node.mobiles_max == ops::Limits::default().mobiles as usize => QUEUE_FRAMES,
        None => {
            let wanted = contexts.saturating_mul(FRAMES_PER_CONTEXT);
            if contexts > QUEUE_FRAMES_MAX {
                remarks.push(format!(
                    "{contexts} PDP contexts share {QUEUE_FRAMES_MAX} frames at the input; 'max-frames' gives them more"
                ));
            }
            wanted.clamp(QUEUE_FRAMES_MIN, QUEUE_FRAMES_MAX)
        }
    };
    u32::try_from(frames).unwrap_or(u32::MAX)
}

/// LL-PDUs of user data from all mobiles that may wait.
fn uplink_frames(service: &ops::Service, node: &SgsnConfig) -> u32 {
    if node.ingress == Ingress::Fifo {
        return 1;
    }
    let wanted = node.mobiles_max.saturating_mul(UPLINK_FRAMES_PER_MOBILE);
    let wanted = wanted.clamp(QUEUE_FRAMES_MIN, UPLINK_FRAMES_MAX);
    let frames = service.frames.map_or(wanted, |frames| wanted.min(frames as usize / 8));
    u32::try_from(frames).unwrap_or(u32::MAX)
}

/// Frames of the node: what may wait at the same time, and a share for what is under way.
pub fn frames(config: &ops::Service, node: &SgsnConfig) -> usize {
    let SgsnConfig { flow, held_max, reassembly_max, queue, .. } = node;
    config.frames.map_or_else(
        || {
            let queued = queue.pdus_max as usize + queue.uplink_pdus_max as usize;
            let waiting = flow.pdus_max as usize + queued + *held_max as usize;
            waiting + *reassembly_max * SEGMENTS_MAX + 4096
        },
        |frames| frames as usize,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(change: impl FnOnce(&mut ops::SgsnConfig)) -> (SgsnConfig, ops::SgsnConfig, Vec<String>) {
        let mut config = ops::SgsnConfig::default();
        change(&mut config);
        let mut node = SgsnConfig { mobiles_max: config.limits.mobiles as usize, ..SgsnConfig::default() };
        let mut remarks = Vec::new();
        apply(&config, &mut node, &mut remarks);
        (node, config, remarks)
    }

    #[test]
    fn queues_are_sized_by_contexts_up_to_a_limit_that_is_told() {
        let (node, config, remarks) = applied(|config| config.limits.mobiles = 1000);
        assert_eq!((node.ingress, node.queue.pdus_max, remarks.len()), (Ingress::Queued, 32_000, 0));
        assert!(frames(&config.service, &node) > 32_000 + 16_384);
        let (node, _, remarks) = applied(|config| config.limits.mobiles = 1 << 20);
        assert_eq!(node.queue.pdus_max as usize, QUEUE_FRAMES_MAX);
        assert!(remarks[0].contains("2097152 PDP contexts"), "{remarks:?}");
        let (node, config, remarks) = applied(|config| {
            (config.limits.mobiles, config.service.frames) = (1 << 20, Some(1 << 21));
        });
        assert_eq!((node.queue.pdus_max, frames(&config.service, &node)), (1 << 20, 1 << 21));
        assert_eq!(node.queue.uplink_pdus_max as usize, UPLINK_FRAMES_MAX);
        let (node, ..) = applied(|config| config.service.frames = Some(16_384));
        assert_eq!((node.queue.pdus_max, node.queue.uplink_pdus_max), (8192, 2048));
        assert_eq!(remarks, Vec::<String>::new());
    }

    #[test]
    fn what_is_configured_reaches_the_node() {
        let (node, ..) = applied(|config| {
            config.service.ingress = ops::Ingress::Fifo;
            config.service.policing = false;
            config.service.real_time_cell_kbit = Some(64);
            config.service.real_time_node_percent = 50;
            config.service.ceilings.peak = 4;
        });
        assert_eq!((node.ingress, node.policing), (Ingress::Fifo, None));
        assert_eq!(node.queue.cell_real_time, Some(Rate { per_s: 8000, burst: 1520 }));
        assert_eq!(node.queue.node_real_time, Some(Rate { per_s: 500_000_000, burst: 5_000_000 }));
        assert_eq!(node.ceilings.peak, PeakThroughput(4));
        let (node, ..) = applied(|config| {
            config.service.admission =
                ops::Admission { cell_percent: 50, node_kbit: Some(80), rejects: true };
        });
        let AdmissionConfig { cell_percent, node_octets_per_s, otherwise } = node.admission;
        assert_eq!((cell_percent, node_octets_per_s, otherwise), (50, Some(10_000), Otherwise::Reject));
        let (node, ..) = applied(|config| config.service.real_time_node_percent = 100);
        assert_eq!(node.queue.node_real_time, None);
    }
}

//! How user data comes in and is served, as the SGSN node takes it.

use gannet_machine::time::Duration;
use gannet_node::sgsn::admission::{AdmissionConfig, Otherwise};
use gannet_node::sgsn::flows::{Ingress, QueueConfig};
use gannet_node::sgsn::quality::Ceilings;
use gannet_node::sgsn::{Policing, SgsnConfig};
use gannet_ops::config::sgsn as ops;
use gannet_qos::flow_queues;
use gannet_qos::token_bucket::Rate;
use gannet_wire::l3::ie::{PeakThroughput, PrecedenceClass, ReliabilityClass};
use gannet_wire::sndcp::SEGMENTS_MAX;

/// Frames at the input for each PDP context, as long as there are not too many of them.
const FRAMES_PER_CONTEXT: usize = 16;
/// More frames than these are taken only where an operator says so: 512 MiB.
const QUEUE_FRAMES_MAX: usize = 1 << 18;
/// Where nobody has said how many mobiles there are.
const QUEUE_FRAMES: usize = 1 << 15;
/// A node of few contexts has room for one of them that has all of its buffer waiting, and for no less than the former of these.
const QUEUE_FRAMES_SMALL: (usize, usize) = (1024, 4096);
/// The best peak throughput (class 9), and a full-size N-PDU, in octets.
const PEAK_OCTETS_PER_S: usize = 256_000;
const N_PDU_OCTETS: usize = 1500;
/// LL-PDUs of user data that may wait for each mobile on the uplink, as long as there are not too many mobiles: they wait
/// for nothing but processing.
const UPLINK_FRAMES_PER_MOBILE: usize = 4;
/// All together are at least and at most so many, 1 to 16 MiB: each has its share of what is left of them.
const UPLINK_FRAMES: (usize, usize) = (512, 1 << 13);
/// LL-PDUs in the queues of flow control: at least, and for each mobile of a small node. With queues at the input a mobile that has as
/// many as its watermark says gets no more; one N-PDU may be sixteen of them.
const FLOW_PDUS_MIN: usize = 1024;
const FLOW_PDUS_PER_MOBILE: usize = 64;
/// Messages that wait for a mobile that is paged, where N-PDUs wait at the input.
const MESSAGES_PER_MOBILE: usize = 4;
/// N-PDUs of which segments are missing, at least: one of each mobile on a small node.
const REASSEMBLIES_MIN: usize = 64;
/// Frames that wait for nothing: in sockets' queues, and between the steps of a turn.
const UNDER_WAY_PER_MOBILE: usize = 8;
const UNDER_WAY: (usize, usize) = (1024, 4096);

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
    size_for_few(config, node);
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

/// Tables of a node for few mobiles are no larger than these can fill; each place takes a frame. Others stay as they are.
fn size_for_few(config: &ops::SgsnConfig, node: &mut SgsnConfig) {
    let mobiles = node.mobiles_max;
    let few = |each: usize, least: usize, most: usize| mobiles.saturating_mul(each).max(least).min(most);
    let places = |places: usize| u32::try_from(places).unwrap_or(u32::MAX);
    let each = match node.ingress {
        Ingress::Fifo => FLOW_PDUS_PER_MOBILE,
        Ingress::Queued => 2 * usize::from(config.bssgp.watermark_ms.high) + SEGMENTS_MAX,
    };
    node.flow.pdus_max = places(few(each, FLOW_PDUS_MIN, node.flow.pdus_max as usize));
    node.flow.active_ms_max = places(few(1, 1, node.flow.active_ms_max as usize));
    node.held_max = places(few(node.held_per_mobile_max as usize, 1, node.held_max as usize));
    node.reassembly_max = few(1, REASSEMBLIES_MIN, node.reassembly_max);
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
            wanted.clamp(queue_frames_min(service), QUEUE_FRAMES_MAX)
        }
    };
    u32::try_from(frames).unwrap_or(u32::MAX)
}

/// So many that one context may have `buffer-ms` of the best peak throughput in full-size N-PDUs waiting: a queue has no more than a
/// part of the room left.
fn queue_frames_min(service: &ops::Service) -> usize {
    let part = flow_queues::Config::default().room_part as usize;
    let octets = PEAK_OCTETS_PER_S * usize::from(service.buffer_ms) / 1000;
    let (least, most) = QUEUE_FRAMES_SMALL;
    (part * octets.div_ceil(N_PDU_OCTETS)).clamp(least, most)
}

/// LL-PDUs of user data from all mobiles that may wait.
fn uplink_frames(service: &ops::Service, node: &SgsnConfig) -> u32 {
    if node.ingress == Ingress::Fifo {
        return 1;
    }
    let wanted = node.mobiles_max.saturating_mul(UPLINK_FRAMES_PER_MOBILE);
    let (least, most) = UPLINK_FRAMES;
    let wanted = wanted.clamp(least, most);
    let frames = service.frames.map_or(wanted, |frames| wanted.min(frames as usize / 8));
    u32::try_from(frames).unwrap_or(u32::MAX)
}

/// Frames of the node: what may wait at the same time, and a share for what is under way.
pub fn frames(config: &ops::Service, node: &SgsnConfig) -> usize {
    let SgsnConfig { flow, held_max, reassembly_max, queue, mobiles_max: mobiles, .. } = node;
    if let Some(frames) = config.frames {
        return frames as usize;
    }
    let held = match node.ingress {
        Ingress::Fifo => *held_max as usize,
        Ingress::Queued => (*held_max as usize).min(mobiles.saturating_mul(MESSAGES_PER_MOBILE)),
    };
    let queued = queue.pdus_max as usize + queue.uplink_pdus_max as usize;
    let waiting = flow.pdus_max as usize + queued + held;
    let (least, most) = UNDER_WAY;
    let under_way = mobiles.saturating_mul(UNDER_WAY_PER_MOBILE).clamp(least, most);
    waiting + *reassembly_max * SEGMENTS_MAX + under_way
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
        assert_eq!(node.queue.uplink_pdus_max as usize, UPLINK_FRAMES.1);
        let (node, ..) = applied(|config| config.service.frames = Some(16_384));
        assert_eq!((node.queue.pdus_max, node.queue.uplink_pdus_max), (8192, 2048));
        assert_eq!(remarks, Vec::<String>::new());
    }

    #[test]
    fn a_node_for_few_mobiles_has_what_they_can_fill_and_a_large_one_what_it_had() {
        let sized = |mobiles: u32, ingress| {
            let (node, config, _) = applied(|config| {
                (config.limits.mobiles, config.service.ingress) = (mobiles, ingress);
            });
            let frames = frames(&config.service, &node);
            // What may wait has a frame each, and there are some for what is under way.
            let waiting = node.queue.pdus_max + node.queue.uplink_pdus_max + node.flow.pdus_max;
            assert!(frames >= waiting as usize + node.reassembly_max * SEGMENTS_MAX + 1024);
            let QueueConfig { pdus_max, uplink_pdus_max, .. } = node.queue;
            ((pdus_max, uplink_pdus_max), node.flow.pdus_max, node.held_max, node.reassembly_max, frames)
        };
        assert_eq!(sized(5, ops::Ingress::Auto), ((2736, 512), 1024, 100, 64, 6340));
        assert_eq!(sized(100, ops::Ingress::Auto), ((3200, 512), 3200, 2000, 100, 9936));
        assert_eq!(sized(100, ops::Ingress::Fifo), ((1, 1), 6400, 2000, 100, 11_026));
        let large = ((1 << 18, 8192), 16_384, 4096, 1024, 311_296);
        assert_eq!(sized(20_000, ops::Ingress::Auto), large, "as before");
        assert_eq!(sized(20_000, ops::Ingress::Fifo).4, 40_962, "as before");
    }

    #[test]
    fn a_context_of_a_small_node_may_have_all_of_its_buffer_waiting() {
        let room = |buffer_ms: u16| {
            let (node, ..) =
                applied(|config| (config.limits.mobiles, config.service.buffer_ms) = (1, buffer_ms));
            node.queue.pdus_max / flow_queues::Config::default().room_part
        };
        assert!([100, 1000, 1400].iter().all(|ms| room(*ms) * 1500 >= 256 * u32::from(*ms)));
        assert_eq!((room(1), room(10_000)), (64, 256));
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

//! Experiments over RLC/MAC in virtual time: what TCP gets of a radio, and where the rest of the airtime goes.
//!
//! | experiment | question |
//! |---|---|
//! | [`rate`] | TCP by coding scheme, timeslots, direction and N201-U, beside the ceiling of the payload |
//! | [`rtt`] | a ping of 32 octets by how TBFs end, as a sum |
//! | [`share`] | ten mobiles of four classes in one cell |
//! | [`ber`] | TCP by C/I and coding scheme |
//! | [`hour`] | how long a virtual hour of eight cells takes |
//!
//! [`world`] has the nodes and the hosts, [`probe`] what is seen of the radio, [`capture`] captures of all interfaces, [`airtime`] for what blocks were used.

pub mod airtime;
pub mod ber;
pub mod capture;
pub mod hour;
pub(crate) mod packet;
pub(crate) mod probe;
pub mod rate;
pub mod rtt;
pub(crate) mod seen;
pub mod share;
pub mod world;

use crate::report::Verdict;
use crate::tcp::config::Config as TcpConfig;
use gannet_wire::l3::ie::{BitRate, PrecedenceClass, QosProfile, QosR99, TrafficClass};

#[expect(clippy::cast_precision_loss, reason = "octets, blocks and nanoseconds of some hours")]
pub(crate) const fn as_f64(value: u64) -> f64 {
    value as f64
}

/// The hosts' TCP: that of the preemption study, with a window that the queues of the radio hold without loss.
const fn tcp(window_octets: u32) -> TcpConfig {
    TcpConfig { receive_buffer: window_octets, ..TcpConfig::linux_2_4_2() }
}

/// A profile of R99 with 64 kbit/s at most. Interactive has the best handling priority; the guaranteed rate holds both ways.
pub(crate) fn profile(
    traffic_class: TrafficClass,
    guaranteed_kbps: u32,
    precedence: PrecedenceClass,
) -> QosProfile {
    let (most, guaranteed) = (BitRate::from_kbps(64), BitRate::from_kbps(guaranteed_kbps));
    let r99 = QosR99 {
        traffic_class,
        delivery_order: 2,
        erroneous_sdus: 3,
        max_sdu: 150,
        mbr_up: most,
        mbr_down: most,
        residual_ber: 7,
        sdu_error_ratio: 4,
        transfer_delay: 10,
        handling_priority: u8::from(traffic_class == TrafficClass::INTERACTIVE),
        gbr_up: guaranteed,
        gbr_down: guaranteed,
        signalling: None,
    };
    QosProfile { r99: Some(r99), precedence, ..QosProfile::BEST_EFFORT }
}

/// Octets of the stream in a full segment: 1500 octets less IP, TCP and timestamps.
const SEGMENT_OCTETS: u64 = 1448;
/// Octets of an N-PDU with it.
const N_PDU_OCTETS: usize = 1500;

pub(crate) fn verdict(name: &str, means: &str, ours: String, goal: String, holds: Option<bool>) -> Verdict {
    Verdict { name: name.to_owned(), means: means.to_owned(), paper: None, ours, goal, holds }
}

/// What does not add up in a run; a run without faults conserves what it carries.
pub(crate) fn conserved(faults: &[String]) -> Verdict {
    verdict(
        "LL-PDUs, blocks, octets and frames conserved",
        "What entered the radio was delivered once to its own mobile or is lost by name, and so was each block; streams are octet by \
         octet those that were sent, and every frame is back in its pool, at the end of each run.",
        if faults.is_empty() { "all".to_owned() } else { faults.join("; ") },
        "all".to_owned(),
        Some(faults.is_empty()),
    )
}

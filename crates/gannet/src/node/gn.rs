//! What SGSN and GGSN are told alike of Gn, as the nodes take it.

use gannet_machine::time::Duration;
use gannet_ops::config::gtp::{self, Gn};
use gannet_proto::gtp::{ListedPeer, SourceCheck};

/// From where messages about a tunnel are taken.
pub const fn source_check(gn: &Gn) -> SourceCheck {
    match gn.source_check {
        gtp::SourceCheck::Strict => SourceCheck::Strict,
        gtp::SourceCheck::Control => SourceCheck::Control,
        gtp::SourceCheck::Off => SourceCheck::Off,
    }
}

/// The peers that are listed.
pub fn listed(gn: &Gn) -> Vec<ListedPeer> {
    let peer = |(address, contexts_max): (&core::net::IpAddr, &Option<u32>)| ListedPeer {
        address: *address,
        contexts_max: *contexts_max,
    };
    gn.peers.iter().map(peer).collect()
}

/// From the failure of a path until its contexts end; `None` where they stay.
pub fn failure_delay(gn: &Gn) -> Option<Duration> {
    gn.failure_delay_s.map(|seconds| Duration::from_secs(seconds.into()))
}

//! The configuration files of access point and mobile station. SGSN and GGSN have those of [`crate::demo`].

use crate::demo::Peer;
use crate::demo::configs::address;
use std::path::Path;

/// The Ethernet link of both namespaces, under this name at either end. It has no address: frames of the adaptation protocol
/// go there.
pub(super) const ETHERNET: &str = "eth0";
/// The IP network between them.
pub(super) const LAN: &str = "lan0";
pub(super) const LAN_NETWORK: &str = "203.0.113.1/30";
pub(super) const LAN_PHONE: &str = "203.0.113.2/30";
/// The bearer over that, in the words of the configuration.
pub(super) const UDP: &str = "udp 203.0.113.1 34997";
/// Sets octets of the phone's receive buffers, least, first and most. What TCP has under way fits into the queues of all nodes, so that
/// nothing is lost for want of room.
pub(super) const RECEIVE_BUFFERS: &str = "echo 4096 65536 131072 >/proc/sys/net/ipv4/tcp_rmem";
/// The device of the mobile's context.
pub(super) const DEVICE: &str = "gprs0";
/// Where the nodes' VTYs listen, each in its own namespace.
pub(super) const AP_VTY: &str = "127.0.0.1:4295";
pub(super) use crate::demo::configs::address::MS_VTY;
/// A host behind the GGSN: its end of the mobiles' network.
pub(super) const HOST: &str = "198.51.100.1";
/// Known to mobile and access point; the demo has no secrets.
const KEY: &str = "bearer key id 1 key 000102030405060708090a0b0c0d0e0f";

/// Addresses of SGSN, GGSN and access point, who share a namespace.
pub(super) const OF_CORE: [&str; 4] = [address::GB_BSS, address::GB_SGSN, address::GN_SGSN, address::GN_GGSN];

/// For `gannet ap`: a cell for each link. osmo-sgsn does not read the granularity of flow control, without which a leak rate is
/// 6.55 Mbit/s at most (08.18 clause 11.3.4 [48.018]).
pub(super) fn access_point(sgsn: Peer) -> String {
    let octets_per_s = if sgsn == Peer::Gannet { 10_000_000 } else { 800_000 };
    format!(
        "ap
 remote-ip {}
 remote-port 23000
 local-ip {}
 cells 2
 bearer ethernet {ETHERNET}
 bearer {UDP}
 {KEY}
 bearer authentication
 radio downlink {octets_per_s} uplink {octets_per_s}
 flow-control cell bmax 1000000
 flow-control ms bmax 1000000 rate {octets_per_s}
line vty
 no login
",
        address::GB_SGSN,
        address::GB_BSS,
    )
}

/// For `gannet ms`: one mobile, whose first choice is Ethernet. osmo-sgsn has no acknowledged mode. The bit rates are those of a
/// link of 100 Mbit/s, as far as they can be said: the largest peak throughput class is 2 Mbit/s, and what exceeds it is dropped.
pub(super) fn mobile_station(socket: &Path, sgsn: Peer) -> String {
    let mode = if sgsn == Peer::Gannet { "acknowledged" } else { "unacknowledged" };
    format!(
        "ms
 ctl socket {}
 bearer ethernet {ETHERNET}
 bearer {UDP}
 {KEY}
 cell 001 01 1 0 1
 cell 001 01 1 0 2
 bearer hysteresis 100 hold 200
 apn internet
 context gprs
  mode {mode}
  bit-rate downlink 100000 uplink 8640
  route default
line vty
 no login
",
        socket.display(),
    )
}

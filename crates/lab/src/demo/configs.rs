//! The configuration files of the demo's nodes, in the words of their own VTY.

use super::Radio;
use std::path::Path;

/// Addresses of the four namespaces: documentation prefixes (RFC 5737), which no real network uses.
pub mod address {
    /// The Gb link.
    pub const GB_BSS_PREFIX: &str = "192.0.2.1/30";
    pub const GB_BSS: &str = "192.0.2.1";
    pub const GB_SGSN_PREFIX: &str = "192.0.2.2/30";
    pub const GB_SGSN: &str = "192.0.2.2";
    /// The Gn link.
    pub const GN_SGSN_PREFIX: &str = "192.0.2.5/30";
    pub const GN_SGSN: &str = "192.0.2.5";
    pub const GN_GGSN_PREFIX: &str = "192.0.2.6/30";
    pub const GN_GGSN: &str = "192.0.2.6";
    /// The Gi link to the host.
    pub const GI_GGSN_PREFIX: &str = "192.0.2.9/30";
    pub const GI_GGSN: &str = "192.0.2.9";
    pub const GI_HOST_PREFIX: &str = "192.0.2.10/30";
    pub const GI_HOST: &str = "192.0.2.10";
    /// The mobiles.
    pub const MOBILES: &str = "198.51.100.0/24";
    /// Where the nodes' VTYs listen, each in its own namespace.
    pub const SGSN_VTY: &str = "127.0.0.1:4245";
    pub const BSS_VTY: &str = "127.0.0.1:4290";
    pub const MS_VTY: &str = "127.0.0.1:4293";
}

/// The TUN device of the first mobile, in the namespace of the Gb side.
pub const TUN_OF_FIRST_MOBILE: &str = "ms0";

/// For osmo-ggsn and for `gannet ggsn` alike.
#[must_use]
pub fn ggsn(state: &Path) -> String {
    format!(
        "ggsn ggsn0
 gtp state-dir {}
 gtp bind-ip {}
 apn internet
  gtpu-mode tun
  tun-device apn0
  type-support v4
  ip prefix dynamic {}
  ip dns 0 192.0.2.10
  ip ifconfig {}
  no shutdown
 default-apn internet
 no shutdown ggsn
line vty
 no login
",
        state.display(),
        address::GN_GGSN,
        address::MOBILES,
        address::MOBILES.replace(".0/", ".1/"),
    )
}

/// For osmo-sgsn and for `gannet sgsn` alike; `of_its_own` is put into the SGSN's node.
#[must_use]
pub fn sgsn(state: &Path, gtp_version: u8, of_its_own: &str) -> String {
    format!(
        "sgsn
 gtp state-dir {}
 gtp local-ip {}
 ggsn 0 remote-ip {}
 ggsn 0 gtp-version {gtp_version}
 auth-policy accept-all
{of_its_own}ns
 timer tns-block 3
 timer tns-reset 3
 timer tns-test 30
 timer tns-alive 3
 bind udp local
  listen {} 23000
  accept-ipaccess
bssgp
line vty
 no login
",
        state.display(),
        address::GN_SGSN,
        address::GN_GGSN,
        address::GB_SGSN,
    )
}

/// What only `gannet sgsn` has: N-PDUs of full size go in one LL-PDU each, which the links of the demo can carry.
pub const LONG_FRAMES: &str = " llc n201-u 1520\n";

/// Cells where mobiles change them: two of each of two NSEs, all in one routing area.
pub const CELLS: u32 = 4;

/// The words of the BSS for a radio. Four timeslots let a TBF of three run beside the others' signalling.
#[must_use]
pub const fn radio(radio: Radio) -> &'static str {
    match radio {
        Radio::Emulated => "",
        Radio::RlcMac => " radio rlcmac slots 4 cs 2\n",
    }
}

/// The same for a person.
#[must_use]
pub const fn radio_in_words(radio: Radio) -> &'static str {
    match radio {
        Radio::Emulated => "emulated: a rate and a delay",
        Radio::RlcMac => "RLC/MAC, 4 timeslots of CS-2: RTT and rate are those of GPRS",
    }
}

/// For `gannet bss`, with the words of a radio.
#[must_use]
pub fn bss(mobiles: u32, several_cells: bool, radio: &str) -> String {
    let cells = if several_cells {
        format!(" cells {CELLS}\n cells-per-nse 2\n cells-per-routing-area {CELLS}\n")
    } else {
        String::new()
    };
    format!(
        "bss
 remote-ip {}
 remote-port 23000
 local-ip {}
{cells}{radio} mobiles {mobiles}
 apn internet
 tun ms count 1
line vty
 no login
",
        address::GB_SGSN,
        address::GB_BSS,
    )
}

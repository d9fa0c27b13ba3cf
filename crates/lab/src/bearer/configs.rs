//! Parameters of LLC that stand side by side, and the configuration files of the four nodes.

use std::fmt::Write as _;
use std::path::Path;

/// The bearers in the mobile's namespace, and in the network's; the first is preferred.
pub const BEARERS: [&str; 2] = ["eth0", "eth1"];
/// Addresses of both on the plain bearer.
pub const PHONE: &str = "198.18.1.1";
/// The same of the network.
pub const NETWORK: &str = "198.18.1.2";
/// The GGSN's device, and its address.
pub const GGSN_DEVICE: &str = "apn0";
const GGSN_NETWORK: &str = "198.19.0.0/16";
const GGSN_ADDRESS: &str = "198.19.0.1/16";
/// The VTYs of the nodes, each in its own namespace.
pub const VTYS: [(&str, &str); 4] = [
    ("ms", "127.0.0.1:4293"),
    ("ap", "127.0.0.4:4295"),
    ("sgsn", "127.0.0.3:4245"),
    ("ggsn", "127.0.0.2:4260"),
];
/// Nodes of the network talk over the loopback device.
const SGSN: &str = "127.0.0.3";

/// Mobiles that attach in a second: less than what signalling of the nodes takes beside other work.
const ATTACH_PER_S: u32 = 20;

/// How N-PDUs go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// UI frames.
    Unacknowledged,
    /// I frames.
    Acknowledged,
}

impl Mode {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Unacknowledged, Self::Acknowledged];

    /// Its name, also in the configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unacknowledged => "unacknowledged",
            Self::Acknowledged => "acknowledged",
        }
    }

    /// The device of its context.
    pub const fn device(self) -> &'static str {
        match self {
            Self::Unacknowledged => "un0",
            Self::Acknowledged => "ack0",
        }
    }

    /// The address behind the GGSN to which this context leads.
    pub const fn host(self) -> &'static str {
        match self {
            Self::Unacknowledged => "203.0.113.1",
            Self::Acknowledged => "203.0.113.2",
        }
    }

    /// The name of its context, with which names of its devices begin.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Unacknowledged => "un",
            Self::Acknowledged => "ack",
        }
    }
}

/// A set of parameters by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// [`Parameters::standard`]: IP cuts what is longer than 1500 octets, and SNDCP cuts each packet.
    Standard,
    /// [`Parameters::fitting`]: IP cuts what is longer than 1482 octets, and nothing else does.
    Fitting,
    /// [`Parameters::cut_by_sndcp`]: IP cuts what is longer than 1500 octets, and SNDCP what is longer than 1482.
    CutBySndcp,
}

impl Set {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Fitting => "fitting",
            Self::CutBySndcp => "fitting, MTU 1500",
        }
    }

    /// The parameters.
    pub fn parameters(self) -> Parameters {
        match self {
            Self::Standard => Parameters::standard(),
            Self::Fitting => Parameters::fitting(),
            Self::CutBySndcp => Parameters::cut_by_sndcp(),
        }
    }
}

/// Parameters of both ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameters {
    /// For a person, and for files.
    pub name: String,
    /// Lines about LLC, the same in SGSN and mobile.
    pub llc: String,
    /// Longest packet of the devices, in octets.
    pub mtu: u16,
}

impl Parameters {
    /// Table 9 of 04.64 clause 8.9 [44.064]; a lost frame and all behind it are sent again after T200. An Ethernet device
    /// takes 1500 octets where nobody says otherwise.
    pub fn standard() -> Self {
        let llc = " llc n201-u 500\n llc sapi 3 retransmission go-back-n\n llc sapi 3 timer t200\n";
        Self { name: "standard".to_owned(), llc: llc.to_owned(), mtu: 1500 }
    }

    /// Those that fit the bearer: no packet in two pieces, the longest window, what is lost alone sent again by the measured
    /// round trip.
    pub fn fitting() -> Self {
        let llc = " llc n201-u 1486\n llc sapi 3 n201-i 1485\n llc sapi 3 window downlink 255 uplink 255\n \
                   llc sapi 3 buffer downlink 24320 uplink 24320\n llc sapi 3 t200 10\n";
        Self { name: "fitting".to_owned(), llc: llc.to_owned(), mtu: 1482 }
    }

    /// The same with the MTU of Ethernet: a full packet is two SN-PDUs, the second of them short.
    pub fn cut_by_sndcp() -> Self {
        Self { name: Set::CutBySndcp.name().to_owned(), mtu: 1500, ..Self::fitting() }
    }
}

/// For `gannet ggsn`.
pub fn ggsn(state: &Path) -> String {
    format!(
        "ggsn ggsn0
 gtp state-dir {}
 gtp bind-ip 127.0.0.2
 apn internet
  gtpu-mode tun
  tun-device {GGSN_DEVICE}
  type-support v4
  ip prefix dynamic {GGSN_NETWORK}
  ip ifconfig {GGSN_ADDRESS}
  no shutdown
 default-apn internet
 no shutdown ggsn
line vty
 no login
 bind 127.0.0.2
",
        state.display()
    )
}

/// Where packets wait that are for a mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waiting {
    /// Before the bearer, as without GPRS: the SGSN is told of more than the bearer carries.
    AtTheBearer,
    /// In the SGSN, and for little time: it is told of a little less than a bearer of 100 Mbit/s carries.
    AtTheSgsn,
}

impl Waiting {
    /// Lines of the access point.
    const fn of_access_point(self) -> &'static str {
        match self {
            Self::AtTheBearer => {
                " radio downlink 500000000 uplink 500000000
 flow-control cell bmax 6553500
 flow-control ms bmax 6553500 rate 500000000
"
            }
            // Of 1538 octets of a full frame on the line 1492 are those of its LL-PDU.
            Self::AtTheSgsn => {
                " radio downlink 12000000 uplink 500000000
 flow-control cell bmax 16000
 flow-control ms bmax 16000 rate 12000000
"
            }
        }
    }

    /// Lines of the SGSN.
    const fn of_sgsn(self) -> &'static str {
        match self {
            Self::AtTheBearer => "",
            Self::AtTheSgsn => " buffer-ms 4\n",
        }
    }
}

/// The line of a node that polls for a millisecond after each packet, or sleeps at once: it shares two cores with all others.
const fn busy_poll(polls: bool) -> &'static str {
    if polls { " busy-poll adaptive\n" } else { " busy-poll off\n" }
}

/// For `gannet sgsn`. A process of several nodes polls where one of them does.
pub fn sgsn(state: &Path, parameters: &Parameters, (polls, waiting): (bool, Waiting)) -> String {
    format!(
        "sgsn
 gtp state-dir {}
 gtp local-ip 127.0.0.1
 ggsn 0 remote-ip 127.0.0.2
 auth-policy accept-all
 policing off
{}{}{}ns
 bind udp local
  listen {SGSN} 23000
  accept-ipaccess
bssgp
line vty
 no login
 bind {SGSN}
",
        state.display(),
        busy_poll(polls),
        waiting.of_sgsn(),
        parameters.llc
    )
}

/// For `gannet ap`, with a cell for each bearer.
pub fn access_point(bearers: &[&str], waiting: Waiting) -> String {
    let lines = bearers.iter().fold(String::new(), |mut lines, bearer| {
        let _ = writeln!(lines, " bearer ethernet {bearer}");
        lines
    });
    format!(
        "ap
 remote-ip {SGSN}
 remote-port 23000
 local-ip 127.0.0.4
 cells {}
{lines}{}line vty
 no login
 bind 127.0.0.4
",
        bearers.len(),
        waiting.of_access_point()
    )
}

/// For `gannet ms`: mobiles with a context in each mode. One alone has a route to each context's host.
pub fn mobile_station(
    socket: &Path,
    bearers: &[&str],
    (parameters, mobiles): (&Parameters, u32),
    polls: bool,
) -> String {
    let mut config =
        format!("ms\n mobiles {mobiles}\n attach-rate {ATTACH_PER_S}\n ctl socket {}\n", socket.display());
    for (number, bearer) in (1..).zip(bearers) {
        let _ = write!(config, " bearer ethernet {bearer}\n cell 001 01 1 0 {number}\n");
    }
    config.push_str(" bearer hysteresis 100 hold 200\n apn internet\n");
    config.push_str(busy_poll(polls));
    config.push_str(&parameters.llc);
    for mode in Mode::BOTH {
        let _ = write!(
            config,
            " context {}\n  mode {}\n  mtu {}\n  bit-rate downlink 100000 uplink 100000\n",
            mode.prefix(),
            mode.name(),
            parameters.mtu
        );
        if mobiles == 1 {
            let _ = writeln!(config, "  route {}/32", mode.host());
        }
    }
    config.push_str("line vty\n no login\n");
    config
}

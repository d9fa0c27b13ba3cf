//! Which chains there are: radio, mobile and BSS, SGSN and GGSN.

use super::real;
use crate::demo::Peer;
use crate::{osmo_bss, testbed};

/// The radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) name: &'static str,
    /// Coding scheme, 1 to 4.
    pub(super) scheme: u8,
    /// Timeslots of the downlink TBF; the uplink one has one.
    pub(super) down: u8,
    pub(super) multislot_class: u8,
    /// How long a downlink TBF stays without data, and how often its mobile is polled, in ms.
    pub(super) idle_ms: Option<(u16, u16)>,
}

/// The first is what the chain with a real phone stack had.
pub(super) const SETTINGS: [Setting; 2] = [
    Setting {
        name: "CS-4, 4 + 1, TBFs stay",
        scheme: 4,
        down: 4,
        multislot_class: 8,
        idle_ms: Some((2000, real::IDLE_POLL_MS)),
    },
    Setting { name: "CS-2, 3 + 1, TBFs end at once", scheme: 2, down: 3, multislot_class: 6, idle_ms: None },
];

impl Setting {
    /// The words of `gannet bss`. Its bucket holds what goes in ten seconds, as that of osmo-pcu in the real chain does (Bmax 100,000 octets, R
    /// 80 kbit/s). osmo-sgsn sends an LL-PDU that finds room in the bucket before those that wait for more, and so pieces of N-PDUs out of order.
    pub(super) fn words(&self) -> String {
        let Self { scheme, down, multislot_class: class, .. } = self;
        let mut words = format!(
            " radio rlcmac slots {down} cs {scheme}\n radio rlcmac multislot-class {class}\n \
             flow-control bucket-time 1000\n flow-control cell bmax 200000\n"
        );
        if let Some((time, poll)) = self.idle_ms {
            words += &format!(" radio rlcmac idle-poll {poll}\n timer x2031 {time}\n");
        }
        words
    }
}

/// What is in a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    pub(super) setting: &'static Setting,
    pub(super) air: Air,
    pub(super) cores: Cores,
}

impl Kind {
    pub(super) fn in_words(self) -> String {
        format!("{}, {}", self.air.in_words(), cores_in_words(self.cores))
    }
}

/// SGSN and GGSN.
pub(super) type Cores = (Peer, Peer);

pub(super) const CORES: [Cores; 3] =
    [(Peer::Osmocom, Peer::Osmocom), (Peer::Gannet, Peer::Gannet), (Peer::Gannet, Peer::Osmocom)];

pub(super) fn cores_in_words((sgsn, ggsn): Cores) -> String {
    format!("{}, {}", sgsn.name("osmo-sgsn"), ggsn.name("osmo-ggsn"))
}

/// The mobile and its BSS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Air {
    /// `gannet bss`, which has the mobile.
    Own,
    /// `gannet ms` on the virtual Um of osmo-bts-virtual, with osmo-pcu.
    Osmocom,
}

impl Air {
    pub(super) const fn in_words(self) -> &'static str {
        match self {
            Self::Own => "gannet bss",
            Self::Osmocom => "gannet ms, osmo-pcu",
        }
    }

    /// Programs that it needs and that this machine does not have.
    pub(super) fn missing(self) -> Vec<&'static str> {
        let needed: &[(&str, &str)] = match self {
            Self::Own => &[],
            Self::Osmocom => &osmo_bss::PROGRAMS,
        };
        let programs = needed.iter().map(|(_, program)| *program);
        programs.filter(|program| !testbed::is_installed(program)).collect()
    }
}

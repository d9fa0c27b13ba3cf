//! The SGSNs under test: their configurations, how they are started, and what their counters say.

use super::bed::{Bed, GB_PORT, GB_SGSN, GN_LOAD, GN_SGSN, SGSN_CORE};
use super::shape::{AROUND, HLR_PORT};
use crate::losses::{Place, place_of};
use crate::measure::{Candidate, Setup};
use crate::testbed::{Process, TestbedError};
use gannet_machine::drops::Drop;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What a socket had no room for, by name; the kernel's own count, of all that came to it.
pub(super) const FULL_SOCKET: &str = "udp_receive_buffer_full";

/// N-PDUs at the input at the most: half a gibibyte of frames. Only under overload do more than a few wait.
const WAITING_MAX: u32 = 200_000;
/// What the kernel reckons for an N-PDU of 378 octets that waits at a socket: its page and its descriptor.
const SOCKET_OCTETS: u32 = 4352;

/// LL-PDUs that wait in the SGSN's queues of mobiles.
const QUEUED_UPLINK: &str = "queued_uplink_ll_pdus";

/// Drops of N-PDUs that are in acknowledged mode, and not of I frames.
const LOST_FOR_GOOD: [Drop; 7] = [
    Drop::SndcpEmpty,
    Drop::SndcpTooLong,
    Drop::SndcpUnconfirmedFull,
    Drop::SndcpUnconfirmed,
    Drop::SgsnNoContext,
    Drop::SgsnUnconfirmedFull,
    Drop::HeldFull,
];

/// Where gannet's VTY listens, in its own namespace.
pub const VTY: &str = "127.0.0.1:4245";

/// Where a candidate can be asked for its counters.
#[must_use]
pub const fn vty(candidate: Candidate) -> Option<&'static str> {
    match candidate {
        Candidate::Osmo => None,
        Candidate::Fifo | Candidate::Reuseport | Candidate::Xdp => Some(VTY),
    }
}

/// Starts a candidate at the SGSN's end, on its core. Its configuration and its log go to `directory`.
///
/// # Errors
/// Where it does not start.
pub fn start(
    bed: &Bed,
    candidate: Candidate,
    setup: &Setup,
    gannet: &Path,
    directory: &Path,
) -> Result<Process, TestbedError> {
    let path = directory.join("sgsn.cfg");
    std::fs::write(&path, config(candidate, setup, directory))?;
    let gannet = setup.program.as_deref().unwrap_or(gannet);
    let (program, mut arguments) = match candidate {
        Candidate::Osmo => (Path::new("osmo-sgsn"), vec![]),
        _ if setup.work_ns > 0 => (gannet, mock_cipher(setup.work_ns)),
        _ => (gannet, vec!["sgsn".to_owned()]),
    };
    arguments.extend(["-c".to_owned(), path.to_string_lossy().into_owned()]);
    let mut command = bed.command(program);
    command.args(arguments);
    Process::start(candidate.name(), &mut command, &directory.join("sgsn.log"))
}

/// How an SGSN is started that works on each LL-PDU.
fn mock_cipher(work_ns: u32) -> Vec<String> {
    ["lab".to_owned(), "sgsn".to_owned(), "--work-ns".to_owned(), work_ns.to_string()].into()
}

/// Where an SGSN that is started in `directory` keeps its mobiles.
#[must_use]
pub fn store(directory: &Path) -> PathBuf {
    directory.join("mobiles.redb")
}

/// A candidate's configuration file.
#[must_use]
pub fn config(candidate: Candidate, setup: &Setup, directory: &Path) -> String {
    let mut text = format!(
        "sgsn\n gtp state-dir {}\n gtp local-ip {GN_SGSN}\n ggsn 0 remote-ip {GN_LOAD}\n ggsn 0 gtp-version 1\n",
        directory.display()
    );
    let _ = match setup.gea {
        None => writeln!(text, " auth-policy accept-all"),
        Some(gea) => writeln!(
            text,
            " gsup remote-ip {GN_LOAD}\n gsup remote-port {HLR_PORT}\n auth-policy remote\n encryption gea {gea}"
        ),
    };
    let ingress = match candidate {
        Candidate::Osmo => None,
        Candidate::Fifo => Some("fifo"),
        Candidate::Reuseport => Some("reuseport"),
        Candidate::Xdp => Some("xdp"),
    };
    if let Some(ingress) = ingress {
        let policing = if setup.policing { "on" } else { "off" };
        let waiting = waiting(setup);
        let _ = write!(
            text,
            " ingress {ingress}\n busy-poll always\n core {SGSN_CORE}\n policing {policing}\n policing burst-ms {}\n \
             buffer-ms {}\n max-frames {}\n socket-buffer {}\n max-mobiles {}\n max-cells {}\n llc n201-u 1520\n",
            setup.buffer_ms,
            setup.buffer_ms,
            // Half of the frames are for what waits at the input.
            2 * waiting,
            (waiting / 1024 * SOCKET_OCTETS).clamp(64, 1 << 20),
            (setup.users + 64).max(1024),
            setup.cells + 16,
        );
        if let Some(kd) = setup.kd {
            let _ = writeln!(text, " llc sapi 3 window downlink {} uplink 16", kd.frames);
        }
        if setup.store {
            let _ = writeln!(text, " store {}", store(directory).display());
        }
    }
    let _ = write!(
        text,
        "ns\n timer tns-block 3\n timer tns-reset 3\n timer tns-test 30\n timer tns-alive 3\n bind udp local\n  \
         listen {GB_SGSN} {GB_PORT}\n  accept-ipaccess\nbssgp\n"
    );
    text.push_str("line vty\n no login\n");
    if candidate == Candidate::Osmo {
        // At its default it writes hundreds of megabytes under overload.
        text.push_str("log stderr\n logging level set-all error\n");
    }
    text
}

/// N-PDUs that may wait at the input: what the buffers of all mobiles add up to, as far as memory goes.
#[must_use]
fn waiting(setup: &Setup) -> u32 {
    let each = setup.pps_each() * f64::from(setup.buffer_ms) / 1000.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
    let all = (each * f64::from(setup.users)).ceil().clamp(16_384.0, f64::from(WAITING_MAX)) as u32;
    all
}

/// Octets of the BSSGP PDU in which an N-PDU goes: DL-UNITDATA with what is mandatory.
#[must_use]
pub const fn bssgp_octets(setup: &Setup) -> u16 {
    setup.octets + AROUND + 15
}

/// What a step offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offered {
    /// N-PDUs for mobiles in unacknowledged mode.
    Downlink,
    /// N-PDUs for mobiles in acknowledged mode. What these send are acknowledgements, which nobody has offered.
    Acknowledged,
    /// N-PDUs of mobiles.
    Uplink,
}

/// Those of the counters that are drops of N-PDUs, by what they have moved. Of what the SGSN has read none is lost in acknowledged
/// mode before it is dropped for good: an I frame that is dropped comes again.
#[must_use]
pub fn drops(moved: &BTreeMap<String, u64>, offered: Offered) -> BTreeMap<String, u64> {
    let is_drop = |name: &str| match place_of(name) {
        Some(Place::Unread) => true,
        Some(Place::UplinkQueue) => offered == Offered::Uplink,
        Some(Place::Read) => {
            offered != Offered::Acknowledged || LOST_FOR_GOOD.iter().any(|drop| drop.name() == name)
        }
        Some(Place::Elsewhere | Place::Nowhere) | None => false,
    };
    let mut drops: BTreeMap<String, u64> = moved
        .iter()
        .filter(|(name, value)| **value > 0 && is_drop(name))
        .map(|(name, value)| (name.clone(), *value))
        .collect();
    // The kernel's own count, of all sockets of the namespace.
    if let Some(full) = moved.get("udp.RcvbufErrors").filter(|full| **full > 0) {
        drops.insert(FULL_SOCKET.to_owned(), *full);
    }
    drops
}

/// Drops of N-PDUs that the SGSN has read.
#[must_use]
pub fn read_and_dropped(drops: &BTreeMap<String, u64>) -> u64 {
    drops.iter().filter(|(name, _)| place_of(name) == Some(Place::Read)).map(|(_, count)| count).sum()
}

/// What waits in the SGSN's queues.
#[must_use]
pub fn queued(counters: &BTreeMap<String, u64>) -> u64 {
    let waiting = ["queued_n_pdus", "queued_ll_pdus", QUEUED_UPLINK];
    waiting.iter().filter_map(|name| counters.get(*name)).sum()
}

/// Of these, what was offered.
#[must_use]
pub fn queued_of(counters: &BTreeMap<String, u64>, offered: Offered) -> u64 {
    let others = match offered {
        Offered::Uplink => 0,
        Offered::Downlink | Offered::Acknowledged => counters.get(QUEUED_UPLINK).copied().unwrap_or(0),
    };
    queued(counters) - others
}

/// N-PDUs that wait for a mobile's confirmation.
#[must_use]
pub fn unconfirmed(counters: &BTreeMap<String, u64>) -> u64 {
    counters.get("n_pdus_unconfirmed").copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::read_counters;
    use crate::load::config::Proposal;

    #[test]
    fn counters_are_read_line_by_line() {
        let name = Drop::NoFrame.name();
        let counters = read_counters(&format!(
            "{name} 5\n{name} 2\nqueued_n_pdus 3\n% nothing\n\nother x\nn_pdus_down 12 (total)"
        ));
        assert_eq!(counters.len(), 3);
        assert_eq!(drops(&counters, Offered::Downlink), BTreeMap::from([(name.to_owned(), 7)]));
        assert_eq!(queued(&counters), 3);
    }

    #[test]
    fn what_was_read_is_told_from_what_was_not() {
        let moved = [
            (Drop::DemuxOverRate.name(), 5),
            (Drop::FlowQueueFull.name(), 4),
            (Drop::FlowMsQueueFull.name(), 3),
            (Drop::GmmRejected.name(), 2),
            ("udp.RcvbufErrors", 1),
        ];
        let moved: BTreeMap<String, u64> = moved.map(|(name, count)| (name.to_owned(), count)).into();
        let drops = drops(&moved, Offered::Downlink);
        assert_eq!(drops.values().sum::<u64>(), 13, "a rejected attach is no N-PDU: {drops:?}");
        assert_eq!(read_and_dropped(&drops), 3);
    }

    #[test]
    fn a_gannet_is_told_everything_and_an_osmo_sgsn_nothing_that_it_does_not_know() {
        let setup = Setup {
            work_ns: 0,
            gea: None,
            policing: false,
            users: 10_000,
            cells: 802,
            kbps: 448,
            ms_rate: 1.0,
            octets: 378,
            buffer_ms: 1000,
            real_time: 0,
            high_every: 0,
            uplink: false,
            store: false,
            acknowledged: 0,
            kd: None,
            program: None,
        };
        let text = config(Candidate::Xdp, &setup, Path::new("x"));
        for line in [
            " ingress xdp",
            " policing off",
            " max-frames 400000",
            " socket-buffer 848640",
            " max-mobiles 10064",
        ] {
            assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
        }
        assert!(!text.contains(" store "));
        assert!(!text.contains(" window "));
        assert!(text.contains("\n auth-policy accept-all\n"));
        let wide = config(
            Candidate::Xdp,
            &Setup { kd: Some(Proposal::by_all(64)), ..setup.clone() },
            Path::new("x"),
        );
        assert!(wide.lines().any(|line| line == " llc sapi 3 window downlink 64 uplink 16"), "{wide}");
        let ciphering = config(Candidate::Xdp, &Setup { gea: Some(3), ..setup.clone() }, Path::new("x"));
        for line in [" auth-policy remote", " encryption gea 3", " gsup remote-ip 192.0.2.6"] {
            assert!(ciphering.lines().any(|other| other == line), "{line} in\n{ciphering}");
        }
        let kept = config(Candidate::Xdp, &Setup { store: true, ..setup.clone() }, Path::new("x"));
        assert!(kept.contains("\n store x/mobiles.redb\n"), "{kept}");
        let text = config(Candidate::Osmo, &setup, Path::new("x"));
        assert!(!text.contains("ingress") && text.contains("logging level set-all error"));
        assert_eq!(bssgp_octets(&setup), 403);
    }
}

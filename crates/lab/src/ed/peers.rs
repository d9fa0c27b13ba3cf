//! The SGSNs under test: their configurations, how they are started, and what their counters say.

use super::bed::{Bed, GB_PORT, GB_SGSN, GN_LOAD, GN_SGSN, SGSN_CORE};
use super::real::AROUND;
use super::{Candidate, Setup};
use crate::testbed::{Process, TestbedError};
use gannet_proto::drops::Drop;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Where gannet's VTY listens, in its own namespace.
const VTY: &str = "127.0.0.1:4245";

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
    let (program, mut arguments) = match candidate {
        Candidate::Osmo => (Path::new("osmo-sgsn"), vec![]),
        _ => (gannet, vec!["sgsn".to_owned()]),
    };
    arguments.extend(["-c".to_owned(), path.to_string_lossy().into_owned()]);
    if candidate != Candidate::Osmo && setup.work_ns > 0 {
        arguments.extend(["--work-ns".to_owned(), setup.work_ns.to_string()]);
    }
    let mut command = bed.command(program);
    command.args(arguments);
    Process::start(candidate.name(), &mut command, &directory.join("sgsn.log"))
}

/// A candidate's configuration file.
#[must_use]
pub fn config(candidate: Candidate, setup: &Setup, directory: &Path) -> String {
    let mut text = format!(
        "sgsn\n gtp state-dir {}\n gtp local-ip {GN_SGSN}\n ggsn 0 remote-ip {GN_LOAD}\n ggsn 0 gtp-version 1\n \
         auth-policy accept-all\n",
        directory.display()
    );
    let ingress = match candidate {
        Candidate::Osmo => None,
        Candidate::Fifo => Some("fifo"),
        Candidate::Reuseport => Some("reuseport"),
        Candidate::Xdp => Some("xdp"),
    };
    if let Some(ingress) = ingress {
        // Room for everybody; one second of each mobile's rate at the least, in N-PDUs.
        let policing = if setup.policing { "on" } else { "off" };
        let mobiles = (setup.users + 64).max(1024);
        let _ = write!(
            text,
            " ingress {ingress}\n busy-poll always\n core {SGSN_CORE}\n policing {policing}\n buffer-ms {}\n \
             max-mobiles {mobiles}\n max-cells {}\n llc n201-u 1520\n",
            setup.buffer_ms,
            setup.cells + 16,
        );
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

/// Octets of the BSSGP PDU in which an N-PDU goes: DL-UNITDATA with what is mandatory.
#[must_use]
pub const fn bssgp_octets(setup: &Setup) -> u16 {
    setup.octets + AROUND + 15
}

/// The lines `name value` of an answer.
#[must_use]
pub fn read_counters(answer: &str) -> BTreeMap<String, u64> {
    answer
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, value) = (words.next()?, words.next()?.parse().ok()?);
            Some((name.to_owned(), value))
        })
        .collect()
}

/// Those of the counters that are drops of N-PDUs, by what they have moved.
#[must_use]
pub fn drops(moved: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let is_drop = |name: &str| Drop::ALL.iter().any(|drop| drop.name() == name);
    moved
        .iter()
        .filter(|(name, value)| **value > 0 && is_drop(name.strip_prefix("drop.").unwrap_or(name)))
        .map(|(name, value)| (name.clone(), *value))
        .collect()
}

/// What waits in the SGSN's queues.
#[must_use]
pub fn queued(counters: &BTreeMap<String, u64>) -> u64 {
    let waiting = ["queued_n_pdus", "queued_ll_pdus"];
    waiting.iter().filter_map(|name| counters.get(*name)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_read_line_by_line() {
        let name = Drop::NoFrame.name();
        let counters = read_counters(&format!("{name} 7\nqueued_n_pdus 3\n% nothing\n\nother x\nn_pdus_down 12 (total)"));
        assert_eq!(counters.len(), 3);
        assert_eq!(drops(&counters), BTreeMap::from([(name.to_owned(), 7)]));
        assert_eq!(queued(&counters), 3);
    }
}

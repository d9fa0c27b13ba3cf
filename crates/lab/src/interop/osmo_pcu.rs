//! Osmocom's BSS (osmo-bsc, osmo-bts-virtual and osmo-pcu) against our SGSN, in both dialects of Gb: minutes of quiet, and
//! then a restart of each side.

use super::Found;
use super::bed::{At, Bed};
use super::judge::{GB, Payload, count, frames, until_in, until_on_gb};
use super::network::{SGSN, failed};
use crate::osmo_bss;
use crate::testbed::TestbedError;
use std::time::{Duration, Instant};

type Result<T> = core::result::Result<T, TestbedError>;

/// A PCU finds out within a minute or so that its SGSN is another one.
const PATIENCE: Duration = Duration::from_secs(180);
/// From one FLOW-CONTROL-BVC to the next, and how long one may be late on a busy machine.
const FLOW_CONTROL: Duration = Duration::from_secs(10);
/// The test procedure of NS: ours as configured, and that of osmo-pcu, which has its own idea of it.
const ALIVE: Duration = Duration::from_secs(2);
const ALIVE_OF_PCU: Duration = Duration::from_secs(30);
/// What is captured once the BSS and once the SGSN has been switched off, each for itself: who restarts may well be told of it by a
/// STATUS.
const BSS_RESTARTS: &str = "restart-of-the-bss.pcapng";
const SGSN_RESTARTS: &str = "restart-of-the-sgsn.pcapng";
/// How often something may be missed until it has ceased.
const MISSED: u32 = 3;

/// How an NS-VC comes to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    IpAccess,
    IpSns,
}

/// Lines for osmo-bsc: timers with which a restart is seen soon.
const NS_TIMERS: &str = "  gprs ns timer tns-test 2
  gprs ns timer tns-alive 1
  gprs ns timer tns-alive-retries 2
";

const SGSN_CONFIG: &str = "sgsn
 gtp state-dir .
 gtp local-ip 127.0.0.1
 ggsn 0 remote-ip 127.0.0.2
ns
 timer tns-test 2
 timer tns-alive 1
 timer tns-alive-retries 2
 bind udp local
  listen 127.0.0.1 23000
  accept-ipaccess
  accept-dynamic-ip-sns
 ip-sns-default bind local
bssgp
line vty
 no login
";

fn pcu(dialect: Dialect) -> String {
    let dialect = match dialect {
        Dialect::IpAccess => "classic",
        Dialect::IpSns => "ip-sns",
    };
    let interval = FLOW_CONTROL.as_secs();
    osmo_bss::pcu(4, &format!(" flow-control-interval {interval}\n gb-dialect {dialect}\n"))
}

/// RESET, UNBLOCK and ALIVE.
pub fn ip_access(bed: &mut Bed, minutes: u32) -> Result<Found> {
    quiet_and_restarts(bed, Dialect::IpAccess, minutes)
}

/// SNS-SIZE, SNS-CONFIG and ALIVE.
pub fn ip_sns(bed: &mut Bed, minutes: u32) -> Result<Found> {
    quiet_and_restarts(bed, Dialect::IpSns, minutes)
}

fn quiet_and_restarts(bed: &mut Bed, dialect: Dialect, minutes: u32) -> Result<Found> {
    for (name, text) in [
        ("bsc.cfg", osmo_bss::bsc("127.0.0.1", NS_TIMERS)),
        ("bts.cfg", osmo_bss::BTS.to_owned()),
        ("pcu.cfg", pcu(dialect)),
        ("sgsn.cfg", SGSN_CONFIG.to_owned()),
    ] {
        bed.write(name, &text)?;
    }
    bed.namespace(At::Core).ip(&["link", "set", "lo", "multicast", "on"])?;
    bed.namespace(At::Core).ip(&["route", "add", "224.0.0.0/4", "dev", "lo"])?;
    bed.capture(At::Core, "lo", GB, GB_PORT)?;
    start_sgsn(bed)?;
    start_bss(bed)?;
    let ns = until_the_cell_is_up(bed)?;
    let expected = match dialect {
        Dialect::IpAccess => "NSVCI 00101",
        Dialect::IpSns => "State: 'CONFIGURED'",
    };
    if !ns.contains(expected) {
        return Err(failed(expected, ns));
    }
    stay(bed, minutes)?;
    bed.end_captures();
    let quiet = quiet(bed, minutes)?;
    // The PCU is switched off and on; then the SGSN is, and the PCU finds it again by its own means.
    let begin = Instant::now();
    bed.stop(&["pcu", "bts", "bsc"]);
    bed.until("the test to find nobody", |bed| (!unblocked(&show_ns(bed)?)).then_some(()))?;
    bed.capture(At::Core, "lo", BSS_RESTARTS, GB_PORT)?;
    start_bss(bed)?;
    until_served_again(bed, BSS_RESTARTS)?;
    let bss = begin.elapsed().as_secs();
    let begin = Instant::now();
    bed.stop(&["sgsn"]);
    bed.capture(At::Core, "lo", SGSN_RESTARTS, GB_PORT)?;
    start_sgsn(bed)?;
    until_served_again(bed, SGSN_RESTARTS)?;
    let sgsn = begin.elapsed().as_secs();
    Ok(Found::of(
        Payload::None,
        format!("{quiet}; up again {bss} s after the BSS ended, {sgsn} s after the SGSN did"),
    ))
}

/// The cell is in service, and its flow control goes on: what the PCU has said of it since then has been answered.
fn until_served_again(bed: &mut Bed, capture: &str) -> Result<()> {
    until_the_cell_is_up(bed)?;
    until_in(bed, capture, "flow control after the restart", FLOW_CONTROL_BVC_ACK)?;
    bed.end_captures();
    let asked = count(bed, capture, FLOW_CONTROL_BVC)?;
    if asked == 0 { Err(failed("FLOW-CONTROL-BVC", "only its acknowledgement has come")) } else { Ok(()) }
}

fn start_sgsn(bed: &mut Bed) -> Result<()> {
    bed.start(("sgsn", At::Core), "gannet", &["sgsn", "-c", "sgsn.cfg"])?;
    bed.until("the VTY of the SGSN", show_ns).map(drop)
}

/// The whole BSS. Whoever loses its neighbour ends, as these programs do, and is started again.
fn start_bss(bed: &mut Bed) -> Result<()> {
    let mut start = |(name, program)| bed.start((name, At::Core), program, &["-c", &format!("{name}.cfg")]);
    osmo_bss::PROGRAMS.into_iter().try_for_each(&mut start)
}

fn show_ns(bed: &Bed) -> Option<String> {
    bed.vty(At::Core, SGSN, "show ns")
}

fn unblocked(ns: &str) -> bool {
    ns.contains("UNBLOCKED")
}

/// NS, the BVC of the cell and its flow control are there, with what the cell itself has said.
fn cell_is_up(bed: &Bed) -> Option<String> {
    let ns = show_ns(bed)?;
    let bvcs = bed.vty(At::Core, SGSN, "show bssgp stats")?;
    let up = |line: &str| line.contains("BVCI     2,") && line.ends_with("STATE: UNBLOCKED");
    (unblocked(&ns) && bvcs.lines().any(up)).then_some(ns)
}

fn until_the_cell_is_up(bed: &mut Bed) -> Result<String> {
    bed.within(PATIENCE, "the cell", cell_is_up)
}

/// All that time the cell stays in service; and until its flow control, and a test of each side with its answer, have been heard
/// of.
fn stay(bed: &mut Bed, minutes: u32) -> Result<()> {
    let until = Instant::now() + Duration::from_secs(60) * minutes;
    while Instant::now() < until {
        bed.check()?;
        if cell_is_up(bed).is_none() {
            let shown = [show_ns(bed), bed.vty(At::Core, SGSN, "show bssgp stats")];
            return Err(failed(
                "the cell has left its service",
                shown.map(Option::unwrap_or_default).concat(),
            ));
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    REGULAR.iter().try_for_each(|(what, filter, _)| until_on_gb(bed, what, filter))
}

const GB_PORT: &str = "udp port 23000";
const FLOW_CONTROL_BVC: &str = "bssgp.pdu_type == 0x26";
const FLOW_CONTROL_BVC_ACK: &str = "bssgp.pdu_type == 0x27";

/// What has to go on, and how often it comes: flow control, and the test procedure of each side with the answers of the other
/// (08.16 clause 7.4 [48.016]).
const REGULAR: &[(&str, &str, Duration)] = &[
    ("FLOW-CONTROL-BVC", FLOW_CONTROL_BVC, FLOW_CONTROL),
    ("FLOW-CONTROL-BVC-ACK", FLOW_CONTROL_BVC_ACK, FLOW_CONTROL),
    ("ALIVE of ours", "nsip.pdu_type == 0x0a && udp.srcport == 23000", ALIVE),
    ("ALIVE-ACK of theirs", "nsip.pdu_type == 0x0b && udp.dstport == 23000", ALIVE),
    ("ALIVE of theirs", "nsip.pdu_type == 0x0a && udp.dstport == 23000", ALIVE_OF_PCU),
    ("ALIVE-ACK of ours", "nsip.pdu_type == 0x0b && udp.srcport == 23000", ALIVE_OF_PCU),
];

/// When the frames came that a filter lets pass, in seconds.
fn times(bed: &Bed, filter: &str) -> Result<Vec<f64>> {
    let rows = frames(bed, GB, filter, &["frame.time_relative"])?;
    Ok(rows.iter().filter_map(|row| row.first()?.parse().ok()).collect())
}

/// The longest time without, in seconds: the capture's beginning and end count as well, so that what ceases is seen.
fn longest_gap(at: &[f64], (begin, end): (f64, f64)) -> f64 {
    let ends = core::iter::once(begin).chain(at.iter().copied()).zip(at.iter().copied().chain([end]));
    ends.map(|(before, after)| after - before).fold(0.0, f64::max)
}

/// All of [`REGULAR`] went on for all that time, and nobody had anything to complain about.
fn quiet(bed: &Bed, minutes: u32) -> Result<String> {
    let all = times(bed, "frame")?;
    let (Some(begin), Some(end)) = (all.first().copied(), all.last().copied()) else {
        return Err(failed(GB, "has no frame"));
    };
    let stayed = f64::from(minutes) * 60.0;
    if end - begin < stayed - (ALIVE * MISSED).as_secs_f64() {
        return Err(failed(GB, format!("has {:.0} s of {stayed:.0} s", end - begin)));
    }
    let mut counts = Vec::new();
    for (what, filter, period) in REGULAR {
        let at = times(bed, filter)?;
        let gap = longest_gap(&at, (begin, end));
        if at.is_empty() || gap > (*period * MISSED).as_secs_f64() {
            return Err(failed(what, format!("came {} times, with {gap:.1} s without", at.len())));
        }
        counts.push(format!("{} {what}", at.len()));
    }
    let status = count(bed, GB, "nsip.pdu_type == 0x08 || bssgp.pdu_type == 0x41")?;
    if status > 0 {
        return Err(failed("STATUS", format!("{status} of NS or BSSGP")));
    }
    Ok(format!("{:.0} s: {}, no STATUS", end - begin, counts.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_at_the_ends_is_a_gap() {
        let gap = |at: &[f64]| longest_gap(at, (0.0, 600.0));
        assert_eq!(gap(&[5.0, 300.0, 590.0]).to_bits(), 295.0_f64.to_bits());
        assert_eq!(gap(&[5.0]).to_bits(), 595.0_f64.to_bits());
        assert_eq!(gap(&[400.0, 599.0]).to_bits(), 400.0_f64.to_bits());
        assert_eq!(gap(&[]).to_bits(), 600.0_f64.to_bits());
    }
}

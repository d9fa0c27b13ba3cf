//! Routing area updates, changes of cells, and paging.

use super::bed::{At, Bed};
use super::judge::{GB, Payload, count, frames};
use super::network::{self, INTERNET, SGSN, Setup, address, failed, ping, ping_internet, until_active};
use super::{Found, differences};
use crate::demo::Peer;
use crate::http;
use crate::testbed::TestbedError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

type Result = core::result::Result<Found, TestbedError>;

const RAU_ACCEPT: &str = "gsm_a.dtap.msg_gmm_type == 0x09";
const RAU_REJECT: &str = "gsm_a.dtap.msg_gmm_type == 0x0b";

/// The value of a counter in a node's `show stats`.
fn counter(bed: &Bed, (at, vty): (At, &str), name: &str) -> Option<u64> {
    let stats = bed.vty(at, vty, "show stats")?;
    let line = stats.lines().find(|line| line.split_whitespace().next() == Some(name))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// The P-TMSI that the mobile has.
fn ptmsi(shown: &str) -> String {
    let rest = shown.split_once("P-TMSI ").map_or("", |(_, rest)| rest);
    rest.split(',').next().unwrap_or_default().to_owned()
}

/// To another routing area and back.
pub fn rau(bed: &mut Bed) -> Result {
    let bss = " cells 2\n cells-per-routing-area 1\n";
    network::start(bed, &Setup { bss, ..Setup::default() })?;
    let mut name = ptmsi(&until_active(bed)?);
    // At osmo-sgsn one of them takes half a minute, as interop/README.md says.
    let cells: &[u8] = if bed.sgsn == Peer::Gannet { &[1, 0] } else { &[1] };
    for cell in cells {
        network::order(bed, &format!("mobile 1 cell {cell}"))?;
        name = bed.within(Duration::from_secs(90), "the routing area update", |bed| {
            let shown = network::mobile(bed).filter(|shown| shown.contains("(normal-service)"))?;
            let there = shown.contains(&format!(" cell {cell} ")) && shown.contains(" pdp-active ");
            Some(ptmsi(&shown)).filter(|ptmsi| there && *ptmsi != name)
        })?;
        ping_internet(bed)?;
    }
    bed.stop(&["bss"]);
    // An acceptance is ciphered, as all of GMM is by then; a refusal is not.
    match (count(bed, GB, RAU_REJECT)?, bed.sgsn) {
        (0, _) => {
            let fact = "there and back, P-TMSI reallocated each time, 5 of 5 pings after each";
            Ok(Found::of(Payload::Ciphered, fact))
        }
        (rejects, Peer::Gannet) => Err(failed("routing area updates", format!("{rejects} rejected"))),
        (_, Peer::Osmocom) => {
            let again = repeated_numbers(bed)?;
            let fact = format!("rejected after {again} with N(U) counted anew; attached again, 5 of 5 pings");
            Ok(Found::of(Payload::Ciphered, fact).but(differences::RAU_REPETITION))
        }
    }
}

/// How many frames of the SGSN on SAPI 1 came with a number that the mobile had had before its first routing area update.
fn repeated_numbers(bed: &Bed) -> core::result::Result<usize, TestbedError> {
    let of = |filter: &str| {
        let fields = ["frame.number", "llcgprs.nu"];
        let rows = frames(bed, GB, &format!("llcgprs.sapib == 1 && llcgprs.nu && {filter}"), &fields)?;
        let number = |row: &Vec<String>| Some((row.first()?.parse().ok()?, row.get(1)?.parse().ok()?));
        Ok::<Vec<(u32, u32)>, TestbedError>(rows.iter().filter_map(number).collect())
    };
    let update = of("gsm_a.dtap.msg_gmm_type == 0x08")?;
    let reject = of(RAU_REJECT)?;
    let (Some((update, _)), Some((reject, _))) = (update.first(), reject.first()) else {
        return Err(failed("routing area update", "is not in the capture"));
    };
    let down = of("udp.srcport == 23000")?;
    let known = down.iter().filter(|(frame, _)| frame < update).map(|(_, nu)| *nu).max();
    let between = down.iter().filter(|(frame, _)| (update..reject).contains(&frame));
    let again = between.filter(|(_, nu)| known.is_some_and(|known| *nu <= known)).count();
    if again == 0 {
        return Err(failed(
            "the numbers of the SGSN's frames",
            "do not repeat: the refusal has another reason",
        ));
    }
    Ok(again)
}

/// The SGSN says when the mobile is to be heard of again.
pub fn periodic_rau(bed: &mut Bed) -> Result {
    let sgsn = match bed.sgsn {
        Peer::Gannet => " timer T3312 6\n timer T3314 2\n",
        Peer::Osmocom => " timer T3312 6\n",
    };
    // Not ciphered, so that the capture tells one update from another.
    network::start(bed, &Setup { sgsn, geas: "0", ..Setup::default() })?;
    until_active(bed)?;
    // osmo-sgsn leaves READY at its 44 s.
    bed.within(Duration::from_secs(120), "a periodic routing area update", |bed| {
        let update = [RAU_ACCEPT, "gsm_a.gm.gmm.update_type == 3"];
        update.iter().all(|filter| count(bed, GB, filter).is_ok_and(|count| count > 0)).then_some(())
    })?;
    let pings = ping_internet(bed)?;
    bed.stop(&["bss"]);
    if count(bed, GB, RAU_REJECT)? > 0 {
        return Err(failed("periodic routing area update", "rejected"));
    }
    let updates = count(bed, GB, RAU_ACCEPT)?;
    Ok(Found::of(Payload::Clear, format!("{updates} accepted, {pings} after it")))
}

/// Cells of the routing area, two of each of two NSEs.
const CELLS: u32 = 4;
const SEED: u64 = 1;

/// How often it changes them, and octets of the download.
const CHANGES: u32 = 10;
const OCTETS: usize = 800_000;

/// A download during which the mobile changes cells within its routing area.
pub fn cell_change(bed: &mut Bed) -> Result {
    let bss = " cells 4\n cells-per-nse 2\n cells-per-routing-area 4\n";
    network::start(bed, &Setup { bss, ..Setup::default() })?;
    until_active(bed)?;
    let (bind, length) = (format!("{}:80", INTERNET.1), OCTETS.to_string());
    let serve = ["lab", "serve", "--bind", &bind, "--octets", &length, "--seed", "1"];
    bed.start(("host", At::Core), "gannet", &serve)?;
    bed.until("the host", |bed| {
        let log = std::fs::read_to_string(bed.directory().join("host.log")).ok()?;
        log.contains("serving").then_some(())
    })?;
    if bed.sgsn == Peer::Osmocom {
        // A NULL frame from another cell tells it nothing, so that the mobile has to say more than that.
        bed.start(("beside", At::Radio), "ping", &["-q", "-i", "0.5", "-I", "ms0", INTERNET.1])?;
    }
    let done = AtomicBool::new(false);
    let (printed, changes) = std::thread::scope(|scope| {
        let changes = scope.spawn(|| change_cells(bed, &done));
        let url = format!("http://{}/", INTERNET.1);
        let format = "%{size_download} octets in %{time_total} s";
        let arguments = http::curl_arguments("ms0", "download.bin", format, &url);
        let printed = bed.run(At::Radio, "curl", &arguments);
        done.store(true, Ordering::Relaxed);
        (printed, changes.join())
    });
    let (content, printed) = printed?;
    let changes = changes.unwrap_or(Ok(0))?;
    if !content || changes < CHANGES {
        return Err(failed("curl", format!("{printed} with {changes} of {CHANGES} cell changes")));
    }
    let got = http::sha256(&std::fs::read(bed.directory().join("download.bin"))?);
    if got != http::sha256(&http::content(SEED, OCTETS)) {
        return Err(failed("SHA-256", format!("is {got}: {printed}")));
    }
    bed.stop(&["beside"]);
    let pings = ping_internet(bed)?;
    let lost = lost(bed)?;
    bed.stop(&["bss"]);
    let flushes = count(bed, GB, "bssgp.pdu_type == 0x2a")?;
    let fact = format!("{changes} changes, SHA-256 equal, {lost}, {flushes} FLUSH-LL, {pings}");
    match bed.sgsn {
        Peer::Gannet if flushes < changes as usize => Err(failed("FLUSH-LL", fact)),
        Peer::Osmocom if flushes == 0 => Ok(Found::of(Payload::Ciphered, fact).but(differences::CELL_UPDATE)),
        Peer::Gannet | Peer::Osmocom => Ok(Found::of(Payload::Ciphered, fact)),
    }
}

/// The next cell once some more of the download has come. Gives how often.
fn change_cells(bed: &Bed, done: &AtomicBool) -> core::result::Result<u32, TestbedError> {
    let path = bed.directory().join("download.bin");
    for change in 0..CHANGES {
        // Each at its part of the whole, so that the last one is well before the end.
        let part = (OCTETS as u64 * 9 / 10) * u64::from(change + 1) / u64::from(CHANGES + 1);
        while std::fs::metadata(&path).map_or(0, |meta| meta.len()) < part {
            if done.load(Ordering::Relaxed) {
                return Ok(change);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        network::order(bed, &format!("mobile 1 cell {}", (change + 1) % CELLS))?;
    }
    Ok(CHANGES)
}

/// What our nodes have lost of LL-PDUs on the way down, by their own count.
fn lost(bed: &Bed) -> core::result::Result<String, TestbedError> {
    let mut drops = bed.vty(At::Radio, network::BSS, "show drops").unwrap_or_default();
    if bed.sgsn == Peer::Gannet {
        drops += &bed.vty(At::Core, SGSN, "show drops").unwrap_or_default();
    }
    let of = ["bss_", "flow_", "sgsn_flush", "ms_"];
    let lost: Vec<&str> =
        drops.lines().filter(|line| of.iter().any(|start| line.trim_start().starts_with(start))).collect();
    match bed.sgsn {
        Peer::Gannet if !lost.is_empty() => Err(failed("LL-PDUs were lost", lost.join("\n"))),
        Peer::Gannet => Ok("0 LL-PDUs lost".to_owned()),
        Peer::Osmocom if lost.is_empty() => Ok("0 LL-PDUs lost at the BSS".to_owned()),
        Peer::Osmocom => {
            let names: Vec<String> = lost
                .iter()
                .map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
                .collect();
            Ok(names.join(", "))
        }
    }
}

/// What comes for a mobile in STANDBY.
pub fn paging(bed: &mut Bed) -> Result {
    let sgsn = " timer T3314 2\n";
    network::start(bed, &Setup { sgsn, ..Setup::default() })?;
    let shown = until_active(bed)?;
    let target = address(&shown, 5).ok_or_else(|| failed("show mobile 1", shown))?;
    // For what the mobile answers.
    bed.namespace(At::Radio).ip(&["route", "add", "default", "dev", "ms0"])?;
    let imsi = network::IMSI;
    bed.within(Duration::from_secs(90), "STANDBY", |bed| {
        let context = bed.vty(At::Core, SGSN, &format!("show mm-context imsi {imsi}"))?.to_uppercase();
        context.contains("STANDBY").then_some(())
    })?;
    let pagings = |bed: &Bed| {
        let counted = counter(bed, (At::Radio, network::BSS), "pagings");
        counted.ok_or_else(|| failed("show stats", "the BSS says nothing of pagings"))
    };
    let before = pagings(bed)?;
    let pings = ping(bed, At::Core, &target, &[])?;
    if pagings(bed)? <= before {
        return Err(failed("PAGING PS", "none has come"));
    }
    bed.stop(&["bss"]);
    let rows = frames(bed, GB, "bssgp.pdu_type == 0x06", &["frame.number"])?;
    Ok(Found::of(
        Payload::Ciphered,
        format!("{} PAGING PS, {pings} from the network, the first one too", rows.len()),
    ))
}

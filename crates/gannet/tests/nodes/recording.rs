//! `gannet sgsn --record`: what a running node has recorded runs again, and no key of the run is in it.

use crate::common::{gannet, said, succeed, wait_for};
use crate::transfers::{Chain, Combination, HOST, KI};
use gannet_testkit::{Case, Need, TempDir};
use std::path::Path;

const NEEDS: &[Need] = &[Need::NetAdmin, Need::Program("ping")];

/// All of them.
pub const CASES: &[Case] = &[
    ("a_recording_with_authentication_runs_again", NEEDS, || recorded("authentication", (3, 0))),
    ("a_recording_of_a_ciphered_link_runs_again", NEEDS, || recorded("gea3", (3, 3))),
    ("a_recording_of_ciphered_acknowledged_mode_runs_again", NEEDS, || recorded("acknowledged", (2, 1))),
    ("a_recording_with_a_usim_and_gea4_runs_again", NEEDS, || recorded("gea4", (3, 4))),
];

/// Values of GSUP's elements RAND to RES behind each other, wherever they stand in a capture.
fn vectors(capture: &[u8]) -> Vec<Vec<u8>> {
    const LENGTHS: [(u8, usize); 7] =
        [(0x20, 16), (0x21, 4), (0x22, 8), (0x23, 16), (0x24, 16), (0x25, 16), (0x27, 8)];
    let mut all = Vec::new();
    for at in 0..capture.len() {
        let mut rest = &capture[at..];
        let mut values = Vec::new();
        for (iei, len) in LENGTHS {
            if rest.len() < 2 + len || (rest[0], usize::from(rest[1])) != (iei, len) {
                break;
            }
            values.push(rest[2..2 + len].to_vec());
            rest = &rest[2 + len..];
        }
        if values.len() >= 3 {
            all.extend(values);
        }
    }
    all
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Attach, context, a ping each way and detach, recorded.
fn record(directory: &TempDir, (class, gea): (u8, u8)) -> String {
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (lines, pcap) = (path("sgsn.txt"), path("sgsn.pcapng"));
    let combination = Combination { class, gea, compression: &[], loss: 0 };
    let mut chain = Chain::start(directory, &combination, &["--record", &lines, "--pcap", &pcap]);
    chain.radio.ip(&["route", "replace", &format!("{HOST}/32"), "dev", "ms0"]);
    wait_for("a ping each way", || {
        let ping =
            chain.radio.command("ping").args(["-c", "2", "-i", "0.3", "-W", "5", "-s", "600", HOST]).output();
        ping.unwrap().status.success().then_some(())
    });
    let shown = chain.vty("show mobile 1").unwrap();
    assert!(shown.contains(&format!("GEA{gea}")), "{shown}");
    chain.vty("mobile 1 detach").unwrap();
    wait_for("the detach", || chain.vty("show mobile 1").filter(|text| text.contains("gmm-deregistered")));
    let (_, sgsn) = chain.nodes.iter_mut().find(|(name, _)| *name == "sgsn").unwrap();
    sgsn.signal("TERM");
    assert!(sgsn.wait().success(), "{}", sgsn.log());
    let text = std::fs::read_to_string(&lines).unwrap();
    let capture = std::fs::read(&pcap).unwrap();
    let real = vectors(&capture);
    assert!(real.len() >= 3, "the capture has the HLR's vectors");
    for value in real {
        assert!(!text.contains(&hex(&value)), "{} is a value of a vector", hex(&value));
    }
    assert!(!text.contains(KI));
    text
}

/// Changes the last octet but three of a line: of an LL-PDU, the last one of its information.
fn with_another_octet(text: &str, is_wanted: impl Fn(&str) -> bool) -> String {
    let mut is_done = false;
    let change = |line: &str| {
        if is_done || !is_wanted(line) {
            return format!("{line}\n");
        }
        is_done = true;
        let at = line.len() - 8;
        let digit = if &line[at..=at] == "0" { "1" } else { "0" };
        format!("{}{digit}{}\n", &line[..at], &line[at + 1..])
    };
    let changed = text.lines().map(change).collect();
    assert!(is_done);
    changed
}

fn replay(directory: &TempDir, text: &str) -> Result<String, String> {
    let path = directory.path().join("replay.txt");
    std::fs::write(&path, text).unwrap();
    let output = gannet(&["lab", "replay", &path.display().to_string()]);
    if output.status.success() { Ok(said(&output)) } else { Err(said(&output)) }
}

fn recorded(name: &str, (class, gea): (u8, u8)) {
    let directory = TempDir::new("gannet-recording");
    let text = record(&directory, (class, gea));
    if let Ok(keep) = std::env::var("GANNET_KEEP_RECORDINGS") {
        std::fs::write(Path::new(&keep).join(format!("{name}.txt")), &text).unwrap();
    }
    let replayed = replay(&directory, &text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    assert!(replayed.contains(" 0 remarks"), "{replayed}");
    let ciphered = |line: &str| line.contains(&format!(" GEA{gea}:"));
    assert_eq!(text.lines().any(ciphered), gea > 0);
    for port in ["gb", "gtp-c", "gtp-u", "hlr"] {
        let is_output = |line: &str| line.contains(&format!(" < {port} "));
        let why = replay(&directory, &with_another_octet(&text, is_output)).unwrap_err();
        assert!(why.contains("recorded"), "{why}");
    }
    if gea > 0 {
        let is_output = |line: &str| line.contains(" < gb ") && ciphered(line);
        assert!(replay(&directory, &with_another_octet(&text, is_output)).is_err());
    }
    // An input that is missing is missed as well.
    let silent: String =
        text.lines().filter(|line| !line.contains(" > hlr -")).map(|line| format!("{line}\n")).collect();
    assert!(replay(&directory, &silent).is_err());
    assert!(succeed(&["sgsn", "--help"]).contains("--record"));
}

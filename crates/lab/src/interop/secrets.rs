//! Keys that nobody is told: those in the cards, and those of the authentication vectors, in whatever our nodes write, show and
//! send to the mobile.

use super::bed::{At, Bed};
use super::judge::{CORE, GB, frames};
use super::network::{BSS, KEYS, SGSN, failed};
use crate::demo::Peer;
use crate::testbed::TestbedError;

/// What an operator sees of our SGSN.
const OF_SGSN: &[&str] = &[
    "show running-config",
    "show startup-config",
    "show subscriber cache",
    "show mm-context all pdp",
    "show pdp-context all",
    "show llc",
    "show sndcp",
    "show sgsn",
    "show ggsn",
    "show ns stats",
    "show bssgp stats",
    "show counters",
    "show stats level subscriber",
    "show rate-counters",
    "show timer",
    "show history",
];
/// And of the BSS and its mobiles, which have the cards.
const OF_BSS: &[&str] = &[
    "show running-config",
    "show startup-config",
    "show mobile 1",
    "show cells",
    "show stats",
    "show rate-counters",
    "show drops",
    "show history",
];
/// With which GSUP brings vectors.
const SEND_AUTH_INFO_RESULT: &str = "gsup.msg_type == 0x0a";
/// Where that is kept.
const SHOWN: &str = "shown.txt";

/// What those of our nodes that run show goes into a file, unless it was asked before: a scenario asks while there is most to
/// see.
///
/// # Errors
/// What a node refuses to show.
pub fn keep_what_is_shown(bed: &Bed) -> Result<(), TestbedError> {
    if bed.directory().join(SHOWN).exists() {
        return Ok(());
    }
    let mut all = String::new();
    let nodes = [("bss", At::Radio, BSS, OF_BSS), ("sgsn", At::Core, SGSN, OF_SGSN)];
    for (name, at, vty, commands) in nodes {
        if !bed.runs(name) || (name == "sgsn" && bed.sgsn == Peer::Osmocom) {
            continue;
        }
        for command in commands {
            let shown = bed.vty(at, vty, command);
            let shown = shown.ok_or_else(|| failed(command, format!("was refused by the {name}")))?;
            all += &format!("== {name}: {command}\n{shown}\n");
        }
    }
    bed.write(SHOWN, &all)
}

/// None of the keys stands in the logs of our nodes, in what they have shown, or in a frame of Gb. RES and SRES do: they are what
/// a mobile answers. How many keys were looked for.
///
/// # Errors
/// Where a key was found, or what could not be looked at.
pub fn no_key_is_told(bed: &Bed) -> Result<usize, TestbedError> {
    let mut keys: Vec<String> = KEYS.iter().map(|key| (*key).to_owned()).collect();
    keys.extend(of_vectors(bed)?);
    let logs: &[&str] = if bed.sgsn == Peer::Gannet { &["bss.log", "sgsn.log"] } else { &["bss.log"] };
    for file in logs.iter().chain(&[SHOWN, GB]) {
        let path = bed.directory().join(file);
        // osmo-sgsn may have refused its configuration before anybody else began, and a scenario may have no BSS of ours.
        if !path.exists() && (bed.sgsn == Peer::Osmocom || *file == "bss.log") {
            continue;
        }
        let content = std::fs::read(&path)
            .map_err(|error| failed(file, format!("cannot be searched for keys: {error}")))?;
        if keys.iter().any(|key| is_in(&content, key)) {
            return Err(failed(file, "a key is in it"));
        }
    }
    Ok(keys.len())
}

/// Kc, CK and IK of the vectors that the HLR has sent.
fn of_vectors(bed: &Bed) -> Result<Vec<String>, TestbedError> {
    if !bed.directory().join(CORE).exists() {
        return Ok(Vec::new());
    }
    let rows = frames(bed, CORE, SEND_AUTH_INFO_RESULT, &["gsup.kc", "gsup.ck", "gsup.ik"])?;
    let values = rows.iter().flatten().flat_map(|values| values.split(','));
    let keys: Vec<String> = values.map(|key| key.replace(':', "")).filter(|key| key.len() >= 16).collect();
    if keys.is_empty() && !rows.is_empty() {
        return Err(failed(CORE, "has vectors without keys"));
    }
    Ok(keys)
}

/// Whether a key stands there, in octets or in hexadecimal digits, with whatever stands between them.
fn is_in(content: &[u8], key: &str) -> bool {
    let octets: Vec<u8> = key.as_bytes().chunks(2).filter_map(octet).collect();
    if content.windows(octets.len()).any(|window| window == octets) {
        return true;
    }
    let apart = [b' ', b':', b',', b'-'];
    let digits: Vec<u8> =
        content.iter().filter(|octet| !apart.contains(octet)).map(u8::to_ascii_lowercase).collect();
    let key = key.to_ascii_lowercase();
    digits.windows(key.len()).any(|window| window == key.as_bytes())
}

fn octet(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(core::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_however_it_is_written() {
        let key = "00a1b2c3d4e5f607";
        let octets = [b"..", &[0x00, 0xa1, 0xb2, 0xc3, 0xd4, 0xe5, 0xf6, 0x07][..], b".."].concat();
        assert!(is_in(&octets, key));
        for text in ["kc 00a1b2c3d4e5f607.", "00 A1 B2 C3 D4 E5 F6 07", "[00:a1:b2:c3:d4:e5:f6:07]"] {
            assert!(is_in(text.as_bytes(), key), "{text}");
        }
        assert!(!is_in(&octets[..9], key) && !is_in(b"00a1b2c3d4e5f6", key) && !is_in(b"", key));
    }
}

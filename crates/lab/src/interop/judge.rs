//! What tshark finds in the captures of a scenario.

use super::bed::{At, Bed};
use crate::testbed::TestbedError;
use std::time::Duration;

/// What stands in every echo request of ours: 16 octets, in hexadecimal.
pub const PATTERN: &str = "67616e6e657420696e7465726f702e2e";
/// The same as it would stand in a frame.
const CLEAR: &[u8] = b"gannet interop..";
/// Gb, of which the BSS writes all that it says and hears, or that Osmocom's BSS has.
pub const GB: &str = "gb.pcapng";
/// The loopback device of the core: Gn and the interface to the HLR.
pub const CORE: &str = "core.pcapng";

/// Whether user data may be read on Gb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Ciphered.
    Ciphered,
    /// In the clear.
    Clear,
    /// There is none.
    None,
}

/// The values of fields in the frames that a filter lets pass, and of those that a capture has.
///
/// # Errors
/// What tshark said.
pub fn frames(
    bed: &Bed,
    file: &str,
    filter: &str,
    fields: &[&str],
) -> Result<Vec<Vec<String>>, TestbedError> {
    let mut arguments =
        vec!["-n", "-r", file, "-d", "udp.port==23000,gprs-ns", "-d", "tcp.port==4222,gsm_ipa"];
    arguments.extend(["-o", "tcp.desegment_tcp_streams:FALSE", "-Y", filter]);
    arguments.extend(["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a"]);
    arguments.extend(fields.iter().flat_map(|field| ["-e", field]));
    let (content, printed) = bed.run(At::Core, "tshark", &arguments)?;
    if !content {
        let command = format!("tshark -Y '{filter}' {file}");
        return Err(TestbedError::Failed { command, message: printed });
    }
    // What it says about itself is no row.
    let rows = printed.lines().filter(|line| !line.starts_with("Running as user"));
    Ok(rows.map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// The first value of the first row; empty where there is none.
#[must_use]
pub fn first(rows: &[Vec<String>]) -> String {
    rows.first().and_then(|row| row.first()).cloned().unwrap_or_default()
}

/// How many frames a filter lets pass.
///
/// # Errors
/// What tshark said.
pub fn count(bed: &Bed, file: &str, filter: &str) -> Result<usize, TestbedError> {
    frames(bed, file, filter, &["frame.number"]).map(|rows| rows.len())
}

/// Waits until Gb has carried such a frame.
///
/// # Errors
/// Where none comes.
pub fn until_on_gb(bed: &mut Bed, what: &str, filter: &str) -> Result<(), TestbedError> {
    until_in(bed, GB, what, filter)
}

/// Waits until a capture has such a frame.
///
/// # Errors
/// Where none comes.
pub fn until_in(bed: &mut Bed, file: &str, what: &str, filter: &str) -> Result<(), TestbedError> {
    bed.until(what, |bed| {
        // To ask costs half a second of a processor. A capture that is still being written may end within a frame, which is
        // no answer yet.
        std::thread::sleep(Duration::from_millis(400));
        count(bed, file, filter).is_ok_and(|count| count > 0).then_some(())
    })
}

/// All captures of a scenario, by their names.
fn captures(bed: &Bed) -> Result<Vec<String>, TestbedError> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(bed.directory())? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".pcapng") {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Looks at everything that was captured. The sentence that the line ends with.
///
/// # Errors
/// What is malformed, or in the clear where it should not be.
pub fn judge(bed: &Bed, payload: Payload) -> Result<String, TestbedError> {
    let mut ciphered = 0;
    for file in captures(bed)? {
        let fields = ["frame.number", "_ws.malformed"];
        let rows = frames(bed, &file, "_ws.malformed || llcgprs.e == 1", &fields)?;
        let malformed: Vec<_> =
            rows.iter().filter(|row| row.get(1).is_some_and(|said| !said.is_empty())).collect();
        if let Some(first) = malformed.first() {
            let message =
                format!("{} malformed in {file}, the first is frame {}", malformed.len(), first.join(": "));
            return Err(TestbedError::Failed { command: "tshark".to_owned(), message });
        }
        ciphered += rows.len();
    }
    let clear = match payload {
        Payload::None => 0,
        Payload::Ciphered | Payload::Clear => {
            occurrences(&frames(bed, GB, "gprs-ns && udp", &["udp.payload"])?)
        }
    };
    match payload {
        Payload::None => Ok("nothing malformed".to_owned()),
        Payload::Ciphered if clear == 0 && ciphered > 0 => {
            Ok(format!("nothing malformed, {ciphered} LL-PDUs ciphered, no payload in the clear"))
        }
        Payload::Clear if clear > 0 && ciphered == 0 => {
            Ok("nothing malformed, payload in the clear".to_owned())
        }
        Payload::Ciphered | Payload::Clear => {
            let message = format!("{clear} payloads in the clear and {ciphered} LL-PDUs ciphered");
            Err(TestbedError::Failed { command: format!("{payload:?} was expected"), message })
        }
    }
}

/// How often a payload of ours can be read in datagrams of Gb, in hexadecimal digits. Packets of a TUN device are in the clear anyway.
fn occurrences(datagrams: &[Vec<String>]) -> usize {
    let clear: String = CLEAR.iter().map(|octet| format!("{octet:02x}")).collect();
    datagrams.iter().flatten().map(|digits| digits.replace(':', "").matches(&clear).count()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_is_found() {
        let hex: String = CLEAR.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(hex, PATTERN);
        let row = |digits: &str| vec![digits.to_owned()];
        let rows = [row(&format!("2e{hex}67{hex}")), row("676e"), row(&hex)];
        assert_eq!((occurrences(&rows), occurrences(&rows[1..2])), (3, 0));
    }
}

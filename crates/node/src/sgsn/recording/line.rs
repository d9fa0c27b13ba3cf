//! One line of a recording: what it says, written and read.
//!
//! ```text
//! 12 3.004000000 > gb 192.0.2.1:23000 00000002…          a datagram came
//! 13 3.004000000 < gb 192.0.2.1:23000 00000002…          a datagram went
//! 14 3.204000000 > gb 192.0.2.1:23000 GEA3:98000001 00…  its LL-PDU was ciphered, with this INPUT
//! 15 3.204000000 > gtp-u name:16777216 45…               a T-PDU whose context the driver knew
//! 16 3.300000000 > hlr connected                         or lost
//! 17 3.300000000 < hlr - 0001fe00                        one whole message of IPA
//! 18 3.300000000 < hlr disconnect
//! 19 0.000000000 > command start
//! 20 4.000000000 ! what no line says                     a remark
//! ```

use super::super::{GB, GB_FURTHER, GTP_C, GTP_C_SECOND, GTP_U, GTP_U_SECOND, GTP_V0, HLR, SgsnCommand};
use core::fmt::{self, Write as _};
use core::net::SocketAddr;
use gannet_machine::time::Instant;
use gannet_machine::{EthernetAddress, Peer, Port, StreamState};
use gannet_proto::llc::Algorithm;
use gannet_wire::id::Nsapi;

/// The ports by name.
const PORTS: [(Port, &str); 14] = [
    (GB, "gb"),
    (GTP_C, "gtp-c"),
    (GTP_U, "gtp-u"),
    (GTP_V0, "gtp-v0"),
    (HLR, "hlr"),
    (GTP_C_SECOND, "gtp-c-2"),
    (GTP_U_SECOND, "gtp-u-2"),
    (GB_FURTHER[0], "gb-2"),
    (GB_FURTHER[1], "gb-3"),
    (GB_FURTHER[2], "gb-4"),
    (GB_FURTHER[3], "gb-5"),
    (GB_FURTHER[4], "gb-6"),
    (GB_FURTHER[5], "gb-7"),
    (GB_FURTHER[6], "gb-8"),
];

/// The LL-PDU of this line was ciphered on its way, and stands in the clear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// By which algorithm.
    pub algorithm: Algorithm,
    /// With which INPUT (04.64 annex A [44.064]).
    pub input: u32,
}

/// What a line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A datagram, or a message of the stream to the HLR.
    Datagram(Port, Peer, Option<Mark>, Vec<u8>),
    /// A T-PDU of a context that the driver knew by name.
    Classified(Port, u32, Vec<u8>),
    /// The stream was connected or lost.
    Stream(Port, StreamState),
    /// The node gives the stream up.
    Disconnect(Port),
    /// An order.
    Command(SgsnCommand),
}

/// Which way it went, seen from the node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The node took it.
    In,
    /// The node gave it.
    Out,
}

/// A line without its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    /// An input or an output.
    Passed(Instant, Way, What),
    /// A remark.
    Note(Instant, String),
}

fn port_name(port: Port) -> &'static str {
    PORTS.iter().find(|(known, _)| *known == port).map_or("unknown", |(_, name)| name)
}

fn hex(f: &mut fmt::Formatter<'_>, octets: &[u8]) -> fmt::Result {
    // An empty word could not be read again.
    if octets.is_empty() {
        return f.write_str(" empty");
    }
    f.write_char(' ')?;
    octets.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Datagram(port, peer, mark, octets) => {
                write!(f, "{} ", port_name(*port))?;
                match peer {
                    Peer::Udp(address) => write!(f, "{address}")?,
                    Peer::Ethernet(address) => write!(f, "ethernet:{address}")?,
                    Peer::Slot(slot) => write!(f, "slot:{slot}")?,
                    Peer::Link => f.write_char('-')?,
                }
                if let Some(Mark { algorithm, input }) = mark {
                    write!(f, " {algorithm}:{input:08x}")?;
                }
                hex(f, octets)
            }
            Self::Classified(port, name, octets) => {
                write!(f, "{} name:{name}", port_name(*port))?;
                hex(f, octets)
            }
            Self::Stream(port, StreamState::Connected) => write!(f, "{} connected", port_name(*port)),
            Self::Stream(port, StreamState::Lost) => write!(f, "{} lost", port_name(*port)),
            Self::Disconnect(port) => write!(f, "{} disconnect", port_name(*port)),
            Self::Command(command) => match command {
                SgsnCommand::Start => f.write_str("command start"),
                SgsnCommand::Detach { imsi, reattach: false } => write!(f, "command detach {imsi}"),
                SgsnCommand::Detach { imsi, reattach: true } => write!(f, "command reattach {imsi}"),
                SgsnCommand::Deactivate { imsi, nsapi } => {
                    write!(f, "command deactivate {imsi} {}", nsapi.0)
                }
                SgsnCommand::ResetNs => f.write_str("command reset-ns"),
            },
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = match self {
            Self::Passed(at, ..) | Self::Note(at, _) => at.0,
        };
        write!(f, "{}.{:09} ", at / 1_000_000_000, at % 1_000_000_000)?;
        match self {
            Self::Passed(_, Way::In, what) => write!(f, "> {what}"),
            Self::Passed(_, Way::Out, what) => write!(f, "< {what}"),
            Self::Note(_, text) => write!(f, "! {text}"),
        }
    }
}

fn instant(word: &str) -> Option<Instant> {
    let (seconds, fraction) = word.split_once('.')?;
    let (seconds, nanoseconds): (u64, u64) = (seconds.parse().ok()?, fraction.parse().ok()?);
    (fraction.len() == 9).then(|| Instant(seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)))
}

fn octets(word: &str) -> Option<Vec<u8>> {
    if word == "empty" {
        return Some(Vec::new());
    }
    let (pairs, rest) = word.as_bytes().as_chunks::<2>();
    let pair = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    (rest.is_empty() && !pairs.is_empty()).then(|| pairs.iter().map(pair).collect())?
}

fn mark(word: &str) -> Option<Mark> {
    let (algorithm, input) = word.split_once(':')?;
    let algorithm = Algorithm::of_number(algorithm.strip_prefix("GEA")?.parse().ok()?)?;
    Some(Mark { algorithm, input: u32::from_str_radix(input, 16).ok()? })
}

fn ethernet(word: &str) -> Option<EthernetAddress> {
    let mut octets = [0; 6];
    let mut pairs = word.split(':');
    for octet in &mut octets {
        *octet = u8::from_str_radix(pairs.next().filter(|pair| pair.len() == 2)?, 16).ok()?;
    }
    pairs.next().is_none().then_some(EthernetAddress(octets))
}

fn peer(word: &str) -> Option<Peer> {
    if let Some(address) = word.strip_prefix("ethernet:") {
        return ethernet(address).map(Peer::Ethernet);
    }
    match (word, word.strip_prefix("slot:")) {
        ("-", _) => Some(Peer::Link),
        (_, Some(slot)) => slot.parse().ok().map(Peer::Slot),
        _ => word.parse::<SocketAddr>().ok().map(Peer::Udp),
    }
}

fn command(words: &[&str]) -> Option<SgsnCommand> {
    Some(match *words {
        ["start"] => SgsnCommand::Start,
        ["detach", imsi] => SgsnCommand::Detach { imsi: imsi.parse().ok()?, reattach: false },
        ["reattach", imsi] => SgsnCommand::Detach { imsi: imsi.parse().ok()?, reattach: true },
        ["deactivate", imsi, nsapi] => {
            SgsnCommand::Deactivate { imsi: imsi.parse().ok()?, nsapi: Nsapi(nsapi.parse().ok()?) }
        }
        ["reset-ns"] => SgsnCommand::ResetNs,
        _ => return None,
    })
}

impl What {
    fn parse(words: &[&str]) -> Option<Self> {
        if let ["command", words @ ..] = words {
            return command(words).map(Self::Command);
        }
        let [name, words @ ..] = words else { return None };
        let port = PORTS.iter().find(|(_, known)| known == name)?.0;
        match *words {
            ["connected"] => Some(Self::Stream(port, StreamState::Connected)),
            ["lost"] => Some(Self::Stream(port, StreamState::Lost)),
            ["disconnect"] => Some(Self::Disconnect(port)),
            [from, hex] if from.starts_with("name:") => {
                let name = from.strip_prefix("name:")?.parse().ok()?;
                Some(Self::Classified(port, name, octets(hex)?))
            }
            [from, hex] => Some(Self::Datagram(port, peer(from)?, None, octets(hex)?)),
            [from, how, hex] => Some(Self::Datagram(port, peer(from)?, Some(mark(how)?), octets(hex)?)),
            _ => None,
        }
    }
}

impl Line {
    /// Reads a line that begins with its number; `None` where it is none of a recording.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, at, sign, words @ ..] = words.as_slice() else { return None };
        number.parse::<u64>().ok()?;
        let at = instant(at)?;
        match *sign {
            ">" => Some(Self::Passed(at, Way::In, What::parse(words)?)),
            "<" => Some(Self::Passed(at, Way::Out, What::parse(words)?)),
            "!" => Some(Self::Note(at, words.join(" "))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let from = Peer::Udp(SocketAddr::from(([192, 0, 2, 1], 23000)));
        let mark = Mark { algorithm: Algorithm::Gea3, input: 0x9800_0001 };
        let imsi = "001010000000001".parse().unwrap();
        let all = [
            What::Datagram(GB, from, None, vec![0, 255]),
            What::Datagram(GB_FURTHER[6], from, Some(mark), vec![1]),
            What::Datagram(HLR, Peer::Link, None, Vec::new()),
            What::Datagram(GB, Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 0, 255])), None, vec![3]),
            What::Classified(GTP_U, 1 << 24, vec![0x45]),
            What::Stream(HLR, StreamState::Connected),
            What::Stream(HLR, StreamState::Lost),
            What::Disconnect(HLR),
            What::Command(SgsnCommand::Start),
            What::Command(SgsnCommand::Detach { imsi, reattach: true }),
            What::Command(SgsnCommand::Detach { imsi, reattach: false }),
            What::Command(SgsnCommand::Deactivate { imsi, nsapi: Nsapi(5) }),
            What::Command(SgsnCommand::ResetNs),
        ];
        for (what, way) in all.into_iter().zip([Way::In, Way::Out].into_iter().cycle()) {
            let line = Line::Passed(Instant(3_000_000_004), way, what);
            assert_eq!(Line::parse(&format!("7 {line}")), Some(line));
        }
        let note = Line::Note(Instant(5), "held back".to_owned());
        assert_eq!(note.to_string(), "0.000000005 ! held back");
        assert_eq!(Line::parse(&format!("8 {note}")), Some(note));
    }

    #[test]
    fn what_is_no_line_is_refused() {
        let wrong = [
            "",
            "1 0.1 > gb - 00",
            "1 0.000000001 > um - 00",
            "1 0.000000001 > gb - 0",
            "1 0.000000001 > gb - GEA9:1 00",
            "1 0.000000001 = gb - 00",
            "x 0.000000001 > gb - 00",
            "1 0.000000001 > command dance",
        ];
        for line in wrong {
            assert_eq!(Line::parse(line), None, "{line}");
        }
    }
}

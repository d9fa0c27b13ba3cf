//! Runs a command in the VTY of a node, ours or Osmocom's.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Telnet's "interpret as command" (RFC 854).
const IAC: u8 = 255;
/// Sub-negotiation begins and ends.
const SB: u8 = 250;
const SE: u8 = 240;
/// WILL, WONT, DO, DONT take one option octet.
const WILL: u8 = 251;
const DONT: u8 = 254;

/// Octets without telnet's negotiation and without carriage returns and NULs.
fn plain(octets: &[u8]) -> String {
    let mut text = Vec::with_capacity(octets.len());
    let mut rest = octets.iter().copied();
    while let Some(octet) = rest.next() {
        match octet {
            IAC => match rest.next() {
                Some(WILL..=DONT) => {
                    rest.next();
                }
                Some(SB) => while rest.next().is_some_and(|octet| octet != SE) {},
                _ => {}
            },
            0 | b'\r' => {}
            other => text.push(other),
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The lines between the echo of `command` and the next prompt.
fn answer_to(transcript: &str, command: &str) -> Option<String> {
    let mut lines = transcript.lines();
    let is_prompt_of = |line: &str, command: &str| {
        line.strip_suffix(command).is_some_and(|prompt| prompt.ends_with("> ") || prompt.ends_with("# "))
    };
    lines.by_ref().find(|line| is_prompt_of(line.trim_end(), command))?;
    let answer: Vec<&str> = lines.take_while(|line| !is_prompt_of(line.trim_end(), "exit")).collect();
    Some(answer.join("\n"))
}

/// Runs one command at the VTY and returns its answer.
///
/// # Errors
/// Where nobody listens, or the answer does not come within ten seconds.
pub fn run(address: SocketAddr, command: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let command = command.trim();
    // The view node has neither configuration nor changes; `enable` gives both, and does no harm to `show`.
    write!(stream, "enable\r\nterminal length 0\r\n{command}\r\nexit\r\n")?;
    let mut octets = Vec::new();
    stream.read_to_end(&mut octets)?;
    let transcript = plain(&octets);
    answer_to(&transcript, command).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("no answer to '{command}' in: {transcript}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negotiation_is_left_out_and_the_answer_is_found() {
        let octets = b"\xff\xfb\x01\xff\xfa\x1f\x00\x50\xff\xf0Welcome\r\nG> enable\r\nG# terminal length 0\r\nG# show drops\r\n a 1\r\n b 2\r\nG# exit\r\n";
        assert_eq!(answer_to(&plain(octets), "show drops").as_deref(), Some(" a 1\n b 2"));
        assert_eq!(answer_to(&plain(octets), "show ns"), None);
    }
}

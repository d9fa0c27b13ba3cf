//! The page of metrics over HTTP: `GET /metrics`, one request a connection.
//!
//! That is all of HTTP that a scraper needs, and less than any library of it brings with it; a library's own loop or
//! threads would stand beside the node's. The page is collected and written in parts, one each turn of the loop.

use super::prometheus::{CONTENT_TYPE, Page};
use super::{Group, Source};
use crate::connections::{Answers, Conversation, Limits};
use gannet_machine::time::Duration;

/// How much the page may take.
pub const LIMITS: Limits = Limits {
    connections: 8,
    patience: Duration::from_secs(10),
    renewed: false,
    output_octets: 0,
    news_octets: 0,
};

/// Octets of a request's head at most.
const HEAD_MAX: usize = 8192;
/// Samples that are written in one turn.
const SAMPLES_PER_TURN: usize = 64;

/// One connection.
#[derive(Debug)]
pub struct Scrape {
    head: Vec<u8>,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The head of the request is not whole yet.
    Reading,
    /// The groups of this part come next.
    Collecting { part: usize, groups: Vec<Group>, only_head: bool },
    /// The page is being written.
    Writing { page: Page, text: String, only_head: bool },
    /// Everything is said.
    Over,
}

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Page { only_head: bool },
    Refused(&'static str),
}

/// Reads the first line of a head.
fn request(head: &[u8]) -> Request {
    let line = head.split(|octet| *octet == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut words = line.split(|octet| *octet == b' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Request::Refused("400 Bad Request");
    };
    if !version.starts_with(b"HTTP/1.") {
        return Request::Refused("400 Bad Request");
    }
    let path = target.split(|octet| *octet == b'?').next().unwrap_or_default();
    match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => Request::Page { only_head: method == b"HEAD" },
        (b"GET" | b"HEAD", _) => Request::Refused("404 Not Found"),
        _ => Request::Refused("405 Method Not Allowed"),
    }
}

fn answer(status: &str, content_type: &str, body: &str, only_head: bool, output: &mut Vec<u8>) {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    output.extend(head.into_bytes());
    if !only_head {
        output.extend(body.as_bytes());
    }
}

impl Scrape {
    fn refuse(status: &str, output: &mut Vec<u8>) -> State {
        answer(status, "text/plain", &format!("{status}; what is here is GET /metrics\n"), false, output);
        State::Over
    }

    /// Where the head of the request ends.
    fn read_head(&self, output: &mut Vec<u8>) -> State {
        let ends = |end: &[u8]| self.head.windows(end.len()).any(|octets| octets == end);
        if !(ends(b"\r\n\r\n") || ends(b"\n\n")) {
            return match self.head.len() {
                0..=HEAD_MAX => State::Reading,
                _ => Self::refuse("431 Request Header Fields Too Large", output),
            };
        }
        match request(&self.head) {
            Request::Page { only_head } => State::Collecting { part: 0, groups: Vec::new(), only_head },
            Request::Refused(status) => Self::refuse(status, output),
        }
    }
}

impl Conversation for Scrape {
    fn begin() -> Self {
        Self { head: Vec::new(), state: State::Reading }
    }

    fn input(&mut self, octets: &[u8]) {
        if matches!(self.state, State::Reading) {
            self.head.extend_from_slice(octets);
        }
    }

    fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }
}

impl<H: Source> Answers<H> for Scrape {
    fn proceed(&mut self, host: &mut H, output: &mut Vec<u8>) -> bool {
        self.state = match core::mem::replace(&mut self.state, State::Over) {
            State::Reading => self.read_head(output),
            State::Collecting { part, mut groups, only_head } => {
                if host.groups(part, &mut groups) {
                    State::Collecting { part: part + 1, groups, only_head }
                } else {
                    let page = Page::new(host.element(), groups);
                    State::Writing { page, text: String::new(), only_head }
                }
            }
            State::Writing { mut page, mut text, only_head } => {
                if page.write(SAMPLES_PER_TURN, &mut text) {
                    State::Writing { page, text, only_head }
                } else {
                    answer("200 OK", CONTENT_TYPE, &text, only_head, output);
                    State::Over
                }
            }
            State::Over => State::Over,
        };
        matches!(self.state, State::Collecting { .. } | State::Writing { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::groups;
    use super::*;
    use proptest::prelude::*;

    /// A node whose groups come one by one.
    struct Parts;

    impl Source for Parts {
        fn element(&self) -> &'static str {
            "sgsn"
        }

        fn groups(&mut self, part: usize, into: &mut Vec<Group>) -> bool {
            into.extend(groups().into_iter().nth(part));
            part + 1 < groups().len()
        }
    }

    /// What is answered to octets that come in pieces of a length.
    fn ask(octets: &[u8], piece: usize) -> String {
        let (mut scrape, mut output) = (Scrape::begin(), Vec::new());
        for piece in octets.chunks(piece) {
            scrape.input(piece);
            while scrape.proceed(&mut Parts, &mut output) {}
        }
        assert_eq!(scrape.is_over(), !output.is_empty());
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn a_page_is_served() {
        let page = Page::new("sgsn", Parts.all()).whole();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            page.len()
        );
        for piece in [1, 7, 4096] {
            assert_eq!(ask(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", piece), format!("{head}{page}"));
        }
        assert_eq!(ask(b"HEAD /metrics?x=1 HTTP/1.0\n\n", 4096), head);
    }

    #[test]
    fn what_is_not_served_is_said() {
        for (octets, status) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "404 "),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405 "),
            (b"GET /metrics\r\n\r\n", "400 "),
            (b"GET /metrics SSH-2.0\r\n\r\n", "400 "),
            (b"\n\n", "400 "),
            (&[b'x'; HEAD_MAX + 1], "431 "),
        ] {
            let answered = ask(octets, 4096);
            assert!(answered.starts_with(&format!("HTTP/1.1 {status}")), "{answered}");
        }
        assert_eq!(ask(b"GET /metrics HTTP/1.1\r\n", 4096), "");
    }

    proptest! {
        #[test]
        fn no_octets_are_too_strange(octets: Vec<u8>, piece in 1_usize..64) {
            ask(&octets, piece);
        }
    }
}

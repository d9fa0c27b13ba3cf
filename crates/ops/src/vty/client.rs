//! Runs commands in the VTY of a node, ours or Osmocom's.

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

/// The prompt that a session waits behind, once its last line is one: a name, and where in the configuration.
fn prompt(text: &str) -> Option<&str> {
    let last = text.rsplit('\n').next().unwrap_or_default();
    let is_prompt = last.len() > 2 && (last.ends_with("> ") || last.ends_with("# "));
    is_prompt.then(|| last.split(['>', '#', '(']).next().unwrap_or_default())
}

/// A session, whose commands go one by one: Osmocom's VTY throws away what it has not sent yet when it reads `exit`.
#[derive(Debug)]
pub struct Session {
    stream: TcpStream,
    /// Before which every prompt stands.
    name: String,
    /// How long it waits for each piece of an answer.
    patience: Duration,
    /// The command that has ended the session.
    ended_by: Option<String>,
}

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a VTY may say nothing.
const PATIENCE: Duration = Duration::from_secs(10);

impl Session {
    /// Begins one, in the enable node and without pages.
    ///
    /// # Errors
    /// Where nobody listens, or no prompt comes.
    pub fn begin(address: SocketAddr) -> io::Result<Self> {
        Self::begin_within(address, PATIENCE)
    }

    fn begin_within(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let mut session = Self::open(address, patience)?;
        // The view node has neither configuration nor changes; `enable` gives both, and does no harm to `show`.
        session.ask("enable")?;
        session.ask("terminal length 0")?;
        Ok(session)
    }

    fn open(address: SocketAddr, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, CONNECT)?;
        stream.set_read_timeout(Some(patience))?;
        stream.set_write_timeout(Some(patience))?;
        let mut session = Self { stream, name: String::new(), patience, ended_by: None };
        let welcome = session.read("a prompt")?;
        prompt(&welcome).unwrap_or_default().clone_into(&mut session.name);
        Ok(session)
    }

    /// What comes up to the next prompt of this session.
    fn read(&mut self, what: &str) -> io::Result<String> {
        let (mut octets, mut part) = (Vec::new(), [0; 4096]);
        loop {
            let text = plain(&octets);
            if prompt(&text).is_some_and(|name| name.starts_with(&self.name)) {
                return Ok(text);
            }
            let heard = || {
                let text = text.trim();
                if text.is_empty() { String::new() } else { format!(", but: {text}") }
            };
            let length = match self.stream.read(&mut part) {
                Ok(0) => {
                    let message = format!("the connection ended without {what}{}", heard());
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
                }
                Ok(length) => length,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    let message =
                        format!("{what} did not come within {} s{}", self.patience.as_secs(), heard());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, message));
                }
                Err(error) => return Err(io::Error::new(error.kind(), format!("without {what}: {error}"))),
            };
            octets.extend_from_slice(part.get(..length).unwrap_or_default());
        }
    }

    /// The lines between the echo of a command and the next prompt, or the end of the session where the command asks for it.
    ///
    /// # Errors
    /// As [`run`].
    pub fn ask(&mut self, command: &str) -> io::Result<String> {
        let command = command.trim();
        if let Some(end) = &self.ended_by {
            let message = format!("'{command}' was not asked: '{end}' has ended the session");
            return Err(io::Error::new(io::ErrorKind::NotConnected, message));
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        // The next prompt is another one.
        let renames = matches!(*words, ["hostname", ..] | ["no", "hostname", ..]);
        let leaves = matches!(*words, ["exit" | "quit"]);
        let name = core::mem::take(&mut self.name);
        if !renames {
            self.name.clone_from(&name);
        }
        write!(self.stream, "{command}\r\n")?;
        let text = match self.read(&format!("the answer to '{command}'")) {
            Err(error) if leaves && error.kind() == io::ErrorKind::UnexpectedEof => {
                self.ended_by = Some(command.to_owned());
                return Ok(String::new());
            }
            result => result?,
        };
        if renames {
            prompt(&text).unwrap_or_default().clone_into(&mut self.name);
        }
        let mut lines = text.lines();
        // Without it nobody knows where the answer begins, or whose it is.
        if !lines.any(|line| line.trim_end() == command) {
            let message = format!("no echo of '{command}' in: {text}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let mut answer: Vec<&str> = lines.collect();
        answer.pop();
        Ok(answer.join("\n"))
    }
}

/// Runs one command at the VTY and returns its answer.
///
/// # Errors
/// Where nobody listens, or the answer does not come (ten seconds without a word end the wait), or comes without an echo of the
/// command: [`io::ErrorKind::InvalidData`].
pub fn run(address: SocketAddr, command: &str) -> io::Result<String> {
    Session::begin(address)?.ask(command)
}

/// Whether a VTY has refused what was asked, as both kinds of VTY mark it: `% Unknown command.`, `%% No such GGSN`.
#[must_use]
pub fn is_refusal(answer: &str) -> bool {
    answer.lines().any(|line| line.starts_with("% ") || line.starts_with("%%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;

    #[test]
    fn negotiation_is_left_out_and_prompts_are_known() {
        let octets = b"\xff\xfb\x01\xff\xfa\x1f\x00\x50\xff\xf0Welcome\r\nG> ";
        assert_eq!(plain(octets), "Welcome\nG> ");
        for (text, name) in [
            ("Welcome\nG> ", Some("G")),
            ("G# ", Some("G")),
            ("x\nG(config-sgsn)# ", Some("G")),
            ("Welcome\n", None),
            ("G>", None),
            ("", None),
            ("> ", None),
        ] {
            assert_eq!(prompt(text), name, "{text}");
        }
    }

    /// A session as Osmocom's programs have it: with echo, in small pieces, and what comes at once with `exit` has no answer.
    fn serve(listener: &TcpListener) -> io::Result<()> {
        let (mut stream, _) = listener.accept()?;
        stream.write_all(b"\xff\xfb\x01Welcome\r\nG> ")?;
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        while let Some(line) = lines.next().transpose()? {
            let answer = match line.trim_end() {
                "enable" => "G# ".to_owned(),
                "hostname H" => "H(config)# ".to_owned(),
                "exit" => return stream.write_all(b"exit\r\n"),
                "show drops" => " a 1\r\n b 2 # \r\n# \r\nG# ".to_owned(),
                "show secrets" => {
                    stream.write_all(b"******\r\nG# ")?;
                    continue;
                }
                _ => "% Unknown command.\r\nG# ".to_owned(),
            };
            for octet in format!("{line}\r\n{answer}").as_bytes() {
                stream.write_all(&[*octet])?;
            }
        }
        Ok(())
    }

    #[test]
    fn the_answer_is_what_stands_between_echo_and_prompt() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| (0..4).for_each(|_| serve(&listener).unwrap()));
            let mut session = Session::begin(address).unwrap();
            assert_eq!(session.ask("hostname H").unwrap(), "");
            assert_eq!(session.name, "H");
            assert_eq!(session.ask("exit").unwrap(), "");
            let error = session.ask("show drops").unwrap_err();
            assert_eq!(error.to_string(), "'show drops' was not asked: 'exit' has ended the session");
            drop(session);
            assert_eq!(run(address, "show drops").unwrap(), " a 1\n b 2 # \n# ");
            assert_eq!(run(address, " show ns").unwrap(), "% Unknown command.");
            let error = run(address, "show secrets").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains("no echo of 'show secrets' in: ******"), "{error}");
        });
    }

    #[test]
    fn refusals_are_marked() {
        assert!(is_refusal("% Unknown command.") && is_refusal("%% No such GGSN") && is_refusal("a\n% b"));
        assert!(!is_refusal("") && !is_refusal("load 50 %\n %x") && !is_refusal("%name is no mark"));
    }

    #[test]
    fn who_says_nothing_is_named() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| drop(listener.accept().unwrap()));
            let error = run(address, "show ns").unwrap_err().to_string();
            assert!(error.contains("without a prompt"), "{error}");
        });
    }

    #[test]
    fn who_takes_too_long_is_told_what_was_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::scope(|scope| {
            let (ended, until) = std::sync::mpsc::channel::<()>();
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(b"Password: ").unwrap();
                // It listens, and says no more.
                let _ = until.recv();
            });
            let error = Session::begin_within(address, Duration::from_millis(50)).unwrap_err();
            assert_eq!(error.to_string(), "a prompt did not come within 0 s, but: Password:");
            drop(ended);
        });
    }
}

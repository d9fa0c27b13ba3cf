//! Debian's libosmogsm as a second opinion about authentication and ciphering: a small program of ours, compiled when the test runs,
//! loads it in a process of its own.

use crate::{TempDir, find_program};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const SOURCE: &str = include_str!("../c/osmogsm.c");
const LIBRARY: &str = "libosmogsm.so.18";

/// Why this machine cannot do it.
#[must_use]
pub fn missing() -> Option<String> {
    if find_program("gcc").is_none() {
        return Some("gcc is not installed".to_owned());
    }
    match Osmogsm::start() {
        Ok(_) => None,
        Err(reason) => Some(format!("{LIBRARY} cannot be asked: {reason}")),
    }
}

/// The process.
#[derive(Debug)]
pub struct Osmogsm {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Holds the program.
    _directory: TempDir,
}

impl Osmogsm {
    /// Compiles and starts it.
    ///
    /// # Errors
    /// What the compiler or the program said where that fails.
    pub fn start() -> Result<Self, String> {
        let directory = TempDir::new("osmogsm");
        let (source, program) = (directory.path().join("osmogsm.c"), directory.path().join("osmogsm"));
        std::fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
        let compiler =
            Command::new("gcc").args(["-O1", "-o"]).arg(&program).arg(&source).arg("-ldl").output();
        let compiler = compiler.map_err(|error| error.to_string())?;
        if !compiler.status.success() {
            return Err(String::from_utf8_lossy(&compiler.stderr).into_owned());
        }
        let child = Command::new(&program)
            .arg(LIBRARY)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".to_owned());
        };
        let mut own = Self { child, input, output: BufReader::new(output), _directory: directory };
        own.try_ask("keys", &[&[0; 16], &[0; 16]]).map(|_| own)
    }

    /// One question: the fields of the answer, in hexadecimal.
    ///
    /// # Panics
    /// Where the process is gone.
    pub fn ask(&mut self, function: &str, arguments: &[&[u8]]) -> Vec<String> {
        self.try_ask(function, arguments).unwrap()
    }

    fn try_ask(&mut self, function: &str, arguments: &[&[u8]]) -> Result<Vec<String>, String> {
        let mut line = function.to_owned();
        for argument in arguments {
            line.push(' ');
            line.push_str(&hex(argument));
        }
        let mut answer = String::new();
        let written = writeln!(self.input, "{line}").and_then(|()| self.input.flush());
        let read = written.and_then(|()| self.output.read_line(&mut answer));
        let mut fields = answer.split_whitespace().map(str::to_owned);
        match (read, fields.next()) {
            (Ok(_), Some(name)) if name == function => Ok(fields.collect()),
            (read, name) => Err(format!("{line}: {read:?}, {name:?}")),
        }
    }
}

impl Drop for Osmogsm {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Octets as the process writes them.
#[must_use]
pub fn hex(octets: &[u8]) -> String {
    use std::fmt::Write as _;
    octets.iter().fold(String::new(), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

//! Programs of ours in C that ask a library of Debian's for its opinion. They are compiled when the test runs, and the library
//! is loaded in their process, never in ours.
//!
//! A line of standard input is a question: the name of a function and octet strings in hexadecimal. A line of standard output
//! is its answer: the name again, and the fields of the result.

use crate::TempDir;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The process.
#[derive(Debug)]
pub struct Helper {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Holds the program.
    _directory: TempDir,
}

impl Helper {
    /// Compiles `source` and starts it with these arguments.
    ///
    /// # Errors
    /// What the compiler said, or the system, where that fails.
    pub fn start(name: &str, source: &str, arguments: &[&str]) -> Result<Self, String> {
        Self::start_with(name, source, &[], arguments)
    }

    /// The same, where `source` includes further files, by their names.
    ///
    /// # Errors
    /// What the compiler said, or the system, where that fails.
    pub fn start_with(
        name: &str,
        source: &str,
        files: &[(&str, &str)],
        arguments: &[&str],
    ) -> Result<Self, String> {
        let directory = TempDir::new(name);
        let (file, program) = (directory.path().join("helper.c"), directory.path().join(name));
        for (file, content) in files.iter().copied().chain([("helper.c", source)]) {
            std::fs::write(directory.path().join(file), content).map_err(|error| error.to_string())?;
        }
        // The parameters of old functions stand outside their brackets, which later standards refuse.
        let compiler = Command::new("gcc")
            .args(["-std=gnu17", "-w", "-O1", "-I"])
            .arg(directory.path())
            .arg("-o")
            .arg(&program)
            .arg(&file)
            .arg("-ldl")
            .output();
        let compiler = compiler.map_err(|error| format!("gcc: {error}"))?;
        if !compiler.status.success() {
            return Err(String::from_utf8_lossy(&compiler.stderr).into_owned());
        }
        let child = Command::new(&program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| error.to_string())?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("it has no pipes".to_owned());
        };
        Ok(Self { child, input, output: BufReader::new(output), _directory: directory })
    }

    /// One question: the fields of the answer.
    ///
    /// # Panics
    /// Where the process is gone.
    pub fn ask(&mut self, function: &str, arguments: &[&[u8]]) -> Vec<String> {
        self.try_ask(function, arguments).unwrap()
    }

    /// One question, to a process that may not be able to answer.
    ///
    /// # Errors
    /// The question, and what came instead of an answer.
    pub fn try_ask(&mut self, function: &str, arguments: &[&[u8]]) -> Result<Vec<String>, String> {
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

impl Drop for Helper {
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

/// Octets that the process wrote.
///
/// # Panics
/// Where they are no hexadecimal digits.
#[must_use]
pub fn unhex(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

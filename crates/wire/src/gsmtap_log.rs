//! A log line behind a [GSMTAP](crate::gsmtap) header of [`PayloadType::OsmocoreLog`]: when, who, how loud, where, what.
//!
//! There is no specification but its use; Wireshark's dissector is the authority. Names longer than their field are cut.
//!
//! [`PayloadType::OsmocoreLog`]: crate::gsmtap::PayloadType::OsmocoreLog

use crate::cursor::Reader;
use crate::error::DecodeError;
use crate::octet_enum::octet_enum;

/// Octets in front of the text.
pub const HEADER_LEN: usize = 84;

const NAME_LEN: usize = 16;
const FILE_LEN: usize = 32;

octet_enum! {
    /// How loud a line is.
    Level {
        /// For developers.
        Debug = 1, "debug";
        /// Normal events.
        Info = 3, "info";
        /// Normal events that matter.
        Notice = 5, "notice";
        /// What failed.
        Error = 7, "error";
        /// What ends the program.
        Fatal = 8, "fatal";
    }
}

/// A log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// Seconds since 1970.
    pub seconds: u32,
    /// And microseconds.
    pub microseconds: u32,
    /// The program.
    pub process: &'a str,
    /// Its number.
    pub pid: u32,
    /// How loud.
    pub level: Level,
    /// Which part of the program speaks.
    pub subsystem: &'a str,
    /// The source file, where it is known.
    pub file: &'a str,
    /// The line in it.
    pub line: u32,
    /// What is said.
    pub text: &'a str,
}

/// A name that NULs fill up; what is no text is left out.
fn name(octets: &[u8]) -> &str {
    let text = octets.split(|octet| *octet == 0).next().unwrap_or_default();
    core::str::from_utf8(text).unwrap_or_default()
}

fn put_name(name: &str, len: usize, out: &mut Vec<u8>) {
    // One NUL stays behind it.
    let mut end = name.len().min(len - 1);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    out.extend(name.as_bytes().iter().take(end));
    out.extend(core::iter::repeat_n(0, len - end));
}

impl<'a> LogLine<'a> {
    /// Reads what is behind the GSMTAP header.
    ///
    /// # Errors
    /// `Truncated`.
    pub fn parse(octets: &'a [u8]) -> Result<Self, DecodeError> {
        let mut r = Reader::new(octets);
        let (seconds, microseconds) = (r.u32("timestamp")?, r.u32("timestamp")?);
        let process = name(r.take(NAME_LEN, "process name")?);
        let pid = r.u32("process number")?;
        let level = Level::from_octet(r.u8("level")?);
        r.take(3, "padding")?;
        let subsystem = name(r.take(NAME_LEN, "subsystem")?);
        let file = name(r.take(FILE_LEN, "source file")?);
        let line = r.u32("source line")?;
        let text = name(r.rest());
        Ok(Self { seconds, microseconds, process, pid, level, subsystem, file, line, text })
    }

    /// Appends it.
    pub fn emit(&self, out: &mut Vec<u8>) {
        out.extend(self.seconds.to_be_bytes());
        out.extend(self.microseconds.to_be_bytes());
        put_name(self.process, NAME_LEN, out);
        out.extend(self.pid.to_be_bytes());
        out.extend([self.level.octet(), 0, 0, 0]);
        put_name(self.subsystem, NAME_LEN, out);
        put_name(self.file, FILE_LEN, out);
        out.extend(self.line.to_be_bytes());
        out.extend(self.text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::DecodeErrorKind;
    use proptest::prelude::*;

    const LINE: LogLine<'static> = LogLine {
        seconds: 0x0102_0304,
        microseconds: 5,
        process: "gannet",
        pid: 77,
        level: Level::Notice,
        subsystem: "ns",
        file: "",
        line: 0,
        text: "up",
    };

    #[test]
    fn a_line_by_octets() {
        let mut octets = Vec::new();
        LINE.emit(&mut octets);
        let mut wanted = vec![1, 2, 3, 4, 0, 0, 0, 5];
        wanted.extend(b"gannet\0\0\0\0\0\0\0\0\0\0\0\0\0\x4d\x05\0\0\0ns");
        wanted.extend([0; 14 + 32 + 4]);
        assert_eq!(wanted.len(), HEADER_LEN);
        wanted.extend(b"up");
        assert_eq!(octets, wanted);
        assert_eq!(LogLine::parse(&octets), Ok(LINE));
        let short = LogLine::parse(&octets[..HEADER_LEN - 1]).unwrap_err();
        assert_eq!(short.kind, DecodeErrorKind::Truncated { needed: 4, have: 3 });
    }

    #[test]
    fn names_are_cut_between_letters() {
        let mut octets = Vec::new();
        LogLine { process: "aaaaaaaaaaaaaaä", ..LINE }.emit(&mut octets);
        assert_eq!(LogLine::parse(&octets).unwrap().process, "aaaaaaaaaaaaaa");
    }

    proptest! {
        #[test]
        fn round_trips(
            numbers: (u32, u32, u32, u32), level: u8, process in "[a-z]{0,15}", subsystem in "[a-z]{0,15}",
            file in "[a-z./]{0,31}", text in "[ -~]{0,100}"
        ) {
            let (seconds, microseconds, pid, line) = numbers;
            let (process, subsystem, file, text) = (&*process, &*subsystem, &*file, &*text);
            let level = Level::from_octet(level);
            let message = LogLine { seconds, microseconds, process, pid, level, subsystem, file, line, text };
            let mut octets = Vec::new();
            message.emit(&mut octets);
            prop_assert_eq!(LogLine::parse(&octets), Ok(message));
        }

        #[test]
        fn no_octets_are_too_strange(octets: Vec<u8>) {
            let _ = LogLine::parse(&octets);
        }
    }
}

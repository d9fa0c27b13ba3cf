//! What is recorded of what crosses the interfaces of a node: `trace …`.

use super::ConfigText;
use crate::config::Element;
use crate::grammar::{Action, CommandError, Edit, Grammar, Node};
use core::num::NonZeroU32;

/// Files of a ring unless another number is given.
pub const FILES_DEFAULT: u32 = 10;

/// What is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceWords {
    /// Where it goes; nothing is recorded without a file.
    pub file: Option<TraceFile>,
    /// A socket of the file system, for programs that watch.
    pub socket: Option<String>,
    /// User data is cut behind its headers.
    pub headers: bool,
    /// Of so many subscribers one, with all that is his.
    pub one_in: Option<NonZeroU32>,
}

/// A file, or files in turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceFile {
    /// Its path. Files in turn have their number and time in their names.
    pub name: String,
    /// A file ends before it is longer, in 10^6 octets.
    pub size_mb: Option<u32>,
    /// A file ends when it is as old, in seconds.
    pub seconds: Option<u32>,
    /// Files that are kept; [`FILES_DEFAULT`] where none is given.
    pub files: Option<u32>,
}

impl TraceFile {
    /// Files in turn, not one alone.
    #[must_use]
    pub const fn is_ring(&self) -> bool {
        self.size_mb.is_some() || self.seconds.is_some()
    }

    fn write(&self, text: &mut ConfigText) {
        let Self { name, size_mb, seconds, files } = self;
        let mut line = format!("trace file {name}");
        for (word, value) in [("size", size_mb), ("seconds", seconds), ("files", files)] {
            if let Some(value) = value {
                line.push_str(&format!(" {word} {value}"));
            }
        }
        text.line(format_args!("{line}"));
    }
}

impl TraceWords {
    pub(super) fn write(&self, text: &mut ConfigText) {
        if *self == Self::default() {
            return;
        }
        self.file.iter().for_each(|file| file.write(text));
        if let Some(socket) = &self.socket {
            text.line(format_args!("trace socket {socket}"));
        }
        if self.headers {
            text.line(format_args!("trace headers"));
        }
        if let Some(one_in) = self.one_in {
            text.line(format_args!("trace sample subscribers 1/{one_in}"));
        }
        text.comment();
    }
}

type Done = Result<(), CommandError>;
type Set<C> = fn(&mut Edit<'_, C>) -> Done;

const TRACE: &str = "What crosses the interfaces of the process, recorded";

/// The commands of the root.
pub(super) fn install<E: Element>(grammar: &mut Grammar<E>) {
    let config = &[Node::Config];
    install_files(grammar);
    let mut add = |pattern: &'static str, help: &str, set: Set<E::Config>| {
        grammar.add(config, pattern, help, Action::Set(set));
    };
    add(
        "trace headers",
        &format!("{TRACE}\nUser data is cut behind its headers; signalling is whole"),
        |edit| {
            E::common_mut(edit.config).trace.headers = true;
            Ok(())
        },
    );
    add(
        "trace sample subscribers FRACTION",
        &format!(
            "{TRACE}\nA part\nOf the subscribers: each whole or not at all, by IMSI; what is nobody's is recorded always\n\
             1/N, as 1/10"
        ),
        |edit| {
            E::common_mut(edit.config).trace.one_in = Some(fraction(edit.args.text(0))?);
            Ok(())
        },
    );
    add(
        "trace socket PATH",
        &format!(
            "{TRACE}\nFor programs that connect to a socket of the file system, as gannet trace view --live\n\
             Its path; its owner and group may open it"
        ),
        |edit| {
            E::common_mut(edit.config).trace.socket = Some(edit.args.text(0).to_owned());
            Ok(())
        },
    );
    add("no trace socket", &format!("Take back\n{TRACE}\nThe socket goes"), |edit| {
        E::common_mut(edit.config).trace.socket = None;
        Ok(())
    });
    add("no trace", &format!("Take back\n{TRACE}"), |edit| {
        E::common_mut(edit.config).trace = TraceWords::default();
        Ok(())
    });
    add("no trace headers", &format!("Take back\n{TRACE}\nUser data is whole again"), |edit| {
        E::common_mut(edit.config).trace.headers = false;
        Ok(())
    });
    add("no trace sample", &format!("Take back\n{TRACE}\nAll subscribers again"), |edit| {
        E::common_mut(edit.config).trace.one_in = None;
        Ok(())
    });
}

/// `trace file` with and without each of its limits.
fn install_files<E: Element>(grammar: &mut Grammar<E>) {
    const FILE: &str = "Into a file, as pcapng\nIts path; what is there is overwritten. Of files in turn it is the beginning of their names";
    const SIZE: &str = "A new file begins where one would be longer\nMB, 10^6 octets each";
    const SECONDS: &str = "A new file begins when one is as old\nSeconds";
    const FILES: &str = "How many are kept; the oldest goes\n10 unless said otherwise";
    let mut add = |pattern: &'static str, help: &[&str], set: Set<E::Config>| {
        let help = format!("{TRACE}\n{}", help.join("\n"));
        grammar.add(&[Node::Config], pattern, &help, Action::Set(set));
    };
    add("trace file FILENAME", &[FILE], |edit| set::<E>(edit, &[]));
    add("trace file FILENAME size <1-1000000>", &[FILE, SIZE], |edit| set::<E>(edit, &[Limit::Size]));
    add("trace file FILENAME seconds <1-31536000>", &[FILE, SECONDS], |edit| {
        set::<E>(edit, &[Limit::Seconds])
    });
    add("trace file FILENAME size <1-1000000> files <1-10000>", &[FILE, SIZE, FILES], |edit| {
        set::<E>(edit, &[Limit::Size, Limit::Files])
    });
    add("trace file FILENAME seconds <1-31536000> files <1-10000>", &[FILE, SECONDS, FILES], |edit| {
        set::<E>(edit, &[Limit::Seconds, Limit::Files])
    });
    add("trace file FILENAME size <1-1000000> seconds <1-31536000>", &[FILE, SIZE, SECONDS], |edit| {
        set::<E>(edit, &[Limit::Size, Limit::Seconds])
    });
    add(
        "trace file FILENAME size <1-1000000> seconds <1-31536000> files <1-10000>",
        &[FILE, SIZE, SECONDS, FILES],
        |edit| set::<E>(edit, &[Limit::Size, Limit::Seconds, Limit::Files]),
    );
    grammar.add(
        &[Node::Config],
        "no trace file",
        &format!("Take back\n{TRACE}\nThe file is closed"),
        Action::Set(|edit| {
            E::common_mut(edit.config).trace.file = None;
            Ok(())
        }),
    );
}

#[derive(Debug, Clone, Copy)]
enum Limit {
    Size,
    Seconds,
    Files,
}

/// A file with the limits that stand behind its name, in their order.
fn set<E: Element>(edit: &mut Edit<'_, E::Config>, limits: &[Limit]) -> Done {
    let name = edit.args.text(0);
    if name == "-" {
        return Err(CommandError::new("Standard output is for the command line: say '-w -' there."));
    }
    let mut file = TraceFile { name: name.to_owned(), ..TraceFile::default() };
    for (limit, place) in limits.iter().zip(1..) {
        let value = Some(edit.args.value(place)?);
        match limit {
            Limit::Size => file.size_mb = value,
            Limit::Seconds => file.seconds = value,
            Limit::Files => file.files = value,
        }
    }
    E::common_mut(edit.config).trace.file = Some(file);
    Ok(())
}

/// `1/N`.
fn fraction(text: &str) -> Result<NonZeroU32, CommandError> {
    let parts = text.strip_prefix("1/").and_then(|parts| parts.parse().ok());
    parts.ok_or_else(|| CommandError::new("Say 1/N: of N subscribers one, as 1/10."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_has_one_above() {
        assert_eq!(fraction("1/10").map(NonZeroU32::get), Ok(10));
        for wrong in ["", "10", "1/0", "2/10", "1/x", "1/", "0/1", "1/-3", "1/4294967296"] {
            assert!(fraction(wrong).is_err(), "{wrong}");
        }
    }
}

//! Standard output of a program that goes on although nobody reads it any more, or although it cannot be written.
//!
//! Who reads the first lines alone (`… | head -1`) closes the pipe, which is no error: nothing more is written, and the exit code
//! is that of the work. Any other error is said once, and [`failed`] remembers it for the exit code.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io::{self, Write};

/// Nothing more is written.
static CLOSED: AtomicBool = AtomicBool::new(false);
/// That is due to an error.
static FAILED: AtomicBool = AtomicBool::new(false);

/// What [`to`] came to.
#[derive(Debug)]
enum End {
    /// Nobody reads.
    Unread,
    /// It cannot be written.
    Error(io::Error),
}

fn to(output: &mut impl Write, text: fmt::Arguments<'_>) -> Result<(), End> {
    output.write_fmt(text).and_then(|()| output.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => End::Unread,
        _ => End::Error(error),
    })
}

/// Writes to standard output, for [`outln!`](crate::outln) and [`out!`](crate::out).
pub fn write(text: fmt::Arguments<'_>) {
    if CLOSED.load(Ordering::Relaxed) {
        return;
    }
    let Err(end) = to(&mut io::stdout().lock(), text) else { return };
    CLOSED.store(true, Ordering::Relaxed);
    if let End::Error(error) = end {
        FAILED.store(true, Ordering::Relaxed);
        // Standard error may be the same full disk.
        let _ = writeln!(io::stderr(), "gannet: standard output: {error}");
    }
}

/// Whether something could not be written.
#[must_use]
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Writes a line to standard output, as `println!` does; see [`stdout`](crate::stdout) for the difference.
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => { $crate::stdout::write(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes to standard output, as `print!` does; see [`stdout`](crate::stdout) for the difference.
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::stdout::write(format_args!($($text)*)) };
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _octets: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_stops_reading_is_no_error() {
        assert!(matches!(to(&mut Broken(io::ErrorKind::BrokenPipe), format_args!("a\n")), Err(End::Unread)));
        let full = to(&mut Broken(io::ErrorKind::StorageFull), format_args!("a\n"));
        assert!(matches!(full, Err(End::Error(error)) if error.kind() == io::ErrorKind::StorageFull));
        let mut kept = Vec::new();
        to(&mut kept, format_args!("{}\n", 1)).unwrap();
        assert_eq!(kept, b"1\n");
    }
}

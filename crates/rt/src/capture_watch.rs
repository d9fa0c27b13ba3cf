//! What is said of a capture whose file takes nothing.

use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Level;
use gannet_trace::pcapng::Recorder;
use std::io;

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct CaptureWatch {
    look_at: Instant,
    is_failing: bool,
    lost: u64,
}

impl CaptureWatch {
    /// When it is looked at next.
    pub(crate) const fn look_at(&self) -> Instant {
        self.look_at
    }

    /// Says once that the file of the capture takes nothing, and once that it does again; nothing where it was looked at a moment
    /// ago.
    pub(crate) fn look(&mut self, now: Instant, recorder: &Recorder) -> Option<(Level, String)> {
        if now < self.look_at {
            return None;
        }
        let (failure, lost) = (recorder.failure(), recorder.lost());
        let Self { is_failing: was_failing, lost: told, .. } = *self;
        let (is_failing, missing) = (failure.is_some(), lost - told);
        let news = match failure {
            Some(why) if !was_failing => Some((
                Level::Error,
                format!(
                    "{why}; it goes on when there is room again, and what does not fit into memory until then is missing"
                ),
            )),
            None if was_failing => {
                Some((Level::Notice, format!("it is written again, {missing} datagrams are missing")))
            }
            None if missing > 0 => {
                Some((Level::Error, format!("the disk is too slow, {missing} datagrams are missing")))
            }
            _ => None,
        };
        let lost = if is_failing && was_failing { told } else { lost };
        *self = Self { look_at: now + EVERY, is_failing, lost };
        news.map(|(level, said)| (level, format!("capture {}: {said}", recorder.name())))
    }
}

/// Writes out a capture at the end of its loop.
///
/// # Errors
/// The file does not take it: its name, why, and how much is missing.
pub(crate) fn finish(recorder: &mut Recorder) -> io::Result<()> {
    let result = recorder.flush();
    let missing = recorder.lost() + recorder.unwritten();
    result.map_err(|error| {
        let name = recorder.name();
        io::Error::new(
            error.kind(),
            format!("capture {name}: {error}; {missing} datagrams are missing in it"),
        )
    })
}

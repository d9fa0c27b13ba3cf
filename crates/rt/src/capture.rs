//! What is said of a capture whose file takes nothing.

use crate::io::Io;
use gannet_proto::time::{Duration, Instant};
use gannet_proto::trace::Level;

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct CaptureWatch {
    look_at: Instant,
    is_failing: bool,
    lost: u64,
}

impl Io {
    /// When it is looked at next; `None` without a capture.
    pub(crate) fn capture_look_at(&self) -> Option<Instant> {
        self.recorder.as_ref().map(|_| self.capture_watch.look_at)
    }

    /// Says once that the file of the capture takes nothing, and once that it does again.
    pub(crate) fn watch_capture(&mut self) {
        let Some(recorder) = self.recorder.as_ref().filter(|_| self.capture_watch.look_at <= self.now) else {
            return;
        };
        let (failure, lost) = (recorder.failure(), recorder.lost());
        let was_failing = self.capture_watch.is_failing;
        let missing = lost - self.capture_watch.lost;
        let is_failing = failure.is_some();
        let lost = if is_failing && was_failing { self.capture_watch.lost } else { lost };
        self.capture_watch = CaptureWatch { look_at: self.now + EVERY, is_failing, lost };
        match failure {
            Some(why) if !was_failing => self.note(
                Level::Error,
                format_args!("capture: {why}; it goes on when there is room again, and what does not fit into memory until then is missing"),
            ),
            None if was_failing => self.note(
                Level::Notice,
                format_args!("capture: it is written again, {missing} datagrams are missing"),
            ),
            None if missing > 0 => self.note(
                Level::Error,
                format_args!("capture: the disk is too slow, {missing} datagrams are missing"),
            ),
            _ => {}
        }
    }
}

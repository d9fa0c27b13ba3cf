//! What the kernel counts of a connection that has a network namespace for itself.

use crate::counters;
use std::fs::File;
use std::io::{self, Read, Seek};

/// Why the kernel has sent a segment again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Others behind it have arrived.
    Fast,
    /// Nobody answered in time (RFC 6298), or it follows such a segment in slow start.
    Timeout,
    /// A tail loss probe (RFC 8985 clause 7).
    Probe,
}

/// Counters of `/proc/net/netstat`, group `TcpExt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Expiries of the retransmission timer: `TCPTimeouts`.
    pub timeouts: u64,
    /// Of these, found not to be a loss: `TCPSpuriousRTOs`.
    pub spurious_timeouts: u64,
    /// Tail loss probes: `TCPLossProbes`.
    pub probes: u64,
    /// Segments sent again in slow start behind a timeout: `TCPSlowStartRetrans`.
    pub slow_start: u64,
    /// Segments sent again in a fast recovery: `TCPFastRetrans`.
    pub fast: u64,
    /// Fast recoveries, with and without selective acknowledgements: `TCPSackRecovery` and `TCPRenoRecovery`.
    pub recoveries: u64,
}

impl Counts {
    /// From the file's text; `None` where a counter is not there.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let of = |name| counters::of_kernel(text, "TcpExt:", name);
        Some(Self {
            timeouts: of("TCPTimeouts")?,
            spurious_timeouts: of("TCPSpuriousRTOs")?,
            probes: of("TCPLossProbes")?,
            slow_start: of("TCPSlowStartRetrans")?,
            fast: of("TCPFastRetrans")?,
            recoveries: of("TCPSackRecovery")? + of("TCPRenoRecovery")?,
        })
    }

    /// By how much they have grown.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            timeouts: self.timeouts.saturating_sub(before.timeouts),
            spurious_timeouts: self.spurious_timeouts.saturating_sub(before.spurious_timeouts),
            probes: self.probes.saturating_sub(before.probes),
            slow_start: self.slow_start.saturating_sub(before.slow_start),
            fast: self.fast.saturating_sub(before.fast),
            recoveries: self.recoveries.saturating_sub(before.recoveries),
        }
    }

    /// Why each of so many segments was sent again while the counters grew by this much: what a timer sent comes first. A probe with new data
    /// counts as well, so that a segment is one only where no recovery has sent it.
    pub fn causes(self, segments: u64) -> impl Iterator<Item = Cause> {
        let by_timer = segments.saturating_sub(self.fast);
        let timer = match (self.timeouts + self.slow_start, self.probes) {
            (0, 0) => Cause::Fast,
            (0, _) => Cause::Probe,
            _ => Cause::Timeout,
        };
        (0..segments).map(move |number| if number < by_timer { timer } else { Cause::Fast })
    }
}

/// The counters of one network namespace, open.
#[derive(Debug)]
pub struct Counters(File);

impl Counters {
    /// Of the namespace in which the calling thread is; they stay readable elsewhere.
    ///
    /// # Errors
    /// Without `/proc`.
    pub fn open() -> io::Result<Self> {
        File::open("/proc/thread-self/net/netstat").map(Self)
    }

    /// Reads them.
    ///
    /// # Errors
    /// Where the kernel does not count one of them.
    pub fn read(&mut self) -> Result<Counts, String> {
        let mut text = String::new();
        let read = self.0.rewind().and_then(|()| self.0.read_to_string(&mut text));
        read.map_err(|error| format!("counters of the kernel: {error}"))?;
        Counts::parse(&text)
            .ok_or_else(|| "the kernel does not count timeouts, probes or recoveries".to_owned())
    }
}

//! A download whose reader decides when something happens to its way.
//!
//! Events have their places in the content. What lies behind the next place is not read before the event of the last one is
//! over, so that each happens in the middle of the download, however fast machine and link are.

use crate::testbed::TestbedError;
use sha2::{Digest, Sha256};
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, Instant};

/// Octets that are read at once.
const CHUNK: usize = 16 * 1024;
/// How often an event under way is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What happens during a download.
pub(super) trait Events {
    /// Begins with an event, by its number from 0.
    ///
    /// # Errors
    /// It cannot be begun.
    fn begin(&mut self, event: usize) -> Result<(), TestbedError>;

    /// Whether it is over.
    ///
    /// # Errors
    /// It takes too long, or what it needs has ended.
    fn is_over(&mut self, event: usize) -> Result<bool, TestbedError>;
}

/// How an event went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lasted {
    /// From its beginning until it was seen to be over.
    pub took: Duration,
    /// Octets that arrived meanwhile.
    pub octets: u64,
    /// The longest time without new octets, from its beginning until the next place.
    pub longest_wait: Duration,
}

/// What came.
#[derive(Debug)]
pub(super) struct Downloaded {
    pub octets: u64,
    pub seconds: f64,
    pub sha256: String,
    pub events: Vec<Lasted>,
}

/// Octets, and how long they were waited for.
type Chunk = (Vec<u8>, Duration);

/// Runs a program that writes `len` octets to its standard output. At each of the places an event happens.
///
/// # Errors
/// What the program says, an event that fails, or [`TestbedError::Interrupted`].
pub(super) fn download(
    command: &mut Command,
    places: &[u64],
    events: &mut impl Events,
    stop: &AtomicBool,
) -> Result<Downloaded, TestbedError> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|source| TestbedError::Start { program: "curl".to_owned(), source })?;
    let stdout = child.stdout.take();
    std::thread::scope(|scope| {
        let (chunks, arrived) = sync_channel(1);
        scope.spawn(move || stdout.map(|stdout| read(stdout, &chunks)));
        let followed = Reading::new(places).follow(&arrived, events, stop);
        // The reader ends when nobody takes what it has.
        drop(arrived);
        if followed.is_err() {
            child.kill()?;
        }
        let ended = end(child);
        let downloaded = followed?;
        ended.map(|()| downloaded)
    })
}

fn read(mut from: impl Read, chunks: &SyncSender<Chunk>) -> io::Result<()> {
    loop {
        let mut octets = vec![0; CHUNK];
        let begun = Instant::now();
        let len = from.read(&mut octets)?;
        octets.truncate(len);
        if len == 0 || chunks.send((octets, begun.elapsed())).is_err() {
            return Ok(());
        }
    }
}

fn end(mut child: Child) -> Result<(), TestbedError> {
    let mut message = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut message)?;
    }
    if child.wait()?.success() {
        return Ok(());
    }
    Err(TestbedError::Failed { command: "curl".to_owned(), message: message.trim().to_owned() })
}

struct Reading<'a> {
    places: &'a [u64],
    begun: Instant,
    digest: Sha256,
    octets: u64,
    /// The event under way: when it began, and after how many octets.
    under_way: Option<(Instant, u64)>,
    /// When that is looked at next.
    next_look: Instant,
    events: Vec<Lasted>,
}

impl<'a> Reading<'a> {
    fn new(places: &'a [u64]) -> Self {
        let (digest, events) = (Sha256::new(), Vec::new());
        let begun = Instant::now();
        Self { places, begun, digest, octets: 0, under_way: None, next_look: begun, events }
    }

    fn follow(
        mut self,
        arrived: &Receiver<Chunk>,
        events: &mut impl Events,
        stop: &AtomicBool,
    ) -> Result<Downloaded, TestbedError> {
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(TestbedError::Interrupted);
            }
            self.look(events)?;
            if self.places.get(self.events.len()).is_some_and(|place| self.octets >= *place) {
                if self.under_way.is_some() {
                    std::thread::sleep(LOOK);
                    continue;
                }
                events.begin(self.events.len())?;
                self.under_way = Some((Instant::now(), self.octets));
                let nothing = Duration::ZERO;
                self.events.push(Lasted { took: nothing, octets: 0, longest_wait: nothing });
            }
            match arrived.recv_timeout(LOOK) {
                Ok(chunk) => self.take(&chunk),
                Err(RecvTimeoutError::Timeout) => {}
                // The last event may outlast the content.
                Err(RecvTimeoutError::Disconnected) if self.under_way.is_some() => std::thread::sleep(LOOK),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let seconds = self.begun.elapsed().as_secs_f64();
        let sha256 = self.digest.finalize().iter().map(|octet| format!("{octet:02x}")).collect();
        Ok(Downloaded { octets: self.octets, seconds, sha256, events: self.events })
    }

    /// Looks whether the event under way is over.
    fn look(&mut self, events: &mut impl Events) -> Result<(), TestbedError> {
        let Some((begun, before)) = self.under_way.filter(|_| Instant::now() >= self.next_look) else {
            return Ok(());
        };
        self.next_look = Instant::now() + LOOK;
        if events.is_over(self.events.len().saturating_sub(1))? {
            self.under_way = None;
            if let Some(last) = self.events.last_mut() {
                (last.took, last.octets) = (begun.elapsed(), self.octets - before);
            }
        }
        Ok(())
    }

    fn take(&mut self, (octets, waited): &Chunk) {
        self.digest.update(octets);
        self.octets += octets.len() as u64;
        if let Some(last) = self.events.last_mut() {
            last.longest_wait = last.longest_wait.max(*waited);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "test code fails by panicking")]
mod tests {
    use super::*;

    /// An event is over after so many looks.
    struct Looks {
        begun: Vec<usize>,
        left: usize,
        fails: bool,
    }

    impl Events for Looks {
        fn begin(&mut self, event: usize) -> Result<(), TestbedError> {
            self.begun.push(event);
            self.left = 3;
            if self.fails { Err(TestbedError::Interrupted) } else { Ok(()) }
        }

        fn is_over(&mut self, event: usize) -> Result<bool, TestbedError> {
            assert_eq!(self.begun.last(), Some(&event));
            self.left = self.left.saturating_sub(1);
            Ok(self.left == 0)
        }
    }

    fn zeros(count: u64) -> Command {
        let mut command = Command::new("head");
        command.args(["-c", &count.to_string(), "/dev/zero"]);
        command
    }

    #[test]
    fn every_event_happens_at_its_place_and_all_is_read() {
        let mut looks = Looks { begun: Vec::new(), left: 0, fails: false };
        let places = [100_000, 200_000, 1_000_000];
        let stop = AtomicBool::new(false);
        let downloaded = download(&mut zeros(1_000_000), &places, &mut looks, &stop).unwrap();
        assert_eq!((downloaded.octets, looks.begun), (1_000_000, vec![0, 1, 2]));
        assert_eq!(downloaded.sha256, crate::http::sha256(&vec![0; 1_000_000]));
        let meanwhile: Vec<u64> = downloaded.events.iter().map(|event| event.octets).collect();
        let chunk = CHUNK as u64;
        assert!(meanwhile[0] <= 100_000 + chunk && meanwhile[2] == 0, "{meanwhile:?}");
    }

    #[test]
    fn a_program_or_an_event_that_fails_and_a_stop_end_the_download() {
        let places = [1000];
        let looks = |fails| Looks { begun: Vec::new(), left: 0, fails };
        let run = |command: &mut Command, looks: &mut Looks, stop| {
            download(command, &places, looks, &AtomicBool::new(stop)).unwrap_err()
        };
        let error = run(&mut zeros(1 << 40), &mut looks(true), false);
        assert!(matches!(error, TestbedError::Interrupted), "{error}");
        let error = run(&mut zeros(1 << 40), &mut looks(false), true);
        assert!(matches!(error, TestbedError::Interrupted), "{error}");
        let mut nothing = Command::new("cat");
        let error = run(nothing.arg("/no/such/file"), &mut looks(false), false);
        assert!(error.to_string().contains("/no/such/file"), "{error}");
    }
}

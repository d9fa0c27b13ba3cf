//! The HLR at a TCP port, on a thread of its own, for one SGSN at a time.

use super::{Conversation, Hlr, Stats};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How soon it notices that it is to end.
const LOOKS: Duration = Duration::from_millis(200);
/// How soon it notices an SGSN that connects.
const ACCEPTS: Duration = Duration::from_millis(10);
/// An SGSN that takes nothing for so long is no longer there.
const PATIENCE: Duration = Duration::from_secs(2);
/// Octets of one piece.
const PIECE: usize = 64 << 10;

/// A running HLR, which ends with this.
#[derive(Debug)]
pub struct Server {
    local: SocketAddr,
    ending: Arc<AtomicBool>,
    in_touch: Arc<AtomicBool>,
    thread: Option<JoinHandle<Stats>>,
}

impl Server {
    /// Listens in the network namespace of the calling thread.
    ///
    /// # Errors
    /// Where it can't.
    pub fn start(bind: SocketAddr, hlr: Hlr) -> io::Result<Self> {
        let listener = TcpListener::bind(bind)?;
        listener.set_nonblocking(true)?;
        let local = listener.local_addr()?;
        let (ending, in_touch) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let mut desk = Desk { hlr, ending: Arc::clone(&ending), in_touch: Arc::clone(&in_touch) };
        let serve = move || {
            desk.serve(&listener);
            desk.hlr.stats
        };
        let thread = std::thread::Builder::new().name("hlr".to_owned()).spawn(serve)?;
        Ok(Self { local, ending, in_touch, thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local(&self) -> SocketAddr {
        self.local
    }

    /// An SGSN is connected and has said who it is.
    #[must_use]
    pub fn is_in_touch(&self) -> bool {
        self.in_touch.load(Relaxed)
    }

    /// Ends it, and says what it was asked; `None` where its thread has panicked.
    pub fn end(mut self) -> Option<Stats> {
        self.join()
    }

    fn join(&mut self) -> Option<Stats> {
        self.ending.store(true, Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.join();
    }
}

/// What the thread has.
struct Desk {
    hlr: Hlr,
    ending: Arc<AtomicBool>,
    in_touch: Arc<AtomicBool>,
}

impl Desk {
    fn serve(&mut self, listener: &TcpListener) {
        while !self.ending.load(Relaxed) {
            match listener.accept() {
                Ok((stream, _)) => {
                    // Whatever ends a connection: the SGSN makes another one.
                    let _ = self.converse(stream);
                    self.in_touch.store(false, Relaxed);
                }
                Err(_) => std::thread::sleep(ACCEPTS),
            }
        }
    }

    fn converse(&mut self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOOKS))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (mut piece, mut out) = (vec![0; PIECE], Vec::new());
        let mut conversation = Conversation::new(&mut out);
        while !self.ending.load(Relaxed) {
            self.in_touch.store(conversation.is_introduced(), Relaxed);
            stream.write_all(&out)?;
            out.clear();
            let octets = match stream.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(len) => piece.get(..len).unwrap_or_default(),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            conversation
                .receive(&mut self.hlr, octets, &mut out)
                .map_err(|error| io::Error::new(ErrorKind::InvalidData, error.to_string()))?;
        }
        Ok(())
    }
}

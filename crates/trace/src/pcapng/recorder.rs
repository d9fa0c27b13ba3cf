//! The writer: a buffer that the event loop fills and a thread that empties it into the file.

use super::Direction;
use super::packet::{SEGMENT_MAX, Segment, write_tcp, write_udp};
use core::fmt;
use core::net::SocketAddr;
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgWriter};
use std::borrow::Cow;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Octets that may wait for the disk unless the caller says otherwise.
const LIMIT_DEFAULT: usize = 4 << 20;
/// Octets of an enhanced packet block beside its packet and the text of a comment: headers, flags option, paddings, at the most.
const BLOCK_OVERHEAD: usize = 64;
/// How long records may be gathered before they are written.
const GATHER: Duration = Duration::from_millis(50);
/// How soon a file is tried again that took nothing.
const AGAIN: Duration = Duration::from_secs(1);
/// The rights of those who are neither the file's owner nor of its group.
const OF_OTHERS: u32 = 0o007;
/// The exponent of the timestamps' unit: 10 to the power of -9 seconds.
const NANOSECONDS: u8 = 9;

/// One capture interface of a [`Recorder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct InterfaceId(u32);

/// Writes a capture. Dropping it writes what is left and closes the file.
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    names: Vec<String>,
    /// The file, for who reads of it.
    name: String,
    /// The block that is written next; it is used again and again, for the memory that it has.
    block: EnhancedPacketBlock<'static>,
    limit: usize,
    recorded: u64,
    lost: u64,
}

struct Shared {
    state: Mutex<State>,
    /// The file takes nothing at present; see [`State::failed`].
    is_failing: AtomicBool,
    /// Tells the thread that there is something to do.
    work: Condvar,
    /// Tells a caller of `flush` that it is done.
    flushed: Condvar,
}

struct State {
    blocks: PcapNgWriter<Vec<u8>>,
    /// Records that are not in the file yet.
    unwritten: u64,
    flushes_asked: u64,
    flushes_done: u64,
    closing: bool,
    /// Why the file has taken nothing the last time.
    failed: Option<io::Error>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens an empty file of our own that nobody but its owner and its group may read: GSUP has the keys of subscribers in it. What
/// is no regular file stays as it is.
pub(crate) fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(path)?;
    let there = file.metadata()?;
    if !there.is_file() {
        return Ok(file);
    }
    if Some(there.uid()) != effective_user() {
        fs::remove_file(path)?;
        return options.create_new(true).open(path);
    }
    let mode = there.permissions().mode();
    if mode & OF_OTHERS != 0 {
        file.set_permissions(Permissions::from_mode(mode & !OF_OTHERS))?;
    }
    file.set_len(0)?;
    Ok(file)
}

/// As the kernel shows it: a process with capabilities of its file does not own its own directory in `/proc`.
fn effective_user() -> Option<u32> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

impl Recorder {
    /// A new capture file, which its owner alone may read. An existing one is overwritten: its group may go on to read it, all
    /// others may not, and a file of another user gives way to a new one.
    ///
    /// # Errors
    /// Where the file or the thread cannot be made.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::with_limit(path, LIMIT_DEFAULT)
    }

    /// The same with another limit, in octets, for what may wait for the disk.
    ///
    /// # Errors
    /// Where the file or the thread cannot be made.
    pub fn with_limit(path: &Path, limit: usize) -> io::Result<Self> {
        let file = private(path)?;
        let mut recorder = Self::into_writer(Box::new(file), limit)?;
        recorder.name = path.display().to_string();
        Ok(recorder)
    }

    /// Records into anything else that takes octets, possibly some at a time. What it does not take is offered again each second.
    ///
    /// # Errors
    /// Where the thread cannot be made.
    pub fn into_writer(file: Box<dyn Write + Send>, limit: usize) -> io::Result<Self> {
        let blocks = PcapNgWriter::new(Vec::with_capacity(limit)).map_err(io::Error::other)?;
        let state =
            State { blocks, unwritten: 0, flushes_asked: 0, flushes_done: 0, closing: false, failed: None };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            is_failing: AtomicBool::new(false),
            work: Condvar::new(),
            flushed: Condvar::new(),
        });
        let its = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || write_out(&its, file, Vec::with_capacity(limit)))?;
        Ok(Self {
            shared,
            thread: Some(thread),
            names: Vec::new(),
            name: String::new(),
            block: empty(),
            limit,
            recorded: 0,
            lost: 0,
        })
    }

    /// The capture interface of this name, made where it does not exist yet. It has packets of IP.
    pub fn interface(&mut self, name: &str) -> InterfaceId {
        self.interface_of(name, DataLink::RAW)
    }

    /// The same with Ethernet frames: [`Recorder::ethernet`].
    pub fn ethernet_interface(&mut self, name: &str) -> InterfaceId {
        self.interface_of(name, DataLink::ETHERNET)
    }

    fn interface_of(&mut self, name: &str, linktype: DataLink) -> InterfaceId {
        if let Some(index) = self.names.iter().position(|known| known == name) {
            return InterfaceId(u32::try_from(index).unwrap_or(0));
        }
        let index = u32::try_from(self.names.len()).unwrap_or(0);
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name.to_owned())),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        let block = InterfaceDescriptionBlock { linktype, snaplen: 0, options };
        let mut state = self.shared.lock();
        // Whoever writes next finds something waiting, and leaves the thread asleep.
        let wake = state.blocks.get_ref().is_empty();
        // A Vec takes all; the only error could be that of an unknown interface.
        if state.blocks.write_pcapng_block(block).is_ok() {
            self.names.push(name.to_owned());
        }
        drop(state);
        if wake {
            self.shared.work.notify_one();
        }
        InterfaceId(index)
    }

    /// Records a UDP datagram, `at_ns` nanoseconds after the beginning of 1970. The IP and UDP headers are made.
    pub fn udp(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        (source, destination): (SocketAddr, SocketAddr),
        payload: &[u8],
    ) {
        write_udp(self.block.data.to_mut(), source, destination, payload);
        self.write(interface, at_ns, direction);
    }

    /// The same, with a remark for whoever reads the capture: Wireshark has it as `frame.comment`.
    pub fn udp_with_comment(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        (source, destination): (SocketAddr, SocketAddr),
        payload: &[u8],
        comment: String,
    ) {
        write_udp(self.block.data.to_mut(), source, destination, payload);
        let comment = EnhancedPacketOption::Comment(Cow::Owned(comment));
        self.write_with(interface, at_ns, direction, Some(comment));
    }

    /// Records octets of a TCP connection, with the headers made; what is too long for one packet becomes several.
    pub fn tcp(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        (ends, first): ((SocketAddr, SocketAddr), Segment),
        payload: &[u8],
    ) {
        let mut segment = first;
        for piece in payload.chunks(SEGMENT_MAX).chain(payload.is_empty().then_some(payload)) {
            write_tcp(self.block.data.to_mut(), ends, segment, piece);
            self.write(interface, at_ns, direction);
            segment.sequence = segment.sequence.wrapping_add(u32::try_from(piece.len()).unwrap_or(0));
        }
    }

    /// Records a whole IP packet, as it passes through a TUN device.
    pub fn ip(&mut self, interface: InterfaceId, at_ns: u64, direction: Direction, packet: &[u8]) {
        let data = self.block.data.to_mut();
        data.clear();
        data.extend_from_slice(packet);
        self.write(interface, at_ns, direction);
    }

    /// Records an Ethernet frame: its header (destination, source, EtherType) and what is behind it.
    pub fn ethernet(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        header: [u8; 14],
        payload: &[u8],
    ) {
        let data = self.block.data.to_mut();
        data.clear();
        data.extend_from_slice(&header);
        data.extend_from_slice(payload);
        self.write(interface, at_ns, direction);
    }

    /// Serialises the block whose data are ready. Nothing is allocated: the block keeps its memory.
    fn write(&mut self, interface: InterfaceId, at_ns: u64, direction: Direction) {
        self.write_with(interface, at_ns, direction, None);
    }

    fn write_with(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        comment: Option<EnhancedPacketOption<'static>>,
    ) {
        let comment_len = match &comment {
            Some(EnhancedPacketOption::Comment(comment)) => comment.len(),
            _ => 0,
        };
        self.block.interface_id = interface.0;
        self.block.timestamp = Duration::from_nanos(at_ns);
        self.block.original_len = u32::try_from(self.block.data.len()).unwrap_or(u32::MAX);
        self.block.options.clear();
        self.block.options.push(EnhancedPacketOption::Flags(direction.flags()));
        self.block.options.extend(comment);
        let mut state = self.shared.lock();
        let waiting = state.blocks.get_ref().len();
        if waiting + self.block.data.len() + comment_len + BLOCK_OVERHEAD > self.limit {
            self.lost += 1;
            return;
        }
        let block = Block::EnhancedPacket(core::mem::replace(&mut self.block, empty()));
        match state.blocks.write_block(&block) {
            Ok(_) => {
                self.recorded += 1;
                state.unwritten += 1;
            }
            Err(_) => self.lost += 1,
        }
        let half = self.limit / 2;
        let wake = waiting == 0 || (waiting < half && state.blocks.get_ref().len() >= half);
        drop(state);
        if let Block::EnhancedPacket(block) = block {
            self.block = block;
        }
        if wake {
            self.shared.work.notify_one();
        }
    }

    /// Waits until everything recorded so far was handed to the operating system.
    ///
    /// # Errors
    /// Why the file does not take it. It is tried again later.
    pub fn flush(&mut self) -> io::Result<()> {
        let mut state = self.shared.lock();
        state.flushes_asked += 1;
        let mine = state.flushes_asked;
        self.shared.work.notify_one();
        while state.flushes_done < mine {
            state = self.shared.flushed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        match &state.failed {
            Some(error) => Err(io::Error::new(error.kind(), error.to_string())),
            None => Ok(()),
        }
    }

    /// Records taken so far.
    #[must_use]
    pub const fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Records lost because the disk was too slow or full for too long.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// The name of the file; empty where it was made of something else.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records that are not in the file yet, as far as is known: of what the file takes in part all count.
    #[must_use]
    pub fn unwritten(&self) -> u64 {
        self.shared.lock().unwritten
    }

    /// Why the file takes nothing at present. What is recorded meanwhile waits, as far as there is room.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        if !self.shared.is_failing.load(Relaxed) {
            return None;
        }
        self.shared.lock().failed.as_ref().map(ToString::to_string)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.shared.lock().closing = true;
        self.shared.work.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recorder({} recorded, {} lost)", self.recorded, self.lost)
    }
}

/// A block without memory.
const fn empty() -> EnhancedPacketBlock<'static> {
    EnhancedPacketBlock {
        interface_id: 0,
        timestamp: Duration::ZERO,
        original_len: 0,
        data: Cow::Owned(Vec::new()),
        options: Vec::new(),
    }
}

/// The thread: takes the filled buffer, leaves the empty one, and writes without holding the lock. What the file does not take
/// is offered again, from the octet on at which it stopped, so that its blocks stay whole.
fn write_out(shared: &Shared, mut file: Box<dyn Write + Send>, mut taken: Vec<u8>) {
    let (mut written, mut records) = (0, 0);
    let mut state = shared.lock();
    loop {
        let is_new = written == taken.len();
        if is_new {
            state = await_work(shared, state);
            taken.clear();
            written = 0;
            core::mem::swap(state.blocks.get_mut(), &mut taken);
            records = state.unwritten;
        } else {
            let idle = |state: &mut State| !state.closing && state.flushes_asked == state.flushes_done;
            let waited = shared.work.wait_timeout_while(state, AGAIN, idle);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let (asked, last) = (state.flushes_asked, state.closing);
        drop(state);
        let result = write_some(&mut *file, &taken, &mut written);
        state = shared.lock();
        let failed = result.is_err();
        if !failed {
            state.unwritten -= core::mem::take(&mut records);
        }
        state.failed = result.err();
        shared.is_failing.store(failed, Relaxed);
        // What was offered again may have more behind it.
        if is_new || failed {
            state.flushes_done = asked;
            shared.flushed.notify_all();
        }
        if last && (failed || state.blocks.get_ref().is_empty()) {
            return;
        }
    }
}

/// Waits for records, gathers some, and returns at once for who waits or wants to end.
fn await_work<'s>(shared: &'s Shared, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    let is_urgent = |state: &State| state.closing || state.flushes_asked != state.flushes_done;
    while state.blocks.get_ref().is_empty() && !is_urgent(&state) {
        state = shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
    if !is_urgent(&state) {
        (state, _) = shared.work.wait_timeout(state, GATHER).unwrap_or_else(PoisonError::into_inner);
    }
    state
}

/// Writes what is not written yet.
fn write_some(file: &mut dyn Write, octets: &[u8], written: &mut usize) -> io::Result<()> {
    while let Some(rest) = octets.get(*written..).filter(|rest| !rest.is_empty()) {
        match file.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => *written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

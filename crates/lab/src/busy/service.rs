//! Pings and a download through one node, each by a thread where the mobiles are, and both counted there.

use super::stage::{DEVICES, DOWNLOAD_OCTETS, DOWNLOAD_SEED, MOBILES, Mobiles};
use super::text;
use crate::demo::configs::address::GI_HOST;
use crate::http;
use crate::load::traffic::Latency;
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use gannet_rig::NetworkNamespace;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{ErrorKind, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Echo requests a second of all mobiles together: as many N-PDUs go up as come down.
const PINGS_PER_S: u32 = 300;
/// They leave so many at once, one mobile after the other: more than one batch of the scheduler, so that it has something to measure.
const AT_ONCE: u32 = 30;
/// Octets of an echo message beside its header, as `ping` has it.
const PAYLOAD: usize = 56;
/// A burst that is this late is not sent any more, and counts as asked.
const LATE_MAX: Duration = Duration::from_millis(50);
/// After the last ping, how long an answer is waited for.
const ANSWERED_WITHIN: Duration = Duration::from_secs(3);
/// From one look at the sockets to the next, at the most.
const LOOK: Duration = Duration::from_millis(1);
/// A download that does not move for so long is broken.
const MOVES_WITHIN: Duration = Duration::from_secs(15);
/// Octets that the mobile with the download holds unread: few, so that a halted one soon stops the host.
const UNREAD: usize = 64 << 10;

/// The mobile with the download does not ping: what its own queue drops is its own.
const DOWNLOADS: u32 = 0;

/// What became of pings.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Pings {
    /// Those that were to be sent.
    pub(super) asked: u64,
    /// And were.
    pub(super) sent: u64,
    /// Answers, each once.
    pub(super) received: u64,
    /// Answers that came again.
    pub(super) doubled: u64,
    /// From a request to its answer.
    pub(super) round_trip: Latency,
}

impl Pings {
    /// Without an answer.
    pub(super) const fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }
}

/// What became of downloads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Downloads {
    /// Whole, with the right SHA-256.
    pub(super) right: u64,
    /// With another one.
    pub(super) wrong: u64,
    /// Ended before.
    pub(super) broken: u64,
}

impl Downloads {
    /// Those that were not right.
    pub(super) const fn failed(&self) -> u64 {
        self.wrong + self.broken
    }
}

/// When bursts of pings are due: at equal distances while they go.
#[derive(Debug)]
struct Schedule {
    gap: Duration,
    next: Option<Duration>,
}

impl Schedule {
    fn new(per_s: u32) -> Self {
        Self { gap: Duration::from_secs(1) / per_s, next: None }
    }

    /// How many are due at `now`, and how many of these are not too late to be sent.
    fn due(&mut self, now: Duration) -> (u64, u64) {
        let (mut due, mut sent) = (0, 0);
        let mut next = self.next.unwrap_or(now);
        while next <= now {
            due += 1;
            sent += u64::from(now.saturating_sub(next) <= LATE_MAX);
            next += self.gap;
        }
        self.next = Some(next);
        (due, sent)
    }

    /// They do not go.
    const fn rest(&mut self) {
        self.next = None;
    }

    fn left(&self, now: Duration) -> Duration {
        self.next.map_or(LOOK, |next| next.saturating_sub(now)).min(LOOK)
    }
}

/// The requests of one mobile: when each left, until its answer has come.
#[derive(Debug, Default)]
struct Book {
    left_at: Vec<Option<Duration>>,
}

impl Book {
    /// The sequence number of the next one; `None` where there are none left.
    fn send(&mut self, now: Duration) -> Option<u16> {
        let sequence = u16::try_from(self.left_at.len()).ok()?;
        self.left_at.push(Some(now));
        Some(sequence)
    }

    fn came(&mut self, sequence: u16, now: Duration, pings: &mut Pings) {
        match self.left_at.get_mut(usize::from(sequence)) {
            Some(left_at) => match left_at.take() {
                Some(at) => {
                    pings.received += 1;
                    let took = now.saturating_sub(at).as_nanos();
                    pings.round_trip.record(u64::try_from(took).unwrap_or(u64::MAX));
                }
                None => pings.doubled += 1,
            },
            // Nobody has asked.
            None => pings.doubled += 1,
        }
    }
}

/// ICMP echo request (RFC 792).
fn echo_request(identifier: u16, sequence: u16) -> Vec<u8> {
    let mut message = vec![8, 0, 0, 0];
    message.extend(identifier.to_be_bytes());
    message.extend(sequence.to_be_bytes());
    message.resize(8 + PAYLOAD, 0x55);
    let sum: u32 =
        message.chunks(2).map(|pair| pair.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let check = !u16::try_from((folded & 0xffff) + (folded >> 16)).unwrap_or(0);
    if let Some(to) = message.get_mut(2..4) {
        to.copy_from_slice(&check.to_be_bytes());
    }
    message
}

/// Identifier and sequence number of an ICMP echo reply in an IPv4 packet.
fn echo_reply(packet: &[u8]) -> Option<(u16, u16)> {
    let header = usize::from(packet.first()? & 15) * 4;
    match packet.get(header..)? {
        [0, 0, _, _, i, d, s, n, ..] => Some((u16::from_be_bytes([*i, *d]), u16::from_be_bytes([*s, *n]))),
        _ => None,
    }
}

fn device(mobile: u32) -> Vec<u8> {
    format!("{DEVICES}{mobile}").into_bytes()
}

fn host(port: u16) -> Result<SocketAddr, String> {
    Ok(SocketAddrV4::new(GI_HOST.parse::<Ipv4Addr>().map_err(text)?, port).into())
}

/// What a thread of the service hears.
#[derive(Debug, Clone)]
struct Orders {
    goes: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    /// Somebody wants an end of everything.
    stop: Arc<AtomicBool>,
}

impl Orders {
    fn new(stop: &Arc<AtomicBool>) -> Self {
        Self { goes: Arc::default(), ends: Arc::default(), stop: Arc::clone(stop) }
    }

    fn is_over(&self) -> bool {
        self.ends.load(Relaxed) || self.stop.load(Relaxed)
    }
}

fn spawn<R: Send + 'static>(
    name: &str,
    mobiles: Mobiles,
    work: impl FnOnce() -> Result<R, String> + Send + 'static,
) -> Result<JoinHandle<Result<R, String>>, String> {
    let inside = move || {
        NetworkNamespace::named(&mobiles.namespace).and_then(|there| there.enter()).map_err(text)?;
        work()
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(inside).map_err(text)
}

fn join<R>(handle: JoinHandle<Result<R, String>>) -> Result<R, String> {
    match handle.join() {
        Ok(result) => result,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A thread that pings from all mobiles but the one with the download.
#[derive(Debug)]
pub(super) struct Pinger {
    orders: Orders,
    thread: JoinHandle<Result<Pings, String>>,
}

impl Pinger {
    /// Starts it; it does not send yet.
    pub(super) fn start(mobiles: Mobiles, stop: &Arc<AtomicBool>) -> Result<Self, String> {
        let orders = Orders::new(stop);
        let heard = orders.clone();
        let thread = spawn("pings", mobiles, move || ping(&heard))?;
        Ok(Self { orders, thread })
    }

    /// Sends from now on, or does not.
    pub(super) fn go(&self, on: bool) {
        self.orders.goes.store(on, Relaxed);
    }

    /// Sends no more.
    pub(super) fn last(&self) {
        self.orders.ends.store(true, Relaxed);
    }

    /// Waits for answers, and says what became of all.
    pub(super) fn end(self) -> Result<Pings, String> {
        self.last();
        join(self.thread)
    }
}

fn ping(orders: &Orders) -> Result<Pings, String> {
    static RUN: AtomicU16 = AtomicU16::new(0);
    // Late answers of an earlier cell are nobody's.
    let identifier = RUN.fetch_add(1, Relaxed) | 0x4000;
    let host = host(0)?.into();
    let pinging = (0..MOBILES).filter(|mobile| *mobile != DOWNLOADS);
    let open = |mobile| -> std::io::Result<(Socket, Book)> {
        let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::ICMPV4))?;
        socket.bind_device(Some(&device(mobile)))?;
        socket.set_nonblocking(true)?;
        Ok((socket, Book::default()))
    };
    let mut sockets =
        pinging.map(open).collect::<Result<Vec<_>, _>>().map_err(|error| format!("ping: {error}"))?;
    let (mut pings, mut schedule, begin) =
        (Pings::default(), Schedule::new(PINGS_PER_S / AT_ONCE), Instant::now());
    let (mut turn, mut ended) = (0, None);
    loop {
        let now = begin.elapsed();
        if orders.is_over() {
            let since = *ended.get_or_insert(now);
            let is_late = now.saturating_sub(since) > ANSWERED_WITHIN || orders.stop.load(Relaxed);
            if pings.lost() == 0 || is_late {
                return Ok(pings);
            }
        } else if orders.goes.load(Relaxed) {
            let (asked, sent) = schedule.due(now);
            pings.asked += asked * u64::from(AT_ONCE);
            for _ in 0..sent * u64::from(AT_ONCE) {
                let count = sockets.len();
                let Some((socket, book)) = sockets.get_mut(turn % count) else { continue };
                turn += 1;
                let Some(sequence) = book.send(now) else { continue };
                // What the device has no room for was not sent.
                pings.sent += u64::from(socket.send_to(&echo_request(identifier, sequence), &host).is_ok());
            }
        } else {
            schedule.rest();
        }
        for (socket, book) in &mut sockets {
            receive(socket, identifier, |sequence| book.came(sequence, begin.elapsed(), &mut pings))?;
        }
        std::thread::sleep(schedule.left(begin.elapsed()).max(Duration::from_micros(100)));
    }
}

/// All answers that a socket has.
fn receive(mut socket: &Socket, identifier: u16, mut came: impl FnMut(u16)) -> Result<(), String> {
    let mut packet = [0; 256];
    loop {
        match socket.read(&mut packet) {
            Ok(octets) => {
                let reply = packet.get(..octets).and_then(echo_reply);
                reply
                    .filter(|(to, _)| *to == identifier)
                    .into_iter()
                    .for_each(|(_, sequence)| came(sequence));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("ping: {error}")),
        }
    }
}

/// A thread that downloads to one mobile, again and again.
#[derive(Debug)]
pub(super) struct Download {
    orders: Orders,
    thread: JoinHandle<Result<Downloads, String>>,
}

impl Download {
    /// Starts it; it does not begin yet.
    pub(super) fn start(mobiles: Mobiles, stop: &Arc<AtomicBool>) -> Result<Self, String> {
        let orders = Orders::new(stop);
        let heard = orders.clone();
        let thread = spawn("download", mobiles, move || {
            let expected = http::sha256(&http::content(DOWNLOAD_SEED, DOWNLOAD_OCTETS));
            let mut downloads = Downloads::default();
            while !heard.is_over() {
                if !heard.goes.load(Relaxed) {
                    std::thread::sleep(LOOK);
                    continue;
                }
                match download(&heard) {
                    Ok(octets) if http::sha256(&octets) == expected => downloads.right += 1,
                    Ok(_) => downloads.wrong += 1,
                    Err(_) if heard.stop.load(Relaxed) => break,
                    Err(error) => {
                        eprintln!("busy-machine: download: {error}");
                        downloads.broken += 1;
                    }
                }
            }
            Ok(downloads)
        })?;
        Ok(Self { orders, thread })
    }

    /// Reads from now on, or leaves what comes where it is.
    pub(super) fn go(&self, on: bool) {
        self.orders.goes.store(on, Relaxed);
    }

    /// Waits for the end of the one that runs.
    pub(super) fn end(self) -> Result<Downloads, String> {
        self.orders.ends.store(true, Relaxed);
        join(self.thread)
    }
}

/// The octets of one.
fn download(orders: &Orders) -> Result<Vec<u8>, String> {
    let mut socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).map_err(text)?;
    socket.bind_device(Some(&device(DOWNLOADS))).map_err(text)?;
    socket.set_recv_buffer_size(UNREAD).map_err(text)?;
    socket.connect_timeout(&host(80)?.into(), MOVES_WITHIN).map_err(text)?;
    socket.set_read_timeout(Some(Duration::from_millis(100))).map_err(text)?;
    socket.write_all(b"GET / HTTP/1.0\r\n\r\n").map_err(text)?;
    let (mut answer, mut buffer) = (Vec::new(), vec![0; 16 << 10]);
    let mut moved = Instant::now();
    loop {
        if orders.stop.load(Relaxed) {
            return Err("interrupted".to_owned());
        }
        if !orders.goes.load(Relaxed) && !orders.ends.load(Relaxed) {
            std::thread::sleep(LOOK);
            moved = Instant::now();
            continue;
        }
        match socket.read(&mut buffer) {
            Ok(0) => return body(&answer),
            Ok(octets) => {
                answer.extend_from_slice(buffer.get(..octets).unwrap_or_default());
                moved = Instant::now();
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                if moved.elapsed() > MOVES_WITHIN {
                    return Err(format!("nothing came for {} s", MOVES_WITHIN.as_secs()));
                }
            }
            Err(error) => return Err(text(error)),
        }
    }
}

/// What stands behind the head of an HTTP answer.
fn body(answer: &[u8]) -> Result<Vec<u8>, String> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let head = answer.get(..end.unwrap_or(0)).unwrap_or_default();
    if !head.starts_with(b"HTTP/1.") || head.get(8..12) != Some(b" 200") {
        return Err(format!("the host answered {:?}", String::from_utf8_lossy(head)));
    }
    Ok(answer.get(head.len() + 4..).unwrap_or_default().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_due_at_equal_distances_and_late_ones_are_not_made_up_for() {
        let ms = Duration::from_millis;
        let mut schedule = Schedule::new(100);
        assert_eq!(schedule.due(ms(5)), (1, 1), "the first at once");
        assert_eq!(schedule.due(ms(14)), (0, 0));
        assert_eq!(schedule.due(ms(36)), (3, 3));
        // Away for a second: what is later than 50 ms is not sent.
        assert_eq!(schedule.due(ms(1036)), (100, 5));
        schedule.rest();
        assert_eq!(schedule.due(ms(9000)), (1, 1), "nothing is due while they rest");
        assert_eq!(schedule.left(ms(9009)), ms(1));
    }

    #[test]
    fn each_answer_counts_once() {
        let (mut book, mut pings) = (Book::default(), Pings { sent: 3, ..Pings::default() });
        let ms = Duration::from_millis;
        assert_eq!([1, 2, 3].map(|at| book.send(ms(at))), [Some(0), Some(1), Some(2)]);
        for (sequence, at) in [(1, 12), (0, 21), (1, 30), (7, 31)] {
            book.came(sequence, ms(at), &mut pings);
        }
        assert_eq!((pings.received, pings.doubled, pings.lost()), (2, 2, 1));
        assert_eq!((pings.round_trip.count(), pings.round_trip.max_ns()), (2, 20_000_000));
    }

    #[test]
    fn echo_messages() {
        let request = echo_request(0x1234, 7);
        assert_eq!(request.get(..2), Some(&[8, 0][..]));
        let sum: u32 = request.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum is right");
        let mut packet = vec![0x46; 24];
        packet.extend([0, 0, 9, 9, 0x12, 0x34, 0, 7, 1]);
        assert_eq!(echo_reply(&packet), Some((0x1234, 7)));
        packet[24] = 8;
        assert_eq!((echo_reply(&packet), echo_reply(&packet[..30]), echo_reply(&[])), (None, None, None));
    }

    #[test]
    fn the_body_of_an_answer() {
        assert_eq!(body(b"HTTP/1.0 200 OK\r\nA: b\r\n\r\n\r\nxy").unwrap(), b"\r\nxy");
        for wrong in [&b"HTTP/1.0 405 No\r\n\r\nxy"[..], b"HTTP/1.0 200 OK\r\n", b""] {
            assert!(body(wrong).is_err());
        }
    }
}

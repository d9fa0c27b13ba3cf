//! Steady traffic of many contexts: each sends a numbered datagram in each period, and a host behind the GGSN answers it.
//!
//! All numbers are written down at the host and at the mobiles, so that each datagram is accounted for by itself.

use super::super::configs::Mode;
use super::super::text;
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_rig::NetworkNamespace;
use socket2::SockRef;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Octets of a datagram: a packet of 200 with its headers.
const OCTETS: usize = 172;
/// Where the mobiles send from, and where they take answers.
const FROM_PORT: u16 = 7000;
const ANSWER_PORT: u16 = 7001;
/// Where the host listens.
const HOST_PORT: u16 = 7002;
/// Receivers look so often whether they are to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A context with its device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The mode of its link.
    pub mode: Mode,
    /// Its device.
    pub device: String,
    /// Its address.
    pub address: Ipv4Addr,
}

/// How often each datagram of each flow has arrived at a place.
#[derive(Debug, Default, Clone)]
pub struct Seen {
    counts: Vec<Vec<u8>>,
    /// Datagrams behind one with a higher number, and those of nobody.
    pub disordered: u64,
    /// As above.
    pub foreign: u64,
    /// The longest time between two datagrams, by flow.
    longest: Vec<Duration>,
    last: Vec<Option<Instant>>,
}

impl Seen {
    fn of(flows: usize) -> Self {
        let (counts, longest) = (vec![Vec::new(); flows], vec![Duration::ZERO; flows]);
        Self { counts, longest, last: vec![None; flows], ..Self::default() }
    }

    /// Writes one down; true where it is the first of its number.
    fn note(&mut self, flow: u32, number: u32, now: Instant) -> bool {
        let (flow, place) = (flow as usize, number as usize);
        let (Some(counts), Some(longest), Some(last)) =
            (self.counts.get_mut(flow), self.longest.get_mut(flow), self.last.get_mut(flow))
        else {
            self.foreign += 1;
            return false;
        };
        if place < counts.len() {
            self.disordered += 1;
        } else {
            counts.resize(place + 1, 0);
        }
        if let Some(before) = last.replace(now) {
            *longest = (*longest).max(now.saturating_duration_since(before));
        }
        let Some(count) = counts.get_mut(place) else { return false };
        *count = count.saturating_add(1);
        *count == 1
    }

    /// Datagrams of these flows that have arrived, each counted once.
    pub fn arrived(&self, is_meant: impl Fn(usize) -> bool) -> u64 {
        self.sum(is_meant, |count| u64::from(count > 0))
    }

    /// Arrivals beyond the first of each.
    pub fn doubled(&self, is_meant: impl Fn(usize) -> bool) -> u64 {
        self.sum(is_meant, |count| u64::from(count.saturating_sub(1)))
    }

    fn sum(&self, is_meant: impl Fn(usize) -> bool, of: impl Fn(u8) -> u64) -> u64 {
        let flows = self.counts.iter().enumerate().filter(|(flow, _)| is_meant(*flow));
        flows.flat_map(|(_, counts)| counts).map(|count| of(*count)).sum()
    }

    /// The longest time without a datagram of any of these flows.
    pub fn longest(&self, is_meant: impl Fn(usize) -> bool) -> Duration {
        let flows = self.longest.iter().enumerate().filter(|(flow, _)| is_meant(*flow));
        flows.map(|(_, longest)| *longest).max().unwrap_or_default()
    }
}

/// What came of all.
#[derive(Debug, Clone, Default)]
pub struct Account {
    /// Datagrams that the mobiles' kernel has taken, by flow.
    pub sent: Vec<u64>,
    /// Those that it has refused.
    pub refused: u64,
    /// What came to the host.
    pub at_host: Seen,
    /// Answers that the host's kernel has taken, by flow.
    pub answered: Vec<u64>,
    /// What came to the mobiles.
    pub at_mobiles: Seen,
}

type Thread<T> = JoinHandle<Result<T, String>>;

/// Traffic that goes on until it is ended.
#[derive(Debug)]
pub struct Traffic {
    /// Nobody sends any more, and nobody receives.
    over: [Arc<AtomicBool>; 2],
    sending: Thread<(Vec<u64>, u64)>,
    answering: Thread<(Seen, Vec<u64>)>,
    receiving: Thread<Seen>,
}

impl Traffic {
    /// Starts it between the namespaces of these names. Receivers have buffers of so many octets, as far as the machine permits.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn start(
        (phone, network): (&str, &str),
        host: &str,
        flows: &[Flow],
        (period, buffer): (Duration, usize),
    ) -> Result<Self, String> {
        let over = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let [sent, received] = &over;
        let count = flows.len();
        // Receivers are there before anything is sent.
        let at_mobiles = inside(phone, move || receiver((Ipv4Addr::UNSPECIFIED, ANSWER_PORT), buffer))?;
        let address: Ipv4Addr = host.parse().map_err(text)?;
        let at_host = inside(network, move || receiver((address, HOST_PORT), buffer))?;
        let senders = flows.to_vec();
        let sockets = inside(phone, move || senders.iter().map(sender).collect::<Result<Vec<_>, String>>())?;
        let (stop, until) = (Arc::clone(received), Arc::clone(received));
        let receiving = std::thread::spawn(move || receive(&at_mobiles, count, &stop));
        let answering = std::thread::spawn(move || answer(&at_host, count, &until));
        let stop = Arc::clone(sent);
        let sending = std::thread::spawn(move || send(&sockets, (address, HOST_PORT), period, &stop));
        Ok(Self { over, sending, answering, receiving })
    }

    /// Whether all of it still runs.
    pub fn is_running(&self) -> bool {
        !(self.sending.is_finished() || self.answering.is_finished() || self.receiving.is_finished())
    }

    /// Ends it, and waits for what is under way for so long.
    ///
    /// # Errors
    /// What the operating system has said meanwhile.
    pub fn end(self, patience: Duration) -> Result<Account, String> {
        let [sent, received] = &self.over;
        sent.store(true, Relaxed);
        let (sent, refused) = joined(self.sending)?;
        std::thread::sleep(patience);
        received.store(true, Relaxed);
        let (at_host, answered) = joined(self.answering)?;
        let at_mobiles = joined(self.receiving)?;
        Ok(Account { sent, refused, at_host, answered, at_mobiles })
    }
}

fn joined<T>(thread: Thread<T>) -> Result<T, String> {
    thread.join().unwrap_or_else(|_| Err("a thread of the traffic has failed".to_owned()))
}

/// Does something on a thread that is in a network namespace.
fn inside<T: Send + 'static>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let name = namespace.to_owned();
    joined(std::thread::spawn(move || {
        NetworkNamespace::named(&name).and_then(|namespace| namespace.enter()).map_err(text)?;
        work()
    }))
}

fn receiver(address: (Ipv4Addr, u16), buffer: usize) -> Result<UdpSocket, String> {
    let socket = UdpSocket::bind(address).map_err(|error| format!("{}:{}: {error}", address.0, address.1))?;
    SockRef::from(&socket).set_recv_buffer_size(buffer).map_err(text)?;
    socket.set_read_timeout(Some(LOOK_EVERY)).map_err(text)?;
    Ok(socket)
}

/// A socket of one context: what it sends leaves through the context's device, whatever routes there are.
fn sender(flow: &Flow) -> Result<UdpSocket, String> {
    let socket = UdpSocket::bind((flow.address, FROM_PORT))
        .map_err(|error| format!("{}, {}: {error}", flow.device, flow.address))?;
    SockRef::from(&socket).bind_device(Some(flow.device.as_bytes())).map_err(text)?;
    socket.set_nonblocking(true).map_err(text)?;
    Ok(socket)
}

/// Flow and number of a datagram.
fn read(octets: &[u8]) -> Option<(u32, u32)> {
    let word = |at: usize| octets.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four));
    Some((word(0)?, word(4)?))
}

/// One datagram of each flow in each period, evenly. How many were taken by flow, and how many were refused.
fn send(
    sockets: &[UdpSocket],
    to: (Ipv4Addr, u16),
    period: Duration,
    stop: &AtomicBool,
) -> Result<(Vec<u64>, u64), String> {
    let mut sent = vec![0_u64; sockets.len()];
    let mut refused = 0;
    let mut octets = [0; OCTETS];
    let apart = period / u32::try_from(sockets.len()).unwrap_or(u32::MAX).max(1);
    let mut due = Instant::now();
    while !stop.load(Relaxed) {
        for ((flow, socket), sent) in (0_u32..).zip(sockets).zip(&mut sent) {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            due += apart;
            let number = u32::try_from(*sent).unwrap_or(u32::MAX);
            let header = flow.to_be_bytes().into_iter().chain(number.to_be_bytes());
            octets.iter_mut().zip(header).for_each(|(octet, value)| *octet = value);
            match socket.send_to(&octets, to) {
                Ok(_) => *sent += 1,
                // What is not taken is told here, and is not on its way.
                Err(error) if error.kind() == ErrorKind::WouldBlock => refused += 1,
                Err(error) => return Err(format!("context {flow}: {error}")),
            }
        }
    }
    Ok((sent, refused))
}

/// The next datagram with flow, number and sender; `None` where none has come in a while.
fn next(socket: &UdpSocket, octets: &mut [u8]) -> Result<Option<(u32, u32, Ipv4Addr)>, String> {
    match socket.recv_from(octets) {
        Ok((len, SocketAddr::V4(from))) => {
            let of = octets.get(..len).and_then(read);
            let (flow, number) = of.ok_or_else(|| format!("{from} sent what is none of ours"))?;
            Ok(Some((flow, number, *from.ip())))
        }
        Ok((_, from)) => Err(format!("{from} is no address of IPv4")),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
        Err(error) => Err(text(error)),
    }
}

/// Answers each datagram, when it comes first, at its sender's address.
fn answer(socket: &UdpSocket, flows: usize, stop: &AtomicBool) -> Result<(Seen, Vec<u64>), String> {
    let (mut seen, mut answered) = (Seen::of(flows), vec![0; flows]);
    let mut octets = [0; OCTETS];
    while !stop.load(Relaxed) {
        let Some((flow, number, from)) = next(socket, &mut octets)? else { continue };
        if seen.note(flow, number, Instant::now()) {
            socket.send_to(&octets, (from, ANSWER_PORT)).map_err(text)?;
            if let Some(answered) = answered.get_mut(flow as usize) {
                *answered += 1;
            }
        }
    }
    Ok((seen, answered))
}

fn receive(socket: &UdpSocket, flows: usize, stop: &AtomicBool) -> Result<Seen, String> {
    let mut seen = Seen::of(flows);
    let mut octets = [0; OCTETS];
    while !stop.load(Relaxed) {
        if let Some((flow, number, _)) = next(socket, &mut octets)? {
            seen.note(flow, number, Instant::now());
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_datagram_is_told_from_its_copy_and_from_one_that_is_late() {
        let mut seen = Seen::of(2);
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let first = [(0, 0, 0), (0, 2, 10), (0, 1, 40), (0, 2, 50), (1, 0, 50), (7, 0, 60)]
            .map(|(flow, number, ms)| seen.note(flow, number, at(ms)));
        assert_eq!(first, [true, true, true, false, true, false]);
        let all = |_| true;
        assert_eq!((seen.arrived(all), seen.doubled(all), seen.disordered, seen.foreign), (4, 1, 2, 1));
        assert_eq!((seen.arrived(|flow| flow == 1), seen.longest(all)), (1, Duration::from_millis(30)));
    }
}

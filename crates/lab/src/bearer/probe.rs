//! What is measured through a way: round trips, transfers of a given length, and downloads.

use super::text;
use crate::testbed::Namespace;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::time::Duration;
use gannet_rig::NetworkNamespace;
use socket2::{Domain, SockRef, Socket, Type};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

/// The probe's rank among threads that preempt others: above the nodes.
const RANK: &str = "5";
/// Congestion control of transfers and downloads.
pub const CONGESTION: &str = "cubic";
/// Types of service (RFC 1349 clause 4): nothing special, and little delay.
const BEST_EFFORT: &str = "0";
/// Goes before others where devices order packets.
pub const LITTLE_DELAY: &str = "16";
/// A transfer that stands for so long has failed.
const STANDS: Duration = Duration::from_secs(60);

/// Round trips of `count` echo requests with so many octets of data, in µs; one each `interval` seconds.
///
/// # Errors
/// What ping says, or that an answer is missing.
pub fn ping(
    from: &Namespace,
    to: &str,
    octets: u32,
    (count, interval): (u32, &str),
    stop: &AtomicBool,
) -> Result<Vec<f64>, String> {
    ping_marked(from, to, (octets, BEST_EFFORT), (count, interval), stop)
}

/// The same with this octet as type of service, by which `pfifo_fast` orders packets.
///
/// # Errors
/// What ping says, or that an answer is missing.
pub fn ping_marked(
    from: &Namespace,
    to: &str,
    (octets, service): (u32, &str),
    (count, interval): (u32, &str),
    stop: &AtomicBool,
) -> Result<Vec<f64>, String> {
    let (octets, expected) = (octets.to_string(), count as usize);
    let count = count.to_string();
    let words =
        ["-f", RANK, "ping", "-n", "-i", interval, "-W", "2", "-c", &count, "-s", &octets, "-Q", service, to];
    let said = from.output_unless(stop, "chrt", &words).map_err(text)?;
    let round_trips = round_trips_us(&said);
    // One that comes late may be missing at the end.
    if round_trips.len() * 10 < expected * 9 {
        return Err(format!("{} of {count} echo requests to {to} were answered", round_trips.len()));
    }
    Ok(round_trips)
}

/// What stands behind `time=` of each answer, in µs.
fn round_trips_us(said: &str) -> Vec<f64> {
    let of_line = |line: &str| {
        let ms: f64 = line.split_once("time=")?.1.split(' ').next()?.parse().ok()?;
        Some(ms * 1000.0)
    };
    said.lines().filter_map(of_line).collect()
}

/// What of sorted values the given share does not exceed; not a number without values.
pub fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place in a list of some thousands"
    )]
    let place = (sorted.len() as f64 * share).ceil().max(1.0) as usize;
    sorted.get(place - 1).copied().unwrap_or(f64::NAN)
}

/// How long `octets` take from `server` at `at` to the other namespace, the connection's beginning included, with [`CONGESTION`].
///
/// # Errors
/// What the operating system says, or that it stands.
pub fn transfer(server: &Namespace, at: &str, client: &Namespace, octets: u64) -> Result<Duration, String> {
    let (told, port) = mpsc::channel();
    let (server, client) = (server.name().to_owned(), client.name().to_owned());
    let at = at.to_owned();
    let to = at.clone();
    let serve = move || -> Result<(), String> {
        enter(&server)?;
        let listener = TcpListener::bind((at.as_str(), 0)).map_err(text)?;
        let _ = told.send(listener.local_addr().map_err(text)?.port());
        let (mut stream, _) = listener.accept().map_err(text)?;
        SockRef::from(&stream).set_tcp_congestion(CONGESTION.as_bytes()).map_err(text)?;
        stream.set_write_timeout(Some(STANDS)).map_err(text)?;
        let chunk = [0x5a; 16_384];
        let mut left = octets;
        while left > 0 {
            let len = usize::try_from(left.min(chunk.len() as u64)).unwrap_or(chunk.len());
            stream.write_all(chunk.get(..len).unwrap_or(&chunk)).map_err(text)?;
            left -= len as u64;
        }
        Ok(())
    };
    let fetch = move || -> Result<(u64, Duration), String> {
        enter(&client)?;
        let port = port.recv().map_err(|_| "there is no server".to_owned())?;
        let address = format!("{to}:{port}").parse().map_err(text)?;
        let begun = Instant::now();
        let mut stream = TcpStream::connect_timeout(&address, STANDS).map_err(text)?;
        stream.set_read_timeout(Some(STANDS)).map_err(text)?;
        let (mut buffer, mut sum) = ([0; 65_536], 0);
        loop {
            match stream.read(&mut buffer).map_err(text)? {
                0 => return Ok((sum, begun.elapsed())),
                len => sum += len as u64,
            }
        }
    };
    let serving = std::thread::spawn(serve);
    let fetched =
        std::thread::spawn(fetch).join().unwrap_or_else(|_| Err("the client has failed".to_owned()));
    let (sum, took) = fetched?;
    serving.join().unwrap_or_else(|_| Err("the server has failed".to_owned()))?;
    if sum == octets { Ok(took) } else { Err(format!("{sum} of {octets} octets arrived")) }
}

/// A download that goes on until it is ended.
#[derive(Debug)]
pub struct Download {
    over: Arc<AtomicBool>,
    serving: Option<JoinHandle<Result<(), String>>>,
    fetching: Option<JoinHandle<Result<Vec<Arrival>, String>>>,
}

/// When something of a download arrived, and how many octets.
pub type Arrival = (Instant, usize);

impl Download {
    /// Starts it from `server` at `at`. The client asks the kernel for a receive buffer of `buffer` octets, which bounds its window to
    /// once or twice as many; by default the kernel chooses.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn start(
        server: &Namespace,
        at: &str,
        client: &Namespace,
        buffer: Option<usize>,
    ) -> Result<Self, String> {
        let (told, port) = mpsc::channel();
        let (server, client) = (server.name().to_owned(), client.name().to_owned());
        let (at, to) = (at.to_owned(), at.to_owned());
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let serve = move || {
            enter(&server)?;
            let listener = TcpListener::bind((at.as_str(), 0)).map_err(text)?;
            let _ = told.send(listener.local_addr().map_err(text)?.port());
            let (mut stream, _) = listener.accept().map_err(text)?;
            SockRef::from(&stream).set_tcp_congestion(CONGESTION.as_bytes()).map_err(text)?;
            stream.set_write_timeout(Some(STANDS)).map_err(text)?;
            let chunk = [0x5a; 16_384];
            while !is_over.load(Relaxed) {
                stream.write_all(&chunk).map_err(text)?;
            }
            Ok(())
        };
        let fetch = move || {
            enter(&client)?;
            let port = port.recv().map_err(|_| "there is no server".to_owned())?;
            let address: SocketAddr = format!("{to}:{port}").parse().map_err(text)?;
            let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).map_err(text)?;
            if let Some(buffer) = buffer {
                socket.set_recv_buffer_size(buffer).map_err(text)?;
            }
            socket.connect_timeout(&address.into(), STANDS).map_err(text)?;
            let mut stream = TcpStream::from(socket);
            stream.set_read_timeout(Some(STANDS)).map_err(text)?;
            let (mut chunk, mut arrivals) = ([0; 65_536], Vec::new());
            loop {
                match stream.read(&mut chunk).map_err(text)? {
                    0 => return Ok(arrivals),
                    octets => arrivals.push((Instant::now(), octets)),
                }
            }
        };
        let (serving, fetching) = (std::thread::spawn(serve), std::thread::spawn(fetch));
        Ok(Self { over, serving: Some(serving), fetching: Some(fetching) })
    }

    /// Ends it. What arrived.
    ///
    /// # Errors
    /// What the operating system said of it.
    pub fn end(&mut self) -> Result<Vec<Arrival>, String> {
        self.over.store(true, Relaxed);
        let nothing = || "it was ended before".to_owned();
        let fetched = self.fetching.take().ok_or_else(nothing)?.join();
        let arrivals = fetched.unwrap_or_else(|_| Err("the client has failed".to_owned()))?;
        let served = self.serving.take().ok_or_else(nothing)?.join();
        served.unwrap_or_else(|_| Err("the server has failed".to_owned()))?;
        Ok(arrivals)
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
    }
}

fn enter(namespace: &str) -> Result<(), String> {
    NetworkNamespace::named(namespace).and_then(|namespace| namespace.enter()).map_err(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_are_read_and_ordered() {
        let said = "PING 192.0.2.1 (192.0.2.1) 1600(1628) bytes of data.\n\
                    1608 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=0.296 ms\n\
                    1608 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=1.5 ms\n\n\
                    --- 192.0.2.1 ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss, time 2ms\n";
        let trips = round_trips_us(said);
        assert_eq!(trips, [296.0, 1500.0]);
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!((quantile(&values, 0.5), quantile(&values, 0.9), quantile(&values, 0.0)), (3.0, 5.0, 1.0));
        assert!(quantile(&[], 0.5).is_nan());
    }
}

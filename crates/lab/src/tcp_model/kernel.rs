//! The machine's own TCP over the emulated line: two hosts and the line between them, each in a network namespace of its own.
//!
//! ```text
//! near ── m-near [line] m-far ── far
//! ```

use super::scenario::{Scenario, Way};
use crate::counters;
use crate::link::model::Counts;
use crate::link::{self, Account};
use crate::tcp::path::octet_at;
use crate::testbed::{self, Namespace};
use gannet_rig::NetworkNamespace;
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::{Duration, Instant};

const FAR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(198, 18, 4, 2), 5201);
/// Frames that may be on the line.
const FRAMES: usize = 4096;
/// How long a transfer may take.
const WITHIN: Duration = Duration::from_secs(180);
/// How often a socket's thread looks whether it is to give up.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The kernel's settings in both hosts: fixed buffers as the model's, no tail loss probe, nothing remembered of other connections.
const SETTINGS: [(&str, &str); 8] = [
    ("tcp_rmem", "4096 2097152 2097152"),
    ("tcp_wmem", "4096 4194304 4194304"),
    ("tcp_moderate_rcvbuf", "0"),
    ("tcp_no_metrics_save", "1"),
    ("tcp_early_retrans", "0"),
    ("tcp_sack", "1"),
    ("tcp_timestamps", "1"),
    ("tcp_frto", "2"),
];

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// What the kernel's transfer has given.
#[derive(Debug)]
pub struct Transferred {
    /// Times since the first SYN, and octets that had arrived in order by then.
    pub arrivals: Vec<(f64, u64)>,
    /// Segments that it has sent again.
    pub retransmitted: u64,
    /// Timeouts.
    pub timeouts: u64,
    /// What became of the frames on the way there.
    pub counts: Counts,
}

/// The namespaces of one scenario.
#[derive(Debug)]
pub struct Bed {
    near: Namespace,
    line: Namespace,
    far: Namespace,
}

impl Bed {
    /// Makes them; `number` tells those of one scenario from others.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn new(number: usize) -> Result<Self, String> {
        let namespace = |part: &str| Namespace::new(&format!("tcpm{number}-{part}")).map_err(text);
        let bed = Self { near: namespace("near")?, line: namespace("line")?, far: namespace("far")? };
        bed.join().map_err(text)?;
        Ok(bed)
    }

    fn join(&self) -> Result<(), testbed::TestbedError> {
        const MACS: [&str; 4] =
            ["02:00:00:00:04:01", "02:00:00:00:04:02", "02:00:00:00:04:03", "02:00:00:00:04:04"];
        let [near, far, line_near, line_far] = MACS;
        // Nobody but the connection sends: no IPv6, and no question for an Ethernet address.
        for namespace in [&self.near, &self.line, &self.far] {
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            namespace.output_of("sh", &["-c", &format!("test ! -e /proc/sys/net/ipv6 || {quiet}")])?;
        }
        let sides = [
            (&self.near, "near", near, "198.18.4.1", "m-near", line_near, "198.18.4.2", far),
            (&self.far, "far", far, "198.18.4.2", "m-far", line_far, "198.18.4.1", near),
        ];
        for (host, device, mac, own, peer, its_mac, other, other_mac) in sides {
            let line = self.line.name();
            host.ip(&[
                "link", "add", device, "address", mac, "type", "veth", "peer", "name", peer, "address",
                its_mac, "netns", line,
            ])?;
            // The line takes frames, not several segments in one.
            host.ip(&["link", "set", device, "gso_max_segs", "1", "up"])?;
            self.line.ip(&["link", "set", peer, "up"])?;
            host.ip(&["address", "add", &format!("{own}/24"), "dev", device])?;
            host.ip(&["neighbour", "add", other, "lladdr", other_mac, "dev", device])?;
            for (name, value) in SETTINGS {
                set(host, name, value)?;
            }
        }
        Ok(())
    }

    /// One transfer.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn transfer(
        &self,
        scenario: &Scenario,
        way: Way,
        seed: u64,
        stop: &AtomicBool,
    ) -> Result<Transferred, String> {
        let before = self.counters()?;
        let options = link::Options {
            between: ["m-near".to_owned(), "m-far".to_owned()],
            profiles: scenario.profiles(),
            shared: None,
            seed,
            time: None,
            frames: FRAMES,
        };
        let no_more = AtomicBool::new(false);
        let (account, sent, received) = std::thread::scope(|scope| {
            let (told, ready) = mpsc::channel();
            let (no_more, told_too) = (&no_more, told.clone());
            let line = scope.spawn(move || {
                within(&self.line, || {
                    link::run(&options, no_more, move || {
                        let _ = told.send(());
                    })
                })
            });
            let far = scope.spawn(move || {
                within(&self.far, || {
                    let listener = TcpListener::bind(FAR).map_err(text)?;
                    let _ = told_too.send(());
                    drop(told_too);
                    receive(&listener, stop)
                })
            });
            // Both are there, or one of them has ended and will say why.
            let both_are_there = ready.recv().and_then(|()| ready.recv()).is_ok();
            let sent = if both_are_there {
                let near = scope.spawn(|| within(&self.near, || send(way, scenario.octets, stop)));
                near.join().unwrap_or_else(|_| Err("the sender has failed".to_owned()))
            } else {
                Err("line or far end is not there".to_owned())
            };
            let received = far.join().unwrap_or_else(|_| Err("the far end has failed".to_owned()));
            no_more.store(true, Relaxed);
            let account = line.join().unwrap_or_else(|_| Err("the line has failed".to_owned()));
            (account, sent, received)
        });
        let (account, began, received) = (account?, sent?, received?);
        let after = self.counters()?;
        let octets = received.last().map_or(0, |(_, octets)| *octets);
        if octets != scenario.octets {
            return Err(format!("{octets} octets of {} have arrived", scenario.octets));
        }
        Ok(Transferred {
            arrivals: received
                .into_iter()
                .map(|(at, octets)| (at.saturating_duration_since(began).as_secs_f64(), octets))
                .collect(),
            retransmitted: after[0].saturating_sub(before[0]),
            timeouts: after[1].saturating_sub(before[1]),
            counts: counts(&account)?,
        })
    }

    /// Retransmitted segments and timeouts of the near host.
    fn counters(&self) -> Result<[u64; 2], String> {
        let said = self.near.output_of("cat", &["/proc/net/snmp", "/proc/net/netstat"]).map_err(text)?;
        let of = |group, name| {
            counters::of_kernel(&said, group, name).ok_or_else(|| format!("the kernel does not count {name}"))
        };
        Ok([of("Tcp:", "RetransSegs")?, of("TcpExt:", "TCPTimeouts")?])
    }
}

fn set(host: &Namespace, name: &str, value: &str) -> Result<(), testbed::TestbedError> {
    host.output_of("sh", &["-c", &format!("echo {value} > /proc/sys/net/ipv4/{name}")]).map(drop)
}

/// The frames there, where the line has done what its model says.
fn counts(account: &Account) -> Result<Counts, String> {
    let missed: u64 = account.results.iter().map(|way| way.unfit + way.missed + way.unsent).sum();
    let [there, _] = &account.results;
    if missed > 0 {
        return Err(format!("the line has not taken or not given all frames:\n{account}"));
    }
    Ok(there.counts)
}

/// Does something on the calling thread in a namespace.
fn within<T>(namespace: &Namespace, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    NetworkNamespace::named(namespace.name()).and_then(|namespace| namespace.enter()).map_err(text)?;
    work()
}

/// The reason to give up, if there is one.
fn give_up(stop: &AtomicBool, until: Instant) -> Result<(), String> {
    if stop.load(Relaxed) {
        return Err("interrupted".to_owned());
    }
    if Instant::now() > until {
        return Err(format!("a transfer has not ended within {} s", WITHIN.as_secs()));
    }
    Ok(())
}

/// Sends the stream; when the first SYN left.
fn send(way: Way, octets: u64, stop: &AtomicBool) -> Result<Instant, String> {
    let until = Instant::now() + WITHIN;
    let stream: Vec<u8> = (0..octets).map(octet_at).collect();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).map_err(text)?;
    let refused = |error| format!("congestion control {}: {error}", way.name());
    socket.set_tcp_congestion(way.name().as_bytes()).map_err(refused)?;
    let began = Instant::now();
    socket.connect_timeout(&FAR.into(), WITHIN).map_err(|error| format!("connecting: {error}"))?;
    let mut socket = TcpStream::from(socket);
    socket.set_write_timeout(Some(LOOK_EVERY)).map_err(text)?;
    socket.set_read_timeout(Some(LOOK_EVERY)).map_err(text)?;
    let mut left = stream.as_slice();
    while !left.is_empty() {
        give_up(stop, until)?;
        match socket.write(left) {
            Ok(count) => left = left.get(count..).unwrap_or_default(),
            Err(error) if waits(&error) => {}
            Err(error) => return Err(format!("sending: {error}")),
        }
    }
    socket.shutdown(Shutdown::Write).map_err(text)?;
    // The far end closes when all has arrived.
    loop {
        give_up(stop, until)?;
        match socket.read(&mut [0; 1]) {
            Ok(_) => return Ok(began),
            Err(error) if waits(&error) => {}
            Err(error) => return Err(format!("waiting for the end: {error}")),
        }
    }
}

fn waits(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Takes the stream of one connection, and compares it.
fn receive(listener: &TcpListener, stop: &AtomicBool) -> Result<Vec<(Instant, u64)>, String> {
    let until = Instant::now() + WITHIN;
    listener.set_nonblocking(true).map_err(text)?;
    let mut socket = loop {
        give_up(stop, until)?;
        match listener.accept() {
            Ok((socket, _)) => break socket,
            Err(error) if waits(&error) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(format!("accepting: {error}")),
        }
    };
    socket.set_nonblocking(false).map_err(text)?;
    socket.set_read_timeout(Some(LOOK_EVERY)).map_err(text)?;
    let (mut arrivals, mut total, mut buffer) = (Vec::new(), 0, vec![0; 1 << 20]);
    loop {
        give_up(stop, until)?;
        match socket.read(&mut buffer) {
            Ok(0) => return Ok(arrivals),
            Ok(count) => {
                let at = Instant::now();
                let came = buffer.get(..count).unwrap_or_default();
                if (total..).zip(came).any(|(place, octet)| octet_at(place) != *octet) {
                    return Err("the stream was damaged".to_owned());
                }
                total += count as u64;
                arrivals.push((at, total));
            }
            Err(error) if waits(&error) => {}
            Err(error) => return Err(format!("receiving: {error}")),
        }
    }
}

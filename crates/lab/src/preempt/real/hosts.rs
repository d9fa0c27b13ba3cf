//! The two hosts of a world: network namespaces whose TCP is the kernel's, each with a device to the world.
//!
//! ```text
//! server ── sN [world N] cN ── client
//! ```
//!
//! The ends on the side of the worlds are all in one namespace.

use super::kernel::Counters;
use super::plan::Tcp;
use crate::radio::world::HOST;
use crate::tcp::path::octet_at;
use crate::testbed::{Namespace, TestbedError};
use core::net::{Ipv4Addr, SocketAddrV4};
use gannet_machine::EthernetAddress;
use gannet_rig::NetworkNamespace;
use gannet_rt::in_network_namespace;
use socket2::{Domain, Socket, Type};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PORT: u16 = 5201;
/// Stations: the host of a device, and the world's end.
const HOST_STATION: EthernetAddress = EthernetAddress([2, 0, 0, 0, 5, 1]);
const WORLD_STATION: EthernetAddress = EthernetAddress([2, 0, 0, 0, 5, 2]);
/// How long the handshake may take.
const WITHIN: Duration = Duration::from_secs(120);
/// How often a socket's thread looks whether it is to end.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often it is asked whether the other end has answered.
const CONNECTS_EVERY: Duration = Duration::from_millis(20);
/// `EINPROGRESS` of Linux.
const IN_PROGRESS: i32 = 115;
/// Octets that are written by a call.
const PART: usize = 1 << 16;
/// The kernel's settings in both hosts: the study's window, buffers that never limit, and nothing remembered of other connections. All else
/// is as the kernel has it.
const SETTINGS: [(&str, &str); 5] = [
    ("tcp_window_scaling", "0"),
    ("tcp_rmem", "4096 1048576 1048576"),
    ("tcp_wmem", "4096 1048576 1048576"),
    ("tcp_moderate_rcvbuf", "0"),
    ("tcp_no_metrics_save", "1"),
];
/// Which of them `tcp` has.
const OPTIONS: [&str; 2] = ["tcp_sack", "tcp_timestamps"];

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// The namespaces of one world.
#[derive(Debug)]
pub struct Hosts {
    server: Namespace,
    client: Namespace,
    mobile: Ipv4Addr,
    devices: [String; 2],
}

impl Hosts {
    /// Makes them. `label` and `number` tell them from others; `worlds` is where the other ends of their devices are.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn new(
        (label, number): (&str, usize),
        worlds: &Namespace,
        mobile: Ipv4Addr,
        tcp: Tcp,
    ) -> Result<Self, String> {
        let namespace = |part: &str| Namespace::new(&format!("{label}-{part}{number}")).map_err(text);
        let devices = [format!("s{number}"), format!("c{number}")];
        let hosts = Self { server: namespace("s")?, client: namespace("c")?, mobile, devices };
        let sides = [(&hosts.server, HOST, mobile), (&hosts.client, mobile, HOST)];
        for ((host, own, other), device) in sides.into_iter().zip(&hosts.devices) {
            let set = || {
                let on = if tcp.has_options() { "1" } else { "0" };
                SETTINGS
                    .into_iter()
                    .chain(OPTIONS.map(|name| (name, on)))
                    .try_for_each(|(name, value)| std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value))
            };
            be_quiet(host)?;
            in_network_namespace(Some(host.name()), set)
                .map_err(|error| format!("settings of TCP: {error}"))?;
            join(host, worlds, device, own, other).map_err(text)?;
        }
        Ok(hosts)
    }

    /// The names of the devices in the namespace of the worlds: to the server, and to the client.
    #[must_use]
    pub const fn devices(&self) -> &[String; 2] {
        &self.devices
    }

    /// The station of a host, for what is sent to it.
    #[must_use]
    pub const fn station() -> EthernetAddress {
        HOST_STATION
    }

    /// What the server's kernel counts.
    ///
    /// # Errors
    /// Where the namespace cannot be entered.
    pub fn counters(&self) -> Result<Counters, String> {
        in_network_namespace(Some(self.server.name()), Counters::open).map_err(text)
    }

    /// The client listens; for [`take`].
    ///
    /// # Errors
    /// What the operating system says.
    pub fn listen(&self) -> Result<TcpListener, String> {
        let address = SocketAddrV4::new(self.mobile, PORT);
        in_network_namespace(Some(self.client.name()), || TcpListener::bind(address)).map_err(text)
    }

    /// The server's socket with its congestion control, not yet connected; for [`give`].
    ///
    /// # Errors
    /// What the operating system says.
    pub fn socket(&self, tcp: Tcp) -> Result<Socket, String> {
        let open = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_tcp_congestion(tcp.algorithm().as_bytes())?;
            Ok(socket)
        };
        let opened = in_network_namespace(Some(self.server.name()), open);
        opened.map_err(|error| format!("congestion control {}: {error}", tcp.algorithm()))
    }

    /// The server connects to the client and sends without end, until `over` is set.
    ///
    /// # Errors
    /// A sentence: the connection could not be opened, or has broken.
    pub fn give(&self, socket: Socket, over: &AtomicBool) -> Result<(), String> {
        if !connect(&socket, SocketAddrV4::new(self.mobile, PORT), over)? {
            return Ok(());
        }
        let mut socket = TcpStream::from(socket);
        socket.set_write_timeout(Some(LOOK_EVERY)).map_err(text)?;
        let mut written = 0_u64;
        let mut part: Vec<u8> = Vec::with_capacity(PART);
        while !over.load(Relaxed) {
            let len = part.len() as u64;
            part.extend((written + len..written + PART as u64).map(octet_at));
            match socket.write(&part) {
                Ok(count) => {
                    written += count as u64;
                    drop(part.drain(..count.min(part.len())));
                }
                Err(error) if waits(&error) => {}
                Err(error) => return Err(format!("sending: {error}")),
            }
        }
        Ok(())
    }
}

/// Opens the connection; false where `over` was set before.
fn connect(socket: &Socket, to: SocketAddrV4, over: &AtomicBool) -> Result<bool, String> {
    let failed = |error: std::io::Error| format!("connecting: {error}");
    socket.set_nonblocking(true).map_err(failed)?;
    match socket.connect(&to.into()) {
        Err(error) if error.raw_os_error() != Some(IN_PROGRESS) => return Err(failed(error)),
        _ => {}
    }
    let until = Instant::now() + WITHIN;
    while socket.peer_addr().is_err() {
        if let Some(error) = socket.take_error().map_err(failed)? {
            return Err(failed(error));
        }
        if over.load(Relaxed) {
            return Ok(false);
        }
        if Instant::now() > until {
            return Err(format!("connecting: no answer within {} s", WITHIN.as_secs()));
        }
        std::thread::sleep(CONNECTS_EVERY);
    }
    socket.set_nonblocking(false).map_err(failed)?;
    Ok(true)
}

/// Takes the stream of one connection until `over` is set and nothing more comes. How many octets came in order.
///
/// # Errors
/// A sentence: the stream was damaged, or has broken.
pub fn take(listener: &TcpListener, over: &AtomicBool) -> Result<u64, String> {
    listener.set_nonblocking(true).map_err(text)?;
    let mut socket = loop {
        match listener.accept() {
            Ok((socket, _)) => break socket,
            Err(_) if over.load(Relaxed) => return Ok(0),
            Err(error) if waits(&error) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(format!("accepting: {error}")),
        }
    };
    socket.set_nonblocking(false).map_err(text)?;
    socket.set_read_timeout(Some(LOOK_EVERY)).map_err(text)?;
    let (mut total, mut buffer) = (0, vec![0; PART]);
    loop {
        let is_over = over.load(Relaxed);
        match socket.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(count) => {
                let came = buffer.get(..count).unwrap_or_default();
                if (total..).zip(came).any(|(place, octet)| octet_at(place) != *octet) {
                    return Err("the stream was damaged".to_owned());
                }
                total += count as u64;
            }
            Err(error) if waits(&error) && is_over => return Ok(total),
            Err(error) if waits(&error) => {}
            Err(error) => return Err(format!("receiving: {error}")),
        }
    }
}

fn waits(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Nobody there sends but the connection: devices that come have no IPv6.
///
/// # Errors
/// What the operating system says.
pub fn be_quiet(namespace: &Namespace) -> Result<(), String> {
    const SETTING: &str = "/proc/sys/net/ipv6/conf/default/disable_ipv6";
    let set = || match std::fs::write(SETTING, "1") {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    };
    in_network_namespace(Some(namespace.name()), set).map_err(|error| format!("{SETTING}: {error}"))
}

/// A device from a host to the worlds, which takes one segment at a time.
fn join(
    host: &Namespace,
    worlds: &Namespace,
    device: &str,
    own: Ipv4Addr,
    other: Ipv4Addr,
) -> Result<(), TestbedError> {
    let [mac, peer_mac] = [HOST_STATION, WORLD_STATION].map(|station| station.to_string());
    let (own, other) = (own.to_string(), other.to_string());
    host.ip(&[
        "link",
        "add",
        "gi",
        "address",
        &mac,
        "type",
        "veth",
        "peer",
        "name",
        device,
        "address",
        &peer_mac,
        "netns",
        worlds.name(),
    ])?;
    host.ip(&["link", "set", "gi", "gso_max_segs", "1", "up"])?;
    worlds.ip(&["link", "set", device, "up"])?;
    host.ip(&["address", "add", &own, "dev", "gi"])?;
    host.ip(&["route", "add", &other, "dev", "gi"])?;
    host.ip(&["neighbour", "add", &other, "lladdr", &peer_mac, "dev", "gi"])
}

/// Puts the calling thread into a namespace.
///
/// # Errors
/// Without the right to it.
pub fn enter(namespace: &Namespace) -> Result<(), String> {
    NetworkNamespace::named(namespace.name()).and_then(|namespace| namespace.enter()).map_err(text)
}

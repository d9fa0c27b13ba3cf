//! What forwarding costs: a load from one side, a sink at the other that counts, and the processor time between them.
//!
//! What forwards has a core to itself, and the threads of the kernel that receive for its devices are on it too. Sender and sink
//! are on another one.

use crate::testbed::{Namespace, Process};
use gannet_demux::bpf::{Attachment, Loader, Object, XdpMode};
use gannet_machine::frame::FramePool;
use gannet_rig::{Datagrams, NetworkNamespace};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The core of what forwards and of all that its devices receive.
pub const FORWARDER_CORE: &str = "0";
/// The core of sender and sink.
pub const OUTER_CORE: &str = "1";
const OUTER: usize = 1;
/// Where nothing more arrives for so long, what was sent has arrived or is lost.
const QUIET: Duration = Duration::from_millis(50);
const QUIET_WITHIN: Duration = Duration::from_secs(5);
/// Datagrams of one call of the sender: a quarter of the ring between a pair of veth devices.
const BATCH: u32 = 64;
/// What the sender is late by is made up for to this extent; the rest is not sent.
const LATE_MAX: u64 = 256;

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// Does something on a thread that is in a network namespace, on the core of sender and sink.
///
/// # Errors
/// What the work says, or that the thread cannot get there.
pub fn inside<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, String> {
    let there = || {
        NetworkNamespace::named(namespace).and_then(|namespace| namespace.enter()).map_err(text)?;
        gannet_rt::pin_to_core(OUTER).map_err(text)?;
        work()
    };
    let result = std::thread::scope(|scope| scope.spawn(there).join());
    result.unwrap_or_else(|_| Err("a thread of the load has failed".to_owned()))
}

/// Packets that a sink counts: UDP to a port, as they are or in G-PDUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    /// They come in G-PDUs.
    pub tunnelled: bool,
    /// The UDP port that they go to.
    pub port: u16,
    /// Their octets, with IP's header.
    pub octets: u16,
}

/// A program at the driver of a device, which counts packets and drops them.
#[derive(Debug)]
pub struct Sink {
    object: Object,
    _attachment: Attachment,
}

impl Sink {
    /// Attaches it to the device of this name in the network namespace of the calling thread.
    ///
    /// # Errors
    /// What the kernel does not permit.
    pub fn attach(device: &str, counted: Counted) -> Result<Self, String> {
        let index = gannet_demux::link::index(device).map_err(|error| format!("{device}: {error}"))?;
        let loader = Loader::new(&gannet_rig::objects::COUNT);
        let mut object = loader
            .global("tunnelled", &[u8::from(counted.tunnelled)])
            .global("port", &counted.port.to_ne_bytes())
            .global("octets", &counted.octets.to_ne_bytes())
            .load()
            .map_err(text)?;
        let attachment = object.attach_xdp("count", index, XdpMode::Native).map_err(text)?;
        Ok(Self { object, _attachment: attachment })
    }

    /// Packets that have arrived so far.
    ///
    /// # Errors
    /// That of the kernel.
    pub fn count(&self) -> Result<u64, String> {
        self.object.array_value("counted", 0).map_err(text)
    }
}

/// Datagrams that are sent again and again in their order.
#[derive(Debug)]
pub struct Load {
    /// The sender's address.
    pub from: SocketAddr,
    /// Where each goes, and its octets.
    pub datagrams: Vec<(SocketAddr, Vec<u8>)>,
}

impl Load {
    /// Sends at a rate for a time, in the network namespace of the calling thread; says how many were sent. Of what is
    /// late by more than some batches nothing is sent later.
    ///
    /// # Errors
    /// That of the socket, or that the person has interrupted it.
    pub fn send(&self, pps: f64, lasting: Duration, stop: &AtomicBool) -> Result<u64, String> {
        let socket = UdpSocket::bind(self.from).map_err(|error| format!("{}: {error}", self.from))?;
        let frames = FramePool::new(BATCH as usize);
        let gap_ns = Duration::from_secs_f64(1.0 / pps).as_nanos().max(1);
        let (mut datagrams, mut waiting) = (Datagrams::default(), VecDeque::new());
        let (mut sent, mut missed) = (0_u64, 0_u64);
        let mut next = self.datagrams.iter().cycle();
        let begun = Instant::now();
        while begun.elapsed() < lasting {
            if stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            let due = u64::try_from(begun.elapsed().as_nanos() / gap_ns).unwrap_or(u64::MAX);
            let late = due.saturating_sub(sent + missed);
            missed += late.saturating_sub(LATE_MAX);
            if late == 0 {
                std::thread::sleep(Duration::from_micros(20));
                continue;
            }
            let many = late.min(BATCH.into());
            for _ in 0..many {
                let Some((to, octets)) = next.next() else { return Err("no datagram".to_owned()) };
                waiting.extend(frames.copy_of(octets).map(|frame| (*to, frame)));
            }
            match datagrams.send(&socket, &mut waiting) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(text(error)),
                _ => sent += many.saturating_sub(waiting.len() as u64),
            }
            waiting.clear();
        }
        Ok(sent)
    }
}

/// What one load came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Packets sent.
    pub offered: u64,
    /// Packets that have arrived at the other end.
    pub delivered: u64,
    /// How long they were sent.
    pub lasting: Duration,
    /// Processor time of the process that forwards, and of the threads that receive for its devices.
    pub process: Duration,
    /// See `process`.
    pub receiving: Duration,
}

impl Measured {
    /// Packets delivered by second of processor time; not a number where nothing was delivered or no time was spent.
    #[must_use]
    pub fn per_cpu_second(&self) -> f64 {
        let spent = (self.process + self.receiving).as_secs_f64();
        if self.delivered == 0 || spent <= 0.0 { f64::NAN } else { self.delivered as f64 / spent }
    }

    /// Packets delivered a second.
    #[must_use]
    pub fn pps(&self) -> f64 {
        self.delivered as f64 / self.lasting.as_secs_f64()
    }

    /// The part that was lost, 0 to 1.
    #[must_use]
    pub fn lost(&self) -> f64 {
        1.0 - self.delivered as f64 / self.offered as f64
    }

    /// Processor time by packet, in ns; not a number where nothing was delivered.
    #[must_use]
    pub fn ns(&self) -> f64 {
        1e9 / self.per_cpu_second()
    }
}

/// Whose processor time counts: the process that forwards, where one does, and the threads of the kernel that receive for it.
#[derive(Debug)]
pub struct Spenders {
    /// The kernel's threads.
    pub receivers: Vec<u32>,
}

impl Spenders {
    /// Has a load sent in a namespace, which takes a time and gives a number of packets, waits until all has arrived at a sink, and
    /// says what came of it.
    ///
    /// # Errors
    /// A sentence: what has ended, or that the person has interrupted it.
    pub fn measure(
        &self,
        mut process: Option<&mut Process>,
        (from, sink): (&str, &Sink),
        (lasting, send): (Duration, impl FnOnce() -> Result<u64, String> + Send),
        stop: &AtomicBool,
    ) -> Result<Measured, String> {
        let pid = process.as_deref().map(Process::pid);
        let of_process = || pid.map_or(Ok(Duration::ZERO), |pid| gannet_rig::cpu_time_of(pid).map_err(text));
        let of_receivers = || -> Result<Duration, String> {
            self.receivers.iter().map(|thread| gannet_rig::cpu_time_of(*thread).map_err(text)).sum()
        };
        let (count, spent, receiving) = (sink.count()?, of_process()?, of_receivers()?);
        let offered = inside(from, send)?;
        let arrived = when_quiet(sink, stop)?;
        let measured = Measured {
            offered,
            delivered: arrived.saturating_sub(count),
            lasting,
            process: of_process()?.saturating_sub(spent),
            receiving: of_receivers()?.saturating_sub(receiving),
        };
        if let Some(process) = &mut process {
            process.check().map_err(text)?;
        }
        Ok(measured)
    }
}

/// The count of a sink that does not change any more.
fn when_quiet(sink: &Sink, stop: &AtomicBool) -> Result<u64, String> {
    let until = Instant::now() + QUIET_WITHIN;
    let mut count = sink.count()?;
    while Instant::now() < until && !stop.load(Relaxed) {
        std::thread::sleep(QUIET);
        let now = sink.count()?;
        if now == count {
            return Ok(now);
        }
        count = now;
    }
    Err("packets still arrive although none is sent, or the run was interrupted".to_owned())
}

/// Has a thread of the kernel receive for a veth device, on one core, and says which. Else the core that sends would
/// also receive, in the time of whoever has sent. The sender finishes its checksums, as a network card would.
///
/// # Errors
/// A sentence: a device or a program that is not there.
pub fn receive_by_thread(namespace: &Namespace, device: &str, core: &str) -> Result<u32, String> {
    namespace.output_of("ethtool", &["-K", device, "gro", "on", "tx", "off"]).map_err(text)?;
    let threaded = format!("echo 1 > /sys/class/net/{device}/threaded");
    namespace.output_of("sh", &["-c", &threaded]).map_err(text)?;
    let thread = kernel_thread(device)?;
    namespace.output_of("taskset", &["-p", "-c", core, &thread.to_string()]).map_err(text)?;
    Ok(thread)
}

/// The thread that receives for a device: its name has the device's.
fn kernel_thread(device: &str) -> Result<u32, String> {
    let prefix = format!("napi/{device}-");
    let processes = std::fs::read_dir("/proc").map_err(text)?.flatten();
    let found = processes.filter_map(|entry| {
        let name = std::fs::read_to_string(entry.path().join("comm")).ok()?;
        name.starts_with(&prefix).then(|| entry.file_name().to_str()?.parse().ok())?
    });
    match found.collect::<Vec<u32>>().as_slice() {
        [thread] => Ok(*thread),
        all => Err(format!("{} threads receive for {device} where one was to", all.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_that_of_process_and_receivers() {
        let (process, receiving) = (Duration::from_millis(150), Duration::from_millis(50));
        let lasting = Duration::from_secs(2);
        let measured = Measured { offered: 1000, delivered: 800, lasting, process, receiving };
        assert_eq!((measured.per_cpu_second(), measured.pps()), (4000.0, 400.0));
        assert!((measured.lost() - 0.2).abs() < 1e-9);
        assert!((measured.ns() - 250_000.0).abs() < 1e-6);
        assert!(Measured { delivered: 0, ..measured }.per_cpu_second().is_nan());
    }
}

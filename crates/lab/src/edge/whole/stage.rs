//! A forwarder between two hosts, each in a network namespace of its own.

use super::sender::{Packets, Sender};
use crate::forwarding::{
    Counted, FORWARDER_CORE, Measured, OUTER_CORE, Sink, Spenders, inside, receive_by_thread,
};
use crate::testbed::{self, Namespace, Process};
use core::net::Ipv4Addr;
use gannet_demux::bpf::{Attachment, Loader, Object, XdpMode};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Octets of UDP's payload in each packet, and of the whole packet.
pub const PAYLOAD: u16 = 200;
const PACKET: u16 = PAYLOAD + 28;
const PORT: u16 = 7007;
const NEAR: Ipv4Addr = Ipv4Addr::new(198, 18, 1, 1);
/// Destinations are behind the far host, in the other half of the network for measurements (RFC 2544).
const DESTINATIONS: &str = "198.19.0.0/16";
const FAR: &str = "198.18.2.1";
/// The rate of an interface with queues that never fill, in kbit/s, and what its streams reserve together.
const RATE_KBPS: u32 = 10_000_000;
const RESERVED_KBPS: u32 = 4_000_000;
/// Octets of each pool.
const POOL: u32 = 1_000_000;
/// Streams that an interface of the router may have are a few more.
const STREAMS_MAX: u32 = 4000;
/// Where the router's VTY is.
const VTY: &str = "127.0.0.1:4297";
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How fast neighbours, caches and the fast path are filled, in 1/s.
const WARM_PPS: f64 = 10_000.0;

/// What forwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwards {
    /// `gannet edge`.
    Edge {
        /// Its interface has a rate, and so queues.
        queues: bool,
        /// Flows that its fast path may remember, where not as many as it has by itself.
        flows: Option<u32>,
        /// How its packets come and leave.
        by: By,
    },
    /// The kernel; with HTB of two classes where it is so.
    Kernel {
        /// Two classes with pfifo that never fill.
        htb: bool,
    },
    /// A program at the driver with `XDP_REDIRECT`.
    Driver,
}

/// How packets come to `gannet edge` and leave it. Fixed, so that results of two machines are of the same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// By packet sockets.
    Sockets,
    /// By `AF_XDP`, on both interfaces; it does not start where one of them refuses that.
    Rings,
}

impl By {
    /// In the words of its configuration.
    const fn word(self) -> &'static str {
        match self {
            Self::Sockets => "socket",
            Self::Rings => "xdp",
        }
    }
}

impl Forwards {
    /// Not every machine can: it has no HTB, or its devices refuse `AF_XDP`.
    pub const fn may_be_missing(self) -> bool {
        matches!(self, Self::Kernel { htb: true } | Self::Edge { by: By::Rings, .. })
    }
}

/// A forwarder that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// For a person, and for files.
    pub name: &'static str,
    /// What forwards.
    pub forwards: Forwards,
    /// Destinations, each with a rule and a stream of its own in `gannet edge`.
    pub destinations: u32,
}

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// The destination of a number.
fn destination(number: u32) -> Ipv4Addr {
    let [.., high, low] = (number + 1).to_be_bytes();
    Ipv4Addr::new(198, 19, high, low)
}

/// The configuration of `gannet edge`: streams of the services as in figure 6, each with its rule.
fn edge_config(candidate: &Candidate, [lan, wan]: [&str; 2]) -> String {
    let (queues, flows, by) = match candidate.forwards {
        Forwards::Edge { queues, flows, by } => (queues, flows, by),
        _ => (false, None, By::Sockets),
    };
    let mut lines =
        vec!["log stderr".to_owned(), " logging level set-all notice".to_owned(), "edge".to_owned()];
    lines.push(format!(" user-plane {}", by.word()));
    lines.extend(flows.map(|flows| format!(" flows {flows}")));
    lines.extend([format!(" interface {lan}"), format!(" interface {wan}")]);
    let streams = candidate.destinations.min(STREAMS_MAX);
    if queues {
        lines.extend([
            format!("  rate {RATE_KBPS}"),
            format!("  pool ef {POOL}"),
            format!("  pool af {POOL}"),
        ]);
        let rate = RESERVED_KBPS / streams;
        // Of two ninths of the streams, and no more than the pool has beside what the rates are given.
        let burst = (POOL / 3 * 9 / 2 / streams).min(100_000);
        lines.extend((0..streams).map(|stream| match stream % 9 {
            0 | 1 => format!("  stream s{stream} ef rate {rate} burst {burst}"),
            2..=5 => format!("  stream s{stream} af rate {rate}"),
            _ => format!("  stream s{stream} be rate 0"),
        }));
    }
    lines.extend((0..candidate.destinations).map(|number| {
        let outcome = if queues { format!("stream s{}", number % streams) } else { "best-effort".to_owned() };
        format!(" rule {} to {}/32 {outcome}", number + 1, destination(number))
    }));
    lines.extend(["line vty", " no login", ""].map(str::to_owned));
    lines.join("\n")
}

/// One forwarder and the hosts beside it.
#[derive(Debug)]
pub struct Stage {
    sender: Sender,
    spenders: Spenders,
    sink: Sink,
    _driver: Option<(Attachment, Object)>,
    // The process ends before the namespaces go: fields are dropped in this order.
    process: Option<Process>,
    near: Namespace,
    router: Namespace,
    _far: Namespace,
}

impl Stage {
    /// Starts it. `number` tells its devices from those of the other stages.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn start(
        candidate: &Candidate,
        number: usize,
        out: &Path,
        stop: &AtomicBool,
    ) -> Result<Self, String> {
        let directory = out.join(format!("edge-{}", candidate.name));
        std::fs::create_dir_all(&directory).map_err(text)?;
        let directory = directory.canonicalize().map_err(text)?;
        let namespace = |part: &str| Namespace::new(&format!("edge-{number}-{part}")).map_err(text);
        let (near, router, far) = (namespace("near")?, namespace("router")?, namespace("far")?);
        // The kernel's threads have the devices' names, so no other run may have the same.
        let device = |part: char| format!("{part}{number}{:x}", std::process::id());
        let [near_device, lan, wan, far_device] = ['n', 'l', 'w', 'f'].map(device);
        let near_prefix = format!("{NEAR}/24");
        testbed::join((&near, &near_device, &near_prefix), (&router, &lan, "198.18.1.2/24")).map_err(text)?;
        testbed::join((&router, &wan, "198.18.2.2/24"), (&far, &far_device, &format!("{FAR}/24")))
            .map_err(text)?;
        near.ip(&["route", "add", "default", "via", "198.18.1.2"]).map_err(text)?;
        router.ip(&["route", "add", DESTINATIONS, "via", FAR]).map_err(text)?;
        router.enable_forwarding().map_err(text)?;
        let mut receivers = Vec::new();
        for (namespace, device, core) in [
            (&router, &lan, FORWARDER_CORE),
            (&router, &wan, FORWARDER_CORE),
            (&near, &near_device, OUTER_CORE),
            (&far, &far_device, OUTER_CORE),
        ] {
            let thread = receive_by_thread(namespace, device, core)?;
            receivers.extend((core == FORWARDER_CORE).then_some(thread));
        }
        let counted = Counted { tunnelled: false, port: PORT, octets: PACKET };
        let sink = inside(far.name(), || Sink::attach(&far_device, counted))?;
        let station = router.output_of("cat", &[&format!("/sys/class/net/{lan}/address")]).map_err(text)?;
        let packets = Packets {
            device: &near_device,
            station: crate::ed::bed::parse_ethernet(station.trim()).ok_or("no Ethernet address")?,
            port: PORT,
            from: NEAR,
            first: destination(0),
            destinations: candidate.destinations,
            payload: PAYLOAD,
        };
        let sender = inside(near.name(), || Sender::open(&packets))?;
        let mut stage = Self {
            sender,
            spenders: Spenders { receivers },
            sink,
            _driver: None,
            process: None,
            near,
            router,
            _far: far,
        };
        stage.forward(candidate, &directory, [&lan, &wan], stop)?;
        stage.warm(candidate, stop)?;
        Ok(stage)
    }

    fn forward(
        &mut self,
        candidate: &Candidate,
        directory: &Path,
        devices: [&str; 2],
        stop: &AtomicBool,
    ) -> Result<(), String> {
        let [lan, wan] = devices;
        match candidate.forwards {
            Forwards::Edge { .. } => {
                let config: PathBuf = directory.join("edge.cfg");
                std::fs::write(&config, edge_config(candidate, devices)).map_err(text)?;
                let mut command = self.router.command(Path::new("taskset"));
                command.args(["-c", FORWARDER_CORE]).arg(std::env::current_exe().map_err(text)?);
                command.args(["edge", "-c"]).arg(config).current_dir(directory);
                let log = directory.join("edge.log");
                self.process = Some(Process::start("gannet edge", &mut command, &log).map_err(text)?);
                let until = Instant::now() + ANSWERS_WITHIN;
                while self.classified().is_err() {
                    self.process.as_mut().map_or(Ok(()), Process::check).map_err(text)?;
                    if stop.load(Relaxed) || Instant::now() > until {
                        return Err("gannet edge does not answer".to_owned());
                    }
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
            Forwards::Kernel { htb: false } => {}
            Forwards::Kernel { htb: true } => {
                self.router.output_of("sh", &["-e", "-c", &htb_commands(wan)]).map_err(text)?;
            }
            Forwards::Driver => {
                let attach = || {
                    let index = gannet_demux::link::index(lan).map_err(|error| format!("{lan}: {error}"))?;
                    let mut object = Loader::new(&gannet_rig::objects::FORWARD).load().map_err(text)?;
                    let attachment = object.attach_xdp("forward", index, XdpMode::Native).map_err(text)?;
                    Ok((attachment, object))
                };
                self._driver = Some(inside(self.router.name(), attach)?);
            }
        }
        Ok(())
    }

    /// Everything has come once: neighbours are known, and the fast path is full.
    fn warm(&mut self, candidate: &Candidate, stop: &AtomicBool) -> Result<(), String> {
        let lasting = Duration::from_secs_f64((2.0 * f64::from(candidate.destinations) / WARM_PPS).max(0.5));
        self.measure(WARM_PPS, lasting, stop)?;
        let Measured { offered, delivered, .. } = self.measure(WARM_PPS, lasting, stop)?;
        if delivered < offered / 2 {
            return Err(format!("{delivered} of {offered} packets have arrived at {WARM_PPS} a second"));
        }
        Ok(())
    }

    /// Sends at a rate for a time, and says what came of it.
    ///
    /// # Errors
    /// A sentence: what has ended, or that the person has interrupted it.
    pub fn measure(&mut self, pps: f64, lasting: Duration, stop: &AtomicBool) -> Result<Measured, String> {
        let sender = &self.sender;
        let send = || sender.send(pps, lasting, stop);
        self.spenders.measure(self.process.as_mut(), (self.near.name(), &self.sink), (lasting, send), stop)
    }

    /// Packets of `gannet edge` by the fast path and by the rules so far; nothing of another forwarder.
    ///
    /// # Errors
    /// That it does not answer, or what it answers instead.
    pub fn classified(&self) -> Result<Option<[u64; 2]>, String> {
        if self.process.is_none() {
            return Ok(None);
        }
        let program = std::env::current_exe().map_err(text)?.to_string_lossy().into_owned();
        let said = self.router.output_of(&program, &["vty", VTY, "show edge"]).map_err(text)?;
        read_classified(&said).map(Some).ok_or_else(|| format!("what gannet edge says is not known: {said}"))
    }
}

/// `Classifier: 12 by the fast path, 3 by the rules, ...`
fn read_classified(said: &str) -> Option<[u64; 2]> {
    let line = said.lines().find_map(|line| line.strip_prefix("Classifier: "))?;
    let (fast, rest) = line.split_once(" by the fast path, ")?;
    let (slow, _) = rest.split_once(" by the rules")?;
    Some([fast.parse().ok()?, slow.parse().ok()?])
}

/// Two classes that share a line which is never full; every second destination is in the first.
fn htb_commands(device: &str) -> String {
    let class = |id: &str, parent: &str, rate: &str| {
        format!(
            "tc class add dev {device} parent {parent} classid {id} htb rate {rate} ceil 10gbit quantum 60000"
        )
    };
    let mut lines = vec![
        format!("tc qdisc add dev {device} root handle 1: htb default 20"),
        class("1:1", "1:", "10gbit"),
        class("1:10", "1:1", "1gbit"),
        class("1:20", "1:1", "9gbit"),
    ];
    lines.extend(
        [10, 20].map(|id| format!("tc qdisc add dev {device} parent 1:{id} handle {id}: pfifo limit 10000")),
    );
    // The last octet of the destination is odd.
    lines.push(format!(
        "tc filter add dev {device} parent 1: protocol ip prio 1 u32 match u32 0x00000001 0x00000001 at 16 flowid 1:10"
    ));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_destination_has_its_rule_and_a_stream_that_is_there() {
        let queues = Forwards::Edge { queues: true, flows: None, by: By::Rings };
        for destinations in [9, 10, 4000, 10_000] {
            let candidate = Candidate { name: "edge", forwards: queues, destinations };
            let config = edge_config(&candidate, ["lan", "wan"]);
            assert_eq!(config.matches("\n rule ").count(), destinations as usize);
            assert_eq!(config.matches("\n user-plane xdp\n").count(), 1);
            let streams: Vec<&str> =
                config.lines().filter_map(|line| line.strip_prefix("  stream ")?.split(' ').next()).collect();
            assert_eq!(streams.len(), destinations.min(STREAMS_MAX) as usize);
            assert!(config.lines().filter(|line| line.starts_with(" rule")).all(|line| {
                streams.last().is_some() && line.rsplit(' ').next().is_some_and(|of| of.starts_with('s'))
            }));
        }
        let small = Candidate {
            name: "slow",
            forwards: Forwards::Edge { queues: false, flows: Some(2), by: By::Sockets },
            destinations: 9,
        };
        let config = edge_config(&small, ["lan", "wan"]);
        assert!(config.contains("\n user-plane socket\n flows 2\n") && !config.contains("rate"), "{config}");
        assert!(config.contains("\n rule 9 to 198.19.0.9/32 best-effort\n"), "{config}");
    }

    #[test]
    fn destinations_differ_and_the_routers_words_are_read() {
        assert_eq!(destination(0), Ipv4Addr::new(198, 19, 0, 1));
        assert_eq!(destination(9_999), Ipv4Addr::new(198, 19, 39, 16));
        let said =
            "Packets: 1 arrived\nClassifier: 12 by the fast path, 3 by the rules, 0 flows put out; 9 rules\n";
        assert_eq!(read_classified(said), Some([12, 3]));
        assert_eq!(read_classified("Packets: 1 arrived\n"), None);
    }
}

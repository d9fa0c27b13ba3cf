//! Two hosts, what forwards between them, and the emulated line behind it: each in a network namespace of its own.
//!
//! ```text
//! near ── lan [router] wan ── m-near [line] m-far ── far
//! ```
//!
//! All arms use the same namespaces and the same line, one after the other. A GGSN is a router whose line is Gn: `far` is the SGSN
//! then, and the streams go to mobiles.

use super::super::link::Plan;
use super::super::scenario::{LINK_KBPS, STREAMS};
use super::arms::{
    Arm, EDGE_KBPS, Forwards, HTB_KBPS, OVERHEAD, TUNNEL, edge_config, ggsn_config, htb_commands,
};
use super::flows::{Arrival, Receiver, Sending, largest_us, send};
use crate::contexts::{self, Gn};
use crate::link::model::Profile;
use crate::link::{self, Account};
use crate::testbed::{self, Namespace, Process};
use core::net::Ipv4Addr;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use gannet_rig::NetworkNamespace;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The core of the router, and that of sender, line and far end.
const ROUTER_CORE: &str = "0";
const OUTER_CORE: usize = 1;
/// Where the router's VTY is.
const VTY: &str = "127.0.0.1:4297";
const GGSN_VTY: &str = "127.0.0.1:4260";
/// How long it may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(20);
const FAR: Ipv4Addr = Ipv4Addr::new(198, 18, 2, 1);
/// The router's address on the line.
const WAN: Ipv4Addr = Ipv4Addr::new(198, 18, 2, 2);
/// Frames that may be on the line.
const FRAMES: usize = 4096;

fn text(error: impl core::fmt::Display) -> String {
    error.to_string()
}

/// What a run has given.
#[derive(Debug)]
pub struct Passed {
    /// What arrived.
    pub arrivals: Vec<Arrival>,
    /// How well the line was emulated.
    pub line: Line,
    /// By how much the latest packet was sent too late, in µs.
    pub sent_late_us: f64,
}

/// How well the line was emulated in a run, from near to far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// By which part sending took too long; not a number where no frames followed each other.
    pub rate_error: f64,
    /// How late frames were, in µs: half of them, and 99 %.
    pub late_us: [f64; 2],
    /// Whether it could preempt others.
    pub preempting: bool,
}

impl Line {
    fn of(account: &Account) -> Result<Self, String> {
        let [there, _] = &account.results;
        if there.unfit + there.missed + there.unsent > 0 {
            return Err(format!("the line has not taken or not given all frames:\n{account}"));
        }
        let late =
            |share| there.accuracy.quantile(share).map_or(f64::INFINITY, |late| late.as_secs_f64() * 1e6);
        Ok(Self {
            rate_error: there.accuracy.rate_error().map_or(f64::NAN, |(error, _)| error),
            late_us: [late(0.5), late(0.99)],
            preempting: account.preempting,
        })
    }
}

/// What forwards now; it ends with this.
#[derive(Debug)]
enum Forwarder<'a> {
    Ours(Box<Process>),
    Htb(&'a Namespace),
}

impl Forwarder<'_> {
    fn check(&mut self) -> Result<(), String> {
        match self {
            Self::Ours(process) => process.check().map_err(text),
            Self::Htb(_) => Ok(()),
        }
    }
}

impl Drop for Forwarder<'_> {
    fn drop(&mut self) {
        if let Self::Htb(router) = self {
            // It goes with the namespace else.
            let _ = router.run("tc", &["qdisc", "delete", "dev", "wan", "root"]);
        }
    }
}

/// The namespaces.
#[derive(Debug)]
pub struct Bed {
    near: Namespace,
    router: Namespace,
    middle: Namespace,
    far: Namespace,
    directory: PathBuf,
}

/// A device: its namespace, name, Ethernet address and address.
type End<'a> = (&'a Namespace, &'a str, &'a str, Option<&'a str>);

impl Bed {
    /// Makes them.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn new(out: &Path) -> Result<Self, String> {
        let directory = out.join("edge-real");
        std::fs::create_dir_all(&directory).map_err(text)?;
        let directory = directory.canonicalize().map_err(text)?;
        let namespace = |part: &str| Namespace::new(&format!("edge-{part}")).map_err(text);
        let bed = Self {
            near: namespace("near")?,
            router: namespace("router")?,
            middle: namespace("line")?,
            far: namespace("far")?,
            directory,
        };
        bed.join().map_err(text)?;
        Ok(bed)
    }

    fn join(&self) -> Result<(), testbed::TestbedError> {
        const MACS: [&str; 4] =
            ["02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03", "02:00:00:00:00:04"];
        let [near, lan, wan, far] = MACS;
        // Nobody but the streams sends: no IPv6, and no question for an Ethernet address.
        for namespace in [&self.near, &self.router, &self.middle, &self.far] {
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6";
            namespace.output_of("sh", &["-c", &format!("test ! -e /proc/sys/net/ipv6 || {quiet}")])?;
        }
        pair(
            (&self.near, "near", near, Some("198.18.1.1/24")),
            (&self.router, "lan", lan, Some("198.18.1.2/24")),
        )?;
        let (line_near, line_far) = ("02:00:00:00:00:05", "02:00:00:00:00:06");
        pair((&self.router, "wan", wan, Some("198.18.2.2/24")), (&self.middle, "m-near", line_near, None))?;
        pair((&self.far, "far", far, Some("198.18.2.1/24")), (&self.middle, "m-far", line_far, None))?;
        // G-PDUs that leave in one go are one message to the kernel, which hands a veth one frame of them. The line takes frames.
        self.router.ip(&["link", "set", "wan", "gso_max_segs", "1"])?;
        for (namespace, device, gateway, mac) in
            [(&self.near, "near", "198.18.1.2", lan), (&self.far, "far", "198.18.2.2", wan)]
        {
            namespace.ip(&["neighbour", "add", gateway, "lladdr", mac, "dev", device])?;
            namespace.ip(&["route", "add", "default", "via", gateway])?;
        }
        self.router.ip(&["neighbour", "add", "198.18.1.1", "lladdr", near, "dev", "lan"])?;
        self.router.ip(&["neighbour", "add", &FAR.to_string(), "lladdr", far, "dev", "wan"])?;
        self.router.enable_forwarding()
    }

    /// Starts a program of ours and waits until its VTY answers.
    fn start_ours(
        &self,
        arm: &Arm,
        (name, vty): (&str, &str),
        config: &str,
        stop: &AtomicBool,
    ) -> Result<Forwarder<'_>, String> {
        let file = self.directory.join(format!("{}.cfg", arm.name));
        std::fs::write(&file, config).map_err(text)?;
        let program = std::env::current_exe().map_err(text)?;
        let mut command = self.router.command(Path::new("taskset"));
        command.args(["-c", ROUTER_CORE]).arg(&program).args([name, "-c"]).arg(&file);
        let log = self.directory.join(format!("{}.log", arm.name));
        let mut process = Process::start(&format!("gannet {name}"), &mut command, &log).map_err(text)?;
        let until = Instant::now() + ANSWERS_WITHIN;
        let program = program.to_string_lossy().into_owned();
        loop {
            let asked = self.router.run(&program, &["vty", vty, "show streams"]).map_err(text)?;
            process.check().map_err(text)?;
            if asked.status.success() {
                return Ok(Forwarder::Ours(Box::new(process)));
            }
            if stop.load(Relaxed) || Instant::now() > until {
                return Err(format!("gannet {name} does not answer"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Has an arm forward.
    fn start(&self, arm: &Arm, stop: &AtomicBool) -> Result<Forwarder<'_>, String> {
        match arm.forwards {
            Forwards::Edge(set_up) => self.start_ours(arm, ("edge", VTY), &edge_config(&set_up), stop),
            Forwards::Ggsn(set_up) => {
                let state = testbed::empty_directory(&self.directory.join(arm.name)).map_err(text)?;
                self.start_ours(arm, ("ggsn", GGSN_VTY), &ggsn_config(&set_up, WAN, &state), stop)
            }
            Forwards::Htb(arrangement) => {
                let forwarder = Forwarder::Htb(&self.router);
                let commands = htb_commands(arrangement);
                self.router.output_of("sh", &["-e", "-c", &commands]).map_err(text)?;
                Ok(forwarder)
            }
        }
    }

    /// Whether this machine has HTB with the classifiers that the arms need, or why not.
    ///
    /// # Errors
    /// What tc has said.
    pub fn has_htb(&self, arm: &Arm) -> Result<(), String> {
        self.start(arm, &AtomicBool::new(false)).map(drop)
    }

    /// Sends everything through an arm.
    ///
    /// # Errors
    /// A sentence for the person.
    pub fn pass(&self, arm: &Arm, sendings: &[Sending], stop: &AtomicBool) -> Result<Passed, String> {
        let mut forwarder = self.start(arm, stop)?;
        let (over, no_more) = (AtomicBool::new(false), AtomicBool::new(false));
        let rate = Some(u64::from(LINK_KBPS) * 1000);
        let profile = Profile { rate, overhead: arm.overhead_of_frames(), ..Profile::default() };
        let options = link::Options {
            between: ["m-near".to_owned(), "m-far".to_owned()],
            profiles: [profile; 2],
            shared: None,
            seed: 1,
            time: None,
            frames: FRAMES,
        };
        let (account, received, sent) = std::thread::scope(|scope| {
            let (told, ready) = mpsc::channel();
            let (told_too, over, no_more) = (told.clone(), &over, &no_more);
            let line = scope.spawn(|| {
                within(&self.middle, || {
                    link::run(&options, no_more, move || {
                        let _ = told.send(());
                    })
                })
            });
            let far = scope.spawn(move || {
                within(&self.far, || {
                    let mut receiver = Receiver::open("far")?;
                    let _ = told_too.send(());
                    drop(told_too);
                    receiver.receive(over)
                })
            });
            // Both are there, or one of them has ended and will say why.
            let both_are_there = ready.recv().and_then(|()| ready.recv()).is_ok();
            let sent = if both_are_there {
                let to = scope.spawn(|| within(&self.far, || destinations(arm, stop)));
                let to = to.join().unwrap_or_else(|_| Err("the SGSN has failed".to_owned()));
                to.and_then(|to| {
                    let near = scope.spawn(move || within(&self.near, || send(sendings, &to, stop)));
                    near.join().unwrap_or_else(|_| Err("the sender has failed".to_owned()))
                })
            } else {
                Err("line or far end is not there".to_owned())
            };
            over.store(true, Relaxed);
            let received = far.join().unwrap_or_else(|_| Err("the far end has failed".to_owned()));
            no_more.store(true, Relaxed);
            let account = line.join().unwrap_or_else(|_| Err("the line has failed".to_owned()));
            (account, received, sent)
        });
        forwarder.check()?;
        let (account, arrivals, latest) = (account?, received?, sent?);
        Ok(Passed { arrivals, line: Line::of(&account)?, sent_late_us: largest_us(&[latest]) })
    }
}

/// Where the streams of an arm go, by their places: to mobiles, whose contexts are made for it, or all to the far end. In the
/// namespace of the far end.
fn destinations(arm: &Arm, stop: &AtomicBool) -> Result<[Ipv4Addr; STREAMS.len()], String> {
    if !matches!(arm.forwards, Forwards::Ggsn(_)) {
        return Ok([FAR; STREAMS.len()]);
    }
    let count = u32::try_from(STREAMS.len()).unwrap_or(u32::MAX);
    let tunnels = contexts::create(count, Gn { sgsn: FAR, ggsn: WAN }, stop)?;
    let mobiles: Vec<Ipv4Addr> = tunnels.iter().map(|tunnel| tunnel.address).collect();
    mobiles.try_into().map_err(|_| "a stream has no mobile".to_owned())
}

/// Does something on the calling thread in a namespace, on the core of all but the router.
fn within<T>(namespace: &Namespace, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    NetworkNamespace::named(namespace.name()).and_then(|namespace| namespace.enter()).map_err(text)?;
    gannet_rt::pin_to_core(OUTER_CORE).map_err(text)?;
    work()
}

fn pair(left: End<'_>, right: End<'_>) -> Result<(), testbed::TestbedError> {
    let ((here, name, mac, _), (there, peer, its_mac, _)) = (left, right);
    here.ip(&[
        "link",
        "add",
        name,
        "address",
        mac,
        "type",
        "veth",
        "peer",
        "name",
        peer,
        "address",
        its_mac,
        "netns",
        there.name(),
    ])?;
    for (namespace, device, _, address) in [left, right] {
        namespace.ip(&["link", "set", device, "up"])?;
        if let Some(address) = address {
            namespace.ip(&["address", "add", address, "dev", device])?;
        }
    }
    Ok(())
}

/// For the parameters of a report.
pub fn set_up(plan: (Plan, u32), rounds: u32) -> Vec<(&'static str, String)> {
    let (Plan { warm_up, span }, sets) = plan;
    vec![
        (
            "line",
            format!(
                "{LINK_KBPS} kbit/s and 38 octets a packet, those of Ethernet, by the emulator of gannet lab link; {TUNNEL} more in \
                 edge-ef-90-gn, as many as Gn's IPv4, UDP and GTP with sequence numbers have in ggsn-ef-90"
            ),
        ),
        (
            "gannet edge",
            format!(
                "user-plane socket, rate {EDGE_KBPS}, overhead 38: half a per cent below the line's, so that what is sent early drains; reservations are \
                 told as they are on the line, with 38 octets a packet"
            ),
        ),
        (
            "gannet ggsn",
            format!(
                "user-plane tun, qos downlink with the same words, overhead {}: a PDP context and a subscriber group for each stream; \
                 the far end is the SGSN",
                OVERHEAD + TUNNEL
            ),
        ),
        ("HTB", format!("parent at {HTB_KBPS} kbit/s with the same 38 octets; quantum 1514, burst 1514")),
        (
            "runs of each arm",
            format!(
                "{rounds}, in turns, each of {sets} sets of phases of {:.1} s after {:.1} s",
                span.as_secs_f64(),
                warm_up.as_secs_f64()
            ),
        ),
        (
            "delay",
            format!(
                "from the sender's system call to the kernel's time stamp at the far end, of {} streams",
                STREAMS.len()
            ),
        ),
        (
            "cores",
            "the router on one; sender, line and far end on the other, the line before all others".to_owned(),
        ),
    ]
}

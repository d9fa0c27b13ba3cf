//! The testbed of one chain: two network namespaces, Gn and Gb between them, the SGSN's end on one core.
//!
//! ```text
//! namespace "load", core 1                      namespace "sgsn", core 0
//!   gn1 192.0.2.6  ── veth, MTU 2000 ──────────── 192.0.2.5 gn0
//!   gb1 192.0.2.1  ── veth, MTU 2000 ──────────── 192.0.2.2 gb0
//! ```
//!
//! By default a veth pair receives on the *sender's* core. Each end here has a NAPI of its own, which either the process
//! at that end polls, or a kernel thread on its core.

use crate::counters::parse_snmp;
use crate::measure::account::CoreTime;
use crate::testbed::{self, Namespace, TestbedError};
use gannet_demux::link::{self, Offload};
use gannet_rig::NetworkNamespace;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Core of the SGSN.
pub const SGSN_CORE: usize = 0;
/// Core of everything else.
pub const LOAD_CORE: usize = 1;

/// The load's end of Gb.
pub const GB_LOAD: &str = "192.0.2.1";
/// The SGSN's end of Gb.
pub const GB_SGSN: &str = "192.0.2.2";
/// The SGSN's end of Gn.
pub const GN_SGSN: &str = "192.0.2.5";
/// The load's end of Gn.
pub const GN_LOAD: &str = "192.0.2.6";
/// Where the SGSN hears NS.
pub const GB_PORT: u16 = 23_000;
/// How late a timer polls the SGSN's devices for a process that does not; see [`Bed::poll_late_at_sgsn`].
pub const POLLED_LATE_NS: u32 = 300_000;

/// The counter of datagrams that sockets of a namespace have read.
const READ_HERE: &str = "udp.InDatagrams";
/// The same of the load's namespace, where BSS and GGSN are.
pub const READ_BY_BSS: &str = "bss.udp.InDatagrams";

/// Who takes packets off the SGSN's devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receive {
    /// The SGSN itself, by busy polling.
    Process,
    /// A kernel thread for each device, on the SGSN's core.
    Threads,
}

/// Two namespaces and their links.
#[derive(Debug)]
pub struct Bed {
    load: Namespace,
    sgsn: Namespace,
    home: NetworkNamespace,
    there: NetworkNamespace,
    here: NetworkNamespace,
}

impl Bed {
    /// Makes them. `label` is part of their names.
    ///
    /// # Errors
    /// What could not be made: without root, or without `ip`.
    pub fn new(label: &str, receive: Receive) -> Result<Self, TestbedError> {
        let load = Namespace::new(&format!("{label}-load"))?;
        let sgsn = Namespace::new(&format!("{label}-sgsn"))?;
        for namespace in [&load, &sgsn] {
            let quiet = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6";
            // Where there is no IPv6 there is nothing to be kept quiet.
            let _ = namespace.run("sh", &["-c", quiet])?;
        }
        let prefixed = |address: &str| format!("{address}/30");
        testbed::join((&load, "gb1", &prefixed(GB_LOAD)), (&sgsn, "gb0", &prefixed(GB_SGSN)))?;
        testbed::join((&sgsn, "gn0", &prefixed(GN_SGSN)), (&load, "gn1", &prefixed(GN_LOAD)))?;
        let bed = Self {
            home: NetworkNamespace::current()?,
            there: NetworkNamespace::named(load.name())?,
            here: NetworkNamespace::named(sgsn.name())?,
            load,
            sgsn,
        };
        bed.introduce()?;
        bed.tune(receive)?;
        Ok(bed)
    }

    /// Each end knows the other's Ethernet address: nothing has to be asked under load.
    fn introduce(&self) -> Result<(), TestbedError> {
        let ends = [
            (&self.load, "gb1", GB_LOAD),
            (&self.sgsn, "gb0", GB_SGSN),
            (&self.sgsn, "gn0", GN_SGSN),
            (&self.load, "gn1", GN_LOAD),
        ];
        for (at, peer) in [(0, 1), (1, 0), (2, 3), (3, 2)] {
            let (Some((namespace, device, _)), Some((other, its_device, address))) =
                (ends.get(at), ends.get(peer))
            else {
                continue;
            };
            let ethernet = other.output_of("cat", &[&format!("/sys/class/net/{its_device}/address")])?;
            let ethernet = ethernet.trim();
            namespace.ip(&[
                "neigh",
                "replace",
                address,
                "lladdr",
                ethernet,
                "dev",
                device,
                "nud",
                "permanent",
            ])?;
        }
        Ok(())
    }

    fn tune(&self, receive: Receive) -> Result<(), TestbedError> {
        // GRO gives a veth device its NAPI also where no XDP program is set.
        self.at_sgsn(|| ["gn0", "gb0"].map(|device| offload(device, Offload::Receive, true)))?
            .into_iter()
            .collect::<Result<(), _>>()?;
        // What the load's sockets send has its checksums, so that a program at the driver may verify them.
        let off = |device| {
            offload(device, Offload::Receive, false).and_then(|()| offload(device, Offload::Checksums, false))
        };
        self.at_load(|| ["gn1", "gb1"].map(off))?.into_iter().collect::<Result<(), _>>()?;
        if receive == Receive::Threads {
            for device in ["gn0", "gb0"] {
                let path = format!("echo 1 > /sys/class/net/{device}/threaded");
                self.sgsn.output_of("sh", &["-c", &path])?;
            }
            pin_napi_threads()?;
        }
        Ok(())
    }

    /// A process that receives by sockets polls a device only when a socket of it is empty: where it is not, a timer polls
    /// [`POLLED_LATE_NS`] after the last time, at 500,000 packets/s 150 of the ring's 256 places. So what is too much is dropped
    /// where a program or a socket counts it. Who has but AF_XDP sockets polls in each turn and is left alone: a timer that
    /// is due sooner than the kernel's own has to be set anew with each poll, which a virtual machine pays for dearly.
    ///
    /// # Errors
    /// Where a device's files cannot be written.
    pub fn poll_late_at_sgsn(&self) -> Result<(), TestbedError> {
        for device in ["gn0", "gb0"] {
            let set = format!("echo {POLLED_LATE_NS} > /sys/class/net/{device}/gro_flush_timeout");
            self.sgsn.output_of("sh", &["-c", &set])?;
        }
        Ok(())
    }

    /// A command that will run at the SGSN's end, on its core.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = self.sgsn.command(Path::new("taskset"));
        command.args(["-c", &SGSN_CORE.to_string()]).arg(program);
        command
    }

    /// The SGSN's end.
    #[must_use]
    pub const fn sgsn(&self) -> &Namespace {
        &self.sgsn
    }

    /// The load's end.
    #[must_use]
    pub const fn load(&self) -> &Namespace {
        &self.load
    }

    /// Does something with the calling thread at the load's end.
    ///
    /// # Errors
    /// Where the thread may not go there.
    pub fn at_load<R>(&self, action: impl FnOnce() -> R) -> Result<R, TestbedError> {
        self.there.enter()?;
        let result = action();
        self.home.enter()?;
        Ok(result)
    }

    /// The same at the SGSN's end.
    ///
    /// # Errors
    /// As for [`Bed::at_load`].
    pub fn at_sgsn<R>(&self, action: impl FnOnce() -> R) -> Result<R, TestbedError> {
        self.here.enter()?;
        let result = action();
        self.home.enter()?;
        Ok(result)
    }

    /// The counters of all four devices, as `DEVICE.NAME`, and those of all UDP sockets at the SGSN's end, as `udp.NAME`.
    /// What a veth device could not send, `tx_dropped`, is what the ring of its peer had no place for.
    ///
    /// # Errors
    /// Where they cannot be read.
    pub fn counters(&self) -> Result<Vec<(String, u64)>, TestbedError> {
        // This thread's, and no program's: it is read several times in each step.
        let read = |what: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{what}"));
        let (theirs, read_there) =
            self.at_load(|| read("dev").and_then(|dev| Ok((dev, read("snmp")?))))??;
        let at_bss = parse_snmp(&read_there).into_iter().find(|(name, _)| name == READ_HERE);
        let at_bss = at_bss.map(|(_, count)| (READ_BY_BSS.to_owned(), count));
        let (ours, snmp) = self.at_sgsn(|| read("dev").and_then(|dev| Ok((dev, read("snmp")?))))??;
        let all = [parse_devices(&theirs), parse_devices(&ours), parse_snmp(&snmp), Vec::from_iter(at_bss)];
        Ok(all.concat())
    }
}

fn offload(device: &str, offload: Offload, on: bool) -> Result<(), TestbedError> {
    link::set_offload(device, offload, on).map_err(|error| TestbedError::Failed {
        command: format!("{device}: {offload:?} {}", if on { "on" } else { "off" }),
        message: error.to_string(),
    })
}

/// The counters of devices in `/proc/net/dev`, as `DEVICE.NAME`.
pub(crate) fn parse_devices(text: &str) -> Vec<(String, u64)> {
    const COLUMNS: [(usize, &str); 6] = [
        (1, "rx_packets"),
        (3, "rx_dropped"),
        (4, "rx_fifo_errors"),
        (9, "tx_packets"),
        (10, "tx_errors"),
        (11, "tx_dropped"),
    ];
    let devices = text.lines().filter_map(|line| line.trim().split_once(':'));
    let devices = devices.filter(|(name, _)| name.starts_with('g'));
    devices
        .flat_map(|(name, values)| {
            let values: Vec<u64> = values.split_whitespace().map_while(|value| value.parse().ok()).collect();
            COLUMNS.map(|(at, column)| Some((format!("{name}.{column}"), *values.get(at)?)))
        })
        .flatten()
        .collect()
}

/// Reads an Ethernet address as `ip` writes it.
#[must_use]
pub fn parse_ethernet(text: &str) -> Option<[u8; 6]> {
    let mut octets = text.trim().split(':').map(|octet| u8::from_str_radix(octet, 16));
    let mut address = [0; 6];
    for octet in &mut address {
        *octet = octets.next()?.ok()?;
    }
    octets.next().is_none().then_some(address)
}

/// Puts the kernel's threads of the devices gn0 and gb0 on the SGSN's core.
fn pin_napi_threads() -> Result<(), TestbedError> {
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        let name = std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        let is_ours = name.starts_with("napi/gn0-") || name.starts_with("napi/gb0-");
        if pid.bytes().all(|c| c.is_ascii_digit()) && is_ours {
            let core = SGSN_CORE.to_string();
            let output = Command::new("taskset").args(["-p", "-c", &core, &pid]).output();
            output.map_err(|source| TestbedError::Start { program: "taskset".to_owned(), source })?;
        }
    }
    Ok(())
}

/// A core's clock at an instant.
#[derive(Debug, Clone, Copy)]
pub struct CoreClock {
    ticks: [u64; 8],
    at: Instant,
}

/// Ticks of `/proc/stat` in a second (`USER_HZ`, the same on every architecture that Linux has now).
const TICKS_PER_S: f64 = 100.0;

impl CoreClock {
    /// Reads it.
    ///
    /// # Errors
    /// Where `/proc/stat` has no such core.
    pub fn read(core: usize) -> Result<Self, TestbedError> {
        let text = std::fs::read_to_string("/proc/stat")?;
        let ticks = parse(&text, core).ok_or_else(|| TestbedError::Failed {
            command: "/proc/stat".to_owned(),
            message: format!("there is no core {core}"),
        })?;
        Ok(Self { ticks, at: Instant::now() })
    }

    /// What the core did from `earlier` until this.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "ticks of a step")]
    pub fn since(&self, earlier: &Self) -> CoreTime {
        let ticks = |index: usize| {
            let at = |clock: &Self| clock.ticks.get(index).copied().unwrap_or_default();
            at(self).saturating_sub(at(earlier)) as f64 / TICKS_PER_S
        };
        // user nice system idle iowait irq softirq steal
        let wall_s = self.at.duration_since(earlier.at).as_secs_f64();
        CoreTime {
            // The kernel takes the time of a pause, and guesses by its ticks what a core was busy with.
            busy_s: (wall_s - ticks(3) - ticks(4) - ticks(7)).max(0.0),
            interrupts_s: ticks(5) + ticks(6),
            stolen_s: ticks(7),
            wall_s,
        }
    }
}

/// How long a process had run at an instant.
#[derive(Debug, Clone)]
pub struct ProcessClock {
    pid: u32,
    ran: Duration,
    at: Instant,
}

impl ProcessClock {
    /// Reads it.
    ///
    /// # Errors
    /// Where there is no such process.
    pub fn read(pid: u32) -> Result<Self, TestbedError> {
        Ok(Self { pid, ran: gannet_rig::cpu_time_of(pid)?, at: Instant::now() })
    }

    /// For how long it did not run since `earlier`: it waited for the core, or the core itself did not run.
    #[must_use]
    pub fn away_s(&self, earlier: &Self) -> f64 {
        let ran = self.ran.saturating_sub(earlier.ran);
        self.at.duration_since(earlier.at).saturating_sub(ran).as_secs_f64()
    }

    /// The same up to now.
    ///
    /// # Errors
    /// Where the process has gone.
    pub fn away_since_s(&self) -> Result<f64, TestbedError> {
        Ok(Self::read(self.pid)?.away_s(self))
    }
}

fn parse(text: &str, core: usize) -> Option<[u64; 8]> {
    let name = format!("cpu{core} ");
    let line = text.lines().find(|line| line.starts_with(&name))?;
    let mut ticks = [0; 8];
    let mut numbers = line.split_whitespace().skip(1);
    for tick in &mut ticks {
        *tick = numbers.next()?.parse().ok()?;
    }
    Some(ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_devices() {
        let text = "Inter-|   Receive\n face |bytes packets\n    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n   \
                    gn0: 900 7 0 5 6 0 0 0 800 8 9 10 0 0 0 0\n";
        let found = parse_devices(text);
        let expected = [
            ("gn0.rx_packets", 7),
            ("gn0.rx_dropped", 5),
            ("gn0.rx_fifo_errors", 6),
            ("gn0.tx_packets", 8),
            ("gn0.tx_errors", 9),
            ("gn0.tx_dropped", 10),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn ethernet_addresses() {
        assert_eq!(parse_ethernet("02:00:5e:00:53:af\n"), Some([2, 0, 0x5e, 0, 0x53, 0xaf]));
        assert_eq!(parse_ethernet("02:00:5e:00:53"), None);
        assert_eq!(parse_ethernet("02:00:5e:00:53:af:01"), None);
    }

    #[test]
    fn a_core_is_busy_with_softirq_as_well_and_not_with_what_is_stolen() {
        let text = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 0 50 1000 7 1 40 5 0 0\ncpu1 1 2 3 4 5 6 7 8 0 0\n";
        let earlier = CoreClock { ticks: parse(text, 0).unwrap(), at: Instant::now() };
        let later = CoreClock {
            ticks: [150, 0, 60, 1020, 7, 2, 80, 9],
            at: earlier.at + Duration::from_millis(1260),
        };
        let time = later.since(&earlier);
        assert!((time.busy_s - 1.02).abs() < 1e-9, "{time:?}");
        assert!((time.interrupts_s - 0.41).abs() < 1e-9 && (time.stolen_s - 0.04).abs() < 1e-9);
        assert_eq!(parse(text, 1).unwrap()[7], 8);
        assert!(parse(text, 2).is_none());
        assert!(CoreClock::read(0).is_ok());
    }
}

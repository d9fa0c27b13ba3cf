//! A node of the main job, and what stands around it: base stations with ten mobiles, a GGSN, a host for downloads.

use super::text;
use crate::counters::{parse_snmp, read_counters};
use crate::demo::configs::{self, address};
use crate::ed::bed::{SGSN_CORE, parse_devices};
use crate::testbed::{self, Namespace, Process};
use gannet_ops::vty;
use gannet_rig::NetworkNamespace;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Mobiles, each with a device of its own.
pub(super) const MOBILES: u32 = 10;
/// What the devices of mobiles are called, before their number.
pub(super) const DEVICES: &str = "ms";
/// Octets of the file of the host, and the seed of its content.
pub(super) const DOWNLOAD_OCTETS: usize = 1 << 20;
pub(super) const DOWNLOAD_SEED: u64 = 1;
/// How long mobiles may take to be active.
const ACTIVE_WITHIN: Duration = Duration::from_secs(60);

/// Where mobiles are, for who opens sockets there.
#[derive(Debug, Clone)]
pub(super) struct Mobiles {
    pub(super) namespace: String,
}

/// Four namespaces and their processes.
#[derive(Debug)]
pub(super) struct Stage {
    // Processes end before their namespaces go: fields are dropped in this order.
    processes: Vec<Process>,
    ms: Namespace,
    sgsn: Namespace,
    ggsn: Namespace,
    host: Namespace,
    home: NetworkNamespace,
    directory: PathBuf,
}

impl Stage {
    /// Starts all of it and waits until every mobile has its context.
    pub(super) fn start(
        gannet: &Path,
        directory: &Path,
        label: &str,
        ingress: &str,
        stop: &AtomicBool,
    ) -> Result<Self, String> {
        let namespace = |part: &str| Namespace::new(&format!("{label}-{part}")).map_err(text);
        let mut stage = Self {
            processes: Vec::new(),
            ms: namespace("ms")?,
            sgsn: namespace("sgsn")?,
            ggsn: namespace("ggsn")?,
            host: namespace("host")?,
            home: NetworkNamespace::current().map_err(text)?,
            directory: directory.to_path_buf(),
        };
        stage.connect()?;
        stage.start_nodes(gannet, ingress)?;
        stage.wait_for_mobiles(stop)?;
        Ok(stage)
    }

    fn connect(&self) -> Result<(), String> {
        use address as a;
        let join = |left, right| testbed::join(left, right).map_err(text);
        join((&self.ms, "gb0", a::GB_BSS_PREFIX), (&self.sgsn, "gb0", a::GB_SGSN_PREFIX))?;
        join((&self.sgsn, "gn0", a::GN_SGSN_PREFIX), (&self.ggsn, "gn0", a::GN_GGSN_PREFIX))?;
        join((&self.ggsn, "gi0", a::GI_GGSN_PREFIX), (&self.host, "gi0", a::GI_HOST_PREFIX))?;
        self.host.ip(&["route", "add", a::MOBILES, "via", a::GI_GGSN]).map_err(text)?;
        self.ggsn.enable_forwarding().map_err(text)
    }

    fn start_nodes(&mut self, gannet: &Path, ingress: &str) -> Result<(), String> {
        let gannet = gannet.to_string_lossy().into_owned();
        let config = |name: &str, content: &str| {
            let path = self.directory.join(name);
            std::fs::write(&path, content).map_err(|error| format!("{}: {error}", path.display()))?;
            Ok::<_, String>(path.to_string_lossy().into_owned())
        };
        let ggsn = config("ggsn.cfg", &configs::ggsn(&self.directory))?;
        let of_its_own = format!("{} ingress {ingress}\n", configs::LONG_FRAMES);
        let sgsn = config("sgsn.cfg", &configs::sgsn(&self.directory, 1, &of_its_own))?;
        let bss = config("bss.cfg", &bss())?;
        let core = SGSN_CORE.to_string();
        let (octets, seed) = (DOWNLOAD_OCTETS.to_string(), DOWNLOAD_SEED.to_string());
        let bind = format!("{}:80", address::GI_HOST);
        let serve = ["lab", "serve", "--bind", &bind, "--octets", &octets, "--seed", &seed];
        let mut processes = Vec::new();
        for (name, namespace, program, arguments) in [
            ("ggsn", &self.ggsn, gannet.as_str(), &["ggsn", "-c", &ggsn][..]),
            ("host", &self.host, &gannet, &serve),
            ("sgsn", &self.sgsn, "taskset", &["-c", &core, &gannet, "sgsn", "-c", &sgsn]),
            ("bss", &self.ms, &gannet, &["bss", "-c", &bss]),
        ] {
            let mut command = namespace.command(Path::new(program));
            command.args(arguments);
            let log = self.directory.join(format!("{name}.log"));
            processes.push(Process::start(name, &mut command, &log).map_err(text)?);
        }
        self.processes = processes;
        Ok(())
    }

    fn wait_for_mobiles(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let until = Instant::now() + ACTIVE_WITHIN;
        loop {
            self.check()?;
            let answer = self.vty(&self.ms, address::BSS_VTY, "show mobile").unwrap_or_default();
            let active = answer.lines().filter(|line| line.contains("pdp-active")).count();
            if active == MOBILES as usize {
                return Ok(());
            }
            if stop.load(Relaxed) {
                return Err("interrupted".to_owned());
            }
            if Instant::now() > until {
                let logs = self.directory.display();
                return Err(format!("{active} of {MOBILES} mobiles are active; logs are in {logs}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Whether all its processes are still there.
    pub(super) fn check(&mut self) -> Result<(), String> {
        self.processes.iter_mut().try_for_each(Process::check).map_err(text)
    }

    /// Where its mobiles are.
    pub(super) fn mobiles(&self) -> Mobiles {
        Mobiles { namespace: self.ms.name().to_owned() }
    }

    /// Does something with the calling thread inside a namespace.
    fn inside<R>(&self, namespace: &Namespace, action: impl FnOnce() -> R) -> Result<R, String> {
        NetworkNamespace::named(namespace.name()).and_then(|there| there.enter()).map_err(text)?;
        let result = action();
        self.home.enter().map_err(text)?;
        Ok(result)
    }

    fn vty(&self, namespace: &Namespace, at: &str, command: &str) -> Result<String, String> {
        let address = at.parse().map_err(text)?;
        let answer = self.inside(namespace, || vty::client::run(address, command))?;
        answer.map_err(|error| format!("VTY at {at}: {error}"))
    }

    /// Everything that the SGSN counts, what the rings of its devices lost, and its sockets.
    pub(super) fn counters(&self) -> Result<BTreeMap<String, u64>, String> {
        let mut all = read_counters(&self.vty(&self.sgsn, address::SGSN_VTY, "show counters")?);
        // What the other end of a veth could not send had no place in the ring of this one.
        let read = |what: &str| std::fs::read_to_string(format!("/proc/thread-self/net/{what}"));
        for (name, namespace, device) in
            [("ring_full_gn", &self.ggsn, "gn0"), ("ring_full_gb", &self.ms, "gb0")]
        {
            let devices = parse_devices(&self.inside(namespace, || read("dev"))?.map_err(text)?);
            let lost = devices.into_iter().find(|(counter, _)| *counter == format!("{device}.tx_dropped"));
            all.insert(name.to_owned(), lost.map_or(0, |(_, count)| count));
        }
        all.extend(parse_snmp(&self.inside(&self.sgsn, || read("snmp"))?.map_err(text)?));
        Ok(all)
    }

    /// What the SGSN says that an N-PDU costs; `None` where it has no scheduler.
    pub(super) fn cost_ns(&self) -> Result<Option<u64>, String> {
        let answer = self.vty(&self.sgsn, address::SGSN_VTY, "show counters")?;
        Ok(read_counters(&answer).get("cost_ns_per_n_pdu").copied())
    }
}

/// The demo's base stations with a device for each mobile, and rates that leave the download to TCP.
fn bss() -> String {
    configs::bss(MOBILES, false, "").replace(
        " tun ms count 1\n",
        &format!(
            " tun {DEVICES} count {MOBILES}\n radio downlink 4000000 uplink 4000000\n radio delay 5\n \
             flow-control cell bmax 400000\n flow-control ms bmax 100000 rate 400000\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mobile_has_a_device() {
        let config = bss();
        assert!(config.contains("\n tun ms count 10\n") && config.contains("\n mobiles 10\n"), "{config}");
        assert_eq!(config.matches(" tun ").count(), 1);
    }
}

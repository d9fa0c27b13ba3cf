//! TUN devices that somebody deletes while a GGSN runs are made again.

use super::device::Device;
use gannet_machine::Peer;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level, TraceSink as _};
use gannet_node::ggsn::{Ggsn, PORT_TUN};
use gannet_rt::{Access, MachineId, Service};
use std::io;

/// How often the devices are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks at the devices of a GGSN.
pub struct Restoring {
    ggsn: String,
    machine: MachineId<Ggsn>,
    /// As the kernel called them at the start, by the access point's index.
    devices: Vec<(Device, Peer)>,
    /// Why the last try failed: said once.
    told: Option<String>,
    at: Instant,
}

impl Restoring {
    /// For the devices of a GGSN, each with what the kernel calls it.
    pub fn new(ggsn: &str, machine: MachineId<Ggsn>, devices: &[(Device, String)]) -> Self {
        let named = |(device, name): &(Device, String)| device.renamed(name);
        let devices = devices.iter().map(named).zip((0..).map(Peer::Slot)).collect();
        Self { ggsn: ggsn.to_owned(), machine, devices, told: None, at: Instant::ZERO }
    }

    /// Makes a device again. Says what to tell, and how urgent that is.
    fn restore(&self, device: &Device, peer: Peer, access: &mut Access<'_>) -> (Level, String) {
        let mut complaints = Vec::new();
        let attached = device.open(&mut complaints).and_then(|made| {
            let attached = access.outside(self.machine).attach_tun(PORT_TUN, peer, made, Some("Gi"));
            attached.map_err(|error| crate::node::tun::describe(&device.name, &error))
        });
        match attached {
            Ok(()) if complaints.is_empty() => (
                Level::Notice,
                format!("ggsn {}: {} had been deleted and is there again", self.ggsn, device.name),
            ),
            Ok(()) => (Level::Error, complaints.join("; ")),
            Err(error) => (Level::Error, format!("ggsn {}: {error}", self.ggsn)),
        }
    }
}

impl Service for Restoring {
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        self.at = access.now() + LOOK_EVERY;
        Ok(())
    }

    fn ready(&mut self, _: u32, _: bool, _: bool, _: &mut Access<'_>) {}

    fn round(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        if now < self.at {
            return;
        }
        self.at = now + LOOK_EVERY;
        for (device, peer) in &self.devices {
            let outside = access.outside(self.machine);
            if outside.tun(PORT_TUN, *peer).is_none_or(|tun| !tun.is_deleted()) {
                continue;
            }
            let (level, text) = self.restore(device, *peer, access);
            if level == Level::Error && self.told.as_ref() == Some(&text) {
                continue;
            }
            access.log().line(Category::Main, level, format_args!("{text}"));
            self.told = (level == Level::Error).then_some(text);
        }
    }

    fn next_wake(&self) -> Option<Instant> {
        Some(self.at)
    }
}

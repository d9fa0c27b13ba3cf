//! Ways without GPRS beside the plain one: bare hops, and wireguard-go.

use super::super::configs::{BEARERS, NETWORK, PHONE};
use super::super::{text, wireguard};
use super::{Bed, MACS, Place, Processes, READY_WITHIN, Through};
use std::path::Path;
use std::time::Instant;

/// The TUN device of a bare hop, at both ends, and its longest packet: that of a context with parameters that fit.
const HOP_DEVICE: &str = "hop0";
const HOP_MTU: &str = "1482";
/// The mobile's end of the bare hops, and the host behind the other.
const HOP_PHONE: &str = "198.18.3.1";
pub(super) const HOP_HOST: &str = "203.0.113.3";
/// The same of WireGuard.
const WIREGUARD_PHONE: &str = "198.18.4.1";
pub(super) const WIREGUARD_HOST: &str = "203.0.113.4";

impl Bed {
    /// Starts a bare hop at each end of the first line, which waits for packets as the nodes do.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn start_hops(&mut self, beside: Processes) -> Result<(), String> {
        let before = self.processes.len();
        let [device, _] = BEARERS;
        let [own, far] = MACS.map(|mac| format!("{mac}0"));
        for (place, name, far) in [(Place::Phone, "hop-near", &far), (Place::Network, "hop-far", &own)] {
            let tun = ["tuntap", "add", "dev", HOP_DEVICE, "mode", "tun"];
            self.at(place).ip(&tun).map_err(text)?;
            self.at(place).ip(&["link", "set", HOP_DEVICE, "mtu", HOP_MTU]).map_err(text)?;
            let mut words = vec!["lab", "hop", "--tun", HOP_DEVICE, "--device", device, "--far", far];
            if beside.poll() {
                words.push("--polls");
            }
            let pid = self.start_own(name, place, &words)?;
            if place == Place::Phone {
                self.near.push((Through::Hops, pid));
            }
        }
        self.lead([HOP_DEVICE; 2], [HOP_PHONE, HOP_HOST])?;
        self.go_first(before)
    }

    /// Starts wireguard-go at both ends, over UDP on the plain bearer.
    ///
    /// # Errors
    /// What the machine or the program does not permit.
    pub fn start_wireguard(&mut self) -> Result<(), String> {
        let ends = wireguard::ends((PHONE, WIREGUARD_PHONE), (NETWORK, WIREGUARD_HOST));
        let places = [Place::Phone, Place::Network];
        for (place, end) in places.into_iter().zip(&ends) {
            let process = self.start(&end.device, place, Path::new("wireguard-go"), &["-f", &end.device])?;
            if place == Place::Phone {
                self.near.push((Through::WireGuard, process.pid()));
            }
            self.processes.push(process);
            end.configure(READY_WITHIN)?;
        }
        let [near, far] = &ends;
        self.lead([&near.device, &far.device], [WIREGUARD_PHONE, WIREGUARD_HOST])
    }

    /// Gives the ends of a way without GPRS their addresses and routes by devices at both ends, and waits until the far one answers.
    fn lead(&mut self, devices: [&str; 2], [phone, host]: [&str; 2]) -> Result<(), String> {
        let [near, far] = devices;
        self.network.ip(&["address", "add", &format!("{host}/32"), "dev", "lo"]).map_err(text)?;
        self.phone.ip(&["address", "add", &format!("{phone}/32"), "dev", near]).map_err(text)?;
        for (namespace, device, own, to) in
            [(&self.phone, near, phone, host), (&self.network, far, host, phone)]
        {
            namespace.ip(&["link", "set", device, "up"]).map_err(text)?;
            let route = ["route", "add", &format!("{to}/32"), "dev", device, "src", own];
            namespace.ip(&route).map_err(text)?;
        }
        let until = Instant::now() + READY_WITHIN;
        let ping = ["-n", "-c", "1", "-W", "1", host];
        while !self.phone.run("ping", &ping).map_err(text)?.status.success() {
            self.check()?;
            if Instant::now() > until {
                return Err(format!("{host} does not answer through {near}"));
            }
        }
        Ok(())
    }
}

//! What is asked of a bed that runs: of the mobiles, of the nodes, of the kernel, and of what passes a device.

use super::super::{configs, text};
use super::{Bed, LOOK_EVERY, MACS, Place, READY_WITHIN, SOCKET};
use crate::ms_control;
use crate::testbed::Process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

impl Bed {
    /// The cell of the mobile, by its place among the bearers.
    ///
    /// # Errors
    /// What `gannet ms ctl` says.
    pub fn cell_of_mobile(&self) -> Result<Option<u64>, String> {
        Ok(self.cells_of_mobiles()?.first().copied().flatten())
    }

    /// The same of all mobiles.
    ///
    /// # Errors
    /// What `gannet ms ctl` says.
    pub fn cells_of_mobiles(&self) -> Result<Vec<Option<u64>>, String> {
        let status: serde_json::Value =
            serde_json::from_str(&self.control("json - status")?).map_err(text)?;
        let mobiles = status.as_array().ok_or("the status is no list")?;
        Ok(mobiles.iter().map(|mobile| mobile.get("cell")?.as_u64()).collect())
    }

    /// All mobiles are to prefer this bearer.
    ///
    /// # Errors
    /// What `gannet ms ctl` says.
    pub fn prefer(&self, bearer: &str) -> Result<(), String> {
        self.control(&format!("text - prefer {bearer}")).map(drop)
    }

    fn control(&self, request: &str) -> Result<String, String> {
        ms_control::ask(&self.directory.join(SOCKET), request, READY_WITHIN)
    }

    /// Drops so far: of nodes as `node.name`, of TUN devices, and of UDP sockets.
    ///
    /// # Errors
    /// What a VTY or the kernel says.
    pub fn named(&self) -> Result<BTreeMap<String, u64>, String> {
        let program = std::env::current_exe().map_err(text)?;
        let program = program.to_string_lossy();
        let mut named = BTreeMap::new();
        for (node, address) in configs::VTYS {
            let place = if node == "ms" { Place::Phone } else { Place::Network };
            let said = self.at(place).output_of(&program, &["vty", address, "show drops"]).map_err(text)?;
            let drops = crate::demo::outcome::drops(node, &said);
            named.extend(drops.into_iter().map(|(node, name, count)| (format!("{node}.{name}"), count)));
        }
        let of_tun = "cat /sys/class/net/*/tun_flags >/dev/null && for device in /sys/class/net/*/tun_flags; do \
                      cat ${device%tun_flags}statistics/tx_dropped; done";
        for (place, name) in [(Place::Phone, "ms"), (Place::Network, "network")] {
            let said = self.at(place).output_of("sh", &["-c", of_tun]).map_err(text)?;
            let dropped = said.lines().filter_map(|line| line.trim().parse::<u64>().ok()).sum();
            named.insert(format!("{name}.tun_dropped"), dropped);
            let snmp = self.at(place).output_of("cat", &["/proc/net/snmp"]).map_err(text)?;
            let udp =
                crate::counters::parse_snmp(&snmp).into_iter().filter(|(udp, _)| udp.ends_with("bufErrors"));
            named.extend(udp.map(|(udp, count)| (format!("{name}.{udp}"), count)));
        }
        Ok(named)
    }

    /// Segments that TCP in the network's namespace has sent again so far.
    ///
    /// # Errors
    /// The kernel does not count them.
    pub fn segments_sent_again(&self) -> Result<f64, String> {
        let said = self.network.output_of("cat", &["/proc/net/snmp"]).map_err(text)?;
        sent_again(&said).ok_or_else(|| "/proc/net/snmp has no RetransSegs".to_owned())
    }

    /// Has tcpdump write what passes a device of the network and its filter, as far as headers go. The file is whole when the process
    /// has been stopped.
    ///
    /// # Errors
    /// What tcpdump says.
    pub fn start_capture(&self, device: &str, filter: &str) -> Result<(Process, PathBuf), String> {
        let name = format!("capture-{device}");
        let file = self.directory.join(format!("{name}.pcap"));
        let to = file.to_string_lossy();
        let options = ["-i", device, "-n", "-s", "128", "-B", "32768", "--immediate-mode", "-Z", "root"];
        let arguments = [&options[..], &["--time-stamp-precision", "nano", "-w", &to, filter]].concat();
        let mut process = self.start(&name, Place::Network, Path::new("tcpdump"), &arguments)?;
        let until = Instant::now() + READY_WITHIN;
        while !process.last_words().contains("listening on") {
            process.check().map_err(text)?;
            if Instant::now() > until {
                return Err(format!("tcpdump does not listen on {device}"));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok((process, file))
    }

    /// The Ethernet address of the access point on the first line.
    ///
    /// # Errors
    /// None that can be expected.
    pub fn far_station(&self) -> Result<[u8; 6], String> {
        let [_, far] = MACS.map(|mac| format!("{mac}0"));
        crate::ed::bed::parse_ethernet(&far).ok_or_else(|| format!("'{far}' is no address"))
    }
}

/// RetransSegs of the lines about TCP, of which the first names what stands in the second.
fn sent_again(snmp: &str) -> Option<f64> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let place = lines.next()?.split(' ').position(|name| name == "RetransSegs")?;
    lines.next()?.split(' ').nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tcp_sent_again_is_found_by_its_name() {
        let snmp = "Ip: Forwarding InReceives\nIp: 1 7\nTcp: RtoAlgorithm OutSegs RetransSegs InErrs\nTcp: 1 500 42 0\n";
        assert_eq!(sent_again(snmp), Some(42.0));
        assert_eq!(sent_again("Tcp: RtoAlgorithm\nTcp: 1\n"), None);
    }
}

//! What is asked of a bed that runs: of the mobiles, of the nodes, of the kernel, and of what passes a device.

use super::super::{configs, text};
use super::{Bed, LOOK_EVERY, MACS, Place, READY_WITHIN, SOCKET};
use crate::counters;
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
            let udp = counters::parse_snmp(&snmp).into_iter().filter(|(udp, _)| udp.ends_with("bufErrors"));
            named.extend(udp.map(|(udp, count)| (format!("{name}.{udp}"), count)));
        }
        Ok(named)
    }

    /// What TCP in the network's namespace has sent again so far.
    ///
    /// # Errors
    /// The kernel does not count it.
    pub fn sent_again(&self) -> Result<SentAgain, String> {
        let said = self.network.output_of("cat", &["/proc/net/snmp", "/proc/net/netstat"]).map_err(text)?;
        SentAgain::read(&said)
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

/// Segments that a host's TCP has sent again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentAgain {
    /// All of them.
    pub segments: u64,
    /// Those that the other end had already, as it says (RFC 2883).
    pub twice: u64,
}

impl SentAgain {
    fn read(said: &str) -> Result<Self, String> {
        let of = |group, name| {
            let count = counters::of_kernel(said, group, name);
            count.ok_or_else(|| format!("the kernel does not count {name}"))
        };
        Ok(Self { segments: of("Tcp:", "RetransSegs")?, twice: of("TcpExt:", "TCPDSACKRecvSegs")? })
    }

    /// What has come to it since.
    pub const fn since(self, before: Self) -> Self {
        let segments = self.segments.saturating_sub(before.segments);
        Self { segments, twice: self.twice.saturating_sub(before.twice) }
    }

    /// Those that the other end did not have.
    pub const fn lost(self) -> u64 {
        self.segments.saturating_sub(self.twice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_twice_was_not_lost() {
        let said = |again, twice| {
            format!(
                "Tcp: RtoAlgorithm OutSegs RetransSegs\nTcp: 1 500 {again}\nTcpExt: A TCPDSACKRecvSegs\nTcpExt: 7 {twice}\n"
            )
        };
        let [before, after] =
            [(42, 3), (52, 5)].map(|(again, twice)| SentAgain::read(&said(again, twice)).unwrap());
        let since = after.since(before);
        assert_eq!((since, since.lost()), (SentAgain { segments: 10, twice: 2 }, 8));
        let error = SentAgain::read("Tcp: RetransSegs\nTcp: 1\n").unwrap_err();
        assert!(error.contains("TCPDSACKRecvSegs"), "{error}");
    }
}

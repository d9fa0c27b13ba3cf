//! Four machines and the nodes on them: the Gb side with its mobiles, the SGSN, the GGSN, and a host behind it.

use super::stage::Stage;
use super::{Peer, configs};
use crate::testbed::{self, Namespace, TestbedError};
use configs::address;

/// A network namespace for each machine, joined by Gb, Gn and Gi.
pub(crate) struct Chain {
    pub(crate) stage: Stage,
    pub(crate) ms: Namespace,
    pub(crate) sgsn: Namespace,
    pub(crate) ggsn: Namespace,
    pub(crate) host: Namespace,
}

impl Chain {
    /// Machines without nodes. `label` tells them from those of another chain.
    pub(crate) fn new(stage: Stage, label: &str) -> Result<Self, TestbedError> {
        use address as a;
        let namespace = |name: &str| Namespace::new(&format!("{label}{name}"));
        let (ms, sgsn) = (namespace("ms")?, namespace("sgsn")?);
        let chain = Self { stage, ms, sgsn, ggsn: namespace("ggsn")?, host: namespace("host")? };
        testbed::join((&chain.ms, "gb0", a::GB_BSS_PREFIX), (&chain.sgsn, "gb0", a::GB_SGSN_PREFIX))?;
        testbed::join((&chain.sgsn, "gn0", a::GN_SGSN_PREFIX), (&chain.ggsn, "gn0", a::GN_GGSN_PREFIX))?;
        testbed::join((&chain.ggsn, "gi0", a::GI_GGSN_PREFIX), (&chain.host, "gi0", a::GI_HOST_PREFIX))?;
        chain.host.ip(&["route", "add", a::MOBILES, "via", a::GI_GGSN])?;
        chain.ggsn.enable_forwarding()?;
        Ok(chain)
    }

    /// The GGSN, and an HTTP server for so many octets behind it.
    pub(crate) fn start_ggsn(&mut self, ggsn: Peer, octets: usize) -> Result<(), TestbedError> {
        self.stage.start_ggsn(ggsn, &self.ggsn)?;
        self.stage.start_host(&self.host, address::GI_HOST, octets)
    }

    pub(crate) fn start_sgsn(
        &mut self,
        sgsn: Peer,
        gtp_version: u8,
        of_its_own: &str,
    ) -> Result<(), TestbedError> {
        self.stage.start_sgsn(sgsn, &self.sgsn, gtp_version, of_its_own)
    }

    /// Cells and mobiles, in the words of their configuration.
    pub(crate) fn start_bss(&mut self, text: &str) -> Result<(), TestbedError> {
        let config = self.stage.config("bss.cfg", text)?;
        self.stage.start_own("bss", &self.ms, &config)
    }

    /// Mobiles with an active PDP context; none while the BSS does not answer.
    pub(crate) fn active(&self) -> u32 {
        self.active_at(address::BSS_VTY)
    }

    /// The same by the VTY of whoever has the mobiles.
    pub(crate) fn active_at(&self, vty: &str) -> u32 {
        let text = self.stage.vty(&self.ms, vty, "show mobile").unwrap_or_default();
        let active = text.lines().filter(|line| line.contains("pdp-active")).count();
        u32::try_from(active).unwrap_or(u32::MAX)
    }

    /// What the BSS answers.
    pub(crate) fn of_bss(&self, command: &str) -> Result<String, TestbedError> {
        self.stage.vty(&self.ms, address::BSS_VTY, command)
    }

    /// What our SGSN answers.
    pub(crate) fn of_sgsn(&self, command: &str) -> Result<String, TestbedError> {
        self.stage.vty(&self.sgsn, address::SGSN_VTY, command)
    }

    /// `ping` from the first mobile to the host: `count` echo requests with so many octets of data, one each `interval_s`.
    pub(crate) fn ping(&self, count: u32, octets: u32, interval_s: &str) -> Result<String, TestbedError> {
        let (count, octets) = (count.to_string(), octets.to_string());
        let device = configs::TUN_OF_FIRST_MOBILE;
        let arguments =
            ["-n", "-c", &count, "-s", &octets, "-i", interval_s, "-W", "5", "-I", device, address::GI_HOST];
        self.stage.output_of(&self.ms, "ping", &arguments)
    }
}

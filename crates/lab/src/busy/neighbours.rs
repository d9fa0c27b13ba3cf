//! Busy processes: children that compute without an end, at normal priority, and stand still between two disturbances.

use super::text;
use crate::ed::bed::SGSN_CORE;
use crate::testbed::{self, Process};
use gannet_rig::ProcessSignal;
use std::fmt;
use std::path::Path;

/// What runs beside the SGSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Beside {
    /// Busy processes.
    pub(super) busy: u32,
    /// They are pinned to the SGSN's core, and else to none.
    pub(super) is_pinned: bool,
}

impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = if self.is_pinned { "on its core" } else { "on no core" };
        match self.busy {
            0 => f.write_str("no busy process"),
            1 => write!(f, "1 busy process {of}"),
            busy => write!(f, "{busy} busy processes {of}"),
        }
    }
}

/// Some of them. Each ends by its number with this value, and with this process however that ends.
#[derive(Debug)]
pub(super) struct Neighbours {
    processes: Vec<Process>,
}

impl Neighbours {
    /// Starts them, standing still.
    pub(super) fn start(gannet: &Path, beside: Beside, directory: &Path) -> Result<Self, String> {
        let cores = if beside.is_pinned { SGSN_CORE.to_string() } else { all_cores() };
        let start = |number| {
            let mut command = testbed::command("taskset");
            command.args(["-c", &cores]).arg(gannet).args(["lab", "spin"]).arg(directory);
            let name = format!("busy{number}");
            let process = Process::start(&name, &mut command, &directory.join(format!("{name}.log")));
            process.inspect(|process| process.signal(ProcessSignal::Stop)).map_err(text)
        };
        Ok(Self { processes: (0..beside.busy).map(start).collect::<Result<_, _>>()? })
    }

    /// They run.
    pub(super) fn go(&self) {
        self.processes.iter().for_each(|process| process.signal(ProcessSignal::Continue));
    }

    /// They stand still.
    pub(super) fn halt(&self) {
        self.processes.iter().for_each(|process| process.signal(ProcessSignal::Stop));
    }
}

/// Every core of this machine, also those that this process has pinned itself away from.
fn all_cores() -> String {
    format!("0-{}", crate::report::MachineInfo::here().cores - 1)
}

/// What such a process does: it computes until it is ended.
pub fn spin() -> ! {
    let mut value = 1_u64;
    loop {
        value = core::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
}

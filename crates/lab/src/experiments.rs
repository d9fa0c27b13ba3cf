//! The experiments by name.

use crate::ed;
use crate::ed::bench::{run, run_ciphered};
use crate::report::{Options, Report};

/// One experiment.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub description: &'static str,
    /// Runs it.
    pub run: fn(&Options) -> Result<Report, String>,
}

/// In place of the work that stands for it.
const GEA3: Option<u8> = Some(3);

/// All of them.
pub const ALL: &[Experiment] = &[
    Experiment {
        name: "world",
        description: "1,000 mobiles in 100 cells for a simulated hour with 5 % loss on Gb: everything adds up",
        run: crate::world::run,
    },
    Experiment {
        name: "qos-cell",
        description: "contexts of every class in one congested cell: what each gets against what was negotiated",
        run: crate::qos_cell::run,
    },
    Experiment {
        name: "abm",
        description: "acknowledged mode at 0 and 5 % loss and round trips of 1 to 700 ms, with SACK and go-back-N",
        run: crate::abm::run,
    },
    Experiment {
        name: "abm-cost",
        description: "what acknowledged mode costs the SGSN's core beside unacknowledged mode, for 10,000 mobiles each",
        run: |options| run("abm-cost", options, ed::abm_cost::experiment),
    },
    Experiment {
        name: "ed-overhead",
        description: "what early demultiplexing costs a packet when nothing else happens",
        run: |options| run("ed-overhead", options, ed::overhead::experiment),
    },
    Experiment {
        name: "ed-throughput",
        description: "saturation with 0 to 90 % of exceeding traffic; what one core forwards",
        run: |options| run("ed-throughput", options, ed::throughput::experiment),
    },
    Experiment {
        name: "ed-isolation",
        description: "what good and bad users get, below and above saturation",
        run: |options| run("ed-isolation", options, ed::isolation::experiment),
    },
    Experiment {
        name: "ed-delay",
        description: "delay of real-time mobiles from idle to twice saturation",
        run: |options| run("ed-delay", options, ed::delay::experiment),
    },
    Experiment {
        name: "ed-precedence",
        description: "drops of high precedence from saturation to five times that",
        run: |options| run("ed-precedence", options, ed::precedence::experiment),
    },
    Experiment {
        name: "ed-flood",
        description: "good traffic under a flood of packets for nobody",
        run: |options| run("ed-flood", options, ed::flood::experiment),
    },
    Experiment {
        name: "ed-uplink",
        description: "what good users' uplink gets beside 0 to 90 % of exceeding uplink",
        run: |options| run("ed-uplink", options, ed::uplink::experiment),
    },
    Experiment {
        name: "ed-scale",
        description: "throughput and memory from a thousand to a million contexts",
        run: |options| run("ed-scale", options, ed::scale::experiment),
    },
    Experiment {
        name: "busy-machine",
        description: "a lightly loaded SGSN beside processes that never sleep: nothing lost, and its estimates recover",
        run: crate::busy::run,
    },
    Experiment {
        name: "ed-throughput-gea3",
        description: "the same as ed-throughput where each packet is ciphered with GEA3",
        run: |options| run_ciphered("ed-throughput-gea3", options, GEA3, ed::throughput::experiment),
    },
    Experiment {
        name: "ed-isolation-gea3",
        description: "the same as ed-isolation with GEA3",
        run: |options| run_ciphered("ed-isolation-gea3", options, GEA3, ed::isolation::experiment),
    },
    Experiment {
        name: "ed-delay-gea3",
        description: "the same as ed-delay with GEA3",
        run: |options| run_ciphered("ed-delay-gea3", options, GEA3, ed::delay::experiment),
    },
    Experiment {
        name: "ed-precedence-gea3",
        description: "the same as ed-precedence with GEA3",
        run: |options| run_ciphered("ed-precedence-gea3", options, GEA3, ed::precedence::experiment),
    },
];

//! `gannet core`: an SGSN, a GGSN and what stands on Gb, in one process.

use crate::ap::AccessPoint;
use crate::bss::BssNode;
use crate::ggsn::GgsnNode;
use crate::node::flags::ProcessFlags;
use crate::node::{self, Part, Prepared};
use crate::sgsn::SgsnNode;
use clap::Args;
use std::path::PathBuf;
use std::process::ExitCode;

/// The flags of `gannet core`: each node with its configuration.
#[derive(Debug, Args)]
#[group(skip)]
pub struct CoreArguments {
    /// An SGSN; the log is as the first of these files has it
    #[arg(long, value_name = "FILE")]
    sgsn: Option<PathBuf>,
    /// A GGSN
    #[arg(long, value_name = "FILE")]
    ggsn: Option<PathBuf>,
    /// Cells and mobiles
    #[arg(long, value_name = "FILE")]
    bss: Option<PathBuf>,
    /// An access point
    #[arg(long, value_name = "FILE")]
    ap: Option<PathBuf>,
    #[command(flatten)]
    process: ProcessFlags,
}

/// Runs them until the process is told to stop.
///
/// # Errors
/// A sentence for the person.
pub fn run(arguments: CoreArguments) -> Result<ExitCode, String> {
    fn read<N: node::Node>(file: PathBuf) -> Result<Box<dyn Part>, String> {
        Prepared::<N>::read(file).map(|prepared| Box::new(prepared) as Box<dyn Part>)
    }
    let CoreArguments { sgsn, ggsn, bss, ap, process } = arguments;
    let all = [
        sgsn.map(read::<SgsnNode>),
        ggsn.map(read::<GgsnNode>),
        bss.map(read::<BssNode>),
        ap.map(read::<AccessPoint>),
    ];
    let parts = all.into_iter().flatten().collect::<Result<Vec<_>, _>>()?;
    if parts.is_empty() {
        return Err(
            "no configuration: say 'gannet core --sgsn FILE --ggsn FILE', with --ap FILE or --bss FILE"
                .to_owned(),
        );
    }
    node::run_all(parts, &process)
}

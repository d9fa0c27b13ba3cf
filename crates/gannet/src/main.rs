//! The person's door to Gannet: `gannet sgsn`, `gannet bss`, `gannet ggsn`, `gannet edge`, `gannet ap`, `gannet core`, `gannet ms`, `gannet vty`,
//! `gannet trace`, `gannet load`, `gannet lab`, `gannet demo`, `gannet demo-ms`, `gannet interop`.

mod ap;
mod bss;
mod cells;
mod core_command;
#[cfg(feature = "lab")]
mod demo_ms_command;
mod edge;
mod fleet;
mod ggsn;
#[cfg(feature = "lab")]
mod interop_command;
#[cfg(feature = "lab")]
mod lab_command;
#[cfg(feature = "lab")]
mod link_command;
mod links;
#[cfg(feature = "lab")]
mod load_command;
mod ms;
mod node;
#[cfg_attr(not(feature = "lab"), expect(dead_code, reason = "the commands of the laboratory take numbers"))]
mod numbers;
mod sgsn;
mod trace_command;
mod vty_command;
#[cfg(test)]
mod words;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io::{self, Write as _};
use std::process::ExitCode;

/// Tables of a million mobiles are touched at random, packet by packet.
#[global_allocator]
static ALLOCATOR: gannet_rt::big_pages::BigPages = gannet_rt::big_pages::BigPages;

/// A GPRS packet core that keeps its promises under overload, and the laboratory that proves it.
#[derive(Debug, Parser)]
#[command(name = "gannet", version, propagate_version = true, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run an SGSN
    Sgsn(sgsn::SgsnFlags),
    /// Run a GGSN
    Ggsn(node::flags::Flags),
    /// Run cells and mobiles
    Bss(node::flags::Flags),
    /// Run an edge router between Ethernet devices
    Edge(node::flags::Flags),
    /// Run an access point for mobiles on Ethernet, wireless LAN or UDP
    Ap(node::flags::Flags),
    /// Run an SGSN, a GGSN and an access point or a BSS in one process
    Core(core_command::CoreArguments),
    /// Run mobiles of this machine, with a network device for each of their contexts
    Ms(ms::MsArguments),
    /// Run commands in a node's VTY and print their answers
    Vty(vty_command::VtyArguments),
    /// What captures of any GPRS network say
    #[command(subcommand)]
    Trace(trace_command::TraceCommand),
    #[cfg(feature = "lab")]
    /// Base stations, mobiles and a GGSN that load any SGSN with traffic
    Load(Box<load_command::LoadArguments>),
    #[cfg(feature = "lab")]
    /// The laboratory: list and run experiments
    #[command(subcommand)]
    Lab(lab_command::LabCommand),
    #[cfg(feature = "lab")]
    /// The main job, end to end, in network namespaces of its own
    Demo(lab_command::DemoArguments),
    #[cfg(feature = "lab")]
    /// A mobile station that changes its bearer during a download, in network namespaces of its own
    DemoMs(demo_ms_command::DemoMsArguments),
    #[cfg(feature = "lab")]
    /// Interoperation with Osmocom's programs, scenario by scenario, in network namespaces of its own
    Interop(interop_command::InteropArguments),
}

fn main() -> ExitCode {
    let matches = numbers::with_negative(Arguments::command()).get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match arguments.command {
        Command::Sgsn(flags) => sgsn::run(flags),
        Command::Ggsn(flags) => ggsn::run(flags),
        Command::Bss(flags) => bss::run(flags),
        Command::Edge(flags) => edge::run(flags),
        Command::Ap(flags) => ap::run(flags),
        Command::Core(arguments) => core_command::run(arguments),
        Command::Ms(arguments) => ms::run(arguments),
        Command::Vty(arguments) => vty_command::run(&arguments),
        Command::Trace(command) => trace_command::run(&command),
        #[cfg(feature = "lab")]
        Command::Load(arguments) => load_command::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Lab(command) => lab_command::run(command),
        #[cfg(feature = "lab")]
        Command::Demo(arguments) => lab_command::demo(&arguments),
        #[cfg(feature = "lab")]
        Command::DemoMs(arguments) => demo_ms_command::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Interop(arguments) => interop_command::run(&arguments),
    };
    let code = result.unwrap_or_else(|message| {
        let _ = writeln!(io::stderr(), "gannet: {message}");
        ExitCode::FAILURE
    });
    if gannet_rt::stdout::failed() { ExitCode::FAILURE } else { code }
}

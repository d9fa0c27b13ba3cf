//! `gannet vty`: commands in a node's VTY, from the command line or from standard input.

use clap::Args;
use gannet_ops::config::Element;
use gannet_ops::vty::client::{Session, is_refusal};
use gannet_ops::{AccessPoint, Bss, EdgeRouter, Ggsn, MobileStation, Sgsn};
use std::io::{self, BufRead, IsTerminal, Write as _};
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

/// The code where the VTY cannot be asked; 1 is that of a command that was refused.
const UNREACHABLE: u8 = 2;

/// The arguments of `gannet vty`.
#[derive(Debug, Args)]
#[command(
    after_help = "All commands run in one session, which begins in the enable node. The first one that is refused ends it, \
with exit code 1, as does one behind 'exit'. Exit code 2: no VTY answers there.

  gannet vty 127.0.0.1:4245 show subscriber all
  gannet vty 127.0.0.1:4245 -c 'configure terminal' -c sgsn -c 'timer T3350 7' -c 'write file'
  gannet vty 127.0.0.1:4245 < commands.txt"
)]
pub struct VtyArguments {
    /// ADDRESS:PORT of the VTY, such as 127.0.0.1:4245
    address: String,
    /// A command; may be repeated
    #[arg(short = 'c', long = "command", value_name = "COMMAND", conflicts_with = "words")]
    commands: Vec<String>,
    /// One command in several words. Without any command, each line of standard input is one
    #[arg(trailing_var_arg = true, value_name = "WORD")]
    words: Vec<String>,
}

/// Runs them, one after the other in one session, until one is refused.
///
/// # Errors
/// Where standard input cannot be read.
pub fn run(arguments: &VtyArguments) -> Result<ExitCode, String> {
    let mut session = match connect(&arguments.address) {
        Ok(session) => session,
        Err(problem) => return Ok(unreachable(&problem)),
    };
    if !arguments.words.is_empty() {
        return Ok(ask(&mut session, &arguments.words.join(" "), "").unwrap_or(ExitCode::SUCCESS));
    }
    if !arguments.commands.is_empty() {
        let mut commands = arguments.commands.iter();
        return Ok(commands.find_map(|command| ask(&mut session, command, "")).unwrap_or(ExitCode::SUCCESS));
    }
    let input = io::stdin();
    let is_person = input.is_terminal();
    for (number, line) in (1..).zip(input.lock().lines()) {
        let line = line.map_err(|error| format!("standard input: {error}"))?;
        let command = line.trim();
        if command.is_empty() || command.starts_with(['!', '#']) {
            continue;
        }
        let place = if is_person { String::new() } else { format!("line {number}: ") };
        match ask(&mut session, command, &place) {
            // A person sees it, and says the next one.
            Some(code) if !is_person || code == ExitCode::from(UNREACHABLE) => return Ok(code),
            _ => {}
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn connect(address: &str) -> Result<Session, String> {
    if address.rsplit_once(':').is_none_or(|(host, port)| host.is_empty() || port.parse::<u16>().is_err()) {
        return Err(format!("'{address}' is not ADDRESS:PORT, such as 127.0.0.1:{}", Sgsn::VTY_PORT));
    }
    let mut found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?;
    let address: SocketAddr = found.next().ok_or_else(|| format!("{address}: no address"))?;
    Session::begin(address).map_err(|error| {
        let [sgsn, ggsn, bss] = [Sgsn::VTY_PORT, Ggsn::VTY_PORT, Bss::VTY_PORT];
        let [edge, ms, ap] = [EdgeRouter::VTY_PORT, MobileStation::VTY_PORT, AccessPoint::VTY_PORT];
        let check = match error.kind() {
            io::ErrorKind::ConnectionRefused => {
                "does the node run there, and does its 'line vty' bind that address and port?"
            }
            io::ErrorKind::TimedOut | io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                "is the address right, and reached from here?"
            }
            _ => "is that the port of a VTY?",
        };
        format!(
            "no VTY at {address}: {error}; {check} Defaults: {sgsn} SGSN, {ggsn} GGSN, {bss} BSS emulator, {edge} edge router, {ms} mobile station, {ap} access point"
        )
    })
}

/// Prints the answer to a command; the exit code where the next one is not to follow.
fn ask(session: &mut Session, command: &str, place: &str) -> Option<ExitCode> {
    match session.ask(command) {
        Ok(answer) => {
            if !answer.is_empty() {
                gannet_rt::outln!("{answer}");
            }
            let refused = is_refusal(&answer);
            if refused {
                let _ = writeln!(io::stderr(), "gannet: {place}'{command}' was refused");
            }
            refused.then_some(ExitCode::FAILURE)
        }
        Err(error) => {
            let code = unreachable(&format!("{place}{error}"));
            Some(if error.kind() == io::ErrorKind::NotConnected { ExitCode::FAILURE } else { code })
        }
    }
}

fn unreachable(problem: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "gannet: {problem}");
    ExitCode::from(UNREACHABLE)
}

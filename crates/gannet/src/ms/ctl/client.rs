//! The client's side: what a person calls.

use super::REQUEST_MAX;
use clap::Args;
use gannet_ops::config::ms::SOCKET;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

/// What can be said.
const COMMANDS: &str = "\
Commands:
  attach                          attach
  detach                          detach, and deactivate all contexts
  activate [CONTEXT]              activate a context, or all that are activated at an attach
  deactivate [CONTEXT]            deactivate a context, or all
  mode CONTEXT acknowledged|unacknowledged
                                  ask for another way of packets
  modify CONTEXT delay-class N    ask for another quality of service
  modify CONTEXT precedence N (protocol|source-port|destination-port) N
                                  other packets belong to a secondary context
  prefer ethernet DEVICE | prefer udp ADDRESS PORT | prefer radio um | prefer cell MCC MNC LAC RAC CI
                                  access points of this bearer, or of this cell, come first
  prefer configured               the order of the configuration's lines 'cell'
  status                          the state of the mobile, or of all
  devices                         network devices of contexts
  cells                           the mobiles' own cells, or those of access points
  drops                           what was dropped or refused, by name
  set LINE                        a line of the configuration's node 'ms', until the next start: llc, compression, …
  watch                           events as they come, until interrupted

The exit code is 0 when the command was taken, and 1 otherwise. An order is taken when it is given to the mobile: 'watch'
and 'status' say what comes of it.";

/// The command line of `gannet ms ctl`.
#[derive(Debug, Args)]
#[command(after_help = COMMANDS)]
pub struct CtlArguments {
    /// The socket of the running mobiles
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Which mobile, from 1; orders are for the first and questions about all unless it is said
    #[arg(long, value_name = "NUMBER")]
    mobile: Option<u32>,
    /// Answer in JSON
    #[arg(long)]
    json: bool,
    /// The command
    #[arg(required = true, value_name = "COMMAND", trailing_var_arg = true)]
    command: Vec<String>,
}

/// Runs it.
///
/// # Errors
/// A sentence for the person.
pub fn run(arguments: &CtlArguments) -> Result<ExitCode, String> {
    let CtlArguments { socket, mobile, json, command } = arguments;
    let command = command.join(" ");
    if command.contains(char::is_control) {
        return Err("a command is one line without control characters".to_owned());
    }
    let format = if *json { "json" } else { "text" };
    let mobile = mobile.map_or_else(|| "-".to_owned(), |mobile| mobile.to_string());
    let request = format!("{format} {mobile} {command}\n");
    if request.len() > REQUEST_MAX {
        return Err(format!("a command has {REQUEST_MAX} octets at most"));
    }
    let describe = |error: io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
                " (does 'gannet ms' run, with this 'ctl socket'?)"
            }
            io::ErrorKind::PermissionDenied => " ('ctl mode' and 'ctl group' say who may use it)",
            _ => "",
        };
        format!("{}: {error}{hint}", socket.display())
    };
    let mut stream = UnixStream::connect(socket).map_err(describe)?;
    stream.write_all(request.as_bytes()).map_err(describe)?;
    let mut answer = BufReader::new(stream);
    let mut line = String::new();
    answer.read_line(&mut line).map_err(describe)?;
    match line.trim_end() {
        "ok" => loop {
            line.clear();
            if answer.read_line(&mut line).map_err(describe)? == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            gannet_rt::outln!("{}", line.trim_end_matches('\n'));
            if gannet_rt::stdout::failed() {
                return Ok(ExitCode::FAILURE);
            }
        },
        "error" => {
            let mut text = String::new();
            io::Read::read_to_string(&mut answer, &mut text).map_err(describe)?;
            if *json {
                gannet_rt::outln!("{}", text.trim_end());
                return Ok(ExitCode::FAILURE);
            }
            Err(text.trim_end().to_owned())
        }
        _ => Err(format!("{}: that is not the socket of 'gannet ms'", socket.display())),
    }
}

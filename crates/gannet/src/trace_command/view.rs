//! `gannet trace view`: the page of a trace.

use super::Files;
use clap::Args;
use gannet_analysis::cipher::Key;
use gannet_view::index::Index;
use gannet_view::live::Watched;
use gannet_view::server::Server;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// The arguments of `gannet trace view`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page is served on 127.0.0.1 alone, and opens with the token of the address that is printed. Ctrl-C ends it. For captures on another
machine:

  ssh -t -L 8000:127.0.0.1:8000 HOST gannet trace view --port 8000 FILE

A node that has `trace socket /run/gannet/sgsn.trace` in its configuration shows its last minutes:

  gannet trace view --live /run/gannet/sgsn.trace"
)]
pub struct ViewArguments {
    /// Captures: pcap or pcapng, also packed by gzip or zstd
    #[arg(value_name = "FILE", required_unless_present = "live")]
    files: Vec<PathBuf>,
    /// The last minutes of a node that runs: the socket of its `trace socket`
    #[arg(long, value_name = "SOCKET", conflicts_with = "files")]
    live: Option<PathBuf>,
    /// A UDP port of NS, besides 23000 and what is known as NS by its contents; may be repeated
    #[arg(long = "ns-port", value_name = "PORT")]
    ns_ports: Vec<u16>,
    /// A key that opens ciphered LL-PDUs: Kc of 16 hexadecimal digits, for GEA4 of 32; of one mobile with its IMSI in front. May be repeated
    #[arg(long = "kc", value_name = "[IMSI=]HEX")]
    keys: Vec<Key>,
    /// Takes the times of several files as they are stamped
    #[arg(long)]
    as_stamped: bool,
    /// The port; 0 takes one that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

/// Reads the captures and serves the page until it is ended.
///
/// # Errors
/// A sentence for the person.
pub(super) fn view(arguments: &ViewArguments) -> Result<ExitCode, String> {
    let temporary = |error: io::Error| format!("a temporary file: {error}");
    let (index, watched, ended) = match &arguments.live {
        Some(socket) => {
            let watched =
                Watched::connect(socket).map_err(|error| format!("{}: {error}", socket.display()))?;
            (watched.index(None).map_err(temporary)?, Some(watched), ExitCode::SUCCESS)
        }
        None => {
            let files = Files {
                files: arguments.files.clone(),
                ns_ports: arguments.ns_ports.clone(),
                keys: arguments.keys.clone(),
                as_stamped: arguments.as_stamped,
                json: false,
                input: super::input::Input::default(),
            };
            let (clocks, settings) = files.aligned()?;
            files.print_clocks(&clocks);
            let mut reading = files.open(settings)?;
            let names = files.files.iter().map(|path| path.display().to_string()).collect();
            let index = Index::of(&mut reading, names).map_err(temporary)?;
            gannet_rt::outln!("{} records.", index.len());
            (index, None, files.ended(&reading))
        }
    };
    let failed = |error: io::Error| format!("127.0.0.1:{}: {error}", arguments.port);
    let server = Server::bind(index, watched, arguments.port).map_err(failed)?;
    gannet_rt::outln!("The page: {}", server.url());
    server.run().map_err(failed)?;
    Ok(ended)
}

//! `gannet trace view`: the page of a trace.

use super::Files;
use clap::Args;
use gannet_view::index::Index;
use gannet_view::server::Server;
use std::process::ExitCode;

/// The arguments of `gannet trace view`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page is served on 127.0.0.1 alone, to this machine. Ctrl-C ends it. For captures on another machine:

  ssh -L 8000:127.0.0.1:8000 HOST gannet trace view --port 8000 FILE"
)]
pub struct ViewArguments {
    #[command(flatten)]
    files: Files,
    /// The port; 0 takes one that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
}

/// Reads the captures and serves the page until it is ended.
///
/// # Errors
/// A sentence for the person.
pub(super) fn view(arguments: &ViewArguments) -> Result<ExitCode, String> {
    let files = &arguments.files;
    let (clocks, settings) = files.aligned()?;
    files.print_clocks(&clocks);
    let mut reading = files.open(settings)?;
    let names = files.files.iter().map(|path| path.display().to_string()).collect();
    let index = Index::of(&mut reading, names).map_err(|error| format!("a temporary file: {error}"))?;
    let damaged = files.ended(&reading);
    let rows = index.len();
    let failed = |error: std::io::Error| format!("127.0.0.1:{}: {error}", arguments.port);
    let server = Server::bind(index, arguments.port).map_err(failed)?;
    let address = server.address().map_err(failed)?;
    gannet_rt::outln!("{rows} records. The page: http://{address}/");
    server.run().map_err(failed)?;
    Ok(damaged)
}

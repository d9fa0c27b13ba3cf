//! What every demo stands on: programs beside us with their files, what is shown meanwhile, and the wish to end.

use super::{Peer, configs};
use crate::testbed::{self, Namespace, Process, TestbedError};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Steps of a demo, for the bar.
const STEPS: u64 = 8;
/// How long anything may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Programs and their files. The programs end with this value: it stands before their namespaces in whoever has both.
pub(crate) struct Stage {
    gannet: PathBuf,
    out: PathBuf,
    stop: Arc<AtomicBool>,
    /// `None` where steps are said in lines.
    bar: Option<ProgressBar>,
    processes: Vec<Process>,
}

impl Stage {
    /// For a demo: signals end it in order, and nothing of a killed run is left.
    pub(crate) fn begin(gannet: &Path, out: &Path, progress: bool) -> Result<Self, TestbedError> {
        let stop = testbed::stop_on_signals()?;
        testbed::remove_leftovers();
        let mut stage = Self::new(gannet, out, stop)?;
        stage.bar = progress.then(|| ProgressBar::new(STEPS));
        if let (Some(bar), Ok(style)) =
            (&stage.bar, ProgressStyle::with_template("[{bar:30}] {pos}/{len} {msg}"))
        {
            bar.set_style(style.progress_chars("=> "));
        }
        Ok(stage)
    }

    /// With files in `out`, until `stop` is set.
    pub(crate) fn new(gannet: &Path, out: &Path, stop: Arc<AtomicBool>) -> Result<Self, TestbedError> {
        std::fs::create_dir_all(out)?;
        let (gannet, out) = (gannet.to_path_buf(), out.to_path_buf());
        Ok(Self { gannet, out, stop, bar: None, processes: Vec::new() })
    }

    /// The program `gannet`.
    pub(crate) fn gannet(&self) -> &Path {
        &self.gannet
    }

    /// A file of this name.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// Is set when all is to end.
    pub(crate) fn stop(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Says what is done next.
    pub(crate) fn step(&mut self, what: &str) -> Result<(), TestbedError> {
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                bar.set_message(what.to_owned());
            }
            None => eprintln!("demo: {what}"),
        }
        self.check()
    }

    /// Says how far it is, where there is a bar.
    pub(crate) fn say(&self, what: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(what);
        }
    }

    /// All programs run, and nobody wants to end.
    pub(crate) fn check(&mut self) -> Result<(), TestbedError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TestbedError::Interrupted);
        }
        self.processes.iter_mut().try_for_each(Process::check)
    }

    /// [`TestbedError::Late`] with the last words of all programs, from `until` on.
    pub(crate) fn in_time(&self, until: Instant, what: &str) -> Result<(), TestbedError> {
        if Instant::now() < until {
            return Ok(());
        }
        let mut hint = format!("; logs are in {}", self.out.display());
        for process in &self.processes {
            hint.push_str(&format!("\n--- {}\n{}", process.name(), process.last_words()));
        }
        Err(TestbedError::Late { what: what.to_owned(), seconds: PATIENCE.as_secs(), hint })
    }

    /// Writes a configuration and gives its path.
    pub(crate) fn config(&self, name: &str, text: &str) -> Result<String, TestbedError> {
        let path = self.file(name);
        std::fs::write(&path, text)?;
        Ok(path.to_string_lossy().into_owned())
    }

    /// Starts a program.
    pub(crate) fn start(
        &mut self,
        name: &str,
        namespace: &Namespace,
        program: &Path,
        arguments: &[&str],
    ) -> Result<(), TestbedError> {
        let mut command = namespace.command(program);
        command.args(arguments);
        self.launch(name, command)
    }

    /// Starts a program in the directory of the files, where it finds its own by their names.
    pub(crate) fn start_among_files(
        &mut self,
        name: &str,
        namespace: &Namespace,
        program: &str,
        arguments: &[&str],
    ) -> Result<(), TestbedError> {
        let mut command = namespace.command(Path::new(program));
        command.args(arguments).current_dir(&self.out);
        self.launch(name, command)
    }

    fn launch(&mut self, name: &str, mut command: Command) -> Result<(), TestbedError> {
        let process = Process::start(name, &mut command, &self.file(&format!("{name}.log")))?;
        self.processes.push(process);
        Ok(())
    }

    /// Starts a node of ours, with a capture.
    pub(crate) fn start_own(
        &mut self,
        role: &str,
        namespace: &Namespace,
        config: &str,
    ) -> Result<(), TestbedError> {
        let capture = self.file(&format!("{role}.pcapng")).to_string_lossy().into_owned();
        let gannet = self.gannet.clone();
        self.start(role, namespace, &gannet, &[role, "-c", config, "--pcap", &capture])
    }

    pub(crate) fn start_ggsn(&mut self, ggsn: Peer, namespace: &Namespace) -> Result<(), TestbedError> {
        let config = self.config("ggsn.cfg", &configs::ggsn(&self.out))?;
        match ggsn {
            Peer::Gannet => self.start_own("ggsn", namespace, &config),
            Peer::Osmocom => self.start("ggsn", namespace, Path::new("osmo-ggsn"), &["-c", &config]),
        }
    }

    /// `of_its_own` is for the SGSN of ours alone.
    pub(crate) fn start_sgsn(
        &mut self,
        sgsn: Peer,
        namespace: &Namespace,
        gtp_version: u8,
        of_its_own: &str,
    ) -> Result<(), TestbedError> {
        let of_its_own = if sgsn == Peer::Gannet { of_its_own } else { "" };
        let config = self.config("sgsn.cfg", &configs::sgsn(&self.out, gtp_version, of_its_own))?;
        match sgsn {
            Peer::Gannet => self.start_own("sgsn", namespace, &config),
            Peer::Osmocom => self.start("sgsn", namespace, Path::new("osmo-sgsn"), &["-c", &config]),
        }
    }

    /// Starts an HTTP server for so many octets.
    pub(crate) fn start_host(
        &mut self,
        namespace: &Namespace,
        address: &str,
        octets: usize,
    ) -> Result<(), TestbedError> {
        let (bind, octets) = (format!("{address}:80"), octets.to_string());
        let seed = super::SEED.to_string();
        let arguments = ["lab", "serve", "--bind", &bind, "--octets", &octets, "--seed", &seed];
        let gannet = self.gannet.clone();
        self.start("host", namespace, &gannet, &arguments)
    }

    /// Has a node's VTY answer.
    pub(crate) fn vty(
        &self,
        namespace: &Namespace,
        address: &str,
        command: &str,
    ) -> Result<String, TestbedError> {
        namespace.output_of(&self.gannet.to_string_lossy(), &["vty", address, command])
    }

    /// Runs a program to its end, or until all is to end.
    pub(crate) fn output_of(
        &self,
        namespace: &Namespace,
        program: &str,
        arguments: &[&str],
    ) -> Result<String, TestbedError> {
        namespace.output_unless(&self.stop, program, arguments)
    }

    /// Ends all programs, the last one first.
    pub(crate) fn end(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.processes.iter_mut().rev().for_each(Process::stop);
    }
}

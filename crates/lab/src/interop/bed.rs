//! The namespaces, processes and files of one scenario, which go with it.

use crate::demo::Peer;
use crate::testbed::{self, Namespace, Process, TestbedError};
use gannet_rig::ProcessSignal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long anything may take that takes no time of its own.
const PATIENCE: Duration = Duration::from_secs(60);

/// Which of the two namespaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The mobiles and their BSS.
    Radio,
    /// SGSN, GGSN and HLR, at addresses of the loopback device.
    Core,
}

/// Where a scenario takes place.
#[derive(Debug)]
pub struct Bed {
    gannet: PathBuf,
    /// Who is the SGSN.
    pub sgsn: Peer,
    directory: PathBuf,
    stop: Arc<AtomicBool>,
    // Processes end before their namespaces go: fields are dropped in this order.
    processes: Vec<Process>,
    radio: Namespace,
    core: Namespace,
}

impl Bed {
    /// Two namespaces that are joined by Gb, and an empty directory.
    ///
    /// # Errors
    /// What the machine does not permit.
    pub fn new(
        gannet: &Path,
        sgsn: Peer,
        (scenario, directory): (&str, PathBuf),
        stop: Arc<AtomicBool>,
    ) -> Result<Self, TestbedError> {
        if directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        std::fs::create_dir_all(&directory)?;
        let label = format!("{scenario}-{}", if sgsn == Peer::Gannet { "g" } else { "o" });
        let radio = Namespace::new(&format!("{label}-radio"))?;
        let core = Namespace::new(&format!("{label}-core"))?;
        testbed::join((&radio, "gb0", "192.0.2.1/30"), (&core, "gb1", "192.0.2.2/30"))?;
        Ok(Self { gannet: gannet.to_path_buf(), sgsn, directory, stop, processes: Vec::new(), radio, core })
    }

    /// Where its files are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// One of the namespaces.
    #[must_use]
    pub const fn namespace(&self, at: At) -> &Namespace {
        match at {
            At::Radio => &self.radio,
            At::Core => &self.core,
        }
    }

    /// Writes one of its files.
    ///
    /// # Errors
    /// Where that fails.
    pub fn write(&self, name: &str, text: &str) -> Result<(), TestbedError> {
        Ok(std::fs::write(self.directory.join(name), text)?)
    }

    /// Starts a program in the directory, with its outputs in `NAME.log`. The program `gannet` is the one that runs.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(
        &mut self,
        (name, at): (&str, At),
        program: &str,
        arguments: &[&str],
    ) -> Result<(), TestbedError> {
        let path = if program == "gannet" { self.gannet.clone() } else { PathBuf::from(program) };
        let mut command = self.namespace(at).command(&path);
        command.args(arguments).current_dir(&self.directory);
        let log = self.directory.join(format!("{name}.log"));
        self.processes.push(Process::start(name, &mut command, &log)?);
        Ok(())
    }

    /// Ends these programs in order, one after the other.
    pub fn stop(&mut self, names: &[&str]) {
        for name in names {
            self.processes.retain_mut(|process| {
                let stays = process.name() != *name;
                if !stays {
                    process.stop();
                }
                stays
            });
        }
    }

    /// Whether a program of this name was started and neither stopped nor killed.
    #[must_use]
    pub fn runs(&self, name: &str) -> bool {
        self.processes.iter().any(|process| process.name() == name)
    }

    /// Ends a program as a failure of power does.
    ///
    /// # Errors
    /// Where the operating system refuses.
    pub fn kill(&mut self, name: &str) -> Result<(), TestbedError> {
        let place = self.processes.iter().position(|process| process.name() == name);
        match place.map(|place| self.processes.remove(place)) {
            Some(mut process) => Ok(process.kill()?),
            None => Ok(()),
        }
    }

    /// Tells a program of this name.
    pub fn signal(&self, name: &str, what: ProcessSignal) {
        self.processes
            .iter()
            .filter(|process| process.name() == name)
            .for_each(|process| process.signal(what));
    }

    /// Writes what this device carries into a file, until [`Bed::end_captures`].
    ///
    /// # Errors
    /// Where `dumpcap` cannot be started or does not begin.
    pub fn capture(&mut self, at: At, device: &str, file: &str, filter: &str) -> Result<(), TestbedError> {
        let name = format!("capture-{file}");
        let arguments = ["-q", "-i", device, "-f", filter, "-w", file];
        self.start((&name, at), "dumpcap", &arguments)?;
        let path = self.directory.join(file);
        self.until("the beginning of a capture", |_| {
            std::fs::metadata(&path).is_ok_and(|meta| meta.len() > 0).then_some(())
        })
    }

    /// Ends all captures.
    pub fn end_captures(&mut self) {
        let names: Vec<String> = self.processes.iter().map(|process| process.name().to_owned()).collect();
        for name in names.iter().filter(|name| name.starts_with("capture-")) {
            self.stop(&[name]);
        }
    }

    /// What a node answers to a command of its VTY; `None` where it refuses, or is not there (yet).
    #[must_use]
    pub fn vty(&self, at: At, address: &str, command: &str) -> Option<String> {
        let program = self.gannet.to_string_lossy();
        self.namespace(at).output_of(&program, &["vty", address, command]).ok()
    }

    /// A program in a namespace, to its end or to Ctrl-C: what it printed, and whether it was content.
    ///
    /// # Errors
    /// Where it cannot be started, or [`TestbedError::Interrupted`].
    pub fn run(&self, at: At, program: &str, arguments: &[&str]) -> Result<(bool, String), TestbedError> {
        let mut command = self.namespace(at).command(Path::new(program));
        command.args(arguments).current_dir(&self.directory);
        let output = testbed::run_unless(&self.stop, &mut command, program)?;
        let said = [output.stdout, output.stderr].concat();
        Ok((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
    }

    /// Is everybody still there, and nobody in a hurry?
    ///
    /// # Errors
    /// Who has ended, and its last words.
    pub fn check(&mut self) -> Result<(), TestbedError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TestbedError::Interrupted);
        }
        self.processes.iter_mut().try_for_each(Process::check)
    }

    /// Waits until `found` has something.
    ///
    /// # Errors
    /// Where it has nothing for a minute, or somebody ends.
    pub fn until<T>(&mut self, what: &str, found: impl FnMut(&Self) -> Option<T>) -> Result<T, TestbedError> {
        self.within(PATIENCE, what, found)
    }

    /// The same for what takes its time, as the other side's timers do.
    ///
    /// # Errors
    /// As there.
    pub fn within<T>(
        &mut self,
        patience: Duration,
        what: &str,
        mut found: impl FnMut(&Self) -> Option<T>,
    ) -> Result<T, TestbedError> {
        let until = Instant::now() + patience;
        loop {
            self.check()?;
            if let Some(found) = found(self) {
                return Ok(found);
            }
            if Instant::now() > until {
                let hint = format!("; logs are in {}", self.directory.display());
                return Err(TestbedError::Late { what: what.to_owned(), seconds: patience.as_secs(), hint });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

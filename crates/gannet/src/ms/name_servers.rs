//! The name servers of a device's network, handed to what resolves names there: systemd-resolved, resolvconf, or in a
//! network namespace the file `/etc/netns/NAME/resolv.conf` (ip-netns(8)).
//!
//! A process beside this one does it (`gannet ms name-servers`), since these programs take their time. It reads lines from a
//! pipe. When the pipe ends, however this process ended, it takes back what is left and ends too.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, BufRead, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The first line of a file of ours.
const MARK: &str = "# Written by gannet ms, which removes it with its devices.";

/// Who resolves names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// `resolvectl`: systemd-resolved forgets a device's servers with the device.
    Resolved,
    /// `resolvconf`
    Resolvconf,
    /// The file of a network namespace.
    Netns(String),
}

impl Way {
    /// That of this machine, or of a network namespace; `None` where there is none.
    pub fn of(netns: Option<&str>) -> Option<Self> {
        if let Some(netns) = netns {
            return Some(Self::Netns(netns.to_owned()));
        }
        let has = |program: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
        };
        if Path::new("/run/systemd/resolve").is_dir() && has("resolvectl") {
            return Some(Self::Resolved);
        }
        has("resolvconf").then_some(Self::Resolvconf)
    }

    fn to_word(&self) -> String {
        match self {
            Self::Resolved => "resolved".to_owned(),
            Self::Resolvconf => "resolvconf".to_owned(),
            Self::Netns(netns) => format!("netns:{netns}"),
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        match word {
            "resolved" => Some(Self::Resolved),
            "resolvconf" => Some(Self::Resolvconf),
            _ => word.strip_prefix("netns:").map(|netns| Self::Netns(netns.to_owned())),
        }
    }
}

/// The servers of a device.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Its name.
    pub device: &'a str,
    /// The servers, first choice first.
    pub servers: &'a [IpAddr],
    /// All names are asked of them, as all packets go there.
    pub is_default: bool,
}

/// The process beside this one, from the first entry on.
#[derive(Debug, Default)]
pub struct NameServers(Option<Child>);

impl NameServers {
    /// Takes over the servers of a device.
    ///
    /// # Errors
    /// Where the process beside this one cannot be started, or has ended.
    pub fn set(&mut self, way: &Way, entry: Entry<'_>) -> io::Result<()> {
        let servers: Vec<String> = entry.servers.iter().map(IpAddr::to_string).collect();
        let scope = if entry.is_default { "default" } else { "own" };
        self.say(&format!("set {} {} {scope} {}\n", entry.device, way.to_word(), servers.join(" ")))
    }

    /// Takes those of a device back.
    pub fn clear(&mut self, device: &str) {
        // Without the process they are taken back already.
        let _ = self.say(&format!("clear {device}\n"));
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let child = match &mut self.0 {
            Some(child) => child,
            none => none.insert(start()?),
        };
        let said = match &mut child.stdin {
            Some(pipe) => pipe.write_all(line.as_bytes()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        if said.is_err() {
            // Another one is started with the next entry.
            let _ = child.wait();
            self.0 = None;
        }
        said
    }
}

impl Drop for NameServers {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// Starts the process beside this one. It outlives the signals that end this one, so that it can take back everything.
fn start() -> io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "trap '' HUP INT TERM; exec \"$0\" ms name-servers"]).arg(std::env::current_exe()?);
    command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

/// The process beside this one: `gannet ms name-servers`.
pub fn run() {
    let mut kept = Kept::new(PathBuf::from("/etc/netns"));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if let Err(error) = kept.line(&line) {
            let _ = writeln!(io::stderr(), "gannet ms: name servers: {error}");
        }
    }
    let _ = kept.clear_all();
}

/// What was handed over, and is to be taken back.
struct Kept {
    netns: PathBuf,
    devices: BTreeMap<String, (Way, Vec<String>)>,
    /// Directories that were made here.
    made: BTreeSet<PathBuf>,
}

impl Kept {
    const fn new(netns: PathBuf) -> Self {
        Self { netns, devices: BTreeMap::new(), made: BTreeSet::new() }
    }

    fn line(&mut self, line: &str) -> Result<(), String> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["set", device, way, scope, ref servers @ ..] => {
                let way = Way::of_word(way).ok_or_else(|| format!("there is no way '{way}'"))?;
                let servers: Vec<String> = servers.iter().map(|server| (*server).to_owned()).collect();
                self.devices.insert(device.to_owned(), (way.clone(), servers.clone()));
                match way {
                    Way::Resolved => {
                        let all = ["dns", device].into_iter().chain(servers.iter().map(String::as_str));
                        program("resolvectl", &all.collect::<Vec<_>>(), "")?;
                        let is_default = if scope == "default" { "yes" } else { "no" };
                        program("resolvectl", &["default-route", device, is_default], "")
                    }
                    Way::Resolvconf => {
                        program("resolvconf", &["-a", &interface(device)], &servers_of(&servers))
                    }
                    Way::Netns(netns) => self.write(&netns),
                }
            }
            ["clear", device] => self.clear(device),
            _ => Err(format!("'{line}' is not understood")),
        }
    }

    fn clear(&mut self, device: &str) -> Result<(), String> {
        match self.devices.remove(device) {
            Some((Way::Resolvconf, _)) => program("resolvconf", &["-d", &interface(device)], ""),
            Some((Way::Netns(netns), _)) => self.write(&netns),
            // The device has gone, and systemd-resolved has seen it.
            Some((Way::Resolved, _)) | None => Ok(()),
        }
    }

    fn clear_all(&mut self) -> Result<(), String> {
        let devices: Vec<String> = self.devices.keys().cloned().collect();
        let results: Vec<_> = devices.iter().map(|device| self.clear(device)).collect();
        results.into_iter().collect()
    }

    /// The file of a network namespace has the servers of all its devices; without any it goes.
    fn write(&mut self, netns: &str) -> Result<(), String> {
        let directory = self.netns.join(netns);
        let file = directory.join("resolv.conf");
        let describe = |error: io::Error| format!("{}: {error}", file.display());
        match fs::read_to_string(&file) {
            Ok(text) if !text.starts_with(MARK) => {
                return Err(format!("{} was there before and is left as it is", file.display()));
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(describe(error)),
            Ok(_) | Err(_) => {}
        }
        let of_netns = self.devices.values().filter(|(way, _)| *way == Way::Netns(netns.to_owned()));
        let servers: Vec<String> = of_netns.flat_map(|(_, servers)| servers.clone()).collect();
        if servers.is_empty() {
            let removed = fs::remove_file(&file);
            if self.made.remove(&directory) {
                // Somebody may have put something else there.
                let _ = fs::remove_dir(&directory);
            }
            return match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(describe(error)),
                _ => Ok(()),
            };
        }
        if !directory.is_dir() {
            fs::create_dir_all(&directory).map_err(describe)?;
            self.made.insert(directory.clone());
        }
        // `ip netns exec` finds either the old file or the new one.
        let new = directory.join("resolv.conf.gannet");
        let text = format!("{MARK}\n{}", servers_of(&servers));
        fs::write(&new, text).and_then(|()| fs::rename(&new, &file)).map_err(describe)
    }
}

/// The name under which resolvconf knows the servers of a device.
fn interface(device: &str) -> String {
    format!("{device}.gannet")
}

fn servers_of(servers: &[String]) -> String {
    servers.iter().map(|server| format!("nameserver {server}\n")).collect()
}

fn program(name: &str, arguments: &[&str], input: &str) -> Result<(), String> {
    let run = || {
        let mut command = Command::new(name);
        let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        if let Some(mut pipe) = child.stdin.take() {
            pipe.write_all(input.as_bytes())?;
        }
        child.wait()
    };
    match run() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} {}: {status}", arguments.join(" "))),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_testkit::TempDir;

    #[test]
    fn the_file_of_a_namespace_has_all_servers_and_goes_with_the_last() {
        let directory = TempDir::new("gannet-netns");
        let mut kept = Kept::new(directory.path().join("netns"));
        let file = directory.path().join("netns/blue/resolv.conf");
        kept.line("set a0 netns:blue own 192.0.2.53 192.0.2.54").unwrap();
        kept.line("set a1 netns:blue own 192.0.2.55").unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let servers: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("nameserver ")).collect();
        assert_eq!(servers, ["192.0.2.53", "192.0.2.54", "192.0.2.55"]);
        kept.line("clear a0").unwrap();
        assert!(!fs::read_to_string(&file).unwrap().contains("192.0.2.53"));
        kept.line("clear a1").unwrap();
        assert!(!file.exists() && !file.parent().unwrap().exists());
        kept.line("clear a1").unwrap();
    }

    #[test]
    fn what_is_left_is_taken_back_at_the_end_and_what_was_there_before_stays() {
        let directory = TempDir::new("gannet-netns");
        let mut kept = Kept::new(directory.path().to_path_buf());
        kept.line("set a0 netns:blue own 192.0.2.53").unwrap();
        kept.clear_all().unwrap();
        assert!(!directory.path().join("blue").exists());
        let file = directory.path().join("red/resolv.conf");
        fs::create_dir(file.parent().unwrap()).unwrap();
        fs::write(&file, "nameserver 192.0.2.1\n").unwrap();
        let error = kept.line("set a0 netns:red own 192.0.2.53").unwrap_err();
        assert!(error.ends_with("was there before and is left as it is"), "{error}");
        let _ = kept.clear_all();
        assert_eq!(fs::read_to_string(&file).unwrap(), "nameserver 192.0.2.1\n");
        for wrong in ["", "set", "set a0 nothing own 1", "clear"] {
            assert!(kept.line(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ways_come_back() {
        for way in [Way::Resolved, Way::Resolvconf, Way::Netns("blue".to_owned())] {
            assert_eq!(Way::of_word(&way.to_word()), Some(way));
        }
        assert_eq!(Way::of(Some("blue")), Some(Way::Netns("blue".to_owned())));
    }
}

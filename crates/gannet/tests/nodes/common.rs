//! Nodes as processes, as a person starts them.

use gannet_rig::NetworkNamespace;
use gannet_testkit::netns::Netns;
use gannet_testkit::{TempDir, tshark};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The program under test.
pub const GANNET: &str = env!("CARGO_BIN_EXE_gannet");

/// How long anything may take here.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the program to its end.
pub fn gannet(arguments: &[&str]) -> Output {
    Command::new(GANNET).args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// What it wrote on both outputs.
pub fn said(output: &Output) -> String {
    [output.stdout.as_slice(), &output.stderr].concat().iter().map(|octet| char::from(*octet)).collect()
}

/// Runs it and expects success.
pub fn succeed(arguments: &[&str]) -> String {
    let output = gannet(arguments);
    assert!(output.status.success(), "gannet {}: {}", arguments.join(" "), said(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs it and expects exit code 1 with one line on standard error.
pub fn fail(arguments: &[&str]) -> String {
    let output = gannet(arguments);
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "gannet {}: {text}", arguments.join(" "));
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    text.trim_end().to_owned()
}

/// An address of the loopback device that no other test has, of this process or of another one: ports are fixed. Each test has
/// a number of its own.
pub fn own_address(number: u8) -> String {
    let [.., high, low] = std::process::id().to_be_bytes();
    format!("127.{number}.{high}.{low}")
}

/// A file in a directory, as an argument.
pub fn file(directory: &TempDir, name: &str, content: &str) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, content).unwrap();
    path.to_string_lossy().into_owned()
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The lines of a chapter's code blocks that are marked so.
pub fn blocks(chapter: &str, mark: &str) -> Vec<String> {
    let fence = format!("```{mark}\n");
    let mut blocks = Vec::new();
    let mut rest = chapter;
    while let Some((_, after)) = rest.split_once("```") {
        let Some((block, next)) = after.split_once("```") else { break };
        if let Some(lines) = format!("```{block}").strip_prefix(&fence) {
            blocks.push(lines.to_owned());
        }
        rest = next;
    }
    blocks
}

/// PDUs of the adaptation protocol in a capture, by Ethernet and by UDP. Wireshark reads each by our dissector, and finds nothing
/// malformed in the capture.
pub fn adaptation_pdus(capture: &Path) -> [usize; 2] {
    let script = format!("lua_script:{}", repository().join("docs/gannet-adaptation.lua").display());
    let frames = |filter: &str| {
        // What users send is not looked at.
        let no_tcp = ["--disable-protocol", "tcp"];
        let options = [&["-X", &script, "-d", "udp.port==23000,gprs-ns", "-Y", filter], &no_tcp[..]].concat();
        tshark::dissect_file(&capture.to_string_lossy(), &options, &["frame.number", "frame.protocols"])
    };
    let wrong = "gannet_adaptation && (_ws.malformed || gannet_adaptation.short) || _ws.lua.error";
    assert_eq!(frames(wrong), tshark::Rows::new(), "{}", capture.display());
    ["eth.type == 0x88b5", "udp.port == 34997"].map(|carried| {
        let (all, read) = (frames(carried).len(), frames(&format!("{carried} && gannet_adaptation")).len());
        assert_eq!(all, read, "{carried} in {}", capture.display());
        read
    })
}

/// The same of all captures in a directory.
pub fn adaptation_captures(directory: &Path) -> [usize; 2] {
    let mut seen = [0; 2];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "pcapng") {
            let [ethernet, udp] = adaptation_pdus(&path);
            seen = [seen[0] + ethernet, seen[1] + udp];
        }
    }
    seen
}

/// Waits until `condition` has something.
pub fn wait_for<T>(what: &str, condition: impl FnMut() -> Option<T>) -> T {
    wait_within(PATIENCE, what, condition)
}

/// The same for what may take longer.
pub fn wait_within<T>(patience: Duration, what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + patience;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < until, "{what} did not happen within {patience:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a signal to a process, or to a group by its negative number, with the shell's own `kill`: the program is in a package
/// that a small system does not have.
pub fn signal(pid: &str, name: &str) {
    let status = Command::new("sh").args(["-c", "kill -s \"$0\" -- \"$1\"", name, pid]).status();
    assert!(status.unwrap().success());
}

/// Network namespaces of a process that has ended, and processes that still use its directory.
pub fn left_behind(pid: u32, directory: &Path) -> Vec<String> {
    let prefix = format!("gannet-demo-{pid}-");
    let namespaces = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let namespaces = namespaces.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let directory = directory.to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        line.contains(&directory).then_some(line)
    });
    namespaces.filter(|name| name.starts_with(&prefix)).chain(processes).collect()
}

/// A node that runs beside the test, killed when dropped.
pub struct Node {
    child: Child,
    log: PathBuf,
    vty: String,
}

impl Node {
    /// Starts a node whose VTY will be at `vty`, and waits until that answers.
    pub fn start(directory: &TempDir, vty: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(GANNET);
        command.args(arguments);
        let mut node = Self::spawn(directory, vty, command, arguments[0]);
        wait_for("the answer of the VTY", || {
            let ended = node.child.try_wait().unwrap();
            assert!(ended.is_none(), "{ended:?}: {}", node.log());
            node.try_vty("show version")
        });
        node
    }

    /// Starts any command line with its outputs in a log.
    pub fn spawn(directory: &TempDir, vty: &str, mut command: Command, name: &str) -> Self {
        let log = directory.path().join(format!("{name}.out"));
        let file = File::create(&log).unwrap();
        command.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        Self { child: command.spawn().unwrap(), log, vty: vty.to_owned() }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    fn try_vty(&self, command: &str) -> Option<String> {
        let output = gannet(&["vty", &self.vty, command]);
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    /// What its VTY answers to a command that it takes.
    pub fn vty(&self, command: &str) -> String {
        let output = gannet(&["vty", &self.vty, command]);
        assert!(output.status.success(), "{command}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What its VTY answers to a command that it refuses.
    pub fn refused(&self, command: &str) -> String {
        let output = gannet(&["vty", &self.vty, command]);
        assert!(!output.status.success(), "{command}: {}", said(&output));
        said(&output)
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        signal(&self.child.id().to_string(), name);
    }

    /// Its end.
    pub fn wait(&mut self) -> ExitStatus {
        let child = &mut self.child;
        wait_for("the end of the node", || child.try_wait().unwrap())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does something in a network namespace, on a thread of its own.
pub fn within<T: Send + 'static>(netns: &Netns, act: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let name = netns.name().to_owned();
    std::thread::spawn(move || {
        NetworkNamespace::named(&name).unwrap().enter().unwrap();
        act()
    })
}

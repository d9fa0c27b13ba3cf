//! The server's side, in the loop of the mobiles.

use super::super::MsNode;
use super::REQUEST_MAX;
use super::request::{Format, Request, grammar};
use crate::node::Running;
use gannet_machine::time::{Duration, Instant};
use gannet_ops::MobileStation;
use gannet_ops::config::ms::CtlConfig;
use gannet_ops::grammar::Grammar;
use gannet_rt::{Access, Service};
use mio::Interest;
use mio::unix::SourceFd;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Clients at once; another one has to wait until one goes.
const CLIENTS_MAX: usize = 64;
/// How long a client may take for its request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Octets that wait for a client which watches; who reads so slowly is cut.
const WAITING_MAX: usize = 256 * 1024;
/// The number under which the listener is polled; clients have theirs, from 1.
const LISTENER: u32 = 0;

/// Events for those who watch: as text and as JSON.
#[derive(Debug, Default)]
pub struct News {
    /// How many watch.
    watching: usize,
    lines: VecDeque<(Option<u32>, String, serde_json::Value)>,
}

impl News {
    /// Tells something of a mobile, by its index, where anybody watches.
    pub fn tell(&mut self, mobile: u32, text: &str) {
        if self.watching > 0 {
            let number = mobile.saturating_add(1);
            let json = serde_json::json!({ "mobile": number, "event": text });
            self.lines.push_back((Some(number), format!("mobile {number}: {text}\n"), json));
        }
    }
}

/// Opens the socket, with the permissions that are asked for from its first moment on.
///
/// # Errors
/// A sentence: something else is there, or the machine does not permit it.
pub fn open(config: &CtlConfig) -> Result<Option<(UnixListener, PathBuf)>, String> {
    let Some(path) = config.path.as_ref().map(PathBuf::from) else { return Ok(None) };
    let describe = |error: io::Error| format!("ctl socket {}: {error}", path.display());
    match fs::symlink_metadata(&path) {
        Ok(there) if !there.file_type().is_socket() => {
            return Err(format!("ctl socket {}: something else is there", path.display()));
        }
        Ok(_) if UnixStream::connect(&path).is_ok() => {
            let hint = "is another 'gannet ms' running there?";
            return Err(format!("ctl socket {}: somebody answers there ({hint})", path.display()));
        }
        Ok(_) | Err(_) => {}
    }
    let mut new = path.clone().into_os_string();
    new.push(format!(".{}", std::process::id()));
    let new = PathBuf::from(new);
    let _ = fs::remove_file(&new);
    let listener = UnixListener::bind(&new).map_err(describe)?;
    let made = || {
        if let Some(group) = &config.group {
            let id = group_id(group).ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("there is no group {group}"))
            })?;
            std::os::unix::fs::chown(&new, None, Some(id))?;
        }
        fs::set_permissions(&new, fs::Permissions::from_mode(config.mode))?;
        listener.set_nonblocking(true)?;
        // What an earlier process has left behind goes.
        fs::rename(&new, &path)
    };
    if let Err(error) = made() {
        let _ = fs::remove_file(&new);
        return Err(describe(error));
    }
    Ok(Some((listener, path)))
}

fn group_id(name: &str) -> Option<u32> {
    let groups = fs::read_to_string("/etc/group").ok()?;
    let mut lines = groups.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find(|fields| fields.first() == Some(&name))?.get(2)?.parse().ok()
}

struct Client {
    stream: UnixStream,
    request: Vec<u8>,
    answer: VecDeque<u8>,
    /// The request was read.
    is_answered: bool,
    watches: Option<Request>,
    /// No more is to be read or written.
    is_over: bool,
    until: Instant,
}

impl Client {
    fn read(&mut self) {
        let mut octets = [0; 256];
        loop {
            match self.stream.read(&mut octets) {
                Ok(0) => {
                    // One that has said nothing, or has seen enough.
                    self.is_over |= !self.is_answered || self.watches.is_some();
                    return;
                }
                Ok(len) if !self.is_answered => {
                    self.request.extend(octets.get(..len).unwrap_or_default());
                    if self.request.len() > REQUEST_MAX {
                        self.is_over = true;
                        return;
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.is_over = true;
                    return;
                }
            }
        }
    }

    /// The request, once it is whole.
    fn take_request(&mut self) -> Option<String> {
        let end = self.request.iter().position(|octet| *octet == b'\n').filter(|_| !self.is_answered)?;
        self.is_answered = true;
        Some(String::from_utf8_lossy(self.request.get(..end).unwrap_or_default()).into_owned())
    }

    fn write(&mut self) {
        while !self.answer.is_empty() {
            match self.stream.write(self.answer.as_slices().0) {
                Ok(len) => drop(self.answer.drain(..len)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.is_over = true;
                    return;
                }
            }
        }
        self.is_over |= self.is_answered && self.watches.is_none();
    }
}

/// The socket as a service of the loop.
pub struct CtlService {
    listener: UnixListener,
    path: PathBuf,
    running: Rc<RefCell<Running<MsNode>>>,
    news: Rc<RefCell<News>>,
    grammar: Grammar<MobileStation>,
    clients: BTreeMap<u32, Client>,
    next: u32,
    due: bool,
}

impl CtlService {
    /// For these mobiles.
    pub fn new(
        (listener, path): (UnixListener, PathBuf),
        running: Rc<RefCell<Running<MsNode>>>,
        news: Rc<RefCell<News>>,
    ) -> Self {
        let (clients, grammar) = (BTreeMap::new(), grammar());
        Self { listener, path, running, news, grammar, clients, next: 1, due: false }
    }

    fn accept(&mut self, access: &mut Access<'_>) {
        while self.clients.len() < CLIENTS_MAX {
            let Ok((stream, _)) = self.listener.accept() else { return };
            let (number, fd) = (self.next, stream.as_raw_fd());
            self.next = self.next.checked_add(1).unwrap_or(1);
            let both = Interest::READABLE | Interest::WRITABLE;
            let is_polled =
                stream.set_nonblocking(true).and_then(|()| access.register(&mut SourceFd(&fd), number, both));
            if is_polled.is_err() {
                continue;
            }
            let client = Client {
                stream,
                request: Vec::new(),
                answer: VecDeque::new(),
                is_answered: false,
                watches: None,
                is_over: false,
                until: access.now() + PATIENCE,
            };
            self.clients.insert(number, client);
        }
    }

    fn serve(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        for client in self.clients.values_mut() {
            client.read();
            if let Some(line) = client.take_request() {
                let (status, text) = match Request::parse(&line) {
                    Ok(request) if request.watches() => {
                        client.watches = Some(request);
                        ("ok", String::new())
                    }
                    Ok(request) => {
                        match request.answer(&mut self.running.borrow_mut(), &self.grammar, access) {
                            Ok(text) => ("ok", text),
                            Err(why) => ("error", Request::refusal(request.format, &why)),
                        }
                    }
                    Err(why) => ("error", Request::refusal(Format::Text, &why)),
                };
                client.answer.extend(status.bytes().chain(*b"\n").chain(text.bytes()));
            }
            client.is_over |= client.until <= now && !client.is_answered;
        }
        let mut news = self.news.borrow_mut();
        for (number, text, json) in news.lines.drain(..) {
            for client in self.clients.values_mut() {
                let Some(request) = &client.watches else { continue };
                if request.mobile.is_some() && request.mobile != number {
                    continue;
                }
                match request.format {
                    Format::Text => client.answer.extend(text.bytes()),
                    Format::Json => client.answer.extend(format!("{json}\n").bytes()),
                }
            }
        }
        for client in self.clients.values_mut() {
            client.write();
            client.is_over |= client.answer.len() > WAITING_MAX && client.watches.is_some();
        }
        // Closing takes a client off the poll.
        self.clients.retain(|_, client| !client.is_over);
        news.watching = self.clients.values().filter(|client| client.watches.is_some()).count();
    }
}

impl Service for CtlService {
    fn start(&mut self, access: &mut Access<'_>) -> io::Result<()> {
        access.register(&mut SourceFd(&self.listener.as_raw_fd()), LISTENER, Interest::READABLE)
    }

    fn ready(&mut self, _number: u32, _readable: bool, _writable: bool, _access: &mut Access<'_>) {
        self.due = true;
    }

    fn round(&mut self, access: &mut Access<'_>) {
        let now = access.now();
        let late = self.clients.values().any(|client| !client.is_answered && client.until <= now);
        if !self.due && !late && self.news.borrow().lines.is_empty() {
            return;
        }
        self.accept(access);
        self.serve(access);
        // Room may have come for clients that were told of once.
        self.accept(access);
        self.due = self.clients.values().any(|client| {
            !client.is_answered && !client.request.is_empty() && client.request.contains(&b'\n')
        });
    }

    fn next_wake(&self) -> Option<Instant> {
        if self.due {
            return Some(Instant::ZERO);
        }
        self.clients.values().filter(|client| !client.is_answered).map(|client| client.until).min()
    }
}

impl Drop for CtlService {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// The socket goes with the process; one that was killed leaves it, and the next one takes its place.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_testkit::TempDir;

    fn config(path: &Path) -> CtlConfig {
        CtlConfig { path: Some(path.to_string_lossy().into_owned()), ..CtlConfig::default() }
    }

    #[test]
    fn a_socket_is_its_owners_alone_and_takes_the_place_of_one_left_behind() {
        let directory = TempDir::new("gannet-ctl");
        let path = directory.path().join("ms.sock");
        drop(UnixListener::bind(&path).unwrap());
        let (listener, opened) = open(&config(&path)).unwrap().unwrap();
        assert_eq!(opened, path);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let busy = open(&config(&path)).unwrap_err();
        assert!(busy.contains("somebody answers there"), "{busy}");
        drop(listener);
        let nobody = CtlConfig { group: Some("no-such-group".to_owned()), ..config(&path) };
        assert!(open(&nobody).unwrap_err().ends_with("there is no group no-such-group"));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(open(&config(&file)).unwrap_err().ends_with("something else is there"));
        assert!(open(&CtlConfig { path: None, ..config(&path) }).unwrap().is_none());
    }

    #[test]
    fn groups_have_numbers() {
        assert_eq!(group_id("root"), Some(0));
        assert_eq!(group_id("no-such-group"), None);
    }
}

//! Programs and maps of the kernel: an object is loaded, its programs are attached, its maps read and written.
//!
//! What is loaded here belongs to the process: programs are attached by links and nothing is pinned, so that the kernel
//! takes programs, maps and links away with the process, however it ends.

mod error;
mod held;
mod mapped;

pub use error::{Error, may_load};
pub use held::Held;
pub use mapped::{MappedArray, Shared};

pub use aya::include_bytes_aligned;

use aya::maps::{Array, HashMap, Map, MapData, PerCpuArray, XskMap};
use aya::programs::links::FdLink;
use aya::programs::{
    Program, ProgramError, ProgramFd, RawTracePoint, SkReuseport, SocketFilter, TestRun as _, TestRunAttrs,
    TestRunOptions, Xdp,
};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// An object file of the build: the programs and maps of one `bpf/NAME.bpf.c`.
#[derive(Debug)]
pub struct Bytecode {
    name: &'static str,
    octets: &'static [u8],
}

/// The object files of this build.
pub mod objects {
    use super::{Bytecode, include_bytes_aligned};

    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}

impl Bytecode {
    /// An object of a build: `octets` from [`include_bytes_aligned`], none where the build had no clang.
    #[must_use]
    pub const fn new(name: &'static str, octets: &'static [u8]) -> Self {
        Self { name, octets }
    }

    /// Its name, without `.bpf.c`.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// False where the build had no clang.
    #[must_use]
    pub const fn is_built(&self) -> bool {
        !self.octets.is_empty()
    }
}

/// The verifier ends with EAGAIN when a signal is there for the process, which asks again then, as libbpf does.
const VERIFIER_ATTEMPTS: u32 = 5;

/// Has a program verified and loaded.
fn verified(name: &str, load: impl FnMut() -> Result<(), ProgramError>) -> Result<(), Error> {
    let is_interrupted = |error: &ProgramError| match error {
        ProgramError::LoadError { io_error, .. } => io_error.kind() == io::ErrorKind::WouldBlock,
        _ => false,
    };
    attempt(load, is_interrupted).map_err(|error| Error::of_program(name, error))
}

fn attempt<E>(mut load: impl FnMut() -> Result<(), E>, is_interrupted: impl Fn(&E) -> bool) -> Result<(), E> {
    for _ in 1..VERIFIER_ATTEMPTS {
        match load() {
            Err(error) if is_interrupted(&error) => {}
            result => return result,
        }
    }
    load()
}

/// Why this process cannot load XDP programs, found out by loading one; `None` where it can.
#[must_use]
pub fn missing() -> Option<String> {
    let mut probe = match Loader::new(&objects::PROBE).load() {
        Ok(object) => object,
        Err(error) => return Some(error.to_string()),
    };
    probe.load_xdp("probe").err().map(|error| error.to_string())
}

/// How an object is to be loaded.
#[allow(missing_debug_implementations, reason = "the library's loader has none")]
pub struct Loader<'a> {
    code: &'static Bytecode,
    loader: aya::EbpfLoader<'a>,
}

impl<'a> Loader<'a> {
    /// An object as it was compiled.
    #[must_use]
    pub fn new(code: &'static Bytecode) -> Self {
        let mut loader = aya::EbpfLoader::new();
        // The programs touch no structure of the kernel that changes with its version: its types are not needed.
        loader.btf(None);
        Self { code, loader }
    }

    /// Sets a `const volatile` variable; the octets are in the machine's order and as many as the variable has.
    #[must_use]
    pub fn global(mut self, name: &'a str, octets: &'a [u8]) -> Self {
        self.loader.override_global(name, octets, true);
        self
    }

    /// The number of entries of a map.
    #[must_use]
    pub fn max_entries(mut self, map: &'a str, entries: u32) -> Self {
        self.loader.map_max_entries(map, entries);
        self
    }

    /// Makes the maps. Programs are verified when each is asked for.
    ///
    /// # Errors
    /// [`Error::NotBuilt`], [`Error::NoCapability`], [`Error::LockedMemory`], [`Error::NoMemory`], or
    /// [`Error::Load`] where a variable has another size.
    pub fn load(mut self) -> Result<Object, Error> {
        if !self.code.is_built() {
            return Err(Error::NotBuilt(self.code.name));
        }
        let object =
            self.loader.load(self.code.octets).map_err(|error| Error::of_object(self.code.name, error))?;
        Ok(Object { name: self.code.name, object })
    }
}

/// How an XDP program is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum XdpMode {
    /// By the driver, before the kernel makes anything of the frame.
    Native,
    /// By the kernel's stack, for drivers without native XDP.
    Generic,
}

/// A program on an interface. Dropping it takes the program off.
#[derive(Debug)]
pub struct Attachment {
    _link: FdLink,
}

/// A packet for a program, run by hand.
#[derive(Debug)]
pub struct TestRun<'a> {
    /// The frame from its Ethernet header.
    pub data: &'a [u8],
    /// Where the frame goes as the program left it; may be shorter than the frame, never with `live_batch`.
    pub data_out: Option<&'a mut [u8]>,
    /// The context: for XDP a `struct xdp_md` of 24 octets in the machine's order.
    pub context: Option<&'a [u8]>,
    /// Where the context goes as the program left it.
    pub context_out: Option<&'a mut [u8]>,
    /// How often.
    pub repeat: u32,
    /// Frames are real: what the program says is done with them, in batches of so many.
    pub live_batch: Option<u32>,
}

/// What a program made of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestRunResult {
    /// The program's verdict.
    pub verdict: u32,
    /// Octets of the frame after it (which may be more than were asked for).
    pub data_len: usize,
    /// Octets of the context after it.
    pub context_len: usize,
    /// Mean time of one run in ns.
    pub duration_ns: u64,
}

/// An object in the kernel. Dropping it takes its programs and maps away, as far as nobody else holds them: an
/// [`Attachment`], a [`MappedArray`], or a socket with a program on it.
#[derive(Debug)]
pub struct Object {
    name: &'static str,
    object: aya::Ebpf,
}

impl Object {
    fn no_such(&self, kind: &'static str, name: &str) -> Error {
        Error::NoSuch { object: self.name, kind, name: name.to_owned() }
    }

    fn map(&self, name: &str) -> Result<&Map, Error> {
        self.object.map(name).ok_or_else(|| self.no_such("map", name))
    }

    fn map_mut(&mut self, name: &str) -> Result<&mut Map, Error> {
        let missing = self.no_such("map", name);
        self.object.map_mut(name).ok_or(missing)
    }

    /// Has the XDP program `name` verified and loaded. Asking twice does no harm.
    fn xdp(&mut self, name: &str) -> Result<&mut Xdp, Error> {
        let missing = self.no_such("XDP program", name);
        let Some(program) = self.object.program_mut(name) else { return Err(missing) };
        let Ok(program) = <&mut Xdp>::try_from(program) else { return Err(missing) };
        if program.fd().is_err() {
            verified(name, || program.load())?;
        }
        Ok(program)
    }

    /// Has an XDP program verified, so that [`Object::run`] can run it.
    ///
    /// # Errors
    /// [`Error::NoSuch`], [`Error::Refused`], [`Error::NoCapability`].
    pub fn load_xdp(&mut self, name: &str) -> Result<(), Error> {
        self.xdp(name).map(|_| ())
    }

    /// Attaches an XDP program to an interface of this thread's network namespace.
    ///
    /// # Errors
    /// Those of [`Object::load_xdp`], [`Error::Busy`], [`Error::NoNativeXdp`], [`Error::NoInterface`],
    /// [`Error::MtuTooLarge`], [`Error::NoLink`].
    pub fn attach_xdp(&mut self, name: &str, ifindex: u32, mode: XdpMode) -> Result<Attachment, Error> {
        use aya::programs::{ProgramError, XdpError};
        let program = self.xdp(name)?;
        let mode = match mode {
            XdpMode::Native => aya::programs::XdpMode::Driver,
            XdpMode::Generic => aya::programs::XdpMode::Skb,
        };
        let id = program.attach_to_if_index(ifindex, mode).map_err(|error| match error {
            ProgramError::SyscallError(error) => Error::of_attach(ifindex, error.io_error),
            // The library's second way, where the kernel said "invalid" to the first: of an index without interface.
            ProgramError::XdpError(XdpError::NetlinkError(error)) => {
                let number = error.raw_os_error().unwrap_or(libc::EINVAL);
                Error::of_attach(ifindex, io::Error::from_raw_os_error(number))
            }
            other => Error::of_program(name, other),
        })?;
        let link = program.take_link(id).map_err(|error| Error::of_program(name, error))?;
        // What is no link of the kernel's is detached by being dropped here.
        FdLink::try_from(link).map(|link| Attachment { _link: link }).map_err(|_| Error::NoLink)
    }

    /// Has a program run at a tracepoint of the kernel, for as long as the object lives.
    ///
    /// # Errors
    /// [`Error::NoSuch`], [`Error::Refused`], [`Error::NoCapability`].
    pub fn attach_raw_tracepoint(&mut self, name: &str, tracepoint: &str) -> Result<(), Error> {
        let missing = self.no_such("program for a tracepoint", name);
        let Some(program) = self.object.program_mut(name) else { return Err(missing) };
        let Ok(program) = <&mut RawTracePoint>::try_from(program) else { return Err(missing) };
        let of_program = |error| Error::of_program(name, error);
        if program.fd().is_err() {
            verified(name, || program.load())?;
        }
        program.attach(tracepoint).map(|_| ()).map_err(of_program)
    }

    fn socket_filter(&mut self, name: &str) -> Result<&mut SocketFilter, Error> {
        let missing = self.no_such("socket filter", name);
        let Some(program) = self.object.program_mut(name) else { return Err(missing) };
        let Ok(program) = <&mut SocketFilter>::try_from(program) else { return Err(missing) };
        if program.fd().is_err() {
            verified(name, || program.load())?;
        }
        Ok(program)
    }

    /// Has a socket filter verified, so that [`Object::run`] can run it.
    ///
    /// # Errors
    /// [`Error::NoSuch`], [`Error::Refused`], [`Error::NoCapability`].
    pub fn load_socket_filter(&mut self, name: &str) -> Result<(), Error> {
        self.socket_filter(name).map(|_| ())
    }

    /// Sets a socket filter on a socket; it stays there until the socket is closed.
    ///
    /// # Errors
    /// Those of [`Object::load_socket_filter`].
    pub fn attach_socket_filter(&mut self, name: &str, socket: impl AsFd) -> Result<(), Error> {
        self.socket_filter(name)?.attach(socket).map_err(|error| Error::of_program(name, error))
    }

    /// Sets a program that chooses the socket within the `SO_REUSEPORT` group of a bound socket.
    ///
    /// # Errors
    /// [`Error::NoSuch`], [`Error::Refused`], [`Error::NoCapability`]; [`Error::Call`] where the socket is in no group.
    pub fn attach_reuseport(&mut self, name: &str, socket: impl AsFd) -> Result<(), Error> {
        let missing = self.no_such("reuseport program", name);
        let Some(program) = self.object.program_mut(name) else { return Err(missing) };
        let Ok(program) = <&mut SkReuseport>::try_from(program) else { return Err(missing) };
        let of_program = |error| Error::of_program(name, error);
        if program.fd().is_err() {
            verified(name, || program.load())?;
        }
        program.attach(socket).map_err(of_program)
    }

    /// Runs a loaded program on a packet, with `BPF_PROG_TEST_RUN`.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`] with what the kernel says of the packet.
    pub fn run(&self, name: &str, run: TestRun<'_>) -> Result<TestRunResult, Error> {
        let mut options = TestRunOptions {
            data_in: Some(run.data),
            data_out: run.data_out,
            ctx_in: run.context,
            ctx_out: run.context_out,
            repeat: run.repeat,
            attrs: TestRunAttrs::new(),
        };
        if let Some(batch) = run.live_batch {
            options.attrs = options.attrs.xdp_live_frames(batch);
        }
        let program = self.object.program(name).ok_or_else(|| self.no_such("program", name))?;
        let result = match program {
            Program::Xdp(program) => program.test_run(options),
            Program::SocketFilter(program) => program.test_run(options),
            _ => return Err(self.no_such("program that can be run by hand", name)),
        };
        let result = result.map_err(|error| Error::of_program(name, error))?;
        Ok(TestRunResult {
            verdict: result.return_value,
            data_len: result.data_size_out as usize,
            context_len: result.ctx_size_out as usize,
            duration_ns: u64::try_from(result.duration.as_nanos()).unwrap_or(u64::MAX),
        })
    }

    /// The file descriptor of a loaded program.
    ///
    /// # Errors
    /// [`Error::NoSuch`] where it is not there or not loaded.
    pub fn program_fd(&self, name: &str) -> Result<&ProgramFd, Error> {
        let program = self.object.program(name).and_then(|program| program.fd().ok());
        program.ok_or_else(|| self.no_such("loaded program", name))
    }

    /// The kernel's numbers of a loaded XDP program and of the maps that it uses.
    ///
    /// # Errors
    /// [`Error::NoSuch`] where it is not there or not loaded; [`Error::Call`].
    pub fn xdp_ids(&self, name: &str) -> Result<(u32, Vec<u32>), Error> {
        let Some(Program::Xdp(program)) = self.object.program(name) else {
            return Err(self.no_such("XDP program", name));
        };
        let info = program.info().map_err(|error| Error::of_program(name, error))?;
        let maps = info.map_ids().map_err(|error| Error::of_program(name, error))?;
        Ok((info.id(), maps.unwrap_or_default()))
    }

    /// The file descriptor of a map.
    ///
    /// # Errors
    /// [`Error::NoSuch`].
    pub fn map_fd(&self, name: &str) -> Result<BorrowedFd<'_>, Error> {
        Ok(data_of(self.map(name)?).ok_or_else(|| self.no_such("array or hash map", name))?.fd().as_fd())
    }

    /// Maps an array map with `BPF_F_MMAPABLE` into memory.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::ValueSize`]; [`Error::Call`] where the map may not be mapped.
    pub fn mapped_array<T: Shared>(&self, name: &str) -> Result<MappedArray<T>, Error> {
        let Map::Array(data) = self.map(name)? else { return Err(self.no_such("array map", name)) };
        let info = data.info().map_err(|error| Error::of_map(name, error))?;
        MappedArray::map(data.fd().as_fd(), name, info.value_size() as usize, info.max_entries() as usize)
    }

    /// The value of a variable or the entry of an array of 64-bit numbers, by a call of the kernel.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`] where the array is shorter.
    pub fn array_value(&self, name: &str, index: u32) -> Result<u64, Error> {
        let array = Array::<_, u64>::try_from(self.map(name)?).map_err(|error| Error::of_map(name, error))?;
        array.get(&index, 0).map_err(|error| Error::of_map(name, error))
    }

    /// An entry of a per-CPU array of 64-bit numbers, added up over the CPUs.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`] where the array is shorter.
    pub fn per_cpu_sum(&self, name: &str, index: u32) -> Result<u64, Error> {
        let array =
            PerCpuArray::<_, u64>::try_from(self.map(name)?).map_err(|error| Error::of_map(name, error))?;
        let values = array.get(&index, 0).map_err(|error| Error::of_map(name, error))?;
        Ok(values.iter().sum())
    }

    /// Puts an AF_XDP socket into an XSKMAP.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`] where the place does not exist or the socket is no bound AF_XDP socket.
    pub fn set_socket(&mut self, map: &str, index: u32, socket: impl AsFd) -> Result<(), Error> {
        let of_map = |error| Error::of_map(map, error);
        let mut sockets = XskMap::try_from(self.map_mut(map)?).map_err(of_map)?;
        sockets.set(index, socket.as_fd().as_raw_fd(), 0).map_err(of_map)
    }

    /// Takes the socket out of an XSKMAP. An empty place is no error.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`] where the place does not exist.
    pub fn clear_socket(&mut self, map: &str, index: u32) -> Result<(), Error> {
        let of_map = |error| Error::of_map(map, error);
        let mut sockets = XskMap::try_from(self.map_mut(map)?).map_err(of_map)?;
        match sockets.unset(index) {
            Err(error) if !is_missing(&error) => Err(of_map(error)),
            _ => Ok(()),
        }
    }

    /// Puts a socket of a `SO_REUSEPORT` group into a map from which a program chooses.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`] where the place does not exist or the socket is in no group.
    pub fn set_reuseport_socket(&mut self, map: &str, index: u32, socket: impl AsFd) -> Result<(), Error> {
        let of_map = |error| Error::of_map(map, error);
        let mut sockets = aya::maps::ReusePortSockArray::try_from(self.map_mut(map)?).map_err(of_map)?;
        sockets.set(index, &socket.as_fd(), 0).map_err(of_map)
    }

    /// Writes an entry of a hash map from 64-bit to 64-bit numbers.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::NoMemory`] or [`Error::Call`] where the map is full.
    pub fn hash_insert(&mut self, map: &str, key: u64, value: u64) -> Result<(), Error> {
        let of_map = |error| Error::of_map(map, error);
        let mut hash = HashMap::<_, u64, u64>::try_from(self.map_mut(map)?).map_err(of_map)?;
        hash.insert(key, value, 0).map_err(of_map)
    }

    /// Reads an entry of a hash map from 64-bit to 64-bit numbers.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`].
    pub fn hash_get(&mut self, map: &str, key: u64) -> Result<Option<u64>, Error> {
        let of_map = |error| Error::of_map(map, error);
        let hash = HashMap::<_, u64, u64>::try_from(self.map_mut(map)?).map_err(of_map)?;
        match hash.get(&key, 0) {
            Ok(value) => Ok(Some(value)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(of_map(error)),
        }
    }

    /// Removes an entry of a hash map with 64-bit keys. A missing entry is no error.
    ///
    /// # Errors
    /// [`Error::NoSuch`]; [`Error::Call`].
    pub fn hash_remove(&mut self, map: &str, key: u64) -> Result<(), Error> {
        let of_map = |error| Error::of_map(map, error);
        let mut hash = HashMap::<_, u64, u64>::try_from(self.map_mut(map)?).map_err(of_map)?;
        match hash.remove(&key) {
            Err(error) if !is_missing(&error) => Err(of_map(error)),
            _ => Ok(()),
        }
    }
}

fn is_missing(error: &aya::maps::MapError) -> bool {
    use aya::maps::MapError;
    let number = match error {
        MapError::KeyNotFound | MapError::ElementNotFound => return true,
        MapError::SyscallError(error) => &error.io_error,
        MapError::IoError(error) => error,
        _ => return false,
    };
    number.kind() == io::ErrorKind::NotFound || number.raw_os_error() == Some(libc::EINVAL)
}

/// The map behind the kinds that the programs here use.
const fn data_of(map: &Map) -> Option<&MapData> {
    match map {
        Map::Array(data)
        | Map::PerCpuArray(data)
        | Map::HashMap(data)
        | Map::LruHashMap(data)
        | Map::DevMap(data)
        | Map::RingBuf(data)
        | Map::ReusePortSockArray(data)
        | Map::XskMap(data) => Some(data),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verifier_is_asked_again_when_a_signal_has_ended_it() {
        for (number, times, asked, is_loaded) in
            [(libc::EAGAIN, 1, 2, true), (libc::EAGAIN, 9, 5, false), (libc::EINVAL, 1, 1, false)]
        {
            let mut calls = 0;
            let load = || {
                calls += 1;
                if calls > times { Ok(()) } else { Err(number) }
            };
            let result = attempt(load, |error| *error == libc::EAGAIN);
            assert_eq!((calls, result.is_ok()), (asked, is_loaded), "{number}");
        }
    }
}

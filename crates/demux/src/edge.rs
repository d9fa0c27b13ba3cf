//! An edge router's program: packets that the kernel would forward between the router's interfaces go to the AF_XDP socket of
//! their receive queue, everything else goes on to the kernel.
//!
//! The kernel's own tables say which (`bpf_fib_lookup`): routes, neighbours, MTUs, and whether an interface forwards. So what the
//! kernel delivers or answers reaches it, and the node needs no rule here. What the program does not judge, such as options and
//! neighbours that are not known, the node gets by its packet socket.
#![expect(unsafe_code, reason = "the promise that shared values are made of atomic integers")]

use crate::bpf::{Loader, MappedArray, Object, Shared, TestRun, TestRunResult, XdpMode, objects};
use crate::layout::Counts;
use crate::maps::{Interfaces, possible_cpus};
use crate::rules::Error;
use core::sync::atomic::Ordering::{Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};
use std::os::fd::BorrowedFd;

const PROGRAM: &str = "edge";
const RINGS: &str = "rings";
/// Interfaces of a router.
pub const INTERFACES_MAX: usize = 32;

/// `struct router` of `bpf/edge.h`.
#[derive(Debug)]
#[repr(C)]
struct Router {
    station: AtomicU64,
    interfaces: [AtomicU32; INTERFACES_MAX],
}

// SAFETY: `repr(C)`, atomic integers alone, and the assertion shows that nothing lies between them.
unsafe impl Shared for Router {}

const _: () = assert!(size_of::<Router>() == 8 + 4 * INTERFACES_MAX);

/// What became of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It went to the ring, or where that has no socket to the kernel.
    Ring,
    /// The kernel got it: no IP packet for this station.
    Other,
    /// The kernel got it: options, the last hop, longer than a frame of the ring, or not to be read.
    Shape,
    /// The kernel got it: from or to an address that a router does not forward for.
    Address,
    /// The kernel got it: for this machine, no route through the router's interfaces, no neighbour, or too long for its way.
    Route,
}

impl Seen {
    /// All in the order of their counters.
    pub const ALL: [Self; 5] = [Self::Ring, Self::Other, Self::Shape, Self::Address, Self::Route];

    /// What a person reads.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Ring => "to the ring",
            Self::Other => "no IP packets for this station",
            Self::Shape => "options, the last hop, or not to be read",
            Self::Address => "addresses that no router forwards for",
            Self::Route => "for this machine, no route or neighbour there, or too long",
        }
    }
}

/// Frames by what became of them, since the program was loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeTotals([u64; Seen::ALL.len()]);

impl EdgeTotals {
    /// Every outcome with its count.
    pub fn all(self) -> impl Iterator<Item = (Seen, u64)> {
        Seen::ALL.into_iter().zip(self.0)
    }

    /// The count of one outcome.
    #[must_use]
    pub fn of(self, seen: Seen) -> u64 {
        self.all().find(|(own, _)| *own == seen).map_or(0, |(_, count)| count)
    }
}

/// The program and its tables, for one interface.
#[derive(Debug)]
pub struct EdgeProgram {
    object: Object,
    router: MappedArray<Router>,
    totals: MappedArray<Counts>,
    interfaces: Interfaces,
}

impl EdgeProgram {
    /// Loads it, with room for the sockets of so many receive queues; nothing is attached yet.
    ///
    /// # Errors
    /// What the kernel misses or refuses.
    pub fn load(queues: u32) -> Result<Self, Error> {
        let loader = Loader::new(&objects::EDGE)
            .max_entries("totals", possible_cpus())
            .max_entries(RINGS, queues.max(1));
        let mut object = loader.load()?;
        object.load_xdp(PROGRAM)?;
        let (router, totals) = (object.mapped_array("routers")?, object.mapped_array("totals")?);
        Ok(Self { object, router, totals, interfaces: Interfaces::new(PROGRAM, 1) })
    }

    /// Says the Ethernet address of its interface. Before that everything goes to the kernel.
    pub fn set_station(&self, [a, b, c, d, e, f]: [u8; 6]) {
        if let Some(router) = self.router.get(0) {
            router.station.store(u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]), Relaxed);
        }
    }

    /// Says which interfaces the router has, by their indices; those beyond [`INTERFACES_MAX`] are none for the program.
    pub fn set_interfaces(&self, indices: &[u32]) {
        let Some(router) = self.router.get(0) else { return };
        let all = indices.iter().copied().chain(core::iter::repeat(0));
        router.interfaces.iter().zip(all).for_each(|(place, index)| place.store(index, Release));
    }

    /// Gives a receive queue its socket, or takes that away.
    ///
    /// # Errors
    /// Where there is no such queue, or the socket is none of AF_XDP.
    pub fn set_socket(&mut self, queue: u32, socket: Option<BorrowedFd<'_>>) -> Result<(), Error> {
        match socket {
            Some(socket) => self.object.set_socket(RINGS, queue, socket)?,
            None => self.object.clear_socket(RINGS, queue)?,
        }
        Ok(())
    }

    /// Sets the program on an interface of this thread's network namespace.
    ///
    /// # Errors
    /// [`Error::Attached`]; another program there, no native XDP, no such interface.
    pub fn attach(&mut self, ifindex: u32, mode: XdpMode) -> Result<(), Error> {
        self.interfaces.attach(&mut self.object, ifindex, mode)
    }

    /// Takes the program off an interface, also off one that has vanished.
    pub fn detach(&mut self, ifindex: u32) {
        self.interfaces.detach(ifindex);
    }

    /// The counters of all CPUs.
    #[must_use]
    pub fn totals(&self) -> EdgeTotals {
        let mut sum = EdgeTotals::default();
        for counts in self.totals.iter() {
            sum.0.iter_mut().zip(counts).for_each(|(total, count)| *total += count.load(Relaxed));
        }
        sum
    }

    /// Runs the program on a frame by hand.
    ///
    /// # Errors
    /// What the kernel says of the frame.
    pub fn run(&self, run: TestRun<'_>) -> Result<TestRunResult, Error> {
        Ok(self.object.run(PROGRAM, run)?)
    }
}

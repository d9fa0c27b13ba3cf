//! The devices on which this process has AF_XDP sockets: opened, emptied, filled again, and opened anew when an interface
//! has vanished and returned.

mod device;
mod pages;

pub(crate) use device::XdpDevice;

use crate::netlink::{LOOK_EVERY, Link, Netlink};
use crate::page_exchange::PageExchange;
use crate::sys;
use core::fmt;
use core::net::IpAddr;
use device::{fill, socket_error, spare_buffer};
use gannet_demux::device::{Device, Received};
use gannet_demux::edge::EdgeProgram;
use gannet_demux::exchange::Exchange;
use gannet_demux::umem::{Holder, Umem};
use gannet_demux::xsk::{Queue, Statistics};
use gannet_demux::{ByRing, FlowCounters, METADATA_LEN, Metadata, Ring, Totals};
use gannet_machine::Port;
use gannet_machine::frame::{FramePool, StaticBuffer};
use gannet_machine::time::Instant;
use gannet_proto::classifier::RuleChange;
use gannet_trace::pcapng::InterfaceId;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Frames that stay in the pool for the machines when the fill rings are filled.
const RESERVE: usize = 1024;
/// Frames taken from a ring in one turn: all that it holds, or it would overflow in order of arrival, which knows
/// neither users nor precedence.
const TURN: usize = 1024;
/// The same of best effort of normal precedence: what is more than a device's queue holds would keep the loop from polling
/// until that overflows, and with it what is urgent or precious.
const TURN_OF_BEST_EFFORT: usize = 256;
/// The same of best effort for a machine in a hurry: after a pause what is urgent does not wait for a whole ring of
/// it. More than is served in a turn, so it is kept up with.
const TURN_IN_A_HURRY: usize = 64;
/// Devices of one process.
const DEVICES_MAX: usize = 32;

/// What sorts arriving packets into classes, in the kernel or before it.
pub(crate) trait Steering {
    /// Takes a change of the rules.
    ///
    /// # Errors
    /// A sentence: why it could not.
    fn apply(&mut self, change: &RuleChange) -> Result<(), String>;
    /// Begins to steer what arrives on a device.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    fn attach(&mut self, link: &Link) -> Result<(), String>;
    /// Ends it; the device may be gone.
    fn detach(&mut self, ifindex: u32);
    /// Gives the rings of a queue their sockets.
    ///
    /// # Errors
    /// A sentence.
    fn set_sockets(&mut self, queue: u32, sockets: ByRing<Option<BorrowedFd<'_>>>) -> Result<(), String>;
    /// What exchanges pages of what arrives for frames that leave; `None` for a program that never does.
    ///
    /// # Errors
    /// A sentence: what the machine does not permit.
    fn exchange(&mut self, rings: ByRing<u32>, empty: u32) -> Option<Result<Exchange, String>>;
    /// Contexts that it knows, where their number matters.
    fn contexts(&self) -> usize;
    /// Lends it a time while its device is polled; 0 ends that.
    fn lend_clock(&self, now_ns: u64);
    /// What it has counted.
    fn totals(&self) -> Totals;
    /// What it has counted for one flow, by its rule's name.
    fn of_flow(&self, name: u32) -> Option<FlowCounters>;
    /// The link of its device may have another address or MTU.
    fn renew(&mut self, _link: &Link) {}
    /// The program of an edge router; `None` for one that classifies by rules.
    fn router(&self) -> Option<&EdgeProgram> {
        None
    }
}

/// Where what arrives classified goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target {
    pub(crate) machine: usize,
    pub(crate) port: Port,
    pub(crate) record: Option<InterfaceId>,
    /// The place of the program that classifies it.
    pub(crate) program: usize,
    pub(crate) deliver: Deliver,
}

/// How a machine gets what was classified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deliver {
    /// The PDU with the name of its rule.
    Classified,
    /// As the datagram that it was, with its peer: the rings have but set it apart.
    Datagrams,
    /// The IP packet, with the station that sent it; no metadata stands in front of the frame.
    Packets {
        /// The device is made of software, and senders on this machine leave checksums to it unfinished.
        is_software: bool,
    },
}

/// All of them, and the memory that they share.
pub(crate) struct Xdp {
    pub(crate) umem: Umem,
    pub(crate) pool: FramePool,
    pub(crate) devices: Vec<XdpDevice>,
    pub(crate) netlink: Netlink,
    /// The programs that classify, one for each device that has a target.
    pub(crate) programs: Vec<Box<dyn Steering>>,
    /// What joins Gn with Gb without a socket.
    pub(crate) pages: Option<PageExchange>,
    /// A ring had more than its turn's share.
    pub(crate) more: bool,
    look_at: Instant,
}

impl Xdp {
    pub(crate) fn new(umem: Umem, pool: FramePool) -> io::Result<Self> {
        let netlink = Netlink::open()?;
        Ok(Self {
            umem,
            pool,
            devices: Vec::new(),
            netlink,
            programs: Vec::new(),
            pages: None,
            more: false,
            look_at: Instant::ZERO,
        })
    }

    /// When devices are looked at again without a reason.
    pub(crate) fn look_at(&self) -> Option<Instant> {
        (!self.devices.is_empty()).then_some(self.look_at)
    }

    /// Frames that the kernel holds for a device.
    pub(crate) fn held_by(&self, device: &XdpDevice) -> usize {
        self.umem.held(device.holder)
    }

    // ------------------------------------------------------------------ making

    /// Wants more of a device: rings for receiving, a ring for sending, or both. Sockets that are open are closed and
    /// opened again. Returns the device's place.
    pub(crate) fn want(
        &mut self,
        link: &Link,
        rx: Option<(ByRing<u32>, u32, Target)>,
        tx: u32,
        address: Option<IpAddr>,
    ) -> Result<usize, String> {
        let known = self.devices.iter().position(|device| device.link.name == link.name);
        let place = known.unwrap_or(self.devices.len());
        if known.is_none() {
            let number = u8::try_from(place + 1).ok().filter(|_| place < DEVICES_MAX);
            let holder = number.and_then(Holder::new).ok_or("too many devices")?;
            self.devices.push(XdpDevice::new(link.clone(), holder));
        }
        self.release(place);
        let Some(device) = self.devices.get_mut(place) else { return Err("no device".to_owned()) };
        let before = (device.config.clone(), device.target);
        if let Some((rings, empty, target)) = rx {
            device.config.rx = rings;
            device.config.empty = empty;
            device.target = Some(target);
        }
        device.config.tx = device.config.tx.max(tx);
        let result = self.open(place);
        if result.is_err() {
            // What was there before goes on.
            if let Some(device) = self.devices.get_mut(place) {
                (device.config, device.target) = before;
            }
            if known.is_none() {
                self.devices.truncate(place);
            } else {
                self.open(place)?;
            }
        }
        result?;
        if let Some(device) = self.devices.get_mut(place) {
            device.addresses.extend(address.filter(|address| !device.addresses.contains(address)));
        }
        Ok(place)
    }

    /// Closes the sockets of a device and takes its program off; false where it had none open.
    fn release(&mut self, place: usize) -> bool {
        let Some(device) = self.devices.get_mut(place) else { return false };
        let Some(open) = device.sockets.take() else { return false };
        if let Some(pages) = self.pages.as_mut().filter(|pages| pages.concerns(place)) {
            pages.close();
        }
        let program = device.target.map_or(usize::MAX, |target| target.program);
        if let Some(steering) = self.programs.get_mut(program) {
            steering.detach(device.link.index);
        }
        device.close(open, &mut self.umem, &self.pool);
        true
    }

    /// Opens the sockets of a device and, where it has a target, has its packets steered to them.
    fn open(&mut self, place: usize) -> Result<(), String> {
        let Self { devices, umem, pool, programs, .. } = self;
        let (before, rest) = devices.split_at_mut(place);
        let Some((device, after)) = rest.split_first_mut() else { return Err("no device".to_owned()) };
        let at = Queue { ifindex: device.link.index, queue: 0 };
        let mut others = before.iter().chain(after.iter()).filter_map(|other| other.sockets.as_ref());
        let others = others.find(|other| !other.has_failed());
        let opened = Device::open(umem, others, device.holder, at, &device.config);
        let mut opened = opened.map_err(|error| socket_error(&device.link.name, &error))?;
        fill(&mut opened, umem, pool);
        if let Some(target) = device.target
            && let Some(steering) = programs.get_mut(target.program)
        {
            let set = steering.set_sockets(at.queue, opened.sockets());
            if let Err(error) = set.and_then(|()| steering.attach(&device.link)) {
                device.close(opened, umem, pool);
                return Err(error);
            }
        }
        device.sockets = Some(opened);
        Ok(())
    }

    /// The descriptors to poll.
    pub(crate) fn descriptors(&self, place: usize) -> Vec<RawFd> {
        let sockets = self.devices.get(place).and_then(|device| device.sockets.as_ref());
        let sockets = sockets.into_iter().flat_map(Device::sockets).flatten();
        sockets.map(|socket| socket.as_raw_fd()).collect()
    }

    // ------------------------------------------------------------------ coming and going

    /// Looks whether devices have gone or returned; `tell` hears what has changed, with the device's place.
    pub(crate) fn look(&mut self, now: Instant, at_once: bool, mut tell: impl FnMut(usize, Change)) {
        if !at_once && now < self.look_at {
            return;
        }
        self.look_at = now + LOOK_EVERY;
        for place in 0..self.devices.len() {
            let Some(device) = self.devices.get_mut(place) else { continue };
            let failed = device.sockets.as_ref().is_none_or(Device::has_failed);
            if !at_once && !failed && sys::interface_index(&device.name) == Some(device.link.index) {
                continue;
            }
            // The commonest news, which concerns another device or an address, must not cost an allocation.
            if !failed && self.netlink.renew(&mut device.link) {
                let program = device.target.and_then(|target| self.programs.get_mut(target.program));
                program.into_iter().for_each(|program| program.renew(&device.link));
                continue;
            }
            let link = self.netlink.link_named(&device.link.name).ok().flatten();
            let same = link.as_ref().is_some_and(|link| link.index == device.link.index);
            if (!same || failed) && self.release(place) {
                tell(place, Change::Gone);
            }
            let Some(device) = self.devices.get_mut(place) else { continue };
            let Some(link) = link.filter(|link| link.up) else { continue };
            device.link = link;
            if device.sockets.is_none() {
                match self.open(place) {
                    Ok(()) => {
                        self.more = true;
                        tell(place, Change::Back);
                    }
                    Err(error) => tell(place, Change::NotYet(error)),
                }
            }
        }
    }

    // ------------------------------------------------------------------ receiving

    /// Takes up to one turn's share, which is smaller in a `hurry`, of each of these rings of each device. `take` gets the
    /// packet's target, its metadata where the target wants PDUs, and the frame with its Ethernet header.
    pub(crate) fn receive(
        &mut self,
        rings: &[Ring],
        hurry: bool,
        mut take: impl FnMut(Target, Option<Metadata>, Received),
    ) -> usize {
        let Self { devices, umem, pool, pages, .. } = self;
        pages.iter_mut().for_each(PageExchange::decide);
        let mut total = 0;
        let mut more = false;
        for ring in rings.iter().copied() {
            let most = match ring {
                Ring::High | Ring::BestEffort if hurry => TURN_IN_A_HURRY,
                Ring::BestEffort => TURN_OF_BEST_EFFORT,
                Ring::Signalling | Ring::RealTime | Ring::High => TURN,
            };
            for (place, device) in devices.iter_mut().enumerate() {
                let (Some(open), Some(target)) = (&mut device.sockets, device.target) else { continue };
                let mut take = |received: Received| {
                    if let Deliver::Packets { .. } = target.deliver {
                        return take(target, None, received);
                    }
                    let at = received.start.checked_sub(METADATA_LEN);
                    let octets = at.and_then(|at| received.buffer.get(at..)).and_then(<[u8]>::first_chunk);
                    match octets.and_then(Metadata::from_octets) {
                        Some(metadata) => take(target, Some(metadata), received),
                        None => drop(pool.adopt(received.buffer, 0, 0)),
                    }
                };
                // What is in slots came before what is in the socket's ring, or after it where pages are exchanged now.
                let mut count = 0;
                if let Some(pages) = pages.as_mut().filter(|pages| !pages.is_on()) {
                    count = pages.receive(place, ring, most, || spare_buffer(pool), &mut take);
                }
                if pages.as_ref().is_none_or(|it| it.is_on() || it.waiting(place, ring) == 0) {
                    count += open.receive(umem, ring, most - count, &mut take);
                }
                if let Some(pages) = pages.as_mut().filter(|pages| pages.is_on())
                    && open.waiting(ring) == 0
                {
                    count += pages.receive(place, ring, most - count, || spare_buffer(pool), &mut take);
                }
                more |= count == most;
                device.received += count as u64;
                total += count;
            }
        }
        self.more |= more;
        total
    }

    /// Fills the rings for what comes next, as far as the machines can spare frames.
    pub(crate) fn refill(&mut self) {
        for device in &mut self.devices {
            if let Some(open) = &mut device.sockets
                && open.lacking() > 0
            {
                fill(open, &mut self.umem, &self.pool);
            }
        }
        if let Some(pages) = &mut self.pages {
            pages.refill();
        }
    }

    /// What the programs have dropped so far.
    pub(crate) fn dropped(&self) -> u64 {
        let of = |totals: Totals| totals.drops().map(|(_, count)| count).sum::<u64>();
        self.programs.iter().map(|program| of(program.totals())).sum()
    }

    /// The place of the program at the device that has this address of ours.
    pub(crate) fn program_at(&self, address: IpAddr) -> Option<usize> {
        let device = self.devices.iter().find(|device| device.addresses.contains(&address))?;
        device.target.map(|target| target.program)
    }

    /// Lends a program a time while its device is polled; 0 ends that.
    pub(crate) fn lend_clock(&self, program: usize, now_ns: u64) {
        if let Some(program) = self.programs.get(program) {
            program.lend_clock(now_ns);
        }
    }

    /// How many packets a program has counted so far, whatever became of them.
    pub(crate) fn seen_by(&self, program: usize) -> Option<u64> {
        // What it has left to us is counted when it is decided.
        let device =
            self.devices.iter().position(|it| it.target.is_some_and(|target| target.program == program));
        let left = self.pages.as_ref().zip(device).map_or(0, |(pages, place)| pages.left(place));
        self.programs.get(program).map(|program| program.totals().all() + u64::from(left))
    }

    /// Does a ring hold something that came since the last look?
    pub(crate) fn has_waiting(&mut self) -> bool {
        let Self { devices, pages, .. } = self;
        devices.iter_mut().enumerate().any(|(place, device)| {
            let slots = |ring| pages.as_ref().map_or(0, |pages| pages.waiting(place, ring));
            let has_target = device.target.is_some();
            pages.as_ref().is_some_and(|pages| pages.left(place) > 0)
                || device.sockets.as_mut().filter(|_| has_target).is_some_and(|open| {
                    Ring::ALL.into_iter().any(|ring| open.waiting(ring) + slots(ring) > 0)
                })
        })
    }

    /// What the kernel counted at each ring of a device that is wanted, former sockets included; see [`Device::statistics`].
    pub(crate) fn statistics(&self, place: usize) -> Vec<(Ring, Statistics)> {
        let Some(device) = self.devices.get(place) else { return Vec::new() };
        let rings = Ring::ALL.into_iter().zip(device.config.rx).zip(device.former);
        let wanted = rings.filter(|((_, entries), _)| *entries > 0);
        let of = |((ring, _), mut sum): ((Ring, u32), Statistics)| {
            sum += device.sockets.as_ref().and_then(|open| open.statistics(ring)).unwrap_or_default();
            sum += self.pages.as_ref().map(|pages| pages.statistics(place, ring)).unwrap_or_default();
            (ring, sum)
        };
        wanted.map(of).collect()
    }

    // ------------------------------------------------------------------ sending

    /// A device whose sockets are open, and the socket to ask about its neighbours.
    pub(crate) fn link_of(&mut self, place: usize) -> Option<(&Link, &mut Netlink)> {
        let Self { devices, netlink, .. } = self;
        let device = devices.get(place).filter(|device| device.sockets.is_some())?;
        Some((&device.link, netlink))
    }

    /// Can a frame be put on this device now? Where its ring is full, what it holds is sent first. What is patient waits
    /// where too many before it wait for a page: sending them all at once would keep what is urgent waiting.
    pub(crate) fn has_room(&mut self, place: usize, is_patient: bool) -> bool {
        if is_patient && let Some(has_room) = self.has_room_across(place) {
            return has_room;
        }
        let Some(device) = self.devices.get_mut(place) else { return false };
        if device.sockets.as_mut().is_some_and(|open| open.room() > 0) {
            return true;
        }
        self.kick(place);
        let sockets = self.devices.get_mut(place).and_then(|device| device.sockets.as_mut());
        sockets.is_some_and(|open| open.room() > 0)
    }

    /// The same for what is patient, where pages are exchanged and there is room, or something waits for a page.
    fn has_room_across(&mut self, place: usize) -> Option<bool> {
        let pages = self.pages.as_mut().filter(|pages| pages.is_on())?;
        let is_behind = self.devices.get(place)?.unsent_patient;
        if !is_behind && pages.has_room(place) {
            return Some(true);
        }
        pages.holds_some(place).then_some(false)
    }

    /// Puts an Ethernet frame on a device. One that is patient may wait for a page there; it overtakes none of its kind.
    pub(crate) fn put(
        &mut self,
        place: usize,
        buffer: StaticBuffer,
        (start, end): (usize, usize),
        is_patient: bool,
    ) -> Result<(), StaticBuffer> {
        let waits = self.devices.get(place).is_none_or(|device| device.unsent_patient);
        if let Some(pages) = self.pages.as_mut().filter(|_| is_patient) {
            if !waits && pages.put(place, buffer.get(start..end).unwrap_or_default()) {
                drop(self.pool.adopt(buffer, 0, 0));
                return Ok(());
            }
            // Too long for a slot, or the exchange has just ended: what waits there goes first.
            if pages.holds_some(place) {
                self.take_all_back();
            }
        }
        let Some(device) = self.devices.get_mut(place) else { return Err(buffer) };
        device.send(&mut self.umem, buffer, (start, end), is_patient)
    }

    /// Sends what was put on a device; false where that is down or gone.
    pub(crate) fn kick(&mut self, place: usize) -> bool {
        let Some(device) = self.devices.get_mut(place) else { return false };
        let Some(open) = &mut device.sockets else { return false };
        // A device that is gone is found by the next look; its frames come back then.
        let kicked = open.kick();
        device.unsent = kicked.as_ref().is_ok_and(|remaining| *remaining > 0);
        device.unsent_patient &= device.unsent;
        device.complete(&mut self.umem, &self.pool);
        kicked.is_ok()
    }

    /// Sends what is left of earlier batches, or has waited long enough for a page, and takes back what has left.
    pub(crate) fn finish(&mut self, now: Instant) {
        self.send_what_waited(now);
        for place in 0..self.devices.len() {
            let Some(device) = self.devices.get_mut(place) else { return };
            if device.unsent {
                self.kick(place);
            } else if device.in_flight > 0 {
                device.complete(&mut self.umem, &self.pool);
            }
        }
    }

    /// Does a frame wait that the device did not take?
    pub(crate) fn has_unsent(&self) -> bool {
        self.devices.iter().any(|device| device.unsent)
    }
}

/// What happened to a device.
#[derive(Debug)]
pub(crate) enum Change {
    /// It is away.
    Gone,
    /// It is back, and its sockets are open.
    Back,
    /// It is there, but its sockets cannot be opened.
    NotYet(String),
}

impl fmt::Debug for Xdp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Xdp({} devices)", self.devices.len())
    }
}

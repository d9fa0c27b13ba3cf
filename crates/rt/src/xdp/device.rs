//! One device with its sockets, and how they are filled and emptied.

use super::{RESERVE, Target};
use crate::netlink::Link;
use core::net::IpAddr;
use gannet_demux::device::{Device, DeviceConfig};
use gannet_demux::umem::{Holder, Umem};
use gannet_demux::xsk::Statistics;
use gannet_demux::{ByRing, Ring};
use gannet_machine::frame::{FramePool, StaticBuffer};
use std::ffi::CString;
use std::io;

/// A device with what is wanted of it.
pub(crate) struct XdpDevice {
    pub(crate) link: Link,
    /// The name as the kernel wants it.
    pub(super) name: CString,
    pub(crate) config: DeviceConfig,
    pub(crate) target: Option<Target>,
    pub(super) holder: Holder,
    /// `None` while the interface is away.
    pub(crate) sockets: Option<Device>,
    /// What sockets that have been closed had counted.
    pub(super) former: ByRing<Statistics>,
    /// Something was put that no kick has sent yet.
    pub(super) unsent: bool,
    /// Among it what is patient.
    pub(super) unsent_patient: bool,
    /// Frames that its rings have received.
    pub(crate) received: u64,
    /// Frames put less frames come back.
    pub(super) in_flight: u64,
    /// Our addresses on it.
    pub(crate) addresses: Vec<IpAddr>,
    /// Its UDP sockets are to be made anew.
    pub(crate) reopen: bool,
    /// That it cannot be set up has been said.
    pub(crate) refusal_told: bool,
}

impl XdpDevice {
    pub(super) fn new(link: Link, holder: Holder) -> Self {
        Self {
            // A name that holds a zero octet is no device's.
            name: CString::new(link.name.as_str()).unwrap_or_default(),
            link,
            config: DeviceConfig::default(),
            target: None,
            holder,
            sockets: None,
            former: ByRing::default(),
            unsent: false,
            unsent_patient: false,
            received: 0,
            in_flight: 0,
            addresses: Vec::new(),
            reopen: false,
            refusal_told: false,
        }
    }

    /// Puts a frame into the ring.
    pub(crate) fn send(
        &mut self,
        umem: &mut Umem,
        buffer: StaticBuffer,
        (start, end): (usize, usize),
        is_patient: bool,
    ) -> Result<(), StaticBuffer> {
        let Some(open) = &mut self.sockets else { return Err(buffer) };
        open.send(umem, buffer, start, end)?;
        self.unsent = true;
        self.unsent_patient |= is_patient;
        self.in_flight += 1;
        Ok(())
    }

    /// Takes back what has left.
    pub(super) fn complete(&mut self, umem: &mut Umem, pool: &FramePool) {
        if let Some(open) = &mut self.sockets {
            let count = open.complete(umem, |buffer| drop(pool.adopt(buffer, 0, 0)));
            self.in_flight = self.in_flight.saturating_sub(count as u64);
        }
    }

    pub(super) fn close(&mut self, open: Device, umem: &mut Umem, pool: &FramePool) {
        for (former, ring) in self.former.iter_mut().zip(Ring::ALL) {
            *former += open.statistics(ring).unwrap_or_default();
        }
        open.close(umem, |buffer| drop(pool.adopt(buffer, 0, 0)));
        (self.unsent, self.unsent_patient) = (false, false);
        self.in_flight = 0;
    }
}

/// Gives frames of the pool to the fill ring, but for those that the machines need.
pub(super) fn fill(open: &mut Device, umem: &mut Umem, pool: &FramePool) {
    open.refill(umem, || spare_buffer(pool));
}

/// A buffer of the pool, but for those that the machines need.
pub(super) fn spare_buffer(pool: &FramePool) -> Option<StaticBuffer> {
    if pool.free() <= RESERVE.min(pool.capacity() / 4) {
        return None;
    }
    pool.alloc()?.into_static().ok().map(|(buffer, ..)| buffer)
}

/// What the refusal of a socket means.
pub(super) fn socket_error(device: &str, error: &io::Error) -> String {
    let meaning = match error.raw_os_error() {
        Some(libc::EPERM) => "AF_XDP sockets need CAP_NET_RAW",
        Some(libc::ENOBUFS | libc::ENOMEM) => {
            "the limit of locked memory (ulimit -l) is too small for AF_XDP"
        }
        Some(libc::EBUSY) => "another program has AF_XDP sockets on this queue",
        Some(libc::EAFNOSUPPORT) => "this kernel has no AF_XDP",
        Some(libc::EOPNOTSUPP) => "the driver cannot do AF_XDP",
        _ => "no AF_XDP socket",
    };
    format!("{device}: {meaning} ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_socket_says_what_is_missing() {
        let of = |number| socket_error("gn0", &io::Error::from_raw_os_error(number));
        assert!(of(libc::EPERM).starts_with("gn0: AF_XDP sockets need CAP_NET_RAW"));
        assert!(of(libc::ENOBUFS).contains("ulimit -l"));
    }
}

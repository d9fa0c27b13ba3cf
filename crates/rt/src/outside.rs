//! What the handler of a machine's events may reach.

use crate::capture::Recorded;
use crate::io::Io;
use crate::log::LogSink;
use crate::tun::Tun;
use core::fmt;
use gannet_machine::time::Instant;
use gannet_machine::{Peer, Port};
use gannet_trace::pcapng::{Direction, LinkType, Packet};
use std::io;

/// What the handler of a machine's events may do.
pub struct Outside<'a> {
    io: &'a mut Io,
    machine: usize,
}

impl<'a> Outside<'a> {
    pub(crate) const fn new(io: &'a mut Io, machine: usize) -> Self {
        Self { io, machine }
    }

    /// The time of this round.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.io.now
    }

    /// The sink of the loop.
    pub const fn log(&mut self) -> &mut LogSink {
        &mut self.io.log
    }

    /// Somebody records what crosses the interfaces of the loop.
    #[must_use]
    pub const fn is_traced(&self) -> bool {
        self.io.recorder.is_some()
    }

    /// Records a datagram that no socket of the loop has seen, on the interface of this name, with a remark where there is one.
    pub fn trace(&mut self, interface: &str, datagram: &Recorded<'_>, remark: &str) {
        let interface = self.io.interface_of(interface, LinkType::Raw, true);
        let Some(tracer) = &mut self.io.recorder else { return };
        let Recorded { at_ns, is_sent, ends, payload } = *datagram;
        let direction = if is_sent { Direction::Out } else { Direction::In };
        tracer.packet(interface, (at_ns, direction), Packet::Udp(ends, payload), remark);
    }

    /// Joins a TUN device to a port of the machine: to its slot for `Peer::Slot`, to the whole port for `Peer::Link`.
    /// What was there before goes. `record_as` names the capture interface for its packets, where they are wanted.
    ///
    /// # Errors
    /// Where the device cannot be polled.
    pub fn attach_tun(
        &mut self,
        port: Port,
        peer: Peer,
        tun: Tun,
        record_as: Option<&str>,
    ) -> io::Result<()> {
        self.io.attach_tun(self.machine, port, peer, tun, record_as)
    }

    /// Joins a TCP connection to a port of the machine: see [`crate::EventLoop::connect_tcp`]. What was there before goes.
    ///
    /// # Errors
    /// As there.
    pub fn connect_tcp(&mut self, port: Port, config: &crate::TcpConfig) -> io::Result<()> {
        self.io.connect_tcp(self.machine, port, config)
    }

    /// The TUN device at a port and slot.
    #[must_use]
    pub fn tun(&self, port: Port, peer: Peer) -> Option<&Tun> {
        self.io.tun(self.machine, port, peer)
    }

    /// Leaves what comes to the device at a port and slot in the kernel, which drops what is too much for its queue as it
    /// does for any slow device; with `false` it is received again. At most one batch that was received before comes after
    /// this.
    pub fn hold(&mut self, port: Port, peer: Peer, on: bool) {
        self.io.hold(self.machine, port, peer, on);
    }

    /// Looks at the devices that were joined by [`crate::EventLoop::attach_packets`] and
    /// [`crate::EventLoop::attach_ether_type`]: `device` says the kernel's number of each that is there. One that was away and is back is used again.
    pub fn renew_packets(&mut self, device: impl Fn(&str) -> Option<u32>) {
        self.io.renew_packets(device);
    }

    /// Removes the socket or the device at a port; with `Peer::Slot` only that slot's.
    pub fn detach(&mut self, port: Port, peer: Peer) {
        self.io.detach(self.machine, port, peer);
    }

    /// Asks for the orderly end, as SIGTERM does.
    pub const fn stop(&mut self) {
        self.io.stop = true;
    }
}

impl fmt::Debug for Outside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outside(machine {})", self.machine)
    }
}

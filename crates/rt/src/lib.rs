//! Drives nodes in real time: one thread, one loop, any number of machines.
//!
//! An [`EventLoop`] owns [`Machine`](gannet_machine::Machine)s, what they share (frames, log, recorder) and
//! what joins them to the world: UDP sockets, TUN devices, or a port of another machine in the same loop. A round is
//!
//! 1. sleep until a datagram, the next wake-up (to the nanosecond, by a `timerfd`) or a signal;
//! 2. receive one batch from each endpoint that has something, so that none starves another;
//! 3. give due wake-ups to the machines;
//! 4. let the machines work, and those that are linked answer each other;
//! 5. let the services (VTY, metrics) work;
//! 6. send everything in batches, and write out the log.
//!
//! After the start nothing is allocated per packet: frames come from one pool, batches and queues keep their memory,
//! the kernel writes straight into the frames. What cannot be received or sent is a drop with a name, `rt_…`.
//! `unsafe` stands only in `sys`, `messages` and `packet` (system calls), [`big_pages`] (tables and heap on huge pages), `prefetch`
//! [`carryless`] and [`gea`] (instructions) and [`alloc_count`] (a counting allocator, for the proof).
//!
//! # How a node is run
//!
//! ```
//! use gannet_machine::{Batch, Context, Input, Machine, Output, Port};
//! use gannet_rt::log::{LogSink, TargetOptions};
//! use gannet_rt::{Clock, EventLoop, LoopConfig, NoHooks, UdpConfig};
//!
//! /// Sends back what it gets.
//! #[derive(Default)]
//! struct Echo(Batch<Output<()>>);
//!
//! impl Machine for Echo {
//!     type Command = ();
//!     type Event = ();
//!     type Rule = core::convert::Infallible;
//!     fn handle_input(&mut self, _: &mut Context<'_>, inputs: &mut Batch<Input<()>>) {
//!         while let Some(input) = inputs.pop() {
//!             if let Input::Datagram { port, peer, frame } = input {
//!                 self.0.push(Output::Transmit { port, peer, frame });
//!             }
//!         }
//!     }
//!     fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<()>>) {
//!         while let Some(output) = self.0.pop() {
//!             outputs.push(output);
//!         }
//!     }
//! }
//!
//! fn main() -> std::io::Result<()> {
//!     let clock = Clock::start();
//!     let mut log = LogSink::new(clock);
//!     log.add_stderr(TargetOptions::default());
//!     let mut node = EventLoop::new(LoopConfig::default(), clock, log)?;
//! #   let directory = gannet_testkit::TempDir::new("gannet-example");
//! #   let path = directory.path().join("gb.pcapng");
//!     node.record_to(&path)?; // --pcap FILE
//!     let echo = node.add_machine(Echo::default(), |_machine, _event, _outside| {});
//!     let gb = UdpConfig::new("127.0.0.1:0".parse().unwrap()).record_as("Gb");
//!     let address = node.bind_udp(echo, Port(0), &gb)?;
//!     println!("listening on {address}");
//! #   node.access().stop();
//!     node.run(&mut NoHooks) // until SIGTERM; a `Hooks` of one's own lets the machines say goodbye
//! }
//! ```
//!
//! A VTY is a [`Service`]: it registers its sockets through [`Access::register`], is told of readiness, and reaches
//! the machines with [`Access::machine`] (for `show …`) and [`Access::command`]. Two nodes in one process are joined
//! with [`EventLoop::link`].

pub mod alloc_count;
pub mod big_pages;
pub mod carryless;
pub mod gea;
pub mod log;
pub mod stdout;

mod access;
mod busy;
mod capture;
mod capture_watch;
mod checksum;
mod driver;
mod ether;
mod event_loop;
mod forward;
mod gateway;
mod gsmtap;
mod history;
mod inet;
mod ingress;
mod io;
mod joined;
mod kernel_tables;
mod messages;
mod namespace;
mod netlink;
mod not_forwarded;
mod output;
mod outside;
mod packet;
mod page_exchange;
mod prefetch;
mod signals;
mod steering;
mod sys;
mod system;
mod tcp;
mod tracer;
mod tun;
mod udp;
mod watch;
mod xdp;

pub use access::{Access, Hooks, MachineId, NoHooks, Service};
pub use busy::{BusyPoll, DEFERRAL_NS, EMPTY_WHERE_POLLED};
pub use capture::{Capture, Recorded};
pub use checksum::finish_checksum;
pub use event_loop::{EventLoop, LoopConfig};
pub use gannet_demux::edge::{EdgeTotals, Seen};
pub use gannet_demux::{FlowCounters, Ring};
pub use gannet_machine::load::LoopTime;
pub use gannet_trace::lines::{LineStatus, LineWriter};
pub use gannet_trace::pcapng::Ring as TraceRing;
pub use gateway::{ForwardingConfig, ForwardingMode, ForwardingNetwork, ForwardingReport};
pub use gsmtap::GsmtapSocket;
pub use history::{DROPS_PER_MOBILE, DropHistory, Happened};
pub use ingress::{Backend, IngressConfig, IngressReport, OutputConfig, OutputReport, OutputWay, Traffic};
pub use io::{PacketReport, PacketRings};
pub use kernel_tables::{DeviceState, KernelTables, NextHop, TableNews};
pub use messages::{Arrived, Messages};
pub use namespace::{NetworkNamespace, in_network_namespace};
pub use netlink::DeviceRoute;
pub use not_forwarded::NotForwarded;
pub use outside::Outside;
pub use packet::{
    ETHER_TYPE_IPV4, ETHER_TYPE_IPV6, PACKET_BATCH, PacketArrival, PacketLayer, PacketSocket, PacketTarget,
    wait_for_packets,
};
pub use page_exchange::ExchangeReport;
pub use prefetch::PREFETCH;
pub use sys::{set_socket_option, socket_option};
pub use system::{Clock, daemonize, lock_memory, outlive_signals, pin_to_core, seed};
pub use tcp::TcpConfig;
pub use tracer::{PreparedTrace, TraceConfig, TraceReport, Tracer};
pub use tun::{Missing, Tun, TunAddress, TunCounts, TunOptions};
pub use udp::UdpConfig;
pub use watch::{ClassifierReport, DeviceReport, KernelPath, SocketReport};

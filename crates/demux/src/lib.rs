//! Classification at the driver: whose packet it is, before anything is spent on it.
//!
//! * [`bpf`] loads programs and maps into the kernel. The programs are C, in `bpf/`, compiled by the build.
//! * [`Classifier`] is the program for Gn: it finds the PDP context of each G-PDU, drops what would be dropped later,
//!   and gives the rest to the AF_XDP socket of its receive queue and [`Ring`].
//! * [`Uplink`] is the program for Gb: it finds the mobile of each LL-PDU.
//! * [`gateway`] is the user plane of a GGSN: programs for Gn and Gi that forward by themselves.
//! * [`edge`] is the program of an edge router.
//! * [`device`] has those sockets: [`xsk`] with its [`rings`], over one [`umem`] for all interfaces.
//! * [`reuseport`] decides the same at UDP sockets, for machines without XDP.
//! * [`model`] says the same in safe Rust. A test gives both the same frames; the simulator uses the model.
//!
//! # What goes to the kernel
//!
//! Everything that is not user data for one of our addresses: other protocols and ports, GTP's signalling, echoes,
//! Error Indications and End Markers, fragments, IPv6 with extension headers, frames too long for a chunk, and G-PDUs
//! with an extension header that is unknown and must be comprehended, or with more than eight of them. What the kernel
//! then delivers is no less user data: it goes into the same queues.
//!
//! # Checksums
//!
//! XDP comes before the kernel's own checks. The checksum of the IPv4 header is verified by the program. That of UDP is
//! trusted to the NIC, or verified by the program with [`Config::verify_udp_checksum`]: right where the NIC verifies
//! nothing, wrong on a veth pair, whose senders leave it unfinished, and for IPv6 then required.
//!
//! # Rights
//!
//! Loading and attaching take CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN. Nothing is pinned: programs, maps and attachments
//! leave with the process, also when it is killed.

pub mod bpf;
mod deciding;
pub mod device;
pub mod edge;
pub mod exchange;
pub mod gateway;
mod kernel;
mod layout;
pub mod link;
mod maps;
pub mod model;
pub mod reuseport;
pub mod rings;
mod rules;
pub mod umem;
mod uplink;
pub mod xsk;

pub use kernel::{Classifier, Tables};
pub use layout::{ARRIVING_MAX, ByRing, DROPS, FRAME_MAX, METADATA_LEN, Metadata, Ring};
pub use rules::{AtDriver, Classify, Config, Error, FlowCounters, Totals, UplinkConfig, ring_drops};
pub use uplink::Uplink;

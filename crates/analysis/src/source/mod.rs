//! Captures as files: pcap and pcapng, of either order of octets, plain or packed by gzip or zstd.
//!
//! [`Capture`] gives frame after frame through a window of bounded size. What is damaged ends a capture with a
//! [`Damage`], which says where; what was read before it counts. The reader is our own: a frame keeps its place in the
//! file, an interface its resolution of time, and an error the number of the frame.

mod capture;
mod layout;
mod octets;

pub use capture::{Capture, Damage, Frame, Interface};
pub use octets::Octets;

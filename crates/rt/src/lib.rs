//! Drives nodes in real time.
pub mod alloc_count;
pub mod log;

mod access;
mod driver;
mod event_loop;
mod history;
mod io;
mod signals;
mod sys;
mod system;
mod tun;
mod udp;

pub use access::{Access, Hooks, MachineId, NoHooks, Outside, Service};
pub use event_loop::{EventLoop, LoopConfig};
pub use history::{DROPS_PER_MOBILE, DropHistory};
pub use system::{Clock, lock_memory, pin_to_core, seed};
pub use tun::{Tun, TunAddress};
pub use udp::UdpConfig;

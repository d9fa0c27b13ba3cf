//! What the laboratory needs of the kernel and a node does not: no part of the product.
//!
//! * [`objects`] has the programs of `bpf/`, generator and sink of `gannet load`. [`gannet_demux::bpf`] loads them.
//! * [`layout`] says how their maps lie in memory.
//! * [`PolledSocket`] polls a device, and [`Datagrams`] are batches: loops that a node is compared with.
//! * [`NetworkNamespace`] and [`device_setting`] reach the other side of a link.
//! * [`ProcessSignal`] and what stands beside it act upon other processes.

pub mod layout;

mod network_namespace;
mod polled;
mod process;

pub use gannet_rt::NetworkNamespace;
pub use network_namespace::device_setting;
pub use polled::{Datagrams, PolledSocket};
pub use process::{
    ProcessSignal, cpu_time_of, end_with_parent, send_signal, set_niceness, set_preempting, set_timer_slack,
};

/// The object files of this build.
pub mod objects {
    use gannet_demux::bpf::{Bytecode, include_bytes_aligned};

    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}

/// The result of a system call that returns a negative number where it fails.
fn check(result: core::ffi::c_int) -> std::io::Result<()> {
    if result < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

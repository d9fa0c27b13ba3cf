//! Classification at the driver: whose packet it is, before anything is spent on it.

pub mod bpf;
pub mod device;
pub mod rings;
pub mod umem;
pub mod xsk;

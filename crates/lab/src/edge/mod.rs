//! QoS at the edge: the experiments of R. Guérin, L. Li, S. Nadas, P. Pan, V. Peris: *The Cost of QoS Support in Edge Devices: An
//! Experimental Study*, IEEE INFOCOM 1999, with the QoS component of [`gannet_qos::edge`].
//!
//! [`buffsize`], [`buffers`] and [`delay`] run in virtual time: sources, the component and a line behind it. [`real`] sends the same
//! streams through `gannet edge`, and through HTB, over an emulated line. [`cost`] measures what the component costs a packet on this
//! machine, and whole forwarders beside each other ([`whole`]); [`scale`] measures `gannet edge` by the number of its rules.

pub mod buffers;
pub mod buffsize;
pub mod cost;
pub mod delay;
mod link;
pub mod real;
pub mod scale;
mod scenario;
mod sets;
pub mod whole;

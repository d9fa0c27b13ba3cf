//! QoS at the edge: the experiments of R. Guérin, L. Li, S. Nadas, P. Pan, V. Peris: *The Cost of QoS Support in Edge Devices: An
//! Experimental Study*, IEEE INFOCOM 1999, with the QoS component of [`gannet_qos::edge`].
//!
//! [`buffsize`], [`buffers`] and [`delay`] run in virtual time: sources, the component and a line behind it. [`cost`] measures what
//! the component costs a packet on this machine.

pub mod buffers;
pub mod buffsize;
pub mod cost;
pub mod delay;
mod link;
mod scenario;
mod sets;

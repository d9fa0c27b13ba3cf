//! Says what happened.
//!
//! [`pcapng`] writes what a node received and sent as a capture that Wireshark opens, one capture interface for each
//! of the node's interfaces (Gb, Gn-C, Gn-U, Gi), and reads such a file again. [`sight`] says of a packet whose it is and where its
//! headers end, so that a capture can have headers alone, or some subscribers whole.
//!
//! [`live`] sends what passes to who listens for GSMTAP.
//!
//! [`lines`] writes lines of text behind the back of who makes them.

pub mod lines;
pub mod live;
pub mod pcapng;
pub mod sight;

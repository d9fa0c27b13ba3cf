//! Says what happened.
//!
//! [`pcapng`] writes what a node received and sent as a capture that Wireshark opens, one capture interface for each
//! of the node's interfaces (Gb, Gn-C, Gn-U, Gi), and reads such a file again.
//!
//! [`lines`] writes lines of text behind the back of who makes them.

pub mod lines;
pub mod pcapng;

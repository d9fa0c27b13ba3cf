//! Says what happened.
//!
//! [`pcapng`] writes what a node received and sent as a capture that Wireshark opens, one capture interface for each
//! of the node's interfaces (Gb, Gn-C, Gn-U, Gi), and reads such a file again.

pub mod pcapng;

//! Reads captures of any GPRS network and joins their layers on one timeline, from the RLC block to the segment of TCP.
//!
//! [`Reading`] is the way in: it reads files and gives [`record::Record`]s in the order of time.
//!
//! * [`record`]: one record for each unit of each layer, with the frame that proves it.
//! * [`source`]: files of pcap and pcapng, frame by frame.
//! * [`decode`]: what stands in a frame.
//! * [`join`]: what belongs together across frames: blocks of an LL-PDU, segments of an N-PDU, names of a mobile.
//! * [`cipher`], [`compression`]: LL-PDUs and N-PDUs as they were before they were ciphered and compressed.
//! * [`reading`]: all of it in one pass of bounded memory.
//! * [`tcp`], [`radio`]: what segments and blocks say, with the frames that prove it.
//! * [`layers`]: what each layer carries, and what headers cost.
//! * [`procedures`], [`mobility`]: what mobiles and network asked of each other, and how mobiles went from cell to cell.
//! * [`findings`]: the same in plain words.
//! * [`export`]: the same for other programs.
//! * [`view`]: what a person reads of it.

pub mod cipher;
pub mod compression;
pub mod decode;
pub mod export;
pub mod findings;
pub mod join;
pub mod layers;
pub mod mobility;
pub mod pings;
pub mod procedures;
#[cfg(feature = "query")]
pub mod query;
pub mod radio;
pub mod reading;
pub mod record;
pub mod series;
pub mod source;
pub mod tcp;
pub mod view;

pub use reading::{Reading, Settings, clocks_of};

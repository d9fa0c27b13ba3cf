//! Reads captures of any GPRS network and joins their layers on one timeline, from the RLC block to the segment of TCP.
//!
//! [`record`] has what is read from a file: one record for each unit of each layer, with the frame that proves it.

pub mod radio;
pub mod record;
pub mod series;
pub mod tcp;

//! The page of a trace: the layers of captures above each other on one time axis, served on loopback.
//!
//! * [`index`]: captures read once, as rows that are found by time.
//! * [`lane`]: what stands above each other, and the kinds of rows.
//! * [`live`]: the last minutes of a node that runs.
//! * [`texts`]: what each row says, in a temporary file.
//! * [`tile`]: what a window of time shows: rows, or counts where there are too many.
//! * [`span`]: what lasts: TBFs, procedures, changes of cell.
//! * [`connection`]: the time sequence of a connection.
//! * [`journey`]: the way of one packet.
//! * [`search`]: mobiles, addresses and words.
//! * [`shared`]: the index that is shown, and who may ask for it.
//! * [`server`]: the page and its answers.

pub mod connection;
pub mod index;
pub mod journey;
pub mod lane;
pub mod live;
pub mod search;
pub mod server;
pub mod shared;
pub mod span;
pub mod texts;
pub mod tile;

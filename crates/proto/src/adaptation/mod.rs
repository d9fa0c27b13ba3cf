//! The adaptation protocol at both ends, without I/O: `docs/bearer-adaptation.md` says what it does.
//!
//! | file | what |
//! |---|---|
//! | [`segment`] | LL-PDUs in pieces |
//! | [`key`], [`replay`], [`session`], [`keyring`] | the authenticated mode |
//! | [`stations`] | address conversion at the access point |
//! | [`access_point`] | the access point's end |
//! | [`selection`] | the access points that a mobile hears, and its choice |
//! | [`mobile`] | the mobiles' end, a [`Bearer`](crate::bearer::Bearer) |

pub mod access_point;
pub mod key;
pub mod keyring;
pub mod mobile;
pub mod replay;
pub mod segment;
pub mod selection;
pub mod session;
pub mod stations;
#[cfg(test)]
mod tests;

pub use access_point::{AccessPoint, ApConfig, ApLink, ApOutput, BROADCAST, Medium, Said};
pub use key::SharedKey;
pub use mobile::{AdaptationBearer, LEARNED_MAX, MobileConfig, MobileLink, MobileMedium};
pub use selection::Policy;
pub use session::PACKETS_MAX;
pub use stations::Address;

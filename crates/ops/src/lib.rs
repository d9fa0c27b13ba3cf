//! How a person operates a node: configuration, VTY, views.
//!
//! - [`grammar`]: the commands, and how a line finds the one that it means.
//! - [`vty`]: telnet sessions that run them, and the server that owns the sockets.
//! - [`config`]: configuration files in the same grammar, and the plain structures they fill:
//!   [`config::sgsn::SgsnConfig`], [`config::bss::BssConfig`], [`config::ggsn::GgsnConfig`],
//!   [`config::edge::EdgeConfig`], [`config::ms::MsConfig`], [`config::ap::ApConfig`].
//! - [`metrics`]: every counter and gauge in one list, for Prometheus, statsd and persons; [`ctrl`]: the same and more for
//!   Osmocom's tools; [`connections`]: how both are served.
//! - [`store`]: where a node keeps what is to outlive a restart.
//! - [`view`]: what `show …` prints, as plain structures that the program fills from its node.
//!
//! A kind of network element ([`config::Element`]: [`Sgsn`], [`Bss`], [`Ggsn`], [`EdgeRouter`], [`MobileStation`], [`AccessPoint`])
//! joins the three: its configuration, its operations, and the commands for both. The program implements [`vty::Operator`] for its node:
//!
//! ```
//! use gannet_ops::{Ggsn, config, vty};
//! use gannet_ops::config::ggsn::{GgsnConfig, GgsnOperation};
//! use gannet_ops::grammar::{CommandError, Grammar};
//! use gannet_machine::time::Duration;
//! use gannet_machine::trace::{Category, Level};
//!
//! struct Node { config: GgsnConfig }
//!
//! impl vty::Operator<Ggsn> for Node {
//!     fn config(&self) -> &GgsnConfig { &self.config }
//!     fn reconfigure(&mut self, new: GgsnConfig, _out: &mut String) -> Result<(), CommandError> {
//!         self.config = new;
//!         Ok(())
//!     }
//!     fn statistics(&mut self, _: vty::Statistics, out: &mut String) -> Result<(), CommandError> {
//!         out.push_str("nothing is counted\n");
//!         Ok(())
//!     }
//!     fn execute(&mut self, operation: &GgsnOperation, out: &mut String) -> Result<(), CommandError> {
//!         match operation {
//!             GgsnOperation::ShowGgsn(_) => out.push_str("nothing yet\n"),
//!             other => return Err(CommandError(format!("{other:?} is not there"))),
//!         }
//!         Ok(())
//!     }
//!     fn uptime(&self) -> Duration {
//!         Duration::ZERO
//!     }
//!     fn say(&mut self, _: Category, _: Level, text: &str) {
//!         eprintln!("{text}");
//!     }
//! }
//!
//! let loaded = config::read::<Ggsn>("ggsn.cfg", "ggsn ggsn0\n gtp bind-ip 127.0.0.2\n").unwrap();
//! let mut node = Node { config: loaded.config };
//! let mut out = String::new();
//! vty::run(&Grammar::new(), &mut node, "show ggsn", &mut out).unwrap();
//! assert_eq!(out, "nothing yet\n");
//! ```

pub mod cdr;
pub mod config;
pub mod connections;
pub mod ctrl;
pub mod grammar;
pub mod metrics;
mod socket;
pub mod store;
pub mod view;
pub mod vty;

pub use config::ap::AccessPoint;
pub use config::bss::Bss;
pub use config::edge::EdgeRouter;
pub use config::ggsn::Ggsn;
pub use config::ms::MobileStation;
pub use config::sgsn::Sgsn;

//! What `show …` prints: plain structures that the program fills from its node, each with its [`Display`].
//!
//! Every `Display` ends its last line with `\n`, so that answers are made by writing one after the other:
//!
//! ```
//! use core::fmt::Write as _;
//! let mut out = String::new();
//! for view in [gannet_ops::view::Table { name: "mobiles", used: 1, limit: 3 }] {
//!     write!(out, "{view}").unwrap();
//! }
//! assert_eq!(out, "  mobiles: 1 of 3\n");
//! ```
//!
//! States are words of the specifications, as the node's own `Debug` or `name()` has them; views don't know the enums
//! of the nodes. Scripts read these texts: a line that begins with a name stays so.
//!
//! [`Display`]: core::fmt::Display

mod counters;
mod gb;
mod ggsn;
mod links;
mod mobile;
mod node;
mod radio;

pub use counters::{DropCount, Explanation, Why, drops};
pub use gb::{Bvc, BvcStats, FlowControl, IpSns, NsBind, NsVc, NsVcStats, Nse};
pub use ggsn::{ApnCounters, GgsnApn, GgsnContext, GgsnSgsn, GgsnSummary};
pub use links::{Link, Llc, LlcSapi, Sndcp};
pub use mobile::{
    AtSgsn, CachedSubscriber, Cell, MmContext, MmCounters, Mobile, PdpContext, Qos, Subscriber, Treatment,
    Volumes,
};
pub use node::{GgsnPeer, SgsnSummary, Store, Table};
pub use radio::{RadioCell, RadioMobile, Tbf, mobile_metrics};

use core::fmt;
use core::net::SocketAddr;
use gannet_machine::time::{Duration, Instant};

/// A value that may be unknown.
struct Or<'a, T>(&'a Option<T>);

impl<T: fmt::Display> fmt::Display for Or<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(value) => value.fmt(f),
            None => f.pad("-"),
        }
    }
}

/// How long something lasts, as osmo-sgsn writes it.
struct Ago(Duration);

impl fmt::Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.0 / 1_000_000_000;
        let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
        write!(f, "{days}d {hours}h {}m {}s", seconds / 60 % 60, seconds % 60)
    }
}

/// An endpoint, as osmo-sgsn writes it.
struct Endpoint(SocketAddr);

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}]:{}", self.0.ip(), self.0.port())
    }
}

/// An instant as seconds since the start of the run, with milliseconds.
struct Seconds(Instant);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.0;
        write!(f, "{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1000)
    }
}

//! Rules by which a driver knows the owner of a packet when it arrives, and what may be dropped there and then.
//!
//! Rules are values: in real time they become writes to a map that a kernel program reads, in a simulation they arrive
//! after a delay, and a driver that knows no owners ignores them.

use core::net::{IpAddr, SocketAddr};
use gannet_qos::class::{Class, Precedence};
use gannet_wire::id::{Bvci, Nsei, Teid, Tid, Tlli};

/// How a packet names its owner, and how a node does that speaks of all its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key {
    /// A G-PDU of GTPv1, by our TEID. [`TeidKey`](crate::gtp::TeidKey) leads to the place of the context in a table, and to
    /// how often that was used before.
    Teid(Teid),
    /// A T-PDU of GTPv0, by the TID.
    Tid(Tid),
    /// An UL-UNITDATA with a local TLLI, which the node itself has assigned.
    LocalTlli(Tlli),
    /// An UL-UNITDATA with a TLLI that the mobile has chosen, a foreign or random one for the most part: it means
    /// something in one cell only. One that is a [`Key::LocalTlli`] of somebody names that mobile in every cell.
    CellTlli {
        /// The NSE.
        nsei: Nsei,
        /// The cell's BVC.
        bvci: Bvci,
        /// The TLLI.
        tlli: Tlli,
    },
    /// A mobile of the uplink by its rules' name, whichever TLLI it uses: for [`RuleChange::Block`] and
    /// [`RuleChange::Unblock`] only, which concern all of them and then need not search for one.
    Name(u32),
}

/// The token bucket of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// What passes in the long run, in octets of N-PDU per second. Never 0.
    pub rate_octets_per_s: u32,
    /// What passes at once after a pause, in octets.
    pub burst_octets: u32,
}

/// What the classifier knows of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// What its packets carry.
    pub key: Key,
    /// What the driver says of its packets to the node: the [`ContextName`](crate::gtp::ContextName) of a PDP context, the
    /// index of the mobile's slot for the uplink.
    pub name: u32,
    /// With the precedence: into which ring they go.
    pub class: Class,
    /// For the scheduler as well; the driver itself drops without regard to it.
    pub precedence: Precedence,
    /// What exceeds it is dropped; `None` lets everything pass.
    pub policer: Option<Policer>,
    /// On Gn the address that its packets come from: those from elsewhere are left to the node, which knows who else may send
    /// them. `None` where everybody may, and on Gb.
    pub source: Option<IpAddr>,
}

/// Why a flow takes nothing now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Block {
    /// The flow control of the mobile or of its cell: what came would wait and then be dropped.
    FlowControl = 0,
    /// Its own queue is full.
    QueueFull = 1,
}

/// A change of the classifier's rules. Changes take effect in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleChange {
    /// A new rule, or a rule in place of that with the same key: unblocked, its bucket empty where the policer is new.
    /// On the uplink a mobile may have several keys, and what else their rules say is that of the newest.
    Install(Rule),
    /// No rule any more: packets are those of an unknown context.
    Remove(Key),
    /// Drop what arrives.
    Block(Key, Block),
    /// Do not, as far as this reason goes.
    Unblock(Key, Block),
    /// Which NSE sends from an address on Gb, or that none does any more: the NSE of a [`Key::CellTlli`].
    Peer {
        /// The far end of an NS-VC.
        address: SocketAddr,
        /// Whose it is.
        nsei: Option<Nsei>,
    },
}

//! A GGSN's user plane in the kernel: an XDP program on Gn that takes G-PDUs apart and sends what is in them to Gi, and one on
//! each Gi that does the opposite.
//!
//! Both forward what needs nothing from the node, by the rules that the node gives ([`gannet_proto::forwarding`]). They
//! ask the kernel for the route of each packet, so that routes, neighbours and MTUs are the machine's own. What they do not
//! forward goes on as if they were not there: see [`Left`] for the reasons.

mod layout;
mod rules;

pub(crate) use layout::{COUNTS, count, flag};
pub use rules::{GatewayConfig, GatewayTotals, Left, Network};
pub(crate) use rules::{pool_on_the_wire, prefix_on_the_wire, v4_on_the_wire};

use crate::bpf::{Loader, MappedArray, Object, TestRun, TestRunResult, XdpMode, objects};
use crate::layout::{CELL_CLOCK, Gcra, PLACE_MASK};
use crate::maps::{Interfaces, globals_of_own, possible_cpus};
use crate::rules::Error;
use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use gannet_proto::forwarding::{ForwardChange, ForwardRule, Forwarded};
use gannet_proto::gtp::ContextName;
use layout::{FORWARDS_V4, FORWARDS_V6, NetworkEntry, POOLS_MAX, Tunnel};
use std::net::IpAddr;

/// Which of the two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// That of Gn, for the uplink.
    Gn,
    /// That of Gi, for the downlink.
    Gi,
}

impl Side {
    /// The program's name in its object.
    const fn program(self) -> &'static str {
        match self {
            Self::Gn => "uplink",
            Self::Gi => "downlink",
        }
    }
}

/// Both programs and their tables.
#[derive(Debug)]
pub struct Gateway {
    object: Object,
    tunnels: MappedArray<Tunnel>,
    networks: MappedArray<NetworkEntry>,
    totals: MappedArray<[AtomicU64; COUNTS]>,
    cells: MappedArray<AtomicU64>,
    gn: Interfaces,
    gi: Interfaces,
}

const MOBILES_V4: &str = "mobiles_v4";
const MOBILES_V6: &str = "mobiles_v6";

impl Gateway {
    /// Loads the programs; nothing is attached yet.
    ///
    /// # Errors
    /// [`Error::Config`], or what the kernel misses or refuses.
    pub fn load(config: &GatewayConfig) -> Result<Self, Error> {
        config.check()?;
        let pools = |is_v4: bool| {
            let of_version = config.pools.iter().filter(|(address, _)| address.is_ipv4() == is_v4);
            let mut octets: Vec<u8> = of_version
                .map(|pool| pool_on_the_wire(*pool))
                .flat_map(|(network, mask)| [network, mask])
                .flat_map(u64::to_ne_bytes)
                .collect();
            octets.resize(16 * POOLS_MAX, 0);
            octets
        };
        let mut globals = globals_of_own(&config.addresses);
        globals.extend([
            ("teid_key", config.teid_key.words().flat_map(u32::to_ne_bytes).collect()),
            ("own_user", config.user.octets().to_vec()),
            ("pools_v4", pools(true)),
            ("pools_v6", pools(false)),
        ]);
        let mut loader = Loader::new(&objects::GATEWAY)
            .max_entries("tunnels", config.contexts)
            .max_entries("networks", u32::from(config.networks) + 1)
            .max_entries(MOBILES_V4, config.contexts)
            .max_entries(MOBILES_V6, config.contexts)
            .max_entries("totals", possible_cpus());
        for (name, octets) in &globals {
            loader = loader.global(name, octets);
        }
        let mut object = loader.load()?;
        object.load_xdp(Side::Gn.program())?;
        object.load_xdp(Side::Gi.program())?;
        Ok(Self {
            tunnels: object.mapped_array("tunnels")?,
            networks: object.mapped_array("networks")?,
            totals: object.mapped_array("totals")?,
            cells: object.mapped_array("cells")?,
            object,
            gn: Interfaces::new(Side::Gn.program(), 1),
            gi: Interfaces::new(Side::Gi.program(), 1),
        })
    }

    // ------------------------------------------------------------------ rules

    /// Applies a change. Taking back what is not there does nothing.
    ///
    /// # Errors
    /// [`Error::NoPlace`]; [`Error::Kernel`] where a table of addresses is full.
    pub fn apply(&mut self, change: &ForwardChange) -> Result<(), Error> {
        match change {
            ForwardChange::Install(rule) => self.install(rule),
            ForwardChange::Remove(name) => self.remove(*name),
        }
    }

    fn install(&mut self, rule: &ForwardRule) -> Result<(), Error> {
        self.retire(rule.name)?;
        let name = rule.name.0;
        let entry = self.entry(rule.name)?;
        let (up, down) = (&entry.up, &entry.down);
        if up.name.load(Relaxed) != name {
            up.load.clear();
            down.load.clear();
            down.sequence.store(0, Relaxed);
            down.foreign.store(0, Relaxed);
        }
        up.load.set_bucket(Gcra::of(rule.uplink));
        down.load.set_bucket(Gcra::of(rule.downlink));
        // Entry 0 is Gn.
        let network = rule.network.saturating_add(1);
        up.network.store(network, Relaxed);
        down.network.store(network, Relaxed);
        up.source.store(rule.source.map_or(0, v4_on_the_wire), Relaxed);
        up.v4.store(rule.v4.map_or(0, v4_on_the_wire), Relaxed);
        up.v6.store(rule.v6.map_or(0, prefix_on_the_wire), Relaxed);
        down.tos.store(rule.dscp << 2, Relaxed);
        down.peer.store(v4_on_the_wire(rule.peer), Relaxed);
        down.peer_teid.store(rule.peer_teid.0.to_be(), Relaxed);
        up.name.store(name, Relaxed);
        down.name.store(name, Relaxed);
        let bits = flags_of(rule);
        up.flags.store(bits & !flag::SEQUENCED, Release);
        if rule.takes_downlink {
            down.flags.store(bits, Release);
            if let Some(address) = rule.v4 {
                self.object.hash_insert(MOBILES_V4, v4_on_the_wire(address).into(), name.into())?;
            }
            if let Some(address) = rule.v6 {
                self.object.hash_insert(MOBILES_V6, prefix_on_the_wire(address), name.into())?;
            }
        }
        Ok(())
    }

    fn remove(&mut self, name: ContextName) -> Result<(), Error> {
        if self.entry(name)?.up.name.load(Relaxed) == name.0 {
            self.retire(name)?;
        }
        Ok(())
    }

    /// Takes the context at the place of this name, be it another one, out of the tables: all its packets are the node's.
    fn retire(&mut self, name: ContextName) -> Result<(), Error> {
        let entry = self.entry(name)?;
        entry.up.flags.store(0, Release);
        entry.down.flags.store(0, Release);
        let former = u64::from(entry.up.name.load(Relaxed));
        let (v4, v6) = (entry.up.v4.load(Relaxed), entry.up.v6.load(Relaxed));
        for (map, key) in [(MOBILES_V4, u64::from(v4)), (MOBILES_V6, v6)] {
            // Another context may have the address by now.
            if key != 0 && self.object.hash_get(map, key)? == Some(former) {
                self.object.hash_remove(map, key)?;
            }
        }
        Ok(())
    }

    fn entry(&self, name: ContextName) -> Result<&Tunnel, Error> {
        let place = name.0 & PLACE_MASK;
        self.tunnels.get(place as usize).ok_or(Error::NoPlace { place, places: self.tunnels.len() })
    }

    /// What was counted for a context, also when its rule was taken back; `None` where another one has its place, or it never
    /// had a rule.
    #[must_use]
    pub fn forwarded(&self, name: ContextName) -> Option<Forwarded> {
        let Tunnel { up, down } = self.entry(name).ok()?;
        (up.name.load(Acquire) == name.0 && name.0 != 0).then(|| Forwarded {
            uplink: up.load.carried(),
            downlink: down.load.carried(),
            foreign: down.foreign.load(Relaxed),
        })
    }

    /// The counters of all CPUs.
    #[must_use]
    pub fn totals(&self) -> GatewayTotals {
        let mut sum = GatewayTotals::default();
        for counts in self.totals.iter() {
            counts.iter().enumerate().for_each(|(index, count)| sum.add(index, count.load(Relaxed)));
        }
        sum
    }

    // ------------------------------------------------------------------ interfaces

    /// Says by which interface Gn is reached; 0 while it has none.
    pub fn set_gn(&self, device: u32) {
        if let Some(entry) = self.networks.get(0) {
            entry.device.store(device, Release);
        }
    }

    /// Says how a network is reached.
    pub fn set_network(&self, number: u16, network: Network) {
        let Some(entry) = self.networks.get(usize::from(number) + 1) else { return };
        let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
        let forwards = bit(network.forwards_v4, FORWARDS_V4) | bit(network.forwards_v6, FORWARDS_V6);
        entry.tun.store(network.tun, Relaxed);
        entry.mtu.store(network.mtu, Relaxed);
        entry.forwards.store(forwards, Relaxed);
        entry.device.store(network.device, Release);
    }

    /// Sets a program on an interface of this thread's network namespace.
    ///
    /// # Errors
    /// [`Error::Attached`]; another program there, no native XDP, no such interface.
    pub fn attach(&mut self, side: Side, ifindex: u32, mode: XdpMode) -> Result<(), Error> {
        let interfaces = match side {
            Side::Gn => &mut self.gn,
            Side::Gi => &mut self.gi,
        };
        interfaces.attach(&mut self.object, ifindex, mode)
    }

    /// Takes the program off an interface, also off one that has vanished.
    pub fn detach(&mut self, side: Side, ifindex: u32) {
        match side {
            Side::Gn => self.gn.detach(ifindex),
            Side::Gi => self.gi.detach(ifindex),
        }
    }

    // ------------------------------------------------------------------ by hand

    /// Runs a program on a frame by hand.
    ///
    /// # Errors
    /// What the kernel says of the frame.
    pub fn run(&self, side: Side, run: TestRun<'_>) -> Result<TestRunResult, Error> {
        Ok(self.object.run(side.program(), run)?)
    }

    /// Lends the programs a time for their buckets; 0 ends that.
    pub fn lend_clock(&self, now_ns: u64) {
        if let Some(clock) = self.cells.get(CELL_CLOCK) {
            clock.store(now_ns, Relaxed);
        }
    }
}

/// The bits of both ways of a rule.
pub(crate) fn flags_of(rule: &ForwardRule) -> u8 {
    let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    flag::ACTIVE
        | bit(rule.sequenced, flag::SEQUENCED)
        | bit(rule.to_ring, flag::TO_RING)
        | bit(rule.syn_to_node, flag::SYN_TO_NODE)
}

/// Whether an address is one out of these pools.
pub(crate) fn is_of_pool(pools: &[(IpAddr, u8)], address: IpAddr) -> bool {
    let key = match address {
        IpAddr::V4(address) => u64::from(v4_on_the_wire(address)),
        IpAddr::V6(address) => prefix_on_the_wire(address),
    };
    let mut same = pools.iter().filter(|(pool, _)| pool.is_ipv4() == address.is_ipv4());
    same.any(|pool| {
        let (network, mask) = pool_on_the_wire(*pool);
        mask != 0 && key & mask == network
    })
}

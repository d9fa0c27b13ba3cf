//! A whole GPRS network in virtual time: mobiles, BSS, SGSN, GGSN, and the links between them.
//!
//! ```text
//! Ms ── Um ── Bss ══ Gb ══ Sgsn ══ Gn ══ Ggsn ── Gi ── (the application)
//! ```
//!
//! Um and Gi take no time here: the BSS emulates the radio itself. Gb and Gn are [`Link`]s, one for each direction. All
//! nodes share one pool of frames, so that a frame that is lost anywhere is missed at the end.

use crate::driven::{Driven, Emission};
use crate::link::{Fate, Link, LinkProfile};
use crate::queue::EventQueue;
use core::hash::{BuildHasher, Hasher};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use gannet_machine::drops::{Drop, DropCounters};
use gannet_machine::frame::{Frame, FramePool};
use gannet_machine::rng::Rng;
use gannet_machine::time::Instant;
use gannet_machine::trace::{Quiet, TraceSink as _};
use gannet_machine::{Input, Peer, Port};
use gannet_node::bss::{self, Bss, UM as BSS_UM, gb_port};
use gannet_node::ggsn::{self, Ggsn, GgsnConfig, PORT_GTP_C, PORT_GTP_U, PORT_GTP_V0, PORT_TUN};
use gannet_node::ms::{self, BEARER, Ms, MsConfig};
use gannet_node::sgsn::{self, GB, GTP_C, GTP_U, GTP_V0, Sgsn, SgsnConfig, SgsnEvent};
use gannet_proto::gtp::TeidKey;
use gannet_proto::um::UmBearer;
use std::collections::{BTreeSet, VecDeque};

/// The SGSN on Gb.
pub const SGSN_GB: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 23_000);
/// The SGSN on Gn.
pub const SGSN_GN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 5));
/// The GGSN on Gn.
pub const GGSN_GN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 6));
/// The BSS on Gb; its endpoint k has port 22000 + k.
pub const BSS_GB: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const BSS_PORT: u16 = 22_000;
const GTP_C_PORT: u16 = 2123;
const GTP_U_PORT: u16 = 2152;
const GTP_V0_PORT: u16 = 3386;

/// The UDP end of the SGSN at one of its ports; `None` where the port has none.
#[must_use]
pub const fn sgsn_end(port: Port) -> Option<SocketAddr> {
    match port {
        GB => Some(SGSN_GB),
        GTP_C => Some(SocketAddr::new(SGSN_GN, GTP_C_PORT)),
        GTP_U => Some(SocketAddr::new(SGSN_GN, GTP_U_PORT)),
        GTP_V0 => Some(SocketAddr::new(SGSN_GN, GTP_V0_PORT)),
        _ => None,
    }
}

/// The address of an endpoint of the BSS.
#[must_use]
pub const fn bss_address(endpoint: u16) -> SocketAddr {
    SocketAddr::new(BSS_GB, BSS_PORT + endpoint)
}

/// What a world is made of.
#[derive(Debug, Clone)]
pub struct WorldConfig {
    /// Where all dice come from.
    pub seed: u64,
    /// Frames in the pool.
    pub frames: usize,
    /// Both directions of Gb.
    pub gb: LinkProfile,
    /// Both directions of Gn.
    pub gn: LinkProfile,
    /// The SGSN.
    pub sgsn: SgsnConfig,
    /// The GGSN.
    pub ggsn: GgsnConfig,
    /// The BSS.
    pub bss: bss::Config,
    /// The mobiles.
    pub ms: MsConfig,
}

/// A node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// The mobiles.
    Ms,
    /// The BSS.
    Bss,
    /// The SGSN.
    Sgsn,
    /// The GGSN.
    Ggsn,
}

impl Node {
    /// All nodes.
    pub const ALL: [Self; 4] = [Self::Ms, Self::Bss, Self::Sgsn, Self::Ggsn];
}

/// One direction of one interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    GbUp,
    GbDown,
    GnUp,
    GnDown,
}

/// A datagram on its way.
#[derive(Debug)]
struct Delivery {
    to: Node,
    port: Port,
    peer: Peer,
    frame: Frame,
}

/// What the application sees.
#[derive(Debug)]
pub enum Happening {
    /// A mobile told something.
    Ms(ms::MsEvent),
    /// The BSS told something.
    Bss(bss::Event),
    /// The SGSN told something.
    Sgsn(SgsnEvent),
    /// The GGSN told something.
    Ggsn(ggsn::GgsnEvent),
    /// An N-PDU of a mobile came out of the GGSN.
    Internet(Frame),
}

/// A datagram that a link lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loss<'a> {
    /// Was it on Gb (or on Gn)?
    pub on_gb: bool,
    /// Its octets.
    pub octets: &'a [u8],
}

/// Told of every datagram that a link loses.
pub type OnLoss = Box<dyn FnMut(Loss<'_>)>;

/// Told of every datagram that a node sends: which node, through which port, to whom, and what.
pub type OnSent = Box<dyn FnMut(Node, Port, Peer, &[u8])>;

/// A datagram at a port of a node, where a capture of that node has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crossing<'a> {
    /// When.
    pub at: Instant,
    /// At which node.
    pub node: Node,
    /// The node sent it (or received it).
    pub is_sent: bool,
    /// Through which port.
    pub port: Port,
    /// To whom, or from whom.
    pub peer: Peer,
    /// Its octets.
    pub octets: &'a [u8],
}

/// Told of every datagram that a node sends or receives.
pub type OnCrossing = Box<dyn FnMut(Crossing<'_>)>;

/// The world.
pub struct GprsWorld {
    /// The time.
    pub now: Instant,
    /// The mobiles.
    pub ms: Driven<Ms, Quiet>,
    /// The BSS.
    pub bss: Driven<Bss, Quiet>,
    /// The SGSN.
    pub sgsn: Driven<Sgsn, Quiet>,
    /// The GGSN.
    pub ggsn: Driven<Ggsn, Quiet>,
    /// The pool of all frames.
    pub frames: FramePool,
    /// What happened and was not yet looked at.
    pub happenings: VecDeque<Happening>,
    /// Called for every datagram that a link loses.
    pub on_loss: Option<OnLoss>,
    /// Called for every datagram that a node sends, also where nobody is there to receive it.
    pub on_sent: Option<OnSent>,
    /// Called for every datagram that a node sends or receives.
    pub on_crossing: Option<OnCrossing>,
    /// Endpoints of the BSS whose NS-VCs are cut: what they send, and what is sent to them, is lost.
    pub cut: BTreeSet<u16>,
    links: [Link; 4],
    queue: EventQueue<Delivery>,
    rng: Rng,
    outbox: Vec<Emission>,
    digest: foldhash::quality::FoldHasher<'static>,
    /// Datagrams that were delivered on Gb and Gn.
    pub datagrams: u64,
}

impl core::fmt::Debug for GprsWorld {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "GprsWorld(at {}, {} under way)", self.now, self.queue.len())
    }
}

/// Gives an input to one node and collects what follows.
macro_rules! give {
    ($world:ident, $node:ident, $input:expr, $event:path) => {{
        let (outbox, happenings) = (&mut $world.outbox, &mut $world.happenings);
        let told = |event| happenings.push_back($event(event));
        $world.$node.give($world.now, $input, |emission| outbox.push(emission), told);
    }};
}

/// Gives one due wake-up to a node and collects what follows; false where none was due.
macro_rules! wake {
    ($world:ident, $node:ident, $event:path) => {{
        let (outbox, happenings) = (&mut $world.outbox, &mut $world.happenings);
        let told = |event| happenings.push_back($event(event));
        $world.$node.wake($world.now, |emission| outbox.push(emission), told)
    }};
}

/// Acts on one node and collects what follows.
macro_rules! act {
    ($world:ident, $node:ident, $action:expr, $event:path) => {{
        let (outbox, happenings) = (&mut $world.outbox, &mut $world.happenings);
        let told = |event| happenings.push_back($event(event));
        $world.$node.act($world.now, $action, |emission| outbox.push(emission), told)
    }};
}

impl GprsWorld {
    /// A world at time zero, nothing started.
    ///
    /// # Errors
    /// What is wrong with the configuration of the BSS or the GGSN.
    pub fn new(config: WorldConfig) -> Result<Self, String> {
        let mut rng = Rng::seeded(config.seed);
        let frames = FramePool::new(config.frames);
        let bss = Bss::new(config.bss).map_err(|error| error.to_string())?;
        // Each world has its own keys, the same one in each run.
        let key = |of: u128| TeidKey::new(u128::from(config.seed) << 64 | of);
        let ggsn =
            Ggsn::new(GgsnConfig { teid_key: key(1), ..config.ggsn }).map_err(|error| error.to_string())?;
        let sgsn = Sgsn::new(SgsnConfig { teid_key: key(2), ..config.sgsn }, config.seed);
        let (up, down) = (Link::new(config.gb), Link::new(config.gb));
        let (gn_up, gn_down) = (Link::new(config.gn), Link::new(config.gn));
        Ok(Self {
            now: Instant::ZERO,
            ms: Driven::new(
                Ms::new(config.ms, Box::new(UmBearer)),
                Quiet::default(),
                rng.fork(),
                frames.clone(),
            ),
            bss: Driven::new(bss, Quiet::default(), rng.fork(), frames.clone()),
            sgsn: Driven::new(sgsn, Quiet::default(), rng.fork(), frames.clone()),
            ggsn: Driven::new(ggsn, Quiet::default(), rng.fork(), frames.clone()),
            frames,
            happenings: VecDeque::new(),
            on_loss: None,
            on_sent: None,
            on_crossing: None,
            cut: BTreeSet::new(),
            links: [up, down, gn_up, gn_down],
            queue: EventQueue::default(),
            rng,
            outbox: Vec::new(),
            digest: foldhash::quality::FixedState::with_seed(0).build_hasher(),
            datagrams: 0,
        })
    }

    /// Begins: the SGSN listens, the BSS introduces itself.
    pub fn start(&mut self) {
        give!(self, sgsn, Input::Command(sgsn::SgsnCommand::Start), Happening::Sgsn);
        self.route(Node::Sgsn);
        give!(self, bss, Input::Command(bss::Command::Start), Happening::Bss);
        self.route(Node::Bss);
    }

    /// An order to a mobile.
    pub fn order_ms(&mut self, command: ms::MsCommand) {
        give!(self, ms, Input::Command(command), Happening::Ms);
        self.route(Node::Ms);
    }

    /// An order to the BSS.
    pub fn order_bss(&mut self, command: bss::Command) {
        give!(self, bss, Input::Command(command), Happening::Bss);
        self.route(Node::Bss);
    }

    /// An order to the SGSN.
    pub fn order_sgsn(&mut self, command: sgsn::SgsnCommand) {
        give!(self, sgsn, Input::Command(command), Happening::Sgsn);
        self.route(Node::Sgsn);
    }

    /// Does something with the SGSN itself.
    pub fn act_sgsn<R>(
        &mut self,
        action: impl FnOnce(&mut Sgsn, &mut gannet_machine::Context<'_>) -> R,
    ) -> R {
        let result = act!(self, sgsn, action, Happening::Sgsn);
        self.route(Node::Sgsn);
        result
    }

    /// An N-PDU for a mobile arrives at the GGSN from the network behind it.
    pub fn internet(&mut self, frame: Frame) {
        self.crosses(Node::Ggsn, false, (PORT_TUN, Peer::Link), &frame);
        give!(self, ggsn, Input::Datagram { port: PORT_TUN, peer: Peer::Link, frame }, Happening::Ggsn);
        self.route(Node::Ggsn);
    }

    /// A datagram from somebody else arrives at a node at once, past the links.
    pub fn inject(&mut self, to: Node, port: Port, peer: Peer, octets: &[u8]) -> bool {
        let Some(frame) = self.frames.copy_of(octets) else { return false };
        self.deliver(Delivery { to, port, peer, frame });
        true
    }

    /// Replaces a GGSN by one that knows nothing, with another restart counter.
    pub fn restart_ggsn(&mut self, ggsn: Ggsn) {
        self.ggsn =
            Driven::new(ggsn, core::mem::take(&mut self.ggsn.trace), self.rng.fork(), self.frames.clone());
    }

    /// Both directions of Gb change what they are like.
    pub const fn set_gb(&mut self, profile: LinkProfile) {
        self.links[0].profile = profile;
        self.links[1].profile = profile;
    }

    /// Both directions of Gn change what they are like.
    pub const fn set_gn(&mut self, profile: LinkProfile) {
        self.links[2].profile = profile;
        self.links[3].profile = profile;
    }

    /// When something happens next.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        let wakes = [self.ms.next_wake(), self.bss.next_wake(), self.sgsn.next_wake(), self.ggsn.next_wake()];
        wakes.into_iter().chain([self.queue.next()]).flatten().min()
    }

    /// Goes on until `until`, or until something happened that the application should look at.
    pub fn run_until(&mut self, until: Instant) {
        while self.happenings.is_empty() {
            match self.next() {
                Some(next) if next <= until => {
                    self.now = next.max(self.now);
                    self.step();
                }
                Some(_) | None => {
                    self.now = until.max(self.now);
                    return;
                }
            }
        }
    }

    /// One thing that is due now: a delivery before a wake-up.
    fn step(&mut self) {
        if let Some(delivery) = self.queue.pop_due(self.now) {
            self.deliver(delivery);
            return;
        }
        if wake!(self, ms, Happening::Ms) {
            self.route(Node::Ms);
        } else if wake!(self, bss, Happening::Bss) {
            self.route(Node::Bss);
        } else if wake!(self, sgsn, Happening::Sgsn) {
            self.route(Node::Sgsn);
        } else if wake!(self, ggsn, Happening::Ggsn) {
            self.route(Node::Ggsn);
        }
    }

    fn deliver(&mut self, delivery: Delivery) {
        let Delivery { to, port, peer, frame } = delivery;
        self.digest.write(&frame);
        self.digest.write_u64(self.now.0);
        self.crosses(to, false, (port, peer), &frame);
        match to {
            Node::Ms => give!(self, ms, Input::Datagram { port, peer, frame }, Happening::Ms),
            Node::Bss => give!(self, bss, Input::Datagram { port, peer, frame }, Happening::Bss),
            Node::Sgsn => give!(self, sgsn, Input::Datagram { port, peer, frame }, Happening::Sgsn),
            Node::Ggsn => give!(self, ggsn, Input::Datagram { port, peer, frame }, Happening::Ggsn),
        }
        self.route(to);
    }

    fn crosses(&mut self, node: Node, is_sent: bool, (port, peer): (Port, Peer), octets: &[u8]) {
        if let Some(on_crossing) = &mut self.on_crossing {
            on_crossing(Crossing { at: self.now, node, is_sent, port, peer, octets });
        }
    }

    /// Sends what a node has emitted on its way.
    fn route(&mut self, from: Node) {
        let mut outbox = core::mem::take(&mut self.outbox);
        for Emission { port, peer, frame } in outbox.drain(..) {
            if let Some(on_sent) = &mut self.on_sent {
                on_sent(from, port, peer, &frame);
            }
            self.crosses(from, true, (port, peer), &frame);
            match (from, port, peer) {
                (Node::Ms, BEARER, _) => self.now(Node::Bss, BSS_UM, peer, frame),
                (Node::Bss, BSS_UM, _) => self.now(Node::Ms, BEARER, peer, frame),
                (Node::Bss, Port(port), Peer::Udp(SGSN_GB)) => {
                    let endpoint = port.saturating_sub(gb_port(0).0);
                    if self.cut.contains(&endpoint) {
                        continue;
                    }
                    let peer = Peer::Udp(bss_address(endpoint));
                    self.send(Way::GbUp, Delivery { to: Node::Sgsn, port: GB, peer, frame });
                }
                (Node::Sgsn, GB, Peer::Udp(to)) if to.ip() == BSS_GB => {
                    let endpoint = to.port().saturating_sub(BSS_PORT);
                    if self.cut.contains(&endpoint) {
                        continue;
                    }
                    let (port, peer) = (gb_port(endpoint), Peer::Udp(SGSN_GB));
                    self.send(Way::GbDown, Delivery { to: Node::Bss, port, peer, frame });
                }
                (Node::Sgsn, GTP_C | GTP_U | GTP_V0, Peer::Udp(to)) if to.ip() == GGSN_GN => {
                    let (port, number) = match port {
                        GTP_C => (PORT_GTP_C, GTP_C_PORT),
                        GTP_U => (PORT_GTP_U, GTP_U_PORT),
                        _ => (PORT_GTP_V0, GTP_V0_PORT),
                    };
                    let peer = Peer::Udp(SocketAddr::new(SGSN_GN, number));
                    self.send(Way::GnUp, Delivery { to: Node::Ggsn, port, peer, frame });
                }
                (Node::Ggsn, PORT_GTP_C | PORT_GTP_U | PORT_GTP_V0, Peer::Udp(to)) if to.ip() == SGSN_GN => {
                    let (port, number) = match port {
                        PORT_GTP_C => (GTP_C, GTP_C_PORT),
                        PORT_GTP_U => (GTP_U, GTP_U_PORT),
                        _ => (GTP_V0, GTP_V0_PORT),
                    };
                    let peer = Peer::Udp(SocketAddr::new(GGSN_GN, number));
                    self.send(Way::GnDown, Delivery { to: Node::Sgsn, port, peer, frame });
                }
                // Um is one link between two nodes and passes them on; nothing else here has addresses of a link layer.
                (_, _, Peer::Ethernet(_)) => self.sink(from).dropped(Drop::RtNoEndpoint, None),
                (Node::Ggsn, PORT_TUN, _) => self.happenings.push_back(Happening::Internet(frame)),
                // Nobody is there: an answer to a stranger of a test, for one.
                _ => {}
            }
        }
        self.outbox = outbox;
    }

    const fn sink(&mut self, node: Node) -> &mut Quiet {
        match node {
            Node::Ms => &mut self.ms.trace,
            Node::Bss => &mut self.bss.trace,
            Node::Sgsn => &mut self.sgsn.trace,
            Node::Ggsn => &mut self.ggsn.trace,
        }
    }

    fn now(&mut self, to: Node, port: Port, peer: Peer, frame: Frame) {
        self.queue.push(self.now, Delivery { to, port, peer, frame });
    }

    fn send(&mut self, way: Way, delivery: Delivery) {
        let Delivery { to, port, peer, mut frame } = delivery;
        let [gb_up, gb_down, gn_up, gn_down] = &mut self.links;
        let (link, on_gb) = match way {
            Way::GbUp => (gb_up, true),
            Way::GbDown => (gb_down, true),
            Way::GnUp => (gn_up, false),
            Way::GnDown => (gn_down, false),
        };
        let fate = link.send(self.now, &mut self.rng, &mut frame);
        match fate {
            Fate::Lost => {
                if let Some(on_loss) = &mut self.on_loss {
                    on_loss(Loss { on_gb, octets: &frame });
                }
            }
            Fate::Once(at) => {
                self.datagrams += 1;
                self.queue.push(at, Delivery { to, port, peer, frame });
            }
            Fate::Twice(first, second) => {
                self.datagrams += 1;
                if let Some(copy) = self.frames.copy_of(&frame) {
                    self.queue.push(second, Delivery { to, port, peer, frame: copy });
                }
                self.queue.push(first, Delivery { to, port, peer, frame });
            }
        }
    }

    // ---------------------------------------------------------------------------------------------- looking

    /// The drops of a node.
    #[must_use]
    pub const fn drops(&self, node: Node) -> &DropCounters {
        match node {
            Node::Ms => &self.ms.trace.drops,
            Node::Bss => &self.bss.trace.drops,
            Node::Sgsn => &self.sgsn.trace.drops,
            Node::Ggsn => &self.ggsn.trace.drops,
        }
    }

    /// Drops of one name at all nodes.
    #[must_use]
    pub fn dropped(&self, drop: Drop) -> u64 {
        Node::ALL.iter().map(|node| self.drops(*node).get(drop)).sum()
    }

    /// A number that is the same where every datagram and its time were the same.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::EthernetAddress;

    #[test]
    fn an_ethernet_address_is_passed_on_at_um_and_refused_elsewhere() {
        let link = LinkProfile::default();
        let config = WorldConfig {
            seed: 1,
            frames: 8,
            gb: link,
            gn: link,
            sgsn: SgsnConfig { mobiles_max: 4, ..SgsnConfig::default() },
            ggsn: GgsnConfig::new(GGSN_GN, Vec::new()),
            bss: bss::Config::new(Vec::new(), Vec::new()),
            ms: MsConfig::new(1, "001010000000001".parse().unwrap(), Vec::new()),
        };
        let mut world = GprsWorld::new(config).unwrap();
        let peer = Peer::Ethernet(EthernetAddress([2, 0, 0, 0, 0, 7]));
        let sent = [(Node::Ms, BEARER), (Node::Bss, gb_port(0)), (Node::Sgsn, GTP_U), (Node::Ggsn, PORT_TUN)];
        for (node, port) in sent {
            let frame = world.frames.copy_of(&[0; 8]).unwrap();
            world.outbox.push(Emission { port, peer, frame });
            world.route(node);
        }
        world.run_until(Instant(1));
        let refused = Node::ALL.map(|node| world.drops(node).get(Drop::RtNoEndpoint));
        assert_eq!(refused, [0, 1, 1, 1]);
        assert_eq!(world.drops(Node::Bss).get(Drop::UmMalformed), 1, "it came, and names no mobile");
        assert_eq!((world.happenings.len(), world.frames.free()), (0, 8));
    }
}

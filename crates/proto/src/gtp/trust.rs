//! Whom a GSN believes: which addresses a peer may name, and from which addresses messages about a tunnel are taken.
//!
//! GTP has no proof of identity, so the source address is all there is to go by. A tunnel has a set of *known* addresses: where
//! the request that made it came from or went to, those that its peer named, and those that the operator lists.
//! [`SourceCheck`] says for which messages an unknown source is refused.

use super::{GtpEntity, GtpTunnel, Plane, Told, ToldAddresses};
use crate::about::About as _;
use core::fmt;
use core::net::{IpAddr, Ipv6Addr};
use foldhash::fast::FixedState;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level};
use gannet_wire::gtp::header::message_type;
use std::collections::HashMap;

/// Which side of Gn a node is: decides which requests it serves (29.060 clause 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It asks for contexts.
    Sgsn,
    /// It makes them.
    Ggsn,
}

impl Role {
    /// What its peers are.
    pub(super) const fn peers(self) -> &'static str {
        match self {
            Self::Sgsn => "GGSN",
            Self::Ggsn => "SGSN",
        }
    }

    /// Does a node of this role serve such a request?
    pub(super) const fn serves(self, request: u8) -> bool {
        match request {
            message_type::UPDATE_REQUEST | message_type::DELETE_REQUEST => true,
            message_type::CREATE_REQUEST | message_type::PDU_NOTIFICATION_REJECT_REQUEST => {
                matches!(self, Self::Ggsn)
            }
            message_type::PDU_NOTIFICATION_REQUEST => matches!(self, Self::Sgsn),
            _ => false,
        }
    }
}

/// Which messages about a tunnel are taken from known addresses only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SourceCheck {
    /// Signalling and G-PDUs.
    #[default]
    Strict,
    /// Signalling.
    Control,
    /// None.
    Off,
}

/// A peer that the operator lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedPeer {
    /// Its address.
    pub address: IpAddr,
    /// PDP contexts that it may have here; `None` for no limit.
    pub contexts_max: Option<u32>,
}

/// The addresses that a peer names for one context (29.060 clauses 7.3.1 to 7.3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GsnAddresses {
    /// For signalling, and the same in the other version of IP.
    pub control: [Option<IpAddr>; 2],
    /// For user traffic, and the same in the other version of IP.
    pub user: [Option<IpAddr>; 2],
}

impl GsnAddresses {
    /// All that are named.
    pub fn iter(&self) -> impl Iterator<Item = IpAddr> {
        self.control.into_iter().chain(self.user).flatten()
    }

    /// Those of IPv4.
    #[must_use]
    pub fn of_ipv4(&self) -> Self {
        let of_ipv4 = |named: [Option<IpAddr>; 2]| named.map(|it| it.filter(IpAddr::is_ipv4));
        Self { control: of_ipv4(self.control), user: of_ipv4(self.user) }
    }
}

/// Messages to endpoints that do not exist, from one address within a minute, after which it counts as guessing.
pub const GUESSES_MAX: u8 = 10;
/// Over which time they are counted.
pub const GUESSES_WITHIN: Duration = Duration::from_secs(60);
/// How long an address that guesses may move no tunnel.
pub const BARRED_FOR: Duration = Duration::from_secs(600);
/// How often such an address is told meanwhile that an endpoint does not exist: it learns from the silence which do.
pub const BARRED_ANSWER_INTERVAL: Duration = Duration::from_secs(1);
/// Addresses whose guesses are counted at a time.
const GUESSERS_MAX: usize = 4096;

/// What an address has guessed.
#[derive(Debug, Clone, Copy)]
struct Guesser {
    since: Instant,
    count: u8,
    barred_until: Option<Instant>,
    /// When it is told again that an endpoint does not exist, where it is barred.
    next_answer: Instant,
}

impl Guesser {
    /// From when on nothing is known of it any more.
    fn end(&self) -> Instant {
        self.barred_until.unwrap_or(self.since + GUESSES_WITHIN)
    }
}

/// Who sends messages to endpoints that do not exist. The table is bounded: the address whose entry ends first gives way.
#[derive(Debug)]
pub(super) struct Guessers {
    by_address: HashMap<IpAddr, Guesser, FixedState>,
}

/// An address, of IPv6 its first 64 bits: a host has all others.
pub(super) fn host(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() & u128::MAX << 64).into(),
    }
}

impl Guessers {
    pub fn new() -> Self {
        Self { by_address: HashMap::with_hasher(FixedState::default()) }
    }

    /// A message from an address was for nobody. True where it is barred with this one.
    pub fn missed(&mut self, from: IpAddr, now: Instant) -> bool {
        let from = host(from);
        if !self.by_address.contains_key(&from) && self.by_address.len() >= GUESSERS_MAX {
            self.by_address.retain(|_, guesser| now < guesser.end());
            let first = self.by_address.iter().min_by_key(|(_, guesser)| guesser.end());
            if let Some(address) = first.map(|(address, _)| *address)
                && self.by_address.len() >= GUESSERS_MAX
            {
                self.by_address.remove(&address);
            }
        }
        let fresh = Guesser { since: now, count: 0, barred_until: None, next_answer: now };
        let guesser = self.by_address.entry(from).or_insert(fresh);
        if guesser.end() <= now {
            *guesser = fresh;
        }
        guesser.count = guesser.count.saturating_add(1);
        if guesser.count <= GUESSES_MAX {
            return false;
        }
        // Counted from the last guess: who goes on stays barred.
        guesser.barred_until.replace(now + BARRED_FOR).is_none()
    }

    pub fn is_barred(&self, address: IpAddr, now: Instant) -> bool {
        let until = self.by_address.get(&host(address)).and_then(|guesser| guesser.barred_until);
        until.is_some_and(|until| now < until)
    }

    /// Is an address told that an endpoint does not exist? One that is barred not more than once in a while.
    pub fn permits_answer(&mut self, to: IpAddr, now: Instant) -> bool {
        if !self.is_barred(to, now) {
            return true;
        }
        let Some(guesser) = self.by_address.get_mut(&host(to)) else { return true };
        let is_due = guesser.next_answer <= now;
        if is_due {
            guesser.next_answer = now + BARRED_ANSWER_INTERVAL;
        }
        is_due
    }
}

impl GtpEntity {
    /// Our address in the version of IP of a peer.
    #[must_use]
    pub fn own_address(&self, towards: IpAddr) -> IpAddr {
        match &self.config.second {
            Some(second) if second.address.is_ipv4() == towards.is_ipv4() => second.address,
            Some(_) | None => self.config.control_address,
        }
    }

    /// Our address in the other version of IP, where we have one.
    #[must_use]
    pub fn alternative_address(&self, towards: IpAddr) -> Option<IpAddr> {
        let second = self.config.second.as_ref()?.address;
        [self.config.control_address, second].into_iter().find(|own| own.is_ipv4() != towards.is_ipv4())
    }

    /// What a peer is told about where a plane of ours is.
    #[must_use]
    pub fn told(&self, towards: IpAddr, plane: Plane) -> Told {
        let ToldAddresses { control, user } = self.config.told;
        let told = if plane == Plane::Control { control } else { user };
        let of_plane = |own: IpAddr| match plane {
            Plane::User if own == self.config.control_address => self.config.user_address,
            Plane::User | Plane::Control => own,
        };
        let of_own = |own: IpAddr| match told {
            Some(told) if own.is_ipv4() => IpAddr::V4(told),
            Some(_) | None => of_plane(own),
        };
        let alternative = self.alternative_address(towards).map(of_own);
        Told { first: of_own(self.own_address(towards)), alternative }
    }

    /// Is this an address of ours, or one by which peers reach us?
    #[must_use]
    pub fn is_own(&self, address: IpAddr) -> bool {
        let ToldAddresses { control, user } = self.config.told;
        let second = self.config.second.as_ref().map(|second| second.address);
        [self.config.control_address, self.config.user_address].contains(&address)
            || second == Some(address)
            || [control, user].into_iter().flatten().any(|told| address == told)
    }

    /// Can a datagram from here reach another GSN at this address? Not where the node has no socket of that version of IP.
    /// Nor where the address is that of nobody, of many, of this node, or of a mobile behind it. One of this machine is
    /// reached only from a node that is on this machine's loopback addresses itself.
    #[must_use]
    pub fn is_reachable(&self, address: IpAddr) -> bool {
        let own = self.own_address(address);
        let is_one = match address {
            IpAddr::V4(v4) => !v4.is_unspecified() && !v4.is_broadcast() && !v4.is_multicast(),
            IpAddr::V6(v6) => {
                let is_scoped = v6.is_unicast_link_local();
                !v6.is_unspecified() && !v6.is_multicast() && !is_scoped && v6.to_ipv4_mapped().is_none()
            }
        };
        let is_of_this_machine = address.is_loopback() && !own.is_loopback();
        let is_here = is_of_this_machine || self.is_own(address) || self.config.inside.contains(address);
        is_one && own.is_ipv4() == address.is_ipv4() && !is_here
    }

    /// The first address for signalling and for user traffic that this node can reach, of those that a peer names.
    #[must_use]
    pub fn reachable(&self, of: &GsnAddresses) -> Option<(IpAddr, IpAddr)> {
        let first = |of: [Option<IpAddr>; 2]| of.into_iter().flatten().find(|it| self.is_reachable(*it));
        first(of.control).zip(first(of.user))
    }

    /// From where messages about a tunnel are taken from now on, and the peers that are listed.
    pub fn trust(&mut self, source_check: SourceCheck, peers: Vec<ListedPeer>) {
        (self.config.source_check, self.config.peers) = (source_check, peers);
    }

    /// Does the operator list this peer?
    #[must_use]
    pub fn listed(&self, address: IpAddr) -> Option<&ListedPeer> {
        self.config.peers.iter().find(|peer| peer.address == address)
    }

    /// The operator lists peers.
    #[must_use]
    pub fn lists_peers(&self) -> bool {
        !self.config.peers.is_empty()
    }

    /// May an address say something about a tunnel of which these addresses are known?
    pub fn believes(&self, from: IpAddr, mut known: impl Iterator<Item = IpAddr>) -> bool {
        self.config.source_check == SourceCheck::Off
            || known.any(|it| it == from)
            || self.listed(from).is_some()
    }

    /// The same of a G-PDU.
    pub fn believes_user(&self, from: IpAddr, known: impl Iterator<Item = IpAddr>) -> bool {
        self.config.source_check != SourceCheck::Strict || self.believes(from, known)
    }

    /// From where a driver takes the G-PDUs of a tunnel: those from elsewhere need the answer of [`GtpEntity::believes_user`].
    /// `None` where all are taken.
    #[must_use]
    pub fn user_source(&self, tunnel: &GtpTunnel) -> Option<IpAddr> {
        let path =
            self.paths().get(tunnel.user_path).filter(|_| self.config.source_check == SourceCheck::Strict);
        path.map(|path| path.address)
    }

    /// May an address that a tunnel does not know take it over, or put another into its place?
    #[must_use]
    pub fn may_replace(&self, from: IpAddr) -> bool {
        !self.lists_peers() || self.listed(from).is_some()
    }

    /// The same for a tunnel that is named by its endpoint: not where the sender has guessed many of these.
    #[must_use]
    pub fn may_move(&self, from: IpAddr, now: Instant) -> bool {
        if self.lists_peers() { self.may_replace(from) } else { !self.guessers.is_barred(from, now) }
    }

    /// A message from an address was for an endpoint that does not exist, and that its sender cannot know.
    pub fn missed(&mut self, cx: &mut Context<'_>, from: IpAddr) {
        if self.guessers.missed(from, cx.now) && !self.lists_peers() {
            let minutes = BARRED_FOR.0 / Duration::from_secs(60).0;
            let text = format_args!(
                "{from}: more than {GUESSES_MAX} messages a minute to tunnels that do not exist; it moves no tunnel for {minutes} minutes"
            );
            cx.log(Category::Gtp, Level::Notice, text);
        }
    }

    /// Is a guesser told that an endpoint does not exist? Those whom the operator lists always.
    pub(super) fn tells_guesser(&mut self, to: IpAddr, now: Instant) -> bool {
        self.listed(to).is_some() || self.guessers.permits_answer(to, now)
    }

    /// Counts and logs a message that is refused for where it comes from; lines are limited. `expected` is the peer that the
    /// tunnel has.
    pub fn foreign(
        &mut self,
        cx: &mut Context<'_>,
        drop: Drop,
        whose: Option<gannet_wire::id::Imsi>,
        what: impl fmt::Display,
        (from, expected): (IpAddr, Option<IpAddr>),
    ) {
        cx.drop_of(drop, whose);
        if !self.foreign_lines.permit(cx.now) {
            return;
        }
        let imsi = whose.map(|imsi| format!("IMSI {imsi}: ")).unwrap_or_default();
        let of = expected.map(|expected| format!(", the tunnel's peer is {expected}")).unwrap_or_default();
        cx.log(Category::Gtp, Level::Notice, format_args!("{imsi}{what} from {from} refused{of}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u32) -> IpAddr {
        core::net::Ipv4Addr::from_bits(0xc000_0200 + last).into()
    }

    fn seconds(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn who_guesses_eleven_times_in_a_minute_is_barred_for_ten() {
        let mut guessers = Guessers::new();
        for n in 0..10 {
            assert!(!guessers.missed(address(1), seconds(n)));
        }
        assert!(!guessers.is_barred(address(1), seconds(10)));
        assert!(guessers.missed(address(1), seconds(59)));
        assert!(guessers.is_barred(address(1), seconds(59)) && !guessers.is_barred(address(2), seconds(59)));
        assert!(guessers.is_barred(address(1), seconds(658)));
        assert!(!guessers.is_barred(address(1), seconds(659)));
        assert!(!guessers.missed(address(1), seconds(659)), "begins anew");
        // Ten in each minute are no guessing.
        for n in 0..600 {
            assert!(!guessers.missed(address(3), seconds(n / 10 * 60)));
        }
    }

    #[test]
    fn who_goes_on_guessing_stays_barred() {
        let mut guessers = Guessers::new();
        let barred = (0..20).filter(|n| guessers.missed(address(1), seconds(n * 5))).count();
        assert_eq!(barred, 1, "said once");
        assert!(guessers.is_barred(address(1), seconds(95 + 599)));
        assert!(!guessers.is_barred(address(1), seconds(95 + 600)));
    }

    #[test]
    fn who_guesses_is_told_of_one_endpoint_a_second() {
        let mut guessers = Guessers::new();
        let mut told = |address, second| {
            guessers.missed(address, seconds(second));
            guessers.permits_answer(address, seconds(second))
        };
        assert_eq!((0..1000).filter(|_| told(address(1), 0)).count(), 11);
        assert_eq!((0..1000).filter(|n| told(address(1), n / 100)).count(), 9);
        assert!(told(address(2), 9), "another");
        assert!(guessers.permits_answer(address(1), seconds(609)), "its time is over");
        assert!(guessers.permits_answer(address(1), seconds(609)));
    }

    #[test]
    fn a_host_of_ipv6_guesses_from_many_addresses() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut guessers = Guessers::new();
        for n in 0..=10_u16 {
            guessers.missed(address(&format!("2001:db8:0:1::{n:x}")), seconds(0));
        }
        assert!(guessers.is_barred(address("2001:db8:0:1:ffff::1"), seconds(1)));
        assert!(!guessers.is_barred(address("2001:db8:0:2::1"), seconds(1)));
    }

    #[test]
    fn the_table_is_bounded_and_those_who_are_barred_stay_longest() {
        let mut guessers = Guessers::new();
        assert_eq!((0..11).filter(|_| guessers.missed(address(0), seconds(0))).count(), 1);
        for n in 1..10_000 {
            guessers.missed(address(n), seconds(1));
        }
        assert_eq!(guessers.by_address.len(), GUESSERS_MAX);
        assert!(guessers.is_barred(address(0), seconds(2)));
    }

    #[test]
    fn each_role_serves_its_requests() {
        let served = |role: Role| (0..=255).filter(|kind| role.serves(*kind)).collect::<Vec<u8>>();
        assert_eq!(served(Role::Ggsn), [16, 18, 20, 29]);
        assert_eq!(served(Role::Sgsn), [18, 20, 27]);
    }
}

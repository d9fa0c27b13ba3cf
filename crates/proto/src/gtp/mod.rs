//! GTP as a GSN speaks it, in the role of SGSN and GGSN alike: version 1 of 29.060 and version 0 of 09.60, side by side.
//!
//! Which version is spoken with a peer the node decides for each tunnel: an answer comes in the version of its request, and
//! nothing falls back by itself. 29.060 clause 11.1.1 lets a GSN try version 0 where version 1 was not understood; here an
//! operator says so of a GGSN, since who waits for N3-REQUESTS before each activation helps nobody. A message of version 0
//! at a port of version 1, and the reverse, is answered with Version Not Supported in the version of the port.
//!
//! The node sees one vocabulary, that of version 1: [`Endpoint`] says where the versions differ.
//!
//! [`GtpEntity`] has the paths to the peers (Echo, Recovery), our requests with their retransmission, and the answers
//! to theirs. A [`GtpTunnel`] is what one PDP context knows of its peer: plain data, kept by the node inside the
//! context. Which context a TEID names is the node's table; [`TeidKey`] makes it one access.
//!
//! The node gives datagrams to [`GtpEntity::receive_control`], [`GtpEntity::receive_user`] and [`GtpEntity::receive_v0`] by
//! the port they came in at, its wake-ups to [`GtpEntity::wake`], and takes what follows out of the batch of [`GtpOutput`]. A G-PDU costs no
//! allocation: its header is taken off or put in front of the frame.

mod config;
mod error_indication;
mod inside;
mod path;
mod receive;
mod request;
mod teid;
#[cfg(test)]
mod tests;
mod trust;
mod tunnel;
mod version;
mod version0;
mod wake;

pub use config::{GtpConfig, SecondAddress, Timing, Told, ToldAddresses};
pub use error_indication::AnswerLimiter;
pub use inside::Inside;
pub use path::{Channel, Path, Paths, Plane, PlaneState};
pub use receive::ReceivedGPdu;
pub use request::Transaction;
pub use teid::{ContextName, PLACES, TEID_ROUNDS, TeidKey};
pub use trust::{
    BARRED_ANSWER_INTERVAL, BARRED_FOR, GUESSES_MAX, GUESSES_WITHIN, GsnAddresses, ListedPeer, Role,
    SourceCheck,
};
pub use tunnel::{Endpoint, GtpTunnel, flow_label};
pub use version::Version;

use core::net::{IpAddr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::{Batch, Context, Peer, Port};
use gannet_wire::DecodeError;
use gannet_wire::gtp::v1c::{self, ErrorIndication};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{Cause, Message, v0};
use gannet_wire::id::{Teid, Tid};
use request::{Asker, Outstanding, Requests, Responses};
use trust::Guessers;

/// What the entity gives to its node.
#[derive(Debug)]
pub enum GtpOutput {
    /// Send a datagram.
    Transmit {
        /// Through which port.
        port: Port,
        /// To whom.
        peer: Peer,
        /// Its octets.
        frame: Frame,
    },
    /// A peer asks something. The node answers with [`GtpEntity::respond`].
    Request {
        /// Who asks.
        transaction: Transaction,
        /// Our endpoint that his header names; 0 in a first Create PDP Context Request.
        endpoint: Endpoint,
        /// What he asks.
        message: Box<Message>,
    },
    /// A peer's request cannot be read. The node knows the endpoint that the refusal goes to, and answers with
    /// [`GtpEntity::refuse`].
    Malformed {
        /// Who asks.
        transaction: Transaction,
        /// Our endpoint that his header names.
        endpoint: Endpoint,
        /// His endpoint, where the request is the one that names it; of version 0 his flow label.
        reply_to: Option<Teid>,
        /// The cause of the refusal.
        cause: Cause,
    },
    /// The response to a request of the node, or why it cannot be read (29.060 clause 11.1.5).
    Response {
        /// The node's key.
        user: u64,
        /// Who answered.
        peer: IpAddr,
        /// Who was asked.
        asked: IpAddr,
        /// In which version.
        version: Version,
        /// What.
        message: Result<Box<Message>, DecodeError>,
    },
    /// A request of the node got no response to any of its repetitions.
    TimedOut {
        /// The node's key.
        user: u64,
    },
    /// The peer does not speak the version of a request (29.060 clause 7.2.3).
    VersionRefused {
        /// The node's key.
        user: u64,
    },
    /// A peer has lost all its contexts: those with this path are void (29.060 clause 11.2).
    PeerRestarted {
        /// The peer.
        peer: IpAddr,
        /// The index of its path.
        path: u16,
        /// Its restart counter. Contexts that were made under this one are not lost.
        counter: u8,
    },
    /// A peer answers no Echo Request any more. It is asked further on.
    PathFailed {
        /// The peer.
        peer: IpAddr,
        /// The index of its path.
        path: u16,
        /// On which plane.
        plane: Plane,
    },
    /// A peer has answered no Echo Request since its path failed, for as long as contexts wait for it: those that use this plane
    /// are void. It is asked further on.
    PathLost {
        /// The peer.
        peer: IpAddr,
        /// The index of its path.
        path: u16,
        /// On which plane.
        plane: Plane,
    },
    /// A peer answers again.
    PathRestored {
        /// The peer.
        peer: IpAddr,
        /// The index of its path.
        path: u16,
        /// On which plane.
        plane: Plane,
    },
    /// A peer does not know the endpoint that we sent a G-PDU to (29.060 clause 7.3.7). Whether it is the tunnel's peer who says
    /// so is the node's to see.
    ErrorIndication {
        /// Who says so.
        peer: IpAddr,
        /// The index of the path to the address that the message names.
        path: u16,
        /// The peer's endpoint.
        endpoint: Endpoint,
    },
}

/// Slots of our wake-ups: below [`PATH_SLOT`] a sequence number, from there on a path, and one for the answers.
const PATH_SLOT: u32 = 1 << 16;
const ANSWERS_SLOT: u32 = 1 << 17;

/// GTP of one node.
#[derive(Debug)]
pub struct GtpEntity {
    config: GtpConfig,
    paths: Paths,
    requests: Requests,
    responses: Responses,
    limiter: AnswerLimiter,
    answers_wake_asked: bool,
    guessers: Guessers,
    /// Lines about messages from addresses that are not believed.
    foreign_lines: AnswerLimiter,
    /// Lines about peers that do not know an extension header.
    header_lines: AnswerLimiter,
}

impl GtpEntity {
    /// An entity that knows nobody yet.
    #[must_use]
    pub fn new(config: GtpConfig) -> Self {
        let burst = config.answers_per_second.saturating_mul(10);
        Self {
            paths: Paths::with_limit(config.path_limit),
            requests: Requests::with_limit(config.request_limit),
            responses: Responses::with_limit(config.response_limit),
            limiter: AnswerLimiter::new(config.answers_per_second, burst),
            answers_wake_asked: false,
            guessers: Guessers::new(),
            foreign_lines: AnswerLimiter::new(1, 10),
            header_lines: AnswerLimiter::new(1, 10),
            config,
        }
    }

    /// How it speaks.
    #[must_use]
    pub const fn config(&self) -> &GtpConfig {
        &self.config
    }

    /// The peers.
    #[must_use]
    pub const fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Our requests that wait for a response.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.requests.len()
    }

    /// Requests of peers that are being worked at or whose answers are kept.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.responses.len()
    }

    // ------------------------------------------------------------------------------------------------- tunnels

    /// Makes a tunnel to a peer's two addresses and endpoints: of version 0 his flow labels. `recovery` is the restart counter of
    /// the message that named them, and where that came from: it is the counter of that address and of no other. `None`, with a
    /// named drop, where the table of paths is full.
    pub fn open(
        &mut self,
        cx: &mut Context<'_>,
        version: Version,
        control: (IpAddr, Teid),
        user: (IpAddr, Teid),
        recovery: Option<(IpAddr, u8)>,
    ) -> Option<GtpTunnel> {
        let control_path = self.acquire(cx, (control.0, version), Plane::Control)?;
        let Some(user_path) = self.acquire(cx, (user.0, version), Plane::User) else {
            self.paths.release(control_path, Plane::Control);
            return None;
        };
        if let Some((from, counter)) = recovery
            && let Some(path) = self.paths.get_mut(control_path).filter(|path| path.address == from)
        {
            path.restart_counter = Some(counter);
        }
        Some(GtpTunnel {
            peer_control: control.1,
            peer_user: user.1,
            control_path,
            user_path,
            next_sequence: 0,
            sequenced: self.config.sequence_numbers,
            version,
        })
    }

    /// Gives a tunnel back. A path goes with its last tunnel.
    pub fn close(&mut self, tunnel: GtpTunnel) {
        self.paths.release(tunnel.control_path, Plane::Control);
        self.paths.release(tunnel.user_path, Plane::User);
    }

    /// Counts a context at the path that its request came from, which is another than those of its tunnel where the peer says
    /// so. `None`, with a named drop, where the table of paths is full.
    pub fn open_origin(
        &mut self,
        cx: &mut Context<'_>,
        version: Version,
        from: IpAddr,
        recovery: Option<u8>,
    ) -> Option<u16> {
        let next_echo = cx.now + self.config.echo_interval_of(from);
        let Some((index, new)) = self.paths.acquire_origin(from, version, next_echo) else {
            cx.drop(Drop::GtpPathTableFull, None);
            return None;
        };
        if new {
            self.wake_for_echo(cx, index);
        }
        if let (Some(path), Some(_)) = (self.paths.get_mut(index), recovery) {
            path.restart_counter = recovery;
        }
        Some(index)
    }

    /// Gives that back.
    pub fn close_origin(&mut self, path: u16) {
        self.paths.release_origin(path);
    }

    fn acquire(
        &mut self,
        cx: &mut Context<'_>,
        (address, version): (IpAddr, Version),
        plane: Plane,
    ) -> Option<u16> {
        let next_echo = cx.now + self.config.echo_interval_of(address);
        let Some((index, new)) = self.paths.acquire(address, version, plane, next_echo) else {
            cx.drop(Drop::GtpPathTableFull, None);
            return None;
        };
        if new {
            self.wake_for_echo(cx, index);
        }
        Some(index)
    }

    // ---------------------------------------------------------------------------------------------- user plane

    /// Puts the header of a G-PDU in front of a T-PDU of the context `whose` and sends it through its tunnel.
    pub fn send_user(
        &self,
        cx: &mut Context<'_>,
        whose: Tid,
        tunnel: &mut GtpTunnel,
        mut frame: Frame,
        out: &mut Batch<GtpOutput>,
    ) -> bool {
        let Some(path) = self.paths.get(tunnel.user_path) else {
            cx.drop(Drop::GtpNoPath, None);
            return false;
        };
        // What a node sends to itself would come back with each turn.
        if self.is_own(path.address) {
            cx.drop(Drop::GtpOwnAddress, None);
            return false;
        }
        if self.config.inside.contains(path.address) {
            cx.drop(Drop::GtpToMobile, None);
            return false;
        }
        let t_pdu_len = frame.len();
        let written = match tunnel.version {
            Version::V1 => {
                let sequence = tunnel.sequenced.then_some(tunnel.next_sequence);
                let header = GPdu { teid: tunnel.peer_user, sequence, npdu_number: None };
                frame.push(header.buffer_len()).is_some_and(|room| header.emit(t_pdu_len, room))
            }
            Version::V0 => {
                let header = v0::g_pdu(whose, tunnel::flow_in(tunnel.peer_user), tunnel.next_sequence);
                frame.push(v0::LEN).is_some_and(|room| header.emit(t_pdu_len, room))
            }
        };
        if !written {
            cx.drop(Drop::GtpNoHeadroom, None);
            return false;
        }
        tunnel.next_sequence = tunnel.next_sequence.wrapping_add(1);
        let channel = Channel::of(tunnel.version, Plane::User);
        let peer = Peer::Udp(SocketAddr::new(path.address, channel.number()));
        out.push(GtpOutput::Transmit { port: self.port(channel, path.address), peer, frame });
        true
    }

    /// Tells the sender of a G-PDU that its endpoint does not exist, unless too many were told lately
    /// (29.060 clause 7.3.7, 09.60 clause 7.5.11). Counts the drop of the G-PDU. `is_guess` says that the sender cannot know the
    /// endpoint: one that existed lately is no guess.
    pub fn unknown_endpoint(
        &mut self,
        cx: &mut Context<'_>,
        from: Peer,
        (endpoint, is_guess): (Endpoint, bool),
        out: &mut Batch<GtpOutput>,
    ) {
        cx.drop(Drop::GtpUnknownTeid, None);
        let Peer::Udp(from) = from else { return };
        if is_guess {
            self.missed(cx, from.ip());
        }
        let is_told = !is_guess || self.tells_guesser(from.ip(), cx.now);
        if !is_told || !self.limiter.permit(cx.now) {
            cx.drop(Drop::GtpErrorIndicationLimited, None);
            return;
        }
        let address = self.told(from.ip(), Plane::User).first;
        // In version 0 the header says whose tunnel is missing, and a flow of it there is none.
        let (channel, teid, to) = match endpoint {
            Endpoint::Teid(teid) => (Channel::User, teid, Endpoint::Teid(Teid(0))),
            Endpoint::Tid { tid, .. } => (Channel::V0, Teid(0), Endpoint::of_peer(Version::V0, tid, Teid(0))),
        };
        let message = ErrorIndication { teid, address, private_extension: None }.into();
        let mut octets = Vec::with_capacity(64);
        if version0::emit(to, 0, &message, &mut octets) {
            let peer = SocketAddr::new(from.ip(), channel.number());
            self.transmit(cx, channel, peer, &octets, out);
        }
    }

    // ------------------------------------------------------------------------------------------------ requests

    /// Sends a request to a peer's endpoint, in the version of that, and repeats it until it is answered. `user` is the
    /// node's key: a [`GtpOutput::Response`] or [`GtpOutput::TimedOut`] will carry it. The sequence number, for
    /// [`GtpEntity::cancel`]; `None`, with a named drop, where too many requests are outstanding.
    pub fn request(
        &mut self,
        cx: &mut Context<'_>,
        user: u64,
        peer: IpAddr,
        to: Endpoint,
        message: &Message,
        out: &mut Batch<GtpOutput>,
    ) -> Option<u16> {
        let channel = match to {
            Endpoint::Teid(_) => Channel::Control,
            Endpoint::Tid { .. } => Channel::V0,
        };
        let emit = |sequence, octets: &mut Vec<u8>| version0::emit(to, sequence, message, octets);
        self.ask(cx, Asker::Node(user), channel, peer, message.message_type(), emit, out)
    }

    /// Forgets a request: its response, if one comes, counts as unexpected.
    pub fn cancel(&mut self, sequence: u16, user: u64) -> bool {
        self.requests.cancel(sequence, user)
    }

    /// Answers a request with a message to the peer's endpoint `teid`, of version 0 his flow label. A repetition of the request is answered with
    /// the same octets.
    pub fn respond(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        teid: Teid,
        message: &Message,
        out: &mut Batch<GtpOutput>,
    ) {
        let mut octets = Vec::with_capacity(128);
        if version0::emit(transaction.answered_to(teid), transaction.sequence, message, &mut octets) {
            self.transmit(cx, transaction.channel, transaction.peer, &octets, out);
            self.responses.answer(transaction, octets);
        }
    }

    /// Answers a request with nothing but a cause.
    pub fn refuse(
        &mut self,
        cx: &mut Context<'_>,
        transaction: &Transaction,
        teid: Teid,
        cause: Cause,
        out: &mut Batch<GtpOutput>,
    ) {
        if let Some(message) = v1c::refusal(transaction.request, cause) {
            self.respond(cx, transaction, teid, &message, out);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one datagram")]
    fn ask(
        &mut self,
        cx: &mut Context<'_>,
        asker: Asker,
        channel: Channel,
        peer: IpAddr,
        kind: u8,
        emit: impl FnOnce(u16, &mut Vec<u8>) -> bool,
        out: &mut Batch<GtpOutput>,
    ) -> Option<u16> {
        let expects = v1c::response_to(kind)?;
        let random = u16::try_from(cx.rng.u32() >> 16).unwrap_or(0);
        let Some(sequence) = self.requests.sequence(random) else {
            cx.drop(Drop::GtpTooManyRequests, None);
            return None;
        };
        let mut octets = Vec::with_capacity(128);
        if !emit(sequence, &mut octets) {
            return None;
        }
        let peer = SocketAddr::new(peer, channel.number());
        self.transmit(cx, channel, peer, &octets, out);
        let attempts_left = self.config.n3_requests.saturating_sub(1);
        let due = cx.now + self.config.t3_response;
        let request =
            Outstanding { asker, peer, channel, expects, octets, attempts_left, due, generation: 0 };
        let generation = self.requests.insert(sequence, request);
        self.wake_for_request(cx, sequence, generation);
        Some(sequence)
    }

    // ---------------------------------------------------------------------------------------------- datagrams

    /// Sends a message about a path, which names no endpoint.
    fn send(
        &self,
        cx: &mut Context<'_>,
        channel: Channel,
        to: SocketAddr,
        sequence: u16,
        message: &Message,
        out: &mut Batch<GtpOutput>,
    ) {
        let mut octets = Vec::with_capacity(64);
        if of_path(channel, sequence, message, &mut octets) {
            self.transmit(cx, channel, to, &octets, out);
        }
    }

    fn transmit(
        &self,
        cx: &mut Context<'_>,
        channel: Channel,
        to: SocketAddr,
        octets: &[u8],
        out: &mut Batch<GtpOutput>,
    ) {
        let Some(frame) = cx.frames.copy_of(octets) else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        out.push(GtpOutput::Transmit { port: self.port(channel, to.ip()), peer: Peer::Udp(to), frame });
    }

    /// The port towards a peer.
    fn port(&self, channel: Channel, peer: IpAddr) -> Port {
        let second = self.config.second.filter(|second| second.address.is_ipv4() == peer.is_ipv4());
        match (channel, second) {
            (Channel::Control, Some(second)) => second.ports[0],
            (Channel::User, Some(second)) => second.ports[1],
            (Channel::Control, None) => self.config.control_port,
            (Channel::User, None) => self.config.user_port,
            (Channel::V0, _) => self.config.v0_port,
        }
    }
}

/// Appends a datagram with a message about a path.
fn of_path(channel: Channel, sequence: u16, message: &Message, out: &mut Vec<u8>) -> bool {
    match channel.version() {
        Version::V1 => version0::emit(Endpoint::Teid(Teid(0)), sequence, message, out),
        Version::V0 => version0::emit_of_path(sequence, message, out),
    }
}

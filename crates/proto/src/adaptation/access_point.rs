//! The access point's end: beacons, sessions, and where each mobile is. What is above it is a BSS.
//!
//! A link is one bearer (a device, or a UDP endpoint) and one cell; both have its index. Mobiles are named by their places
//! in [`Stations`].

use super::key::{Authenticator, Randoms, SharedKey, sign};
use super::keyring::Keyring;
use super::segment::{Cutter, Joiner, Origin};
use super::stations::{Address, Heard, Stations, Word};
use crate::allowance::Allowance;
use crate::auth::key::Key128;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{self, Category};
use gannet_machine::{Batch, Context, EthernetAddress, Peer};
use gannet_wire::adaptation::{
    ApName, Beacon, BeaconFlags, Header, Hello, Identity, Level, LinkReport, Load, MESSAGE_LEN_MAX, Message,
    MessageType, NetworkMode, PagingCs, PagingPs, Pdu, ProbeAnswer, Release, ReleaseCause, SuspendAck,
    Trailer, ll_pdu_max,
};
use gannet_wire::id::{CellId, Rai, Tlli};

/// All stations of an Ethernet link (IEEE 802.3 clause 3.2.3).
pub const BROADCAST: Peer = Peer::Ethernet(EthernetAddress([0xff; 6]));

/// Answers to strangers in a second: beacons on request, and "not known".
const ANSWERS_PER_S: u32 = 1000;

/// What carries the PDUs of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Medium {
    /// Ethernet or wireless LAN: all stations can be reached at once.
    Ethernet,
    /// UDP: each mobile asks for its beacons.
    Udp,
}

/// One link of an access point, and its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApLink {
    /// What carries it.
    pub medium: Medium,
    /// Octets of the longest payload that it carries.
    pub mtu: u16,
    /// The cell.
    pub cell: CellId,
    /// From one beacon to the next.
    pub beacon_interval: Duration,
    /// What beacons say of the network.
    pub mode: NetworkMode,
    /// What beacons call the access point; empty for no name.
    pub name: ApName,
}

/// What was chosen for an access point.
#[derive(Debug, Clone)]
pub struct ApConfig {
    /// Its links.
    pub links: Vec<ApLink>,
    /// Mobiles at a time.
    pub mobiles_max: u32,
    /// Keys of mobiles.
    pub keys: Vec<SharedKey>,
    /// The key of beacons.
    pub network_key: Option<SharedKey>,
    /// Drop what is not authenticated.
    pub demands_authentication: bool,
    /// Greater after each start.
    pub boot: u64,
    /// PDUs of one direction in a session.
    pub packets_max: u64,
    /// Pieces of LL-PDUs that may wait for others.
    pub pieces_max: usize,
    /// Octets of the operating system, other ones in each run.
    pub secret: Key128,
}

/// What an access point does.
#[derive(Debug)]
pub enum ApOutput {
    /// Send a PDU.
    Transmit {
        /// Over which link.
        link: u16,
        /// To whom.
        peer: Peer,
        /// Its octets.
        frame: Frame,
    },
    /// What a mobile says.
    Said {
        /// Its place.
        mobile: u32,
        /// On which link it was heard.
        link: u16,
        /// By which TLLI.
        tlli: Tlli,
        /// What.
        what: Said,
    },
}

/// What a mobile says.
#[derive(Debug)]
pub enum Said {
    /// It is new, has another TLLI, or is somewhere else than before.
    Here,
    /// An LL-PDU.
    LlPdu(Frame),
    /// It suspends GPRS.
    Suspend(Rai),
    /// It resumes GPRS.
    Resume(Rai, u8),
}

#[derive(Debug)]
struct Link {
    config: ApLink,
    is_in_service: bool,
    load: Load,
    next_beacon: Instant,
}

#[derive(Debug, Clone, Copy)]
struct To {
    address: Address,
    owner: Option<u32>,
}

/// The access point's end of the adaptation protocol.
#[derive(Debug)]
pub struct AccessPoint {
    links: Vec<Link>,
    stations: Stations,
    keyring: Keyring,
    beacon_key: Option<(u32, Authenticator)>,
    beacons: u64,
    randoms: Randoms,
    cutter: Cutter,
    joiner: Joiner,
    strangers: Allowance,
    demands_authentication: bool,
    boot: u64,
}

impl AccessPoint {
    /// An access point whose cells are out of service. Its first beacons are due at once.
    #[must_use]
    pub fn new(config: ApConfig) -> Self {
        let mut randoms = Randoms::new(config.secret);
        let [a, b, c, d, e, f, g, h, ..] = randoms.next(0);
        let link = |config: ApLink| Link {
            config,
            is_in_service: false,
            load: Load(None),
            next_beacon: Instant::ZERO,
        };
        Self {
            links: config.links.into_iter().map(link).collect(),
            stations: Stations::new(config.mobiles_max, u64::from_be_bytes([a, b, c, d, e, f, g, h])),
            keyring: Keyring::new(&config.keys, config.packets_max),
            beacon_key: config.network_key.map(|key| (key.id, key.beacon())),
            beacons: 0,
            randoms,
            cutter: Cutter::default(),
            joiner: Joiner::new(config.pieces_max),
            strangers: Allowance::default(),
            demands_authentication: config.demands_authentication,
            boot: config.boot,
        }
    }

    /// Its mobiles.
    #[must_use]
    pub const fn stations(&self) -> &Stations {
        &self.stations
    }

    /// What beacons say of a cell from now on. A change is told at once.
    pub fn set_in_service(&mut self, now: Instant, link: u16, is_in_service: bool) {
        if let Some(link) = self.links.get_mut(usize::from(link))
            && core::mem::replace(&mut link.is_in_service, is_in_service) != is_in_service
        {
            link.next_beacon = now;
        }
    }

    /// A link carries payloads of so many octets from now on.
    pub fn set_mtu(&mut self, link: u16, octets: u16) {
        if let Some(link) = self.links.get_mut(usize::from(link)) {
            link.config.mtu = octets;
        }
    }

    /// How much of a link is in use, in per cent.
    pub fn set_load(&mut self, link: u16, percent: u8) {
        if let Some(link) = self.links.get_mut(usize::from(link)) {
            link.load = Load(Some(percent.min(100)));
        }
    }

    /// When [`AccessPoint::wake`] has something to do.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        let ethernet = self.links.iter().filter(|link| link.config.medium == Medium::Ethernet);
        ethernet.map(|link| link.next_beacon).chain(self.joiner.next_deadline()).min()
    }

    /// Sends beacons that are due, and gives up what is too old.
    pub fn wake(&mut self, cx: &mut Context<'_>, out: &mut Batch<ApOutput>) {
        self.joiner.expire(cx);
        for link in 0..u16::try_from(self.links.len()).unwrap_or(u16::MAX) {
            let Some(state) = self.links.get_mut(usize::from(link)) else { return };
            if state.config.medium != Medium::Ethernet || state.next_beacon > cx.now {
                continue;
            }
            state.next_beacon = cx.now + state.config.beacon_interval;
            self.send_beacon(cx, Address { link, peer: BROADCAST }, usize::MAX, out);
        }
    }

    fn send_beacon(
        &mut self,
        cx: &mut Context<'_>,
        to: Address,
        octets_max: usize,
        out: &mut Batch<ApOutput>,
    ) {
        let Some(frame) = self.beacon(cx, to.link) else {
            cx.drop(Drop::NoFrame, None);
            return;
        };
        if frame.len() <= octets_max {
            out.push(ApOutput::Transmit { link: to.link, peer: to.peer, frame });
        } else {
            cx.drop(Drop::AdaptMalformed, None);
        }
    }

    fn beacon(&mut self, cx: &Context<'_>, link: u16) -> Option<Frame> {
        let link = self.links.get(usize::from(link))?;
        let config = &link.config;
        let longest = ll_pdu_max(config.mtu.into(), self.demands_authentication);
        let mut flags = 0;
        if self.demands_authentication {
            flags |= BeaconFlags::AUTHENTICATION;
        }
        if link.is_in_service {
            flags |= BeaconFlags::IN_SERVICE;
        }
        let beacon = Beacon {
            cell: config.cell,
            boot: self.boot,
            interval_ms: u16::try_from(config.beacon_interval.as_millis()).unwrap_or(u16::MAX),
            ll_pdu_max: u16::try_from(longest).unwrap_or(u16::MAX),
            mode: config.mode,
            load: link.load,
            flags: BeaconFlags(flags),
        };
        let mut room = [0; MESSAGE_LEN_MAX];
        let message = Message::Beacon(beacon, config.name);
        let length = message.emit(Tlli(0), self.beacon_key.is_some(), &mut room)?;
        let mut frame = cx.frames.copy_of(room.get(..length)?)?;
        if let Some((id, key)) = &self.beacon_key {
            let signed = Trailer::signed_octets(*id, self.beacons);
            let mac = key.mac(&[&frame, &signed]);
            self.beacons += 1;
            if !(frame.append(&signed) && frame.append(&mac)) {
                return None;
            }
        }
        Some(frame)
    }

    /// A PDU came.
    pub fn receive(&mut self, cx: &mut Context<'_>, from: Address, frame: Frame, out: &mut Batch<ApOutput>) {
        if let Err(drop) = self.try_receive(cx, from, frame, out) {
            cx.drop(drop, None);
        }
    }

    fn try_receive(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        frame: Frame,
        out: &mut Batch<ApOutput>,
    ) -> Result<(), Drop> {
        let cell = self.links.get(usize::from(from.link)).ok_or(Drop::AdaptUnknownCell)?.config.cell;
        let pdu = Pdu::parse(&frame).map_err(|_| Drop::AdaptMalformed)?;
        let message = pdu.message().map_err(|_| Drop::AdaptMalformed)?;
        match message {
            Message::Hello(hello) => return self.hello(cx, from, &hello, pdu.signed, out),
            Message::Solicit(_) => {
                if self.strangers.take(cx.now, ANSWERS_PER_S) {
                    self.send_beacon(cx, from, frame.len(), out);
                }
                return Ok(());
            }
            other if goes_down(&other) => return Err(Drop::AdaptUnexpected),
            _ => {}
        }
        let owner = self.owner(cx, from, &pdu, out)?;
        let (to, tlli) = (To { address: from, owner }, pdu.header.tlli);
        if let Message::Reachable(reachable) = message
            && reachable.cell != cell
        {
            return Err(Drop::AdaptUnknownCell);
        }
        // A mobile that probes is not here yet, and may never come.
        if let Message::Probe(probe) = message {
            let answer = Message::ProbeAnswer(ProbeAnswer { token: probe.token });
            return self.send(cx, to, tlli, &answer, out);
        }
        if let Message::ProbeAnswer(_) = message {
            return Err(Drop::AdaptUnexpected);
        }
        if matches!(tlli, Tlli(0) | Tlli::UNASSIGNED) {
            // A mobile that has no TLLI yet is only told that it is heard.
            let is_meant = matches!(message, Message::Reachable(_) | Message::LinkReport(_));
            return if is_meant { Ok(()) } else { Err(Drop::AdaptMalformed) };
        }
        let word = if matches!(message, Message::Reachable(_)) { Word::Where } else { Word::Other };
        let Heard { slot: mobile, is_news, address } = self.hear(cx, (to, word), tlli, out)?;
        // What is late is taken as if it came from where the mobile is.
        let link = address.link;
        if is_news {
            out.push(ApOutput::Said { mobile, link, tlli, what: Said::Here });
        }
        match message {
            Message::LinkReport(_) if address != from => Ok(()),
            Message::LinkReport(_) => self.report(cx, mobile, to, tlli, out),
            Message::Release(_) => {
                self.stations.forget(mobile);
                Ok(())
            }
            Message::LlPdu(payload) => {
                let (header, octets) = (pdu.header, payload.len());
                let whole = self.ll_pdu(cx, from, &header, (frame, octets))?;
                if let Some(ll_pdu) = whole {
                    out.push(ApOutput::Said { mobile, link, tlli, what: Said::LlPdu(ll_pdu) });
                }
                Ok(())
            }
            other => {
                if let Some(what) = said(&other) {
                    out.push(ApOutput::Said { mobile, link, tlli, what });
                }
                Ok(())
            }
        }
    }

    /// A mobile was heard; it is told where there is no room for it.
    fn hear(
        &mut self,
        cx: &Context<'_>,
        (from, word): (To, Word),
        tlli: Tlli,
        out: &mut Batch<ApOutput>,
    ) -> Result<Heard, Drop> {
        let heard = self.stations.hear(cx.now, tlli, (from.address, word), from.owner);
        if heard == Err(Drop::AdaptTableFull) {
            let cause = ReleaseCause::NoRoom;
            self.send(cx, from, tlli, &Message::Release(Release { cause }), out)?;
        }
        heard
    }

    /// An LL-PDU of so many octets behind its header, or one whose last piece this is.
    fn ll_pdu(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        header: &Header,
        (mut frame, octets): (Frame, usize),
    ) -> Result<Option<Frame>, Drop> {
        let (start, tlli) = (header.buffer_len(), header.tlli);
        let _ = frame.narrow(start, start + octets);
        match header.segment {
            None => Ok(Some(frame)),
            Some(segment) => {
                let origin = Origin { link: from.link, peer: from.peer, tlli };
                self.joiner.join(cx, origin, segment, frame)
            }
        }
    }

    /// Whose PDU it is: the owner of a key, or anybody's.
    fn owner(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        pdu: &Pdu<'_>,
        out: &mut Batch<ApOutput>,
    ) -> Result<Option<u32>, Drop> {
        if pdu.trailer.is_none() {
            return if self.demands_authentication { Err(Drop::AdaptUnauthenticated) } else { Ok(None) };
        }
        let owner = self.keyring.open(pdu);
        if owner == Err(Drop::AdaptUnknownSession) && self.strangers.take(cx.now, ANSWERS_PER_S) {
            // It may be of a mobile that does not know of our restart.
            let (to, cause) = (To { address: from, owner: None }, ReleaseCause::NotKnown);
            self.send(cx, to, pdu.header.tlli, &Message::Release(Release { cause }), out)?;
        }
        owner.map(Some)
    }

    fn hello(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        hello: &Hello,
        pdu: &[u8],
        out: &mut Batch<ApOutput>,
    ) -> Result<(), Drop> {
        let (key, welcome) = self.keyring.hello(&mut self.randoms, cx.rng.u64(), hello, pdu)?;
        let (id, session) = (key.id, welcome.session);
        cx.log(Category::Um, trace::Level::Debug, format_args!("key {id}: hello, session {session}"));
        let mut room = [0; MESSAGE_LEN_MAX];
        let length = Message::Welcome(welcome).emit(Tlli(0), false, &mut room).ok_or(Drop::NoFrame)?;
        let mut frame = cx.frames.copy_of(room.get(..length).unwrap_or_default()).ok_or(Drop::NoFrame)?;
        sign(&key.handshake(), &mut frame);
        out.push(ApOutput::Transmit { link: from.link, peer: from.peer, frame });
        Ok(())
    }

    /// Answers a report with what this end has sent and received.
    fn report(
        &mut self,
        cx: &mut Context<'_>,
        mobile: u32,
        to: To,
        tlli: Tlli,
        out: &mut Batch<ApOutput>,
    ) -> Result<(), Drop> {
        let Some(station) = self.stations.get(mobile) else { return Ok(()) };
        let (sent, received) = (station.sent, station.received);
        let report = LinkReport { sent, received, level: Level(None) };
        self.send(cx, to, tlli, &Message::LinkReport(report), out)?;
        self.count_sent(mobile);
        Ok(())
    }

    fn count_sent(&mut self, mobile: u32) {
        if let Some(station) = self.stations.get_mut(mobile) {
            station.sent = station.sent.wrapping_add(1);
        }
    }

    fn send(
        &mut self,
        cx: &Context<'_>,
        to: To,
        tlli: Tlli,
        message: &Message<'_>,
        out: &mut Batch<ApOutput>,
    ) -> Result<(), Drop> {
        let mut room = [0; MESSAGE_LEN_MAX];
        let length = message.emit(tlli, to.owner.is_some(), &mut room).ok_or(Drop::NoFrame)?;
        let frame = cx.frames.copy_of(room.get(..length).unwrap_or_default()).ok_or(Drop::NoFrame)?;
        self.seal_and_send(to, frame, out)
    }

    fn seal_and_send(&mut self, to: To, mut frame: Frame, out: &mut Batch<ApOutput>) -> Result<(), Drop> {
        if let Some(owner) = to.owner {
            self.keyring.seal(owner, &mut frame)?;
        }
        out.push(ApOutput::Transmit { link: to.address.link, peer: to.address.peer, frame });
        Ok(())
    }

    /// Where to send what is for a TLLI, or where that was never heard for the mobile in this place.
    fn way_to(&self, mobile: u32, tlli: Tlli) -> Result<(u32, To), Drop> {
        let mobile = self.stations.find(tlli).unwrap_or(mobile);
        let station = self.stations.get(mobile).ok_or(Drop::AdaptNoLink)?;
        Ok((mobile, To { address: station.address, owner: station.owner }))
    }

    /// Sends an LL-PDU to a mobile, in pieces where its link carries no such long one.
    ///
    /// # Errors
    /// The name under which it is dropped: `AdaptNoLink`, `AdaptTooLong`, `AdaptExhausted`, `NoFrame`.
    pub fn send_ll_pdu(
        &mut self,
        cx: &Context<'_>,
        mobile: u32,
        tlli: Tlli,
        ll_pdu: Frame,
        out: &mut Batch<ApOutput>,
    ) -> Result<(), Drop> {
        let (mobile, to) = self.way_to(mobile, tlli)?;
        let is_authenticated = to.owner.is_some();
        let link = self.links.get(usize::from(to.address.link)).ok_or(Drop::AdaptNoLink)?;
        let octets_max = ll_pdu_max(link.config.mtu.into(), is_authenticated);
        for (segment, mut frame) in self.cutter.cut(cx, octets_max, ll_pdu)? {
            let header = Header { kind: MessageType::LlPdu, is_authenticated, tlli, segment };
            let octets = frame.len();
            if !frame.push(header.buffer_len()).is_some_and(|room| header.emit(octets, room)) {
                return Err(Drop::NoFrame);
            }
            self.seal_and_send(to, frame, out)?;
            self.count_sent(mobile);
        }
        Ok(())
    }

    /// Tells a mobile that its suspension is known.
    ///
    /// # Errors
    /// As [`AccessPoint::send_ll_pdu`].
    pub fn suspended(
        &mut self,
        cx: &Context<'_>,
        mobile: u32,
        tlli: Tlli,
        reference: u8,
        out: &mut Batch<ApOutput>,
    ) -> Result<(), Drop> {
        let (mobile, to) = self.way_to(mobile, tlli)?;
        self.count_sent(mobile);
        self.send(cx, to, tlli, &Message::SuspendAck(SuspendAck { reference }), out)
    }

    /// Pages a mobile in a cell: the one whose TLLI comes from the P-TMSI, where it is known; otherwise all that are there. With
    /// Ethernet and without authentication that is one PDU for all, else one for each address or session.
    pub fn page(
        &mut self,
        cx: &mut Context<'_>,
        link: u16,
        is_cs: bool,
        identity: Identity,
        out: &mut Batch<ApOutput>,
    ) {
        let message = if is_cs {
            Message::PagingCs(PagingCs { identity })
        } else {
            Message::PagingPs(PagingPs { identity })
        };
        let known = match identity {
            Identity::PTmsi(ptmsi) if !is_cs => self.stations.find(Tlli::local(ptmsi)),
            Identity::PTmsi(_) | Identity::Imsi(_) => None,
        };
        let known = known.filter(|slot| self.stations.get(*slot).is_some_and(|of| of.address.link == link));
        let is_ethernet =
            self.links.get(usize::from(link)).is_some_and(|link| link.config.medium == Medium::Ethernet);
        let to_station = |of: &super::stations::Station| To { address: of.address, owner: of.owner };
        let mut to: Vec<To> = match known.and_then(|slot| self.stations.get(slot)) {
            Some(station) => vec![to_station(station)],
            None => self.stations.on_link(link).map(|(_, station)| to_station(station)).collect(),
        };
        if known.is_none() && is_ethernet && !self.demands_authentication {
            to.retain(|to| to.owner.is_some());
            to.push(To { address: Address { link, peer: BROADCAST }, owner: None });
        }
        to.sort_unstable_by_key(|to| (to.owner, to.address.peer));
        to.dedup_by_key(|to| (to.owner, to.address.peer));
        for to in to {
            if let Err(drop) = self.send(cx, to, Tlli(0), &message, out) {
                cx.drop(drop, None);
            }
        }
    }

    /// The access point stops: all mobiles are told.
    pub fn stop(&mut self, cx: &mut Context<'_>, out: &mut Batch<ApOutput>) {
        let cause = ReleaseCause::AccessPointStops;
        for link in 0..u16::try_from(self.links.len()).unwrap_or(u16::MAX) {
            let to: Vec<(Tlli, To)> = self
                .stations
                .on_link(link)
                .map(|(_, of)| (of.tlli(), To { address: of.address, owner: of.owner }))
                .collect();
            for (tlli, to) in to {
                if let Err(drop) = self.send(cx, to, tlli, &Message::Release(Release { cause }), out) {
                    cx.drop(drop, None);
                }
            }
        }
    }
}

/// Whether a message goes from the access point to mobiles, and not the other way.
const fn goes_down(message: &Message<'_>) -> bool {
    matches!(
        message,
        Message::Beacon(..)
            | Message::PagingPs(_)
            | Message::PagingCs(_)
            | Message::SuspendAck(_)
            | Message::Welcome(_)
    )
}

/// What a message says to the BSS, if it is more than that the mobile is there.
const fn said(message: &Message<'_>) -> Option<Said> {
    match message {
        Message::Suspend(suspend) => Some(Said::Suspend(suspend.rai)),
        Message::Resume(resume) => Some(Said::Resume(resume.rai, resume.reference)),
        _ => None,
    }
}

//! What crosses the interfaces of a loop, for those who want to see it: captures and a live stream.
//!
//! A loop without a tracer pays for a look at an option. With one, each packet is looked at once, whatever is done with it, and copied into
//! memory that is there already; threads of their own write. Nobody waits for them: what they do not take in time is missing, and counted.

use crate::capture_watch::{CaptureWatch, finish};
use core::fmt::{self, Write as _};
use core::net::SocketAddr;
use core::num::NonZeroU32;
use gannet_machine::drops::Drop;
use gannet_machine::trace::Owner;
use gannet_proto::about::subscriber;
use gannet_trace::live::Live;
use gannet_trace::pcapng::{Beside, Direction, InterfaceId, LinkType, Packet, Recorder, Ring, Segment};
use gannet_trace::sight::{Choice, Eyes, Layer, Place, Seen, Whose};
use std::io;
use std::path::PathBuf;

/// What a capture says of an interface whose user data is cut.
const HEADERS_ONLY: &str =
    "headers: user data is cut behind the header of TCP, UDP or ICMP; signalling is whole";

/// What is recorded at an operator's word.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceConfig {
    /// Into this file.
    pub file: Option<PathBuf>,
    /// Files in turn, with names after that one.
    pub ring: Option<Ring>,
    /// For programs that connect to this socket of the file system.
    pub socket: Option<PathBuf>,
    /// User data is cut behind its headers.
    pub headers: bool,
    /// Of so many subscribers one, with all that is his.
    pub one_in: Option<NonZeroU32>,
}

/// What was opened for a [`TraceConfig`].
#[derive(Debug)]
pub struct PreparedTrace {
    pub(crate) choice: Choice,
    /// What takes the place of the capture that is there; `None` where that goes on.
    pub(crate) traced: Option<Option<Traced>>,
    /// The same of the socket.
    pub(crate) watched: Option<Option<Traced>>,
}

/// How a capture or a stream goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceReport {
    /// Its file, or where it goes.
    pub name: String,
    /// Records that it has taken.
    pub recorded: u64,
    /// Records that are missing, since its writer was too slow.
    pub lost: u64,
    /// Packets of subscribers who are not sampled.
    pub left_out: u64,
    /// Why it takes nothing at present.
    pub failure: Option<String>,
}

/// An interface of the loop, recorded or not.
#[derive(Debug, Clone)]
pub(crate) struct Interface {
    name: String,
    link: LinkType,
    place: Place,
}

impl Interface {
    fn description(&self) -> &'static str {
        match (self.place.layer, self.link) {
            (Layer::Gb, _) => "NS over UDP; the headers of IP and UDP are made",
            (Layer::Gn, _) => {
                "GTP over UDP; the headers of IP and UDP are made where a socket gave the payload"
            }
            (Layer::Gi | Layer::Ip, _) => "packets of a TUN device",
            (Layer::Gsmtap, _) => "blocks between PCU and base transceiver station, as GSMTAP over UDP",
            (Layer::Other, LinkType::Ethernet) => "frames of one EtherType",
            (Layer::Other, LinkType::Raw) => "",
        }
    }
}

/// The interfaces of a loop by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interfaces(Vec<Interface>);

impl Interfaces {
    /// The number of the interface with these properties, which gets one where it has none.
    pub(crate) fn number(&mut self, name: &str, link: LinkType, sends_downlink: bool) -> InterfaceId {
        let place = Place { layer: Layer::of(name), sends_downlink };
        let is_it = |of: &Interface| of.name == name && of.link == link && of.place == place;
        let index = self.0.iter().position(is_it).unwrap_or_else(|| {
            self.0.push(Interface { name: name.to_owned(), link, place });
            self.0.len() - 1
        });
        InterfaceId::new(u32::try_from(index).unwrap_or(0))
    }
}

/// One capture.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) recorder: Recorder,
    choice: Choice,
    /// The capture's own numbers of the loop's interfaces.
    numbers: Vec<Option<InterfaceId>>,
    pub(crate) watch: CaptureWatch,
    left_out: u64,
}

impl Traced {
    pub(crate) fn new(recorder: Recorder, choice: Choice) -> Self {
        Self { recorder, choice, numbers: Vec::new(), watch: CaptureWatch::default(), left_out: 0 }
    }

    /// The capture's own number of an interface. It describes the interface when it is first asked, and again when it records
    /// other parts of packets.
    fn number(&mut self, interface: InterfaceId, known: &Interfaces) -> Option<InterfaceId> {
        if let Some(Some(number)) = self.numbers.get(interface.index()) {
            return Some(*number);
        }
        let Interface { name, link, .. } = known.0.get(interface.index())?;
        let filter = if self.choice.headers { HEADERS_ONLY } else { "" };
        let description = known.0.get(interface.index()).map_or("", Interface::description);
        let number = self.recorder.add_interface(name, *link, description, filter);
        if self.numbers.len() <= interface.index() {
            self.numbers.resize(interface.index() + 1, None);
        }
        *self.numbers.get_mut(interface.index())? = Some(number);
        Some(number)
    }

    pub(crate) fn choose(&mut self, choice: Choice) {
        if self.choice != choice {
            self.choice = choice;
            self.numbers.clear();
        }
    }
}

/// Records what crosses the interfaces of a loop.
pub struct Tracer {
    pub(crate) interfaces: Interfaces,
    eyes: Eyes,
    /// Of the command line.
    pub(crate) asked: Option<Traced>,
    /// Of the configuration.
    pub(crate) configured: Option<Traced>,
    /// Of those who watch by a socket.
    pub(crate) watched: Option<Traced>,
    pub(crate) live: Option<Live>,
    pub(crate) live_lost: u64,
    /// Who a packet is of, in words; used again and again, for the memory that it has.
    whose: String,
    number: String,
}

impl Tracer {
    pub(crate) fn new(interfaces: &Interfaces) -> Self {
        Self {
            interfaces: interfaces.clone(),
            eyes: Eyes::new(),
            asked: None,
            configured: None,
            watched: None,
            live: None,
            live_lost: 0,
            whose: String::with_capacity(32),
            number: String::with_capacity(32),
        }
    }

    fn captures(&mut self) -> impl Iterator<Item = &mut Traced> {
        self.asked.iter_mut().chain(&mut self.configured).chain(&mut self.watched)
    }

    pub(crate) const fn is_idle(&self) -> bool {
        self.asked.is_none() && self.configured.is_none() && self.watched.is_none() && self.live.is_none()
    }

    pub(crate) fn follow_choices(&mut self) {
        let Self { asked, configured, watched, eyes, .. } = self;
        let any = |asks: fn(&Choice) -> bool| {
            asked.iter().chain(&*configured).chain(&*watched).any(|it| asks(&it.choice))
        };
        eyes.knows_users = any(|choice| choice.one_in.is_some());
        eyes.knows_headers = any(|choice| choice.headers);
    }

    /// Records a UDP datagram from one end to the other, without the headers that a socket does not give.
    pub(crate) fn udp(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        ends: (SocketAddr, SocketAddr),
        payload: &[u8],
    ) {
        self.packet(interface, (at_ns, direction), Packet::Udp(ends, payload), "");
    }

    /// Records an IP packet. What has come from a driver as a datagram of a known port is looked at as one.
    pub(crate) fn ip(&mut self, interface: InterfaceId, at_ns: u64, direction: Direction, packet: &[u8]) {
        self.packet(interface, (at_ns, direction), Packet::Ip(packet), "");
    }

    /// Records an Ethernet frame: its header, and what is behind it.
    pub(crate) fn ethernet(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        header: [u8; 14],
        payload: &[u8],
    ) {
        self.packet(interface, (at_ns, direction), Packet::Ethernet(header, payload), "");
    }

    /// Records octets of a TCP connection, whole: nothing of a stream may be missing.
    pub(crate) fn tcp(
        &mut self,
        interface: InterfaceId,
        at_ns: u64,
        direction: Direction,
        (ends, first): ((SocketAddr, SocketAddr), Segment),
        payload: &[u8],
    ) {
        let Self { asked, configured, watched, interfaces, .. } = self;
        for traced in asked.iter_mut().chain(configured).chain(watched) {
            if let Some(number) = traced.number(interface, interfaces) {
                traced.recorder.tcp(number, at_ns, direction, (ends, first), payload);
            }
        }
    }

    /// Records a packet, with a remark where there is one.
    pub(crate) fn packet(
        &mut self,
        interface: InterfaceId,
        (at_ns, direction): (u64, Direction),
        packet: Packet<'_>,
        remark: &str,
    ) {
        let Some(place) = self.interfaces.0.get(interface.index()).map(|interface| interface.place) else {
            return;
        };
        let seen = self.eyes.look(place, direction, &packet);
        if let Some(live) = &mut self.live {
            stream(live, place, &seen, (direction, &packet));
        }
        self.whose.clear();
        let Self { asked, configured, watched, interfaces, whose, .. } = self;
        for traced in asked.iter_mut().chain(configured).chain(watched) {
            let Some(keep) = traced.choice.keep(&seen) else {
                traced.left_out += 1;
                continue;
            };
            // Most packets are of subscribers who are not sampled: their names are not spelt out.
            if whose.is_empty()
                && let Some(imsi) = seen.whose.and_then(Whose::imsi)
            {
                let _ = write!(whose, "IMSI {imsi}");
            }
            if let Some(number) = traced.number(interface, interfaces) {
                let beside = Beside { at_ns, direction, keep, comments: [whose, remark] };
                traced.recorder.packet(number, packet, &beside);
            }
        }
    }

    /// Records a drop of which there is no packet.
    pub(crate) fn dropped(&mut self, at_ns: u64, drop: Drop, whose: Option<Owner>, unsaid: u64) {
        let imsi = whose.and_then(subscriber);
        self.whose.clear();
        if let Some(imsi) = imsi {
            let _ = write!(self.whose, "{imsi}");
        }
        // Signalling alone is whole, and a drop is.
        let seen = Seen {
            whose: imsi.map(|imsi| Whose::Subscriber(imsi.into())),
            is_user: false,
            headers: usize::MAX,
            ll_pdu: None,
        };
        self.number.clear();
        if unsaid > 0 {
            let _ = write!(self.number, "{unsaid}");
        }
        let Self { asked, configured, watched, whose, number, .. } = self;
        let fields = [
            ("MESSAGE", drop.sentence()),
            ("GANNET_DROP", drop.name()),
            ("GANNET_IMSI", whose.as_str()),
            ("GANNET_DROPS_NOT_RECORDED", number.as_str()),
        ];
        for traced in asked.iter_mut().chain(configured).chain(watched) {
            if traced.choice.keep(&seen).is_some() {
                traced.recorder.event(at_ns, &fields);
            }
        }
    }

    /// Records taken so far, in all captures.
    #[must_use]
    pub fn recorded(&self) -> u64 {
        self.recorders().map(Recorder::recorded).sum()
    }

    /// Records that are missing in captures.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.recorders().map(Recorder::lost).sum()
    }

    fn recorders(&self) -> impl Iterator<Item = &Recorder> {
        self.asked.iter().chain(&self.configured).chain(&self.watched).map(|traced| &traced.recorder)
    }

    /// Captures and streams, that of the command line first.
    #[must_use]
    pub fn reports(&self) -> Vec<TraceReport> {
        let of_capture = |Traced { recorder, left_out, .. }: &Traced| TraceReport {
            name: recorder.name().to_owned(),
            recorded: recorder.recorded(),
            lost: recorder.lost(),
            left_out: *left_out,
            failure: recorder.failure(),
        };
        let of_live = |live: &Live| TraceReport {
            name: format!("GSMTAP to {}", live.to()),
            recorded: live.sent(),
            lost: live.lost(),
            left_out: 0,
            failure: None,
        };
        let captures = self.asked.iter().chain(&self.configured).chain(&self.watched).map(of_capture);
        captures.chain(self.live.iter().map(of_live)).collect()
    }

    /// Writes all out at the end of its loop; gives what is missing in captures whose file takes everything.
    pub(crate) fn finish(&mut self) -> io::Result<Vec<String>> {
        let _ = self.live.as_mut().map(Live::flush);
        let mut missing = Vec::new();
        let mut result = Ok(());
        for Traced { recorder, .. } in self.captures() {
            let ended = finish(recorder);
            if ended.is_ok() && recorder.lost() > 0 {
                missing.push(format!(
                    "capture {}: {} datagrams are missing in it",
                    recorder.name(),
                    recorder.lost()
                ));
            }
            result = result.and(ended);
        }
        result.map(|()| missing)
    }
}

impl fmt::Debug for Tracer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tracer({} recorded, {} lost)", self.recorded(), self.lost())
    }
}

/// What GSMTAP has a type for goes to who listens.
fn stream(live: &mut Live, place: Place, seen: &Seen, (direction, packet): (Direction, &Packet<'_>)) {
    let payload = packet.payload();
    if place.layer == Layer::Gsmtap {
        live.gsmtap(payload);
    }
    if let Some(frame) = seen.ll_pdu.clone().and_then(|range| payload.get(range)) {
        let is_downlink = (direction == Direction::Out) == place.sends_downlink;
        live.ll_pdu(!is_downlink, frame);
    }
}

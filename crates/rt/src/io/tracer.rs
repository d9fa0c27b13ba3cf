//! What crosses the interfaces of a loop, for those who want to see it: captures and a live stream.
//!
//! A loop without a tracer pays for a look at an option. With one, each packet is looked at once, whatever is done with it, and copied into
//! memory that is there already; threads of their own write. Nobody waits for them: what they do not take in time is missing, and counted.

use super::Io;
use super::capture::{CaptureWatch, finish};
use core::fmt::{self, Write as _};
use core::net::SocketAddr;
use core::num::NonZeroU32;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Level, Owner};
use gannet_proto::about::subscriber;
use gannet_trace::live::Live;
use gannet_trace::pcapng::{Beside, Direction, InterfaceId, LinkType, Packet, Recorder, Ring, Segment};
use gannet_trace::sight::{Choice, Eyes, Layer, Place, Seen, Whose};
use std::io;
use std::path::{Path, PathBuf};

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
    /// User data is cut behind its headers.
    pub headers: bool,
    /// Of so many subscribers one, with all that is his.
    pub one_in: Option<NonZeroU32>,
}

/// What was opened for a [`TraceConfig`].
#[derive(Debug)]
pub struct PreparedTrace {
    choice: Choice,
    /// What takes the place of the capture that is there; `None` where that goes on.
    traced: Option<Option<Traced>>,
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
struct Traced {
    recorder: Recorder,
    choice: Choice,
    /// The capture's own numbers of the loop's interfaces.
    numbers: Vec<Option<InterfaceId>>,
    watch: CaptureWatch,
    left_out: u64,
}

impl Traced {
    fn new(recorder: Recorder, choice: Choice) -> Self {
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

    fn choose(&mut self, choice: Choice) {
        if self.choice != choice {
            self.choice = choice;
            self.numbers.clear();
        }
    }
}

/// Records what crosses the interfaces of a loop.
pub struct Tracer {
    pub(super) interfaces: Interfaces,
    eyes: Eyes,
    /// Of the command line.
    asked: Option<Traced>,
    /// Of the configuration.
    configured: Option<Traced>,
    live: Option<Live>,
    live_lost: u64,
    /// Who a packet is of, in words; used again and again, for the memory that it has.
    whose: String,
    number: String,
}

impl Tracer {
    fn new(interfaces: &Interfaces) -> Self {
        Self {
            interfaces: interfaces.clone(),
            eyes: Eyes::new(),
            asked: None,
            configured: None,
            live: None,
            live_lost: 0,
            whose: String::with_capacity(32),
            number: String::with_capacity(32),
        }
    }

    fn captures(&mut self) -> impl Iterator<Item = &mut Traced> {
        self.asked.iter_mut().chain(&mut self.configured)
    }

    const fn is_idle(&self) -> bool {
        self.asked.is_none() && self.configured.is_none() && self.live.is_none()
    }

    fn follow_choices(&mut self) {
        let Self { asked, configured, eyes, .. } = self;
        eyes.knows_users = asked.iter().chain(&*configured).any(|traced| traced.choice.one_in.is_some());
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
        let Self { asked, configured, interfaces, .. } = self;
        for traced in asked.iter_mut().chain(configured) {
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
        if let Some(imsi) = seen.whose.and_then(Whose::imsi) {
            let _ = write!(self.whose, "IMSI {imsi}");
        }
        let Self { asked, configured, interfaces, whose, .. } = self;
        for traced in asked.iter_mut().chain(configured) {
            let Some(keep) = traced.choice.keep(&seen) else {
                traced.left_out += 1;
                continue;
            };
            if let Some(number) = traced.number(interface, interfaces) {
                let beside = Beside { at_ns, direction, keep, comments: [whose, remark] };
                traced.recorder.packet(number, packet, &beside);
            }
        }
    }

    /// Records a drop of which there is no packet.
    fn dropped(&mut self, at_ns: u64, drop: Drop, whose: Option<Owner>, unsaid: u64) {
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
        let Self { asked, configured, whose, number, .. } = self;
        let fields = [
            ("MESSAGE", drop.sentence()),
            ("GANNET_DROP", drop.name()),
            ("GANNET_IMSI", whose.as_str()),
            ("GANNET_DROPS_NOT_RECORDED", number.as_str()),
        ];
        for traced in asked.iter_mut().chain(configured) {
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
        self.asked.iter().chain(&self.configured).map(|traced| &traced.recorder)
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
        let captures = self.asked.iter().chain(&self.configured).map(of_capture);
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

fn named(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

impl Io {
    /// Records whole from now on, into a file or, as `-`, into standard output.
    pub(crate) fn record_to(&mut self, path: &Path) -> io::Result<()> {
        let recorder = if path == Path::new("-") {
            Recorder::to_stdout(&self.section)
        } else {
            Recorder::to_files(path, None, &self.section, self.unix_ns()).map_err(named(path))
        };
        let traced = Traced::new(recorder?, Choice::default());
        self.with_tracer(|tracer| tracer.asked = Some(traced));
        Ok(())
    }

    /// Streams from now on.
    pub(crate) fn stream_to(&mut self, to: SocketAddr) -> io::Result<()> {
        let live = Live::connect(to)?;
        self.with_tracer(|tracer| tracer.live = Some(live));
        Ok(())
    }

    /// Opens what an operator wants from now on. A file that stays is written on.
    pub(crate) fn prepare_trace(&self, old: &TraceConfig, new: &TraceConfig) -> io::Result<PreparedTrace> {
        let choice = Choice { headers: new.headers, one_in: new.one_in };
        let is_same = (&old.file, old.ring) == (&new.file, new.ring);
        let is_there = self.recorder.as_ref().is_some_and(|tracer| tracer.configured.is_some());
        if is_same && is_there == new.file.is_some() {
            return Ok(PreparedTrace { choice, traced: None });
        }
        let recorder = new.file.as_ref().map(|path| {
            Recorder::to_files(path, new.ring, &self.section, self.unix_ns()).map_err(named(path))
        });
        let traced = recorder.transpose()?.map(|recorder| Traced::new(recorder, choice));
        Ok(PreparedTrace { choice, traced: Some(traced) })
    }

    /// Records so from now on. Gives what a person should know of a capture that has ended.
    pub(crate) fn commit_trace(&mut self, prepared: PreparedTrace) -> Option<String> {
        let mut said = None;
        self.with_tracer(|tracer| match prepared.traced {
            None => tracer.configured.iter_mut().for_each(|traced| traced.choose(prepared.choice)),
            Some(traced) => {
                let before = core::mem::replace(&mut tracer.configured, traced);
                said = before.and_then(|mut before| finish(&mut before.recorder).err());
            }
        });
        said.map(|error| error.to_string())
    }

    fn unix_ns(&self) -> u64 {
        self.clock.unix_ns(self.now)
    }

    /// Changes the tracer, which comes with the first that it has to do, and goes with the last.
    fn with_tracer(&mut self, change: impl FnOnce(&mut Tracer)) {
        let mut tracer = self.recorder.take().unwrap_or_else(|| Box::new(Tracer::new(&self.interfaces)));
        change(&mut tracer);
        tracer.follow_choices();
        self.recorder = (!tracer.is_idle()).then_some(tracer);
        self.log.keep_drops(self.recorder.is_some());
    }

    /// The number of an interface of the loop, under its name.
    pub(crate) fn interface_of(&mut self, name: &str, link: LinkType, sends_downlink: bool) -> InterfaceId {
        let number = self.interfaces.number(name, link, sends_downlink);
        if let Some(tracer) = &mut self.recorder {
            tracer.interfaces.clone_from(&self.interfaces);
        }
        number
    }

    /// Records what the turn has dropped.
    pub(crate) fn trace_drops(&mut self) {
        let at_ns = self.clock.unix_ns(self.now);
        let Self { recorder: Some(tracer), log, .. } = self else { return };
        let unsaid = log.take_drops_unsaid();
        for (at, (drop, whose)) in log.take_drops().enumerate() {
            tracer.dropped(at_ns, drop, whose, if at == 0 { unsaid } else { 0 });
        }
    }

    /// Says what is new about captures.
    pub(crate) fn watch_capture(&mut self) {
        let now = self.now;
        let Some(tracer) = &mut self.recorder else { return };
        let mut said: [Option<(Level, String)>; 3] = [const { None }; 3];
        for (traced, said) in tracer.asked.iter_mut().chain(&mut tracer.configured).zip(&mut said) {
            *said = traced.watch.look(now, &traced.recorder);
        }
        if let Some(live) = &tracer.live {
            let missing = live.lost() - tracer.live_lost;
            tracer.live_lost += missing;
            let line = || format!("GSMTAP to {}: {missing} datagrams are missing", live.to());
            said[2] = (missing > 0).then(|| (Level::Error, line()));
        }
        for (level, said) in said.into_iter().flatten() {
            self.note(level, format_args!("{said}"));
        }
    }

    /// When they are looked at next; `None` without any.
    pub(crate) fn capture_look_at(&self) -> Option<gannet_machine::time::Instant> {
        let tracer = self.recorder.as_ref()?;
        tracer.asked.iter().chain(&tracer.configured).map(|traced| traced.watch.look_at()).min()
    }
}

//! TUN devices of the loop: super-packets are cut into frames when they come, and what leaves in one turn is joined.

use super::{Arrival, Endpoint, Io, Kind, Origin};
use crate::log::LogSink;
use crate::messages::BATCH;
use crate::tun::flow_hash;
use crate::tun::join::PACKETS_MAX;
use crate::tun::{Missing, Reading, Tun};
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_qos::fq_codel::FqCodel;
use gannet_trace::pcapng::{Direction, InterfaceId};

/// Packets that wait for a node that takes nothing.
const WAITING_MAX: usize = 1000;
/// Packets that a node is given at once, at most: so few that it can say in between that it is enough.
const PART_MAX: usize = 16;

/// How many packets a node is given at once. Of a bearer where one packet takes a second it is one, of a fast one many: each part that is taken
/// whole doubles it, and each time that the node has enough halves it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    packets: usize,
    /// The last one was given whole, and the node has not said that it is enough.
    is_taken: bool,
}

impl Part {
    /// A device that was never held back gives all that there is.
    const FIRST: Self = Self { packets: PART_MAX, is_taken: false };

    /// The next one.
    fn next(&mut self) -> usize {
        if core::mem::take(&mut self.is_taken) {
            self.packets = (2 * self.packets).min(PART_MAX);
        }
        self.packets
    }

    /// So many of it were there.
    const fn given(&mut self, packets: usize) {
        self.is_taken = packets >= self.packets;
    }

    /// The node has enough.
    fn is_enough(&mut self) {
        *self = Self { packets: (self.packets / 2).max(1), is_taken: false };
    }
}

/// A device of the loop.
pub(crate) struct TunPort {
    pub(crate) tun: Tun,
    pub(super) peer: Peer,
    pub(super) record: Option<InterfaceId>,
    /// What waits for the end of the turn.
    queue: Vec<Frame>,
    /// What has come while the node takes nothing. In the kernel it would wait in order of arrival, and a long queue with it.
    pub(super) waiting: FqCodel<Frame>,
    part: Part,
}

impl TunPort {
    pub(super) const fn new(tun: Tun, peer: Peer, record: Option<InterfaceId>) -> Self {
        let waiting = FqCodel::new(WAITING_MAX);
        Self { tun, peer, record, queue: Vec::new(), waiting, part: Part::FIRST }
    }

    /// The node takes nothing from now on.
    pub(super) fn is_enough(&mut self) {
        self.part.is_enough();
    }
}

impl Io {
    /// One line for all devices of a loop.
    pub(super) fn say_what_is_missing(&mut self, tun: &Tun) {
        let Some(missing) = tun.missing().filter(|_| !self.missing_told) else { return };
        self.missing_told = true;
        let name = tun.name();
        let what = match missing {
            Missing::All => "takes and gives one packet a call",
            Missing::Udp => "takes and gives UDP datagrams one a call",
        };
        self.note(Level::Info, format_args!("TUN device {name} {what}: no offloads for more"));
    }

    /// Receives one batch, and what a last super-packet has beyond it; false when there is nothing more.
    pub(super) fn receive_tun(&mut self, index: usize) -> bool {
        let more = self.read_tun(index);
        let now = self.now;
        let Self { endpoints, arrivals, log, .. } = self;
        let Some(Some(Endpoint { owner, kind: Kind::Tun(port), held: false, .. })) = endpoints.get_mut(index)
        else {
            return more;
        };
        if port.waiting.is_empty() {
            return more;
        }
        for given in 0..port.part.next() {
            let Some(frame) = port.waiting.take(now, |_| log.dropped(Drop::RtDeviceQueue, None)) else {
                return more;
            };
            port.part.given(given + 1);
            let origin = Origin::Peer(port.peer);
            arrivals.push_back(Arrival { machine: owner.machine, port: owner.port, origin, frame });
        }
        more || !port.waiting.is_empty()
    }

    /// Reads one batch; false when there is nothing more. What may not go on at once waits.
    fn read_tun(&mut self, index: usize) -> bool {
        let (now, at_ns) = (self.now, self.clock.unix_ns(self.now));
        let Self { endpoints, spare, frames, scratch, arrivals, log, recorder, .. } = self;
        let Some(Some(Endpoint { owner, kind: Kind::Tun(port), held, .. })) = endpoints.get_mut(index) else {
            return false;
        };
        let TunPort { tun, peer, record, waiting, part, .. } = port;
        // Of a node that has had enough of few the rest waits here.
        let waits = *held || part.packets < PART_MAX;
        let mut count = 0;
        let leaves_enough = frames.free() > frames.capacity() / 4;
        let mut arrived = |frame: Frame, log: &mut LogSink| {
            if let (Some(recorder), Some(interface)) = (recorder.as_mut(), *record) {
                recorder.ip(interface, at_ns, Direction::In, &frame);
            }
            if waits || !waiting.is_empty() {
                let octets = u32::try_from(frame.len()).unwrap_or(u32::MAX);
                let may_wait = leaves_enough || waiting.is_empty();
                if !may_wait || waiting.offer(now, flow_hash(&frame), octets, frame).is_some() {
                    log.dropped(Drop::RtDeviceQueue, None);
                }
                return;
            }
            let origin = Origin::Peer(*peer);
            arrivals.push_back(Arrival { machine: owner.machine, port: owner.port, origin, frame });
        };
        while count < BATCH {
            let Some(mut frame) = spare.pop() else {
                if tun.discard().is_err() {
                    return false;
                }
                log.dropped(Drop::NoFrame, None);
                count += 1;
                continue;
            };
            let before = count;
            match tun.receive(&mut frame, scratch) {
                // An error other than "nothing there" (the device is down) ends when the device says so again.
                Err(_) => {
                    spare.push(frame);
                    return false;
                }
                Ok(Reading::Packet) => {
                    arrived(frame, log);
                    count += 1;
                }
                Ok(Reading::Several(mut cutter)) => {
                    let mut free = Some(frame);
                    for _ in 0..cutter.left() {
                        count += 1;
                        let Some(mut frame) = free.take().or_else(|| spare.pop()).or_else(|| frames.alloc())
                        else {
                            log.dropped(Drop::NoFrame, None);
                            continue;
                        };
                        match cutter.cut(frame.spare_mut()) {
                            Some(len) if frame.set_len(len) => arrived(frame, log),
                            _ => log.dropped(Drop::RtReceiveTooLong, None),
                        }
                    }
                }
                Ok(Reading::TooLong) => {
                    log.dropped(Drop::RtReceiveTooLong, None);
                    count += 1;
                }
                Ok(Reading::Malformed) => {
                    log.dropped(Drop::RtReceiveMalformed, None);
                    count += 1;
                }
            }
            tun.received((count - before) as u64);
        }
        true
    }

    /// Lets a packet wait for others of its turn.
    pub(super) fn enqueue_tun(&mut self, index: usize, frame: Frame) {
        let Some(Some(Endpoint { kind: Kind::Tun(port), .. })) = self.endpoints.get_mut(index) else {
            return;
        };
        if port.queue.is_empty() {
            self.unsent.push(index);
        }
        port.queue.push(frame);
        if port.queue.len() >= PACKETS_MAX {
            self.flush_tun(index);
            self.unsent.retain(|other| *other != index);
        }
    }

    /// Writes what waits: packets that can be joined as one. The device takes them now or loses them.
    pub(super) fn flush_tun(&mut self, index: usize) {
        let at_ns = self.clock.unix_ns(self.now);
        let Self { endpoints, scratch, log, recorder, .. } = self;
        let Some(Some(Endpoint { kind: Kind::Tun(port), .. })) = endpoints.get_mut(index) else { return };
        let TunPort { tun, queue, record, .. } = port;
        let mut sent = |frame: &Frame| {
            if let (Some(recorder), Some(interface)) = (recorder.as_mut(), *record) {
                recorder.ip(interface, at_ns, Direction::Out, frame);
            }
        };
        let joiner = &mut scratch.joiner;
        let joins = tun.joins();
        if queue.len() > 1 && (joins.tcp || joins.udp) {
            joiner.sort(queue, joins);
            for group in (0..).map_while(|index| joiner.group(index)) {
                if group.count > 1 && tun.send_joined(group, queue, joiner) {
                    joiner.members(group).filter_map(|number| queue.get(number)).for_each(&mut sent);
                    continue;
                }
                for number in joiner.members(group) {
                    if let Some(frame) = queue.get_mut(number) {
                        send_one(tun, frame, &mut sent, log);
                    }
                }
            }
        } else {
            for frame in queue.iter_mut() {
                send_one(tun, frame, &mut sent, log);
            }
        }
        queue.clear();
    }
}

fn send_one(tun: &mut Tun, frame: &mut Frame, sent: impl FnOnce(&Frame), log: &mut LogSink) {
    match tun.send(frame) {
        Ok(()) => sent(frame),
        Err(error) => {
            log.dropped(Drop::RtSendFailed, None);
            let name = tun.name();
            if log.enabled(Category::Main, Level::Info) {
                log.line(Category::Main, Level::Info, format_args!("{name} took no packet: {error}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of a node that has enough with so many packets at once.
    fn parts(node: usize, rounds: usize) -> Vec<usize> {
        let (mut part, mut has) = (Part::FIRST, 0);
        let mut given = || {
            let packets = part.next();
            part.given(packets);
            has += packets;
            if has >= node {
                part.is_enough();
                has = 0;
            }
            packets
        };
        (0..rounds).map(|_| given()).collect()
    }

    #[test]
    fn a_node_is_given_as_many_at_once_as_it_takes() {
        assert_eq!(parts(1, 7), [16, 8, 4, 2, 1, 1, 1]);
        assert_eq!(parts(usize::MAX, 3), [16; 3]);
        assert!(parts(20, 20).iter().all(|packets| *packets >= 8));
        assert!(parts(3, 20)[2..].iter().all(|packets| *packets <= 4));
    }

    #[test]
    fn less_than_a_part_says_nothing() {
        let mut part = Part { packets: 4, is_taken: false };
        let before = part;
        for _ in 0..3 {
            let packets = part.next();
            part.given(packets - 1);
        }
        assert_eq!(part, before);
    }
}

//! Receiving from sockets whose datagrams come joined: each is a datagram again before anybody counts it.

use super::{Arrival, Endpoint, Io, Kind, Origin};
use crate::joined::JoinedMessages;
use crate::messages::BATCH;
use crate::udp::{self, Received};
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::trace::TraceSink;
use gannet_trace::pcapng::Direction;
use std::os::fd::AsFd;

impl Io {
    /// Receives one batch, and what its last messages have beyond it; false where there is nothing more.
    pub(super) fn receive_joined(&mut self, index: usize) -> bool {
        let mut datagrams = 0;
        while datagrams < BATCH {
            match self.receive_messages(index) {
                // Nothing but errors: the others have their turn.
                Received::Some(0) => return true,
                Received::Some(count) => datagrams += count,
                Received::Nothing => return false,
            }
        }
        true
    }

    /// Receives some messages, and says how many datagrams they were.
    fn receive_messages(&mut self, index: usize) -> Received {
        let at_ns = self.clock.unix_ns(self.now);
        let Self { endpoints, joined, spare, frames, arrivals, log, recorder, .. } = self;
        let Some(Some(Endpoint { owner, kind: Kind::Udp(udp), .. })) = endpoints.get_mut(index) else {
            return Received::Nothing;
        };
        let joined = joined.get_or_insert_with(JoinedMessages::new);
        let received = udp::retried(|| joined.receive(udp.socket.as_fd()));
        udp.flowing = matches!(received, Received::Some(_));
        let Received::Some(count) = received else { return Received::Nothing };
        let mut datagrams = 0;
        for message in (0..count).filter_map(|number| joined.message(number)) {
            for octets in message.datagrams() {
                datagrams += 1;
                let Some(from) = message.from else { continue };
                let Some(mut frame) = spare.pop().or_else(|| frames.alloc()) else {
                    log.dropped(Drop::NoFrame, None);
                    continue;
                };
                if !frame.append(octets) {
                    log.dropped(Drop::RtReceiveTooLong, None);
                    spare.push(frame);
                    continue;
                }
                if let (Some(recorder), Some(interface)) = (recorder.as_mut(), udp.record) {
                    let ends = (from, udp.local.towards(from));
                    recorder.udp(interface, at_ns, Direction::In, ends, &frame);
                }
                let (machine, port) = (owner.machine, owner.port);
                let origin = Origin::Peer(Peer::Udp(from));
                arrivals.push_back(Arrival { machine, port, origin, frame });
            }
        }
        udp.received += datagrams as u64;
        Received::Some(datagrams)
    }
}

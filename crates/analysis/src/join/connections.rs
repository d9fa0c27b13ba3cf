//! Connections of TCP: which segments belong to one, and who opened it.

use crate::record::TcpSegment;
use core::net::SocketAddr;
use std::collections::HashMap;

const SYN: u8 = 2;
const ACK: u8 = 16;
/// Connections that a reading tells apart.
const CONNECTIONS_MAX: usize = 1_000_000;

/// A connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// The end that opened it; where its SYN was not seen, the sender of its first segment.
    pub opener: SocketAddr,
    /// The other end.
    pub other: SocketAddr,
}

/// All connections of a reading.
#[derive(Debug, Default)]
pub struct Connections {
    all: Vec<Connection>,
    /// The newest between two ends, the lower first, and the sequence number of its SYN.
    newest: HashMap<(SocketAddr, SocketAddr), (u32, Option<u32>), foldhash::quality::RandomState>,
    /// Segments of connections beyond the limit.
    pub left_out: u64,
}

impl Connections {
    /// Says to which connection a segment belongs. False where there are too many connections.
    pub fn place(&mut self, from: SocketAddr, to: SocketAddr, segment: &mut TcpSegment) -> bool {
        let ends = if from < to { (from, to) } else { (to, from) };
        let opens = segment.flags & (SYN | ACK) == SYN;
        let known = self.newest.get(&ends).copied();
        let index = match known {
            // A SYN with another number opens another connection between the same ends.
            Some((index, syn)) if !opens || syn == Some(segment.sequence) => index,
            _ => {
                let Ok(index) = u32::try_from(self.all.len()) else { return false };
                if self.all.len() == CONNECTIONS_MAX {
                    self.left_out += 1;
                    return false;
                }
                let answers = segment.flags & (SYN | ACK) == SYN | ACK;
                let (opener, other) = if answers { (to, from) } else { (from, to) };
                self.all.push(Connection { opener, other });
                self.newest.insert(ends, (index, opens.then_some(segment.sequence)));
                index
            }
        };
        segment.connection = index;
        let connection = usize::try_from(index).ok().and_then(|index| self.all.get(index));
        segment.is_forward = connection.is_some_and(|connection| connection.opener == from);
        true
    }

    /// All of them, by their index.
    #[must_use]
    pub fn all(&self) -> &[Connection] {
        &self.all
    }
}

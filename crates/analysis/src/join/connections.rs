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
#[derive(Debug)]
pub struct Connections {
    /// How many at the most.
    most: usize,
    all: Vec<Connection>,
    /// The newest between two ends, the lower first, and the sequence number of its SYN.
    newest: HashMap<(SocketAddr, SocketAddr), (u32, Option<u32>), foldhash::quality::RandomState>,
    /// Segments of connections beyond the limit.
    pub left_out: u64,
}

impl Default for Connections {
    fn default() -> Self {
        Self::with_limit(CONNECTIONS_MAX)
    }
}

impl Connections {
    /// Tells at most so many apart.
    #[must_use]
    pub fn with_limit(most: usize) -> Self {
        Self { most, all: Vec::new(), newest: HashMap::default(), left_out: 0 }
    }

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
                if self.all.len() >= self.most {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(flags: u8, sequence: u32) -> TcpSegment {
        let mut octets = [0; 20];
        octets[4..8].copy_from_slice(&sequence.to_be_bytes());
        (octets[12], octets[13]) = (0x50, flags);
        crate::decode::tcp::parse(&octets, 20, 40, 0).unwrap()
    }

    #[test]
    fn a_crowd_of_connections_stays_within_the_limit() {
        let mut connections = Connections::with_limit(100);
        let server: SocketAddr = "192.0.2.1:80".parse().unwrap();
        for number in 0..250_u16 {
            let client = SocketAddr::new([10, 0, 0, 1].into(), 1000 + number);
            let mut syn = segment(SYN, 1);
            assert_eq!(connections.place(client, server, &mut syn), number < 100);
        }
        assert_eq!(
            (connections.all().len(), connections.newest.len(), connections.left_out),
            (100, 100, 150)
        );
        // Those that are known go on, and none of them begins anew.
        let client = SocketAddr::new([10, 0, 0, 1].into(), 1042);
        let mut answer = segment(SYN | ACK, 7);
        assert!(connections.place(server, client, &mut answer));
        assert_eq!((answer.connection, answer.is_forward), (42, false));
        assert!(!connections.place(client, server, &mut segment(SYN, 2)));
    }
}

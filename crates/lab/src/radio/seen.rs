//! What the hosts of a world see of their connections: each segment where it leaves and where it comes, as a capture of both ends has it.

use crate::tcp::segment::{Flags, Segment};
use gannet_machine::time::Instant;

/// Where a segment was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spot {
    /// It leaves the end that has data to send.
    Sent,
    /// It comes to the other end.
    Came,
    /// The other end answers.
    Answers,
    /// The answer comes to the end that has data to send.
    Answered,
}

/// A segment that was seen. Numbers are positions in the stream of the end that sends data, counted from its SYN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// When.
    pub at: Instant,
    /// Where.
    pub spot: Spot,
    /// The identification of its IP header: each transmission has its own.
    pub id: u16,
    /// Its data: the first octet and the one behind it; equal where it has none. Of the end that sends data.
    pub data: (u64, u64),
    /// What it acknowledges; of the other end.
    pub acknowledges: u64,
    /// Octets of the window that it gives.
    pub window: u64,
    /// What it acknowledges behind a hole.
    pub sack: Vec<(u64, u64)>,
}

/// A number of the stream of a mobile's connection, as [`super::world::World::connect`] begins it.
fn position(number: u32, mobile: usize) -> u64 {
    let initial = u32::try_from(1000 * (mobile + 1)).unwrap_or(0);
    number.wrapping_sub(initial).into()
}

impl Seen {
    /// Keeps what was seen of the connection of a mobile; a SYN is left out.
    pub(super) fn keep(all: &mut Option<Vec<Self>>, at: Instant, mobile: usize, spot: Spot, packet: &[u8]) {
        let Some(all) = all else { return };
        let Ok(segment) = Segment::parse(packet) else { return };
        if segment.flags.has(Flags::SYN) {
            return;
        }
        let id = packet.get(4..6).and_then(|octets| octets.first_chunk::<2>());
        let id = id.map_or(0, |octets| u16::from_be_bytes(*octets));
        let has_data = matches!(spot, Spot::Sent | Spot::Came);
        let start = position(segment.sequence, mobile);
        all.push(Self {
            at,
            spot,
            id,
            data: if has_data { (start, start + segment.payload.len() as u64) } else { (0, 0) },
            acknowledges: if has_data { 0 } else { position(segment.acknowledgement, mobile) },
            window: segment.window.into(),
            sack: segment
                .options
                .sack
                .iter()
                .map(|(from, to)| (position(*from, mobile), position(*to, mobile)))
                .collect(),
        });
    }
}

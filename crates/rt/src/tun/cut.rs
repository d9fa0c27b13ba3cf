//! Super-packets, cut into the packets that they stand for, and checksums that the kernel has left unfinished.

use super::header::{OffloadHeader, Segments};
use super::layout::{Found, Layout, put_u16, put_u32, u16_at, u32_at};
use crate::inet::{checksum, fold, sum_of};

/// The flags of TCP (RFC 9293 clause 3.1), in the octet 13 of its header.
pub(super) const FIN: u8 = 0x01;
pub(super) const PSH: u8 = 0x08;
pub(super) const ACK: u8 = 0x10;
pub(super) const CWR: u8 = 0x80;

/// Completes the checksum of one packet; false where the header does not fit the packet, which is as it was then.
#[must_use]
pub(crate) fn complete(header: &OffloadHeader, packet: &mut [u8]) -> bool {
    if !header.needs_checksum {
        return true;
    }
    let start = usize::from(header.checksum_start);
    let at = start + usize::from(header.checksum_offset);
    if at + 2 > packet.len() {
        return false;
    }
    let sum = checksum(sum_of(packet.get(start..).unwrap_or_default()));
    // A sum of 0 means the same as all ones, but that a UDP datagram with 0 would have no checksum.
    put_u16(packet, at, if sum == 0 { 0xffff } else { sum });
    true
}

/// Cuts one super-packet.
#[derive(Debug)]
pub(crate) struct Cutter<'a> {
    packet: &'a [u8],
    layout: Layout,
    segment_len: usize,
    /// Sum of the pseudo header but for the length.
    pseudo_sum: u32,
    /// Segments that were cut, and octets of payload in them.
    count: u32,
    done: usize,
}

impl<'a> Cutter<'a> {
    /// `None` where the header does not fit the packet.
    pub(crate) fn new(header: &OffloadHeader, packet: &'a [u8]) -> Option<Self> {
        let Found::Transport(layout) = Layout::of(packet) else { return None };
        let fits = match header.segments {
            Segments::None => false,
            Segments::Tcp4 => layout.is_tcp && layout.is_ipv4,
            Segments::Tcp6 => layout.is_tcp && !layout.is_ipv4,
            Segments::Udp => !layout.is_tcp,
        };
        // The kernel always leaves the checksum of a super-packet unfinished.
        if !fits
            || !header.needs_checksum
            || usize::from(header.checksum_start) != layout.transport
            || usize::from(header.checksum_offset) != layout.checksum_offset()
            || header.segment_len == 0
            || layout.payload >= packet.len()
        {
            return None;
        }
        // The kernel's sum knows the last destination behind a routing header.
        let whole = u16_at(packet, layout.transport + layout.checksum_offset());
        let len = u16::try_from(packet.len() - layout.transport).ok()?;
        let pseudo_sum = u32::from(whole) + u32::from(!len);
        let segment_len = header.segment_len.into();
        Some(Self { packet, layout, segment_len, pseudo_sum, count: 0, done: 0 })
    }

    /// Segments that are still to come.
    pub(crate) const fn left(&self) -> usize {
        (self.packet.len() - self.layout.payload - self.done).div_ceil(self.segment_len)
    }

    /// Writes the next packet into `room` and says how long it is; `None` where all are cut, or where it is too long for
    /// the room.
    pub(crate) fn cut(&mut self, room: &mut [u8]) -> Option<usize> {
        let Layout { transport, payload, is_ipv4, is_tcp, .. } = self.layout;
        let from = payload + self.done;
        let rest = self.packet.get(from..).filter(|rest| !rest.is_empty())?;
        let part = rest.get(..self.segment_len).unwrap_or(rest);
        let is_last = part.len() == rest.len();
        let len = payload + part.len();
        let room = room.get_mut(..len)?;
        let (headers, body) = room.split_at_mut_checked(payload)?;
        headers.copy_from_slice(self.packet.get(..payload)?);
        body.copy_from_slice(part);
        if is_ipv4 {
            // One more for each packet, and past the last number the first (RFC 6864 asks for no more than that).
            let number = u32::from(u16_at(headers, 4)) + self.count;
            put_u16(headers, 4, u16::try_from(number & 0xffff).unwrap_or(0));
        }
        self.layout.put_lengths(headers, len);
        if is_tcp {
            let done = u32::try_from(self.done).unwrap_or(0);
            let sequence = u32_at(headers, transport + 4).wrapping_add(done);
            put_u32(headers, transport + 4, sequence);
            if let Some(flags) = headers.get_mut(transport + 13) {
                *flags &= !(if is_last { 0 } else { FIN | PSH } | if self.count == 0 { 0 } else { CWR });
            }
        }
        let at = transport + self.layout.checksum_offset();
        put_u16(room, at, 0);
        let transport_len = u32::try_from(len - transport).unwrap_or(0);
        let sum = self.pseudo_sum + transport_len + sum_of(room.get(transport..).unwrap_or_default());
        let sum = !fold(sum);
        put_u16(room, at, if sum == 0 && !is_tcp { 0xffff } else { sum });
        self.done += part.len();
        self.count += 1;
        Some(len)
    }
}

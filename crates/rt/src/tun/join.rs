//! Packets of one flow, joined into super-packets.
//!
//! A device takes a super-packet at the price of two or three packets, and the kernel's TCP acknowledges it at once. What
//! is joined is what the kernel, or [`super::cut`], cuts into the same octets again:
//!
//! * TCP segments in order with the same acknowledgement, window and options, and no flag but ACK, and PSH on the last;
//! * UDP datagrams of one flow with a checksum;
//! * all of one size but for a shorter last one, with IPv4 identifications in order, without IPv4 options, IPv6 extension
//!   headers or fragments, and with right lengths and checksums.
//!
//! Everything else goes alone and unchanged. The order within a flow is kept: a flow goes on in its last group or in a
//! later one, and a packet of which the flow is not known ends the groups of all flows.

use super::cut::{ACK, PSH};
use super::header::{HEADER, OffloadHeader, Segments};
use super::layout::{Found, Layout, put_u16, u16_at, u32_at};
use crate::inet::fold;
use core::hash::{BuildHasher, Hasher};
use core::ops::Deref;
use foldhash::fast::FixedState;

/// Packets of one super-packet (`UDP_MAX_SEGMENTS` of older kernels).
pub(crate) const MEMBERS_MAX: usize = 64;
/// Octets of the headers of a super-packet with the header of [`super::header`]: IP and TCP with all options.
pub(crate) const HEADERS_MAX: usize = HEADER + 40 + 60;
/// Octets of one super-packet: its IPv4 length field.
const OCTETS_MAX: usize = 65_535;
/// Packets that are looked at together.
pub(crate) const PACKETS_MAX: usize = 256;
/// Places of the table of flows: twice the packets.
const PLACES: usize = 2 * PACKETS_MAX;
/// Places at which a flow is looked for. One that finds none of them free is not joined.
const TRIES: usize = 8;
const NOTHING: u16 = u16::MAX;

/// Which packets may be joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Joins {
    pub(crate) tcp: bool,
    pub(crate) udp: bool,
}

/// Packets that leave as one: their numbers form a chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    first: u16,
    last: u16,
    pub(crate) count: u16,
    /// Another packet may follow.
    is_open: bool,
    /// The first packet's lengths and checksums are right.
    is_sound: bool,
    /// Place in the table; [`NOTHING`] where it has none.
    place: u16,
    layout: Layout,
    /// Octets of payload of the first packet, and of all with the headers.
    segment_len: u16,
    octets: u32,
}

/// Sorts packets into groups; keeps its memory.
pub(crate) struct Joiner {
    groups: Vec<Group>,
    /// Which packet follows in the group of each.
    next: Vec<u16>,
    /// The last group of each flow by the flow's hash; [`NOTHING`] where there is none.
    table: Box<[u16; PLACES]>,
    hasher: FixedState,
}

const NO_LAYOUT: Layout = Layout { is_ipv4: false, is_tcp: false, transport: 0, payload: 0, is_plain: false };

impl Joiner {
    pub(crate) fn new() -> Self {
        Self {
            groups: Vec::with_capacity(PACKETS_MAX),
            next: Vec::with_capacity(PACKETS_MAX),
            table: Box::new([NOTHING; PLACES]),
            // Flows made to meet at one place gain nothing: each looks at a few places.
            hasher: FixedState::default(),
        }
    }

    /// Sorts up to [`PACKETS_MAX`] packets; [`Joiner::group`] then has each in one group, in the order in which they
    /// are to leave.
    pub(crate) fn sort<P: Deref<Target = [u8]>>(&mut self, packets: &[P], joins: Joins) {
        self.forget();
        self.groups.clear();
        self.next.clear();
        for (packet, number) in packets.iter().take(PACKETS_MAX).zip(0..) {
            self.next.push(NOTHING);
            match Layout::of(packet) {
                Found::Transport(layout) => self.transport(packets, number, layout, joins),
                Found::Other => self.alone(number, NO_LAYOUT),
                Found::Unclear => {
                    self.forget();
                    self.alone(number, NO_LAYOUT);
                }
            }
        }
    }

    /// Group `index` of the last [`Joiner::sort`].
    pub(crate) fn group(&self, index: usize) -> Option<Group> {
        self.groups.get(index).copied()
    }

    /// The numbers of the packets of a group.
    pub(crate) fn members(&self, group: Group) -> impl Iterator<Item = usize> + '_ {
        let next =
            |number: &u16| self.next.get(usize::from(*number)).copied().filter(|next| *next != NOTHING);
        core::iter::successors(Some(group.first), next).map(usize::from)
    }

    /// No group goes on: their flows are taken out of the table.
    fn forget(&mut self) {
        for group in &mut self.groups {
            group.is_open = false;
            if let Some(place) = self.table.get_mut(usize::from(group.place)) {
                *place = NOTHING;
            }
            group.place = NOTHING;
        }
    }

    fn alone(&mut self, number: u16, layout: Layout) {
        self.groups.push(Group {
            first: number,
            last: number,
            count: 1,
            is_open: false,
            is_sound: false,
            place: NOTHING,
            layout,
            segment_len: 0,
            octets: 0,
        });
    }

    fn transport<P: Deref<Target = [u8]>>(
        &mut self,
        packets: &[P],
        number: u16,
        layout: Layout,
        joins: Joins,
    ) {
        let may_join = if layout.is_tcp { joins.tcp } else { joins.udp };
        if !may_join {
            return self.alone(number, layout);
        }
        let packet = |number: u16| packets.get(usize::from(number)).map_or(&[][..], |packet| packet);
        let own = packet(number);
        let (place, last) = self.find(own, layout, packet);
        let fits = last.is_some_and(|index| self.append(index, number, own, layout, packet));
        if fits {
            return;
        }
        // The flow goes on here.
        if let Some(former) = last.and_then(|index| self.groups.get_mut(index)) {
            former.place = NOTHING;
        }
        let payload_len = own.len() - layout.payload;
        let index = u16::try_from(self.groups.len()).unwrap_or(NOTHING);
        self.alone(number, layout);
        if let Some(group) = self.groups.last_mut() {
            group.is_open = place != NOTHING && may_begin(own, layout);
            group.place = place;
            group.segment_len = u16::try_from(payload_len).unwrap_or(0);
            group.octets = u32::try_from(own.len()).unwrap_or(u32::MAX);
        }
        if let Some(entry) = self.table.get_mut(usize::from(place)) {
            *entry = index;
        }
    }

    /// The place of a packet's flow in the table, and the flow's last group.
    fn find<'a>(&self, own: &[u8], layout: Layout, packet: impl Fn(u16) -> &'a [u8]) -> (u16, Option<usize>) {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(layout.addresses(own));
        hasher.write_u32(u32_at(own, layout.transport));
        let mut place = usize::try_from(hasher.finish() % PLACES as u64).unwrap_or(0);
        for _ in 0..TRIES {
            let index = usize::from(self.table.get(place).copied().unwrap_or(NOTHING));
            let Some(group) = self.groups.get(index) else {
                return (u16::try_from(place).unwrap_or(NOTHING), None);
            };
            let (of, its) = (group.layout, packet(group.first));
            if of.is_tcp == layout.is_tcp
                && of.addresses(its) == layout.addresses(own)
                && u32_at(its, of.transport) == u32_at(own, layout.transport)
            {
                return (u16::try_from(place).unwrap_or(NOTHING), Some(index));
            }
            place = (place + 1) % PLACES;
        }
        // Places become free only all at once, so that the rest of the flow finds none either.
        (NOTHING, None)
    }

    /// Appends a packet to the group of its flow; false where it does not fit there.
    fn append<'a>(
        &mut self,
        index: usize,
        number: u16,
        own: &[u8],
        layout: Layout,
        packet: impl Fn(u16) -> &'a [u8],
    ) -> bool {
        let Some(group) = self.groups.get_mut(index) else { return false };
        let first = packet(group.first);
        let payload_len = own.len() - layout.payload;
        let octets = group.octets as usize + payload_len;
        if !group.is_open
            || layout != group.layout
            || payload_len == 0
            || payload_len > usize::from(group.segment_len)
            || octets > OCTETS_MAX
            || !follows(first, own, layout, (group.count, octets - payload_len - layout.payload))
        {
            return false;
        }
        if !group.is_sound {
            // Asked only where it matters: most packets have no second of their flow.
            group.is_sound = layout.is_sound(first);
            if !group.is_sound {
                group.is_open = false;
                return false;
            }
        }
        if !layout.is_sound(own) {
            return false;
        }
        let ends = layout.is_tcp && flags(own, layout) & PSH != 0;
        group.is_open = payload_len == usize::from(group.segment_len)
            && !ends
            && usize::from(group.count) + 1 < MEMBERS_MAX;
        group.count += 1;
        group.octets = u32::try_from(octets).unwrap_or(u32::MAX);
        if let Some(next) = self.next.get_mut(usize::from(group.last)) {
            *next = number;
        }
        group.last = number;
        true
    }

    /// Writes the headers of a group's super-packet, that of the device first, into `room` of [`HEADERS_MAX`] octets;
    /// gives how many octets that are, and how many headers of each packet they stand for.
    pub(crate) fn headers<P: Deref<Target = [u8]>>(
        &self,
        group: Group,
        packets: &[P],
        room: &mut [u8; HEADERS_MAX],
    ) -> Option<(usize, usize)> {
        let (first, last) = (packets.get(usize::from(group.first))?, packets.get(usize::from(group.last))?);
        let layout = group.layout;
        let Layout { transport, payload, .. } = layout;
        let (offload, rest) = room.split_first_chunk_mut::<HEADER>()?;
        let headers = rest.get_mut(..payload)?;
        headers.copy_from_slice(first.get(..payload)?);
        let octets = group.octets as usize;
        layout.put_lengths(headers, octets);
        if let Some(own) = headers.get_mut(transport + 13).filter(|_| layout.is_tcp) {
            *own |= flags(last, layout) & PSH;
        }
        // The kernel completes it: the sum is that of the pseudo header, and not inverted.
        let sum = fold(layout.pseudo_sum(headers, octets - transport));
        put_u16(headers, transport + layout.checksum_offset(), sum);
        let segments = match (layout.is_tcp, layout.is_ipv4) {
            (true, true) => Segments::Tcp4,
            (true, false) => Segments::Tcp6,
            (false, _) => Segments::Udp,
        };
        let header = OffloadHeader {
            needs_checksum: true,
            segments,
            header_len: u16::try_from(payload).ok()?,
            segment_len: group.segment_len,
            checksum_start: u16::try_from(transport).ok()?,
            checksum_offset: u16::try_from(layout.checksum_offset()).ok()?,
        };
        *offload = header.octets();
        Some((HEADER + payload, payload))
    }

    /// TCP, or UDP?
    pub(crate) const fn is_tcp(group: Group) -> bool {
        group.layout.is_tcp
    }
}

impl core::fmt::Debug for Joiner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Joiner({} groups)", self.groups.len())
    }
}

fn flags(packet: &[u8], layout: Layout) -> u8 {
    packet.get(layout.transport + 13).copied().unwrap_or(0)
}

/// May more follow this packet in a group?
fn may_begin(packet: &[u8], layout: Layout) -> bool {
    // The four bits behind TCP's data offset are zero in a segment with no flag but those below.
    let reserved = packet.get(layout.transport + 12).copied().unwrap_or(0) & 0x0f;
    let is_data = !layout.is_tcp || flags(packet, layout) == ACK && reserved == 0;
    layout.is_plain && is_data && packet.len() > layout.payload
}

/// Is this the packet that comes behind `count` packets with `octets` of payload, of which the first is given? All
/// that is not said by its place must be the same.
fn follows(first: &[u8], own: &[u8], layout: Layout, (count, octets): (u16, usize)) -> bool {
    let Layout { transport, payload, .. } = layout;
    let same = |from: usize, to: usize| first.get(from..to) == own.get(from..to);
    let ip = if layout.is_ipv4 {
        // But for length, identification and checksum.
        let number = u16_at(first, 4).wrapping_add(count);
        same(0, 2) && same(6, 10) && u16_at(own, 4) == number
    } else {
        same(0, 4) && same(6, 8)
    };
    if !layout.is_tcp {
        return ip;
    }
    let octets = u32::try_from(octets).unwrap_or(0);
    // But for the sequence number, PSH and the checksum.
    ip && u32_at(own, transport + 4) == u32_at(first, transport + 4).wrapping_add(octets)
        && same(transport + 8, transport + 13)
        && flags(own, layout) & !PSH == flags(first, layout)
        && same(transport + 14, transport + 16)
        && same(transport + 18, payload)
}

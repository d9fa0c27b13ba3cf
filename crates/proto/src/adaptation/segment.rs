//! LL-PDUs that are longer than a bearer carries go in pieces, and are joined again.

use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Context, Peer};
use gannet_wire::adaptation::{SEGMENT_LEN, SEGMENTS_MAX, Segment};
use gannet_wire::id::Tlli;

/// An LL-PDU that is not whole after this time is dropped.
pub const TIMEOUT: Duration = Duration::from_secs(2);

/// Cuts LL-PDUs, and numbers those that are cut.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cutter {
    next: u16,
}

/// An LL-PDU in pieces, or whole.
#[derive(Debug)]
pub struct Pieces {
    datagram: u16,
    frames: [Option<Frame>; SEGMENTS_MAX],
    count: u8,
    at: u8,
}

impl Cutter {
    /// Cuts an LL-PDU so that none of its pieces, with the segment extension, is longer than `octets_max`.
    ///
    /// # Errors
    /// `AdaptTooLong` where more than [`SEGMENTS_MAX`] pieces would be needed, `NoFrame` where frames are missing. Then
    /// nothing of it is to be sent.
    pub fn cut(&mut self, cx: &Context<'_>, octets_max: usize, mut ll_pdu: Frame) -> Result<Pieces, Drop> {
        let mut pieces =
            Pieces { datagram: self.next, frames: [const { None }; SEGMENTS_MAX], count: 1, at: 0 };
        if ll_pdu.len() > octets_max {
            let room =
                octets_max.checked_sub(SEGMENT_LEN).filter(|room| *room > 0).ok_or(Drop::AdaptTooLong)?;
            let count = ll_pdu.len().div_ceil(room);
            pieces.count = u8::try_from(count).map_err(|_| Drop::AdaptTooLong)?;
            if count > SEGMENTS_MAX {
                return Err(Drop::AdaptTooLong);
            }
            for (place, piece) in pieces.frames.iter_mut().zip(ll_pdu.chunks(room)).skip(1) {
                *place = Some(cx.frames.copy_of(piece).ok_or(Drop::NoFrame)?);
            }
            ll_pdu.truncate(room);
            self.next = self.next.wrapping_add(1);
        }
        pieces.frames[0] = Some(ll_pdu);
        Ok(pieces)
    }
}

impl Iterator for Pieces {
    type Item = (Option<Segment>, Frame);

    fn next(&mut self) -> Option<Self::Item> {
        let number = self.at;
        let frame = self.frames.get_mut(usize::from(number))?.take()?;
        self.at += 1;
        let segment = Segment { datagram: self.datagram, number, is_last: self.at == self.count };
        Some(((self.count > 1).then_some(segment), frame))
    }
}

/// Whose pieces belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The link on which they come.
    pub link: u16,
    /// From whom.
    pub peer: Peer,
    /// Of which mobile.
    pub tlli: Tlli,
}

#[derive(Debug)]
struct Entry {
    origin: Origin,
    datagram: u16,
    deadline: Instant,
    pieces: [Option<Frame>; SEGMENTS_MAX],
    held: usize,
    last: Option<u8>,
}

/// LL-PDUs that wait for more of their pieces, the oldest first.
#[derive(Debug)]
pub struct Joiner {
    entries: Vec<Entry>,
    pieces_max: usize,
}

impl Joiner {
    /// Room for so many pieces of all LL-PDUs together.
    #[must_use]
    pub fn new(pieces_max: usize) -> Self {
        Self { entries: Vec::with_capacity(pieces_max), pieces_max: pieces_max.max(1) }
    }

    /// Pieces that wait.
    #[must_use]
    pub fn held(&self) -> usize {
        self.entries.iter().map(|entry| entry.held).sum()
    }

    /// When the oldest is given up.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.entries.first().map(|entry| entry.deadline)
    }

    /// Gives up what is too old.
    pub fn expire(&mut self, cx: &mut Context<'_>) {
        while self.next_deadline().is_some_and(|deadline| deadline <= cx.now) {
            self.entries.remove(0);
            cx.drop(Drop::AdaptSegmentTimeout, None);
        }
    }

    /// Takes a piece; gives the LL-PDU when it is whole.
    ///
    /// # Errors
    /// `AdaptSegmentDuplicate`; `AdaptSegmentMalformed` where pieces contradict each other or their sum is too long for a
    /// frame: the LL-PDU is then dropped with it.
    pub fn join(
        &mut self,
        cx: &mut Context<'_>,
        origin: Origin,
        segment: Segment,
        piece: Frame,
    ) -> Result<Option<Frame>, Drop> {
        self.expire(cx);
        let is_meant = |entry: &Entry| entry.origin == origin && entry.datagram == segment.datagram;
        let at = match self.entries.iter().position(is_meant) {
            Some(at) => at,
            None => {
                self.entries.push(Entry {
                    origin,
                    datagram: segment.datagram,
                    deadline: cx.now + TIMEOUT,
                    pieces: [const { None }; SEGMENTS_MAX],
                    held: 0,
                    last: None,
                });
                self.entries.len() - 1
            }
        };
        let Some(entry) = self.entries.get_mut(at) else { return Err(Drop::AdaptSegmentMalformed) };
        match entry.take(segment, piece) {
            Ok(false) => {
                while self.held() > self.pieces_max {
                    self.entries.remove(0);
                    cx.drop(Drop::AdaptSegmentEvicted, None);
                }
                Ok(None)
            }
            Ok(true) => self.entries.remove(at).whole().map(Some),
            Err(Drop::AdaptSegmentDuplicate) => Err(Drop::AdaptSegmentDuplicate),
            Err(drop) => {
                self.entries.remove(at);
                Err(drop)
            }
        }
    }
}

impl Entry {
    /// Takes a piece; true when all are there.
    fn take(&mut self, segment: Segment, piece: Frame) -> Result<bool, Drop> {
        let place = self.pieces.get_mut(usize::from(segment.number)).ok_or(Drop::AdaptSegmentMalformed)?;
        if place.is_some() {
            return Err(Drop::AdaptSegmentDuplicate);
        }
        *place = Some(piece);
        self.held += 1;
        if segment.is_last && self.last.replace(segment.number).is_some() {
            return Err(Drop::AdaptSegmentMalformed);
        }
        let Some(last) = self.last else { return Ok(false) };
        let count = usize::from(last) + 1;
        if self.pieces.iter().skip(count).any(Option::is_some) {
            return Err(Drop::AdaptSegmentMalformed);
        }
        Ok(self.held == count)
    }

    fn whole(self) -> Result<Frame, Drop> {
        let mut pieces = self.pieces.into_iter().flatten();
        let mut first = pieces.next().ok_or(Drop::AdaptSegmentMalformed)?;
        for piece in pieces {
            if !first.append(&piece) {
                return Err(Drop::AdaptSegmentMalformed);
            }
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::trace::Quiet;

    const ORIGIN: Origin = Origin { link: 0, peer: Peer::Link, tlli: Tlli(0xc000_0001) };

    fn around(frames: usize) -> Surroundings<Quiet> {
        Surroundings::new(1, frames, Quiet::default())
    }

    fn ll_pdu(octets: usize) -> Vec<u8> {
        (0..=255).cycle().take(octets).collect()
    }

    fn cut(around: &mut Surroundings<Quiet>, cutter: &mut Cutter, octets: usize) -> Vec<(Segment, Frame)> {
        let frame = around.frames.copy_of(&ll_pdu(octets)).unwrap();
        let pieces = cutter.cut(&around.context(), 104, frame).unwrap();
        pieces.map(|(segment, frame)| (segment.unwrap(), frame)).collect()
    }

    #[test]
    fn pieces_are_joined_in_any_order() {
        let mut around = around(40);
        let (mut cutter, mut joiner) = (Cutter::default(), Joiner::new(32));
        for (octets, count) in [(105, 2), (200, 2), (201, 3), (1600, 16)] {
            let mut pieces = cut(&mut around, &mut cutter, octets);
            assert_eq!(pieces.len(), count, "{octets}");
            assert!(pieces.iter().all(|(_, piece)| piece.len() <= 100));
            pieces.reverse();
            let mut came = None;
            for (segment, piece) in pieces {
                assert!(came.is_none());
                came = joiner.join(&mut around.context(), ORIGIN, segment, piece).unwrap();
            }
            assert_eq!(*came.unwrap(), *ll_pdu(octets));
        }
        assert_eq!((joiner.held(), around.frames.free()), (0, 40));
        let frame = around.frames.copy_of(&ll_pdu(104)).unwrap();
        let whole: Vec<_> = cutter.cut(&around.context(), 104, frame).unwrap().collect();
        assert!(matches!(&whole[..], [(None, frame)] if frame.len() == 104));
    }

    #[test]
    fn what_needs_too_many_pieces_or_frames_is_not_sent() {
        let mut around = around(4);
        let mut cutter = Cutter::default();
        for (octets, octets_max, drop) in
            [(1601, 104, Drop::AdaptTooLong), (5, 4, Drop::AdaptTooLong), (500, 104, Drop::NoFrame)]
        {
            let frame = around.frames.copy_of(&ll_pdu(octets)).unwrap();
            assert_eq!(cutter.cut(&around.context(), octets_max, frame).err(), Some(drop));
        }
        assert_eq!(around.frames.free(), 4);
    }

    #[test]
    fn pieces_that_come_twice_too_late_or_do_not_fit_are_dropped() {
        let mut around = around(40);
        let (mut cutter, mut joiner) = (Cutter::default(), Joiner::new(32));
        let give = |around: &mut Surroundings<Quiet>, joiner: &mut Joiner, number, is_last, octets| {
            let piece = around.frames.copy_of(&ll_pdu(octets)).unwrap();
            let segment = Segment { datagram: 7, number, is_last };
            joiner.join(&mut around.context(), ORIGIN, segment, piece).map(|whole| whole.map(|w| w.len()))
        };
        assert_eq!(give(&mut around, &mut joiner, 0, false, 9), Ok(None));
        assert_eq!(give(&mut around, &mut joiner, 0, false, 9), Err(Drop::AdaptSegmentDuplicate));
        assert_eq!(give(&mut around, &mut joiner, 2, true, 9), Ok(None));
        assert_eq!(give(&mut around, &mut joiner, 3, false, 9), Err(Drop::AdaptSegmentMalformed));
        assert_eq!(give(&mut around, &mut joiner, 0, false, 1700), Ok(None));
        assert_eq!(give(&mut around, &mut joiner, 1, true, 1700), Err(Drop::AdaptSegmentMalformed));
        assert_eq!((joiner.held(), around.frames.free()), (0, 40));
        let pieces = cut(&mut around, &mut cutter, 300);
        for (segment, piece) in pieces.into_iter().take(2) {
            assert!(joiner.join(&mut around.context(), ORIGIN, segment, piece).unwrap().is_none());
        }
        around.now = joiner.next_deadline().unwrap();
        joiner.expire(&mut around.context());
        assert_eq!((joiner.held(), around.trace.drops.get(Drop::AdaptSegmentTimeout)), (0, 1));
    }

    #[test]
    fn a_flood_of_pieces_takes_so_many_frames_and_no_more() {
        let mut around = around(40);
        let mut joiner = Joiner::new(32);
        for datagram in 0..1000 {
            let piece = around.frames.copy_of(&[1]).unwrap();
            let segment = Segment { datagram, number: 3, is_last: false };
            assert!(joiner.join(&mut around.context(), ORIGIN, segment, piece).unwrap().is_none());
        }
        assert_eq!((joiner.held(), around.frames.free()), (32, 8));
        assert_eq!(around.trace.drops.get(Drop::AdaptSegmentEvicted), 968);
    }
}

//! A session of the authenticated mode: it seals what is sent and opens what comes.

use super::key::{Authenticator, Direction, Random, SharedKey};
use super::replay::ReplayWindow;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_wire::adaptation::{Pdu, Trailer};

/// So many PDUs of one direction end a session: the mobile begins another before.
pub const PACKETS_MAX: u64 = 1 << 40;

/// Which end it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The mobile.
    Mobile,
    /// The access point.
    AccessPoint,
}

/// One end of a session.
#[derive(Debug, Clone)]
pub struct Session {
    id: u32,
    sender: Authenticator,
    receiver: Authenticator,
    next: u64,
    window: ReplayWindow,
    packets_max: u64,
}

impl Session {
    /// The session of two ends that have sent each other these random numbers, the mobile's first.
    #[must_use]
    pub fn new(end: End, key: &SharedKey, id: u32, randoms: [&Random; 2], packets_max: u64) -> Self {
        let [up, down] = [Direction::Up, Direction::Down].map(|way| key.session(way, id, randoms));
        let (sender, receiver) = match end {
            End::Mobile => (up, down),
            End::AccessPoint => (down, up),
        };
        Self { id, sender, receiver, next: 0, window: ReplayWindow::default(), packets_max }
    }

    /// Its name in trailers.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Another session should follow: seven eighths of the packet numbers of a direction are used.
    #[must_use]
    pub const fn is_nearly_used_up(&self) -> bool {
        let limit = self.packets_max - self.packets_max / 8;
        self.next >= limit || self.window.next() >= limit
    }

    /// Puts the trailer behind a PDU, whose header says that it has one.
    ///
    /// # Errors
    /// `AdaptExhausted` where no packet number is left, `NoFrame` where no room is. Then nothing is to be sent.
    pub fn seal(&mut self, pdu: &mut Frame) -> Result<(), Drop> {
        if self.next >= self.packets_max {
            return Err(Drop::AdaptExhausted);
        }
        let signed = Trailer::signed_octets(self.id, self.next);
        let mac = self.sender.mac(&[pdu, &signed]);
        self.next += 1;
        if pdu.append(&signed) && pdu.append(&mac) { Ok(()) } else { Err(Drop::NoFrame) }
    }

    /// Whether a PDU is of the other end of this session, and has not come before.
    ///
    /// # Errors
    /// `AdaptUnauthenticated` without trailer, `AdaptUnknownSession` with that of another session, `AdaptBadMac`,
    /// `AdaptReplayed`.
    pub fn open(&mut self, pdu: &Pdu<'_>) -> Result<(), Drop> {
        let trailer = pdu.trailer.ok_or(Drop::AdaptUnauthenticated)?;
        if trailer.session != self.id {
            return Err(Drop::AdaptUnknownSession);
        }
        if !self.receiver.is_right(&[pdu.signed], &trailer.mac) {
            return Err(Drop::AdaptBadMac);
        }
        self.window.take(trailer.packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::key::Key128;
    use gannet_machine::frame::FramePool;
    use gannet_wire::adaptation::{HEADER_LEN, Header, MessageType};
    use gannet_wire::id::Tlli;

    const RANDOMS: [&Random; 2] = [&[1; 16], &[2; 16]];

    fn ends(packets_max: u64) -> [Session; 2] {
        let key = SharedKey { id: 1, key: Key128([7; 16]) };
        [End::Mobile, End::AccessPoint].map(|end| Session::new(end, &key, 3, RANDOMS, packets_max))
    }

    fn sealed(pool: &FramePool, session: &mut Session, payload: &[u8]) -> Frame {
        let mut frame = pool.copy_of(payload).unwrap();
        let header = Header { is_authenticated: true, ..Header::new(MessageType::LlPdu, Tlli(0xc000_0001)) };
        assert!(header.emit(payload.len(), frame.push(HEADER_LEN).unwrap()));
        session.seal(&mut frame).unwrap();
        frame
    }

    #[test]
    fn each_end_opens_what_the_other_sealed_once() {
        let pool = FramePool::new(2);
        let [mut mobile, mut access_point] = ends(PACKETS_MAX);
        for n in 0..3 {
            let up = sealed(&pool, &mut mobile, &[n; 40]);
            let pdu = Pdu::parse(&up).unwrap();
            assert_eq!((access_point.open(&pdu), pdu.payload), (Ok(()), &[n; 40][..]));
            assert_eq!(access_point.open(&pdu), Err(Drop::AdaptReplayed));
            assert_eq!(mobile.open(&pdu), Err(Drop::AdaptBadMac), "its own PDU, sent back to it");
            let down = sealed(&pool, &mut access_point, &[n; 4]);
            assert_eq!(mobile.open(&Pdu::parse(&down).unwrap()), Ok(()));
        }
    }

    #[test]
    fn no_bit_of_a_pdu_can_be_changed() {
        let pool = FramePool::new(1);
        let [mut mobile, access_point] = ends(PACKETS_MAX);
        let mut up = sealed(&pool, &mut mobile, &[0x55; 9]);
        for bit in 0..up.len() * 8 {
            up[bit / 8] ^= 1 << (bit % 8);
            let opened = Pdu::parse(&up).map(|pdu| access_point.clone().open(&pdu));
            assert!(opened.is_err() || opened != Ok(Ok(())), "bit {bit}");
            up[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(access_point.clone().open(&Pdu::parse(&up).unwrap()), Ok(()));
    }

    #[test]
    fn a_session_ends_before_its_numbers_come_again() {
        let pool = FramePool::new(1);
        let [mut mobile, mut access_point] = ends(16);
        for n in 0..16 {
            assert_eq!(mobile.is_nearly_used_up(), n >= 14);
            let up = sealed(&pool, &mut mobile, &[1]);
            assert_eq!(access_point.open(&Pdu::parse(&up).unwrap()), Ok(()));
        }
        assert!(access_point.is_nearly_used_up(), "it has heard so many");
        let mut frame = pool.copy_of(&[0; 9]).unwrap();
        assert_eq!((mobile.seal(&mut frame), frame.len()), (Err(Drop::AdaptExhausted), 9));
    }
}

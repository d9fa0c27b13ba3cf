//! Unacknowledged information (04.64 clause 8.4 [44.064]).

use super::cipher::{self, Ciphering, Direction, Job};
use gannet_machine::Fold;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_wire::fcs24::{FCS_LEN, fcs24_folded};
use gannet_wire::id::Sapi;
use gannet_wire::llc::{MODULUS, N202, UI_HEADER_LEN, ui_header};
use serde::{Deserialize, Serialize};

/// Frames behind V(UR) whose receipt is remembered (clause 8.4.2).
const WINDOW: u16 = 32;

/// UI frames of one direction of an LLE after which its counters are to be kept anew, where somebody keeps them: see
/// [`restored`].
pub const KEPT_EVERY: u16 = 192;
/// The same as a part of OC + N(U).
const PIECE: u32 = KEPT_EVERY as u32;

/// The number with which a sender goes on whose number was `kept` when it was last written down.
///
/// What was written down is old by [`KEPT_EVERY`] numbers at the most, and by those that were used until it was written. Up to
/// as many again are therefore passed over: none is used twice, which would be the same key stream twice, and the receiver is
/// less than 480 behind, the most that it can tell from a late frame (04.64 clause 8.4.2 [44.064]), so that its OC stays
/// in step. The number is a multiple: with its first use it is due to be kept itself.
pub(super) const fn restored(kept: u32) -> u32 {
    (kept / PIECE).wrapping_add(2).wrapping_mul(PIECE)
}

/// Overflows of N(U) within which OC of a peer is looked for that went on while this end was not there.
pub(super) const OVERFLOWS_MAX: u32 = 64;

/// What OC + N(U) of a frame may be beside `count`, where N(U) has started again unheard: the next first.
pub(super) fn later_overflows(count: u32) -> impl Iterator<Item = u32> {
    (1..=OVERFLOWS_MAX).map(move |overflows| count.wrapping_add(overflows * u32::from(MODULUS)))
}

/// V(U), V(UR) and the overflow counters OC of one LLE.
///
/// OC grows by 512 whenever its sequence number starts again, so OC + V(U) is one counter of 32 bits whose low nine
/// bits are V(U).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[repr(C)]
pub struct Counters {
    /// OC-UI-tx + V(U).
    pub(super) tx: u32,
    /// OC-UI-rx + V(UR).
    rx: u32,
    /// Bit n: the frame V(UR) − 1 − n was received.
    window: u32,
}

/// N(U) of a frame whose OC + N(U) is `count`.
#[must_use]
pub fn nine_bits(count: u32) -> u16 {
    u16::try_from(count % u32::from(MODULUS)).unwrap_or(0)
}

impl Counters {
    /// OC-UI-tx + V(U) for the frame that is sent next, and counts it (clause 8.4.1).
    pub const fn take_next(&mut self) -> u32 {
        let count = self.tx;
        self.tx = count.wrapping_add(1);
        count
    }

    /// The same, without counting it.
    #[must_use]
    pub const fn next(self) -> u32 {
        self.tx
    }

    /// OC-UI-rx + V(UR): that of the frame that is expected next.
    #[must_use]
    pub const fn expected(self) -> u32 {
        self.rx
    }

    /// How far `nu` lies behind V(UR) − 1, modulo 512.
    fn behind(self, nu: u16) -> u16 {
        nine_bits(self.rx.wrapping_sub(1).wrapping_sub(u32::from(nu)))
    }

    /// OC + N(U) of a received frame.
    #[must_use]
    pub fn count_of(self, nu: u16) -> u32 {
        let behind = self.behind(nu);
        if behind < WINDOW {
            self.rx.wrapping_sub(1).wrapping_sub(u32::from(behind))
        } else {
            self.rx.wrapping_add(u32::from((MODULUS - 1) - behind))
        }
    }

    /// Notes that `nu` was received; false where it had been before (clause 8.4.2).
    pub fn accept(&mut self, nu: u16) -> bool {
        let behind = self.behind(nu);
        if behind < WINDOW {
            let bit = 1 << behind;
            let fresh = self.window & bit == 0;
            self.window |= bit;
            return fresh;
        }
        let advance = u32::from(MODULUS - behind);
        self.rx = self.rx.wrapping_add(advance);
        self.window = self.window.checked_shl(advance).unwrap_or(0) | 1;
        true
    }

    /// Goes on after a restart of this end. A peer that ciphers goes on in step with OC; of one that does not, nothing that
    /// it sends may be taken for a repetition of what came long ago.
    pub(super) const fn restore(&mut self, ciphered: bool) {
        self.tx = restored(self.tx);
        if !ciphered {
            self.window = 0;
        }
    }

    /// The frame that was sent last began a new piece of [`KEPT_EVERY`] numbers.
    pub(super) const fn sent_is_due(self) -> bool {
        self.tx.wrapping_sub(1).is_multiple_of(PIECE)
    }

    /// The piece of numbers that is received now.
    pub(super) const fn received_piece(self) -> u32 {
        self.rx / PIECE
    }

    /// The peer was found to be at this OC + N(U), which is still to be accepted.
    pub(super) const fn go_on_at(&mut self, count: u32) {
        self.rx = count;
        self.window = 0;
    }

    /// The peer has reset: its next frame has N(U) 0, and none is a repetition.
    pub(super) const fn forget_received(&mut self) {
        self.rx = 0;
        self.window = 0;
    }
}

/// All that goes into a UI frame beside its information.
pub(super) struct Sealing {
    pub(super) cr: bool,
    pub(super) sapi: Sapi,
    pub(super) encrypted: bool,
    pub(super) protected: bool,
    pub(super) iov_ui: u32,
    pub(super) fold: Option<Fold>,
}

impl Sealing {
    /// Puts header and FCS round the information in `frame`, and counts V(U) (clause 8.4.1). The input of the cipher comes
    /// back; nothing is ciphered yet.
    pub(super) fn seal(&self, counters: &mut Counters, frame: &mut Frame) -> Result<u32, Drop> {
        if frame.tailroom() < FCS_LEN {
            return Err(Drop::LlcNoRoom);
        }
        let header = ui_header(self.cr, self.sapi, nine_bits(counters.tx), self.encrypted, self.protected);
        if !frame.prepend(&header) {
            return Err(Drop::LlcNoRoom);
        }
        let covered = if self.protected { frame.len() } else { frame.len().min(UI_HEADER_LEN + N202) };
        let fcs = fcs24_folded(frame.get(..covered).unwrap_or_default(), self.fold);
        if !frame.append(&fcs) {
            return Err(Drop::LlcNoRoom);
        }
        Ok(cipher::ui_input(self.iov_ui, self.sapi, counters.take_next()))
    }
}

/// What the cipher has still to do to a UI frame: to one that goes out, which is complete otherwise, with its header, its FCS
/// and its number; or to one that has come in, before its FCS says anything.
///
/// It knows algorithm and key by itself, so that the frame is done as was said whatever becomes of the mobile in the
/// meantime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deferred {
    ciphering: Ciphering,
    direction: Direction,
    /// Information and FCS, at the end of the frame.
    octets: u16,
    input: u32,
}

impl Deferred {
    /// Of the `octets` at the end of a frame.
    pub(super) fn new(ciphering: Ciphering, direction: Direction, input: u32, octets: usize) -> Self {
        Self { ciphering, direction, octets: u16::try_from(octets).unwrap_or(u16::MAX), input }
    }

    /// For a batch. The LL-PDU must stand at the end of `octets`; what was put in front of it does not matter.
    pub fn job<'a>(&'a self, octets: &'a mut [u8]) -> Job<'a> {
        let from = octets.len().saturating_sub(self.octets.into());
        let octets = octets.get_mut(from..).unwrap_or_default();
        Job { ciphering: &self.ciphering, input: self.input, direction: self.direction, octets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Algorithm;
    use gannet_machine::frame::FramePool;
    use gannet_wire::llc::Header;

    #[test]
    fn late_frames_pass_once_and_old_numbers_start_again() {
        let mut counters = Counters::default();
        for nu in [0, 1, 2, 5] {
            assert!(counters.accept(nu));
        }
        for (nu, fresh) in [(5, false), (3, true), (3, false), (4, true), (0, false), (6, true)] {
            assert_eq!(counters.accept(nu), fresh, "{nu}");
        }
        // 33 behind V(UR) is no longer remembered, and counts as far ahead.
        assert!(counters.accept(40));
        assert!(counters.accept(9));
        assert!(!counters.accept(40 - 31 + 31));
    }

    #[test]
    fn the_counter_of_the_cipher_grows_over_the_wrap() {
        let mut counters = Counters::default();
        for count in 0..2000_u32 {
            let nu = nine_bits(count);
            assert_eq!(counters.count_of(nu), count);
            assert!(counters.accept(nu));
        }
        // 2000 is 464 beyond a multiple of 512: 470 was skipped to, 468 comes late.
        assert!(counters.accept(nine_bits(2006)));
        assert_eq!(counters.count_of(nine_bits(2004)), 2004);
        // Late over the wrap itself.
        assert!(counters.accept(nine_bits(2049)));
        assert_eq!(counters.count_of(nine_bits(2047)), 2047);
    }

    #[test]
    fn a_restored_sender_uses_no_number_twice_and_stays_in_reach() {
        for kept in (0..2000).chain(u32::MAX - 600..=u32::MAX - 400) {
            // What went out since: up to the next multiple, which is kept, and until that is written.
            let used_until = kept / PIECE * PIECE + PIECE - 1 + PIECE;
            let next = restored(kept);
            assert!(next > used_until && next - kept <= 2 * PIECE, "{kept}");
            assert!(Counters { tx: next + 1, ..Counters::default() }.sent_is_due());
            // The peer may have heard nothing since, and before that missed some.
            let mut peer = Counters { rx: kept.saturating_sub(90), ..Counters::default() };
            assert_eq!(peer.count_of(nine_bits(next)), next);
            assert!(peer.accept(nine_bits(next)) && peer.rx == next + 1);
        }
    }

    #[test]
    fn a_restored_receiver_is_in_step_or_takes_what_comes() {
        let mut counters = Counters::default();
        for count in 0..1000 {
            assert!(counters.accept(nine_bits(count)));
        }
        // 479 frames came to nobody.
        let mut ciphered = counters;
        ciphered.restore(true);
        assert_eq!((ciphered.count_of(nine_bits(1479)), ciphered.accept(nine_bits(999))), (1479, false));
        for count in [990, 1600, 1511] {
            let mut plain = counters;
            plain.restore(false);
            assert!(plain.accept(nine_bits(count)), "{count}");
        }
    }

    #[test]
    fn header_and_fcs_stand_round_the_information_and_the_rest_is_left_to_do() {
        let pool = FramePool::new(1);
        let mut frame = pool.copy_of(b"information").unwrap();
        let mut counters = Counters { tx: 3, ..Counters::default() };
        let (cr, encrypted, protected) = (true, true, true);
        let sealing = Sealing { cr, sapi: Sapi(3), encrypted, protected, iov_ui: 0, fold: None };
        let input = sealing.seal(&mut counters, &mut frame).unwrap();
        assert_eq!((input, counters.tx), (0x9800_0003, 4));
        let plain = frame.to_vec();
        let layout = Header::parse(&plain).unwrap();
        assert_eq!(layout.header.emit()[..], [0x43, 0xc0, 3 << 2 | 3]);
        assert!(layout.fcs_is_right(&plain));
        let ciphering = Ciphering::with_kc(Algorithm::Gea3, [9; 8]).unwrap();
        let deferred = Deferred::new(ciphering, Direction::Downlink, input, frame.len() - UI_HEADER_LEN);
        assert!(frame.prepend(b"headers below"));
        deferred.job(&mut frame).alone();
        assert!(frame.pull(b"headers below".len()));
        assert_eq!(frame[..UI_HEADER_LEN], plain[..UI_HEADER_LEN]);
        assert!(!layout.fcs_is_right(&frame));
        ciphering.apply(input, Direction::Downlink, &mut frame[UI_HEADER_LEN..]);
        assert_eq!(frame[..], plain);
    }
}

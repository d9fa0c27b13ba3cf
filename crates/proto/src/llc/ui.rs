//! Unacknowledged information (04.64 clause 8.4 [44.064]).

use super::cipher::{self, Cipher, Direction, Kc};
use crate::drops::Drop;
use crate::frame::Frame;
use gannet_wire::fcs24::{FCS_LEN, Fcs24};
use gannet_wire::id::Sapi;
use gannet_wire::llc::{MODULUS, N202, UI_HEADER_LEN, ui_header};
use serde::{Deserialize, Serialize};

/// Frames behind V(UR) whose receipt is remembered (clause 8.4.2).
const WINDOW: u16 = 32;

/// V(U), V(UR) and the overflow counters OC of one LLE.
///
/// OC grows by 512 whenever its sequence number starts again, so OC + V(U) is one counter of 32 bits whose low nine
/// bits are V(U).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Counters {
    /// OC-UI-tx + V(U).
    pub(super) tx: u32,
    /// OC-UI-rx + V(UR).
    rx: u32,
    /// Bit n: the frame V(UR) − 1 − n was received.
    window: u32,
}

fn nine_bits(count: u32) -> u16 {
    u16::try_from(count % u32::from(MODULUS)).unwrap_or(0)
}

impl Counters {
    /// How far `nu` lies behind V(UR) − 1, modulo 512.
    fn behind(self, nu: u16) -> u16 {
        nine_bits(self.rx.wrapping_sub(1).wrapping_sub(u32::from(nu)))
    }

    /// OC + N(U) of a received frame.
    pub(super) fn count_of(self, nu: u16) -> u32 {
        let behind = self.behind(nu);
        if behind < WINDOW {
            self.rx.wrapping_sub(1).wrapping_sub(u32::from(behind))
        } else {
            self.rx.wrapping_add(u32::from((MODULUS - 1) - behind))
        }
    }

    /// Notes that `nu` was received; false where it had been before.
    pub(super) fn accept(&mut self, nu: u16) -> bool {
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
    pub(super) protected: bool,
    pub(super) cipher: Option<&'static dyn Cipher>,
    pub(super) direction: Direction,
    pub(super) iov_ui: u32,
}

impl Sealing {
    /// Puts header and FCS round the information in `frame`, ciphers it, and counts V(U) (clause 8.4.1).
    pub(super) fn seal(&self, counters: &mut Counters, kc: &Kc, frame: &mut Frame) -> Result<(), Drop> {
        if frame.tailroom() < FCS_LEN {
            return Err(Drop::LlcNoRoom);
        }
        let encrypted = self.cipher.is_some();
        let header = ui_header(self.cr, self.sapi, nine_bits(counters.tx), encrypted, self.protected);
        if !frame.prepend(&header) {
            return Err(Drop::LlcNoRoom);
        }
        let covered = if self.protected { frame.len() } else { frame.len().min(UI_HEADER_LEN + N202) };
        let fcs = Fcs24::new().update(frame.get(..covered).unwrap_or_default()).finish();
        if !frame.append(&fcs) {
            return Err(Drop::LlcNoRoom);
        }
        if let Some(cipher) = self.cipher {
            let input = cipher::ui_input(self.iov_ui, self.sapi, counters.tx);
            cipher.apply(kc, input, self.direction, frame.get_mut(UI_HEADER_LEN..).unwrap_or_default());
        }
        counters.tx = counters.tx.wrapping_add(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FramePool;
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

    struct Flip;
    impl Cipher for Flip {
        fn apply(&self, kc: &Kc, input: u32, direction: Direction, octets: &mut [u8]) {
            let mask = input.to_be_bytes()[3] ^ kc.ck()[0] ^ (direction as u8) << 7;
            octets.iter_mut().for_each(|octet| *octet ^= mask);
        }
    }

    #[test]
    fn information_and_fcs_are_ciphered_and_the_header_is_not() {
        let pool = FramePool::new(1);
        let mut frame = pool.copy_of(b"information").unwrap();
        let mut counters = Counters { tx: 3, ..Counters::default() };
        let kc = Kc::of_64([9; 8]);
        let sealing = Sealing {
            cr: true,
            sapi: Sapi(3),
            protected: true,
            cipher: Some(&Flip),
            direction: Direction::Downlink,
            iov_ui: 0,
        };
        sealing.seal(&mut counters, &kc, &mut frame).unwrap();
        let layout = Header::parse(&frame).unwrap();
        assert_eq!(layout.header.emit()[..], [0x43, 0xc0, 3 << 2 | 3]);
        assert!(!layout.fcs_is_right(&frame));
        let input = cipher::ui_input(0, Sapi(3), 3);
        assert_eq!(input, 0x9800_0003);
        Flip.apply(&kc, input, Direction::Downlink, &mut frame[3..]);
        assert!(layout.fcs_is_right(&frame));
        assert_eq!(&frame[layout.info()], b"information");
        assert_eq!(counters.tx, 4);
    }
}

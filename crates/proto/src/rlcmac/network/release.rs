//! PDCHs that the cell gives up, and the TBFs on them: PACKET TBF RELEASE (44.060 clauses 8.1.1.4 and 8.1.2.8).
//!
//! A TBF that uses such a PDCH is released there, abnormally: its mobile stops at once, and what has not arrived goes by a new TBF on the
//! PDCHs that are left. The message polls the mobile. Until it has answered, or has been asked [`NetworkConfig::n3105_max`] times, the
//! PDCH is used for that and for nothing else.

use super::downlink::{DownState, DownTimer};
use super::resources::{Direction, slots};
use super::uplink::{UpState, UpTimer};
use super::{Control, MARGIN, NetworkConfig, Pcu};
use gannet_machine::time::Instant;

impl Pcu {
    /// Another setting, for TBFs that begin from now on and for all that is not a TBF's. TBFs on PDCHs that it has not are released.
    pub fn reconfigure(&mut self, config: NetworkConfig) {
        let gone = self.config.pdchs & !config.pdchs;
        self.config = config;
        self.leaving = (self.leaving | gone) & !config.pdchs;
        self.look_at_pdchs();
        for tfi in self.resources.tfis(Direction::Down) {
            let Some(tbf) = self.down_tbf(tfi) else { continue };
            let (set, mobile, state) = (tbf.slots | tbf.wanted, tbf.mobile, tbf.state);
            if set & gone == 0 {
                continue;
            }
            let is_untold = tbf.is_untold() && self.access.is_waiting(tfi);
            match state {
                DownState::Assigning if is_untold => {
                    self.take_back(tfi);
                    self.free_down(tfi);
                    self.serve_mobile(mobile);
                }
                DownState::Assigning
                | DownState::Confirming
                | DownState::Flowing
                | DownState::Finishing
                | DownState::Released => self.release_down(tfi, set & gone),
                DownState::Leaving | DownState::Silent | DownState::Lost => {}
            }
        }
        for tfi in self.resources.tfis(Direction::Up) {
            let Some(tbf) = self.up_tbf(tfi) else { continue };
            let set = tbf.slots();
            if set & gone != 0
                && matches!(tbf.state, UpState::Flowing | UpState::Finishing | UpState::Assigning)
            {
                self.release_up(tfi, set & gone);
            }
        }
    }

    /// PDCHs on which something is sent: those of the cell and those that it gives up, but for those that calls have.
    #[must_use]
    pub const fn pdchs(&self) -> u8 {
        (self.config.pdchs | self.leaving) & !self.calls.held()
    }

    /// PDCHs on which nothing is to be said any more are given up.
    pub(super) fn give_up_pdchs(&mut self) {
        for slot in slots(self.leaving) {
            let place = usize::from(slot);
            let is_silent = self.control.get(place).is_none_or(|control| control.is_empty())
                && self.expected.get(place).is_none_or(|expected| expected.is_empty());
            if is_silent {
                self.leaving &= !(1 << slot);
            }
        }
    }

    fn release_down(&mut self, tfi: u8, set: u8) {
        self.take_back(tfi);
        self.access.forget_down(tfi);
        let stranded = self.forget_down(tfi);
        if let Some(tbf) = self.down_tbf(tfi) {
            tbf.leave();
        }
        self.say_release(Direction::Down, tfi, set);
        stranded.into_iter().for_each(|other| self.retry_on_ccch(other));
    }

    fn release_up(&mut self, tfi: u8, set: u8) {
        let stranded = self.forget_up(tfi);
        if let Some(tbf) = self.up_tbf(tfi) {
            tbf.leave();
        }
        self.say_release(Direction::Up, tfi, set);
        stranded.into_iter().for_each(|other| self.retry_on_ccch(other));
    }

    fn say_release(&mut self, direction: Direction, tfi: u8, set: u8) {
        if let Some(slot) = slots(set).next() {
            self.counts.releases += 1;
            self.say(slot, Control::TbfRelease { direction, tfi });
        }
    }

    /// The release of a TBF was answered, or was not.
    pub(super) fn release_answered(
        &mut self,
        now: Instant,
        (direction, tfi): (Direction, u8),
        slot: u8,
        came: bool,
    ) {
        let n3105_max = self.config.n3105_max;
        let (t3169, t3195) = (self.config.t3169, self.config.t3195);
        match direction {
            Direction::Down => {
                let Some(tbf) = self.down_tbf(tfi).filter(|tbf| tbf.state == DownState::Leaving) else {
                    return;
                };
                let mobile = tbf.mobile;
                if came {
                    self.free_down(tfi);
                    self.serve_mobile(mobile);
                } else if tbf.has_missed(n3105_max) {
                    tbf.state = DownState::Silent;
                    tbf.deadlines.set(DownTimer::T3195, now + t3195 + MARGIN);
                } else {
                    self.say_release(direction, tfi, 1 << slot);
                }
            }
            Direction::Up => {
                let Some(tbf) = self.up_tbf(tfi).filter(|tbf| tbf.state == UpState::Leaving) else { return };
                if came {
                    self.free_up(tfi);
                } else if tbf.has_missed(n3105_max) {
                    tbf.state = UpState::Silent;
                    tbf.deadlines.set(UpTimer::T3169, now + t3169 + MARGIN);
                } else {
                    self.say_release(direction, tfi, 1 << slot);
                }
            }
        }
    }
}

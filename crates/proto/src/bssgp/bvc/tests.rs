use super::*;
use crate::machine::Surroundings;
use crate::time::Instant;
use crate::trace::Quiet;
use gannet_wire::id::Rai;

const NSE: Nsei = Nsei(7);
fn cell(ci: u16) -> CellId {
    CellId { rai: Rai { lac: 1, ..Rai::default() }, ci }
}

struct Side {
    around: Surroundings<Quiet>,
    bvcs: Bvcs,
    out: Batch<BvcOutput>,
    told: Vec<BvcOutput>,
}

impl Side {
    fn new(role: Role) -> Self {
        let bvcs = Bvcs::new(Config { bvcs_max: 2, nses_max: 1, ..Config::new(role) });
        Self {
            around: Surroundings::new(1, 0, Quiet::default()),
            bvcs,
            out: Batch::default(),
            told: Vec::new(),
        }
    }
    fn act<R>(&mut self, act: impl FnOnce(&mut Bvcs, &mut Context<'_>, &mut Batch<BvcOutput>) -> R) -> R {
        act(&mut self.bvcs, &mut self.around.context(), &mut self.out)
    }
    fn give(&mut self, message: &Message) {
        assert!(self.act(|bvcs, cx, out| bvcs.receive(cx, NSE, message, out)));
    }
    /// Everything that this side sends; what it tells is kept.
    fn sent(&mut self) -> Vec<Message> {
        let mut sent = Vec::new();
        while let Some(output) = self.out.pop() {
            match output {
                BvcOutput::Send { nsei: NSE, bvci: Bvci::SIGNALLING, message } => sent.push(message),
                other => self.told.push(other),
            }
        }
        sent
    }
    fn sleep(&mut self) {
        self.around.now = self.bvcs.waiting.next().unwrap_or(Instant(u64::MAX));
        self.act(Bvcs::wake);
    }
    fn state(&self, bvc: u32) -> BvcState {
        self.bvcs.get(bvc).unwrap().state
    }
    fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

struct Pair {
    bss: Side,
    sgsn: Side,
}

impl Pair {
    fn up() -> Self {
        let mut pair = Self { bss: Side::new(Role::Bss), sgsn: Side::new(Role::Sgsn) };
        pair.bss.bvcs.add(NSE, Bvci(2), cell(9)).unwrap();
        pair.bss.bvcs.add(NSE, Bvci(3), cell(10)).unwrap();
        pair.bss.act(|bvcs, cx, out| bvcs.nse_up(cx, NSE, out));
        pair.talk();
        pair
    }
    fn talk(&mut self) {
        loop {
            let (up, down) = (self.bss.sent(), self.sgsn.sent());
            if up.is_empty() && down.is_empty() {
                return;
            }
            up.iter().for_each(|message| self.sgsn.give(message));
            down.iter().for_each(|message| self.bss.give(message));
        }
    }
}

#[test]
fn a_bss_resets_its_signalling_bvc_and_then_its_cells() {
    let pair = Pair::up();
    for side in [&pair.bss, &pair.sgsn] {
        assert_eq!(side.told, [BvcOutput::Reset { bvc: 0 }, BvcOutput::Reset { bvc: 1 }]);
        assert!(side.bvcs.is_unblocked(0) && side.bvcs.is_unblocked(1));
        assert_eq!((side.bvcs.find_cell(cell(9)), side.bvcs.find(NSE, Bvci(3))), (Some(0), Some(1)));
        assert_eq!((side.bvcs.features(NSE), side.bvcs.waiting.len()), (FEATURE_CBL | FEATURE_INR, 0));
    }
}

#[test]
fn block_and_unblock() {
    let mut pair = Pair::up();
    pair.bss.told.clear();
    pair.sgsn.told.clear();
    pair.bss.act(|bvcs, cx, out| bvcs.block(cx, 0, Cause::OamIntervention, out));
    assert_eq!(pair.bss.state(0), BvcState::Blocking);
    pair.talk();
    let blocked = BvcOutput::Blocked { bvc: 0, cause: Cause::OamIntervention };
    for side in [&pair.bss, &pair.sgsn] {
        assert_eq!((side.state(0), side.state(1)), (BvcState::Blocked, BvcState::Unblocked));
        assert_eq!(side.told, std::slice::from_ref(&blocked));
    }
    // A repetition is answered and changes nothing.
    pair.sgsn.give(&Message::BvcBlock { bvci: Bvci(2), cause: Cause::OamIntervention });
    assert_eq!(pair.sgsn.sent(), [Message::BvcBlockAck { bvci: Bvci(2) }]);
    pair.bss.act(|bvcs, cx, out| bvcs.unblock(cx, 0, out));
    pair.talk();
    for side in [&pair.bss, &pair.sgsn] {
        assert_eq!(side.state(0), BvcState::Unblocked);
        assert_eq!(side.told, [blocked.clone(), BvcOutput::Unblocked { bvc: 0 }]);
    }
}

#[test]
fn without_answer_it_is_repeated_and_given_up() {
    let mut pair = Pair::up();
    pair.bss.act(|bvcs, cx, out| bvcs.block(cx, 0, Cause::OamIntervention, out));
    for _ in 0..4 {
        assert_eq!(pair.bss.sent().len(), 1);
        pair.bss.sleep();
    }
    assert!(pair.bss.sent().is_empty());
    assert_eq!(pair.bss.told.last(), Some(&BvcOutput::Unanswered { nsei: NSE, bvci: Bvci(2) }));
    assert_eq!((pair.bss.state(0), pair.bss.drops(Drop::BssgpUnanswered)), (BvcState::Blocked, 1));
    pair.bss.act(|bvcs, cx, out| bvcs.reset_signalling(cx, NSE, out));
    assert_eq!(pair.bss.state(1), BvcState::Down);
    (0..4).for_each(|_| pair.bss.sleep());
    assert_eq!((pair.bss.sent().len(), pair.bss.drops(Drop::BssgpUnanswered)), (4, 2));
    assert!(pair.bss.bvcs.waiting.is_empty());
}

#[test]
fn a_reset_of_the_signalling_bvc_by_the_sgsn_resets_all() {
    let mut pair = Pair::up();
    pair.bss.told.clear();
    pair.sgsn.act(|bvcs, cx, out| bvcs.reset_signalling(cx, NSE, out));
    assert_eq!(pair.sgsn.state(0), BvcState::Down);
    pair.talk();
    let (down, reset) = (|bvc| BvcOutput::Down { bvc }, |bvc| BvcOutput::Reset { bvc });
    assert_eq!(pair.bss.told, [down(0), down(1), reset(0), reset(1)]);
    assert!(pair.sgsn.bvcs.is_unblocked(0) && pair.sgsn.bvcs.is_unblocked(1));
    let message =
        Message::BvcReset { bvci: Bvci(2), cause: Cause::OamIntervention, cell: None, features: None };
    pair.bss.give(&message);
    let ack = Message::BvcResetAck { bvci: Bvci(2), cell: Some(cell(9)), features: None };
    assert_eq!(pair.bss.sent(), [ack]);
}

#[test]
fn an_sgsn_that_forgot_a_bvc_gets_it_again() {
    let mut pair = Pair::up();
    pair.sgsn = Side::new(Role::Sgsn);
    assert_eq!(pair.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, NSE, Bvci(2), &[1, 2, 3], out)), None);
    assert_eq!(pair.sgsn.drops(Drop::BssgpUnknownBvc), 1);
    pair.talk();
    assert_eq!(pair.bss.drops(Drop::BssgpStatusReceived), 1);
    assert_eq!(pair.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, NSE, Bvci(2), &[1], out)), Some(0));
}

#[test]
fn blocked_and_malformed_are_answered_with_status() {
    let mut pair = Pair::up();
    pair.sgsn.give(&Message::BvcBlock { bvci: Bvci(2), cause: Cause::OamIntervention });
    pair.sgsn.sent();
    assert_eq!(pair.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, NSE, Bvci(2), &[1], out)), None);
    let status = |cause, bvci, pdu: &[u8]| Message::Status(Status::about_pdu(cause, bvci, pdu));
    assert_eq!(pair.sgsn.sent(), [status(Cause::BvciBlocked, Some(Bvci(2)), &[1])]);
    let error = Message::parse(&[0x22]).unwrap_err();
    pair.sgsn.act(|bvcs, cx, out| bvcs.malformed(cx, NSE, &error, &[0x22], out));
    assert_eq!(pair.sgsn.sent(), [status(Cause::MissingMandatoryIe, None, &[0x22])]);
    // Never a STATUS about a STATUS.
    pair.sgsn.act(|bvcs, cx, out| bvcs.malformed(cx, NSE, &error, &[0x41], out));
    assert_eq!(pair.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, NSE, Bvci(9), &[0x41], out)), None);
    assert!(pair.sgsn.sent().is_empty());
    let block = Message::BvcBlock { bvci: Bvci(2), cause: Cause::OamIntervention };
    pair.bss.give(&block);
    assert_eq!(pair.bss.sent(), [status(Cause::PduNotCompatible, None, &block.to_vec())]);
    assert_eq!((pair.bss.drops(Drop::BssgpUnexpected), pair.sgsn.drops(Drop::BssgpBlockedBvc)), (1, 1));
}

#[test]
fn a_reset_without_cell_or_room_is_refused() {
    let mut pair = Pair::up();
    let reset = |bvci, cell| Message::BvcReset { bvci, cause: Cause::OamIntervention, cell, features: None };
    let cases = [
        (reset(Bvci(4), None), Cause::MissingConditionalIe, None),
        (reset(Bvci(4), Some(cell(11))), Cause::SgsnCongestion, None),
        (reset(Bvci::PTM, Some(cell(9))), Cause::BvciUnknown, Some(Bvci::PTM)),
        (Message::BvcUnblock { bvci: Bvci(5) }, Cause::BvciUnknown, Some(Bvci(5))),
    ];
    for (message, cause, bvci) in cases {
        pair.sgsn.give(&message);
        assert_eq!(pair.sgsn.sent(), [Message::Status(Status::about_pdu(cause, bvci, &message.to_vec()))]);
    }
    assert_eq!(pair.sgsn.drops(Drop::BssgpTableFull), 1);
}

#[test]
fn a_cell_may_come_to_another_bvc() {
    let mut pair = Pair::up();
    pair.sgsn.told.clear();
    let cause = Cause::OamIntervention;
    pair.sgsn.give(&Message::BvcReset { bvci: Bvci(3), cause, cell: Some(cell(9)), features: None });
    assert_eq!(pair.sgsn.sent().len(), 1);
    assert_eq!(pair.sgsn.told, [BvcOutput::Down { bvc: 0 }, BvcOutput::Reset { bvc: 1 }]);
    assert_eq!(pair.sgsn.bvcs.find_cell(cell(9)), Some(1));
    assert_eq!(pair.sgsn.bvcs.find_cell(cell(10)), None);
}

#[test]
fn an_nse_that_fails_takes_its_bvcs_along() {
    let mut pair = Pair::up();
    pair.sgsn.told.clear();
    pair.sgsn.act(|bvcs, _, out| bvcs.nse_down(NSE, out));
    assert!(pair.sgsn.sent().is_empty());
    assert_eq!(pair.sgsn.told, [BvcOutput::Down { bvc: 0 }, BvcOutput::Down { bvc: 1 }]);
}

#[test]
fn what_is_down_gives_its_place_to_a_new_one_in_a_full_table() {
    let mut pair = Pair::up();
    pair.sgsn.told.clear();
    let other = Nsei(8);
    let reset = |bvci: u16, ci| Message::BvcReset {
        bvci: Bvci(bvci),
        cause: Cause::OamIntervention,
        cell: Some(cell(ci)),
        features: None,
    };
    // Nobody is down: there is no place for a third cell, nor for a second NSE.
    assert!(pair.sgsn.act(|bvcs, cx, out| bvcs.receive(cx, NSE, &reset(4, 11), out)));
    assert!(pair.sgsn.act(|bvcs, cx, out| bvcs.receive(cx, other, &reset(4, 11), out)));
    assert!(pair.sgsn.drops(Drop::BssgpTableFull) >= 2);
    assert_eq!(pair.sgsn.bvcs.find(NSE, Bvci(4)), None);
    // The NSE goes, and another comes.
    pair.sgsn.act(|bvcs, _, out| bvcs.nse_down(NSE, out));
    assert!(pair.sgsn.act(|bvcs, cx, out| bvcs.receive(cx, other, &reset(4, 11), out)));
    let bvcs = &pair.sgsn.bvcs;
    assert_eq!((bvcs.find(other, Bvci(4)), bvcs.find_cell(cell(11))), (Some(0), Some(0)));
    assert_eq!((bvcs.find(NSE, Bvci(2)), bvcs.find_cell(cell(9))), (None, None));
    assert_eq!(bvcs.find(NSE, Bvci(3)), Some(1), "it still has its place");
    assert_eq!(bvcs.nses().map(|nse| nse.nsei).collect::<Vec<_>>(), [other]);
}

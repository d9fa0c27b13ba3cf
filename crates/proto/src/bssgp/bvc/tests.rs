use super::*;
use gannet_machine::Surroundings;
use gannet_machine::time::Instant;
use gannet_machine::trace::Quiet;
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
    /// The cells are there, as their FLOW-CONTROL-BVC shows.
    fn use_cells(&mut self) {
        for bvci in [Bvci(2), Bvci(3)] {
            assert!(self.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, NSE, bvci, &[0x26], out)).is_some());
        }
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
    // What is to be unblocked and gets no answer begins anew.
    pair.bss.act(|bvcs, cx, out| bvcs.unblock(cx, 0, out));
    for _ in 0..4 {
        assert_eq!(pair.bss.sent(), [Message::BvcUnblock { bvci: Bvci(2) }]);
        pair.bss.sleep();
    }
    assert!(matches!(pair.bss.sent().as_slice(), [Message::BvcReset { bvci: Bvci(2), .. }]));
    assert_eq!((pair.bss.state(0), pair.bss.drops(Drop::BssgpUnanswered)), (BvcState::Resetting, 2));
    pair.bss.act(|bvcs, cx, out| bvcs.reset_signalling(cx, NSE, out));
    assert_eq!(pair.bss.state(1), BvcState::Down);
    (0..4).for_each(|_| pair.bss.sleep());
    assert_eq!((pair.bss.sent().len(), pair.bss.drops(Drop::BssgpUnanswered)), (4, 3));
    assert_eq!(pair.bss.told.last(), Some(&BvcOutput::Unanswered { nsei: NSE, bvci: Bvci::SIGNALLING }));
    // After a while it is tried again, and what is lost then of a cell's reset as well.
    pair.bss.sleep();
    let signalling = pair.bss.sent();
    assert!(matches!(signalling.as_slice(), [Message::BvcReset { bvci: Bvci::SIGNALLING, .. }]));
    signalling.iter().for_each(|message| pair.sgsn.give(message));
    pair.sgsn.sent().iter().for_each(|message| pair.bss.give(message));
    assert_eq!(pair.bss.sent().len(), 2, "and those of the cells are lost");
    (0..4).for_each(|_| pair.bss.sleep());
    assert_eq!((pair.bss.sent().len(), pair.bss.drops(Drop::BssgpUnanswered)), (6, 5));
    assert_eq!((pair.bss.state(0), pair.bss.state(1)), (BvcState::Down, BvcState::Down));
    pair.bss.sleep();
    pair.talk();
    assert!(
        [&pair.bss, &pair.sgsn].iter().all(|side| side.bvcs.is_unblocked(0) && side.bvcs.is_unblocked(1))
    );
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

/// Somebody has said in its name that it blocks the BVC.
#[test]
fn a_bss_unblocks_what_it_has_not_blocked() {
    let mut pair = Pair::up();
    pair.sgsn.give(&Message::BvcBlock { bvci: Bvci(2), cause: Cause::OamIntervention });
    pair.talk();
    assert_eq!((pair.sgsn.state(0), pair.bss.state(0)), (BvcState::Blocked, BvcState::Unblocked));
    assert_eq!(pair.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, NSE, Bvci(2), &[1], out)), None);
    pair.talk();
    assert_eq!((pair.sgsn.state(0), pair.bss.state(0)), (BvcState::Unblocked, BvcState::Unblocked));
    // One that it has blocked itself stays so.
    pair.bss.act(|bvcs, cx, out| bvcs.block(cx, 0, Cause::OamIntervention, out));
    pair.talk();
    assert_eq!(pair.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, NSE, Bvci(2), &[1], out)), None);
    pair.talk();
    assert_eq!((pair.sgsn.state(0), pair.bss.state(0)), (BvcState::Blocked, BvcState::Blocked));
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
fn an_nse_gets_only_so_many_statuses() {
    let mut pair = Pair::up();
    let flood = |pair: &mut Pair, nsei| {
        for pdu in [[0x22], [0x7f]].iter().cycle().take(1000) {
            let error = Message::parse(&[0x22]).unwrap_err();
            pair.sgsn.act(|bvcs, cx, out| bvcs.malformed(cx, nsei, &error, pdu, out));
            assert_eq!(pair.sgsn.act(|bvcs, cx, out| bvcs.accept(cx, nsei, Bvci(9), &[1], out)), None);
        }
        let own = pair.sgsn.sent().len();
        own + core::mem::take(&mut pair.sgsn.told).len()
    };
    pair.sgsn.told.clear();
    let most = STATUS_ANSWERS_PER_S as usize;
    assert_eq!(flood(&mut pair, NSE), most);
    // Who sends nothing wrong is told of his first mistake all the same.
    assert_eq!(flood(&mut pair, Nsei(NSE.0 + 1)), most);
    assert_eq!(pair.sgsn.drops(Drop::BssgpMalformed), 2000, "each is counted");
    pair.sgsn.around.now = Instant(1_000_000_000);
    assert_eq!(flood(&mut pair, NSE), most);
}

#[test]
fn a_reset_without_cell_or_room_is_refused() {
    let mut pair = Pair::up();
    let reset = |bvci, cell| Message::BvcReset { bvci, cause: Cause::OamIntervention, cell, features: None };
    pair.use_cells();
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
    // One that was reset and says nothing gives way, and is the first to do so when it comes again.
    pair.sgsn.give(&reset(Bvci(2), Some(cell(9))));
    pair.sgsn.sent();
    pair.sgsn.told.clear();
    pair.sgsn.give(&reset(Bvci(4), Some(cell(11))));
    assert_eq!(pair.sgsn.sent(), [Message::BvcResetAck { bvci: Bvci(4), cell: None, features: None }]);
    assert_eq!(pair.sgsn.told, [BvcOutput::Down { bvc: 0 }, BvcOutput::Reset { bvc: 0 }]);
    assert_eq!((pair.sgsn.bvcs.find(NSE, Bvci(2)), pair.sgsn.bvcs.find(NSE, Bvci(3))), (None, Some(1)));
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
    pair.use_cells();
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

//! Procedures one by one, octet by octet, and every name under which acknowledged mode drops.

use crate::pair::{Badness, End, Pair, SAPI, terms, unit, windows};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::abm::{Abm, Options, Retransmission, Shared, Windows};
use gannet_proto::llc::{
    Algorithm, Ciphering, LlcContext, LlcOutput, LlcRole, LlcStatus, ReleaseCause, Terms,
};
use gannet_wire::fcs24::fcs24;
use gannet_wire::llc::{Control, FrmrInformation, Header, Supervisory, UFunction};

fn good_pair() -> Pair {
    let terms = terms(Options::default(), windows(16, 1520));
    Pair::new(1, Duration::from_millis(50), Badness::default(), Ciphering::NONE, &terms)
}

fn established() -> Pair {
    let mut pair = good_pair();
    pair.sgsn.establish();
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    pair
}

fn ll_pdu(cr: bool, control: Control, info: &[u8]) -> Vec<u8> {
    let mut pdu = Header { cr, sapi: SAPI, control }.emit().to_vec();
    pdu.extend(info);
    pdu.extend(fcs24(&pdu));
    pdu
}

/// An I frame of the SGSN.
fn i(ns: u16, nr: u16, ack_request: bool, info: &[u8]) -> Vec<u8> {
    ll_pdu(true, Control::I { ack_request, ns, nr, supervisory: Supervisory::Rr }, info)
}

fn u(cr: bool, poll_final: bool, function: UFunction) -> Vec<u8> {
    ll_pdu(cr, Control::U { poll_final, function }, &[])
}

fn headers(end: &mut End) -> Vec<Header> {
    std::mem::take(&mut end.sent).iter().map(|pdu| Header::parse(pdu).unwrap().header).collect()
}

#[test]
fn octets_of_an_establishment_and_of_the_first_units() {
    let mut pair = good_pair();
    pair.sgsn.terms.windows = None;
    pair.ms.terms.windows = None;
    pair.sgsn.establish();
    let sabm = pair.sgsn.sent.remove(0);
    assert_eq!(sabm[..2], [0x43, 0xf7], "a command of the SGSN, P set");
    pair.ms.receive(&sabm);
    let ua = pair.ms.sent.remove(0);
    assert_eq!(ua[..2], [0x43, 0xf6], "a response of the mobile, F set");
    pair.sgsn.offered = 2;
    pair.sgsn.receive(&ua);
    // I+RR, N(S) 0 with A, then N(S) 1 without.
    let first = pair.sgsn.sent.remove(0);
    assert_eq!(first[..4], [0x43, 0x40, 0, 0]);
    assert_eq!(first[4..first.len() - 3], unit(0, 4));
    let second = pair.sgsn.sent.remove(0);
    assert_eq!(second[..4], [0x43, 0x00, 0x10, 0]);
    // The second comes first: SACK would have one bit, which is ACK.
    pair.ms.receive(&second);
    assert_eq!(pair.ms.sent.remove(0)[..3], [0x43, 0x80, 0x01], "ACK, N(R) 0");
    pair.ms.receive(&first);
    assert_eq!(pair.ms.sent.remove(0)[..3], [0x43, 0x80, 0x08], "RR, N(R) 2");
    assert_eq!(pair.ms.arrived, 2);
}

#[test]
fn windows_are_negotiated_down_with_the_establishment() {
    let mut pair = good_pair();
    let asked = Windows { iov_i: 0, m_sent: 0, m_received: 700, k_sent: 200, k_received: 9 };
    let limits = Windows { iov_i: 0, m_sent: 900, m_received: 1000, k_sent: 255, k_received: 31 };
    (pair.sgsn.terms.windows, pair.ms.terms.windows) = (Some(asked), Some(limits));
    pair.sgsn.establish();
    assert_eq!(pair.sgsn.sent[0][2..12], [0x1e, 0, 0, 0x22, 2, 188, 0x25, 200, 0x29, 9]);
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    let agreed = Windows { iov_i: 0, m_sent: 1000, m_received: 700, k_sent: 31, k_received: 9 };
    assert_eq!(*pair.sgsn.llc.abm(SAPI).unwrap().windows(), agreed);
    let seen_there = Windows { iov_i: 0, m_sent: 700, m_received: 1000, k_sent: 9, k_received: 31 };
    assert_eq!(*pair.ms.llc.abm(SAPI).unwrap().windows(), seen_there);
}

#[test]
fn what_both_modes_have_is_negotiated_with_the_establishment() {
    let mut pair = good_pair();
    pair.sgsn.terms.windows = None;
    pair.sgsn.terms.shared = Shared { n201_i: Some(900), t200_tenths: Some(20), n200: Some(5) };
    // The mobile has no wish of T200: its present value counts.
    pair.ms.terms.shared = Shared { n201_i: Some(700), t200_tenths: None, n200: Some(2) };
    pair.sgsn.establish();
    assert_eq!(pair.sgsn.sent[0][2..10], [0x0e, 0, 20, 0x11, 5, 0x1a, 0x03, 0x84]);
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    for end in [&pair.ms, &pair.sgsn] {
        assert_eq!((end.llc.n201_i(SAPI), end.llc.t200_n200(SAPI)), (700, (50, 5)));
    }
}

#[test]
fn who_answers_says_what_the_other_end_has_not_proposed() {
    let mut pair = good_pair();
    (pair.sgsn.terms.windows, pair.ms.terms.windows) = (None, None);
    pair.sgsn.terms.shared = Shared { n201_i: Some(600), t200_tenths: Some(80), n200: None };
    let narrow = Windows { iov_i: 0, m_sent: 0, m_received: 700, k_sent: 200, k_received: 9 };
    pair.sgsn.terms.windows = Some(narrow);
    pair.ms.establish();
    assert_eq!(pair.ms.sent[0].len(), 5, "a SABM without parameters");
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    // The present values are those of table 9: k 16, m 1520, which can only go down.
    for end in [&pair.ms, &pair.sgsn] {
        assert_eq!((end.llc.n201_i(SAPI), end.llc.t200_n200(SAPI)), (600, (80, 3)));
    }
    let agreed = Windows { iov_i: 0, m_sent: 1520, m_received: 700, k_sent: 16, k_received: 9 };
    assert_eq!(*pair.sgsn.llc.abm(SAPI).unwrap().windows(), agreed);
    let seen_there = Windows { iov_i: 0, m_sent: 700, m_received: 1520, k_sent: 9, k_received: 16 };
    assert_eq!(*pair.ms.llc.abm(SAPI).unwrap().windows(), seen_there);
}

#[test]
fn where_both_have_sent_sabm_both_come_to_the_same() {
    let mut pair = good_pair();
    (pair.sgsn.terms.windows, pair.ms.terms.windows) = (None, None);
    pair.sgsn.terms.shared = Shared { n201_i: Some(900), t200_tenths: Some(20), n200: Some(5) };
    pair.ms.terms.shared = Shared { n201_i: Some(700), t200_tenths: Some(30), n200: Some(2) };
    pair.sgsn.establish();
    pair.ms.establish();
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    for end in [&pair.ms, &pair.sgsn] {
        assert_eq!((end.llc.n201_i(SAPI), end.llc.t200_n200(SAPI)), (700, (30, 5)));
    }
}

#[test]
fn a_missing_frame_is_shown_and_sent_again_alone() {
    let mut pair = established();
    pair.sgsn.offered = 12;
    pair.sgsn.drain();
    let mut sent = std::mem::take(&mut pair.sgsn.sent);
    let (two, five) = (sent.remove(2), sent.remove(4));
    assert_eq!(sent.len(), 10);
    sent.iter().for_each(|pdu| pair.ms.receive(pdu));
    // One for what was asked with the first, one for each gap, and one for the half window.
    let answers = std::mem::take(&mut pair.ms.sent);
    let last = Header::parse(answers.last().unwrap()).unwrap().header;
    let Control::S { nr: 2, supervisory: Supervisory::Sack(bitmap), .. } = last.control else {
        panic!("{last:?}")
    };
    assert_eq!(bitmap[..], [0b1101_1100]);
    answers.iter().for_each(|pdu| pair.sgsn.receive(pdu));
    let again: Vec<Vec<u8>> = std::mem::take(&mut pair.sgsn.sent);
    let numbers: Vec<u16> = again
        .iter()
        .filter_map(|pdu| match Header::parse(pdu).unwrap().header.control {
            Control::I { ns, .. } => Some(ns),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, [2, 2, 5, 5], "two acknowledgements show them, one after the other");
    assert_eq!(
        again[0][4..],
        two[4..two.len() - 3]
            .iter()
            .copied()
            .chain(again[0][again[0].len() - 3..].iter().copied())
            .collect::<Vec<_>>()
    );
    drop(five);
    again.iter().for_each(|pdu| pair.ms.receive(pdu));
    std::mem::take(&mut pair.ms.sent).iter().for_each(|pdu| pair.sgsn.receive(pdu));
    assert_eq!((pair.ms.arrived, pair.sgsn.confirmed), (12, 12));
    // A short unit goes twice now, and a long one once.
    for (length, frames) in [(128, 2), (129, 1)] {
        pair.sgsn.length = if length > 128 { |_| 129 } else { |_| 128 };
        pair.sgsn.offered += 1;
        pair.sgsn.drain();
        assert_eq!(pair.sgsn.sent.len(), frames, "{length} octets");
        std::mem::take(&mut pair.sgsn.sent).iter().for_each(|pdu| pair.ms.receive(pdu));
    }
    assert_eq!(pair.ms.drops(Drop::LlcDuplicate), 3, "second copies");
}

#[test]
fn a_dead_link_is_reported_in_time_and_comes_back() {
    let mut pair = established();
    pair.sgsn.insists = true;
    (pair.up.is_cut, pair.down.is_cut) = (true, true);
    pair.sgsn.offered = 5;
    pair.sgsn.drain();
    let from = pair.sgsn.around.now;
    while pair.sgsn.statuses == 0 {
        assert!(pair.step());
    }
    assert_eq!(pair.now.since(from), Duration::from_secs(15), "N200 times T200");
    assert_eq!(pair.sgsn.drops(Drop::LlcLinkUnanswered), 1);
    while pair.sgsn.releases == 0 {
        assert!(pair.step());
    }
    assert_eq!(pair.now.since(from), Duration::from_secs(15 + 20), "SABM and three repetitions");
    (pair.up.is_cut, pair.down.is_cut) = (false, false);
    while !pair.is_done() {
        assert!(pair.step());
    }
    assert_eq!((pair.ms.arrived, pair.ms.repeated, pair.sgsn.confirmed), (5, 0, 5));
}

#[test]
fn t201_stays_as_long_as_it_has_become_until_a_round_trip_is_measured() {
    for retransmission in [Retransmission::Selective, Retransmission::GoBackN] {
        let mut pair = good_pair();
        let options = Options { retransmission, ..Options::default() };
        (pair.ms.terms, pair.sgsn.terms) = (terms(options, windows(16, 0)), terms(options, windows(16, 0)));
        pair.sgsn.establish();
        pair.sgsn.offered = 1;
        while pair.sgsn.confirmed < 1 || pair.sgsn.around.timers.next().is_some() {
            assert!(pair.step());
        }
        let (ms, sgsn) = pair.ends();
        let t201 = |end: &End| end.around.timers.next().unwrap().since(end.around.now);
        // Links are woken once in a millisecond.
        let is_about = |t201: Duration, wanted: Duration| t201.0.abs_diff(wanted.0) <= 4_400_000;
        sgsn.offered = 9;
        sgsn.drain();
        // The first frame took 100 ms, and its answer may have waited for an I frame.
        let at_first = t201(sgsn);
        let of_100_ms = Duration::from_millis(298)..=Duration::from_millis(306);
        assert!(of_100_ms.contains(&at_first), "{at_first}");
        let first = std::mem::take(&mut sgsn.sent);
        for by in [2, 4] {
            sgsn.around.now = sgsn.around.timers.next().unwrap();
            sgsn.wake();
            assert!(is_about(t201(sgsn), at_first * by), "{} {at_first}", t201(sgsn));
            let asked = headers(sgsn);
            assert!(matches!(
                asked[..],
                [Header { control: Control::I { ack_request: true, ns: 1, .. }, .. }]
            ));
        }
        // All of them were late: the first, that was sent again, says nothing of how long they take.
        ms.receive(&first[0]);
        ms.answer();
        sgsn.receive(&ms.sent.remove(0));
        assert_eq!((sgsn.confirmed, is_about(t201(sgsn), at_first * 4)), (2, true), "{retransmission:?}");
        headers(sgsn);
        first[1..].iter().for_each(|pdu| ms.receive(pdu));
        sgsn.offered = 10;
        sgsn.drain();
        sgsn.around.now += Duration::from_millis(100);
        std::mem::take(&mut sgsn.sent).iter().for_each(|pdu| ms.receive(pdu));
        ms.answer();
        ms.sent.drain(..).for_each(|pdu| sgsn.receive(&pdu));
        assert_eq!(sgsn.confirmed, 10);
        sgsn.offered = 11;
        sgsn.drain();
        assert!(t201(sgsn) < at_first * 2, "{:?}", t201(sgsn));
    }
}

#[test]
fn release_from_both_sides() {
    let mut pair = established();
    let sgsn = &mut pair.sgsn;
    sgsn.llc.release_request(&mut sgsn.around.context(), SAPI, false, &mut sgsn.out);
    sgsn.drain();
    assert_eq!(sgsn.sent[0][..2], [0x43, 0xf4], "DISC, P set");
    while pair.sgsn.llc.abm(SAPI).is_some() {
        assert!(pair.step());
    }
    assert!(pair.ms.llc.abm(SAPI).is_none());
    assert_eq!(pair.ms.releases, 1);
    // A second DISC meets ADM.
    pair.ms.receive(&u(true, true, UFunction::Disc));
    assert_eq!(pair.ms.sent.remove(0)[..2], [0x43, 0xf1], "DM, F set");
}

#[test]
fn both_establish_at_once_and_one_establishes_while_the_other_releases() {
    let mut pair = good_pair();
    pair.ms.establish();
    pair.sgsn.establish();
    while pair.step() {}
    assert!(pair.ms.is_established() && pair.sgsn.is_established());
    let (ms, sgsn) = pair.ends();
    sgsn.llc.release_request(&mut sgsn.around.context(), SAPI, false, &mut sgsn.out);
    sgsn.drain();
    ms.establish();
    while pair.step() {}
    assert!(pair.ms.llc.abm(SAPI).is_none() && pair.sgsn.llc.abm(SAPI).is_none());
}

#[test]
fn refused_by_layer_3_and_where_it_is_not_offered() {
    let mut pair = good_pair();
    pair.ms.llc.offer_abm(false);
    pair.sgsn.establish();
    while pair.step() {}
    assert_eq!((pair.sgsn.releases, pair.ms.drops(Drop::LlcAbmRefused)), (1, 1));
    let mut ms = LlcContext::new(LlcRole::Ms);
    ms.assign(Some(gannet_wire::id::Tlli(0xc000_0001)), None, Ciphering::NONE);
    ms.offer_abm(true);
    let mut around = Surroundings::new(1, 4, Quiet::default());
    let mut out = Batch::default();
    let sabm = around.frames.copy_of(&u(true, true, UFunction::Sabm)).unwrap();
    ms.receive(&mut around.context(), None, sabm, &mut out);
    assert!(matches!(out.pop(), Some(LlcOutput::EstablishIndication(_))));
    ms.establish_refuse(&mut around.context(), SAPI, &mut out);
    let Some(LlcOutput::Transmit { frame, .. }) = out.pop() else { panic!("no DM") };
    assert_eq!(frame[..2], [0x43, 0xf1]);
    assert!(ms.abm(SAPI).is_none());
}

#[test]
fn what_cannot_be_is_rejected_and_the_link_begins_anew() {
    let mut pair = established();
    for (pdu, expected) in [
        (i(0, 7, false, b"unit"), FrmrInformation { w1: true, ..FrmrInformation::default() }),
        (i(0, 0, false, &[0; 1504]), FrmrInformation { w4: true, ..FrmrInformation::default() }),
    ] {
        pair.ms.receive(&pdu);
        let frmr = pair.ms.sent.remove(0);
        let layout = Header::parse(&frmr).unwrap();
        let read = FrmrInformation::parse(&frmr[layout.info()]).unwrap();
        assert_eq!(read, FrmrInformation { rejected: read.rejected, ..expected });
        assert_eq!(read.rejected[..3], pdu[1..4]);
        pair.sgsn.receive(&frmr);
        assert_eq!(pair.sgsn.sent[0][..2], [0x43, 0xf7], "SABM");
        while !(pair.ms.is_established() && pair.sgsn.is_established()) {
            assert!(pair.step());
        }
    }
    assert_eq!((pair.ms.drops(Drop::LlcFrameRejected), pair.sgsn.statuses), (2, 2));
    pair.ms.receive(&u(true, false, UFunction::Other(5)));
    assert_eq!(pair.ms.sent.remove(0)[1], 0xe8, "FRMR");
    // An unsolicited DM: the peer is in ADM.
    pair.sgsn.receive(&u(true, false, UFunction::Dm));
    assert_eq!(pair.sgsn.sent.remove(0)[..2], [0x43, 0xf7]);
}

#[test]
fn a_busy_end_is_waited_for_and_asked() {
    let mut pair = established();
    pair.may_stand = true;
    let ms = &mut pair.ms;
    ms.llc.set_busy(&mut ms.around.context(), SAPI, true, &mut ms.out);
    ms.drain();
    pair.sgsn.offered = 3;
    pair.sgsn.drain();
    let until = pair.now + Duration::from_secs(300);
    while pair.now < until {
        assert!(pair.step());
    }
    assert!(pair.ms.drops(Drop::LlcBusy) > 0);
    assert_eq!((pair.sgsn.confirmed, pair.sgsn.statuses), (0, 0), "busy is not dead");
    let ms = &mut pair.ms;
    ms.llc.set_busy(&mut ms.around.context(), SAPI, false, &mut ms.out);
    ms.drain();
    while !pair.is_done() {
        assert!(pair.step());
    }
}

#[test]
fn units_that_are_not_taken_come_back() {
    let mut pair = good_pair();
    pair.sgsn.terms = terms(Options { queue_max: 1, ..Options::default() }, windows(1, 0));
    let end = &mut pair.sgsn;
    let give = |end: &mut End, octets: usize| {
        let frame = end.around.frames.copy_of(&unit(0, octets)).unwrap();
        let result = end.llc.data_request(&mut end.around.context(), SAPI, 0, frame, &mut end.out);
        result.map_err(|refused| (refused.drop, refused.frame.len()))
    };
    assert_eq!(give(end, 9), Err((Drop::LlcNotEstablished, 9)));
    end.establish();
    assert_eq!(give(end, 9), Err((Drop::LlcNotEstablished, 9)));
    while !pair.sgsn.is_established() {
        assert!(pair.step());
    }
    let end = &mut pair.sgsn;
    assert_eq!(give(end, 1504), Err((Drop::LlcTooLong, 1504)));
    assert_eq!((give(end, 1503), give(end, 9)), (Ok(()), Ok(())));
    assert_eq!(give(end, 9), Err((Drop::LlcQueueFull, 9)));
}

#[test]
fn the_buffer_for_what_comes_out_of_order_is_m() {
    let mut pair = good_pair();
    pair.ms.terms.windows = Some(windows(16, 9));
    pair.sgsn.establish();
    while !pair.sgsn.is_established() {
        assert!(pair.step());
    }
    headers(&mut pair.ms);
    pair.ms.receive(&i(1, 0, false, &[0; 100]));
    pair.ms.receive(&i(2, 0, false, &[0; 100]));
    assert_eq!(pair.ms.drops(Drop::LlcBufferFull), 1);
    pair.ms.receive(&i(1, 0, true, &[0; 100]));
    assert_eq!(pair.ms.drops(Drop::LlcDuplicate), 1);
}

#[test]
fn a_bitmap_never_makes_a_frame_too_long() {
    let options = Options { frame_max: 1503 + 9, ..Options::default() };
    let mut pair = good_pair();
    (pair.ms.terms, pair.sgsn.terms) = (terms(options, windows(255, 0)), terms(options, windows(255, 0)));
    pair.sgsn.establish();
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    // Every second frame of sixty is missing: the bitmap needs eight octets, and a full unit leaves room for one.
    for ns in (1..60).step_by(2) {
        pair.ms.receive(&i(ns, 0, ns == 59, &[0; 20]));
    }
    headers(&mut pair.ms);
    pair.ms.length = |_| 1503;
    pair.ms.offered = 1;
    pair.ms.drain();
    let full = headers(&mut pair.ms);
    let Control::I { supervisory: Supervisory::Sack(bitmap), .. } = full[0].control else {
        panic!("{full:?}")
    };
    assert_eq!(bitmap[..], [0b1010_1010]);
}

/// N201-I is what the bearer carries: an I frame with a bitmap is no longer than a full one without.
#[test]
fn where_n201_i_is_that_of_the_bearer_no_frame_is_longer() {
    let shared = Shared { n201_i: Some(1000), ..Shared::default() };
    let mut pair = good_pair();
    let fitted = Terms { shared, ..terms(Options::default(), windows(255, 0)) };
    (pair.ms.terms, pair.sgsn.terms) = (fitted.clone(), fitted);
    pair.sgsn.establish();
    while !(pair.ms.is_established() && pair.sgsn.is_established()) {
        assert!(pair.step());
    }
    assert_eq!(pair.ms.llc.n201_i(SAPI), 1000);
    for ns in (1..60).step_by(2) {
        pair.ms.receive(&i(ns, 0, ns == 59, &[0; 20]));
    }
    headers(&mut pair.ms);
    for (length, has_bitmap) in [(1000, false), (995, true)] {
        pair.ms.length = if length == 1000 { |_| 1000 } else { |_| 995 };
        pair.ms.offered += 1;
        pair.ms.drain();
        assert!(pair.ms.sent.iter().all(|ll_pdu| ll_pdu.len() <= 1000 + 7));
        let sent = headers(&mut pair.ms);
        let is_i = |header: &&Header| matches!(header.control, Control::I { .. });
        let control = sent.iter().find(is_i).unwrap().control;
        let is_sack = matches!(control, Control::I { supervisory: Supervisory::Sack(_), .. });
        assert_eq!(is_sack, has_bitmap, "{control:?}");
    }
}

#[test]
fn a_link_travels_with_what_is_not_acknowledged() {
    let mut pair = established();
    (pair.ms.offered, pair.sgsn.offered) = (30, 60);
    pair.down.link.profile.loss = 0.3;
    for _ in 0..12 {
        assert!(pair.step());
        let octets = postcard::to_allocvec(&pair.sgsn.llc).unwrap();
        let arrived: LlcContext = postcard::from_bytes(&octets).unwrap();
        assert_eq!(postcard::to_allocvec(&arrived).unwrap(), octets);
        // The other end has its own wake-ups.
        pair.sgsn.llc = arrived;
        pair.sgsn.drain();
    }
    assert!(pair.sgsn.llc.abm(SAPI).unwrap().unacknowledged() > 0);
    while !pair.is_done() {
        assert!(pair.step());
    }
    assert_eq!((pair.sgsn.establishments, pair.ms.repeated), (1, 0));
}

#[test]
fn after_a_restart_the_link_begins_anew_and_nothing_is_lost() {
    let mut pair = established();
    pair.sgsn.offered = 40;
    for _ in 0..3 {
        assert!(pair.step());
    }
    let now = pair.now;
    pair.sgsn.llc.restore(now);
    pair.sgsn.drain();
    while !pair.is_done() {
        assert!(pair.step());
    }
    assert_eq!(pair.sgsn.establishments, 2);
}

#[test]
fn without_a_free_frame_nothing_is_lost_for_good() {
    let mut pair = established();
    pair.sgsn.offered = 30;
    pair.sgsn.drain();
    let hoard: Vec<_> = std::iter::from_fn(|| pair.sgsn.around.frames.alloc()).collect();
    let until = pair.now + Duration::from_secs(3);
    pair.down.is_cut = true;
    while pair.now < until && pair.step() {}
    assert!(pair.sgsn.drops(Drop::NoFrame) > 0);
    drop(hoard);
    pair.down.is_cut = false;
    while !pair.is_done() {
        assert!(pair.step());
    }
}

#[test]
fn an_idle_link_is_small_and_one_in_adm_is_nothing() {
    let mut pair = established();
    (pair.ms.offered, pair.sgsn.offered) = (200, 200);
    pair.down.link.profile.loss = 0.1;
    while pair.step() {}
    assert!(pair.is_done());
    for end in [&pair.ms, &pair.sgsn] {
        let octets = size_of::<Abm>() + end.llc.abm(SAPI).unwrap().heap_octets();
        assert!(octets < 512, "{octets}");
        assert_eq!(end.around.frames.free(), end.around.frames.capacity());
    }
    assert!(Windows::defaults(gannet_wire::id::Sapi::SMS).is_none());
}

#[test]
fn memory_of_confirmed_units_is_kept_for_a_while_where_the_peer_is_within_reach() {
    let heap = |pair: &Pair| pair.sgsn.llc.abm(SAPI).unwrap().heap_octets();
    for is_out_of_reach in [false, true] {
        let mut pair = established();
        let idle = heap(&pair);
        pair.sgsn.offered = 10;
        pair.sgsn.drain();
        pair.pass(Duration::from_millis(1000));
        assert!(pair.is_done());
        let kept = heap(&pair);
        assert!(kept > idle, "{kept}");
        if is_out_of_reach {
            // A quarter of T200 after the last one nobody would wake it.
            pair.sgsn.llc.out_of_reach();
        } else {
            pair.pass(Duration::from_millis(2000));
        }
        assert_eq!(heap(&pair), idle);
        pair.down.is_cut = true;
        pair.sgsn.offered = 11;
        pair.sgsn.drain();
        pair.pass(Duration::from_millis(100));
        pair.sgsn.llc.out_of_reach();
        assert!(heap(&pair) > idle, "what is not confirmed stays");
        assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().unacknowledged(), 1);
    }
}

#[test]
fn causes_tell_what_happened() {
    let mut pair = good_pair();
    pair.sgsn.establish();
    let end = &mut pair.sgsn;
    let mut seen = Vec::new();
    for seconds in [5, 10, 15, 20] {
        end.around.now = Instant::ZERO + Duration::from_secs(seconds);
        end.llc.wake(&mut end.around.context(), None, &mut end.out);
        while let Some(output) = end.out.pop() {
            seen.push(output);
        }
    }
    // Three repetitions of SABM, then the end.
    let repeated = seen.iter().filter(|output| matches!(output, LlcOutput::Transmit { .. })).count();
    assert_eq!(repeated, 3);
    assert!(matches!(
        seen[3..],
        [
            LlcOutput::Status { cause: LlcStatus::Unanswered, .. },
            LlcOutput::ReleaseIndication { cause: ReleaseCause::Unanswered, .. }
        ]
    ));
}

#[test]
fn a_repeated_sabm_has_a_new_key_stream() {
    let ciphering = Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap();
    let terms = terms(Options::default(), windows(16, 0));
    let mut ms = End::new(LlcRole::Ms, ciphering, terms.clone());
    let mut sgsn = End::new(LlcRole::Sgsn, ciphering, terms);
    ms.establish();
    let sabm = ms.sent.remove(0);
    sgsn.receive(&sabm);
    ms.receive(&sgsn.sent.remove(0));
    let first = ms.llc.abm(SAPI).unwrap().windows().iov_i;
    ms.offered = 1;
    ms.drain();
    let under_first = ms.sent.remove(0);
    // The same SABM once more: nobody can say whether it is a copy, or the MS has forgotten everything.
    sgsn.receive(&sabm);
    assert_eq!(sgsn.establishments, 1, "layer 3 hears of it once");
    ms.receive(&sgsn.sent.remove(0));
    let second = ms.llc.abm(SAPI).unwrap().windows().iov_i;
    assert_ne!(first, second);
    assert_eq!(sgsn.llc.abm(SAPI).unwrap().windows().iov_i, second);
    sgsn.receive(&under_first);
    assert_eq!((sgsn.arrived, sgsn.drops(Drop::LlcBadFcs)), (0, 1));
    ms.around.now = ms.around.timers.next().unwrap();
    ms.wake();
    sgsn.receive(&ms.sent.remove(0));
    assert_eq!(sgsn.arrived, 1);
}

#[test]
fn each_sabm_of_the_sgsn_has_an_offset_of_its_own() {
    let ciphering = Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap();
    let mut sgsn = End::new(LlcRole::Sgsn, ciphering, terms(Options::default(), windows(16, 0)));
    sgsn.establish();
    sgsn.around.now = sgsn.around.timers.next().unwrap();
    sgsn.wake();
    assert_eq!(sgsn.sent.len(), 2);
    assert_ne!(sgsn.sent[0], sgsn.sent[1]);
}

//! N-PDUs of acknowledged mode over links that break, are reset, and move.

use crate::harness::{End, Ends as _, Pair, SAPI, SURE, pair as pair_of, path};
use crate::tcp::segment;
use gannet_machine::drops::Drop;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::time::Duration;
use gannet_proto::llc::{Confirmed, LlcContext, LlcRole};
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
use gannet_proto::sndcp::{Sndcp, SndcpConfig, SndcpOutput, Whole};
use gannet_wire::id::Nsapi;

fn n_pdu(number: u16) -> Vec<u8> {
    let len = 20 + usize::from(number) * 397 % 1400;
    let payload: Vec<u8> = (0..=250_u8).cycle().skip(usize::from(number) % 251).take(len).collect();
    segment(number, u32::from(number) * 1400, 1, &payload)
}

fn numbers(delivered: &[(Nsapi, Vec<u8>)]) -> Vec<u16> {
    let number = |(nsapi, packet): &(Nsapi, Vec<u8>)| {
        let number = u16::from_be_bytes([packet[4], packet[5]]);
        assert_eq!((*nsapi, packet), (SURE, &n_pdu(number)), "as it was sent");
        number
    };
    delivered.iter().map(number).collect()
}

fn compressing() -> SndcpConfig {
    let compression =
        CompressionConfig { rfc1144: Offer::Active(15), v42bis: Offer::Active(V42bisLimits::default()) };
    SndcpConfig { compression, ..SndcpConfig::default() }
}

fn pair(seed: u64, compresses: bool) -> Pair {
    let config = if compresses { compressing() } else { SndcpConfig::default() };
    let mut pair = pair_of(seed, [config; 2]);
    pair.activate(true, false);
    assert!(pair.ms.sndcp.is_established(SAPI) && pair.sgsn.sndcp.is_established(SAPI));
    pair
}

/// Everything has arrived once and in its order, at both ends.
fn assert_all(pair: &Pair, count: u16) {
    for end in [&pair.ms, &pair.sgsn] {
        assert_eq!(numbers(&end.delivered), (0..count).collect::<Vec<_>>());
        let confirmed: Vec<u8> = (0..count).map(|number| number.to_be_bytes()[1]).collect();
        assert_eq!(end.confirmed, confirmed);
        assert_eq!((end.drops(Drop::SndcpGap), end.drops(Drop::SndcpUnexpected)), (0, 0));
    }
    pair.assert_at_rest();
}

#[test]
fn a_bad_path_loses_and_doubles_nothing() {
    let mut damaged = 0;
    for seed in 0..12 {
        let mut pair = pair(seed, seed % 2 == 1);
        let most = 0.3 * f64::from(u32::try_from(seed % 6).unwrap()) / 5.0;
        pair.set_profile(LinkProfile { loss: most, duplication: most, damage: most / 2.0, ..path() });
        for number in 0..150 {
            pair.ms.waiting.push_back(n_pdu(number));
            pair.sgsn.waiting.push_back(n_pdu(number));
        }
        pair.ms.send_sure();
        pair.sgsn.send_sure();
        pair.run();
        assert_all(&pair, 150);
        let repeated = |end: &End| end.llc.abm(SAPI).unwrap().retransmissions();
        assert_eq!([&pair.ms, &pair.sgsn].map(repeated) == [0, 0], most == 0.0, "seed {seed}");
        damaged += pair.ms.drops(Drop::LlcBadFcs) + pair.sgsn.drops(Drop::LlcBadFcs);
    }
    assert!(damaged > 0, "the path was not bad");
}

#[test]
fn a_link_that_was_dead_goes_on() {
    for compresses in [false, true] {
        let mut pair = pair(3, compresses);
        pair.sgsn.insists = false;
        pair.ms.insists = false;
        for number in 0..40 {
            pair.sgsn.waiting.push_back(n_pdu(number));
            pair.ms.waiting.push_back(n_pdu(number));
        }
        pair.sgsn.send_sure();
        pair.ms.send_sure();
        (0..2).for_each(|_| assert!(pair.step()));
        pair.set_cut(true);
        pair.run();
        assert!(pair.sgsn.statuses > 0 && pair.ms.statuses > 0, "both ends have been told");
        assert!(!pair.ms.sndcp.is_established(SAPI) && pair.sgsn.sndcp.unconfirmed() > 0);
        pair.set_cut(false);
        // The next N-PDU has the link established again.
        pair.ms.waiting.push_back(n_pdu(40));
        pair.ms.send_sure();
        pair.sgsn.waiting.push_back(n_pdu(40));
        pair.sgsn.send_sure();
        pair.run();
        assert_all(&pair, 41);
    }
}

#[test]
fn n_pdu_numbers_across_a_routing_area_update() {
    let mut pair = pair(5, true);
    for number in 0..60 {
        pair.sgsn.waiting.push_back(n_pdu(number));
        pair.ms.waiting.push_back(n_pdu(number));
    }
    pair.sgsn.send_sure();
    pair.ms.send_sure();
    (0..3).for_each(|_| assert!(pair.step()));
    // LLGMM-RESET: what is on its way belongs to the former link.
    pair.sgsn.llc.reset_request(&mut pair.sgsn.around.context(), &mut gannet_machine::Batch::default());
    pair.ms.llc.reset_request(&mut pair.ms.around.context(), &mut gannet_machine::Batch::default());
    pair.sgsn.sndcp.reset_indication();
    pair.ms.sndcp.reset_indication();
    pair.forget_paths();
    pair.run();
    let before = (pair.ms.delivered.len(), pair.sgsn.delivered.len());
    assert!(before.0 > 0 && before.0 < 60 && before.1 < 60, "nothing is sent before the numbers are known");
    let numbers: Vec<(Nsapi, u8)> = pair.ms.sndcp.receive_numbers().collect();
    assert_eq!(numbers, [(SURE, u8::try_from(before.0).unwrap())]);
    for number in pair.sgsn.sndcp.receive_numbers().collect::<Vec<_>>() {
        pair.ms.tell(|sndcp, cx, setting, out| sndcp.sequence_indication(cx, setting, number, out));
    }
    for number in numbers {
        pair.sgsn.tell(|sndcp, cx, setting, out| sndcp.sequence_indication(cx, setting, number, out));
    }
    pair.ms.drain();
    pair.sgsn.drain();
    pair.run();
    assert_all(&pair, 60);
    assert_eq!((pair.ms.drops(Drop::SndcpRepeated), pair.sgsn.drops(Drop::SndcpRepeated)), (0, 0));
    assert!(pair.ms.sndcp.is_established(SAPI));
}

#[test]
fn a_mobile_moves_with_what_is_not_confirmed() {
    for compresses in [true, false] {
        let mut pair = pair(6, compresses);
        for number in 0..60 {
            pair.sgsn.waiting.push_back(n_pdu(number));
            pair.ms.waiting.push_back(n_pdu(number));
        }
        pair.sgsn.send_sure();
        pair.ms.send_sure();
        let mut moved = 0;
        while pair.step() {
            let end = &mut pair.sgsn;
            let octets = postcard::to_allocvec(&(&end.sndcp, &end.llc)).unwrap();
            let (sndcp, llc): (Sndcp, LlcContext) = postcard::from_bytes(&octets).unwrap();
            assert!(postcard::to_allocvec(&(&sndcp, &llc)).unwrap() == octets, "nothing is lost on the way");
            (end.sndcp, end.llc) = (sndcp, llc);
            end.drain();
            moved += usize::from(end.sndcp.unconfirmed() > 0);
        }
        assert!(moved > 5, "{moved}");
        assert_all(&pair, 60);
    }
}

#[test]
fn what_is_not_confirmed_stands_in_one_place() {
    let octets_of = |pair: &Pair| {
        let octets = |length: Result<Vec<u8>, _>| length.unwrap().len();
        let end = &pair.sgsn;
        [octets(postcard::to_allocvec(&end.sndcp)), octets(postcard::to_allocvec(&end.llc))]
    };
    let mut pair = pair(13, false);
    let [sndcp, llc] = octets_of(&pair);
    pair.set_cut(true);
    for number in 0..16 {
        pair.sgsn.waiting.push_back(n_pdu(number));
    }
    pair.sgsn.send_sure();
    let sent: usize = (0..16).map(|number| n_pdu(number).len()).sum();
    assert_eq!((pair.sgsn.sndcp.unconfirmed(), pair.sgsn.sndcp.unconfirmed_octets()), (16, sent));
    let [more_sndcp, more_llc] = [octets_of(&pair)[0] - sndcp, octets_of(&pair)[1] - llc];
    assert!(more_sndcp < 16 && more_llc > sent, "{more_sndcp} and {more_llc} of {sent}");
    // The link is given up: SNDCP has them again, and LLC nothing.
    pair.sgsn.insists = false;
    pair.run();
    let [more_sndcp, less_llc] = [octets_of(&pair)[0] - sndcp, octets_of(&pair)[1]];
    assert!(more_sndcp > sent && less_llc < llc, "{more_sndcp} and {less_llc} of {sent}");
    assert_eq!((pair.sgsn.sndcp.unconfirmed(), pair.sgsn.sndcp.unconfirmed_octets()), (16, sent));
}

#[test]
fn what_llc_refuses_waits_behind_what_it_has() {
    let mut ms = End::new(LlcRole::Ms, SndcpConfig::default());
    ms.tell(|sndcp, cx, setting, out| {
        sndcp.activate(cx, setting, (SURE, SAPI), true, out);
        sndcp.establish_confirm(cx, setting, (SAPI, None), out);
    });
    while ms.out.sndcp.pop().is_some() {}
    let request = |ms: &mut End, number: u8| {
        let frame = ms.around.frames.copy_of(&[number; 40]).unwrap();
        let taken =
            ms.tell(|sndcp, cx, setting, out| sndcp.data_request(cx, setting, (SURE, frame), out)).unwrap();
        assert_eq!(taken.number, number);
        taken.now.map(Whole::sn_pdu)
    };
    let mut given: Vec<_> = (0..3).map(|number| request(&mut ms, number).unwrap()).collect();
    let refused = given.split_off(1);
    ms.tell(|sndcp, cx, setting, _| sndcp.data_refused(cx, setting, (SAPI, &refused)));
    assert!(!ms.sndcp.is_established(SAPI), "LLC establishes it anew");
    assert!(request(&mut ms, 3).is_none());
    // The first was acknowledged before that.
    let confirmed = Confirmed { reference: given[0].0, count: 1, octets: 43 };
    ms.tell(|sndcp, cx, setting, out| sndcp.data_confirm(cx, setting, confirmed, out));
    let [SndcpOutput::Confirmed { nsapi: SURE, number: 0, count: 1 }] = outputs(&mut ms)[..] else {
        panic!()
    };
    ms.tell(|sndcp, cx, setting, out| sndcp.establish_confirm(cx, setting, (SAPI, None), out));
    let again: Vec<Vec<u8>> = outputs(&mut ms)
        .into_iter()
        .map(|output| match output {
            SndcpOutput::Data { frame, .. } => frame.to_vec(),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected: Vec<Vec<u8>> =
        (1..4).map(|number| [&[0x45, 0, number][..], &[number; 40]].concat()).collect();
    assert_eq!((again, ms.sndcp.unconfirmed()), (expected, 3));
}

fn outputs(end: &mut End) -> Vec<SndcpOutput> {
    core::iter::from_fn(|| end.out.sndcp.pop()).collect()
}

#[test]
fn an_n_pdu_that_cannot_be_restored_is_not_acknowledged_and_comes_again() {
    let mut pair = pair(11, true);
    // The mobile's entities are lost, and the SGSN does not know.
    for number in 0..32 {
        let block = [1, 4, number, 2, 0, 0, 2, 4, number, 2, 0, 0];
        pair.ms.tell(|sndcp, cx, setting, _| sndcp.xid_indication(cx, setting, SAPI, &block));
    }
    assert!(pair.ms.sndcp.compressions(SAPI).unwrap().is_empty());
    pair.sgsn.waiting.push_back(n_pdu(0));
    pair.sgsn.send_sure();
    pair.run();
    assert_eq!(pair.ms.drops(Drop::SndcpCompressed), 1);
    assert_eq!(numbers(&pair.ms.delivered), [0]);
    assert_eq!(pair.sgsn.confirmed, [0]);
}

#[test]
fn a_new_context_gets_nothing_of_the_former_one_of_its_nsapi() {
    const OTHER: Nsapi = Nsapi(7);
    let mut pair = pair(10, false);
    pair.sgsn.activate(OTHER, true);
    pair.ms.activate(OTHER, true);
    pair.run();
    pair.set_cut(true);
    pair.sgsn.waiting.extend((100..108).map(n_pdu));
    pair.sgsn.send_sure();
    assert!(pair.step());
    pair.forget_paths();
    for end in [&mut pair.sgsn, &mut pair.ms] {
        end.tell(|sndcp, cx, setting, out| sndcp.deactivate(cx, setting, SURE, out));
        end.drain();
        end.activate(SURE, true);
    }
    assert_eq!(pair.sgsn.drops(Drop::SndcpUnconfirmed), 8);
    pair.set_cut(false);
    pair.sgsn.waiting.extend((0..5).map(n_pdu));
    pair.sgsn.send_sure();
    pair.run();
    assert_eq!(numbers(&pair.ms.delivered), [0, 1, 2, 3, 4]);
    assert_eq!((&pair.sgsn.confirmed[..], pair.ms.drops(Drop::SndcpRepeated)), (&[0, 1, 2, 3, 4][..], 0));
    pair.assert_at_rest();
}

#[test]
fn the_last_context_releases_the_link() {
    let mut pair = pair(9, false);
    pair.set_cut(true);
    pair.sgsn.insists = false;
    pair.sgsn.waiting.push_back(n_pdu(0));
    pair.sgsn.send_sure();
    pair.sgsn.tell(|sndcp, cx, setting, out| sndcp.deactivate(cx, setting, SURE, out));
    pair.sgsn.drain();
    assert_eq!((pair.sgsn.drops(Drop::SndcpUnconfirmed), pair.sgsn.sndcp.unconfirmed()), (1, 0));
    pair.set_cut(false);
    pair.ms.insists = false;
    pair.run();
    assert!(!pair.ms.sndcp.is_established(SAPI));
    assert!(pair.sgsn.llc.abm(SAPI).is_none() && pair.ms.llc.abm(SAPI).is_none());
    // Nobody here is in acknowledged mode: the peer's link is not wanted.
    pair.ms.waiting.push_back(n_pdu(1));
    pair.ms.send_sure();
    let until = pair.now + Duration::from_secs(30);
    while pair.now < until && pair.step() {}
    assert_eq!(pair.sgsn.drops(Drop::SndcpUnexpected), 1);
    assert!(!pair.ms.sndcp.is_established(SAPI));
}

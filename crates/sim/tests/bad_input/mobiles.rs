//! LL-PDUs of those who are not whom their TLLI says, or whose messages cannot be read.

use crate::bench::{Bench, Sent, imsi};
use crate::octets::{self, l3_in, sealed, ui};
use gannet_machine::Peer;
use gannet_machine::drops::Drop;
use gannet_machine::rng::Rng;
use gannet_node::sgsn::GB;
use gannet_sim::gprs::{Node, SGSN_GB, bss_address};
use gannet_wire::id::{PTmsi, Sapi, Tlli};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::{AttachRequest, GmmMessage};
use gannet_wire::l3::ie::{GmmCause, MobileIdentity, MsRadioAccessCapability, PTmsiSignature, SmCause};
use gannet_wire::l3::sm::SmMessage;

fn attach_request(identity: MobileIdentity, signature: Option<PTmsiSignature>) -> L3Message {
    let (area, capability) = (crate::bench::cell_id(0).rai, MsRadioAccessCapability(vec![0; 5]));
    let request =
        AttachRequest { old_ptmsi_signature: signature, ..AttachRequest::new(identity, area, capability) };
    L3Message::Gmm(request.into())
}

/// A first attach, with so many octets of radio access capability.
pub fn attach_request_with(identity: MobileIdentity, capability: usize) -> L3Message {
    match attach_request(identity, None) {
        L3Message::Gmm(GmmMessage::AttachRequest(request)) => {
            let ms_radio_access_capability = MsRadioAccessCapability(vec![0; capability]);
            L3Message::Gmm(AttachRequest { ms_radio_access_capability, ..request }.into())
        }
        other => other,
    }
}

/// The layer 3 messages that the SGSN has sent with this TLLI.
fn sent_to(sent: &[Sent], tlli: Tlli) -> Vec<L3Message> {
    let sgsn = sent.iter().filter(|sent| sent.node == Node::Sgsn);
    sgsn.filter_map(|sent| l3_in(&sent.octets)).filter(|(to, _)| *to == tlli).map(|(_, m)| m).collect()
}

#[test]
fn unknown_tllis_are_answered_as_fast_as_the_limiter_permits() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    for n in 0..400 {
        // A GMM message of an unknown type, and user data.
        let tlli = Tlli(0xdead_0000 + n);
        bench.ll_pdu(0, tlli, &ui(Sapi::GMM, 0, &[0x08, 0x7f]));
        bench.ll_pdu(0, tlli, &ui(Sapi::DATA3, 0, &[0x65, 0, 0, 1, 2]));
    }
    bench.run(1);
    bench.assert_all_arrived(&[]);
    // An answer is two LL-PDUs: LLC begins anew, and the mobile is told to attach again. Those to signalling have a limit for
    // the node, and those to user data one for the cell besides.
    let expected = [
        (Node::Bss, Drop::BssUnknownMobile, 420),
        (Node::Sgsn, Drop::BssgpForeignMobile, 840),
        (Node::Sgsn, Drop::LlcUnassigned, 400),
        (Node::Sgsn, Drop::SgsnUnknownTlli, 800),
        (Node::Sgsn, Drop::SgsnStrangerUnanswered, 590),
    ];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

#[test]
fn garbage_under_a_stolen_tlli_does_not_move_its_owner() {
    let mut bench = Bench::new();
    let (before, mut dice) = (bench.snapshot(), Rng::seeded(3));
    let victim = bench.tlli(0);
    for _ in 0..500 {
        let length = usize::try_from(dice.below(600)).unwrap();
        let ll_pdu: Vec<u8> = (0..length).map(|_| dice.u32().to_be_bytes()[0]).collect();
        bench.ll_pdu(1, victim, &ll_pdu);
    }
    bench.assert_all_arrived(&[]);
    let moved = bench.moved(&before);
    let possible =
        [Drop::LlcMalformed, Drop::LlcBadFcs, Drop::LlcUnknownSapi, Drop::LlcTooLong, Drop::LlcCiphered];
    assert!(moved.iter().all(|(node, drop, _)| *node == Node::Sgsn && possible.contains(drop)), "{moved:?}");
    assert_eq!(moved.iter().map(|(_, _, count)| count).sum::<u64>(), 500);
    assert_eq!(bench.world.sgsn.machine.mobile_of(imsi(0)).unwrap().1.gmm.cell().bvci, crate::bench::bvci(0));
    bench.end();
}

#[test]
fn data_under_a_stolen_tlli_ends_at_the_source_address() {
    let mut bench = Bench::new();
    bench.silent.insert(0);
    let before = bench.snapshot();
    let victim = bench.tlli(0);
    let foreign = octets::n_pdu((1, true, 1), bench.address(1), 100);
    // SNDCP: first segment, the only one, NSAPI 5, no compression, N-PDU number 0.
    let sn_pdu = [&[0x65, 0, 0, 0][..], &foreign].concat();
    bench.ll_pdu(0, victim, &ui(Sapi::DATA3, 200, &sn_pdu));
    // The same NSAPI on another SAPI, and an NSAPI that is not active.
    bench.ll_pdu(0, victim, &ui(Sapi::DATA5, 0, &sn_pdu));
    bench.ll_pdu(0, victim, &ui(Sapi::DATA3, 201, &[0x66, 0, 0, 0, 1, 2]));
    bench.run(1);
    bench.assert_all_arrived(&[]);
    let expected = [(Node::Sgsn, Drop::SndcpUnknownNsapi, 2), (Node::Ggsn, Drop::GgsnSourceAddress, 1)];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

#[test]
fn a_stolen_tlli_in_another_cell_harms_its_owner_alone() {
    let mut bench = Bench::new();
    let victim = bench.tlli(0);
    let before = bench.snapshot();
    for nu in 0..5 {
        bench.ll_pdu(1, victim, &ui(Sapi::DATA3, 300 + nu, &[]));
        bench.run(1);
    }
    bench.assert_all_arrived(&[0]);
    let moved = bench.moved(&before);
    // Its downlink goes to the wrong cell until it speaks.
    let possible = [Drop::BssUnknownMobile, Drop::SgsnDiscardedByBss, Drop::SndcpMalformed, Drop::BssFlushed];
    assert!(moved.iter().all(|(_, drop, _)| possible.contains(drop)), "{moved:?}");
    assert!(moved.contains(&(Node::Sgsn, Drop::SndcpMalformed, 5)), "{moved:?}");
    let missing = bench.missing(0);
    bench.run(5);
    bench.assert_all_arrived(&[0]);
    assert_eq!(bench.missing(0), missing, "afterwards it has all it needs");
    bench.end();
}

#[test]
fn attach_with_anothers_ptmsi_and_a_wrong_signature() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    bench.listen();
    let ptmsi = bench.world.sgsn.machine.mobile_of(imsi(0)).unwrap().1.gmm.ptmsi().unwrap();
    let request = attach_request(MobileIdentity::PTmsi(ptmsi), Some(PTmsiSignature(1)));
    bench.ll_pdu(0, Tlli::foreign(ptmsi), &octets::l3(100, &request));
    bench.run(40);
    let answers = sent_to(&bench.heard(), Tlli::foreign(ptmsi));
    let asks = |message: &L3Message| matches!(message, L3Message::Gmm(GmmMessage::IdentityRequest(_)));
    let rejects = |message: &L3Message| matches!(message, L3Message::Gmm(GmmMessage::AttachReject(_)));
    assert!(answers.iter().take(5).all(asks), "T3370: {answers:?}");
    assert!(answers.len() == 6 && answers.last().is_some_and(rejects), "{answers:?}");
    bench.assert_all_arrived(&[]);
    let expected = [
        (Node::Bss, Drop::BssUnknownMobile, 6),
        (Node::Sgsn, Drop::BssgpForeignMobile, 2),
        (Node::Sgsn, Drop::GmmRejected, 1),
        (Node::Sgsn, Drop::GmmNoAnswer, 1),
        (Node::Sgsn, Drop::SgsnRadioStatus, 5),
        (Node::Sgsn, Drop::SgsnDiscardedByBss, 5),
    ];
    assert_eq!(bench.moved(&before), expected);
    assert_eq!(bench.active(), 8);
    bench.end();
}

/// Under `accept-all` it may cost that mobile its session, as any claim of its IMSI does, and nobody else anything.
#[test]
fn attach_with_anothers_local_tlli() {
    let mut bench = Bench::new();
    bench.length = 1400;
    bench.listen();
    let (before, victim) = (bench.snapshot(), bench.tlli(0));
    for nu in [0, 100] {
        for identity in [MobileIdentity::PTmsi(PTmsi(victim.0)), MobileIdentity::Imsi(imsi(40))] {
            let request = attach_request(identity, Some(PTmsiSignature(1)));
            bench.ll_pdu(0, victim, &octets::l3(nu, &request));
        }
    }
    // Damaged, so that nothing at all is known of its sender.
    let mut damaged = octets::l3(0, &attach_request(MobileIdentity::PTmsi(PTmsi(victim.0)), None));
    *damaged.last_mut().unwrap() ^= 1;
    bench.ll_pdu(0, victim, &damaged);
    bench.run(5);
    // Whoever it is, is asked.
    let answers = sent_to(&bench.heard(), victim);
    assert!(matches!(answers.first(), Some(L3Message::Gmm(GmmMessage::IdentityRequest(_)))), "{answers:?}");
    // The network's questions reach the mobile whose TLLI it is. It answers them, takes ATTACH ACCEPT for a repetition, and
    // begins its session anew. Nobody else notices.
    bench.assert_all_arrived(&[0]);
    let moved = bench.moved(&before);
    assert!(moved.contains(&(Node::Sgsn, Drop::LlcBadFcs, 1)), "{moved:?}");
    assert_eq!(bench.active(), 8);
    // A context that its mobile does not know any more goes with the implicit detach.
    bench.end_after(4 * 3600);
}

#[test]
fn replayed_frames_are_told_apart() {
    let mut bench = Bench::new();
    bench.listen();
    bench.run(2);
    let before = bench.snapshot();
    // LL-PDUs of the last seconds, as the BSS has sent them and as the SGSN has.
    let mut replayed = [0; 2];
    for sent in bench.heard() {
        match sent.node {
            Node::Bss if sent.peer == Peer::Udp(SGSN_GB) && sent.octets.get(4) == Some(&1) => {
                let endpoint = sent.port.0 - 1;
                let peer = Peer::Udp(bss_address(endpoint));
                assert!(bench.world.inject(Node::Sgsn, GB, peer, &sent.octets));
                replayed[0] += 1;
            }
            Node::Sgsn if sent.port == GB && sent.octets.get(4) == Some(&0) => {
                assert!(bench.world.inject(
                    Node::Bss,
                    gannet_node::bss::gb_port(0),
                    Peer::Udp(SGSN_GB),
                    &sent.octets
                ));
                replayed[1] += 1;
            }
            _ => {}
        }
    }
    assert!(replayed.iter().all(|count| *count > 50), "{replayed:?}");
    bench.assert_all_arrived(&[]);
    let expected =
        [(Node::Ms, Drop::LlcDuplicate, replayed[1]), (Node::Sgsn, Drop::LlcDuplicate, replayed[0])];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

#[test]
fn gmm_messages_cut_short_are_answered_with_the_clauses_cause() {
    let mut bench = Bench::new();
    bench.silent.insert(0);
    bench.listen();
    let before = bench.snapshot();
    let victim = bench.tlli(0);
    let whole = attach_request(MobileIdentity::Imsi(imsi(0)), None).to_vec();
    let mandatory = whole.len();
    let mut nu = 100;
    let mut send = |bench: &mut Bench, information: &[u8]| {
        nu += 1;
        bench.ll_pdu(0, victim, &ui(Sapi::GMM, nu, information));
        bench.run(1);
        sent_to(&bench.heard(), victim)
    };
    let status = |cause| {
        let status = gannet_wire::l3::gmm::GmmStatus { cause };
        vec![L3Message::Gmm(status.into())]
    };
    let cause = GmmCause::InvalidMandatoryInformation;
    let reject = || {
        let reject = gannet_wire::l3::gmm::AttachReject { cause, t3302: None };
        vec![L3Message::Gmm(reject.into())]
    };
    for length in 2..mandatory {
        let answers = send(&mut bench, &whole[..length]);
        assert_eq!(answers, reject(), "{length} octets");
    }
    assert_eq!(send(&mut bench, &[0x08, 0x7f]), status(GmmCause::MessageTypeNonExistent));
    // A message of the network, a skip indicator, an unknown discriminator, nothing at all.
    assert_eq!(send(&mut bench, &[0x08, 0x15, 1]), status(GmmCause::MessageTypeNonExistent));
    for ignored in [&[0x18, 0x01][..], &[0x03, 0x01], &[0x08], &[]] {
        assert_eq!(send(&mut bench, ignored), []);
    }
    bench.assert_all_arrived(&[]);
    // The mobile is attached, did not ask to attach, and says so.
    let rejected = mandatory as u64 - 2;
    let expected = [
        (Node::Ms, Drop::GmmUnexpected, rejected),
        (Node::Ms, Drop::GmmStatusReceived, 2),
        (Node::Sgsn, Drop::GmmMalformed, rejected + 2 + 3),
        (Node::Sgsn, Drop::GmmRejected, rejected),
        (Node::Sgsn, Drop::GmmStatusReceived, rejected),
    ];
    assert_eq!(bench.moved(&before), expected);
    bench.end();
}

#[test]
fn sm_messages_cut_short_are_answered_with_the_clauses_cause() {
    let mut bench = Bench::new();
    bench.silent.insert(0);
    bench.listen();
    let before = bench.snapshot();
    let victim = bench.tlli(0);
    let mut nu = 100;
    let mut send = |bench: &mut Bench, information: &[u8]| {
        nu += 1;
        bench.ll_pdu(0, victim, &ui(Sapi::GMM, nu, information));
        bench.run(1);
        sent_to(&bench.heard(), victim)
    };
    // ACTIVATE PDP CONTEXT REQUEST with transaction identifier 3, without its address.
    let whole = [0x3a, 0x41, 6, 3, 3, 0, 0, 0];
    for length in 2..whole.len() {
        let answers = send(&mut bench, &whole[..length]);
        let causes: Vec<SmCause> = answers.iter().filter_map(sm_cause).collect();
        assert_eq!(causes, [SmCause::InvalidMandatoryInformation], "{length} octets: {answers:?}");
    }
    let answers = send(&mut bench, &[0x3a, 0x7f]);
    assert_eq!(answers.iter().filter_map(sm_cause).collect::<Vec<_>>(), [SmCause::MessageTypeNonExistent]);
    bench.assert_all_arrived(&[]);
    let moved = bench.moved(&before);
    let malformed = moved.iter().find(|(node, drop, _)| (*node, *drop) == (Node::Sgsn, Drop::SmMalformed));
    assert_eq!(malformed.map(|(_, _, count)| *count), Some(whole.len() as u64 - 1), "{moved:?}");
    // The mobile did not ask, and says so.
    let of_the_answers = [Drop::SmUnknownTi, Drop::SmStatusReceived];
    let expected = |drop| drop == Drop::SmMalformed || of_the_answers.contains(&drop);
    assert!(moved.iter().all(|(_, drop, _)| expected(*drop)), "{moved:?}");
    bench.end();
}

fn sm_cause(message: &L3Message) -> Option<SmCause> {
    match message {
        L3Message::Sm { message: SmMessage::SmStatus(status), .. } => Some(status.cause),
        L3Message::Sm { message: SmMessage::ActivateReject(reject), .. } => Some(reject.cause),
        _ => None,
    }
}

#[test]
fn sessions_of_a_mobile_that_is_not_attached() {
    let mut bench = Bench::new();
    let before = bench.snapshot();
    // The stranger has a place in the table while it is asked who it is.
    let tlli = Tlli::random(0x1234);
    bench.ll_pdu(0, tlli, &octets::l3(0, &attach_request(MobileIdentity::PTmsi(PTmsi(0xc000_0001)), None)));
    bench.ll_pdu(0, tlli, &ui(Sapi::GMM, 1, &[0x3a, 0x41, 6, 3, 3, 0, 0, 0, 2, 1, 0x21]));
    bench.run(1);
    let expected = [
        (Node::Bss, Drop::BssUnknownMobile, 1),
        (Node::Sgsn, Drop::GmmNotAttached, 1),
        (Node::Sgsn, Drop::SgsnSmUnattached, 1),
        (Node::Sgsn, Drop::SgsnDiscardedByBss, 1),
    ];
    let mut moved = bench.moved(&before);
    moved.retain(|(_, drop, _)| *drop != Drop::SgsnRadioStatus);
    assert_eq!(moved, expected);
    bench.run(40);
    assert_eq!(bench.world.sgsn.machine.mobiles().count(), 8);
    bench.assert_all_arrived(&[]);
    bench.end();
}

#[test]
fn acknowledged_mode_ciphers_and_odd_functions_are_refused() {
    let mut bench = Bench::new();
    bench.silent.insert(0);
    let before = bench.snapshot();
    let victim = bench.tlli(0);
    // SABM, an I frame, an S frame, UA, an undefined function; a ciphered frame; a reserved SAPI; an XID cut short.
    for frame in [
        &[0x03, 0xf7][..],
        &[0x03, 0x00, 0x00, 0x00],
        &[0x03, 0x80, 0x00],
        &[0x43, 0xe6],
        &[0x03, 0xe2],
        &[0x03, 0xc0, 0x03, 1, 2, 3],
        &[0x00, 0xc0, 0x01],
        &[0x03, 0xfb, 0x14, 0x01],
    ] {
        bench.ll_pdu(0, victim, &sealed(frame));
    }
    bench.ll_pdu(0, victim, &ui(Sapi::DATA3, 20, &[0; 1521]));
    bench.run(1);
    bench.assert_all_arrived(&[]);
    let moved: Vec<_> = bench.moved(&before).into_iter().filter(|(node, ..)| *node == Node::Sgsn).collect();
    let expected = [
        (Node::Sgsn, Drop::LlcUnknownSapi, 1),
        (Node::Sgsn, Drop::LlcTooLong, 1),
        (Node::Sgsn, Drop::LlcCiphered, 1),
        (Node::Sgsn, Drop::LlcAbmRefused, 1),
        (Node::Sgsn, Drop::LlcNotAbm, 2),
        (Node::Sgsn, Drop::LlcUnexpected, 1),
        (Node::Sgsn, Drop::LlcUnknownFunction, 1),
        (Node::Sgsn, Drop::LlcBadXid, 1),
    ];
    assert_eq!(moved, expected);
    bench.end();
}

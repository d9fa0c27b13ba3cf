//! P-TMSI signatures, where they are used and where they are not, and answers of mobiles without UMTS AKA.

use super::bench::*;
use super::places::update_request;
use super::subscribers::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::auth::aka::{Quintuplet, c2};
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::milenage::Milenage;
use gannet_proto::auth::sqn::Sqn;
use gannet_proto::auth::vectors::Ciphers;
use gannet_proto::gmm::network::Signatures;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::gsup::{AuthTuple, AuthVectors, Body, Quintuplet as QuintupletElement};
use gannet_wire::id::Sapi;
use gannet_wire::l3::L3Message;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

#[test]
fn without_signatures_none_is_given_and_none_is_missed() {
    let mut bench = Bench::new(|config| config.gmm.signatures = Signatures::Unused);
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    assert_eq!(bench.accept_attach(0).ptmsi_signature, None);
    let request = RauRequest {
        old_ptmsi_signature: Some(PTmsiSignature(7)),
        ..update_request(&bench, 0, UpdateKind::Periodic)
    };
    bench.gmm(0, request);
    let GmmMessage::RauAccept(accept) = bench.hear_gmm(0) else { panic!() };
    assert_eq!(accept.ptmsi_signature, None);
    bench.detach(0, true);
    bench.assert_empty();
}

#[test]
fn a_given_signature_may_be_missing_and_another_one_is_wrong() {
    let mut bench = Bench::new(|config| config.gmm.signatures = Signatures::Given);
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    assert!(bench.accept_attach(0).ptmsi_signature.is_some());
    let update = |bench: &Bench, old_ptmsi_signature| RauRequest {
        old_ptmsi_signature,
        ..update_request(bench, 0, UpdateKind::Periodic)
    };
    bench.gmm(0, update(&bench, None));
    let GmmMessage::RauAccept(accept) = bench.hear_gmm(0) else { panic!() };
    let PTmsiSignature(given) = accept.ptmsi_signature.expect("a new one is given");
    bench.gmm(0, update(&bench, Some(PTmsiSignature(given ^ 1))));
    let message = bench.hear_gmm(0);
    assert!(matches!(message, GmmMessage::IdentityRequest(_)), "{message:?}");
    bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(0)) });
    let GmmMessage::RauAccept(accept) = bench.hear_gmm(0) else { panic!() };
    let PTmsiSignature(given) = accept.ptmsi_signature.expect("a new one is given");
    // Switched off: another signature may be anybody's.
    let detach =
        |bench: &Bench, ptmsi_signature| DetachRequestMo { ptmsi_signature, ..bench.detach_request(0, true) };
    bench.gmm(0, detach(&bench, Some(PTmsiSignature(given ^ 1))));
    assert!(matches!(bench.hear_gmm(0), GmmMessage::IdentityRequest(_)));
    bench.gmm(0, detach(&bench, None));
    bench.assert_empty();
}

/// An element that cannot be read is an absent one and grants nothing: identity request or authentication, never service.
#[test]
fn a_signature_that_cannot_be_read_is_a_missing_one() {
    let mut bench = Bench::attached(true);
    let [_, a, b, c] = bench.phones[0].signature.unwrap().0.to_be_bytes();
    let update = RauRequest { old_ptmsi_signature: None, ..update_request(&bench, 0, UpdateKind::Periodic) };
    let update = L3Message::Gmm(update.into()).to_vec();
    let detach =
        L3Message::Gmm(DetachRequestMo { ptmsi_signature: None, ..bench.detach_request(0, false) }.into())
            .to_vec();
    let tails: [(&[u8], &[u8]); 8] = [
        (&update, &[]),
        (&update, &[0x19, a, b]),
        (&update, &[0x0a, 0x00, 0x19, a, b, c]),
        // Repeated: the first counts (clause 8.6.3). Out of sequence: ignored (clause 8.6.2).
        (&update, &[0x19, a, b, !c, 0x19, a, b, c]),
        (&update, &[0x17, 0x16, 0x19, a, b, c]),
        (&detach, &[0x19, 2, a, b]),
        (&detach, &[0x19, 4, a, b, c]),
        (&detach, &[0x0a, 0x00, 0x19, 3, a, b, c]),
    ];
    for (request, tail) in tails {
        bench.unitdata(0, Sapi::GMM, &[request, tail].concat());
        let message = bench.hear_gmm(0);
        assert!(matches!(message, GmmMessage::IdentityRequest(_)), "{tail:02x?}: {message:?}");
        // Another subscriber: the mobile stays what it was.
        bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(1)) });
        bench.hear_gmm(0);
        assert_eq!(bench.mobile(0).bearers().count(), 1);
    }
    bench.unitdata(0, Sapi::GMM, &[&update[..], &[0x19, a, b, c]].concat());
    assert!(matches!(bench.hear_gmm(0), GmmMessage::RauAccept(_)));
}

/// A mobile that has attached, on a link with one of these ciphers.
fn attached_with_cipher(ciphers: u8) -> Bench {
    let mut bench = with_hlr(|config| config.subscribers.ciphers = Ciphers(ciphers));
    authenticated(&mut bench);
    located(&mut bench, subscription("*", 9));
    let ciphering = bench.sgsn.mobiles().next().unwrap().1.llc.ciphering();
    assert!(ciphering.is_on());
    let phone = &mut bench.phones[0];
    phone.llc.assign(Some(phone.tlli), None, ciphering);
    let GmmMessage::AttachAccept(accept) = bench.hear_gmm(0) else { panic!() };
    let Some(MobileIdentity::PTmsi(ptmsi)) = accept.allocated_ptmsi else { panic!() };
    let phone = &mut bench.phones[0];
    phone.tlli = Tlli::local(ptmsi);
    phone.llc.assign(Some(phone.tlli), None, ciphering);
    ciphered(&mut bench, AttachComplete {});
    bench
}

/// On a link with a cipher the key is the proof, and nothing in the clear is taken.
#[test]
fn a_detach_request_without_signature_is_obeyed_where_it_comes_ciphered() {
    for power_off in [true, false] {
        let mut bench = attached_with_cipher(0b1000);
        let unsigned = DetachRequestMo { ptmsi_signature: None, ..bench.detach_request(0, power_off) };
        bench.gmm(0, unsigned.clone());
        assert_eq!(bench.drops(), [(Drop::LlcUnciphered, 1)]);
        assert_eq!(bench.sgsn.mobiles().count(), 1);
        ciphered(&mut bench, unsigned);
        assert_eq!(bench.sgsn.mobiles().count(), 0);
    }
}

/// Whoever knows the TLLI of a mobile says in its name that it has no cipher. The next challenge orders one all the same.
#[test]
fn an_update_that_is_refused_weakens_no_cipher() {
    let mut bench = attached_with_cipher(0b1001);
    let forged = RauRequest {
        ms_network_capability: Some(MsNetworkCapability(Octets::from_start(&[0, 0]))),
        old_ptmsi_signature: None,
        ..update_request(&bench, 0, UpdateKind::Periodic)
    };
    bench.gmm(0, forged);
    assert!(matches!(bench.hear_gmm(0), GmmMessage::IdentityRequest(_)));
    bench.gmm(0, IdentityResponse { identity: MobileIdentity::Imsi(imsi(1)) });
    assert!(matches!(bench.hear_gmm(0), GmmMessage::RauReject(_)));
    bench.sgsn.authenticate_again(&mut bench.around.context(), imsi(0)).unwrap();
    bench.collect();
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))));
    say(&mut bench, vectors(&[[0x22; 16]]), 0);
    assert_eq!(challenge(&mut bench).ciphering, CipheringAlgorithm(3));
}

/// Somebody says in a mobile's name that it has no context any more. Where a signature may be missing that is believed, also
/// beside 'authentication required': that is why 'on' is the default there.
#[test]
fn an_unsigned_update_ends_contexts_where_signatures_may_be_missing_and_nowhere_else() {
    for (signatures, ends) in
        [(Signatures::Demanded, false), (Signatures::Given, true), (Signatures::Unused, true)]
    {
        let mut bench = Bench::new(|config| config.gmm.signatures = signatures);
        bench.attach(0);
        bench.activate(0, NSAPI);
        let forged = RauRequest {
            old_ptmsi_signature: None,
            pdp_context_status: Some(PdpContextStatus(0)),
            ..update_request(&bench, 0, UpdateKind::Periodic)
        };
        bench.gmm(0, forged);
        assert_eq!(bench.mobile(0).sm().status() == PdpContextStatus(0), ends, "{signatures:?}");
    }
}

fn ciphered(bench: &mut Bench, message: impl Into<GmmMessage>) {
    let mut frame = bench.air.frames.copy_of(&L3Message::Gmm(message.into()).to_vec()).unwrap();
    bench.phones[0].llc.unitdata_request(Sapi::GMM, true, true, &mut frame).unwrap();
    bench.up(0, &frame);
}

// ------------------------------------------------------------------------------- SRES in answer to a UMTS challenge

fn quintuplet(n: u8) -> Quintuplet {
    let functions = Milenage::new(&Key128([0x11; 16]), &Key128([0x22; 16]));
    Quintuplet::generate(&functions, [n; 16], Sqn::new(n.into(), n), [0; 2])
}

fn quintuplets(numbers: &[u8]) -> Body {
    let tuple = |n: &u8| {
        let Quintuplet { rand, xres, keys, autn } = quintuplet(*n);
        let quintuplet = QuintupletElement { ik: keys.ik.0, ck: keys.ck.0, autn, res: xres };
        AuthTuple { rand, triplet: None, quintuplet: Some(quintuplet) }
    };
    let tuples = numbers.iter().map(tuple).collect();
    Body::SendAuthInfoResult(AuthVectors { tuples, cn_domain: None })
}

/// A mobile of R99 with GEA1 to GEA4.
fn request_by_r99(bench: &mut Bench, phone: usize) {
    let ms_network_capability = MsNetworkCapability(Octets::from_start(&[0xe5, 0xf0]));
    let request = attach_request(MobileIdentity::Imsi(imsi(0)));
    bench.gmm(phone, AttachRequest { ms_network_capability, ..request });
    assert!(matches!(heard(bench), Some(Body::SendAuthInfoRequest(_))));
}

fn challenged(bench: &mut Bench, phone: usize) -> AuthenticationRequest {
    match bench.hear_gmm(phone) {
        GmmMessage::AuthenticationRequest(request) => request,
        other => panic!("{other:?}"),
    }
}

fn respond(bench: &mut Bench, phone: usize, request: &AuthenticationRequest, res: &[u8]) {
    let response = res.first_chunk().map(|first| AuthParameterResponse(*first));
    let more = res.get(4..).filter(|more| !more.is_empty());
    let extended_response = more.map(|more| ExtendedResponse(Octets::from_start(more)));
    let reference = request.reference;
    bench.gmm(phone, AuthenticationResponse { reference, response, imeisv: None, extended_response });
}

#[test]
fn a_mobile_without_umts_aka_is_served_with_a_gsm_key_and_never_with_gea4() {
    for (allowed, asked, used) in [(0b1001, 3, 3), (0b1_1001, 4, 3), (0b0001, 0, 0)] {
        let mut bench = with_hlr(|config| config.subscribers.ciphers = Ciphers(allowed));
        bench.around.trace.is_listening = true;
        request_by_r99(&mut bench, 0);
        say(&mut bench, quintuplets(&[1]), 0);
        let request = challenged(&mut bench, 0);
        assert!(request.autn.is_some());
        assert_eq!(request.ciphering, CipheringAlgorithm(asked));
        respond(&mut bench, 0, &request, &c2(&quintuplet(1).xres));
        assert!(matches!(heard(&mut bench), Some(Body::UpdateLocationRequest(_))));
        located(&mut bench, subscription("*", 9));
        if asked == 4 {
            let order = challenged(&mut bench, 0);
            assert_eq!((order.ciphering, order.rand, order.autn), (CipheringAlgorithm(used), None, None));
            respond(&mut bench, 0, &order, &[]);
        }
        let kc = quintuplet(1).keys.kc();
        let expected = match used {
            3 => Ciphering::with_kc(Algorithm::Gea3, kc.0).unwrap(),
            _ => Ciphering::NONE,
        };
        assert_eq!(bench.sgsn.mobiles().next().unwrap().1.llc.ciphering(), expected);
        let told = "answers a UMTS challenge with four octets, and is served with a GSM security context";
        assert!(bench.around.trace.lines.iter().any(|line| line.ends_with(told)));
        assert_eq!(bench.drops(), []);
    }
}

/// Who has shown UMTS AKA, in this context or in its former one, is not taken for a mobile without.
#[test]
fn who_has_done_umts_aka_is_refused_with_sres_in_a_new_context_too() {
    let mut bench = with_hlr(|_| ());
    request_by_r99(&mut bench, 0);
    say(&mut bench, quintuplets(&[1]), 0);
    let request = challenged(&mut bench, 0);
    respond(&mut bench, 0, &request, quintuplet(1).xres.as_slice());
    heard(&mut bench);
    located(&mut bench, subscription("*", 9));
    bench.accept_attach(0);
    let former = bench.slot(0);
    request_by_r99(&mut bench, 1);
    say(&mut bench, quintuplets(&[2]), 0);
    let request = challenged(&mut bench, 1);
    bench.around.trace.is_listening = true;
    respond(&mut bench, 1, &request, &c2(&quintuplet(2).xres));
    assert!(matches!(heard(&mut bench), Some(Body::AuthFailureReport(_))));
    assert!(matches!(bench.hear_gmm(1), GmmMessage::AuthenticationReject(_)));
    assert_eq!(bench.slot(0), former, "its mobile stays");
    let told = "and is refused, since it has done UMTS AKA before";
    assert!(bench.around.trace.lines.iter().any(|line| line.ends_with(told)));
}

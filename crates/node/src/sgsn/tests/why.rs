//! What an operator is told who asks why a mobile is not served: the cause, the rule or the answer that has decided, the peer.

use super::bench::*;
use super::subscribers::{heard, request_attach, say, with_hlr};
use crate::sgsn::*;
use core::net::SocketAddr;
use gannet_proto::auth::AuthPolicy;
use gannet_wire::gsup::{Body, Refusal};
use gannet_wire::gtp::v1c::{ErrorIndication, VersionNotSupported, emit_datagram};
use gannet_wire::gtp::{Cause, Message};
use gannet_wire::id::Teid;
use gannet_wire::l3::gmm::GmmMessage;
use gannet_wire::l3::ie::{GmmCause, MobileIdentity, SmCause};
use gannet_wire::l3::sm::{DeactivateRequest, SmMessage};

fn emitted(sequence: u16, message: impl Into<Message>) -> Vec<u8> {
    let mut octets = Vec::new();
    assert!(emit_datagram(Teid(0), sequence, &message.into(), &mut octets));
    octets
}

/// All that was explained, which was about the first mobile.
fn explained(bench: &mut Bench) -> Vec<String> {
    let explained = core::mem::take(&mut bench.around.trace.explained);
    explained
        .into_iter()
        .map(|(whose, why)| {
            assert_eq!(whose, imsi(0));
            why
        })
        .collect()
}

#[test]
fn a_policy_names_its_rule() {
    let mut bench = Bench::new(|config| config.subscribers.policy = AuthPolicy::AclOnly);
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let GmmMessage::AttachReject(_) = bench.hear_gmm(0) else { panic!() };
    let rule = "not served: by 'auth-policy acl-only', since no 'imsi-acl' line names it";
    let reject = format!("ATTACH REJECT: {}", GmmCause::GprsNotAllowed);
    assert!(reject.ends_with("(cause 7)"), "{reject}");
    assert_eq!(explained(&mut bench), [rule, reject.as_str()]);
}

#[test]
fn the_hlr_is_named_with_its_answer_or_its_silence() {
    let mut bench = with_hlr(|_| ());
    request_attach(&mut bench);
    heard(&mut bench);
    let refusal = Refusal { cause: GmmCause::ImsiUnknownInHlr, cn_domain: None };
    say(&mut bench, Body::SendAuthInfoError(refusal), 0);
    bench.hear_gmm(0);
    let why = format!("not served by the HLR's answer about authentication: {}", GmmCause::ImsiUnknownInHlr);
    let told = format!("ATTACH REJECT: {}", GmmCause::ImsiUnknownInHlr);
    assert!(why.ends_with("(cause 2)"), "{why}");
    assert_eq!(explained(&mut bench), [why, told]);
    let mut bench = with_hlr(|_| ());
    request_attach(&mut bench);
    heard(&mut bench);
    // Its guard time is over.
    bench.pass_secs(60);
    let why = explained(&mut bench);
    assert_eq!(
        why[0], "not served by the HLR's answer about authentication: there is none in time",
        "{why:?}"
    );
}

#[test]
fn a_ggsn_is_named_with_its_answer_or_its_silence() {
    let mut bench = Bench::attached(false);
    bench.sm(0, 0, activate_request(NSAPI));
    let (from, sequence, request) = bench.next_create();
    bench.create_answer(from, sequence, &request, Cause::NoResourcesAvailable);
    let SmMessage::ActivateReject(reject) = bench.hear_sm(0) else { panic!() };
    let why = format!("NSAPI 5: GGSN {GGSN} refuses it: no resources available (199)");
    let told = format!("ACTIVATE PDP CONTEXT REJECT: {}", reject.cause);
    assert_eq!(explained(&mut bench), [why, told]);
    bench.sm(0, 0, activate_request(NSAPI));
    let tries = bench.sgsn.config().n3_requests;
    let each = bench.sgsn.config().t3_response;
    for _ in 0..tries {
        bench.next_create();
        bench.pass(each);
    }
    let why = explained(&mut bench);
    assert_eq!(
        why[0],
        format!("NSAPI 5: GGSN {GGSN} does not answer the Create request, it was asked {tries} times"),
        "{why:?}"
    );
    assert!(why[1].starts_with("ACTIVATE PDP CONTEXT REJECT: ") && why.len() == 2, "{why:?}");
}

#[test]
fn an_answer_of_no_use_is_explained() {
    let mut bench = Bench::attached(false);
    let cases = [
        (true, "answers the Create request that it does not support this version of GTP"),
        (false, "answers the Create request with what cannot be read: "),
    ];
    for (is_version, text) in cases {
        bench.sm(0, 0, activate_request(NSAPI));
        let (from, sequence, _) = bench.next_create();
        let [high, low] = sequence.to_be_bytes();
        let answer = match is_version {
            true => emitted(sequence, VersionNotSupported {}),
            // A Create Response that has no Cause.
            false => vec![0x32, 17, 0, 4, 0, 0, 0, 0, high, low, 0, 0],
        };
        bench.datagram(GTP_C, SocketAddr::new(from, 2123), &answer);
        let SmMessage::ActivateReject(_) = bench.hear_sm(0) else { panic!() };
        let why = explained(&mut bench);
        assert!(why[0].starts_with(&format!("NSAPI 5: GGSN {GGSN} {text}")), "{why:?}");
    }
}

#[test]
fn a_ggsn_that_does_not_answer_a_delete_is_named() {
    let mut bench = Bench::attached(true);
    explained(&mut bench);
    bench.sm(0, 0, DeactivateRequest { cause: SmCause::RegularDeactivation, tear_down: None });
    let (tries, each) = (bench.sgsn.config().n3_requests, bench.sgsn.config().t3_response);
    for _ in 0..tries {
        let (_, _, message) = bench.next_control();
        assert!(matches!(message, Message::DeleteRequest(_)), "{message:?}");
        bench.pass(each);
    }
    let why = explained(&mut bench);
    let text = format!("NSAPI 5: GGSN {GGSN} does not answer the Delete request, it was asked {tries} times");
    assert!(why.contains(&text), "{why:?}");
}

#[test]
fn a_lost_context_is_named_with_its_ggsn() {
    let mut bench = Bench::attached(true);
    explained(&mut bench);
    let indication = ErrorIndication { teid: Teid(GGSN_USER + 5), address: GGSN, private_extension: None };
    bench.datagram(GTP_U, SocketAddr::new(GGSN, 2152), &emitted(0, indication));
    let why = explained(&mut bench);
    assert_eq!(why[0], format!("NSAPI 5: GGSN {GGSN} says by an Error Indication that it does not have it"));
}

#[test]
fn an_access_point_that_leads_nowhere_is_named() {
    let mut bench = Bench::new(|config| {
        config.apns = vec![ApnRoute { apn: "elsewhere".into(), imsi_prefix: String::new(), ggsn: 0 }]
    });
    bench.attach(0);
    bench.sm(0, 0, activate_request(NSAPI));
    let SmMessage::ActivateReject(_) = bench.hear_sm(0) else { panic!() };
    let why = explained(&mut bench);
    assert_eq!(why[1], "APN internet is refused: no 'apn' or 'ggsn' line leads from it to a GGSN", "{why:?}");
    assert!(why[0].ends_with("(cause 27)"), "{why:?}");
}

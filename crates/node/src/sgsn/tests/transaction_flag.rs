//! Phones that set the transaction identifier flag in transactions of their own.

use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::L3Message;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::*;

fn flagged(bench: &mut Bench, ti: u8, message: impl Into<SmMessage>) {
    let message = L3Message::Sm { ti, ti_flag: true, message: message.into() };
    bench.unitdata(0, Sapi::GMM, &message.to_vec());
}

/// What the phone hears, which has flag 0.
fn heard(bench: &mut Bench) -> SmMessage {
    match bench.hear_l3(0) {
        L3Message::Sm { ti_flag: false, message, .. } => message,
        other => panic!("{other:?}"),
    }
}

fn lines_about_it(bench: &mut Bench) -> usize {
    let lines = core::mem::take(&mut bench.around.trace.lines);
    lines.iter().filter(|line| line.contains("TI flag 1")).count()
}

#[test]
fn such_a_phone_is_served_and_told_of_once() {
    let mut bench = Bench::attached(false);
    bench.around.trace.is_listening = true;
    for (ti, nsapi) in [(0, NSAPI), (1, Nsapi(6)), (0, NSAPI)] {
        flagged(&mut bench, ti, activate_request(nsapi));
        let (ggsn, sequence, request) = bench.next_create();
        bench.create_answer(ggsn, sequence, &request, Cause::RequestAccepted);
        assert!(matches!(heard(&mut bench), SmMessage::ActivateAccept(_)));
        let cause = SmCause::RegularDeactivation;
        flagged(&mut bench, ti, DeactivateRequest { cause, tear_down: None });
        bench.delete_answer(nsapi);
        assert!(matches!(heard(&mut bench), SmMessage::DeactivateAccept(_)));
    }
    assert_eq!((bench.drops(), lines_about_it(&mut bench)), (vec![], 1));
}

#[test]
fn the_phone_takes_what_the_ggsn_ends() {
    let mut bench = Bench::attached(false);
    flagged(&mut bench, 0, activate_request(NSAPI));
    let (ggsn, sequence, request) = bench.next_create();
    bench.create_answer(ggsn, sequence, &request, Cause::RequestAccepted);
    assert!(matches!(heard(&mut bench), SmMessage::ActivateAccept(_)));
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    let delete = gannet_wire::gtp::v1c::DeleteRequest {
        teardown: Some(true),
        nsapi: NSAPI,
        pco: None,
        private_extension: None,
    };
    bench.ggsn_asks(teid, delete);
    bench.next_control();
    let SmMessage::DeactivateRequest(request) = heard(&mut bench) else { panic!() };
    assert_eq!(request.tear_down, Some(TearDownIndicator::AllOfAddress));
    flagged(&mut bench, 0, DeactivateAccept {});
    assert!(bench.mobile(0).sm().is_empty() && bench.is_silent());
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_strict_operator_has_it_ignored() {
    let mut bench = Bench::new(|config| config.sm.accept_ti_flag = false);
    bench.attach(0);
    flagged(&mut bench, 0, activate_request(NSAPI));
    assert!(bench.is_silent() && bench.mobile(0).sm().is_empty());
    assert_eq!(bench.drops(), [(Drop::SmIgnored, 1)]);
    let why = bench.around.trace.explained.pop().unwrap().1;
    assert!(why.contains("'transaction-flag'") && why.contains("8.3.2"), "{why}");
}

#[test]
fn nobody_takes_a_context_of_another_by_the_flag() {
    let mut bench = Bench::attached(true);
    bench.attach(1);
    // The second phone, under the identifier that the first one has, with either flag: both contexts go on.
    let message = L3Message::Sm { ti: 0, ti_flag: true, message: activate_request(NSAPI).into() };
    bench.unitdata(1, Sapi::GMM, &message.to_vec());
    let (ggsn, sequence, request) = bench.next_create();
    bench.create_answer(ggsn, sequence, &request, Cause::RequestAccepted);
    bench.hear_l3(1);
    for phone in [0, 1] {
        assert!(bench.mobile(phone).sm().get(NSAPI).is_some_and(|context| context.is_active()));
    }
    assert_eq!(bench.drops(), []);
}

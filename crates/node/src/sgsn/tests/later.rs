//! What BSSGP of later releases has: MS-REGISTRATION-ENQUIRY and OVERLOAD.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_wire::bssgp::ie::{Cause, PriorityClass};
use gannet_wire::bssgp::signalling::Status;
use gannet_wire::bssgp::{Message, PduType};
use gannet_wire::id::{Bvci, Nsei, Sapi};
use gannet_wire::l3::ie::MobileIdentity;

const OVERLOAD: Message = Message::Overload { classes: Some(PriorityClass::LOW_ACCESS_PRIORITY) };

#[test]
fn a_bss_is_told_with_whom_a_mobile_is_registered() {
    let mut bench = Bench::new(|_| ());
    let ask = |bench: &mut Bench, phone: usize| {
        bench.signal(&Message::MsRegistrationEnquiry { imsi: imsi(phone) });
        let Message::MsRegistrationEnquiryResponse { imsi: whose, plmn } = bench.next_bssgp() else {
            panic!()
        };
        assert_eq!(whose, imsi(phone));
        plmn
    };
    assert_eq!(ask(&mut bench, 0), None, "nobody knows it");
    bench.gmm(0, attach_request(MobileIdentity::Imsi(imsi(0))));
    let accept = bench.next_down();
    assert_eq!(ask(&mut bench, 0), None, "it is not registered yet");
    bench.sent.push_front(Sent::Down(accept));
    bench.accept_attach(0);
    assert_eq!(ask(&mut bench, 0), Some(rai(1).plmn));
    assert_eq!(ask(&mut bench, 1), None);
    // On the BVC of a cell it has no place.
    bench.bssgp(cell(0).nsei, cell(0).bvci, &Message::MsRegistrationEnquiry { imsi: imsi(0) });
    let Message::Status(Status { cause, .. }) = bench.next_bssgp() else { panic!() };
    assert_eq!((cause, bench.drops()), (Cause::PduNotCompatible, vec![(Drop::BssgpUnexpected, 1)]));
}

#[test]
fn what_goes_to_a_bss_is_not_taken_from_it() {
    let mut bench = Bench::attached(false);
    let answer = Message::MsRegistrationEnquiryResponse { imsi: imsi(0), plmn: None };
    for (message, times) in [(&answer, 1), (&OVERLOAD, 2)] {
        bench.signal(message);
        let Message::Status(Status { cause, pdu, .. }) = bench.next_bssgp() else { panic!() };
        assert_eq!((cause, pdu), (Cause::PduNotCompatible, Some(message.to_vec())));
        assert_eq!(bench.drops(), [(Drop::BssgpUnexpected, times)]);
    }
    // A PDU that no release has.
    bench.pdu(Nsei(1), Bvci::SIGNALLING, &[0x7f]);
    let Message::Status(Status { cause, .. }) = bench.next_bssgp() else { panic!() };
    assert_eq!(cause, Cause::ProtocolError);
    assert!(bench.is_silent());
}

/// Mobiles that nobody knows: an answer a second, and two at once, are all that there is.
fn flooded(interval: Option<Duration>) -> Bench {
    let mut bench = Bench::new(|config| {
        config.stranger_answers_per_second = 1;
        config.overload_interval = interval;
    });
    bench.phones[0].uses(Tlli(0xc000_0001));
    flood(&mut bench);
    bench
}

fn flood(bench: &mut Bench) {
    for _ in 0..5 {
        bench.unitdata(0, Sapi::GMM, &[0x0a, 0x41]);
    }
}

/// To which NSEs OVERLOAD went.
fn told(bench: &mut Bench) -> Vec<Nsei> {
    let of = |sent: Sent| match sent {
        Sent::Bssgp(nsei, Bvci::SIGNALLING, message) if message.pdu_type() == PduType::Overload => Some(nsei),
        _ => None,
    };
    bench.sent.drain(..).filter_map(of).collect()
}

#[test]
fn bsss_are_told_of_an_overload_while_it_lasts() {
    let mut bench = flooded(Some(Duration::from_secs(5)));
    assert_eq!(told(&mut bench), [Nsei(1), Nsei(2)], "once");
    bench.pass_secs(4);
    flood(&mut bench);
    assert_eq!(told(&mut bench), [], "they have been told");
    bench.pass_secs(1);
    assert_eq!(told(&mut bench), [], "nobody is turned away");
    flood(&mut bench);
    assert_eq!(told(&mut bench), [Nsei(1), Nsei(2)]);
    assert_eq!(bench.sgsn.stats().overloads, 4);
    assert!(bench.dropped(Drop::SgsnStrangerUnanswered) > 5);
}

#[test]
fn a_full_table_is_an_overload_too() {
    let mut bench = Bench::new(|config| {
        config.mobiles_max = 1;
        config.overload_interval = Some(Duration::from_secs(5));
    });
    bench.attach(0);
    bench.sent.clear();
    bench.gmm(1, attach_request(MobileIdentity::Imsi(imsi(1))));
    assert_eq!((told(&mut bench), bench.dropped(Drop::SgsnMobileTableFull)), (vec![Nsei(1), Nsei(2)], 1));
}

#[test]
fn bsss_are_not_told_unasked() {
    let mut bench = flooded(None);
    assert_eq!((told(&mut bench), bench.sgsn.stats().overloads), (Vec::new(), 0));
    assert!(bench.dropped(Drop::SgsnStrangerUnanswered) > 0);
}

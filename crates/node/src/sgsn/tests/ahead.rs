//! Two contexts of best effort of one mobile: the one with the better handling priority goes ahead.

use super::bench::*;
use crate::sgsn::*;
use gannet_machine::time::Duration;
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_qos::class::CellClass;
use gannet_wire::bssgp::Message;
use gannet_wire::gtp::Cause as GtpCause;
use gannet_wire::id::{Bvci, Nsei, Sapi};
use gannet_wire::l3::ie::{DelayClass, QosProfile};
use gannet_wire::l3::sm::{ActivateRequest, SmMessage};

const BETTER: Nsapi = Nsapi(6);

/// A mobile with a download in NSAPI 5 and a better context, on this SAPI, in NSAPI 6. Its bucket has 1000 octets, of which 1000 leak
/// in a second.
fn bench_of(sapi: Sapi) -> Bench {
    let mut bench = Bench::attached(true);
    let qos = QosProfile { delay: DelayClass(2), ..QosProfile::BEST_EFFORT };
    bench.sm(0, 1, ActivateRequest { qos, sapi, ..activate_request(BETTER) });
    let (from, sequence, request) = bench.next_create();
    bench.create_answer(from, sequence, &request, GtpCause::RequestAccepted);
    assert!(matches!(bench.hear_sm(0), SmMessage::ActivateAccept(_)));
    let bucket = |bmax_octets, rate_bit_per_s| Bucket { bmax_octets, rate_bit_per_s };
    let parameters = BvcParameters { bvc: bucket(50_000, 800_000), default_ms: bucket(1000, 8000) };
    bench.bssgp(Nsei(1), Bvci(2), &Message::FlowControlBvc(parameters.to_message(77)));
    bench.pass_secs(10);
    bench.sent.clear();
    bench
}

impl Bench {
    fn n_pdu(&mut self, nsapi: Nsapi, number: u8, octets: usize) {
        let teid = self.sgsn.teid(self.slot(0), nsapi).unwrap();
        let frame = self.around.frames.copy_of(&vec![number; octets]).unwrap();
        let name = self.sgsn.teid_key().name(teid).0;
        self.input(Input::Classified { port: GTP_U, name, frame });
    }

    /// The numbers of what is heard until now.
    fn heard(&mut self) -> Vec<u8> {
        self.collect();
        core::iter::from_fn(|| (!self.is_silent()).then(|| self.hear(0).1[4])).collect()
    }
}

#[test]
fn a_better_context_does_not_wait_behind_a_download() {
    let mut bench = bench_of(Sapi::DATA5);
    (0..40).for_each(|number| bench.n_pdu(NSAPI, number, 480));
    assert_eq!(bench.heard(), [0, 1], "the bucket is full");
    bench.pass_secs(4);
    let before = bench.heard();
    for round in 0..5 {
        bench.n_pdu(BETTER, 100 + round, 40);
        bench.pass_secs(1);
        let heard = bench.heard();
        assert!(heard.contains(&(100 + round)), "{heard:?} in a second, after {before:?}");
        assert!(heard.iter().any(|number| *number < 100), "the download goes on: {heard:?}");
    }
    assert_eq!(bench.drops(), vec![]);
}

#[test]
fn a_better_context_that_is_never_without_leaves_the_download_its_part() {
    let mut bench = bench_of(Sapi::DATA5);
    for number in 0..40 {
        bench.n_pdu(NSAPI, number, 480);
        bench.n_pdu(BETTER, 100 + number, 480);
    }
    let mut heard = bench.heard();
    for _ in 0..100 {
        bench.pass(Duration::from_millis(200));
        heard.extend(bench.heard());
        let most = bench.sgsn.gb().flow.config().feedback.unwrap().ms.high.pdus;
        let ahead = bench.sgsn.gb().flow.ahead(bench.slot(0).index, CellClass::BestEffort);
        assert!(ahead <= most, "{ahead} of it wait for the bucket");
    }
    let better = heard.iter().filter(|number| **number >= 100).count();
    assert!(heard.len() > 35 && better * 2 >= heard.len(), "{better} of {}", heard.len());
    assert!(heard.len() - better >= heard.len() / 5, "{better} of {}", heard.len());
}

/// Frames of one SAPI stay in order, whose ever they are.
#[test]
fn a_better_context_of_the_same_sapi_goes_ahead_of_nobody() {
    let bench = bench_of(Sapi::DATA3);
    let mobile = bench.mobile(0);
    let ahead = [NSAPI, BETTER].map(|nsapi| mobile.goes_ahead(mobile.bearer(nsapi).unwrap()));
    assert_eq!(ahead, [false, false]);
    let bench = bench_of(Sapi::DATA9);
    let mobile = bench.mobile(0);
    let ahead = [NSAPI, BETTER].map(|nsapi| mobile.goes_ahead(mobile.bearer(nsapi).unwrap()));
    assert_eq!(ahead, [false, true]);
}

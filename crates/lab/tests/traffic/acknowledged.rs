//! I frames at the sink, and what it answers.

use crate::frames::{ethernet, mark, n_pdu_of, result, unattached};
use crate::reflector::{Link, Target, downlink, i_frame, of_link};
use crate::{GB, config, teid_of, tlli_of};
use gannet_lab::load::traffic::{FlowSpec, GroupResult, Traffic, TrafficConfig};
use gannet_testkit::tshark::Capture;
use gannet_wire::bssgp::unitdata::UlUnitdata;
use gannet_wire::id::Sapi;
use gannet_wire::llc::{self, Control, Supervisory, UFunction};
use gannet_wire::ns;

/// Flows in acknowledged mode; the FCS of each I frame is looked at.
fn acknowledged(flows: u32) -> TrafficConfig {
    let mut config = config(flows, 10_000.0);
    config.whole_every = 1;
    config.flows.iter_mut().for_each(|flow| flow.received = Some(0));
    config
}

const fn target(user: u32, number: u16) -> Target {
    Target { tlli: tlli_of(user), bvci: 2 + (user % 4) as u16, number, cipher: None }
}

/// An LL-PDU for a user in its frame.
fn framed(user: u32, ll_pdu: &[u8]) -> Vec<u8> {
    ethernet(&of_link(ll_pdu, target(user, 1)), 23_000, 22_000)
}

/// The I frame with N(S) of an N-PDU.
fn i(n_pdu: &[u8], ns: u16, asks: bool) -> Vec<u8> {
    framed(mark(n_pdu).0, &i_frame(n_pdu, Link { ns, asks, number: ns.to_le_bytes()[0] }))
}

/// The user and N(R) of an answer, which has to be an UL-UNITDATA with RR from where the user is.
fn rr(frame: &[u8]) -> (u32, u16) {
    assert_eq!(
        frame[..12],
        [2, 0, 0, 0, 0, 2].into_iter().chain(frame[6..12].iter().copied()).collect::<Vec<u8>>()
    );
    assert_eq!(frame[26..34], [GB.0.octets(), GB.1.octets()].concat());
    assert_eq!(frame[34..38], [22_000_u16.to_be_bytes(), 23_000_u16.to_be_bytes()].concat());
    let sum: u32 =
        frame[14..34].chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    let lengths = [16, 38].map(|at| usize::from(u16::from_be_bytes([frame[at], frame[at + 1]])));
    assert_eq!(lengths, [frame.len() - 14, frame.len() - 34]);
    let pdu = &frame[42..];
    let bvci = ns::Unitdata::parse(pdu).unwrap().bvci.0;
    let bssgp = &pdu[ns::UNITDATA_HEADER_LEN..];
    let (unitdata, at) = UlUnitdata::parse(bssgp).unwrap();
    let user = unitdata.tlli.0 - tlli_of(0);
    assert_eq!((u32::from(bvci), unitdata.cell.ci), (2 + user % 4, u16::try_from(user % 4).unwrap()));
    let ll_pdu = &bssgp[at];
    let layout = llc::Header::parse(ll_pdu).unwrap();
    assert!(layout.fcs_is_right(ll_pdu), "{ll_pdu:02x?}");
    // A response of the mobile has C/R 1.
    assert_eq!((layout.header.cr, layout.header.sapi, layout.info_len), (true, Sapi(3), 0));
    match layout.header.control {
        Control::S { ack_request: false, nr, supervisory: Supervisory::Rr } => (user, nr),
        other => panic!("{other:?}"),
    }
}

/// What a frame is answered with.
fn answered(traffic: &Traffic, frame: &[u8]) -> Option<u16> {
    traffic.sink_answers(frame).unwrap().map(|answer| rr(&answer).1)
}

/// Delivered, corrupt, repeated, unexpected, answered.
fn counted(result: &GroupResult) -> [u64; 5] {
    [result.delivered, result.corrupt, result.repeated, result.unexpected, result.answered]
}

/// Of each size, over the wrap of N(S): each is delivered once, and who asks is answered.
pub fn each_i_frame_is_delivered_and_answered() {
    for size in [56, 63, 378, 1500] {
        let mut config = acknowledged(2);
        config.flows.iter_mut().for_each(|flow| flow.size = size);
        unattached(config, |traffic| {
            let mut next = [0_u16; 2];
            let mut asked = 0;
            for n in 0..1200_u32 {
                let n_pdu = n_pdu_of(traffic);
                let user = mark(&n_pdu).0;
                let ns = &mut next[user as usize];
                let (frame, asks) = (i(&n_pdu, *ns, n % 3 == 0), n % 3 == 0);
                *ns = (*ns + 1) % 512;
                let answer = traffic.sink_answers(&frame).unwrap();
                assert_eq!(answer.map(|answer| rr(&answer)), asks.then_some((user, *ns)));
                asked += u64::from(asks);
            }
            let result = result(traffic);
            assert_eq!(counted(&result), [1200, 0, 0, 0, asked], "{size}");
            assert_eq!((result.latency.count(), result.wrong_cell), (1200, 0));
            assert_eq!(result.delivered_octets, 1200 * u64::from(size));
        });
    }
}

/// What came before, and what comes behind a gap, is not delivered; the gap is told.
pub fn only_the_next_i_frame_is_delivered() {
    unattached(acknowledged(1), |traffic| {
        let n_pdus: Vec<Vec<u8>> = (0..4).map(|_| n_pdu_of(traffic)).collect();
        let frame = |n: u16, asks| i(&n_pdus[usize::from(n)], n, asks);
        assert_eq!(answered(traffic, &frame(0, true)), Some(1));
        assert_eq!(answered(traffic, &frame(2, false)), None);
        assert_eq!(answered(traffic, &frame(3, true)), Some(1), "the second is missing");
        assert_eq!(answered(traffic, &frame(0, true)), Some(1), "came before");
        assert_eq!(counted(&result(traffic)), [1, 0, 0, 3, 3]);
        for n in 1..4 {
            assert_eq!(answered(traffic, &frame(n, n == 3)), (n == 3).then_some(4));
        }
        assert_eq!(counted(&result(traffic)), [4, 0, 0, 3, 4]);
        // The same N-PDU under another N(S) is one too many, and its link goes on.
        assert_eq!(answered(traffic, &i(&n_pdus[0], 4, true)), Some(5));
        assert_eq!(counted(&result(traffic)), [4, 0, 1, 3, 5]);
    });
}

/// An acknowledgement may come later, as behind a radio path; what was sent again is answered at once.
pub fn answers_may_come_later() {
    let mut config = acknowledged(1);
    config.answer_after = 3;
    unattached(config, |traffic| {
        let mut ns = 0;
        let mut next = |asks| {
            ns += 1;
            i(&n_pdu_of(traffic), ns - 1, asks)
        };
        let answers: Vec<Option<u16>> =
            (0..9).map(|n| answered(traffic, &next(n == 0 || n == 4 || n == 5))).collect();
        assert_eq!(answers, [None, None, None, Some(4), None, None, None, Some(8), None]);
        // T201 asks with what has come before.
        let n_pdu = n_pdu_of(traffic);
        let last = i(&n_pdu, 9, true);
        assert_eq!([answered(traffic, &last), answered(traffic, &last)], [None, Some(10)]);
        let mut later = Vec::new();
        for n in 10..14 {
            later.push(answered(traffic, &i(&n_pdu_of(traffic), n, false)));
        }
        assert_eq!(later, [None; 4], "it is not owed any more");
        assert_eq!(counted(&result(traffic)), [14, 0, 0, 1, 3]);
    });
}

/// Each octet changed: nothing of it is delivered or acknowledged, and V(R) stays.
pub fn a_damaged_i_frame_does_not_count() {
    unattached(acknowledged(1), |traffic| {
        let n_pdu = n_pdu_of(traffic);
        let right = i(&n_pdu, 0, true);
        let first = right.len() - (llc::I_HEADER_LEN + 3 + n_pdu.len() + 3);
        for at in first..right.len() {
            let mut changed = right.clone();
            changed[at] ^= 1 << (at % 7);
            // But for bits by which it is another kind of frame, or none of ours, which the control plane is given.
            assert_eq!(answered(traffic, &changed), None, "octet {}", at - first);
        }
        assert_eq!(counted(&result(traffic))[0], 0);
        assert!(result(traffic).corrupt >= 370);
        assert_eq!(answered(traffic, &right), Some(1));
    });
}

/// Who asks by an S frame is answered, SABM begins anew and goes on, and a flow comes in its own mode.
pub fn what_belongs_to_the_link() {
    let mut config = acknowledged(2);
    config.flows[1].received = None;
    unattached(config, |traffic| {
        let of = |user| loop {
            let n_pdu = n_pdu_of(traffic);
            if mark(&n_pdu).0 == user {
                break n_pdu;
            }
        };
        let (first, second, other, another) = (of(0), of(0), of(1), of(1));
        assert_eq!(answered(traffic, &i(&first, 0, false)), None);
        let s = |ack_request| {
            let control = Control::S { ack_request, nr: 0, supervisory: Supervisory::Rr };
            let mut ll_pdu = llc::Header { cr: true, sapi: Sapi(3), control }.emit().to_vec();
            ll_pdu.extend(gannet_wire::fcs24::fcs24(&ll_pdu));
            ll_pdu
        };
        assert_eq!(answered(traffic, &framed(0, &s(true))), Some(1));
        assert!(traffic.sink(&framed(0, &s(false))).unwrap() && traffic.sink(&framed(1, &s(true))).unwrap());
        // In the other mode.
        assert_eq!(counted(&result(traffic)), [1, 0, 0, 0, 1]);
        traffic.sink(&ethernet(&downlink(&second, target(0, 1), 1520)[0], 23_000, 22_000)).unwrap();
        assert_eq!(answered(traffic, &i(&other, 0, true)), None);
        assert_eq!(counted(&result(traffic)), [1, 2, 0, 0, 1]);
        traffic.sink(&ethernet(&downlink(&another, target(1, 1), 1520)[0], 23_000, 22_000)).unwrap();
        let control = Control::U { poll_final: true, function: UFunction::Sabm };
        let mut sabm = llc::Header { cr: true, sapi: Sapi(3), control }.emit().to_vec();
        sabm.extend(gannet_wire::fcs24::fcs24(&sabm));
        assert!(traffic.sink(&framed(0, &sabm)).unwrap(), "the emulator answers it");
        assert_eq!(answered(traffic, &i(&second, 0, true)), Some(1));
        assert_eq!(counted(&result(traffic)), [3, 2, 0, 0, 2]);
    });
}

/// What is under way from one step to the next counts nowhere, and its link goes on.
pub fn links_go_on_from_step_to_step() {
    unattached(acknowledged(1), |traffic| {
        let late = n_pdu_of(traffic);
        traffic.begin(std::time::Duration::from_secs(3600));
        assert_eq!(answered(traffic, &i(&late, 0, true)), Some(1));
        assert_eq!(answered(traffic, &i(&n_pdu_of(traffic), 1, true)), Some(2));
        let result = result(traffic);
        assert_eq!((counted(&result), result.other_step), ([1, 0, 0, 0, 2], 1));
    });
}

/// Wireshark reads question and answer as we do.
pub fn wireshark_agrees() {
    unattached(acknowledged(1), |traffic| {
        let question = i(&n_pdu_of(traffic), 0, true);
        let answer = traffic.sink_answers(&question).unwrap().unwrap();
        let mut capture = Capture::new();
        capture.add_udp(23_000, 23_000, &question[42..]);
        capture.add_udp(23_000, 23_000, &answer[42..]);
        let fields = [
            "bssgp.pdu_type",
            "gsm_a.rr.tlli",
            "llcgprs.sapib",
            "llcgprs.cr",
            "llcgprs.ai",
            "llcgprs.sackns",
            "llcgprs.as",
            "llcgprs.nr",
            "llcgprs.s1s2",
            "_ws.malformed",
        ];
        let rows = capture.dissect(&["-d", "udp.port==23000,gprs-ns"], &fields);
        let tlli = format!("0x{:08x}", tlli_of(0));
        assert_eq!(rows[0][..4], ["0x00", tlli.as_str(), "3", "1"].map(str::to_owned));
        assert_eq!((rows[0][5].as_str(), rows[0][9].as_str()), ("0", ""));
        assert_eq!(rows[1][..4], ["0x01", tlli.as_str(), "3", "1"].map(str::to_owned));
        assert_eq!(rows[1][6..], ["0", "1", "0x0000", ""].map(str::to_owned));
        let details = capture.details(&["-d", "udp.port==23000,gprs-ns"]);
        assert_eq!(details.matches("(correct)").count(), 2, "{details}");
    });
}

/// What the driver cannot do is refused.
pub fn what_cannot_be_answered_is_refused() {
    let refused = |change: &dyn Fn(&mut TrafficConfig)| {
        let mut config = acknowledged(2);
        change(&mut config);
        config.check().unwrap_err()
    };
    assert!(acknowledged(2).check().is_ok());
    let up = |config: &mut TrafficConfig| {
        let up = FlowSpec { received: Some(0), ..config.flows[0].up(teid_of(0)) };
        config.flows.push(up);
    };
    assert!(refused(&up).contains("flow 2"), "{}", refused(&up));
    assert!(refused(&|config| config.answer_after = 15).contains("14 I frames"));
    assert!(refused(&|config| config.flows[1].size = 1501).contains("1500 octets"));
}

//! BSSGP against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod gb;

use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::bssgp::ie::{
    FlushAction, Granularity, Lai, PagingArea, PduLifetime, Precedence, PriorityClass, RaCapUpdCause,
    RadioCause,
};
use gannet_wire::bssgp::signalling::{
    FlowControlBvc, FlowControlMs, FlushLlAck, LlcDiscarded, MobileRef, PagingCs, PagingPs,
    RaCapabilityUpdateAck, Status,
};
use gannet_wire::bssgp::{Cause, DlUnitdata, Message, PduType, QosProfile, UlUnitdata};
use gannet_wire::id::{Bvci, CellId, Plmn, Rai, Sapi, Tlli};
use std::process::ExitCode;

const TLLI: Tlli = Tlli(0xc123_4567);
const PLMN: Plmn = Plmn::from_octets([0x62, 0xf2, 0x24]);
const RAI: Rai = Rai { plmn: PLMN, lac: 0x1234, rac: 0x56 };
const CELL: CellId = CellId { rai: RAI, ci: 6969 };
const IMSI: &str = "262420000000017";
/// GSM E with power class 5, controlled early classmark sending and R99, and nothing else.
const MS_RAC: [u8; 4] = [0x11, 0xf5, 0x02, 0x00];

/// A PDU with what tshark should say: the identifiers of its elements in order, and lines of its dissection.
struct Case {
    pdu: Vec<u8>,
    ies: &'static str,
    lines: Vec<&'static str>,
}

fn case(message: &Message, ies: &'static str, lines: &[&'static str]) -> Case {
    let pdu = message.to_vec();
    assert_eq!(Message::parse(&pdu).as_ref(), Ok(message));
    Case { pdu, ies, lines: lines.to_vec() }
}

/// Nothing malformed, missing or left over; every element in its place, every line as expected.
fn check(cases: &[Case]) {
    let mut capture = Capture::new();
    cases.iter().for_each(|case| capture.add_udp(23000, 22000, &[&[0; 4], &case.pdu[..]].concat()));
    let text = capture.details(&gb::OPTIONS);
    let frames: Vec<&str> = text.split("\nBase Station Subsystem GPRS Protocol\n").skip(1).collect();
    assert_eq!(frames.len(), cases.len());
    for (frame, case) in frames.iter().zip(cases) {
        let frame = frame.split("\nFrame ").next().unwrap();
        let pdu = &case.pdu;
        for wrong in ["Malformed", "Expert Info", "Extraneous", "Missing Mandatory", "Not dissected"] {
            assert!(!frame.contains(wrong), "{pdu:02x?}: {frame}");
        }
        let ies: Vec<&str> = frame.lines().filter_map(|l| l.trim().strip_prefix("Element ID: 0x")).collect();
        assert_eq!(ies.join(" "), case.ies, "{pdu:02x?}: {frame}");
        for line in &case.lines {
            assert!(frame.lines().any(|l| l.trim().ends_with(line)), "{line:?} of {pdu:02x?}: {frame}");
        }
    }
}

/// Text of a dissection with letters and digits alone, in lower case.
fn plain(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase()
}

fn details(pdus: impl IntoIterator<Item = Vec<u8>>) -> String {
    let mut capture = Capture::new();
    pdus.into_iter().for_each(|pdu| capture.add_udp(23000, 22000, &[vec![0; 4], pdu].concat()));
    plain(&capture.details(&gb::OPTIONS))
}

/// tshark's text for each value is ours, but for punctuation.
fn names() {
    let all = |label: &str, texts: Vec<(String, u8)>, dissection: String| {
        for (text, octet) in texts {
            let text = plain(&text);
            // tshark writes UNBLOCK for BVC-UNBLOCK.
            let candidates = [
                format!("{label}{text}{octet:#04x}"),
                format!("{label}{text}{octet}"),
                format!("{label}{}{octet:#04x}", text.trim_start_matches("bvc")),
            ];
            assert!(candidates.iter().any(|line| dissection.contains(line)), "{text} is not among them");
        }
    };
    let causes = Cause::ALL.iter().map(|cause| (cause.to_string(), cause.octet())).collect();
    let blocks = Cause::ALL.iter().map(|cause| Message::BvcBlock { bvci: Bvci(2), cause: *cause }.to_vec());
    all("cause", causes, details(blocks));
    // PTM-UNITDATA was taken out again later, and tshark knows the later specification.
    let types: Vec<_> = PduType::ALL.iter().filter(|pdu_type| **pdu_type != PduType::PtmUnitdata).collect();
    let texts = types.iter().map(|pdu_type| (pdu_type.to_string(), pdu_type.octet())).collect();
    all("pdutype", texts, details(types.iter().map(|pdu_type| vec![pdu_type.octet()])));
}

const QOS_LINES: [&str; 5] = [
    "Peak bit rate: 700 bits/s",
    "C/R: The SDU does not contain a LLC ACK or SACK command/response frame type",
    "T: The SDU contains data",
    "A: Radio interface uses RLC/MAC ARQ functionality",
    "Precedence: 2 Radio priority 3",
];
const IMSI_LINE: &str = "IMSI: 262420000000017";
const TLLI_LINE: &str = "TLLI: 0xc1234567";
const RAI_LINE: &str = "Routing area identification: 262-42-4660-86";

const QOS: QosProfile = QosProfile {
    peak_bit_rate: 7,
    granularity: 0,
    not_ack: true,
    data: true,
    rlc_unacknowledged: false,
    precedence: Precedence::LOW,
};

fn paging_ps() {
    let imsi = IMSI.parse().unwrap();
    let full =
        |area| PagingPs { imsi, drx: Some(0x0a00), area, pfi: Some(9), qos: QOS, ptmsi: Some(0xdead_beef) };
    let cases = [
        (PagingArea::Bvc(Bvci(77)), "0d 0a 04 28 18 20", "BVCI: 0x004d"),
        (PagingArea::RoutingArea(RAI), "0d 0a 1b 28 18 20", RAI_LINE),
        (
            PagingArea::LocationArea(Lai { plmn: PLMN, lac: 0x1234 }),
            "0d 0a 10 28 18 20",
            "Location Area Code (LAC): 0x1234 (4660)",
        ),
        (PagingArea::BssArea(0), "0d 0a 02 28 18 20", "BSS indicator: 0x00"),
    ]
    .map(|(area, ies, line)| {
        let more = [
            line,
            IMSI_LINE,
            "SPLIT PG CYCLE CODE: 10 (10)",
            "Packet Flow Identifier (PFI): Dynamically assigned (9)",
            "TMSI/P-TMSI: 3735928559 (0xdeadbeef)",
        ];
        case(&Message::PagingPs(full(area)), ies, &[&more[..], &QOS_LINES].concat())
    });
    check(&cases);
    let least = PagingPs { drx: None, pfi: None, ptmsi: None, ..full(PagingArea::Bvc(Bvci(77))) };
    check(&[case(&Message::PagingPs(least), "0d 04 18", &QOS_LINES)]);
}

fn paging_cs() {
    let cs = PagingCs {
        imsi: IMSI.parse().unwrap(),
        drx: Some(0x0a00),
        area: PagingArea::Bvc(Bvci(77)),
        tlli: Some(TLLI),
        channel_needed: None,
        emlpp_priority: Some(5),
        tmsi: Some(0xdead_beef),
    };
    let lines = [
        IMSI_LINE,
        "BVCI: 0x004d",
        TLLI_LINE,
        "eMLPP Priority: Call priority level 0 (0x5)",
        "TMSI/P-TMSI: 3735928559 (0xdeadbeef)",
    ];
    // tshark 4.0 stops reading this PDU behind Channel Needed, so that stands last once.
    let channel = PagingCs { channel_needed: Some(2), emlpp_priority: None, tmsi: None, ..cs };
    check(&[
        case(&Message::PagingCs(cs), "0d 0a 04 1f 0b 20", &lines),
        case(&Message::PagingCs(channel), "0d 0a 04 1f 09", &["Channel 1: TCH/F (Full rate) (2)"]),
    ]);
}

fn mobile() {
    let capability = || MS_RAC.to_vec();
    let rac_lines =
        [TLLI_LINE, "Length in bits: 0x0f (15)", "Revision Level Indicator: The ME is Release '99 onwards"];
    let ack = |cause, ms_ra_capability| {
        let imsi = IMSI.parse().ok();
        Message::RaCapabilityUpdateAck(RaCapabilityUpdateAck {
            tlli: TLLI,
            tag: 42,
            imsi,
            cause,
            ms_ra_capability,
        })
    };
    let status = |mobile, cause| Message::RadioStatus { mobile, cause };
    let (by_tlli, by_tmsi) = (MobileRef::Tlli(TLLI), MobileRef::Tmsi(0xdead_beef));
    let by_imsi = MobileRef::Imsi(IMSI.parse().unwrap());
    let message = Message::RaCapability { tlli: TLLI, ms_ra_capability: capability() };
    let update = Message::RaCapabilityUpdate { tlli: TLLI, tag: 42 };
    let ack_lines = [&rac_lines[..], &[IMSI_LINE, "Tag: 42"]].concat();
    check(&[
        case(&message, "1f 13", &rac_lines),
        case(&update, "1f 1e", &[TLLI_LINE, "Tag: 42"]),
        case(&ack(RaCapUpdCause::Ok, Some(capability())), "1f 1e 0d 1a 13", &ack_lines),
        case(
            &ack(RaCapUpdCause::TlliUnknown, None),
            "1f 1e 0d 1a",
            &["RA-Cap-UPD Cause: TLLI unknown in SGSN (1)"],
        ),
        case(
            &status(by_tlli, RadioCause::ContactLost),
            "1f 19",
            &[TLLI_LINE, "Radio Cause: Radio contact lost with the MS (0)"],
        ),
        case(
            &status(by_tmsi, RadioCause::CellReselectionOrdered),
            "20 19",
            &["TMSI/P-TMSI: 3735928559 (0xdeadbeef)", "Radio Cause: Cell reselection ordered (2)"],
        ),
        case(&status(by_imsi, RadioCause::LinkQualityInsufficient), "0d 19", &[IMSI_LINE]),
    ]);
}

fn suspend_and_resume() {
    let common = [TLLI_LINE, RAI_LINE];
    let reference = [TLLI_LINE, RAI_LINE, "Suspend Reference Number: 9"];
    let caused = [TLLI_LINE, RAI_LINE, "Cause: Unknown MS (4)"];
    let (tlli, rai, cause) = (TLLI, RAI, Some(Cause::UnknownMs));
    check(&[
        case(&Message::Suspend { tlli, rai }, "1f 1b", &common),
        case(&Message::SuspendAck { tlli, rai, reference: 9 }, "1f 1b 1d", &reference),
        case(&Message::SuspendNack { tlli, rai, cause }, "1f 1b 07", &caused),
        case(&Message::Resume { tlli, rai, reference: 9 }, "1f 1b 1d", &reference),
        case(&Message::ResumeAck { tlli, rai }, "1f 1b", &common),
        case(&Message::ResumeNack { tlli, rai, cause }, "1f 1b 07", &caused),
    ]);
}

fn bvc() {
    let bvci = Bvci(77);
    let common = ["BVCI: 0x004d"];
    let caused = ["BVCI: 0x004d", "Cause: O&M intervention (8)"];
    let cell = ["BVCI: 0x004d", RAI_LINE, "CI: 0x1b39"];
    let features = ["BVCI: 0x0000", "Packet Flow Context(PFC) Procedures: Supported"];
    let cause = Cause::OamIntervention;
    check(&[
        case(&Message::BvcBlock { bvci, cause }, "04 07", &caused),
        case(&Message::BvcBlockAck { bvci }, "04", &common),
        case(&Message::BvcUnblock { bvci }, "04", &common),
        case(&Message::BvcUnblockAck { bvci }, "04", &common),
        case(&Message::BvcReset { bvci, cause, cell: Some(CELL), features: None }, "04 07 08", &cell),
        case(&Message::BvcResetAck { bvci, cell: Some(CELL), features: None }, "04 08", &cell),
        case(
            &Message::BvcReset { bvci: Bvci(0), cause, cell: None, features: Some(1) },
            "04 07 3b",
            &features,
        ),
        case(&Message::BvcResetAck { bvci: Bvci(0), cell: None, features: Some(1) }, "04 3b", &features),
    ]);
}

fn flow_control() {
    let bvc = FlowControlBvc {
        tag: 7,
        bucket_size: 1001,
        leak_rate: 802,
        bmax_default_ms: 503,
        r_default_ms: 404,
        bucket_full_ratio: Some(50),
        measurement: Some(190),
        granularity: Granularity(1),
    };
    let bvc_lines = [
        "Tag: 7",
        "Bmax(x 100 or in increments as defined by the Flow Control Granularity IE): 1001",
        "R(x 100 or in increments as defined by the Flow Control Granularity IE): 802",
        "Bmax(x 100 or in increments as defined by the Flow Control Granularity IE): 503",
        "R_default_MS(x 100 or in increments as defined by the Flow Control Granularity IE): 404",
        "Ratio of the bucket that is filled up with data: 50",
        "Delay Value (in centi-seconds): 190",
        "Granularity: 1000 octets or bits/s increments (1)",
    ];
    let granularity = Granularity::R99;
    let ms = FlowControlMs {
        tlli: TLLI,
        tag: 8,
        bucket_size: 1001,
        leak_rate: 802,
        bucket_full_ratio: None,
        granularity,
    };
    let ms_lines = [
        TLLI_LINE,
        "Tag: 8",
        "Bmax(x 100 or in increments as defined by the Flow Control Granularity IE): 1001",
        "R(x 100 or in increments as defined by the Flow Control Granularity IE): 802",
    ];
    check(&[
        case(&Message::FlowControlBvc(bvc), "1e 05 03 01 1c 3c 06 7e", &bvc_lines),
        case(&Message::FlowControlBvcAck { tag: 7 }, "1e", &["Tag: 7"]),
        case(&Message::FlowControlMs(ms), "1f 1e 12 03", &ms_lines),
        case(&Message::FlowControlMsAck { tlli: TLLI, tag: 8 }, "1f 1e", &[TLLI_LINE, "Tag: 8"]),
    ]);
}

fn flush_and_discard() {
    let flush = |new_bvci, new_nsei| Message::FlushLl { tlli: TLLI, old_bvci: Bvci(2), new_bvci, new_nsei };
    let ack = FlushLlAck {
        tlli: TLLI,
        action: FlushAction::Transferred,
        new_bvci: Some(Bvci(3)),
        octets: 70_000,
        // tshark 4.0 knows NSEI (new) but does not take it apart.
        new_nsei: None,
    };
    let ack_lines = [
        TLLI_LINE,
        "Action: LLC-PDU(s) transferred (1)",
        "BVCI: 0x0003",
        "Number of octets transferred or deleted: 70000",
    ];
    let discarded = LlcDiscarded { tlli: TLLI, frames: 3, bvci: Bvci(2), octets: 1500 };
    let discarded_lines = [
        TLLI_LINE,
        "Number of frames discarded: 3",
        "BVCI: 0x0002",
        "Number of octets transferred or deleted: 1500",
    ];
    check(&[
        case(&flush(Some(Bvci(3)), None), "1f 04 04", &["BVCI: 0x0002", "BVCI: 0x0003"]),
        case(&flush(None, None), "1f 04", &[TLLI_LINE, "BVCI: 0x0002"]),
        case(&Message::FlushLlAck(ack), "1f 0c 04 25", &ack_lines),
        case(&Message::LlcDiscarded(discarded), "1f 0f 04 25", &discarded_lines),
    ]);
}

fn registration_and_overload() {
    let imsi = IMSI.parse().unwrap();
    let response = |plmn| Message::MsRegistrationEnquiryResponse { imsi, plmn };
    // tshark knows these two by name and shows their elements as octets.
    check(&[
        case(&Message::MsRegistrationEnquiry { imsi }, "", &["Message Elements: 0d882926240000000071"]),
        case(&response(None), "", &["Message Elements: 0d882926240000000071"]),
        case(&response(Some(PLMN)), "", &["Message Elements: 0d8829262400000000718e8362f224"]),
        case(
            &Message::Overload { classes: Some(PriorityClass::LOW_ACCESS_PRIORITY) },
            "8f",
            &["A mobile station configured for 'low access priority': True"],
        ),
        case(&Message::Overload { classes: None }, "", &["PDU Type: OVERLOAD (0x42)"]),
    ]);
}

fn status() {
    let in_error = Message::FlowControlBvcAck { tag: 1 }.to_vec();
    let status = Status::about_pdu(Cause::BvciUnknown, Some(Bvci(9)), &in_error);
    let lines = ["Cause: BVCI unknown (5)", "BVCI: 0x0009", "PDU Type: FLOW-CONTROL-BVC-ACK (0x27)"];
    check(&[case(&Message::Status(status), "07 04 15", &lines)]);
}

fn unitdata() {
    let llc = gb::ll_pdu(
        &gannet_wire::llc::Header {
            cr: true,
            sapi: Sapi::GMM,
            control: gannet_wire::llc::Control::Ui { nu: 0, encrypted: false, protected: true },
        },
        &[0x08, 0x03],
    );
    let up = UlUnitdata { pfi: Some(9), ..UlUnitdata::new(TLLI, QOS, CELL) };
    let mut uplink = vec![0; up.buffer_len(llc.len())];
    assert!(up.emit(llc.len(), &mut uplink));
    uplink.extend(&llc);
    let down = DlUnitdata {
        ms_ra_capability: Some(&MS_RAC),
        priority: Some(0x0d),
        drx: Some(0x0a00),
        imsi: IMSI.parse().ok(),
        old_tlli: Some(Tlli(0x8000_0001)),
        pfi: Some(9),
        lsa_information: Some(&[0x00, 0x00, 0x12, 0x34, 0x56]),
        service_utran_cco: Some(1),
        alignment: Some(2),
        ..DlUnitdata::new(TLLI, QOS, PduLifetime(1000))
    };
    let mut downlink = vec![0; down.buffer_len(llc.len())];
    assert!(down.emit(llc.len(), &mut downlink));
    downlink.extend(&llc);
    let both = [
        TLLI_LINE,
        "T: The SDU contains data",
        "Packet Flow Identifier (PFI): Dynamically assigned (9)",
        "SAPI: GPRS Mobility Management (1)",
        "FCS: 0xb64fcf (correct)",
    ];
    let up_lines = ["Precedence: 2 Low priority", RAI_LINE, "CI: 0x1b39"];
    let down_lines = [
        "Delay Value (in centi-seconds): 1000",
        IMSI_LINE,
        "TLLI: 0x80000001",
        "Revision Level Indicator: The ME is Release '99 onwards",
        "SPLIT PG CYCLE CODE: 10 (10)",
    ];
    check(&[
        Case { pdu: uplink, ies: "08 28 00 0e", lines: [&both[..], &up_lines].concat() },
        Case {
            pdu: downlink,
            ies: "16 13 17 0a 0d 1f 28 27 3d 00 0e",
            lines: [&both[..], &down_lines].concat(),
        },
    ]);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("names", &[Need::Tshark], names),
        ("paging_ps", &[Need::Tshark], paging_ps),
        ("paging_cs", &[Need::Tshark], paging_cs),
        ("mobile", &[Need::Tshark], mobile),
        ("suspend_and_resume", &[Need::Tshark], suspend_and_resume),
        ("bvc", &[Need::Tshark], bvc),
        ("flow_control", &[Need::Tshark], flow_control),
        ("flush_and_discard", &[Need::Tshark], flush_and_discard),
        ("registration_and_overload", &[Need::Tshark], registration_and_overload),
        ("status", &[Need::Tshark], status),
        ("unitdata", &[Need::Tshark], unitdata),
    ])
}

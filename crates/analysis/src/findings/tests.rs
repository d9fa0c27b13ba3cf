use super::{Analysis, Finding, Names, Report, analyze};
use crate::reading::{Reading, Settings};
use crate::record::{
    AckNack, BlockContents, Carrier, DataBlock, Direction, IpSummary, Packet, Proof, RadioBlock, Record,
    Seen, Stamp, TcpSegment,
};
use gannet_wire::rlcmac::coding::CodingScheme;

const MS: u64 = 1_000_000;

fn of_file(name: &str) -> Report {
    let path = format!("{}/tests/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
    let mut reading = Reading::open(&[path], Settings::default()).unwrap();
    let report = analyze(&mut reading);
    assert!(reading.damages().is_empty());
    report
}

fn of_records(records: Vec<(u64, Record)>) -> Report {
    let mut analysis = Analysis::default();
    for ((at, what), frame) in records.into_iter().zip(1..) {
        analysis.take(&Seen { at: Stamp(at * MS), proof: Proof { file: 0, frame }, place: 0, what });
    }
    analysis.finish(&Names::default())
}

fn find<'r>(report: &'r Report, kind: &str) -> &'r Finding {
    report.findings.iter().find(|finding| finding.kind == kind).unwrap_or_else(|| panic!("{}", report.text()))
}

fn number(finding: &Finding, name: &str) -> f64 {
    finding.numbers.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{finding}")).1
}

fn frames(finding: &Finding) -> Vec<u64> {
    finding.proofs.iter().map(|proof| proof.frame).collect()
}

#[test]
fn a_capture_of_a_host_says_what_its_bottleneck_holds() {
    let report = of_file("drop-sender");
    let buffer = find(&report, "tcp-buffer");
    assert!((number(buffer, "ip_octets") - 36_000.0).abs() <= 4_500.0, "{buffer}");
    assert!(buffer.of.contains("10.9.0.1:") && buffer.of.contains(" → 10.9.0.2:5001"), "{buffer}");
    assert_eq!(number(find(&report, "tcp-throughput"), "octets"), 300_000.0);
    let again = find(&report, "tcp-sent-again");
    assert!(number(again, "all") >= 30.0 && number(again, "fast") >= 25.0, "{again}");
    assert_eq!(again.proofs.len(), super::PROOFS_MAX);
    assert!(number(find(&report, "tcp-rtt"), "least_s") >= 0.2);
    assert!(report.text().lines().count() == report.findings.len());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["findings"].as_array().unwrap().len(), report.findings.len());
}

#[test]
fn a_spurious_timeout_is_named_with_both_copies() {
    let report = of_file("spike-sender");
    let spurious: Vec<&Finding> =
        report.findings.iter().filter(|finding| finding.kind == "tcp-spurious-timeout").collect();
    assert_eq!(spurious.len(), 2);
    assert!(spurious[0].text.contains("first copy's timestamp"), "{}", spurious[0]);
    assert_eq!(frames(spurious[1]), [72, 73]);
    let outage = find(&report, "tcp-outage");
    assert!((3.5..4.6).contains(&number(outage, "length_s")), "{outage}");
    assert!(!report.findings.iter().any(|finding| finding.kind == "tcp-buffer"));
}

fn segment(is_forward: bool, from: u32, length: u32, acknowledgement: u32) -> Record {
    Record::Tcp(TcpSegment {
        connection: 0,
        is_forward,
        sequence: from,
        acknowledgement,
        length,
        flags: 0x10,
        window: 10_000,
        sack: Vec::new(),
        timestamps: None,
        scale: None,
        mss: None,
        identification: 0,
        ip_octets: length + 40,
    })
}

#[test]
fn timeouts_again_and_again_are_named() {
    let mut records = Vec::new();
    let mut at = 0;
    for round in 0..4 {
        let from = 1 + round * 2_000;
        records.push((at, segment(true, from, 1_000, 1)));
        records.push((at + 1, segment(true, from + 1_000, 1_000, 1)));
        records.push((at + 600, segment(false, 1, 0, from + 1_000)));
        // The second one is lost, and nothing is behind it.
        records.push((at + 4_000, segment(true, from + 1_000, 1_000, 1)));
        records.push((at + 4_700, segment(false, 1, 0, from + 2_000)));
        at += 5_000;
    }
    let report = of_records(records);
    let finding = find(&report, "tcp-repeated-timeouts");
    assert_eq!(
        (number(finding, "timeouts"), number(finding, "segments_outstanding_most")),
        (4.0, 2.0),
        "{finding}"
    );
    assert_eq!(frames(finding), [4, 9, 14, 19]);
}

fn block(direction: Direction, contents: BlockContents) -> Record {
    Record::Radio(RadioBlock { arfcn: 871, timeslot: 4, frame_number: 0, direction, contents })
}

fn data(bsn: u8) -> Record {
    let data = DataBlock {
        scheme: Some(CodingScheme::Cs2),
        tfi: 1,
        bsn,
        countdown: 15,
        polls_or_stalls: bsn == 9,
        rrbp: (bsn == 9).then_some(0),
        user_octets: 30,
        digest: bsn.into(),
        ..DataBlock::default()
    };
    block(Direction::Down, BlockContents::Data(data))
}

#[test]
fn blocks_say_what_they_were_spent_on_and_which_came_without_need() {
    let mut records: Vec<(u64, Record)> = (0..10).map(|bsn| (u64::from(bsn) * 20, data(bsn))).collect();
    let report =
        AckNack { tfi: 1, of: Direction::Down, is_final: false, ssn: 10, received: !(1 << 6), asks: false };
    records.push((300, block(Direction::Up, BlockContents::AckNack(report.clone()))));
    records.push((320, data(3)));
    records.push((330, block(Direction::Up, BlockContents::AckNack(report.clone()))));
    records.push((360, data(3)));
    records.push((700, data(3)));
    records.push((720, block(Direction::Down, BlockContents::Dummy)));
    records.push((900, block(Direction::Up, BlockContents::AckNack(AckNack { is_final: true, ..report }))));
    let report = of_records(records);
    let again = find(&report, "rlc-sent-again");
    let numbers = ["new", "needed", "repeated", "premature", "acknowledged"].map(|name| number(again, name));
    assert_eq!(numbers, [10.0, 1.0, 1.0, 1.0, 0.0], "{again}");
    assert_eq!(frames(again), [14, 15, 12], "needless ones first");
    let blocks = find(&report, "radio-blocks");
    assert_eq!(["blocks", "again", "dummy"].map(|name| number(blocks, name)), [14.0, 3.0, 1.0], "{blocks}");
    assert!(blocks.text.contains("71.4 % carried new data"), "{blocks}");
    let life = find(&report, "tbf-life");
    assert_eq!((number(life, "released"), number(life, "dummies")), (1.0, 1.0), "{life}");
    let rate = find(&report, "rlc-rate");
    assert_eq!(number(rate, "line_bits_per_s"), 12_000.0, "{rate}");
    let reports = find(&report, "rlc-reports");
    assert_eq!(
        (number(reports, "polls_or_stalls"), number(reports, "round_trip_s")),
        (1.0, 0.12),
        "{reports}"
    );
}

fn echo(number: u16, is_answer: bool) -> Record {
    let ip = IpSummary {
        source: core::net::Ipv4Addr::new(192, 0, 2, 1).into(),
        destination: core::net::Ipv4Addr::new(192, 0, 2, 2).into(),
        protocol: 1,
        identification: 0,
        ports: Some((77, number)),
        icmp_type: Some(if is_answer { 0 } else { 8 }),
        is_fragment: false,
    };
    Record::Packet(Packet {
        direction: None,
        mobile: None,
        digest: None,
        ip: Some(ip),
        octets: 60,
        began: Stamp(0),
        first: Proof { file: 0, frame: 1 },
        carrier: Carrier::Plain,
    })
}

#[test]
fn pings_that_swing_are_said_to_and_lost_ones_are_counted() {
    let run = |swing: u64| {
        let mut records = Vec::new();
        for number in 0..20_u16 {
            let at = u64::from(number) * 1_000;
            records.push((at, echo(number, false)));
            records.push((at + 600 + u64::from(number % 2) * swing, echo(number, true)));
        }
        records.push((30_000, echo(99, false)));
        of_records(records)
    };
    let report = run(100);
    let pings = find(&report, "ping-rtt");
    let numbers = ["requests", "answers", "least_s", "most_s", "swing_s"].map(|name| number(pings, name));
    assert_eq!(numbers, [21.0, 20.0, 0.6, 0.7, 0.1], "{pings}");
    let steady = run(0);
    assert_eq!(number(find(&steady, "ping-rtt"), "swing_s"), 0.0);
}

#[test]
fn nothing_says_nothing() {
    assert_eq!(of_records(Vec::new()).text(), "");
}

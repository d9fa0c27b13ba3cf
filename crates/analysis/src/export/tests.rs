use super::{csv, plot, xplot};
use crate::findings::{Names, analyze};
use crate::reading::{Reading, Settings};
use crate::record::{BlockContents, DataBlock, Direction, Proof, RadioBlock, Record, Seen, Stamp};
use gannet_wire::rlcmac::coding::CodingScheme;

fn reading() -> Reading {
    let path = format!("{}/tests/captures/spike-sender.pcap", env!("CARGO_MANIFEST_DIR"));
    Reading::open(&[path], Settings::default()).unwrap()
}

/// Commas that stand outside quotation marks.
fn commas(line: &str) -> usize {
    line.split('"').step_by(2).map(|part| part.matches(',').count()).sum()
}

#[test]
fn each_segment_is_a_line_with_all_columns() {
    let mut text = Vec::new();
    for record in reading() {
        if let Record::Tcp(segment) = record.what {
            let seen = Seen { at: record.at, proof: record.proof, place: record.place, what: segment };
            csv::segments(&mut text, &seen).unwrap();
        }
    }
    let text = String::from_utf8(text).unwrap();
    assert_eq!(text.lines().count(), 98);
    assert!(text.lines().all(|line| commas(line) == commas(csv::SEGMENT_COLUMNS)));
    let syn = text.lines().next().unwrap();
    assert!(syn.contains(",1,1,") && syn.ends_with(",60"), "{syn}");
}

#[test]
fn each_block_is_a_line_with_all_columns() {
    let data = DataBlock {
        scheme: Some(CodingScheme::Cs2),
        tfi: 3,
        bsn: 9,
        countdown: 15,
        polls_or_stalls: true,
        user_octets: 30,
        ..DataBlock::default()
    };
    let control = BlockContents::Control { name: "A, \"B\"", tlli: None };
    for (contents, end) in [
        (BlockContents::Data(data), "down,data,3,9,CS-2,30,1\n"),
        (BlockContents::Dummy, "down,dummy,,,,,\n"),
        (control, "down,\"A, \"\"B\"\"\",,,,,\n"),
    ] {
        let what =
            RadioBlock { arfcn: 871, timeslot: 2, frame_number: 77, direction: Direction::Down, contents };
        let proof = Proof { file: 1, frame: 5 };
        let mut line = Vec::new();
        csv::blocks(&mut line, &Seen { at: Stamp(1_500_000_001), proof, place: 4, what }).unwrap();
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, format!("1.500000001,2,5,4,871,2,77,{end}"));
        assert_eq!(commas(&line), commas(csv::BLOCK_COLUMNS));
    }
}

#[test]
fn findings_and_plots_have_all_that_the_report_has() {
    let report = analyze(&mut reading());
    let mut text = Vec::new();
    report.findings.iter().for_each(|finding| csv::findings(&mut text, finding).unwrap());
    let text = String::from_utf8(text).unwrap();
    assert!(text.lines().all(|line| commas(line) == commas(csv::FINDING_COLUMNS)), "{text}");
    assert!(text.contains("tcp-outage,"));
    let half = &report.connections[0].forward;
    let plot = |draw: &dyn Fn(&mut Vec<u8>)| {
        let mut octets = Vec::new();
        draw(&mut octets);
        String::from_utf8(octets).unwrap()
    };
    let sequence = plot(&|to| xplot::time_sequence(to, half, "a title\nin two lines").unwrap());
    assert!(sequence.starts_with("timeval unsigned\ntitle\na title in two lines\nxlabel\n"), "{sequence}");
    assert!(sequence.ends_with("\ngo\n"));
    assert_eq!((sequence.matches("\nR\n").count(), sequence.matches("\nred\n").count()), (2, 2));
    let outstanding = plot(&|to| xplot::outstanding(to, half, "t").unwrap());
    assert_eq!(outstanding.matches("\nline ").count() + 1, half.outstanding.points().len());
    let rtts = plot(&|to| xplot::round_trips(to, half.round_trips.points(), "t").unwrap());
    assert_eq!(rtts.matches("\ndot ").count(), half.round_trips.points().len());
}

#[test]
fn figures_are_legible_and_have_each_mark() {
    for (name, again) in [("spike-sender", 2), ("drop-sender", 38)] {
        let path = format!("{}/tests/captures/{name}.pcap", env!("CARGO_MANIFEST_DIR"));
        let mut reading = Reading::open(&[path], Settings::default()).unwrap();
        let report = analyze(&mut reading);
        let connection = &report.connections[0];
        let figure = plot::connection(&connection.forward, connection.first.0, (name, "A title")).unwrap();
        let svg = gannet_figure::svg(&figure, "");
        gannet_figure::check::legible(&svg).unwrap_or_else(|why| panic!("{name}: {why}"));
        let titles: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
        assert_eq!(titles, ["A title", "Outstanding data", "Round trips", "Throughput"]);
        let points = |panel: usize, curve: &str| {
            let found = figure.panels[panel].curves.iter().find(|it| it.name == curve);
            found.map_or(0, |it| it.points.len())
        };
        assert_eq!(points(0, "sent again"), again);
        assert_eq!(points(2, "segment sent once"), connection.forward.round_trips.points().len());
        // A report of a duplicate is no range above the acknowledged ones.
        assert_eq!(points(0, "selectively acknowledged") > 0, name == "drop-sender");
        assert!(points(0, "acknowledged") > 20 && points(0, "sent") > 20);
        assert_eq!(plot::connection(&connection.backward, connection.first.0, ("x", "x")), None);
    }
}

#[test]
fn layers_have_a_panel_for_each_place() {
    let path = |name| format!("{}/tests/captures/{name}.pcapng.gz", env!("CARGO_MANIFEST_DIR"));
    let paths = ["real-phone-um", "real-phone-core"].map(path);
    let mut reading = Reading::open(&paths, Settings::default()).unwrap();
    let report = analyze(&mut reading);
    let names = Names::of(&reading);
    for (direction, octets) in [(Direction::Down, 66_128.0), (Direction::Up, 2_806.0)] {
        let figure = plot::layers(&report.layers, &names, direction, "layers").unwrap();
        let svg = gannet_figure::svg(&figure, "");
        gannet_figure::check::legible(&svg).unwrap_or_else(|why| panic!("{why}"));
        let panel = |kind: &str| figure.panels.iter().find(|panel| panel.title.starts_with(kind)).unwrap();
        assert_eq!(figure.panels.len(), 3);
        let layers = |kind: &str| panel(kind).curves.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!(layers("radio"), ["RLC", "LLC", "SNDCP", "IP"]);
        assert_eq!(layers("Gb"), ["LLC", "SNDCP", "IP", "TCP"]);
        // The area below a curve is what was carried.
        let ip = panel("Gn").curves.iter().find(|it| it.name == "IP").unwrap();
        let sum: f64 = ip.points.iter().map(|point| point.y).sum();
        assert!((sum * 1e3 / 8.0 - octets).abs() < 1.0, "{sum}");
    }
}

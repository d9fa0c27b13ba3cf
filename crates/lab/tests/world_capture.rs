//! A capture of a virtual world: tshark reads every layer of it, and so does the analyser.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_analysis::record::Record;
use gannet_analysis::{Reading, Settings, findings};
use gannet_lab::radio::airtime::radio;
use gannet_lab::radio::capture::{EPOCH_NS, Point, Tape};
use gannet_lab::radio::world::{Setup, World};
use gannet_lab::tcp::config::Config;
use gannet_machine::time::Duration;
use gannet_node::bss::radio::Way;
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Case, Need, TempDir};
use gannet_wire::rlcmac::coding::CodingScheme;
use std::process::ExitCode;

const CASES: &[Case] = &[("tshark_and_the_analyser_read_a_world", &[Need::Tshark], tshark_and_the_analyser)];

fn main() -> ExitCode {
    gannet_testkit::main(CASES)
}

fn tshark_and_the_analyser() {
    let directory = TempDir::new("world-capture");
    let path = directory.path().join("world.pcapng");
    let tape = Tape::to_file(&path, &Point::ALL).unwrap();
    let radio = radio(CodingScheme::Cs2, 3, 1).unwrap();
    let mut world = World::recorded(&Setup::one_cell(radio, 2, 500, 7), std::slice::from_ref(&tape)).unwrap();
    world.connect(0, Way::Downlink, &Config::linux_2_4_2());
    world.connect(1, Way::Uplink, &Config::linux_2_4_2());
    world.run_until(world.gprs.now + Duration::from_secs(20));
    assert_eq!(world.close(Duration::from_secs(70)), Vec::<String>::new());
    assert_eq!(tape.finish().unwrap(), Vec::<u8>::new(), "all is in the file");

    let name = path.to_str().unwrap();
    let fields =
        ["frame.interface_name", "frame.protocols", "_ws.malformed", "frame.time_epoch", "frame.comment"];
    let options = ["-d", "udp.port==23000,gprs-ns"];
    let rows = dissect_file(name, &options, &fields);
    let malformed: Vec<_> = rows.iter().filter(|row| !row[2].is_empty()).collect();
    assert!(malformed.is_empty(), "{} malformed, first {:?}", malformed.len(), malformed.first());
    let count = |interface: &str, protocol: &str| {
        rows.iter().filter(|row| row[0] == interface && row[1].contains(protocol)).count()
    };
    for (interface, protocol) in [
        ("Um", "gsmtap"),
        ("Abis", "gsmtap"),
        ("Um", "gsm_rlcmac"),
        ("Gb", "gprs-ns"),
        ("Gb", "bssgp:llcgprs"),
        ("Gb", "sndcp"),
        ("Gb", "gsm_a.dtap"),
        ("Gn", "gtp:ip:tcp"),
        ("Gi", "tcp"),
        ("mobile 1", "tcp"),
        ("mobile 2", "tcp"),
    ] {
        assert!(count(interface, protocol) > 0, "{protocol} at {interface}");
    }
    let time = |row: &Vec<String>| row[3].parse::<f64>().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "seconds")]
    let epoch = EPOCH_NS as f64 / 1e9;
    assert!(rows.iter().all(|row| time(row) >= epoch && time(row) < epoch + 200.0));
    assert!(rows.iter().any(|row| row[4].contains("read by mobile 1")), "what became of a block");

    let mut reading = Reading::open(&[&path], Settings::default()).unwrap();
    let mut analysis = findings::Analysis::default();
    let (mut frames, mut unreadable) = (0, Vec::new());
    for seen in reading.by_ref() {
        frames = frames.max(seen.proof.frame);
        if let Record::Unreadable(what) = &seen.what {
            unreadable.push((seen.proof.frame, what.to_owned()));
        }
        analysis.take(&seen);
    }
    assert_eq!((frames, &unreadable[..]), (rows.len() as u64, &[][..]));
    assert_eq!((reading.damages().len(), reading.counts().frames), (0, rows.len() as u64));
    let report = analysis.finish(&findings::Names::of(&reading));
    let mut places: Vec<_> = reading.places().iter().filter_map(|place| place.name.as_deref()).collect();
    places.sort_unstable();
    assert_eq!(places, ["Abis", "Gb", "Gi", "Gn", "Um", "mobile 1", "mobile 2"]);
    assert_eq!(reading.connections().len(), 2);
    assert!(report.radio.tbfs.len() > 10 && !report.findings.is_empty());
}

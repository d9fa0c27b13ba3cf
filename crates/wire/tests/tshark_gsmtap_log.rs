//! Log lines in GSMTAP against Wireshark, field by field. Of their GSMTAP header it shows nothing but that it led here.

use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::gsmtap::{Header, PayloadType, UDP_PORT};
use gannet_wire::gsmtap_log::{Level, LogLine};
use std::process::ExitCode;

fn lines() {
    let mut capture = Capture::new();
    for level in Level::ALL {
        let line = LogLine {
            seconds: 1_700_000_000,
            microseconds: 5,
            process: "gannet",
            pid: 77,
            level: *level,
            subsystem: "ns",
            file: "vc.rs",
            line: 12,
            text: "NS-VC 1 is up",
        };
        let mut octets = Header::new(PayloadType::OsmocoreLog, false).emit().to_vec();
        line.emit(&mut octets);
        capture.add_udp(40000, UDP_PORT, &octets);
    }
    let fields = [
        "_ws.malformed",
        "gsmtap_log.ident",
        "gsmtap_log.pid",
        "gsmtap_log.level",
        "gsmtap_log.subsys",
        "gsmtap_log.src_file.name",
        "gsmtap_log.src_file.line_nr",
        "gsmtap_log.string",
        "gsmtap_log.timestamp",
    ];
    for (row, level) in capture.dissect(&[], &fields).into_iter().zip(Level::ALL) {
        let octet = level.octet().to_string();
        let (timestamp, row) = row.split_last().map_or(("", &row[..]), |(last, row)| (last.as_str(), row));
        assert_eq!(row, ["", "gannet", "77", &octet, "ns", "vc.rs", "12", "NS-VC 1 is up"]);
        assert!(timestamp.contains("2023") && timestamp.contains("20.000005"), "{timestamp}");
    }
}

fn main() -> ExitCode {
    gannet_testkit::main(&[("log_lines", &[Need::Tshark], lines)])
}

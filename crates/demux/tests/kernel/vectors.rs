//! The vectors of the model, read by Wireshark.

use crate::common::vectors;
use gannet_testkit::tshark;

/// Every checksum is right, and each G-PDU has the owner and the T-PDU that the vector says.
pub fn wireshark_reads_the_same() {
    let vectors = vectors::all();
    // A classic pcap file of Ethernet frames.
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 0x0000_ffff, 1] {
        file.extend(word.to_le_bytes());
    }
    for vector in &vectors {
        let len = u32::try_from(vector.frame.len()).unwrap();
        for word in [0, 0, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(&vector.frame);
    }
    let directory = gannet_testkit::TempDir::new("gannet-vectors");
    let path = directory.path().join("vectors.pcap");
    std::fs::write(&path, file).unwrap();
    let options = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"];
    let fields = [
        "gtp.teid",
        "gtp.tid",
        "gtp.message",
        "ip.checksum.status",
        "udp.checksum.status",
        "ip.proto",
        "_ws.malformed",
    ];
    let rows = tshark::dissect_file(path.to_str().unwrap(), &options, &fields);
    assert_eq!(rows.len(), vectors.len());
    for (row, vector) in rows.iter().zip(&vectors) {
        let name = vector.name;
        let teid = vector.teid.map_or(String::new(), |teid| format!("{teid:#010x}"));
        assert_eq!((&row[0], row[2].as_str()), (&teid, "0xff"), "{name}");
        assert_eq!(row[1].is_empty(), vector.teid.is_some(), "{name}: {}", row[1]);
        // Of the outer packet, where it is IPv4, and of the inner one: 59, no next header.
        let inner = vector.t_pdu[9].to_string();
        assert_eq!(row[5].rsplit(',').next(), Some(inner.as_str()), "{name}");
        assert!(row[3].split(',').all(|status| status == "1"), "{name}: {}", row[3]);
        assert_eq!((row[4].as_str(), row[6].as_str()), ("1", ""), "{name}");
    }
}

/// And those of Gb.
pub fn wireshark_reads_the_uplink() {
    use crate::common::frames;
    use gannet_testkit::tshark::Capture;
    let llc = (0x0e, [vec![0x03], vec![0x55; 149]].concat());
    let ns = frames::ul_unitdata(2, 0xc000_0011, &[frames::cell(), (0x00, vec![]), llc]);
    let fields = ["nsip.pdu_type", "nsip.bvci", "bssgp.pdu_type", "bssgp.ci", "llcgprs.sapi"];
    let options = ["-d", "udp.port==23000,gprs-ns"];
    let capture = Capture::new().udp(12345, 23000, &ns);
    let row = capture.dissect(&options, &fields).remove(0);
    assert_eq!(row, ["0x00", "2", "0x01", "0x0001", "3"]);
    assert!(capture.details(&options).to_lowercase().contains("c0000011"));
}

//! Frames of one mobile: what tshark and the analyser find in the file that was written.

use crate::{CORE, SPIKE, UM, capture, file, refused, succeed};
use gannet_testkit::tshark::dissect_file;
use gannet_testkit::{Case, Need, TempDir, run};
use std::collections::BTreeSet;

pub const CASES: &[Case] = &[
    ("frames_of_one_mobile_are_as_they_were", &[Need::Tshark], whole_frames),
    ("nothing_of_the_mobile_is_lost", &[], nothing_lost),
    ("frames_of_several_files_are_on_one_clock", &[Need::Tshark, Need::Program("editcap")], one_clock),
    ("fragments_of_a_datagram_go_along", &[Need::Tshark], fragments),
    ("an_export_that_cannot_be_made_says_why", &[], no_export),
    ("connections_and_layers_are_drawn", &[], drawn),
    ("figures_are_drawn_as_png_too", &[Need::Program("rsvg-convert")], png),
];

const IMSI: &str = "SELECT imsi FROM mobiles";
const ADDRESS: &str = "SELECT name FROM mobile_names WHERE kind = 'address'";
const TLLI: &str = "SELECT name FROM mobile_names WHERE kind = 'TLLI' LIMIT 1";

/// One value that the captures say.
fn ask(names: &[&str], sql: &str) -> String {
    let mut arguments = vec!["query"];
    arguments.extend(names);
    arguments.extend([sql, "--csv"]);
    succeed(&arguments).lines().nth(1).unwrap().to_owned()
}

/// The frames of a file: time in nanoseconds, octets, and the interface's description.
fn frames(path: &str) -> Vec<(u64, String, String)> {
    // Whole frames as tshark read them, before it put anything together.
    let text = run("tshark", &["-n", "-r", path, "-x", "--hexdump", "frames", "--hexdump", "noascii"]);
    let octets = text.split("\n\n").filter(|frame| !frame.trim().is_empty()).map(|frame| {
        frame.lines().map(|line| line.get(4..).unwrap_or("").trim().to_owned()).collect::<Vec<_>>().join(" ")
    });
    let fields = ["frame.time_epoch", "frame.interface_description"];
    let rows = dissect_file(path, &[], &fields);
    let all: Vec<_> = rows
        .into_iter()
        .zip(octets)
        .map(|(row, octets)| {
            let (seconds, fraction) = row[0].split_once('.').unwrap();
            let at = seconds.parse::<u64>().unwrap() * 1_000_000_000 + fraction.parse::<u64>().unwrap();
            (at, octets, row[1].clone())
        })
        .collect();
    assert!(!all.is_empty());
    all
}

fn whole_frames() {
    let directory = TempDir::new("gannet-trace-frames");
    let (um, core) = (capture(UM), capture(CORE));
    let mut written = Vec::new();
    for sql in [IMSI, ADDRESS, TLLI] {
        let name = ask(&[&um, &core], sql);
        let path = directory.path().join(format!("{}.pcapng", written.len()));
        let path = path.to_str().unwrap();
        let said = succeed(&["export", &um, &core, "--as-stamped", "--mobile", &name, "--pcapng", path]);
        assert!(said.contains("frames of IMSI "), "{said}");
        written.push(std::fs::read(path).unwrap());
    }
    assert!(written.windows(2).all(|pair| pair[0] == pair[1]), "one mobile, whatever it is called");
    let mine = frames(directory.path().join("0.pcapng").to_str().unwrap());
    assert!(mine.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    let mut there: BTreeSet<(u64, String)> = BTreeSet::new();
    for (path, name) in [(&um, "um"), (&core, "core")] {
        let all = frames(path);
        let of_file = mine.iter().filter(|(.., description)| description.contains(name)).count();
        assert!(of_file > 0 && of_file < all.len(), "{of_file} of {} in {path}", all.len());
        there.extend(all.into_iter().map(|(at, octets, _)| (at, octets)));
    }
    for (at, octets, description) in &mine {
        assert!(there.contains(&(*at, octets.clone())), "{at} of {description} is no frame of the files");
    }
    // All of Gb in it is of the mobile: NS alone and GSUP are of nobody.
    let path = directory.path().join("0.pcapng");
    let gb = ["-d", "udp.port==23000,gprs-ns"];
    let fields = ["nsip.pdu_type", "gsm_a.rr.tlli", "tcp.port", "gsm_rlcmac.bsn"];
    let rows = dissect_file(path.to_str().unwrap(), &gb, &fields);
    assert!(rows.iter().filter(|row| !row[0].is_empty()).all(|row| !row[1].is_empty()));
    assert!(rows.iter().all(|row| !row[2].contains("4222")));
    assert!(rows.iter().any(|row| !row[3].is_empty()));
}

/// Records of the mobile, in a file as in the files that it was made of.
fn nothing_lost() {
    let directory = TempDir::new("gannet-trace-lost");
    let (um, core) = (capture(UM), capture(CORE));
    let name = ask(&[&um, &core], IMSI);
    let path = directory.path().join("one.pcapng");
    let path = path.to_str().unwrap();
    succeed(&["export", &um, &core, "--mobile", &name, "--pcapng", path]);
    let sql = "SELECT layer, direction, count(*), sum(octets) FROM records WHERE mobile IS NOT NULL \
               GROUP BY layer, direction ORDER BY layer, direction";
    let (before, after) = (succeed(&["query", &um, &core, sql]), succeed(&["query", path, sql]));
    assert!(before.lines().count() > 8, "{before}");
    assert_eq!(before, after);
}

/// The core's clock an hour ahead.
fn one_clock() {
    let directory = TempDir::new("gannet-trace-one-clock");
    let ahead = directory.path().join("ahead.pcapng");
    let ahead = ahead.to_str().unwrap();
    let _ = run("editcap", &["-t", "3600", &capture(CORE), ahead]);
    let name = ask(&[ahead], IMSI);
    let (two, one) = (directory.path().join("two.pcapng"), directory.path().join("one.pcapng"));
    for (path, core, more) in [(&two, ahead, None), (&one, &capture(CORE), Some("--as-stamped"))] {
        let um = capture(UM);
        let mut arguments = vec!["export", &um, core, "--mobile", &name, "--pcapng", path.to_str().unwrap()];
        arguments.extend(more);
        succeed(&arguments);
    }
    let (two, one) = (frames(two.to_str().unwrap()), frames(one.to_str().unwrap()));
    assert_eq!(two.len(), one.len());
    assert!(two.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    // The uncertainty of these clocks is below 20 ms: a ping's way over the radio.
    let (first, last) = (|all: &[(u64, _, _)]| all[0].0, |all: &[(u64, _, _)]| all[all.len() - 1].0);
    for of in [first as fn(&[(u64, String, String)]) -> u64, last] {
        assert!(of(&two).abs_diff(of(&one)) < 40_000_000);
    }
}

/// A G-PDU in two IP fragments: the first one alone has no record.
fn fragments() {
    let directory = TempDir::new("gannet-trace-fragments");
    let core = capture(CORE);
    let phone = ask(&[&core], ADDRESS);
    let octets = phone.split('.').map(|octet| octet.parse::<u8>().unwrap());
    // A G-PDU of version 1 without sequence number, and in it an ICMP echo of 2000 octets to the phone's address.
    let mut inner = vec![0x45, 0, 0x07, 0xd0, 0, 9, 0, 0, 64, 1, 0, 0, 192, 0, 2, 1];
    inner.extend(octets);
    inner.extend([8, 0, 0, 0, 0, 7, 0, 1]);
    inner.resize(2_000, 0x55);
    let mut datagram = vec![0x08, 0x68, 0x08, 0x68];
    datagram.extend(u16::try_from(2_000 + 16).unwrap().to_be_bytes());
    datagram.extend([0, 0, 0x30, 0xff]);
    datagram.extend(2_000_u16.to_be_bytes());
    datagram.extend([0, 0, 0, 1]);
    datagram.extend(inner);
    let mut pcap =
        vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0];
    // The fragments stand long after the core's capture has named the phone; a fragment of somebody else is beside them.
    for (seconds, identification, offset) in [(0_u32, 77_u16, 0_usize), (0, 78, 0), (1, 77, 1_480)] {
        let part = &datagram[offset..(offset + 1_480).min(datagram.len())];
        let length = u16::try_from(20 + part.len()).unwrap();
        let flags = u16::try_from(offset / 8).unwrap() | if offset == 0 { 0x2000 } else { 0 };
        let mut ip = vec![0x45, 0];
        ip.extend(length.to_be_bytes());
        ip.extend(identification.to_be_bytes());
        ip.extend(flags.to_be_bytes());
        ip.extend([64, 17, 0, 0, 127, 0, 0, 9, 127, 0, 0, 8]);
        ip.extend(part);
        for word in [4_000_000_000 + seconds, 0, u32::from(length), u32::from(length)] {
            pcap.extend(word.to_le_bytes());
        }
        pcap.extend(ip);
    }
    let split = file(&directory, "split.pcap", &pcap);
    let path = directory.path().join("one.pcapng");
    let path = path.to_str().unwrap();
    succeed(&["export", &core, &split, "--as-stamped", "--mobile", &phone, "--pcapng", path]);
    let rows = dissect_file(path, &["-Y", "frame.interface_description contains \"split\""], &["ip.id"]);
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert!(rows.iter().all(|row| row[0].starts_with("0x004d")), "{rows:?}");
}

fn no_export() {
    let directory = TempDir::new("gannet-trace-no-export");
    let core = capture(CORE);
    let there = file(&directory, "there.pcapng", b"mine");
    let name = ask(&[&core], IMSI);
    let said = refused(&["export", &core, "--mobile", &name, "--pcapng", &there]);
    assert!(said.contains("there.pcapng: File exists"), "{said}");
    assert_eq!(std::fs::read(&there).unwrap(), b"mine");
    let new = directory.path().join("new.pcapng");
    let new = new.to_str().unwrap();
    let said = refused(&["export", &capture(SPIKE), "--mobile", "10.9.0.1", "--pcapng", new]);
    assert!(said.contains("no mobile is called 10.9.0.1"), "{said}");
    assert!(!directory.path().join("new.pcapng").exists());
    let said = refused(&["export", &core, "--out", &there]);
    assert!(said.contains("there.pcapng: "), "{said}");
}

/// Tables, plots and figures of the files that a directory is to have.
fn drawn() {
    let directory = TempDir::new("gannet-trace-drawn");
    let out = directory.path().to_str().unwrap();
    let said = succeed(&["export", &capture(SPIKE), &capture(CORE), "--as-stamped", "--out", out]);
    let mut names: Vec<String> = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let of = |ending: &str| names.iter().filter(|name| name.ends_with(ending)).count();
    // The spike's sender, the download at Gb and Gn, both ways of GSUP, and the layers of both directions.
    assert_eq!((of(".csv"), of(".svg"), of(".png")), (3, of(".xpl") / 3 + 2, 0), "{names:?}");
    assert!(said.contains(&format!("{} plots for xplot and {} figures", of(".xpl"), of(".svg"))), "{said}");
    for name in names.iter().filter(|name| name.ends_with(".svg")) {
        let svg = std::fs::read_to_string(directory.path().join(name)).unwrap();
        gannet_figure::check::legible(&svg).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    let texts = names.iter().filter(|name| name.ends_with("-forward.svg"));
    let texts: Vec<String> =
        texts.map(|name| std::fs::read_to_string(directory.path().join(name)).unwrap()).collect();
    let spike: Vec<&String> = texts.iter().filter(|text| text.contains(">10.9.0.1:")).collect();
    assert!(spike.len() == 1 && spike[0].contains("data-name=\"sent again\""), "{names:?}");
}

fn png() {
    let directory = TempDir::new("gannet-trace-png");
    let out = directory.path().to_str().unwrap();
    succeed(&["export", &capture(SPIKE), "--out", out, "--png"]);
    let png = std::fs::read(directory.path().join("connection0-place0-forward.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n"));
    // As wide as the figure is.
    assert_eq!(u32::from_be_bytes(png[16..20].try_into().unwrap()), 800);
}

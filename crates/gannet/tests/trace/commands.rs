//! Every subcommand: what it prints, and what it says of files that are none.

use crate::{CORE, SPIKE, UM, capture, file, refused, stderr, stdout, succeed, trace, trace_with};
use gannet_testkit::{Case, TempDir};
use serde_json::Value;
use std::path::Path;

pub const CASES: &[Case] = &[
    ("a_file_that_cannot_be_read_is_named", &[], unreadable),
    ("what_is_before_a_damage_counts", &[], damaged),
    ("standard_input_is_a_capture", &[], standard_input),
    ("files_count_from_one_in_text_and_json", &[], from_one),
    ("clocks_of_two_files_are_aligned", &[], clocks),
    ("a_capture_without_frames_says_nothing", &[], without_frames),
    ("a_question_is_answered_as_table_csv_and_json", &[], question),
    ("a_question_that_cannot_be_answered_says_why", &[], no_answer),
];

/// The subcommands with what they need behind the files.
fn commands(out: &str) -> [(&'static str, Vec<&str>); 6] {
    [
        ("info", vec![]),
        ("journey", vec!["--packet", "1"]),
        ("timeline", vec![]),
        ("analyze", vec![]),
        ("export", vec!["--out", out]),
        ("query", vec!["SELECT 1"]),
    ]
}

fn unreadable() {
    let directory = TempDir::new("gannet-trace-unreadable");
    let out = directory.path().join("out").to_str().unwrap().to_owned();
    let (empty, text) = (file(&directory, "empty", b""), file(&directory, "text", b"This is no capture.\n"));
    let header = file(&directory, "header", &std::fs::read(capture(SPIKE)).unwrap()[..20]);
    let missing = directory.path().join("missing").to_str().unwrap().to_owned();
    let itself = directory.path().to_str().unwrap().to_owned();
    let cases = [
        (missing.as_str(), "cannot be opened: No such file or directory"),
        (&itself, "cannot be opened: Is a directory"),
        // Nothing is at its beginning, so that reading it fails for root too.
        ("/proc/self/mem", "Input/output error"),
        (&empty, "is empty"),
        (&text, "is no capture"),
        (&header, "ends within the header of the file"),
    ];
    for (path, why) in cases {
        for (command, more) in commands(&out) {
            let said = refused(&[&[command, path], &more[..]].concat());
            assert!(said.contains(path) && said.contains(why), "{command} {path}: {said}");
            assert!(!said.contains("frame 0"), "{said}");
        }
    }
    // No file at all is for the command line to refuse.
    for (command, more) in commands(&out) {
        let output = trace(&[&[command], &more[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{command}");
        assert!(stderr(&output).contains("FILE"), "{command}");
    }
    // One good file does not hide a bad one.
    assert!(refused(&["analyze", &capture(SPIKE), &text]).contains("is no capture"));
}

fn damaged() {
    let directory = TempDir::new("gannet-trace-damaged");
    let out = directory.path().join("out").to_str().unwrap().to_owned();
    let whole = std::fs::read(capture(SPIKE)).unwrap();
    let short = file(&directory, "short.pcap", &whole[..5_000]);
    for (command, more) in commands(&out) {
        if command == "journey" {
            continue;
        }
        let output = trace(&[&[command, &short], &more[..]].concat());
        assert_eq!(output.status.code(), Some(1), "{command}");
        let said = stdout(&output) + &stderr(&output);
        assert!(
            said.contains(
                "short.pcap: the file ends within a frame of 80 octets, at octet 4912, behind frame 56"
            ),
            "{said}"
        );
        assert!(said.contains("What is before counts."), "{said}");
    }
    // A frame before the damage has its way; one behind it does not.
    assert!(succeed(&["journey", &short, "--packet", "56"]).contains("TCP"));
    let output = trace(&["journey", &short, "--packet", "57"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("frame 57"));
    // JSON stays JSON, and has the damage too.
    for command in ["info", "analyze"] {
        let output = trace(&[command, &short, "--json"]);
        let value: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert!(value["damages"][0].as_str().unwrap().contains("at octet 4912"), "{value:#}");
        assert!(stderr(&output).contains("at octet 4912"));
    }
    let output = trace(&["query", &short, "SELECT count(*) FROM segments", "--csv"]);
    assert_eq!(stdout(&output), "count(*)\n56\n");
}

fn standard_input() {
    let octets = std::fs::read(capture(CORE)).unwrap();
    for command in ["info", "timeline", "analyze"] {
        let output = trace_with(&[command, "-"], &octets);
        assert!(output.status.success(), "{command}: {}", stderr(&output));
        let by_name = succeed(&[command, &capture(CORE)]);
        assert_eq!(stdout(&output).replace("standard input", &capture(CORE)), by_name, "{command}");
    }
    let output = trace_with(&["analyze", &capture(UM), "-"], &octets);
    assert_eq!(
        stdout(&output).replace("standard input", &capture(CORE)),
        succeed(&["analyze", &capture(UM), &capture(CORE)])
    );
    let output = trace_with(&["info", "-"], &octets[..5_000]);
    let said = stdout(&output);
    assert!(
        !output.status.success() && said.contains("standard input: the packed file ends too early"),
        "{said}"
    );
    assert!(!said.contains("/proc") && !said.contains("/dev"), "{said}");
    let output = trace_with(&["info", "-"], b"");
    assert_eq!(stderr(&output), "gannet: standard input: is empty\n");
    let output = trace_with(&["info", "-", "-"], &octets);
    assert_eq!(stderr(&output), "gannet: standard input (-) can be read once only\n");
}

/// Proofs of findings: file and frame, in text and in JSON.
fn from_one() {
    let (um, core) = (capture(UM), capture(CORE));
    let value: Value = serde_json::from_str(&succeed(&["analyze", &um, &core, "--json"])).unwrap();
    let text = succeed(&["analyze", &um, &core]);
    let mut seen = [false; 2];
    let findings = value["findings"].as_array().unwrap();
    // Clocks and the table of procedures stand before them.
    let first = findings[0]["kind"].as_str().unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("{first}: ")));
    for (finding, line) in findings.iter().zip(lines) {
        let proofs = finding["proofs"].as_array().unwrap();
        let words: Vec<String> =
            proofs.iter().map(|proof| format!("{}:{}", proof["file"], proof["frame"])).collect();
        assert!(proofs.is_empty() || line.ends_with(&format!("[frames {}]", words.join(", "))), "{line}");
        for proof in proofs {
            seen[usize::try_from(proof["file"].as_u64().unwrap()).unwrap() - 1] = true;
        }
    }
    assert_eq!(seen, [true; 2]);
    // Numbers of places and connections have names beside them.
    let places = value["places"].as_array().unwrap();
    let kinds: Vec<&str> = places.iter().map(|place| place["kind"].as_str().unwrap()).collect();
    assert!(["Um", "Gb", "Gn"].iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
    assert!(places.iter().all(|place| place["file"].as_u64() >= Some(1)));
    assert_eq!(value["files"], serde_json::json!([um, core]));
    for report in value["connections"].as_array().unwrap() {
        let index = usize::try_from(report["connection"].as_u64().unwrap()).unwrap();
        assert!(value["ends"][index]["opener"].as_str().unwrap().contains(':'));
        assert!(usize::try_from(report["place"].as_u64().unwrap()).unwrap() < places.len());
    }
    let directory = TempDir::new("gannet-trace-from-one");
    let out = directory.path().to_str().unwrap();
    succeed(&["export", &um, &core, "--out", out]);
    for (name, of) in [("blocks.csv", "1"), ("segments.csv", "2")] {
        let table = std::fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(table.lines().count() > 100);
        assert!(table.lines().skip(1).all(|line| line.split(',').nth(1) == Some(of)), "{name}");
    }
}

/// The second file again, with its clock an hour and 0.4 s ahead: a record of pcap begins with its time.
fn clocks() {
    let directory = TempDir::new("gannet-trace-clocks");
    let whole = std::fs::read(capture("drop-receiver.pcap")).unwrap();
    let mut ahead = whole[..24].to_vec();
    let mut rest = &whole[24..];
    while !rest.is_empty() {
        let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
        let micros = u64::from(word(0)) * 1_000_000 + u64::from(word(4)) + 3_600_400_000;
        ahead.extend(u32::try_from(micros / 1_000_000).unwrap().to_le_bytes());
        ahead.extend(u32::try_from(micros % 1_000_000).unwrap().to_le_bytes());
        let end = 16 + word(8) as usize;
        ahead.extend(&rest[8..end]);
        rest = &rest[end..];
    }
    let (one, other) = (capture("drop-sender.pcap"), file(&directory, "ahead.pcap", &ahead));
    let text = succeed(&["analyze", &one, &other]);
    let said = text.lines().find(|line| line.starts_with("Clock ")).unwrap();
    assert!(said.contains("ahead.pcap") && said.ends_with("taken away."), "{said}");
    let value: Value = serde_json::from_str(&succeed(&["analyze", &one, &other, "--json"])).unwrap();
    let clock = &value["clocks"][0];
    let off = clock["ahead_ns"].as_i64().unwrap() - 3_600_400_000_000;
    assert!(off.abs() <= clock["uncertainty_ns"].as_i64().unwrap(), "{clock}");
    assert_eq!((clock["file"].as_u64(), clock["of"].as_u64()), (Some(2), Some(1)));
    // The same packets are lost as without an offset, and none comes before it was sent.
    let way = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("tcp-way: IP (file 1"));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let aligned = way(&text);
    assert!(aligned.contains("38 were lost") && !aligned.contains('−'), "{aligned}");
    let stamped = succeed(&["analyze", &one, &other, "--as-stamped"]);
    assert!(stamped.lines().all(|line| !line.starts_with("Clock ")));
    assert_ne!(way(&stamped), aligned);
}

fn without_frames() {
    let directory = TempDir::new("gannet-trace-without");
    let bare = file(&directory, "bare.pcap", &std::fs::read(capture(SPIKE)).unwrap()[..24]);
    assert!(succeed(&["info", &bare]).contains("0 frames in 0.000 s"));
    assert!(succeed(&["analyze", &bare]).starts_with("Nothing to say"));
    assert_eq!(succeed(&["timeline", &bare]), "");
    assert_eq!(succeed(&["query", &bare, "SELECT * FROM records", "--json"]), "[]\n");
    assert!(refused(&["journey", &bare, "--packet", "1"]).contains("carries no IP packet"));
    assert!(refused(&["journey", &bare, "--packet", "2:1"]).contains("there is no file 2"));
    let unknown = refused(&["timeline", &bare, "--mobile", "001010000000001"]);
    assert!(unknown.contains("no mobile is called 001010000000001"), "{unknown}");
}

fn question() {
    let core = capture(CORE);
    let sql = "SELECT layer, count(*) AS n, NULL AS none, 0.5 AS half FROM records WHERE layer IN ('GTP', 'GMM/SM') GROUP BY layer";
    assert_eq!(
        succeed(&["query", &core, sql]),
        "layer   n   none  half\nGMM/SM  11        0.5\nGTP     2         0.5\n"
    );
    assert_eq!(succeed(&["query", &core, sql, "--csv"]), "layer,n,none,half\nGMM/SM,11,,0.5\nGTP,2,,0.5\n");
    let value: Value = serde_json::from_str(&succeed(&["query", &core, sql, "--json"])).unwrap();
    assert_eq!(value[0], serde_json::json!({"layer": "GMM/SM", "n": 11, "none": null, "half": 0.5}));
    let quoted = succeed(&["query", &core, "SELECT 'a, \"b\"' AS x", "--csv"]);
    assert_eq!(quoted, "x\n\"a, \"\"b\"\"\"\n");
    // What a finding says can be asked for with its frames.
    let proofs = "SELECT kind, frame FROM findings JOIN finding_proofs USING (finding) WHERE kind = 'ping-rtt' LIMIT 1";
    assert_eq!(succeed(&["query", &core, proofs, "--csv"]), "kind,frame\nping-rtt,41\n");
    let schema = succeed(&["query", "--schema"]);
    for column in ["segments: ", "  bsn ", "first sequence number, as on the wire"] {
        assert!(schema.contains(column), "{schema}");
    }
    let directory = TempDir::new("gannet-trace-question");
    let kept = directory.path().join("kept.sqlite");
    let kept = kept.to_str().unwrap();
    succeed(&["query", &core, "SELECT 1", "--db", kept]);
    assert!(std::fs::read(kept).unwrap().starts_with(b"SQLite format 3\0"));
    assert!(refused(&["query", &core, "SELECT 1", "--db", kept]).contains("is there: remove it"));
}

fn no_answer() {
    let spike = capture(SPIKE);
    for (sql, why) in [
        ("DELETE FROM records", "may read the tables and nothing else"),
        ("ATTACH 'x' AS x", "may read the tables and nothing else"),
        ("SELEC 1", "syntax error"),
        ("SELECT 1; SELECT 2", "Multiple statements"),
        ("SELECT elsewhere FROM records", "no such column: elsewhere"),
    ] {
        let said = refused(&["query", &spike, sql]);
        assert!(said.contains(why), "{sql}: {said}");
    }
    let output = trace(&["query", &spike, "SELECT record FROM segments", "--rows", "3", "--csv"]);
    assert!(output.status.success());
    assert_eq!((stdout(&output).lines().count(), stderr(&output).contains("more than 3 rows")), (4, true));
    let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";
    assert!(refused(&["query", &spike, endless, "--seconds", "0"]).contains("no answer within 0 s"));
    assert!(refused(&["query", &spike, "SELECT 1", "--db", "/nowhere/at/all"]).contains("cannot be written"));
    assert!(!Path::new("/nowhere").exists());
}

//! GEA1 to GEA4 and the inputs of annex A, against Debian's libosmogsm on random input.
//!
//! The library is under the GPL and is no part of our programs: a helper, a process of its own that gcc builds here, loads
//! it and answers on its standard output.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_proto::llc::cipher::{BatchCipher, Job, Portable, i_input, ui_input};
use gannet_proto::llc::{Algorithm, Ciphering, Direction};
use gannet_testkit::{Case, Need, TempDir, run};
use gannet_wire::id::Sapi;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitCode, Stdio};

fn library_missing() -> Option<String> {
    let directories = ["/lib", "/usr/lib", "/usr/local/lib"];
    let found = directories.iter().any(|directory| {
        std::fs::read_dir(directory).into_iter().flatten().flatten().any(|entry| {
            entry.file_name() == "libosmogsm.so.18" || entry.path().join("libosmogsm.so.18").exists()
        })
    });
    (!found).then(|| "libosmogsm.so.18 is not installed".to_owned())
}

/// The helper's answers to these questions.
fn ask(questions: &str) -> Vec<String> {
    let directory = TempDir::new("gannet-ciphering");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ciphering/helper.c");
    let program = directory.path().join("helper");
    let program_name = program.to_str().unwrap();
    let _ =
        run("gcc", &["-O1", "-Wall", "-Werror", "-Wno-unused-result", "-o", program_name, source, "-ldl"]);
    let mut helper = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("the helper cannot be started: {error}"));
    let mut input = helper.stdin.take().unwrap();
    // It answers while it is asked: who writes must not wait for who reads.
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(questions.as_bytes()).unwrap());
        helper.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "the helper failed");
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut digits, octet| {
        write!(digits, "{octet:02x}").unwrap();
        digits
    })
}

/// Octets of keystream that annex A wants, and that the library gives.
const LONGEST: usize = 1523;

struct Frame {
    ciphering: Ciphering,
    input: u32,
    direction: Direction,
    octets: Vec<u8>,
}

/// A frame of zeros, which becomes its keystream, and the question for the same.
fn frame(rng: &mut fastrand::Rng, algorithms: [Algorithm; 2], questions: &mut String) -> Frame {
    let algorithm = algorithms[rng.usize(..2)];
    let mut key: [u8; 16] = core::array::from_fn(|_| rng.u8(..));
    let ciphering = Ciphering::with_kc128(algorithm, key).unwrap_or_else(|| {
        key[8..].fill(0);
        Ciphering::with_kc(algorithm, key[..8].try_into().unwrap()).unwrap()
    });
    let (input, len) = (rng.u32(..), rng.usize(1..=LONGEST));
    let direction = if rng.bool() { Direction::Uplink } else { Direction::Downlink };
    let number = algorithm.number();
    writeln!(questions, "run {number} {} {input} {len} {}", direction as u8, hex(&key)).unwrap();
    Frame { ciphering, input, direction, octets: vec![0; len] }
}

/// Versions of libosmocore up to 1.7 have GEA3 and GEA4 alone.
fn older_missing() -> Option<String> {
    if let Some(missing) = NEEDS.iter().find_map(|need| need.missing()) {
        return Some(missing);
    }
    let question = format!("run 1 0 0 8 {}\n", hex(&[0; 16]));
    ask(&question)[0].starts_with("error").then(|| "this libosmogsm has no GEA1 and GEA2".to_owned())
}

fn keystreams_of(algorithms: [Algorithm; 2]) {
    let (mut rng, mut questions) = (fastrand::Rng::with_seed(44_064), String::new());
    let mut frames: Vec<Frame> = (0..400).map(|_| frame(&mut rng, algorithms, &mut questions)).collect();
    let answers = ask(&questions);
    assert_eq!(answers.len(), frames.len());
    // Half of them one by one, half of them in a batch.
    let (alone, batch) = frames.split_at_mut(200);
    for frame in alone {
        frame.ciphering.apply(frame.input, frame.direction, &mut frame.octets);
    }
    let mut jobs: Vec<Job<'_>> = batch
        .iter_mut()
        .map(|frame| Job {
            ciphering: &frame.ciphering,
            input: frame.input,
            direction: frame.direction,
            octets: &mut frame.octets,
        })
        .collect();
    Portable.apply(&mut jobs);
    for ((frame, answer), question) in frames.iter().zip(&answers).zip(questions.lines()) {
        assert_eq!(&hex(&frame.octets), answer, "{}: {question}", frame.ciphering.algorithm);
    }
}

fn inputs() {
    let (mut rng, mut questions, mut expected) = (fastrand::Rng::with_seed(1), String::new(), Vec::new());
    for _ in 0..400 {
        let (iov, lfn, oc) = (rng.u32(..), rng.u32(..512), rng.u32(..) & !511);
        // SAPI 15 · 2^27 + 2^31 is the largest SX that has 32 bits.
        let sapi = Sapi(rng.u8(1..16));
        writeln!(questions, "ui {iov} {} {lfn} {oc}", sapi.0).unwrap();
        expected.push(ui_input(iov, sapi, oc.wrapping_add(lfn)).to_string());
        writeln!(questions, "i {iov} {lfn} {oc}").unwrap();
        expected.push(i_input(iov, oc.wrapping_add(lfn)).to_string());
    }
    assert_eq!(ask(&questions), expected);
}

const NEEDS: &[Need] = &[Need::Program("gcc"), Need::That(library_missing)];

fn main() -> ExitCode {
    const CASES: &[Case] = &[
        ("gea3_and_gea4_are_those_of_libosmogsm", NEEDS, || {
            keystreams_of([Algorithm::Gea3, Algorithm::Gea4])
        }),
        ("gea1_and_gea2_are_those_of_libosmogsm", &[Need::That(older_missing)], || {
            keystreams_of([Algorithm::Gea1, Algorithm::Gea2]);
        }),
        ("inputs_are_those_of_libosmogsm", NEEDS, inputs),
    ];
    gannet_testkit::main(CASES)
}

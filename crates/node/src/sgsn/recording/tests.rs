//! What must not stand in a recording, and what stands there instead.

use super::*;
use crate::sgsn::{GB, SgsnCommand, SgsnConfig};
use core::cell::RefCell;
use core::net::SocketAddr;
use gannet_machine::frame::FramePool;
use gannet_wire::bssgp::{UlUnitdata, ie::QosProfile};
use gannet_wire::gsup::ie;
use gannet_wire::id::{CellId, Plmn, Rai, Tlli};
use std::rc::Rc;

struct Bench {
    sgsn: Sgsn,
    recorder: Recorder,
    text: Rc<RefCell<String>>,
    frames: FramePool,
}

impl Bench {
    fn new() -> Self {
        let text = Rc::new(RefCell::new(String::new()));
        let its = Rc::clone(&text);
        let head = Head { seed: 1, restart_counter: 2, config: "sgsn\n".to_owned() };
        let recorder = Recorder::new(&head, Box::new(move |lines| its.borrow_mut().push_str(lines)));
        let sgsn = Sgsn::new(SgsnConfig { mobiles_max: 1, ..SgsnConfig::default() }, 1);
        Self { sgsn, recorder, text, frames: FramePool::new(1) }
    }

    /// What the lines say that follow from this datagram.
    fn takes(&mut self, port: Port, octets: &[u8]) -> Vec<Line> {
        self.recorder.rests();
        self.text.borrow_mut().clear();
        let peer = match port {
            HLR => Peer::Link,
            _ => Peer::Udp(SocketAddr::from(([192, 0, 2, 1], 1))),
        };
        let input: Input<SgsnCommand> =
            Input::Datagram { port, peer, frame: self.frames.copy_of(octets).unwrap() };
        self.recorder.takes(Instant(7), &self.sgsn, &input);
        self.recorder.rests();
        self.text.borrow().lines().filter_map(Line::parse).collect()
    }
}

fn octets(lines: &[Line]) -> &[u8] {
    match lines {
        [.., Line::Passed(_, Way::In, What::Datagram(.., octets))] => octets,
        other => panic!("{other:?}"),
    }
}

const RAND: [u8; 16] = *b"a real challenge";
const SRES: [u8; 4] = *b"sres";
const KC: [u8; 8] = *b"real key";

/// SEND AUTHENTICATION INFO RESULT with one triplet, as the stream has it.
fn triplet() -> Vec<u8> {
    let mut tuple = Vec::new();
    for (iei, value) in [(ie::RAND, &RAND[..]), (ie::SRES, &SRES), (ie::KC, &KC)] {
        tuple.extend([iei, u8::try_from(value.len()).unwrap()]);
        tuple.extend(value);
    }
    let mut gsup = vec![0x0a, ie::AUTH_TUPLE, u8::try_from(tuple.len()).unwrap()];
    gsup.extend(tuple);
    let mut message = Vec::new();
    assert!(ipa::put_extension(ipa::EXTENSION_GSUP, &gsup, &mut message));
    message
}

fn has(octets: &[u8], wanted: &[u8]) -> bool {
    octets.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn a_vector_in_pieces_of_the_stream_is_recorded_whole_and_without_its_values() {
    let mut bench = Bench::new();
    let message = triplet();
    // In the middle of Kc.
    let (first, rest) = message.split_at(message.len() - 3);
    assert_eq!(bench.takes(HLR, first), []);
    let lines = bench.takes(HLR, rest);
    let recorded = octets(&lines);
    assert_eq!(recorded.len(), message.len());
    for real in [&RAND[..], &SRES, &KC, &KC[..4], &KC[4..]] {
        assert!(has(&message, real) && !has(recorded, real));
    }
}

#[test]
fn a_challenge_that_comes_back_in_a_status_is_the_test_vectors() {
    let mut bench = Bench::new();
    bench.takes(HLR, &triplet());
    // BSSGP STATUS with PDU IN ERROR.
    let status = [&[0, 0, 0, 0, 0x41, 0x07, 0x81, 0x27, 0x15, 0x90][..], &RAND].concat();
    let lines = bench.takes(GB, &status);
    assert!(!has(octets(&lines), &RAND) && has(octets(&lines), b"GANNET-RAND-"));
}

#[test]
fn keys_between_sgsns_are_not_recorded() {
    let mut bench = Bench::new();
    let response = [&[0x32, 51, 0, 8, 0, 0, 0, 1][..], &KC].concat();
    let lines = bench.takes(GTP_C, &response);
    assert_eq!(octets(&lines), [&response[..8], &[0; 8]].concat());
}

#[test]
fn an_ll_pdu_of_which_nobody_knows_the_cipher_stays_ciphered_and_is_named() {
    let mut bench = Bench::new();
    let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac: 1 };
    let header = UlUnitdata::new(Tlli(0xc000_0001), QosProfile::from_octets([0; 3]), CellId { rai, ci: 1 });
    // A UI frame of SAPI 3 with its E bit set.
    let ll_pdu = [0x03, 0xc0, 0x02, 1, 2, 3, 4, 5, 6, 7];
    let mut pdu = vec![0; header.buffer_len(ll_pdu.len())];
    assert!(header.emit(ll_pdu.len(), &mut pdu));
    let datagram = [&[0, 0, 0, 2][..], &pdu, &ll_pdu].concat();
    let lines = bench.takes(GB, &datagram);
    assert!(matches!(lines[0], Line::Note(..)), "{lines:?}");
    assert_eq!(octets(&lines), datagram);
}

#[test]
fn a_recording_is_read_as_it_was_written() {
    let head = Head { seed: 0xab, restart_counter: 9, config: "sgsn\n gtp local-ip 192.0.2.5\n".to_owned() };
    let text = format!("# a remark\n{head}1 0.000000007 > command start\n");
    let lines = vec![(6, Line::Passed(Instant(7), Way::In, What::Command(SgsnCommand::Start)))];
    // The remark counts as a line of the file.
    let lines = lines.into_iter().map(|(place, line)| (place + 1, line)).collect();
    assert_eq!(Recording::parse(&text), Ok(Recording { head, lines }));
    for (wrong, why) in [
        ("1 0.000000007 > command start\n", "a recording begins with"),
        ("gannet sgsn recording 1\nnothing\n", "line 2 is none of a recording"),
        ("gannet sgsn recording 1\nlost 5\n", "5 octets of lines are missing"),
    ] {
        assert!(Recording::parse(wrong).unwrap_err().contains(why));
    }
}

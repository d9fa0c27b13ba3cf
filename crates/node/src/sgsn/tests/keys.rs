//! Keys and expected responses never leave the SGSN: a subscriber attaches with keys that are known, and everything that is
//! said, sent or printed is looked through for them, in octets and in each way in which octets are written.

use super::bench::*;
use super::subscribers::*;
use crate::sgsn::*;
use gannet_proto::auth::aka::Quintuplet;
use gannet_proto::auth::card::{CardAnswer, GsmSim, Sim, Usim};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::milenage::Milenage;
use gannet_proto::auth::sqn::Sqn;
use gannet_proto::auth::vectors::Ciphers;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::gsup::{self, AuthTuple, AuthVectors, Body};
use gannet_wire::id::Sapi;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;

const K: Key128 = Key128(*b"\x46\x5b\x5c\xe8\xb1\x99\xb4\x9f\xaa\x5f\x0a\x2e\xe2\x38\xa6\xbc");
const OPC: Key128 = Key128(*b"\xcd\x63\xcb\x71\x95\x4a\x9f\x4e\x48\xa5\x99\x4e\x37\xa0\x2b\xaf");

/// An output as it is looked through: octets as characters of their own, the text without its blanks, and without all that
/// may stand between the digits of octets.
struct Output {
    of: &'static str,
    octets: String,
    numbers: String,
    digits: String,
}

impl Output {
    fn new(of: &'static str, octets: &[u8]) -> Self {
        let octets: String = octets.iter().map(|octet| char::from(*octet)).collect();
        let numbers = octets.replace(char::is_whitespace, "").to_ascii_lowercase();
        let digits = numbers.replace("0x", "").replace([',', ':', '-'], "");
        Self { of, octets, numbers, digits }
    }

    /// As octets, as numbers with commas between them, or in hexadecimal digits.
    fn has(&self, key: &[u8]) -> bool {
        let octets: String = key.iter().map(|octet| char::from(*octet)).collect();
        let numbers = key.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
        let digits: String = key.iter().map(|octet| format!("{octet:02x}")).collect();
        self.octets.contains(&octets) || self.numbers.contains(&numbers) || self.digits.contains(&digits)
    }
}

/// What was said so far, and what there is to see.
struct Outputs(Vec<Output>);

impl Outputs {
    fn of(bench: &mut Bench) -> Self {
        let mut all = vec![
            Output::new("log", bench.around.trace.lines.join("\n").as_bytes()),
            Output::new("Debug of the SGSN", format!("{:?}", bench.sgsn).as_bytes()),
            Output::new("events", format!("{:?}", bench.events).as_bytes()),
            Output::new("Debug of what is sent", format!("{:?}", bench.sent).as_bytes()),
        ];
        for sent in &bench.sent {
            match sent {
                Sent::Down(down) => all.push(Output::new("LL-PDU", &down.ll_pdu)),
                Sent::User(_, _, t_pdu) => all.push(Output::new("T-PDU", t_pdu)),
                Sent::Control(_, _, message) => {
                    let mut octets = Vec::new();
                    message.emit(&mut octets);
                    all.push(Output::new("GTP", &octets));
                }
                Sent::Ns(..) | Sent::Bssgp(..) | Sent::UserPlane(_) | Sent::V0(..) => {}
            }
        }
        Self(all)
    }

    fn assert_without(&self, keys: &[(&str, &[u8])]) {
        for (name, key) in keys {
            for output in &self.0 {
                assert!(!output.has(key), "{name} in the {}", output.of);
            }
        }
    }
}

/// Deciphers for phone 0 from now on, and takes its ACCEPT.
fn accepted(bench: &mut Bench, ciphering: Ciphering) {
    assert_eq!(bench.mobile(0).llc.ciphering(), ciphering);
    let phone = &mut bench.phones[0];
    phone.llc.assign(Some(phone.tlli), None, ciphering);
    let GmmMessage::AttachAccept(accept) = bench.hear_gmm(0) else { panic!() };
    bench.take_ptmsi(0, accept.allocated_ptmsi, accept.ptmsi_signature);
    let phone = &mut bench.phones[0];
    phone.llc.assign(Some(phone.tlli), None, ciphering);
    bench.ciphered(0, Sapi::GMM, &gannet_wire::l3::L3Message::Gmm(AttachComplete {}.into()).to_vec());
    assert_eq!(bench.events.last(), Some(&SgsnEvent::Attached { imsi: imsi(0) }), "{:?}", bench.drops());
}

impl Bench {
    fn ciphered(&mut self, phone: usize, sapi: Sapi, octets: &[u8]) {
        let mut frame = self.air.frames.copy_of(octets).unwrap();
        self.phones[phone].llc.unitdata_request(sapi, true, true, &mut frame).unwrap();
        self.up(phone, &frame);
    }

    /// A session, user data both ways, a refusal and a re-authentication without an answer: what else may speak of keys.
    fn lives(&mut self) {
        let message =
            gannet_wire::l3::L3Message::Sm { ti: 0, ti_flag: false, message: activate_request(NSAPI).into() };
        self.ciphered(0, Sapi::GMM, &message.to_vec());
        let (from, sequence, request) = self.next_create();
        self.create_answer(from, sequence, &request, gannet_wire::gtp::Cause::RequestAccepted);
        self.hear_sm(0);
        self.downlink(0, NSAPI, b"down");
        self.ciphered(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u']);
        self.sgsn.authenticate_again(&mut self.around.context(), imsi(0)).unwrap();
        self.collect();
    }
}

#[test]
fn of_a_gsm_subscriber() {
    let mut bench = with_hlr(|config| config.subscribers.ciphers = Ciphers(0b1000));
    bench.around.trace.is_listening = true;
    let (sres, kc) = Comp128::V1.run(&KI, &RAND);
    let keys: [(&str, &[u8]); 3] = [("Ki", &KI.0), ("Kc", &kc.0), ("SRES", &sres)];
    authenticated(&mut bench);
    Outputs::of(&mut bench).assert_without(&keys);
    located(&mut bench, subscription("*", 9));
    Outputs::of(&mut bench).assert_without(&keys);
    accepted(&mut bench, Ciphering::with_kc(Algorithm::Gea3, kc.0).unwrap());
    bench.lives();
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))));
    // A wrong answer to the next challenge, and the same vector again.
    say_of(&mut bench, imsi(0), vectors(&[[0x77; 16], RAND]));
    let outputs = Outputs::of(&mut bench);
    outputs.assert_without(&keys);
    let (sres, kc) = Comp128::V1.run(&KI, &[0x77; 16]);
    outputs.assert_without(&[("next Kc", &kc.0), ("next SRES", &sres)]);
    let lines = &bench.around.trace.lines;
    assert!(lines.iter().any(|line| line.contains("a second time")), "the log was listened to: {lines:?}");
}

#[test]
fn of_a_umts_subscriber() {
    let mut bench = with_hlr(|config| config.subscribers.ciphers = Ciphers(0b1_0000));
    bench.around.trace.is_listening = true;
    let functions = Milenage::new(&K, &OPC);
    let vector = Quintuplet::generate(&functions, RAND, Sqn::new(100, 0), [0x80, 0]);
    let keys = vector.keys;
    let ciphering =
        gannet_proto::auth::card::Keys::Umts(keys).ciphering(Algorithm::Gea4).expect("GEA4 takes Kc128");
    let kc128 = keys.kc128().0;
    let res = vector.xres.as_slice().to_vec();
    let secrets: Vec<(&str, &[u8])> = vec![
        ("K", &K.0),
        ("OPc", &OPC.0),
        ("CK", &keys.ck.0),
        ("IK", &keys.ik.0),
        ("Kc128", &kc128),
        ("RES", &res),
    ];
    // A phone of R99 with GEA4.
    let capability = MsNetworkCapability(Octets::from_start(&[0xe5, 0xf0]));
    let request =
        AttachRequest { ms_network_capability: capability, ..attach_request(MobileIdentity::Imsi(imsi(0))) };
    bench.gmm(0, request);
    assert!(matches!(heard(&mut bench), Some(Body::SendAuthInfoRequest(_))));
    let quintuplet =
        gsup::Quintuplet { ik: keys.ik.0, ck: keys.ck.0, autn: vector.autn, res: Octets::from_start(&res) };
    let tuple = AuthTuple { rand: RAND, triplet: None, quintuplet: Some(quintuplet) };
    say_of(
        &mut bench,
        imsi(0),
        Body::SendAuthInfoResult(AuthVectors { tuples: vec![tuple], cn_domain: None }),
    );
    Outputs::of(&mut bench).assert_without(&secrets);
    let request = challenge(&mut bench);
    let autn = request.autn.expect("a UMTS challenge").0;
    let answer = Usim::new(K, OPC).answer(&request.rand.unwrap().0, Some(&autn)).answer;
    let CardAnswer::Res(answered) = answer else { panic!("{answer:?}") };
    let (first, more) = answered.as_slice().split_first_chunk::<4>().unwrap();
    let response = AuthenticationResponse {
        reference: request.reference,
        response: Some(AuthParameterResponse(*first)),
        imeisv: None,
        extended_response: (!more.is_empty()).then(|| ExtendedResponse(Octets::from_start(more))),
    };
    bench.gmm(0, response);
    assert!(matches!(heard(&mut bench), Some(Body::UpdateLocationRequest(_))), "{:?}", bench.drops());
    located(&mut bench, subscription("*", 9));
    Outputs::of(&mut bench).assert_without(&secrets);
    accepted(&mut bench, ciphering);
    bench.lives();
    Outputs::of(&mut bench).assert_without(&secrets);
}

/// The search finds what it looks for: a key in each way in which it could be written.
#[test]
fn what_is_written_is_found() {
    let has = |text: &[u8]| Output::new("text", &[b"before ", text, b" behind"].concat()).has(&KI.0);
    for text in [
        format!("{:?}", KI.0),
        format!("{:#?}", KI.0),
        format!("{:02x?}", KI.0),
        format!("{:#04x?}", KI.0),
        KI.hex(),
        KI.hex().to_uppercase(),
    ] {
        assert!(has(text.as_bytes()), "{text}");
    }
    assert!(has(&KI.0) && !has(&KI.0[1..]));
    assert!(!has(format!("{:?}", GsmSim { ki: KI, ..card() }).as_bytes()));
}

//! Frames of a real phone stack, replayed as a BSS would send them.
//!
//! What a phone takes from the network is adapted: the TLLI, and with it N(U) and FCS. The HLR gives the triplets of the
//! same run. The octets and where they are from: `real_phone.txt`.

use super::bench::*;
use super::subscribers::{heard, located, say, subscription, with_hlr};
use crate::sgsn::*;
use gannet_machine::drops::Drop;
use gannet_proto::gmm::network::Signatures;
use gannet_wire::fcs24::fcs24;
use gannet_wire::gsup::{AuthTuple, AuthVectors, Body, Triplet};
use gannet_wire::gtp::Cause;
use gannet_wire::id::{CellId, PTmsi, Plmn, Rai};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::SmMessage;
use gannet_wire::l3::{Direction, L3Message};

const RECORDED: &str = include_str!("real_phone.txt");
/// In front of an LL-PDU: NS-UNITDATA, UL-UNITDATA with TLLI, QoS profile, cell and alignment octets, and the LL-PDU's
/// element with its length.
const FRONT: usize = 27;
/// The phone's DETACH REQUEST, built: detach type in the other half of its octet, a DRX parameter without identifier, the
/// P-TMSI without identifier, and no signature.
const DETACH_REQUEST: [u8; 6] = [0x08, 0x05, 0x20, 0x0a, 0x00, 0x05];

fn recorded(name: &str) -> Vec<Vec<u8>> {
    let lines = RECORDED.lines().filter_map(|line| line.split_once(' '));
    let octets = |hex: &str| {
        let digits = hex.as_bytes().chunks(2).map(|pair| core::str::from_utf8(pair).unwrap());
        digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
    };
    lines.filter(|(found, _)| *found == name).map(|(_, hex)| octets(hex)).collect()
}

/// The information field of a recorded LL-PDU.
fn information(name: &str) -> Vec<u8> {
    let pdu = recorded(name).remove(0);
    pdu[FRONT + 3..pdu.len() - 3].to_vec()
}

struct Replay {
    bench: Bench,
    tlli: Tlli,
    /// N(U) of the next frame, by SAPI.
    n_u: [u16; 16],
}

impl Replay {
    fn new(mut bench: Bench) -> Self {
        let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 0 };
        bench.reset_bvc(cell(0).nsei, cell(0).bvci, Some(CellId { rai, ci: 6969 }));
        Self { bench, tlli: Tlli(0x8000_0000), n_u: [0; 16] }
    }

    /// A recorded frame, with another information field.
    fn send_instead(&mut self, name: &str, information: &[u8]) {
        let mut pdu = recorded(name).remove(0);
        pdu[5..9].copy_from_slice(&self.tlli.0.to_be_bytes());
        let (sapi, protected) = (pdu[FRONT] & 0x0f, pdu[FRONT + 2] & 3);
        let n_u = &mut self.n_u[usize::from(sapi)];
        let [high, low] = (*n_u << 2).to_be_bytes();
        *n_u += 1;
        let mut ll_pdu = vec![sapi, 0xc0 | high, low | protected];
        ll_pdu.extend(information);
        ll_pdu.extend(fcs24(&ll_pdu));
        pdu.truncate(FRONT);
        pdu[FRONT - 2..].copy_from_slice(&u16::try_from(ll_pdu.len()).unwrap().to_be_bytes());
        pdu.extend(ll_pdu);
        self.bench.datagram(GB, bss(cell(0).nsei), &pdu);
    }

    fn send(&mut self, name: &str) {
        self.send_instead(name, &information(name));
    }

    fn next_l3(&mut self) -> L3Message {
        let down = self.bench.next_down();
        assert_eq!(down.header.tlli, self.tlli);
        let information = &down.ll_pdu[3..down.ll_pdu.len() - 3];
        L3Message::parse(Direction::Downlink, information).unwrap()
    }

    fn next_gmm(&mut self) -> GmmMessage {
        match self.next_l3() {
            L3Message::Gmm(message) => message,
            other => panic!("{other:?}"),
        }
    }

    /// ATTACH REQUEST, and an answer to each question, with the frame that was sent then. True where the phone was challenged.
    fn attach(&mut self, request: &[u8]) -> bool {
        self.send_instead("attach-request", request);
        let mut challenged = false;
        loop {
            match self.next_gmm() {
                GmmMessage::IdentityRequest(request) if request.identity_type == IdentityType::Imsi => {
                    self.send("identity-response-imsi");
                }
                GmmMessage::IdentityRequest(_) => self.send("identity-response-imei"),
                GmmMessage::AuthenticationRequest(request) => {
                    challenged = true;
                    self.respond(&request);
                    heard(&mut self.bench);
                    located(&mut self.bench, subscription("*", 9));
                }
                GmmMessage::AttachAccept(accept) => {
                    let Some(MobileIdentity::PTmsi(ptmsi)) = accept.allocated_ptmsi else { panic!() };
                    self.tlli = Tlli::local(ptmsi);
                    self.send("attach-complete");
                    return challenged;
                }
                other => panic!("{other:?}"),
            }
            if let Some(Body::SendAuthInfoRequest(_)) = heard(&mut self.bench) {
                say(&mut self.bench, triplets(), 0);
            }
        }
    }

    /// The phone's response, with the SRES that goes with the RAND.
    fn respond(&mut self, request: &AuthenticationRequest) {
        let rand = request.rand.unwrap().0;
        let triplet = recorded("triplet").into_iter().find(|triplet| triplet[..16] == rand).unwrap();
        let mut response = information("authentication-response");
        response[2] = request.reference.0;
        response[4..8].copy_from_slice(&triplet[16..20]);
        self.send_instead("authentication-response", &response);
    }

    /// The phone's context, by its own ACTIVATE PDP CONTEXT REQUEST: TI flag 1, NSAPI 6, all of QoS "subscribed".
    fn activate(&mut self) {
        self.send("activate-request");
        let (ggsn, sequence, create) = self.bench.next_create();
        assert_eq!(create.nsapi, Nsapi(6));
        self.bench.create_answer(ggsn, sequence, &create, Cause::RequestAccepted);
        let L3Message::Sm { ti_flag, message, .. } = self.next_l3() else { panic!() };
        assert!(!ti_flag && matches!(message, SmMessage::ActivateAccept(_)), "{message:?}");
    }

    fn detach(&mut self) {
        let mut request = DETACH_REQUEST.to_vec();
        request.push(0xf4);
        request.extend(self.ptmsi().0.to_be_bytes());
        self.send_instead("attach-complete", &request);
    }

    fn ptmsi(&self) -> PTmsi {
        PTmsi(self.tlli.0 | 0xc000_0000)
    }
}

fn triplets() -> Body {
    let tuple = |octets: Vec<u8>| AuthTuple {
        rand: octets[..16].try_into().unwrap(),
        triplet: Some(Triplet {
            sres: octets[16..20].try_into().unwrap(),
            kc: octets[20..].try_into().unwrap(),
        }),
        quintuplet: None,
    };
    Body::SendAuthInfoResult(AuthVectors {
        tuples: recorded("triplet").into_iter().map(tuple).collect(),
        cn_domain: None,
    })
}

/// As a configuration for this phone says: it is asked for its IMEI, and its TI flag is taken.
fn for_this_phone(config: &mut SgsnConfig) {
    config.gmm.ask_imei = true;
    config.sm.accept_ti_flag = true;
}

fn goes_through(replay: &mut Replay) {
    let n_pdu = information("n-pdu");
    replay.send("n-pdu");
    // Four octets of SNDCP stand in front of it.
    assert_eq!(replay.bench.next_user().2, n_pdu[4..]);
}

#[test]
fn a_real_phone_attaches_has_a_context_and_user_data() {
    let mut replay = Replay::new(with_hlr(for_this_phone));
    assert!(replay.attach(&information("attach-request")));
    assert_eq!(replay.bench.mobile(0).gmm.imei().map(|imei| imei.to_string()), Some("0".repeat(15)));
    replay.activate();
    goes_through(&mut replay);
    assert_eq!(replay.bench.drops(), []);
}

/// Its DETACH REQUEST names no signature that it was given: the phone shows first who it is.
#[test]
fn a_real_phones_detach_request_ends_its_context() {
    let mut replay = Replay::new(with_hlr(for_this_phone));
    replay.attach(&information("attach-request"));
    replay.activate();
    replay.detach();
    let GmmMessage::AuthenticationRequest(request) = replay.next_gmm() else { panic!() };
    replay.respond(&request);
    finds_its_end(&mut replay);
    // Where signatures are not used it is obeyed at once.
    let mut replay = Replay::new(with_hlr(|config| {
        for_this_phone(config);
        config.gmm.signatures = Signatures::Given;
    }));
    replay.attach(&information("attach-request"));
    replay.activate();
    replay.detach();
    finds_its_end(&mut replay);
}

/// DETACH ACCEPT, and nothing is left of the phone, here or at the GGSN.
fn finds_its_end(replay: &mut Replay) {
    let at = replay.bench.sent.iter().position(|sent| matches!(sent, Sent::Down(_))).unwrap();
    let down = replay.bench.sent.remove(at).unwrap();
    replay.bench.sent.push_front(down);
    assert!(matches!(replay.next_gmm(), GmmMessage::DetachAcceptMo(_)));
    replay.bench.delete_answer(Nsapi(6));
    assert_eq!(replay.bench.drops(), []);
    assert_eq!(replay.bench.sgsn.mobiles().count(), 0);
}

/// Octets behind the mandatory part that fit no identifier: what stands behind them is absent, a signature too.
#[test]
fn octets_that_fit_no_element_leave_the_request_as_it_is() {
    let request = information("attach-request");
    let mandatory = request.len() - 7;
    let drx = [0x0a, 0x00];
    let with = |behind: &[u8]| [&request[..mandatory], behind].concat();
    for malformed in [
        with(&drx),
        with(&[&drx[..], &request[mandatory..]].concat()),
        with(&[&request[mandatory..], &drx[..]].concat()),
        // A signature, a timer and an element of type 4 that end with the message.
        with(&[0x19, 1]),
        with(&[0x17]),
        with(&[0x18, 0x09, 0xf4]),
    ] {
        let mut replay = Replay::new(with_hlr(for_this_phone));
        assert!(replay.attach(&malformed), "{malformed:02x?}");
        replay.activate();
        goes_through(&mut replay);
        assert_eq!(replay.bench.drops(), [], "{malformed:02x?}");
    }
}

/// In all other messages an element that must be understood is an error (04.08 clause 8.5).
#[test]
fn in_other_messages_such_octets_are_an_error() {
    let mut replay = Replay::new(with_hlr(for_this_phone));
    replay.attach(&information("attach-request"));
    replay.send_instead("attach-complete", &[0x08, 0x0a, 0x0a, 0x00]);
    let GmmMessage::GmmStatus(status) = replay.next_gmm() else { panic!() };
    assert_eq!(status.cause, GmmCause::InvalidMandatoryInformation);
    assert_eq!(replay.bench.drops(), [(Drop::GmmMalformed, 1)]);
}

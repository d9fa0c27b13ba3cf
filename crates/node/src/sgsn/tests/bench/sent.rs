//! What the SGSN sends.

use super::*;
use gannet_proto::classifier::RuleChange;
use gannet_wire::bssgp::unitdata::DlUnitdata;
use gannet_wire::bssgp::{Message, PduType};
use gannet_wire::gtp::Message as GtpMessage;
use gannet_wire::gtp::header::{Header, message_type};
use gannet_wire::gtp::v0;
use gannet_wire::gtp::v1c::{EchoResponse, emit_datagram};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::ns;

/// A DL-UNITDATA.
#[derive(Debug, Clone, PartialEq)]
pub struct Down {
    pub cell: (Nsei, Bvci),
    pub header: DlUnitdata<'static>,
    pub capability: Option<Vec<u8>>,
    pub ll_pdu: Vec<u8>,
}

/// What the SGSN sends.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a handful in a test")]
pub enum Sent {
    Ns(SocketAddr, ns::Pdu),
    Bssgp(Nsei, Bvci, Message),
    Down(Down),
    Control(IpAddr, Header, GtpMessage),
    User(IpAddr, GPdu, Vec<u8>),
    /// Another message of the user plane.
    UserPlane(Header),
    /// Of GTPv0, with its payload.
    V0(IpAddr, v0::Header, Vec<u8>),
}

impl Bench {
    pub fn take_outputs(&mut self, outputs: &mut Batch<Output<SgsnEvent, RuleChange>>) {
        while let Some(output) = outputs.pop() {
            match output {
                Output::Classify(change) => self.rules.apply(change).unwrap(),
                Output::Disconnect(_) => {}
                Output::Event(event) => self.events.push(event),
                Output::Transmit { port, peer: Peer::Udp(peer), frame } => {
                    let octets = frame.to_vec();
                    core::mem::drop(frame);
                    self.transmitted(port, peer, &octets);
                }
                Output::Transmit { port: HLR, peer: Peer::Link, frame } => self.to_hlr.push(&frame),
                Output::Transmit { peer, .. } => panic!("to {peer:?}"),
            }
        }
    }

    fn transmitted(&mut self, port: Port, peer: SocketAddr, octets: &[u8]) {
        match port {
            port if is_gb(port) => self.gb_transmitted(peer, octets),
            GTP_C | GTP_C_SECOND => {
                assert_eq!(peer.port(), 2123);
                let header = Header::parse(octets).unwrap();
                let message = GtpMessage::parse(header.message, header.payload(octets)).unwrap();
                if header.message == message_type::ECHO_REQUEST && !self.silent_ggsn {
                    let answer = EchoResponse { recovery: 9, private_extension: None };
                    self.answer(peer.ip(), Teid(0), header.sequence.unwrap(), answer);
                    return;
                }
                self.on_gn.push(octets.to_vec());
                self.sent.push_back(Sent::Control(peer.ip(), header, message));
            }
            GTP_U | GTP_U_SECOND => {
                assert_eq!(peer.port(), 2152);
                let header = Header::parse(octets).unwrap();
                if header.message == message_type::ECHO_REQUEST {
                    let mut answer = Vec::new();
                    let echo = EchoResponse { recovery: 0, private_extension: None }.into();
                    assert!(emit_datagram(Teid(0), header.sequence.unwrap(), &echo, &mut answer));
                    if !self.silent_ggsn {
                        self.datagram(GTP_U, peer, &answer);
                    }
                    return;
                }
                if header.message != message_type::G_PDU {
                    self.sent.push_back(Sent::UserPlane(header));
                    return;
                }
                let (g_pdu, _, range) = GPdu::parse(octets).unwrap();
                self.sent.push_back(Sent::User(peer.ip(), g_pdu, octets[range].to_vec()));
            }
            GTP_V0 => {
                assert_eq!(peer.port(), 3386);
                let (header, range) = v0::Header::parse(octets).unwrap();
                self.sent.push_back(Sent::V0(peer.ip(), header, octets[range].to_vec()));
            }
            _ => panic!("{port:?}"),
        }
    }

    fn gb_transmitted(&mut self, peer: SocketAddr, octets: &[u8]) {
        let Ok(unitdata) = ns::Unitdata::parse(octets) else {
            match ns::Pdu::parse(octets).unwrap() {
                ns::Pdu::Alive if !self.silent_bss => {
                    self.datagram(GB, peer, &ns::Pdu::AliveAck.to_vec());
                }
                pdu => self.sent.push_back(Sent::Ns(peer, pdu)),
            }
            return;
        };
        let nsei = Nsei(peer.port() - 22_000);
        let pdu = &octets[ns::UNITDATA_HEADER_LEN..];
        if PduType::of(pdu) != Some(PduType::DlUnitdata) {
            self.sent.push_back(Sent::Bssgp(nsei, unitdata.bvci, Message::parse(pdu).unwrap()));
            return;
        }
        let (header, range) = DlUnitdata::parse(pdu).unwrap();
        self.sent.push_back(Sent::Down(Down {
            cell: (nsei, unitdata.bvci),
            capability: header.ms_ra_capability.map(<[u8]>::to_vec),
            header: header.detached(),
            ll_pdu: pdu[range].to_vec(),
        }));
    }

    pub fn next(&mut self) -> Sent {
        self.sent.pop_front().expect("the SGSN has sent nothing")
    }

    pub fn is_silent(&self) -> bool {
        if !self.sent.is_empty() {
            eprintln!("{:?}", self.sent);
        }
        self.sent.is_empty()
    }
}

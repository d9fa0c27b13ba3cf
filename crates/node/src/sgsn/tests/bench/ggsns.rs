//! The GGSNs.

use super::*;
use gannet_wire::gtp::header::Header;
use gannet_wire::gtp::v1c::{CreateRequest, CreateResponse, DeleteResponse, emit_datagram};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{Cause, Message as GtpMessage};
use gannet_wire::l3::sm::SmMessage;

impl Bench {
    /// A message of a GGSN in answer to a request.
    pub fn answer(&mut self, from: IpAddr, teid: Teid, sequence: u16, message: impl Into<GtpMessage>) {
        let mut octets = Vec::new();
        assert!(emit_datagram(teid, sequence, &message.into(), &mut octets));
        self.datagram(GTP_C, SocketAddr::new(from, 2123), &octets);
    }

    /// A request of the GGSN's own.
    pub fn ggsn_asks(&mut self, teid: Teid, message: impl Into<GtpMessage>) {
        self.sequence += 1;
        self.answer(GGSN, teid, self.sequence, message);
    }

    pub fn next_control(&mut self) -> (IpAddr, Header, GtpMessage) {
        match self.next() {
            Sent::Control(to, header, message) => (to, header, message),
            other => panic!("{other:?}"),
        }
    }

    pub fn next_create(&mut self) -> (IpAddr, u16, CreateRequest) {
        match self.next_control() {
            (to, header, GtpMessage::CreateRequest(request)) => {
                assert_eq!(header.teid, Teid(0));
                (to, header.sequence.unwrap(), request)
            }
            other => panic!("{other:?}"),
        }
    }

    pub fn create_answer(&mut self, from: IpAddr, sequence: u16, request: &CreateRequest, cause: Cause) {
        let response =
            if cause == Cause::RequestAccepted { created(request) } else { CreateResponse::refused(cause) };
        self.answer(from, request.teid_control.unwrap(), sequence, response);
    }

    /// The GGSN is asked to delete the context, and does so.
    pub fn delete_answer(&mut self, nsapi: Nsapi) {
        let (to, header, message) = self.next_control();
        let GtpMessage::DeleteRequest(request) = message else { panic!("{message:?}") };
        assert_eq!((header.teid, request.nsapi), (Teid(GGSN_CONTROL + u32::from(nsapi.0)), nsapi));
        let response = DeleteResponse { cause: Cause::RequestAccepted, pco: None, private_extension: None };
        self.answer(to, Teid(0), header.sequence.unwrap(), response);
    }

    pub fn activate(&mut self, phone: usize, nsapi: Nsapi) {
        self.sm(phone, nsapi.0 - 5, activate_request(nsapi));
        let (from, sequence, request) = self.next_create();
        self.create_answer(from, sequence, &request, Cause::RequestAccepted);
        let message = self.hear_sm(phone);
        assert!(matches!(message, SmMessage::ActivateAccept(_)), "{message:?}");
        assert_eq!(self.events.last(), Some(&SgsnEvent::Activated { imsi: imsi(phone), nsapi }));
    }

    /// A G-PDU of the GGSN.
    pub fn downlink(&mut self, phone: usize, nsapi: Nsapi, t_pdu: &[u8]) {
        let teid = self.sgsn.teid(self.slot(phone), nsapi).expect("active");
        self.g_pdu(teid, t_pdu);
    }

    pub fn g_pdu(&mut self, teid: Teid, t_pdu: &[u8]) {
        let header = GPdu { teid, sequence: Some(1), npdu_number: None };
        let mut octets = vec![0; header.buffer_len()];
        assert!(header.emit(t_pdu.len(), &mut octets));
        octets.extend(t_pdu);
        self.datagram(GTP_U, SocketAddr::new(GGSN, 2152), &octets);
    }

    pub fn next_user_plane(&mut self) -> Header {
        match self.next() {
            Sent::UserPlane(header) => header,
            other => panic!("{other:?}"),
        }
    }

    pub fn next_user(&mut self) -> (IpAddr, GPdu, Vec<u8>) {
        match self.next() {
            Sent::User(to, header, t_pdu) => (to, header, t_pdu),
            other => panic!("{other:?}"),
        }
    }
}

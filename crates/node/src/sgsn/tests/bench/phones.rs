//! The phones.

use super::*;
use gannet_proto::llc::{Ciphering, LlcContext, LlcRole};
use gannet_wire::bssgp::QosProfile;
use gannet_wire::bssgp::unitdata::UlUnitdata;
use gannet_wire::id::{PTmsi, Sapi};
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::SmMessage;
use gannet_wire::l3::{Direction, L3Message};

pub fn imsi(phone: usize) -> Imsi {
    format!("001010000{:06}", phone + 1).parse().unwrap()
}

pub struct Phone {
    pub llc: LlcContext,
    pub tlli: Tlli,
    pub cell: usize,
    pub ptmsi: Option<PTmsi>,
    pub signature: Option<PTmsiSignature>,
}

impl Phone {
    pub fn new(index: usize) -> Self {
        let tlli = Tlli::random(u32::try_from(index).unwrap());
        let mut phone =
            Self { llc: LlcContext::new(LlcRole::Ms), tlli, cell: 0, ptmsi: None, signature: None };
        phone.uses(tlli);
        phone
    }

    /// The phone goes over to a TLLI.
    pub fn uses(&mut self, tlli: Tlli) {
        self.tlli = tlli;
        self.llc.assign(Some(tlli), None, Ciphering::NONE);
    }

    /// Switched off and on.
    pub fn power_cycle(&mut self, tlli: Tlli) {
        self.llc = LlcContext::new(LlcRole::Ms);
        self.uses(tlli);
    }
}

impl Bench {
    pub fn up(&mut self, phone: usize, ll_pdu: &[u8]) {
        self.up_naming(phone, ll_pdu, cell(self.phones[phone].cell).id);
    }

    /// The same with a cell in the PDU that may be another one.
    pub fn up_naming(&mut self, phone: usize, ll_pdu: &[u8], id: CellId) {
        let Phone { tlli, cell: n, .. } = self.phones[phone];
        let cell = cell(n);
        let header = UlUnitdata::new(tlli, QosProfile::default(), id);
        let mut pdu = vec![0; header.buffer_len(ll_pdu.len())];
        assert!(header.emit(ll_pdu.len(), &mut pdu));
        pdu.extend(ll_pdu);
        self.pdu(cell.nsei, cell.bvci, &pdu);
    }

    /// The LL-PDU that a phone makes of a unit of layer 3 or of SNDCP.
    pub fn ll_pdu(&mut self, phone: usize, sapi: Sapi, octets: &[u8]) -> Vec<u8> {
        let mut frame = self.air.frames.copy_of(octets).unwrap();
        self.phones[phone].llc.unitdata_request(sapi, true, false, &mut frame).unwrap();
        frame.to_vec()
    }

    pub fn unitdata(&mut self, phone: usize, sapi: Sapi, octets: &[u8]) {
        let ll_pdu = self.ll_pdu(phone, sapi, octets);
        self.up(phone, &ll_pdu);
    }

    /// A phone sends a GMM message.
    pub fn gmm(&mut self, phone: usize, message: impl Into<GmmMessage>) {
        self.unitdata(phone, Sapi::GMM, &L3Message::Gmm(message.into()).to_vec());
    }

    /// A phone sends an SM message of a transaction that it began.
    pub fn sm(&mut self, phone: usize, ti: u8, message: impl Into<SmMessage>) {
        let message = L3Message::Sm { ti, ti_flag: false, message: message.into() };
        self.unitdata(phone, Sapi::GMM, &message.to_vec());
    }

    /// An empty frame: a cell update, or an answer to paging.
    pub fn beacon(&mut self, phone: usize) {
        let mut out = Batch::default();
        self.phones[phone].llc.trigger_request(&mut self.air.context(), &mut out);
        let Some(LlcOutput::Transmit { frame, .. }) = out.pop() else { panic!("no frame") };
        self.up(phone, &frame);
    }

    pub fn next_down(&mut self) -> Down {
        match self.next() {
            Sent::Down(down) => down,
            other => panic!("{other:?}"),
        }
    }

    /// What a phone's LLC makes of an LL-PDU: a unit and its SAPI.
    pub fn open(&mut self, phone: usize, ll_pdu: &[u8]) -> (Sapi, Vec<u8>) {
        let frame = self.air.frames.copy_of(ll_pdu).unwrap();
        let mut out = Batch::default();
        assert!(
            self.phones[phone].llc.receive(&mut self.air.context(), None, frame, &mut out),
            "{:?}",
            self.air.trace.drops
        );
        match out.pop() {
            Some(LlcOutput::Unitdata { sapi, frame, .. }) => (sapi, frame.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    /// A phone's LLC answers an XID command as it is asked.
    pub fn xid_response(&mut self, phone: usize, command: &[u8]) {
        let frame = self.air.frames.copy_of(command).unwrap();
        let mut out = Batch::default();
        self.phones[phone].llc.receive(&mut self.air.context(), None, frame, &mut out);
        let Some(LlcOutput::Transmit { frame, .. }) = out.pop() else { panic!("no response") };
        self.up(phone, &frame);
    }

    /// The next unit for a phone, to its TLLI in its cell.
    pub fn hear(&mut self, phone: usize) -> (Sapi, Vec<u8>) {
        let down = self.next_down();
        let cell = cell(self.phones[phone].cell);
        assert_eq!(down.cell, (cell.nsei, cell.bvci));
        assert_eq!(down.header.tlli, self.phones[phone].tlli);
        self.open(phone, &down.ll_pdu)
    }

    pub fn hear_l3(&mut self, phone: usize) -> L3Message {
        let (sapi, octets) = self.hear(phone);
        assert_eq!(sapi, Sapi::GMM);
        L3Message::parse(Direction::Downlink, &octets).unwrap()
    }

    pub fn hear_gmm(&mut self, phone: usize) -> GmmMessage {
        match self.hear_l3(phone) {
            L3Message::Gmm(message) => message,
            other => panic!("{other:?}"),
        }
    }

    pub fn hear_sm(&mut self, phone: usize) -> SmMessage {
        match self.hear_l3(phone) {
            L3Message::Sm { message, .. } => message,
            other => panic!("{other:?}"),
        }
    }

    pub fn attach(&mut self, phone: usize) {
        self.gmm(phone, attach_request(MobileIdentity::Imsi(imsi(phone))));
        self.accept_attach(phone);
        assert_eq!(self.events.last(), Some(&SgsnEvent::Attached { imsi: imsi(phone) }));
    }

    /// The phone takes the P-TMSI of its ATTACH ACCEPT and says so.
    pub fn accept_attach(&mut self, phone: usize) -> AttachAccept {
        let message = self.hear_gmm(phone);
        let GmmMessage::AttachAccept(accept) = message else { panic!("{message:?}") };
        self.take_ptmsi(phone, accept.allocated_ptmsi, accept.ptmsi_signature);
        self.gmm(phone, AttachComplete {});
        accept
    }

    pub fn take_ptmsi(
        &mut self,
        phone: usize,
        identity: Option<MobileIdentity>,
        signature: Option<PTmsiSignature>,
    ) {
        let Some(MobileIdentity::PTmsi(ptmsi)) = identity else { panic!("{identity:?}") };
        let phone = &mut self.phones[phone];
        phone.ptmsi = Some(ptmsi);
        phone.signature = signature;
        phone.uses(Tlli::local(ptmsi));
    }

    /// The DETACH REQUEST of a phone, with the P-TMSI signature that it has.
    pub fn detach_request(&self, phone: usize, power_off: bool) -> DetachRequestMo {
        let detach_type = DetachTypeMo { kind: DetachKindMo::Gprs, power_off };
        DetachRequestMo { detach_type, ptmsi: None, ptmsi_signature: self.phones[phone].signature }
    }

    pub fn detach(&mut self, phone: usize, power_off: bool) {
        let request = self.detach_request(phone, power_off);
        self.gmm(phone, request);
    }

    pub fn slot(&self, phone: usize) -> Slot {
        self.sgsn.mobile_of(imsi(phone)).expect("attached").0
    }

    pub fn mobile(&self, phone: usize) -> &Mobile {
        self.sgsn.mobile_of(imsi(phone)).expect("attached").1
    }
}

//! A phone and its BSS that send octets as they are told to, also such as no node of ours would send.

use super::bed::{At, Bed};
use super::network::failed;
use crate::testbed::TestbedError;
use gannet_rig::NetworkNamespace;
use gannet_wire::bssgp::{self, DlUnitdata, QosProfile, UlUnitdata};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Bvci, CellId, Imsi, Nsei, Nsvci, PTmsi, Plmn, Rai, Sapi, Tlli};
use gannet_wire::l3::gmm::{
    AttachComplete, AttachRequest, AuthenticationResponse, GmmMessage, IdentityResponse, RauComplete,
    RauRequest,
};
use gannet_wire::l3::ie::{
    AuthParameterResponse, Cksn, IdentityType, ImeisvRequest, MobileIdentity, MsRadioAccessCapability,
    UpdateKind, UpdateType,
};
use gannet_wire::l3::sm::SmMessage;
use gannet_wire::l3::{Direction, L3Message};
use gannet_wire::llc::{Control, Header, ui_header};
use gannet_wire::ns::{self, Pdu};
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// The SGSN's end of Gb.
const SGSN: (&str, u16) = ("192.0.2.2", ns::UDP_PORT);
const BSS: &str = "192.0.2.1:0";
const NSEI: Nsei = Nsei(901);
const NSVCI: Nsvci = Nsvci(901);
const BVCI: Bvci = Bvci(2);
const DATAGRAM_MAX: usize = 2048;
/// How long an answer of the SGSN may take. Where nobody is authenticated osmo-sgsn sends ROUTING AREA UPDATE ACCEPT only when
/// T3350 has expired.
const PATIENCE: Duration = Duration::from_secs(9);
const CAPABILITY: [u8; 6] = [0x14, 0x53, 0x42, 0x28, 0x40, 0x40];

fn imei() -> MobileIdentity {
    "350000000000011".parse().map_or(MobileIdentity::None, MobileIdentity::Imei)
}

fn imeisv() -> MobileIdentity {
    "3500000000000101".parse().map_or(MobileIdentity::None, MobileIdentity::Imeisv)
}

/// The routing area of the cell.
fn rai() -> Rai {
    Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac: 1 }
}

fn cell() -> CellId {
    CellId { rai: rai(), ci: 20 }
}

type Result<T> = core::result::Result<T, TestbedError>;

/// A socket of the BSS towards the SGSN.
///
/// # Errors
/// Where there is none.
pub fn socket(bed: &Bed) -> Result<UdpSocket> {
    let namespace = bed.namespace(At::Radio).name();
    // It is made in the namespace by a thread that ends there.
    let bind = || {
        NetworkNamespace::named(namespace)?.enter()?;
        let socket = UdpSocket::bind(BSS)?;
        socket.connect(SGSN)?;
        Ok::<_, std::io::Error>(socket)
    };
    let socket = std::thread::scope(|scope| scope.spawn(bind).join());
    let socket = socket.map_err(|_| failed("the BSS", "its thread has failed"))??;
    socket.set_read_timeout(Some(Duration::from_millis(100)))?;
    Ok(socket)
}

/// The next datagram; `None` where the time is over.
///
/// # Errors
/// Where the socket fails.
pub fn datagram(socket: &UdpSocket, until: Instant) -> Result<Option<Vec<u8>>> {
    let mut octets = vec![0; DATAGRAM_MAX];
    while Instant::now() < until {
        match socket.recv(&mut octets) {
            Ok(len) => {
                octets.truncate(len);
                return Ok(Some(octets));
            }
            // The SGSN's port may not be there yet.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::WouldBlock
                        | ErrorKind::TimedOut
                        | ErrorKind::Interrupted
                        | ErrorKind::ConnectionRefused
                ) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}

/// The BSS with one cell, and the phone that is in it at the moment.
#[derive(Debug)]
pub struct Phone {
    socket: UdpSocket,
    /// Its subscriber.
    pub imsi: Imsi,
    /// The name under which it sends.
    pub tlli: Tlli,
    /// N(U) of its next frame on SAPI 1.
    n_u: u16,
    /// For what the SGSN has asked: identities and proofs.
    pub asked: Vec<&'static str>,
}

impl Phone {
    /// A BSS that is known to the SGSN, with a phone that is switched off.
    ///
    /// # Errors
    /// Where the SGSN does not take it.
    pub fn new(bed: &Bed, imsi: &str) -> Result<Self> {
        let imsi = imsi.parse().map_err(|error| failed(imsi, format!("{error:?}")))?;
        let mut own = Self { socket: socket(bed)?, imsi, tlli: Tlli(0), n_u: 0, asked: Vec::new() };
        own.become_phone(imsi);
        let cause = ns::Cause::OamIntervention;
        own.ns(&Pdu::Reset { cause, nsvci: NSVCI, nsei: NSEI })?;
        own.until_ns("NS-RESET-ACK", &Pdu::ResetAck { nsvci: NSVCI, nsei: NSEI })?;
        own.ns(&Pdu::Unblock)?;
        own.until_ns("NS-UNBLOCK-ACK", &Pdu::UnblockAck)?;
        own.resets_bvc(Bvci::SIGNALLING, None)?;
        own.resets_bvc(BVCI, Some(cell()))?;
        Ok(own)
    }

    /// Becomes another phone, which has no P-TMSI.
    pub fn become_phone(&mut self, imsi: Imsi) {
        self.imsi = imsi;
        let last_digits =
            imsi.digits().fold(0, |sum: u32, digit| sum.wrapping_mul(10).wrapping_add(digit.into()));
        self.set_tlli(Tlli::random(last_digits));
    }

    /// Sets the TLLI, on a new logical link.
    pub fn set_tlli(&mut self, tlli: Tlli) {
        self.tlli = tlli;
        self.n_u = 0;
        self.asked.clear();
    }

    /// The P-TMSI that it has.
    #[must_use]
    pub const fn ptmsi(&self) -> PTmsi {
        PTmsi(self.tlli.0 | 0xc000_0000)
    }

    fn ns(&self, pdu: &Pdu) -> Result<()> {
        self.socket.send(&pdu.to_vec())?;
        Ok(())
    }

    fn bssgp(&self, bvci: Bvci, pdu: &[u8]) -> Result<()> {
        self.socket.send(&[&ns::Unitdata::of(bvci).emit()[..], pdu].concat())?;
        Ok(())
    }

    /// The next NS SDU or other PDU of NS. NS-ALIVE is answered.
    fn hear_ns(&self, until: Instant) -> Result<Option<Vec<u8>>> {
        while let Some(octets) = datagram(&self.socket, until)? {
            match Pdu::parse(&octets) {
                Ok(Pdu::Alive) => self.ns(&Pdu::AliveAck)?,
                Ok(Pdu::Unblock) => self.ns(&Pdu::UnblockAck)?,
                _ => return Ok(Some(octets)),
            }
        }
        Ok(None)
    }

    fn until_ns(&self, what: &str, wanted: &Pdu) -> Result<()> {
        let until = Instant::now() + PATIENCE;
        while let Some(octets) = self.hear_ns(until)? {
            if Pdu::parse(&octets).is_ok_and(|pdu| pdu == *wanted) {
                return Ok(());
            }
        }
        Err(failed(what, "did not come"))
    }

    fn resets_bvc(&self, bvci: Bvci, cell: Option<CellId>) -> Result<()> {
        let cause = bssgp::Cause::OamIntervention;
        let reset = bssgp::Message::BvcReset { bvci, cause, cell, features: None };
        self.bssgp(Bvci::SIGNALLING, &reset.to_vec())?;
        let until = Instant::now() + PATIENCE;
        while let Some(octets) = self.hear_ns(until)? {
            let Some(pdu) = octets.get(ns::UNITDATA_HEADER_LEN..).filter(|_| ns::Unitdata::is(&octets))
            else {
                continue;
            };
            let is_ack =
                |message| matches!(message, bssgp::Message::BvcResetAck { bvci: of, .. } if of == bvci);
            if bssgp::Message::parse(pdu).is_ok_and(is_ack) {
                return Ok(());
            }
        }
        Err(failed("BVC-RESET-ACK", "did not come"))
    }

    /// The octets of a message of layer 3, with more behind them.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn says_and(&mut self, message: impl Into<L3Message>, more: &[u8]) -> Result<()> {
        let information = [&message.into().to_vec()[..], more].concat();
        let header = ui_header(false, Sapi::GMM, self.n_u, false, true);
        self.n_u += 1;
        let mut ll_pdu = [&header[..], &information].concat();
        ll_pdu.extend(fcs24(&ll_pdu));
        let header = UlUnitdata::new(self.tlli, QosProfile::default(), cell());
        let mut pdu = vec![0; header.buffer_len(ll_pdu.len())];
        if !header.emit(ll_pdu.len(), &mut pdu) {
            return Err(failed("UL-UNITDATA", "has no room"));
        }
        self.bssgp(BVCI, &[pdu, ll_pdu].concat())
    }

    /// A message of mobility management.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn says(&mut self, message: impl Into<GmmMessage>) -> Result<()> {
        self.says_and(message.into(), &[])
    }

    /// A message of session management under identifier 0.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn says_sm(&mut self, ti_flag: bool, message: impl Into<SmMessage>) -> Result<()> {
        self.says_and(L3Message::Sm { ti: 0, ti_flag, message: message.into() }, &[])
    }

    /// The message of layer 3 in a datagram, if one for this phone is there.
    fn of_phone(&self, octets: &[u8]) -> Option<L3Message> {
        let pdu = octets.get(ns::UNITDATA_HEADER_LEN..).filter(|_| ns::Unitdata::is(octets))?;
        let (header, ll_pdu) = DlUnitdata::parse(pdu).ok()?;
        let ll_pdu = pdu.get(ll_pdu).filter(|_| header.tlli == self.tlli)?;
        let layout = Header::parse(ll_pdu).ok()?;
        let is_signalling =
            layout.header.sapi == Sapi::GMM && matches!(layout.header.control, Control::Ui { .. });
        let information = ll_pdu.get(layout.info()).filter(|_| is_signalling)?;
        L3Message::parse(Direction::Downlink, information).ok()
    }

    /// What the SGSN says, but for questions, which are answered and noted. A challenge is answered by `answer`.
    ///
    /// # Errors
    /// Where the socket fails, or nothing comes.
    pub fn hears_and(&mut self, answer: impl Fn(&[u8; 16]) -> Option<[u8; 4]>) -> Result<L3Message> {
        let until = Instant::now() + PATIENCE;
        while let Some(octets) = self.hear_ns(until)? {
            match self.of_phone(&octets) {
                None | Some(L3Message::Gmm(GmmMessage::GmmInformation(_))) => {}
                Some(L3Message::Gmm(GmmMessage::IdentityRequest(request))) => {
                    let (name, identity) = match request.identity_type {
                        IdentityType::Imsi => ("IMSI", MobileIdentity::Imsi(self.imsi)),
                        IdentityType::Imei | IdentityType::Imeisv | IdentityType::Tmsi => ("IMEI", imei()),
                    };
                    self.asked.push(name);
                    self.says(IdentityResponse { identity })?;
                }
                Some(L3Message::Gmm(GmmMessage::AuthenticationRequest(request))) => {
                    self.asked.push(if request.autn.is_some() { "AUTN" } else { "RAND" });
                    let response = request.rand.and_then(|rand| answer(&rand.0)).map(AuthParameterResponse);
                    let reference = request.reference;
                    let imeisv = (request.imeisv_request == ImeisvRequest::Requested).then(imeisv);
                    self.says(AuthenticationResponse {
                        reference,
                        response,
                        imeisv,
                        extended_response: None,
                    })?;
                }
                Some(message) => return Ok(message),
            }
        }
        Err(failed("an answer of the SGSN", format!("did not come; asked for: {}", self.asked.join(", "))))
    }

    /// The same where nobody authenticates.
    ///
    /// # Errors
    /// As there.
    pub fn hears(&mut self) -> Result<L3Message> {
        self.hears_and(|_| None)
    }

    /// ATTACH REQUEST with the IMSI, and octets behind it.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn asks_to_attach(&mut self, identity: MobileIdentity, more: &[u8]) -> Result<()> {
        let request = AttachRequest::new(identity, rai(), MsRadioAccessCapability(CAPABILITY.to_vec()));
        self.says_and(GmmMessage::from(request), more)
    }

    /// ROUTING AREA UPDATE REQUEST without a signature, and octets behind it.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn asks_to_update(&mut self, more: &[u8]) -> Result<()> {
        let request = RauRequest {
            update_type: UpdateType { kind: UpdateKind::Periodic, follow_on: false },
            cksn: Cksn::NO_KEY,
            old_rai: rai(),
            ms_radio_access_capability: MsRadioAccessCapability(CAPABILITY.to_vec()),
            old_ptmsi_signature: None,
            requested_ready_timer: None,
            drx: None,
            tmsi_status: None,
            ptmsi: None,
            ms_network_capability: None,
            pdp_context_status: None,
        };
        self.says_and(GmmMessage::from(request), more)
    }

    /// Attaches by IMSI, and has a P-TMSI.
    ///
    /// # Errors
    /// Where it is refused.
    pub fn attaches(&mut self) -> Result<()> {
        self.asks_to_attach(MobileIdentity::Imsi(self.imsi), &[])?;
        let message = self.hears()?;
        self.takes(&message)
    }

    /// Takes the P-TMSI of an ACCEPT, and says so.
    ///
    /// # Errors
    /// Where it was none.
    pub fn takes(&mut self, message: &L3Message) -> Result<()> {
        let (allocated, complete): (_, GmmMessage) = match message {
            L3Message::Gmm(GmmMessage::AttachAccept(accept)) => {
                (accept.allocated_ptmsi, AttachComplete {}.into())
            }
            L3Message::Gmm(GmmMessage::RauAccept(accept)) => {
                (accept.allocated_ptmsi, RauComplete { receive_npdu_numbers: None }.into())
            }
            other => return Err(failed("an ACCEPT", told(other))),
        };
        if let Some(MobileIdentity::PTmsi(ptmsi)) = allocated {
            // The logical link goes on under the new name.
            self.tlli = Tlli::local(ptmsi);
            self.says(complete)?;
        }
        Ok(())
    }
}

/// A message in a line: its name, its cause, its flag.
#[must_use]
pub fn told(message: &L3Message) -> String {
    let name = message.name();
    match message {
        L3Message::Gmm(GmmMessage::AttachReject(reject)) => format!("{name}, cause {}", reject.cause.code()),
        L3Message::Gmm(GmmMessage::RauReject(reject)) => format!("{name}, cause {}", reject.cause.code()),
        L3Message::Sm { message: SmMessage::ActivateReject(reject), .. } => {
            format!("{name}, cause {}", reject.cause.code())
        }
        L3Message::Sm { ti_flag, .. } => format!("{name}, flag {}", u8::from(*ti_flag)),
        L3Message::Gmm(_) => name.to_owned(),
    }
}

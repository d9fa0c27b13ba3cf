//! Two BSSs with two cells each, phones in them, two GGSNs, and the SGSN in the middle.
//!
//! What the SGSN sends is decoded and kept in order until a test looks at it. NS-ALIVE and Echo Requests are answered
//! by themselves.

use super::super::*;
pub use super::messages::*;
pub use super::told::Told;
use core::net::{Ipv4Addr, SocketAddr};
use gannet_proto::drops::Drop;
use gannet_proto::gmm::Cell;
use gannet_proto::llc::{Ciphering, LlcContext, LlcRole};
use gannet_proto::machine::{Peer, Surroundings};
use gannet_proto::qos::rule_book::RuleBook;
use gannet_proto::time::Duration;
use gannet_proto::trace::Quiet;
use gannet_wire::bssgp::ie::Cause as BssgpCause;
use gannet_wire::bssgp::unitdata::{DlUnitdata, UlUnitdata};
use gannet_wire::bssgp::{Message, PduType, QosProfile};
use gannet_wire::gtp::header::{Header, message_type};
use gannet_wire::gtp::v0;
use gannet_wire::gtp::v1c::{CreateRequest, CreateResponse, DeleteResponse, EchoResponse, emit_datagram};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{Cause as GtpCause, Message as GtpMessage};
use gannet_wire::id::{Bvci, CellId, Nsei, Nsvci, PTmsi, Plmn, Rai, Sapi, Teid};
use gannet_wire::ipa::Splitter;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::SmMessage;
use gannet_wire::l3::{Direction, L3Message};
use gannet_wire::ns;
use std::collections::VecDeque;

pub const FRAMES: usize = 256;
pub const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 6));
pub const OTHER_GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
pub const SGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 5));
/// The endpoints of a GGSN for NSAPI n: 0x1000 + n for signalling, 0x2000 + n for G-PDUs.
pub const GGSN_CONTROL: u32 = 0x1000;
pub const GGSN_USER: u32 = 0x2000;
pub const NSAPI: Nsapi = Nsapi(5);
pub const CAPABILITY: [u8; 3] = [0x17, 0x52, 0x00];

/// Cells 0 and 1 are of NSE 1, 2 and 3 of NSE 2; all but cell 3 are of one routing area.
pub fn cell(n: usize) -> Cell {
    let (nsei, bvci, rac, ci) = [(1, 2, 1, 10), (1, 3, 1, 11), (2, 2, 1, 20), (2, 3, 2, 21)][n];
    Cell { nsei: Nsei(nsei), bvci: Bvci(bvci), id: CellId { rai: rai(rac), ci } }
}

pub fn rai(rac: u8) -> Rai {
    Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac }
}

pub fn bss(nsei: Nsei) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1)), 22_000 + nsei.0)
}

pub fn imsi(phone: usize) -> Imsi {
    format!("00101000000000{}", phone + 1).parse().unwrap()
}

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

pub struct Bench {
    pub around: Surroundings<Told>,
    /// Of the phones.
    pub air: Surroundings<Quiet>,
    pub sgsn: Sgsn,
    pub phones: Vec<Phone>,
    pub sent: VecDeque<Sent>,
    pub events: Vec<SgsnEvent>,
    /// What a driver's classifier would know.
    pub rules: RuleBook,
    /// What the HLR gets.
    pub to_hlr: Splitter,
    pub silent_ggsn: bool,
    pub silent_bss: bool,
    pub sequence: u16,
    /// It is not asked for output: what arrives waits.
    pub busy: bool,
    /// What arrives in one turn of the driver.
    turn: Option<Batch<Input<SgsnCommand>>>,
}

impl Bench {
    /// All cells in service; nobody attached. Longer frames than N201-U's default are not asked for unless `change`
    /// says so.
    pub fn new(change: impl FnOnce(&mut SgsnConfig)) -> Self {
        let mut bench = Self::without_bss(change);
        for nsei in [1, 2] {
            bench.start_ns(Nsei(nsei));
            bench.reset_bvc(Nsei(nsei), Bvci::SIGNALLING, None);
        }
        for n in 0..4 {
            bench.reset_bvc(cell(n).nsei, cell(n).bvci, Some(cell(n).id));
        }
        bench.sent.clear();
        bench
    }

    pub fn without_bss(change: impl FnOnce(&mut SgsnConfig)) -> Self {
        let mut config = SgsnConfig {
            mobiles_max: 4,
            cells_max: 8,
            nses_max: 4,
            gtp_address: SGSN,
            restart_counter: 3,
            ggsns: vec![
                GgsnPeer { number: 0, address: GGSN, version: gannet_proto::gtp::Version::V1 },
                GgsnPeer { number: 1, address: OTHER_GGSN, version: gannet_proto::gtp::Version::V1 },
            ],
            n201_u: None,
            held_max: 6,
            held_per_mobile_max: 4,
            reassembly_max: 2,
            ..SgsnConfig::default()
        };
        config.flow.active_ms_max = 16;
        config.flow.pdus_max = 128;
        change(&mut config);
        let mut bench = Self {
            around: Surroundings::new(1, FRAMES, Told::default()),
            air: Surroundings::new(2, FRAMES, Quiet::default()),
            sgsn: Sgsn::new(config, 1),
            phones: (0..6).map(Phone::new).collect(),
            sent: VecDeque::new(),
            events: Vec::new(),
            rules: RuleBook::default(),
            to_hlr: Splitter::new(4096),
            silent_ggsn: false,
            silent_bss: false,
            sequence: 0,
            busy: false,
            turn: None,
        };
        bench.order(SgsnCommand::Start);
        bench
    }

    /// The usual SGSN with phone 0 attached in cell 0, and with a context where `active`.
    pub fn attached(active: bool) -> Self {
        Self::attached_with(active, Ingress::Queued)
    }

    pub fn attached_with(active: bool, ingress: Ingress) -> Self {
        let mut bench = Self::new(|config| config.ingress = ingress);
        bench.attach(0);
        if active {
            bench.activate(0, NSAPI);
        }
        bench.events.clear();
        bench
    }

    // ------------------------------------------------------------------------------------------------ in and out

    /// All that `arrivals` gives it arrives in one turn of the driver.
    pub fn in_one_turn(&mut self, arrivals: impl FnOnce(&mut Self)) {
        self.turn = Some(Batch::default());
        arrivals(self);
        let mut inputs = self.turn.take().unwrap_or_default();
        self.inputs(&mut inputs);
    }

    pub fn input(&mut self, input: Input<SgsnCommand>) {
        if let Some(turn) = &mut self.turn {
            turn.push(input);
            return;
        }
        let mut inputs = Batch::default();
        inputs.push(input);
        self.inputs(&mut inputs);
    }

    fn inputs(&mut self, inputs: &mut Batch<Input<SgsnCommand>>) {
        self.sgsn.handle_input(&mut self.around.context(), inputs);
        if !self.busy {
            self.collect();
        }
    }

    /// Takes what the SGSN has to send and to tell.
    pub fn collect(&mut self) {
        let mut outputs = Batch::default();
        loop {
            self.sgsn.poll_output(&mut self.around.context(), &mut outputs);
            self.take_outputs(&mut outputs);
            if !self.sgsn.has_work() {
                break;
            }
        }
        self.assert_rules();
    }

    /// A driver knows the active contexts, the names of mobiles and the far ends of NS-VCs, and nothing else; a mobile is
    /// blocked there for as long as its queue is full.
    fn assert_rules(&self) {
        assert_eq!(self.rules.keys().collect::<Vec<_>>(), self.sgsn.driver_keys());
        let Some(uplink) = self.sgsn.uplink() else {
            assert_eq!(self.rules, RuleBook::default());
            return;
        };
        let mut vcs: Vec<_> = self.sgsn.gb().ns.vcs().map(|vc| (vc.peer(), vc.nsei())).collect();
        vcs.sort_unstable();
        assert_eq!(self.rules.peers().collect::<Vec<_>>(), vcs);
        for (slot, _) in self.sgsn.mobiles() {
            let owner = self.sgsn.uplink_key(slot).and_then(|key| self.rules.owner(key));
            let blocked = owner.map(|owner| !owner.blocked.is_empty());
            assert!(blocked.is_none_or(|blocked| blocked == uplink.is_blocked(slot)), "{slot:?}");
        }
    }

    pub fn take_outputs(&mut self, outputs: &mut Batch<Output<SgsnEvent>>) {
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
            GB => self.gb_transmitted(peer, octets),
            GTP_C => {
                assert_eq!(peer.port(), 2123);
                let header = Header::parse(octets).unwrap();
                let message = GtpMessage::parse(header.message, header.payload(octets)).unwrap();
                if header.message == message_type::ECHO_REQUEST && !self.silent_ggsn {
                    let answer = EchoResponse { recovery: 9, private_extension: None };
                    self.answer(peer.ip(), Teid(0), header.sequence.unwrap(), answer);
                    return;
                }
                self.sent.push_back(Sent::Control(peer.ip(), header, message));
            }
            GTP_U => {
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

    pub fn order(&mut self, command: SgsnCommand) {
        self.input(Input::Command(command));
    }

    pub fn datagram(&mut self, port: Port, peer: SocketAddr, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.input(Input::Datagram { port, peer: Peer::Udp(peer), frame });
    }

    /// Time goes on, with all wake-ups on its way.
    pub fn pass(&mut self, span: Duration) {
        let end = self.around.now + span;
        while let Some(at) = self.around.timers.next().filter(|at| *at <= end) {
            self.around.now = at.max(self.around.now);
            let key = self.around.timers.pop_due(self.around.now).unwrap();
            self.input(Input::Timeout(key));
        }
        self.around.now = end;
    }

    pub fn pass_secs(&mut self, secs: u64) {
        self.pass(Duration::from_secs(secs));
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

    pub fn dropped(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }

    pub fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }

    /// Nothing is left of anybody, and no frame was lost.
    pub fn assert_empty(&self) {
        assert_eq!(self.sgsn.leftovers(), []);
        assert!(self.rules.is_empty(), "{:?}", self.rules);
        assert_eq!(self.around.frames.free(), FRAMES);
    }

    // ----------------------------------------------------------------------------------------------------- the BSS

    pub fn ns(&mut self, nsei: Nsei, pdu: &ns::Pdu) {
        self.datagram(GB, bss(nsei), &pdu.to_vec());
    }

    pub fn start_ns(&mut self, nsei: Nsei) {
        let nsvci = Nsvci(nsei.0);
        self.ns(nsei, &ns::Pdu::Reset { cause: ns::Cause::OamIntervention, nsvci, nsei });
        assert_eq!(self.next(), Sent::Ns(bss(nsei), ns::Pdu::ResetAck { nsvci, nsei }));
        self.ns(nsei, &ns::Pdu::Unblock);
        assert_eq!(self.next(), Sent::Ns(bss(nsei), ns::Pdu::UnblockAck));
    }

    pub fn pdu(&mut self, nsei: Nsei, bvci: Bvci, pdu: &[u8]) {
        let octets = [&ns::Unitdata::of(bvci).emit()[..], pdu].concat();
        self.datagram(GB, bss(nsei), &octets);
    }

    pub fn bssgp(&mut self, nsei: Nsei, bvci: Bvci, message: &Message) {
        self.pdu(nsei, bvci, &message.to_vec());
    }

    /// On the signalling BVC of NSE 1.
    pub fn signal(&mut self, message: &Message) {
        self.bssgp(Nsei(1), Bvci::SIGNALLING, message);
    }

    pub fn next_bssgp(&mut self) -> Message {
        match self.next() {
            Sent::Bssgp(_, _, message) => message,
            other => panic!("{other:?}"),
        }
    }

    pub fn reset_bvc(&mut self, nsei: Nsei, bvci: Bvci, cell: Option<CellId>) {
        let reset = Message::BvcReset { bvci, cause: BssgpCause::OamIntervention, cell, features: None };
        self.bssgp(nsei, Bvci::SIGNALLING, &reset);
        let ack = Message::BvcResetAck { bvci, cell: None, features: None };
        assert_eq!(self.next(), Sent::Bssgp(nsei, Bvci::SIGNALLING, ack));
    }

    // -------------------------------------------------------------------------------------------------- the phones

    pub fn up(&mut self, phone: usize, ll_pdu: &[u8]) {
        let Phone { tlli, cell: n, .. } = self.phones[phone];
        let cell = cell(n);
        let header = UlUnitdata::new(tlli, QosProfile::default(), cell.id);
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

    pub fn slot(&self, phone: usize) -> Slot {
        self.sgsn.mobile_of(imsi(phone)).expect("attached").0
    }

    pub fn mobile(&self, phone: usize) -> &Mobile {
        self.sgsn.mobile_of(imsi(phone)).expect("attached").1
    }

    // ---------------------------------------------------------------------------------------------------- the GGSN

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

    pub fn create_answer(&mut self, from: IpAddr, sequence: u16, request: &CreateRequest, cause: GtpCause) {
        let response = if cause == GtpCause::RequestAccepted {
            created(request)
        } else {
            CreateResponse::refused(cause)
        };
        self.answer(from, request.teid_control.unwrap(), sequence, response);
    }

    /// The GGSN is asked to delete the context, and does so.
    pub fn delete_answer(&mut self, nsapi: Nsapi) {
        let (to, header, message) = self.next_control();
        let GtpMessage::DeleteRequest(request) = message else { panic!("{message:?}") };
        assert_eq!((header.teid, request.nsapi), (Teid(GGSN_CONTROL + u32::from(nsapi.0)), nsapi));
        let response =
            DeleteResponse { cause: GtpCause::RequestAccepted, pco: None, private_extension: None };
        self.answer(to, Teid(0), header.sequence.unwrap(), response);
    }

    pub fn activate(&mut self, phone: usize, nsapi: Nsapi) {
        self.sm(phone, nsapi.0 - 5, activate_request(nsapi));
        let (from, sequence, request) = self.next_create();
        self.create_answer(from, sequence, &request, GtpCause::RequestAccepted);
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

//! A small network for the mobiles: one logical link for each, and whatever the test lets it say.

use super::super::*;
use gannet_machine::Surroundings;
use gannet_machine::drops::{Drop as Dropped, DropCounters};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::trace::{Category, Level, Owner, TraceSink};
use gannet_proto::gmm::message_goes_ciphered;
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole, peek};
use gannet_proto::um::{BROADCAST, HEADER_LEN, PagedIdentity, UmBearer, UmHeader, UmKind};
use gannet_wire::id::{CellId, Imsi, Plmn, Sapi, Tlli};
use gannet_wire::l3::gmm::{AttachAccept, RauAccept};
use gannet_wire::l3::ie::{GprsTimer, MobileIdentity, PdpContextStatus, RadioPriority};
use gannet_wire::l3::sm::ActivateAccept;
use gannet_wire::l3::{Direction, GmmMessage, L3Message, SmMessage};
use std::collections::VecDeque;

pub const FRAMES: usize = 64;
pub const MOBILES: u32 = 3;
pub const PTMSI: PTmsi = PTmsi(0xc000_0100);
pub const ADDRESS: PdpAddress = PdpAddress::Ipv4(core::net::Ipv4Addr::new(10, 0, 0, 7));
pub const NSAPI: Nsapi = Nsapi(5);

/// What the mobiles say: drops are counted, and lines kept that an operator sees.
#[derive(Debug, Default)]
pub struct Told {
    pub drops: DropCounters,
    pub lines: Vec<String>,
}

impl TraceSink for Told {
    fn enabled(&self, _: Category, level: Level) -> bool {
        level >= Level::Info
    }

    fn line(&mut self, _: Category, _: Level, text: core::fmt::Arguments<'_>) {
        self.lines.push(text.to_string());
    }

    fn dropped(&mut self, drop: Dropped, _: Option<Owner>) {
        self.drops.add(drop);
    }
}

/// What came from a mobile.
#[derive(Debug, PartialEq)]
pub enum Up {
    /// A datagram that is no LL-PDU.
    Um(UmKind, Tlli, Vec<u8>),
    /// Layer 3 on SAPI 1.
    L3(Tlli, L3Message),
    /// An SN-PDU.
    Sn(Tlli, Vec<u8>),
    /// Another LL-PDU.
    Other(Tlli, Vec<u8>),
}

pub struct Bench {
    pub around: Surroundings<Told>,
    pub ms: Ms,
    pub network: Vec<LlcContext>,
    /// What the network ciphers with.
    pub cipher: Ciphering,
    pub up: VecDeque<(u32, Up)>,
    pub events: VecDeque<MsEvent>,
    pub tun: Vec<(u32, Vec<u8>)>,
    /// LL-PDUs with user data of mobile 0, where the test is the network's LLC itself.
    pub user_data: Option<VecDeque<Vec<u8>>>,
    outputs: Batch<LlcOutput>,
}

pub fn cell(rac: u8, ci: u16) -> CellId {
    CellId { rai: Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac }, ci }
}

pub fn imsi(index: u32) -> Imsi {
    format!("00101000000000{}", index + 1).parse().unwrap()
}

impl Bench {
    /// Three mobiles in three cells, two of which are of one routing area.
    pub fn new(change: impl FnOnce(&mut MsConfig)) -> Self {
        let mut config = MsConfig::new(MOBILES, imsi(0), vec![cell(1, 10), cell(1, 11), cell(2, 20)]);
        config.first_cells = vec![0; MOBILES as usize];
        change(&mut config);
        let network = |_| LlcContext::new(LlcRole::Sgsn);
        Self {
            around: Surroundings::new(1, FRAMES, Told::default()),
            ms: Ms::new(config, Box::new(UmBearer)),
            network: (0..MOBILES).map(network).collect(),
            cipher: Ciphering::NONE,
            up: VecDeque::new(),
            events: VecDeque::new(),
            tun: Vec::new(),
            user_data: None,
            outputs: Batch::default(),
        }
    }

    /// Mobile 0 attached, with one context where `active`.
    pub fn attached(active: bool) -> Self {
        let mut bench = Self::new(|_| ());
        bench.attach(0);
        if active {
            bench.activate(0);
        }
        bench
    }

    pub fn input(&mut self, input: Input<MsCommand>) {
        let mut inputs = Batch::default();
        inputs.push(input);
        self.ms.handle_input(&mut self.around.context(), &mut inputs);
        self.poll();
    }

    /// Takes what the mobiles have to say.
    pub fn poll(&mut self) {
        let mut outputs = Batch::default();
        self.ms.poll_output(&mut self.around.context(), &mut outputs);
        while let Some(output) = outputs.pop() {
            match output {
                Output::Classify(_) | Output::Disconnect(_) => {}
                Output::Event(event) => self.events.push_back(event),
                Output::Transmit { port: TUN, peer: Peer::Slot(index), frame } => {
                    self.tun.push((index, frame.to_vec()));
                }
                Output::Transmit { port, peer: Peer::Slot(index), frame } => {
                    assert_eq!(port, BEARER);
                    self.um_received(index, frame);
                }
                Output::Transmit { peer, .. } => panic!("to {peer:?}"),
            }
        }
    }

    fn um_received(&mut self, index: u32, mut frame: Frame) {
        let header = UmHeader::parse(&frame).unwrap();
        assert_eq!(Some(header.cell), self.ms.mobile(index).unwrap().cell);
        assert!(frame.pull(HEADER_LEN));
        if header.kind != UmKind::LlPdu {
            self.up.push_back((index, Up::Um(header.kind, header.tlli, frame.to_vec())));
            return;
        }
        let octets = frame.to_vec();
        if let Some(user_data) = &mut self.user_data
            && peek(&octets).unwrap().sapi != Sapi::GMM
        {
            user_data.push_back(octets);
            return;
        }
        let llc = &mut self.network[index as usize];
        // N(U) 0: the mobile's logical links have begun anew, and so the network's do.
        if let [1, 0xc0, 1, ..] = octets[..] {
            *llc = LlcContext::new(LlcRole::Sgsn);
        }
        llc.assign(Some(header.tlli), None, self.cipher);
        llc.receive(&mut self.around.context(), None, frame, &mut self.outputs);
        if self.outputs.is_empty() {
            self.up.push_back((index, Up::Other(header.tlli, octets.clone())));
        }
        while let Some(output) = self.outputs.pop() {
            let up = match output {
                LlcOutput::Unitdata { sapi: Sapi::GMM, frame, ciphered } => {
                    let message = L3Message::parse(Direction::Uplink, &frame).unwrap();
                    assert_eq!(ciphered, self.cipher.is_on() && message_goes_ciphered(&message));
                    Up::L3(header.tlli, message)
                }
                LlcOutput::Unitdata { frame, ciphered, .. } => {
                    assert_eq!(ciphered, self.cipher.is_on());
                    Up::Sn(header.tlli, frame.to_vec())
                }
                _ => Up::Other(header.tlli, octets.clone()),
            };
            self.up.push_back((index, up));
        }
    }

    pub fn order(&mut self, command: MsCommand) {
        self.input(Input::Command(command));
    }

    pub fn packet(&mut self, index: u32, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.input(Input::Datagram { port: TUN, peer: Peer::Slot(index), frame });
    }

    /// A datagram of the BSS.
    pub fn um(&mut self, peer: u32, kind: UmKind, cell: u16, tlli: Tlli, octets: &[u8]) {
        let mut frame = self.around.frames.copy_of(octets).unwrap();
        assert!(frame.prepend(&UmHeader { kind, cell, tlli, priority: None }.emit()));
        self.input(Input::Datagram { port: BEARER, peer: Peer::Slot(peer), frame });
    }

    pub fn raw_um(&mut self, peer: Peer, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.input(Input::Datagram { port: BEARER, peer, frame });
    }

    pub fn page(&mut self, cell: u16, identity: PagedIdentity) {
        let mut octets = Vec::new();
        identity.emit(&mut octets);
        self.um(BROADCAST, UmKind::PagingPs, cell, Tlli(0), &octets);
    }

    /// An LL-PDU of the network with some unit of layer 3, to where and by what TLLI the mobile sent last.
    pub fn ll_unitdata(&mut self, index: u32, sapi: Sapi, octets: &[u8]) {
        self.send(index, sapi, true, octets);
    }

    /// The same in the clear, whatever the network ciphers with.
    pub fn in_the_clear(&mut self, index: u32, sapi: Sapi, octets: &[u8]) {
        self.send(index, sapi, false, octets);
    }

    fn send(&mut self, index: u32, sapi: Sapi, ciphered: bool, octets: &[u8]) {
        let mut frame = self.around.frames.copy_of(octets).unwrap();
        let llc = &mut self.network[index as usize];
        llc.assign(llc.tlli(), None, self.cipher);
        llc.unitdata_request(sapi, true, ciphered, &mut frame).unwrap();
        let (tlli, octets) = (llc.tlli().unwrap(), frame.to_vec());
        drop(frame);
        let cell = self.ms.mobile(index).unwrap().cell.unwrap();
        self.um(index, UmKind::LlPdu, cell, tlli, &octets);
    }

    /// What the network's LLC has to say for itself.
    pub fn llc_says(
        &mut self,
        index: u32,
        say: impl FnOnce(&mut LlcContext, &mut Context<'_>, &mut Batch<LlcOutput>),
    ) {
        let mut outputs = Batch::default();
        say(&mut self.network[index as usize], &mut self.around.context(), &mut outputs);
        let tlli = self.network[index as usize].tlli().unwrap();
        let cell = self.ms.mobile(index).unwrap().cell.unwrap();
        while let Some(output) = outputs.pop() {
            let LlcOutput::Transmit { frame, .. } = output else { panic!("{output:?}") };
            let octets = frame.to_vec();
            drop(frame);
            self.um(index, UmKind::LlPdu, cell, tlli, &octets);
        }
    }

    pub fn gmm(&mut self, index: u32, message: impl Into<GmmMessage>) {
        let message = L3Message::Gmm(message.into());
        self.send(index, Sapi::GMM, message_goes_ciphered(&message), &message.to_vec());
    }

    pub fn sm(&mut self, index: u32, ti: u8, message: impl Into<SmMessage>) {
        let message = L3Message::Sm { ti, ti_flag: true, message: message.into() };
        self.ll_unitdata(index, Sapi::GMM, &message.to_vec());
    }

    /// Time goes on, with all wake-ups on its way.
    pub fn pass(&mut self, span: Duration) {
        let end = self.around.now + span;
        while let Some(at) = self.around.timers.next().filter(|at| *at <= end) {
            self.around.now = at.max(self.around.now);
            let now: Instant = self.around.now;
            let key = self.around.timers.pop_due(now).unwrap();
            self.input(Input::Timeout(key));
        }
        self.around.now = end;
    }

    /// The next layer 3 message of a mobile; what announces its TLLI is passed over.
    pub fn l3(&mut self, index: u32) -> (Tlli, L3Message) {
        loop {
            match self.up.pop_front() {
                Some((_, Up::Um(UmKind::CampOn, ..))) => {}
                Some((from, Up::L3(tlli, message))) if from == index => return (tlli, message),
                other => panic!("{other:?}"),
            }
        }
    }

    pub fn next_gmm(&mut self, index: u32) -> (Tlli, GmmMessage) {
        match self.l3(index) {
            (tlli, L3Message::Gmm(message)) => (tlli, message),
            other => panic!("{other:?}"),
        }
    }

    pub fn next_sm(&mut self, index: u32) -> SmMessage {
        match self.l3(index) {
            (_, L3Message::Sm { ti_flag: false, message, .. }) => message,
            other => panic!("{other:?}"),
        }
    }

    /// Forgets what only announces TLLIs; true where nothing else was sent.
    pub fn is_silent(&mut self) -> bool {
        self.up.retain(|(_, up)| !matches!(up, Up::Um(UmKind::CampOn, ..)));
        self.up.is_empty()
    }

    pub fn attach(&mut self, index: u32) {
        self.order(MsCommand::Attach { mobile: index });
        assert!(matches!(self.next_gmm(index), (_, GmmMessage::AttachRequest(_))));
        self.gmm(index, attach_accept(self.rai(index), Some(PTmsi(PTMSI.0 + index))));
        assert!(matches!(self.next_gmm(index), (_, GmmMessage::AttachComplete(_))));
        assert!(matches!(self.events.pop_front(), Some(MsEvent::Attached { .. })));
    }

    pub fn order_context(&mut self, index: u32, nsapi: Nsapi) {
        self.order(MsCommand::Activate { mobile: index, nsapi, apn: None, qos: None, address: None });
    }

    pub fn activate(&mut self, index: u32) {
        self.order_context(index, NSAPI);
        assert!(matches!(self.next_sm(index), SmMessage::ActivateRequest(_)));
        self.sm(index, 0, activate_accept());
        assert!(matches!(self.events.pop_front(), Some(MsEvent::Activated { .. })));
    }

    pub fn rai(&self, index: u32) -> Rai {
        let cell = self.ms.mobile(index).unwrap().cell.unwrap();
        self.ms.config().cells[usize::from(cell)].rai
    }

    pub fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }

    /// Whatever happened, no frame was lost.
    pub fn all_frames_are_back(&self) {
        assert_eq!(self.around.frames.free(), FRAMES);
    }
}

pub fn attach_accept(rai: Rai, ptmsi: Option<PTmsi>) -> AttachAccept {
    AttachAccept {
        negotiated_ready_timer: Some(GprsTimer::from_seconds(44)),
        allocated_ptmsi: ptmsi.map(MobileIdentity::PTmsi),
        ..AttachAccept::new(rai, GprsTimer::from_seconds(3240))
    }
}

pub fn rau_accept(rai: Rai, ptmsi: Option<PTmsi>, contexts: u16) -> RauAccept {
    RauAccept {
        allocated_ptmsi: ptmsi.map(MobileIdentity::PTmsi),
        pdp_context_status: Some(PdpContextStatus(contexts)),
        ..RauAccept::new(rai, GprsTimer::from_seconds(3240))
    }
}

pub fn activate_accept() -> ActivateAccept {
    ActivateAccept {
        sapi: Sapi::DATA3,
        qos: QosProfile::BEST_EFFORT,
        radio_priority: RadioPriority::Four,
        address: Some(ADDRESS),
        pco: None,
        packet_flow_identifier: None,
        cause: None,
    }
}

//! Two ends with SNDCP over LLC, and a path between them.

use gannet_machine::drops::Drop;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::fabric::{self, Party};
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole, XidRequest};
use gannet_proto::sndcp::{Reassembler, Receiver, Setting, Sndcp, SndcpConfig, SndcpNsapi, SndcpOutput};
use gannet_proto::user_plane::{
    Output, Outputs, UserPlane, UserPlaneConfig, unitdata_indication, unitdata_request,
};
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use std::collections::VecDeque;

pub const SAPI: Sapi = Sapi(3);
/// In acknowledged mode.
pub const SURE: Nsapi = Nsapi(5);
/// In unacknowledged mode.
pub const BARE: Nsapi = Nsapi(6);
pub const FRAMES: usize = 700;
const LLC: TimerKey = TimerKey { owner: 0, slot: 1, generation: 0 };
const SNDCP: TimerKey = TimerKey { owner: 1, slot: 1, generation: 0 };

pub struct End {
    pub around: Surroundings<Quiet>,
    pub llc: LlcContext,
    pub sndcp: Sndcp,
    pub config: UserPlaneConfig,
    pub bare: SndcpNsapi,
    pub reassembler: Reassembler,
    pub out: Outputs,
    /// LL-PDUs for the other end, and how many octets there were in all.
    pub sent: Vec<Vec<u8>>,
    pub octets: usize,
    /// N-PDUs that are to go out in acknowledged mode, when there is room for them.
    pub waiting: VecDeque<Vec<u8>>,
    pub delivered: Vec<(Nsapi, Vec<u8>)>,
    pub confirmed: Vec<u8>,
    pub statuses: u32,
    /// Has a released link established again.
    pub insists: bool,
}

impl End {
    pub fn new(role: LlcRole, config: SndcpConfig) -> Self {
        let mut llc = LlcContext::new(role);
        llc.assign(Some(Tlli(0xc000_0001)), None, Ciphering::NONE);
        Self {
            around: Surroundings::new(1, FRAMES, Quiet::default()),
            llc,
            sndcp: Sndcp::new(role),
            config: UserPlaneConfig { sndcp: config, ..UserPlaneConfig::default() },
            bare: SndcpNsapi::new(BARE, SAPI),
            reassembler: Reassembler::new(8, Duration::from_secs(10)),
            out: Outputs::default(),
            sent: Vec::new(),
            octets: 0,
            waiting: VecDeque::new(),
            delivered: Vec::new(),
            confirmed: Vec::new(),
            statuses: 0,
            insists: true,
        }
    }

    /// Something that both layers are told.
    pub fn with<T>(
        &mut self,
        act: impl FnOnce(&mut UserPlane<'_>, &mut gannet_machine::Context<'_>) -> T,
    ) -> T {
        let Self { llc, sndcp, config, out, around, .. } = self;
        act(&mut UserPlane { llc, sndcp, config, n201_i_max: None, whose: None, out }, &mut around.context())
    }

    /// Something that SNDCP is told.
    pub fn tell<T>(
        &mut self,
        act: impl FnOnce(&mut Sndcp, &mut gannet_machine::Context<'_>, &Setting<'_>, &mut Batch<SndcpOutput>) -> T,
    ) -> T {
        self.with(|both, cx| both.tell(cx, SAPI, act))
    }

    pub fn activate(&mut self, nsapi: Nsapi, acknowledged: bool) {
        self.with(|both, cx| both.activate(cx, (nsapi, SAPI), acknowledged));
        self.drain();
    }

    pub fn ask_for_n201(&mut self, octets: u16) {
        let request = XidRequest { n201_u: Some(octets), n201_i: Some(octets), ..XidRequest::default() };
        self.llc.xid_request(&mut self.around.context(), SAPI, request, &mut self.out.llc);
        self.drain();
    }

    /// SN-UNITDATA.request.
    pub fn send_bare(&mut self, n_pdu: &[u8]) {
        let frame = self.around.frames.copy_of(n_pdu).unwrap();
        let mut segments = Batch::default();
        let layers = (&self.llc, Some(&mut self.sndcp));
        unitdata_request(&mut self.around.context(), layers, &mut self.bare, frame, &mut segments).unwrap();
        while let Some(mut frame) = segments.pop() {
            self.llc.unitdata_request(SAPI, true, true, &mut frame).unwrap();
            self.transmit(&frame);
        }
    }

    /// SN-DATA.request of what waits, as far as there is room.
    pub fn send_sure(&mut self) {
        while let Some(n_pdu) = self.waiting.pop_front() {
            let frame = self.around.frames.copy_of(&n_pdu).unwrap();
            match self.with(|both, cx| both.data_request(cx, SURE, frame)) {
                Ok(_) => {}
                Err(Drop::SndcpUnconfirmedFull) => {
                    self.waiting.push_front(n_pdu);
                    break;
                }
                Err(drop) => panic!("{drop:?}"),
            }
        }
        self.drain();
    }

    fn transmit(&mut self, octets: &[u8]) {
        self.octets += octets.len();
        self.sent.push(octets.to_vec());
    }

    pub fn receive(&mut self, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.llc.receive(&mut self.around.context(), None, frame, &mut self.out.llc);
        self.drain();
    }

    pub fn wake(&mut self) {
        let mut turns = 0;
        while let Some(key) = self.around.timers.pop_due(self.around.now) {
            turns += 1;
            assert!(turns < 1000, "a wake-up is asked for again and again");
            match key {
                LLC => self.llc.wake(&mut self.around.context(), None, &mut self.out.llc),
                _ => self.reassembler.wake(&mut self.around.context()),
            }
            self.drain();
        }
    }

    pub fn drain(&mut self) {
        let mut turns = 0;
        while let Some(output) = self.with(|both, cx| both.poll(cx)) {
            turns += 1;
            assert!(turns < 100_000, "outputs without end");
            self.take(output);
        }
        self.llc.arm(LLC, &mut self.around.timers);
        self.reassembler.arm(SNDCP, &mut self.around.timers);
    }

    fn take(&mut self, output: Output) {
        match output {
            Output::Llc(LlcOutput::Transmit { frame, .. }) => self.transmit(&frame),
            Output::Llc(LlcOutput::Unitdata { frame, .. }) => {
                let receiver = Receiver { slot: 1, whose: None, compresses: false };
                let Self { around, reassembler, sndcp, .. } = self;
                let receiver = (receiver, Some(sndcp));
                let cx = &mut around.context();
                let n_pdu = unitdata_indication(cx, reassembler, receiver, |nsapi| nsapi == BARE, frame);
                self.delivered.extend(n_pdu.map(|n_pdu| (n_pdu.nsapi, n_pdu.frame.to_vec())));
            }
            Output::Llc(LlcOutput::Reset) => self.bare.reset(),
            Output::Llc(LlcOutput::Status { .. }) => {}
            Output::Llc(other) => panic!("{other:?} is a matter of the two layers"),
            Output::NPdu(n_pdu) => self.delivered.push((n_pdu.nsapi, n_pdu.frame.to_vec())),
            Output::Confirmed { nsapi, number, count } => {
                assert_eq!(nsapi, SURE);
                self.confirmed.extend((0..count).map(|n| number.wrapping_add(n)));
            }
            Output::Room => {}
            Output::Status { nsapi, .. } => {
                assert_eq!(nsapi, SURE);
                self.statuses += 1;
                if self.insists {
                    self.with(|both, cx| both.resume(cx, nsapi));
                }
            }
        }
    }

    pub fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

impl Party for End {
    type Cargo = Vec<u8>;

    fn take_sent(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.sent)
    }

    fn receive(&mut self, octets: Vec<u8>) {
        End::receive(self, &octets);
    }

    fn next_wake(&self) -> Option<Instant> {
        self.around.timers.next()
    }

    fn wake(&mut self) {
        End::wake(self);
    }

    fn set_now(&mut self, now: Instant) {
        self.around.now = now;
    }

    fn settle(&mut self) {
        self.send_sure();
    }
}

/// A path that keeps the order.
pub fn path() -> LinkProfile {
    LinkProfile { delay: Duration::from_millis(50), reorder_delay: Duration::ZERO, ..LinkProfile::default() }
}

/// Both ends and what is between them.
pub type Pair = fabric::Pair<End>;

/// The mobile's configuration and the SGSN's.
pub fn pair(seed: u64, [ms, sgsn]: [SndcpConfig; 2]) -> Pair {
    Pair::new(seed, path(), [End::new(LlcRole::Ms, ms), End::new(LlcRole::Sgsn, sgsn)])
}

pub trait Ends {
    /// Both ends cipher from now on.
    fn cipher(&mut self, ciphering: Ciphering);
    /// A context in acknowledged mode and one beside it, and all that follows from them.
    fn activate(&mut self, sure: bool, bare: bool);
    /// Until nothing happens any more.
    fn run(&mut self);
    /// Everything that was lent is back.
    fn assert_at_rest(&self);
}

impl Ends for Pair {
    fn cipher(&mut self, ciphering: Ciphering) {
        for end in [&mut self.ms, &mut self.sgsn] {
            end.llc.assign(end.llc.tlli(), None, ciphering);
        }
    }

    fn activate(&mut self, sure: bool, bare: bool) {
        self.sgsn.ask_for_n201(1500);
        self.run();
        for (nsapi, is_wanted) in [(SURE, sure), (BARE, bare)] {
            if is_wanted {
                self.sgsn.activate(nsapi, nsapi == SURE);
                self.ms.activate(nsapi, nsapi == SURE);
                self.run();
            }
        }
    }

    fn run(&mut self) {
        let end = self.now + Duration::from_secs(100_000);
        while self.step() {
            assert!(self.now < end, "it goes on for ever");
        }
    }

    fn assert_at_rest(&self) {
        for end in [&self.ms, &self.sgsn] {
            assert_eq!((end.around.frames.free(), end.sndcp.unconfirmed()), (FRAMES, 0));
        }
    }
}

//! Two ends with SNDCP over LLC, and a path between them.

use gannet_machine::drops::Drop;
use gannet_machine::rng::Rng;
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
        act(&mut UserPlane { llc, sndcp, config, whose: None, out }, &mut around.context())
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

/// How bad a path is: chances from 0 to 1.
#[derive(Debug, Clone, Copy, Default)]
pub struct Badness {
    pub loss: f64,
    pub duplication: f64,
    pub damage: f64,
}

#[derive(Default)]
struct Direction(VecDeque<(Instant, Vec<u8>)>);

/// Both ends and what is between them.
pub struct Pair {
    pub ms: End,
    pub sgsn: End,
    pub badness: Badness,
    /// Nothing gets through.
    pub is_cut: bool,
    latency: Duration,
    up: Direction,
    down: Direction,
    rng: Rng,
    pub now: Instant,
}

impl Pair {
    /// The mobile's configuration and the SGSN's.
    pub fn new(seed: u64, [ms, sgsn]: [SndcpConfig; 2]) -> Self {
        Self {
            ms: End::new(LlcRole::Ms, ms),
            sgsn: End::new(LlcRole::Sgsn, sgsn),
            badness: Badness::default(),
            is_cut: false,
            latency: Duration::from_millis(50),
            up: Direction::default(),
            down: Direction::default(),
            rng: Rng::seeded(seed),
            now: Instant::ZERO,
        }
    }

    /// Both ends cipher from now on.
    pub fn cipher(&mut self, ciphering: Ciphering) {
        for end in [&mut self.ms, &mut self.sgsn] {
            end.llc.assign(end.llc.tlli(), None, ciphering);
        }
    }

    /// A context in acknowledged mode and one beside it, and all that follows from them.
    pub fn activate(&mut self, sure: bool, bare: bool) {
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

    /// Goes to the next moment at which something happens; false where nothing will.
    pub fn step(&mut self) -> bool {
        let Badness { loss, duplication, damage } = self.badness;
        for (way, end) in [(&mut self.up, &mut self.ms), (&mut self.down, &mut self.sgsn)] {
            for mut octets in std::mem::take(&mut end.sent) {
                if self.is_cut || self.rng.chance(loss) {
                    continue;
                }
                let at = self.now + self.latency;
                if self.rng.chance(duplication) {
                    way.0.push_back((at, octets.clone()));
                }
                if self.rng.chance(damage) {
                    let place = usize::try_from(self.rng.below(octets.len() as u64)).unwrap();
                    octets[place] ^= 1 << self.rng.below(8);
                }
                way.0.push_back((at, octets));
            }
        }
        let arrivals = [&self.up, &self.down].map(|way| way.0.front().map(|(at, _)| *at));
        let wakes = [&self.ms, &self.sgsn].map(|end| end.around.timers.next());
        let Some(next) = arrivals.into_iter().chain(wakes).flatten().min() else { return false };
        self.now = next.max(self.now);
        (self.ms.around.now, self.sgsn.around.now) = (self.now, self.now);
        for (way, end) in [(&mut self.up, &mut self.sgsn), (&mut self.down, &mut self.ms)] {
            while way.0.front().is_some_and(|(at, _)| *at <= self.now) {
                let (_, octets) = way.0.pop_front().unwrap();
                end.receive(&octets);
            }
            end.wake();
        }
        self.ms.send_sure();
        self.sgsn.send_sure();
        true
    }

    /// What is on its way is lost.
    pub fn forget_path(&mut self) {
        (self.up, self.down) = (Direction::default(), Direction::default());
        self.ms.sent.clear();
        self.sgsn.sent.clear();
    }

    /// Until nothing happens any more.
    pub fn run(&mut self) {
        let end = self.now + Duration::from_secs(100_000);
        while self.step() {
            assert!(self.now < end, "it goes on for ever");
        }
    }

    /// Everything that was lent is back.
    pub fn assert_at_rest(&self) {
        for end in [&self.ms, &self.sgsn] {
            assert_eq!((end.around.frames.free(), end.sndcp.unconfirmed()), (FRAMES, 0));
        }
    }
}

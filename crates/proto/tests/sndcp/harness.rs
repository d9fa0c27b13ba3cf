//! Two ends with SNDCP over LLC, and a path between them.

use gannet_proto::drops::Drop;
use gannet_proto::llc::abm::Options;
use gannet_proto::llc::{
    Ciphering, EstablishIndication, LlcContext, LlcOutput, LlcRole, LlcStatus, Terms, XidRequest,
};
use gannet_proto::machine::{Batch, Surroundings};
use gannet_proto::rng::Rng;
use gannet_proto::sndcp::{
    NPdu, Reassembler, Receiver, Setting, Sndcp, SndcpConfig, SndcpNsapi, SndcpOutput, receive,
};
use gannet_proto::time::{Duration, Instant};
use gannet_proto::timers::TimerKey;
use gannet_proto::trace::Quiet;
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
    pub config: SndcpConfig,
    pub bare: SndcpNsapi,
    pub reassembler: Reassembler,
    llc_out: Batch<LlcOutput>,
    pub out: Batch<SndcpOutput>,
    indication: Option<EstablishIndication>,
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
        llc.offer_abm(true);
        Self {
            around: Surroundings::new(1, FRAMES, Quiet::default()),
            llc,
            sndcp: Sndcp::new(role),
            config,
            bare: SndcpNsapi::new(BARE, SAPI),
            reassembler: Reassembler::new(8, Duration::from_secs(10)),
            llc_out: Batch::default(),
            out: Batch::default(),
            indication: None,
            sent: Vec::new(),
            octets: 0,
            waiting: VecDeque::new(),
            delivered: Vec::new(),
            confirmed: Vec::new(),
            statuses: 0,
            insists: true,
        }
    }

    /// Something that SNDCP is told.
    pub fn tell<T>(
        &mut self,
        act: impl FnOnce(
            &mut Sndcp,
            &mut gannet_proto::machine::Context<'_>,
            &Setting<'_>,
            &mut Batch<SndcpOutput>,
        ) -> T,
    ) -> T {
        let setting = Setting { config: &self.config, whose: None, n201_i: self.llc.n201_i(SAPI) };
        act(&mut self.sndcp, &mut self.around.context(), &setting, &mut self.out)
    }

    pub fn activate(&mut self, nsapi: Nsapi, acknowledged: bool) {
        self.tell(|sndcp, cx, setting, out| sndcp.activate(cx, setting, (nsapi, SAPI), acknowledged, out));
        self.drain();
    }

    pub fn ask_for_n201(&mut self, octets: u16) {
        let request = XidRequest { n201_u: Some(octets), n201_i: Some(octets), ..XidRequest::default() };
        self.llc.xid_request(&mut self.around.context(), SAPI, request, &mut self.llc_out);
        self.drain();
    }

    /// SN-UNITDATA.request.
    pub fn send_bare(&mut self, n_pdu: &[u8]) {
        let mut frame = self.around.frames.copy_of(n_pdu).unwrap();
        let compression = self.sndcp.compress_unitdata(BARE, &mut frame);
        let mut segments = Batch::default();
        let n201_u = self.llc.n201_u(SAPI);
        let cx = &mut self.around.context();
        self.bare.compressed_request(cx, n201_u, compression, frame, &mut segments).unwrap();
        while let Some(mut frame) = segments.pop() {
            self.llc.unitdata_request(SAPI, true, true, &mut frame).unwrap();
            self.transmit(&frame);
        }
    }

    /// SN-DATA.request of what waits, as far as there is room.
    pub fn send_sure(&mut self) {
        while let Some(n_pdu) = self.waiting.pop_front() {
            let of = (SURE, n_pdu.as_slice());
            match self.tell(|sndcp, cx, setting, out| sndcp.data_request(cx, setting, of, out)) {
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
        self.llc.receive(&mut self.around.context(), None, frame, &mut self.llc_out);
        self.drain();
    }

    pub fn wake(&mut self) {
        let mut turns = 0;
        while let Some(key) = self.around.timers.pop_due(self.around.now) {
            turns += 1;
            assert!(turns < 1000, "a wake-up is asked for again and again");
            match key {
                LLC => self.llc.wake(&mut self.around.context(), None, &mut self.llc_out),
                _ => self.reassembler.wake(&mut self.around.context()),
            }
            self.drain();
        }
    }

    pub fn drain(&mut self) {
        for turn in 0.. {
            assert!(turn < 100_000, "outputs without end");
            if let Some(output) = self.out.pop() {
                self.down(output);
            } else if let Some(output) = self.llc_out.pop() {
                self.up(output);
            } else {
                break;
            }
        }
        self.llc.arm(LLC, &mut self.around.timers);
        self.reassembler.arm(SNDCP, &mut self.around.timers);
    }

    fn terms(layer3: Option<Vec<u8>>) -> Terms {
        Terms { options: Options { queue_max: 128, ..Options::default() }, windows: None, layer3 }
    }

    /// What SNDCP says.
    fn down(&mut self, output: SndcpOutput) {
        let cx = &mut self.around.context();
        let out = &mut self.llc_out;
        match output {
            SndcpOutput::Establish { sapi, block } => {
                self.llc.establish_request(cx, sapi, Self::terms(block), out);
            }
            SndcpOutput::EstablishResponse { sapi, block } => {
                let indication = self.indication.take().filter(|indication| indication.sapi == sapi).unwrap();
                self.llc.establish_response(cx, indication, Self::terms(block), out);
            }
            SndcpOutput::Release { sapi } => self.llc.release_request(cx, sapi, false, out),
            // What LLC refuses it has lost, as all that it had, since it establishes the link anew.
            SndcpOutput::Data { sapi, reference, frame } => {
                let refused = self.llc.data_request(cx, sapi, reference, frame, out).err();
                if let Some(refused) = refused {
                    assert_eq!(refused.drop, Drop::LlcNotEstablished);
                }
            }
            SndcpOutput::Xid { sapi, block } => self.llc.layer3_xid_request(cx, sapi, block, out),
            SndcpOutput::NPdu(n_pdu) => self.delivered.push((n_pdu.nsapi, n_pdu.frame.to_vec())),
            SndcpOutput::Confirmed { nsapi, number } => {
                assert_eq!(nsapi, SURE);
                self.confirmed.push(number);
            }
            SndcpOutput::Status { nsapi } => {
                assert_eq!(nsapi, SURE);
                self.statuses += 1;
                if self.insists {
                    self.tell(|sndcp, cx, setting, out| sndcp.resume(cx, setting, SAPI, out));
                }
            }
        }
    }

    /// What LLC says.
    fn up(&mut self, output: LlcOutput) {
        match output {
            LlcOutput::Transmit { frame, .. } => self.transmit(&frame),
            LlcOutput::Unitdata { frame, .. } => {
                let receiver = Receiver { slot: 1, whose: None, compresses: true };
                let cx = &mut self.around.context();
                let n_pdu = receive(cx, &mut self.reassembler, receiver, |nsapi| nsapi == BARE, frame);
                let restored = n_pdu.and_then(|n_pdu: NPdu| self.sndcp.restore_unitdata(cx, None, n_pdu));
                self.delivered.extend(restored.map(|n_pdu| (n_pdu.nsapi, n_pdu.frame.to_vec())));
            }
            LlcOutput::XidIndication(indication) => {
                let answer = self.tell(|sndcp, cx, setting, _| {
                    sndcp.xid_indication(cx, setting, indication.sapi, &indication.layer3)
                });
                self.llc.xid_response(&mut self.around.context(), indication, answer, &mut self.llc_out);
            }
            LlcOutput::XidConfirm { sapi, layer3 } => self.xid_confirm(sapi, layer3),
            LlcOutput::Status { sapi, cause: LlcStatus::XidUnanswered } => self.xid_confirm(sapi, None),
            LlcOutput::Status { .. } | LlcOutput::ReleaseConfirm { .. } => {}
            LlcOutput::Reset => {
                self.bare.reset();
                self.sndcp.reset_indication();
            }
            LlcOutput::EstablishIndication(indication) => {
                let sapi = indication.sapi;
                let block = indication.layer3.clone();
                self.indication = Some(indication);
                self.tell(|sndcp, cx, setting, out| {
                    sndcp.establish_indication(cx, setting, (sapi, block.as_deref()), out);
                });
            }
            LlcOutput::EstablishConfirm { sapi, layer3, .. } => self.tell(|sndcp, cx, setting, out| {
                sndcp.establish_confirm(cx, setting, (sapi, layer3.as_deref()), out);
            }),
            LlcOutput::ReleaseIndication { sapi, .. } => self.sndcp.release_indication(sapi, &mut self.out),
            LlcOutput::Data { sapi, frame } => self.tell(|sndcp, cx, setting, out| {
                sndcp.data_indication(cx, setting, (sapi, frame), out);
            }),
            LlcOutput::DataConfirm { reference, .. } => self.tell(|sndcp, cx, setting, out| {
                sndcp.data_confirm(cx, setting, reference, out);
            }),
        }
    }

    fn xid_confirm(&mut self, sapi: Sapi, block: Option<Vec<u8>>) {
        self.tell(|sndcp, cx, setting, out| {
            sndcp.xid_confirm(cx, setting, (sapi, block.as_deref()), out);
        });
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

//! What an N-PDU of 400 octets costs in the SGSN's layers, without its tables, queues and flow control, for 10,000 mobiles in turn,
//! and for 100, which all caches hold: the G-PDU that arrives, the copy that a driver
//! makes included, SNDCP, LLC, BSSGP and NS. In acknowledged mode, which keeps it until the mobile has it, the mobile's
//! acknowledgements come back after it has got eight more, as UL-UNITDATA; that these are made is counted too.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use criterion::{Criterion, criterion_group, criterion_main};
use gannet_machine::frame::Frame;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Context, Surroundings};
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole};
use gannet_proto::sndcp::{Sndcp, SndcpNsapi};
use gannet_proto::user_plane::{self, Output, Outputs, UserPlane, UserPlaneConfig};
use gannet_rt::{PREFETCH, carryless};
use gannet_wire::bssgp::ie::{PduLifetime, QosProfile};
use gannet_wire::bssgp::unitdata::{DlUnitdata, UlUnitdata};
use gannet_wire::fcs24::fcs24;
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::id::{Bvci, CellId, Nsapi, Sapi, Teid, Tlli};
use gannet_wire::llc::{Control, Header, Supervisory};
use gannet_wire::ns;
use std::collections::VecDeque;
use std::hint::black_box;

const SAPI: Sapi = Sapi::DATA3;
const NSAPI: Nsapi = Nsapi(5);
const TLLI: Tlli = Tlli(0xc000_0001);
const G_PDU: GPdu = GPdu { teid: Teid(0x0100_0015), sequence: None, npdu_number: None };
const MOBILES: [usize; 2] = [10_000, 100];
/// N-PDUs of a mobile that are on their way while its acknowledgement comes back.
const UNDER_WAY: usize = 8;
/// How many turns ahead a node asks for contexts, for what is found through them, and for what is found through that.
const AHEAD: [usize; 3] = [8, 4, 2];

struct Mobile {
    llc: LlcContext,
    bearer: SndcpNsapi,
    sndcp: Option<Box<Sndcp>>,
}

struct World {
    around: Surroundings<Quiet>,
    config: UserPlaneConfig,
    mobiles: Vec<Mobile>,
    out: Outputs,
    segments: Batch<Frame>,
    n_pdu: Vec<u8>,
    at: usize,
    sent: usize,
    /// Acknowledgements: after how many N-PDUs they come, of which mobile, and N(R).
    back: VecDeque<(usize, usize, u16)>,
    confirmed: usize,
    looks_ahead: bool,
}

fn mobile(role: LlcRole, is_acknowledged: bool) -> Mobile {
    let mut llc = LlcContext::new(role);
    llc.assign(Some(TLLI), None, Ciphering::NONE);
    let sndcp = is_acknowledged.then(|| Box::new(Sndcp::new(role)));
    Mobile { llc, bearer: SndcpNsapi::new(NSAPI, SAPI), sndcp }
}

/// BSSGP and NS round an LL-PDU.
fn leave(mut frame: Frame) {
    let header = DlUnitdata::new(TLLI, QosProfile::default(), PduLifetime(1000));
    let octets = frame.len();
    assert!(header.emit(octets, frame.push(header.buffer_len(octets)).unwrap()));
    assert!(frame.prepend(&ns::Unitdata::of(Bvci(2)).emit()));
    black_box(&frame);
}

impl World {
    fn new(mobiles: usize, is_acknowledged: bool, looks_ahead: bool) -> Self {
        let mut world = Self {
            around: Surroundings::new(1, 64, Quiet::default()),
            config: UserPlaneConfig::default(),
            mobiles: (0..mobiles).map(|_| mobile(LlcRole::Sgsn, is_acknowledged)).collect(),
            out: Outputs::default(),
            segments: Batch::with_capacity(16),
            n_pdu: (0..=250).cycle().take(400).collect(),
            at: 0,
            sent: 0,
            back: VecDeque::with_capacity(2 * mobiles),
            confirmed: 0,
            looks_ahead,
        };
        if is_acknowledged {
            (0..mobiles).for_each(|at| world.establish(at));
        }
        world
    }

    /// A mobile establishes its link.
    fn establish(&mut self, at: usize) {
        let (mut ms, mut frames) = (mobile(LlcRole::Ms, true), Vec::new());
        let Self { around, config, mobiles, .. } = self;
        let (mut to_sgsn, mut to_ms) = (Outputs::default(), Outputs::default());
        for is_ms in [false, true, false, true] {
            let (end, out) =
                if is_ms { (&mut ms, &mut to_ms) } else { (mobiles.get_mut(at).unwrap(), &mut to_sgsn) };
            let Mobile { llc, sndcp, .. } = end;
            let sndcp = sndcp.as_mut().unwrap();
            let is_new = sndcp.is_empty();
            for frame in core::mem::take(&mut frames) {
                assert!(llc.receive(&mut context(around), None, frame, &mut out.llc));
            }
            let mut plane = UserPlane { llc, sndcp, config, n201_i_max: None, whose: None, out };
            if is_new {
                plane.activate(&mut context(around), (NSAPI, SAPI), true);
            }
            while let Some(output) = plane.poll(&mut context(around)) {
                let Output::Llc(LlcOutput::Transmit { frame, .. }) = output else { panic!("{output:?}") };
                frames.push(frame);
            }
        }
        assert!(mobiles.get(at).unwrap().sndcp.as_ref().unwrap().is_established(SAPI) && frames.is_empty());
    }

    /// The next mobile's turn: its G-PDU arrives.
    fn turn(&mut self) -> (usize, Frame) {
        self.at = (self.at + 1) % self.mobiles.len();
        self.sent += 1;
        if self.looks_ahead {
            self.look_ahead();
        }
        let mut frame = self.around.frames.copy_of(&self.n_pdu).unwrap();
        assert!(G_PDU.emit(self.n_pdu.len(), frame.push(G_PDU.buffer_len()).unwrap()));
        let (g_pdu, _, t_pdu) = GPdu::parse(&frame).unwrap();
        black_box(g_pdu.teid);
        assert!(frame.narrow(t_pdu.start, t_pdu.end));
        (self.at, frame)
    }

    fn look_ahead(&self) {
        let [far, nearer, near] =
            AHEAD.map(|turns| self.mobiles.get((self.at + turns) % self.mobiles.len()).unwrap());
        PREFETCH.value(far);
        nearer.llc.prefetch_links(PREFETCH);
        if let Some(sndcp) = &nearer.sndcp {
            sndcp.prefetch(PREFETCH);
        }
        near.llc.prefetch_unit(self.n_pdu.len(), self.around.frames.keeper(), PREFETCH);
    }

    fn unacknowledged(&mut self) {
        let (at, frame) = self.turn();
        let Self { around, mobiles, segments, .. } = self;
        let Mobile { llc, bearer, .. } = mobiles.get_mut(at).unwrap();
        user_plane::unitdata_request(&mut context(around), (llc, None), bearer, frame, segments).unwrap();
        while let Some(mut frame) = segments.pop() {
            let how = (SAPI, true, false);
            llc.unitdata_request_deferred(carryless::fold(), how, &mut frame).unwrap();
            leave(frame);
        }
    }

    fn acknowledged(&mut self) {
        let (at, frame) = self.turn();
        self.at_mobile(at, |plane, around| {
            plane.data_request(&mut context(around), NSAPI, frame).unwrap();
        });
        while let Some((_, at, nr)) = self.back.front().copied().filter(|(due, ..)| *due <= self.sent) {
            self.back.pop_front();
            let frame = self.acknowledgement(nr);
            self.at_mobile(at, |plane, around| {
                assert!(plane.llc.receive(&mut context(around), None, frame, &mut plane.out.llc));
            });
        }
    }

    /// Does something, and what follows.
    fn at_mobile(&mut self, at: usize, act: impl FnOnce(&mut UserPlane<'_>, &mut Surroundings<Quiet>)) {
        let Self { around, config, mobiles, out, back, sent, confirmed, .. } = self;
        let due = *sent + UNDER_WAY * mobiles.len();
        let Mobile { llc, sndcp, .. } = mobiles.get_mut(at).unwrap();
        let sndcp = sndcp.as_mut().unwrap();
        let mut plane = UserPlane { llc, sndcp, config, n201_i_max: None, whose: None, out };
        act(&mut plane, around);
        while let Some(output) = plane.poll(&mut context(around)) {
            match output {
                Output::Llc(LlcOutput::Transmit { frame, .. }) => {
                    // A and N(S).
                    let [_, high, middle, ..] = *frame else { panic!("{frame:?}") };
                    if high & 0x40 != 0 {
                        let ns = u16::from(high & 0x1f) << 4 | u16::from(middle >> 4);
                        back.push_back((due, at, ns + 1));
                    }
                    leave(frame);
                }
                Output::Confirmed { count, .. } => *confirmed += usize::from(count),
                other => panic!("{other:?}"),
            }
        }
    }

    /// RR of a mobile, which arrives.
    fn acknowledgement(&self, nr: u16) -> Frame {
        let control = Control::S { ack_request: false, nr, supervisory: Supervisory::Rr };
        let s = Header { cr: true, sapi: SAPI, control }.emit();
        let mut frame = self.around.frames.copy_of(&s).unwrap();
        assert!(frame.append(&fcs24(&s)));
        let header = UlUnitdata::new(TLLI, QosProfile::default(), CellId::default());
        let octets = frame.len();
        assert!(header.emit(octets, frame.push(header.buffer_len(octets)).unwrap()));
        let (_, range) = UlUnitdata::parse(&frame).unwrap();
        assert!(frame.narrow(range.start, range.end));
        frame
    }
}

/// As the driver of a node lends it.
fn context(around: &mut Surroundings<Quiet>) -> Context<'_> {
    Context { fold: carryless::fold(), ..around.context() }
}

fn modes(criterion: &mut Criterion) {
    for (mobiles, (ahead, looks_ahead)) in
        MOBILES.iter().flat_map(|of| [(of, ("", false)), (of, (", memory asked for ahead", true))])
    {
        let name = format!("N-PDU through the SGSN, {mobiles} mobiles, 400 octets{ahead}");
        let mut group = criterion.benchmark_group(name);
        let mut world = World::new(*mobiles, false, looks_ahead);
        group.bench_function("unacknowledged", |bencher| bencher.iter(|| world.unacknowledged()));
        let mut world = World::new(*mobiles, true, looks_ahead);
        group.bench_function("acknowledged", |bencher| bencher.iter(|| world.acknowledged()));
        let under_way = world.sent - world.confirmed;
        assert!(under_way <= mobiles * 2 * UNDER_WAY, "{under_way} of {}", world.sent);
        group.finish();
    }
}

criterion_group!(benches, modes);
criterion_main!(benches);

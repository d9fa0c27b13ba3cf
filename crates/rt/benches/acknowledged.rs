//! What an N-PDU of 400 octets costs in LLC, from the SGSN's layer 3 to the mobile's, for 10,000 mobiles in turn, and
//! for 100, which all caches hold: in unacknowledged mode and in acknowledged mode, where acknowledgements come back after each mobile has got eight more.
//!
//! The bound is one and a half times as much.
//!
//! Beside them stands what acknowledged mode cannot do without: the octets alone, copied to where each mobile's are kept until they are
//! acknowledged.
//!
//! All are measured in two ways: as they come, and with the memory of the mobiles that come next asked for some turns ahead,
//! as the SGSN's scheduler does. It makes no difference in unacknowledged mode, since the mobiles stand in one array here, in the
//! order of their turns.

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark fails by panicking")]

use criterion::{Criterion, criterion_group, criterion_main};
use gannet_machine::frame::Frame;
use gannet_machine::kept::{Keeper, Kept};
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Context, Surroundings};
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole, Terms};
use gannet_rt::{PREFETCH, carryless};
use gannet_wire::id::{Sapi, Tlli};
use std::collections::VecDeque;

const SAPI: Sapi = Sapi::DATA3;
const MOBILES: [usize; 2] = [10_000, 100];
/// N-PDUs of a mobile that are on their way while its acknowledgement comes back.
const UNDER_WAY: usize = 8;
/// How many turns ahead a node asks for contexts, for what is found through them, and for what is found through that.
const AHEAD: [usize; 3] = [8, 4, 2];

struct World {
    around: Surroundings<Quiet>,
    /// The SGSN's and the mobile's end of each link.
    links: Vec<(LlcContext, LlcContext)>,
    out: Batch<LlcOutput>,
    n_pdu: Vec<u8>,
    at: usize,
    /// N-PDUs so far, and acknowledgements with the number of N-PDUs after which they come.
    sent: usize,
    back: VecDeque<(usize, usize, Frame)>,
    confirmed: usize,
    looks_ahead: bool,
}

fn end(role: LlcRole) -> LlcContext {
    let mut llc = LlcContext::new(role);
    llc.assign(Some(Tlli(0xc000_0001)), None, Ciphering::NONE);
    llc.offer_abm(true);
    llc
}

impl World {
    fn new(mobiles: usize, looks_ahead: bool) -> Self {
        Self {
            around: Surroundings::new(1, 4 * mobiles, Quiet::default()),
            links: (0..mobiles).map(|_| (end(LlcRole::Sgsn), end(LlcRole::Ms))).collect(),
            out: Batch::with_capacity(64),
            n_pdu: (0..=250).cycle().take(400).collect(),
            at: 0,
            sent: 0,
            back: VecDeque::with_capacity(4 * mobiles),
            confirmed: 0,
            looks_ahead,
        }
    }

    fn establish(&mut self) {
        let Self { around, links, out, .. } = self;
        for (sgsn, ms) in links {
            sgsn.establish_request(&mut context(around), SAPI, Terms::default(), out);
            let Some(LlcOutput::Transmit { frame, .. }) = out.pop() else { panic!("no SABM") };
            ms.receive(&mut context(around), None, frame, out);
            let Some(LlcOutput::EstablishIndication(indication)) = out.pop() else { panic!("no indication") };
            ms.establish_response(&mut context(around), *indication, Terms::default(), out);
            let Some(LlcOutput::Transmit { frame, .. }) = out.pop() else { panic!("no UA") };
            sgsn.receive(&mut context(around), None, frame, out);
            assert!(matches!(out.pop(), Some(LlcOutput::EstablishConfirm { .. })));
        }
    }

    /// The next mobile's turn.
    fn turn(&mut self) -> usize {
        self.at = (self.at + 1) % self.links.len();
        self.sent += 1;
        if self.looks_ahead {
            self.look_ahead();
        }
        self.at
    }

    fn look_ahead(&self) {
        let [far, nearer, near] =
            AHEAD.map(|turns| self.links.get((self.at + turns) % self.links.len()).unwrap());
        for end in [&far.0, &far.1] {
            PREFETCH.value(end);
        }
        nearer.0.prefetch_links(PREFETCH);
        nearer.1.prefetch_links(PREFETCH);
        near.0.prefetch_unit(self.n_pdu.len(), self.around.frames.keeper(), PREFETCH);
    }

    fn unacknowledged(&mut self) {
        let at = self.turn();
        let Self { around, links, out, n_pdu, .. } = self;
        let (sgsn, ms) = links.get_mut(at).unwrap();
        let mut frame = around.frames.copy_of(n_pdu).unwrap();
        let how = (SAPI, true, false);
        sgsn.unitdata_request_deferred(carryless::fold(), how, &mut frame).unwrap();
        ms.receive(&mut context(around), None, frame, out);
        assert!(matches!(out.pop(), Some(LlcOutput::Unitdata { .. })));
    }

    fn acknowledged(&mut self) {
        let at = self.turn();
        let Self { around, links, out, n_pdu, sent, back, confirmed, .. } = self;
        let mobiles = links.len();
        let (sgsn, ms) = links.get_mut(at).unwrap();
        let frame = around.frames.copy_of(n_pdu).unwrap();
        let reference = u32::try_from(*sent / mobiles).unwrap_or(0);
        sgsn.data_request(&mut context(around), SAPI, reference, frame, out).unwrap();
        let due = *sent + UNDER_WAY * mobiles;
        Self::carry(around, ms, (due, at), back, out);
        while back.front().is_some_and(|(at, ..)| at <= sent) {
            let Some((_, at, frame)) = back.pop_front() else { break };
            let (sgsn, ms) = links.get_mut(at).unwrap();
            sgsn.receive(&mut context(around), None, frame, out);
            *confirmed += Self::carry(around, ms, (due, at), back, out);
        }
    }

    /// What the SGSN has said goes to the mobile, and what that says waits for its time. The confirmations among it.
    fn carry(
        around: &mut Surroundings<Quiet>,
        ms: &mut LlcContext,
        (due, at): (usize, usize),
        back: &mut VecDeque<(usize, usize, Frame)>,
        out: &mut Batch<LlcOutput>,
    ) -> usize {
        let mut confirmed = 0;
        for _ in 0..out.len() {
            match out.pop() {
                Some(LlcOutput::Transmit { frame, .. }) => {
                    ms.receive(&mut context(around), None, frame, out);
                }
                Some(LlcOutput::DataConfirm { confirmed: of, .. }) => confirmed += usize::from(of.count),
                other => panic!("{other:?}"),
            }
        }
        while let Some(output) = out.pop() {
            match output {
                LlcOutput::Transmit { frame, .. } => back.push_back((due, at, frame)),
                LlcOutput::Data { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        confirmed
    }
}

/// The octets that are kept for each mobile, as in acknowledged mode, and nothing else.
struct Keeping {
    keeper: Keeper,
    queues: Vec<VecDeque<Kept>>,
    n_pdu: Vec<u8>,
    at: usize,
    looks_ahead: bool,
}

impl Keeping {
    fn new(mobiles: usize, looks_ahead: bool) -> Self {
        let n_pdu: Vec<u8> = (0..=250).cycle().take(400).collect();
        Self { keeper: Keeper::default(), queues: vec![VecDeque::new(); mobiles], n_pdu, at: 0, looks_ahead }
    }

    fn keep(&mut self) {
        let Self { keeper, queues, n_pdu, at, looks_ahead } = self;
        *at = (*at + 1) % queues.len();
        if *looks_ahead {
            let [.., near] = AHEAD.map(|turns| queues.get((*at + turns) % queues.len()).unwrap());
            PREFETCH.end_of(near, size_of::<Kept>());
            keeper.prefetch(n_pdu.len(), PREFETCH);
        }
        let queue = queues.get_mut(*at).unwrap();
        let kept = keeper.claim(400, 0);
        kept.write([n_pdu, &[]]);
        queue.push_back(kept);
        if queue.len() == 2 * UNDER_WAY {
            queue.drain(..UNDER_WAY);
        }
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
        let mut group = criterion.benchmark_group(format!("LLC, {mobiles} mobiles, 400 octets{ahead}"));
        let mut world = World::new(*mobiles, looks_ahead);
        group.bench_function("unacknowledged", |bencher| bencher.iter(|| world.unacknowledged()));
        let mut world = World::new(*mobiles, looks_ahead);
        world.establish();
        group.bench_function("acknowledged", |bencher| bencher.iter(|| world.acknowledged()));
        let under_way = world.sent - world.confirmed;
        assert!(under_way <= mobiles * 2 * UNDER_WAY, "{under_way} of {}", world.sent);
        let mut kept = Keeping::new(*mobiles, looks_ahead);
        group.bench_function("the octets that are kept", |bencher| bencher.iter(|| kept.keep()));
        group.finish();
    }
}

criterion_group!(benches, modes);
criterion_main!(benches);

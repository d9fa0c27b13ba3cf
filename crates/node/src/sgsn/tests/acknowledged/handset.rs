//! Phone 0 of a [`Bench`] with an SNDCP, and the air between it and the SGSN, which loses.

use super::super::bench::*;
use crate::sgsn::*;
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_proto::llc::{Ciphering, LlcOutput, LlcRole, ReleaseCause};
use gannet_proto::sndcp::{Reassembler, Receiver, Sndcp, SndcpNsapi};
use gannet_proto::user_plane::{
    Output, Outputs, UserPlane, UserPlaneConfig, needs_acknowledged_mode, unitdata_indication,
    unitdata_request,
};
use gannet_wire::bssgp::Message;
use gannet_wire::bssgp::ie::FlushAction;
use gannet_wire::bssgp::signalling::FlushLlAck;
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{PeakThroughput, QosProfile, ReliabilityClass};
use gannet_wire::l3::sm::{ActivateRequest, DeactivateAccept, SmMessage};
use gannet_wire::l3::{Direction, L3Message};
use std::collections::VecDeque;

/// From one look at the air to the next; a frame arrives with the next one.
const TURN: Duration = Duration::from_millis(20);

/// N-PDUs that wait for the SGSN at most.
const QUEUED_MAX: u32 = 12;

pub struct Handset {
    pub bench: Bench,
    pub sndcp: Sndcp,
    pub config: UserPlaneConfig,
    pub out: Outputs,
    pub bearers: Vec<SndcpNsapi>,
    /// Asked for with each context.
    pub sapi: Sapi,
    reassembler: Reassembler,
    rng: Rng,
    pub loss: f64,
    pub is_cut: bool,
    /// Nothing that the phone sends arrives, but what a test gives to the bench itself.
    pub is_unheard: bool,
    /// Has a link that has ended established again by itself.
    pub insists: bool,
    /// N-PDUs that are still to go, each way.
    pub to_phone: VecDeque<(Nsapi, Vec<u8>)>,
    pub to_gn: VecDeque<(Nsapi, Vec<u8>)>,
    /// Those that have come.
    pub heard: Vec<(Nsapi, Vec<u8>)>,
    pub at_ggsn: Vec<Vec<u8>>,
    /// Messages of layer 3 that have come.
    pub layer3: VecDeque<L3Message>,
    /// LL-PDUs on their way up.
    uplink: Vec<Vec<u8>>,
    /// What the phone says for itself when it is paged.
    pub answers_paging: bool,
    pub pagings: u32,
    /// LL-PDUs for the phone that were sent.
    pub downs: u32,
    pub links_lost: u32,
}

impl Handset {
    pub fn new(seed: u64, config: UserPlaneConfig, change: impl FnOnce(&mut SgsnConfig)) -> Self {
        // As an SGSN has it by itself.
        let n201_u = SgsnConfig::default().n201_u;
        let mut bench = Bench::new(|config| {
            config.n201_u = n201_u;
            change(config);
        });
        bench.attach(0);
        bench.events.clear();
        Self {
            bench,
            sndcp: Sndcp::new(LlcRole::Ms),
            config,
            out: Outputs::default(),
            bearers: Vec::new(),
            sapi: Sapi::DATA3,
            reassembler: Reassembler::new(8, Duration::from_secs(10)),
            rng: Rng::seeded(seed),
            loss: 0.0,
            is_cut: false,
            is_unheard: false,
            insists: true,
            to_phone: VecDeque::new(),
            to_gn: VecDeque::new(),
            heard: Vec::new(),
            at_ggsn: Vec::new(),
            layer3: VecDeque::new(),
            uplink: Vec::new(),
            answers_paging: true,
            pagings: 0,
            downs: 0,
            links_lost: 0,
        }
    }

    /// Both ends cipher from now on.
    pub fn cipher(&mut self, ciphering: Ciphering) {
        let slot = self.bench.slot(0);
        self.bench.sgsn.mobiles.get_mut(slot).unwrap().llc.set_ciphering(ciphering);
        self.bench.phones[0].llc.set_ciphering(ciphering);
    }

    /// A context in the mode of its reliability class, and all that follows; gives what was granted.
    pub fn activate(&mut self, nsapi: Nsapi, reliability: u8) -> ReliabilityClass {
        let granted = self.begin(nsapi, reliability);
        self.turns(20);
        granted
    }

    /// The same, up to what the phone sends when it has the context.
    pub fn begin(&mut self, nsapi: Nsapi, reliability: u8) -> ReliabilityClass {
        let wish = QosProfile {
            reliability: ReliabilityClass(reliability),
            peak: PeakThroughput::MAX,
            ..QosProfile::BEST_EFFORT
        };
        self.bench.sm(
            0,
            nsapi.0 - 5,
            ActivateRequest { qos: wish, sapi: self.sapi, ..activate_request(nsapi) },
        );
        let (from, sequence, request) = self.bench.next_create();
        self.bench.create_answer(from, sequence, &request, Cause::RequestAccepted);
        self.arrive();
        let message = self.layer3.pop_front();
        let Some(L3Message::Sm { message: SmMessage::ActivateAccept(accept), .. }) = message else {
            panic!("{message:?}")
        };
        self.bearers.push(SndcpNsapi::new(nsapi, accept.sapi));
        let acknowledged = needs_acknowledged_mode(accept.qos.reliability);
        self.with(|plane, cx| plane.activate(cx, (nsapi, accept.sapi), acknowledged));
        self.drain();
        accept.qos.reliability
    }

    /// The operator ends a context, and both ends know.
    pub fn deactivate(&mut self, nsapi: Nsapi) {
        self.arrive();
        self.bench.order(SgsnCommand::Deactivate { imsi: imsi(0), nsapi });
        let is_control = |sent: &Sent| matches!(sent, Sent::Control(..));
        let place = self.bench.sent.iter().position(is_control).expect("the GGSN is told");
        let request = self.bench.sent.remove(place).unwrap();
        self.bench.sent.push_front(request);
        self.bench.delete_answer(nsapi);
        self.arrive();
        let message = self.layer3.pop_front();
        assert!(
            matches!(message, Some(L3Message::Sm { message: SmMessage::DeactivateRequest(_), .. })),
            "{message:?}"
        );
        self.bench.sm(0, nsapi.0 - 5, DeactivateAccept {});
        self.with(|plane, cx| plane.deactivate(cx, nsapi));
        self.drain();
        self.bearers.retain(|bearer| bearer.nsapi != nsapi);
        self.turns(20);
    }

    pub fn with<T>(&mut self, act: impl FnOnce(&mut UserPlane<'_>, &mut Context<'_>) -> T) -> T {
        let Self { bench, sndcp, config, out, .. } = self;
        let llc = &mut bench.phones[0].llc;
        act(
            &mut UserPlane { llc, sndcp, config, n201_i_max: None, whose: None, out },
            &mut bench.air.context(),
        )
    }

    pub fn drain(&mut self) {
        while let Some(output) = self.with(|plane, cx| plane.poll(cx)) {
            match output {
                Output::Llc(LlcOutput::Transmit { frame, .. }) => self.uplink.push(frame.to_vec()),
                Output::Llc(LlcOutput::Unitdata { sapi: Sapi::GMM, frame, .. }) => {
                    self.layer3.push_back(L3Message::parse(Direction::Downlink, &frame).unwrap());
                }
                Output::Llc(LlcOutput::Unitdata { frame, .. }) => {
                    let receiver = Receiver { slot: 0, whose: None, compresses: false };
                    let Self { bench, sndcp, reassembler, .. } = self;
                    let cx = &mut bench.air.context();
                    let n_pdu =
                        unitdata_indication(cx, reassembler, (receiver, Some(sndcp)), |_| true, frame);
                    self.heard.extend(n_pdu.map(|n_pdu| (n_pdu.nsapi, n_pdu.frame.to_vec())));
                }
                Output::Llc(_) | Output::Confirmed { .. } | Output::Room => {}
                Output::NPdu(n_pdu) => self.heard.push((n_pdu.nsapi, n_pdu.frame.to_vec())),
                Output::Status { nsapi, cause } => {
                    self.links_lost += 1;
                    if self.insists && cause != ReleaseCause::Refused {
                        self.with(|plane, cx| plane.resume(cx, nsapi));
                    }
                }
            }
        }
        self.bench.phones[0]
            .llc
            .arm(TimerKey { owner: 0, slot: 0, generation: 0 }, &mut self.bench.air.timers);
    }

    /// Sends up what there is room for.
    fn send_up(&mut self) {
        while let Some((nsapi, n_pdu)) = self.to_gn.pop_front() {
            if !self.sndcp.is_acknowledged(nsapi) {
                self.send_up_bare(nsapi, &n_pdu);
            } else if self.sndcp.has_room(&self.config.sndcp.limits, &self.bench.phones[0].llc, nsapi) {
                self.with(|plane, cx| {
                    let n_pdu = cx.frames.copy_of(&n_pdu).unwrap();
                    plane.data_request(cx, nsapi, n_pdu).unwrap();
                });
            } else {
                self.to_gn.push_front((nsapi, n_pdu));
                break;
            }
            self.drain();
        }
    }

    fn send_up_bare(&mut self, nsapi: Nsapi, n_pdu: &[u8]) {
        let Self { bench, sndcp, bearers, uplink, .. } = self;
        let bearer = bearers.iter_mut().find(|bearer| bearer.nsapi == nsapi).unwrap();
        let frame = bench.air.frames.copy_of(n_pdu).unwrap();
        let mut segments = Batch::default();
        let layers = (&bench.phones[0].llc, Some(sndcp));
        unitdata_request(&mut bench.air.context(), layers, bearer, frame, &mut segments).unwrap();
        while let Some(mut frame) = segments.pop() {
            let llc = &mut bench.phones[0].llc;
            llc.unitdata_request(bearer.sapi, true, true, &mut frame).unwrap();
            uplink.push(frame.to_vec());
        }
    }

    fn is_lost(&mut self) -> bool {
        self.is_cut || self.rng.chance(self.loss)
    }

    fn hear(&mut self, ll_pdu: &[u8]) {
        self.downs += 1;
        if self.is_lost() {
            return;
        }
        let air = &mut self.bench.air;
        let frame = air.frames.copy_of(ll_pdu).unwrap();
        self.bench.phones[0].llc.receive(&mut air.context(), None, frame, &mut self.out.llc);
        self.drain();
    }

    fn paged(&mut self) {
        self.pagings += 1;
        if self.answers_paging && !self.is_cut {
            self.bench.beacon(0);
        }
    }

    /// The BSS had this many octets of the phone in its former cell, and has deleted them.
    fn flushed(&mut self) {
        let tlli = self.bench.phones[0].tlli;
        let ack =
            FlushLlAck { tlli, action: FlushAction::Deleted, new_bvci: None, octets: 0, new_nsei: None };
        self.bench.signal(&Message::FlushLlAck(ack));
    }

    /// What the SGSN has sent arrives.
    fn arrive(&mut self) {
        for sent in core::mem::take(&mut self.bench.sent) {
            let here = cell(self.bench.phones[0].cell);
            match sent {
                // In another cell nobody hears it.
                Sent::Down(down) if down.cell != (here.nsei, here.bvci) => self.downs += 1,
                Sent::Down(down) => self.hear(&down.ll_pdu),
                Sent::User(_, _, t_pdu) => self.at_ggsn.push(t_pdu),
                Sent::Bssgp(_, _, Message::PagingPs(_)) => self.paged(),
                Sent::Bssgp(_, _, Message::FlushLl { .. }) => self.flushed(),
                Sent::Bssgp(..) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn feed(&mut self) {
        while let Some((nsapi, n_pdu)) = self.to_phone.pop_front() {
            let name = self.bench.sgsn.context_name(self.bench.slot(0), nsapi).unwrap();
            let most = if self.bench.mobile(0).is_out_of_reach() { 3 } else { QUEUED_MAX };
            if self.bench.sgsn.flow_of(name).unwrap().queued.pdus >= most {
                self.to_phone.push_front((nsapi, n_pdu));
                break;
            }
            self.bench.downlink(0, nsapi, &n_pdu);
        }
    }

    pub fn turn(&mut self) {
        self.feed();
        self.send_up();
        for ll_pdu in core::mem::take(&mut self.uplink) {
            if !self.is_lost() && !self.is_unheard {
                self.bench.up(0, &ll_pdu);
            }
        }
        self.bench.pass(TURN);
        self.bench.air.now = self.bench.around.now;
        self.arrive();
        self.wake_phone();
    }

    /// So much later for the phone that an answer of its LLC does not wait for an I frame any more.
    pub fn wait_for_answer(&mut self) {
        self.bench.air.now += Duration::from_millis(2);
        self.wake_phone();
    }

    fn wake_phone(&mut self) {
        while self.bench.air.timers.pop_due(self.bench.air.now).is_some() {
            let Self { bench, out, .. } = self;
            bench.phones[0].llc.wake(&mut bench.air.context(), None, &mut out.llc);
            self.drain();
        }
    }

    /// What the phone would send with the next turn.
    pub fn take_uplink(&mut self) -> Vec<Vec<u8>> {
        core::mem::take(&mut self.uplink)
    }

    pub fn turns(&mut self, count: usize) {
        (0..count).for_each(|_| self.turn());
    }

    fn is_idle(&self) -> bool {
        let at_sgsn = self.bench.mobile(0).sndcp().map_or(0, Sndcp::unconfirmed);
        let queued = self.bench.sgsn.flows().map_or(0, |flows| flows.queues().queued().pdus);
        self.to_phone.is_empty()
            && self.to_gn.is_empty()
            && (at_sgsn, self.sndcp.unconfirmed(), queued) == (0, 0, 0)
    }

    /// Until everything has arrived and is confirmed; gives how many turns that took.
    pub fn run(&mut self) -> usize {
        for turn in 0..20_000 {
            if self.is_idle() {
                self.turns(10);
                return turn;
            }
            self.turn();
        }
        panic!(
            "it goes on for ever: {} and {} left, {} heard, {} at the GGSN, {:?}",
            self.to_phone.len(),
            self.to_gn.len(),
            self.heard.len(),
            self.at_ggsn.len(),
            self.bench.drops()
        );
    }

    /// N-PDUs both ways.
    pub fn give(&mut self, nsapi: Nsapi, numbers: core::ops::Range<u16>) {
        for number in numbers {
            self.to_phone.push_back((nsapi, n_pdu(nsapi, number)));
            self.to_gn.push_back((nsapi, n_pdu(nsapi, number)));
        }
    }

    /// What has come of a context is `count` N-PDUs, each once and in their order, both ways.
    pub fn assert_all(&self, nsapi: Nsapi, count: u16) {
        let all: Vec<_> = (0..count).map(|number| n_pdu(nsapi, number)).collect();
        let heard: Vec<_> =
            self.heard.iter().filter(|(of, _)| *of == nsapi).map(|(_, n_pdu)| n_pdu).collect();
        assert_eq!(numbers(heard.iter().copied()), numbers(all.iter()), "down");
        assert!(heard.into_iter().eq(all.iter()));
        let up: Vec<_> = self.at_ggsn.iter().filter(|n_pdu| n_pdu[0] == nsapi.0).collect();
        assert_eq!(numbers(up.iter().copied()), numbers(all.iter()), "up");
        assert!(up.into_iter().eq(all.iter()));
    }
}

fn numbers<'a>(n_pdus: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u16> {
    n_pdus.map(|n_pdu| u16::from_be_bytes([n_pdu[1], n_pdu[2]])).collect()
}

/// Of any length, and of text that can be compressed.
fn n_pdu(nsapi: Nsapi, number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    let text = b"the quick brown fox jumps over the lazy dog; ".iter().cycle();
    let len = 20 + usize::from(number) * 397 % 1400;
    [nsapi.0, high, low].into_iter().chain(text.copied()).take(len).collect()
}

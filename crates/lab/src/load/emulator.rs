//! The machine: BSSs, mobiles and GGSN as plain tables, driven by datagrams and by three queues of deadlines.
//!
//! Every deadline of a kind is equally far away when it is set, so that each kind is a queue in its order: setting one
//! and finding the next costs the same for ten mobiles and for a million. A deadline that has lost its meaning is
//! recognised when its turn comes.

use super::bvc::{Bvc, Cell, Nse};
use super::config::{GTP_C, GTP_U, LoadConfig};
use super::mobile::{Goal, Mobile, Phase, Profile, User};
use super::security::{Secrets, UserCipher};
use core::convert::Infallible;
use core::net::IpAddr;
use foldhash::fast::FixedState;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer};
use gannet_proto::bssgp::flow_control::Bucket;
use gannet_proto::ns::{NsConfig, NsEntity, NsOutput, NsRole, NsStatus};
use gannet_wire::id::Nsei;
use gannet_wire::l3::ie::Apn;
use serde::Serialize;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;

/// Procedures that may run at the same time before an SGSN has shown what it takes.
const FIRST_WINDOW: u32 = 32;
/// The least that it may fall to.
const LEAST_WINDOW: u32 = 8;
/// How long a mobile that was refused waits until it tries again: what was missing may come meanwhile.
const AGAIN_AFTER: Duration = Duration::from_millis(200);

gannet_machine::timer_names! {
    /// Who asked for a wake-up.
    enum Owner {
        /// NS-VCs.
        Ns = "NS",
        /// The queues of deadlines.
        Queues = "the queues of deadlines",
    }
}

/// What a range of users is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Attach, and stay without a PDP context.
    Attach,
    /// Have an active PDP context: attach where that is needed. A context that is active already is deactivated and
    /// activated again, with the user's present profile.
    Activate,
    /// Stay attached without a PDP context.
    Deactivate,
    /// Detach.
    Detach,
}

/// What an emulator is asked beside its machine's methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Reset every NS-VC and begin.
    Start,
}

/// What it tells.
#[derive(Debug)]
pub enum Event {
    /// A segment of an N-PDU has come down to a mobile, its FCS right. The frame holds the segment alone.
    Downlink {
        /// Whose.
        user: u32,
        /// The number of the segment, from 0.
        segment: u8,
        /// More segments follow.
        more: bool,
        /// The octets.
        frame: Frame,
    },
    /// A G-PDU has come up to the GGSN. The frame holds the T-PDU alone.
    Uplink {
        /// Whose.
        user: u32,
        /// The octets.
        frame: Frame,
    },
}

/// What has happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Attaches that were accepted.
    pub attached: u64,
    /// PDP contexts that became active.
    pub activated: u64,
    /// PDP contexts that a mobile deactivated.
    pub deactivated: u64,
    /// Mobiles that detached.
    pub detached: u64,
    /// Attaches and activations that the SGSN rejected.
    pub rejected: u64,
    /// The cause of the last rejection.
    pub last_reject_cause: u8,
    /// Orders that failed: rejected, or without an answer after the last try.
    pub failed: u64,
    /// Orders that were given again to mobiles for whom they had failed.
    pub ordered_again: u64,
    /// Messages that were sent again for want of an answer.
    pub repeated: u64,
    /// Contexts that the network deactivated.
    pub network_deactivated: u64,
    /// Mobiles that the network detached.
    pub network_detached: u64,
    /// Changes of the quality of service that the GGSN asked for and that were accepted.
    pub updated: u64,
    /// And that were refused.
    pub updates_refused: u64,
    /// PAGING-PS for a mobile of ours.
    pub paged: u64,
    /// Mobiles that said something only to stay READY.
    pub kept_ready: u64,
    /// FLUSH-LL that were answered.
    pub flushed: u64,
    /// FLOW-CONTROL-BVC and FLOW-CONTROL-MS that were sent.
    pub flow_control_sent: u64,
    /// And that were acknowledged.
    pub flow_control_acknowledged: u64,
    /// Challenges and orders to cipher that were answered.
    pub challenged: u64,
    /// UI frames of user data that came ciphered, and were deciphered and intact.
    pub deciphered: u64,
    /// Frames and orders of a cipher for which the mobile has no key.
    pub no_key: u64,
    /// UI frames in the clear that had to come ciphered.
    pub in_the_clear: u64,
    /// UI frames that came again, where mobiles count them: those with a cipher do.
    pub doubled: u64,
    /// Links in acknowledged mode that were established, by either end.
    pub established: u64,
    /// Windows that mobiles proposed and the SGSN answered.
    pub windows_proposed: u64,
    /// Such of these that it lowered.
    pub windows_lowered: u64,
    /// I frames that came through the socket, each the next one of its link.
    pub i_frames: u64,
    /// Of these, such with N-PDUs that had come on an earlier link.
    pub n_pdus_repeated: u64,
    /// Acknowledgements that were sent through it.
    pub acknowledgements: u64,
    /// LL-PDUs whose FCS was wrong.
    pub fcs_wrong: u64,
    /// LL-PDUs for a TLLI that no mobile of the cell uses.
    pub unknown_tlli: u64,
    /// LL-PDUs for a mobile that is in another cell.
    pub wrong_cell: u64,
    /// Segments of N-PDUs that came down through the socket.
    pub segments_down: u64,
    /// N-PDUs that went up through the socket.
    pub n_pdus_up: u64,
    /// G-PDUs for endpoints that the GGSN has.
    pub g_pdus_up: u64,
    /// G-PDUs for endpoints that it does not have; each was answered with an Error Indication.
    pub g_pdus_unknown: u64,
    /// Error Indications of the SGSN.
    pub error_indications: u64,
    /// STATUS PDUs of the SGSN, of BSSGP and of layer 3.
    pub status: u64,
    /// Octets that could not be read.
    pub malformed: u64,
    /// Datagrams that could not be sent for want of a frame.
    pub no_frame: u64,
}

/// Users with one order.
#[derive(Debug)]
struct Job {
    users: Range<u32>,
    order: Order,
    /// They have tried before.
    again: bool,
}

/// Whose answer is late.
#[derive(Debug, Clone, Copy)]
pub(super) enum Waiting {
    Mobile { user: u32, stamp: u8 },
    Bvc(Bvc),
}

/// A bucket of a mobile's own.
#[derive(Debug, Clone, Copy)]
pub(super) struct MsFlow {
    pub(super) bucket: Bucket,
    pub(super) tag: u8,
    /// The refresh that counts: an older entry of the queue has lost its meaning.
    pub(super) due_ms: u32,
}

/// What is to be told again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Cell(u32),
    Ms(u32),
}

/// BSSs, mobiles and GGSN.
#[derive(Debug)]
pub struct Emulator {
    pub(super) config: LoadConfig,
    pub(super) apn: Apn,
    pub(super) now_ms: u32,
    pub(super) ns: NsEntity,
    ns_out: Batch<NsOutput>,
    pub(super) nses: Vec<Nse>,
    pub(super) cells: Vec<Cell>,
    pub(super) mobiles: Vec<Mobile>,
    /// Of mobiles that have cards.
    pub(super) secrets: Option<Secrets>,
    /// Users by local TLLI.
    pub(super) by_tlli: HashMap<u32, u32, FixedState>,
    pub(super) ms_flow: HashMap<u32, MsFlow, FixedState>,
    /// Where the SGSN wants its G-PDUs.
    pub(super) sgsn_user: Option<IpAddr>,
    /// And its signalling.
    pub(super) sgsn_control: Option<IpAddr>,
    /// Of the GGSN's last request.
    pub(super) sequence: u16,
    /// T3314 as the SGSN granted it last, in milliseconds; 0 where READY has no end.
    pub(super) ready_ms: u32,
    /// BVC-RESETs that wait for their turn.
    pub(super) resets: VecDeque<Bvc>,
    pub(super) resets_pending: u32,
    pub(super) cells_up: u32,
    jobs: VecDeque<Job>,
    /// When a mobile that was refused is told its order again.
    refused: VecDeque<(u32, (u32, Order))>,
    pub(super) pending: u32,
    /// Procedures that may run now: grows with those that end well, halves with one whose answer is late.
    pub(super) allowed: u32,
    /// Procedures that have ended well since it grew.
    pub(super) ended_well: u32,
    /// Until when further late answers have the same reason.
    pub(super) backed_off_ms: u32,
    /// When an answer is late.
    waiting: VecDeque<(u32, Waiting)>,
    /// When a bucket is told again.
    pub(super) flows: VecDeque<(u32, Flow)>,
    /// In which millisecond buckets were told last, and how many.
    pub(super) told: (u32, u32),
    /// When a mobile must be heard lest it becomes STANDBY.
    pub(super) ready: VecDeque<(u32, u32)>,
    /// The next wake-up that was asked for.
    armed: Option<Instant>,
    pub(super) out: Batch<Output<Event>>,
    /// Whether segments and T-PDUs are told one by one, or only counted.
    pub tells_data: bool,
    /// What has happened so far.
    pub stats: Stats,
}

impl Emulator {
    /// Everything switched off. It begins with [`Command::Start`].
    ///
    /// # Errors
    /// What is wrong with the configuration.
    pub fn new(config: LoadConfig) -> Result<Self, String> {
        config.check()?;
        let apn = config.apn.parse().map_err(|error| format!("APN: {error}"))?;
        let users = config.users as usize;
        let mobiles = (0..config.users)
            .map(|user| Mobile {
                cell: user % config.cells,
                n201_u: super::mobile::N201_U_DEFAULT,
                ..Mobile::default()
            })
            .collect();
        let mut ns = NsConfig::new(NsRole::Bss, Owner::Ns.number());
        (ns.tns_test, ns.tns_alive) = config.tns;
        (ns.nse_max, ns.vc_max) = (usize::from(config.nses), usize::from(config.nses));
        Ok(Self {
            apn,
            now_ms: 0,
            ns: NsEntity::new(ns),
            ns_out: Batch::with_capacity(64),
            nses: vec![Nse::default(); usize::from(config.nses)],
            cells: vec![Cell::new(config.flow); config.cells as usize],
            mobiles,
            secrets: config.security.as_ref().map(|security| Secrets::new(security, config.users)),
            by_tlli: HashMap::with_capacity_and_hasher(users, FixedState::default()),
            ms_flow: HashMap::default(),
            sgsn_user: None,
            sgsn_control: None,
            sequence: 0,
            ready_ms: 0,
            resets: VecDeque::new(),
            resets_pending: 0,
            cells_up: 0,
            jobs: VecDeque::new(),
            refused: VecDeque::new(),
            pending: 0,
            allowed: FIRST_WINDOW.min(config.window),
            ended_well: 0,
            backed_off_ms: 0,
            waiting: VecDeque::with_capacity(1024),
            flows: VecDeque::with_capacity(config.cells as usize),
            told: (0, 0),
            ready: VecDeque::new(),
            armed: None,
            out: Batch::with_capacity(1024),
            tells_data: false,
            stats: Stats::default(),
            config,
        })
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &LoadConfig {
        &self.config
    }

    /// One user.
    #[must_use]
    pub fn user(&self, user: u32) -> Option<User> {
        self.mobiles.get(user as usize).map(|mobile| mobile.view(user, self.cipher_of(user)))
    }

    /// All users.
    pub fn users(&self) -> impl Iterator<Item = User> + '_ {
        self.mobiles.iter().zip(0..).map(|(mobile, index)| mobile.view(index, self.cipher_of(index)))
    }

    fn cipher_of(&self, user: u32) -> Option<UserCipher> {
        self.secrets.as_ref()?.view(user)
    }

    /// The user of a TLLI, random or local.
    #[must_use]
    pub fn user_of(&self, tlli: gannet_wire::id::Tlli) -> Option<u32> {
        self.find(tlli)
    }

    /// Where the SGSN wants its G-PDUs; known from the first activation on.
    #[must_use]
    pub const fn sgsn_user(&self) -> Option<IpAddr> {
        self.sgsn_user
    }

    /// T3314 as the SGSN granted it last, in milliseconds; 0 where READY has no end.
    #[must_use]
    pub const fn ready_ms(&self) -> u32 {
        self.ready_ms
    }

    /// Cells whose BVC is in service.
    #[must_use]
    pub const fn cells_up(&self) -> u32 {
        self.cells_up
    }

    /// Procedures under way, and users that still wait for their turn.
    #[must_use]
    pub fn unfinished(&self) -> u64 {
        let waiting = self.jobs.iter().map(|job| job.users.len() as u64).sum::<u64>();
        u64::from(self.pending) + waiting + self.refused.len() as u64
    }

    /// Gives users an order. `profile` says what each asks for when it activates; `None` leaves it as it was.
    pub fn order(
        &mut self,
        cx: &mut Context<'_>,
        users: Range<u32>,
        order: Order,
        profile: Option<&dyn Fn(u32) -> Profile>,
    ) {
        let users = users.start..users.end.min(self.config.users);
        if let Some(profile) = profile {
            for user in users.clone() {
                if let Some(mobile) = self.mobiles.get_mut(user as usize) {
                    mobile.qos = profile(user).0.pack();
                }
            }
        }
        self.jobs.push_back(Job { users, order, again: false });
        self.settle(cx);
    }

    // ------------------------------------------------------------------------------------------- the machinery

    /// Begins what there is room for, and asks for the next wake-up.
    pub(super) fn settle(&mut self, cx: &mut Context<'_>) {
        self.now_ms = millis(cx.now);
        self.start_resets(cx);
        while self.pending < self.allowed {
            let Some(job) = self.jobs.front_mut() else { break };
            let (order, again) = (job.order, job.again);
            match job.users.next() {
                Some(user) => self.begin(cx, user, order, again),
                None => drop(self.jobs.pop_front()),
            }
        }
        let next_ms = self.now_ms + u32::from(!self.has_room_to_tell());
        let dues = [
            self.waiting.front().map(|(due, _)| *due),
            self.refused.front().map(|(due, _)| *due),
            self.flows.front().map(|(due, _)| *due.max(&next_ms)),
            self.ready.front().map(|(due, _)| *due),
        ];
        let Some(due) = dues.into_iter().flatten().min() else { return };
        let at = Instant(u64::from(due) * 1_000_000).max(cx.now);
        if self.armed.is_none_or(|armed| at < armed) {
            self.armed = Some(at);
            cx.timers.wake(Owner::Queues.key(0, 0), at);
        }
    }

    /// A procedure has ended well: with as many as may run at the same time, one more may.
    pub(super) fn grow_window(&mut self) {
        self.ended_well += 1;
        if self.ended_well >= self.allowed {
            self.ended_well = 0;
            self.allowed = (self.allowed + 1).min(self.config.window);
        }
    }

    /// An answer is late: what was lost was lost at the same time, so that the window halves once for all of it.
    pub(super) fn shrink_window(&mut self) {
        if self.now_ms >= self.backed_off_ms {
            self.backed_off_ms = self.later(self.config.retry);
            self.allowed = (self.allowed / 2).max(LEAST_WINDOW).min(self.config.window);
            self.ended_well = 0;
        }
    }

    /// An answer is awaited from now on.
    pub(super) fn wait(&mut self, waiting: Waiting) {
        self.waiting.push_back((self.later(self.config.retry), waiting));
    }

    /// A span from now, in the queues' milliseconds.
    pub(super) fn later(&self, span: Duration) -> u32 {
        self.now_ms.saturating_add(u32::try_from(span.as_millis()).unwrap_or(u32::MAX))
    }

    fn wake(&mut self, cx: &mut Context<'_>) {
        self.armed = None;
        let now = self.now_ms;
        while let Some((_, waiting)) = pop_due(&mut self.waiting, now) {
            match waiting {
                Waiting::Mobile { user, stamp } => self.late(cx, user, stamp),
                Waiting::Bvc(bvc) => self.bvc_late(cx, bvc),
            }
        }
        while let Some((_, (user, order))) = pop_due(&mut self.refused, now) {
            self.jobs.push_back(Job { users: user..user + 1, order, again: true });
        }
        while self.has_room_to_tell()
            && let Some((due, flow)) = pop_due(&mut self.flows, now)
        {
            self.flow_due(cx, due, flow);
        }
        while let Some((_, user)) = pop_due(&mut self.ready, now) {
            self.ready_due(cx, user);
        }
    }

    fn start(&mut self, cx: &mut Context<'_>) {
        for nse in 0..self.config.nses {
            let (nsei, port) = (self.config.nsei(nse), gannet_machine::Port(nse));
            let nsvci = gannet_wire::id::Nsvci(nsei.0);
            // The table was made for exactly these.
            let _ = self.ns.add_static_vc(cx, nsei, nsvci, port, self.config.sgsn_gb);
        }
        let mut outputs = core::mem::take(&mut self.ns_out);
        self.ns.start(cx, &mut outputs);
        self.ns_outputs(cx, outputs);
    }

    fn ns_outputs(&mut self, cx: &mut Context<'_>, mut outputs: Batch<NsOutput>) {
        while let Some(output) = outputs.pop() {
            match output {
                NsOutput::Transmit { port, peer, frame } => {
                    self.out.push(Output::Transmit { port, peer: Peer::Udp(peer), frame });
                }
                NsOutput::Unitdata { nsei, bvci, frame } => self.bssgp_pdu(cx, self.nse(nsei), bvci, frame),
                NsOutput::Status { nsei, status } => match status {
                    NsStatus::NseAvailable => self.nse_up(self.nse(nsei)),
                    NsStatus::NseUnavailable => self.nse_down(self.nse(nsei)),
                    NsStatus::TransferCapacity { .. } | NsStatus::VcReset(_) => {}
                },
            }
        }
        self.ns_out = outputs;
    }

    const fn nse(&self, nsei: Nsei) -> u16 {
        nsei.0.wrapping_sub(self.config.first_nsei)
    }

    /// NS-UNITDATA.request with a finished BSSGP PDU.
    pub(super) fn send_ns(
        &mut self,
        cx: &mut Context<'_>,
        nse: u16,
        bvci: gannet_wire::id::Bvci,
        frame: Frame,
    ) {
        let nsei = self.config.nsei(nse);
        let mut outputs = core::mem::take(&mut self.ns_out);
        self.ns.unitdata_request(cx, nsei, bvci, 0, frame, &mut outputs);
        while let Some(output) = outputs.pop() {
            if let NsOutput::Transmit { port, peer, frame } = output {
                self.out.push(Output::Transmit { port, peer: Peer::Udp(peer), frame });
            }
        }
        self.ns_out = outputs;
    }

    fn datagram(&mut self, cx: &mut Context<'_>, port: gannet_machine::Port, peer: Peer, frame: Frame) {
        let Peer::Udp(peer) = peer else { return };
        match port {
            GTP_C => self.gtp_control(cx, peer, &frame),
            GTP_U => self.gtp_user(cx, peer, frame),
            gb => {
                let mut outputs = core::mem::take(&mut self.ns_out);
                self.ns.receive(cx, gb, peer, frame, &mut outputs);
                self.ns_outputs(cx, outputs);
            }
        }
    }

    /// A mobile is to try an order again that has failed, after a while; false where it has tried often enough.
    pub(super) fn again(&mut self, user: u32, order: Order) -> bool {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return false };
        mobile.rounds = mobile.rounds.saturating_add(1);
        let again = mobile.rounds < self.config.rounds;
        if again {
            self.stats.ordered_again += 1;
            self.refused.push_back((self.later(AGAIN_AFTER), (user, order)));
        }
        again
    }

    /// A mobile's turn has come.
    fn begin(&mut self, cx: &mut Context<'_>, user: u32, order: Order, again: bool) {
        let Some(mobile) = self.mobiles.get_mut(user as usize) else { return };
        mobile.failed = false;
        if !again {
            mobile.rounds = 0;
        }
        let was_pending = mobile.phase.is_pending();
        mobile.goal = match order {
            Order::Attach if mobile.phase == Phase::Active => Goal::Active,
            Order::Attach | Order::Deactivate => Goal::Attached,
            Order::Activate => Goal::Active,
            Order::Detach => Goal::Detached,
        };
        if was_pending {
            // The answer that is awaited leads on to the new goal.
            return;
        }
        let again = order == Order::Activate && mobile.phase == Phase::Active;
        self.step(cx, user, again);
    }
}

/// The first deadline of a queue, where it has come.
fn pop_due<T>(queue: &mut VecDeque<(u32, T)>, now_ms: u32) -> Option<(u32, T)> {
    queue.front().is_some_and(|(due, _)| *due <= now_ms).then(|| queue.pop_front()).flatten()
}

/// Our own time in milliseconds: 49 days.
pub(super) fn millis(now: Instant) -> u32 {
    u32::try_from(now.since(Instant::ZERO).as_millis()).unwrap_or(u32::MAX)
}

impl Machine for Emulator {
    type Command = Command;
    type Event = Event;
    type Rule = Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<Command>>) {
        self.now_ms = millis(cx.now);
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port, peer, frame } => self.datagram(cx, port, peer, frame),
                Input::Timeout(key) if Owner::of(key) == Some(Owner::Queues) => self.wake(cx),
                Input::Timeout(key) => {
                    let mut outputs = core::mem::take(&mut self.ns_out);
                    self.ns.wake(cx, key, &mut outputs);
                    self.ns_outputs(cx, outputs);
                }
                Input::Command(Command::Start) => self.start(cx),
                // No kernel classifies anything for us.
                Input::Classified { .. } | Input::Stream { .. } => {}
            }
        }
        self.settle(cx);
    }

    fn timer_name(&self, key: TimerKey) -> &'static str {
        Owner::of(key).map_or("a timer of nobody", Owner::name)
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<Event>>) {
        outputs.append(&mut self.out);
    }
}

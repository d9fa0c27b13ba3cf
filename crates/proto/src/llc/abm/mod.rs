//! Acknowledged mode of one logical link entity: asynchronous balanced mode (04.64 clauses 8.5 to 8.8 [44.064]).
//!
//! [`Abm`] is a value of its own: what is not acknowledged yet belongs to it, in memory of the node ([`gannet_machine::kept`]), and travels with
//! it as octets. It knows neither the mobile's key nor whose it is; what it has to know of these stands in the [`Link`] of each call. Frames and primitives come
//! out as [`LlcOutput`]; [`Abm::next_wake`] says when [`Abm::wake`] is to be called.
//!
//! What the clauses leave open is settled so:
//!
//! * **Loss** is seen by order: what was sent before a frame that has arrived, and has not arrived itself, is lost
//!   and sent again (or, with [`Retransmission::GoBackN`], all from V(A) on). A frame that is sent again and lost again is
//!   seen in the same way, once a round trip has gone by since it was sent again, so that each
//!   acknowledgement has a frame sent once more at most. Where nothing arrives T201 asks, with the oldest frame alone, in
//!   go-back-N as well where it was measured: it may be shorter than the queue in which the rest still waits. A fixed one is not.
//!   Where that one alone is then confirmed, two more are sent again, then four, until all are, or it shows that they were late.
//! * **Acknowledgements** are asked for (A bit) by the first frame while no request is out, by each half window, but at least
//!   each sixteenth frame, and by the frame that closes it unless one shortly before did; and by an S frame, once, where what was sent last did not ask. Where
//!   frames follow each other and many have arrived since one was lost (with [`Timing::Adaptive`] and
//!   [`Retransmission::Selective`]), the first need not ask, half a window need not where at the rate of its frames the rest lasts
//!   for longer than the answer takes, up to 32 of them, and the S frame waits a part of T200 for the next that asks, which one does behind
//!   which the next would come too late if it took twice as long as those before: an acknowledgement for each
//!   frame costs both ends, and the radio path, more than the frame. A gap shows itself at once all the same; only what is lost
//!   last is found out that much later.
//!   They are sent where they are asked for, where a gap opens and where it closes, with the next
//!   I frame if one can go at once. With [`Timing::Adaptive`] and [`Retransmission::Selective`] the answer to an I frame waits 1.6 ms for
//!   one: mostly the layers above answer what has come. It does not wait while a frame is missing, where half a window has come since the
//!   last, and where the frame had come before.
//! * **T201** is T200, or what the measured round trips suggest, or a chosen time, at most T200 ([`Timing`]). Round trips of frames that
//!   were sent twice are not measured, and a T201 that has run out stays twice as long until one of a frame sent once is. A measured
//!   one is 2 ms longer than the round trip at least, and ends at a whole millisecond, so that many links are woken together.
//! * **The window** is not all sent at once where frames are lost and the round trip shows that they only wait somewhere on
//!   their way (with [`Timing::Adaptive`] and [`Retransmission::Selective`]): what is sent again would wait behind them.
//! * **A second copy** follows a frame that is sent again, and a short one, where frames are lost, nothing waits on the path and nothing
//!   else may go (with [`Timing::Adaptive`] and [`Retransmission::Selective`]): all behind a frame that is missing waits for it.
//! * **N200** counts repetitions ("maximum number of retransmissions", clause 8.9), so that with a fixed T201 a link is given up,
//!   and established anew (clause 8.7), when V(A) has stood still for (N200 + 1) · T200: one transmission and N200 repetitions,
//!   each with its T200. With [`Timing::Adaptive`] it is N200 · T200: T201 takes no more than its part of what is left of that, so that
//!   there are N200 repetitions by then, and more where T201 is shorter. Commands (SABM, DISC, XID) have T200 itself (clauses
//!   8.5.1.3, 8.5.2.3, 8.5.3.4), and take (N200 + 1) · T200 with either.
//! * **N(R) behind V(A)** is an acknowledgement that was overtaken, and says nothing. One beyond V(S) is rejected (FRMR).
//! * **What is not acknowledged** when the link ends, or is established anew, is given back to layer 3 before it is told of that
//!   ([`LlcOutput::Returned`]): layer 3 need not keep a copy.
//! * **A smaller N201-I** that is agreed while the link is there counts for new units. What was cut before is sent, and taken, as it is.
//! * A mode-setting command that comes twice before anything else was done changes nothing and is answered twice.
//!
//! Numbers start again with each establishment, and no frame says to which it belongs: that none overtakes a SABM or UA
//! is a matter of the layers below.

mod acknowledge;
mod config;
mod connection;
mod depth;
mod doubled;
mod flight;
mod receive;
mod round_trip;
mod transmit;
mod units;

pub use config::{ABM_SAPIS, LinkConfig, LinksConfig, Shared, place_of};
pub use connection::Unnumbered;
pub use depth::K_LEAST;
pub use receive::Received;
pub use units::ReturnedUnits;

use super::cipher::{Ciphering, i_input};
use super::{LlcOutput, LlcRole, nine_bits};
use depth::Depth;
use flight::Flight;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::kept::Keeper;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Batch, Context, Fold};
use gannet_wire::fcs24::{FCS_LEN, fcs24_folded};
use gannet_wire::id::Sapi;
use gannet_wire::llc::xid::Parameter;
use gannet_wire::llc::{Control, Header, UFunction};
use round_trip::RoundTrip;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use units::Units;

/// States of an LLE whose TLLI is assigned (04.64 annex C).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// TLLI Assigned/ADM: no acknowledged mode.
    Adm,
    /// A SABM of ours waits for its UA.
    LocalEstablishment,
    /// A SABM of the peer waits for layer 3.
    RemoteEstablishment,
    /// Acknowledged mode.
    Abm,
    /// A DISC of ours waits for its UA.
    LocalRelease,
}

/// What is sent again where a frame is missing (clause 8.6.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Retransmission {
    /// What the acknowledgement shows as missing.
    Selective,
    /// Everything from V(A) on.
    GoBackN,
}

/// How long T201 runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timing {
    /// As long as T200 (clause 8.9).
    Fixed,
    /// As the measured round trips suggest, twice as long with each expiry until the next measurement, and never longer than
    /// T200. They also say how much of the window is used where frames are lost.
    Adaptive,
    /// Always so long, and at most T200: for paths that answer sooner than the shortest T200, a tenth of a second.
    Chosen(Duration),
}

/// What is not negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// What is sent again.
    pub retransmission: Retransmission,
    /// How long T201 runs.
    pub timing: Timing,
    /// Octets of the longest LL-PDU that the layers below carry.
    pub frame_max: u16,
    /// Units of layer 3 that may wait until the window opens.
    pub queue_max: u16,
}

impl Default for Options {
    /// Selective retransmission, T201 from the round trips, and no limit beyond the longest frame of LLC.
    fn default() -> Self {
        Self {
            retransmission: Retransmission::Selective,
            timing: Timing::Adaptive,
            frame_max: FRAME_MAX,
            queue_max: 64,
        }
    }
}

/// Octets of the longest LL-PDU: the longest header, 1,520 octets of information and the FCS.
pub const FRAME_MAX: u16 = 1560;

/// Negotiable parameters that only acknowledged mode has, as seen from this end (clause 8.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Windows {
    /// IOV-I.
    pub iov_i: u32,
    /// m of what this end sends, in units of 16 octets; 0 is no limit.
    pub m_sent: u16,
    /// m of what it receives.
    pub m_received: u16,
    /// k of what this end sends, in I frames.
    pub k_sent: u8,
    /// k of what it receives.
    pub k_received: u8,
}

impl Windows {
    /// Default values (clause 8.9, table 9); `None` for a SAPI without acknowledged mode.
    #[must_use]
    pub const fn defaults(sapi: Sapi) -> Option<Self> {
        let (m, k) = match sapi {
            Sapi::DATA3 => (1520, 16),
            Sapi::DATA5 => (760, 8),
            Sapi::DATA9 => (380, 4),
            Sapi::DATA11 => (190, 2),
            _ => return None,
        };
        Some(Self { iov_i: 0, m_sent: m, m_received: m, k_sent: k, k_received: k })
    }

    /// Takes a proposal over as far as `limits` and the sense of negotiation allow, which is down, and gives the answer;
    /// `None` for any other parameter (table 6).
    pub fn negotiate(&mut self, role: LlcRole, limits: &Self, parameter: &Parameter) -> Option<Parameter> {
        let valid = parameter.is_valid();
        let sends_down = role == LlcRole::Sgsn;
        let k = |own: &mut u8, limit: u8, proposed: u8| {
            *own = if valid { limit.min(proposed) } else { *own };
            *own
        };
        let m = |own: &mut u16, limit: u16, proposed: u16| {
            *own = if valid { lower_m(limit, proposed) } else { *own };
            *own
        };
        match *parameter {
            Parameter::KD(frames) if sends_down => {
                Some(Parameter::KD(k(&mut self.k_sent, limits.k_sent, frames)))
            }
            Parameter::KD(frames) => Some(Parameter::KD(k(&mut self.k_received, limits.k_received, frames))),
            Parameter::KU(frames) if sends_down => {
                Some(Parameter::KU(k(&mut self.k_received, limits.k_received, frames)))
            }
            Parameter::KU(frames) => Some(Parameter::KU(k(&mut self.k_sent, limits.k_sent, frames))),
            Parameter::MD(units) if sends_down => {
                Some(Parameter::MD(m(&mut self.m_sent, limits.m_sent, units)))
            }
            Parameter::MD(units) => Some(Parameter::MD(m(&mut self.m_received, limits.m_received, units))),
            Parameter::MU(units) if sends_down => {
                Some(Parameter::MU(m(&mut self.m_received, limits.m_received, units)))
            }
            Parameter::MU(units) => Some(Parameter::MU(m(&mut self.m_sent, limits.m_sent, units))),
            // The network chooses it.
            Parameter::IovI(offset) => {
                if role == LlcRole::Ms {
                    self.iov_i = offset;
                }
                Some(Parameter::IovI(self.iov_i))
            }
            Parameter::Version(_)
            | Parameter::IovUi(_)
            | Parameter::T200(_)
            | Parameter::N200(_)
            | Parameter::N201U(_)
            | Parameter::N201I(_)
            | Parameter::Layer3(_)
            | Parameter::Reset
            | Parameter::Unknown { .. } => None,
        }
    }

    /// The parameters with which these are proposed.
    #[must_use]
    pub const fn proposal(&self, role: LlcRole) -> [Parameter; 4] {
        let (kd, ku, md, mu) = match role {
            LlcRole::Sgsn => (self.k_sent, self.k_received, self.m_sent, self.m_received),
            LlcRole::Ms => (self.k_received, self.k_sent, self.m_received, self.m_sent),
        };
        [Parameter::MD(md), Parameter::MU(mu), Parameter::KD(kd), Parameter::KU(ku)]
    }
}

/// The lower of two m; 0 is no limit, and so the highest of all.
fn lower_m(limit: u16, proposed: u16) -> u16 {
    match (limit, proposed) {
        (0, other) | (other, 0) => other,
        (limit, proposed) => limit.min(proposed),
    }
}

/// What an LLE has to know of the link that it is on, and of the parameters that it shares with unacknowledged mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Which end this is.
    pub role: LlcRole,
    /// Whose frames.
    pub sapi: Sapi,
    /// How I frames are ciphered.
    pub ciphering: Ciphering,
    /// N201-I, octets of information in an I frame.
    pub n201_i: u16,
    /// T200.
    pub t200: Duration,
    /// N200.
    pub n200: u8,
}

impl Link {
    /// The time within which a link is found dead: N200 times T200, or that of one transmission and N200 repetitions where each
    /// is waited for as long as T200.
    #[must_use]
    pub fn patience(&self, timing: Timing) -> Duration {
        let times = match timing {
            Timing::Fixed | Timing::Chosen(_) => u64::from(self.n200) + 1,
            Timing::Adaptive => u64::from(self.n200).max(1),
        };
        self.t200 * times
    }
}

/// A unit that was not taken: why, and the frame as it was.
#[derive(Debug)]
pub struct Refused {
    /// The name under which whoever gives it up drops it.
    pub drop: Drop,
    /// The unit.
    pub frame: Frame,
}

/// Why a link was released without our asking (04.64 clause 7.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseCause {
    /// The peer sent DISC.
    Peer,
    /// The peer cannot enter acknowledged mode: DM.
    Refused,
    /// A command of ours stayed without response N200 times.
    Unanswered,
}

impl core::fmt::Display for ReleaseCause {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Peer => "the peer has released it (DISC)",
            Self::Refused => "the peer refuses it (DM)",
            Self::Unanswered => "the peer does not answer (N200 tries)",
        })
    }
}

/// I frames of a path that does not keep the order, as where the bearer has changed: what comes behind them does not show that they
/// are lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Overtaken {
    /// They were sent up to this place among all.
    until: u32,
    /// Of those that were sent again by then, up to this place, nobody knows which copy an acknowledgement is about.
    again: u32,
    /// After this time they are lost.
    patience: Duration,
}

impl Overtaken {
    /// One that was sent as `order` at `sent_at` may still come.
    const fn may_come(self, now: Instant, order: u32, sent_at: Instant) -> bool {
        !acknowledge::is_after(order, self.until) && now.since(sent_at).0 < self.patience.0
    }
}

/// The instant that stands for "not running".
const NEVER: Instant = Instant(u64::MAX);

/// One LLE's part of acknowledged mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abm {
    state: State,
    options: Options,
    windows: Windows,
    /// OC-I-tx + V(A).
    acknowledged: u32,
    /// OC-I-rx + V(R).
    received: u32,
    /// B: octets that are sent and not acknowledged.
    outstanding: u32,
    /// V(S) − V(A).
    sent: u16,
    /// How many of these are lost.
    lost: u16,
    /// How many have arrived beyond V(A).
    arrived: u16,
    /// From V(A) on: those that are sent, then those that wait.
    units: Units,
    /// From V(R) + 1 on: what has arrived out of order.
    held: VecDeque<Option<Box<[u8]>>>,
    held_octets: u32,
    /// Of the I frame that was sent last.
    order: u32,
    /// OC + N(S) of the I frame whose acknowledgement was asked for last.
    request: u32,
    /// The place of the last I frame that the request covers.
    covered: u32,
    /// The place of the latest I frame that is known to have arrived.
    newest: Option<u32>,
    /// I frames that were overtaken by others, of which some arrived all the same.
    overtaken: Option<Overtaken>,
    /// Lost I frames that may be sent before the next acknowledgement.
    repeatable: u16,
    /// When SABM was sent.
    requested_at: Instant,
    /// The largest N201-I since the link was established: units that were cut by it may come again after a smaller one is agreed.
    n201_i_max: u16,
    /// An acknowledgement is asked for and not here.
    is_requested: bool,
    /// One was asked for, and no S frame has come since.
    is_answer_due: bool,
    /// The first of what is not acknowledged came soon after what was before it.
    is_following: bool,
    /// I frames that were acknowledged since one was lost, up to [`transmit::INTACT`].
    intact: u8,
    /// I frames that are still to be acknowledged since one was lost, until none is expected to be.
    #[serde(skip)]
    wary: u8,
    /// When an acknowledgement is to be sent in an S frame, unless an I frame takes it along before.
    owed_at: Instant,
    /// OC-I-rx + V(R) as the peer was told last, and octets of information that have come in order since.
    told: u32,
    untold_octets: u32,
    peer_is_busy: bool,
    is_busy: bool,
    /// Layer 3 has asked for the establishment that is under way; if not, LLC does it by itself.
    is_asked_for: bool,
    /// P of the command that waits for layer 3.
    poll: bool,
    /// Repetitions of a command, or expiries of T201 in a row.
    tries: u8,
    /// FCS of the information of the SABM with which the peer has established the link.
    answered: Option<[u8; FCS_LEN]>,
    round_trip: RoundTrip,
    flight: Flight,
    /// It is found anew wherever the mobile goes.
    #[serde(skip)]
    depth: Depth,
    /// When T200 or T201 runs out.
    expires: Instant,
    /// Since when V(A) stands, and the place of the last I frame that was sent before.
    standing_since: Instant,
    standing_order: u32,
    /// Information of the SABM or UA that was sent last.
    information: Box<[u8]>,
}

impl Abm {
    /// In ADM.
    #[must_use]
    pub fn new(options: Options, windows: Windows) -> Self {
        Self {
            state: State::Adm,
            options,
            windows,
            acknowledged: 0,
            received: 0,
            outstanding: 0,
            sent: 0,
            lost: 0,
            arrived: 0,
            units: Units::default(),
            held: VecDeque::new(),
            held_octets: 0,
            order: 0,
            request: 0,
            covered: 0,
            newest: None,
            overtaken: None,
            repeatable: 0,
            requested_at: Instant::ZERO,
            n201_i_max: 0,
            is_requested: false,
            is_answer_due: false,
            is_following: false,
            intact: 0,
            wary: 0,
            owed_at: NEVER,
            told: 0,
            untold_octets: 0,
            peer_is_busy: false,
            is_busy: false,
            is_asked_for: false,
            poll: false,
            tries: 0,
            answered: None,
            round_trip: RoundTrip::default(),
            flight: Flight::default(),
            depth: Depth::default(),
            expires: NEVER,
            standing_since: Instant::ZERO,
            standing_order: 0,
            information: Box::default(),
        }
    }

    /// Its state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// True in "Timer Recovery" (annex C): T201 has run out and nothing has come since.
    #[must_use]
    pub const fn is_recovering(&self) -> bool {
        matches!(self.state, State::Abm) && self.tries > 0
    }

    /// V(S), V(A) and V(R).
    #[must_use]
    pub fn variables(&self) -> (u16, u16, u16) {
        let sent = self.acknowledged.wrapping_add(self.sent.into());
        (nine_bits(sent), nine_bits(self.acknowledged), nine_bits(self.received))
    }

    /// Units that are not acknowledged, those that wait for the window included.
    #[must_use]
    pub fn unacknowledged(&self) -> usize {
        self.units.len()
    }

    /// I frames that were sent again since the link was established, modulo 2^32.
    #[must_use]
    pub fn retransmissions(&self) -> u32 {
        self.order.wrapping_sub(self.acknowledged.wrapping_add(self.sent.into()))
    }

    /// Units that layer 3 may have unconfirmed beyond those of a link with the window of clause 8.9, table 9: as many as the path
    /// holds, and those that have arrived and wait for one before them, which take nothing of it.
    #[must_use]
    pub fn beyond(&self) -> u16 {
        self.depth.beyond().saturating_add(self.arrived).min(Depth::most(self.windows.k_sent))
    }

    /// Units that it would take now.
    #[must_use]
    pub fn room(&self) -> usize {
        let free =
            usize::from(self.windows.k_sent.saturating_sub(u8::try_from(self.sent).unwrap_or(u8::MAX)));
        let waiting = self.units.len().saturating_sub(self.sent.into());
        (free + usize::from(self.options.queue_max)).saturating_sub(waiting)
    }

    /// Sets what is not negotiated.
    pub const fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    /// An S frame has come: was it the first since an acknowledgement was asked for?
    pub(super) const fn take_answer_due(&mut self) -> bool {
        core::mem::replace(&mut self.is_answer_due, false)
    }

    /// The negotiated windows.
    #[must_use]
    pub const fn windows(&self) -> &Windows {
        &self.windows
    }

    /// The same, for a negotiation.
    pub const fn windows_mut(&mut self) -> &mut Windows {
        &mut self.windows
    }

    /// When [`Abm::wake`] is to be called.
    #[must_use]
    pub fn next_wake(&self) -> Option<Instant> {
        let next = self.expires.min(self.owed_at);
        (next != NEVER).then_some(next)
    }

    /// Asks for the memory where the next unit will stand, and its octets, so many.
    pub fn prefetch_unit(&self, octets: usize, keeper: &Keeper, prefetch: Prefetch) {
        self.units.prefetch_next(prefetch);
        keeper.prefetch(octets, prefetch);
    }

    /// Asks for what is known of the units that an acknowledgement may be about.
    pub fn prefetch_unconfirmed(&self, prefetch: Prefetch) {
        self.units.prefetch_first(self.sent.into(), prefetch);
    }

    /// Octets of memory beside the value itself.
    #[must_use]
    pub fn heap_octets(&self) -> usize {
        let held = self.held.iter().flatten().map(|octets| octets.len()).sum::<usize>();
        let places = self.held.capacity() * size_of::<Option<Box<[u8]>>>();
        self.units.heap_octets() + held + places + self.information.len()
    }

    /// No memory is kept for units that may come soon: nobody wakes this link for a while.
    pub(super) fn tidy(&mut self) {
        self.units.tidy();
    }

    /// Goes on after a restart of this end, with a clock of its own: what was kept may be older than what the peer has seen, so
    /// that the link is established anew as soon as it is woken. A release is begun again.
    pub fn restore(&mut self, now: Instant) {
        match self.state {
            State::Adm => {}
            State::RemoteEstablishment => self.clear(State::Adm),
            State::LocalEstablishment | State::Abm | State::LocalRelease => {
                let state = match self.state {
                    State::LocalRelease => State::LocalRelease,
                    State::Adm | State::LocalEstablishment | State::RemoteEstablishment | State::Abm => {
                        State::LocalEstablishment
                    }
                };
                self.clear(state);
                (self.answered, self.expires) = (None, now);
            }
        }
    }

    /// The peer could not be reached for some time, and can from `now` on: it has all its time to answer, as if what waits for it had
    /// been sent now.
    pub(super) const fn within_reach(&mut self, now: Instant) {
        (self.standing_since, self.standing_order, self.tries) = (now, self.order, 0);
    }

    /// Gives back to layer 3 what is not acknowledged, where there is any.
    pub(super) fn give_back(&mut self, sapi: Sapi, out: &mut Batch<LlcOutput>) {
        if !self.units.is_empty() {
            self.give_back_all(sapi, out);
        }
    }

    fn give_back_all(&mut self, sapi: Sapi, out: &mut Batch<LlcOutput>) {
        let units = Box::new(ReturnedUnits(core::mem::take(&mut self.units)));
        out.push(LlcOutput::Returned { sapi, units });
    }

    /// V(S), V(A), V(R), B and all exception conditions as at the beginning.
    fn clear(&mut self, state: State) {
        let cleared = Self::new(self.options, self.windows);
        let information = core::mem::take(&mut self.information);
        let (is_asked_for, is_busy) = (self.is_asked_for, self.is_busy);
        let (answered, round_trip, depth) = (self.answered, self.round_trip, self.depth);
        *self = Self { state, information, is_asked_for, is_busy, answered, round_trip, depth, ..cleared };
    }
}

/// A U frame's function with its P or F bit.
pub(super) type PollFinal = (bool, UFunction);

/// Sends a U frame. Without a free frame it is lost as on a bad radio path, and counted.
pub(super) fn transmit_u(
    cx: &mut Context<'_>,
    (role, sapi): (LlcRole, Sapi),
    command: bool,
    (poll_final, function): PollFinal,
    info: &[u8],
    out: &mut Batch<LlcOutput>,
) {
    let Some(mut frame) = cx.frames.copy_of(info) else {
        cx.drop(Drop::NoFrame, None);
        return;
    };
    let header = Header { cr: role.cr(command), sapi, control: Control::U { poll_final, function } };
    if seal(cx.fold, &header.emit(), &mut frame) {
        out.push(LlcOutput::Transmit { sapi, frame });
    }
}

/// Puts header and FCS round the information; false where the frame has no room for them, and is as it was.
fn seal(fold: Option<Fold>, header: &[u8], frame: &mut Frame) -> bool {
    frame.tailroom() >= FCS_LEN && frame.prepend(header) && {
        let fcs: [u8; FCS_LEN] = fcs24_folded(frame, fold);
        frame.append(&fcs)
    }
}

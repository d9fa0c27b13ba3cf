//! Where a run stands on the axes, and the world that it needs.

use crate::radio::airtime::radio;
use crate::radio::world::Setup;
use crate::report::Size;
use crate::tcp::config::{Config as TcpConfig, DelayedAck, Detection, Pause};
use core::ops::Range;
use gannet_machine::time::{Duration, Instant};
use gannet_node::bss::radio::RlcMacConfig;
use gannet_proto::rlcmac::config::{Preempted, WithoutPdch};
use gannet_proto::rlcmac::mobile::Keeps;
use gannet_wire::rlcmac::coding::CodingScheme;
use serde_json::{Value, json};

/// Downlink timeslots of the cell and of its mobile.
pub const SLOTS: u32 = 3;
/// All blocks downlink.
pub const CODING: CodingScheme = CodingScheme::Cs2;
/// Mean C/I (section 4 of the study).
const C_OVER_I_DB: f64 = 20.0;
/// From the connection's first packet to the first preemption (figure 4 of the study).
const FIRST: Duration = Duration::from_secs(41);
/// From the end of one preemption to the next.
pub const BETWEEN: Duration = Duration::from_secs(60);
/// The receiver's window.
const WINDOW_OCTETS: u32 = 65_535;
/// For LLC, whose frames have N201-U octets of user data: the default of SAPI 3 (04.64 clause 8.9 [44.064]).
const N201_U: u16 = 500;
/// How long SNDCP waits for the rest of an N-PDU: longer than an LL-PDU may live, so that no half of one is given up while calls have the PDCHs.
const REASSEMBLY: Duration = Duration::from_secs(65);
/// How long `hold-for` keeps a queue.
const HELD_FOR: Duration = Duration::from_secs(5);

/// What becomes of the base station's queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// Thrown away, and nothing is asked for afterwards.
    Flush,
    /// Kept.
    Hold,
    /// Kept for five seconds, which is longer than the shortest period, and then thrown away.
    HoldFor,
    /// Kept, with what was not acknowledged, and sent as soon as there are resources.
    Forward,
}

impl Policy {
    /// All.
    pub const ALL: [Self; 4] = [Self::Flush, Self::Hold, Self::HoldFor, Self::Forward];

    /// It says R = 0 for a mobile whose queue it throws away, and nothing afterwards.
    #[must_use]
    pub const fn discards(self) -> bool {
        matches!(self, Self::Flush | Self::HoldFor)
    }

    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flush => "flush",
            Self::Hold => "hold",
            Self::HoldFor => "hold-for 5 s",
            Self::Forward => "forward",
        }
    }
}

/// Where a window waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// 15 kB in the base station, and in the SGSN more than a window.
    Window,
    /// 16 KB in all.
    Small,
}

impl Buffer {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Window, Self::Small];

    /// For the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Window => "15 kB + SGSN unlimited",
            Self::Small => "16 KB in all",
        }
    }

    /// How long LL-PDUs wait in the base station.
    const fn bucket_time(self) -> Duration {
        match self {
            Self::Window => Duration::from_millis(3330),
            Self::Small => Duration::from_millis(3000),
        }
    }
}

/// Who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// That of the study.
    Linux242,
    /// A present-day kernel's Reno.
    Reno,
    /// The same without selective acknowledgements and timestamps.
    RenoBare,
}

impl Sender {
    /// All that virtual time has.
    pub const ALL: [Self; 3] = [Self::Linux242, Self::Reno, Self::RenoBare];

    /// For the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux242 => "linux-2.4.2",
            Self::Reno => "Reno with SACK",
            Self::RenoBare => "Reno without SACK",
        }
    }

    /// Its values, with the study's window.
    #[must_use]
    pub const fn config(self) -> TcpConfig {
        let base = match self {
            Self::Linux242 => TcpConfig::linux_2_4_2(),
            Self::Reno => TcpConfig::linux_6_reno(),
            Self::RenoBare => TcpConfig {
                sack: false,
                dsack: false,
                timestamps: false,
                detection: Detection::Counted,
                ..TcpConfig::linux_6_reno()
            },
        };
        let delayed_ack = match base.delayed_ack {
            Some(delayed) => Some(DelayedAck { pause: Pause::Timeout, ..delayed }),
            None => None,
        };
        TcpConfig { window_scaling: false, receive_buffer: WINDOW_OCTETS, delayed_ack, ..base }
    }
}

/// A run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// `None` where nothing is preempted.
    pub preemption: Option<(Policy, u64)>,
    /// Where data wait.
    pub buffer: Buffer,
    /// Who sends them.
    pub sender: Sender,
}

/// How long a run takes.
#[must_use]
pub const fn span(size: Size) -> Duration {
    Duration::from_secs(match size {
        Size::Quick => 600,
        Size::Normal => 2400,
        Size::Full => 7200,
    })
}

/// Preemption periods in seconds.
#[must_use]
pub fn periods(size: Size) -> Vec<u64> {
    match size {
        Size::Quick => vec![3, 15],
        Size::Normal | Size::Full => vec![3, 6, 15],
    }
}

impl Place {
    /// Every run, each sender and buffer first without preemption.
    #[must_use]
    pub fn all(size: Size) -> Vec<Self> {
        let mut all = Vec::new();
        let senders: &[Sender] = match size {
            Size::Quick => &[Sender::Linux242],
            Size::Normal | Size::Full => &Sender::ALL,
        };
        for buffer in Buffer::ALL {
            for sender in senders.iter().copied() {
                all.push(Self { preemption: None, buffer, sender });
                for policy in Policy::ALL {
                    let with = |period_s| Self { preemption: Some((policy, period_s)), buffer, sender };
                    all.extend(periods(size).into_iter().map(with));
                }
            }
        }
        all
    }

    /// The same run without preemption.
    #[must_use]
    pub const fn undisturbed(self) -> Self {
        Self { preemption: None, ..self }
    }

    /// The policy's word.
    #[must_use]
    pub fn policy_name(&self) -> &'static str {
        self.preemption.map_or("none", |(policy, _)| policy.name())
    }

    /// Of the preemption, in seconds.
    #[must_use]
    pub fn period_s(&self) -> u64 {
        self.preemption.map_or(0, |(_, period_s)| period_s)
    }

    /// For people.
    #[must_use]
    pub fn name(&self) -> String {
        let (sender, buffer) = (self.sender.name(), self.buffer.name());
        match self.preemption {
            None => format!("{sender}, {buffer}, no preemption"),
            Some((policy, period_s)) => format!("{}, {period_s} s, {sender}, {buffer}", policy.name()),
        }
    }

    /// For the JSON.
    #[must_use]
    pub fn axes(&self) -> [(&'static str, Value); 4] {
        [
            ("policy", json!(self.policy_name())),
            ("period_s", json!(self.period_s())),
            ("buffer", json!(self.buffer.name())),
            ("sender", json!(self.sender.name())),
        ]
    }

    /// When PDCHs are taken, in a run that begins at a time.
    #[must_use]
    pub fn script(&self, begin: Instant, span: Duration) -> Vec<Range<Instant>> {
        let Some((_, period_s)) = self.preemption else { return Vec::new() };
        script(begin, span, period_s)
    }

    /// The world.
    ///
    /// # Errors
    /// Where no multislot class has these timeslots.
    pub fn setup(&self, seed: u64) -> Result<Setup, String> {
        setup(self.preemption.map(|(policy, _)| policy), self.buffer, 1, seed)
    }
}

/// Periods of this length, a minute between them, that end before the run does.
#[must_use]
pub fn script(begin: Instant, span: Duration, period_s: u64) -> Vec<Range<Instant>> {
    let (mut all, mut at, length) = (Vec::new(), begin + FIRST, Duration::from_secs(period_s));
    while at + length <= begin + span {
        all.push(at..at + length);
        at = at + length + BETWEEN;
    }
    all
}

/// A cell of the study's, with so many mobiles.
///
/// # Errors
/// Where no multislot class has these timeslots.
pub fn setup(policy: Option<Policy>, buffer: Buffer, mobiles: u32, seed: u64) -> Result<Setup, String> {
    let mut radio = radio(CODING, SLOTS, 1).ok_or("no multislot class has 3 + 1 timeslots")?;
    radio.channel.c_over_i_db = Some(C_OVER_I_DB);
    preempted(&mut radio, policy.unwrap_or(Policy::Forward));
    let one = Setup::one_cell(radio, mobiles, N201_U, seed);
    let sgsn_n_pdus = (buffer == Buffer::Small).then_some(1);
    let asks_at_zero = policy.is_some_and(Policy::discards);
    Ok(Setup {
        bucket_time: buffer.bucket_time(),
        sgsn_n_pdus,
        asks_at_zero,
        reassembly_timeout: REASSEMBLY,
        ..one
    })
}

/// Has a radio do with its queues what a policy says. The study's network does not answer access bursts, and its mobile gives up what it
/// cannot send.
pub const fn preempted(radio: &mut RlcMacConfig, policy: Policy) {
    radio.network.preempted = match policy {
        Policy::Flush => Preempted::Flush,
        Policy::Hold => Preempted::Hold,
        Policy::HoldFor => Preempted::HoldFor(HELD_FOR),
        Policy::Forward => Preempted::Forward,
    };
    radio.network.without_pdch = match policy {
        Policy::Flush => WithoutPdch::Ignore,
        Policy::Hold | Policy::HoldFor | Policy::Forward => WithoutPdch::Reject,
    };
    radio.mobile.keeps = if matches!(policy, Policy::Flush) { Keeps::Accesses } else { Keeps::All };
}

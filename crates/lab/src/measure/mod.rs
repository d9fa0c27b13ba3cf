//! What all experiments share: who is measured and how, steps that say something, the search for saturation, repetitions.
//!
//! An experiment is written against [`Lab`] and [`Chain`]: a chain is one SGSN between a generator at Gn and a sink at Gb,
//! with everybody attached, and gives a [`Step`] for each [`Offer`].
//!
//! | file | what |
//! |---|---|
//! | [`account`], [`conditions`] | what became of the packets of a step, and what the machine was like |
//! | [`bench`] | sizes, turns, steps that are made again, and the book of all of them |
//! | [`saturation`], [`search`] | the highest load that is delivered whole, of SGSNs and of bare loops |
//! | [`stats`], [`shares`] | medians of repetitions, and what good and bad users got |
//! | [`loads`], [`osmo`] | what is offered, and what osmo-sgsn can bear of it |
//! | `pace` | how far a quick run is beside its time |
//!
//! Words, as in every experiment's report: S0 is the highest load of good traffic that is delivered whole, c = 1/S0; d is the
//! machine's bare cost of dropping a blocked packet, measured in the same run; with the fraction f of exceeding
//! traffic k = f/(1−f) packets exceed for each good one, and no SGSN on this machine could saturate later than at
//! S_f = 1/(c + k·d).

pub mod account;
pub mod bench;
pub mod conditions;
pub mod loads;
pub mod osmo;
mod pace;
pub mod saturation;
pub mod search;
pub mod shares;
pub mod stats;

use crate::load::config::Proposal;
use account::Step;
use std::fmt;

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Candidate {
    /// Gannet with one UDP socket and one queue, as the thesis's plain SGSN.
    Fifo,
    /// Gannet with a socket for each class, chosen by a program in the kernel.
    Reuseport,
    /// Gannet with the classifier at the driver.
    Xdp,
    /// Debian's osmo-sgsn.
    Osmo,
}

/// All candidates.
pub const ALL: [Candidate; 4] = [Candidate::Xdp, Candidate::Fifo, Candidate::Reuseport, Candidate::Osmo];

impl Candidate {
    /// Its name in tables and figures.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "gannet-fifo",
            Self::Reuseport => "gannet-reuseport",
            Self::Xdp => "gannet-xdp",
            Self::Osmo => "osmo-sgsn",
        }
    }

    /// By its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|candidate| candidate.name() == name)
    }

    /// Its colour in every figure.
    #[must_use]
    pub const fn colour(self) -> usize {
        match self {
            Self::Xdp => 0,
            Self::Fifo => 1,
            Self::Reuseport => 2,
            Self::Osmo => 3,
        }
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is measured without an SGSN, on the same core and devices: the limits of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bare {
    /// The kernel program parses, finds the context blocked, and drops.
    Drop,
    /// AF_XDP receives, headers are rewritten in place, AF_XDP sends to Gb. Every second user is blocked.
    Xsk,
    /// `recvmmsg` with busy polling, then a batch to Gb.
    Socket,
    /// As `Xsk`, with one ring for each class and real time first.
    TwoRings,
}

impl Bare {
    /// Its name on the command line and in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Drop => "drop",
            Self::Xsk => "xsk",
            Self::Socket => "socket",
            Self::TwoRings => "two-rings",
        }
    }

    /// By its name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        [Self::Drop, Self::Xsk, Self::Socket, Self::TwoRings].into_iter().find(|bare| bare.name() == name)
    }
}

/// How a chain is to be set up.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Work on each packet in ns, which stands for a cipher.
    pub work_ns: u32,
    /// The cipher itself, GEA with this number: mobiles have cards, and the SGSN asks the load's HLR.
    pub gea: Option<u8>,
    /// The negotiated peak throughput is enforced where packets arrive.
    pub policing: bool,
    /// Mobiles that attach and activate a context each.
    pub users: u32,
    /// Cells; user n is in cell n modulo this number.
    pub cells: u32,
    /// What each mobile negotiates, in kbit/s of N-PDUs.
    pub kbps: u32,
    /// What the buckets of mobiles hold that the BSS has told the SGSN, as a multiple of `kbps`.
    pub ms_rate: f64,
    /// Octets of an N-PDU.
    pub octets: u16,
    /// Buffering of each mobile in ms of its rate; for `fifo` one socket buffer of the same total.
    pub buffer_ms: u32,
    /// Real-time mobiles: the first so many.
    pub real_time: u32,
    /// Of the others, every so manyth has high precedence; 0 is none.
    pub high_every: u32,
    /// N-PDUs go from the mobiles to the GGSN; else the other way.
    pub uplink: bool,
    /// The SGSN keeps its mobiles in a store.
    pub store: bool,
    /// Mobiles in acknowledged mode: the first so many. They have no real time, no cipher and nothing to send.
    pub acknowledged: u32,
    /// kD that the first of these propose, and the SGSN agrees to; the others have that of table 9.
    pub kd: Option<Proposal>,
    /// Another build of Gannet that is the SGSN; `None` is this one.
    pub program: Option<std::path::PathBuf>,
}

impl Setup {
    /// A packet costs more than forwarding it.
    #[must_use]
    pub const fn has_work(&self) -> bool {
        self.work_ns > 0 || self.gea.is_some()
    }

    /// Whether what a mobile has negotiated is enforced where packets arrive: osmo-sgsn has nothing that does.
    #[must_use]
    pub fn polices(&self, candidate: Candidate) -> bool {
        self.policing && candidate != Candidate::Osmo
    }

    /// What holds excess back from a candidate, in words.
    #[must_use]
    pub fn policing_of(&self, candidate: Candidate) -> &'static str {
        match (candidate, self.policing) {
            (Candidate::Osmo, _) => "no policing",
            (_, true) => "policing on",
            (_, false) => "policing off",
        }
    }

    /// The same for a result: ns, or the name of the cipher.
    #[must_use]
    pub fn work_json(&self) -> serde_json::Value {
        self.gea.map_or(self.work_ns.into(), |_| self.work().into())
    }

    /// What it costs, in words.
    #[must_use]
    pub fn work(&self) -> String {
        match (self.gea, self.work_ns) {
            (Some(gea), _) => format!("GEA{gea}"),
            (None, 0) => "no work".to_owned(),
            (None, ns) => format!("{:.1} µs of work", f64::from(ns) / 1000.0),
        }
    }

    /// The packets/s that a mobile's negotiated throughput has room for.
    #[must_use]
    pub fn pps_each(&self) -> f64 {
        f64::from(self.kbps) * 125.0 / f64::from(self.octets)
    }

    /// Excess arises by flow control alone: nobody is policed, and the BSS gives each mobile more than it negotiated until
    /// it lowers R for who exceeds ([`Setup::who_exceeds`]).
    pub const fn leave_to_flow_control(&mut self) {
        (self.policing, self.ms_rate) = (false, 4.0);
    }

    /// R of what they negotiated for those who exceed in [`bench::Bench::mix`].
    #[must_use]
    pub fn who_exceeds(&self) -> Lower {
        let (first, count) = (self.real_time + 1, (self.users - self.real_time) / 2);
        Lower::Mobiles(Members { first, stride: 2, count }, self.pps_each())
    }

    /// True where an offer is for mobiles in acknowledged mode; they are not mixed with others.
    #[must_use]
    pub fn is_acknowledged(&self, offer: &Offer) -> bool {
        offer.groups.iter().any(|group| group.members.first < self.acknowledged)
    }

    /// True for a user of high precedence.
    #[must_use]
    pub const fn is_high(&self, user: u32) -> bool {
        self.high_every != 0 && user >= self.real_time && user.is_multiple_of(self.high_every)
    }
}

/// Some of the users: `count` of them from `first` on, each `stride`-th.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Members {
    /// The first.
    pub first: u32,
    /// From one to the next.
    pub stride: u32,
    /// How many.
    pub count: u32,
}

impl Members {
    /// Each of them.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |n| self.first + n * self.stride)
    }
}

/// How packets are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// All at the same distance.
    Fixed,
    /// Exponentially distributed, as the thesis's ordinary traffic.
    Exponential,
}

/// Users that are offered the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Its name in the results.
    pub name: &'static str,
    /// Who.
    pub members: Members,
    /// Packets/s that are offered to each.
    pub pps_each: f64,
    /// Packets/s that each is entitled to: what exceeds it may be dropped.
    pub due_pps_each: f64,
    /// How they are spaced.
    pub spacing: Spacing,
    /// How long after the step's beginning they begin, in s.
    pub begins_s: f64,
    /// They begin one after the other within so many s.
    pub within_s: f64,
    /// How they are spread over that time.
    pub onset: Onset,
}

/// How those of a group begin one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Onset {
    /// As many in each moment.
    Even,
    /// Most of them in the middle: more and more up to there, and then fewer and fewer. What each does again and again from its beginning on
    /// is spread evenly in the long run where that takes half of the whole time, and nearly so where it takes less.
    Peaked,
}

impl Group {
    /// How long after the step's beginning a member begins, by its place in the group, in s.
    #[must_use]
    pub fn begins_s_of(&self, order: u32) -> f64 {
        let part = f64::from(order) / f64::from(self.members.count.max(1));
        let part = match self.onset {
            Onset::Even => part,
            Onset::Peaked if part < 0.5 => (part / 2.0).sqrt(),
            Onset::Peaked => 1.0 - ((1.0 - part) / 2.0).sqrt(),
        };
        self.begins_s + self.within_s * part
    }

    /// Packets/s of the whole group.
    #[must_use]
    pub fn pps(&self) -> f64 {
        self.pps_each * f64::from(self.members.count)
    }

    /// Packets/s that the whole group is entitled to.
    #[must_use]
    pub fn due_pps(&self) -> f64 {
        self.due_pps_each * f64::from(self.members.count)
    }
}

/// The traffic of one step.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    /// Who gets what.
    pub groups: Vec<Group>,
    /// Packets/s downlink with TEIDs that no context has.
    pub unknown_pps: f64,
    /// Octets of an N-PDU.
    pub octets: u16,
    /// Before the window in which rates and delays are measured, in s.
    pub warm_up_s: f64,
    /// The window in s.
    pub window_s: f64,
    /// Users in a burst every 10 ms, as in the thesis, or paced exactly.
    pub burst_ms: u32,
    /// Mobiles in acknowledged mode answer when so many I frames have come behind the one that asked.
    pub answer_after: u8,
    /// It ends early where the machine is slow, since it would be made again.
    pub gives_up: bool,
    /// It waits longer for a machine that is fast.
    pub is_patient: bool,
    /// A search asks with it whether so much is delivered whole: where rings lose more than they may the answer is no. Or a bare
    /// loop is looked at, of whom that is not asked.
    pub is_probe: bool,
    /// Of the dice.
    pub seed: u64,
}

impl Offer {
    /// Packets/s altogether.
    #[must_use]
    pub fn pps(&self) -> f64 {
        self.groups.iter().map(Group::pps).sum::<f64>() + self.unknown_pps
    }

    /// Packets/s that somebody is entitled to.
    #[must_use]
    pub fn due_pps(&self) -> f64 {
        self.groups.iter().map(Group::due_pps).sum()
    }

    /// The same for the same users, with only this part of all rates.
    #[must_use]
    pub fn part(&self, part: f64) -> Self {
        let mut less = self.clone();
        less.unknown_pps *= part;
        for group in &mut less.groups {
            group.pps_each *= part;
            group.due_pps_each *= part;
        }
        less
    }
}

/// Leak rates R that a BSS lowers in mid-run, in packets/s of the N-PDUs that the chain was set up for.
#[derive(Debug, Clone, PartialEq)]
pub enum Lower {
    /// FLOW-CONTROL-MS for each of these users, with this rate.
    Mobiles(Members, f64),
    /// FLOW-CONTROL-BVC for cells, each with its rate.
    Cells(Vec<(u32, f64)>),
}

/// What an SGSN records of what passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracing {
    /// User data is cut behind its headers.
    pub headers: bool,
    /// Of so many subscribers one, whole.
    pub one_in: Option<u32>,
}

/// An SGSN between a generator and a sink, with everybody attached.
pub trait Chain {
    /// Offers traffic, waits until nothing is under way any more, and counts.
    ///
    /// # Errors
    /// A sentence for the person: the SGSN has ended, or cannot be asked.
    fn step(&mut self, offer: &Offer) -> Result<Step, String>;

    /// Lets the BSS lower leak rates, and keeps them so until told otherwise.
    ///
    /// # Errors
    /// As above.
    fn lower(&mut self, lower: &Lower) -> Result<(), String>;

    /// Takes back every [`Chain::lower`].
    ///
    /// # Errors
    /// As above.
    fn raise(&mut self) -> Result<(), String>;

    /// Begins a capture, or ends it.
    ///
    /// # Errors
    /// As above; nobody in this chain records.
    fn trace(&mut self, tracing: Option<Tracing>) -> Result<(), String> {
        tracing.map_or(Ok(()), |_| Err("nobody in this chain records".to_owned()))
    }

    /// Resident memory of the SGSN in octets: before the first mobile attached, and now.
    ///
    /// # Errors
    /// As above.
    fn resident_octets(&mut self) -> Result<(u64, u64), String>;

    /// Lets another chain have the SGSN's core: this one neither runs nor loses anything.
    ///
    /// # Errors
    /// As above.
    fn pause(&mut self) -> Result<(), String>;

    /// Takes the core back.
    ///
    /// # Errors
    /// As above.
    fn resume(&mut self) -> Result<(), String>;
}

/// Where chains are made.
pub trait Lab {
    /// Whether a candidate can run on this machine; the reason where it cannot.
    fn missing(&self, candidate: Candidate) -> Option<String>;

    /// Starts an SGSN, attaches everybody, and gives the chain, running.
    ///
    /// # Errors
    /// What did not work, with the last words of the process concerned.
    fn start(&mut self, candidate: Candidate, setup: &Setup) -> Result<Box<dyn Chain>, String>;

    /// Starts a bare loop in the place of the SGSN, with a context for each user.
    ///
    /// # Errors
    /// As above.
    fn bare(&mut self, bare: Bare, setup: &Setup) -> Result<Box<dyn Chain>, String>;

    /// A line for the person who waits.
    fn say(&mut self, line: &str);
}

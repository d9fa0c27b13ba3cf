//! Which cells of the matrix run in real time, and which of them beside each other.

use super::super::place::{Buffer, Place, Policy, Sender, periods, span};
use crate::report::Size;
use core::ops::Range;
use gannet_machine::time::{Duration, Instant};
use serde_json::{Value, json};

/// Worlds that run at the same time.
pub const AT_ONCE: usize = 32;

/// The TCP of the machine's kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tcp {
    /// Reno, with selective acknowledgements and timestamps.
    Reno,
    /// Reno without both.
    RenoBare,
    /// Cubic, with both.
    Cubic,
    /// BBR, with both.
    Bbr,
}

impl Tcp {
    /// All.
    pub const ALL: [Self; 4] = [Self::Reno, Self::RenoBare, Self::Cubic, Self::Bbr];

    /// For the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reno => "Reno with SACK",
            Self::RenoBare => "Reno without SACK",
            Self::Cubic => "cubic",
            Self::Bbr => "BBR",
        }
    }

    /// The kernel's word for its congestion control.
    #[must_use]
    pub const fn algorithm(self) -> &'static str {
        match self {
            Self::Reno | Self::RenoBare => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
        }
    }

    /// Selective acknowledgements and timestamps.
    #[must_use]
    pub const fn has_options(self) -> bool {
        !matches!(self, Self::RenoBare)
    }

    /// The sender of virtual time in whose place it stands. Only the world is made of a place, so cubic and BBR take that of Reno.
    const fn stand_in(self) -> Sender {
        match self {
            Self::RenoBare => Sender::RenoBare,
            Self::Reno | Self::Cubic | Self::Bbr => Sender::Reno,
        }
    }
}

/// One cell of the matrix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Who sends.
    pub tcp: Tcp,
    /// The world.
    pub place: Place,
}

impl Run {
    /// A cell; `preemption` is a policy and a period in seconds.
    #[must_use]
    pub const fn new(tcp: Tcp, buffer: Buffer, preemption: Option<(Policy, u64)>) -> Self {
        Self { tcp, place: Place { preemption, buffer, sender: tcp.stand_in() } }
    }

    /// The same without preemption.
    #[must_use]
    pub const fn undisturbed(self) -> Self {
        Self { place: self.place.undisturbed(), ..self }
    }

    /// For people.
    #[must_use]
    pub fn name(&self) -> String {
        let (tcp, buffer) = (self.tcp.name(), self.place.buffer.name());
        match self.place.preemption {
            None => format!("{tcp}, {buffer}, no preemption"),
            Some((policy, period_s)) => format!("{}, {period_s} s, {tcp}, {buffer}", policy.name()),
        }
    }

    /// For the JSON.
    #[must_use]
    pub fn axes(&self) -> [(&'static str, Value); 4] {
        self.place.axes().map(|(name, value)| match name {
            "sender" => ("tcp", json!(self.tcp.name())),
            _ => (name, value),
        })
    }

    /// When calls take the PDCHs, from the connection's first packet on.
    #[must_use]
    pub fn script(&self, size: Size) -> Vec<Range<Duration>> {
        let since = |at: Instant| at.since(Instant::ZERO);
        let script = self.place.script(Instant::ZERO, span(size));
        script.into_iter().map(|period| since(period.start)..since(period.end)).collect()
    }
}

/// The cells of the table, in parts whose cells run at the same time. A cell and the one without preemption are in the same part.
#[must_use]
pub fn parts(size: Size) -> Vec<Vec<Run>> {
    let of = |buffer: Buffer, policies: &[Policy]| {
        let places = core::iter::once(None).chain(
            policies
                .iter()
                .flat_map(|policy| periods(size).into_iter().map(|period_s| Some((*policy, period_s)))),
        );
        let places: Vec<_> = places.collect();
        let each = |tcp| places.iter().map(move |preemption| (tcp, *preemption)).collect::<Vec<_>>();
        let runs = Tcp::ALL.into_iter().flat_map(each);
        runs.map(|(tcp, preemption)| Run::new(tcp, buffer, preemption)).collect::<Vec<_>>()
    };
    let both = [Policy::Flush, Policy::Forward];
    match size {
        Size::Quick => vec![[of(Buffer::Window, &both), of(Buffer::Small, &[Policy::Forward])].concat()],
        Size::Normal | Size::Full => vec![of(Buffer::Window, &both), of(Buffer::Small, &both)],
    }
}

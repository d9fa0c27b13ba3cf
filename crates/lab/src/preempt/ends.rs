//! `flush` with other terminals and clients than [`super::place`] has: what the study says of neither.
//!
//! * The terminal has a queue of its own, and a policy for it ([`Keeps`]). Section 5.3 of the study has it empty after 15 s and not after 3 s.
//! * The client acknowledges each segment, or waits for a second one for as long as its TCP lets it. Segments come 0.37 s apart.

use super::measured::{Measured, round};
use super::place::{Buffer, Place, Policy, Sender};
use super::run::run_in;
use super::trace::Restart;
use crate::parallel;
use crate::report::{Cell, Options};
use crate::tcp::Reason;
use crate::tcp::config::{Config as TcpConfig, DelayedAck};
use gannet_machine::time::Duration;
use gannet_proto::rlcmac::mobile::Keeps;
use serde_json::json;
use std::fmt::Write as _;

/// The longest delay that RFC 1122 permits (clause 4.2.3.2).
const LONGEST: Duration = Duration::from_millis(500);

/// How the client acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Each segment at once.
    AtOnce,
    /// As the sender's profile has it: up to 200 ms later.
    Profile,
    /// Up to 500 ms later: each second segment.
    Longest,
}

impl Client {
    /// For the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AtOnce => "each segment at once",
            Self::Profile => "after 200 ms at most",
            Self::Longest => "after 500 ms at most",
        }
    }

    /// The values of both ends.
    #[must_use]
    pub fn config(self) -> TcpConfig {
        let config = Sender::Linux242.config();
        let delayed_ack = match self {
            Self::AtOnce => None,
            Self::Profile => config.delayed_ack,
            Self::Longest => config.delayed_ack.map(|delayed| DelayedAck { most: LONGEST, ..delayed }),
        };
        TcpConfig { delayed_ack, ..config }
    }
}

/// For the table.
#[must_use]
pub const fn terminal_name(keeps: Keeps) -> &'static str {
    match keeps {
        Keeps::Nothing => "flush",
        Keeps::Accesses => "five accesses",
        Keeps::All => "hold",
    }
}

/// A run.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    /// What the terminal does with its queue.
    pub terminal: Keeps,
    /// How the client acknowledges.
    pub client: Client,
    /// Of the preemption, in seconds.
    pub period_s: u64,
    /// Where data wait.
    pub buffer: Buffer,
}

/// Of a run and its like without preemption.
#[derive(Debug, Clone)]
pub struct Got {
    /// Where.
    pub ends: Ends,
    /// With preemption.
    pub with: Measured,
    /// Without.
    pub without: Measured,
}

impl Ends {
    /// All runs: each terminal with the client of the profile, and each client with the terminal of the other runs.
    #[must_use]
    pub fn all(periods: &[u64]) -> Vec<Self> {
        let of = [
            (Keeps::Accesses, Client::AtOnce),
            (Keeps::Accesses, Client::Profile),
            (Keeps::Accesses, Client::Longest),
            (Keeps::Nothing, Client::Profile),
            (Keeps::All, Client::Profile),
        ];
        let mut all = Vec::new();
        for buffer in Buffer::ALL {
            for (terminal, client) in of {
                all.extend(periods.iter().map(|period_s| Self {
                    terminal,
                    client,
                    period_s: *period_s,
                    buffer,
                }));
            }
        }
        all
    }

    /// Runs it.
    ///
    /// # Errors
    /// Where the world cannot be set up.
    pub fn run(self, span: Duration, seed: u64) -> Result<Got, String> {
        let place = Place {
            preemption: Some((Policy::Flush, self.period_s)),
            buffer: self.buffer,
            sender: Sender::Linux242,
        };
        let measure = |place: Place, undisturbed: Option<f64>| {
            let mut setup = place.setup(seed)?;
            setup.radio.mobile.keeps = self.terminal;
            let raw = run_in(place, &setup, &self.client.config(), span)?;
            Ok::<_, String>(Measured::of(&raw, undisturbed.unwrap_or_else(|| raw.trace.blocks_per_s())))
        };
        let without = measure(place.undisturbed(), None)?;
        Ok(Got { ends: self, with: measure(place, Some(without.blocks_per_s))?, without })
    }
}

/// Runs all.
///
/// # Errors
/// Where a world cannot be set up.
pub fn run(periods: &[u64], span: Duration, options: &Options) -> Result<Vec<Got>, String> {
    let all = Ends::all(periods);
    parallel::each(&all, |ends| ends.run(span, options.seed)).into_iter().collect()
}

impl Got {
    /// Goodput as a part of that without preemption.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.with.goodput_bit_per_s / self.without.goodput_bit_per_s
    }

    fn by_terminal(&self) -> f64 {
        self.with.part(|event| event.restart == Some(Restart::Terminal))
    }

    fn by_fast(&self) -> f64 {
        self.with.part(|event| event.again == Some(Reason::Fast))
    }

    /// For the JSON.
    #[must_use]
    pub fn cell(&self) -> Cell {
        let Ends { terminal, client, period_s, buffer } = self.ends;
        let axes = [
            ("terminal", json!(terminal_name(terminal))),
            ("client", json!(client.name())),
            ("period_s", json!(period_s)),
            ("buffer", json!(buffer.name())),
        ];
        let metrics = [
            ("goodput_bit_per_s", self.with.goodput_bit_per_s),
            ("share", self.share()),
            ("again_percent", self.with.again_percent()),
            ("rtt_mean_s", self.with.rtt_s),
            ("restarted_by_terminal", self.by_terminal()),
            ("fast_retransmit", self.by_fast()),
            ("caught_up_median_s", self.with.samples(|event| event.caught_up_s).median()),
        ];
        Cell::new(axes, metrics.map(|(name, value)| (name.to_owned(), json!(round(value)))))
    }
}

/// For people, beside the study.
#[must_use]
pub fn table(all: &[Got]) -> String {
    let mut text = "| terminal | client acknowledges | period, s | buffer | kbit/s | share | again, % | RTT, s | outstanding, mean..max, kB | by the terminal, % | fast retransmit, % | lost in a row | caught up, s | timeouts |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for got in all {
        let Ends { terminal, client, period_s, buffer } = got.ends;
        let of = &got.with;
        let _ = writeln!(
            text,
            "| {} | {} | {period_s} | {} | {:.2} | {:.3} | {:.2} | {:.2} | {:.1}..{:.1} | {:.0} | {:.0} | {:.0} | {:.2} | {} |",
            terminal_name(terminal),
            client.name(),
            buffer.name(),
            of.goodput_bit_per_s / 1000.0,
            got.share(),
            of.again_percent(),
            of.rtt_s,
            of.outstanding.0 / 1000.0,
            crate::radio::as_f64(of.outstanding.1) / 1000.0,
            got.by_terminal() * 100.0,
            got.by_fast() * 100.0,
            of.samples(|event| Some(crate::radio::as_f64(event.lost))).median(),
            of.samples(|event| event.caught_up_s).median(),
            of.timeouts,
        );
    }
    text
}

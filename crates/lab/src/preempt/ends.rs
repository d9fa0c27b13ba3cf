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
        let without = self.measure(self.place().undisturbed(), None, (span, seed))?;
        let with = self.measure(self.place(), Some(without.blocks_per_s), (span, seed))?;
        Ok(Got { ends: self, with, without })
    }

    const fn place(self) -> Place {
        let preemption = Some((Policy::Flush, self.period_s));
        Place { preemption, buffer: self.buffer, sender: Sender::Linux242 }
    }

    fn measure(
        self,
        place: Place,
        undisturbed: Option<f64>,
        (span, seed): (Duration, u64),
    ) -> Result<Measured, String> {
        let mut setup = place.setup(seed)?;
        setup.radio.mobile.keeps = self.terminal;
        let raw = run_in(place, &setup, &self.client.config(), span)?;
        Ok(Measured::of(&raw, undisturbed.unwrap_or_else(|| raw.trace.blocks_per_s())))
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

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_secs(200);

    /// What `flush` does in a run: the part of the preemptions after which the terminal was first, and the part with a fast retransmit.
    fn first(terminal: Keeps, period_s: u64) -> (f64, f64) {
        let ends = Ends { terminal, client: Client::Profile, period_s, buffer: Buffer::Window };
        let with = ends.measure(ends.place(), None, (SPAN, 1)).unwrap();
        assert!(with.events.len() >= 2 && with.faults.is_empty(), "{with:?}");
        // The second finds what the first has made of the window.
        assert!((8..=13).contains(&with.events[0].lost), "{:?}", with.events);
        let got = Got { ends, without: with.clone(), with };
        (got.by_terminal(), got.by_fast())
    }

    /// Sections 5.2 and 5.3 of the study: an acknowledgement in the terminal outlives 3 s and not 15 s.
    #[test]
    fn a_terminal_speaks_first_as_long_as_it_keeps_an_acknowledgement() {
        let (by_terminal, by_fast) = first(Keeps::Accesses, 3);
        assert!(by_terminal > 0.5 && by_fast > 0.5, "{by_terminal} {by_fast}");
        assert_eq!(first(Keeps::Accesses, 15), (0.0, 0.0), "it has tried five times");
        assert_eq!(first(Keeps::Nothing, 3).0, 0.0, "it has thrown it away");
        assert_eq!(first(Keeps::All, 15).0, 1.0, "it has it still");
    }

    /// Segments of an N-PDU that came before a preemption wait for the rest for as long as a base station may hold it.
    #[test]
    fn a_mobile_waits_for_the_rest_of_an_n_pdu() {
        let place = Place {
            preemption: Some((Policy::Forward, 15)),
            buffer: Buffer::Window,
            sender: Sender::Linux242,
        };
        let raw = super::super::run::run(place, SPAN, 1).unwrap();
        assert_eq!((raw.faults, raw.drops.get("sndcp_timeout")), (Vec::new(), None));
    }
}

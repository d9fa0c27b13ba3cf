//! `gannet lab link`: the link emulator between two devices.

use crate::numbers::whole;
use clap::Args;
use core::sync::atomic::AtomicBool;
use gannet_lab::link::model::{ETHERNET_OVERHEAD, Loss, Profile};
use gannet_lab::link::{self, Options};
use gannet_machine::time::Duration;
use std::process::ExitCode;
use std::sync::Arc;

/// A link between two devices.
#[derive(Debug, Args)]
pub struct LinkArguments {
    /// The two devices, each with 'ethtool -K DEVICE tso off gso off gro off' at its far end
    #[arg(long, num_args = 2, value_names = ["DEVICE", "DEVICE"], required = true)]
    between: Vec<String>,
    /// Bits/s in each direction, as 31k, 2M or 1G; without it frames take no time to leave
    #[arg(long, value_parser = rate)]
    rate: Option<u64>,
    /// Bits/s from the second device to the first, where that is another rate
    #[arg(long, value_parser = rate)]
    back_rate: Option<u64>,
    /// From the departure to the delivery, as 300us, 10ms or 1s
    #[arg(long, value_parser = time, default_value = "0ms")]
    delay: Duration,
    /// At most so much more delay; frames keep their order
    #[arg(long, value_parser = time, default_value = "0ms")]
    jitter: Duration,
    /// The share of frames that is lost, as 5% or 0.05
    #[arg(long, value_parser = share, default_value = "0")]
    loss: f64,
    /// Frames are lost in bursts of this mean length
    #[arg(long, value_name = "FRAMES", value_parser = whole(1..=1_000_000_u32), requires = "loss")]
    burst: Option<u32>,
    /// The share of frames that is delivered late, so that others overtake them
    #[arg(long, value_parser = share, default_value = "0")]
    reorder: f64,
    /// How late they are
    #[arg(long, value_parser = time, default_value = "10ms")]
    reorder_by: Duration,
    /// Octets that may wait; a frame beyond them is dropped
    #[arg(long, value_name = "OCTETS", value_parser = whole(1600..=u64::from(u32::MAX)))]
    limit: Option<u64>,
    /// Octets that each frame occupies besides its own: those of Ethernet by default
    #[arg(long, value_name = "OCTETS", default_value_t = ETHERNET_OVERHEAD, value_parser = whole(0..=1000_u32))]
    overhead: u32,
    /// Frames that may be on their way
    #[arg(long, default_value_t = 8192, value_parser = whole(128..=1_000_000_usize))]
    frames: usize,
    /// The same frames have the same fate
    #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Ends after this time; without it at SIGINT or SIGTERM
    #[arg(long, value_parser = time)]
    time: Option<Duration>,
}

/// Runs it, and prints what became of the frames and how well it was done.
///
/// # Errors
/// A sentence for the person.
pub fn run(arguments: LinkArguments) -> Result<ExitCode, String> {
    let between: [String; 2] =
        arguments.between.try_into().map_err(|_| "a link is between two devices".to_owned())?;
    let there = Profile {
        rate: arguments.rate,
        overhead: arguments.overhead,
        delay: arguments.delay,
        jitter: arguments.jitter,
        loss: loss(arguments.loss, arguments.burst)?,
        reordering: arguments.reorder,
        reorder_by: arguments.reorder_by,
        limit: arguments.limit,
        outage: None,
    };
    let back = Profile { rate: arguments.back_rate.or(there.rate), ..there };
    let (seed, time, frames) = (arguments.seed, arguments.time, arguments.frames);
    let options = Options { between, profiles: [there, back], seed, time, frames };
    let stop = Arc::new(AtomicBool::new(false));
    link::stop_at_signals(&stop).map_err(|error| format!("signals: {error}"))?;
    let [first, second] = &options.between;
    let account = link::run(&options, &stop, || gannet_rt::outln!("{first} and {second} are linked"))?;
    gannet_rt::out!("{account}");
    Ok(ExitCode::SUCCESS)
}

/// Bursts of a mean length of which all together are a share of the frames: they begin where the share is begin / (begin + end).
fn loss(share: f64, burst: Option<u32>) -> Result<Loss, String> {
    let Some(mean) = burst else { return Ok(Loss::Random(share)) };
    let end = 1.0 / f64::from(mean);
    let begin = share * end / (1.0 - share);
    if begin > 1.0 || !begin.is_finite() {
        return Err(format!("bursts of {mean} frames cannot be so many that {share} of all frames are lost"));
    }
    Ok(Loss::Bursts { begin, end })
}

/// A number with one of these units behind it; the first whose text fits counts.
fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let (number, factor) =
        units.iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, *factor)))?;
    let number: f64 = number.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number * factor)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the bounds that are checked"
)]
fn rate(text: &str) -> Result<u64, String> {
    let bits = with_unit(text, &[("k", 1e3), ("M", 1e6), ("G", 1e9), ("", 1.0)]);
    let bits = bits.filter(|bits| (1000.0..=1e11).contains(bits));
    bits.map(|bits| bits.round() as u64).ok_or_else(|| "bits/s from 1k to 100G are allowed".to_owned())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "within the bounds that are checked"
)]
fn time(text: &str) -> Result<Duration, String> {
    let ns = with_unit(text, &[("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)]);
    let ns = ns.filter(|ns| *ns <= 86_400e9);
    ns.map(|ns| Duration(ns.round() as u64))
        .ok_or_else(|| "a time up to a day with its unit is allowed: ns, us, ms or s".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = with_unit(text, &[("%", 0.01), ("", 1.0)]).filter(|share| *share <= 1.0);
    share.ok_or_else(|| "a share is from 0 to 1, or from 0% to 100%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        assert_eq!((rate("31k"), rate("2M"), rate("1.5G")), (Ok(31_000), Ok(2_000_000), Ok(1_500_000_000)));
        assert_eq!(rate("1000"), Ok(1000));
        assert_eq!(
            (time("300us"), time("1.5ms"), time("2s")),
            (Ok(Duration(300_000)), Ok(Duration(1_500_000)), Ok(Duration::from_secs(2)))
        );
        assert_eq!((share("5%"), share("0.05"), share("100%")), (Ok(0.05), Ok(0.05), Ok(1.0)));
        for wrong in ["", "k", "-1M", "999", "1T", "nan", "inf"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "5", "ms", "-1ms", "2d"] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "101%", "-5%", "2"] {
            assert!(share(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bursts_are_the_share_that_was_asked_for() {
        let Ok(Loss::Bursts { begin, end }) = loss(0.2, Some(4)) else { panic!() };
        assert!((begin / (begin + end) - 0.2).abs() < 1e-12 && (end - 0.25).abs() < 1e-12);
        assert!(loss(1.0, Some(4)).is_err());
        assert!(loss(0.9, Some(1)).is_err());
        assert_eq!(loss(0.1, None), Ok(Loss::Random(0.1)));
    }
}

//! `gannet load`.

use clap::builder::RangedI64ValueParser;
use clap::{Args, ValueEnum};
use gannet_lab::load::config::{Proposal, WINDOW};
use gannet_lab::load::plan::{Groups, Ramp, Sizes};
use gannet_lab::load::run::{self, Generator, RunOptions, Second, Watcher, Ways};
use gannet_lab::load::traffic::{ANSWER_AFTER_MAX, Pacing, Samples, Spacing};
use gannet_lab::load::{LoadConfig, Progress, Security};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_wire::l3::ie::ReliabilityClass;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Reads one of these reliability classes.
pub fn reliability_class(among: RangeInclusive<i64>) -> RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(among)
}

/// How often a mobile is told to attach and to activate where an HLR is asked: osmo-sgsn accepts one before it has its
/// subscription, and refuses what it asks for meanwhile.
const ROUNDS_WITH_HLR: u8 = 5;

/// Which way traffic goes.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum DirectionArgument {
    /// From the GGSN to the mobiles
    Downlink,
    /// From the mobiles to the GGSN
    Uplink,
    /// Both, each at the full rate
    Both,
}

/// The time between two N-PDUs of a user.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SpacingArgument {
    /// Always the same
    Fixed,
    /// Exponentially distributed
    Exponential,
}

/// When N-PDUs leave.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PacingArgument {
    /// Each when it is due
    Exact,
    /// All of an interval (--burst) at its beginning, the users in random order
    Burst,
}

/// What makes the traffic.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum GeneratorArgument {
    /// Live XDP frames and a sink at the driver where that is permitted, else sockets
    Auto,
    /// Live XDP frames and a sink at the driver
    Xdp,
    /// sendmmsg and recvmmsg
    Sockets,
}

/// What `gannet load` can be asked.
#[derive(Debug, Args)]
pub struct LoadArguments {
    /// The SGSN's end of Gb
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "192.0.2.2:23000")]
    sgsn_gb: SocketAddr,
    /// Our end of Gb; NSE k is bound to this port plus k
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "192.0.2.1:22000")]
    gb: SocketAddr,
    /// The SGSN's address on Gn
    #[arg(long, value_name = "ADDRESS", default_value = "192.0.2.5")]
    sgsn_gn: Ipv4Addr,
    /// The address of our GGSN, which the SGSN has to be configured with; takes ports 2123 and 2152
    #[arg(long, value_name = "ADDRESS", default_value = "192.0.2.6")]
    gn: IpAddr,
    /// Mobiles that attach and activate a PDP context, at most 1048576
    #[arg(long, default_value_t = 10_000)]
    users: u32,
    /// Cells, over which the users are spread
    #[arg(long, default_value_t = 400)]
    cells: u32,
    /// Network service entities, over which the cells are spread, each with a UDP port of its own
    #[arg(long, default_value_t = 1)]
    nses: u16,
    /// Access point that the mobiles ask for
    #[arg(long, default_value = "internet")]
    apn: String,
    /// The mobiles have cards, prove who they are, and cipher with this algorithm: 1, 2 or 3; frames that are to go up ciphered
    /// go by sockets, and the sink at the driver deciphers 3
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=3))]
    gea: Option<u8>,
    /// Where our HLR listens for the SGSN's GSUP, with --gea; port 4222 of --gn unless said otherwise
    #[arg(long, value_name = "ADDRESS:PORT", requires = "gea")]
    hlr: Option<SocketAddr>,
    /// Of LL-PDUs that come ciphered the sink at the driver reads the mark of one of so many, a power of two; of real-time users
    /// each
    #[arg(long, value_name = "COUNT", default_value_t = 16, requires = "gea")]
    read_every: u32,
    /// And all of one of so many, a power of two
    #[arg(long, value_name = "COUNT", default_value_t = 256, requires = "gea")]
    whole_every: u32,
    /// Reliability class that the mobiles ask for: with 1 and 2 N-PDUs come in LLC's acknowledged mode, downlink only, and the mobiles
    /// acknowledge them
    #[arg(long, value_name = "CLASS", default_value_t = 3, value_parser = reliability_class(1..=5))]
    reliability_class: u8,
    /// kD that they propose in acknowledged mode: I frames on the way down that may stand unacknowledged. The SGSN agrees to as many
    /// as `llc sapi 3 window` says, 16 unless that is configured
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u8).range(1..=255))]
    kd: Option<u8>,
    /// In acknowledged mode the sink at the driver answers when so many I frames have come behind the one that asked, as a mobile
    /// does that is a round trip away
    #[arg(long, value_name = "FRAMES", default_value_t = 0,
          value_parser = clap::value_parser!(u8).range(0..=i64::from(ANSWER_AFTER_MAX)))]
    answer_after: u8,
    /// The largest N201-U that the mobiles agree to, in octets; 500 refuses every longer LL-PDU
    #[arg(long, default_value_t = 1520, value_parser = clap::value_parser!(u16).range(140..=1520))]
    n201_u: u16,
    /// Leak rate R that FLOW-CONTROL-BVC tells of each cell, in bit/s; more than 6553500 needs 48.018's granularity
    #[arg(long, value_name = "BIT/S", default_value_t = 6_553_500)]
    cell_rate: u64,
    /// Leak rate that it tells of a mobile without one of its own, in bit/s
    #[arg(long, value_name = "BIT/S", default_value_t = 6_553_500)]
    ms_rate: u64,
    /// Attaches and activations that may run at the same time
    #[arg(long, default_value_t = WINDOW)]
    window: u32,
    /// N-PDUs a second of each user
    #[arg(long, value_name = "PPS", default_value_t = 10.0)]
    rate: f64,
    /// Octets of an N-PDU, 64 to 1500; or a mix, SIZE:WEIGHT,…, of which each user draws one
    #[arg(long, value_name = "OCTETS", default_value = "378")]
    size: Sizes,
    /// Which way traffic goes
    #[arg(long, value_enum, default_value_t = DirectionArgument::Downlink)]
    direction: DirectionArgument,
    /// The time between two N-PDUs of a user
    #[arg(long, value_enum, default_value_t = SpacingArgument::Fixed)]
    spacing: SpacingArgument,
    /// When N-PDUs leave
    #[arg(long, value_enum, default_value_t = PacingArgument::Exact)]
    pacing: PacingArgument,
    /// The interval of bursts, such as 10ms; with it, pacing is by bursts
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    burst: Option<Duration>,
    /// What makes the traffic
    #[arg(long, value_enum, default_value_t = GeneratorArgument::Auto)]
    generator: GeneratorArgument,
    /// Share of the users who send more than they asked for, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    misbehaving: f64,
    /// How many times their rate these send
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0)]
    excess: f64,
    /// Users who ask for real time (conversational, delay class 1)
    #[arg(long, value_name = "USERS", default_value_t = 0)]
    real_time: u32,
    /// Users who ask for high precedence
    #[arg(long, value_name = "USERS", default_value_t = 0)]
    high_precedence: u32,
    /// Steps from one multiple of all rates to another, FROM:TO:STEPS, each of --duration
    #[arg(long, value_name = "RAMP", default_value = "1:1:1")]
    ramp: Ramp,
    /// Seconds of a step
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    duration: f64,
    /// Seed of who is what, of sizes, of spacing and of orders
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave the mobiles attached at the end
    #[arg(long)]
    stay: bool,
    /// Write what it came to into this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Only the summary, without bars and table
    #[arg(long)]
    quiet: bool,
}

/// "10ms", "0.5s", "200us".
fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no time: say 10ms, 200us or 1s");
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?);
    let scale = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        _ => return Err(wrong()),
    };
    let seconds = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or_else(wrong)
}

impl LoadArguments {
    fn options(&self) -> Result<RunOptions, String> {
        let mut config = LoadConfig::new(self.gb, self.sgsn_gb, self.gn);
        (config.users, config.cells, config.nses) = (self.users, self.cells, self.nses);
        config.apn.clone_from(&self.apn);
        (config.n201_u, config.window, config.seed) = (self.n201_u, self.window.max(1), self.seed);
        config.kd = self.kd.map(Proposal::by_all);
        let second = |rate_bit_per_s| Bucket { bmax_octets: rate_bit_per_s / 8, rate_bit_per_s };
        config.flow = BvcParameters { bvc: second(self.cell_rate), default_ms: second(self.ms_rate) };
        let hlr = self.hlr.unwrap_or(SocketAddr::new(self.gn, gannet_wire::gsup::PORT));
        config.security = self.gea.map(|gea| Security::new(gea, hlr)).transpose()?;
        if self.gea.is_some() {
            config.rounds = ROUNDS_WITH_HLR;
        }
        if !(self.rate.is_finite() && self.rate > 0.0 && self.excess.is_finite() && self.excess >= 0.0) {
            return Err("--rate is more than 0, and --excess is not negative".to_owned());
        }
        let duration =
            Duration::try_from_secs_f64(self.duration).map_err(|error| format!("--duration: {error}"))?;
        if !self.read_every.is_power_of_two() || !self.whole_every.is_power_of_two() {
            return Err("--read-every and --whole-every are each a power of two".to_owned());
        }
        let burst = Pacing::Burst(self.burst.unwrap_or(Duration::from_millis(10)));
        let options = RunOptions {
            sgsn_gn: self.sgsn_gn,
            rate_pps: self.rate,
            sizes: self.size.clone(),
            ways: match self.direction {
                DirectionArgument::Downlink => Ways::Downlink,
                DirectionArgument::Uplink => Ways::Uplink,
                DirectionArgument::Both => Ways::Both,
            },
            spacing: match self.spacing {
                SpacingArgument::Fixed => Spacing::Fixed,
                SpacingArgument::Exponential => Spacing::Exponential,
            },
            pacing: match self.pacing {
                PacingArgument::Exact if self.burst.is_none() => Pacing::Exact,
                PacingArgument::Exact | PacingArgument::Burst => burst,
            },
            generator: match self.generator {
                GeneratorArgument::Auto => Generator::Auto,
                GeneratorArgument::Xdp => Generator::Driver,
                GeneratorArgument::Sockets => Generator::Sockets,
            },
            groups: Groups::draw(
                self.users,
                self.misbehaving,
                self.real_time,
                self.high_precedence,
                self.seed,
            )?,
            excess: self.excess,
            ramp: self.ramp,
            duration,
            detach: !self.stay,
            samples: Samples { read_every: self.read_every, whole_every: self.whole_every },
            reliability: ReliabilityClass(self.reliability_class),
            answer_after: self.answer_after,
            config,
        };
        options.check()?;
        Ok(options)
    }
}

/// A bar while users attach, a table while traffic goes.
struct Screen {
    quiet: bool,
    bar: Option<(String, ProgressBar)>,
    /// Lines of the last table, where it can be written over.
    lines: usize,
}

impl Watcher for Screen {
    fn progress(&mut self, what: &str, progress: Progress) {
        if self.quiet {
            return;
        }
        let known = self.bar.take().filter(|(name, _)| name == what);
        let (name, bar) = known.unwrap_or_else(|| {
            self.lines = 0;
            let bar = ProgressBar::new(progress.total);
            let template = "{msg} [{bar:30}] {pos}/{len} {per_sec}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message(what.to_owned());
            (what.to_owned(), bar)
        });
        bar.set_position(progress.done);
        if progress.done >= progress.total {
            bar.finish();
        } else {
            self.bar = Some((name, bar));
        }
    }

    fn second(&mut self, second: &Second<'_>) {
        if self.quiet {
            return;
        }
        let text = run::live(second);
        if std::io::stderr().is_terminal() && self.lines > 0 {
            eprint!("\x1b[{}A\x1b[J", self.lines);
        }
        eprint!("{text}");
        self.lines = text.lines().count();
    }
}

/// Runs `gannet load`.
///
/// # Errors
/// A sentence for the person.
pub fn run(arguments: &LoadArguments) -> Result<ExitCode, String> {
    let options = arguments.options()?;
    let stop = gannet_lab::testbed::stop_on_signals().map_err(|error| error.to_string())?;
    let mut screen = Screen { quiet: arguments.quiet, bar: None, lines: 0 };
    let report = run::run(&options, &stop, &mut screen)?;
    print!("{}", run::summary(&report));
    if let Some(path) = &arguments.json {
        let text = report.to_json();
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let served = report.active == report.users && !report.interrupted;
    Ok(if served { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use clap::error::ErrorKind;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        load: LoadArguments,
    }

    #[test]
    fn reliability_classes() {
        let of = |words: &[&str]| {
            let line = Line::try_parse_from([&["load"], words].concat());
            line.map(|line| line.load.reliability_class).map_err(|error| error.kind())
        };
        assert_eq!(of(&[]), Ok(3));
        for class in 1..=5 {
            assert_eq!(of(&["--reliability-class", &class.to_string()]), Ok(class));
        }
        for wrong in ["0", "6", "257", "two", ""] {
            assert_eq!(of(&["--reliability-class", wrong]), Err(ErrorKind::ValueValidation), "{wrong}");
        }
        assert_eq!(of(&["--reliability-class"]), Err(ErrorKind::InvalidValue));
    }

    #[test]
    fn times() {
        assert_eq!(parse_time("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_time("0.5s"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("200us"), Ok(Duration::from_micros(200)));
        for wrong in ["", "10", "ms", "0ms", "-1s", "1h"] {
            assert!(parse_time(wrong).is_err(), "{wrong}");
        }
    }
}

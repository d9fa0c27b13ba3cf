//! `gannet load`.

use crate::numbers::{power_of_two, real, whole};
use clap::{Args, ValueEnum};
use gannet_lab::load::config::{CELLS_PER_NSE, NSES_MAX, Proposal, WINDOW};
use gannet_lab::load::plan::{Groups, Ramp, Sizes};
use gannet_lab::load::run::{self, Generator, Report, RunOptions, Second, Watcher, Ways};
use gannet_lab::load::traffic::{ANSWER_AFTER_MAX, Pacing, Samples, Spacing};
use gannet_lab::load::{LoadConfig, Progress, Security, USERS_MAX};
use gannet_proto::bssgp::flow_control::{Bucket, BvcParameters};
use gannet_wire::l3::ie::ReliabilityClass;
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use std::fmt;
use std::io::IsTerminal;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Reads one of these reliability classes.
pub fn reliability_class(
    among: RangeInclusive<u8>,
) -> impl Fn(&str) -> Result<u8, String> + Clone + Send + Sync + 'static {
    whole(among)
}

/// Cells of all NSEs together.
const CELLS_MAX: u32 = CELLS_PER_NSE * (NSES_MAX as u32 - 1);
/// What R can say in its largest granularity (48.018 clause 11.3.4), and enough for a bucket of one hundred octets in its smallest.
const LEAK_RATES: RangeInclusive<u64> = 800..=6_553_500_000;

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
    /// Both ways, each at the full rate
    Both,
}

/// The time between two N-PDUs of a user.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SpacingArgument {
    /// Always the same time
    Fixed,
    /// Exponentially distributed times
    Exponential,
}

/// When N-PDUs leave.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum PacingArgument {
    /// Each N-PDU leaves when it is due
    Exact,
    /// All N-PDUs of an interval (--burst) leave at its beginning, the users in random order
    Burst,
}

/// What makes the traffic.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum GeneratorArgument {
    /// XDP where the kernel permits it, sockets otherwise
    Auto,
    /// Frames are made and counted in the network driver; needs root and veth or XDP devices
    Xdp,
    /// Frames go through UDP sockets; slower, and works everywhere
    Sockets,
}

/// What `gannet load` can be asked.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub struct LoadArguments {
    /// Address and port where the SGSN listens for Gb (NS over UDP)
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "192.0.2.2:23000")]
    sgsn_gb: SocketAddr,
    /// Own address and port for Gb. The base station of NSE k uses this port plus k. The address must be on an interface of this
    /// network namespace
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "192.0.2.1:22000")]
    gb: SocketAddr,
    /// Address of the SGSN on Gn (GTP)
    #[arg(long, value_name = "ADDRESS", default_value = "192.0.2.5")]
    sgsn_gn: Ipv4Addr,
    /// Own address for Gn, where gannet load is the GGSN. Configure it in the SGSN as its GGSN. UDP ports 2123 and 2152 must be free
    #[arg(long, value_name = "ADDRESS", default_value = "192.0.2.6")]
    gn: IpAddr,
    /// Address and port of the SGSN's VTY. With it, the losses inside the SGSN are listed by the names of its own counters (Gannet
    /// only)
    #[arg(long, value_name = "ADDRESS:PORT")]
    sgsn_vty: Option<SocketAddr>,
    /// Number of mobiles. Each attaches and activates one PDP context. At most 1048576
    #[arg(long, default_value_t = 10_000, value_parser = whole(1..=USERS_MAX))]
    users: u32,
    /// Number of cells. The mobiles are spread over them
    #[arg(long, default_value_t = 400, value_parser = whole(1..=CELLS_MAX))]
    cells: u32,
    /// Number of network service entities (base station controllers). The cells are spread over them
    #[arg(long, default_value_t = 1, value_parser = whole(1..=NSES_MAX - 1))]
    nses: u16,
    /// Access point name that the mobiles ask for
    #[arg(long, value_name = "APN", default_value = "internet")]
    apn: String,
    /// Give the mobiles SIM cards, authenticate them, and cipher with GEA1, GEA2 or GEA3. Uplink then goes through sockets
    #[arg(long, value_name = "1|2|3", value_parser = whole(1..=3_u8))]
    gea: Option<u8>,
    /// Address and port where gannet load is the HLR, to which the SGSN connects by GSUP. By default the address of --gn, port 4222
    #[arg(long, value_name = "ADDRESS:PORT", requires = "gea")]
    hlr: Option<SocketAddr>,
    /// Decipher the beginning of one in COUNT LL-PDUs, a power of two, to measure delays. Those of real-time users are all deciphered
    #[arg(long, value_name = "COUNT", default_value_t = 16, requires = "gea", value_parser = power_of_two)]
    read_every: u32,
    /// Decipher and compare all octets of one in COUNT LL-PDUs, a power of two
    #[arg(long, value_name = "COUNT", default_value_t = 256, requires = "gea", value_parser = power_of_two)]
    whole_every: u32,
    /// Reliability class that the mobiles ask for. With 1 and 2 the downlink is in LLC's acknowledged mode, and there is no uplink
    #[arg(long, value_name = "CLASS", default_value_t = 3, value_parser = reliability_class(1..=5))]
    reliability_class: u8,
    /// Window (kD) that the mobiles propose in acknowledged mode. The SGSN lowers it to its own `llc sapi 3 window`, 16 by default
    #[arg(long, value_name = "FRAMES", value_parser = whole(1..=255_u8))]
    kd: Option<u8>,
    /// In acknowledged mode, send an acknowledgement only when FRAMES more I frames have come. This stands for a long round trip
    #[arg(long, value_name = "FRAMES", default_value_t = 0,
          value_parser = whole(0..=ANSWER_AFTER_MAX))]
    answer_after: u8,
    /// Largest LL-PDU (N201-U) that the mobiles agree to, in octets. 500 refuses any increase
    #[arg(long, value_name = "OCTETS", default_value_t = 1520, value_parser = whole(140..=1520_u16))]
    n201_u: u16,
    /// Leak rate that the base stations announce for each cell. Above 6553500 the SGSN must know 48.018's granularity
    #[arg(long, value_name = "BIT/S", default_value_t = 6_553_500, value_parser = whole(LEAK_RATES))]
    cell_rate: u64,
    /// Leak rate that the base stations announce for each mobile
    #[arg(long, value_name = "BIT/S", default_value_t = 6_553_500, value_parser = whole(LEAK_RATES))]
    ms_rate: u64,
    /// Number of attaches and activations that run at the same time
    #[arg(long, value_name = "COUNT", default_value_t = WINDOW, value_parser = whole(1..=USERS_MAX))]
    window: u32,
    /// N-PDUs (IP packets) a second for each mobile
    #[arg(long, value_name = "PPS", default_value_t = 10.0, value_parser = real(0.001..=1e6))]
    rate: f64,
    /// Size of an N-PDU in octets, 64 to 1500. Or sizes with weights, such as 100:20,378:60,1400:20: each mobile gets one of them
    #[arg(long, value_name = "OCTETS", default_value = "378")]
    size: Sizes,
    /// Direction of the traffic
    #[arg(long, value_enum, default_value_t = DirectionArgument::Downlink)]
    direction: DirectionArgument,
    /// Time between two N-PDUs of a mobile
    #[arg(long, value_enum, default_value_t = SpacingArgument::Fixed)]
    spacing: SpacingArgument,
    /// When N-PDUs leave
    #[arg(long, value_enum, default_value_t = PacingArgument::Exact)]
    pacing: PacingArgument,
    /// Interval of bursts, such as 10ms. It turns on --pacing burst, whose interval is 10ms otherwise
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    burst: Option<Duration>,
    /// What makes the traffic and receives it
    #[arg(long, value_enum, default_value_t = GeneratorArgument::Auto)]
    generator: GeneratorArgument,
    /// Share of the mobiles that send more than they negotiated, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = real(0.0..=1.0))]
    misbehaving: f64,
    /// These send so many times their rate
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0, value_parser = real(0.0..=1000.0))]
    excess: f64,
    /// Number of mobiles that ask for real time (conversational, delay class 1)
    #[arg(long, value_name = "USERS", default_value_t = 0, value_parser = whole(0..=USERS_MAX))]
    real_time: u32,
    /// Number of mobiles that ask for high precedence
    #[arg(long, value_name = "USERS", default_value_t = 0, value_parser = whole(0..=USERS_MAX))]
    high_precedence: u32,
    /// Change the load in steps: FROM:TO:STEPS, as multiples of --rate. 0.5:2:4 is 0.5, 1, 1.5 and 2 times. Each step lasts --duration
    #[arg(long, value_name = "FROM:TO:STEPS", default_value = "1:1:1")]
    ramp: Ramp,
    /// Length of a step in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = real(0.01..=1e6))]
    duration: f64,
    /// Seed of all random choices. The same seed gives the same traffic
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    seed: u64,
    /// Leave the mobiles attached at the end
    #[arg(long)]
    stay: bool,
    /// Write the results to FILE as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Print the summary only, without progress
    #[arg(long)]
    quiet: bool,
    /// Exit with status 1 where a step could not offer what was asked. Without it, this is a warning
    #[arg(long)]
    strict: bool,
}

/// The end of `--help`.
const EXAMPLE: &str = "\
The SGSN stands between two ends that gannet load plays: base stations with mobiles on Gb, and a GGSN on Gn. Run it where \
both of its addresses are, such as in a network namespace of its own:

  ip netns exec load gannet load --gb 192.0.2.1:22000 --sgsn-gb 192.0.2.2:23000 --gn 192.0.2.6 --sgsn-gn 192.0.2.5 \
--users 1000 --rate 20 --duration 30

Results: 'asked' is what the options ask for, 'offered' is what the generator sent, 'delivered' is what arrived undamaged at \
the right mobile. 'away' is the time in which the generator did not run since the machine was busy; above 1 % of a step there \
is a warning. Below the table each loss has a name.

Exit status: 0 where all mobiles were served, 1 where they were not (and with --strict where less was offered than asked), \
2 where the command line is wrong.";

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
        (config.n201_u, config.window, config.seed) = (self.n201_u, self.window, self.seed);
        config.kd = self.kd.map(Proposal::by_all);
        let second = |rate_bit_per_s| Bucket { bmax_octets: rate_bit_per_s / 8, rate_bit_per_s };
        config.flow = BvcParameters { bvc: second(self.cell_rate), default_ms: second(self.ms_rate) };
        let hlr = self.hlr.unwrap_or(SocketAddr::new(self.gn, gannet_wire::gsup::PORT));
        config.security = self.gea.map(|gea| Security::new(gea, hlr)).transpose()?;
        if self.gea.is_some() {
            config.rounds = ROUNDS_WITH_HLR;
        }
        let duration =
            Duration::try_from_secs_f64(self.duration).map_err(|error| format!("--duration: {error}"))?;
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
            sgsn_vty: self.sgsn_vty,
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
            let template = "{msg} [{bar:30}] {pos} of {len}, {rate} a second";
            if let Ok(style) = ProgressStyle::with_template(template) {
                let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
                    // Writing into a string cannot fail.
                    let _ = write!(out, "{:.0}", state.per_sec());
                };
                bar.set_style(style.with_key("rate", rate).progress_chars("=> "));
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
        if std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "{}", run::in_place(self.lines, &text));
            self.lines = text.lines().count();
        } else {
            let _ = write!(std::io::stderr(), "{text}");
        }
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
    gannet_rt::out!("{}", run::summary(&report));
    if let Some(path) = &arguments.json {
        let text = report.to_json();
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(if succeeded(&report, arguments.strict) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Everybody was served, and where that is asked the generator offered all that it was to.
const fn succeeded(report: &Report, strict: bool) -> bool {
    let served = report.active == report.users && !report.interrupted;
    served && (!strict || report.is_sound())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::error::ErrorKind;
    use clap::{CommandFactory, Parser};
    use gannet_lab::load::Stats;

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
    fn strict_is_about_what_was_offered() {
        let mut report = Report {
            users: 2,
            active: 2,
            activated_per_second: 1.0,
            generator: String::new(),
            steps: Vec::new(),
            warnings: Vec::new(),
            stats: Stats::default(),
            interrupted: false,
        };
        assert!(succeeded(&report, true));
        report.warnings.push("a fifth was offered".to_owned());
        assert!(succeeded(&report, false) && !succeeded(&report, true));
        report.active = 1;
        assert!(!succeeded(&report, false));
    }

    #[test]
    fn every_option_has_a_sentence_and_an_example_stands_below() {
        let mut command = Line::command();
        let help = command.render_help().to_string();
        for option in command.get_arguments().filter(|option| option.get_id() != "help") {
            let said = option.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(said.len() > 15 && !said.ends_with('.'), "{}: {said}", option.get_id());
        }
        assert!(help.contains("ip netns exec load gannet load"), "{help}");
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

//! `gannet lab` and `gannet demo`.

use crate::link_command::{self, LinkArguments};
use crate::load_command::reliability_class;
use crate::numbers::{real, whole};
use clap::{Args, Subcommand};
use gannet_lab::demo::{self, Peer, Radio};
use gannet_lab::load::USERS_MAX;
use gannet_lab::load::traffic::ANSWER_AFTER_MAX;
use gannet_lab::mock_cipher::MockCipher;
use gannet_lab::report::{Options, Size};
use gannet_lab::{bearer, busy, ed, experiments, http, measure};
use gannet_machine::EthernetAddress;
use gannet_sim::replay::Replayed;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the laboratory can be asked.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// The experiments by name
    List,
    /// Run one experiment
    Run {
        /// Its name, as `lab list` has it
        name: String,
        /// A look: seconds
        #[arg(long, conflicts_with = "full")]
        quick: bool,
        /// More cells or repetitions than the description asks for
        #[arg(long)]
        full: bool,
        /// A simulated run is reproducible from it to the octet
        #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
        seed: u64,
        /// Where the results go
        #[arg(long, default_value = "out/lab")]
        out: PathBuf,
        /// Another build of this program, for compare
        #[arg(long, value_name = "PROGRAM")]
        against: Option<PathBuf>,
        /// Exit 1 when a claim does not hold or is not shown
        #[arg(long)]
        strict: bool,
    },
    /// Run a recording of an SGSN again, in virtual time, and say where this program's SGSN gives something else
    Replay {
        /// What `gannet sgsn --record FILE` has written
        file: PathBuf,
    },
    /// Emulate a link between two Ethernet devices: rate, delay, jitter, loss, reordering, a limited queue
    Link(LinkArguments),
    /// The whole chain of an experiment at a tiny size: is every packet accounted for?
    #[command(hide = true)]
    Chain {
        /// gannet-fifo, gannet-reuseport, gannet-xdp or osmo-sgsn
        candidate: String,
        /// account, churn, restart or memory
        #[arg(long, default_value = "account")]
        check: String,
        #[arg(long, default_value = "out/lab")]
        out: PathBuf,
    },
    /// One load for one candidate or bare loop, again and again
    #[command(hide = true)]
    Step(StepArguments),
    /// A loop without a stack in the SGSN's place: drop, xsk, socket or two-rings
    #[command(hide = true)]
    Bare {
        name: String,
        #[arg(long)]
        users: u32,
        #[arg(long, default_value_t = 0)]
        real_time: u32,
        #[arg(long)]
        cells: u32,
        /// Ethernet address of the load's end of Gb
        #[arg(long)]
        peer: String,
        /// UDP port of the BSS
        #[arg(long)]
        port: u16,
        /// How long it works on each packet that it forwards
        #[arg(long, default_value_t = 0)]
        work_ns: u32,
    },
    /// Packets of a TUN device become frames of Ethernet and back, without GPRS
    #[command(hide = true)]
    Hop {
        #[arg(long)]
        tun: String,
        #[arg(long)]
        device: String,
        /// Ethernet address of the hop at the other end
        #[arg(long)]
        far: String,
        /// It polls for a millisecond after each packet
        #[arg(long)]
        polls: bool,
    },
    /// An SGSN with the mock cipher of the early demultiplexing study
    #[command(hide = true)]
    Sgsn {
        #[command(flatten)]
        flags: crate::node::flags::Flags,
        /// How long it works on each downlink LL-PDU with user data that is not ciphered
        #[arg(long, value_name = "NS", value_parser = whole(1..=1_000_000_u64))]
        work_ns: u64,
    },
    /// A process that computes without an end, for `busy-machine`
    #[command(hide = true)]
    Spin {
        /// Directory of the run that has started it, for who wonders whose it is
        run: PathBuf,
    },
    /// A host for downloads: one file of octets over HTTP
    #[command(hide = true)]
    Serve {
        #[arg(long)]
        bind: SocketAddr,
        #[arg(long)]
        octets: usize,
        #[arg(long, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
        seed: u64,
    },
}

/// A load for one candidate.
#[derive(Debug, Args)]
pub struct StepArguments {
    /// A candidate or a bare loop
    who: String,
    /// Good packets/s
    #[arg(long, value_parser = real(0.001..=1e9))]
    pps: f64,
    /// Fraction of all traffic that exceeds
    #[arg(long, default_value_t = 0.0, value_parser = real(0.0..=1.0))]
    exceeding: f64,
    #[arg(long, default_value_t = 10_000, value_parser = whole(1..=USERS_MAX))]
    users: u32,
    #[arg(long, default_value_t = 378)]
    octets: u16,
    /// Real-time mobiles beside, each with a hundred packets/s.
    #[arg(long, default_value_t = 0)]
    real_time: u32,
    #[arg(long, default_value_t = 0)]
    work_ns: u32,
    /// Mobiles have cards, and the SGSN ciphers with this algorithm
    #[arg(long, value_name = "NUMBER", conflicts_with = "uplink", value_parser = whole(3..=3_u8))]
    gea: Option<u8>,
    #[arg(long, default_value_t = 200)]
    buffer_ms: u32,
    /// Policing off: the BSS lowers R of every second mobile instead
    #[arg(long)]
    lowered: bool,
    /// What each mobile negotiates, kbit/s
    #[arg(long, default_value_t = measure::loads::KBPS)]
    kbps: u32,
    /// From the mobiles to the GGSN; with --lowered just without policing, since nothing lowers R on the way up
    #[arg(long)]
    uplink: bool,
    /// All users have traffic, not just as many as it takes at what each has negotiated
    #[arg(long)]
    everybody: bool,
    /// The SGSN keeps its mobiles in a store
    #[arg(long)]
    store: bool,
    /// All mobiles ask for this reliability class; with 2 they are in acknowledged mode
    #[arg(long, value_name = "CLASS", conflicts_with_all = ["uplink", "gea", "real_time"], default_value_t = 3,
          value_parser = reliability_class(2..=3))]
    reliability_class: u8,
    /// kD that they propose in acknowledged mode, and the SGSN agrees to: I frames on the way down that may stand unacknowledged
    #[arg(long, value_name = "FRAMES", value_parser = whole(1..=255_u8))]
    kd: Option<u8>,
    /// A mobile in acknowledged mode answers when so many I frames have come behind the one that asked
    #[arg(long, value_name = "FRAMES", default_value_t = 0,
          value_parser = whole(0..=ANSWER_AFTER_MAX))]
    answer_after: u8,
    #[arg(long, default_value_t = 1.0, value_parser = real(0.01..=1e6))]
    seconds: f64,
    #[arg(long, default_value_t = 5, value_parser = whole(1..=1000_u32))]
    steps: u32,
    #[arg(long, default_value = "out/lab")]
    out: PathBuf,
}

/// What the demo can be asked.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Who is the SGSN: gannet or osmo-sgsn
    #[arg(long, default_value = "gannet")]
    sgsn: String,
    /// Who is the GGSN: osmo-ggsn or gannet
    #[arg(long, default_value = "osmo-ggsn")]
    ggsn: String,
    /// The version of GTP between them
    #[arg(long, default_value_t = 1, value_parser = whole(0..=1_u8))]
    gtp_version: u8,
    /// How user data comes into gannet's SGSN
    #[arg(long, default_value = "auto", value_parser = ["auto", "fifo", "reuseport", "xdp"])]
    ingress: String,
    /// The radio of the cells: a rate and a delay, or RLC/MAC
    #[arg(long, default_value = "emulated", value_parser = ["emulated", "rlcmac"])]
    radio: String,
    /// How many mobiles attach
    #[arg(long, default_value_t = 10, value_parser = whole(1..=200_u32))]
    mobiles: u32,
    /// Octets of the download [default: 1048576, with RLC/MAC 131072]
    #[arg(long, value_parser = whole(1..=1_usize << 30))]
    octets: Option<usize>,
    /// How often the first mobile changes cells during the download, within its routing area
    #[arg(long, default_value_t = 0, value_parser = whole(0..=1000_u32))]
    cell_changes: u32,
    /// Where configurations, logs and captures go
    #[arg(long, default_value = "out/demo")]
    out: PathBuf,
}

/// Runs a recording again.
fn replay(file: &Path) -> Result<ExitCode, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let replayed =
        crate::sgsn::record::replay::run(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let Replayed { inputs, outputs, notes } = replayed;
    gannet_rt::outln!("{}: {inputs} inputs, {outputs} outputs as recorded, {notes} remarks", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Runs a command of the laboratory.
///
/// # Errors
/// A sentence for the person.
pub fn run(command: LabCommand) -> Result<ExitCode, String> {
    match command {
        LabCommand::List => {
            for experiment in experiments::ALL {
                gannet_rt::outln!("{:<18} {}", experiment.name, experiment.description);
            }
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Run { name, quick, full, seed, out, against, strict } => {
            let size = match (quick, full) {
                (true, _) => Size::Quick,
                (_, true) => Size::Full,
                _ => Size::Normal,
            };
            let progress = std::io::stderr().is_terminal();
            experiment(&name, &Options { size, seed, out, progress, against }, strict)
        }
        LabCommand::Replay { file } => replay(&file),
        LabCommand::Link(arguments) => link_command::run(arguments),
        LabCommand::Chain { candidate, check, out } => {
            let candidate = measure::Candidate::named(&candidate)
                .ok_or_else(|| format!("there is no candidate '{candidate}'"))?;
            let check =
                ed::check::Check::named(&check).ok_or_else(|| format!("there is no check '{check}'"))?;
            let gannet = std::env::current_exe().map_err(|error| error.to_string())?;
            gannet_rt::out!("{}", ed::check::run(gannet, candidate, check, &out)?);
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Step(step) => {
            let gannet = std::env::current_exe().map_err(|error| error.to_string())?;
            let ask = ed::step::Ask {
                who: step.who,
                pps: step.pps,
                exceeding: step.exceeding,
                users: step.users,
                octets: step.octets,
                real_time: step.real_time,
                work_ns: step.work_ns,
                gea: step.gea,
                buffer_ms: step.buffer_ms,
                lowered: step.lowered,
                uplink: step.uplink,
                kbps: step.kbps,
                everybody: step.everybody,
                store: step.store,
                acknowledged: step.reliability_class == 2,
                kd: step.kd,
                answer_after: step.answer_after,
                seconds: step.seconds,
                steps: step.steps,
            };
            ed::step::run(gannet, &ask, &step.out, &mut |line| gannet_rt::outln!("{line}"))?;
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Bare { name, users, real_time, cells, peer, port, work_ns } => {
            let bare =
                measure::Bare::named(&name).ok_or_else(|| format!("there is no bare loop '{name}'"))?;
            let peer = ed::bed::parse_ethernet(&peer).ok_or_else(|| format!("'{peer}' is no address"))?;
            ed::bare::run(&ed::bare::Options { bare, users, real_time, cells, peer, port, work_ns })?;
            Ok(ExitCode::SUCCESS)
        }
        LabCommand::Hop { tun, device, far, polls } => hop(tun, device, &far, polls),
        LabCommand::Sgsn { flags, work_ns } => {
            let mock = MockCipher::calibrated(work_ns, gannet_rt::gea::best());
            let steps = mock.steps();
            let remark = format!(
                "each downlink LL-PDU in the clear costs {work_ns} ns more: {steps} steps over its octets"
            );
            crate::sgsn::run_with_ciphers(flags, Box::leak(Box::new(mock)), remark)
        }
        LabCommand::Spin { run: _ } => busy::spin(),
        LabCommand::Serve { bind, octets, seed } => {
            http::serve(bind, seed, octets).map_err(|error| format!("{bind}: {error}"))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn experiment(name: &str, options: &Options, strict: bool) -> Result<ExitCode, String> {
    let Some(experiment) = experiments::ALL.iter().find(|experiment| experiment.name == name) else {
        let names: Vec<&str> = experiments::ALL.iter().map(|experiment| experiment.name).collect();
        return Err(format!("there is no experiment '{name}'; there are: {}", names.join(", ")));
    };
    let report = (experiment.run)(options)?;
    report
        .write(&options.out, experiment.purpose)
        .map_err(|error| format!("{}: {error}", options.out.display()))?;
    gannet_rt::out!("{}", report.table());
    for remark in &report.remarks {
        gannet_rt::outln!("{remark}");
    }
    gannet_rt::outln!("written to {}", options.out.display());
    Ok(if strict && !report.holds() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Who stands in a place, by name.
///
/// # Errors
/// A sentence for the person.
pub fn peer(name: &str, osmocom: &str) -> Result<Peer, String> {
    match name {
        "gannet" => Ok(Peer::Gannet),
        name if name == osmocom => Ok(Peer::Osmocom),
        other => Err(format!("'{other}' is neither gannet nor {osmocom}")),
    }
}

/// Runs the demo.
///
/// # Errors
/// A sentence for the person.
pub fn demo(arguments: &DemoArguments) -> Result<ExitCode, String> {
    let gannet = std::env::current_exe().map_err(|error| error.to_string())?;
    let radio = if arguments.radio == "rlcmac" { Radio::RlcMac } else { Radio::Emulated };
    let mut options = demo::Options {
        gannet,
        sgsn: peer(&arguments.sgsn, "osmo-sgsn")?,
        ggsn: peer(&arguments.ggsn, "osmo-ggsn")?,
        gtp_version: arguments.gtp_version,
        ingress: arguments.ingress.clone(),
        radio,
        mobiles: arguments.mobiles,
        download_octets: arguments.octets.unwrap_or_else(|| radio.download_octets()),
        cell_changes: arguments.cell_changes,
        out: arguments.out.clone(),
        progress: std::io::stderr().is_terminal(),
    };
    let mut substitute = None;
    for name in demo::missing(&options) {
        if name == "osmo-sgsn" {
            return Err("osmo-sgsn was asked for and is not installed".to_owned());
        }
        substitute = Some(format!("NOTE: {name} could not be installed; this run uses gannet ggsn instead"));
        options.ggsn = Peer::Gannet;
    }
    if let Some(note) = &substitute {
        gannet_rt::outln!("{note}");
    }
    let outcome = demo::run(&options).map_err(|error| error.to_string())?;
    gannet_rt::out!("{}", outcome.table());
    gannet_rt::outln!("configurations, logs and captures are in {}", options.out.display());
    if let Some(note) = &substitute {
        gannet_rt::outln!("{note}");
    }
    Ok(if outcome.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn hop(tun: String, device: String, far: &str, polls: bool) -> Result<ExitCode, String> {
    let far = ed::bed::parse_ethernet(far).ok_or_else(|| format!("'{far}' is no address"))?;
    bearer::hop::run(&bearer::hop::Options { tun, device, far: EthernetAddress(far), polls })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use clap::error::ErrorKind;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        step: StepArguments,
    }

    #[test]
    fn reliability_classes_of_a_step() {
        let of = |words: &[&str]| {
            let line = Line::try_parse_from([&["step", "bare", "--pps", "1"], words].concat());
            line.map(|line| line.step.reliability_class).map_err(|error| error.kind())
        };
        assert_eq!(of(&[]), Ok(3));
        assert_eq!(["2", "3"].map(|class| of(&["--reliability-class", class])), [Ok(2), Ok(3)]);
        for wrong in ["1", "4", "258", "two", ""] {
            assert_eq!(of(&["--reliability-class", wrong]), Err(ErrorKind::ValueValidation), "{wrong}");
        }
        let both = of(&["--reliability-class", "2", "--uplink"]);
        assert_eq!(both, Err(ErrorKind::ArgumentConflict));
    }
}

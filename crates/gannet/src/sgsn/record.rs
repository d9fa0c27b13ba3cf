//! `gannet sgsn --record FILE`: what the node takes and gives, as lines that `gannet lab replay` and the tests run again.

use core::fmt::Write as _;
use gannet_machine::trace::{Category, Level, TraceSink};
use gannet_node::sgsn::recording::{Dice, Head, Recorder};
use gannet_node::sgsn::{Sgsn, SgsnConfig};
use gannet_ops::config::sgsn as ops;
use gannet_rt::log::LogSink;
use gannet_rt::{EventLoop, LineStatus, LineWriter, MachineId};
use std::path::{Path, PathBuf};

/// A recording under way.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    lines: Option<LineWriter>,
    status: LineStatus,
    seed: u64,
}

impl Record {
    /// A new file, and new dice.
    ///
    /// # Errors
    /// A sentence: the file cannot be made, or the node does not begin without mobiles.
    pub fn create(path: &Path, config: &ops::SgsnConfig) -> Result<Self, String> {
        if config.store.is_some() {
            return Err(
                "a recording begins without mobiles; take 'store' out of the configuration".to_owned()
            );
        }
        let seed = super::node_seed()?;
        let lines = LineWriter::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path: path.to_owned(), status: lines.status(), lines: Some(lines), seed })
    }

    /// What the node throws dice for.
    pub fn dice(&self) -> Dice {
        Dice::of(self.seed)
    }

    /// Begins.
    pub fn begin(
        &mut self,
        config: &ops::SgsnConfig,
        restart_counter: u8,
        machine: MachineId<Sgsn>,
        node: &mut EventLoop,
    ) {
        let Some(mut lines) = self.lines.take() else { return };
        let config = gannet_ops::config::write::<gannet_ops::Sgsn>(config);
        let head = Head { seed: self.seed, restart_counter, config };
        let recorder = Recorder::new(&head, Box::new(move |text| lines.write(text)));
        node.access().set_tap(machine, Box::new(recorder), self.dice().rng);
    }

    /// What is missing, at the end.
    pub fn farewell(&self, log: &mut LogSink) {
        let lost = self.status.lost();
        if lost == 0 {
            return;
        }
        let mut text = format!("recording {}: {lost} octets of lines are missing", self.path.display());
        if let Some(why) = self.status.failure() {
            let _ = write!(text, ": {why}");
        }
        log.line(Category::Main, Level::Error, format_args!("{text}"));
    }
}

/// Puts the recorded dice into a configuration.
pub fn with_dice(config: SgsnConfig, dice: &Dice) -> SgsnConfig {
    SgsnConfig { teid_key: dice.teid_key, teid_generation: 0, ..config }
}

/// Runs a recording again.
#[cfg(feature = "lab")]
pub mod replay {
    use super::super::mapping;
    use super::with_dice;
    use gannet_machine::rng::Rng;
    use gannet_node::sgsn::recording::{Dice, Head, Recording};
    use gannet_node::sgsn::{Sgsn, SgsnConfig};
    use gannet_sim::replay::{Mismatch, Replayed, replay};

    /// The SGSN that was recorded, as this program makes it, with its dice and its frames.
    fn node(head: &Head) -> Result<(Sgsn, Rng, usize), Mismatch> {
        let loaded = gannet_ops::config::read::<gannet_ops::Sgsn>("recording", &head.config)
            .map_err(|error| Mismatch::Unusable(error.to_string()))?;
        let plan = mapping::plan(&loaded.config, &mut Vec::new()).map_err(Mismatch::Unusable)?;
        let dice = Dice::of(head.seed);
        let config = SgsnConfig { restart_counter: head.restart_counter, ..plan.config };
        Ok((Sgsn::new(with_dice(config, &dice), dice.tables), dice.rng, plan.frames))
    }

    /// The text of a recording, against the SGSN of this program.
    ///
    /// # Errors
    /// The first difference, or why it cannot be run.
    pub fn run(text: &str) -> Result<Replayed, Mismatch> {
        let recording = Recording::parse(text).map_err(Mismatch::Unusable)?;
        replay(&recording, node(&recording.head)?)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use gannet_sim::replay::record;
        use std::path::{Path, PathBuf};

        /// The files of `tests/cases`. With `GANNET_BLESS=1` their outputs are written anew.
        fn cases() -> Vec<(PathBuf, String)> {
            let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
            let mut paths: Vec<PathBuf> =
                std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            let read = |path: PathBuf| (path.clone(), std::fs::read_to_string(path).unwrap());
            paths.into_iter().map(read).collect()
        }

        fn bless(path: &Path, text: &str) {
            let recording = Recording::parse(text).unwrap();
            let remarks: String =
                text.lines().filter(|line| line.starts_with('#')).map(|line| format!("{line}\n")).collect();
            let anew = record(&recording, node(&recording.head).unwrap()).unwrap();
            std::fs::write(path, remarks + &anew).unwrap();
        }

        #[test]
        fn every_case_is_as_it_was_recorded() {
            let cases = cases();
            assert!(cases.len() >= 5, "{}", cases.len());
            for (path, text) in cases {
                if std::env::var_os("GANNET_BLESS").is_some() {
                    bless(&path, &text);
                    continue;
                }
                let replayed = run(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
                assert!(replayed.inputs > 0 && replayed.outputs > 0, "{}", path.display());
            }
        }

        /// Of each kind of output in each case one octet is another one.
        #[test]
        fn an_octet_of_an_output_that_differs_is_seen() {
            for (path, text) in cases() {
                for port in ["gb", "gtp-c", "gtp-u", "hlr"] {
                    let wanted = format!(" < {port} ");
                    let has_octets = |line: &&str| line.contains(&wanted) && !line.ends_with("disconnect");
                    let Some(line) = text.lines().rfind(has_octets) else { continue };
                    let (rest, last) = line.split_at(line.len() - 1);
                    let other = format!("{rest}{}", if last == "0" { "1" } else { "0" });
                    let why = run(&text.replace(line, &other)).unwrap_err().to_string();
                    assert!(why.contains("recorded"), "{}: {line}: {why}", path.display());
                }
            }
        }

        #[test]
        fn what_is_missing_or_too_much_is_seen() {
            let (_, text) = cases().swap_remove(0);
            let lines: Vec<&str> = text.lines().collect();
            let without = |at: usize| [&lines[..at], &lines[at + 1..]].concat().join("\n");
            let is = |wanted: &'static str| move |line: &&str| line.contains(wanted);
            let first = without(lines.iter().position(is(" < gb ")).unwrap());
            assert!(matches!(run(&first), Err(Mismatch::Expected { came: Some(_), .. })));
            let last = without(lines.iter().rposition(is(" < ")).unwrap());
            assert!(matches!(run(&last), Err(Mismatch::Unexpected(_))));
            let cause = without(lines.iter().rposition(is(" > gb ")).unwrap());
            assert!(matches!(run(&cause), Err(Mismatch::Expected { .. })));
            let lost = format!("{text}lost 17\n");
            assert!(run(&lost).unwrap_err().to_string().contains("17 octets of lines are missing"));
            assert!(matches!(run("seed 1"), Err(Mismatch::Unusable(_))));
        }
    }
}

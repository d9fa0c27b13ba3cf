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
            return Err("a recording begins without mobiles; take 'store' out of the configuration".to_owned());
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
    use super::super::{mapping, ops};
    use super::with_dice;
    use gannet_node::sgsn::recording::{Dice, Recording};
    use gannet_node::sgsn::{Sgsn, SgsnConfig};
    use gannet_sim::replay::{Mismatch, Replayed, replay};

    /// The text of a recording, against the SGSN of this program.
    ///
    /// # Errors
    /// The first difference, or why it cannot be run.
    pub fn run(text: &str) -> Result<Replayed, Mismatch> {
        let recording = Recording::parse(text).map_err(Mismatch::Unusable)?;
        let loaded = gannet_ops::config::read::<gannet_ops::Sgsn>("recording", &recording.head.config)
            .map_err(|error| Mismatch::Unusable(error.to_string()))?;
        let config: ops::SgsnConfig = loaded.config;
        let plan = mapping::plan(&config, &mut Vec::new()).map_err(Mismatch::Unusable)?;
        let dice = Dice::of(recording.head.seed);
        let restart_counter = recording.head.restart_counter;
        let config = with_dice(SgsnConfig { restart_counter, ..plan.config }, &dice);
        replay(&recording, (Sgsn::new(config, dice.tables), dice.rng, plan.frames))
    }
}

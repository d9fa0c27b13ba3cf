//! An SGSN that does nothing but remember what it was asked for.

use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level};
use gannet_ops::Sgsn;
use gannet_ops::config::sgsn::{SgsnConfig, SgsnOperation};
use gannet_ops::grammar::CommandError;
use gannet_ops::vty::{Operator, Statistics};
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub struct Node {
    pub config: SgsnConfig,
    pub asked: Vec<SgsnOperation>,
    pub counted: Vec<Statistics>,
    pub saved: Vec<String>,
    /// What it answers to `show stats`.
    pub answer: String,
    /// Lines of the log.
    pub said: Vec<String>,
}

impl Operator<Sgsn> for Node {
    fn config(&self) -> &SgsnConfig {
        &self.config
    }

    fn reconfigure(&mut self, new: SgsnConfig, out: &mut String) -> Result<(), CommandError> {
        if new.gtp_local_ip != self.config.gtp_local_ip {
            return Err(CommandError::new("The address of GTP cannot change while the node runs."));
        }
        if new.limits != self.config.limits {
            out.push_str("It holds from the next start on.\n");
        }
        self.config = new;
        Ok(())
    }

    fn statistics(&mut self, asked: Statistics, out: &mut String) -> Result<(), CommandError> {
        self.counted.push(asked);
        out.push_str(&self.answer);
        Ok(())
    }

    fn execute(&mut self, operation: &SgsnOperation, _: &mut String) -> Result<(), CommandError> {
        self.asked.push(operation.clone());
        match operation {
            SgsnOperation::ShowWhy(imsi) => Err(CommandError(format!("IMSI {imsi} is unknown."))),
            _ => Ok(()),
        }
    }

    fn uptime(&self) -> Duration {
        Duration::from_secs(2 * 86_400 + 3 * 3600 + 4 * 60 + 5)
    }

    fn say(&mut self, category: Category, level: Level, text: &str) {
        self.said.push(format!("{} {level:?} {text}", category.name()));
    }

    fn save(&mut self, path: Option<&Path>, text: &str) -> Result<(PathBuf, Option<PathBuf>), CommandError> {
        self.saved.push(text.to_owned());
        Ok((path.unwrap_or(Path::new("sgsn.cfg")).to_path_buf(), None))
    }
}

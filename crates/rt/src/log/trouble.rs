//! A target of the log that cannot be written: what is to be said of it on the others, once at the beginning and once at the end.

use std::io;

#[derive(Debug, Default)]
pub(super) struct Trouble {
    is_failing: bool,
    /// Lines that were lost since it fails.
    lost: u64,
    news: Option<String>,
}

impl Trouble {
    /// How writing went, and how many lines are lost where it did not.
    pub fn tried(&mut self, result: io::Result<()>, lines: u64) {
        match result {
            Err(error) => {
                self.lost += lines;
                if !self.is_failing {
                    self.is_failing = true;
                    self.news = Some(format!("{error}; it is tried again"));
                }
            }
            Ok(()) if self.is_failing => {
                self.is_failing = false;
                let lost = core::mem::take(&mut self.lost);
                self.news = Some(format!("it is written again, {lost} lines were lost"));
            }
            Ok(()) => {}
        }
    }

    /// What is to be said.
    pub const fn news(&mut self) -> Option<String> {
        self.news.take()
    }
}

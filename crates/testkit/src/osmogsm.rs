//! Debian's libosmogsm as a second opinion about authentication and ciphering.

use crate::find_program;
use crate::helper::Helper;
pub use crate::helper::hex;

const SOURCE: &str = include_str!("../c/osmogsm.c");
const LIBRARY: &str = "libosmogsm.so.18";

/// Why this machine cannot do it.
#[must_use]
pub fn missing() -> Option<String> {
    if find_program("gcc").is_none() {
        return Some("gcc is not installed".to_owned());
    }
    match Osmogsm::start() {
        Ok(_) => None,
        Err(reason) => Some(format!("{LIBRARY} cannot be asked: {reason}")),
    }
}

/// The process.
#[derive(Debug)]
pub struct Osmogsm(Helper);

impl Osmogsm {
    /// Compiles and starts it.
    ///
    /// # Errors
    /// What the compiler or the program said where that fails.
    pub fn start() -> Result<Self, String> {
        let mut helper = Helper::start("osmogsm", SOURCE, &[LIBRARY])?;
        helper.try_ask("keys", &[&[0; 16], &[0; 16]]).map(|_| Self(helper))
    }

    /// One question: the fields of the answer, in hexadecimal.
    ///
    /// # Panics
    /// Where the process is gone.
    pub fn ask(&mut self, function: &str, arguments: &[&[u8]]) -> Vec<String> {
        self.0.ask(function, arguments)
    }
}

//! Debian's libspandsp as a second opinion about V.42bis.

use crate::find_program;
use crate::helper::{Helper, unhex};

const SOURCE: &str = include_str!("../c/spandsp.c");
const LIBRARY: &str = "libspandsp.so.2";

/// Why this machine cannot do it.
#[must_use]
pub fn missing() -> Option<String> {
    if find_program("gcc").is_none() {
        return Some("gcc is not installed".to_owned());
    }
    match Spandsp::start(2048, 20, Mode::AsItDecides) {
        Ok(_) => None,
        Err(reason) => Some(format!("{LIBRARY} cannot be asked: {reason}")),
    }
}

/// When its encoder is in compressed mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// When it gains something.
    AsItDecides,
    /// From the first string on.
    Compressed,
    /// Never.
    Transparent,
}

/// The process: an encoder and a decoder.
#[derive(Debug)]
pub struct Spandsp(Helper);

impl Spandsp {
    /// Compiles and starts it, with P1 codewords and strings of P2 octets. It has room for 4096 codewords, whatever P1 is.
    ///
    /// # Errors
    /// What the compiler or the program said where that fails.
    pub fn start(codewords: u16, string: u8, mode: Mode) -> Result<Self, String> {
        let mut helper = Helper::start("spandsp", SOURCE, &[LIBRARY])?;
        let mode = match mode {
            Mode::AsItDecides => 0,
            Mode::Compressed => 1,
            Mode::Transparent => 2,
        };
        match helper.try_ask("init", &[&codewords.to_be_bytes(), &[string], &[mode]])?.as_slice() {
            [] => Ok(Self(helper)),
            refused => Err(format!("{refused:?}")),
        }
    }

    /// What its encoder makes of an N-PDU, with a flush at the end.
    ///
    /// # Errors
    /// Where it refuses.
    pub fn compress(&mut self, n_pdu: &[u8]) -> Result<Vec<u8>, String> {
        self.convert("compress", n_pdu)
    }

    /// What its decoder makes of it.
    ///
    /// # Errors
    /// Where it refuses.
    pub fn decompress(&mut self, n_pdu: &[u8]) -> Result<Vec<u8>, String> {
        self.convert("decompress", n_pdu)
    }

    fn convert(&mut self, function: &str, n_pdu: &[u8]) -> Result<Vec<u8>, String> {
        match self.0.ask(function, &[n_pdu]).as_slice() {
            [nothing] if nothing == "nothing" => Ok(Vec::new()),
            [octets] if octets != "refused" => Ok(unhex(octets)),
            refused => Err(format!("{function}: {refused:?}")),
        }
    }
}

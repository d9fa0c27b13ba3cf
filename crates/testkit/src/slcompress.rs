//! The reference implementation of RFC 1144 as a judge: the code of its appendix as the Regents of the University of California
//! gave it away later, in the source package `slirp` of Debian. It is compiled when the test runs and never part of our programs.

use crate::find_program;
use crate::helper::{Helper, unhex};

const HELPER: &str = include_str!("../c/slcompress/helper.c");
const FILES: [(&str, &str); 2] = [
    ("slcompress.c", include_str!("../c/slcompress/slcompress.c")),
    ("slirp.h", include_str!("../c/slcompress/slirp.h")),
];
const HEADER: &str = include_str!("../c/slcompress/slcompress.h");
const SLOTS: &str = "#define MAX_STATES 16";

/// Why this machine cannot do it.
#[must_use]
pub fn missing() -> Option<String> {
    if find_program("gcc").is_none() {
        return Some("gcc is not installed".to_owned());
    }
    Reference::start(16)
        .err()
        .map(|reason| format!("the reference code of RFC 1144 cannot be compiled: {reason}"))
}

/// How a packet goes, in the reference's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// As it is.
    Ip,
    /// With the slot in place of the protocol.
    UncompressedTcp,
    /// Compressed.
    CompressedTcp,
    /// None: something was lost or is damaged.
    Error,
}

impl Type {
    const ALL: [Self; 4] = [Self::Ip, Self::UncompressedTcp, Self::CompressedTcp, Self::Error];

    const fn value(self) -> u8 {
        match self {
            Self::Ip => 0x40,
            Self::UncompressedTcp => 0x70,
            Self::CompressedTcp => 0x80,
            Self::Error => 0,
        }
    }
}

/// The process: a compressor and a decompressor.
#[derive(Debug)]
pub struct Reference(Helper);

impl Reference {
    /// Compiles and starts it with so many slots for either direction, 3 to 256.
    ///
    /// # Errors
    /// What the compiler or the program said where that fails.
    pub fn start(slots: u16) -> Result<Self, String> {
        let header = HEADER.replace(SLOTS, &format!("#define MAX_STATES {slots}"));
        let [code, environment] = FILES;
        let files = [code, environment, ("slcompress.h", header.as_str())];
        let mut helper = Helper::start_with("slcompress", HELPER, &files, &[])?;
        helper.try_ask("reset", &[]).map(|_| Self(helper))
    }

    /// Both directions forget everything.
    pub fn reset(&mut self) {
        self.0.ask("reset", &[]);
    }

    /// What its compressor makes of a TCP packet, and as what it goes. It may leave the number of the connection out.
    ///
    /// # Panics
    /// Where the answer is none.
    pub fn compress(&mut self, may_leave_out: bool, packet: &[u8]) -> (Type, Vec<u8>) {
        match self.0.ask("compress", &[&[u8::from(may_leave_out)], packet]).as_slice() {
            [value, octets] => {
                let value = unhex(value);
                let found = Type::ALL.into_iter().find(|known| value == [known.value()]);
                (found.unwrap(), unhex(octets))
            }
            refused => panic!("{refused:?}"),
        }
    }

    /// What its decompressor makes of it; `None` where it tosses it.
    ///
    /// # Panics
    /// Where the answer is none.
    pub fn uncompress(&mut self, as_type: Type, packet: &[u8]) -> Option<Vec<u8>> {
        match self.0.ask("uncompress", &[&[as_type.value()], packet]).as_slice() {
            [nothing] if nothing == "nothing" => None,
            [octets] => Some(unhex(octets)),
            refused => panic!("{refused:?}"),
        }
    }
}

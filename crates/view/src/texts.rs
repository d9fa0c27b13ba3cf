//! What rows say, in a temporary file that nobody else can open: memory holds a place of eight octets for each.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;

/// Octets that a text may have; longer ones are cut.
const TEXT_MAX: usize = 1024;

/// Texts, one after another.
#[derive(Debug)]
pub struct Texts {
    file: BufWriter<File>,
    end: u64,
}

/// Where a text stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place(u64);

impl Texts {
    /// None yet.
    ///
    /// # Errors
    /// Where no temporary file can be made.
    pub fn new() -> io::Result<Self> {
        Ok(Self { file: BufWriter::with_capacity(1 << 18, tempfile::tempfile()?), end: 0 })
    }

    /// Keeps a text.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn push(&mut self, text: &str) -> io::Result<Place> {
        let mut len = text.len().min(TEXT_MAX);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let octets = text.as_bytes().get(..len).unwrap_or_default();
        self.file.write_all(&u16::try_from(len).unwrap_or(0).to_le_bytes())?;
        self.file.write_all(octets)?;
        let place = Place(self.end);
        self.end += 2 + len as u64;
        Ok(place)
    }

    /// Makes all texts readable.
    ///
    /// # Errors
    /// Where the file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.file.flush()
    }

    /// The text at a place.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn get(&self, place: Place) -> io::Result<String> {
        let mut octets = [0; 2 + TEXT_MAX];
        let mut have = 0;
        let (len, rest) = loop {
            let to = octets.get_mut(have..).unwrap_or_default();
            let got = self.file.get_ref().read_at(to, place.0 + have as u64)?;
            have += got;
            let len = usize::from(u16::from_le_bytes([octets[0], octets[1]]));
            if have >= 2 + len || have == octets.len() {
                break (len, 2);
            }
            if got == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        };
        let text = octets.get(rest..rest + len).unwrap_or_default();
        Ok(String::from_utf8_lossy(text).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_and_long_ones_are_cut_between_letters() {
        let mut texts = Texts::new().expect("a temporary file");
        let long = "ä".repeat(TEXT_MAX);
        let places = ["", "one", &long, "last"].map(|text| texts.push(text).expect("written"));
        texts.finish().expect("flushed");
        let back = places.map(|place| texts.get(place).expect("read"));
        assert_eq!([&back[0], &back[1], &back[3]], ["", "one", "last"]);
        assert_eq!(back[2], "ä".repeat(TEXT_MAX / 2));
        assert!(texts.get(Place(1_000_000)).is_err());
    }
}

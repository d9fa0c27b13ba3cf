//! The octets of a file, unpacked where it is packed, through a window of bounded size.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

/// Octets that are read at a time.
const CHUNK: usize = 256 * 1024;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: u32 = 0xfd2f_b528;
/// Frames that hold no data: the low half octet is free.
const ZSTD_SKIPPABLE: u32 = 0x184d_2a50;

/// What has been read and not been used, of an endless row of octets.
pub struct Octets {
    from: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    used: u64,
    is_packed: bool,
}

impl core::fmt::Debug for Octets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Octets").field("used", &self.used).finish_non_exhaustive()
    }
}

impl Octets {
    /// Those of a file. By its first octets it is known whether gzip or zstd packed it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(CHUNK, File::open(path)?);
        let head = file.fill_buf()?;
        let is_gzip = head.starts_with(&GZIP);
        let is_zstd = matches!(magic(head), Some(magic) if magic == ZSTD || magic & !0xf == ZSTD_SKIPPABLE);
        Ok(if is_gzip {
            Self::new(Box::new(flate2::bufread::MultiGzDecoder::new(file)), true)
        } else if is_zstd {
            Self::new(Box::new(Zstd(Some(State::Between(file)))), true)
        } else {
            Self::new(Box::new(file), false)
        })
    }

    /// Those of any reader.
    #[must_use]
    pub fn new(from: Box<dyn Read + Send>, is_packed: bool) -> Self {
        Self { from, buffer: vec![0; 2 * CHUNK], start: 0, end: 0, used: 0, is_packed }
    }

    /// True where they are unpacked, so that places count in unpacked octets.
    #[must_use]
    pub const fn is_packed(&self) -> bool {
        self.is_packed
    }

    /// Octets before those of [`Self::peek`].
    #[must_use]
    pub const fn used(&self) -> u64 {
        self.used
    }

    /// Makes `count` octets visible. Gives how many there are: less only at the end.
    ///
    /// # Errors
    /// Those of the file system, and of unpacking.
    pub fn want(&mut self, count: usize) -> io::Result<usize> {
        while self.end - self.start < count {
            if self.buffer.len() - self.start < count.max(CHUNK) {
                self.buffer.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
                if self.buffer.len() < count {
                    self.buffer.resize(count.next_multiple_of(CHUNK), 0);
                }
            }
            let room = self.buffer.get_mut(self.end..).unwrap_or_default();
            match self.from.read(room) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end - self.start)
    }

    /// What is visible.
    #[must_use]
    pub fn peek(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Leaves `count` visible octets behind.
    pub fn leave(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.used += count as u64;
    }
}

fn magic(head: &[u8]) -> Option<u32> {
    head.first_chunk().map(|octets| u32::from_le_bytes(*octets))
}

type Packed = BufReader<File>;

/// The frames of a file of zstd, one behind the other.
struct Zstd(Option<State>);

enum State {
    Between(Packed),
    Within(Box<ruzstd::decoding::StreamingDecoder<Packed, ruzstd::decoding::FrameDecoder>>),
}

impl Read for Zstd {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.take() {
                None => return Ok(0),
                Some(State::Within(mut frame)) => {
                    let read = frame.read(room)?;
                    self.0 = Some(if read == 0 {
                        State::Between(frame.into_inner())
                    } else {
                        State::Within(frame)
                    });
                    if read > 0 {
                        return Ok(read);
                    }
                }
                Some(State::Between(mut packed)) => {
                    let head = packed.fill_buf()?;
                    if head.is_empty() {
                        return Ok(0);
                    }
                    if matches!(magic(head), Some(magic) if magic & !0xf == ZSTD_SKIPPABLE) {
                        skip(&mut packed)?;
                        self.0 = Some(State::Between(packed));
                        continue;
                    }
                    let frame = ruzstd::decoding::StreamingDecoder::new(packed)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                    self.0 = Some(State::Within(Box::new(frame)));
                }
            }
        }
    }
}

fn skip(packed: &mut Packed) -> io::Result<()> {
    let mut head = [0; 8];
    packed.read_exact(&mut head)?;
    let [.., a, b, c, d] = head;
    let count = u64::from(u32::from_le_bytes([a, b, c, d]));
    io::copy(&mut packed.by_ref().take(count), &mut io::sink()).map(drop)
}

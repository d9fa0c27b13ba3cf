//! Data of several kinds.

use fastrand::Rng;

/// English with some tables, 50 kB. It stays as it is, so that what it is compressed to says something of the compressor alone.
pub const ENGLISH: &str = include_str!("english.txt");

/// N-PDUs of a file, 1500 octets each.
pub fn n_pdus(file: &[u8]) -> impl Iterator<Item = &[u8]> {
    file.chunks(1500)
}

/// What looks like data that was compressed already.
pub fn noise(rng: &mut Rng, len: usize) -> Vec<u8> {
    (0..len).map(|_| rng.u8(..)).collect()
}

/// The escape characters of transparent mode, one behind the other.
pub fn escapes(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 51) as u8).collect()
}

/// Octets of one of several kinds.
pub fn any(rng: &mut Rng, len: usize) -> Vec<u8> {
    let english = ENGLISH.as_bytes();
    match rng.u8(..7) {
        0 | 1 => {
            let at = rng.usize(..english.len() - len.min(english.len() - 1));
            english[at..at + len.min(english.len() - at)].to_vec()
        }
        2 => noise(rng, len),
        3 => escapes(len),
        4 => vec![rng.u8(..); len],
        5 => {
            let alphabet = rng.u8(2..6);
            (0..len).map(|_| rng.u8(..alphabet)).collect()
        }
        _ => {
            let part = noise(rng, 30);
            part.iter().copied().cycle().take(len).collect()
        }
    }
}

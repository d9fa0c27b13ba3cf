//! Data of several kinds.

use fastrand::Rng;

/// English, some 40 kB of it.
pub const ENGLISH: &[&str] = &[
    include_str!("../../../../ARCHITECTURE.md"),
    include_str!("../../../../CONTRIBUTING.md"),
    include_str!("../../../../docs/security.md"),
    include_str!("../../../../docs/restart.md"),
];

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
    let english = ENGLISH[rng.usize(..ENGLISH.len())].as_bytes();
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

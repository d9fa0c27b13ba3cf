//! Many frames ciphered at once.
//!
//! A batch is a list of [`Job`]s, one for each frame, which stays where it is. They may differ in key, algorithm,
//! direction and length. A batch is what is there: nobody waits for more.
//!
//! What a processor can do is known to who drives the machines, and is handed in as a [`BatchCipher`]. [`Portable`] needs
//! nothing.

use super::gea3::{Lane, kgcore};
use super::{Algorithm, Ciphering, Direction};
use core::cmp::Reverse;
use core::fmt;

/// One frame to be ciphered or deciphered.
#[derive(Debug)]
pub struct Job<'a> {
    /// Algorithm and key.
    pub ciphering: &'a Ciphering,
    /// INPUT, from [`super::ui_input`] or [`super::i_input`].
    pub input: u32,
    /// DIRECTION.
    pub direction: Direction,
    /// What is ciphered, in place: information and FCS.
    pub octets: &'a mut [u8],
}

impl Job<'_> {
    /// This one by itself.
    pub fn alone(&mut self) {
        self.ciphering.apply(self.input, self.direction, self.octets);
    }

    /// True where it goes through KGCORE, as GEA3 and GEA4 do.
    const fn is_kgcore(&self) -> bool {
        matches!(self.ciphering.algorithm, Algorithm::Gea3 | Algorithm::Gea4)
    }

    fn lane(&mut self) -> Lane<'_> {
        let Self { ciphering, input, direction, octets } = self;
        Lane { kc: &ciphering.kc, input: *input, direction: *direction, octets }
    }
}

/// A way to cipher many frames.
pub trait BatchCipher: fmt::Debug + Sync {
    /// What it is called, for a log and for a benchmark.
    fn name(&self) -> &'static str;
    /// Does all of `jobs`. Their order in the list is another one afterwards.
    fn apply(&self, jobs: &mut [Job<'_>]);
    /// An LL-PDU with user data that leaves without a cipher of this service: nothing to do.
    fn in_clear(&self, _ll_pdu: &[u8]) {}
}

/// Does what has another algorithm than GEA3 and GEA4 one by one. What is left comes back, longest first, so that those
/// that go side by side end together.
pub fn for_kgcore<'j, 'a>(jobs: &'j mut [Job<'a>]) -> &'j mut [Job<'a>] {
    jobs.sort_unstable_by_key(|job| (!job.is_kgcore(), Reverse(job.octets.len())));
    let (kgcore, others) = jobs.split_at_mut(jobs.partition_point(Job::is_kgcore));
    others.iter_mut().for_each(Job::alone);
    kgcore
}

/// Without any instruction that only some processors have: four frames interleaved.
#[derive(Debug, Clone, Copy, Default)]
pub struct Portable;

impl BatchCipher for Portable {
    fn name(&self) -> &'static str {
        "portable"
    }

    fn apply(&self, jobs: &mut [Job<'_>]) {
        interleaved(for_kgcore(jobs));
    }
}

/// Jobs of GEA3 and GEA4, longest first: four at once, then two, then one.
pub fn interleaved(jobs: &mut [Job<'_>]) {
    let (fours, rest) = jobs.as_chunks_mut::<4>();
    for four in fours {
        kgcore(four.each_mut().map(Job::lane));
    }
    let (twos, rest) = rest.as_chunks_mut::<2>();
    for two in twos {
        kgcore(two.each_mut().map(Job::lane));
    }
    rest.iter_mut().for_each(Job::alone);
}

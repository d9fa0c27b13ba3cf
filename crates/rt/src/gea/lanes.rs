//! KGCORE over vectors of octets: the same for all widths, out of a few operations that a module of the width has.

use gannet_proto::llc::cipher::Job;
use gannet_proto::llc::cipher::gea3::{BLOCK, register};
use gannet_proto::llc::cipher::kasumi::KEY_CONSTANTS;

/// Octet n of the key and of the register A, for all lanes.
pub(super) struct Planes<const LANES: usize> {
    pub(super) key: [[u8; LANES]; 16],
    pub(super) register: [[u8; LANES]; BLOCK],
}

/// The lane of the job with so many before it. Where octets of eight vectors are put together to blocks, each lane of 128
/// bits does it by itself; jobs take their lanes so that the blocks come out in their order.
const fn lane_of(job: usize, lanes: usize) -> usize {
    let (row, column) = (job / (lanes / BLOCK), job % (lanes / BLOCK));
    (column / 2) * 16 + row * 2 + column % 2
}

impl<const LANES: usize> Planes<LANES> {
    /// Of at most so many jobs. What no job fills is ciphered as well, and nobody looks at it.
    pub(super) fn of(jobs: &[Job<'_>]) -> Self {
        let mut planes = Self { key: [[0; LANES]; 16], register: [[0; LANES]; BLOCK] };
        for (job, n) in jobs.iter().zip(0..) {
            let lane = lane_of(n, LANES);
            spread(&mut planes.key, lane, job.ciphering.kc.ck());
            spread(&mut planes.register, lane, &register(job.input, job.direction).to_be_bytes());
        }
        planes
    }
}

fn spread<const LANES: usize>(planes: &mut [[u8; LANES]], lane: usize, octets: &[u8]) {
    for (plane, octet) in planes.iter_mut().zip(octets) {
        if let Some(place) = plane.get_mut(lane) {
            *place = *octet;
        }
    }
}

/// The higher and the lower octet of the constant of a word of the key.
pub(super) const fn constant(word: usize) -> [u8; 2] {
    let (_, from) = KEY_CONSTANTS.split_at(word % 8);
    match from {
        [value, ..] => value.to_be_bytes(),
        [] => [0; 2],
    }
}

/// `kgcore(jobs)` for at most `LANES` jobs of GEA3 and GEA4, longest first, in a module that has `Vector`, `LANES` and
/// the operations.
macro_rules! kgcore {
    ($features:literal) => {
        /// Words of sixteen bits: their higher octets and their lower ones.
        type Word = [Vector; 2];

        /// A subkey KI (35.202 clause 4.4): its nine lower bits, the ninth of them in bit 7, and its seven upper ones.
        #[derive(Clone, Copy)]
        struct Ki {
            lower: Vector,
            lone: Vector,
            seven: Vector,
        }

        /// Subkeys of one round.
        #[derive(Clone, Copy)]
        struct Round {
            kl: [Word; 2],
            ko: [Word; 3],
            ki: [Ki; 3],
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn xor_words([a, b]: Word, [c, d]: Word) -> Word {
            [xor(a, c), xor(b, d)]
        }

        /// To the left by one.
        #[inline]
        #[target_feature(enable = $features)]
        fn rotated([higher, lower]: Word) -> Word {
            [doubled_with(higher, lower), doubled_with(lower, higher)]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn fl([left, right]: [Word; 2], [and_key, or_key]: &[Word; 2]) -> [Word; 2] {
            let anded = [and(left[0], and_key[0]), and(left[1], and_key[1])];
            let right = xor_words(right, rotated(anded));
            let ored = [or(right[0], or_key[0]), or(right[1], or_key[1])];
            [xor_words(left, rotated(ored)), right]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn fi([higher, lower]: Word, ki: &Ki) -> Word {
            let seven = and(lower, splat(0x7f));
            let (nine, lone) = s9_lone_last(higher, lower);
            let nine = xor(nine, seven);
            let seven = xor(xor(s7(seven), ki.seven), and(nine, splat(0x7f)));
            let (nine, last) = s9_lone_first(xor(nine, ki.lower), xor(lone, ki.lone));
            let nine = xor(nine, seven);
            [xor(add(nine, nine), xor(s7_doubled(seven), last)), nine]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn fo([left, right]: [Word; 2], Round { ko, ki, .. }: &Round) -> [Word; 2] {
            let first = xor_words(fi(xor_words(left, ko[0]), &ki[0]), right);
            let second = xor_words(fi(xor_words(right, ko[1]), &ki[1]), first);
            let third = xor_words(fi(xor_words(first, ko[2]), &ki[2]), second);
            [second, third]
        }

        #[inline]
        #[target_feature(enable = $features)]
        fn encrypt(rounds: &[Round; 8], [a, b, c, d]: [Word; 4]) -> [Word; 4] {
            let (mut left, mut right) = ([a, b], [c, d]);
            for [odd, even] in rounds.as_chunks().0 {
                let [a, b] = fo(fl(left, &odd.kl), odd);
                right = [xor_words(right[0], a), xor_words(right[1], b)];
                let [a, b] = fl(fo(right, even), &even.kl);
                left = [xor_words(left[0], a), xor_words(left[1], b)];
            }
            [left[0], left[1], right[0], right[1]]
        }

        /// The subkeys (35.202 clause 4.6) of a key.
        #[target_feature(enable = $features)]
        fn schedule(key: &[Word; 8]) -> [Round; 8] {
            let zero = [splat(0); 2];
            let key = |word: usize| key.get(word % 8).copied().unwrap_or(zero);
            let by_five = |word: usize| (0..5).fold(key(word), |word, _| rotated(word));
            let swapped = |[higher, lower]: Word| [lower, higher];
            let changed =
                |word: usize| xor_words(key(word), super::lanes::constant(word).map(|octet| splat(octet)));
            let ki = |word: usize| {
                let [higher, lower] = changed(word);
                Ki { lower, lone: lowest_to_top(higher), seven: halved(higher) }
            };
            core::array::from_fn(|n| Round {
                kl: [rotated(key(n)), changed(n + 2)],
                ko: [by_five(n + 1), swapped(key(n + 5)), swapped(by_five(n + 6))],
                ki: [ki(n + 4), ki(n + 3), ki(n + 7)],
            })
        }

        /// KGCORE (55.216 clause 4) over at most as many jobs as there are lanes.
        #[target_feature(enable = $features)]
        fn kgcore(jobs: &mut [Job<'_>]) {
            let planes = Planes::<LANES>::of(jobs);
            let mut octets = planes.key.iter().map(|plane| load(plane));
            let mut word = || [(); 2].map(|()| octets.next().unwrap_or(splat(0)));
            let key: [Word; 8] = core::array::from_fn(|_| word());
            let mut octets = planes.register.iter().map(|plane| load(plane));
            let mut word = || [(); 2].map(|()| octets.next().unwrap_or(splat(0)));
            let register: [Word; 4] = core::array::from_fn(|_| word());
            let modified = key.map(|word| xor_words(word, [splat(KM); 2]));
            let register = encrypt(&schedule(&modified), register);
            let rounds = schedule(&key);
            let mut keystream = [[splat(0); 2]; 4];
            let mut blocks = [0; LANES];
            let longest = jobs.iter().map(|job| job.octets.len()).max().unwrap_or(0);
            for (count, at) in (0_u32..).zip((0..longest).step_by(BLOCK)) {
                let [first, second, third, fourth] = count.to_be_bytes().map(|octet| splat(octet));
                let [a, b, c, d] = keystream;
                let input = [
                    xor_words(a, register[0]),
                    xor_words(b, register[1]),
                    xor_words(xor_words(c, register[2]), [first, second]),
                    xor_words(xor_words(d, register[3]), [third, fourth]),
                ];
                keystream = encrypt(&rounds, input);
                store(keystream, &mut blocks);
                let going_on = jobs.iter_mut().take_while(|job| job.octets.len() > at);
                for (job, block) in going_on.zip(blocks) {
                    add_block(job.octets, at, u64::from_be(block));
                }
            }
        }
    };
}

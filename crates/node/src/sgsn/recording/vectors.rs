//! Test vectors in the place of the HLR's: the n-th vector that the HLR gives is the n-th test vector in the recording, in GSUP
//! and in GMM alike.
//!
//! | value | in the recording |
//! |---|---|
//! | RAND, AUTN | `GANNET-RAND-`, `GANNET-AUTN-` and n |
//! | RES | n, filled up with 0x52 to its length |
//! | SRES | c2 of that RES; n where the vector has no RES |
//! | Kc, CK, IK | one for all: [`TEST_KEYS`] |

use gannet_proto::auth::Res;
use gannet_proto::auth::aka::{UmtsKeys, c2};
use gannet_proto::auth::key::Key128;
use gannet_wire::gsup::ie;
use std::collections::{BTreeMap, VecDeque};

/// CK and IK of every vector of a recording. Kc is c3 of them.
pub const TEST_KEYS: UmtsKeys =
    UmtsKeys { ck: Key128(*b"test CK, no key."), ik: Key128(*b"IK for replay -.") };

/// Vectors that are remembered; the oldest is forgotten first.
const VECTORS_MAX: usize = 4096;
/// Octets by which a value is found.
const PREFIX: usize = 4;

/// A real value and what stands for it.
#[derive(Clone, PartialEq, Eq)]
struct Substitute {
    real: Vec<u8>,
    test: Vec<u8>,
    number: u32,
}

/// What of the HLR's vectors is known.
#[derive(Default)]
pub struct Vectors {
    by_prefix: BTreeMap<[u8; PREFIX], Vec<Substitute>>,
    by_rand: BTreeMap<Vec<u8>, u32>,
    order: VecDeque<(u32, Vec<u8>)>,
    next: u32,
}

/// An element of GSUP: its identifier and its value.
fn elements(mut octets: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    core::iter::from_fn(move || {
        let [iei, len, rest @ ..] = octets else { return None };
        let (value, rest) = rest.split_at_checked(usize::from(*len))?;
        octets = rest;
        Some((*iei, value))
    })
}

fn named(text: &[u8; 12], number: u32) -> Vec<u8> {
    [&text[..], &number.to_be_bytes()].concat()
}

fn test_res(number: u32, len: usize) -> Vec<u8> {
    number.to_be_bytes().into_iter().chain(core::iter::repeat(0x52)).take(len).collect()
}

impl Vectors {
    /// Remembers the vectors that a message of GSUP has.
    pub fn learn(&mut self, gsup: &[u8]) {
        for (_, tuple) in
            elements(gsup.get(1..).unwrap_or_default()).filter(|(iei, _)| *iei == ie::AUTH_TUPLE)
        {
            self.learn_tuple(tuple);
        }
    }

    fn learn_tuple(&mut self, tuple: &[u8]) {
        let of = |wanted: u8| elements(tuple).find(|(iei, _)| *iei == wanted).map(|(_, value)| value);
        let Some(rand) = of(ie::RAND) else { return };
        let number = match self.by_rand.get(rand) {
            Some(number) => *number,
            None => self.new_number(rand),
        };
        let mut add = |real: Option<&[u8]>, test: Vec<u8>| self.add(real, test, number);
        add(Some(rand), named(b"GANNET-RAND-", number));
        add(of(ie::AUTN), named(b"GANNET-AUTN-", number));
        let keys = [(ie::CK, TEST_KEYS.ck.0.to_vec()), (ie::IK, TEST_KEYS.ik.0.to_vec())];
        keys.into_iter()
            .chain([(ie::KC, TEST_KEYS.kc().0.to_vec())])
            .for_each(|(iei, test)| add(of(iei), test));
        let res = of(ie::RES);
        let test = test_res(number, res.map_or(4, <[u8]>::len));
        // A message of GMM has the first four octets of RES in one element and the others in another one.
        if let Some((first, rest)) = res.and_then(|res| res.split_at_checked(4)) {
            add(Some(first), test.get(..4).unwrap_or_default().to_vec());
            add(Some(rest), test.get(4..).unwrap_or_default().to_vec());
        }
        let sres = c2(&Res::from_start(&test)).to_vec();
        add(res.map(|res| c2(&Res::from_start(res))).as_ref().map(<[u8; 4]>::as_slice), sres.clone());
        add(of(ie::SRES), sres);
    }

    fn new_number(&mut self, rand: &[u8]) -> u32 {
        if self.order.len() >= VECTORS_MAX
            && let Some((oldest, rand)) = self.order.pop_front()
        {
            self.by_rand.remove(&rand);
            self.by_prefix.retain(|_, substitutes| {
                substitutes.retain(|substitute| substitute.number != oldest);
                !substitutes.is_empty()
            });
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.by_rand.insert(rand.to_vec(), number);
        self.order.push_back((number, rand.to_vec()));
        number
    }

    /// The rest of a RES of less than eight octets is too short to be told from anything else, and no key.
    fn add(&mut self, real: Option<&[u8]>, test: Vec<u8>, number: u32) {
        let Some(real) = real.filter(|real| real.len() == test.len()) else { return };
        let Some(prefix) = real.first_chunk::<PREFIX>() else { return };
        let substitutes = self.by_prefix.entry(*prefix).or_default();
        if !substitutes.iter().any(|known| known.real == real) {
            substitutes.push(Substitute { real: real.to_vec(), test, number });
        }
    }

    /// Puts test values where real ones stand; true where there was one.
    pub fn replace(&self, octets: &mut [u8]) -> bool {
        let (mut at, mut changed) = (0, false);
        while !self.by_prefix.is_empty() {
            let Some(rest) = octets.get_mut(at..) else { break };
            let Some(prefix) = rest.first_chunk::<PREFIX>() else { break };
            let found = self.by_prefix.get(prefix).and_then(|substitutes| {
                substitutes
                    .iter()
                    .filter(|known| rest.starts_with(&known.real))
                    .max_by_key(|known| known.real.len())
            });
            match found {
                Some(found) => {
                    rest.iter_mut().zip(&found.test).for_each(|(to, from)| *to = *from);
                    (at, changed) = (at + found.test.len(), true);
                }
                None => at += 1,
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::gsup::{AuthTuple, Quintuplet, Triplet};

    fn tuple(of: u8) -> Vec<u8> {
        let quintuplet = Quintuplet {
            ik: [of + 1; 16],
            ck: [of + 2; 16],
            autn: [of + 3; 16],
            res: Res::from_start(&[of + 4, of + 5, of + 6, of + 7, of + 8, of + 9, of + 10, of + 11]),
        };
        let triplet = Triplet { sres: [of + 12; 4], kc: [of + 13; 8] };
        let tuple = AuthTuple { rand: [of; 16], triplet: Some(triplet), quintuplet: Some(quintuplet) };
        let mut value = Vec::new();
        gannet_wire::gsup::ie::Value::encode(&tuple, &mut value);
        [&[0x0a, ie::AUTH_TUPLE, u8::try_from(value.len()).unwrap()], &value[..]].concat()
    }

    /// Of neither vector an octet string of four octets is left, and each has its own test values.
    #[test]
    fn nothing_of_a_vector_is_left() {
        let mut vectors = Vectors::default();
        let (first, second) = (tuple(0x20), tuple(0x60));
        vectors.learn(&first);
        vectors.learn(&second);
        let (mut a, mut b) = (first.clone(), second.clone());
        assert!(vectors.replace(&mut a) && vectors.replace(&mut b));
        for (real, test) in [(&first, &a), (&second, &b)] {
            assert_eq!(real.len(), test.len());
            let values = elements(&real[3..]).map(|(_, value)| value);
            for piece in values.flat_map(|value| value.chunks(4)) {
                assert!(!test.windows(4).any(|window| window == piece), "{piece:02x?}");
            }
        }
        let rand = |octets: &[u8]| octets.windows(12).any(|window| window == b"GANNET-RAND-");
        assert!(rand(&a) && rand(&b) && a != b);
        // In GMM RES comes in two parts, and a mobile without a USIM answers with c2 of it.
        let mut answer = [0x24, 0x25, 0x26, 0x27, 0x29, 4, 0x28, 0x29, 0x2a, 0x2b];
        assert!(vectors.replace(&mut answer));
        assert_eq!(answer, [0, 0, 0, 0, 0x29, 4, 0x52, 0x52, 0x52, 0x52]);
        let mut sres = c2(&Res::from_start(&[0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b]));
        assert!(vectors.replace(&mut sres));
        assert_eq!(sres, [0x52; 4]);
    }

    /// Test vectors are their own substitutes, so that the replay of a recording records the same again.
    #[test]
    fn test_vectors_stay() {
        let mut vectors = Vectors::default();
        let mut once = tuple(0x20);
        vectors.learn(&once);
        vectors.replace(&mut once);
        let mut again = Vectors::default();
        let mut twice = once.clone();
        again.learn(&twice);
        again.replace(&mut twice);
        assert_eq!(once, twice);
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut vectors = Vectors::default();
        for number in 0..=u32::try_from(VECTORS_MAX).unwrap() {
            let rand = [&number.to_be_bytes()[..], &[7; 12]].concat();
            vectors.learn_tuple(&[&[ie::RAND, 16], &rand[..]].concat());
        }
        assert_eq!((vectors.order.len(), vectors.by_rand.len()), (VECTORS_MAX, VECTORS_MAX));
        assert!(!vectors.replace(&mut [&[0; 4][..], &[7; 12]].concat()));
    }
}

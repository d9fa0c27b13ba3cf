//! A mobile and an SGSN whose LLC ciphers, with a path between them that loses and reorders.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::rng::Rng;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::cipher::{BatchCipher, Portable};
use gannet_proto::llc::{Algorithm, Ciphering, Deferred, LlcContext, LlcOutput, LlcRole};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Sapi, Tlli};

const TLLI: Tlli = Tlli(0xc000_0001);
const SAPI: Sapi = Sapi::DATA3;

fn ciphering(algorithm: Algorithm, key: u8) -> Ciphering {
    Ciphering::with_kc(algorithm, [key; 8]).or_else(|| Ciphering::with_kc128(algorithm, [key; 16])).unwrap()
}

/// What comes out of an LL-PDU, and whether it came ciphered.
type Received = (Vec<u8>, bool);

struct End {
    around: Surroundings<Quiet>,
    llc: LlcContext,
    out: Batch<LlcOutput>,
}

impl End {
    fn new(role: LlcRole, ciphering: Ciphering) -> Self {
        let mut end = Self {
            around: Surroundings::new(1, 64, Quiet::default()),
            llc: LlcContext::new(role),
            out: Batch::default(),
        };
        end.assign(ciphering);
        end
    }

    /// LLGMM-ASSIGN.request with the key of a new authentication.
    fn assign(&mut self, ciphering: Ciphering) {
        self.llc.assign(Some(TLLI), None, ciphering);
    }

    fn frame(&self, info: &[u8]) -> Frame {
        self.around.frames.copy_of(info).unwrap()
    }

    fn send(&mut self, sapi: Sapi, protected: bool, info: &[u8]) -> Vec<u8> {
        let mut frame = self.frame(info);
        self.llc.unitdata_request(sapi, protected, true, &mut frame).unwrap();
        frame.to_vec()
    }

    /// What comes out of an LL-PDU, and whether it came ciphered.
    fn receive(&mut self, ll_pdu: &[u8]) -> Option<Received> {
        let frame = self.frame(ll_pdu);
        self.llc.receive(&mut self.around.context(), None, frame, &mut self.out);
        self.out.pop().map(|output| match output {
            LlcOutput::Unitdata { frame, ciphered, .. } => (frame.to_vec(), ciphered),
            other => panic!("{other:?}"),
        })
    }

    /// The same of many that are deciphered together, and how many of them were not what they seemed before those in front
    /// of them had been received.
    fn receive_together(&mut self, ll_pdus: &[Vec<u8>]) -> (Vec<Option<Received>>, usize) {
        let frame = |ll_pdu: &Vec<u8>| (self.frame(ll_pdu), self.llc.deciphering_of(ll_pdu));
        let mut frames: Vec<(Frame, Option<Deferred>)> = ll_pdus.iter().map(frame).collect();
        let jobs = frames.iter_mut().filter_map(|(frame, done)| Some(done.as_ref()?.job(frame)));
        Portable.apply(&mut jobs.collect::<Vec<_>>());
        let (mut received, mut others) = (Vec::new(), 0);
        for ((frame, done), ll_pdu) in frames.into_iter().zip(ll_pdus) {
            others += usize::from(self.llc.deciphering_of(ll_pdu) != done);
            let cx = &mut self.around.context();
            self.llc.receive_deciphered(cx, None, frame, done.as_ref(), &mut self.out);
            received.push(self.out.pop().map(|output| match output {
                LlcOutput::Unitdata { frame, ciphered, .. } => (frame.to_vec(), ciphered),
                other => panic!("{other:?}"),
            }));
        }
        (received, others)
    }

    fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }
}

fn pair(ciphering: Ciphering) -> [End; 2] {
    [End::new(LlcRole::Ms, ciphering), End::new(LlcRole::Sgsn, ciphering)]
}

#[test]
fn every_algorithm_carries_data_both_ways() {
    for algorithm in Algorithm::ALL {
        let [mut ms, mut sgsn] = pair(ciphering(algorithm, 7));
        let [mut clear, _] = pair(Ciphering::NONE);
        let is_on = algorithm != Algorithm::Gea0;
        for n in 0..40_u8 {
            for protected in [true, false] {
                let info: Vec<u8> = (0..=250).cycle().skip(n.into()).take(7 * usize::from(n)).collect();
                let up = ms.send(SAPI, protected, &info);
                let plain = clear.send(SAPI, protected, &info);
                assert_eq!((up.len(), up == plain), (plain.len(), !is_on), "{algorithm}");
                assert_eq!(sgsn.receive(&up), Some((info.clone(), is_on)), "{algorithm}");
                let down = sgsn.send(SAPI, protected, &info);
                assert_ne!(up, down, "{algorithm}: the direction counts");
                assert_eq!(ms.receive(&down), Some((info, is_on)), "{algorithm}");
            }
        }
        assert_eq!([ms.drops(), sgsn.drops()], [[], []]);
    }
}

#[test]
fn the_same_octets_are_ciphered_differently_each_time_also_where_n_u_is_the_same() {
    let [mut ms, mut sgsn] = pair(ciphering(Algorithm::Gea3, 7));
    let first = ms.send(SAPI, true, b"the same");
    assert!(sgsn.receive(&first).is_some());
    for _ in 1..512 {
        let ll_pdu = ms.send(SAPI, true, b"the same");
        assert!(sgsn.receive(&ll_pdu).is_some());
    }
    let next = ms.send(SAPI, true, b"the same");
    assert_eq!(next[..3], first[..3], "N(U) is 0 again");
    assert_ne!(next[3..], first[3..], "OC is not");
    assert_eq!(sgsn.receive(&next), Some((b"the same".to_vec(), true)));
    // Each SAPI counts for itself, and SX keeps them apart.
    let other = ms.send(Sapi::DATA5, true, b"the same");
    assert_ne!(other[3..], first[3..]);
    assert_eq!(sgsn.receive(&other), Some((b"the same".to_vec(), true)));
}

#[test]
fn lost_and_reordered_frames_do_not_disturb_the_counters_over_many_wraps() {
    for algorithm in [Algorithm::Gea1, Algorithm::Gea2, Algorithm::Gea3, Algorithm::Gea4] {
        let [mut ms, mut sgsn] = pair(ciphering(algorithm, 3));
        let mut rng = Rng::seeded(algorithm.number().into());
        let mut delivered = 0;
        let mut number = 0_u32;
        while number < 3000 {
            // Sometimes the path is gone for long, but for less than N(U) can tell.
            if rng.chance(0.02) {
                for _ in 0..200 {
                    ms.send(SAPI, true, b"lost");
                    number += 1;
                }
            }
            let mut window: Vec<(u32, Vec<u8>)> = (0..8)
                .map(|_| {
                    number += 1;
                    (number, ms.send(SAPI, true, &number.to_be_bytes()))
                })
                .collect();
            while !window.is_empty() {
                let at = usize::try_from(rng.below(window.len() as u64)).unwrap();
                let (number, ll_pdu) = window.swap_remove(at);
                if rng.chance(0.9) {
                    assert_eq!(
                        sgsn.receive(&ll_pdu),
                        Some((number.to_be_bytes().to_vec(), true)),
                        "{algorithm}"
                    );
                    assert_eq!(sgsn.receive(&ll_pdu), None, "a repetition");
                    delivered += 1;
                }
            }
        }
        assert!(delivered > 1000, "{delivered}");
        assert_eq!(sgsn.drops(), [(Drop::LlcDuplicate, delivered)]);
    }
}

#[test]
fn a_wrong_key_is_dropped_by_name_and_harms_nothing() {
    for algorithm in [Algorithm::Gea1, Algorithm::Gea2, Algorithm::Gea3, Algorithm::Gea4] {
        let [mut ms, mut sgsn] = pair(ciphering(algorithm, 1));
        sgsn.assign(ciphering(algorithm, 2));
        for _ in 0..600 {
            let ll_pdu = ms.send(SAPI, true, b"with another key");
            assert_eq!(sgsn.receive(&ll_pdu), None);
        }
        assert_eq!(sgsn.drops(), [(Drop::LlcBadFcs, 600)]);
        // Who has no key at all says so.
        sgsn.assign(Ciphering::NONE);
        let ll_pdu = ms.send(SAPI, true, b"ciphered");
        assert_eq!(sgsn.receive(&ll_pdu), None);
        assert_eq!(sgsn.drops(), [(Drop::LlcBadFcs, 600), (Drop::LlcCiphered, 1)]);
        // Both begin again with the same key: what could not be read has moved no counter.
        let [mut ms, _] = pair(ciphering(algorithm, 4));
        sgsn.assign(ciphering(algorithm, 4));
        let ll_pdu = ms.send(SAPI, true, b"with the right key");
        assert_eq!(sgsn.receive(&ll_pdu), Some((b"with the right key".to_vec(), true)));
    }
}

#[test]
fn gmm_speaks_in_the_clear_before_ciphering_starts_and_where_it_wants_to() {
    let [mut ms, mut sgsn] = pair(Ciphering::NONE);
    let request = ms.send(Sapi::GMM, true, b"attach request");
    assert_eq!(sgsn.receive(&request), Some((b"attach request".to_vec(), false)));
    // The network ciphers from now on; a message that the mobile sent before arrives late.
    let late = ms.send(Sapi::GMM, true, b"in the clear");
    sgsn.assign(ciphering(Algorithm::Gea4, 5));
    assert_eq!(sgsn.receive(&late), Some((b"in the clear".to_vec(), false)));
    let mut frame = sgsn.frame(b"authentication");
    sgsn.llc.unitdata_request(Sapi::GMM, true, false, &mut frame).unwrap();
    assert_eq!(ms.receive(&frame), Some((b"authentication".to_vec(), false)));
    ms.assign(ciphering(Algorithm::Gea4, 5));
    let complete = ms.send(Sapi::GMM, true, b"attach complete");
    assert_eq!(sgsn.receive(&complete), Some((b"attach complete".to_vec(), true)));
    assert_eq!([ms.drops(), sgsn.drops()], [[], []]);
}

#[test]
fn user_data_in_the_clear_is_dropped_by_name_on_a_ciphered_link() {
    for algorithm in [Algorithm::Gea1, Algorithm::Gea2, Algorithm::Gea3, Algorithm::Gea4] {
        let [mut ms, mut sgsn] = pair(ciphering(algorithm, 6));
        let mut frame = ms.frame(b"in the clear");
        ms.llc.unitdata_request(SAPI, true, false, &mut frame).unwrap();
        assert_eq!(sgsn.receive(&frame), None);
        assert_eq!(sgsn.drops(), [(Drop::LlcUnciphered, 1)]);
        // It has moved no counter: its number is still free.
        let [mut ms, _] = pair(ciphering(algorithm, 6));
        let ll_pdu = ms.send(SAPI, true, b"ciphered");
        assert_eq!(sgsn.receive(&ll_pdu), Some((b"ciphered".to_vec(), true)));
        assert_eq!(sgsn.llc.ciphering(), ciphering(algorithm, 6));
    }
}

#[test]
fn what_is_deferred_goes_out_as_what_is_not() {
    let mut rng = Rng::seeded(3);
    let keys = |n: u8| ciphering(Algorithm::ALL[usize::from(n) % 5], n);
    let mut mobiles: Vec<[End; 3]> = (0..23)
        .map(|n| {
            let sgsn = || End::new(LlcRole::Sgsn, keys(n));
            [End::new(LlcRole::Ms, keys(n)), sgsn(), sgsn()]
        })
        .collect();
    for round in 0..40_u8 {
        let mut waiting: Vec<(Option<Deferred>, Frame)> = Vec::new();
        let mut expected = Vec::new();
        for [_, one, other] in &mut mobiles {
            let len = usize::try_from(rng.below(400)).unwrap();
            let info = vec![round; len];
            let mut frame = one.frame(&info);
            let deferred = one.llc.unitdata_request_deferred(None, (SAPI, true, true), &mut frame).unwrap();
            // What happens to the mobile afterwards is no matter for a frame that has its number.
            one.assign(Ciphering::NONE);
            assert!(frame.prepend(b"BSSGP and NS"));
            waiting.push((deferred, frame));
            expected.push((other.send(SAPI, true, &info), info));
        }
        let mut jobs: Vec<_> = waiting
            .iter_mut()
            .filter_map(|(deferred, frame)| deferred.as_ref().map(|deferred| deferred.job(frame)))
            .collect();
        assert_eq!(jobs.len(), 18, "those of GEA0 have nothing to do");
        Portable.apply(&mut jobs);
        for (n, (((_, frame), (ll_pdu, info)), [ms, one, _])) in
            (0..).zip(waiting.iter().zip(&expected).zip(&mut mobiles))
        {
            assert_eq!(frame[b"BSSGP and NS".len()..], ll_pdu[..]);
            assert_eq!(ms.receive(ll_pdu), Some((info.clone(), n % 5 != 0)));
            one.assign(keys(n));
        }
    }
}

/// Frames that come late, twice, damaged, in the clear, or after hundreds that were lost; after a restart as well.
fn turbulent(ms: &mut End, dice: &mut Rng) -> Vec<Vec<u8>> {
    let mut ll_pdus = Vec::new();
    for _ in 0..=dice.below(31) {
        let lost = if dice.chance(0.05) { dice.below(470) } else { 0 };
        (0..lost).for_each(|_| drop(ms.send(SAPI, true, &[0])));
        let info = vec![dice.u32().to_le_bytes()[0]; usize::try_from(dice.below(60)).unwrap()];
        let mut ll_pdu = ms.send(SAPI, dice.chance(0.5), &info);
        if dice.chance(0.05) {
            let at = usize::try_from(dice.below(ll_pdu.len() as u64)).unwrap();
            ll_pdu[at] ^= 0x10;
        }
        if dice.chance(0.1) {
            ll_pdus.push(ll_pdu.clone());
        }
        ll_pdus.push(ll_pdu);
    }
    for _ in 0..dice.below(8) {
        let [one, other] = [(); 2].map(|()| usize::try_from(dice.below(ll_pdus.len() as u64)).unwrap());
        ll_pdus.swap(one, other);
    }
    ll_pdus
}

#[test]
fn frames_that_are_deciphered_together_are_received_as_one_after_the_other() {
    let mut others = 0;
    for seed in 0..4 {
        let mut dice = Rng::seeded(seed);
        let [mut ms, mut one] = pair(ciphering(Algorithm::Gea3, 7));
        let [_, mut many] = pair(ciphering(Algorithm::Gea3, 7));
        for round in 0..25 {
            let ll_pdus = turbulent(&mut ms, &mut dice);
            if dice.chance(0.05) {
                let now = one.around.now;
                one.llc.restore(now);
                many.llc.restore(now);
            }
            let expected: Vec<_> = ll_pdus.iter().map(|ll_pdu| one.receive(ll_pdu)).collect();
            let (received, different) = many.receive_together(&ll_pdus);
            others += different;
            assert_eq!(received, expected, "seed {seed}, round {round}");
            assert_eq!(many.llc, one.llc, "seed {seed}, round {round}");
        }
        assert_eq!(many.drops(), one.drops(), "seed {seed}");
    }
    assert!(others > 0, "some had another OC when their turn came");
}

#[test]
fn a_key_that_changes_behind_a_batch_is_the_one_that_counts() {
    let (old, new) = (ciphering(Algorithm::Gea3, 7), ciphering(Algorithm::Gea3, 8));
    let [mut ms, mut sgsn] = pair(new);
    let ll_pdu = ms.send(SAPI, true, b"information");
    sgsn.assign(old);
    let mut frame = sgsn.frame(&ll_pdu);
    let done = sgsn.llc.deciphering_of(&ll_pdu).unwrap();
    done.job(&mut frame).alone();
    sgsn.assign(new);
    let cx = &mut sgsn.around.context();
    assert!(sgsn.llc.receive_deciphered(cx, None, frame, Some(&done), &mut sgsn.out));
    let Some(LlcOutput::Unitdata { frame, ciphered: true, .. }) = sgsn.out.pop() else { panic!() };
    assert_eq!(frame[..], *b"information");
    // What LLC drops for something else is not deciphered at all.
    let clear = pair(Ciphering::NONE)[0].send(SAPI, true, b"in the clear");
    assert_eq!(sgsn.llc.deciphering_of(&clear), None);
    assert_eq!(sgsn.llc.deciphering_of(&[0x41]), None);
    let [mut long, _] = pair(new);
    let mut frame = long.frame(&[0; 400]);
    long.llc.unitdata_request(SAPI, true, true, &mut frame).unwrap();
    assert!(sgsn.llc.deciphering_of(&frame).is_some());
    sgsn.assign(Ciphering::NONE);
    assert_eq!(sgsn.llc.deciphering_of(&frame), None, "nobody has a key for it");
}

/// The cipher is a stream and the FCS is linear: who knows where a bit is can turn it, and no key is needed.
#[test]
fn a_bit_that_is_turned_on_the_way_passes_the_cipher() {
    for algorithm in [Algorithm::Gea1, Algorithm::Gea3, Algorithm::Gea4] {
        let [mut ms, mut sgsn] = pair(ciphering(algorithm, 7));
        let text = b"pay 100 to the gull";
        let mut ll_pdu = ms.send(SAPI, true, text);
        assert!(!ll_pdu.windows(3).any(|part| part == b"100"), "it is ciphered");
        // '1' becomes '9': the header is three octets long, and the FCS the last three.
        let (header, place, turned) = (3, 4, b'1' ^ b'9');
        let mut difference = vec![0; header + text.len()];
        difference[header + place] = turned;
        let zeros = vec![0; difference.len()];
        let (one, other) = (fcs24(&difference), fcs24(&zeros));
        ll_pdu[header + place] ^= turned;
        let fcs = ll_pdu.len() - 3;
        for (octet, (one, other)) in ll_pdu[fcs..].iter_mut().zip(one.iter().zip(other)) {
            *octet ^= one ^ other;
        }
        assert_eq!(sgsn.receive(&ll_pdu), Some((b"pay 900 to the gull".to_vec(), true)), "{algorithm:?}");
    }
}

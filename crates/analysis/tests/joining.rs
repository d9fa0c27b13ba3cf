//! What was cut into pieces comes back, whatever the order of the pieces and however often they come.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "a test fails by panicking"
)]

use gannet_analysis::join::rlc::{Joined, TbfKey, Tbfs};
use gannet_analysis::join::sndcp::{ContextKey, NPdus};
use gannet_analysis::record::{DataBlock, Direction, Proof, Stamp};
use gannet_wire::id::Nsapi;
use gannet_wire::rlcmac::block::Body;
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::sndcp::{Compression, Header, Pdu};
use proptest::prelude::*;

const PROOF: Proof = Proof { file: 0, frame: 1 };

/// Blocks of CS-1: the last of each LL-PDU has an indicator.
fn cut(ll_pdus: &[Vec<u8>]) -> Vec<(DataBlock, Body)> {
    let mut bodies = Vec::new();
    for ll_pdu in ll_pdus {
        let mut rest = &ll_pdu[..];
        while rest.len() >= 20 {
            let (piece, behind) = rest.split_at(20);
            bodies.push(Body::compose(CodingScheme::Cs1, None, (&[], false), [piece]).unwrap());
            rest = behind;
        }
        // Where nothing is left, the LL-PDU ends with a length of 0 in the next block... which is not cut here.
        bodies.push(Body::compose(CodingScheme::Cs1, None, (&[rest.len() as u8], false), [rest]).unwrap());
    }
    let last = bodies.len() - 1;
    let block = |(number, body): (usize, Body)| {
        let data = DataBlock {
            scheme: Some(body.scheme()),
            tfi: 3,
            bsn: (number % 128) as u8,
            countdown: if number == last { 0 } else { 15 },
            digest: gannet_analysis::decode::ip::digest(&[body.octets(), &number.to_be_bytes()].concat()),
            ..DataBlock::default()
        };
        (data, body)
    };
    bodies.into_iter().enumerate().map(block).collect()
}

fn ll_pdus() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let one = (prop::collection::vec(any::<u8>(), 1..300)).prop_map(|mut octets| {
        if octets.len() % 20 == 0 {
            octets.push(7);
        }
        octets
    });
    prop::collection::vec(one, 1..40)
}

fn take(tbfs: &mut Tbfs, blocks: &[(DataBlock, Body)]) -> Vec<Joined> {
    let mut out = Vec::new();
    for (block, body) in blocks {
        let key = TbfKey::new(0, 871, Direction::Down, block.tfi);
        tbfs.take(key, block, body, (Stamp(1), PROOF), &mut out);
    }
    out
}

proptest! {
    #[test]
    fn blocks_that_come_twice_and_late_make_the_same_ll_pdus(
        ll_pdus in ll_pdus(),
        shifts in prop::collection::vec(0..20_usize, 1..64),
        again in prop::collection::vec(any::<bool>(), 1..64),
    ) {
        let blocks = cut(&ll_pdus);
        let mut order: Vec<(usize, usize)> = (0..blocks.len()).map(|n| (n + shifts[n % shifts.len()], n)).collect();
        // The first block of a TBF is there first, as far as a listener can tell.
        order[0] = (0, 0);
        order.sort();
        let mut sent = Vec::new();
        for (_, n) in order {
            sent.push(blocks[n].clone());
            if again[n % again.len()] {
                sent.push(blocks[n].clone());
            }
        }
        let mut tbfs = Tbfs::default();
        tbfs.assigned(TbfKey::new(0, 871, Direction::Down, 3), Some(0xc000_0001));
        let joined = take(&mut tbfs, &sent);
        let octets: Vec<_> = joined.iter().map(|joined| joined.octets.clone()).collect();
        prop_assert_eq!(octets, ll_pdus);
        prop_assert!(joined.iter().all(|joined| joined.tlli == Some(0xc000_0001)));
        let counts = tbfs.counts();
        prop_assert_eq!((counts.tbfs, counts.missing, counts.lost), (1, 0, 0));
        prop_assert_eq!(counts.again as usize, sent.len() - blocks.len());
    }

    #[test]
    fn segments_in_any_order_make_the_n_pdu(octets in prop::collection::vec(any::<u8>(), 1..1500), size in 100..600_usize, turn in 0..16_usize) {
        let segments: Vec<_> = octets.chunks(size).collect();
        let key = ContextKey { place: 0, is_up: true, mobile: 1, nsapi: 5 };
        let mut n_pdus = NPdus::default();
        let mut found = Vec::new();
        for n in 0..segments.len() {
            let at = (n + turn) % segments.len();
            let pdu = Pdu::Unitdata { first: (at == 0).then_some(Compression::NONE), segment: at as u8, number: 4095 };
            let header = Header { nsapi: Nsapi(5), more: at + 1 < segments.len(), pdu };
            found.extend(n_pdus.take(key, &header, segments[at], (Stamp(n as u64), PROOF)));
        }
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(&found[0].octets, &octets);
        prop_assert_eq!((found[0].number, usize::from(found[0].count), found[0].began), (4095, segments.len(), Stamp(0)));
    }
}

/// A block that the capture lacks costs the LL-PDUs that it is part of, and no more.
#[test]
fn a_missing_block_is_passed_over() {
    let ll_pdus: Vec<Vec<u8>> = (0..30_u8).map(|n| vec![n; 110]).collect();
    let mut blocks = cut(&ll_pdus);
    // The third block of the second LL-PDU; each has six.
    blocks.remove(8);
    let mut tbfs = Tbfs::default();
    let joined = take(&mut tbfs, &blocks);
    let mut expected = ll_pdus;
    expected.remove(1);
    assert_eq!(joined.into_iter().map(|it| it.octets).collect::<Vec<_>>(), expected);
    let counts = tbfs.counts();
    assert_eq!((counts.tbfs, counts.missing, counts.lost), (1, 1, 1));
}

/// The same TFI serves one TBF after the other.
#[test]
fn a_tfi_is_used_again() {
    let mut tbfs = Tbfs::default();
    for n in 0..5_u8 {
        let sent = vec![vec![n; 50], vec![n; 33]];
        let joined = take(&mut tbfs, &cut(&sent));
        assert_eq!(joined.into_iter().map(|it| it.octets).collect::<Vec<_>>(), sent);
    }
    assert_eq!(tbfs.counts().tbfs, 5);
}

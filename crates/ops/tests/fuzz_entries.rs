//! The entries of the fuzz targets, with generated octets: any at all, and messages with some octets changed.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../../../fuzz/entries.rs"]
mod entries;

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

type Seed = (fn(&[u8]), Vec<u8>);

/// What `fuzz/seeds` has: a directory for each target, where every fuzzer begins too.
static SEEDS: LazyLock<Vec<Seed>> = LazyLock::new(|| {
    let targets = entries::ALL.iter().map(|(name, entry)| (*entry, seeds_of(name)));
    targets.flat_map(|(entry, seeds)| seeds.into_iter().map(move |seed| (entry, seed))).collect()
});

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn seeds_of(target: &str) -> Vec<Vec<u8>> {
    let directory = std::fs::read_dir(fuzz().join("seeds").join(target)).expect("each target has seeds");
    let mut paths: Vec<PathBuf> = directory.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a seed")).collect()
}

/// LL-ESTABLISH.confirm, three N-PDUs, the last two of which LLC refuses, and the first comes back. Then all goes out again.
const COMES_BACK: &[u8] = b"\x00\x02\x09\x06\x0b\x00a\x06\x0b\x00b\x08\x0b\xe0cd\x04\x11\x02\x02\x10\x02\x09";

#[test]
fn each_target_has_its_entry_and_its_place() {
    let root = fuzz();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let mut targets: Vec<String> = std::fs::read_dir(root.join("fuzz_targets"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    targets.sort();
    assert_eq!(targets, entries::ALL.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
    for target in targets {
        assert!(manifest.contains(&format!("\nname = \"{target}\"\n")), "{target} is not in fuzz/Cargo.toml");
    }
}

/// Nothing panics on a seed, and what parses is emitted and parses to the same again.
#[test]
fn every_entry_takes_its_seeds() {
    for (name, entry) in entries::ALL {
        let seeds = seeds_of(name);
        assert!(!seeds.is_empty(), "{name} has no seed");
        for seed in seeds {
            assert!((1..=2048).contains(&seed.len()), "{name}: the fuzzer takes no more than 2048 octets");
            entry(&seed);
        }
    }
}

/// An octet that says how long it is, and a primitive of `sndcp_links`.
fn primitive(kind: u8, octets: &[u8]) -> Vec<u8> {
    [&[u8::try_from(octets.len() + 1).expect("a short one") << 1, kind], octets].concat()
}

#[test]
fn what_llc_refuses_and_what_it_returns_goes_out_again() {
    let confirm = primitive(9, &[]);
    let n_pdu = |first: u8, n_pdu: &[u8]| primitive(11, &[&[first], n_pdu].concat());
    let (refused, returned) = (primitive(17, &[1 << 1]), primitive(16, &[]));
    let all = [&n_pdu(0, b"a"), &n_pdu(0, b"b"), &n_pdu(7 << 5, b"cd")].map(|it| &**it).concat();
    let given = |primitives: &[&[u8]]| {
        let given = entries::given_to_llc(&[&[0], &*primitives.concat()].concat());
        given.iter().map(|sn_pdu| String::from_utf8_lossy(&sn_pdu[3..]).into_owned()).collect::<Vec<_>>()
    };
    let long = "cd".repeat(8);
    let once = ["a", "b", &long];
    assert_eq!(given(&[&confirm, &all]), once);
    // What has not come back by then was lost with LLC.
    assert_eq!(given(&[&confirm, &all, &confirm]), once);
    assert_eq!(given(&[&confirm, &all, &refused, &confirm]), [&once, &once[1..]].concat());
    assert_eq!(given(&[&confirm, &all, &returned, &confirm]), [once, once].concat());
    assert_eq!(given(&[&confirm, &all, &refused, &returned, &confirm]), [once, once].concat());
    // What comes back may also be something else: the second is missing there.
    let others = primitive(16, b"\x03\x0a\x00...x\x0a\x02...z");
    assert_eq!(given(&[&confirm, &all, &others, &confirm]), [&once[..], &["x", "z"]].concat());
    // One in two SN-PDUs goes out as a whole again, also where LLC has taken the first.
    let cut = n_pdu(7 << 5, &[b'.'; 100]);
    let lens = |given: Vec<String>| given.iter().map(String::len).collect::<Vec<_>>();
    assert_eq!(lens(given(&[&confirm, &cut, &refused, &confirm])), [497, 301, 497, 301]);
    assert_eq!([&[0], &*confirm, &all, &refused, &returned, &confirm].concat(), COMES_BACK);
    assert!(seeds_of("sndcp_links").iter().any(|seed| seed == COMES_BACK));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_octets(octets in proptest::collection::vec(any::<u8>(), 0..200)) {
        entries::ALL.iter().for_each(|(_, entry)| entry(&octets));
    }

    #[test]
    fn messages_with_octets_changed(
        seed in 0..SEEDS.len(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        more in proptest::collection::vec(any::<u8>(), 0..40),
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let (entry, seed) = &SEEDS[seed];
        let mut octets = [&seed[..], &more].concat();
        for (place, octet) in changes {
            let place = place.index(octets.len());
            octets[place] = octet;
        }
        if is_cut {
            octets.truncate(cut.index(octets.len()));
        }
        entry(&octets);
    }
}

//! The entries of the fuzz targets, with generated octets: any at all, and messages with some octets changed.

#![allow(clippy::indexing_slicing, reason = "a test may panic")]

#[path = "../../../fuzz/entries.rs"]
mod entries;

use proptest::prelude::*;

/// The beginnings of messages, so that generated octets come further than the first element.
const SEEDS: &[(&str, &[u8])] = &[
    ("ctrl", b"\x05GET 1 rate_ctr.abs.sgsn.0.attached"),
    ("ctrl", b"\x01SET 2 list value"),
    ("gsup", b"\x0c\x01\x08\x00\x01\x01\x00\x00\x00\x00\xf1\x28\x01\x01"),
    ("gsup", b"\x02\x00\x02\xfe\x05\x00\x00\x0d\xee\x05\x08\x01\x08\x00\x01\x01\x00\x00\x00\x00\xf1"),
    ("sns", b"\x06\x00\x04\x82\x01\x01\x01\x01\x01\x00\x02\x03\x00\x08"),
    ("sns", b"\x03\x01\x04\x82\x01\x01\x05\x88\x0a\x00\x00\x01\x59\xd8\x01\x01"),
    ("gtp_v0", b"\x1e\x10\x00\x0a\x00\x01\x00\x00\xff\xff\xff\xff\x00\x01\x01\x00\x00\x00\x10\xf5\x06\x0b\x92\x1f\x0e\x01\x0f\xff\x10\x00\x01"),
    ("gtp", b"\x32\x10\x00\x04\x00\x00\x00\x00\x00\x01\x00\x00"),
    ("ns", b"\x02\x00\x81\x00\x01\x82\x00\x01\x04\x82\x00\x01"),
];

fn entry(name: &str) -> fn(&[u8]) {
    let found = entries::ALL.iter().find(|(own, _)| *own == name);
    found.map(|(_, entry)| *entry).expect("an entry")
}

#[test]
fn each_target_has_its_entry_and_its_place() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
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
        let (name, seed) = SEEDS[seed];
        let mut octets = [seed, &more].concat();
        for (place, octet) in changes {
            let place = place.index(octets.len());
            octets[place] = octet;
        }
        if is_cut {
            octets.truncate(cut.index(octets.len()));
        }
        entry(name)(&octets);
    }
}

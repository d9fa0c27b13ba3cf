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
    ("sndcp_links", COMES_BACK),
];

/// LL-ESTABLISH.confirm, three N-PDUs, the last two of which LLC refuses, and the first comes back. Then all goes out again.
const COMES_BACK: &[u8] = b"\x00\x02\x09\x06\x0b\x00a\x06\x0b\x00b\x08\x0b\xe0cd\x04\x11\x02\x02\x10\x02\x09";

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

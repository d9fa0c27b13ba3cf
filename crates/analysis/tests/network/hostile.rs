//! Whatever is in a datagram, nothing panics and memory stays bounded.

use super::gb::{Made, S, cell};
use gannet_analysis::Settings;
use gannet_analysis::findings::analyze;
use proptest::prelude::*;

fn keys() -> Settings {
    let keys = ["0123456789abcdef", "00112233445566778899aabbccddeeff"];
    Settings { keys: keys.iter().map(|key| key.parse().unwrap()).collect(), ..Settings::default() }
}

/// LL-PDUs that begin like those of layer 3, XID, I and UI frames.
fn ll_pdu() -> impl Strategy<Value = Vec<u8>> {
    let head = prop::sample::select(vec![
        vec![0x01, 0xc0, 0x01],
        vec![0x41, 0xc0, 0x05, 0x08],
        vec![0x01, 0xc0, 0x01, 0x0a],
        vec![0x43, 0xc0, 0x03],
        vec![0x03, 0xfb],
        vec![0x43, 0xf7],
        vec![0x03, 0x00, 0x00, 0x00],
        vec![0x03, 0xc0, 0x01, 0x65],
    ]);
    (head, prop::collection::vec(any::<u8>(), 0..80), any::<bool>()).prop_map(|(head, rest, is_right)| {
        let mut octets = [head, rest].concat();
        if is_right {
            octets.extend(gannet_wire::fcs24::fcs24(&octets));
        }
        octets
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_ll_pdus_and_datagrams_are_taken(
        frames in prop::collection::vec((ll_pdu(), any::<bool>(), 0..4_u32, 1..4_u16, 0..20_u64), 1..60),
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..20),
    ) {
        let mut made = Made::default();
        for (octets, is_up, tlli, at, seconds) in frames {
            let now = made.now + seconds * S;
            made.at(now);
            if is_up {
                made.up(0xc000_0000 + tlli, cell(at), &octets);
            } else {
                made.down(0xc000_0000 + tlli, at, None, &octets);
            }
        }
        for (n, octets) in datagrams.iter().enumerate() {
            made.datagram(n % 2 == 0, if n % 3 == 0 { 2123 } else { 23000 }, octets);
        }
        let mut reading = made.reading(keys());
        let report = analyze(&mut reading);
        let counts = reading.counts();
        prop_assert_eq!(counts.cipher.ciphered, counts.cipher.opened + counts.cipher.refused + counts.cipher.without_key);
        let sum = counts.compression.restored + counts.compression.unknown + counts.compression.lost;
        prop_assert_eq!(counts.compression.compressed, sum);
        prop_assert!(report.text().lines().count() == report.findings.len());
        prop_assert!(serde_json::to_string(&report).is_ok());
    }
}

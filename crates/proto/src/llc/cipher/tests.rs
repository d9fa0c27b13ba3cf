//! Known answers, and batches against one by one.

use super::*;

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| u8::try_from(pair[0] << 4 | pair[1]).unwrap()).collect()
}

fn ciphering(algorithm: Algorithm, kc: &str) -> Ciphering {
    let kc = octets(kc);
    match algorithm {
        Algorithm::Gea4 => Ciphering::with_kc128(algorithm, kc.try_into().unwrap()).unwrap(),
        _ => Ciphering::with_kc(algorithm, kc.try_into().unwrap()).unwrap(),
    }
}

/// Algorithm, Kc, INPUT, DIRECTION, plain text, ciphered text.
type Answer = (Algorithm, &'static str, u32, Direction, &'static str, &'static str);

/// Of GEA1 and GEA2 the vectors that go with Beierle et al. 2021.
const OLD: [Answer; 6] = [
    (
        Algorithm::Gea1,
        "0000000000000000",
        0,
        Direction::Uplink,
        "000000000000000000000000000000000000",
        "1fa198ab2114c38a9ebccb63ad4813a740c1",
    ),
    (
        Algorithm::Gea1,
        "55e303eb7d55b685",
        0xda63_7a83,
        Direction::Downlink,
        "6e00cfe7b7fb974892b8cde5e43363397d85",
        "58dad06457b9fe1015da0776ed19907b7888",
    ),
    (
        Algorithm::Gea1,
        "a7265d1932a0d618",
        0x0e9b_8adf,
        Direction::Uplink,
        "96e7b1d92b1ea8fcdda41233c63294055383",
        "d72197f65d4d67b14d2cee812cb0b9bea0c9",
    ),
    (
        Algorithm::Gea2,
        "0000000000000000",
        0,
        Direction::Uplink,
        "000000000000000000000000000000000000",
        "045115d5e5a2d62541da078b18baa53ffe14",
    ),
    (
        Algorithm::Gea2,
        "b10f389b78a61648",
        0x24c0_5b01,
        Direction::Downlink,
        "eabf6d3c6ba5dbf76ebb3c4c0ac0240cb0ab",
        "5156569d2ab98257be1a37d60ddf07ae9075",
    ),
    (
        Algorithm::Gea2,
        "0c34b2940a9707fd",
        0xf59c_c96a,
        Direction::Uplink,
        "f9373de52ea62c49069711e83389d037fc17",
        "509c19b78d1d4ceb49c3b1f43df014f74cda",
    ),
];

/// Keystreams: of GEA3 those of 55.217 and 55.218, of GEA4 those of 55.226.
const KEYSTREAMS: [(Algorithm, &str, u32, Direction, &str); 9] = [
    (
        Algorithm::Gea3,
        "2BD6459F82C5BC00",
        0x8e94_21a3,
        Direction::Uplink,
        "5F359709DE950D0105B17B6C90194280F880B48DCCDC2AFEED415DBEF4354EEBB21D073CCBBFB2D706BD7AFFD371FC96E3970D143DCB2624054826",
    ),
    (
        Algorithm::Gea3,
        "952C49104881FF48",
        0x5064_db71,
        Direction::Uplink,
        "FDC03D738C8E14FF0320E59AAF75760799E9DA78DD8F888471C4AEAAC1849633A26CD84F459D265B83D7D9B9A0B1E54F4D75E331640DF19E0DB0E0",
    ),
    (
        Algorithm::Gea3,
        "EFA8B2229E720C2A",
        0x4bdb_d5e5,
        Direction::Downlink,
        "4718A2ADFC90590949DDADAB406EC3B925F1AF1214673909DAAB96BB4C18B1374BB1E99445A81CC856E47C6E49E9DBB9873D0831B2175CA1E109BA",
    ),
    (
        Algorithm::Gea3,
        "3451F23A43BD2C87",
        0x893f_e14f,
        Direction::Uplink,
        "B46B1E284E3F8B63B86D9DF0915CFCEDDF2F061895BF9F82BF2593AE4847E94A4626C393CF8941CE15EA7812690D8415B88C5730FE1F5D410E16A2",
    ),
    (
        Algorithm::Gea3,
        "CAA2639BE82435CF",
        0x8fe1_7885,
        Direction::Downlink,
        "9FEFAF155A26CF35603E727CDAA87BA067FD84FF98A50B7FF0EC8E95A0FB70E79CB93DEE2B7E9AB59D050E1262401571F349C68229DDF0DECC4E85",
    ),
    (
        Algorithm::Gea3,
        "1ACA8B448B767B39",
        0x4f7b_c3b5,
        Direction::Uplink,
        "514F6C3A3B5A55CA190092F7BB6E80EF3EDB738FCDCE2FF90BB387DDE75BBC32A04A67B898A3DFB8198FFFC37D437CF69E7F9C13B51A868720E750",
    ),
    (
        Algorithm::Gea4,
        "D3C5D592327FB11C4035C6680AF8C6D1",
        0x0a3a_59b4,
        Direction::Uplink,
        "6E217CE41EBEFB5EC8094C15974290065E42BABC9AE35654A53085CE68DFA4426A2FF0AD4AF3341006A3F84B7613ACB4FBDC34",
    ),
    (
        Algorithm::Gea4,
        "3D43C388C9581E337FF1F97EB5C1F85E",
        0x4857_1ab9,
        Direction::Uplink,
        "FC7314EF00A63ED0116F236C5D25C54EEC56A5B71F9F18B4D7941F84E422ACBDE5EEA9A204679002D14F312F3DEE2A1AC917C3FBDC3696143C0F5D",
    ),
    (
        Algorithm::Gea4,
        "A4496A64DF4F399F3B4506814A3E07A1",
        0xeb04_ade2,
        Direction::Downlink,
        "2AEB5970FB06B718027D048488AAF24FB3B74EA4A6B1242FF85B108FF816A303C72757D9AAD862B835D1D287DBC141D0A28D79D87BB137CD1198CD",
    ),
];

#[test]
fn known_answers() {
    for (algorithm, kc, input, direction, plain, ciphered) in OLD {
        let mut text = octets(plain);
        ciphering(algorithm, kc).apply(input, direction, &mut text);
        assert_eq!(text, octets(ciphered), "{algorithm} {kc}");
        ciphering(algorithm, kc).apply(input, direction, &mut text);
        assert_eq!(text, octets(plain), "{algorithm} {kc}");
    }
    for (algorithm, kc, input, direction, keystream) in KEYSTREAMS {
        let expected = octets(keystream);
        // A shorter frame has the beginning of a longer one's keystream.
        for len in 0..=expected.len() {
            let mut text = vec![0; len];
            ciphering(algorithm, kc).apply(input, direction, &mut text);
            assert_eq!(text, expected[..len], "{algorithm} {kc}");
        }
    }
}

#[test]
fn numbers_and_keys() {
    for (number, algorithm) in (0..).zip(Algorithm::ALL) {
        assert_eq!((algorithm.number(), Algorithm::of_number(number)), (number, Some(algorithm)));
        assert_eq!(algorithm.to_string(), format!("GEA{number}"));
        let (kc, kc128) = (Ciphering::with_kc(algorithm, [1; 8]), Ciphering::with_kc128(algorithm, [1; 16]));
        let expected = match number {
            0 => (Some(Ciphering::NONE), Some(Ciphering::NONE)),
            4 => (None, Some(Ciphering { algorithm, kc: Kc::of_128([1; 16]) })),
            _ => (Some(Ciphering { algorithm, kc: Kc::of_64([1; 8]) }), None),
        };
        assert_eq!((kc, kc128), expected);
    }
    for number in 5..=7 {
        assert_eq!(Algorithm::of_number(number), None);
    }
    assert_eq!(size_of::<Ciphering>(), 17);
}

#[test]
fn a_key_is_never_printed() {
    let ciphering = Ciphering::with_kc128(Algorithm::Gea4, [0xab; 16]).unwrap();
    assert_eq!(format!("{ciphering:?}"), "Ciphering { algorithm: Gea4, kc: Kc(..) }");
    let mut octets = [0; 3];
    let job = Job { ciphering: &ciphering, input: 1, direction: Direction::Uplink, octets: &mut octets };
    let printed = format!("{job:?}");
    assert!(printed.contains("Kc(..)") && !printed.contains("171") && !printed.contains("ab"), "{printed}");
}

#[test]
fn inputs_of_annex_a() {
    assert_eq!(ui_input(0, Sapi(3), 26), 0x9800_001a);
    // SX and IOV-UI are added without carry, the counter with one and modulo 2^32.
    assert_eq!(ui_input(0x9800_0001, Sapi(3), 5), 6);
    assert_eq!(ui_input(0x67ff_ffff, Sapi(3), 1), 0);
    assert_eq!(i_input(u32::MAX, 512), 511);
}

mod batches {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    prop_compose! {
        fn job()(
            algorithm in prop::sample::select(&Algorithm::ALL[..]),
            kc in any::<[u8; 16]>(),
            input in any::<u32>(),
            uplink in any::<bool>(),
            octets in vec(any::<u8>(), 0..60),
        ) -> (Ciphering, u32, Direction, Vec<u8>) {
            let [a, b, c, d, e, f, g, h, ..] = kc;
            let ciphering = Ciphering::with_kc128(algorithm, kc)
                .or_else(|| Ciphering::with_kc(algorithm, [a, b, c, d, e, f, g, h]));
            let direction = if uplink { Direction::Uplink } else { Direction::Downlink };
            (ciphering.unwrap(), input, direction, octets)
        }
    }

    proptest! {
        #[test]
        fn are_as_one_by_one(frames in vec(job(), 0..14)) {
            let mut expected = frames.clone();
            for (ciphering, input, direction, octets) in &mut expected {
                ciphering.apply(*input, *direction, octets);
            }
            let mut ciphered = frames;
            let mut jobs: Vec<Job<'_>> = ciphered
                .iter_mut()
                .map(|(ciphering, input, direction, octets)| Job {
                    ciphering, input: *input, direction: *direction, octets,
                })
                .collect();
            Portable.apply(&mut jobs);
            prop_assert_eq!(ciphered, expected);
        }
    }
}

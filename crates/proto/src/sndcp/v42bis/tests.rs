use super::*;

const SMALLEST: Parameters = Parameters { codewords: 512, string: 6 };

fn compress(own: &mut Compressor, n_pdu: &[u8]) -> Vec<u8> {
    let mut out = vec![0; compressed_max(n_pdu.len())];
    let len = own.compress(n_pdu, &mut out).unwrap();
    out.truncate(len);
    out
}

fn decompress(own: &mut Decompressor, n_pdu: &[u8]) -> Result<Vec<u8>, Error> {
    let mut out = vec![0; 2000];
    let len = own.decompress(n_pdu, &mut out)?;
    out.truncate(len);
    Ok(out)
}

/// Codewords of these lengths, packed as they are sent.
fn codewords(words: &[(u16, u32)]) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (Vec::new(), 0u64, 0);
    for (word, len) in words {
        bits |= u64::from(*word) << count;
        count += len;
        while count >= 8 {
            out.push(bits.to_le_bytes()[0]);
            bits >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(bits.to_le_bytes()[0]);
    }
    out
}

fn of(octet: u8) -> u16 {
    u16::from(octet) + 3
}

/// A decoder in compressed mode, and what it makes of these codewords.
fn decode(parameters: Parameters, words: &[(u16, u32)]) -> Result<Vec<u8>, Error> {
    decompress(&mut Decompressor::new(parameters), &[&[0, command::ECM], &codewords(words)[..]].concat())
}

#[test]
fn parameters_and_directions() {
    assert_eq!(Parameters::new(2048, 20), Some(Parameters::DEFAULT));
    for (codewords, string) in [(511, 6), (512, 5), (512, 251)] {
        assert_eq!(Parameters::new(codewords, string), None);
    }
    let bits = |codewords| Parameters::new(codewords, 6).unwrap().codeword_bits_max();
    assert_eq!([512, 513, 1024, 1025, 2048, 65535].map(bits), [9, 10, 10, 11, 11, 16]);
    assert_eq!((0..4).map(|p0| Directions::parse(p0).emit()).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(Directions::parse(3), Directions::BOTH);
    assert!(Directions::parse(1).from_initiator && Directions::parse(2).from_responder);
}

#[test]
fn transparent_mode_and_its_escape_character() {
    let mut own = Compressor::new(Parameters::DEFAULT);
    // Escape character 0, then 51, then 102.
    assert_eq!(compress(&mut own, &[7, 0, 0, 51, 102]), [7, 0, 1, 0, 51, 1, 102, 1]);
    let mut other = Decompressor::new(Parameters::DEFAULT);
    assert_eq!(decompress(&mut other, &[7, 0, 1, 0, 51, 1, 102, 1]), Ok(vec![7, 0, 0, 51, 102]));
    assert_eq!(compress(&mut own, &[153]), [153, 1]);
    assert_eq!(decompress(&mut other, &[153, 1]), Ok(vec![153]));
}

#[test]
fn strings_are_learned_and_their_codewords_used() {
    // The second codeword adds "ab" as 259, the third "ba" as 260, the fourth "abb" as 261.
    let words = [(of(b'a'), 9), (of(b'b'), 9), (259, 9), (260, 9), (261, 9), (control::FLUSH, 9)];
    assert_eq!(decode(SMALLEST, &words), Ok(b"ababbaabb".to_vec()));
    // The encoder learns in transparent mode, and says so where it has to change modes.
    let mut own = Compressor::new(SMALLEST);
    let text = b"abababababababababababababababababababababab";
    let sent = compress(&mut own, text);
    assert!(sent.len() < text.len(), "{sent:?}");
    assert_eq!(decompress(&mut Decompressor::new(SMALLEST), &sent), Ok(text.to_vec()));
}

#[test]
fn no_string_is_longer_than_p2() {
    // Each second one of the same length adds one that is longer, up to 263 of six octets; the last one adds none.
    let strings =
        [of(b'a'), of(b'a'), 259, 259, 260, 260, 261, 261, 262, 262, 263, 263].map(|word| (word, 9));
    assert_eq!(decode(SMALLEST, &strings), Ok(vec![b'a'; 42]));
    let one_more = [&strings[..], &[(264, 9)]].concat();
    assert_eq!(decode(SMALLEST, &one_more), Err(Error::EmptyCodeword(264)));
}

#[test]
fn a_flush_ends_an_octet_and_a_string() {
    let words = [(of(b'a'), 9), (control::FLUSH, 9)];
    let mut own = Decompressor::new(SMALLEST);
    let first = [&[0, command::ECM], &codewords(&words)[..]].concat();
    assert_eq!(decompress(&mut own, &first), Ok(b"a".to_vec()));
    // "ab" was learned across it.
    let second = codewords(&[(of(b'b'), 9), (259, 9), (control::FLUSH, 9)]);
    assert_eq!(decompress(&mut own, &second), Ok(b"bab".to_vec()));
    // Eight codewords of nine bits are nine octets: then there is no flush to be sent.
    let eight: Vec<(u16, u32)> = (0..8).map(|octet| (of(b'p' + octet), 9)).collect();
    assert_eq!(decompress(&mut own, &codewords(&eight)), Ok(b"pqrstuvw".to_vec()));
}

#[test]
fn codewords_become_longer() {
    let parameters = Parameters::new(1024, 6).unwrap();
    let words = [(of(b'a'), 9), (control::STEPUP, 9), (of(b'b'), 10), (control::FLUSH, 10)];
    assert_eq!(decode(parameters, &words), Ok(b"ab".to_vec()));
    let words = [(control::STEPUP, 9), (control::STEPUP, 10)];
    assert_eq!(decode(parameters, &words), Err(Error::CodewordTooLong));
    assert_eq!(decode(SMALLEST, &words), Err(Error::CodewordTooLong));
}

#[test]
fn what_no_encoder_sends_has_a_name() {
    assert_eq!(decode(SMALLEST, &[(259, 9)]), Err(Error::EmptyCodeword(259)));
    // The string that this very codeword adds is not known before it.
    assert_eq!(decode(SMALLEST, &[(of(b'a'), 9), (259, 9)]), Err(Error::EmptyCodeword(259)));
    assert_eq!(decode(SMALLEST, &[(of(b'a'), 9), (511, 9)]), Err(Error::EmptyCodeword(511)));
    for reserved in 3..=255 {
        let mut own = Decompressor::new(SMALLEST);
        assert_eq!(decompress(&mut own, &[b'a', 0, reserved]), Err(Error::ReservedCommand(reserved)));
        assert_eq!(decompress(&mut own, b"a"), Err(Error::OutOfStep));
        own.init();
        assert_eq!(decompress(&mut own, b"a"), Ok(b"a".to_vec()));
    }
    assert_eq!(decompress(&mut Decompressor::new(SMALLEST), &[b'a', 0]), Err(Error::Truncated));
    assert_eq!(decompress(&mut Decompressor::new(SMALLEST), &[0, 0, 100]), Err(Error::Truncated));
    let mut own = Decompressor::new(SMALLEST);
    assert_eq!(own.decompress(b"four", &mut [0; 3]), Err(Error::TooLong));
    let bomb = [&[0, command::ECM], &codewords(&[(of(b'a'), 9), (of(b'a'), 9), (259, 9)])[..]].concat();
    assert_eq!(own.decompress_alone(&bomb, &mut [0; 3]), Err(Error::TooLong));
    assert_eq!(own.decompress_alone(&bomb, &mut [0; 4]), Ok(4), "alone, nothing is remembered");
}

#[test]
fn the_other_end_may_begin_anew() {
    let mut own = Decompressor::new(SMALLEST);
    assert_eq!(decompress(&mut own, &[b'a', 0, 1, 51, command::RESET, 0, 1]), Ok(vec![b'a', 0, 0]));
}

#[test]
fn too_little_room_changes_nothing() {
    let mut own = Compressor::new(Parameters::DEFAULT);
    compress(&mut own, b"something");
    let before = own.clone();
    assert_eq!(own.compress(b"more", &mut [0; 20]), Err(Error::NoRoom));
    assert_eq!(own, before);
    assert_eq!(own.compress(b"", &mut [0; 64]), Ok(0));
    assert_eq!(own, before);
}

#[test]
fn alone_what_does_not_become_shorter_is_left_alone() {
    let mut own = Compressor::new(Parameters::DEFAULT);
    let mut out = [0; 2000];
    assert_eq!(own.compress_alone(b"short", &mut out), Ok(None));
    let len = own.compress_alone(&[b'x'; 200], &mut out).unwrap().unwrap();
    assert!(len < 80, "{len}");
    let mut other = Decompressor::new(Parameters::DEFAULT);
    let mut restored = [0; 200];
    assert_eq!(other.decompress_alone(&out[..len], &mut restored), Ok(200));
    assert_eq!(restored, [b'x'; 200]);
}

#[test]
fn a_full_dictionary_gives_up_leaves() {
    // 253 strings fit; these are far more, and each differs from the others.
    let (mut own, mut other) = (Compressor::new(SMALLEST), Decompressor::new(SMALLEST));
    for round in 0..40_u32 {
        let n_pdu: Vec<u8> =
            (0..200_u32).map(|at| ((at * at + round * at) >> 3).to_le_bytes()[0] % 40).collect();
        let sent = compress(&mut own, &n_pdu);
        assert_eq!(decompress(&mut other, &sent), Ok(n_pdu), "round {round}");
    }
    assert!(Vec::from(own).len() <= 15 + 4 + 3 * (512 - 259) + 7, "no more nodes than P1");
}

#[test]
fn states_travel_as_octets() {
    let (mut own, mut other) = (Compressor::new(SMALLEST), Decompressor::new(SMALLEST));
    for _ in 0..9 {
        let sent =
            compress(&mut own, b"the same over and over again, which is what a dictionary is good for");
        decompress(&mut other, &sent).unwrap();
    }
    let image = postcard::to_stdvec(&(own.clone(), other.clone())).unwrap();
    let (mut own_there, mut other_there): (Compressor, Decompressor) = postcard::from_bytes(&image).unwrap();
    assert_eq!(Vec::from(own_there.clone()), Vec::from(own.clone()));
    for cut in 0..image.len() {
        assert!(postcard::from_bytes::<(Compressor, Decompressor)>(&image[..cut]).is_err(), "{cut}");
    }
    let text = b"over there it is the same dictionary";
    let sent = compress(&mut own, text);
    assert_eq!(compress(&mut own_there, text), sent);
    assert_eq!(decompress(&mut other_there, &sent), Ok(text.to_vec()));
}

#[test]
fn octets_that_are_no_state_are_refused() {
    let mut own = Compressor::new(SMALLEST);
    compress(&mut own, b"abcabcabc");
    let image = Vec::from(own);
    // P1, P2, the string's codeword, cut, the last one added, C1, count, a parent, the mode, C2, the gain.
    let nodes = 12;
    let len = image.len();
    for (at, octet) in [
        (0, 0),
        (2, 5),
        (3, 0xff),
        (5, 2),
        (6, 0xff),
        (8, 0xff),
        (9, 1),
        (11, 200),
        (nodes, 2),
        (nodes + 1, 1),
        (len - 7, 2),
        (len - 5, 10),
        (len - 4, 0x7f),
    ] {
        let mut changed = image.clone();
        assert_ne!(changed[at], octet, "octet {at}");
        changed[at] = octet;
        assert_eq!(Compressor::try_from(changed), Err(BadImage), "octet {at}");
    }
}

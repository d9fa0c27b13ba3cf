//! GMM messages of either direction: what parses is emitted and parses to the same again.
#![no_main]

use gannet_wire::l3::{Direction, L3Message};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let Some((first, rest)) = octets.split_first() else { return };
    let direction = if first & 1 == 0 { Direction::Uplink } else { Direction::Downlink };
    // The protocol discriminator of GMM, with whatever skip indicator or transaction identifier the input says.
    let message = [&[first & 0xf0 | 8], rest].concat();
    if let Ok(parsed) = L3Message::parse(direction, &message) {
        let emitted = parsed.to_vec();
        assert_eq!(L3Message::parse(direction, &emitted).as_ref(), Ok(&parsed));
    }
});

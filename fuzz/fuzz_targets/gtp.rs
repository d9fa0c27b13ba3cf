//! GTPv1: header with extension headers, signalling messages, protocol configuration options.
#![no_main]

use gannet_wire::gtp::{Header, Message, pco, v1c, v1u};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    if let Ok(header) = Header::parse(octets) {
        let payload = header.payload(octets);
        let _ = v1c::control_teid(payload);
        if let Ok(message) = Message::parse(header.message, payload) {
            let mut emitted = Vec::new();
            message.emit(&mut emitted);
            let again = Message::parse(header.message, &emitted);
            assert_eq!(again.as_ref(), Ok(&message));
        }
    }
    if let Ok((_, _, range)) = v1u::GPdu::parse(octets) {
        assert!(octets.get(range).is_some());
    }
    if let Ok(options) = pco::parse(octets) {
        assert_eq!(pco::parse(&pco::emit(&options)).as_ref(), Ok(&options));
    }
});

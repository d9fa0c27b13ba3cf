//! SN-PDU headers and SNDCP XID blocks: what parses is emitted and parses to the same again.
#![no_main]

use gannet_wire::sndcp::{Header, xid};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    if let Ok((header, length)) = Header::parse(octets) {
        assert!(length <= octets.len());
        let mut again = header.emit().to_vec();
        again.extend_from_slice(&octets[length..]);
        assert_eq!(Header::parse(&again).map(|(second, _)| second), Ok(header));
    }
    if let Ok(parameters) = xid::parse(octets) {
        let mut emitted = Vec::new();
        xid::emit(&parameters, &mut emitted);
        assert_eq!(xid::parse(&emitted).as_ref(), Ok(&parameters));
    }
});

//! NS PDUs: what parses is emitted and parses to the same again.
#![no_main]

use gannet_wire::ns::{Pdu, UNITDATA_HEADER_LEN, Unitdata};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    if let Ok(header) = Unitdata::parse(octets) {
        assert_eq!(header.emit(), octets[..UNITDATA_HEADER_LEN]);
    }
    if let Ok(pdu) = Pdu::parse(octets) {
        assert_eq!(Pdu::parse(&pdu.to_vec()).as_ref(), Ok(&pdu));
    }
});

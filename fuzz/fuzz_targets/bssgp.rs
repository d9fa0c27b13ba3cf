//! BSSGP PDUs: what parses is emitted and parses to the same again.
#![no_main]

use gannet_wire::bssgp::{DlUnitdata, Message, UlUnitdata};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    if let Ok(message) = Message::parse(octets) {
        assert_eq!(Message::parse(&message.to_vec()).as_ref(), Ok(&message));
    }
    if let Ok((header, llc_pdu)) = UlUnitdata::parse(octets) {
        let mut again = vec![0; header.buffer_len(llc_pdu.len())];
        assert!(header.emit(llc_pdu.len(), &mut again));
        again.extend_from_slice(&octets[llc_pdu]);
        assert_eq!(UlUnitdata::parse(&again).map(|(second, _)| second), Ok(header));
    }
    if let Ok((header, llc_pdu)) = DlUnitdata::parse(octets) {
        let mut again = vec![0; header.buffer_len(llc_pdu.len())];
        assert!(header.emit(llc_pdu.len(), &mut again));
        again.extend_from_slice(&octets[llc_pdu]);
        assert_eq!(DlUnitdata::parse(&again).map(|(second, _)| second), Ok(header));
    }
});

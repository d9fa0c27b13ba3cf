//! LLC headers, XID parameters and FRMR: what parses is emitted and parses to the same again.
#![no_main]

use gannet_wire::llc::{FrmrInformation, Header, xid};

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    if let Ok(layout) = Header::parse(octets) {
        let _ = layout.fcs_is_right(octets);
        assert!(octets.get(layout.info()).is_some() || layout.info().is_empty());
        let mut again = layout.header.emit().to_vec();
        again.extend_from_slice(&[0; 3]);
        if let Ok(second) = Header::parse(&again) {
            assert_eq!(second.header, layout.header);
        }
    }
    if let Ok(parameters) = xid::parse(octets) {
        let mut emitted = Vec::new();
        xid::emit(&parameters, &mut emitted);
        assert_eq!(xid::parse(&emitted).as_ref(), Ok(&parameters));
    }
    let _ = FrmrInformation::parse(octets);
});

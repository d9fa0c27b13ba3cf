//! LLC against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

mod gb;

use gannet_testkit::{Need, tshark::Capture};
use gannet_wire::id::Sapi;
use gannet_wire::llc::{Control, FrmrInformation, Header, SackBitmap, Supervisory, UFunction, xid};
use gb::{dissect, downlink, ll_pdu, uplink};
use std::process::ExitCode;

const FUNCTIONS: [UFunction; 7] = [
    UFunction::Null,
    UFunction::Dm,
    UFunction::Disc,
    UFunction::Ua,
    UFunction::Sabm,
    UFunction::Frmr,
    UFunction::Xid,
];

fn supervisories() -> [Supervisory; 4] {
    let bitmap = SackBitmap::new(&[0xa5, 0x01, 0x80]).unwrap();
    [Supervisory::Rr, Supervisory::Ack, Supervisory::Rnr, Supervisory::Sack(bitmap)]
}

fn ui_frames() {
    let mut datagrams = Vec::new();
    let mut expected = Vec::new();
    for (n, sapi) in [1_u8, 2, 3, 5, 7, 8, 9, 11].into_iter().enumerate() {
        let nu = [0, 1, 255, 256, 511][n % 5];
        let (cr, protected) = (n % 2 == 0, n % 3 == 0);
        let control = Control::Ui { nu, encrypted: false, protected };
        let header = Header { cr, sapi: Sapi(sapi), control };
        // Information that every layer above can take: a GMM status, or the last segment of an N-PDU.
        let info: &[u8] = if sapi == 1 { &[0x08, 0x20, 0x6f] } else { &[0x25, 0x10, 0x01, 0xaa, 0xbb, 0xcc] };
        let pdu = ll_pdu(&header, info);
        let fcs = &pdu[pdu.len() - 3..];
        let fcs = u64::from(fcs[0]) | u64::from(fcs[1]) << 8 | u64::from(fcs[2]) << 16;
        datagrams.push(if cr { downlink(&pdu) } else { uplink(&pdu) });
        expected.push(vec![
            vec![0],
            vec![u64::from(cr)],
            vec![u64::from(sapi)],
            vec![6],
            vec![0],
            vec![u64::from(nu)],
            vec![0],
            vec![u64::from(protected)],
            vec![fcs],
        ]);
    }
    let fields =
        ["pd", "cr", "sapib", "ui", "ui_sp_bit", "nu", "e", "pm", "fcs"].map(|f| format!("llcgprs.{f}"));
    assert_eq!(dissect(&datagrams, &fields.each_ref().map(String::as_str)), expected);
    assert_fcs_is_good(&datagrams);
}

/// Wireshark's verdict on the FCS is text and no field.
fn assert_fcs_is_good(datagrams: &[Vec<u8>]) {
    let mut capture = Capture::new();
    for datagram in datagrams {
        capture.add_udp(23000, 22000, datagram);
    }
    let details = capture.details(&gb::OPTIONS);
    assert_eq!(details.matches("(correct)").count(), datagrams.len(), "{details}");
    assert!(!details.contains("Malformed"), "{details}");
}

fn s_and_i_frames() {
    let mut datagrams = Vec::new();
    let mut expected = Vec::new();
    for (n, supervisory) in supervisories().into_iter().enumerate() {
        let ack_request = n % 2 == 1;
        let (nr, ns) = (511 - u16::try_from(n).unwrap(), 300 + u16::try_from(n).unwrap());
        let control = Control::S { ack_request, nr, supervisory };
        datagrams.push(uplink(&ll_pdu(&Header { cr: false, sapi: Sapi(5), control }, &[])));
        let bits = n as u64;
        expected.push(vec![vec![2], vec![u64::from(ack_request)], vec![u64::from(nr)], vec![bits]]);
        let control = Control::I { ack_request, ns, nr, supervisory };
        let header = Header { cr: true, sapi: Sapi(5), control };
        datagrams.push(downlink(&ll_pdu(&header, &[0x05, 0xaa, 0xbb])));
    }
    assert_fcs_is_good(&datagrams);
    let (s, i): (Vec<_>, Vec<_>) = datagrams.into_iter().enumerate().partition(|(n, _)| n % 2 == 0);
    let [s, i] = [s, i].map(|numbered| numbered.into_iter().map(|(_, octets)| octets).collect::<Vec<_>>());
    assert_eq!(dissect(&s, &["llcgprs.s", "llcgprs.as", "llcgprs.nr", "llcgprs.s1s2"]), expected);
    let fields = ["sackns", "sacknr", "sacksfb", "k", "sackrbits"].map(|f| format!("llcgprs.{f}"));
    let rows = dissect(&i, &fields.each_ref().map(String::as_str));
    for (n, row) in rows.iter().enumerate() {
        let n = n as u64;
        assert_eq!(row[..3], [vec![300 + n], vec![511 - n], vec![n]]);
    }
    assert_eq!(rows[3][3..], [vec![3], vec![0xa5, 0x01, 0x80]]);
}

fn u_frames() {
    let mut datagrams = Vec::new();
    let mut expected = Vec::new();
    for (n, function) in FUNCTIONS.into_iter().enumerate() {
        let poll_final = n % 2 == 0;
        let header = Header { cr: poll_final, sapi: Sapi(3), control: Control::U { poll_final, function } };
        let info =
            if function == UFunction::Frmr { FrmrInformation::default().emit().to_vec() } else { vec![] };
        datagrams.push(downlink(&ll_pdu(&header, &info)));
        let bits = [0, 1, 4, 6, 7, 8, 11][n];
        expected.push(vec![vec![7], vec![u64::from(poll_final)], vec![bits]]);
    }
    assert_eq!(dissect(&datagrams, &["llcgprs.u", "llcgprs.pf", "llcgprs.ucom"]), expected);
    assert_fcs_is_good(&datagrams);
}

fn frmr_information() {
    let information = FrmrInformation {
        rejected: [0xe5, 0, 0, 0, 0, 0],
        vs: 0x155,
        vr: 0x0ab,
        response: true,
        w4: false,
        w3: true,
        w2: true,
        w1: false,
    };
    let control = Control::U { poll_final: false, function: UFunction::Frmr };
    let pdu = ll_pdu(&Header { cr: false, sapi: Sapi(3), control }, &information.emit());
    let names = ["frmrvs", "frmrvr", "frmrcr", "frmrw4", "frmrw3", "frmrw2", "frmrw1"];
    let fields = names.map(|f| format!("llcgprs.{f}"));
    let rows = dissect(&[downlink(&pdu)], &fields.each_ref().map(String::as_str));
    assert_eq!(rows[0], [vec![0x155], vec![0x0ab], vec![1], vec![0], vec![1], vec![1], vec![0]]);
}

fn xid_parameters() {
    let parameters = [
        xid::Parameter::Version(0),
        xid::Parameter::IovUi(0x1234_5678),
        xid::Parameter::N201U(1520),
        xid::Parameter::N201I(1503),
        xid::Parameter::T200(50),
        xid::Parameter::KD(16),
        xid::Parameter::Reset,
    ];
    let mut info = Vec::new();
    xid::emit(&parameters, &mut info);
    let control = Control::U { poll_final: true, function: UFunction::Xid };
    let pdu = ll_pdu(&Header { cr: true, sapi: Sapi(3), control }, &info);
    let fields = ["xidxl", "xidtype", "xidlen1", "xidlen2"].map(|f| format!("llcgprs.{f}"));
    let rows = dissect(&[downlink(&pdu)], &fields.each_ref().map(String::as_str));
    assert_eq!(
        rows[0],
        [vec![0, 1, 0, 0, 0, 0, 0], vec![0, 1, 5, 6, 3, 9, 12], vec![1, 0, 2, 2, 2, 1, 0], vec![4]]
    );
    assert_fcs_is_good(&[downlink(&pdu)]);
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("ui_frames", &[Need::Tshark], ui_frames),
        ("s_and_i_frames", &[Need::Tshark], s_and_i_frames),
        ("u_frames", &[Need::Tshark], u_frames),
        ("frmr_information", &[Need::Tshark], frmr_information),
        ("xid_parameters", &[Need::Tshark], xid_parameters),
    ])
}

//! The Create PDP Context Requests of an SGSN, octet by octet. `crates/wire/tests/tshark_gtp.rs` has tshark read the same.

use super::bench::*;
use super::secondary::secondary;
use gannet_wire::gtp::pco;
use gannet_wire::id::Imei;
use gannet_wire::l3::gmm::*;
use gannet_wire::l3::ie::*;
use gannet_wire::l3::sm::ActivateRequest;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/tests/create_requests.txt");

/// Attaches, says this equipment, and activates.
fn creates(bench: &mut Bench, phone: usize, equipment: MobileIdentity, activation: ActivateRequest) {
    bench.gmm(phone, attach_request(MobileIdentity::Imsi(imsi(phone))));
    let asked = bench.hear_gmm(phone);
    assert!(matches!(asked, GmmMessage::IdentityRequest(_)), "{asked:?}");
    bench.gmm(phone, IdentityResponse { identity: equipment });
    bench.accept_attach(phone);
    bench.sm(phone, 0, activation);
}

/// With IMEI and protocol configuration options; with IMEISV, of a phone that names no access point; and a secondary context.
#[test]
fn create_requests_are_those_that_tshark_reads() {
    let mut bench = Bench::new(|config| config.gmm.ask_imei = true);
    let imei = |digits: &str| digits.parse::<Imei>().unwrap();
    let dns = pco::PcoOption { identifier: 0x000d, content: Vec::new() };
    let options = Some(ProtocolConfiguration(pco::emit(&[dns])));
    let activation = ActivateRequest { pco: options, ..activate_request(NSAPI) };
    creates(&mut bench, 0, MobileIdentity::Imei(imei("490154203237518")), activation);
    let (to, sequence, request) = bench.next_create();
    bench.create_answer(to, sequence, &request, gannet_wire::gtp::Cause::RequestAccepted);
    bench.hear_sm(0);
    let activation = ActivateRequest { apn: None, ..activate_request(NSAPI) };
    creates(&mut bench, 1, MobileIdentity::Imeisv(imei("4901542032375101")), activation);
    bench.next_create();
    bench.sm(0, 1, secondary());
    let lines: Vec<String> = bench
        .on_gn
        .iter()
        .map(|octets| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>() + "\n")
        .collect();
    assert_eq!(lines.len(), 3);
    if std::env::var_os("GANNET_BLESS").is_some() {
        std::fs::write(FILE, lines.concat()).unwrap();
    }
    let known = std::fs::read_to_string(FILE).unwrap();
    assert_eq!(
        lines.concat(),
        known,
        "GANNET_BLESS=1 writes it anew; then tshark_gtp of gannet-wire is to be run"
    );
}

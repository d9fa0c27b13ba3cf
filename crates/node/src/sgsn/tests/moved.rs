//! A GGSN that moves its end of a tunnel with its answer to an Update, and an operator who changes whom to believe.

use super::bench::*;
use super::flows::profile;
use crate::sgsn::*;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_proto::classifier::Key;
use gannet_proto::gtp::SourceCheck;
use gannet_wire::gtp::v1c::{
    CreateResponse, EchoResponse, ErrorIndication, UpdateRequest, UpdateResponse, emit_datagram,
};
use gannet_wire::gtp::v1u::GPdu;
use gannet_wire::gtp::{Cause, Message as GtpMessage};
use gannet_wire::id::{Nsapi, Sapi, Teid};
use gannet_wire::l3::sm::{ModifyRequestMo, SmMessage};

const CONTROL: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 77));
const USER: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 78));
const SIX: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));

fn accepted() -> UpdateResponse {
    UpdateResponse::refused(Cause::RequestAccepted)
}

impl Bench {
    /// The mobile asks for a change; the SGSN asks the GGSN, which answers with this.
    fn modified_with(&mut self, peak: u8, response: UpdateResponse) -> (IpAddr, Teid) {
        self.sm(0, 0, ModifyRequestMo { sapi: None, qos: Some(profile(4, peak, 3)), tft: None });
        let (to, header, message) = self.next_control();
        let GtpMessage::UpdateRequest(request) = message else { panic!("{message:?}") };
        self.answer(to, request.teid_control.unwrap(), header.sequence.unwrap(), response);
        let heard = self.hear_sm(0);
        assert!(matches!(heard, SmMessage::ModifyAcceptMt(_)), "{heard:?}");
        (to, header.teid)
    }

    /// Where an N-PDU of the mobile goes, and with which endpoint.
    fn uplink_goes_to(&mut self) -> (IpAddr, Teid) {
        self.unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u', b'p']);
        let (to, header, _) = self.next_user();
        (to, header.teid)
    }

    fn source_of_rule(&self) -> Option<IpAddr> {
        let teid = self.sgsn.teid(self.slot(0), NSAPI).unwrap();
        self.rules.owner(Key::Teid(teid)).unwrap().rule.source
    }

    /// A G-PDU from this address reaches the mobile.
    fn is_heard_from(&mut self, from: IpAddr) -> bool {
        let teid = self.sgsn.teid(self.slot(0), NSAPI).unwrap();
        let header = GPdu { teid, sequence: Some(1), npdu_number: None };
        let mut octets = vec![0; header.buffer_len()];
        assert!(header.emit(20, &mut octets));
        octets.extend([1; 20]);
        self.datagram(GTP_U, SocketAddr::new(from, 2152), &octets);
        let heard = !self.sent.is_empty();
        self.sent.clear();
        heard
    }

    /// An Error Indication from an address about an endpoint there.
    fn is_missing(&mut self, at: IpAddr, teid: Teid) {
        let mut octets = Vec::new();
        let indication = ErrorIndication { teid, address: at, private_extension: None };
        assert!(emit_datagram(Teid(0), 1, &indication.into(), &mut octets));
        self.datagram(GTP_U, SocketAddr::new(at, 2152), &octets);
    }
}

/// 29.060 clause 7.3.4: the SGSN uses what the answer names from then on.
#[test]
fn an_answer_to_an_update_moves_the_tunnel() {
    let mut bench = Bench::attached(true);
    let former = bench.uplink_goes_to();
    assert_eq!((former.0, bench.source_of_rule()), (GGSN, Some(GGSN)));
    let paths = bench.sgsn.gtp().paths().len();
    let moved = UpdateResponse {
        gsn_first: Some(CONTROL),
        gsn_second: Some(USER),
        teid_control: Some(Teid(0x7001)),
        teid_data: Some(Teid(0x7002)),
        ..accepted()
    };
    bench.modified_with(3, moved);
    assert_eq!(bench.uplink_goes_to(), (USER, Teid(0x7002)));
    assert_eq!(bench.source_of_rule(), Some(USER), "of the driver's rule");
    for from in [CONTROL, USER, GGSN] {
        assert!(bench.is_heard_from(from), "{from}");
    }
    assert_eq!(bench.sgsn.gtp().paths().len(), paths + 2, "its answer came from the first");
    // The next request goes there, to the new endpoint; what is not said stays.
    assert_eq!(bench.modified_with(4, accepted()), (CONTROL, Teid(0x7001)));
    assert_eq!(bench.uplink_goes_to(), (USER, Teid(0x7002)));
    assert_eq!(bench.drops(), []);
    // The old endpoint is nobody's, and the new one is the context's.
    bench.is_missing(GGSN, former.1);
    assert_eq!(bench.dropped(Drop::SgsnTunnelLost), 0);
    bench.is_missing(USER, Teid(0x7002));
    assert_eq!(bench.dropped(Drop::SgsnTunnelLost), 1);
    assert_eq!((bench.sgsn.by_peer_endpoint.len(), bench.sgsn.ggsn_addresses.len()), (0, 0));
    assert_eq!((bench.sgsn.ggsn_origins.len(), bench.sgsn.gtp().paths().len()), (0, 0));
}

#[test]
fn the_alternative_addresses_of_an_update_are_used_where_the_first_are_of_another_version_of_ip() {
    let mut bench = Bench::attached(true);
    let (_, teid) = bench.uplink_goes_to();
    let moved = UpdateResponse {
        gsn_first: Some(SIX),
        gsn_second: Some(SIX),
        alternative_control: Some(CONTROL),
        alternative_user: Some(USER),
        ..accepted()
    };
    bench.modified_with(3, moved);
    assert_eq!(bench.uplink_goes_to(), (USER, teid));
    assert_eq!((bench.modified_with(4, accepted()).0, bench.drops()), (CONTROL, vec![]));
}

#[test]
fn a_tunnel_stays_where_the_new_addresses_cannot_be_reached() {
    let nonsense = ["0.0.0.0", "224.0.0.1", "127.0.0.1", "2001:db8::1"].map(|it| it.parse().unwrap());
    for address in nonsense.into_iter().chain([SGSN]) {
        for is_user in [false, true] {
            let mut bench = Bench::attached(true);
            let former = bench.uplink_goes_to();
            let teid_data = Some(Teid(0x7002));
            let moved = match is_user {
                false => UpdateResponse { gsn_first: Some(address), teid_data, ..accepted() },
                true => UpdateResponse { gsn_second: Some(address), teid_data, ..accepted() },
            };
            bench.modified_with(3, moved);
            assert_eq!(bench.uplink_goes_to(), former, "{address}");
            assert_eq!(bench.drops(), [(Drop::GtpUnreachable, 1)], "{address}");
            assert_eq!((bench.modified_with(4, accepted()).0, bench.source_of_rule()), (GGSN, Some(GGSN)));
        }
    }
}

/// The Update after a mobile has come from another node moves it just so.
#[test]
fn an_answer_after_a_relocation_moves_the_tunnel() {
    let mut first = Bench::attached(true);
    let octets = first.export(0);
    let mut bench = Bench::new(|config| config.teid_key = gannet_proto::gtp::TeidKey::new(7));
    let slot = bench.import(&octets).unwrap();
    let (to, header, message) = bench.next_control();
    assert!(matches!(message, GtpMessage::UpdateRequest(UpdateRequest { .. })), "{message:?}");
    let teid = bench.sgsn.teid(slot, NSAPI).unwrap();
    let moved = UpdateResponse { gsn_first: Some(CONTROL), gsn_second: Some(USER), ..accepted() };
    bench.answer(to, teid, header.sequence.unwrap(), moved);
    bench.phones[0] = first.phones.remove(0);
    assert_eq!((bench.uplink_goes_to().0, bench.source_of_rule()), (USER, Some(USER)));
}

#[test]
fn whom_to_believe_changes_while_the_node_runs() {
    let mut bench = Bench::attached(true);
    let change = |bench: &mut Bench, source_check, gtp_peers| {
        let config = SgsnConfig { source_check, gtp_peers, ..bench.sgsn.config().clone() };
        bench.sgsn.reconfigure(&mut bench.around.context(), config);
        bench.collect();
    };
    assert!(!bench.is_heard_from(CONTROL));
    change(&mut bench, SourceCheck::Control, vec![]);
    assert!(bench.is_heard_from(CONTROL));
    assert_eq!(bench.source_of_rule(), None, "the driver takes all");
    change(&mut bench, SourceCheck::Strict, vec![]);
    assert!(!bench.is_heard_from(CONTROL));
    assert_eq!(bench.source_of_rule(), Some(GGSN));
    change(&mut bench, SourceCheck::Strict, vec![CONTROL]);
    assert!(bench.is_heard_from(CONTROL) && !bench.is_heard_from(USER));
}

impl Bench {
    /// A context of a GGSN that names another address for control than that which is asked and answers.
    fn activate_at_control(&mut self, nsapi: Nsapi, recovery: Option<u8>) {
        self.sent.clear();
        self.sm(0, nsapi.0 - 5, activate_request(nsapi));
        let (from, sequence, request) = self.next_create();
        assert_eq!(from, GGSN);
        let response = CreateResponse { ggsn_control: Some(CONTROL), recovery, ..created(&request) };
        self.answer(from, request.teid_control.unwrap(), sequence, response);
        self.sent.clear();
    }

    /// The address for control answers its next Echo Request.
    fn control_echoes(&mut self, recovery: u8) {
        self.pass_secs(61);
        for sent in core::mem::take(&mut self.sent) {
            if let Sent::Control(CONTROL, header, GtpMessage::EchoRequest(_)) = sent {
                let response = EchoResponse { recovery, private_extension: None };
                self.answer(CONTROL, Teid(0), header.sequence.unwrap(), response);
            }
        }
        self.sent.clear();
    }

    pub fn lines_with(&self, text: &str) -> usize {
        self.around.trace.lines.iter().filter(|line| line.contains(text)).count()
    }

    fn has_tunnel(&self, nsapi: Nsapi) -> bool {
        self.mobile(0).bearer(nsapi).is_some_and(|bearer| bearer.tunnel.is_some())
    }
}

/// Either of a GGSN's addresses tells of its restart first; what it has since then stays when the other one tells.
#[test]
fn a_restart_ends_what_was_made_before_it() {
    for (first, lost) in [(Some(9), 1), (None, 0)] {
        let mut bench = Bench::attached(false);
        bench.silent_ggsn = true;
        bench.around.trace.is_listening = true;
        bench.activate_at_control(Nsapi(5), first);
        bench.control_echoes(9);
        // The answer from the address that is asked tells of the restart, where that has told its counter before.
        bench.activate_at_control(Nsapi(6), Some(10));
        assert_eq!(bench.dropped(Drop::SgsnTunnelLost), lost, "{first:?}");
        assert!(bench.has_tunnel(Nsapi(6)));
        bench.control_echoes(10);
        assert_eq!(bench.dropped(Drop::SgsnTunnelLost), 1, "{first:?}");
        assert!(bench.has_tunnel(Nsapi(6)) && !bench.has_tunnel(Nsapi(5)), "made since then");
        assert_eq!(bench.lines_with("has restarted, counter 10"), 1, "{first:?}");
        bench.control_echoes(11);
        assert_eq!(bench.lines_with(&format!("GGSN {CONTROL} has restarted, counter 11")), 1);
        assert_eq!((bench.dropped(Drop::SgsnTunnelLost), bench.has_tunnel(Nsapi(6))), (2, false));
        assert_eq!(bench.sgsn.ggsn_origins.len(), 0);
    }
}

#[test]
fn a_path_that_fails_is_one_line() {
    let mut bench = Bench::attached(true);
    bench.silent_ggsn = true;
    bench.around.trace.is_listening = true;
    bench.pass_secs(200);
    let failed = bench.dropped(Drop::SgsnPathFailed);
    assert!(failed > 0);
    assert_eq!(bench.lines_with(&format!("path to GGSN {GGSN} failed")) as u64, failed);
    assert_eq!(bench.lines_with("is given up, control plane: 1 contexts end"), 1);
    assert_eq!(bench.lines_with("path to") as u64, failed + 1);
}

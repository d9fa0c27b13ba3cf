//! PDP contexts whose GGSN speaks GTPv0, beside those of GTPv1; and GTP of those who are not a tunnel's GGSN.

use super::bench::*;
use crate::sgsn::*;
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_proto::classifier::Key;
use gannet_proto::gtp::{ContextName, Version, flow_label};
use gannet_wire::gtp::header::message_type;
use gannet_wire::gtp::v0::message as v0m;
use gannet_wire::gtp::v0::{self, g_pdu};
use gannet_wire::gtp::v1c::{DeleteRequest, ErrorIndication, emit_datagram};
use gannet_wire::gtp::value::QosR97;
use gannet_wire::gtp::{Cause, EndUserAddress};
use gannet_wire::id::{FlowLabel, Sapi, Tid};
use gannet_wire::l3::ie::{DelayClass, LinkedTi, PdpAddress, QosProfile, SmCause, TrafficFlowTemplate};
use gannet_wire::l3::sm::{
    ActivateSecondaryReject, ActivateSecondaryRequest, ModifyReject, ModifyRequestMo, SmMessage,
};

const STRANGER: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(203, 0, 113, 66));
/// The GGSN's flow labels.
const FLOW_DATA: FlowLabel = FlowLabel(0x0202);
const FLOW_SIGNALLING: FlowLabel = FlowLabel(0x0101);

fn tid() -> Tid {
    Tid { imsi: imsi(0), nsapi: NSAPI }
}

impl Bench {
    /// The usual SGSN, whose first GGSN speaks GTPv0, with a phone that has a context through it.
    fn with_v0(ingress: Ingress) -> Self {
        let mut bench = Self::new(|config| {
            config.ingress = ingress;
            config.ggsns[0].version = Version::V0;
        });
        bench.attach(0);
        bench.activate_v0();
        bench
    }

    fn activate_v0(&mut self) {
        self.sm(0, 0, activate_request(NSAPI));
        let (header, message) = self.next_v0(GGSN);
        let v0::Message::CreateRequest(request) = message else { panic!("{message:?}") };
        assert_eq!((header.tid(), header.flow), (Some(tid()), FlowLabel(0)));
        let ours = self.our_flow();
        assert_eq!((request.flow_data, request.flow_signalling), (ours, ours));
        assert_eq!((request.sgsn_control, request.sgsn_user, request.recovery), (SGSN, SGSN, Some(3)));
        assert_eq!((request.qos, request.apn.as_str()), (QosR97([0x23, 0x92, 0x1f]), "internet"));
        let response = v0m::CreateResponse {
            cause: Cause::RequestAccepted,
            qos: Some(request.qos),
            reordering_required: Some(false),
            recovery: Some(9),
            flow_data: Some(FLOW_DATA),
            flow_signalling: Some(FLOW_SIGNALLING),
            charging_id: Some(1),
            end_user_address: Some(EndUserAddress::Ipv4(Some(address(NSAPI)))),
            pco: None,
            ggsn_control: Some(GGSN),
            ggsn_user: Some(GGSN),
            charging_gateway: None,
            private_extension: None,
        };
        self.v0(GGSN, header.sequence, ours, response);
        let SmMessage::ActivateAccept(accept) = self.hear_sm(0) else { panic!() };
        assert_eq!(accept.address, Some(PdpAddress::Ipv4(address(NSAPI))));
    }

    fn our_flow(&self) -> FlowLabel {
        flow_label(self.sgsn.teid(self.slot(0), NSAPI).unwrap())
    }

    /// A message of a GGSN about the tunnel.
    fn v0(&mut self, from: IpAddr, sequence: u16, flow: FlowLabel, message: impl Into<v0::Message>) {
        let mut octets = Vec::new();
        let header = v0::Header::of_tunnel(0, sequence, tid(), flow);
        assert!(v0::emit_datagram(header, &message.into(), &mut octets));
        self.datagram(GTP_V0, SocketAddr::new(from, 3386), &octets);
    }

    fn next_v0(&mut self, wanted: IpAddr) -> (v0::Header, v0::Message) {
        let (to, header, payload) = self.next_v0_datagram();
        assert_eq!(to, wanted);
        (header, v0::Message::parse(header.message, &payload).unwrap())
    }

    fn next_v0_datagram(&mut self) -> (IpAddr, v0::Header, Vec<u8>) {
        match self.next() {
            Sent::V0(to, header, payload) => (to, header, payload),
            other => panic!("{other:?}"),
        }
    }

    fn g_pdu_v0(&mut self, tid: Tid, t_pdu: &[u8]) {
        let header = g_pdu(tid, self.our_flow(), 1);
        let mut octets = vec![0; v0::LEN];
        assert!(header.emit(t_pdu.len(), &mut octets));
        octets.extend(t_pdu);
        self.datagram(GTP_V0, SocketAddr::new(GGSN, 3386), &octets);
    }

    /// The GGSN is asked to delete the tunnel, and does.
    fn delete_v0(&mut self) {
        let (header, message) = self.next_v0(GGSN);
        assert_eq!((header.tid(), header.flow), (Some(tid()), FLOW_SIGNALLING));
        assert_eq!(message, v0m::DeleteRequest { private_extension: None }.into());
        let response = v0m::DeleteResponse { cause: Cause::RequestAccepted, private_extension: None };
        self.v0(GGSN, header.sequence, FlowLabel(0), response);
    }
}

#[test]
fn a_context_of_version_0_from_activation_to_its_end() {
    for ingress in [Ingress::Queued, Ingress::Fifo] {
        let mut bench = Bench::with_v0(ingress);
        let ContextName(own) = bench.sgsn.context_name(bench.slot(0), NSAPI).unwrap();
        let keys: Vec<_> = bench.rules.keys().filter(|(_, name)| *name == own).collect();
        let wanted = if ingress == Ingress::Queued { vec![(Key::Tid(tid()), own)] } else { vec![] };
        assert_eq!(keys, wanted, "a driver knows it by its TID");
        bench.g_pdu_v0(tid(), b"down");
        assert_eq!(bench.hear(0).1[4..], *b"down");
        for sequence in 0..2 {
            bench.unitdata(0, Sapi::DATA3, &[0x65, 0, sequence, 0, b'u', b'p']);
            let (to, header, t_pdu) = bench.next_v0_datagram();
            assert_eq!((to, t_pdu.as_slice()), (GGSN, &b"up"[..]));
            assert_eq!(header, g_pdu(tid(), FLOW_DATA, sequence.into()));
        }
        // The TEID that its name would have is nobody's in version 1.
        let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
        bench.g_pdu(teid, b"of version 1");
        let other = bench.next_user_plane();
        assert_eq!(other.message, message_type::ERROR_INDICATION);
        assert_eq!(bench.drops(), [(Drop::GtpUnknownTeid, 1)]);
        bench.sm(
            0,
            0,
            gannet_wire::l3::sm::DeactivateRequest {
                cause: gannet_wire::l3::ie::SmCause::RegularDeactivation,
                tear_down: None,
            },
        );
        bench.delete_v0();
        assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateAccept(_)));
        assert_eq!((bench.sgsn.contexts().len(), bench.sgsn.gtp().paths().len()), (0, 0));
    }
}

#[test]
fn a_driver_gives_t_pdus_of_version_0_by_the_name_of_the_rule() {
    let mut bench = Bench::with_v0(Ingress::Queued);
    let ContextName(name) = bench.sgsn.context_name(bench.slot(0), NSAPI).unwrap();
    let frame = bench.around.frames.copy_of(b"down").unwrap();
    bench.input(Input::Classified { port: GTP_U, name, frame });
    assert_eq!(bench.hear(0).1[4..], *b"down");
    assert_eq!(bench.drops(), []);
}

#[test]
fn a_g_pdu_for_nobody_and_an_error_indication() {
    let mut bench = Bench::with_v0(Ingress::Queued);
    let nobody = Tid { nsapi: Nsapi(6), ..tid() };
    bench.g_pdu_v0(nobody, b"down");
    let (header, message) = bench.next_v0(GGSN);
    assert_eq!((header.tid(), header.flow), (Some(nobody), FlowLabel(0)));
    assert_eq!(message, v0m::ErrorIndication { private_extension: None }.into());
    // The GGSN misses the tunnel; who is not the GGSN is not believed.
    bench.v0(STRANGER, 0, FlowLabel(0), v0m::ErrorIndication { private_extension: None });
    assert!(bench.is_silent());
    bench.v0(GGSN, 0, FlowLabel(0), v0m::ErrorIndication { private_extension: None });
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateRequest(_)));
    let drops =
        [(Drop::GtpUnknownTeid, 1), (Drop::GtpUnexpectedErrorIndication, 1), (Drop::SgsnTunnelLost, 1)];
    assert_eq!(bench.drops(), drops);
}

#[test]
fn who_is_not_the_ggsn_of_a_tunnel_is_refused_in_version_0() {
    let mut bench = Bench::with_v0(Ingress::Queued);
    let flow = bench.our_flow();
    let request = v0m::DeleteRequest { private_extension: None };
    bench.v0(STRANGER, 7, flow, request.clone());
    let (header, message) = bench.next_v0(STRANGER);
    assert_eq!((header.flow, header.sequence), (FlowLabel(0), 7));
    let refused = v0m::DeleteResponse { cause: Cause::NonExistent, private_extension: None };
    assert_eq!(message, refused.clone().into());
    assert_eq!(bench.drops(), [(Drop::SgsnForeignGgsn, 1)]);
    // Nor is the GGSN itself heard with another flow label than ours.
    bench.v0(GGSN, 8, FlowLabel(flow.0 ^ 1), request.clone());
    assert_eq!(bench.next_v0(GGSN).1, refused.into());
    assert_eq!(bench.sgsn.contexts().len(), 1);
    bench.v0(GGSN, 9, flow, request);
    let (header, message) = bench.next_v0(GGSN);
    assert_eq!(header.flow, FLOW_SIGNALLING);
    assert_eq!(
        message,
        v0m::DeleteResponse { cause: Cause::RequestAccepted, private_extension: None }.into()
    );
    assert!(matches!(bench.hear_sm(0), SmMessage::DeactivateRequest(_)));
    assert_eq!(bench.dropped(Drop::SgsnForeignGgsn), 1);
}

#[test]
fn who_is_not_the_ggsn_of_a_tunnel_is_refused_in_version_1() {
    let mut bench = Bench::attached(true);
    bench.attach(1);
    let teid = bench.sgsn.teid(bench.slot(0), NSAPI).unwrap();
    let request = DeleteRequest { teardown: None, nsapi: NSAPI, pco: None, private_extension: None };
    bench.answer(STRANGER, teid, 77, request);
    let (to, header, message) = bench.next_control();
    assert_eq!((to, header.teid), (STRANGER, Teid(0)));
    let refused = gannet_wire::gtp::v1c::DeleteResponse {
        cause: Cause::NonExistent,
        pco: None,
        private_extension: None,
    };
    assert_eq!(message, refused.into());
    assert_eq!((bench.drops(), bench.sgsn.contexts().len()), (vec![(Drop::SgsnForeignGgsn, 1)], 1));
    // Another GGSN of ours says that the first one misses a tunnel.
    bench.sgsn.access_points.reroute(&SgsnConfig {
        ggsns: vec![GgsnPeer { number: 1, address: OTHER_GGSN, version: Version::V1 }],
        ..SgsnConfig::default()
    });
    bench.sm(1, 0, activate_request(NSAPI));
    let (from, sequence, request) = bench.next_create();
    assert_eq!(from, OTHER_GGSN);
    let response = gannet_wire::gtp::v1c::CreateResponse {
        ggsn_control: Some(OTHER_GGSN),
        ggsn_user: Some(OTHER_GGSN),
        ..created(&request)
    };
    bench.answer(from, request.teid_control.unwrap(), sequence, response);
    bench.hear_sm(1);
    let missing = Teid(GGSN_USER + u32::from(NSAPI.0));
    let indication = ErrorIndication { teid: missing, address: GGSN, private_extension: None };
    let mut octets = Vec::new();
    assert!(emit_datagram(Teid(0), 0, &indication.into(), &mut octets));
    bench.datagram(GTP_U, SocketAddr::new(OTHER_GGSN, 2152), &octets);
    assert!(bench.is_silent());
    assert_eq!((bench.dropped(Drop::SgsnForeignGgsn), bench.sgsn.contexts().len()), (2, 2));
}

#[test]
fn version_0_and_1_at_one_ggsn_have_paths_of_their_own() {
    let mut bench = Bench::with_v0(Ingress::Queued);
    bench.sgsn.access_points.reroute(&SgsnConfig {
        ggsns: vec![GgsnPeer { number: 0, address: GGSN, version: Version::V1 }],
        ..SgsnConfig::default()
    });
    bench.activate(0, Nsapi(6));
    let versions: Vec<_> = bench.sgsn.gtp().paths().iter().map(|(_, path)| path.version).collect();
    assert_eq!(versions, [Version::V0, Version::V1]);
    bench.downlink(0, Nsapi(6), b"one");
    assert_eq!(bench.hear(0).1[4..], *b"one");
    bench.g_pdu_v0(tid(), b"null");
    assert_eq!(bench.hear(0).1[4..], *b"null");
    // A TID of the context of version 1 leads nowhere.
    bench.g_pdu_v0(Tid { nsapi: Nsapi(6), ..tid() }, b"wrong");
    assert_eq!(bench.next_v0(GGSN).0.message, message_type::ERROR_INDICATION);
    // A restart that version 0 tells takes the contexts of version 0.
    bench.pass_secs(60);
    let (_, header, _) = bench.next_v0_datagram();
    assert_eq!((header.message, header.tid_octets), (message_type::ECHO_REQUEST, 0));
    let mut octets = Vec::new();
    let echo = v0m::EchoResponse { recovery: 10, private_extension: None }.into();
    assert!(v0::emit_datagram(v0::Header::of_path(0, header.sequence), &echo, &mut octets));
    bench.datagram(GTP_V0, SocketAddr::new(GGSN, 3386), &octets);
    let left: Vec<_> =
        bench.mobile(0).bearers().map(|(nsapi, bearer)| (nsapi, bearer.tunnel.is_some())).collect();
    assert_eq!(left.iter().filter(|(_, has_tunnel)| *has_tunnel).count(), 1);
    assert_eq!(bench.dropped(Drop::SgsnTunnelLost), 1);
}

#[test]
fn a_mobile_with_a_context_of_version_0_leaves_and_arrives() {
    let mut bench = Bench::with_v0(Ingress::Queued);
    let flow = bench.our_flow();
    let octets = bench.sgsn.export(&mut bench.around.context(), imsi(0)).unwrap();
    bench.collect();
    bench.assert_empty();
    bench.sgsn.import(&mut bench.around.context(), &octets).unwrap();
    bench.collect();
    assert_eq!((bench.our_flow(), bench.sgsn.gtp().paths().len()), (flow, 1));
    bench.g_pdu_v0(tid(), b"down");
    assert_eq!(bench.hear(0).1[4..], *b"down");
    bench.unitdata(0, Sapi::DATA3, &[0x65, 0, 0, 0, b'u', b'p']);
    let (to, header, t_pdu) = bench.next_v0_datagram();
    assert_eq!((to, header.flow, t_pdu.as_slice()), (GGSN, FLOW_DATA, &b"up"[..]));
    assert_eq!(bench.drops(), []);
    bench.v0(GGSN, 9, flow, v0m::DeleteRequest { private_extension: None });
    assert_eq!(bench.next_v0(GGSN).0.flow, FLOW_SIGNALLING);
}

#[test]
fn version_0_has_no_secondary_contexts_and_no_templates() {
    let mut bench = Bench::with_v0(Ingress::Fifo);
    let (qos, tft) = (QosProfile::BEST_EFFORT, Some(TrafficFlowTemplate(vec![0x21, 0, 1, 2, 0x30, 17])));
    let linked_ti = LinkedTi { ti: 0, ti_flag: false };
    let (nsapi, sapi) = (gannet_wire::id::Nsapi(6), Sapi::DATA5);
    bench.sm(0, 1, ActivateSecondaryRequest { nsapi, sapi, qos, linked_ti, tft: tft.clone() });
    let cause = SmCause::ServiceOptionNotSupported;
    assert_eq!(bench.hear_sm(0), ActivateSecondaryReject { cause }.into());
    bench.sm(0, 0, ModifyRequestMo { sapi: None, qos: None, tft });
    assert_eq!(bench.hear_sm(0), ModifyReject { cause }.into());
    assert!(bench.is_silent());
    // The quality of service alone can be changed.
    let wish = QosProfile { delay: DelayClass::TWO, ..qos };
    bench.sm(0, 0, ModifyRequestMo { sapi: None, qos: Some(wish), tft: None });
    let (header, message) = bench.next_v0(GGSN);
    let v0::Message::UpdateRequest(request) = message else { panic!("{message:?}") };
    let response = v0m::UpdateResponse {
        cause: Cause::RequestAccepted,
        qos: Some(request.qos),
        recovery: None,
        flow_data: Some(FLOW_DATA),
        flow_signalling: Some(FLOW_SIGNALLING),
        charging_id: None,
        ggsn_control: Some(GGSN),
        ggsn_user: Some(GGSN),
        charging_gateway: None,
        private_extension: None,
    };
    let ours = bench.our_flow();
    bench.v0(GGSN, header.sequence, ours, response);
    let SmMessage::ModifyAcceptMt(accept) = bench.hear_sm(0) else { panic!() };
    assert_eq!(accept.qos.map(|qos| qos.delay), Some(DelayClass::TWO));
}

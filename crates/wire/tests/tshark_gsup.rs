//! GSUP and the IPA multiplex against Wireshark, field by field.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_testkit::Need;
use gannet_testkit::tshark::Capture;
use gannet_wire::gsup::{
    AuthRequest, AuthTuple, AuthVectors, Body, Cancel, CancelType, CnDomain, DeleteData, Domain, IsdnAddress,
    LocationUpdate, Message, MessageClass, PdpInfo, Purge, PurgeResult, Quintuplet, RAT_TYPE_GERAN, Refusal,
    SubscribedApn, Subscription, Triplet,
};
use gannet_wire::gtp::value::Qos;
use gannet_wire::ipa::{self, Ccm, IdTag};
use gannet_wire::l3::ie::{GmmCause, Octets, PdpAddress, QosProfile};
use std::process::ExitCode;

/// The port that Wireshark knows as IPA's over UDP too.
const OPTIONS: [&str; 2] = ["-d", "udp.port==4222,gsm_ipa"];
const PS: Option<CnDomain> = Some(CnDomain::PacketSwitched);

fn dissect(messages: &[Message], fields: &[&str]) -> Vec<Vec<String>> {
    let mut capture = Capture::new();
    for message in messages {
        let mut octets = Vec::new();
        assert!(ipa::put_extension(ipa::EXTENSION_GSUP, &message.to_vec(), &mut octets));
        capture.add_udp(40000, 4222, &octets);
    }
    let mut all = vec!["_ws.malformed", "_ws.expert.severity", "gsup.ie.len.invalid"];
    all.extend(fields);
    let rows = capture.dissect(&OPTIONS, &all);
    rows.into_iter()
        .map(|mut row| {
            let fields = row.split_off(3);
            assert_eq!(row, ["", "", ""], "nothing malformed");
            fields
        })
        .collect()
}

fn message(body: Body) -> Message {
    Message::new("001010000000001".parse().unwrap(), body)
}

fn refusal(cause: GmmCause) -> Refusal {
    Refusal { cause, cn_domain: PS }
}

fn plain() -> Domain {
    Domain { cn_domain: PS }
}

fn nothing() -> Subscription {
    Subscription {
        msisdn: None,
        hlr_number: None,
        pdp_info_complete: false,
        pdp_infos: Vec::new(),
        charging: None,
        cn_domain: PS,
    }
}

/// Every message type, with what Wireshark calls it.
fn types() {
    let request = AuthRequest { auts: None, rand: None, cn_domain: PS };
    let bodies = vec![
        (
            Body::UpdateLocationRequest(LocationUpdate { cn_domain: PS, current_rat: Some(RAT_TYPE_GERAN) }),
            "UpdateLocation Request",
        ),
        (Body::UpdateLocationError(refusal(GmmCause::PlmnNotAllowed)), "UpdateLocation Error"),
        (Body::UpdateLocationResult(nothing()), "UpdateLocation Result"),
        (Body::SendAuthInfoRequest(request), "SendAuthInfo Request"),
        (Body::SendAuthInfoError(refusal(GmmCause::ImsiUnknownInHlr)), "SendAuthInfo Error"),
        (Body::SendAuthInfoResult(AuthVectors { tuples: vec![], cn_domain: PS }), "SendAuthInfo Result"),
        (Body::AuthFailureReport(plain()), "AuthFail Report"),
        (Body::PurgeMsRequest(Purge { hlr_number: None, cn_domain: PS }), "PurgeMS Request"),
        (Body::PurgeMsError(refusal(GmmCause::ImsiUnknownInHlr)), "PurgeMS Error"),
        (Body::PurgeMsResult(PurgeResult { freeze_ptmsi: false, cn_domain: PS }), "PurgeMS Result"),
        (Body::InsertSubscriberDataRequest(nothing()), "InsertSubscriberData Request"),
        (Body::InsertSubscriberDataError(refusal(GmmCause::Congestion)), "InsertSubscriberData Error"),
        (Body::InsertSubscriberDataResult(plain()), "InsertSubscriberData Result"),
        (
            Body::DeleteSubscriberDataRequest(DeleteData { context_ids: vec![], cn_domain: PS }),
            "DeleteSubscriberData Request",
        ),
        (Body::DeleteSubscriberDataError(refusal(GmmCause::Congestion)), "DeleteSubscriberData Error"),
        (Body::DeleteSubscriberDataResult(plain()), "DeleteSubscriberData Result"),
        (Body::LocationCancelRequest(Cancel { cancel_type: None, cn_domain: PS }), "LocationCancel Request"),
        (Body::LocationCancelError(refusal(GmmCause::ImsiUnknownInHlr)), "LocationCancel Error"),
        (Body::LocationCancelResult(plain()), "LocationCancel Result"),
    ];
    let messages: Vec<Message> = bodies.iter().map(|(body, _)| message(body.clone())).collect();
    let rows = dissect(&messages, &["gsup.msg_type", "_ws.col.Info", "e212.imsi", "gsup.cn_domain"]);
    for ((body, name), row) in bodies.iter().zip(rows) {
        assert_eq!(row[0], body.message_type().to_string());
        assert!(row[1].starts_with(name), "{} is not {name}", row[1]);
        assert_eq!(row[2..], ["001010000000001", "1"]);
    }
}

fn vectors() {
    let rand = |n: u8| core::array::from_fn(|at| n + u8::try_from(at).unwrap());
    let triplet = Triplet { sres: [1, 2, 3, 4], kc: [8, 7, 6, 5, 4, 3, 2, 1] };
    let quintuplet =
        Quintuplet { ik: rand(0x20), ck: rand(0x30), autn: rand(0x40), res: Octets::from_start(&[9; 8]) };
    let tuples = vec![
        AuthTuple { rand: rand(0), triplet: Some(triplet), quintuplet: None },
        AuthTuple { rand: rand(0x10), triplet: Some(triplet), quintuplet: Some(quintuplet) },
    ];
    let messages = [
        message(Body::SendAuthInfoResult(AuthVectors { tuples, cn_domain: PS })),
        message(Body::SendAuthInfoRequest(AuthRequest {
            auts: Some(*b"\x50\x51\x52\x53\x54\x55\x56\x57\x58\x59\x5a\x5b\x5c\x5d"),
            rand: Some(rand(0x60)),
            cn_domain: PS,
        })),
    ];
    let fields =
        ["rand", "sres", "kc", "ik", "ck", "autn", "res", "auts"].map(|field| format!("gsup.{field}"));
    let rows = dissect(&messages, &fields.each_ref().map(String::as_str));
    let hex = |n: u8| (n..n + 16).map(|octet| format!("{octet:02x}")).collect::<String>();
    assert_eq!(rows[0][0], format!("{},{}", hex(0), hex(0x10)));
    assert_eq!(rows[0][1..3], ["01020304,01020304", "0807060504030201,0807060504030201"]);
    assert_eq!(rows[0][3..6], [hex(0x20), hex(0x30), hex(0x40)]);
    assert_eq!(rows[0][6..], ["0909090909090909", ""]);
    assert_eq!(
        (rows[1][0].as_str(), rows[1][7].as_str()),
        (hex(0x60).as_str(), "505152535455565758595a5b5c5d")
    );
}

fn subscription() {
    let infos = vec![
        PdpInfo {
            context_id: 1,
            address: Some(PdpAddress::Ipv4Dynamic),
            apn: Some(SubscribedApn::Name("inter.net".parse().unwrap())),
            qos: Some(Qos::new(0, &QosProfile::BEST_EFFORT)),
            charging: Some(0x0800),
        },
        PdpInfo {
            context_id: 7,
            address: Some(PdpAddress::Ipv6Dynamic),
            apn: Some(SubscribedApn::Any),
            qos: Some(Qos::new(2, &QosProfile::BEST_EFFORT)),
            charging: None,
        },
    ];
    let number =
        |tbcd: &[u8]| Some(IsdnAddress { nature_and_plan: Some(0x91), tbcd: Octets::from_start(tbcd) });
    let data = Subscription {
        msisdn: number(&[0x94, 0x71, 0xf2]),
        hlr_number: number(&[0x94, 0x88]),
        pdp_info_complete: false,
        pdp_infos: infos,
        charging: None,
        cn_domain: PS,
    };
    let whole = Message {
        class: Some(MessageClass::SubscriberManagement),
        source: Some(b"HLR-1".to_vec()),
        destination: Some(b"SGSN-1".to_vec()),
        ..message(Body::InsertSubscriberDataRequest(data))
    };
    let fields = ["pdp_context_id", "apn", "msg_class"];
    let mut fields: Vec<String> = fields.iter().map(|field| format!("gsup.{field}")).collect();
    fields.extend(["gsup.source_name.text", "gsup.dest_name.text", "e164.msisdn"].map(str::to_owned));
    let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
    let rows = dissect(&[whole], &fields);
    assert_eq!(rows[0][..4], ["1,7", "inter.net,*", "1", "HLR-1"]);
    assert_eq!(rows[0][4..], ["SGSN-1", "49172"]);
}

fn single_values() {
    let causes = [GmmCause::ImsiUnknownInHlr, GmmCause::Congestion, GmmCause::ProtocolError];
    let mut messages: Vec<Message> =
        causes.iter().map(|cause| message(Body::SendAuthInfoError(refusal(*cause)))).collect();
    for cancel_type in CancelType::ALL {
        let cancel = Cancel { cancel_type: Some(*cancel_type), cn_domain: Some(CnDomain::CircuitSwitched) };
        messages.push(message(Body::LocationCancelRequest(cancel)));
    }
    let delete = DeleteData { context_ids: vec![1, 9], cn_domain: None };
    messages.push(message(Body::DeleteSubscriberDataRequest(delete)));
    let fields = ["cause", "cancel_type", "cn_domain", "pdp_context_id"];
    let fields = fields.map(|field| format!("gsup.{field}"));
    let rows = dissect(&messages, &fields.each_ref().map(String::as_str));
    let expected = [
        ["0x02", "", "1", ""],
        ["0x16", "", "1", ""],
        ["0x6f", "", "1", ""],
        ["", "0", "2", ""],
        ["", "1", "2", ""],
        ["", "", "", "1,9"],
    ];
    assert_eq!(rows, expected);
}

/// Elements without a value, in which Wireshark wants an octet. With one it reads them, and so do we; malformed it calls
/// them with it and without.
fn flags() {
    let with_octet = |kind: u8, iei: u8| [&[kind, 1, 2, 0x00, 0xf1, iei, 1][..], &[1]].concat();
    let mut capture = Capture::new();
    let octets = [with_octet(0x0e, 0x07), with_octet(0x10, 0x04)];
    for octets in &octets {
        let mut whole = Vec::new();
        assert!(ipa::put_extension(ipa::EXTENSION_GSUP, octets, &mut whole));
        capture.add_udp(40000, 4222, &whole);
    }
    let rows = capture.dissect(&OPTIONS, &["gsup.freeze_ptmsi", "gsup.pdp_info_compl"]);
    assert_eq!(rows, [["1", ""], ["", "1"]]);
    let bodies = octets.map(|octets| Message::parse(&octets).unwrap().body);
    let subscription = Subscription { pdp_info_complete: true, cn_domain: None, ..nothing() };
    let result = PurgeResult { freeze_ptmsi: true, cn_domain: None };
    assert_eq!(bodies, [Body::PurgeMsResult(result), Body::InsertSubscriberDataRequest(subscription)]);
}

/// Headers, and the names of link management.
fn multiplex() {
    let messages = [
        (Ccm::Ping, "PING?"),
        (Ccm::Pong, "PONG!"),
        (Ccm::IdGet(vec![IdTag::UnitId, IdTag::UnitName]), "IDENTITY REQUEST"),
        (
            Ccm::IdResp(vec![(IdTag::UnitId, b"0/0/0".to_vec()), (IdTag::UnitName, b"SGSN-9".to_vec())]),
            "IDENTITY RESPONSE",
        ),
        (Ccm::IdAck, "IDENTITY ACK"),
    ];
    let mut capture = Capture::new();
    messages.iter().for_each(|(ccm, _)| capture.add_udp(40000, 4222, &ccm.to_vec()));
    let rows =
        capture.dissect(&OPTIONS, &["gsm_ipa.data_len", "gsm_ipa.protocol", "_ws.col.Info", "_ws.malformed"]);
    let details = capture.details(&OPTIONS);
    for ((ccm, name), row) in messages.iter().zip(rows) {
        assert_eq!(row[0], (ccm.to_vec().len() - ipa::HEADER_LEN).to_string());
        assert_eq!((row[1].as_str(), row[3].as_str()), ("0xfe", ""));
        assert!(row[2].contains(name), "{} is not {name}", row[2]);
    }
    assert!(details.contains("SGSN-9") && details.contains("0/0/0"), "{details}");
}

fn main() -> ExitCode {
    gannet_testkit::main(&[
        ("types", &[Need::Tshark], types),
        ("vectors", &[Need::Tshark], vectors),
        ("subscription", &[Need::Tshark], subscription),
        ("single_values", &[Need::Tshark], single_values),
        ("flags", &[Need::Tshark], flags),
        ("multiplex", &[Need::Tshark], multiplex),
    ])
}

//! Mobiles under all their names.

use super::gb::{Link, Made, cell, imsi, layer3, ping, rai, sn_unitdata};
use gannet_analysis::Settings;
use gannet_wire::bssgp::ie::PagingArea;
use gannet_wire::bssgp::signalling::PagingPs;
use gannet_wire::bssgp::{Message, QosProfile};
use gannet_wire::id::{Imsi, PTmsi, Sapi, Tlli};
use gannet_wire::l3::GmmMessage;
use gannet_wire::l3::gmm::{AttachAccept, AttachRequest, IdentityResponse, PTmsiReallocationCommand};
use gannet_wire::l3::ie::{ForceToStandby, GprsTimer, MobileIdentity, MsRadioAccessCapability};
use gannet_wire::sndcp::Compression;

const RANDOM: u32 = 0x7800_0001;

fn other() -> Imsi {
    "001010000000002".parse().unwrap()
}

pub fn attach(identity: MobileIdentity) -> GmmMessage {
    GmmMessage::AttachRequest(AttachRequest::new(identity, rai(1), MsRadioAccessCapability::typical(4)))
}

pub fn accept(ptmsi: u32) -> GmmMessage {
    let allocated_ptmsi = Some(MobileIdentity::PTmsi(PTmsi(ptmsi)));
    GmmMessage::AttachAccept(AttachAccept { allocated_ptmsi, ..AttachAccept::new(rai(1), GprsTimer(0x49)) })
}

pub fn data(made: &mut Made, is_up: bool, tlli: u32, number: u16) {
    let mut link = Link { count: number.into(), ..Link::new(is_up, Sapi::DATA3) };
    let frame = link.ui(&sn_unitdata(number, Compression::NONE, &ping(is_up, number, 10)));
    if is_up { made.up(tlli, cell(1), &frame) } else { made.down(tlli, 1, None, &frame) }
}

/// By mobile: its IMSI, and how many records are its.
fn records(made: &Made) -> Vec<(Option<String>, usize)> {
    let (records, reading) = made.read(Settings::default());
    let mobiles = reading.mobiles();
    let count = |index| {
        records
            .iter()
            .filter(|seen| seen.what.mobile().map(|it| mobiles.canonical(it)) == Some(index))
            .count()
    };
    mobiles.all().map(|(index, it)| (it.imsi.map(|imsi| imsi.to_string()), count(index))).collect()
}

#[test]
fn through_attach_reallocation_and_paging() {
    let mut made = Made::default();
    layer3(&mut made, true, RANDOM, 1, attach(MobileIdentity::Imsi(imsi())));
    layer3(&mut made, false, RANDOM, 1, accept(0xc000_1111));
    layer3(
        &mut made,
        true,
        0xc000_1111,
        1,
        GmmMessage::AttachComplete(gannet_wire::l3::gmm::AttachComplete {}),
    );
    data(&mut made, true, 0xc000_1111, 0);
    let command = PTmsiReallocationCommand {
        allocated_ptmsi: MobileIdentity::PTmsi(PTmsi(0xc000_2222)),
        rai: rai(1),
        force_to_standby: ForceToStandby::NotIndicated,
        ptmsi_signature: None,
    };
    layer3(&mut made, false, 0xc000_1111, 1, GmmMessage::PTmsiReallocationCommand(command));
    // Both hold until the mobile has taken the new one.
    data(&mut made, false, 0xc000_1111, 0);
    data(&mut made, true, 0xc000_2222, 1);
    let paging = PagingPs {
        imsi: imsi(),
        drx: None,
        area: PagingArea::RoutingArea(rai(1)),
        pfi: None,
        qos: QosProfile::default(),
        ptmsi: Some(0xc000_2222),
    };
    made.signalling(false, &Message::PagingPs(paging));
    // In another routing area, with the foreign TLLI of the same P-TMSI.
    data(&mut made, true, 0x8000_2222, 2);
    let counted = records(&made);
    // Four messages of layer 3 have three records each, four packets four, the paging one.
    assert_eq!(counted, [(Some(imsi().to_string()), 4 * 3 + 4 * 4 + 1)]);
}

/// A capture that starts in the middle: the paging says who it was all the time.
#[test]
fn an_imsi_that_comes_late_names_what_was_before() {
    let mut made = Made::default();
    for number in 0..5 {
        data(&mut made, true, 0xc000_2222, number);
    }
    let mut link = Link::new(false, Sapi::DATA3);
    let frame = link.ui(&sn_unitdata(0, Compression::NONE, &ping(false, 0, 10)));
    made.down(0xc000_2222, 1, Some(imsi()), &frame);
    assert_eq!(records(&made), [(Some(imsi().to_string()), 24)]);
}

/// Two SGSNs have given the same P-TMSI: the foreign TLLI is somebody else's.
#[test]
fn the_same_p_tmsi_of_another_sgsn_is_another_mobile() {
    let mut made = Made::default();
    layer3(&mut made, true, RANDOM, 1, attach(MobileIdentity::Imsi(imsi())));
    layer3(&mut made, false, RANDOM, 1, accept(0xc000_1111));
    data(&mut made, true, 0xc000_1111, 0);
    layer3(&mut made, true, 0x8000_1111, 1, attach(MobileIdentity::PTmsi(PTmsi(0xc000_1111))));
    let response = IdentityResponse { identity: MobileIdentity::Imsi(other()) };
    layer3(&mut made, true, 0x8000_1111, 1, GmmMessage::IdentityResponse(response));
    layer3(&mut made, false, 0x8000_1111, 1, accept(0xc000_3333));
    // Each goes on with its own.
    data(&mut made, true, 0xc000_1111, 1);
    data(&mut made, true, 0xc000_3333, 0);
    data(&mut made, true, 0xc000_1111, 2);
    let (_, reading) = made.read(Settings::default());
    let mut names: Vec<_> = reading
        .mobiles()
        .all()
        .filter_map(|(_, it)| Some((it.imsi?.to_string(), it.tllis.clone())))
        .collect();
    names.sort();
    let [(first, of_first), (second, of_second)] = &names[..] else { panic!("{names:?}") };
    assert_eq!((first, second), (&imsi().to_string(), &other().to_string()));
    assert!(of_first.contains(&0xc000_1111) && !of_first.contains(&0xc000_3333));
    assert!(of_second.contains(&0x8000_1111) && of_second.contains(&0xc000_3333));
    let counted = records(&made);
    let of = |imsi: Imsi| counted.iter().find(|(name, _)| *name == Some(imsi.to_string())).unwrap().1;
    // The attach with its answer, and three packets; of the other what came before its IMSI was taken for the first one's.
    assert_eq!(of(imsi()), 2 * 3 + 3 * 4 + 3 + 2);
    assert_eq!(of(other()), 1 + 3 + 4);
    assert_eq!(Tlli(0x8000_1111).kind(), gannet_wire::id::TlliKind::Foreign);
}

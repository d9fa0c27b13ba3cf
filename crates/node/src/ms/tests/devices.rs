//! A device for each address: when it comes and goes, which context its packets take, and when it is left alone.

use super::super::*;
use super::bench::*;
use gannet_wire::id::Sapi;
use gannet_wire::l3::SmMessage;
use gannet_wire::l3::gmm::DetachAcceptMo;
use gannet_wire::l3::ie::{
    Component, FilterDirection, ForceToStandby, PacketFilter, RadioPriority, ReliabilityClass, TftOperation,
    TftRepr,
};
use gannet_wire::l3::sm::{ActivateAccept, ActivateSecondaryAccept, DeactivateAccept};

const SECOND: Nsapi = Nsapi(6);
const UDP: u8 = 17;
const TCP: u8 = 6;

fn device(nsapi: Nsapi) -> Device {
    Device { mobile: 0, nsapi }
}

fn with_devices() -> Bench {
    let mut bench = Bench::new(|config| config.delivery = NPduDelivery::Devices);
    bench.attach(0);
    bench
}

fn qos(class: u8) -> QosProfile {
    QosProfile { reliability: ReliabilityClass(class), ..QosProfile::BEST_EFFORT }
}

fn activate(bench: &mut Bench, class: u8) {
    bench.order_context(0, NSAPI);
    assert!(matches!(bench.next_sm(0), SmMessage::ActivateRequest(_)));
    bench.sm(0, 0, ActivateAccept { qos: qos(class), ..activate_accept() });
}

/// A context beside the first, for packets of one protocol.
fn activate_beside(bench: &mut Bench, protocol: u8) {
    let components = vec![Component::Protocol(protocol)];
    let filter =
        PacketFilter { identifier: 0, direction: FilterDirection::Unsaid, precedence: 1, components };
    let tft = Some(TftRepr::new(TftOperation::Create(vec![filter])).to_element());
    let wanted = WantedSecondary { linked: NSAPI, sapi: Sapi::DATA3, qos: QosProfile::default(), tft };
    bench.order(MsCommand::ActivateSecondary { mobile: 0, nsapi: SECOND, wanted });
    assert!(matches!(bench.next_sm(0), SmMessage::ActivateSecondaryRequest(_)));
    let accept = ActivateSecondaryAccept {
        sapi: Sapi::DATA3,
        qos: QosProfile::BEST_EFFORT,
        radio_priority: RadioPriority::Four,
        packet_flow_identifier: None,
    };
    bench.sm(0, 1, accept);
}

fn deactivate(bench: &mut Bench, nsapi: Nsapi, ti: u8) {
    bench.order(MsCommand::Deactivate { mobile: 0, nsapi });
    assert!(matches!(bench.next_sm(0), SmMessage::DeactivateRequest(_)));
    bench.sm(0, ti, DeactivateAccept {});
}

/// What happened to devices, in short.
fn happened(bench: &mut Bench) -> Vec<String> {
    let told = |event| match event {
        MsEvent::DeviceUp { device, address, .. } => Some(format!("up {} {address}", device.nsapi)),
        MsEvent::DeviceDown { device } => Some(format!("down {}", device.nsapi)),
        MsEvent::DeviceHeld { device, on } => Some(format!("held {} {on}", device.nsapi)),
        MsEvent::HeldBack { .. } => panic!("a mobile with devices is not held back as a whole"),
        _ => None,
    };
    bench.events.drain(..).filter_map(told).collect()
}

fn packet(protocol: u8) -> Vec<u8> {
    let mut packet = vec![0; 40];
    (packet[0], packet[3], packet[9]) = (0x45, 40, protocol);
    packet[12..16].copy_from_slice(&[10, 0, 0, 7]);
    packet
}

fn from_device(bench: &mut Bench, nsapi: Nsapi, octets: &[u8]) {
    let frame = bench.around.frames.copy_of(octets).unwrap();
    bench.input(Input::Datagram { port: TUN, peer: device(nsapi).peer(), frame });
}

/// The NSAPIs of the SN-PDUs that the mobile has sent.
fn sent(bench: &mut Bench) -> Vec<u8> {
    let nsapi = |up| match up {
        (_, Up::Sn(_, pdu)) => Some(pdu[0] & 0xf),
        _ => None,
    };
    bench.up.drain(..).filter_map(nsapi).collect()
}

#[test]
fn every_device_has_a_slot_of_its_own() {
    for device in [device(NSAPI), Device { mobile: 9_999_999, nsapi: Nsapi(15) }, device(Nsapi(0))] {
        let Peer::Slot(slot) = device.peer() else { panic!("{:?}", device.peer()) };
        assert_eq!(Device::of_slot(slot), device);
    }
}

#[test]
fn a_device_comes_with_its_first_context_and_goes_with_the_last() {
    let mut bench = with_devices();
    activate(&mut bench, 3);
    assert_eq!(happened(&mut bench), ["up 5 10.0.0.7"]);
    activate_beside(&mut bench, UDP);
    assert_eq!(happened(&mut bench), [""; 0]);
    deactivate(&mut bench, NSAPI, 0);
    assert_eq!(happened(&mut bench), [""; 0], "the second context still has the address");
    deactivate(&mut bench, SECOND, 1);
    assert_eq!(happened(&mut bench), ["down 5"]);
    activate(&mut bench, 3);
    assert_eq!(happened(&mut bench), ["up 5 10.0.0.7"]);
    bench.order(MsCommand::Detach { mobile: 0, power_off: false });
    bench.gmm(0, DetachAcceptMo { force_to_standby: ForceToStandby::NotIndicated });
    assert_eq!(happened(&mut bench), ["down 5"]);
    bench.all_frames_are_back();
}

#[test]
fn a_new_context_with_the_number_of_a_device_that_is_still_there_has_another_device() {
    let mut bench = with_devices();
    activate(&mut bench, 3);
    activate_beside(&mut bench, UDP);
    deactivate(&mut bench, NSAPI, 0);
    let _ = happened(&mut bench);
    bench.order_context(0, NSAPI);
    assert!(matches!(bench.next_sm(0), SmMessage::ActivateRequest(_)));
    let other = PdpAddress::Ipv4(core::net::Ipv4Addr::new(10, 0, 0, 8));
    bench.sm(0, 0, ActivateAccept { address: Some(other), ..activate_accept() });
    assert_eq!(happened(&mut bench), ["up 0 10.0.0.8"]);
    from_device(&mut bench, Nsapi(0), &packet(TCP));
    from_device(&mut bench, NSAPI, &packet(TCP));
    assert_eq!(sent(&mut bench), [5, 6]);
    assert_eq!(bench.drops(), []);
}

#[test]
fn packets_of_a_device_take_the_context_whose_template_fits() {
    let mut bench = with_devices();
    activate(&mut bench, 3);
    activate_beside(&mut bench, UDP);
    for protocol in [UDP, TCP, UDP] {
        from_device(&mut bench, NSAPI, &packet(protocol));
    }
    assert_eq!(sent(&mut bench), [6, 5, 6]);
    // Both ways by the one device.
    for nsapi in [5, 6] {
        let mut sn_pdu = vec![0x60 | nsapi, 0, 0, 0];
        sn_pdu.extend(packet(UDP));
        bench.ll_unitdata(0, Sapi::DATA3, &sn_pdu);
    }
    let slot = NSAPI.0.into();
    assert_eq!(core::mem::take(&mut bench.tun), [(slot, packet(UDP)), (slot, packet(UDP))]);
    assert_eq!(bench.drops(), []);
    from_device(&mut bench, SECOND, &packet(UDP));
    from_device(&mut bench, NSAPI, &[0x60; 48]);
    bench.input(Input::Datagram {
        port: TUN,
        peer: Device { mobile: 9, nsapi: NSAPI }.peer(),
        frame: bench.around.frames.copy_of(&packet(UDP)).unwrap(),
    });
    let expected = [(Drop::MsUnknownMobile, 1), (Drop::MsNoContext, 1), (Drop::MsOtherAddressType, 1)];
    assert_eq!(bench.drops(), expected);
    bench.all_frames_are_back();
}

#[test]
fn a_device_is_left_alone_while_its_window_is_full() {
    let mut bench = with_devices();
    activate(&mut bench, 2);
    assert_eq!(happened(&mut bench), ["up 5 10.0.0.7"]);
    // The network confirms nothing.
    for _ in 0..31 {
        from_device(&mut bench, NSAPI, &packet(TCP));
    }
    assert_eq!(happened(&mut bench), [""; 0]);
    from_device(&mut bench, NSAPI, &packet(TCP));
    assert_eq!(happened(&mut bench), ["held 5 true"]);
    bench.order(MsCommand::Deactivate { mobile: 0, nsapi: NSAPI });
    bench.up.clear();
    bench.sm(0, 0, DeactivateAccept {});
    assert_eq!(happened(&mut bench), ["held 5 false", "down 5"]);
    assert_eq!(bench.drops(), [(Drop::LlcAbmRefused, 1), (Drop::SndcpUnconfirmed, 32)]);
    bench.all_frames_are_back();
}

#[test]
fn devices_are_left_alone_while_the_mobile_must_not_send() {
    let mut bench = with_devices();
    activate(&mut bench, 3);
    bench.order(MsCommand::Suspend { mobile: 0 });
    assert_eq!(happened(&mut bench), ["up 5 10.0.0.7", "held 5 true"]);
    bench.order(MsCommand::Resume { mobile: 0 });
    assert_eq!(happened(&mut bench), ["held 5 false"]);
    // The routing area update of 04.08 clause 4.7.5.1.
    bench.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    assert_eq!(happened(&mut bench), ["held 5 true"]);
}

#[test]
fn devices_are_left_alone_while_the_bearer_takes_nothing() {
    let mut bench = with_devices();
    activate(&mut bench, 3);
    let _ = happened(&mut bench);
    for (on, told) in [(true, vec!["held 5 true"]), (true, vec![]), (false, vec!["held 5 false"])] {
        bench.ms.hold_back(on);
        bench.poll();
        assert_eq!(happened(&mut bench), told);
    }
    bench.ms.hold_back(true);
    bench.poll();
    let _ = happened(&mut bench);
    activate_beside(&mut bench, UDP);
    bench.order(MsCommand::Deactivate { mobile: 0, nsapi: NSAPI });
    assert_eq!(happened(&mut bench), [""; 0], "the device is held already");
}

#[test]
fn other_parameters_of_llc_are_asked_for_where_a_context_is_active() {
    let mut bench = with_devices();
    activate(&mut bench, 3);
    bench.up.clear();
    let links = LinksConfig::default();
    bench.order(MsCommand::SetLayers { n201_u: Some(1000), links });
    assert!(matches!(bench.up.pop_front(), Some((0, Up::Other(..)))), "XID");
    bench.up.clear();
    bench.order(MsCommand::SetLayers { n201_u: Some(1000), links });
    assert!(bench.is_silent(), "nothing has changed");
}

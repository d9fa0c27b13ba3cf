//! Blocks of a real phone stack and a real PCU on Um: taken apart and put together again.
//!
//! `um_blocks.txt` has each control block of PDCHs, and each block of AGCH and PCH, once: direction and octets.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_wire::id::Tlli;
use gannet_wire::rlcmac::ccch::{CcchMessage, IaRestOctets, PagedMobile, Resource};
use gannet_wire::rlcmac::cell::{AccessThreshold, Broadcast, NetworkMode, Rac, SystemInformation13};
use gannet_wire::rlcmac::coding::CodingScheme;
use gannet_wire::rlcmac::downlink::UplinkAllocation;
use gannet_wire::rlcmac::element::{AckNackDescription, Frequencies, UplinkAddress};
use gannet_wire::rlcmac::value::{
    AckType, Arfcn, Bsn, ChannelNeeded, NetworkControlOrder, PageMode, PdchSet, RadioPriority, RlcOctets,
    Rrbp, Tfi, Timeslot, TimingAdvance, Tsc, Usf,
};
use gannet_wire::rlcmac::{DownlinkControlBlock, DownlinkMessage, UplinkControlBlock, UplinkMessage};
use std::collections::BTreeMap;

fn octets(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2).map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap()).collect()
}

fn downlink(hex: &str) -> DownlinkControlBlock {
    DownlinkControlBlock::parse(&octets(hex)).unwrap()
}

fn uplink(hex: &str) -> UplinkMessage {
    UplinkControlBlock::parse(&octets(hex)).unwrap().message
}

#[test]
fn every_block_comes_back() {
    let mut names = BTreeMap::<_, u32>::new();
    for line in include_str!("um_blocks.txt").lines() {
        let (direction, hex) = line.split_once(' ').unwrap();
        let block = octets(hex);
        let (name, again) = match direction {
            "up" => {
                let parsed = UplinkControlBlock::parse(&block).unwrap();
                (parsed.message.name(), parsed.emit())
            }
            "down" => {
                let parsed = DownlinkControlBlock::parse(&block).unwrap();
                (parsed.message.name(), parsed.emit())
            }
            // An empty frame of layer 2 fills the channel: no message, said by its length.
            _ if hex.starts_with("0303") => {
                let error = CcchMessage::parse(&block).unwrap_err();
                assert_eq!(error.to_string(), "L2 Pseudo Length at octet 0: impossible length 0");
                continue;
            }
            _ => {
                let parsed = CcchMessage::parse(&block).unwrap();
                (parsed.name(), parsed.emit())
            }
        };
        assert_eq!(again.map(Vec::from), Some(block), "{line}");
        *names.entry(name).or_default() += 1;
    }
    let expected = [
        ("Immediate Assignment", 2),
        ("Packet Control Acknowledgement", 2),
        ("Packet Downlink Ack/Nack", 95),
        ("Packet Downlink Assignment", 1),
        ("Packet Downlink Dummy Control Block", 2),
        ("Packet Uplink Ack/Nack", 4),
        ("Packet Uplink Assignment", 2),
        ("Paging Request Type 1", 1),
        // 16 octets 0x7f, of which the second has message type 31: filler of the PCU.
        ("unknown message", 1),
    ];
    assert_eq!(names.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn an_immediate_assignment_gives_one_timeslot_up_and_one_down() {
    let parse = |hex| match CcchMessage::parse(&octets(hex)) {
        Ok(CcchMessage::ImmediateAssignment(message)) => message,
        other => panic!("{other:?}"),
    };
    let up = parse("2d063f100ee3677a08900000c800700b2b2b2b2b2b2b2b");
    let Resource::Packet { is_downlink: false, channel } = up.resource else { panic!("{up:?}") };
    assert_eq!((channel.timeslot, channel.tsc), (Timeslot::lowest(6), Tsc::lowest(7)));
    assert_eq!((up.request.access, up.request.frame.frame_number()), (0x7a, Some(2044)));
    let IaRestOctets::Uplink(tbf) = &up.rest else { panic!("{up:?}") };
    assert_eq!((tbf.tfi, tbf.usf, tbf.coding), (Tfi::lowest(0), Usf::lowest(0), CodingScheme::Cs4));
    let down = parse("2d063f300ee3677d8ac80000d80000000800232b2b2b2b");
    assert!(matches!(down.resource, Resource::Packet { is_downlink: true, .. }));
    let IaRestOctets::Downlink(assigned) = &down.rest else { panic!("{down:?}") };
    assert_eq!(assigned.tlli, Tlli(0x8000_0000));
    assert!(assigned.tbf.unwrap().timing_advance_valid && !assigned.tbf.unwrap().polling);
}

#[test]
fn an_empty_page_names_nobody() {
    let page = CcchMessage::parse(&octets("1506210001f02b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b")).unwrap();
    let CcchMessage::PagingRequest1(page) = page else { panic!("{page:?}") };
    assert_eq!((page.page_mode, page.channels), (PageMode::Normal, [ChannelNeeded::Any; 2]));
    assert_eq!((page.first, page.second), (PagedMobile::nobody(), None));
}

#[test]
fn the_pcu_assigns_and_acknowledges() {
    let block = downlink("4f0850000000000f8079b3c1008208200b2b2b2b2b2b2b");
    assert_eq!((block.header.usf, block.header.poll), (Usf::lowest(7), Some(Rrbp::N13)));
    let DownlinkMessage::DownlinkAssignment(assigned) = block.message else { panic!("{block:?}") };
    assert_eq!((assigned.timeslots, assigned.tfi), (PdchSet(0x0f), Some(Tfi::lowest(0))));
    assert_eq!(assigned.timing_advance.value, Some(TimingAdvance::lowest(0)));
    let frequencies = assigned.frequencies.unwrap();
    assert_eq!(frequencies.frequencies, Frequencies::Arfcn(Arfcn::lowest(871)));
    let block = downlink("4f285a33242e6f01e6ce8800102b2b2b2b2b2b2b2b2b2b");
    let DownlinkMessage::UplinkAssignment(assigned) = block.message else { panic!("{block:?}") };
    assert_eq!(assigned.address, UplinkAddress::Tlli(Tlli(0xd199_2173)));
    let UplinkAllocation::Dynamic(tbf) = assigned.allocation else { panic!("{assigned:?}") };
    let usfs = tbf.timeslots.usfs();
    assert_eq!(usfs.iter().position(Option::is_some), Some(6));
    let block = downlink("4f2400e0c000000000000001fa33242e78014b2b2b2b2b");
    let DownlinkMessage::UplinkAckNack(acknowledged) = block.message else { panic!("{block:?}") };
    let ack_nack = AckNackDescription { is_final: true, ssn: Bsn::lowest(3), bitmap: 0b111 };
    assert_eq!(acknowledged.ack_nack, ack_nack);
    assert_eq!(acknowledged.contention_tlli, Some(Tlli(0xd199_2173)));
    assert!(!acknowledged.later.0.is_empty(), "it adds what R99 has");
}

#[test]
fn the_phone_acknowledges_and_asks_for_a_tbf() {
    let UplinkMessage::DownlinkAckNack(report) = uplink("40080d5ffffffffffffffff0c005f00000032b2b2b2b2b")
    else {
        panic!()
    };
    assert_eq!((report.tfi, report.ack_nack.ssn.get()), (Tfi::lowest(0), 0x6a));
    assert_eq!(report.ack_nack.bitmap, u64::MAX);
    assert_eq!(report.ack_nack.received(Bsn::lowest(0x69)), Some(true));
    assert_eq!(report.ack_nack.received(Bsn::lowest(0x6a)), None);
    let request = report.request.unwrap();
    assert_eq!((request.priority, request.octets), (RadioPriority::lowest(3), RlcOctets::lowest(95)));
    let UplinkMessage::ControlAcknowledgement(answer) =
        uplink("4007466485cc2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b")
    else {
        panic!()
    };
    assert_eq!((answer.tlli, answer.ctrl_ack.get()), (Tlli(0xd199_2173), 0));
}

#[test]
fn a_cell_says_how_packet_access_works() {
    let block = octets("0106009000185a6fc9f14008411b2b2b2b2b2b2b2b2b2b");
    let information = SystemInformation13::parse(&block).unwrap();
    assert_eq!(information.emit().map(Vec::from), Some(block));
    assert!(!information.later.0.is_empty(), "the SGSN is of R99");
    let cell = information.cell.unwrap();
    assert_eq!((cell.change_mark.get(), &cell.allocation), (1, &None));
    let Broadcast::Bcch(access) = cell.broadcast else { panic!("{cell:?}") };
    assert_eq!(
        (access.rac, access.threshold, access.control),
        (Rac::lowest(0), AccessThreshold::lowest(6), NetworkControlOrder::Nc0)
    );
    let options = access.options;
    assert_eq!((options.t3168.milliseconds(), options.t3192.milliseconds()), (2000, 1500));
    assert_eq!((options.mode, options.control_ack), (NetworkMode::II, AckType::ControlBlock));
    assert_eq!((options.bs_cv_max.get(), options.pan.unwrap().maximum.get()), (15, 7));
    assert_eq!((access.power.idle_averaging.get(), access.power.interference_filter.get()), (16, 8));
    let error = SystemInformation13::parse(&octets("55061900")).unwrap_err();
    assert_eq!(error.to_string(), "message type at octet 2: unknown message type 0x19");
}

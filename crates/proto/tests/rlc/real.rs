//! The blocks of a phone stack and of osmo-pcu: their LL-PDUs have a right FCS, and our sender cuts them as they did.

use gannet_proto::rlcmac::rlc::{Ending, Mode, Receiver, Sender};
use gannet_wire::fcs24::fcs24;
use gannet_wire::rlcmac::block::{DownlinkHeader, UplinkHeader};

const BLOCKS: &str = include_str!("../../../wire/tests/rlc_real_blocks.txt");

fn blocks(way: &str) -> Vec<Vec<u8>> {
    let lines = BLOCKS.lines().filter_map(|line| line.split_once(' ')).filter(|(first, _)| *first == way);
    lines
        .map(|(_, octets)| {
            let octet = |at: usize| u8::from_str_radix(&octets[at..at + 2], 16).unwrap();
            (0..octets.len()).step_by(2).map(octet).collect()
        })
        .collect()
}

/// An LL-PDU of a dummy UI command, with which osmo-pcu fills blocks: it has no FCS (04.64 [44.064] clause 6.4.2.2).
fn is_dummy(pdu: &[u8]) -> bool {
    pdu.starts_with(&[0x43, 0xc0, 0x01])
}

fn has_right_fcs(pdu: &[u8]) -> bool {
    let (frame, fcs) = pdu.split_at(pdu.len() - 3);
    fcs24(frame) == fcs
}

#[test]
fn downlink_ll_pdus_are_whole() {
    let mut receiver = Receiver::new(Mode::Acknowledged);
    let mut pdus = Vec::new();
    for octets in blocks("down") {
        let (header, body) = DownlinkHeader::parse(&octets).unwrap();
        receiver.receive(header.bsn, header.is_final, &body, |pdu| pdus.push(pdu.octets.to_vec())).unwrap();
    }
    let (dummies, real): (Vec<_>, Vec<_>) = pdus.into_iter().partition(|pdu| is_dummy(pdu));
    assert!(dummies.len() > 5 && real.len() > 6, "{} {}", dummies.len(), real.len());
    for pdu in real {
        assert!(has_right_fcs(&pdu), "{pdu:02x?}");
    }
    assert_eq!((receiver.holes(), receiver.unfinished_octets()), (0, 0));
}

#[test]
fn uplink_tbfs_are_cut_as_by_the_phone() {
    let mut tbfs: Vec<Vec<Vec<u8>>> = Vec::new();
    for octets in blocks("up") {
        if octets[2] >> 1 == 0 {
            tbfs.push(Vec::new());
        }
        tbfs.last_mut().unwrap().push(octets);
    }
    assert!(tbfs.len() > 5);
    for tbf in tbfs {
        let mut receiver = Receiver::new(Mode::Acknowledged);
        let mut pdus = Vec::new();
        for octets in &tbf {
            let (header, body) = UplinkHeader::parse(octets).unwrap();
            let is_final = header.countdown == 0;
            receiver.receive(header.bsn, is_final, &body, |pdu| pdus.push(pdu.octets.to_vec())).unwrap();
        }
        assert!(receiver.is_complete());
        // The phone's XID response has a wrong FCS in its own frame.
        assert!(pdus.iter().all(|pdu| has_right_fcs(pdu) || pdu.starts_with(&[0x03, 0xfb])));

        let (_, first) = UplinkHeader::parse(&tbf[0]).unwrap();
        let mut sender = Sender::new(Mode::Acknowledged, first.scheme());
        sender.set_tlli(first.contents().unwrap().tlli);
        for pdu in pdus {
            sender.push(pdu).unwrap();
        }
        for octets in &tbf {
            let (header, _) = UplinkHeader::parse(octets).unwrap();
            let sent = sender.next_block(Ending::Countdown { cv_max: 15, slots: 1 }).unwrap();
            let ours = UplinkHeader { countdown: sent.countdown, bsn: sent.bsn, ..header };
            assert_eq!(&*ours.emit(&sent.body), octets.as_slice());
        }
        assert_eq!(sender.waiting_octets(), 0);
    }
}

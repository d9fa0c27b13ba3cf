//! Paging over RLC/MAC.

use super::*;
use crate::bss::radio::RlcMacConfig;
use gannet_proto::rlcmac::config::NetworkConfig;
use gannet_wire::id::Imsi;
use gannet_wire::rlcmac::coding::CodingScheme;

const B: Tlli = Tlli(0xc000_0002);

fn world() -> World {
    let mut world = World::with(|config| {
        config.rlcmac = Some(RlcMacConfig::new(NetworkConfig::new(0b1111_0000, CodingScheme::Cs2)));
    });
    world.mobile_sends(5, UmKind::CampOn, 0, A, &[]);
    world.mobile_sends(6, UmKind::CampOn, 0, B, &[]);
    world
}

fn imsi(last: u32) -> Imsi {
    format!("001010000{last:06}").parse().unwrap()
}

fn page(world: &mut World, imsi: Imsi) {
    let area = PagingArea::Bvc(Bvci(2));
    let paging = PagingPs { imsi, drx: None, area, pfi: None, qos: QosProfile::default(), ptmsi: None };
    world.send(Bvci::SIGNALLING, &Message::PagingPs(paging).to_vec());
}

/// Lets a second pass; who has heard the page.
fn heard(world: &mut World, imsi: Imsi) -> Vec<u32> {
    assert!(world.um.is_empty(), "nobody hears it at once");
    world.run_until(world.around.now.0 / 1_000_000 + 1000);
    let all = core::mem::take(&mut world.um);
    for (_, header, octets) in &all {
        assert_eq!((header.kind, header.cell), (UmKind::PagingPs, 0));
        assert_eq!(PagedIdentity::parse(octets), Ok(PagedIdentity::Imsi(imsi)));
    }
    all.iter().map(|(mobile, ..)| *mobile).collect()
}

#[test]
fn a_page_is_heard_in_its_block_by_those_that_listen_to_that() {
    let mut world = world();
    page(&mut world, imsi(7));
    assert_eq!(heard(&mut world, imsi(7)), [5, 6], "neither is in DRX mode");
    // The SGSN says who mobile 5 is, and that it uses DRX without a non-DRX period.
    let mut header = DlUnitdata::new(A, QosProfile::default(), PduLifetime(0xffff));
    (header.imsi, header.drx) = (Some(imsi(100)), Some(0x0a00));
    let mut pdu = vec![0; header.buffer_len(20)];
    assert!(header.emit(20, &mut pdu));
    pdu.resize(pdu.len() + 20, 0x55);
    world.send(Bvci(2), &pdu);
    world.run_until(6000);
    assert_eq!(world.um.drain(..).map(|(mobile, ..)| mobile).collect::<Vec<_>>(), [5]);
    // There are 16 groups: 100 and 4 are in the same.
    for (paged, expected) in [(100, &[5, 6][..]), (4, &[5, 6]), (5, &[6]), (99, &[6])] {
        page(&mut world, imsi(paged));
        assert_eq!(heard(&mut world, imsi(paged)), expected, "{paged}");
    }
}

#[test]
fn a_mobile_that_has_only_come_to_a_cell_is_paged_there() {
    let mut world = world();
    world.mobile_sends(5, UmKind::CampOn, 1, A, &[]);
    page(&mut world, imsi(7));
    assert_eq!(heard(&mut world, imsi(7)), [6], "5 is in another cell");
}

#[test]
fn so_many_pages_wait_in_a_cell() {
    let mut world = world();
    (0..258).for_each(|last| page(&mut world, imsi(last)));
    assert_eq!(world.drops(Drop::BssOverrun), 2);
}

//! A mobile on its way: it measures, leaves its cell, and comes to another.

use super::super::travel::{TravelConfig, TravelCounts, TravelFaults};
use super::bench::*;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_proto::reselection::criteria::SelectionParameters;
use gannet_proto::reselection::signal::Signal;
use gannet_proto::reselection::{Broadcast, Reason};
use gannet_proto::um::UmKind;
use gannet_wire::id::CellId;
use gannet_wire::l3::GmmMessage;

use super::super::*;

/// Mobile 0 goes from cell 0 to cell 1, of the same routing area, or to cell 2 of another.
fn on_the_way(to: u16, faults: TravelFaults) -> Bench {
    let script = match to {
        1 => "0 -60 -95 -100\n20 -60 -95 -100\n21 -95 -60 -100\n900 -95 -60 -100\n",
        _ => "0 -60 -100 -95\n20 -60 -100 -95\n21 -95 -100 -60\n900 -95 -100 -60\n",
    };
    let mut bench = Bench::new(|config| {
        let broadcast = |(index, id): (u16, &CellId)| Broadcast {
            id: *id,
            selection: SelectionParameters::default(),
            neighbours: (0..3).filter(|other| *other != index).collect(),
        };
        let broadcasts = (0..).zip(&config.cells).map(broadcast).collect();
        let travel = TravelConfig::new(broadcasts, vec![Signal::parse(script).unwrap()]);
        // The order of `first_cells` does not count for it.
        config.first_cells[0] = 2;
        config.travel = Some(TravelConfig { faults, ..travel });
    });
    bench.attach(0);
    bench.activate(0);
    assert_eq!(bench.ms.mobile(0).unwrap().cell, Some(0), "the strongest");
    bench
}

/// It goes on until the mobile has left. Gives how long that was.
fn leaves(bench: &mut Bench, to: u16) -> Duration {
    let began = bench.around.now;
    while !bench.ms.is_between_cells(0) {
        bench.pass(Duration::from_millis(100));
        assert!(bench.around.now.since(began) < Duration::from_secs(60));
    }
    let left = bench.events.pop_front();
    assert!(
        matches!(left, Some(MsEvent::Leaving { mobile: 0, to: cell, reason: Reason::Better }) if cell == to),
        "{left:?}"
    );
    bench.around.now.since(began)
}

fn kinds(bench: &mut Bench) -> Vec<UmKind> {
    let ups: Vec<_> = bench.up.drain(..).collect();
    ups.iter()
        .map(|(_, up)| match up {
            Up::Um(kind, ..) => *kind,
            Up::L3(..) | Up::Sn(..) | Up::Other(..) => UmKind::LlPdu,
        })
        .collect()
}

fn packet(number: u8) -> Vec<u8> {
    let mut octets = vec![0; 40];
    (octets[0], octets[3], octets[9], octets[39]) = (0x45, 40, 17, number);
    octets[12..16].copy_from_slice(&[10, 0, 0, 7]);
    octets
}

/// The numbers of N-PDUs that came to the network, and whether anything else did.
fn came(bench: &mut Bench) -> (Vec<u8>, usize) {
    let ups: Vec<_> = bench.up.drain(..).map(|(_, up)| up).collect();
    let mut numbers = Vec::new();
    let mut others = 0;
    for up in ups {
        match up {
            Up::Sn(_, octets) => numbers.extend(octets.last()),
            Up::Um(UmKind::CampOn, ..) => {}
            Up::Um(..) | Up::L3(..) | Up::Other(..) => others += 1,
        }
    }
    (numbers, others)
}

#[test]
fn c6_6_2_what_is_held_tells_the_new_cell() {
    let mut bench = on_the_way(1, TravelFaults::NONE);
    bench.up.clear();
    let span = leaves(&mut bench, 1);
    assert!(
        (24..=32).contains(&(span.as_millis() / 1000)),
        "5 s better after the levels have crossed: {span}"
    );
    assert_eq!(kinds(&mut bench), [UmKind::Away], "the radio is told, and the SGSN not");
    for number in 1..=3 {
        bench.packet(0, &packet(number));
    }
    assert!(bench.is_silent(), "between two cells nothing is sent");
    let began = bench.around.now;
    while bench.ms.is_between_cells(0) {
        bench.pass(Duration::from_millis(50));
    }
    let span = bench.around.now.since(began).as_millis();
    assert!((1950..=3550).contains(&span), "{span} ms for the system information");
    assert_eq!(bench.ms.mobile(0).unwrap().cell, Some(1));
    assert!(matches!(bench.events.pop_front(), Some(MsEvent::Camped { mobile: 0, cell: 1 })));
    assert_eq!(came(&mut bench), (vec![1, 2, 3], 0), "in their order, and no empty LL-PDU beside them");
    let counts = TravelCounts { reselections: 1, held: 3, ..TravelCounts::default() };
    assert_eq!((bench.ms.travel_counts(), bench.drops()), (counts, vec![]));
}

#[test]
fn a_mobile_with_nothing_to_send_sends_an_empty_ll_pdu() {
    let mut bench = on_the_way(1, TravelFaults::NONE);
    // READY is over after 44 s; this keeps it.
    bench.packet(0, &packet(1));
    leaves(&mut bench, 1);
    bench.up.clear();
    bench.pass(Duration::from_secs(4));
    let (numbers, others) = came(&mut bench);
    assert_eq!((numbers.len(), others), (0, 1), "03.60 clause 6.9.1.1: any LLC frame with its identity");
}

#[test]
fn c4_7_5_1_in_another_area_n_pdus_wait_for_the_update() {
    let mut bench = on_the_way(2, TravelFaults::NONE);
    leaves(&mut bench, 2);
    bench.up.clear();
    bench.packet(0, &packet(1));
    bench.pass(Duration::from_secs(4));
    assert!(matches!(bench.next_gmm(0), (_, GmmMessage::RauRequest(_))));
    bench.packet(0, &packet(2));
    assert!(bench.is_silent(), "04.08 clause 4.7.5.1: no user data before the accept");
    bench.gmm(0, rau_accept(bench.rai(0), None, 1 << 5));
    assert_eq!(came(&mut bench), (vec![1, 2], 0));
    assert_eq!(bench.drops(), []);
}

#[test]
fn as_much_is_held_as_there_is_room_for() {
    let mut bench = on_the_way(1, TravelFaults::NONE);
    leaves(&mut bench, 1);
    bench.up.clear();
    let longest = [packet(0), vec![9; 1460]].concat();
    for _ in 0..21 {
        bench.packet(0, &longest);
    }
    assert_eq!(bench.drops(), [(Drop::MsRadioFull, 1)], "20 are of 30 000 octets");
    bench.pass(Duration::from_secs(4));
    assert!(bench.up.len() >= 20 && bench.around.frames.free() == FRAMES);
}

#[test]
fn faults_do_what_was_seen_in_the_field() {
    let repeated = TravelFaults { repeated: 2, ..TravelFaults::NONE };
    let mut bench = on_the_way(1, repeated);
    for number in 1..=3 {
        bench.packet(0, &packet(number));
    }
    bench.user_data = Some(std::collections::VecDeque::new());
    leaves(&mut bench, 1);
    bench.packet(0, &packet(4));
    bench.pass(Duration::from_secs(4));
    let last: Vec<u8> =
        bench.user_data.take().unwrap().iter().map(|ll_pdu| ll_pdu[ll_pdu.len() - 4]).collect();
    assert_eq!(last, [2, 3, 4], "two go again, with the octets before their FCS as they were");
    assert_eq!(bench.ms.travel_counts().repeated, 2);

    let stall = TravelFaults { stall: Duration::from_secs(3), ..TravelFaults::NONE };
    let mut bench = on_the_way(1, stall);
    leaves(&mut bench, 1);
    bench.up.clear();
    bench.packet(0, &packet(1));
    while bench.ms.is_between_cells(0) {
        bench.pass(Duration::from_millis(50));
    }
    assert_eq!(came(&mut bench), (vec![], 1), "the empty LL-PDU, and then nothing");
    bench.pass(Duration::from_millis(2900));
    assert_eq!(came(&mut bench), (vec![], 0));
    bench.pass(Duration::from_millis(200));
    assert_eq!((came(&mut bench), bench.ms.travel_counts().stalls), ((vec![1], 0), 1));

    let fails = TravelFaults { fails_every: 1, ..TravelFaults::NONE };
    let mut bench = on_the_way(1, fails);
    leaves(&mut bench, 1);
    bench.pass(Duration::from_secs(121));
    assert!(bench.ms.is_between_cells(0));
    bench.pass(Duration::from_secs(4));
    assert_eq!((bench.ms.is_between_cells(0), bench.ms.travel_counts().failed), (false, 1));
}

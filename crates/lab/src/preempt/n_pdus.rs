//! N-PDUs and blocks are conserved where calls take all PDCHs in the middle of something: through host, GGSN, SGSN, BSS and mobile.

use super::place::{Buffer, Policy, setup};
use super::run::{COOL_DOWN, PROTOCOL, drops, hold_channels};
use crate::radio::packet::ipv4;
use crate::radio::world::{HOST, Setup, World};
use gannet_machine::time::Duration;
use gannet_node::bss::radio::Way;
use gannet_node::ms::MsCommand;
use std::collections::BTreeMap;

/// N-PDUs of each direction.
const N_PDUS: u32 = 6;
/// Octets of one behind its header: it takes two LL-PDUs.
const OCTETS: usize = 700;
const ALL: u8 = u8::MAX;
/// By then all has come. No whole second, so that no periodic message of NS is on Gb at the end.
const COMES_WITHIN: Duration = Duration::from_millis(61_237);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What happens in the middle, in a world in which N-PDUs are on their way.
type Middle = fn(&mut World, Duration);

fn pass(world: &mut World, span: Duration) {
    world.run_until(world.gprs.now + span);
}

/// N-PDUs go one way, and so long after that something happens. Gives the numbers that came, in their order, and the drops of all nodes.
fn case(
    policy: Policy,
    way: Way,
    after: Duration,
    middle: Middle,
) -> (Vec<u32>, BTreeMap<&'static str, u64>) {
    let about = format!("{}, {way:?}, {after:?}", policy.name());
    let one = setup(Some(policy), Buffer::Window, 1, 1).unwrap();
    let mut world = World::new(&Setup { cells: 2, ..one }).unwrap();
    let address = world.address(0).unwrap();
    // In packet idle mode.
    pass(&mut world, ms(10_000));
    world.others.clear();
    for number in 0..N_PDUS {
        let mut payload = number.to_be_bytes().to_vec();
        payload.resize(OCTETS, 0xA5);
        match way {
            Way::Downlink => world.host_sends(&ipv4(HOST, address, PROTOCOL, &payload)),
            Way::Uplink => world.mobile_sends(0, &ipv4(address, HOST, PROTOCOL, &payload)),
        }
    }
    pass(&mut world, after);
    middle(&mut world, after);
    pass(&mut world, COMES_WITHIN);
    let number = |octets: &[u8]| octets.get(20..)?.first_chunk().map(|octets| u32::from_be_bytes(*octets));
    let came = world.others.iter().filter_map(|(_, _, octets)| number(octets)).collect();
    let drops = drops(&world);
    assert_eq!(world.close(COOL_DOWN), Vec::<String>::new(), "{about}: blocks, LL-PDUs and frames");
    (came, drops)
}

/// In the middle of it, at many times: with `forward` each N-PDU comes once and in order; with `flush` none comes twice, and what does not come has
/// been dropped by name.
fn conserved(times: impl Iterator<Item = u64> + Clone, middle: Middle) {
    let whole: Vec<u32> = (0..N_PDUS).collect();
    for way in [Way::Downlink, Way::Uplink] {
        for at in times.clone() {
            let (came, drops) = case(Policy::Forward, way, ms(at), middle);
            assert_eq!(came, whole, "forward, {way:?}, {at} ms: {drops:?}");
            let (came, drops) = case(Policy::Flush, way, ms(at), middle);
            assert!(came.is_sorted_by(|a, b| a < b), "flush, {way:?}, {at} ms: {came:?}");
            let lost = u64::from(N_PDUS) - came.len() as u64;
            let named: u64 = drops.values().sum();
            assert!(lost <= named, "flush, {way:?}, {at} ms: {lost} lost, {drops:?}");
        }
    }
}

fn preempt(world: &mut World, _: Duration) {
    hold_channels(world, ALL);
    pass(world, ms(2000));
    hold_channels(world, 0);
}

/// The set-up takes 60 ms downlink, and with the access and its answer about 200 ms uplink.
#[test]
fn n_pdus_are_conserved_in_the_middle_of_a_tbf_set_up() {
    conserved((0..240).step_by(24), preempt);
}

/// The network polls every few blocks.
#[test]
fn n_pdus_are_conserved_in_the_middle_of_a_poll() {
    conserved((400..1400).step_by(93), preempt);
}

/// Half of an N-PDU has come, and the rest waits for longer than SNDCP waits by default.
#[test]
fn n_pdus_are_conserved_where_calls_stay_for_15_s() {
    conserved((200..1200).step_by(110), |world, _| {
        hold_channels(world, ALL);
        pass(world, ms(15_000));
        hold_channels(world, 0);
    });
}

#[test]
fn n_pdus_are_conserved_in_the_middle_of_a_cell_change() {
    conserved((200..1200).step_by(110), |world, after| {
        hold_channels(world, ALL);
        // Before the PDCHs are gone, and after that.
        pass(world, Duration(after.0 / 10));
        world.gprs.order_ms(MsCommand::ChangeCell { mobile: 0, cell: 1 });
        pass(world, ms(3000));
        hold_channels(world, 0);
    });
}

#[test]
fn n_pdus_are_conserved_in_the_middle_of_another_preemption() {
    conserved((200..1200).step_by(110), |world, after| {
        for (timeslots, span) in
            [(0b1000_0000, after.0 / 20), (ALL, after.0 / 10), (0, after.0 / 20), (ALL, 1_000_000_000)]
        {
            hold_channels(world, timeslots);
            pass(world, Duration(span));
        }
        hold_channels(world, 0);
    });
}

//! Windows of up to 255 frames: they fill a path whose round trip is long, are no queue on a short one, and what they hold is bounded.

use crate::harness::{End, Ends as _, Pair, SAPI, SURE, pair as pair_of, path};
use gannet_machine::drops::Drop;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::time::Duration;
use gannet_proto::sndcp::{N_PDU_MAX, SndcpConfig};

const OCTETS: usize = 1400;

fn n_pdu(number: u32) -> Vec<u8> {
    let mut octets = vec![0x45; OCTETS];
    octets[..4].copy_from_slice(&number.to_be_bytes());
    octets
}

fn numbers(end: &End) -> Vec<u32> {
    let number = |octets: &Vec<u8>| u32::from_be_bytes([octets[0], octets[1], octets[2], octets[3]]);
    end.delivered
        .iter()
        .inspect(|(nsapi, octets)| assert_eq!((*nsapi, octets), (SURE, &n_pdu(number(octets)))))
        .map(|(_, octets)| number(octets))
        .collect()
}

/// Two ends with this k on a path of this round trip and rate.
fn pair(seed: u64, k: u8, round_trip: Duration, octets_per_s: u64) -> Pair {
    let mut pair = pair_of(seed, [SndcpConfig::default(); 2]);
    for end in [&mut pair.ms, &mut pair.sgsn] {
        end.config.links.of_mut(SAPI).unwrap().k = Some((k, k));
    }
    let Duration(round_trip) = round_trip;
    let rate_octets_per_s = Some(octets_per_s);
    pair.set_profile(LinkProfile { delay: Duration(round_trip / 2), rate_octets_per_s, ..path() });
    pair.activate(true, false);
    assert_eq!(pair.sgsn.llc.abm(SAPI).unwrap().windows().k_sent, k);
    pair
}

/// I frames that the SGSN has sent and that are not acknowledged.
fn outstanding(pair: &Pair) -> u16 {
    let (sent, acknowledged, _) = pair.sgsn.llc.abm(SAPI).unwrap().variables();
    sent.wrapping_sub(acknowledged) & 0x1ff
}

/// So many more N-PDUs wait at the SGSN.
fn offer(pair: &mut Pair, numbers: core::ops::Range<u32>) {
    pair.sgsn.waiting.extend(numbers.map(n_pdu));
    pair.sgsn.send_sure();
}

#[test]
fn a_path_of_20_ms_has_255_frames_on_their_way_in_both_directions() {
    const COUNT: u32 = 6000;
    let mut pair = pair(1, 255, Duration::from_millis(20), 125_000_000);
    pair.ms.waiting.extend((0..COUNT).map(n_pdu));
    pair.ms.send_sure();
    offer(&mut pair, 0..COUNT);
    let (mut most, mut full) = (0, 0);
    while pair.step() {
        most = most.max(outstanding(&pair));
        full += u32::from(outstanding(&pair) == 255);
        assert!(pair.sgsn.sndcp.unconfirmed() <= 64 + 239);
    }
    assert!(most == 255 && full > 500, "{most} at most, and so often as many as may be: {full}");
    for end in [&pair.ms, &pair.sgsn] {
        assert_eq!(numbers(end), (0..COUNT).collect::<Vec<_>>());
        assert_eq!(end.drops(Drop::SndcpRepeated), 0);
    }
    pair.assert_at_rest();
}

/// 100 Mbit/s and 0.2 ms: 32 frames fill it many times.
#[test]
fn the_same_window_is_no_queue_on_a_short_path() {
    const COUNT: u32 = 20_000;
    let mut pair = pair(2, 255, Duration::from_micros(200), 12_500_000);
    offer(&mut pair, 0..COUNT);
    // Until the first round trips are measured with what is let out.
    pair.pass(Duration::from_millis(50), |_| ());
    let (mut steps, mut waiting) = (0, 0);
    while pair.step() {
        let unconfirmed = pair.sgsn.sndcp.unconfirmed();
        assert!(unconfirmed <= 64 + 32, "those of a trial are the most: {unconfirmed}");
        steps += 1;
        waiting += unconfirmed;
    }
    assert!(waiting / steps <= 60, "{} on average", waiting / steps);
    assert_eq!(numbers(&pair.ms), (0..COUNT).collect::<Vec<_>>());
}

/// What a source carries that always has something, as a part of what the path carries, and the most and the mean of frames that are
/// on their way at once.
fn carried(round_trip: Duration, loss: f64, seed: u64) -> (f64, usize, usize) {
    const OCTETS_PER_S: u64 = 12_500_000;
    const COUNT: u32 = 12_000;
    let mut pair = pair(seed, 255, round_trip, OCTETS_PER_S);
    offer(&mut pair, 0..COUNT);
    pair.pass(Duration::from_millis(300), |_| ());
    let profile = pair.down.link.profile;
    pair.set_profile(LinkProfile { loss, ..profile });
    pair.pass(Duration::from_millis(300), |_| ());
    let before = pair.ms.delivered.len();
    let (mut steps, mut most, mut sum) = (0, 0, 0);
    pair.pass(Duration::from_millis(300), |pair| {
        let under_way = pair.down.under_way();
        (steps, most, sum) = (steps + 1, most.max(under_way), sum + under_way);
    });
    let delivered = pair.ms.delivered.len() - before;
    #[expect(clippy::cast_precision_loss, reason = "some thousand packets")]
    let part = (delivered * OCTETS) as f64 / (OCTETS_PER_S as f64 * 0.3);
    // Nothing is lost or doubled on the way to the end either.
    pair.run();
    assert_eq!(numbers(&pair.ms), (0..COUNT).collect::<Vec<_>>());
    (part, most, sum / steps)
}

/// Until it is known that a frame is lost, and until its repetition is confirmed, twice as many are unconfirmed as the path holds. Those of
/// them that have arrived are no queue.
#[test]
fn where_frames_are_lost_the_path_is_full_and_no_fuller() {
    for ms in [8, 10, 12] {
        for seed in 1..=3 {
            let (part, most, mean) = carried(Duration::from_millis(ms), 0.05, seed);
            assert!(part >= 0.8, "{part:.3} at {ms} ms");
            // Half of the round trip is of the way there, and a queue of 3 ms before it, in frames of 0.114 ms.
            let holds = usize::try_from(ms * 1000 / 2 / 114).unwrap();
            assert!(mean <= holds + 40 && most <= holds + 140, "{mean} and {most} of {holds} at {ms} ms");
        }
    }
}

#[test]
fn losses_make_no_queue_on_a_short_path() {
    for seed in 1..=3 {
        let (part, most, mean) = carried(Duration::from_micros(200), 0.05, seed);
        assert!(part >= 0.85, "{part:.3}");
        assert!(mean <= 46 && most <= 64 + 32, "{mean} and {most}");
    }
}

/// A pair whose SGSN has as much unconfirmed as may be, all of which the mobile has: its acknowledgements do not come.
fn stalled(seed: u64) -> (Pair, u32) {
    let mut pair = pair(seed, 255, Duration::from_millis(20), 125_000_000);
    offer(&mut pair, 0..8000);
    while numbers(&pair.ms).len() < 4000 {
        assert!(pair.step());
    }
    assert_eq!(outstanding(&pair), 255);
    pair.up.clear();
    pair.up.is_cut = true;
    let held = || (64 + 239, 65_536 + 239 * N_PDU_MAX);
    while pair.down.under_way() > 0 {
        assert!(pair.step());
        let sndcp = &pair.sgsn.sndcp;
        assert!(sndcp.unconfirmed() <= held().0 && sndcp.unconfirmed_octets() <= held().1);
    }
    let received = u32::try_from(pair.ms.delivered.len()).unwrap();
    (pair, received)
}

#[test]
fn a_stalled_link_holds_no_more_than_its_window_and_goes_on_without_loss_or_doubling() {
    let (mut pair, received) = stalled(3);
    let again = pair.sgsn.llc.abm(SAPI).unwrap().retransmissions();
    pair.pass(Duration::from_secs(60), |pair| assert!(pair.sgsn.sndcp.unconfirmed() <= 64 + 239));
    assert!(pair.sgsn.statuses > 0 || pair.sgsn.llc.abm(SAPI).unwrap().retransmissions() != again);
    pair.up.is_cut = false;
    pair.run();
    assert_eq!(numbers(&pair.ms), (0..8000).collect::<Vec<_>>());
    // The link was established anew meanwhile, and all that the mobile has had came again.
    let repeated = pair.ms.drops(Drop::SndcpRepeated);
    assert!(repeated >= 255, "{repeated} of {received}");
    assert_eq!(pair.ms.drops(Drop::SndcpGap), 0);
    pair.assert_at_rest();
}

#[test]
fn after_a_restart_with_a_long_window_nothing_new_is_taken_for_a_repetition() {
    let (mut pair, received) = stalled(4);
    pair.sgsn.waiting.clear();
    let lost = pair.sgsn.sndcp.unconfirmed();
    pair.sgsn.with(|plane, cx| {
        plane.sndcp.restore(cx, None);
        plane.llc.restore(cx.now);
    });
    assert_eq!(usize::try_from(pair.sgsn.drops(Drop::SndcpUnconfirmed)).unwrap(), lost);
    pair.forget_paths();
    pair.up.is_cut = false;
    offer(&mut pair, 9000..9400);
    pair.run();
    let expected: Vec<u32> = (0..received).chain(9000..9400).collect();
    assert_eq!(numbers(&pair.ms), expected);
    assert_eq!(pair.ms.drops(Drop::SndcpGap), 1);
    assert!(pair.ms.drops(Drop::SndcpRepeated) <= 1, "what tells of the gap");
    pair.assert_at_rest();
}

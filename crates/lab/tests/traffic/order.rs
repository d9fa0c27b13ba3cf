//! The calendar: who is due when.

use crate::config;
use gannet_lab::load::traffic::calendar::{Calendar, Heap, Memory};
use gannet_lab::load::traffic::{FlowSpec, Pacing, Spacing};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// All that is due in the first `until` ns, looked at every `every` ns.
fn order(flows: &[FlowSpec], seed: u64, pacing: Pacing, until: u64, every: u64) -> Vec<(u64, u32)> {
    let calendar = Calendar::new(Heap::new(flows.len()));
    calendar.memory.plan().stretch.store(1 << 16, Relaxed);
    calendar.begin(flows, seed, 1, pacing);
    let mut found = Vec::new();
    let mut now = 0;
    while now < until {
        // One call passes few empty slots: as many as there can be.
        for _ in 0..4 {
            while let Some((number, _)) = calendar.next_due(now) {
                found.push((now, number));
            }
        }
        now += every;
    }
    found
}

fn numbers(order: &[(u64, u32)]) -> Vec<u32> {
    order.iter().map(|(_, number)| *number).collect()
}

/// The same seed gives the same order, however often one looks; another one another order.
pub fn depends_on_the_seed_alone() {
    let mut flows = config(100, 1000.0).flows;
    for flow in flows.iter_mut().step_by(2) {
        flow.spacing = Spacing::Exponential;
    }
    let often = numbers(&order(&flows, 7, Pacing::Exact, 50_000_000, 1_000));
    let seldom = numbers(&order(&flows, 7, Pacing::Exact, 50_000_000, 20_000));
    assert!(often.len() > 4_000, "{}", often.len());
    // The one that looks more seldom has not seen the end.
    assert_eq!(often[..4_000], seldom[..4_000]);
    assert_ne!(often[..4_000], numbers(&order(&flows, 8, Pacing::Exact, 50_000_000, 1_000))[..4_000]);
}

/// Each flow gets what its rate asks for, also one that is slower than the calendar reaches, and one with excess.
pub fn is_fair() {
    let mut flows = config(20, 500.0).flows;
    flows[0].rate_pps = 0.4;
    flows[1].rate_pps = 0.0;
    flows[2].excess = 4.0;
    flows[3].spacing = Spacing::Exponential;
    let order = order(&flows, 3, Pacing::Exact, 10_000_000_000, 10_000);
    let count = |flow: u32| order.iter().filter(|(_, number)| *number == flow).count();
    assert_eq!(count(0), 4);
    assert_eq!(count(1), 0);
    assert!((19_999..=20_001).contains(&count(2)), "{}", count(2));
    // 5000 with a standard deviation of 71; the seed is fixed.
    assert!((4_700..5_300).contains(&count(3)), "{}", count(3));
    for flow in 4..20 {
        assert!((4_999..=5_001).contains(&count(flow)), "{flow}: {}", count(flow));
    }
    // Exponential spacing is as far from its mean as the distribution says.
    let times: Vec<u64> = order.iter().filter(|(_, number)| *number == 3).map(|(time, _)| *time).collect();
    let long = times.windows(2).filter(|pair| pair[1] - pair[0] > 2 * 2_000_000).count();
    let share = long * 1000 / times.len();
    assert!((110..160).contains(&share), "e^-2 = 0.135, not 0.{share}");
}

/// Within a burst what one user sends is in one piece, and no two bursts have the users in the same order.
pub fn a_burst_has_users_in_random_order() {
    let flows = config(50, 300.0).flows;
    let interval = 10_000_000;
    let pacing = Pacing::Burst(Duration::from_nanos(interval));
    let order = order(&flows, 5, pacing, 20 * interval, 100_000);
    let bursts: Vec<Vec<u32>> = (1..20)
        .map(|burst| {
            let of_it = |time: u64| time >= burst * interval && time < (burst + 1) * interval;
            order.iter().filter(|(time, _)| of_it(*time)).map(|(_, number)| *number).collect()
        })
        .collect();
    let mut users_of = Vec::new();
    for burst in &bursts {
        assert!((148..=152).contains(&burst.len()), "3 of each of 50 users: {}", burst.len());
        let mut users = burst.clone();
        users.dedup();
        assert_eq!(users.len(), 50, "each user in one piece");
        users_of.push(users);
    }
    for pair in users_of.windows(2) {
        let same = pair[0].iter().zip(&pair[1]).filter(|(a, b)| a == b).count();
        let backwards = pair[0].iter().zip(pair[1].iter().rev()).filter(|(a, b)| a == b).count();
        assert!(same < 12 && backwards < 12, "{same} and {backwards} of 50 users at the same place");
    }
}

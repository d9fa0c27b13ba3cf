//! What the input queues are for: one queue for all against one for each flow, while half of the users send more than
//! they may. The experiment of chapter 7.3 in virtual time, its result a table that is kept here.
//!
//! Every user may have 10 packets a second. A packet costs 500 µs of the node, so 2000 a second saturate it, and 10 µs
//! when it arrives, whatever becomes of it then. Behind the stack each user has room for two seconds of its rate, in
//! the SGSN's output queue and in the BSS; what finds none is dropped there, and its 500 µs are lost. With queues by
//! flow, a flow is blocked while its room is nearly used up, and its own queue holds one second; the one queue for all
//! is as long as all of them together.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test may panic")]

use gannet_machine::drops::Drop;
use gannet_machine::time::Instant;
use gannet_qos::class::{Class, Precedence};
use gannet_qos::flow_queues::{CellConfig, Config, Cost, FlowConfig, FlowQueues, Limit};
use std::collections::VecDeque;
use std::fmt::Write as _;

const TICK_NS: u64 = 10_000_000;
const TICKS: u64 = 1200;
/// Until the queues have filled.
const WARM_UP: u64 = 400;
const COST_NS: u64 = 500_000;
const ARRIVAL_NS: u64 = 10_000;
/// A packet of a user leaves its output queue every 10 ticks.
const LEAK_TICKS: u64 = 10;
const QUEUE: u32 = 10;
const OUTPUT: u32 = 20;
const CELLS: u32 = 40;
const OCTETS: u32 = 378;

/// The queue before the stack.
enum Input {
    One { queue: VecDeque<u32>, limit: usize },
    ByFlow(Box<FlowQueues<()>>),
}

impl Input {
    fn by_flow(users: u32) -> Self {
        let mut queues = FlowQueues::new(Config {
            flows_max: users,
            cells_max: CELLS,
            nodes_max: users * QUEUE,
            cell: CellConfig { limit: Limit::NONE, real_time: None },
            cost: Cost { per_pdu_ns: 500_000, per_1024_octets_ns: 0 },
            ..Config::WITHOUT_ESTIMATES
        });
        for user in 0..users {
            let config = FlowConfig {
                class: Class::BestEffort,
                precedence: Precedence::Normal,
                weight: 1,
                cell: user % CELLS,
                limit: Limit { pdus: QUEUE, octets: u32::MAX },
                high: Limit::NONE,
                low: Limit::NONE,
            };
            assert!(queues.configure(user, &config));
        }
        Self::ByFlow(Box::new(queues))
    }

    fn offer(&mut self, now: Instant, user: u32) {
        match self {
            Self::One { queue, limit } => {
                if queue.len() < *limit {
                    queue.push_back(user);
                }
            }
            Self::ByFlow(queues) => {
                queues.enqueue(now, user, OCTETS, (), &mut |gone| {
                    assert_eq!((gone.flow, gone.reason), (user, Drop::FlowQueueFull));
                });
            }
        }
    }

    fn next(&mut self, now: Instant) -> Option<u32> {
        match self {
            Self::One { queue, .. } => queue.pop_front(),
            Self::ByFlow(queues) => queues.dequeue(now).map(|served| served.flow),
        }
    }

    /// The feedback from the output queues: blocked when there is room for one more, unblocked at three quarters.
    fn feedback(&mut self, user: u32, held: u32) {
        if let Self::ByFlow(queues) = self {
            if held + 1 >= OUTPUT {
                queues.block(user);
            } else if held <= OUTPUT * 3 / 4 {
                queues.unblock(user);
            }
        }
    }
}

/// Packets a second through the node, and what share of what they may have good and bad users got, in thousandths.
fn run(mut input: Input, users: u32, exceeding_percent: u32) -> [u64; 3] {
    let mut rng = fastrand::Rng::with_seed(u64::from(users + exceeding_percent));
    // Good users fill eight tenths of their rate, so that chance alone makes nobody exceed it.
    let good_rate = 800_u64;
    let all = good_rate * u64::from(users);
    let excess = all * u64::from(exceeding_percent) / u64::from(100 - exceeding_percent);
    let bad_rate = good_rate + excess / u64::from(users / 2);
    let mut order: Vec<u32> = (0..users).collect();
    let mut held = vec![0_u32; users as usize];
    let (mut through, mut offered) = ([0_u64; 2], [0_u64; 2]);
    let mut time_left: i64 = 0;
    for tick in 0..TICKS {
        let now = Instant(tick * TICK_NS);
        let counts = u64::from(tick >= WARM_UP);
        time_left = time_left.min(0) + TICK_NS.cast_signed();
        rng.shuffle(&mut order);
        for user in &order {
            let bad = usize::from(user % 2 == 1);
            let rate = [good_rate, bad_rate][bad];
            // A burst of what falls into a tick: four chances of a packet.
            for _ in 0..4 {
                if rng.u64(..40_000) < rate {
                    input.offer(now, *user);
                    time_left -= ARRIVAL_NS.cast_signed();
                    offered[bad] += counts;
                }
            }
            let at = &mut held[*user as usize];
            if (tick + u64::from(*user)).is_multiple_of(LEAK_TICKS) {
                *at = at.saturating_sub(1);
            }
            input.feedback(*user, *at);
        }
        while time_left > 0 {
            let Some(user) = input.next(now) else { break };
            time_left -= COST_NS.cast_signed();
            let at = &mut held[user as usize];
            if *at < OUTPUT {
                *at += 1;
                through[usize::from(user % 2 == 1)] += counts;
            }
            input.feedback(user, *at);
        }
    }
    let seconds = (TICKS - WARM_UP) / (1_000_000_000 / TICK_NS);
    let due = offered[0].min(u64::from(users / 2) * 10 * seconds);
    let share = |of: usize| through[of] * 1000 / due.max(1);
    [(through[0] + through[1]) / seconds, share(0), share(1)]
}

/// One line for each number of users and share of exceeding traffic in all traffic, in percent: packets a second, good
/// and bad users' shares with one queue, and with one for each flow. Bad users may have 10 packets a second where good
/// ones send 8, so their share may be 1250.
const TABLE: &str = "\
160  0   [1285, 1000, 1005]   [1285, 1000, 1005]
160 33   [1459,  998, 1261]   [1456, 1000, 1254]
160 50   [1288,  753, 1238]   [1448, 1000, 1239]
160 75   [1032,  367, 1268]   [1430, 1000, 1265]
160 90   [ 891,  138, 1252]   [1457, 1000, 1274]
320  0   [1949,  764,  768]   [1949,  766,  765]
320 33   [1924,  511, 1008]   [1924,  760,  758]
320 50   [1894,  367, 1107]   [1897,  739,  737]
320 75   [1780,  176, 1239]   [1796,  714,  713]
320 90   [1477,   65, 1119]   [1487,  598,  594]
";

#[test]
fn good_users_keep_their_share_while_others_exceed_theirs() {
    let mut table = String::new();
    // Two thirds of what saturates the node, and four thirds.
    for users in [160, 320] {
        for exceeding in [0, 33, 50, 75, 90] {
            let limit = (users * QUEUE) as usize;
            let one = run(Input::One { queue: VecDeque::new(), limit }, users, exceeding);
            let by_flow = run(Input::by_flow(users), users, exceeding);
            writeln!(table, "{users} {exceeding:2}   {one:4?}   {by_flow:4?}").unwrap();
            let [_, good, bad] = by_flow;
            if users == 160 {
                assert!(good >= 995, "isolated: {by_flow:?}");
            } else {
                assert!(good.abs_diff(bad) * 100 <= good, "equal within 1 %: {by_flow:?}");
            }
        }
    }
    assert_eq!(table, TABLE, "\n{table}");
}

/// Packets that a fifth of the users offered and lost, where the node gets 1.8 times what it can do, and how often one
/// of them came above its high watermark, at which a driver would be told to drop.
fn lost_in_overload(precedence: Precedence) -> [u64; 3] {
    let users = 360_u32;
    let mut queues = FlowQueues::new(Config {
        flows_max: users,
        cells_max: CELLS,
        nodes_max: users * QUEUE / 2,
        // Nine users, each with a queue of ten: what is full is the cell.
        cell: CellConfig { limit: Limit { pdus: 40, octets: u32::MAX }, real_time: None },
        ..Config::default()
    });
    let of = |user: u32| if user.is_multiple_of(5) { precedence } else { Precedence::Low };
    for user in 0..users {
        let config = FlowConfig {
            class: Class::BestEffort,
            precedence: of(user),
            weight: 1,
            cell: user % CELLS,
            limit: Limit { pdus: QUEUE, octets: u32::MAX },
            high: Limit { pdus: QUEUE - 1, octets: u32::MAX },
            low: Limit { pdus: QUEUE / 3, octets: u32::MAX },
        };
        assert!(queues.configure(user, &config));
    }
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut offered, mut lost, mut above) = (0, 0, 0);
    for tick in 0..4000 {
        let now = Instant(tick * TICK_NS);
        for _ in 0..36 {
            let user = rng.u32(..users);
            offered += u64::from(user.is_multiple_of(5));
            let enqueued = queues.enqueue(now, user, OCTETS, (), &mut |gone| {
                lost += u64::from(gone.flow.is_multiple_of(5));
            });
            above += u64::from(enqueued.crossed_high && user.is_multiple_of(5));
        }
        for _ in 0..TICK_NS / COST_NS {
            queues.dequeue(now);
        }
    }
    [offered, lost, above]
}

#[test]
fn high_precedence_loses_nothing_in_an_overload() {
    let [offered, lost, above] = lost_in_overload(Precedence::High);
    assert!(offered > 28_000);
    assert_eq!((lost, above), (0, 0));
    let [_, lost, _] = lost_in_overload(Precedence::Low);
    assert!(lost * 100 > offered * 40, "as others they lose their part: {lost} of {offered}");
}

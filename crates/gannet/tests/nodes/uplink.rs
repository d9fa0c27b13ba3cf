//! A storm of uplink from misbehaving mobiles, and what the others and all signalling notice of it: nothing. The SGSN is
//! the program itself, with a classifier at its driver on Gb; both its sides are those of `gannet load`.

use crate::common::wait_for;
use crate::load::{Bed, NEEDS};
use gannet_lab::load::plan::{Groups, Ramp, Sizes};
use gannet_lab::load::run::{Generator, RunOptions, Ways, traffic_config};
use gannet_lab::load::traffic::{Group, GroupResult, Pacing, Samples, Spacing, StepResult, Traffic};
use gannet_lab::load::{Load, LoadConfig, Order, Phase, User};
use gannet_rig::NetworkNamespace;
use gannet_testkit::Case;
use gannet_wire::l3::ie::ReliabilityClass;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

/// All of them.
pub const CASES: &[Case] = &[
    ("a_storm_of_uplink_leaves_others_and_signalling_whole", NEEDS, storm),
    ("the_log_says_how_uplink_comes_in", NEEDS, what_the_log_says),
];

/// Mobiles with uplink, half of which send far more than they have bought.
const USERS: u32 = 200;
const EXCESS: f64 = 20.0;
/// Mobiles that attach and activate in the middle of it, in each of two storms.
const LATE: u32 = 40;
/// Storms of one kind at most.
const STORMS_MAX: u32 = 20;
/// As long as anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn options() -> RunOptions {
    let mut config = LoadConfig::new(
        "192.0.2.1:22000".parse().unwrap(),
        "192.0.2.2:23000".parse().unwrap(),
        "192.0.2.6".parse().unwrap(),
    );
    (config.users, config.cells, config.nses) = (USERS + 2 * LATE, 20, 2);
    RunOptions {
        sgsn_gn: "192.0.2.5".parse().unwrap(),
        rate_pps: 10.0,
        sizes: Sizes(vec![(378, 1)]),
        ways: Ways::Uplink,
        spacing: Spacing::Fixed,
        pacing: Pacing::Exact,
        generator: Generator::Driver,
        groups: Groups::draw(USERS, 0.5, 10, 0, 1).unwrap(),
        excess: EXCESS,
        ramp: Ramp::NONE,
        duration: PATIENCE,
        detach: true,
        samples: Samples::default(),
        reliability: ReliabilityClass::THREE,
        answer_after: 0,
        sgsn_vty: None,
        config,
    }
}

/// The SGSN's counters.
fn counters(bed: &Bed) -> BTreeMap<String, u64> {
    let answer = bed.vty("show counters");
    let pair = |line: &str| {
        line.split_once(' ').and_then(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
    };
    answer.lines().filter_map(pair).collect()
}

/// What has moved of the counters whose names begin so, together.
fn moved(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>, start: &str) -> u64 {
    let sum = |of: &BTreeMap<String, u64>| -> u64 {
        of.iter().filter(|(name, _)| name.starts_with(start)).map(|(_, value)| value).sum()
    };
    sum(after) - sum(before)
}

/// Lets the storm go on until some more mobiles have their contexts, and for two seconds at least.
fn storm_and_arrivals(traffic: &mut Traffic, load: &mut Load, late: Range<u32>) -> StepResult {
    let profile = gannet_lab::load::Profile::best_effort(4000);
    let mut ordered = false;
    let result = traffic.run(PATIENCE, &mut |traffic, elapsed| {
        load.poll_once().unwrap();
        if !ordered && elapsed > Duration::from_millis(500) {
            ordered = true;
            load.emulator(|emulator, cx| {
                emulator.order(cx, late.clone(), Order::Activate, Some(&|_| profile))
            });
        }
        if elapsed > Duration::from_secs(2) && late.clone().all(|user| is_active(load, user)) {
            traffic.stop();
        }
    });
    let result = result.unwrap();
    assert!(late.clone().all(|user| is_active(load, user)), "{:?}", load.stats());
    assert!(result.duration < PATIENCE, "before the storm was over");
    result
}

fn is_active(load: &mut Load, user: u32) -> bool {
    load.user(user).is_some_and(|user| user.phase == Phase::Active)
}

/// Enough to say something: a core that others have kept busy may have offered next to nothing.
fn is_enough(group: &GroupResult) -> bool {
    group.offered > 3 * group.flows && group.delivered > 0
}

/// All that was offered and taken by the driver came, once and right.
fn assert_whole(group: &GroupResult, refused: u64) {
    assert!(group.lost() <= refused && group.repeated == 0, "{refused} were refused: {group:?}");
    assert_right(group);
}

fn assert_right(group: &GroupResult) {
    assert_eq!((group.corrupt, group.wrong_mobile, group.wrong_cell), (0, 0, 0), "{group:?}");
}

/// Gb with a device of its own, and on that of Gn; and with sockets.
fn what_the_log_says() {
    let bed = Bed::new();
    // Gb's other address, on the device of Gn.
    bed.sgsn.ip(&["address", "add", "192.0.2.10/32", "dev", "gn0"]);
    let line = "UL-UNITDATA come in by";
    for (ingress, gb, expected) in [
        ("xdp", "192.0.2.2", &["xdp on gb0"][..]),
        ("xdp", "192.0.2.10", &["fifo", "no XDP: gn0 serves another port already"]),
        ("auto", "0.0.0.0", &["fifo", "no XDP: the socket is bound to every address"]),
        ("reuseport", "192.0.2.2", &["fifo"]),
        ("fifo", "192.0.2.2", &["fifo"]),
    ] {
        let mut sgsn = bed.gannet_at(&format!(" ingress {ingress}\n"), "notice", gb);
        let log = wait_for("the log", || Some(sgsn.log()).filter(|log| log.contains("VTY at")));
        let mut said = log.lines().skip_while(|said| !said.contains(line));
        for expected in expected {
            let said = said.next().unwrap_or_default();
            assert!(said.contains(expected), "{ingress} {gb}: {expected}\n{log}");
        }
        let shown = bed.vty("show ingress");
        let way = if expected[0] == "fifo" { "in by fifo" } else { "in by xdp" };
        assert!(shown.contains(&format!("Gb {gb}:23000: {way}")), "{shown}");
        sgsn.signal("TERM");
        assert!(sgsn.wait().success());
    }
}

fn storm() {
    let bed = Bed::new();
    let sgsn = bed.gannet_with(" ingress xdp\n");
    std::thread::scope(|scope| {
        // The thread's own network namespace is the load's.
        let run = scope.spawn(|| {
            NetworkNamespace::named(bed.load.name()).unwrap().enter().unwrap();
            at_load(&bed);
        });
        if let Err(why) = run.join() {
            eprintln!("{}", sgsn.log());
            std::panic::resume_unwind(why);
        }
    });
}

/// A storm, and what it has moved.
struct Storm {
    result: StepResult,
    before: BTreeMap<String, u64>,
    after: BTreeMap<String, u64>,
}

impl Storm {
    fn moved(&self, start: &str) -> u64 {
        moved(&self.before, &self.after, start)
    }
}

/// A storm in which `late` attach, and then storms until there was one with enough traffic of which the driver's own ring has
/// lost nothing: such a loss has no owner. `check` looks at each.
fn storms(bed: &Bed, traffic: &mut Traffic, load: &mut Load, late: Range<u32>, check: impl Fn(&Storm)) {
    for _ in 0..STORMS_MAX {
        let before = counters(bed);
        let result = storm_and_arrivals(traffic, load, late.clone());
        let storm = Storm { result, before, after: counters(bed) };
        let refused = storm.result.refused();
        let groups = [Group::GOOD, Group::REAL_TIME].map(|group| storm.result.group(group.up()).unwrap());
        groups.iter().for_each(|group| assert_whole(group, refused));
        check(&storm);
        if refused == 0 && groups.into_iter().all(is_enough) {
            return;
        }
    }
    panic!("the driver's ring overflowed, or next to nothing was offered, {STORMS_MAX} times");
}

/// Everybody switched off, all cells in service.
fn connect(config: &LoadConfig) -> Load {
    let mut load = Load::start(config.clone()).unwrap();
    let until = Instant::now() + PATIENCE;
    while load.emulator(|emulator, _| emulator.cells_up()) < config.cells {
        assert!(Instant::now() < until, "the SGSN does not answer");
        load.poll(gannet_machine::time::Duration::from_millis(10)).unwrap();
    }
    load
}

/// How many did not detach.
fn detach(load: &mut Load, users: Range<u32>) -> u64 {
    load.order(users, Order::Detach, None, &mut |_| true).unwrap().failed
}

fn at_load(bed: &Bed) {
    let options = options();
    let mut load = connect(&options.config);
    let profile = |user| options.groups.profile(user, 3780);
    let outcome = load.order(0..USERS, Order::Activate, Some(&profile), &mut |_| true).unwrap();
    assert_eq!(outcome.failed, 0, "{:?}", load.stats());
    let users: Vec<User> = load.users().into_iter().filter(|user| user.phase == Phase::Active).collect();
    assert_eq!(users.len(), USERS as usize);
    let mut traffic = Traffic::new(traffic_config(&options, users.into_iter()).unwrap()).unwrap();
    let ingress = bed.vty("show ingress");
    assert!(ingress.contains("Gb 192.0.2.2:23000: in by xdp"), "{ingress}");

    // Misbehaving mobiles that are attached: each gets what it has bought, and no more.
    storms(bed, &mut traffic, &mut load, USERS..USERS + LATE, |storm| {
        let bad = storm.result.group(Group::BAD.up()).unwrap();
        assert_right(bad);
        assert!(0 < bad.delivered && bad.delivered * 2 < bad.offered, "{bad:?}");
        let dropped = storm.moved("uplink_demux_over_rate");
        let lost = storm.result.total(GroupResult::lost);
        assert_eq!(lost, dropped + storm.result.refused(), "each loss has its name: {:?}", storm.after);
        assert_eq!(storm.moved("demux_") + storm.moved("uplink_queue_"), dropped);
    });
    // And mobiles that are not: they have detached, and go on all the same.
    let is_bad = |user: &u32| options.groups.of(*user) == gannet_lab::load::plan::Group::Misbehaving;
    for user in (0..USERS).filter(is_bad) {
        assert_eq!(detach(&mut load, user..user + 1), 0);
    }
    storms(bed, &mut traffic, &mut load, USERS + LATE..USERS + 2 * LATE, |storm| {
        assert_eq!(storm.result.group(Group::BAD.up()).unwrap().delivered, 0);
        let dropped = storm.moved("uplink_demux_unknown_tlli");
        let let_in = storm.moved("uplink_redirected_unknown_sampled");
        // Among the strangers that were let in are those that attach, and answers to what strangers are told.
        let told = storm.moved("ll_pdu_downlink");
        let lost = storm.result.total(GroupResult::lost);
        let known = dropped + let_in + storm.result.refused();
        let most = lost + u64::from(LATE) + told;
        assert!((lost..=most).contains(&known), "{lost} {known} {told}: {:?}", storm.after);
    });
    assert_eq!(load.stats().failed, 0);
    let everybody = USERS / 2 + 2 * LATE;
    assert_eq!(counters(bed)["mobiles"], u64::from(everybody));
    assert_eq!(detach(&mut load, 0..USERS + 2 * LATE), 0);
    assert_eq!(counters(bed)["mobiles"], 0);
}

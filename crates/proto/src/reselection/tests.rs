//! The choice of a cell by levels that are scripted.

use super::*;
use gannet_wire::id::{Plmn, Rai};
use signal::Signal;

fn cells(racs: &[u8], change: impl Fn(u16, &mut SelectionParameters)) -> Vec<Broadcast> {
    let count = u16::try_from(racs.len()).unwrap();
    let cell = |(rac, index): (&u8, u16)| {
        let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: *rac };
        let mut selection = SelectionParameters::default();
        change(index, &mut selection);
        let neighbours = (0..count).filter(|other| *other != index).collect();
        Broadcast { id: CellId { rai, ci: 100 + index }, selection, neighbours }
    };
    racs.iter().zip(0..).map(cell).collect()
}

/// Goes through a script with a sample of all cells each half second. Gives where the mobile went, when in ms, and why.
fn drive(cells: &[Broadcast], script: &str, is_ready: bool) -> Vec<(u64, u16, Reason)> {
    let signal = Signal::parse(script).unwrap();
    let mut mobile = Reselection::new(criteria::POWER_DBM);
    let mut went = Vec::new();
    for ms in (0..=signal.end().as_millis()).step_by(500) {
        let at = Duration::from_millis(ms);
        let now = Instant::ZERO + at;
        for cell in 0..u16::try_from(cells.len()).unwrap() {
            if let Some(level) = signal.level_dbm(at, cell) {
                mobile.measure(now, cells, cell, level);
            }
        }
        if mobile.serving().is_none()
            && let Some(first) = mobile.first(cells)
        {
            mobile.camp(now, first);
        }
        if let Some(Choice { to, reason }) = mobile.decide(now, cells, is_ready) {
            mobile.camp(now, to);
            went.push((ms, to, reason));
        }
    }
    went
}

/// 05.08 clause 6.6.2 ii: averages exist after 3 s, and the criterion holds for 5 s.
#[test]
fn c6_6_2_a_cell_that_is_better_for_five_seconds() {
    let two = cells(&[1, 1], |_, _| ());
    let better = "0 -70 -71\n10 -70 -71\n10.5 -70 -69\n40 -70 -69\n";
    let went = drive(&two, better, false);
    assert_eq!(went.len(), 1, "once");
    let (at, to, reason) = went[0];
    assert_eq!((to, reason), (1, Reason::Better));
    // More than half of the samples are of the new level after 2.5 s, and the average is rounded.
    assert!((15_500..=20_500).contains(&at), "{at}");
    let short = "0 -70 -75\n10 -70 -75\n10.5 -70 -65\n14 -70 -65\n14.5 -70 -75\n40 -70 -75\n";
    assert_eq!(drive(&two, short, false), [], "it was better for less than 5 s");
}

/// 05.08 clause 6.6.2 ii a: CELL_RESELECT_HYSTERESIS into another routing area, and always in READY.
#[test]
fn c6_6_2_hysteresis_into_another_area_and_in_ready() {
    let script = |margin: i16| format!("0 -70 {0}\n40 -70 {0}\n", -70 + margin);
    let with = |racs| {
        let mut cells = cells(racs, |_, selection| selection.hysteresis_db = 6);
        // The mobile begins in cell 0 also where cell 1 is stronger.
        cells[1].selection.access_min_dbm += 1;
        cells
    };
    let begin = |cells: &[Broadcast], margin: i16, is_ready| {
        let script = format!("0 -50 -90\n10 -50 -90\n10.5 {}", &script(margin)[2..].replace("40 ", "60 "));
        drive(cells, &script, is_ready).len()
    };
    let (inside, across) = (with(&[1, 1]), with(&[1, 2]));
    assert_eq!(begin(&inside, 2, false), 1, "1 dB by C2 is enough in STANDBY");
    assert_eq!((begin(&inside, 6, true), begin(&inside, 7, true)), (0, 1), "6 dB by C2 in READY");
    assert_eq!((begin(&across, 6, false), begin(&across, 7, false)), (0, 1), "and into another area");
}

/// 05.08 clause 6.6.2 ii b: 5 dB for 15 s after a reselection.
#[test]
fn c6_6_2_no_way_back_for_less_than_five_decibels() {
    let two = cells(&[1, 1], |_, _| ());
    let script = "0 -70 -90\n10 -70 -90\n10.5 -70 -60\n20 -70 -60\n20.5 -70 -73\n80 -70 -73\n";
    let went = drive(&two, script, false);
    let [(first, 1, Reason::Better), (second, 0, Reason::Better)] = went[..] else { panic!("{went:?}") };
    assert!(second - first >= 15_000, "{first} {second}: 3 dB do not do before");
    let strong = "0 -70 -90\n10 -70 -90\n10.5 -70 -60\n20 -70 -60\n20.5 -70 -85\n80 -70 -85\n";
    let went = drive(&two, strong, false);
    let [(first, 1, _), (second, 0, _)] = went[..] else { panic!("{went:?}") };
    assert!(second - first < 15_000, "{first} {second}: 15 dB do");
}

/// 05.08 clause 6.6.2 i: C1 below zero for 5 s.
#[test]
fn c6_6_2_path_loss() {
    // Cell 1 has an offset against it, so that its C2 is never higher.
    let two = cells(&[1, 1], |cell, selection| {
        selection.penalty = (cell == 0).then_some(Duration::ZERO);
        selection.offset_db = if cell == 1 { 60 } else { 0 };
    });
    let script = "0 -60 -95\n10 -60 -95\n10.5 -108 -95\n30 -108 -95\n";
    let went = drive(&two, script, false);
    let [(at, 1, Reason::PathLoss)] = went[..] else { panic!("{went:?}") };
    assert!((15_500..=20_500).contains(&at), "{at}");
    let none = "0 -60 -95\n10 -60 -95\n10.5 -108 -107\n30 -108 -107\n";
    assert_eq!(drive(&two, none, false), [], "there is no cell to go to");
}

/// 05.08 clause 6.4: TEMPORARY_OFFSET until PENALTY_TIME is over; not for the cell that served before.
#[test]
fn c6_4_a_cell_that_has_just_come_is_passed_by() {
    let two = cells(&[1, 1], |_, selection| {
        selection.temporary_offset_db = Some(40);
        selection.penalty = Some(Duration::from_secs(20));
    });
    let script = "0 -70 -100\n10 -70 -100\n10.5 -70 -60\n80 -70 -60\n";
    let went = drive(&two, script, false);
    let [(at, 1, Reason::Better)] = went[..] else { panic!("{went:?}") };
    assert!((28_000..=31_000).contains(&at), "{at}: 20 s after its first average, and 5 s more");
    let back = "0 -70 -100\n10 -70 -100\n10.5 -70 -60\n40 -70 -60\n40.5 -60 -90\n80 -60 -90\n";
    let went = drive(&two, back, false);
    let [(_, 1, _), (back, 0, _)] = went[..] else { panic!("{went:?}") };
    assert!(back <= 50_500, "{back}: it has served before");
}

/// 03.22 clauses 3.2.1 and 4.3: no barred cell, and none whose C1 is not positive.
#[test]
fn c4_3_cells_that_are_not_suitable() {
    let barred = cells(&[1, 1], |cell, selection| selection.is_barred = cell == 1);
    assert_eq!(drive(&barred, "0 -90 -60\n40 -90 -60\n", false), []);
    let mut mobile = Reselection::new(criteria::POWER_DBM);
    for (cell, level) in [(0, -90), (1, -60)] {
        mobile.measure(Instant::ZERO, &barred, cell, level);
    }
    assert_eq!(mobile.first(&barred), Some(0));
    let mut deaf = Reselection::new(criteria::POWER_DBM);
    deaf.measure(Instant::ZERO, &barred, 0, -105);
    assert_eq!(deaf.first(&barred), None);
}

/// 05.08 clause 6.6.1: the six strongest of those that the serving cell names.
#[test]
fn c6_6_1_six_neighbours_of_the_serving_cell() {
    let mut nine = cells(&[1; 9], |_, _| ());
    nine[0].neighbours.retain(|cell| *cell != 8);
    let script = "0 -55 -90 -91 -92 -93 -94 -95 -96 -50\n20 -55 -90 -91 -92 -93 -94 -95 -96 -50\n";
    let signal = Signal::parse(script).unwrap();
    let mut mobile = Reselection::new(criteria::POWER_DBM);
    mobile.camp(Instant::ZERO, 0);
    for second in 0..=20 {
        let now = Instant::ZERO + Duration::from_secs(second);
        for cell in 0..9 {
            mobile.measure(now, &nine, cell, signal.level_dbm(Duration::ZERO, cell).unwrap());
        }
        assert_eq!(mobile.decide(now, &nine, false), None);
    }
    let listed: Vec<u16> = mobile
        .carriers
        .iter()
        .filter(|(_, carrier)| carrier.listed.is_some())
        .map(|(cell, _)| *cell)
        .collect();
    assert_eq!(listed, [1, 2, 3, 4, 5, 6], "7 is too weak, and 8 no neighbour");
    assert_eq!((mobile.average_dbm(8), mobile.average_dbm(0)), (None, Some(-55)));
}

use super::*;
use crate::figure::{Curve, Panel, Point, Style};

fn verdict(name: &str, holds: Option<bool>) -> Verdict {
    Verdict {
        name: name.to_owned(),
        means: format!("what {name} means"),
        paper: None,
        ours: "1".to_owned(),
        goal: "< 2".to_owned(),
        holds,
    }
}

const PURPOSE: &str = "Shows that nothing is lost.";

fn report() -> Report {
    let options = Options { size: Size::Quick, seed: 7, out: PathBuf::new(), progress: false, against: None };
    let mut report = Report::simulated("world", &options);
    report.verdicts =
        vec![verdict("short", Some(true)), verdict("a longer one", Some(false)), verdict("unknown", None)];
    report.parameter("mobiles", 50);
    report
}

#[test]
fn the_table_lines_up_and_a_failed_claim_shows() {
    let mut report = report();
    assert!(!report.holds());
    let table = report.table();
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines[1], "short         1     < 2   yes");
    assert_eq!(lines[2], "a longer one  1     < 2   NO");
    assert_eq!(lines[3], "unknown       1     < 2   not shown");
    report.verdicts[0].goal = REPORTED.to_owned();
    assert!(report.table().lines().any(|line| line.ends_with("reported  –")), "{}", report.table());
    report.verdicts[0].goal = "< 2".to_owned();
    report.verdicts[1].paper = Some("40 %".to_owned());
    assert!(report.table().contains("a longer one  40 %   1     < 2   NO"), "{}", report.table());
    let strictly = |verdicts: Vec<Verdict>| Report { verdicts, ..report.clone() }.holds();
    assert_eq!(
        [Some(true), Some(false), None].map(|holds| strictly(vec![verdict("x", holds)])),
        [true, false, false]
    );
    assert!(!strictly(Vec::new()), "who claims nothing has shown nothing");
}

#[test]
fn what_was_not_measured_is_not_shown_anywhere() {
    let mut report = report();
    report.verdicts[2].ours = format!("+{} µs", f64::NAN);
    assert!(report.table().contains("+– µs"), "{}", report.table());
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json.pointer("/verdicts/2/holds"), Some(&serde_json::Value::Null));
    let word = |at: usize| json["verdicts"][at]["verdict"].as_str().map(str::to_owned);
    assert_eq!([word(0), word(1), word(2)].map(Option::unwrap), ["yes", "NO", "not shown"]);
    let page = page::page(&report, PURPOSE, "today");
    for cell in [" class=\"verdict\">yes<", " class=\"verdict no\">NO<", " class=\"verdict open\">not shown<"]
    {
        assert_eq!(page.matches(cell).count(), 1, "{cell}");
    }
    assert_eq!(
        [at_least(f64::NAN, 1.0), at_least(1.0, 1.0), at_least(0.9, 1.0)],
        [None, Some(true), Some(false)]
    );
    assert_eq!(
        [at_most(f64::NAN, 1.0), at_most(1.0, 1.0), at_most(1.1, 1.0)],
        [None, Some(true), Some(false)]
    );
    assert_eq!((least([3.0, 2.0]), greatest([3.0, 2.0])), (2.0, 3.0));
    // Of a part that was not measured the worst may be worse.
    assert!(least([1.0, f64::NAN]).is_nan() && greatest([f64::NAN, 1.0]).is_nan());
    assert!(least([]).is_nan() && greatest([]).is_nan());
}

#[test]
fn a_page_explains_itself() {
    let mut report = report();
    let curve =
        Curve { name: "c".to_owned(), style: Style::Measured, colour: 0, points: vec![Point::new(0.0, 1.0)] };
    report.figures =
        vec![Figure::new("f", "A <caption>.", vec![Panel { curves: vec![curve], ..Panel::default() }])];
    let simulated = page::page(&report, PURPOSE, "today");
    for part in [
        PURPOSE,
        "<code>gannet lab run world --quick --seed 7</code>",
        concat!("Gannet ", env!("CARGO_PKG_VERSION")),
        "<tr><th>mobiles</th><td>50</td></tr>",
        "the same seed gives the same octets",
        "written today",
        "what a longer one means",
        "&lt; 2",
        "<img src=\"f.svg\" alt=\"A &lt;caption&gt;.\">",
        "world.json",
    ] {
        assert!(!part.is_empty() && simulated.contains(part), "{part}\n{simulated}");
    }
    assert!(!simulated.contains("<th>paper</th>"), "a column without content");
    report.verdicts[0].paper = Some("40 %".to_owned());
    report.machine =
        Some(MachineInfo { cores: 2, cpu: "A".to_owned(), kernel: "6".to_owned(), date: "D".to_owned() });
    report.remarks.push("a remark".to_owned());
    report.remarks.push("| a | b |\n|---|---|\n| < 1 | 2 |\n\n| c |\n|---|\n| 3 |\nbehind".to_owned());
    let real = page::page(&report, PURPOSE, "today");
    for part in [
        "<th>paper</th>",
        "<td>40 %</td>",
        "<td>–</td>",
        "2 cores of A, Linux 6",
        "real time, D",
        "<p>a remark</p>",
        "<tr><th>a</th><th>b</th></tr>\n<tr><td>&lt; 1</td><td>2</td></tr>\n<tr><th>c</th></tr>\n<tr><td>3</td></tr>\n</table></div>\n<p>behind</p>",
    ] {
        assert!(real.contains(part), "{part}\n{real}");
    }
}

#[test]
fn captions_end_with_where_the_numbers_come_from() {
    let options = Options { size: Size::Full, seed: 3, out: PathBuf::new(), progress: false, against: None };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        Report::simulated("world", &options).origin,
        format!(
            "Run: gannet lab run world --full --seed 3; Gannet {version}; simulated, the same on every machine."
        )
    );
    let here = Report::here("x", &options);
    let machine = here.machine.unwrap();
    for part in [machine.cpu, machine.kernel, machine.date, format!("{} cores", machine.cores)] {
        assert!(!part.is_empty() && here.origin.contains(&part), "{part}: {}", here.origin);
    }
}

#[test]
fn the_time_is_a_date() {
    let now = now();
    assert!(now.len() == 20 && now.starts_with("20") && now.ends_with(" UTC"), "{now}");
}

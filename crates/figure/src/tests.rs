use super::check::legible;
use super::*;

fn curve(name: &str, style: Style, colour: usize) -> Curve {
    let points = vec![Point { x: 1.0, y: 5.0, spread: (4.0, 6.0) }, Point::new(2.0, 7.0 + colour as f64)];
    Curve { name: name.to_owned(), style, colour, points }
}

fn panel(curves: Vec<Curve>) -> Panel {
    Panel {
        title: "A title".to_owned(),
        x: "load".to_owned(),
        y: "delay, µs".to_owned(),
        curves,
        ..Panel::default()
    }
}

fn drawn(panels: Vec<Panel>) -> String {
    svg(&Figure::new("x", "What it shows.", panels), "From nowhere.")
}

/// A mean and a percentile of three.
fn pairs() -> Vec<Curve> {
    let of = |n| {
        [curve(&format!("{n}, mean"), Style::Measured, n), curve(&format!("{n}, 99 %"), Style::Second, n)]
    };
    (0..3).flat_map(of).collect()
}

#[test]
fn a_figure_is_legible_and_says_what_it_shows() {
    let svg =
        drawn(vec![panel(pairs()), panel(pairs()), panel(vec![curve("of a paper", Style::Reference, 6)])]);
    legible(&svg).unwrap();
    for (part, times) in
        [("A title<", 3), ("What it shows. From nowhere.", 1), ("class=\"series\"", 13), ("0, mean<", 1)]
    {
        assert_eq!(svg.matches(part).count(), times, "{part}");
    }
    legible(&drawn(vec![Panel { y_scale: Scale::Logarithmic, ..panel(pairs()) }])).unwrap();
    legible(&drawn(vec![Panel::default()])).unwrap();
}

#[test]
fn each_event_has_its_mark_and_no_line_joins_them() {
    let points = (0..300).map(|x| Point::new(f64::from(x), f64::from(x % 7))).collect();
    let events = Curve { name: "events".to_owned(), style: Style::Marks, colour: 1, points };
    let line = curve("line", Style::Measured, 0);
    let svg = drawn(vec![panel(vec![events, line])]);
    legible(&svg).unwrap();
    // One in the legend.
    assert_eq!(svg.matches("m-3,-3l6,6m-6,0l6,-6").count(), 301);
    assert_eq!(svg.matches("h28\"").count(), 1, "a piece of line in the legend for the line alone");
}

#[test]
fn what_is_hard_to_read_is_refused() {
    let good = drawn(vec![panel(pairs()), panel(pairs())]);
    legible(&good).unwrap();
    let refused = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        legible(&good.replacen(from, to, 1)).unwrap_err()
    };
    assert!(refused("font-size=\"12\"", "font-size=\"9\"").contains("9.0 px"));
    assert!(refused("width=\"800\"", "width=\"1680\"").contains("px where the figure has 800"));
    assert!(refused("<rect ", "<rect opacity=\"0\" ").contains("background"));
    assert!(
        refused("stroke=\"#005aa0\" stroke-width=\"2\"", "stroke=\"#ffcc00\" stroke-width=\"2\"")
            .contains("contrast")
    );
    assert!(refused("fill=\"#404040\"", "fill=\"#bbbbbb\"").contains("contrast"));
    assert!(refused("x=\"60.0\" y=", "x=\"-90.0\" y=").contains("leaves"));
    let seventh = "<g class=\"series\"><path clip-path=\"\" stroke=\"#333333\"/></g>\n";
    assert!(refused("</g>\n</g>\n", &format!("</g>\n{seventh}</g>\n")).contains("7 series"));
    // Another colour alone is not enough.
    let mark = "M-3.6,-3.6h7.2v7.2h-7.2z";
    let same = good.replace(mark, "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z");
    assert!(legible(&same).unwrap_err().contains("same mark"));
    assert!(legible(&good.replace("#b84700", "#005aa0")).unwrap_err().contains("same line"));
}

#[test]
fn a_seventh_curve_goes_to_a_panel_of_its_own() {
    let many = |count| (0..count).map(|n| curve(&format!("curve {n}"), Style::Measured, n)).collect();
    let svg = drawn(vec![panel(many(8))]);
    legible(&svg).unwrap();
    assert_eq!((svg.matches("class=\"panel\"").count(), svg.matches("A title, continued").count()), (2, 1));
    assert_eq!(split(&[panel(many(6))]).len(), 1);
}

#[test]
fn panels_of_the_same_quantity_have_equal_axes() {
    let low = panel(vec![curve("low", Style::Measured, 0)]);
    let mut high = panel(vec![curve("high", Style::Measured, 1)]);
    high.curves[0].points.push(Point::new(3.0, 70.0));
    let ticks = |svg: &str, tick: &str| svg.matches(&format!(">{tick}</text>")).count();
    let svg = drawn(vec![low.clone(), high.clone()]);
    assert_eq!((ticks(&svg, "60"), ticks(&svg, "3")), (2, 2), "{svg}");
    high.y = "another quantity".to_owned();
    assert_eq!(ticks(&drawn(vec![low, high]), "60"), 1);
}

#[test]
fn what_is_above_the_end_of_an_axis_stands_as_a_number() {
    let mut cut = panel(vec![curve("cut", Style::Measured, 0)]);
    cut.y_end = Some(20.0);
    cut.curves[0].points.push(Point::new(3.0, 623.4));
    let svg = drawn(vec![cut]);
    legible(&svg).unwrap();
    assert!(svg.contains("↑ 623<") && !svg.contains(">600<"), "{svg}");
}

#[test]
fn names_stand_at_the_lines_ends_where_they_fit() {
    let of = |values: [f64; 2]| {
        let line = |(n, y): (usize, f64)| Curve {
            points: vec![Point::new(0.0, 50.0), Point::new(9.0, y)],
            ..curve(["one", "two"][n], Style::Measured, n)
        };
        drawn(vec![panel(values.into_iter().enumerate().map(line).collect())])
    };
    // A legend has a piece of line before each name.
    let swatches = |svg: &str| svg.matches("h28\"").count();
    assert_eq!([swatches(&of([10.0, 90.0])), swatches(&of([90.0, 90.0]))], [0, 0], "moved apart a little");
    let long = drawn(vec![panel(vec![curve(&"long ".repeat(30), Style::Measured, 0)])]);
    assert_eq!(swatches(&long), 1);
    legible(&long).unwrap();
    // A look that means different things has a legend in each panel.
    let other =
        |name| panel(vec![curve(name, Style::Measured, 0), curve(&"long ".repeat(30), Style::Second, 0)]);
    assert_eq!(swatches(&drawn(vec![other("a"), other("a")])), 2);
    assert_eq!(swatches(&drawn(vec![other("a"), other("b")])), 4);
}

#[test]
fn what_is_no_number_is_no_point() {
    let mut odd = panel(vec![curve("x", Style::Measured, 0), curve("y", Style::Measured, 1)]);
    odd.curves[0].points[0].y = f64::NAN;
    odd.curves[1].points.iter_mut().for_each(|point| point.x = f64::INFINITY);
    let figure = Figure::new("x", "", vec![odd]);
    assert_eq!(figure.panels[0].curves.len(), 1);
    let json = serde_json::to_string(&figure).unwrap();
    assert_eq!(serde_json::from_str::<Figure>(&json).unwrap(), figure);
}

#[test]
fn bars_stand_on_each_other() {
    let part = |name: &str, colour, low: f64, high: f64| Curve {
        name: name.to_owned(),
        style: Style::Bars,
        colour,
        points: vec![Point { x: 1.0, y: high, spread: (low, high) }],
    };
    let svg = drawn(vec![panel(vec![part("lower", 0, 0.0, 10.0), part("upper", 1, 10.0, 40.0)])]);
    let bars: Vec<(f64, f64)> = svg
        .lines()
        .filter(|line| line.starts_with("<rect") && line.contains("stroke=\"#ffffff\""))
        .map(|line| {
            let of = |name: &str| {
                let rest = line.split_once(&format!(" {name}=\"")).unwrap().1;
                rest.split_once('"').unwrap().0.parse::<f64>().unwrap()
            };
            (of("y"), of("height"))
        })
        .collect();
    // The first two are drawn last first; two more are in the legend.
    let [(upper_top, upper), (lower_top, lower), ..] = bars[..] else { panic!("{svg}") };
    assert_eq!(bars.len(), 4, "{svg}");
    assert!((upper / lower - 3.0).abs() < 0.02 && (upper_top + upper - lower_top).abs() < 0.2, "{bars:?}");
}

//! Colours and marks: readable on white, and told apart without the colour as well.

use crate::{Curve, Style};

/// Each has a contrast of 4.5 to 1 and more with white, since names at the lines' ends are written in it.
const PALETTE: [&str; 8] =
    ["#005aa0", "#b84700", "#00704f", "#9a2f86", "#5f5f5f", "#806000", "#141414", "#00707f"];

/// Closed shapes, drawn around the origin.
const SHAPES: [&str; 8] = [
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.8L4.6,3.4H-4.6z",
    "M0,-5.2L5.2,0L0,5.2L-5.2,0z",
    "M0,4.8L4.6,-3.4H-4.6z",
    "M-4.2,-4.2H4.2L-4.2,4.2H4.2z",
    "M0,-6L1.6,-1.6L6,0L1.6,1.6L0,6L-1.6,1.6L-6,0L-1.6,-1.6z",
    "M-5.4,-2.2H5.4V2.2H-5.4z",
];

/// Crosses, for what was not measured here.
const CROSSES: [&str; 8] = [
    "M-4,-4L4,4M-4,4L4,-4",
    "M-5,0H5M0,-5V5",
    "M-4,-4L4,4M-4,4L4,-4M0,-5.4V5.4",
    "M0,5V0L-4.4,-4M0,0L4.4,-4",
    "M0,-5V0L-4.4,4M0,0L4.4,4",
    "M-2.6,-4.6V4.6M2.6,-4.6V4.6",
    "M-4.4,-4.4L4.4,4.4M-4.4,4.4L4.4,-4.4M-5.4,0H5.4",
    "M-4.6,-2.6H4.6M-4.6,2.6H4.6",
];

/// Small marks of single events, from their place on.
const EVENTS: [&str; 8] = [
    "m-1,-0.8h2m-2,1.6h2",
    "m-3,-3l6,6m-6,0l6,-6",
    "m0,-3.5v7m-3.5,-3.5h7",
    "m-3,-2h6v4h-6z",
    "m0,-3l3,3l-3,3l-3,-3z",
    "m-3,0h6",
    "m0,-3v6",
    "m-3,3l3,-6l3,6z",
];

fn of(table: &[&'static str; 8], index: usize) -> &'static str {
    table.get(index % table.len()).copied().unwrap_or_default()
}

/// The colour of a curve.
pub(crate) fn colour(curve: &Curve) -> &'static str {
    of(&PALETTE, curve.colour)
}

/// Its line: width, and dashes where there are any.
pub(crate) const fn line(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::Measured => ("2", ""),
        Style::Second => ("1.5", " stroke-dasharray=\"7 4\""),
        Style::Reference => ("1.5", " stroke-dasharray=\"2 4\""),
        Style::Marks | Style::Bars => ("1.5", ""),
    }
}

/// One of its marks, at a place and so many times as large.
pub(crate) fn mark(curve: &Curve, (x, y): (f64, f64), scale: f64) -> String {
    let ink = colour(curve);
    let (shape, fill) = match curve.style {
        Style::Measured => (of(&SHAPES, curve.colour), ink),
        Style::Second => (of(&SHAPES, curve.colour), "#ffffff"),
        Style::Reference => (of(&CROSSES, curve.colour), "none"),
        Style::Marks => return events(curve, &[(x, y)], ""),
        Style::Bars => return bar(curve, (x - 8.0, x + 8.0), (y - 5.0, y + 5.0)),
    };
    format!(
        "<path class=\"mark\" d=\"{shape}\" transform=\"translate({x:.1},{y:.1}) scale({scale:.2})\" fill=\"{fill}\" \
         stroke=\"{ink}\" stroke-width=\"1.5\"/>\n"
    )
}

/// A bar from left to right and from its upper to its lower end.
pub(crate) fn bar(curve: &Curve, (left, right): (f64, f64), (top, bottom): (f64, f64)) -> String {
    format!(
        "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\" stroke=\"#ffffff\"/>\n",
        right - left,
        (bottom - top).max(0.0),
        colour(curve)
    )
}

/// Small marks at all these places, in one path with these attributes besides.
pub(crate) fn events(curve: &Curve, places: &[(f64, f64)], attributes: &str) -> String {
    let shape = of(&EVENTS, curve.colour);
    let path: Vec<String> = places.iter().map(|(x, y)| format!("M{x:.1},{y:.1}{shape}")).collect();
    let (width, _) = line(curve.style);
    let ink = colour(curve);
    format!(
        "<path d=\"{}\"{attributes} stroke=\"{ink}\" stroke-width=\"{width}\" fill=\"none\"/>\n",
        path.join("")
    )
}

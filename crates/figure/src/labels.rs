//! Where the names of curves stand: at the lines' ends where all fit, in one legend where a look means the same in each panel,
//! and else in a legend for each panel.

use crate::canvas::{Axes, Canvas, LINE, NAME};
use crate::{Curve, Panel, Style, look, text};

/// Room for the piece of line before a name in a legend.
const SWATCH: f64 = 36.0;
/// Between two names of a legend.
const APART: f64 = 22.0;
/// From a line's end to its name.
const AFTER: f64 = 10.0;
/// How far a name may be from its line's end.
const MOVED_MAX: f64 = 20.0;
/// Of a panel's width, what names at lines' ends may take.
const ENDS_MAX: f64 = 0.38;
/// How near lines' ends have to be to each other, as a part of the axis.
const TOGETHER: f64 = 0.03;

/// Where names stand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Names {
    /// At the lines' ends, which takes so much at the right of each plot.
    Ends(f64),
    /// In one legend.
    Common,
    /// In a legend for each panel.
    Each,
}

impl Names {
    /// For panels of this size.
    pub(crate) fn of(panels: &[Panel], axes: &[Axes], (width, height): (f64, f64)) -> Self {
        let names = panels.iter().flat_map(|panel| &panel.curves).map(|curve| text::width(&curve.name, NAME));
        let margin = names.fold(0.0, f64::max) + AFTER;
        let fits = panels.iter().zip(axes).all(|(panel, axes)| ends(panel, axes, height).is_some());
        if fits && margin <= width * ENDS_MAX {
            return Self::Ends(margin);
        }
        if is_common(panels) { Self::Common } else { Self::Each }
    }
}

/// A look has one name in all panels, and a name one look.
fn is_common(panels: &[Panel]) -> bool {
    let curves: Vec<&Curve> = panels.iter().flat_map(|panel| &panel.curves).collect();
    curves.iter().enumerate().all(|(at, one)| {
        let is_alike = |other: &&Curve| {
            ((one.style, one.colour) == (other.style, other.colour)) == (one.name == other.name)
        };
        curves.iter().skip(at + 1).all(is_alike)
    })
}

/// Each curve once, by its name.
pub(crate) fn union(panels: &[Panel]) -> Vec<&Curve> {
    let mut all: Vec<&Curve> = Vec::new();
    for curve in panels.iter().flat_map(|panel| &panel.curves) {
        if all.iter().all(|other| other.name != curve.name) {
            all.push(curve);
        }
    }
    all
}

/// How far below the upper edge of the plot each name stands; `None` where they do not fit, or where a line has left the plot.
fn ends(panel: &Panel, axes: &Axes, height: f64) -> Option<Vec<f64>> {
    let mut at: Vec<(usize, f64)> = Vec::new();
    let mut places = Vec::new();
    for (curve, number) in panel.curves.iter().zip(0..) {
        let last = curve.points.last().filter(|last| last.y <= axes.y.high && curve.style != Style::Bars)?;
        places.push(axes.x.place(last.x));
        at.push((number, (1.0 - axes.y.place(last.y)).clamp(0.0, 1.0) * height));
    }
    let right = places.iter().copied().fold(0.0, f64::max);
    if places.iter().any(|place| *place < right - TOGETHER) {
        return None;
    }
    at.sort_by(|a, b| a.1.total_cmp(&b.1));
    let wanted: Vec<f64> = at.iter().map(|(_, y)| *y).collect();
    let mut next = 0.0_f64;
    for (_, y) in &mut at {
        *y = y.max(next);
        next = *y + LINE;
    }
    let mut next = height;
    for (_, y) in at.iter_mut().rev() {
        *y = y.min(next);
        next = *y - LINE;
    }
    let is_near = at.iter().zip(&wanted).all(|((_, y), wanted)| (y - wanted).abs() <= MOVED_MAX && *y >= 0.0);
    at.sort_by_key(|(number, _)| *number);
    is_near.then(|| at.into_iter().map(|(_, y)| y).collect())
}

/// Writes the names at the lines' ends of a plot with this corner and size.
pub(crate) fn write_ends(
    canvas: &mut Canvas,
    panel: &Panel,
    axes: &Axes,
    ((left, top), (width, height)): ((f64, f64), (f64, f64)),
) {
    let Some(ends) = ends(panel, axes, height) else { return };
    for (curve, y) in panel.curves.iter().zip(ends) {
        let x = curve.points.last().map_or(0.0, |point| axes.x.place(point.x));
        let at = (left + x * width + AFTER, top + y + NAME * 0.35);
        canvas.text(at, NAME, ("start", "normal", look::colour(curve)), &curve.name);
    }
}

/// A legend with a line for each name; gives its height.
pub(crate) fn list(canvas: &mut Canvas, curves: &[&Curve], (left, top): (f64, f64), width: f64) -> f64 {
    let mut y = top;
    for curve in curves {
        y += legend(canvas, &[*curve], (left, y), width);
    }
    y - top
}

/// A legend within this width from this corner on, with as many names in a line as fit; gives its height.
pub(crate) fn legend(canvas: &mut Canvas, curves: &[&Curve], (left, top): (f64, f64), width: f64) -> f64 {
    let (mut x, mut y) = (left, top + LINE * 0.5);
    for curve in curves {
        let room = width - SWATCH;
        let lines = text::wrapped(&curve.name, NAME, room);
        let wide = lines.iter().map(|line| text::width(line, NAME)).fold(0.0, f64::max) + SWATCH;
        if x > left && x + wide > left + width {
            (x, y) = (left, y + LINE);
        }
        let (stroke, dashes) = look::line(curve.style);
        let colour = look::colour(curve);
        if !matches!(curve.style, Style::Marks | Style::Bars) {
            canvas.push(&format!(
                "<path d=\"M{x:.1},{y:.1}h28\" stroke=\"{colour}\" stroke-width=\"{stroke}\" fill=\"none\"{dashes}/>\n"
            ));
        }
        canvas.push(&look::mark(curve, (x + 14.0, y), 1.0));
        for (line, number) in lines.iter().zip(0_u8..) {
            let at = (x + SWATCH, y + f64::from(number) * LINE + NAME * 0.35);
            canvas.text(at, NAME, ("start", "normal", "#141414"), line);
        }
        if lines.len() > 1 {
            // What takes more than a line has them for itself.
            let more = u8::try_from(lines.len()).unwrap_or(u8::MAX);
            (x, y) = (left, y + LINE * f64::from(more));
        } else {
            x += wide + APART;
        }
    }
    let is_open = x > left;
    y + if is_open { LINE } else { 0.0 } - top - LINE * 0.5
}

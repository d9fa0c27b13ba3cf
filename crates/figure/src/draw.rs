//! A figure as SVG text.

use crate::axis::{Axis, label};
use crate::canvas::{Axes, Canvas, LINE, NAME};
use crate::labels::{self, Names};
use crate::text::{escaped, wrapped};
use crate::{Curve, Figure, Panel, Point, Style, look, split};
use std::fmt::Write as _;

/// Of the whole figure.
pub(crate) const WIDTH: f64 = 800.0;
const EDGE: f64 = 12.0;
/// Between two panels, and below one.
const GAP: f64 = 24.0;
/// Sizes of text: ticks and axes, titles.
const TICK: f64 = 12.0;
const TITLE: f64 = 14.0;
/// Left of a plot: its ticks' labels.
const TICKS_WIDTH: f64 = 48.0;
/// Right of a plot without names there: half of a tick's label.
const RIGHT: f64 = 14.0;
/// Below a plot: its ticks' labels and the axis.
const BELOW: f64 = 44.0;
/// Marks of a curve at most: of more points only some have one.
const MARKS_MAX: usize = 20;
/// Half of a bar, as a part of the distance of two.
const HALF_BAR: f64 = 0.28;
/// By how much a mark is larger than one of the curve above it.
const LARGER: f64 = 0.07;
const INK: &str = "#141414";
const PALE: &str = "#404040";

/// Draws a figure. `origin` says where it comes from: command, version, machine and date; it ends the caption.
#[must_use]
pub fn svg(figure: &Figure, origin: &str) -> String {
    let panels = split(&figure.panels);
    let columns = if panels.len() > 1 { 2 } else { 1 };
    let (width, height) =
        if columns == 1 { (WIDTH - 2.0 * EDGE, 300.0) } else { ((WIDTH - 2.0 * EDGE - GAP) / 2.0, 230.0) };
    let axes = axes(&panels);
    let names = Names::of(&panels, &axes, (width, height));
    let mut canvas = Canvas::default();
    let mut top = EDGE;
    let mut is_open = names == Names::Common;
    for (row, axes) in panels.chunks(columns).zip(axes.chunks(columns)) {
        let layout = Layout { names, top, width, height };
        let bottom = layout.row(&mut canvas, row, axes);
        if is_open && row.len() < columns {
            // The place of the panel that is not there.
            let left = EDGE + width + GAP;
            labels::list(&mut canvas, &labels::union(&panels), (left, top + 2.0 * LINE), width);
            is_open = false;
        }
        top = bottom + GAP;
    }
    if is_open {
        let all = labels::union(&panels);
        top += labels::legend(&mut canvas, &all, (EDGE, top - LINE * 0.5), WIDTH - 2.0 * EDGE) + 4.0;
    }
    for line in wrapped(&format!("{} {origin}", figure.caption), NAME, WIDTH - 2.0 * EDGE) {
        top += LINE;
        canvas.text((EDGE, top - LINE * 0.4), NAME, ("start", "normal", PALE), &line);
    }
    let high = top + EDGE;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{high:.0}\" viewBox=\"0 0 {WIDTH} {high:.0}\" \
         font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\">\n\
         <title>{}</title>\n<rect width=\"{WIDTH}\" height=\"{high:.0}\" fill=\"#ffffff\"/>\n{}</svg>\n",
        escaped(&figure.name),
        canvas.0
    )
}

/// The axes of each panel; those of the same quantity, unit and scale are equal.
fn axes(panels: &[Panel]) -> Vec<Axes> {
    let of = |alike: &dyn Fn(&Panel) -> bool, scale, values: &dyn Fn(&Point) -> [f64; 3]| {
        let points = panels.iter().filter(|panel| alike(panel)).flat_map(|panel| &panel.curves);
        Axis::around(scale, points.flat_map(|curve| &curve.points).flat_map(values))
    };
    let panel_axes = |panel: &Panel| {
        let (x, y) = ((&panel.x, panel.x_scale), (&panel.y, panel.y_scale, panel.y_end));
        let mut axes = Axes {
            x: of(&|other| (&other.x, other.x_scale) == x, panel.x_scale, &|point| [point.x; 3]),
            y: of(&|other| (&other.y, other.y_scale, other.y_end) == y, panel.y_scale, &|point| {
                [point.y, point.spread.0, point.spread.1]
            }),
        };
        axes.y.high = panel.y_end.map_or(axes.y.high, |end| axes.y.high.min(end));
        axes
    };
    panels.iter().map(panel_axes).collect()
}

/// Where a row of panels stands.
struct Layout {
    names: Names,
    top: f64,
    /// Of a panel.
    width: f64,
    /// Of its plot.
    height: f64,
}

impl Layout {
    /// Draws panels side by side; gives their lower end.
    fn row(&self, canvas: &mut Canvas, panels: &[Panel], axes: &[Axes]) -> f64 {
        let heads: Vec<[Vec<String>; 2]> = panels
            .iter()
            .map(|panel| {
                [wrapped(&panel.title, TITLE * 1.1, self.width), wrapped(&panel.y, TICK, self.width)]
            })
            .collect();
        let lines = heads.iter().map(|head| head.iter().map(Vec::len).sum::<usize>()).max().unwrap_or(0);
        let plot_top = self.top + LINE * f64::from(u8::try_from(lines).unwrap_or(u8::MAX)) + 8.0;
        let mut bottom = plot_top + self.height + BELOW;
        for (((panel, axes), head), column) in panels.iter().zip(axes).zip(&heads).zip(0_u8..) {
            let left = EDGE + f64::from(column) * (self.width + GAP);
            canvas.push("<g class=\"panel\">\n");
            let mut y = plot_top - 8.0;
            let [title, quantity] = head;
            for line in quantity.iter().rev() {
                canvas.text((left, y - 2.0), TICK, ("start", "normal", PALE), line);
                y -= LINE;
            }
            for line in title.iter().rev() {
                canvas.text((left, y - 2.0), TITLE, ("start", "bold", INK), line);
                y -= LINE;
            }
            let right = if let Names::Ends(margin) = self.names { margin } else { RIGHT };
            let plot = Plot {
                corner: (left + TICKS_WIDTH, plot_top),
                size: (self.width - TICKS_WIDTH - right, self.height),
            };
            plot.draw(canvas, panel, axes);
            if matches!(self.names, Names::Ends(_)) {
                labels::write_ends(canvas, panel, axes, (plot.corner, plot.size));
            }
            if self.names == Names::Each {
                let at = (left, plot_top + self.height + BELOW);
                let all: Vec<&Curve> = panel.curves.iter().collect();
                bottom = bottom.max(at.1 + labels::list(canvas, &all, at, self.width));
            }
            canvas.push("</g>\n");
        }
        bottom
    }
}

/// A plot: its upper left corner and its size.
struct Plot {
    corner: (f64, f64),
    size: (f64, f64),
}

impl Plot {
    fn draw(&self, canvas: &mut Canvas, panel: &Panel, axes: &Axes) {
        let ((left, top), (width, height)) = (self.corner, self.size);
        let (right, bottom) = (left + width, top + height);
        let mut free = f64::NEG_INFINITY;
        for tick in axes.x.ticks(if width > 400.0 { 9 } else { 5 }) {
            let x = left + axes.x.place(tick) * width;
            canvas.line((x, top), (x, bottom), "#e4e4e4", "1");
            let (name, half) = (label(tick), crate::text::width(&label(tick), TICK) / 2.0);
            if x - half > free {
                canvas.text((x, bottom + 16.0), TICK, ("middle", "normal", INK), &name);
                free = x + half + 6.0;
            }
        }
        let mut free = f64::INFINITY;
        for tick in axes.y.ticks(6) {
            let y = bottom - axes.y.place(tick) * height;
            canvas.line((left, y), (right, y), "#e4e4e4", "1");
            if y + TICK / 2.0 < free {
                canvas.text((left - 9.0, y + TICK * 0.35), TICK, ("end", "normal", INK), &label(tick));
                free = y - TICK / 2.0 - 2.0;
            }
        }
        canvas.line((left, top), (left, bottom), INK, "1");
        canvas.line((left, bottom), (right, bottom), INK, "1");
        canvas.text(((left + right) / 2.0, bottom + 34.0), TICK, ("middle", "normal", PALE), &panel.x);
        let clip = format!("clip-{left:.0}-{top:.0}");
        canvas.push(&format!(
            "<clipPath id=\"{clip}\"><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/></clipPath>\n"
        ));
        let mut line = 1_u8;
        for (order, curve) in (0_u8..).zip(&panel.curves).collect::<Vec<_>>().into_iter().rev() {
            let _ = writeln!(canvas.0, "<g class=\"series\" data-name=\"{}\">", escaped(&curve.name));
            // Where curves lie on each other the lower marks are larger, so that they are seen.
            let scale = 1.0 + LARGER * f64::from(order);
            self.curve(canvas, (curve, scale), axes, &clip);
            let beyond: Vec<&Point> = curve.points.iter().filter(|point| point.y > axes.y.high).collect();
            for point in &beyond {
                self.beyond(canvas, (self.at(axes, point.x, point.y).0, line), point.y, look::colour(curve));
            }
            line += u8::from(!beyond.is_empty());
            canvas.push("</g>\n");
        }
    }

    fn at(&self, axes: &Axes, x: f64, y: f64) -> (f64, f64) {
        let ((left, top), (width, height)) = (self.corner, self.size);
        (left + axes.x.place(x) * width, top + (1.0 - axes.y.place(y)) * height)
    }

    fn curve(&self, canvas: &mut Canvas, (curve, scale): (&Curve, f64), axes: &Axes, clip: &str) {
        let ink = look::colour(curve);
        let (width, dashes) = look::line(curve.style);
        let places: Vec<(f64, f64)> =
            curve.points.iter().map(|point| self.at(axes, point.x, point.y)).collect();
        if curve.style == Style::Marks {
            canvas.push(&look::events(curve, &places, &format!(" clip-path=\"url(#{clip})\"")));
            return;
        }
        if curve.style == Style::Bars {
            for point in &curve.points {
                let (left, top) = self.at(axes, point.x - HALF_BAR, point.spread.1);
                let (right, bottom) = self.at(axes, point.x + HALF_BAR, point.spread.0);
                canvas.push(&look::bar(curve, (left, right), (top, bottom)));
            }
            return;
        }
        let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        canvas.push(&format!(
            "<path d=\"M{}\" clip-path=\"url(#{clip})\" stroke=\"{ink}\" stroke-width=\"{width}\" fill=\"none\"{dashes}/>\n",
            path.join("L")
        ));
        let every = curve.points.len().div_ceil(MARKS_MAX).max(1);
        for (point, number) in curve.points.iter().zip(0..) {
            let (x, y) = self.at(axes, point.x, point.y);
            if point.spread.0 < point.spread.1 {
                let (_, low) = self.at(axes, point.x, point.spread.0);
                let high = self.at(axes, point.x, point.spread.1).1.max(self.corner.1);
                let bar = format!("M{x:.1},{low:.1}V{high:.1}m-4,0h8M{:.1},{low:.1}h8", x - 4.0);
                canvas.push(&format!(
                    "<path d=\"{bar}\" stroke=\"{ink}\" stroke-width=\"1\" fill=\"none\"/>\n"
                ));
            }
            if point.y <= axes.y.high && number % every == (curve.colour * 2) % every {
                canvas.push(&look::mark(curve, (x, y), scale));
            }
        }
    }

    /// A value above the end of the axis, as a number at the edge; each curve has a line of text for them.
    fn beyond(&self, canvas: &mut Canvas, (x, line): (f64, u8), value: f64, ink: &str) {
        let ((left, top), (width, _)) = (self.corner, self.size);
        let text = format!("↑ {}", label(value.round()));
        let half = crate::text::width(&text, TICK) / 2.0;
        let x = x.clamp(left + half + 2.0, left + width - half - 2.0);
        canvas.text((x, top + (TICK + 2.0) * f64::from(line)), TICK, ("middle", "bold", ink), &text);
    }
}

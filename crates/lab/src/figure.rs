//! Figures as SVG text, all in one style: panels side by side, error bars, linear or logarithmic axes, and the legend
//! below each plot, where it hides nothing.

use plotters::coord::ranged1d::{
    KeyPointHint, NoDefaultFormatting, Ranged, ReversibleRanged, ValueFormatter,
};
use plotters::prelude::*;
use std::ops::Range;

const PALETTE: [RGBColor; 7] = [
    RGBColor(0, 90, 160),
    RGBColor(213, 94, 0),
    RGBColor(0, 140, 100),
    RGBColor(170, 60, 140),
    RGBColor(110, 110, 110),
    RGBColor(200, 160, 0),
    RGBColor(20, 20, 20),
];
const PANEL_WIDTH: u32 = 560;
const PLOT_HEIGHT: u32 = 360;
const TITLE_HEIGHT: u32 = 34;
const LEGEND_ROW: u32 = 19;

/// A named line.
#[derive(Debug, Clone)]
pub struct Series {
    /// What the legend says.
    pub name: String,
    /// Its points, by x.
    pub points: Vec<(f64, f64)>,
}

/// What a figure of lines says about itself.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    /// Above the plot.
    pub title: &'a str,
    /// Quantity and unit of the horizontal axis.
    pub x: &'a str,
    /// Quantity and unit of the vertical axis.
    pub y: &'a str,
}

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line alone.
    Line,
    /// A line through marked points: something measured.
    Measured,
    /// A dashed line with open marks: a number that stands in a paper, or a bound.
    Reference,
}

/// A point with its spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// The median.
    pub y: f64,
    /// The lowest and the highest repetition; both equal to `y` draw no bar.
    pub spread: (f64, f64),
}

impl Point {
    /// A point without a spread.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, spread: (y, y) }
    }
}

/// One curve of a panel.
#[derive(Debug, Clone)]
pub struct Curve {
    /// What the legend says.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Which of the palette's colours; curves that belong together may share one.
    pub colour: usize,
    /// Its points, by x.
    pub points: Vec<Point>,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// From zero.
    #[default]
    Linear,
    /// By decades.
    Logarithmic,
}

/// One plot of a figure.
#[derive(Debug, Clone, Default)]
pub struct Panel {
    /// Above the plot.
    pub title: String,
    /// Quantity and unit of the horizontal axis.
    pub x: String,
    /// Quantity and unit of the vertical axis.
    pub y: String,
    /// Scale of the horizontal axis.
    pub x_scale: Scale,
    /// Scale of the vertical axis.
    pub y_scale: Scale,
    /// What is drawn, the last on top.
    pub curves: Vec<Curve>,
}

/// Lines over a linear x axis; both axes start at zero.
///
/// # Errors
/// What the drawing library could not do, in its words.
pub fn lines(labels: Labels<'_>, series: &[Series]) -> Result<String, String> {
    let curve = |(colour, line): (usize, &Series)| Curve {
        name: line.name.clone(),
        style: Style::Line,
        colour,
        points: line.points.iter().map(|(x, y)| Point::new(*x, *y)).collect(),
    };
    let panel = Panel {
        title: labels.title.to_owned(),
        x: labels.x.to_owned(),
        y: labels.y.to_owned(),
        curves: series.iter().enumerate().map(curve).collect(),
        ..Panel::default()
    };
    draw(&[panel], 860)
}

/// Panels side by side.
///
/// # Errors
/// What the drawing library could not do, in its words.
pub fn panels(panels: &[Panel]) -> Result<String, String> {
    draw(panels, PANEL_WIDTH)
}

fn draw(panels: &[Panel], width: u32) -> Result<String, String> {
    let count = u32::try_from(panels.len().max(1)).unwrap_or(1);
    let rows = panels.iter().map(|panel| panel.curves.len()).max().unwrap_or(0);
    let legend = LEGEND_ROW * u32::try_from(rows).unwrap_or(0) + 10;
    let height = TITLE_HEIGHT + PLOT_HEIGHT + legend;
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (width * count, height)).into_drawing_area();
        root.fill(&WHITE).map_err(|e| e.to_string())?;
        for (panel, area) in panels.iter().zip(root.split_evenly((1, panels.len().max(1)))) {
            let (plot, legend) = area.split_vertically(TITLE_HEIGHT + PLOT_HEIGHT);
            draw_panel(panel, &plot).map_err(|e| e.to_string())?;
            draw_legend(panel, &legend).map_err(|e| e.to_string())?;
        }
        root.present().map_err(|e| e.to_string())?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Fault = Box<dyn std::error::Error>;

fn colour(index: usize) -> RGBColor {
    PALETTE.iter().copied().cycle().nth(index % PALETTE.len()).unwrap_or(BLACK)
}

fn draw_panel(panel: &Panel, area: &Area<'_>) -> Result<(), Fault> {
    let points = || panel.curves.iter().flat_map(|curve| curve.points.iter());
    let x = Axis::around(panel.x_scale, points().map(|point| point.x));
    let y = Axis::around(panel.y_scale, points().flat_map(|point| [point.y, point.spread.0, point.spread.1]));
    let mut chart = ChartBuilder::on(area)
        .caption(&panel.title, ("sans-serif", 17))
        .margin_left(8)
        .margin_right(18)
        .margin_top(6)
        .x_label_area_size(42)
        .y_label_area_size(66)
        .build_cartesian_2d(x, y)
        .map_err(|e| e.to_string())?;
    chart
        .configure_mesh()
        .x_desc(&panel.x)
        .y_desc(&panel.y)
        .x_labels(9)
        .y_labels(9)
        .bold_line_style(BLACK.mix(0.12))
        .light_line_style(WHITE)
        .label_style(("sans-serif", 12))
        .axis_desc_style(("sans-serif", 13))
        .draw()
        .map_err(|e| e.to_string())?;
    for curve in &panel.curves {
        let ink = colour(curve.colour);
        let path: Vec<(f64, f64)> = curve.points.iter().map(|point| (point.x, point.y)).collect();
        let failed = |e: DrawingAreaErrorKind<std::io::Error>| e.to_string();
        if curve.style == Style::Reference {
            let dashes = DashedLineSeries::new(path, 5, 4, ink.stroke_width(1));
            chart.draw_series(dashes).map_err(failed)?;
        } else {
            chart.draw_series(LineSeries::new(path, ink.stroke_width(2))).map_err(failed)?;
        }
        let barred = curve.points.iter().filter(|point| point.spread.0 < point.spread.1);
        let bars = barred.map(|point| {
            PathElement::new(vec![(point.x, point.spread.0), (point.x, point.spread.1)], ink.stroke_width(1))
        });
        chart.draw_series(bars).map_err(failed)?;
        let at = curve.points.iter().map(|point| (point.x, point.y));
        match curve.style {
            Style::Line => {}
            Style::Measured => {
                chart.draw_series(at.map(|at| Circle::new(at, 3, ink.filled()))).map_err(failed)?;
            }
            Style::Reference => {
                chart.draw_series(at.map(|at| Circle::new(at, 3, ink.stroke_width(1)))).map_err(failed)?;
            }
        }
    }
    Ok(())
}

type DrawingAreaErrorKind<E> = plotters::drawing::DrawingAreaErrorKind<E>;

fn draw_legend(panel: &Panel, area: &Area<'_>) -> Result<(), Fault> {
    let row = i32::try_from(LEGEND_ROW).unwrap_or(0);
    for (curve, number) in panel.curves.iter().zip(0..) {
        let (y, ink) = (number * row + 10, colour(curve.colour));
        let style = ink.stroke_width(if curve.style == Style::Reference { 1 } else { 2 });
        let failed = |e: DrawingAreaErrorKind<std::io::Error>| e.to_string();
        let dash = |from: i32, to: i32| PathElement::new(vec![(74 + from, y), (74 + to, y)], style);
        match curve.style {
            Style::Reference => {
                area.draw(&dash(0, 7)).map_err(failed)?;
                area.draw(&dash(15, 22)).map_err(failed)?;
                area.draw(&Circle::new((85, y), 3, ink.stroke_width(1))).map_err(failed)?;
            }
            Style::Measured => {
                area.draw(&dash(0, 22)).map_err(failed)?;
                area.draw(&Circle::new((85, y), 3, ink.filled())).map_err(failed)?;
            }
            Style::Line => area.draw(&dash(0, 22)).map_err(failed)?,
        }
        let text = Text::new(curve.name.as_str(), (104, y - 6), ("sans-serif", 13));
        area.draw(&text).map_err(failed)?;
    }
    Ok(())
}

/// One axis; plotters has a type for each scale, and a panel would have four.
#[derive(Debug, Clone)]
struct Axis {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Axis {
    /// With room for all of them.
    fn around(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> =
            values.filter(|v| v.is_finite() && (*v > 0.0 || scale == Scale::Linear)).collect();
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        match scale {
            Scale::Linear => {
                let high = if high > 0.0 { high * 1.06 } else { 1.0 };
                Self { scale, low: low.min(0.0), high }
            }
            Scale::Logarithmic if low.is_finite() => {
                // Whole decades where they are few, so that there are labels on both ends.
                let (low, high) =
                    (10_f64.powf(low.log10().floor()), 10_f64.powf((high * 1.2).log10().ceil()));
                Self { scale, low, high }
            }
            Scale::Logarithmic => Self { scale, low: 1.0, high: 10.0 },
        }
    }

    fn place(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Logarithmic => {
                (value.max(self.low) / self.low).log10() / (self.high / self.low).log10().max(1e-9)
            }
        }
    }

    /// 1, 2 or 5 times a power of ten, so that no more than `count` steps are needed.
    fn ticks(&self, count: usize) -> Vec<f64> {
        let count = count.max(2);
        if self.scale == Scale::Logarithmic {
            let decades = (self.high / self.low).log10().round().max(1.0);
            let within: &[f64] = if decades < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let mut ticks = Vec::new();
            let mut decade = self.low;
            while decade <= self.high * 1.001 {
                ticks.extend(within.iter().map(|m| m * decade).filter(|tick| *tick <= self.high * 1.001));
                decade *= 10.0;
            }
            return ticks;
        }
        let raw = (self.high - self.low) / f64::from(u32::try_from(count).unwrap_or(9));
        let power = 10_f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= raw);
        let step = step.unwrap_or(raw);
        let first = (self.low / step).ceil();
        (0..64).map(|n| (first + f64::from(n)) * step).take_while(|tick| *tick <= self.high).collect()
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let span = f64::from(limit.1 - limit.0);
        #[expect(clippy::cast_possible_truncation, reason = "a pixel of a figure")]
        let offset = (self.place(*value) * span).round() as i32;
        limit.0 + offset
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.ticks(hint.bold_points())
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ReversibleRanged for Axis {
    fn unmap(&self, input: i32, limit: (i32, i32)) -> Option<f64> {
        let part = f64::from(input - limit.0) / f64::from(limit.1 - limit.0);
        Some(match self.scale {
            Scale::Linear => self.low + part * (self.high - self.low),
            Scale::Logarithmic => self.low * (self.high / self.low).powf(part),
        })
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        match value.abs() {
            v if v >= 1e6 => format!("{}M", trimmed(value / 1e6)),
            v if v >= 1e4 => format!("{}k", trimmed(value / 1e3)),
            v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
            _ => trimmed(*value),
        }
    }
}

fn trimmed(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis::around(Scale::Linear, [3.0, 970.0].into_iter());
        assert_eq!(axis.ticks(9), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        let axis = Axis::around(Scale::Logarithmic, [0.3, 2_000.0].into_iter());
        let names: Vec<String> = axis.ticks(9).iter().map(|tick| axis.format_ext(tick)).collect();
        assert_eq!(names, ["0.1", "1", "10", "100", "1000", "10k"]);
        assert_eq!(axis.map(&0.1, (0, 100)), 0);
        assert_eq!(axis.map(&10_000.0, (0, 100)), 100);
        assert_eq!(axis.unmap(40, (0, 100)).map(|v| v.round()), Some(10.0));
        assert_eq!(axis.map(&0.0, (0, 100)), 0, "what a logarithm cannot show stands at the edge");
    }

    #[test]
    fn every_curve_has_its_line_in_the_legend_and_its_bar() {
        let curve = |name: &str, style| Curve {
            name: name.to_owned(),
            style,
            colour: 1,
            points: vec![Point { x: 1.0, y: 5.0, spread: (4.0, 6.0) }, Point::new(2.0, 7.0)],
        };
        let panel = |scale| Panel {
            title: "A title".to_owned(),
            y_scale: scale,
            curves: vec![curve("ours", Style::Measured), curve("the paper's", Style::Reference)],
            ..Panel::default()
        };
        let svg = panels(&[panel(Scale::Linear), panel(Scale::Logarithmic)]).unwrap();
        assert_eq!(svg.matches("ours").count(), 2);
        assert_eq!(svg.matches("the paper&apos;s").count() + svg.matches("the paper's").count(), 2);
        assert_eq!(svg.matches("A title").count(), 2);
        assert!(panels(&[Panel::default()]).is_ok(), "a figure without points is a figure");
    }
}

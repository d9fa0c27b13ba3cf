//! Figures: what they show, as data, and [`svg`], which draws them all in one style. [`check`] measures whether a reader can read one.
//!
//! * A figure is 800 px wide and no text in it is below 12 px.
//! * It has a white background of its own, so that it reads the same on a light and on a dark page.
//! * A panel has at most six curves: a seventh and more go to a panel of their own. Each curve has a colour and a mark; the second
//!   quantity of the same thing has the same colour, an open mark and a dashed line.
//! * Panels of one figure whose axes have the same quantity, unit and scale have the same range.
//! * Names stand at the lines' ends where all of them fit, else in a legend.

mod axis;
mod canvas;
pub mod check;
mod draw;
mod labels;
mod look;
#[cfg(test)]
mod tests;
mod text;

pub use draw::svg;

use serde::{Deserialize, Serialize};

/// Curves in a panel at most.
pub const CURVES_MAX: usize = 6;

/// How a curve is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// A solid line through filled marks: something measured.
    Measured,
    /// A dashed line through open marks: the second quantity of the same thing, as a percentile beside a mean.
    Second,
    /// A dotted line through crosses: a number that stands in a paper, or a bound.
    Reference,
    /// A small mark for each point and no line: events, of which there may be many.
    Marks,
    /// A bar at each point, over its spread: stacked where curves begin at the ends of others. The horizontal axis counts places.
    Bars,
}

/// A point with its spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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

    const fn is_finite(&self) -> bool {
        self.x.is_finite() && self.y.is_finite() && self.spread.0.is_finite() && self.spread.1.is_finite()
    }
}

/// One curve of a panel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// What the legend says.
    pub name: String,
    /// How it looks.
    pub style: Style,
    /// Which of the palette's colours, and which mark; curves that belong together may share one.
    pub colour: usize,
    /// Its points, by x.
    pub points: Vec<Point>,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// From zero.
    #[default]
    Linear,
    /// By decades.
    Logarithmic,
}

/// One plot of a figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
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
    /// Where the vertical axis ends, if not above all values: what is higher stands as a number at the edge.
    pub y_end: Option<f64>,
    /// What is drawn, the first on top.
    pub curves: Vec<Curve>,
}

/// A figure: its file name without ending, what stands under it, and its panels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// File name without `.svg`.
    pub name: String,
    /// What it shows: quantities, repetitions, what bars are, and how a paper's numbers were read.
    pub caption: String,
    /// The plots.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// A figure; points that are no numbers, and curves that have no others, are left out.
    #[must_use]
    pub fn new(name: &str, caption: &str, mut panels: Vec<Panel>) -> Self {
        for panel in &mut panels {
            for curve in &mut panel.curves {
                curve.points.retain(Point::is_finite);
            }
            panel.curves.retain(|curve| !curve.points.is_empty());
        }
        Self { name: name.to_owned(), caption: caption.to_owned(), panels }
    }
}

/// The panels with at most [`CURVES_MAX`] curves each.
fn split(panels: &[Panel]) -> Vec<Panel> {
    let mut all = Vec::new();
    for panel in panels {
        if panel.curves.len() <= CURVES_MAX {
            all.push(panel.clone());
            continue;
        }
        for (part, curves) in panel.curves.chunks(CURVES_MAX).enumerate() {
            let continued = if part == 0 { "" } else { ", continued" };
            let title = format!("{}{continued}", panel.title);
            all.push(Panel { title, curves: curves.to_vec(), ..panel.clone() });
        }
    }
    all
}

//! What a figure is drawn on, and the measures that its parts share.

use crate::axis::Axis;
use crate::text::escaped;
use std::fmt::Write as _;

/// Size of text: names and captions.
pub(crate) const NAME: f64 = 13.0;
/// From a line of text to the next.
pub(crate) const LINE: f64 = 18.0;

/// Both axes of a panel.
#[derive(Debug, Clone)]
pub(crate) struct Axes {
    pub(crate) x: Axis,
    pub(crate) y: Axis,
}

/// What has been drawn so far.
#[derive(Debug, Default)]
pub(crate) struct Canvas(pub(crate) String);

impl Canvas {
    pub(crate) fn push(&mut self, element: &str) {
        self.0.push_str(element);
    }

    /// Text with its base line at a place: anchor, weight and colour.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), size: f64, look: (&str, &str, &str), text: &str) {
        let (anchor, weight, colour) = look;
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" text-anchor=\"{anchor}\" font-weight=\"{weight}\" \
             fill=\"{colour}\">{}</text>",
            escaped(text)
        );
    }

    pub(crate) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), colour: &str, width: &str) {
        let _ = writeln!(
            self.0,
            "<path d=\"M{x1:.1},{y1:.1}L{x2:.1},{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\" fill=\"none\"/>"
        );
    }
}

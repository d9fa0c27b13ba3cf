//! Figures of runs: they stand in a run's JSON, and [`gannet_figure`] draws them.

#[cfg(test)]
pub(crate) mod check;
#[cfg(test)]
mod documented;

pub use gannet_figure::{CURVES_MAX, Curve, Figure, Panel, Point, Scale, Style, svg};

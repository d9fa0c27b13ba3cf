//! Figures as SVG text, all in one style.

use plotters::prelude::*;

const PALETTE: [RGBColor; 6] = [
    RGBColor(0, 90, 160),
    RGBColor(213, 94, 0),
    RGBColor(0, 140, 100),
    RGBColor(170, 60, 140),
    RGBColor(110, 110, 110),
    RGBColor(200, 160, 0),
];

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

/// Lines over a linear x axis; both axes start at zero.
///
/// # Errors
/// What the drawing library could not do, in its words.
pub fn lines(labels: Labels<'_>, series: &[Series]) -> Result<String, String> {
    let points = || series.iter().flat_map(|line| line.points.iter());
    let x_max = points().map(|(x, _)| *x).fold(1.0, f64::max);
    let y_max = points().map(|(_, y)| *y).fold(0.0, f64::max) * 1.08;
    let y_max = if y_max > 0.0 { y_max } else { 1.0 };
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (860, 440)).into_drawing_area();
        let fail = |error: &dyn std::fmt::Display| error.to_string();
        area.fill(&WHITE).map_err(|e| fail(&e))?;
        let mut chart = ChartBuilder::on(&area)
            .caption(labels.title, ("sans-serif", 20))
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(0.0..x_max, 0.0..y_max)
            .map_err(|e| fail(&e))?;
        chart
            .configure_mesh()
            .x_desc(labels.x)
            .y_desc(labels.y)
            .light_line_style(WHITE)
            .draw()
            .map_err(|e| fail(&e))?;
        for (line, colour) in series.iter().zip(PALETTE.iter().cycle()) {
            let colour = *colour;
            chart
                .draw_series(LineSeries::new(line.points.iter().copied(), colour.stroke_width(2)))
                .map_err(|e| fail(&e))?
                .label(line.name.as_str())
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()
            .map_err(|e| fail(&e))?;
        area.present().map_err(|e| fail(&e))?;
    }
    Ok(svg)
}

//! Figures of reports are readable.

pub(crate) use gannet_figure::check::legible;

/// All figures of a report are legible, and there is one.
pub(crate) fn of_report(report: &crate::report::Report) {
    assert!(!report.figures.is_empty(), "{}", report.experiment);
    for figure in &report.figures {
        if let Err(why) = legible(&super::svg(figure, &report.origin)) {
            panic!("{}: {why}", figure.name);
        }
    }
}

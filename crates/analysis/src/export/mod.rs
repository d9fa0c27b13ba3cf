//! What others read: tables of comma-separated values, and plots of tcptrace's xplot.
//!
//! | function | what |
//! |---|---|
//! | [`csv::segments`], [`csv::blocks`] | a line for each record, as it passes |
//! | [`csv::findings`] | a line for each finding's number |
//! | [`xplot::time_sequence`], [`xplot::outstanding`], [`xplot::round_trips`] | a plot of a direction of a connection |

pub mod csv;
#[cfg(test)]
mod tests;
pub mod xplot;

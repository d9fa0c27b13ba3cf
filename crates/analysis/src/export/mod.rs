//! What others read: tables of comma-separated values, plots of tcptrace's xplot, and frames of one mobile as pcapng.
//!
//! | function | what |
//! |---|---|
//! | [`csv::segments`], [`csv::blocks`] | a line for each record, as it passes |
//! | [`csv::findings`] | a line for each finding's number |
//! | [`xplot::time_sequence`], [`xplot::outstanding`], [`xplot::round_trips`] | a plot of a direction of a connection |
//! | [`plot::connection`], [`plot::layers`] | figures of a direction of a connection, and of what the layers carry |
//! | [`pcapng::write`] | the frames of one mobile, from several files |

pub mod csv;
pub mod pcapng;
pub mod plot;
#[cfg(test)]
mod tests;
pub mod xplot;

//! What the early demultiplexing thesis measured (chapter 7), as far as its text states numbers: its figures
//! are not in the text, so that a curve here is drawn only through points that a sentence names.

/// Table 7.1: mean stack traversal in µs and standard deviation, of the plain SGSN and of the ED-SGSN.
pub const TRAVERSAL_US: [(f64, f64); 2] = [(409.74, 3.83), (409.34, 0.89)];
/// The three tests of table 7.1, SGSN and ED-SGSN, in µs.
pub const TRAVERSAL_TESTS_US: [[f64; 3]; 2] = [[413.26, 406.33, 409.64], [407.55, 412.05, 408.42]];

/// Section 7.3.1: saturation of the SGSN in packets/s, without exceeding traffic and with 50 %.
pub const SATURATION_SGSN: [(f64, f64); 2] = [(0.0, 1600.0), (50.0, 960.0)];
/// The same of the ED-SGSN.
pub const SATURATION_ED: [(f64, f64); 2] = [(0.0, 2150.0), (50.0, 1900.0)];
/// By how many percent saturation falls at 50 % exceeding traffic: SGSN, ED-SGSN.
pub const FALL_AT_HALF: [f64; 2] = [40.0, 12.0];

/// Section 7.3.2, figures 7.5 and 7.6: share of its allocated bandwidth that a good user gets, in percent, at 0 and at
/// 50 % of exceeding traffic.
pub const GOOD_SHARE_SGSN: [(f64, f64); 2] = [(0.0, 100.0), (50.0, 50.0)];
/// The same of the ED-SGSN.
pub const GOOD_SHARE_ED: [(f64, f64); 2] = [(0.0, 100.0), (50.0, 100.0)];
/// Users of the two scenarios: below saturation and above it.
pub const USERS: [u32; 2] = [160, 256];

/// Section 7.4.3, figure 7.9: delay of a real-time mobile in µs by load, as a multiple of the SGSN's own saturation
/// (1600 packets/s): "from 0.5 milliseconds to almost 5 milliseconds".
pub const DELAY_SGSN_US: [(f64, f64); 2] = [(0.0, 500.0), (1.0, 5000.0)];
/// The ED-SGSN: 285 µs, or 67 %, more at 1600 packets/s than idle.
pub const DELAY_ED_US: [(f64, f64); 2] = [(0.0, 425.0), (1.0, 710.0)];

/// Section 7.5.2, figure 7.10: percent of high-precedence packets that are dropped, by load as a multiple of the
/// SGSN's saturation; 2900 packets/s are 1.8 times 1600.
pub const HIGH_DROPS_SGSN: [(f64, f64); 3] = [(0.0, 0.0), (1.0, 0.0), (1.8, 45.0)];
/// The ED-SGSN.
pub const HIGH_DROPS_ED: [(f64, f64); 3] = [(0.0, 0.0), (1.0, 0.0), (1.8, 0.0)];

/// How a curve's points were read, for a caption: `points` says which, `section` where the text states them.
#[must_use]
pub fn read_off(points: &str, section: &str) -> String {
    format!(
        "Thesis: G. Lefebvre, M.A.Sc. thesis, University of British Columbia, 2001; read off are {points}, as the text of section \
         {section} states them; nothing is read from a drawing, and the line between is ours."
    )
}

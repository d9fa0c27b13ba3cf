//! What good and bad users got of what they are entitled to.

use super::account::{GroupCount, Step};
use super::stats::Samples;
use crate::figure::{Curve, Style};

/// Whoever gets less than this of what he is entitled to had to share; at 1.2 times saturation it is 0.83.
pub(crate) const SHARED: f64 = 0.88;
/// Where the axis of shares ends, in percent.
pub(crate) const SHARE_END: f64 = 200.0;

/// What one candidate's groups got at one fraction of exceeding traffic.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shares {
    pub(crate) good: Samples,
    pub(crate) bad: Samples,
    pub(crate) good_read: Samples,
    pub(crate) bad_read: Samples,
    pub(crate) apart: Samples,
    /// Steps in which nobody had to share, or in which the generator could not offer what was intended.
    pub(crate) silent: usize,
}

impl Shares {
    /// Most of so many repetitions can say nothing any more.
    pub(crate) const fn is_silent(&self, repetitions: u32) -> bool {
        self.silent > repetitions as usize / 2
    }

    /// Most of so many repetitions have said something.
    pub(crate) fn says_enough(&self, repetitions: u32) -> bool {
        self.apart.len() > repetitions as usize / 2
    }
}

/// What one step has shown of it.
#[expect(clippy::cast_precision_loss, reason = "counts of a step stay far below 2^52")]
pub(crate) fn note(shares: &mut Shares, step: &Step) {
    let get = |name: &str| step.group(name).cloned().unwrap_or_default();
    let (good, bad) = (get("good"), get("bad"));
    let (g, b) = (step.share(&good), step.share(&bad));
    shares.good.push(g);
    shares.bad.push(b);
    // Where a group was offered no more than it got, nobody had to share. What each is entitled to is the same for both also where
    // the generator was late, so that the good were offered less than that, and the bad still more.
    if step.shortfall().is_none() && step.least_share() < SHARED {
        let [of_good, of_bad] = [&good, &bad].map(|group| group.delivered as f64 / group.due_pps);
        shares.apart.push((of_good - of_bad) / f64::midpoint(of_good, of_bad));
    } else {
        shares.silent += 1;
    }
    // As a fraction of what the group is entitled to in the whole step, which is as much longer as more was offered, or of
    // what it was offered where that was less.
    let read = |group: &GroupCount| {
        let whole_s = step.window_s * group.offered_all as f64 / group.offered.max(1) as f64;
        let entitled = (group.due_pps * whole_s).min(group.offered_all as f64);
        group.read.map(|read| read as f64 / entitled)
    };
    if let (Some(good), Some(bad)) = (read(&good), read(&bad)) {
        shares.good_read.push(good);
        shares.bad_read.push(bad);
    }
}

/// What was delivered and read of good and bad users, by fraction of exceeding traffic.
pub(crate) fn curves(points: &[(f64, Shares)]) -> Vec<Curve> {
    let percent = |what: &str, style, colour, get: &dyn Fn(&Shares) -> &Samples| Curve {
        name: format!("{what} users"),
        style,
        colour,
        points: points
            .iter()
            .filter(|(_, shares)| !get(shares).is_empty())
            .map(|(f, shares)| get(shares).over(0.01).point(f * 100.0))
            .collect(),
    };
    let mut curves = vec![
        percent("delivered, good", Style::Measured, 0, &|s| &s.good),
        percent("delivered, bad", Style::Measured, 1, &|s| &s.bad),
        percent("read by the SGSN, good", Style::Second, 0, &|s| &s.good_read),
        percent("read by the SGSN, bad", Style::Second, 1, &|s| &s.bad_read),
    ];
    curves.retain(|curve| !curve.points.is_empty());
    curves
}

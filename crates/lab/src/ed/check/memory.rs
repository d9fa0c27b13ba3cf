//! Resident memory of the process for each attached mobile with one context.

use super::super::real::{RealLab, Started};
use super::super::shape::{attach, refused};
use crate::measure::Candidate;
use crate::testbed::resident_octets;
use std::fmt::Write as _;

/// Mobiles, one number after the other.
const MOBILES: [u32; 2] = [2_000, 20_000];
/// Octets for each mobile at the most.
const OCTETS_MAX: u64 = 1024;

/// Attaches few mobiles, then many, and divides what the process has grown by in between. Both are of one process with
/// one configuration: what does not depend on the number of mobiles, such as the frames, is in both. A mobile is 410 octets,
/// its names and its queue some 200 more. The rest of the bound bears that large tables and the heap grow in huge pages: one page of two
/// MiB too many is 116 octets for each of 18,000 mobiles, so three may be.
pub fn run(lab: &mut RealLab, candidate: Candidate) -> Result<String, String> {
    let [few, many] = MOBILES;
    // Slow mobiles, so that the frames for what waits at the input take little memory.
    let setup = super::setup(many, 400, 16);
    let Started { process, mut load, .. } = lab.sgsn(candidate, &setup)?;
    let mut said = String::new();
    let mut sizes = vec![resident_octets(process.pid())?];
    let mut from = 0;
    for mobiles in MOBILES {
        let outcome = attach(&mut load, &setup, from..mobiles, &lab.stop())?;
        if outcome.failed > 0 {
            return Err(refused(&mut load, &outcome));
        }
        from = mobiles;
        sizes.push(resident_octets(process.pid())?);
        let _ = writeln!(said, "{mobiles} mobiles: {} KiB resident", sizes.last().unwrap_or(&0) >> 10);
    }
    let (Some(first), Some(last)) = (sizes.get(1), sizes.last()) else {
        return Err("nothing measured".to_owned());
    };
    let each = last.saturating_sub(*first) / u64::from(many - few);
    let _ = writeln!(said, "each mobile: {each} octets");
    if each > OCTETS_MAX || last <= first {
        return Err(format!(
            "{each} octets for each mobile, at most {OCTETS_MAX} are allowed\n{said}{sizes:?}"
        ));
    }
    Ok(said)
}

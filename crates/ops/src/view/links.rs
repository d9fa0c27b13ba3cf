//! `show llc` and `show sndcp`.

use super::Or;
use core::fmt;
use gannet_wire::id::{Imsi, Nsapi, Sapi, Tlli};

/// The logical links of a mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Llc {
    /// Its IMSI, where it is known yet.
    pub imsi: Option<Imsi>,
    /// Its TLLI.
    pub tlli: Option<Tlli>,
    /// Its TLLI before the last assignment, while that is valid.
    pub tlli_old: Option<Tlli>,
    /// `GEA0` to `GEA4`; never the key.
    pub cipher: String,
    /// N201-U of each SAPI, in octets.
    pub n201_u: Vec<(Sapi, u16)>,
}

impl fmt::Display for Llc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { imsi, tlli, tlli_old, cipher, n201_u } = self;
        writeln!(f, "LLME of IMSI {}: TLLI {} (old {}) {cipher}", Or(imsi), Or(tlli), Or(tlli_old))?;
        n201_u.iter().try_for_each(|(sapi, octets)| writeln!(f, "  LLE SAPI {sapi}: N201-U {octets}"))
    }
}

/// SNDCP of a PDP context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sndcp {
    /// Its mobile's IMSI.
    pub imsi: Option<Imsi>,
    /// Which.
    pub nsapi: Nsapi,
    /// What carries it.
    pub sapi: Sapi,
    /// The number of the next N-PDU (04.65 clause 6.9.2).
    pub next_n_pdu: u16,
}

impl fmt::Display for Sndcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { imsi, nsapi, sapi, next_n_pdu } = self;
        writeln!(f, "SNDCP of IMSI {} NSAPI {nsapi}: SAPI {sapi}, next N-PDU {next_n_pdu}", Or(imsi))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_says_whose_it_is() {
        let imsi = "001010000000001".parse().ok();
        let tlli = Some(Tlli(0xc000_0001));
        let n201_u = vec![(Sapi::GMM, 400), (Sapi::DATA3, 500)];
        let llc = Llc { imsi, tlli, tlli_old: None, cipher: "GEA3".to_owned(), n201_u };
        assert_eq!(
            llc.to_string(),
            "LLME of IMSI 001010000000001: TLLI c0000001 (old -) GEA3\n  LLE SAPI 1: N201-U 400\n  LLE SAPI 3: N201-U 500\n"
        );
        let sndcp = Sndcp { imsi, nsapi: Nsapi(5), sapi: Sapi::DATA3, next_n_pdu: 7 };
        assert_eq!(sndcp.to_string(), "SNDCP of IMSI 001010000000001 NSAPI 5: SAPI 3, next N-PDU 7\n");
    }
}

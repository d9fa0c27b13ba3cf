//! `show llc` and `show sndcp`.

use super::Or;
use core::fmt;
use gannet_wire::id::{Bvci, Imsi, Nsapi, Nsei, Sapi, Tlli};

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
    /// The cell in which it was heard last.
    pub bvc: (Nsei, Bvci),
    /// IOV-UI.
    pub iov_ui: u32,
    /// Each SAPI.
    pub sapis: Vec<LlcSapi>,
}

/// One SAPI of a mobile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlcSapi {
    /// Which.
    pub sapi: Sapi,
    /// V(U) and V(UR).
    pub unnumbered: (u16, u16),
    /// T200 in tenths of a second, and N200.
    pub t200_n200: (u16, u8),
    /// N201-U and N201-I, in octets.
    pub n201: (u16, u16),
    /// Its acknowledged mode, where it has one.
    pub link: Option<Link>,
}

impl fmt::Display for LlcSapi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sapi, unnumbered: (vu, vur), t200_n200: (tenths, n200), n201: (u, i), link } = self;
        let (vs, va, vr) = link.map_or((0, 0, 0), |link| link.variables);
        let state = link.map_or("ADM", |link| link.state);
        let again = link.map_or(0, |link| link.retransmissions);
        writeln!(
            f,
            " SAPI {:2} State {state} VUsend={vu}, VUrecv={vur} Vsent={vs} Vack={va} Vrecv={vr}, RetransCtr={again}",
            sapi.0
        )?;
        let (down, up) = link.map_or((0, 0), |link| link.windows);
        writeln!(f, "  T200={}, N200={n200}, N201-U={u}, N201-I={i}, kD={down}, kU={up}", tenths / 10)?;
        link.iter().try_for_each(|link| link.fmt(f))
    }
}

/// A logical link in acknowledged mode, or on its way to it or from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// Its SAPI.
    pub sapi: Sapi,
    /// `ABM` and its like (04.64 annex C).
    pub state: &'static str,
    /// N201-I, in octets.
    pub n201_i: u16,
    /// T200 in tenths of a second, and N200.
    pub t200_n200: (u16, u8),
    /// k of what is sent, and of what is received.
    pub windows: (u8, u8),
    /// V(S), V(A) and V(R).
    pub variables: (u16, u16, u16),
    /// SN-PDUs that the peer has not acknowledged.
    pub unacknowledged: usize,
    /// I frames that were sent again since the link was established.
    pub retransmissions: u32,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sapi, state, n201_i, t200_n200, windows, variables, unacknowledged, retransmissions } =
            self;
        let ((sent, received), (vs, va, vr), (tenths, n200)) = (windows, variables, t200_n200);
        writeln!(
            f,
            "  LLE SAPI {sapi}: {state}, N201-I {n201_i}, T200 {}.{} s, N200 {n200}, window {sent} sent {received} received, V(S) {vs} V(A) {va} V(R) {vr}, \
             {unacknowledged} SN-PDUs not acknowledged, {retransmissions} I frames sent again",
            tenths / 10,
            tenths % 10
        )
    }
}

impl fmt::Display for Llc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { imsi, tlli, tlli_old, cipher, bvc: (nsei, bvci), iov_ui, sapis } = self;
        let state = if tlli.is_some() { "TLLI Assigned" } else { "TLLI Unassigned" };
        let (tlli, old) = (tlli.unwrap_or(Tlli::UNASSIGNED), tlli_old.unwrap_or(Tlli::UNASSIGNED));
        writeln!(
            f,
            "TLLI {tlli} (Old TLLI {old}) BVCI={bvci} NSEI={nsei} {cipher}: IOV-UI=0x{iov_ui:06x}: State {state}, IMSI {}",
            Or(imsi)
        )?;
        sapis.iter().try_for_each(|sapi| sapi.fmt(f))
    }
}

/// SNDCP of a PDP context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sndcp {
    /// Its mobile's IMSI.
    pub imsi: Option<Imsi>,
    /// Its mobile's TLLI.
    pub tlli: Tlli,
    /// Which.
    pub nsapi: Nsapi,
    /// What carries it.
    pub sapi: Sapi,
    /// The number of the next N-PDU (04.65 clause 6.9.2).
    pub next_n_pdu: u16,
    /// In acknowledged mode: N-PDUs that the mobile has not confirmed, and the number of the next one of it.
    pub acknowledged: Option<(usize, u8)>,
    /// What compression was agreed to.
    pub compression: Vec<String>,
    /// Octets of the mobile's N-PDUs, and what they were compressed to: those sent, and those received.
    pub octets: Option<[(u32, u32); 2]>,
}

/// How many times smaller something has become.
fn ratio((octets, compressed): (u32, u32)) -> String {
    let hundredths = u64::from(octets) * 100 / u64::from(compressed.max(1));
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

impl fmt::Display for Sndcp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { imsi, tlli, nsapi, sapi, next_n_pdu, acknowledged, compression, octets } = self;
        writeln!(f, " TLLI {tlli} SAPI={sapi} NSAPI={nsapi}:")?;
        write!(f, "  IMSI {}, ", Or(imsi))?;
        match acknowledged {
            Some((unconfirmed, next)) => {
                write!(
                    f,
                    "acknowledged, {unconfirmed} N-PDUs not confirmed, next N-PDU of the mobile {next}"
                )?;
            }
            None => write!(f, "next N-PDU {next_n_pdu}")?,
        }
        writeln!(f)?;
        if compression.is_empty() {
            return Ok(());
        }
        write!(f, "  compression {}", compression.join(", "))?;
        if let Some([sent, received]) = octets {
            write!(f, "; of all contexts {}:1 sent, {}:1 received", ratio(*sent), ratio(*received))?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link {
        sapi: Sapi::DATA3,
        state: "ABM",
        n201_i: 1503,
        t200_n200: (50, 3),
        windows: (16, 8),
        variables: (7, 5, 9),
        unacknowledged: 2,
        retransmissions: 1,
    };

    #[test]
    fn each_line_says_whose_it_is() {
        let imsi = "001010000000001".parse().ok();
        let tlli = Some(Tlli(0xc000_0001));
        let of = |sapi, n201, link| LlcSapi { sapi, unnumbered: (4, 5), t200_n200: (50, 3), n201, link };
        let sapis = vec![of(Sapi::GMM, (400, 0), None), of(Sapi::DATA3, (500, 1503), Some(LINK))];
        let bvc = (Nsei(101), Bvci(2));
        let llc = Llc { imsi, tlli, tlli_old: None, cipher: "GEA3".to_owned(), bvc, iov_ui: 0, sapis };
        assert_eq!(
            llc.to_string(),
            "TLLI c0000001 (Old TLLI ffffffff) BVCI=2 NSEI=101 GEA3: IOV-UI=0x000000: State TLLI Assigned, IMSI 001010000000001\n \
             SAPI  1 State ADM VUsend=4, VUrecv=5 Vsent=0 Vack=0 Vrecv=0, RetransCtr=0\n  \
             T200=5, N200=3, N201-U=400, N201-I=0, kD=0, kU=0\n \
             SAPI  3 State ABM VUsend=4, VUrecv=5 Vsent=7 Vack=5 Vrecv=9, RetransCtr=1\n  \
             T200=5, N200=3, N201-U=500, N201-I=1503, kD=16, kU=8\n  \
             LLE SAPI 3: ABM, N201-I 1503, T200 5.0 s, N200 3, window 16 sent 8 received, V(S) 7 V(A) 5 V(R) 9, \
             2 SN-PDUs not acknowledged, 1 I frames sent again\n"
        );
        let bare = Sndcp {
            imsi,
            tlli: Tlli(0xc000_0001),
            nsapi: Nsapi(5),
            sapi: Sapi::DATA3,
            next_n_pdu: 7,
            acknowledged: None,
            compression: Vec::new(),
            octets: None,
        };
        let whose = " TLLI c0000001 SAPI=3 NSAPI=5:\n  IMSI 001010000000001, ";
        assert_eq!(bare.to_string(), format!("{whose}next N-PDU 7\n"));
        let sure = Sndcp {
            acknowledged: Some((3, 9)),
            compression: vec!["rfc1144 slots 16".to_owned()],
            octets: Some([(2150, 1000), (0, 0)]),
            ..bare
        };
        assert_eq!(
            sure.to_string(),
            format!(
                "{whose}acknowledged, 3 N-PDUs not confirmed, next N-PDU of the mobile 9\n  compression rfc1144 slots 16; \
                 of all contexts 2.15:1 sent, 0.00:1 received\n"
            )
        );
    }
}

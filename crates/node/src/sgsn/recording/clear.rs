//! LL-PDUs without their cipher.
//!
//! The node is asked which key a TLLI has. OC is found by trying, as the FCS says when it is the right one: a frame continues
//! where the one before it of its SAPI and direction stood, or begins anew.

use super::line::{Mark, Way};
use super::vectors::TEST_KEYS;
use crate::sgsn::Sgsn;
use crate::sgsn::mobile::Mobile;
use gannet_proto::llc::cipher::{Direction, i_input, ui_input};
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::bssgp::{DlUnitdata, UlUnitdata};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::llc::{Control, Header, Layout, MODULUS};
use gannet_wire::ns::{UNITDATA_HEADER_LEN, Unitdata};
use std::collections::BTreeMap;

/// TLLIs that are remembered. Beyond that all are forgotten, and asked about again.
const LINKS_MAX: usize = 65_536;
/// How far OC is looked for: frames over 512.
const OVERFLOWS: u32 = 64;

/// What is known of a TLLI.
#[derive(Debug, Clone, Copy)]
struct Link {
    ciphering: Ciphering,
    iov_ui: u32,
    /// Of SAPI 3, 5, 9 and 11.
    iov_i: [u32; 4],
}

const ABM_SAPIS: [Sapi; 4] = [Sapi::DATA3, Sapi::DATA5, Sapi::DATA9, Sapi::DATA11];

impl Link {
    fn of(mobile: &Mobile) -> Self {
        let iov_i = ABM_SAPIS.map(|sapi| mobile.llc.abm(sapi).map_or(0, |abm| abm.windows().iov_i));
        Self { ciphering: mobile.llc.ciphering(), iov_ui: mobile.llc.iov_ui(), iov_i }
    }

    /// INPUT of a frame with OC + its number.
    fn input(&self, kind: Kind, sapi: Sapi, count: u32) -> u32 {
        match kind {
            Kind::Unnumbered => ui_input(self.iov_ui, sapi, count),
            Kind::Numbered => {
                let place = ABM_SAPIS.iter().position(|known| *known == sapi);
                i_input(place.and_then(|place| self.iov_i.get(place)).copied().unwrap_or(0), count)
            }
        }
    }
}

/// Which counter a frame has its number of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Unnumbered,
    Numbered,
}

/// What is known of links: keys stay here, and are never written.
#[derive(Debug, Default)]
pub struct Links {
    links: BTreeMap<Tlli, Link>,
    /// OC of the last frame.
    overflows: BTreeMap<(Tlli, Sapi, Kind, bool), u32>,
}

/// Where the LL-PDU of a datagram on Gb stands, and whose it is; `None` where it carries none.
pub fn ll_pdu_of(way: Way, datagram: &[u8]) -> Option<(Tlli, usize)> {
    Unitdata::parse(datagram).ok()?;
    let pdu = datagram.get(UNITDATA_HEADER_LEN..)?;
    let (tlli, at) = match way {
        Way::In => UlUnitdata::parse(pdu).map(|(header, at)| (header.tlli, at)).ok()?,
        Way::Out => DlUnitdata::parse(pdu).map(|(header, at)| (header.tlli, at)).ok()?,
    };
    // Nothing stands behind an LL-PDU, but where a BSS has put it there.
    (at.end == pdu.len()).then_some((tlli, UNITDATA_HEADER_LEN + at.start))
}

/// The FCS of a frame whose octets have changed.
pub fn seal(ll_pdu: &mut [u8]) {
    let Ok(layout) = Header::parse(ll_pdu) else { return };
    let fcs = ll_pdu.get(layout.covered()).map(fcs24);
    let place = ll_pdu.get_mut(layout.info().end..);
    place.into_iter().flatten().zip(fcs.into_iter().flatten()).for_each(|(to, from)| *to = from);
}

/// Ciphers the LL-PDU of an input again, with the key of the test vectors; `None` where there is none.
pub fn cipher(mark: Mark, datagram: &mut [u8]) -> Option<()> {
    let ciphering = match mark.algorithm {
        Algorithm::Gea0 => return None,
        Algorithm::Gea1 | Algorithm::Gea2 | Algorithm::Gea3 => {
            Ciphering::with_kc(mark.algorithm, TEST_KEYS.kc().0)?
        }
        Algorithm::Gea4 => Ciphering::with_kc128(mark.algorithm, TEST_KEYS.kc128().0)?,
    };
    let (_, at) = ll_pdu_of(Way::In, datagram)?;
    let ll_pdu = datagram.get_mut(at..)?;
    let layout = Header::parse(ll_pdu).ok()?;
    ciphering.apply(mark.input, direction(Way::In), ll_pdu.get_mut(layout.header_len..)?);
    Some(())
}

/// The direction of a way.
const fn direction(way: Way) -> Direction {
    match way {
        Way::In => Direction::Uplink,
        Way::Out => Direction::Downlink,
    }
}

fn mobile_of(sgsn: &Sgsn, tlli: Tlli) -> Option<&Mobile> {
    let by_name = sgsn.directory.by_ptmsi(crate::sgsn::directory::Directory::ptmsi_of(tlli));
    let named = by_name.and_then(|slot| sgsn.mobiles.get(slot)).filter(|mobile| mobile.llc.accepts(tlli));
    named.or_else(|| sgsn.mobiles.iter().map(|(_, mobile)| mobile).find(|mobile| mobile.llc.accepts(tlli)))
}

impl Links {
    /// Takes the cipher off an LL-PDU. `Ok` where it has none, `Err` where it has one and nobody knows which.
    pub fn clear(
        &mut self,
        sgsn: &Sgsn,
        (way, tlli): (Way, Tlli),
        ll_pdu: &mut [u8],
    ) -> Result<Option<Mark>, ()> {
        let Ok(layout) = Header::parse(ll_pdu) else { return Ok(None) };
        let (kind, number) = match layout.header.control {
            Control::Ui { nu, encrypted: true, .. } => (Kind::Unnumbered, nu),
            Control::I { ns, .. } if !layout.fcs_is_right(ll_pdu) => (Kind::Numbered, ns),
            Control::Ui { .. } | Control::I { .. } | Control::S { .. } | Control::U { .. } => {
                return Ok(None);
            }
        };
        let fresh = mobile_of(sgsn, tlli).map(Link::of).filter(|link| link.ciphering.is_on());
        let known = self.links.get(&tlli).copied();
        for link in fresh.into_iter().chain(known) {
            if let Some(mark) = self.attempt(&link, (way, tlli, kind, number), &layout, ll_pdu) {
                if self.links.len() >= LINKS_MAX {
                    self.links.clear();
                    self.overflows.clear();
                }
                self.links.insert(tlli, link);
                return Ok(Some(mark));
            }
        }
        Err(())
    }

    fn attempt(
        &mut self,
        link: &Link,
        (way, tlli, kind, number): (Way, Tlli, Kind, u16),
        layout: &Layout,
        ll_pdu: &mut [u8],
    ) -> Option<Mark> {
        let place = (tlli, layout.header.sapi, kind, way == Way::In);
        let modulus = u32::from(MODULUS);
        let last = self.overflows.get(&place).copied().unwrap_or(0);
        let near = [last, last.wrapping_add(modulus), last.wrapping_sub(modulus)];
        for overflow in near.into_iter().chain((0..OVERFLOWS).map(|times| times * modulus)) {
            let input = link.input(kind, layout.header.sapi, overflow.wrapping_add(number.into()));
            let mut apply = || {
                let octets = ll_pdu.get_mut(layout.header_len..).unwrap_or_default();
                link.ciphering.apply(input, direction(way), octets);
            };
            apply();
            if layout.fcs_is_right(ll_pdu) {
                self.overflows.insert(place, overflow);
                return Some(Mark { algorithm: link.ciphering.algorithm(), input });
            }
            let octets = ll_pdu.get_mut(layout.header_len..).unwrap_or_default();
            link.ciphering.apply(input, direction(way), octets);
        }
        None
    }
}

//! Gb: NS, BSSGP, LLC, SNDCP.

use super::{Eyes, Seen, Whose, ip, mix};
use core::num::NonZeroU64;
use gannet_wire::bssgp::ie::{ImsiValue, iei};
use gannet_wire::bssgp::{DlUnitdata, PduType, UlUnitdata};
use gannet_wire::id::{Imsi, Tlli};
use gannet_wire::ns::{self, UNITDATA_HEADER_LEN};
use gannet_wire::sndcp;
use gannet_wire::tlv::Elements;

/// SAPIs of user data (04.64 clause 6.2.3).
const USER_SAPIS: [u8; 4] = [3, 5, 9, 11];

impl Eyes {
    pub(super) fn gb(&mut self, datagram: &[u8]) -> Seen {
        let pdu = match datagram.get(UNITDATA_HEADER_LEN..) {
            Some(pdu) if ns::Unitdata::is(datagram) => pdu,
            _ => return Seen::signalling(None),
        };
        let (whose, ll_pdu) = match pdu.first().copied().map(PduType::from_octet) {
            Some(PduType::DlUnitdata) => match DlUnitdata::parse(pdu) {
                Ok((header, ll_pdu)) => {
                    let names = [Some(header.tlli), header.old_tlli];
                    (self.of_names(header.imsi, names), ll_pdu)
                }
                Err(_) => return Seen::signalling(None),
            },
            Some(PduType::UlUnitdata) => match UlUnitdata::parse(pdu) {
                Ok((header, ll_pdu)) => (self.of_names(None, [Some(header.tlli), None]), ll_pdu),
                Err(_) => return Seen::signalling(None),
            },
            Some(_) => return Seen::signalling(self.of_elements(pdu)),
            None => return Seen::signalling(None),
        };
        let at = UNITDATA_HEADER_LEN + ll_pdu.start;
        let frame = pdu.get(ll_pdu.clone()).unwrap_or_default();
        let is_user = frame.first().is_some_and(|address| USER_SAPIS.contains(&(address & 0xf)));
        let whose = match whose {
            // Signalling of nobody who is known is recorded; user data is somebody's in any case.
            Some(Whose::Unnamed(_)) if !is_user => None,
            other => other,
        };
        let seen = match is_user {
            true => Seen::user(whose, self.headers(frame, headers).saturating_add(at)),
            false => Seen::signalling(whose),
        };
        Seen { ll_pdu: Some(at..at + frame.len()), ..seen }
    }

    /// Learns the names of who is named, or finds him by the first.
    fn of_names(&mut self, imsi: Option<Imsi>, names: [Option<Tlli>; 2]) -> Option<Whose> {
        match imsi.map(|imsi| Whose::Subscriber(NonZeroU64::from(imsi))) {
            Some(whose) => {
                names.into_iter().flatten().for_each(|tlli| self.learn(key_of(tlli), Some(whose)));
                Some(whose)
            }
            None => names.into_iter().flatten().next().map(|tlli| self.by_key(key_of(tlli))),
        }
    }

    /// Of signalling about a mobile: by its IMSI, or by its TLLI.
    fn of_elements(&self, pdu: &[u8]) -> Option<Whose> {
        let elements = Elements::new(pdu, 1);
        if let Some(imsi) = elements.optional(iei::IMSI).and_then(ImsiValue::read) {
            return Some(Whose::Subscriber(imsi.into()));
        }
        let tlli = Tlli(u32::from_be_bytes(elements.optional_array(iei::TLLI, 0)?));
        self.known(key_of(tlli))
    }
}

/// Local and foreign TLLIs of one P-TMSI (04.08 clause 4.7.1.4) are one name.
fn key_of(Tlli(tlli): Tlli) -> u64 {
    let name = if tlli >> 31 == 1 { tlli & 0x3fff_ffff } else { tlli };
    mix(3 << 32 | u64::from(name))
}

/// Octets of an LL-PDU with user data up to the end of the headers that can be read: of what is ciphered, compressed or a later
/// segment those of LLC and SNDCP.
fn headers(frame: &[u8]) -> usize {
    let [_, control, third, ..] = frame else { return frame.len() };
    let (llc_len, is_ciphered) = match control >> 5 {
        // UI (04.64 clause 6.3.3): the second bit of the second octet is E.
        0b110 => (3, third & 0b10 != 0),
        // I (clause 6.3.1): with SACK there is a bitmap, whose length its first octet says.
        0b000..=0b011 => match frame.get(3).map(|octet| octet & 0b11) {
            Some(0b11) => (6 + usize::from(frame.get(4).map_or(0, |octet| octet & 0x1f)), false),
            _ => (4, false),
        },
        // S and U frames are short.
        _ => return frame.len(),
    };
    let pdu = frame.get(llc_len..).unwrap_or_default();
    let Some((header, sndcp_len)) = sndcp::Header::parse(pdu).ok().filter(|_| !is_ciphered) else {
        return (llc_len + sndcp::UNITDATA_FIRST_LEN).min(frame.len());
    };
    let is_plain = |compression: sndcp::Compression| compression == sndcp::Compression::default();
    let is_readable = match header.pdu {
        sndcp::Pdu::Data { first } => first.is_some_and(|(compression, _)| is_plain(compression)),
        sndcp::Pdu::Unitdata { first, .. } => first.is_some_and(is_plain),
    };
    let n_pdu = pdu.get(sndcp_len..).filter(|_| is_readable).unwrap_or_default();
    // What only looks like an N-PDU has headers of some length or other.
    let inner =
        if matches!(n_pdu.first().map(|first| first >> 4), Some(4 | 6)) { ip::headers(n_pdu) } else { 0 };
    (llc_len + sndcp_len + inner).min(frame.len())
}

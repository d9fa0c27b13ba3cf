//! Gn: GTP of both versions.

use super::{Eyes, Seen, Whose, ip, key_of_address, mix};
use core::net::IpAddr;
use core::num::NonZeroU64;
use gannet_wire::gtp::header::message_type::{ERROR_INDICATION, G_PDU};
use gannet_wire::gtp::ie::{self, Elements};
use gannet_wire::gtp::{EndUserAddress, Header, v0};
use gannet_wire::id::{Imsi, Teid};

impl Eyes {
    pub(super) fn gn(&mut self, to: IpAddr, is_downlink: bool, datagram: &[u8]) -> Seen {
        let Ok(header) = Header::parse(datagram) else { return self.version_0(datagram) };
        if header.message == G_PDU {
            let t_pdu = header.payload(datagram);
            let whose = self.knows_users.then(|| {
                let by_teid = self.known(key_of(to, header.teid));
                by_teid.or_else(|| self.of_address(is_downlink, t_pdu))
            });
            let headers = self.headers(t_pdu, ip::headers).saturating_add(header.payload_range().start);
            return Seen::user(whose.flatten(), headers);
        }
        let by_teid = self.known(key_of(to, header.teid));
        let Ok(elements) = Elements::parse(header.payload(datagram)) else {
            return Seen::signalling(by_teid);
        };
        let address = |nth| elements.optional::<IpAddr>(ie::GSN_ADDRESS, nth);
        let data = elements.optional::<Teid>(ie::TEID_DATA_I, 0);
        if header.message == ERROR_INDICATION {
            let named = address(0).zip(data).map(|(address, teid)| key_of(address, teid));
            return Seen::signalling(named.and_then(|key| self.known(key)));
        }
        let imsi = elements.optional::<Imsi>(ie::IMSI, 0);
        let whose = imsi.map_or(by_teid, |imsi| Some(Whose::Subscriber(NonZeroU64::from(imsi))));
        let control = elements.optional::<Teid>(ie::TEID_CONTROL, 0);
        for (address, teid) in [(address(0), control), (address(1), data)] {
            if let (Some(address), Some(teid)) = (address, teid) {
                self.learn(key_of(address, teid), whose);
            }
        }
        let (v4, v6) = match elements.optional::<EndUserAddress>(ie::END_USER_ADDRESS, 0) {
            Some(EndUserAddress::Ipv4(v4)) => (v4, None),
            Some(EndUserAddress::Ipv6(v6)) => (None, v6),
            Some(EndUserAddress::Ipv4v6(v4, v6)) => (v4, v6),
            Some(EndUserAddress::Ppp | EndUserAddress::Other { .. }) | None => (None, None),
        };
        for address in v4.map(IpAddr::V4).into_iter().chain(v6.map(IpAddr::V6)) {
            if !address.is_unspecified() {
                self.learn(key_of_address(address), whose);
            }
        }
        Seen::signalling(whose)
    }

    /// Version 0 has the IMSI in each header, within the TID (09.60 clause 6).
    fn version_0(&mut self, datagram: &[u8]) -> Seen {
        let Ok((header, payload)) = v0::Header::parse(datagram) else { return Seen::signalling(None) };
        let whose = header.tid().map(|tid| Whose::Subscriber(NonZeroU64::from(tid.imsi)));
        let payload_at = payload.start;
        let payload = datagram.get(payload).unwrap_or_default();
        if header.message == G_PDU {
            return Seen::user(whose, self.headers(payload, ip::headers).saturating_add(payload_at));
        }
        let elements = Elements::parse_by(v0::ie::TABLE, payload).ok();
        if let Some(EndUserAddress::Ipv4(Some(address))) =
            elements.and_then(|elements| elements.optional(v0::ie::END_USER_ADDRESS, 0))
        {
            self.learn(key_of_address(address.into()), whose);
        }
        Seen::signalling(whose)
    }
}

/// An endpoint is a TEID at an address (29.060 clause 3.1).
fn key_of(address: IpAddr, Teid(teid): Teid) -> u64 {
    let address = match address.to_canonical() {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    };
    #[expect(clippy::cast_possible_truncation, reason = "both halves of the address")]
    let (low, high) = (address as u64, (address >> 64) as u64);
    mix(mix(low) ^ high.rotate_left(7) ^ u64::from(teid) << 8 ^ 4)
}

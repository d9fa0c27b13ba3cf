//! The prefix of a context with IPv6 (23.060 clause 9.2.1.1): of the address that the network gives only the interface
//! identifier counts; the mobile asks for routers with a link-local address made of that, and has its prefix from the
//! advertisement that answers (RFC 4862 clause 5.5).

use super::{Ms, MsEvent};
use core::net::Ipv6Addr;
use gannet_proto::drops::Drop;
use gannet_proto::machine::Context;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::PdpAddress;
use gannet_wire::ndp::{ALL_ROUTERS, RouterAdvertisement, RouterSolicitation};

const LINK_LOCAL: u64 = 0xfe80 << 48;

const fn ipv6(address: PdpAddress) -> Option<Ipv6Addr> {
    match address {
        PdpAddress::Ipv6(own) | PdpAddress::Ipv4v6(_, own) => Some(own),
        PdpAddress::Ipv4(_)
        | PdpAddress::Ipv4Dynamic
        | PdpAddress::Ipv6Dynamic
        | PdpAddress::Ipv4v6Dynamic
        | PdpAddress::Ppp
        | PdpAddress::Empty
        | PdpAddress::Other { .. } => None,
    }
}

/// The same interface behind another prefix.
fn behind(prefix: u64, own: Ipv6Addr) -> Ipv6Addr {
    Ipv6Addr::from_bits(u128::from(prefix) << 64 | own.to_bits() & u128::from(u64::MAX))
}

fn prefix_of(address: Ipv6Addr) -> u64 {
    u64::try_from(address.to_bits() >> 64).unwrap_or(0)
}

fn with_prefix(address: PdpAddress, prefix: u64) -> PdpAddress {
    match address {
        PdpAddress::Ipv6(own) => PdpAddress::Ipv6(behind(prefix, own)),
        PdpAddress::Ipv4v6(v4, own) => PdpAddress::Ipv4v6(v4, behind(prefix, own)),
        PdpAddress::Ipv4(_)
        | PdpAddress::Ipv4Dynamic
        | PdpAddress::Ipv6Dynamic
        | PdpAddress::Ipv4v6Dynamic
        | PdpAddress::Ppp
        | PdpAddress::Empty
        | PdpAddress::Other { .. } => address,
    }
}

/// The address that session management knows, behind the prefix that was advertised meanwhile.
pub(super) fn kept(had: PdpAddress, told: PdpAddress) -> PdpAddress {
    ipv6(had).map_or(told, |had| with_prefix(told, prefix_of(had)))
}

impl Ms {
    /// A context is active: with IPv6 its router is asked for.
    pub(super) fn solicit(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, address: PdpAddress) {
        let Some(own) = ipv6(address) else { return };
        let asks = RouterSolicitation { source: behind(LINK_LOCAL, own), destination: ALL_ROUTERS };
        match cx.frames.copy_of(&asks.to_vec()) {
            Some(frame) => self.n_pdu(cx, index, Some(nsapi), frame),
            None => cx.drop(Drop::NoFrame, self.imsi_of(index)),
        }
    }

    /// A router advertises: the first prefix of which addresses may be made is that of the context.
    pub(super) fn take_prefix(&mut self, index: u32, nsapi: Nsapi, packet: &[u8]) {
        let Ok(advertised) = RouterAdvertisement::parse(packet) else { return };
        let mut prefixes = advertised.prefixes.iter();
        let ours = prefixes.find(|prefix| prefix.autonomous && prefix.length == 64 && prefix.valid_s > 0);
        let bearer = self.mobiles.get_mut(index as usize).and_then(|mobile| mobile.bearer_mut(nsapi));
        let (Some(ours), Some(bearer)) = (ours, bearer) else { return };
        let address = with_prefix(bearer.address, prefix_of(ours.prefix));
        if address != bearer.address {
            bearer.address = address;
            self.tell(MsEvent::Readdressed { mobile: index, nsapi, address });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_identifier_stays() {
        let v6 = |text: &str| text.parse::<Ipv6Addr>().unwrap();
        let told = PdpAddress::Ipv6(v6("fe80::2"));
        let advertised = with_prefix(told, prefix_of(v6("2001:db8:0:12::")));
        assert_eq!(advertised, PdpAddress::Ipv6(v6("2001:db8:0:12::2")));
        assert_eq!(kept(advertised, told), advertised);
        assert_eq!(behind(LINK_LOCAL, v6("2001:db8::7")), v6("fe80::7"));
        let v4 = PdpAddress::Ipv4([192, 0, 2, 1].into());
        assert_eq!((with_prefix(v4, 1), kept(told, v4)), (v4, v4));
    }
}

//! The prefix of a context with IPv6 (23.060 clause 9.2.1.1): of the address that the network gives only the interface
//! identifier counts; the mobile asks for routers with a link-local address made of that, and has its prefix from the
//! advertisement that answers (RFC 4862 clause 5.5). It asks again where none comes (RFC 4861 clause 6.3.7).

use super::{Ms, MsEvent, Owner};
use core::net::Ipv6Addr;
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerName as _;
use gannet_proto::about::About as _;
use gannet_wire::id::Nsapi;
use gannet_wire::l3::ie::PdpAddress;
use gannet_wire::ndp::{ALL_ROUTERS, PrefixInformation, RouterAdvertisement, RouterSolicitation};
use std::collections::{BTreeMap, VecDeque};

const LINK_LOCAL: u64 = 0xfe80 << 48;
/// `MAX_RTR_SOLICITATIONS` (RFC 4861 clause 10).
const SOLICITATIONS: u8 = 3;
/// `RTR_SOLICITATION_INTERVAL`.
const SOLICITATION_INTERVAL: Duration = Duration::from_secs(4);

/// The contexts for which no router has advertised itself yet.
#[derive(Debug, Default)]
pub(super) struct Soliciting {
    /// By mobile and NSAPI: when it is asked for again, or given up, and how often it was asked for.
    asking: BTreeMap<(u32, u8), (Instant, u8)>,
    /// In the order of time. What does not stand in `asking` with the same time is not meant any more.
    queue: VecDeque<(Instant, (u32, u8))>,
    /// A wake-up is on its way; nothing in the queue is earlier.
    armed: bool,
}

impl Soliciting {
    fn asked(&mut self, cx: &mut Context<'_>, whose: (u32, u8), times: u8) {
        let again = cx.now + SOLICITATION_INTERVAL;
        self.asking.insert(whose, (again, times));
        self.queue.push_back((again, whose));
        self.arm(cx);
    }

    fn arm(&mut self, cx: &mut Context<'_>) {
        if let Some((next, _)) = self.queue.front().filter(|_| !self.armed) {
            cx.timers.wake(Owner::Routers.key(0, 0), *next);
            self.armed = true;
        }
    }

    /// A router is there, or the context is not any more.
    pub(super) fn end(&mut self, index: u32, nsapi: Nsapi) {
        self.asking.remove(&(index, nsapi.0));
    }

    /// The next one that is due, and how often it was asked for.
    fn pop_due(&mut self, now: Instant) -> Option<((u32, u8), u8)> {
        while let Some((at, whose)) = self.queue.front().copied().filter(|(at, _)| *at <= now) {
            self.queue.pop_front();
            let meant = self.asking.get(&whose).filter(|(again, _)| *again == at);
            if let Some((_, times)) = meant.copied() {
                self.asking.remove(&whose);
                return Some((whose, times));
            }
        }
        None
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
    match address.addresses() {
        (Some(v4), Some(own)) => PdpAddress::Ipv4v6(v4, behind(prefix, own)),
        (None, Some(own)) => PdpAddress::Ipv6(behind(prefix, own)),
        (_, None) => address,
    }
}

/// The address that session management knows, behind the prefix that was advertised meanwhile.
pub(super) fn kept(had: PdpAddress, told: PdpAddress) -> PdpAddress {
    let (_, had) = had.addresses();
    had.map_or(told, |had| with_prefix(told, prefix_of(had)))
}

/// Whether an address may be made of it (RFC 4862 clause 5.5.3).
fn makes_addresses(prefix: &PrefixInformation) -> bool {
    prefix.autonomous
        && prefix.length == 64
        && !prefix.prefix.is_unicast_link_local()
        && prefix.valid_s > 0
        && prefix.preferred_s <= prefix.valid_s
}

impl Ms {
    /// A context is active: with IPv6 its router is asked for.
    pub(super) fn solicit(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, address: PdpAddress) {
        self.ask_for_routers(cx, index, nsapi, address, 1);
    }

    fn ask_for_routers(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        nsapi: Nsapi,
        address: PdpAddress,
        times: u8,
    ) {
        let (_, Some(own)) = address.addresses() else { return };
        self.soliciting.asked(cx, (index, nsapi.0), times);
        let asks = RouterSolicitation { source: behind(LINK_LOCAL, own), destination: ALL_ROUTERS };
        match cx.frames.copy_of(&asks.to_vec()) {
            Some(frame) => self.n_pdu(cx, index, Some(nsapi), frame),
            None => cx.drop_of(Drop::NoFrame, self.imsi_of(index)),
        }
    }

    /// Where no router has answered in its time it is asked for again.
    pub(super) fn wake_soliciting(&mut self, cx: &mut Context<'_>) {
        self.soliciting.armed = false;
        while let Some(((index, nsapi), times)) = self.soliciting.pop_due(cx.now) {
            let nsapi = Nsapi(nsapi);
            let mobile = self.mobiles.get(index as usize);
            let address = mobile.and_then(|mobile| mobile.bearer(nsapi)).map(|bearer| bearer.address);
            if let Some(address) = address.filter(|_| times < SOLICITATIONS) {
                self.ask_for_routers(cx, index, nsapi, address, times + 1);
            }
        }
        self.soliciting.arm(cx);
    }

    /// A router advertises: the first prefix of which addresses may be made is that of the context.
    pub(super) fn take_prefix(&mut self, index: u32, nsapi: Nsapi, packet: &[u8]) {
        let Ok(advertised) = RouterAdvertisement::parse(packet) else { return };
        if advertised.lifetime_s > 0 {
            self.soliciting.end(index, nsapi);
        }
        let mut prefixes = advertised.prefixes.iter();
        let ours = prefixes.find(|prefix| makes_addresses(prefix));
        let bearer = self.mobiles.get_mut(index as usize).and_then(|mobile| mobile.bearer_mut(nsapi));
        let (Some(ours), Some(bearer)) = (ours, bearer) else { return };
        let address = with_prefix(bearer.address, prefix_of(ours.prefix));
        let device = bearer.device;
        if address == bearer.address {
            return;
        }
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        for bearer in mobile.bearers.iter_mut().flatten().filter(|bearer| bearer.device == device) {
            bearer.address = address;
        }
        self.tell(MsEvent::Readdressed { mobile: index, nsapi: device, address });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_of_no_use_are_passed_over() {
        let prefix = "2001:db8:0:12::".parse().unwrap();
        let (length, on_link, autonomous) = (64, false, true);
        let good =
            PrefixInformation { prefix, length, on_link, autonomous, valid_s: 7200, preferred_s: 7200 };
        assert!(makes_addresses(&good));
        for bad in [
            PrefixInformation { prefix: "fe80::".parse().unwrap(), ..good },
            PrefixInformation { length: 63, ..good },
            PrefixInformation { autonomous: false, ..good },
            PrefixInformation { valid_s: 0, preferred_s: 0, ..good },
            PrefixInformation { preferred_s: 7201, ..good },
        ] {
            assert!(!makes_addresses(&bad), "{bad:?}");
        }
    }

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

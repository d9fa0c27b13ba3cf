//! Router advertisements (23.060 clause 9.2.1.1, 29.061 clause 11.2.1.3, RFC 4861 clause 6.2): a mobile with IPv6 makes a
//! link-local address of what it was told, and has its prefix of 64 bits from these, of which it may use every address. They also
//! tell it the MTU of its link and the name servers (RFC 8106).
//!
//! They are the answer to a solicitation, come soon after the context, and then as rarely as 29.061 has it, since each of them may
//! page a mobile.

use super::Ggsn;
use crate::slots::Slot;
use core::net::Ipv6Addr;
use gannet_machine::Context;
use gannet_machine::time::{Duration, Instant};
use gannet_wire::ndp::{ALL_NODES, FOREVER_S, NameServers, PrefixInformation, RouterAdvertisement};

/// From the context to the first one: by then the SGSN has told the mobile, or sends both in this order. At most
/// `MAX_INITIAL_RTR_ADVERT_INTERVAL`, 16 s (RFC 4861 clause 10).
const FIRST_AFTER: Duration = Duration::from_millis(500);
/// `MaxRtrAdvInterval` (29.061 clause 11.2.1.3.4).
const INTERVAL: Duration = Duration::from_secs(21_600);
/// `AdvDefaultLifetime`: three of these. Name servers are good for as long.
const LIFETIME_S: u16 = 64_800;
/// The hop limit that mobiles begin with.
const CUR_HOP_LIMIT: u8 = 64;
/// A link with IPv6 has at least this MTU (RFC 8200 clause 5); a smaller one is not told.
const IPV6_MTU_MIN: u16 = 1280;

impl Ggsn {
    /// A context with IPv6 is there: its mobile is told soon.
    pub(super) fn advertise_soon(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.advertise_at(cx, slot, cx.now + FIRST_AFTER);
    }

    pub(super) fn advertise_at(&mut self, cx: &mut Context<'_>, slot: Slot, at: Instant) {
        let Some(context) = self.contexts.get_mut(slot).filter(|context| context.address.v6.is_some()) else {
            return;
        };
        let former = context.advertise_at.replace(at);
        self.advertising.set(cx, slot, at, former);
    }

    /// Somebody is to be told.
    pub(super) fn wake_advertising(&mut self, cx: &mut Context<'_>) {
        self.advertising.woken(cx.now);
        while let Some(index) = self.advertising.next_due(cx) {
            if let Some(slot) = self.contexts.by_index(index) {
                self.advertise(cx, slot, ALL_NODES);
                self.advertise_at(cx, slot, cx.now + INTERVAL);
            }
        }
    }

    pub(super) fn advertise(&mut self, cx: &mut Context<'_>, slot: Slot, destination: Ipv6Addr) {
        let Some(context) = self.contexts.get(slot) else { return };
        let Some(own) = context.address.v6 else { return };
        let Some(point) = self.access_points.get(usize::from(context.apn)) else { return };
        let config = &point.config;
        let prefix = PrefixInformation {
            prefix: Ipv6Addr::from_bits(own.to_bits() & !u128::from(u64::MAX)),
            length: 64,
            // Nobody else is on the mobile's link.
            on_link: false,
            autonomous: true,
            valid_s: FOREVER_S,
            preferred_s: FOREVER_S,
        };
        let addresses: Vec<Ipv6Addr> = config.dns_v6.iter().flatten().copied().collect();
        let dns = (!addresses.is_empty()).then_some(NameServers { lifetime_s: LIFETIME_S.into(), addresses });
        let told = RouterAdvertisement {
            source: config.link_local,
            destination,
            hop_limit: CUR_HOP_LIMIT,
            lifetime_s: LIFETIME_S,
            mtu: Some(config.mtu).filter(|mtu| *mtu >= IPV6_MTU_MIN).map(u32::from),
            prefixes: vec![prefix],
            dns,
        };
        self.say_on_link(cx, slot, &told.to_vec());
    }
}

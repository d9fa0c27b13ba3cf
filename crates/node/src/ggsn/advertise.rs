//! Router advertisements (23.060 clause 9.2.1.1, 29.061 clause 11.2.1.3, RFC 4861 clause 6.2): a mobile with IPv6 makes a
//! link-local address of what it was told, and has its prefix of 64 bits from these, of which it may use every address.
//!
//! They are the answer to a solicitation, come soon after the context, and then as rarely as 29.061 has it, since each of them may
//! page a mobile. What else stays on the link ends here: nothing of it is for the network.

use super::{Ggsn, Owner};
use crate::slots::Slot;
use core::net::{IpAddr, Ipv6Addr};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerName as _;
use gannet_proto::about::About as _;
use gannet_wire::ndp::{ALL_NODES, FOREVER_S, PrefixInformation, RouterAdvertisement, RouterSolicitation};
use std::collections::BTreeSet;

/// Our own address on every mobile's link: interface identifier 1, which no mobile is told.
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// From the context to the first one: by then the SGSN has told the mobile. At most
/// `MAX_INITIAL_RTR_ADVERT_INTERVAL`, 16 s (RFC 4861 clause 10).
const FIRST_AFTER: Duration = Duration::from_secs(1);
/// `MaxRtrAdvInterval` (29.061 clause 11.2.1.3.4).
const INTERVAL: Duration = Duration::from_secs(21_600);
/// `AdvDefaultLifetime`: three of these.
const LIFETIME_S: u16 = 64_800;
/// `MIN_DELAY_BETWEEN_RAS`, from one answer to the next (RFC 4861 clauses 6.2.6 and 10).
const ANSWER_INTERVAL: Duration = Duration::from_secs(3);
/// The hop limit that mobiles begin with.
const CUR_HOP_LIMIT: u8 = 64;
/// The scope of a link in a multicast address.
const SCOPE_LINK: u8 = 2;

/// When which context is told next, by its place.
#[derive(Debug, Default)]
pub(super) struct Advertising {
    due: BTreeSet<(Instant, u32)>,
    /// The wake-ups that are on their way. Each of them is earlier than all before it, so that there are few.
    asked: BTreeSet<Instant>,
}

impl Advertising {
    fn arm(&mut self, cx: &mut Context<'_>) {
        let Some((next, _)) = self.due.first().copied() else { return };
        if self.asked.first().is_none_or(|asked| next < *asked) {
            cx.timers.wake(Owner::Advertise.key(0, 0), next);
            self.asked.insert(next);
        }
    }

    fn woken(&mut self, now: Instant) {
        self.asked.retain(|asked| *asked > now);
    }

    /// A context goes that was to be told at this time.
    pub(super) fn forget(&mut self, at: Option<Instant>, slot: Slot) {
        if let Some(at) = at {
            self.due.remove(&(at, slot.index));
        }
    }
}

/// Whether a packet stays on the mobile's link (RFC 4291 clauses 2.5.2, 2.5.6 and 2.7).
pub(super) fn stays_on_link(source: IpAddr, destination: IpAddr) -> bool {
    match (source, destination) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            source.is_unicast_link_local()
                || source.is_unspecified()
                || destination.is_unicast_link_local()
                || stays_multicast(destination)
        }
        (IpAddr::V4(_) | IpAddr::V6(_), IpAddr::V4(_) | IpAddr::V6(_)) => false,
    }
}

/// Whether a multicast address reaches no farther than the link: its scope is that of the link or less (RFC 4291 clause 2.7).
fn stays_multicast(destination: Ipv6Addr) -> bool {
    let [_, flags_and_scope, ..] = destination.octets();
    destination.is_multicast() && flags_and_scope & 0x0f <= SCOPE_LINK
}

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
        self.advertising.forget(former, slot);
        self.advertising.due.insert((at, slot.index));
        self.advertising.arm(cx);
    }

    /// Somebody is to be told.
    pub(super) fn wake_advertising(&mut self, cx: &mut Context<'_>) {
        self.advertising.woken(cx.now);
        while let Some((at, index)) = self.advertising.due.first().copied().filter(|(at, _)| *at <= cx.now) {
            self.advertising.due.remove(&(at, index));
            if let Some(slot) = self.contexts.by_index(index) {
                self.advertise(cx, slot, ALL_NODES);
                self.advertise_at(cx, slot, cx.now + INTERVAL);
            }
        }
        self.advertising.arm(cx);
    }

    /// What a mobile says on its link: a solicitation is answered, at most one in [`ANSWER_INTERVAL`] (RFC 4861 clause 6.2.6).
    pub(super) fn on_link(&mut self, cx: &mut Context<'_>, slot: Slot, packet: &[u8]) {
        let asks = RouterSolicitation::parse(packet).ok();
        let Some(asks) =
            asks.filter(|asks| asks.source.is_unspecified() || asks.source.is_unicast_link_local())
        else {
            cx.drop_of(Drop::GgsnLinkLocal, self.contexts.get(slot).map(|context| context.imsi));
            return;
        };
        let Some(context) = self.contexts.get_mut(slot) else { return };
        if context.next_answer.is_some_and(|next| cx.now < next) {
            cx.drop_of(Drop::GgsnSolicitationLimited, Some(context.imsi));
            return;
        }
        context.next_answer = Some(cx.now + ANSWER_INTERVAL);
        let to = if asks.source.is_unspecified() { ALL_NODES } else { asks.source };
        self.advertise(cx, slot, to);
    }

    fn advertise(&mut self, cx: &mut Context<'_>, slot: Slot, destination: Ipv6Addr) {
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let Some(own) = context.address.v6 else { return };
        let prefix = PrefixInformation {
            prefix: Ipv6Addr::from_bits(own.to_bits() & !u128::from(u64::MAX)),
            length: 64,
            // Nobody else is on the mobile's link.
            on_link: false,
            autonomous: true,
            valid_s: FOREVER_S,
            preferred_s: FOREVER_S,
        };
        let (hop_limit, lifetime_s, prefixes) = (CUR_HOP_LIMIT, LIFETIME_S, vec![prefix]);
        let octets =
            RouterAdvertisement { source: ROUTER, destination, hop_limit, lifetime_s, prefixes }.to_vec();
        let Some(frame) = cx.frames.copy_of(&octets) else {
            cx.drop_of(Drop::NoFrame, Some(context.imsi));
            return;
        };
        self.gtp.send_user(cx, context.tid(), &mut context.tunnel, frame, &mut self.gtp_outputs);
    }
}

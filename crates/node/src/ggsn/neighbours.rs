//! What a mobile says on its link: it asks for routers, or makes sure that its router is still there (RFC 4861 clauses 6.2.6 and 7.3,
//! 29.061 clause 11.2.1.3). All else ends here: nothing of it is for the network.

use super::Ggsn;
use super::context::PdpContext;
use crate::slots::Slot;
use core::net::{IpAddr, Ipv6Addr};
use gannet_machine::Context;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_proto::about::About as _;
use gannet_wire::ndp::{ALL_NODES, NeighbourAdvertisement, NeighbourSolicitation, RouterSolicitation};

/// `MIN_DELAY_BETWEEN_RAS`, from one answer to the next (RFC 4861 clauses 6.2.6 and 10).
const ANSWER_INTERVAL: Duration = Duration::from_secs(3);
/// The scope of a link in a multicast address.
const SCOPE_LINK: u8 = 2;

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

/// Whether an address is one that the mobile of a context may have on its link.
fn is_of_mobile(context: &PdpContext, address: Ipv6Addr) -> bool {
    address.is_unicast_link_local() || context.address.contains(address.into())
}

impl Ggsn {
    /// A packet that stays on the link of a mobile with IPv6.
    pub(super) fn on_link(&mut self, cx: &mut Context<'_>, slot: Slot, packet: &[u8]) {
        if let Ok(asks) = RouterSolicitation::parse(packet)
            && (asks.source.is_unspecified() || asks.source.is_unicast_link_local())
        {
            return self.router_solicited(cx, slot, asks);
        }
        if let Ok(asks) = NeighbourSolicitation::parse(packet)
            && self.neighbour_solicited(cx, slot, asks)
        {
            return;
        }
        cx.drop_of(Drop::GgsnLinkLocal, self.contexts.get(slot).map(|context| context.imsi));
    }

    /// A solicitation is answered, at most one in [`ANSWER_INTERVAL`] (RFC 4861 clause 6.2.6).
    fn router_solicited(&mut self, cx: &mut Context<'_>, slot: Slot, asks: RouterSolicitation) {
        let Some(context) = self.contexts.get_mut(slot) else { return };
        if context.next_answer.is_some_and(|next| cx.now < next) {
            cx.drop_of(Drop::GgsnSolicitationLimited, Some(context.imsi));
            return;
        }
        context.next_answer = Some(cx.now + ANSWER_INTERVAL);
        let to = if asks.source.is_unspecified() { ALL_NODES } else { asks.source };
        self.advertise(cx, slot, to);
    }

    /// Whoever asks for our own address on its link has it (RFC 4861 clause 7.2.4). Nobody else is there, so that all other addresses
    /// are free: a mobile that makes sure of that hears nothing (RFC 4862 clause 5.4). False where nothing was answered.
    fn neighbour_solicited(&mut self, cx: &mut Context<'_>, slot: Slot, asks: NeighbourSolicitation) -> bool {
        let Some(context) = self.contexts.get(slot) else { return false };
        let point = self.access_points.get(usize::from(context.apn));
        let ours = point.map(|point| point.config.link_local);
        let is_for_us = ours == Some(asks.target) && asks.target != asks.source;
        if !is_for_us || !is_of_mobile(context, asks.source) {
            return false;
        }
        let answer = NeighbourAdvertisement {
            source: asks.target,
            destination: asks.source,
            target: asks.target,
            router: true,
            solicited: true,
            overrides: true,
        };
        self.say_on_link(cx, slot, &answer.to_vec());
        true
    }

    /// Sends a packet of our own to a mobile.
    pub(super) fn say_on_link(&mut self, cx: &mut Context<'_>, slot: Slot, packet: &[u8]) {
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let Some(mut frame) = cx.frames.copy_of(packet) else {
            cx.drop_of(Drop::NoFrame, Some(context.imsi));
            return;
        };
        frame.set_dscp(self.config.code_points.of(&context.qos));
        self.gtp.send_user(cx, context.tid(), &mut context.tunnel, frame, &mut self.gtp_outputs);
    }
}

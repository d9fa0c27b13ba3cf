//! Rules for a driver that forwards the packets of contexts by itself, and what it says it has forwarded.
//!
//! Whatever changes a context notes it in [`Cues`](super::cues::Cues). Behind each input the node looks at those contexts and says their rules. A
//! context has a rule where the driver can do for its packets all that the node would do.

use super::Ggsn;
use super::context::PdpContext;
use super::cues::{AtDriver, Cue, name_of};
use super::police::policers;
use crate::slots::Slot;
use core::net::IpAddr;
use gannet_machine::Output;
use gannet_machine::time::Instant;
use gannet_proto::forwarding::{ForwardChange, ForwardRule, Forwarded};
use gannet_proto::gtp::{ContextName, SourceCheck, Version};

/// What the node knows of its driver.
#[derive(Debug, Default)]
pub(super) struct Rules {
    /// For each access point, whether the driver forwards its packets.
    networks: Vec<bool>,
    /// Contexts that are gone and whose last packets have not been counted here.
    departed: Vec<(ContextName, Forwarded)>,
}

impl Ggsn {
    /// From now on the driver forwards what it has a rule for: packets of contexts of these access points, by their index.
    pub fn forward_at_driver(&mut self, networks: Vec<bool>) {
        self.rules.networks = networks;
        self.contexts.cues.begin();
        self.touch_all_rules();
        self.follow_rules();
    }

    /// Something that concerns all contexts has changed.
    pub(super) fn touch_all_rules(&mut self) {
        let slots: Vec<Slot> = self.contexts.iter().map(|(slot, _)| slot).collect();
        slots.into_iter().for_each(|slot| self.contexts.cues.changed(slot));
    }

    /// Says the rules of all contexts that have changed.
    pub(super) fn follow_rules(&mut self) {
        while let Some(cue) = self.contexts.cues.next() {
            match cue {
                Cue::Changed(slot) => self.say_rule(slot),
                Cue::Gone(name, seen) => {
                    self.rules.departed.push((name, seen));
                    self.outputs.push(Output::Classify(ForwardChange::Remove(name)));
                }
            }
        }
    }

    fn say_rule(&mut self, slot: Slot) {
        let rule = self.contexts.get(slot).and_then(|context| self.rule_of(slot, context));
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let change = match rule {
            Some(rule) => {
                context.at_driver.get_or_insert_default();
                ForwardChange::Install(rule)
            }
            None if context.at_driver.is_some() => ForwardChange::Remove(name_of(slot)),
            None => return,
        };
        self.outputs.push(Output::Classify(change));
    }

    /// How the driver forwards a context's packets; `None` where the node does.
    fn rule_of(&self, slot: Slot, context: &PdpContext) -> Option<ForwardRule> {
        let is_forwarded = self.rules.networks.get(usize::from(context.apn)).copied().unwrap_or(false);
        let tunnel = &context.tunnel;
        if !is_forwarded || tunnel.version != Version::V1 {
            return None;
        }
        let Some(IpAddr::V4(peer)) = self.address_of(tunnel.user_path) else { return None };
        let point = self.access_points.get(usize::from(context.apn))?;
        let [uplink, downlink] = if point.config.police { policers(&context.qos) } else { [None; 2] };
        // The node drops all of it.
        if [uplink, downlink].iter().flatten().any(|policer| policer.rate_octets_per_s == 0) {
            return None;
        }
        let is_strict = self.config.source_check == SourceCheck::Strict;
        Some(ForwardRule {
            name: name_of(slot),
            v4: context.address.v4,
            v6: context.address.v6,
            network: context.apn,
            source: is_strict.then_some(peer),
            peer,
            peer_teid: tunnel.peer_user,
            takes_downlink: context.tft.is_none() && self.sharers(slot).len() == 1,
            sequenced: point.config.sequence_numbers,
            dscp: self.config.code_points.of(&context.qos),
            uplink,
            downlink,
            syn_to_node: point.config.mss.is_some(),
            to_ring: false,
        })
    }

    /// Takes over what the driver has counted, for at most `most` places of the table from `from` on; `counted` says it for
    /// each context. Returns where to go on, 0 where all places have been looked at.
    pub fn take_forwarded(
        &mut self,
        now: Instant,
        (from, most): (u32, u32),
        counted: impl Fn(ContextName) -> Option<Forwarded>,
    ) -> u32 {
        for (name, seen) in core::mem::take(&mut self.rules.departed) {
            if let Some(news) = counted(name).map(|counted| counted.since(seen)) {
                self.counters.uplink.add_carried(news.uplink);
                self.counters.downlink.add_carried(news.downlink);
            }
        }
        let end = self.contexts.places();
        let until = from.saturating_add(most).min(end);
        for index in from..until {
            let Some(slot) = self.contexts.by_index(index) else { continue };
            let Some(AtDriver { seen, .. }) = self.contexts.get(slot).and_then(|it| it.at_driver) else {
                continue;
            };
            if let Some(counted) = counted(name_of(slot)).filter(|counted| *counted != seen) {
                self.take_news(now, slot, counted, counted.since(seen));
            }
        }
        if until < end { until } else { 0 }
    }

    /// What the driver has forwarded counts as if the node had done it.
    fn take_news(&mut self, now: Instant, slot: Slot, seen: Forwarded, news: Forwarded) {
        let Some(context) = self.contexts.get_mut(slot) else { return };
        let former = context.at_driver.and_then(|at_driver| at_driver.active_at);
        let active_at = if news.is_active() { Some(now) } else { former };
        context.at_driver = Some(AtDriver { seen, active_at });
        if news.is_active() {
            context.last_active = now;
        }
        context.uplink.add_carried(news.uplink);
        context.downlink.add_carried(news.downlink);
        if let Some(point) = self.access_points.get_mut(usize::from(context.apn)) {
            point.counters.uplink.add_carried(news.uplink);
            point.counters.downlink.add_carried(news.downlink);
            point.counters.uplink_dropped += u64::from(news.foreign);
            let over_rate = [news.uplink.over_rate, news.downlink.over_rate].map(u64::from);
            point.counters.over_rate += over_rate.iter().sum::<u64>();
        }
        self.counters.uplink.add_carried(news.uplink);
        self.counters.downlink.add_carried(news.downlink);
        let path = context.tunnel.user_path;
        if news.uplink.packets > 0 {
            self.gtp.heard(path);
        }
    }
}

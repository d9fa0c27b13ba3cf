//! Queues of streams at access points: towards the mobiles, before a packet gets its GTP header, and towards the network.
//!
//! What waits is an N-PDU with the place of its context. So the context decides where it goes when it leaves, and G-PDUs have their
//! sequence numbers in the order in which they leave. What waits of a context that is gone is dropped.

use super::config::{ApnConfig, GgsnConfigError, Heading, StreamRules, Ways};
use super::{Ggsn, Owner};
use crate::slots::Slot;
use crate::streams::{Classifier, Found, Paths, RuleBase, Subscriber, Verdict, WayOut, WayOutConfig, header};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_wire::id::Imsi;

/// The interface of Gn in rules: packets of mobiles.
pub const INGRESS_GN: u16 = 0;
/// The interface of Gi in rules: packets of the network.
pub const INGRESS_GI: u16 = 1;
/// Packets of a way that leave in one part of work.
const PART: usize = 64;

/// A packet that waits.
#[derive(Debug)]
pub struct Parcel {
    pub(super) slot: Slot,
    imsi: Imsi,
    pub(super) frame: Frame,
}

/// A way with queues: which access point's, by its index, and where it leads.
type Name = (u16, Heading);
/// The ways of an access point.
type PointWays = Ways<Option<WayOut<Parcel>>>;

/// All ways with their rules.
#[derive(Debug)]
pub(super) struct Shaping {
    classifier: Classifier<Verdict>,
    rules: StreamRules,
    /// By the index of the access point. Empty where no access point has queues.
    points: Vec<PointWays>,
    /// Packets of ways that are gone.
    released: Batch<(Heading, Parcel)>,
    has_work: bool,
}

impl Shaping {
    /// Empty queues.
    pub fn new(apns: &[ApnConfig], rules: &StreamRules) -> Result<Self, GgsnConfigError> {
        let groups = rules.groups.len();
        if u32::try_from(groups).is_ok_and(|groups| groups > Subscriber::GROUPS_MAX) {
            return Err(GgsnConfigError::TooManyGroups(groups));
        }
        let mut this = Self {
            classifier: Classifier::new(RuleBase::default(), 2, 0),
            rules: rules.clone(),
            points: Vec::new(),
            released: Batch::default(),
            has_work: false,
        };
        for (apn, index) in apns.iter().zip(0..) {
            for heading in Heading::ALL {
                let config = apn.ways.get(heading).as_ref();
                this.set_way(Instant::ZERO, (index, heading), config)?;
            }
        }
        this.set_rules(rules.clone());
        Ok(this)
    }

    /// Does a packet wait here before it leaves?
    #[inline]
    pub fn has(&self, (apn, heading): Name) -> bool {
        self.points.get(usize::from(apn)).is_some_and(|ways| ways.get(heading).is_some())
    }

    pub const fn has_work(&self) -> bool {
        self.has_work
    }

    pub fn way(&self, (apn, heading): Name) -> Option<&WayOut<Parcel>> {
        self.points.get(usize::from(apn))?.get(heading).as_ref()
    }

    fn way_mut(&mut self, (apn, heading): Name) -> Option<&mut WayOut<Parcel>> {
        self.points.get_mut(usize::from(apn))?.get_mut(heading).as_mut()
    }

    fn names(&self) -> impl Iterator<Item = Name> + use<> {
        let count = u16::try_from(self.points.len()).unwrap_or(u16::MAX);
        (0..count).flat_map(|apn| Heading::ALL.map(|heading| (apn, heading)))
    }

    pub const fn paths(&self) -> Paths {
        self.classifier.paths()
    }

    /// The groups of a subscriber.
    pub fn groups_of(&self, imsi: Imsi) -> u32 {
        let is_in = self.rules.groups.iter().map(|group| group.iter().any(|range| range.contains(imsi)));
        is_in.zip(0..Subscriber::GROUPS_MAX).map(|(is_in, group)| u32::from(is_in) << group).sum()
    }

    /// Gives a way other queues, or takes them away; what waits in these leaves at once then.
    pub fn set_way(
        &mut self,
        now: Instant,
        name: Name,
        config: Option<&WayOutConfig>,
    ) -> Result<(), GgsnConfigError> {
        let (apn, heading) = name;
        let Some(config) = config else {
            let ways = self.points.get_mut(usize::from(apn));
            let gone = ways.and_then(|ways| ways.get_mut(heading).take());
            if let Some(mut gone) = gone {
                gone.release(now);
                while let Some(parcel) = gone.take(now, &mut Some) {
                    self.released.push((heading, parcel));
                }
                self.has_work = true;
            }
            return Ok(());
        };
        let wrong = |error| GgsnConfigError::Way(config.name.clone(), error);
        if let Some(way) = self.way_mut(name) {
            way.reconfigure(now, config).map_err(wrong)?;
            self.has_work = true;
            return Ok(());
        }
        let way = WayOut::new(now, config).map_err(wrong)?;
        if self.points.is_empty() {
            self.classifier = self.new_classifier();
        }
        if self.points.len() <= usize::from(apn) {
            self.points.resize_with(usize::from(apn) + 1, Ways::default);
        }
        if let Some(ways) = self.points.get_mut(usize::from(apn)) {
            *ways.get_mut(heading) = Some(way);
        }
        Ok(())
    }

    /// Memory for flows is taken with the first way.
    fn new_classifier(&self) -> Classifier<Verdict> {
        Classifier::new(self.rules.rules.clone(), self.rules.flows, self.rules.seed)
    }

    /// Other rules and groups, from the next packet on.
    pub fn set_rules(&mut self, rules: StreamRules) {
        let seed = self.rules.seed;
        self.rules = StreamRules { seed, ..rules };
        self.classifier.set_rules(self.rules.rules.clone());
    }

    fn verdict(&mut self, ingress: u16, subscriber: Subscriber, packet: &[u8]) -> Verdict {
        let Some(header) = header::read(ingress, packet) else { return Verdict::DEFAULT };
        let flow = header::Flow { subscriber: Some(subscriber), ..header.flow };
        match self.classifier.find(&flow) {
            Found::Fast(verdict) => verdict,
            Found::Slow(verdict) => {
                self.classifier.remember(&flow, verdict);
                verdict
            }
        }
    }

    /// When the next packet leaves.
    fn next_conforming(&self, now: Instant, name: Name) -> Option<Instant> {
        self.way(name)?.next_conforming(now)
    }
}

/// Whose a packet is that is to wait, and where it came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    pub slot: Slot,
    pub imsi: Imsi,
    pub subscriber: Subscriber,
    pub ingress: u16,
}

impl Shaping {
    /// A packet for the queues of a way.
    pub fn offer(&mut self, cx: &mut Context<'_>, heading: Heading, sender: Sender, mut frame: Frame) {
        let Sender { slot, imsi, subscriber, ingress } = sender;
        let Verdict { stream, mark } = self.verdict(ingress, subscriber, &frame);
        let Some(stream) = stream else {
            cx.drop_of(Drop::EdgeRefused, Some(imsi));
            return;
        };
        if let Some(dscp) = mark {
            header::set_dscp(&mut frame, dscp);
        }
        let Some(way) = self.way_mut((subscriber.access_point, heading)) else { return };
        let len = frame.len();
        let parcel = Parcel { slot, imsi, frame };
        way.offer(cx.now, stream, (parcel, len), |reason| cx.drop_of(reason, Some(imsi)));
        self.has_work = true;
    }

    /// The line of a way may be free again.
    pub fn woken(&mut self, key: TimerKey) {
        let heading = Heading::ALL.into_iter().find(|heading| heading.number() == key.slot % 2);
        let name = u16::try_from(key.slot / 2).ok().zip(heading);
        if let Some(way) = name.and_then(|name| self.way_mut(name)) {
            way.wakes_at = None;
            self.has_work = true;
        }
    }

    /// Asks to be woken when the next packet of a way leaves. True where that is now.
    fn watch(&mut self, cx: &mut Context<'_>, name: Name) -> bool {
        let Some(next) = self.next_conforming(cx.now, name) else { return false };
        if next <= cx.now {
            return true;
        }
        let (apn, heading) = name;
        if let Some(way) = self.way_mut(name).filter(|way| way.wakes_at.is_none_or(|at| next < at)) {
            way.wakes_at = Some(next);
            cx.timers.wake(Owner::Line.key(u32::from(apn) * 2 + heading.number(), 0), next);
        }
        false
    }
}

impl Ggsn {
    /// A way of an access point with queues, for a person.
    #[must_use]
    pub fn way_out(&self, apn: u16, heading: Heading) -> Option<&WayOut<Parcel>> {
        self.shaping.way((apn, heading))
    }

    /// The rules by which packets are told apart.
    #[must_use]
    pub const fn stream_rules(&self) -> &RuleBase {
        self.shaping.classifier.rules()
    }

    /// How often the rules were asked.
    #[must_use]
    pub const fn paths_of_flows(&self) -> Paths {
        self.shaping.paths()
    }

    /// Packets leave that may leave now.
    pub(super) fn serve_ways(&mut self, cx: &mut Context<'_>) {
        while let Some((heading, parcel)) = self.shaping.released.pop() {
            if self.contexts.get(parcel.slot).is_some() {
                self.depart(cx, heading, parcel);
            } else {
                cx.drop_of(Drop::GgsnContextGone, Some(parcel.imsi));
            }
        }
        let mut has_work = false;
        for name in self.shaping.names() {
            for _ in 0..PART {
                let (now, contexts) = (cx.now, &self.contexts);
                let mut keep = |parcel: Parcel| {
                    if contexts.get(parcel.slot).is_some() {
                        return Some(parcel);
                    }
                    cx.drop_of(Drop::GgsnContextGone, Some(parcel.imsi));
                    None
                };
                let Some(way) = self.shaping.way_mut(name) else { break };
                let Some(parcel) = way.take(now, &mut keep) else { break };
                self.depart(cx, name.1, parcel);
            }
            has_work |= self.shaping.watch(cx, name);
        }
        self.shaping.has_work = has_work;
        self.drain_gtp(cx);
        self.follow_rules();
    }

    /// Takes over what is configured about streams. The numbers of access points are those of `new`.
    pub(super) fn reconfigure_ways(&mut self, cx: &mut Context<'_>, new: &super::GgsnConfig) {
        let place = |number: u32| {
            let name = &new.apns.get(usize::try_from(number).ok()?)?.name;
            let place = self.access_points.iter().position(|point| point.config.name == *name)?;
            u32::try_from(place).ok()
        };
        let mut rules = new.streams.clone();
        // An access point that is new waits for the next start, and so do its rules.
        rules.rules.retain(|rule| match rule.access_point {
            Some(number) => {
                rule.access_point = place(number);
                rule.access_point.is_some()
            }
            None => true,
        });
        self.shaping.set_rules(rules);
        for slot in self.contexts.iter().map(|(slot, _)| slot).collect::<Vec<_>>() {
            if let Some(context) = self.contexts.get_mut(slot) {
                context.groups = self.shaping.groups_of(context.imsi);
            }
        }
        for (point, index) in self.access_points.iter().zip(0..) {
            for heading in Heading::ALL {
                let config = point.config.ways.get(heading).as_ref();
                if let Err(error) = self.shaping.set_way(cx.now, (index, heading), config) {
                    cx.log(Category::Main, Level::Error, format_args!("{error}; it stays as it was"));
                }
            }
        }
    }
}

//! Session management: what SM asks of the mobile is done here, and what a user ordered is kept.

use super::links::Ending;
use super::mobile::{Bearer, Mobile, NSAPIS, Ordered, SmTimer};
use super::prefix;
use super::{Failure, Ms, MsConfig, MsEvent, Owner, Procedure};
use gannet_machine::drops::Drop;
use gannet_machine::timers::TimerName as _;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_proto::about::About as _;
use gannet_proto::gmm::ms::{GmmMsEvent, GmmMsState};
use gannet_proto::llc::SAPIS;
use gannet_proto::llc::abm::LinksConfig;
use gannet_proto::sm::ms::{Change, SmMsAction, SmMsEvent, Wanted, WantedSecondary};
use gannet_proto::sndcp::{ReassemblyKey, SndcpNsapi};
use gannet_proto::user_plane::{Outputs, needs_acknowledged_mode};
use gannet_wire::DecodeError;
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use gannet_wire::l3::ie::{Apn, PdpAddress, PdpContextStatus, QosProfile, RadioPriority, SmCause};
use gannet_wire::l3::{L3Message, SmMessage};

/// What becomes of the order when its context ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// The context ended for a reason of its own, and with it the order.
    Ends,
    /// The context ended with the attachment, or the network has lost it: the order stands.
    Stands,
}

impl Ms {
    /// A user wants a context; what is not said is as in [`MsConfig::pdp`].
    pub(super) fn order_context(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        nsapi: Nsapi,
        apn: Option<Apn>,
        (qos, address): (Option<QosProfile>, Option<PdpAddress>),
    ) {
        let default = &self.config.pdp;
        let qos = qos.unwrap_or(default.qos);
        let mobile = self.mobiles.get(index as usize);
        let wanted = Wanted {
            sapi: mobile.map_or(default.sapi, |mobile| mobile.sapi_for(default.sapi, nsapi, &qos)),
            qos,
            address: address.unwrap_or(default.address),
            apn: apn.or_else(|| default.apn.clone()),
            pco: default.pco.clone(),
        };
        self.order(cx, index, nsapi, Ordered::First(wanted));
    }

    /// A user wants a context beside another.
    pub(super) fn order_secondary(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        nsapi: Nsapi,
        wanted: WantedSecondary,
    ) {
        let linked = wanted.linked;
        let has_linked = |mobile: &mut Mobile| {
            nsapi != linked && mobile.order_mut(linked).is_some_and(|order| order.is_some())
        };
        if self.mobiles.get_mut(index as usize).is_some_and(has_linked) {
            self.order(cx, index, nsapi, Ordered::Secondary(wanted));
        } else {
            self.refuse(
                cx,
                index,
                format_args!("NSAPI {nsapi} cannot be beside NSAPI {linked}, which it has not"),
            );
        }
    }

    /// Says that an order cannot be carried out, and why.
    pub(super) fn refuse(&self, cx: &mut Context<'_>, index: u32, why: core::fmt::Arguments<'_>) {
        let whose = self.imsi_of(index);
        cx.drop_of(Drop::MsBadOrder, whose);
        match whose {
            Some(_) => {
                cx.log_of(whose, Category::Mm, Level::Notice, format_args!("order not carried out: {why}"))
            }
            // For people they are numbered from 1.
            None => {
                let number = u64::from(index) + 1;
                cx.log(Category::Mm, Level::Notice, format_args!("there is no mobile {number}: {why}"));
            }
        }
    }

    /// A user wants a context to be another, or other packets in it.
    pub(super) fn modify(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, change: Change) {
        let mobile = self.mobiles.get(index as usize);
        if mobile.is_some_and(|mobile| mobile.sm.get(nsapi).is_some()) {
            self.sm(cx, index, SmMsEvent::Modify { nsapi, change });
        } else {
            self.refuse(cx, index, format_args!("it has no PDP context with NSAPI {nsapi} to be modified"));
        }
    }

    fn order(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, wanted: Ordered) {
        let mobile = self.mobiles.get_mut(index as usize);
        let Some(order) = mobile.and_then(|mobile| mobile.order_mut(nsapi)) else {
            return self.refuse(cx, index, format_args!("no PDP context can have NSAPI {nsapi}"));
        };
        *order = Some(Box::new(wanted));
        self.activate_ordered(cx, index);
        let state = self.mobiles.get(index as usize).map(|mobile| mobile.gmm.state());
        if let Some(GmmMsState::Null | GmmMsState::Deregistered) = state {
            self.attach(cx, index);
        }
    }

    /// Switches the mobile on where that was not done yet, and attaches.
    pub(super) fn attach(&mut self, cx: &mut Context<'_>, index: u32) {
        if self.mobiles.get(index as usize).is_none() {
            return self.refuse(cx, index, format_args!("it is to attach"));
        }
        self.switch_on(cx, index);
        self.gmm(cx, index, GmmMsEvent::Attach);
    }

    /// The user wants to be gone, and nothing to come back by itself.
    pub(super) fn detach(&mut self, cx: &mut Context<'_>, index: u32, power_off: bool) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else {
            return self.refuse(cx, index, format_args!("it is to detach"));
        };
        mobile.orders = [const { None }; super::mobile::NSAPIS];
        mobile.tells_detached |= mobile.gmm.state() != GmmMsState::Null;
        self.gmm(cx, index, GmmMsEvent::Detach { power_off });
    }

    /// The user wants a context no more, nor those beside it that have its address where `all` is set.
    pub(super) fn deactivate(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, all: bool) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else {
            return self.refuse(cx, index, format_args!("NSAPI {nsapi} is to be deactivated"));
        };
        let order = mobile.order_mut(nsapi).and_then(Option::take);
        let cause = SmCause::RegularDeactivation;
        if mobile.sm.get(nsapi).is_some() && all {
            self.sm(cx, index, SmMsEvent::TearDown { nsapi, cause });
        } else if mobile.sm.get(nsapi).is_some() {
            self.sm(cx, index, SmMsEvent::Deactivate { nsapi, cause });
        } else if order.is_some() {
            self.tell(MsEvent::Deactivated { mobile: index, nsapi, cause: None });
        } else {
            self.refuse(
                cx,
                index,
                format_args!("it has no PDP context with NSAPI {nsapi} to be deactivated"),
            );
        }
    }

    /// Begins what was ordered and is not under way. During a procedure of GMM it waits for the end of that (04.08
    /// clause 4.7.1 [24.008]).
    pub(super) fn activate_ordered(&mut self, cx: &mut Context<'_>, index: u32) {
        for place in 0..super::mobile::NSAPIS {
            let nsapi = Mobile::nsapi_at(place);
            let Some(mobile) = self.mobiles.get(index as usize) else { return };
            if mobile.gmm.state() != GmmMsState::Registered {
                return;
            }
            let order = mobile.orders.get(place).and_then(Option::as_deref);
            let (Some(order), None) = (order, mobile.sm.get(nsapi)) else { continue };
            match order.clone() {
                Ordered::First(wanted) => self.sm(cx, index, SmMsEvent::Activate { nsapi, wanted }),
                Ordered::Secondary(wanted) => {
                    if mobile.sm.get(wanted.linked).is_some_and(|linked| linked.is_active()) {
                        self.sm(cx, index, SmMsEvent::ActivateSecondary { nsapi, wanted });
                    }
                }
            }
        }
    }

    /// An SM message.
    pub(super) fn sm_message(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        ti: u8,
        ti_flag: bool,
        message: SmMessage,
    ) {
        self.sm(cx, index, SmMsEvent::Message { ti, ti_flag, message });
    }

    /// An SM message that could not be read: its transaction identifier, flag and type, and why.
    pub(super) fn sm_malformed(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        (ti, ti_flag, message_type): (u8, bool, u8),
        error: DecodeError,
    ) {
        self.sm(cx, index, SmMsEvent::DecodeFailed { ti, ti_flag, message_type, error });
    }

    /// The network does not know these contexts (any more), or the mobile is not attached any more.
    pub(super) fn forget_contexts(&mut self, cx: &mut Context<'_>, index: u32, contexts: PdpContextStatus) {
        for place in 0..super::mobile::NSAPIS {
            let nsapi = Mobile::nsapi_at(place);
            if contexts.is_active(nsapi) {
                let event = SmMsEvent::Forget { nsapi, cause: SmCause::RegularDeactivation };
                self.sm_with(cx, index, event, Order::Stands);
            }
        }
    }

    /// A deadline of a mobile's SM may be due.
    pub(super) fn wake_sm(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        mobile.sm_wake.woken(cx.now);
        if mobile.sm_wake.pop_due(cx.now).is_some() {
            self.sm(cx, index, SmMsEvent::Timer);
        } else {
            mobile.sm_wake.arm(Owner::Sm.key(index, 0), cx.timers);
        }
    }

    fn sm(&mut self, cx: &mut Context<'_>, index: u32, event: SmMsEvent) {
        self.sm_with(cx, index, event, Order::Ends);
        // Where the network asks for another activation, or has released a context that is ordered anew.
        self.activate_ordered(cx, index);
    }

    fn sm_with(&mut self, cx: &mut Context<'_>, index: u32, event: SmMsEvent, order: Order) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let mut actions = Batch::default();
        let whose = Some(mobile.gmm.imsi());
        mobile.sm.handle(cx, &self.config.sm, whose, event, &mut actions);
        match mobile.sm.deadline(cx.now) {
            Some(at) => mobile.sm_wake.set(SmTimer::Next, at),
            None => mobile.sm_wake.clear(SmTimer::Next),
        }
        mobile.sm_wake.arm(Owner::Sm.key(index, 0), cx.timers);
        while let Some(action) = actions.pop() {
            self.sm_action(cx, index, action, order);
        }
    }

    fn sm_action(&mut self, cx: &mut Context<'_>, index: u32, action: SmMsAction, order: Order) {
        match action {
            SmMsAction::Send { ti, ti_flag, message } => {
                let tlli = self.tlli_of(index);
                self.send_l3(cx, index, tlli, &L3Message::Sm { ti, ti_flag, message });
                self.frame_sent(cx, index);
            }
            // What the network wants is kept as if a user had ordered it.
            SmMsAction::Requested { nsapi, wanted } => {
                let mobile = self.mobiles.get_mut(index as usize);
                if let Some(order) = mobile.and_then(|mobile| mobile.order_mut(nsapi)) {
                    *order = Some(Box::new(Ordered::First(wanted)));
                }
            }
            SmMsAction::Active { nsapi, sapi, qos, address, radio_priority, pco, cause } => {
                if let Some(cause) = cause {
                    let imsi = self.mobiles.get(index as usize).map(Mobile::imsi);
                    let imsi = imsi.map(|imsi| format!("IMSI {imsi} ")).unwrap_or_default();
                    let line = format_args!("{imsi}NSAPI {nsapi}: {address}, {cause}");
                    cx.log(Category::Pdp, Level::Info, line);
                }
                self.put_bearer(cx, index, (nsapi, sapi, radio_priority), address, &qos);
                self.stats.activated += 1;
                self.device_needed(index, nsapi, pco.as_ref());
                self.tell(MsEvent::Activated { mobile: index, nsapi, address, qos, pco });
                self.negotiate(cx, index, sapi);
                self.solicit(cx, index, nsapi, address);
            }
            SmMsAction::Modified { nsapi, qos, sapi, radio_priority } => {
                self.modify_bearer(cx, index, (nsapi, sapi, radio_priority), &qos);
            }
            SmMsAction::Failed { nsapi, cause } => {
                if order == Order::Ends {
                    self.end_order(index, nsapi);
                    let cause = cause.map_or(Failure::NoAnswer, Failure::Sm);
                    let procedure = Procedure::Activate(nsapi);
                    self.tell(MsEvent::Rejected { mobile: index, procedure, cause });
                }
            }
            SmMsAction::Released { nsapi, cause } => {
                if order == Order::Ends && cause != SmCause::ReactivationRequired {
                    self.end_order(index, nsapi);
                }
                let ending = match order {
                    Order::Ends => Ending::Told,
                    Order::Stands => Ending::Untold,
                };
                self.remove_bearer(cx, index, nsapi, ending);
                self.tell(MsEvent::Deactivated { mobile: index, nsapi, cause: Some(cause) });
            }
        }
    }

    fn end_order(&mut self, index: u32, nsapi: Nsapi) {
        if let Some(order) = self.mobiles.get_mut(index as usize).and_then(|mobile| mobile.order_mut(nsapi)) {
            *order = None;
        }
    }

    fn put_bearer(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        (nsapi, sapi, priority): (Nsapi, Sapi, RadioPriority),
        address: PdpAddress,
        qos: &QosProfile,
    ) {
        let mobile = self.mobiles.get_mut(index as usize);
        let Some(mobile) = mobile else { return };
        let device = mobile.device_for(nsapi);
        if let Some(place) = mobile.bearer_place_mut(nsapi) {
            let protected = MsConfig::protects(qos);
            let acknowledged = needs_acknowledged_mode(qos.reliability);
            let sndcp = SndcpNsapi::new(nsapi, sapi);
            *place = Some(Bearer { sndcp, address, device, protected, acknowledged, priority });
            self.serve(cx, index, nsapi);
        }
    }

    fn modify_bearer(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        (nsapi, sapi, priority): (Nsapi, Sapi, Option<RadioPriority>),
        qos: &QosProfile,
    ) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let address = mobile.sm.get(nsapi).map(|context| context.address());
        if let Some(bearer) = mobile.bearer_mut(nsapi) {
            let former = core::mem::replace(&mut bearer.sndcp.sapi, sapi);
            bearer.protected = MsConfig::protects(qos);
            bearer.priority = priority.unwrap_or(bearer.priority);
            bearer.address = address.map_or(bearer.address, |address| prefix::kept(bearer.address, address));
            let acknowledged = needs_acknowledged_mode(qos.reliability);
            let is_other = (former, bearer.acknowledged) != (sapi, acknowledged);
            bearer.acknowledged = acknowledged;
            if is_other {
                self.serve(cx, index, nsapi);
            }
        }
    }

    fn remove_bearer(&mut self, cx: &mut Context<'_>, index: u32, nsapi: Nsapi, ending: Ending) {
        let place = self.mobiles.get_mut(index as usize).and_then(|mobile| mobile.bearer_place_mut(nsapi));
        let former = place.and_then(Option::take);
        self.end_service(cx, index, nsapi, ending);
        if let Some(bearer) = former {
            self.device_left(index, bearer.device);
        }
        self.soliciting.end(index, nsapi);
        self.reassembler.forget(cx, ReassemblyKey { slot: index, nsapi });
    }

    /// Asks for another N201-U where the user wants that, or for frames as short as the bearer has room for (04.64 clause
    /// 8.5.3).
    fn negotiate(&mut self, cx: &mut Context<'_>, index: u32, sapi: Sapi) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let chosen = self.config.user_plane.links.of(sapi).shared.n201_i;
        if let Some((chosen, most)) =
            chosen.zip(mobile.link.n201_i_max()).filter(|(chosen, most)| chosen > most)
        {
            let line = format_args!(
                "SAPI {sapi}: N201-I {most} in place of {chosen}, which the bearer does not carry"
            );
            cx.log_of(Some(mobile.gmm.imsi()), Category::Llc, Level::Notice, line);
        }
        let Some(request) = mobile.link.wanted(&mobile.llc, sapi, self.config.n201_u) else { return };
        let mut out = Outputs::default();
        mobile.llc.xid_request(cx, sapi, request, &mut out.llc);
        self.layers_outputs(cx, index, Tlli::UNASSIGNED, &mut out);
        self.arm_llc(cx, index);
    }

    /// Other parameters of LLC.
    pub(super) fn set_layers(&mut self, cx: &mut Context<'_>, n201_u: Option<u16>, links: LinksConfig) {
        self.config.user_plane.links = links;
        if core::mem::replace(&mut self.config.n201_u, n201_u) == n201_u {
            return;
        }
        for index in 0..u32::try_from(self.mobiles.len()).unwrap_or(u32::MAX) {
            for place in 0..NSAPIS {
                let mobile = self.mobiles.get(index as usize);
                let bearer = mobile.and_then(|mobile| mobile.bearer(Mobile::nsapi_at(place)));
                if let Some(sapi) = bearer.map(|bearer| bearer.sndcp.sapi) {
                    self.negotiate(cx, index, sapi);
                }
            }
        }
    }

    /// The longest LL-PDU of a mobile's bearer is another: what its contexts have agreed to may be too long, or shorter than need
    /// be.
    pub(super) fn fit_to_link(&mut self, cx: &mut Context<'_>, index: u32) {
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        let used = |sapi: &Sapi| mobile.bearers.iter().flatten().any(|bearer| bearer.sndcp.sapi == *sapi);
        let sapis = SAPIS.map(|sapi| Some(sapi).filter(used));
        for sapi in sapis.into_iter().flatten() {
            self.negotiate(cx, index, sapi);
        }
    }
}

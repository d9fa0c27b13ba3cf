//! The links of one context that are in acknowledged mode, beside which layer 3's blocks of XID wait, and the primitives of layer 3
//! for acknowledged mode.

use super::abm::{
    ABM_SAPIS, Abm, Link, Options, Received, Refused, Shared, State, Unnumbered, Windows, place_of,
};
use super::cipher::Direction;
use super::xid::Kind;
use super::{EstablishIndication, LlcContext, LlcOutput, U, slot_of};
use crate::few::Few;
use core::ops::Range;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::kept::Keeper;
use gannet_machine::prefetch::Prefetch;
use gannet_machine::time::Instant;
use gannet_machine::timers::{FleetingDeadlines, TimerKey, TimerName as _, Timers};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Fold};
use gannet_wire::id::Sapi;
use gannet_wire::llc::xid::{self, Parameter};
use gannet_wire::llc::{Control, Layout, UFunction};
use serde::{Deserialize, Serialize};

/// On what terms acknowledged mode is asked for, or agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// What is not negotiated.
    pub options: Options,
    /// What is asked for, or the limits of what is agreed to; `None` for what was agreed before, at the beginning the
    /// default values.
    pub windows: Option<Windows>,
    /// The same of what unacknowledged mode has as well.
    pub shared: Shared,
    /// Layer 3's own part.
    pub layer3: Option<Vec<u8>>,
}

/// A block that layer 3 has given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) slot: u8,
    /// It went out with the command that waits for its response.
    pub(super) is_sent: bool,
    /// What goes with it: of LLC's own parameters, where they were asked for while a block was under way.
    pub(super) n201: (u16, u16),
    pub(super) kind: Kind,
    /// `None` for version 0 of SNDCP.
    pub(super) octets: Option<Box<[u8]>>,
}

gannet_machine::timer_names! {
    /// The timers of links, T200 and T201 (04.64 clause 8.9), in the order of [`ABM_SAPIS`].
    enum LinkTimer {
        Sapi3 = "T200 or T201 of SAPI 3",
        Sapi5 = "T200 or T201 of SAPI 5",
        Sapi9 = "T200 or T201 of SAPI 9",
        Sapi11 = "T200 or T201 of SAPI 11",
    }
}
const _: () = assert!(LinkTimer::ALL.len() == ABM_SAPIS.len());

/// Those of them that are not in ADM, and what else only few contexts have: for all the others this is no memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Links {
    deadlines: FleetingDeadlines<LinkTimer>,
    /// By their place.
    lles: Few<Placed>,
    /// What layer 3 has to say by XID, and until it is answered.
    pub(super) blocks: Vec<Block>,
}

impl Links {
    pub(super) fn arm(&mut self, key: TimerKey, timers: &mut Timers) {
        self.deadlines.arm(key, timers);
    }
}

/// A link and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Placed {
    place: u8,
    abm: Abm,
}

impl Links {
    fn get(&self, place: usize) -> Option<&Abm> {
        self.lles.find(|placed| usize::from(placed.place) == place).map(|placed| &placed.abm)
    }

    /// Has one at `place` from now on.
    fn make(&mut self, place: usize) {
        let made = ABM_SAPIS.get(place).and_then(|sapi| Windows::defaults(*sapi));
        let (Some(windows), Ok(place), None) = (made, u8::try_from(place), self.get(place)) else { return };
        self.lles.push(Placed { place, abm: Abm::new(Options::default(), windows) });
    }
}

/// Where the deadline of a link stands.
struct Deadline<'a> {
    deadlines: &'a mut FleetingDeadlines<LinkTimer>,
    timer: LinkTimer,
}

impl Deadline<'_> {
    fn set(&mut self, at: Option<Instant>) {
        self.deadlines.set(self.timer, at);
    }
}

impl LlcContext {
    /// Takes memory for links that will be established soon.
    pub fn make_room_for_links(&mut self) {
        self.links.get_or_insert_default();
    }

    /// Gives it back where there are none.
    pub fn tidy_links(&mut self) {
        self.links.take_if(|links| links.lles.is_empty() && links.blocks.is_empty());
    }

    /// Asks for the links, where there are any: what a frame of acknowledged mode touches beside the context itself, which is
    /// here by now.
    pub fn prefetch_links(&self, prefetch: Prefetch) {
        if let Some(links) = &self.links {
            prefetch.value(&**links);
        }
    }

    /// Asks for the memory where the next unit in acknowledged mode will stand, and its octets, so many; after
    /// [`LlcContext::prefetch_links`].
    pub fn prefetch_unit(&self, octets: usize, keeper: &Keeper, prefetch: Prefetch) {
        if let Some(placed) = self.links.as_ref().and_then(|links| links.lles.first()) {
            placed.abm.prefetch_unit(octets, keeper, prefetch);
        }
    }

    /// Asks for what is known of the units that the peer has not confirmed; after [`LlcContext::prefetch_links`].
    pub fn prefetch_unconfirmed(&self, prefetch: Prefetch) {
        if let Some(placed) = self.links.as_ref().and_then(|links| links.lles.first()) {
            placed.abm.prefetch_unconfirmed(prefetch);
        }
    }

    /// All links are in ADM from now on, without a word to anybody; what they have not confirmed is returned.
    pub fn end_links(&mut self, out: &mut Batch<LlcOutput>) {
        let mut links = self.links.take();
        for Placed { place, abm } in links.iter_mut().flat_map(|links| links.lles.iter_mut()) {
            if let Some(sapi) = ABM_SAPIS.get(usize::from(*place)) {
                abm.give_back(*sapi, out);
            }
        }
    }

    /// Whether a SABM of the peer is shown to layer 3, or refused at once.
    pub const fn offer_abm(&mut self, on: bool) {
        self.end.offer_abm(on);
    }

    /// The acknowledged mode of a SAPI; `None` in ADM.
    #[must_use]
    pub fn abm(&self, sapi: Sapi) -> Option<&Abm> {
        let place = place_of(sapi)?;
        self.links.as_ref()?.get(place)
    }

    /// An S frame of the peer comes: is it the first since an acknowledgement was asked for on its link? Nothing of it is checked yet, so
    /// that one which is damaged counts as well.
    pub fn take_answer_due(&mut self, sapi: Sapi) -> bool {
        self.link(sapi).is_some_and(|(abm, ..)| abm.take_answer_due())
    }

    /// LL-ESTABLISH.request: LL-ESTABLISH.confirm or LL-RELEASE.indication will follow. Nothing happens on a SAPI without
    /// acknowledged mode.
    pub fn establish_request(
        &mut self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        terms: Terms,
        out: &mut Batch<LlcOutput>,
    ) {
        let role = self.role();
        let Terms { options, windows, shared, layer3 } = terms;
        if let Some(own) = slot_of(sapi).and_then(|slot| self.saps.parameters_mut(slot)) {
            own.choose(shared);
        }
        let parameters = shared.proposal().chain(windows.iter().flat_map(|windows| windows.proposal(role)));
        let parameters = octets_of(parameters.chain(layer3.map(Parameter::Layer3)));
        self.with_new(sapi, |abm, link| {
            abm.set_options(options);
            if let Some(windows) = windows {
                *abm.windows_mut() = Windows { iov_i: abm.windows().iov_i, ..windows };
            }
            abm.establish_request(cx, link, &parameters, out);
        });
    }

    /// LL-ESTABLISH.response: agrees to acknowledged mode. Of a parameter that the peer has not proposed its present value counts as
    /// proposed, and the answer has it where that is not what holds then (clause 8.5.3.1).
    pub fn establish_response(
        &mut self,
        cx: &mut Context<'_>,
        indication: EstablishIndication,
        terms: Terms,
        out: &mut Batch<LlcOutput>,
    ) {
        let EstablishIndication { sapi, parameters, layer3: _ } = indication;
        let Terms { options, windows, shared, layer3 } = terms;
        let (Some(slot), role) = (slot_of(sapi), self.role()) else { return };
        let mut answer = Vec::new();
        let present = self.present(sapi, slot);
        let is_proposed = |of: &Parameter| parameters.iter().any(|it| it.kind() == of.kind());
        let unsaid: Vec<Parameter> = present.into_iter().filter(|of| !is_proposed(of)).collect();
        for parameter in parameters.iter().chain(&unsaid) {
            let limits = windows.or_else(|| self.abm(sapi).map(|abm| *abm.windows()));
            let agreed = limits.and_then(|limits| {
                let mut agreed = None;
                self.with(sapi, |abm, _| agreed = abm.windows_mut().negotiate(role, &limits, parameter));
                agreed
            });
            let agreed = agreed
                .or_else(|| self.saps.parameters_mut(slot)?.respond(shared, parameter))
                .or_else(|| self.negotiate(slot, parameter));
            answer.extend(agreed.filter(|agreed| is_proposed(agreed) || agreed != parameter));
        }
        answer.extend(layer3.map(Parameter::Layer3));
        let answer = octets_of(answer.into_iter());
        self.with(sapi, |abm, link| {
            abm.set_options(options);
            abm.establish_response(cx, link, &answer, out);
        });
    }

    /// What holds of a SAPI in acknowledged mode.
    fn present(&self, sapi: Sapi, slot: usize) -> Vec<Parameter> {
        let shared = self.saps.parameters(slot).map(|own| own.shared());
        let windows = self.abm(sapi).map(|abm| abm.windows().proposal(self.role()));
        shared.into_iter().flat_map(Shared::proposal).chain(windows.into_iter().flatten()).collect()
    }

    /// The other answer to LL-ESTABLISH.indication: DM.
    pub fn establish_refuse(&mut self, cx: &mut Context<'_>, sapi: Sapi, out: &mut Batch<LlcOutput>) {
        self.with(sapi, |abm, link| abm.refuse(cx, link, out));
    }

    /// LL-RELEASE.request: LL-RELEASE.confirm will follow; with `local` at once, and without a word to the peer.
    pub fn release_request(
        &mut self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        local: bool,
        out: &mut Batch<LlcOutput>,
    ) {
        if self.with(sapi, |abm, link| abm.release_request(cx, link, local, out)).is_none() {
            out.push(LlcOutput::ReleaseConfirm { sapi });
        }
    }

    /// LL-DATA.request; LL-DATA.confirm will follow with the same `reference`.
    ///
    /// # Errors
    /// The unit, with the name under which it is dropped where it is given up.
    pub fn data_request(
        &mut self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        reference: u32,
        frame: Frame,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Refused> {
        self.headed_data_request(cx, sapi, reference, (&[], frame), out)
    }

    /// The same of a unit that begins with `head`, which is not in its frame yet: a frame is handed on at less cost where nothing of it
    /// was just changed.
    ///
    /// # Errors
    /// As of [`LlcContext::data_request`]; the frame is without its head.
    pub fn headed_data_request(
        &mut self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        reference: u32,
        (head, frame): (&[u8], Frame),
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Refused> {
        let Some((abm, link, mut deadline)) = self.link(sapi) else {
            return Err(Refused { drop: Drop::LlcNotEstablished, frame });
        };
        abm.headed_data_request(cx, &link, reference, (head, frame), out)?;
        deadline.set(abm.next_wake());
        Ok(())
    }

    /// Layer 3 can go on only when some of its units are confirmed: an acknowledgement is asked for, where that was put off.
    pub fn request_acknowledgement(&mut self, cx: &mut Context<'_>, sapi: Sapi, out: &mut Batch<LlcOutput>) {
        self.with(sapi, |abm, link| abm.request_acknowledgement(cx, link, out));
    }

    /// Layer 3 can take nothing more on a link, or can again: RNR, and RR (clause 8.6.5).
    pub fn set_busy(&mut self, cx: &mut Context<'_>, sapi: Sapi, is_busy: bool, out: &mut Batch<LlcOutput>) {
        self.with(sapi, |abm, link| abm.set_busy(cx, link, is_busy, out));
    }

    /// True where a SABM may lead somewhere.
    pub(super) fn may_enter_abm(&self, sapi: Sapi) -> bool {
        self.end.offers_abm() && place_of(sapi).is_some()
    }

    /// True for a frame of acknowledged mode on a link that is not in ADM.
    pub(super) fn is_for_abm(&self, layout: &Layout) -> bool {
        let is_of_abm = match layout.header.control {
            Control::Ui { .. } | Control::U { function: UFunction::Xid | UFunction::Null, .. } => false,
            Control::U { .. } | Control::S { .. } | Control::I { .. } => true,
        };
        is_of_abm && self.abm(layout.header.sapi).is_some()
    }

    /// Such a frame.
    pub(super) fn receive_in_abm(
        &mut self,
        cx: &mut Context<'_>,
        slot: usize,
        layout: &Layout,
        frame: Frame,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        let Layout { header, .. } = layout;
        let command = self.role().is_command(header.cr);
        if let Control::U { poll_final, function } = header.control {
            if !layout.fcs_is_right(&frame) {
                return Err(Drop::LlcBadFcs);
            }
            let info = frame.get(layout.info()).unwrap_or_default();
            let u = U { sapi: header.sapi, slot, command, poll_final, function, info };
            return self.receive_abm_u(cx, &u, out);
        }
        let fold = cx.fold;
        let received = self.with(header.sapi, |abm, link| {
            let mut frame = frame;
            let information = opened(fold, abm, link, layout, &mut frame)?;
            let received = Received { header, command, frame, information };
            abm.receive(cx, link, received, out)
        });
        received.unwrap_or(Err(Drop::LlcNotAbm))
    }

    /// A U frame of acknowledged mode.
    pub(super) fn receive_abm_u(
        &mut self,
        cx: &mut Context<'_>,
        u: &U<'_>,
        out: &mut Batch<LlcOutput>,
    ) -> Result<(), Drop> {
        let mut layer3 = None;
        let mut parameters = Vec::new();
        if matches!(u.function, UFunction::Sabm | UFunction::Ua) {
            let read = xid::parse(u.info).map_err(|error| {
                let line = format_args!("TLLI {}: SAPI {}: XID: {error}", self.tlli, u.sapi);
                cx.log(Category::Llc, Level::Info, line);
                Drop::LlcBadXid
            })?;
            for parameter in read {
                match parameter {
                    Parameter::Layer3(octets) => layer3 = Some(octets),
                    other => parameters.push(other),
                }
            }
        }
        let mut answer = Vec::new();
        if self.abm(u.sapi).is_some_and(|abm| abm.takes_parameters(u.function, u.info)) {
            let n201_i = self.n201_i(u.sapi);
            for parameter in &parameters {
                // Nobody goes beyond what this end has proposed itself.
                let parameter = match *parameter {
                    Parameter::N201I(octets) if parameter.is_valid() => Parameter::N201I(octets.min(n201_i)),
                    _ => parameter.clone(),
                };
                answer.extend(self.negotiate(u.slot, &parameter));
            }
        }
        let unnumbered = Unnumbered {
            command: u.command,
            poll_final: u.poll_final,
            function: u.function,
            info: u.info,
            layer3,
            parameters,
            answer: octets_of(answer.into_iter()),
        };
        let receive = |abm: &mut Abm, link: &Link| abm.receive_u(cx, link, unnumbered, out);
        let result = if u.function == UFunction::Sabm {
            self.with_new(u.sapi, receive)
        } else {
            self.with(u.sapi, receive)
        };
        result.unwrap_or(Err(Drop::LlcUnexpected))
    }

    /// XID parameters of acknowledged mode, outside of establishment: taken over by an LLE that is in it, and otherwise
    /// accepted as proposed, for they mean nothing here.
    pub(super) fn negotiate_windows(&mut self, slot: usize, parameter: &Parameter) -> Option<Parameter> {
        let sapi = *super::SAPIS.get(slot)?;
        let negotiated = self.with(sapi, |abm, link| {
            let limits = *abm.windows();
            abm.windows_mut().negotiate(link.role, &limits, parameter)
        });
        negotiated.unwrap_or_else(|| parameter.is_valid().then(|| parameter.clone()))
    }

    /// Was a wake-up too early for all deadlines, as those moved since are? Then it asks for the next, and [`LlcContext::wake`] has
    /// nothing to do.
    pub fn sleeps_on(&mut self, now: Instant, key: TimerKey, timers: &mut Timers) -> bool {
        let of_links = self.links.as_ref().and_then(|links| links.deadlines.next());
        if of_links.into_iter().chain(self.deadlines.next()).any(|at| at <= now) {
            return false;
        }
        self.deadlines.woken(now);
        if let Some(links) = &mut self.links {
            links.deadlines.woken(now);
        }
        self.arm(key, timers);
        true
    }

    /// Wakes the links that are due.
    pub(super) fn wake_links(&mut self, cx: &mut Context<'_>, out: &mut Batch<LlcOutput>) {
        if let Some(links) = &mut self.links {
            links.deadlines.woken(cx.now);
        }
        while let Some(timer) = self.links.as_mut().and_then(|links| links.deadlines.pop_due(cx.now)) {
            let Some(sapi) = ABM_SAPIS.get(timer.index()) else { break };
            self.with(*sapi, |abm, link| abm.wake(cx, link, out));
        }
    }

    /// Nothing is woken for a while, as the peer cannot be reached: no link keeps memory for units that may come soon.
    pub fn out_of_reach(&mut self) {
        if let Some(links) = &mut self.links {
            links.lles.iter_mut().for_each(|placed| placed.abm.tidy());
        }
    }

    /// The peer, for whose sake nothing was woken for some time, can be reached again: no link is found dead for the time in which it
    /// could not answer. [`LlcContext::arm`] is to be called after it, and asks to be woken for what was due meanwhile.
    pub fn within_reach(&mut self, now: Instant) {
        self.deadlines.woken(now);
        let Some(Links { deadlines, lles, .. }) = self.links.as_deref_mut() else { return };
        deadlines.woken(now);
        lles.iter_mut().for_each(|placed| placed.abm.within_reach(now));
    }

    /// See [`LlcContext::restore`].
    pub(super) fn restore_links(&mut self, now: Instant) {
        if let Some(links) = &mut self.links {
            links.deadlines.clear_all();
        }
        for sapi in ABM_SAPIS {
            self.with(sapi, |abm, _| abm.restore(now));
        }
    }

    /// A link that is not in ADM, what it has to know, and where its deadline stands.
    #[inline]
    fn link(&mut self, sapi: Sapi) -> Option<(&mut Abm, Link, Deadline<'_>)> {
        let place = place_of(sapi)?;
        let timer = *LinkTimer::ALL.get(place)?;
        let parameters = self.saps.parameters(slot_of(sapi)?)?;
        let Links { deadlines, lles, .. } = self.links.as_deref_mut()?;
        let Placed { abm, .. } = lles.find_mut(|placed| usize::from(placed.place) == place)?;
        let link = Link {
            role: self.end.role(),
            sapi,
            ciphering: self.ciphering,
            n201_i: parameters.n201_i,
            t200: parameters.t200(),
            n200: parameters.n200(),
        };
        Some((abm, link, Deadline { deadlines, timer }))
    }

    /// Does something with a link that is not in ADM.
    fn with<T>(&mut self, sapi: Sapi, act: impl FnOnce(&mut Abm, &Link) -> T) -> Option<T> {
        let (abm, link, mut deadline) = self.link(sapi)?;
        let result = act(abm, &link);
        let is_over = abm.state() == State::Adm;
        deadline.set(abm.next_wake().filter(|_| !is_over));
        if is_over {
            self.forget(sapi);
        }
        Some(result)
    }

    /// A link is in ADM.
    fn forget(&mut self, sapi: Sapi) {
        let (Some(place), Some(links)) = (place_of(sapi), self.links.as_deref_mut()) else { return };
        links.lles.take(|placed| usize::from(placed.place) == place);
        self.tidy_links();
    }

    /// The same; from ADM if need be.
    fn with_new<T>(&mut self, sapi: Sapi, act: impl FnOnce(&mut Abm, &Link) -> T) -> Option<T> {
        let place = place_of(sapi)?;
        self.links.get_or_insert_default().make(place);
        self.with(sapi, act)
    }
}

/// Deciphers an I frame. Gives where its information stands; `None` for an S frame.
fn opened(
    fold: Option<Fold>,
    abm: &Abm,
    link: &Link,
    layout: &Layout,
    frame: &mut Frame,
) -> Result<Option<Range<usize>>, Drop> {
    let ns = match layout.header.control {
        Control::I { ns, .. } => Some(ns),
        Control::S { .. } | Control::Ui { .. } | Control::U { .. } => None,
    };
    if let Some(ns) = ns.filter(|_| link.ciphering.is_on()) {
        let ciphered = frame.get_mut(layout.header_len..).unwrap_or_default();
        link.ciphering.apply(abm.cipher_input(ns), Direction::received_by(link.role), ciphered);
    }
    if !layout.fcs_is_right_folded(frame, fold) {
        return Err(Drop::LlcBadFcs);
    }
    Ok(ns.map(|_| layout.info()))
}

/// The octets of XID parameters.
fn octets_of(parameters: impl Iterator<Item = Parameter>) -> Vec<u8> {
    let mut octets = Vec::new();
    parameters.for_each(|parameter| parameter.emit(&mut octets));
    octets
}

//! PDP context activation (clause 6.1.3.1).

use super::{SmAction, SmContext, SmCreated, SmState, Step};
use crate::about::About as _;
use crate::sm::{CONTEXTS, nsapi_of};
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_wire::gtp::Cause;
use gannet_wire::id::{Nsapi, Sapi};
use gannet_wire::l3::ie::{PdpAddress, ProtocolConfiguration, QosProfile, SmCause};
use gannet_wire::l3::sm::{
    ActivateAccept, ActivateReject, ActivateRequest, ActivateSecondaryAccept, ActivateSecondaryReject,
    SmMessage,
};

/// About a phone with the wrong flag, once.
const SERVED: &str = "ACTIVATE PDP CONTEXT REQUEST with TI flag 1 though the phone begins the transaction: served, and \
                      answered with flag 0 ('transaction-flag lenient')";
/// About one that is not served.
const IGNORED: &str = "ACTIVATE PDP CONTEXT REQUEST ignored: its TI flag is 1, and the network has requested no such context \
                       (24.008 clause 8.3.2 c, 'transaction-flag')";
/// PDP type organisation: IETF.
const IETF: u8 = 1;

impl Step<'_, '_, '_> {
    pub(super) fn activate(&mut self, ti: u8, ti_flag: bool, request: ActivateRequest) {
        if !self.makes_room((ti, ti_flag), request.nsapi, Some(request.address)) {
            return;
        }
        let wanted = request.address;
        let address = match usable(wanted, self.network.cfg.ipv6) {
            Some(address) => address,
            // Clause 6.1.3.1.3.
            None => return self.reject(ti, ti_flag, false, (SmCause::UnknownPdpAddressOrType, None)),
        };
        let request = ActivateRequest { address, ..request };
        let selected = match self.network.selection.select(&request) {
            Ok(selected) => selected,
            Err(cause) => return self.reject(ti, ti_flag, false, (cause, None)),
        };
        self.replace_same_address(selected.apn, selected.address);
        let sapi = if request.sapi == Sapi(0) { Sapi::DATA3 } else { request.sapi };
        let mut asked = selected.qos;
        if request.qos.r99.is_none() {
            // 23.107 clause 9.1.2.1: a mobile of R97 gets the profile of R97.
            asked.r99 = None;
        }
        let context = SmContext::new(ti, ti_flag, sapi, selected.apn, &asked, wanted);
        self.contexts.put(request.nsapi, context);
        self.log(format_args!("NSAPI {}: activation of {}", request.nsapi, selected.address));
        self.out.push(SmAction::CreateTunnel {
            nsapi: request.nsapi,
            apn: selected.apn,
            qos: asked,
            address: selected.address,
            pco: request.pco,
            linked: None,
            tft: None,
        });
    }

    /// Looks whether a request for a new context is one at all, and lets the contexts give way whose places it takes.
    ///
    /// `address` is that of a primary one.
    pub(super) fn makes_room(
        &mut self,
        (ti, ti_flag): (u8, bool),
        nsapi: Nsapi,
        address: Option<PdpAddress>,
    ) -> bool {
        let known = self.contexts.by_ti(ti, ti_flag);
        if ti_flag && known.is_none() && !self.serves_flag(ti, address) {
            self.drop(Drop::SmIgnored);
            return false;
        }
        if self.is_repeated(known, nsapi) {
            self.drop(Drop::SmRepeated);
            return false;
        }
        // Clause 8.3.2 d: the old context of this identifier is deactivated without notifying the mobile.
        // Clauses 6.1.3.1.5 c and 6.1.3.2.3 b (network side): likewise the old context of this NSAPI.
        for old in known.into_iter().chain([nsapi]) {
            self.replace(old);
        }
        true
    }

    /// Clause 8.3.2 c: with flag 1 a request belongs to a transaction that the network began, and is ignored where that knows
    /// of none. Phones that set the flag in their own transactions are served by the operator's will, under an identifier that
    /// the network has not allocated: the answer has flag 0, as in each transaction whose other messages have 1.
    fn serves_flag(&mut self, ti: u8, address: Option<PdpAddress>) -> bool {
        let is_served = match self.network.requested {
            // Clause 6.1.3.1.2: what the network has requested, under the network's identifier.
            Some(requested) if requested.ti() == ti => return address == Some(requested.address()),
            Some(_) | None => self.network.cfg.accept_ti_flag,
        };
        if !is_served {
            self.explain(format_args!("{IGNORED}"));
        } else if !core::mem::replace(self.network.wrong_flag_said, true) {
            let whose = self.network.whose;
            self.cx.log_of(whose, Category::Pdp, Level::Notice, format_args!("{SERVED}"));
        }
        is_served
    }

    /// True for the same request again, told by its identifier and NSAPI, while the GGSN has not answered: T3380 expired
    /// in the mobile (clause 6.1.3.1.5 a), and the answer that is on its way answers this one too.
    fn is_repeated(&self, known: Option<Nsapi>, nsapi: Nsapi) -> bool {
        known == Some(nsapi)
            && self.contexts.get(nsapi).is_some_and(|context| context.state == SmState::ActivePending)
    }

    /// The old context gives way to a new one, without a word to the mobile.
    fn replace(&mut self, nsapi: Nsapi) {
        if self.contexts.get(nsapi).is_some() {
            self.drop(Drop::SmReplaced);
            self.forget(nsapi, SmCause::RegularDeactivation);
        }
    }

    /// Clause 6.1.3.1.5 c (network side): one context only with the same access point, type and (static) address.
    fn replace_same_address(&mut self, apn: u16, address: PdpAddress) {
        if !matches!(address, PdpAddress::Ipv4(_) | PdpAddress::Ipv6(_) | PdpAddress::Ipv4v6(..)) {
            return;
        }
        for nsapi in (0..CONTEXTS).map(nsapi_of) {
            let context = self.contexts.get(nsapi);
            if context.is_some_and(|context| (context.apn, context.address) == (apn, address)) {
                self.replace(nsapi);
            }
        }
    }

    /// Answers a request for a context, whose flag was `ti_flag`.
    pub(super) fn reject(
        &mut self,
        ti: u8,
        ti_flag: bool,
        secondary: bool,
        (cause, pco): (SmCause, Option<ProtocolConfiguration>),
    ) {
        self.drop(Drop::SmRejected);
        self.explain(format_args!("ACTIVATE PDP CONTEXT REJECT: {cause}"));
        if secondary {
            self.answer(ti, ti_flag, ActivateSecondaryReject { cause });
        } else {
            self.answer(ti, ti_flag, ActivateReject { cause, pco });
        }
    }

    pub(super) fn created(&mut self, nsapi: Nsapi, created: SmCreated) {
        let SmCreated { qos, address, cause, pco } = created;
        let Some(context) = self.contexts.get_mut(nsapi) else { return self.drop(Drop::SmUnexpected) };
        match context.state {
            SmState::ActivePending => {}
            // The answer to a question that nobody asks any more.
            SmState::Active
            | SmState::ModifyPending
            | SmState::Updating
            | SmState::InactivePending(_)
            | SmState::Releasing => return self.drop(Drop::SmUnexpected),
        }
        let negotiated = negotiated(&qos, &context.qos());
        // A secondary context has the address of that to which it is linked, whatever the GGSN says.
        let secondary = context.is_secondary();
        let (wanted, given) = (context.address, address.filter(|_| !secondary));
        context.address = given.unwrap_or(wanted);
        // Clause 9.5.2.2: the mobile is told its address unless it asked for exactly this one.
        let said = given.filter(|given| *given != wanted);
        let cause = given.and_then(|given| narrowed(wanted, given, cause));
        context.qos = negotiated.pack();
        context.state = SmState::Active;
        let (sapi, address, radio_priority) = (context.sapi(), context.address, context.radio_priority());
        let (qos, packet_flow_identifier) = (negotiated, None);
        let accept: SmMessage = if secondary {
            ActivateSecondaryAccept { sapi, qos, radio_priority, packet_flow_identifier }.into()
        } else {
            ActivateAccept { sapi, qos, radio_priority, address: said, pco, packet_flow_identifier, cause }
                .into()
        };
        // The node is ready for data before the mobile knows that it may send.
        self.out.push(SmAction::Active { nsapi, sapi, qos: negotiated, address, radio_priority });
        self.send(nsapi, accept);
        match cause {
            Some(cause) => {
                self.log(format_args!("NSAPI {nsapi}: active, {address}, {negotiated}, {cause}"));
            }
            None => self.log(format_args!("NSAPI {nsapi}: active, {address}, {negotiated}")),
        }
    }

    pub(super) fn create_failed(&mut self, nsapi: Nsapi, cause: SmCause, pco: Option<ProtocolConfiguration>) {
        let pending = self.contexts.get(nsapi).filter(|context| context.state == SmState::ActivePending);
        let Some(((ti, ti_flag), secondary)) = pending.map(|context| (context.ti(), context.is_secondary()))
        else {
            return self.drop(Drop::SmUnexpected);
        };
        // Clauses 6.1.3.1.3 and 6.1.3.2.2.
        self.reject(ti, !ti_flag, secondary, (cause, pco));
        self.release(nsapi, cause);
    }
}

/// What a GGSN's answer says of the quality of service: what it leaves open is as it was asked for, and a mobile of R97 gets
/// a profile of R97 (23.107 clause 9.1.2.1).
pub(super) fn negotiated(answer: &QosProfile, asked: &QosProfile) -> QosProfile {
    let mut qos = answer.filled(&asked.concrete());
    if asked.r99.is_none() {
        qos.r99 = None;
    }
    qos
}

/// Why a mobile that asked for both versions of IP in one context gets one of them, so that it knows whether to ask for the other
/// in a second context (clause 6.1.3.1.1). The GGSN says by its cause whether single addresses are its limit or its choice
/// (29.060 clause 7.3.2); where nothing was asked of it but one version, that is the choice of the network as well.
fn narrowed(wanted: PdpAddress, given: PdpAddress, cause: Cause) -> Option<SmCause> {
    if !wanted.is_dual() {
        return None;
    }
    match given {
        PdpAddress::Ipv4(_) | PdpAddress::Ipv4Dynamic | PdpAddress::Ipv6(_) | PdpAddress::Ipv6Dynamic
            if cause == Cause::NewPdpTypeSingleAddress =>
        {
            Some(SmCause::SingleAddressBearersOnly)
        }
        PdpAddress::Ipv4(_) | PdpAddress::Ipv4Dynamic => Some(SmCause::Ipv4Only),
        PdpAddress::Ipv6(_) | PdpAddress::Ipv6Dynamic => Some(SmCause::Ipv6Only),
        PdpAddress::Ipv4v6Dynamic
        | PdpAddress::Ipv4v6(..)
        | PdpAddress::Ppp
        | PdpAddress::Empty
        | PdpAddress::Other { .. } => None,
    }
}

/// The address in the types that the SGSN serves; the unspecified one asks for any (29.060 clause 7.3.1).
///
/// Clause 10.5.6.4: an IETF type that this version does not know is to be read as IPv4. PPP, X.25 and the empty type are
/// not served.
fn usable(address: PdpAddress, ipv6: bool) -> Option<PdpAddress> {
    match address.left_open() {
        address @ (PdpAddress::Ipv4Dynamic | PdpAddress::Ipv4(_)) => Some(address),
        address @ (PdpAddress::Ipv6Dynamic | PdpAddress::Ipv6(_)) => ipv6.then_some(address),
        PdpAddress::Ipv4v6Dynamic if !ipv6 => Some(PdpAddress::Ipv4Dynamic),
        PdpAddress::Ipv4v6(v4, _) if !ipv6 => Some(PdpAddress::Ipv4(v4).left_open()),
        address @ (PdpAddress::Ipv4v6Dynamic | PdpAddress::Ipv4v6(..)) => Some(address),
        PdpAddress::Other { organisation: IETF, .. } => Some(PdpAddress::Ipv4Dynamic),
        PdpAddress::Ppp | PdpAddress::Empty | PdpAddress::Other { .. } => None,
    }
}

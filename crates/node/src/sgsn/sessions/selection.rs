//! What a mobile gets for its activation request: which access point, which GGSN, which quality of service.
//!
//! Whom no HLR speaks for may use every access point that is routed, and is granted the quality of service that it asks for,
//! within the ceilings of the configuration. Of others the subscription has a say (03.60 annex A [23.060]).

use crate::sgsn::admission::{Admitted, Room};
use crate::sgsn::config::{GgsnPeer, SgsnConfig};
use crate::sgsn::quality::{Ceilings, within_subscription};
use gannet_proto::gsup::SubscriberData;
use gannet_proto::sm::network::{Selected, Selection};
use gannet_wire::gsup::{PdpInfo, SubscribedApn};
use gannet_wire::gtp::value::SelectionMode;
use gannet_wire::id::{Imsi, Nsapi};
use gannet_wire::l3::ie::{Apn, PdpAddress, QosProfile, SmCause};
use gannet_wire::l3::sm::ActivateRequest;
use std::collections::BTreeSet;

/// Different APNs that are known at a time. A context names its APN by a number.
const APNS_MAX: usize = 1024;

/// Where an access point leads to.
#[derive(Debug)]
struct Route {
    /// `None` for all others.
    apn: Option<Apn>,
    /// How the IMSI of a subscriber begins for whom it is.
    imsi_prefix: String,
    ggsn: GgsnPeer,
}

/// The access points that mobiles have asked for, and where they lead.
#[derive(Debug)]
pub struct AccessPoints {
    /// The longest IMSI prefixes first.
    routes: Vec<Route>,
    default: Option<GgsnPeer>,
    pub(super) ceilings: Ceilings,
    /// APN by the number that contexts have.
    names: Vec<Option<Apn>>,
}

impl AccessPoints {
    /// As configured.
    #[must_use]
    pub fn new(config: &SgsnConfig) -> Self {
        let mut this =
            Self { routes: Vec::new(), default: None, ceilings: config.ceilings, names: Vec::new() };
        this.reroute(config);
        this
    }

    /// New contexts go as this configuration says; an APN keeps its number.
    pub fn reroute(&mut self, config: &SgsnConfig) {
        let routes = config.apns.iter().filter_map(|route| {
            let ggsn = *config.ggsns.get(route.ggsn)?;
            let apn = if route.apn == "*" { None } else { Some(route.apn.parse().ok()?) };
            Some(Route { apn, imsi_prefix: route.imsi_prefix.clone(), ggsn })
        });
        // Where no APN is routed, all go to the first GGSN.
        self.default = config.ggsns.first().filter(|_| config.apns.is_empty()).copied();
        self.routes = routes.collect();
        self.routes.sort_by_key(|route| core::cmp::Reverse(route.imsi_prefix.len()));
        self.ceilings = config.ceilings;
    }

    /// The routes that are for a subscriber.
    fn routes_of(&self, imsi: Option<Imsi>) -> impl Iterator<Item = &Route> {
        let digits = imsi.map(|imsi| imsi.to_string()).unwrap_or_default();
        self.routes.iter().filter(move |route| digits.starts_with(&route.imsi_prefix))
    }

    /// By the whole name, else by what it means ([`Apn::means`]), else by the wildcard; of several by the longest prefix of
    /// the IMSI.
    pub fn ggsn_of(&self, apn: &Apn, imsi: Option<Imsi>) -> Option<GgsnPeer> {
        let by = |is_it: &dyn Fn(Option<&Apn>) -> bool| {
            self.routes_of(imsi).find(|route| is_it(route.apn.as_ref())).map(|route| route.ggsn)
        };
        by(&|name| name == Some(apn))
            .or_else(|| by(&|name| name.is_some_and(|name| name.means(apn))))
            .or_else(|| by(&|name| name.is_none()))
            .or(self.default)
    }

    /// The number of an APN that a subscriber may use.
    ///
    /// # Errors
    /// The cause of a rejection: it leads nowhere, or there are too many.
    pub fn number_of(&mut self, apn: &Apn, imsi: Option<Imsi>) -> Result<u16, SmCause> {
        self.ggsn_of(apn, imsi).ok_or(SmCause::MissingOrUnknownApn)?;
        let known = self.names.iter().position(|name| name.as_ref() == Some(apn));
        let known = known.or_else(|| {
            let free = self.names.iter().position(Option::is_none)?;
            *self.names.get_mut(free)? = Some(apn.clone());
            Some(free)
        });
        let place = match known {
            Some(place) => place,
            None if self.names.len() < APNS_MAX => {
                self.names.push(Some(apn.clone()));
                self.names.len() - 1
            }
            None => return Err(SmCause::InsufficientResources),
        };
        u16::try_from(place).map_err(|_| SmCause::InsufficientResources)
    }

    /// An APN by number.
    #[must_use]
    pub fn get(&self, number: u16) -> Option<&Apn> {
        self.names.get(usize::from(number))?.as_ref()
    }

    /// No other name can be learned.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.names.len() == APNS_MAX && self.names.iter().all(Option::is_some)
    }

    /// Forgets every name whose number is not among these.
    pub fn forget_all_but(&mut self, in_use: &BTreeSet<u16>) {
        for (entry, number) in self.names.iter_mut().zip(0_u16..) {
            if !in_use.contains(&number) {
                *entry = None;
            }
        }
    }

    /// The APN of a mobile that asks for none: the first that is routed by name. Where there is none the GGSN is to choose, to
    /// which all others go.
    fn default_apn(&self, imsi: Option<Imsi>) -> Apn {
        self.routes_of(imsi).find_map(|route| route.apn.clone()).unwrap_or(Apn::UNNAMED)
    }
}

impl AccessPoints {
    /// Of whom no subscription speaks.
    fn select(&mut self, request: &ActivateRequest, imsi: Option<Imsi>) -> Result<Selected, SmCause> {
        let apn = request.apn.clone().unwrap_or_else(|| self.default_apn(imsi));
        let apn = self.number_of(&apn, imsi)?;
        Ok(Selected { apn, qos: self.ceilings.grant(&request.qos), address: request.address })
    }
}

/// The piece of a subscription that has this access point: by what its name means ([`Apn::means`]), else by the wildcard.
/// Without a name the first one.
pub fn subscribed<'a>(data: &'a SubscriberData, apn: Option<&Apn>) -> Option<&'a PdpInfo> {
    let infos = data.pdp_infos();
    let named = |info: &&PdpInfo| match (&info.apn, apn) {
        (Some(SubscribedApn::Name(name)), Some(apn)) => name.means(apn),
        (Some(SubscribedApn::Name(_)), None) => true,
        (Some(SubscribedApn::Any | SubscribedApn::Unreadable) | None, _) => false,
    };
    let any = |info: &&PdpInfo| matches!(info.apn, Some(SubscribedApn::Any) | None);
    infos.iter().find(named).or_else(|| infos.iter().find(any))
}

/// How an access point was chosen (29.060 clause 7.7.12, 23.060 annex A): verified where the subscription has it by name, and
/// not where it has the wildcard or where there is none.
pub fn selection_mode(data: Option<&SubscriberData>, apn: &Apn, by_network: bool) -> SelectionMode {
    let info = data.and_then(|data| subscribed(data, Some(apn)));
    match info.and_then(|info| info.apn.as_ref()) {
        Some(SubscribedApn::Name(_)) => SelectionMode::Verified,
        _ if by_network => SelectionMode::NetworkNotVerified,
        Some(SubscribedApn::Any | SubscribedApn::Unreadable) | None => SelectionMode::MsNotVerified,
    }
}

/// The access points as one subscriber may use them.
pub struct OfSubscriber<'a> {
    /// All of them.
    pub points: &'a mut AccessPoints,
    /// Who it is.
    pub imsi: Option<Imsi>,
    /// Its subscription, where an HLR has said one.
    pub data: Option<&'a SubscriberData>,
    /// What its cell and the node have room for.
    pub room: Room,
    /// What its contexts claim of it already, in octets/s; for [`SmEvent::is_wish`](gannet_proto::sm::network::SmEvent::is_wish).
    pub own: Vec<(Nsapi, u64)>,
    /// What was decided last.
    pub decided: Option<Decided>,
    /// The access point that was asked for and is refused, and why.
    pub refused: Option<(Option<Apn>, SmCause)>,
    /// The mobile has named no access point.
    pub by_network: bool,
}

impl<'a> OfSubscriber<'a> {
    /// Nothing is decided yet.
    pub const fn new(
        (points, imsi): (&'a mut AccessPoints, Option<Imsi>),
        data: Option<&'a SubscriberData>,
        room: Room,
        own: Vec<(Nsapi, u64)>,
    ) -> Self {
        Self { points, imsi, data, room, own, decided: None, refused: None, by_network: false }
    }
}

impl OfSubscriber<'_> {
    /// Which rule has refused an access point.
    pub fn rule(&self, cause: SmCause) -> &'static str {
        match (cause, self.data) {
            (SmCause::MissingOrUnknownApn, _) => "no 'apn' or 'ggsn' line leads from it to a GGSN",
            (SmCause::InsufficientResources, _) => "as many access points are in use as may be",
            (_, Some(_)) => "it is not in the subscription that the HLR has sent",
            (_, None) => "it is not served",
        }
    }
}

/// What became of an activation's wish.
#[derive(Debug, Clone, Copy)]
pub struct Decided {
    /// Of which context.
    pub nsapi: Nsapi,
    /// What the mobile wished.
    pub wish: QosProfile,
    /// What the GGSN is asked for.
    pub granted: QosProfile,
    /// Whether what it guarantees is given.
    pub admitted: Result<Admitted, SmCause>,
}

impl Selection for OfSubscriber<'_> {
    fn select(&mut self, request: &ActivateRequest) -> Result<Selected, SmCause> {
        self.by_network = request.apn.is_none();
        let selected = self.subscribed(request).inspect_err(|cause| {
            self.refused = Some((request.apn.clone(), *cause));
        })?;
        let qos = self.decide(request.nsapi, &request.qos, &selected.qos)?;
        Ok(Selected { qos, ..selected })
    }

    fn grant(&mut self, apn: u16, nsapi: Nsapi, wish: &QosProfile) -> Result<QosProfile, SmCause> {
        let subscribed = match self.data {
            None => *wish,
            Some(data) => {
                let name = self.points.get(apn).ok_or(SmCause::MissingOrUnknownApn)?;
                let info = subscribed(data, Some(name)).ok_or(SmCause::ServiceOptionNotSubscribed)?;
                info.qos.as_ref().map_or(*wish, |most| within_subscription(wish, &most.profile()))
            }
        };
        self.decide(nsapi, wish, &self.points.ceilings.grant(&subscribed))
    }
}

impl OfSubscriber<'_> {
    /// Of what is granted to a `wish`, what there is room for, where what the context claims already gives way.
    fn decide(
        &mut self,
        nsapi: Nsapi,
        wish: &QosProfile,
        granted: &QosProfile,
    ) -> Result<QosProfile, SmCause> {
        let own = self.own.iter().find(|(other, _)| *other == nsapi).map_or(0, |(_, claim)| *claim);
        let result = self.room.and(own).admit(granted);
        let (granted, admitted) = match result {
            Ok((granted, admitted)) => (granted, Ok(admitted)),
            Err(cause) => (*granted, Err(cause)),
        };
        self.decided = Some(Decided { nsapi, wish: *wish, granted, admitted });
        admitted.map(|_| granted)
    }

    fn subscribed(&mut self, request: &ActivateRequest) -> Result<Selected, SmCause> {
        let Some(data) = self.data else { return self.points.select(request, self.imsi) };
        let info = subscribed(data, request.apn.as_ref()).ok_or(SmCause::ServiceOptionNotSubscribed)?;
        let by_name = match &info.apn {
            Some(SubscribedApn::Name(name)) => Some(name.clone()),
            Some(SubscribedApn::Any | SubscribedApn::Unreadable) | None => None,
        };
        let apn = request.apn.clone().or(by_name).unwrap_or_else(|| self.points.default_apn(self.imsi));
        let wish = match &info.qos {
            Some(subscribed) => within_subscription(&request.qos, &subscribed.profile()),
            None => request.qos,
        };
        Ok(Selected {
            apn: self.points.number_of(&apn, self.imsi)?,
            qos: self.points.ceilings.grant(&wish),
            address: address(request.address, info.address)?,
        })
    }
}

/// A static address is the subscription's; whoever asks for another one, or for another type, is refused.
fn address(wish: PdpAddress, subscribed: Option<PdpAddress>) -> Result<PdpAddress, SmCause> {
    match (wish, subscribed) {
        (wish, None | Some(PdpAddress::Empty)) => Ok(wish),
        (PdpAddress::Empty, Some(of)) => Ok(of),
        (PdpAddress::Ipv4Dynamic, Some(of @ PdpAddress::Ipv4(_)))
        | (PdpAddress::Ipv6Dynamic, Some(of @ PdpAddress::Ipv6(_)))
        | (PdpAddress::Ipv4v6Dynamic, Some(of)) => Ok(of),
        // Who may have both may have one of them.
        (PdpAddress::Ipv4Dynamic | PdpAddress::Ipv6Dynamic, Some(PdpAddress::Ipv4v6Dynamic)) => Ok(wish),
        (wish, Some(of)) if wish == of => Ok(of),
        (_, Some(_)) => Err(SmCause::ServiceOptionNotSubscribed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_static_address_is_the_subscriptions() {
        let fixed = PdpAddress::Ipv4([192, 0, 2, 7].into());
        let refused = Err(SmCause::ServiceOptionNotSubscribed);
        assert_eq!(address(PdpAddress::Ipv4Dynamic, Some(fixed)), Ok(fixed));
        assert_eq!(address(PdpAddress::Empty, Some(fixed)), Ok(fixed));
        assert_eq!(address(fixed, Some(fixed)), Ok(fixed));
        assert_eq!(address(fixed, None), Ok(fixed));
        assert_eq!(address(PdpAddress::Ipv4([192, 0, 2, 8].into()), Some(fixed)), refused);
        assert_eq!(address(PdpAddress::Ipv6Dynamic, Some(fixed)), refused);
        assert_eq!(address(PdpAddress::Ipv4v6Dynamic, Some(fixed)), Ok(fixed));
        let (both, six) = (PdpAddress::Ipv4v6Dynamic, PdpAddress::Ipv6Dynamic);
        assert_eq!(address(six, Some(both)), Ok(six));
    }

    #[test]
    fn names_that_nobody_uses_make_room() {
        let ggsns = vec![GgsnPeer {
            number: 0,
            address: [192, 0, 2, 6].into(),
            version: gannet_proto::gtp::Version::V1,
        }];
        let mut points = AccessPoints::new(&SgsnConfig { ggsns, ..SgsnConfig::default() });
        let apn = |n: usize| format!("apn{n}").parse::<Apn>().unwrap();
        for n in 0..APNS_MAX {
            assert_eq!(points.number_of(&apn(n), None).map(usize::from), Ok(n));
        }
        assert!(points.is_full());
        assert_eq!(points.number_of(&apn(APNS_MAX), None), Err(SmCause::InsufficientResources));
        assert_eq!(points.number_of(&apn(7), None), Ok(7), "a name that is known");
        points.forget_all_but(&BTreeSet::from([7]));
        assert_eq!(points.number_of(&apn(APNS_MAX), None), Ok(0));
        assert_eq!(points.get(7), Some(&apn(7)));
    }
}

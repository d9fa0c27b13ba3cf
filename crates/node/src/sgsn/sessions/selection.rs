//! What a mobile gets for its activation request: which access point, which GGSN, which quality of service.
//!
//! Until there are subscriptions, everybody may use every access point that is routed, and is granted the quality of
//! service that it asks for, within the ceilings of the configuration.

use crate::sgsn::config::{GgsnPeer, SgsnConfig};
use crate::sgsn::quality::Ceilings;
use gannet_proto::sm::network::{Selected, Selection};
use gannet_wire::l3::ie::{Apn, SmCause};
use gannet_wire::l3::sm::ActivateRequest;
use std::collections::BTreeSet;

/// Different APNs that are known at a time. A context names its APN by a number.
const APNS_MAX: usize = 1024;

/// The access points that mobiles have asked for, and where they lead.
#[derive(Debug)]
pub struct AccessPoints {
    /// (network identifier or `*`, GGSN).
    routes: Vec<(String, GgsnPeer)>,
    default: Option<GgsnPeer>,
    ceilings: Ceilings,
    /// APN by the number that contexts have; its GGSN beside it.
    names: Vec<Option<(Apn, GgsnPeer)>>,
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
            let ggsn = config.ggsns.get(route.ggsn)?;
            Some((route.apn.to_ascii_lowercase(), *ggsn))
        });
        // Where no APN is routed, all go to the first GGSN.
        self.default = config.ggsns.first().filter(|_| config.apns.is_empty()).copied();
        self.routes = routes.collect();
        self.ceilings = config.ceilings;
        let mut names = core::mem::take(&mut self.names);
        for (apn, ggsn) in names.iter_mut().flatten() {
            *ggsn = self.ggsn_of(apn.as_str()).unwrap_or(*ggsn);
        }
        self.names = names;
    }

    fn ggsn_of(&self, apn: &str) -> Option<GgsnPeer> {
        let exact = self.routes.iter().find(|(name, _)| name.eq_ignore_ascii_case(apn));
        let wildcard = || self.routes.iter().find(|(name, _)| name == "*");
        exact.or_else(wildcard).map(|(_, ggsn)| *ggsn).or(self.default)
    }

    /// The number of an APN.
    ///
    /// # Errors
    /// The cause of a rejection: it leads nowhere, or there are too many.
    pub fn number_of(&mut self, apn: &Apn) -> Result<u16, SmCause> {
        let ggsn = self.ggsn_of(apn.as_str()).ok_or(SmCause::MissingOrUnknownApn)?;
        let known = self.names.iter().position(|entry| entry.as_ref().is_some_and(|(name, _)| name == apn));
        let known = known.or_else(|| {
            let free = self.names.iter().position(Option::is_none)?;
            *self.names.get_mut(free)? = Some((apn.clone(), ggsn));
            Some(free)
        });
        let place = match known {
            Some(place) => place,
            None if self.names.len() < APNS_MAX => {
                self.names.push(Some((apn.clone(), ggsn)));
                self.names.len() - 1
            }
            None => return Err(SmCause::InsufficientResources),
        };
        u16::try_from(place).map_err(|_| SmCause::InsufficientResources)
    }

    /// An APN and its GGSN by number.
    #[must_use]
    pub fn get(&self, number: u16) -> Option<&(Apn, GgsnPeer)> {
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

    /// The APN of a mobile that asks for none: the first that is routed by name.
    fn default_apn(&self) -> Option<Apn> {
        self.routes.iter().find_map(|(name, _)| name.parse().ok())
    }
}

impl Selection for AccessPoints {
    fn select(&mut self, request: &ActivateRequest) -> Result<Selected, SmCause> {
        let apn = request.apn.clone().or_else(|| self.default_apn()).ok_or(SmCause::MissingOrUnknownApn)?;
        let apn = self.number_of(&apn)?;
        Ok(Selected { apn, qos: self.ceilings.grant(&request.qos), address: request.address })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(points.number_of(&apn(n)).map(usize::from), Ok(n));
        }
        assert!(points.is_full());
        assert_eq!(points.number_of(&apn(APNS_MAX)), Err(SmCause::InsufficientResources));
        assert_eq!(points.number_of(&apn(7)), Ok(7), "a name that is known");
        points.forget_all_but(&BTreeSet::from([7]));
        assert_eq!(points.number_of(&apn(APNS_MAX)), Ok(0));
        assert_eq!(points.get(7).map(|(name, _)| name), Some(&apn(7)));
    }
}

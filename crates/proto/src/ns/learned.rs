//! What an SGSN has learned of its BSSs, to go on after a restart: NS-VCs that NS-RESET made known, and NSEs that IP-SNS did.
//!
//! After the restart an NS-VC is reset from here (08.16 clause 7.3 [48.016]), so that its BSS need not find out by its own
//! test that it has to. An NSE of IP-SNS has no reset: its endpoints are used again and tested (48.016 clause 6.2); a BSS
//! that has forgotten them begins with SNS-SIZE. What a configuration does not allow any more, or has otherwise, is passed
//! over.

use super::sns::{SnsSetup, SnsState};
use super::table::NewVc;
use super::vc::VcOrigin;
use super::{NsEntity, NsOutput};
use core::net::SocketAddr;
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::{Nsei, Nsvci};
use gannet_wire::ns::IpElement;
use serde::{Deserialize, Serialize};

/// An IP endpoint with its weights for signalling and data.
type Endpoint = (SocketAddr, u8, u8);

/// What was learned of one NS-VC or NSE.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Learned {
    /// An NS-VC that an NS-RESET made known.
    Vc {
        /// Whose.
        nsei: Nsei,
        /// Its identifier.
        nsvci: Nsvci,
        /// Our endpoint.
        port: u16,
        /// The far endpoint.
        peer: SocketAddr,
    },
    /// An NSE that speaks IP-SNS, each side of which knows the endpoints of the other.
    Sns {
        /// Which.
        nsei: Nsei,
        /// Our endpoint over which its PDUs go.
        port: u16,
        /// The far one.
        peer: SocketAddr,
        /// Our endpoints, as it was told.
        local: Vec<Endpoint>,
        /// Its endpoints.
        remote: Vec<Endpoint>,
    },
}

impl Learned {
    /// Of which NSE.
    #[must_use]
    pub const fn nsei(&self) -> Nsei {
        match self {
            Self::Vc { nsei, .. } | Self::Sns { nsei, .. } => *nsei,
        }
    }
}

fn endpoint(element: &IpElement) -> Endpoint {
    (element.endpoint, element.signalling_weight, element.data_weight)
}

fn element(&(endpoint, signalling_weight, data_weight): &Endpoint) -> IpElement {
    IpElement { endpoint, signalling_weight, data_weight }
}

impl NsEntity {
    /// All that was learned, for [`NsEntity::recall`]. It changes only when [`NsEntity::address_changes`] does.
    #[must_use]
    pub fn learned(&self) -> Vec<Learned> {
        let vcs = self.vcs().filter(|vc| vc.origin == VcOrigin::Announced).filter_map(|vc| {
            let (nsei, nsvci, Port(port), peer) = (vc.nsei, vc.nsvci?, vc.port, vc.peer);
            Some(Learned::Vc { nsei, nsvci, port, peer })
        });
        let sns = self.sns_nses().filter(|sns| sns.state() == SnsState::Configured).map(|sns| {
            let (Port(port), peer) = sns.path();
            Learned::Sns {
                nsei: sns.nsei(),
                port,
                peer,
                local: sns.local().iter().map(|local| endpoint(&local.element)).collect(),
                remote: sns.remote().iter().map(endpoint).collect(),
            }
        });
        vcs.chain(sns).collect()
    }

    /// Goes on with what was learned before a restart. To be called at the start, before [`NsEntity::reset_all`], which
    /// resets the NS-VCs. False where the configuration has no place for it.
    pub fn recall(&mut self, cx: &mut Context<'_>, learned: &Learned, out: &mut Batch<NsOutput>) -> bool {
        match learned {
            Learned::Vc { nsei, nsvci, port, peer } => {
                let is_free = self.is_open(Port(*port), (*nsei, *nsvci))
                    && self.table.named(*nsei, *nsvci).is_none()
                    && self.table.at(Port(*port), *peer).is_none()
                    && self.sns(*nsei).is_none();
                let new = NewVc::named(*nsei, *nsvci, (Port(*port), *peer), VcOrigin::Announced);
                is_free && self.table.insert(new, cx.now).is_some()
            }
            Learned::Sns { nsei, port, peer, local, remote } => {
                let ours = self.sns(*nsei).map_or(self.config.sns.local.as_slice(), |sns| sns.local());
                let is_same = ours.iter().map(|ours| endpoint(&ours.element)).eq(local.iter().copied());
                let is_known = self.sns(*nsei).is_some_and(|sns| sns.state() == SnsState::Idle);
                let may_come = self.config.sns.open.contains(&Port(*port)) && self.sns(*nsei).is_none();
                if !is_same || !(is_known || may_come) || self.table.nse(*nsei).is_some() {
                    return false;
                }
                let path = (Port(*port), *peer);
                let (local, initial) = (self.config.sns.local.clone(), Vec::new());
                let setup = may_come.then_some(SnsSetup { nsei: *nsei, local, spare: 0, initial });
                self.recall_sns(cx, *nsei, (setup, path), remote.iter().map(element).collect(), out)
            }
        }
    }
}

#[cfg(test)]
mod tests;

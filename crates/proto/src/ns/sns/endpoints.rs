//! Lists of endpoints, and the NS-VCs that follow from them.

use super::super::table::NewVc;
use super::super::vc::{VcIndex, VcOrigin};
use super::super::{NsEntity, NsOutput};
use super::{LocalEndpoint, Sns};
use core::net::SocketAddr;
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::Nsei;
use gannet_wire::ns::{Cause, IpElement};
use std::collections::BTreeMap;

/// True where these endpoints can carry both signalling and data: neither sum of weights is 0 (48.016 clause 6.2).
pub(super) fn can_carry(elements: &[IpElement]) -> bool {
    elements.iter().any(|element| element.signalling_weight > 0)
        && elements.iter().any(|element| element.data_weight > 0)
}

/// How many are of IPv4, and how many of IPv6.
pub(super) fn count(elements: &[IpElement]) -> (usize, usize) {
    let ip4 = elements.iter().filter(|element| element.endpoint.is_ipv4()).count();
    (ip4, elements.len() - ip4)
}

/// The NS-VCs: each local endpoint with each remote one of the same kind.
fn pairs(local: &[LocalEndpoint], remote: &[IpElement]) -> BTreeMap<(Port, SocketAddr), IpElement> {
    let of = |local: &LocalEndpoint| {
        let (port, ipv4) = (local.port, local.element.endpoint.is_ipv4());
        let same = remote.iter().filter(move |remote| remote.endpoint.is_ipv4() == ipv4);
        same.map(move |remote| ((port, remote.endpoint), *remote))
    };
    local.iter().flat_map(of).collect()
}

impl NsEntity {
    /// What keeps `nsei` from having `remote` as its peer's endpoints.
    pub(super) fn check_remote(&self, sns: &Sns, remote: &[IpElement]) -> Result<(), Cause> {
        let (ip4, ip6) = count(remote);
        let max = self.config.sns.endpoints_max;
        if ip4 > sns.size.ip4.min(max) {
            return Err(Cause::InvalidNumberOfIpv4Endpoints);
        }
        if ip6 > sns.size.ip6.min(max) {
            return Err(Cause::InvalidNumberOfIpv6Endpoints);
        }
        if !can_carry(remote) {
            return Err(Cause::InvalidWeights);
        }
        let pairs = pairs(&sns.local, remote);
        let known = self.table.nse(sns.nsei).map_or(0, |nse| nse.vcs.len());
        if pairs.is_empty()
            || pairs.len() > sns.size.ns_vcs_max.min(self.config.sns.vcs_max)
            || pairs.len().saturating_sub(known) > self.table.room()
        {
            return Err(Cause::InvalidNumberOfNsVcs);
        }
        let foreign = |(port, peer): &(Port, SocketAddr)| {
            let vc = self.table.at(*port, *peer).and_then(|index| self.table.get(index));
            vc.is_some_and(|vc| vc.nsei != sns.nsei)
        };
        if pairs.keys().any(foreign) { Err(Cause::SemanticallyIncorrectPdu) } else { Ok(()) }
    }

    /// NS-VCs come and go until there is one for each pair; those that are new are given back, and are not tested yet.
    pub(super) fn follow_endpoints(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        out: &mut Batch<NsOutput>,
    ) -> Vec<VcIndex> {
        let Some(sns) = self.sns.named(nsei) else { return Vec::new() };
        let wanted = pairs(&sns.local, &sns.remote);
        let present: Vec<VcIndex> = self.table.nse(nsei).map(|nse| nse.vcs.clone()).unwrap_or_default();
        // New ones first, so that the NSE is not unavailable meanwhile.
        let mut new = Vec::new();
        for ((port, peer), element) in &wanted {
            let (signalling_weight, data_weight) = (element.signalling_weight, element.data_weight);
            if let Some(index) = self.table.at(*port, *peer) {
                self.table.set_weights(index, signalling_weight, data_weight);
                continue;
            }
            let (port, peer, origin) = (*port, *peer, VcOrigin::Sns);
            let vc = NewVc { nsei, nsvci: None, port, peer, origin, signalling_weight, data_weight };
            new.extend(self.table.insert(vc, cx.now));
        }
        for index in present {
            let key = self.table.get(index).map(|vc| (vc.port, vc.peer));
            if key.is_some_and(|key| !wanted.contains_key(&key)) {
                self.remove_vc(cx, index, out);
            }
        }
        new
    }

    /// Starts the test procedure on NS-VCs that have just come (08.16 clause 7.4 [48.016]).
    pub(in super::super) fn begin_tests(
        &mut self,
        cx: &mut Context<'_>,
        vcs: &[VcIndex],
        out: &mut Batch<NsOutput>,
    ) {
        for index in vcs {
            if let Some(vc) = self.table.get_mut(*index) {
                vc.alive_repeated = 0;
            }
            self.test(cx, *index, out);
            self.arm(cx, *index);
        }
    }

    /// The NS-VCs of an NSE.
    pub(in super::super) fn vcs_of(&self, nsei: Nsei) -> Vec<VcIndex> {
        self.table.nse(nsei).map(|nse| nse.vcs.clone()).unwrap_or_default()
    }
}

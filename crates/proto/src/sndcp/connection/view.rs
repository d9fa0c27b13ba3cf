//! What others may see of SNDCP.

use super::{Acknowledged, AcknowledgedLimits, Compressions, Counted, LinkState, N_PDU_MAX, Served, Sndcp};
use crate::llc::LlcContext;
use crate::llc::abm::Abm;
use gannet_machine::prefetch::Prefetch;
use gannet_wire::id::{Nsapi, Sapi};

impl Sndcp {
    /// Asks for what an N-PDU touches.
    pub fn prefetch(&self, prefetch: Prefetch) {
        prefetch.value(self);
    }

    /// Is the acknowledged link of a SAPI established?
    #[must_use]
    pub fn is_established(&self, sapi: Sapi) -> bool {
        self.saps.iter().any(|sap| sap.sapi == sapi && sap.link == LinkState::Established)
    }

    /// SAPIs whose acknowledged link is established.
    pub fn established(&self) -> impl Iterator<Item = Sapi> + '_ {
        self.saps.iter().filter(|sap| sap.link == LinkState::Established).map(|sap| sap.sapi)
    }

    /// N-PDUs of a SAPI wait, LLC has none whose confirmation would send them, and no establishment is under way: the mobile
    /// has not established the link, it has ended, or there were too few frames.
    pub(super) fn is_stalled(&self, sapi: Sapi) -> bool {
        let link = self.saps.find(|sap| sap.sapi == sapi).map(|sap| sap.link);
        let stands = match link {
            Some(LinkState::Awaited | LinkState::Released) => true,
            Some(LinkState::Established) => self.at_llc(sapi) == 0,
            Some(LinkState::Unused | LinkState::Establishing | LinkState::Interrupted) | None => false,
        };
        let of_it = |served: &&Served| served.sapi == sapi;
        let waits = |it: &Acknowledged| !it.suspended && it.store.has_waiting();
        stands && self.served.iter().filter(of_it).any(|it| it.acknowledged.as_ref().is_some_and(waits))
    }

    /// NSAPIs in acknowledged mode of SAPIs on which nothing goes on by itself any more, while N-PDUs wait: [`Sndcp::resume`]
    /// is to be called after some time.
    pub fn stalled(&self) -> impl Iterator<Item = Nsapi> + '_ {
        self.served
            .iter()
            .filter(|served| served.acknowledged.is_some() && self.is_stalled(served.sapi))
            .map(|served| served.nsapi)
    }

    /// What has been agreed to about compression on a SAPI.
    #[must_use]
    pub fn compressions(&self, sapi: Sapi) -> Option<&Compressions> {
        self.saps.find(|sap| sap.sapi == sapi).map(|sap| &sap.compressions)
    }

    /// Octets of memory that hold what compression has learned, on all SAPIs.
    #[must_use]
    pub fn compression_octets(&self) -> usize {
        self.saps.iter().map(|sap| sap.compressions.octets()).sum()
    }

    /// Which SAPI carries an NSAPI.
    #[must_use]
    pub fn sapi_of(&self, nsapi: Nsapi) -> Option<Sapi> {
        self.served.find(|served| served.nsapi == nsapi).map(|served| served.sapi)
    }

    fn acknowledged_of(&self, nsapi: Nsapi) -> Option<&Acknowledged> {
        self.served.find(|served| served.nsapi == nsapi)?.acknowledged.as_ref()
    }

    /// Has it no NSAPI at all?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.served.is_empty()
    }

    /// Is an NSAPI in acknowledged mode?
    #[must_use]
    pub fn is_acknowledged(&self, nsapi: Nsapi) -> bool {
        self.acknowledged_of(nsapi).is_some()
    }

    /// Would [`Sndcp::data_request`] keep one more N-PDU of any length now, over the links of this LLC?
    #[must_use]
    pub fn has_room(&self, limits: &AcknowledgedLimits, llc: &LlcContext, nsapi: Nsapi) -> bool {
        let limits = limits.beyond(self.beyond(llc, nsapi));
        self.acknowledged_of(nsapi).is_some_and(|acknowledged| acknowledged.has_room(&limits, N_PDU_MAX))
    }

    /// N-PDUs of an NSAPI that may be unconfirmed beyond those of a link with a short window, as the path of its link holds them.
    #[must_use]
    pub fn beyond(&self, llc: &LlcContext, nsapi: Nsapi) -> u16 {
        self.sapi_of(nsapi).and_then(|sapi| llc.abm(sapi)).map_or(0, Abm::beyond)
    }

    /// N-PDUs of an NSAPI that wait for the peer's confirmation.
    #[must_use]
    pub fn unconfirmed_of(&self, nsapi: Nsapi) -> usize {
        self.acknowledged_of(nsapi).map_or(0, |acknowledged| acknowledged.store.len())
    }

    /// What has been sent and received, before and after compression.
    #[must_use]
    pub const fn counted(&self) -> &Counted {
        &self.counted
    }

    /// N-PDUs that wait for the peer's confirmation.
    #[must_use]
    pub fn unconfirmed(&self) -> usize {
        let stores = self.served.iter().filter_map(|served| served.acknowledged.as_ref());
        stores.map(|acknowledged| acknowledged.store.len()).sum()
    }

    /// Octets of N-PDUs of an NSAPI that wait for confirmation, be it the peer's or that of its LLC alone.
    #[must_use]
    pub fn unconfirmed_octets_of(&self, nsapi: Nsapi) -> usize {
        self.acknowledged_of(nsapi).map_or(0, |acknowledged| acknowledged.store.octets())
    }

    /// Octets of N-PDUs that wait for confirmation, be it the peer's or that of its LLC alone.
    #[must_use]
    pub fn unconfirmed_octets(&self) -> usize {
        let stores = self.served.iter().filter_map(|served| served.acknowledged.as_ref());
        stores.map(|acknowledged| acknowledged.store.octets()).sum()
    }

    /// NSAPIs of which something waits for confirmation, be it the peer's or that of its LLC alone.
    #[must_use]
    pub fn unconfirmed_nsapis(&self) -> usize {
        let stores = self.served.iter().filter_map(|served| served.acknowledged.as_ref());
        stores.filter(|acknowledged| acknowledged.store.octets() > 0).count()
    }

    /// SNSM-SEQUENCE.response: the Receive N-PDU number of each NSAPI in acknowledged mode, for the routing area update (24.008
    /// clause 10.5.5.11).
    pub fn receive_numbers(&self) -> impl Iterator<Item = (Nsapi, u8)> + '_ {
        self.served.iter().filter_map(|served| {
            let acknowledged = served.acknowledged.as_ref()?;
            Some((served.nsapi, acknowledged.receive_number()))
        })
    }
}

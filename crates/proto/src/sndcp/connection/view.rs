//! What others may see of SNDCP.

use super::{Acknowledged, AcknowledgedLimits, Compressions, Counted, LinkState, N_PDU_MAX, Sndcp};
use gannet_wire::id::{Nsapi, Sapi};

impl Sndcp {
    /// Is the acknowledged link of a SAPI established?
    #[must_use]
    pub fn is_established(&self, sapi: Sapi) -> bool {
        self.saps.iter().any(|sap| sap.sapi == sapi && sap.link == LinkState::Established)
    }

    /// SAPIs whose acknowledged link is established.
    pub fn established(&self) -> impl Iterator<Item = Sapi> + '_ {
        self.saps.iter().filter(|sap| sap.link == LinkState::Established).map(|sap| sap.sapi)
    }

    /// What has been agreed to about compression on a SAPI.
    #[must_use]
    pub fn compressions(&self, sapi: Sapi) -> Option<&Compressions> {
        self.saps.iter().find(|sap| sap.sapi == sapi).map(|sap| &sap.compressions)
    }

    /// Which SAPI carries an NSAPI.
    #[must_use]
    pub fn sapi_of(&self, nsapi: Nsapi) -> Option<Sapi> {
        self.served.iter().find(|served| served.nsapi == nsapi).map(|served| served.sapi)
    }

    fn acknowledged_of(&self, nsapi: Nsapi) -> Option<&Acknowledged> {
        self.served.iter().find(|served| served.nsapi == nsapi)?.acknowledged.as_deref()
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

    /// Would [`Sndcp::data_request`] keep one more N-PDU of any length now?
    #[must_use]
    pub fn has_room(&self, limits: &AcknowledgedLimits, nsapi: Nsapi) -> bool {
        self.acknowledged_of(nsapi).is_some_and(|acknowledged| acknowledged.has_room(limits, N_PDU_MAX))
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

    /// SNSM-SEQUENCE.response: the Receive N-PDU number of each NSAPI in acknowledged mode, for the routing area update (24.008
    /// clause 10.5.5.11).
    pub fn receive_numbers(&self) -> impl Iterator<Item = (Nsapi, u8)> + '_ {
        self.served.iter().filter_map(|served| {
            let acknowledged = served.acknowledged.as_ref()?;
            Some((served.nsapi, acknowledged.receive_number()))
        })
    }
}

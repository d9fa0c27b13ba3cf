//! What an SGSN knows of a subscription (03.60 table 5 [23.060 clause 13.2]).

use gannet_wire::gsup::{IsdnAddress, PdpInfo, Subscription};
use serde::{Deserialize, Serialize};

/// Pieces of subscription that are kept for one subscriber: as many as one message of GSUP has.
pub const PDP_INFOS_MAX: usize = 10;

/// A subscriber's data, as the HLR has inserted them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SubscriberData {
    /// Its telephone number, for the GGSN.
    pub msisdn: Option<IsdnAddress>,
    /// The HLR's number.
    pub hlr_number: Option<IsdnAddress>,
    /// Charging characteristics where the PDP context has none of its own.
    pub charging: Option<u16>,
    pdp_infos: Vec<PdpInfo>,
}

impl SubscriberData {
    /// The PDP contexts that it may activate, in the order in which they were inserted.
    #[must_use]
    pub fn pdp_infos(&self) -> &[PdpInfo] {
        &self.pdp_infos
    }

    /// Takes an insertion (09.02 clause 8.8.1 [29.002]): what it has replaces what was known, piece by piece, or as a whole
    /// where it says that its list is complete. False, and nothing changed, where there would be too many pieces.
    #[must_use]
    pub fn insert(&mut self, data: &Subscription) -> bool {
        let mut infos = if data.pdp_info_complete { Vec::new() } else { self.pdp_infos.clone() };
        for info in &data.pdp_infos {
            match infos.iter_mut().find(|known| known.context_id == info.context_id) {
                Some(known) => *known = info.clone(),
                None => infos.push(info.clone()),
            }
        }
        if infos.len() > PDP_INFOS_MAX {
            return false;
        }
        self.pdp_infos = infos;
        self.msisdn = data.msisdn.or(self.msisdn);
        self.hlr_number = data.hlr_number.or(self.hlr_number);
        self.charging = data.charging.or(self.charging);
        true
    }

    /// Takes a deletion (09.02 clause 8.8.2): these pieces, or all where none is named.
    pub fn delete(&mut self, context_ids: &[u8]) {
        self.pdp_infos.retain(|info| !context_ids.is_empty() && !context_ids.contains(&info.context_id));
    }

    /// Charging characteristics of a PDP context.
    #[must_use]
    pub fn charging_of(&self, info: &PdpInfo) -> Option<u16> {
        info.charging.or(self.charging)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_wire::gsup::SubscribedApn;
    use gannet_wire::gtp::value::Qos;
    use gannet_wire::l3::ie::{Octets, QosProfile};

    fn info(context_id: u8, charging: Option<u16>) -> PdpInfo {
        let qos = Some(Qos::new(2, &QosProfile::BEST_EFFORT));
        PdpInfo { context_id, address: None, apn: Some(SubscribedApn::Any), qos, charging }
    }

    fn insertion(ids: impl IntoIterator<Item = u8>, pdp_info_complete: bool) -> Subscription {
        Subscription {
            msisdn: None,
            hlr_number: None,
            pdp_info_complete,
            pdp_infos: ids.into_iter().map(|id| info(id, None)).collect(),
            charging: None,
            cn_domain: None,
        }
    }

    fn ids(data: &SubscriberData) -> Vec<u8> {
        data.pdp_infos().iter().map(|info| info.context_id).collect()
    }

    #[test]
    fn pieces_come_go_and_are_replaced() {
        let mut data = SubscriberData::default();
        let msisdn = IsdnAddress { nature_and_plan: None, tbcd: Octets::from_start(&[0x01, 0x10]) };
        assert!(data.insert(&Subscription {
            msisdn: Some(msisdn),
            charging: Some(8),
            ..insertion([1, 2], false)
        }));
        let changed =
            Subscription { pdp_infos: vec![info(2, Some(4)), info(3, None)], ..insertion([], false) };
        assert!(data.insert(&changed));
        assert_eq!((ids(&data), data.msisdn), (vec![1, 2, 3], Some(msisdn)));
        let charging: Vec<_> = data.pdp_infos().iter().map(|info| data.charging_of(info)).collect();
        assert_eq!(charging, [Some(8), Some(4), Some(8)]);
        data.delete(&[1, 9]);
        assert_eq!(ids(&data), [2, 3]);
        assert!(data.insert(&insertion([5], true)));
        assert_eq!(ids(&data), [5]);
        let stored = postcard::to_stdvec(&data).unwrap();
        assert_eq!(postcard::from_bytes::<SubscriberData>(&stored).unwrap(), data);
        data.delete(&[]);
        assert_eq!(ids(&data), [0_u8; 0]);
    }

    #[test]
    fn too_many_pieces_change_nothing() {
        let mut data = SubscriberData::default();
        assert!(data.insert(&insertion(1..=10, false)));
        assert!(!data.insert(&insertion([11], false)));
        assert_eq!(ids(&data), (1..=10).collect::<Vec<_>>());
        assert!(data.insert(&insertion([11], true)));
    }
}

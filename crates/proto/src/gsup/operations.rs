//! Our requests that wait for the HLR's answer: one of each kind for a subscriber.

use super::GsupRequest;
use gannet_machine::time::Instant;
use gannet_wire::gsup::{AuthRequest, Body, CnDomain, LocationUpdate, Message, Purge, RAT_TYPE_GERAN};
use gannet_wire::id::Imsi;
use std::collections::BTreeMap;

/// The kinds of procedures that an SGSN begins (09.02 clauses 8.1.7, 8.5.2 and 8.1.6 [29.002]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GsupKind {
    /// SendAuthInfo.
    AuthInfo,
    /// UpdateLocation.
    UpdateLocation,
    /// PurgeMS.
    Purge,
}

impl GsupRequest {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> GsupKind {
        match self {
            Self::AuthInfo { .. } => GsupKind::AuthInfo,
            Self::UpdateLocation => GsupKind::UpdateLocation,
            Self::Purge => GsupKind::Purge,
        }
    }

    pub(super) fn message(&self, imsi: Imsi) -> Message {
        let cn_domain = Some(CnDomain::PacketSwitched);
        let body = match self {
            Self::AuthInfo { resync } => Body::SendAuthInfoRequest(AuthRequest {
                auts: resync.map(|resync| resync.auts),
                rand: resync.map(|resync| resync.rand),
                cn_domain,
            }),
            Self::UpdateLocation => {
                Body::UpdateLocationRequest(LocationUpdate { cn_domain, current_rat: Some(RAT_TYPE_GERAN) })
            }
            Self::Purge => Body::PurgeMsRequest(Purge { hlr_number: None, cn_domain }),
        };
        Message::new(imsi, body)
    }
}

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    pub imsi: Imsi,
    pub request: GsupRequest,
    /// When it has failed.
    pub ends: Instant,
}

/// All of them, in the order in which they began; since all have the same time, that is also the order of their ends.
#[derive(Debug, Default)]
pub(super) struct Operations {
    by_key: BTreeMap<(Imsi, GsupKind), (u64, Operation)>,
    in_order: BTreeMap<u64, (Imsi, GsupKind)>,
    next: u64,
}

impl Operations {
    pub fn len(&self) -> usize {
        self.by_key.len()
    }

    pub fn get(&self, imsi: Imsi, kind: GsupKind) -> Option<&Operation> {
        self.by_key.get(&(imsi, kind)).map(|(_, operation)| operation)
    }

    /// Adds one where there is none of its kind.
    pub fn insert(&mut self, operation: Operation) {
        let key = (operation.imsi, operation.request.kind());
        self.in_order.insert(self.next, key);
        self.by_key.insert(key, (self.next, operation));
        self.next += 1;
    }

    pub fn take(&mut self, imsi: Imsi, kind: GsupKind) -> Option<Operation> {
        let (number, operation) = self.by_key.remove(&(imsi, kind))?;
        self.in_order.remove(&number);
        Some(operation)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Operation> {
        self.in_order.values().filter_map(|(imsi, kind)| self.get(*imsi, *kind))
    }

    /// When the first of them has failed.
    pub fn next_end(&self) -> Option<Instant> {
        self.iter().next().map(|operation| operation.ends)
    }

    /// Takes the first where its time is over at `now`.
    pub fn take_ended(&mut self, now: Instant) -> Option<Operation> {
        let operation = *self.iter().next().filter(|operation| operation.ends <= now)?;
        self.take(operation.imsi, operation.request.kind())
    }
}

//! Requests to GGSNs that wait for their answers, and which of them still means something to a context.

use crate::slots::Slot;
use core::net::IpAddr;
use gannet_wire::id::{Imsi, Nsapi};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Create PDP Context.
    Create,
    /// Update PDP Context.
    Update,
    /// Delete PDP Context.
    Delete,
    /// PDU Notification Reject, which concerns no context.
    Notification,
    /// Update PDP Context, since the subscription has changed.
    Requalify,
    /// Update PDP Context, since the mobile has come from another node.
    Moved,
}

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// For which mobile.
    pub slot: Slot,
    /// For which of its contexts.
    pub nsapi: Nsapi,
    /// What was asked.
    pub kind: Kind,
    /// For whom, where that is known.
    pub subscriber: Option<Imsi>,
    /// Who was asked, once it is sent.
    pub ggsn: Option<IpAddr>,
}

/// Requests by the key that GTP gives back with the answer.
///
/// A context that ends while its tunnel is being made abandons the request: the answer, when it comes, belongs to
/// nobody, and a tunnel that was made is taken down again.
#[derive(Debug, Default)]
pub struct Requests {
    next: u64,
    waiting: BTreeMap<u64, Request>,
    current: BTreeMap<(Slot, Nsapi), u64>,
    /// The last Create for each subscriber and NSAPI that has no answer yet, whatever has become of the mobile.
    creating: BTreeMap<(Imsi, Nsapi), Creating>,
}

/// A Create on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creating {
    /// The key of its request.
    pub key: u64,
    /// Its sequence number.
    pub sequence: u16,
    /// Who was asked.
    pub ggsn: IpAddr,
}

impl Requests {
    /// A new request; what this context asked before is abandoned. Gives the key.
    pub fn begin(&mut self, request: Request) -> u64 {
        self.next += 1;
        self.waiting.insert(self.next, request);
        self.current.insert((request.slot, request.nsapi), self.next);
        self.next
    }

    /// A request whose answer concerns no context. Gives the key.
    pub fn begin_abandoned(&mut self, request: Request) -> u64 {
        self.next += 1;
        self.waiting.insert(self.next, request);
        self.next
    }

    /// A request goes to this GGSN.
    pub fn sent(&mut self, key: u64, ggsn: IpAddr) {
        if let Some(request) = self.waiting.get_mut(&key) {
            request.ggsn = Some(ggsn);
        }
    }

    /// The answer to a request is there: what it was, and whether its context still waits for it.
    pub fn end(&mut self, key: u64) -> Option<(Request, bool)> {
        let request = self.waiting.remove(&key)?;
        if let Some(imsi) = request.subscriber
            && let Entry::Occupied(creating) = self.creating.entry((imsi, request.nsapi))
            && creating.get().key == key
        {
            creating.remove();
        }
        let place = (request.slot, request.nsapi);
        let is_current = self.current.get(&place) == Some(&key);
        if is_current {
            self.current.remove(&place);
        }
        Some((request, is_current))
    }

    /// The context does not wait for its answer any more. True where it did.
    pub fn abandon(&mut self, slot: Slot, nsapi: Nsapi) -> bool {
        self.current.remove(&(slot, nsapi)).is_some()
    }

    /// A Create has been sent. Gives the one before it to the same GGSN that has no answer yet, which is to be forgotten: were
    /// it repeated, the GGSN would put its context into the place of this one (29.060 clause 7.3.1).
    pub fn create_sent(&mut self, imsi: Imsi, nsapi: Nsapi, creating: Creating) -> Option<Creating> {
        let former = self.creating.insert((imsi, nsapi), creating)?;
        (former.ggsn == creating.ggsn && self.waiting.remove(&former.key).is_some()).then_some(former)
    }

    /// Requests without an answer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_request_of_a_context_makes_the_earlier_one_nobodys() {
        let slot = Slot { index: 1, generation: 0 };
        let request = |kind| Request { slot, nsapi: Nsapi(5), kind, subscriber: None, ggsn: None };
        let mut requests = Requests::default();
        let create = requests.begin(request(Kind::Create));
        let delete = requests.begin(request(Kind::Delete));
        assert_eq!(requests.end(create), Some((request(Kind::Create), false)));
        assert_eq!(requests.end(create), None);
        assert_eq!(requests.end(delete), Some((request(Kind::Delete), true)));
        assert!(requests.len() == 0 && !requests.abandon(slot, Nsapi(5)));
    }

    #[test]
    fn a_later_create_of_a_subscriber_ends_the_one_before_it() {
        let imsi = Imsi::from_digits([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]).unwrap();
        let mut requests = Requests::default();
        // The mobile may have another slot meanwhile.
        let mut create = |index, ggsn: [u8; 4]| {
            let slot = Slot { index, generation: 0 };
            let (kind, subscriber) = (Kind::Create, Some(imsi));
            let key = requests.begin(Request { slot, nsapi: Nsapi(5), kind, subscriber, ggsn: None });
            let creating = Creating { key, sequence: 100, ggsn: ggsn.into() };
            (key, requests.create_sent(imsi, Nsapi(5), creating))
        };
        let (first, none) = create(1, [192, 0, 2, 1]);
        let (second, former) = create(2, [192, 0, 2, 1]);
        let former = former.map(|former| (former.key, former.sequence));
        assert_eq!((none, former), (None, Some((first, 100))));
        // Another GGSN has no context in whose place it could put that of the earlier one.
        let (third, none) = create(3, [192, 0, 2, 2]);
        assert_eq!(none, None);
        assert_eq!(requests.end(first), None, "forgotten");
        assert!(requests.end(second).is_some_and(|(_, is_current)| is_current));
        assert!(requests.end(third).is_some() && requests.creating.is_empty());
    }
}

//! Requests to GGSNs that wait for their answers, and which of them still means something to a context.

use crate::slots::Slot;
use gannet_wire::id::Nsapi;
use std::collections::BTreeMap;

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Create PDP Context.
    Create,
    /// Delete PDP Context.
    Delete,
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

    /// The answer to a request is there: what it was, and whether its context still waits for it.
    pub fn end(&mut self, key: u64) -> Option<(Request, bool)> {
        let request = self.waiting.remove(&key)?;
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
        let request = |kind| Request { slot, nsapi: Nsapi(5), kind };
        let mut requests = Requests::default();
        let create = requests.begin(request(Kind::Create));
        let delete = requests.begin(request(Kind::Delete));
        assert_eq!(requests.end(create), Some((request(Kind::Create), false)));
        assert_eq!(requests.end(create), None);
        assert_eq!(requests.end(delete), Some((request(Kind::Delete), true)));
        assert!(requests.len() == 0 && !requests.abandon(slot, Nsapi(5)));
    }
}

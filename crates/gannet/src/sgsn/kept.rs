//! The SGSN as a node whose subscribers outlive a restart.

use crate::node::store::Kept;
use gannet_machine::Context;
use gannet_node::kept::Change;
use gannet_node::sgsn::{Sgsn, relocation};
use gannet_proto::gtp::TeidKey;
use gannet_wire::id::Imsi;

impl Kept for Sgsn {
    const LAYOUT: u8 = relocation::LAYOUT;
    const NAME: &'static str = "SGSN";

    fn key(&self) -> TeidKey {
        *self.teid_key()
    }

    fn keep_changes(&mut self) {
        Self::keep_changes(self);
    }

    fn changes_waiting(&self) -> usize {
        Self::changes_waiting(self)
    }

    fn take_changes(&mut self, max: usize, each: &mut dyn FnMut(Change<'_>)) {
        Self::take_changes(self, max, each);
    }

    fn restore(&mut self, cx: &mut Context<'_>, imsi: Imsi, octets: &[u8]) -> Result<Option<String>, String> {
        Self::restore(self, cx, imsi, octets).map(|_| None).map_err(|error| error.to_string())
    }

    fn network_changes(&self) -> u64 {
        Self::network_changes(self)
    }

    fn network(&self) -> Vec<u8> {
        Self::network(self)
    }

    fn recall_network(&mut self, octets: &[u8]) -> bool {
        Self::recall_network(self, octets).is_some()
    }
}

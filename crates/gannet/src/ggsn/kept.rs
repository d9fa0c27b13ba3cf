//! The GGSN as a node whose subscribers outlive a restart.

use crate::node::store::Kept;
use gannet_machine::Context;
use gannet_node::ggsn::{Ggsn, durable};
use gannet_node::kept::Change;
use gannet_proto::gtp::TeidKey;
use gannet_wire::id::Imsi;

impl Kept for Ggsn {
    const LAYOUT: u8 = durable::LAYOUT;
    const NAME: &'static str = "GGSN";

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
        match Self::restore(self, cx, imsi, octets) {
            Ok((_, missing)) => Ok(missing.map(|why| why.to_string())),
            Err(why) => Err(why.to_string()),
        }
    }
}

//! The primitives of XID (04.65 clause 6.8 [44.065]).

use super::{Compressions, Outputs, Setting, Sndcp, SndcpOutput, Terms};
use crate::about::About as _;
use gannet_machine::Context;
use gannet_wire::id::Sapi;

impl Sndcp {
    /// LL-XID.request, where this end has something to propose for a SAPI.
    pub fn propose(&mut self, setting: &Setting<'_>, sapi: Sapi, out: &mut Outputs) {
        let (role, serving) = (self.role(), self.serving(sapi));
        let block = self
            .sap(sapi)
            .and_then(|sap| sap.compressions.propose(role, &setting.config.compression, &serving));
        if let Some(block) = block {
            out.push(SndcpOutput::Xid { sapi, block });
        }
    }

    /// LL-XID.indication: the block for LL-XID.response.
    pub fn xid_indication(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        sapi: Sapi,
        block: &[u8],
    ) -> Option<Vec<u8>> {
        let serving = self.serving(sapi);
        let terms = Terms { role: self.role(), config: &setting.config.compression, serving: &serving };
        match self.sap(sapi) {
            Some(sap) => sap.compressions.answer(cx, setting.whose, &terms, block),
            None => Compressions::default().answer(cx, setting.whose, &terms, block),
        }
    }

    /// LL-XID.confirm, and with `None` that there will be none. What could not be proposed meanwhile is.
    pub fn xid_confirm(
        &mut self,
        cx: &mut Context<'_>,
        setting: &Setting<'_>,
        (sapi, block): (Sapi, Option<&[u8]>),
        out: &mut Outputs,
    ) {
        let Some(sap) = self.sap(sapi) else { return };
        let proposed = sap.compressions.proposed();
        match sap.compressions.confirm(block) {
            Ok(()) => {
                let serving = self.serving(sapi);
                let is_new = !serving.acknowledged.or(serving.unacknowledged).less(proposed).is_empty();
                if is_new {
                    self.propose(setting, sapi, out);
                }
            }
            Err(drop) => cx.drop_of(drop, setting.whose),
        }
    }
}

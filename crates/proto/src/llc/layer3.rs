//! LL-XID.request of layer 3's own parameters (04.64 clauses 7.2.2 and 8.5.3 [44.064]): blocks that wait for their turn, each
//! of its SAPI, and are kept until they are answered, so that T200 can repeat them.

use super::links::{Block, Links};
use super::xid::Kind;
use super::{LlcContext, LlcOutput, slot_of};
use gannet_machine::{Batch, Context};
use gannet_wire::id::Sapi;

impl LlcContext {
    /// LL-XID.request with layer 3's own parameters alone. [`LlcOutput::Layer3XidConfirm`] follows for each
    /// that has gone out. A second request of a SAPI takes the place of one that has not gone out; one that
    /// has is answered first.
    pub fn layer3_xid_request(
        &mut self,
        cx: &mut Context<'_>,
        sapi: Sapi,
        block: Vec<u8>,
        out: &mut Batch<LlcOutput>,
    ) {
        let Some(slot) = slot_of(sapi).and_then(|slot| u8::try_from(slot).ok()) else { return };
        let blocks = &mut self.links.get_or_insert_default().blocks;
        blocks.retain(|block| block.slot != slot || block.is_sent || block.octets.is_none());
        let (kind, octets) = (Kind::ParametersAndSndcp, Some(block.into()));
        blocks.push(Block { slot, is_sent: false, n201: (0, 0), kind, octets });
        self.begin_block(cx, out);
    }

    /// Puts LLC's own parameters behind the block that is under way; false where none is.
    pub(super) fn wait_for_block(&mut self, slot: usize, n201: (u16, u16), kind: Kind) -> bool {
        let Ok(slot) = u8::try_from(slot) else { return false };
        let Some(Links { blocks, .. }) = self.links.as_deref_mut() else { return false };
        let waits = blocks.iter().any(|block| block.is_sent);
        if waits && !blocks.iter().any(|block| block.slot == slot && block.octets.is_none()) {
            blocks.push(Block { slot, is_sent: false, n201, kind, octets: None });
        }
        waits
    }

    /// Begins with the next block where no other command waits for its response.
    pub(super) fn begin_block(&mut self, cx: &mut Context<'_>, out: &mut Batch<LlcOutput>) {
        if self.outstanding.kind() != Kind::Nothing {
            return;
        }
        if let Some(block) = self.links.as_deref_mut().and_then(|links| links.blocks.first_mut()) {
            block.is_sent = true;
            let (slot, kind, n201) = (usize::from(block.slot), block.kind, block.n201);
            self.outstanding.ask(n201);
            self.begin(cx, kind, slot, out);
        }
    }

    /// The block that goes with the command of a slot.
    pub(super) fn block_sent(&self, slot: usize) -> Option<&[u8]> {
        let sent = self
            .links
            .as_deref()?
            .blocks
            .iter()
            .find(|block| block.is_sent && usize::from(block.slot) == slot);
        sent.and_then(|block| block.octets.as_deref())
    }

    /// The command of a slot is answered, or never will be.
    pub(super) fn block_done(&mut self, slot: usize) {
        if let Some(links) = &mut self.links {
            links.blocks.retain(|block| !block.is_sent || usize::from(block.slot) != slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Ciphering, LlcRole, LlcStatus, XidRequest};
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::time::{Duration, Instant};
    use gannet_machine::timers::TimerKey;
    use gannet_machine::trace::Quiet;
    use gannet_wire::fcs24::fcs24;
    use gannet_wire::id::Tlli;
    use gannet_wire::llc::xid::{self, Parameter};
    use gannet_wire::llc::{Control, Header, UFunction};

    const KEY: TimerKey = TimerKey { owner: 0, slot: 0, generation: 0 };

    struct End {
        around: Surroundings<Quiet>,
        llc: LlcContext,
        out: Batch<LlcOutput>,
    }

    impl End {
        fn new(role: LlcRole) -> Self {
            let mut llc = LlcContext::new(role);
            llc.assign(Some(Tlli(0xc000_0001)), None, Ciphering::NONE);
            Self { around: Surroundings::new(1, 8, Quiet::default()), llc, out: Batch::default() }
        }

        fn ask(&mut self, sapi: Sapi, block: &[u8]) {
            self.llc.layer3_xid_request(&mut self.around.context(), sapi, block.to_vec(), &mut self.out);
        }

        /// The commands that go out, with layer 3's part; answered by `answer`.
        fn sent(&mut self) -> Vec<(Sapi, Vec<u8>)> {
            let mut sent = Vec::new();
            while let Some(output) = self.out.pop() {
                let LlcOutput::Transmit { frame, .. } = output else { panic!("{output:?}") };
                let layout = Header::parse(&frame).unwrap();
                let parameters = xid::parse(&frame[layout.info()]).unwrap();
                let layer3 = parameters.into_iter().find_map(|parameter| match parameter {
                    Parameter::Layer3(octets) => Some(octets),
                    _ => None,
                });
                sent.push((layout.header.sapi, layer3.unwrap_or_default()));
            }
            sent
        }

        /// What is told of the answer: whether it answers layer 3.
        fn respond(&mut self, sapi: Sapi) -> bool {
            let control = Control::U { poll_final: true, function: UFunction::Xid };
            let mut pdu = Header { cr: false, sapi, control }.emit().to_vec();
            xid::emit(&[Parameter::Version(0), Parameter::Layer3(vec![9])], &mut pdu);
            pdu.extend(fcs24(&pdu));
            let frame = self.around.frames.copy_of(&pdu).unwrap();
            self.llc.receive(&mut self.around.context(), None, frame, &mut self.out);
            let confirmed = self.out.pop();
            let (of, octets, is_of_layer3) = match confirmed {
                Some(LlcOutput::XidConfirm { sapi, layer3 }) => (sapi, layer3, false),
                Some(LlcOutput::Layer3XidConfirm { sapi, block }) => (sapi, block, true),
                other => panic!("{other:?}"),
            };
            assert_eq!((of, octets), (sapi, Some(vec![9])));
            is_of_layer3
        }
    }

    #[test]
    fn each_in_its_turn() {
        let mut ms = End::new(LlcRole::Ms);
        ms.ask(Sapi::DATA3, &[1]);
        ms.ask(Sapi::DATA5, &[2]);
        ms.ask(Sapi::DATA5, &[3]);
        ms.ask(Sapi::DATA3, &[4]);
        assert_eq!(ms.sent(), [(Sapi::DATA3, vec![1])]);
        assert!(ms.respond(Sapi::DATA3));
        assert_eq!(ms.sent(), [(Sapi::DATA5, vec![3])]);
        assert!(ms.respond(Sapi::DATA5));
        assert_eq!(ms.sent(), [(Sapi::DATA3, vec![4])]);
        assert!(ms.respond(Sapi::DATA3));
        assert_eq!((ms.sent(), ms.llc.links.as_ref().map_or(0, |links| links.blocks.len())), (vec![], 0));
    }

    #[test]
    fn after_the_parameters_of_llc_and_repeated_by_t200() {
        let mut ms = End::new(LlcRole::Ms);
        let request = XidRequest { n201_u: Some(1000), ..XidRequest::default() };
        ms.llc.xid_request(&mut ms.around.context(), Sapi::DATA3, request, &mut ms.out);
        ms.ask(Sapi::DATA3, &[1]);
        assert_eq!(ms.sent(), [(Sapi::DATA3, vec![])]);
        assert!(!ms.respond(Sapi::DATA3));
        let mut sent = ms.sent();
        for second in (5..=20).step_by(5) {
            ms.llc.arm(KEY, &mut ms.around.timers);
            ms.around.now = Instant::ZERO + Duration::from_secs(second);
            ms.llc.wake(&mut ms.around.context(), None, &mut ms.out);
            if second < 20 {
                sent.extend(ms.sent());
            }
        }
        assert_eq!(sent, vec![(Sapi::DATA3, vec![1]); 4], "N200 repetitions");
        let unanswered = ms.out.pop();
        let expected = LlcStatus::XidUnanswered;
        assert!(matches!(unanswered, Some(LlcOutput::Status { cause, .. }) if cause == expected));
        let told = ms.out.pop();
        assert!(
            matches!(told, Some(LlcOutput::Layer3XidConfirm { sapi: Sapi::DATA3, block: None })),
            "{told:?}"
        );
        assert_eq!((ms.sent(), ms.llc.links.as_ref().map_or(0, |links| links.blocks.len())), (vec![], 0));
        assert_eq!(ms.llc.n201_u(Sapi::DATA3), 1000);
    }

    #[test]
    fn parameters_of_llc_wait_for_a_block() {
        let mut ms = End::new(LlcRole::Ms);
        ms.ask(Sapi::DATA3, &[1]);
        let request = XidRequest { n201_u: Some(1000), ..XidRequest::default() };
        for sapi in [Sapi::DATA3, Sapi::DATA5, Sapi::DATA5] {
            ms.llc.xid_request(&mut ms.around.context(), sapi, request, &mut ms.out);
        }
        assert_eq!(ms.sent(), [(Sapi::DATA3, vec![1])]);
        assert!(ms.respond(Sapi::DATA3));
        assert_eq!(ms.sent(), [(Sapi::DATA3, vec![])]);
        assert!(!ms.respond(Sapi::DATA3));
        assert_eq!(ms.sent(), [(Sapi::DATA5, vec![])]);
        assert!(!ms.respond(Sapi::DATA5));
        assert_eq!([3, 5, 9].map(|sapi| ms.llc.n201_u(Sapi(sapi))), [1000, 1000, 500]);
    }
}

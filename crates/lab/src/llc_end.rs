//! An LLC with what it needs around it, in virtual time: one end of a path between a mobile and an SGSN.

use gannet_machine::time::Instant;
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole, Terms};
use gannet_wire::id::{Sapi, Tlli};

/// The link that is used.
pub(crate) const SAPI: Sapi = Sapi::DATA3;
const LLC: TimerKey = TimerKey { owner: 0, slot: 1, generation: 0 };
/// More than both windows need.
const FRAMES: usize = 1024;

/// One end.
pub(crate) struct End {
    /// Time, timers and frames.
    pub around: Surroundings<Quiet>,
    /// The LLC.
    pub llc: LlcContext,
    /// What it wants.
    pub out: Batch<LlcOutput>,
}

impl End {
    /// With a TLLI, and ready for acknowledged mode.
    pub fn new(role: LlcRole, seed: u64) -> Self {
        let mut llc = LlcContext::new(role);
        llc.assign(Some(Tlli(0xc000_0001)), None, Ciphering::NONE);
        llc.offer_abm(true);
        Self { around: Surroundings::new(seed, FRAMES, Quiet::default()), llc, out: Batch::default() }
    }

    /// An LL-PDU arrives.
    ///
    /// # Errors
    /// No frame is free for it.
    pub fn receive(&mut self, octets: &[u8]) -> Result<(), String> {
        let frame = self.around.frames.copy_of(octets).ok_or("no frame is free")?;
        self.llc.receive(&mut self.around.context(), None, frame, &mut self.out);
        Ok(())
    }

    /// Its timers run out, as far as they are due.
    pub fn wake(&mut self, now: Instant) {
        self.around.now = now;
        while self.around.timers.pop_due(now).is_some() {
            self.llc.wake(&mut self.around.context(), None, &mut self.out);
            self.arm();
        }
    }

    /// Starts its timers.
    pub fn arm(&mut self) {
        self.llc.arm(LLC, &mut self.around.timers);
    }

    /// Asks for acknowledged mode.
    pub fn establish(&mut self, terms: Terms) {
        let Self { around, llc, out } = self;
        llc.establish_request(&mut around.context(), SAPI, terms, out);
    }

    /// True where acknowledged mode takes a unit.
    pub fn has_room(&self) -> bool {
        self.llc.abm(SAPI).is_some_and(|abm| abm.room() > 0)
    }

    /// Gives acknowledged mode a unit under this number; false where it takes none.
    ///
    /// # Errors
    /// No frame is free for it.
    pub fn give(&mut self, number: u32, unit: &[u8]) -> Result<bool, String> {
        let Self { around, llc, out } = self;
        let frame = around.frames.copy_of(unit).ok_or("no frame is free")?;
        Ok(llc.data_request(&mut around.context(), SAPI, number, frame, out).is_ok())
    }
}

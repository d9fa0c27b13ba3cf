//! Frames that go twice, where frames are lost and the path has room.
//!
//! Until a repetition has come all behind it waits at the peer, and until a short frame has; mostly that is an acknowledgement of the
//! layers above, for which their window waits. A second copy asks nothing; place and time of the first count.

use super::{Abm, Link, LlcOutput};
use gannet_machine::{Batch, Context};

/// I frames after a lost one, until none is expected to be lost.
pub(super) const WARY: u8 = 255;
/// Octets of a unit that is sent twice where frames are lost: an acknowledgement of TCP with its options, and SNDCP's header.
pub(super) const SHORT: usize = 128;
/// Frames that are sent a second time at once.
const DOUBLED_MOST: usize = 16;

/// Frames of which a second copy may follow.
#[derive(Debug, Default)]
pub(super) struct Doubled {
    indices: [u16; DOUBLED_MOST],
    count: usize,
}

impl Doubled {
    pub(super) fn push(&mut self, index: usize) {
        if let (Some(place), Ok(index)) = (self.indices.get_mut(self.count), u16::try_from(index)) {
            *place = index;
            self.count += 1;
        }
    }

    pub(super) fn indices(&self) -> &[u16] {
        self.indices.get(..self.count).unwrap_or_default()
    }
}

impl Abm {
    /// Sends the frames with V(A) and these added a second time, where that costs nothing: frames are lost, nothing waits on the path, and
    /// there is nothing else to send, or the window is closed.
    pub(super) fn double(
        &mut self,
        cx: &mut Context<'_>,
        link: &Link,
        indices: &[u16],
        out: &mut Batch<LlcOutput>,
    ) {
        if self.wary == 0 || !self.measures() || !self.round_trip.is_near_shortest() {
            return;
        }
        let next = self.units.get(self.sent.into());
        if next.is_some_and(|unit| self.window_is_open(unit.octets().into())) {
            return;
        }
        for index in indices {
            let Some(unit) = self.units.get((*index).into()) else { continue };
            let Some(mut frame) = cx.frames.copy_of(&unit.kept()) else { return };
            let count = self.acknowledged.wrapping_add((*index).into());
            let is_covered = self.covered == self.order;
            self.next_order();
            if is_covered {
                self.covered = self.order;
            }
            let Some(header_len) = self.head(cx, link, count, false, &mut frame) else { continue };
            self.cipher(link, count, header_len, &mut frame);
            out.push(LlcOutput::Transmit { sapi: link.sapi, frame });
        }
    }
}

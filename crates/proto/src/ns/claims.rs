//! NS-RESET and SNS-SIZE that would take what a live peer has: the peer is tested first.
//!
//! With `accept_dynamic` nobody proves which BSS it is. A BSS that restarts at another address looks like a stranger that
//! names an NS-VC or an NSE of somebody else. So the peer that has it is sent one NS-ALIVE. Where it answers, or sends
//! NS-UNITDATA, within Tns-alive, it keeps what it has, and the other is refused. Where it does not, it is dead, and the
//! other is served then. Two ports of one host wait for [`SAME_HOST`] only: a live process of that host answers at once.
//!
//! A claim is one PDU of one address; there are [`CLAIMS_MAX`] at most, and one for each NS-VC.

use super::procedures::answer_stranger;
use super::vc::{Event, NsVc, Test, VcIndex, VcState};
use super::{NsEntity, NsOutput};
use crate::drops::Drop;
use crate::machine::{Batch, Context, Port};
use crate::time::{Duration, Instant};
use crate::timers::TimerKey;
use crate::trace::{Category, Level};
use core::net::SocketAddr;
use gannet_wire::id::Nsei;
use gannet_wire::ns::{Cause, Pdu, Status};

/// How long a peer is tested that is another port of the host which claims what it has. Our own.
pub const SAME_HOST: Duration = Duration::from_millis(200);
/// Claims at most.
pub const CLAIMS_MAX: usize = 64;
/// `TimerKey::slot` of the claims, which are no NS-VC's.
pub(super) const SLOT: u32 = 1 << 30;

/// An NS-RESET or SNS-SIZE that waits for the test of who has what it names.
#[derive(Debug)]
pub(super) struct Claim {
    from: (Port, SocketAddr),
    pdu: Vec<u8>,
    /// The NS-VCs that are tested, with their generations.
    tested: Vec<(VcIndex, u16)>,
    due: Instant,
}

impl NsEntity {
    /// The NS-VCs of an NSE whose peers are alive.
    pub(super) fn live_of(&self, nsei: Nsei) -> Vec<VcIndex> {
        let vcs = self.table.nse(nsei).map(|nse| nse.vcs.as_slice()).unwrap_or_default();
        vcs.iter().copied().filter(|index| self.is_live(*index)).collect()
    }

    /// Has the peer of this NS-VC been heard since it was last given up?
    pub(super) fn is_live(&self, index: VcIndex) -> bool {
        self.table.get(index).is_some_and(|vc| match vc.state {
            VcState::Dead | VcState::Resetting => false,
            VcState::Blocked
            | VcState::Unblocking
            | VcState::Unblocked
            | VcState::Blocking
            | VcState::BlockedLocally => true,
        })
    }

    /// The peers of `live` are tested before `pdu` of `from` is obeyed.
    pub(super) fn contest(
        &mut self,
        cx: &mut Context<'_>,
        live: &[VcIndex],
        from: (Port, SocketAddr),
        pdu: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        let vcs = || live.iter().filter_map(|index| self.table.get(*index));
        let Some(name) = vcs().next().map(NsVc::name) else { return };
        let holders: Vec<SocketAddr> = vcs().map(NsVc::peer).collect();
        let tested: Vec<(VcIndex, u16)> = vcs().map(|vc| (vc.index, vc.generation)).collect();
        let mut others = self.claims.iter().filter(|claim| claim.tested.iter().any(|vc| tested.contains(vc)));
        if let Some(other) = others.next().map(|claim| claim.from) {
            // It repeats itself, or another was first.
            if other != from {
                let why = format_args!("{name} is claimed by {} already", other.1);
                self.refuse_claim(cx, from, pdu, why, out);
            }
            return;
        }
        if self.claims.len() >= CLAIMS_MAX {
            return self.refuse_claim(cx, from, pdu, format_args!("{CLAIMS_MAX} claims are tested"), out);
        }
        let is_same_host = holders.iter().any(|peer| peer.ip() == from.1.ip() && *peer != from.1);
        let span = if is_same_host { SAME_HOST } else { self.config.tns_alive };
        let (claimant, holder) = (from.1, holders.first().copied().unwrap_or(from.1));
        cx.log(
            Category::Ns,
            Level::Notice,
            format_args!(
                "{name}: {claimant} claims what {holder} has, which is tested for {} ms",
                span.0 / 1_000_000
            ),
        );
        for index in live {
            self.send(cx, *index, &Pdu::Alive, out);
        }
        let due = cx.now + span;
        self.claims.push(Claim { from, pdu: pdu.to_vec(), tested, due });
        self.arm_claims(cx);
    }

    /// A sign of life on an NS-VC: who claims it is refused.
    pub(super) fn holder_lives(&mut self, cx: &mut Context<'_>, index: VcIndex, out: &mut Batch<NsOutput>) {
        let Some((name, peer, generation)) =
            self.table.get(index).map(|vc| (vc.name(), vc.peer, vc.generation))
        else {
            return;
        };
        let of = |claim: &Claim| claim.tested.contains(&(index, generation));
        while let Some(at) = self.claims.iter().position(of) {
            let claim = self.claims.remove(at);
            let why = format_args!("{name} is alive at {peer}");
            self.refuse_claim(cx, claim.from, &claim.pdu, why, out);
        }
    }

    /// The time of some tests is over: who has not answered is dead, and the claim is heard again.
    pub(super) fn wake_claims(&mut self, cx: &mut Context<'_>, out: &mut Batch<NsOutput>) {
        while let Some(at) = self.claims.iter().position(|claim| claim.due <= cx.now) {
            let claim = self.claims.remove(at);
            for (index, generation) in claim.tested {
                if self.table.get(index).is_some_and(|vc| vc.generation == generation) {
                    self.apply(cx, index, Event::Test(Test::Failed), None, out);
                }
            }
            match cx.frames.copy_of(&claim.pdu) {
                Some(frame) => self.receive(cx, claim.from.0, claim.from.1, frame, out),
                None => cx.drop(Drop::NoFrame, None),
            }
        }
        self.arm_claims(cx);
    }

    fn arm_claims(&self, cx: &mut Context<'_>) {
        if let Some(due) = self.claims.iter().map(|claim| claim.due).min() {
            cx.timers.wake(TimerKey { owner: self.config.timer_owner, slot: SLOT, generation: 0 }, due);
        }
    }

    fn refuse_claim(
        &mut self,
        cx: &mut Context<'_>,
        from: (Port, SocketAddr),
        pdu: &[u8],
        why: core::fmt::Arguments<'_>,
        out: &mut Batch<NsOutput>,
    ) {
        cx.drop(Drop::NsClaimRefused, None);
        let what = if pdu.first() == Some(&0x12) { "SNS-SIZE" } else { "NS-RESET" };
        cx.log(Category::Ns, Level::Notice, format_args!("{what} from {} is refused: {why}", from.1));
        let status = Status::about_pdu(Cause::PduNotCompatible, pdu);
        answer_stranger(&mut self.to_strangers, cx, from, status, out);
    }
}

#[cfg(test)]
mod tests;

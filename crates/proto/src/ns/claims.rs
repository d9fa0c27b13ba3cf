//! NS-RESET and SNS-SIZE that would take from a live peer: the peer is tested first.
//!
//! At open ports no BSS proves its identity. A BSS that restarts at another address looks like a stranger that
//! names an NS-VC or an NSE of another BSS. So the holder is sent NS-ALIVE each second, for Tns-alive. Any PDU of it but
//! NS-STATUS is a sign of life: it keeps its NS-VCs, and the claimant is refused. A silent holder is dead, and the
//! claimant is served then. Two ports of one loopback address wait for [`LOOPBACK`] only. An NS-VC that is being reset is
//! tested by NS-RESET.
//!
//! A claim is one PDU of one address; there are [`CLAIMS_MAX`] at most, and one for each NS-VC. After a refusal an NSE
//! is not tested for [`PROVED`], and not on behalf of the same host for [`HOLD_OFF`], so that claims make few NS-ALIVEs.

use super::sending::answer_stranger;
use super::vc::{Event, NsVc, Reset, Test, VcIndex, VcState};
use super::{NsEntity, NsOutput};
use core::net::{IpAddr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::Nsei;
use gannet_wire::ns::{Cause, Pdu, Status};

/// How long a peer is tested where claimant and holder have the same loopback address: a live process of this machine
/// answers at once. Our own.
pub const LOOPBACK: Duration = Duration::from_millis(200);
/// From one test PDU to the next. Our own.
const TEST_AGAIN: Duration = Duration::from_secs(1);
/// After a refusal no claim of the same host on the same NSE is tested for this time. A claimant at the holder's own host
/// waits for [`PROVED`] only. Our own.
pub const HOLD_OFF: Duration = Duration::from_secs(30);
/// A holder that has shown life against a claim is not tested again for this time. Our own.
pub const PROVED: Duration = Duration::from_secs(1);
/// Refusals that are remembered; beyond that the oldest is forgotten.
const REFUSALS_MAX: usize = 256;
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
    /// The next test PDU.
    again: Instant,
    due: Instant,
}

/// A claim that was refused since the holder is alive.
#[derive(Debug, Clone, Copy)]
pub(super) struct Refusal {
    nsei: Nsei,
    host: IpAddr,
    /// The claimant is at the host of the holder.
    is_same_host: bool,
    at: Instant,
}

impl NsEntity {
    /// The NS-VCs of an NSE whose peers are alive.
    pub(super) fn live_of(&self, nsei: Nsei) -> Vec<VcIndex> {
        let vcs = self.table.nse(nsei).map(|nse| nse.vcs.as_slice()).unwrap_or_default();
        vcs.iter().copied().filter(|index| self.is_live(*index)).collect()
    }

    /// May the peer of this NS-VC be alive? It was heard since it was last given up, or before a restart, or it is
    /// being reset.
    pub(super) fn is_live(&self, index: VcIndex) -> bool {
        self.table.get(index).is_some_and(|vc| match vc.state {
            VcState::Dead => vc.is_recalled,
            VcState::Resetting
            | VcState::Blocked
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
        if let Some(why) = self.held_off(cx.now, live, from.1.ip()) {
            return self.refuse_claim(cx, from, pdu, format_args!("{name} {why}"), out);
        }
        let is_other_port = holders.iter().any(|peer| peer.ip() == from.1.ip() && *peer != from.1);
        let is_loopback = from.1.ip().to_canonical().is_loopback();
        let span = if is_other_port && is_loopback { LOOPBACK } else { self.config.tns_alive };
        let (claimant, holder) = (from.1, holders.first().copied().unwrap_or(from.1));
        cx.log(
            Category::Ns,
            Level::Notice,
            format_args!(
                "{name}: {claimant} claims what {holder} has, which is tested for {} ms",
                span.0 / 1_000_000
            ),
        );
        self.test_holders(cx, &tested, out);
        let (again, due) = (cx.now + TEST_AGAIN, cx.now + span);
        self.claims.push(Claim { from, pdu: pdu.to_vec(), tested, again, due });
        self.arm_claims(cx);
    }

    /// Why a claim of `host` is not tested now.
    fn held_off(&mut self, now: Instant, live: &[VcIndex], host: IpAddr) -> Option<&'static str> {
        while self.refusals.front().is_some_and(|refusal| refusal.at + HOLD_OFF <= now) {
            self.refusals.pop_front();
        }
        let nsei = live.first().and_then(|index| self.table.get(*index)).map(|vc| vc.nsei)?;
        let mut of_nse = self.refusals.iter().filter(|refusal| refusal.nsei == nsei);
        of_nse.find_map(|refusal| {
            if refusal.at + PROVED > now {
                Some("was found alive within the last second")
            } else if refusal.host == host && !refusal.is_same_host {
                Some("was found alive within the last 30 s when this host claimed it")
            } else {
                None
            }
        })
    }

    /// Sends the PDUs that those who hold what is claimed must answer.
    fn test_holders(&mut self, cx: &mut Context<'_>, tested: &[(VcIndex, u16)], out: &mut Batch<NsOutput>) {
        for (index, generation) in tested {
            let vc = self.table.get(*index).filter(|vc| vc.generation == *generation);
            match vc.map(|vc| (vc.state, vc.nsei, vc.nsvci, vc.reset_cause)) {
                Some((VcState::Resetting, nsei, Some(nsvci), cause)) => {
                    self.send(cx, *index, &Pdu::Reset { cause, nsvci, nsei }, out);
                }
                Some(_) => self.send(cx, *index, &Pdu::Alive, out),
                None => {}
            }
        }
    }

    /// A PDU on an NS-VC that may be a sign of life: a claim on the NS-VC is refused then.
    pub(super) fn heard(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        pdu: &Pdu,
        out: &mut Batch<NsOutput>,
    ) {
        let Some(vc) = self.table.get(index).filter(|_| !self.claims.is_empty()) else { return };
        let at = (vc.port, vc.peer);
        let is_own_claim = self.claims.iter().any(|claim| claim.from == at);
        let is_life = match pdu {
            Pdu::Alive
            | Pdu::AliveAck
            | Pdu::Block { .. }
            | Pdu::BlockAck { .. }
            | Pdu::Unblock
            | Pdu::UnblockAck => true,
            Pdu::ResetAck { nsvci, nsei } => (vc.nsei, vc.nsvci) == (*nsei, Some(*nsvci)),
            Pdu::Reset { nsvci, nsei, .. } => (vc.nsei, vc.nsvci) == (*nsei, Some(*nsvci)),
            // One that begins anew in another dialect claims its own NSE.
            Pdu::Sns(_) => !is_own_claim,
            // Whoever has the address now may not know the NS-VC.
            Pdu::Status(_) => false,
        };
        if is_life {
            self.holder_lives(cx, index, out);
        }
    }

    /// A sign of life on an NS-VC: who claims it is refused.
    pub(super) fn holder_lives(&mut self, cx: &mut Context<'_>, index: VcIndex, out: &mut Batch<NsOutput>) {
        let Some((name, nsei, peer, generation)) =
            self.table.get(index).map(|vc| (vc.name(), vc.nsei, vc.peer, vc.generation))
        else {
            return;
        };
        let of = |claim: &Claim| claim.tested.contains(&(index, generation));
        while let Some(at) = self.claims.iter().position(of) {
            let claim = self.claims.remove(at);
            let host = claim.from.1.ip();
            if self.refusals.len() >= REFUSALS_MAX {
                self.refusals.pop_front();
            }
            self.refusals.push_back(Refusal { nsei, host, is_same_host: host == peer.ip(), at: cx.now });
            let why = format_args!("{name} is alive at {peer}");
            self.refuse_claim(cx, claim.from, &claim.pdu, why, out);
        }
    }

    /// The time of some tests is over: who has not answered is dead, and the claim is heard again.
    pub(super) fn wake_claims(&mut self, cx: &mut Context<'_>, out: &mut Batch<NsOutput>) {
        while let Some(at) = self.claims.iter().position(|claim| claim.due <= cx.now) {
            let claim = self.claims.remove(at);
            for (index, generation) in claim.tested {
                match self.table.get(index).filter(|vc| vc.generation == generation).map(NsVc::state) {
                    Some(VcState::Resetting) => {
                        self.apply(cx, index, Event::Reset(Reset::Exhausted), None, out);
                    }
                    Some(_) => self.apply(cx, index, Event::Test(Test::Failed), None, out),
                    None => {}
                }
            }
            match cx.frames.copy_of(&claim.pdu) {
                Some(frame) => self.receive(cx, claim.from.0, claim.from.1, frame, out),
                None => cx.drop(Drop::NoFrame, None),
            }
        }
        let mut again = Vec::new();
        for claim in self.claims.iter_mut().filter(|claim| claim.again <= cx.now) {
            claim.again = cx.now + TEST_AGAIN;
            again.extend_from_slice(&claim.tested);
        }
        self.test_holders(cx, &again, out);
        self.arm_claims(cx);
    }

    fn arm_claims(&self, cx: &mut Context<'_>) {
        if let Some(due) = self.claims.iter().map(|claim| claim.due.min(claim.again)).min() {
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

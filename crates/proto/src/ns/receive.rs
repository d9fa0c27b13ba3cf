//! What arrives: NS-UNITDATA goes up, everything else to the state machine of its NS-VC.

use super::sending::answer_stranger;
use super::table::NewVc;
use super::vc::{Block, Event, Reset, Test, Use, VcIndex, VcOrigin, VcState};
use super::{NsEntity, NsOutput, NsRole, octets};
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::{Bvci, Nsei, Nsvci};
use gannet_wire::ns::{self, Cause, Pdu, PduType, Status, UNITDATA_HEADER_LEN, Unitdata};

impl NsEntity {
    /// Takes an NS PDU that arrived on `port` from `peer`.
    pub fn receive(
        &mut self,
        cx: &mut Context<'_>,
        port: Port,
        peer: SocketAddr,
        frame: Frame,
        out: &mut Batch<NsOutput>,
    ) {
        let Some(vc) = self.table.at(port, peer).and_then(|index| self.table.get_mut(index)) else {
            return self.stranger(cx, port, peer, &frame, out);
        };
        vc.counters.pdus_in += 1;
        vc.counters.octets_in += octets(&frame);
        let index = vc.index;
        if Unitdata::is(&frame) {
            if !self.claims.is_empty() {
                self.holder_lives(cx, index, out);
            }
            self.unitdata(cx, index, frame, out)
        } else {
            self.control(cx, index, &frame, out)
        }
    }

    /// NS-UNITDATA on a known NS-VC (clause 7.1).
    fn unitdata(&mut self, cx: &mut Context<'_>, index: VcIndex, frame: Frame, out: &mut Batch<NsOutput>) {
        let Some(vc) = self.table.get(index) else { return };
        match Unitdata::parse(&frame) {
            Err(error) => {
                cx.drop(Drop::NsMalformed, None);
                self.send_status(cx, index, Status::about_pdu(ns::cause(&error), &frame), out);
            }
            Ok(Unitdata { bvci, .. }) => match vc.state {
                _ if vc.nsvci.is_none() => {
                    let nsei = vc.nsei;
                    if vc.counters.alive_unanswered == 0 {
                        self.apply(cx, index, Event::Use(Use::Unitdata), Some((index, &frame)), out);
                    }
                    indicate(nsei, bvci, frame, out);
                }
                VcState::Unblocked | VcState::Blocking => indicate(vc.nsei, bvci, frame, out),
                VcState::Dead | VcState::Resetting => {
                    cx.drop(Drop::NsBlocked, None);
                    self.apply(cx, index, Event::Use(Use::Unitdata), Some((index, &frame)), out);
                }
                VcState::Blocked | VcState::Unblocking | VcState::BlockedLocally => {
                    self.apply(cx, index, Event::Use(Use::Unitdata), Some((index, &frame)), out);
                }
            },
        }
    }

    /// Any other PDU on a known NS-VC.
    fn control(&mut self, cx: &mut Context<'_>, index: VcIndex, octets: &[u8], out: &mut Batch<NsOutput>) {
        let pdu = match Pdu::parse(octets) {
            Ok(pdu) => pdu,
            Err(error) => {
                cx.drop(Drop::NsMalformed, None);
                if let Some(name) = self.table.get(index).map(|vc| vc.name()) {
                    cx.log(Category::Ns, Level::Notice, format_args!("{name}: NS PDU: {error}"));
                }
                // Clause 8: NS-STATUS is never answered.
                if !is_status(octets) {
                    self.send_status(cx, index, Status::about_pdu(ns::cause(&error), octets), out);
                }
                return;
            }
        };
        self.heard(cx, index, &pdu, out);
        let received = Some((index, octets));
        match pdu {
            Pdu::Reset { nsvci, nsei, .. } => self.reset_received(cx, index, (nsei, nsvci), octets, out),
            Pdu::ResetAck { nsvci, nsei } => {
                // 7.3.1: an acknowledgement for another NS-VC is ignored, and a person is told.
                if self.table.get(index).is_some_and(|vc| (vc.nsei, vc.nsvci) == (nsei, Some(nsvci))) {
                    self.apply(cx, index, Event::Reset(Reset::RxAck), received, out);
                } else {
                    self.count_names(index, (nsei, nsvci));
                    cx.drop(Drop::NsUnexpected, None);
                    let text = format_args!("NS-RESET-ACK for NSEI {nsei} NSVCI {nsvci}, which is not there");
                    cx.log(Category::Ns, Level::Error, text);
                }
            }
            Pdu::Block { nsvci, .. } => match self.of_same_nse(index, nsvci) {
                Some(target) => self.apply(cx, target, Event::Block(Block::Rx), received, out),
                None => self.unknown_nsvci(cx, index, nsvci, out),
            },
            Pdu::BlockAck { nsvci } => match self.of_same_nse(index, nsvci) {
                Some(target) => self.apply(cx, target, Event::Block(Block::RxAck), received, out),
                None => self.unknown_nsvci(cx, index, nsvci, out),
            },
            Pdu::Unblock => self.apply(cx, index, Event::Block(Block::RxUnblock), received, out),
            Pdu::UnblockAck => self.apply(cx, index, Event::Block(Block::RxUnblockAck), received, out),
            Pdu::Alive => self.apply(cx, index, Event::Test(Test::RxAlive), received, out),
            Pdu::AliveAck => self.apply(cx, index, Event::Test(Test::RxAliveAck), received, out),
            Pdu::Status(status) => self.status_received(cx, index, &status, out),
            Pdu::Sns(sns) => {
                if let Some(from) = self.table.get(index).map(|vc| (vc.port, vc.peer)) {
                    self.sns_received(cx, from, &sns, octets, out);
                }
            }
        }
    }

    /// The NS-VC `nsvci` of the NSE to which `index` belongs, if the peer of `index` may speak of it: where both are of one
    /// host, or a person has configured both.
    fn of_same_nse(&self, index: VcIndex, nsvci: Nsvci) -> Option<VcIndex> {
        let vc = self.table.get(index)?;
        let target = self.table.named(vc.nsei, nsvci)?;
        let other = self.table.get(target)?;
        let is_configured = [vc, other].iter().all(|vc| vc.origin == VcOrigin::Configured);
        (vc.peer.ip() == other.peer.ip() || is_configured).then_some(target)
    }

    fn unknown_nsvci(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        nsvci: Nsvci,
        out: &mut Batch<NsOutput>,
    ) {
        if let Some(vc) = self.table.get_mut(index) {
            vc.counters.nsvci_invalid += 1;
        }
        cx.drop(Drop::NsUnexpected, None);
        let status = Status { nsvci: Some(nsvci), ..Status::of(Cause::NsVcUnknown) };
        self.send_status(cx, index, status, out);
    }

    /// A PDU on an NS-VC named another one.
    fn count_names(&mut self, index: VcIndex, (nsei, nsvci): (Nsei, Nsvci)) {
        let Some(vc) = self.table.get_mut(index) else { return };
        vc.counters.nsei_invalid += u64::from(vc.nsei != nsei);
        vc.counters.nsvci_invalid += u64::from(vc.nsvci != Some(nsvci));
    }

    /// NS-RESET from an address that has an NS-VC (clauses 7.3 and 7.3.1).
    fn reset_received(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        named: (Nsei, Nsvci),
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        let Some(vc) = self.table.get(index) else { return };
        let (origin, port, peer) = (vc.origin, vc.port, vc.peer);
        let (nsei, Some(nsvci)) = (vc.nsei, vc.nsvci) else {
            // The BSS has another dialect now, if it may have, and if it does not speak this one any more.
            let may_change =
                self.config.open.contains(&port) && self.sns(vc.nsei).is_some_and(|sns| !sns.is_configured());
            let (other, live) = (vc.nsei, self.live_of(vc.nsei));
            if may_change && !live.is_empty() {
                return self.contest(cx, &live, (port, peer), octets, out);
            }
            if origin == VcOrigin::Sns
                && self.config.open.contains(&port)
                && self.sns_gives_way(cx, other, peer, out)
            {
                return self.announced(cx, (port, peer), named, octets, out);
            }
            return self.apply(cx, index, Event::Reset(Reset::Rx), Some((index, octets)), out);
        };
        if (nsei, nsvci) == named {
            self.apply(cx, index, Event::Reset(Reset::Rx), Some((index, octets)), out);
        } else if origin == VcOrigin::Configured || !self.config.open.contains(&port) {
            self.count_names(index, named);
            // 7.3.1: the answer has our own values, and a person is told.
            cx.drop(Drop::NsUnexpected, None);
            let text = format_args!("NS-RESET from {peer} for NSEI {} NSVCI {}", named.0, named.1);
            cx.log(Category::Ns, Level::Error, text);
            self.send(cx, index, &Pdu::ResetAck { nsei, nsvci }, out);
        } else {
            // Another BSS has this address now, unless it names what somebody else has.
            let live = self.live_elsewhere(named, peer);
            if live.is_empty() && self.is_open(port, named) {
                self.remove_vc(cx, index, out);
            }
            self.admit_vc(cx, (port, peer), named, (octets, &live), out);
        }
    }

    /// NS-RESET from an address that has no NS-VC: an NS-VC that moved, or a new one.
    fn announced(
        &mut self,
        cx: &mut Context<'_>,
        (port, peer): (Port, SocketAddr),
        (nsei, nsvci): (Nsei, Nsvci),
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        let live = self.live_elsewhere((nsei, nsvci), peer);
        self.admit_vc(cx, (port, peer), (nsei, nsvci), (octets, &live), out);
    }

    /// May an NS-RESET at this port make this NS-VC known, or move it? Not in an NSE that a person has configured.
    pub(super) fn is_open(&self, port: Port, (nsei, nsvci): (Nsei, Nsvci)) -> bool {
        let vcs = self.table.nse(nsei).map(|nse| nse.vcs.as_slice()).unwrap_or_default();
        let known = self.table.named(nsei, nsvci);
        let mut of_nse = vcs.iter().copied().chain(known).filter_map(|index| self.table.get(index));
        self.config.open.contains(&port)
            && of_nse.all(|vc| vc.origin != VcOrigin::Configured)
            && self.sns(nsei).is_none_or(|sns| !sns.is_configured())
    }

    /// Obeys an NS-RESET that names another NS-VC than its address has, once the peers in `live` are dead.
    fn admit_vc(
        &mut self,
        cx: &mut Context<'_>,
        (port, peer): (Port, SocketAddr),
        (nsei, nsvci): (Nsei, Nsvci),
        (octets, live): (&[u8], &[VcIndex]),
        out: &mut Batch<NsOutput>,
    ) {
        let is_open = self.is_open(port, (nsei, nsvci));
        if is_open && !live.is_empty() {
            return self.contest(cx, live, (port, peer), octets, out);
        }
        if !is_open || !self.sns_gives_way(cx, nsei, peer, out) {
            cx.drop(Drop::NsUnknownPeer, None);
            let status = Status { nsvci: Some(nsvci), ..Status::of(Cause::NsVcUnknown) };
            return answer_stranger(&mut self.to_strangers, cx, (port, peer), status, out);
        }
        let index = if let Some(index) = self.table.named(nsei, nsvci) {
            cx.log(Category::Ns, Level::Notice, format_args!("NSEI {nsei} NSVCI {nsvci}: now at {peer}"));
            self.table.move_to(index, port, peer);
            if let Some(vc) = self.table.get_mut(index) {
                vc.counters.moves += 1;
            }
            index
        } else {
            if !self.table.has_room(nsei)
                && let Some(dead) = self.table.longest_dead()
            {
                self.remove_vc(cx, dead, out);
            }
            let new = NewVc::named(nsei, nsvci, (port, peer), VcOrigin::Announced);
            let Some(index) = self.table.insert(new, cx.now) else {
                cx.drop(Drop::NsTableFull, None);
                cx.log(Category::Ns, Level::Error, format_args!("no room for NSEI {nsei} NSVCI {nsvci}"));
                return;
            };
            cx.log(Category::Ns, Level::Notice, format_args!("NSEI {nsei} NSVCI {nsvci}: new, at {peer}"));
            index
        };
        if let Some(vc) = self.table.get_mut(index) {
            vc.counters.pdus_in += 1;
            vc.counters.octets_in += super::octets(octets);
        }
        self.apply(cx, index, Event::Reset(Reset::Rx), Some((index, octets)), out);
    }

    /// Live peers whose service would end or be shared if `peer` got what NS-RESET names: those of an NSE that speaks
    /// IP-SNS, another address that has the NS-VC, and all of an NSE that has no NS-VC at the host of `peer`.
    fn live_elsewhere(&self, (nsei, nsvci): (Nsei, Nsvci), peer: SocketAddr) -> Vec<VcIndex> {
        let mut live = self.live_of(nsei);
        if self.sns(nsei).is_some() {
            return live;
        }
        let vcs = self.table.nse(nsei).map(|nse| nse.vcs.as_slice()).unwrap_or_default();
        let at = |index: &VcIndex| self.table.get(*index).map(|vc| vc.peer);
        let is_of_host = vcs.iter().filter_map(at).any(|at| at.ip() == peer.ip());
        let named = self.table.named(nsei, nsvci);
        live.retain(|index| at(index) != Some(peer) && (!is_of_host || named == Some(*index)));
        live
    }

    /// A PDU from an address that has no NS-VC.
    fn stranger(
        &mut self,
        cx: &mut Context<'_>,
        port: Port,
        peer: SocketAddr,
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        let cause = match Pdu::parse(octets) {
            Ok(Pdu::Reset { nsvci, nsei, .. }) => {
                return self.announced(cx, (port, peer), (nsei, nsvci), octets, out);
            }
            Ok(Pdu::Sns(sns)) => return self.sns_received(cx, (port, peer), &sns, octets, out),
            Ok(_) => Cause::PduNotCompatible,
            Err(_) if Unitdata::parse(octets).is_ok() => Cause::PduNotCompatible,
            Err(error) => ns::cause(&error),
        };
        self.refuse_stranger(cx, (port, peer), cause, octets, out);
    }

    /// NS-STATUS about a PDU from an address that nobody has (clause 8).
    pub(super) fn refuse_stranger(
        &mut self,
        cx: &mut Context<'_>,
        from: (Port, SocketAddr),
        cause: Cause,
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        cx.drop(Drop::NsUnknownPeer, None);
        if !is_status(octets) {
            answer_stranger(&mut self.to_strangers, cx, from, Status::about_pdu(cause, octets), out);
        }
    }

    /// NS-STATUS: what the peer thinks of us (clause 8). Never answered.
    fn status_received(
        &mut self,
        cx: &mut Context<'_>,
        index: VcIndex,
        status: &Status,
        out: &mut Batch<NsOutput>,
    ) {
        let target = status.nsvci.map_or(Some(index), |nsvci| self.of_same_nse(index, nsvci));
        if let Some(vc) = self.table.get(index) {
            let (name, cause) = (vc.name(), status.cause.with_number());
            cx.log(Category::Ns, Level::Notice, format_args!("{name}: NS-STATUS received, {cause}"));
        }
        match (status.cause, target) {
            (Cause::NsVcUnknown, Some(target)) => {
                self.apply(cx, target, Event::Use(Use::StatusUnknown), None, out)
            }
            // The peer does not know the NS-VC on which it was tested or used; there is no NS-RESET that would tell it.
            (Cause::PduNotCompatible, Some(target)) if self.is_ip_use(target, status) => {
                self.apply(cx, target, Event::Use(Use::StatusUnknown), None, out)
            }
            (Cause::NsVcBlocked, Some(target)) => {
                self.apply(cx, target, Event::Use(Use::StatusBlocked), None, out)
            }
            // The SGSN has an NS-VC at our address that has another name: somebody has reset it so. Ours begins anew (clause 7.3).
            (Cause::NsVcBlocked, None) if self.config.role == NsRole::Bss => {
                self.apply(cx, index, Event::Use(Use::StatusUnknown), None, out)
            }
            _ => {}
        }
    }

    /// `status` is about NS-ALIVE or NS-UNITDATA on an NS-VC that is never reset.
    fn is_ip_use(&self, index: VcIndex, status: &Status) -> bool {
        let pdu_type = status.pdu.as_deref().and_then(|pdu| pdu.first().copied()).map(PduType::from_octet);
        matches!(pdu_type, Some(PduType::Alive | PduType::Unitdata))
            && self.table.get(index).is_some_and(|vc| vc.nsvci.is_none())
    }
}

/// NS-UNITDATA-Indication.
fn indicate(nsei: Nsei, bvci: Bvci, mut frame: Frame, out: &mut Batch<NsOutput>) {
    if frame.pull(UNITDATA_HEADER_LEN) {
        out.push(NsOutput::Unitdata { nsei, bvci, frame });
    }
}

fn is_status(octets: &[u8]) -> bool {
    octets.first() == Some(&PduType::Status.octet())
}

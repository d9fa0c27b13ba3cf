//! Endpoints come, go and change their weights while NS-VCs are in use (48.016 clause 6.2): SNS-ADD, SNS-DELETE and
//! SNS-CHANGEWEIGHT, each about endpoints of its sender, one at a time.
//!
//! Nothing is lost by it: whoever deletes an endpoint sends nothing over its NS-VCs from then on, and takes what comes
//! there until the peer has said that it does not use them any more.

use super::super::vc::{NsVc, VcIndex, VcState};
use super::super::{NsEntity, NsError, NsOutput};
use super::{LocalEndpoint, Sns, SnsPdu, SnsState, SnsTimer, endpoints};
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::Nsei;
use gannet_wire::ns::{Cause, IpElement, IpElements};

/// Procedures of our own that wait for the one before.
const WAITING_MAX: usize = 16;

/// What is done to an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Add,
    Delete,
    Weights,
}

impl core::fmt::Display for Change {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Add => "added",
            Self::Delete => "deleted",
            Self::Weights => "given other weights",
        })
    }
}

/// A procedure of our own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Procedure {
    change: Change,
    local: LocalEndpoint,
    transaction: u8,
}

impl Procedure {
    /// What the peer is told.
    pub(super) fn pdu(&self, nsei: Nsei) -> SnsPdu {
        let transaction = self.transaction;
        let elements: IpElements = core::iter::once(self.local.element).collect();
        match self.change {
            Change::Add => SnsPdu::Add { nsei, transaction, elements },
            Change::Delete => SnsPdu::Delete { nsei, transaction, address: None, elements },
            Change::Weights => SnsPdu::Changeweight { nsei, transaction, elements },
        }
    }
}

impl Sns {
    /// Our endpoints once `change` is done; why not, where it can't be.
    fn changed(&self, change: Change, local: LocalEndpoint) -> Result<Vec<LocalEndpoint>, NsError> {
        let mut after = self.local.clone();
        let at = after.iter().position(|other| other.element.endpoint == local.element.endpoint);
        match (change, at) {
            (Change::Add, None) => after.push(local),
            (Change::Add, Some(_)) => return Err(NsError::AddressTaken),
            (Change::Delete | Change::Weights, None) => return Err(NsError::NoSuchEndpoint),
            (Change::Delete, Some(at)) => {
                after.remove(at);
            }
            (Change::Weights, Some(at)) => {
                if let Some(present) = after.get_mut(at) {
                    present.element = local.element;
                }
            }
        }
        let elements: Vec<IpElement> = after.iter().map(|local| local.element).collect();
        if endpoints::can_carry(&elements) { Ok(after) } else { Err(NsError::Weights) }
    }

    /// The peer's endpoints once the change that `pdu` wants is done.
    fn changed_remote(&self, pdu: &SnsPdu) -> Result<Vec<IpElement>, Cause> {
        let mut after = self.remote.clone();
        match pdu {
            SnsPdu::Add { elements, .. } => {
                for new in elements.iter() {
                    if after.iter().any(|known| known.endpoint == new.endpoint) {
                        return Err(Cause::ProtocolError);
                    }
                    after.push(*new);
                }
            }
            SnsPdu::Delete { address: Some(address), .. } => {
                after.retain(|known| known.endpoint.ip() != *address);
                if after.len() == self.remote.len() {
                    return Err(Cause::UnknownIpAddress);
                }
            }
            SnsPdu::Delete { elements, .. } => {
                if elements.iter().any(|gone| !after.iter().any(|known| known.endpoint == gone.endpoint)) {
                    return Err(Cause::UnknownIpEndpoint);
                }
                after.retain(|known| !elements.iter().any(|gone| gone.endpoint == known.endpoint));
            }
            SnsPdu::Changeweight { elements, .. } => {
                for new in elements.iter() {
                    let known = after.iter_mut().find(|known| known.endpoint == new.endpoint);
                    *known.ok_or(Cause::UnknownIpEndpoint)? = *new;
                }
            }
            SnsPdu::Size { .. }
            | SnsPdu::SizeAck { .. }
            | SnsPdu::Config { .. }
            | SnsPdu::ConfigAck { .. }
            | SnsPdu::Ack { .. } => {}
        }
        Ok(after)
    }
}

impl NsEntity {
    /// One more endpoint on our side of `nsei`: SNS-ADD.
    ///
    /// # Errors
    /// [`NsError`]: the NSE does not speak IP-SNS, has the endpoint, or has no room.
    pub fn sns_add(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        local: LocalEndpoint,
        out: &mut Batch<NsOutput>,
    ) -> Result<(), NsError> {
        self.change(cx, nsei, Change::Add, local, out)
    }

    /// One endpoint less: SNS-DELETE.
    ///
    /// # Errors
    /// [`NsError`]: the NSE does not speak IP-SNS or does not have the endpoint, or the rest could not carry everything.
    pub fn sns_delete(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        endpoint: SocketAddr,
        out: &mut Batch<NsOutput>,
    ) -> Result<(), NsError> {
        let sns = self.sns.named(nsei).ok_or(NsError::NoSuchEndpoint)?;
        let local = sns.local.iter().find(|local| local.element.endpoint == endpoint);
        let local = *local.ok_or(NsError::NoSuchEndpoint)?;
        self.change(cx, nsei, Change::Delete, local, out)
    }

    /// Other weights for one of our endpoints: SNS-CHANGEWEIGHT.
    ///
    /// # Errors
    /// [`NsError`]: the NSE does not speak IP-SNS or does not have the endpoint, or nothing would be carried.
    pub fn sns_change_weight(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        element: IpElement,
        out: &mut Batch<NsOutput>,
    ) -> Result<(), NsError> {
        let sns = self.sns.named(nsei).ok_or(NsError::NoSuchEndpoint)?;
        let local = sns.local.iter().find(|local| local.element.endpoint == element.endpoint);
        let port = local.ok_or(NsError::NoSuchEndpoint)?.port;
        self.change(cx, nsei, Change::Weights, LocalEndpoint { port, element }, out)
    }

    fn change(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        change: Change,
        local: LocalEndpoint,
        out: &mut Batch<NsOutput>,
    ) -> Result<(), NsError> {
        let endpoints_max = self.config.sns.endpoints_max;
        let room = self.table.room();
        let sns = self.sns.get_mut(nsei).ok_or(NsError::NoSuchEndpoint)?;
        let after = sns.changed(change, local)?;
        let new = if change == Change::Add { sns.remote.len() } else { 0 };
        if after.len() > endpoints_max || sns.waiting.len() >= WAITING_MAX || new > room {
            return Err(NsError::TableFull);
        }
        if sns.state != SnsState::Configured {
            // The peer is told with the next SNS-CONFIG.
            sns.local = after;
            return Ok(());
        }
        sns.transaction = sns.transaction.wrapping_add(1);
        let procedure = Procedure { change, local, transaction: sns.transaction };
        sns.waiting.push_back(procedure);
        self.next_procedure(cx, nsei, out);
        Ok(())
    }

    /// Begins the procedure that has waited for longest, if none is under way. What has become impossible meanwhile is
    /// left out.
    fn next_procedure(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        let Some(sns) = self.sns.get_mut(nsei).filter(|sns| sns.procedure.is_none()) else { return };
        sns.deadlines.clear(SnsTimer::TsnsProv);
        let Some(procedure) = sns.waiting.pop_front() else { return };
        let Ok(after) = sns.changed(procedure.change, procedure.local) else {
            return self.next_procedure(cx, nsei, out);
        };
        sns.procedure = Some(procedure);
        sns.repeated = 0;
        match procedure.change {
            Change::Add => {
                // The peer may test the new NS-VCs before its answer is here.
                sns.local = after;
                self.follow_endpoints(cx, nsei, out);
            }
            Change::Delete => self.hold(cx, nsei, procedure.local.port, out),
            Change::Weights => {}
        }
        self.repeat_sns(cx, nsei, out);
    }

    /// Nothing more goes out from a local endpoint. The PDUs of the sub-network service take another path.
    fn hold(&mut self, cx: &mut Context<'_>, nsei: Nsei, port: Port, out: &mut Batch<NsOutput>) {
        for index in self.vcs_at(nsei, port) {
            if let Some(vc) = self.table.get_mut(index) {
                vc.state = VcState::BlockedLocally;
                vc.since = cx.now;
            }
            self.set_unblocked(index, false, out);
        }
        self.keep_path(nsei);
    }

    fn vcs_at(&self, nsei: Nsei, port: Port) -> Vec<VcIndex> {
        let at = |index: &VcIndex| self.table.get(*index).is_some_and(|vc| vc.port == port);
        self.vcs_of(nsei).into_iter().filter(at).collect()
    }

    /// SNS-ACK: our procedure is done, or refused.
    pub(super) fn change_acked(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        transaction: u8,
        cause: Option<Cause>,
        out: &mut Batch<NsOutput>,
    ) {
        let ours = |procedure: &Procedure| procedure.transaction == transaction;
        let sns = self.sns.get_mut(nsei);
        let Some(procedure) = sns.and_then(|sns| sns.procedure.take_if(|procedure| ours(procedure))) else {
            return cx.drop(Drop::NsUnexpected, None);
        };
        match cause {
            None => self.done(cx, nsei, procedure, out),
            Some(cause) => {
                Self::refused(cx, nsei, "our change of an endpoint", cause);
                self.undone(cx, nsei, procedure, out);
            }
        }
        self.next_procedure(cx, nsei, out);
        self.arm_sns(cx, nsei);
    }

    /// Nobody has answered our procedure.
    pub(super) fn procedure_unanswered(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        out: &mut Batch<NsOutput>,
    ) {
        if let Some(procedure) = self.sns.get_mut(nsei).and_then(|sns| sns.procedure.take()) {
            self.undone(cx, nsei, procedure, out);
        }
        self.next_procedure(cx, nsei, out);
    }

    fn done(&mut self, cx: &mut Context<'_>, nsei: Nsei, procedure: Procedure, out: &mut Batch<NsOutput>) {
        let Procedure { change, local, .. } = procedure;
        match change {
            Change::Add => {
                let vcs = self.vcs_at(nsei, local.port);
                self.begin_tests(cx, &vcs, out);
            }
            Change::Delete | Change::Weights => {
                if let Some(sns) = self.sns.get_mut(nsei)
                    && let Ok(after) = sns.changed(change, local)
                {
                    sns.local = after;
                }
                self.follow_endpoints(cx, nsei, out);
            }
        }
        let endpoint = local.element.endpoint;
        cx.log(Category::Ns, Level::Notice, format_args!("NSEI {nsei}: {endpoint} was {change}"));
    }

    fn undone(&mut self, cx: &mut Context<'_>, nsei: Nsei, procedure: Procedure, out: &mut Batch<NsOutput>) {
        let Procedure { change, local, .. } = procedure;
        match change {
            Change::Add => {
                if let Some(sns) = self.sns.get_mut(nsei) {
                    sns.local.retain(|other| other.port != local.port);
                }
                self.follow_endpoints(cx, nsei, out);
            }
            Change::Delete => {
                let vcs = self.vcs_at(nsei, local.port);
                for index in &vcs {
                    if let Some(vc) = self.table.get_mut(*index) {
                        vc.state = VcState::Dead;
                    }
                }
                self.begin_tests(cx, &vcs, out);
            }
            Change::Weights => {}
        }
    }

    /// SNS-ADD, SNS-DELETE or SNS-CHANGEWEIGHT: the peer's endpoints change.
    pub(super) fn change_received(
        &mut self,
        cx: &mut Context<'_>,
        from: (Port, SocketAddr),
        pdu: &SnsPdu,
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        let nsei = pdu.nsei();
        let Some(sns) = self.sns.named(nsei).filter(|sns| sns.state == SnsState::Configured) else {
            return self.out_of_state(cx, from, octets, out);
        };
        if let Some((_, ack)) = sns.answered.as_ref().filter(|(before, _)| before == octets) {
            // The answer was lost: it is given again.
            let ack = ack.clone();
            return self.send_sns(cx, from, ack, out);
        }
        let after = sns.changed_remote(pdu);
        let after = after.and_then(|after| self.check_remote(sns, &after).map(|()| after));
        let ack = ack(pdu, after.as_ref().err().copied());
        // Where it is the answer itself whose path goes, it takes that path once more.
        self.send_sns(cx, from, ack.clone(), out);
        let Some(sns) = self.sns.get_mut(nsei) else { return };
        sns.answered = Some((octets.to_vec(), ack));
        match after {
            Err(cause) => Self::refused(cx, nsei, "a change of endpoints", cause),
            Ok(after) => {
                sns.remote = after;
                let new = self.follow_endpoints(cx, nsei, out);
                self.keep_path(nsei);
                self.begin_tests(cx, &new, out);
            }
        }
    }

    /// The path of our own PDUs is an NS-VC that is in service, or at least one that is there.
    pub(super) fn keep_path(&mut self, nsei: Nsei) {
        let Some(sns) = self.sns.named(nsei) else { return };
        let vcs = self.table.nse(nsei).map(|nse| nse.vcs.as_slice()).unwrap_or_default();
        let vcs = vcs.iter().filter_map(|index| self.table.get(*index));
        let rank = |vc: &&NsVc| (vc.state == VcState::Unblocked, (vc.port, vc.peer) == sns.path);
        let best = vcs.max_by_key(rank).map(|vc| (vc.port, vc.peer));
        if let (Some(path), Some(sns)) = (best, self.sns.get_mut(nsei)) {
            sns.path = path;
        }
    }
}

/// The answer to `pdu`; where it is refused, with the endpoints that it named.
fn ack(pdu: &SnsPdu, cause: Option<Cause>) -> SnsPdu {
    let (nsei, transaction, elements) = match pdu {
        SnsPdu::Add { nsei, transaction, elements }
        | SnsPdu::Changeweight { nsei, transaction, elements }
        | SnsPdu::Delete { nsei, transaction, elements, .. } => (*nsei, *transaction, elements.clone()),
        other => (other.nsei(), 0, IpElements::default()),
    };
    let elements = if cause.is_some() { elements } else { IpElements::default() };
    SnsPdu::Ack { nsei, transaction, cause, elements }
}

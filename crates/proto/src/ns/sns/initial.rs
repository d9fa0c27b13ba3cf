//! Size and configuration (48.016 clause 6.2): how two NSEs that know nothing of each other begin.

use super::super::vc::{VcIndex, VcOrigin};
use super::super::{NsEntity, NsOutput, NsRole};
use super::{Size, Sns, SnsPdu, SnsSetup, SnsState, SnsTimer, endpoints};
use core::net::SocketAddr;
use gannet_machine::drops::Drop;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Port};
use gannet_wire::id::Nsei;
use gannet_wire::ns::{Cause, IpElement, IpElements};

impl NsEntity {
    /// The BSS begins, or begins anew: SNS-SIZE.
    pub(in super::super) fn start_sns(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        out: &mut Batch<NsOutput>,
    ) {
        self.forget_peer(cx, nsei, out);
        let max = self.config.sns.endpoints_max;
        let vcs_max = self.config.sns.vcs_max;
        let Some(sns) = self.sns.get_mut(nsei) else { return };
        // What the SGSN may tell of itself is limited by our own tables alone.
        sns.size = Size { ns_vcs_max: vcs_max, ip4: max, ip6: max };
        sns.begin_path();
        sns.set_state(cx, SnsState::Size);
        self.repeat_sns(cx, nsei, out);
    }

    /// Sends what the state wants to be answered, and starts Tsns-prov.
    pub(super) fn repeat_sns(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        let tsns_prov = self.config.sns.tsns_prov;
        let ns_vcs_max = u16::try_from(self.config.sns.vcs_max).unwrap_or(u16::MAX);
        let role = self.config.role;
        if self.sns.named(nsei).is_some_and(|sns| sns.state == SnsState::Configured) {
            self.keep_path(nsei);
        }
        let Some(sns) = self.sns.get_mut(nsei) else { return };
        sns.guard(cx.now, tsns_prov);
        let path = sns.path;
        let pdu = match (role, sns.state) {
            (NsRole::Bss, SnsState::Size) => Some(sns.size_pdu(ns_vcs_max)),
            (NsRole::Bss, SnsState::ConfigBss) | (NsRole::Sgsn, SnsState::ConfigSgsn) => {
                let elements: IpElements = sns.local.iter().map(|local| local.element).collect();
                Some(SnsPdu::Config { nsei, end: true, elements })
            }
            (NsRole::Bss | NsRole::Sgsn, SnsState::Configured) => {
                sns.procedure.as_ref().map(|procedure| procedure.pdu(nsei))
            }
            (NsRole::Bss, SnsState::Idle | SnsState::ConfigSgsn)
            | (NsRole::Sgsn, SnsState::Idle | SnsState::Size | SnsState::ConfigBss) => None,
        };
        if let Some(pdu) = pdu {
            self.send_sns(cx, path, pdu, out);
        }
        self.arm_sns(cx, nsei);
    }

    /// Goes to a state in which something is sent or waited for.
    fn enter_sns(&mut self, cx: &mut Context<'_>, nsei: Nsei, state: SnsState, out: &mut Batch<NsOutput>) {
        if let Some(sns) = self.sns.get_mut(nsei) {
            sns.set_state(cx, state);
        }
        self.repeat_sns(cx, nsei, out);
    }

    /// Each side knows the other's endpoints: the NS-VCs are tested.
    fn configured(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        if let Some(sns) = self.sns.get_mut(nsei) {
            sns.set_state(cx, SnsState::Configured);
            sns.deadlines.clear(SnsTimer::TsnsProv);
        }
        self.table.touch();
        let vcs = self.vcs_of(nsei);
        self.begin_tests(cx, &vcs, out);
        self.forget_unless_alive(cx, nsei);
    }

    /// Goes on after a restart with the endpoints that an NSE had; `setup` where nobody has configured it. False where the
    /// present limits and the NS-VCs of others do not allow them.
    pub(in super::super) fn recall_sns(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        (setup, path): (Option<SnsSetup>, (Port, SocketAddr)),
        remote: Vec<IpElement>,
        out: &mut Batch<NsOutput>,
    ) -> bool {
        let is_new = setup.is_some();
        if let Some(setup) = setup {
            if self.sns.all().count() >= self.config.nse_max {
                return false;
            }
            self.sns.insert(setup, false, path, cx.now);
        }
        let max = self.config.sns.endpoints_max;
        let vcs_max = self.config.sns.vcs_max;
        let Some(sns) = self.sns.get_mut(nsei) else { return false };
        sns.size = Size { ns_vcs_max: vcs_max, ip4: max, ip6: max };
        if self.sns.named(nsei).is_none_or(|sns| self.check_remote(sns, &remote).is_err()) {
            if is_new {
                self.sns.remove(nsei);
            }
            return false;
        }
        if let Some(sns) = self.sns.get_mut(nsei) {
            (sns.path, sns.remote) = (path, remote);
        }
        for index in self.follow_endpoints(cx, nsei, out) {
            if let Some(vc) = self.table.get_mut(index) {
                vc.is_recalled = true;
            }
        }
        self.configured(cx, nsei, out);
        true
    }

    /// An NSE that nobody configured is forgotten if none of its NS-VCs ever passes its test.
    fn forget_unless_alive(&mut self, cx: &mut Context<'_>, nsei: Nsei) {
        let role = self.config.role;
        if let Some(sns) = self.sns.get_mut(nsei).filter(|sns| !sns.configured && role == NsRole::Sgsn) {
            sns.deadlines.set(SnsTimer::Forget, cx.now + super::FORGET_AFTER);
        }
        self.arm_sns(cx, nsei);
    }

    /// Tsns-prov expired: again, or the BSS starts anew and the SGSN gives up (48.016 clause 6.2).
    pub(super) fn tsns_prov_expired(&mut self, cx: &mut Context<'_>, nsei: Nsei, out: &mut Batch<NsOutput>) {
        let (role, sns_config) = (self.config.role, &self.config.sns);
        let (size_retries, config_retries) = (sns_config.size_retries, sns_config.config_retries);
        let procedure_retries = sns_config.procedure_retries;
        let Some(sns) = self.sns.get_mut(nsei) else { return };
        let retries = match sns.state {
            SnsState::Idle => return,
            SnsState::Size => size_retries,
            SnsState::ConfigBss | SnsState::ConfigSgsn => config_retries,
            SnsState::Configured => procedure_retries,
        };
        if sns.repeated < retries {
            sns.repeated += 1;
            return self.repeat_sns(cx, nsei, out);
        }
        let (state, peer) = (sns.state, sns.path.1);
        cx.log(Category::Ns, Level::Error, format_args!("NSEI {nsei}: {peer} does not answer in {state}"));
        match (role, state) {
            (NsRole::Bss | NsRole::Sgsn, SnsState::Configured) => self.procedure_unanswered(cx, nsei, out),
            (NsRole::Bss, _) => {
                sns.next_initial();
                self.start_sns(cx, nsei, out);
            }
            (NsRole::Sgsn, _) => self.end_sns(cx, nsei, out),
        }
    }

    /// SNS-SIZE at an SGSN.
    pub(super) fn size_received(
        &mut self,
        cx: &mut Context<'_>,
        from: (Port, SocketAddr),
        pdu: &SnsPdu,
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        let SnsPdu::Size { nsei, ns_vcs_max, ip4_endpoints, ip6_endpoints, .. } = *pdu else { return };
        let number = |number: Option<u16>| usize::from(number.unwrap_or(0));
        let size =
            Size { ns_vcs_max: ns_vcs_max.into(), ip4: number(ip4_endpoints), ip6: number(ip6_endpoints) };
        let known = self.sns.named(nsei);
        if known.is_none() && !self.config.sns.open.contains(&from.0) {
            return self.refuse_stranger(cx, from, Cause::PduNotCompatible, octets, out);
        }
        let repeated =
            known.is_some_and(|sns| sns.state == SnsState::ConfigBss && sns.path == from && sns.size == size);
        if !repeated {
            let live = self.live_beside(nsei, from);
            if !live.is_empty() {
                return self.contest(cx, &live, from, octets, out);
            }
            if !self.may_have(nsei, from.1) || !self.frees_address(cx, nsei, from, out) {
                Self::refused(cx, nsei, "SNS-SIZE", Cause::PduNotCompatible);
                return self.out_of_state(cx, from, octets, out);
            }
            if let Err(cause) = self.admit(cx, nsei, from, size, out) {
                Self::refused(cx, nsei, "SNS-SIZE", cause);
                return self.send_sns(cx, from, SnsPdu::SizeAck { nsei, cause: Some(cause) }, out);
            }
        }
        self.send_sns(cx, from, SnsPdu::SizeAck { nsei, cause: None }, out);
        self.enter_sns(cx, nsei, SnsState::ConfigBss, out);
    }

    /// Live peers whose service would end if SNS-SIZE from this address were obeyed: those of an NSE that has begun
    /// elsewhere, or that is there without IP-SNS. An NSE that a person has configured with NS-VCs is not asked about.
    fn live_beside(&self, nsei: Nsei, from: (Port, SocketAddr)) -> Vec<VcIndex> {
        let vcs = self.vcs_of(nsei);
        let vcs = || vcs.iter().filter_map(|index| self.table.get(*index));
        let is_own = self.sns.named(nsei).is_some() && vcs().any(|vc| vc.peer == from.1);
        let is_configured = vcs().any(|vc| vc.origin == VcOrigin::Configured);
        if is_own || is_configured { Vec::new() } else { self.live_of(nsei) }
    }

    /// The address from which `nsei` begins may have been another NSE's; one that nobody configured gives way.
    fn frees_address(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        (port, peer): (Port, SocketAddr),
        out: &mut Batch<NsOutput>,
    ) -> bool {
        let Some(index) = self.table.at(port, peer) else { return true };
        let Some(vc) = self.table.get(index).filter(|vc| vc.nsei != nsei) else { return true };
        let other = vc.nsei;
        match vc.origin {
            VcOrigin::Configured => false,
            VcOrigin::Announced => {
                self.remove_vc(cx, index, out);
                true
            }
            VcOrigin::Sns => self.sns_gives_way(cx, other, peer, out),
        }
    }

    /// The NSE starts anew with this size; why not, where it may not.
    fn admit(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        from: (Port, SocketAddr),
        size: Size,
        out: &mut Batch<NsOutput>,
    ) -> Result<(), Cause> {
        let known = self.sns.named(nsei);
        let local = known.map_or(self.config.sns.local.as_slice(), Sns::local);
        let elements: Vec<IpElement> = local.iter().map(|local| local.element).collect();
        let (ip4, ip6) = endpoints::count(&elements);
        let max = self.config.sns.endpoints_max;
        // Each of its endpoints needs an NS-VC to each of ours. Where both numbers are too large, this cause is the one that
        // deployed BSSs and their suites know.
        if size.ns_vcs_max < size.ip4 * ip4 + size.ip6 * ip6 {
            return Err(Cause::InvalidNumberOfNsVcs);
        }
        // There must be a kind of address that both have.
        let joined = (size.ip4 > 0 && ip4 > 0) || (size.ip6 > 0 && ip6 > 0);
        if size.ip4 > max || (!joined && ip4 > 0) {
            return Err(Cause::InvalidNumberOfIpv4Endpoints);
        }
        if size.ip6 > max || !joined {
            return Err(Cause::InvalidNumberOfIpv6Endpoints);
        }
        if known.is_none() {
            self.make_room(cx, out)?;
            let setup =
                SnsSetup { nsei, local: self.config.sns.local.clone(), spare: 0, initial: Vec::new() };
            self.sns.insert(setup, false, from, cx.now);
            let (_, peer) = from;
            cx.log(Category::Ns, Level::Notice, format_args!("NSEI {nsei}: new, IP-SNS from {peer}"));
        }
        self.forget_peer(cx, nsei, out);
        if let Some(sns) = self.sns.get_mut(nsei) {
            sns.path = from;
            sns.size = size;
        }
        Ok(())
    }

    /// A place for one more NSE: where there is none, the oldest that has only begun gives its own.
    fn make_room(&mut self, cx: &mut Context<'_>, out: &mut Batch<NsOutput>) -> Result<(), Cause> {
        if self.sns.all().count() < self.config.nse_max {
            return Ok(());
        }
        let begun = self.sns.all().filter(|sns| !sns.configured && sns.state != SnsState::Configured);
        let oldest = begun.min_by_key(|sns| sns.since).map(|sns| sns.nsei);
        let Some(oldest) = oldest else {
            cx.drop(Drop::NsTableFull, None);
            return Err(Cause::InvalidNumberOfNsVcs);
        };
        self.end_sns(cx, oldest, out);
        Ok(())
    }

    /// SNS-SIZE-ACK at a BSS.
    pub(super) fn size_acked(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        cause: Option<Cause>,
        out: &mut Batch<NsOutput>,
    ) {
        let size_retries = self.config.sns.size_retries;
        let Some(sns) = self.sns.get_mut(nsei).filter(|sns| sns.state == SnsState::Size) else {
            return cx.drop(Drop::NsUnexpected, None);
        };
        match cause {
            None => self.enter_sns(cx, nsei, SnsState::ConfigBss, out),
            Some(cause) => {
                // It asks again, elsewhere if it can, when Tsns-prov expires.
                sns.repeated = size_retries;
                Self::refused(cx, nsei, "our SNS-SIZE", cause);
            }
        }
    }

    /// SNS-CONFIG, at either side.
    pub(super) fn config_received(
        &mut self,
        cx: &mut Context<'_>,
        from: (Port, SocketAddr),
        (nsei, end, elements): (Nsei, bool, &IpElements),
        octets: &[u8],
        out: &mut Batch<NsOutput>,
    ) {
        let role = self.config.role;
        let max = self.config.sns.endpoints_max;
        let Some(sns) = self.sns.get_mut(nsei) else { return };
        let cause = match (role, sns.state) {
            (NsRole::Sgsn, SnsState::ConfigBss) | (NsRole::Bss, SnsState::ConfigSgsn) => {
                let new = elements.iter().filter(|new| !sns.coming.contains(new)).copied();
                let new: Vec<IpElement> = new.collect();
                sns.coming.extend(new);
                sns.repeated = 0;
                if sns.coming.len() > 2 * max { Some(Cause::InvalidNumberOfIpv4Endpoints) } else { None }
            }
            // The answer was lost: it is given again.
            (NsRole::Sgsn, SnsState::ConfigSgsn | SnsState::Configured)
            | (NsRole::Bss, SnsState::Configured)
                if elements.iter().all(|element| sns.remote.contains(element)) =>
            {
                return self.send_sns(cx, from, SnsPdu::ConfigAck { nsei, cause: None }, out);
            }
            (NsRole::Bss | NsRole::Sgsn, _) => return self.out_of_state(cx, from, octets, out),
        };
        let taken = cause.map_or_else(|| if end { self.take_config(nsei) } else { Ok(()) }, Err);
        self.send_sns(cx, from, SnsPdu::ConfigAck { nsei, cause: taken.err() }, out);
        match (taken, role) {
            (Err(cause), _) => {
                if let Some(sns) = self.sns.get_mut(nsei) {
                    sns.coming.clear();
                }
                Self::refused(cx, nsei, "SNS-CONFIG", cause);
            }
            (Ok(()), _) if !end => self.repeat_sns(cx, nsei, out),
            (Ok(()), NsRole::Sgsn) => {
                // The BSS may test its NS-VCs before its answer is here.
                self.follow_endpoints(cx, nsei, out);
                self.enter_sns(cx, nsei, SnsState::ConfigSgsn, out);
            }
            (Ok(()), NsRole::Bss) => {
                self.follow_endpoints(cx, nsei, out);
                self.configured(cx, nsei, out);
            }
        }
    }

    /// The peer has told all its endpoints: they are its endpoints from now on, if they can be.
    fn take_config(&mut self, nsei: Nsei) -> Result<(), Cause> {
        let Some(sns) = self.sns.named(nsei) else { return Ok(()) };
        let twice = |element: &IpElement| {
            sns.coming.iter().filter(|other| other.endpoint == element.endpoint).count() > 1
        };
        if sns.coming.iter().any(twice) {
            return Err(Cause::SemanticallyIncorrectPdu);
        }
        self.check_remote(sns, &sns.coming)?;
        if let Some(sns) = self.sns.get_mut(nsei) {
            sns.remote = core::mem::take(&mut sns.coming);
        }
        Ok(())
    }

    /// SNS-CONFIG-ACK, at either side.
    pub(super) fn config_acked(
        &mut self,
        cx: &mut Context<'_>,
        nsei: Nsei,
        cause: Option<Cause>,
        out: &mut Batch<NsOutput>,
    ) {
        let (role, config_retries) = (self.config.role, self.config.sns.config_retries);
        let Some(sns) = self.sns.get_mut(nsei) else { return };
        match (role, sns.state, cause) {
            (NsRole::Bss, SnsState::ConfigBss, None) => {
                self.enter_sns(cx, nsei, SnsState::ConfigSgsn, out);
            }
            (NsRole::Sgsn, SnsState::ConfigSgsn, None) => self.configured(cx, nsei, out),
            (NsRole::Bss, SnsState::ConfigBss, Some(cause))
            | (NsRole::Sgsn, SnsState::ConfigSgsn, Some(cause)) => {
                // Nothing else would be told: the procedure ends when Tsns-prov expires.
                sns.repeated = config_retries;
                Self::refused(cx, nsei, "our SNS-CONFIG", cause);
            }
            (NsRole::Bss | NsRole::Sgsn, _, _) => cx.drop(Drop::NsUnexpected, None),
        }
    }
}

impl Sns {
    fn size_pdu(&self, ns_vcs_max: u16) -> SnsPdu {
        let elements: Vec<IpElement> = self.local.iter().map(|local| local.element).collect();
        let (ip4, ip6) = endpoints::count(&elements);
        let number = |count: usize| {
            let spare = if count == 0 { 0 } else { self.spare };
            Some(u16::try_from(count).unwrap_or(u16::MAX).saturating_add(spare))
        };
        SnsPdu::Size {
            nsei: self.nsei,
            reset: true,
            ns_vcs_max,
            ip4_endpoints: number(ip4),
            ip6_endpoints: number(ip6),
        }
    }

    /// The path of the first PDU: from one of our endpoints to one of the SGSN's that were configured.
    fn begin_path(&mut self) {
        if !self.initial.contains(&self.path.1)
            && let Some(first) = self.initial.first()
        {
            self.path.1 = *first;
        }
        let ipv4 = self.path.1.is_ipv4();
        let mut ports = self.local.iter().filter(|local| local.element.endpoint.is_ipv4() == ipv4);
        if !ports.clone().any(|local| local.port == self.path.0)
            && let Some(first) = ports.next()
        {
            self.path.0 = first.port;
        }
    }

    /// The SGSN's next endpoint of those that were configured.
    fn next_initial(&mut self) {
        let now = self.initial.iter().position(|peer| *peer == self.path.1);
        let next = now.map_or(0, |now| (now + 1) % self.initial.len().max(1));
        if let Some(peer) = self.initial.get(next) {
            self.path.1 = *peer;
        }
    }
}

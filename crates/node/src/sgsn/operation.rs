//! What an operator does to a running SGSN beside the orders of [`super::SgsnCommand`].

use super::flows::QueueConfig;
use super::gb::ns_config;
use super::{IpSns, Sgsn, SgsnConfig};
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, StreamState};
use gannet_proto::auth::AuthPolicy;
use gannet_proto::gmm::network::GmmEvent;
use gannet_proto::gsup::GsupFailure;
use gannet_proto::gtp::Timing;
use gannet_proto::ns::sns::{Sns, SnsSetup};
use gannet_proto::ns::{NsError, VcIndex};
use gannet_wire::bssgp::Cause;
use gannet_wire::gsup::CancelType;
use gannet_wire::id::Imsi;
use gannet_wire::l3::ie::GmmCause;
use gannet_wire::ns::IpElement;

/// What to do with an NS-VC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NsvcOrder {
    /// Block it (08.16 clause 7.2).
    Block,
    /// Unblock it.
    Unblock,
    /// Reset it (08.16 clause 7.3).
    Reset,
}

/// Why an order about a subscriber was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderRefused {
    /// It is not known here.
    Unknown,
    /// No HLR is asked, or mobiles need not prove who they are: there is nothing to authenticate with.
    NoAuthentication,
    /// Nobody waits for that answer.
    NotAwaited,
}

impl core::fmt::Display for OrderRefused {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "is not known here",
            Self::NoAuthentication => "is not authenticated: that takes 'auth-policy remote' and an HLR",
            Self::NotAwaited => "does not wait for that answer",
        })
    }
}

impl Sgsn {
    /// Does what LocationCancel of an HLR does: the subscriber is elsewhere, or has no subscription any more.
    ///
    /// # Errors
    /// Where it is not known here.
    pub fn cancel_subscriber(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        how: CancelType,
    ) -> Result<(), OrderRefused> {
        let slot = self.directory.by_imsi(imsi).ok_or(OrderRefused::Unknown)?;
        self.cancelled(cx, slot, how);
        self.order_given(cx);
        Ok(())
    }

    /// Forgets a subscriber and its PDP contexts, here and at its GGSNs; the HLR is told, the mobile is not.
    ///
    /// # Errors
    /// Where it is not known here.
    pub fn forget_subscriber(&mut self, cx: &mut Context<'_>, imsi: Imsi) -> Result<(), OrderRefused> {
        let slot = self.directory.by_imsi(imsi).ok_or(OrderRefused::Unknown)?;
        self.purge(cx, slot);
        self.delete_mobile(cx, slot);
        self.order_given(cx);
        Ok(())
    }

    /// Forgets every mobile, attached or attaching, as [`Sgsn::forget_subscriber`] forgets one; gives how many those were.
    pub fn forget_all(&mut self, cx: &mut Context<'_>) -> usize {
        let slots: Vec<_> = self.mobiles.iter().map(|(slot, _)| slot).collect();
        for slot in &slots {
            self.purge(cx, *slot);
            self.delete_mobile(cx, *slot);
        }
        self.order_given(cx);
        slots.len()
    }

    /// What follows from an order goes out.
    fn order_given(&mut self, cx: &mut Context<'_>) {
        self.serve_hlr(cx);
        self.send_queued(cx);
    }

    /// Gives a mobile that waits for UpdateLocation the answer in the HLR's place.
    ///
    /// # Errors
    /// Where nobody waits for it.
    pub fn answer_location(
        &mut self,
        cx: &mut Context<'_>,
        imsi: Imsi,
        answer: Result<(), GmmCause>,
    ) -> Result<(), OrderRefused> {
        if self.subscribers.being_located(imsi).is_none() {
            return Err(OrderRefused::NotAwaited);
        }
        self.location_updated(cx, imsi, answer.map_err(GsupFailure::Refused));
        self.order_given(cx);
        Ok(())
    }

    /// Adds the NS-VCs of the configuration to those that are there.
    ///
    /// # Errors
    /// The first that could not be added, and why.
    pub fn add_configured_nsvcs(&mut self, cx: &mut Context<'_>) -> Result<(), (super::NsvcConfig, NsError)> {
        let mut outputs = Batch::default();
        let mut result = Ok(());
        for vc in self.config.nsvcs.clone() {
            let (ns, nsei) = (&mut self.gb.ns, vc.nsei);
            let added = match vc.nsvci {
                Some(nsvci) if ns.find(nsei, nsvci).is_some() => continue,
                Some(nsvci) => ns.add_static_vc(cx, nsei, nsvci, vc.port, vc.peer),
                None => ns.add_static_endpoint(cx, nsei, (vc.port, vc.peer), vc.weights, &mut outputs),
            };
            if let Err(error) = added {
                result = Err((vc, error));
                break;
            }
        }
        self.ns_outputs(cx, &mut outputs);
        result
    }

    /// Makes the NSEs of the configuration speak IP-SNS that do not yet.
    pub(super) fn add_configured_ip_sns(&mut self, cx: &mut Context<'_>) {
        for (nsei, local) in self.config.ip_sns.nses.clone() {
            if self.gb.ns.sns(nsei).is_some_and(Sns::is_configured) {
                continue;
            }
            let setup = SnsSetup { nsei, local, spare: 0, initial: Vec::new() };
            if let Err(error) = self.gb.ns.add_sns(cx, setup) {
                cx.log(Category::Ns, Level::Error, format_args!("NSEI {nsei}: {error}"));
            }
        }
    }

    /// Tells the BSSs other weights of our endpoints (48.016 clause 6.2, SNS-CHANGEWEIGHT).
    fn change_ip_weights(&mut self, cx: &mut Context<'_>) {
        let IpSns { endpoints, nses, .. } = &self.config.ip_sns;
        let mut wanted: Vec<IpElement> = Vec::new();
        for local in endpoints.iter().chain(nses.iter().flat_map(|(_, local)| local)) {
            if wanted.iter().all(|known| known.endpoint != local.element.endpoint) {
                wanted.push(local.element);
            }
        }
        let other = |told: &IpElement| {
            wanted.iter().copied().find(|now| now.endpoint == told.endpoint && now != told)
        };
        let told: Vec<_> = self
            .gb
            .ns
            .sns_nses()
            .flat_map(|sns| sns.local().iter().map(|local| (sns.nsei(), local.element)))
            .filter_map(|(nsei, element)| Some((nsei, other(&element)?)))
            .collect();
        let mut outputs = Batch::default();
        for (nsei, element) in told {
            if let Err(error) = self.gb.ns.sns_change_weight(cx, nsei, element, &mut outputs) {
                cx.log(Category::Ns, Level::Error, format_args!("NSEI {nsei}: {error}"));
            }
        }
        self.ns_outputs(cx, &mut outputs);
    }

    /// Takes over all but sizes of tables and addresses: timers, GGSNs and routes of access points, who may attach, who is
    /// believed on Gn and lets itself be known on Gb, flow control and queues, N201-U, links and compression of new contexts.
    pub fn reconfigure(&mut self, cx: &mut Context<'_>, new: SgsnConfig) {
        self.access_points.reroute(&new);
        self.gb.ns.reconfigure(ns_config(&new));
        self.config = SgsnConfig {
            source_check: new.source_check,
            gtp_peers: new.gtp_peers,
            failure_delay: new.failure_delay,
            gmm: new.gmm,
            sm: new.sm,
            ggsn_restart_cause: new.ggsn_restart_cause,
            ns: new.ns,
            ggsns: new.ggsns,
            apns: new.apns,
            n201_u: new.n201_u,
            user_plane: new.user_plane,
            pdu_lifetime: new.pdu_lifetime,
            cell_change: new.cell_change,
            held_lifetime: new.held_lifetime,
            nsvcs: new.nsvcs,
            ceilings: new.ceilings,
            admission: new.admission,
            policing: new.policing,
            ip_sns: new.ip_sns,
            subscribers: new.subscribers,
            overload_interval: new.overload_interval,
            open: new.open,
            echo_interval: new.echo_interval,
            echo_intervals: new.echo_intervals,
            t3_response: new.t3_response,
            n3_requests: new.n3_requests,
            reassembly_timeout: new.reassembly_timeout,
            queue: QueueConfig {
                pdus_max: self.config.queue.pdus_max,
                uplink_pdus_max: self.config.queue.uplink_pdus_max,
                ..new.queue
            },
            ..self.config.clone()
        };
        let SgsnConfig { t3_response, n3_requests, echo_interval, .. } = self.config;
        let echo_intervals = self.config.echo_intervals.clone();
        self.gtp.set_timing(cx, Timing { t3_response, n3_requests, echo_interval, echo_intervals });
        self.gb.flow.reconfigure(cx, new.flow);
        self.reassembler.set_timeout(self.config.reassembly_timeout);
        self.subscribers.ask(&self.config.subscribers);
        self.gtp.trust(self.config.source_check, self.config.listed_peers());
        self.gtp.set_failure_delay(self.config.failure_delay);
        // With the rules, which say from where packets come.
        self.reconfigure_flows(cx.now);
        self.resume_all_claims(cx);
        self.change_ip_weights(cx);
        self.add_configured_ip_sns(cx);
    }

    /// The link to the HLR is given up, as its address or our name has changed: a new connection follows.
    pub fn hlr_moved(&mut self, cx: &mut Context<'_>) {
        self.hlr_stream(cx, StreamState::Lost);
        self.order_given(cx);
    }

    /// Blocks, unblocks or resets an NS-VC.
    pub fn order_nsvc(&mut self, cx: &mut Context<'_>, vc: VcIndex, order: NsvcOrder) {
        let mut outputs = Batch::default();
        match order {
            NsvcOrder::Block => self.gb.ns.block(cx, vc, &mut outputs),
            NsvcOrder::Unblock => self.gb.ns.unblock(cx, vc, &mut outputs),
            NsvcOrder::Reset => self.gb.ns.reset(cx, vc, &mut outputs),
        }
        self.ns_outputs(cx, &mut outputs);
    }

    /// Resets the BVC of a cell (08.18 clause 8.4).
    pub fn reset_bvc(&mut self, cx: &mut Context<'_>, bvc: u32) {
        let mut outputs = Batch::default();
        self.gb.bvcs.reset(cx, bvc, Cause::OamIntervention, &mut outputs);
        self.bvc_outputs(cx, &mut outputs);
    }

    /// Pages a mobile, as waiting data would; false where it is not known. In READY it is not paged.
    pub fn page_subscriber(&mut self, cx: &mut Context<'_>, imsi: Imsi) -> bool {
        self.order_of_subscriber(cx, imsi, GmmEvent::DownlinkData)
    }

    /// Has a mobile show anew who it is (04.08 clause 4.7.7 [24.008]): as soon as it is heard and does nothing else, in
    /// STANDBY it is paged for that.
    ///
    /// # Errors
    /// See [`OrderRefused`].
    pub fn authenticate_again(&mut self, cx: &mut Context<'_>, imsi: Imsi) -> Result<(), OrderRefused> {
        self.directory.by_imsi(imsi).ok_or(OrderRefused::Unknown)?;
        let subscribers = &self.config.subscribers;
        if subscribers.policy != AuthPolicy::Remote || !subscribers.authentication {
            return Err(OrderRefused::NoAuthentication);
        }
        match self.order_of_subscriber(cx, imsi, GmmEvent::Authenticate) {
            true => Ok(()),
            false => Err(OrderRefused::Unknown),
        }
    }

    /// Gives a mobile a new P-TMSI (04.08 clause 4.7.6 [24.008]), in the same way.
    pub fn reallocate_ptmsi(&mut self, cx: &mut Context<'_>, imsi: Imsi) -> bool {
        self.order_of_subscriber(cx, imsi, GmmEvent::ReallocatePtmsi)
    }

    /// Tells a mobile the names of the network (GMM INFORMATION, 04.08 clause 4.7.12 [24.008]), in the same way.
    pub fn inform_subscriber(&mut self, cx: &mut Context<'_>, imsi: Imsi) -> bool {
        self.order_of_subscriber(cx, imsi, GmmEvent::Inform)
    }

    fn order_of_subscriber(&mut self, cx: &mut Context<'_>, imsi: Imsi, order: GmmEvent) -> bool {
        let Some(slot) = self.directory.by_imsi(imsi) else { return false };
        self.gmm(cx, slot, order);
        self.order_given(cx);
        true
    }
}

//! The SGSN: Gb on one side, Gn on the other, and the mobiles between them.
//!
//! | file | what |
//! |---|---|
//! | [`config`] | what an operator may choose |
//! | [`mobile`] | one mobile, a relocatable value |
//! | [`directory`] | a mobile by each of its names |
//! | [`contexts`] | a PDP context by its TEID |
//! | [`gb`] | NS, BSSGP, cells, the downlink queue and who sends next |
//! | `strangers` | LL-PDUs whose TLLI nobody has |
//! | `arriving` | LL-PDUs of many mobiles are deciphered side by side |
//! | `uplink` | LL-PDU → layer 3 or N-PDU |
//! | `downlink` | G-PDU → LL-PDU, and what is held while paging ([`held`]) |
//! | `user_plane` | acknowledged mode and compression |
//! | [`messages`] | how many messages of each kind came and went |
//! | `mobility` | what GMM asks of the node |
//! | `sessions` | what SM and GTP ask of the node |
//! | [`flows`] | the queue of each PDP context, and who is served next |
//! | [`uplink_queues`] | the same for what comes from mobiles |
//! | [`quality`] | which service a QoS profile buys |
//! | [`admission`] | which rates are guaranteed, in a cell and at the node |
//! | [`operation`] | what an operator changes while it runs |
//! | [`subscribers`] | who may be served, and what the HLR says of him |
//! | [`relocation`] | a mobile leaves or arrives as octets |
//! | [`charging`] | what each context has used, for who charges for it |
//! | [`recording`] | what it takes and gives, as lines |
//! | [`durable`] | which mobiles are to be kept for the time after a restart |
//! | [`show`] | what an operator sees |
//!
//! The data path allocates nothing: frames come from the pool, batches are kept in `Scratch`. Signalling may.

pub mod admission;
pub mod charging;
pub mod config;
pub mod contexts;
pub mod directory;
pub mod durable;
pub mod flows;
pub mod gb;
pub mod held;
pub mod mobile;
pub mod operation;
mod owner;
pub mod quality;
pub mod recording;
pub mod relocation;
pub mod show;
pub mod subscribers;

mod arriving;
mod claimants;
mod downlink;
pub mod messages;
mod mobility;
mod sessions;
mod strangers;
#[cfg(test)]
mod tests;
mod unknown_users;
mod uplink;
pub mod uplink_queues;
mod user_plane;

use crate::kept::Marks;
use crate::slots::{Slot, Slots};
use admission::Admission;
use arriving::Arriving;
use charging::{ChargedRecord, Charging};
use contexts::Contexts;
use core::net::IpAddr;
use directory::Directory;
use flows::{Expected, Flows, Ingress};
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::{Batch, Context, Input, Machine, Output, Port};
use gannet_proto::auth::AuthPolicy;
use gannet_proto::classifier::RuleChange;
use gannet_proto::gmm::network::GmmAction;
use gannet_proto::gsup::GsupConfig;
use gannet_proto::gtp::{AnswerLimiter, ContextName, GtpConfig, GtpEntity, GtpOutput, Role, SecondAddress};
use gannet_proto::llc::LlcOutput;
use gannet_proto::llc::cipher::{BatchCipher, Portable};
use gannet_proto::sndcp::Reassembler;
use gannet_proto::user_plane::Outputs;
use gannet_wire::id::{Imsi, Nsapi, Teid, Tlli};
use gb::Gb;
use held::Held;
use mobile::Mobile;
use owner::Owner;
use std::collections::BTreeSet;
use subscribers::Subscribers;
use uplink_queues::UplinkQueues;
use user_plane::Unconfirmed;

pub use config::{
    ApnRoute, CellChange, GgsnPeer, IpSns, LeftBehind, NsTimers, NsvcConfig, PduLifetimes, Policing,
    SgsnConfig,
};

/// The UDP port of the network service: its first, and in most configurations its only one.
pub const GB: Port = Port(0);
/// The UDP port of GTP-C.
pub const GTP_C: Port = Port(1);
/// The UDP port of GTP-U.
pub const GTP_U: Port = Port(2);
/// The UDP port of GTPv0, for signalling and G-PDUs.
pub const GTP_V0: Port = Port(3);
/// The stream to the HLR.
pub const HLR: Port = Port(4);
/// The UDP port of GTP-C of the other version of IP.
pub const GTP_C_SECOND: Port = Port(5);
/// The UDP port of GTP-U of the other version of IP.
pub const GTP_U_SECOND: Port = Port(6);
/// Further UDP ports of the network service, from the second one on.
pub const GB_FURTHER: [Port; 7] = [Port(7), Port(8), Port(9), Port(10), Port(11), Port(12), Port(13)];

/// One of the network service.
const fn is_gb(port: Port) -> bool {
    port.0 == GB.0 || (port.0 >= GB_FURTHER[0].0 && port.0 <= GB_FURTHER[6].0)
}

/// Orders to an SGSN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SgsnCommand {
    /// Begin: listen for BSSs, and introduce ourselves where they are configured.
    Start,
    /// Ask a mobile to detach.
    Detach {
        /// The subscriber.
        imsi: Imsi,
        /// It may attach again at once.
        reattach: bool,
    },
    /// Deactivate a PDP context from this side.
    Deactivate {
        /// The subscriber.
        imsi: Imsi,
        /// The context.
        nsapi: Nsapi,
    },
    /// Reset every NS-VC.
    ResetNs,
}

/// What an SGSN tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SgsnEvent {
    /// A mobile is attached.
    Attached {
        /// The subscriber.
        imsi: Imsi,
    },
    /// A mobile is gone.
    Detached {
        /// The subscriber.
        imsi: Imsi,
    },
    /// A PDP context is active.
    Activated {
        /// The subscriber.
        imsi: Imsi,
        /// The context.
        nsapi: Nsapi,
    },
    /// A PDP context is gone.
    Deactivated {
        /// The subscriber.
        imsi: Imsi,
        /// The context.
        nsapi: Nsapi,
    },
    /// A mobile that is not known was told to attach again.
    StrangerAnswered {
        /// By this TLLI.
        tlli: Tlli,
    },
    /// A GGSN has lost its contexts.
    GgsnRestarted {
        /// Its address.
        peer: IpAddr,
    },
    /// Something that may be charged for, where [`Sgsn::charge`] has asked for that.
    Charged(Box<ChargedRecord>),
}

/// Counters of the data path and of procedures; drops are counted by name elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// N-PDUs that came from GGSNs for a mobile.
    pub n_pdu_downlink: u64,
    /// N-PDUs that went to GGSNs.
    pub n_pdu_uplink: u64,
    /// LL-PDUs that went to BSSs.
    pub ll_pdu_downlink: u64,
    /// Octets of them.
    pub ll_octets_downlink: u64,
    /// LL-PDUs that came from BSSs.
    pub ll_pdu_uplink: u64,
    /// Octets of them.
    pub ll_octets_uplink: u64,
    /// Messages of layer 3 by kind.
    pub messages: messages::MessageCounters,
    /// Attach procedures that ended well.
    pub attached: u64,
    /// PDP context activations that ended well.
    pub activated: u64,
    /// PAGING-PS sent.
    pub pagings: u64,
    /// FLUSH-LL sent.
    pub flushes: u64,
    /// Of these, those that named the new cell, by [`CellChange::flushes_new_cell`].
    pub flushes_misdirected: u64,
    /// Octets of LL-PDUs that BSSs have taken to the new cells of mobiles.
    pub octets_moved: u64,
    /// Octets of LL-PDUs that BSSs have deleted when mobiles left their cells.
    pub octets_deleted: u64,
    /// OVERLOAD sent.
    pub overloads: u64,
    /// N-PDUs that mobiles have confirmed in acknowledged mode.
    pub n_pdu_confirmed: u64,
    /// Links of acknowledged mode that have ended, or could not be established.
    pub links_lost: u64,
}

/// Batches that keep their memory between two packets.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    gmm: Batch<GmmAction>,
    llc: Batch<LlcOutput>,
    gtp: Batch<GtpOutput>,
    segments: Batch<Frame>,
    user_plane: Option<Box<Outputs>>,
}

/// The SGSN.
#[derive(Debug)]
pub struct Sgsn {
    pub(crate) config: SgsnConfig,
    pub(crate) gb: Gb,
    pub(crate) gtp: GtpEntity,
    pub(crate) subscribers: Subscribers,
    pub(crate) mobiles: Slots<Mobile>,
    pub(crate) directory: Directory,
    pub(crate) contexts: Contexts,
    pub(crate) admission: Admission,
    /// What is to be kept; nothing unless somebody keeps it.
    pub(crate) durable: Option<Marks>,
    /// What contexts have used; nothing unless somebody asks.
    charging: Option<Box<Charging>>,
    pub(crate) flows: Option<Flows>,
    pub(crate) uplink: Option<UplinkQueues>,
    /// What has come up and is being deciphered.
    arriving: Arriving,
    pub(crate) held: Held,
    /// What acknowledged mode holds of all mobiles.
    unconfirmed: Unconfirmed,
    /// When what is held may next be looked through for what is too old.
    pub(crate) held_sweep_due: Instant,
    pub(crate) reassembler: Reassembler,
    pub(crate) requests: sessions::Requests,
    pub(crate) updates: sessions::Updates,
    pub(crate) notifications: sessions::Notifications,
    pub(crate) access_points: sessions::AccessPoints,
    /// When names of access points may next be looked through.
    pub(crate) apn_sweep_due: Instant,
    /// Contexts by what an Error Indication of GTPv1 names: the path to the GGSN and the GGSN's endpoint. GGSNs may name the same.
    pub(crate) by_peer_endpoint: BTreeSet<(u16, Teid, Slot, Nsapi)>,
    /// Addresses of a context's GGSN besides those of its tunnel, where there are any.
    pub(crate) ggsn_addresses: sessions::GgsnAddresses,
    /// From where they have answered.
    pub(crate) ggsn_origins: sessions::GgsnOrigins,
    /// Contexts that are not to be activated anew again and again.
    pub(crate) asked_anew: sessions::AskedAnew,
    pub(crate) stranger_limiter: AnswerLimiter,
    unknown_users: unknown_users::UnknownUsers,
    /// Where the search for a mobile that only attaches goes on, when the table is full.
    pub(crate) eviction_hand: u32,
    pub(crate) stats: Stats,
    pub(crate) scratch: Scratch,
    out: Batch<Output<SgsnEvent, RuleChange>>,
    /// Ciphers many frames at once.
    ciphers: &'static dyn BatchCipher,
}

impl Sgsn {
    /// An SGSN without mobiles; all tables get their memory now. `seed` keeps strangers from choosing names that
    /// collide in the tables.
    #[must_use]
    pub fn new(config: SgsnConfig, seed: u64) -> Self {
        let ports = [GTP_C, GTP_U, GTP_V0];
        let mut gtp = GtpConfig::new(Role::Sgsn, ports, config.gtp_address, Owner::Gtp.number());
        gtp.second = config
            .gtp_second_address
            .map(|address| SecondAddress { address, ports: [GTP_C_SECOND, GTP_U_SECOND] });
        gtp.source_check = config.source_check;
        gtp.peers = config.listed_peers();
        gtp.restart_counter = config.restart_counter;
        gtp.echo_interval = config.echo_interval;
        gtp.echo_intervals = config.echo_intervals.clone();
        gtp.failure_delay = config.failure_delay;
        gtp.t3_response = config.t3_response;
        gtp.n3_requests = config.n3_requests;
        let asks_hlr = config.subscribers.policy == AuthPolicy::Remote;
        let gsup =
            asks_hlr.then(|| GsupConfig::new(HLR, &config.subscribers.unit_name, Owner::Gsup.number()));
        let strangers = config.stranger_answers_per_second;
        Self {
            gb: Gb::new(&config),
            gtp: GtpEntity::new(gtp),
            subscribers: Subscribers::new(gsup),
            mobiles: Slots::with_limit(config.mobiles_max),
            directory: Directory::new(config.mobiles_max, seed),
            contexts: Contexts::with_limit(config.contexts_limit(), config.teid_generation, config.teid_key),
            admission: Admission::new(config.cells_max),
            durable: None,
            charging: None,
            flows: (config.ingress == Ingress::Queued).then(|| Flows::new(&config)),
            uplink: (config.ingress == Ingress::Queued).then(|| UplinkQueues::new(&config)),
            arriving: Arriving::new(),
            unconfirmed: Unconfirmed::default(),
            held: Held::new(config.held_max, config.held_per_mobile_max),
            held_sweep_due: Instant::ZERO,
            reassembler: Reassembler::new(config.reassembly_max, config.reassembly_timeout),
            requests: sessions::Requests::default(),
            updates: sessions::Updates::default(),
            notifications: sessions::Notifications::default(),
            access_points: sessions::AccessPoints::new(&config),
            apn_sweep_due: Instant::ZERO,
            by_peer_endpoint: BTreeSet::new(),
            ggsn_addresses: sessions::GgsnAddresses::default(),
            ggsn_origins: sessions::GgsnOrigins::default(),
            asked_anew: sessions::AskedAnew::with_limit(config.contexts_limit()),
            eviction_hand: 0,
            stranger_limiter: AnswerLimiter::new(strangers, strangers.saturating_mul(2)),
            unknown_users: unknown_users::UnknownUsers::new(strangers),
            stats: Stats::default(),
            scratch: Scratch::default(),
            out: Batch::with_capacity(1024),
            ciphers: &Portable,
            config,
        }
    }

    /// Has many frames ciphered at once by this, which the driver has chosen for its processor; [`Portable`] until then.
    pub fn set_ciphers(&mut self, ciphers: &'static dyn BatchCipher) {
        self.ciphers = ciphers;
    }

    pub(crate) fn tell(&mut self, event: SgsnEvent) {
        self.out.push(Output::Event(event));
    }

    pub(crate) fn transmit(&mut self, port: Port, peer: gannet_machine::Peer, frame: Frame) {
        self.out.push(Output::Transmit { port, peer, frame });
    }

    pub(crate) fn imsi_of(&self, slot: Slot) -> Option<Imsi> {
        self.mobiles.get(slot)?.imsi()
    }

    fn timeout(&mut self, cx: &mut Context<'_>, key: TimerKey) {
        let slot = Slot { index: key.slot, generation: key.generation };
        let Some(owner) = Owner::of(key) else { return };
        match owner {
            Owner::Gmm => self.wake_gmm(cx, slot),
            Owner::Llc => self.wake_llc(cx, slot),
            Owner::Links => self.wake_stalled(cx, slot),
            Owner::Sm => self.wake_sm(cx, slot),
            Owner::Notified => self.wake_notified(cx, slot),
            Owner::Ns | Owner::Bvc | Owner::Flow => self.wake_gb(cx, key),
            Owner::Gtp => self.wake_gtp(cx, key),
            Owner::Reassembly => {
                self.reassembler.wake(cx);
                self.reassembler.arm(key, cx.timers);
            }
            Owner::Held => self.expire_held(cx),
            Owner::CellChange => self.expire_changes(cx),
            Owner::Gsup => self.wake_hlr(cx, key),
            Owner::Charging => self.wake_charging(cx),
        }
    }

    fn command(&mut self, cx: &mut Context<'_>, command: &SgsnCommand) {
        match *command {
            SgsnCommand::Start => self.start_gb(cx),
            SgsnCommand::Detach { imsi, reattach } => {
                if let Some(slot) = self.directory.by_imsi(imsi) {
                    self.operator_detach(cx, slot, reattach);
                }
            }
            SgsnCommand::Deactivate { imsi, nsapi } => {
                if let Some(slot) = self.directory.by_imsi(imsi) {
                    self.deactivate(cx, slot, nsapi);
                }
            }
            SgsnCommand::ResetNs => self.reset_ns(cx),
        }
    }
}

impl Machine for Sgsn {
    type Command = SgsnCommand;
    type Event = SgsnEvent;
    type Rule = RuleChange;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<SgsnCommand>>) {
        let mut expected = Expected::default();
        while !inputs.is_empty() {
            self.prefetch_arrivals(cx.prefetch, inputs, &mut expected);
            let Some(input) = inputs.pop() else { break };
            if !matches!(input, Input::Datagram { port, .. } if is_gb(port)) {
                self.flush_decipher_batch(cx);
            }
            match input {
                Input::Datagram { port, peer, frame } if is_gb(port) => {
                    self.gb_datagram(cx, (port, peer), frame)
                }
                Input::Datagram { port: GTP_C | GTP_C_SECOND, peer, frame } => {
                    self.gtp_control(cx, peer, &frame)
                }
                Input::Datagram { port: GTP_U | GTP_U_SECOND, peer, frame } => self.gtp_user(cx, peer, frame),
                Input::Datagram { port: GTP_V0, peer, frame } => self.gtp_v0(cx, peer, frame),
                Input::Classified { port: GTP_U, name, frame } => {
                    self.classified(cx, ContextName(name), frame)
                }
                Input::Datagram { port: HLR, frame, .. } => self.hlr_octets(cx, &frame),
                Input::Stream { port: HLR, state } => self.hlr_stream(cx, state),
                Input::Datagram { .. } | Input::Classified { .. } | Input::Stream { .. } => {}
                Input::Timeout(key) => self.timeout(cx, key),
                Input::Command(command) => self.command(cx, &command),
            }
        }
        self.flush_decipher_batch(cx);
        self.serve_hlr(cx);
        self.send_some(cx);
    }

    fn timer_name(&self, key: TimerKey) -> &'static str {
        self.name_of(key)
    }

    fn poll_output(&mut self, cx: &mut Context<'_>, outputs: &mut Batch<Output<SgsnEvent, RuleChange>>) {
        if self.gb.has_to_send() {
            self.send_some(cx);
        }
        self.tell_peers();
        if self.serve_uplink(cx) {
            // A mobile that is heard again may have released what was held for it.
            self.gb.flow_more = true;
        }
        self.serve_flows(cx);
        outputs.append(&mut self.out);
    }

    fn has_work(&self) -> bool {
        self.gb.has_to_send() || self.has_flow_work() || self.has_uplink_work()
    }

    fn hold_back(&mut self, on: bool) {
        if let Some(flows) = &mut self.flows {
            flows.hold_back(on);
        }
    }

    fn set_short_of_time(&mut self, on: bool) {
        if let Some(flows) = &mut self.flows {
            flows.set_short_of_time(on);
        }
    }

    fn turn_took(&mut self, now: Instant, took: Duration) {
        self.flows_took(now, took);
    }

    fn has_enough(&self) -> bool {
        self.flows.as_ref().is_some_and(Flows::have_enough)
    }

    fn is_in_a_hurry(&self, now: Instant) -> bool {
        self.flows.as_ref().is_some_and(|flows| flows.is_in_a_hurry(now))
    }
}

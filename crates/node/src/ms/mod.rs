//! The mobiles: a fleet of them in one machine, each with its own GMM, SM, LLC and SNDCP.
//!
//! One side is a bearer towards the network ([`gannet_proto::bearer`]), the other the IP side of each mobile: a TUN device,
//! or events for a simulator. A mobile is addressed by its index everywhere.
//!
//! | file | what |
//! |---|---|
//! | [`config`] | what a user may choose |
//! | [`mobile`] | one mobile, plain data |
//! | [`directory`] | a mobile by each of its names |
//! | [`devices`] | a network device for each address of a mobile, where that is wanted |
//! | `uplink` | N-PDU and layer 3 → LL-PDU → bearer |
//! | `downlink` | bearer → LL-PDU → layer 3 or N-PDU, and paging |
//! | `links` | acknowledged mode and compression, and links that end |
//! | `mobility` | what GMM asks of the mobile; cells, suspension |
//! | [`travel`] | mobiles on their way through cells |
//! | [`security`] | its card, its keys, and the cipher of its links |
//! | `sessions` | what SM asks of the mobile; ordered contexts |
//! | [`show`] | what a user sees |
//!
//! An order stands until it is taken back: a mobile that was told to attach attaches again where 04.08 [24.008] lets
//! it, and a context that was ordered is activated again after that. The data path allocates nothing.

pub mod config;
pub mod devices;
pub mod directory;
pub mod mobile;
pub mod security;
pub mod show;
pub mod travel;

mod downlink;
mod links;
mod mobility;
mod prefix;
mod sessions;
#[cfg(test)]
mod tests;
mod uplink;

pub use config::{MsConfig, NPduDelivery, PdpRequest, name_servers};

use core::convert::Infallible;
use core::fmt;
use devices::Device;
use directory::{Directory, imei_of, imsi_of};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::timers::{TimerKey, TimerName as _};
use gannet_machine::{Batch, Context, Input, Machine, Output, Peer, Port};
use gannet_proto::bearer::{self, Bearer};
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsEvent, NonGprs};
use gannet_proto::llc::ReleaseCause;
use gannet_proto::llc::abm::LinksConfig;
use gannet_proto::reselection::Reason;
use gannet_proto::sm::ms::{Change, WantedSecondary};
use gannet_proto::sndcp::Reassembler;
use gannet_proto::user_plane::Outputs;
use gannet_wire::id::{Nsapi, PTmsi, Rai};
use gannet_wire::l3::ie::{Apn, GmmCause, PdpAddress, ProtocolConfiguration, QosProfile, SmCause};
use mobile::Mobile;

/// The first link of the bearer. The bearer says what a peer is.
pub const BEARER: Port = Port(0);
/// The IP side. The peer is [`Peer::Slot`] with the mobile's index, or [`Device::peer`] with [`NPduDelivery::Devices`].
pub const TUN: Port = Port(1);

/// The port of a link of the bearer: [`BEARER`], and those behind [`TUN`].
#[must_use]
pub const fn bearer_port(link: u16) -> Port {
    if link == 0 { BEARER } else { Port(link.saturating_add(1)) }
}

const fn link_of(port: Port) -> u16 {
    port.0.saturating_sub(if port.0 > TUN.0 { 1 } else { 0 })
}

gannet_machine::timer_names! {
    /// Who asked for a wake-up.
    enum Owner {
        /// The timers of a mobile's GMM.
        Gmm = "GMM",
        /// T200 and T201 of a mobile, of XID and of its links.
        Llc = "LLC",
        /// The timers of a mobile's SM.
        Sm = "SM",
        /// N-PDUs that are not whole.
        Reassembly = "reassembly of N-PDUs",
        /// Mobiles that ask for routers.
        Routers = "router solicitations",
        /// A mobile's links in acknowledged mode that stand still.
        Links = "the next try in acknowledged mode",
        /// The bearer.
        Bearer = "the bearer of the mobiles",
        /// A mobile on its way.
        Travel = "a mobile on its way",
    }
}

/// Orders to a mobile. `mobile` is its index.
#[derive(Debug)]
pub enum MsCommand {
    /// Switch on where that was not done yet, and attach.
    Attach {
        /// Which mobile.
        mobile: u32,
    },
    /// Activate a PDP context, attaching first where that is needed.
    Activate {
        /// Which mobile.
        mobile: u32,
        /// NSAPI, 5 to 15.
        nsapi: Nsapi,
        /// Where to; `None` for that of [`MsConfig::pdp`].
        apn: Option<Apn>,
        /// Quality of service; `None` for that of [`MsConfig::pdp`].
        qos: Option<QosProfile>,
        /// Address; `None` for that of [`MsConfig::pdp`].
        address: Option<PdpAddress>,
    },
    /// Activate a secondary PDP context beside one that was ordered, whenever that is active (04.08 clause 6.1.3.2
    /// [24.008]).
    ActivateSecondary {
        /// Which mobile.
        mobile: u32,
        /// NSAPI, 5 to 15.
        nsapi: Nsapi,
        /// What it should be.
        wanted: WantedSecondary,
    },
    /// Ask for another quality of service or traffic flow template (04.08 clause 6.1.3.3.2 [24.008]).
    Modify {
        /// Which mobile.
        mobile: u32,
        /// Which context.
        nsapi: Nsapi,
        /// What.
        change: Change,
    },
    /// Deactivate a PDP context.
    Deactivate {
        /// Which mobile.
        mobile: u32,
        /// Which context.
        nsapi: Nsapi,
    },
    /// Deactivate all PDP contexts with the address of one, in one procedure.
    TearDown {
        /// Which mobile.
        mobile: u32,
        /// One of the contexts.
        nsapi: Nsapi,
    },
    /// Detach. Ordered contexts are forgotten.
    Detach {
        /// Which mobile.
        mobile: u32,
        /// By switching it off: no answer is waited for.
        power_off: bool,
    },
    /// Detach from non-GPRS services alone; of use with [`GmmMsConfig::combined`](gannet_proto::gmm::ms::GmmMsConfig).
    ImsiDetach {
        /// Which mobile.
        mobile: u32,
    },
    /// Attach for them again.
    ImsiAttach {
        /// Which mobile.
        mobile: u32,
    },
    /// Select another cell.
    ChangeCell {
        /// Which mobile.
        mobile: u32,
        /// Index in [`MsConfig::cells`].
        cell: u16,
    },
    /// Lose the cell, and find no other.
    LoseCell {
        /// Which mobile.
        mobile: u32,
    },
    /// Send an N-PDU.
    SendNpdu {
        /// Which mobile.
        mobile: u32,
        /// In which context.
        nsapi: Nsapi,
        /// The N-PDU.
        frame: Frame,
    },
    /// Begin something circuit-switched: GPRS is suspended.
    Suspend {
        /// Which mobile.
        mobile: u32,
    },
    /// End that.
    Resume {
        /// Which mobile.
        mobile: u32,
    },
    /// Take other parameters of LLC: [`MsConfig::n201_u`] is asked for at once where a context is active, and the others when
    /// acknowledged mode is established next.
    SetLayers {
        /// N201-U.
        n201_u: Option<u16>,
        /// Those of acknowledged mode.
        links: LinksConfig,
    },
    /// An order to the bearer of all mobiles.
    Bearer(bearer::Order),
}

/// A procedure that may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Procedure {
    /// GPRS attach.
    Attach,
    /// Routing area update.
    RoutingAreaUpdate,
    /// PDP context activation.
    Activate(Nsapi),
}

/// Why it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The network refused, in mobility management.
    Gmm(GmmCause),
    /// The network refused, in session management.
    Sm(SmCause),
    /// The network did not answer the last request.
    NoAnswer,
}

impl fmt::Display for Procedure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Attach => f.write_str("attach"),
            Self::RoutingAreaUpdate => f.write_str("routing area update"),
            Self::Activate(nsapi) => write!(f, "activation of NSAPI {nsapi}"),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gmm(cause) => write!(f, "{cause}"),
            Self::Sm(cause) => write!(f, "{cause}"),
            Self::NoAnswer => f.write_str("the network does not answer"),
        }
    }
}

/// What a mobile tells. `mobile` is its index.
#[derive(Debug)]
pub enum MsEvent {
    /// It is attached.
    Attached {
        /// Which mobile.
        mobile: u32,
        /// Its P-TMSI.
        ptmsi: Option<PTmsi>,
    },
    /// It is not attached any more.
    Detached {
        /// Which mobile.
        mobile: u32,
        /// Why, where the network said so.
        cause: Option<GmmCause>,
    },
    /// A routing area update has succeeded.
    Updated {
        /// Which mobile.
        mobile: u32,
        /// Where it is registered now.
        rai: Rai,
    },
    /// A combined procedure or an IMSI detach has ended.
    NonGprs {
        /// Which mobile.
        mobile: u32,
        /// How it stands with non-GPRS services now.
        standing: NonGprs,
        /// Why it is attached for GPRS only, where the network said so.
        cause: Option<GmmCause>,
    },
    /// A PDP context is active.
    Activated {
        /// Which mobile.
        mobile: u32,
        /// Which context.
        nsapi: Nsapi,
        /// The mobile's address.
        address: PdpAddress,
        /// As negotiated.
        qos: QosProfile,
        /// Options of the external network; see [`name_servers`].
        pco: Option<ProtocolConfiguration>,
    },
    /// The network has advertised another prefix for a context with IPv6.
    Readdressed {
        /// Which mobile.
        mobile: u32,
        /// Which context.
        nsapi: Nsapi,
        /// The mobile's address with that prefix.
        address: PdpAddress,
    },
    /// A PDP context is gone.
    Deactivated {
        /// Which mobile.
        mobile: u32,
        /// Which context.
        nsapi: Nsapi,
        /// Why, where one side said so.
        cause: Option<SmCause>,
    },
    /// A procedure has failed. An attach or update goes on by itself where 04.08 [24.008] says so.
    Rejected {
        /// Which mobile.
        mobile: u32,
        /// What.
        procedure: Procedure,
        /// Why.
        cause: Failure,
    },
    /// With [`NPduDelivery::Devices`]: a mobile has a context with an address of its own, and needs a device for it.
    DeviceUp {
        /// Which device.
        device: Device,
        /// The context that brings it.
        nsapi: Nsapi,
        /// Its address.
        address: PdpAddress,
        /// Options of the external network; see [`name_servers`].
        pco: Option<ProtocolConfiguration>,
    },
    /// The last context of a device is gone, and so the device is to go.
    DeviceDown {
        /// Which device.
        device: Device,
    },
    /// A mobile on its way has left the air of its cell.
    Leaving {
        /// Which mobile.
        mobile: u32,
        /// Where to, by its index.
        to: u16,
        /// Why.
        reason: Reason,
    },
    /// It has the system information of the new cell.
    Camped {
        /// Which mobile.
        mobile: u32,
        /// The cell, by its index.
        cell: u16,
    },
    /// The bearer of a mobile carries LL-PDUs of another length.
    LinkMtu {
        /// Which mobile.
        mobile: u32,
        /// The longest, in octets.
        octets: u16,
    },
    /// [`MsEvent::HeldBack`] of one device, in its place.
    DeviceHeld {
        /// Which device.
        device: Device,
        /// It has begun, or with `false` is over.
        on: bool,
    },
    /// As much of a mobile waits for the network's confirmation as may, or it must not send: nothing more is to be given to it
    /// until that is over. What comes nevertheless is dropped by name where there is no room for it.
    HeldBack {
        /// Which mobile.
        mobile: u32,
        /// It has begun, or with `false` is over.
        on: bool,
    },
    /// Acknowledged mode of a context has ended, or could not be established. N-PDUs that are not confirmed stay, and are sent
    /// again over the next link.
    LinkEnded {
        /// Which mobile.
        mobile: u32,
        /// Which context.
        nsapi: Nsapi,
        /// Why.
        cause: ReleaseCause,
    },
    /// An N-PDU came, with [`NPduDelivery::Event`].
    NPdu {
        /// For which mobile.
        mobile: u32,
        /// In which context.
        nsapi: Nsapi,
        /// The N-PDU.
        frame: Frame,
    },
}

/// Counters of the data path and of procedures; drops are counted by name elsewhere.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// N-PDUs that came for mobiles.
    pub n_pdu_downlink: u64,
    /// N-PDUs that mobiles sent.
    pub n_pdu_uplink: u64,
    /// LL-PDUs that came for mobiles.
    pub ll_pdu_downlink: u64,
    /// LL-PDUs that mobiles sent.
    pub ll_pdu_uplink: u64,
    /// Attach procedures that ended well.
    pub attached: u64,
    /// PDP context activations that ended well.
    pub activated: u64,
    /// Pagings that a mobile took for its own.
    pub pagings: u64,
    /// N-PDUs that the network has confirmed in acknowledged mode.
    pub confirmed: u64,
    /// Ends of acknowledged mode that no mobile has asked for.
    pub links_ended: u64,
}

/// The fleet.
#[derive(Debug)]
pub struct Ms {
    config: MsConfig,
    bearer: Box<dyn Bearer>,
    bearer_out: Batch<bearer::Output>,
    mobiles: Vec<Mobile>,
    directory: Directory,
    reassembler: Reassembler,
    soliciting: prefix::Soliciting,
    stats: Stats,
    travels: travel::Travels,
    /// Octets of N-PDUs of all mobiles that wait for confirmation.
    unconfirmed_octets: usize,
    /// Much waits at the bearer's sockets.
    bearer_is_full: bool,
    layers_out: Outputs,
    gmm_scratch: Batch<GmmMsAction>,
    segments: Batch<Frame>,
    out: Batch<Output<MsEvent>>,
}

impl Ms {
    /// A fleet of mobiles on a bearer that are all switched off; all tables get their memory now. Mobiles for whose number
    /// the digits of the IMSI do not suffice are left out.
    #[must_use]
    pub fn new(config: MsConfig, bearer: Box<dyn Bearer>) -> Self {
        let mobile = |index| {
            let imei = config.imei.and_then(|first| imei_of(first, index));
            imsi_of(config.imsi, index).map(|imsi| Mobile::new(imsi, imei, config.cards.card(index)))
        };
        let mobiles: Vec<Mobile> = (0..config.mobiles).map_while(mobile).collect();
        Self {
            directory: Directory::new(config.imsi, u32::try_from(mobiles.len()).unwrap_or(u32::MAX)),
            mobiles,
            reassembler: Reassembler::new(config.reassembly_max, config.reassembly_timeout),
            soliciting: prefix::Soliciting::default(),
            stats: Stats::default(),
            travels: travel::Travels::new(config.travel.clone()),
            unconfirmed_octets: 0,
            bearer_is_full: false,
            layers_out: Outputs::default(),
            gmm_scratch: Batch::with_capacity(16),
            segments: Batch::with_capacity(16),
            out: Batch::with_capacity(config.outputs_max),
            bearer,
            bearer_out: Batch::with_capacity(16),
            config,
        }
    }

    /// What was chosen.
    #[must_use]
    pub const fn config(&self) -> &MsConfig {
        &self.config
    }

    /// The counters.
    #[must_use]
    pub const fn stats(&self) -> Stats {
        self.stats
    }

    /// A mobile.
    #[must_use]
    pub fn mobile(&self, index: u32) -> Option<&Mobile> {
        self.mobiles.get(index as usize)
    }

    /// How many mobiles there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.mobiles.len()
    }

    /// True for a fleet without mobiles.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.mobiles.is_empty()
    }

    /// Mobiles by their names.
    #[must_use]
    pub const fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Downlink N-PDUs that wait for more segments.
    #[must_use]
    pub fn reassembling(&self) -> usize {
        self.reassembler.len()
    }

    fn tell(&mut self, event: MsEvent) {
        self.out.push(Output::Event(event));
    }

    fn transmit(&mut self, port: Port, peer: Peer, frame: Frame) {
        self.out.push(Output::Transmit { port, peer, frame });
    }

    fn timeout(&mut self, cx: &mut Context<'_>, key: TimerKey) {
        let Some(owner) = Owner::of(key) else { return };
        match owner {
            Owner::Gmm => self.wake_gmm(cx, key.slot),
            Owner::Llc => self.wake_llc(cx, key.slot),
            Owner::Sm => self.wake_sm(cx, key.slot),
            Owner::Reassembly => {
                self.reassembler.wake(cx);
                self.reassembler.arm(key, cx.timers);
            }
            Owner::Routers => self.wake_soliciting(cx),
            Owner::Links => self.wake_links(cx, key.slot),
            Owner::Bearer => self.wake_bearer(cx),
            Owner::Travel => self.wake_travel(cx, key.slot),
        }
    }

    fn command(&mut self, cx: &mut Context<'_>, command: MsCommand) {
        match command {
            MsCommand::Attach { mobile } => self.attach(cx, mobile),
            MsCommand::Activate { mobile, nsapi, apn, qos, address } => {
                self.order_context(cx, mobile, nsapi, apn, (qos, address));
            }
            MsCommand::ActivateSecondary { mobile, nsapi, wanted } => {
                self.order_secondary(cx, mobile, nsapi, wanted);
            }
            MsCommand::Modify { mobile, nsapi, change } => self.modify(cx, mobile, nsapi, change),
            MsCommand::Deactivate { mobile, nsapi } => self.deactivate(cx, mobile, nsapi, false),
            MsCommand::TearDown { mobile, nsapi } => self.deactivate(cx, mobile, nsapi, true),
            MsCommand::Detach { mobile, power_off } => self.detach(cx, mobile, power_off),
            MsCommand::ImsiDetach { mobile } => self.gmm(cx, mobile, GmmMsEvent::ImsiDetach),
            MsCommand::ImsiAttach { mobile } => self.gmm(cx, mobile, GmmMsEvent::ImsiAttach),
            MsCommand::ChangeCell { mobile, cell } => self.select_cell(cx, mobile, cell),
            MsCommand::LoseCell { mobile } => self.lose_cell(cx, mobile),
            MsCommand::SendNpdu { mobile, nsapi, frame } => self.n_pdu(cx, mobile, Some(nsapi), frame),
            MsCommand::Suspend { mobile } => self.suspend(cx, mobile),
            MsCommand::Resume { mobile } => self.resume(cx, mobile),
            MsCommand::SetLayers { n201_u, links } => self.set_layers(cx, n201_u, links),
            MsCommand::Bearer(order) => self.order_bearer(cx, order),
        }
    }
}

impl Machine for Ms {
    type Command = MsCommand;
    type Event = MsEvent;
    type Rule = Infallible;

    fn handle_input(&mut self, cx: &mut Context<'_>, inputs: &mut Batch<Input<MsCommand>>) {
        while let Some(input) = inputs.pop() {
            match input {
                Input::Datagram { port: TUN, peer: Peer::Slot(slot), frame } => {
                    self.ip_packet(cx, slot, frame);
                }
                Input::Datagram { port: TUN, .. } => cx.drop(Drop::MsUnknownMobile, None),
                Input::Datagram { port, peer, frame } => {
                    self.bearer_datagram(cx, (link_of(port), peer), frame);
                }
                Input::Classified { .. } | Input::Stream { .. } => {}
                Input::Timeout(key) => self.timeout(cx, key),
                Input::Command(command) => self.command(cx, command),
            }
        }
        self.bearer.arm(Owner::Bearer.key(0, 0), cx.timers);
    }

    fn hold_back(&mut self, on: bool) {
        self.bearer_is_full = on;
        self.tell_room_of_all();
    }

    fn timer_name(&self, key: TimerKey) -> &'static str {
        let Some(owner) = Owner::of(key) else { return "a timer of nobody" };
        let mobile = self.mobiles.get(key.slot as usize).filter(|_| owner == Owner::Gmm);
        let due = mobile.and_then(|mobile| mobile.gmm.deadlines.next_name());
        due.map_or(owner.name(), |due| due.name())
    }

    fn poll_output(&mut self, _: &mut Context<'_>, outputs: &mut Batch<Output<MsEvent>>) {
        outputs.append(&mut self.out);
    }
}

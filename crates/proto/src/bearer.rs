//! The service access point between the mobile's LLC and what carries its LL-PDUs to the network.
//!
//! On the radio that is GRR over RLC/MAC ([`crate::rlcmac::bearer`]); it may also be an emulated radio ([`crate::um`]), a link layer, or
//! several of them ([`crate::several`]). A mobile
//! speaks to each of them in the primitives of this module, and knows nothing of their headers and addresses:
//!
//! | | request of the mobile | indication to the mobile |
//! |---|---|---|
//! | LL-PDUs | [`Request::Unitdata`] | [`Indication::Unitdata`] |
//! | where the mobile is | [`Request::Reachable`], [`Request::Away`] | [`Indication::Up`], [`Indication::Down`] |
//! | the link | | [`Indication::Quality`], [`Indication::Mtu`], [`Indication::Full`] |
//! | paging | | [`Indication::PagingPs`], [`Indication::PagingCs`] |
//! | suspension | [`Request::Suspend`], [`Request::Resume`] | [`Indication::Suspended`] |
//!
//! A mobile is named by its index, a cell by its index in the configuration of the mobiles. A bearer that has no cells gives
//! the cell that its link stands for.

use core::fmt;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::timers::{TimerKey, Timers};
use gannet_machine::{Batch, Context, Peer};
use gannet_wire::DecodeError;
use gannet_wire::id::{CellId, Imsi, PTmsi, Rai, Tlli};
use gannet_wire::l3::ie::RadioPriority;

/// The mobile that speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sender {
    /// Its index.
    pub mobile: u32,
    /// The cell that it has selected.
    pub cell: u16,
    /// The TLLI that it sends with; all ones where it has none yet.
    pub tlli: Tlli,
    /// Of an LL-PDU: its radio priority, as GRR is told (04.64 clause 7.2.3.1 [44.064]).
    pub priority: RadioPriority,
}

/// What a mobile asks of its bearer.
#[derive(Debug)]
pub enum Request {
    /// Carry an LL-PDU to the network (GRR-UNITDATA-REQ, 04.64 clause 7).
    Unitdata(Frame),
    /// The mobile is in this cell now and can be reached by this TLLI. The SGSN does not see it.
    Reachable,
    /// The mobile leaves the air of its cell, on its way to another: it hears nothing until it is reachable again. The SGSN does not
    /// see it. A bearer that itself says where its mobiles are does nothing.
    Away,
    /// GPRS SUSPENSION REQUEST (04.18 clause 9.1.13b).
    Suspend(Rai),
    /// GPRS is resumed (03.60 clause 16.2.1.1.2).
    Resume {
        /// The routing area.
        rai: Rai,
        /// The suspend reference number of [`Indication::Suspended`].
        reference: u8,
    },
}

/// Who is paged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagedIdentity {
    /// By P-TMSI.
    PTmsi(PTmsi),
    /// By IMSI.
    Imsi(Imsi),
}

/// An LL-PDU that came.
#[derive(Debug)]
pub struct Unitdata {
    /// For which mobile; `None` where all hear it and the TLLI says whose it is.
    pub mobile: Option<u32>,
    /// In which cell.
    pub cell: u16,
    /// For which TLLI.
    pub tlli: Tlli,
    /// The LL-PDU.
    pub ll_pdu: Frame,
}

/// What a bearer tells its mobiles.
#[derive(Debug)]
pub enum Indication {
    /// An LL-PDU came (GRR-UNITDATA-IND, 04.64 clause 7).
    Unitdata(Unitdata),
    /// From now on an index names this cell: it was learned, and comes before what else is said of it.
    Cell {
        /// The index: that of the list so far, or the next one.
        cell: u16,
        /// The cell.
        id: CellId,
    },
    /// The link of a mobile is there, and is that of this cell: the mobile selects it.
    Up {
        /// Which mobile.
        mobile: u32,
        /// Which cell.
        cell: u16,
    },
    /// The link of a mobile is gone, and no other is there.
    Down {
        /// Which mobile.
        mobile: u32,
    },
    /// How well a mobile receives.
    Quality {
        /// Which mobile.
        mobile: u32,
        /// The level of what it receives, in dBm.
        level_dbm: i16,
    },
    /// The longest LL-PDU that the bearer carries for a mobile in one piece, its header and FCS included.
    Mtu {
        /// Which mobile.
        mobile: u32,
        /// In octets.
        octets: u16,
    },
    /// As much of a mobile waits at the bearer as is of use: no more N-PDUs are to be made LL-PDUs until that is over. LL-PDUs that come all the
    /// same are taken. A link that comes up has room.
    Full {
        /// Which mobile.
        mobile: u32,
        /// It has begun, or with `false` is over.
        on: bool,
    },
    /// Paging for packet services in a cell.
    PagingPs {
        /// Which cell.
        cell: u16,
        /// Who.
        identity: PagedIdentity,
    },
    /// Paging for circuit-switched services.
    PagingCs,
    /// The network has suspended GPRS of a mobile.
    Suspended {
        /// Which mobile; `None` where it was not said to one.
        mobile: Option<u32>,
        /// The suspend reference number.
        reference: u8,
    },
}

/// A datagram that is no indication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// The name under which it is dropped.
    pub drop: Drop,
    /// The mobile that it was for, where that is known.
    pub mobile: Option<u32>,
    /// What could not be read.
    pub error: Option<DecodeError>,
}

impl Refused {
    /// For no mobile in particular, and without more to say.
    #[must_use]
    pub const fn as_drop(drop: Drop) -> Self {
        Self { drop, mobile: None, error: None }
    }
}

/// What a bearer wants done.
#[derive(Debug)]
pub enum Output {
    /// Send a datagram.
    Transmit {
        /// Over which of its links; a bearer with one link has link 0.
        link: u16,
        /// To whom.
        peer: Peer,
        /// Its octets.
        frame: Frame,
    },
    /// Tell the mobiles.
    Indication(Indication),
}

/// An order to a bearer, from who operates the host and not from a mobile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Cells in another order of preference, by their index. Those that are not named come after them and are alike.
    Prefer(Vec<u16>),
    /// Cells of a link, whichever they are, before those of the others. Among each the order of preference stays.
    PreferLink(u16),
    /// A link carries payloads of so many octets.
    SetMtu {
        /// Which link.
        link: u16,
        /// In octets.
        octets: u16,
    },
    /// A link is there, or is gone: a cable is plugged in or out.
    SetLink {
        /// Which link.
        link: u16,
        /// It is there.
        is_up: bool,
    },
    /// All mobiles leave, and the other end is told.
    Stop,
}

/// A bearer of all mobiles of a machine. It makes datagrams of requests and indications of datagrams; the driver carries
/// the datagrams.
pub trait Bearer: fmt::Debug {
    /// Its name in lines of the log.
    fn name(&self) -> &'static str;

    /// Does what a mobile asks: appends the datagrams, and what follows from it. Nothing where the bearer has no such service:
    /// there is nobody to tell, and nothing is lost.
    ///
    /// # Errors
    /// The name under which the request is dropped: there is no frame, no room in it, or no link.
    fn request(
        &mut self,
        cx: &mut Context<'_>,
        from: Sender,
        request: Request,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop>;

    /// A datagram came over a link: appends what it says to mobiles, and answers.
    ///
    /// # Errors
    /// [`Refused`] where it is dropped.
    fn receive(
        &mut self,
        cx: &mut Context<'_>,
        from: (u16, Peer),
        frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Refused>;

    /// Does an order. False where the bearer has no such thing, and then nothing changed.
    fn order(&mut self, _cx: &mut Context<'_>, _order: Order, _out: &mut Batch<Output>) -> bool {
        false
    }

    /// A mobile has gone to a cell of another bearer: gives the LL-PDUs that it had to send here and that may not have arrived, in
    /// their order. They go there.
    fn leave(&mut self, _mobile: u32, _out: &mut dyn FnMut(Frame)) {}

    /// Whether an LL-PDU that is longer than [`Indication::Mtu`] says goes in pieces. Without that it is lost.
    fn cuts(&self) -> bool {
        false
    }

    /// It is woken, as it has asked for in [`Bearer::arm`].
    fn wake(&mut self, _cx: &mut Context<'_>, _out: &mut Batch<Output>) {}

    /// Asks for its next wake-up. To be called after every other call, and once at the beginning.
    fn arm(&mut self, _key: TimerKey, _timers: &mut Timers) {}
}

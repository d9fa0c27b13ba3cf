//! From the network to the mobile: bearer → LLC → layer 3 or N-PDU.

use super::devices::Device;
use super::mobile::{Link, Mobile, Suspension};
use super::{Ms, MsEvent, NPduDelivery, Owner, TUN, bearer_port};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::timers::TimerName as _;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context, Peer};
use gannet_proto::about::About as _;
use gannet_proto::bearer::{self, Indication, PagedIdentity, Refused, Unitdata};
use gannet_proto::gmm::message_goes_ciphered;
use gannet_proto::gmm::ms::GmmMsEvent;
use gannet_proto::llc::{LlcOutput, XidIndication};
use gannet_proto::sndcp::{Receiver, answer_xid};
use gannet_proto::user_plane::{self, Outputs, Said, unitdata_indication};
use gannet_wire::Reader;
use gannet_wire::id::{CellId, Imsi, Nsapi, Sapi, Tlli};
use gannet_wire::l3::{Direction, Header, L3Message};
use gannet_wire::ndp::is_router_message;

impl Ms {
    /// A datagram of the bearer, from one of its links.
    pub(super) fn bearer_datagram(&mut self, cx: &mut Context<'_>, from: (u16, Peer), frame: Frame) {
        let mut out = core::mem::take(&mut self.bearer_out);
        if let Err(Refused { drop, mobile, error }) = self.bearer.receive(cx, from, frame, &mut out) {
            let whose = mobile.and_then(|mobile| self.imsi_of(mobile));
            if let Some(error) = error {
                let name = self.bearer.name();
                cx.log_of(whose, Category::Um, Level::Info, format_args!("{name}: {error}"));
            }
            cx.drop_of(drop, whose);
        }
        self.bearer_outputs(cx, &mut out);
        self.bearer_out = out;
    }

    /// The bearer is woken.
    pub(super) fn wake_bearer(&mut self, cx: &mut Context<'_>) {
        let mut out = core::mem::take(&mut self.bearer_out);
        self.bearer.wake(cx, &mut out);
        self.bearer_outputs(cx, &mut out);
        self.bearer_out = out;
    }

    /// An order to the bearer.
    pub(super) fn order_bearer(&mut self, cx: &mut Context<'_>, order: bearer::Order) {
        let mut out = core::mem::take(&mut self.bearer_out);
        if !self.bearer.order(cx, order, &mut out) {
            let name = self.bearer.name();
            cx.log(Category::Um, Level::Error, format_args!("{name}: the bearer has no such thing"));
            cx.drop(Drop::MsBadOrder, None);
        }
        self.bearer_outputs(cx, &mut out);
        self.bearer_out = out;
    }

    /// Does what the bearer wants.
    pub(super) fn bearer_outputs(&mut self, cx: &mut Context<'_>, out: &mut Batch<bearer::Output>) {
        while let Some(output) = out.pop() {
            match output {
                bearer::Output::Transmit { link, peer, frame } => {
                    self.transmit(bearer_port(link), peer, frame);
                }
                bearer::Output::Indication(indication) => self.indication(cx, indication),
            }
        }
    }

    fn indication(&mut self, cx: &mut Context<'_>, indication: Indication) {
        match indication {
            Indication::Unitdata(unitdata) => self.ll_pdu(cx, unitdata),
            Indication::Cell { cell, id } => self.learn_cell(cell, id),
            Indication::Up { mobile, cell } => {
                self.set_link(cx, mobile, |link| link.is_full = false);
                self.link_up(cx, mobile, cell);
                self.tell_room(mobile);
            }
            Indication::Down { mobile } => {
                self.set_link(cx, mobile, |link| *link = Link::default());
                self.lose_cell(cx, mobile);
                self.tell_room(mobile);
            }
            Indication::Quality { mobile, level_dbm } => {
                self.set_link(cx, mobile, |link| link.level_dbm = Some(level_dbm));
            }
            Indication::Mtu { mobile, octets } => {
                let former = self.mobiles.get(mobile as usize).and_then(|mobile| mobile.link.mtu_octets);
                self.set_link(cx, mobile, |link| link.mtu_octets = Some(octets));
                if former != Some(octets) && (mobile as usize) < self.mobiles.len() {
                    self.tell(MsEvent::LinkMtu { mobile, octets });
                    self.fit_to_link(cx, mobile);
                }
            }
            Indication::Full { mobile, on } => {
                self.set_link(cx, mobile, |link| link.is_full = on);
                self.tell_room(mobile);
            }
            Indication::PagingPs { cell, identity } => self.paging(cx, cell, identity),
            Indication::PagingCs => cx.drop(Drop::MsPagingCs, None),
            Indication::Suspended { mobile, reference } => self.suspend_ack(cx, mobile, reference),
        }
    }

    /// An index names this cell from now on.
    fn learn_cell(&mut self, cell: u16, id: CellId) {
        match self.config.cells.get_mut(usize::from(cell)) {
            Some(place) => *place = id,
            None => self.config.cells.push(id),
        }
    }

    fn set_link(&mut self, cx: &mut Context<'_>, index: u32, set: impl FnOnce(&mut Link)) {
        match self.mobiles.get_mut(index as usize) {
            Some(mobile) => set(&mut mobile.link),
            None => cx.drop(Drop::MsUnknownMobile, None),
        }
    }

    /// A mobile hears an LL-PDU: one that is sent to it alone, or one that all hear and whose TLLI is its own.
    fn ll_pdu(&mut self, cx: &mut Context<'_>, unitdata: Unitdata) {
        let Unitdata { mobile, cell, tlli, ll_pdu } = unitdata;
        let Some(index) = mobile.or_else(|| self.directory.by_tlli(cell, tlli)) else {
            cx.drop(Drop::MsUnknownTlli, None);
            return;
        };
        let Some(mobile) = self.mobiles.get_mut(index as usize) else {
            cx.drop(Drop::MsUnknownMobile, None);
            return;
        };
        if let Err(drop) = hears(mobile, (cell, self.config.bearer_selects), tlli) {
            cx.drop_of(drop, Some(mobile.imsi()));
            return;
        }
        self.stats.ll_pdu_downlink += 1;
        let mut out = core::mem::take(&mut self.layers_out);
        mobile.llc.receive(cx, Some(mobile.gmm.imsi()), ll_pdu, &mut out.llc);
        self.layers_outputs(cx, index, tlli, &mut out);
        self.layers_out = out;
        self.arm_llc(cx, index);
    }

    /// Does what LLC and SNDCP say. `tlli` is that of the LL-PDU which led to it.
    pub(super) fn layers_outputs(&mut self, cx: &mut Context<'_>, index: u32, tlli: Tlli, out: &mut Outputs) {
        while let Some(output) = self.poll_layers(cx, index, out) {
            match output {
                user_plane::Output::Llc(output) => self.llc_output(cx, index, (tlli, output), out),
                user_plane::Output::NPdu(n_pdu) => self.deliver(index, n_pdu.nsapi, n_pdu.frame),
                user_plane::Output::Confirmed { count, .. } => self.stats.confirmed += u64::from(count),
                user_plane::Output::Room => {}
                user_plane::Output::Status { nsapi, cause } => self.link_ended(cx, index, nsapi, cause),
            }
        }
        self.count_unconfirmed(index);
        self.tell_room(index);
    }

    fn llc_output(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        (tlli, output): (Tlli, LlcOutput),
        out: &mut Outputs,
    ) {
        match Said::of(output) {
            Some(Said::Transmit { sapi, frame }) => self.llc_transmits(cx, index, (sapi, frame)),
            Some(Said::Unitdata { sapi: Sapi::GMM, frame, ciphered }) => {
                self.layer3(cx, index, tlli, &frame, ciphered);
            }
            Some(Said::Unitdata { sapi, frame, ciphered: _ }) => self.sn_pdu(cx, index, sapi, frame),
            Some(Said::XidIndication(indication)) => {
                self.xid_indication(cx, index, indication, &mut out.llc);
            }
            // 04.65 clause 5.1.2.1: N-PDU numbers start again.
            Some(Said::Reset) => {
                if let Some(mobile) = self.mobiles.get_mut(index as usize) {
                    mobile.bearers.iter_mut().flatten().for_each(|bearer| bearer.sndcp.reset());
                }
            }
            None => {}
        }
    }

    /// The answer of a mobile without compression. Where the network has made frames longer than the bearer carries, the
    /// mobile asks for shorter ones.
    fn xid_indication(
        &mut self,
        cx: &mut Context<'_>,
        index: u32,
        indication: XidIndication,
        outputs: &mut Batch<LlcOutput>,
    ) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let answer = answer_xid(cx, Some(mobile.imsi()), &indication.layer3);
        let sapi = indication.sapi;
        mobile.llc.xid_response(cx, indication, answer, outputs);
        if sapi != Sapi::GMM
            && mobile.link.is_exceeded(&mobile.llc, sapi)
            && let Some(request) = mobile.link.wanted(&mobile.llc, sapi, None)
        {
            mobile.llc.xid_request(cx, sapi, request, outputs);
        }
    }

    /// A layer 3 message on SAPI 1. On a link that has a cipher, what has to come ciphered is taken in no other way (04.08
    /// clause 4.7.1.2).
    fn layer3(&mut self, cx: &mut Context<'_>, index: u32, tlli: Tlli, octets: &[u8], ciphered: bool) {
        let Some(mobile) = self.mobiles.get(index as usize) else { return };
        let in_the_clear = mobile.llc.ciphering().is_on() && !ciphered;
        match L3Message::parse(Direction::Downlink, octets) {
            Ok(message) if in_the_clear && message_goes_ciphered(&message) => {
                cx.drop_of(Drop::LlcUnciphered, Some(mobile.imsi()));
            }
            Ok(L3Message::Gmm(message)) => self.gmm(cx, index, GmmMsEvent::Message { message, tlli }),
            Ok(L3Message::Sm { ti, ti_flag, message }) => self.sm_message(cx, index, ti, ti_flag, message),
            // 04.08 clause 8: what cannot be read is answered by the protocol that it belongs to.
            Err(error) => match Header::parse(&mut Reader::new(octets)) {
                Ok(Header::Gmm { skip: 0, .. }) => self.gmm(cx, index, GmmMsEvent::DecodeFailed(error)),
                Ok(Header::Sm { ti, ti_flag, message_type }) => {
                    self.sm_malformed(cx, index, (ti, ti_flag, message_type), error);
                }
                // Clauses 8.1, 8.2 and 8.3.1: ignored.
                Ok(Header::Gmm { .. }) | Err(_) => cx.drop_of(Drop::GmmMalformed, self.imsi_of(index)),
            },
        }
    }

    /// An SN-PDU on one of the SAPIs for user data.
    fn sn_pdu(&mut self, cx: &mut Context<'_>, index: u32, sapi: Sapi, frame: Frame) {
        let Some(mobile) = self.mobiles.get_mut(index as usize) else { return };
        let receiver = Receiver { slot: index, whose: Some(mobile.imsi()), compresses: false };
        let bearers = &mobile.bearers;
        let is_active =
            |nsapi| bearers.iter().flatten().any(|of| of.sndcp.nsapi == nsapi && of.sndcp.sapi == sapi);
        let to = (receiver, mobile.sndcp.as_deref_mut());
        let n_pdu = unitdata_indication(cx, &mut self.reassembler, to, is_active, frame);
        self.reassembler.arm(Owner::Reassembly.key(0, 0), cx.timers);
        if let Some(n_pdu) = n_pdu {
            self.deliver(index, n_pdu.nsapi, n_pdu.frame);
        }
    }

    fn deliver(&mut self, index: u32, nsapi: Nsapi, frame: Frame) {
        if is_router_message(&frame) {
            self.take_prefix(index, nsapi, &frame);
        }
        self.stats.n_pdu_downlink += 1;
        match self.config.delivery {
            NPduDelivery::Tun => self.transmit(TUN, Peer::Slot(index), frame),
            NPduDelivery::Devices => {
                let bearer = self.mobiles.get(index as usize).and_then(|mobile| mobile.bearer(nsapi));
                let nsapi = bearer.map_or(nsapi, |bearer| bearer.device);
                self.transmit(TUN, Device { mobile: index, nsapi }.peer(), frame);
            }
            NPduDelivery::Event => self.tell(MsEvent::NPdu { mobile: index, nsapi, frame }),
        }
    }

    /// PACKET PAGING REQUEST: every mobile in the cell hears it, one answers (04.08 clause 4.7.9.1).
    fn paging(&mut self, cx: &mut Context<'_>, cell: u16, identity: PagedIdentity) {
        let found = match identity {
            PagedIdentity::PTmsi(ptmsi) => {
                let id = self.config.cells.get(usize::from(cell));
                id.and_then(|id| self.directory.by_ptmsi(id.rai, ptmsi))
            }
            PagedIdentity::Imsi(imsi) => self.directory.by_imsi(imsi),
        };
        let here = |index: &u32| {
            let mobile = self.mobiles.get(*index as usize);
            mobile.is_some_and(|mobile| mobile.cell == Some(cell))
        };
        match found.filter(here) {
            Some(index) => self.paged(cx, index, identity),
            None => cx.drop(Drop::MsPagingNobody, None),
        }
    }

    pub(super) fn imsi_of(&self, index: u32) -> Option<Imsi> {
        self.mobiles.get(index as usize).map(Mobile::imsi)
    }

    pub(super) fn tlli_of(&self, index: u32) -> Tlli {
        self.mobiles.get(index as usize).and_then(|mobile| mobile.llc.tlli()).unwrap_or(Tlli::UNASSIGNED)
    }
}

/// Whether a mobile hears an LL-PDU and takes it for its own. Where each cell has a link of its own, the links overtake each
/// other, and the bearer knows which it still hears.
fn hears(mobile: &mut Mobile, (cell, has_links): (u16, bool), tlli: Tlli) -> Result<(), Drop> {
    if mobile.cell == Some(cell) {
        if !has_links {
            mobile.former_cell = None;
        }
    } else if mobile.cell.is_none() || mobile.former_cell != Some(cell) {
        return Err(Drop::MsOtherCell);
    }
    if mobile.suspension != Suspension::None {
        return Err(Drop::MsSuspended);
    }
    if !mobile.llc.accepts(tlli) {
        return Err(Drop::MsUnknownTlli);
    }
    Ok(())
}

//! What comes from access points.

use super::{AdaptationBearer, Indication, MobileMedium, Output, Refused};
use crate::adaptation::segment::Origin;
use crate::adaptation::selection::News;
use crate::adaptation::stations::Address;
use crate::bearer::{PagedIdentity, Unitdata};
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Duration;
use gannet_machine::trace::{Category, Level};
use gannet_machine::{Batch, Context};
use gannet_wire::adaptation::{
    Beacon, Identity, LinkReport, Message, Pdu, ProbeAnswer, Release, ReleaseCause,
};
use gannet_wire::id::Tlli;

/// From whom a PDU is, and for whom.
#[derive(Debug, Clone, Copy)]
struct Of {
    cell: u16,
    /// The mobile with the session, or with the TLLI.
    mobile: Option<u32>,
    tlli: Tlli,
    is_authenticated: bool,
}

impl AdaptationBearer {
    pub(super) fn take(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Refused> {
        if self.links.get(usize::from(from.link)).is_none_or(|link| !link.is_up) {
            return Err(Drop::AdaptNoLink.into());
        }
        let malformed = |error| Refused { error: Some(error), ..Refused::as_drop(Drop::AdaptMalformed) };
        let pdu = Pdu::parse(&frame).map_err(malformed)?;
        let message = pdu.message().map_err(malformed)?;
        match message {
            Message::Beacon(beacon, _) => return Ok(self.beacon(cx, from, (&beacon, &pdu), out)?),
            Message::Welcome(welcome) => return Ok(self.welcome(cx, from, (&welcome, pdu.signed), out)?),
            Message::Hello(_)
            | Message::Solicit(_)
            | Message::Reachable(_)
            | Message::Suspend(_)
            | Message::Resume(_) => return Err(Drop::AdaptUnexpected.into()),
            Message::LlPdu(_)
            | Message::LinkReport(_)
            | Message::Probe(_)
            | Message::ProbeAnswer(_)
            | Message::PagingPs(_)
            | Message::PagingCs(_)
            | Message::SuspendAck(_)
            | Message::Release(_) => {}
        }
        let cell = self.selection.cell_at(from).ok_or(Drop::AdaptUnknownAccessPoint)?;
        let of = match self.open(cell, &pdu) {
            Ok(of) => of,
            Err(drop) => {
                if let Message::Release(Release { cause: ReleaseCause::NotKnown }) = message {
                    self.is_not_known(cx, cell, pdu.header.tlli, out);
                }
                return Err(drop.into());
            }
        };
        if let Message::LlPdu(payload) = message {
            let (start, octets, segment) = (pdu.header.buffer_len(), payload.len(), pdu.header.segment);
            let mut ll_pdu = frame;
            let _ = ll_pdu.narrow(start, start + octets);
            let whole = match segment {
                None => Some(ll_pdu),
                Some(segment) => {
                    let origin = Origin { link: from.link, peer: from.peer, tlli: of.tlli };
                    self.joiner.join(cx, origin, segment, ll_pdu)?
                }
            };
            if let Some(ll_pdu) = whole {
                let stations = &mut self.stations;
                let mobile = of.mobile.filter(|mobile| {
                    let station = stations.get_mut(*mobile as usize);
                    of.is_authenticated || station.is_some_and(|its| its.link_of(cell).is_some())
                });
                let unitdata = Unitdata { mobile, cell, tlli: of.tlli, ll_pdu };
                out.push(Output::Indication(Indication::Unitdata(unitdata)));
            }
            return Ok(());
        }
        Ok(self.signalling(cx, from, of, &message, out)?)
    }

    fn signalling(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        of: Of,
        message: &Message<'_>,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        match message {
            Message::PagingPs(paging) => {
                let identity = match paging.identity {
                    Identity::PTmsi(ptmsi) => PagedIdentity::PTmsi(ptmsi),
                    Identity::Imsi(imsi) => PagedIdentity::Imsi(imsi),
                };
                out.push(Output::Indication(Indication::PagingPs { cell: of.cell, identity }));
            }
            Message::PagingCs(_) => out.push(Output::Indication(Indication::PagingCs)),
            Message::SuspendAck(ack) => {
                let indication = Indication::Suspended { mobile: of.mobile, reference: ack.reference };
                out.push(Output::Indication(indication));
            }
            Message::Probe(probe) => {
                let mobile = of.mobile.ok_or(Drop::AdaptNoLink)?;
                let answer = Message::ProbeAnswer(ProbeAnswer { token: probe.token });
                self.send(cx, (mobile, of.cell), &answer, out)?;
            }
            Message::ProbeAnswer(answer) => self.probe_answer(cx, from, answer, out)?,
            Message::LinkReport(report) => self.measure(of, report),
            Message::Release(release) => self.released(cx, of, release.cause, out),
            _ => {}
        }
        Ok(())
    }

    /// Whose PDU it is. Where mobiles have keys, it must be of a session.
    fn open(&mut self, cell: u16, pdu: &Pdu<'_>) -> Result<Of, Drop> {
        let tlli = pdu.header.tlli;
        let mobile = match pdu.trailer {
            Some(trailer) => {
                let mobile = self.by_session.get(&(cell, trailer.session)).copied();
                Some(mobile.ok_or(Drop::AdaptUnknownSession)?)
            }
            None if !self.keys.is_empty() => return Err(Drop::AdaptUnauthenticated),
            None => self.by_tlli.get(&tlli).copied(),
        };
        let station = mobile.and_then(|mobile| self.stations.get_mut(mobile as usize));
        if let Some(link) = station.and_then(|station| station.link_of(cell)) {
            if pdu.trailer.is_some() {
                link.open(pdu)?;
            }
            link.count_received();
        }
        Ok(Of { cell, mobile, tlli, is_authenticated: pdu.trailer.is_some() })
    }

    fn beacon(
        &mut self,
        cx: &mut Context<'_>,
        from: Address,
        (beacon, pdu): (&Beacon, &Pdu<'_>),
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let packet = match &self.network_key {
            Some(key) => {
                let trailer = pdu.trailer.ok_or(Drop::AdaptUnauthenticated)?;
                if trailer.session != key.id || !key.beacon().is_right(&[pdu.signed], &trailer.mac) {
                    return Err(Drop::AdaptBadMac);
                }
                Some(trailer.packet)
            }
            None => None,
        };
        let cell = self.cells.iter().position(|cell| *cell == beacon.cell);
        let cell = match cell.and_then(|cell| u16::try_from(cell).ok()) {
            Some(cell) => cell,
            None => self.learn(cx.now, beacon.cell, out)?,
        };
        let its = Duration::from_millis(beacon.interval_ms.into());
        let interval = match self.links.get(usize::from(from.link)).map(|link| link.config.medium) {
            Some(MobileMedium::Udp(_)) => self.interval,
            Some(MobileMedium::Ethernet) | None => its,
        };
        let before = self.selection.get(cell).map(|of| of.beacon.ll_pdu_max);
        let news = self.selection.beacon(cx.now, cell, from, *beacon, (interval, packet))?;
        if before.is_some_and(|before| before != beacon.ll_pdu_max) {
            self.tell_mtu(from.link, out);
        }
        match news {
            News::None => {}
            News::Came => {
                let (id, link) = (beacon.cell, from.link);
                let line = format_args!("cell {id}: an access point is there, on link {link}");
                cx.log(Category::Um, Level::Notice, line);
                self.decide(cx, out);
            }
            News::Restarted => {
                let id = beacon.cell;
                let line = format_args!("cell {id}: the access point has restarted");
                cx.log(Category::Um, Level::Notice, line);
                self.restarted(cx, cell, out);
                self.decide(cx, out);
            }
        }
        Ok(())
    }

    /// The access point of a cell has started again, or is another one: whoever is there tells it so.
    fn restarted(&mut self, cx: &mut Context<'_>, cell: u16, out: &mut Batch<Output>) {
        for mobile in 0..u32::try_from(self.stations.len()).unwrap_or(u32::MAX) {
            self.renew(cx, mobile, cell, out);
        }
    }

    /// A mobile that is in a cell begins anew there; not more than once in an interval, since anybody may say that it has to.
    fn renew(&mut self, cx: &mut Context<'_>, mobile: u32, cell: u16, out: &mut Batch<Output>) {
        let (now, interval) = (cx.now, self.interval);
        let Some(station) = self.stations.get_mut(mobile as usize) else { return };
        let is_early = station.renewed.is_some_and(|renewed| now.since(renewed) < interval);
        if station.is_in(cell) && station.target.is_none() && !is_early {
            station.renewed = Some(now);
            self.begin(cx, mobile, cell, out);
        }
    }

    /// Somebody says that the access point does not know a mobile. Whether that is true the handshake shows; what is in use stays.
    fn is_not_known(&mut self, cx: &mut Context<'_>, cell: u16, tlli: Tlli, out: &mut Batch<Output>) {
        if let Some(mobile) = self.by_tlli.get(&tlli).copied() {
            self.renew(cx, mobile, cell, out);
        }
    }

    fn released(&mut self, cx: &mut Context<'_>, of: Of, cause: ReleaseCause, out: &mut Batch<Output>) {
        match cause {
            ReleaseCause::NotKnown => self.is_not_known(cx, of.cell, of.tlli, out),
            ReleaseCause::AccessPointStops => {
                self.selection.lost(of.cell);
                self.decide(cx, out);
            }
            ReleaseCause::NoRoom => {
                let Some(mobile) = of.mobile.filter(|mobile| self.serving(*mobile) == Some(of.cell)) else {
                    return;
                };
                self.lose(mobile);
                if let Some(station) = self.stations.get_mut(mobile as usize) {
                    station.waits_until = cx.now + super::target::SHUNNED;
                }
                out.push(Output::Indication(Indication::Down { mobile }));
            }
            ReleaseCause::MobileLeaves | ReleaseCause::Unknown(_) => {}
        }
    }

    fn measure(&mut self, of: Of, report: &LinkReport) {
        let station = of.mobile.and_then(|mobile| self.stations.get_mut(mobile as usize));
        let link = station.and_then(|station| station.serving.as_mut()).filter(|link| link.cell == of.cell);
        if let Some(share) = link.and_then(|link| link.measure(report)) {
            self.selection.measured(of.cell, share);
        }
    }
}

impl From<Drop> for Refused {
    fn from(drop: Drop) -> Self {
        Self::as_drop(drop)
    }
}

//! Other radios and bearers than the emulated ones: the nodes work with them end to end.

use crate::world::{Air, FRAMES, MOBILES, World, packet};
use core::net::Ipv4Addr;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_machine::time::Instant;
use gannet_machine::{Batch, Context, EthernetAddress, Peer};
use gannet_node::bss::radio::{Amount, Claim, Indication, LossCause, Pending, Radio, RadioConfig, Way};
use gannet_node::ggsn::PORT_TUN;
use gannet_node::ms::{BEARER, MsCommand, MsEvent, TUN};
use gannet_proto::bearer::{Bearer, Indication as Told, Order, Output, Refused, Request, Sender, Unitdata};
use gannet_proto::um::{HEADER_LEN, UmHeader, UmKind};
use gannet_wire::id::Tlli;
use std::cell::RefCell;
use std::rc::Rc;

/// What a BSS has told its radio of mobiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OfMobile {
    Left(u32, u32),
    Suspended(u32, bool),
}

/// A radio on which everything arrives at the moment in which it is sent, in any number.
#[derive(Debug, Default)]
struct Perfect {
    under_way: Vec<(u32, Way, Instant, Pending)>,
    told: Rc<RefCell<Vec<OfMobile>>>,
}

impl Perfect {
    fn take(&mut self, is_meant: impl Fn(u32, Way, &Pending) -> bool, mut out: impl FnMut(Way, Pending)) {
        for (_, way, _, pdu) in
            self.under_way.extract_if(.., |(cell, way, _, pdu)| is_meant(*cell, *way, pdu))
        {
            out(way, pdu);
        }
    }
}

impl Radio for Perfect {
    fn request(&mut self, now: Instant, cell: u32, way: Way, pdu: Pending, _: Claim) -> Result<(), Pending> {
        self.under_way.push((cell, way, now, pdu));
        Ok(())
    }
    fn next_event(&self, cell: u32, way: Way) -> Option<Instant> {
        self.under_way.iter().find(|at| (at.0, at.1) == (cell, way)).map(|at| at.2)
    }
    fn indication(&mut self, cx: &mut Context<'_>, cell: u32, way: Way) -> Option<Indication> {
        let first = self.under_way.iter().position(|at| (at.0, at.1) == (cell, way))?;
        let pdu = self.under_way.remove(first).3;
        let is_late = pdu.expires <= cx.now;
        Some(if is_late {
            Indication::Lost { pdu, cause: LossCause::Lifetime }
        } else {
            Indication::Arrived(pdu)
        })
    }
    fn waiting(&self, _: u32, _: Way) -> Amount {
        Amount::default()
    }
    fn leave(&mut self, _: Instant, cell: u32, mobile: u32, out: &mut dyn FnMut(Way, Pending)) {
        self.told.borrow_mut().push(OfMobile::Left(mobile, cell));
        self.take(|at, _, pdu| (at, pdu.mobile) == (cell, mobile), out);
    }
    fn take_waiting(
        &mut self,
        _: Instant,
        cell: u32,
        way: Way,
        mobile: Option<u32>,
        out: &mut dyn FnMut(Pending),
    ) {
        let is_of = |pdu: &Pending| mobile.is_none_or(|mobile| mobile == pdu.mobile);
        self.take(|at, its, pdu| (at, its) == (cell, way) && is_of(pdu), |_, pdu| out(pdu));
    }
    fn set_suspended(&mut self, _: Instant, mobile: u32, on: bool) {
        self.told.borrow_mut().push(OfMobile::Suspended(mobile, on));
    }
    fn reconfigure(&mut self, _: Instant, _: u32, _: Way, _: RadioConfig) {}
}

/// What a datagram of [`Plain`] is: its first octet.
mod plain {
    /// TLLI, LL-PDU.
    pub const UNITDATA: u8 = 0;
    /// The cell.
    pub const UP: u8 = 1;
    pub const DOWN: u8 = 2;
    /// The level below 0 dBm.
    pub const QUALITY: u8 = 3;
    /// Octets, two.
    pub const MTU: u8 = 4;
    /// Octets in front of an LL-PDU.
    pub const HEADER: usize = 5;
}

/// A bearer that carries LL-PDUs between stations and nothing else: no cells, no paging, no suspension.
#[derive(Debug, Default)]
struct Plain {
    /// The cell for which the link of each mobile stands.
    cells: Vec<u16>,
}

fn station(mobile: u32) -> Peer {
    let [_, _, high, low] = mobile.to_be_bytes();
    Peer::Ethernet(EthernetAddress([2, 0, 0, 0, high, low]))
}

fn mobile_at(peer: Peer) -> Option<u32> {
    let Peer::Ethernet(EthernetAddress([2, 0, 0, 0, high, low])) = peer else { return None };
    Some(u32::from_be_bytes([0, 0, high, low]))
}

impl Bearer for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }
    fn request(
        &mut self,
        _: &mut Context<'_>,
        from: Sender,
        request: Request,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        let Request::Unitdata(mut frame) = request else { return Ok(()) };
        let [a, b, c, d] = from.tlli.0.to_be_bytes();
        let is_put = frame.prepend(&[plain::UNITDATA, a, b, c, d]);
        out.push(Output::Transmit { link: 0, peer: station(from.mobile), frame });
        is_put.then_some(()).ok_or(Drop::MsNoRoom)
    }
    fn receive(
        &mut self,
        _: &mut Context<'_>,
        (_, peer): (u16, Peer),
        frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Refused> {
        out.push(Output::Indication(self.indication(peer, frame)?));
        Ok(())
    }
}

impl Plain {
    fn indication(&mut self, peer: Peer, mut frame: Frame) -> Result<Told, Refused> {
        let mobile = mobile_at(peer).ok_or(Refused::as_drop(Drop::MsUnknownMobile))?;
        self.cells.resize(self.cells.len().max(mobile as usize + 1), 0);
        let cell = &mut self.cells[mobile as usize];
        match frame[..] {
            [plain::UNITDATA, a, b, c, d, ..] => {
                assert!(frame.pull(plain::HEADER));
                let tlli = Tlli(u32::from_be_bytes([a, b, c, d]));
                Ok(Told::Unitdata(Unitdata { mobile: Some(mobile), cell: *cell, tlli, ll_pdu: frame }))
            }
            [plain::UP, which] => {
                *cell = which.into();
                Ok(Told::Up { mobile, cell: which.into() })
            }
            [plain::DOWN] => Ok(Told::Down { mobile }),
            [plain::QUALITY, below] => Ok(Told::Quality { mobile, level_dbm: -i16::from(below) }),
            [plain::MTU, high, low] => Ok(Told::Mtu { mobile, octets: u16::from_be_bytes([high, low]) }),
            _ => Err(Refused { mobile: Some(mobile), ..Refused::as_drop(Drop::UmMalformed) }),
        }
    }
}

/// Mobiles on [`Plain`], and an access point that brings their LL-PDUs to the BSS in the cell of the last link.
fn plain_air(radio: Option<Box<dyn Radio>>, cell: &Rc<RefCell<u16>>) -> Air {
    let cell = Rc::clone(cell);
    let up = Box::new(move |peer, octets: Vec<u8>| {
        let tlli = Tlli(u32::from_be_bytes(octets[1..plain::HEADER].try_into().unwrap()));
        let header = UmHeader { kind: UmKind::LlPdu, cell: *cell.borrow(), tlli, priority: None };
        let datagram = [&header.emit()[..], &octets[plain::HEADER..]].concat();
        Some((Peer::Slot(mobile_at(peer)?), datagram))
    });
    let down = Box::new(|peer, octets: Vec<u8>| {
        let (header, Peer::Slot(mobile)) = (UmHeader::parse(&octets).unwrap(), peer) else { panic!() };
        let tlli = header.tlli.0.to_be_bytes();
        let datagram = [&[plain::UNITDATA][..], &tlli, &octets[HEADER_LEN..]].concat();
        (header.kind == UmKind::LlPdu).then_some((station(mobile), datagram))
    });
    Air { bearer: Box::new(Plain::default()), radio, hops: [up, down] }
}

impl World {
    /// Its bearer tells a mobile something.
    fn link(&mut self, mobile: u32, octets: &[u8]) {
        self.ms.datagram(BEARER, station(mobile), octets);
        self.settle();
    }

    fn all_frames_are_back(&self) -> bool {
        let pools = [&self.ms.around, &self.bss.around].map(|around| around.frames.free());
        pools == [FRAMES; 2]
    }
}

#[test]
fn a_radio_without_delay_carries_everything_at_once() {
    let radio = Perfect::default();
    let told = Rc::clone(&radio.told);
    let mut world = World::over(Air::um(Some(Box::new(radio))), |_| ());
    let addresses = world.activate_all();
    for (mobile, address) in (0..MOBILES).zip(&addresses) {
        assert!(world.exchange(mobile, *address, 1500), "mobile {mobile}");
    }
    let (at, up) = (world.now, packet(addresses[3], Ipv4Addr::new(198, 51, 100, 1), 600));
    world.ms.datagram(TUN, Peer::Slot(3), &up);
    world.pass(0);
    assert_eq!((core::mem::take(&mut world.from_ggsn), world.now), (vec![up], at), "no time passes");
    world.order(MsCommand::ChangeCell { mobile: 0, cell: 1 });
    world.pass(2);
    assert!(world.exchange(0, addresses[0], 1400), "another cell");
    world.order(MsCommand::Suspend { mobile: 1 });
    world.pass(1);
    world.order(MsCommand::Resume { mobile: 1 });
    world.pass(1);
    assert!(world.exchange(1, addresses[1], 1400), "suspended and resumed");
    use OfMobile::{Left, Suspended};
    assert_eq!(*told.borrow(), [Left(0, 0), Suspended(1, true), Suspended(1, false)]);
    assert!(world.all_frames_are_back());
    world.assert_no_drops();
}

#[test]
fn mobiles_on_a_bearer_of_plain_unit_data_attach_and_their_packets_pass() {
    for is_perfect in [false, true] {
        let cell = Rc::new(RefCell::new(0));
        let radio = is_perfect.then(|| Box::new(Perfect::default()) as Box<dyn Radio>);
        let mut world = World::over(plain_air(radio, &cell), |mobiles| mobiles.first_cells = vec![0; 10]);
        let addresses = world.activate_all();
        for (mobile, address) in (0..MOBILES).zip(&addresses) {
            assert!(world.exchange(mobile, *address, 84), "mobile {mobile}");
            assert!(world.exchange(mobile, *address, 1500), "mobile {mobile}");
        }
        // The link of a mobile goes, and comes back as another.
        world.link(0, &[plain::QUALITY, 71]);
        let view = world.ms.machine.view(0).unwrap().to_string();
        assert!(view.contains("received at -71 dBm"), "{view}");
        world.link(0, &[plain::DOWN]);
        let view = world.ms.machine.view(0).unwrap();
        assert_eq!((view.cell, view.link.level_dbm), (None, None));
        *cell.borrow_mut() = 2;
        world.link(0, &[plain::UP, 2]);
        world.pass(5);
        assert!(world.events.iter().any(|event| matches!(event, MsEvent::Updated { mobile: 0, .. })));
        assert!(world.exchange(0, addresses[0], 1400), "in another routing area");
        assert!(world.all_frames_are_back());
        world.assert_no_drops();
    }
}

#[test]
fn ll_pdus_are_as_short_as_the_bearer_needs_them() {
    let cell = Rc::new(RefCell::new(0));
    let longest = Rc::new(RefCell::new(0));
    let mut air = plain_air(None, &cell);
    let [up, down] = air.hops;
    let watch = |mut hop: crate::world::Hop, header: usize| -> crate::world::Hop {
        let longest = Rc::clone(&longest);
        Box::new(move |peer, octets| {
            let so_far = *longest.borrow();
            *longest.borrow_mut() = octets.len().saturating_sub(header).max(so_far);
            hop(peer, octets)
        })
    };
    air.hops = [watch(up, plain::HEADER), watch(down, HEADER_LEN)];
    let mut world = World::over(air, |mobiles| mobiles.first_cells = vec![0; 10]);
    // Known before there is a context, and while there is one.
    world.link(0, &[plain::MTU, 1, 44]);
    let addresses = world.activate_all();
    world.link(1, &[plain::MTU, 1, 44]);
    world.pass(5);
    for mobile in [0, 1] {
        *longest.borrow_mut() = 0;
        assert!(world.exchange(mobile, addresses[mobile as usize], 1500));
        assert_eq!(*longest.borrow(), 300, "mobile {mobile}");
    }
    assert!(world.exchange(2, addresses[2], 1500));
    assert!(*longest.borrow() > 1500, "another mobile's link has no limit");
    world.assert_no_drops();
    // Less than N201 can be.
    world.link(0, &[plain::MTU, 0, 100]);
    world.pass(5);
    let up = packet(addresses[0], Ipv4Addr::new(198, 51, 100, 1), 200);
    world.ms.datagram(TUN, Peer::Slot(0), &up);
    world.pass(2);
    assert_eq!((world.ms.drops().get(Drop::MsOverMtu), world.from_ggsn.len()), (1, 0));
    world.ggsn.datagram(PORT_TUN, Peer::Slot(0), &packet(Ipv4Addr::new(198, 51, 100, 1), addresses[1], 84));
    world.pass(2);
    assert_eq!(world.from_ms.len(), 1, "the others go on");
}

#[test]
fn what_is_no_indication_is_dropped_as_its_bearer_says() {
    let mut world = World::over(plain_air(None, &Rc::default()), |_| ());
    for (peer, octets, drop) in [
        (Peer::Slot(0), &[plain::DOWN][..], Drop::MsUnknownMobile),
        (station(77), &[plain::QUALITY, 7], Drop::MsUnknownMobile),
        (station(77), &[plain::UP, 0], Drop::MsBadOrder),
        (station(0), &[plain::UP, 9], Drop::MsBadOrder),
        (station(0), &[9], Drop::UmMalformed),
        (station(0), &[plain::UNITDATA, 0xc0, 0, 0, 1, 0x41], Drop::MsOtherCell),
    ] {
        let before = world.ms.drops().get(drop);
        world.ms.datagram(BEARER, peer, octets);
        world.settle();
        assert_eq!(world.ms.drops().get(drop), before + 1, "{drop:?}");
    }
    let bad_orders = world.ms.drops().get(Drop::MsBadOrder);
    world.order(MsCommand::Bearer(Order::SetLink { link: 0, is_up: false }));
    assert_eq!(world.ms.drops().get(Drop::MsBadOrder), bad_orders + 1, "it has one link");
    assert!(world.all_frames_are_back());
}

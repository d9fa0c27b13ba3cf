//! One mobile: everything but the segments that wait for others, which stand in one table of the fleet.

use super::directory::Names;
use super::security::Security;
use core::net::{Ipv4Addr, Ipv6Addr};
use gannet_machine::drops::Drop;
use gannet_machine::timers::Deadlines;
use gannet_proto::auth::card::Card;
use gannet_proto::gmm::ms::GmmMsContext;
use gannet_proto::llc::{Layer3Offer, LlcContext, LlcRole, XidRequest};
use gannet_proto::sm::ms::{SmMsContexts, Wanted, WantedSecondary};
use gannet_proto::sndcp::{Sndcp, SndcpNsapi};
use gannet_proto::user_plane::Again;
use gannet_wire::id::{Imei, Imsi, Nsapi, Sapi};
use gannet_wire::l3::ie::{PacketFields, PdpAddress, QosProfile, RadioPriority};
use gannet_wire::llc::{N201_MAX, N201_MIN};

/// NSAPIs 5 to 15.
pub const NSAPIS: usize = 11;

/// An active PDP context as the data path sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bearer {
    /// The N-PDU counter, and the SAPI.
    pub sndcp: SndcpNsapi,
    /// The mobile's address.
    pub address: PdpAddress,
    /// Where its packets come from: the same for all contexts with one address; see [`super::devices`].
    pub device: Nsapi,
    /// LL-PDUs are protected in all their octets.
    pub protected: bool,
    /// N-PDUs go in acknowledged mode.
    pub acknowledged: bool,
    /// How urgent its LL-PDUs are on the radio.
    pub priority: RadioPriority,
}

/// A context that someone ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ordered {
    /// With an address of its own.
    First(Wanted),
    /// With that of another, beside which it is activated whenever that is active.
    Secondary(WantedSecondary),
}

/// Whether the mobile is busy with circuit-switched services (03.60 clause 16.2.1.1 [23.060]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Suspension {
    /// It is not.
    #[default]
    None,
    /// GPRS SUSPENSION REQUEST was sent.
    Asked,
    /// The network has suspended GPRS, under this suspend reference number.
    Acknowledged(u8),
}

/// What a bearer says of the link of a mobile; `None` where it says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Link {
    /// The level of what the mobile receives, in dBm.
    pub level_dbm: Option<i16>,
    /// Octets of the longest LL-PDU that it carries.
    pub mtu_octets: Option<u16>,
    /// As much of the mobile waits there as is of use.
    pub is_full: bool,
}

impl Link {
    /// Octets around the information of a UI frame: address, control and FCS (04.64 clause 5.1).
    const UI: u16 = 6;
    /// The same of an I frame without a bitmap.
    const I: u16 = 7;

    fn room(self, around: u16) -> u16 {
        self.mtu_octets.map_or(N201_MAX, |mtu| mtu.saturating_sub(around).max(N201_MIN))
    }

    /// Octets of information of the longest I frame that the bearer carries whole.
    #[must_use]
    pub fn n201_i_max(self) -> Option<u16> {
        self.mtu_octets.map(|_| self.room(Self::I))
    }

    /// Frames of a SAPI may be longer than the bearer carries.
    #[must_use]
    pub fn is_exceeded(self, llc: &LlcContext, sapi: Sapi) -> bool {
        llc.n201_u(sapi) > self.room(Self::UI) || llc.n201_i(sapi) > self.room(Self::I)
    }

    /// What a mobile is to ask for on a SAPI whose N201-U is to be `n201_u`; `None` for nothing. Where nobody has said what it is
    /// to be, it is what the bearer carries, so that nothing is cut which need not be, and stays where the bearer says nothing. It
    /// is never more than the bearer carries, as far as N201 can be that small.
    #[must_use]
    pub fn wanted(self, llc: &LlcContext, sapi: Sapi, n201_u: Option<u16>) -> Option<XidRequest> {
        let (now_u, now_i) = (llc.n201_u(sapi), llc.n201_i(sapi));
        let filled = self.mtu_octets.map(|_| N201_MAX);
        let wanted = n201_u.or(filled).unwrap_or(now_u).min(self.room(Self::UI));
        let n201_u = Some(wanted).filter(|wanted| *wanted != now_u);
        let n201_i = Some(self.room(Self::I)).filter(|room| *room < now_i);
        let is_any = n201_u.is_some() || n201_i.is_some();
        is_any.then_some(XidRequest { n201_u, n201_i, layer3: Layer3Offer::Nothing })
    }
}

gannet_machine::timer_names! {
    /// What a mobile's SM is woken for: one wake-up for the timers of all transactions (24.008 clause 11.2.2).
    pub enum SmTimer {
        /// The earliest of them.
        Next = "T3380, T3381 or T3390",
    }
}

/// One mobile.
#[derive(Debug)]
pub struct Mobile {
    /// Mobility management.
    pub gmm: GmmMsContext,
    /// Its card, and keys.
    pub security: Security,
    /// Logical links.
    pub llc: LlcContext,
    /// Acknowledged mode and compression, where a context needs either.
    pub sndcp: Option<Box<Sndcp>>,
    /// Octets of its N-PDUs that wait for confirmation, as the node has counted them.
    pub unconfirmed_octets: u32,
    /// When links that have ended are tried again, and N-PDUs that nothing else sends.
    pub again: Again,
    /// Nothing more is to be given to it for the time being.
    pub is_held_back: bool,
    /// Devices of which nothing more is to be taken for the time being: bit n for that of NSAPI n.
    pub held_devices: u16,
    /// Session management.
    pub sm: SmMsContexts,
    /// Active contexts by NSAPI, the first is NSAPI 5.
    pub bearers: [Option<Bearer>; NSAPIS],
    /// Contexts by NSAPI that someone ordered and nobody took back: they are activated when the mobile is attached, and
    /// again after each new attach.
    pub orders: [Option<Box<Ordered>>; NSAPIS],
    /// When SM wants to be woken.
    pub sm_wake: Deadlines<SmTimer>,
    /// Under which names the directory has it.
    pub names: Names,
    /// The cell that it has selected, by its index.
    pub cell: Option<u16>,
    /// The one before. On the radio nothing overtakes: it is forgotten when something comes in this one.
    pub former_cell: Option<u16>,
    /// What its bearer says of its link.
    pub link: Link,
    /// Suspended or not.
    pub suspension: Suspension,
    /// The end of the attachment is to be told: a beginning was told, or a detach was ordered.
    pub tells_detached: bool,
}

impl Mobile {
    /// A mobile that is switched off, with this card in this equipment.
    #[must_use]
    pub fn new(imsi: Imsi, imei: Option<Imei>, card: Card) -> Self {
        Self {
            gmm: GmmMsContext::new(imsi, imei),
            security: Security::new(card),
            llc: LlcContext::new(LlcRole::Ms),
            sndcp: None,
            unconfirmed_octets: 0,
            again: Again::default(),
            is_held_back: false,
            held_devices: 0,
            sm: SmMsContexts::default(),
            bearers: [None; NSAPIS],
            orders: [const { None }; NSAPIS],
            sm_wake: Deadlines::default(),
            names: Names::default(),
            cell: None,
            former_cell: None,
            link: Link::default(),
            suspension: Suspension::None,
            tells_detached: false,
        }
    }

    /// The subscriber.
    #[must_use]
    pub const fn imsi(&self) -> Imsi {
        self.gmm.imsi()
    }

    /// The place of an NSAPI; `None` outside 5 to 15.
    #[must_use]
    pub fn place_of(nsapi: Nsapi) -> Option<usize> {
        usize::from(nsapi.0).checked_sub(5).filter(|place| *place < NSAPIS)
    }

    /// The NSAPI of a place.
    #[must_use]
    pub fn nsapi_at(place: usize) -> Nsapi {
        Nsapi(u8::try_from(place + 5).unwrap_or(0))
    }

    /// The bearer of an NSAPI.
    #[must_use]
    pub fn bearer(&self, nsapi: Nsapi) -> Option<&Bearer> {
        self.bearers.get(Self::place_of(nsapi)?)?.as_ref()
    }

    /// The radio priority of an LL-PDU: 1 for signalling, and for data that of the most urgent context on its SAPI (04.64 clause 7.2.3.1
    /// [44.064]). What belongs to no context has the lowest.
    #[must_use]
    pub fn radio_priority(&self, ll_pdu: &[u8]) -> RadioPriority {
        let sapi = Sapi(ll_pdu.first().map_or(0, |address| address & 0x0f));
        if sapi == Sapi::GMM {
            return RadioPriority::One;
        }
        let of_sapi = self.bearers.iter().flatten().filter(|bearer| bearer.sndcp.sapi == sapi);
        let priorities = of_sapi.map(|bearer| bearer.priority);
        priorities.min_by_key(|priority| *priority as u8).unwrap_or(RadioPriority::Four)
    }

    /// The SAPI to ask for with an order: the usual one, or the first of user data that no order for another handling has. LL-PDUs of a
    /// SAPI stay in order and have one radio priority (04.64 clause 7.2.3.1 [44.064]), so that none goes before another there.
    #[must_use]
    pub fn sapi_for(&self, usual: Sapi, nsapi: Nsapi, qos: &QosProfile) -> Sapi {
        let others = (0..NSAPIS).filter(|place| Self::nsapi_at(*place) != nsapi);
        let orders = others.filter_map(|place| self.orders.get(place)?.as_deref());
        let used = orders.map(|order| match order {
            Ordered::First(wanted) => (wanted.sapi, wanted.qos.handling()),
            Ordered::Secondary(wanted) => (wanted.sapi, wanted.qos.handling()),
        });
        let used: Vec<_> = used.filter(|(_, handling)| *handling != qos.handling()).collect();
        let is_free = |sapi: &Sapi| used.iter().all(|(other, _)| other != sapi);
        let mut sapis = [usual, Sapi::DATA3, Sapi::DATA5, Sapi::DATA9, Sapi::DATA11].into_iter();
        sapis.find(is_free).unwrap_or(usual)
    }

    /// The bearer of an NSAPI, to change it.
    pub fn bearer_mut(&mut self, nsapi: Nsapi) -> Option<&mut Bearer> {
        self.bearers.get_mut(Self::place_of(nsapi)?)?.as_mut()
    }

    /// The place of a bearer, to put one there or take it away.
    pub fn bearer_place_mut(&mut self, nsapi: Nsapi) -> Option<&mut Option<Bearer>> {
        self.bearers.get_mut(Self::place_of(nsapi)?)
    }

    /// The place of an order.
    pub fn order(&self, nsapi: Nsapi) -> Option<&Ordered> {
        self.orders.get(Self::place_of(nsapi)?)?.as_deref()
    }

    /// The same, to be changed.
    pub fn order_mut(&mut self, nsapi: Nsapi) -> Option<&mut Option<Box<Ordered>>> {
        self.orders.get_mut(Self::place_of(nsapi)?)
    }

    /// The bearer for an IP packet of this mobile: that whose address is the packet's source, otherwise the first
    /// one of the packet's version. Among several with the source address it is that whose traffic flow template the
    /// answer would fit, else the one without a template.
    ///
    /// # Errors
    /// The name under which the packet is dropped.
    pub fn bearer_for(&self, packet: &[u8]) -> Result<Nsapi, Drop> {
        let source = Source::of(packet);
        let mut first = None;
        for bearer in self.bearers.iter().flatten() {
            match source.map_or(Fit::None, |source| source.fit(bearer.address)) {
                Fit::Own => return Ok(self.among_sharers(bearer.device, packet)),
                Fit::Version => first = first.or(Some(bearer.sndcp.nsapi)),
                Fit::None => {}
            }
        }
        let none = if self.bearers.iter().all(Option::is_none) {
            Drop::MsNoContext
        } else {
            Drop::MsOtherAddressType
        };
        first.ok_or(none)
    }

    /// The bearer for an IP packet that comes from a device of this mobile: that of the device's contexts whose traffic flow
    /// template the answer would fit, else the one without a template.
    ///
    /// # Errors
    /// The name under which the packet is dropped.
    pub fn bearer_of_device(&self, device: Nsapi, packet: &[u8]) -> Result<Nsapi, Drop> {
        let mut bearers = self.bearers.iter().flatten();
        let bearer = bearers.find(|bearer| bearer.device == device).ok_or(Drop::MsNoContext)?;
        match Source::of(packet).map_or(Fit::None, |source| source.fit(bearer.address)) {
            Fit::Own | Fit::Version => Ok(self.among_sharers(device, packet)),
            Fit::None => Err(Drop::MsOtherAddressType),
        }
    }

    /// Which of the contexts of a device, which have one address, an uplink packet goes through.
    fn among_sharers(&self, device: Nsapi, packet: &[u8]) -> Nsapi {
        let (mut best, mut rest, mut first) = (None, None, None);
        let mut fields = None;
        for bearer in self.bearers.iter().flatten().filter(|bearer| bearer.device == device) {
            let nsapi = bearer.sndcp.nsapi;
            first = first.or(Some(nsapi));
            let Some(tft) = self.sm.get(nsapi).and_then(|context| context.tft()) else {
                rest = Some(nsapi);
                continue;
            };
            fields = fields.or_else(|| PacketFields::of_uplink(packet));
            let fits = fields.as_ref().and_then(|fields| tft.matching(fields));
            if let Some(filter) = fits
                && best.is_none_or(|(precedence, _)| filter.precedence < precedence)
            {
                best = Some((filter.precedence, nsapi));
            }
        }
        best.map(|(_, nsapi)| nsapi).or(rest).or(first).unwrap_or(device)
    }
}

/// Who sent an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
}

/// How a packet's source and a context's address go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is that address; of IPv6 one with its prefix, 64 bits.
    Own,
    /// It is of the same version.
    Version,
    /// It is not.
    None,
}

impl Source {
    fn fit(self, address: PdpAddress) -> Fit {
        let own = |is_own| if is_own { Fit::Own } else { Fit::Version };
        let prefix = |address: Ipv6Addr| address.to_bits() >> 64;
        match (address, self) {
            (PdpAddress::Ipv4(own_one) | PdpAddress::Ipv4v6(own_one, _), Self::V4(source)) => {
                own(own_one == source)
            }
            (PdpAddress::Ipv6(own_one) | PdpAddress::Ipv4v6(_, own_one), Self::V6(source)) => {
                own(prefix(own_one) == prefix(source))
            }
            (PdpAddress::Ipv4Dynamic | PdpAddress::Ipv4v6Dynamic, Self::V4(_))
            | (PdpAddress::Ipv6Dynamic | PdpAddress::Ipv4v6Dynamic, Self::V6(_)) => Fit::Version,
            (
                PdpAddress::Ipv4(_)
                | PdpAddress::Ipv4Dynamic
                | PdpAddress::Ipv6(_)
                | PdpAddress::Ipv6Dynamic
                | PdpAddress::Ppp
                | PdpAddress::Empty
                | PdpAddress::Other { .. },
                Self::V4(_) | Self::V6(_),
            ) => Fit::None,
        }
    }

    fn of(packet: &[u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => Some(Self::V4(Ipv4Addr::from(*packet.get(12..)?.first_chunk::<4>()?))),
            6 => Some(Self::V6(Ipv6Addr::from(*packet.get(8..)?.first_chunk::<16>()?))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mobile(bearers: &[(u8, PdpAddress)]) -> Mobile {
        let mut mobile = Mobile::new("001010000000001".parse().unwrap(), None, Card::None);
        for (nsapi, address) in bearers {
            mobile.bearers[usize::from(nsapi - 5)] = Some(Bearer {
                sndcp: SndcpNsapi::new(Nsapi(*nsapi), Sapi(3)),
                address: *address,
                device: Nsapi(*nsapi),
                protected: true,
                acknowledged: false,
                priority: RadioPriority::Four,
            });
        }
        mobile
    }

    #[test]
    fn an_ll_pdu_is_as_urgent_as_the_most_urgent_context_on_its_sapi() {
        let address = PdpAddress::Ipv4([10, 0, 0, 1].into());
        let mut mobile = mobile(&[(5, address), (6, address), (7, address)]);
        for (place, sapi, priority) in
            [(0, 3, RadioPriority::Four), (1, 3, RadioPriority::Two), (2, 5, RadioPriority::Three)]
        {
            let bearer = mobile.bearers[place].as_mut().unwrap();
            (bearer.sndcp.sapi, bearer.priority) = (Sapi(sapi), priority);
        }
        let of = |first: u8| mobile.radio_priority(&[first, 0xc0, 0x01]);
        assert_eq!([of(0x43), of(0x45)], [RadioPriority::Two, RadioPriority::Three]);
        assert_eq!(
            [of(0x41), of(0x49), of(0x47)],
            [RadioPriority::One, RadioPriority::Four, RadioPriority::Four]
        );
        assert_eq!(mobile.radio_priority(&[]), RadioPriority::Four);
    }

    fn packet(source: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45; 20];
        packet[12..16].copy_from_slice(&source);
        packet
    }

    #[test]
    fn the_source_address_chooses_the_context() {
        let (one, two) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
        let mobile =
            mobile(&[(5, PdpAddress::Ipv6Dynamic), (6, PdpAddress::Ipv4(one)), (7, PdpAddress::Ipv4(two))]);
        assert_eq!(mobile.bearer_for(&packet(two.octets())), Ok(Nsapi(7)));
        assert_eq!(mobile.bearer_for(&packet([9; 4])), Ok(Nsapi(6)));
        assert_eq!(mobile.bearer_for(&[0x60; 40]), Ok(Nsapi(5)));
        assert_eq!(mobile.bearer_for(&[]), Err(Drop::MsOtherAddressType));
        assert_eq!(mobile.bearer_for(&[0x45]), Err(Drop::MsOtherAddressType));
    }

    #[test]
    fn frames_are_as_long_as_the_bearer_has_room_for() {
        let llc = LlcContext::new(LlcRole::Ms);
        let wanted = |mtu_octets, n201_u| {
            let request = Link { mtu_octets, ..Link::default() }.wanted(&llc, Sapi::DATA3, n201_u);
            request.map(|request| (request.n201_u, request.n201_i))
        };
        // Ethernet less the header of the adaptation protocol.
        assert_eq!(wanted(Some(1492), None), Some((Some(1486), Some(1485))));
        assert_eq!(wanted(Some(1492), Some(1000)), Some((Some(1000), Some(1485))));
        assert_eq!(wanted(Some(9000), None), Some((Some(1520), None)));
        assert_eq!(wanted(Some(300), Some(1000)), Some((Some(294), Some(293))));
        assert_eq!((wanted(None, None), wanted(None, Some(1000))), (None, Some((Some(1000), None))));
    }

    #[test]
    fn without_a_context_there_is_none() {
        assert_eq!(mobile(&[]).bearer_for(&packet([1; 4])), Err(Drop::MsNoContext));
        let v4 = mobile(&[(5, PdpAddress::Ipv4Dynamic)]);
        assert_eq!(v4.bearer_for(&[0x60; 40]), Err(Drop::MsOtherAddressType));
    }
}

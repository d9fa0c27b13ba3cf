//! PAGING REQUEST types 1 to 3 (04.18 clauses 9.1.22 to 9.1.24 [44.018]).

use crate::bearer::PagedIdentity;
use crate::rlcmac::paging::{Page, Pages};
use gannet_wire::id::PTmsi;
use gannet_wire::l3::ie::MobileIdentity;
use gannet_wire::rlcmac::ccch::{
    CcchMessage, P1RestOctets, P2RestOctets, P3RestOctets, PagedMobile, PagingRequest1, PagingRequest2,
    PagingRequest3, PagingRest,
};
use gannet_wire::rlcmac::value::{ChannelNeeded, PageMode};

const CHANNELS: [ChannelNeeded; 2] = [ChannelNeeded::Any; 2];

fn paged(page: &Page) -> PagedMobile {
    PagedMobile::of(match page.identity {
        PagedIdentity::PTmsi(ptmsi) => MobileIdentity::PTmsi(ptmsi),
        PagedIdentity::Imsi(imsi) => MobileIdentity::Imsi(imsi),
    })
}

const fn temporary(page: &Page) -> Option<PTmsi> {
    match page.identity {
        PagedIdentity::PTmsi(ptmsi) => Some(ptmsi),
        PagedIdentity::Imsi(_) => None,
    }
}

/// The message that says these pages, in their order. `None` where there is none for them.
pub(super) fn request(pages: &Pages) -> Option<CcchMessage> {
    let page_mode = PageMode::Normal;
    let channels = CHANNELS;
    Some(match pages {
        [Some(first), second, None, None] => {
            let second = second.as_ref();
            let is_packet = [first.is_packet, second.is_some_and(|page| page.is_packet)];
            let rest = PagingRest::Read(P1RestOctets { is_packet, ..P1RestOctets::default() });
            let (first, second) = (paged(first), second.map(paged));
            CcchMessage::PagingRequest1(PagingRequest1 { page_mode, channels, first, second, rest })
        }
        [Some(first), Some(second), Some(third), None] => {
            let is_packet = third.is_packet;
            let rest = PagingRest::Read(P2RestOctets { is_packet, ..P2RestOctets::default() });
            let (mobiles, third) = ([temporary(first)?, temporary(second)?], Some(paged(third)));
            CcchMessage::PagingRequest2(PagingRequest2 { page_mode, channels, mobiles, third, rest })
        }
        [Some(first), Some(second), Some(third), Some(fourth)] => {
            let mobiles = [temporary(first)?, temporary(second)?, temporary(third)?, temporary(fourth)?];
            let rest = PagingRest::Read(P3RestOctets::default());
            CcchMessage::PagingRequest3(PagingRequest3 { page_mode, channels, mobiles, rest })
        }
        _ => return None,
    })
}

fn by_value(ptmsi: PTmsi) -> Page {
    Page { identity: PagedIdentity::PTmsi(ptmsi), is_packet: ptmsi.0 >> 30 == 3 }
}

/// A page for nobody, or by an identity that no page has, is none.
fn by_identity(mobile: &PagedMobile, is_packet: bool) -> Option<Page> {
    let identity = match mobile.identity().ok()? {
        MobileIdentity::PTmsi(ptmsi) => PagedIdentity::PTmsi(ptmsi),
        MobileIdentity::Imsi(imsi) => PagedIdentity::Imsi(imsi),
        MobileIdentity::None | MobileIdentity::Imei(_) | MobileIdentity::Imeisv(_) => return None,
    };
    Some(Page { identity, is_packet })
}

fn read<T: Default + Clone>(rest: &PagingRest<T>) -> T {
    match rest {
        PagingRest::Read(rest) => rest.clone(),
        PagingRest::Unread(_) => T::default(),
    }
}

/// The pages of a message; `None` where it is no paging request.
pub(super) fn pages(message: &CcchMessage) -> Option<Pages> {
    Some(match message {
        CcchMessage::PagingRequest1(message) => {
            let [first, second] = read(&message.rest).is_packet;
            let second = message.second.as_ref().and_then(|mobile| by_identity(mobile, second));
            [by_identity(&message.first, first), second, None, None]
        }
        CcchMessage::PagingRequest2(message) => {
            let [first, second] = message.mobiles.map(|ptmsi| Some(by_value(ptmsi)));
            let is_packet = read(&message.rest).is_packet;
            [first, second, message.third.as_ref().and_then(|mobile| by_identity(mobile, is_packet)), None]
        }
        CcchMessage::PagingRequest3(message) => message.mobiles.map(|ptmsi| Some(by_value(ptmsi))),
        CcchMessage::ImmediateAssignment(_)
        | CcchMessage::ImmediateAssignmentExtended(_)
        | CcchMessage::ImmediateAssignmentReject(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rlcmac::signal::Common;

    #[test]
    fn each_type_is_read_as_it_was_written() {
        let temporary =
            |bits: u32, is_packet| Page { identity: PagedIdentity::PTmsi(PTmsi(bits)), is_packet };
        let imsi = PagedIdentity::Imsi("001010000000001".parse().unwrap());
        let by_imsi = |is_packet| Page { identity: imsi, is_packet };
        let (ps, cs, odd) =
            (temporary(0xc123_4567, true), temporary(0x1234_5678, false), temporary(0xc000_0000, false));
        for (pages, kind) in [
            ([Some(by_imsi(true)), None, None, None], 0x21),
            ([Some(odd), Some(by_imsi(false)), None, None], 0x21),
            ([Some(ps), Some(cs), Some(by_imsi(true)), None], 0x22),
            ([Some(cs), Some(ps), Some(odd), None], 0x22),
            ([Some(ps), Some(cs), Some(ps), Some(cs)], 0x24),
        ] {
            let octets = Common::Paging(pages).emit().unwrap();
            // Message type (04.18 clause 10.4).
            assert_eq!(octets[2], kind);
            assert_eq!(Common::parse(&octets, 0).unwrap(), Some(Common::Paging(pages)));
        }
        assert_eq!(Common::Paging([None; 4]).emit(), None);
        assert_eq!(Common::Paging([Some(ps), Some(cs), None, Some(ps)]).emit(), None);
        assert_eq!(Common::Paging([Some(by_imsi(true)); 4]).emit(), None, "type 3 has no IMSI");
    }
}

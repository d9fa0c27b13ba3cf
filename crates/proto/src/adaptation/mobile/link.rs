//! What is between one mobile and one access point.

use super::Output;
use crate::adaptation::session::Session;
use crate::adaptation::stations::Address;
use core::net::SocketAddr;
use gannet_machine::Batch;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_wire::adaptation::{LinkReport, Pdu};

/// PDUs that must have been sent between two reports for their shares to mean something.
const SAMPLE: u32 = 8;

/// What carries the PDUs of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MobileMedium {
    /// Ethernet or wireless LAN: access points are found by their beacons.
    Ethernet,
    /// UDP, to this access point.
    Udp(SocketAddr),
}

/// Counts of both ends at a report.
#[derive(Debug, Clone, Copy)]
struct Sample {
    sent: u32,
    received: u32,
    its_sent: u32,
    its_received: u32,
}

/// A link.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) cell: u16,
    pub(super) address: Address,
    /// The one in use, and the one before.
    sessions: [Option<Box<Session>>; 2],
    sent: u32,
    received: u32,
    sent_at_report: u32,
    last: Option<Sample>,
}

impl Link {
    pub(super) const fn new(cell: u16, address: Address) -> Self {
        let sessions = [None, None];
        Self { cell, address, sessions, sent: 0, received: 0, sent_at_report: 0, last: None }
    }

    /// Another session is in use; gives the name of one that is not known any more.
    pub(super) fn renew(&mut self, session: Session) -> Option<u32> {
        let before = self.sessions[0].replace(Box::new(session));
        core::mem::replace(&mut self.sessions[1], before).map(|gone| gone.id())
    }

    pub(super) fn sessions(&self) -> impl Iterator<Item = u32> + '_ {
        self.sessions.iter().flatten().map(|session| session.id())
    }

    pub(super) fn is_nearly_used_up(&self) -> bool {
        self.sessions[0].as_ref().is_some_and(|session| session.is_nearly_used_up())
    }

    /// Opens a PDU of one of its sessions.
    pub(super) fn open(&mut self, pdu: &Pdu<'_>) -> Result<(), Drop> {
        let trailer = pdu.trailer.ok_or(Drop::AdaptUnauthenticated)?;
        let mut sessions = self.sessions.iter_mut().flatten();
        let session = sessions.find(|session| session.id() == trailer.session);
        session.ok_or(Drop::AdaptUnknownSession)?.open(pdu)
    }

    pub(super) const fn count_received(&mut self) {
        self.received = self.received.wrapping_add(1);
    }

    /// Sends a PDU; where the mobile has a key, in the session in use.
    pub(super) fn transmit(
        &mut self,
        has_key: bool,
        mut frame: Frame,
        out: &mut Batch<Output>,
    ) -> Result<(), Drop> {
        if has_key {
            self.sessions[0].as_mut().ok_or(Drop::AdaptNoLink)?.seal(&mut frame)?;
        }
        self.sent = self.sent.wrapping_add(1);
        let Address { link, peer } = self.address;
        out.push(Output::Transmit { link, peer, frame });
        Ok(())
    }

    /// What a report says of it, which is about to be sent.
    pub(super) const fn report(&mut self) -> (u32, u32) {
        self.sent_at_report = self.sent.wrapping_add(1);
        (self.sent, self.received)
    }

    /// The access point has answered a report: the share of PDUs, in permille, that came in the worse direction since the
    /// last answer. `None` where too few were sent to say, or the access point counts anew.
    pub(super) fn measure(&mut self, report: &LinkReport) -> Option<u16> {
        let now = Sample {
            sent: self.sent_at_report,
            received: self.received,
            its_sent: report.sent,
            its_received: report.received,
        };
        let last = *self.last.get_or_insert(now);
        let since = |now: u32, last: u32| now.wrapping_sub(last);
        let (up, up_of) = (since(now.its_received, last.its_received), since(now.sent, last.sent));
        let (down, down_of) = (since(now.received, last.received), since(now.its_sent, last.its_sent));
        if [up, down, up_of, down_of].into_iter().any(|count| count > u32::MAX / 2) {
            self.last = Some(now);
            return None;
        }
        if up_of < SAMPLE {
            return None;
        }
        self.last = Some(now);
        let share = |came: u32, of: u32| u64::from(came.min(of)) * 1000 / u64::from(of.max(1));
        let down = if down_of < SAMPLE { 1000 } else { share(down, down_of) };
        u16::try_from(share(up, up_of).min(down)).ok()
    }
}

//! PACKET PAGING REQUEST (04.60 clause 11.2.10 [44.060]).

use super::csn::{BitReader, BitWriter, Csn, Later, choice, sequence};
use super::element::{PersistenceLevels, read_octets};
use super::value::{ChannelNeeded, EmlppPriority, ListNumber, PageMode};
use crate::error::DecodeError;
use crate::id::PTmsi;
use crate::l3::ie::Octets;

/// PACKET PAGING REQUEST (clause 11.2.10).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketPagingRequest {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// Persistence levels of the PRACH.
    pub persistence: Option<PersistenceLevels>,
    /// Notification list number of group calls.
    pub list: Option<ListNumber>,
    /// Who is paged.
    pub pages: Vec<Page>,
    /// Additions.
    pub later: Later,
}
sequence!(PacketPagingRequest, "Packet Paging Request": page_mode, persistence, list, "", pages, later);

/// One page (clause 11.2.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Page {
    /// For a TBF.
    Packet(PagedIdentity),
    /// For a connection of the circuit-switched side.
    Circuit(CircuitPage),
}
choice!(Page, "Repeated Page info": "0" => Packet, "1" => Circuit);

/// A page for the circuit-switched side (clause 11.2.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CircuitPage {
    /// Who.
    pub identity: PagedIdentity,
    /// On which channel it answers.
    pub channel: ChannelNeeded,
    /// Priority of the call.
    pub priority: Option<EmlppPriority>,
}
sequence!(CircuitPage, "Page request for RR connection": identity, channel, priority);

/// Who is paged (clause 11.2.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PagedIdentity {
    /// P-TMSI; of a page for the circuit-switched side the TMSI.
    Temporary(PTmsi),
    /// Contents of a mobile identity (04.08 clause 10.5.1.4 [24.008]), to 15 octets.
    Mobile(Octets<15>),
}
choice!(PagedIdentity, "PTMSI": "0" => Temporary, "1" => Mobile);

impl Csn for Octets<15> {
    const NAME: &'static str = "Mobile Identity";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let len = usize::try_from(bits.take(4, "Length of Mobile Identity contents")?).unwrap_or_default();
        Ok(Self::from_start(&read_octets(bits, len, Self::NAME)?))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        bits.put(self.len() as u64, 4);
        self.as_slice().iter().for_each(|octet| bits.put(u64::from(*octet), 8));
    }
}

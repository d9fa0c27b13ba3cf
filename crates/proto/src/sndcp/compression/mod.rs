//! Compression of N-PDUs on one SAPI (04.65 clauses 6.5 and 6.6 [44.065]): which entities both ends have agreed to, and
//! their use before segmentation and after reassembly.
//!
//! What an entity has learned is made with its first N-PDU, belongs to the mobile, and is plain data. In acknowledged mode
//! both ends forget it with each establishment of the link. In unacknowledged mode RFC 1144 goes on, since TCP repairs what a
//! lost N-PDU makes of later ones, and V.42bis begins anew with each N-PDU.

mod config;
mod negotiation;

pub use config::{Agreed, CompressionConfig, Kind, Offer, V42bisLimits};
pub use negotiation::{Serving, Terms};

use super::{N_PDU_MAX, rfc1144, v42bis};
use crate::llc::LlcRole;
use gannet_machine::drops::Drop;
use gannet_machine::frame::Frame;
use gannet_wire::id::Nsapi;
use gannet_wire::sndcp::Compression;
use gannet_wire::sndcp::algorithms::{NsapiSet, V42bis};
use negotiation::Proposal;
use rfc1144::PacketType;
use serde::{Deserialize, Serialize};

/// Octets of the longest compressed N-PDU.
pub(super) const COMPRESSED_MAX: usize = v42bis::compressed_max(N_PDU_MAX);

/// The entities of one SAPI.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Compressions {
    entities: Vec<Entity>,
    proposed: Vec<Proposal>,
}

/// One entity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entity {
    number: u8,
    agreed: Agreed,
    nsapis: NsapiSet,
    coder: Coder,
}

/// What an entity has learned in each direction; nothing before its first N-PDU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Coder {
    Rfc1144 { sent: Option<rfc1144::Compressor>, received: Option<rfc1144::Decompressor> },
    V42bis { sent: Option<v42bis::Compressor>, received: Option<v42bis::Decompressor> },
}

impl Coder {
    const fn new(agreed: &Agreed) -> Self {
        match agreed {
            Agreed::Rfc1144 { .. } => Self::Rfc1144 { sent: None, received: None },
            Agreed::V42bis { .. } => Self::V42bis { sent: None, received: None },
        }
    }

    fn octets(&self) -> usize {
        let [sent, received] = match self {
            Self::Rfc1144 { sent, received } => [
                sent.as_ref().map(rfc1144::Compressor::octets),
                received.as_ref().map(rfc1144::Decompressor::octets),
            ],
            Self::V42bis { sent, received } => [
                sent.as_ref().map(v42bis::Compressor::octets),
                received.as_ref().map(v42bis::Decompressor::octets),
            ],
        };
        sent.unwrap_or(0) + received.unwrap_or(0)
    }
}

impl Entity {
    const fn new(number: u8, agreed: Agreed, nsapis: NsapiSet) -> Self {
        Self { number, agreed, nsapis, coder: Coder::new(&agreed) }
    }

    fn forget(&mut self) {
        self.coder = Coder::new(&self.agreed);
    }
}

/// Which way an N-PDU takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Way {
    /// Which end this is.
    pub(super) role: LlcRole,
    /// Whose N-PDU it is.
    pub(super) nsapi: Nsapi,
    /// It goes in acknowledged mode.
    pub(super) acknowledged: bool,
}

/// Memory for what V.42bis makes of an N-PDU.
pub(super) struct Buffer([u8; COMPRESSED_MAX]);

impl Buffer {
    pub(super) const fn new() -> Self {
        Self([0; COMPRESSED_MAX])
    }

    /// The first `len` octets.
    pub(super) fn octets(&self, len: usize) -> &[u8] {
        self.0.get(..len).unwrap_or_default()
    }
}

/// As what an N-PDU goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) compression: Compression,
    /// So many octets in the buffer; `None` where it is what stands in the frame.
    pub(super) in_buffer: Option<usize>,
}

impl Compressions {
    /// None agreed to.
    #[must_use]
    pub const fn new() -> Self {
        Self { entities: Vec::new(), proposed: Vec::new() }
    }

    /// Has any entity been agreed to?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// What has been agreed to, by kind and number: with the NSAPIs to which it applies.
    pub fn agreed(&self) -> impl Iterator<Item = (u8, Agreed, NsapiSet)> + '_ {
        self.entities.iter().map(|entity| (entity.number, entity.agreed, entity.nsapis))
    }

    /// Octets of memory that hold what the entities have learned. It is bounded by what [`CompressionConfig`] agrees to: in
    /// each direction eight octets for each of P1 codewords, and at most some 250 for each of S0 slots, once for each NSAPI.
    #[must_use]
    pub fn octets(&self) -> usize {
        self.entities.iter().map(|entity| entity.coder.octets()).sum()
    }

    /// The link of the SAPI is established, for the first time or anew: what was learned in acknowledged mode is forgotten.
    pub fn link_anew(&mut self, acknowledged: NsapiSet) {
        let of_it = |entity: &&mut Entity| !entity.nsapis.both(acknowledged).is_empty();
        self.entities.iter_mut().filter(of_it).for_each(Entity::forget);
    }

    /// Goes on after a restart: the peer knows what was sent since this was kept, and this end does not. What it sends begins anew;
    /// what it receives is told apart by its numbers.
    pub(super) fn forget_sent(&mut self) {
        for entity in &mut self.entities {
            match &mut entity.coder {
                Coder::Rfc1144 { sent, .. } => *sent = None,
                Coder::V42bis { sent, .. } => *sent = None,
            }
        }
    }

    /// LL-RESET.indication: all parameters are those of the beginning, which is no entity (clause 5.1.2.1).
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// What was proposed will not be answered.
    pub fn withdraw(&mut self) {
        self.proposed.clear();
    }

    /// The NSAPIs for which something is proposed.
    #[must_use]
    pub fn proposed(&self) -> NsapiSet {
        self.proposed.iter().fold(NsapiSet::NONE, |all, proposal| all.or(proposal.nsapis()))
    }

    /// An NSAPI ends: no entity applies to it any more.
    pub fn forget(&mut self, nsapi: Nsapi) {
        for entity in &mut self.entities {
            entity.nsapis = entity.nsapis.without(nsapi);
        }
        self.entities.retain(|entity| !entity.nsapis.is_empty());
        for proposal in &mut self.proposed {
            proposal.forget(nsapi);
        }
    }

    /// An N-PDU of an NSAPI in unacknowledged mode has not come.
    pub(super) fn lost(&mut self, nsapi: Nsapi) {
        for entity in self.entities.iter_mut().filter(|entity| entity.nsapis.has(nsapi)) {
            if let Coder::Rfc1144 { received: Some(decompressor), .. } = &mut entity.coder {
                decompressor.lost();
            }
        }
    }

    fn of(&mut self, kind: Kind, nsapi: Nsapi) -> Option<&mut Entity> {
        self.entities.iter_mut().find(|entity| entity.agreed.kind() == kind && entity.nsapis.has(nsapi))
    }

    /// Compresses the N-PDU in `frame`. In acknowledged mode what comes out has to be sent, and in this order.
    pub(super) fn compress(&mut self, way: Way, frame: &mut Frame, buffer: &mut Buffer) -> Packed {
        let pcomp = self.of(Kind::Protocol, way.nsapi).map_or(0, |entity| entity.compress_header(frame));
        let data = self.of(Kind::Data, way.nsapi).and_then(|entity| entity.compress_data(way, frame, buffer));
        let (dcomp, in_buffer) = data.map_or((0, None), |(dcomp, len)| (dcomp, Some(len)));
        Packed { compression: Compression { dcomp, pcomp }, in_buffer }
    }

    /// Restores an N-PDU that came as `octets` in `frame`, which is empty.
    pub(super) fn restore(
        &mut self,
        way: Way,
        compression: Compression,
        octets: &[u8],
        frame: &mut Frame,
    ) -> Result<(), Drop> {
        let mut buffer = [0; N_PDU_MAX];
        let octets = if compression.dcomp == 0 {
            octets
        } else {
            let entity = self.of(Kind::Data, way.nsapi).ok_or(Drop::SndcpCompressed)?;
            let len = entity.restore_data(way, compression.dcomp, octets, &mut buffer)?;
            buffer.get(..len).unwrap_or_default()
        };
        if octets.len() > N_PDU_MAX {
            return Err(Drop::SndcpTooLong);
        }
        if !frame.append(octets) {
            return Err(Drop::SndcpNoRoom);
        }
        if compression.pcomp != 0 {
            let entity = self.of(Kind::Protocol, way.nsapi).ok_or(Drop::SndcpCompressed)?;
            entity.restore_header(compression.pcomp, frame)?;
        }
        if frame.is_empty() { Err(Drop::SndcpEmpty) } else { Ok(()) }
    }
}

impl Entity {
    /// PCOMP of what the frame holds then.
    fn compress_header(&mut self, frame: &mut Frame) -> u8 {
        match (self.agreed, &mut self.coder) {
            (Agreed::Rfc1144 { pcomps, s0_minus_1 }, Coder::Rfc1144 { sent, .. }) => {
                let compressor = sent.get_or_insert_with(|| rfc1144::Compressor::new(s0_minus_1));
                compressor.compress(frame).pcomp(pcomps)
            }
            (
                Agreed::Rfc1144 { .. } | Agreed::V42bis { .. },
                Coder::Rfc1144 { .. } | Coder::V42bis { .. },
            ) => 0,
        }
    }

    fn restore_header(&mut self, pcomp: u8, frame: &mut Frame) -> Result<(), Drop> {
        let (Agreed::Rfc1144 { pcomps, s0_minus_1 }, Coder::Rfc1144 { received, .. }) =
            (self.agreed, &mut self.coder)
        else {
            return Err(Drop::SndcpCompressed);
        };
        let packet_type = PacketType::of(pcomp, pcomps).ok_or(Drop::SndcpCompressed)?;
        let decompressor = received.get_or_insert_with(|| rfc1144::Decompressor::new(s0_minus_1));
        decompressor.decompress(packet_type, frame).map_err(|_| Drop::SndcpBadCompression)
    }

    /// DCOMP, and how many octets stand in the buffer; `None` where the N-PDU goes as it is.
    fn compress_data(&mut self, way: Way, n_pdu: &[u8], buffer: &mut Buffer) -> Option<(u8, usize)> {
        let (Agreed::V42bis { dcomp, limits }, Coder::V42bis { sent, .. }) = (self.agreed, &mut self.coder)
        else {
            return None;
        };
        let compressor = prepared(sent, limits, limits.p0 & sent_by(way.role), v42bis::Compressor::new)?;
        let len = if way.acknowledged {
            compressor.compress(n_pdu, &mut buffer.0).ok()
        } else {
            compressor.compress_alone(n_pdu, &mut buffer.0).ok().flatten()
        };
        len.map(|len| (dcomp, len))
    }

    fn restore_data(&mut self, way: Way, dcomp: u8, octets: &[u8], out: &mut [u8]) -> Result<usize, Drop> {
        let (Agreed::V42bis { dcomp: agreed, limits }, Coder::V42bis { received, .. }) =
            (self.agreed, &mut self.coder)
        else {
            return Err(Drop::SndcpCompressed);
        };
        // What the peer sends: the other of the two bits.
        let direction = limits.p0 & !sent_by(way.role);
        let decompressor = prepared(received, limits, direction, v42bis::Decompressor::new)
            .filter(|_| dcomp == agreed)
            .ok_or(Drop::SndcpCompressed)?;
        let len = if way.acknowledged {
            decompressor.decompress(octets, out)
        } else {
            decompressor.decompress_alone(octets, out)
        };
        len.map_err(|_| Drop::SndcpBadCompression)
    }
}

/// The bit of P0 that stands for what an end sends.
const fn sent_by(role: LlcRole) -> u8 {
    match role {
        LlcRole::Ms => V42bis::P0_MS,
        LlcRole::Sgsn => V42bis::P0_SGSN,
    }
}

/// A coder of V.42bis, made with its first use; `None` in a direction that is not compressed.
fn prepared<T>(
    coder: &mut Option<T>,
    limits: V42bisLimits,
    direction: u8,
    new: impl FnOnce(v42bis::Parameters) -> T,
) -> Option<&mut T> {
    if direction == 0 {
        return None;
    }
    if coder.is_none() {
        *coder = v42bis::Parameters::new(limits.p1, limits.p2).map(new);
    }
    coder.as_mut()
}

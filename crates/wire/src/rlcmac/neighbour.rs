//! Messages of network-assisted cell change: the network sends a mobile what another cell broadcasts, and lets it go there (44.060
//! clauses 8.8, 11.2.2a and 11.2.9e). They are of release 4. What the mobile says before stands in [`super::uplink`].

use super::bcch::SystemInformation3;
use super::cell::BLOCK_LEN;
use super::csn::{BitReader, BitWriter, Csn, sequence};
use super::element::GlobalTfi;
use super::value::{Arfcn, Bsic, ContainerId, ContainerIndex, PageMode};
use crate::error::{DecodeError, DecodeErrorKind};

/// Octets of a block of the BCCH that stand before the message type: L2 pseudo length, and protocol discriminator with skip indicator.
const BEFORE_TYPE: usize = 2;
/// CD_LENGTH of a message that goes on in the next instance.
const CONTINUES: u64 = 31;
/// Bits in front of the containers, with the message type and without the name of a cell: 6 + 2 + 1 + 6 + 2 + 1 + 5 + 1.
const HEAD_BITS: usize = 24;
/// Bits of the name of a cell.
const CELL_BITS: usize = 16;
/// Octets of a control block that a message has.
const MESSAGE_OCTETS: usize = 22;

/// A cell by its BCCH and its colour codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CellName {
    /// BCCH of the cell.
    pub arfcn: Arfcn,
    /// Colour codes of the cell.
    pub bsic: Bsic,
}
sequence!(CellName, "ARFCN and BSIC": arfcn, bsic);

/// PACKET CELL CHANGE CONTINUE (clause 11.2.2a): the mobile may go.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketCellChangeContinue {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// One of the mobile's TBFs.
    pub tfi: GlobalTfi,
    /// The cell of which PACKET NEIGHBOUR CELL DATA has told, where that did not name it.
    pub told: Option<ToldCell>,
}
sequence!(PacketCellChangeContinue, "Packet Cell Change Continue": page_mode, "0", tfi, told);

/// A cell, and the container that has its system information (clause 11.2.2a).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ToldCell {
    /// The cell.
    pub cell: CellName,
    /// The container.
    pub container: ContainerId,
}
sequence!(ToldCell, "ID": cell, container);

/// PACKET NEIGHBOUR CELL DATA (clause 11.2.9e): one instance of up to 32.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PacketNeighbourCellData {
    /// What idle mobiles of the group do.
    pub page_mode: PageMode,
    /// One of the mobile's TBFs.
    pub tfi: GlobalTfi,
    /// All instances about one cell have the same.
    pub container: ContainerId,
    /// The place of the instance, from 0.
    pub index: ContainerIndex,
    /// The cell; it may stand in PACKET CELL CHANGE CONTINUE instead.
    pub cell: Option<CellName>,
    /// Parts of messages.
    pub parts: ContainerParts,
}
sequence!(
    PacketNeighbourCellData, "Packet Neighbour Cell Data":
    page_mode, "0", tfi, container, "0", index, cell, parts,
);

/// A part of a message of the BCCH, from its message type on (clause 11.2.9e).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ContainerPart {
    /// PD, 3 bits: 0 for messages of the BCCH, 1 for those of the PBCCH.
    pub discriminator: u8,
    /// Its octets. The last part of a message has 1 to 30.
    pub octets: Vec<u8>,
    /// The message goes on in the next instance. Nothing follows in this one.
    pub continues: bool,
}

/// Parts of messages in their order (clause 11.2.9e).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ContainerParts(pub Vec<ContainerPart>);

impl Csn for ContainerParts {
    const NAME: &'static str = "Container repetition struct";

    fn read(bits: &mut BitReader<'_>) -> Result<Self, DecodeError> {
        let mut parts = Vec::new();
        while bits.remaining() >= 8 {
            let discriminator = u8::try_from(bits.take(3, "PD")?).unwrap_or(0);
            let length = bits.take(5, "CD_LENGTH")?;
            let continues = length == CONTINUES;
            let count = match length {
                0 => break,
                CONTINUES => bits.remaining() / 8,
                length => usize::try_from(length).unwrap_or(0),
            };
            let octet = |_| bits.take(8, "CONTAINER_DATA").map(|octet| u8::try_from(octet).unwrap_or(0));
            let octets = (0..count).map(octet).collect::<Result<Vec<_>, _>>()?;
            parts.push(ContainerPart { discriminator, octets, continues });
            if continues {
                break;
            }
        }
        Ok(Self(parts))
    }

    fn write(&self, bits: &mut BitWriter<'_>) {
        for part in &self.0 {
            bits.put(u64::from(part.discriminator & 0x07), 3);
            bits.put(if part.continues { CONTINUES } else { part.octets.len().min(30) as u64 }, 5);
            part.octets.iter().for_each(|octet| bits.put(u64::from(*octet), 8));
        }
        // Nothing more: spare bits, and a length of zero where there is room for them.
        if self.0.last().is_none_or(|part| !part.continues) && !bits.is_full() {
            bits.put(0, 8);
        }
    }
}

/// All instances that tell a mobile of these blocks of a neighbour's BCCH. `None` where they are more than 32 take.
#[must_use]
pub fn instances(
    tfi: GlobalTfi,
    cell: CellName,
    container: ContainerId,
    blocks: &[[u8; BLOCK_LEN]],
) -> Option<Vec<PacketNeighbourCellData>> {
    // SI messages have 21 octets from their type on, and each part has one in front.
    let room = MESSAGE_OCTETS - (HEAD_BITS + CELL_BITS) / 8;
    let mut all: Vec<Vec<ContainerPart>> = vec![Vec::new()];
    let mut left = room;
    for block in blocks {
        let mut octets = block.get(BEFORE_TYPE..)?;
        while !octets.is_empty() {
            if left < 2 {
                all.push(Vec::new());
                left = room;
            }
            let continues = octets.len() > left - 1;
            let (now, then) = octets.split_at(octets.len().min(left - 1));
            all.last_mut()?.push(ContainerPart { discriminator: 0, octets: now.to_vec(), continues });
            left -= 1 + now.len();
            octets = then;
        }
    }
    let message = |(index, parts): (u8, Vec<ContainerPart>)| {
        let index = ContainerIndex::new(index)?;
        let (cell, parts) = (Some(cell), ContainerParts(parts));
        Some(PacketNeighbourCellData { page_mode: PageMode::Normal, tfi, container, index, cell, parts })
    };
    (0..).zip(all).map(message).collect()
}

/// Blocks of a neighbour's BCCH out of all instances about it, in the order of their indices.
///
/// # Errors
/// `OutOfSequence` where an instance is missing or a message does not end, `BadValue` where a message is longer than a block.
pub fn blocks(instances: &[PacketNeighbourCellData]) -> Result<Vec<[u8; BLOCK_LEN]>, DecodeError> {
    let error = |kind| DecodeError::new("CONTAINER_INDEX", 0, kind);
    let mut blocks = Vec::new();
    let mut open: Option<Vec<u8>> = None;
    for (instance, index) in instances.iter().zip(0..) {
        if instance.index.get() != index {
            return Err(error(DecodeErrorKind::OutOfSequence));
        }
        for part in &instance.parts.0 {
            let mut octets = open.take().unwrap_or_default();
            octets.extend(&part.octets);
            if part.continues {
                open = Some(octets);
                continue;
            }
            let head = SystemInformation3::HEAD;
            let mut block = [super::csn::PADDING; BLOCK_LEN];
            let count = u32::try_from(octets.len()).unwrap_or(u32::MAX);
            let (front, body) = block.split_at_mut(BEFORE_TYPE);
            front.copy_from_slice(&head);
            let place =
                body.get_mut(..octets.len()).ok_or_else(|| error(DecodeErrorKind::BadValue(count)))?;
            place.copy_from_slice(&octets);
            blocks.push(block);
        }
    }
    if open.is_some() {
        return Err(error(DecodeErrorKind::OutOfSequence));
    }
    Ok(blocks)
}

#[cfg(test)]
mod tests {
    use super::super::bcch::{ControlChannel, RachParameters};
    use super::super::control::DownlinkControlBlock;
    use super::super::control::DownlinkControlHeader;
    use super::super::downlink::DownlinkMessage;
    use super::super::value::{Tfi, Usf};
    use super::*;
    use crate::id::{Plmn, Rai};

    fn sent() -> Vec<[u8; BLOCK_LEN]> {
        let rach =
            RachParameters { max_retrans: 7, tx_integer: 12, is_barred: false, barred_classes: 0x0400 };
        let rai = Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: 0 };
        let control = ControlChannel::of_octets([0x49, 0x03, 0x05]);
        let si3 = SystemInformation3::new(rai, 6969, control, rach).emit().unwrap();
        let mut si13 = [0x2b; BLOCK_LEN];
        si13[..4].copy_from_slice(&[0x49, 0x06, 0x00, 0x90]);
        vec![si3, si13]
    }

    fn all() -> Vec<PacketNeighbourCellData> {
        let cell = CellName { arfcn: Arfcn::lowest(871), bsic: Bsic::lowest(0o35) };
        instances(GlobalTfi::Downlink(Tfi::lowest(5)), cell, ContainerId::lowest(2), &sent()).unwrap()
    }

    #[test]
    fn blocks_of_a_neighbour_come_back_out_of_control_blocks() {
        let header = DownlinkControlHeader { usf: Usf::lowest(7), poll: None, optional: None };
        let over_the_air = |instance: &PacketNeighbourCellData| {
            let message = DownlinkMessage::from(instance.clone());
            let octets = DownlinkControlBlock { header, message }.emit().expect("each fits");
            match DownlinkControlBlock::parse(&octets).unwrap().message {
                DownlinkMessage::NeighbourCellData(came) => came,
                other => panic!("{other:?}"),
            }
        };
        let sent_instances = all();
        assert_eq!(sent_instances.len(), 3, "44 octets, of which an instance has 17");
        let came: Vec<_> = sent_instances.iter().map(over_the_air).collect();
        assert_eq!(came, sent_instances);
        assert_eq!(blocks(&came), Ok(sent()));
    }

    #[test]
    fn an_instance_that_is_missing_is_an_error() {
        let all = all();
        assert!(blocks(&all[1..]).is_err() && blocks(&all[..2]).is_err());
        let swapped = [all[1].clone(), all[0].clone(), all[2].clone()];
        assert!(blocks(&swapped).is_err());
        assert_eq!(blocks(&[]), Ok(vec![]));
    }
}

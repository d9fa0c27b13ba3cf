//! Changes of cell: what each was, what it cost, and the records that prove it.
//!
//! On Gb the cell stands in each UL-UNITDATA: any LL-PDU of the mobile in another cell is a cell update (03.60 clause 6.9.1
//! [23.060]), and a ROUTING AREA UPDATE REQUEST there makes it one with a routing area update. On the radio the frequency tells the cells
//! apart, in the blocks that name the mobile. What was sent to the old cell after the mobile was heard there last may be lost; a
//! FLUSH-LL moves it or deletes it (08.18 clause 8.1 [48.018]).

mod cells;
pub mod report;
mod tcp;

pub use cells::{At, Cell, Name};
pub use report::{Report, Reselection};

use crate::join::aliases::Aliases;
use crate::record::{
    BlockContents, BssgpPdu, BssgpWhat, Direction, Fcs, Layer3, LlPdu, RadioBlock, Record, Seen,
};
use crate::tcp::report::ConnectionReport;
use cells::{Numbers, Travel};
use gannet_wire::id::Sapi;
use gannet_wire::l3::{GmmMessage, L3Message};
use report::{Ending, Flush, Type};
use std::collections::HashMap;

/// Mobiles at places that are followed.
const TRAVELS_MAX: usize = 100_000;
/// Changes of cell that are remembered.
const RESELECTIONS_MAX: usize = 20_000;
/// Connections whose mobile is remembered.
const CONNECTIONS_MAX: usize = 100_000;
/// A routing area update and a FLUSH-LL belong to the change of cell so long before them.
const BELONGS_NS: u64 = 15_000_000_000;

type Table<K, V> = HashMap<K, V, foldhash::quality::RandomState>;

/// Takes records, and follows mobiles from cell to cell.
#[derive(Debug, Default)]
pub struct Mobility {
    aliases: Aliases,
    travels: Table<(u16, u32), Travel>,
    reselections: Vec<Reselection>,
    /// FLUSH-LLs of mobiles that had not changed their cell.
    strays: Vec<(u32, Flush)>,
    connections: Table<u32, u32>,
    /// The packet of the last record: its place and frame, and whose it is.
    packet: Option<(Seen<()>, u32)>,
    left_out: u64,
}

impl Mobility {
    /// Takes a record; they come in the order of time.
    pub fn take(&mut self, seen: &Seen<Record>) {
        match &seen.what {
            Record::Bssgp(pdu) => self.bssgp(seen, pdu),
            Record::Radio(block) => self.block(seen, block),
            Record::Llc(ll_pdu) => self.llc(seen, ll_pdu),
            Record::Layer3(layer3) => self.layer3(seen, layer3),
            Record::Packet(packet) => {
                self.packet = packet.mobile.map(|mobile| (stripped(seen), mobile));
            }
            Record::Tcp(segment) => {
                if let Some((at, mobile)) = self.packet
                    && at == stripped(seen)
                    && self.connections.len() < CONNECTIONS_MAX
                {
                    self.connections.insert(segment.connection, mobile);
                }
            }
            Record::Ns(_) | Record::Segment(_) | Record::Gtp(_) | Record::Unreadable(_) => {}
        }
    }

    fn travel(&mut self, place: u16, tlli: u32) -> Option<&mut Travel> {
        let key = (place, self.aliases.of(place, tlli));
        if self.travels.len() >= TRAVELS_MAX && !self.travels.contains_key(&key) {
            self.left_out += 1;
            return None;
        }
        Some(self.travels.entry(key).or_default())
    }

    fn bssgp(&mut self, seen: &Seen<Record>, pdu: &BssgpPdu) {
        let Some(tlli) = pdu.tlli else { return };
        match pdu.what {
            BssgpWhat::Unitdata { direction: Direction::Up, cell: Some(octets), .. } => {
                let cell = Cell::of_gb(octets, pdu.bvci);
                self.heard(seen, (tlli, pdu.mobile), cell);
            }
            BssgpWhat::Unitdata { direction: Direction::Down, octets, .. } => {
                let Some(travel) = self.travel(seen.place, tlli) else { return };
                if !travel.sent(seen, pdu.bvci, octets)
                    && let Some(current) = self.current(seen, tlli)
                {
                    current.misdirected_frames += 1;
                    current.last_misdirected = Some((seen.at, seen.proof));
                }
            }
            BssgpWhat::FlushLl { old_bvci, new_bvci } => {
                let flush = Flush { at: seen.at, proof: seen.proof, old_bvci, new_bvci, answer: None };
                self.flush(seen, tlli, flush);
            }
            BssgpWhat::FlushLlAck { is_transferred, octets } => {
                let answer = (seen.at, seen.proof, is_transferred, octets);
                let Some(current) = self.current(seen, tlli) else { return };
                let waits = current.flushes.iter_mut().rev().find(|flush| flush.answer.is_none());
                if let Some(flush) = waits {
                    flush.answer = Some(answer);
                }
            }
            BssgpWhat::Discarded { frames, octets } => {
                if let Some(current) = self.current(seen, tlli) {
                    current.discarded_frames += u64::from(frames);
                    current.discarded_octets += u64::from(octets);
                }
            }
            _ => {}
        }
    }

    fn block(&mut self, seen: &Seen<Record>, block: &RadioBlock) {
        let (BlockContents::Data(data), Direction::Up) = (&block.contents, block.direction) else { return };
        if let Some(tlli) = data.tlli {
            self.heard(seen, (tlli, None), Cell::of_radio(block.arfcn));
        }
    }

    /// The mobile was heard in a cell.
    fn heard(&mut self, seen: &Seen<Record>, (tlli, mobile): (u32, Option<u32>), cell: Cell) {
        let is_full = self.reselections.len() >= RESELECTIONS_MAX;
        let count = self.reselections.len();
        let Some(travel) = self.travel(seen.place, tlli) else { return };
        let at = (seen.at, seen.proof);
        let Some((from, left)) = travel.heard(at, cell) else { return };
        let before = travel.current;
        let (sent, octets, last_sent) = travel.take_sent_late();
        if is_full {
            travel.current = None;
            self.left_out += 1;
            return;
        }
        travel.current = Some(count);
        let went_back = before.and_then(|index| self.reselections.get_mut(index));
        if let Some(last) = went_back.filter(|last| last.from.name == cell.name && last.answered.is_none()) {
            last.kind = Type::Failed;
            last.ending = Ending::WentBack;
        }
        self.reselections.push(Reselection {
            place: seen.place,
            mobile,
            tlli,
            from,
            to: cell,
            left,
            arrived: at,
            kind: Type::CellUpdate,
            ending: Ending::Stayed,
            update: None,
            answered: None,
            resumed: None,
            late_frames: sent,
            late_octets: octets,
            last_late: last_sent,
            misdirected_frames: 0,
            last_misdirected: None,
            lost_up: 0,
            doubled_up: 0,
            discarded_frames: 0,
            discarded_octets: 0,
            flushes: Vec::new(),
            tcp: None,
        });
    }

    /// The change of cell to which something of this mobile belongs.
    fn current(&mut self, seen: &Seen<Record>, tlli: u32) -> Option<&mut Reselection> {
        let index = self.travels.get(&(seen.place, self.aliases.of(seen.place, tlli)))?.current?;
        let current = self.reselections.get_mut(index)?;
        (seen.at.0.saturating_sub(current.arrived.0.0) <= BELONGS_NS).then_some(current)
    }

    fn flush(&mut self, seen: &Seen<Record>, tlli: u32, flush: Flush) {
        if let Some(current) = self.current(seen, tlli) {
            if current.flushes.len() < report::FLUSHES_MAX {
                current.flushes.push(flush);
            }
        } else if self.strays.len() < RESELECTIONS_MAX {
            self.strays.push((tlli, flush));
        } else {
            self.left_out += 1;
        }
    }

    fn llc(&mut self, seen: &Seen<Record>, ll_pdu: &LlPdu) {
        let Some(tlli) = ll_pdu.tlli else { return };
        let at = (seen.at, seen.proof);
        let is_user = ll_pdu.header.is_some_and(|header| {
            matches!(header.sapi, Sapi::DATA3 | Sapi::DATA5 | Sapi::DATA9 | Sapi::DATA11)
        });
        let is_up = ll_pdu.direction == Direction::Up;
        let bvci = ll_pdu.bvci;
        let is_readable = ll_pdu.fcs != Fcs::Wrong;
        let Some(travel) = self.travel(seen.place, tlli) else { return };
        if is_up {
            travel.touch(at);
        }
        let numbers = match ll_pdu.header.filter(|_| is_up && is_readable) {
            Some(header) => travel.number(&header),
            None => Numbers::default(),
        };
        let is_here = bvci.is_none_or(|bvci| travel.bvci() == Some(bvci));
        let Some(current) = self.current(seen, tlli) else { return };
        if !is_here || seen.proof == current.left.1 {
            return;
        }
        if !is_up {
            current.answered.get_or_insert(at);
        }
        if is_user && is_readable {
            current.resumed.get_or_insert(at);
        }
        if numbers.is_first {
            current.lost_up += u64::from(numbers.missing);
            current.doubled_up += u64::from(numbers.is_again);
        }
    }

    fn layer3(&mut self, seen: &Seen<Record>, layer3: &Layer3) {
        let Some(tlli) = layer3.tlli else { return };
        self.aliases.learn(seen.place, tlli, &layer3.message);
        let at = (seen.at, seen.proof);
        let mobile = layer3.mobile;
        let Some(current) = self.current(seen, tlli) else { return };
        current.mobile = current.mobile.or(mobile);
        let L3Message::Gmm(message) = &*layer3.message else { return };
        match message {
            GmmMessage::RauRequest(_) if current.update.is_none() => {
                current.kind = Type::WithUpdate;
                current.update = Some(report::Update { request: at, answer: None, is_accepted: false });
            }
            GmmMessage::RauAccept(_) | GmmMessage::RauReject(_) => {
                let is_accepted = matches!(message, GmmMessage::RauAccept(_));
                let Some(update) = current.update.as_mut().filter(|update| update.answer.is_none()) else {
                    return;
                };
                (update.answer, update.is_accepted) = (Some(at), is_accepted);
                if !is_accepted {
                    (current.kind, current.ending) = (Type::Failed, Ending::Refused);
                }
            }
            _ => {}
        }
    }

    /// What is known at the end, with what TCP made of it. `one` gives the mobile that an index stands for.
    #[must_use]
    pub fn finish(mut self, connections: &[ConnectionReport], one: impl Fn(u32) -> u32) -> Report {
        let mut of: Table<u32, Vec<&ConnectionReport>> = Table::default();
        for connection in connections {
            if let Some(mobile) = self.connections.get(&connection.connection) {
                of.entry(one(*mobile)).or_default().push(connection);
            }
        }
        for reselection in &mut self.reselections {
            if reselection.update.is_some_and(|update| update.answer.is_none()) {
                (reselection.kind, reselection.ending) = (Type::Failed, Ending::Unanswered);
            }
            let connections = reselection.mobile.and_then(|mobile| of.get(&one(mobile)));
            reselection.tcp = connections.and_then(|all| tcp::effect(reselection, all));
        }
        self.reselections.sort_by_key(|it| it.arrived);
        Report { reselections: self.reselections, strays: self.strays, left_out: self.left_out }
    }
}

const fn stripped(seen: &Seen<Record>) -> Seen<()> {
    Seen { at: seen.at, proof: seen.proof, place: seen.place, what: () }
}

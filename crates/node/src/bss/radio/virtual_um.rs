//! A radio with RLC/MAC whose mobiles are elsewhere: the PCU of each cell, and an air that datagrams carry
//! ([`gannet_proto::rlcmac::on_air`]).
//!
//! The BSS knows of a mobile what it sends. A TLLI that was not heard before gets a slot of its own, and so a mobile whose TLLI
//! changes has two of them for a time: the one that was used longest ago gives way. Downlink an LL-PDU has arrived when RLC
//! has acknowledged it; the mobile has it, and nobody here.

use super::rlcmac::{
    RlcMacConfig, Weights, carried, channels, drain_of, loss_cause, measured_mobiles_of, pending,
};
use super::{
    Amount, CellDrain, Channels, Claim, Drain, Indication, Page, Paging, Pending, Radio, RadioConfig,
    Urgency, Way,
};
use foldhash::fast::FixedState;
use gannet_machine::frame::Frame;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::{Context, Peer};
use gannet_proto::rlcmac::air::{AirCounts, Fate};
use gannet_proto::rlcmac::broadcast::Information;
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::network::Pcu;
use gannet_proto::rlcmac::network_side::NetworkSide;
use gannet_proto::rlcmac::on_air::Transmission;
use gannet_wire::DecodeError;
use gannet_wire::id::{CellId, Imsi, Tlli};
use std::collections::HashMap;

/// Level that mobiles read in the header where nothing is lost, and with a C/I of 0 dB.
const LEVEL_DBM: i8 = -50;
const FLOOR_DBM: f64 = -100.0;

/// What the air of all cells is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VirtualUmConfig {
    /// RLC/MAC and the channel, which is thrown for what is received here.
    pub rlcmac: RlcMacConfig,
    /// The carrier of the first cell; each cell has the next one.
    pub arfcn: u16,
    /// Where the cells' transmissions go.
    pub downlink: Peer,
}

/// Who was heard by a TLLI, or was sent to.
#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The one used last, and the one before.
    tllis: [Option<Tlli>; 2],
    used: Instant,
}

/// The radios of all cells.
#[derive(Debug)]
pub struct VirtualUm {
    cells: Vec<NetworkSide>,
    downlink: Peer,
    weights: Weights,
    slots: Vec<Slot>,
    slots_max: u32,
    by_tlli: HashMap<Tlli, u32, FixedState>,
}

impl VirtualUm {
    /// Cells with these names and octets that may wait downlink in each, for up to so many TLLIs. `None` where the options of
    /// the cells have no code.
    #[must_use]
    pub fn new(
        config: &VirtualUmConfig,
        cells: impl IntoIterator<Item = (CellId, u64)>,
        slots_max: u32,
    ) -> Option<Self> {
        let RlcMacConfig { network, options, channel, .. } = config.rlcmac;
        // Mobiles that do not read of it end their TBFs.
        let options = CellOptions { extended_uplink: Duration::ZERO, ..options };
        let level = channel.c_over_i_db.map_or(LEVEL_DBM, level_of);
        let cell = |((id, queue_octets), place): ((CellId, u64), u16)| {
            let uplink_classes = config.rlcmac.weights.uplink();
            let network = NetworkConfig { queue_octets, uplink_classes, is_apart: true, ..network };
            let arfcn = config.arfcn.saturating_add(place);
            let options = CellOptions { arfcn, ..options };
            let information = Information::new(id, &options)?;
            let heard = (channel.capture, channel.link());
            Some(NetworkSide::new(Pcu::new(network, options), (arfcn, level), information, heard))
        };
        Some(Self {
            cells: cells.into_iter().zip(0..).map(cell).collect::<Option<_>>()?,
            downlink: config.downlink,
            weights: config.rlcmac.weights,
            slots: Vec::new(),
            slots_max: slots_max.max(1),
            by_tlli: HashMap::with_hasher(FixedState::with_seed(0)),
        })
    }

    /// What happened on the air of a cell.
    #[must_use]
    pub fn air_counts(&self, cell: u32) -> Option<AirCounts> {
        self.cells.get(cell as usize).map(NetworkSide::counts)
    }

    /// The slot of a TLLI, which is used now.
    fn slot_of(&mut self, now: Instant, tlli: Tlli) -> u32 {
        let known = self.by_tlli.get(&tlli).copied();
        let slot = known.unwrap_or_else(|| self.free_slot());
        self.name(slot, tlli);
        if let Some(state) = self.slots.get_mut(slot as usize) {
            state.used = now;
        }
        slot
    }

    /// A slot that nobody has, or the one that was used longest ago.
    fn free_slot(&mut self) -> u32 {
        let count = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        if count < self.slots_max {
            self.slots.push(Slot { tllis: [None; 2], used: Instant::ZERO });
            return count;
        }
        let oldest = (0_u32..).zip(&mut self.slots).min_by_key(|(_, slot)| slot.used);
        let Some((slot, state)) = oldest else { return 0 };
        for tlli in core::mem::take(&mut state.tllis).into_iter().flatten() {
            self.by_tlli.remove(&tlli);
        }
        slot
    }

    /// Whoever has a slot is also known by this TLLI.
    fn name(&mut self, slot: u32, tlli: Tlli) {
        let Some(state) = self.slots.get_mut(slot as usize) else { return };
        let [current, former] = state.tllis;
        if current == Some(tlli) {
            return;
        }
        if let Some(former) = former.filter(|former| *former != tlli)
            && self.by_tlli.get(&former) == Some(&slot)
        {
            self.by_tlli.remove(&former);
        }
        state.tllis = [Some(tlli), current];
        self.by_tlli.insert(tlli, slot);
    }
}

fn level_of(c_over_i_db: f64) -> i8 {
    let level = (FLOOR_DBM + c_over_i_db).clamp(-127.0, -1.0).round();
    // It is within the range of an octet.
    (-127..0).min_by_key(|whole| (f64::from(*whole) - level).abs().to_bits()).unwrap_or(LEVEL_DBM)
}

impl Radio for VirtualUm {
    /// Downlink alone: uplink the mobiles send by themselves.
    fn request(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        pdu: Pending,
        claim: Claim,
    ) -> Result<(), Pending> {
        let Some(state) = self.cells.get_mut(cell as usize).filter(|_| way == Way::Downlink) else {
            return Err(pdu);
        };
        let (mobile, tlli) = (pdu.mobile, pdu.tlli);
        let class = self.weights.class(pdu.urgency);
        let taken = state.pcu_mut().request(carried(pdu), class, claim == Claim::New).map_err(pending);
        state.touched(now);
        // The SGSN gives the mobile this name: by it the mobile is the same.
        self.name(mobile, tlli);
        taken
    }

    /// All of it is told as the downlink's: what came uplink then lies ready.
    fn next_event(&self, cell: u32, way: Way) -> Option<Instant> {
        let state = self.cells.get(cell as usize)?;
        match way {
            Way::Downlink if state.has_fate() => Some(Instant::ZERO),
            Way::Downlink => state.next_event(),
            Way::Uplink => state.has_from_mobile().then_some(Instant::ZERO),
        }
    }

    fn indication(&mut self, cx: &mut Context<'_>, cell: u32, way: Way) -> Option<Indication> {
        let state = self.cells.get_mut(cell as usize)?;
        state.run(cx);
        if way == Way::Downlink {
            return Some(match state.pop_fate()? {
                Fate::Arrived(pdu) => Indication::Arrived(pending(pdu)),
                Fate::Lost(pdu, loss) => Indication::Lost { pdu: pending(pdu), cause: loss_cause(loss) },
            });
        }
        let came = state.pop_from_mobile()?;
        let mobile = self.slot_of(cx.now, came.tlli);
        let (expires, urgency) = (Instant(u64::MAX), Urgency::default());
        let pdu = Pending { mobile, tlli: came.tlli, expires, urgency, frame: came.frame };
        Some(Indication::Arrived(pdu))
    }

    fn waiting(&self, cell: u32, way: Way) -> Amount {
        let Some(state) = self.cells.get(cell as usize).filter(|_| way == Way::Downlink) else {
            return Amount::default();
        };
        let (frames, octets) = state.pcu().waiting();
        Amount { frames, octets }
    }

    fn drain(&self, now: Instant, cell: u32) -> Option<CellDrain> {
        self.cells.get(cell as usize).map(|state| drain_of(state.pcu(), now))
    }

    fn measured_mobiles(&self, now: Instant, cell: u32, out: &mut dyn FnMut(u32, Drain)) {
        if let Some(state) = self.cells.get(cell as usize) {
            measured_mobiles_of(state.pcu(), now, out);
        }
    }

    fn leave(&mut self, now: Instant, cell: u32, mobile: u32, out: &mut dyn FnMut(Way, Pending)) {
        if let Some(state) = self.cells.get_mut(cell as usize) {
            state.forget_mobile(now, mobile, |pdu| out(Way::Downlink, pending(pdu)));
        }
    }

    fn take_waiting(
        &mut self,
        now: Instant,
        cell: u32,
        way: Way,
        mobile: Option<u32>,
        out: &mut dyn FnMut(Pending),
    ) {
        if let (Some(state), Way::Downlink) = (self.cells.get_mut(cell as usize), way) {
            state.pcu_mut().take_waiting(mobile, |pdu| out(pending(pdu)));
            state.touched(now);
        }
    }

    /// Suspension is said on a dedicated channel, of which there is none here.
    fn set_suspended(&mut self, _: Instant, _: u32, _: bool) {}

    /// Slots and coding are its rate; of the rest, the room downlink counts.
    fn reconfigure(&mut self, _: Instant, cell: u32, way: Way, config: RadioConfig) {
        if let (Some(state), Way::Downlink) = (self.cells.get_mut(cell as usize), way) {
            let network = NetworkConfig { queue_octets: config.queue_octets, ..*state.pcu().config() };
            state.pcu_mut().reconfigure(network);
        }
    }

    fn hold_channels(&mut self, now: Instant, cell: u32, timeslots: u8) -> bool {
        let Some(state) = self.cells.get_mut(cell as usize) else { return false };
        state.pcu_mut().hold_channels(now, timeslots);
        state.touched(now);
        true
    }

    fn channels(&self, cell: u32) -> Option<Channels> {
        Some(channels(self.cells.get(cell as usize)?.pcu()))
    }

    fn has_mobiles(&self) -> bool {
        false
    }

    fn hear(&mut self, now: Instant, octets: &[u8]) -> Result<Option<u32>, DecodeError> {
        let Some(heard) = Transmission::parse(octets)?.filter(|heard| heard.is_uplink) else {
            return Ok(None);
        };
        let mut cells = (0_u32..).zip(&mut self.cells);
        let here = cells.find(|(_, cell)| cell.arfcn() == heard.arfcn);
        Ok(here.map(|(cell, state)| {
            state.hear(now, &heard);
            cell
        }))
    }

    fn pop_sent(&mut self) -> Option<(Peer, Frame)> {
        let frame = self.cells.iter_mut().find_map(NetworkSide::pop_sent)?;
        Some((self.downlink, frame))
    }

    fn page(&mut self, now: Instant, cell: u32, page: Page, imsi: Imsi) -> Paging {
        let Some(state) = self.cells.get_mut(cell as usize) else { return Paging::NoChannel };
        let is_taken = state.pcu_mut().page(page, &imsi);
        state.touched(now);
        if is_taken { Paging::Taken } else { Paging::Full }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gannet_machine::Surroundings;
    use gannet_machine::trace::Quiet;
    use gannet_wire::rlcmac::coding::CodingScheme;

    fn config() -> VirtualUmConfig {
        let rlcmac = RlcMacConfig::new(NetworkConfig::new(0b1111_0000, CodingScheme::Cs2));
        VirtualUmConfig { rlcmac, arfcn: 871, downlink: Peer::Link }
    }

    #[test]
    fn a_slot_has_two_names_and_the_oldest_slot_gives_way() {
        let mut radio = VirtualUm::new(&config(), [(CellId::default(), 50_000)], 2).unwrap();
        let mut slot = |at: u64, tlli: u32| radio.slot_of(Instant(at), Tlli(tlli));
        assert_eq!([slot(1, 10), slot(2, 20), slot(3, 10), slot(4, 20)], [0, 1, 0, 1]);
        assert_eq!(
            [slot(5, 30), slot(6, 20), slot(7, 10)],
            [0, 1, 0],
            "10 is somebody new, as 30 is the oldest"
        );
        radio.name(1, Tlli(21));
        assert_eq!([radio.slot_of(Instant(8), Tlli(20)), radio.slot_of(Instant(9), Tlli(21))], [1, 1]);
        radio.name(1, Tlli(22));
        let mut names: Vec<u32> = radio.by_tlli.keys().map(|tlli| tlli.0).collect();
        names.sort_unstable();
        assert_eq!(names, [10, 21, 22]);
    }

    /// What it tells the SGSN is what its PDCHs carry, until a backlog was drained. The mobile of this one says nothing: its own rate is that of
    /// nobody.
    #[test]
    fn it_drains_what_its_pdchs_carry_and_a_silent_mobile_nothing() {
        let mut around = Surroundings::new(1, 64, Quiet::default());
        let mut radio = VirtualUm::new(&config(), [(CellId::default(), 50_000)], 2).unwrap();
        assert!(radio.drain(Instant::ZERO, 1).is_none());
        let all = CellDrain {
            cell: Drain { rate_bit_per_s: 48_000, waiting_octets: 0, is_measured: false },
            default_ms_bit_per_s: 36_000,
        };
        assert_eq!(radio.drain(Instant::ZERO, 0), Some(all));
        for _ in 0..20 {
            let (tlli, urgency) = (Tlli(1), Urgency::Normal);
            let (expires, frame) = (Instant(u64::MAX), around.frames.copy_of(&[0x43; 500]).unwrap());
            let pdu = Pending { mobile: 0, tlli, expires, urgency, frame };
            radio.request(Instant::ZERO, 0, Way::Downlink, pdu, Claim::New).unwrap();
        }
        assert_eq!(radio.drain(Instant::ZERO, 0).map(|drain| drain.cell.waiting_octets), Some(10_000));
        let mut told = Vec::new();
        while told.is_empty() {
            let at = radio.next_event(0, Way::Downlink).unwrap().max(around.now);
            assert!(at < Instant(20_000_000_000), "nobody is measured");
            around.now = at;
            while radio.indication(&mut around.context(), 0, Way::Downlink).is_some() {}
            while radio.pop_sent().is_some() {}
            radio.measured_mobiles(at, 0, &mut |mobile, drain| told.push((mobile, drain.is_measured)));
        }
        assert_eq!(told, [(0, true)]);
    }

    #[test]
    fn a_cell_that_cannot_broadcast_its_timers_is_none() {
        let mut wrong = config();
        wrong.rlcmac.options.t3192 = Duration::from_millis(77);
        assert!(VirtualUm::new(&wrong, [(CellId::default(), 50_000)], 2).is_none());
        assert!(VirtualUm::new(&config(), [(CellId::default(), 50_000)], 2).is_some());
    }

    #[test]
    fn levels_are_those_of_the_channel() {
        assert_eq!([0.0, 12.4, 12.6, 300.0, -300.0].map(level_of), [-100, -88, -87, -1, -127]);
    }
}

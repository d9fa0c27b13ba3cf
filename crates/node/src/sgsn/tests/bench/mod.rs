//! Two BSSs with two cells each, phones in them, two GGSNs, and the SGSN in the middle.
//!
//! | file | what |
//! |---|---|
//! | `sent` | what the SGSN sends: decoded and kept in order until a test looks at it |
//! | `bss` | network service and BSSGP of the BSSs |
//! | `phones` | the phones: LLC, GMM and SM |
//! | `ggsns` | GTP of the GGSNs |
//!
//! NS-ALIVE and Echo Requests are answered by themselves.

mod bss;
mod ggsns;
mod phones;
mod sent;

use super::super::*;
pub use super::messages::*;
pub use super::told::Told;
use core::net::{Ipv4Addr, SocketAddr};
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Peer, Surroundings};
use gannet_proto::gmm::Cell;
use gannet_proto::ipa_stream::Splitter;
use gannet_proto::rule_book::RuleBook;
use gannet_wire::id::{Bvci, CellId, Nsei, Plmn, Rai};
use std::collections::VecDeque;

pub use bss::bss;
pub use phones::{Phone, imsi};
pub use sent::{Down, Sent};

pub const FRAMES: usize = 256;
pub const GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 6));
pub const OTHER_GGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7));
pub const SGSN: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 5));
/// The endpoints of a GGSN for NSAPI n: 0x1000 + n for signalling, 0x2000 + n for G-PDUs.
pub const GGSN_CONTROL: u32 = 0x1000;
pub const GGSN_USER: u32 = 0x2000;
pub const NSAPI: Nsapi = Nsapi(5);
pub const CAPABILITY: [u8; 3] = [0x17, 0x52, 0x00];

/// Cells 0 and 1 are of NSE 1, 2 and 3 of NSE 2; all but cell 3 are of one routing area.
pub fn cell(n: usize) -> Cell {
    let (nsei, bvci, rac, ci) = [(1, 2, 1, 10), (1, 3, 1, 11), (2, 2, 1, 20), (2, 3, 2, 21)][n];
    Cell { nsei: Nsei(nsei), bvci: Bvci(bvci), id: CellId { rai: rai(rac), ci } }
}

pub fn rai(rac: u8) -> Rai {
    Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac }
}

pub struct Bench {
    pub around: Surroundings<Told>,
    /// Of the phones.
    pub air: Surroundings<Quiet>,
    pub sgsn: Sgsn,
    pub phones: Vec<Phone>,
    pub sent: VecDeque<Sent>,
    pub events: Vec<SgsnEvent>,
    /// What GGSNs get for control, as it is on the wire, but for Echo Requests.
    pub on_gn: Vec<Vec<u8>>,
    /// What a driver's classifier would know.
    pub rules: RuleBook,
    /// What the HLR gets.
    pub to_hlr: Splitter,
    pub silent_ggsn: bool,
    pub silent_bss: bool,
    pub sequence: u16,
    /// It is not asked for output: what arrives waits.
    pub busy: bool,
    /// What arrives in one turn of the driver.
    turn: Option<Batch<Input<SgsnCommand>>>,
}

impl Bench {
    /// All cells in service; nobody attached. Longer frames than N201-U's default are not asked for unless `change`
    /// says so.
    pub fn new(change: impl FnOnce(&mut SgsnConfig)) -> Self {
        let mut bench = Self::without_bss(change);
        for nsei in [1, 2] {
            bench.start_ns(Nsei(nsei));
            bench.reset_bvc(Nsei(nsei), Bvci::SIGNALLING, None);
        }
        for n in 0..4 {
            bench.reset_bvc(cell(n).nsei, cell(n).bvci, Some(cell(n).id));
        }
        bench.sent.clear();
        bench
    }

    pub fn without_bss(change: impl FnOnce(&mut SgsnConfig)) -> Self {
        let mut config = SgsnConfig {
            mobiles_max: 4,
            cells_max: 8,
            nses_max: 4,
            gtp_address: SGSN,
            restart_counter: 3,
            ggsns: vec![
                GgsnPeer { number: 0, address: GGSN, version: gannet_proto::gtp::Version::V1 },
                GgsnPeer { number: 1, address: OTHER_GGSN, version: gannet_proto::gtp::Version::V1 },
            ],
            n201_u: None,
            held_max: 6,
            held_per_mobile_max: 4,
            reassembly_max: 2,
            ..SgsnConfig::default()
        };
        config.flow.active_ms_max = 16;
        config.flow.pdus_max = 128;
        change(&mut config);
        let mut bench = Self {
            around: Surroundings::new(1, FRAMES, Told::default()),
            air: Surroundings::new(2, FRAMES, Quiet::default()),
            sgsn: Sgsn::new(config, 1),
            phones: (0..6).map(Phone::new).collect(),
            sent: VecDeque::new(),
            events: Vec::new(),
            on_gn: Vec::new(),
            rules: RuleBook::default(),
            to_hlr: Splitter::new(4096),
            silent_ggsn: false,
            silent_bss: false,
            sequence: 0,
            busy: false,
            turn: None,
        };
        bench.order(SgsnCommand::Start);
        bench
    }

    /// The usual SGSN with phone 0 attached in cell 0, and with a context where `active`.
    pub fn attached(active: bool) -> Self {
        Self::attached_with(active, Ingress::Queued)
    }

    pub fn attached_with(active: bool, ingress: Ingress) -> Self {
        let mut bench = Self::new(|config| config.ingress = ingress);
        bench.attach(0);
        if active {
            bench.activate(0, NSAPI);
        }
        bench.events.clear();
        bench
    }

    // ------------------------------------------------------------------------------------------------ in and out

    /// All that `arrivals` gives it arrives in one turn of the driver.
    pub fn in_one_turn(&mut self, arrivals: impl FnOnce(&mut Self)) {
        self.turn = Some(Batch::default());
        arrivals(self);
        let mut inputs = self.turn.take().unwrap_or_default();
        self.inputs(&mut inputs);
    }

    pub fn input(&mut self, input: Input<SgsnCommand>) {
        if let Some(turn) = &mut self.turn {
            turn.push(input);
            return;
        }
        let mut inputs = Batch::default();
        inputs.push(input);
        self.inputs(&mut inputs);
    }

    fn inputs(&mut self, inputs: &mut Batch<Input<SgsnCommand>>) {
        self.sgsn.handle_input(&mut self.around.context(), inputs);
        if !self.busy {
            self.collect();
        }
    }

    /// Takes what the SGSN has to send and to tell.
    pub fn collect(&mut self) {
        let mut outputs = Batch::default();
        loop {
            self.sgsn.poll_output(&mut self.around.context(), &mut outputs);
            self.take_outputs(&mut outputs);
            if !self.sgsn.has_work() {
                break;
            }
        }
        self.assert_rules();
        let each = || self.sgsn.mobiles().filter_map(|(_, mobile)| mobile.sndcp()).map(Unconfirmed::of);
        let all = Unconfirmed {
            links: each().map(|one| one.links).sum(),
            n_pdus: each().map(|one| one.n_pdus).sum(),
            contexts: each().map(|one| one.contexts).sum(),
            octets: each().map(|one| one.octets).sum(),
        };
        assert_eq!(self.sgsn.unconfirmed(), all, "each is counted once");
    }

    /// A driver knows the active contexts, the names of mobiles and the far ends of NS-VCs, and nothing else; a mobile is
    /// blocked there for as long as its queue is full.
    fn assert_rules(&self) {
        assert_eq!(self.rules.keys().collect::<Vec<_>>(), self.sgsn.driver_keys());
        let Some(uplink) = self.sgsn.uplink() else {
            assert_eq!(self.rules, RuleBook::default());
            return;
        };
        let mut vcs: Vec<_> = self.sgsn.gb().ns.vcs().map(|vc| (vc.peer(), vc.nsei())).collect();
        vcs.sort_unstable();
        assert_eq!(self.rules.peers().collect::<Vec<_>>(), vcs);
        for (slot, _) in self.sgsn.mobiles() {
            let owner = self.sgsn.uplink_key(slot).and_then(|key| self.rules.owner(key));
            let blocked = owner.map(|owner| !owner.blocked.is_empty());
            assert!(blocked.is_none_or(|blocked| blocked == uplink.is_blocked(slot)), "{slot:?}");
        }
    }

    pub fn order(&mut self, command: SgsnCommand) {
        self.input(Input::Command(command));
    }

    pub fn datagram(&mut self, port: Port, peer: SocketAddr, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.input(Input::Datagram { port, peer: Peer::Udp(peer), frame });
    }

    /// Time goes on, with all wake-ups on its way.
    pub fn pass(&mut self, span: Duration) {
        let end = self.around.now + span;
        while let Some(at) = self.around.timers.next().filter(|at| *at <= end) {
            self.around.now = at.max(self.around.now);
            let key = self.around.timers.pop_due(self.around.now).unwrap();
            self.input(Input::Timeout(key));
        }
        self.around.now = end;
    }

    pub fn pass_secs(&mut self, secs: u64) {
        self.pass(Duration::from_secs(secs));
    }

    pub fn dropped(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }

    pub fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }

    /// Nothing is left of anybody, and no frame was lost.
    pub fn assert_empty(&self) {
        assert_eq!(self.sgsn.leftovers(), []);
        assert!(self.rules.is_empty(), "{:?}", self.rules);
        assert_eq!(self.around.frames.free(), FRAMES);
    }
}

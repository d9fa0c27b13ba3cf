//! Garbage from the address of a BSS that is known and up, with the mobiles of that BSS attached: 20,000 datagrams of each seed. At
//! each layer in turn what is below it has sense, so that the garbage gets there.

use crate::bench::{Bench, MOBILES, NSEI, bvci, cell_id};
use crate::garbage::{mutated, random_octets};
use crate::octets::{bssgp, bssgp_in, ns as unitdata, sealed, ui, ul_unitdata};
use gannet_machine::drops::Drop;
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_node::bss::{Command as BssCommand, UM};
use gannet_node::ms::MsCommand;
use gannet_node::sgsn::GB;
use gannet_sim::gprs::Node;
use gannet_wire::bssgp::ie::Cause;
use gannet_wire::bssgp::signalling::Status;
use gannet_wire::bssgp::unitdata::UlUnitdata;
use gannet_wire::bssgp::{Message as Bssgp, PduType};
use gannet_wire::id::{Bvci, Nsvci, PTmsi, Sapi, Tlli};
use gannet_wire::ns::{self, Pdu, UNITDATA_HEADER_LEN, Unitdata};

/// Datagrams of one seed.
const DATAGRAMS: u32 = 20_000;
/// In a second.
const DATAGRAMS_PER_S: u32 = 2000;
/// STATUS PDUs of BSSGP, and of NS, that come in a second which begins in the middle of one.
const STATUS_MAX: u32 = 2 * gannet_proto::ns::STATUS_ANSWERS_PER_S;

/// So long it takes at most until all cells are in service again: what is blocked is found by who uses it, an NS-VC that the SGSN has
/// forgotten by its test, and a reset that stayed without answer is made again after a minute.
const HEALING_S: u64 = 180;

struct Garbage {
    dice: Rng,
    /// What the BSS has said while its mobiles attached.
    recorded: Vec<Vec<u8>>,
    /// Of mobiles that are attached.
    tllis: Vec<Tlli>,
    /// What the garbage says it may say as a mobile: frames whose FCS is right, under the TLLI of one, and what one has said.
    impersonates: bool,
}

impl Garbage {
    fn octet(&mut self) -> u8 {
        self.dice.u32().to_be_bytes()[0]
    }

    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.dice.below(of.len() as u64)).unwrap()]
    }

    fn recorded(&mut self) -> Vec<u8> {
        let at = usize::try_from(self.dice.below(self.recorded.len() as u64)).unwrap();
        self.recorded[at].clone()
    }

    fn bvci(&mut self) -> Bvci {
        let any = Bvci(u16::from_be_bytes([self.octet(), self.octet()]));
        self.one_of(&[Bvci::SIGNALLING, Bvci::PTM, bvci(0), bvci(1), any])
    }

    fn tlli(&mut self) -> Tlli {
        let known = self.tllis[usize::try_from(self.dice.below(self.tllis.len() as u64)).unwrap()];
        let any = PTmsi(self.dice.u32());
        let strange = [Tlli::local(any), Tlli::foreign(any), Tlli::random(any.0)];
        if self.impersonates && self.dice.chance(0.5) { known } else { self.one_of(&strange) }
    }

    /// A few octets, the first of which are given.
    fn beginning_with(&mut self, first: &[u8]) -> Vec<u8> {
        let rest = random_octets(&mut self.dice);
        [first, &rest[..rest.len().min(200)]].concat()
    }

    /// Elements with their lengths, as TLV, of any type.
    fn elements(&mut self) -> Vec<u8> {
        let mut octets = Vec::new();
        for _ in 0..self.dice.below(6) {
            let length = self.dice.below(9);
            octets.extend([self.octet() % 0x60, 0x80 | length.to_be_bytes()[7]]);
            (0..length).for_each(|_| octets.push(self.octet()));
        }
        octets
    }

    /// An LL-PDU with the right FCS.
    fn ll_pdu(&mut self) -> Vec<u8> {
        let nu = u16::from_be_bytes([self.octet(), self.octet()]) & 0x1ff;
        match self.dice.below(6) {
            // An address and a control field of any frame.
            0 => {
                let first = [self.octet() & 0x7f, self.octet()];
                let frame = self.beginning_with(&first);
                sealed(&frame)
            }
            // A U frame, as SABM, DISC, UA, DM, FRMR and XID are.
            1 => {
                let sapi = self.one_of(&[1, 3, 5, 9, 11]);
                let first = [sapi, 0xe0 | self.octet() & 0x1f];
                let frame = self.beginning_with(&first);
                sealed(&frame)
            }
            // Messages of GMM and SM: any elements behind a type that there is.
            2 | 3 => {
                let discriminator = self.one_of(&[0x08, 0x0a, 0x8a, 0x1a]);
                let first = [discriminator, self.octet() & 0x5f];
                let message = self.beginning_with(&first);
                ui(Sapi::GMM, nu, &message)
            }
            // SN-PDUs.
            4 => {
                let sapi = self.one_of(&[Sapi::DATA3, Sapi::DATA5, Sapi::DATA9, Sapi::DATA11]);
                let first = [self.octet() & 0xf0 | self.one_of(&[5, 5, 6, 15, 0])];
                let sn_pdu = self.beginning_with(&first);
                ui(sapi, nu, &sn_pdu)
            }
            // What a mobile has said, damaged before it was sealed.
            _ if self.impersonates => loop {
                let datagram = self.recorded();
                let pdu = datagram.get(UNITDATA_HEADER_LEN..).unwrap_or_default();
                if let Ok((_, range)) = UlUnitdata::parse(pdu) {
                    let frame = &pdu[range];
                    return sealed(&mutated(&mut self.dice, &frame[..frame.len() - 3]));
                }
            },
            _ => random_octets(&mut self.dice),
        }
    }

    /// What a BSS may say, but not now.
    fn uncalled_for(&mut self) -> Vec<u8> {
        let (cell, nsvci) = (self.one_of(&[0, 1]), Nsvci(self.one_of(&[201, 202, 203])));
        let (bvci, cause) = (bvci(cell), Cause::OamIntervention);
        let ns_cause =
            self.one_of(&[ns::Cause::NsVcBlocked, ns::Cause::NsVcUnknown, ns::Cause::OamIntervention]);
        let message = match self.dice.below(14) {
            0 => return Pdu::Block { cause: ns_cause, nsvci }.to_vec(),
            1 => return Pdu::BlockAck { nsvci }.to_vec(),
            2 => return Pdu::Unblock.to_vec(),
            3 => return Pdu::UnblockAck.to_vec(),
            4 => return Pdu::Reset { cause: ns_cause, nsvci, nsei: NSEI }.to_vec(),
            5 => return Pdu::ResetAck { nsvci, nsei: NSEI }.to_vec(),
            6 => return Pdu::AliveAck.to_vec(),
            7 => return Pdu::Status(ns::Status { nsvci: Some(nsvci), ..ns::Status::of(ns_cause) }).to_vec(),
            8 => Bssgp::BvcBlock { bvci, cause },
            9 => Bssgp::BvcUnblock { bvci },
            10 => Bssgp::BvcReset { bvci, cause, cell: Some(cell_id(cell)), features: None },
            11 => Bssgp::BvcReset { bvci: Bvci::SIGNALLING, cause, cell: None, features: Some(self.octet()) },
            12 => Bssgp::BvcResetAck { bvci, cell: None, features: None },
            _ => Bssgp::Status(Status::about_pdu(Cause::BvciUnknown, Some(bvci), &[])),
        };
        bssgp(Bvci::SIGNALLING, &message)
    }

    fn datagram(&mut self) -> Vec<u8> {
        if self.dice.chance(0.01) {
            return self.uncalled_for();
        }
        match self.dice.below(10) {
            0 => random_octets(&mut self.dice),
            1 => {
                let first = self.one_of(&[0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16]);
                self.beginning_with(&[first])
            }
            2 => {
                let octets = self.recorded();
                mutated(&mut self.dice, &octets)
            }
            3 => {
                let (bvci, octets) = (self.bvci(), random_octets(&mut self.dice));
                unitdata(bvci, &octets)
            }
            4 => {
                let (bvci, first) = (self.bvci(), self.octet() % 0x60);
                let elements = self.elements();
                unitdata(bvci, &[&[first][..], &elements].concat())
            }
            _ => {
                let (cell, tlli, ll_pdu) = (self.one_of(&[0, 0, 1]), self.tlli(), self.ll_pdu());
                ul_unitdata(cell, tlli, &ll_pdu)
            }
        }
    }
}

impl Bench {
    /// No table is over its limit, and frames are not used up.
    fn assert_limits(&self) {
        let sgsn = &self.world.sgsn.machine;
        let (config, gb) = (sgsn.config(), sgsn.gb());
        let limits = [
            ("mobiles", config.mobiles_max),
            ("names of mobiles", 4 * config.mobiles_max),
            ("PDP contexts", 2 * config.mobiles_max),
            ("N-PDUs held", config.held_max as usize),
            ("N-PDUs in reassembly", config.reassembly_max),
            ("requests to GGSNs", 2 * config.mobiles_max),
            ("updates by GGSNs", 2 * config.mobiles_max),
            ("notifications by GGSNs", config.mobiles_max),
            ("paths to GGSNs", 1),
            ("cells that wait for FLUSH-LL-ACK", config.mobiles_max),
            ("mobiles out of reach", config.mobiles_max),
        ];
        for (table, entries) in sgsn.leftovers() {
            let limit = limits.iter().find(|(name, _)| *name == table);
            assert!(limit.is_none_or(|(_, limit)| entries <= *limit), "{table}: {entries}");
        }
        assert!(gb.ns.nses().count() <= config.nses_max && gb.bvcs.nses().count() <= config.nses_max);
        assert!(gb.ns.vcs().count() <= gb.ns.config().vc_max);
        assert!(gb.bvcs.bvcs().count() <= config.cells_max as usize);
        assert!(self.world.frames.free() > self.world.frames.capacity() / 2, "{}", self.world.frames.free());
    }

    /// STATUS PDUs of BSSGP and of NS since the last call.
    fn statuses(&self) -> [u32; 2] {
        let mut count = [0; 2];
        for sent in self.heard().iter().filter(|sent| sent.node == Node::Sgsn && sent.port == GB) {
            let is_status = matches!(bssgp_in(&sent.octets), Some(Bssgp::Status(_)));
            count[0] += u32::from(is_status);
            count[1] += u32::from(matches!(Pdu::parse(&sent.octets), Ok(Pdu::Status(_))));
        }
        count
    }
}

/// What the BSS has sent since the last call: all of it, or what is not of mobiles.
fn recorded(bench: &Bench, of_mobiles_too: bool) -> Vec<Vec<u8>> {
    let sent = bench.heard().into_iter().filter(|sent| sent.node == Node::Bss && sent.port != UM);
    let is_of_mobile = |octets: &[u8]| {
        Unitdata::is(octets) && PduType::of(&octets[UNITDATA_HEADER_LEN..]) == Some(PduType::UlUnitdata)
    };
    let (of_mobiles, others): (Vec<_>, Vec<_>) =
        sent.map(|sent| sent.octets).partition(|octets| is_of_mobile(octets));
    assert!(of_mobiles.len() > 20 && others.len() > 2, "{} and {}", of_mobiles.len(), others.len());
    if of_mobiles_too { [others, of_mobiles].concat() } else { others }
}

/// All mobiles attached, traffic on; then the garbage of a seed.
fn after_garbage(seed: u64, impersonates: bool) -> Bench {
    let mut bench = Bench::with(|config| config.seed = seed);
    // What is recorded is signalling: an N-PDU that somebody says again is one that comes twice.
    bench.interval = None;
    bench.listen();
    bench.world.order_bss(BssCommand::ResetCell(0));
    bench.run(2);
    for mobile in 0..MOBILES {
        bench.world.order_ms(MsCommand::Detach { mobile, power_off: false });
    }
    bench.run(2);
    bench.join(0..MOBILES);
    let mut garbage = Garbage {
        dice: Rng::seeded(seed),
        recorded: recorded(&bench, impersonates),
        tllis: (0..MOBILES).map(|mobile| bench.tlli(mobile)).collect(),
        impersonates,
    };
    bench.interval = Some(Duration::from_millis(200));
    bench.ms_events.clear();
    for number in 1..=DATAGRAMS {
        let datagram = garbage.datagram();
        bench.gb(&datagram);
        if number % 10 == 0 {
            bench.run_for(Duration::from_millis(10 * 1000 / u64::from(DATAGRAMS_PER_S)));
        }
        if number % DATAGRAMS_PER_S == 0 {
            bench.assert_limits();
            let [bssgp, ns] = bench.statuses();
            assert!(bssgp <= STATUS_MAX && ns <= STATUS_MAX, "seed {seed}: {bssgp} and {ns}");
        }
    }
    bench
}

/// Of every layer something was refused by name.
fn assert_all_layers(bench: &Bench, seed: u64, names: &[Drop]) {
    for name in names {
        let count = bench.world.drops(Node::Sgsn).get(*name);
        assert!(count > 0, "seed {seed}: {name:?} of {:?}", bench.drops());
    }
}

/// All N-PDUs of all mobiles arrive.
fn assert_flows(bench: &mut Bench, seed: u64) {
    bench.run(HEALING_S);
    let lost = bench.lost();
    bench.run(10);
    assert_eq!((bench.lost(), bench.wrong), (lost, 0), "seed {seed}: {:?}", bench.drops());
    assert_eq!(bench.active(), MOBILES as usize, "seed {seed}");
}

#[test]
fn nobody_loses_a_context_by_garbage_of_a_known_bss() {
    for seed in 1..=4 {
        let mut bench = after_garbage(seed, false);
        let drops = [
            Drop::NsMalformed,
            Drop::NsBlocked,
            Drop::NsUnexpected,
            Drop::BssgpMalformed,
            Drop::BssgpUnknownBvc,
            Drop::BssgpUnexpected,
            Drop::LlcMalformed,
            Drop::LlcUnassigned,
            Drop::SgsnUnknownTlli,
            Drop::SgsnStrangerUnanswered,
        ];
        assert_all_layers(&bench, seed, &drops);
        assert!(bench.ms_events.is_empty(), "seed {seed}: {:?}", bench.ms_events);
        assert_flows(&mut bench, seed);
        bench.end_after(2 * 3600);
    }
}

/// Nothing proves here who a mobile is, so what was said in the name of one concerns that one. Switched off and on, it is as before.
#[test]
fn whom_a_known_bss_impersonates_is_well_when_switched_on_again() {
    for seed in 1..=4 {
        let mut bench = after_garbage(seed, true);
        let drops = [
            Drop::BssgpMalformed,
            Drop::LlcBadFcs,
            Drop::LlcNotAbm,
            Drop::LlcBadXid,
            Drop::SndcpUnknownNsapi,
            Drop::GmmMalformed,
            Drop::GmmUnexpected,
            Drop::SmMalformed,
        ];
        assert_all_layers(&bench, seed, &drops);
        bench.run(HEALING_S);
        for mobile in 0..MOBILES {
            bench.world.order_ms(MsCommand::Detach { mobile, power_off: true });
        }
        bench.run(10);
        bench.join(0..MOBILES);
        assert_flows(&mut bench, seed);
        bench.end_after(2 * 3600 + 300);
    }
}

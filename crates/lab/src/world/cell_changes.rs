//! Downloads while mobiles change cells, in virtual time: what is lost, doubled or overtaken, and under which name.

use super::n_pdu::{self, Label};
use super::setup::first_imsi;
use crate::losses::{Place, place};
use core::net::Ipv4Addr;
use gannet_machine::drops::Drop;
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_node::bss::{self, CellConfig, VcConfig, gb_port};
use gannet_node::ggsn::{ApnConfig, GgsnConfig};
use gannet_node::ms::{MsCommand, MsConfig, MsEvent, NPduDelivery};
use gannet_node::sgsn::{GgsnPeer, LeftBehind, SgsnConfig};
use gannet_sim::gprs::{GGSN_GN, GprsWorld, Happening, Node, SGSN_GB, SGSN_GN, WorldConfig};
use gannet_sim::link::LinkProfile;
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, Nsvci, Plmn, Rai};
use gannet_wire::l3::ie::PdpAddress;
use sha2::{Digest, Sha256};

const NSAPI: Nsapi = Nsapi(5);
const MOBILES: u32 = 2;
const CHANGES: u32 = 10;
/// N-PDUs of a mobile that are under way: more than the bucket of a cell takes, so that all queues are full.
const WINDOW: u64 = 24;
/// Cells 0 to 3 are of NSE 101, 4 and 5 of NSE 102, all of one routing area; 6 and 7 of NSE 102 and of another.
const CELLS: u16 = 8;
const INSIDE: u64 = 6;
/// Octets per second of a cell, both ways.
const RATE: u64 = 20_000;

fn config(seed: u64, change: impl FnOnce(&mut SgsnConfig)) -> WorldConfig {
    let rai = |cell: u16| Rai { plmn: Plmn::new(1, 1, false), lac: 1, rac: u8::from(cell >= 6) };
    let ids: Vec<CellId> = (0..CELLS).map(|cell| CellId { rai: rai(cell), ci: 100 + cell }).collect();
    let nsei = |cell: u16| Nsei(101 + u16::from(cell >= 4));
    let cells = ids
        .iter()
        .zip(0_u16..)
        .map(|(id, cell)| CellConfig::with_rate(nsei(cell), Bvci(2 + cell), *id, RATE * 8))
        .collect();
    // Two NS-VCs for each NSE: what belongs together takes one of them.
    let vcs = (0..4).map(|endpoint| VcConfig {
        nsei: Nsei(101 + endpoint / 2),
        nsvci: Nsvci(201 + endpoint),
        port: gb_port(endpoint),
        peer: SGSN_GB,
    });
    let mut sgsn = SgsnConfig {
        mobiles_max: 16,
        cells_max: 16,
        gtp_address: SGSN_GN,
        ggsns: vec![GgsnPeer { number: 0, address: GGSN_GN, version: gannet_proto::gtp::Version::V1 }],
        ..SgsnConfig::default()
    };
    change(&mut sgsn);
    let apn = ApnConfig::with_ipv4("internet".parse().unwrap(), Ipv4Addr::new(10, 0, 0, 0), 24);
    let mut ms = MsConfig::new(MOBILES, first_imsi(), ids);
    ms.delivery = NPduDelivery::Event;
    WorldConfig {
        seed,
        frames: 2048,
        gb: LinkProfile::default(),
        gn: LinkProfile::default(),
        sgsn,
        ggsn: GgsnConfig { default_apn: Some(0), ..GgsnConfig::new(GGSN_GN, vec![apn]) },
        bss: bss::Config::new(vcs.collect(), cells),
        ms,
    }
}

/// One mobile and what it downloads.
#[derive(Default)]
struct Download {
    address: Option<Ipv4Addr>,
    cell: u16,
    offered: u32,
    /// The numbers of what came, in the order in which it came.
    came: Vec<u32>,
    sent: Sha256,
    received: Sha256,
    /// N-PDUs of the mobile itself that came to the host.
    uplink: Vec<u32>,
    answered: u32,
}

struct Bed {
    world: GprsWorld,
    downloads: Vec<Download>,
    rng: Rng,
    /// Cell changes at which nothing waited in the BSS.
    idle: u32,
    updates: u32,
}

impl Bed {
    /// All mobiles have an active context.
    fn new(seed: u64, change: impl FnOnce(&mut SgsnConfig)) -> Self {
        let world = GprsWorld::new(config(seed, change)).unwrap();
        let downloads = (0..MOBILES).map(|_| Download::default()).collect();
        let mut bed = Self { world, downloads, rng: Rng::seeded(seed), idle: 0, updates: 0 };
        bed.world.start();
        bed.pass(Duration::from_secs(5), false);
        for mobile in 0..MOBILES {
            bed.world.order_ms(MsCommand::ChangeCell { mobile, cell: 0 });
            bed.world.order_ms(MsCommand::Activate {
                mobile,
                nsapi: NSAPI,
                apn: None,
                qos: None,
                address: None,
            });
        }
        bed.pass(Duration::from_secs(5), false);
        assert!(bed.downloads.iter().all(|download| download.address.is_some()));
        bed
    }

    /// Drops of LL-PDUs and N-PDUs in all nodes; what only tells of another's is not among them.
    fn lost(&self) -> Vec<(Node, Drop, u64)> {
        let of = |node| self.world.drops(node).raised().map(move |(drop, count)| (node, drop, count));
        Node::ALL.into_iter().flat_map(of).filter(|(_, drop, _)| place(*drop) != Place::Nowhere).collect()
    }

    fn count(&self, drop: Drop) -> u64 {
        Node::ALL.into_iter().map(|node| self.world.drops(node).get(drop)).sum()
    }

    /// Time goes by; where `more`, whatever has come is followed by more.
    fn pass(&mut self, span: Duration, more: bool) {
        let end = self.world.now + span;
        loop {
            if more {
                self.fill();
            }
            self.world.run_until(end);
            let Some(happening) = self.world.happenings.pop_front() else { break };
            self.happens(happening);
        }
    }

    fn fill(&mut self) {
        let lost: u64 = self.lost().iter().map(|(_, _, count)| count).sum();
        for mobile in 0..MOBILES {
            loop {
                let download = &mut self.downloads[mobile as usize];
                let open = u64::from(download.offered) - download.came.len() as u64;
                if open >= WINDOW + lost {
                    break;
                }
                let label = Label { mobile, round: 0, number: download.offered, uplink: false };
                download.offered += 1;
                let octets = n_pdu::emit(label, download.address.unwrap());
                download.sent.update(&octets);
                let frame = self.world.frames.copy_of(&octets).unwrap();
                self.world.internet(frame);
            }
        }
    }

    fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Ms(MsEvent::Activated { mobile, address: PdpAddress::Ipv4(address), .. }) => {
                self.downloads[mobile as usize].address = Some(address);
            }
            Happening::Ms(MsEvent::Updated { .. }) => self.updates += 1,
            Happening::Ms(MsEvent::NPdu { mobile, frame, .. }) => self.came(mobile, &frame),
            Happening::Internet(frame) => {
                let label = n_pdu::parse(&frame).unwrap();
                self.downloads[label.mobile as usize].uplink.push(label.number);
            }
            _ => {}
        }
    }

    /// An N-PDU has come to its mobile, which answers every third one.
    fn came(&mut self, mobile: u32, octets: &[u8]) {
        let label = n_pdu::parse(octets).unwrap();
        assert_eq!((label.mobile, label.uplink), (mobile, false));
        let download = &mut self.downloads[mobile as usize];
        download.came.push(label.number);
        download.received.update(octets);
        if download.came.len().is_multiple_of(3) {
            let label = Label { number: download.answered, uplink: true, ..label };
            download.answered += 1;
            let frame = self.world.frames.copy_of(&n_pdu::emit(label, download.address.unwrap())).unwrap();
            self.world.order_ms(MsCommand::SendNpdu { mobile, nsapi: NSAPI, frame });
        }
    }

    /// A mobile goes to another cell in the midst of its download, after a time that the dice say.
    fn change(&mut self, mobile: u32, cell: u16) {
        let span = Duration(500_000_000 + self.rng.below(1_000_000_000));
        self.pass(span, true);
        let old = core::mem::replace(&mut self.downloads[mobile as usize].cell, cell);
        self.idle += u32::from(self.world.bss.machine.cell(old.into()).unwrap().queued.frames == 0);
        self.world.order_ms(MsCommand::ChangeCell { mobile, cell });
    }

    /// Ten changes of each mobile between cells of one routing area.
    fn change_inside(&mut self) {
        for _ in 0..CHANGES {
            for mobile in 0..MOBILES {
                let step = 1 + u16::try_from(self.rng.below(INSIDE - 1)).unwrap();
                let cell = (self.downloads[mobile as usize].cell + step) % u16::try_from(INSIDE).unwrap();
                self.change(mobile, cell);
            }
        }
        self.end();
    }

    /// All that is under way arrives, and nothing is left anywhere.
    fn end(&mut self) {
        self.pass(Duration::from_secs(2), true);
        self.pass(Duration::from_secs(20), false);
        let sgsn = &self.world.sgsn.machine;
        assert_eq!((sgsn.gb().cells_flushing(), sgsn.gb().flow.queued_pdus()), (0, 0));
        assert_eq!(self.world.frames.free(), 2048);
    }

    fn assert_order(&self) {
        for download in &self.downloads {
            assert!(download.came.is_sorted_by(|a, b| a < b), "nothing doubled, nothing overtaken");
            assert!(download.uplink.is_sorted_by(|a, b| a < b));
        }
    }

    fn offered(&self) -> u64 {
        self.downloads.iter().map(|download| u64::from(download.offered)).sum()
    }

    fn delivered(&self) -> u64 {
        self.downloads.iter().map(|download| download.came.len() as u64).sum()
    }
}

#[test]
fn ten_changes_inside_a_routing_area_lose_nothing() {
    for seed in 1..=8 {
        let mut bed = Bed::new(seed, |_| ());
        bed.change_inside();
        bed.assert_order();
        assert_eq!(bed.lost(), [], "seed {seed}");
        for download in bed.downloads.iter_mut() {
            assert_eq!(download.came.len(), download.offered as usize, "seed {seed}");
            assert_eq!(download.received.clone().finalize(), download.sent.clone().finalize(), "seed {seed}");
            assert_eq!(download.uplink.len(), download.answered as usize);
        }
        let stats = bed.world.sgsn.machine.stats();
        assert_eq!((stats.flushes, stats.octets_deleted), (u64::from(CHANGES * MOBILES), 0), "seed {seed}");
        assert!(stats.octets_moved > 50_000, "{}", stats.octets_moved);
        assert_eq!((bed.idle, bed.count(Drop::SgsnFlushUnanswered)), (0, 0), "queues were full");
    }
}

#[test]
fn a_bss_that_deletes_says_what_is_lost() {
    for seed in 1..=4 {
        let mut bed = Bed::new(seed, |config| config.cell_change.left_behind = LeftBehind::Delete);
        bed.change_inside();
        let lost = bed.lost();
        bed.assert_order();
        let [(Node::Bss, Drop::BssFlushed, flushed)] = lost[..] else { panic!("seed {seed}: {lost:?}") };
        assert_eq!(bed.offered(), bed.delivered() + flushed, "seed {seed}");
        let stats = bed.world.sgsn.machine.stats();
        assert_eq!(stats.octets_moved, 0);
        assert!(stats.octets_deleted >= flushed * n_pdu::LEN as u64 && bed.count(Drop::SgsnDeletedByBss) > 0);
    }
}

#[test]
fn between_routing_areas_what_is_lost_has_a_name() {
    for seed in 1..=4 {
        let mut bed = Bed::new(seed, |_| ());
        for change in 0..CHANGES {
            for mobile in 0..MOBILES {
                bed.change(mobile, if change % 2 == 0 { 6 } else { 0 });
            }
        }
        bed.end();
        bed.assert_order();
        let lost = bed.lost();
        // Uplink, these: what a mobile has meanwhile, and what comes before its update.
        let downlink = |(_, drop, _): &&(Node, Drop, u64)| {
            !matches!(drop, Drop::MsUpdating | Drop::SgsnOtherRoutingArea)
        };
        let named: u64 = lost.iter().filter(downlink).map(|(_, _, count)| count).sum();
        assert_eq!(bed.offered(), bed.delivered() + named, "seed {seed}: {lost:?}");
        assert!(bed.count(Drop::BssFlushed) > 0 && bed.count(Drop::BssOverrun) == 0, "seed {seed}: {lost:?}");
        assert_eq!(bed.updates, CHANGES * MOBILES);
        assert_eq!(bed.world.sgsn.machine.stats().octets_moved, 0);
    }
}

#[test]
fn a_lossy_gb_makes_nobody_wait_for_ever() {
    let mut bed = Bed::new(5, |_| ());
    bed.world.set_gb(LinkProfile { loss: 0.2, ..LinkProfile::default() });
    bed.change_inside();
    bed.world.set_gb(LinkProfile::default());
    assert!(bed.count(Drop::SgsnFlushUnanswered) > 0);
    let before = bed.delivered();
    for mobile in 0..MOBILES {
        let number = bed.downloads[mobile as usize].offered;
        bed.downloads[mobile as usize].offered += 1;
        let address = bed.downloads[mobile as usize].address.unwrap();
        let octets = n_pdu::emit(Label { mobile, round: 0, number, uplink: false }, address);
        let frame = bed.world.frames.copy_of(&octets).unwrap();
        bed.world.internet(frame);
    }
    bed.pass(Duration::from_secs(20), false);
    assert_eq!(bed.delivered(), before + u64::from(MOBILES));
}

//! Links on which TBFs break before they bring an LL-PDU through: each acknowledgement says that the mobile is heard, and all the same it
//! comes to an end.
//!
//! N3101 breaks an uplink TBF after ten blocks in a row that were not read. Where a part u of all blocks is lost, that happens with u^10 between
//! two blocks that are read. An LL-PDU of n blocks comes through with (1 - u^10)^n, and each TBF begins it anew. With u = 0.85 and 900 octets in
//! CS-1 (46 blocks) that is once in 24,000 TBFs.

use super::{Bench, FIVE};
use crate::world::{Plan, World, octets};
use gannet_machine::time::Duration;
use gannet_proto::rlcmac::air::Direction::Up;
use gannet_proto::rlcmac::channel::Link;
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::mobile::{Keeps, MobileConfig};
use gannet_proto::rlcmac::network::Loss;
use gannet_wire::rlcmac::coding::CodingScheme;

impl Bench {
    /// An uplink TBF whose contention is resolved, and whose blocks up to `ssn` arrive, breaks with T3180.
    fn breaks(&mut self, ssn: u8) {
        self.one_phase();
        for _ in 0..ssn {
            self.usf();
        }
        self.ack(ssn, false, Some(0), None);
        self.usf();
        let since = self.now;
        assert_eq!(self.expires(since), FIVE);
    }
}

#[test]
fn five_tbfs_that_break_before_one_ll_pdu_is_acknowledged_are_the_last() {
    let mut bench = Bench::plain();
    (0..2).for_each(|_| bench.request(1000));
    for left in (0..5).rev() {
        assert_eq!((bench.mac.waiting().0, bench.mac.counts().given_up), (2, 0), "{left} more");
        bench.breaks(1);
    }
    assert_eq!((bench.mac.waiting(), bench.mac.counts().given_up), ((0, 0), 2));
    assert!(bench.mac.is_active(), "what was given up is not taken yet");
    assert_eq!(core::iter::from_fn(|| bench.mac.pop_lost()).count(), 2);
    assert!(!bench.mac.is_active());
}

#[test]
fn an_ll_pdu_that_is_acknowledged_begins_the_count_anew() {
    let mut bench = Bench::plain();
    (0..2).for_each(|_| bench.request(100));
    bench.request(1000);
    (0..4).for_each(|_| bench.breaks(1));
    // The first LL-PDU is in the first five blocks.
    bench.breaks(5);
    assert_eq!(bench.mac.waiting(), (2, 1100));
    (0..4).for_each(|_| bench.breaks(1));
    assert_eq!((bench.mac.waiting().0, bench.mac.counts().given_up), (2, 0));
    bench.breaks(1);
    assert_eq!((bench.mac.waiting().0, bench.mac.counts().given_up), (0, 2));
}

#[test]
fn a_mobile_that_holds_gives_nothing_up() {
    let holds = MobileConfig { keeps: Keeps::All, ..MobileConfig::default() };
    let mut bench = Bench::new(holds, CellOptions::default());
    bench.request(1000);
    (0..20).for_each(|_| bench.breaks(1));
    assert_eq!((bench.mac.waiting(), bench.mac.counts().given_up), ((1, 1000), 0));
}

#[test]
fn what_is_given_up_in_the_middle_of_a_block_period_is_told() {
    let mut bench = Bench::plain();
    bench.request(300);
    while bench.mac.counts().unanswered < 4 {
        bench.next();
    }
    bench.one_phase();
    bench.usf();
    bench.ack(1, false, Some(5), None);
    // The fifth access has led to nothing: another mobile has its TBF.
    assert_eq!((bench.mac.counts().given_up, bench.mac.is_busy()), (1, false));
    assert!(bench.mac.is_active(), "its LL-PDU is not taken yet");
    assert!(bench.mac.pop_lost().is_some() && !bench.mac.is_active());
}

#[test]
fn an_uplink_that_loses_most_comes_to_an_end() {
    let mut worlds = 0;
    for seed in 0..20 {
        let network = NetworkConfig::new(0b1111_0000, CodingScheme::Cs1);
        let mut world = World::new(&Plan { seed, network, ..Plan::default() });
        world.mobiles[0].uplink = Link::with_rate(0.85);
        world.up(0, &octets(1, 900));
        let took = world.settle_of(seed);
        assert!(took < Duration::from_secs(120), "seed {seed}: {took:?}");
        let [told] = &world.told[..] else { panic!("seed {seed}: {:?}", world.told) };
        assert_eq!((told.direction, told.loss), (Up, Some(Loss::Contact)), "seed {seed}");
        // Blocks that are sent again since a report lacks them: the mobile was heard, and has heard that.
        worlds += u32::from(world.mobiles[0].mac.counts().data[1] > 0);
    }
    assert!(worlds >= 5, "it was heard in {worlds} worlds");
}

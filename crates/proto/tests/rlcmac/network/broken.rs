//! Downlink TBFs that break before they bring an LL-PDU through, though their mobile has answered a poll.

use super::{Bench, Listener, config};
use gannet_proto::rlcmac::config::{CellOptions, NetworkConfig};
use gannet_proto::rlcmac::network::Loss;

impl Bench {
    /// The next downlink TBF: its mobile answers so many polls and is silent afterwards.
    fn breaks_after(&mut self, polls: usize) {
        let mut mobile = Listener::new(self);
        let mut answered = 0;
        while self.pcu.is_active() {
            answered += usize::from(mobile.period(self, answered < polls).is_some());
        }
        assert_eq!(answered, polls);
        self.now = self.pcu.next_due().expect("T3195 runs");
        self.pcu.wake(self.now);
    }

    fn lost(&mut self) -> Vec<(usize, Loss)> {
        core::iter::from_fn(|| self.pcu.pop_lost()).map(|(pdu, loss)| (pdu.frame.len(), loss)).collect()
    }
}

#[test]
fn as_many_downlink_tbfs_as_a_mobile_is_sought_may_break_before_one_ll_pdu_is_acknowledged() {
    let mut bench = Bench::plain();
    bench.request(1, 1500);
    for at in 1..=bench.pcu.config().assignments_max {
        assert!(bench.lost().is_empty(), "before TBF {at}");
        bench.breaks_after(1);
    }
    assert_eq!(bench.lost(), [(1500, Loss::Contact)]);
    assert_eq!((bench.pcu.waiting(), bench.pcu.tbfs()), ((0, 0), (0, 0)));
    assert!(!bench.pcu.has_common(), "nobody is sought");
}

#[test]
fn an_ll_pdu_that_is_acknowledged_begins_the_count_anew() {
    // The cell knows what RLC acknowledges, and nothing else.
    let config = NetworkConfig { is_apart: true, ..config() };
    let mut bench = Bench::new(config, CellOptions::default());
    bench.request(1, 100);
    (0..2).for_each(|name| bench.request(2 + name, 1500));
    // The first poll is in the tenth block, and the first LL-PDU in the first five.
    bench.breaks_after(1);
    let confirmed = core::iter::from_fn(|| bench.pcu.pop_confirmed());
    assert_eq!(confirmed.map(|pdu| pdu.frame.len()).collect::<Vec<_>>(), [100]);
    for at in 1..config.assignments_max {
        assert!(bench.lost().is_empty(), "after TBF {at}");
        bench.breaks_after(1);
    }
    assert_eq!(bench.lost(), [(1500, Loss::Contact), (1500, Loss::Contact)]);
}

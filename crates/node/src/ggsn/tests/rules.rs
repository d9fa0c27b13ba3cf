//! Rules for a driver that forwards by itself: said when contexts come, change and go, and what the driver has forwarded counts.

use super::*;
use gannet_proto::classifier::Policer;
use gannet_proto::forwarding::{Carried, ForwardChange, ForwardRule, Forwarded};
use gannet_proto::gtp::{ContextName, SourceCheck, TeidKey};

fn name_of(created: &Created) -> ContextName {
    TeidKey::default().name(created.teid_data)
}

/// The rule of a new context of subscriber `n`.
fn rule_of(created: &Created, n: u16) -> ForwardRule {
    ForwardRule {
        name: name_of(created),
        v4: Some(address_of(created)),
        v6: None,
        network: 0,
        source: Some(Ipv4Addr::new(192, 0, 2, 1)),
        peer: Ipv4Addr::new(192, 0, 2, 1),
        peer_teid: Teid(0x200 + u32::from(n)),
        takes_downlink: true,
        sequenced: true,
        dscp: 0,
        uplink: None,
        downlink: None,
        syn_to_node: false,
        to_ring: false,
    }
}

fn forwarding(change: impl FnOnce(&mut GgsnConfig)) -> Net {
    let mut net = Net::new(change);
    net.ggsn.forward_at_driver(vec![true, false]);
    net
}

impl Net {
    fn said(&mut self) -> Vec<ForwardChange> {
        core::mem::take(&mut self.rules)
    }
}

#[test]
fn a_rule_comes_and_goes_with_its_context() {
    assert_eq!(SGSN, Ipv4Addr::new(192, 0, 2, 1));
    let mut net = forwarding(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    assert_eq!(net.said(), [ForwardChange::Install(rule_of(&created, 1))]);
    // The driver does not serve this access point.
    net.create(create_request(2, "small")).unwrap();
    assert_eq!(net.said(), []);
    // The subscriber has created it anew: the place of the old one is nobody's.
    let again = net.create(create_request(1, "internet")).unwrap();
    let rules = [ForwardChange::Remove(name_of(&created)), ForwardChange::Install(rule_of(&again, 1))];
    assert_eq!(net.said(), rules);
    assert_eq!(net.delete(again.teid_control, 5).1, Cause::RequestAccepted);
    assert_eq!(net.said(), [ForwardChange::Remove(name_of(&again))]);
}

#[test]
fn a_driver_that_comes_later_hears_of_all_contexts() {
    let mut net = Net::new(|config| config.source_check = SourceCheck::Off);
    let created = net.create(create_request(1, "internet")).unwrap();
    assert_eq!(net.said(), []);
    net.ggsn.forward_at_driver(vec![true, true]);
    net.run_until(net.around.now);
    // With the next input at the latest.
    net.create(create_request(2, "unknown")).unwrap_err();
    let rule = ForwardRule { source: None, ..rule_of(&created, 1) };
    assert_eq!(net.said(), [ForwardChange::Install(rule)]);
}

#[test]
fn contexts_that_share_an_address_get_no_downlink_from_the_driver() {
    let mut net = forwarding(|_| ());
    let first = net.create(create_request(1, "internet")).unwrap();
    net.said();
    let second = net.secondary(6, 5, super::secondary::any_template()).unwrap();
    let shared = ForwardRule { takes_downlink: false, ..rule_of(&first, 1) };
    let other = ForwardRule { name: name_of(&second), peer_teid: Teid(0x306), ..shared };
    let said = net.said();
    assert!(said.contains(&ForwardChange::Install(shared)), "{said:?}");
    assert_eq!(said.last(), Some(&ForwardChange::Install(other)), "{said:?}");
    net.control(SGSN, first.teid_control, DeleteRequest { teardown: Some(false), ..delete_request(6) });
    let rules = [ForwardChange::Remove(name_of(&second)), ForwardChange::Install(rule_of(&first, 1))];
    assert_eq!(net.said(), rules);
}

#[test]
fn an_update_and_a_change_of_the_configuration_change_the_rule() {
    let mut net = forwarding(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    net.said();
    assert_eq!(net.update(5, None), Cause::RequestAccepted);
    let moved = ForwardRule { peer_teid: Teid(0x305), ..rule_of(&created, 1) };
    assert_eq!(net.said(), [ForwardChange::Install(moved)]);
    let mut config = net.ggsn.config().clone();
    config.apns[0].sequence_numbers = false;
    let mut cx = net.around.context();
    net.ggsn.reconfigure(&mut cx, &config);
    net.create(create_request(2, "unknown")).unwrap_err();
    assert_eq!(net.said(), [ForwardChange::Install(ForwardRule { sequenced: false, ..moved })]);
}

#[test]
fn the_driver_is_told_rates_and_that_the_node_clamps_segments() {
    let mut net = forwarding(|config| {
        config.apns[0].police = true;
        config.apns[0].mss = Some(Mss { v4: 1200, v6: 1200 });
    });
    let created = net.create(create_request(1, "internet")).unwrap();
    // Peak throughput class 1.
    let policer = Some(Policer { rate_octets_per_s: 1000, burst_octets: 3000 });
    let rule = ForwardRule { uplink: policer, downlink: policer, syn_to_node: true, ..rule_of(&created, 1) };
    assert_eq!(net.said(), [ForwardChange::Install(rule)]);
}

#[test]
fn what_the_driver_has_forwarded_counts() {
    let mut net = forwarding(|_| ());
    let created = net.create(create_request(1, "internet")).unwrap();
    let other = net.create(create_request(2, "internet")).unwrap();
    let carried = |packets, octets| Carried { packets, octets, over_rate: 0 };
    let first = Forwarded { uplink: carried(3, 300), downlink: carried(2, 2000), foreign: 1 };
    let of = |name: ContextName, all: Forwarded| move |asked| (asked == name).then_some(all);
    let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
    // One place at a time: the second is the next, and behind it begins the table again.
    assert_eq!(net.ggsn.take_forwarded(at(1), (0, 1), of(name_of(&created), first)), 1);
    assert_eq!(net.ggsn.take_forwarded(at(1), (1, 1), of(name_of(&created), first)), 0);
    // What was heard once counts once.
    assert_eq!(net.ggsn.take_forwarded(at(2), (0, u32::MAX), of(name_of(&created), first)), 0);
    let context = net.ggsn.context(imsi(1), Nsapi(5)).unwrap();
    assert_eq!(context.uplink, Volume { t_pdus: 3, octets: 300 });
    assert_eq!(context.downlink, Volume { t_pdus: 2, octets: 2000 });
    assert_eq!((context.active_at_driver(), context.last_active), (Some(at(1)), at(1)));
    let counters = net.ggsn.access_points().next().unwrap().counters();
    assert_eq!((counters.uplink.octets, counters.downlink.octets, counters.uplink_dropped), (300, 2000, 1));
    assert_eq!(net.ggsn.context(imsi(2), Nsapi(5)).unwrap().active_at_driver(), None);
    // The last packets of a context that is gone are those of the GGSN all the same.
    net.delete(created.teid_control, 5);
    let last = Forwarded { uplink: carried(5, 500), ..first };
    net.ggsn.take_forwarded(at(3), (0, u32::MAX), of(name_of(&created), last));
    net.ggsn.take_forwarded(at(4), (0, u32::MAX), of(name_of(&other), Forwarded::default()));
    assert_eq!(net.ggsn.counters().uplink, Volume { t_pdus: 5, octets: 500 });
    assert_eq!(net.ggsn.counters().downlink, Volume { t_pdus: 2, octets: 2000 });
}

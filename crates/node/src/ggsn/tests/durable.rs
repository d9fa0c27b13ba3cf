//! Contexts outlive a restart of the GGSN.

use super::ipv6::{request, v6};
use super::secondary::any_template;
use super::*;
use crate::ggsn::durable::{LAYOUT, NotRestored};
use crate::kept::Change;
use gannet_proto::gtp::TeidKey;
use std::collections::BTreeMap;

/// What is kept of each subscriber.
type Disk = BTreeMap<Imsi, Vec<u8>>;

fn config(config: &mut GgsnConfig) {
    config.echo_interval = Duration::ZERO;
    config.apns[0].v6 = Ranges::dynamic(v6("2001:db8::"), 56);
    config.teid_key = TeidKey::new(77);
}

fn keeping() -> Net {
    let mut net = Net::new(config);
    net.ggsn.keep_changes();
    net
}

fn write_to(net: &mut Net, disk: &mut Disk) {
    net.ggsn.take_changes(usize::MAX, |change| match change {
        Change::Put { imsi, octets } => drop(disk.insert(imsi, octets.to_vec())),
        Change::Delete { imsi } => drop(disk.remove(&imsi)),
    });
    assert_eq!(net.ggsn.changes_waiting(), 0);
}

/// The next run, as another start of the program has it.
fn killed(disk: &Disk, change: impl FnOnce(&mut GgsnConfig)) -> (Net, Vec<Result<usize, NotRestored>>) {
    let mut net = Net::new(|it| {
        config(it);
        it.teid_generation = 16;
        change(it);
    });
    net.ggsn.keep_changes();
    let mut restored = Vec::new();
    for (imsi, octets) in disk {
        let mut cx = net.around.context();
        restored.push(net.ggsn.restore(&mut cx, *imsi, octets).map(|(count, _)| count));
    }
    (net, restored)
}

#[test]
fn contexts_go_on_after_a_kill() {
    let (mut net, mut disk) = (keeping(), Disk::new());
    let first = net.create(request(1, "internet", EndUserAddress::Ipv4v6(None, None))).unwrap();
    let second = net.secondary(6, 5, any_template()).unwrap();
    let third = net.create(request(2, "Small", EndUserAddress::Ipv4(None))).unwrap();
    let gone = net.create(create_request(3, "internet")).unwrap();
    write_to(&mut net, &mut disk);
    assert_eq!(disk.len(), 3);
    assert_eq!(net.delete(gone.teid_control, 5).1, Cause::RequestAccepted);
    // The first context of an address goes, and its endpoint for signalling stays that of the other one.
    let own = Ipv4Addr::new(10, 0, 0, 2);
    let to_mobile = packet(HOST, own);
    let sequence = |sent: &[Sent]| GPdu::parse(&sent[0].2).unwrap().0.sequence.unwrap();
    let before = sequence(&net.downlink(Peer::Slot(0), &to_mobile));
    write_to(&mut net, &mut disk);
    assert_eq!(disk.len(), 2, "who is gone is forgotten");

    let (mut net, restored) = killed(&disk, |_| ());
    assert_eq!(restored, [Ok(2), Ok(1)]);
    assert_eq!((net.ggsn.context_count(), net.drops()), (3, Vec::new()));
    for created in [&first, &second, &third] {
        let known = net.ggsn.contexts().any(|context| context.teid == created.teid_data);
        assert!(known, "{created:?}");
    }
    // Traffic in both directions, under the same endpoints; the sequence number is ahead of what may have been used.
    let up = packet(own, HOST);
    assert_eq!(net.uplink(first.teid_data, &up), [(PORT_TUN, Peer::Slot(0), up.clone())]);
    assert_eq!(net.uplink(second.teid_data, &up), [(PORT_TUN, Peer::Slot(0), up.clone())]);
    let sent = net.downlink(Peer::Slot(0), &to_mobile);
    assert_eq!(GPdu::parse(&sent[0].2).unwrap().0.teid, Teid(0x201));
    assert!(sequence(&sent) > before + 192, "{}", sequence(&sent));
    // The address is taken, and a new context has a TEID of its own.
    let other = net.create(create_request(4, "internet")).unwrap();
    assert_ne!(address_of(&other), own);
    assert!([first.teid_data, second.teid_data, third.teid_data].iter().all(|teid| *teid != other.teid_data));
    assert_eq!(
        net.ggsn.context(imsi(2), Nsapi(5)).unwrap().requested.as_ref().map(|name| name.to_string()),
        None
    );
    // It ends as any other.
    assert_eq!(net.delete(first.teid_control, 5).1, Cause::RequestAccepted);
    assert_eq!(net.ggsn.context_count(), 2);
    // A third run, from what the second has kept.
    write_to(&mut net, &mut disk);
    let (net, restored) = killed(&disk, |_| ());
    assert_eq!((restored, net.ggsn.context_count()), (vec![Ok(1), Ok(1)], 2));
}

#[test]
fn an_endpoint_for_signalling_outlives_its_first_context_and_a_restart() {
    let (mut net, mut disk) = (keeping(), Disk::new());
    let first = net.create(create_request(1, "internet")).unwrap();
    net.secondary(6, 5, any_template()).unwrap();
    let one = DeleteRequest { teardown: Some(false), ..delete_request(5) };
    let (_, message) = net.control(SGSN, first.teid_control, one);
    assert!(matches!(message, Message::DeleteResponse(response) if response.cause.is_accepted()));
    write_to(&mut net, &mut disk);
    let (mut net, restored) = killed(&disk, |_| ());
    assert_eq!(restored, [Ok(1)]);
    assert_eq!(net.delete(first.teid_control, 6).1, Cause::RequestAccepted);
    assert_eq!(net.ggsn.context_count(), 0);
}

#[test]
fn sequence_numbers_are_kept_now_and_then() {
    let mut net = keeping();
    net.create(create_request(1, "internet")).unwrap();
    write_to(&mut net, &mut Disk::new());
    let mut written = 0;
    for _ in 0..400 {
        assert_eq!(net.downlink(Peer::Slot(0), &packet(HOST, Ipv4Addr::new(10, 0, 0, 2))).len(), 1);
        net.ggsn.take_changes(usize::MAX, |_| written += 1);
    }
    assert_eq!(written, 2, "once in 192");
}

#[test]
fn what_cannot_be_restored_is_said() {
    let (mut net, mut disk) = (keeping(), Disk::new());
    net.create(create_request(1, "small")).unwrap();
    write_to(&mut net, &mut disk);
    let refused = |disk: &Disk, change: fn(&mut GgsnConfig)| {
        let (net, restored) = killed(disk, change);
        assert_eq!(net.ggsn.context_count(), 0);
        assert!(net.ggsn.access_points().all(|point| point.ipv4_use().0 == 0), "nothing is held");
        assert!(net.ggsn.paths().is_empty());
        restored[0].unwrap_err()
    };
    let other_apn = |config: &mut GgsnConfig| config.apns[1].name = "other".parse().unwrap();
    assert_eq!(refused(&disk, other_apn), NotRestored::NoAccessPoint);
    let other_pool = |config: &mut GgsnConfig| config.apns[1].v4 = Ranges::dynamic([10, 9, 0, 0].into(), 24);
    assert_eq!(refused(&disk, other_pool), NotRestored::NoAddress);
    let other_key = |config: &mut GgsnConfig| config.teid_key = TeidKey::new(78);
    assert_eq!(refused(&disk, other_key), NotRestored::OtherKey);
    let octets = disk.values().next().unwrap().clone();
    let damage = |at: usize, octet: u8| {
        let mut damaged = octets.clone();
        damaged[at] = octet;
        refused(&[(imsi(1), damaged)].into(), |_| ())
    };
    assert_eq!(damage(9, octets[9] ^ 1), NotRestored::Unreadable);
    let mut layout = octets.clone();
    layout[0] = LAYOUT + 1;
    let covered = layout.len() - 3;
    let fcs = gannet_wire::fcs24::fcs24(&layout[..covered]);
    layout[covered..].copy_from_slice(&fcs);
    assert_eq!(refused(&[(imsi(1), layout)].into(), |_| ()), NotRestored::OtherLayout(LAYOUT + 1));
    assert_eq!(refused(&[(imsi(1), Vec::new())].into(), |_| ()), NotRestored::Unreadable);
    // Twice the same.
    let (mut net, _) = killed(&disk, |_| ());
    let mut cx = net.around.context();
    assert_eq!(net.ggsn.restore(&mut cx, imsi(1), &octets), Err(NotRestored::Present));
    assert_eq!(net.ggsn.restore(&mut cx, imsi(2), &octets), Err(NotRestored::TeidTaken));
    for why in [NotRestored::Present, NotRestored::TeidTaken, NotRestored::Full, NotRestored::OtherLayout(3)]
    {
        assert!(!why.to_string().is_empty());
    }
}

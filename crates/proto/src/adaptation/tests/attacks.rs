//! With somebody between them who hears everything, changes it, repeats it and adds to it.

use super::net::{Choice, Net, Seen, key, tlli};
use super::way::pdu;
use crate::adaptation::Medium;
use crate::adaptation::key::sign;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_wire::adaptation::{
    ApName, Beacon, BeaconFlags, Hello, Load, Message, MessageType, NetworkMode, Release, ReleaseCause,
    Suspend, SuspendAck, Welcome,
};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::Tlli;
use gannet_wire::l3::ie::RadioPriority;

fn kind(seen: &Seen) -> Option<MessageType> {
    MessageType::from_number(seen.octets[0] & 0x1f)
}

/// Mobiles with keys that have sent and received.
fn net() -> Net {
    let mut net = Net::new(&Choice { network_key: Some(key(9)), ..Choice::with_keys(Medium::Ethernet) });
    net.seconds(2);
    assert!(net.exchange(0, 0, 60) && net.exchange(0, 1, 60));
    net.assert_no_drops();
    net.aps[0].ll_pdus.clear();
    net.host.told.clear();
    net
}

fn ll_pdu_of(net: &Net, is_up: bool) -> Vec<u8> {
    let is_meant = |seen: &&Seen| kind(seen) == Some(MessageType::LlPdu) && seen.is_up == is_up;
    net.seen.iter().rfind(is_meant).unwrap().octets.clone()
}

/// SABM, DISC, DM and UA of SAPI 3, and a message of GMM, as anybody can make them (04.64 clause 6.3.1): none has a cipher.
fn frames_of_llc() -> Vec<Vec<u8>> {
    let frame = |octets: &[u8]| [octets, &fcs24(octets)].concat();
    let of_u = |m: u8| frame(&[0x43, 0xe0 | m]);
    let mut all: Vec<Vec<u8>> = [0x07, 0x04, 0x01, 0x06].map(of_u).to_vec();
    all.push(frame(&[0x01, 0xc0, 0x01, 0x08, 0x05, 0x01]));
    all
}

#[test]
fn frames_without_authentication_do_not_come_through() {
    let mut net = net();
    for ll_pdu in frames_of_llc() {
        net.up(0, &pdu(&Message::LlPdu(&ll_pdu), tlli(0)));
        net.down(0, &pdu(&Message::LlPdu(&ll_pdu), tlli(0)));
    }
    let rai = super::net::cell(1).rai;
    net.up(0, &pdu(&Message::Suspend(Suspend { rai }), tlli(0)));
    net.up(0, &pdu(&Message::Release(Release { cause: ReleaseCause::MobileLeaves }), tlli(0)));
    net.down(0, &pdu(&Message::SuspendAck(SuspendAck { reference: 1 }), tlli(0)));
    assert_eq!(net.drops_of_ap(0, Drop::AdaptUnauthenticated), 7);
    assert_eq!(net.drops_of_host(Drop::AdaptUnauthenticated), 6);
    assert!(net.aps[0].ll_pdus.is_empty() && net.take_down().is_empty());
    assert!(net.exchange(0, 0, 100));
}

/// What the mode is for: without it they do.
#[test]
fn without_the_mode_frames_of_others_come_through() {
    let mut net = Net::new(&Choice::open(Medium::Ethernet));
    net.seconds(2);
    for ll_pdu in frames_of_llc() {
        net.up(0, &pdu(&Message::LlPdu(&ll_pdu), tlli(0)));
        net.down(0, &pdu(&Message::LlPdu(&ll_pdu), tlli(0)));
    }
    let count = frames_of_llc().len();
    assert_eq!((net.aps[0].ll_pdus.len(), net.take_down().len()), (count, count));
}

#[test]
fn no_bit_can_be_changed_on_the_way() {
    let mut net = net();
    // Each time another PDU, as it has not come yet.
    let next = |is_up: bool, net: &mut Net| {
        net.lose = Box::new(|_| true);
        let sent = if is_up {
            net.send_up(0, 0, &[0x41, 0xc0, 5, 1, 2, 3])
        } else {
            net.send_down(0, 0, &[0x41, 0xc0])
        };
        assert_eq!(sent, Ok(()));
        net.lose = Box::new(|_| false);
        ll_pdu_of(net, is_up)
    };
    for is_up in [true, false] {
        let mut octets = next(is_up, &mut net);
        for bit in 0..octets.len() * 8 {
            octets[bit / 8] ^= 1 << (bit % 8);
            if is_up {
                net.up(0, &octets)
            } else {
                net.down(0, &octets)
            }
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(net.aps[0].ll_pdus.is_empty() && net.take_down().is_empty());
        if is_up {
            net.up(0, &octets)
        } else {
            net.down(0, &octets)
        }
        assert_eq!(net.aps[0].ll_pdus.len() + net.take_down().len(), 1, "and as it was, it comes");
        net.aps[0].ll_pdus.clear();
    }
    assert!(net.drops_of_ap(0, Drop::AdaptBadMac) > 0 && net.drops_of_host(Drop::AdaptBadMac) > 0);
}

#[test]
fn what_was_heard_cannot_be_repeated_or_sent_back() {
    let mut net = net();
    let (up, down) = (ll_pdu_of(&net, true), ll_pdu_of(&net, false));
    for _ in 0..10 {
        net.up(0, &up);
        net.down(0, &down);
    }
    assert_eq!(net.drops_of_ap(0, Drop::AdaptReplayed), 10);
    assert_eq!(net.drops_of_host(Drop::AdaptReplayed), 10);
    net.up(0, &down);
    net.down(0, &up);
    assert_eq!((net.drops_of_ap(0, Drop::AdaptBadMac), net.drops_of_host(Drop::AdaptBadMac)), (1, 1));
    assert!(net.aps[0].ll_pdus.is_empty() && net.take_down().is_empty());
    // Everything that was ever heard, each way, and turned round.
    for seen in net.seen.clone() {
        net.up(0, &seen.octets);
        net.down(0, &seen.octets);
    }
    assert!(net.drops_of_ap(0, Drop::AdaptUnexpected) > 0 && net.drops_of_host(Drop::AdaptUnexpected) > 0);
    assert!(net.aps[0].ll_pdus.is_empty() && net.take_down().is_empty());
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
    assert!(net.take_ups().is_empty());
}

#[test]
fn a_repeated_hello_disturbs_no_session() {
    let mut net = net();
    let hellos: Vec<Vec<u8>> = net
        .seen
        .iter()
        .filter(|seen| kind(seen) == Some(MessageType::Hello))
        .map(|seen| seen.octets.clone())
        .collect();
    for _ in 0..1000 {
        net.up(0, &hellos[0]);
    }
    assert!(net.exchange(0, 0, 100), "in use");
    // Between the hello of a mobile and its first PDU, too.
    let now = net.now;
    net.aps[0].restart(now);
    for hello in hellos.iter().cycle().take(3) {
        net.up(0, hello);
    }
    net.seconds(2);
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
}

/// Three repeated hellos arrive after the mobile's own, and before its first PDU.
#[test]
fn repeated_hellos_between_hello_and_first_pdu_do_not_matter() {
    let mut net = net();
    let is_hello = |seen: &Seen| kind(seen) == Some(MessageType::Hello);
    let old = net.seen.iter().find(|seen| is_hello(seen)).unwrap().octets.clone();
    let now = net.now;
    net.aps[0].restart(now);
    // Its welcomes are held back while the old hellos are repeated.
    net.lose = Box::new(|seen| kind(seen) == Some(MessageType::Welcome));
    net.seen.clear();
    net.pass(Duration::from_millis(100));
    let welcomes: Vec<Vec<u8>> = net
        .seen
        .iter()
        .filter(|seen| kind(seen) == Some(MessageType::Welcome))
        .map(|seen| seen.octets.clone())
        .collect();
    assert_eq!(welcomes.len(), 2);
    for _ in 0..3 {
        net.up(0, &old);
    }
    net.lose = Box::new(|_| false);
    for welcome in &welcomes {
        net.down(0, welcome);
    }
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
}

#[test]
fn hellos_and_welcomes_of_who_has_no_key() {
    let mut net = net();
    let (random, mac) = ([3; 16], [0; 16]);
    net.up(0, &pdu(&Message::Hello(Hello { key: 77, random, mac }), Tlli(0)));
    assert_eq!(net.drops_of_ap(0, Drop::AdaptUnknownKey), 1);
    let mut hello = pdu(&Message::Hello(Hello { key: 100, random, mac }), Tlli(0));
    net.up(0, &hello);
    sign(&key(101).handshake(), &mut hello);
    net.up(0, &hello);
    assert_eq!(net.drops_of_ap(0, Drop::AdaptBadMac), 2);
    // An answer that nobody has asked for, and a wrong one to what was asked.
    let welcome = Welcome { key: 100, session: 1, random, of_mobile: random, mac };
    net.down(0, &pdu(&Message::Welcome(welcome), Tlli(0)));
    assert_eq!(net.drops_of_host(Drop::AdaptUnexpected), 1);
    let now = net.now;
    net.aps[0].restart(now);
    net.lose = Box::new(|seen| kind(seen) == Some(MessageType::Welcome));
    net.pass(Duration::from_millis(100));
    let is_welcome = |seen: &&Seen| kind(seen) == Some(MessageType::Welcome);
    let mut welcome = net.seen.iter().rfind(is_welcome).unwrap().octets.clone();
    for bit in 0..welcome.len() * 8 {
        welcome[bit / 8] ^= 1 << (bit % 8);
        net.down(0, &welcome);
        welcome[bit / 8] ^= 1 << (bit % 8);
    }
    assert!(net.drops_of_host(Drop::AdaptBadMac) > 0);
    net.lose = Box::new(|_| false);
    net.seconds(2);
    assert!(net.exchange(0, 0, 100) && net.exchange(0, 1, 100));
}

#[test]
fn a_forged_release_ends_nothing() {
    let mut net = net();
    for cause in ReleaseCause::ALL {
        for _ in 0..10 {
            net.down(0, &pdu(&Message::Release(Release { cause: *cause }), tlli(0)));
            assert!(net.exchange(0, 0, 100));
        }
    }
    assert!(net.take_ups().is_empty());
    let hellos = net.seen.iter().filter(|seen| kind(seen) == Some(MessageType::Hello)).count();
    assert!(hellos <= 2 + 1, "one more session in an interval, not ten: {hellos}");
}

/// A mobile with a key of its own takes no other mobile's TLLI, nor its LL-PDUs.
#[test]
fn nobody_takes_the_tlli_of_another() {
    let mut net = net();
    let own = ll_pdu_of(&net, false);
    net.seen.clear();
    net.lose = Box::new(|_| true);
    let frame = net.host.around.frames.copy_of(&[1, 2, 3, 4]).unwrap();
    let thief = crate::bearer::Sender { mobile: 1, cell: 0, tlli: tlli(0), priority: RadioPriority::Four };
    let mut out = gannet_machine::Batch::default();
    let request = crate::bearer::Request::Unitdata(frame);
    use crate::bearer::Bearer as _;
    net.host.bearer.request(&mut net.host.around.context(), thief, request, &mut out).unwrap();
    let Some(crate::bearer::Output::Transmit { frame, .. }) = out.pop() else { panic!() };
    net.lose = Box::new(|_| false);
    net.up(0, &frame);
    assert_eq!(net.drops_of_ap(0, Drop::AdaptForeignTlli), 1);
    assert!(net.aps[0].ll_pdus.is_empty());
    net.down(0, &own);
    assert_eq!(net.drops_of_host(Drop::AdaptReplayed), 1);
    assert!(net.exchange(0, 0, 100));
}

#[test]
fn beacons_are_authentic_and_new() {
    let mut net = net();
    let is_beacon = |seen: &&Seen| kind(seen) == Some(MessageType::Beacon);
    let beacon = net.seen.iter().rfind(is_beacon).unwrap().octets.clone();
    net.down(0, &beacon);
    assert_eq!(net.drops_of_host(Drop::AdaptStaleBeacon), 1);
    let mut other = beacon.clone();
    other[20] ^= 1;
    net.down(0, &other);
    assert_eq!(net.drops_of_host(Drop::AdaptBadMac), 1);
    let mut plain = beacon;
    plain[1] = 0;
    net.down(0, &plain);
    assert_eq!(net.drops_of_host(Drop::AdaptUnauthenticated), 1);
    assert!(net.exchange(0, 0, 100));
}

/// Without a key of the network anybody can say that the access point has started again. A thousand such beacons cost each mobile
/// one hello in an interval, and what is in use stays in use.
#[test]
fn a_flood_of_beacons_of_a_restart_leads_to_few_hellos() {
    let mut net = Net::new(&Choice::with_keys(Medium::Ethernet));
    net.seconds(2);
    assert!(net.exchange(0, 0, 60) && net.exchange(0, 1, 60));
    net.seen.clear();
    for boot in 0..1000 {
        let beacon = Beacon {
            cell: super::net::cell(1),
            boot,
            interval_ms: 1000,
            ll_pdu_max: 1464,
            mode: NetworkMode::II,
            load: Load(None),
            flags: BeaconFlags(BeaconFlags::IN_SERVICE | BeaconFlags::AUTHENTICATION),
        };
        net.down(0, &pdu(&Message::Beacon(beacon, ApName::EMPTY), Tlli(0)));
        net.pass(Duration::from_millis(1));
        assert!(boot % 100 != 0 || net.exchange(0, 0, 60) && net.exchange(0, 1, 60), "{boot}");
    }
    let hellos = net.seen.iter().filter(|seen| kind(seen) == Some(MessageType::Hello)).count();
    assert!((2..=6).contains(&hellos), "{hellos}");
}

//! Mobiles with cards: challenged by the SGSN with what the laboratory's HLR gives it, and ciphered.

use super::*;
use gannet_proto::auth::AuthPolicy;
use gannet_proto::auth::vectors::Ciphers;
use gannet_proto::llc::Algorithm;

/// An SGSN that asks the HLR and ciphers with GEA/`gea`, mobiles that have it, and the HLR.
fn ciphering(gea: u8, users: u32) -> World {
    let mut world = World::new(|load, sgsn| {
        (load.users, load.cells, load.tries, sgsn.n3_requests) = (users, 40, 12, 12);
        load.security = Some(Security::new(gea, SocketAddr::new(GGSN, 4222)).unwrap());
        sgsn.subscribers.policy = AuthPolicy::Remote;
        sgsn.subscribers.ciphers = Ciphers(1 << gea);
    });
    world.connect_hlr();
    assert!(world.hlr.as_ref().unwrap().1.is_introduced());
    world
}

fn nothing_went_wrong(world: &World) {
    let Stats { fcs_wrong, malformed, no_key, in_the_clear, doubled, rejected, failed, repeated, .. } =
        world.stats();
    let counts = [fcs_wrong, malformed, no_key, in_the_clear, doubled, rejected, failed, repeated];
    assert_eq!(counts, [0; 8], "{:?}", world.stats());
    let drops = &world.sgsn.trace.drops;
    for drop in [Drop::LlcBadFcs, Drop::LlcDuplicate, Drop::LlcUnciphered, Drop::LlcCiphered] {
        assert_eq!(drops.get(drop), 0, "{}", drop.name());
    }
}

#[test]
fn each_gea_both_ways() {
    for gea in 1..=3 {
        let mut world = ciphering(gea, 100);
        world.order(0..100, Order::Activate, Some(&slow));
        assert_eq!(world.phases(Phase::Active), 100);
        let (hlr, _) = world.hlr.as_ref().unwrap();
        assert_eq!((hlr.stats.located, hlr.stats.vectors, hlr.stats.failures), (100, 500, 0));
        assert_eq!(world.stats().challenged, 100);
        let ciphers: Vec<UserCipher> = world.load.machine.users().filter_map(|user| user.cipher).collect();
        assert!(ciphers.len() == 100 && ciphers[3].ciphering != ciphers[4].ciphering);
        let (_, mobile) = world.sgsn.machine.mobile_of(imsi(3)).unwrap();
        assert_eq!(mobile.llc.ciphering(), ciphers[3].ciphering);
        assert_eq!(mobile.llc.ciphering().algorithm(), Algorithm::of_number(gea).unwrap());
        // Over the wrap of N(U), downlink and uplink, so that OC counts.
        world.load.machine.tells_data = true;
        for number in 0..1100_u32 {
            let n_pdu: Vec<u8> = (0..90_u32).flat_map(|n| (n * 7 + number).to_be_bytes()).collect();
            world.g_pdu(3, &n_pdu);
            assert_eq!(world.downlink(), [(3, n_pdu.clone())]);
            assert!(world.act(|emulator, cx| emulator.send_n_pdu(cx, 3, &n_pdu)));
            let up = world.told.pop().expect("it came up");
            assert!(matches!(up, Event::Uplink { user: 3, frame } if frame[..] == n_pdu[..]));
        }
        assert_eq!((world.stats().deciphered, world.stats().g_pdus_up), (1100, 1100));
        let expected = world.load.machine.user(3).unwrap().cipher.unwrap().expected;
        assert_eq!(expected, 1100);
        // What a generator of its own would send.
        let mut octets = Vec::new();
        let nse = world.load.machine.n_pdu_on_gb(3, &[0x45; 60], &mut octets).unwrap();
        let frame = world.frames.copy_of(&octets).unwrap();
        world.under_way.push_back((To::Sgsn(GB, SocketAddr::new(BSS_GB, GB_PORT + nse)), frame));
        world.deliver();
        assert_eq!(world.stats().g_pdus_up, 1101);
        nothing_went_wrong(&world);
    }
}

#[test]
fn who_attaches_again_has_another_key() {
    let mut world = ciphering(3, 40);
    let key = |world: &World| world.load.machine.user(7).unwrap().cipher.unwrap().ciphering;
    world.order(0..40, Order::Activate, Some(&slow));
    let first = key(&world);
    world.order(0..40, Order::Activate, Some(&fast));
    assert_eq!(key(&world), first, "another context only");
    world.order(0..40, Order::Detach, None);
    world.order(0..40, Order::Activate, Some(&slow));
    assert_ne!(key(&world), first);
    for user in 0..40 {
        world.act(|emulator, cx| emulator.move_user(cx, user, (user + 1) % 40));
    }
    world.load.machine.tells_data = true;
    world.g_pdu(7, b"for the new key");
    assert_eq!(world.downlink(), [(7, b"for the new key".to_vec())]);
    nothing_went_wrong(&world);
    world.order(0..40, Order::Detach, None);
    world.run(Duration::from_secs(10));
    assert_eq!(world.frames.free(), FRAMES, "every frame is back");
}

#[test]
fn stragglers_get_through_over_a_bad_link_and_stay_in_step() {
    let mut world = ciphering(3, 40);
    world.load.machine.tells_data = true;
    world.loss = 0.1;
    world.order(0..40, Order::Activate, Some(&slow));
    world.loss = 0.0;
    assert_eq!((world.phases(Phase::Active), world.stats().failed), (40, 0), "{:?}", world.stats());
    for user in 0..40 {
        world.g_pdu(user, b"still there");
        assert_eq!(world.downlink(), [(user, b"still there".to_vec())]);
    }
    assert!(world.stats().repeated > 0);
}

#[test]
fn what_has_to_come_ciphered_is_taken_in_no_other_way() {
    let mut world = ciphering(3, 2);
    world.order(0..2, Order::Activate, Some(&slow));
    world.load.machine.tells_data = true;
    let tlli = world.load.machine.user(0).unwrap().tlli;
    let in_the_clear = |nu: u16| {
        let mut ll_pdu = gannet_wire::llc::ui_header(true, mobile::SAPI, nu, false, true).to_vec();
        ll_pdu.extend([0x65, 0, 0, 0]);
        ll_pdu.extend(b"from a stranger");
        ll_pdu.extend(gannet_wire::fcs24::fcs24(&ll_pdu));
        ll_pdu
    };
    let frame = world.frames.copy_of(&in_the_clear(0)).unwrap();
    assert_eq!(world.load.machine.user_of(tlli), Some(0));
    world.act(|emulator, cx| emulator.ll_pdu(cx, 0, frame));
    assert_eq!((world.stats().in_the_clear, world.downlink().len()), (1, 0));
    // A number that was used stays free for who has the key.
    world.g_pdu(0, b"from the SGSN");
    assert_eq!(world.downlink(), [(0, b"from the SGSN".to_vec())]);
    // Whom nobody challenged has no key.
    let mut plain = World::new(|load, _| (load.users, load.cells) = (1, 1));
    plain.order(0..1, Order::Activate, Some(&slow));
    let mut ll_pdu = in_the_clear(0);
    ll_pdu[2] |= 2;
    let frame = plain.frames.copy_of(&ll_pdu).unwrap();
    plain.act(|emulator, cx| emulator.ll_pdu(cx, 0, frame));
    assert_eq!(plain.stats().no_key, 1);
}

#[test]
fn without_a_card_a_challenge_is_refused() {
    let mut world = World::new(|load, sgsn| {
        (load.users, load.cells, load.tries) = (2, 2, 1);
        sgsn.subscribers.policy = AuthPolicy::Remote;
        sgsn.subscribers.ciphers = Ciphers(1 << 3);
    });
    world.connect_hlr();
    world.order(0..2, Order::Activate, Some(&slow));
    assert_eq!((world.phases(Phase::Active), world.stats().failed), (0, 2));
    assert!(Security::new(4, SocketAddr::new(GGSN, 4222)).is_err());
}

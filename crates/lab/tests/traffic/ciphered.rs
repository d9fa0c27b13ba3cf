//! LL-PDUs that come ciphered with GEA3, at the sink: all are counted by what stands in the clear, and some are read.

use crate::frames::{ethernet, mark, n_pdu_of, result, unattached};
use crate::reflector::{Target, downlink};
use crate::{config, tlli_of};
use gannet_lab::load::UserCipher;
use gannet_lab::load::traffic::{GroupResult, Traffic, TrafficConfig};
use gannet_proto::llc::cipher::ui_input;
use gannet_proto::llc::{Algorithm, Ciphering};
use gannet_wire::id::Sapi;

const IOV_UI: u32 = 0x0badcafe;
const LL_PDU_AROUND: usize = 10;

fn key(user: u32) -> Ciphering {
    let kc = (0x0123_4567_89ab_cdef_u64.wrapping_mul(u64::from(user) + 3)).to_be_bytes();
    Ciphering::with_kc(Algorithm::Gea3, kc).unwrap()
}

/// Flows of which each comes ciphered with a key of its own; every 4th mark is read, every 16th as a whole.
fn ciphered(flows: u32, size: u16) -> TrafficConfig {
    let mut config = config(flows, 10_000.0);
    (config.read_every, config.whole_every) = (4, 16);
    for (user, flow) in (0_u32..).zip(&mut config.flows) {
        flow.size = size;
        flow.cipher = Some(UserCipher { ciphering: key(user), iov_ui: IOV_UI, expected: 0 });
    }
    config
}

/// A frame for a mobile, the n-th of its LLE, ciphered with the key of `whose`.
fn frame(n_pdu: &[u8], user: u32, count: u32, whose: u32) -> Vec<u8> {
    let cipher = Some((key(whose), ui_input(IOV_UI, Sapi(3), count)));
    let number = u16::try_from(count % 512).unwrap();
    let to = Target { tlli: tlli_of(user), bvci: 2 + u16::try_from(user % 4).unwrap(), number, cipher };
    ethernet(&downlink(n_pdu, to, 1520)[0], 23_000, 22_000)
}

/// The next N-PDU in its frame, and whose it is.
fn next(traffic: &Traffic, counts: &mut [u32]) -> (Vec<u8>, u32) {
    let n_pdu = n_pdu_of(traffic);
    let user = mark(&n_pdu).0;
    let count = &mut counts[user as usize];
    *count += 1;
    (frame(&n_pdu, user, *count - 1, user), user)
}

/// Delivered, unread, whole, read.
fn read(result: &GroupResult) -> [u64; 4] {
    [result.delivered, result.unread, result.whole, result.latency.count()]
}

/// Of each size, over the wrap of N(U): every frame is counted for its flow, and what is read is right.
pub fn all_are_counted_and_some_are_read() {
    for size in [56, 63, 378, 1500] {
        unattached(ciphered(2, size), |traffic| {
            let mut counts = [0; 2];
            for _ in 0..1200 {
                let (frame, _) = next(traffic, &mut counts);
                assert!(!traffic.sink(&frame).unwrap());
            }
            let result = result(traffic);
            assert_eq!(result.offered, 1200);
            assert_eq!(read(&result), [1200, 900, 75, 300], "{size}: {result:?}");
            assert_eq!(result.delivered_octets, 1200 * u64::from(size));
            let wrong = [result.corrupt, result.wrong_mobile, result.wrong_cell, result.repeated];
            assert_eq!((wrong, result.reordered), ([0; 4], 0));
            let flows: Vec<u32> = traffic.flow_results().map(|flow| flow.delivered).collect();
            assert_eq!(flows, counts);
        });
    }
}

/// Real-time users' marks are all read.
pub fn each_mark_of_some_is_read() {
    let mut config = ciphered(2, 378);
    config.flows[1].each = true;
    unattached(config, |traffic| {
        let mut counts = [0; 2];
        for _ in 0..160 {
            let (frame, _) = next(traffic, &mut counts);
            traffic.sink(&frame).unwrap();
        }
        let unread = u64::from(counts[0] - counts[0].div_ceil(4));
        assert_eq!(read(&result(traffic))[..2], [160, unread]);
    });
}

/// Whatever is wrong with a frame that is read has its counter; of others what stands in the clear.
pub fn each_defect_of_what_is_read_has_its_counter() {
    let mut config = ciphered(4, 378);
    (config.read_every, config.whole_every) = (1, 1);
    unattached(config, |traffic| {
        let mut counts = [0; 4];
        let counted = |traffic: &Traffic, before: &GroupResult| {
            let now = result(traffic);
            [
                now.delivered - before.delivered,
                now.corrupt - before.corrupt,
                now.wrong_mobile - before.wrong_mobile,
                now.repeated - before.repeated,
                now.reordered - before.reordered,
            ]
        };
        // Each octet behind the header changed, one at a time: the last ones are those of the FCS.
        let around = LL_PDU_AROUND - 3;
        for at in 0..378 + around {
            let (mut frame, _) = next(traffic, &mut counts);
            let changed = frame.len() - around - 378 + at;
            frame[changed] ^= 1 << (at % 8);
            let before = result(traffic);
            assert!(!traffic.sink(&frame).unwrap());
            assert_eq!(counted(traffic, &before), [0, 1, 0, 0, 0], "octet {at}");
        }
        let before = result(traffic);
        let (again, _) = next(traffic, &mut counts);
        traffic.sink(&again).unwrap();
        traffic.sink(&again).unwrap();
        assert_eq!(counted(traffic, &before), [1, 0, 0, 1, 0]);
        // With another one's key, and with his own but for another one.
        for (with_his_own, expected) in [(false, [0, 1, 0, 0, 0]), (true, [0, 0, 1, 0, 0])] {
            let n_pdu = n_pdu_of(traffic);
            let (whose, other) = (mark(&n_pdu).0, (mark(&n_pdu).0 + 1) % 4);
            let count = &mut counts[other as usize];
            let frame = frame(&n_pdu, other, *count, if with_his_own { other } else { whose });
            *count += 1;
            let before = result(traffic);
            traffic.sink(&frame).unwrap();
            assert_eq!(counted(traffic, &before), expected);
        }
        // Late.
        let before = result(traffic);
        let mut waiting: Vec<(u32, Vec<u8>)> = Vec::new();
        let pair = loop {
            let (frame, user) = next(traffic, &mut counts);
            if let Some(at) = waiting.iter().position(|(other, _)| *other == user) {
                break [frame, waiting.swap_remove(at).1];
            }
            waiting.push((user, frame));
        };
        for frame in pair {
            traffic.sink(&frame).unwrap();
        }
        assert_eq!(counted(traffic, &before), [2, 0, 0, 0, 1]);
    });
}

/// A new key begins with the number that its mobile expects; a change of something else leaves numbers as they are.
pub fn a_new_key_begins_anew() {
    let mut config = ciphered(1, 378);
    (config.read_every, config.whole_every) = (1, 1);
    unattached(config, |traffic| {
        let mut counts = [0];
        for _ in 0..700 {
            traffic.sink(&next(traffic, &mut counts).0).unwrap();
        }
        traffic.set_flow(0, |flow| flow.rate_pps = 9_000.0).unwrap();
        traffic.sink(&next(traffic, &mut counts).0).unwrap();
        assert_eq!(result(traffic).delivered, 701);
        let cipher = UserCipher { ciphering: key(9), iov_ui: IOV_UI, expected: 3 };
        traffic.set_flow(0, |flow| flow.cipher = Some(cipher)).unwrap();
        let n_pdu = n_pdu_of(traffic);
        traffic.sink(&frame(&n_pdu, 0, 3, 9)).unwrap();
        assert_eq!((result(traffic).delivered, result(traffic).corrupt), (702, 0));
        // Whom nobody here knows.
        let stranger = frame(&n_pdu, 77, 0, 9);
        assert!(traffic.sink(&stranger).unwrap());
    });
}

/// What can't be done at the driver is refused.
pub fn what_cannot_be_read_is_refused() {
    let gea1 = Ciphering::with_kc(Algorithm::Gea1, [1; 8]).unwrap();
    let refused = |change: fn(&mut TrafficConfig)| {
        let mut config = ciphered(2, 378);
        change(&mut config);
        config.check().unwrap_err()
    };
    assert!(ciphered(2, 378).check().is_ok());
    assert!(refused(|config| config.read_every = 3).contains("power of two"));
    assert!(refused(|config| config.segmented = true).contains("segments"));
    assert!(refused(|config| config.flows[1] = config.flows[1].up(9)).contains("in the clear"));
    let mut config = ciphered(1, 378);
    config.flows[0].cipher = Some(UserCipher { ciphering: gea1, iov_ui: 0, expected: 0 });
    assert!(config.check().unwrap_err().contains("Gea1"));
}

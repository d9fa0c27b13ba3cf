//! Both ends attached, with a small SGSN of sockets between them.

use crate::reflector::{Target, downlink, g_pdu, g_pdu_of, uplink};
use crate::{GB, GN, between_namespaces, config, enter_and, teid_of, tlli_of};
use gannet_demux::bpf::{Loader, XdpMode, objects};
use gannet_demux::link;
use gannet_lab::load::traffic::{Group, StepResult, Traffic};
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// What the SGSN did to N-PDUs, each once in a while.
#[derive(Debug, Default)]
struct Tally {
    forwarded: AtomicU64,
    corrupted: AtomicU64,
    misdirected: AtomicU64,
    repeated: AtomicU64,
    dropped: AtomicU64,
    up: AtomicU64,
}

/// Every N-PDU that the SGSN forwards arrives, each of its faults under its name.
pub fn both_directions_between_namespaces() {
    between_namespaces(|sgsn| {
        let (stop, ready, tally) = (AtomicBool::new(false), AtomicBool::new(false), Tally::default());
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| enter_and(sgsn, || serve(&stop, &ready, &tally)));
            let end = End(&stop);
            while !ready.load(Relaxed) && !thread.is_finished() {
                std::thread::sleep(Duration::from_millis(2));
            }
            let mut config = config(50, 30.0);
            let up: Vec<_> = config.flows.iter().map(|flow| flow.up(flow.teid | 0x8000_0000)).collect();
            config.flows.extend(up);
            for side in [&mut config.gn, &mut config.gb] {
                side.peer_mac = None;
            }
            config.drain = (Duration::from_secs(60), Duration::from_secs(1));
            let mut traffic = Traffic::new(config).unwrap();
            let mut step = 0;
            // On a busy machine most is lost in the buffers of the SGSN's sockets: until each fault has been there.
            while step < 2 || counts(&tally).contains(&0) {
                step += 1;
                assert!(step < 50, "the SGSN reads nothing: {tally:?}");
                let before = counts(&tally);
                let mut turns = 0;
                let result = traffic.run(Duration::from_millis(300), &mut |_, _| turns += 1).unwrap();
                let after = counts(&tally);
                let done = core::array::from_fn(|index| after[index] - before[index]);
                check(&result, done);
                assert_eq!(u32::from(result.step), step);
                assert!(turns > 0 && serde_json::to_string(&result).is_ok());
            }
            drop(end);
        });
    });
}

/// What the load saw is what the SGSN did.
fn check(result: &StepResult, [forwarded, corrupted, misdirected, repeated, dropped, up]: [u64; 6]) {
    let down = result.group(Group::GOOD).unwrap();
    // What the ring took and the SGSN did not read was too much for the buffer of its socket.
    assert_eq!(down.offered, result.gn.taken + result.gn.refused, "{result:?}");
    assert!(forwarded + corrupted + misdirected + dropped <= result.gn.taken, "{result:?}");
    assert_eq!(
        (down.delivered, down.corrupt, down.wrong_mobile, down.repeated, down.lost()),
        (forwarded, corrupted, misdirected, repeated, down.offered - forwarded),
        "{result:?}"
    );
    assert_eq!((down.latency.count(), down.wrong_cell, down.reordered), (forwarded, 0, 0));
    let upwards = result.group(Group::GOOD.up()).unwrap();
    assert_eq!((upwards.offered, upwards.delivered), (result.gb.taken + result.gb.refused, up));
    assert_eq!((upwards.corrupt, upwards.wrong_mobile, result.unmarked), (0, 0, 0));
}

fn counts(tally: &Tally) -> [u64; 6] {
    let Tally { forwarded, corrupted, misdirected, repeated, dropped, up } = tally;
    [forwarded, corrupted, misdirected, repeated, dropped, up].map(|count| count.load(Relaxed))
}

/// Ends the SGSN also when the test fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn serve(stop: &AtomicBool, ready: &AtomicBool, tally: &Tally) {
    // A program on each device makes it take frames from a generator at all.
    let mut probe = Loader::new(&objects::PROBE).load().unwrap();
    let _attached = ["gn1", "gb1"]
        .map(|device| probe.attach_xdp("probe", link::index(device).unwrap(), XdpMode::Native).unwrap());
    let gn = UdpSocket::bind((GN.1, 2152)).unwrap();
    let gb = UdpSocket::bind((GB.1, 23_000)).unwrap();
    for socket in [&gn, &gb] {
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    }
    ready.store(true, Relaxed);
    let mut octets = [0; 2048];
    let mut count = 0_u16;
    while !stop.load(Relaxed) {
        if let Ok(len) = gn.recv(&mut octets) {
            count = count.wrapping_add(1);
            down(&octets[..len], count, &gb, tally);
        }
        if let Ok(len) = gb.recv(&mut octets) {
            let (tlli, _, nu, n_pdu) = uplink(&octets[..len]);
            let teid = teid_of(tlli & 0xffff) | 0x8000_0000;
            let sequence = (nu % 2 == 0).then_some(nu);
            gn.send_to(&g_pdu_of(teid, &n_pdu, sequence), (GN.0, 2152)).unwrap();
            tally.up.fetch_add(1, Relaxed);
        }
    }
}

fn down(octets: &[u8], count: u16, gb: &UdpSocket, tally: &Tally) {
    let (teid, mut n_pdu) = g_pdu(octets);
    let user = teid - teid_of(0);
    let mut tlli = tlli_of(user);
    let mut times = 1;
    let what = match count % 50 {
        7 => {
            n_pdu[100 + usize::from(count / 50)] ^= 4;
            &tally.corrupted
        }
        17 => {
            tlli = tlli_of(user + 1);
            &tally.misdirected
        }
        27 => {
            times = 0;
            &tally.dropped
        }
        37 => {
            times = 2;
            tally.repeated.fetch_add(1, Relaxed);
            &tally.forwarded
        }
        _ => &tally.forwarded,
    };
    what.fetch_add(1, Relaxed);
    let bvci = 2 + u16::try_from(user % 4).unwrap();
    for pdu in downlink(&n_pdu, Target { tlli, bvci, number: count & 0xfff, cipher: None }, 1520) {
        for _ in 0..times {
            gb.send_to(&pdu, (GB.0, 22_000)).unwrap();
        }
    }
}

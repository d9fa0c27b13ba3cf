//! A mobile and an SGSN, LLC and SNDCP of each, with a queue between them that loses, repeats and reorders.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "test code fails by panicking")]

use gannet_machine::drops::Drop;
use gannet_machine::rng::Rng;
use gannet_machine::time::{Duration, Instant};
use gannet_machine::timers::TimerKey;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::llc::{Ciphering, LlcContext, LlcOutput, LlcRole, LlcStatus, XidRequest};
use gannet_proto::sndcp::{Reassembler, Receiver, SndcpNsapi, receive};
use gannet_wire::id::{Nsapi, Sapi, Tlli};
use std::collections::BTreeMap;

const SAPI: Sapi = Sapi(3);
const LLC: TimerKey = TimerKey { owner: 0, slot: 1, generation: 0 };
const SNDCP: TimerKey = TimerKey { owner: 1, slot: 1, generation: 0 };

struct End {
    around: Surroundings<Quiet>,
    llc: LlcContext,
    nsapi: SndcpNsapi,
    reassembler: Reassembler,
    out: Batch<LlcOutput>,
    /// LL-PDUs to the other end.
    sent: Vec<Vec<u8>>,
    delivered: Vec<Vec<u8>>,
    confirmed: bool,
}

impl End {
    fn new(role: LlcRole) -> Self {
        let mut llc = LlcContext::new(role);
        llc.assign(Some(Tlli(0xc000_0001)), None, Ciphering::NONE);
        Self {
            around: Surroundings::new(1, 64, Quiet::default()),
            llc,
            nsapi: SndcpNsapi::new(Nsapi(5), SAPI),
            reassembler: Reassembler::new(4, Duration::from_secs(10)),
            out: Batch::default(),
            sent: Vec::new(),
            delivered: Vec::new(),
            confirmed: false,
        }
    }

    fn send(&mut self, n_pdu: &[u8]) {
        let frame = self.around.frames.copy_of(n_pdu).unwrap();
        let mut segments = Batch::default();
        let n201_u = self.llc.n201_u(SAPI);
        self.nsapi.unitdata_request(&mut self.around.context(), n201_u, frame, &mut segments).unwrap();
        while let Some(mut frame) = segments.pop() {
            self.llc.unitdata_request(SAPI, true, false, &mut frame).unwrap();
            assert!(frame.headroom() >= 200, "room for BSSGP, NS, UDP, IP and Ethernet");
            self.sent.push(frame.to_vec());
        }
    }

    fn negotiate(&mut self, n201_u: u16) {
        let request = XidRequest { n201_u: Some(n201_u), ..XidRequest::default() };
        self.llc.xid_request(&mut self.around.context(), SAPI, request, &mut self.out);
        self.drain();
    }

    fn receive(&mut self, octets: &[u8]) {
        let frame = self.around.frames.copy_of(octets).unwrap();
        self.llc.receive(&mut self.around.context(), None, frame, &mut self.out);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.out.pop() {
            match output {
                LlcOutput::Transmit { frame, .. } => self.sent.push(frame.to_vec()),
                LlcOutput::Unitdata { frame, .. } => {
                    let receiver = Receiver { slot: 1, whose: None, compresses: false };
                    let mut cx = self.around.context();
                    let n_pdu = receive(&mut cx, &mut self.reassembler, receiver, |_| true, frame);
                    self.delivered.extend(n_pdu.map(|n_pdu| n_pdu.frame.to_vec()));
                }
                LlcOutput::XidConfirm { .. } => self.confirmed = true,
                LlcOutput::Status { cause: LlcStatus::XidUnanswered, .. } => {}
                other => panic!("{other:?}"),
            }
        }
        self.llc.arm(LLC, &mut self.around.timers);
        self.reassembler.arm(SNDCP, &mut self.around.timers);
    }

    fn sleep_until(&mut self, now: Instant) {
        self.around.now = now;
        while let Some(key) = self.around.timers.pop_due(now) {
            match key {
                LLC => self.llc.wake(&mut self.around.context(), None, &mut self.out),
                _ => self.reassembler.wake(&mut self.around.context()),
            }
            self.drain();
        }
    }

    fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

fn n_pdu(number: u32, len: usize) -> Vec<u8> {
    let mut octets: Vec<u8> = (0..=250_u8).cycle().skip(number as usize % 251).take(len).collect();
    let number = number.to_be_bytes();
    let marked = len.min(4);
    octets[..marked].copy_from_slice(&number[..marked]);
    octets
}

/// Carries everything that waits, both ways, until nothing does.
fn carry(a: &mut End, b: &mut End) {
    while !a.sent.is_empty() || !b.sent.is_empty() {
        std::mem::take(&mut a.sent).iter().for_each(|octets| b.receive(octets));
        std::mem::take(&mut b.sent).iter().for_each(|octets| a.receive(octets));
    }
}

#[test]
fn every_size_arrives_whole() {
    for n201_u in [140, 500, 1520] {
        let (mut ms, mut sgsn) = (End::new(LlcRole::Ms), End::new(LlcRole::Sgsn));
        sgsn.negotiate(n201_u);
        carry(&mut ms, &mut sgsn);
        assert!(sgsn.confirmed);
        assert_eq!((ms.llc.n201_u(SAPI), sgsn.llc.n201_u(SAPI)), (n201_u, n201_u));
        for len in 1..=1500_usize {
            let octets = n_pdu(u32::try_from(len).unwrap(), len);
            ms.send(&octets);
            sgsn.send(&octets);
            // The first PDU has a header of four octets, the others of three.
            let pdus = (len + 1).div_ceil(usize::from(n201_u) - 3);
            assert_eq!(sgsn.sent.len(), pdus, "{len} octets in PDUs of {n201_u}");
            carry(&mut ms, &mut sgsn);
            assert_eq!(ms.delivered.pop().unwrap(), octets);
            assert_eq!(sgsn.delivered.pop().unwrap(), octets);
        }
        for end in [&ms, &sgsn] {
            assert_eq!(end.around.trace.drops.total(), 0);
            assert_eq!(end.around.frames.free(), 64);
        }
    }
}

/// A queue that loses, repeats and reorders what goes through it.
fn disturb(rng: &mut Rng, pdus: Vec<Vec<u8>>) -> (Vec<Vec<u8>>, u64) {
    let mut through = Vec::new();
    let mut lost = 0;
    for pdu in pdus {
        if rng.chance(0.05) {
            lost += 1;
            continue;
        }
        if rng.chance(0.05) {
            through.push(pdu.clone());
        }
        through.push(pdu);
    }
    for n in 1..through.len() {
        if rng.chance(0.1) {
            through.swap(n - 1, n);
        }
    }
    (through, lost)
}

#[test]
fn a_bad_path_costs_n_pdus_and_corrupts_none() {
    let (mut ms, mut sgsn) = (End::new(LlcRole::Ms), End::new(LlcRole::Sgsn));
    let mut rng = Rng::seeded(7);
    let mut offered = BTreeMap::new();
    let mut whole = 0;
    for round in 0..400_u32 {
        for n in 0..8 {
            let number = round * 8 + n;
            let octets = n_pdu(number, 4 + usize::try_from(rng.below(1496)).unwrap());
            ms.send(&octets);
            offered.insert(number, octets);
        }
        let (through, _) = disturb(&mut rng, std::mem::take(&mut ms.sent));
        through.iter().for_each(|octets| sgsn.receive(octets));
        for octets in sgsn.delivered.drain(..) {
            let number = u32::from_be_bytes(octets[..4].try_into().unwrap());
            assert_eq!(offered.remove(&number), Some(octets), "delivered once, and as it was sent");
            whole += 1;
        }
    }
    assert!(whole > 2400, "{whole} of 3200");
    assert!(sgsn.drops(Drop::LlcDuplicate) > 100);
    assert!(sgsn.drops(Drop::SndcpIncomplete) > 100);
    assert!(sgsn.reassembler.len() <= 1);
    sgsn.sleep_until(Instant::ZERO + Duration::from_secs(20));
    assert_eq!((sgsn.reassembler.len(), sgsn.around.frames.free()), (0, 64));
}

#[test]
fn xid_ends_well_over_a_path_that_loses_half() {
    let mut confirmed = 0;
    for seed in 0..40 {
        let (mut ms, mut sgsn) = (End::new(LlcRole::Ms), End::new(LlcRole::Sgsn));
        let mut rng = Rng::seeded(seed);
        sgsn.negotiate(1520);
        for second in 0..30 {
            let now = Instant::ZERO + Duration::from_secs(second);
            sgsn.sleep_until(now);
            for octets in std::mem::take(&mut sgsn.sent) {
                if rng.chance(0.5) {
                    ms.receive(&octets);
                }
            }
            for octets in std::mem::take(&mut ms.sent) {
                if rng.chance(0.5) {
                    sgsn.receive(&octets);
                }
            }
        }
        let unanswered = sgsn.drops(Drop::LlcXidUnanswered);
        assert_eq!(u64::from(!sgsn.confirmed), unanswered);
        confirmed += u32::from(sgsn.confirmed);
        // Whatever became of it, data flows both ways.
        sgsn.send(&n_pdu(1, 1500));
        ms.send(&n_pdu(2, 1500));
        carry(&mut ms, &mut sgsn);
        assert_eq!((ms.delivered.len(), sgsn.delivered.len()), (1, 1));
    }
    assert!(confirmed > 20, "{confirmed} of 40");
}

mod any_octets {
    use super::*;
    use gannet_wire::fcs24::fcs24;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        /// Frames with a right FCS get everywhere; whatever they hold, nothing panics and no frame is kept for ever.
        #[test]
        fn do_no_harm(pdus in vec((any::<bool>(), vec(any::<u8>(), 0..60)), 1..12)) {
            for role in [LlcRole::Ms, LlcRole::Sgsn] {
                let mut end = End::new(role);
                for (user_data, octets) in &pdus {
                    let mut pdu = if *user_data { vec![0x43, 0xc0, 0x01, 0x25] } else { vec![] };
                    pdu.extend(octets);
                    pdu.extend(fcs24(&pdu));
                    let frame = end.around.frames.copy_of(&pdu).unwrap();
                    end.llc.receive(&mut end.around.context(), None, frame, &mut end.out);
                    while let Some(output) = end.out.pop() {
                        if let LlcOutput::Unitdata { frame, .. } = output {
                            let receiver = Receiver { slot: 1, whose: None, compresses: false };
                            receive(&mut end.around.context(), &mut end.reassembler, receiver, |_| true, frame);
                        }
                    }
                }
                end.around.now = Instant::ZERO + Duration::from_secs(60);
                end.reassembler.wake(&mut end.around.context());
                prop_assert_eq!(end.around.frames.free(), 64);
            }
        }
    }
}

//! A mobile with its card, an SGSN's GMM with its vectors, and an authentication centre: clause 4.7.7 from end to end.
//!
//! Messages cross as octets, at once, but for those that a case loses. The authentication centre answers at once or only
//! when the case lets it, as an HLR does.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]

use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Surroundings};
use gannet_proto::auth::aka::{Quintuplet, Triplet, open_auts};
use gannet_proto::auth::card::{Card, GsmSim, Keys, Sim, Usim};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::milenage::Milenage;
use gannet_proto::auth::sqn::{Sqn, SqnCounter};
use gannet_proto::auth::vectors::{AuthRules, Ciphers, Next, Resynchronisation, Vector, Vectors};
use gannet_proto::auth::{AuthDecision, AuthTicket};
use gannet_proto::gmm::ms::{GmmMsAction, GmmMsConfig, GmmMsContext, GmmMsEvent, GmmMsState, Service};
use gannet_proto::gmm::network::{GmmAction, GmmConfig, GmmContext, GmmEvent, GmmState, Uplink};
use gannet_proto::gmm::{Cell, TemporaryIdentity};
use gannet_wire::id::{Bvci, CellId, Nsei, PTmsi, Plmn, Rai, Tlli};
use gannet_wire::l3::ie::{MsNetworkCapability, Octets};
use gannet_wire::l3::{Direction, GmmMessage, L3Message};
use std::collections::VecDeque;

const K: Key128 = Key128([0x11; 16]);
const OPC: Key128 = Key128([0x22; 16]);

/// The subscriber in the authentication centre.
struct Centre {
    k: Key128,
    /// `None` for a UMTS subscriber.
    gsm: Option<Comp128>,
    sqn: SqnCounter,
    rands: u8,
    /// How many vectors it gives at once.
    batch: usize,
}

impl Centre {
    fn fetch(&mut self, resynchronisation: Option<Resynchronisation>) -> Vec<Vector> {
        let functions = Milenage::new(&self.k, &OPC);
        if let Some(Resynchronisation { rand, auts }) = resynchronisation {
            self.sqn.resynchronise(open_auts(&functions, &rand, &auts).expect("AUTS of this subscriber"));
        }
        let one = |centre: &mut Self| {
            centre.rands += 1;
            let rand = [centre.rands; 16];
            match centre.gsm {
                Some(algorithm) => {
                    let (sres, kc) = algorithm.run(&centre.k, &rand);
                    Vector::Gsm(Triplet { rand, sres, kc })
                }
                None => {
                    let sqn = centre.sqn.advance().unwrap();
                    Vector::Umts(Quintuplet::generate(&functions, rand, sqn, [0x80, 0]))
                }
            }
        };
        (0..self.batch).map(|_| one(self)).collect()
    }
}

struct Pair {
    around: Surroundings<Quiet>,
    mobile: GmmMsContext,
    mobile_cfg: GmmMsConfig,
    card: Card,
    /// What the card gave for the last challenge, and what is in force with which cipher.
    given: Option<Keys>,
    mobile_keys: Option<(Keys, u8)>,
    network: GmmContext,
    network_cfg: GmmConfig,
    vectors: Vectors,
    rules: AuthRules,
    centre: Centre,
    /// The centre answers only when told to.
    slow: bool,
    due: Option<(AuthTicket, Option<Resynchronisation>)>,
    /// The network has put a key in force.
    ciphered: u32,
    /// Messages of this name are lost, so many of them.
    lose: (&'static str, u32),
    seen: Vec<&'static str>,
    barred: u32,
    released: bool,
    travelling: VecDeque<(bool, Vec<u8>, Tlli)>,
}

fn cell() -> Cell {
    let rai = Rai { plmn: Plmn::from_octets([0x00, 0xf1, 0x10]), lac: 7, rac: 1 };
    Cell { nsei: Nsei(1), bvci: Bvci(2), id: CellId { rai, ci: 2 } }
}

impl Pair {
    fn new(card: Card, gsm: Option<Comp128>) -> Self {
        let mobile_cfg = GmmMsConfig {
            network_capability: MsNetworkCapability(Octets::from_start(&[0xe5, 0xf0])),
            ..GmmMsConfig::default()
        };
        Self {
            around: Surroundings::new(1, 0, Quiet::default()),
            mobile: GmmMsContext::new("001010000000042".parse().unwrap(), None),
            mobile_cfg,
            card,
            given: None,
            mobile_keys: None,
            network: GmmContext::new(Tlli::random(1), cell()),
            network_cfg: GmmConfig::default(),
            vectors: Vectors::default(),
            rules: AuthRules { ciphers: Ciphers(0b1_1111), reuse_keys: true },
            centre: Centre { k: K, gsm, sqn: SqnCounter::after(Sqn::new(100, 0)), rands: 0, batch: 3 },
            slow: false,
            due: None,
            ciphered: 0,
            lose: ("", 0),
            seen: Vec::new(),
            barred: 0,
            released: false,
            travelling: VecDeque::new(),
        }
    }

    fn attach(&mut self) {
        self.mobile_event(GmmMsEvent::CellSelected(cell().id));
        self.mobile_event(GmmMsEvent::Attach);
        self.deliver();
    }

    fn mobile_event(&mut self, event: GmmMsEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut out = Batch::default();
            self.mobile.handle(&mut self.around.context(), &self.mobile_cfg, event, &mut out);
            while let Some(action) = out.pop() {
                match action {
                    GmmMsAction::Send { message, tlli } => self.send(true, message, tlli),
                    GmmMsAction::AskSim { rand, autn } => {
                        let outcome = self.card.answer(&rand, autn.as_ref());
                        self.given = outcome.keys;
                        events.push_back(GmmMsEvent::SimAnswer(outcome.answer));
                    }
                    GmmMsAction::Authenticated { algorithm } => {
                        // Without a new challenge it is the key of the last one.
                        let keys = self.given.or(self.mobile_keys.map(|(keys, _)| keys)).unwrap();
                        self.mobile_keys = Some((keys, algorithm));
                    }
                    GmmMsAction::BarCell(_) => self.barred += 1,
                    _ => {}
                }
            }
        }
    }

    fn network_event(&mut self, event: GmmEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut out = Batch::default();
            self.network.handle(&mut self.around.context(), &self.network_cfg, event, &mut out);
            while let Some(action) = out.pop() {
                match action {
                    GmmAction::Send { message, tlli } => self.send(false, message, tlli),
                    GmmAction::AllocatePtmsi => {
                        let identity = TemporaryIdentity::new(PTmsi(0xc000_0001), None);
                        events.push_back(GmmEvent::PtmsiAllocated(Some(identity)));
                    }
                    GmmAction::AskAuth { imsi, question, ticket } => {
                        assert_eq!(imsi, self.mobile.imsi());
                        let decision = match self.vectors.decide(question, self.rules) {
                            Next::Decide(decision) => decision,
                            Next::Fetch(resynchronisation) => {
                                self.due = Some((ticket, resynchronisation));
                                if self.slow { AuthDecision::Pending } else { self.fetched() }
                            }
                        };
                        events.push_back(GmmEvent::AuthAnswer { ticket, decision });
                    }
                    GmmAction::Authenticated => self.ciphered += 1,
                    GmmAction::Released => self.released = true,
                    _ => {}
                }
            }
        }
    }

    /// The centre's vectors arrive, and the decision follows.
    fn fetched(&mut self) -> AuthDecision {
        let (_, resynchronisation) = self.due.take().unwrap();
        for vector in self.centre.fetch(resynchronisation) {
            self.vectors.add(vector).unwrap();
        }
        self.vectors.proceed(self.rules)
    }

    fn send(&mut self, uplink: bool, message: GmmMessage, tlli: Tlli) {
        self.seen.push(message.name());
        if message.name() == self.lose.0 && self.lose.1 > 0 {
            self.lose.1 -= 1;
            return;
        }
        let mut octets = Vec::new();
        L3Message::from(message).emit(&mut octets);
        self.travelling.push_back((uplink, octets, tlli));
    }

    fn deliver(&mut self) {
        while let Some((uplink, octets, tlli)) = self.travelling.pop_front() {
            let direction = if uplink { Direction::Uplink } else { Direction::Downlink };
            let Ok(L3Message::Gmm(message)) = L3Message::parse(direction, &octets) else {
                panic!("{octets:x?}")
            };
            if uplink {
                self.network_event(GmmEvent::Message {
                    message,
                    from: Uplink { tlli, cell: cell() },
                    ciphered: false,
                });
            } else {
                self.mobile_event(GmmMsEvent::Message { message, tlli });
            }
        }
    }

    fn pass(&mut self, secs: u64) {
        let until = self.around.now + Duration::from_secs(secs);
        loop {
            let next = self.network.deadlines().next().into_iter().chain(self.mobile.deadlines.next()).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            self.around.now = next;
            let mut out = Batch::default();
            if self.network.deadlines().next() == Some(next) {
                self.network.expire(&mut self.around.context(), &self.network_cfg, &mut out);
                while let Some(action) = out.pop() {
                    match action {
                        GmmAction::Send { message, tlli } => self.send(false, message, tlli),
                        GmmAction::AskAuth { question, ticket, .. } => {
                            let Next::Decide(decision) = self.vectors.decide(question, self.rules) else {
                                panic!("a repetition needs no vectors")
                            };
                            self.network_event(GmmEvent::AuthAnswer { ticket, decision });
                        }
                        _ => {}
                    }
                }
            } else {
                let mut out = Batch::default();
                self.mobile.expire(&mut self.around.context(), &self.mobile_cfg, &mut out);
                while let Some(action) = out.pop() {
                    match action {
                        GmmMsAction::Send { message, tlli } => self.send(true, message, tlli),
                        GmmMsAction::BarCell(_) => self.barred += 1,
                        _ => {}
                    }
                }
            }
            self.deliver();
        }
        self.around.now = until;
    }

    /// Both are attached, with the same key, number and cipher.
    fn agree(&self, gea: u8) {
        assert_eq!(self.mobile.state(), GmmMsState::Registered, "{:?}", self.seen);
        assert_eq!(self.network.gmm_state(), GmmState::Registered);
        let (cksn, keys) = self.vectors.key().unwrap();
        assert_eq!(self.mobile.key_number(), Some(cksn));
        assert_eq!(self.mobile_keys, Some((keys, gea)));
        assert!(self.ciphered > 0);
    }

    fn count(&self, name: &str) -> usize {
        self.seen.iter().filter(|seen| **seen == name).count()
    }

    fn drops(&self, drop: Drop) -> u64 {
        self.around.trace.drops.get(drop)
    }
}

fn usim() -> Card {
    Card::Usim(Box::new(Usim::new(K, OPC)))
}

#[test]
fn gsm_cards_of_every_version() {
    for algorithm in [Comp128::V1, Comp128::V2, Comp128::V3] {
        let mut pair = Pair::new(Card::Sim(GsmSim { algorithm, ki: K }), Some(algorithm));
        pair.attach();
        pair.agree(3);
        assert_eq!(pair.count("AuthenticationRequest"), 1);
        assert_eq!(pair.around.trace.drops.total(), 0, "{:?}", pair.around.trace.drops);
    }
}

#[test]
fn a_umts_card_in_a_mobile_of_r99() {
    let mut pair = Pair::new(usim(), None);
    pair.attach();
    pair.agree(4);
    assert!(matches!(pair.vectors.key(), Some((0, Keys::Umts(_)))));
    assert_eq!(pair.around.trace.drops.total(), 0, "{:?}", pair.around.trace.drops);
}

#[test]
fn a_umts_card_in_a_mobile_of_r97() {
    let mut pair = Pair::new(usim(), None);
    pair.mobile_cfg.network_capability = MsNetworkCapability(Octets::from_start(&[0xe4, 0xe0]));
    pair.attach();
    pair.agree(3);
    assert!(matches!(pair.vectors.key(), Some((0, Keys::Gsm(_)))));
}

#[test]
fn a_card_that_is_ahead_brings_the_network_into_step() {
    let mut pair = Pair::new(usim(), None);
    pair.attach();
    pair.agree(4);
    pair.mobile_event(GmmMsEvent::Detach { power_off: true });
    pair.deliver();
    // The centre has forgotten: its next SQNs were accepted before.
    pair.centre.sqn = SqnCounter::after(Sqn::new(50, 0));
    pair.vectors = Vectors::default();
    pair.centre.rands = 100;
    pair.network = GmmContext::new(Tlli::random(1), cell());
    pair.seen.clear();
    pair.attach();
    pair.agree(4);
    assert_eq!((pair.count("AuthenticationFailure"), pair.count("AuthenticationRequest")), (1, 2));
    assert_eq!(pair.drops(Drop::GmmNotGenuine), 0);
    pair.pass(40);
    assert_eq!(pair.barred, 0, "T3320 is stopped");
}

#[test]
fn a_network_without_the_key_is_not_accepted() {
    let mut pair = Pair::new(usim(), None);
    pair.centre.k = Key128([0x33; 16]);
    pair.attach();
    assert_eq!(pair.count("AuthenticationFailure"), 1);
    assert_eq!(pair.count("AuthenticationReject"), 1, "the mobile attached by IMSI: it can't be another one");
    assert_eq!((pair.mobile.state(), pair.mobile.service()), (GmmMsState::Deregistered, Service::NoImsi));
    assert!(pair.released && pair.mobile_keys.is_none() && pair.ciphered == 0);
}

#[test]
fn a_mobile_with_another_key_is_not_served() {
    let ki = Key128([0x33; 16]);
    let mut pair = Pair::new(Card::Sim(GsmSim { algorithm: Comp128::V1, ki }), Some(Comp128::V1));
    pair.attach();
    assert_eq!(pair.count("AuthenticationResponse"), 1);
    assert_eq!((pair.count("AuthenticationReject"), pair.count("AttachAccept")), (1, 0));
    assert!(pair.released && pair.ciphered == 0 && pair.vectors.key().is_none());
}

#[test]
fn no_card_no_service() {
    let mut pair = Pair::new(Card::None, Some(Comp128::V1));
    pair.attach();
    assert_eq!((pair.count("AuthenticationFailure"), pair.count("AuthenticationReject")), (1, 1));
}

#[test]
fn a_card_without_gsm_access_in_a_mobile_that_seems_to_be_of_r97() {
    let Card::Usim(mut card) = usim() else { panic!() };
    card.gsm_access = false;
    let mut pair = Pair::new(Card::Usim(card), None);
    pair.mobile_cfg.network_capability = MsNetworkCapability(Octets::from_start(&[0xe4, 0xe0]));
    pair.attach();
    pair.agree(3);
    assert_eq!((pair.count("AuthenticationFailure"), pair.count("AuthenticationRequest")), (1, 2));
    assert!(matches!(pair.vectors.key(), Some((_, Keys::Umts(_)))));
}

#[test]
fn lost_messages_are_repeated_with_the_same_vector() {
    for name in ["AuthenticationRequest", "AuthenticationResponse"] {
        let mut pair = Pair::new(usim(), None);
        pair.lose = (name, 2);
        pair.attach();
        pair.pass(14);
        pair.agree(4);
        assert_eq!(pair.count("AuthenticationRequest"), 3, "T3360");
        assert_eq!(pair.vectors.unused(), 2, "one vector was used");
        assert_eq!(pair.count("AuthenticationFailure"), 0, "T3316: the card saw the challenge once");
    }
}

#[test]
fn a_lost_failure_comes_again() {
    let mut pair = Pair::new(usim(), None);
    pair.centre.sqn = SqnCounter::after(Sqn::new(0, 0));
    let Card::Usim(card) = &mut pair.card else { panic!() };
    let used = Quintuplet::generate(&Milenage::new(&K, &OPC), [0xff; 16], Sqn::new(1000, 1), [0; 2]);
    let accepted = card.answer(&[0xff; 16], Some(&used.autn));
    assert!(accepted.keys.is_some());
    pair.lose = ("AuthenticationFailure", 1);
    pair.attach();
    pair.pass(6);
    pair.agree(4);
    assert_eq!(pair.count("AuthenticationFailure"), 2);
}

#[test]
fn a_known_key_is_used_again_without_a_challenge() {
    let mut pair = Pair::new(usim(), None);
    pair.attach();
    let key = pair.vectors.key();
    pair.mobile_event(GmmMsEvent::Detach { power_off: false });
    pair.deliver();
    assert!(pair.released);
    pair.network = GmmContext::new(Tlli::random(1), cell());
    pair.lose = ("AuthenticationResponse", 1);
    pair.attach();
    pair.pass(6);
    pair.agree(4);
    assert_eq!((pair.vectors.key(), pair.vectors.unused()), (key, 2));
    assert_eq!(pair.ciphered, 2);
    // With new keys each time the next vector serves.
    pair.rules.reuse_keys = false;
    pair.mobile_event(GmmMsEvent::Detach { power_off: false });
    pair.deliver();
    pair.network = GmmContext::new(Tlli::random(1), cell());
    pair.attach();
    pair.agree(4);
    assert_eq!((pair.vectors.key().map(|(cksn, _)| cksn), pair.vectors.unused()), (Some(1), 1));
}

#[test]
fn a_slow_centre_is_waited_for() {
    let mut pair = Pair::new(usim(), None);
    pair.slow = true;
    pair.attach();
    assert_eq!(pair.seen, ["AttachRequest"]);
    pair.pass(15);
    assert_eq!(pair.seen, ["AttachRequest"; 2], "T3310; the network goes on with the first");
    let (ticket, _) = pair.due.unwrap();
    let decision = pair.fetched();
    pair.network_event(GmmEvent::AuthAnswer { ticket, decision });
    pair.deliver();
    pair.agree(4);
}

#[test]
fn a_centre_that_has_nothing_is_a_network_failure() {
    let mut pair = Pair::new(usim(), None);
    pair.centre.batch = 0;
    pair.attach();
    assert_eq!(pair.seen, ["AttachRequest", "AttachReject"]);
    assert!(pair.released);
}

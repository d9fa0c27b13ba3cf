//! A mobile with its card, and the network's half of it: GMM, LLC and the vectors of the subscriber. Authentication,
//! each cipher with user data both ways, and what either side refuses (04.08 clause 4.7.7 [24.008]).

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use core::net::Ipv4Addr;
use gannet_machine::drops::Drop;
use gannet_machine::time::Duration;
use gannet_machine::trace::Quiet;
use gannet_machine::{Batch, Input, Machine, Output, Peer, Surroundings};
use gannet_node::ms::{BEARER, Ms, MsCommand, MsConfig, MsEvent, TUN};
use gannet_proto::auth::aka::{Quintuplet, Triplet, open_auts};
use gannet_proto::auth::cards::{Cards, Variant};
use gannet_proto::auth::comp128::Comp128;
use gannet_proto::auth::key::Key128;
use gannet_proto::auth::milenage::Milenage;
use gannet_proto::auth::sqn::{Sqn, SqnCounter};
use gannet_proto::auth::vectors::{AuthRules, Ciphers, Next, Resynchronisation, Vector, Vectors};
use gannet_proto::gmm::network::{
    GmmAction, GmmConfig, GmmContext, GmmEvent, Stranger, Uplink, answer_to_stranger,
};
use gannet_proto::gmm::{Cell, TemporaryIdentity, goes_ciphered};
use gannet_proto::llc::{Algorithm, Ciphering, LlcContext, LlcOutput, LlcRole, peek};
use gannet_proto::sndcp::{Reassembler, Receiver, SndcpNsapi, receive};
use gannet_proto::um::{HEADER_LEN, UmBearer, UmHeader, UmKind};
use gannet_wire::id::{Bvci, CellId, Nsapi, Nsei, PTmsi, Plmn, Rai, Sapi, Tlli};
use gannet_wire::l3::ie::{PdpAddress, QosProfile, RadioPriority};
use gannet_wire::l3::sm::ActivateAccept;
use gannet_wire::l3::{Direction, GmmMessage, L3Message, SmMessage};
use gannet_wire::llc::Control;
use std::collections::VecDeque;

const K: Key128 = Key128([0x11; 16]);
const OPC: Key128 = Key128([0x22; 16]);
const OTHER: Key128 = Key128([0x33; 16]);
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 7);
const UP: &[u8] = b"from the mobile to a host";
const DOWN: &[u8] = b"from a host to the mobile";

const fn sim(algorithm: Comp128) -> Cards {
    Cards::Sim { algorithm, ki: K }
}

const USIM: Cards = Cards::Usim { k: K, variant: Variant::Opc(OPC) };

/// The subscriber in the authentication centre.
struct Centre {
    k: Key128,
    /// `None` for a UMTS subscriber.
    gsm: Option<Comp128>,
    sqn: SqnCounter,
    rands: u8,
}

impl Centre {
    fn fetch(&mut self, resynchronisation: Option<Resynchronisation>) -> Vector {
        let functions = Milenage::new(&self.k, &OPC);
        if let Some(Resynchronisation { rand, auts }) = resynchronisation {
            self.sqn.resynchronise(open_auts(&functions, &rand, &auts).unwrap());
        }
        self.rands += 1;
        let rand = [self.rands; 16];
        match self.gsm {
            Some(algorithm) => {
                let (sres, kc) = algorithm.run(&self.k, &rand);
                Vector::Gsm(Triplet { rand, sres, kc })
            }
            None => {
                Vector::Umts(Quintuplet::generate(&functions, rand, self.sqn.advance().unwrap(), [0x80, 0]))
            }
        }
    }
}

struct World {
    around: Surroundings<Quiet>,
    ms: Ms,
    gmm: GmmContext,
    llc: LlcContext,
    vectors: Vectors,
    rules: AuthRules,
    centre: Centre,
    /// The cipher of the last order.
    ordered: u8,
    released: bool,
    /// The network has a context of the mobile.
    known: bool,
    sndcp: SndcpNsapi,
    reassembler: Reassembler,
    /// LL-PDUs on their way: to the network where true.
    travelling: VecDeque<(bool, Tlli, Vec<u8>)>,
    /// All that went through the air, with the names of the messages of GMM.
    air: Vec<Vec<u8>>,
    seen: Vec<&'static str>,
    arrived: Vec<Vec<u8>>,
    activated: bool,
}

fn cells() -> Vec<CellId> {
    let rai = |rac| Rai { plmn: Plmn::new(1, 1, false), lac: 7, rac };
    vec![CellId { rai: rai(1), ci: 10 }, CellId { rai: rai(2), ci: 20 }]
}

fn packet(source: Ipv4Addr, content: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45; 20];
    packet[12..16].copy_from_slice(&source.octets());
    packet.extend(content);
    packet
}

impl World {
    fn new(cards: Cards, gsm: Option<Comp128>, geas: &[u8]) -> Self {
        let mut config = MsConfig::new(1, "001010000000042".parse().unwrap(), cells());
        config.first_cells = vec![0];
        config.insert(cards);
        let mut world = Self {
            around: Surroundings::new(1, 32, Quiet::default()),
            ms: Ms::new(config, Box::new(UmBearer)),
            gmm: GmmContext::new(Tlli::random(1), Cell::default()),
            llc: LlcContext::new(LlcRole::Sgsn),
            vectors: Vectors::default(),
            rules: AuthRules { ciphers: Ciphers(0), reuse_keys: true },
            centre: Centre { k: K, gsm, sqn: SqnCounter::after(Sqn::new(100, 0)), rands: 0 },
            ordered: 0,
            released: false,
            known: false,
            sndcp: SndcpNsapi::new(Nsapi(5), Sapi::DATA3),
            reassembler: Reassembler::new(4, Duration::from_secs(10)),
            travelling: VecDeque::new(),
            air: Vec::new(),
            seen: Vec::new(),
            arrived: Vec::new(),
            activated: false,
        };
        world.allow(geas);
        world
    }

    fn allow(&mut self, geas: &[u8]) {
        self.rules.ciphers = Ciphers(geas.iter().map(|gea| 1 << gea).sum());
    }

    /// The network has forgotten the mobile, but not its vectors.
    fn forget(&mut self) {
        self.gmm = GmmContext::new(Tlli::random(1), Cell::default());
        self.llc = LlcContext::new(LlcRole::Sgsn);
        (self.released, self.known) = (false, false);
    }

    fn order(&mut self, command: MsCommand) {
        self.input(Input::Command(command));
        while let Some((uplink, tlli, octets)) = self.travelling.pop_front() {
            self.air.push(octets.clone());
            if uplink {
                self.network_receives(tlli, &octets);
            } else {
                let cell = self.ms.view(0).unwrap().cell.unwrap().0;
                let mut frame = self.around.frames.copy_of(&octets).unwrap();
                assert!(frame.prepend(&UmHeader { kind: UmKind::LlPdu, cell, tlli, priority: None }.emit()));
                self.input(Input::Datagram { port: BEARER, peer: Peer::Slot(0), frame });
            }
        }
    }

    fn input(&mut self, input: Input<MsCommand>) {
        let mut inputs = Batch::default();
        inputs.push(input);
        self.ms.handle_input(&mut self.around.context(), &mut inputs);
        let mut outputs = Batch::default();
        self.ms.poll_output(&mut self.around.context(), &mut outputs);
        while let Some(output) = outputs.pop() {
            match output {
                Output::Event(event) => self.activated |= matches!(event, MsEvent::Activated { .. }),
                Output::Transmit { port: TUN, frame, .. } => self.arrived.push(frame.to_vec()),
                Output::Transmit { frame, .. } => {
                    let header = UmHeader::parse(&frame).unwrap();
                    if header.kind == UmKind::LlPdu {
                        self.travelling.push_back((true, header.tlli, frame[HEADER_LEN..].to_vec()));
                    }
                }
                Output::Classify(_) | Output::Disconnect(_) => {}
            }
        }
    }

    fn network_receives(&mut self, tlli: Tlli, octets: &[u8]) {
        // Of a stranger nothing is kept.
        if !self.known {
            self.llc = LlcContext::new(LlcRole::Sgsn);
            // The response to its own LLGMM-RESET.
            if matches!(peek(octets).unwrap().control, Control::U { .. }) {
                return;
            }
        }
        let cipher = self.llc.ciphering();
        self.llc.assign(Some(tlli), None, cipher);
        let frame = self.around.frames.copy_of(octets).unwrap();
        let mut outputs = Batch::default();
        self.llc.receive(&mut self.around.context(), None, frame, &mut outputs);
        while let Some(output) = outputs.pop() {
            let LlcOutput::Unitdata { sapi, frame, ciphered } = output else { panic!("{output:?}") };
            if sapi != Sapi::GMM {
                assert_eq!(ciphered, cipher.is_on());
                let receiver = Receiver { slot: 0, whose: None, compresses: false };
                let cx = &mut self.around.context();
                let n_pdu = receive(cx, &mut self.reassembler, receiver, |_| true, frame);
                self.arrived.extend(n_pdu.map(|n_pdu| n_pdu.frame.to_vec()));
                continue;
            }
            match L3Message::parse(Direction::Uplink, &frame).unwrap() {
                L3Message::Gmm(message) => {
                    assert_eq!(ciphered, cipher.is_on() && goes_ciphered(&message), "{}", message.name());
                    self.seen.push(message.name());
                    self.known |= matches!(message, GmmMessage::AttachRequest(_));
                    if !self.known {
                        let what = Stranger::Message { message: &message };
                        let answer = answer_to_stranger(what).unwrap();
                        self.seen.push(answer.name());
                        let mut reset = Batch::default();
                        self.llc.reset_request(&mut self.around.context(), &mut reset);
                        while let Some(LlcOutput::Transmit { frame, .. }) = reset.pop() {
                            self.travelling.push_back((false, tlli, frame.to_vec()));
                        }
                        self.send(Sapi::GMM, tlli, true, &L3Message::Gmm(answer).to_vec());
                        continue;
                    }
                    let id = self.ms.view(0).unwrap().cell.unwrap().1;
                    let from = Uplink { tlli, cell: Cell { nsei: Nsei(1), bvci: Bvci(2), id } };
                    self.network_event(GmmEvent::Message { message, from, ciphered: false });
                }
                L3Message::Sm { ti, message: SmMessage::ActivateRequest(_), .. } => {
                    assert_eq!(ciphered, cipher.is_on());
                    let accept = ActivateAccept {
                        sapi: Sapi::DATA3,
                        qos: QosProfile::BEST_EFFORT,
                        radio_priority: RadioPriority::Four,
                        address: Some(PdpAddress::Ipv4(ADDRESS)),
                        pco: None,
                        packet_flow_identifier: None,
                        cause: None,
                    };
                    let message = L3Message::Sm { ti, ti_flag: true, message: accept.into() };
                    self.send(Sapi::GMM, tlli, true, &message.to_vec());
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn send(&mut self, sapi: Sapi, tlli: Tlli, ciphered: bool, octets: &[u8]) {
        let mut frame = self.around.frames.copy_of(octets).unwrap();
        self.llc.unitdata_request(sapi, true, ciphered, &mut frame).unwrap();
        self.travelling.push_back((false, tlli, frame.to_vec()));
    }

    fn network_event(&mut self, event: GmmEvent) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let mut out = Batch::default();
            self.gmm.handle(&mut self.around.context(), &GmmConfig::default(), event, &mut out);
            while let Some(action) = out.pop() {
                match action {
                    GmmAction::Send { message, tlli } => {
                        self.seen.push(message.name());
                        if let GmmMessage::AuthenticationRequest(request) = &message {
                            self.ordered = request.ciphering.0;
                        }
                        let ciphered = goes_ciphered(&message);
                        self.send(Sapi::GMM, tlli, ciphered, &L3Message::Gmm(message).to_vec());
                    }
                    GmmAction::AllocatePtmsi => {
                        let identity = TemporaryIdentity::new(PTmsi(0xc000_0001), None);
                        events.push_back(GmmEvent::PtmsiAllocated(Some(identity)));
                    }
                    GmmAction::AskAuth { question, ticket, .. } => {
                        let decision = match self.vectors.decide(question, self.rules) {
                            Next::Decide(decision) => decision,
                            Next::Fetch(resynchronisation) => {
                                let vector = self.centre.fetch(resynchronisation);
                                self.vectors.add(vector).unwrap();
                                self.vectors.proceed(self.rules)
                            }
                        };
                        events.push_back(GmmEvent::AuthAnswer { ticket, decision });
                    }
                    GmmAction::Authenticated => {
                        let algorithm = Algorithm::of_number(self.ordered).unwrap();
                        let ciphering = self.vectors.key().unwrap().1.ciphering(algorithm).unwrap();
                        self.llc.assign(self.llc.tlli(), None, ciphering);
                    }
                    GmmAction::Released => {
                        self.forget();
                        self.released = true;
                    }
                    _ => {}
                }
            }
        }
    }

    fn attach(&mut self) {
        self.order(MsCommand::Attach { mobile: 0 });
    }

    fn activate(&mut self) {
        let nsapi = Nsapi(5);
        self.order(MsCommand::Activate { mobile: 0, nsapi, apn: None, qos: None, address: None });
        assert!(core::mem::take(&mut self.activated), "{:?}", self.seen);
    }

    /// A packet each way, and whether they could be read on their way.
    fn exchange(&mut self) -> bool {
        self.air.clear();
        let (up, down) = (packet(ADDRESS, UP), packet(Ipv4Addr::new(198, 51, 100, 1), DOWN));
        let frame = self.around.frames.copy_of(&down).unwrap();
        let mut segments = Batch::default();
        self.sndcp.unitdata_request(&mut self.around.context(), 500, frame, &mut segments).unwrap();
        let tlli = self.llc.tlli().unwrap();
        while let Some(segment) = segments.pop() {
            self.send(Sapi::DATA3, tlli, true, &segment);
        }
        let frame = self.around.frames.copy_of(&up).unwrap();
        self.order(MsCommand::SendNpdu { mobile: 0, nsapi: Nsapi(5), frame });
        let mut arrived = core::mem::take(&mut self.arrived);
        arrived.sort();
        let mut sent = [up, down];
        sent.sort();
        assert_eq!(arrived, sent, "{:?}", self.drops());
        let readable = |content: &[u8]| {
            self.air.iter().any(|ll_pdu| ll_pdu.windows(content.len()).any(|window| window == content))
        };
        assert_eq!(readable(UP), readable(DOWN));
        readable(UP)
    }

    fn state(&self) -> (&'static str, &'static str, Algorithm) {
        let view = self.ms.view(0).unwrap();
        (view.gmm, view.service, view.cipher)
    }

    fn assert_registered(&self, cipher: Algorithm) {
        assert_eq!(self.state(), ("gmm-registered", "normal-service", cipher), "{:?}", self.seen);
        assert_eq!(self.llc.ciphering().algorithm, cipher);
        assert_eq!(self.ms.mobile(0).unwrap().gmm.key_number(), self.vectors.key().map(|(cksn, _)| cksn));
    }

    fn count(&self, name: &str) -> usize {
        self.seen.iter().filter(|seen| **seen == name).count()
    }

    fn drops(&self) -> Vec<(Drop, u64)> {
        self.around.trace.drops.raised().collect()
    }
}

#[test]
fn every_card_and_every_cipher_with_user_data_both_ways() {
    let cards = [
        (sim(Comp128::V1), Some(Comp128::V1), 3),
        (sim(Comp128::V2), Some(Comp128::V2), 3),
        (sim(Comp128::V3), Some(Comp128::V3), 3),
        (USIM, None, 4),
    ];
    for (cards, gsm, best) in cards {
        for gea in 0..=best {
            let mut world = World::new(cards, gsm, &[gea]);
            world.attach();
            world.assert_registered(Algorithm::of_number(gea).unwrap());
            world.activate();
            for _ in 0..3 {
                assert_eq!(world.exchange(), gea == 0, "{cards:?} GEA{gea}");
            }
            assert_eq!(world.count("AuthenticationRequest"), 1);
            assert_eq!(world.drops(), []);
            assert_eq!(world.around.frames.free(), 32);
        }
        let mut world = World::new(cards, gsm, &[0, 1, 2, 3, 4]);
        world.attach();
        world.assert_registered(Algorithm::of_number(best).unwrap());
    }
}

#[test]
fn another_routing_area_goes_on_with_the_cipher() {
    let mut world = World::new(USIM, None, &[4]);
    world.attach();
    world.activate();
    world.seen.clear();
    world.order(MsCommand::ChangeCell { mobile: 0, cell: 1 });
    world.assert_registered(Algorithm::Gea4);
    assert_eq!((world.count("RauRequest"), world.count("RauAccept")), (1, 1), "{:?}", world.seen);
    assert!(!world.exchange());
    assert_eq!(world.drops(), []);
    // A network that has forgotten the mobile says so in the clear, and both begin again with another key and cipher.
    let before = world.vectors.key();
    world.forget();
    world.rules.reuse_keys = false;
    world.allow(&[2]);
    world.order(MsCommand::ChangeCell { mobile: 0, cell: 0 });
    world.assert_registered(Algorithm::Gea2);
    assert_eq!((world.count("RauReject"), world.count("AttachAccept")), (1, 1), "{:?}", world.seen);
    assert_ne!(world.vectors.key(), before);
    assert!(!world.exchange());
    assert!(world.drops().iter().all(|(drop, _)| *drop == Drop::GmmRejected), "{:?}", world.drops());
}

#[test]
fn a_mobile_that_comes_back_begins_in_the_clear_with_the_number_of_its_key() {
    let mut world = World::new(sim(Comp128::V1), Some(Comp128::V1), &[3]);
    world.attach();
    let key = world.vectors.key();
    world.order(MsCommand::Detach { mobile: 0, power_off: false });
    assert_eq!(world.state(), ("gmm-deregistered", "normal-service", Algorithm::Gea0));
    assert!(world.released);
    world.seen.clear();
    world.attach();
    world.assert_registered(Algorithm::Gea3);
    assert_eq!((world.vectors.key(), world.vectors.unused()), (key, 0), "the key served again");
    assert_eq!(world.count("AuthenticationRequest"), 1, "an order to set the cipher");
    world.activate();
    assert!(!world.exchange());
    assert_eq!(world.drops(), []);
}

#[test]
fn a_card_with_another_key_is_rejected() {
    let algorithm = Comp128::V1;
    for (cards, gsm) in [
        (Cards::Sim { algorithm, ki: OTHER }, Some(algorithm)),
        (Cards::Usim { k: OTHER, variant: Variant::Opc(OPC) }, None),
        (Cards::None, Some(algorithm)),
    ] {
        let mut world = World::new(cards, gsm, &[1]);
        world.attach();
        assert_eq!(world.state(), ("gmm-deregistered", "no-imsi", Algorithm::Gea0));
        assert_eq!((world.count("AuthenticationReject"), world.count("AttachAccept")), (1, 0));
        assert!(world.released && world.vectors.key().is_none());
        // A USIM sees that the network is not its own, and who has no card can't answer.
        let refuses = usize::from(!matches!(cards, Cards::Sim { .. }));
        assert_eq!(
            (world.count("AuthenticationFailure"), world.count("AuthenticationResponse")),
            (refuses, 1 - refuses)
        );
        assert!(!world.llc.ciphering().is_on());
    }
}

#[test]
fn a_replayed_challenge_brings_the_network_into_step() {
    let mut world = World::new(USIM, None, &[4]);
    world.attach();
    world.order(MsCommand::Detach { mobile: 0, power_off: true });
    world.seen.clear();
    // The centre counts again from where it began: the card has seen that.
    world.centre.sqn = SqnCounter::after(Sqn::new(100, 0));
    world.vectors = Vectors::default();
    world.attach();
    world.assert_registered(Algorithm::Gea4);
    assert_eq!((world.count("AuthenticationFailure"), world.count("AuthenticationRequest")), (1, 2));
    world.activate();
    assert!(!world.exchange());
    assert_eq!(world.drops(), []);
}

#[test]
fn a_network_that_ciphers_nothing_is_told_nothing_else() {
    let mut world = World::new(USIM, None, &[3]);
    world.attach();
    world.activate();
    // From here on somebody without the key speaks for the network.
    world.llc.assign(world.llc.tlli(), None, Ciphering::NONE);
    let frame = world.around.frames.copy_of(&packet(ADDRESS, UP)).unwrap();
    let tlli = world.llc.tlli().unwrap();
    world.send(Sapi::DATA3, tlli, true, b"an SN-PDU");
    world.order(MsCommand::SendNpdu { mobile: 0, nsapi: Nsapi(5), frame });
    assert!(world.arrived.is_empty());
    assert_eq!(world.drops(), [(Drop::LlcCiphered, 1), (Drop::LlcUnciphered, 1)]);
}

//! Acknowledged mode and compression of a mobile, with a network that has both and a radio that loses.

use super::super::*;
use super::bench::*;
use gannet_machine::fabric::Path;
use gannet_machine::fabric::link::LinkProfile;
use gannet_machine::rng::Rng;
use gannet_machine::time::Duration;
use gannet_proto::llc::abm::{LinkConfig, LinksConfig};
use gannet_proto::llc::{Algorithm, Ciphering, LlcContext, LlcOutput, LlcRole};
use gannet_proto::sndcp::compression::{CompressionConfig, Offer, V42bisLimits};
use gannet_proto::sndcp::{Reassembler, Receiver, Sndcp};
use gannet_proto::um::UmKind;
use gannet_proto::user_plane::{self, UserPlane, UserPlaneConfig};
use gannet_wire::id::{Sapi, Tlli};
use gannet_wire::l3::gmm::{DetachAcceptMo, RauAccept};
use gannet_wire::l3::ie::{ForceToStandby, ReceiveNpduNumbers, ReliabilityClass};
use gannet_wire::l3::sm::{ActivateAccept, DeactivateAccept};
use gannet_wire::l3::{GmmMessage, SmMessage};
use std::collections::VecDeque;

const NETWORK: TimerKey = TimerKey { owner: 200, slot: 0, generation: 0 };

fn air(loss: f64) -> LinkProfile {
    LinkProfile { delay: Duration::from_millis(100), loss, ..LinkProfile::default() }
}

/// The network's layers of mobile 0, and what is in the air between them.
struct Net {
    bench: Bench,
    sndcp: Sndcp,
    reassembler: Reassembler,
    out: Outputs,
    config: UserPlaneConfig,
    up: Path<Vec<u8>>,
    down: Path<Vec<u8>>,
    dice: Rng,
    /// N-PDUs of the mobile.
    received: Vec<Vec<u8>>,
    confirmed: usize,
    /// Functions of U frames that the mobile has sent.
    commands: Vec<u8>,
}

const fn compressing() -> CompressionConfig {
    let limits = V42bisLimits { p0: 3, p1: 2048, p2: 20 };
    CompressionConfig { rfc1144: Offer::Active(15), v42bis: Offer::Active(limits) }
}

/// A packet of the mobile with a number, of text.
fn packet(number: u16) -> Vec<u8> {
    let mut packet = vec![0x45; 20];
    packet[2..4].copy_from_slice(&1020_u16.to_be_bytes());
    packet[4..6].copy_from_slice(&number.to_be_bytes());
    packet[12..16].copy_from_slice(&[10, 0, 0, 7]);
    packet.extend(b"what is sent, and when ".iter().cycle().take(1000));
    packet
}

fn numbers<'a>(packets: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u16> {
    let number = |octets: &Vec<u8>| {
        let number = u16::from_be_bytes([octets[4], octets[5]]);
        assert_eq!(octets, &packet(number));
        number
    };
    packets.map(number).collect()
}

impl Net {
    /// Mobile 0 attached, with a context of this reliability class.
    fn new(class: u8, compression: CompressionConfig) -> Self {
        let mut net = Self::begun(class, compression);
        net.run(Duration::from_secs(3));
        net
    }

    /// The same, before anything that the mobile has to say of it has gone out.
    fn begun(class: u8, compression: CompressionConfig) -> Self {
        Self::chosen(class, compression, |_| ())
    }

    /// The same with what the mobile's operator has chosen of links.
    fn chosen(class: u8, compression: CompressionConfig, choose: impl FnOnce(&mut LinksConfig)) -> Self {
        let bench = Bench::new(|config| {
            config.user_plane.sndcp.compression = compression;
            choose(&mut config.user_plane.links);
        });
        let mut net = Self {
            bench,
            sndcp: Sndcp::new(LlcRole::Sgsn),
            reassembler: Reassembler::new(4, Duration::from_secs(10)),
            out: Outputs::default(),
            config: UserPlaneConfig::default(),
            up: Path::new(air(0.0)),
            down: Path::new(air(0.0)),
            dice: Rng::seeded(9),
            received: Vec::new(),
            confirmed: 0,
            commands: Vec::new(),
        };
        net.config.sndcp.compression = compression;
        net.bench.attach(0);
        net.bench.user_data = Some(VecDeque::new());
        net.bench.order_context(0, NSAPI);
        assert!(matches!(net.bench.next_sm(0), SmMessage::ActivateRequest(_)));
        let is_acknowledged = class < 3;
        net.layers(|layers, cx| layers.activate(cx, (NSAPI, Sapi::DATA3), is_acknowledged));
        net.bench.sm(0, 0, accept(class));
        assert!(matches!(net.bench.events.pop_front(), Some(MsEvent::Activated { .. })));
        net
    }

    fn cipher(&mut self, ciphering: Ciphering) {
        self.bench.cipher = ciphering;
        self.bench.network[0].set_ciphering(ciphering);
        self.bench.ms.mobiles[0].llc.set_ciphering(ciphering);
    }

    fn layers<T>(&mut self, act: impl FnOnce(&mut UserPlane<'_>, &mut Context<'_>) -> T) -> T {
        let Self { bench, sndcp, out, config, .. } = self;
        let llc = &mut bench.network[0];
        let mut layers = UserPlane { llc, sndcp, config, n201_i_max: None, whose: None, out };
        let result = act(&mut layers, &mut bench.around.context());
        self.drain();
        result
    }

    fn drain(&mut self) {
        loop {
            let Self { bench, sndcp, out, config, .. } = self;
            let llc = &mut bench.network[0];
            let mut layers = UserPlane { llc, sndcp, config, n201_i_max: None, whose: None, out };
            match layers.poll(&mut bench.around.context()) {
                Some(user_plane::Output::Llc(LlcOutput::Transmit { frame, .. })) => self.send(false, &frame),
                Some(user_plane::Output::Llc(LlcOutput::Status { .. } | LlcOutput::Reset)) => {}
                Some(user_plane::Output::Llc(LlcOutput::Unitdata { frame, .. })) => self.sn_pdu(frame),
                Some(user_plane::Output::Llc(output)) => panic!("{output:?}"),
                Some(user_plane::Output::NPdu(n_pdu)) => self.received.push(n_pdu.frame.to_vec()),
                Some(user_plane::Output::Confirmed { count, .. }) => self.confirmed += usize::from(count),
                Some(user_plane::Output::Status { .. } | user_plane::Output::Room) => {}
                None => break,
            }
        }
        let timers = &mut self.bench.around.timers;
        self.bench.network[0].arm(NETWORK, timers);
    }

    fn sn_pdu(&mut self, frame: Frame) {
        let to = (Receiver { slot: 0, whose: None, compresses: true }, Some(&mut self.sndcp));
        let cx = &mut self.bench.around.context();
        let n_pdu = user_plane::unitdata_indication(cx, &mut self.reassembler, to, |of| of == NSAPI, frame);
        self.received.extend(n_pdu.map(|n_pdu| n_pdu.frame.to_vec()));
    }

    fn send(&mut self, up: bool, octets: &[u8]) {
        let path = if up { &mut self.up } else { &mut self.down };
        path.carry(self.bench.around.now, &mut self.dice, octets.to_vec());
    }

    fn set_cut(&mut self, is_cut: bool) {
        (self.up.is_cut, self.down.is_cut) = (is_cut, is_cut);
    }

    /// What the mobile has sent.
    fn collect(&mut self) {
        let sent: Vec<_> = self.bench.user_data.as_mut().unwrap().drain(..).collect();
        for octets in sent {
            if octets[1] >> 5 == 0b111 {
                self.commands.push(octets[1] & 0xf);
            }
            self.send(true, &octets);
        }
    }

    fn arrive(&mut self, up: bool, octets: &[u8]) {
        if up {
            let frame = self.bench.around.frames.copy_of(octets).unwrap();
            let Self { bench, out, .. } = self;
            bench.network[0].receive(&mut bench.around.context(), None, frame, &mut out.llc);
            self.drain();
        } else {
            let (tlli, cell) = (self.tlli(), self.bench.ms.mobile(0).unwrap().cell.unwrap());
            self.bench.um(0, UmKind::LlPdu, cell, tlli, octets);
        }
    }

    fn tlli(&self) -> Tlli {
        self.bench.network[0].tlli().unwrap()
    }

    /// Time goes on.
    fn run(&mut self, span: Duration) {
        let end = self.bench.around.now + span;
        loop {
            self.collect();
            let (up, down) = (self.up.next(), self.down.next());
            let waking = self.bench.around.timers.next();
            let Some(next) = [up, down, waking].into_iter().flatten().min().filter(|next| *next <= end)
            else {
                break;
            };
            self.bench.around.now = next.max(self.bench.around.now);
            let now = self.bench.around.now;
            if let Some(octets) = self.up.arrived(now) {
                self.arrive(true, &octets);
                continue;
            }
            if let Some(octets) = self.down.arrived(now) {
                self.arrive(false, &octets);
                continue;
            }
            match self.bench.around.timers.pop_due(self.bench.around.now).unwrap() {
                NETWORK => {
                    let Self { bench, out, .. } = self;
                    bench.network[0].wake(&mut bench.around.context(), None, &mut out.llc);
                    self.drain();
                }
                key => self.bench.input(Input::Timeout(key)),
            }
        }
        self.bench.around.now = end;
    }

    fn is_held_back(&self) -> bool {
        self.bench.ms.mobile(0).unwrap().is_held_back
    }

    /// N-PDUs of the mobile, given while it takes them.
    fn upload(&mut self, numbers: core::ops::Range<u16>) {
        for number in numbers {
            while self.is_held_back() {
                self.run(Duration::from_millis(50));
            }
            self.bench.packet(0, &packet(number));
        }
    }

    fn download(&mut self, number: u16) {
        self.layers(|layers, cx| {
            let n_pdu = cx.frames.copy_of(&packet(number)).unwrap();
            layers.data_request(cx, NSAPI, n_pdu).unwrap();
        });
    }

    fn downloaded(&self) -> Vec<u16> {
        numbers(self.bench.tun.iter().map(|(_, octets)| octets))
    }

    fn dropped(&self, drop: Drop) -> u64 {
        self.bench.around.trace.drops.get(drop)
    }

    fn assert_at_rest(&mut self) {
        assert_eq!((self.sndcp.unconfirmed(), self.bench.ms.view(0).unwrap().unconfirmed), (0, 0));
        assert!(!self.is_held_back());
        assert_eq!(self.dropped(Drop::SndcpUnconfirmedFull), 0);
        self.bench.all_frames_are_back();
    }
}

fn accept(class: u8) -> ActivateAccept {
    let qos = QosProfile { reliability: ReliabilityClass(class), ..QosProfile::BEST_EFFORT };
    ActivateAccept { qos, ..activate_accept() }
}

#[test]
fn the_mobile_establishes_and_n_pdus_pass_both_ways_whatever_is_lost() {
    for (class, cipher, loss) in
        [(1, Ciphering::NONE, 0.0), (2, Ciphering::with_kc(Algorithm::Gea3, [7; 8]).unwrap(), 0.2)]
    {
        for compression in [CompressionConfig::default(), compressing()] {
            let mut net = Net::new(class, compression);
            assert!(net.sndcp.is_established(Sapi::DATA3));
            net.cipher(cipher);
            (net.up.link.profile, net.down.link.profile) = (air(loss), air(loss));
            for number in 0..100 {
                net.upload(number..number + 1);
                net.download(number);
                net.run(Duration::from_millis(200));
            }
            net.run(Duration::from_secs(300));
            assert_eq!(numbers(net.received.iter()), (0..100).collect::<Vec<_>>());
            assert_eq!(net.downloaded(), (0..100).collect::<Vec<_>>());
            assert_eq!((net.confirmed, net.bench.ms.stats().confirmed), (100, 100));
            net.assert_at_rest();
        }
    }
}

#[test]
fn what_is_too_much_is_held_back_before_it_is_dropped_by_name() {
    let mut net = Net::new(2, CompressionConfig::default());
    net.bench.events.clear();
    net.set_cut(true);
    let mut given = 0;
    while !net.is_held_back() {
        net.bench.packet(0, &packet(given));
        given += 1;
    }
    assert!(matches!(net.bench.events.pop_front(), Some(MsEvent::HeldBack { mobile: 0, on: true })));
    // A batch that was on its way finds room.
    for number in given..given + 64 {
        net.bench.packet(0, &packet(number));
    }
    assert_eq!(net.dropped(Drop::SndcpUnconfirmedFull), 0);
    (0..64).for_each(|number| net.bench.packet(0, &packet(number)));
    let dropped = net.dropped(Drop::SndcpUnconfirmedFull);
    assert!(dropped > 0);
    net.set_cut(false);
    net.run(Duration::from_secs(60));
    assert_eq!(numbers(net.received.iter())[..usize::from(given) + 64], (0..given + 64).collect::<Vec<_>>());
    assert_eq!(net.received.len() as u64 + dropped, u64::from(given) + 128);
    assert!(matches!(net.bench.events.pop_front(), Some(MsEvent::HeldBack { mobile: 0, on: false })));
}

#[test]
fn what_all_mobiles_have_unconfirmed_is_bounded_and_the_rest_is_dropped_by_name() {
    let mut net = Net::new(2, CompressionConfig::default());
    net.bench.ms.config.unconfirmed_octets_max = 10_000;
    net.set_cut(true);
    (0..12).for_each(|number| net.bench.packet(0, &packet(number)));
    assert_eq!((net.bench.ms.unconfirmed_octets(), net.dropped(Drop::MsUnconfirmedFull)), (9 * 1020, 3));
    net.set_cut(false);
    net.run(Duration::from_secs(60));
    assert_eq!((numbers(net.received.iter()), net.bench.ms.unconfirmed_octets()), ((0..9).collect(), 0));
    (12..15).for_each(|number| net.bench.packet(0, &packet(number)));
    net.run(Duration::from_secs(1));
    assert_eq!((net.received.len(), net.dropped(Drop::MsUnconfirmedFull)), (12, 3));
    net.assert_at_rest();
}

/// Octets of the most that were unconfirmed, and of all that were given in ten seconds, on a path of 200 ms.
fn long_window(unconfirmed_octets_max: usize) -> (usize, u16) {
    let links = |links: &mut LinksConfig| {
        links.of_mut(Sapi::DATA3).unwrap().k = Some((255, 255));
    };
    let mut net = Net::chosen(2, CompressionConfig::default(), links);
    links(&mut net.config.links);
    net.bench.ms.config.unconfirmed_octets_max = unconfirmed_octets_max;
    net.run(Duration::from_secs(3));
    assert!(net.sndcp.is_established(Sapi::DATA3));
    let (mut most, mut given) = (0, 0);
    for _ in 0..1000 {
        while !net.is_held_back() {
            net.bench.packet(0, &packet(given));
            given += 1;
        }
        most = most.max(net.bench.ms.unconfirmed_octets());
        net.run(Duration::from_millis(10));
    }
    net.run(Duration::from_secs(5));
    assert_eq!(numbers(net.received.iter()), (0..given).collect::<Vec<_>>());
    net.assert_at_rest();
    (most / 1020, given)
}

#[test]
fn a_long_path_takes_a_long_window_before_the_mobile_is_held_back() {
    let (most, given) = long_window(128 << 20);
    assert!((255..=271).contains(&most), "32, and as many as k has above 16: {most}");
    assert!(given > 6000, "{given}: 50 round trips of up to 255");
    let (most, _) = long_window(200_000);
    assert!((90..=110).contains(&most), "beyond half of what the node has nobody has more than 32: {most}");
}

#[test]
fn a_dead_link_is_told_and_established_again_under_the_same_numbers() {
    let mut net = Net::new(2, compressing());
    net.upload(0..10);
    net.run(Duration::from_millis(350));
    net.bench.events.clear();
    net.set_cut(true);
    net.upload(10..20);
    net.run(Duration::from_secs(60));
    let ended = |event: &MsEvent| matches!(event, MsEvent::LinkEnded { mobile: 0, nsapi: NSAPI, .. });
    assert!(net.bench.events.iter().any(ended), "{:?}", net.bench.events);
    assert!(net.bench.ms.stats().links_ended > 0);
    net.set_cut(false);
    net.upload(20..30);
    net.run(Duration::from_secs(60));
    assert_eq!(numbers(net.received.iter()), (0..30).collect::<Vec<_>>());
    assert!(net.bench.ms.view(0).unwrap().to_string().contains("SAPI 3: abm, window 16"));
    net.assert_at_rest();
}

#[test]
fn a_link_that_was_never_established_is_tried_again_though_nothing_waits() {
    let mut net = Net::begun(2, CompressionConfig::default());
    net.set_cut(true);
    net.run(Duration::from_secs(28));
    assert!(net.bench.ms.stats().links_ended > 0, "its SABMs are lost");
    assert!(!net.sndcp.is_established(Sapi::DATA3));
    net.download(0);
    net.set_cut(false);
    net.run(Duration::from_secs(30));
    assert!(net.sndcp.is_established(Sapi::DATA3));
    assert_eq!(net.downloaded(), [0]);
    net.assert_at_rest();
}

#[test]
fn n_pdus_that_find_no_frames_are_tried_again() {
    let mut net = Net::new(2, CompressionConfig::default());
    let frames = &net.bench.around.frames;
    let hoard: Vec<Frame> = (3..frames.free()).map(|_| frames.alloc().unwrap()).collect();
    net.bench.packet(0, &packet(0));
    assert_eq!(net.bench.ms.view(0).unwrap().unconfirmed, 1);
    drop(hoard);
    net.run(Duration::from_secs(10));
    assert_eq!(numbers(net.received.iter()), [0]);
    net.assert_at_rest();
}

#[test]
fn suspension_and_another_cell_lose_nothing() {
    let mut net = Net::new(2, CompressionConfig::default());
    net.upload(0..12);
    net.run(Duration::from_millis(150));
    net.bench.order(MsCommand::Suspend { mobile: 0 });
    assert!(net.is_held_back(), "it must not send");
    net.run(Duration::from_secs(40));
    net.bench.order(MsCommand::Resume { mobile: 0 });
    net.bench.order(MsCommand::ChangeCell { mobile: 0, cell: 1 });
    assert!(!net.is_held_back());
    net.upload(12..40);
    net.download(0);
    net.run(Duration::from_secs(60));
    assert_eq!(numbers(net.received.iter()), (0..40).collect::<Vec<_>>());
    assert_eq!(net.downloaded(), [0]);
    net.assert_at_rest();
}

#[test]
fn a_routing_area_update_goes_on_where_both_have_received() {
    let mut net = Net::new(2, compressing());
    (0..5).for_each(|number| net.download(number));
    net.upload(0..8);
    net.run(Duration::from_secs(2));
    net.bench.up.clear();
    net.bench.order(MsCommand::ChangeCell { mobile: 0, cell: 2 });
    assert!(net.is_held_back());
    assert!(matches!(net.bench.next_gmm(0), (_, GmmMessage::RauRequest(_))));
    // The new SGSN has no link, and the old one's numbers.
    net.layers(|layers, cx| layers.llc.reset_request(cx, &mut layers.out.llc));
    net.sndcp.reset_indication();
    net.run(Duration::from_secs(1));
    assert!(net.bench.network[0].abm(Sapi::DATA3).is_none());
    assert!(net.bench.ms.mobile(0).unwrap().llc.abm(Sapi::DATA3).is_none());
    net.bench.up.clear();
    let receive_npdu_numbers = Some(ReceiveNpduNumbers(net.sndcp.receive_numbers().collect()));
    assert_eq!(receive_npdu_numbers, Some(ReceiveNpduNumbers(vec![(NSAPI, 8)])));
    let accept = rau_accept(net.bench.rai(0), None, 1 << 5);
    net.bench.gmm(0, RauAccept { receive_npdu_numbers, ..accept });
    let (_, complete) = net.bench.next_gmm(0);
    let GmmMessage::RauComplete(complete) = complete else { panic!("{complete:?}") };
    assert_eq!(complete.receive_npdu_numbers, Some(ReceiveNpduNumbers(vec![(NSAPI, 5)])));
    // The bench has made its LLC anew with the first frame of a mobile that begins anew.
    net.bench.network[0].offer_abm(true);
    net.layers(|layers, cx| layers.sequence_indication(cx, NSAPI, 5));
    net.upload(8..16);
    net.download(5);
    net.run(Duration::from_secs(60));
    assert_eq!(numbers(net.received.iter()), (0..16).collect::<Vec<_>>());
    assert_eq!(net.downloaded(), [0, 1, 2, 3, 4, 5]);
    net.assert_at_rest();
}

#[test]
fn the_link_ends_with_its_last_context_and_without_a_word_where_nobody_listens() {
    const DISC: u8 = 0b0100;
    const UA: u8 = 0b0110;
    let mut net = Net::new(2, CompressionConfig::default());
    net.commands.clear();
    net.bench.up.clear();
    net.bench.order(MsCommand::Deactivate { mobile: 0, nsapi: NSAPI });
    net.bench.sm(0, 0, DeactivateAccept {});
    net.layers(|layers, cx| layers.deactivate(cx, NSAPI));
    net.run(Duration::from_secs(30));
    assert_eq!(net.commands, [DISC, UA], "both ends release it");
    assert!(net.bench.ms.mobile(0).unwrap().sndcp.is_none());

    let mut net = Net::new(2, CompressionConfig::default());
    net.commands.clear();
    net.bench.order(MsCommand::Detach { mobile: 0, power_off: false });
    net.bench.gmm(0, DetachAcceptMo { force_to_standby: ForceToStandby::NotIndicated });
    net.run(Duration::from_secs(60));
    assert_eq!(net.commands, []);
    assert!(net.bench.ms.mobile(0).unwrap().sndcp.is_none());
    net.bench.all_frames_are_back();
}

#[test]
fn what_is_chosen_of_a_link_is_proposed_with_it() {
    let mut net = Net::chosen(2, CompressionConfig::default(), |links| {
        *links.of_mut(Sapi::DATA3).unwrap() = LinkConfig { k: Some((9, 200)), ..LinkConfig::default() };
    });
    net.run(Duration::from_secs(3));
    // The network's own limits are those of table 9.
    let windows = |llc: &LlcContext| *llc.abm(Sapi::DATA3).unwrap().windows();
    let of_mobile = windows(&net.bench.ms.mobile(0).unwrap().llc);
    assert_eq!((of_mobile.k_sent, of_mobile.k_received), (16, 9));
    let of_network = windows(&net.bench.network[0]);
    assert_eq!((of_network.k_sent, of_network.k_received), (9, 16));
}

#[test]
fn without_a_context_in_acknowledged_mode_it_is_refused() {
    let mut net = Net::new(3, CompressionConfig::default());
    assert!(net.bench.ms.mobile(0).unwrap().sndcp.is_none(), "it costs nothing");
    let Net { bench, out, .. } = &mut net;
    bench.network[0].establish_request(
        &mut bench.around.context(),
        Sapi::DATA3,
        gannet_proto::llc::Terms::default(),
        &mut out.llc,
    );
    net.drain();
    net.run(Duration::from_secs(5));
    assert_eq!(net.dropped(Drop::LlcAbmRefused), 1);
    assert!(net.bench.network[0].abm(Sapi::DATA3).is_none());
}

#[test]
fn compression_is_negotiated_and_shown_in_either_mode() {
    for class in [2, 3] {
        let mut net = Net::new(class, compressing());
        let agreed: Vec<_> = net.sndcp.compressions(Sapi::DATA3).unwrap().agreed().collect();
        assert_eq!(agreed.len(), 2, "class {class}");
        net.upload(0..20);
        net.run(Duration::from_secs(10));
        let view = net.bench.ms.view(0).unwrap();
        assert_eq!(view.counted.sent, 20 * 1020);
        assert!(view.counted.sent_compressed < 10 * 1020, "{:?}", view.counted);
        assert_eq!(numbers(net.received.iter()), (0..20).collect::<Vec<_>>());
        let text = view.to_string();
        assert!(text.contains("v42bis direction both codewords 2048 strlen 20, rfc1144 slots 16"), "{text}");
        assert_eq!(text.contains(", acknowledged"), class == 2, "{text}");
    }
}

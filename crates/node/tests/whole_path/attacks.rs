//! What a neighbour on the bearer can do to a mobile with a context, and that the authenticated mode stops it. Each attack is made
//! twice: without keys, where it has its effect, and with keys, where it is dropped by name and has none.

use crate::adaptation::{Choice, OUTSIDE, World, ap_at, host_at};
use crate::world::packet;
use core::net::Ipv4Addr;
use gannet_machine::drops::Drop;
use gannet_machine::{Input, Peer};
use gannet_node::bss::access_point::bearer_port;
use gannet_node::ms::{self, MsCommand, MsEvent};
use gannet_proto::adaptation::Medium;
use gannet_wire::adaptation::{
    FLAG_AUTHENTICATED, HEADER_LEN, MESSAGE_LEN_MAX, Message, Release, ReleaseCause, Suspend, TRAILER_LEN,
};
use gannet_wire::fcs24::fcs24;
use gannet_wire::id::{Nsapi, Tlli};
use gannet_wire::l3::ie::{QosProfile, ReliabilityClass};

const FCS_LEN: usize = 3;

/// Mobiles with contexts; that of mobile 0 is in acknowledged mode where that is asked for.
struct Victim {
    world: World,
    address: Ipv4Addr,
    has_keys: bool,
}

impl Victim {
    fn new(has_keys: bool, is_acknowledged: bool) -> Self {
        let mut world = World::new(&Choice::new(&[Medium::Ethernet], has_keys));
        let address = world.activate_all()[0];
        if is_acknowledged {
            let (mobile, nsapi) = (0, Nsapi(5));
            world.ms.inputs.push(Input::Command(MsCommand::Deactivate { mobile, nsapi }));
            world.pass(2000);
            let qos = Some(QosProfile { reliability: ReliabilityClass(2), ..QosProfile::default() });
            let order = MsCommand::Activate { mobile, nsapi, apn: None, qos, address: None };
            world.ms.inputs.push(Input::Command(order));
            world.pass(5000);
        }
        world.events.clear();
        world.heard = Some(Vec::new());
        Self { world, address, has_keys }
    }

    fn tlli(&self) -> Tlli {
        self.world.ms.machine.mobile(0).unwrap().llc.tlli().unwrap()
    }

    /// Octets arrive at the access point, as if from the host of the mobiles.
    fn reach_network(&mut self, octets: &[u8]) {
        self.world.aps[0].datagram(bearer_port(0), host_at(Medium::Ethernet), octets);
        self.world.pass(1000);
    }

    /// Octets arrive at the mobiles, as if from the access point.
    fn reach_mobile(&mut self, octets: &[u8]) {
        self.world.ms.datagram(ms::bearer_port(0), ap_at(Medium::Ethernet, 0), octets);
        self.world.pass(1000);
    }

    /// A PDU as anybody can make it.
    fn forged(&self, message: &Message<'_>) -> Vec<u8> {
        let mut room = [0; MESSAGE_LEN_MAX];
        let length = message.emit(self.tlli(), false, &mut room).unwrap();
        room[..length].to_vec()
    }

    /// The mobile sends a packet, which is heard.
    fn send_up(&mut self, octets: usize) -> (Vec<u8>, Vec<u8>) {
        self.world.heard = Some(Vec::new());
        let up = packet(self.address, OUTSIDE, octets);
        self.world.ms.datagram(ms::TUN, Peer::Slot(0), &up);
        self.world.pass(300);
        let heard = self.world.heard.take().unwrap();
        self.world.heard = Some(Vec::new());
        let is_it = |(is_up, pdu): &&(bool, Vec<u8>)| *is_up && pdu.len() > octets;
        (up, heard.iter().find(is_it).unwrap().1.clone())
    }

    /// What the attack led to: nothing, and this name, with keys.
    fn assert_stopped(&self, drop: Drop, times: u64) {
        if self.has_keys {
            assert_eq!(self.world.drops(drop), times, "{drop:?}");
        }
    }
}

/// U frames on SAPI 3 and a message of GMM need no cipher.
fn u_frame(address: u8, function: u8) -> Vec<u8> {
    let frame = [address, 0xe0 | function];
    [&frame[..], &fcs24(&frame)].concat()
}

/// Turns a bit of the packet in an LL-PDU, and what of the FCS depends on it.
fn turn_a_bit(pdu: &mut [u8]) {
    let trailer = if pdu[1] & FLAG_AUTHENTICATED != 0 { TRAILER_LEN } else { 0 };
    let end = pdu.len() - trailer - FCS_LEN;
    let mut difference = vec![0; end - HEADER_LEN];
    let before = fcs24(&difference);
    *difference.last_mut().unwrap() = 1;
    pdu[end - 1] ^= 1;
    for (octet, (one, other)) in pdu[end..].iter_mut().zip(before.iter().zip(fcs24(&difference))) {
        *octet ^= one ^ other;
    }
}

#[test]
fn a_bit_of_user_data_is_turned() {
    for has_keys in [false, true] {
        let mut victim = Victim::new(has_keys, false);
        victim.world.wires[0].up.is_cut = true;
        let (up, mut pdu) = victim.send_up(200);
        victim.world.wires[0].up.is_cut = false;
        assert!(victim.world.from_ggsn.is_empty());
        turn_a_bit(&mut pdu);
        victim.reach_network(&pdu);
        let mut changed = up;
        *changed.last_mut().unwrap() ^= 1;
        let came = core::mem::take(&mut victim.world.from_ggsn);
        assert_eq!(came == [changed], !has_keys, "{came:?}");
        victim.assert_stopped(Drop::AdaptBadMac, 1);
    }
}

#[test]
fn sabm_disc_and_dm_of_a_stranger() {
    // SABM and DISC are commands of the network (C/R 1), and DM is a response of it that nobody has asked for (04.64 clauses 6.2.2,
    // 6.4.1 and 8.7.1).
    for (name, frame) in
        [("SABM", u_frame(0x43, 0x17)), ("DISC", u_frame(0x43, 0x14)), ("DM", u_frame(0x03, 0x01))]
    {
        for has_keys in [false, true] {
            let mut victim = Victim::new(has_keys, true);
            let ended = |victim: &Victim| victim.world.ms.machine.stats().links_ended;
            assert_eq!(ended(&victim), 0);
            let forged = victim.forged(&Message::LlPdu(&frame));
            victim.reach_mobile(&forged);
            let answers = victim.world.heard.take().unwrap();
            let is_u =
                |pdu: &[u8]| pdu[0] & 0x1f == 1 && pdu.get(HEADER_LEN + 1).is_some_and(|c| c >> 5 == 7);
            let is_shaken = ended(&victim) > 0 || answers.iter().any(|(is_up, pdu)| *is_up && is_u(pdu));
            assert_eq!(is_shaken, !has_keys, "{name}");
            victim.assert_stopped(Drop::AdaptUnauthenticated, 1);
        }
    }
}

#[test]
fn a_message_of_gmm_of_a_stranger() {
    // DETACH REQUEST of the network, "re-attach not required" (04.08 clause 9.4.5.2 [24.008]), in a UI frame with N(U) 100.
    let frame = [0x41, 0xc1, 0x91, 0x08, 0x05, 0x02];
    let frame = [&frame[..], &fcs24(&frame)].concat();
    for has_keys in [false, true] {
        let mut victim = Victim::new(has_keys, false);
        let forged = victim.forged(&Message::LlPdu(&frame));
        victim.reach_mobile(&forged);
        let is_detached = |event: &MsEvent| matches!(event, MsEvent::Detached { mobile: 0, .. });
        assert_eq!(victim.world.events.iter().any(is_detached), !has_keys);
        victim.assert_stopped(Drop::AdaptUnauthenticated, 1);
    }
}

#[test]
fn a_suspension_by_a_stranger() {
    for has_keys in [false, true] {
        let mut victim = Victim::new(has_keys, false);
        let rai = victim.world.cell_of(0).unwrap().rai;
        let forged = victim.forged(&Message::Suspend(Suspend { rai }));
        victim.reach_network(&forged);
        let down = victim.world.down(victim.address, 100);
        victim.world.pass(1000);
        let came = core::mem::take(&mut victim.world.from_ms);
        assert_eq!(came == [(0, down)], has_keys, "{came:?}");
        victim.assert_stopped(Drop::AdaptUnauthenticated, 1);
    }
}

#[test]
fn a_release_by_a_stranger() {
    for has_keys in [false, true] {
        let mut victim = Victim::new(has_keys, false);
        let forged = victim.forged(&Message::Release(Release { cause: ReleaseCause::NoRoom }));
        victim.reach_mobile(&forged);
        assert_eq!(victim.world.cell_of(0).is_none(), !has_keys, "it is sent away");
        victim.assert_stopped(Drop::AdaptUnauthenticated, 1);
    }
}

#[test]
fn a_packet_is_repeated() {
    for has_keys in [false, true] {
        let mut victim = Victim::new(has_keys, false);
        let (first, pdu) = victim.send_up(200);
        // LLC takes N(U) for a new one when 32 others have come since.
        for octets in 201..250 {
            victim.send_up(octets);
        }
        victim.world.from_ggsn.clear();
        victim.reach_network(&pdu);
        let came = core::mem::take(&mut victim.world.from_ggsn);
        assert_eq!(came == [first], !has_keys, "{came:?}");
        victim.assert_stopped(Drop::AdaptReplayed, 1);
    }
}
